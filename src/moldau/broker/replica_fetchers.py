"""The fetchers of a broker: one for each leader of a partition that it follows.

With ``num.replica.fetchers`` there are up to so many for each leader, among which a hash
distributes the partitions. A fetcher without partitions is closed.
"""

import asyncio
import functools
import random
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from moldau.broker.dynamic_config import DynamicConfig
from moldau.broker.group_runtime import group_hash
from moldau.broker.lost_leaders import LostLeaders
from moldau.broker.metadata_cache import MetadataCache
from moldau.broker.partition import Partition
from moldau.broker.replication_quota import follower_quota
from moldau.clock import Clock
from moldau.ids import TopicPartition
from moldau.network.network import Network
from moldau.network.turns import Turns

if TYPE_CHECKING:
    from moldau.broker.leader_requests import LeaderRequests
    from moldau.broker.replica_fetcher import ReplicaFetcher

# A leader, and a number below ``num.replica.fetchers``.
FetcherKey = tuple[int, int]


class ReplicaFetchers:
    """See ``replica_manager.Followers``. To be used on one event loop."""

    def __init__(
        self,
        broker_id: int,
        broker_epoch: Callable[[], int],
        configs: DynamicConfig,
        metadata: MetadataCache,
        network: Network,
        clock: Clock,
        rng: random.Random,
        turns: Turns,
        on_truncated: Callable[[], None],
        lost_leaders: LostLeaders,
    ) -> None:
        """``on_truncated`` is called when logs have become shorter."""
        self._on_truncated = on_truncated
        self._lost_leaders = lost_leaders
        self._broker_id = broker_id
        self._broker_epoch = broker_epoch
        self._configs = configs
        self._metadata = metadata
        self._network = network
        self._clock = clock
        self._rng = rng
        self._turns = turns
        self._quota = follower_quota(configs, clock)
        # Made with the first fetcher, and shared by all of them.
        self._requests: LeaderRequests | None = None
        self._count = configs.broker.num_replica_fetchers
        self._fetchers: dict[FetcherKey, ReplicaFetcher] = {}
        self._placed: dict[TopicPartition, FetcherKey] = {}
        self._closing: dict[asyncio.Task[None], None] = {}
        self._is_closed = False

    def follow(self, partition: Partition) -> None:
        """Fetch from the leader that the registration of ``partition`` names."""
        if self._is_closed:
            return
        topic_partition = partition.topic_partition
        key = (partition.registration.leader, self._number_of(topic_partition))
        if self._placed.get(topic_partition, key) != key:
            self.forget(topic_partition)
        self._placed[topic_partition] = key
        fetcher = self._fetchers.get(key)
        if fetcher is None:
            fetcher = self._fetchers[key] = self._new_fetcher(key)
        fetcher.follow(partition)

    def forget(self, topic_partition: TopicPartition) -> None:
        """Fetch no more, and drop answers on their way; nothing happens if it was not followed."""
        key = self._placed.pop(topic_partition, None)
        if key is None:
            return
        fetcher = self._fetchers[key]
        fetcher.forget(topic_partition)
        if not fetcher:
            del self._fetchers[key]
            self._close(fetcher)

    def note_log_starts(self) -> Iterator[None]:
        """Tell leaders where retention has moved the start of logs; in steps, as a periodic job."""
        for fetcher in list(self._fetchers.values()):
            for partition in fetcher.partitions():
                fetcher.note_log_start(partition)
                yield

    def resize(self) -> None:
        """Distribute the partitions again, if ``num.replica.fetchers`` has changed."""
        count = self._configs.broker.num_replica_fetchers
        if count == self._count:
            return
        self._count = count
        for fetcher in list(self._fetchers.values()):
            for partition in fetcher.partitions():
                self.follow(partition)

    def close(self) -> None:
        """Stop at once; ``closed`` waits for the end of it."""
        self._is_closed = True
        for fetcher in self._fetchers.values():
            self._close(fetcher)
        self._fetchers.clear()
        self._placed.clear()

    async def closed(self) -> None:
        if self._closing:
            await asyncio.wait(list(self._closing))

    def _close(self, fetcher: "ReplicaFetcher") -> None:
        fetcher.close()
        closing = asyncio.get_running_loop().create_task(fetcher.closed())
        self._closing[closing] = None
        closing.add_done_callback(self._closing.pop)

    def _number_of(self, topic_partition: TopicPartition) -> int:
        if self._count == 1:
            return 0
        topic, index = topic_partition
        return (31 * group_hash(topic) + index) % self._count

    def _new_fetcher(self, key: FetcherKey) -> "ReplicaFetcher":
        # Imported late: a cluster of one broker has no fetchers.
        from moldau.broker.leader_requests import LeaderRequests
        from moldau.broker.replica_fetcher import ReplicaFetcher

        leader_id, number = key
        if self._requests is None:
            self._requests = LeaderRequests(
                self._broker_id, self._broker_epoch, self._configs, self._metadata
            )
        return ReplicaFetcher(
            f"broker-{self._broker_id}-fetcher-{number}",
            functools.partial(self._address_of, leader_id),
            self._requests,
            self._configs.broker,
            self._network,
            self._clock,
            self._rng,
            self._turns,
            self._quota,
            self._on_truncated,
            self._lost_leaders.contact(leader_id),
        )

    def _address_of(self, leader_id: int) -> tuple[str, int] | None:
        broker = self._metadata.image.brokers.get(leader_id)
        if broker is None:
            return None
        endpoint = broker.endpoint(self._configs.broker.inter_broker_listener_name)
        return None if endpoint is None else (endpoint.host, endpoint.port)
