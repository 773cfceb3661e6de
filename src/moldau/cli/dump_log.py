"""The batches and records of a segment, or of a metadata snapshot, which has the same format."""

import mmap
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, NamedTuple

from moldau.cli.dump_records import Decoder, control_fields, decode_fields, shown_bytes
from moldau.cli.times import format_time
from moldau.errors import ApiError
from moldau.record.header import (
    BatchHeader,
    CorruptBatch,
    crc_is_valid,
    read_header,
)
from moldau.record.records import Record, decode_records

_CODECS: Final = ("none", "gzip", "snappy", "lz4", "zstd")


class LogOptions(NamedTuple):
    """Which parts of a segment to print."""

    shows_records: bool = False
    # Keys, values and headers too.
    shows_data: bool = False
    # Only keys and values, and no control records.
    skips_record_metadata: bool = False
    decoder: Decoder | None = None
    # Stop after this many bytes of the file.
    max_bytes: int | None = None


def dump_log(path: Path, options: LogOptions) -> Iterator[dict[str, Any]]:
    """One entry per batch, with its records if the options say so."""
    with open(path, "rb") as file:
        size = file.seek(0, 2)
        if not size:
            return
        with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as mapped:
            data = memoryview(mapped)
            try:
                yield from _batches(data, options)
            finally:
                data.release()


def _batches(data: memoryview, options: LogOptions) -> Iterator[dict[str, Any]]:
    position = 0
    end = len(data) if options.max_bytes is None else min(options.max_bytes, len(data))
    while position < end:
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
            problem = f"the batch has {header.size_bytes} bytes, but the file ends after {left}"
            yield {"position": position, "base_offset": header.base_offset, "error": problem}
            return
        entry = _batch(data, position, header)
        if options.shows_records and "error" not in entry:
            try:
                records = decode_records(data, position)
                shown = (_record(record, header, options) for record in records)
                entry["records"] = [fields for fields in shown if fields is not None]
            except ApiError as error:
                entry["error"] = str(error)
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
        "last_sequence": header.last_sequence,
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


def _record(record: Record, header: BatchHeader, options: LogOptions) -> dict[str, Any] | None:
    """The fields to print; None if the record is left out."""
    if header.is_control and options.skips_record_metadata:
        return None
    entry: dict[str, Any] = {}
    if not options.skips_record_metadata:
        entry = {"offset": record.offset, "timestamp": record.timestamp}
    if header.is_control:
        return {**entry, **control_fields(record)}
    if options.decoder is not None:
        return {**entry, **decode_fields(options.decoder, record)}
    if not options.skips_record_metadata:
        entry["key_size"] = -1 if record.key is None else len(record.key)
        entry["value_size"] = -1 if record.value is None else len(record.value)
        if header.has_producer_id:
            entry["sequence"] = header.base_sequence + record.offset - header.base_offset
        entry["header_keys"] = [name for name, _ in record.headers]
    if options.shows_data:
        if record.headers:
            entry["headers"] = [[name, shown_bytes(value)] for name, value in record.headers]
        entry["key"] = shown_bytes(record.key)
        entry["payload"] = shown_bytes(record.value)
    return entry
