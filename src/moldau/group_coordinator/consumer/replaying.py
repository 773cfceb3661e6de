"""Replays records of ``__consumer_offsets`` into consumer groups.

A compacted log may lack earlier records: tombstones of unknown things are ignored, and a group
is created by whichever of its records comes first.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final

from moldau.group_coordinator.consumer.group import ConsumerGroup
from moldau.group_coordinator.consumer.member import ConsumerGroupMember
from moldau.group_coordinator.consumer.subscription import ResolvedRegex
from moldau.protocol.message import Message
from moldau.protocol.records.group_coordinator import (
    ConsumerGroupCurrentMemberAssignmentKey,
    ConsumerGroupCurrentMemberAssignmentValue,
    ConsumerGroupMemberMetadataKey,
    ConsumerGroupMemberMetadataValue,
    ConsumerGroupMetadataKey,
    ConsumerGroupMetadataValue,
    ConsumerGroupPartitionMetadataKey,
    ConsumerGroupPartitionMetadataValue,
    ConsumerGroupRegularExpressionKey,
    ConsumerGroupRegularExpressionValue,
    ConsumerGroupTargetAssignmentMemberKey,
    ConsumerGroupTargetAssignmentMemberValue,
    ConsumerGroupTargetAssignmentMetadataKey,
    ConsumerGroupTargetAssignmentMetadataValue,
)

_Groups = dict[str, ConsumerGroup]


def replay_record(groups: _Groups, key: Message, value: Message | None) -> bool:
    """Apply the record; False if it is not a record of consumer groups."""
    replay = _REPLAYS.get(type(key))
    if replay is None:
        return False
    consumer_key: Any = key
    group = groups.get(consumer_key.group_id)
    if group is None:
        if value is None:
            return True
        group = ConsumerGroup(consumer_key.group_id)
        groups[group.group_id] = group
    group.revision += 1
    replay(groups, group, consumer_key, value)
    return True


def _group(
    groups: _Groups,
    group: ConsumerGroup,
    _: ConsumerGroupMetadataKey,
    value: ConsumerGroupMetadataValue | None,
) -> None:
    if value is None:
        del groups[group.group_id]
        return
    group.group_epoch = value.epoch
    group.metadata_hash = value.metadata_hash


def _partition_metadata(
    _: _Groups,
    group: ConsumerGroup,
    __: ConsumerGroupPartitionMetadataKey,
    value: ConsumerGroupPartitionMetadataValue | None,
) -> None:
    group.has_partition_metadata_record = value is not None


def _member(
    _: _Groups,
    group: ConsumerGroup,
    key: ConsumerGroupMemberMetadataKey,
    value: ConsumerGroupMemberMetadataValue | None,
) -> None:
    if value is None:
        group.remove_member(key.member_id)
        return
    member = group.members.get(key.member_id, ConsumerGroupMember(key.member_id))
    group.update_member(member.with_metadata(value))


def _target_epoch(
    _: _Groups,
    group: ConsumerGroup,
    __: ConsumerGroupTargetAssignmentMetadataKey,
    value: ConsumerGroupTargetAssignmentMetadataValue | None,
) -> None:
    group.assignment_epoch = -1 if value is None else value.assignment_epoch
    group.assignment_timestamp_ms = 0 if value is None else value.assignment_timestamp


def _target(
    _: _Groups,
    group: ConsumerGroup,
    key: ConsumerGroupTargetAssignmentMemberKey,
    value: ConsumerGroupTargetAssignmentMemberValue | None,
) -> None:
    if value is None:
        group.targets.pop(key.member_id, None)
        return
    group.targets[key.member_id] = {
        topic.topic_id: tuple(sorted(topic.partitions)) for topic in value.topic_partitions
    }


def _current(
    _: _Groups,
    group: ConsumerGroup,
    key: ConsumerGroupCurrentMemberAssignmentKey,
    value: ConsumerGroupCurrentMemberAssignmentValue | None,
) -> None:
    if value is None:
        group.forget_assignment(key.member_id)
        return
    member = group.members.get(key.member_id, ConsumerGroupMember(key.member_id))
    group.update_member(member.with_current_assignment(value))


def _regex(
    _: _Groups,
    group: ConsumerGroup,
    key: ConsumerGroupRegularExpressionKey,
    value: ConsumerGroupRegularExpressionValue | None,
) -> None:
    resolved = None
    if value is not None:
        resolved = ResolvedRegex(tuple(sorted(value.topics)), value.version, value.timestamp)
    group.update_regex(key.regular_expression, resolved)


_REPLAYS: Final[Mapping[type[Message], Callable[[_Groups, ConsumerGroup, Any, Any], None]]] = {
    ConsumerGroupMetadataKey: _group,
    ConsumerGroupPartitionMetadataKey: _partition_metadata,
    ConsumerGroupMemberMetadataKey: _member,
    ConsumerGroupTargetAssignmentMetadataKey: _target_epoch,
    ConsumerGroupTargetAssignmentMemberKey: _target,
    ConsumerGroupCurrentMemberAssignmentKey: _current,
    ConsumerGroupRegularExpressionKey: _regex,
}
