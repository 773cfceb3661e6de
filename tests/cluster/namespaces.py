"""A network namespace for each node of a cluster, so that a node can be cut off from the others.

A node in a namespace has an address of its own, behind a bridge of this machine. Taking its link
away loses packets without closing a connection, which nothing else on one machine can do. That
needs root and Linux; ``reason_against`` tells what is missing.
"""

import os
import shutil
import subprocess
from types import TracebackType
from typing import Self

from tools.clusters import Cluster, ClusterNode

# Names of interfaces have at most 15 characters.
_NAME = f"md{os.getpid()}"


def reason_against() -> str | None:
    """Why this machine cannot make network namespaces, or None."""
    if shutil.which("ip") is None:
        return "the ip command (iproute2) is not on the PATH"
    if os.geteuid() != 0:
        return "only root may make network namespaces"
    name = f"{_NAME}-try"
    tried = subprocess.run(["ip", "netns", "add", name], capture_output=True, text=True)
    if tried.returncode != 0:
        return f"network namespaces are not permitted: {tried.stderr.strip()}"
    _ip("netns", "delete", name)
    return None


class Namespaces:
    """Moves the nodes of a cluster that has not been started into namespaces of their own."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._bridge = f"{_NAME}b"
        # Addresses that are for tests only (RFC 2544), a different part for each process.
        self._subnet = f"198.{18 + os.getpid() // 256 % 2}.{os.getpid() % 256}"

    def __enter__(self) -> Self:
        try:
            _ip("link", "add", self._bridge, "type", "bridge")
            _ip("address", "add", f"{self._subnet}.1/24", "dev", self._bridge)
            _ip("link", "set", self._bridge, "up")
            for place, node in enumerate(self._cluster.nodes.values(), start=10):
                self._move(node, f"{self._subnet}.{place}")
        except BaseException:
            self.__exit__(None, None, None)
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for node in self._cluster.nodes.values():
            subprocess.run(["ip", "link", "delete", self._link(node)], capture_output=True)
            subprocess.run(["ip", "netns", "delete", self._name(node)], capture_output=True)
        subprocess.run(["ip", "link", "delete", self._bridge], capture_output=True)

    def cut(self, node: ClusterNode) -> None:
        """Lose every packet from and to a node."""
        _ip("link", "set", self._link(node), "down")

    def cut_outgoing(self, node: ClusterNode) -> None:
        """Lose every packet that a node sends; what is sent to it still arrives."""
        device = ["dev", "eth0", "root", "bfifo", "limit", "1"]
        _run("ip", "netns", "exec", self._name(node), "tc", "qdisc", "add", *device)

    def mend(self, node: ClusterNode) -> None:
        _ip("link", "set", self._link(node), "up")
        name = self._name(node)
        command = ["ip", "netns", "exec", name, "tc", "qdisc", "delete", "dev", "eth0", "root"]
        subprocess.run(command, capture_output=True)

    def _move(self, node: ClusterNode, address: str) -> None:
        name, link = self._name(node), self._link(node)
        _ip("netns", "add", name)
        _ip("link", "add", link, "type", "veth", "peer", "name", "eth0", "netns", name)
        _ip("link", "set", link, "master", self._bridge, "up")
        inside = ["-n", name]
        _ip(*inside, "address", "add", f"{address}/24", "dev", "eth0")
        _ip(*inside, "link", "set", "eth0", "up")
        _ip(*inside, "link", "set", "lo", "up")
        node.host = address
        node.launcher = ["ip", "netns", "exec", name]

    def _name(self, node: ClusterNode) -> str:
        return f"{_NAME}-{node.node_id}"

    def _link(self, node: ClusterNode) -> str:
        return f"{_NAME}n{node.node_id}"


def _ip(*arguments: str) -> None:
    _run("ip", *arguments)


def _run(*command: str) -> None:
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(command)} failed: {done.stderr.strip()}")
