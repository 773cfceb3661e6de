"""What the network layer and the broker say to each other about one connection.

The network knows frames, order and bytes; the broker knows what they mean. Between
them stand a ``Session`` (who is speaking), a ``Handler`` (called once per frame) and a
``Reply`` (what goes back, without the four size bytes that the network puts in front).
"""

from collections.abc import Awaitable, Callable
from typing import Any, Protocol

from moldau.protocol.primitives import Part

Reply = list[Part] | None
"""A whole response in pieces; None where the client expects none (Produce with acks=0)."""


class CloseConnection(Exception):  # noqa: N818  # says what happens, not what was wrong
    """Raised by a handler to end its connection; ``reason`` goes into the log line."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class Overlapping:
    """A reply still to come that lets later requests of the connection be handled meanwhile.

    Kafka mutes a connection while a request waits, and so do we by default. A Produce
    with acks=all is different: its batch is in the log already and only the
    acknowledgement waits, so the next batch may follow. Replies keep their order. To the network it
    gives a ``Reply``; a handler gives it for a response, which the dispatcher encodes.
    """

    __slots__ = ("awaitable",)

    def __init__(self, awaitable: Awaitable[Any]) -> None:
        self.awaitable = awaitable


Handled = Reply | Awaitable[Reply] | Overlapping


class Session:
    """One client connection as the broker sees it.

    ``data`` is the broker's own slot; the network never looks at it.
    """

    __slots__ = (
        "_callbacks",
        "_close",
        "client_id",
        "client_software_name",
        "client_software_version",
        "data",
        "is_closed",
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
        self.data: Any = None
        self.is_closed = False
        self._callbacks: list[Callable[[], None]] = []
        self._close: Callable[[str], None] | None = None

    def on_close(self, callback: Callable[[], None]) -> None:
        """Call ``callback`` once when the connection is gone; at once if it is gone already."""
        if self.is_closed:
            callback()
        else:
            self._callbacks.append(callback)

    def close(self, reason: str) -> None:
        """End the connection; ``reason`` is logged."""
        if self._close is not None:
            self._close(reason)

    def connected(self, close: Callable[[str], None]) -> None:
        """Called by the network: this is how the connection can be closed."""
        self._close = close

    def disconnected(self) -> list[Callable[[], None]]:
        """Called by the network: the callbacks to run now that the connection is gone."""
        self.is_closed = True
        self._close = None
        callbacks = self._callbacks
        self._callbacks = []
        return callbacks


class Handler(Protocol):
    """The broker, seen from the network."""

    def handle(self, session: Session, frame: bytes) -> Handled:
        """Answer one request.

        ``frame`` is the request without its size. A list (or None) is the whole answer
        and the fastest way; an awaitable is waited for and cancelled if the peer goes.

        Raises:
            CloseConnection, MalformedMessage: the connection is closed with one log line.
        """
        ...
