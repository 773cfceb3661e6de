"""One simulation: a cluster, its clients, faults for a while, then calm, then the questions.

In the calm everything works again: machines have power, ways are free, disks have room. Then every
request must be answered within a bound, and the invariants must hold. In the end the power of all
machines is cut at once, and what was acknowledged must be there again when it returns.
"""

import gc
from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

from moldau.ids import TopicPartition
from moldau.simulator import faults
from moldau.simulator.clients.admin import Admin
from moldau.simulator.clients.archive import Archive
from moldau.simulator.clients.classic_member import ClassicMember
from moldau.simulator.clients.cluster import ClusterClient
from moldau.simulator.clients.consumer import Consumer
from moldau.simulator.clients.member import GroupMember
from moldau.simulator.clients.producer import Producer
from moldau.simulator.clients.progress import GroupProgress
from moldau.simulator.clients.quorum_admin import QuorumAdmin
from moldau.simulator.cluster import SWARM, TOPOLOGIES, Cluster, Topology
from moldau.simulator.faults import Fault
from moldau.simulator.history import History, TopicFacts
from moldau.simulator.invariants import are_images_equally_new, check_metadata, check_records
from moldau.simulator.network import SimulatedNetwork
from moldau.simulator.replica_watch import ReplicaWatch, are_replicas_in_sync
from moldau.simulator.unexpected import Unexpected
from moldau.simulator.watch import Watch
from moldau.simulator.world import US_PER_MS, US_PER_S, Told, World

TOPIC: Final = "records"
GROUP: Final = "readers"
PARTITIONS: Final = 3
ANY_CLUSTER: Final = "any"
DEFAULT_CLUSTER: Final = ANY_CLUSTER
CLIENTS: Final = ("producer-1", "producer-2", "consumer-1", "member-1", "member-2", "admin-1")
OPERATOR: Final = "operator-1"
# How long things go wrong, and how soon everything must be well again.
CHAOS_MS: Final = 40_000
_LIVE_US: Final = 60 * US_PER_S
# How many of the seeds with an operator lose a log directory, and nothing else.
_REPLACES_A_DIRECTORY: Final = 0.3


class Plan(NamedTuple):
    """What a seed has drawn."""

    seed: int
    topology: Topology
    faults: tuple[Fault, ...]


class Result(NamedTuple):
    """How a simulation ended."""

    seed: int
    problems: tuple[str, ...]
    digest: str
    virtual_us: int
    events: int
    faults: int
    records: int
    story: tuple[Told, ...]


def plan(seed: int, cluster: str = DEFAULT_CLUSTER) -> Plan:
    """``cluster`` is a name in ``TOPOLOGIES``, or "any"."""
    rng = World(seed).random("plan")
    drawn = rng.choice(SWARM)
    topology = TOPOLOGIES[drawn if cluster == ANY_CLUSTER else cluster]
    clients = (*CLIENTS, OPERATOR) if topology.is_operated else CLIENTS
    chosen = faults.draw(rng, topology, clients, CHAOS_MS)
    if topology.is_operated and rng.random() < _REPLACES_A_DIRECTORY:
        chosen = faults.replace_a_directory(rng, topology, chosen, CHAOS_MS)
    return Plan(seed, topology, tuple(chosen))


class Simulation:
    """Runs one plan."""

    # Of the topics of the admin client.
    _admin_replicas = 1
    _producer_pauses_ms: tuple[int, ...] = (100, 300, 1_000)

    def __init__(self, planned: Plan, tell_from: int | None = None) -> None:
        """With ``tell_from``, what nodes log from that level on is part of the story."""
        self._plan = planned
        self._tell_from = tell_from
        self.world = World(planned.seed)
        self.network = SimulatedNetwork(self.world)
        self.history = History(self.world)
        self._rng = self.world.random("workload")
        # Copies make up for what one machine loses with its power, but not for two; nor if the
        # others cannot show that they have lost nothing.
        dark = _nodes(planned, faults.POWER_FAULTS)
        unclean = _nodes(planned, faults.UNCLEAN_FAULTS)
        self.is_durable = bool(dark) and len(unclean) > planned.topology.replicas // 2
        self.cluster = Cluster(self.world, self.network, planned.topology, self._settings())
        self.clients: list[ClusterClient] = []
        self.members: list[GroupProgress] = []
        self.archive: Archive | None = None
        self._late = planned.topology.late_names
        self.partitions = [TopicPartition(TOPIC, each) for each in range(PARTITIONS)]

    def _settings(self) -> dict[str, str]:
        # What only one machine has, or all that lose their power, survives if it is flushed.
        return {"log.flush.interval.messages": "1"} if self.is_durable else {}

    def run(self) -> Result:
        """Raises nothing that the simulated nodes do: that is part of the result."""
        was_enabled = gc.isenabled()
        # Finalisers must not depend on when garbage is collected.
        gc.disable()
        try:
            with Unexpected(self.world, self._tell_from):
                self._run()
        finally:
            self._end()
            if was_enabled:
                gc.enable()
        world = self.world
        return Result(
            seed=world.seed,
            problems=tuple(dict.fromkeys(world.surprises)),
            digest=world.digest,
            virtual_us=world.now_us,
            events=world.events,
            faults=len(self._plan.faults),
            records=sum(len(each) for each in self.history.acknowledged.values()),
            story=tuple(world.story),
        )

    def _run(self) -> None:
        self.cluster.start()
        Watch(self.world, self.cluster)
        ReplicaWatch(self.world, self.cluster, self.partitions)
        if not self._begin():
            return
        self._start_clients()
        begin_us = self.world.now_us
        for fault in self._plan.faults:
            self.world.at(begin_us + fault.at_ms * US_PER_MS, faults.begin, self.cluster, fault)
        self.world.run_for(CHAOS_MS * US_PER_MS)
        self._calm_down()
        self._check("calm")
        if self.is_durable and not self.world.surprises:
            self._cut_all_power()
            self._check("the last power cut")

    def _begin(self) -> bool:
        """Start the nodes, and create the topics; whether all is well."""
        early = [each for each in self.cluster.machines if each.name not in self._late]
        return (
            self._live("start", lambda: all(each.node is not None for each in early))
            and self._create_topics()
            and self._start_late()
        )

    def _start_late(self) -> bool:
        self.cluster.start_late()
        return self._live("start late", self._are_nodes_ready)

    def _wait_for_calm(self) -> None:
        """Let every fault end by itself, then help up who is down."""
        latest_ms = max((each.at_ms + each.for_ms for each in self._plan.faults), default=0)
        self.world.run_for(max(latest_ms - CHAOS_MS, 0) * US_PER_MS + US_PER_S)
        self.world.tell("world", "calm")
        for machine in self.cluster.machines:
            machine.disk.heal()
            machine.disk.capacity = None
            machine.return_power()
            machine.start()

    def _calm_down(self) -> None:
        self._wait_for_calm()
        # Clients work for a while, which shows that all is well, and then stop.
        self.world.run_for(5 * US_PER_S)
        self._live("give each partition an owner in the group", self._is_all_owned)
        for client in self.clients:
            client.stop()
        if self._live("finish", lambda: all(each.is_done for each in self.clients)):
            self._live("be ready", self._are_nodes_ready)
            self._live("have every replica in sync", self._are_replicas_in_sync)

    def _check(self, after: str) -> None:
        """Read everything, and compare it with what is known."""
        if self.world.surprises:
            return
        reader = self._client(f"reader-{len(self.clients)}")
        consumer = Consumer(reader, self.partitions)
        for topic_partition in self.partitions:
            reader.begin(consumer.read_all(topic_partition))
        self._live(f"read everything after {after}", lambda: reader.is_done)
        check_records(self.world, self.history, self.partitions)
        # A change is acknowledged when some have it; whoever was cut off a moment ago gets it soon.
        self._live("have the same metadata everywhere", self._are_images_equally_new)
        check_metadata(self.world, self.cluster, self.history)

    def _cut_all_power(self) -> None:
        for machine in self.cluster.machines:
            machine.cut_power()
        self.world.run_for(US_PER_S)
        for machine in self.cluster.machines:
            machine.return_power()
            machine.start()
        self._live("start again", self._are_nodes_ready)

    # --- the parts ---

    def _create_topics(self) -> bool:
        client = self._client("admin-0")
        admin = Admin(client, 1, self._plan.topology.replicas)
        client.begin(admin.create(TopicFacts(TOPIC, PARTITIONS)))
        if self._late:
            # Finding a coordinator creates the topic of groups, of which late nodes have no copy.
            client.begin(client.find(GROUP))
        if not self._live("create topics", lambda: client.is_done):
            return False
        if any(each.kind == faults.ROT for each in self._plan.faults):
            archive = Archive(self._client("archive-0"), faults.ARCHIVE, PARTITIONS)
            archive.client.begin(admin.create(TopicFacts(faults.ARCHIVE, PARTITIONS)))
            archive.client.begin(archive.fill())
            self.archive = archive
            return self._live("fill the archive", lambda: archive.client.is_done)
        return True

    def _start_clients(self) -> None:
        rng = self._rng
        if self.archive is not None:
            self.archive.client.begin(self.archive.read_on())
        if self._plan.topology.is_dynamic:
            controllers = self._plan.topology.controllers
            client = self._client("quorum-1")
            QuorumAdmin(client, self.cluster.cluster_id, controllers).start()
        is_classic = rng.random() < 0.5
        for name in CLIENTS:
            client = self._client(name)
            kind = name.split("-")[0]
            if kind == "producer":
                Producer(client, self.partitions, rng.choice(self._producer_pauses_ms)).start()
            elif kind == "consumer":
                Consumer(client, self.partitions).start()
            elif kind == "member":
                self.members.append(self._member(client, is_classic, rng.choice((100, 500))))
                self.members[-1].start()
            else:
                Admin(client, rng.choice((200, 1_000)), self._admin_replicas).start()

    def _member(self, client: ClusterClient, is_classic: bool, pause_ms: int) -> GroupProgress:
        if is_classic:
            return ClassicMember(client, GROUP, TOPIC, pause_ms, range(PARTITIONS))
        return GroupMember(client, GROUP, TOPIC, pause_ms)

    def _client(self, name: str) -> ClusterClient:
        client = ClusterClient(self.world, self.network, self.history, name, self.cluster.addresses)
        self.clients.append(client)
        return client

    def _are_nodes_ready(self) -> bool:
        return all(each.node is not None for each in self.cluster.machines)

    def _are_replicas_in_sync(self) -> bool:
        replicas = self._plan.topology.replicas
        return are_replicas_in_sync(self.cluster, self.partitions, replicas)

    def _are_images_equally_new(self) -> bool:
        return are_images_equally_new(self.cluster)

    def _is_all_owned(self) -> bool:
        owned = sorted(each for member in self.members for each in member.owned)
        return owned == list(range(PARTITIONS))

    def _live(self, what: str, is_over: Callable[[], bool]) -> bool:
        """Whether something comes about in time, when nothing stands in its way."""
        if self.world.run_for(_LIVE_US, is_over):
            return True
        self.world.surprise("liveness", f"nothing stands in the way, but to {what} takes too long")
        return False

    def _end(self) -> None:
        self.world.is_over = True
        for client in self.clients:
            client.bury()
        self.cluster.bury()


def _nodes(planned: Plan, kinds: Sequence[str]) -> set[str]:
    """The nodes that have faults of some kinds."""
    return {each.node for each in planned.faults if each.kind in kinds}


def simulate(planned: Plan) -> Result:
    return Simulation(planned).run()
