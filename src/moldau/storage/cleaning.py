"""One cleaning under way, seen from both sides: the log it works on and the thread that works.

The thread only reads segments that no longer change and writes files that nobody knows
yet. The owner of the log may meanwhile cut it, delete it or lose its disk; it then calls
``abort``, and the work ends at its next look, at the latest after a few
megabytes. Retention waits instead: there is no hurry in it.
"""

import threading
from collections.abc import Callable
from typing import Final, Protocol

from moldau.clock import Clock
from moldau.storage.cleaner_throttle import CleanerThrottle

# How much is transferred at least between two looks at the clock and at the owner's wishes.
_LOOK_EVERY_BYTES: Final = 64 * 1024


class CleaningAborted(Exception):  # noqa: N818  # an order, not an error
    """The log changed or goes away: what was done so far is of no use."""


class Swap(Protocol):
    """See ``segment_swap``."""

    def go_on(self) -> bool: ...

    def finish(self) -> None: ...


class Transfers(Protocol):
    """Whoever must hear of bytes that were read or written: ``Cleaning``, or who tells it."""

    def transferred(self, size_bytes: int) -> None: ...


class Cleaning:
    """Shared by the owner's thread and the cleaner's; every field is written by one of them."""

    def __init__(
        self,
        clock: Clock,
        throttle: CleanerThrottle,
        bytes_per_second: Callable[[], float],
        pause: Callable[[float], object] | None = None,
    ) -> None:
        """``pause`` waits for so many seconds; by default until then or the abort."""
        self._clock = clock
        self._throttle = throttle
        self._bytes_per_second = bytes_per_second
        self._aborted = threading.Event()
        self._pause = pause or self._aborted.wait
        self._unbooked = 0
        # One that has begun, and waits for the thread.
        self._swap: Swap | None = None

    @property
    def is_aborted(self) -> bool:
        return self._aborted.is_set()

    def abort(self) -> None:
        """Called by the owner; returns soon, while the thread may still be at work.

        A swap of segments that has begun is finished first: it cannot be taken back.
        """
        self._aborted.set()
        swap, self._swap = self._swap, None
        if swap is not None:
            swap.finish()

    def go_on_with(self, swap: Swap) -> bool:
        """Called by the owner: the next step of ``swap``; False if there was nothing left to do."""
        self._swap = None
        if swap.go_on():
            self._swap = swap
            return True
        return False

    def check(self) -> None:
        """Raises CleaningAborted if the owner wants it so."""
        if self._aborted.is_set():
            raise CleaningAborted

    def transferred(self, size_bytes: int) -> None:
        """So much was read or written: wait as long as the throttle says.

        Raises:
            CleaningAborted: the owner wants it so.
        """
        self._unbooked += size_bytes
        while self._unbooked >= _LOOK_EVERY_BYTES:
            self.check()
            rate = self._bytes_per_second()
            # What takes a tenth of a second at that rate: a change of it should be heard soon,
            # and without a limit there is no reason to look at every few bytes of many.
            size = int(min(self._unbooked, max(_LOOK_EVERY_BYTES, rate / 10)))
            wait_ms = self._throttle.book(size, rate, self._clock.now_ms())
            self._unbooked -= size
            if wait_ms >= 1:
                self._pause(wait_ms / 1000)
                self.check()
