"""The records of ``__transaction_state`` and their versions.

A key begins with the number of its type, a value with its version, two bytes each. The versions are
those of Apache Kafka 4.3: it writes flexible values from ``transaction.version`` 1 on.
"""

from typing import Final

from moldau.coordinator.outcome import CoordinatorRecord
from moldau.protocol.records.transaction_coordinator import TransactionLogKey, TransactionLogValue
from moldau.transaction_coordinator.transaction import NO_PRODUCER_ID

_FLEXIBLE: Final = 1
_LATEST_TRANSACTION_VERSION: Final = 2


def encode_record(
    record: CoordinatorRecord, transaction_version: int = _LATEST_TRANSACTION_VERSION
) -> tuple[bytes, bytes | None]:
    """The key and value in the log, in a cluster of that version; a tombstone has no value."""
    key = record.key.RECORD_KEY.to_bytes(2, "big") + record.key.encode(0)
    value = record.value
    if value is None:
        return key, None
    assert isinstance(value, TransactionLogValue)
    version = _FLEXIBLE if transaction_version > 0 else 0
    if value.client_transaction_version or value.next_producer_id != NO_PRODUCER_ID:
        # A client of version 2 after a downgrade: a fail-over must not forget its next producer id.
        version = _FLEXIBLE
    if version < _FLEXIBLE:
        value = _without_previous(value)
    return key, version.to_bytes(2, "big") + value.encode(version)


def decode_record(key: bytes, value: bytes | None) -> CoordinatorRecord | None:
    """The record, or None if the type or the version of the value is unknown, as after a downgrade.

    Raises:
        MalformedMessage: type and version are known but the bytes are invalid.
    """
    if len(key) < 2 or int.from_bytes(key[:2], "big") != TransactionLogKey.RECORD_KEY:
        return None
    decoded_key, _ = TransactionLogKey.decode(key, 2, 0)
    if value is None:
        return CoordinatorRecord(decoded_key, None)
    version = int.from_bytes(value[:2], "big")
    if version > TransactionLogValue.MAX_VERSION:
        return None
    decoded_value, _ = TransactionLogValue.decode(value, 2, version)
    return CoordinatorRecord(decoded_key, decoded_value)


def tombstone(transactional_id: str) -> CoordinatorRecord:
    return CoordinatorRecord(TransactionLogKey(transactional_id), None)


def _without_previous(value: TransactionLogValue) -> TransactionLogValue:
    """Values that are not flexible have no place for the previous producer id."""
    return TransactionLogValue(
        producer_id=value.producer_id,
        producer_epoch=value.producer_epoch,
        transaction_timeout_ms=value.transaction_timeout_ms,
        transaction_status=value.transaction_status,
        transaction_partitions=value.transaction_partitions,
        transaction_last_update_timestamp_ms=value.transaction_last_update_timestamp_ms,
        transaction_start_timestamp_ms=value.transaction_start_timestamp_ms,
    )
