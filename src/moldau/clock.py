"""Clocks, which are passed in as arguments, so that tests can control time."""

import time
from typing import Final, Protocol

_time_ns: Final = time.time_ns


class Clock(Protocol):
    """The wall clock, in Kafka's unit."""

    def now_ms(self) -> int: ...


class SystemClock:
    """The wall clock of the machine."""

    def now_ms(self) -> int:
        return _time_ns() // 1_000_000


class ManualClock:
    """A clock that moves only when a test advances it."""

    def __init__(self, now_ms: int = 1_700_000_000_000) -> None:
        self._now_ms = now_ms

    def now_ms(self) -> int:
        return self._now_ms

    def advance(self, delta_ms: int) -> None:
        assert delta_ms >= 0, f"time cannot move back by {-delta_ms} ms"
        self._now_ms += delta_ms
