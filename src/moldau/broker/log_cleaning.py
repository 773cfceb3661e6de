"""The log cleaner of a running broker: when it looks for work, and in which threads it works.

A broker without compacted topics, or with none that has grown beyond a segment, never loads
the cleaner. Afterwards it costs what it uses: a thread for each log that is being cleaned,
and the memory of an offset map for as long as that takes.
"""

import asyncio
import contextlib
import logging
import os
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import Executor, ThreadPoolExecutor
from typing import TYPE_CHECKING, Final

from moldau.broker.background import take_some
from moldau.broker.dynamic_config import DynamicConfig
from moldau.clock import Clock
from moldau.storage.disk import Disk
from moldau.storage.log_manager import LogManager

if TYPE_CHECKING:
    from moldau.storage.log_cleaner import LogCleaner

# Threads are made as they are needed; ``log.cleaner.threads`` says how many are.
_MOST_THREADS: Final = 256
# How far they stand back from the thread that serves clients, in steps of ``nice``. Not as far as
# they could: a thread that waits for a processor may hold the GIL, and logs must be cleaned on a
# busy machine too.
_NICENESS: Final = 10
# A backoff of zero would keep the event loop busy.
_SHORTEST_BACKOFF_MS: Final = 10

logger = logging.getLogger(__name__)


def stand_back() -> None:
    """Let the scheduler prefer every other thread to this one, if it can tell threads apart."""
    if sys.platform == "linux":
        thread = threading.get_native_id()
        with contextlib.suppress(OSError):
            niceness = os.getpriority(os.PRIO_PROCESS, thread) + _NICENESS
            os.setpriority(os.PRIO_PROCESS, thread, niceness)


class LogCleaning:
    """Looks for dirty logs every ``log.cleaner.backoff.ms``, until stopped."""

    def __init__(
        self,
        logs: LogManager,
        configs: DynamicConfig,
        disk: Disk,
        clock: Clock,
        executor: Executor | None = None,
    ) -> None:
        """Without an executor it makes its own threads: those of the disk must stay free."""
        self._logs = logs
        self._configs = configs
        self._disk = disk
        self._clock = clock
        self._executor = executor
        self._pool: ThreadPoolExecutor | None = None
        self._timer: asyncio.Handle | None = None
        self._is_stopped = False
        self.cleaner: LogCleaner | None = None

    @property
    def is_idle(self) -> bool:
        """Whether nobody will ever look: the cleaner is turned off, or stopped."""
        return self._timer is None

    def start(self) -> None:
        """On the event loop that owns the logs."""
        if self._configs.broker.log_cleaner_enable:
            self._loop = asyncio.get_running_loop()
            self._look_later()

    def stop(self) -> None:
        """Return when no thread touches the logs any more."""
        self._is_stopped = True
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self.cleaner is not None:
            self.cleaner.stop()
        if self._pool is not None:
            self._pool.shutdown()

    def _look_later(self) -> None:
        backoff_ms = max(self._configs.broker.log_cleaner_backoff_ms, _SHORTEST_BACKOFF_MS)
        self._timer = self._loop.call_later(backoff_ms / 1000, self.look)

    def look(self) -> None:
        """Begin to clean what is worth it, and look again after the backoff."""
        if self._timer is not None:
            self._timer.cancel()
        try:
            if self.cleaner is None and self._has_work():
                self.cleaner = self._load()
        except Exception:
            logger.exception("the log cleaner does not load; it is tried again")
        steps: Iterator[None] = iter(())
        if self.cleaner is not None:
            steps = self.cleaner.search(self._clock.now_ms())
        self._search(steps)

    def _search(self, steps: Iterator[None]) -> None:
        """Look at some logs, and at the rest in later turns of the loop."""
        if self._is_stopped:
            return
        try:
            is_over = take_some(steps)
        except Exception:
            is_over = True
            logger.exception("the log cleaner failed to look for work; it tries again")
        if is_over:
            self._look_later()
        else:
            self._timer = self._loop.call_soon(self._search, steps)

    def _has_work(self) -> bool:
        return any(
            len(log.segments) > 1 and log.config.is_compacted for log in self._logs.logs.values()
        )

    def _load(self) -> "LogCleaner":
        from moldau.storage.log_cleaner import LogCleaner

        executor = self._executor
        if executor is None:
            executor = self._pool = ThreadPoolExecutor(
                _MOST_THREADS, thread_name_prefix="moldau-cleaner", initializer=stand_back
            )
        return LogCleaner(
            logs=self._logs.resting_logs,
            config=lambda: self._configs.broker,
            disk=self._disk,
            clock=self._clock,
            executor=executor,
            post=self._loop.call_soon_threadsafe,
            on_cleaned=lambda log: self._logs.checkpoint_cleaner_offsets(log.log_dir),
            search_soon=lambda now_ms: self.look(),
        )
