"""The classic groups of a shard: lookup, creation, loading from the log, timers."""

import random

from moldau.clock import Now
from moldau.config.broker import BrokerConfig
from moldau.coordinator.outcome import Outcome
from moldau.errors import ApiError, ErrorCode
from moldau.group_coordinator.classic_group import (
    NO_TIMESTAMP,
    ClassicGroup,
    ClassicState,
)
from moldau.group_coordinator.classic_join import ClassicJoin
from moldau.group_coordinator.classic_member import ClassicMember
from moldau.group_coordinator.classic_members import ClassicMembers
from moldau.group_coordinator.classic_rebalance import ClassicRebalance
from moldau.group_coordinator.record_size import Fits
from moldau.group_coordinator.records import new_group_metadata_record
from moldau.group_coordinator.request_context import GroupRequestContext
from moldau.group_coordinator.timers import JOIN, SYNC, Timers
from moldau.protocol.messages.heartbeat import HeartbeatRequest
from moldau.protocol.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol
from moldau.protocol.messages.leave_group import LeaveGroupRequest, MemberResponse
from moldau.protocol.messages.sync_group import SyncGroupRequest
from moldau.protocol.records.group_coordinator import GroupMetadataValue


class ClassicGroups:
    """The groups by id.

    A classic group changes when a request is handled, not when its record is replayed: most of
    its state is never written. So ``replay`` of a record that the group itself has written
    changes nothing, and any other record replaces the group.
    """

    def __init__(self, config: BrokerConfig, rng: random.Random, fits: Fits) -> None:
        self.groups: dict[str, ClassicGroup] = {}
        self._config = config
        self._timers = Timers()
        self._rebalance = ClassicRebalance(config, self._timers, fits)
        self._join = ClassicJoin(config, rng, self._rebalance)
        self._members = ClassicMembers(self._rebalance)

    # -- life ------------------------------------------------------------------------------

    def replay(
        self, group_id: str, value: GroupMetadataValue | None, *, was_consumer_group: bool = False
    ) -> None:
        current = self.groups.get(group_id)
        if current is not None:
            if value is not None and current.last_written is value:
                return
            self._rebalance.forget(current)
            del self.groups[group_id]
        if value is not None:
            group = self.groups[group_id] = _load(group_id, value)
            # The record does not say that the remaining members have yet to take over
            # the partitions of the others. If the coordinator failed before, they must rebalance.
            group.must_rebalance = was_consumer_group

    def add_simple(self, group_id: str) -> None:
        """Add a group whose name is only used to commit offsets."""
        self.groups[group_id] = ClassicGroup(group_id)

    def on_loaded(self, now: Now) -> Outcome:
        """Every member gets a full session timeout to reconnect."""
        out = Outcome()
        for group in self.groups.values():
            self.start_sessions(group, now)
            # If the limit was lowered, a rebalance lets members commit before some are removed.
            is_too_large = len(group.members) > self._config.group_max_size
            if is_too_large or (group.must_rebalance and group.members):
                self._rebalance.prepare(group, now, out)
        return out

    def start_sessions(self, group: ClassicGroup, now: Now) -> None:
        for member in group.members.values():
            self._rebalance.extend_session(group, member, now)

    def take_over(self, group_id: str, now: Now, *, rebalance: bool) -> Outcome:
        """A consumer group has been converted into this classic one."""
        out = Outcome()
        group = self.groups.get(group_id)
        if group is not None:
            self.start_sessions(group, now)
            if rebalance and group.can_rebalance:
                self._rebalance.prepare(group, now, out)
        return out

    def next_deadline_ms(self) -> int | None:
        return self._timers.next_deadline_ms()

    def tick(self, now: Now) -> Outcome:
        out = Outcome()
        while (key := self._timers.pop_due(now.monotonic_ms)) is not None:
            kind, group_id, member_id = key
            group = self.groups.get(group_id)
            if group is None:
                continue
            if kind == JOIN:
                self._rebalance.on_join_timer(group, now, out)
            elif kind == SYNC:
                self._rebalance.on_sync_timer(group, now, out)
            else:
                self._rebalance.on_session_timer(group, member_id, now, out)
        return out

    def unload(self) -> Outcome:
        out = Outcome()
        for group in self.groups.values():
            group.answer_all_waiting(ErrorCode.NOT_COORDINATOR, out)
        return out

    # -- requests --------------------------------------------------------------------------

    def join(
        self,
        token: int,
        request: JoinGroupRequest,
        context: GroupRequestContext,
        now: Now,
        out: Outcome,
    ) -> None:
        """Raises ApiError UNKNOWN_MEMBER_ID if an id is given and there is no such group."""
        group = self.groups.get(request.group_id)
        is_new = group is None
        if group is None:
            if request.member_id:
                message = f"{request.member_id!r} is not a member: no group {request.group_id!r}"
                raise ApiError(ErrorCode.UNKNOWN_MEMBER_ID, message)
            group = ClassicGroup(request.group_id, state_timestamp_ms=now.wall_ms)
            self.groups[request.group_id] = group
        written = len(out.records)
        self._join.handle(token, request, context, group, now, out)
        if is_new and not group.members and not group.pending_join:
            # The join was refused: leave nothing behind.
            del self.groups[request.group_id]
        elif is_new and len(out.records) == written:
            out.records.append(new_group_metadata_record(group))

    def sync(self, token: int, request: SyncGroupRequest, now: Now, out: Outcome) -> None:
        group = self._existing(request.group_id)
        if group.is_empty:
            message = f"group {request.group_id!r} has no members"
            raise ApiError(ErrorCode.UNKNOWN_MEMBER_ID, message)
        self._members.sync(token, request, group, now, out)

    def heartbeat(self, request: HeartbeatRequest, now: Now) -> None:
        self._members.heartbeat(request, self._existing(request.group_id), now)

    def leave(self, request: LeaveGroupRequest, now: Now, out: Outcome) -> list[MemberResponse]:
        group = self._existing(request.group_id)
        return self._members.leave(request, group, now, out)

    def extend_session(self, group: ClassicGroup, member_id: str, now: Now) -> None:
        """A commit extends the session, if the group is stable or rebalancing."""
        member = group.members.get(member_id)
        if member is not None and group.state in (
            ClassicState.STABLE,
            ClassicState.PREPARING_REBALANCE,
        ):
            self._rebalance.extend_session(group, member, now)

    def _existing(self, group_id: str) -> ClassicGroup:
        group = self.groups.get(group_id)
        if group is None:
            raise ApiError(ErrorCode.UNKNOWN_MEMBER_ID, f"there is no group {group_id!r}")
        return group


def _load(group_id: str, value: GroupMetadataValue) -> ClassicGroup:
    """The group as it was when the record was written."""
    timestamp_ms = value.current_state_timestamp
    group = ClassicGroup(
        group_id,
        ClassicState.STABLE if value.members else ClassicState.EMPTY,
        generation_id=value.generation,
        protocol_type=value.protocol_type or None,
        protocol_name=value.protocol,
        leader_id=value.leader,
        state_timestamp_ms=NO_TIMESTAMP if timestamp_ms == -1 else timestamp_ms,
    )
    for member in value.members:
        # Records of version 0 have one timeout for both.
        has_own = member.rebalance_timeout != -1
        group.add(
            ClassicMember(
                member.member_id,
                member.group_instance_id,
                member.client_id,
                member.client_host,
                member.rebalance_timeout if has_own else member.session_timeout,
                member.session_timeout,
                value.protocol_type,
                [JoinGroupRequestProtocol(value.protocol or "", member.subscription)],
                member.assignment,
            )
        )
    group.subscribed_topics = group.compute_subscribed_topics()
    return group
