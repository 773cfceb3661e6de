"""Starts clusters of several nodes as real processes, for tests and benchmarks.

A node is Moldau or Apache Kafka; both are started from the same ``server.properties``, so that one
cluster can have nodes of both, and a test can be verified by running it against Apache Kafka.
"""

import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Final, NamedTuple

from moldau.ids import new_uuid, uuid_to_str
from tools import wire
from tools.brokers import HOST, Broker, free_port, kafka_dir

MOLDAU = "moldau"
APACHE = "apache"
NO_SETTINGS: Final[Mapping[str, str]] = MappingProxyType({})


class Member(NamedTuple):
    """A node of a cluster that is about to be made."""

    node_id: int
    roles: str = "broker,controller"
    kind: str = MOLDAU
    settings: Mapping[str, str] = NO_SETTINGS

    @property
    def is_controller(self) -> bool:
        return "controller" in self.roles

    @property
    def is_broker(self) -> bool:
        return "broker" in self.roles


def separate_members(controllers: int, brokers: int, kind: str = MOLDAU) -> list[Member]:
    """Controllers 1, 2, ... and brokers 101, 102, ..., each a process of its own."""
    return [
        *(Member(1 + index, "controller", kind) for index in range(controllers)),
        *(Member(101 + index, "broker", kind) for index in range(brokers)),
    ]


class ClusterNode(Broker):
    """One node, configured only by its ``server.properties``."""

    def __init__(self, directory: Path, member: Member) -> None:
        super().__init__(directory)
        self.member = member
        self.kind = f"node {member.node_id} ({member.kind})"
        # Where it listens, and what starts it: another address in a network namespace of its own.
        self.host = HOST
        self.launcher: list[str] = []
        self.log_path = directory.parent / f"node-{member.node_id}.log"
        self.controller_port = free_port() if member.is_controller else 0
        self.directory_id = uuid_to_str(new_uuid(random.SystemRandom()))
        self.properties_path = directory.parent / f"node-{member.node_id}.properties"

    @property
    def node_id(self) -> int:
        return self.member.node_id

    @property
    def bootstrap(self) -> str:
        return f"{self.host}:{self.port}"

    @property
    def controller_address(self) -> str:
        return f"{self.host}:{self.controller_port}"

    def command(self) -> list[str]:
        start = [str(kafka_dir() / "bin" / "kafka-server-start")]
        if self.member.kind == MOLDAU:
            start = [sys.executable, "-m", "moldau", "start"]
        return [*self.launcher, *start, str(self.properties_path)]

    def is_ready(self) -> bool:
        try:
            if self.member.is_broker:
                return bool(wire.broker_ids(self.host, self.port))
            with wire.RawConnection(self.host, self.controller_port, 2.0) as connection:
                connection.call(wire.request(wire.API_VERSIONS, 0, 1, b""))
        except OSError:
            return False
        return True

    def pause(self) -> None:
        """Stop the process without closing its connections (SIGSTOP)."""
        assert self.process is not None
        self.process.send_signal(signal.SIGSTOP)

    def resume(self) -> None:
        assert self.process is not None
        self.process.send_signal(signal.SIGCONT)

    @property
    def is_running(self) -> bool:
        return self.process is not None and self.process.poll() is None


class Cluster:
    """Nodes on one machine. ``is_dynamic`` chooses KIP-853 instead of controller.quorum.voters."""

    def __init__(
        self,
        directory: Path,
        members: Sequence[Member],
        settings: Mapping[str, str] | None = None,
        *,
        is_dynamic: bool = True,
    ) -> None:
        self.directory = directory
        self.is_dynamic = is_dynamic
        self.settings = dict(settings or {})
        self.cluster_id = uuid_to_str(new_uuid(random.SystemRandom()))
        directory.mkdir(parents=True, exist_ok=True)
        self.nodes = {
            each.node_id: ClusterNode(directory / f"node-{each.node_id}", each) for each in members
        }

    @property
    def controllers(self) -> list[ClusterNode]:
        return [node for node in self.nodes.values() if node.member.is_controller]

    @property
    def brokers(self) -> list[ClusterNode]:
        return [node for node in self.nodes.values() if node.member.is_broker]

    @property
    def bootstrap(self) -> str:
        return ",".join(node.bootstrap for node in self.brokers)

    @property
    def controller_bootstrap(self) -> str:
        return ",".join(node.controller_address for node in self.controllers)

    def properties_of(self, node: ClusterNode) -> dict[str, str]:
        member = node.member
        listeners = []
        if member.is_broker:
            listeners.append(f"PLAINTEXT://{node.bootstrap}")
        if member.is_controller:
            listeners.append(f"CONTROLLER://{node.controller_address}")
        properties = {
            "process.roles": member.roles,
            "node.id": str(member.node_id),
            "listeners": ",".join(listeners),
            "advertised.listeners": ",".join(listeners),
            "controller.listener.names": "CONTROLLER",
            "listener.security.protocol.map": "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT",
            "log.dirs": str(node.directory),
            "offsets.topic.replication.factor": "1",
            "transaction.state.log.replication.factor": "1",
            "transaction.state.log.min.isr": "1",
            "share.coordinator.state.topic.replication.factor": "1",
            "share.coordinator.state.topic.min.isr": "1",
            "group.initial.rebalance.delay.ms": "0",
        }
        if self.is_dynamic:
            properties["controller.quorum.bootstrap.servers"] = self.controller_bootstrap
        else:
            properties["controller.quorum.voters"] = ",".join(
                f"{each.node_id}@{each.controller_address}" for each in self.controllers
            )
        return {**properties, **self.settings, **member.settings}

    def prepare(
        self, node: ClusterNode, *, is_first: bool = True, formatted_by: str | None = None
    ) -> None:
        """Write the settings of a node and format its directory, with its own tool or another's.

        ``is_first`` if it belongs to the first voters; otherwise it joins a quorum that exists.
        """
        text = "".join(f"{name}={value}\n" for name, value in self.properties_of(node).items())
        node.properties_path.write_text(text)
        if (node.directory / "meta.properties").exists():
            return
        node.directory.mkdir(parents=True, exist_ok=True)
        command = [sys.executable, "-m", "moldau", "storage", "format"]
        if (formatted_by or node.member.kind) == APACHE:
            command = [str(kafka_dir() / "bin" / "kafka-storage"), "format"]
        command += ["-t", self.cluster_id, "-c", str(node.properties_path)]
        if self.is_dynamic and node.member.is_controller:
            command += self._voters_option() if is_first else ["--no-initial-controllers"]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode != 0:
            raise RuntimeError(f"{' '.join(command)} failed:\n{done.stdout}{done.stderr}")

    def _voters_option(self) -> list[str]:
        voters = [
            f"{each.node_id}@{each.controller_address}:{each.directory_id}"
            for each in self.controllers
        ]
        return ["--initial-controllers", ",".join(voters)]

    def start(self) -> "Cluster":
        """Start every node that does not run, and return when each has answered a request."""
        for node in self.nodes.values():
            self.prepare(node)
        for node in self.nodes.values():
            if not node.is_running:
                node.launch()
        for node in self.nodes.values():
            node.wait_until_ready()
        return self

    def stop(self) -> None:
        """Stop brokers first, as an operator would: they move their leaderships away."""
        for node in sorted(self.nodes.values(), key=lambda each: each.member.is_controller):
            if node.is_running:
                node.resume()
                node.stop()

    def __enter__(self) -> "Cluster":
        try:
            return self.start()
        except BaseException:
            self.__exit__()
            raise

    def __exit__(self, *_: object) -> None:
        for node in self.nodes.values():
            if node.is_running:
                node.kill()

    def log_tails(self, lines: int = 15) -> str:
        tails = [f"--- {node.kind}\n{node.log_tail(lines)}" for node in self.nodes.values()]
        return "\n".join(tails)


def eventually(what: str, check: Callable[[], object], limit_s: float = 180.0) -> None:
    """Wait until ``check`` returns something true; errors of clients count as not yet."""
    deadline = time.monotonic() + limit_s
    last: object = None
    while time.monotonic() < deadline:
        try:
            last = check()
        except Exception as error:
            last = error
        else:
            if last:
                return
        time.sleep(0.05)
    raise AssertionError(f"not within {limit_s:g} s: {what} (last: {last!r})")
