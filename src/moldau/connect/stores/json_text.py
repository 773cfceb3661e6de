"""JSON exactly as Connect's internal converter writes it (JsonConverter without schemas).

Kafka looks source offsets up by the bytes of their keys, so a key that means the same and reads
differently is another key: no blanks, text as UTF-8, numbers and escapes as Java writes them.
"""

import json
import math
import re
from collections.abc import Mapping
from typing import Any, Final

# What Jackson escapes: the quote, the backslash, and control characters, with upper-case digits.
_ESCAPED: Final = re.compile(r'["\\\x00-\x1f]')
_SHORT: Final = {
    '"': '\\"',
    "\\": "\\\\",
    "\b": "\\b",
    "\t": "\\t",
    "\n": "\\n",
    "\f": "\\f",
    "\r": "\\r",
}


class InvalidJson(ValueError):  # noqa: N818 - the name describes the text
    """The bytes are not JSON in UTF-8."""


def encode(value: Any) -> bytes:
    """``value`` as JSON; the keys of objects keep their order."""
    # A lone surrogate has no UTF-8; Java writes a question mark for it.
    return _text(value).encode("utf-8", errors="replace")


def decode(data: bytes) -> Any:
    """The value in ``data``; numbers with a fraction are floats.

    Raises:
        InvalidJson: it is not JSON.
    """
    try:
        return json.loads(data)
    except ValueError as error:
        # Without the text: it may hold secrets, and this is logged.
        raise InvalidJson(f"the value is not JSON: {error}") from None


def _text(value: Any) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case str():
            return f'"{_ESCAPED.sub(_escape, value)}"'
        case int():
            return int.__repr__(value)
        case float():
            return _double(value)
        case Mapping():
            fields = (f"{_text(str(name))}:{_text(each)}" for name, each in value.items())
            return f"{{{','.join(fields)}}}"
        case list() | tuple():
            return f"[{','.join(map(_text, value))}]"
    kind = type(value).__name__
    raise TypeError(f"{value!r} of type {kind} has no form in JSON: use numbers, text, lists, maps")


def _escape(match: re.Match[str]) -> str:
    character = match[0]
    return _SHORT.get(character) or f"\\u{ord(character):04X}"


def _double(value: float) -> str:
    """As ``Double.toString``: between 0.001 and 10,000,000 without an exponent."""
    if math.isnan(value) or math.isinf(value):
        name = "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
        return f'"{name}"'
    if value == 0 or 1e-3 <= abs(value) < 1e7:
        # Python writes an exponent only below 0.0001 and from 1e16.
        return float.__repr__(value)
    sign, digits, exponent = _parts(value)
    fraction = digits[1:] or "0"
    return f"{sign}{digits[0]}.{fraction}E{exponent}"


def _parts(value: float) -> tuple[str, str, int]:
    """Sign, shortest significant digits, and the exponent of the first of them."""
    mantissa, _, exponent = f"{float.__repr__(value)}".partition("e")
    sign = "-" if mantissa.startswith("-") else ""
    whole, _, fraction = mantissa.lstrip("-").partition(".")
    digits = (whole + ("" if fraction == "0" else fraction)).lstrip("0")
    leading = (
        len(whole) - 1 if whole.strip("0") else -1 - (len(fraction) - len(fraction.lstrip("0")))
    )
    return sign, digits.rstrip("0") or "0", leading + int(exponent or 0)
