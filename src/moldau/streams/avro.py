"""Avro: records in the binary encoding of a schema that both sides know.

Spark reads Avro only with a jar that is not part of PySpark, so the bytes go through ``fastavro``
in Python, a column at a time. The schema is given as JSON text or parsed.

Records of a schema registry start with a zero byte and the id of their schema. This serde does not
contact a registry: with ``schema_id`` it writes that header, and refuses a record with another one.
"""

import io
import json
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Final

from moldau.spark.errors import PipelineError
from moldau.streams.serdes import Serde

if TYPE_CHECKING:
    from pyspark.sql import Column
    from pyspark.sql.types import DataType

_PRIMITIVES: Final = {
    "boolean": "boolean",
    "int": "int",
    "long": "long",
    "float": "float",
    "double": "double",
    "string": "string",
    "bytes": "binary",
    "null": "void",
}
_LOGICAL: Final = {
    "date": "date",
    "timestamp-millis": "timestamp",
    "timestamp-micros": "timestamp",
    "uuid": "string",
}


class Avro(Serde):
    """Avro by ``schema``, which may be its JSON text; ``schema_id`` is its id in a registry.

    Raises:
        PipelineError: fastavro is not installed, the schema is invalid or has no types in Spark, or
            the id is invalid.
    """

    def __init__(
        self, schema: "str | dict[str, Any] | list[Any]", *, schema_id: int | None = None
    ) -> None:
        if find_spec("fastavro") is None:
            raise PipelineError("Avro needs fastavro: pip install 'moldau[spark]'")
        import fastavro

        try:
            declared = schema
            # The name of a type is also a schema, and needs no quotes here.
            if isinstance(schema, str) and schema.lstrip()[:1] in ("{", "[", '"'):
                declared = json.loads(schema)
            self._schema: Any = fastavro.parse_schema(declared)
        except Exception as error:
            # fastavro's exceptions for invalid schemas have no common base class.
            raise PipelineError(f"not an Avro schema: {error}") from error
        self._type = spark_type(declared)
        self._header = b"" if schema_id is None else _registry_header(schema_id)
        self._schema_id = schema_id
        self.name = "avro"

    @property
    def expects(self) -> str:
        by_id = "" if self._schema_id is None else f" with schema id {self._schema_id}"
        return f"Avro of {self._type}{by_id}"

    def decode(self, raw: "Column") -> "Column":
        from moldau.streams.arrow_columns import decoding_column

        return decoding_column(self.loads, self._type)(raw)

    def encode(self, value: "Column", value_type: "DataType") -> "Column":
        from moldau.streams.arrow_columns import encoding_column

        return encoding_column(self.dumps)(value)

    def loads(self, data: bytes) -> Any:
        import fastavro

        if not data.startswith(self._header):
            raise ValueError(f"not Avro with schema id {self._schema_id}: {data[:5]!r} in front")
        stream = io.BytesIO(data[len(self._header) :])
        try:
            value = fastavro.schemaless_reader(stream, self._schema, None)
        except Exception as error:
            # Whatever the decoder raises, these bytes do not match the schema.
            raise ValueError(f"not Avro of this schema: {error}") from error
        if stream.read(1):
            raise ValueError("not Avro of this schema: there are bytes left")
        return value

    def dumps(self, value: Any) -> bytes:
        import fastavro

        stream = io.BytesIO()
        stream.write(self._header)
        try:
            fastavro.schemaless_writer(stream, self._schema, value)
        except Exception as error:
            raise PipelineError(f"{value!r} does not fit the Avro schema: {error}") from error
        return stream.getvalue()


def spark_type(schema: Any) -> str:
    """Spark's type for values of an Avro schema, as DDL.

    Raises:
        PipelineError: there is none.
    """
    return _Types().of(schema)


class _Types:
    def __init__(self) -> None:
        # Named types by name, because they can be referenced; None while they are being parsed.
        self._named: dict[str, str | None] = {}

    def of(self, schema: Any) -> str:
        if isinstance(schema, list):
            return self._union(schema)
        if isinstance(schema, str):
            return self._name(schema)
        kind, logical = schema["type"], schema.get("logicalType")
        if logical == "decimal":
            return f"decimal({schema['precision']},{schema.get('scale', 0)})"
        if logical in _LOGICAL:
            return _LOGICAL[logical]
        if kind == "record":
            return self._record(schema)
        if kind == "array":
            return f"array<{self.of(schema['items'])}>"
        if kind == "map":
            return f"map<string,{self.of(schema['values'])}>"
        if kind in ("enum", "fixed"):
            found = "string" if kind == "enum" else "binary"
            self._named[_last(schema["name"])] = found
            return found
        return self.of(kind)

    def _name(self, name: str) -> str:
        if name in _PRIMITIVES:
            return _PRIMITIVES[name]
        found = self._named.get(_last(name))
        if found is None:
            reason = "contains itself" if _last(name) in self._named else "is not defined"
            raise PipelineError(f"the Avro type {name} {reason}: Spark has no type for it")
        return found

    def _record(self, schema: dict[str, Any]) -> str:
        self._named[_last(schema["name"])] = None
        fields = [f"`{field['name']}`:{self.of(field['type'])}" for field in schema["fields"]]
        found = f"struct<{','.join(fields)}>"
        self._named[_last(schema["name"])] = found
        return found

    def _union(self, branches: list[Any]) -> str:
        others = [branch for branch in branches if branch != "null"]
        if len(others) != 1:
            raise PipelineError(
                f"the Avro union {branches} has no type in Spark: one type, or null and one type"
            )
        return self.of(others[0])


def _registry_header(schema_id: int) -> bytes:
    try:
        return b"\0" + schema_id.to_bytes(4, "big")
    except OverflowError:
        raise PipelineError(
            f"schema_id={schema_id}: the id of a registry is a positive int of 32 bits"
        ) from None


def _last(name: str) -> str:
    """A name without its namespace, which may be explicit or inherited from the outer type."""
    return name.rpartition(".")[2]
