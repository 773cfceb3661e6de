"""Reading batches from a partition's segments.

A consumer that keeps up fetches from exactly the offset where its last read ended. The reader
caches the positions where the last few reads ended, so that such a read needs no search: a single
``pread`` of the new bytes. Other reads need an index lookup and a scan of the few headers after it.

Small results are read into memory, large ones are a ``FileRegion`` that the network sends without a
copy. As in Kafka, a result begins at a batch boundary, and the size limit may cut its last batch:
clients ignore an incomplete batch.
"""

import errno
from typing import Final

from moldau.errors import ApiError, ErrorCode
from moldau.storage.log.batch_scan import CorruptSegment, find_batch, find_valid_batch_after
from moldau.storage.log.log_results import FetchData
from moldau.storage.log.log_state import LogState
from moldau.storage.log.segment import Segment

# Up to this size a read is cheaper than a descriptor, a sendfile and its bookkeeping.
MAX_COPIED_BYTES: Final = 64 * 1024
# Cached positions per partition, one for each consumer or follower that keeps up.
_REMEMBERED_PLACES: Final = 8


class LogReader:
    """Reads from the segments of one log."""

    __slots__ = ("_places", "_segments", "_state")

    def __init__(self, state: LogState) -> None:
        self._state = state
        self._segments = state.segments
        # Offset to (segment, position), for offsets at which a batch begins or the log ends.
        self._places: dict[int, tuple[Segment, int]] | None = None

    def forget_places(self) -> None:
        """Discard the cached positions after segments were truncated or removed."""
        self._places = None

    def _remember(self, offset: int, segment: Segment, position: int) -> None:
        places = self._places
        if places is None:
            places = self._places = {}
        elif len(places) >= _REMEMBERED_PLACES and offset not in places:
            del places[next(iter(places))]
        places[offset] = (segment, position)

    def read(
        self,
        start_offset: int,
        max_bytes: int,
        max_offset: int,
        min_one_message: bool,
        include_aborted: bool,
    ) -> FetchData:
        """See ``PartitionLog.read``."""
        state = self._state
        end_offset = state.log_end_offset
        if start_offset < state.log_start_offset or start_offset > end_offset:
            raise ApiError(
                ErrorCode.OFFSET_OUT_OF_RANGE,
                f"offset {start_offset} of {state.topic_partition} is out of range: the log holds "
                f"{state.log_start_offset} to {end_offset}",
            )
        if state.is_closed:
            raise state.closed_error()
        try:
            fetched = self._read(start_offset, max_bytes, max_offset, end_offset, min_one_message)
            if include_aborted:
                fetched.aborted = (
                    self._aborted_in(start_offset, fetched, end_offset)
                    if fetched.size_bytes
                    else b""
                )
            return fetched
        except OSError as error:
            raise state.storage_error(error, f"reading offset {start_offset} of") from error

    def _read(
        self,
        start_offset: int,
        max_bytes: int,
        max_offset: int,
        log_end_offset: int,
        min_one_message: bool,
    ) -> FetchData:
        """Read from the batch that contains ``start_offset``, up to ``max_offset``.

        Returns at most ``max_bytes``, except that with ``min_one_message`` the first batch is
        returned completely whatever its size. The offset is in range.

        Raises:
            ApiError: UNKNOWN_SERVER_ERROR if ``max_bytes`` is negative and there are batches.
        """
        limit_segment, limit = self._end_place(max_offset, log_end_offset)
        if start_offset >= max_offset:
            if start_offset == max_offset:
                # The reader is at the end and will ask for this offset next.
                self._remember(start_offset, limit_segment, limit)
            return FetchData(b"", 0, limit_segment.base_offset, limit)

        places = self._places
        place = places.get(start_offset) if places is not None else None
        first_size = 0
        if place is not None:
            segment, start = place
            if start >= segment.size:
                # The log was rolled after this position was cached as its end.
                following = self._segments.after(segment)
                if following is not None:
                    segment, start = following, 0
        else:
            found = self._locate(start_offset)
            if found is None:
                return FetchData(b"", 0, limit_segment.base_offset, limit)
            segment, start, first_size = found
        if segment is limit_segment:
            end = limit
        elif segment.base_offset < limit_segment.base_offset:
            end = segment.size
        else:
            return FetchData(b"", 0, segment.base_offset, start)
        return self._cut(
            segment, start, end, max_bytes, max_offset, first_size, limit_segment, min_one_message
        )

    def _cut(
        self,
        segment: Segment,
        start: int,
        end: int,
        max_bytes: int,
        max_offset: int,
        first_size: int,
        limit_segment: Segment,
        min_one_message: bool,
    ) -> FetchData:
        """The result from ``start`` to ``end``, as limited by ``max_bytes``."""
        size = end - start
        incomplete = False
        if size > max_bytes:
            if first_size == 0:
                batch = find_batch(segment.log, 0, start, segment.size)
                first_size = batch.size_bytes if batch is not None else 0
            size = max_bytes
            if first_size > max_bytes:
                if max_bytes < 0:
                    # As in Kafka: clients must not rely on -1 for no limit.
                    message = f"a limit of {max_bytes} bytes: must not be negative"
                    raise ApiError(ErrorCode.UNKNOWN_SERVER_ERROR, message)
                if min_one_message:
                    size = min(first_size, end - start)
                else:
                    incomplete = True
        if size <= 0:
            return FetchData(b"", 0, segment.base_offset, start, incomplete)
        size = segment.verify(start, start + size) - start
        if start + size == end and segment is limit_segment:
            self._remember(max_offset, segment, end)
        if size > MAX_COPIED_BYTES:
            return FetchData(
                segment.log.region(start, size), size, segment.base_offset, start, incomplete
            )
        records = segment.log.pread(size, start)
        if len(records) < size:
            raise OSError(
                errno.EIO,
                f"read {len(records)} of {size} bytes at position {start}: the file was cut",
                segment.log.path,
            )
        return FetchData(records, size, segment.base_offset, start, incomplete)

    def _end_place(self, max_offset: int, log_end_offset: int) -> tuple[Segment, int]:
        """The position at which the batches below ``max_offset`` end."""
        if max_offset >= log_end_offset:
            active = self._segments.active
            return active, active.size
        if self._places is not None:
            place = self._places.get(max_offset)
            if place is not None:
                return place
        found = self._locate(max_offset)
        if found is None:
            active = self._segments.active
            return active, active.size
        segment, position, _ = found
        self._remember(max_offset, segment, position)
        return segment, position

    def _locate(self, offset: int) -> tuple[Segment, int, int] | None:
        """Segment, position and size of the first batch that ends at or after ``offset``."""
        segments = self._segments
        for index in range(max(segments.floor_index(offset), 0), len(segments)):
            segment = segments[index]
            found = segment.find(offset)
            if found is not None:
                return segment, found.position, found.size_bytes
        return None

    def offset_after_damage(self, error: CorruptSegment, offset: int) -> int:
        """See ``PartitionLog.offset_after_damage``."""
        try:
            found = self._offset_after_damage(error, offset)
        except OSError as failure:
            raise self._state.storage_error(failure, f"reading after {offset} of") from failure
        return self._state.log_end_offset if found is None else max(found, offset)

    def _offset_after_damage(self, error: CorruptSegment, offset: int) -> int | None:
        """The base offset of the first valid batch at or after ``offset`` that follows ``error``.

        A read at that offset finds the batch, although no scan gets past the damage. None if there
        is none.
        """
        segments = self._segments
        for index in range(max(segments.floor_index(offset), 0), len(segments)):
            segment = segments[index]
            if segment.log.path != error.path:
                continue
            found = find_valid_batch_after(segment.log, error.position, segment.size, offset)
            if found is not None:
                self._remember(found.base_offset, segment, found.position)
                return found.base_offset
            following = segments.after(segment)
            return None if following is None else following.base_offset
        return None

    def readable_bytes(self, start_offset: int, max_offset: int) -> int:
        """The maximum size of a read from ``start_offset`` to ``max_offset``.

        For a fetch that waits for ``fetch.min.bytes``; reads no records.
        """
        state = self._state
        if not state.log_start_offset <= start_offset <= state.log_end_offset:
            return 0
        if start_offset >= max_offset:
            return 0
        try:
            return self._readable_bytes(start_offset, max_offset, state.log_end_offset)
        except OSError as error:
            raise state.storage_error(error, f"looking up {start_offset} in") from error

    def _readable_bytes(self, start_offset: int, max_offset: int, log_end_offset: int) -> int:
        limit_segment, limit = self._end_place(max_offset, log_end_offset)
        place = self._places.get(start_offset) if self._places is not None else None
        if place is None:
            found = self._locate(start_offset)
            if found is None:
                return 0
            place = found[0], found[1]
            self._remember(start_offset, place[0], place[1])
        segment: Segment | None = place[0]
        total = -place[1]
        while segment is not None and segment is not limit_segment:
            total += segment.size
            segment = self._segments.after(segment)
        return max(total + limit, 0) if segment is not None else 0

    # -- aborted transactions --

    def aborted_between(self, start_offset: int, end_offset: int) -> bytes:
        """Aborted transactions that overlap the offsets from start to end, as entries of the index.

        Each segment lists the transactions whose markers it contains (``txn_index``). A transaction
        may begin several segments before its marker, so later segments are searched until one
        shows that no later transaction can overlap.
        """
        found = b""
        for segment in self._segments.with_aborted(start_offset):
            aborted, is_complete = segment.txn_index.collect(start_offset, end_offset)
            found += aborted
            if is_complete:
                break
        return found

    def _aborted_in(self, start_offset: int, fetched: FetchData, log_end_offset: int) -> bytes:
        """Aborted transactions in data read from ``start_offset`` on, and possibly a few more."""
        segments = self._segments
        segment = segments[segments.floor_index(fetched.segment_base_offset)]
        bound = segment.offset_index.upper_bound(fetched.position + fetched.size_bytes)
        following = segments.after(segment)
        if bound is not None:
            end_offset = bound[0]
        else:
            end_offset = following.base_offset if following is not None else log_end_offset
        return self.aborted_between(start_offset, end_offset)
