"""Every codec, every framing that clients use, and malicious data."""

import contextlib
import gzip
import os
import tracemalloc
from typing import Any

import cramjam
import lz4.frame
import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from moldau.record.compression import Codec, compress, decompress
from moldau.record.header import CorruptBatch

TEXT = b'{"river": "Moldau", "length_km": 430}\n' * 5000
COMPRESSED = [Codec.GZIP, Codec.SNAPPY, Codec.LZ4, Codec.ZSTD]
MIB = 1024 * 1024


@pytest.mark.parametrize("codec", list(Codec))
@pytest.mark.parametrize("data", [b"", b"x", TEXT, os.urandom(100_000)], ids=len)
def test_what_was_compressed_comes_back(codec: Codec, data: bytes) -> None:
    assert decompress(codec, compress(codec, data)) == data
    assert decompress(codec, memoryview(compress(codec, memoryview(data)))) == data


@given(st.sampled_from(COMPRESSED), st.binary(max_size=2000))
def test_any_bytes_come_back(codec: Codec, data: bytes) -> None:
    assert decompress(codec, compress(codec, data)) == data


@pytest.mark.parametrize("codec", COMPRESSED)
@pytest.mark.parametrize("level", [1, 3, 9])
def test_every_level_can_be_read(codec: Codec, level: int) -> None:
    assert decompress(codec, compress(codec, TEXT, level)) == TEXT


@pytest.mark.parametrize("level", [-131072, -1, 22])
def test_zstd_levels_reach_as_far_as_kafkas(level: int) -> None:
    assert decompress(Codec.ZSTD, compress(Codec.ZSTD, TEXT, level)) == TEXT


@pytest.mark.parametrize("level", [1, 12, 17])
def test_lz4_levels_reach_as_far_as_kafkas(level: int) -> None:
    assert decompress(Codec.LZ4, compress(Codec.LZ4, TEXT, level)) == TEXT


@pytest.mark.parametrize("codec", COMPRESSED)
def test_data_that_is_cut_off_anywhere_is_corrupt(codec: Codec) -> None:
    whole = compress(codec, TEXT[:3000])
    # Xerial's framing has no end: a stream without its last blocks is a shorter stream.
    first = 17 if codec == Codec.SNAPPY else 0
    for cut in [*range(first, len(whole))]:
        with pytest.raises(CorruptBatch):
            decompress(codec, whole[:cut])


def test_gzip_members_in_a_row_are_one_stream() -> None:
    assert decompress(Codec.GZIP, gzip.compress(b"one ") + gzip.compress(b"two")) == b"one two"


def test_bytes_after_a_gzip_stream_are_ignored_as_java_ignores_them() -> None:
    assert decompress(Codec.GZIP, gzip.compress(b"one") + b"\0\0\0\0") == b"one"


def test_snappy_without_framing_is_read() -> None:
    assert decompress(Codec.SNAPPY, bytes(cramjam.snappy.compress_raw(TEXT))) == TEXT


def test_snappy_is_written_in_xerials_framing() -> None:
    data = compress(Codec.SNAPPY, TEXT)
    assert data[:16] == b"\x82SNAPPY\x00" + b"\0\0\0\x01" + b"\0\0\0\x01"
    first_block = int.from_bytes(data[16:20], "big")
    assert bytes(cramjam.snappy.decompress_raw(data[20 : 20 + first_block])) == TEXT[:32768]


def test_snappy_streams_in_a_row_are_one_stream() -> None:
    streams = compress(Codec.SNAPPY, b"one ") + compress(Codec.SNAPPY, b"two")
    assert decompress(Codec.SNAPPY, streams) == b"one two"


@pytest.mark.parametrize("size", [-1, 2**31 - 1, 100])
def test_a_snappy_block_longer_than_the_data_is_corrupt(size: int) -> None:
    data = compress(Codec.SNAPPY, b"abc")
    damaged = data[:16] + size.to_bytes(4, "big", signed=True) + data[20:]
    with pytest.raises(CorruptBatch, match="snappy block"):
        decompress(Codec.SNAPPY, damaged)


@pytest.mark.parametrize(
    "options",
    [
        {"content_checksum": True},
        {"block_checksum": True},
        {"block_linked": True},
        {"block_linked": False},
        {"store_size": True},
        {"block_size": lz4.frame.BLOCKSIZE_MAX4MB},
        {"compression_level": 12},
    ],
    ids=str,
)
def test_every_kind_of_lz4_frame_is_read(options: dict[str, int]) -> None:
    framed = lz4.frame.compress(TEXT, **{"store_size": False, **options})
    assert decompress(Codec.LZ4, framed) == TEXT


def test_lz4_is_written_with_independent_blocks_which_the_java_client_insists_on() -> None:
    info = lz4.frame.get_frame_info(compress(Codec.LZ4, TEXT))
    assert not info["block_linked"]
    assert info["block_size"] == 65536


def test_a_wrong_lz4_content_checksum_is_corrupt() -> None:
    framed = bytearray(lz4.frame.compress(TEXT, content_checksum=True))
    framed[-1] ^= 1
    with pytest.raises(CorruptBatch, match="lz4"):
        decompress(Codec.LZ4, framed)


def streamed_zstd(data: bytes, **options: Any) -> bytes:
    stream = zstandard.ZstdCompressor(**options).compressobj()
    return stream.compress(data) + stream.flush()


@pytest.mark.parametrize(
    "framed",
    [
        streamed_zstd(TEXT),
        streamed_zstd(TEXT, write_checksum=True),
        zstandard.ZstdCompressor(write_content_size=False).compress(TEXT),
        zstandard.ZstdCompressor(write_checksum=True).compress(TEXT),
        streamed_zstd(TEXT[:1000]) + zstandard.ZstdCompressor().compress(TEXT[1000:]),
        b"\x5a\x2a\x4d\x18\x03\0\0\0abc" + streamed_zstd(TEXT),
        streamed_zstd(TEXT, level=22),
    ],
    ids=["streamed", "checksum", "no size", "size", "two frames", "skippable", "wide window"],
)
def test_every_kind_of_zstd_frame_is_read(framed: bytes) -> None:
    assert decompress(Codec.ZSTD, framed) == TEXT


def test_a_wrong_zstd_checksum_is_corrupt() -> None:
    framed = bytearray(streamed_zstd(TEXT, write_checksum=True))
    framed[-1] ^= 1
    with pytest.raises(CorruptBatch, match="zstd"):
        decompress(Codec.ZSTD, framed)


ZEROES = bytes(32 * MIB)
BOMBS = {
    "gzip": (Codec.GZIP, gzip.compress(ZEROES)),
    "snappy": (Codec.SNAPPY, compress(Codec.SNAPPY, ZEROES)),
    "bare snappy": (Codec.SNAPPY, bytes(cramjam.snappy.compress_raw(ZEROES))),
    "snappy that only claims": (Codec.SNAPPY, b"\xff\xff\xff\xff\x0f" + b"\0abc"),
    "lz4": (Codec.LZ4, compress(Codec.LZ4, ZEROES)),
    "lz4 with size": (Codec.LZ4, lz4.frame.compress(ZEROES, store_size=True)),
    "zstd": (Codec.ZSTD, zstandard.ZstdCompressor().compress(ZEROES)),
    "streamed zstd": (Codec.ZSTD, streamed_zstd(ZEROES)),
}


@pytest.mark.parametrize(("codec", "bomb"), BOMBS.values(), ids=BOMBS)
def test_a_bomb_is_stopped_at_the_limit_and_takes_little_memory(codec: Codec, bomb: bytes) -> None:
    tracemalloc.start()
    try:
        with pytest.raises(CorruptBatch):
            decompress(codec, bomb, MIB)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 4 * MIB


@pytest.mark.parametrize("codec", list(Codec))
def test_the_limit_itself_is_allowed(codec: Codec) -> None:
    compressed = compress(codec, TEXT)
    assert decompress(codec, compressed, len(TEXT)) == TEXT
    with pytest.raises(CorruptBatch):
        decompress(codec, compressed, len(TEXT) - 1)


@given(st.sampled_from(COMPRESSED), st.binary(max_size=200))
def test_noise_is_corrupt_or_something_but_never_another_error(codec: Codec, noise: bytes) -> None:
    with contextlib.suppress(CorruptBatch):
        decompress(codec, noise, 1000)


@given(st.sampled_from(COMPRESSED), st.data())
def test_damaged_data_is_corrupt_or_something_but_never_another_error(
    codec: Codec, data: st.DataObject
) -> None:
    damaged = bytearray(compress(codec, TEXT[:500]))
    for _ in range(data.draw(st.integers(1, 4))):
        damaged[data.draw(st.integers(0, len(damaged) - 1))] = data.draw(st.integers(0, 255))
    with contextlib.suppress(CorruptBatch):
        decompress(codec, damaged, 100_000)


def test_codecs_that_do_not_exist_are_refused() -> None:
    with pytest.raises(CorruptBatch, match="codec 5"):
        decompress(5, b"abc")
    with pytest.raises(ValueError, match="5 is not a codec"):
        compress(5, b"abc")
