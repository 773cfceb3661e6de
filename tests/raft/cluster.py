"""A cluster of raft machines in one process: seeded faults, and the invariants of Raft.

Every node has a model of its disk (``ModelLog`` and the quorum state). The network delays, drops,
doubles and reorders requests and responses and is cut one way or both; nodes crash, also between
two effects of one step, and lose what was not flushed. One heap of (time, sequence) decides what
happens next, so that a seed replays exactly.

Checked at every step: one leader in an epoch; a committed record is never lost or changed; a new
leader has all of them; the high watermark never falls. After the faults: there is a leader, and
what it appends is committed everywhere.
"""

import heapq
import random
import struct
from collections.abc import Callable
from typing import NamedTuple

from moldau.raft.config import RaftConfig
from moldau.raft.effects import (
    AppendLeaderChange,
    AppendRecords,
    AppendSnapshot,
    AppendVoters,
    Committed,
    Effect,
    InstallSnapshot,
    LeaderChanged,
    Persist,
    Reply,
    ReplyRecords,
    ReplySnapshot,
    Send,
    Truncate,
)
from moldau.raft.log_view import SnapshotId
from moldau.raft.messages import (
    Answered,
    KraftVersionChange,
    LogAppended,
    LogFlushed,
    LogTruncated,
    Message,
    Received,
    Request,
    RequestFailed,
    Response,
    SnapshotInstalled,
    VotersChange,
)
from moldau.raft.node import RaftNode
from moldau.raft.quorum_state import QuorumState
from moldau.raft.voter_history import VoterHistory
from moldau.raft.voters import Voter, VoterEndpoint, VoterSet
from tests.raft.model_log import Entry, ModelLog, Snapshot

MAX_ENTRIES_PER_FETCH = 5


class InvariantBroken(Exception):  # noqa: N818
    """What must never happen, happened."""


class Waiting(NamedTuple):
    """A request that was delivered, and where its answer goes; -1 is a client."""

    sender: int
    incarnation: int
    request_id: int


def endpoint(node_id: int) -> VoterEndpoint:
    return VoterEndpoint("CONTROLLER", f"host{node_id}", 9093)


def directory(node_id: int) -> bytes:
    return bytes(15) + bytes([100 + node_id])


def voter(node_id: int, *, is_static: bool = False) -> Voter:
    if is_static:
        return Voter(node_id, endpoints=(endpoint(node_id),), max_kraft_version=0)
    return Voter(node_id, directory(node_id), (endpoint(node_id),))


class ModelNode:
    """One node: what its disk keeps, and the machine of the current incarnation."""

    def __init__(self, node_id: int) -> None:
        self.id = node_id
        self.log = ModelLog()
        self.state = QuorumState()
        self.raft: RaftNode | None = None
        self.incarnation = 0
        self.committed = 0
        self.parts: dict[SnapshotId, bytes] = {}
        self.tick_ms = -1


class Cluster:
    def __init__(
        self,
        seed: int,
        voters: int = 3,
        observers: int = 1,
        *,
        is_dynamic: bool = False,
        auto_join: bool = False,
    ) -> None:
        self.rng = random.Random(seed)
        self.now_ms = 0
        self.is_dynamic = is_dynamic
        self.auto_join = auto_join
        self.static_voters = VoterSet.of(
            *(voter(each, is_static=not is_dynamic) for each in range(1, voters + 1))
        )
        self.bootstrap_ids = tuple(range(1, voters + observers + 1))
        self.nodes = {each: ModelNode(each) for each in range(1, voters + observers + 1)}
        # The truth: what was committed, and who led.
        self.committed: list[Entry] = []
        self.leaders: dict[int, int] = {}
        self.answers: list[Response] = []
        # The faults.
        self.drop = self.double = self.crash = 0.0
        self.delay_ms = 5
        self.flush_ms = 5
        self.cuts: dict[tuple[int, int], None] = {}
        self._heap: list[tuple[int, int, Callable[[], None]]] = []
        self._sequence = 0
        self._waiting: dict[int, Waiting] = {}
        self._packed: dict[int, tuple[int, Entry]] = {}
        self._snapshots: dict[int, Snapshot] = {}
        self._numbers = 0
        for node in self.nodes.values():
            self.start(node)

    # Nodes

    def start(self, node: ModelNode) -> None:
        node.incarnation += 1
        node.committed = node.log.start_offset
        node.tick_ms = -1
        node.parts = {}
        config = RaftConfig(
            node.id,
            directory(node.id),
            endpoints=(endpoint(node.id),),
            bootstrap_servers=tuple((endpoint(i).host, 9093) for i in self.bootstrap_ids),
            auto_join=self.auto_join,
            # Short, so that much happens in little time.
            election_timeout_ms=200,
            election_backoff_max_ms=200,
            fetch_timeout_ms=400,
            request_timeout_ms=400,
            fetch_snapshot_max_bytes=40,
        )
        rng = random.Random(self.rng.random())
        node.raft = RaftNode(config, node.log, self._history(node), node.state, rng)
        self.perform(node, node.raft.start(self.now_ms))

    def _history(self, node: ModelNode) -> VoterHistory:
        history = VoterHistory(self.static_voters)
        if self.is_dynamic:
            history.reset(-1, 1, self.static_voters)
        for snapshot in node.log.snapshots.values():
            end_offset = snapshot.snapshot_id.end_offset
            history.reset(end_offset - 1, snapshot.kraft_version, snapshot.voters)
        for nth, entry in enumerate(node.log.entries):
            for change in changes_of(node.log.start_offset + nth, entry):
                history.add(change)
        return history

    def stop(self, node: ModelNode) -> None:
        """Crash: unflushed records are lost, all or some of them."""
        node.raft = None
        lowest = max(node.log.flushed, node.log.start_offset)
        node.log.truncate(self.rng.randint(lowest, node.log.end_offset))

    def restart_later(self, node: ModelNode, delay_ms: int) -> None:
        def restart() -> None:
            if node.raft is None:
                self.start(node)

        self.at(delay_ms, restart)

    def leader(self) -> ModelNode | None:
        """The node that leads the newest epoch."""
        leading = [n for n in self.nodes.values() if n.raft is not None and n.raft.is_leader]
        return max(leading, key=lambda n: n.raft.leader_epoch if n.raft else -1, default=None)

    # Time

    def at(self, delay_ms: int, action: Callable[[], None]) -> None:
        self._sequence += 1
        heapq.heappush(self._heap, (self.now_ms + delay_ms, self._sequence, action))

    def run(self, for_ms: int) -> None:
        end_ms = self.now_ms + for_ms
        while self._heap and self._heap[0][0] <= end_ms:
            self.now_ms, _, action = heapq.heappop(self._heap)
            action()
        self.now_ms = end_ms

    def run_until(self, is_reached: Callable[[], bool], within_ms: int) -> bool:
        end_ms = self.now_ms + within_ms
        while not is_reached():
            if self.now_ms >= end_ms:
                return False
            self.run(20)
        return True

    # One step of one node

    def step(self, node: ModelNode, message: Message) -> None:
        if node.raft is not None:
            self.perform(node, node.raft.step(message, self.now_ms))

    def perform(self, node: ModelNode, effects: list[Effect]) -> None:
        reports: list[Message] = []
        incarnation = node.incarnation
        for effect in effects:
            if self.crash and self.rng.random() < self.crash:
                self.stop(node)
                self.restart_later(node, self.rng.randrange(1, self.rng.choice((20, 1000))))
                return
            report = self._perform(node, effect)
            if report is not None:
                reports.append(report)
        for report in reports:
            if node.incarnation == incarnation:
                self.step(node, report)
        self._set_timer(node)

    def _set_timer(self, node: ModelNode) -> None:
        raft = node.raft
        if raft is None or raft.deadline_ms >= 1 << 62:
            return
        due_ms = raft.deadline_ms
        if due_ms <= self.now_ms:
            raise InvariantBroken(f"{node.id} is due at {due_ms} but did nothing")
        if self.now_ms < node.tick_ms <= due_ms:
            return
        node.tick_ms = due_ms
        incarnation = node.incarnation

        def tick() -> None:
            if node.tick_ms == due_ms:
                node.tick_ms = -1
            if node.raft is raft and node.incarnation == incarnation:
                self.perform(node, raft.tick(self.now_ms))

        self.at(due_ms - self.now_ms, tick)

    def _perform(self, node: ModelNode, effect: Effect) -> Message | None:
        if isinstance(effect, Persist):
            self._check_state(node, effect.state)
            node.state = effect.state
        elif isinstance(effect, Send):
            self._send(node, effect)
        elif isinstance(effect, Reply):
            self._reply(node, effect.reply_to, effect.response)
        elif isinstance(effect, ReplyRecords):
            records = self._pack(node.log, effect.offset)
            self._reply(node, effect.reply_to, effect.response._replace(records=records))
        elif isinstance(effect, ReplySnapshot):
            self._reply_snapshot(node, effect)
        elif isinstance(effect, AppendRecords):
            return self._append_fetched(node, effect)
        elif isinstance(effect, AppendLeaderChange):
            return self._append_leader_change(node, effect)
        elif isinstance(effect, AppendVoters):
            return self._append_voters(node, effect)
        elif isinstance(effect, Truncate):
            if effect.end_offset < node.committed:
                raise InvariantBroken(f"{node.id} truncates to {effect.end_offset}")
            node.log.truncate(effect.end_offset)
            return LogTruncated()
        elif isinstance(effect, AppendSnapshot):
            self._append_snapshot(node, effect)
        elif isinstance(effect, InstallSnapshot):
            return self._install(node, effect.snapshot_id)
        elif isinstance(effect, Committed):
            self._commit(node, effect.high_watermark)
        else:
            assert isinstance(effect, LeaderChanged)
        return None

    # The network

    def _send(self, node: ModelNode, effect: Send) -> None:
        target = int(effect.peer.host.removeprefix("host"))
        waiting = Waiting(node.id, node.incarnation, effect.request_id)
        if (node.id, target) in self.cuts or self.nodes[target].raft is None:
            if self.rng.random() < 0.5:
                failed = RequestFailed(effect.request_id)
                self.at(self._delay(), lambda: self._answer(waiting, failed))
            return
        for _ in range(self._copies()):
            self.at(self._delay(), lambda: self.deliver(target, effect.request, waiting))

    def deliver(self, target: int, request: Request, waiting: Waiting) -> None:
        self._sequence += 1
        reply_to = self._sequence
        self._waiting[reply_to] = waiting
        self.step(self.nodes[target], Received(reply_to, request))

    def _reply(self, node: ModelNode, reply_to: int, response: Response) -> None:
        waiting = self._waiting.pop(reply_to)
        if waiting.sender < 0:
            self.answers.append(response)
            return
        if (node.id, waiting.sender) in self.cuts:
            return
        answered = Answered(waiting.request_id, response)
        for _ in range(self._copies()):
            self.at(self._delay(), lambda: self._answer(waiting, answered))

    def _answer(self, waiting: Waiting, message: Message) -> None:
        node = self.nodes[waiting.sender]
        if node.incarnation == waiting.incarnation:
            self.step(node, message)

    def _copies(self) -> int:
        if self.rng.random() < self.drop:
            return 0
        return 2 if self.rng.random() < self.double else 1

    def _delay(self) -> int:
        return self.rng.randint(1, self.delay_ms)

    # The log

    def append(self, node: ModelNode) -> int:
        """A client appends to a leader; returns the offset."""
        assert node.raft is not None
        self._numbers += 1
        offset = node.log.append(Entry(node.raft.leader_epoch, self._numbers))
        self._flush(node)
        self.step(node, LogAppended())
        self._set_timer(node)
        return offset

    def _flush(self, node: ModelNode) -> None:
        end_offset, incarnation = node.log.end_offset, node.incarnation
        epoch = node.log.last_epoch

        def flushed() -> None:
            if node.incarnation != incarnation or node.raft is None:
                return
            # If the log was cut in the meantime, the flush made less of it durable.
            reached = min(end_offset, node.log.end_offset_for_epoch(epoch).offset)
            node.log.flushed = max(node.log.flushed, reached)
            self.step(node, LogFlushed(reached))

        self.at(self.rng.randint(0, self.flush_ms), flushed)

    def _pack(self, log: ModelLog, offset: int) -> bytes:
        numbers = []
        for at in range(offset, min(offset + MAX_ENTRIES_PER_FETCH, log.end_offset)):
            self._sequence += 1
            self._packed[self._sequence] = (at, log.entry(at))
            numbers.append(self._sequence)
        return struct.pack(f">{len(numbers)}q", *numbers)

    def _append_fetched(self, node: ModelNode, effect: AppendRecords) -> LogAppended:
        changes: list[VotersChange | KraftVersionChange] = []
        for (number,) in struct.iter_unpack(">q", effect.records):
            offset, entry = self._packed[number]
            if offset != node.log.end_offset:
                raise InvariantBroken(f"{node.id} got {offset} but ends at {node.log.end_offset}")
            node.log.append(entry)
            changes += changes_of(offset, entry)
        if effect.must_flush:
            self._flush(node)
        return LogAppended(tuple(changes))

    def _append_leader_change(self, node: ModelNode, effect: AppendLeaderChange) -> LogAppended:
        epoch = effect.leader_epoch
        if self.leaders.setdefault(epoch, node.id) != node.id:
            raise InvariantBroken(f"{node.id} and {self.leaders[epoch]} lead epoch {epoch}")
        self._check_complete(node)
        self._append_entry(node, Entry(epoch))
        changes: list[VotersChange | KraftVersionChange] = []
        if effect.voter_set is not None:
            both = (
                Entry(epoch, kraft_version=effect.kraft_version),
                Entry(epoch, voters=effect.voter_set),
            )
            for entry in both:
                changes += changes_of(self._append_entry(node, entry), entry)
        self._flush(node)
        return LogAppended(tuple(changes))

    def _append_voters(self, node: ModelNode, effect: AppendVoters) -> LogAppended:
        changes: list[VotersChange | KraftVersionChange] = []
        if effect.kraft_version is not None:
            entry = Entry(effect.leader_epoch, kraft_version=effect.kraft_version)
            changes += changes_of(self._append_entry(node, entry), entry)
        if effect.voter_set is not None:
            entry = Entry(effect.leader_epoch, voters=effect.voter_set)
            changes += changes_of(self._append_entry(node, entry), entry)
        self._flush(node)
        return LogAppended(tuple(changes))

    def _append_entry(self, node: ModelNode, entry: Entry) -> int:
        self._numbers += 1
        return node.log.append(entry._replace(number=self._numbers))

    # Snapshots

    def snapshot(self, node: ModelNode) -> None:
        """Write a snapshot of what is committed here, and delete the log before it."""
        assert node.raft is not None
        end_offset = node.committed
        if end_offset <= node.log.start_offset:
            return
        epoch = node.log.entry(end_offset - 1).epoch
        history = node.raft.history
        snapshot = Snapshot(
            SnapshotId(end_offset, epoch),
            history.kraft_version_at(end_offset - 1),
            history.voters_at(end_offset - 1),
        )
        node.log.add_snapshot(snapshot)
        history.forget_before(end_offset)

    def _reply_snapshot(self, node: ModelNode, effect: ReplySnapshot) -> None:
        response = effect.response
        assert response.snapshot_id is not None
        self._sequence += 1
        snapshot = node.log.snapshots[response.snapshot_id]
        known = [key for key, value in self._snapshots.items() if value == snapshot]
        number = known[0] if known else self._sequence
        self._snapshots[number] = snapshot
        contents = struct.pack(">q92x", number)
        data = contents[response.position : response.position + effect.max_bytes]
        self._reply(node, effect.reply_to, response._replace(data=data))

    def _append_snapshot(self, node: ModelNode, effect: AppendSnapshot) -> None:
        previous = node.parts.get(effect.snapshot_id, b"") if effect.position else b""
        assert len(previous) == effect.position
        node.parts[effect.snapshot_id] = previous + bytes(effect.data)

    def _install(self, node: ModelNode, snapshot_id: SnapshotId) -> SnapshotInstalled:
        (number,) = struct.unpack(">q92x", node.parts.pop(snapshot_id))
        snapshot = self._snapshots[number]
        if snapshot.snapshot_id.end_offset > len(self.committed):
            raise InvariantBroken(f"{snapshot.snapshot_id} is not committed")
        node.log.restart_at(snapshot)
        node.committed = max(node.committed, snapshot_id.end_offset)
        return SnapshotInstalled(snapshot_id, snapshot.kraft_version, snapshot.voters)

    # Invariants

    def _check_state(self, node: ModelNode, state: QuorumState) -> None:
        old = node.state
        if state.leader_epoch < old.leader_epoch:
            raise InvariantBroken(f"{node.id} goes back from {old} to {state}")
        is_same = state.leader_epoch == old.leader_epoch
        if is_same and old.voted_id >= 0 and state.voted_id not in (old.voted_id, -1):
            raise InvariantBroken(f"{node.id} votes twice: {old}, {state}")
        if is_same and old.leader_id >= 0 and state.leader_id not in (old.leader_id, -1):
            raise InvariantBroken(f"{node.id} accepts two leaders: {old}, {state}")

    def _check_complete(self, node: ModelNode) -> None:
        """Leader completeness (Raft §5.4.3)."""
        if node.log.end_offset < len(self.committed):
            raise InvariantBroken(f"leader {node.id} lacks committed records")
        self._check_prefix(node, len(self.committed))

    def _check_prefix(self, node: ModelNode, end_offset: int) -> None:
        for offset in range(node.log.start_offset, end_offset):
            if node.log.entry(offset) != self.committed[offset]:
                raise InvariantBroken(f"{node.id} has another record at {offset}")

    def _commit(self, node: ModelNode, high_watermark: int) -> None:
        if high_watermark < node.committed:
            raise InvariantBroken(f"{node.id} lowers its high watermark to {high_watermark}")
        if high_watermark > node.log.end_offset:
            raise InvariantBroken(f"{node.id} commits {high_watermark} beyond its log")
        for offset in range(max(node.committed, node.log.start_offset), high_watermark):
            entry = node.log.entry(offset)
            if offset < len(self.committed):
                if self.committed[offset] != entry:
                    raise InvariantBroken(f"{node.id} commits another record at {offset}")
            else:
                assert offset == len(self.committed), "committed with a gap"
                self.committed.append(entry)
        node.committed = max(node.committed, high_watermark)


def changes_of(offset: int, entry: Entry) -> list[VotersChange | KraftVersionChange]:
    if entry.voters is not None:
        return [VotersChange(offset, entry.voters)]
    if entry.kraft_version is not None:
        return [KraftVersionChange(offset, entry.kraft_version)]
    return []
