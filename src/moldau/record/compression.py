"""The four compression codecs of batches, with bounded decompression.

The number of a codec is in the lowest three bits of a batch's attributes. Clients write different
formats under the same number, and all of them are supported:

* gzip: one member, or several in a row.
* snappy: xerial's framing (a header, then blocks of 32 KiB), as written by the Java client, or a
  bare snappy block, as written by others.
* lz4: the frame format, with or without checksums, content size and linked blocks.
* zstd: frames with or without a content size, one or several.

A compressed stream can claim or contain far more than its own size, so ``decompress`` takes a limit
and stops there: its memory grows with what it has actually decompressed, never with what a header
claims beyond the limit.

The libraries are imported when a batch first needs them: a broker without compressed batches never
imports them.
"""

import struct
import threading
from collections.abc import Iterator
from enum import IntEnum
from typing import TYPE_CHECKING, Any, Final

from moldau.record.header import Buffer, CorruptBatch, UnpacksTooLarge

if TYPE_CHECKING:
    import zstandard


class Codec(IntEnum):
    """The codec numbers in a batch's attributes."""

    NONE = 0
    GZIP = 1
    SNAPPY = 2
    LZ4 = 3
    ZSTD = 4


# The values of a topic's ``compression.type``; "producer" is not a codec.
CODEC_BY_NAME: Final[dict[str, Codec]] = {
    "none": Codec.NONE,
    "uncompressed": Codec.NONE,
    "gzip": Codec.GZIP,
    "snappy": Codec.SNAPPY,
    "lz4": Codec.LZ4,
    "zstd": Codec.ZSTD,
}

DEFAULT_GZIP_LEVEL: Final = -1
DEFAULT_LZ4_LEVEL: Final = 9
DEFAULT_ZSTD_LEVEL: Final = 3

# A batch of the default ``max.message.bytes`` may expand a hundredfold; more is an attack.
MAX_DECOMPRESSED_BYTES: Final = 128 * 1024 * 1024

_SMALLEST_CHUNK: Final = 64 * 1024
_LARGEST_CHUNK: Final = 8 * 1024 * 1024

_XERIAL_MAGIC: Final = b"\x82SNAPPY\x00"
# The magic, then the version that wrote it and the oldest that can read it.
XERIAL_HEADER: Final = _XERIAL_MAGIC + struct.pack(">ii", 1, 1)
_XERIAL_BLOCK: Final = 32 * 1024
_INT32: Final = struct.Struct(">i")

_ZSTD_BLOCK: Final = 128 * 1024
_ZSTD_SKIPPABLE: Final = b"\x2a\x4d\x18"
# The values of the C interface for "unknown" and "error".
_ZSTD_NO_SIZE: Final = ((1 << 64) - 1, (1 << 64) - 2)

# Objects that a thread keeps for its next call.
_kept: Final = threading.local()

# zlib's value for a gzip wrapper with a full-size window.
GZIP_WINDOW: Final = 31


def compress(codec: int, data: Buffer, level: int | None = None) -> bytes:
    """Compress ``data`` with the framing of the Java client; ``level`` as numbered by Kafka."""
    if codec == Codec.NONE:
        return bytes(data)
    if codec == Codec.GZIP:
        import zlib

        chosen = DEFAULT_GZIP_LEVEL if level is None else level
        return zlib.compress(data, chosen, GZIP_WINDOW)
    if codec == Codec.SNAPPY:
        return _compress_snappy(data)
    if codec == Codec.LZ4:
        return _compress_lz4(data, DEFAULT_LZ4_LEVEL if level is None else level)
    if codec == Codec.ZSTD:
        import zstandard

        chosen = DEFAULT_ZSTD_LEVEL if level is None else level
        return zstandard.ZstdCompressor(level=chosen).compress(data)
    raise ValueError(f"{codec} is not a codec: expected 0 to 4")


def decompress(
    codec: int,
    data: Buffer,
    max_size: int = MAX_DECOMPRESSED_BYTES,
    max_parts: int = MAX_DECOMPRESSED_BYTES,
) -> bytes:
    """The decompressed data, if it is not longer than ``max_size``.

    Each member, block or frame takes time, however small it is; ``max_parts`` limits their number
    for callers that must be quick.

    Raises:
        UnpacksTooLarge: the result would be longer than ``max_size``, or has too many parts.
        CorruptBatch: the data is damaged or truncated, or the codec does not exist.
    """
    if codec == Codec.NONE:
        if len(data) > max_size:
            raise excess_of(codec, max_size)
        return bytes(data)
    if codec == Codec.GZIP:
        return _decompress_gzip(data, max_size, max_parts)
    if codec == Codec.SNAPPY:
        return _decompress_snappy(data, max_size, max_parts)
    if codec == Codec.LZ4:
        return _decompress_lz4(data, max_size)
    if codec == Codec.ZSTD:
        return _decompress_zstd(data, max_size, max_parts)
    raise CorruptBatch(f"compression codec {codec} does not exist: expected 0 to 4")


class _Output:
    """Decompressed pieces, and the maximum size of the next one.

    The size grows with the output so far, so that a small batch allocates little and a large one
    takes few calls. One byte beyond the limit is requested, in order to detect excess.
    """

    def __init__(self, codec: int, input_size: int, max_size: int) -> None:
        self._codec = codec
        self._max_size = max_size
        self._pieces: list[bytes] = []
        self._size = 0
        self._chunk = min(max(_SMALLEST_CHUNK, 4 * input_size), _LARGEST_CHUNK)

    def next_size(self) -> int:
        return min(self._chunk, self._max_size + 1 - self._size)

    def add(self, piece: bytes) -> None:
        self._pieces.append(piece)
        self._size += len(piece)
        if self._size > self._max_size:
            raise excess_of(self._codec, self._max_size)
        self._chunk = min(max(self._chunk, self._size), _LARGEST_CHUNK)

    def joined(self) -> bytes:
        return self._pieces[0] if len(self._pieces) == 1 else b"".join(self._pieces)


def excess_of(codec: int, max_size: int) -> UnpacksTooLarge:
    return UnpacksTooLarge(f"{Codec(codec).name} data expands to more than {max_size} bytes")


def _too_many_parts(codec: int, max_parts: int) -> UnpacksTooLarge:
    return UnpacksTooLarge(f"{Codec(codec).name} data has more than {max_parts} parts")


def _decompress_gzip(data: Buffer, max_size: int, max_parts: int) -> bytes:
    # zlib rather than cramjam, because it supports a limit.
    import zlib

    output = _Output(Codec.GZIP, len(data), max_size)
    rest: Buffer = data
    members = 0
    while members == 0 or bytes(rest[:2]) == b"\x1f\x8b":
        if members == max_parts:
            raise _too_many_parts(Codec.GZIP, max_parts)
        members += 1
        member = zlib.decompressobj(GZIP_WINDOW)
        while not member.eof:
            try:
                piece = member.decompress(rest, output.next_size())
            except zlib.error as error:
                raise CorruptBatch(f"gzip data is damaged: {error}") from error
            rest = member.unconsumed_tail
            if not piece and not rest and not member.eof:
                raise CorruptBatch("gzip data ends too early")
            output.add(piece)
        rest = member.unused_data
    return output.joined()


def _compress_snappy(data: Buffer) -> bytes:
    return XERIAL_HEADER + compress_snappy_blocks(data)


def compress_snappy_blocks(data: Buffer) -> bytes:
    """The blocks that follow xerial's header."""
    from cramjam import snappy

    view = memoryview(data)
    pieces = []
    for start in range(0, len(view), _XERIAL_BLOCK):
        block = bytes(snappy.compress_raw(view[start : start + _XERIAL_BLOCK]))
        pieces.append(_INT32.pack(len(block)))
        pieces.append(block)
    return b"".join(pieces)


def _decompress_snappy(data: Buffer, max_size: int, max_parts: int) -> bytes:
    pieces: list[bytes | memoryview] = []
    for piece in snappy_blocks(memoryview(data), max_size):
        if len(pieces) == max_parts:
            raise _too_many_parts(Codec.SNAPPY, max_parts)
        pieces.append(piece)
    return b"".join(pieces)


def snappy_blocks(view: memoryview, max_size: int) -> Iterator[bytes | memoryview]:
    """The contents of each block; at most ``max_size`` bytes in total."""
    if bytes(view[: len(_XERIAL_MAGIC)]) != _XERIAL_MAGIC:
        yield _decompress_snappy_block(view, max_size, max_size)
        return
    if len(view) < len(XERIAL_HEADER):
        raise CorruptBatch("snappy data ends within its header")

    left = max_size
    position = len(XERIAL_HEADER)
    while position < len(view):
        # Streams may be concatenated, each with its own header.
        if bytes(view[position : position + len(_XERIAL_MAGIC)]) == _XERIAL_MAGIC:
            position += len(XERIAL_HEADER)
            continue
        if len(view) - position < 4:
            raise CorruptBatch("snappy data ends within a block length")
        size = _INT32.unpack_from(view, position)[0]
        position += 4
        if size < 0 or size > len(view) - position:
            raise CorruptBatch(f"snappy block of {size} bytes, but {len(view) - position} are left")
        piece = _decompress_snappy_block(view[position : position + size], left, max_size)
        left -= len(piece)
        yield piece
        position += size


def _decompress_snappy_block(block: memoryview, left: int, max_size: int) -> memoryview:
    import cramjam

    # The library allocates the claimed length, so it is checked first.
    try:
        claimed: int = cramjam.snappy.decompress_raw_len(block)
        if claimed > left:
            raise excess_of(Codec.SNAPPY, max_size)
        return memoryview(cramjam.snappy.decompress_raw(block))
    except cramjam.DecompressionError as error:
        raise CorruptBatch(f"snappy data is damaged: {error}") from error


def _compress_lz4(data: Buffer, level: int) -> bytes:
    from lz4 import frame

    compressed: bytes = frame.compress(data, store_size=False, **lz4_options(level))
    return compressed


def lz4_options(level: int) -> dict[str, Any]:
    """The framing of the Java client, as options of the library."""
    from lz4 import frame

    return {
        # Kafka's default level, 9, means the fast compressor; all others mean the high-compression
        # variant, whose levels the C library numbers 3 to 12.
        "compression_level": 0 if level == DEFAULT_LZ4_LEVEL else min(max(level, 3), 12),
        "block_size": frame.BLOCKSIZE_MAX64KB,
        # The Java client refuses frames with linked blocks.
        "block_linked": False,
    }


def _decompress_lz4(data: Buffer, max_size: int) -> bytes:
    from lz4 import frame

    output = _Output(Codec.LZ4, len(data), max_size)
    decompressor = frame.LZ4FrameDecompressor()
    rest: Buffer = data
    while not decompressor.eof:
        try:
            piece: bytes = decompressor.decompress(rest, max_length=output.next_size())
        except (RuntimeError, EOFError, ValueError) as error:
            raise CorruptBatch(f"lz4 data is damaged: {error}") from error
        rest = b""
        if not piece and not decompressor.eof and decompressor.needs_input:
            raise CorruptBatch("lz4 data ends too early")
        output.add(piece)
    return output.joined()


def _decompress_zstd(data: Buffer, max_size: int, max_parts: int) -> bytes:
    import zstandard

    pieces: list[bytes] = []
    left = max_size
    for frame, bound, is_exact in zstd_frames(memoryview(data), max_parts):
        try:
            if is_exact and bound > left:
                raise excess_of(Codec.ZSTD, max_size)
            # The allocated size: the maximum for the frame, or the limit.
            piece = zstd_decompressor().decompress(frame, max_output_size=min(bound, left + 1))
        except zstandard.ZstdError as error:
            if bound > left:
                # For a frame without a size the library does not distinguish the two errors.
                raise excess_of(Codec.ZSTD, max_size) from error
            raise CorruptBatch(f"zstd data is damaged: {error}") from error
        left -= len(piece)
        if left < 0:
            raise excess_of(Codec.ZSTD, max_size)
        pieces.append(piece)
    return pieces[0] if len(pieces) == 1 else b"".join(pieces)


def zstd_frames(
    view: memoryview, max_parts: int = MAX_DECOMPRESSED_BYTES
) -> Iterator[tuple[memoryview, int, bool]]:
    """Each frame, its maximum expanded size, and whether that is exact; at least one frame."""
    found = 0
    parts = 0
    position = 0
    while position < len(view) or not found:
        if parts == max_parts:
            raise _too_many_parts(Codec.ZSTD, max_parts)
        parts += 1
        frame = view[position:]
        magic = bytes(frame[:4])
        if magic[1:] == _ZSTD_SKIPPABLE and 0x50 <= magic[0] <= 0x5F and len(frame) >= 8:
            position += 8 + int.from_bytes(frame[4:8], "little")
            continue
        size, bound, is_exact = _measure_zstd_frame(frame, max_parts)
        found += 1
        yield frame[:size], bound, is_exact
        position += size


def zstd_decompressor() -> "zstandard.ZstdDecompressor":
    """One per thread: creating one takes twenty times as long as decompressing a small batch."""
    import zstandard

    found: zstandard.ZstdDecompressor | None = getattr(_kept, "zstd", None)
    if found is None:
        found = _kept.zstd = zstandard.ZstdDecompressor()
    return found


def _measure_zstd_frame(frame: memoryview, max_blocks: int) -> tuple[int, int, bool]:
    """The length of the first frame, its maximum expanded size, and whether that is exact.

    Frames of streaming compressors do not contain their size, and the library does not report a
    truncated one; both follow from the block headers (RFC 8878, 3.1.1.2).
    """
    import zstandard

    try:
        parameters = zstandard.get_frame_parameters(frame)
        position = zstandard.frame_header_size(frame)
    except zstandard.ZstdError as error:
        raise CorruptBatch(f"zstd data is damaged: {error}") from error
    block_limit = min(_ZSTD_BLOCK, max(parameters.window_size, 1))
    bound = 0
    blocks = 0
    is_last = False
    while not is_last:
        if blocks == max_blocks:
            raise _too_many_parts(Codec.ZSTD, max_blocks)
        blocks += 1
        if len(frame) - position < 3:
            raise CorruptBatch("zstd data ends too early")
        block = int.from_bytes(frame[position : position + 3], "little")
        is_last = block & 1 == 1
        is_run = block >> 1 & 3 == 1
        bound += min(block >> 3, block_limit) if is_run else block_limit
        position += 3 + (1 if is_run else block >> 3)
    position += 4 if parameters.has_checksum else 0
    if position > len(frame):
        raise CorruptBatch("zstd data ends too early")
    claimed = parameters.content_size
    if claimed in _ZSTD_NO_SIZE:
        return position, max(bound, 1), False
    if claimed > bound:
        raise CorruptBatch(f"zstd data claims {claimed} bytes but can hold only {bound}")
    return position, claimed, True
