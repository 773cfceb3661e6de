"""Control records, which the cluster itself writes into partitions.

The key of a control record contains its type, and consumers skip control batches. In a user's
partition they end transactions; in the metadata log they contain the leader, the voters, and the
beginning and end of a snapshot. Their values are separate messages; only the one that ends a
transaction is simple enough to be encoded here.
"""

import struct
from enum import IntEnum
from typing import Final

from moldau.record.header import (
    CONTROL_FLAG,
    MAGIC,
    NO_LEADER_EPOCH,
    NO_SEQUENCE,
    TRANSACTIONAL_FLAG,
    BatchHeader,
    CorruptBatch,
    seal,
)
from moldau.record.produced import ProducedBatch
from moldau.record.records import BatchBuilder, encode_record

# The two fields of a key, version and type, and the only version so far.
_KEY: Final = struct.Struct(">hh")
_KEY_VERSION: Final = 0
_END_TXN_MARKER: Final = struct.Struct(">hi")
_END_TXN_MARKER_VERSION: Final = 0


class ControlType(IntEnum):
    """The type of a control record. Unknown types must be ignored, not refused."""

    ABORT = 0
    COMMIT = 1
    LEADER_CHANGE = 2
    SNAPSHOT_HEADER = 3
    SNAPSHOT_FOOTER = 4
    KRAFT_VERSION = 5
    KRAFT_VOTERS = 6


# As plain integers: an enum member compares slowly.
_ABORT: Final = int(ControlType.ABORT)
_EPOCH: Final = struct.Struct(">i")
_NO_HEADERS: Final = b"\x00"


def encode_control_key(control_type: int) -> bytes:
    return _KEY.pack(_KEY_VERSION, control_type)


def decode_control_key(key: bytes | None) -> int:
    """The type in the key of a control record: a ``ControlType`` or an unknown number.

    Later versions of the key may append fields.
    """
    if key is None or len(key) < _KEY.size:
        raise CorruptBatch(f"control record key {key!r} is shorter than {_KEY.size} bytes")
    version, control_type = _KEY.unpack_from(key)
    if version < _KEY_VERSION:
        raise CorruptBatch(f"control record key has the negative version {version}")
    return int(control_type)


def encode_end_txn_marker(coordinator_epoch: int) -> bytes:
    """The value of an ABORT or COMMIT record."""
    return _END_TXN_MARKER.pack(_END_TXN_MARKER_VERSION, coordinator_epoch)


def decode_end_txn_marker(value: bytes | None) -> int:
    """The coordinator epoch in the value of an ABORT or COMMIT record."""
    if value is None or len(value) < _END_TXN_MARKER.size:
        raise CorruptBatch(
            f"end-of-transaction value {value!r} is shorter than {_END_TXN_MARKER.size} bytes"
        )
    version, coordinator_epoch = _END_TXN_MARKER.unpack_from(value)
    if version < _END_TXN_MARKER_VERSION:
        raise CorruptBatch(f"end-of-transaction value has the negative version {version}")
    return int(coordinator_epoch)


def _record_without_epoch(control_type: int) -> bytes:
    """A record that ends a transaction, up to the coordinator epoch, its only variable part."""
    record = encode_record(0, 0, encode_control_key(control_type), encode_end_txn_marker(0), ())
    return record[: -_EPOCH.size - len(_NO_HEADERS)]


_ABORT_RECORD: Final = _record_without_epoch(ControlType.ABORT)
_COMMIT_RECORD: Final = _record_without_epoch(ControlType.COMMIT)


class EndTxnBatch(ProducedBatch):
    """A batch that ends a transaction in one partition, built by this process.

    What it says is beside its bytes, so that the log need not read them again.
    """

    __slots__ = ("coordinator_epoch", "is_abort")

    def __init__(
        self,
        header: BatchHeader,
        sealed: bytes,
        rest: bytes,
        coordinator_epoch: int,
        is_abort: bool,
    ) -> None:
        super().__init__(header, sealed, rest, -1)
        self.coordinator_epoch = coordinator_epoch
        self.is_abort = is_abort


def built_end_txn_batch(
    control_type: int,
    coordinator_epoch: int,
    producer_id: int,
    producer_epoch: int,
    timestamp: int,
) -> EndTxnBatch:
    """The batch that commits or aborts a transaction in one partition, for a log."""
    is_abort = control_type == _ABORT
    records = _ABORT_RECORD if is_abort else _COMMIT_RECORD
    records += _EPOCH.pack(coordinator_epoch) + _NO_HEADERS
    header = BatchHeader(
        0,
        0,
        NO_LEADER_EPOCH,
        MAGIC,
        0,
        TRANSACTIONAL_FLAG | CONTROL_FLAG,
        0,
        timestamp,
        timestamp,
        producer_id,
        producer_epoch,
        NO_SEQUENCE,
        1,
    )
    return EndTxnBatch(header, seal(header, records), records, coordinator_epoch, is_abort)


def end_txn_batch(
    control_type: int,
    coordinator_epoch: int,
    producer_id: int,
    producer_epoch: int,
    timestamp: int,
    *,
    base_offset: int = 0,
    leader_epoch: int = NO_LEADER_EPOCH,
) -> bytes:
    """The same batch as bytes."""
    batch = built_end_txn_batch(
        control_type, coordinator_epoch, producer_id, producer_epoch, timestamp
    )
    return b"".join(batch.parts(base_offset, leader_epoch))


def control_batch(
    records: list[tuple[int, bytes]], timestamp: int, *, base_offset: int, leader_epoch: int
) -> bytes:
    """A control batch of the metadata log, from pairs of type and encoded value."""
    builder = BatchBuilder(base_offset=base_offset, leader_epoch=leader_epoch, is_control=True)
    for control_type, value in records:
        builder.append(timestamp, encode_control_key(control_type), value)
    return builder.build()
