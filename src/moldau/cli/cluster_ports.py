"""The ports of a cluster: chosen, found to be free, and kept for its nodes.

A bound socket that does not listen keeps others from being given its port, and does not keep a node
from listening on it (Linux). So the ports of a cluster stay its own while a node is down.
"""

import errno
import socket
import sys
from collections.abc import Iterable

from moldau.cli.cluster_layout import ClusterNode
from moldau.cli.errors import CommandError
from moldau.config.listeners import Listener


class ReservedPorts:
    """Sockets that are bound to the ports of a cluster."""

    def __init__(self) -> None:
        self._sockets: list[socket.socket] = []

    def reserve(self, node: ClusterNode) -> None:
        """Reserve the ports that a node listens on.

        Raises:
            CommandError: another process listens on one of them.
        """
        for listener in node.config.listeners:
            for sock in _bind(node.node_id, listener):
                if sys.platform == "linux":
                    self._sockets.append(sock)
                else:
                    sock.close()

    def close(self) -> None:
        for sock in self._sockets:
            sock.close()
        self._sockets.clear()


def free_ports(host: str, count: int) -> list[int]:
    """Ports that nobody uses."""
    sockets = []
    try:
        for _ in range(count):
            address = _addresses(host, 0)[0]
            sock = socket.socket(address[0], socket.SOCK_STREAM)
            sockets.append(sock)
            sock.bind(address[4])
        return [int(sock.getsockname()[1]) for sock in sockets]
    finally:
        for sock in sockets:
            sock.close()


def is_free(host: str, port: int) -> bool:
    try:
        sockets = _bind(0, Listener("PLAINTEXT", host, port))
    except CommandError:
        return False
    for sock in sockets:
        sock.close()
    return True


def _bind(node_id: int, listener: Listener) -> Iterable[socket.socket]:
    bound: list[socket.socket] = []
    for family, kind, _, _, address in _addresses(listener.host, listener.port):
        sock = socket.socket(family, kind)
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if family == socket.AF_INET6:
            sock.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        try:
            sock.bind(address)
        except OSError as error:
            sock.close()
            # "localhost" also resolves to ::1 on machines without IPv6.
            if error.errno in (errno.EADDRNOTAVAIL, errno.EAFNOSUPPORT):
                continue
            for other in bound:
                other.close()
            raise _taken(node_id, listener, error) from None
        bound.append(sock)
    return bound


def _addresses(host: str, port: int) -> list[tuple[socket.AddressFamily, int, int, str, tuple]]:  # type: ignore[type-arg]
    try:
        found = socket.getaddrinfo(
            host.strip("[]") or None, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )
    except socket.gaierror as error:
        raise CommandError(
            f"the host name {host!r} cannot be resolved ({error.strerror}): use a name or an "
            "address of this machine"
        ) from None
    # IPv4 first, as the broker does.
    return sorted(found, key=lambda entry: entry[0])


def _taken(node_id: int, listener: Listener, error: OSError) -> CommandError:
    what = f"node {node_id} cannot listen on {listener.host or '*'}:{listener.port}"
    if error.errno == errno.EADDRINUSE:
        return CommandError(
            f"{what}: port {listener.port} is in use by another process; stop it, or choose other "
            "ports: with --listen for a new cluster, in the server.properties of its nodes for an "
            "existing one"
        )
    return CommandError(f"{what}: {error.strerror or error}")
