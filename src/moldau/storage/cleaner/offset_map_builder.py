"""Reading the dirty part of a log into the offset map, which has the last offset of each key.

The map has a maximum size. When it is full, the pass cleans the log up to the last key in it, and
the next pass continues from there. Records of aborted transactions supersede nothing, so they are
ignored. Batches without a transaction are added a run at a time.
"""

from bisect import bisect_right
from collections.abc import Iterable
from typing import NamedTuple

from moldau.record.batch_run import BatchRun
from moldau.record.offset_map import OffsetMap
from moldau.record.records import read_payload
from moldau.storage.cleaner.chunk_walk import ChunkWalk
from moldau.storage.cleaner.cleaned_transactions import CleanedTransactions, marker_type
from moldau.storage.cleaner.cleaning import Transfers
from moldau.storage.disk.disk import DiskFile


class DirtySegment(NamedTuple):
    """The part of a segment to read, from a batch boundary to its end."""

    file: DiskFile
    start: int
    size: int
    # The smallest valid base offset of the first batch.
    first_offset: int
    # The base offset of the next segment: there may be a gap before it.
    end_offset: int


def fill_offset_map(
    offset_map: OffsetMap,
    segments: Iterable[DirtySegment],
    transactions: CleanedTransactions,
    from_offset: int,
    cleaning: Transfers,
    read_bytes: int,
) -> int:
    """Add every key from ``from_offset`` on; returns the offset up to which the map is complete.

    Raises:
        CorruptSegment, CorruptBatch, ValueError, CleaningAborted, OSError.
    """
    for segment in segments:
        walk = ChunkWalk(
            segment.file, segment.start, segment.size, segment.first_offset, read_bytes
        )
        while walk.read():
            if not _put_chunk(offset_map, walk, transactions, from_offset):
                return offset_map.latest_offset + 1
            cleaning.transferred(walk.at)
        offset_map.note_offset(segment.end_offset - 1)
    return offset_map.latest_offset + 1


def _put_chunk(
    offset_map: OffsetMap, walk: ChunkWalk, transactions: CleanedTransactions, from_offset: int
) -> bool:
    """Add the keys of a chunk; False if the map is full."""
    while True:
        run = walk.take_run()
        if run is not None and not _put_run(offset_map, run, from_offset):
            return False
        found = walk.take_batch()
        if found is None:
            return True
        at, header = found
        if header.is_control:
            transactions.on_marker(header, marker_type(header, walk.chunk, at))
        elif not transactions.on_batch(header):
            records = read_payload(walk.chunk, at, header)
            if not offset_map.put_records(
                records, header.record_count, header.base_offset, from_offset
            ):
                return False
        if header.last_offset >= from_offset:
            offset_map.note_offset(header.last_offset)


def _put_run(offset_map: OffsetMap, run: BatchRun, from_offset: int) -> bool:
    passed = offset_map.put_columns(run.records, run.base_offset[0], from_offset)
    # The batches whose records are all in the map, which is complete up to their ends.
    whole = bisect_right(run.first_row, passed) - 1
    if whole > 0 and (last_offset := run.last_offset[whole - 1]) >= from_offset:
        offset_map.note_offset(last_offset)
    return passed == run.records.count
