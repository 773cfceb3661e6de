"""Jobs that come round again: checkpoints, flushes, expiry.

A job that fails is logged and tried again at its next turn; it never ends the broker.
"""

import asyncio
import logging
from collections.abc import Callable

from moldau.clock import Clock

logger = logging.getLogger(__name__)

# Kafka's way of saying "never" in a setting of milliseconds.
NEVER_MS = (1 << 63) - 1


class Background:
    """Calls jobs at intervals, on the event loop, until stopped."""

    def __init__(self) -> None:
        self._timers: dict[str, asyncio.TimerHandle] = {}
        self._is_stopped = False

    def every(self, interval_ms: int, job: Callable[[int], object], clock: Clock) -> None:
        """Call ``job`` with the time, again and again; never if the interval says so."""
        if 0 < interval_ms < NEVER_MS:
            self._schedule(job.__name__, interval_ms / 1000, job, clock)

    def stop(self) -> None:
        self._is_stopped = True
        for timer in self._timers.values():
            timer.cancel()
        self._timers.clear()

    def _schedule(
        self, name: str, interval_s: float, job: Callable[[int], object], clock: Clock
    ) -> None:
        def run() -> None:
            try:
                job(clock.now_ms())
            except Exception:
                logger.exception(
                    "background job %s failed; it runs again in %g s", name, interval_s
                )
            if not self._is_stopped:
                self._schedule(name, interval_s, job, clock)

        self._timers[name] = asyncio.get_running_loop().call_later(interval_s, run)
