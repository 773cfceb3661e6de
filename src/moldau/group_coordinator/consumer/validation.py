"""Validation of heartbeats: fields, epochs and instance ids."""

from collections.abc import Sequence

from moldau.errors import ApiError, ErrorCode
from moldau.group_coordinator.consumer.group import ConsumerGroup
from moldau.group_coordinator.consumer.member import (
    LEAVE_GROUP_EPOCH,
    LEAVE_GROUP_STATIC_EPOCH,
    ConsumerGroupMember,
)
from moldau.group_coordinator.consumer.reconciliation import Owned
from moldau.protocol.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest

# From this version on, clients generate their member id (KIP-1082).
_MEMBER_ID_BY_CLIENT = 1


def check_heartbeat(
    request: ConsumerGroupHeartbeatRequest, api_version: int, assignors: Sequence[str]
) -> None:
    """Raises ApiError INVALID_REQUEST or UNSUPPORTED_ASSIGNOR."""
    epoch = request.member_epoch
    needs_id = api_version >= _MEMBER_ID_BY_CLIENT or epoch > 0 or epoch == LEAVE_GROUP_EPOCH
    if needs_id:
        _check_not_blank(request.member_id, "MemberId can't be empty.")
    _check_not_blank(request.group_id, "GroupId can't be empty.")
    _check_not_blank(request.instance_id, "InstanceId can't be empty.")
    _check_not_blank(request.rack_id, "RackId can't be empty.")
    if epoch == 0:
        _check_join(request)
    elif epoch == LEAVE_GROUP_STATIC_EPOCH:
        if request.instance_id is None:
            raise _invalid("InstanceId can't be null.")
    elif epoch < LEAVE_GROUP_STATIC_EPOCH:
        raise _invalid("MemberEpoch is invalid.")
    assignor = request.server_assignor
    if assignor is not None and assignor not in assignors:
        message = (
            f"ServerAssignor {assignor} is not supported. "
            f"Supported assignors: {', '.join(assignors)}."
        )
        raise ApiError(ErrorCode.UNSUPPORTED_ASSIGNOR, message)


def _check_join(request: ConsumerGroupHeartbeatRequest) -> None:
    if request.rebalance_timeout_ms == -1:
        raise _invalid("RebalanceTimeoutMs must be provided in first request.")
    if request.topic_partitions is None or request.topic_partitions:
        raise _invalid("TopicPartitions must be empty when (re-)joining.")
    if request.subscribed_topic_names is None and request.subscribed_topic_regex is None:
        message = (
            "Either SubscribedTopicNames or SubscribedTopicRegex must be non-null "
            "when (re-)joining."
        )
        raise _invalid(message)


def check_not_full(
    group: ConsumerGroup, member_id: str, instance_id: str | None, max_size: int
) -> None:
    """A known static member replaces itself, so it always fits."""
    if instance_id is not None and instance_id in group.static_members:
        return
    if len(group.members) >= max_size and member_id not in group.members:
        message = f"The consumer group has reached its maximum capacity of {max_size} members."
        raise ApiError(ErrorCode.GROUP_MAX_SIZE_REACHED, message)


def check_member_epoch(member: ConsumerGroupMember, epoch: int, owned: Owned) -> None:
    """Raises ApiError FENCED_MEMBER_EPOCH.

    The previous epoch is accepted from a member that owns only partitions assigned to it: the
    response with the new epoch may have been lost. So is 0, from a member that rejoins.
    """
    current = member.member_epoch
    if epoch in (0, current):
        return
    if epoch < current and epoch == member.previous_member_epoch and _has_only(member, owned):
        return
    which = "greater" if epoch > current else "smaller"
    message = (
        f"The consumer group member has a {which} member epoch ({epoch}) than the one known by "
        f"the group coordinator ({current}). The member must abandon all its partitions and "
        "rejoin."
    )
    raise ApiError(ErrorCode.FENCED_MEMBER_EPOCH, message)


def _has_only(member: ConsumerGroupMember, owned: Owned) -> bool:
    if owned is None:
        return False
    for topic_id, partitions in owned:
        assigned = member.assigned.get(topic_id)
        if assigned is None or any(partition not in assigned for partition in partitions):
            return False
    return True


def check_instance_is_released(
    member: ConsumerGroupMember, instance_id: str, member_id: str
) -> None:
    """Raises ApiError UNRELEASED_INSTANCE_ID unless the previous member left temporarily."""
    if member.member_epoch != LEAVE_GROUP_STATIC_EPOCH:
        message = (
            f"Static member {member_id} with instance id {instance_id} cannot join the "
            f"group because the instance id is owned by {member.member_id} member."
        )
        raise ApiError(ErrorCode.UNRELEASED_INSTANCE_ID, message)


def known_static_member(
    group: ConsumerGroup, instance_id: str, member_id: str
) -> ConsumerGroupMember:
    """Raises ApiError UNKNOWN_MEMBER_ID or FENCED_INSTANCE_ID."""
    member = group.static_member(instance_id)
    if member is None:
        message = f"Instance id {instance_id} is unknown."
        raise ApiError(ErrorCode.UNKNOWN_MEMBER_ID, message)
    if member.member_id != member_id:
        message = (
            f"Static member {member_id} with instance id {instance_id} was fenced by member "
            f"{member.member_id}."
        )
        raise ApiError(ErrorCode.FENCED_INSTANCE_ID, message)
    return member


def _check_not_blank(value: str | None, message: str) -> None:
    if value is not None and not value.strip():
        raise _invalid(message)


def _invalid(message: str) -> ApiError:
    return ApiError(ErrorCode.INVALID_REQUEST, message)
