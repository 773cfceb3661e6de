"""Recovery of a segment after an unclean shutdown.

Batches are only appended, so a crash leaves a file whose beginning is valid. Every batch that is
not known to be flushed is read and its CRC checked; the file is truncated at the first invalid
batch, and the indexes are rebuilt from the rest.

Invalid bytes *followed* by valid batches do not come from a crash of the process, but from a disk
that wrote its pages out of order, or from another writer of the file. Nothing there was known to be
flushed, so it is truncated as in Kafka, but an error is logged with the details.
"""

import contextlib
import logging
from collections.abc import Callable

from moldau.record.header import BatchHeader, crc_is_valid
from moldau.storage.log.batch_scan import (
    CorruptSegment,
    find_valid_batch_after,
    iter_batches,
    iter_valid_batches,
)
from moldau.storage.log.segment import MAX_RELATIVE_OFFSET, Segment

# Called for each valid batch: its header, a buffer, and the position of the batch in it.
BatchObserver = Callable[[BatchHeader, bytes, int], None]

_log = logging.getLogger(__name__)


def recover_segment(segment: Segment, on_batch: BatchObserver, flushed_to: int = 0) -> int:
    """Check every batch, truncate the file after the last valid one, and rebuild the indexes.

    Batches that end below the offset ``flushed_to`` are durable: only their headers are read.
    Returns the number of bytes removed.
    """
    segment.begin_rebuild()
    checked_from, next_offset = _pass_flushed(segment, on_batch, flushed_to)
    valid_bytes = checked_from
    try:
        for position, header, data, at in iter_valid_batches(
            segment.log, checked_from, segment.size, next_offset
        ):
            if header.last_offset - segment.base_offset > MAX_RELATIVE_OFFSET:
                reason = f"offset {header.last_offset} is too far from {segment.base_offset}"
                raise CorruptSegment(segment.log.path, position, reason)
            segment.rebuild_with(position, header)
            on_batch(header, data, at)
            valid_bytes = position + header.size_bytes
            next_offset = header.next_offset
    except CorruptSegment as error:
        _report_cut(segment, error, next_offset)
    return segment.end_rebuild(valid_bytes, checked_from)


def _pass_flushed(segment: Segment, on_batch: BatchObserver, flushed_to: int) -> tuple[int, int]:
    """Scan the headers of flushed batches; returns the position and the offset where they end."""
    end, next_offset = 0, segment.base_offset
    if flushed_to <= next_offset:
        return end, next_offset
    # An invalid header or marker also ends this scan: the full check then reports it.
    with contextlib.suppress(CorruptSegment):
        for position, header in iter_batches(segment.log, 0, segment.size):
            if header.base_offset < next_offset or header.next_offset > flushed_to:
                break
            # Only control batches need more than the header.
            data = segment.log.pread(header.size_bytes, position) if header.is_control else b""
            if header.is_control and not crc_is_valid(data, 0, header):
                break
            segment.rebuild_with(position, header)
            on_batch(header, data, 0)
            end, next_offset = position + header.size_bytes, header.next_offset
    return end, next_offset


def _report_cut(segment: Segment, error: CorruptSegment, next_offset: int) -> None:
    following = find_valid_batch_after(segment.log, error.position, segment.size, next_offset)
    cut = segment.size - error.position
    if following is None:
        _log.warning(
            "%s: cut %d bytes of an unfinished write at position %d (%s); "
            "the segment ends at offset %d",
            error.path,
            cut,
            error.position,
            error.reason,
            next_offset,
        )
        return
    _log.error(
        "%s: bad bytes at position %d (%s) and valid batches after them, from offset %d at "
        "position %d on. Cut %d bytes that were never known to be flushed: the segment ends at "
        "offset %d. Remedy: let this replica fetch the rest from the leader, or restore the file "
        "from a backup",
        error.path,
        error.position,
        error.reason,
        following.base_offset,
        following.position,
        cut,
        next_offset,
    )
