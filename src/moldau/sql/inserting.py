"""``INSERT INTO topic``: rows as records.

``_key``, ``_timestamp`` and ``_headers`` become what their names say. The value is the column
``value`` if it is the only other one, or else an object of all other columns as JSON.
``_partition`` and ``_offset`` are given by the broker: rows of another topic have them, and they
are left out.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

from pyspark.sql import functions as F  # as everybody imports it
from pyspark.sql import types

from moldau.sql.errors import Span, SqlError
from moldau.sql.settings import SqlSettings

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

_ASSIGNED: Final = ("_partition", "_offset")
_TAKEN: Final = ("_key", "_timestamp", "_headers")
_NESTED: Final = (types.StructType, types.ArrayType, types.MapType, types.VariantType)
_UNNAMED: Final = ("col1",)


def value_columns(columns: Sequence[str]) -> list[str]:
    """The columns that make the value."""
    return [each for each in columns if each.lower() not in (*_TAKEN, *_ASSIGNED)]


def check_columns(columns: Sequence[str], named: Sequence[str], span: Span) -> None:
    """Check the columns of an INSERT; ``named`` are those in brackets after the topic.

    Raises:
        SqlError: one is assigned by the broker, there twice or has no name, or there is no value.
    """
    for each in named:
        if each.lower() in _ASSIGNED:
            raise SqlError(
                f"{each} is given by the broker", f"leave {each} out of the columns", span
            )
    if named and len(named) != len(columns):
        raise SqlError(
            f"{len(named)} columns are named, and there are {len(columns)} values",
            "give as many values as columns",
            span,
        )
    names = [each.lower() for each in named or columns]
    twice = next((each for each in names if names.count(each) > 1), None)
    if twice is not None:
        raise SqlError(f"column {twice} is there twice", "rename one with AS", span)
    if not named and tuple(names[:1]) == _UNNAMED:
        raise SqlError(
            "the values have no names", "name the columns: INSERT INTO t (_key, value) ...", span
        )
    if not value_columns(names):
        raise SqlError(
            "there is no column for the value",
            "select value, or columns that become its JSON; NULL AS value is a tombstone",
            span,
        )


def records(frame: "DataFrame") -> "DataFrame":
    """The rows as ``format("moldau")`` takes them."""
    kinds = {each.name: each.dataType for each in frame.schema}
    by_lower = {name.lower(): name for name in kinds}
    parts: list[Column] = []
    if "_key" in by_lower:
        parts.append(_text(by_lower["_key"], kinds).alias("key"))
    rest = value_columns(list(kinds))
    if [each.lower() for each in rest] == ["value"]:
        parts.append(_text(rest[0], kinds).alias("value"))
    else:
        parts.append(F.to_json(F.struct(*(F.col(_quoted(each)) for each in rest))).alias("value"))
    if "_timestamp" in by_lower:
        parts.append(F.col(by_lower["_timestamp"]).cast("timestamp").alias("timestamp"))
    if "_headers" in by_lower:
        parts.append(F.col(by_lower["_headers"]).alias("headers"))
    return frame.select(*parts)


def _text(name: str, kinds: dict[str, types.DataType]) -> "Column":
    column = F.col(_quoted(name))
    kind = kinds[name]
    if isinstance(kind, types.StringType | types.BinaryType):
        return column
    if isinstance(kind, types.VariantType):
        # A VARIANT that is a string stands for a value that is not JSON.
        is_text = F.schema_of_variant(column) == "STRING"
        return F.when(is_text, column.cast("string")).otherwise(F.to_json(column))
    return F.to_json(column) if isinstance(kind, _NESTED) else column.cast("string")


def _quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


def write(frame: "DataFrame", topic: str, settings: SqlSettings) -> int:
    """Write the rows to a topic; returns how many."""
    return write_records(records(frame), topic, settings)


def write_records(frame: "DataFrame", topic: str, settings: SqlSettings) -> int:
    """Write rows that are records already; returns how many."""
    from pyspark.sql import Observation

    count = Observation()
    writer: Any = frame.observe(count, F.count(F.lit(1)).alias("records")).write
    writer = writer.format("moldau").mode("append").option("topic", topic)
    writer.options(**settings.source_options()).save()
    return int(count.get["records"])
