"""Lookup of offsets by timestamp, for ListOffsets.

The time index gives an offset and the offset index its position; from there batch headers are read
until one has a sufficient timestamp. Only that batch is decoded to find the record.
"""

from moldau.record.header import BatchHeader
from moldau.record.records import Record, decode_records
from moldau.storage.log.batch_scan import iter_batches
from moldau.storage.log.log_results import NO_TIMESTAMP, TimestampOffset
from moldau.storage.log.log_state import LogState
from moldau.storage.log.segment import Segment
from moldau.storage.log.segment_list import SegmentList


class TimeSearch:
    """Looks up offsets in one log. Its errors are those of ``PartitionLog``."""

    __slots__ = ("_state",)

    def __init__(self, state: LogState) -> None:
        self._state = state

    def earliest(self) -> TimestampOffset:
        """The log start offset, with its epoch if it is known."""
        start_offset = self._state.log_start_offset
        epoch = self._state.leader_epochs.epoch_for_offset(start_offset)
        return TimestampOffset(NO_TIMESTAMP, start_offset, epoch)

    def latest(self) -> TimestampOffset:
        """The log end offset; the caller applies the limits of readers."""
        state = self._state
        return TimestampOffset(NO_TIMESTAMP, state.log_end_offset, state.leader_epochs.latest_epoch)

    def first_at_or_after(self, timestamp: int) -> TimestampOffset | None:
        """The first record whose timestamp is at least ``timestamp``; None if there is none."""
        state = self._state
        try:
            for segment in state.segments:
                if segment.largest_timestamp >= timestamp:
                    found = _search(segment, timestamp, state.log_start_offset)
                    if found is not None or segment.max_timestamp >= 0:
                        return found
        except OSError as error:
            raise state.storage_error(error, f"searching timestamp {timestamp} in") from error
        return None

    def first_of_max_timestamp(self) -> TimestampOffset | None:
        """The first record with the largest timestamp in the log; None if the log is empty."""
        try:
            return _search_max(self._state.segments)
        except OSError as error:
            raise self._state.storage_error(error, "searching the largest timestamp in") from error


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


def _search_max(segments: SegmentList) -> TimestampOffset | None:
    latest = segments.first
    for segment in segments:
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
