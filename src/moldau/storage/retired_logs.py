"""Logs that are no longer served: deleted, replaced by a moved copy, or put aside as stray.

The directory of such a log is renamed first, so that its name is free immediately. That of a
deleted log is removed after ``file.delete.delay.ms``, so that its files can still be restored by
hand; a stray one is kept.
"""

import logging
import random
from collections.abc import Iterable

from moldau.clock import Clock
from moldau.ids import new_uuid
from moldau.storage.disk.disk import Disk
from moldau.storage.disk.late_writes import Executor
from moldau.storage.log.partition_log import PartitionLog
from moldau.storage.log_dirs import DELETE, suffixed_name

_log = logging.getLogger(__name__)


class RetiredLogs:
    """The directories of one broker that wait for their removal."""

    def __init__(
        self, disk: Disk, clock: Clock, rng: random.Random, executor: Executor | None
    ) -> None:
        self._disk = disk
        self._clock = clock
        self._rng = rng
        self._executor = executor
        # When each is due, and its path.
        self._waiting: list[tuple[int, str]] = []

    def found(self, paths: Iterable[str]) -> None:
        """Directories that an earlier process retired are due now."""
        now_ms = self._clock.monotonic_ms()
        self._waiting.extend((now_ms, path) for path in paths)

    def retire(self, log: PartitionLog, suffix: str) -> None:
        """Close a log and rename it with ``suffix``. Raises ApiError if the disk fails."""
        name = suffixed_name(log.topic_partition, new_uuid(self._rng), suffix)
        # Closed first, so that errors of a flush in progress are ignored.
        log.is_closed = True
        log.rename_directory(f"{log.log_dir}/{name}")
        log.close_files()
        if suffix == DELETE:
            due_ms = self._clock.monotonic_ms() + log.config.file_delete_delay_ms
            self._waiting.append((due_ms, log.directory))

    def restore(self, log: PartitionLog, directory: str) -> None:
        """Undo the retirement of a log that was in ``directory``. Raises ApiError."""
        if log.directory == directory:
            return
        retired = log.directory
        log.rename_directory(directory)
        self._waiting = [item for item in self._waiting if item[1] != retired]
        log.is_closed = False

    def remove_due(self) -> None:
        """Remove the directories that are due; in the executor, if any.

        Unlinking thousands of files would block the event loop.
        """
        now_ms = self._clock.monotonic_ms()
        due = [path for due_ms, path in self._waiting if due_ms <= now_ms]
        if not due:
            return
        self._waiting = [item for item in self._waiting if item[0] > now_ms]
        for path in due:
            if self._executor is None:
                self.remove(path)
            else:
                self._executor.submit(self.remove, path)

    def remove(self, directory: str) -> None:
        """Remove a directory; a failure is only logged."""
        try:
            self._disk.remove_tree(directory)
        except OSError as error:
            _log.warning("%s was not removed: %s", directory, error)
