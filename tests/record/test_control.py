"""Control records."""

import pytest

from moldau.record.control import (
    ControlType,
    control_batch,
    decode_control_key,
    decode_end_txn_marker,
    encode_control_key,
    encode_end_txn_marker,
    end_txn_batch,
)
from moldau.record.header import CorruptBatch, read_header
from moldau.record.records import decode_records


@pytest.mark.parametrize("control_type", list(ControlType))
def test_a_key_says_what_the_record_is(control_type: ControlType) -> None:
    assert decode_control_key(encode_control_key(control_type)) == control_type


def test_a_type_that_is_not_known_yet_is_passed_on() -> None:
    assert decode_control_key(b"\x00\x00\x00\x63") == 99


def test_a_key_of_a_later_version_may_have_more_fields() -> None:
    assert decode_control_key(b"\x00\x01\x00\x01more") == ControlType.COMMIT


@pytest.mark.parametrize("key", [None, b"", b"\0\0\0", b"\xff\xff\0\0"])
def test_a_key_that_is_none_is_corrupt(key: bytes | None) -> None:
    with pytest.raises(CorruptBatch):
        decode_control_key(key)


def test_a_marker_carries_the_coordinators_epoch() -> None:
    assert decode_end_txn_marker(encode_end_txn_marker(33)) == 33


@pytest.mark.parametrize("value", [None, b"", b"\0\0\0\0\0", b"\xff\xff\0\0\0\0"])
def test_a_marker_that_is_none_is_corrupt(value: bytes | None) -> None:
    with pytest.raises(CorruptBatch):
        decode_end_txn_marker(value)


def test_the_end_of_a_transaction_is_a_transactional_control_batch() -> None:
    batch = end_txn_batch(ControlType.ABORT, 4, 1234, 5, 1000, base_offset=9, leader_epoch=2)
    header = read_header(batch, 0)
    assert header.is_control
    assert header.is_transactional
    assert (header.producer_id, header.producer_epoch, header.base_sequence) == (1234, 5, -1)
    (record,) = decode_records(batch)
    assert record.offset == 9
    assert decode_control_key(record.key) == ControlType.ABORT
    assert decode_end_txn_marker(record.value) == 4


def test_a_control_batch_of_the_metadata_log_may_hold_several_records() -> None:
    batch = control_batch(
        [(ControlType.KRAFT_VERSION, b"v"), (ControlType.KRAFT_VOTERS, b"w")],
        1000,
        base_offset=3,
        leader_epoch=1,
    )
    header = read_header(batch, 0)
    assert header.is_control
    assert not header.is_transactional
    assert [(decode_control_key(r.key), r.value) for r in decode_records(batch)] == [
        (ControlType.KRAFT_VERSION, b"v"),
        (ControlType.KRAFT_VOTERS, b"w"),
    ]
