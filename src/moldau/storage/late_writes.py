"""Small writes that nobody waits for, done soon and away from the event loop.

The id of a new partition and the first record of a leader epoch each want a file flushed.
That is milliseconds, for thousands of partitions at a time, so one thread of the executor
does it, a few at a time: whoever waits for a flush of the same executor has its turn in
between.

What is added here may be lost with the process. Its owner must not depend on it before it
has done the same by itself.
"""

import logging
import threading
from collections import deque
from collections.abc import Callable
from typing import Any, Final, Protocol

_PER_TURN: Final = 16

_log = logging.getLogger(__name__)


class Executor(Protocol):
    """Runs work elsewhere; those of ``concurrent.futures`` do."""

    def submit(self, fn: Callable[..., Any], /, *args: Any) -> Any: ...


class LateWrites:
    """A queue of work that one thread at a time takes from."""

    def __init__(self, executor: Executor | None) -> None:
        """Without an executor, work is done where it is added."""
        self._executor = executor
        self._waiting: deque[Callable[[], None]] = deque()
        self._lock = threading.Lock()
        self._is_running = False

    def add(self, work: Callable[[], None]) -> None:
        """Have ``work`` done. It must take care of its own errors."""
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
            # The executor has shut down, after every log was closed and so flushed.
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
