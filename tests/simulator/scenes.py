"""A cluster on a stage: a test says what goes wrong, and asks what came of it."""

import asyncio
from collections.abc import Callable, Coroutine, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar

from moldau.broker.node import Node
from moldau.ids import TopicPartition
from moldau.metadata.image import MetadataImage
from moldau.protocol.messages.create_topics import (
    CreatableReplicaAssignment,
    CreatableTopic,
    CreateTopicsRequest,
    CreateTopicsResponse,
)
from moldau.protocol.messages.delete_topics import (
    DeleteTopicsRequest,
    DeleteTopicsResponse,
    DeleteTopicState,
)
from moldau.protocol.messages.produce import (
    PartitionProduceData,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
)
from moldau.record.records import BatchBuilder
from moldau.simulator.clients.cluster import Address, ClusterClient
from moldau.simulator.cluster import TOPOLOGIES, Cluster, Topology
from moldau.simulator.history import History
from moldau.simulator.machine import Machine
from moldau.simulator.network import SimulatedNetwork
from moldau.simulator.unexpected import Unexpected
from moldau.simulator.watch import Watch
from moldau.simulator.world import US_PER_S, World

TIMEOUT_MS = 3_000
# The names of topics go with this version.
PRODUCE_VERSION = 12
T = TypeVar("T")


class Scene:
    """A cluster that has started, and an observer who compares its nodes."""

    def __init__(
        self, seed: int, topology: Topology, settings: Mapping[str, str] | None = None
    ) -> None:
        self.world = World(seed)
        self.network = SimulatedNetwork(self.world)
        self.cluster = Cluster(self.world, self.network, topology, settings)
        self.history = History(self.world)
        self.clients: list[ClusterClient] = []

    @property
    def machines(self) -> Sequence[Machine]:
        return self.cluster.machines

    def machine(self, node_id: int) -> Machine:
        return self.cluster.machine(f"node-{node_id}")

    def others(self, *machines: Machine) -> list[Machine]:
        return [each for each in self.machines if each not in machines]

    # --- time ---

    def run_for(self, seconds: float) -> None:
        self.world.run_for(int(seconds * US_PER_S))

    def wait_until(self, condition: Callable[[], bool], seconds: float = 30) -> None:
        is_met = self.world.run_for(int(seconds * US_PER_S), condition)
        assert is_met, f"not within {seconds} s; {self.world.surprises[:1]}"

    def are_ready(self) -> bool:
        return all(each.node is not None for each in self.machines)

    # --- who leads ---

    def leaders(self) -> list[Machine]:
        return [each for each in self.machines if is_active(each)]

    def active(self) -> Machine:
        """The machine of the active controller, when there is one."""
        self.wait_until(lambda: len(self.leaders()) == 1)
        (found,) = self.leaders()
        return found

    def image(self) -> MetadataImage:
        """The committed image of the active controller."""
        return node_of(self.active()).metadata.image

    # --- the network ---

    def cut(self, machine: Machine, others: Sequence[Machine]) -> None:
        for other in others:
            self.network.cut(machine.name, other.name)
            self.network.cut(other.name, machine.name)

    def mend(self, machine: Machine, others: Sequence[Machine]) -> None:
        for other in others:
            self.network.mend(machine.name, other.name)
            self.network.mend(other.name, machine.name)

    def slow_down(self, machine: Machine, other: Machine, times: int) -> None:
        for way in ((machine.name, other.name), (other.name, machine.name)):
            self.network.link(*way).slowness = times

    # --- requests ---

    def client(self, name: str = "client") -> ClusterClient:
        addresses = self.cluster.addresses
        client = ClusterClient(
            self.world, self.network, self.history, f"{name}-{len(self.clients)}", addresses
        )
        self.clients.append(client)
        return client

    def ask(self, work: Coroutine[Any, Any, T], client: ClusterClient, seconds: float = 30) -> T:
        """The result of ``work`` on the loop of ``client``."""
        task = client.loop.run_turn(lambda: client.loop.create_task(work))
        self.wait_until(task.done, seconds)
        return task.result()

    def on_node(self, machine: Machine, work: Coroutine[Any, Any, T], seconds: float = 30) -> T:
        """The result of ``work`` on the loop of a node."""
        task = self.begin_on_node(machine, work)
        self.wait_until(task.done, seconds)
        return task.result()

    def begin_on_node(self, machine: Machine, work: Coroutine[Any, Any, T]) -> "asyncio.Task[T]":
        assert machine.process is not None
        loop = machine.process.loop
        return loop.run_turn(lambda: loop.create_task(work))

    def create_topic(
        self,
        name: str,
        partitions: int = 1,
        *,
        replicas: Sequence[int] = (),
        through: Address | None = None,
    ) -> int:
        """The error code of one attempt; ``replicas`` are those of its only partition."""
        client = self.client()
        topic = CreatableTopic(name, partitions, 1)
        if replicas:
            placed = [CreatableReplicaAssignment(0, list(replicas))]
            topic = CreatableTopic(name, -1, -1, placed)
        request = CreateTopicsRequest([topic], TIMEOUT_MS)
        address = through or self.cluster.addresses[0]
        answer = self.ask(client.send(address, request, CreateTopicsResponse), client)
        return answer.topics[0].error_code

    def delete_topic(self, name: str, through: Address | None = None) -> int:
        client = self.client()
        request = DeleteTopicsRequest([DeleteTopicState(name)], timeout_ms=TIMEOUT_MS)
        address = through or self.cluster.addresses[0]
        answer = self.ask(client.send(address, request, DeleteTopicsResponse), client)
        return answer.responses[0].error_code

    def produce(self, topic: str, value: bytes) -> int:
        """The offset of a record in partition 0."""
        client = self.client()
        builder = BatchBuilder()
        builder.append(client.loop.clock.wall_ms(), None, value, ())
        data = TopicProduceData(topic, partition_data=[PartitionProduceData(0, builder.build())])
        request = ProduceRequest(acks=-1, timeout_ms=TIMEOUT_MS, topic_data=[data])

        async def send() -> ProduceResponse:
            leader = await client.leader(TopicPartition(topic, 0))
            return await client.send(leader, request, ProduceResponse, PRODUCE_VERSION)

        answer = self.ask(send(), client).responses[0].partition_responses[0]
        assert answer.error_code == 0, answer
        return answer.base_offset


@contextmanager
def scene(
    topology: str | Topology = "combined",
    seed: int = 3,
    settings: Mapping[str, str] | None = None,
) -> Iterator[Scene]:
    """A cluster that is ready. In the end nothing may have happened that nobody expects."""
    nodes = TOPOLOGIES[topology] if isinstance(topology, str) else topology
    made = Scene(seed, nodes, settings)
    with Unexpected(made.world):
        made.cluster.start()
        made.cluster.start_late()
        Watch(made.world, made.cluster)
        made.wait_until(made.are_ready)
        yield made
        assert made.world.surprises == []
    made.world.is_over = True
    for client in made.clients:
        client.bury()
    made.cluster.bury()


def is_active(machine: Machine) -> bool:
    return machine.node is not None and machine.node.metadata.runtime.is_active


def node_of(machine: Machine) -> Node:
    assert machine.node is not None, f"{machine.name} is not ready"
    return machine.node
