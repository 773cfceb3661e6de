"""A reproducible mutator of frames for fuzz tests.

``FrameMutator`` takes valid requests and generates those of a broken or hostile client. The same
seed generates the same bytes.

    mutator = FrameMutator(random.Random(7), requests)
    for wire in mutator.stream(1000):
        for piece in mutator.split(wire):
            sock.send(piece)

``requests`` are frames without their size; the generated ones have a size, correct or not.
"""

import random
import struct
from collections.abc import Iterator, Sequence

_NASTY_INTEGERS = (
    b"\x00",
    b"\x7f",
    b"\x80",
    b"\xff",
    b"\x7f\xff",
    b"\x80\x00",
    b"\xff\xff",
    b"\x7f\xff\xff\xff",
    b"\x80\x00\x00\x00",
    b"\xff\xff\xff\xff",
    b"\x00\xff\xff\xff",
    b"\x7f\xff\xff\xff\xff\xff\xff\xff",
)
_HUGE_VARINTS = (
    b"\xff\xff\xff\xff\x0f",
    b"\xff\xff\xff\xff\x7f",
    b"\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01",
    b"\x80" * 11 + b"\x01",
    b"\xff" * 20,
)
_BAD_UTF8 = (b"\xff\xfe", b"\xc0\x80", b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"\xe2\x82", b"\x80")


class FrameMutator:
    """Generates broken requests from valid ones."""

    def __init__(self, rng: random.Random, requests: Sequence[bytes]) -> None:
        self.rng = rng
        self.requests = requests
        self._body_mutations = (
            self.truncated,
            self.extended,
            self.flipped,
            self.random_bytes,
            self.nasty_integer,
            self.huge_varint,
            self.bad_utf8,
            self.nested_bomb,
            self.header_of_another,
            self.spliced,
        )

    def stream(self, count: int) -> Iterator[bytes]:
        """``count`` broken requests with their sizes."""
        for _ in range(count):
            yield self.wire()

    def wire(self) -> bytes:
        """One request with its size, where the body, the size or both are broken."""
        body = self.body()
        if self.rng.random() < 0.8:
            return struct.pack(">i", len(body)) + body
        return self.wrong_size(body)

    def body(self) -> bytes:
        """A request with one to three mutations."""
        frame = self.rng.choice(self.requests)
        for _ in range(self.rng.randint(1, 3)):
            frame = self.rng.choice(self._body_mutations)(frame)
        return frame

    def wrong_size(self, body: bytes) -> bytes:
        """``body`` with a wrong size: negative, huge, too small, too large, or truncated."""
        size = self.rng.choice(
            (
                -1,
                -(2**31),
                2**31 - 1,
                104857601,
                0,
                max(0, len(body) - self.rng.randint(1, 8)),
                len(body) + self.rng.randint(1, 70000),
                self.rng.randint(-(2**31), 2**31 - 1),
            )
        )
        wire = struct.pack(">i", size) + body
        if self.rng.random() < 0.1:
            return wire[: self.rng.randint(1, 3)]
        return wire

    def split(self, wire: bytes) -> list[bytes]:
        """``wire`` in one to six pieces, split anywhere."""
        if len(wire) < 2:
            return [wire]
        count = self.rng.choice((0, 0, 0, 1, 2, 5))
        cuts = sorted(self.rng.randrange(1, len(wire)) for _ in range(count))
        pieces = [wire[a:b] for a, b in zip([0, *cuts], [*cuts, len(wire)], strict=True)]
        return [piece for piece in pieces if piece]

    # --- mutations of a body ---

    def truncated(self, frame: bytes) -> bytes:
        return frame[: self.rng.randrange(len(frame) + 1)]

    def extended(self, frame: bytes) -> bytes:
        return frame + self.rng.randbytes(self.rng.choice((1, 2, 7, 300)))

    def flipped(self, frame: bytes) -> bytes:
        """Flip a few bits."""
        broken = bytearray(frame)
        for _ in range(self.rng.randint(1, 8)):
            if broken:
                broken[self.rng.randrange(len(broken))] ^= 1 << self.rng.randrange(8)
        return bytes(broken)

    def random_bytes(self, frame: bytes) -> bytes:
        """Replace the request, or everything after its header, with random bytes."""
        noise = self.rng.randbytes(self.rng.randrange(200))
        return frame[:8] + noise if self.rng.random() < 0.7 else noise

    def nasty_integer(self, frame: bytes) -> bytes:
        """Write an integer at a limit or below zero over part of the request."""
        return self._overwrite(frame, self.rng.choice(_NASTY_INTEGERS))

    def huge_varint(self, frame: bytes) -> bytes:
        return self._overwrite(frame, self.rng.choice(_HUGE_VARINTS))

    def bad_utf8(self, frame: bytes) -> bytes:
        return self._overwrite(frame, self.rng.choice(_BAD_UTF8))

    def nested_bomb(self, frame: bytes) -> bytes:
        """Nested counts, each as large as is plausible."""
        level = self.rng.choice(
            (b"\x00\x00\x7f\xff", b"\xff\xff\x03", b"\x02", b"\x00\x00\x00\x01")
        )
        bomb = level * self.rng.choice((10, 100, 2000))
        return frame[: self.rng.randrange(len(frame) + 1)] + bomb

    def header_of_another(self, frame: bytes) -> bytes:
        """The key or version of another API with this body."""
        if self.rng.random() < 0.5:
            return self.rng.choice(self.requests)[:4] + frame[4:]
        return frame[:2] + struct.pack(">h", self.rng.randint(-2, 20)) + frame[4:]

    def spliced(self, frame: bytes) -> bytes:
        """The start of one request and the end of another."""
        other = self.rng.choice(self.requests)
        cut = self.rng.randrange(len(frame) + 1)
        return frame[:cut] + other[self.rng.randrange(len(other) + 1) :]

    def _overwrite(self, frame: bytes, data: bytes) -> bytes:
        position = self.rng.randrange(len(frame) + 1)
        if self.rng.random() < 0.3:
            return frame[:position] + data + frame[position:]
        return frame[:position] + data + frame[position + len(data) :]
