"""Nodes for transcripts: a message in, the effects out."""

import random

from moldau.errors import ErrorCode
from moldau.raft.config import RaftConfig
from moldau.raft.effects import Effect, Send
from moldau.raft.log_view import LogEnd
from moldau.raft.messages import (
    Answered,
    CurrentLeader,
    FetchRequest,
    FetchResponse,
    KraftVersionChange,
    LogAppended,
    LogFlushed,
    Message,
    Peer,
    Received,
    ReplicaKey,
    Request,
    RequestFailed,
    Response,
    VoteResponse,
    VotersChange,
)
from moldau.raft.node import RaftNode
from moldau.raft.quorum_state import QuorumState
from moldau.raft.voter_history import VoterHistory
from moldau.raft.voters import VoterSet
from tests.raft.cluster import directory, endpoint, voter
from tests.raft.model_log import Entry, ModelLog

EPOCH = 4
END = LogEnd(EPOCH, 10)
LATER = 10_000
OK = ErrorCode.NONE


def key(node_id: int) -> ReplicaKey:
    """A replica as it names itself."""
    return ReplicaKey(node_id, directory(node_id))


def peer(node_id: int) -> Peer:
    return Peer(node_id, f"host{node_id}", 9093)


def leader_of(node_id: int, epoch: int) -> CurrentLeader:
    return CurrentLeader(node_id, epoch, (endpoint(node_id),))


def nobody(epoch: int) -> CurrentLeader:
    return CurrentLeader(-1, epoch)


class Subject:
    """Node 1 with a log of ten records of epoch 4, on disk; the other voters are 2 and 3."""

    def __init__(
        self,
        voters: int = 3,
        state: QuorumState | None = None,
        *,
        node_id: int = 1,
        is_dynamic: bool = False,
        records: int = 10,
        bootstrap_servers: tuple[tuple[str, int], ...] = (),
        can_become_voter: bool = True,
        auto_join: bool = False,
    ) -> None:
        self.log = ModelLog()
        for number in range(records):
            self.log.append(Entry(EPOCH, number))
        self.log.flushed = records
        voter_set = VoterSet.of(
            *(voter(number, is_static=not is_dynamic) for number in range(1, voters + 1))
        )
        history = VoterHistory(voter_set)
        if is_dynamic:
            history.reset(0, 1, voter_set)
        config = RaftConfig(
            node_id,
            directory(node_id),
            endpoints=(endpoint(node_id),),
            bootstrap_servers=bootstrap_servers,
            can_become_voter=can_become_voter,
            auto_join=auto_join,
        )
        state = QuorumState(EPOCH) if state is None else state
        self.raft = RaftNode(config, self.log, history, state, random.Random(1))
        self.now_ms = 0
        self.sent: dict[int, int] = {}
        self.voters = voter_set

    # Inputs

    def start(self) -> list[Effect]:
        return self._seen(self.raft.start(self.now_ms))

    def tick(self, after_ms: int | None = None) -> list[Effect]:
        """At the deadline, or after a time."""
        due_ms = max(self.raft.deadline_ms, self.now_ms)
        self.now_ms = due_ms if after_ms is None else self.now_ms + after_ms
        return self._seen(self.raft.tick(self.now_ms))

    def step(self, message: Message) -> list[Effect]:
        return self._seen(self.raft.step(message, self.now_ms))

    def receive(self, request: Request, reply_to: int = 7) -> list[Effect]:
        return self.step(Received(reply_to, request))

    def answer(self, node_id: int, response: Response) -> list[Effect]:
        """The answer to the last request to a node."""
        return self.step(Answered(self.sent[node_id], response))

    def fail(self, node_id: int, error: ErrorCode = ErrorCode.BROKER_NOT_AVAILABLE) -> list[Effect]:
        """The last request to a node fails."""
        return self.step(RequestFailed(self.sent[node_id], error))

    def append(self, count: int = 1, *changes: VotersChange | KraftVersionChange) -> list[Effect]:
        """The driver appends records of the current epoch."""
        for _ in range(count):
            self.log.append(Entry(self.raft.leader_epoch))
        return self.step(LogAppended(changes))

    def flush(self) -> list[Effect]:
        self.log.flushed = self.log.end_offset
        return self.step(LogFlushed(self.log.end_offset))

    def _seen(self, effects: list[Effect]) -> list[Effect]:
        for effect in effects:
            if isinstance(effect, Send):
                self.sent[effect.peer.id] = effect.request_id
        return effects


def started(**kwargs: int) -> Subject:
    """Node 1, which knows no leader in epoch 4."""
    subject = Subject(**kwargs)  # type: ignore[arg-type]
    subject.start()
    return subject


def sends(effects: list[Effect]) -> list[tuple[int, Request]]:
    """The requests among the effects, without their numbers."""
    return [(each.peer.id, each.request) for each in effects if isinstance(each, Send)]


def others(effects: list[Effect]) -> list[Effect]:
    return [each for each in effects if not isinstance(each, Send)]


def candidate(voters: int = 3, *, is_dynamic: bool = False) -> Subject:
    """Node 1 stands in epoch 5, with a majority of pre-votes."""
    subject = Subject(voters, is_dynamic=is_dynamic)
    subject.start()
    subject.tick(2_000)
    for node_id in range(2, voters // 2 + 2):
        subject.answer(node_id, VoteResponse(OK, nobody(EPOCH), is_granted=True))
    assert voters == 1 or subject.raft.state.voted_id == 1
    return subject


def leader(voters: int = 3, *, is_dynamic: bool = False) -> Subject:
    """Node 1 leads epoch 5, whose first record has offset 10; all of it is flushed."""
    subject = candidate(voters, is_dynamic=is_dynamic)
    for node_id in range(2, voters // 2 + 2):
        subject.answer(node_id, VoteResponse(OK, nobody(EPOCH + 1), is_granted=True))
    assert subject.raft.is_leader
    subject.append()
    subject.flush()
    return subject


def fetch(
    node_id: int,
    offset: int,
    *,
    epoch: int = EPOCH + 1,
    last_epoch: int = EPOCH + 1,
    high_watermark: int = -1,
    max_wait_ms: int = 500,
) -> FetchRequest:
    return FetchRequest(
        key(node_id), epoch, offset, last_epoch, high_watermark, max_wait_ms=max_wait_ms
    )


def follower(*, has_fetched: bool = True, can_become_voter: bool = True) -> Subject:
    """Node 1 follows node 2 in epoch 4."""
    subject = Subject(state=QuorumState(EPOCH, leader_id=2), can_become_voter=can_become_voter)
    subject.start()
    if has_fetched:
        subject.answer(2, FetchResponse(OK, leader_of(2, EPOCH), high_watermark=8))
    return subject
