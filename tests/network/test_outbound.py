"""One connection to one node: pipelined, in order, and failing at once when it is lost."""

import asyncio
import logging
import random
import socket
import struct
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from itertools import pairwise
from typing import Any

import pytest

from moldau.errors import ApiError, ErrorCode
from moldau.network.link import Link
from moldau.network.outbound import Disconnected, Outbound, OutboundSettings, RequestTimedOut
from moldau.network.server import Server
from moldau.network.session import Handled, Overlapping, Reply, Session
from moldau.network.socket_network import SocketNetwork
from moldau.protocol.header import decode_request_header, response_header
from moldau.protocol.messages.api_versions import (
    ApiVersion,
    ApiVersionsRequest,
    ApiVersionsResponse,
)
from moldau.protocol.messages.envelope import EnvelopeRequest, EnvelopeResponse
from moldau.protocol.messages.fetch import (
    FetchableTopicResponse,
    FetchRequest,
    FetchResponse,
    PartitionData,
)
from moldau.protocol.messages.heartbeat import HeartbeatRequest, HeartbeatResponse
from tests.network.serving import run, run_on_both_loops, serving, until
from tests.network.virtual_time import run_in_virtual_time

HEARTBEAT_VERSION = 4
QUICK = OutboundSettings("test", reconnect_backoff_ms=1, reconnect_backoff_max_ms=2)

logger = logging.getLogger("tests.network.outbound")


def outbound_to(port: int, settings: OutboundSettings = QUICK, **options: Any) -> Outbound:
    network = options.pop("network", None) or SocketNetwork()
    return Outbound(network, "127.0.0.1", port, settings, random.Random(1), logger, **options)


@asynccontextmanager
async def outbound(
    server: Server, settings: OutboundSettings = QUICK, **options: Any
) -> AsyncIterator[Outbound]:
    made = outbound_to(server.ports["PLAINTEXT"], settings, **options)
    try:
        yield made
    finally:
        await made.close()


def heartbeat(generation_id: int = 1) -> HeartbeatRequest:
    return HeartbeatRequest(group_id="g", generation_id=generation_id, member_id="m")


def envelope(content: bytes) -> EnvelopeRequest:
    return EnvelopeRequest(request_data=content, request_principal=b"", client_host_address=b"")


def replied(frame: bytes, response: Any) -> Reply:
    header, _ = decode_request_header(frame)
    prefix = response_header(header.correlation_id, header.api_key, header.api_version)
    return [prefix + response.encode(header.api_version)]


def answer_heartbeat(session: Session, frame: bytes) -> Handled:
    """Answers with the generation as the throttle time, so that answers can be told apart."""
    header, position = decode_request_header(frame)
    request, _ = HeartbeatRequest.decode(frame, position, header.api_version)
    return replied(frame, HeartbeatResponse(throttle_time_ms=request.generation_id))


class LateHeartbeats:
    """Answers when the test says so."""

    def __init__(self) -> None:
        self.frames: list[bytes] = []
        self.futures: list[asyncio.Future[Reply]] = []
        self.sessions: list[Session] = []

    def __call__(self, session: Session, frame: bytes) -> Handled:
        future: asyncio.Future[Reply] = asyncio.get_running_loop().create_future()
        self.frames.append(frame)
        self.futures.append(future)
        self.sessions.append(session)
        return Overlapping(future)

    def answer(self, index: int) -> None:
        reply = answer_heartbeat(self.sessions[index], self.frames[index])
        self.futures[index].set_result(reply)  # type: ignore[arg-type]


@asynccontextmanager
async def raw_server(
    serve: Callable[[asyncio.StreamReader, asyncio.StreamWriter], Any],
) -> AsyncIterator[int]:
    """A server that may break every rule of the protocol; yields its port."""

    async def on_connection(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await serve(reader, writer)
        await reader.read()
        writer.close()

    server = await asyncio.start_server(on_connection, "127.0.0.1", 0)
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        server.close()


async def read_frame(reader: asyncio.StreamReader) -> bytes:
    (size,) = struct.unpack(">i", await reader.readexactly(4))
    return await reader.readexactly(size)


# --- requests and responses ---


def test_requests_are_pipelined_and_each_gets_its_own_response() -> None:
    async def scenario() -> None:
        late = LateHeartbeats()
        async with serving(late) as server, outbound(server) as peer:
            answers = [peer.post(heartbeat(n), HEARTBEAT_VERSION) for n in range(8)]
            await until(lambda: len(late.frames) == 8)
            assert len(server.connections) == 1
            for index in (3, 1, 0, 2, 7, 5, 6, 4):
                late.answer(index)
            found = await asyncio.gather(*answers)
            assert [each.throttle_time_ms for each in found] == list(range(8))

    run_on_both_loops(scenario)


@pytest.mark.parametrize("version", range(HEARTBEAT_VERSION + 1))
def test_headers_and_bodies_follow_the_version(version: int) -> None:
    async def scenario() -> None:
        async with serving(answer_heartbeat) as server, outbound(server) as peer:
            response = await peer.send(heartbeat(), version)
            assert isinstance(response, HeartbeatResponse)
            assert response.error_code == 0

    run(scenario)


def test_requests_above_the_limit_in_flight_wait_in_order() -> None:
    async def scenario() -> None:
        late = LateHeartbeats()
        settings = OutboundSettings("test", max_in_flight=2)
        async with serving(late) as server, outbound(server, settings) as peer:
            answers = [peer.post(heartbeat(n), HEARTBEAT_VERSION) for n in range(5)]
            await until(lambda: len(late.frames) == 2)
            late.answer(0)
            await until(lambda: len(late.frames) == 3)
            late.answer(1)
            late.answer(2)
            await until(lambda: len(late.frames) == 5)
            late.answer(3)
            late.answer(4)
            found = await asyncio.gather(*answers)
            assert [each.throttle_time_ms for each in found] == list(range(5))

    run_on_both_loops(scenario)


def test_large_requests_wait_for_the_peer_to_read() -> None:
    async def scenario() -> None:
        seen: list[bytes] = []
        can_read = asyncio.Event()

        async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await can_read.wait()
            for _ in range(4):
                frame = await read_frame(reader)
                seen.append(frame)
                (reply,) = replied(frame, EnvelopeResponse(response_data=b"ok")) or ()
                writer.write(struct.pack(">i", len(reply)) + reply)  # type: ignore[arg-type]

        content = random.Random(3).randbytes(20_000_000)
        async with raw_server(serve) as port:
            peer = outbound_to(port)
            answers = [peer.post(envelope(content), 0) for _ in range(4)]
            await until(lambda: peer.is_connected)
            assert len(peer._waiting) == 3
            can_read.set()
            found = await asyncio.gather(*answers)
            assert [bytes(each.response_data) for each in found] == [b"ok"] * 4
            assert all(content in frame for frame in seen)
            await peer.close()

    run_on_both_loops(scenario)


def test_records_of_a_large_response_are_not_copied_out_of_it() -> None:
    records = random.Random(3).randbytes(3_000_000)

    def answer(session: Session, frame: bytes) -> Handled:
        partition = PartitionData(partition_index=0, high_watermark=7, records=records)
        topic = FetchableTopicResponse(topic="t", partitions=[partition])
        return replied(frame, FetchResponse(responses=[topic]))

    async def scenario() -> None:
        async with serving(answer) as server, outbound(server) as peer:
            response = await peer.send(FetchRequest(topics=[]), 12)
            assert isinstance(response, FetchResponse)
            found = response.responses[0].partitions[0].records
            assert isinstance(found, memoryview)
            assert found == records

    run_on_both_loops(scenario)


# --- versions ---


def versions_offered(*apis: tuple[int, int, int]) -> Callable[[Session, bytes], Handled]:
    """Answers ApiVersions up to version 3, and heartbeats."""

    def answer(session: Session, frame: bytes) -> Handled:
        header, _ = decode_request_header(frame)
        if header.api_key != ApiVersionsRequest.API_KEY:
            return answer_heartbeat(session, frame)
        keys = [ApiVersion(key, lowest, highest) for key, lowest, highest in apis]
        if header.api_version > 3:
            body = ApiVersionsResponse(ErrorCode.UNSUPPORTED_VERSION, api_keys=keys).encode(0)
            return [response_header(header.correlation_id, header.api_key, 0) + body]
        return replied(frame, ApiVersionsResponse(api_keys=keys))

    return answer


def test_the_newest_version_of_both_sides_is_negotiated_once_per_connection() -> None:
    seen: list[tuple[int, int]] = []
    answer_to = versions_offered((18, 0, 3), (12, 0, 2))

    def answer(session: Session, frame: bytes) -> Handled:
        header, _ = decode_request_header(frame)
        seen.append((header.api_key, header.api_version))
        return answer_to(session, frame)

    async def scenario() -> None:
        settings = OutboundSettings("test", negotiates=True)
        async with serving(answer) as server, outbound(server, settings) as peer:
            await peer.send(heartbeat())
            await peer.send(heartbeat())
            assert peer.versions == {18: (0, 3), 12: (0, 2)}
        assert seen == [(18, 4), (18, 3), (12, 2), (12, 2)]

    run(scenario)


def test_an_api_that_the_peer_does_not_have_is_an_error_of_its_request_alone() -> None:
    async def scenario() -> None:
        settings = OutboundSettings("test", negotiates=True)
        answer = versions_offered((18, 0, 3), (12, 0, 2))
        async with serving(answer) as server, outbound(server, settings) as peer:
            good = peer.post(heartbeat())
            with pytest.raises(ApiError, match=r"Envelope.*supports no version"):
                await peer.send(envelope(b""))
            await good
            assert peer.is_connected

    run(scenario)


# --- losing the connection ---


async def failure_of(future: "asyncio.Future[Any]") -> Exception:
    with pytest.raises(Disconnected) as caught:
        await future
    return caught.value


def test_a_lost_connection_fails_everything_in_flight_at_once() -> None:
    async def scenario() -> None:
        late = LateHeartbeats()
        lost: list[Disconnected] = []
        async with serving(late) as server, outbound(server, on_closed=lost.append) as peer:
            answers = [peer.post(heartbeat(n), HEARTBEAT_VERSION) for n in range(3)]
            await until(lambda: len(late.frames) == 3)
            server.connections[0].close("test")
            for answer in answers:
                assert "closed the connection" in str(await failure_of(answer))
            assert len(lost) == 1
            # The next request opens another connection.
            again = peer.post(heartbeat(9), HEARTBEAT_VERSION)
            await until(lambda: len(late.frames) == 4)
            late.answer(3)
            assert (await again).throttle_time_ms == 9  # type: ignore[attr-defined]

    run_on_both_loops(scenario)


def test_a_reset_is_told_with_its_reason() -> None:
    async def scenario() -> None:
        async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await read_frame(reader)
            sock = writer.get_extra_info("socket")
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            writer.transport.abort()

        async with raw_server(serve) as port:
            peer = outbound_to(port)
            error = await failure_of(peer.post(heartbeat(), HEARTBEAT_VERSION))
            assert isinstance(error.__cause__, ConnectionResetError)
            await peer.close()

    run_on_both_loops(scenario)


def test_a_peer_that_ends_its_side_has_nothing_more_to_say() -> None:
    async def scenario() -> None:
        async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await read_frame(reader)
            writer.write_eof()

        async with raw_server(serve) as port:
            peer = outbound_to(port)
            error = await failure_of(peer.post(heartbeat(), HEARTBEAT_VERSION))
            assert "closed the connection" in str(error)
            assert not peer.is_connected
            await peer.close()

    run_on_both_loops(scenario)


def test_requests_that_were_not_sent_go_over_the_next_connection() -> None:
    async def scenario() -> None:
        late = LateHeartbeats()
        settings = OutboundSettings("test", max_in_flight=1, reconnect_backoff_ms=1)
        async with serving(late) as server, outbound(server, settings) as peer:
            first = peer.post(heartbeat(1), HEARTBEAT_VERSION)
            second = peer.post(heartbeat(2), HEARTBEAT_VERSION)
            await until(lambda: len(late.frames) == 1)
            server.connections[0].close("test")
            await failure_of(first)
            await until(lambda: len(late.frames) == 2)
            late.answer(1)
            assert (await second).throttle_time_ms == 2  # type: ignore[attr-defined]

    run_on_both_loops(scenario)


def test_a_refused_connection_fails_the_requests_that_wait_for_it() -> None:
    async def scenario() -> None:
        with socket.socket() as unused:
            unused.bind(("127.0.0.1", 0))
            peer = outbound_to(unused.getsockname()[1])
            answers = [peer.post(heartbeat(), HEARTBEAT_VERSION) for _ in range(2)]
            for answer in answers:
                error = await failure_of(answer)
                assert isinstance(error.__cause__, ConnectionRefusedError)
            await peer.close()

    run_on_both_loops(scenario)


def test_closing_fails_what_waits_and_everything_afterwards() -> None:
    async def scenario() -> None:
        late = LateHeartbeats()
        async with serving(late) as server:
            settings = OutboundSettings("test", max_in_flight=1)
            peer = outbound_to(server.ports["PLAINTEXT"], settings)
            answers = [peer.post(heartbeat(), HEARTBEAT_VERSION) for _ in range(2)]
            await until(lambda: len(late.frames) == 1)
            await peer.close()
            answers.append(peer.post(heartbeat(), HEARTBEAT_VERSION))
            for answer in answers:
                assert "closed by this node" in str(await failure_of(answer))
            late.answer(0)
            await until(lambda: not server.connections)

    run_on_both_loops(scenario)


def test_closing_while_connecting_leaves_nothing_behind() -> None:
    async def scenario() -> None:
        async with serving(answer_heartbeat) as server:
            peer = outbound_to(server.ports["PLAINTEXT"])
            answer = peer.post(heartbeat(), HEARTBEAT_VERSION)
            await asyncio.sleep(0)
            await peer.close()
            await failure_of(answer)
            await until(lambda: not server.connections)

    run_on_both_loops(scenario)


# --- timeouts ---


def test_a_request_that_is_not_answered_in_time_closes_the_connection() -> None:
    async def scenario() -> None:
        late = LateHeartbeats()
        async with serving(late) as server, outbound(server) as peer:
            patient = peer.post(heartbeat(1), HEARTBEAT_VERSION, timeout_ms=20_000)
            # Long enough for both to arrive on a busy machine.
            hasty = peer.post(heartbeat(2), HEARTBEAT_VERSION, timeout_ms=500)
            await until(lambda: len(late.frames) == 2)
            assert isinstance(await failure_of(hasty), RequestTimedOut)
            assert "has not answered for 500 ms" in str(await failure_of(patient))
            assert not peer.is_connected
            late.answer(0)
            late.answer(1)
            await until(lambda: not server.connections)

    run_on_both_loops(scenario)


def test_a_late_answer_to_a_cancelled_sender_is_dropped() -> None:
    async def scenario() -> None:
        late = LateHeartbeats()
        async with serving(late) as server, outbound(server) as peer:
            gone = asyncio.ensure_future(peer.send(heartbeat(1), HEARTBEAT_VERSION))
            here = peer.post(heartbeat(2), HEARTBEAT_VERSION)
            await until(lambda: len(late.frames) == 2)
            gone.cancel()
            late.answer(0)
            late.answer(1)
            assert (await here).throttle_time_ms == 2  # type: ignore[attr-defined]
            assert len(server.connections) == 1

    run_on_both_loops(scenario)


class Refusing:
    """A network on which every attempt is refused, or hangs; notes when it was made."""

    def __init__(self, hangs: bool = False) -> None:
        self.attempts_s: list[float] = []
        self.hangs = hangs

    async def connect(self, host: str, port: int, protocol_factory: Any) -> asyncio.Transport:
        loop = asyncio.get_running_loop()
        self.attempts_s.append(loop.time())
        if self.hangs:
            await loop.create_future()
        raise ConnectionRefusedError("refused by the test")


def test_the_back_off_grows_to_its_maximum() -> None:
    network = Refusing()
    settings = OutboundSettings("test", reconnect_backoff_ms=50, reconnect_backoff_max_ms=1_000)

    async def scenario() -> None:
        peer = outbound_to(1, settings, network=network)
        for _ in range(10):
            await failure_of(peer.post(heartbeat(), HEARTBEAT_VERSION))
        await peer.close()

    run_in_virtual_time(scenario)
    times = network.attempts_s
    waits_ms = [1000 * (after - before) for before, after in pairwise(times)]
    for wait_ms, expected_ms in zip(waits_ms, [50, 100, 200, 400, 800] + 4 * [1000], strict=True):
        assert 0.79 * expected_ms < wait_ms < 1.21 * expected_ms
    # With jitter, no two are alike.
    assert len({round(wait_ms, 6) for wait_ms in waits_ms}) == len(waits_ms)


def test_an_attempt_that_hangs_is_given_up() -> None:
    network = Refusing(hangs=True)

    async def scenario() -> None:
        loop = asyncio.get_running_loop()
        peer = outbound_to(1, network=network)
        begin_s = loop.time()
        answer = peer.post(heartbeat(), HEARTBEAT_VERSION, timeout_ms=60_000)
        assert isinstance((await failure_of(answer)).__cause__, TimeoutError)
        assert 8 <= loop.time() - begin_s <= 12
        # Shorter than the attempt: the request times out and the attempt goes on.
        answer = peer.post(heartbeat(), HEARTBEAT_VERSION, timeout_ms=1_000)
        assert isinstance(await failure_of(answer), RequestTimedOut)
        await peer.close()

    run_in_virtual_time(scenario)


# --- peers that are not Kafka nodes ---


def answering_with(reply: bytes) -> Callable[..., Any]:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await read_frame(reader)
        writer.write(reply)

    return serve


@pytest.mark.parametrize(
    ("reply", "complaint"),
    [
        (struct.pack(">iib", 5, 99, 0), "answered request 99 when 1 was due"),
        (struct.pack(">i", 2**31 - 1), "response size 2147483647 is not between 0 and"),
        (struct.pack(">i", -1), "response size -1 is not between"),
        (b"HTTP/1.1 400 Bad Request", "response size 1213486160"),
        (struct.pack(">ii", 4, 1), "malformed response"),
        (struct.pack(">i", 1) + b"x", "malformed response"),
    ],
)
def test_nonsense_closes_the_connection(reply: bytes, complaint: str) -> None:
    async def scenario() -> None:
        async with raw_server(answering_with(reply)) as port:
            peer = outbound_to(port)
            error = await failure_of(peer.post(heartbeat(), HEARTBEAT_VERSION))
            assert complaint in str(error)
            assert not peer.is_connected
            await peer.close()

    run_on_both_loops(scenario)


def test_a_response_that_nobody_asked_for_closes_the_connection() -> None:
    async def scenario() -> None:
        async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            (reply,) = answer_heartbeat(Session("", 0, ""), await read_frame(reader)) or ()  # type: ignore[union-attr, misc]
            writer.write(2 * (struct.pack(">i", len(reply)) + reply))

        lost: list[Disconnected] = []
        async with raw_server(serve) as port:
            peer = outbound_to(port, on_closed=lost.append)
            await peer.send(heartbeat(), HEARTBEAT_VERSION)
            await until(lambda: bool(lost))
            assert "nobody asked for" in str(lost[0])
            await peer.close()

    run_on_both_loops(scenario)


# --- preparing a connection ---


def test_nothing_is_sent_before_the_connection_is_prepared() -> None:
    async def scenario() -> None:
        seen: list[int] = []

        def answer(session: Session, frame: bytes) -> Handled:
            header, position = decode_request_header(frame)
            request, _ = HeartbeatRequest.decode(frame, position, header.api_version)
            seen.append(request.generation_id)
            return answer_heartbeat(session, frame)

        async def prepare(link: Link) -> None:
            await link.request(heartbeat(100), HEARTBEAT_VERSION)
            await link.request(heartbeat(101), HEARTBEAT_VERSION)

        async with serving(answer) as server, outbound(server, prepare=prepare) as peer:
            await peer.send(heartbeat(1), HEARTBEAT_VERSION)
        assert seen == [100, 101, 1]

    run_on_both_loops(scenario)


def test_a_connection_that_cannot_be_prepared_has_failed() -> None:
    async def scenario() -> None:
        async def prepare(link: Link) -> None:
            raise ApiError(ErrorCode.SASL_AUTHENTICATION_FAILED, "wrong password")

        async with serving(answer_heartbeat) as server, outbound(server, prepare=prepare) as peer:
            error = await failure_of(peer.post(heartbeat(), HEARTBEAT_VERSION))
            assert "wrong password" in str(error)
            await until(lambda: not server.connections)

    run_on_both_loops(scenario)
