"""Entries of the three indexes of a segment, and whether they fit it.

An index entry names an offset and a position in the segment: a batch that holds the offset
must begin there. Indexes of a segment in use may end in zeros, which are room for entries.
"""

import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from moldau.cli.times import format_time
from moldau.record.header import BATCH_HEADER_SIZE, BatchHeader, CorruptBatch, read_header

_OFFSET_ENTRY: Final = struct.Struct(">ii")
_TIME_ENTRY: Final = struct.Struct(">qi")
_TXN_ENTRY: Final = struct.Struct(">hqqqq")


def dump_offset_index(path: Path, *, verifies: bool) -> Iterator[dict[str, Any]]:
    """Offset and position, in order; with ``verifies``, checked against the segment."""
    base = _base_offset(path)
    log = path.with_suffix(".log")
    previous = -1
    for slot, (relative, position) in _entries(path, _OFFSET_ENTRY):
        if slot and relative == 0 and position == 0:
            break
        entry: dict[str, Any] = {"offset": base + relative, "position": position}
        if relative <= previous and slot:
            entry["error"] = f"entry {slot} does not follow offset {base + previous}"
        elif verifies and log.exists():
            header = _header_at(log, position)
            if header is None or not header.base_offset <= base + relative <= header.last_offset:
                found = "no batch" if header is None else f"the batch of {header.base_offset}"
                entry["error"] = (
                    f"offset {base + relative} should be at position {position}, "
                    f"where there is {found}"
                )
        previous = relative
        yield entry
    yield from _tail(path, _OFFSET_ENTRY)


def dump_time_index(path: Path, *, verifies: bool) -> Iterator[dict[str, Any]]:
    """Timestamp and the offset up to which it is the largest."""
    base = _base_offset(path)
    previous = (-1, -1)
    for slot, (timestamp, relative) in _entries(path, _TIME_ENTRY):
        if slot and timestamp == 0 and relative == 0:
            break
        entry: dict[str, Any] = {
            "timestamp": timestamp,
            "time": format_time(timestamp),
            "offset": base + relative,
        }
        if slot and (timestamp < previous[0] or relative < previous[1]):
            entry["error"] = f"entry {slot} goes back behind {previous[0]}, {base + previous[1]}"
        previous = (timestamp, relative)
        yield entry
    yield from _tail(path, _TIME_ENTRY)


def dump_txn_index(path: Path) -> Iterator[dict[str, Any]]:
    """The aborted transactions that end in the segment."""
    for _, entry in _entries(path, _TXN_ENTRY):
        version, producer_id, first_offset, last_offset, last_stable_offset = entry
        yield {
            "version": version,
            "producer_id": producer_id,
            "first_offset": first_offset,
            "last_offset": last_offset,
            "last_stable_offset": last_stable_offset,
        }
    yield from _tail(path, _TXN_ENTRY)


def _base_offset(path: Path) -> int:
    if not path.stem.isdigit():
        raise ValueError(f"{path}: the name must be the segment's first offset")
    return int(path.stem)


def _entries(path: Path, form: struct.Struct) -> Iterator[tuple[int, tuple[int, ...]]]:
    data = path.read_bytes()
    whole = len(data) - len(data) % form.size
    return enumerate(form.iter_unpack(data[:whole]))


def _tail(path: Path, form: struct.Struct) -> Iterator[dict[str, Any]]:
    extra = path.stat().st_size % form.size
    if extra:
        yield {"error": f"{extra} bytes are left over after entries of {form.size} bytes"}


def _header_at(log: Path, position: int) -> BatchHeader | None:
    with open(log, "rb") as file:
        file.seek(position)
        data = file.read(BATCH_HEADER_SIZE)
    try:
        return read_header(data, 0)
    except CorruptBatch:
        return None
