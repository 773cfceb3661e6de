"""Clocks, which are passed in as arguments, so that tests and simulations control time.

A machine has two clocks. The wall clock says what time it is, and may be set: it can jump by a
minute in either direction. The monotonic clock only says how much time has passed, and never
jumps.

* The wall clock is for what is stored or shown, and for what is compared with something stored:
  timestamps of records, retention, the expiry of offsets and producers.
* The monotonic clock is for everything that lives no longer than the process: deadlines, timers,
  sessions, rates, durations. Its values mean nothing in another process.

In code without side effects, ``now_ms`` is the monotonic time; wall time is called ``wall_ms`` or
``timestamp_ms``.
"""

import time
from typing import Final, Protocol

_time_ns: Final = time.time_ns
_monotonic_ns: Final = time.monotonic_ns


class Clock(Protocol):
    """Both clocks of a node, in Kafka's unit."""

    def wall_ms(self) -> int: ...

    def monotonic_ms(self) -> int: ...


class Now:
    """One moment, on both clocks."""

    __slots__ = ("monotonic_ms", "wall_ms")

    def __init__(self, wall_ms: int, monotonic_ms: int) -> None:
        self.wall_ms = wall_ms
        self.monotonic_ms = monotonic_ms


class SystemClock:
    """The clocks of the machine."""

    def wall_ms(self) -> int:
        return _time_ns() // 1_000_000

    def monotonic_ms(self) -> int:
        return _monotonic_ns() // 1_000_000


class ManualClock:
    """Clocks that move only when a test moves them. They begin at different times, as real ones."""

    def __init__(self, wall_ms: int = 1_700_000_000_000, monotonic_ms: int = 1_000_000) -> None:
        self._wall_ms = wall_ms
        self._monotonic_ms = monotonic_ms

    def wall_ms(self) -> int:
        return self._wall_ms

    def monotonic_ms(self) -> int:
        return self._monotonic_ms

    def advance(self, delta_ms: int) -> None:
        """Let time pass."""
        assert delta_ms >= 0, f"time cannot move back by {-delta_ms} ms"
        self._wall_ms += delta_ms
        self._monotonic_ms += delta_ms

    def step_wall(self, delta_ms: int) -> None:
        """Set the wall clock forward or back; no time passes."""
        self._wall_ms += delta_ms
