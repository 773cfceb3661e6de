"""Compaction of a broker's logs in the background: scheduling and results.

The broker node starts a search periodically. The dirtiest log that is worth cleaning is cleaned,
then the next, until none is left; ``log.cleaner.threads`` of them in parallel. The decisions are in
``cleaner_offsets``, the work in ``cleaning_pass``. This module passes the steps of a pass to
threads and their results back to the thread that owns the logs.

Rules this module keeps:

* A log is cleaned by one pass at a time, and not while it is being deleted, truncated or moved.
* A log that cannot be cleaned because it is damaged is reported once, with the remedy, and skipped
  until the broker is restarted. Other logs are not affected.
* A full disk only ends the pass; there may be space at the next attempt. A disk failure takes the
  log directory offline, as everywhere.
* The end of the clean part is checkpointed only when its segments are durable.
"""

import logging
import random
from collections import deque
from collections.abc import Callable, Collection, Iterator
from typing import Any, Final, NamedTuple

from moldau.clock import Clock
from moldau.config.broker import BrokerConfig
from moldau.errors import ApiError, ErrorCode
from moldau.ids import TopicPartition
from moldau.record.offset_map import SEED_BYTES
from moldau.storage.cleaner.cleaner_offsets import (
    DirtyLog,
    LogFacts,
    SegmentFacts,
    filthiest_first,
    find_dirty,
    needs_first_timestamps,
    needs_largest_timestamps,
)
from moldau.storage.cleaner.cleaning import CleanerThrottle, Cleaning, CleaningAborted
from moldau.storage.cleaner.cleaning_pass import CleanerStats, CleaningPass, Steps, Work
from moldau.storage.cleaner.cleaning_process import CleaningProcessLost
from moldau.storage.cleaner.cleaning_work import CleanerMemory, LocalWork, PassWork
from moldau.storage.disk.disk import Disk
from moldau.storage.disk.late_writes import Executor
from moldau.storage.disk.log_failure import is_no_room
from moldau.storage.log.partition_log import PartitionLog
from moldau.storage.log.segment import Segment

_SMALLEST_READ: Final = 64 * 1024
# As in Kafka: a larger map would need wider integers.
_LARGEST_MAP: Final = (1 << 31) - 1
_SMALLEST_LOAD_FACTOR: Final = 0.01
_MIB: Final = 1 << 20

_log = logging.getLogger(__name__)


class _Job(NamedTuple):
    """A pass in progress."""

    log: PartitionLog
    dirty: DirtyLog
    cleaning: Cleaning
    steps: Steps
    started_ms: int


class LogCleaner:
    """Runs on the owner's thread, except for the work passed to ``executor``."""

    def __init__(
        self,
        *,
        logs: Callable[[], Collection[PartitionLog]],
        config: Callable[[], BrokerConfig],
        disk: Disk,
        clock: Clock,
        rng: random.Random,
        executor: Executor,
        post: Callable[[Callable[[], None]], object],
        on_cleaned: Callable[[PartitionLog], object],
        pause: Callable[[float], object] | None = None,
        search_soon: Callable[[int], object] | None = None,
        work_for: Callable[[int], PassWork] | None = None,
    ) -> None:
        """``post`` schedules a call on the owner's thread; it is called from any thread.

        ``on_cleaned`` is called for each log whose ``cleaner_checkpoint`` moved. ``config`` is
        called every time, so that changes of ``log.cleaner.*`` apply from the next pass on, and
        those of the throttle immediately. ``search_soon`` is called to request a ``search`` when
        everything that the last one found is clean; by default it searches immediately.
        ``work_for`` returns the ``PassWork`` for a pass over the given number of bytes; by default
        the executor does the work itself.
        """
        self._logs = logs
        self._config = config
        self._disk = disk
        self._clock = clock
        self._rng = rng
        self._executor = executor
        self._post = post
        self._on_cleaned = on_cleaned
        self._pause = pause
        self._throttle = CleanerThrottle()
        self._search_soon = search_soon or self.run
        self._work_for = work_for or (lambda size_bytes: LocalWork(disk))
        self._jobs: dict[TopicPartition, _Job] = {}
        # Logs from the last search that are not yet started, dirtiest first.
        self._waiting: deque[PartitionLog] = deque()
        self._uncleanable: dict[TopicPartition, tuple[PartitionLog, str]] = {}
        self._is_stopped = False

    @property
    def in_progress(self) -> list[TopicPartition]:
        """The partitions that are being cleaned."""
        return list(self._jobs)

    @property
    def uncleanable(self) -> dict[TopicPartition, str]:
        """The partitions that cannot be cleaned, and the reasons."""
        return {tp: reason for tp, (_, reason) in self._uncleanable.items()}

    def run(self, wall_ms: int) -> None:
        """Start cleaning the logs that are worth it, up to the number of threads."""
        for _ in self.search(wall_ms):
            pass

    def search(self, wall_ms: int) -> Iterator[None]:
        """Like ``run``, one log per step, so that clients need not wait for thousands of logs."""
        if self._is_stopped or self._is_busy():
            return
        found = []
        known = set()
        for log in self._logs():
            known.add(log.topic_partition)
            dirty = self._worth_cleaning(log, wall_ms)
            if dirty is not None:
                found.append((log, dirty))
            yield
        for topic_partition in [each for each in self._uncleanable if each not in known]:
            del self._uncleanable[topic_partition]
        self._waiting = deque(filthiest_first(found))
        self._start_waiting(wall_ms)

    def stop(self) -> None:
        """Abort all passes; each thread removes the files that it is still writing."""
        self._is_stopped = True
        for job in self._jobs.values():
            job.cleaning.abort()

    # -- choosing a log --

    def _is_busy(self) -> bool:
        return len(self._jobs) >= self._config().log_cleaner_threads

    def _start_waiting(self, wall_ms: int) -> None:
        """Clean the logs from the last search, after checking each again."""
        while self._waiting and not self._is_stopped and not self._is_busy():
            log = self._waiting.popleft()
            dirty = self._worth_cleaning(log, wall_ms)
            # Meanwhile it may be on the move to another directory.
            if dirty is not None and log in self._logs():
                self._start(log, dirty, wall_ms)

    def _worth_cleaning(self, log: PartitionLog, wall_ms: int) -> DirtyLog | None:
        """What a pass over ``log`` would clean; None if it is not worth one."""
        if not log.config.is_compacted or len(log.segments) < 2 or log.is_closed:
            return None
        if log.topic_partition in self._jobs or self._is_uncleanable(log):
            return None
        # A quick check for logs that are clean, as most are.
        if log.log_start_offset <= log.cleaner_checkpoint == log.segments.active.base_offset:
            return None
        dirty = find_dirty(log_facts(log), log.config, wall_ms)
        if dirty.is_checkpoint_invalid:
            self._reset_checkpoint(log, dirty)
        return dirty if dirty.is_worth_cleaning(log.config) else None

    def _is_uncleanable(self, log: PartitionLog) -> bool:
        known = self._uncleanable.get(log.topic_partition)
        return known is not None and known[0] is log

    def _reset_checkpoint(self, log: PartitionLog, dirty: DirtyLog) -> None:
        # With both policies retention regularly overtakes the cleaner.
        if "delete" not in log.config.cleanup_policy:
            _log.warning(
                "%s was cleaned up to offset %d, but holds %d to %d: cleaning it from its start",
                log.topic_partition,
                log.cleaner_checkpoint,
                log.log_start_offset,
                log.log_end_offset,
            )
        log.cleaner_checkpoint = dirty.first_dirty_offset

    # -- one pass --

    def _start(self, log: PartitionLog, dirty: DirtyLog, wall_ms: int) -> None:
        config = self._config()
        threads = max(config.log_cleaner_threads, 1)
        memory = CleanerMemory(
            min(config.log_cleaner_dedupe_buffer_size // threads, _LARGEST_MAP),
            max(config.log_cleaner_io_buffer_load_factor, _SMALLEST_LOAD_FACTOR),
            max(config.log_cleaner_io_buffer_size // threads // 2, _SMALLEST_READ),
        )
        cleaning = Cleaning(
            self._clock,
            self._throttle,
            lambda: self._config().log_cleaner_io_max_bytes_per_second,
            self._pause,
        )
        work = self._work_for(dirty.total_bytes)
        seed = self._rng.randbytes(SEED_BYTES)
        steps = CleaningPass(log, dirty, self._disk, cleaning, memory, work, wall_ms, seed).run()
        job = _Job(log, dirty, cleaning, steps, self._clock.monotonic_ms())
        self._jobs[log.topic_partition] = job
        log.cleaning = cleaning
        self._advance(job, None, None)

    def _advance(self, job: _Job, result: Any, error: Exception | None) -> None:
        """Pass the result or the error of a step to the pass, and submit the next step."""
        try:
            work = job.steps.send(result) if error is None else job.steps.throw(error)
        except StopIteration as end:
            self._finish(job)
            self._succeeded(job, end.value)
        except Exception as failure:
            self._finish(job)
            self._failed(job, failure)
        else:
            self._executor.submit(self._work, job, work)

    def _work(self, job: _Job, work: Work) -> None:
        """In a thread: do a step and post its result."""
        result: Any = None
        error: Exception | None = None
        try:
            result = work()
        except Exception as failure:
            error = failure
        self._post(lambda: self._advance(job, result, error))

    def _finish(self, job: _Job) -> None:
        del self._jobs[job.log.topic_partition]
        job.log.cleaning = None

    def _succeeded(self, job: _Job, stats: CleanerStats) -> None:
        log = job.log
        log.cleaner_checkpoint = stats.end_offset
        self._on_cleaned(log)
        seconds = max(self._clock.monotonic_ms() - job.started_ms, 1) / 1000
        _log.info(
            "Cleaned %s from offset %d to %d in %.1f s (%.1f MiB/s): %d segments into %d, "
            "%.1f MiB into %.1f, %d records into %d",
            log.topic_partition,
            job.dirty.first_dirty_offset,
            stats.end_offset,
            seconds,
            stats.bytes_read / _MIB / seconds,
            stats.segments_before,
            stats.segments_after,
            stats.bytes_read / _MIB,
            stats.bytes_written / _MIB,
            stats.records_read,
            stats.records_kept,
        )
        if self._waiting:
            self._start_waiting(self._clock.wall_ms())
        elif stats.end_offset > job.dirty.first_dirty_offset:
            self._search_soon(self._clock.wall_ms())

    def _failed(self, job: _Job, error: Exception) -> None:
        log = job.log
        is_unwanted = job.cleaning.is_aborted or log.is_closed
        if is_unwanted or isinstance(error, CleaningAborted):
            _log.debug("Cleaning of %s was given up: it changed meanwhile", log.topic_partition)
        elif isinstance(error, CleaningProcessLost):
            _log.warning(
                "The process that cleaned %s was lost (%s): it is cleaned in a thread from now on",
                log.topic_partition,
                error,
            )
        elif isinstance(error, OSError) and is_no_room(error):
            _log.warning(
                "No room in %s to clean %s, which would free some: it is tried again in %d ms",
                log.log_dir,
                log.topic_partition,
                self._config().log_cleaner_backoff_ms,
            )
        elif isinstance(error, OSError):
            log.storage_error(error, "cleaning")
        elif isinstance(error, ApiError) and error.code is ErrorCode.KAFKA_STORAGE_ERROR:
            _log.error("Cleaning of %s failed: %s", log.topic_partition, error)
        else:
            self._uncleanable[log.topic_partition] = (log, str(error))
            _log.error(
                "%s cannot be cleaned and grows until the broker is started again: %s",
                log.topic_partition,
                error,
                exc_info=None if isinstance(error, ApiError | ValueError) else error,
            )


def log_facts(log: PartitionLog) -> LogFacts:
    """The properties of a log that ``find_dirty`` needs; timestamps only if they are used."""
    config = log.config
    wants_first = needs_first_timestamps(config)
    wants_largest = needs_largest_timestamps(config)

    def facts(segment: Segment) -> SegmentFacts:
        return SegmentFacts(
            segment.base_offset,
            segment.size,
            segment.first_timestamp if wants_first else -1,
            segment.largest_timestamp if wants_largest else -1,
        )

    return LogFacts(
        log.log_start_offset,
        log.log_end_offset,
        log.last_stable_offset,
        [facts(segment) for segment in log.segments],
        log.cleaner_checkpoint,
    )
