"""Records out of lines of text, JSON or hexadecimal digits.

Text and hex: a line is a value, or headers, key and value with separators between them.
JSON: a line is an object such as ``{"key": "k", "value": {"any": "thing"}, "headers":
{"h": "x"}, "partition": 0, "timestamp": 1700000000000}``; a value that is not a string is
sent as JSON text, and ``key_hex`` and ``value_hex`` hold bytes that are no text. It is what
``moldau consume --format json`` prints.
"""

import json
from collections.abc import Callable
from typing import Any, Final, NamedTuple

from moldau.cli.errors import CommandError
from moldau.cli.times import parse_time

Headers = tuple[tuple[str, bytes | None], ...]

_FIELDS: Final = {
    "key",
    "key_hex",
    "value",
    "value_hex",
    "headers",
    "partition",
    "timestamp",
}
# Printed by consume, and of no meaning to a broker that takes records in.
_IGNORED: Final = {"topic", "offset", "timestamp_type", "time"}


class InputRecord(NamedTuple):
    """A record to be sent."""

    key: bytes | None
    value: bytes | None
    headers: Headers = ()
    partition: int | None = None
    timestamp: int | None = None


class LineFormat(NamedTuple):
    """How a line of text or hex is put together; separators are None where a part is absent."""

    is_hex: bool = False
    key_separator: str | None = None
    has_headers: bool = False
    headers_delimiter: str = "\t"
    headers_separator: str = ","
    headers_key_separator: str = ":"
    null_marker: str | None = None


def line_parser(form: LineFormat) -> Callable[[bytes], InputRecord]:
    """A function from a line, without its end, to a record. It raises CommandError."""
    decode = _from_hex if form.is_hex else _as_it_is
    marker = None if form.null_marker is None else form.null_marker.encode()

    def field(raw: bytes) -> bytes | None:
        return None if raw == marker else decode(raw)

    def parse(line: bytes) -> InputRecord:
        headers: Headers = ()
        rest = line
        if form.has_headers:
            text, found, rest = line.partition(form.headers_delimiter.encode())
            if not found:
                raise CommandError(
                    f"there is no {form.headers_delimiter!r} between headers and record"
                )
            if text != marker:
                headers = _parse_headers(text, form)
        key = None
        if form.key_separator is not None:
            raw_key, found, rest = rest.partition(form.key_separator.encode())
            if not found:
                raise CommandError(f"there is no {form.key_separator!r} between key and value")
            key = field(raw_key)
        return InputRecord(key, field(rest), headers)

    return parse


def parse_json_line(line: bytes, now_ms: int) -> InputRecord:
    """The record in a JSON object. Raises CommandError."""
    try:
        given = json.loads(line)
    except ValueError as error:
        raise CommandError(f"this is not JSON: {error}") from None
    if not isinstance(given, dict):
        raise CommandError('a record must be an object, such as {"key": "k", "value": "v"}')
    unknown = sorted(given.keys() - _FIELDS - _IGNORED)
    if unknown:
        raise CommandError(
            f"{unknown[0]!r} is not a field of a record; there are {', '.join(sorted(_FIELDS))}. "
            "To send lines as they are, leave --format at text"
        )
    return InputRecord(
        _json_bytes(given, "key"),
        _json_bytes(given, "value"),
        _json_headers(given.get("headers")),
        _json_int(given, "partition"),
        _json_timestamp(given.get("timestamp"), now_ms),
    )


def _as_it_is(raw: bytes) -> bytes:
    return raw


def _from_hex(raw: bytes) -> bytes:
    try:
        return bytes.fromhex(raw.decode("ascii"))
    except ValueError:
        shown = raw[:40].decode("utf-8", "replace")
        raise CommandError(f"{shown!r} is not hexadecimal") from None


def _parse_headers(text: bytes, form: LineFormat) -> Headers:
    headers = []
    for pair in text.decode("utf-8", "surrogateescape").split(form.headers_separator):
        if not pair:
            continue
        name, found, value = pair.partition(form.headers_key_separator)
        if not found:
            raise CommandError(f"there is no {form.headers_key_separator!r} in header {pair!r}")
        raw = value.encode("utf-8", "surrogateescape")
        headers.append((name, None if value == form.null_marker else raw))
    return tuple(headers)


def _json_bytes(given: dict[str, Any], name: str) -> bytes | None:
    digits = given.get(f"{name}_hex")
    if digits is not None:
        if given.get(name) is not None:
            raise CommandError(f"{name} and {name}_hex cannot both be given")
        if not isinstance(digits, str):
            raise CommandError(f"{name}_hex must be a string of hexadecimal digits")
        return _from_hex(digits.encode())
    value = given.get(name)
    return None if value is None else _json_text(value)


def _json_text(value: Any) -> bytes:
    if isinstance(value, str):
        return value.encode()
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()


def _json_headers(given: Any) -> Headers:
    """An object, or a list of pairs where names repeat or order matters."""
    if given is None:
        return ()
    pairs = list(given.items()) if isinstance(given, dict) else given
    if not isinstance(pairs, list):
        raise CommandError("headers must be an object or a list of [name, value] pairs")
    headers: list[tuple[str, bytes | None]] = []
    for pair in pairs:
        if not isinstance(pair, list | tuple) or len(pair) != 2 or not isinstance(pair[0], str):
            raise CommandError(f"header {pair!r} is not a [name, value] pair")
        name, value = pair
        if isinstance(value, dict) and value.keys() == {"hex"}:
            headers.append((name, _from_hex(str(value["hex"]).encode())))
        else:
            headers.append((name, None if value is None else _json_text(value)))
    return tuple(headers)


def _json_int(given: dict[str, Any], name: str) -> int | None:
    value = given.get(name)
    if value is None or (isinstance(value, int) and not isinstance(value, bool) and value >= 0):
        return value
    raise CommandError(f"{name} is {value!r}: it must be a number from 0 up")


def _json_timestamp(value: Any, now_ms: int) -> int | None:
    if value is None or (isinstance(value, int) and not isinstance(value, bool)):
        return value
    if isinstance(value, str):
        return parse_time(value, now_ms)
    raise CommandError(f"timestamp is {value!r}: it must be milliseconds or an ISO 8601 time")
