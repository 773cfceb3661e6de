"""The state that all parts of the machine share, and the changes of role.

Rules this module keeps:

* The epoch never decreases. In one epoch a node votes at most once and accepts at most one leader.
* Epoch, vote and leader are persisted before a message that depends on them is sent (Raft §5.2).
* A node that led an epoch does not lead it again after a restart: it starts as Resigned, because
  it cannot know which of its unflushed records others have seen (KAFKA-10527).
* A node stands for election only when its log is on disk: after a crash it must still be the log
  that its voters compared with theirs.
"""

import random
from collections.abc import Callable
from typing import Final

from moldau.errors import ErrorCode
from moldau.ids import NO_UUID
from moldau.raft.config import RaftConfig
from moldau.raft.effects import (
    AppendLeaderChange,
    Committed,
    Effect,
    LeaderChanged,
    Persist,
    Reply,
    Send,
)
from moldau.raft.leader import Leader
from moldau.raft.log_view import LogView, SnapshotId
from moldau.raft.messages import (
    AddVoterResponse,
    CurrentLeader,
    Endpoints,
    FetchResponse,
    Peer,
    RemoveVoterResponse,
    ReplicaKey,
    Request,
)
from moldau.raft.quorum_state import NO_NODE, QuorumState
from moldau.raft.requests import Requests
from moldau.raft.roles import Candidate, Follower, Prospective, Resigned, Unattached, Votes
from moldau.raft.voter_history import BOOTSTRAP_OFFSET, VoterHistory
from moldau.raft.voters import Voter, VoterSet

NOT_LEADER_MESSAGE: Final = (
    "For requests intended only for the leader, this error indicates that the broker is not the "
    "current leader. For requests intended for any replica, this error indicates that the broker "
    "is not a replica of the topic partition."
)

Role = Unattached | Prospective | Candidate | Leader | Follower | Resigned


class Quorum:
    """The persistent state is in ``state``; ``effects`` collects those of the current step."""

    def __init__(
        self,
        config: RaftConfig,
        log: LogView,
        history: VoterHistory,
        state: QuorumState,
        rng: random.Random,
    ) -> None:
        self.config = config
        self.log = log
        self.history = history
        self.state = state
        self.requests = Requests(config.retry_backoff_ms, config.request_timeout_ms)
        self.effects: list[Effect] = []
        self.role: Role = Unattached(0)
        self.leader_endpoints: Endpoints = ()
        self.high_watermark = -1
        self.is_shutting_down = False
        # What is on disk, what the driver still has to report, and what it is busy with.
        self.flushed_end = log.end_offset
        self.is_log_changing = False
        self.installing: SnapshotId | None = None
        self._rng = rng
        self._announced = (NO_NODE, -1)
        self._persisted = state

    # Facts

    @property
    def voters(self) -> VoterSet:
        return self.history.voters

    @property
    def epoch(self) -> int:
        return self.state.leader_epoch

    @property
    def has_leader(self) -> bool:
        return self.state.leader_id != NO_NODE

    @property
    def is_voter(self) -> bool:
        return self.voters.has(self.config.node_id, self.config.directory_id)

    @property
    def may_stand(self) -> bool:
        """Whether this node can be elected: as a voter, or until its removal is committed.

        If a leader that removes itself crashes, the others may lack the record, and then need
        its vote, which it does not give to a shorter log. So it stands once more and completes
        the removal (Ongaro's thesis, §4.2.2). Kafka would wait for ever, with two voters.
        """
        if self.is_voter:
            return True
        offset = self.history.voters_offset
        if offset is None or offset < max(self.high_watermark, 0):
            return False
        previous = self.history.voters_at(offset - 1) or self.history.static_voters
        return previous.has(self.config.node_id, self.config.directory_id)

    @property
    def is_only_voter(self) -> bool:
        return len(self.voters.voters) == 1 and self.is_voter

    @property
    def is_on_disk(self) -> bool:
        """Whether the log is as complete on disk as in memory, and stays as it is."""
        return (
            self.installing is None
            and not self.is_log_changing
            and self.flushed_end >= self.log.end_offset
        )

    @property
    def current_leader(self) -> CurrentLeader:
        endpoints = self.leader_endpoints if self.has_leader else ()
        return CurrentLeader(self.state.leader_id, self.epoch, endpoints)

    @property
    def local_voter(self) -> Voter:
        config = self.config
        return Voter(
            config.node_id,
            config.directory_id,
            config.endpoints,
            config.min_kraft_version,
            config.max_kraft_version,
        )

    def check_leader(self, leader_epoch: int) -> ErrorCode:
        """Whether a request for the leader of an epoch is for this node."""
        if leader_epoch < self.epoch:
            return ErrorCode.FENCED_LEADER_EPOCH
        if leader_epoch > self.epoch:
            return ErrorCode.UNKNOWN_LEADER_EPOCH
        if not isinstance(self.role, Leader):
            # A node that looks for the leader asks with the epoch that it knows.
            return ErrorCode.NOT_LEADER_OR_FOLLOWER
        return ErrorCode.BROKER_NOT_AVAILABLE if self.is_shutting_down else ErrorCode.NONE

    def election_timeout_ms(self) -> int:
        """Randomised, so that voters rarely compete (Raft §5.2)."""
        timeout_ms = self.config.election_timeout_ms
        return timeout_ms + self._rng.randrange(timeout_ms) if timeout_ms > 0 else 0

    def random_index(self, count: int) -> int:
        return self._rng.randrange(count)

    def peer(self, node_id: int, endpoints: Endpoints) -> Peer | None:
        """The address of a node at the quorum's listener."""
        for endpoint in endpoints:
            if endpoint.name == self.config.listener_name:
                return Peer(node_id, endpoint.host, endpoint.port)
        return None

    # Effects

    def emit(self, effect: Effect) -> None:
        self.effects.append(effect)

    def send(self, peer: Peer, make: Callable[[], Request], now_ms: int) -> tuple[bool, int]:
        """Send a request if the node is ready; whether it was sent, and when to look again."""
        is_ready = self.requests.is_ready(peer.id, now_ms)
        if is_ready:
            request = make()
            self.emit(Send(self.requests.sent(peer, request, now_ms), peer, request))
        return is_ready, self.requests.ready_ms(peer.id)

    def commit(self, high_watermark: int) -> None:
        if high_watermark > self.high_watermark:
            self.high_watermark = high_watermark
            self.emit(Committed(high_watermark))

    # Changes of role

    def start(self, now_ms: int) -> None:
        """Take up the role of the time before the restart."""
        state, node_id = self.state, self.config.node_id
        election_ms = now_ms + self.election_timeout_ms()
        if state.leader_epoch < self.log.last_epoch:
            # The file is older than the log: an epoch with records is not used again.
            state = QuorumState(self.log.last_epoch)
        role: Role = Unattached(election_ms)
        endpoints: Endpoints = ()
        if state.leader_id == node_id:
            others = tuple(voter for voter in self.voters.ids if voter != node_id)
            role = Resigned(others, (), election_ms)
            endpoints = self.config.endpoints
        elif self._is_own_vote(state) and self.may_stand:
            role = Candidate(Votes(self.voters, node_id), election_ms)
        elif state.leader_id != NO_NODE:
            endpoints = self.voters.endpoints(state.leader_id)
            if self.peer(state.leader_id, endpoints) is not None:
                role = Follower(self.config.fetch_timeout_ms, now_ms)
            else:
                endpoints = ()
        self._persist(state)
        self._enter(role, endpoints)

    def _is_own_vote(self, state: QuorumState) -> bool:
        """Whether this node was a candidate. With kraft.version 0 the file has no directory."""
        is_same = state.voted_directory_id in (NO_UUID, self.config.directory_id)
        return state.voted_id == self.config.node_id and is_same

    def to_unattached(self, epoch: int, leader_id: int, now_ms: int) -> None:
        role = self.role
        is_same_epoch = epoch == self.epoch
        is_lost = isinstance(role, Prospective) and role.votes.is_lost
        assert epoch > self.epoch or (is_same_epoch and isinstance(role, Prospective)), role
        election_ms = now_ms + self.election_timeout_ms()
        if isinstance(role, Unattached | Prospective | Candidate | Resigned) and not is_lost:
            election_ms = role.election_ms
        # The vote of this epoch is kept, so that there is no second one.
        kept = self.state if is_same_epoch else QuorumState()
        self._persist(QuorumState(epoch, leader_id, kept.voted_id, kept.voted_directory_id))
        self._enter(Unattached(election_ms), ())

    def to_prospective(self, now_ms: int) -> None:
        assert self.may_stand, "an observer cannot be elected"
        votes = Votes(self.voters, self.config.node_id)
        self._enter(Prospective(votes, now_ms + self.election_timeout_ms()), self.leader_endpoints)
        if votes.is_won:
            self.to_candidate(now_ms)

    def to_candidate(self, now_ms: int) -> None:
        assert isinstance(self.role, Prospective), self.role
        assert self.may_stand, "an observer cannot be elected"
        epoch = self.epoch + 1
        votes = Votes(self.voters, self.config.node_id)
        if votes.is_won:
            # The only voter leads at once: that it voted for itself need not be written first.
            self.state = QuorumState(epoch, NO_NODE, *self.config.replica)
        else:
            self._persist(QuorumState(epoch, NO_NODE, *self.config.replica))
        self._enter(Candidate(votes, now_ms + self.election_timeout_ms()), ())
        if votes.is_won:
            self.to_leader(now_ms)

    def to_leader(self, now_ms: int) -> None:
        role = self.role
        assert isinstance(role, Candidate), role
        assert role.votes.is_won, role.votes.granting
        assert self.may_stand, "an observer cannot lead"
        assert self.is_on_disk, "a leader begins with a log that is on disk"
        granting = role.votes.granting
        leader = Leader(self.config, self.log.end_offset, self.voters, granting, now_ms)
        leader.flushed(self.flushed_end)
        self._persist(QuorumState(self.epoch, self.config.node_id))
        self.requests.forget_all()
        self.role = leader
        self.leader_endpoints = self.config.endpoints
        if self.history.kraft_version == 0:
            leader.volatile_voters = self.voters.with_voter(self.local_voter)
        self.emit(self._leader_change(granting))
        self._announce()

    def _leader_change(self, granting: tuple[int, ...]) -> AppendLeaderChange:
        """The first batch of the epoch, with the voters if the log does not have them."""
        history = self.history
        voters: VoterSet | None = None
        if history.kraft_version > 0 and self.is_voter:
            is_missing = history.voters_offset in (None, BOOTSTRAP_OFFSET)
            own = self.voters.voters[self.config.node_id]
            if is_missing or not own.is_same(self.local_voter):
                voters = self.voters.with_voter(self.local_voter)
        return AppendLeaderChange(
            self.epoch, self.voters.ids, granting, history.kraft_version, voters
        )

    def to_follower(self, leader: CurrentLeader, now_ms: int) -> None:
        assert leader.id != self.config.node_id, "a node does not follow itself"
        assert leader.epoch >= self.epoch, leader
        kept = self.state if leader.epoch == self.epoch else QuorumState()
        self._persist(QuorumState(leader.epoch, leader.id, kept.voted_id, kept.voted_directory_id))
        self._enter(Follower(self.config.fetch_timeout_ms, now_ms), leader.endpoints)

    def to_resigned(self, preferred_successors: tuple[ReplicaKey, ...], now_ms: int) -> None:
        """Nothing is written: a leader that restarts is Resigned anyway."""
        assert isinstance(self.role, Leader), self.role
        others = tuple(voter for voter in self.voters.ids if voter != self.config.node_id)
        election_ms = now_ms + self.election_timeout_ms()
        self._enter(Resigned(others, preferred_successors, election_ms), self.config.endpoints)

    def vote(self, candidate: ReplicaKey, now_ms: int) -> None:
        """Vote in the current epoch, and wait for the election: it may well be won."""
        assert self.state.voted_id == NO_NODE, self.state
        assert candidate.id != self.config.node_id, "the own vote makes a candidate"
        self._persist(QuorumState(self.epoch, self.state.leader_id, *candidate))
        election_ms = now_ms + self.election_timeout_ms()
        if isinstance(self.role, Prospective):
            votes = Votes(self.voters, self.config.node_id)
            self._enter(Prospective(votes, election_ms), self.leader_endpoints)
        else:
            self._enter(Unattached(election_ms), ())

    def _persist(self, state: QuorumState) -> None:
        self.state = state
        if state != self._persisted:
            self._persisted = state
            self.emit(Persist(state))

    def _enter(self, role: Role, leader_endpoints: Endpoints) -> None:
        previous = self.role
        self.role = role
        self.leader_endpoints = leader_endpoints
        self.requests.forget_all()
        self._announce()
        if isinstance(previous, Leader):
            self._release(previous)

    def _release(self, leader: Leader) -> None:
        """Answer everybody who waits for the former leader."""
        error = ErrorCode.NOT_LEADER_OR_FOLLOWER
        pending = leader.pending
        if pending is not None and not pending.is_answered:
            answer = AddVoterResponse if pending.is_add else RemoveVoterResponse
            self.emit(Reply(pending.reply_to, answer(error, NOT_LEADER_MESSAGE)))
        for parked in leader.parked:
            response = FetchResponse(error, self.current_leader, -1, self.log.start_offset)
            self.emit(Reply(parked.reply_to, response))

    def _announce(self) -> None:
        leader_id = NO_NODE if isinstance(self.role, Resigned) else self.state.leader_id
        if (leader_id, self.epoch) != self._announced:
            self._announced = (leader_id, self.epoch)
            self.emit(LeaderChanged(leader_id, self.epoch))
