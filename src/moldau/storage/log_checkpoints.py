"""The checkpoints of all logs for the next startup: four small files in each log directory.

* ``recovery-point-offset-checkpoint``: up to where a log is durable. Recovery reads the rest.
* ``log-start-offset-checkpoint``: log start offsets above the base offset of the first segment.
* ``replication-offset-checkpoint``: the high watermarks.
* ``cleaner-offset-checkpoint``: up to where a compacted log is clean.

Each file is always rewritten completely, for all logs of a directory (``checkpoint_writer``).
"""

from collections.abc import Callable, Iterable

from moldau.ids import TopicPartition
from moldau.storage.checkpoint import (
    CLEANER_OFFSET_CHECKPOINT,
    HIGH_WATERMARK_CHECKPOINT,
    LOG_START_OFFSET_CHECKPOINT,
    RECOVERY_POINT_CHECKPOINT,
)
from moldau.storage.checkpoint_writer import CheckpointWriter
from moldau.storage.disk import Disk
from moldau.storage.late_writes import Executor
from moldau.storage.log_failure import FailureHandler
from moldau.storage.partition_log import PartitionLog

Offsets = dict[TopicPartition, int]


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
        self._writer = CheckpointWriter(disk, executor, on_failure)
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
