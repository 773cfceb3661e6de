"""Rebalances of classic groups, and their timers.

A rebalance has two phases. First all members must join; those that do not within the rebalance
timeout are removed (except static members, which may be restarting). Then all members must sync,
the leader with the assignments; those that do not within the same time are removed as well.

The first rebalance of a group is different: it waits ``group.initial.rebalance.delay.ms`` for
more members, and again as long as new ones join, up to the rebalance timeout.
"""

from typing import Final

from moldau.clock import Now
from moldau.config.broker import BrokerConfig
from moldau.coordinator.outcome import Outcome
from moldau.errors import ErrorCode
from moldau.group_coordinator.classic_group import ClassicGroup, ClassicState
from moldau.group_coordinator.classic_member import ClassicMember
from moldau.group_coordinator.record_size import Fits
from moldau.group_coordinator.records import group_metadata_record
from moldau.group_coordinator.timers import JOIN, SESSION, SYNC, Timers
from moldau.protocol.messages.join_group import JoinGroupResponse
from moldau.protocol.messages.sync_group import SyncGroupResponse

# A new member cannot send heartbeats, so a disconnect is not noticed while its join is pending.
# After this time the client is expected to have given up and retried.
NEW_MEMBER_JOIN_TIMEOUT_MS: Final = 5 * 60 * 1000
# The least time between two looks whether a static member has joined.
STATIC_MEMBERS_PAUSE_MS: Final = 1000


class ClassicRebalance:
    """The transitions of classic groups. Replies and records are added to ``out``."""

    def __init__(self, config: BrokerConfig, timers: Timers, fits: Fits) -> None:
        self._config = config
        self._timers = timers
        self.fits = fits

    # -- the join phase --------------------------------------------------------------------

    def prepare_or_complete(self, group: ClassicGroup, now: Now, out: Outcome) -> None:
        """After a change, start a rebalance, or complete the current one if possible."""
        if group.can_rebalance:
            self.prepare(group, now, out)
        else:
            self.maybe_complete_join(group, now, out)

    def prepare(self, group: ClassicGroup, now: Now, out: Outcome) -> None:
        if group.state is ClassicState.COMPLETING_REBALANCE:
            # Members waiting for the assignment of this generation will not get it any more.
            for member in group.members.values():
                member.assignment = b""
            self._propagate(group, ErrorCode.REBALANCE_IN_PROGRESS, now, out)
        group.pending_sync.clear()
        self._timers.cancel((SYNC, group.group_id, ""))

        is_first = group.is_empty
        group.transition_to(ClassicState.PREPARING_REBALANCE, now.wall_ms)
        if is_first:
            delay_ms = self._config.group_initial_rebalance_delay_ms
            remaining_ms = max(group.rebalance_timeout_ms - delay_ms, 0)
            self._wait_for_more(group, delay_ms, remaining_ms, now)
        elif group.has_all_members_joined:
            self._complete_join(group, now, out)
        else:
            group.initial_delay = None
            self._schedule_join(group, group.rebalance_timeout_ms, now)

    def maybe_complete_join(self, group: ClassicGroup, now: Now, out: Outcome) -> None:
        """Complete the phase if all have joined; the initial rebalance always waits its delay."""
        is_preparing = group.state is ClassicState.PREPARING_REBALANCE
        is_first = group.previous_state is ClassicState.EMPTY
        if is_preparing and not is_first and group.has_all_members_joined:
            self._complete_join(group, now, out)

    def on_join_timer(self, group: ClassicGroup, now: Now, out: Outcome) -> None:
        if group.state is not ClassicState.PREPARING_REBALANCE:
            return
        if group.initial_delay is not None:
            delay_ms, remaining_ms = group.initial_delay
            if group.new_member_added and remaining_ms != 0:
                group.new_member_added = False
                next_delay_ms = min(self._config.group_initial_rebalance_delay_ms, remaining_ms)
                next_remaining_ms = max(remaining_ms - delay_ms, 0)
                self._wait_for_more(group, next_delay_ms, next_remaining_ms, now)
                return
        self._complete_join(group, now, out)

    def _complete_join(self, group: ClassicGroup, now: Now, out: Outcome) -> None:
        """The joined members form the next generation."""
        self._timers.cancel((JOIN, group.group_id, ""))
        group.initial_delay = None
        absent = [member for member in group.members.values() if member.waiting_join is None]
        for member in absent:
            if not member.is_static:
                self.remove(group, member.member_id)

        if not group.elect_joined_leader() and group.members:
            # Only static members are left and none of them has joined: wait until they do or
            # their sessions expire. Without a pause, a timeout of 0 would never end.
            delay_ms = max(group.rebalance_timeout_ms, STATIC_MEMBERS_PAUSE_MS)
            self._schedule_join(group, delay_ms, now)
            return

        group.begin_generation(now.wall_ms)
        if group.is_empty:
            out.records.append(group_metadata_record(group))
            return
        for member in group.members.values():
            is_leader = group.is_leader(member.member_id)
            response = group.join_response(member.member_id, with_members=is_leader)
            group.answer_join(member, response, out)
            self.extend_session(group, member, now)
            member.is_new = False
            group.pending_sync[member.member_id] = None
        deadline_ms = now.monotonic_ms + group.rebalance_timeout_ms
        self._timers.schedule((SYNC, group.group_id, ""), deadline_ms)

    def _wait_for_more(
        self, group: ClassicGroup, delay_ms: int, remaining_ms: int, now: Now
    ) -> None:
        group.initial_delay = (delay_ms, remaining_ms)
        self._schedule_join(group, delay_ms, now)

    def _schedule_join(self, group: ClassicGroup, delay_ms: int, now: Now) -> None:
        self._timers.schedule((JOIN, group.group_id, ""), now.monotonic_ms + delay_ms)

    # -- the sync phase --------------------------------------------------------------------

    def received_sync(self, group: ClassicGroup, member_id: str) -> None:
        group.pending_sync.pop(member_id, None)
        if not group.pending_sync:
            self._timers.cancel((SYNC, group.group_id, ""))

    def assign(
        self, group: ClassicGroup, assignment: dict[str, bytes], now: Now, out: Outcome
    ) -> None:
        """The leader has sent the assignments: write them, answer pending syncs, become stable.

        As in Kafka, the record has the time at which the join phase of this generation ended:
        the group is not stable before the record is written. If that is too large, the members
        are told and join again, as in Kafka.
        """
        complete = {member_id: assignment.get(member_id, b"") for member_id in group.members}
        record = group_metadata_record(group, complete)
        if not self.fits(record):
            self._propagate(group, ErrorCode.UNKNOWN_SERVER_ERROR, now, out)
            self.prepare(group, now, out)
            return
        out.records.append(record)
        for member in group.members.values():
            member.assignment = complete[member.member_id]
        self._propagate(group, ErrorCode.NONE, now, out)
        group.transition_to(ClassicState.STABLE, now.wall_ms)

    def on_sync_timer(self, group: ClassicGroup, now: Now, out: Outcome) -> None:
        """Remove the members that have not synced."""
        is_awaited = group.state in (ClassicState.COMPLETING_REBALANCE, ClassicState.STABLE)
        if is_awaited and group.pending_sync:
            for member_id in list(group.pending_sync):
                self.remove(group, member_id)
            self.prepare(group, now, out)

    def _propagate(self, group: ClassicGroup, error: ErrorCode, now: Now, out: Outcome) -> None:
        is_good = error is ErrorCode.NONE
        for member in group.members.values():
            response = SyncGroupResponse(
                protocol_type=group.protocol_type if is_good else None,
                protocol_name=group.protocol_name if is_good else None,
                assignment=member.assignment,
                error_code=int(error),
            )
            if group.answer_sync(member, response, out):
                # A session that expired while a request was pending was ignored.
                self.extend_session(group, member, now)

    # -- members come and go ---------------------------------------------------------------

    def extend_session(
        self,
        group: ClassicGroup,
        member: ClassicMember,
        now: Now,
        timeout_ms: int | None = None,
    ) -> None:
        timeout = member.session_timeout_ms if timeout_ms is None else timeout_ms
        self._timers.schedule(
            (SESSION, group.group_id, member.member_id), now.monotonic_ms + timeout
        )

    def promise_id(
        self, group: ClassicGroup, member_id: str, session_timeout_ms: int, now: Now
    ) -> None:
        """Add a pending id; it is removed if no member joins with it in time."""
        group.pending_join[member_id] = None
        key = (SESSION, group.group_id, member_id)
        self._timers.schedule(key, now.monotonic_ms + session_timeout_ms)

    def remove(self, group: ClassicGroup, member_id: str) -> None:
        group.remove(member_id)
        self._timers.cancel((SESSION, group.group_id, member_id))

    def dismiss(self, group: ClassicGroup, member_id: str, out: Outcome) -> None:
        """Remove the member; a pending request is answered, so that it joins as a new member."""
        member = group.members[member_id]
        unknown = int(ErrorCode.UNKNOWN_MEMBER_ID)
        group.answer_join(member, JoinGroupResponse(error_code=unknown), out)
        group.answer_sync(member, SyncGroupResponse(error_code=unknown), out)
        self.remove(group, member_id)

    def after_removal(self, group: ClassicGroup, now: Now, out: Outcome) -> None:
        if group.state in (ClassicState.STABLE, ClassicState.COMPLETING_REBALANCE):
            self.prepare_or_complete(group, now, out)
        elif group.state is ClassicState.PREPARING_REBALANCE and group.has_all_members_joined:
            self._complete_join(group, now, out)

    def on_session_timer(self, group: ClassicGroup, member_id: str, now: Now, out: Outcome) -> None:
        if member_id in group.pending_join:
            group.remove(member_id)
            is_preparing = group.state is ClassicState.PREPARING_REBALANCE
            if is_preparing and group.has_all_members_joined:
                self._complete_join(group, now, out)
            return
        member = group.members.get(member_id)
        if member is not None and not member.has_satisfied_heartbeat:
            self.dismiss(group, member_id, out)
            self.after_removal(group, now, out)

    def forget(self, group: ClassicGroup) -> None:
        """Cancel the timers of a removed group."""
        for kind in (JOIN, SYNC):
            self._timers.cancel((kind, group.group_id, ""))
        for member_id in (*group.members, *group.pending_join):
            self._timers.cancel((SESSION, group.group_id, member_id))
