"""Numbers and other values as text, written as Java writes them.

Kafka's JSON, its strings and its header values contain what ``Double.toString`` and its relatives
print, and whoever compares the two systems byte by byte, or parses one with the regular expression
of the other, must find the same. Floats are printed with the fewest digits that lead back to the
same number, but at least two (as the JDK does since version 19; older ones sometimes print more
digits than they need, JDK-4511638).
"""

import datetime
import math
from decimal import Decimal
from typing import Any

from moldau.connect.data.java_dates import calendar_day
from moldau.connect.data.logical import java_scale
from moldau.connect.data.schema import Schema, Type
from moldau.connect.data.struct import Struct
from moldau.connect.data.values import Float32, to_float32

_SMALLEST_NORMAL_FLOAT32 = 2.0**-126


def double_text(value: float) -> str:
    """``Double.toString``: decimal from a thousandth to ten million, with an exponent beyond."""
    size = abs(value)
    if 1e-3 <= size < 1e7:
        return float.__repr__(value)
    if size == 0.0:
        return float.__repr__(value)
    if not math.isfinite(value):
        return _not_finite(value)
    text = float.__repr__(value)
    digits, exponent = _digits(text)
    if len(digits) == 1:
        # Two digits are printed anyway, and then the two that are nearest to the number.
        digits, exponent = _digits(f"{value:.1e}")
    return _scientific(value, digits, exponent)


def float_text(value: float) -> str:
    """``Float.toString`` of a number that 32 bits can hold."""
    size = abs(value)
    if size == 0.0:
        return float.__repr__(value)
    if not math.isfinite(value):
        return _not_finite(value)
    # Six digits are always enough for a number that was written with six; nine for every number.
    start = 5 if size >= _SMALLEST_NORMAL_FLOAT32 else 1
    for places in range(start, 9):
        text = f"{value:.{places}e}"
        if to_float32(float(text)) == value:
            break
    digits, exponent = _digits(text)
    if 1e-3 <= size < 1e7:
        return _plain(value, digits, exponent)
    return _scientific(value, digits, exponent)


def _not_finite(value: float) -> str:
    if math.isnan(value):
        return "NaN"
    return "Infinity" if value > 0 else "-Infinity"


def _digits(text: str) -> tuple[str, int]:
    """The significant digits, without trailing zeros, and the exponent of the first of them."""
    mantissa, _, exponent_text = text.lstrip("-").partition("e")
    whole, _, fraction = mantissa.partition(".")
    exponent = int(exponent_text or 0) + len(whole) - 1
    digits = whole + fraction
    stripped = digits.lstrip("0")
    exponent -= len(digits) - len(stripped)
    return stripped.rstrip("0") or "0", exponent


def _scientific(value: float, digits: str, exponent: int) -> str:
    sign = "-" if value < 0 else ""
    return f"{sign}{digits[0]}.{digits[1:] or '0'}E{exponent}"


def _plain(value: float, digits: str, exponent: int) -> str:
    sign = "-" if value < 0 else ""
    if exponent < 0:
        return f"{sign}0.{'0' * (-exponent - 1)}{digits}"
    whole = digits[: exponent + 1].ljust(exponent + 1, "0")
    return f"{sign}{whole}.{digits[exponent + 1 :] or '0'}"


def decimal_text(value: Decimal) -> str:
    """``BigDecimal.toString``; a zero has no sign there."""
    java_scale(value)  # refuses what Java's decimals cannot be
    text = str(value)
    return text.removeprefix("-") if value.is_zero() else text


def date_text(value: datetime.date | datetime.time) -> str:
    """``Date.toString`` in UTC, such as ``Thu Jan 01 00:00:00 UTC 1970``."""
    if isinstance(value, datetime.time):
        moment = datetime.datetime.combine(datetime.date(1970, 1, 1), value)
    elif isinstance(value, datetime.datetime):
        moment = value.astimezone(datetime.UTC)
    else:
        moment = datetime.datetime.combine(value, datetime.time())
    year, month, day = calendar_day(moment)
    date = f"{_DAYS[moment.weekday()]} {_MONTHS[month - 1]} {day:02d}"
    return f"{date} {moment.hour:02d}:{moment.minute:02d}:{moment.second:02d} UTC {year}"


_DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")


def to_text(value: Any, schema: Schema | None = None) -> str:
    """``toString`` of a value: ``{a=1, b=[2.0]}`` of a map, ``Struct{a=1}`` of a struct.

    The schema, if there is one, tells Float from Double. Java prints the address of a byte array;
    here the bytes are shown in hexadecimal.
    """
    kind = type(value)
    if kind is str:
        return str(value)
    if value is None:
        return "null"
    if kind is bool:
        return "true" if value else "false"
    if isinstance(value, int):
        return int.__repr__(value)
    if kind is Float32 or (kind is float and schema is not None and schema.type is Type.FLOAT32):
        return float_text(value)
    if kind is float:
        return double_text(value)
    if isinstance(value, Struct):
        named = zip(value.schema.struct_fields, value.values, strict=True)
        texts = (f"{f.name}={to_text(v, f.schema)}" for f, v in named if v is not None)
        return "Struct{" + ",".join(texts) + "}"
    if isinstance(value, list):
        inner = schema.value_schema if schema is not None else None
        return "[" + ", ".join(to_text(element, inner) for element in value) + "]"
    if isinstance(value, dict):
        keys = schema.key_schema if schema is not None else None
        values = schema.value_schema if schema is not None else None
        texts = (f"{to_text(k, keys)}={to_text(v, values)}" for k, v in value.items())
        return "{" + ", ".join(texts) + "}"
    if isinstance(value, Decimal):
        return decimal_text(value)
    if isinstance(value, datetime.date | datetime.time):
        return date_text(value)
    if isinstance(value, bytes | bytearray | memoryview):
        return f"[B@{bytes(value).hex()}"
    return str(value)
