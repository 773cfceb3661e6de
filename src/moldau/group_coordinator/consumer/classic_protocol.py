"""JoinGroup, SyncGroup, Heartbeat and LeaveGroup from classic members of a consumer group.

For a classic member, the member epoch is the generation: it must rejoin when the target has
changed, joins alone (without waiting for the others), and its sync returns the partitions that
the broker assigned. This requires that it can revoke partitions one by one; a member that cannot
reports that it owns nothing, and gets all its partitions again (KIP-848, online migration).
"""

from typing import Final

from moldau.clock import Now
from moldau.coordinator.outcome import CoordinatorRecord, Outcome, Reply
from moldau.errors import ApiError, ErrorCode
from moldau.group_coordinator.classic_group import for_version
from moldau.group_coordinator.consumer.consumer_protocol import (
    PROTOCOL_TYPE,
    decode_subscription,
    encode_assignment,
    owned_partitions,
    protocol_version,
)
from moldau.group_coordinator.consumer.downgrade import (
    convert_to_classic,
    may_downgrade_by_replacing,
)
from moldau.group_coordinator.consumer.group import ConsumerGroup
from moldau.group_coordinator.consumer.group_update import GroupUpdate
from moldau.group_coordinator.consumer.member import (
    UNRELEASED_PARTITIONS,
    UNREVOKED_PARTITIONS,
    ConsumerGroupMember,
    topic_names,
    without_epochs,
)
from moldau.group_coordinator.consumer.upgrade import classic_metadata
from moldau.group_coordinator.consumer.upkeep import Upkeep
from moldau.group_coordinator.consumer.validation import check_not_full, known_static_member
from moldau.group_coordinator.request_context import GroupRequestContext
from moldau.ids import new_uuid, uuid_to_str
from moldau.protocol.messages.heartbeat import HeartbeatRequest
from moldau.protocol.messages.join_group import JoinGroupRequest, JoinGroupResponse
from moldau.protocol.messages.leave_group import (
    LeaveGroupRequest,
    LeaveGroupResponse,
    MemberIdentity,
    MemberResponse,
)
from moldau.protocol.messages.sync_group import SyncGroupRequest, SyncGroupResponse
from moldau.protocol.reading import MalformedMessage
from moldau.protocol.records.client_data import ConsumerProtocolSubscription

# From this version on, a new dynamic member must join again with an id (KIP-394).
_FIRST_JOIN_WITH_KNOWN_ID: Final = 4


class ClassicProtocolMembers:
    """Handles requests of classic members. Errors are raised as ApiError."""

    def __init__(self, upkeep: Upkeep) -> None:
        self._upkeep = upkeep

    def join(
        self, token: int, request: JoinGroupRequest, context: GroupRequestContext, now: Now
    ) -> Outcome:
        upkeep = self._upkeep
        group = upkeep.groups[request.group_id]
        if not upkeep.settings.may_upgrade and not upkeep.settings.may_downgrade:
            message = (
                f"Cannot join the consumer group {group.group_id} with the classic protocol "
                "because the group migration is disabled."
            )
            raise ApiError(ErrorCode.INCONSISTENT_GROUP_PROTOCOL, message)
        instance_id = request.group_instance_id
        is_unknown = not request.member_id
        member_id = request.member_id or uuid_to_str(new_uuid(upkeep.rng))
        check_not_full(group, member_id, instance_id, upkeep.settings.max_size)
        _check_protocols(group, member_id, request)
        needs_known_id = context.api_version >= _FIRST_JOIN_WITH_KNOWN_ID
        if is_unknown and instance_id is None and needs_known_id:
            required = int(ErrorCode.MEMBER_ID_REQUIRED)
            response = JoinGroupResponse(member_id=member_id, error_code=required)
            return Outcome.reply(token, for_version(response, context.api_version))
        return self._join(token, request, context, group, member_id, now)

    def _join(
        self,
        token: int,
        request: JoinGroupRequest,
        context: GroupRequestContext,
        group: ConsumerGroup,
        member_id: str,
        now: Now,
    ) -> Outcome:
        upkeep = self._upkeep
        made: list[CoordinatorRecord] = []
        old = self._member(group, member_id, request, made)
        replaced = group.static_member(request.group_instance_id)
        is_downgrade = may_downgrade_by_replacing(group, replaced, upkeep.settings)
        subscription = _subscription(request)
        new = _updated(old, request, subscription, context)

        update = upkeep.update(group, now)
        has_changed = update.update_member(old, new, upkeep.topics_version)
        if is_downgrade:
            moved = self._downgrade(group, update, new, subscription, has_changed, made, now)
        else:
            target_epoch, target = update.update_target(old, new)
            owned = owned_partitions(subscription, upkeep.image)
            moved = update.reconcile(new, target_epoch, target, owned, has_changed)
            made += update.records
            update.check_size(made, upkeep.fits)
            upkeep.start_session(group.group_id, moved, now)
            upkeep.joined(group.group_id, member_id, now, moved.rebalance_timeout_ms)
        response = JoinGroupResponse(
            member_id=moved.member_id,
            generation_id=moved.member_epoch,
            protocol_type=PROTOCOL_TYPE,
            protocol_name=request.protocols[0].name,
        )
        return Outcome(made, [Reply(token, for_version(response, context.api_version))])

    def _downgrade(
        self,
        group: ConsumerGroup,
        update: GroupUpdate,
        member: ConsumerGroupMember,
        subscription: ConsumerProtocolSubscription,
        has_changed: bool,
        made: list[CoordinatorRecord],
        now: Now,
    ) -> ConsumerGroupMember:
        """The last member of the new protocol has rejoined as a classic one.

        If all members have their target assignment, no rebalance is necessary. Otherwise they
        would never reach it, since a classic group only changes by rebalancing. (Kafka 4.3.1
        checks only the epoch of the assignment.)
        """
        image = self._upkeep.image
        needs_rebalance = group.assignment_epoch < update.group_epoch or not all(
            other.is_reconciled_to(group.assignment_epoch)
            for other in group.members.values()
            if other.uses_classic_protocol
        )
        if not needs_rebalance:
            owned = owned_partitions(subscription, image)
            target = group.target(member)
            member = update.reconcile(member, group.assignment_epoch, target, owned, has_changed)
        made += update.records
        made += convert_to_classic(group, [], member, image, now, will_rebalance=needs_rebalance)
        update.check_size(made, self._upkeep.fits)
        reason = f"Downgrade group {group.group_id} from consumer to classic with stale assignment."
        self._upkeep.downgrade(group, reason if needs_rebalance else "")
        return member

    def _member(
        self,
        group: ConsumerGroup,
        member_id: str,
        request: JoinGroupRequest,
        made: list[CoordinatorRecord],
    ) -> ConsumerGroupMember:
        instance_id = request.group_instance_id
        if instance_id is None:
            return group.members.get(member_id, ConsumerGroupMember(member_id))
        if not request.member_id:
            return self._upkeep.new_or_returning_static(
                group, member_id, instance_id, is_classic=True, made=made
            )
        return known_static_member(group, instance_id, member_id)

    def sync(self, token: int, request: SyncGroupRequest, now: Now) -> Outcome:
        upkeep = self._upkeep
        group = upkeep.groups[request.group_id]
        member = _classic_member(group, request.member_id, request.group_instance_id)
        assert member.classic is not None
        _check_generation(member, request.generation_id)
        first = member.classic.supported_protocols[0]
        has_other_type = request.protocol_type not in (None, PROTOCOL_TYPE)
        if has_other_type or request.protocol_name not in (None, first.name):
            message = (
                f"{request.protocol_type}/{request.protocol_name} from member {member.member_id} "
                f"is not {PROTOCOL_TYPE}/{first.name} as in the join response"
            )
            raise ApiError(ErrorCode.INCONSISTENT_GROUP_PROTOCOL, message)
        # A member that is revoking partitions has already joined, and must finish that first.
        is_behind = group.assignment_epoch > member.member_epoch
        if is_behind and member.state != UNREVOKED_PARTITIONS:
            upkeep.expect_join(group.group_id, member, now)
            message = f"member {member.member_id} should rejoin {group.group_id} to catch up"
            raise ApiError(ErrorCode.REBALANCE_IN_PROGRESS, message)
        upkeep.synced(group.group_id, member.member_id)
        upkeep.start_session(group.group_id, member, now)
        version = protocol_version(first.metadata)
        response = SyncGroupResponse(
            protocol_type=request.protocol_type,
            protocol_name=request.protocol_name,
            assignment=encode_assignment(without_epochs(member.assigned), version, upkeep.image),
        )
        return Outcome.reply(token, response)

    def heartbeat(self, request: HeartbeatRequest, now: Now) -> None:
        """Raises ApiError REBALANCE_IN_PROGRESS if the member must join again."""
        upkeep = self._upkeep
        group = upkeep.groups[request.group_id]
        member = _classic_member(group, request.member_id, request.group_instance_id)
        _check_generation(member, request.generation_id)
        upkeep.start_session(group.group_id, member, now)
        has_free_partitions = (
            member.state == UNRELEASED_PARTITIONS and not group.waits_for_unreleased(member)
        )
        is_behind = member.member_epoch < group.assignment_epoch or group.needs_join
        if is_behind or member.state == UNREVOKED_PARTITIONS or has_free_partitions:
            upkeep.expect_join(group.group_id, member, now)
            raise ApiError(ErrorCode.REBALANCE_IN_PROGRESS)

    def leave(self, token: int, request: LeaveGroupRequest, now: Now) -> Outcome:
        group = self._upkeep.groups[request.group_id]
        leaving: dict[str, ConsumerGroupMember] = {}
        results = []
        for identity in request.members:
            result = MemberResponse(identity.member_id, identity.group_instance_id)
            try:
                member = _leaving_member(group, identity)
            except ApiError as error:
                result.error_code = int(error.code)
            else:
                leaving[member.member_id] = member
            results.append(result)
        made = self._upkeep.remove_members(group, list(leaving.values()), now)
        return Outcome(made, [Reply(token, LeaveGroupResponse(members=results))])


def _check_protocols(group: ConsumerGroup, member_id: str, request: JoinGroupRequest) -> None:
    """Check that all classic members have one of the member's protocols in common."""
    classic = [member.classic for member in group.members.values() if member.classic is not None]
    known = [{protocol.name for protocol in item.supported_protocols} for item in classic]
    fits = request.protocol_type == PROTOCOL_TYPE and any(
        all(protocol.name in names for names in known) for protocol in request.protocols
    )
    if not fits:
        message = f"Member {member_id}'s protocols are not supported."
        raise ApiError(ErrorCode.INCONSISTENT_GROUP_PROTOCOL, message)


def _subscription(request: JoinGroupRequest) -> ConsumerProtocolSubscription:
    try:
        return decode_subscription(request.protocols[0].metadata)
    except MalformedMessage as error:
        message = f"the subscription of {request.member_id!r} is malformed: {error}"
        raise ApiError(ErrorCode.INCONSISTENT_GROUP_PROTOCOL, message) from None


def _updated(
    member: ConsumerGroupMember,
    request: JoinGroupRequest,
    subscription: ConsumerProtocolSubscription,
    context: GroupRequestContext,
) -> ConsumerGroupMember:
    rebalance_timeout_ms = request.rebalance_timeout_ms
    if rebalance_timeout_ms == -1:
        # Version 0 has one timeout for both.
        rebalance_timeout_ms = request.session_timeout_ms
    return member._replace(
        instance_id=request.group_instance_id or member.instance_id,
        rack_id=subscription.rack_id or member.rack_id,
        rebalance_timeout_ms=rebalance_timeout_ms,
        subscribed_topic_names=topic_names(subscription.topics),
        # The classic protocol has no patterns for the broker to resolve.
        subscribed_topic_regex="",
        client_id=context.client_id,
        client_host=context.client_host,
        classic=classic_metadata(request.session_timeout_ms, request.protocols),
    )


def _classic_member(
    group: ConsumerGroup, member_id: str, instance_id: str | None
) -> ConsumerGroupMember:
    if instance_id is None:
        member = group.member(member_id)
    else:
        member = known_static_member(group, instance_id, member_id)
    if not member.uses_classic_protocol:
        message = f"Member {member_id} does not use the classic protocol."
        raise ApiError(ErrorCode.UNKNOWN_MEMBER_ID, message)
    return member


def _leaving_member(group: ConsumerGroup, identity: MemberIdentity) -> ConsumerGroupMember:
    """The member to remove; an administrator may give only its instance id."""
    instance_id = identity.group_instance_id
    if instance_id is None:
        return group.member(identity.member_id)
    member_id = identity.member_id or group.static_members.get(instance_id, "")
    return known_static_member(group, instance_id, member_id)


def _check_generation(member: ConsumerGroupMember, generation_id: int) -> None:
    if generation_id != member.member_epoch:
        message = (
            f"generation {generation_id} is not the member epoch {member.member_epoch} of member "
            f"{member.member_id}"
        )
        raise ApiError(ErrorCode.ILLEGAL_GENERATION, message)
