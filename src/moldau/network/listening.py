"""Opens the sockets a server listens on, with errors that a user can act on."""

import asyncio
import errno
import socket
from collections.abc import Sequence
from typing import cast

from moldau.network.limits import ServerLimits
from moldau.network.network import ListenerAddress, ListenError

Address = tuple[str, int] | tuple[str, int, int, int]


async def listen(listener: ListenerAddress, limits: ServerLimits) -> list[socket.socket]:
    """Bind ``listener``: one socket for every address that its host name resolves to.

    An empty host means every interface, over IPv4 and IPv6. With port 0 the system chooses
    a port, the same one for all addresses.

    Raises:
        ListenError: no address could be bound, or one is in use.
    """
    if not listener.host:
        return [_listen_everywhere(listener, limits)]
    opened: list[socket.socket] = []
    port = listener.port
    missing: OSError | None = None
    for family, address in await _resolve(listener):
        try:
            sock = _open(family, _with_port(address, port), limits)
        except OSError as error:
            # "localhost" also resolves to ::1 on machines without IPv6.
            if error.errno in (errno.EADDRNOTAVAIL, errno.EAFNOSUPPORT):
                missing = error
                continue
            _close_all(opened)
            raise _explain(listener, error) from error
        opened.append(sock)
        port = sock.getsockname()[1]
    if not opened:
        assert missing is not None, "a name that resolves has an address"
        raise _explain(listener, missing) from missing
    return opened


def plain_ip(ip: str) -> str:
    """``ip``, as IPv4 if it is an IPv4-mapped IPv6 address."""
    return ip[7:] if ip.startswith("::ffff:") and "." in ip else ip


async def resolve_ips(host: str) -> list[str]:
    """Every address of ``host``, in the form that ``plain_ip`` returns."""
    loop = asyncio.get_running_loop()
    found = await loop.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    return [plain_ip(str(entry[4][0])) for entry in found]


async def _resolve(
    listener: ListenerAddress,
) -> Sequence[tuple[socket.AddressFamily, Address]]:
    loop = asyncio.get_running_loop()
    try:
        found = await loop.getaddrinfo(
            listener.host.strip("[]"),
            listener.port,
            type=socket.SOCK_STREAM,
            flags=socket.AI_PASSIVE,
        )
    except socket.gaierror as error:
        raise ListenError(
            f"listener {_name(listener)}: the host name {listener.host!r} cannot be resolved "
            f"({error.strerror}); use a name or an address of this machine, or no host "
            "to listen everywhere"
        ) from error
    # IPv4 first: with port 0 it determines the port.
    found.sort(key=lambda entry: entry[0])
    return [(entry[0], cast(Address, entry[4])) for entry in found]


def _listen_everywhere(listener: ListenerAddress, limits: ServerLimits) -> socket.socket:
    try:
        if socket.has_dualstack_ipv6():
            try:
                return _open(socket.AF_INET6, ("::", listener.port, 0, 0), limits, dual=True)
            except OSError as error:
                if error.errno not in (errno.EADDRNOTAVAIL, errno.EAFNOSUPPORT):
                    raise
        return _open(socket.AF_INET, ("0.0.0.0", listener.port), limits)
    except OSError as error:
        raise _explain(listener, error) from error


def _open(
    family: socket.AddressFamily, address: Address, limits: ServerLimits, dual: bool = False
) -> socket.socket:
    sock = socket.socket(family, socket.SOCK_STREAM)
    try:
        sock.setblocking(False)
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if family == socket.AF_INET6:
            sock.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0 if dual else 1)
        # Accepted sockets inherit both sizes, and the TCP window can be scaled only if the size
        # is set before the handshake.
        if limits.receive_buffer_bytes > 0:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, limits.receive_buffer_bytes)
        if limits.send_buffer_bytes > 0:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, limits.send_buffer_bytes)
        sock.bind(address)
        sock.listen(limits.listen_backlog)
    except BaseException:
        sock.close()
        raise
    return sock


def _with_port(address: Address, port: int) -> Address:
    if len(address) == 4:
        return (address[0], port, address[2], address[3])
    return (address[0], port)


def _close_all(sockets: list[socket.socket]) -> None:
    for sock in sockets:
        sock.close()


def _name(listener: ListenerAddress) -> str:
    return f"{listener.name}://{listener.host}:{listener.port}"


def _explain(listener: ListenerAddress, error: OSError) -> ListenError:
    what = f"listener {_name(listener)} cannot be opened"
    if error.errno == errno.EADDRINUSE:
        return ListenError(
            f"{what}: port {listener.port} is in use by another process; "
            "stop it, or give this listener another port"
        )
    if error.errno in (errno.EACCES, errno.EPERM):
        return ListenError(
            f"{what}: this user may not use port {listener.port}; choose a port above 1023"
        )
    if error.errno == errno.EADDRNOTAVAIL:
        return ListenError(
            f"{what}: {listener.host} is not an address of this machine; listen on one that is "
            "(or on no host, for all) and put this one into advertised.listeners"
        )
    return ListenError(f"{what}: {error.strerror or error}")
