"""Frames are the same however their bytes arrive, and take memory only for received bytes."""

import random

import pytest

from moldau.network.frames import (
    LARGE_FRAME_BYTES,
    PAUSE_BYTES,
    SMALL_BURST_BYTES,
    FrameReader,
    SharedBuffer,
)
from moldau.network.session import CloseConnection
from tests.network.serving import framed

MAX_BYTES = 104857600


def reader(shared: SharedBuffer | None = None, max_bytes: int = MAX_BYTES) -> FrameReader:
    return FrameReader(shared or SharedBuffer(), max_bytes)


def feed(to: FrameReader, data: bytes) -> list[bytes]:
    """Pass ``data`` like an event loop, and return every complete frame."""
    frames = []
    while data:
        buffer = to.get_buffer()
        piece = data[: len(buffer)]
        buffer[: len(piece)] = piece
        # As in uvloop, the buffer is still referenced while the frames are read.
        to.received(len(piece))
        data = data[len(piece) :]
        while (frame := to.next_frame()) is not None:
            frames.append(frame)
        to.end_burst()
    return frames


def test_frames_that_arrive_together_come_out_one_by_one() -> None:
    assert feed(reader(), framed(b"one") + framed(b"") + framed(b"three")) == [
        b"one",
        b"",
        b"three",
    ]


def test_a_frame_that_arrives_byte_by_byte_comes_out_whole() -> None:
    to = reader()
    wire = framed(b"a request")
    taken = [feed(to, wire[i : i + 1]) for i in range(len(wire))]
    assert taken == [[]] * (len(wire) - 1) + [[b"a request"]]


@pytest.mark.parametrize("seed", range(40))
def test_any_sizes_in_any_pieces_come_out_the_same(seed: int) -> None:
    rng = random.Random(seed)
    around = (0, 1, 3, 100, SMALL_BURST_BYTES, LARGE_FRAME_BYTES, 131072, 262144, 524288)
    frames = [
        rng.randbytes(max(0, rng.choice(around) + rng.randint(-5, 5)))
        for _ in range(rng.randint(1, 8))
    ]
    wire = b"".join(framed(frame) for frame in frames)
    to = reader()
    taken: list[bytes] = []
    position = 0
    while position < len(wire):
        size = rng.choice((1, 3, 4, 1000, SMALL_BURST_BYTES, 65536, 400000))
        taken += feed(to, wire[position : position + size])
        position += size
    assert taken == frames
    assert to.held_bytes == 0


def test_a_frame_stays_what_it_was_when_the_buffer_is_used_again() -> None:
    shared = SharedBuffer()
    first, second = reader(shared), reader(shared)
    for size in (10, LARGE_FRAME_BYTES + 1):
        (frame,) = feed(first, framed(b"a" * size))
        feed(first, framed(b"b" * size))
        feed(second, framed(b"c" * size))
        assert type(frame) is bytes
        assert frame == b"a" * size


def test_connections_that_share_a_buffer_do_not_mix() -> None:
    shared = SharedBuffer()
    first, second = reader(shared), reader(shared)
    assert feed(first, framed(b"first")[:6]) == []
    assert feed(second, framed(b"second")[:7]) == []
    assert feed(first, framed(b"first")[6:]) == [b"first"]
    assert feed(second, framed(b"second")[7:]) == [b"second"]


def test_an_idle_connection_holds_no_memory() -> None:
    to = reader()
    feed(to, framed(b"x" * 1000) + framed(b"y" * 300000))
    assert to.held_bytes == 0


def test_a_promised_size_takes_no_memory_before_the_bytes_arrive() -> None:
    to = reader()
    assert feed(to, framed(b"")[:0] + (100_000_000).to_bytes(4, "big")) == []
    assert to.held_bytes <= LARGE_FRAME_BYTES
    arrived = 0
    for _ in range(12):
        feed(to, bytes(100_000))
        arrived += 100_000
        assert to.held_bytes <= max(4 * arrived, LARGE_FRAME_BYTES)


@pytest.mark.parametrize("size", [-1, -(2**31)])
def test_a_negative_size_is_refused(size: int) -> None:
    with pytest.raises(CloseConnection, match=f"request size {size} is negative"):
        feed(reader(), size.to_bytes(4, "big", signed=True))


def test_a_size_above_the_limit_is_refused_and_the_limit_itself_is_not() -> None:
    assert feed(reader(max_bytes=1000), framed(bytes(1000))) == [bytes(1000)]
    with pytest.raises(CloseConnection, match=r"1001 is above socket.request.max.bytes=1000"):
        feed(reader(max_bytes=1000), (1001).to_bytes(4, "big"))


@pytest.mark.parametrize(
    "first, hint",
    [(b"GET / HTTP/1.1\r\n", "HTTP client"), (b"\x16\x03\x01\x02\x00\x01", "TLS handshake")],
)
def test_clients_of_other_protocols_are_named(first: bytes, hint: str) -> None:
    with pytest.raises(CloseConnection, match=hint):
        feed(reader(), first)


def test_frames_that_have_to_wait_are_taken_up_later() -> None:
    to = reader()
    wire = framed(b"one") + framed(b"two") + framed(b"three")[:5]
    to.get_buffer()[: len(wire)] = wire
    to.received(len(wire))
    assert to.next_frame() == b"one"
    to.end_burst()
    assert to.held_bytes == len(wire) - 7
    to.begin_waiting()
    assert to.next_frame() == b"two"
    assert to.next_frame() is None
    to.end_burst()
    assert feed(to, framed(b"three")[5:]) == [b"three"]


def test_reading_pauses_only_when_whole_frames_wait() -> None:
    to = reader()
    # The largest frame that is received in the shared buffer, without its last byte.
    assert feed(to, framed(bytes(LARGE_FRAME_BYTES))[:-1]) == []
    assert not to.must_pause
    assert feed(to, b"\0") == [bytes(LARGE_FRAME_BYTES)]

    wire = framed(bytes(1000)) * 100
    while not to.must_pause:
        buffer = to.get_buffer()
        taken, wire = wire[: len(buffer)], wire[len(buffer) :]
        buffer[: len(taken)] = taken
        to.received(len(taken))
        to.end_burst()
    assert to.held_bytes >= PAUSE_BYTES
    to.begin_waiting()
    count = 0
    while to.next_frame() is not None:
        count += 1
    to.end_burst()
    assert count == 100
    assert not to.must_pause


def test_a_large_frame_may_wait_too() -> None:
    to = reader()
    wire = framed(b"x" * 200_000)
    while wire:
        buffer = to.get_buffer()
        piece, wire = wire[: len(buffer)], wire[len(buffer) :]
        buffer[: len(piece)] = piece
        to.received(len(piece))
        if wire:
            assert to.next_frame() is None
        to.end_burst()
    assert to.must_pause
    to.begin_waiting()
    assert to.next_frame() == b"x" * 200_000
    assert not to.must_pause
