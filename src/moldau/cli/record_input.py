"""Records from lines of text or JSON, each field in a format of ``field_formats``.

Text and hex: a line is a value, or headers, key and value with separators between them.
JSON: a line is an object such as ``{"key": "k", "value": {"any": "thing"}, "headers":
{"h": "x"}, "partition": 0, "timestamp": 1700000000000}``; a value that is not a string is
sent as JSON text, and ``key_hex`` and ``value_hex`` hold bytes that are not text. This is what
``moldau consume --format json`` prints.
"""

import json
from collections.abc import Callable
from typing import Any, Final, NamedTuple

from moldau.cli.errors import CommandError
from moldau.cli.field_formats import HEX, TEXT, FieldFormat
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
# Printed by consume; the broker sets them itself.
_IGNORED: Final = {"topic", "offset", "timestamp_type", "time"}


class InputRecord(NamedTuple):
    """A record to be sent."""

    key: bytes | None
    value: bytes | None
    headers: Headers = ()
    partition: int | None = None
    timestamp: int | None = None


class LineFormat(NamedTuple):
    """The parts of a line of text or hex; a separator is None if that part is absent."""

    is_hex: bool = False
    key_separator: str | None = None
    has_headers: bool = False
    headers_delimiter: str = "\t"
    headers_separator: str = ","
    headers_key_separator: str = ":"
    null_marker: str | None = None
    # None: text, or hexadecimal digits if ``is_hex``.
    key_format: FieldFormat | None = None
    value_format: FieldFormat | None = None


def line_parser(form: LineFormat) -> Callable[[bytes], InputRecord]:
    """A function from a line, without its end, to a record. It raises CommandError."""
    plain = HEX if form.is_hex else TEXT
    key_format = form.key_format or plain
    value_format = form.value_format or plain
    marker = None if form.null_marker is None else form.null_marker.encode()

    def field(raw: bytes, given: FieldFormat) -> bytes | None:
        return None if raw == marker else encoded(given.from_text, raw)

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
            key = field(raw_key, key_format)
        return InputRecord(key, field(rest, value_format), headers)

    return parse


def parse_json_line(
    line: bytes,
    wall_ms: int,
    key_format: FieldFormat | None = None,
    value_format: FieldFormat | None = None,
) -> InputRecord:
    """The record in a JSON object. Raises CommandError."""
    try:
        given = json.loads(line)
    except ValueError as error:
        raise CommandError(f"not valid JSON: {error}") from None
    if not isinstance(given, dict):
        raise CommandError('a record must be a JSON object, such as {"key": "k", "value": "v"}')
    unknown = sorted(given.keys() - _FIELDS - _IGNORED)
    if unknown:
        raise CommandError(
            f"unknown field {unknown[0]!r}; a record has {', '.join(sorted(_FIELDS))}. "
            "To send lines unchanged, use --format text"
        )
    return InputRecord(
        _json_bytes(given, "key", key_format or TEXT),
        _json_bytes(given, "value", value_format or TEXT),
        _json_headers(given.get("headers")),
        _json_int(given, "partition"),
        _json_timestamp(given.get("timestamp"), wall_ms),
    )


def encoded(encode: Callable[[Any], bytes], given: Any) -> bytes:
    """What ``encode`` makes of ``given``; its ValueError is the user's mistake."""
    try:
        return encode(given)
    except ValueError as error:
        raise CommandError(str(error)) from None


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


def _json_bytes(given: dict[str, Any], name: str, form: FieldFormat) -> bytes | None:
    digits = given.get(f"{name}_hex")
    if digits is not None:
        if given.get(name) is not None:
            raise CommandError(f"{name} and {name}_hex cannot both be given")
        if not isinstance(digits, str):
            raise CommandError(f"{name}_hex must be a string of hexadecimal digits")
        return encoded(HEX.from_json, digits)
    value = given.get(name)
    return None if value is None else encoded(form.from_json, value)


def _json_headers(given: Any) -> Headers:
    """From an object, or from a list of pairs if names repeat or their order matters."""
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
            headers.append((name, encoded(HEX.from_json, value["hex"])))
        else:
            headers.append((name, None if value is None else TEXT.from_json(value)))
    return tuple(headers)


def _json_int(given: dict[str, Any], name: str) -> int | None:
    value = given.get(name)
    if value is None or (isinstance(value, int) and not isinstance(value, bool) and value >= 0):
        return value
    raise CommandError(f"{name} is {value!r}: it must be a number, 0 or greater")


def _json_timestamp(value: Any, wall_ms: int) -> int | None:
    if value is None or (isinstance(value, int) and not isinstance(value, bool)):
        return value
    if isinstance(value, str):
        return parse_time(value, wall_ms)
    raise CommandError(f"timestamp is {value!r}: it must be milliseconds since 1970 or ISO 8601")
