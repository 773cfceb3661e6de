"""The network between simulated machines, and what can go wrong with it.

Every machine is a host with a name. The way from one host to another has a delay, can be slow, and
can be cut, in one direction or in both. ``Host.network`` gives a machine its end: a ``Network`` as
nodes and clients use it.

What a peer sees of a failure is what TCP would show it: a connection to a host without that port
is refused; to a host that is off it is not answered at all; a process that dies closes its
connections, while a machine that loses its power leaves them half open until the next packet to it
is answered by a reset.
"""

import asyncio
import errno
import logging
import socket
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from typing import Final

from moldau.network.limits import ServerLimits
from moldau.network.network import Admission, ListenerAddress, ListenError
from moldau.simulator.holding import Hold
from moldau.simulator.loop import SimulatedLoop
from moldau.simulator.transport import Chunk, SimulatedTransport, Wire
from moldau.simulator.world import US_PER_MS, US_PER_S, World

_USUAL_US: Final = (50, 400)
_SPIKE_US: Final = 20 * US_PER_MS
_SPIKE: Final = 0.01
_SPLIT: Final = 0.02
_NS_PER_BYTE: Final = 8
_FIRST_DYNAMIC_PORT: Final = 40_000
# A connection that is not answered is tried again after this, and twice as long each time.
_FIRST_TRY_US: Final = US_PER_S
_MOST_TRIES: Final = 6


Opening = asyncio.Future[SimulatedTransport]
"""A connection that is being opened."""


class Link:
    """The way from one host to another."""

    __slots__ = ("cuts", "slowness", "waiting")

    def __init__(self) -> None:
        # How many faults cut it at present, and how much longer than usual it takes.
        self.cuts = 0
        self.slowness = 1
        self.waiting: list[Wire] = []


class SimulatedNetwork:
    """All hosts, links and connections."""

    def __init__(self, world: World) -> None:
        self.world = world
        self._rng = world.random("network")
        self._hosts: dict[str, Host] = {}
        self._links: dict[tuple[str, str], Link] = {}
        self._holds: list[Hold] = []
        self._connections = 0

    def host(self, name: str) -> "Host":
        """The host of this name, which is there from now on."""
        if name not in self._hosts:
            self._hosts[name] = Host(self, name)
        return self._hosts[name]

    def link(self, source: str, target: str) -> Link:
        return self._links.setdefault((source, target), Link())

    # --- faults ---

    def cut(self, source: str, target: str) -> None:
        """Nothing arrives from ``source`` at ``target`` until ``mend``, as often as cut."""
        self.link(source, target).cuts += 1

    def mend(self, source: str, target: str) -> None:
        link = self.link(source, target)
        assert link.cuts > 0, f"the way from {source} to {target} is not cut"
        link.cuts -= 1
        if not link.cuts:
            waiting, link.waiting = link.waiting, []
            for wire in waiting:
                # TCP finds out when it tries again.
                wire.go_on(self._rng.randint(0, US_PER_S))

    def hold(self, source: str, target: str, api_key: int, *, only_answers: bool = False) -> Hold:
        """Keep back requests of an API from ``source``, or the answers to them, until released."""
        hold = Hold(source, target, api_key, only_answers=only_answers)
        self._holds.append(hold)
        return hold

    def release(self, hold: Hold) -> None:
        self._holds.remove(hold)
        hold.go_on()

    def reset_all(self, source: str, target: str) -> int:
        """Reset the connections between two hosts; returns how many there were."""
        chosen = [
            each
            for each in self.host(source).transports
            if each.peer is not None and each.peer.host == target
        ]
        for transport in chosen:
            transport.reset()
        return len(chosen)

    @property
    def host_names(self) -> list[str]:
        return list(self._hosts)

    def is_cut(self, source: str, target: str) -> bool:
        link = self._links.get((source, target))
        return link is not None and link.cuts > 0

    def is_up(self, host: str) -> bool:
        return self.host(host).is_up

    # --- for wires and transports ---

    def delay_us(self, source: str, target: str, size_bytes: int) -> int:
        rng = self._rng
        delay_us = rng.randint(*_USUAL_US) + size_bytes * _NS_PER_BYTE // 1000
        if rng.random() < _SPIKE:
            delay_us += rng.randint(0, _SPIKE_US)
        link = self._links.get((source, target))
        return delay_us if link is None else delay_us * link.slowness

    def wait_for(self, wire: Wire) -> None:
        """Let a wire wait until its way is mended."""
        self.link(wire.source, wire.target).waiting.append(wire)

    def is_held(self, wire: Wire, chunk: Chunk) -> bool:
        """Whether a chunk has to wait for the release of a hold."""
        return bool(self._holds) and any(hold.takes(wire, chunk) for hold in self._holds)

    def pieces(self, chunk: Chunk) -> Iterator[Chunk]:
        """A chunk as it travels: now and then in two parts."""
        if isinstance(chunk, bytes) and len(chunk) > 1 and self._rng.random() < _SPLIT:
            middle = self._rng.randint(1, len(chunk) - 1)
            yield chunk[:middle]
            yield chunk[middle:]
        else:
            yield chunk

    def forget(self, transport: SimulatedTransport) -> None:
        self.host(transport.host).transports.pop(transport, None)

    def open(
        self, loop: SimulatedLoop, source: "Host", target: "Listener"
    ) -> tuple[SimulatedTransport, SimulatedTransport]:
        """Both ends of a new connection: the one that connects, and the one that listens."""
        self._connections += 1
        name = f"{self._connections}:{source.name}-{target.host.name}"
        there = Wire(self, source.name, target.host.name, f"{name}>")
        back = Wire(self, target.host.name, source.name, f"{name}<")
        there.answers = back
        own = (source.name, source.next_port())
        other = (target.host.name, target.port)
        near = SimulatedTransport(self, loop, there, back, (own, other))
        far = SimulatedTransport(self, target.loop, back, there, (other, own))
        near.peer, far.peer = far, near
        source.transports[near] = None
        target.host.transports[far] = None
        return near, far


class Host:
    """A machine as the network sees it."""

    def __init__(self, network: SimulatedNetwork, name: str) -> None:
        self.name = name
        self.is_up = True
        self.listeners: dict[int, Listener] = {}
        self.transports: dict[SimulatedTransport, None] = {}
        self._network = network
        self._port = _FIRST_DYNAMIC_PORT

    def network(self, loop: SimulatedLoop) -> "HostNetwork":
        """The network of a process on this host."""
        return HostNetwork(self._network, self, loop)

    def process_died(self) -> None:
        """The kernel closes what the process had open."""
        self.listeners.clear()
        for transport in list(self.transports):
            transport.process_died()

    def power_lost(self) -> None:
        self.is_up = False
        self.listeners.clear()
        for transport in list(self.transports):
            transport.vanish()

    def power_returned(self) -> None:
        self.is_up = True

    def next_port(self) -> int:
        self._port += 1
        return self._port


class HostNetwork:
    """See ``Network``."""

    def __init__(self, network: SimulatedNetwork, host: Host, loop: SimulatedLoop) -> None:
        self._network = network
        self._world = network.world
        self._host = host
        self._loop = loop

    async def listen(
        self,
        listener: ListenerAddress,
        limits: ServerLimits,
        admission: Admission,
        logger: logging.Logger,
    ) -> "Sequence[Listener]":
        port = listener.port or self._host.next_port()
        if port in self._host.listeners:
            raise ListenError(f"listener {listener.name}: port {port} is in use")
        found = Listener(self._host, self._loop, listener.name, port, admission)
        self._host.listeners[port] = found
        return [found]

    async def connect(
        self, host: str, port: int, protocol_factory: Callable[[], asyncio.BaseProtocol]
    ) -> asyncio.Transport:
        done: Opening = self._loop.create_future()
        self._try(host, port, done, 1)
        try:
            transport = await done
        except asyncio.CancelledError:
            if done.done() and not done.cancelled() and done.exception() is None:
                done.result().abort()
            raise
        transport.attach(protocol_factory())
        return transport

    def _try(self, host: str, port: int, done: Opening, tries: int) -> None:
        """Send a SYN; it is answered, or sent again."""
        if done.done() or self._loop.is_dead:
            return
        if tries > _MOST_TRIES:
            self._loop.call_soon(_fail, done, TimeoutError(errno.ETIMEDOUT, "not answered"))
            return
        delay_us = self._network.delay_us(self._host.name, host, 0)
        self._world.after(delay_us, self._reach, host, port, done, tries)

    def _reach(self, host: str, port: int, done: Opening, tries: int) -> None:
        """The SYN arrives at the kernel of the target, or does not."""
        network, own = self._network, self._host.name
        target = network.host(host)
        if not target.is_up or network.is_cut(own, host) or network.is_cut(host, own):
            delay_us = _FIRST_TRY_US << (tries - 1)
            self._world.after(delay_us, self._try, host, port, done, tries + 1)
            return
        delay_us = network.delay_us(host, own, 0)
        listener = target.listeners.get(port)
        if listener is None:
            error = ConnectionRefusedError(errno.ECONNREFUSED, f"{host}:{port} refused")
            self._world.after(delay_us, self._loop.call_soon, _fail, done, error)
        else:
            near, far = network.open(self._loop, self._host, listener)
            listener.arrived(far)
            self._world.after(delay_us, self._loop.call_soon, _succeed, done, near)


class Listener:
    """See ``Listening``. Connections wait here until they are accepted."""

    def __init__(
        self, host: Host, loop: SimulatedLoop, name: str, port: int, admission: Admission
    ) -> None:
        self.host = host
        self.loop = loop
        self._name = name
        self._port = port
        self._admission = admission
        self._backlog: deque[SimulatedTransport] = deque()
        self._held: asyncio.TimerHandle | None = None
        self._is_accepting = False

    @property
    def port(self) -> int:
        return self._port

    def resume(self) -> None:
        self._is_accepting = True
        self._accept()

    def close(self) -> None:
        self._is_accepting = False
        if self._held is not None:
            self._held.cancel()
            self._held = None
        if self.host.listeners.get(self._port) is self:
            del self.host.listeners[self._port]
        while self._backlog:
            self._backlog.popleft().abort()

    def arrived(self, transport: SimulatedTransport) -> None:
        self._backlog.append(transport)
        self.loop.call_soon(self._accept)

    def _accept(self) -> None:
        while self._backlog and self._is_accepting and self._held is None:
            if not self._admission.has_room(self._name):
                return
            accepted = Accepted(self._backlog.popleft())
            wait_ms = self._admission.wait_ms(self._name)
            if wait_ms:
                self._held = self.loop.call_later(wait_ms / 1000, self._admit_held, accepted)
            else:
                self._admission.admit(self._name, accepted)

    def _admit_held(self, accepted: "Accepted") -> None:
        self._held = None
        self._admission.admit(self._name, accepted)
        self._accept()


class Accepted:
    """See ``Incoming``."""

    def __init__(self, transport: SimulatedTransport) -> None:
        self._transport = transport
        self.peer_host, self.peer_port = transport.get_extra_info("peername")
        self.socket: socket.socket | None = None

    async def attach(self, protocol: asyncio.BaseProtocol) -> None:
        self._transport.attach(protocol)

    def close(self) -> None:
        self._transport.abort()


def _fail(done: Opening, error: OSError) -> None:
    if not done.done():
        done.set_exception(error)


def _succeed(done: Opening, transport: SimulatedTransport) -> None:
    if done.done():
        transport.abort()
    else:
        done.set_result(transport)
