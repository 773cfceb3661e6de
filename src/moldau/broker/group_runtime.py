"""The group coordinator of this broker: a shard per partition of ``__consumer_offsets`` led here.

A group belongs to the partition that its id hashes to, and the leader of that partition
coordinates the group. So coordinators need no separate election: a shard exists while this broker
leads its partition, and its state is loaded from the log.
"""

import asyncio
import functools
import logging
from typing import TYPE_CHECKING, Final

from moldau.broker.internal_topics import creatable_topic
from moldau.broker.partition import Partition
from moldau.errors import ApiError, ErrorCode
from moldau.ids import OFFSETS_TOPIC
from moldau.metadata.delta import MetadataDelta
from moldau.metadata.image import MetadataImage, TopicImage
from moldau.protocol.messages.create_topics import CreateTopicsRequest

if TYPE_CHECKING:
    from moldau.broker.broker import Broker
    from moldau.broker.group_shard import HostedShard

REMEMBERED_HASHES: Final = 10_000
RETRY_S: Final = 10.0

logger = logging.getLogger(__name__)


@functools.lru_cache(REMEMBERED_HASHES)
def group_hash(group_id: str) -> int:
    """The absolute value of Java's ``String.hashCode`` (over UTF-16), as in Kafka."""
    units = group_id.encode("utf-16-be", "surrogatepass")
    number = 0
    for high, low in zip(units[::2], units[1::2], strict=True):
        number = (31 * number + (high << 8 | low)) & 0xFFFFFFFF
    if number >= 0x80000000:
        # The smallest integer has no absolute value: Kafka's Utils.abs returns 0 for it.
        number = (0x100000000 - number) & 0x7FFFFFFF
    return number


class GroupRuntime:
    """Finds the shard of a group, and keeps the shards consistent with the leaders."""

    def __init__(self, broker: "Broker") -> None:
        self._broker = broker
        self._shards: dict[int, HostedShard] = {}
        self._partition_count = 0
        self._to_load: list[HostedShard] = []
        self._loading: asyncio.Task[None] | None = None
        self._creating: asyncio.Task[None] | None = None
        self._settling: asyncio.Task[None] | None = None
        self._is_stopped = False

    # --- look-ups, on the hot path

    def shard_of(self, group_id: str) -> "HostedShard":
        """The shard that coordinates a group.

        Raises:
            ApiError: NOT_COORDINATOR, or COORDINATOR_LOAD_IN_PROGRESS.
        """
        hosted = self._shards.get(self.partition_for(group_id))
        if hosted is None or not hosted.is_loaded:
            raise self._absent(hosted)
        return hosted

    def partition_for(self, group_id: str) -> int:
        count = self._partition_count or self._broker.config.offsets_topic_num_partitions
        return group_hash(group_id) % count

    def all_shards(self) -> "list[HostedShard]":
        """Every active shard of this broker, by partition.

        Raises:
            ApiError: COORDINATOR_LOAD_IN_PROGRESS unless all of them are loaded.
        """
        shards = [self._shards[index] for index in sorted(self._shards)]
        shards = [hosted for hosted in shards if not hosted.is_closed]
        for hosted in shards:
            if not hosted.is_loaded:
                raise self._absent(hosted)
        return shards

    def _absent(self, hosted: "HostedShard | None") -> ApiError:
        if hosted is None or hosted.is_closed:
            return ApiError(ErrorCode.NOT_COORDINATOR)
        return ApiError(ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)

    # --- metadata changes

    def start(self, image: MetadataImage) -> None:
        self._follow(image)

    def apply(self, image: MetadataImage, delta: MetadataDelta) -> None:
        """Apply a change, after the replica manager."""
        if self._is_stopped:
            return
        topic = image.topics_by_name.get(OFFSETS_TOPIC)
        is_touched = topic is not None and topic.id in delta.changed_partitions
        if is_touched or any(each.name == OFFSETS_TOPIC for each in delta.deleted_topics.values()):
            self._follow(image)
            # Logs are created a few at a time: check again when all exist.
            self.follow_when_settled()
        for hosted in list(self._shards.values()):
            if hosted.is_loaded:
                hosted.on_metadata(image, delta)

    def expire_offsets(self, now_ms: int) -> None:
        """Remove expired offsets from every shard."""
        for hosted in list(self._shards.values()):
            if hosted.is_loaded:
                hosted.expire_offsets(now_ms)

    def stop(self) -> None:
        """Close every shard: waiting requests get an error, and no group is coordinated here."""
        self._is_stopped = True
        for hosted in self._shards.values():
            hosted.close()
        self._shards.clear()
        self._to_load.clear()
        for task in (self._loading, self._creating, self._settling):
            if task is not None:
                task.cancel()

    def follow_when_settled(self) -> None:
        """Create the shards of partitions whose logs are still being created, when they exist."""
        self._settling = asyncio.get_running_loop().create_task(self._follow_settled())

    async def _follow_settled(self) -> None:
        await self._broker.replicas.settled()
        self._follow(self._broker.image)

    def _follow(self, image: MetadataImage) -> None:
        """Create and close shards, so that exactly the partitions led here have one."""
        if self._is_stopped:
            return
        topic = image.topics_by_name.get(OFFSETS_TOPIC)
        if topic is None:
            self._partition_count = 0
        elif not self._partition_count:
            # Partitions added later would map groups to other partitions, without their offsets:
            # as in Kafka, they count only after a restart.
            self._partition_count = len(topic.partitions)
        led = {} if topic is None else self._led_here(topic)
        for index, hosted in list(self._shards.items()):
            if led.get(index) is not hosted.partition:
                del self._shards[index]
                hosted.close()
        for index, partition in led.items():
            if index not in self._shards:
                self._host(index, partition)

    def _led_here(self, topic: TopicImage) -> dict[int, Partition]:
        """The hosted partitions that this broker leads according to the newest metadata."""
        led = {}
        for partition in self._broker.replicas.partitions_of(OFFSETS_TOPIC):
            index = partition.topic_partition.partition
            registration = topic.partitions.get(index)
            is_current = partition.topic_id == topic.id and partition.is_leader
            if is_current and registration and registration.leader == self._broker.node_id:
                led[index] = partition
        return led

    # --- loading

    def _host(self, index: int, partition: Partition) -> None:
        # Imported late: a broker without groups starts faster.
        from moldau.broker.group_shard import HostedShard

        hosted = HostedShard(self._broker, partition, self._give_up)
        self._shards[index] = hosted
        log = partition.log
        if log.log_start_offset == log.log_end_offset:
            self._activate(hosted)
            return
        self._to_load.append(hosted)
        if self._loading is None:
            self._loading = asyncio.get_running_loop().create_task(self._load_all())

    def _give_up(self, hosted: "HostedShard") -> None:
        """Replace a shard that is no longer consistent with its log."""
        was_loaded = hosted.is_loaded
        hosted.close()
        if was_loaded:
            self._host_again(hosted)

    def _host_again(self, closed: "HostedShard") -> None:
        partition = closed.partition
        index = partition.topic_partition.partition
        is_ours = self._shards.get(index) is closed and not self._is_stopped
        if is_ours and partition.is_leader and not partition.log.is_closed:
            self._host(index, partition)

    def _activate(self, hosted: "HostedShard") -> None:
        try:
            hosted.activate()
        except Exception:
            self._fail(hosted)

    def _fail(self, hosted: "HostedShard") -> None:
        """Close a shard that cannot be loaded, and retry later."""
        name = hosted.partition.topic_partition
        logger.exception("the groups of %s cannot be read, trying again in %g s", name, RETRY_S)
        hosted.close()
        asyncio.get_running_loop().call_later(RETRY_S, self._host_again, hosted)

    async def _load_all(self) -> None:
        """Load the shards one after the other: in parallel they would not be ready earlier."""
        clock = self._broker.clock
        begin_ms = clock.now_ms()
        count = shard_count = 0
        while self._to_load:
            hosted = self._to_load.pop(0)
            if hosted.is_closed:
                continue
            try:
                count += await hosted.load()
            except Exception:
                self._fail(hosted)
            if not hosted.is_closed:
                self._activate(hosted)
                shard_count += 1
        self._loading = None
        logger.info(
            "group coordinator: %d records of %d partitions of %s read in %d ms",
            count,
            shard_count,
            OFFSETS_TOPIC,
            clock.now_ms() - begin_ms,
        )

    # --- the topic

    async def create_topic(self) -> None:
        """Create ``__consumer_offsets``; concurrent calls share one creation."""
        if self._creating is None:
            self._creating = asyncio.get_running_loop().create_task(self._create_topic())
        await asyncio.shield(self._creating)

    async def _create_topic(self) -> None:
        broker = self._broker
        topic = creatable_topic(OFFSETS_TOPIC, broker.config)
        try:
            request = CreateTopicsRequest(topics=[topic])
            response = await broker.change(lambda: broker.controller.create_topics(request))
            for result in response.topics:
                if result.error_code not in (0, ErrorCode.TOPIC_ALREADY_EXISTS):
                    logger.warning("%s cannot be created: %s", OFFSETS_TOPIC, result.error_message)
        finally:
            self._creating = None
