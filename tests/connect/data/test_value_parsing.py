"""Header values as Kafka guesses them; tests/compat compares thousands more with Kafka's own."""

import datetime
from decimal import Decimal
from typing import Any

import pytest

from moldau.connect.data.logical import DATE, TIME, TIMESTAMP, decimal_schema
from moldau.connect.data.schema import (
    BOOLEAN,
    FLOAT32,
    INT8,
    INT16,
    INT32,
    INT64,
    STRING,
    Schema,
    Type,
    array,
    map_of,
    struct,
)
from moldau.connect.data.struct import Struct
from moldau.connect.data.value_parsing import parse_string
from moldau.connect.data.value_text import value_text


@pytest.mark.parametrize(
    ("text", "schema", "value"),
    [
        ("", STRING, ""),
        ("null", None, None),
        (" true ", BOOLEAN, True),
        ("True", STRING, "True"),
        ("127", INT8, 127),
        ("-129", INT16, -129),
        ("70000", INT32, 70000),
        ("5000000000", INT64, 5000000000),
        ("5.0", INT8, 5),
        ("1.5", FLOAT32, 1.5),
        ("12345678901234567890", decimal_schema(0), Decimal("12345678901234567890")),
        ("1_0", STRING, "1_0"),
        ("2024-02-29", DATE, datetime.date(2024, 2, 29)),
        ("2024-02-30", DATE, datetime.date(2024, 3, 1)),
        ("12:34:56.789Z", TIME, datetime.time(12, 34, 56, 789000)),
        (
            "2024-02-29T12:34:56.789Z",
            TIMESTAMP,
            datetime.datetime(2024, 2, 29, 12, 34, 56, 789000, datetime.UTC),
        ),
        ("[1, 300]", array(INT16), [1, 300]),
        ("[1, 2.5]", array(FLOAT32), [1.0, 2.5]),
        ('{"a": 1, "b": [true]}', Schema(Type.MAP, key_schema=STRING), {"a": 1, "b": [True]}),
        ('{"a": 1}', map_of(STRING, INT8), {"a": 1}),
        ("[]", Schema(Type.ARRAY), []),
        ("[1,null]", STRING, "[1,null]"),
        ("[1", STRING, "[1"),
        ("hello: world", STRING, "hello: world"),
        ("12:abc", INT8, 12),
    ],
)
def test_text_is_read_as_what_it_looks_like(text: str, schema: Schema | None, value: Any) -> None:
    assert parse_string(text) == (schema, value)


def test_deeply_nested_text_is_a_string() -> None:
    text = "[" * 5000
    assert parse_string(text) == (STRING, text)


def test_values_are_printed_as_they_are_read() -> None:
    inner = struct("S", {"a": STRING, "b": FLOAT32})
    value = {
        'k"': [1, None, "x\\y", b"\xff", True],
        "s": Struct(inner, {"a": "t", "b": 2.5}),
        "d": datetime.date(2024, 2, 29),
    }
    text = r'{"k\"":[1,null,"x\\y","/w==",true],"s":{"a":"t","b":2.5},"d":2024-02-29}'
    assert value_text(value) == text
    assert value_text("plain") == "plain"
    assert value_text(datetime.date(1969, 1, 1)) == "00:00:00.000Z"
