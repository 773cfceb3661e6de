"""The group coordinator of this broker: a shard per partition of ``__consumer_offsets`` led here.

A group belongs to the partition that its id hashes to, and the leader of that partition
coordinates the group. ``coordinator_runtime`` keeps the shards.
"""

import functools
import logging
import random
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from moldau.broker.coordinator_runtime import CoordinatorRuntime
from moldau.broker.dynamic_config import DynamicConfig
from moldau.broker.hosted_shard import HostedShard
from moldau.broker.late_imports import GROUP_COORDINATOR
from moldau.broker.partition import Partition
from moldau.broker.replica_manager import ReplicaManager
from moldau.broker.topic_creation import TopicCreation
from moldau.clock import Clock
from moldau.ids import OFFSETS_TOPIC
from moldau.metadata.delta import MetadataDelta
from moldau.metadata.image import MetadataImage
from moldau.network.turns import Turns

if TYPE_CHECKING:
    from moldau.group_coordinator.shard import GroupCoordinatorShard

    HostedGroups = HostedShard[GroupCoordinatorShard]

REMEMBERED_HASHES: Final = 10_000

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
    """Finds the shard of a group."""

    def __init__(
        self,
        configs: DynamicConfig,
        replicas: ReplicaManager,
        topic_creation: TopicCreation,
        clock: Clock,
        rng: random.Random,
        turns: Turns,
    ) -> None:
        self._configs = configs
        self._clock = clock
        self._rng = rng
        self._runtime: CoordinatorRuntime[GroupCoordinatorShard] = CoordinatorRuntime(
            OFFSETS_TOPIC,
            configs.static.node_id,
            self._host,
            GROUP_COORDINATOR,
            replicas,
            topic_creation,
            clock,
            turns,
        )

    # --- look-ups, on the hot path

    def shard_of(self, group_id: str) -> "HostedGroups":
        """The shard that coordinates a group.

        Raises:
            ApiError: NOT_COORDINATOR, or COORDINATOR_LOAD_IN_PROGRESS.
        """
        return self._runtime.shard_at(self.partition_for(group_id))

    def shard_at(self, index: int) -> "HostedGroups":
        """The shard of a partition of ``__consumer_offsets``; raises as ``shard_of`` does."""
        return self._runtime.shard_at(index)

    def partition_for(self, group_id: str) -> int:
        count = self._runtime.partition_count or self._configs.broker.offsets_topic_num_partitions
        return group_hash(group_id) % count

    def all_shards(self) -> "list[HostedGroups]":
        """Every active shard of this broker, by partition.

        Raises:
            ApiError: COORDINATOR_LOAD_IN_PROGRESS unless all of them are loaded.
        """
        return self._runtime.all_loaded()

    # --- metadata changes

    def start(self, image: MetadataImage) -> None:
        self._runtime.start(image)

    def apply(self, image: MetadataImage, delta: MetadataDelta) -> None:
        """Apply a change, after the replica manager."""
        self._runtime.apply(image, delta)

    def follow_when_settled(self) -> None:
        """Create the shards of partitions whose logs are still being created, when they exist."""
        self._runtime.follow_when_settled()

    async def settled(self) -> None:
        """Return when every partition that is led here has a shard."""
        await self._runtime.settled()

    def expire_offsets(self) -> None:
        """Remove expired offsets from every shard that can write now; the others have time."""
        wall_ms = self._clock.wall_ms()
        for hosted in self._runtime.active():
            if hosted.is_loaded and not hosted.partition.is_under_min_isr:
                expire = functools.partial(hosted.shard.expire_offsets, wall_ms)
                hosted.act("expired offsets", expire, wall_ms)

    def stop(self) -> None:
        """Close every shard: waiting requests get an error, and no group is coordinated here."""
        self._runtime.stop()

    def _host(
        self, partition: Partition, give_up: "Callable[[HostedGroups], None]"
    ) -> "HostedGroups":
        # Imported late: a broker without groups starts faster.
        from moldau.broker.group_loading import GroupLoader
        from moldau.group_coordinator import shard as groups
        from moldau.group_coordinator.records import encode_record

        config = self._configs.broker
        shard = groups.GroupCoordinatorShard(config, self._rng, lambda record: hosted.fits(record))
        hosted: HostedGroups = HostedShard(
            partition,
            shard,
            GroupLoader(partition, shard, config.offsets_load_buffer_size).load,
            encode_record,
            self._clock,
            config.offsets_topic_compression_codec,
            config.offsets_commit_timeout_ms,
            give_up,
        )
        return hosted

    async def create_topic(self) -> None:
        """Create ``__consumer_offsets``; concurrent calls share one creation."""
        await self._runtime.create_topic()
