"""Records are encoded into batches and decoded again."""

import contextlib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moldau.record.compression import Codec
from moldau.record.header import BATCH_HEADER_SIZE, CorruptBatch, encode_batch, read_header
from moldau.record.records import (
    BatchBuilder,
    Record,
    decode_all,
    decode_records,
    encode_record,
    encode_varint,
    read_varint,
)

fields = st.none() | st.binary(max_size=40)
timestamps = st.just(-1) | st.integers(0, 2**61)
headers = st.lists(st.tuples(st.text(max_size=8), fields), max_size=3).map(tuple)
contents = st.lists(st.tuples(timestamps, fields, fields, headers), min_size=1, max_size=12)


def build(records: list[Any], codec: int = Codec.NONE, **options: Any) -> bytes:
    builder = BatchBuilder(codec, **options)
    for record in records:
        builder.append(*record)
    return builder.build()


@given(contents, st.sampled_from(list(Codec)), st.integers(0, 2**40))
def test_a_batch_gives_back_what_was_put_into_it(
    records: list[Any], codec: Codec, base_offset: int
) -> None:
    batch = build(records, codec, base_offset=base_offset)
    assert decode_records(batch) == [
        Record(base_offset + index, *record) for index, record in enumerate(records)
    ]
    header = read_header(batch, 0)
    assert header.base_timestamp == records[0][0]
    assert header.max_timestamp == max(record[0] for record in records)
    assert header.record_count == len(records)
    assert header.size_bytes == len(batch)


@given(contents, st.sampled_from(list(Codec)), st.data())
def test_a_batch_with_a_flipped_bit_is_corrupt(
    records: list[Any], codec: Codec, data: st.DataObject
) -> None:
    batch = bytearray(build(records, codec))
    position = data.draw(st.integers(16, len(batch) - 1))
    batch[position] ^= 1 << data.draw(st.integers(0, 7))
    with pytest.raises(CorruptBatch):
        decode_records(batch)


@given(contents, st.sampled_from(list(Codec)), st.data())
def test_wrong_contents_under_a_right_checksum_are_corrupt_or_something_else(
    records: list[Any], codec: Codec, data: st.DataObject
) -> None:
    batch = bytearray(build(records, codec))
    for _ in range(data.draw(st.integers(1, 4))):
        batch[data.draw(st.integers(21, len(batch) - 1))] = data.draw(st.integers(0, 255))
    header = read_header(batch, 0)
    with contextlib.suppress(CorruptBatch):
        decode_records(encode_batch(header, bytes(batch[BATCH_HEADER_SIZE:])), max_size=100_000)


def test_records_appended_with_offsets_of_their_own_keep_them() -> None:
    builder = BatchBuilder(base_offset=100)
    assert builder.append(5, b"a", None, offset=100) == 100
    assert builder.append(6, b"b", None, offset=163) == 163
    assert builder.append(7, b"c", None) == 164
    batch = builder.build()
    assert [record.offset for record in decode_records(batch)] == [100, 163, 164]
    assert read_header(batch, 0).last_offset == 164


def test_offsets_must_rise() -> None:
    builder = BatchBuilder(base_offset=100)
    builder.append(5, b"a", None, offset=110)
    with pytest.raises(ValueError, match="offset 110 does not follow 110"):
        builder.append(5, b"a", None, offset=110)


def test_an_empty_batch_cannot_be_built() -> None:
    with pytest.raises(ValueError, match="at least one record"):
        BatchBuilder().build()


def test_a_builder_knows_how_much_it_holds() -> None:
    builder = BatchBuilder()
    assert (builder.count, builder.size_bytes) == (0, BATCH_HEADER_SIZE)
    builder.append(0, b"key", b"value")
    assert (builder.count, builder.size_bytes) == (1, len(builder.build()))


def test_with_log_append_time_every_record_has_the_brokers_timestamp() -> None:
    batch = build([(5, b"a", b""), (900, b"b", b"")], log_append_time=700)
    assert [record.timestamp for record in decode_records(batch)] == [700, 700]
    assert read_header(batch, 0).max_timestamp == 700


def test_header_keys_that_are_no_utf8_come_through_unchanged() -> None:
    record = encode_record(0, 0, b"k", b"v", [("\udcff\udcfe", b"x")])
    assert b"\xff\xfe" in record
    builder = BatchBuilder()
    builder.append(0, b"k", b"v", [("\udcff\udcfe", b"x")])
    assert decode_records(builder.build())[0].headers == (("\udcff\udcfe", b"x"),)


def test_all_batches_of_a_fetch_are_read_up_to_the_one_cut_off() -> None:
    first = build([(1, b"a", b"1"), (2, b"b", b"2")])
    second = build([(3, b"c", b"3")], Codec.ZSTD, base_offset=2)
    cut = build([(4, b"d", b"4")], base_offset=3)[:-1]
    read = [records for _, records in decode_all(first + second + cut)]
    assert [[record.value for record in records] for records in read] == [[b"1", b"2"], [b"3"]]


def with_payload(payload: bytes, count: int) -> bytes:
    header = read_header(build([(0, b"", b"")]), 0)
    header.record_count = count
    return encode_batch(header, payload)


GOOD = encode_record(0, 0, b"key", b"value", [("name", b"content")])


@pytest.mark.parametrize(
    ("payload", "count"),
    [
        (GOOD, 2),
        (GOOD, -1),
        (GOOD, 2**31 - 1),
        (GOOD + b"\0", 1),
        (GOOD[:-1], 1),
        (b"", 1),
        (b"\x01" + GOOD[1:], 1),
        (bytes((GOOD[0] + 2,)) + GOOD[1:] + b"\0", 1),
        (GOOD.replace(b"\x06key", b"\x7ekey"), 1),
        (GOOD.replace(b"\x0avalue\x02", b"\x0avalue\x01"), 1),
        (GOOD.replace(b"\x0avalue\x02", b"\x0avalue\x7e"), 1),
        (GOOD.replace(b"\x08name", b"\x01name"), 1),
        (b"\xff" * 20, 1),
    ],
    ids=[
        "fewer records than said",
        "negative count",
        "absurd count",
        "bytes left over",
        "cut off",
        "nothing",
        "negative size",
        "size too large",
        "key beyond the record",
        "negative header count",
        "absurd header count",
        "header without a key",
        "endless varint",
    ],
)
def test_records_that_are_not_built_as_they_say_are_corrupt(payload: bytes, count: int) -> None:
    with pytest.raises(CorruptBatch):
        decode_records(with_payload(payload, count))


def test_a_base_timestamp_that_would_overflow_is_corrupt() -> None:
    header = read_header(build([(0, b"", b"")]), 0)
    header.base_timestamp = 2**63 - 1
    with pytest.raises(CorruptBatch, match="base timestamp"):
        decode_records(encode_batch(header, GOOD))


@given(st.integers(-(2**62), 2**62 - 1))
def test_varints_come_back(value: int) -> None:
    encoded = encode_varint(value)
    assert read_varint(b"x" + encoded + b"y", 1) == (value, 1 + len(encoded))


@pytest.mark.parametrize(
    ("value", "encoded"),
    [(0, "00"), (-1, "01"), (1, "02"), (63, "7e"), (-64, "7f"), (64, "8001"), (300, "d804")],
)
def test_varints_are_zig_zag_and_lowest_bits_first(value: int, encoded: str) -> None:
    assert encode_varint(value).hex() == encoded
