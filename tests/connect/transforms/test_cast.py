"""Cast: types of fields and whole values, as Java casts and parses."""

import datetime
from decimal import Decimal
from typing import Any

import pytest

from moldau.connect.config.errors import ConfigError
from moldau.connect.data import logical, schema
from moldau.connect.data.errors import DataError
from moldau.connect.data.schema import Schema, Type, struct
from moldau.connect.data.struct import Struct
from moldau.connect.data.values import Float32, Int8, Int32
from tests.connect.transforms.making import changed, record, transform


@pytest.mark.parametrize(
    ("value", "kind", "expected"),
    [
        (300, "int8", 44),
        (-129, "int8", 127),
        (1 << 40, "int32", 0),
        (3e9, "int32", 2**31 - 1),
        (3e9, "int8", -1),
        (float("nan"), "int64", 0),
        (-1e300, "int64", -(2**63)),
        (0.9, "boolean", False),
        (-1.5, "boolean", True),
        (True, "int16", 1),
        (True, "string", "true"),
        ("TRUE", "boolean", True),
        ("yes", "boolean", False),
        ("+7", "int8", 7),
        (" 1.5f ", "float64", 1.5),
        ("0x1p3", "float32", 8.0),
        ("1e400", "float64", float("inf")),
        ("-12.5", "float64", -12.5),
        ("1_0", "boolean", False),
        (9_007_199_791_611_905, "float32", 9_007_200_328_482_816.0),
        (1.0, "string", "1.0"),
        (1e10, "string", "1.0E10"),
        (b"\x00\xff", "string", "AP8="),
    ],
)
def test_a_value_without_schema_is_cast_by_its_class(value: Any, kind: str, expected: Any) -> None:
    assert changed(transform("Cast$Value", spec=kind), value) == expected


def test_the_class_of_a_cast_value_names_its_type() -> None:
    made = transform("Cast$Value", spec="a:int8,b:float32,c:int32")
    value = changed(made, {"a": "5", "b": 1, "c": 2.5, "d": None})
    assert [type(each) for each in value.values()] == [Int8, Float32, Int32, type(None)]


@pytest.mark.parametrize(
    ("value", "kind", "message"),
    [
        ("300", "int8", "'300' cannot be cast to INT8"),
        ("1_000", "int32", "'1_000' cannot be cast to INT32"),
        ("", "float64", "'' cannot be cast to FLOAT64"),
        (b"1", "int8", "cannot make INT8 of a value of BYTES"),
        ([1], "string", "cannot change a value of the type ARRAY"),
        (Decimal("1"), "string", "cannot change a value of Decimal"),
    ],
)
def test_what_cannot_be_cast_is_an_error(value: Any, kind: str, message: str) -> None:
    with pytest.raises(DataError) as caught:
        transform("Cast$Value", spec=kind).apply(record(value))
    assert message in str(caught.value)


def test_logical_types_are_cast_by_what_they_are_stored_as_and_printed_as_dates() -> None:
    day = datetime.date(2024, 2, 29)
    moment = datetime.datetime(2024, 2, 29, 12, 0, 0, 7000, datetime.UTC)
    made = struct(None, {"d": logical.DATE, "t": logical.TIMESTAMP, "n": logical.decimal_schema(1)})
    value = Struct(made, {"d": day, "t": moment, "n": Decimal("12.5")})
    numbers = changed(transform("Cast$Value", spec="d:int32,t:int64,n:float64"), value)
    assert numbers == {"d": 19782, "t": 1_709_208_000_007, "n": 12.5}
    texts = changed(transform("Cast$Value", spec="d:string,t:string,n:string"), value)
    assert texts == {"d": "2024-02-29", "t": "2024-02-29T12:00:00.007Z", "n": "12.5"}


def test_the_schema_keeps_optionality_and_casts_defaults() -> None:
    old = struct(
        "Order", {"a": Schema(Type.STRING, True, "7"), "b": schema.INT32}, version=3, doc="words"
    )
    result = transform("Cast$Value", spec="a:int8").apply(record(Struct(old, {"b": 1})))
    assert result is not None
    expected = struct("Order", {"a": Schema(Type.INT8, True, 7), "b": schema.INT32}, version=3)
    assert result.value_schema == expected.replace(doc="words")
    assert result.value.values == [7, 1]


def test_null_stays_null_if_defaults_are_not_to_replace_it() -> None:
    made = transform("Cast$Value", spec="a:int8", replace_null_with_default="false")
    old = struct(None, {"a": Schema(Type.STRING, True, "7")})
    assert changed(made, Struct(old)) == {"a": None}
    required = struct(None, {"a": Schema(Type.STRING, False, "7")})
    with pytest.raises(DataError, match="field a is null, but required, as INT8"):
        made.apply(record(Struct(required)))


def test_a_tombstone_and_the_other_part_pass() -> None:
    tombstone = record(None, schema.OPTIONAL_STRING)
    assert transform("Cast$Value", spec="int8").apply(tombstone) is tombstone
    result = transform("Cast$Key", spec="string").apply(record({"a": 1}, key=5))
    assert result is not None
    assert (result.key, result.value) == ("5", {"a": 1})


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("", "spec cannot be empty: write field:type"),
        ("a:b:int8", "spec cannot be [a:b:int8]: write a:b:int8 as field:type"),
        ("a:number", "spec has the unknown type number: choose from int8, int16"),
        ("a:bytes", "spec has bytes, which is not cast to: choose from int8"),
        ("int8,a:string", "spec cannot be int8, a:string: one type is for the whole"),
    ],
)
def test_a_wrong_spec_is_refused(spec: str, message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        transform("Cast$Value", spec=spec)
    assert message in str(caught.value)
