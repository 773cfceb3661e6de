"""The nodes of a cluster on one machine: their roles, ports and settings.

Pure. ``cluster_directory`` writes the settings to files; from then on the files are what counts, so
that a user may edit them or copy them to other machines.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from moldau.cli.errors import UsageError
from moldau.config.broker import BrokerConfig

DEFAULT_PORT: Final = 9092
# Controllers listen this far above the brokers, so that brokers can be added in between.
CONTROLLER_PORT_DISTANCE: Final = 100
MAX_REPLICATION: Final = 3
_EVERYWHERE: Final = ("", "0.0.0.0", "::")
# All nodes are started together: whoever comes up first need not wait a second for a leader.
_ELECTION_TIMEOUT_MS: Final = 250


class Role(NamedTuple):
    """The roles of one node that is to be made."""

    node_id: int
    is_broker: bool
    is_controller: bool

    def __str__(self) -> str:
        roles = ("broker",) * self.is_broker + ("controller",) * self.is_controller
        return ",".join(roles)


class ClusterNode(NamedTuple):
    """One node, as its ``server.properties`` describes it."""

    directory: Path
    config: BrokerConfig

    @property
    def node_id(self) -> int:
        return self.config.node_id

    @property
    def roles(self) -> list[str]:
        return list(self.config.process_roles)

    @property
    def properties_path(self) -> Path:
        return self.directory / "server.properties"

    @property
    def log_path(self) -> Path:
        return self.directory / "node.log"

    @property
    def address(self) -> str:
        """Where clients connect; for a node that is only a controller, where other nodes do."""
        first = [*self.config.advertised, *self.config.controller_endpoints][0]
        host = f"[{first.host}]" if ":" in first.host else first.host
        return f"{host}:{first.port}"

    @property
    def port(self) -> int:
        return int(self.address.rpartition(":")[2])


def roles(brokers: int, controllers: int | None, *, is_separate: bool) -> list[Role]:
    """The nodes of a new cluster.

    The first brokers are controllers too, unless ``is_separate`` makes them nodes of their own.

    Raises:
        UsageError: numbers that make no cluster.
    """
    if brokers < 1:
        raise UsageError(f"--brokers {brokers}: a cluster has at least one broker")
    count = default_controllers(brokers) if controllers is None else controllers
    if count < 1:
        raise UsageError(f"--controllers {count}: a cluster has at least one controller")
    if is_separate:
        return [
            *(Role(1 + index, False, True) for index in range(count)),
            *(Role(101 + index, True, False) for index in range(brokers)),
        ]
    if count > brokers:
        raise UsageError(
            f"--controllers {count}: there are only {brokers} brokers to be controllers as well; "
            "--separate makes controllers separate nodes"
        )
    return [Role(1 + index, True, index < count) for index in range(brokers)]


def default_controllers(brokers: int) -> int:
    """Three survive the loss of one; two are no safer than one."""
    return 3 if brokers >= 3 else 1


def bootstrap_servers(nodes: Sequence[ClusterNode]) -> str:
    """The string that clients connect with."""
    return ",".join(node.address for node in nodes if node.config.is_broker)


def cluster_properties(
    wanted: Sequence[Role],
    host: str,
    ports: Mapping[int, tuple[int, int]],
    directory: Path,
) -> dict[int, dict[str, str]]:
    """The settings of each node of a new cluster; ``ports`` has those for clients and controllers.

    With three brokers or more, records survive the loss of two of them, and can be written while
    one is gone.
    """
    host = "" if host in _EVERYWHERE else host
    quorum = [(each.node_id, ports[each.node_id][1]) for each in wanted if each.is_controller]
    count = sum(each.is_broker for each in wanted)
    replication = min(count, MAX_REPLICATION)
    servers = ",".join(f"{_named(host)}:{port}" for _, port in quorum)
    shared = {
        "controller.listener.names": "CONTROLLER",
        "controller.quorum.bootstrap.servers": servers,
        "controller.quorum.election.timeout.ms": str(_ELECTION_TIMEOUT_MS),
        **_replication(replication),
    }
    return {
        each.node_id: {
            "process.roles": str(each),
            "node.id": str(each.node_id),
            "listeners": _listeners(each, host, *ports[each.node_id]),
            "log.dirs": str(node_directory(directory, each.node_id) / "data"),
            **shared,
        }
        for each in wanted
    }


def added_broker(
    like: Mapping[str, str], role: Role, host: str, port: int, directory: Path
) -> dict[str, str]:
    """The settings of a broker that joins a cluster, where ``like`` are those of another node."""
    own = {
        "process.roles": str(role),
        "node.id": str(role.node_id),
        "listeners": f"PLAINTEXT://{_bracketed(host)}:{port}",
        "log.dirs": str(node_directory(directory, role.node_id) / "data"),
    }
    of_the_other = ("advertised.listeners", "controller.listeners", "metadata.log.dir", "log.dir")
    return {**{key: value for key, value in like.items() if key not in of_the_other}, **own}


def node_directory(directory: Path, node_id: int) -> Path:
    return directory / f"node-{node_id}"


def _listeners(role: Role, host: str, port: int, controller_port: int) -> str:
    listeners = []
    if role.is_broker:
        listeners.append(f"PLAINTEXT://{_bracketed(host)}:{port}")
    if role.is_controller:
        listeners.append(f"CONTROLLER://{_named(host)}:{controller_port}")
    return ",".join(listeners)


def _replication(factor: int) -> dict[str, str]:
    """Kafka's defaults for internal topics are these, where there are three brokers."""
    min_isr = max(1, factor - 1)
    return {
        "default.replication.factor": str(factor),
        "min.insync.replicas": str(min_isr),
        "offsets.topic.replication.factor": str(factor),
        "transaction.state.log.replication.factor": str(factor),
        "transaction.state.log.min.isr": str(min_isr),
        "share.coordinator.state.topic.replication.factor": str(factor),
        "share.coordinator.state.topic.min.isr": str(min_isr),
    }


def _named(host: str) -> str:
    """The host for other controllers, which need a name even if clients come from everywhere."""
    return _bracketed(host) or "localhost"


def _bracketed(host: str) -> str:
    return f"[{host}]" if ":" in host else host
