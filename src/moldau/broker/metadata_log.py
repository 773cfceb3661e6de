"""The metadata log of a node: makes the decisions of the controller durable and publishes them.

One partition, ``__cluster_metadata-0``, holds every change of the cluster's state, and
``quorum-state`` next to it the leader of the quorum. This module connects the two pure parts with
the disk: the raft node determines when to persist, append and commit; the controller determines
what.

The path of a change: the controller decides; its records are appended to the log, and the
controller sees them immediately; a flush, shared by all concurrent changes, makes them durable; the
raft node then declares them committed; the resulting image is published to the listeners; and
only then is the change reported to the caller.

Rules this module keeps:

* No other decision is made between a decision and the write of its records: each must see the
  effects of the previous one.
* Nothing is published or acknowledged before it is on the device.
* Images are published in the order of the log, each with its delta.
* Records that belong together but do not fit one batch go into a metadata transaction.
* After a failed flush no change is accepted until the node has been restarted.
"""

import asyncio
import logging
import random
from collections import deque
from collections.abc import Callable, Sequence
from typing import Final, NamedTuple, TypeVar

from moldau.broker.background import STEPS_PER_TURN, in_turns
from moldau.broker.broker_lifecycle import BrokerLifecycle
from moldau.broker.format import FormatError, metadata_log_dir, read_directories
from moldau.broker.leader_change import leader_change, voters_written_down, with_endpoints
from moldau.broker.metadata_change import PreparedChange
from moldau.broker.metadata_snapshot import batches_of
from moldau.broker.quorum_store import QuorumStore
from moldau.broker.registration import previous_broker_epoch
from moldau.broker.shared_flush import SharedFlush
from moldau.clock import Clock
from moldau.config.broker import BrokerConfig
from moldau.config.listeners import Listener
from moldau.controller.controller import Controller
from moldau.controller.outcome import Deciding, Outcome
from moldau.ids import new_uuid
from moldau.metadata.delta import MetadataDelta
from moldau.metadata.features import METADATA_3_6_IV1
from moldau.metadata.framing import encode_record
from moldau.metadata.image import MetadataImage
from moldau.network.turns import Turns
from moldau.protocol.message import Message
from moldau.protocol.records.metadata import (
    AbortTransactionRecord,
    BeginTransactionRecord,
    EndTransactionRecord,
)
from moldau.raft.node import (
    AppendLeaderChange,
    Committed,
    Effect,
    LogEnd,
    LogFlushed,
    Persist,
    RaftNode,
)
from moldau.raft.voters import VoterSet
from moldau.record.control import control_batch
from moldau.storage.disk import Disk
from moldau.storage.late_writes import Executor

logger = logging.getLogger(__name__)

# The limit of Kafka's controller for a batch, and for the records of a request.
MAX_RECORDS_PER_BATCH: Final = 10_000
_LARGE_BYTES: Final = 7 * 1024 * 1024
# If more of the log follows the last snapshot, one is written at a stop, for a faster start.
_LONG_TAIL_BYTES: Final = 1024 * 1024


class QuorumView(NamedTuple):
    """The state of the metadata quorum, as the leader sees it."""

    kraft_version: int
    leader_id: int
    leader_epoch: int
    high_watermark: int
    log_end_offset: int
    voters: VoterSet


MetadataListener = Callable[[MetadataImage, MetadataDelta], None]
R = TypeVar("R")


class MetadataLog:
    """The metadata of one node. To be used on one event loop."""

    def __init__(
        self,
        config: BrokerConfig,
        disk: Disk,
        clock: Clock,
        rng: random.Random,
        executor: Executor | None = None,
        on_failure: Callable[[str], None] | None = None,
    ) -> None:
        """Without an executor, flushes and snapshots run on the calling thread.

        ``on_failure`` is called, on any thread, with the reason if the metadata cannot be
        changed any more.
        """
        self._config = config
        self._disk = disk
        self._clock = clock
        self._rng = rng
        self._executor = executor
        self._when_failed = on_failure
        self._listeners: list[MetadataListener] = []
        self._unpublished: deque[tuple[MetadataImage, MetadataDelta]] = deque()
        # Held from a decision until its records are written.
        self._deciding = asyncio.Lock()
        self._bytes_since_snapshot = 0

    # Start and stop

    def load(self) -> None:
        """Load the newest snapshot and the log after it; sets ``image``.

        Raises:
            FormatError, CorruptSnapshot, MetadataError: with the reason and the remedy.
        """
        config = self._config
        path = metadata_log_dir(config)
        properties = read_directories([path], self._disk)[path]
        if properties is None or properties.cluster_id is None:
            raise FormatError(f"{path} is not formatted: run `moldau storage format`")
        self.cluster_id = properties.cluster_id
        self._directory_id = properties.directory_id or new_uuid(self._rng)
        self.controller = Controller(config.node_id, self.cluster_id, config, self._rng)
        self._previous_broker_epoch = previous_broker_epoch(config, self._disk)
        self._store = QuorumStore(
            config,
            self._disk,
            self._clock,
            self._rng,
            self._executor,
            self._directory_failed,
        )
        state = self.controller.state
        self._bytes_since_snapshot = self._store.load(state)
        # With a single voter, everything on its disk is committed.
        self.image, _ = state.take()
        self._raft = self._new_raft_node()
        self._flush = SharedFlush(self._store.log, self._on_flushed, self._on_failure)
        self._lifecycle = BrokerLifecycle(config, self.controller, self._store.log, self._write)

    def _new_raft_node(self) -> RaftNode:
        config = self._config
        voters = self._store.voters
        if not voters.is_only_voter(config.node_id):
            ids = ", ".join(map(str, voters.ids)) or "nobody"
            raise FormatError(
                f"the voters of the metadata quorum are {ids}; node {config.node_id} can only "
                "work as the one voter of its own quorum"
            )
        return RaftNode(
            config.node_id,
            voters,
            self._store.read_state(),
            LogEnd(self._store.latest_epoch, self._store.log.log_end_offset),
            self._rng,
            config.controller_quorum_election_timeout_ms,
        )

    async def start(
        self,
        advertised: Sequence[Listener],
        controllers: Sequence[Listener],
        log_dirs: Sequence[bytes] | None = None,
        cordoned: Sequence[bytes] = (),
    ) -> None:
        """Become the active controller, and register this node with it.

        ``advertised`` are the addresses for clients, ``controllers`` those for other controllers,
        ``log_dirs`` the ids of the broker's directories (by default of all that exist),
        ``cordoned`` of those that get no new partitions.
        """
        self._controllers = controllers
        self._lifecycle.cordoned = cordoned
        self._perform(self._raft.start(self._clock.now_ms()))
        self._write(self.controller.activate(self._store.read_bootstrap()))
        self._lifecycle.register(
            advertised,
            controllers,
            self._store.directory_ids() if log_dirs is None else sorted(log_dirs),
            self._previous_broker_epoch,
            self._rng,
        )
        await self._flushed()
        logger.info(
            "cluster %s at metadata.version %d: epoch %d, %d topics",
            self.cluster_id,
            self.image.metadata_version,
            self._raft.leader_epoch,
            len(self.image.topics_by_name),
        )

    @property
    def broker_epoch(self) -> int:
        """The epoch of this broker's registration; -1 before it is registered."""
        return self._lifecycle.broker_epoch

    async def report_offline(self, directory_ids: Sequence[bytes]) -> None:
        """Report failed log directories of this broker to the controller."""
        request = self._lifecycle.heartbeat_request()
        request.offline_log_dirs = list(directory_ids)
        await self.change(lambda: self.controller.broker_heartbeat(request))

    async def report_cordoned(self, directory_ids: Sequence[bytes]) -> None:
        """Report the cordoned directories of this broker to the controller."""
        self._lifecycle.cordoned = directory_ids
        request = self._lifecycle.heartbeat_request()
        await self.change(lambda: self.controller.broker_heartbeat(request))

    async def stop(self) -> None:
        """Give up all leaderships, so that the shutdown counts as clean."""
        if not self._flush.has_failed:
            async with self._deciding:
                self._lifecycle.shut_down()
            await self._flushed()
            if self._bytes_since_snapshot > _LONG_TAIL_BYTES:
                self._bytes_since_snapshot = 0
                self._store.write_snapshot(self.image, in_background=False)
        self._store.log.close()

    @property
    def quorum(self) -> QuorumView:
        """The voters, the leader, and the end of the log."""
        raft = self._raft
        return QuorumView(
            kraft_version=self._store.kraft_version,
            leader_id=raft.leader_id,
            leader_epoch=raft.leader_epoch,
            high_watermark=raft.high_watermark,
            log_end_offset=self._store.log.log_end_offset,
            voters=raft.voters,
        )

    # Changes

    def add_listener(self, listener: MetadataListener) -> None:
        """Call ``listener(image, delta)`` for every change from now on, in order."""
        self._listeners.append(listener)

    async def change(self, decide: Callable[[], Outcome[R]]) -> R:
        """Let the controller decide, commit its records, return its response.

        Raises:
            ApiError: what ``decide`` raises, or KAFKA_STORAGE_ERROR. If the disk is full,
                nothing was changed; if it failed, nothing can be changed until a restart.
        """
        async with self._deciding:
            outcome = decide()
            await self._write_in_turns(outcome.records)
        if outcome.records:
            await self._flushed()
        return outcome.response

    async def change_in_turns(self, decide: Callable[[], Deciding[R]], turns: Turns) -> R:
        """Like ``change``, for a large decision: other requests are served between its steps."""
        async with self._deciding:
            outcome = await turns.complete(decide())
            await self._write_in_turns(outcome.records)
        if outcome.records:
            await self._flushed()
        return outcome.response

    async def append(self, records: Sequence[Message]) -> MetadataImage:
        """Commit records that need no decision; returns the image that includes them."""
        await self.change(lambda: Outcome(list(records), None))
        return self.image

    async def _write_in_turns(self, records: Sequence[Message]) -> None:
        """Write the records; a large number is processed in several turns of the loop."""
        in_transaction = self.controller.state.transaction_offset >= 0
        if not STEPS_PER_TURN < len(records) <= MAX_RECORDS_PER_BATCH or in_transaction:
            self._write(records)
            return
        change = PreparedChange(
            records,
            self.controller.image,
            base_offset=self._store.log.log_end_offset,
            epoch=self._raft.leader_epoch,
            timestamp_ms=self._clock.now_ms(),
        )
        await in_turns(change.steps())
        if change.size_bytes > _LARGE_BYTES:
            self._write(records)
            return
        self._flush.check()
        self._append_batch(change.batch())
        published = self.controller.state.adopt(
            change.delta, change.last_offset, change.epoch, change.timestamp_ms
        )
        self._unpublished.append(published)

    def _write(self, records: Sequence[Message]) -> None:
        """Append records to the log, and apply them to the controller."""
        self._flush.check()
        if not records:
            return
        is_abort = isinstance(records[0], AbortTransactionRecord)
        if self.controller.state.transaction_offset >= 0 and not is_abort:
            # Left from an append that failed half-way.
            records = [AbortTransactionRecord(reason="Append failed"), *records]
        records, values = self._encoded(records)
        now_ms = self._clock.now_ms()
        batches = batches_of(
            values,
            base_offset=self._store.log.log_end_offset,
            epoch=self._raft.leader_epoch,
            timestamp_ms=now_ms,
            max_records=MAX_RECORDS_PER_BATCH,
        )
        first = 0
        for batch, count in batches:
            contents = records[first : first + count]
            offset = self._append_batch(batch)
            published = self.controller.replay(offset, self._raft.leader_epoch, now_ms, contents)
            self._unpublished.append(published)
            first += count

    def _encoded(self, records: Sequence[Message]) -> tuple[Sequence[Message], list[bytes]]:
        """The encoded records: in a transaction if they do not fit into one batch."""
        version = self.controller.image.metadata_version
        values = [encode_record(record, version) for record in records]
        is_large = len(values) > MAX_RECORDS_PER_BATCH or sum(map(len, values)) > _LARGE_BYTES
        if is_large and version >= METADATA_3_6_IV1:
            begin = BeginTransactionRecord(name="Large change")
            end = EndTransactionRecord()
            records = [begin, *records, end]
            values = [encode_record(begin, version), *values, encode_record(end, version)]
        return records, values

    def _append_batch(self, batch: bytes) -> int:
        info = self._store.log.append_as_follower(batch)
        assert info is not None
        self._raft.appended(info.last_offset + 1)
        self._bytes_since_snapshot += len(batch)
        return info.first_offset

    def _perform(self, effects: Sequence[Effect]) -> None:
        for effect in effects:
            if isinstance(effect, Persist):
                self._store.write_state(effect.state)
            elif isinstance(effect, AppendLeaderChange):
                self._append_leader_change(effect)
            elif isinstance(effect, Committed):
                self._store.log.update_high_watermark(effect.high_watermark)
                self._publish(effect.high_watermark)
            else:
                raise AssertionError(f"a quorum of one has nobody to send {effect} to")

    def _append_leader_change(self, effect: AppendLeaderChange) -> None:
        """Write the first batch of the epoch, with the voters of a dynamic quorum if needed."""
        store = self._store
        node_id = self._config.node_id
        records = [leader_change(node_id, self._raft.voters.ids, effect.granting_voters)]
        voters = with_endpoints(self._raft.voters, node_id, self._controllers)
        if store.kraft_version > 0 and (not store.has_voters_in_log or voters != store.voters):
            records += voters_written_down(store.kraft_version, voters)
            self._raft.voters = store.voters = voters
            store.has_voters_in_log = True
        now_ms = self._clock.now_ms()
        end_offset = store.log.log_end_offset
        batch = control_batch(
            records, now_ms, base_offset=end_offset, leader_epoch=effect.leader_epoch
        )
        self._append_batch(batch)
        last_offset = store.log.log_end_offset - 1
        self.controller.state.replay_control(last_offset, effect.leader_epoch, now_ms)

    # Committing

    async def _flushed(self) -> None:
        """Wait until the current end of the log is committed and published."""
        if self._store.log.log_end_offset > self._raft.high_watermark:
            await self._flush.wait()

    def _on_flushed(self, end_offset: int) -> None:
        self._perform(self._raft.step(LogFlushed(end_offset), self._clock.now_ms()))
        most_bytes = self._config.metadata_log_max_record_bytes_between_snapshots
        if self._bytes_since_snapshot >= most_bytes:
            # Not now: a flush that others wait for has priority.
            asyncio.get_running_loop().call_soon(self.maybe_snapshot)

    def _on_failure(self, error: BaseException) -> None:
        logger.critical("metadata can no longer be changed: %s", error)
        if self._when_failed is not None:
            self._when_failed(str(error))

    def _directory_failed(self, log_dir: str, doing: str, error: OSError) -> None:
        """The disk of the metadata failed. May be called by a flushing thread."""
        if self._when_failed is not None:
            self._when_failed(f"{log_dir} failed while {doing}: {error}")

    def _publish(self, high_watermark: int) -> None:
        while self._unpublished and self._unpublished[0][0].offset < high_watermark:
            image, delta = self._unpublished.popleft()
            self.image = image
            for listener in self._listeners:
                try:
                    listener(image, delta)
                except Exception:
                    logger.exception("a listener failed on the metadata of offset %d", image.offset)

    # Snapshots

    def maybe_snapshot(self) -> None:
        """Write a snapshot if there were changes since the last, and delete what it replaces."""
        image = self.image
        if self.controller.state.transaction_offset >= 0 or self._bytes_since_snapshot == 0:
            return
        self._bytes_since_snapshot = 0
        self._store.write_snapshot(image)
