"""Three simulated brokers with a replicated topic, its clients, and what must be true of it."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

from moldau.broker.partition import Partition
from moldau.ids import TopicPartition
from moldau.protocol.message import Message
from moldau.simulator.clients.admin import Admin
from moldau.simulator.clients.cluster import ClusterClient
from moldau.simulator.clients.consumer import Consumer
from moldau.simulator.clients.producer import Producer
from moldau.simulator.cluster import TOPOLOGIES, Cluster, Topology
from moldau.simulator.history import History, TopicFacts
from moldau.simulator.invariants import check_records
from moldau.simulator.machine import Machine
from moldau.simulator.network import SimulatedNetwork
from moldau.simulator.unexpected import Unexpected
from moldau.simulator.watch import Watch
from moldau.simulator.world import US_PER_S, World
from moldau.storage.log.partition_log import PartitionLog

M = TypeVar("M", bound=Message)

TOPIC = "t"
PARTITIONS = 2


class Replicating:
    """A cluster that is written to and read from."""

    def __init__(self, world: World, topology: Topology, **settings: str) -> None:
        self.world = world
        self.wanted = list(topology.brokers)
        self.network = SimulatedNetwork(world)
        self.history = History(world)
        named = {name.replace("_", "."): value for name, value in settings.items()}
        self.cluster = Cluster(
            world,
            self.network,
            topology,
            {"min.insync.replicas": "2", "replica.lag.time.max.ms": "3000", **named},
        )
        self.partitions = [TopicPartition(TOPIC, each) for each in range(PARTITIONS)]
        self._clients: list[ClusterClient] = []

    # --- time

    def until(self, condition: Callable[[], bool], seconds: int = 60) -> None:
        assert self.world.run_for(seconds * US_PER_S, condition), f"not within {seconds} s"

    def run_for(self, seconds: float) -> None:
        self.world.run_for(int(seconds * US_PER_S))

    # --- nodes

    def start(self) -> None:
        self.cluster.start()
        Watch(self.world, self.cluster)
        self.until(self.are_nodes_ready)
        self.create_topic()
        self.until(self.is_fully_replicated)

    def are_nodes_ready(self) -> bool:
        return all(each.node is not None for each in self.cluster.machines)

    def machine(self, node_id: int) -> Machine:
        return self.cluster.machine(f"node-{node_id}")

    def leader_of(self, topic_partition: TopicPartition) -> Machine:
        """The broker that leads, in the largest epoch that any node knows."""
        known = [each.registration for each in self.replicas(topic_partition)]
        return self.machine(max(known, key=lambda each: each.leader_epoch).leader)

    def followers_of(self, topic_partition: TopicPartition) -> list[Machine]:
        leader = self.leader_of(topic_partition)
        followers = [self.machine(each) for each in self.wanted]
        return [each for each in followers if each is not leader]

    def isolate(self, machine: Machine) -> None:
        """Cut a machine off from the other nodes; clients still reach it."""
        for other in self.cluster.machines:
            if other is not machine:
                self.network.cut(machine.name, other.name)
                self.network.cut(other.name, machine.name)

    def rejoin(self, machine: Machine) -> None:
        for other in self.cluster.machines:
            if other is not machine:
                self.network.mend(machine.name, other.name)
                self.network.mend(other.name, machine.name)

    def replicas(self, topic_partition: TopicPartition) -> list[Partition]:
        """The partition on every node that is ready."""
        found = [
            machine.node.broker.replicas.find(topic_partition)
            for machine in self.cluster.machines
            if machine.node is not None
        ]
        return [each for each in found if each is not None]

    def is_fully_replicated(self) -> bool:
        """Whether the wanted replicas are in all ISRs, no other broker has one, and all know it."""
        for replicas in map(self.replicas, self.partitions):
            if len(replicas) != len(self.wanted):
                return False
            for each in (replica.registration for replica in replicas):
                if sorted(each.replicas) != self.wanted or sorted(each.isr) != self.wanted:
                    return False
        return True

    # --- clients

    def _client(self, name: str) -> ClusterClient:
        client = ClusterClient(self.world, self.network, self.history, name, self.cluster.addresses)
        self._clients.append(client)
        return client

    def new_client(self) -> ClusterClient:
        return self._client(f"asking-{len(self._clients)}")

    def ask(
        self,
        request: Message,
        answer: type[M],
        of: Machine | None = None,
        by: ClusterClient | None = None,
    ) -> M:
        """Send a request to a node, by default to one that is ready, and return its answer."""
        client = by or self.new_client()
        ready = [each.name for each in self.cluster.machines if each.node is not None]
        if of is not None:
            ready = [of.name]
        address = next(each for each in self.cluster.addresses if each.host in ready)
        found: list[M] = []

        async def ask() -> None:
            found.append(await client.send(address, request, answer))

        client.begin(ask())
        self.until(lambda: client.is_done)
        (response,) = found
        return response

    def create_topic(self) -> None:
        client = self._client(f"admin-{len(self._clients)}")
        client.begin(Admin(client, 1, 3).create(TopicFacts(TOPIC, PARTITIONS)))
        self.until(lambda: client.is_done)

    def begin_work(self) -> None:
        """Two producers with acks=all, and a consumer, until ``end_work``."""
        for number in (1, 2):
            Producer(self._client(f"producer-{number}"), self.partitions, 30).start()
        Consumer(self._client("consumer"), self.partitions).start()

    def begin_write(self, topic_partition: TopicPartition) -> ClusterClient:
        """Send one batch with acks=all; the client is done when it is acknowledged."""
        client = self._client(f"writer-{len(self._clients)}")
        client.begin(Producer(client, [topic_partition], 0).produce(topic_partition, 1))
        return client

    def acknowledged(self) -> int:
        return sum(map(len, self.history.acknowledged.values()))

    def until_acknowledged(self, count: int, seconds: int = 30) -> None:
        """Run until so many more records are acknowledged."""
        goal = self.acknowledged() + count
        self.until(lambda: self.acknowledged() >= goal, seconds)

    def end_work(self) -> None:
        """Stop the clients, and check what they know against what is on all nodes."""
        for client in self._clients:
            client.stop()
        self.until(lambda: all(client.is_done for client in self._clients))
        self.until(lambda: self.are_nodes_ready() and self.is_fully_replicated())
        self.until(self.is_all_committed)
        self._read_everything()
        for topic_partition in self.partitions:
            logs = [each.log for each in self.replicas(topic_partition)]
            first, *others = [log_bytes(log) for log in logs]
            assert first, f"{topic_partition} is empty"
            for other in others:
                assert other == first, f"the replicas of {topic_partition} differ"

    def is_all_committed(self) -> bool:
        """Whether every replica knows that all it has is committed."""
        logs = [each.log for every in self.partitions for each in self.replicas(every)]
        return all(log.high_watermark == log.log_end_offset for log in logs)

    def _read_everything(self) -> None:
        reader = self._client(f"reader-{len(self._clients)}")
        consumer = Consumer(reader, self.partitions)
        for topic_partition in self.partitions:
            reader.begin(consumer.read_all(topic_partition))
        self.until(lambda: reader.is_done)
        check_records(self.world, self.history, self.partitions)

    def bury(self) -> None:
        self.world.is_over = True
        for client in self._clients:
            client.bury()
        self.cluster.bury()


def log_bytes(log: PartitionLog) -> bytes:
    """The batches of a log, as they are on the disk."""
    assert log.log_start_offset == 0, "retention has removed some"
    return b"".join(segment.log.pread(segment.size, 0) for segment in log.segments)


@contextmanager
def replicating(
    seed: int, topology: Topology = TOPOLOGIES["combined"], **settings: str
) -> Iterator[Replicating]:
    """A cluster whose topic has three replicas in sync; nothing unexpected may happen in it."""
    world = World(seed)
    made = Replicating(world, topology, **settings)
    try:
        with Unexpected(world):
            made.start()
            yield made
            assert world.surprises == [], world.surprises[0]
    finally:
        made.bury()
