"""The results of appends, reads and lookups by timestamp."""

from typing import Final

from moldau.protocol.primitives import FileRegion

NO_TIMESTAMP: Final = -1
NO_OFFSET: Final = -1
NO_EPOCH: Final = -1


class LogAppendInfo:
    """The offsets of an appended batch; for a duplicate, those of its first copy."""

    __slots__ = (
        "first_offset",
        "is_duplicate",
        "last_offset",
        "log_append_time",
        "log_start_offset",
        "max_timestamp",
        "must_flush",
        "size_bytes",
    )

    def __init__(
        self,
        first_offset: int,
        last_offset: int,
        log_append_time: int,
        log_start_offset: int,
        max_timestamp: int,
        size_bytes: int,
        is_duplicate: bool = False,
        must_flush: bool = False,
    ) -> None:
        self.first_offset = first_offset
        self.last_offset = last_offset
        self.log_append_time = log_append_time
        self.log_start_offset = log_start_offset
        self.max_timestamp = max_timestamp
        self.size_bytes = size_bytes
        self.is_duplicate = is_duplicate
        # Whether the batch must be flushed before it is acknowledged (``flush.messages``).
        self.must_flush = must_flush

    def __repr__(self) -> str:
        duplicate = ", duplicate" if self.is_duplicate else ""
        return f"LogAppendInfo({self.first_offset}..{self.last_offset}{duplicate})"


class FetchData:
    """Batches in their on-disk format, from the one that contains the requested offset.

    ``segment_base_offset`` and ``position`` give the position of the first one;
    ``first_entry_incomplete`` means that the first batch exceeds the limit. ``aborted`` are the
    aborted transactions among them, as entries of the transaction index, if they were asked for.
    """

    __slots__ = (
        "aborted",
        "first_entry_incomplete",
        "position",
        "records",
        "segment_base_offset",
        "size_bytes",
    )

    def __init__(
        self,
        records: bytes | FileRegion,
        size_bytes: int,
        segment_base_offset: int,
        position: int,
        first_entry_incomplete: bool = False,
        aborted: bytes | None = None,
    ) -> None:
        self.records = records
        self.size_bytes = size_bytes
        self.segment_base_offset = segment_base_offset
        self.position = position
        self.first_entry_incomplete = first_entry_incomplete
        self.aborted = aborted

    def __repr__(self) -> str:
        return f"FetchData({self.size_bytes} bytes at {self.segment_base_offset}:{self.position})"


class TimestampOffset:
    """An offset found by timestamp, and the timestamp of its record, or -1 if none was read."""

    __slots__ = ("leader_epoch", "offset", "timestamp")

    def __init__(self, timestamp: int, offset: int, leader_epoch: int = NO_EPOCH) -> None:
        self.timestamp = timestamp
        self.offset = offset
        self.leader_epoch = leader_epoch

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TimestampOffset) and (
            (self.timestamp, self.offset, self.leader_epoch)
            == (other.timestamp, other.offset, other.leader_epoch)
        )

    def __hash__(self) -> int:
        return hash((self.timestamp, self.offset, self.leader_epoch))

    def __repr__(self) -> str:
        return f"TimestampOffset({self.timestamp}, {self.offset}, epoch {self.leader_epoch})"
