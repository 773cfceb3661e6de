"""The interface between the network layer and the broker.

The network layer handles frames, their order and their bytes; the broker interprets them. Their
interface is a ``Session`` (the connection), a ``Handler`` (called once per frame) and a ``Reply``
(the response, without the four size bytes that the network layer prepends).
"""

from collections.abc import Awaitable, Callable
from typing import Any, Protocol

from moldau.protocol.primitives import Part

Reply = list[Part] | None
"""A whole response in pieces; None where the client expects none (Produce with acks=0)."""


class CloseConnection(Exception):  # noqa: N818  # says what happens, not what was wrong
    """Raised by a handler to close its connection; ``reason`` is logged."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class Overlapping:
    """A pending reply during which later requests of the connection may be handled.

    By default a connection is muted while a request waits, as in Kafka. A Produce with acks=all is
    different: its batch is already in the log and only the acknowledgement waits, so the next batch
    may follow. Replies keep their order. A handler's awaitable returns a response, which the
    dispatcher encodes; the one that the network layer gets returns a ``Reply``.
    """

    __slots__ = ("awaitable",)

    def __init__(self, awaitable: Awaitable[Any]) -> None:
        self.awaitable = awaitable


Handled = Reply | Awaitable[Reply] | Overlapping


class Session:
    """One client connection as the broker sees it."""

    __slots__ = (
        "_callbacks",
        "_close",
        "_peer_callbacks",
        "client_id",
        "client_software_name",
        "client_software_version",
        "has_asked_for_metadata",
        "is_closed",
        "is_peer_closed",
        "listener",
        "peer",
        "peer_host",
    )

    def __init__(self, peer_host: str, peer_port: int, listener: str) -> None:
        host = f"[{peer_host}]" if ":" in peer_host else peer_host
        self.peer = f"{host}:{peer_port}"
        self.peer_host = peer_host
        self.listener = listener
        self.client_id: str | None = None
        self.client_software_name = ""
        self.client_software_version = ""
        self.has_asked_for_metadata = False
        self.is_closed = False
        # Whether the peer has closed its side. It may still be waiting for replies.
        self.is_peer_closed = False
        self._peer_callbacks: list[Callable[[], None]] = []
        self._callbacks: list[Callable[[], None]] = []
        self._close: Callable[[str], None] | None = None

    def on_close(self, callback: Callable[[], None]) -> None:
        """Call ``callback`` once when the connection is closed; now if it is closed already."""
        if self.is_closed:
            callback()
        else:
            self._callbacks.append(callback)

    def on_peer_closed(self, callback: Callable[[], None]) -> None:
        """Call ``callback`` once when no more requests can come: the peer has closed its side, or
        the connection is closed; now if that is so already.
        """
        if self.is_peer_closed:
            callback()
        else:
            self._peer_callbacks.append(callback)

    def close(self, reason: str) -> None:
        """Close the connection; ``reason`` is logged."""
        if self._close is not None:
            self._close(reason)

    def connected(self, close: Callable[[str], None]) -> None:
        """Called by the network layer with the function that closes the connection."""
        self._close = close

    def peer_closed(self) -> list[Callable[[], None]]:
        """Called by the network layer when the peer closes its side; returns the callbacks."""
        self.is_peer_closed = True
        callbacks = self._peer_callbacks
        self._peer_callbacks = []
        return callbacks

    def disconnected(self) -> list[Callable[[], None]]:
        """Called by the network layer on close; returns the callbacks to run."""
        self.is_closed = True
        self._close = None
        callbacks = self.peer_closed() + self._callbacks
        self._callbacks = []
        return callbacks


class Handler(Protocol):
    """The broker as the network layer sees it."""

    def handle(self, session: Session, frame: bytes) -> Handled:
        """Handle one request.

        ``frame`` is the request without its size. Returning a list (or None), the complete reply,
        is fastest; an awaitable is awaited, and cancelled if the connection is lost.

        Raises:
            CloseConnection, MalformedMessage: the connection is closed with one log line.
        """
        ...
