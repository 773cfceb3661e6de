"""Deletion of old records: by retention (``retention.ms``, ``retention.bytes``) or by request.

Records are deleted by moving the log start offset. Files are deleted in whole segments, oldest
first, and never beyond the high watermark: records that are not yet replicated are kept. The rules
of retention apply one after the other, as in Kafka, because each deletion makes the log smaller for
the next rule.
"""

import logging
from collections.abc import Callable

from moldau.errors import ApiError, ErrorCode
from moldau.storage.log.deleted_files import DeletedFiles
from moldau.storage.log.log_flusher import LogFlusher
from moldau.storage.log.log_state import LogState
from moldau.storage.log.log_tail import LogTail
from moldau.storage.log.segment import Segment

_log = logging.getLogger(__name__)

# Whether a segment may be deleted, given the segment that follows it.
_Rule = Callable[[Segment, Segment | None], bool]


class LogRetention:
    """Deletes the oldest records of one log. It alone advances the log start offset."""

    __slots__ = ("_deleted", "_flusher", "_state", "_tail")

    def __init__(
        self, state: LogState, tail: LogTail, flusher: LogFlusher, deleted: DeletedFiles
    ) -> None:
        self._state = state
        self._tail = tail
        self._flusher = flusher
        self._deleted = deleted

    def delete_records_before(self, offset: int) -> int:
        """See ``PartitionLog.delete_records_before``."""
        state = self._state
        if offset == -1:
            offset = state.high_watermark
        if not 0 <= offset <= state.high_watermark:
            raise ApiError(
                ErrorCode.OFFSET_OUT_OF_RANGE,
                f"cannot delete records of {state.topic_partition} before {offset}: the high "
                f"watermark is {state.high_watermark}",
            )
        self.move_log_start_offset(offset)
        return state.log_start_offset

    def move_log_start_offset(self, offset: int) -> bool:
        """Increase the log start offset; False if it is already there."""
        state = self._state
        if offset <= state.log_start_offset:
            return False
        state.log_start_offset = offset
        state.high_watermark = max(state.high_watermark, offset)
        self._flusher.on_start_moved(offset)
        state.leader_epochs.truncate_from_start(offset)
        state.producers.on_log_start_offset(offset)
        if state.start_listener is not None:
            state.start_listener.log_start_moved()
        return True

    def delete_old_segments(self, wall_ms: int) -> int:
        """See ``PartitionLog.delete_old_segments``."""
        self._roll_if_overdue(wall_ms)
        if self._state.cleaning is not None:
            return 0
        deleted = self._delete_below_start()
        if "delete" in self._state.config.cleanup_policy:
            deleted += self._delete_excess()
            deleted += self._delete_expired(wall_ms)
        return deleted

    def _roll_if_overdue(self, wall_ms: int) -> None:
        """Roll the active segment if ``segment.ms`` has passed and no append has rolled it.

        Only inactive segments can be compacted, and retention deletes whole segments.
        """
        state = self._state
        if state.segments.active.is_overdue(wall_ms, state.config):
            _log.debug("%s: rolling a quiet log", state.topic_partition)
            self._tail.roll()

    def _delete_below_start(self) -> int:
        start_offset = self._state.log_start_offset

        def is_below_start(_: Segment, following: Segment | None) -> bool:
            return following is not None and following.base_offset <= start_offset

        return self._delete(is_below_start, f"log start offset {start_offset}")

    def _delete_excess(self) -> int:
        limit = self._state.config.retention_bytes
        excess = self._state.segments.size_bytes - limit

        def is_too_much(segment: Segment, _: Segment | None) -> bool:
            nonlocal excess
            if excess < segment.size:
                return False
            excess -= segment.size
            return True

        if limit < 0 or excess < 0:
            return 0
        return self._delete(is_too_much, f"retention.bytes={limit}")

    def _delete_expired(self, wall_ms: int) -> int:
        limit_ms = self._state.config.retention_ms

        def is_too_old(segment: Segment, _: Segment | None) -> bool:
            return wall_ms - segment.largest_timestamp > limit_ms

        return 0 if limit_ms < 0 else self._delete(is_too_old, f"retention.ms={limit_ms}")

    def _delete(self, rule: _Rule, reason: str) -> int:
        """Delete the oldest segments to which ``rule`` applies; returns their number."""
        state = self._state
        count = 0
        segments = list(state.segments)
        for segment, following in zip(segments, [*segments[1:], None], strict=True):
            end_offset = following.base_offset if following is not None else state.log_end_offset
            is_empty_end = following is None and segment.size == 0
            if is_empty_end or state.high_watermark < end_offset or not rule(segment, following):
                break
            count += 1
        if count:
            _log.info("%s: deleting %d segments for %s", state.topic_partition, count, reason)
            self.remove_segments(count)
        return count

    def remove_segments(self, count: int) -> None:
        """Delete the oldest ``count`` segments; the log then starts at the first remaining one."""
        state = self._state
        if count == len(state.segments):
            self._tail.roll()
        if count == 0 or count >= len(state.segments):
            return
        try:
            removed = state.segments.remove_first(count)
            self.move_log_start_offset(state.segments.first.base_offset)
            self._deleted.put_away(removed)
        except OSError as error:
            raise state.storage_error(error, "deleting old segments of") from error
