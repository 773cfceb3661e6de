"""Scanning the batches of a segment file, by headers or by every byte.

A segment is a sequence of batches; each contains its length, which gives the position of the next.
The sparse index only gives a start position. A search for an offset reads headers; a scan that must
verify the bytes (recovery, the first read of a segment that this process did not write) reads
everything and checks the CRC of each batch.

Rules this module keeps:

* A scan of arbitrary bytes ends: an invalid batch raises ``CorruptSegment`` with the file, the
  position and the reason.
* A batch that extends beyond ``end`` is invalid. In a running log ``end`` is a batch boundary, so
  such a batch means damage; recovery finds one after every torn write.
"""

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

from librt.strings import read_i32_be, read_i64_be
from mypy_extensions import i64

from moldau.errors import ApiError, ErrorCode
from moldau.record.header import (
    BATCH_HEADER_SIZE,
    BatchHeader,
    CorruptBatch,
    crc_is_valid,
    read_header,
)
from moldau.storage.disk.disk import DiskFile

# Base offset, length, leader epoch, magic, CRC, attributes, last offset delta: everything that a
# search by offset needs.
_HEAD_SIZE: Final = 27
# The length field excludes itself and the base offset before it.
_LENGTH_OVERHEAD: Final = 12
_MAGIC: Final = 2

# If batches are small, one read of this size covers the distance between two index entries; if they
# are large, it costs no more than reading the header alone.
_SEARCH_CHUNK: Final = 4096
_SCAN_CHUNK: Final = 1 << 20


class BatchPosition(NamedTuple):
    """The position of a batch in its segment file."""

    base_offset: int
    last_offset: int
    position: int
    size_bytes: int


class CorruptSegment(ApiError):  # noqa: N818  # a state of the bytes, as in Kafka
    """An invalid batch, with its position in a segment file."""

    def __init__(self, path: str, position: int, reason: str) -> None:
        super().__init__(
            ErrorCode.CORRUPT_MESSAGE,
            f"corrupt batch in {path} at position {position}: {reason}; it is not served. Remedy: "
            "restore the file from a replica or a backup, or delete the records up to the next "
            "good batch (DeleteRecords)",
        )
        self.path = path
        self.position = position
        self.reason = reason


def find_batch(file: DiskFile, target_offset: int, position: int, end: int) -> BatchPosition | None:
    """The first batch from ``position`` on that ends at or after ``target_offset``.

    None if every batch before ``end`` ends earlier. The batch may also begin after the target if
    compaction removed the records before it.
    """
    last_offset = -1
    while position < end:
        chunk = file.pread(min(_SEARCH_CHUNK, end - position), position)
        at: i64 = 0
        limit: i64 = len(chunk) - _HEAD_SIZE
        if limit < 0:
            raise CorruptSegment(
                file.path, position, f"{end - position} bytes are too few for a batch"
            )
        while at <= limit:
            # One number at a time: compiled code allocates no objects for them.
            base_offset: int = read_i64_be(chunk, at)
            length: int = read_i32_be(chunk, at + 8)
            magic: int = chunk[at + 16]
            delta: int = read_i32_be(chunk, at + 23)
            size = length + _LENGTH_OVERHEAD
            if (
                size < BATCH_HEADER_SIZE
                or magic != _MAGIC
                or delta < 0
                or base_offset <= last_offset
            ):
                raise CorruptSegment(
                    file.path,
                    position + at,
                    f"the header reads offset {base_offset}, length {length}, magic {magic}, last "
                    f"offset delta {delta}",
                )
            last_offset = base_offset + delta
            if last_offset >= target_offset:
                return BatchPosition(base_offset, last_offset, position + at, size)
            at += size
            if position + at > end:
                raise CorruptSegment(
                    file.path, position + at - size, f"a batch of {size} bytes goes past the end"
                )
        position += at
    return None


def iter_batches(file: DiskFile, position: int, end: int) -> Iterator[tuple[int, BatchHeader]]:
    """Position and header of each batch between two batch boundaries, without CRC checks."""
    while position < end:
        chunk = file.pread(min(_SEARCH_CHUNK, end - position), position)
        at = 0
        while at + BATCH_HEADER_SIZE <= len(chunk):
            header = _checked_header(file, chunk, at, position + at, end)
            yield position + at, header
            at += header.size_bytes
        if at == 0:
            raise CorruptSegment(
                file.path, position, f"{end - position} bytes are too few for a batch"
            )
        position += at


def iter_valid_batches(
    file: DiskFile, position: int, end: int, next_offset: int, chunk_bytes: int = _SCAN_CHUNK
) -> Iterator[tuple[int, BatchHeader, bytes, int]]:
    """Like ``iter_batches``, but every byte is read and every CRC checked.

    ``next_offset`` is the smallest valid base offset of the first batch. Yields the position in the
    file, the header, a buffer that contains the whole batch, and its position in the buffer. Raises
    CorruptSegment at the first invalid batch, after all valid ones before it. Reads ``chunk_bytes``
    at a time, or one batch if that is larger.
    """
    while position < end:
        chunk = read_chunk(file, position, end, chunk_bytes)
        at = 0
        while (header := valid_batch(file, chunk, at, position, end, next_offset)) is not None:
            yield position + at, header, chunk, at
            at += header.size_bytes
            next_offset = header.next_offset
        position += at


def read_chunk(file: DiskFile, position: int, end: int, chunk_bytes: int) -> bytes:
    """Bytes from the batch boundary ``position`` on: ``chunk_bytes``, or one batch if it is larger.

    Raises:
        CorruptSegment: the first batch is invalid or incomplete.
    """
    chunk = file.pread(min(chunk_bytes, end - position), position)
    if len(chunk) < BATCH_HEADER_SIZE:
        raise CorruptSegment(file.path, position, f"{end - position} bytes are too few for a batch")
    header = _checked_header(file, chunk, 0, position, end)
    if header.size_bytes > len(chunk):
        chunk = file.pread(header.size_bytes, position)
        if header.size_bytes > len(chunk):
            raise _wrong_crc(file, position, header)
    return chunk


def valid_batch(
    file: DiskFile, chunk: bytes, at: int, position: int, end: int, next_offset: int
) -> BatchHeader | None:
    """The header of the batch at ``at`` of a chunk that was read from ``position``.

    None if the chunk ends before the batch does.

    Raises:
        CorruptSegment: the batch is invalid, or has the wrong offset.
    """
    if at + BATCH_HEADER_SIZE > len(chunk):
        return None
    header = _checked_header(file, chunk, at, position + at, end)
    if at + header.size_bytes > len(chunk):
        return None
    if not crc_is_valid(chunk, at, header):
        raise _wrong_crc(file, position + at, header)
    _check_offsets(file, position + at, end, header, next_offset)
    return header


def _wrong_crc(file: DiskFile, position: int, header: BatchHeader) -> CorruptSegment:
    return CorruptSegment(file.path, position, f"the CRC of offset {header.base_offset} differs")


def _check_offsets(
    file: DiskFile, position: int, end: int, header: BatchHeader, next_offset: int
) -> None:
    """Check the base offset against its neighbours, since the CRC does not cover it."""
    is_right = next_offset <= header.base_offset <= header.last_offset
    if is_right and header.base_offset > next_offset:
        # Either a gap left by compaction or a flipped bit. The next offset must be larger.
        following = file.pread(_HEAD_SIZE, position + header.size_bytes)
        if len(following) == _HEAD_SIZE and position + header.size_bytes + _HEAD_SIZE <= end:
            is_right = read_i64_be(following, 0) > header.last_offset
    if not is_right:
        reason = f"offset {header.base_offset} where {next_offset} is due"
        raise CorruptSegment(file.path, position, reason)


def _checked_header(file: DiskFile, chunk: bytes, at: int, position: int, end: int) -> BatchHeader:
    try:
        header = read_header(chunk, at)
    except CorruptBatch as error:
        raise CorruptSegment(file.path, position, str(error)) from None
    if position + header.size_bytes > end:
        raise CorruptSegment(
            file.path,
            position,
            f"a batch of {header.size_bytes} bytes, {end - position} bytes before the end",
        )
    return header


def find_valid_batch_after(
    file: DiskFile, position: int, end: int, next_offset: int
) -> BatchPosition | None:
    """The first complete and valid batch that begins after ``position``, or None.

    This distinguishes a torn tail (nothing follows) from damage in the middle of a segment. It
    searches for the pattern of a header with an offset of this segment, so that arbitrary bytes are
    skipped at the speed of a regular expression.
    """
    # Offsets of one segment differ by less than 2^31, so the upper four bytes are known up to a
    # carry. The magic byte is at position 16; the length of a batch under 16 MiB starts with a zero
    # byte.
    high = next_offset >> 32
    prefixes = b"|".join(re.escape((high + carry).to_bytes(4, "big")) for carry in (0, 1))
    pattern = re.compile(rb"(?=(?:" + prefixes + rb").{4}.{4}.{4}\x02)", re.DOTALL)
    start = position + 1
    while start + BATCH_HEADER_SIZE <= end:
        chunk = file.pread(min(_SCAN_CHUNK, end - start), start)
        for match in pattern.finditer(chunk):
            found = _batch_at(file, start + match.start(), end, next_offset)
            if found is not None:
                return found
        if len(chunk) < _SCAN_CHUNK:
            break
        start += len(chunk) - BATCH_HEADER_SIZE
    return None


def _batch_at(file: DiskFile, position: int, end: int, next_offset: int) -> BatchPosition | None:
    head = file.pread(BATCH_HEADER_SIZE, position)
    try:
        header = read_header(head, 0)
    except CorruptBatch:
        return None
    if header.base_offset < next_offset or position + header.size_bytes > end:
        return None
    if not crc_is_valid(file.pread(header.size_bytes, position), 0, header):
        return None
    return BatchPosition(header.base_offset, header.last_offset, position, header.size_bytes)
