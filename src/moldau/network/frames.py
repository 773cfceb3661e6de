"""Received bytes in, request frames out; never touches a socket.

A frame is four bytes of size, big endian, and that many bytes of request. Small frames
arrive many at a time, large ones in many pieces, and both should cost one copy:

* All connections of a loop read into one shared buffer, because between asking for a
  buffer and being told what arrived nothing else runs. What is left at the end of a
  burst (part of a frame, or frames that have to wait) is set aside in a ``bytes`` of its
  own, so an idle connection holds no buffer at all.
* A frame over ``LARGE_FRAME_BYTES`` gets its own memory and is received there exactly up
  to its end. The memory is a ``BytesIO``: its buffer can be written in place and
  its ``getvalue()`` hands the very same memory out as ``bytes``. A ``bytearray`` would
  have to be copied into fresh memory once more.

* A burst of a few small frames, which is what a client that waits for its answers sends,
  is copied out of the shared buffer in one piece and cut there: cutting ``bytes`` is cheaper
  than cutting a view, by more than the copy costs.

Rules this module keeps:

* Memory for a frame is claimed in proportion to what has arrived of it, never to
  what its size field promises.
* Frames come out as immutable ``bytes``; nobody can hold a view into the shared buffer.
"""

from io import BytesIO
from struct import Struct
from typing import Final

from librt.strings import read_i32_be

from moldau.network.session import CloseConnection

LARGE_FRAME_BYTES: Final = 65536
# Set aside this much and there is a whole frame that could not be processed yet.
PAUSE_BYTES: Final = 4 + LARGE_FRAME_BYTES
# What one read may bring.
WINDOW_BYTES: Final = 131072
SHARED_BUFFER_BYTES: Final = PAUSE_BYTES + WINDOW_BYTES
# Bursts up to this size are copied whole before they are cut.
SMALL_BURST_BYTES: Final = 4096
# A large frame's memory grows to this many times what has arrived of it.
GROWTH: Final = 4

_SIZE: Final = Struct(">i")
_NOTHING: Final = memoryview(b"")


class SharedBuffer:
    """The memory into which every connection of one event loop reads."""

    __slots__ = ("view", "window")

    def __init__(self) -> None:
        self.view = memoryview(bytearray(SHARED_BUFFER_BYTES))
        # Where a connection reads that has set nothing aside.
        self.window = self.view[:WINDOW_BYTES]


class FrameReader:
    """Cuts what one connection receives into frames.

    The order of calls: ``get_buffer``, ``received``, then ``next_frame`` as often as
    wanted, then ``end_burst`` before anything else may use the shared buffer.
    ``begin_waiting`` stands in for the first two when frames set aside are taken up again.
    """

    __slots__ = (
        "_end",
        "_large",
        "_large_size",
        "_max_frame_bytes",
        "_position",
        "_set_aside",
        "_shared",
        "_small",
        "_view",
    )

    def __init__(self, shared: SharedBuffer, max_frame_bytes: int) -> None:
        self._shared = shared
        self._max_frame_bytes = max_frame_bytes
        self._set_aside = b""
        # The burst in hand: bytes [position, end) of it have not been cut yet. It is in
        # ``_small`` if it is small, else in ``_view``.
        self._small = b""
        self._view = _NOTHING
        self._position = 0
        self._end = 0
        # The large frame under way; of its size, ``_end`` bytes are there.
        self._large: BytesIO | None = None
        self._large_size = 0

    def get_buffer(self) -> memoryview:
        """Where the next bytes of this connection are to be written."""
        if self._large is not None:
            return self._large_buffer(self._large)
        kept = len(self._set_aside)
        if kept == 0:
            return self._shared.window
        shared = self._shared.view
        shared[:kept] = self._set_aside
        return shared[kept : kept + WINDOW_BYTES]

    def received(self, size_bytes: int) -> None:
        """``size_bytes`` more are in the buffer that was handed out last."""
        if self._large is not None:
            self._end += size_bytes
            return
        self._begin_burst(self._shared.view, len(self._set_aside) + size_bytes)

    def begin_waiting(self) -> None:
        """Take up what an earlier burst set aside."""
        if self._large is None:
            self._begin_burst(memoryview(self._set_aside), len(self._set_aside))

    def _begin_burst(self, view: memoryview, end: int) -> None:
        self._position = 0
        self._end = end
        if end <= SMALL_BURST_BYTES:
            self._small = bytes(view[:end])
        else:
            self._view = view

    def next_frame(self) -> bytes | None:
        """The next whole frame without its size, or None if more bytes must come first.

        Raises:
            CloseConnection: the size is negative or above ``socket.request.max.bytes``.
        """
        if self._large is not None:
            return self._take_large(self._large)
        start = self._position + 4
        if start > self._end:
            return None
        is_small = self._end <= SMALL_BURST_BYTES
        size: int
        if is_small:
            size = read_i32_be(self._small, self._position)
        else:
            size = _SIZE.unpack_from(self._view, self._position)[0]
        end = start + size
        if size < 0 or size > self._max_frame_bytes:
            raise CloseConnection(self._describe_bad_size(size))
        if end > self._end:
            if size > LARGE_FRAME_BYTES:
                self._begin_large(start, size)
            return None
        self._position = end
        return self._small[start:end] if is_small else bytes(self._view[start:end])

    def end_burst(self) -> None:
        """Set aside what was not cut, so that the shared buffer is free again."""
        if self._large is not None:
            return
        if self._position < self._end:
            self._set_aside = bytes(self._rest_of_burst(self._position))
        else:
            self._set_aside = b""
        self._forget_burst()

    def _rest_of_burst(self, start: int) -> bytes | memoryview:
        if self._end <= SMALL_BURST_BYTES:
            return self._small[start:]
        return self._view[start : self._end]

    def _forget_burst(self) -> None:
        self._small = b""
        self._view = _NOTHING
        self._position = 0
        self._end = 0

    @property
    def must_pause(self) -> bool:
        """Whether reading has to stop until frames have been taken."""
        if self._large is not None:
            return self._end == self._large_size
        return len(self._set_aside) >= PAUSE_BYTES

    @property
    def held_bytes(self) -> int:
        """Memory this connection holds between bursts."""
        if self._large is not None:
            return self._large.getbuffer().nbytes
        return len(self._set_aside)

    def _describe_bad_size(self, size: int) -> str:
        if size < 0:
            return f"request size {size} is negative"
        text = f"request size {size} is above socket.request.max.bytes={self._max_frame_bytes}"
        # The first bytes of other protocols make sizes that people keep asking about.
        first = bytes(self._rest_of_burst(self._position)[:4])
        if first.isalpha() or first[:3] in (b"GET", b"PUT"):
            return f"{text}; the first bytes are {first!r}: is this an HTTP client?"
        if first[:2] == b"\x16\x03":
            return f"{text}; the first bytes are a TLS handshake, and this listener is plaintext"
        return text

    def _begin_large(self, start: int, size: int) -> None:
        arrived = self._end - start
        self._large = _memory(size, arrived)
        self._large.getbuffer()[:arrived] = self._rest_of_burst(start)
        self._large_size = size
        self._set_aside = b""
        self._forget_burst()
        self._end = arrived

    def _large_buffer(self, large: BytesIO) -> memoryview:
        # Growing happens here and not when bytes arrive: then the loop has let go of
        # the buffer that it was given before.
        view = large.getbuffer()
        if self._end == len(view):
            grown = _memory(self._large_size, self._end)
            grown_view = grown.getbuffer()
            grown_view[: self._end] = view
            self._large = grown
            view = grown_view
        return view[self._end :]

    def _take_large(self, large: BytesIO) -> bytes | None:
        size = self._large_size
        if self._end < size:
            return None
        self._large = None
        self._end = 0
        frame = large.getvalue()
        # What getvalue() gives while the loop still holds its view is CPython's choice.
        return frame if len(frame) == size else frame[:size]


def _memory(size: int, arrived: int) -> BytesIO:
    """Writable memory for a frame of ``size`` bytes of which ``arrived`` are there."""
    return BytesIO(bytes(min(size, max(LARGE_FRAME_BYTES, arrived * GROWTH))))
