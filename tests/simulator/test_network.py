"""The simulated network, seen by protocols at both ends."""

import asyncio
import logging
from typing import NamedTuple

import pytest

from moldau.network.limits import ServerLimits
from moldau.network.network import Incoming
from moldau.simulator.loop import SimulatedLoop
from moldau.simulator.network import SimulatedNetwork
from moldau.simulator.world import US_PER_S, World
from tests.simulator.machines import loop_of, run

LOGGER = logging.getLogger(__name__)


class Address(NamedTuple):
    name: str
    host: str
    port: int


class Peer(asyncio.Protocol):
    """Notes what happens to it."""

    def __init__(self, echo: bool = False) -> None:
        self.data = b""
        self.events: list[str] = []
        self.echo = echo
        self.transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport
        self.events.append("made")

    def data_received(self, data: bytes) -> None:
        self.data += data
        if self.echo and self.transport is not None:
            self.transport.write(data)

    def eof_received(self) -> bool:
        self.events.append("eof")
        return False

    def connection_lost(self, exc: Exception | None) -> None:
        self.events.append(f"lost {type(exc).__name__}" if exc else "lost")


class Door:
    """An admission that takes everybody."""

    def __init__(self, loop: SimulatedLoop, echo: bool) -> None:
        self.loop = loop
        self.echo = echo
        self.peers: list[Peer] = []

    def has_room(self, listener: str) -> bool:
        return True

    def wait_ms(self, listener: str) -> int:
        return 0

    def admit(self, listener: str, incoming: Incoming) -> None:
        peer = Peer(self.echo)
        self.peers.append(peer)
        self.loop.create_task(incoming.attach(peer))


class Net:
    """A server on one host, and a client on another."""

    def __init__(self, seed: int = 1, echo: bool = True) -> None:
        self.world = World(seed)
        self.network = SimulatedNetwork(self.world)
        self.server_loop = loop_of(self.world, "server")
        self.client_loop = loop_of(self.world, "client")
        self.server = self.network.host("server")
        self.client = self.network.host("client")
        self.door = Door(self.server_loop, echo)
        run(self.server_loop, self.listen())

    async def listen(self) -> None:
        network = self.server.network(self.server_loop)
        address = Address("PLAINTEXT", "server", 9092)
        (listening,) = await network.listen(address, ServerLimits(), self.door, LOGGER)
        listening.resume()

    def connect(self, port: int = 9092) -> Peer:
        network = self.client.network(self.client_loop)
        peer = Peer()
        run(self.client_loop, network.connect("server", port, lambda: peer))
        return peer

    def pass_time(self, seconds: float) -> None:
        self.world.run_for(int(seconds * US_PER_S))


def write(net: Net, peer: Peer, data: bytes) -> None:
    assert peer.transport is not None
    net.client_loop.run_turn(lambda: peer.transport.write(data))  # type: ignore[union-attr]


def test_bytes_go_there_and_back_in_order() -> None:
    net = Net()
    peer = net.connect()
    sent = b""
    for number in range(300):
        chunk = b"%d," % number
        write(net, peer, chunk)
        sent += chunk
    net.pass_time(1)
    assert net.door.peers[0].data == sent
    assert peer.data == sent


def test_connections_overtake_each_other() -> None:
    net = Net()
    peers = [net.connect() for _ in range(20)]
    order: list[int] = []
    for number, served in enumerate(net.door.peers):
        served.data_received = lambda data, number=number: order.append(number)  # type: ignore[method-assign, misc]
    for peer in peers:
        write(net, peer, b"x")
    net.pass_time(1)
    assert sorted(order) == list(range(20))
    assert order != sorted(order)


def test_a_closed_connection_ends_after_its_bytes() -> None:
    net = Net(echo=False)
    peer = net.connect()
    write(net, peer, b"x" * 1_000_000)
    assert peer.transport is not None
    assert peer.transport.get_write_buffer_size() > 0
    net.client_loop.run_turn(peer.transport.close)
    net.pass_time(1)
    assert len(net.door.peers[0].data) == 1_000_000
    assert net.door.peers[0].events == ["made", "eof", "lost"]
    assert peer.events == ["made", "lost"]


def test_an_aborted_connection_is_reset() -> None:
    net = Net()
    peer = net.connect()
    assert peer.transport is not None
    net.client_loop.run_turn(peer.transport.abort)
    net.pass_time(1)
    assert net.door.peers[0].events == ["made", "lost ConnectionResetError"]
    assert peer.events == ["made", "lost"]


def test_a_port_where_nobody_listens_is_refused() -> None:
    net = Net()
    with pytest.raises(ConnectionRefusedError):
        net.connect(port=1)


def test_a_cut_holds_bytes_back_until_it_is_mended() -> None:
    net = Net()
    peer = net.connect()
    net.network.cut("client", "server")
    write(net, peer, b"one")
    net.pass_time(30)
    assert net.door.peers[0].data == b""
    write(net, peer, b"two")
    net.network.mend("client", "server")
    net.pass_time(3)
    assert net.door.peers[0].data == b"onetwo"
    assert peer.data == b"onetwo"


def test_a_cut_in_one_direction_lets_the_other_through() -> None:
    net = Net()
    peer = net.connect()
    net.network.cut("server", "client")
    write(net, peer, b"one")
    net.pass_time(5)
    assert net.door.peers[0].data == b"one"
    assert peer.data == b""


def test_a_hold_keeps_one_kind_of_request_back_with_what_follows_it() -> None:
    net = Net()
    held, other = net.connect(), net.connect()
    hold = net.network.hold("client", "server", api_key=1)
    for number in (2, 1, 3):
        write(net, held, b"size\0%c" % number)
    write(net, other, b"size\0\3")
    net.pass_time(30)
    assert [each.data for each in net.door.peers] == [b"size\0\2", b"size\0\3"]
    assert hold.count == 1
    net.network.release(hold)
    net.pass_time(1)
    assert net.door.peers[0].data == b"size\0\2size\0\1size\0\3"


def test_a_hold_of_answers_lets_the_requests_through() -> None:
    net = Net()
    peer = net.connect()
    hold = net.network.hold("client", "server", api_key=1, only_answers=True)
    for number in (2, 1, 3):
        write(net, peer, b"size\0%c" % number)
        net.pass_time(1)
    assert net.door.peers[0].data == b"size\0\2size\0\1size\0\3"
    assert (peer.data, hold.count) == (b"size\0\2", 1)
    net.network.release(hold)
    net.pass_time(1)
    assert peer.data == net.door.peers[0].data


def test_connecting_across_a_cut_waits_for_its_end() -> None:
    net = Net()
    net.network.cut("server", "client")
    net.world.after(2 * US_PER_S, net.network.mend, "server", "client")
    net.connect()
    assert 2 * US_PER_S < net.world.now_us < 5 * US_PER_S


def test_a_connection_that_nobody_answers_times_out() -> None:
    net = Net()
    net.server.power_lost()
    with pytest.raises(TimeoutError):
        net.connect()


def test_a_killed_process_closes_its_connections() -> None:
    net = Net()
    peer = net.connect()
    net.server_loop.die()
    net.server.process_died()
    net.pass_time(1)
    assert peer.events == ["made", "eof", "lost"]
    with pytest.raises(ConnectionRefusedError):
        net.connect()


def test_a_machine_without_power_leaves_connections_half_open() -> None:
    net = Net()
    peer = net.connect()
    net.server_loop.die()
    net.server.power_lost()
    write(net, peer, b"hello?")
    net.pass_time(60)
    assert peer.events == ["made"]
    net.server.power_returned()
    write(net, peer, b"hello?")
    net.pass_time(1)
    assert peer.events == ["made", "lost ConnectionResetError"]


def test_a_reset_reaches_both_ends() -> None:
    net = Net()
    peer = net.connect()
    assert net.network.reset_all("client", "server") == 1
    net.pass_time(1)
    for each in (peer, net.door.peers[0]):
        assert each.events == ["made", "lost ConnectionResetError"]


def test_a_process_that_hangs_still_receives() -> None:
    net = Net()
    peer = net.connect()
    net.server_loop.pause()
    write(net, peer, b"x")
    net.connect()
    net.pass_time(5)
    assert len(net.door.peers) == 1
    assert peer.data == b""
    net.server_loop.resume()
    net.pass_time(1)
    assert len(net.door.peers) == 2
    assert peer.data == b"x"


def test_a_process_that_was_killed_refuses_connections() -> None:
    net = Net()
    net.connect()
    net.server.process_died()
    with pytest.raises(ConnectionRefusedError):
        net.connect()


def test_who_does_not_read_makes_the_writer_pause() -> None:
    net = Net(echo=False)
    peer = net.connect()
    net.pass_time(1)
    server = net.door.peers[0].transport
    assert server is not None
    server.pause_reading()
    paused: list[str] = []
    peer.pause_writing = lambda: paused.append("paused")  # type: ignore[method-assign]
    peer.resume_writing = lambda: paused.append("resumed")  # type: ignore[method-assign]
    for _ in range(10):
        write(net, peer, b"x" * 65_536)
    net.pass_time(1)
    assert paused == ["paused"]
    net.server_loop.run_turn(server.resume_reading)
    net.pass_time(1)
    assert paused == ["paused", "resumed"]
    assert len(net.door.peers[0].data) == 655_360


def test_one_seed_has_one_trace() -> None:
    digests = []
    for seed in (1, 1, 2):
        net = Net(seed)
        peer = net.connect()
        for number in range(50):
            write(net, peer, b"%d," % number)
        net.pass_time(1)
        digests.append(net.world.digest)
    assert digests[0] == digests[1] != digests[2]
