"""The one way to be called later.

Timers run on the time of the event loop, which is monotonic, and simulated in simulations. There
are three kinds: ``call_after`` a delay, once; a ``DeadlineTimer`` for what has deadlines of its
own, such as a coordinator or a raft node; and ``Background.every`` for periodic jobs. Waiting for
something, but not longer than a limit, is ``asyncio.timeout``, which uses the same time.
"""

import asyncio
from collections.abc import Callable
from typing import Any

from moldau.clock import Clock


def call_after(delay_ms: float, call: Callable[..., Any], *args: Any) -> asyncio.TimerHandle:
    """Call ``call`` once, after the delay; it can be cancelled."""
    return asyncio.get_running_loop().call_later(delay_ms / 1000, call, *args)


class DeadlineTimer:
    """Wakes something up when its next deadline is due.

    The owner passes its next deadline to ``set`` after everything that may have changed it, and
    again when it was woken. It may be woken too early, and then finds nothing to do: deadlines
    are postponed far more often than they expire, and moving the timer each time would cost more.
    """

    __slots__ = ("_clock", "_handle", "_wake", "_wakes_at_ms")

    def __init__(self, clock: Clock, wake: Callable[[], None]) -> None:
        self._clock = clock
        self._wake = wake
        self._handle: asyncio.TimerHandle | None = None
        self._wakes_at_ms = 0

    def set(self, deadline_ms: int | None) -> None:
        """Wake the owner by ``deadline_ms`` of the monotonic clock; None if nothing is due."""
        if deadline_ms is None:
            return
        if self._handle is not None:
            if self._wakes_at_ms <= deadline_ms:
                return
            self._handle.cancel()
        self._wakes_at_ms = deadline_ms
        # Plus one, because the clock rounds down.
        delay_ms = max(deadline_ms - self._clock.monotonic_ms(), 0) + 1
        self._handle = call_after(delay_ms, self._on_time)

    def cancel(self) -> None:
        if self._handle is not None:
            self._handle.cancel()
            self._handle = None

    def _on_time(self) -> None:
        self._handle = None
        self._wake()
