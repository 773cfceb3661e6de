"""Compacts the logs of a broker in the background: which one next, and what came of it.

Every now and then the broker node lets it search. The dirtiest log that is worth it is
cleaned, then the next, until none is left; ``log.cleaner.threads`` of them at a time. The
decisions are in ``cleaner_offsets``, the work in ``cleaning_pass``. Here the steps of a pass
are handed to threads and their results brought back to the thread that owns the logs.

Rules this module keeps:

* A log is cleaned by one pass at a time, and by none while it is being deleted, cut or moved.
* A log that cannot be cleaned, because its bytes are damaged, is reported once, with the
  remedy, and left alone until the broker is started again. The others go on.
* A full disk ends a pass and nothing else; there may be room the next time. A disk that
  fails takes its directory offline, as everywhere.
* Where the clean part ends is written down only when its segments are on the device.
"""

import logging
from collections import deque
from collections.abc import Callable, Collection, Iterator
from typing import Any, Final, NamedTuple

from moldau.clock import Clock
from moldau.config.broker import BrokerConfig
from moldau.errors import ApiError, ErrorCode
from moldau.ids import TopicPartition
from moldau.storage.cleaner_offsets import (
    DirtyLog,
    LogFacts,
    SegmentFacts,
    filthiest_first,
    find_dirty,
    needs_first_timestamps,
    needs_largest_timestamps,
)
from moldau.storage.cleaner_throttle import CleanerThrottle
from moldau.storage.cleaning import Cleaning, CleaningAborted
from moldau.storage.cleaning_pass import CleanerStats, CleaningPass, Steps, Work
from moldau.storage.cleaning_process import CleaningProcessLost
from moldau.storage.cleaning_work import CleanerMemory, LocalWork, PassWork
from moldau.storage.disk import Disk
from moldau.storage.late_writes import Executor
from moldau.storage.log_failure import is_no_room
from moldau.storage.partition_log import PartitionLog
from moldau.storage.segment import Segment

_SMALLEST_READ: Final = 64 * 1024
# As in Kafka: a map beyond this would need wider numbers.
_LARGEST_MAP: Final = (1 << 31) - 1
_SMALLEST_LOAD_FACTOR: Final = 0.01
_MIB: Final = 1 << 20

_log = logging.getLogger(__name__)


class _Job(NamedTuple):
    """A pass under way."""

    log: PartitionLog
    dirty: DirtyLog
    cleaning: Cleaning
    steps: Steps
    started_ms: int


class LogCleaner:
    """Everything here runs on the owner's thread, but for what ``executor`` is given."""

    def __init__(
        self,
        *,
        logs: Callable[[], Collection[PartitionLog]],
        config: Callable[[], BrokerConfig],
        disk: Disk,
        clock: Clock,
        executor: Executor,
        post: Callable[[Callable[[], None]], object],
        on_cleaned: Callable[[PartitionLog], object],
        pause: Callable[[float], object] | None = None,
        search_soon: Callable[[int], object] | None = None,
        work_for: Callable[[int], PassWork] | None = None,
    ) -> None:
        """``post`` lets the owner's thread call something soon; it is called from any thread.

        ``on_cleaned`` hears of each log whose ``cleaner_checkpoint`` moved. ``config`` is asked
        anew every time, so that a change of ``log.cleaner.*`` holds from the next pass on, and
        that of the throttle at once. ``search_soon`` is asked for a ``search`` when all that
        the last one found is clean; by default it happens at once. ``work_for`` says who does
        the work of a pass over so many bytes; by default the executor does it itself.
        """
        self._logs = logs
        self._config = config
        self._disk = disk
        self._clock = clock
        self._executor = executor
        self._post = post
        self._on_cleaned = on_cleaned
        self._pause = pause
        self._throttle = CleanerThrottle()
        self._search_soon = search_soon or self.run
        self._work_for = work_for or (lambda size_bytes: LocalWork(disk))
        self._jobs: dict[TopicPartition, _Job] = {}
        # What the last search found and nobody has begun with, the filthiest first.
        self._waiting: deque[PartitionLog] = deque()
        self._uncleanable: dict[TopicPartition, tuple[PartitionLog, str]] = {}
        self._is_stopped = False

    @property
    def in_progress(self) -> list[TopicPartition]:
        """The partitions that are being cleaned."""
        return list(self._jobs)

    @property
    def uncleanable(self) -> dict[TopicPartition, str]:
        """The partitions that cannot be cleaned, and why."""
        return {tp: reason for tp, (_, reason) in self._uncleanable.items()}

    def run(self, now_ms: int) -> None:
        """Begin to clean what is worth it, as far as there are threads for it."""
        for _ in self.search(now_ms):
            pass

    def search(self, now_ms: int) -> Iterator[None]:
        """Like ``run``, a log at a step: of thousands a client should not have to wait for all."""
        if self._is_stopped or self._is_busy():
            return
        found = []
        known = set()
        for log in self._logs():
            known.add(log.topic_partition)
            dirty = self._worth_cleaning(log, now_ms)
            if dirty is not None:
                found.append((log, dirty))
            yield
        for topic_partition in [each for each in self._uncleanable if each not in known]:
            del self._uncleanable[topic_partition]
        self._waiting = deque(filthiest_first(found))
        self._start_waiting(now_ms)

    def stop(self) -> None:
        """Give up what is under way; files that a thread still writes are removed by it."""
        self._is_stopped = True
        for job in self._jobs.values():
            job.cleaning.abort()

    # -- which log --

    def _is_busy(self) -> bool:
        return len(self._jobs) >= self._config().log_cleaner_threads

    def _start_waiting(self, now_ms: int) -> None:
        """Clean what the last search found, each as it is now."""
        while self._waiting and not self._is_stopped and not self._is_busy():
            log = self._waiting.popleft()
            dirty = self._worth_cleaning(log, now_ms)
            # It may be on the move to another directory by now.
            if dirty is not None and log in self._logs():
                self._start(log, dirty, now_ms)

    def _worth_cleaning(self, log: PartitionLog, now_ms: int) -> DirtyLog | None:
        """What a pass would find in ``log``; None if it is not worth one."""
        if not log.config.is_compacted or len(log.segments) < 2 or log.is_closed:
            return None
        if log.topic_partition in self._jobs or self._is_uncleanable(log):
            return None
        # The quick look at what is clean, which most logs are.
        if log.log_start_offset <= log.cleaner_checkpoint == log.segments.active.base_offset:
            return None
        dirty = find_dirty(log_facts(log), log.config, now_ms)
        if dirty.is_checkpoint_invalid:
            self._reset_checkpoint(log, dirty)
        return dirty if dirty.is_worth_cleaning(log.config) else None

    def _is_uncleanable(self, log: PartitionLog) -> bool:
        known = self._uncleanable.get(log.topic_partition)
        return known is not None and known[0] is log

    def _reset_checkpoint(self, log: PartitionLog, dirty: DirtyLog) -> None:
        # With both policies retention overtakes the cleaner all the time.
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

    def _start(self, log: PartitionLog, dirty: DirtyLog, now_ms: int) -> None:
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
        steps = CleaningPass(log, dirty, self._disk, cleaning, memory, work, now_ms).run()
        job = _Job(log, dirty, cleaning, steps, now_ms)
        self._jobs[log.topic_partition] = job
        log.cleaning = cleaning
        self._advance(job, None, None)

    def _advance(self, job: _Job, result: Any, error: Exception | None) -> None:
        """Give a step's result, or its failure, to the pass, and hand out the next step."""
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
        """In a thread: do a step and bring back what came of it."""
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
        now_ms = self._clock.now_ms()
        seconds = max(now_ms - job.started_ms, 1) / 1000
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
            self._start_waiting(now_ms)
        elif stats.end_offset > job.dirty.first_dirty_offset:
            self._search_soon(now_ms)

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
    """What is to be known of a log to decide about it; timestamps only if they are asked for."""
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
