"""The server: listeners, their connections, and the limits on them.

One server serves all listeners of a broker with one handler, which finds the name of the
listener in the session. Connections come from a ``Network``, so the same server and the same
limits run on sockets and in a simulation.

TLS is not implemented, but prepared for: a connection built without a socket writes through
its transport, so a listener with certificates only has to pass ``ssl`` when it wraps the socket.
"""

import asyncio
import contextlib
import logging
import time
from collections.abc import Callable, Collection, Sequence

from moldau.network.connection import Connection, ConnectionContext
from moldau.network.connection_rates import ConnectionRates
from moldau.network.limits import ConnectionCounts, ServerLimits
from moldau.network.listening import resolve_ips
from moldau.network.network import Incoming, ListenerAddress, ListenError, Listening, Network
from moldau.network.session import Handler, Session
from moldau.network.turns import Turns
from moldau.timers import call_after

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
        network: Network,
        stopwatch: Callable[[], float] = time.perf_counter,
    ) -> None:
        """``stopwatch`` measures, in seconds, how long a connection keeps the others waiting."""
        self.ports: dict[str, int] = {}
        """The port each listener is bound to, by listener name, once started."""
        self.handler = handler
        self._network = network
        self._turns = Turns(now=stopwatch)
        self._listeners = listeners
        self._limits = limits
        self._logger = logger
        self._listening: list[Listening] = []
        # The name of the listener of each of them.
        self._names: list[str] = []
        self._connections: dict[Connection, None] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        # Connections from addresses above their connection rate, until they are closed.
        self._throttled: dict[Incoming, asyncio.TimerHandle] = {}
        names = [listener.name for listener in listeners]
        self._counts = ConnectionCounts(limits, names, {})
        self._rates = ConnectionRates(limits, names)
        self._context: ConnectionContext | None = None
        self._idle_timer: asyncio.TimerHandle | None = None
        self._all_closed = asyncio.Event()
        # The listeners that accept connections.
        self._accepting: dict[str, None] = {}

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
            loop, self.handler, self._limits, self._logger, self._on_closed, self._turns
        )
        try:
            for listener in self._listeners:
                found = await self._network.listen(listener, self._limits, self, self._logger)
                self._listening.extend(found)
                self._names.extend(listener.name for _ in found)
                self.ports[listener.name] = found[-1].port
        except BaseException:
            self._close_listening()
            raise

    def accept(self, listeners: Collection[str] | None = None) -> None:
        """Start accepting connections, by default on all listeners."""
        names = self.ports if listeners is None else listeners
        self._accepting.update(dict.fromkeys(names))
        self._resume()
        if self._idle_timer is None:
            self._schedule_idle_check(self._limits.max_idle_ms / 1000)

    def _resume(self) -> None:
        for name, listening in zip(self._names, self._listening, strict=True):
            if name in self._accepting:
                listening.resume()

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
        self._resume()
        if are_overrides_new:
            self._keep(asyncio.get_running_loop().create_task(self._follow_overrides()))

    async def stop(self, grace_s: float, unread_grace_s: float = UNREAD_GRACE_S) -> None:
        """Stop accepting, complete the requests in progress, send the replies, and close.

        Replies not sent after ``grace_s`` seconds are dropped; earlier if the peer has not
        read for ``unread_grace_s`` seconds.
        """
        self._close_listening()
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

    def _close_listening(self) -> None:
        for listening in self._listening:
            listening.close()
        self._listening.clear()
        self._names.clear()
        for incoming, timer in self._throttled.items():
            timer.cancel()
            incoming.close()
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

    def has_room(self, listener: str) -> bool:
        return self._counts.has_room(listener)

    def wait_ms(self, listener: str) -> int:
        """Count an accepted connection; returns how long it has to wait."""
        is_protected = self._counts.is_protected(listener)
        return self._rates.wait_ms(listener, is_protected, _now_ms())

    def admit(self, listener: str, incoming: Incoming) -> None:
        """Serve an accepted connection, unless its address has too many."""
        session = Session(incoming.peer_host, incoming.peer_port, listener)
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
            self._throttled[incoming] = call_after(wait_ms, self._turn_away, incoming)
            return
        refusal = self._counts.refusal(session.peer_host)
        if refusal is not None:
            self._logger.info("Connection from %s refused: %s", session.peer, refusal)
            incoming.close()
            return
        assert self._context is not None, "the server has been started"
        connection = Connection(self._context, session, incoming.socket)
        self._connections[connection] = None
        self._counts.opened(listener, session.peer_host)
        self._keep(self._context.loop.create_task(self._begin(connection, incoming)))
        if self._counts.excess and is_protected:
            self._make_room("max.connections is reached and a broker needs the place")

    def _turn_away(self, incoming: Incoming) -> None:
        del self._throttled[incoming]
        incoming.close()

    async def _begin(self, connection: Connection, incoming: Incoming) -> None:
        try:
            await incoming.attach(connection)
        except Exception as error:
            connection.close(f"the connection could not be set up: {error}", logging.WARNING)

    def _on_closed(self, connection: Connection) -> None:
        del self._connections[connection]
        self._counts.closed(connection.session.listener, connection.session.peer_host)
        if not self._connections:
            self._all_closed.set()
        self._resume()

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
            self._idle_timer = call_after(1000 * delay_s, self._close_idle)

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
