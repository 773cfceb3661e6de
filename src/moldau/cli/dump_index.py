"""The entries of a segment's three indexes, and whether they match the segment.

The indexes of an active segment may end in zeros, which are preallocated.
"""

import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from moldau.cli.times import format_time
from moldau.record.header import CorruptBatch, iter_headers
from moldau.storage.verification.findings import Severity
from moldau.storage.verification.index_check import OffsetIndexCheck, TimeIndexCheck

_OFFSET_ENTRY: Final = struct.Struct(">ii")
_TIME_ENTRY: Final = struct.Struct(">qi")
_TXN_ENTRY: Final = struct.Struct(">hqqqq")


def dump_offset_index(path: Path, *, verifies: bool) -> Iterator[dict[str, Any]]:
    """Offset and position, in order; with ``verifies``, checked against the segment."""
    base = _base_offset(path)
    previous = -1
    for slot, (relative, position) in _entries(path, _OFFSET_ENTRY):
        if relative == 0 and position == 0:
            break
        entry: dict[str, Any] = {"offset": base + relative, "position": position}
        if relative <= previous and not verifies:
            entry["error"] = f"entry {slot} is not above the offset before it, {base + previous}"
        previous = relative
        yield entry
    if verifies:
        check = OffsetIndexCheck(str(path), path.read_bytes(), base, Severity.DAMAGE)
        yield from _problems(path, check)
    else:
        yield from _tail(path, _OFFSET_ENTRY)


def dump_time_index(path: Path, *, verifies: bool) -> Iterator[dict[str, Any]]:
    """Each timestamp with the offset up to which it is the largest."""
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
        goes_back = timestamp < previous[0] or relative < previous[1]
        if slot and goes_back and not verifies:
            entry["error"] = (
                f"entry {slot} is below the one before it: {previous[0]}, {base + previous[1]}"
            )
        previous = (timestamp, relative)
        yield entry
    if verifies:
        check = TimeIndexCheck(str(path), path.read_bytes(), base, Severity.DAMAGE)
        yield from _problems(path, check)
    else:
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
    stem = path.name.partition(".")[0]
    if not stem.isdigit():
        raise ValueError(f"{path}: the file name must be the base offset of the segment")
    return int(stem)


def _entries(path: Path, form: struct.Struct) -> Iterator[tuple[int, tuple[int, ...]]]:
    data = path.read_bytes()
    whole = len(data) - len(data) % form.size
    return enumerate(form.iter_unpack(data[:whole]))


def _tail(path: Path, form: struct.Struct) -> Iterator[dict[str, Any]]:
    extra = path.stat().st_size % form.size
    if extra:
        yield {"error": f"{extra} bytes are left over after entries of {form.size} bytes"}


def _problems(path: Path, check: OffsetIndexCheck | TimeIndexCheck) -> Iterator[dict[str, Any]]:
    """Where the index does not match its segment; nothing if the segment is missing."""
    log = path.with_name(f"{path.name.partition('.')[0]}.log")
    if not log.exists():
        return
    data = log.read_bytes()
    end = 0
    try:
        for position, header in iter_headers(data):
            end = position + header.size_bytes
            if isinstance(check, OffsetIndexCheck):
                check.on_batch(position, header)
            else:
                check.on_batch(header)
    except CorruptBatch as error:
        yield {"error": f"{log}: {error}"}
        return
    if isinstance(check, OffsetIndexCheck):
        found = check.finish(end)
    else:
        found = check.finish(must_be_complete=False)
    for finding in found:
        yield {"error": finding.problem}
