"""Reading, writing and validating batch headers."""

import pytest

from moldau.errors import ErrorCode
from moldau.record.header import (
    BATCH_HEADER_SIZE,
    CorruptBatch,
    crc_is_valid,
    encode_batch,
    iter_headers,
    read_header,
)
from moldau.record.records import BatchBuilder


def batch(count: int = 3, **options: int) -> bytes:
    builder = BatchBuilder(**options)  # type: ignore[arg-type]
    for index in range(count):
        builder.append(1000 + index, b"key", b"value %d" % index)
    return builder.build()


def test_a_header_has_every_field_and_what_follows_from_it() -> None:
    data = batch(
        3, base_offset=40, leader_epoch=5, producer_id=9, producer_epoch=2, base_sequence=7
    )
    header = read_header(data, 0)
    assert (header.base_offset, header.last_offset, header.next_offset) == (40, 42, 43)
    assert (header.size_bytes, header.record_count) == (len(data), 3)
    assert (header.base_timestamp, header.max_timestamp) == (1000, 1002)
    assert (header.partition_leader_epoch, header.magic) == (5, 2)
    assert (header.producer_id, header.producer_epoch, header.base_sequence) == (9, 2, 7)
    assert (header.last_sequence, header.has_producer_id) == (9, True)
    assert (header.compression, header.is_log_append_time) == (0, False)
    assert not (header.is_transactional)
    assert not (header.is_control)
    assert not (header.has_delete_horizon)


def test_attributes_are_read_bit_by_bit() -> None:
    header = read_header(batch(), 0)
    header.attributes = 0x7B
    assert header.compression == 3
    assert header.is_log_append_time
    assert header.is_transactional
    assert header.is_control
    assert header.has_delete_horizon


def test_sequences_wrap_to_zero_after_the_largest_int() -> None:
    header = read_header(batch(3, producer_id=1, producer_epoch=0, base_sequence=2**31 - 1), 0)
    assert header.last_sequence == 1


def test_a_batch_without_a_sequence_has_no_last_one_either() -> None:
    assert read_header(batch(), 0).last_sequence == -1


@pytest.mark.parametrize("cut", [0, 1, 17, BATCH_HEADER_SIZE - 1])
def test_a_header_that_is_cut_off_is_corrupt(cut: int) -> None:
    with pytest.raises(CorruptBatch) as caught:
        read_header(batch()[:cut], 0)
    assert caught.value.code == ErrorCode.CORRUPT_MESSAGE


@pytest.mark.parametrize("length", [-1, 0, BATCH_HEADER_SIZE - 13])
def test_a_length_smaller_than_a_header_is_corrupt(length: int) -> None:
    data = bytearray(batch())
    data[8:12] = length.to_bytes(4, "big", signed=True)
    with pytest.raises(CorruptBatch, match=f"length {length}"):
        read_header(data, 0)


@pytest.mark.parametrize("magic", [0, 1, 3, 255])
def test_only_magic_2_is_read(magic: int) -> None:
    data = bytearray(batch())
    data[16] = magic
    with pytest.raises(CorruptBatch, match="magic"):
        read_header(data, 0)


def test_a_position_before_the_data_is_not_read() -> None:
    with pytest.raises(CorruptBatch):
        read_header(batch(), -1)


def test_the_checksum_covers_everything_from_the_attributes_on() -> None:
    data = batch()
    header = read_header(data, 0)
    for position in range(21, len(data)):
        changed = bytearray(data)
        changed[position] ^= 0x10
        assert not crc_is_valid(changed, 0, header)


def test_offset_and_leader_epoch_can_be_stamped_without_a_new_checksum() -> None:
    data = bytearray(batch())
    data[0:8] = (123456789).to_bytes(8, "big")
    data[12:16] = (17).to_bytes(4, "big")
    header = read_header(data, 0)
    assert (header.base_offset, header.partition_leader_epoch) == (123456789, 17)
    assert crc_is_valid(data, 0, header)


def test_the_checksum_of_a_batch_that_is_not_all_there_is_not_valid() -> None:
    data = batch()
    header = read_header(data, 0)
    assert not crc_is_valid(data[:-1], 0, header)


def test_headers_are_found_one_after_the_other() -> None:
    data = batch(1, base_offset=0) + batch(5, base_offset=1) + batch(2, base_offset=6)
    found = list(iter_headers(memoryview(data)))
    assert [header.base_offset for _, header in found] == [0, 1, 6]
    assert sum(header.size_bytes for _, header in found) == len(data)
    assert all(crc_is_valid(data, position, header) for position, header in found)


def test_a_last_batch_that_is_cut_short_ends_the_walk() -> None:
    whole = batch(2)
    for cut in range(len(whole)):
        assert len(list(iter_headers(whole + whole[:cut]))) == 1


def test_nonsense_between_batches_is_corrupt() -> None:
    with pytest.raises(CorruptBatch):
        list(iter_headers(batch() + bytes(100)))


def test_a_header_is_written_as_it_was_read() -> None:
    data = batch(4, base_offset=77, leader_epoch=3)
    assert encode_batch(read_header(data, 0), data[BATCH_HEADER_SIZE:]) == data


def test_a_header_reads_the_same_from_bytes_and_from_a_view() -> None:
    data = b"before" + batch(producer_id=2**40, producer_epoch=-1, base_sequence=7)
    header = repr(read_header(data, 6))
    assert header == repr(read_header(memoryview(data), 6))
    assert header == repr(read_header(bytearray(data), 6))
