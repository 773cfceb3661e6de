"""Small writes in the background, off the event loop.

The topic id of a new partition and the start of a leader epoch each require a flushed file. That
takes milliseconds, possibly for thousands of partitions at once, so one thread of the executor does
it, a few at a time: other flushes in the same executor run in between.

Work added here may be lost with the process. The owner must not rely on it without doing the same
write itself.
"""

import logging
import threading
from collections import deque
from collections.abc import Callable
from typing import Any, Final, Protocol

_PER_TURN: Final = 16

_log = logging.getLogger(__name__)


class Executor(Protocol):
    """Runs work in other threads, like the executors of ``concurrent.futures``."""

    def submit(self, fn: Callable[..., Any], /, *args: Any) -> Any: ...


class LateWrites:
    """A queue of work, processed by one thread at a time."""

    def __init__(self, executor: Executor | None) -> None:
        """Without an executor, work is done by the caller of ``add``."""
        self._executor = executor
        self._waiting: deque[Callable[[], None]] = deque()
        self._lock = threading.Lock()
        self._is_running = False

    def add(self, work: Callable[[], None]) -> None:
        """Queue ``work``, which must handle its own errors."""
        if self._executor is None:
            work()
            return
        with self._lock:
            self._waiting.append(work)
            if self._is_running:
                return
            self._is_running = True
        self._submit(self._executor)

    def _submit(self, executor: Executor) -> None:
        try:
            executor.submit(self._run_some, executor)
        except RuntimeError:
            # The executor was shut down after every log was closed, and thus flushed.
            with self._lock:
                self._waiting.clear()
                self._is_running = False

    def _run_some(self, executor: Executor) -> None:
        for _ in range(_PER_TURN):
            with self._lock:
                if not self._waiting:
                    self._is_running = False
                    return
                work = self._waiting.popleft()
            try:
                work()
            except Exception:
                _log.exception("a write in the background failed")
        self._submit(executor)
