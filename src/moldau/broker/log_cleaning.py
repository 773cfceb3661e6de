"""The log cleaner of a running broker: when it looks for dirty logs, and where it cleans them.

The cleaner is not loaded until a compacted topic has a log of more than one segment. Then it uses
a thread for each log that is being cleaned, and the memory of an offset map for as long as that
takes. For a large log the thread delegates to a process, which does not share the GIL with the
event loop (``cleaning_process``).
"""

import asyncio
import logging
import random
from collections.abc import Iterator
from concurrent.futures import Executor, ThreadPoolExecutor
from typing import TYPE_CHECKING, Final

from moldau.broker.background import take_some
from moldau.broker.dynamic_config import DynamicConfig
from moldau.clock import Clock
from moldau.storage.disk.disk import Disk, RealDisk
from moldau.storage.log_manager import LogManager
from moldau.timers import call_after

if TYPE_CHECKING:
    from moldau.storage.cleaner.cleaning_work import PassWork
    from moldau.storage.cleaner.log_cleaner import LogCleaner

# Threads are started when needed; ``log.cleaner.threads`` is the actual limit.
_MOST_THREADS: Final = 256
# A thread finishes a pass over fewer bytes before a process would have started.
_WORTH_A_PROCESS_BYTES: Final = 32 << 20
# A backoff of zero would keep the event loop busy.
_SHORTEST_BACKOFF_MS: Final = 10

logger = logging.getLogger(__name__)


class LogCleaning:
    """Looks for dirty logs every ``log.cleaner.backoff.ms``, until stopped."""

    def __init__(
        self,
        logs: LogManager,
        configs: DynamicConfig,
        disk: Disk,
        clock: Clock,
        rng: random.Random,
        executor: Executor | None = None,
    ) -> None:
        """Without an executor it starts its own threads: the disk threads must stay available."""
        self._logs = logs
        self._configs = configs
        self._disk = disk
        self._clock = clock
        self._rng = rng
        self._executor = executor
        self._pool: ThreadPoolExecutor | None = None
        self._timer: asyncio.Handle | None = None
        self._is_stopped = False
        # Another process can access only a real disk.
        self._uses_processes = executor is None and isinstance(disk, RealDisk)
        self.cleaner: LogCleaner | None = None

    @property
    def is_idle(self) -> bool:
        """Whether no search is scheduled: the cleaner is disabled, or stopped."""
        return self._timer is None

    def start(self) -> None:
        """Start the periodic search. To be called on the event loop that owns the logs."""
        if self._configs.broker.log_cleaner_enable:
            self._loop = asyncio.get_running_loop()
            self._look_later()

    def stop(self) -> None:
        """Return when no thread uses the logs any more."""
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
        self._timer = call_after(backoff_ms, self.look)

    def look(self) -> None:
        """Start cleaning the logs that are dirty enough, and search again after the backoff."""
        if self._timer is not None:
            self._timer.cancel()
        try:
            if self.cleaner is None and self._has_work():
                self.cleaner = self._load()
        except Exception:
            logger.exception("the log cleaner does not load; it is tried again")
        steps: Iterator[None] = iter(())
        if self.cleaner is not None:
            steps = self.cleaner.search(self._clock.wall_ms())
        self._search(steps)

    def _search(self, steps: Iterator[None]) -> None:
        """Check some logs, and the rest in later turns of the loop."""
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
        from moldau.storage.cleaner.log_cleaner import LogCleaner

        executor = self._executor
        if executor is None:
            executor = self._pool = ThreadPoolExecutor(
                _MOST_THREADS, thread_name_prefix="moldau-cleaner"
            )
        return LogCleaner(
            logs=self._logs.resting_logs,
            config=lambda: self._configs.broker,
            disk=self._disk,
            clock=self._clock,
            rng=self._rng,
            executor=executor,
            post=self._loop.call_soon_threadsafe,
            on_cleaned=lambda log: self._logs.checkpoint_cleaner_offsets(log.log_dir),
            search_soon=lambda wall_ms: self.look(),
            work_for=self.work_for,
        )

    def work_for(self, size_bytes: int) -> "PassWork":
        """A process or a thread for the work of a pass over ``size_bytes``."""
        from moldau.storage.cleaner.cleaning_process import ProcessWork
        from moldau.storage.cleaner.cleaning_work import LocalWork

        if self._uses_processes and size_bytes >= _WORTH_A_PROCESS_BYTES:
            return ProcessWork(on_lost=self._lost_process)
        return LocalWork(self._disk)

    def _lost_process(self) -> None:
        self._uses_processes = False
