"""The metadata of a node: builds the parts that agree on it, act on it and publish it.

    lifecycle --request--> channel --> runtime --records--> raft --commit--> publisher

``raft`` is this node in the metadata quorum, ``publisher`` has the committed image, ``runtime`` the
controller while it is active here, and ``lifecycle`` is what this broker tells the controller
about itself. Nothing is decided here; this is the order of start and stop.
"""

import asyncio
import contextlib
import logging
import random
from collections.abc import Callable, Sequence
from typing import Final

from moldau.broker.broker_lifecycle import BrokerLifecycle
from moldau.broker.controller_apis import ControllerApis
from moldau.broker.controller_location import ControllerLocation
from moldau.broker.controller_registrar import ControllerRegistrar
from moldau.broker.controller_runtime import ControllerRuntime
from moldau.broker.failure_detection import FailureDetection
from moldau.broker.handlers.quorum import Quorum
from moldau.broker.handlers.raft import Raft
from moldau.broker.leader_recovery import report_recovered
from moldau.broker.metadata_publisher import MetadataPublisher
from moldau.broker.node_to_controller import RETRY_TIMEOUT_MS, NodeToControllerChannel
from moldau.broker.raft_driver import RaftDriver
from moldau.broker.registration import broker_registration, previous_broker_epoch
from moldau.broker.snapshot_generator import SnapshotGenerator
from moldau.clock import Clock
from moldau.config.broker import BrokerConfig
from moldau.config.listeners import Listener
from moldau.errors import ApiError
from moldau.ids import new_uuid
from moldau.metadata.image import MetadataImage
from moldau.network.network import Network
from moldau.network.outgoing import OutboundSettings
from moldau.network.socket_network import SocketNetwork
from moldau.network.turns import Turns
from moldau.storage.disk.disk import Disk
from moldau.storage.disk.late_writes import Executor
from moldau.storage.running_marks import killed_broker_epoch

logger = logging.getLogger(__name__)

# A broker without a controller has nothing better to do than to try again.
RECONNECT_BACKOFF_MAX_MS: Final = 50
# How often a node that leaves looks for a controller, and how long it goes on without one.
CHECK_S: Final = 0.1
MAX_ALONE_S: Final = 3.0
# The same, if the others cannot even be reached: nobody is about to be elected.
MAX_UNREACHABLE_S: Final = 1.0


class ClusterMetadata:
    """The metadata of one node. To be used on one event loop."""

    def __init__(
        self,
        config: BrokerConfig,
        disk: Disk,
        clock: Clock,
        rng: random.Random,
        executor: Executor | None = None,
        on_failure: Callable[[str], None] | None = None,
        turns: Turns | None = None,
        network: Network | None = None,
    ) -> None:
        """``on_failure`` is called, on any thread, with the reason if the metadata cannot be
        changed any more.
        """
        self._config = config
        self._disk = disk
        self._rng = rng
        self._on_failure = on_failure
        self.raft = RaftDriver(config, disk, clock, rng, executor, on_failure, network)
        store = self.raft.store
        self.publisher = MetadataPublisher(store, self._cannot_replay)
        turns = turns or Turns()
        self._network = network or SocketNetwork()
        self.detection = FailureDetection(config, self.publisher, self._network, clock)
        self.runtime = ControllerRuntime(
            config, self.raft, self.publisher, clock, rng, turns, self.detection
        )
        self.controller_apis = ControllerApis(
            self.runtime,
            Raft(self.raft, self.detection.seen),
            Quorum(self.raft),
            turns,
            self.detection,
        )
        self._location = ControllerLocation(config, self.raft, self.publisher)
        # Heartbeats do not wait behind requests of clients.
        self.channel = self._new_channel(config.broker_session_timeout_ms)
        self.forwarding_channel = self._new_channel(RETRY_TIMEOUT_MS)
        # Whether records are committed may depend on these requests.
        self.isr_channel = self._new_channel(RETRY_TIMEOUT_MS)
        self.lifecycle = BrokerLifecycle(config, self.channel, self.publisher, rng)
        self.channel.on_lost = self.lifecycle.beat_soon
        self.registrar = ControllerRegistrar(config.node_id, self.channel, self.publisher)
        self.snapshots = SnapshotGenerator(config, store, self.publisher)
        self.raft.add_listener(self.publisher)
        self.raft.add_listener(self.runtime)
        self.raft.add_listener(self.channel)
        self.raft.add_listener(self.forwarding_channel)
        self.raft.add_listener(self.isr_channel)

    def _new_channel(self, retry_timeout_ms: int) -> NodeToControllerChannel:
        config = self._config
        settings = OutboundSettings(
            client_id=str(config.node_id),
            request_timeout_ms=min(config.controller_socket_timeout_ms, retry_timeout_ms),
            connection_setup_timeout_ms=config.socket_connection_setup_timeout_ms,
            connection_setup_timeout_max_ms=config.socket_connection_setup_timeout_max_ms,
            reconnect_backoff_max_ms=RECONNECT_BACKOFF_MAX_MS,
            negotiates=True,
        )
        return NodeToControllerChannel(
            config.node_id,
            self._location.find,
            self.controller_apis,
            self._network,
            settings,
            self._rng,
            logger,
            retry_timeout_ms,
        )

    @property
    def image(self) -> MetadataImage:
        """The committed state of the cluster."""
        return self.publisher.image

    @property
    def cluster_id(self) -> str:
        return self.raft.cluster_id

    # Start

    def load(self) -> None:
        """Open the files of the metadata. Nothing counts as committed yet.

        Raises:
            FormatError, CorruptSnapshot, MetadataError: with the reason and the remedy.
        """
        self.raft.load()
        self._previous_broker_epoch = previous_broker_epoch(self._config, self._disk)
        self._killed_broker_epoch = killed_broker_epoch(self._disk, self._config.log_dirs)

    async def start(self, controllers: Sequence[Listener]) -> None:
        """Join the quorum; return when this node has what was committed before.

        ``controllers`` are the addresses of this node for other controllers.
        """
        self._controllers = controllers
        self.raft.start(controllers)
        await self.publisher.wait_until(self._is_caught_up)

    def _is_caught_up(self) -> bool:
        """Whether this node has all that was committed when it learned who leads."""
        if self.image.metadata_version < 0:
            return False
        if self.raft.is_leader:
            return self.runtime.is_active
        return 0 <= self.raft.high_watermark <= self.publisher.next_offset

    async def register(
        self,
        advertised: Sequence[Listener],
        log_dirs: Sequence[bytes] | None = None,
        cordoned: Sequence[bytes] = (),
        *,
        has_complete_logs: bool = False,
    ) -> None:
        """Register this node with the active controller; return when its broker is unfenced.

        ``advertised`` are the addresses for clients, ``log_dirs`` the ids of the broker's
        directories (by default of all that exist), ``cordoned`` of those that get no new
        partitions. ``has_complete_logs`` says that nothing was missing in them.
        """
        config = self._config
        incarnation_id = self._new_incarnation_id()
        if config.is_controller:
            await self.registrar.start(incarnation_id, self._controllers)
        if config.is_broker:
            self.lifecycle.cordoned = cordoned
            request = broker_registration(
                config,
                self.cluster_id,
                incarnation_id,
                advertised,
                self.raft.store.directory_ids() if log_dirs is None else sorted(log_dirs),
                self._epoch_without_loss(has_complete_logs),
            )
            await self.lifecycle.start(request)
            await self.publisher.wait_until(self._is_unfenced)
            epoch = self.lifecycle.broker_epoch
            try:
                await report_recovered(config.node_id, epoch, self.image, self.channel)
            except ApiError as error:
                # They are led all the same, and the next change of their ISRs reports it, too.
                logger.warning("recovered partitions are not reported: %s", error)
        logger.info(
            "cluster %s at metadata.version %d: epoch %d, %d topics",
            self.cluster_id,
            self.image.metadata_version,
            self.raft.leader_epoch,
            len(self.image.topics_by_name),
        )

    def _epoch_without_loss(self, has_complete_logs: bool) -> int:
        """The epoch of the last broker on these directories if it lost nothing; -1 otherwise."""
        if self._previous_broker_epoch < 0 and has_complete_logs:
            return self._killed_broker_epoch
        return self._previous_broker_epoch

    def _new_incarnation_id(self) -> bytes:
        image = self.image
        former = [broker.incarnation_id for broker in image.brokers.values()]
        former += [controller.incarnation_id for controller in image.controllers.values()]
        incarnation_id = new_uuid(self._rng)
        while incarnation_id in former:
            incarnation_id = new_uuid(self._rng)
        return incarnation_id

    def _is_unfenced(self) -> bool:
        broker = self.image.brokers.get(self._config.node_id)
        return broker is not None and not broker.fenced

    # Stop

    @property
    def has_others(self) -> bool:
        """Whether other nodes can take over what this one does."""
        others = [broker for broker in self.image.brokers if broker != self._config.node_id]
        return bool(others) or not self.raft.is_alone

    async def leave(self) -> None:
        """Give up all leaderships, so that the shutdown counts as clean.

        To be called while this node still serves, if there are others.
        """
        self.registrar.stop()
        if self.raft.has_failed:
            return
        leaving = asyncio.get_running_loop().create_task(self._leave())
        alone_s = 0.0
        while not (await asyncio.wait([leaving], timeout=CHECK_S))[0]:
            # Without a majority there is nobody to leave it to.
            alone_s = 0.0 if self.raft.has_majority else alone_s + CHECK_S
            if alone_s >= (MAX_ALONE_S if self.raft.sees_majority else MAX_UNREACHABLE_S):
                logger.warning("node %d stops without a controller", self._config.node_id)
                leaving.cancel()
                # Nobody can fetch from a node that is about to close: it must not be elected.
                self.raft.retire()
        with contextlib.suppress(asyncio.CancelledError):
            await leaving

    async def _leave(self) -> None:
        await self.lifecycle.shut_down()
        if not self.raft.has_failed:
            await self.raft.shut_down()

    async def stop(self) -> None:
        """Close the files, after ``leave``."""
        if not self.raft.has_failed:
            self.snapshots.stop()
        await self.channel.close()
        await self.forwarding_channel.close()
        await self.isr_channel.close()
        self.close()
        await self.raft.peers.closed()

    def close(self) -> None:
        """Stop at once: say nothing to anybody."""
        self.registrar.stop()
        self.lifecycle.abandon()
        self.channel.hang_up()
        self.forwarding_channel.hang_up()
        self.isr_channel.hang_up()
        self.runtime.stop()
        self.raft.close()

    def _cannot_replay(self, error: BaseException) -> None:
        if self._on_failure is not None:
            self._on_failure(str(error))
