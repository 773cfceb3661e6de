"""The shards of one coordinator on this broker: one per partition of its topic that is led here.

The leader of a partition of the topic is the coordinator of all that hashes to it. So coordinators
need no election of their own: a shard exists while this broker leads its partition. It is loaded
when the broker is elected, and dropped when it resigns.

Rules this module keeps:

* A shard is loaded for a leader epoch. Requests are refused with COORDINATOR_LOAD_IN_PROGRESS until
  all of the log is replayed, and with NOT_COORDINATOR where there is no shard.
* If this broker is elected again while it leads, the shard goes on in the new epoch, as in Kafka:
  nobody else has led in between whose records it lacks, or it would have been truncated first.
* A shard that does not fit its log any more is closed, and loaded again.
* The modules of the coordinator are imported before its first shard is made, in steps between which
  other requests are served. Only a start imports them at once.
"""

import asyncio
import logging
from collections.abc import Callable, Sequence
from typing import Final, Generic

from moldau.broker.hosted_shard import HostedShard, ShardT
from moldau.broker.late_imports import importing
from moldau.broker.partition import Partition
from moldau.broker.replica_manager import ReplicaManager
from moldau.broker.topic_creation import TopicCreation
from moldau.clock import Clock
from moldau.errors import ApiError, ErrorCode
from moldau.metadata.delta import MetadataDelta
from moldau.metadata.image import MetadataImage
from moldau.network.turns import Turns
from moldau.timers import call_after

RETRY_MS: Final = 10_000

logger = logging.getLogger(__name__)

GiveUp = Callable[[HostedShard[ShardT]], None]
Host = Callable[[Partition, GiveUp[ShardT]], HostedShard[ShardT]]


class CoordinatorRuntime(Generic[ShardT]):
    """Keeps the shards of a topic consistent with the leaders of its partitions."""

    def __init__(
        self,
        topic: str,
        node_id: int,
        host: Host[ShardT],
        modules: Sequence[str],
        replicas: ReplicaManager,
        topic_creation: TopicCreation,
        clock: Clock,
        turns: Turns,
    ) -> None:
        """``host`` makes the shard of a partition, which is not loaded yet.

        It needs ``modules``, which only a broker with such partitions imports.
        """
        self.shards: dict[int, HostedShard[ShardT]] = {}
        # Of the topic; 0 while there is none.
        self.partition_count = 0
        self._topic = topic
        self._node_id = node_id
        self._new_shard = host
        self._modules = modules
        self._is_imported = False
        self._replicas = replicas
        self._topic_creation = topic_creation
        self._clock = clock
        self._turns = turns
        self._image = MetadataImage()
        self._to_load: list[HostedShard[ShardT]] = []
        self._loading: asyncio.Task[None] | None = None
        self._settling: asyncio.Task[None] | None = None
        self._creating: asyncio.Task[None] | None = None
        self._is_stopped = False

    # --- look-ups

    def shard_at(self, index: int) -> HostedShard[ShardT]:
        """The shard of a partition.

        Raises:
            ApiError: NOT_COORDINATOR, or COORDINATOR_LOAD_IN_PROGRESS.
        """
        hosted = self.shards.get(index)
        if hosted is None or hosted.is_closed:
            raise ApiError(ErrorCode.NOT_COORDINATOR)
        if not hosted.is_loaded:
            raise ApiError(ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)
        return hosted

    def all_loaded(self) -> list[HostedShard[ShardT]]:
        """Every shard that is not closed, by partition.

        Raises:
            ApiError: COORDINATOR_LOAD_IN_PROGRESS unless all of them are loaded.
        """
        shards = self.active()
        for hosted in shards:
            if not hosted.is_loaded:
                raise ApiError(ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)
        return shards

    def active(self) -> list[HostedShard[ShardT]]:
        """Every shard that is not closed, by partition, loaded or not."""
        shards = [self.shards[index] for index in sorted(self.shards)]
        return [hosted for hosted in shards if not hosted.is_closed]

    # --- metadata changes

    def start(self, image: MetadataImage) -> None:
        self._image = image
        self._count_partitions()
        self._follow()
        # Nobody waits yet: with the first shard, everything was imported at once.
        self._is_imported = bool(self.shards)

    def apply(self, image: MetadataImage, delta: MetadataDelta) -> None:
        """Apply a change, after the replica manager."""
        if self._is_stopped:
            return
        self._image = image
        self._count_partitions()
        topic = image.topics_by_name.get(self._topic)
        is_touched = topic is not None and topic.id in delta.changed_partitions
        if is_touched or any(each.name == self._topic for each in delta.deleted_topics.values()):
            if self._is_imported:
                self._follow()
            # Logs are created a few at a time: check again when all exist.
            self.follow_when_settled()
        for hosted in list(self.shards.values()):
            if hosted.is_loaded:
                hosted.on_metadata(image, delta)

    def follow_when_settled(self) -> None:
        """Create the shards of partitions whose logs are still being created, when they exist."""
        self._settling = asyncio.get_running_loop().create_task(self._follow_settled())

    async def settled(self) -> None:
        """Return when every partition that is led here has a shard."""
        if self._settling is not None:
            await self._settling

    def stop(self) -> None:
        """Close every shard: waiting requests get an error, and nothing is coordinated here."""
        self._is_stopped = True
        for hosted in self.shards.values():
            hosted.close()
        self.shards.clear()
        self._to_load.clear()
        for task in (self._loading, self._settling, self._creating):
            if task is not None:
                task.cancel()

    def _count_partitions(self) -> None:
        topic = self._image.topics_by_name.get(self._topic)
        if topic is None:
            self.partition_count = 0
        elif not self.partition_count:
            # Partitions added later would map ids to other partitions, without their state: as in
            # Kafka, they count only after a restart.
            self.partition_count = len(topic.partitions)

    async def _follow_settled(self) -> None:
        await self._replicas.settled()
        if self._led_here():
            await self._import()
        self._follow()

    async def _import(self) -> None:
        """Import the modules of the coordinator, while other requests are served."""
        if not self._is_imported:
            await self._turns.complete(importing(self._modules))
            self._is_imported = True

    def _follow(self) -> None:
        """Create and close shards, so that exactly the partitions led here have one."""
        if self._is_stopped:
            return
        led = self._led_here()
        for index, hosted in list(self.shards.items()):
            if led.get(index) is hosted.partition and not hosted.is_closed:
                hosted.leader_epoch = hosted.partition.leader_epoch
            else:
                del self.shards[index]
                hosted.close()
        for index, partition in led.items():
            if index not in self.shards and self._is_current(partition):
                self._host(index, partition)

    def _led_here(self) -> dict[int, Partition]:
        """The hosted partitions that this broker leads according to the newest metadata."""
        topic = self._image.topics_by_name.get(self._topic)
        led: dict[int, Partition] = {}
        if topic is None:
            return led
        for partition in self._replicas.partitions_of(self._topic):
            index = partition.topic_partition.partition
            registration = topic.partitions.get(index)
            is_hosted = partition.topic_id == topic.id and partition.is_leader
            if is_hosted and registration and registration.leader == self._node_id:
                led[index] = partition
        return led

    def _is_current(self, partition: Partition) -> bool:
        """Whether the newest metadata of a led partition has been applied to it.

        If not, it may have been led by another broker in between; ``follow_when_settled`` will
        find it up to date.
        """
        topic = self._image.topics_by_name[self._topic]
        registration = topic.partitions[partition.topic_partition.partition]
        return partition.leader_epoch == registration.leader_epoch

    # --- loading

    def _host(self, index: int, partition: Partition) -> None:
        hosted = self._new_shard(partition, self._give_up)
        self.shards[index] = hosted
        log = partition.log
        if log.log_start_offset == log.log_end_offset:
            self._activate(hosted)
            return
        self._to_load.append(hosted)
        if self._loading is None:
            self._loading = asyncio.get_running_loop().create_task(self._load_all())

    def _give_up(self, hosted: HostedShard[ShardT]) -> None:
        """Replace a shard that is no longer consistent with its log."""
        was_loaded = hosted.is_loaded
        hosted.close()
        if was_loaded:
            self._host_again(hosted)

    def _host_again(self, closed: HostedShard[ShardT]) -> None:
        partition = closed.partition
        index = partition.topic_partition.partition
        is_ours = self.shards.get(index) is closed and not self._is_stopped
        if is_ours and partition.is_leader and not partition.log.is_closed:
            self._host(index, partition)

    def _activate(self, hosted: HostedShard[ShardT]) -> None:
        try:
            hosted.activate(self._image)
        except Exception:
            self._fail(hosted)

    def _fail(self, hosted: HostedShard[ShardT]) -> None:
        """Close a shard that cannot be loaded, and retry later."""
        name = hosted.partition.topic_partition
        logger.exception("%s cannot be loaded, trying again in %g s", name, RETRY_MS / 1000)
        hosted.close()
        call_after(RETRY_MS, self._host_again, hosted)

    async def _load_all(self) -> None:
        """Load the shards one after the other: in parallel they would not be ready earlier."""
        begin_ms = self._clock.monotonic_ms()
        count = shard_count = 0
        while self._to_load:
            hosted = self._to_load.pop(0)
            if hosted.is_closed:
                continue
            try:
                count += await hosted.load()
            except Exception:
                # It may have been closed in the meantime, because this broker no longer leads.
                if not hosted.is_closed:
                    self._fail(hosted)
            if not hosted.is_closed:
                self._activate(hosted)
                shard_count += 1
        self._loading = None
        logger.info(
            "coordinator: %d records of %d partitions of %s read in %d ms",
            count,
            shard_count,
            self._topic,
            self._clock.monotonic_ms() - begin_ms,
        )

    # --- the topic

    async def create_topic(self) -> None:
        """Create the topic; concurrent calls share one creation."""
        if self._creating is None:
            self._creating = asyncio.get_running_loop().create_task(self._create_topic())
        await asyncio.shield(self._creating)

    async def _create_topic(self) -> None:
        try:
            await self._import()
            response = await self._topic_creation.create([self._topic])
            for result in response.topics:
                if result.error_code not in (0, ErrorCode.TOPIC_ALREADY_EXISTS):
                    logger.warning("%s cannot be created: %s", self._topic, result.error_message)
        finally:
            self._creating = None
