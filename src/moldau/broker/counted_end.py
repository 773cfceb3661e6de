"""How far a replica counts whose batches must be on the device first (``flush.messages``).

Such a batch is in the log, but must not be acknowledged before it is flushed. So this replica
counts towards the high watermark only up to the first batch that is not.
"""

import asyncio
from collections.abc import Callable
from typing import Final

from moldau.broker.shared_flush import SharedFlush
from moldau.storage.log.partition_log import PartitionLog

_NONE: Final = -1


class CountedEnd:
    """The end offset of one replica, as far as it counts. To be used on one event loop."""

    __slots__ = ("_flush", "_flush_from", "_flush_to", "_log", "_when_failed", "_when_flushed")

    def __init__(
        self,
        log: PartitionLog,
        on_flushed: Callable[[], None],
        on_failure: Callable[[BaseException], None],
    ) -> None:
        self._log = log
        self._when_flushed = on_flushed
        self._when_failed = on_failure
        self._flush = SharedFlush(log, self._on_flushed, on_failure, can_retry=True)
        # The batches from one offset up to another are being flushed; _NONE if there are none.
        self._flush_from = _NONE
        self._flush_to = _NONE

    @property
    def offset(self) -> int:
        return self._log.log_end_offset if self._flush_from < 0 else self._flush_from

    def request(self, offset: int) -> None:
        """Flush the log; until then, this replica counts up to ``offset`` at most."""
        if self._flush_from < 0:
            self._flush_from = offset
        self._flush_to = self._log.log_end_offset
        self._flush.check()
        self._flush.request()

    def flushed(self) -> "asyncio.Future[None]":
        """A future that is done when all of the log is durable.

        It fails with KAFKA_STORAGE_ERROR if the disk fails.
        """
        return self._flush.begin()

    def truncated(self, end_offset: int) -> None:
        """The log ends at ``end_offset`` now."""
        self._flush_from = min(self._flush_from, end_offset)
        self._flush_to = min(self._flush_to, end_offset)
        self._flush.truncated(end_offset)

    def moved_to(self, log: PartitionLog) -> "CountedEnd":
        """The same for ``log``, which has the same records, but perhaps not yet on its device."""
        moved = CountedEnd(log, self._when_flushed, self._when_failed)
        if self._flush_from >= 0:
            moved.request(self._flush_from)
        return moved

    def _on_flushed(self, end_offset: int) -> None:
        """Count the records below ``end_offset``: they are on the device."""
        self._flush_from = _NONE if end_offset >= self._flush_to else end_offset
        self._when_flushed()
