"""A simulated broker and its controller, which the test makes believe that two more brokers live.

The other brokers are requests only: they register, send heartbeats, and fetch when the test says
so. Everything else is real: the controller decides on ISRs, and its metadata is published.
"""

import asyncio
from collections.abc import Callable, Coroutine, Mapping
from typing import Any

from moldau.broker.partition import Partition
from moldau.errors import ErrorCode
from moldau.metadata.features import SUPPORTED_FEATURES
from moldau.metadata.introduction import feature_fields
from moldau.metadata.registrations import PartitionRegistration
from moldau.protocol.message import Message
from moldau.protocol.messages.broker_heartbeat import BrokerHeartbeatRequest
from moldau.protocol.messages.broker_registration import (
    BrokerRegistrationRequest,
    Feature,
    Listener,
)
from moldau.protocol.messages.create_topics import (
    CreatableReplicaAssignment,
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
)
from moldau.protocol.messages.fetch import ReplicaState
from tests.broker.replicated import TIMEOUT_S, Replicated, turns

LOCAL_ID = 1
ALL = (LOCAL_ID, 2, 3)
MAX_LAG_MS = 30_000


class Followed(Replicated):
    """A broker that leads the topic ``t``, with the followers 2 and 3."""

    def __init__(self, settings: Mapping[str, str] | None = None) -> None:
        super().__init__({"replica.lag.time.max.ms": str(MAX_LAG_MS), **(settings or {})})
        self.epochs: dict[int, int] = {}
        self.racks: dict[int, str] = {}
        self._incarnations = 0

    def run(
        self, scenario: Callable[[Partition], Coroutine[Any, Any, None]], **configs: str
    ) -> None:
        async def within() -> None:
            await self.broker.node.start()
            for broker_id in ALL[1:]:
                await self.start_broker(broker_id)
            await self.create(**configs)
            try:
                await scenario(self.partition("t"))
            finally:
                await self.broker.node.abandon()

        asyncio.run(asyncio.wait_for(within(), TIMEOUT_S))

    # --- the other brokers

    async def start_broker(self, broker_id: int) -> None:
        """Register another incarnation of a broker, and let it be unfenced."""
        await self.register(broker_id)
        await self.beat(broker_id)

    async def register(self, broker_id: int) -> None:
        self._incarnations += 1
        node = self.broker.node
        response = await node.metadata.channel.send(
            BrokerRegistrationRequest(
                broker_id=broker_id,
                cluster_id=node.metadata.cluster_id,
                incarnation_id=bytes([100 + self._incarnations] * 16),
                listeners=[Listener(name="PLAINTEXT", host=f"host-{broker_id}", port=9092)],
                features=feature_fields(Feature, SUPPORTED_FEATURES),
                rack=self.racks.get(broker_id),
                log_dirs=[bytes([broker_id] * 16)],
                previous_broker_epoch=self.epochs.get(broker_id, -1),
            )
        )
        self.epochs[broker_id] = response.broker_epoch

    async def beat(self, broker_id: int, **fields: bool) -> None:
        node = self.broker.node
        request = BrokerHeartbeatRequest(
            broker_id=broker_id,
            broker_epoch=self.epochs[broker_id],
            current_metadata_offset=node.metadata.publisher.offset,
            **fields,
        )
        await node.metadata.channel.send(request)
        await self.applied()

    async def fence(self, broker_id: int) -> None:
        await self.beat(broker_id, want_fence=True)

    # --- the topic

    async def create(self, topic: str = "t", **configs: str) -> None:
        wanted = CreatableTopic(
            name=topic,
            num_partitions=-1,
            replication_factor=-1,
            assignments=[CreatableReplicaAssignment(partition_index=0, broker_ids=list(ALL))],
            configs=[
                CreatableTopicConfig(name=key.replace("_", "."), value=value)
                for key, value in configs.items()
            ],
        )
        response = await self.broker.send(CreateTopicsRequest(topics=[wanted]), 7)
        assert response.topics[0].error_code == 0
        await self.applied()

    async def create_elsewhere(self, topic: str) -> None:
        """Create a topic that has no replica on this broker, and is led by broker 2."""
        assigned = CreatableReplicaAssignment(partition_index=0, broker_ids=[2, 3])
        wanted = CreatableTopic(
            name=topic, num_partitions=-1, replication_factor=-1, assignments=[assigned]
        )
        response = await self.broker.send(CreateTopicsRequest(topics=[wanted]), 7)
        assert response.topics[0].error_code == 0
        await self.applied()

    def replica_state(self, broker_id: int) -> ReplicaState:
        """Who sends a fetch."""
        return ReplicaState(broker_id, self.epochs[broker_id])

    def registered(self, topic: str) -> PartitionRegistration:
        """What the metadata says."""
        return self.broker.node.metadata.image.topics_by_name[topic].partitions[0]

    async def produce_all(self, value: bytes) -> None:
        """Produce with acks=all; it is acknowledged at once."""
        assert await self.broker.produce("t", value) == ErrorCode.NONE

    def elect_again(self, partition: Partition, leader: int = LOCAL_ID) -> None:
        """Let the metadata say that ``leader`` was elected after another one."""
        partition.update(
            PartitionRegistration(
                ALL,
                partition.registration.directories,
                ALL,
                leader,
                partition.leader_epoch + 2,
                partition.registration.partition_epoch + 2,
            )
        )

    def fetched(
        self,
        broker_id: int,
        offset: int,
        *,
        topic: str = "t",
        broker_epoch: int | None = None,
        log_start_offset: int = 0,
    ) -> None:
        """Let a follower fetch from ``offset``."""
        partition = self.partition(topic)
        epoch = self.epochs[broker_id] if broker_epoch is None else broker_epoch
        partition.check_follower(broker_id, epoch, partition.leader_epoch)
        end_offset = partition.log.log_end_offset
        now_ms = self.clock.monotonic_ms()
        partition.follower_fetched(broker_id, epoch, offset, log_start_offset, end_offset, now_ms)

    def count_requests(self) -> list[Message]:
        """The requests for other ISRs that are sent from now on."""
        sent: list[Message] = []
        changes = self.broker.node.broker.isr_changes
        channel = changes._channel

        class Counting:
            async def send(self, request: Message, version: int | None = None) -> Any:
                sent.append(request)
                return await channel.send(request, version)

        changes._channel = Counting()
        return sent

    def check_isrs(self) -> None:
        for _ in self.broker.node.broker.led.check_isrs():
            pass

    async def applied(self) -> None:
        """Return when the metadata is applied and changes of ISRs are answered."""
        await self.broker.node.broker.replicas.settled()
        await turns()

    async def lag(self, broker_id: int) -> None:
        """Let a follower be removed from the ISR, because it does not fetch the newest record."""
        partition = self.partition("t")
        self.clock.advance(MAX_LAG_MS + 1)
        for other in ALL[1:]:
            if other != broker_id:
                self.fetched(other, partition.log.log_end_offset)
        self.check_isrs()
        await self.applied()
