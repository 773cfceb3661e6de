"""Converts a classic group to a consumer group while its members keep reading (KIP-848).

The first consumer that joins a classic group with the new protocol converts the whole group: its
members become members of the consumer group with the classic protocol, with the generation and
assignment they had. ``downgrade`` is the reverse.
"""

from collections.abc import Iterable, Sequence

from moldau.coordinator.outcome import CoordinatorRecord
from moldau.errors import ApiError, ErrorCode
from moldau.group_coordinator.classic_group import ClassicGroup
from moldau.group_coordinator.classic_member import ClassicMember
from moldau.group_coordinator.consumer import consumer_records as records
from moldau.group_coordinator.consumer.consumer_protocol import (
    assigned_target,
    decode_assignment,
    decode_subscription,
    owned_partitions,
)
from moldau.group_coordinator.consumer.group import FIRST_EPOCH, ConsumerGroup
from moldau.group_coordinator.consumer.member import (
    NO_TARGET,
    UNREVOKED_PARTITIONS,
    ConsumerGroupMember,
    Target,
    assigned_since,
    topic_names,
)
from moldau.group_coordinator.consumer.metadata_hash import MetadataHashes
from moldau.group_coordinator.consumer.reconciliation import Owned
from moldau.group_coordinator.consumer.replaying import replay_record
from moldau.group_coordinator.consumer.settings import GroupSettings
from moldau.group_coordinator.consumer.subscription import subscriptions_of
from moldau.group_coordinator.records import group_metadata_tombstone
from moldau.metadata.image import MetadataImage
from moldau.protocol.messages.join_group import JoinGroupRequestProtocol
from moldau.protocol.reading import MalformedMessage
from moldau.protocol.records.client_data import ConsumerProtocolSubscription
from moldau.protocol.records.group_coordinator import ClassicMemberMetadata, ClassicProtocol


def check_upgrade(group: ClassicGroup, settings: GroupSettings) -> None:
    """Raises ApiError GROUP_ID_NOT_FOUND if the group cannot be converted."""
    reason = None
    if not settings.may_upgrade:
        reason = "online upgrade is disabled"
    elif not group.uses_consumer_protocol:
        reason = "the group does not use the consumer embedded protocol"
    elif len(group.members) > settings.max_size:
        reason = "the group size exceeds the consumer group maximum size"
    if reason is not None:
        raise _cannot_upgrade(group, reason)


def convert_from_classic(
    group: ClassicGroup, hashes: MetadataHashes, image: MetadataImage
) -> tuple[ConsumerGroup, list[CoordinatorRecord]]:
    """The consumer group, and the records that convert the classic one.

    Raises:
        ApiError: GROUP_ID_NOT_FOUND if the embedded protocol of a member is malformed, or if
            a custom assignor stores data in the assignment that would be lost.
    """
    group_id = group.group_id
    epoch = _first_epoch(group)
    members: list[ConsumerGroupMember] = []
    targets: list[Target] = []
    claims: list[Owned] = []
    for classic in group.members.values():
        try:
            target = _target(classic, group, image)
            subscription = _subscription(classic, group)
        except MalformedMessage:
            reason = "the embedded consumer protocol is malformed"
            raise _cannot_upgrade(group, reason) from None
        members.append(_consumer_member(classic, group, subscription, target))
        targets.append(target)
        claims.append(owned_partitions(subscription, image))
    members = _with_claims(members, claims)
    topics = subscriptions_of(members, {}).topics
    made = [records.member_record(group_id, member) for member in members]
    made.append(records.group_record(group_id, epoch, hashes.group_hash(topics, image)))
    for member, target in zip(members, targets, strict=True):
        made.append(records.target_record(group_id, member.member_id, target))
    made.append(records.target_epoch_record(group_id, epoch, 0))
    made += [records.current_record(group_id, member) for member in members]

    # The rest of the request needs the group as it is after replaying these.
    groups: dict[str, ConsumerGroup] = {}
    for record in made:
        replay_record(groups, record.key, record.value)
    return groups[group_id], [group_metadata_tombstone(group_id), *made]


def _target(classic: ClassicMember, group: ClassicGroup, image: MetadataImage) -> Target:
    # It is empty for a member that has joined but not synced yet.
    if not classic.assignment:
        return NO_TARGET
    assignment = decode_assignment(classic.assignment)
    if assignment.user_data:
        reason = (
            "an unsupported custom assignor is in use. Please refer to the documentation or "
            "switch to a default assignor before re-attempting the upgrade"
        )
        raise _cannot_upgrade(group, reason)
    return assigned_target(assignment, image)


def _subscription(classic: ClassicMember, group: ClassicGroup) -> ConsumerProtocolSubscription:
    # Before the first generation, the group has no protocol yet.
    name = group.protocol_name or classic.protocols[0].name
    return decode_subscription(classic.metadata(name))


def _consumer_member(
    classic: ClassicMember,
    group: ClassicGroup,
    subscription: ConsumerProtocolSubscription,
    target: Target,
) -> ConsumerGroupMember:
    return ConsumerGroupMember(
        classic.member_id,
        member_epoch=_first_epoch(group),
        previous_member_epoch=_first_epoch(group),
        instance_id=classic.group_instance_id,
        rack_id=subscription.rack_id or None,
        rebalance_timeout_ms=classic.rebalance_timeout_ms,
        client_id=classic.client_id,
        client_host=classic.client_host,
        subscribed_topic_names=topic_names(subscription.topics),
        assigned=assigned_since(target, _first_epoch(group)),
        classic=classic_metadata(classic.session_timeout_ms, classic.protocols),
    )


def _with_claims(
    members: Sequence[ConsumerGroupMember], claims: Sequence[Owned]
) -> list[ConsumerGroupMember]:
    """The members, with partitions that they still read although these are not assigned to them.

    In a cooperative rebalance a member keeps its partitions until it must revoke them, and
    reports them when it joins. If the group is converted in the meantime, such a partition must
    not be assigned to another member before its reader has joined again without it. Assignments
    take precedence over reports, and earlier reports over later ones. (Kafka 4.3.1 uses the
    assignments only.)
    """
    held = {
        (topic_id, partition): None
        for member in members
        for topic_id, partitions in member.assigned.items()
        for partition in partitions
    }
    result = []
    for member, claimed in zip(members, claims, strict=True):
        still_read: dict[bytes, dict[int, int]] = {}
        for topic_id, partitions in claimed or ():
            for partition in partitions:
                if (topic_id, partition) not in held:
                    held[topic_id, partition] = None
                    still_read.setdefault(topic_id, {})[partition] = member.member_epoch
        if still_read:
            result.append(
                member._replace(state=UNREVOKED_PARTITIONS, pending_revocation=still_read)
            )
        else:
            result.append(member)
    return result


def _first_epoch(group: ClassicGroup) -> int:
    """The generation. A group before its first one starts like a new group: a member that
    replaces a static one must not get epoch 0, because with 0 it would join again.
    """
    return max(group.generation_id, FIRST_EPOCH)


def classic_metadata(
    session_timeout_ms: int, protocols: Iterable[JoinGroupRequestProtocol]
) -> ClassicMemberMetadata:
    return ClassicMemberMetadata(
        session_timeout_ms=session_timeout_ms,
        supported_protocols=[
            ClassicProtocol(name=protocol.name, metadata=bytes(protocol.metadata))
            for protocol in protocols
        ],
    )


def _cannot_upgrade(group: ClassicGroup, reason: str) -> ApiError:
    message = f"Cannot upgrade classic group {group.group_id} to consumer group because {reason}."
    return ApiError(ErrorCode.GROUP_ID_NOT_FOUND, message)
