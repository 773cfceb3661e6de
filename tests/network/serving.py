"""A server with a handler that the test provides, and a client that sends frames."""

import asyncio
import logging
import socket
import struct
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from typing import Any, NamedTuple

import uvloop

from moldau.network.limits import ServerLimits
from moldau.network.network import Network
from moldau.network.server import Server
from moldau.network.session import Handled, Reply, Session
from moldau.network.socket_network import SocketNetwork

LOG_NAME = "tests.network"
TIMEOUT_S = 120.0


class Address(NamedTuple):
    name: str
    host: str
    port: int


PLAINTEXT = Address("PLAINTEXT", "127.0.0.1", 0)


class Answering:
    """A handler that calls a function."""

    def __init__(self, answer: Callable[[Session, bytes], Handled]) -> None:
        self._answer = answer

    def handle(self, session: Session, frame: bytes) -> Handled:
        return self._answer(session, frame)


def echo(session: Session, frame: bytes) -> Handled:
    return [frame]


class Later:
    """A handler whose replies the test completes; frames that start with "now" are echoed."""

    def __init__(self, wrap: Callable[[Any], Handled] = lambda future: future) -> None:
        self.waiting: dict[bytes, asyncio.Future[Reply]] = {}
        self.seen: list[bytes] = []
        self._wrap = wrap

    def __call__(self, session: Session, frame: bytes) -> Handled:
        self.seen.append(frame)
        if frame.startswith(b"now"):
            return [frame]
        future: asyncio.Future[Reply] = asyncio.get_running_loop().create_future()
        self.waiting[frame] = future
        return self._wrap(future)

    def answer(self, frame: bytes) -> None:
        self.waiting[frame].set_result([b"re: " + frame])


class Client:
    """One connection that sends and receives complete frames."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self.writer = writer

    @property
    def address(self) -> str:
        """The address of this client, as the server should log it."""
        host, port = self.writer.get_extra_info("sockname")
        return f"{host}:{port}"

    async def send(self, *frames: bytes) -> None:
        self.writer.write(b"".join(framed(frame) for frame in frames))
        await self.writer.drain()

    async def send_raw(self, data: bytes) -> None:
        self.writer.write(data)
        await self.writer.drain()

    async def receive(self) -> bytes:
        async with asyncio.timeout(TIMEOUT_S):
            (size,) = struct.unpack(">i", await self.reader.readexactly(4))
            return await self.reader.readexactly(size)

    async def ask(self, frame: bytes) -> bytes:
        await self.send(frame)
        return await self.receive()

    async def is_closed_by_server(self) -> bool:
        """Wait until the server closes the connection; received bytes are discarded."""
        async with asyncio.timeout(TIMEOUT_S):
            try:
                while await self.reader.read(65536):
                    pass
            except ConnectionError:
                pass
        return True

    def end(self) -> None:
        """Close the sending side, and continue to read."""
        self.writer.write_eof()

    def reset(self) -> None:
        """Reset the connection, like the kernel of a peer whose process has ended."""
        sock = self.writer.get_extra_info("socket")
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.writer.transport.abort()

    def close(self) -> None:
        self.writer.close()


def framed(frame: bytes) -> bytes:
    return struct.pack(">i", len(frame)) + frame


@asynccontextmanager
async def serving(
    answer: Callable[[Session, bytes], Handled] = echo,
    limits: ServerLimits | None = None,
    listeners: tuple[Address, ...] = (PLAINTEXT,),
    network: Network | None = None,
) -> AsyncIterator[Server]:
    server = Server(
        listeners,
        Answering(answer),
        limits or ServerLimits(),
        logging.getLogger(LOG_NAME),
        network or SocketNetwork(),
    )
    await server.start()
    try:
        yield server
    finally:
        await server.stop(0)


async def connect(server: Server, listener: str = "PLAINTEXT", host: str = "127.0.0.1") -> Client:
    return Client(*await asyncio.open_connection(host, server.ports[listener]))


async def until(condition: Callable[[], bool]) -> None:
    """Run the loop until ``condition`` is true."""
    async with asyncio.timeout(TIMEOUT_S):
        while not condition():  # noqa: ASYNC110  # the conditions are facts of the code under test
            await asyncio.sleep(0)


def run(scenario: Callable[[], Coroutine[Any, Any, None]]) -> None:
    """Run ``scenario`` on the loop that the broker uses."""
    uvloop.run(scenario())


def run_on_both_loops(scenario: Callable[[], Coroutine[Any, Any, None]]) -> None:
    """Run ``scenario`` on uvloop and on asyncio's loop, which is the fallback."""
    uvloop.run(scenario())
    asyncio.run(scenario())
