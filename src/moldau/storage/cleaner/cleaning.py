"""A cleaning in progress, shared by the owner of the log and the thread that does the work.

The thread only reads segments that no longer change and writes files that are not in use yet.
Meanwhile the owner may truncate the log, delete it or lose its disk; it then calls ``abort``, and
the work ends at its next check, at the latest after a few megabytes. Retention, which is not
urgent, waits instead.
"""

import threading
from collections.abc import Callable
from typing import Final, Protocol

from moldau.clock import Clock

# The minimum number of bytes between two checks of the throttle and for an abort.
_LOOK_EVERY_BYTES: Final = 64 * 1024


class CleaningAborted(Exception):  # noqa: N818  # an order, not an error
    """The log changed or was deleted: the work so far is discarded."""


class Swap(Protocol):
    """See ``segment_swap``."""

    def go_on(self) -> bool: ...

    def finish(self) -> None: ...


class CleanerThrottle:
    """Keeps all cleaners together below an I/O rate. Thread-safe.

    ``log.cleaner.io.max.bytes.per.second`` applies to reads and writes together. Every transfer is
    booked at the time at which it would end at that rate, and the caller must wait until then. So a
    burst lengthens the next wait, and idle time is not credited.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._busy_until_ms = 0.0

    def book(self, size_bytes: int, bytes_per_second: float, now_ms: int) -> float:
        """Book a transfer; returns how many milliseconds to wait after it."""
        duration_ms = 1000 * size_bytes / bytes_per_second if bytes_per_second > 0 else 0.0
        with self._lock:
            self._busy_until_ms = max(self._busy_until_ms, now_ms) + duration_ms
            return self._busy_until_ms - now_ms


class Transfers(Protocol):
    """Is notified of bytes read or written: ``Cleaning``, or an object that reports to it."""

    def transferred(self, size_bytes: int) -> None: ...


class Cleaning:
    """Shared by the owner's thread and the cleaner's; each field is written by one of them."""

    def __init__(
        self,
        clock: Clock,
        throttle: CleanerThrottle,
        bytes_per_second: Callable[[], float],
        pause: Callable[[float], object] | None = None,
    ) -> None:
        """``pause`` waits for a number of seconds; by default an abort ends the wait."""
        self._clock = clock
        self._throttle = throttle
        self._bytes_per_second = bytes_per_second
        self._aborted = threading.Event()
        self._pause = pause or self._aborted.wait
        self._unbooked = 0
        # A swap that has begun and waits for the thread.
        self._swap: Swap | None = None

    @property
    def is_aborted(self) -> bool:
        return self._aborted.is_set()

    def abort(self) -> None:
        """Called by the owner; does not wait for the thread to stop.

        A swap of segments that has begun is completed first: it cannot be undone.
        """
        self._aborted.set()
        swap, self._swap = self._swap, None
        if swap is not None:
            swap.finish()

    def go_on_with(self, swap: Swap) -> bool:
        """Called by the owner: take the next step of ``swap``; False if it is then complete."""
        self._swap = None
        if swap.go_on():
            self._swap = swap
            return True
        return False

    def check(self) -> None:
        """Raises CleaningAborted if the owner has called ``abort``."""
        if self._aborted.is_set():
            raise CleaningAborted

    def transferred(self, size_bytes: int) -> None:
        """Report bytes read or written; waits as long as the throttle requires.

        Raises:
            CleaningAborted: the owner has called ``abort``.
        """
        self._unbooked += size_bytes
        while self._unbooked >= _LOOK_EVERY_BYTES:
            self.check()
            rate = self._bytes_per_second()
            # A tenth of a second at that rate: a new rate then takes effect soon, and without a
            # limit there is no need to check every few bytes.
            size = int(min(self._unbooked, max(_LOOK_EVERY_BYTES, rate / 10)))
            wait_ms = self._throttle.book(size, rate, self._clock.monotonic_ms())
            self._unbooked -= size
            if wait_ms >= 1:
                self._pause(wait_ms / 1000)
                self.check()
