"""JSON text to Python values, accepting what Kafka's parser (Jackson) accepts.

Python's own parser does the work. It differs from Kafka's in few points, which are mended here:
leading zeros of numbers are read, NaN and Infinity are not, and -0.0 is 0.0; what follows the first
value is ignored; integers beyond 64 bits are cut to their low bits, and empty bytes are null.
"""

import json
import re
from collections.abc import Callable
from decimal import Decimal
from typing import Any

from moldau.connect.data.errors import SerializationError
from moldau.connect.data.values import INT64_MAX, INT64_MIN

_SPACE = " \t\n\r"
_LONG_NUMBER = re.compile(r"\d{19}")
_ZEROS_OR_STRING = re.compile(r'"(?:[^"\\]|\\.)*"|(?<![\d.eE+-])(-?)0+(?=\d)', re.DOTALL)
_USUAL_STARTS = frozenset((b"{", b"["))


def _refuse_constant(name: str) -> Any:
    raise ValueError(f"{name} is no number in JSON")


def _without_sign_of_zero(text: str) -> float:
    return float(text) + 0.0


_DECODER = json.JSONDecoder(parse_constant=_refuse_constant)
# Kafka's decimal numbers know no negative zero.
_ZERO_DECODER = json.JSONDecoder(parse_constant=_refuse_constant, parse_float=_without_sign_of_zero)
# What ``raw_decode`` calls, without the call around it.
_scan: Callable[[str, int], tuple[Any, int]] = _DECODER.scan_once  # type: ignore[attr-defined]
_CONTAINERS = frozenset("{[")
_EXACT_DECODER = json.JSONDecoder(parse_constant=_refuse_constant, parse_float=Decimal)


def decode(data: bytes) -> str:
    """The text of JSON in UTF-8, or in another Unicode form that its first bytes tell.

    Raises:
        SerializationError: if the bytes are not such text.
    """
    try:
        if data[:1] in _USUAL_STARTS and data[1:2] != b"\x00":
            return data.decode()
        return data.decode(json.detect_encoding(data))
    except UnicodeDecodeError as error:
        raise SerializationError(f"not Unicode text: {error}") from error


def parse(text: str, is_exact: bool = False) -> Any:
    """The first value in ``text``; None if there is nothing.

    With ``is_exact`` numbers with a point or an exponent are Decimals instead of floats. Integers
    keep all their digits: see ``has_long_numbers``.

    Raises:
        SerializationError: if the text is not JSON.
    """
    if not is_exact and text[:1] in _CONTAINERS and "-0" not in text:
        try:
            return _scan(text, 0)[0]
        except (ValueError, StopIteration, RecursionError):
            pass  # what is wrong is found out, or mended, below
    start = len(text) - len(text.lstrip(_SPACE))
    if start == len(text):
        return None
    try:
        return _parse_first(text, start, is_exact)
    except SerializationError:
        cleaned = _ZEROS_OR_STRING.sub(_without_zeros, text)
        if cleaned == text:
            raise
        return _parse_first(cleaned, start, is_exact)


def _parse_first(text: str, start: int, is_exact: bool) -> Any:
    value, end = parse_at(text, start, is_exact)
    if end < len(text) and not _ends_well(text[start], text[end]):
        raise SerializationError(f"unexpected character {text[end]!r} at {end} after a value")
    return value


def parse_at(text: str, start: int, is_exact: bool = False) -> tuple[Any, int]:
    """The value that begins at ``start``, without leading zeros, and the index after it.

    Raises:
        SerializationError: if no such value begins there.
    """
    if is_exact:
        decoder = _EXACT_DECODER
    else:
        decoder = _ZERO_DECODER if "-0" in text else _DECODER
    try:
        value, end = decoder.raw_decode(text, start)
    except RecursionError as error:
        raise SerializationError("JSON is nested too deeply") from error
    except ValueError as error:
        raise SerializationError(str(error)) from error
    return value, end


def _without_zeros(match: re.Match[str]) -> str:
    return match[0] if match[1] is None else match[1]


def _ends_well(first: str, following: str) -> bool:
    """Whether a value with this first character may be followed by that one."""
    if first in "-0123456789":
        return following in _SPACE
    return first not in "tfn" or not (following.isalnum() or following in "_$")


def has_long_numbers(text: str) -> bool:
    """Whether some number may have more than 64 bits: only then are all values looked at."""
    return _LONG_NUMBER.search(text) is not None


def wrap(value: int, bits: int = 64) -> int:
    """The low bits of an integer as a signed number, as Java's casts give it."""
    half = 1 << (bits - 1)
    return ((value + half) & ((1 << bits) - 1)) - half


def wrap_all(value: Any) -> Any:
    """``value`` with all integers cut to 64 bits."""
    if type(value) is int:
        return value if INT64_MIN <= value <= INT64_MAX else wrap(value)
    if type(value) is list:
        return [wrap_all(element) for element in value]
    if type(value) is dict:
        return {key: wrap_all(element) for key, element in value.items()}
    return value
