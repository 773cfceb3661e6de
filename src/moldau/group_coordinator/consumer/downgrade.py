"""Converts a consumer group back to a classic one (KIP-848).

When the last member of the new protocol leaves, expires, or rejoins as a classic static member,
only members with the classic protocol remain, and the group is written as a classic one. If they
have to take over partitions of others, they rebalance.
"""

from collections.abc import Iterable, Mapping

from moldau.clock import Now
from moldau.coordinator.outcome import CoordinatorRecord
from moldau.errors import ApiError, ErrorCode
from moldau.group_coordinator.classic_group import ClassicGroup
from moldau.group_coordinator.classic_member import ClassicMember
from moldau.group_coordinator.consumer.consumer_protocol import (
    PROTOCOL_TYPE,
    encode_assignment,
    protocol_version,
)
from moldau.group_coordinator.consumer.group import ConsumerGroup
from moldau.group_coordinator.consumer.member import NO_TARGET, ConsumerGroupMember, Target
from moldau.group_coordinator.consumer.settings import GroupSettings
from moldau.group_coordinator.records import group_metadata_record
from moldau.metadata.image import MetadataImage
from moldau.protocol.messages.join_group import JoinGroupRequestProtocol
from moldau.protocol.reading import MalformedMessage


def may_downgrade(
    group: ConsumerGroup, leaving: Iterable[ConsumerGroupMember], settings: GroupSettings
) -> bool:
    """Whether only classic members remain without these."""
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
    """Whether a classic member replaces the last one of the new protocol."""
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
    now: Now,
    *,
    will_rebalance: bool,
) -> list[CoordinatorRecord]:
    """The records that convert the consumer group into a classic group.

    ``joining`` replaces the static member with its instance id; records with the new id have
    already been written.

    If the group ``will_rebalance``, the current assignments are written, otherwise the target
    assignments. Kafka always writes the latter: if the group is upgraded again before its
    rebalance is over, partitions that are still being read could be assigned to other members.

    Raises:
        ApiError: GROUP_ID_NOT_FOUND if the embedded protocol of a member is malformed.
    """
    gone = {member.member_id: "" for member in leaving}
    replaced: Mapping[str, str] = {}
    members = [member for name, member in group.members.items() if name not in gone]
    if joining is not None:
        old = group.static_member(joining.instance_id)
        assert old is not None, "only a static member replaces another"
        replaced = {old.member_id: joining.member_id}
        members = [member for member in members if member.member_id != old.member_id]
        members.append(joining)
    made = group.tombstones(replaced)
    try:
        targets = _held(members) if will_rebalance else _targets(group, members, replaced)
        classic = _classic_group(group, members, targets, image, now)
        made.append(group_metadata_record(classic))
    except MalformedMessage as error:
        message = f"Cannot downgrade the consumer group {group.group_id}: {error}."
        raise ApiError(ErrorCode.GROUP_ID_NOT_FOUND, message) from None
    return made


def _classic_group(
    group: ConsumerGroup,
    members: Iterable[ConsumerGroupMember],
    targets: Mapping[str, Target],
    image: MetadataImage,
    now: Now,
) -> ClassicGroup:
    classic = ClassicGroup(
        group.group_id,
        generation_id=group.group_epoch,
        protocol_type=PROTOCOL_TYPE,
        state_timestamp_ms=now.wall_ms,
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
        version = protocol_version(classic_member.metadata(classic.protocol_name))
        classic_member.assignment = encode_assignment(targets[name], version, image)
    return classic


def _held(members: Iterable[ConsumerGroupMember]) -> dict[str, Target]:
    """By member id, the partitions it reads, including those it must revoke."""
    held: dict[str, Target] = {}
    for member in members:
        partitions: dict[bytes, list[int]] = {}
        for assigned in (member.assigned, member.pending_revocation):
            for topic_id, numbers in assigned.items():
                partitions.setdefault(topic_id, []).extend(numbers)
        held[member.member_id] = {
            topic_id: tuple(sorted(numbers)) for topic_id, numbers in partitions.items()
        }
    return held


def _targets(
    group: ConsumerGroup, members: Iterable[ConsumerGroupMember], replaced: Mapping[str, str]
) -> dict[str, Target]:
    old_ids = {new_id: old_id for old_id, new_id in replaced.items()}
    names = [member.member_id for member in members]
    return {name: group.targets.get(old_ids.get(name, name), NO_TARGET) for name in names}
