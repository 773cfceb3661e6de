"""Avro schemas as types of Spark, and values that fit them."""

import datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql.pandas.types import to_arrow_type

from moldau.sql.avro_types import fit, spark_type

NODE = {
    "type": "record",
    "name": "Node",
    "fields": [{"name": "next", "type": ["null", "Node"]}, {"name": "n", "type": "int"}],
}
CASES: list[tuple[Any, str, Any, Any]] = [
    ("string", "string", "a", "a"),
    (["null", "long"], "bigint", None, None),
    (["null", "long", "string"], "string", 7, "7"),
    ({"type": "int", "logicalType": "date"}, "date", datetime.date(2026, 1, 31), None),
    ({"type": "array", "items": "int"}, "array<int>", [1, 2], None),
    ({"type": "map", "values": "double"}, "map<string,double>", {"a": 1.5}, [("a", 1.5)]),
    ({"type": "enum", "name": "E", "symbols": ["A"]}, "string", "A", "A"),
    ({"type": "fixed", "name": "F", "size": 2}, "binary", b"ab", b"ab"),
    (
        {"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 2},
        "decimal(9,2)",
        Decimal("1.25"),
        None,
    ),
    (NODE, "struct<next:string,n:int>", {"next": {"next": None, "n": 2}, "n": 1}, None),
    ({"type": {"type": "string"}}, "string", "a", "a"),
]


@pytest.mark.parametrize(("schema", "name", "value", "expected"), CASES)
def test_a_schema_has_a_type_that_takes_its_values(
    schema: Any, name: str, value: Any, expected: Any
) -> None:
    kind = spark_type(schema)
    assert kind.simpleString() == name
    fitted = fit(value, kind)
    if expected is not None:
        assert fitted == expected
    array = pa.array([fitted], to_arrow_type(kind, timezone="UTC"))
    assert len(array) == 1


def test_a_named_type_can_be_used_again() -> None:
    schema = {
        "type": "record",
        "name": "R",
        "fields": [
            {"name": "a", "type": {"type": "enum", "name": "x.E", "symbols": ["A"]}},
            {
                "name": "b",
                "type": {"type": "record", "name": "I", "fields": [{"name": "c", "type": "int"}]},
            },
            {"name": "d", "type": ["null", "I"]},
        ],
    }
    expected = "struct<a:string,b:struct<c:int>,d:struct<c:int>>"
    assert spark_type(schema).simpleString() == expected


def test_a_type_inside_itself_becomes_json() -> None:
    value = {"next": {"next": None, "n": 2}, "n": 1}
    assert fit(value, spark_type(NODE))["next"] == '{"next": null, "n": 2}'
