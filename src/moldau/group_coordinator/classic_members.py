"""SyncGroup, Heartbeat and LeaveGroup to a classic group."""

from moldau.clock import Now
from moldau.coordinator.outcome import Outcome, Reply
from moldau.errors import ApiError, ErrorCode
from moldau.group_coordinator.classic_group import ClassicGroup, ClassicState
from moldau.group_coordinator.classic_member import ClassicMember
from moldau.group_coordinator.classic_rebalance import ClassicRebalance
from moldau.protocol.messages.heartbeat import HeartbeatRequest
from moldau.protocol.messages.leave_group import (
    LeaveGroupRequest,
    MemberIdentity,
    MemberResponse,
)
from moldau.protocol.messages.sync_group import SyncGroupRequest, SyncGroupResponse


class ClassicMembers:
    """Handles requests of the members of a generation. Errors are raised as ApiError."""

    def __init__(self, rebalance: ClassicRebalance) -> None:
        self._rebalance = rebalance

    def sync(
        self,
        token: int,
        request: SyncGroupRequest,
        group: ClassicGroup,
        now: Now,
        out: Outcome,
    ) -> None:
        """The leader sends the assignments, the others wait for theirs."""
        member_id = request.member_id
        group.validate_member(member_id, request.group_instance_id)
        _check_generation(group, request.generation_id)
        if _differs(request.protocol_type, group.protocol_type) or _differs(
            request.protocol_name, group.protocol_name
        ):
            message = (
                f"{group.group_id} uses {group.protocol_type}/{group.protocol_name}, "
                f"not {request.protocol_type}/{request.protocol_name}"
            )
            raise ApiError(ErrorCode.INCONSISTENT_GROUP_PROTOCOL, message)
        if group.state is ClassicState.PREPARING_REBALANCE:
            raise ApiError(ErrorCode.REBALANCE_IN_PROGRESS)

        member = group.members[member_id]
        self._rebalance.received_sync(group, member_id)
        if group.state is ClassicState.STABLE:
            response = SyncGroupResponse(
                protocol_type=group.protocol_type,
                protocol_name=group.protocol_name,
                assignment=member.assignment,
            )
            out.replies.append(Reply(token, response))
            # It has just learned that it is a member: its session must not end right after, as it
            # may in Kafka 4.3.1.
            self._rebalance.extend_session(group, member, now)
            return
        _supersede(group, member, out)
        member.waiting_sync = token
        if group.is_leader(member_id):
            assignment = {item.member_id: item.assignment for item in request.assignments}
            self._rebalance.assign(group, assignment, now, out)

    def heartbeat(self, request: HeartbeatRequest, group: ClassicGroup, now: Now) -> None:
        """Extend the session; REBALANCE_IN_PROGRESS makes the member join again."""
        group.validate_member(request.member_id, request.group_instance_id)
        _check_generation(group, request.generation_id)
        self._rebalance.extend_session(group, group.members[request.member_id], now)
        if group.state is ClassicState.PREPARING_REBALANCE:
            raise ApiError(ErrorCode.REBALANCE_IN_PROGRESS)

    def leave(
        self, request: LeaveGroupRequest, group: ClassicGroup, now: Now, out: Outcome
    ) -> list[MemberResponse]:
        """Remove members, with one rebalance for all of them (KIP-345)."""
        results = [self._leave_one(member, group, out) for member in request.members]
        if any(result.error_code == 0 for result in results):
            if group.state in (ClassicState.STABLE, ClassicState.COMPLETING_REBALANCE):
                self._rebalance.prepare_or_complete(group, now, out)
            elif group.state is ClassicState.PREPARING_REBALANCE:
                self._rebalance.maybe_complete_join(group, now, out)
        return results

    def _leave_one(
        self, member: MemberIdentity, group: ClassicGroup, out: Outcome
    ) -> MemberResponse:
        result = MemberResponse(member.member_id, member.group_instance_id)
        instance_id = member.group_instance_id
        if not member.member_id and instance_id in group.static_members:
            # An administrator removes an instance, whatever its member id is.
            assert instance_id is not None
            self._rebalance.dismiss(group, group.static_members[instance_id], out)
        elif member.member_id in group.pending_join:
            self._rebalance.remove(group, member.member_id)
        else:
            try:
                group.validate_member(member.member_id, instance_id)
            except ApiError as error:
                result.error_code = int(error.code)
            else:
                self._rebalance.dismiss(group, member.member_id, out)
        return result


def _supersede(group: ClassicGroup, member: ClassicMember, out: Outcome) -> None:
    """Answer an earlier sync of the member, whose connection was probably lost."""
    rebalancing = int(ErrorCode.REBALANCE_IN_PROGRESS)
    group.answer_sync(member, SyncGroupResponse(error_code=rebalancing), out)


def _check_generation(group: ClassicGroup, generation_id: int) -> None:
    if generation_id != group.generation_id:
        message = f"{group.group_id} is at generation {group.generation_id}, not {generation_id}"
        raise ApiError(ErrorCode.ILLEGAL_GENERATION, message)


def _differs(stated: str | None, agreed: str | None) -> bool:
    return stated is not None and agreed is not None and stated != agreed
