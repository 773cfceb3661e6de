"""The parts of a broker that outlive a request, put together.

Each part, and each handler (``apis``), is given the parts it uses; only the start and stop of a
node see all of them. ``node`` builds a broker with real sockets and disks; tests build one with
simulated ones.
"""

import asyncio
import contextlib
import logging
import random
from collections.abc import Coroutine
from typing import TYPE_CHECKING, Any, Final

from moldau.broker.broker_channels import BrokerChannels
from moldau.broker.cluster_metadata import ClusterMetadata
from moldau.broker.directory_assignments import DirectoryAssignments
from moldau.broker.dynamic_config import DynamicConfig
from moldau.broker.fenced_brokers import FencedBrokers
from moldau.broker.fetch_sessions import FetchSessionCache
from moldau.broker.forwarding import Forwarding
from moldau.broker.group_runtime import GroupRuntime
from moldau.broker.isr_changes import IsrChanges
from moldau.broker.led_partitions import LedPartitions
from moldau.broker.log_levels import LogLevels
from moldau.broker.lost_leaders import LostLeaders
from moldau.broker.marker_writing import MarkerWriter
from moldau.broker.metadata_answers import MetadataAnswers
from moldau.broker.producer_ids import ProducerIds
from moldau.broker.record_checks import RecordChecks
from moldau.broker.replica_fetchers import ReplicaFetchers
from moldau.broker.replica_manager import ReplicaManager
from moldau.broker.replica_mover import ReplicaMover
from moldau.broker.topic_creation import TopicCreation
from moldau.broker.transaction_runtime import TransactionRuntime
from moldau.broker.transaction_verification import TransactionVerification
from moldau.clock import Clock
from moldau.config.broker import BrokerConfig
from moldau.errors import ApiError
from moldau.metadata.delta import MetadataDelta
from moldau.metadata.image import MetadataImage
from moldau.network.network import Network
from moldau.network.turns import Turns
from moldau.storage.disk.disk import Disk
from moldau.storage.log_manager import LogManager

if TYPE_CHECKING:
    from moldau.broker.marker_sending import MarkerSender

logger = logging.getLogger(__name__)

# How long a stop waits for the controller to take what it must know.
REPORT_TIMEOUT_S: Final = 2.0


class Broker:
    """State that outlives a request. To be used on one event loop."""

    def __init__(
        self,
        config: BrokerConfig,
        clock: Clock,
        rng: random.Random,
        disk: Disk,
        logs: LogManager,
        metadata: ClusterMetadata,
        record_checks: RecordChecks,
        turns: Turns,
        log_levels: LogLevels,
        network: Network,
    ) -> None:
        self.node_id = config.node_id
        self.clock = clock
        self.rng = rng
        self.disk = disk
        self.logs = logs
        self.metadata = metadata
        self.turns = turns
        self.record_checks = record_checks
        self.log_levels = log_levels
        self.configs = DynamicConfig(config)
        publisher, lifecycle = metadata.publisher, metadata.lifecycle
        channel = metadata.forwarding_channel
        self.assignments = DirectoryAssignments(config.node_id, logs, publisher, lifecycle, channel)
        self.isr_changes = IsrChanges(config.node_id, lifecycle.epoch, metadata.isr_channel)
        self.led = LedPartitions(
            config.node_id, clock, self.configs, publisher, lifecycle.epoch, self.isr_changes
        )
        self.lost_leaders = LostLeaders(config, publisher, network, clock)
        self.fenced_brokers = FencedBrokers(config, publisher, clock)
        self.fetchers = self._new_fetchers(network)
        self.replicas = ReplicaManager(
            config.node_id, logs, self.configs, self.led, self.assignments.note, self.fetchers
        )
        self.mover = ReplicaMover(logs, self.replicas, self.assignments, self.configs, clock)
        self.forwarding = Forwarding(config.node_id, channel, publisher, self.replicas)
        self.topic_creation = TopicCreation(self.configs, self.forwarding)
        self._reporting: set[asyncio.Task[None]] = set()
        slots = config.max_incremental_fetch_session_cache_slots
        self.fetch_sessions = FetchSessionCache(slots, rng)
        self.metadata_answers = MetadataAnswers()
        self.channels = BrokerChannels(network, publisher, self.configs, rng)
        self.producer_ids = ProducerIds(config.node_id, lifecycle.epoch, channel)
        self.groups = GroupRuntime(
            self.configs, self.replicas, self.topic_creation, clock, rng, turns
        )
        self.marker_writer = MarkerWriter(self.replicas, self.groups, clock, turns)
        self.transactions = self._new_transactions()
        # A connection of its own to each broker: no write waits behind the markers of others.
        self.verification_channels = BrokerChannels(network, publisher, self.configs, rng)
        self.verification = self._new_verification()

    @property
    def config(self) -> BrokerConfig:
        """The current settings, including dynamic ones."""
        return self.configs.broker

    @property
    def image(self) -> MetadataImage:
        return self.metadata.publisher.image

    def start(self) -> None:
        """Host the partitions in the metadata, and apply changes from now on."""
        self.configs.follow(self.image)
        self.replicas.start(self.image)
        self.groups.start(self.image)
        self.transactions.start(self.image)
        self.mover.resume()
        self.metadata.publisher.add_listener(self._on_metadata)

    def stop(self) -> None:
        """Complete all waiting requests, and follow nobody any more."""
        self.fetchers.close()
        self.lost_leaders.close()
        self.transactions.stop()
        self.groups.stop()
        self.channels.close()
        self.verification_channels.close()
        self.assignments.stop()
        self.isr_changes.stop()
        self.replicas.release_waiters()

    async def settle(self) -> None:
        """Return when nothing is appended or moved any more and the controller has all reports.

        Without a controller it returns all the same: a start reports again what is still true.
        """
        await self.fetchers.closed()
        await self.channels.closed()
        await self.verification_channels.closed()
        await self.mover.stop()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(REPORT_TIMEOUT_S):
                await self.assignments.settled()
                if self._reporting:
                    await asyncio.wait(self._reporting)

    def directory_failed(self, path: str) -> None:
        """Give up what waits for a failed disk, and report it to the controller."""
        self.replicas.close_offline()
        self.mover.review()
        directory_id = self.logs.dirs.failed_ids.get(path)
        if directory_id is not None:
            saying = self.metadata.lifecycle.report_offline([directory_id])
            self._report(saying, "a directory failed")

    def host_again(self) -> None:
        """Host the partitions for which no disk had space, if one has now."""
        if self.replicas.host_again():
            self.groups.follow_when_settled()
            self.transactions.follow_when_settled()

    def cordon(self) -> list[bytes]:
        """Place no new partitions in the cordoned directories; returns their ids."""
        dirs = self.logs.dirs
        dirs.cordoned = self.config.cordoned_log_dirs
        return dirs.cordoned_ids()

    def _new_fetchers(self, network: Network) -> ReplicaFetchers:
        return ReplicaFetchers(
            self.node_id,
            self.metadata.lifecycle.epoch,
            self.configs,
            self.metadata.publisher,
            network,
            self.clock,
            self.rng,
            self.turns,
            # Recovery must not trust what is written in the place of other batches.
            self.logs.checkpoint_recovery_points,
            self.lost_leaders,
        )

    def _new_transactions(self) -> TransactionRuntime:
        return TransactionRuntime(
            self.configs,
            self.metadata.publisher,
            self.replicas,
            self.topic_creation,
            self.producer_ids,
            self._new_marker_sender,
            self.clock,
            self.turns,
        )

    def _new_verification(self) -> TransactionVerification:
        return TransactionVerification(
            self.node_id,
            self.configs,
            self.metadata.publisher,
            self.replicas,
            self.transactions,
            self.verification_channels,
            self.clock,
        )

    def _new_marker_sender(self) -> "MarkerSender":
        # Imported late: a broker without transactions starts faster.
        from moldau.broker.marker_sending import MarkerSender

        return MarkerSender(
            self.configs,
            self.metadata.publisher,
            self.marker_writer,
            self.channels,
            self.clock,
            self.rng,
            self.turns,
        )

    def _report(self, saying: Coroutine[Any, Any, None], what: str) -> None:
        """Report to the controller, in a task that ``settle`` waits for."""

        async def report() -> None:
            try:
                await saying
            except ApiError as error:
                logger.error("the controller does not know that %s: %s", what, error)

        task = asyncio.get_running_loop().create_task(report())
        self._reporting.add(task)
        task.add_done_callback(self._reporting.discard)

    def _on_metadata(self, image: MetadataImage, delta: MetadataDelta) -> None:
        self.configs.follow(image)
        if self.config.cordoned_log_dirs != self.logs.dirs.cordoned:
            saying = self.metadata.lifecycle.report_cordoned(self.cordon())
            self._report(saying, "directories were cordoned or freed")
        self.fetchers.resize()
        self.fenced_brokers.apply(delta)
        self.replicas.apply(image, delta)
        self.groups.apply(image, delta)
        self.transactions.apply(image, delta)
        if delta.deleted_topics:
            self.mover.review()
