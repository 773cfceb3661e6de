"""Which neighbouring segments a pass of the cleaner writes into one.

Cleaning makes segments small, so neighbours are merged as long as their sizes *before* the
pass fit together: what comes out is never larger than what went in, and may again be
merged with its neighbour the next time.

Rules this module keeps:

* No result can outgrow ``segment.bytes``, ``segment.index.bytes`` or the 31 bits in which
  indexes keep offsets relative to the segment's base.
* Order and completeness: the groups, laid end to end, are the segments.
"""

from collections.abc import Sequence
from typing import NamedTuple

from moldau.storage.segment import MAX_RELATIVE_OFFSET


class SegmentSizes(NamedTuple):
    """What counts when segments are merged."""

    base_offset: int
    log_bytes: int
    index_bytes: int
    time_index_bytes: int


def group_segments(
    segments: Sequence[SegmentSizes], end_offset: int, max_bytes: int, max_index_bytes: int
) -> list[range]:
    """Ranges of positions in ``segments``, each to become one segment.

    ``end_offset`` is where the last of the segments ends.
    """
    groups: list[range] = []
    start = 0
    while start < len(segments):
        end = start + 1
        log_bytes, index_bytes, time_index_bytes = segments[start][1:]
        while end < len(segments):
            candidate = segments[end]
            log_bytes += candidate.log_bytes
            index_bytes += candidate.index_bytes
            time_index_bytes += candidate.time_index_bytes
            following = segments[end + 1].base_offset if end + 1 < len(segments) else end_offset
            # An empty segment has no offsets to keep: without this exception a log that was
            # emptied would be left with one file for every 2^31 of its offsets.
            reach = following - 1 - segments[start].base_offset if candidate.log_bytes else 0
            if (
                log_bytes > max_bytes
                or max(index_bytes, time_index_bytes) > max_index_bytes
                or reach > MAX_RELATIVE_OFFSET
            ):
                break
            end += 1
        groups.append(range(start, end))
        start = end
    return groups
