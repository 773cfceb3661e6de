"""Schemas become Arrow's, values rows."""

import datetime
from decimal import Decimal

import pyarrow as pa
import pytest

from moldau.connect.connectors.lake.arrow_types import (
    DELTA,
    ICEBERG,
    PARQUET,
    TIMESTAMP,
    Dialect,
    arrow_type,
)
from moldau.connect.connectors.lake.rows import CHUNK, RowMaker, RowOptions, Shape
from moldau.connect.data import logical
from moldau.connect.data import schema as schemas
from moldau.connect.data.errors import DataError
from moldau.connect.data.schema import Schema, Type, struct
from moldau.connect.data.struct import Struct
from tests.connect.lake.driving import ORDER, Task, order, record

INNER = struct("inner", {"a": schemas.INT32, "day": logical.OPTIONAL_DATE})
LIST = Schema(Type.ARRAY, value_schema=INNER)
MAP = Schema(Type.MAP, key_schema=schemas.STRING, value_schema=logical.OPTIONAL_TIME)
ALL = struct(
    "all",
    {
        "tiny": schemas.INT8,
        "double": schemas.FLOAT64,
        "yes": schemas.BOOLEAN,
        "data": schemas.BYTES,
        "price": logical.decimal_schema(2),
        "at": logical.TIMESTAMP,
        "time": logical.TIME,
        "list": LIST,
        "map": MAP,
        "missing": schemas.OPTIONAL_STRING,
        "filled": schemas.OPTIONAL_STRING.replace(default="x"),
    },
)
AT = datetime.datetime(2026, 1, 2, 3, 4, 5, 6000, tzinfo=datetime.UTC)
VALUES = {
    "tiny": 7,
    "double": 0.5,
    "yes": True,
    "data": b"\x00\x01",
    "price": Decimal("12.50"),
    "at": AT,
    "time": datetime.time(1, 2, 3),
    "list": [Struct(INNER, {"a": 1, "day": datetime.date(2026, 1, 1)}), Struct(INNER, {"a": 2})],
    "map": {"noon": datetime.time(12), "never": None},
}


def one_row(dialect: Dialect) -> pa.Table:
    shape = Shape(ALL, None, RowOptions(dialect=dialect))
    return shape.table([record(Struct(ALL, VALUES), ALL)])


def test_every_type_becomes_a_column() -> None:
    table = one_row(PARQUET)
    assert table.schema.field("tiny").type == pa.int8()
    assert table.schema.field("price").type == pa.decimal128(38, 2)
    assert table.schema.field("at").type == TIMESTAMP
    assert table.to_pylist() == [
        {
            **VALUES,
            "list": [{"a": 1, "day": datetime.date(2026, 1, 1)}, {"a": 2, "day": None}],
            "map": [("noon", datetime.time(12)), ("never", None)],
            "missing": None,
            "filled": "x",
        }
    ]


def test_a_target_gets_only_types_that_it_has() -> None:
    assert one_row(DELTA).schema.field("time").type == pa.int32()
    assert one_row(DELTA)["time"].to_pylist() == [3_723_000]
    assert one_row(DELTA)["map"].to_pylist() == [[("noon", 43_200_000), ("never", None)]]
    assert one_row(ICEBERG).schema.field("tiny").type == pa.int32()
    assert one_row(ICEBERG)["time"].to_pylist() == [datetime.time(1, 2, 3)]


def test_all_columns_may_be_null() -> None:
    assert all(field.nullable for field in one_row(PARQUET).schema)


@pytest.mark.parametrize(
    ("schema", "message"),
    [
        (struct("empty", {}), "struct without fields"),
        (logical.decimal_schema(39), "scale 39"),
        (logical.decimal_schema(-1), "scale -1"),
        (Schema(Type.ARRAY), "incomplete"),
    ],
)
def test_what_no_table_can_store_is_refused(schema: Schema, message: str) -> None:
    with pytest.raises(DataError, match=message):
        arrow_type(schema, PARQUET)


def test_a_value_that_is_no_struct_is_one_column() -> None:
    shape = Shape(schemas.OPTIONAL_STRING, None, RowOptions())
    assert shape.table([record("hello", schemas.OPTIONAL_STRING)]).to_pylist() == [
        {"value": "hello"}
    ]


def test_a_value_without_a_schema_is_json_text() -> None:
    shape = Shape(None, None, RowOptions())
    table = shape.table([record({"a": [1, None]}), record("text"), record(1.5)])
    assert table["value"].to_pylist() == ['{"a":[1,null]}', '"text"', "1.5"]


def test_a_value_without_a_schema_is_refused_with_the_remedy() -> None:
    bad: list[str] = []
    maker = RowMaker(RowOptions(refuses_schemaless=True))
    records = iter([record({"a": 1}, offset=3)])
    assert list(maker.chunks(records, lambda _: 1, Task(bad=bad))) == []
    assert bad[0].startswith("record orders-0@3: the value has no schema")
    assert "schemaless.values=json" in bad[0]


def test_where_a_row_comes_from_is_added_on_request() -> None:
    options = RowOptions(metadata=("_key", "_topic", "_partition", "_offset", "_timestamp"))
    shape = Shape(ORDER, schemas.STRING, options)
    row = order(17, partition=2).replace(
        key="k", key_schema=schemas.STRING, timestamp_ms=1000, topic="renamed"
    )
    assert shape.table([row]).to_pylist() == [
        {
            "id": 17,
            "item": "item 17",
            "_key": "k",
            "_topic": "orders",
            "_partition": 2,
            "_offset": 17,
            "_timestamp": datetime.datetime(1970, 1, 1, 0, 0, 1, tzinfo=datetime.UTC),
        }
    ]


def test_a_key_of_several_fields_is_json_text() -> None:
    shape = Shape(ORDER, ORDER, RowOptions(metadata=("_key",)))
    row = order(1).replace(key=Struct(ORDER, {"id": 5}), key_schema=ORDER)
    assert shape.table([row])["_key"].to_pylist() == ['{"id":5,"item":null}']


def test_a_field_named_as_a_metadata_column_is_refused() -> None:
    schema = struct("s", {"_offset": schemas.INT32})
    with pytest.raises(DataError, match="_offset, which is also one of"):
        Shape(schema, None, RowOptions(metadata=("_offset",)))


def test_only_the_bad_records_are_reported() -> None:
    bad: list[str] = []
    wrong = record(Struct.of(ORDER, ["no number", None]), ORDER, offset=1)
    chunks = RowMaker(RowOptions()).chunks(
        iter([order(0), wrong, order(2)]), lambda _: 1, Task(bad=bad)
    )
    [(_, rows)] = chunks
    assert rows.table["id"].to_pylist() == [0, 2]
    assert len(bad) == 1
    assert bad[0].startswith("record orders-0@1: ")


def test_tombstones_are_left_out_or_reported() -> None:
    tombstone = record(None, None, offset=4)
    ignoring, failing = RowMaker(RowOptions()), RowMaker(RowOptions(refuses_nulls=True))
    assert list(ignoring.chunks(iter([tombstone]), lambda _: 1, Task())) == []
    with pytest.raises(DataError, match="record orders-0@4: the record has no value"):
        list(failing.chunks(iter([tombstone]), lambda _: 1, Task()))


def test_a_chunk_has_one_group_one_schema_and_a_limited_size() -> None:
    records = [order(0), order(1, price=1.0), order(2, price=1.0), order(3, partition=1)]
    chunks = RowMaker(RowOptions()).chunks(
        iter(records), lambda each: each.original_partition, Task(), limit=2
    )
    found = [(group, [each.offset for each in rows.records]) for group, rows in chunks]
    assert found == [(0, [0]), (0, [1, 2]), (1, [3])]
    assert CHUNK > 2
