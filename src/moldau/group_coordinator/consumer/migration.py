"""A group that changes its protocol while its members go on reading (KIP-848).

The first consumer that joins a classic group with the new protocol takes the whole group
along: its members become members of the consumer group who speak the classic protocol, at
the generation and with the assignment they had. When the last one of the new protocol goes,
the group is written back as a classic one.
"""

from collections.abc import Iterable, Mapping

from moldau.errors import ApiError, ErrorCode
from moldau.group_coordinator.classic_group import ClassicGroup
from moldau.group_coordinator.classic_member import ClassicMember
from moldau.group_coordinator.consumer import consumer_records as records
from moldau.group_coordinator.consumer.consumer_protocol import (
    PROTOCOL_TYPE,
    assigned_target,
    decode_assignment,
    decode_subscription,
    encode_assignment,
    protocol_version,
)
from moldau.group_coordinator.consumer.group import ConsumerGroup
from moldau.group_coordinator.consumer.member import (
    NO_TARGET,
    ConsumerGroupMember,
    Target,
    assigned_since,
    topic_names,
)
from moldau.group_coordinator.consumer.metadata_hash import MetadataHashes
from moldau.group_coordinator.consumer.replaying import replay_record
from moldau.group_coordinator.consumer.settings import GroupSettings
from moldau.group_coordinator.consumer.subscription import subscriptions_of
from moldau.group_coordinator.outcome import CoordinatorRecord
from moldau.group_coordinator.records import group_metadata_record, group_metadata_tombstone
from moldau.metadata.image import MetadataImage
from moldau.protocol.messages.join_group import JoinGroupRequestProtocol
from moldau.protocol.reading import MalformedMessage
from moldau.protocol.records.group_coordinator import ClassicMemberMetadata, ClassicProtocol


def check_upgrade(group: ClassicGroup, settings: GroupSettings) -> None:
    """Raises ApiError GROUP_ID_NOT_FOUND: then the group is no consumer group to anybody."""
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
    """The consumer group, and the records that make it out of the classic one.

    Raises:
        ApiError: GROUP_ID_NOT_FOUND if what members say cannot be read, or if an assignor of
            their own keeps data in the assignment that would be lost.
    """
    group_id = group.group_id
    epoch = group.generation_id
    members: list[ConsumerGroupMember] = []
    targets: list[Target] = []
    for classic in group.members.values():
        try:
            member, target = _consumer_member(classic, group, image)
        except MalformedMessage:
            reason = "the embedded consumer protocol is malformed"
            raise _cannot_upgrade(group, reason) from None
        members.append(member)
        targets.append(target)
    topics = subscriptions_of(members, {}).topics
    made = [records.member_record(group_id, member) for member in members]
    made.append(records.group_record(group_id, epoch, hashes.group_hash(topics, image)))
    for member, target in zip(members, targets, strict=True):
        made.append(records.target_record(group_id, member.member_id, target))
    made.append(records.target_epoch_record(group_id, epoch, 0))
    made += [records.current_record(group_id, member) for member in members]

    # The rest of the request needs the group as it will be once these are replayed.
    groups: dict[str, ConsumerGroup] = {}
    for record in made:
        replay_record(groups, record.key, record.value)
    return groups[group_id], [group_metadata_tombstone(group_id), *made]


def _consumer_member(
    classic: ClassicMember, group: ClassicGroup, image: MetadataImage
) -> tuple[ConsumerGroupMember, Target]:
    target = NO_TARGET
    # It is empty for a member that has joined and not synced yet.
    if classic.assignment:
        assignment = decode_assignment(classic.assignment)
        if assignment.user_data:
            reason = (
                "an unsupported custom assignor is in use. Please refer to the documentation or "
                "switch to a default assignor before re-attempting the upgrade"
            )
            raise _cannot_upgrade(group, reason)
        target = assigned_target(assignment, image)
    # Before the first generation the group has not agreed on a protocol yet.
    name = group.protocol_name or classic.protocols[0].name
    subscription = decode_subscription(classic.metadata(name))
    member = ConsumerGroupMember(
        classic.member_id,
        member_epoch=group.generation_id,
        previous_member_epoch=group.generation_id,
        instance_id=classic.group_instance_id,
        rack_id=subscription.rack_id or None,
        rebalance_timeout_ms=classic.rebalance_timeout_ms,
        client_id=classic.client_id,
        client_host=classic.client_host,
        subscribed_topic_names=topic_names(subscription.topics),
        assigned=assigned_since(target, group.generation_id),
        classic=classic_metadata(classic.session_timeout_ms, classic.protocols),
    )
    return member, target


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


def may_downgrade(
    group: ConsumerGroup, leaving: Iterable[ConsumerGroupMember], settings: GroupSettings
) -> bool:
    """Whether only classic members are left when these have gone."""
    leaving = list(leaving)
    left = len(group.members) - len(leaving)
    return (
        settings.may_downgrade
        and 0 < left <= settings.classic_max_size
        and group.all_classic_except(leaving)
    )


def may_downgrade_by_replacing(
    group: ConsumerGroup, replaced: ConsumerGroupMember | None, settings: GroupSettings
) -> bool:
    """Whether a classic member comes in the place of the last one of the new protocol."""
    return (
        replaced is not None
        and not replaced.uses_classic_protocol
        and settings.may_downgrade
        and len(group.members) <= settings.classic_max_size
        and group.all_classic_except([replaced])
    )


def convert_to_classic(
    group: ConsumerGroup,
    leaving: Iterable[ConsumerGroupMember],
    joining: ConsumerGroupMember | None,
    image: MetadataImage,
    now_ms: int,
) -> list[CoordinatorRecord]:
    """The records that make a classic group of the consumer group.

    ``joining`` takes the place of the static member with its instance id, under whose new
    id records have been written already.

    Raises:
        ApiError: GROUP_ID_NOT_FOUND if what members say cannot be read.
    """
    gone = {member.member_id: "" for member in leaving}
    replaced: Mapping[str, str] = {}
    members = [member for name, member in group.members.items() if name not in gone]
    if joining is not None:
        old = group.static_member(joining.instance_id)
        assert old is not None, "only a static member takes another one's place"
        replaced = {old.member_id: joining.member_id}
        members = [member for member in members if member.member_id != old.member_id]
        members.append(joining)
    made = group.tombstones(replaced)
    try:
        made.append(group_metadata_record(_classic_group(group, members, replaced, image, now_ms)))
    except MalformedMessage as error:
        message = f"Cannot downgrade the consumer group {group.group_id}: {error}."
        raise ApiError(ErrorCode.GROUP_ID_NOT_FOUND, message) from None
    return made


def _classic_group(
    group: ConsumerGroup,
    members: Iterable[ConsumerGroupMember],
    replaced: Mapping[str, str],
    image: MetadataImage,
    now_ms: int,
) -> ClassicGroup:
    old_ids = {new_id: old_id for old_id, new_id in replaced.items()}
    classic = ClassicGroup(
        group.group_id,
        generation_id=group.group_epoch,
        protocol_type=PROTOCOL_TYPE,
        state_timestamp_ms=now_ms,
    )
    for member in members:
        assert member.classic is not None
        classic.add(
            ClassicMember(
                member.member_id,
                member.instance_id,
                member.client_id,
                member.client_host,
                member.rebalance_timeout_ms,
                member.classic.session_timeout_ms,
                PROTOCOL_TYPE,
                [
                    JoinGroupRequestProtocol(name=protocol.name, metadata=protocol.metadata)
                    for protocol in member.classic.supported_protocols
                ],
            )
        )
    classic.protocol_name = classic.select_protocol()
    for name, classic_member in classic.members.items():
        target = group.targets.get(old_ids.get(name, name), NO_TARGET)
        version = protocol_version(classic_member.metadata(classic.protocol_name))
        classic_member.assignment = encode_assignment(target, version, image)
    return classic


def _cannot_upgrade(group: ClassicGroup, reason: str) -> ApiError:
    message = f"Cannot upgrade classic group {group.group_id} to consumer group because {reason}."
    return ApiError(ErrorCode.GROUP_ID_NOT_FOUND, message)
