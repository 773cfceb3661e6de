"""Batches and records of a segment, or of a metadata snapshot, which is built the same way."""

import mmap
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from moldau.cli.times import format_time
from moldau.errors import ApiError
from moldau.ids import uuid_to_str
from moldau.metadata.framing import decode_record
from moldau.protocol.message import Message, Struct
from moldau.protocol.primitives import MalformedMessage
from moldau.protocol.records import client_data
from moldau.record.control import ControlType, decode_control_key
from moldau.record.header import (
    BatchHeader,
    CorruptBatch,
    crc_is_valid,
    read_header,
)
from moldau.record.records import Record, decode_records

_CODECS: Final = ("none", "gzip", "snappy", "lz4", "zstd")
_UUID_SIZE: Final = 16
_CONTROL_VALUES: Final[dict[int, type[Message]]] = {
    ControlType.ABORT: client_data.EndTxnMarker,
    ControlType.COMMIT: client_data.EndTxnMarker,
    ControlType.LEADER_CHANGE: client_data.LeaderChangeMessage,
    ControlType.SNAPSHOT_HEADER: client_data.SnapshotHeaderRecord,
    ControlType.SNAPSHOT_FOOTER: client_data.SnapshotFooterRecord,
    ControlType.KRAFT_VERSION: client_data.KRaftVersionRecord,
    ControlType.KRAFT_VOTERS: client_data.VotersRecord,
}


def dump_log(
    path: Path, shows_records: bool, shows_data: bool, is_metadata: bool
) -> Iterator[dict[str, Any]]:
    """One entry per batch, with its records if they are wanted."""
    with open(path, "rb") as file:
        size = file.seek(0, 2)
        if not size:
            return
        with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as mapped:
            data = memoryview(mapped)
            try:
                yield from _batches(data, shows_records, shows_data, is_metadata)
            finally:
                data.release()


def _batches(
    data: memoryview, shows_records: bool, shows_data: bool, is_metadata: bool
) -> Iterator[dict[str, Any]]:
    position = 0
    while position < len(data):
        try:
            header = read_header(data, position)
        except CorruptBatch as error:
            if not any(data[position:]):
                yield {"position": position, "padding_bytes": len(data) - position}
            else:
                yield {"position": position, "error": str(error)}
            return
        if position + header.size_bytes > len(data):
            left = len(data) - position
            problem = f"the batch has {header.size_bytes} bytes, but the file only {left} more"
            yield {"position": position, "base_offset": header.base_offset, "error": problem}
            return
        entry = _batch(data, position, header)
        if shows_records and "error" not in entry:
            try:
                records = decode_records(data, position)
            except ApiError as error:
                entry["error"] = str(error)
            else:
                entry["records"] = [
                    _record(record, header, shows_data, is_metadata) for record in records
                ]
        yield entry
        position += header.size_bytes


def _batch(data: memoryview, position: int, header: BatchHeader) -> dict[str, Any]:
    is_valid = crc_is_valid(data, position, header)
    codec = header.compression
    entry = {
        "base_offset": header.base_offset,
        "last_offset": header.last_offset,
        "count": header.record_count,
        "base_sequence": header.base_sequence,
        "producer_id": header.producer_id,
        "producer_epoch": header.producer_epoch,
        "partition_leader_epoch": header.partition_leader_epoch,
        "is_transactional": header.is_transactional,
        "is_control": header.is_control,
        "position": position,
        "time_type": "LogAppendTime" if header.is_log_append_time else "CreateTime",
        "max_timestamp": header.max_timestamp,
        "time": format_time(header.max_timestamp),
        "size": header.size_bytes,
        "magic": header.magic,
        "compression": _CODECS[codec] if codec < len(_CODECS) else f"unknown ({codec})",
        "crc": header.crc,
        "is_valid": is_valid,
    }
    if header.has_delete_horizon:
        entry["delete_horizon_ms"] = header.base_timestamp
    if not is_valid:
        entry["error"] = (
            f"the checksum of the batch at position {position} (offset {header.base_offset}) "
            "does not match its bytes"
        )
    return entry


def _record(
    record: Record, header: BatchHeader, shows_data: bool, is_metadata: bool
) -> dict[str, Any]:
    entry: dict[str, Any] = {"offset": record.offset, "timestamp": record.timestamp}
    if header.is_control:
        return {**entry, **_control(record)}
    if is_metadata:
        return {**entry, **_metadata(record)}
    entry["key_size"] = -1 if record.key is None else len(record.key)
    entry["value_size"] = -1 if record.value is None else len(record.value)
    if header.has_producer_id:
        entry["sequence"] = header.base_sequence + record.offset - header.base_offset
    entry["header_keys"] = [name for name, _ in record.headers]
    if shows_data:
        if record.headers:
            entry["headers"] = [[name, _bytes(value)] for name, value in record.headers]
        entry["key"] = _bytes(record.key)
        entry["payload"] = _bytes(record.value)
    return entry


def _control(record: Record) -> dict[str, Any]:
    kind = decode_control_key(record.key)
    name = ControlType(kind).name if kind in ControlType.__members__.values() else str(kind)
    value_class = _CONTROL_VALUES.get(kind)
    if value_class is None or record.value is None:
        return {"control": name, "payload": _bytes(record.value)}
    version = int.from_bytes(record.value[:2], "big")
    try:
        value, _ = value_class.decode(record.value, 0, version)
    except (MalformedMessage, ValueError) as error:
        return {"control": name, "problem": str(error)}
    return {"control": name, "data": _plain(value)}


def _metadata(record: Record) -> dict[str, Any]:
    try:
        message = decode_record(record.value or b"")
    except (MalformedMessage, ValueError) as error:
        return {"problem": str(error), "payload": _bytes(record.value)}
    version = record.value[2] if record.value else 0
    return {"type": type(message).__name__, "version": version, "data": _plain(message)}


def _plain(value: Any) -> Any:
    """A message as dictionaries and lists, with uuids in Kafka's text form."""
    if isinstance(value, Struct):
        return {name: _plain(getattr(value, name)) for name in value.FIELDS}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, bytes | memoryview):
        raw = bytes(value)
        return uuid_to_str(raw) if len(raw) == _UUID_SIZE else raw.hex()
    return value


def _bytes(raw: bytes | None) -> str | None:
    """Text if it is text, hexadecimal digits behind 0x if not."""
    if raw is None:
        return None
    try:
        return raw.decode()
    except UnicodeDecodeError:
        return f"0x{raw.hex()}"
