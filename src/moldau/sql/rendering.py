"""Formats the rows of a DataFrame as text, in Spark, and returns them in pieces."""

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any, Final

from pyspark.sql import functions as F  # as everybody imports it
from pyspark.sql import types

from moldau.sql.results import Column, Form

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

PIECE_ROWS: Final = 1000
# Results of at most so many rows are collected at once, which takes one job instead of several.
_SMALL_ROWS: Final = 10_000
_NESTED: Final = (types.StructType, types.ArrayType, types.MapType)
_HEADERS: Final = "array<struct<key:string,value:binary>>"


def columns_of(frame: "DataFrame") -> list[Column]:
    return [
        Column(each.name, isinstance(each.dataType, types.NumericType)) for each in frame.schema
    ]


def as_text(frame: "DataFrame", form: Form) -> "DataFrame":
    """Each row as cells of text or, for JSON, as one cell with an object."""
    # By position: names need not be unique.
    numbered = frame.toDF(*(f"c{i}" for i in range(len(frame.columns))))
    if form is not Form.JSON:
        return numbered.selectExpr(
            *(_cell(f"c{i}", each.dataType) for i, each in enumerate(frame.schema))
        )
    fields = [
        F.expr(_readable(f"c{i}", each.dataType)).alias(name)
        for i, (each, name) in enumerate(
            zip(frame.schema, unique_names(frame.columns), strict=True)
        )
    ]
    return numbered.select(F.to_json(F.struct(*fields), {"ignoreNullFields": "false"}))


def _cell(name: str, kind: types.DataType) -> str:
    readable = _readable(name, kind)
    if isinstance(kind, _NESTED):
        return f"to_json({readable})"
    if isinstance(kind, types.VariantType):
        # A string without quotes; objects as JSON.
        return f"coalesce(try_variant_get({name}, '$', 'string'), to_json({name}))"
    return f"cast({readable} AS STRING)"


def _readable(name: str, kind: types.DataType) -> str:
    """Bytes as text if they are."""
    if isinstance(kind, types.BinaryType):
        text = f"cast({name} AS STRING)"
        return f"if(is_valid_utf8({text}), {text}, concat('0x', hex({name})))"
    if kind.simpleString() == _HEADERS:
        # As long as it is text; binary headers are shown in Base64, as to_json does.
        text = "cast(h.value AS STRING)"
        value = f"if(is_valid_utf8({text}), {text}, base64(h.value))"
        return f"transform({name}, h -> named_struct('key', h.key, 'value', {value}))"
    return name


def unique_names(names: Sequence[str]) -> list[str]:
    """The names, where one that is there already gets a number: an object has no field twice."""
    seen: dict[str, int] = {}
    found = []
    for name in names:
        seen[name.lower()] = seen.get(name.lower(), 0) + 1
        count = seen[name.lower()]
        found.append(name if count == 1 else f"{name}_{count}")
    return found


def pieces(frame: "DataFrame") -> Iterator[list[Any]]:
    """The rows of a DataFrame, in pieces: the first ones come while the rest is computed."""
    plan: Any = frame._jdf.queryExecution().optimizedPlan()
    bound = plan.maxRows()
    if bound.isDefined() and bound.get() <= _SMALL_ROWS:
        rows = frame.collect()
        yield from (rows[i : i + PIECE_ROWS] for i in range(0, len(rows), PIECE_ROWS))
        return
    rows_left = frame.toLocalIterator(prefetchPartitions=True)
    while piece := list(islice(rows_left, PIECE_ROWS)):
        yield piece
