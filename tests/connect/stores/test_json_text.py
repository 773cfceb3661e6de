"""JSON as Java writes it. The expected texts were printed by Jackson and ``Double.toString``."""

from typing import Any

import pytest

from moldau.connect.stores import json_text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (["name", {"filename": "/tmp/a b"}], '["name",{"filename":"/tmp/a b"}]'),
        ({"b": 1, "a": None, "c": True}, '{"b":1,"a":null,"c":true}'),
        ('"\\\b\t\n\f\r\x01\x1f\x7f/', '"\\"\\\\\\b\\t\\n\\f\\r\\u0001\\u001F\x7f/"'),
        ("žluť 🐎", '"žluť 🐎"'),
        (1.0, "1.0"),
        (-0.0, "-0.0"),
        (0.001, "0.001"),
        (0.0001, "1.0E-4"),
        (0.000123, "1.23E-4"),
        (9999999.0, "9999999.0"),
        (1e7, "1.0E7"),
        (-12345678.5, "-1.23456785E7"),
        (1.5e300, "1.5E300"),
        (5e-324, "5.0E-324"),
        (float("nan"), '"NaN"'),
        (2**70, "1180591620717411303424"),
    ],
)
def test_a_value_is_written_as_java_writes_it(value: Any, text: str) -> None:
    assert json_text.encode(value).decode() == text


def test_what_is_not_json_is_refused_by_name() -> None:
    with pytest.raises(json_text.InvalidJson, match="is not JSON"):
        json_text.decode(b"{")
    with pytest.raises(TypeError, match="has no form in JSON"):
        json_text.encode({"a": object()})
