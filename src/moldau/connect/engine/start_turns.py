"""Lets a few queries start at a time.

Spark starts a Python process for each query and gives it ten seconds to call back. If the queries
of many connectors start at once, as when a worker takes over, their processes compete for the
cores, miss that limit, and all of them start again.
"""

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

_LEAST: Final = 2
_STEP_S: Final = 0.1
# After this Spark has given up the Python process of a query, or the connector takes its time.
_LIMIT_S: Final = 12.0


class StartTurns:
    """The turns of all connectors of a worker: as many at a time as there are cores."""

    def __init__(self, count: int | None = None) -> None:
        self._free = threading.Semaphore(count or max(_LEAST, os.cpu_count() or 1))

    @contextmanager
    def turn(self, stopping: threading.Event) -> Iterator[bool]:
        """Wait for a turn, which ends with the block; False if ``stopping`` is set first."""
        while not self._free.acquire(timeout=_STEP_S):
            if stopping.is_set():
                yield False
                return
        try:
            yield True
        finally:
            self._free.release()


def await_start(
    is_started: Callable[[], bool], stopping: threading.Event, limit_s: float = _LIMIT_S
) -> None:
    """Wait until a query has started, at most ``limit_s``."""
    for _ in range(round(limit_s / _STEP_S)):
        if is_started() or stopping.wait(_STEP_S):
            return
