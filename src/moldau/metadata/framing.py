"""Metadata records as bytes: ``frame version, record key, record version, body``.

The first three are unsigned varints, and the frame version is 1. The version of a record
depends on the metadata.version of the cluster and not on this software, so that every node of
the cluster can read it.
"""

import copy
from typing import Final

from moldau.metadata.features import (
    METADATA_3_4_IV0,
    METADATA_3_7_IV2,
    METADATA_4_0_IV1,
    METADATA_4_3_IV0,
)
from moldau.protocol.message import Message
from moldau.protocol.primitives import MalformedMessage
from moldau.protocol.records import metadata as records

FRAME_VERSION: Final = 1


def _record_classes() -> dict[int, type[Message]]:
    classes = {}
    for candidate in vars(records).values():
        is_message = isinstance(candidate, type) and issubclass(candidate, Message)
        if is_message and candidate.RECORD_KEY >= 0:
            classes[candidate.RECORD_KEY] = candidate
    return classes


RECORD_CLASSES: Final[dict[int, type[Message]]] = _record_classes()


def record_version(record: Message, metadata_version: int) -> int:
    """The version of ``record`` in a cluster at ``metadata_version``."""
    if isinstance(record, records.PartitionRecord | records.PartitionChangeRecord):
        if metadata_version >= METADATA_4_0_IV1:
            return 2
        return 1 if metadata_version >= METADATA_3_7_IV2 else 0
    if isinstance(record, records.RegisterBrokerRecord):
        if metadata_version >= METADATA_4_3_IV0:
            return 4
        if metadata_version >= METADATA_3_7_IV2:
            return 3
        return 2 if metadata_version >= METADATA_3_4_IV0 else 1
    if isinstance(record, records.BrokerRegistrationChangeRecord):
        # The lowest version that can represent it, as Kafka's controller writes it.
        if record.cordoned_log_dirs is not None:
            return 3
        if record.log_dirs:
            return 2
        return 1 if record.in_controlled_shutdown else 0
    return 0


def _as_of(record: Message, version: int) -> Message:
    """The record without the fields that an older version lacks."""
    if isinstance(record, records.PartitionRecord) and version < 2:
        record = copy.copy(record)
        record.eligible_leader_replicas = None
        record.last_known_elr = None
        if version < 1:
            record.directories = []
    elif isinstance(record, records.PartitionChangeRecord) and version < 2:
        record = copy.copy(record)
        record.eligible_leader_replicas = None
        record.last_known_elr = None
        if version < 1:
            record.directories = None
    elif isinstance(record, records.RegisterBrokerRecord):
        record = copy.copy(record)
        record.cordoned_log_dirs = None
        if version < 3:
            record.log_dirs = []
    return record


def encode_record(record: Message, metadata_version: int) -> bytes:
    """The value of a log record that holds ``record``."""
    version = record_version(record, metadata_version)
    if metadata_version < METADATA_4_3_IV0:
        record = _as_of(record, version)
    # Keys and versions are below 128: one byte each.
    return bytes((FRAME_VERSION, record.RECORD_KEY, version)) + record.encode(version)


def decode_record(value: bytes) -> Message:
    """The record inside the value of a log record.

    Raises:
        MalformedMessage: the frame is short, or its version, key or body is unknown.
    """
    if len(value) < 3:
        raise MalformedMessage(f"metadata record of {len(value)} bytes: expected at least 3")
    frame_version, key, version = value[0], value[1], value[2]
    if frame_version != FRAME_VERSION:
        raise MalformedMessage(f"metadata record frame version {frame_version}: expected 1")
    record_class = RECORD_CLASSES.get(key)
    if record_class is None:
        raise MalformedMessage(f"metadata record key {key} is not known")
    if not record_class.MIN_VERSION <= version <= record_class.MAX_VERSION:
        raise MalformedMessage(
            f"{record_class.__name__} version {version}: expected "
            f"{record_class.MIN_VERSION} to {record_class.MAX_VERSION}"
        )
    record, end = record_class.decode(value, 3, version)
    if end != len(value):
        raise MalformedMessage(
            f"{record_class.__name__} version {version}: {len(value) - end} bytes too many"
        )
    return record
