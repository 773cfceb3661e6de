"""Requests to one other node, over one connection that is opened again when it is lost.

``send`` may be called at any time. Requests are pipelined in the order of the calls; while there is
no connection, or too much is unanswered or unsent, they wait.

Rules this module keeps:

* A request is sent at most once. If the connection is lost, the request fails with
  ``Disconnected``: only its sender knows whether it may be sent again.
* A failed attempt to connect fails every request that waits for it, so that a sender with several
  nodes to choose from can go on to the next.
* After a lost connection or a failed attempt the next attempt waits: exponential back-off with
  jitter, reset by a connection that is ready. Nobody connects while there is nothing to send.
* A request that is not answered in time fails with ``RequestTimedOut``, and closes the connection.
* The connection is prepared in one place before the first request: there TLS and SASL belong, and
  the negotiation of versions.
"""

import asyncio
import logging
import random
from collections import deque
from collections.abc import Awaitable, Callable

from moldau.network.backoff import Backoff
from moldau.network.frames import SharedBuffer
from moldau.network.link import Link
from moldau.network.network import Network
from moldau.network.outgoing import Disconnected, OutboundSettings, Pending, RequestTimedOut
from moldau.protocol.primitives import Message
from moldau.timers import call_after

__all__ = ["Disconnected", "Outbound", "OutboundSettings", "RequestTimedOut"]


class Outbound:
    """The way to one node. All methods are called on the event loop."""

    def __init__(
        self,
        network: Network,
        host: str,
        port: int,
        settings: OutboundSettings,
        rng: random.Random,
        logger: logging.Logger,
        *,
        prepare: Callable[[Link], Awaitable[None]] | None = None,
        on_closed: Callable[[Disconnected], None] | None = None,
    ) -> None:
        """``prepare`` is awaited on each new connection before it is used; if it raises, the
        attempt has failed. ``on_closed`` is called when an established connection is lost.
        """
        self.host = host
        self.port = port
        self._network = network
        self._settings = settings
        self._logger = logger
        self._prepare = prepare
        self._tell_closed = on_closed
        self._backoff = Backoff(
            settings.reconnect_backoff_ms, settings.reconnect_backoff_max_ms, rng
        )
        self._setup_timeout = Backoff(
            settings.connection_setup_timeout_ms, settings.connection_setup_timeout_max_ms, rng
        )
        self._buffer = SharedBuffer()
        # In the order of ``send``; some may have been cancelled or have timed out.
        self._waiting: deque[Pending] = deque()
        self._link: Link | None = None
        self._connecting: asyncio.Task[None] | None = None
        # By the loop's clock: no attempt to connect before.
        self._next_attempt_s = 0.0
        self._is_closed = False

    @property
    def peer(self) -> str:
        return f"{self.host}:{self.port}"

    @property
    def is_connected(self) -> bool:
        return self._link is not None

    @property
    def versions(self) -> dict[int, tuple[int, int]]:
        """The versions of the peer, by API key; empty if not connected or not negotiated."""
        return self._link.versions if self._link is not None else {}

    async def send(
        self, request: Message, version: int | None = None, timeout_ms: int | None = None
    ) -> Message:
        """Send ``request`` and return its response.

        Without a version, the newest of both sides is used, or the newest of this one if versions
        are not negotiated. The timeout includes the time to connect. Requests without a response
        (Produce with acks=0) cannot be sent.

        Raises:
            Disconnected: the peer was not reached, or the connection was lost or timed out.
            ApiError: UNSUPPORTED_VERSION, if the peer does not have the API.
        """
        return await self.post(request, version, timeout_ms)

    def post(
        self, request: Message, version: int | None = None, timeout_ms: int | None = None
    ) -> "asyncio.Future[Message]":
        """Like ``send``, for senders that do not wait."""
        loop = asyncio.get_running_loop()
        pending = Pending(request, version, loop.create_future())
        if self._is_closed:
            pending.fail(Disconnected(f"the connection to {self.peer} was closed by this node"))
            return pending.future
        if timeout_ms is None:
            timeout_ms = self._settings.request_timeout_ms
        pending.timer = call_after(timeout_ms, self._on_timeout, pending, timeout_ms)
        self._waiting.append(pending)
        self._pump()
        return pending.future

    async def close(self) -> None:
        """Fail every request that has no response yet, and close the connection."""
        self._is_closed = True
        reason = f"the connection to {self.peer} was closed by this node"
        if self._connecting is not None:
            self._connecting.cancel()
            await asyncio.wait([self._connecting])
        if self._link is not None:
            self._link.close(reason)
            # The loop closes sockets in its next iteration.
            await asyncio.sleep(0)
        self._fail_waiting(Disconnected(reason))

    # --- requests ---

    def _pump(self) -> None:
        """Send what waits, as far as the connection has room; connect if there is none."""
        waiting = self._waiting
        while waiting:
            link = self._link
            if waiting[0].future.done():
                waiting.popleft().end()
            elif link is None:
                self._connect()
                return
            elif link.has_room:
                link.transmit(waiting.popleft())
            else:
                return

    def _on_timeout(self, pending: Pending, timeout_ms: int) -> None:
        error = RequestTimedOut(f"{self.peer} has not answered for {timeout_ms} ms")
        if not pending.is_sent:
            self._waiting.remove(pending)
            pending.fail(error)
            return
        pending.fail(error)
        assert self._link is not None, "requests that were sent end with their link"
        self._link.close(str(error))

    def _fail_waiting(self, error: Disconnected) -> None:
        failed = list(self._waiting)
        self._waiting.clear()
        for pending in failed:
            pending.fail(error)

    # --- the connection ---

    def _connect(self) -> None:
        if self._connecting is None and not self._is_closed:
            self._connecting = asyncio.get_running_loop().create_task(self._attempt())

    async def _attempt(self) -> None:
        """Connect after the back-off; the requests that wait are sent or fail afterwards."""
        link = Link(self.peer, self._settings, self._buffer, self._pump, self._on_link_closed)
        try:
            await asyncio.sleep(self._next_attempt_s - asyncio.get_running_loop().time())
            await self._open(link)
            self._link = link
        except Exception as error:
            self._attempt_failed(error)
        finally:
            self._connecting = None
            if self._link is not link:
                link.close(f"the connection to {self.peer} could not be set up")
        self._pump()

    async def _open(self, link: Link) -> None:
        async with asyncio.timeout(self._setup_timeout.next_ms() / 1000):
            await self._network.connect(self.host, self.port, lambda: link)
            if self._prepare is not None:
                await self._prepare(link)
            if self._settings.negotiates:
                await link.negotiate()
        if link.is_closed:
            raise Disconnected(f"{self.peer} closed the connection")
        self._backoff.reset()
        self._setup_timeout.reset()

    def _attempt_failed(self, cause: Exception) -> None:
        reason = getattr(cause, "strerror", None) or str(cause) or "no answer in time"
        error = Disconnected(f"cannot connect to {self.peer}: {reason}")
        error.__cause__ = cause
        # One line for a node that is down, not one for each attempt.
        level = logging.DEBUG if self._backoff.failures else logging.WARNING
        self._logger.log(level, "Cannot connect to %s: %s", self.peer, reason)
        self._wait_before_next_attempt()
        self._fail_waiting(error)

    def _on_link_closed(self, link: Link, error: Disconnected) -> None:
        if link is not self._link:
            return
        self._link = None
        level = logging.DEBUG if self._is_closed else logging.INFO
        self._logger.log(level, "Connection to %s closed: %s", self.peer, error)
        self._wait_before_next_attempt()
        if self._tell_closed is not None:
            self._tell_closed(error)
        self._pump()

    def _wait_before_next_attempt(self) -> None:
        now_s = asyncio.get_running_loop().time()
        self._next_attempt_s = now_s + self._backoff.next_ms() / 1000
