"""Decompressing and compressing large batches in pieces.

A few kilobytes can expand to a hundred megabytes. They are not needed all at once: records are
processed in pieces of ``PIECE_BYTES``, and a record that extends over several pieces is assembled
separately. So the memory needed is that of one piece, or of the largest record, and other threads
can run between any two pieces (and while a codec works on one).

    unpacked(codec, data, limit) -> whole_records(pieces) -> walk, renumber, ... -> packed(pieces)

Rules this module keeps:

* At most one piece beyond the limit is decompressed, and no more is compressed than requested.
* For any input the only error is ``CorruptBatch`` (``UnpacksTooLarge`` beyond the limit).
"""

import mmap
from collections.abc import Callable, Iterable, Iterator
from typing import Final

from moldau.record.compression import (
    DEFAULT_GZIP_LEVEL,
    DEFAULT_LZ4_LEVEL,
    DEFAULT_ZSTD_LEVEL,
    GZIP_WINDOW,
    XERIAL_HEADER,
    Codec,
    compress_snappy_blocks,
    excess_of,
    lz4_options,
    snappy_blocks,
    zstd_decompressor,
    zstd_frames,
)
from moldau.record.header import CorruptBatch
from moldau.record.walk import end_of_whole, size_of_first

Piece = bytes | memoryview

PIECE_BYTES: Final = 256 * 1024
# The amount of compressed input given to a codec at a time.
_INPUT_BYTES: Final = 64 * 1024
# The maximum size of a length.
_LONGEST_VARINT: Final = 10
# For a stream of unknown size, zstd would reserve the largest window: hundreds of megabytes at the
# highest levels. This size finds repetitions far enough back.
_ZSTD_SOURCE_BYTES: Final = 4 * 1024 * 1024


def unpacked(codec: int, data: Piece, max_size: int) -> Iterator[Piece]:
    """The decompressed data, in pieces; at most ``max_size`` bytes in total.

    Raises:
        UnpacksTooLarge: there is more.
        CorruptBatch: the data is damaged or truncated, or the codec does not exist.
    """
    left = max_size
    for large in _decompressed(codec, memoryview(data), max_size):
        left -= len(large)
        if left < 0:
            raise excess_of(codec, max_size)
        if len(large) <= PIECE_BYTES:
            yield large
            continue
        view = memoryview(large)
        for start in range(0, len(view), PIECE_BYTES):
            yield view[start : start + PIECE_BYTES]


def whole_records(pieces: Iterable[Piece], max_size: int) -> Iterator[Piece]:
    """The same bytes, split between records. An incomplete record at the end comes last.

    Raises:
        CorruptBatch: the length of a record is invalid or above ``max_size``.
    """
    # The state of a record that continues in the next piece: its first bytes, if they do not
    # contain the whole length; otherwise the record, as far as it is available.
    head = b""
    record: bytearray | mmap.mmap = bytearray()
    filled = 0
    for piece in pieces:
        view = memoryview(piece)
        at = 0
        if head:
            known = head + bytes(view[:_LONGEST_VARINT])
            size = size_of_first(known)
            if size == 0:
                head = known
                continue
            record = _room_for(size, max_size)
            filled = len(head)
            record[:filled] = head
            head = b""
        if record:
            at = min(len(record) - filled, len(view))
            record[filled : filled + at] = view[:at]
            filled += at
            if filled < len(record):
                continue
            yield memoryview(record)
            record = bytearray()
        rest = view[at:]
        end = end_of_whole(rest)
        if end:
            yield rest[:end]
        rest = rest[end:]
        if rest:
            size = size_of_first(rest)
            if size == 0:
                head = bytes(rest)
            else:
                record = _room_for(size, max_size)
                filled = len(rest)
                record[:filled] = rest
    if head:
        yield head
    elif record:
        yield memoryview(record)[:filled]


def packed(
    codec: int, level: int | None, pieces: Iterable[Piece], size: int, max_size: int
) -> bytes | None:
    """``pieces``, of ``size`` bytes in total, compressed; None if that exceeds ``max_size``."""
    first, compress, finish = _packer(codec, level, size)
    parts = [first]
    total = len(first)
    for piece in pieces:
        part = compress(piece)
        total += len(part)
        if total > max_size:
            return None
        parts.append(part)
    parts.append(finish())
    return None if total + len(parts[-1]) > max_size else b"".join(parts)


def _room_for(size: int, max_size: int) -> "bytearray | mmap.mmap":
    """Zeroed memory. A bytearray is zeroed at once, with the GIL held: not for large sizes."""
    if size > max_size:
        raise CorruptBatch(f"a record says that it has {size} bytes: {max_size} are possible")
    return bytearray(size) if size <= PIECE_BYTES else mmap.mmap(-1, size)


def _decompressed(codec: int, view: memoryview, max_size: int) -> Iterator[Piece]:
    if codec == Codec.NONE:
        return iter((view,))
    if codec == Codec.GZIP:
        return _gunzipped(view)
    if codec == Codec.SNAPPY:
        return snappy_blocks(view, max_size)
    if codec == Codec.LZ4:
        return _unpacked_lz4(view)
    if codec == Codec.ZSTD:
        return _unpacked_zstd(view, max_size)
    raise CorruptBatch(f"compression codec {codec} does not exist: expected 0 to 4")


def _gunzipped(view: memoryview) -> Iterator[bytes]:
    import zlib

    position = 0
    is_first = True
    while is_first or bytes(view[position : position + 2]) == b"\x1f\x8b":
        is_first = False
        member = zlib.decompressobj(GZIP_WINDOW)
        rest: Piece = b""
        while not member.eof:
            if not rest:
                rest = view[position : position + _INPUT_BYTES]
                position += len(rest)
            is_end = not rest
            try:
                piece = member.decompress(rest, PIECE_BYTES)
            except zlib.error as error:
                raise CorruptBatch(f"gzip data is damaged: {error}") from error
            rest = member.unconsumed_tail
            if piece:
                yield piece
            elif is_end and not member.eof:
                raise CorruptBatch("gzip data ends too early")
        position -= len(member.unused_data)


def _unpacked_lz4(view: memoryview) -> Iterator[bytes]:
    from lz4 import frame

    decompressor = frame.LZ4FrameDecompressor()
    position = 0
    while not decompressor.eof:
        source: Piece = b""
        is_end = False
        if decompressor.needs_input:
            source = view[position : position + _INPUT_BYTES]
            position += len(source)
            is_end = not source
        try:
            piece: bytes = decompressor.decompress(source, max_length=PIECE_BYTES)
        except (RuntimeError, EOFError, ValueError) as error:
            raise CorruptBatch(f"lz4 data is damaged: {error}") from error
        if piece:
            yield piece
        elif is_end and not decompressor.eof:
            raise CorruptBatch("lz4 data ends too early")


def _unpacked_zstd(view: memoryview, max_size: int) -> Iterator[bytes]:
    import zstandard

    for frame, bound, is_exact in zstd_frames(view):
        if is_exact and bound > max_size:
            raise excess_of(Codec.ZSTD, max_size)
        reader = zstd_decompressor().stream_reader(frame)
        while True:
            try:
                piece = reader.read(PIECE_BYTES)
            except zstandard.ZstdError as error:
                raise CorruptBatch(f"zstd data is damaged: {error}") from error
            if not piece:
                break
            yield piece


def _packer(
    codec: int, level: int | None, size: int
) -> tuple[bytes, Callable[[Piece], bytes], Callable[[], bytes]]:
    """The first bytes, a function that compresses a piece, and one that returns the last bytes."""
    if codec == Codec.NONE:
        return b"", bytes, bytes
    if codec == Codec.GZIP:
        import zlib

        gzip = zlib.compressobj(
            DEFAULT_GZIP_LEVEL if level is None else level, zlib.DEFLATED, GZIP_WINDOW
        )
        return b"", gzip.compress, gzip.flush
    if codec == Codec.SNAPPY:
        return XERIAL_HEADER, compress_snappy_blocks, bytes
    if codec == Codec.LZ4:
        from lz4 import frame

        lz4 = frame.LZ4FrameCompressor(**lz4_options(DEFAULT_LZ4_LEVEL if level is None else level))
        return lz4.begin(), lz4.compress, lz4.flush
    if codec == Codec.ZSTD:
        import zstandard

        parameters = zstandard.ZstdCompressionParameters.from_level(
            DEFAULT_ZSTD_LEVEL if level is None else level,
            source_size=min(size, _ZSTD_SOURCE_BYTES),
        )
        zstd = zstandard.ZstdCompressor(compression_params=parameters).compressobj()
        return b"", zstd.compress, zstd.flush
    raise ValueError(f"{codec} is not a codec: expected 0 to 4")
