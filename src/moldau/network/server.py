"""The socket server: listeners, their connections, and the limits on them.

One server serves all listeners of a broker with one handler, which finds the name of the
listener in the session.

TLS is not implemented, but prepared for: a connection built without a socket writes through
its transport, so a listener with certificates only has to pass ``ssl`` when it wraps the socket.
"""

import asyncio
import contextlib
import logging
import socket
from collections.abc import Sequence
from typing import Any

from moldau.network.acceptor import Acceptor
from moldau.network.connection import Connection, ConnectionContext
from moldau.network.connection_rates import ConnectionRates
from moldau.network.limits import ConnectionCounts, ServerLimits
from moldau.network.listening import ListenerAddress, ListenError, listen, plain_ip, resolve_ips
from moldau.network.session import Handler, Session

# The number of checks for idle connections per connections.max.idle.ms, at most.
IDLE_CHECKS = 20
# How long a stop waits for a peer that does not read its replies.
UNREAD_GRACE_S = 2.0


class Server:
    """Accepts connections on ``listeners`` and passes their requests to ``handler``."""

    def __init__(
        self,
        listeners: Sequence[ListenerAddress],
        handler: Handler,
        limits: ServerLimits,
        logger: logging.Logger,
    ) -> None:
        self.ports: dict[str, int] = {}
        """The port each listener is bound to, by listener name, once started."""
        self._listeners = listeners
        self._handler = handler
        self._limits = limits
        self._logger = logger
        self._acceptors: list[Acceptor] = []
        self._connections: dict[Connection, None] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        # Connections from addresses above their connection rate, until they are closed.
        self._throttled: dict[socket.socket, asyncio.TimerHandle] = {}
        names = [listener.name for listener in listeners]
        self._counts = ConnectionCounts(limits, names, {})
        self._rates = ConnectionRates(limits, names)
        self._context: ConnectionContext | None = None
        self._idle_timer: asyncio.TimerHandle | None = None
        self._all_closed = asyncio.Event()
        self._is_accepting = False

    @property
    def connections(self) -> Sequence[Connection]:
        return tuple(self._connections)

    async def start(self) -> None:
        """Bind and accept, for callers with nothing to do in between."""
        await self.bind()
        self.accept()

    async def bind(self) -> None:
        """Open every listener, or none, and set ``ports``.

        Clients can connect but wait in the backlog until ``accept`` is called.

        Raises:
            ListenError: an address cannot be bound or a name cannot be resolved.
        """
        loop = asyncio.get_running_loop()
        self._counts.ip_limits = await self._resolve_ip_limits()
        self._context = ConnectionContext(
            loop, self._handler, self._limits, self._logger, self._on_closed
        )
        try:
            for listener in self._listeners:
                for sock in await listen(listener, self._limits):
                    self._add_acceptor(loop, listener.name, sock)
        except BaseException:
            self._close_acceptors()
            raise

    def accept(self) -> None:
        """Start accepting connections."""
        self._is_accepting = True
        for acceptor in self._acceptors:
            acceptor.resume()
        self._schedule_idle_check(self._limits.max_idle_ms / 1000)

    def limit(self, limits: ServerLimits) -> None:
        """Apply the limits on connections in ``limits`` from now on; the others do not change.

        A lower ``max.connections`` closes the connections that have been idle longest.
        """
        are_overrides_new = (
            limits.max_connections_per_ip_overrides != self._limits.max_connections_per_ip_overrides
        )
        self._limits = self._counts.limits = self._rates.limits = limits
        for _ in range(self._counts.excess):
            self._make_room("max.connections was lowered")
        if self._is_accepting:
            for acceptor in self._acceptors:
                acceptor.resume()
        if are_overrides_new:
            self._keep(asyncio.get_running_loop().create_task(self._follow_overrides()))

    async def stop(self, grace_s: float, unread_grace_s: float = UNREAD_GRACE_S) -> None:
        """Stop accepting, complete the requests in progress, send the replies, and close.

        Replies not sent after ``grace_s`` seconds are dropped; earlier if the peer has not
        read for ``unread_grace_s`` seconds.
        """
        self._close_acceptors()
        if self._idle_timer is not None:
            self._idle_timer.cancel()
            self._idle_timer = None
        for connection in self.connections:
            connection.drain()
        if self._connections:
            self._all_closed.clear()
            ending = asyncio.create_task(self._close_unread(unread_grace_s))
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(grace_s):
                    await self._all_closed.wait()
            ending.cancel()
        for connection in self.connections:
            connection.close(f"the server stopped; a reply was not sent within {grace_s:g} s")
        if self._tasks:
            await asyncio.wait(self._tasks)
        # The loop closes sockets in its next iteration.
        await asyncio.sleep(0)

    async def _close_unread(self, grace_s: float) -> None:
        """Close the connections of peers that do not read, until no connection is left."""
        loop = asyncio.get_running_loop()
        begin = loop.time()
        while self._connections:
            await asyncio.sleep(grace_s / 4)
            latest = loop.time() - grace_s
            for connection in self.connections:
                if connection.has_unsent and max(connection.last_active, begin) <= latest:
                    connection.close(f"the server stopped; nothing was read for {grace_s:g} s")

    def _add_acceptor(
        self, loop: asyncio.AbstractEventLoop, name: str, sock: socket.socket
    ) -> None:
        acceptor = Acceptor(
            loop,
            name,
            sock,
            self._counts.has_room,
            self._wait_ms,
            self._on_accept,
            self._logger,
        )
        self._acceptors.append(acceptor)
        self.ports[name] = acceptor.port

    def _close_acceptors(self) -> None:
        for acceptor in self._acceptors:
            acceptor.close()
        self._acceptors.clear()
        for sock, timer in self._throttled.items():
            timer.cancel()
            sock.close()
        self._throttled.clear()

    def _keep(self, task: asyncio.Task[None]) -> None:
        """Keep a reference to ``task`` until it is done; the loop does not."""
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _follow_overrides(self) -> None:
        try:
            self._counts.ip_limits = await self._resolve_ip_limits()
        except ListenError as error:
            self._logger.error("The limits of addresses stay as they were: %s", error)

    async def _resolve_ip_limits(self) -> dict[str, int]:
        found: dict[str, int] = {}
        for host, limit in self._limits.max_connections_per_ip_overrides.items():
            try:
                ips = await resolve_ips(host)
            except OSError as error:
                raise ListenError(
                    f"max.connections.per.ip.overrides: {host!r} cannot be resolved "
                    f"({error.strerror}); use an address, or a name that resolves"
                ) from error
            for ip in ips:
                found[ip] = limit
        return found

    # --- opening and closing connections ---

    def _wait_ms(self, listener: str) -> int:
        """Count an accepted connection; returns how long it has to wait."""
        is_protected = self._counts.is_protected(listener)
        return self._rates.wait_ms(listener, is_protected, _now_ms())

    def _on_accept(self, listener: str, sock: socket.socket, address: Any) -> None:
        session = Session(plain_ip(address[0]), address[1], listener)
        is_protected = self._counts.is_protected(listener)
        wait_ms = self._rates.ip_wait_ms(listener, is_protected, session.peer_host, _now_ms())
        if wait_ms:
            self._logger.info(
                "Connection from %s refused in %d ms: %s makes more connections than its quota "
                "connection_creation_rate allows",
                session.peer,
                wait_ms,
                session.peer_host,
            )
            loop = asyncio.get_running_loop()
            self._throttled[sock] = loop.call_later(wait_ms / 1000, self._turn_away, sock)
            return
        refusal = self._counts.refusal(session.peer_host)
        if refusal is not None:
            self._logger.info("Connection from %s refused: %s", session.peer, refusal)
            sock.close()
            return
        assert self._context is not None, "the server has been started"
        sock.setblocking(False)
        with contextlib.suppress(OSError):  # the peer may be gone already
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        connection = Connection(self._context, session, sock)
        self._connections[connection] = None
        self._counts.opened(listener, session.peer_host)
        self._keep(self._context.loop.create_task(self._begin(connection, sock)))
        if self._counts.excess and is_protected:
            self._make_room("max.connections is reached and a broker needs the place")

    def _turn_away(self, sock: socket.socket) -> None:
        del self._throttled[sock]
        sock.close()

    async def _begin(self, connection: Connection, sock: socket.socket) -> None:
        loop = asyncio.get_running_loop()
        try:
            await loop.connect_accepted_socket(lambda: connection, sock)
        except Exception as error:
            sock.close()
            connection.close(f"the connection could not be set up: {error}", logging.WARNING)

    def _on_closed(self, connection: Connection) -> None:
        del self._connections[connection]
        self._counts.closed(connection.session.listener, connection.session.peer_host)
        if not self._connections:
            self._all_closed.set()
        for acceptor in self._acceptors:
            acceptor.resume()

    def _make_room(self, reason: str) -> None:
        """Close the client connection that has been idle longest."""
        clients = [
            connection
            for connection in self._connections
            if not self._counts.is_protected(connection.session.listener)
        ]
        if clients:
            quietest = min(clients, key=lambda connection: connection.last_active)
            quietest.close(reason)

    # --- idle connections ---

    def _schedule_idle_check(self, delay_s: float) -> None:
        if self._limits.max_idle_ms >= 0:
            loop = asyncio.get_running_loop()
            self._idle_timer = loop.call_later(delay_s, self._close_idle)

    def _close_idle(self) -> None:
        """Close idle connections, the longest idle first.

        One timer serves all connections: it checks each of them, and is then set to when the
        next one would be due.
        """
        limit_ms = self._limits.max_idle_ms
        limit_s = limit_ms / 1000
        now = asyncio.get_running_loop().time()
        next_s = limit_s
        idle: list[Connection] = []
        for connection in self._connections:
            left_s = connection.last_active + limit_s - now
            if left_s <= 0 and not connection.is_waiting_for_broker:
                idle.append(connection)
            else:
                next_s = min(next_s, left_s)
        idle.sort(key=lambda connection: connection.last_active)
        for connection in idle:
            connection.close(f"idle for longer than connections.max.idle.ms={limit_ms}")
        self._schedule_idle_check(max(next_s, limit_s / IDLE_CHECKS, 0.001))


def _now_ms() -> int:
    return int(asyncio.get_running_loop().time() * 1000)
