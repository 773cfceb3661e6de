"""The checkpoints of all logs for the next startup: four small files in each log directory.

* ``recovery-point-offset-checkpoint``: up to where a log is durable. Recovery reads the rest.
* ``log-start-offset-checkpoint``: log start offsets above the base offset of the first segment.
* ``replication-offset-checkpoint``: the high watermarks.
* ``cleaner-offset-checkpoint``: up to where a compacted log is clean.

Each file is replaced as a whole, for all logs of a directory, with an fsync that would delay every
client if the event loop waited for it. So periodic checkpoints are written by the executor; the
event loop only provides the contents.

Rules this module keeps:

* A file ends up with the latest requested contents, in whatever order the threads run.
* An unchanged checkpoint is not written.
* If the disk is full or there is no free descriptor, the directory stays online and the old
  checkpoint stays in place.
"""

import functools
import logging
import threading
from collections.abc import Callable, Iterable

from moldau.ids import TopicPartition
from moldau.storage.disk.checkpoint import (
    CLEANER_OFFSET_CHECKPOINT,
    HIGH_WATERMARK_CHECKPOINT,
    LOG_START_OFFSET_CHECKPOINT,
    RECOVERY_POINT_CHECKPOINT,
    write_offsets,
)
from moldau.storage.disk.disk import Disk
from moldau.storage.disk.late_writes import Executor
from moldau.storage.disk.log_failure import FailureHandler, is_passing
from moldau.storage.log.partition_log import PartitionLog

Offsets = dict[TopicPartition, int]

_log = logging.getLogger(__name__)


class LogCheckpoints:
    """The checkpoints of one broker. ``logs_in(path)`` returns the logs of a log directory."""

    def __init__(
        self,
        disk: Disk,
        executor: Executor | None,
        on_failure: FailureHandler,
        logs_in: Callable[[str], Iterable[PartitionLog]],
    ) -> None:
        self._disk = disk
        self._writer = _CheckpointWriter(disk, executor, on_failure)
        self._logs_in = logs_in

    def found(self, path: str, checkpoints: dict[str, Offsets]) -> None:
        """Register the checkpoints read at startup, which need not be written again."""
        for name, offsets in checkpoints.items():
            self._writer.found(path, name, offsets)

    # -- periodic, in the background --

    def write_recovery_points(self, paths: Iterable[str]) -> None:
        for path in paths:
            self._writer.write_soon(path, RECOVERY_POINT_CHECKPOINT, self._recovery_points(path))

    def write_log_start_offsets(self, paths: Iterable[str]) -> None:
        for path in paths:
            offsets = self._log_start_offsets(path)
            self._writer.write_soon(path, LOG_START_OFFSET_CHECKPOINT, offsets)

    def write_high_watermarks(self, paths: Iterable[str]) -> None:
        for path in paths:
            self._writer.write_soon(path, HIGH_WATERMARK_CHECKPOINT, self._high_watermarks(path))

    def write_cleaner_offsets(self, path: str) -> None:
        self._writer.write_soon(path, CLEANER_OFFSET_CHECKPOINT, self._cleaner_offsets(path))

    # -- synchronous --

    def write_all(self, path: str) -> None:
        """Return when all of them are durable, or the failure has been reported."""
        write = self._writer.write
        write(path, RECOVERY_POINT_CHECKPOINT, self._recovery_points(path))
        write(path, LOG_START_OFFSET_CHECKPOINT, self._log_start_offsets(path))
        write(path, HIGH_WATERMARK_CHECKPOINT, self._high_watermarks(path))
        cleaner_offsets = self._cleaner_offsets(path)
        # Many brokers have no compacted logs, and no such file.
        if cleaner_offsets or self._disk.exists(f"{path}/{CLEANER_OFFSET_CHECKPOINT}"):
            write(path, CLEANER_OFFSET_CHECKPOINT, cleaner_offsets)

    def forget(self, path: str, topic_partition: TopicPartition) -> None:
        """Before a log is created, remove the offsets of a deleted one with the same name."""
        if self._writer.may_name(path, topic_partition):
            self.write_all(path)

    def planned_log_start_offsets(self, path: str) -> Callable[[], None]:
        """Return the work, for any thread, that makes the current log start offsets durable."""
        offsets = self._log_start_offsets(path)
        return self._writer.planned(path, LOG_START_OFFSET_CHECKPOINT, offsets)

    # -- contents --

    def _recovery_points(self, path: str) -> Offsets:
        return {log.topic_partition: log.recovery_point for log in self._logs_in(path)}

    def _log_start_offsets(self, path: str) -> Offsets:
        return {
            log.topic_partition: log.log_start_offset
            for log in self._logs_in(path)
            if log.log_start_offset > log.segments.first.base_offset
        }

    def _high_watermarks(self, path: str) -> Offsets:
        return {log.topic_partition: log.high_watermark for log in self._logs_in(path)}

    def _cleaner_offsets(self, path: str) -> Offsets:
        return {
            log.topic_partition: log.cleaner_checkpoint
            for log in self._logs_in(path)
            if log.cleaner_checkpoint >= 0
        }


class _CheckpointWriter:
    """Writes checkpoints, here or in the executor."""

    def __init__(self, disk: Disk, executor: Executor | None, on_failure: FailureHandler) -> None:
        """``on_failure`` may be called from the executor's threads."""
        self._disk = disk
        self._executor = executor
        self._on_failure = on_failure
        self._lock = threading.Lock()
        self._wanted: dict[str, Offsets] = {}
        self._written: dict[str, Offsets] = {}

    def found(self, log_dir: str, name: str, offsets: Offsets) -> None:
        """Register a checkpoint read at startup, which need not be written again."""
        self._wanted[f"{log_dir}/{name}"] = self._written[f"{log_dir}/{name}"] = offsets

    def may_name(self, log_dir: str, topic_partition: TopicPartition) -> bool:
        """Whether a checkpoint of ``log_dir``, written or pending, contains this partition."""
        return any(
            topic_partition in offsets and path.rpartition("/")[0] == log_dir
            for known in (self._wanted, self._written)
            # A copy, because a writing thread may add to it.
            for path, offsets in list(known.items())
        )

    def write(self, log_dir: str, name: str, offsets: Offsets) -> None:
        """Return when the file is durable, or the failure has been reported."""
        self._wanted[f"{log_dir}/{name}"] = offsets
        self._store(log_dir, name)

    def planned(self, log_dir: str, name: str, offsets: Offsets) -> Callable[[], None]:
        """Like ``write``, but return the writing as work for any thread."""
        self._wanted[f"{log_dir}/{name}"] = offsets
        return functools.partial(self._store, log_dir, name)

    def write_soon(self, log_dir: str, name: str, offsets: Offsets) -> None:
        """Like ``write``, but in the executor if there is one, including the comparison."""
        self._wanted[f"{log_dir}/{name}"] = offsets
        if self._executor is None:
            self._store(log_dir, name)
        else:
            self._executor.submit(self._store, log_dir, name)

    def _store(self, log_dir: str, name: str) -> None:
        path = f"{log_dir}/{name}"
        with self._lock:
            offsets = self._wanted[path]
            if self._written.get(path) == offsets:
                return
            try:
                write_offsets(self._disk, path, offsets)
            except OSError as error:
                if is_passing(error):
                    _log.warning("%s is not written, the old one stays: %s", path, error.strerror)
                    return
                failure = error
            else:
                self._written[path] = offsets
                return
        self._on_failure(log_dir, f"writing {name}", failure)
