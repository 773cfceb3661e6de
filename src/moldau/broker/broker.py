"""A running broker as its handlers see it: the components they use, without their start.

``node`` builds one with real sockets and disks; tests build one with simulated ones. The handlers
are the same for both.
"""

import asyncio
import logging
import random
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

from moldau.broker.directory_assignments import DirectoryAssignments
from moldau.broker.dynamic_config import DynamicConfig
from moldau.broker.fetch_sessions import FetchSessionCache
from moldau.broker.group_runtime import GroupRuntime
from moldau.broker.internal_topics import creatable_topic
from moldau.broker.metadata_answers import MetadataAnswers
from moldau.broker.metadata_log import MetadataLog
from moldau.broker.producer_ids import ProducerIds
from moldau.broker.record_checks import RecordChecks
from moldau.broker.replica_manager import ReplicaManager
from moldau.broker.replica_mover import ReplicaMover
from moldau.clock import Clock
from moldau.config.broker import BrokerConfig
from moldau.controller.controller import Controller
from moldau.controller.outcome import Deciding, Outcome
from moldau.errors import ApiError
from moldau.metadata.delta import MetadataDelta
from moldau.metadata.image import MetadataImage
from moldau.network.turns import Turns
from moldau.protocol.messages.create_topics import CreateTopicsRequest
from moldau.storage.disk import Disk
from moldau.storage.log_manager import LogManager

logger = logging.getLogger(__name__)

Resp = TypeVar("Resp")


class Broker:
    """State that outlives a request. To be used on one event loop."""

    def __init__(
        self,
        config: BrokerConfig,
        clock: Clock,
        rng: random.Random,
        disk: Disk,
        logs: LogManager,
        metadata: MetadataLog,
        record_checks: RecordChecks,
    ) -> None:
        self.node_id = config.node_id
        self.clock = clock
        self.rng = rng
        self.disk = disk
        self.logs = logs
        self.metadata = metadata
        self.turns = Turns()
        self.record_checks = record_checks
        self.configs = DynamicConfig(config)
        self.assignments = DirectoryAssignments(self)
        self.replicas = ReplicaManager(config.node_id, logs, self.configs, self.assignments.note)
        self.mover = ReplicaMover(self)
        self._reporting: set[asyncio.Task[None]] = set()
        slots = config.max_incremental_fetch_session_cache_slots
        self.fetch_sessions = FetchSessionCache(slots, rng)
        self.metadata_answers = MetadataAnswers()
        self.producer_ids = ProducerIds(self)
        self.groups = GroupRuntime(self)

    @property
    def config(self) -> BrokerConfig:
        """The current settings, including dynamic ones."""
        return self.configs.broker

    @property
    def image(self) -> MetadataImage:
        return self.metadata.image

    @property
    def controller(self) -> Controller:
        return self.metadata.controller

    @property
    def cluster_id(self) -> str:
        return self.metadata.cluster_id

    def start(self) -> None:
        """Host the partitions in the metadata, and apply changes from now on."""
        self.configs.follow(self.image)
        self.replicas.start(self.image)
        self.groups.start(self.image)
        self.mover.resume()
        self.metadata.add_listener(self._on_metadata)

    def stop(self) -> None:
        """Complete all waiting requests."""
        self.groups.stop()
        self.replicas.release_waiters()

    async def settle(self) -> None:
        """Return when replica moves have stopped and all reports to the controller are done."""
        await self.mover.stop()
        await self.assignments.settled()
        if self._reporting:
            await asyncio.wait(self._reporting)

    def directory_failed(self, path: str) -> None:
        """Give up the moves on a failed disk, and report it to the controller."""
        self.mover.review()
        directory_id = self.logs.dirs.failed_ids.get(path)
        if directory_id is not None:
            self._report(self.metadata.report_offline([directory_id]), "a directory failed")

    def host_again(self, now_ms: int) -> None:
        """Host the partitions for which no disk had space, if one has now."""
        del now_ms
        if self.replicas.host_again():
            self.groups.follow_when_settled()

    def cordon(self) -> list[bytes]:
        """Place no new partitions in the cordoned directories; returns their ids."""
        dirs = self.logs.dirs
        dirs.cordoned = self.config.cordoned_log_dirs
        return dirs.cordoned_ids()

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
            saying = self.metadata.report_cordoned(self.cordon())
            self._report(saying, "directories were cordoned or freed")
        self.replicas.apply(image, delta)
        self.groups.apply(image, delta)
        if delta.deleted_topics:
            self.mover.review()

    async def change(self, decide: Callable[[], Outcome[Resp]]) -> Resp:
        """Let the controller decide; return its response when the change is durable and applied.

        The decision may be made later than the call: no other decision is made between a decision
        and the write of its records.
        """
        response = await self.metadata.change(decide)
        await self.replicas.settled()
        return response

    async def change_in_turns(self, decide: Callable[[], Deciding[Resp]]) -> Resp:
        """Like ``change``, for a large decision: other requests are served between its steps."""
        response = await self.metadata.change_in_turns(decide, self.turns)
        await self.replicas.settled()
        return response

    async def auto_create_topics(self, names: list[str]) -> None:
        """Create the topics that a client asked for. An invalid name remains unknown."""
        topics = [creatable_topic(name, self.config) for name in dict.fromkeys(names)]
        request = CreateTopicsRequest(topics=topics)
        await self.change_in_turns(lambda: self.controller.creating_topics(request))
