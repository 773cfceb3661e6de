"""Lookup of the aborted transactions that overlap a range of offsets.

Each segment lists the transactions whose markers it contains (``txn_index``). A transaction may
begin several segments before its marker, so later segments are searched until one shows that no
later transaction can overlap.
"""

from moldau.storage.log_results import FetchData
from moldau.storage.segment_list import SegmentList
from moldau.storage.txn_index import AbortedTxn


def aborted_between(segments: SegmentList, start_offset: int, end_offset: int) -> list[AbortedTxn]:
    """Aborted transactions that overlap the offsets from start to end."""
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
    """Aborted transactions in data read from ``start_offset`` on, and possibly a few more."""
    segment = segments[segments.floor_index(fetched.segment_base_offset)]
    bound = segment.offset_index.upper_bound(fetched.position + fetched.size_bytes)
    following = segments.after(segment)
    if bound is not None:
        end_offset = bound[0]
    else:
        end_offset = following.base_offset if following is not None else log_end_offset
    return aborted_between(segments, start_offset, end_offset)
