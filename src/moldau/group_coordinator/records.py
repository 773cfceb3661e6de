"""The records of ``__consumer_offsets`` and their versions.

A key begins with the number of its type, a value with its version, two bytes each. The
versions are those of Apache Kafka 4.3, so that each broker can read the records of the other.
"""

from typing import Final

from moldau.coordinator.outcome import CoordinatorRecord
from moldau.group_coordinator.classic_group import ClassicGroup
from moldau.ids import NO_UUID
from moldau.protocol.message import Message
from moldau.protocol.records import group_coordinator as schema
from moldau.protocol.records.group_coordinator import (
    GroupMetadataKey,
    GroupMetadataValue,
    MemberMetadata,
)
from moldau.protocol.records.offset_commit import (
    LegacyOffsetCommitKey,
    LegacyOffsetCommitValue,
    OffsetCommitKey,
    OffsetCommitValue,
)

# Only version 1 has an expiry time, which old clients set.
_OFFSET_VERSION: Final = 4
_OFFSET_VERSION_WITH_EXPIRY: Final = 1
_GROUP_METADATA_VERSION: Final = 3

# Without the types of share and streams groups: their records are ignored.
_TYPES: Final[dict[int, tuple[type[Message], type[Message]]]] = {
    key.RECORD_KEY: (key, value)
    for key, value in (
        (LegacyOffsetCommitKey, LegacyOffsetCommitValue),
        (OffsetCommitKey, OffsetCommitValue),
        (GroupMetadataKey, GroupMetadataValue),
        (schema.ConsumerGroupMetadataKey, schema.ConsumerGroupMetadataValue),
        (schema.ConsumerGroupPartitionMetadataKey, schema.ConsumerGroupPartitionMetadataValue),
        (schema.ConsumerGroupMemberMetadataKey, schema.ConsumerGroupMemberMetadataValue),
        (
            schema.ConsumerGroupTargetAssignmentMetadataKey,
            schema.ConsumerGroupTargetAssignmentMetadataValue,
        ),
        (
            schema.ConsumerGroupTargetAssignmentMemberKey,
            schema.ConsumerGroupTargetAssignmentMemberValue,
        ),
        (
            schema.ConsumerGroupCurrentMemberAssignmentKey,
            schema.ConsumerGroupCurrentMemberAssignmentValue,
        ),
        (
            schema.ConsumerGroupRegularExpressionKey,
            schema.ConsumerGroupRegularExpressionValue,
        ),
    )
}


def value_version(value: Message) -> int:
    """The version that Apache Kafka 4.3 uses for this value."""
    if isinstance(value, OffsetCommitValue):
        return _OFFSET_VERSION if value.expire_timestamp == -1 else _OFFSET_VERSION_WITH_EXPIRY
    if isinstance(value, GroupMetadataValue):
        return _GROUP_METADATA_VERSION
    return 0


def encode_record(record: CoordinatorRecord) -> tuple[bytes, bytes | None]:
    """The key and value in the log; a value of None is a tombstone."""
    if record.encoded is not None:
        return record.encoded
    key = record.key.RECORD_KEY.to_bytes(2, "big") + record.key.encode(0)
    if record.value is None:
        return key, None
    version = value_version(record.value)
    return key, version.to_bytes(2, "big") + record.value.encode(version)


def decode_record(key: bytes, value: bytes | None) -> CoordinatorRecord | None:
    """The record, or None for an unknown type.

    Raises:
        MalformedMessage: the type is known but the bytes are invalid.
    """
    types = _TYPES.get(int.from_bytes(key[:2], "big"))
    if types is None or len(key) < 2:
        return None
    decoded_key, _ = types[0].decode(key, 2, 0)
    if value is None:
        return CoordinatorRecord(decoded_key, None)
    decoded_value, _ = types[1].decode(value, 2, int.from_bytes(value[:2], "big"))
    return CoordinatorRecord(decoded_key, decoded_value)


def group_metadata_record(
    group: ClassicGroup, assignment: dict[str, bytes] | None = None
) -> CoordinatorRecord:
    """The record of the group and its members, with ``assignment`` or their own assignments.

    The group remembers the value, so that replaying it changes nothing.
    """
    members = [
        MemberMetadata(
            member_id=member.member_id,
            group_instance_id=member.group_instance_id,
            client_id=member.client_id,
            client_host=member.client_host,
            rebalance_timeout=member.rebalance_timeout_ms,
            session_timeout=member.session_timeout_ms,
            subscription=member.metadata(group.protocol_name or ""),
            assignment=member.assignment if assignment is None else assignment[member.member_id],
        )
        for member in group.members.values()
    ]
    value = GroupMetadataValue(
        protocol_type=group.protocol_type or "",
        generation=group.generation_id,
        protocol=group.protocol_name,
        leader=group.leader_id,
        current_state_timestamp=group.state_timestamp_ms,
        members=members,
    )
    group.last_written = value
    return CoordinatorRecord(GroupMetadataKey(group.group_id), value)


def new_group_metadata_record(group: ClassicGroup) -> CoordinatorRecord:
    """The record of a group without members."""
    value = GroupMetadataValue(
        protocol_type="",
        generation=0,
        protocol=None,
        leader=None,
        current_state_timestamp=group.state_timestamp_ms,
    )
    group.last_written = value
    return CoordinatorRecord(GroupMetadataKey(group.group_id), value)


def group_metadata_tombstone(group_id: str) -> CoordinatorRecord:
    return CoordinatorRecord(GroupMetadataKey(group_id), None)


def offset_commit_record(
    group_id: str,
    topic: str,
    partition: int,
    *,
    offset: int,
    leader_epoch: int,
    metadata: str,
    commit_timestamp_ms: int,
    expire_timestamp_ms: int = -1,
    topic_id: bytes = NO_UUID,
) -> CoordinatorRecord:
    return CoordinatorRecord(
        OffsetCommitKey(group_id, topic, partition),
        OffsetCommitValue(
            offset, leader_epoch, metadata, commit_timestamp_ms, expire_timestamp_ms, topic_id
        ),
    )


def offset_tombstone(group_id: str, topic: str, partition: int) -> CoordinatorRecord:
    return CoordinatorRecord(OffsetCommitKey(group_id, topic, partition), None)
