"""Bytes and file regions are sent in order, however much the peer accepts at a time."""

import asyncio
import random
import socket
import struct
from pathlib import Path
from typing import Any, cast

import pytest
import uvloop

from moldau.network.writer import REGION_COST_BYTES, SocketWriter, TransportWriter
from moldau.protocol.primitives import FileRegion, Part
from moldau.simulator.disk import SimulatedDisk
from moldau.storage.disk.disk import RealDisk


class Pair:
    """A writer on one end of a socket pair; the test reads from the other."""

    def __init__(self, send_buffer_bytes: int = 4096) -> None:
        ours, self.theirs = socket.socketpair()
        ours.setblocking(False)
        ours.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, send_buffer_bytes)
        self.theirs.setblocking(False)
        self.ours = ours
        self.done = asyncio.Event()
        self.errors: list[OSError] = []
        self.writer = SocketWriter(asyncio.get_running_loop(), ours, self.on_writable)

    def on_writable(self) -> None:
        try:
            if self.writer.flush(is_writable=True):
                self.done.set()
        except OSError as error:
            self.errors.append(error)
            self.writer.close()
            self.done.set()

    async def read(self, size: int) -> bytes:
        loop = asyncio.get_running_loop()
        data = bytearray()
        while len(data) < size:
            piece = await loop.sock_recv(self.theirs, size - len(data))
            assert piece, "the stream ended early"
            data += piece
        return bytes(data)

    def close(self) -> None:
        self.writer.close()
        self.ours.close()
        self.theirs.close()


def as_sent(replies: list[list[Part]]) -> bytes:
    sent = b""
    for parts in replies:
        body = b"".join(part.read() if isinstance(part, FileRegion) else part for part in parts)
        sent += struct.pack(">i", len(body)) + body
    return sent


def test_small_replies_leave_together_in_one_piece() -> None:
    async def scenario() -> None:
        pair = Pair(65536)
        pair.writer.write([b"one"])
        pair.writer.write([b"two", memoryview(b"-and-more")])
        with pytest.raises(BlockingIOError):
            pair.theirs.recv(100)
        assert pair.writer.flush()
        assert pair.theirs.recv(100) == as_sent([[b"one"], [b"two", memoryview(b"-and-more")]])
        assert pair.writer.unsent_bytes == 0
        pair.close()

    uvloop.run(scenario())


@pytest.mark.parametrize("seed", range(20))
def test_any_mix_of_parts_arrives_as_written(tmp_path: Path, seed: int) -> None:
    rng = random.Random(seed)
    disk = RealDisk()
    content = rng.randbytes(1_000_000)
    file = disk.open(str(tmp_path / "segment.log"), create=True)
    file.append([content])

    def part() -> Part:
        size = rng.choice((0, 1, 50, 3000, 70_000, 300_000))
        start = rng.randrange(len(content) - size)
        kind = rng.randrange(3)
        if kind == 0:
            return content[start : start + size]
        if kind == 1:
            return memoryview(content)[start : start + size]
        return file.region(start, size)

    async def scenario() -> None:
        pair = Pair()
        replies = [[part() for _ in range(rng.randint(1, 5))] for _ in range(10)]
        expected = as_sent(replies)
        for reply in replies:
            pair.writer.write(list(reply))
            if rng.random() < 0.5:
                pair.writer.flush()
        if pair.writer.flush():
            pair.done.set()
        assert await pair.read(len(expected)) == expected
        await pair.done.wait()
        assert pair.writer.unsent_bytes == 0
        pair.close()

    uvloop.run(scenario())


def test_more_parts_than_one_system_call_takes() -> None:
    async def scenario() -> None:
        pair = Pair(1 << 20)
        parts: list[Part] = [b"%06d" % number * 10 for number in range(5000)]
        pair.writer.write(parts)
        pair.writer.flush()
        assert await pair.read(4 + 300_000) == as_sent([parts])
        pair.close()

    uvloop.run(scenario())


def test_a_region_stays_readable_after_its_file_was_closed_and_removed(tmp_path: Path) -> None:
    disk = RealDisk()
    path = str(tmp_path / "segment.log")
    content = random.Random(1).randbytes(500_000)

    async def scenario() -> None:
        pair = Pair()
        file = disk.open(path, create=True)
        file.append([content])
        pair.writer.write([b"head", file.region(0, len(content))])
        assert not pair.writer.flush()
        file.close()
        disk.remove(path)
        assert (await pair.read(8 + len(content)))[8:] == content
        pair.close()

    uvloop.run(scenario())


def test_a_region_of_a_simulated_disk_is_read_and_sent() -> None:
    disk = SimulatedDisk(1)
    content = random.Random(2).randbytes(600_000)

    async def scenario() -> None:
        pair = Pair()
        disk.make_dirs("/data")
        file = disk.open("/data/segment.log", create=True)
        file.append([content])
        pair.writer.write([b"head", file.region(1000, 500_000), b"tail"])
        pair.writer.flush()
        sent = await pair.read(12 + 500_000)
        assert sent[4:] == b"head" + content[1000:501_000] + b"tail"
        pair.close()

    uvloop.run(scenario())


def test_a_file_shorter_than_its_region_is_an_error_that_names_it(tmp_path: Path) -> None:
    disk = RealDisk()
    file = disk.open(str(tmp_path / "segment.log"), create=True)
    file.append([b"x" * 1000])

    async def scenario() -> None:
        pair = Pair(65536)
        pair.writer.write([file.region(0, 5000)])
        with pytest.raises(OSError, match=r"ends at 1000, before the region of 5000 bytes"):
            pair.writer.flush()
        pair.close()

    uvloop.run(scenario())


def test_regions_count_for_a_little_and_bytes_for_their_length(tmp_path: Path) -> None:
    disk = RealDisk()
    file = disk.open(str(tmp_path / "segment.log"), create=True)
    file.append([b"x" * 1_000_000])

    async def scenario() -> None:
        pair = Pair()
        pair.writer.write([b"12345678", file.region(0, 1_000_000)])
        assert pair.writer.unsent_bytes == 4 + 8 + REGION_COST_BYTES
        pair.close()

    uvloop.run(scenario())


def test_a_peer_that_went_away_is_noticed() -> None:
    async def scenario() -> None:
        pair = Pair()
        pair.writer.write([bytes(1_000_000)])
        assert not pair.writer.flush()
        pair.theirs.close()
        await pair.done.wait()
        assert isinstance(pair.errors[0], ConnectionError)
        pair.ours.close()

    uvloop.run(scenario())


class FakeTransport:
    """Pauses writing above a limit, as a transport does."""

    def __init__(self, limit: int) -> None:
        self.written = bytearray()
        self.waiting = 0
        self.limit = limit
        self.writer: TransportWriter

    def write(self, data: bytes) -> None:
        self.written += data
        self.waiting += len(data)
        if self.waiting > self.limit:
            self.writer.set_paused(True)

    def get_write_buffer_size(self) -> int:
        return self.waiting

    def set_write_buffer_limits(self, high: int) -> None: ...


def test_a_transport_is_given_no_more_than_it_wants(tmp_path: Path) -> None:
    disk = RealDisk()
    content = random.Random(3).randbytes(3_000_000)
    file = disk.open(str(tmp_path / "segment.log"), create=True)
    file.append([content])
    transport = FakeTransport(limit=65536)
    writer = transport.writer = TransportWriter(cast(Any, transport))
    replies: list[list[Part]] = [[b"head", file.region(0, len(content)), b"tail"], [b"next"]]
    for reply in replies:
        writer.write(reply)
    most = 0
    while not writer.flush():
        assert writer.unsent_bytes >= transport.waiting > 0
        most = max(most, transport.waiting)
        transport.waiting = 0
        writer.set_paused(False)
    assert bytes(transport.written) == as_sent(replies)
    assert most <= 65536 + 262144
    assert writer.unsent_bytes == 0
