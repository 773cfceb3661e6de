"""Periodic jobs: checkpoints, flushes, expiry.

A short job is a function that does its work. A long one, which visits every partition, returns
an iterator of steps: some are taken in each turn of the event loop, so that even with ten
thousand partitions no client waits for more than a slice of it.

Rules this module keeps:

* A failed job is logged and repeated at its next interval; it never stops the broker.
* A job never overlaps with itself: its interval starts at the end of its last step.
"""

import asyncio
import logging
from collections.abc import Callable, Iterator
from itertools import islice
from typing import Final

from moldau.timers import call_after

logger = logging.getLogger(__name__)

# Kafka's value for "never" in settings in milliseconds.
NEVER_MS = (1 << 63) - 1
# Well below a millisecond for steps that find nothing to do, a few for those that do.
STEPS_PER_TURN: Final = 50

Job = Callable[[], object]


class Background:
    """Calls jobs at intervals, on the event loop, until stopped."""

    def __init__(self) -> None:
        self._timers: dict[str, asyncio.Handle] = {}
        self._is_stopped = False

    def every(self, interval_ms: int, job: Job) -> None:
        """Call ``job`` at every interval; not at all if it is never."""
        if 0 < interval_ms < NEVER_MS:
            self._schedule(job.__name__, interval_ms, job)

    def stop(self) -> None:
        self._is_stopped = True
        for timer in self._timers.values():
            timer.cancel()
        self._timers.clear()

    def _schedule(self, name: str, interval_ms: int, job: Job) -> None:
        loop = asyncio.get_running_loop()

        def run() -> None:
            advance(_steps(job))

        def advance(steps: Iterator[object]) -> None:
            try:
                is_over = take_some(steps)
            except Exception:
                is_over = True
                logger.exception(
                    "background job %s failed; it runs again in %g s", name, interval_ms / 1000
                )
            if self._is_stopped:
                return
            if is_over:
                self._schedule(name, interval_ms, job)
            else:
                self._timers[name] = loop.call_soon(advance, steps)

        self._timers[name] = call_after(interval_ms, run)


def _steps(job: Job) -> Iterator[object]:
    """The steps of ``job``; a short job has a single one."""
    found = job()
    if isinstance(found, Iterator):
        yield from found


async def in_turns(steps: Iterator[object]) -> None:
    """Take all steps, yielding to the event loop in between."""
    while not take_some(steps):  # noqa: ASYNC110  # yields, and waits for nothing
        await asyncio.sleep(0)


def take_some(steps: Iterator[object]) -> bool:
    """Take the steps of one turn; returns whether all are done."""
    return sum(1 for _ in islice(steps, STEPS_PER_TURN)) < STEPS_PER_TURN
