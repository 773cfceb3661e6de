"""A classic group: members with a common protocol, a leader and a generation.

    EMPTY ──join──► PREPARING_REBALANCE ──all have joined────► COMPLETING_REBALANCE
      ▲                 ▲    │                                     │         │
      └──no members─────┼────┘                          change ◄───┘         │ leader's sync
                        └──────────────change────────── STABLE ◄─────────────┘

This module holds the state of the group. ``classic_rebalance`` decides on transitions;
``classic_join`` and ``classic_members`` handle the requests.
"""

from collections.abc import Sequence
from enum import Enum
from typing import Final

from moldau.coordinator.outcome import Outcome, Reply
from moldau.errors import ApiError, ErrorCode
from moldau.group_coordinator.classic_member import (
    ClassicMember,
    WaitingJoin,
    distinct_protocols,
)
from moldau.protocol.messages.describe_groups import DescribedGroup
from moldau.protocol.messages.join_group import (
    JoinGroupRequestProtocol,
    JoinGroupResponse,
    JoinGroupResponseMember,
)
from moldau.protocol.messages.list_groups import ListedGroup
from moldau.protocol.messages.sync_group import SyncGroupResponse
from moldau.protocol.reading import MalformedMessage
from moldau.protocol.records.client_data import ConsumerProtocolSubscription
from moldau.protocol.records.group_coordinator import GroupMetadataValue

CONSUMER_PROTOCOL_TYPE: Final = "consumer"
CLASSIC_TYPE: Final = "classic"
NO_TIMESTAMP: Final = -1


class ClassicState(Enum):
    """The states of a group, with their names in DescribeGroups and ListGroups."""

    EMPTY = "Empty"
    PREPARING_REBALANCE = "PreparingRebalance"
    COMPLETING_REBALANCE = "CompletingRebalance"
    STABLE = "Stable"
    DEAD = "Dead"


_MAY_FOLLOW: Final[dict[ClassicState, tuple[ClassicState, ...]]] = {
    ClassicState.EMPTY: (ClassicState.PREPARING_REBALANCE,),
    ClassicState.PREPARING_REBALANCE: (
        ClassicState.STABLE,
        ClassicState.COMPLETING_REBALANCE,
        ClassicState.EMPTY,
    ),
    ClassicState.COMPLETING_REBALANCE: (ClassicState.PREPARING_REBALANCE,),
    ClassicState.STABLE: (ClassicState.COMPLETING_REBALANCE,),
    ClassicState.DEAD: tuple(ClassicState),
}


class ClassicGroup:
    """The members in the order they joined, the pending member ids, and the generation.

    A group without protocol type and members is a simple group: a client commits offsets under
    its name without joining it.
    """

    __slots__ = (
        "_support",
        "generation_id",
        "group_id",
        "initial_delay",
        "last_written",
        "leader_id",
        "members",
        "must_rebalance",
        "new_member_added",
        "pending_join",
        "pending_sync",
        "previous_state",
        "protocol_name",
        "protocol_type",
        "state",
        "state_timestamp_ms",
        "static_members",
        "subscribed_topics",
        "waiting_joins",
    )

    def __init__(
        self,
        group_id: str,
        state: ClassicState = ClassicState.EMPTY,
        *,
        generation_id: int = 0,
        protocol_type: str | None = None,
        protocol_name: str | None = None,
        leader_id: str | None = None,
        state_timestamp_ms: int = NO_TIMESTAMP,
    ) -> None:
        self.group_id = group_id
        self.state = state
        self.previous_state = ClassicState.DEAD
        self.generation_id = generation_id
        self.protocol_type = protocol_type
        self.protocol_name = protocol_name
        self.leader_id = leader_id
        self.state_timestamp_ms = state_timestamp_ms
        self.members: dict[str, ClassicMember] = {}
        # Instance id to member id.
        self.static_members: dict[str, str] = {}
        # Ids that were returned with MEMBER_ID_REQUIRED and have not joined yet.
        self.pending_join: dict[str, None] = {}
        # Members of this generation that have not sent their sync yet.
        self.pending_sync: dict[str, None] = {}
        self.waiting_joins = 0
        # None if unknown: only the consumer protocol contains the subscribed topics.
        self.subscribed_topics: frozenset[str] | None = None
        # Of the initial rebalance: the current delay, and the time left after it.
        self.initial_delay: tuple[int, int] | None = None
        self.new_member_added = False
        # It was loaded from the log in a state that requires a rebalance.
        self.must_rebalance = False
        self.last_written: GroupMetadataValue | None = None
        # How many members support each protocol.
        self._support: dict[str, int] = {}

    # -- facts -----------------------------------------------------------------------------

    @property
    def is_empty(self) -> bool:
        return self.state is ClassicState.EMPTY

    @property
    def is_simple(self) -> bool:
        return self.protocol_type is None and self.is_empty and not self.pending_join

    @property
    def uses_consumer_protocol(self) -> bool:
        return self.protocol_type == CONSUMER_PROTOCOL_TYPE

    @property
    def has_all_members_joined(self) -> bool:
        return len(self.members) == self.waiting_joins and not self.pending_join

    @property
    def can_rebalance(self) -> bool:
        return self.state in _MAY_FOLLOW[ClassicState.PREPARING_REBALANCE]

    @property
    def rebalance_timeout_ms(self) -> int:
        """The longest timeout of all members, since the group waits for all of them."""
        return max((member.rebalance_timeout_ms for member in self.members.values()), default=0)

    def is_leader(self, member_id: str) -> bool:
        return self.leader_id is not None and self.leader_id == member_id

    def is_subscribed_to(self, topic: str) -> bool:
        """If unknown, true for a group of consumers and false for any other."""
        if self.subscribed_topics is None:
            return self.uses_consumer_protocol
        return topic in self.subscribed_topics

    def supports_protocols(
        self, protocol_type: str, protocols: Sequence[JoinGroupRequestProtocol]
    ) -> bool:
        """Whether a member with these protocols could join: all must have one in common."""
        if self.is_empty:
            return bool(protocol_type) and bool(protocols)
        if self.protocol_type != protocol_type:
            return False
        size = len(self.members)
        return any(self._support.get(protocol.name, 0) == size for protocol in protocols)

    def validate_member(self, member_id: str, group_instance_id: str | None) -> None:
        """Raises ApiError: UNKNOWN_MEMBER_ID, or FENCED_INSTANCE_ID if it was replaced."""
        if group_instance_id is not None:
            owner = self.static_members.get(group_instance_id)
            if owner is None:
                message = f"no member of {self.group_id} has the instance id {group_instance_id}"
                raise ApiError(ErrorCode.UNKNOWN_MEMBER_ID, message)
            if owner != member_id:
                message = f"{group_instance_id} of {self.group_id} is {owner}, not {member_id}"
                raise ApiError(ErrorCode.FENCED_INSTANCE_ID, message)
        if member_id not in self.members:
            message = f"{member_id!r} is not a member of {self.group_id}"
            raise ApiError(ErrorCode.UNKNOWN_MEMBER_ID, message)

    # -- members ---------------------------------------------------------------------------

    def add(self, member: ClassicMember, waiting: WaitingJoin | None = None) -> None:
        if member.group_instance_id is not None:
            assert member.group_instance_id not in self.static_members
            self.static_members[member.group_instance_id] = member.member_id
        if not self.members:
            self.protocol_type = member.protocol_type
        assert self.protocol_type == member.protocol_type
        if self.leader_id is None:
            self.leader_id = member.member_id
        self.members[member.member_id] = member
        self._count_protocols(member, 1)
        self._wait(member, waiting)
        self.pending_join.pop(member.member_id, None)

    def update(
        self,
        member: ClassicMember,
        protocols: Sequence[JoinGroupRequestProtocol],
        rebalance_timeout_ms: int,
        session_timeout_ms: int,
        waiting: WaitingJoin | None,
    ) -> None:
        """A member joins again, possibly with other protocols or timeouts."""
        self._count_protocols(member, -1)
        member.protocols = distinct_protocols(protocols)
        self._count_protocols(member, 1)
        member.rebalance_timeout_ms = rebalance_timeout_ms
        member.session_timeout_ms = session_timeout_ms
        self._wait(member, waiting)

    def remove(self, member_id: str) -> None:
        """Remove the member or the pending id; if it was the leader, choose another."""
        member = self.members.pop(member_id, None)
        if member is not None:
            self._count_protocols(member, -1)
            self._wait(member, None)
            if member.group_instance_id is not None:
                del self.static_members[member.group_instance_id]
        if self.is_leader(member_id):
            self.leader_id = next(iter(self.members), None)
        self.pending_join.pop(member_id, None)
        self.pending_sync.pop(member_id, None)

    def replace_static(
        self, group_instance_id: str, new_member_id: str, out: Outcome
    ) -> ClassicMember:
        """The instance has a new member id; the old one is fenced."""
        old_id = self.static_members[group_instance_id]
        old = self.members.pop(old_id)
        fenced = int(ErrorCode.FENCED_INSTANCE_ID)
        self.answer_join(
            old, JoinGroupResponse(member_id=old_id, protocol_name=None, error_code=fenced), out
        )
        self.answer_sync(old, SyncGroupResponse(error_code=fenced), out)
        new = ClassicMember(
            new_member_id,
            group_instance_id,
            old.client_id,
            old.client_host,
            old.rebalance_timeout_ms,
            old.session_timeout_ms,
            old.protocol_type,
            old.protocols,
            old.assignment,
        )
        self.members[new_member_id] = new
        if self.is_leader(old_id):
            self.leader_id = new_member_id
        self.static_members[group_instance_id] = new_member_id
        # If the sync of the replaced member is pending, its successor must send it.
        if old_id in self.pending_sync:
            del self.pending_sync[old_id]
            self.pending_sync[new_member_id] = None
        return new

    def elect_joined_leader(self) -> bool:
        """Choose a leader among the joined members if necessary; False if none has joined."""
        if self.leader_id is None:
            return False
        if self.members[self.leader_id].waiting_join is not None:
            return True
        for member in self.members.values():
            if member.waiting_join is not None:
                self.leader_id = member.member_id
                return True
        return False

    # -- answers ---------------------------------------------------------------------------

    def answer_join(self, member: ClassicMember, response: JoinGroupResponse, out: Outcome) -> bool:
        """Answer the pending join of the member, if there is one."""
        waiting = member.waiting_join
        if waiting is None:
            return False
        out.replies.append(Reply(waiting.token, for_version(response, waiting.api_version)))
        self._wait(member, None)
        return True

    def answer_sync(self, member: ClassicMember, response: SyncGroupResponse, out: Outcome) -> bool:
        """Answer the pending sync of the member, if there is one."""
        if member.waiting_sync is None:
            return False
        out.replies.append(Reply(member.waiting_sync, response))
        member.waiting_sync = None
        return True

    def answer_all_waiting(self, error: ErrorCode, out: Outcome) -> None:
        """Answer all pending requests with an error: the group moves or changes its type."""
        for member in self.members.values():
            join = JoinGroupResponse(member_id=member.member_id, error_code=int(error))
            self.answer_join(member, join, out)
            self.answer_sync(member, SyncGroupResponse(error_code=int(error)), out)

    def join_response(
        self, member_id: str, *, with_members: bool, skip_assignment: bool = False
    ) -> JoinGroupResponse:
        """The response to a join, for the current generation."""
        return JoinGroupResponse(
            generation_id=self.generation_id,
            protocol_type=self.protocol_type,
            protocol_name=self.protocol_name,
            leader=self.leader_id or "",
            skip_assignment=skip_assignment,
            member_id=member_id,
            members=self.joined_members() if with_members else [],
        )

    def joined_members(self) -> list[JoinGroupResponseMember]:
        """The subscriptions of all members, for the leader."""
        return [
            JoinGroupResponseMember(
                member_id=member.member_id,
                group_instance_id=member.group_instance_id,
                metadata=member.metadata(self.protocol_name or ""),
            )
            for member in self.members.values()
        ]

    # -- generations -----------------------------------------------------------------------

    def transition_to(self, state: ClassicState, wall_ms: int) -> None:
        assert self.state in _MAY_FOLLOW[state], f"{self.group_id}: {self.state} to {state}"
        self.previous_state = self.state
        self.state = state
        self.state_timestamp_ms = wall_ms

    def begin_generation(self, wall_ms: int) -> None:
        """All members have joined: start the next generation, or become empty."""
        self.generation_id += 1
        self.protocol_name = self.select_protocol() if self.members else None
        self.subscribed_topics = self.compute_subscribed_topics()
        self.transition_to(
            ClassicState.COMPLETING_REBALANCE if self.members else ClassicState.EMPTY, wall_ms
        )
        self.pending_sync.clear()

    def select_protocol(self) -> str:
        """The protocol that all members support and most prefer."""
        size = len(self.members)
        candidates = {name for name, count in self._support.items() if count == size}
        votes: dict[str, int] = {}
        for member in self.members.values():
            choice = member.vote(candidates)
            votes[choice] = votes.get(choice, 0) + 1
        return max(votes, key=votes.__getitem__)

    def compute_subscribed_topics(self) -> frozenset[str] | None:
        if not self.uses_consumer_protocol:
            return None
        if not self.members:
            return frozenset()
        if self.protocol_name is None:
            return None
        topics: set[str] = set()
        for member in self.members.values():
            metadata = member.metadata(self.protocol_name)
            try:
                # Every version begins like version 0, which has the topics.
                subscription, _ = ConsumerProtocolSubscription.decode(metadata, 2, 0)
            except MalformedMessage:
                return None
            topics.update(subscription.topics)
        return frozenset(topics)

    # -- the public view -------------------------------------------------------------------

    def as_listed(self) -> ListedGroup:
        return ListedGroup(self.group_id, self.protocol_type or "", self.state.value, CLASSIC_TYPE)

    def as_described(self) -> DescribedGroup:
        agreed = self.protocol_name if self.state is ClassicState.STABLE else None
        return DescribedGroup(
            group_id=self.group_id,
            group_state=self.state.value,
            protocol_type=self.protocol_type or "",
            protocol_data=agreed or "",
            members=[member.describe(agreed) for member in self.members.values()],
        )

    def _wait(self, member: ClassicMember, waiting: WaitingJoin | None) -> None:
        self.waiting_joins += (waiting is not None) - (member.waiting_join is not None)
        member.waiting_join = waiting

    def _count_protocols(self, member: ClassicMember, difference: int) -> None:
        for name in member.protocol_names:
            count = self._support.get(name, 0) + difference
            if count:
                self._support[name] = count
            else:
                del self._support[name]

    def __repr__(self) -> str:
        return f"ClassicGroup({self.group_id!r}, {self.state.value}, {self.generation_id})"


def for_version(response: JoinGroupResponse, api_version: int) -> JoinGroupResponse:
    """A missing protocol is null from version 7 on, and empty before."""
    if api_version >= 7:
        response.protocol_name = response.protocol_name or None
    else:
        response.protocol_name = response.protocol_name or ""
    return response
