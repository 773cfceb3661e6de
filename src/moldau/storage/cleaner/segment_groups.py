"""Which adjacent segments a cleaning pass merges.

Cleaning makes segments small, so adjacent ones are merged if their sizes *before* the pass fit
together: the result is never larger than its sources, and may be merged again by the next pass.

Rules this module keeps:

* No result can exceed ``segment.bytes``, ``segment.index.bytes`` or the 31 bits of relative offsets
  in the indexes.
* The groups contain all segments, in order.
"""

from collections.abc import Sequence
from typing import NamedTuple

from moldau.storage.log.segment import MAX_RELATIVE_OFFSET


class SegmentSizes(NamedTuple):
    """The sizes that matter for merging."""

    base_offset: int
    log_bytes: int
    index_bytes: int
    time_index_bytes: int


def group_segments(
    segments: Sequence[SegmentSizes], end_offset: int, max_bytes: int, max_index_bytes: int
) -> list[range]:
    """Ranges of indexes in ``segments``, each to become one segment.

    ``end_offset`` is the end of the last segment.
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
            # An empty segment has no offsets: without this exception an emptied log would keep one
            # file for every 2^31 of its offsets.
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
