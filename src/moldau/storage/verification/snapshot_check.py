"""Check of the two kinds of snapshots: of producer state, and of the cluster metadata.

A metadata snapshot is a file of batches that begins with a header record and ends with a footer
record. It gets its final name when it is complete, so that it is never torn by a crash.
"""

import os
from collections.abc import Iterable, Iterator
from typing import Final

from moldau.record.control import ControlType, decode_control_key
from moldau.record.header import BatchHeader, CorruptBatch, crc_is_valid, read_header
from moldau.record.records import decode_records
from moldau.storage.disk.disk import Disk
from moldau.storage.log.producer_snapshot import CorruptSnapshot, decode_snapshot, snapshot_offset
from moldau.storage.verification.batch_check import header_problem, records_problem
from moldau.storage.verification.findings import Finding, Severity, Tally

_PRODUCERS_FOLLOW: Final = "the next start reads the log from an older snapshot on"
_PRODUCERS_REMEDY: Final = "delete the file: what it knew is read again from the log"
_KRAFT_FOLLOWS: Final = "a node that starts from this snapshot does not come up"
_KRAFT_REMEDY: Final = (
    "restore the file from another node or a backup; where an older snapshot and all of the log "
    "after it are there, move this one away"
)


def check_producers(
    disk: Disk,
    directory: str,
    names: Iterable[str],
    log_end_offset: int,
    severity: Severity,
    tally: Tally,
) -> Iterator[Finding]:
    """The ``.snapshot`` files in the directory of a partition that ends at ``log_end_offset``."""
    for name in names:
        offset = snapshot_offset(name)
        if offset is None:
            continue
        path = f"{directory}/{name}"
        problem = _producers_problem(disk.read_bytes(path), offset, log_end_offset)
        tally.snapshots += 1
        if problem is not None:
            yield Finding(
                severity,
                path,
                problem,
                offset=offset,
                follows=_PRODUCERS_FOLLOW,
                remedy=_PRODUCERS_REMEDY,
            )


def _producers_problem(data: bytes, offset: int, log_end_offset: int) -> str | None:
    try:
        producers = decode_snapshot(data)
    except CorruptSnapshot as error:
        return str(error)
    for producer in producers:
        if max(producer.last_offset, producer.txn_first_offset) >= offset:
            return (
                f"producer {producer.producer_id} has written offset "
                f"{max(producer.last_offset, producer.txn_first_offset)}, but the snapshot was "
                f"taken at {offset}"
            )
    if offset > log_end_offset:
        return f"it was taken at offset {offset}, beyond the end of the log at {log_end_offset}"
    return None


def check_kraft_snapshot(disk: Disk, path: str, tally: Tally) -> Iterator[Finding]:
    """A ``.checkpoint`` file of the metadata log, or the ``bootstrap.checkpoint``."""
    data = disk.read_bytes(path)
    position = 0
    kinds: list[int] = []
    expected = 0
    problem: str | None = None
    while position < len(data) and problem is None:
        try:
            header = read_header(data, position)
            problem = _batch_problem(data, position, header, expected)
            if problem is None:
                kinds.append(_first_kind(data, position, header))
                tally.batches += 1
                tally.records += header.record_count
                expected = header.next_offset
                position += header.size_bytes
        except CorruptBatch as error:
            problem = str(error)
    if problem is None and (not kinds or kinds[0] != ControlType.SNAPSHOT_HEADER):
        problem, position = "it does not begin with a snapshot header record", 0
    elif problem is None and kinds[-1] != ControlType.SNAPSHOT_FOOTER:
        problem = "it does not end with a snapshot footer record"
    tally.snapshots += 1
    tally.add_bytes(len(data))
    if problem is not None:
        yield Finding(
            Severity.DAMAGE,
            os.fspath(path),
            problem,
            position,
            follows=_KRAFT_FOLLOWS,
            remedy=_KRAFT_REMEDY,
        )


def _batch_problem(data: bytes, position: int, header: BatchHeader, expected: int) -> str | None:
    left = len(data) - position
    if header.size_bytes > left:
        return f"a batch of {header.size_bytes} bytes, {left} before the end"
    if not crc_is_valid(data, position, header):
        return f"the bytes of the batch do not have the checksum {header.crc:#010x}"
    if header.base_offset != expected:
        return f"offset {header.base_offset} where {expected} is due"
    return header_problem(header) or records_problem(data, position, header)


def _first_kind(data: bytes, position: int, header: BatchHeader) -> int:
    """The type of the first record of a control batch; -1 for a batch of metadata records."""
    if not header.is_control:
        return -1
    records = decode_records(data, position)
    return decode_control_key(records[0].key if records else None)
