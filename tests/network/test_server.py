"""Listeners open and close as configured, and the limits on connections are enforced."""

import asyncio
import logging
import platform
import socket

import pytest

from moldau.network.limits import ServerLimits
from moldau.network.memory import keep_freed_memory
from moldau.network.network import ListenError
from moldau.network.server import Server
from moldau.network.session import Handled, Reply, Session
from moldau.network.socket_network import SocketNetwork
from tests.network.serving import (
    LOG_NAME,
    PLAINTEXT,
    Address,
    Answering,
    connect,
    echo,
    run,
    run_on_both_loops,
    serving,
    until,
)


@pytest.fixture(autouse=True)
def log(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, LOG_NAME)


def test_several_listeners_have_ports_and_names_of_their_own() -> None:
    def answer(session: Session, frame: bytes) -> Handled:
        return [session.listener.encode()]

    async def scenario() -> None:
        listeners = (PLAINTEXT, Address("INTERNAL", "127.0.0.1", 0))
        async with serving(answer, listeners=listeners) as server:
            assert server.ports["PLAINTEXT"] != server.ports["INTERNAL"]
            for name in ("PLAINTEXT", "INTERNAL"):
                client = await connect(server, name)
                assert (await client.ask(b"?")).decode() == name

    run_on_both_loops(scenario)


@pytest.mark.parametrize("host", ["", "0.0.0.0", "localhost", "127.0.0.1"])
def test_a_listener_takes_ipv4_clients_on(host: str) -> None:
    async def scenario() -> None:
        async with serving(listeners=(Address("PLAINTEXT", host, 0),)) as server:
            client = await connect(server)
            assert await client.ask(b"over IPv4") == b"over IPv4"
            # The address of an IPv4 peer is IPv4 even on a dual-stack socket.
            assert server.connections[0].session.peer_host == "127.0.0.1"

    run(scenario)


def has_ipv6() -> bool:
    try:
        with socket.socket(socket.AF_INET6) as sock:
            sock.bind(("::1", 0))
    except OSError:
        return False
    return True


@pytest.mark.skipif(not has_ipv6(), reason="this machine has no IPv6")
@pytest.mark.parametrize("host", ["", "::", "::1", "[::1]"])
def test_a_listener_takes_ipv6_clients_on(host: str) -> None:
    async def scenario() -> None:
        async with serving(listeners=(Address("PLAINTEXT", host, 0),)) as server:
            client = await connect(server, host="::1")
            assert await client.ask(b"over IPv6") == b"over IPv6"
            assert server.connections[0].session.peer.startswith("[::1]:")

    run(scenario)


def new_server(*listeners: Address) -> Server:
    return Server(
        listeners, Answering(echo), ServerLimits(), logging.getLogger(LOG_NAME), SocketNetwork()
    )


@pytest.mark.parametrize(
    "address, message",
    [
        (("PLAINTEXT", "192.0.2.1", 0), r"192.0.2.1 is not an address of this machine"),
        (("PLAINTEXT", "no-such-host.invalid", 9092), r"'no-such-host.invalid' cannot be resolved"),
    ],
)
def test_an_address_that_cannot_be_bound_is_explained(
    address: tuple[str, str, int], message: str
) -> None:
    async def scenario() -> None:
        with pytest.raises(ListenError, match=message):
            await new_server(Address(*address)).start()

    run(scenario)


def test_a_port_in_use_is_named_and_the_other_listeners_are_closed_again() -> None:
    async def scenario() -> None:
        async with serving() as running:
            taken = running.ports["PLAINTEXT"]
            second = new_server(PLAINTEXT, Address("EXTERNAL", "127.0.0.1", taken))
            message = f"EXTERNAL://127.0.0.1:{taken} cannot be opened: port {taken} is in use"
            with pytest.raises(ListenError, match=message):
                await second.start()
            with pytest.raises(ConnectionRefusedError):
                await connect(second)

    run(scenario)


def test_clients_wait_between_bind_and_accept() -> None:
    async def scenario() -> None:
        server = new_server(PLAINTEXT)
        await server.bind()
        client = await connect(server)
        await client.send(b"early")
        await asyncio.sleep(0)
        assert not server.connections
        server.accept()
        assert await client.receive() == b"early"
        await server.stop(1)

    run(scenario)


@pytest.mark.parametrize("size", [-1, 1001, 2**31 - 1])
def test_a_request_size_out_of_bounds_closes_the_connection(
    size: int, caplog: pytest.LogCaptureFixture
) -> None:
    async def scenario() -> None:
        async with serving(limits=ServerLimits(request_max_bytes=1000)) as server:
            client = await connect(server)
            assert await client.ask(bytes(1000)) == bytes(1000)
            await client.send_raw(size.to_bytes(4, "big", signed=True))
            assert await client.is_closed_by_server()
            assert f"request size {size} is" in caplog.text

    run(scenario)


def test_newcomers_wait_while_there_are_as_many_connections_as_allowed(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def scenario() -> None:
        async with serving(limits=ServerLimits(max_connections=2)) as server:
            first, second = await connect(server), await connect(server)
            await first.ask(b"1")
            await second.ask(b"2")
            third = await connect(server)
            await third.send(b"3")
            await first.ask(b"again")
            assert len(server.connections) == 2
            await until(lambda: "max.connections" in caplog.text)
            second.close()
            assert await third.receive() == b"3"
            assert len(server.connections) == 2

    run_on_both_loops(scenario)


def test_a_listener_may_have_a_limit_of_its_own() -> None:
    async def scenario() -> None:
        listeners = (PLAINTEXT, Address("SMALL", "127.0.0.1", 0))
        limits = ServerLimits(listener_max_connections={"SMALL": 1})
        async with serving(limits=limits, listeners=listeners) as server:
            small = await connect(server, "SMALL")
            await small.ask(b"1")
            waiting = await connect(server, "SMALL")
            await waiting.send(b"2")
            assert await (await connect(server)).ask(b"elsewhere") == b"elsewhere"
            assert await (await connect(server)).ask(b"elsewhere") == b"elsewhere"
            small.close()
            assert await waiting.receive() == b"2"

    run(scenario)


def test_a_broker_gets_in_where_clients_took_every_place() -> None:
    async def scenario() -> None:
        listeners = (PLAINTEXT, Address("REPLICATION", "127.0.0.1", 0))
        limits = ServerLimits(max_connections=2, inter_broker_listener="REPLICATION")
        async with serving(limits=limits, listeners=listeners) as server:
            quiet, busy = await connect(server), await connect(server)
            await quiet.ask(b"once")
            await busy.ask(b"once")
            await busy.ask(b"twice")
            broker = await connect(server, "REPLICATION")
            assert await broker.ask(b"replicate") == b"replicate"
            assert await quiet.is_closed_by_server()
            assert await busy.ask(b"still here") == b"still here"

    run(scenario)


@pytest.mark.parametrize(
    "limits, allowed, setting",
    [
        (ServerLimits(max_connections_per_ip=2), 2, "max.connections.per.ip allows"),
        (
            ServerLimits(
                max_connections_per_ip=2, max_connections_per_ip_overrides={"localhost": 3}
            ),
            3,
            "max.connections.per.ip.overrides allows",
        ),
    ],
)
def test_an_address_over_its_limit_is_turned_away(
    limits: ServerLimits, allowed: int, setting: str, caplog: pytest.LogCaptureFixture
) -> None:
    async def scenario() -> None:
        async with serving(limits=limits) as server:
            clients = [await connect(server) for _ in range(allowed)]
            for client in clients:
                await client.ask(b"in")
            refused = await connect(server)
            assert await refused.is_closed_by_server()
            assert f"127.0.0.1 has {allowed} connections, as many as {setting}" in caplog.text
            clients[0].close()
            await until(lambda: len(server.connections) == allowed - 1)
            assert await (await connect(server)).ask(b"in again") == b"in again"

    run(scenario)


def test_an_override_that_does_not_resolve_stops_the_start() -> None:
    async def scenario() -> None:
        limits = ServerLimits(max_connections_per_ip_overrides={"no-such-host.invalid": 1})
        server = Server(
            (PLAINTEXT,), Answering(echo), limits, logging.getLogger(LOG_NAME), SocketNetwork()
        )
        with pytest.raises(ListenError, match=r"overrides: 'no-such-host.invalid'"):
            await server.start()

    run(scenario)


def test_idle_connections_are_closed_and_waiting_ones_are_not(
    caplog: pytest.LogCaptureFixture,
) -> None:
    futures: list[asyncio.Future[Reply]] = []

    def answer(session: Session, frame: bytes) -> Handled:
        if frame == b"wait":
            futures.append(asyncio.get_running_loop().create_future())
            return futures[-1]
        return [frame]

    async def scenario() -> None:
        futures.clear()
        async with serving(answer, ServerLimits(max_idle_ms=1000)) as server:
            waiting = await connect(server)
            await waiting.send(b"wait")
            await until(lambda: bool(futures))
            first, second = await connect(server), await connect(server)
            await first.ask(b"one")
            await second.ask(b"two")
            peers = [each.session.peer for each in server.connections[1:]]
            assert await second.is_closed_by_server()
            assert await first.is_closed_by_server()
            closed = [each.getMessage() for each in caplog.records if "idle" in each.getMessage()]
            # The longest idle is closed first.
            assert [line.split()[2] for line in closed] == peers
            assert "connections.max.idle.ms=1000" in closed[0]
            futures[0].set_result([b"at last"])
            assert await waiting.receive() == b"at last"
            assert await waiting.is_closed_by_server()
        caplog.clear()

    run_on_both_loops(scenario)


def test_a_stop_finishes_what_is_under_way_and_takes_nothing_new() -> None:
    big = bytes(3_000_000)
    futures: list[asyncio.Future[Reply]] = []
    seen: list[bytes] = []

    def answer(session: Session, frame: bytes) -> Handled:
        seen.append(frame)
        if frame == b"wait":
            futures.append(asyncio.get_running_loop().create_future())
            return futures[-1]
        return [big]

    async def scenario() -> None:
        futures.clear()
        seen.clear()
        async with serving(answer) as server:
            idle, waiting, reading = [await connect(server) for _ in range(3)]
            await waiting.send(b"wait", b"never handled")
            await reading.send(b"big")
            await until(lambda: sorted(seen) == [b"big", b"wait"])
            stopping = asyncio.create_task(server.stop(grace_s=20))
            assert await idle.is_closed_by_server()
            with pytest.raises(ConnectionRefusedError):
                await connect(server)
            assert not stopping.done()
            futures[0].set_result([b"finished"])
            assert await waiting.receive() == b"finished"
            assert await waiting.is_closed_by_server()
            assert await reading.receive() == big
            await stopping
            assert sorted(seen) == [b"big", b"wait"]
            assert not server.connections

    run_on_both_loops(scenario)


def test_a_stop_does_not_wait_longer_than_its_grace(caplog: pytest.LogCaptureFixture) -> None:
    futures: list[asyncio.Future[Reply]] = []

    def answer(session: Session, frame: bytes) -> Handled:
        futures.append(asyncio.get_running_loop().create_future())
        return futures[-1]

    async def scenario() -> None:
        async with serving(answer) as server:
            client = await connect(server)
            await client.send(b"wait")
            await until(lambda: bool(futures))
            await server.stop(grace_s=0.01)
            assert futures[0].cancelled()
            assert await client.is_closed_by_server()
            assert "a reply was not sent within 0.01 s" in caplog.text

    run(scenario)


def test_a_stop_does_not_wait_for_a_peer_that_does_not_read(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.INFO)
    futures: list[asyncio.Future[Reply]] = []

    def answer(session: Session, frame: bytes) -> Handled:
        if frame == b"wait":
            futures.append(asyncio.get_running_loop().create_future())
            return futures[-1]
        return [bytes(64 << 20)]

    async def scenario() -> None:
        async with serving(answer) as server:
            silent, waiting = [await connect(server) for _ in range(2)]
            await silent.send(b"big")
            await waiting.send(b"wait")
            await until(lambda: bool(futures) and any(c.has_unsent for c in server.connections))
            stopping = asyncio.create_task(server.stop(grace_s=600, unread_grace_s=0.01))
            await until(lambda: len(server.connections) == 1)
            assert not stopping.done(), "the broker's own work is waited for"
            futures[0].set_result([b"finished"])
            assert await waiting.receive() == b"finished"
            await stopping
            assert "nothing was read for 0.01 s" in caplog.text

    run(scenario)


def test_buffer_sizes_are_set_only_when_asked_for() -> None:
    async def scenario() -> None:
        limits = ServerLimits(send_buffer_bytes=20_000, receive_buffer_bytes=30_000)
        sizes = []
        for each in (ServerLimits(), limits):
            async with serving(limits=each) as server:
                client = await connect(server)
                await client.ask(b"x")
                sock = server.connections[0].socket
                assert sock is not None
                sizes.append(
                    (
                        sock.getsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF),
                        sock.getsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF),
                    )
                )
                assert sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
        # Linux doubles the requested sizes.
        assert sizes[1] == (40_000, 60_000)
        assert sizes[0] != sizes[1]

    run(scenario)


def test_hundreds_of_connections_come_and_go_and_hold_nothing() -> None:
    async def scenario() -> None:
        async with serving(limits=ServerLimits(listen_backlog=1000)) as server:
            clients = await asyncio.gather(*(connect(server) for _ in range(300)))
            replies = await asyncio.gather(*(each.ask(b"%d" % n) for n, each in enumerate(clients)))
            assert replies == [b"%d" % number for number in range(300)]
            assert sum(each.held_bytes for each in server.connections) == 0
            for client in clients:
                client.close()
            await until(lambda: not server.connections)

    run(scenario)


def test_the_allocator_takes_the_advice_where_it_is_glibc() -> None:
    assert keep_freed_memory() == (platform.libc_ver()[0] == "glibc")
