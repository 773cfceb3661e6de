"""Received bytes in, request frames out; never touches a socket.

A frame is a size (four bytes, big endian) followed by a request of that many bytes. Small frames
arrive many at a time, large ones in many pieces; both should be copied only once:

* All connections of a loop read into one shared buffer, because nothing else runs between
  ``get_buffer`` and ``buffer_updated``. The rest of a burst (part of a frame, or frames that have
  to wait) is set aside in a separate ``bytes``, so an idle connection holds no buffer at all.
* A frame over ``LARGE_FRAME_BYTES`` is received directly into its own memory, exactly up to its
  end. The memory is a ``BytesIO``: its buffer can be written in place, and its ``getvalue()``
  returns the same memory as ``bytes``. A ``bytearray`` would have to be copied once more.
* A burst of a few small frames, typical of clients that wait for each response, is copied out of
  the shared buffer in one piece and split there: slicing ``bytes`` is cheaper than slicing a view,
  by more than the copy costs.

Rules this module keeps:

* Memory for a frame is allocated in proportion to the bytes received, never to the size field.
* Frames are returned as immutable ``bytes``; no caller can hold a view into the shared buffer.
"""

from io import BytesIO
from struct import Struct
from typing import Final

from librt.strings import read_i32_be

from moldau.network.session import CloseConnection

LARGE_FRAME_BYTES: Final = 65536
# If this much is set aside, it includes a complete frame that could not be processed yet.
PAUSE_BYTES: Final = 4 + LARGE_FRAME_BYTES
# The most that one read returns.
WINDOW_BYTES: Final = 131072
SHARED_BUFFER_BYTES: Final = PAUSE_BYTES + WINDOW_BYTES
# Bursts up to this size are copied as a whole before they are split.
SMALL_BURST_BYTES: Final = 4096
# The memory of a large frame grows to this multiple of the bytes received.
GROWTH: Final = 4

_SIZE: Final = Struct(">i")
_NOTHING: Final = memoryview(b"")


class SharedBuffer:
    """The memory into which every connection of one event loop reads."""

    __slots__ = ("view", "window")

    def __init__(self) -> None:
        self.view = memoryview(bytearray(SHARED_BUFFER_BYTES))
        # The buffer of a connection that has set nothing aside.
        self.window = self.view[:WINDOW_BYTES]


class FrameReader:
    """Splits the bytes that one connection receives into frames.

    The order of calls: ``get_buffer``, ``received``, then ``next_frame`` any number of times,
    then ``end_burst`` before anything else may use the shared buffer. ``begin_waiting`` replaces
    the first two to continue with frames that were set aside.
    """

    __slots__ = (
        "_end",
        "_is_response",
        "_large",
        "_large_size",
        "_max_frame_bytes",
        "_position",
        "_set_aside",
        "_shared",
        "_small",
        "_view",
    )

    def __init__(
        self, shared: SharedBuffer, max_frame_bytes: int, is_response: bool = False
    ) -> None:
        self._shared = shared
        self._max_frame_bytes = max_frame_bytes
        # Only for what is said about a frame that is too large.
        self._is_response = is_response
        self._set_aside = b""
        # The current burst: its bytes [position, end) have not been split yet. It is in
        # ``_small`` if it is small, else in ``_view``.
        self._small = b""
        self._view = _NOTHING
        self._position = 0
        self._end = 0
        # The large frame being received; ``_end`` bytes of it have arrived.
        self._large: BytesIO | None = None
        self._large_size = 0

    def get_buffer(self) -> memoryview:
        """The buffer for the next bytes of this connection."""
        if self._large is not None:
            return self._large_buffer(self._large)
        kept = len(self._set_aside)
        if kept == 0:
            return self._shared.window
        shared = self._shared.view
        shared[:kept] = self._set_aside
        return shared[kept : kept + WINDOW_BYTES]

    def received(self, size_bytes: int) -> None:
        """Note that ``size_bytes`` were written to the buffer from ``get_buffer``."""
        if self._large is not None:
            self._end += size_bytes
            return
        self._begin_burst(self._shared.view, len(self._set_aside) + size_bytes)

    def begin_waiting(self) -> None:
        """Continue with the bytes that an earlier burst set aside."""
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
        """The next complete frame without its size, or None if more bytes are needed.

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
        """Set aside the remaining bytes, so that the shared buffer is free again."""
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
    def is_large_complete(self) -> bool:
        """Whether a large frame has been received to its end and not been taken yet."""
        return self._large is not None and self._end == self._large_size

    @property
    def must_pause(self) -> bool:
        """Whether reading has to stop until frames have been processed."""
        if self._large is not None:
            return self.is_large_complete
        return len(self._set_aside) >= PAUSE_BYTES

    @property
    def held_bytes(self) -> int:
        """Memory this connection holds between bursts."""
        if self._large is not None:
            return self._large.getbuffer().nbytes
        return len(self._set_aside)

    def _describe_bad_size(self, size: int) -> str:
        if self._is_response:
            return f"response size {size} is not between 0 and {self._max_frame_bytes}"
        if size < 0:
            return f"request size {size} is negative"
        text = f"request size {size} is above socket.request.max.bytes={self._max_frame_bytes}"
        # The first bytes of other protocols, read as a size, are a frequent source of questions.
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
        # The memory grows here and not when bytes arrive: by now the loop has released the
        # previous buffer.
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
        # The length of getvalue() while the loop still holds a view is up to CPython.
        return frame if len(frame) == size else frame[:size]


def _memory(size: int, arrived: int) -> BytesIO:
    """Writable memory for a frame of ``size`` bytes of which ``arrived`` have been received."""
    return BytesIO(bytes(min(size, max(LARGE_FRAME_BYTES, arrived * GROWTH))))
