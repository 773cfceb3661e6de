"""The bytes of ``__transaction_state``, as Apache Kafka writes and reads them."""

import pytest

from moldau.coordinator.outcome import CoordinatorRecord
from moldau.protocol.reading import MalformedMessage
from moldau.protocol.records.transaction_coordinator import (
    PartitionsSchema,
    TransactionLogKey,
    TransactionLogValue,
)
from moldau.transaction_coordinator.records import decode_record, encode_record, tombstone
from tests.transaction_coordinator.coordinator import LAST_CLIENT_EPOCH, Coordinator

KEY = b"\0\0" + b"\0\x02id"


def value(**fields: int) -> TransactionLogValue:
    return TransactionLogValue(
        producer_id=7,
        producer_epoch=1,
        transaction_timeout_ms=9,
        transaction_status=1,
        transaction_partitions=[PartitionsSchema("t", [0])],
        transaction_last_update_timestamp_ms=3,
        transaction_start_timestamp_ms=2,
        **fields,
    )


def test_a_value_is_flexible_from_transaction_version_1_on() -> None:
    record = CoordinatorRecord(TransactionLogKey("id"), value(previous_producer_id=6))
    key, flexible = encode_record(record, 1)
    assert key == KEY
    assert flexible == (
        b"\0\x01"
        + (7).to_bytes(8, "big")
        + b"\0\x01"
        + (9).to_bytes(4, "big")
        + b"\x01"
        + b"\x02\x02t\x02\0\0\0\0\0"
        + (3).to_bytes(8, "big")
        + (2).to_bytes(8, "big")
        + b"\x01\0\x08"
        + (6).to_bytes(8, "big")
    )
    assert decode_record(key, flexible) == record
    assert encode_record(record) == encode_record(record, 2) == (key, flexible)


def test_before_version_1_there_is_no_previous_producer_id() -> None:
    record = CoordinatorRecord(TransactionLogKey("id"), value(previous_producer_id=6))
    key, old = encode_record(record, 0)
    assert old is not None
    assert old[:2] == b"\0\0"
    assert decode_record(key, old) == CoordinatorRecord(TransactionLogKey("id"), value())
    # The state of the coordinator, which has written it, still has it.
    assert record.value == value(previous_producer_id=6)


@pytest.mark.parametrize("fields", [{"next_producer_id": 8}, {"client_transaction_version": 2}])
def test_what_a_fail_over_needs_is_written_even_after_a_downgrade(fields: dict[str, int]) -> None:
    record = CoordinatorRecord(TransactionLogKey("id"), value(**fields))
    key, encoded = encode_record(record, 0)
    assert decode_record(key, encoded) == record


def test_a_tombstone_has_no_value() -> None:
    assert encode_record(tombstone("id")) == (KEY, None)
    assert decode_record(KEY, None) == tombstone("id")


@pytest.mark.parametrize(
    "key, encoded",
    [(b"\0\x01\0\x02id", b"\0\0"), (b"\0", None), (b"", None), (KEY, b"\0\x02rest")],
)
def test_records_of_a_later_version_are_skipped(key: bytes, encoded: bytes | None) -> None:
    assert decode_record(key, encoded) is None


@pytest.mark.parametrize("key, encoded", [(b"\0\0\0\x05id", None), (KEY, b"\0\x01x"), (KEY, b"")])
def test_records_that_are_damaged_are_not_skipped(key: bytes, encoded: bytes | None) -> None:
    with pytest.raises(MalformedMessage):
        decode_record(key, encoded)


def test_a_state_that_does_not_exist_is_not_loaded() -> None:
    shard = Coordinator().shard
    broken = value()
    broken.transaction_status = 9
    with pytest.raises(ValueError, match="9"):
        shard.replay(TransactionLogKey("id"), broken)


def test_a_record_without_partitions_is_loaded_in_every_state() -> None:
    shard = Coordinator().shard
    loaded = value()
    loaded.transaction_partitions = None
    shard.replay(TransactionLogKey("id"), loaded)
    assert shard.describe("id").topics == []


@pytest.mark.parametrize("transaction_version, first_bytes", [(0, b"\0\0"), (1, b"\0\1")])
def test_the_shard_writes_what_the_cluster_can_read(
    transaction_version: int, first_bytes: bytes
) -> None:
    coordinator = Coordinator(transaction_version)
    coordinator.start()
    written = coordinator.log[0][1]
    assert written is not None
    assert written[:2] == first_bytes


def test_next_and_previous_ids_are_in_the_records_of_a_rotation() -> None:
    coordinator = Coordinator()
    producer = coordinator.start_at(LAST_CLIENT_EPOCH)
    coordinator.run(producer, commit=True)
    ids = [
        (v.previous_producer_id, v.producer_id, v.next_producer_id)
        for v in coordinator.values()[2:]
        if v is not None
    ]
    first = producer.producer_id
    assert ids == [(first, first, -1), (first, first, first + 1), (first, first + 1, -1)]
