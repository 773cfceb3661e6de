"""Lookup of offsets by timestamp, for ListOffsets.

The time index gives an offset and the offset index its position; from there batch headers are read
until one has a sufficient timestamp. Only that batch is decoded to find the record.
"""

from typing import TYPE_CHECKING

from moldau.record.header import BatchHeader
from moldau.record.records import Record, decode_records
from moldau.storage.batch_scan import iter_batches
from moldau.storage.log_results import NO_TIMESTAMP, TimestampOffset
from moldau.storage.segment import Segment

if TYPE_CHECKING:
    from moldau.storage.partition_log import PartitionLog


def earliest_offset(log: "PartitionLog") -> TimestampOffset:
    """The log start offset, with its epoch if it is known."""
    start_offset = log.log_start_offset
    return TimestampOffset(
        NO_TIMESTAMP, start_offset, log.leader_epochs.epoch_for_offset(start_offset)
    )


def latest_offset(log: "PartitionLog") -> TimestampOffset:
    """The log end offset; the caller applies the limits of readers."""
    return TimestampOffset(NO_TIMESTAMP, log.log_end_offset, log.leader_epochs.latest_epoch)


def offset_for_timestamp(log: "PartitionLog", timestamp: int) -> TimestampOffset | None:
    """The first record whose timestamp is at least ``timestamp``; None if there is none."""
    for segment in log.segments:
        if segment.largest_timestamp >= timestamp:
            found = _search(segment, timestamp, log.log_start_offset)
            if found is not None or segment.max_timestamp >= 0:
                return found
    return None


def _search(segment: Segment, timestamp: int, start_offset: int) -> TimestampOffset | None:
    _, offset = segment.time_index.lookup(timestamp)
    _, position = segment.offset_index.lookup(max(offset, start_offset))
    for at, header in iter_batches(segment.log, position, segment.size):
        if header.max_timestamp < timestamp or header.last_offset < start_offset:
            continue
        for record in _records(segment, at, header):
            if record.timestamp >= timestamp and record.offset >= start_offset:
                return TimestampOffset(
                    record.timestamp, record.offset, header.partition_leader_epoch
                )
    return None


def offset_of_max_timestamp(log: "PartitionLog") -> TimestampOffset | None:
    """The first record with the largest timestamp in the log; None if the log is empty."""
    latest = log.segments.first
    for segment in log.segments:
        if segment.max_timestamp > latest.max_timestamp:
            latest = segment
    timestamp = latest.max_timestamp
    if timestamp < 0:
        return None
    _, position = latest.offset_index.lookup(latest.offset_of_max_timestamp)
    for at, header in iter_batches(latest.log, position, latest.size):
        if header.max_timestamp != timestamp:
            continue
        for record in _records(latest, at, header):
            if record.timestamp == timestamp:
                return TimestampOffset(timestamp, record.offset, header.partition_leader_epoch)
    return None


def _records(segment: Segment, position: int, header: BatchHeader) -> list[Record]:
    # Corruption must be reported with this file and position.
    segment.verify(position, position + header.size_bytes)
    return decode_records(segment.log.pread(header.size_bytes, position))
