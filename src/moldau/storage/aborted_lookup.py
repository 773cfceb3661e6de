"""Which aborted transactions reach into a stretch of a log.

Each segment lists those whose markers it holds (``txn_index``). A transaction may begin
segments before its marker, so later segments are asked until one of them says that nothing
further on can reach back.
"""

from moldau.storage.log_results import FetchData
from moldau.storage.segment_list import SegmentList
from moldau.storage.txn_index import AbortedTxn


def aborted_between(segments: SegmentList, start_offset: int, end_offset: int) -> list[AbortedTxn]:
    """Aborted transactions that overlap the offsets from start up to the end."""
    found: list[AbortedTxn] = []
    for index in range(max(segments.floor_index(start_offset), 0), len(segments)):
        aborted, is_complete = segments[index].txn_index.collect(start_offset, end_offset)
        found.extend(aborted)
        if is_complete:
            break
    return found


def aborted_in(
    segments: SegmentList, start_offset: int, fetched: FetchData, log_end_offset: int
) -> list[AbortedTxn]:
    """Those in what was read from ``start_offset`` on; a few too many do no harm."""
    segment = segments[segments.floor_index(fetched.segment_base_offset)]
    bound = segment.offset_index.upper_bound(fetched.position + fetched.size_bytes)
    following = segments.after(segment)
    if bound is not None:
        end_offset = bound[0]
    else:
        end_offset = following.base_offset if following is not None else log_end_offset
    return aborted_between(segments, start_offset, end_offset)
