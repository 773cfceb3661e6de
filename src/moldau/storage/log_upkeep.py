"""Periodic work on every log: flushes, retention, producer expiry, removal of deleted files.

The work for one log takes microseconds, but for ten thousand logs longer than a client should wait.
So each pass is an iterator with a step per log (or for part of it), and the caller
(``broker/background``) takes a few steps at a time.

Rules this module keeps:

* Logs that were deleted or went offline since the pass began are skipped.
* An error is logged, and the pass continues with the next log.
* Future logs are skipped: they belong to the code that copies them.
"""

import logging
from collections.abc import Iterator
from typing import Final

from moldau.clock import Clock
from moldau.errors import ApiError
from moldau.storage.log.partition_log import PartitionLog
from moldau.storage.log_manager import LogManager

_NOTHING: Final = 0

_log = logging.getLogger(__name__)


class LogUpkeep:
    """Passes over the logs of one broker; each yields, per log, the amount of work done."""

    def __init__(self, manager: LogManager, clock: Clock) -> None:
        self._manager = manager
        self._clock = clock

    def flush_dirty_logs(self) -> Iterator[int]:
        """Flush the logs whose ``flush.ms`` has passed; in the background if possible."""
        self._manager.handle_failures()
        now_ms = self._clock.monotonic_ms()
        for log in self._open_logs():
            is_due = now_ms - log.last_flush_ms >= log.config.flush_ms
            if is_due and log.log_end_offset > log.recovery_point:
                try:
                    log.flush_in_background()
                except ApiError as error:
                    _log.error("%s was not flushed: %s", log.topic_partition, error)
            yield int(is_due)

    def delete_old_segments(self) -> Iterator[int]:
        """Apply retention; yields the number of deleted segments."""
        wall_ms = self._clock.wall_ms()
        for log in self._open_logs():
            try:
                yield log.delete_old_segments(wall_ms)
            except ApiError as error:
                _log.error("Retention of %s failed: %s", log.topic_partition, error)
                yield _NOTHING

    def remove_deleted_files(self) -> Iterator[int]:
        """Remove the segments whose ``file.delete.delay.ms`` has passed."""
        now_ms = self._clock.monotonic_ms()
        for log in self._open_logs():
            try:
                log.remove_deleted_files(now_ms)
            except ApiError as error:
                _log.error("Files of %s were not deleted: %s", log.topic_partition, error)
            yield _NOTHING

    def remove_expired_producers(self) -> Iterator[int]:
        """Remove expired producers; yields their number."""
        wall_ms = self._clock.wall_ms()
        for log in self._open_logs():
            yield from log.producers.expire_in_steps(wall_ms)

    def _open_logs(self) -> Iterator[PartitionLog]:
        logs = list(self._manager.logs.values())
        return (log for log in logs if not log.is_closed)
