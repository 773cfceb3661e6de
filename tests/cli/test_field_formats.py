"""Formats of keys and values: bytes to text and JSON, and back."""

import json
import struct
from pathlib import Path
from typing import Any

import pytest

from moldau.cli.errors import UsageError
from moldau.cli.field_formats import parse_format, parse_kafka_class
from moldau.streams import DOUBLE, FLOAT, INT, LONG, STRING, Avro, WindowedKey

NOON_MS = 1_767_268_800_000
ORDER = {
    "type": "record",
    "name": "Order",
    "fields": [
        {"name": "customer", "type": ["null", "string"]},
        {"name": "amount", "type": "double"},
        {"name": "at", "type": {"type": "long", "logicalType": "timestamp-millis"}},
        {"name": "photo", "type": "bytes"},
    ],
}


@pytest.fixture
def schema(tmp_path: Path) -> str:
    path = tmp_path / "order.avsc"
    path.write_text(json.dumps(ORDER))
    return str(path)


@pytest.mark.parametrize(
    ("name", "raw", "text", "value"),
    [
        ("text", "é".encode(), "é", "é"),
        ("string", b"a b", "a b", "a b"),
        ("hex", b"\x00\xff", "00ff", "00ff"),
        ("json", b'{"a":[1,null]}', '{"a":[1,null]}', {"a": [1, None]}),
        ("int", INT.dumps(-5), "-5", -5),
        ("long", LONG.dumps(1 << 62), str(1 << 62), 1 << 62),
        ("float", FLOAT.dumps(0.1), "0.1", 0.1),
        ("float", FLOAT.dumps(16777217.0), "16777216.0", 16777216.0),
        ("double", DOUBLE.dumps(99.5), "99.5", 99.5),
        ("double", DOUBLE.dumps(float("inf")), "inf", "inf"),
        (
            "windowed:text",
            WindowedKey(STRING).dumps(("/search", NOON_MS)),
            "/search@2026-01-01T12:00:00.000Z",
            {"key": "/search", "start": NOON_MS},
        ),
        (
            "windowed:long",
            WindowedKey(LONG).dumps((7, NOON_MS + 1)),
            "7@2026-01-01T12:00:00.001Z",
            {"key": 7, "start": NOON_MS + 1},
        ),
        (
            "session:text",
            WindowedKey(STRING, is_session=True).dumps(("a@b", NOON_MS, NOON_MS + 5000)),
            "a@b@2026-01-01T12:00:00.000Z/2026-01-01T12:00:05.000Z",
            {"key": "a@b", "start": NOON_MS, "end": NOON_MS + 5000},
        ),
        (
            "windowed:text",
            WindowedKey(STRING).dumps(("before 1970", -10_000)),
            "before 1970@-10000",
            {"key": "before 1970", "start": -10_000},
        ),
    ],
)
def test_bytes_go_to_text_and_json_and_back(name: str, raw: bytes, text: str, value: Any) -> None:
    form = parse_format("--value-format", name)
    assert form.to_text(raw).decode() == text
    assert form.to_json(raw) == value
    assert form.from_text(text.encode()) == raw
    assert form.from_json(value) == raw


def test_a_number_that_is_none_is_shown_as_a_string_in_json() -> None:
    form = parse_format("--value-format", "float")
    assert form.to_json(struct.pack(">f", float("nan"))) == "nan"
    assert json.dumps(form.to_json(form.from_text(b"-inf"))) == '"-inf"'


@pytest.mark.parametrize("prefix", [b"", b"\0\0\0\0\x07"])
def test_avro_goes_round_in_its_json_encoding(schema: str, prefix: bytes) -> None:
    form = parse_format("--value-format", f"avro:{schema}{'#7' if prefix else ''}")
    value = {
        "customer": {"string": "Ann"},
        "amount": 99.5,
        "at": NOON_MS,
        "photo": "\u00ff\u0000",
    }
    raw = form.from_json(value)
    assert raw.startswith(prefix)
    assert form.to_json(raw) == value
    assert form.from_text(form.to_text(raw)) == raw
    read = Avro(ORDER, schema_id=7 if prefix else None).loads(raw)
    assert (read["customer"], read["amount"], read["photo"]) == ("Ann", 99.5, b"\xff\0")


@pytest.mark.parametrize(
    ("name", "raw", "problem"),
    [
        ("int", b"12345", "an int has 4 bytes, not 5"),
        ("double", b"", "a double has 8 bytes, not 0"),
        ("json", b"{", "is not JSON"),
        ("windowed:text", b"short", "5 bytes are too few for a window"),
        ("session:text", b"12345678", "8 bytes are too few for a window"),
        ("text", b"\xff", "ff is not UTF-8"),
    ],
)
def test_bytes_of_another_format_are_refused(name: str, raw: bytes, problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        parse_format("--value-format", name).to_json(raw)


@pytest.mark.parametrize(
    ("name", "text", "problem"),
    [
        ("int", "2147483648", "does not fit an int of 4 bytes"),
        ("int", "1.5", "'1.5' is not an int"),
        ("float", "1e40", "does not fit a float of 4 bytes"),
        ("double", "much", "'much' is not a double"),
        ("hex", "xyz", "'xyz' is not hexadecimal"),
        ("json", "nope", "'nope' is not JSON"),
        ("windowed:text", "key", "write key@start"),
        ("session:text", "key@5", "write key@start/end"),
        ("windowed:text", "key@2h", "'2h' is not a time"),
    ],
)
def test_input_of_another_format_is_refused(name: str, text: str, problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        parse_format("--value-format", name).from_text(text.encode())


@pytest.mark.parametrize(
    ("name", "value", "problem"),
    [
        ("long", True, "True is not a long"),
        ("long", 1.5, "1.5 is not a long"),
        ("hex", 5, "is not a string of hexadecimal digits"),
        ("windowed:text", {"key": "k"}, "it needs key, start"),
    ],
)
def test_json_of_another_type_is_refused(name: str, value: Any, problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        parse_format("--value-format", name).from_json(value)


def test_avro_of_another_schema_is_refused(schema: str) -> None:
    form = parse_format("--value-format", f"avro:{schema}")
    with pytest.raises(ValueError, match="does not match the Avro schema"):
        form.to_text(b"\x02")
    raw = form.from_json({"customer": None, "amount": 1.0, "at": 0, "photo": ""})
    with pytest.raises(ValueError, match="1 bytes are left over"):
        form.to_text(raw + b"x")
    with pytest.raises(ValueError, match="of a union is written as"):
        form.from_json({"customer": "Ann", "amount": 1.0, "at": 0, "photo": ""})
    numbered = parse_format("--value-format", f"avro:{schema}#7")
    with pytest.raises(ValueError, match="has schema id 8, not 7"):
        numbered.to_text(b"\0\0\0\0\x08" + raw)
    with pytest.raises(ValueError, match="header of a schema registry"):
        numbered.to_text(b"\x02" + raw)


def test_a_format_that_there_is_not_is_refused_with_those_that_there_are(
    schema: str, tmp_path: Path
) -> None:
    with pytest.raises(UsageError, match="--key-format number: unknown format; use text, hex"):
        parse_format("--key-format", "number")
    with pytest.raises(UsageError, match="unknown format"):
        parse_format("--key-format", "windowed:")
    with pytest.raises(UsageError, match="the schema id 'x' is not a number"):
        parse_format("--key-format", f"avro:{schema}#x")
    other = tmp_path / "other.avsc"
    other.write_text('{"type": "order"}')
    with pytest.raises(UsageError, match="is not an Avro schema"):
        parse_format("--key-format", f"avro:{other}")


def test_kafkas_classes_name_formats_too() -> None:
    name = "org.apache.kafka.common.serialization.LongDeserializer"
    assert parse_kafka_class("value.deserializer", name).to_text(LONG.dumps(5)) == b"5"
    with pytest.raises(UsageError, match="use --key-format and --value-format"):
        parse_kafka_class("value.deserializer", "com.example.OrderDeserializer")
