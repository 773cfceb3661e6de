"""Compression and decompression in pieces give the same result as at once."""

from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from moldau.record.compression import Codec, compress, decompress
from moldau.record.header import CorruptBatch, UnpacksTooLarge
from moldau.record.pieces import PIECE_BYTES, packed, unpacked, whole_records
from moldau.record.records import encode_record, encode_varint
from moldau.record.walk import end_of_whole

codecs = pytest.mark.parametrize("codec", list(Codec))
packing = pytest.mark.parametrize("codec", [Codec.GZIP, Codec.SNAPPY, Codec.LZ4, Codec.ZSTD])
LONG = b"".join(b"%d " % number for number in range(300_000))
NO_LIMIT = 1 << 40


@codecs
def test_large_data_is_unpacked_in_pieces(codec: Codec) -> None:
    pieces = [bytes(each) for each in unpacked(codec, compress(codec, LONG), len(LONG))]
    assert b"".join(pieces) == LONG
    assert len(pieces) > len(LONG) // PIECE_BYTES
    assert max(map(len, pieces)) <= PIECE_BYTES


@codecs
def test_one_byte_more_than_allowed_is_too_large(codec: Codec) -> None:
    with pytest.raises(UnpacksTooLarge, match=f"more than {len(LONG) - 1} bytes"):
        list(unpacked(codec, compress(codec, LONG), len(LONG) - 1))


@packing
def test_data_that_is_cut_short_is_corrupt_wherever_it_is_cut(codec: Codec) -> None:
    data = compress(codec, LONG)
    for end in (0, 1, 3, 10, 20, len(data) // 2, len(data) - 1):
        with pytest.raises(CorruptBatch):
            list(unpacked(codec, data[:end], NO_LIMIT))


@packing
@settings(max_examples=50)
@given(data=st.data())
def test_damaged_data_is_corrupt_or_what_unpacking_at_once_gives(
    codec: Codec, data: st.DataObject
) -> None:
    packed_data = bytearray(compress(codec, LONG[:5000]))
    for _ in range(data.draw(st.integers(1, 3))):
        packed_data[data.draw(st.integers(0, len(packed_data) - 1))] = data.draw(
            st.integers(0, 255)
        )
    try:
        found = b"".join(unpacked(codec, bytes(packed_data), 1 << 20))
    except CorruptBatch:
        return
    assert found == decompress(codec, bytes(packed_data), 1 << 20)


@pytest.mark.parametrize("codec", [Codec.GZIP, Codec.ZSTD, Codec.SNAPPY])
def test_streams_in_a_row_are_all_unpacked(codec: Codec) -> None:
    data = compress(codec, b"one ") + compress(codec, b"") + compress(codec, LONG)
    assert b"".join(unpacked(codec, data, NO_LIMIT)) == b"one " + LONG


@pytest.mark.parametrize("codec", [Codec.GZIP, Codec.ZSTD, Codec.SNAPPY])
def test_who_has_no_time_unpacks_few_parts_only(codec: Codec) -> None:
    many = compress(codec, b"x") * 11
    assert decompress(codec, many, 100, 11) == b"x" * 11
    with pytest.raises(UnpacksTooLarge, match="more than 10 parts"):
        decompress(codec, many, 100, 10)


def test_empty_and_skipped_frames_are_parts_too() -> None:
    skipped = b"\x50\x2a\x4d\x18" + bytes(4)
    data = skipped * 5 + compress(Codec.ZSTD, b"x")
    assert decompress(Codec.ZSTD, data, 100, 6) == b"x"
    with pytest.raises(UnpacksTooLarge, match="parts"):
        decompress(Codec.ZSTD, data, 100, 5)


def test_a_codec_that_does_not_exist_is_corrupt() -> None:
    with pytest.raises(CorruptBatch, match="codec 5"):
        list(unpacked(5, b"", NO_LIMIT))


@codecs
@pytest.mark.parametrize("level", [None, 1])
def test_what_was_packed_in_pieces_is_unpacked_at_once(codec: Codec, level: int | None) -> None:
    def pieces() -> Iterator[bytes]:
        for start in range(0, len(LONG), 70_001):
            yield LONG[start : start + 70_001]

    data = packed(codec, level, pieces(), len(LONG), NO_LIMIT)
    assert data is not None
    assert decompress(codec, data) == LONG
    assert packed(codec, level, pieces(), len(LONG), len(data)) == data
    assert packed(codec, level, pieces(), len(LONG), len(data) - 1) is None


@given(st.lists(st.binary(max_size=300), max_size=20), st.lists(st.integers(1, 50), min_size=1))
def test_pieces_are_cut_between_records(values: list[bytes], widths: list[int]) -> None:
    payload = b"".join(encode_record(0, 0, b"k", value, ()) for value in values)

    def pieces() -> Iterator[bytes]:
        start = 0
        while start < len(payload):
            width = widths[start % len(widths)]
            yield payload[start : start + width]
            start += width

    cut = [bytes(each) for each in whole_records(pieces(), NO_LIMIT)]
    assert b"".join(cut) == payload
    assert all(end_of_whole(each) == len(each) for each in cut)


@pytest.mark.parametrize("missing", [1, 150, 199, 200])
def test_what_is_left_over_comes_last(missing: int) -> None:
    payload = encode_record(0, 0, b"k", bytes(200), ()) * 2
    cut = payload[: len(payload) - missing]
    pieces = [cut[start : start + 64] for start in range(0, len(cut), 64)]
    found = [bytes(each) for each in whole_records(pieces, 1000)]
    assert b"".join(found) == cut
    assert end_of_whole(found[-1]) == 0


def test_a_record_that_cannot_be_is_corrupt() -> None:
    with pytest.raises(CorruptBatch, match="100 are possible"):
        list(whole_records([encode_record(0, 0, b"k", bytes(200), ())[:50]], 100))
    with pytest.raises(CorruptBatch, match="more than 64 bits"):
        list(whole_records([b"\xff" * 3] * 6, 100))


@pytest.mark.parametrize("length", [2**62, 2**63 - 10, 2**63 - 1])
def test_a_length_that_could_overflow_is_corrupt(length: int) -> None:
    with pytest.raises(CorruptBatch, match="beyond what is there"):
        list(whole_records([encode_varint(length)], 100))
