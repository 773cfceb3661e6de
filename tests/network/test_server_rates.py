"""Connections above a rate wait; those above the rate of their address are closed after a wait."""

import asyncio
import logging
from typing import cast

import pytest

from moldau.network.acceptor import Acceptor
from moldau.network.limits import ServerLimits
from moldau.network.rate import RateWindow
from moldau.network.server import Server
from moldau.network.socket_network import SocketNetwork
from tests.network.serving import (
    LOG_NAME,
    PLAINTEXT,
    Answering,
    Client,
    connect,
    echo,
    run,
    run_on_both_loops,
    serving,
    until,
)

# 500 ms of quiet are assumed, in which a limit of 4 per second allows two connections. The times
# are long enough for a machine that runs other tests as well.
WINDOW = RateWindow(samples=2, sample_ms=500)
TWO_AT_ONCE = 4


def new_server(limits: ServerLimits) -> Server:
    return Server(
        (PLAINTEXT,), Answering(echo), limits, logging.getLogger(LOG_NAME), SocketNetwork()
    )


async def crowd(server: Server, size: int) -> list[Client]:
    """``size`` clients, all in the backlog when the server starts to accept."""
    await server.bind()
    clients = [await connect(server) for _ in range(size)]
    for client in clients:
        await client.send(b"?")
    server.accept()
    return clients


@pytest.mark.parametrize("is_for_listener", [False, True])
def test_a_connection_too_many_waits_and_those_behind_it_too(is_for_listener: bool) -> None:
    limits = ServerLimits(rate_window=WINDOW, max_connection_rate=TWO_AT_ONCE)
    if is_for_listener:
        rates = {"PLAINTEXT": TWO_AT_ONCE}
        limits = ServerLimits(rate_window=WINDOW, listener_connection_rates=rates)

    async def scenario() -> None:
        loop = asyncio.get_running_loop()
        server = new_server(limits)
        clients = await crowd(server, 4)
        begin = loop.time()
        await clients[1].receive()
        assert len(server.connections) == 2
        assert await clients[2].receive() == b"?"
        # Three need 750 ms and four 1,000 ms, of which 500 ms were assumed.
        assert loop.time() - begin > 0.225
        assert await clients[3].receive() == b"?"
        assert loop.time() - begin > 0.475
        await server.stop(0)

    run_on_both_loops(scenario)


def test_a_stop_gives_up_the_connection_that_waits() -> None:
    async def scenario() -> None:
        server = new_server(ServerLimits(max_connection_rate=0))
        (client,) = await crowd(server, 1)
        await until(lambda: cast(Acceptor, server._listening[0])._held is not None)
        await server.stop(0)
        assert await client.is_closed_by_server()

    run(scenario)


def test_who_waited_still_needs_a_place() -> None:
    limits = ServerLimits(rate_window=WINDOW, max_connection_rate=TWO_AT_ONCE, max_connections=2)

    async def scenario() -> None:
        server = new_server(limits)
        first, second, third = await crowd(server, 3)
        await first.receive()
        await second.receive()
        assert len(server.connections) == 2
        first.close()
        assert await third.receive() == b"?"
        assert len(server.connections) == 2
        await server.stop(0)

    run(scenario)


def test_an_address_that_comes_too_fast_is_turned_away_after_a_wait(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.INFO, LOG_NAME)
    rates = {"127.0.0.1": float(TWO_AT_ONCE)}
    limits = ServerLimits(rate_window=WINDOW, ip_connection_rates=rates)

    async def scenario() -> None:
        loop = asyncio.get_running_loop()
        server = new_server(limits)
        first, second, third = await crowd(server, 3)
        begin = loop.time()
        assert await first.receive() == await second.receive() == b"?"
        assert await third.is_closed_by_server()
        assert loop.time() - begin > 0.225
        assert "127.0.0.1 makes more connections than its quota" in caplog.text
        assert len(server.connections) == 2
        await server.stop(0)

    run(scenario)


def test_a_stop_does_not_wait_for_those_to_be_turned_away() -> None:
    rates = {"127.0.0.1": 1.0}

    async def scenario() -> None:
        server = new_server(ServerLimits(ip_connection_rates=rates))
        clients = await crowd(server, 11)
        await until(lambda: bool(server._throttled))
        await server.stop(0)
        assert await clients[-1].is_closed_by_server()
        assert not server._throttled

    run(scenario)


def test_a_limit_lowered_while_running_closes_the_quietest() -> None:
    async def scenario() -> None:
        async with serving() as server:
            quiet, quieter, busy = [await connect(server) for _ in range(3)]
            for client in (quiet, quieter, busy, busy):
                await client.ask(b"here")
            server.limit(ServerLimits(max_connections=1))
            assert await quiet.is_closed_by_server()
            assert await quieter.is_closed_by_server()
            assert await busy.ask(b"still here") == b"still here"
            newcomer = await connect(server)
            await newcomer.send(b"me too")
            server.limit(ServerLimits(max_connections=2))
            assert await newcomer.receive() == b"me too"

    run(scenario)


def test_the_limit_of_one_address_can_change_while_running() -> None:
    async def scenario() -> None:
        async with serving() as server:
            first = await connect(server)
            await first.ask(b"in")
            server.limit(ServerLimits(max_connections_per_ip_overrides={"localhost": 1}))
            await until(lambda: bool(server._counts.ip_limits))
            assert await (await connect(server)).is_closed_by_server()
            assert await first.ask(b"still in") == b"still in"

    run(scenario)


def test_limits_set_before_the_server_accepts_let_nobody_in_early() -> None:
    async def scenario() -> None:
        server = new_server(ServerLimits())
        await server.bind()
        client = await connect(server)
        await client.send(b"early")
        server.limit(ServerLimits(max_connections=5))
        for _ in range(5):
            await asyncio.sleep(0)
        assert not server.connections
        server.accept()
        assert await client.receive() == b"early"
        await server.stop(0)

    run(scenario)
