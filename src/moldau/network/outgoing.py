"""A request to another node while it is on its way, how it can fail, and the settings for it."""

import asyncio
from typing import Final, NamedTuple

from moldau.protocol.primitives import Message

SOFTWARE_NAME: Final = "moldau"


class Disconnected(Exception):  # noqa: N818  # an event, not a mistake
    """The peer could not be reached, or the connection to it was lost.

    Whether the peer has processed the request is unknown. ``__cause__`` is the system's error, if
    there is one.
    """


class RequestTimedOut(Disconnected):
    """The peer has not answered in time."""


class OutboundSettings(NamedTuple):
    """Kafka's settings of a client connection between nodes."""

    client_id: str
    request_timeout_ms: int = 30_000
    """request.timeout.ms: from ``send`` to the response, for requests that name no timeout"""
    connection_setup_timeout_ms: int = 10_000
    """socket.connection.setup.timeout.ms: doubles with each failure ..."""
    connection_setup_timeout_max_ms: int = 30_000
    """... up to socket.connection.setup.timeout.max.ms"""
    reconnect_backoff_ms: int = 50
    """reconnect.backoff.ms: doubles with each failure ..."""
    reconnect_backoff_max_ms: int = 1_000
    """... up to reconnect.backoff.max.ms"""
    negotiates: bool = False
    """Whether ApiVersions is asked on each new connection, to find the version of each request."""
    max_in_flight: int = 16
    """So many requests may be unanswered at a time; later ones wait."""
    unsent_max_bytes: int = 1_048_576
    """Above this many unsent bytes the next request waits."""
    response_max_bytes: int = 1 << 30
    """A larger response is garbage, or the peer is not a Kafka node."""


class Pending:
    """A request, from ``send`` to its response."""

    __slots__ = ("correlation_id", "future", "key", "request", "timer", "version")

    def __init__(
        self, request: Message, version: int | None, future: "asyncio.Future[Message]"
    ) -> None:
        self.request: Message | None = request
        self.key = request.API_KEY
        # None until it is sent, if the newest version of both sides is wanted.
        self.version = version
        self.future = future
        self.timer: asyncio.TimerHandle | None = None
        self.correlation_id = -1

    @property
    def is_sent(self) -> bool:
        return self.request is None

    def succeed(self, response: Message) -> None:
        self.end()
        # A caller that was cancelled does not wait any more.
        if not self.future.done():
            self.future.set_result(response)

    def fail(self, error: Exception) -> None:
        self.end()
        if not self.future.done():
            self.future.set_exception(error)

    def end(self) -> None:
        """Let go of a request that has its response, or whose sender does not wait any more."""
        if self.timer is not None:
            self.timer.cancel()
            self.timer = None
        self.request = None
