"""A replicated partition that is idle, and those who decide about its in-sync replicas."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from moldau.broker.node import Node
from moldau.broker.partition import Partition
from moldau.metadata.registrations import BrokerRegistration, PartitionRegistration
from moldau.protocol.message import Message
from moldau.replica.leader_state import LeaderState
from moldau.simulator.clients.cluster import ClusterClient
from moldau.simulator.cluster import Topology
from moldau.simulator.holding import Hold
from moldau.simulator.machine import Machine
from moldau.simulator.world import US_PER_S
from tests.simulator.replicating import Replicating, replicating

# Controllers are apart: a broker may be cut off from them, and not from the others.
BROKERS = Topology((1, 2, 3), (4, 5, 6))
# A broker that hears nothing of the metadata for long does not look for another controller.
PATIENT = {
    "controller_quorum_fetch_timeout_ms": "60000",
    "controller_quorum_request_timeout_ms": "60000",
}


class InSync:
    """One partition; of its followers, the ``first`` is elected before the ``second``."""

    def __init__(self, cluster: Replicating) -> None:
        self.cluster = cluster
        self.network = cluster.network
        self.topic_partition = cluster.partitions[0]
        self.leader = cluster.leader_of(self.topic_partition)
        followers = [
            cluster.machine(each)
            for each in self.on(self.leader).registration.replicas
            if each != id_of(self.leader)
        ]
        self.first, self.second = followers
        self._holds: list[Hold] = []

    @property
    def controllers(self) -> list[Machine]:
        """Those that take themselves for active."""
        return [
            each
            for each in self.cluster.cluster.machines
            if each.node is not None and each.node.metadata.runtime.is_active
        ]

    @property
    def controller(self) -> Machine:
        (active,) = self.controllers
        return active

    # --- what they know ---

    def on(self, machine: Machine) -> Partition:
        partition = node_of(machine).broker.replicas.find(self.topic_partition)
        assert partition is not None
        return partition

    def end_on(self, machine: Machine) -> int:
        return self.on(machine).log.log_end_offset

    def state(self, machine: Machine | None = None) -> LeaderState:
        """What a leader knows of its followers, by default the one at the beginning."""
        leadership = self.on(machine or self.leader)._leadership
        assert leadership is not None
        return leadership.state

    def known_by(self, machine: Machine) -> PartitionRegistration:
        """The partition, in the metadata of a node."""
        topic = node_of(machine).metadata.image.topics_by_name[self.topic_partition.topic]
        return topic.partitions[self.topic_partition.partition]

    def broker_known_by(self, machine: Machine, broker: Machine) -> BrokerRegistration:
        return node_of(machine).metadata.image.brokers[id_of(broker)]

    def is_in_isr(self, broker: Machine) -> bool:
        """Whether the controller has decided that ``broker`` is in sync."""
        return id_of(broker) in self.known_by(self.controller).isr

    # --- what happens ---

    def until(self, condition: Callable[[], bool], seconds: int = 20) -> None:
        self.cluster.until(condition, seconds)

    def stays(self, is_broken: Callable[[], bool], seconds: int) -> bool:
        """Whether a condition never comes true, at any moment."""
        return not self.cluster.world.run_for(seconds * US_PER_S, is_broken)

    def write(self) -> ClusterClient:
        """Begin to send a batch with acks=all."""
        return self.cluster.begin_write(self.topic_partition)

    def cut(self, one: Machine, *others: Machine) -> None:
        for other in others:
            self.network.cut(one.name, other.name)
            self.network.cut(other.name, one.name)

    def mend(self, one: Machine, *others: Machine) -> None:
        for other in others:
            self.network.mend(one.name, other.name)
            self.network.mend(other.name, one.name)

    def voters(self) -> list[Machine]:
        return [self.cluster.machine(each) for each in BROKERS.controllers]

    def hold(
        self, source: Machine, target: Machine, request: type[Message], *, answers: bool = False
    ) -> Hold:
        hold = self.network.hold(source.name, target.name, request.API_KEY, only_answers=answers)
        self._holds.append(hold)
        return hold

    def release(self, hold: Hold) -> None:
        self._holds.remove(hold)
        self.network.release(hold)

    def end(self) -> None:
        """Everything works again, and everything that was acknowledged is there."""
        for hold in list(self._holds):
            self.release(hold)
        for machine in self.cluster.cluster.machines:
            machine.start()
        self.cluster.end_work()


@contextmanager
def in_sync(seed: int, **settings: str) -> Iterator[InSync]:
    """Three replicas that have the same records, and know that these are committed."""
    with replicating(seed, BROKERS, **settings) as cluster:
        for each in cluster.partitions:
            cluster.begin_write(each)
        cluster.until(lambda: cluster.acknowledged() > 0 and cluster.is_all_committed())
        cluster.run_for(2)
        yield InSync(cluster)


def node_of(machine: Machine) -> Node:
    assert machine.node is not None, f"{machine.name} is not ready"
    return machine.node


def id_of(machine: Machine) -> int:
    return machine.config.node_id
