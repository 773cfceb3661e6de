"""A hundred thousand broken requests: each closes at most its own connection.

The handler decodes like a broker: the header, then the body of its API. Most frames go through
connections without a socket, which is fast; some through real ones.
"""

import asyncio
import contextlib
import logging
import random
import resource
import struct
import sys
import zlib
from typing import Any, cast

from moldau.network.connection import Connection, ConnectionContext
from moldau.network.limits import ServerLimits
from moldau.network.server import Server
from moldau.network.session import CloseConnection, Handled, Session
from moldau.network.socket_network import SocketNetwork
from moldau.protocol.api import APIS
from moldau.protocol.header import decode_request_header, encode_request_header, response_header
from tests.network.fuzzing import FrameMutator
from tests.network.serving import PLAINTEXT, Answering, connect, framed, run
from tests.protocol.random_messages import random_message

IN_PROCESS_FRAMES = 100_000
SOCKET_FRAMES = 3_000
GROWTH_MAX_BYTES = 48 * 1024 * 1024


class Lines(logging.Handler):
    """Counts log lines and keeps those that indicate a bug."""

    def __init__(self) -> None:
        super().__init__()
        self.closings = 0
        self.last = ""
        self.bugs: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        text = record.getMessage()
        if record.levelno >= logging.ERROR:
            self.bugs.append(f"{text} {record.exc_info}")
        else:
            self.closings += 1
            self.last = text


def listening_logger(lines: Lines) -> logging.Logger:
    logger = logging.Logger("fuzz", logging.INFO)
    logger.addHandler(lines)
    return logger


def good_requests() -> list[bytes]:
    """A request of every API in every version, with random contents."""
    requests = []
    for api in APIS.values():
        for version in range(api.min_version, api.max_version + 1):
            name = f"{api.name}Request"
            rng = random.Random(zlib.crc32(f"{name} {version}".encode()))
            body = random_message(name, version, rng).encode(version)
            requests.append(encode_request_header(api.key, version, 7, "fuzz") + body)
    return requests


def decode(session: Session, frame: bytes) -> Handled:
    header, position = decode_request_header(frame)
    api = APIS[header.api_key]
    if not api.min_version <= header.api_version <= api.max_version:
        raise CloseConnection(f"{api.name} has no version {header.api_version}")
    api.request_class().decode(frame, position, header.api_version)
    return [response_header(header.correlation_id, header.api_key, header.api_version)]


class Transport:
    """A transport that stores all writes and is never full."""

    def __init__(self) -> None:
        self.written = bytearray()
        self.is_closed = False

    def write(self, data: bytes) -> None:
        self.written += data

    def set_write_buffer_limits(self, high: int) -> None: ...

    def get_write_buffer_size(self) -> int:
        return 0

    def pause_reading(self) -> None:
        raise AssertionError("nothing waits, so nothing pauses")

    def close(self) -> None:
        self.is_closed = True


class Peer:
    """A connection without a socket, to which the test passes bytes like an event loop."""

    def __init__(self, context: ConnectionContext, number: int) -> None:
        self.transport = Transport()
        self.connection = Connection(context, Session("10.0.0.1", number, "PLAINTEXT"), None)
        self.connection.connection_made(cast(Any, self.transport))

    def send(self, data: bytes) -> None:
        while data and not self.transport.is_closed:
            buffer = self.connection.get_buffer(-1)
            taken = data[: len(buffer)]
            buffer[: len(taken)] = taken
            self.connection.buffer_updated(len(taken))
            data = data[len(taken) :]


def peak_memory_bytes() -> int:
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024


def test_broken_frames_end_their_connection_with_one_line_and_cost_no_memory() -> None:
    lines = Lines()
    requests = good_requests()
    mutator = FrameMutator(random.Random(20240), requests)

    async def scenario() -> None:
        closed: list[Connection] = []
        loop = asyncio.get_running_loop()
        logger = listening_logger(lines)
        context = ConnectionContext(loop, Answering(decode), ServerLimits(), logger, closed.append)
        ended = 0
        memory_bytes = 0
        peer = Peer(context, 1)
        for sent, wire in enumerate(mutator.stream(IN_PROCESS_FRAMES)):
            for piece in mutator.split(wire):
                peer.send(piece)
            # A frame with too large a size absorbs the next ones: do not let that happen often.
            if peer.connection.held_bytes and mutator.rng.random() < 0.9:
                peer.connection.close("the request never became whole")
            if peer.transport.is_closed:
                ended += 1
                assert f"10.0.0.1:{ended} " in lines.last
                assert closed.pop() is peer.connection
                peer = Peer(context, ended + 1)
            if sent == IN_PROCESS_FRAMES // 5:
                memory_bytes = peak_memory_bytes()
        assert lines.closings == ended
        assert ended > IN_PROCESS_FRAMES // 4
        assert peak_memory_bytes() - memory_bytes < GROWTH_MAX_BYTES

        survivor = Peer(context, 0)
        for request in requests:
            survivor.send(framed(request))
        assert survivor.transport.written.count(struct.pack(">i", 7)) == len(requests)

    run(scenario)
    assert lines.bugs == []


def test_broken_frames_over_sockets_leave_the_server_as_it_was() -> None:
    lines = Lines()
    requests = good_requests()
    mutator = FrameMutator(random.Random(20241), requests)

    async def attack(server: Server, count: int) -> None:
        for wire in mutator.stream(count):
            client = await connect(server)
            for piece in mutator.split(wire):
                with contextlib.suppress(ConnectionError):
                    await client.send_raw(piece)
            client.close()

    async def scenario() -> None:
        server = Server(
            (PLAINTEXT,),
            Answering(decode),
            ServerLimits(),
            listening_logger(lines),
            SocketNetwork(),
        )
        await server.start()
        bystander = await connect(server)
        attacks = [attack(server, SOCKET_FRAMES // 10) for _ in range(10)]
        attacking = asyncio.gather(*attacks)
        while not attacking.done():
            assert (await bystander.ask(requests[0]))[:4] == struct.pack(">i", 7)
        await attacking
        for request in requests:
            assert (await bystander.ask(request))[:4] == struct.pack(">i", 7)
        bystander.close()
        await server.stop(5)

    run(scenario)
    assert lines.bugs == []
    assert lines.closings > 100
