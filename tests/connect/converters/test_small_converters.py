"""Strings, bytes, booleans, numbers and headers; tests/compat compares them with Kafka's own."""

from typing import Any

import pytest

from moldau.connect.config.errors import ConfigError
from moldau.connect.converters.base import Converter
from moldau.connect.converters.byte_array import ByteArrayConverter
from moldau.connect.converters.primitives import (
    BooleanConverter,
    DoubleConverter,
    FloatConverter,
    IntegerConverter,
    LongConverter,
    ShortConverter,
)
from moldau.connect.converters.simple_header import SimpleHeaderConverter
from moldau.connect.converters.string import StringConverter
from moldau.connect.data.errors import DataError
from moldau.connect.data.schema import (
    BOOLEAN,
    BYTES,
    FLOAT32,
    INT16,
    INT32,
    INT64,
    OPTIONAL_BYTES,
    OPTIONAL_STRING,
    STRING,
    Schema,
)
from moldau.connect.data.values import Int16


def made(kind: type[Converter], **config: str) -> Any:
    converter = kind()
    converter.configure(config)
    return converter


@pytest.mark.parametrize(
    ("kind", "schema", "value", "data"),
    [
        (BooleanConverter, BOOLEAN, True, b"\1"),
        (ShortConverter, INT16, -2, b"\xff\xfe"),
        (ShortConverter, None, Int16(3), b"\0\3"),
        (IntegerConverter, INT32, 5, b"\0\0\0\5"),
        (LongConverter, None, 5, b"\0\0\0\0\0\0\0\5"),
        (FloatConverter, FLOAT32, 1.5, b"\x3f\xc0\0\0"),
        (DoubleConverter, None, 1.5, b"\x3f\xf8\0\0\0\0\0\0"),
        (ByteArrayConverter, BYTES, b"x", b"x"),
        (StringConverter, STRING, "ü", "ü".encode()),
    ],
)
def test_values_and_bytes(
    kind: type[Converter], schema: Schema | None, value: Any, data: bytes
) -> None:
    converter = made(kind)
    assert converter.from_connect("t", (), schema, value) == data
    read_schema, read = converter.to_connect("t", (), data)
    assert read == value
    assert read_schema is not None
    assert read_schema.is_optional
    assert converter.from_connect("t", (), schema, None) is None
    assert converter.to_connect("t", (), None) == (read_schema, None)


@pytest.mark.parametrize(
    ("kind", "data", "message"),
    [
        (BooleanConverter, b"\2", "a BOOLEAN is 0 or 1, not 2"),
        (BooleanConverter, b"", "a BOOLEAN has 1 byte, not 0"),
        (IntegerConverter, b"\0", "INT32 has 4 bytes, not 1"),
    ],
)
def test_bytes_of_another_size_are_refused(
    kind: type[Converter], data: bytes, message: str
) -> None:
    with pytest.raises(DataError) as error:
        made(kind).to_connect("t", (), data)
    assert message in str(error.value)


@pytest.mark.parametrize(
    ("kind", "schema", "value", "message"),
    [
        (IntegerConverter, INT64, 5, "IntegerConverter takes INT32, not INT64"),
        (ShortConverter, INT16, 2**15, "32768 does not fit INT16"),
        (LongConverter, None, "x", "LongConverter takes INT64, not STRING"),
        (BooleanConverter, STRING, True, "BooleanConverter takes BOOLEAN, not STRING"),
        (BooleanConverter, None, 1, "BooleanConverter takes BOOLEAN, not INT64"),
        (ByteArrayConverter, None, "x", "ByteArrayConverter takes BYTES, not STRING"),
        (ByteArrayConverter, STRING, b"", "ByteArrayConverter takes BYTES, not STRING"),
    ],
)
def test_values_of_other_classes_are_refused(
    kind: type[Converter], schema: Schema | None, value: Any, message: str
) -> None:
    with pytest.raises(DataError) as error:
        made(kind).from_connect("t", (), schema, value)
    assert message in str(error.value)


@pytest.mark.parametrize(
    ("encoding", "text", "data"),
    [
        ("UTF-8", "ü", b"\xc3\xbc"),
        ("ISO-8859-1", "ü", b"\xfc"),
        ("US-ASCII", "ü", b"?"),
        ("UTF-16", "ü", b"\xfe\xff\0\xfc"),
        ("UTF-16LE", "ü", b"\xfc\0"),
    ],
)
def test_strings_in_other_character_sets(encoding: str, text: str, data: bytes) -> None:
    converter = StringConverter()
    converter.configure({"converter.encoding": encoding})
    assert converter.from_connect("t", (), STRING, text) == data
    if data != b"?":
        assert converter.to_connect("t", (), data) == (OPTIONAL_STRING, text)


def test_bytes_that_are_no_text_are_replaced() -> None:
    assert made(StringConverter).to_connect("t", (), b"a\xff") == (OPTIONAL_STRING, "a\ufffd")


def test_an_unknown_character_set_is_named() -> None:
    with pytest.raises(ConfigError, match=r"converter\.encoding cannot be UTF-9"):
        StringConverter().configure({"converter.encoding": "UTF-9"})


def test_converters_of_values_convert_headers_alike() -> None:
    converter = made(ByteArrayConverter)
    assert converter.from_connect_header("t", "h", None, b"x") == b"x"
    assert converter.to_connect_header("t", "h", b"x") == (OPTIONAL_BYTES, b"x")


def test_headers_are_text_whose_type_is_guessed() -> None:
    converter = SimpleHeaderConverter()
    assert converter.from_connect_header("t", "h", None, {"a": [1, "x"]}) == b'{"a":[1,"x"]}'
    assert converter.to_connect_header("t", "h", b"300") == (INT16, 300)
    assert converter.to_connect_header("t", "h", b"\xff") == (STRING, "\ufffd")
    assert converter.to_connect_header("t", "h", None) == (None, None)
    assert converter.from_connect_header("t", "h", None, None) is None
