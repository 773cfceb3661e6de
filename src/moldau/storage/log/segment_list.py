"""The segments of one partition, in the order of their base offsets.

There is always at least one; the last is the active one, which gets the appends. The files of
removed segments are handled by ``deleted_files``.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence

from moldau.storage.log.segment import Segment


class SegmentList:
    """Sorted segments; every lookup is by offset."""

    __slots__ = ("_base_offsets", "_segments", "_with_aborted", "active")

    def __init__(self, segments: list[Segment]) -> None:
        assert segments, "a log has at least one segment"
        self._segments = segments
        self._base_offsets = [segment.base_offset for segment in segments]
        self.active = segments[-1]
        # The inactive segments with a transaction index; None if that must be looked up again.
        self._with_aborted: list[Segment] | None = None

    def __len__(self) -> int:
        return len(self._segments)

    def __iter__(self) -> Iterator[Segment]:
        return iter(self._segments)

    def __getitem__(self, index: int) -> Segment:
        return self._segments[index]

    @property
    def first(self) -> Segment:
        return self._segments[0]

    @property
    def size_bytes(self) -> int:
        return sum(segment.size for segment in self._segments)

    def floor_index(self, offset: int) -> int:
        """Index of the last segment that begins at or before ``offset``; -1 if there is none."""
        if offset >= self.active.base_offset:
            return len(self._segments) - 1
        return bisect_right(self._base_offsets, offset) - 1

    def after(self, segment: Segment) -> Segment | None:
        """The segment that follows ``segment``; None for the active one."""
        if segment is self.active:
            return None
        return self._segments[bisect_right(self._base_offsets, segment.base_offset)]

    def overlapping(self, start_offset: int, end_offset: int) -> list[Segment]:
        """The segments that may contain offsets from start to end (exclusive)."""
        first = max(self.floor_index(start_offset), 0)
        return [s for s in self._segments[first:] if s.base_offset < end_offset]

    def with_aborted(self, offset: int) -> list[Segment]:
        """The segments from the one of ``offset`` on that have a transaction index.

        Most logs have none, so the others are not looked at again by every fetch.
        """
        inactive = self._with_aborted
        if inactive is None:
            inactive = [each for each in self._segments[:-1] if each.txn_index.exists()]
            self._with_aborted = inactive
        active = self.active
        base_offset = self._segments[max(self.floor_index(offset), 0)].base_offset
        found: list[Segment] = []
        if inactive and base_offset < active.base_offset:
            begin = bisect_left(inactive, base_offset, key=_base_offset)
            found = inactive[begin:]
        if active.txn_index.exists():
            found.append(active)
        return found

    def append(self, segment: Segment) -> None:
        """Add ``segment``, which becomes the active one."""
        assert segment.base_offset > self.active.base_offset
        self._with_aborted = None
        self._segments.append(segment)
        self._base_offsets.append(segment.base_offset)
        self.active = segment

    def remove_first(self, count: int) -> list[Segment]:
        """Remove and return the oldest ``count`` segments."""
        assert count < len(self._segments)
        self._with_aborted = None
        removed = self._segments[:count]
        del self._segments[:count]
        del self._base_offsets[:count]
        return removed

    def remove_after(self, offset: int) -> list[Segment]:
        """Remove and return the segments that begin after ``offset``."""
        self._with_aborted = None
        keep = max(bisect_right(self._base_offsets, offset), 1)
        removed = self._segments[keep:]
        del self._segments[keep:]
        del self._base_offsets[keep:]
        self.active = self._segments[-1]
        return removed

    def replace(self, sources: Sequence[Segment], segment: Segment) -> None:
        """Replace ``sources``, which must be consecutive, with ``segment``."""
        self._with_aborted = None
        start = self.floor_index(sources[0].base_offset)
        end = start + len(sources)
        assert list(sources) == self._segments[start:end], f"{sources} are not in the list"
        assert segment.base_offset == sources[0].base_offset
        assert end < len(self._segments), "the active segment cannot be replaced"
        self._segments[start:end] = [segment]
        self._base_offsets[start:end] = [segment.base_offset]

    def replace_all(self, segment: Segment) -> list[Segment]:
        """Replace all segments with ``segment``; returns the old ones."""
        self._with_aborted = None
        removed = self._segments
        self._segments = [segment]
        self._base_offsets = [segment.base_offset]
        self.active = segment
        return removed


def _base_offset(segment: Segment) -> int:
    return segment.base_offset
