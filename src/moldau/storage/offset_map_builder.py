"""Reading the dirty part of a log into the offset map: what is the last offset of each key?

The map has a largest size. When it is full, the pass cleans what is below the last key it
took, and the next pass goes on from there. Records of aborted transactions supersede
nothing, so they are left out.
"""

from collections.abc import Iterable
from typing import NamedTuple

from moldau.record.offset_map import OffsetMap
from moldau.record.records import read_payload
from moldau.storage.batch_scan import iter_valid_batches
from moldau.storage.cleaned_transactions import CleanedTransactions, marker_type
from moldau.storage.cleaning import Cleaning
from moldau.storage.disk import DiskFile


class DirtySegment(NamedTuple):
    """The part of a segment that is to be read, from a batch boundary to its end."""

    file: DiskFile
    start: int
    size: int
    # The smallest offset that the first batch may begin with.
    first_offset: int
    # Where the next segment begins: there may be a gap before it.
    end_offset: int


def fill_offset_map(
    offset_map: OffsetMap,
    segments: Iterable[DirtySegment],
    transactions: CleanedTransactions,
    from_offset: int,
    cleaning: Cleaning,
    read_bytes: int,
) -> int:
    """Put every key from ``from_offset`` on; returns the offset up to which the map reaches.

    Raises:
        CorruptSegment, CorruptBatch, ValueError, CleaningAborted, OSError.
    """
    for segment in segments:
        for _, header, chunk, at in iter_valid_batches(
            segment.file, segment.start, segment.size, segment.first_offset, read_bytes
        ):
            cleaning.transferred(header.size_bytes)
            if header.is_control:
                transactions.on_marker(header, marker_type(header, chunk, at))
            elif not transactions.on_batch(header):
                records = read_payload(chunk, at, header)
                if not offset_map.put_records(
                    records, header.record_count, header.base_offset, from_offset
                ):
                    return offset_map.latest_offset + 1
            if header.last_offset >= from_offset:
                offset_map.note_offset(header.last_offset)
        offset_map.note_offset(segment.end_offset - 1)
    return offset_map.latest_offset + 1
