"""Transforms of headers."""

import pytest

from moldau.connect.config.errors import ConfigError
from moldau.connect.data import schema
from moldau.connect.data.errors import ConnectError, DataError
from moldau.connect.data.headers import Header
from moldau.connect.data.schema import struct
from moldau.connect.data.struct import Struct
from moldau.connect.data.values import Int8
from tests.connect.transforms.making import record, transform

HEADERS = [Header("a", schema.STRING, "1"), Header("b", None, 2), Header("a", None, 3)]
SCHEMA = struct("V", {"a": schema.INT32, "b": schema.OPTIONAL_STRING, "c": schema.BOOLEAN})


def test_headers_are_dropped_by_name() -> None:
    before = record(headers=HEADERS)
    result = transform("DropHeaders", headers="a,x").apply(before)
    assert result is not None
    assert result.headers == [HEADERS[1]]
    assert before.headers == HEADERS


def test_a_header_is_appended_with_the_type_that_its_text_has() -> None:
    before = record(headers=HEADERS)
    result = transform("InsertHeader", header="n", value_literal="5").apply(before)
    assert result is not None
    assert result.headers == [*HEADERS, Header("n", schema.INT8, Int8(5))]
    assert before.headers == HEADERS


def test_fields_are_moved_to_headers() -> None:
    made = transform("HeaderFrom$Value", fields="b,a", headers="h,h", operation="move")
    value = Struct(SCHEMA, {"a": 1, "c": True})
    result = made.apply(record(value))
    assert result is not None
    assert result.headers == [
        Header("h", schema.OPTIONAL_STRING, None),
        Header("h", schema.INT32, 1),
    ]
    assert result.value == Struct(struct("V", {"c": schema.BOOLEAN}), {"c": True})


def test_fields_are_copied_to_headers() -> None:
    made = transform("HeaderFrom$Value", fields="a,x", headers="h,i", operation="copy")
    result = made.apply(record({"a": 1}))
    assert result is not None
    assert (result.value, result.headers) == (
        {"a": 1},
        [Header("h", None, 1), Header("i", None, None)],
    )


def test_a_field_that_the_schema_does_not_have_is_an_error() -> None:
    made = transform("HeaderFrom$Value", fields="x", headers="h", operation="copy")
    with pytest.raises(ConnectError, match="no field x") as caught:
        made.apply(record(Struct(SCHEMA, {"a": 1, "c": True})))
    assert caught.value.java_class == "java.lang.NullPointerException"


def test_a_header_without_value_needs_an_optional_schema() -> None:
    made = transform("HeaderFrom$Value", fields="a", headers="h", operation="copy")
    with pytest.raises(DataError, match=r"a is null, but Schema\{INT32\} is not optional"):
        made.apply(record(Struct.of(SCHEMA, [None, None, True])))


def test_there_must_be_as_many_headers_as_fields() -> None:
    with pytest.raises(ConfigError, match="fields has 2 entries, but headers 1"):
        transform("HeaderFrom$Value", fields="a,b", headers="h", operation="copy")
    with pytest.raises(ConfigError, match="operation cannot be drop: choose from move, copy"):
        transform("HeaderFrom$Value", fields="a", headers="h", operation="drop")
