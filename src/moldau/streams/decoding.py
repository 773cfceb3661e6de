"""The first and the last step of a pipeline: from a topic's records to typed rows and back.

A record that cannot be decoded is a poison record. By default the query fails and the error names
it; a source with ``skip`` drops it, and one with a dead letter topic also copies it there
unchanged, with headers that give its origin (those of KIP-1034).
"""

from typing import TYPE_CHECKING, Final

from moldau.spark.errors import PipelineError
from moldau.streams.serdes import Serde, default_serde
from moldau.streams.windowed_keys import WindowedKey

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

    from moldau.streams.compiling import Compilation
    from moldau.streams.topology import Build

FAIL: Final = "fail"
SKIP: Final = "skip"
# The columns of a record that a row keeps, besides key and value.
_KEPT: Final = ("timestamp", "offset", "headers")


def check_on_error(on_error: str) -> None:
    if on_error not in (FAIL, SKIP):
        raise PipelineError(f"on_error={on_error!r} is not known: it can be {FAIL!r} or {SKIP!r}")


def decode_records(key: Serde, value: Serde, on_error: str) -> "Build":
    """Decodes the records of a topic to rows with typed keys and values."""

    def build(_: "Compilation", records: "DataFrame") -> "DataFrame":
        from pyspark.sql import functions as F

        serdes = {"key": key, "value": value}
        decoded = {name: serde.decode(F.col(name)) for name, serde in serdes.items()}
        if on_error == FAIL:
            columns = {
                name: F.when(_is_poison(name, column), _refuse(name, serdes[name])).otherwise(
                    column
                )
                for name, column in decoded.items()
            }
        else:
            bad = _is_poison("key", decoded["key"]) | _is_poison("value", decoded["value"])
            records = records.where(~bad)
            columns = decoded
        kept = [name for name in _KEPT if name in records.columns]
        return records.select(*(column.alias(name) for name, column in columns.items()), *kept)

    return build


def poison_records(key: Serde, value: Serde) -> "Build":
    """Keeps only the records that cannot be decoded, unchanged, with headers for their origin."""

    def build(_: "Compilation", records: "DataFrame") -> "DataFrame":
        from pyspark.sql import functions as F

        bad_key = _is_poison("key", key.decode(F.col("key")))
        bad_value = _is_poison("value", value.decode(F.col("value")))
        reason = F.when(bad_key, f"the key is not {key.expects}").otherwise(
            f"the value is not {value.expects}"
        )
        facts = {
            "message": reason,
            "topic": F.col("topic"),
            "partition": F.col("partition"),
            "offset": F.col("offset"),
        }
        headers = F.array(
            *(
                F.struct(
                    F.lit(f"__streams.errors.{name}").alias("key"),
                    fact.cast("string").cast("binary").alias("value"),
                )
                for name, fact in facts.items()
            )
        )
        if "headers" in records.columns:
            headers = F.concat(F.coalesce(F.col("headers"), F.slice(headers, 1, 0)), headers)
        return records.where(bad_key | bad_value).select(
            "key", "value", "timestamp", headers.alias("headers")
        )

    return build


def encode_rows(key: Serde | None, value: Serde | None) -> "Build":
    """Encodes rows to records; the default serde depends on the type of the column."""

    def build(_: "Compilation", rows: "DataFrame") -> "DataFrame":
        from pyspark.sql import functions as F

        types = {field.name: field.dataType for field in rows.schema.fields}
        key_column, key_type = F.col("key"), types["key"]
        if isinstance(key, WindowedKey):
            key_column = F.struct("key", "window")
        key_serde = key or default_serde(key_type)
        value_serde = value or default_serde(types["value"])
        kept = [name for name in ("timestamp", "headers") if name in rows.columns]
        return rows.select(
            key_serde.encode(key_column, key_type).alias("key"),
            value_serde.encode(F.col("value"), types["value"]).alias("value"),
            *kept,
        )

    return build


def _is_poison(name: str, decoded: "Column") -> "Column":
    from pyspark.sql import functions as F

    return F.col(name).isNotNull() & decoded.isNull()


def _refuse(name: str, serde: Serde) -> "Column":
    from pyspark.sql import functions as F

    # one_line finds the text in Spark's exception by the class name in front. It is in two pieces,
    # so that it is not found in the plans that Spark includes in other errors.
    return F.raise_error(
        F.concat(
            F.lit("Pipeline"),
            F.lit("Error: "),
            F.col("topic"),
            F.lit("-"),
            F.col("partition").cast("string"),
            F.lit(" has a poison record at offset "),
            F.col("offset").cast("string"),
            F.lit(
                f": its {name} is not {serde.expects}. on_error='skip' leaves such records out, "
                "dead_letter='topic' puts them there"
            ),
        )
    )
