"""JoinGroup to a classic group.

A dynamic member without an id first gets one (KIP-394), so that a client that retries does not
fill the group with abandoned members. A static member (KIP-345) takes over its instance id at
once; if the group is stable and the protocol stays the same, there is no rebalance.
"""

import random

from moldau.clock import Now
from moldau.config.broker import BrokerConfig
from moldau.coordinator.outcome import Outcome, Reply
from moldau.errors import ApiError, ErrorCode
from moldau.group_coordinator.classic_group import ClassicGroup, ClassicState, for_version
from moldau.group_coordinator.classic_member import ClassicMember, WaitingJoin
from moldau.group_coordinator.classic_rebalance import (
    NEW_MEMBER_JOIN_TIMEOUT_MS,
    ClassicRebalance,
)
from moldau.group_coordinator.records import group_metadata_record
from moldau.group_coordinator.request_context import GroupRequestContext
from moldau.protocol.messages.join_group import JoinGroupRequest, JoinGroupResponse

_FIRST_VERSION_WITH_REBALANCE_TIMEOUT = 1
_FIRST_VERSION_THAT_REQUIRES_MEMBER_ID = 4
_FIRST_VERSION_THAT_SKIPS_ASSIGNMENT = 9


class _Join:
    """One JoinGroup request in progress."""

    __slots__ = ("context", "now", "out", "request", "token")

    def __init__(
        self,
        token: int,
        request: JoinGroupRequest,
        context: GroupRequestContext,
        now: Now,
        out: Outcome,
    ) -> None:
        self.token = token
        self.request = request
        self.context = context
        self.now = now
        self.out = out

    @property
    def rebalance_timeout_ms(self) -> int:
        if self.context.api_version < _FIRST_VERSION_WITH_REBALANCE_TIMEOUT:
            return self.request.session_timeout_ms
        return self.request.rebalance_timeout_ms

    @property
    def waiting(self) -> WaitingJoin:
        return WaitingJoin(self.token, self.context.api_version)

    def answer(self, response: JoinGroupResponse) -> None:
        versioned = for_version(response, self.context.api_version)
        self.out.replies.append(Reply(self.token, versioned))

    def refuse(self, error: ErrorCode, member_id: str = "") -> None:
        self.answer(JoinGroupResponse(error_code=int(error), member_id=member_id))


class ClassicJoin:
    """Handles JoinGroup for groups of the classic type."""

    def __init__(
        self, config: BrokerConfig, rng: random.Random, rebalance: ClassicRebalance
    ) -> None:
        self._config = config
        self._rng = rng
        self._rebalance = rebalance

    def handle(
        self,
        token: int,
        request: JoinGroupRequest,
        context: GroupRequestContext,
        group: ClassicGroup,
        now: Now,
        out: Outcome,
    ) -> None:
        join = _Join(token, request, context, now, out)
        if not self._has_room(group, request.member_id):
            self._rebalance.remove(group, request.member_id)
            join.refuse(ErrorCode.GROUP_MAX_SIZE_REACHED)
        elif not group.supports_protocols(request.protocol_type, request.protocols):
            join.refuse(ErrorCode.INCONSISTENT_GROUP_PROTOCOL, request.member_id)
        elif not request.member_id:
            self._join_new(join, group)
        elif request.member_id in group.pending_join:
            if request.group_instance_id is not None:
                # Only dynamic members get pending ids; Kafka fails on this request.
                join.refuse(ErrorCode.UNKNOWN_SERVER_ERROR)
                return
            self._add(join, group, request.member_id)
        else:
            self._rejoin(join, group)

    def _has_room(self, group: ClassicGroup, member_id: str) -> bool:
        """Whether the member fits: existing ones always do, new ones up to ``group.max.size``.

        During a rebalance only joined members count, so that a group above a lowered limit
        loses those that join last.
        """
        limit = self._config.group_max_size
        if group.state is ClassicState.PREPARING_REBALANCE:
            member = group.members.get(member_id)
            is_waiting = member is not None and member.waiting_join is not None
            return is_waiting or group.waiting_joins < limit
        if group.is_empty:
            return True
        return member_id in group.members or len(group.members) < limit

    # -- new members -----------------------------------------------------------------------

    def _join_new(self, join: _Join, group: ClassicGroup) -> None:
        instance_id = join.request.group_instance_id
        prefix = join.context.client_id if instance_id is None else instance_id
        member_id = f"{prefix}-{new_member_uuid(self._rng)}"
        if instance_id is not None and instance_id in group.static_members:
            self._replace_static(join, group, member_id)
        elif instance_id is not None:
            self._add(join, group, member_id)
        elif join.context.api_version >= _FIRST_VERSION_THAT_REQUIRES_MEMBER_ID:
            timeout_ms = join.request.session_timeout_ms
            self._rebalance.promise_id(group, member_id, timeout_ms, join.now)
            join.refuse(ErrorCode.MEMBER_ID_REQUIRED, member_id)
        else:
            self._add(join, group, member_id)

    def _add(self, join: _Join, group: ClassicGroup, member_id: str) -> None:
        member = ClassicMember(
            member_id,
            join.request.group_instance_id,
            join.context.client_id,
            join.context.client_host,
            join.rebalance_timeout_ms,
            join.request.session_timeout_ms,
            join.request.protocol_type,
            join.request.protocols,
        )
        member.is_new = True
        is_preparing = group.state is ClassicState.PREPARING_REBALANCE
        if is_preparing and group.previous_state is ClassicState.EMPTY:
            group.new_member_added = True
        group.add(member, join.waiting)
        self._rebalance.extend_session(group, member, join.now, NEW_MEMBER_JOIN_TIMEOUT_MS)
        self._rebalance.prepare_or_complete(group, join.now, join.out)

    def _replace_static(self, join: _Join, group: ClassicGroup, member_id: str) -> None:
        """A static member has restarted: it keeps its place and its assignment."""
        request = join.request
        assert request.group_instance_id is not None
        old_leader = group.leader_id
        member = group.replace_static(request.group_instance_id, member_id, join.out)
        self._rebalance.extend_session(group, member, join.now)
        group.update(
            member,
            request.protocols,
            join.rebalance_timeout_ms,
            request.session_timeout_ms,
            join.waiting,
        )
        if group.state is ClassicState.COMPLETING_REBALANCE:
            # The leader may be assigning to the old id.
            self._rebalance.prepare(group, join.now, join.out)
        elif group.state is not ClassicState.STABLE:
            self._rebalance.maybe_complete_join(group, join.now, join.out)
        elif group.select_protocol() != group.protocol_name:
            self._rebalance.prepare_or_complete(group, join.now, join.out)
        else:
            record = group_metadata_record(group)
            if not self._rebalance.fits(record):
                self._rebalance.prepare_or_complete(group, join.now, join.out)
                return
            join.out.records.append(record)
            group.answer_join(member, _resume(join, group, member_id, old_leader), join.out)

    # -- known members ---------------------------------------------------------------------

    def _rejoin(self, join: _Join, group: ClassicGroup) -> None:
        request = join.request
        member_id = request.member_id
        try:
            group.validate_member(member_id, request.group_instance_id)
        except ApiError as error:
            join.refuse(error.code, member_id)
            return
        member = group.members[member_id]
        is_leader = group.is_leader(member_id)
        is_same = member.matches(request.protocols)
        if group.state is ClassicState.COMPLETING_REBALANCE and is_same:
            # It may have missed the response to its join: send it again.
            join.answer(group.join_response(member_id, with_members=is_leader))
        elif group.state is ClassicState.STABLE and is_same and not is_leader:
            join.answer(group.join_response(member_id, with_members=False))
        elif group.is_empty:
            join.refuse(ErrorCode.UNKNOWN_MEMBER_ID, member_id)
        else:
            # Also if a leader joins again without changes: it has noticed something
            # that affects the assignment, such as new partitions.
            # An earlier join that still waits was sent over a connection that is probably lost.
            rebalancing = int(ErrorCode.REBALANCE_IN_PROGRESS)
            earlier = JoinGroupResponse(member_id=member_id, error_code=rebalancing)
            group.answer_join(member, earlier, join.out)
            group.update(
                member,
                request.protocols,
                join.rebalance_timeout_ms,
                request.session_timeout_ms,
                join.waiting,
            )
            self._rebalance.prepare_or_complete(group, join.now, join.out)


def _resume(
    join: _Join, group: ClassicGroup, member_id: str, old_leader: str | None
) -> JoinGroupResponse:
    """A leader that resumes must not compute a new assignment (KIP-814).

    In versions without that flag, the response names the leader's old id, so that it acts as
    a follower.
    """
    if join.context.api_version >= _FIRST_VERSION_THAT_SKIPS_ASSIGNMENT:
        is_leader = group.is_leader(member_id)
        return group.join_response(member_id, with_members=is_leader, skip_assignment=is_leader)
    response = group.join_response(member_id, with_members=False)
    response.leader = old_leader or ""
    return response


def new_member_uuid(rng: random.Random) -> str:
    """A random (version 4) uuid, in its usual text form.

    Without the module ``uuid``: it takes a millisecond to import, with ``platform``, while the
    first request about groups waits.
    """
    bits = rng.getrandbits(128) & ~(0xF000 << 64 | 0xC000 << 48) | 0x4000 << 64 | 0x8000 << 48
    digits = f"{bits:032x}"
    return "-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]))
