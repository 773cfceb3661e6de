"""One voter of the metadata quorum: elections and the high watermark (Raft; KIP-595).

The node takes messages and events and returns effects, in the order in which they must
happen. It does no I/O: the driver persists, appends and sends, and reports the results.

* ``start`` and ``tick`` start an election when it is due. The only voter of a quorum needs no
  other votes: it becomes leader at once, with one write.
* ``step`` takes the messages of other voters and the reports of the driver
  (``LogFlushed``, ``ReplicaFetched``).

Rules this module keeps:

* The epoch never decreases, and in one epoch a node votes at most once; both are persisted
  before they are sent (Raft §5.2).
* A vote goes only to a candidate whose log is at least as complete (Raft §5.4.1).
* The high watermark never decreases, counts only flushed records, and does not advance
  in a new epoch until that epoch's first record is committed (Raft §5.4.2, Figure 8).
* A node that led an epoch does not lead it again after a restart: it cannot know which of
  its unflushed records others have seen.
"""

import random
from enum import Enum
from typing import NamedTuple

from moldau.raft.quorum_state import NO_NODE, QuorumState
from moldau.raft.voters import VoterSet


class Role(Enum):
    """The role of a node in its epoch."""

    UNATTACHED = "unattached"
    CANDIDATE = "candidate"
    LEADER = "leader"
    FOLLOWER = "follower"


class LogEnd(NamedTuple):
    """The end of a log. Ordered as Raft orders logs: by epoch, then by length."""

    epoch: int
    offset: int


# Messages between voters


class VoteRequest(NamedTuple):
    candidate_id: int
    candidate_epoch: int
    log_end: LogEnd


class VoteResponse(NamedTuple):
    voter_id: int
    leader_id: int
    leader_epoch: int
    vote_granted: bool


class BeginQuorumEpoch(NamedTuple):
    leader_id: int
    leader_epoch: int


# Reports of the driver


class LogFlushed(NamedTuple):
    """This node's log is on disk up to, but not including, ``end_offset``."""

    end_offset: int


class ReplicaFetched(NamedTuple):
    """Another voter has everything before ``end_offset``, which it asked for next."""

    replica_id: int
    end_offset: int


Message = VoteRequest | VoteResponse | BeginQuorumEpoch | LogFlushed | ReplicaFetched


# Effects


class Persist(NamedTuple):
    """Write and flush the quorum state before the next effect."""

    state: QuorumState


class AppendLeaderChange(NamedTuple):
    """Append a LeaderChange control record, the first record of the epoch."""

    leader_epoch: int
    granting_voters: tuple[int, ...]


class Send(NamedTuple):
    """Send a message to another voter."""

    node_id: int
    message: VoteRequest | VoteResponse | BeginQuorumEpoch


class Committed(NamedTuple):
    """Everything before ``high_watermark`` is committed."""

    high_watermark: int


Effect = Persist | AppendLeaderChange | Send | Committed


class RaftNode:
    """The state machine of one voter."""

    def __init__(
        self,
        node_id: int,
        voters: VoterSet,
        state: QuorumState,
        log_end: LogEnd,
        rng: random.Random,
        election_timeout_ms: int = 1_000,
    ) -> None:
        self.node_id = node_id
        self.voters = voters
        self.state = state
        self.log_end = log_end
        self.role = Role.UNATTACHED
        self.high_watermark = -1
        self.epoch_start_offset = -1
        self._rng = rng
        self._election_timeout_ms = election_timeout_ms
        self._election_at_ms = 0
        self._granted: dict[int, None] = {}
        self._end_offsets: dict[int, int] = {}

    @property
    def leader_id(self) -> int:
        return self.state.leader_id

    @property
    def leader_epoch(self) -> int:
        return self.state.leader_epoch

    @property
    def is_leader(self) -> bool:
        return self.role is Role.LEADER

    def start(self, now_ms: int) -> list[Effect]:
        """Start, after the log and the quorum state have been loaded."""
        if self.voters.is_only_voter(self.node_id):
            return self._become_candidate(now_ms)
        if self.state.leader_id not in (NO_NODE, self.node_id):
            self.role = Role.FOLLOWER
        self._set_election_timer(now_ms)
        return []

    def tick(self, now_ms: int) -> list[Effect]:
        """Start an election if one is due. To be called regularly."""
        may_stand = self.role is not Role.LEADER and self.node_id in self.voters.voters
        if may_stand and now_ms >= self._election_at_ms:
            return self._become_candidate(now_ms)
        return []

    def step(self, message: Message, now_ms: int) -> list[Effect]:
        """Process one message or report."""
        if isinstance(message, LogFlushed):
            return self._on_end_offset(self.node_id, message.end_offset)
        if isinstance(message, ReplicaFetched):
            return self._on_end_offset(message.replica_id, message.end_offset)
        if isinstance(message, VoteRequest):
            return self._on_vote_request(message, now_ms)
        if isinstance(message, VoteResponse):
            return self._on_vote_response(message, now_ms)
        return self._on_begin_quorum_epoch(message, now_ms)

    def appended(self, end_offset: int) -> None:
        """The driver appended to the log in the current epoch; it now ends at ``end_offset``."""
        self.log_end = LogEnd(self.state.leader_epoch, end_offset)

    # Elections

    def _become_candidate(self, now_ms: int) -> list[Effect]:
        epoch = self.state.leader_epoch + 1
        self._granted = {self.node_id: None}
        if self.voters.is_only_voter(self.node_id):
            # A leader has voted for itself in its epoch: one write records both.
            self.state = QuorumState(epoch)
            return self._become_leader()
        self.role = Role.CANDIDATE
        directory_id = self.voters.voters[self.node_id].directory_id
        self.state = QuorumState(epoch, NO_NODE, self.node_id, directory_id)
        self._set_election_timer(now_ms)
        request = VoteRequest(self.node_id, epoch, self.log_end)
        others = [voter for voter in self.voters.ids if voter != self.node_id]
        return [Persist(self.state), *(Send(voter, request) for voter in others)]

    def _become_leader(self) -> list[Effect]:
        self.role = Role.LEADER
        self.state = QuorumState(self.state.leader_epoch, self.node_id)
        self.epoch_start_offset = self.log_end.offset
        self._end_offsets = {}
        begin = BeginQuorumEpoch(self.node_id, self.state.leader_epoch)
        others = [voter for voter in self.voters.ids if voter != self.node_id]
        return [
            Persist(self.state),
            AppendLeaderChange(self.state.leader_epoch, tuple(self._granted)),
            *(Send(voter, begin) for voter in others),
        ]

    def _on_vote_request(self, request: VoteRequest, now_ms: int) -> list[Effect]:
        """Grant or refuse a vote (Raft §5.4.1; Kafka's Vote API)."""
        if request.candidate_epoch < self.state.leader_epoch:
            return [self._answer(request, is_granted=False)]

        effects: list[Effect] = []
        if request.candidate_epoch > self.state.leader_epoch:
            self.role = Role.UNATTACHED
            self.state = QuorumState(request.candidate_epoch)
            effects.append(Persist(self.state))

        is_free = self.state.leader_id == NO_NODE
        is_first = self.state.voted_id in (NO_NODE, request.candidate_id)
        is_up_to_date = request.log_end >= self.log_end
        if not (is_free and is_first and is_up_to_date):
            return [*effects, self._answer(request, is_granted=False)]

        directory_id = self.voters.voters[request.candidate_id].directory_id
        self.state = QuorumState(
            request.candidate_epoch, NO_NODE, request.candidate_id, directory_id
        )
        self._set_election_timer(now_ms)
        return [Persist(self.state), self._answer(request, is_granted=True)]

    def _answer(self, request: VoteRequest, is_granted: bool) -> Send:
        state = self.state
        response = VoteResponse(self.node_id, state.leader_id, state.leader_epoch, is_granted)
        return Send(request.candidate_id, response)

    def _on_vote_response(self, response: VoteResponse, now_ms: int) -> list[Effect]:
        if response.leader_epoch > self.state.leader_epoch:
            return self._follow(response.leader_epoch, response.leader_id, now_ms)
        is_current = response.leader_epoch == self.state.leader_epoch
        if self.role is not Role.CANDIDATE or not is_current or not response.vote_granted:
            return []
        self._granted[response.voter_id] = None
        if len(self._granted) < self.voters.majority:
            return []
        return self._become_leader()

    def _on_begin_quorum_epoch(self, message: BeginQuorumEpoch, now_ms: int) -> list[Effect]:
        if message.leader_epoch < self.state.leader_epoch:
            return []
        if (message.leader_epoch, message.leader_id) == self.state[:2]:
            self._set_election_timer(now_ms)
            return []
        return self._follow(message.leader_epoch, message.leader_id, now_ms)

    def _follow(self, epoch: int, leader_id: int, now_ms: int) -> list[Effect]:
        self.role = Role.UNATTACHED if leader_id == NO_NODE else Role.FOLLOWER
        self.state = QuorumState(epoch, leader_id)
        self._set_election_timer(now_ms)
        return [Persist(self.state)]

    def _set_election_timer(self, now_ms: int) -> None:
        # Randomised, so that voters rarely compete (Raft §5.2).
        spread_ms = self._rng.randrange(self._election_timeout_ms)
        self._election_at_ms = now_ms + self._election_timeout_ms + spread_ms

    # Commitment

    def _on_end_offset(self, voter_id: int, end_offset: int) -> list[Effect]:
        if self.role is not Role.LEADER or voter_id not in self.voters.voters:
            return []
        self._end_offsets[voter_id] = max(end_offset, self._end_offsets.get(voter_id, -1))
        ends = sorted((self._end_offsets.get(voter, -1) for voter in self.voters.ids), reverse=True)
        replicated = ends[self.voters.majority - 1]
        if replicated <= self.epoch_start_offset or replicated <= self.high_watermark:
            return []
        self.high_watermark = replicated
        return [Committed(replicated)]
