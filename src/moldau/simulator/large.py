"""A large cluster in one process: how long its life takes, and how much memory it needs.

A hundred brokers in five racks, with a hundred thousand partitions, are created; one rack is lost,
the partitions that it led get other leaders, its brokers come back and lead again; then the active
controller is replaced. Each step ends when every node knows it. There are no faults but these, and
no records.

All nodes have the same metadata. In a cluster each has it in a process of its own; here equal parts
of their images are made one, so that the memory is that of the cluster's state and not of a hundred
copies.
"""

import gc
import resource
import time
from collections.abc import Callable
from typing import Final, NamedTuple

from moldau.errors import ErrorCode
from moldau.metadata.image import TopicImage
from moldau.protocol.messages.create_topics import (
    CreatableTopic,
    CreateTopicsRequest,
    CreateTopicsResponse,
)
from moldau.protocol.messages.elect_leaders import (
    ElectLeadersRequest,
    ElectLeadersResponse,
    TopicPartitions,
)
from moldau.simulator.clients.cluster import Address, ClusterClient
from moldau.simulator.cluster import BROKER_PORT, Cluster, Topology
from moldau.simulator.history import History
from moldau.simulator.machine import Machine
from moldau.simulator.network import SimulatedNetwork
from moldau.simulator.unexpected import Unexpected
from moldau.simulator.world import US_PER_S, World

CONTROLLERS: Final = 3
PARTITIONS_PER_TOPIC: Final = 1_000
_LIMIT_S: Final = 600
_TIMEOUT_MS: Final = 60_000
_PREFERRED: Final = 0
_LOST_RACK: Final = 0
# As in production: the times of other simulations are short.
_SETTINGS: Final = {
    "metadata.log.max.record.bytes.between.snapshots": str(20 << 20),
    "metadata.log.segment.ms": "604800000",
    "metadata.max.retention.ms": "604800000",
    "broker.session.timeout.ms": "9000",
    "broker.heartbeat.interval.ms": "2000",
    "replica.high.watermark.checkpoint.interval.ms": "60000",
    "log.flush.offset.checkpoint.interval.ms": "60000",
    "auto.leader.rebalance.enable": "false",
    "min.insync.replicas": "1",
}


class Step(NamedTuple):
    """What a step of a large cluster's life has cost."""

    name: str
    virtual_s: float
    real_s: float
    memory_mb: int

    def __str__(self) -> str:
        return f"| {self.name} | {self.virtual_s:.1f} s | {self.real_s:.0f} s | {self.memory_mb} |"


class LargeCluster:
    """One run; ``steps`` has what happened so far."""

    def __init__(
        self, brokers: int, partitions: int, replicas: int, racks: int, seed: int = 1
    ) -> None:
        """Raises ValueError if a rack cannot be lost, because there is no other."""
        if not 2 <= racks <= brokers:
            raise ValueError(f"{brokers} brokers in {racks} racks: two racks are needed at least")
        ids = range(1, CONTROLLERS + brokers + 1)
        topology = Topology(
            tuple(ids[:CONTROLLERS]), tuple(ids[CONTROLLERS:]), replicas=replicas, racks=racks
        )
        self.world = World(seed)
        self.network = SimulatedNetwork(self.world)
        self.cluster = Cluster(self.world, self.network, topology, _SETTINGS)
        self.replicas = replicas
        self.topics = [
            (f"topic-{number}", min(PARTITIONS_PER_TOPIC, partitions - first))
            for number, first in enumerate(range(0, partitions, PARTITIONS_PER_TOPIC))
        ]
        self.steps: list[Step] = []
        self._lost = topology.brokers_in(_LOST_RACK)
        stays = topology.brokers_in(_LOST_RACK + 1)[0]
        bootstrap = [Address(f"node-{stays}", BROKER_PORT)]
        history = History(self.world)
        self._client = ClusterClient(self.world, self.network, history, "admin", bootstrap)
        self._shared: dict[str, TopicImage] = {}

    def run(self, on_step: Callable[[Step], None] = lambda step: None) -> list[Step]:
        """All steps. Raises TimeoutError if one takes too long, in virtual time."""
        gc.disable()
        try:
            with Unexpected(self.world):
                for name, begin, is_over in (
                    ("start", self.cluster.start, self._are_ready),
                    ("create", self._create, self._all_have_all),
                    ("lose a rack", self._lose, lambda: self._all_know(self._is_led_by_others)),
                    ("it comes back", self._return, lambda: self._all_know(self._is_in_sync)),
                    ("elect it again", self._elect, lambda: self._all_know(self._is_preferred)),
                    ("lose the active controller", self._kill_controller, self._has_controller),
                ):
                    on_step(self._step(name, begin, is_over))
        finally:
            self.world.is_over = True
            self._client.bury()
            self.cluster.bury()
            gc.unfreeze()
            gc.enable()
        if self.world.surprises:
            raise AssertionError(self.world.surprises[0])
        return self.steps

    def _step(self, name: str, begin: Callable[[], object], is_over: Callable[[], bool]) -> Step:
        begin_us, begin_s = self.world.now_us, time.monotonic()
        begin()
        self._wait(name, is_over)
        self._share()
        step = Step(
            name,
            (self.world.now_us - begin_us) / US_PER_S,
            time.monotonic() - begin_s,
            resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
        )
        self.steps.append(step)
        return step

    def _wait(self, name: str, is_over: Callable[[], bool]) -> None:
        # Looking at a hundred nodes costs more than an event: not after each of them.
        for _ in range(_LIMIT_S * 10):
            if is_over():
                return
            self.world.run_for(US_PER_S // 10)
        raise TimeoutError(f"{name}: not within {_LIMIT_S} s; {self.world.surprises[:1]}")

    # --- what is done ---

    def _create(self) -> None:
        """Create the topics one by one: a request may have 10,000 partitions at most."""
        for name, partitions in self.topics:
            self._client.begin(self._create_topic(name, partitions))
            self._wait(f"create {name}", lambda: self._client.is_done)
            self._share()

    async def _create_topic(self, name: str, partitions: int) -> None:
        client = self._client
        topic = CreatableTopic(name, partitions, self.replicas)
        request = CreateTopicsRequest([topic], _TIMEOUT_MS)

        async def ask() -> CreateTopicsResponse | None:
            answer = await client.send(client.any_node(), request, CreateTopicsResponse)
            code = ErrorCode(answer.topics[0].error_code)
            is_there = code in (ErrorCode.NONE, ErrorCode.TOPIC_ALREADY_EXISTS)
            return answer if is_there else None

        await client.until_answered(ask)

    def _lose(self) -> None:
        for machine in self._lost_machines():
            machine.kill()

    def _return(self) -> None:
        for machine in self._lost_machines():
            machine.start()

    def _lost_machines(self) -> list[Machine]:
        return [self.cluster.machine(f"node-{each}") for each in self._lost]

    def _elect(self) -> None:
        self._client.begin(self._elect_preferred())

    async def _elect_preferred(self) -> None:
        """Elect the leaders of one topic after the other: a request may change 10,000 at most."""
        client = self._client

        async def ask() -> ElectLeadersResponse | None:
            answer = await client.send(client.any_node(), request, ElectLeadersResponse)
            return answer if answer.error_code == ErrorCode.NONE else None

        for name, partitions in self.topics:
            wanted = [TopicPartitions(name, list(range(partitions)))]
            request = ElectLeadersRequest(_PREFERRED, wanted, _TIMEOUT_MS)
            await client.until_answered(ask)

    def _kill_controller(self) -> None:
        self._active()[0].kill()

    # --- what is waited for ---

    def _are_ready(self) -> bool:
        return all(each.node is not None for each in self.cluster.machines)

    def _active(self) -> list[Machine]:
        return [
            each
            for each in self.cluster.machines
            if each.node is not None and each.node.metadata.runtime.is_active
        ]

    def _has_controller(self) -> bool:
        return bool(self._active())

    def _all_have_all(self) -> bool:
        wanted = len(self.topics)
        return all(
            machine.node is not None and len(machine.node.metadata.image.topics_by_name) == wanted
            for machine in self.cluster.machines
        )

    def _all_know(self, is_so: Callable[[TopicImage], bool]) -> bool:
        """Whether every running node has topics for which something is true."""
        self._share()
        known: dict[int, bool] = {}
        for machine in self.cluster.machines:
            if machine.node is None:
                continue
            for topic in machine.node.metadata.image.topics_by_name.values():
                # Topics that are shared are looked at once.
                key = id(topic.partitions)
                if key not in known:
                    known[key] = is_so(topic)
                if not known[key]:
                    return False
        return True

    def _is_led_by_others(self, topic: TopicImage) -> bool:
        return all(
            each.leader >= 0 and each.leader not in self._lost for each in topic.partitions.values()
        )

    def _is_in_sync(self, topic: TopicImage) -> bool:
        return all(len(each.isr) == len(each.replicas) for each in topic.partitions.values())

    def _is_preferred(self, topic: TopicImage) -> bool:
        return all(each.leader == each.replicas[0] for each in topic.partitions.values())

    def _share(self) -> None:
        """Let equal topics of all images have the same partitions."""
        for machine in self.cluster.machines:
            if machine.node is None:
                continue
            for name, topic in machine.node.metadata.image.topics_by_name.items():
                known = self._shared.setdefault(name, topic)
                if known.partitions is topic.partitions:
                    continue
                if known == topic:
                    topic.partitions = known.partitions
                else:
                    self._shared[name] = topic
        gc.collect()
        # What has survived is the state of the cluster, which stays: the next collection need not
        # look at it again. With millions of objects that would be most of the work.
        gc.freeze()
