"""Records as lines of text or JSON, each field in a format of ``field_formats``."""

import json
import unicodedata
from collections.abc import Callable
from typing import Any, NamedTuple

from moldau.cli.errors import CommandError
from moldau.cli.field_formats import HEX, TEXT, FieldFormat
from moldau.cli.times import format_time
from moldau.client.consumer import ConsumerRecord


class PrintFormat(NamedTuple):
    """Which parts of a record are printed, and the separators between them."""

    is_hex: bool = False
    prints_timestamp: bool = False
    prints_partition: bool = False
    prints_offset: bool = False
    prints_headers: bool = False
    prints_key: bool = False
    prints_value: bool = True
    separator: str = "\t"
    headers_separator: str = ","
    null_literal: str = "null"
    # None: text, or hexadecimal digits if ``is_hex``.
    key_format: FieldFormat | None = None
    value_format: FieldFormat | None = None


def line_printer(form: PrintFormat) -> Callable[[ConsumerRecord], bytes]:
    """A function from a record to its line, without the end; the parts as Kafka orders them.

    It raises CommandError if a field does not match its format.
    """
    null = form.null_literal.encode()
    separator = form.separator.encode()
    plain = HEX if form.is_hex else TEXT
    key_format = form.key_format or plain
    value_format = form.value_format or plain

    def field(raw: bytes | None) -> bytes:
        return null if raw is None else plain.to_text(raw)

    def decoded(record: ConsumerRecord, part: str, shown: FieldFormat, raw: bytes | None) -> bytes:
        if raw is None:
            return null
        try:
            return shown.to_text(raw)
        except ValueError as error:
            raise _mismatch(record, part, error) from None

    def line(record: ConsumerRecord) -> bytes:
        parts: list[bytes] = []
        if form.prints_timestamp:
            parts.append(_timestamp(record).encode())
        if form.prints_partition:
            parts.append(b"Partition:%d" % record.partition)
        if form.prints_offset:
            parts.append(b"Offset:%d" % record.offset)
        if form.prints_headers:
            pairs = [
                name.encode("utf-8", "surrogateescape") + b":" + field(value)
                for name, value in record.headers
            ]
            parts.append(form.headers_separator.encode().join(pairs) or b"NO_HEADERS")
        if form.prints_key:
            parts.append(decoded(record, "key", key_format, record.key))
        if form.prints_value:
            parts.append(decoded(record, "value", value_format, record.value))
        return separator.join(parts)

    return line


def json_line(
    record: ConsumerRecord,
    key_format: FieldFormat | None = None,
    value_format: FieldFormat | None = None,
) -> bytes:
    """One JSON object; ``moldau produce --format json`` with the same formats takes it back.

    Raises:
        CommandError: a field does not match its format.
    """
    shown: dict[str, Any] = {
        "topic": record.topic,
        "partition": record.partition,
        "offset": record.offset,
        "timestamp": record.timestamp,
        "timestamp_type": "LogAppendTime" if record.is_log_append_time else "CreateTime",
        "time": format_time(record.timestamp),
        **_json_field(record, "key", record.key, key_format),
        **_json_field(record, "value", record.value, value_format),
    }
    if record.headers:
        pairs = [[name, _json_header(value)] for name, value in record.headers]
        names = [name for name, _ in record.headers]
        shown["headers"] = pairs if len(set(names)) < len(names) else dict(pairs)
    return json.dumps(shown, ensure_ascii=False).encode("utf-8", "replace")


def terminal_line(line: bytes) -> bytes:
    """``line`` as a terminal can show it: control characters and bytes that are not UTF-8 escaped.

    Raw, they could move the cursor, change colours or worse.
    """
    text = line.decode("utf-8", "backslashreplace")
    if text.isprintable():
        return line
    return "".join(map(_terminal_char, text)).encode()


def _terminal_char(char: str) -> str:
    is_control = unicodedata.category(char) == "Cc" and char not in "\t\n"
    return f"\\x{ord(char):02x}" if is_control else char


def _timestamp(record: ConsumerRecord) -> str:
    if record.timestamp < 0:
        return "NO_TIMESTAMP"
    kind = "LogAppendTime" if record.is_log_append_time else "CreateTime"
    return f"{kind}:{record.timestamp}"


def _mismatch(record: ConsumerRecord, part: str, error: ValueError) -> CommandError:
    where = f"{record.topic}-{record.partition}, offset {record.offset}"
    return CommandError(f"{where}: the {part} cannot be decoded: {error}")


def _json_field(
    record: ConsumerRecord, name: str, raw: bytes | None, shown: FieldFormat | None
) -> dict[str, Any]:
    if raw is None:
        return {name: None}
    # Text that is not UTF-8 is shown in hex, as without a format.
    if shown is not None and shown is not TEXT:
        try:
            return {name: shown.to_json(raw)}
        except ValueError as error:
            raise _mismatch(record, name, error) from None
    try:
        return {name: raw.decode()}
    except UnicodeDecodeError:
        return {f"{name}_hex": raw.hex()}


def _json_header(raw: bytes | None) -> Any:
    if raw is None:
        return None
    try:
        return raw.decode()
    except UnicodeDecodeError:
        return {"hex": raw.hex()}
