"""The roles of a node that does not lead (KIP-595, KIP-996).

    Unattached    knows the epoch, but no leader that it could fetch from
    Prospective   asks whether it would be elected, without changing the epoch (pre-vote)
    Candidate     has voted for itself in a new epoch, and asks for votes
    Follower      fetches from the leader of the epoch
    Resigned      led this epoch and no longer does; it cannot vote for another in the same epoch

A node that is not a voter is only Unattached or Follower, and is called an observer. The role
of the leader is in ``leader``.
"""

from moldau.ids import NO_UUID
from moldau.raft.log_view import SnapshotId
from moldau.raft.messages import ReplicaKey
from moldau.raft.quorum_state import NO_NODE, QuorumState
from moldau.raft.voters import VoterSet


class Votes:
    """The answers to one round of vote requests."""

    def __init__(self, voters: VoterSet, node_id: int) -> None:
        self._majority = voters.majority
        self._answers: dict[int, bool | None] = dict.fromkeys(voters.ids)
        if node_id in self._answers:
            self._answers[node_id] = True

    def record(self, voter_id: int, is_granted: bool) -> None:
        if voter_id in self._answers:
            self._answers[voter_id] = is_granted

    @property
    def granting(self) -> tuple[int, ...]:
        return tuple(voter for voter, answer in self._answers.items() if answer)

    @property
    def missing(self) -> tuple[int, ...]:
        return tuple(voter for voter, answer in self._answers.items() if answer is None)

    @property
    def is_won(self) -> bool:
        return len(self.granting) >= self._majority

    @property
    def is_lost(self) -> bool:
        return len(self.granting) + len(self.missing) < self._majority


class Unattached:
    def __init__(self, election_ms: int) -> None:
        self.election_ms = election_ms

    def may_grant(
        self, state: QuorumState, candidate: ReplicaKey, is_up_to_date: bool, is_pre_vote: bool
    ) -> bool:
        return _may_grant_without_leader(state, candidate, is_up_to_date, is_pre_vote)


class Prospective:
    def __init__(self, votes: Votes, election_ms: int) -> None:
        self.votes = votes
        self.election_ms = election_ms

    def may_grant(
        self, state: QuorumState, candidate: ReplicaKey, is_up_to_date: bool, is_pre_vote: bool
    ) -> bool:
        return _may_grant_without_leader(state, candidate, is_up_to_date, is_pre_vote)


class Candidate:
    def __init__(self, votes: Votes, election_ms: int) -> None:
        self.votes = votes
        self.election_ms = election_ms

    def may_grant(
        self, state: QuorumState, candidate: ReplicaKey, is_up_to_date: bool, is_pre_vote: bool
    ) -> bool:
        # Its one vote in this epoch is its own.
        return is_pre_vote and is_up_to_date


class Follower:
    """``has_fetched`` tells that the leader is alive: as long as it is, no pre-vote is granted."""

    def __init__(self, fetch_timeout_ms: int, now_ms: int) -> None:
        self.fetch_timeout_ms = fetch_timeout_ms
        self.fetch_expires_ms = now_ms + fetch_timeout_ms
        self.update_voter_ms = now_ms + fetch_timeout_ms
        self.has_fetched = False
        self.has_updated_leader = False
        self.leader_high_watermark = -1
        self.snapshot_id: SnapshotId | None = None
        self.snapshot_position = 0

    def fetched(self, now_ms: int) -> None:
        """The leader answered: it is alive."""
        self.has_fetched = True
        self.fetch_expires_ms = now_ms + self.fetch_timeout_ms

    def updated_voter(self, now_ms: int) -> None:
        self.update_voter_ms = now_ms + self.fetch_timeout_ms

    def may_grant(
        self, state: QuorumState, candidate: ReplicaKey, is_up_to_date: bool, is_pre_vote: bool
    ) -> bool:
        return is_pre_vote and is_up_to_date and not self.has_fetched


class Resigned:
    def __init__(
        self,
        unacknowledged: tuple[int, ...],
        preferred_successors: tuple[ReplicaKey, ...],
        election_ms: int,
    ) -> None:
        self.unacknowledged = dict.fromkeys(unacknowledged)
        self.preferred_successors = preferred_successors
        self.election_ms = election_ms

    def may_grant(
        self, state: QuorumState, candidate: ReplicaKey, is_up_to_date: bool, is_pre_vote: bool
    ) -> bool:
        return is_pre_vote and is_up_to_date


def _may_grant_without_leader(
    state: QuorumState, candidate: ReplicaKey, is_up_to_date: bool, is_pre_vote: bool
) -> bool:
    """One vote in an epoch, for a log that is at least as complete (Raft §5.2, §5.4.1)."""
    if is_pre_vote:
        return is_up_to_date
    if state.voted_id != NO_NODE:
        is_same = state.voted_id == candidate.id
        return is_same and state.voted_directory_id in (NO_UUID, candidate.directory_id)
    return state.leader_id == NO_NODE and is_up_to_date
