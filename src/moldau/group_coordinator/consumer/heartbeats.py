"""ConsumerGroupHeartbeat: joining, staying in and leaving a consumer group (KIP-848).

With thousands of topics, the decision about a heartbeat takes long. Nothing changes before its
records are replayed: so it can be ``prepared`` in steps, between which other requests are served,
and carried out if by then neither the group nor the image has changed. Otherwise it is prepared
again; a group that changes all the time gets its decision in one step.
"""

from collections.abc import Generator
from typing import Final, NamedTuple

from moldau.clock import Now
from moldau.coordinator.outcome import CoordinatorRecord, Outcome, Reply
from moldau.errors import ApiError, ErrorCode
from moldau.group_coordinator.classic_group import ClassicGroup, ClassicState
from moldau.group_coordinator.consumer import consumer_records as records
from moldau.group_coordinator.consumer.group import ConsumerGroup
from moldau.group_coordinator.consumer.group_update import GroupUpdate, all_steps
from moldau.group_coordinator.consumer.member import (
    LEAVE_GROUP_EPOCH,
    LEAVE_GROUP_STATIC_EPOCH,
    NOTHING_ASSIGNED,
    Assigned,
    ConsumerGroupMember,
    topic_names,
)
from moldau.group_coordinator.consumer.reconciliation import Owned
from moldau.group_coordinator.consumer.upgrade import check_upgrade, convert_from_classic
from moldau.group_coordinator.consumer.upkeep import Upkeep
from moldau.group_coordinator.consumer.validation import (
    check_heartbeat,
    check_member_epoch,
    check_not_full,
    known_static_member,
)
from moldau.group_coordinator.records import encode_record, group_metadata_tombstone
from moldau.group_coordinator.request_context import GroupRequestContext
from moldau.ids import new_uuid, uuid_to_str
from moldau.metadata.image import MetadataImage
from moldau.protocol.messages.consumer_group_heartbeat import (
    Assignment,
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
    TopicPartitions,
)

MOST_ATTEMPTS: Final = 3


class Decision(NamedTuple):
    """What a heartbeat changes; ``new`` is the member with what it sent."""

    group: ConsumerGroup
    update: GroupUpdate
    records: list[CoordinatorRecord]
    new: ConsumerGroupMember
    # After its next step towards the target.
    moved: ConsumerGroupMember
    response: ConsumerGroupHeartbeatResponse


class PreparedHeartbeat(NamedTuple):
    """A decision, and what it depends on: the image, and the group as of a revision."""

    decision: Decision
    image: MetadataImage
    # None if it does not exist yet.
    group: ConsumerGroup | None
    revision: int


class Heartbeats:
    """Handles heartbeats. Errors are raised as ApiError."""

    def __init__(self, upkeep: Upkeep) -> None:
        self._upkeep = upkeep

    def handle(
        self,
        token: int,
        request: ConsumerGroupHeartbeatRequest,
        context: GroupRequestContext,
        classic_group: ClassicGroup | None,
        now: Now,
        prepared: PreparedHeartbeat | None = None,
    ) -> Outcome:
        """``prepared`` is for this request; it is used if it is still valid."""
        check_heartbeat(request, context.api_version, self._upkeep.settings.assignors)
        if request.member_epoch in (LEAVE_GROUP_EPOCH, LEAVE_GROUP_STATIC_EPOCH):
            return self._leave(token, request, classic_group, now)
        if prepared is not None and classic_group is None and self._is_valid(prepared):
            decision = prepared.decision
        else:
            decision = all_steps(
                self._deciding(request, context, classic_group, now, is_at_once=True)
            )
        group, moved = decision.group, decision.moved
        out = Outcome(decision.records)
        decision.update.check_size(out.records, self._upkeep.fits)
        self._leave_classic(group, classic_group, now, out)
        if moved is not decision.new:
            self._upkeep.follow_revocation(group.group_id, moved, now)
        self._upkeep.start_session(group.group_id, moved, now)
        out.replies.append(Reply(token, decision.response))
        return out

    def preparing(
        self, request: ConsumerGroupHeartbeatRequest, context: GroupRequestContext, now: Now
    ) -> Generator[None, None, PreparedHeartbeat | None]:
        """Prepare the decision in steps; there must be no classic group with this id.

        None if there is nothing to prepare, because the member leaves, has no id yet, or gets an
        error.
        """
        upkeep = self._upkeep
        try:
            check_heartbeat(request, context.api_version, upkeep.settings.assignors)
            if request.member_epoch < 0 or not request.member_id:
                return None
            for _ in range(MOST_ATTEMPTS):
                image = upkeep.image
                group = upkeep.groups.get(request.group_id)
                revision = 0 if group is None else group.revision
                decision = yield from self._deciding(request, context, None, now)
                yield
                for record in decision.records:
                    record.encoded = encode_record(record)
                    yield
                prepared = PreparedHeartbeat(decision, image, group, revision)
                if self._is_valid(prepared):
                    return prepared
        except ApiError:
            # The group may change until the request is handled: that decides on the error.
            pass
        return None

    def _is_valid(self, prepared: PreparedHeartbeat) -> bool:
        group = self._upkeep.groups.get(prepared.decision.group.group_id)
        if group is not prepared.group or self._upkeep.image is not prepared.image:
            return False
        return group is None or group.revision == prepared.revision

    def _deciding(
        self,
        request: ConsumerGroupHeartbeatRequest,
        context: GroupRequestContext,
        classic_group: ClassicGroup | None,
        now: Now,
        *,
        is_at_once: bool = False,
    ) -> Generator[None, None, Decision]:
        """Decide in steps; changes nothing. Raises ApiError."""
        out = Outcome()
        group = self._group(request, classic_group, out)
        max_size = self._upkeep.settings.max_size
        check_not_full(group, request.member_id, request.instance_id, max_size)
        member_id = request.member_id or uuid_to_str(new_uuid(self._upkeep.rng))
        owned = _owned(request)
        old = self._member(group, member_id, request, owned, out.records)
        new = _updated(old, request, context)
        yield
        update = self._upkeep.update(group, now)
        has_changed = yield from update.updating_member(
            old,
            new,
            self._upkeep.topics_version,
            must_assign=self._was_rebalancing(group, classic_group),
            is_at_once=is_at_once,
        )
        yield
        target_epoch, target = yield from update.updating_target(old, new)
        yield
        moved = yield from update.reconciling(new, target_epoch, target, owned, has_changed)
        out.records += update.records
        yield
        response = self._response(request, old, moved)
        return Decision(group, update, out.records, new, moved, response)

    def _group(
        self,
        request: ConsumerGroupHeartbeatRequest,
        classic_group: ClassicGroup | None,
        out: Outcome,
    ) -> ConsumerGroup:
        """The group, created or converted from a classic group if necessary."""
        group_id = request.group_id
        group = self._upkeep.groups.get(group_id)
        if group is not None:
            return group
        if request.member_epoch != 0:
            message = f"Consumer group {group_id} not found."
            if classic_group is not None:
                message = f"Group {group_id} is not a consumer group."
            raise ApiError(ErrorCode.GROUP_ID_NOT_FOUND, message)
        if classic_group is None:
            return ConsumerGroup(group_id)
        if classic_group.is_empty:
            out.records.append(group_metadata_tombstone(group_id))
            return ConsumerGroup(group_id)
        upkeep = self._upkeep
        check_upgrade(classic_group, upkeep.settings)
        group, made = convert_from_classic(classic_group, upkeep.hashes, upkeep.image)
        out.records += made
        return group

    def _leave_classic(
        self, group: ConsumerGroup, classic_group: ClassicGroup | None, now: Now, out: Outcome
    ) -> None:
        """If the group was just converted, its members must join again, and have a session here.

        Not before the heartbeat is accepted: a classic group that stays keeps those who wait in it.
        """
        if classic_group is None or group.group_id in self._upkeep.groups:
            return
        classic_group.answer_all_waiting(ErrorCode.REBALANCE_IN_PROGRESS, out)
        for member in group.members.values():
            self._upkeep.start_session(group.group_id, member, now)

    def _was_rebalancing(self, group: ConsumerGroup, classic_group: ClassicGroup | None) -> bool:
        """Whether the group was just converted from a classic one that was rebalancing.

        It may have fewer members than the last assignment, and a returning static member
        changes nothing: without a new assignment, the partitions of the others would stay
        unassigned. (They do in Kafka 4.3.1.)
        """
        if classic_group is None or group.group_id in self._upkeep.groups:
            return False
        return classic_group.state not in (ClassicState.EMPTY, ClassicState.STABLE)

    def _member(
        self,
        group: ConsumerGroup,
        member_id: str,
        request: ConsumerGroupHeartbeatRequest,
        owned: Owned,
        made: list[CoordinatorRecord],
    ) -> ConsumerGroupMember:
        is_joining = request.member_epoch == 0
        instance_id = request.instance_id
        if instance_id is None:
            if is_joining:
                member = group.members.get(member_id, ConsumerGroupMember(member_id))
            else:
                member = group.member(member_id)
        elif is_joining:
            return self._upkeep.new_or_returning_static(
                group, member_id, instance_id, is_classic=False, made=made
            )
        else:
            member = known_static_member(group, instance_id, member_id)
        check_member_epoch(member, request.member_epoch, owned)
        return member

    def _response(
        self,
        request: ConsumerGroupHeartbeatRequest,
        old: ConsumerGroupMember,
        new: ConsumerGroupMember,
    ) -> ConsumerGroupHeartbeatResponse:
        """Includes the assignment if it changed, or if the member sent a full heartbeat."""
        upkeep = self._upkeep
        has_subscription = (
            request.subscribed_topic_names is not None or request.subscribed_topic_regex is not None
        )
        is_full = (
            request.rebalance_timeout_ms != -1
            and has_subscription
            and request.topic_partitions is not None
        )
        assignment = None
        if request.member_epoch == 0 or is_full or old.assigned != new.assigned:
            assignment = _assignment(new.assigned)
        return ConsumerGroupHeartbeatResponse(
            member_id=new.member_id,
            member_epoch=new.member_epoch,
            heartbeat_interval_ms=upkeep.settings.heartbeat_interval_ms(
                request.group_id, upkeep.image
            ),
            assignment=assignment,
        )

    def _leave(
        self,
        token: int,
        request: ConsumerGroupHeartbeatRequest,
        classic_group: ClassicGroup | None,
        now: Now,
    ) -> Outcome:
        group = self._upkeep.groups.get(request.group_id)
        if group is None:
            problem = "not found" if classic_group is None else "is not a consumer group"
            message = f"Group {request.group_id} {problem}."
            raise ApiError(ErrorCode.GROUP_ID_NOT_FOUND, message)
        if request.instance_id is None:
            member = group.member(request.member_id)
        else:
            member = known_static_member(group, request.instance_id, request.member_id)
        response = ConsumerGroupHeartbeatResponse(
            member_id=request.member_id, member_epoch=request.member_epoch
        )
        if request.member_epoch == LEAVE_GROUP_STATIC_EPOCH:
            # Its session continues: it keeps its partitions until that expires. The epochs of the
            # assignment are reset, so that the previous instance cannot commit any more.
            away = member._replace(
                member_epoch=LEAVE_GROUP_STATIC_EPOCH,
                assigned={
                    topic_id: dict.fromkeys(partitions, 0)
                    for topic_id, partitions in member.assigned.items()
                },
                pending_revocation=NOTHING_ASSIGNED,
            )
            made = [records.current_record(group.group_id, away)]
        else:
            made = self._upkeep.remove_members(group, [member], now)
        return Outcome(made, [Reply(token, response)])


def _updated(
    member: ConsumerGroupMember,
    request: ConsumerGroupHeartbeatRequest,
    context: GroupRequestContext,
) -> ConsumerGroupMember:
    """Apply a heartbeat; fields that are null have not changed."""
    changes: dict[str, object] = {
        "client_id": context.client_id,
        "client_host": context.client_host,
        "classic": None,
    }
    if request.instance_id is not None:
        changes["instance_id"] = request.instance_id
    if request.rack_id is not None:
        changes["rack_id"] = request.rack_id
    if request.rebalance_timeout_ms != -1:
        changes["rebalance_timeout_ms"] = request.rebalance_timeout_ms
    if request.server_assignor is not None:
        changes["server_assignor"] = request.server_assignor
    if request.subscribed_topic_names is not None:
        changes["subscribed_topic_names"] = topic_names(request.subscribed_topic_names)
    if request.subscribed_topic_regex is not None:
        changes["subscribed_topic_regex"] = request.subscribed_topic_regex
    return member._replace(**changes)  # type: ignore[arg-type]


def _owned(request: ConsumerGroupHeartbeatRequest) -> Owned:
    if request.topic_partitions is None:
        return None
    return [(topic.topic_id, topic.partitions) for topic in request.topic_partitions]


def _assignment(assigned: Assigned) -> Assignment:
    return Assignment(
        topic_partitions=[
            TopicPartitions(topic_id=topic_id, partitions=sorted(partitions))
            for topic_id, partitions in sorted(assigned.items())
        ]
    )
