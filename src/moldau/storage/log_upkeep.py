"""What every log needs now and then: flushes, retention, expiry, the removal of its old files.

Looking after one log is a matter of microseconds, looking after ten thousand is longer than
a client should have to wait. So a round is an iterator, a log at a step, and whoever runs
it (``broker/background``) takes some steps and gives everybody else a turn.

Rules this module keeps:

* A log that was deleted or went offline since the round began is passed over.
* A log that fails is reported, and the round goes on with the next one.
* Future logs are left to whoever copies them.
"""

import logging
from collections.abc import Iterator
from typing import Final

from moldau.errors import ApiError
from moldau.storage.log_manager import LogManager
from moldau.storage.partition_log import PartitionLog

_NOTHING: Final = 0

_log = logging.getLogger(__name__)


class LogUpkeep:
    """The rounds through the logs of one broker; each gives, log by log, how much it did."""

    def __init__(self, manager: LogManager) -> None:
        self._manager = manager

    def flush_dirty_logs(self, now_ms: int) -> Iterator[int]:
        """Flush the logs whose ``flush.ms`` have passed; in the background if possible."""
        self._manager.handle_failures()
        for log in self._open_logs():
            is_due = now_ms - log.last_flush_ms >= log.config.flush_ms
            if is_due and log.log_end_offset > log.recovery_point:
                try:
                    log.flush_in_background()
                except ApiError as error:
                    _log.error("%s was not flushed: %s", log.topic_partition, error)
            yield int(is_due)

    def delete_old_segments(self, now_ms: int) -> Iterator[int]:
        """Let retention do its work; gives how many segments went."""
        for log in self._open_logs():
            try:
                yield log.delete_old_segments(now_ms)
            except ApiError as error:
                _log.error("Retention of %s failed: %s", log.topic_partition, error)
                yield _NOTHING

    def remove_deleted_files(self, now_ms: int) -> Iterator[int]:
        """Remove the segments whose ``file.delete.delay.ms`` are over."""
        for log in self._open_logs():
            try:
                log.remove_deleted_files(now_ms)
            except ApiError as error:
                _log.error("Files of %s were not deleted: %s", log.topic_partition, error)
            yield _NOTHING

    def remove_expired_producers(self, now_ms: int) -> Iterator[int]:
        """Forget producers that have been idle for too long; gives how many."""
        for log in self._open_logs():
            yield log.producers.expire(now_ms)

    def _open_logs(self) -> Iterator[PartitionLog]:
        logs = list(self._manager.logs.values())
        return (log for log in logs if not log.is_closed)
