"""Text as Java writes it. The expected ones are printed by OpenJDK 21."""

import datetime
import math
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moldau.connect.data.java_text import date_text, decimal_text, double_text, float_text, to_text
from moldau.connect.data.schema import FLOAT32, FLOAT64, array, struct
from moldau.connect.data.struct import Struct
from moldau.connect.data.values import Float32, Int8, to_float32


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0.0"),
        (-0.0, "-0.0"),
        (1.0, "1.0"),
        (0.001, "0.001"),
        (0.00099, "9.9E-4"),
        (9999999.0, "9999999.0"),
        (1e7, "1.0E7"),
        (12345678.9, "1.23456789E7"),
        (1e100, "1.0E100"),
        (-1.5e-10, "-1.5E-10"),
        (5e-324, "4.9E-324"),
        (2e23, "2.0E23"),
        (1.7976931348623157e308, "1.7976931348623157E308"),
        (0.1 + 0.2, "0.30000000000000004"),
        (math.nan, "NaN"),
        (math.inf, "Infinity"),
        (-math.inf, "-Infinity"),
    ],
)
def test_doubles(value: float, text: str) -> None:
    assert double_text(value) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.1, "0.1"),
        (3.4028234663852886e38, "3.4028235E38"),
        (1.401298464324817e-45, "1.4E-45"),
        (1.17549435e-38, "1.1754944E-38"),
        (16777216.0, "1.6777216E7"),
        (33554432.0, "3.3554432E7"),
        (1e10, "1.0E10"),
        (0.001, "0.001"),
        (9999999.0, "9999999.0"),
        (-123.456, "-123.456"),
        (-0.0, "-0.0"),
        (math.nan, "NaN"),
    ],
)
def test_floats(value: float, text: str) -> None:
    assert float_text(to_float32(value)) == text


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_doubles_lead_back_to_themselves(value: float) -> None:
    assert float(double_text(value)) == value


@given(st.floats(width=32, allow_nan=False, allow_infinity=False))
def test_floats_lead_back_to_themselves(value: float) -> None:
    assert to_float32(float(float_text(value))) == value


@pytest.mark.parametrize(
    ("value", "text"),
    [("12.50", "12.50"), ("1E+3", "1E+3"), ("1E-10", "1E-10"), ("-0.00", "0.00"), ("-7", "-7")],
)
def test_decimals(value: str, text: str) -> None:
    assert decimal_text(Decimal(value)) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (datetime.date(1970, 1, 1), "Thu Jan 01 00:00:00 UTC 1970"),
        (datetime.time(23, 5, 1, 999000), "Thu Jan 01 23:05:01 UTC 1970"),
        (
            datetime.datetime(2024, 2, 29, 1, 2, 3, tzinfo=datetime.UTC),
            "Thu Feb 29 01:02:03 UTC 2024",
        ),
        # The day before the Gregorian calendar began was the 4th of October in the Julian one.
        (datetime.date(1582, 10, 14), "Thu Oct 04 00:00:00 UTC 1582"),
        (datetime.date(1582, 10, 15), "Fri Oct 15 00:00:00 UTC 1582"),
    ],
)
def test_dates(value: datetime.date, text: str) -> None:
    assert date_text(value) == text


def test_values_of_all_kinds() -> None:
    schema = struct("S", {"a": FLOAT32, "b": FLOAT64.optional(), "c": array(FLOAT32)})
    value = Struct(schema, {"a": to_float32(0.1), "c": [to_float32(0.2)]})
    assert to_text(value) == "Struct{a=0.1,c=[0.2]}"
    mixed = {"a": [1, None, True], "b": {Int8(1): Float32(to_float32(0.1))}, "c": 0.1}
    assert to_text(mixed) == "{a=[1, null, true], b={1=0.1}, c=0.1}"
    assert to_text(None) == "null"
