"""Runs this node's part in the metadata quorum: its log, its vote, its timers, its network.

The raft node decides; the driver performs its effects in order and reports the results. One
partition, ``__cluster_metadata-0``, holds every change of the cluster's state, and ``quorum-state``
next to it the epoch, the leader and the vote of this node.

Rules this module keeps:

* What is on disk is not committed until the quorum says so. Listeners are told only that.
* Nothing counts towards a commit before it is on the device; one flush serves all that was
  written before it began.
* The effects of one step are performed before the next step, and listeners are called when the
  raft node is at rest: they may append.
* After a failed flush nothing is appended until the node has been restarted.
"""

import asyncio
import logging
import random
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple

from moldau.broker.format import FormatError, metadata_log_dir, read_directories
from moldau.broker.leader_watch import LeaderWatch
from moldau.broker.quorum_failure import metadata_dir_failed, why_it_stops
from moldau.broker.quorum_listener import QuorumListener
from moldau.broker.quorum_log_changes import QuorumLogChanges
from moldau.broker.quorum_log_view import QuorumLogView
from moldau.broker.quorum_peers import QuorumPeers
from moldau.broker.quorum_settings import raft_config
from moldau.broker.quorum_store import QuorumStore
from moldau.broker.shared_flush import SharedFlush
from moldau.clock import Clock
from moldau.config.broker import BrokerConfig
from moldau.config.listeners import Listener
from moldau.errors import ApiError, ErrorCode
from moldau.ids import NO_UUID
from moldau.network.network import Network
from moldau.raft import effects as do
from moldau.raft import messages as say
from moldau.raft.description import QuorumDescription
from moldau.raft.leader import Leader
from moldau.raft.node import RaftNode
from moldau.raft.requests import FOREVER_MS
from moldau.raft.roles import Follower
from moldau.raft.voters import VoterEndpoint, VoterSet
from moldau.storage.disk.disk import Disk
from moldau.storage.disk.late_writes import Executor
from moldau.timers import DeadlineTimer

logger = logging.getLogger(__name__)

SHUT_DOWN_TIMEOUT_S: Final = 5.0
MAX_KRAFT_VERSION: Final = 1


class QuorumView(NamedTuple):
    """The state of the metadata quorum, as this node sees it."""

    kraft_version: int
    leader_id: int
    leader_epoch: int
    high_watermark: int
    log_end_offset: int
    voters: VoterSet


class RaftDriver:
    """This node in the metadata quorum. To be used on one event loop."""

    def __init__(
        self,
        config: BrokerConfig,
        disk: Disk,
        clock: Clock,
        rng: random.Random,
        executor: Executor | None = None,
        on_failure: Callable[[str], None] | None = None,
        network: Network | None = None,
    ) -> None:
        """Without an executor, flushes and snapshots run on the calling thread; without a
        network, this node must be the only voter.

        ``on_failure`` is called, on any thread, with the reason if the metadata cannot be
        changed any more.
        """
        self._config = config
        self._disk = disk
        self._clock = clock
        self._rng = rng
        self._when_failed = on_failure
        self._listeners: list[QuorumListener] = []
        self.store = QuorumStore(config, disk, clock, rng, executor, self._directory_failed)
        self._watch = LeaderWatch(config, network, lambda: self.current_leader, self.step)
        self.peers = QuorumPeers(config, network, rng, self.step, self._watch.on_lost)
        self._timer = DeadlineTimer(clock, self._on_time)
        self._inbox: deque[say.Message] = deque()
        self._notices: deque[Callable[[QuorumListener], None]] = deque()
        self._is_stepping = False
        self._is_closed = False
        self._asked: dict[int, asyncio.Future[Any]] = {}
        self._next_reply_to = 0
        self._shut_down: asyncio.Future[None] | None = None

    def add_listener(self, listener: QuorumListener) -> None:
        self._listeners.append(listener)

    # Start and stop

    def load(self) -> None:
        """Open the files; sets ``cluster_id``. Nothing is committed yet.

        Raises:
            FormatError, CorruptSnapshot, MetadataError: with the reason and the remedy.
        """
        path = metadata_log_dir(self._config)
        properties = read_directories([path], self._disk)[path]
        if properties is None or properties.cluster_id is None:
            raise FormatError(f"{path} is not formatted: run `moldau storage format`")
        self.cluster_id = properties.cluster_id
        self.directory_id = properties.directory_id or NO_UUID
        self.store.open()
        self._flush = SharedFlush(self.store.log, self._on_flushed, self._on_failure)
        self._changes = QuorumLogChanges(
            self._config.node_id, self.store, self._clock, self._flush.request, self.step
        )
        self._raft = self._new_raft_node(())

    def _new_raft_node(self, listeners: Sequence[Listener]) -> RaftNode:
        config = self._config
        own = self.store.history.voters.endpoints(config.node_id)
        endpoints = tuple(VoterEndpoint(each.name, each.host, each.port) for each in listeners)
        settings = raft_config(config, self.directory_id, endpoints or own)
        store = self.store
        view = QuorumLogView(store)
        return RaftNode(settings, view, store.history, store.read_state(), self._rng)

    def start(self, endpoints: Sequence[Listener]) -> None:
        """Take part in the quorum. ``endpoints`` are where other nodes can connect."""
        snapshot = self.store.newest_snapshot
        if snapshot.end_offset > 0:
            # What is in a snapshot was committed.
            self.store.log.update_high_watermark(snapshot.end_offset)
            self._tell(lambda listener: listener.on_snapshot(snapshot))
        self._raft = self._new_raft_node(endpoints)
        self.peers.open(self.cluster_id)
        self._go_on(self._raft.start)

    async def shut_down(self) -> None:
        """Hand over leadership, if this node leads; within a timeout."""
        self._shut_down = asyncio.get_running_loop().create_future()
        self.retire()
        try:
            async with asyncio.timeout(SHUT_DOWN_TIMEOUT_S):
                await self._shut_down
        except TimeoutError:
            logger.warning("the metadata quorum has no new leader yet")

    def retire(self) -> None:
        """Stand in no more elections, and hand over leadership; votes are still given."""
        self.step(say.ShutDown())

    def close(self) -> None:
        self._is_closed = True
        self._timer.cancel()
        self._watch.close()
        self.peers.close()
        for waiting in self._asked.values():
            waiting.cancel()
        self.store.close()

    # The quorum

    @property
    def leader_id(self) -> int:
        """The leader of the epoch; -1 if it is not known."""
        return self._raft.leader_id

    @property
    def leader_epoch(self) -> int:
        return self._raft.leader_epoch

    @property
    def is_leader(self) -> bool:
        return self._raft.is_leader

    @property
    def has_leader(self) -> bool:
        """Whether this node leads, or follows a leader that answers."""
        return isinstance(self._raft.role, Leader | Follower)

    @property
    def has_majority(self) -> bool:
        """Whether this node leads voters that it can reach, or follows a leader that it can."""
        if self.is_leader:
            return self.sees_majority
        return self.has_leader and self.peers.is_connected(self.current_leader.endpoints)

    @property
    def sees_majority(self) -> bool:
        """Whether this node has connections to so many voters that one of them may lead."""
        raft = self._raft
        count = self.peers.count_connected(raft.voters)
        return 1 + count >= raft.voters.majority if raft.is_voter else count > 0

    @property
    def is_alone(self) -> bool:
        """Whether nobody else takes part in elections."""
        return self._raft.is_voter and len(self._raft.voters.voters) == 1

    @property
    def has_replicas(self) -> bool:
        """Whether other nodes, voters or observers, replicate this leader's log."""
        role = self._raft.role
        return not self.is_alone or (isinstance(role, Leader) and bool(role.observers))

    @property
    def current_leader(self) -> say.CurrentLeader:
        """The leader with its addresses, as answers to other nodes name it."""
        return self._raft.current_leader

    @property
    def epoch_start_offset(self) -> int:
        """The offset of the first record of the epoch that this node leads."""
        return self._raft.epoch_start_offset

    @property
    def high_watermark(self) -> int:
        """The end of what is committed; -1 if this is not known yet."""
        return self._raft.high_watermark

    @property
    def log_end_offset(self) -> int:
        return self.store.log.log_end_offset

    @property
    def has_failed(self) -> bool:
        return self._flush.has_failed

    @property
    def quorum(self) -> QuorumView:
        """The voters, the leader, and the end of the log."""
        raft = self._raft
        return QuorumView(
            kraft_version=raft.history.kraft_version,
            leader_id=raft.leader_id,
            leader_epoch=raft.leader_epoch,
            high_watermark=raft.high_watermark,
            log_end_offset=self.store.log.log_end_offset,
            voters=raft.voters,
        )

    # What others ask

    def ask(self, request: say.Request) -> "asyncio.Future[Any]":
        """A request of another node; the future gets the response."""
        self._next_reply_to += 1
        waiting: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        reply_to = self._next_reply_to
        self._asked[reply_to] = waiting
        waiting.add_done_callback(lambda _: self._asked.pop(reply_to, None))
        self.step(say.Received(reply_to, request))
        return waiting

    def resign(self, epoch: int) -> None:
        """Stop leading ``epoch``, if this node still does."""
        self.step(say.Resign(epoch))

    def upgrade_kraft_version(
        self, epoch: int, version: int, *, validate_only: bool = False
    ) -> None:
        """Raise kraft.version. Raises ApiError NOT_CONTROLLER or INVALID_UPDATE_VERSION."""
        self._go_on(
            lambda now_ms: self._raft.upgrade_kraft_version(
                epoch, version, now_ms, validate_only=validate_only
            )
        )

    def max_kraft_version(self, epoch: int) -> int:
        """The highest kraft.version that all voters support, as far as the leader knows."""
        try:
            self.upgrade_kraft_version(epoch, MAX_KRAFT_VERSION, validate_only=True)
        except ApiError:
            return self._raft.history.kraft_version
        return MAX_KRAFT_VERSION

    def describe(self) -> QuorumDescription | None:
        """What the leader knows about all nodes of the quorum; None if this node does not lead."""
        return self._raft.describe(self._clock.monotonic_ms(), self._clock.wall_ms())

    # Appending

    def check_leader(self, epoch: int) -> None:
        """Raise ApiError NOT_CONTROLLER if this node does not lead ``epoch``, or that of a
        failed flush.
        """
        self._flush.check()
        if not self._raft.is_leader or self._raft.leader_epoch != epoch:
            raise ApiError(ErrorCode.NOT_CONTROLLER, f"this node does not lead epoch {epoch}")

    def append(self, batch: bytes, epoch: int) -> int:
        """Append a batch as the leader of ``epoch``; returns its first offset.

        ``on_committed`` is called when it is committed.
        """
        self.check_leader(epoch)
        return self._changes.append(batch)

    # Steps

    def step(self, message: say.Message) -> None:
        """Pass a message or a report to the raft node."""
        if self._is_closed or self._flush.has_failed:
            return
        self._inbox.append(message)
        self._go_on()

    def _on_time(self) -> None:
        if not self._is_closed and not self._flush.has_failed:
            self._go_on(self._raft.tick)

    def _go_on(self, begin: Callable[[int], list[do.Effect]] | None = None) -> None:
        if self._is_stepping:
            assert begin is None, "only messages come from inside a step"
            return
        self._is_stepping = True
        try:
            if begin is not None:
                self._perform(begin(self._clock.monotonic_ms()))
            while self._inbox or self._notices:
                if self._inbox:
                    message = self._inbox.popleft()
                    self._perform(self._raft.step(message, self._clock.monotonic_ms()))
                else:
                    self._tell(self._notices.popleft())
        except Exception as error:
            is_refusal = isinstance(error, ApiError) and not isinstance(error.__cause__, OSError)
            if begin is None or not is_refusal:
                self.fail(error)
            if begin is not None:
                raise
        finally:
            self._is_stepping = False
        self._after_steps()

    def _after_steps(self) -> None:
        deadline_ms = self._raft.deadline_ms
        if deadline_ms < FOREVER_MS and not self._is_closed:
            self._timer.set(deadline_ms)
        waiting = self._shut_down
        if waiting is not None and self._raft.is_shut_down and not waiting.done():
            waiting.set_result(None)

    def _tell(self, notice: Callable[[QuorumListener], None]) -> None:
        for listener in self._listeners:
            notice(listener)

    def _perform(self, effects: Sequence[do.Effect]) -> None:
        for effect in effects:
            self._perform_one(effect)

    def _perform_one(self, effect: do.Effect) -> None:
        if isinstance(effect, do.Committed):
            self._commit(effect.high_watermark)
        elif isinstance(effect, do.Send):
            self.peers.send(effect)
        elif isinstance(effect, do.Reply):
            self._reply(effect.reply_to, effect.response)
        elif isinstance(effect, do.ReplyRecords):
            if effect.reply_to in self._asked:
                self._reply(effect.reply_to, self._changes.with_records(effect))
        elif isinstance(effect, do.ReplySnapshot):
            self._reply(effect.reply_to, self._changes.with_data(effect))
        elif isinstance(effect, do.Persist):
            raft = self._raft
            self.store.write_state(effect.state, raft.history.kraft_version, raft.voters.ids)
        elif isinstance(effect, do.LeaderChanged):
            leader_id, epoch = effect
            self._notices.append(lambda each: each.on_leader_change(leader_id, epoch))
        elif isinstance(effect, do.InstallSnapshot):
            snapshot = effect.snapshot_id
            self._changes.install_snapshot(snapshot)
            self._notices.append(lambda each: each.on_snapshot(snapshot))
        else:
            self._changes.perform(effect)

    def _commit(self, high_watermark: int) -> None:
        self.store.log.update_high_watermark(high_watermark)
        self._notices.append(lambda each: each.on_committed(high_watermark))

    # Replies

    def _reply(self, reply_to: int, response: say.Response) -> None:
        waiting = self._asked.pop(reply_to, None)
        # Whoever asked may be gone.
        if waiting is not None and not waiting.done():
            waiting.set_result(response)

    # Flushing

    def _on_flushed(self, end_offset: int) -> None:
        self.step(say.LogFlushed(end_offset))

    def fail(self, error: BaseException) -> None:
        """Stop: what this node should have done next is impossible."""
        self._flush.fail(error)

    def _on_failure(self, error: BaseException) -> None:
        logger.critical("metadata can no longer be changed: %s", error)
        if self._when_failed is not None:
            self._when_failed(why_it_stops(error, metadata_log_dir(self._config)))
        if isinstance(error, OSError):
            error = ApiError(ErrorCode.KAFKA_STORAGE_ERROR, str(error))
        for listener in self._listeners:
            listener.on_failure(error)

    def _directory_failed(self, log_dir: str, doing: str, error: OSError) -> None:
        """The disk of the metadata failed. May be called by a flushing thread."""
        if self._when_failed is not None:
            self._when_failed(metadata_dir_failed(log_dir, f"failed while {doing}: {error}"))
