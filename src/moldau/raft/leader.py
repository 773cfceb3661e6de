"""What a leader knows about the replicas of its epoch, and what follows from it.

A replica says what it has by asking for what comes next: each fetch acknowledges everything before
it. From this are derived

* the high watermark: what a majority of the voters has on disk, once that includes a record of
  this epoch (Raft §5.4.2, Figure 8; KAFKA-12619);
* whether a majority still follows (check-quorum): a leader that is cut off resigns after one and a
  half fetch timeouts, so that clients look for the new one (KAFKA-15489);
* which observers have caught up and may become voters.

The leader itself counts only as long as it is a voter: after a record that removes it, it leads
until the record is committed, by a majority of the others (KAFKA-16530, KAFKA-16531).
"""

from typing import Final, NamedTuple

from moldau.ids import NO_UUID
from moldau.raft.config import RaftConfig
from moldau.raft.messages import Endpoints, FetchRequest, ReplicaKey
from moldau.raft.quorum_state import QuorumState
from moldau.raft.requests import FOREVER_MS
from moldau.raft.voters import VoterSet

OBSERVER_SESSION_MS: Final = 300_000
CAUGHT_UP_WITHIN_MS: Final = 3_600_000


class Replica:
    """The progress of one voter or observer. Times are monotonic, -1 means never."""

    __slots__ = (
        "end_offset",
        "endpoints",
        "key",
        "last_caught_up_ms",
        "last_fetch_leader_end",
        "last_fetch_ms",
    )

    def __init__(self, key: ReplicaKey, endpoints: Endpoints = ()) -> None:
        self.key = key
        self.endpoints = endpoints
        self.end_offset = -1
        self.last_fetch_ms = -1
        self.last_fetch_leader_end = -1
        self.last_caught_up_ms = -1

    def is_at(self, key: ReplicaKey) -> bool:
        """Whether this is the state of ``key``; a static voter has no directory id."""
        is_same = self.key.directory_id in (NO_UUID, key.directory_id)
        return self.key.id == key.id and is_same

    def fetched(self, offset: int, leader_end: int, now_ms: int) -> None:
        if offset >= leader_end:
            self.last_caught_up_ms = now_ms
        elif 0 < self.last_fetch_leader_end <= offset:
            # It has what the leader had at the fetch before.
            self.last_caught_up_ms = max(self.last_caught_up_ms, self.last_fetch_ms)
        self.last_fetch_leader_end = leader_end
        self.last_fetch_ms = now_ms
        self.end_offset = offset


class ParkedFetch(NamedTuple):
    """A fetch that waits for records or for a new high watermark."""

    reply_to: int
    request: FetchRequest
    expires_ms: int


class PendingVoterChange:
    """The one change of the voters that is under way, and the request to answer."""

    def __init__(
        self, reply_to: int, voter: ReplicaKey, endpoints: Endpoints, expires_ms: int, is_add: bool
    ) -> None:
        self.reply_to = reply_to
        self.voter = voter
        self.endpoints = endpoints
        self.expires_ms = expires_ms
        self.is_add = is_add
        self.ack_when_committed = True
        self.is_answered = False
        self.is_appended = False
        # Of the VotersRecord; -1 before it is in the log.
        self.offset = -1


class Leader:
    def __init__(
        self,
        config: RaftConfig,
        epoch_start_offset: int,
        voters: VoterSet,
        granting: tuple[int, ...],
        now_ms: int,
    ) -> None:
        self._key = config.replica
        self._check_timeout_ms = config.fetch_timeout_ms * 3 // 2
        self._begin_timeout_ms = config.fetch_timeout_ms // 2
        self._check_ms = now_ms + self._check_timeout_ms
        self._following: dict[int, None] = {}
        self.begin_ms = now_ms
        self.epoch_start_offset = epoch_start_offset
        self.granting = granting
        self.high_watermark = -1
        self.is_resigning = False
        self.parked: list[ParkedFetch] = []
        self.pending: PendingVoterChange | None = None
        # With kraft.version 0: what voters tell about themselves, needed for the upgrade to 1.
        self.volatile_voters: VoterSet | None = None
        self.requested_kraft_version: int | None = None
        self.observers: dict[ReplicaKey, Replica] = {}
        self.voters: dict[int, Replica] = {
            voter.id: Replica(ReplicaKey(voter.id, voter.directory_id), voter.endpoints)
            for voter in voters.voters.values()
        }

    def may_grant(
        self, state: QuorumState, candidate: ReplicaKey, is_up_to_date: bool, is_pre_vote: bool
    ) -> bool:
        return False

    # Progress

    def replica(self, key: ReplicaKey) -> Replica:
        voter = self.voters.get(key.id)
        if voter is not None and voter.is_at(key):
            return voter
        return self.observers.setdefault(key, Replica(key))

    def is_voter(self, key: ReplicaKey) -> bool:
        voter = self.voters.get(key.id)
        return voter is not None and voter.is_at(key)

    def flushed(self, end_offset: int) -> bool:
        """The own log is on disk up to ``end_offset``; returns whether more is committed."""
        self.replica(self._key).end_offset = end_offset
        return self._advance()

    def fetched(self, key: ReplicaKey, offset: int, leader_end: int, now_ms: int) -> bool:
        """A replica has everything before ``offset``; returns whether more is committed."""
        if key.id < 0:
            return False
        self.replica(key).fetched(offset, leader_end, now_ms)
        self.follows(key, now_ms)
        return self.is_voter(key) and self._advance()

    def change_voters(self, voters: VoterSet, now_ms: int) -> bool:
        """A VotersRecord is in the log and counts from now on; whether more is committed."""
        if self._is_alone:
            # Nobody had to follow until now, so the time of the last majority says nothing.
            self._check_ms = now_ms + self._check_timeout_ms
        previous = self.voters
        self.voters = {}
        for voter in voters.voters.values():
            key = ReplicaKey(voter.id, voter.directory_id)
            old = previous.get(voter.id)
            if old is not None and old.is_at(key):
                del previous[voter.id]
            else:
                old = self.observers.get(key)
            replica = Replica(key) if old is None else old
            self.observers.pop(key, None)
            replica.key = key
            replica.endpoints = voter.endpoints
            self.voters[voter.id] = replica
        for removed in previous.values():
            removed.endpoints = ()
            self.observers.setdefault(removed.key, removed)
        return self._advance()

    def _advance(self) -> bool:
        ends = sorted((voter.end_offset for voter in self.voters.values()), reverse=True)
        replicated = ends[len(ends) // 2]
        if replicated <= self.epoch_start_offset or replicated <= self.high_watermark:
            return False
        self.high_watermark = replicated
        return True

    def is_caught_up(self, key: ReplicaKey, now_ms: int) -> bool:
        """Whether an observer has once reached the end of the log, and still fetches."""
        replica = self.observers.get(key)
        return (
            replica is not None
            and replica.last_caught_up_ms >= 0
            and now_ms - replica.last_fetch_ms < CAUGHT_UP_WITHIN_MS
        )

    def successors(self) -> tuple[ReplicaKey, ...]:
        """The other voters, the most complete log first."""
        others = [voter for voter in self.voters.values() if not voter.is_at(self._key)]
        others.sort(key=lambda voter: (-voter.end_offset, voter.key))
        return tuple(voter.key for voter in others)

    def forget_silent_observers(self, now_ms: int) -> None:
        self.observers = {
            key: replica
            for key, replica in self.observers.items()
            if key == self._key or now_ms - replica.last_fetch_ms < OBSERVER_SESSION_MS
        }

    # Check-quorum and heartbeats

    @property
    def _is_alone(self) -> bool:
        return len(self.voters) == 1 and self._key.id in self.voters

    @property
    def check_quorum_ms(self) -> int:
        """When to resign unless a majority fetches before."""
        return FOREVER_MS if self._is_alone else self._check_ms

    def follows(self, key: ReplicaKey, now_ms: int) -> None:
        """A replica fetched, a snapshot or records."""
        if not self.is_voter(key):
            return
        self._following[key.id] = None
        needed = len(self.voters) // 2 + 1
        if self._key.id in self.voters:
            needed -= 1
        if len(self._following) >= needed:
            self._following.clear()
            self._check_ms = now_ms + self._check_timeout_ms

    def silent_voters(self, now_ms: int) -> list[ReplicaKey]:
        """The voters that may not know this leader."""
        return [
            voter.key
            for voter in self.voters.values()
            if voter.key.id != self._key.id
            and (voter.last_fetch_ms < 0 or now_ms - voter.last_fetch_ms >= self._begin_timeout_ms)
        ]

    def began(self, now_ms: int) -> None:
        self.begin_ms = now_ms + self._begin_timeout_ms
