"""Replies are in order, waiting requests mute the connection, and broken ones close only theirs."""

import asyncio
import itertools
import logging
import random
import socket
import struct
from collections.abc import Coroutine
from pathlib import Path
from typing import Any, cast

import pytest

from moldau.network.connection import Connection, ConnectionContext
from moldau.network.limits import ServerLimits
from moldau.network.server import Server
from moldau.network.session import CloseConnection, Handled, Overlapping, Reply, Session
from moldau.network.turns import Turns
from moldau.protocol.primitives import MalformedMessage, Part
from moldau.storage.disk.disk import RealDisk
from tests.network.serving import (
    LOG_NAME,
    Answering,
    Later,
    connect,
    framed,
    run,
    run_on_both_loops,
    serving,
    until,
)


def closings(caplog: pytest.LogCaptureFixture) -> list[logging.LogRecord]:
    return [each for each in caplog.records if "closed" in each.getMessage()]


def test_a_frame_is_echoed() -> None:
    async def scenario() -> None:
        async with serving() as server:
            client = await connect(server)
            assert await client.ask(b"hello") == b"hello"
            assert await client.ask(b"x" * 300_000) == b"x" * 300_000
            client.close()

    run_on_both_loops(scenario)


def test_pipelined_requests_of_all_sizes_are_answered_in_order() -> None:
    async def scenario() -> None:
        rng = random.Random(5)
        frames = [
            rng.randbytes(rng.choice((0, 7, 900, 20_000, 70_000, 400_000))) for _ in range(60)
        ]

        async with serving() as server:
            client = await connect(server)
            sending = asyncio.create_task(client.send(*frames))
            assert [await client.receive() for _ in frames] == frames
            await sending
            client.close()

    run_on_both_loops(scenario)


def test_replies_of_one_burst_leave_in_one_piece() -> None:
    async def scenario() -> None:
        loop = asyncio.get_running_loop()
        async with serving() as server:
            sock = socket.create_connection(("127.0.0.1", server.ports["PLAINTEXT"]))
            sock.setblocking(False)
            burst = b"".join(framed(b"%04d" % number) for number in range(100))
            await loop.sock_sendall(sock, burst)
            assert await loop.sock_recv(sock, 10_000) == burst
            sock.close()

    run(scenario)


def test_a_burst_of_one_client_does_not_hold_up_another() -> None:
    """The clock advances with every reading, so that a share ends after four requests."""

    async def scenario() -> None:
        clock = itertools.count()
        seen: list[bytes] = []

        def note(session: Session, frame: bytes) -> Handled:
            seen.append(frame)
            return [frame]

        async with serving(note) as server:
            server._context.turns.now = lambda: next(clock) * server._context.turns.share_s / 2
            greedy, modest = await connect(server), await connect(server)
            burst = [b"%03d" % number for number in range(900)]
            await greedy.send(*burst)
            await modest.send(b"me too")
            assert await modest.receive() == b"me too"
            assert seen.index(b"me too") < 100
            assert [await greedy.receive() for _ in burst] == burst
            greedy.end()
            assert await greedy.is_closed_by_server()
            modest.close()

    run_on_both_loops(scenario)


class LargeReads:
    """The transport of a connection that is read like uvloop does: again after a full read."""

    def __init__(self, data: bytes) -> None:
        self.left = memoryview(data)
        self.is_reading = True
        self.written = 0

    def read_in_one_iteration(self, connection: Connection) -> None:
        for _ in range(32):
            if not self.is_reading or not self.left:
                return
            buffer = connection.get_buffer(-1)
            size = min(len(buffer), len(self.left))
            buffer[:size] = self.left[:size]
            self.left = self.left[size:]
            connection.buffer_updated(size)
            if size < len(buffer):
                return

    def pause_reading(self) -> None:
        self.is_reading = False

    def resume_reading(self) -> None:
        self.is_reading = True

    def write(self, data: bytes) -> None:
        self.written += len(data)

    def set_write_buffer_limits(self, high: int) -> None: ...

    def get_write_buffer_size(self) -> int:
        return 0


def test_large_requests_that_arrive_one_after_the_other_share_the_time_of_one_turn() -> None:
    async def scenario() -> None:
        clock = itertools.count()
        seen: list[int] = []

        def note(session: Session, frame: bytes) -> Handled:
            seen.append(len(frame))
            return [frame[:10]]

        turns = Turns(share_ms=4000, now=lambda: float(next(clock)))
        context = ConnectionContext(
            asyncio.get_running_loop(),
            Answering(note),
            ServerLimits(),
            logging.getLogger(LOG_NAME),
            lambda connection: None,
            turns,
        )
        sizes = [200_000, 140_000, 131_100, 1_000_000] * 10
        transport = LargeReads(b"".join(framed(bytes(size)) for size in sizes))
        connection = Connection(context, Session("10.0.0.1", 1, "PLAINTEXT"), None)
        connection.connection_made(cast(Any, transport))
        iterations = 0
        while len(seen) < len(sizes):
            before = len(seen)
            transport.read_in_one_iteration(connection)
            assert len(seen) - before <= 4
            await asyncio.sleep(0)
            iterations += 1
        assert seen == sizes
        assert len(sizes) / 4 <= iterations <= len(sizes)
        assert transport.written == 14 * len(sizes)

    run(scenario)


def test_a_burst_is_answered_whole_before_a_half_closed_connection_ends() -> None:
    async def scenario() -> None:
        clock = itertools.count()
        async with serving() as server:
            server._context.turns.now = lambda: next(clock) * server._context.turns.share_s / 2
            client = await connect(server)
            burst = [b"%06d" % number for number in range(30_000)]
            await client.send(*burst)
            client.end()
            assert [await client.receive() for _ in burst] == burst
            assert await client.is_closed_by_server()
            client.close()

    run_on_both_loops(scenario)


def test_a_request_that_waits_holds_back_the_next_until_it_is_answered() -> None:
    async def scenario() -> None:
        handler = Later()
        async with serving(handler) as server:
            client = await connect(server)
            await client.send(b"fetch", b"now 1", b"now 2")
            await until(lambda: b"fetch" in handler.waiting)
            # Another connection is not muted; its reply shows that ours had time to continue.
            other = await connect(server)
            assert await other.ask(b"now other") == b"now other"
            assert handler.seen == [b"fetch", b"now other"]
            handler.answer(b"fetch")
            assert [await client.receive() for _ in range(3)] == [b"re: fetch", b"now 1", b"now 2"]

    run_on_both_loops(scenario)


def test_overlapping_requests_go_on_and_their_replies_keep_the_order() -> None:
    async def scenario() -> None:
        handler = Later(Overlapping)
        async with serving(handler) as server:
            client = await connect(server)
            await client.send(b"first", b"second", b"now", b"third")
            await until(lambda: len(handler.seen) == 4)
            handler.answer(b"third")
            handler.answer(b"second")
            await asyncio.sleep(0)
            handler.answer(b"first")
            replies = [await client.receive() for _ in range(4)]
            assert replies == [b"re: first", b"re: second", b"now", b"re: third"]

    run_on_both_loops(scenario)


def test_the_number_of_overlapping_requests_is_bounded() -> None:
    async def scenario() -> None:
        handler = Later(Overlapping)
        async with serving(handler, ServerLimits(overlapping_max=3)) as server:
            client = await connect(server)
            names = [b"%d" % number for number in range(5)]
            await client.send(*names)
            await until(lambda: len(handler.seen) == 3)
            other = await connect(server)
            await other.ask(b"now")
            assert handler.seen == [b"0", b"1", b"2", b"now"]
            handler.answer(b"0")
            await until(lambda: len(handler.seen) == 5)
            assert handler.seen[4] == b"3"
            for name in names[1:]:
                await until(lambda name=name: name in handler.waiting)  # type: ignore[misc]
                handler.answer(name)
            assert [await client.receive() for _ in names] == [b"re: " + name for name in names]

    run(scenario)


def test_replies_parked_behind_a_waiting_one_are_bounded() -> None:
    async def scenario() -> None:
        future: asyncio.Future[Reply] = asyncio.get_running_loop().create_future()
        big = bytes(100_000)
        seen = []

        def answer(session: Session, frame: bytes) -> Handled:
            seen.append(frame)
            return Overlapping(future) if frame == b"wait" else [big]

        async with serving(answer, ServerLimits(unsent_max_bytes=1_000_000)) as server:
            client = await connect(server)
            await client.send(b"wait", *[b"big"] * 50)
            await until(lambda: len(seen) == 12)
            other = await connect(server)
            await other.ask(b"other")
            assert len(seen) == 13
            future.set_result([b"done"])
            assert await client.receive() == b"done"
            assert [await client.receive() for _ in range(50)] == [big] * 50

    run(scenario)


def test_coroutines_and_finished_futures_are_answers_too() -> None:
    async def scenario() -> None:
        async def slow(frame: bytes) -> Reply:
            await asyncio.sleep(0)
            return [b"slow ", frame]

        def answer(session: Session, frame: bytes) -> Handled:
            if frame == b"coroutine":
                return slow(frame)
            future: asyncio.Future[Reply] = asyncio.get_running_loop().create_future()
            future.set_result([b"ready"])
            return future

        async with serving(answer) as server:
            client = await connect(server)
            await client.send(b"coroutine", b"future", b"coroutine")
            replies = [await client.receive() for _ in range(3)]
            assert replies == [b"slow coroutine", b"ready", b"slow coroutine"]

    run_on_both_loops(scenario)


def test_a_request_without_an_answer_leaves_no_gap() -> None:
    async def scenario() -> None:
        handler = Later()

        def answer(session: Session, frame: bytes) -> Handled:
            return None if frame == b"acks=0" else handler(session, frame)

        async with serving(answer) as server:
            client = await connect(server)
            await client.send(b"acks=0", b"now 1", b"acks=0", b"later", b"acks=0", b"now 2")
            assert await client.receive() == b"now 1"
            await until(lambda: b"later" in handler.waiting)
            handler.waiting[b"later"].set_result(None)
            assert await client.receive() == b"now 2"

    run(scenario)


def test_a_request_begins_even_if_an_earlier_reply_finds_the_peer_gone() -> None:
    """What a coroutine was made from would otherwise never be awaited, which Python reports."""

    async def scenario() -> None:
        events = []

        async def waiting() -> Reply:
            events.append("begun")
            try:
                return await asyncio.get_running_loop().create_future()
            except asyncio.CancelledError:
                events.append("cancelled")
                raise

        async def reply(result: Coroutine[Any, Any, Reply]) -> Reply:
            return await result

        def answer(session: Session, frame: bytes) -> Handled:
            if frame == b"now":
                return [frame]
            peer.close()
            return reply(waiting())

        async with serving(answer) as server:
            peer = socket.create_connection(("127.0.0.1", server.ports["PLAINTEXT"]))
            peer.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            peer.sendall(framed(b"now") + framed(b"wait"))
            await until(lambda: events == ["begun", "cancelled"])
            await until(lambda: not server.connections)

    run_on_both_loops(scenario)


def test_what_a_peer_waited_for_is_cancelled_when_its_connection_is_torn_down() -> None:
    async def scenario() -> None:
        handler = Later()
        stopped = []

        async def for_ever() -> Reply:
            never: asyncio.Future[Reply] = asyncio.get_running_loop().create_future()
            try:
                return await never
            except asyncio.CancelledError:
                stopped.append("coroutine")
                raise

        def answer(session: Session, frame: bytes) -> Handled:
            session.on_close(lambda: stopped.append("callback"))
            return for_ever() if frame == b"coroutine" else handler(session, frame)

        async with serving(answer) as server:
            client = await connect(server)
            await client.send(b"fetch", b"behind it")
            await until(lambda: b"fetch" in handler.waiting)
            client.reset()
            await until(lambda: handler.waiting[b"fetch"].cancelled())
            client = await connect(server)
            await client.send(b"coroutine")
            await until(lambda: len(server.connections) == 1)
            await asyncio.sleep(0)
            client.reset()
            await until(lambda: not server.connections)
            await until(lambda: sorted(stopped) == ["callback", "callback", "coroutine"])
            assert handler.seen == [b"fetch"]

    run_on_both_loops(scenario)


@pytest.mark.parametrize(
    "error, line",
    [
        (CloseConnection("version 99 of Fetch is not supported"), "version 99 of Fetch"),
        (MalformedMessage("string of length -7"), "malformed request: string of length -7"),
        (KeyError("a bug"), "the broker failed to handle a request"),
    ],
)
@pytest.mark.parametrize("is_late", [False, True])
def test_an_error_ends_its_connection_with_one_line_and_nothing_else(
    error: Exception, line: str, is_late: bool, caplog: pytest.LogCaptureFixture
) -> None:
    async def fail() -> Reply:
        raise error

    def answer(session: Session, frame: bytes) -> Handled:
        if frame != b"bad":
            return [frame]
        if is_late:
            return fail()
        raise error

    async def scenario() -> None:
        async with serving(answer) as server:
            other = await connect(server)
            client = await connect(server)
            peer = client.address
            await client.send(b"good", b"bad", b"never seen")
            assert await client.receive() == b"good"
            assert await client.is_closed_by_server()
            (record,) = closings(caplog)
            assert record.getMessage().startswith(f"Connection from {peer} on listener PLAINTEXT")
            assert line in record.getMessage()
            assert (record.exc_info is not None) == isinstance(error, KeyError)
            assert await other.ask(b"still here") == b"still here"

    caplog.set_level(logging.INFO, LOG_NAME)
    run(scenario)


def test_a_broker_can_close_a_session(caplog: pytest.LogCaptureFixture) -> None:
    sessions: list[Session] = []

    def answer(session: Session, frame: bytes) -> Handled:
        sessions.append(session)
        return [frame]

    async def scenario() -> None:
        async with serving(answer) as server:
            client = await connect(server)
            await client.ask(b"hello")
            sessions[0].close("the credentials have expired")
            assert await client.is_closed_by_server()
            late: list[str] = []
            sessions[0].on_close(lambda: late.append("at once"))
            assert late == ["at once"]
        assert "the credentials have expired" in closings(caplog)[0].getMessage()

    caplog.set_level(logging.INFO, LOG_NAME)
    run(scenario)


def test_a_session_knows_its_peer_and_listener() -> None:
    seen: set[Session] = set()

    def answer(session: Session, frame: bytes) -> Handled:
        seen.add(session)
        return [f"{session.peer} {session.listener}".encode()]

    async def scenario() -> None:
        async with serving(answer) as server:
            client = await connect(server)
            peer = client.address
            assert (await client.ask(b"")).decode() == f"{peer} PLAINTEXT"
            assert (await client.ask(b"")).decode() == f"{peer} PLAINTEXT"
            assert len(seen) == 1

    run(scenario)


async def never_reading(server: Server, requests: int) -> socket.socket:
    """A client that sends many requests and does not read the replies."""
    loop = asyncio.get_running_loop()
    sock = socket.create_connection(("127.0.0.1", server.ports["PLAINTEXT"]))
    sock.setblocking(False)
    await loop.sock_sendall(sock, framed(b"more") * requests)
    return sock


async def receive_replies(sock: socket.socket, body: bytes, count: int) -> None:
    loop = asyncio.get_running_loop()
    expected = struct.pack(">i", len(body)) + body
    for _ in range(count):
        reply = bytearray()
        while len(reply) < len(expected):
            piece = await loop.sock_recv(sock, len(expected) - len(reply))
            assert piece
            reply += piece
        assert reply == expected


def test_a_peer_that_does_not_read_takes_bounded_memory_and_holds_up_nobody() -> None:
    async def scenario() -> None:
        big = random.Random(1).randbytes(200_000)
        answered = [0]

        def answer(session: Session, frame: bytes) -> Handled:
            if frame != b"more":
                return [frame]
            answered[0] += 1
            return [bytes(big)]

        async with serving(answer) as server:
            slow = await never_reading(server, requests=2000)
            other = await connect(server)
            # 400 MB are requested; the kernel buffers a few of them and the server one more.
            await until(lambda: bool(server.connections[0].is_busy))
            for _ in range(200):
                assert await other.ask(b"ping") == b"ping"
                assert server.connections[0].held_bytes <= 1_048_576 + len(big) + 131_072
            assert answered[0] < 200
            await receive_replies(slow, big, count=300)
            assert answered[0] >= 300
            slow.close()

    run_on_both_loops(scenario)


def test_a_peer_that_does_not_read_has_few_regions_queued(tmp_path: Path) -> None:
    async def scenario() -> None:
        content = random.Random(2).randbytes(400_000)
        file = RealDisk().open(str(tmp_path / "segment.log"), create=True)
        file.append([content])
        answered = [0]

        def answer(session: Session, frame: bytes) -> Handled:
            if frame != b"more":
                return [frame]
            answered[0] += 1
            parts: list[Part] = [file.region(0, len(content))]
            return parts

        async with serving(answer) as server:
            slow = await never_reading(server, requests=500)
            other = await connect(server)
            await until(lambda: bool(server.connections[0].is_busy))
            for _ in range(100):
                assert await other.ask(b"ping") == b"ping"
            assert answered[0] < 60
            await receive_replies(slow, content, count=100)
            slow.close()

    run(scenario)


def test_a_peer_that_only_sends_is_not_read_without_bound() -> None:
    async def scenario() -> None:
        handler = Later()
        async with serving(handler) as server:
            client = await connect(server)
            await client.send(b"fetch")
            await until(lambda: b"fetch" in handler.waiting)
            # More than the socket buffers of both sides, after a request that waits.
            flood = [b"now" + bytes(10_000)] * 3000
            sending = asyncio.create_task(client.send(*flood))
            other = await connect(server)
            for _ in range(200):
                await other.ask(b"now")
            assert server.connections[0].held_bytes < 300_000
            assert not sending.done()
            handler.answer(b"fetch")
            assert await client.receive() == b"re: fetch"
            for frame in flood:
                assert await client.receive() == frame
            await sending

    run(scenario)
