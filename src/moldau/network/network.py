"""What a node needs of a network: to listen, and to connect.

``SocketNetwork`` is the real one; the simulator has another, whose transports are in memory. A node
gets its network passed in, as it gets its clock and its disk, so that the same ``Server``,
``Connection`` and ``Outbound`` run on both.

Rules that every network keeps:

* Bytes of one connection arrive in order, or not at all. Nothing is promised across connections.
* Transports behave as those of asyncio: callbacks come from the loop, never from inside ``write``
  (``pause_writing`` excepted), and ``connection_lost`` comes once, after everything else.
* A transport that can be half-closed says so with ``can_write_eof``.
"""

import asyncio
import logging
import socket
from collections.abc import Callable, Sequence
from typing import Protocol

from moldau.network.limits import ServerLimits


class ListenerAddress(Protocol):
    """An address to listen on, such as a listener of ``config``."""

    @property
    def name(self) -> str: ...

    @property
    def host(self) -> str: ...

    @property
    def port(self) -> int: ...


class ListenError(Exception):
    """A listener cannot be opened; the message has its name and the remedy."""


class Incoming(Protocol):
    """A connection that a peer has opened, and that nobody serves yet."""

    @property
    def peer_host(self) -> str: ...

    @property
    def peer_port(self) -> int: ...

    @property
    def socket(self) -> socket.socket | None:
        """The socket to write to directly; None if writes go through the transport."""
        ...

    async def attach(self, protocol: asyncio.BaseProtocol) -> None:
        """Give the connection to ``protocol``: its ``connection_made`` is called.

        Raises:
            Exception: the connection could not be set up, and is closed.
        """
        ...

    def close(self) -> None:
        """Close a connection that was not attached."""
        ...


class Admission(Protocol):
    """Who may connect, and what happens then: the server as its listening sockets see it."""

    def has_room(self, listener: str) -> bool:
        """Whether ``listener`` may accept another connection; if not, connections wait."""
        ...

    def wait_ms(self, listener: str) -> int:
        """How long the connection just accepted has to wait; called once for each."""
        ...

    def admit(self, listener: str, incoming: Incoming) -> None:
        """Take an accepted connection."""
        ...


class Listening(Protocol):
    """One address on which peers can connect; nothing is accepted before ``resume``."""

    @property
    def port(self) -> int: ...

    def resume(self) -> None:
        """Accept while there is room; called again when there may be room again."""
        ...

    def close(self) -> None: ...


class Network(Protocol):
    """Opens listeners and connections."""

    async def listen(
        self,
        listener: ListenerAddress,
        limits: ServerLimits,
        admission: Admission,
        logger: logging.Logger,
    ) -> Sequence[Listening]:
        """Bind ``listener``, on as many addresses as its host name has.

        Raises:
            ListenError: no address could be bound, or one is in use.
        """
        ...

    async def connect(
        self, host: str, port: int, protocol_factory: Callable[[], asyncio.BaseProtocol]
    ) -> asyncio.Transport:
        """Open a connection; ``connection_made`` has been called when this returns.

        Raises:
            OSError: the host name cannot be resolved, or no address of it accepts.
        """
        ...
