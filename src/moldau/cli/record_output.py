"""Records as lines of text, JSON or hexadecimal digits."""

import json
from collections.abc import Callable
from typing import Any, NamedTuple

from moldau.cli.times import format_time
from moldau.client.consumer import ConsumerRecord


class PrintFormat(NamedTuple):
    """What of a record is printed, and with what in between."""

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


def line_printer(form: PrintFormat) -> Callable[[ConsumerRecord], bytes]:
    """A function from a record to its line, without the end; the parts as Kafka orders them."""
    null = form.null_literal.encode()
    separator = form.separator.encode()

    def field(raw: bytes | None) -> bytes:
        if raw is None:
            return null
        return raw.hex().encode() if form.is_hex else raw

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
            parts.append(field(record.key))
        if form.prints_value:
            parts.append(field(record.value))
        return separator.join(parts)

    return line


def json_line(record: ConsumerRecord) -> bytes:
    """One JSON object; ``moldau produce --format json`` takes it back."""
    shown: dict[str, Any] = {
        "topic": record.topic,
        "partition": record.partition,
        "offset": record.offset,
        "timestamp": record.timestamp,
        "timestamp_type": "LogAppendTime" if record.is_log_append_time else "CreateTime",
        "time": format_time(record.timestamp),
        **_json_field("key", record.key),
        **_json_field("value", record.value),
    }
    if record.headers:
        pairs = [[name, _json_header(value)] for name, value in record.headers]
        names = [name for name, _ in record.headers]
        shown["headers"] = pairs if len(set(names)) < len(names) else dict(pairs)
    return json.dumps(shown, ensure_ascii=False).encode("utf-8", "replace")


def _timestamp(record: ConsumerRecord) -> str:
    if record.timestamp < 0:
        return "NO_TIMESTAMP"
    kind = "LogAppendTime" if record.is_log_append_time else "CreateTime"
    return f"{kind}:{record.timestamp}"


def _json_field(name: str, raw: bytes | None) -> dict[str, str | None]:
    if raw is None:
        return {name: None}
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
