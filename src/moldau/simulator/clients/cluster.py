"""A client's view of the cluster: connections, who leads what, and when to ask again."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from typing import Any, Final, NamedTuple, TypeVar

from moldau.errors import ApiError, ErrorCode
from moldau.ids import NO_UUID, TopicPartition
from moldau.network.outbound import Disconnected, Outbound, OutboundSettings
from moldau.protocol.message import Message
from moldau.protocol.messages.find_coordinator import (
    FindCoordinatorRequest,
    FindCoordinatorResponse,
)
from moldau.protocol.messages.metadata import (
    MetadataRequest,
    MetadataRequestTopic,
    MetadataResponse,
)
from moldau.simulator.clock import SimulatedClock
from moldau.simulator.history import History
from moldau.simulator.loop import SimulatedLoop
from moldau.simulator.network import SimulatedNetwork
from moldau.simulator.world import World

REQUEST_TIMEOUT_MS: Final = 5_000
_RETRY_MS: Final = (50, 500)

M = TypeVar("M", bound=Message)

logger = logging.getLogger(__name__)


class Address(NamedTuple):
    host: str
    port: int


class ClusterClient:
    """One client process on a machine of its own."""

    def __init__(
        self,
        world: World,
        network: SimulatedNetwork,
        history: History,
        name: str,
        bootstrap: Sequence[Address],
    ) -> None:
        self.world = world
        self.history = history
        self.name = name
        self.rng = world.random(name)
        self.loop = SimulatedLoop(  # type: ignore[abstract]
            world, SimulatedClock(world), name
        )
        self.topic_ids: dict[str, bytes] = {}
        self.is_stopping = False
        self._network = network.host(name).network(self.loop)
        self._bootstrap = list(bootstrap)
        self._outbounds: dict[Address, Outbound] = {}
        self._losses: dict[Address, int] = {}
        self._leaders: dict[TopicPartition, Address] = {}
        # Of the leaders that it has heard of, with the topic ids: a new topic begins again at 0.
        self._epochs: dict[TopicPartition, tuple[bytes, int]] = {}
        self._coordinators: dict[str, Address] = {}
        self._working = 0

    # --- life ---

    @property
    def is_done(self) -> bool:
        """Whether all work that was begun is finished."""
        return self._working == 0

    def begin(self, work: Coroutine[Any, Any, None]) -> None:
        """Run something in the background; what it raises is a surprise."""
        self._working += 1
        self.loop.run_turn(lambda: self.loop.create_task(self._run(work)))

    async def _run(self, work: Coroutine[Any, Any, None]) -> None:
        try:
            await work
        except Exception as error:
            self.world.surprise(self.name, f"failed: {error!r}")
        finally:
            self._working -= 1

    def stop(self) -> None:
        """Begin nothing new."""
        self.is_stopping = True

    def bury(self) -> None:
        self.loop.die()
        self.loop.bury()

    # --- requests ---

    async def send(
        self, address: Address, request: Message, answer: type[M], version: int | None = None
    ) -> M:
        """Raises Disconnected; whether the request was carried out is unknown then."""
        outbound = self._outbounds.get(address)
        if outbound is None:
            settings = OutboundSettings(
                self.name, request_timeout_ms=REQUEST_TIMEOUT_MS, negotiates=True
            )
            outbound = self._outbounds[address] = Outbound(
                self._network,
                address.host,
                address.port,
                settings,
                self.rng,
                logger,
                on_closed=lambda _: self._count_loss(address),
            )
        response = await outbound.send(request, version)
        assert isinstance(response, answer), response
        return response

    def _count_loss(self, address: Address) -> None:
        self._losses[address] = self.losses(address) + 1

    def losses(self, address: Address) -> int:
        """How often the connection with a node was lost."""
        return self._losses.get(address, 0)

    def any_node(self) -> Address:
        return self.rng.choice(self._bootstrap)

    async def back_off(self) -> None:
        await asyncio.sleep(self.rng.randint(*_RETRY_MS) / 1000)

    async def until_answered(self, attempt: Callable[[], Awaitable[M | None]]) -> M:
        """Repeat an attempt until it has an answer; None and a lost connection are none."""
        while True:
            try:
                response = await attempt()
            except Disconnected:
                response = None
            except ApiError as error:
                if not error.code.retriable:
                    raise
                response = None
            if response is not None:
                return response
            await self.back_off()

    # --- what the cluster looks like ---

    async def leader(self, topic_partition: TopicPartition) -> Address:
        """The leader of a partition, asked for until there is one."""
        while topic_partition not in self._leaders:
            try:
                await self._refresh(topic_partition.topic)
            except Disconnected:
                await self.back_off()
                continue
            if topic_partition not in self._leaders:
                await self.back_off()
        return self._leaders[topic_partition]

    def leader_epoch(self, topic_partition: TopicPartition) -> int:
        """The epoch of the leader that was found last (KIP-320)."""
        return self._epochs[topic_partition][1]

    def forget_leader(self, topic_partition: TopicPartition) -> None:
        self._leaders.pop(topic_partition, None)

    async def _refresh(self, topic: str) -> None:
        asked = MetadataRequest([MetadataRequestTopic(name=topic)], allow_auto_topic_creation=False)
        response = await self.send(self.any_node(), asked, MetadataResponse)
        nodes = {each.node_id: Address(each.host, each.port) for each in response.brokers}
        for found in response.topics:
            if found.error_code or found.name is None:
                continue
            if found.topic_id != NO_UUID:
                self.topic_ids[found.name] = found.topic_id
            for partition in found.partitions:
                key = TopicPartition(found.name, partition.partition_index)
                known_id, known_epoch = self._epochs.get(key, (found.topic_id, -1))
                # A node that was cut off does not know what others have said already.
                is_stale = known_id == found.topic_id and partition.leader_epoch < known_epoch
                if not is_stale and not partition.error_code and partition.leader_id in nodes:
                    self._leaders[key] = nodes[partition.leader_id]
                    self._epochs[key] = (found.topic_id, partition.leader_epoch)

    async def coordinator(self, group_id: str) -> Address:
        if group_id not in self._coordinators:

            async def ask() -> FindCoordinatorResponse | None:
                asked = FindCoordinatorRequest(key_type=0, coordinator_keys=[group_id])
                answer = await self.send(self.any_node(), asked, FindCoordinatorResponse)
                return answer if answer.coordinators[0].error_code == ErrorCode.NONE else None

            found = (await self.until_answered(ask)).coordinators[0]
            self._coordinators[group_id] = Address(found.host, found.port)
        return self._coordinators[group_id]

    async def find(self, group_id: str) -> None:
        """Wait until a group has a coordinator."""
        await self.coordinator(group_id)

    def forget_coordinator(self, group_id: str) -> None:
        self._coordinators.pop(group_id, None)
