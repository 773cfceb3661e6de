"""The machines of one simulated cluster, and their settings.

Times are short, so that what takes minutes in production happens often in a simulated minute:
segments roll, snapshots are written, sessions expire.
"""

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from moldau.broker.format import FormatOptions, format_directories
from moldau.config.broker import BrokerConfig
from moldau.ids import new_uuid, uuid_to_str
from moldau.simulator.clients.cluster import Address
from moldau.simulator.clients.member import HEARTBEAT_INTERVAL_MS, SESSION_TIMEOUT_MS
from moldau.simulator.machine import Machine
from moldau.simulator.network import SimulatedNetwork
from moldau.simulator.world import World

BROKER_PORT: Final = 9092
CONTROLLER_PORT: Final = 9093
DATA_DIR: Final = "/data"
# Of clusters with an operator. It never has the metadata log, so it may fail or be replaced.
SECOND_DIR: Final = "/data2"
BROKER_SESSION_MS: Final = 6_000
_MOST_DRIFT_PPM: Final = 200

_SETTINGS: Final = {
    "controller.listener.names": "CONTROLLER",
    "offsets.topic.num.partitions": "3",
    "auto.create.topics.enable": "false",
    "broker.session.timeout.ms": str(BROKER_SESSION_MS),
    "broker.heartbeat.interval.ms": "1000",
    "group.consumer.session.timeout.ms": str(SESSION_TIMEOUT_MS),
    "group.consumer.min.session.timeout.ms": str(SESSION_TIMEOUT_MS),
    "group.consumer.heartbeat.interval.ms": str(HEARTBEAT_INTERVAL_MS),
    "group.consumer.min.heartbeat.interval.ms": str(HEARTBEAT_INTERVAL_MS),
    "group.initial.rebalance.delay.ms": "500",
    "log.roll.ms": "7000",
    "log.retention.ms": "-1",
    # The wall clock of a broker may be hours behind that of a producer.
    "log.message.timestamp.after.max.ms": str((1 << 63) - 1),
    "log.segment.delete.delay.ms": "1000",
    "log.flush.offset.checkpoint.interval.ms": "3000",
    "replica.high.watermark.checkpoint.interval.ms": "2000",
    "metadata.log.max.record.bytes.between.snapshots": "3000",
    "metadata.log.segment.ms": "5000",
    "metadata.max.retention.ms": "10000",
}


class Topology(NamedTuple):
    """The nodes of a cluster; one that is in both rows has both roles.

    Nodes that are ``late`` start when the topics of the clients are there: they have no copy of
    anything, and may lose their disks. If voters are dynamic, they join as voters by themselves.
    """

    controllers: tuple[int, ...]
    brokers: tuple[int, ...]
    late: tuple[int, ...] = ()
    is_dynamic: bool = False
    # Of the topics whose records matter.
    replicas: int = 1
    # Of the topics of coordinators; as many as of the others if 0.
    coordinator_replicas: int = 0
    # The brokers are put into so many racks, by turns; into none if 0.
    racks: int = 0
    # Replicas are moved while clients work, between brokers and between two log directories.
    is_operated: bool = False

    @property
    def node_ids(self) -> list[int]:
        return sorted({*self.controllers, *self.brokers})

    @property
    def names(self) -> list[str]:
        return [f"node-{each}" for each in self.node_ids]

    @property
    def log_dirs(self) -> tuple[str, ...]:
        return (DATA_DIR, SECOND_DIR) if self.is_operated else (DATA_DIR,)

    @property
    def late_names(self) -> list[str]:
        return [f"node-{each}" for each in self.late]

    def brokers_in(self, rack: int) -> list[int]:
        return list(self.brokers[rack :: self.racks])

    @property
    def internal_replicas(self) -> int:
        return self.coordinator_replicas or self.replicas

    @property
    def first_controllers(self) -> list[int]:
        return [each for each in self.controllers if each not in self.late]


TOPOLOGIES: Final = {
    "single": Topology((1,), (1,)),
    "combined": Topology((1, 2, 3), (1, 2, 3)),
    "separate": Topology((1, 2, 3), (4, 5, 6), late=(6,)),
    "dynamic": Topology((1, 2, 3, 4), (1, 2, 3, 4), late=(4,), is_dynamic=True),
    "replicated": Topology((1, 2, 3), (1, 2, 3), replicas=3),
    "coordinated": Topology((1, 2, 3), (1, 2, 3), coordinator_replicas=3),
    "operated": Topology((1, 2, 3), (1, 2, 3, 4, 5), replicas=3, is_operated=True),
}
# Those that a seed may draw.
SWARM: Final = ("single", "combined", "separate", "dynamic", "replicated")


class Cluster:
    """Machines that run one cluster."""

    def __init__(
        self,
        world: World,
        network: SimulatedNetwork,
        topology: Topology,
        settings: Mapping[str, str] | None = None,
    ) -> None:
        self.world = world
        self.network = network
        self.topology = topology
        self._rng = world.random("cluster")
        self.cluster_id = uuid_to_str(new_uuid(self._rng))
        # The directories of the first voters, if they are dynamic.
        self._first_voters = ",".join(
            f"{each}@node-{each}:{CONTROLLER_PORT}:{uuid_to_str(new_uuid(self._rng))}"
            for each in topology.first_controllers
            if topology.is_dynamic
        )
        common = {
            **_SETTINGS,
            "log.dirs": ",".join(topology.log_dirs),
            **self._quorum_settings(),
            "offsets.topic.replication.factor": str(topology.internal_replicas),
            "min.insync.replicas": str(topology.replicas // 2 + 1),
            **(settings or {}),
        }
        self.machines: Sequence[Machine] = [
            self._machine(each, common) for each in topology.node_ids
        ]

    def _quorum_settings(self) -> dict[str, str]:
        controllers = self.topology.controllers
        if self.topology.is_dynamic:
            servers = ",".join(f"node-{each}:{CONTROLLER_PORT}" for each in controllers)
            return {"controller.quorum.bootstrap.servers": servers}
        voters = ",".join(f"{each}@node-{each}:{CONTROLLER_PORT}" for each in controllers)
        return {"controller.quorum.voters": voters}

    def _machine(self, node_id: int, common: Mapping[str, str]) -> Machine:
        name = f"node-{node_id}"
        roles, listeners = [], []
        if node_id in self.topology.brokers:
            roles.append("broker")
            listeners.append(f"PLAINTEXT://{name}:{BROKER_PORT}")
            if self.topology.racks:
                rack = self.topology.brokers.index(node_id) % self.topology.racks
                common = {**common, "broker.rack": f"rack-{rack}"}
        if node_id in self.topology.controllers:
            roles.append("controller")
            listeners.append(f"CONTROLLER://{name}:{CONTROLLER_PORT}")
        joins = self.topology.is_dynamic and node_id in self.topology.controllers
        config = BrokerConfig.from_properties(
            {
                "controller.quorum.auto.join.enable": str(joins).lower(),
                "node.id": str(node_id),
                "process.roles": ",".join(roles),
                "listeners": ",".join(listeners),
                **common,
            }
        )
        drift_ppm = self._rng.randint(-_MOST_DRIFT_PPM, _MOST_DRIFT_PPM)
        machine = Machine(self.world, self.network, name, config, drift_ppm)
        machine.on_damage = self.replace_disk
        self.format(machine, is_first=node_id not in self.topology.late)
        return machine

    def format(self, machine: Machine, *, is_first: bool = False) -> None:
        """Prepare the disk of a machine, as ``moldau storage format`` does.

        ``is_first`` if it is one of those that the cluster begins with.
        """
        options = FormatOptions(cluster_id=self.cluster_id)
        if self.topology.is_dynamic and machine.config.is_controller:
            options.no_initial_controllers = not is_first
            options.initial_controllers = self._first_voters if is_first else None
        format_directories(machine.config, options, machine.disk, self._rng, clock=machine.clock)

    def replace_disk(self, machine: Machine) -> None:
        """Put an empty disk into a machine whose process has ended."""
        machine.wipe()
        self.format(machine)

    def replace_directory(self, machine: Machine, path: str) -> None:
        """Put an empty disk in the place of one log directory; the process must have ended."""
        self.world.tell(machine.name, f"has a new disk for {path}")
        machine.disk.remove_tree(path)
        options = FormatOptions(cluster_id=self.cluster_id, ignore_formatted=True)
        format_directories(machine.config, options, machine.disk, self._rng, clock=machine.clock)

    @property
    def addresses(self) -> list[Address]:
        """Where clients begin."""
        return [Address(f"node-{each}", BROKER_PORT) for each in self.topology.brokers]

    def machine(self, name: str) -> Machine:
        (found,) = (each for each in self.machines if each.name == name)
        return found

    def start(self) -> None:
        """Start all machines but the late ones."""
        for machine in self.machines:
            if machine.config.node_id not in self.topology.late:
                machine.start()

    def start_late(self) -> None:
        for node_id in self.topology.late:
            self.machine(f"node-{node_id}").start()

    def bury(self) -> None:
        for machine in self.machines:
            machine.bury()
