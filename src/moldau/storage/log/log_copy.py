"""Copying a log to another directory while it is in use.

The copy, or future log, is a follower on the same broker: it appends the batches of its source
unchanged, including offsets and epochs, truncates itself when its source was truncated, and follows
its log start offset. When it is complete it can replace its source.

The source belongs to the event loop and the copy to the code that copies. So every step has two
halves. ``plan`` runs on the event loop and only reads state: it returns the next bytes to copy,
with a descriptor that stays valid whatever happens to the segment. ``copy`` reads and writes, in
any thread, and does not access the source.
"""

import errno
from collections.abc import Sequence
from struct import Struct
from typing import Final

from moldau.protocol.primitives import FileRegion
from moldau.storage.log.leader_epochs import EpochEntry, LeaderEpochCache
from moldau.storage.log.partition_log import PartitionLog
from moldau.storage.log.segment import Segment

# If batches are small, this blocks the event loop for some hundred microseconds.
SLICE_BYTES: Final = 256 * 1024

_LENGTH: Final = Struct(">i")
_LENGTH_AT: Final = 8
# The length field excludes itself and the base offset before it.
_LENGTH_OVERHEAD: Final = 12


class Slice:
    """One step of a copy, planned on the thread of the source."""

    __slots__ = (
        "high_watermark",
        "log_start_offset",
        "region",
        "remaining_bytes",
        "restart_at",
        "skip_to",
        "truncate_to",
    )

    def __init__(
        self,
        source: PartitionLog,
        *,
        region: FileRegion | None = None,
        remaining_bytes: int = 0,
        truncate_to: int | None = None,
        restart_at: int | None = None,
        skip_to: int | None = None,
    ) -> None:
        """``region`` may end inside a batch; ``remaining_bytes`` is all that is left to copy."""
        self.region = region
        self.remaining_bytes = remaining_bytes
        self.truncate_to = truncate_to
        self.restart_at = restart_at
        self.skip_to = skip_to
        self.high_watermark = source.high_watermark
        self.log_start_offset = source.log_start_offset

    @property
    def is_tail(self) -> bool:
        """Whether this step is small and completes the copy."""
        is_follow_up = self.truncate_to is None and self.restart_at is None
        return is_follow_up and self.remaining_bytes <= SLICE_BYTES


class LogCopy:
    """Makes ``future`` a copy of ``source``. ``plan`` and ``copy`` are called in turn."""

    def __init__(self, source: PartitionLog, future: PartitionLog) -> None:
        self.source = source
        self.future = future
        # A new copy is as clean as its source; the state of an older one is unknown.
        is_fresh = future.log_end_offset == 0
        self.cleaner_checkpoint = source.cleaner_checkpoint if is_fresh else -1
        # The position of the next batch, valid if the copy ends at ``_offset``.
        self._segment: Segment | None = None
        self._position = 0
        self._offset = -1

    # -- on the thread of the source --

    def plan(self) -> Slice | None:
        """The next step; None if the copy is complete.

        Raises:
            ApiError: CORRUPT_MESSAGE, KAFKA_STORAGE_ERROR: the source cannot be read.
        """
        source, future = self.source, self.future
        future.config = source.config
        end = common_end(
            future.leader_epochs.entries(),
            future.log_end_offset,
            source.leader_epochs,
            source.log_end_offset,
        )
        if end < future.log_end_offset:
            return Slice(source, truncate_to=end)
        try:
            return self._plan_from(max(end, source.log_start_offset))
        except OSError as error:
            raise source.storage_error(error, "copying") from error

    def _plan_from(self, offset: int) -> Slice | None:
        source, future = self.source, self.future
        restart_at = None if offset == future.log_end_offset else offset
        if offset >= source.log_end_offset:
            if restart_at is not None:
                return Slice(source, restart_at=restart_at)
            is_behind = future.log_start_offset < source.log_start_offset
            return Slice(source) if is_behind else None
        segment = self._segment
        if segment is None or not self._is_at(segment, offset):
            found = self._locate(offset)
            if found is None:
                # The rest was compacted away: the log end offset advances without batches.
                return Slice(source, restart_at=restart_at, skip_to=source.log_end_offset)
            segment, first_offset = found
            if restart_at is not None:
                # The log start offset may be inside a batch.
                restart_at = min(restart_at, first_offset)
        size = min(SLICE_BYTES, segment.size - self._position)
        remaining = segment.size - self._position
        later = source.segments.after(segment)
        while later is not None:
            remaining += later.size
            later = source.segments.after(later)
        return Slice(
            source,
            region=segment.log.region(self._position, size),
            remaining_bytes=remaining,
            restart_at=restart_at,
        )

    def _is_at(self, segment: Segment, offset: int) -> bool:
        """Whether the batch at ``offset`` is at the cached position."""
        segments = self.source.segments
        index = segments.floor_index(segment.base_offset)
        is_there = index >= 0 and segments[index] is segment
        return is_there and self._offset == offset and self._position < segment.size

    def _locate(self, offset: int) -> tuple[Segment, int] | None:
        """The segment and base offset of the first batch that ends at or after ``offset``."""
        segments = self.source.segments
        for index in range(max(segments.floor_index(offset), 0), len(segments)):
            found = segments[index].find(offset)
            if found is not None:
                self._segment = segments[index]
                self._position = found.position
                return segments[index], found.base_offset
        return None

    # -- in any thread --

    def copy(self, piece: Slice) -> int:
        """Execute a planned step; returns the number of bytes copied.

        Raises:
            ApiError: CORRUPT_MESSAGE if the source is damaged; KAFKA_STORAGE_ERROR.
        """
        future = self.future
        if piece.truncate_to is not None:
            future.truncate_to(piece.truncate_to)
            return 0
        if piece.restart_at is not None:
            future.truncate_fully_and_start_at(piece.restart_at)
        copied = 0
        if piece.region is None:
            self._segment = None
        else:
            info = future.append_as_follower(self._read(piece.region))
            if info is not None:
                copied = info.size_bytes
            self._position += copied
        if piece.skip_to is not None:
            future.skip_to(piece.skip_to)
        self._offset = future.log_end_offset
        future.update_high_watermark(piece.high_watermark)
        if future.move_log_start_offset(min(piece.log_start_offset, future.log_end_offset)):
            future.delete_old_segments(future.wall_ms())
        return copied

    def _read(self, region: FileRegion) -> bytes:
        """The bytes of the region, or the whole first batch if that is larger."""
        try:
            data = region.read()
            size = len(data)
            if size >= _LENGTH_OVERHEAD:
                size = _LENGTH.unpack_from(data, _LENGTH_AT)[0] + _LENGTH_OVERHEAD
            if size > len(data):
                data = region.file.pread(size, region.position)
            if not data or len(data) < size:
                raise OSError(
                    errno.EIO, f"read {len(data)} of {size} bytes at position {region.position}"
                )
        except OSError as error:
            raise self.source.storage_error(error, "copying") from error
        return data


def common_end(
    future: Sequence[EpochEntry], future_end: int, source: LeaderEpochCache, source_end: int
) -> int:
    """The offset at which the copy diverges from its source (KIP-101).

    Up to there both have the same batches: the same leader wrote them, and a leader assigns each
    offset once.
    """
    end = future_end
    for epoch, start_offset in reversed(future):
        found, epoch_end = source.end_offset_for(epoch, source_end)
        if found == epoch:
            return min(end, epoch_end)
        # The source has no batches of this epoch.
        end = min(end, start_offset)
    return min(end, source_end)
