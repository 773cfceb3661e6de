"""Decodes Avro values with a schema id in front, in Spark's workers, a column at a time.

Each value was written with the schema of its id and is read with one schema for all, so that old
and new records have the same columns (Avro's schema resolution).
"""

import io
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyspark.sql import types
from pyspark.sql.pandas.functions import arrow_udf
from pyspark.sql.pandas.types import to_arrow_type

from moldau.spark.errors import PipelineError
from moldau.sql.avro_types import fit, spark_type
from moldau.sql.formats import schema_id
from moldau.sql.registry import SchemaLookup

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import Column

# One client for each registry in each worker process.
_lookups: dict[str, SchemaLookup] = {}
_parsed: dict[tuple[str, int], Any] = {}


def decoded(column: str, what: str, registry: str, reader_id: int, schema: Any) -> "Column":
    """The column decoded with the reader's schema; ``what`` names it in errors."""
    require_fastavro()
    kind = spark_type(schema)
    decode = _decoder(what, registry, reader_id, kind)
    # Its stub knows fewer types than it takes.
    make: Any = arrow_udf
    udf: Callable[[str], Column] = make(decode, returnType=kind)
    return udf(column)


def require_fastavro() -> None:
    """Raise PipelineError if the package is not installed."""
    try:
        import fastavro  # noqa: F401
    except ImportError:
        raise PipelineError("Avro needs fastavro: pip install 'moldau[spark]'") from None


def _decoder(
    what: str, registry: str, reader_id: int, kind: types.DataType
) -> "Callable[[pa.Array], pa.Array]":
    def decode(values: pa.Array) -> pa.Array:
        rows = [
            None if raw is None else fit(_decode(what, registry, reader_id, raw), kind)
            for raw in values.to_pylist()
        ]
        return pa.array(rows, to_arrow_type(kind, timezone="UTC"))

    return decode


def _decode(what: str, registry: str, reader_id: int, raw: bytes) -> Any:
    import fastavro

    writer_id = schema_id(raw)
    if writer_id is None:
        raise PipelineError(
            f"{what} has a record that is not Avro with a schema id ({raw[:8]!r}...): read the "
            "topic without --registry"
        )
    writer = _schema(registry, writer_id)
    reader = _schema(registry, reader_id)
    try:
        return fastavro.schemaless_reader(io.BytesIO(raw[5:]), writer, reader)
    except PipelineError:
        raise
    except Exception as error:
        # fastavro raises what comes: for damaged bytes, and for schemas that do not fit together.
        raise PipelineError(
            f"{what} has a record of schema {writer_id} that cannot be read with schema "
            f"{reader_id} ({str(error).splitlines()[0] if str(error) else type(error).__name__}): "
            "the topic mixes schemas; read it without --registry"
        ) from None


def _schema(registry: str, wanted: int) -> Any:
    import fastavro

    key = (registry, wanted)
    if key not in _parsed:
        lookup = _lookups.setdefault(registry, SchemaLookup(registry))
        _parsed[key] = fastavro.parse_schema(lookup.by_id(wanted))
    return _parsed[key]
