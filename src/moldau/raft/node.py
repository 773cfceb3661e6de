"""One node of the metadata quorum: Kafka's Raft (KIP-595, 630, 853, 996).

The node takes messages of other nodes and reports of its driver (``messages``) and returns effects
(``effects``), in the order in which they must happen. It does no I/O and reads no clock:

* ``start`` is called once, when the log and the quorum state are loaded and on disk;
* ``step`` takes a message or a report;
* ``tick`` is called at ``deadline_ms``, or at any other time.

The parts, by the role in which they act: ``elections``, ``following``, ``own_voter``, ``leading``
and ``voter_changes``; they share ``quorum``, which changes the role.
"""

import random

from moldau.errors import ErrorCode
from moldau.raft.config import RaftConfig
from moldau.raft.description import QuorumDescription, describe_quorum
from moldau.raft.effects import Effect, Reply
from moldau.raft.elections import Elections
from moldau.raft.following import Following
from moldau.raft.leader import Leader
from moldau.raft.leader_discovery import LeaderDiscovery
from moldau.raft.leading import Leading
from moldau.raft.log_view import LogView
from moldau.raft.messages import (
    AddVoterRequest,
    Answered,
    ApiVersionsRequest,
    ApiVersionsResponse,
    BeginQuorumEpochRequest,
    BeginQuorumEpochResponse,
    CurrentLeader,
    EndQuorumEpochRequest,
    EndQuorumEpochResponse,
    FetchRequest,
    FetchResponse,
    FetchSnapshotRequest,
    FetchSnapshotResponse,
    LeaderGone,
    LogAppended,
    LogFlushed,
    LogTruncated,
    Message,
    Peer,
    Received,
    RemoveVoterRequest,
    Request,
    RequestFailed,
    Resign,
    Response,
    SnapshotInstalled,
    UpdateVoterRequest,
    UpdateVoterResponse,
    VoteRequest,
    VoteResponse,
    VotersChange,
)
from moldau.raft.own_voter import OwnVoter
from moldau.raft.quorum import Quorum, Role
from moldau.raft.quorum_state import NO_NODE, QuorumState
from moldau.raft.requests import FOREVER_MS
from moldau.raft.roles import Candidate, Follower, Resigned, Unattached
from moldau.raft.voter_changes import VoterChanges
from moldau.raft.voter_history import VoterHistory
from moldau.raft.voters import VoterSet


class RaftNode:
    """The state machine of one voter or observer."""

    def __init__(
        self,
        config: RaftConfig,
        log: LogView,
        history: VoterHistory,
        state: QuorumState,
        rng: random.Random,
    ) -> None:
        quorum = Quorum(config, log, history, state, rng)
        discovery = LeaderDiscovery(quorum)
        self._quorum = quorum
        self._elections = Elections(quorum, discovery)
        self._following = Following(quorum, discovery)
        self._own_voter = OwnVoter(quorum, discovery)
        self._changes = VoterChanges(quorum)
        self._leading = Leading(quorum, self._changes)
        self.deadline_ms = 0

    # Facts

    @property
    def role(self) -> Role:
        return self._quorum.role

    @property
    def state(self) -> QuorumState:
        return self._quorum.state

    @property
    def leader_epoch(self) -> int:
        return self._quorum.epoch

    @property
    def leader_id(self) -> int:
        """The leader of the epoch; -1 if it is not known or has resigned."""
        is_resigned = isinstance(self._quorum.role, Resigned)
        return NO_NODE if is_resigned else self._quorum.state.leader_id

    @property
    def current_leader(self) -> CurrentLeader:
        """The leader with its addresses, as answers to other nodes name it."""
        return self._quorum.current_leader

    @property
    def is_leader(self) -> bool:
        return isinstance(self._quorum.role, Leader)

    @property
    def is_voter(self) -> bool:
        return self._quorum.is_voter

    @property
    def voters(self) -> VoterSet:
        return self._quorum.voters

    @property
    def history(self) -> VoterHistory:
        return self._quorum.history

    @property
    def high_watermark(self) -> int:
        """Everything before it is committed; -1 if that is not known."""
        return self._quorum.high_watermark

    @property
    def epoch_start_offset(self) -> int:
        """Where the epoch of this leader begins; -1 if this node does not lead."""
        role = self._quorum.role
        return role.epoch_start_offset if isinstance(role, Leader) else -1

    @property
    def is_shut_down(self) -> bool:
        """Whether the quorum no longer needs this node, after ``ShutDown``."""
        quorum = self._quorum
        has_other_leader = self.leader_id not in (NO_NODE, quorum.config.node_id)
        is_needed = quorum.is_voter and not quorum.is_only_voter and not has_other_leader
        return quorum.is_shutting_down and not is_needed

    def describe(self, now_ms: int, wall_ms: int) -> QuorumDescription | None:
        """The progress of all replicas; None if this node does not lead."""
        return describe_quorum(self._quorum, now_ms, wall_ms)

    # Inputs

    def start(self, now_ms: int) -> list[Effect]:
        """Take up the role of the time before the restart. A lone voter leads at once."""
        quorum = self._quorum
        quorum.start(now_ms)
        if quorum.is_only_voter:
            if isinstance(quorum.role, Candidate):
                quorum.to_leader(now_ms)
            else:
                quorum.to_prospective(now_ms)
        return self._polled(now_ms)

    def step(self, message: Message, now_ms: int) -> list[Effect]:
        """Process one message or report."""
        if isinstance(message, LogAppended):
            self._on_appended(message, now_ms)
        elif isinstance(message, LogFlushed):
            self._on_flushed(message, now_ms)
        elif isinstance(message, LogTruncated):
            self._quorum.is_log_changing = False
        elif isinstance(message, Received):
            self._on_request(message.reply_to, message.request, now_ms)
        elif isinstance(message, Answered):
            self._on_answer(message, now_ms)
        elif isinstance(message, RequestFailed):
            self._on_failure(message, now_ms)
        elif isinstance(message, SnapshotInstalled):
            self._following.on_snapshot_installed(message)
        elif isinstance(message, LeaderGone):
            self._elections.on_leader_gone(message, now_ms)
        elif isinstance(message, Resign):
            role = self._quorum.role
            if isinstance(role, Leader) and message.leader_epoch == self._quorum.epoch:
                role.is_resigning = True
        else:
            self._quorum.is_shutting_down = True
        return self._polled(now_ms)

    def tick(self, now_ms: int) -> list[Effect]:
        """Do what is due. To be called at ``deadline_ms``."""
        return self._polled(now_ms)

    def upgrade_kraft_version(
        self, leader_epoch: int, version: int, now_ms: int, *, validate_only: bool = False
    ) -> list[Effect]:
        """Raise kraft.version. ApiError: NOT_CONTROLLER, INVALID_UPDATE_VERSION."""
        self._changes.upgrade(leader_epoch, version, validate_only=validate_only)
        return self._polled(now_ms)

    # Reports about the own log

    def _on_appended(self, report: LogAppended, now_ms: int) -> None:
        quorum = self._quorum
        quorum.is_log_changing = False
        role = quorum.role
        has_new_voters = False
        for change in report.changes:
            quorum.history.add(change)
            if isinstance(change, VotersChange):
                has_new_voters = True
                if isinstance(role, Leader):
                    self._changes.on_voters_appended(role, change.offset)
        if isinstance(role, Leader):
            self._leading.on_appended(role, has_new_voters, now_ms)
        elif isinstance(role, Follower):
            self._following.commit(role)

    def _on_flushed(self, report: LogFlushed, now_ms: int) -> None:
        quorum = self._quorum
        # A flush that was under way during a truncation may report more than there is.
        end_offset = min(report.end_offset, quorum.log.end_offset)
        quorum.flushed_end = max(quorum.flushed_end, end_offset)
        if isinstance(quorum.role, Leader):
            self._leading.on_flushed(quorum.role, now_ms)

    # Requests and responses

    def _on_request(self, reply_to: int, request: Request, now_ms: int) -> None:
        response: Response
        if isinstance(request, FetchRequest):
            self._leading.on_fetch_request(reply_to, request, now_ms)
            return
        if isinstance(request, FetchSnapshotRequest):
            self._leading.on_snapshot_request(reply_to, request, now_ms)
            return
        if isinstance(request, AddVoterRequest):
            self._changes.on_add_request(reply_to, request, now_ms)
            return
        if isinstance(request, RemoveVoterRequest):
            self._changes.on_remove_request(reply_to, request, now_ms)
            return
        if isinstance(request, VoteRequest):
            response = self._elections.on_vote_request(request, now_ms)
        elif isinstance(request, BeginQuorumEpochRequest):
            response = self._elections.on_begin_request(request, now_ms)
        elif isinstance(request, EndQuorumEpochRequest):
            response = self._elections.on_end_request(request, now_ms)
        elif isinstance(request, UpdateVoterRequest):
            response = self._changes.on_update_request(request, now_ms)
        else:
            assert isinstance(request, ApiVersionsRequest)
            config = self._quorum.config
            response = ApiVersionsResponse(
                ErrorCode.NONE, config.min_kraft_version, config.max_kraft_version
            )
        self._quorum.emit(Reply(reply_to, response))

    def _on_answer(self, answer: Answered, now_ms: int) -> None:
        expected = self._quorum.requests.expecting(answer.request_id)
        if expected is not None:
            peer = expected[0]
            is_success = self._on_response(peer, answer.response, now_ms)
            self._quorum.requests.finished(peer, answer.request_id, is_success, now_ms)

    def _on_response(self, peer: Peer, response: Response, now_ms: int) -> bool:
        """Returns whether the node can be asked again at once."""
        if isinstance(response, FetchResponse):
            return self._following.on_fetch_response(response, now_ms)
        if isinstance(response, FetchSnapshotResponse):
            return self._following.on_snapshot_response(response, now_ms)
        if isinstance(response, VoteResponse):
            return self._elections.on_vote_response(peer, response, now_ms)
        if isinstance(response, BeginQuorumEpochResponse):
            return self._elections.on_begin_response(response, now_ms)
        if isinstance(response, EndQuorumEpochResponse):
            return self._elections.on_end_response(peer, response, now_ms)
        if isinstance(response, UpdateVoterResponse):
            return self._own_voter.on_update_response(response, now_ms)
        if isinstance(response, ApiVersionsResponse):
            return self._changes.on_api_versions(peer, response, now_ms)
        return self._own_voter.on_change_response(response, now_ms)

    def _on_failure(self, report: RequestFailed, now_ms: int) -> None:
        expected = self._quorum.requests.expecting(report.request_id)
        if expected is None:
            return
        peer, request = expected
        is_success = False
        if isinstance(request, VoteRequest):
            is_success = self._elections.on_vote_failed(report.error, now_ms)
        elif isinstance(request, UpdateVoterRequest):
            is_success = self._own_voter.on_update_failed(report.error)
        elif isinstance(request, ApiVersionsRequest):
            self._changes.on_api_versions(peer, ApiVersionsResponse(report.error), now_ms)
        self._quorum.requests.finished(peer, report.request_id, is_success, now_ms)

    # Timers

    def _polled(self, now_ms: int) -> list[Effect]:
        """Do what is due in the current role, and in those that it changes to."""
        while True:
            role = self._quorum.role
            self.deadline_ms = self._poll(role, now_ms)
            if self._quorum.role is role:
                break
        effects, self._quorum.effects = self._quorum.effects, []
        return effects

    def _poll(self, role: Role, now_ms: int) -> int:
        if isinstance(role, Leader):
            return self._leading.poll(role, now_ms)
        if isinstance(role, Follower):
            return self._poll_follower(role, now_ms)
        if isinstance(role, Unattached):
            next_ms = self._elections.poll_election_timer(role, now_ms)
            if self._quorum.role is not role:
                return next_ms
            return min(next_ms, self._following.poll_bootstrap(now_ms))
        if isinstance(role, Resigned):
            return self._elections.poll_resigned(role, now_ms)
        return self._elections.poll_nominee(role, now_ms)

    def _poll_follower(self, role: Follower, now_ms: int) -> int:
        quorum = self._quorum
        if quorum.is_shutting_down:
            return FOREVER_MS
        next_ms = FOREVER_MS
        if quorum.may_stand:
            if now_ms >= role.fetch_expires_ms and quorum.is_on_disk:
                quorum.to_prospective(now_ms)
                return now_ms
            if now_ms < role.fetch_expires_ms:
                next_ms = role.fetch_expires_ms
        request = self._own_voter.wanted(role, now_ms)
        leader = self._following.leader_peer()
        if request is not None and leader is not None:
            return min(next_ms, self._own_voter.poll(role, leader, request, now_ms))
        return min(next_ms, self._following.poll_fetch(role, now_ms))
