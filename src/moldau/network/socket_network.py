"""The real network: sockets of the operating system on the running event loop."""

import asyncio
import contextlib
import errno
import logging
import socket
from collections.abc import Callable, Sequence
from typing import Final

from moldau.network.acceptor import Acceptor
from moldau.network.limits import ServerLimits
from moldau.network.listening import listen
from moldau.network.network import Admission, ListenerAddress, Listening

# "localhost" also has an IPv6 address where there is no IPv6.
_NO_SUCH_FAMILY: Final = (errno.EADDRNOTAVAIL, errno.EAFNOSUPPORT)


class SocketNetwork:
    """Listens on and connects to TCP addresses."""

    async def listen(
        self,
        listener: ListenerAddress,
        limits: ServerLimits,
        admission: Admission,
        logger: logging.Logger,
    ) -> Sequence[Listening]:
        loop = asyncio.get_running_loop()
        sockets = await listen(listener, limits)
        return [Acceptor(loop, listener.name, sock, admission, logger) for sock in sockets]

    async def connect(
        self, host: str, port: int, protocol_factory: Callable[[], asyncio.BaseProtocol]
    ) -> asyncio.Transport:
        loop = asyncio.get_running_loop()
        found = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        errors: list[OSError] = []
        for address in dict.fromkeys(str(each[4][0]) for each in found):
            try:
                transport, _ = await loop.create_connection(protocol_factory, address, port)
                break
            except OSError as error:
                errors.append(error)
        else:
            raise _reason(errors)
        sock = transport.get_extra_info("socket")
        with contextlib.suppress(OSError):  # the peer may be gone already
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        return transport


def _reason(errors: Sequence[OSError]) -> OSError:
    """Why no address of a host accepts: a refusal only if nothing else went wrong."""
    others = [each for each in errors if each.errno not in _NO_SUCH_FAMILY]
    for error in others:
        if not isinstance(error, ConnectionRefusedError):
            return error
    return (others or errors)[0]
