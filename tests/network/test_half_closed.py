"""A peer that closes its sending side gets its replies before the connection is closed."""

import asyncio
import logging
import random
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from moldau.network.acceptor import AcceptedSocket
from moldau.network.limits import ServerLimits
from moldau.network.network import Admission, Incoming, ListenerAddress, Listening
from moldau.network.session import Handled, Overlapping, Session
from moldau.network.socket_network import SocketNetwork
from tests.network.serving import Later, connect, framed, run, run_on_both_loops, serving, until


def at_once(future: Any) -> Handled:
    return future  # type: ignore[no-any-return]


@pytest.mark.parametrize("wrap", [at_once, Overlapping])
def test_whoever_only_ends_its_side_gets_every_answer_it_waits_for(
    wrap: Callable[[Any], Handled],
) -> None:
    async def scenario() -> None:
        handler = Later(wrap)
        async with serving(handler) as server:
            client = await connect(server)
            await client.send(b"first", b"now", b"second")
            client.end()
            for name in (b"first", b"second"):
                await until(lambda name=name: name in handler.waiting)  # type: ignore[misc]
                # By then the server has read the end of the stream.
                await (await connect(server)).ask(b"now other")
                handler.answer(name)
            replies = [await client.receive() for _ in range(3)]
            assert replies == [b"re: first", b"now", b"re: second"]
            assert await client.reader.read() == b""

    run_on_both_loops(scenario)


def test_a_frame_that_was_not_finished_is_dropped_after_the_answers() -> None:
    async def scenario() -> None:
        handler = Later()
        async with serving(handler) as server:
            client = await connect(server)
            await client.send_raw(framed(b"fetch") + framed(b"never whole")[:-1])
            client.end()
            await until(lambda: b"fetch" in handler.waiting)
            handler.answer(b"fetch")
            assert await client.receive() == b"re: fetch"
            assert await client.reader.read() == b""
            assert handler.seen == [b"fetch"]

    run_on_both_loops(scenario)


def test_an_answer_larger_than_the_sockets_hold_arrives_whole() -> None:
    async def scenario() -> None:
        big = random.Random(3).randbytes(24_000_000)

        def answer(session: Session, frame: bytes) -> Handled:
            return [big] if frame == b"big" else [frame]

        async with serving(answer) as server:
            client = await connect(server)
            await client.send(b"big", b"small", b"big")
            client.end()
            await until(lambda: bool(server.connections) and server.connections[0].is_busy)
            assert [await client.receive() for _ in range(3)] == [big, b"small", big]
            assert await client.reader.read() == b""

    run_on_both_loops(scenario)


def test_the_answer_to_a_peer_that_is_gone_ends_its_connection() -> None:
    async def scenario() -> None:
        handler = Later()
        async with serving(handler) as server:
            client = await connect(server)
            await client.send(b"fetch", b"behind it")
            await until(lambda: b"fetch" in handler.waiting)
            client.close()
            await client.writer.wait_closed()
            handler.answer(b"fetch")
            await until(lambda: b"behind it" in handler.waiting or not server.connections)
            if server.connections:
                handler.answer(b"behind it")
            await until(lambda: not server.connections)

    run_on_both_loops(scenario)


def test_waiting_for_ever_keeps_no_connection_that_its_peer_has_ended() -> None:
    async def scenario() -> None:
        handler = Later()
        async with serving(handler, ServerLimits(max_idle_ms=1000)) as server:
            whole, ended = [await connect(server) for _ in range(2)]
            await whole.send(b"whole")
            await ended.send(b"ended")
            await until(lambda: len(handler.waiting) == 2)
            ended.end()
            assert await ended.is_closed_by_server()
            assert handler.waiting[b"ended"].cancelled()
            assert not handler.waiting[b"whole"].done()
            handler.answer(b"whole")
            assert await whole.receive() == b"re: whole"

    run(scenario)


def test_a_server_that_stops_still_answers_who_has_ended_its_side() -> None:
    async def scenario() -> None:
        handler = Later()
        async with serving(handler) as server:
            client = await connect(server)
            await client.send(b"fetch", b"now")
            client.end()
            await until(lambda: b"fetch" in handler.waiting)
            await (await connect(server)).ask(b"now other")
            stopping = asyncio.create_task(server.stop(20))
            await asyncio.sleep(0)
            handler.answer(b"fetch")
            await stopping
            assert await client.receive() == b"re: fetch"
            assert await client.reader.read() == b""

    run_on_both_loops(scenario)


class SocketlessNetwork(SocketNetwork):
    """Accepts connections that can only be written to through their transport."""

    async def listen(
        self,
        listener: ListenerAddress,
        limits: ServerLimits,
        admission: Admission,
        logger: logging.Logger,
    ) -> Sequence[Listening]:
        return await super().listen(listener, limits, Socketless(admission), logger)


class Socketless:
    def __init__(self, admission: Admission) -> None:
        self.has_room = admission.has_room
        self.wait_ms = admission.wait_ms
        self._admission = admission

    def admit(self, listener: str, incoming: Incoming) -> None:
        assert isinstance(incoming, AcceptedSocket)
        incoming.socket = None
        self._admission.admit(listener, incoming)


def test_a_connection_without_a_socket_asks_its_transport() -> None:
    async def scenario() -> None:
        handler = Later()
        big = random.Random(3).randbytes(24_000_000)
        async with serving(handler, network=SocketlessNetwork()) as server:
            client = await connect(server)
            await client.send(b"fetch")
            await until(lambda: b"fetch" in handler.waiting)
            client.end()
            await (await connect(server)).ask(b"now other")
            handler.waiting[b"fetch"].set_result([big])
            assert await client.receive() == big
            assert await client.reader.read() == b""

    run_on_both_loops(scenario)


def test_the_end_of_a_stream_is_told_even_while_a_request_waits() -> None:
    async def scenario() -> None:
        handler = Later()
        told: list[str] = []

        def answer(session: Session, frame: bytes) -> Handled:
            session.on_peer_closed(lambda: told.append("peer"))
            session.on_close(lambda: told.append("closed"))
            return handler(session, frame)

        async with serving(answer) as server:
            client = await connect(server)
            await client.send(b"fetch")
            await until(lambda: b"fetch" in handler.waiting)
            client.end()
            await until(lambda: told == ["peer"])
            handler.answer(b"fetch")
            await until(lambda: told == ["peer", "closed"])
            client = await connect(server)
            await client.send(b"another")
            await until(lambda: b"another" in handler.waiting)
            client.reset()
            await until(lambda: told[2:] == ["peer", "closed"])

    run_on_both_loops(scenario)
