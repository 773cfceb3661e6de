"""Truncation of a log, for a follower whose records diverged from its leader's.

Everything that refers to the records is truncated with them: segments, indexes, leader epochs,
producer state, and the cached positions of the reader.

Rules this module keeps:

* Cleaning is aborted and pending flushes are invalidated first, because the records they use are
  about to change.
* Offsets change after the files, so that nothing is stored beyond a new log end offset.
* When the log end offset has changed, everything else in memory follows it, even if a full disk
  takes no checkpoint or snapshot: the log stays online, and may be that of the next leader. A high
  watermark or a producer's batch beyond the end would acknowledge records that are not there.
* Bytes in a file are never replaced by others, because a response may be about to send them
  (KAFKA-18723): a segment that was cut gets no more batches, and an empty one gets a new file.
"""

import logging

from moldau.record.header import BATCH_HEADER_SIZE, crc_is_valid, read_header
from moldau.storage.log.deleted_files import DeletedFiles
from moldau.storage.log.log_flusher import LogFlusher
from moldau.storage.log.log_reader import LogReader
from moldau.storage.log.log_state import LogState
from moldau.storage.log.log_tail import LogTail
from moldau.storage.log.producer_replay import rebuild_producer_state

_log = logging.getLogger(__name__)


class LogTruncation:
    """Truncates one log. It alone moves offsets back."""

    __slots__ = ("_deleted", "_flusher", "_reader", "_state", "_tail")

    def __init__(
        self,
        state: LogState,
        tail: LogTail,
        flusher: LogFlusher,
        reader: LogReader,
        deleted: DeletedFiles,
    ) -> None:
        self._state = state
        self._tail = tail
        self._flusher = flusher
        self._reader = reader
        self._deleted = deleted

    def truncate_to(self, offset: int) -> bool:
        """See ``PartitionLog.truncate_to``."""
        state = self._state
        if offset < state.high_watermark:
            _log.warning(
                "Truncating %s to offset %d, below its high watermark %d",
                state.topic_partition,
                offset,
                state.high_watermark,
            )
        if offset >= state.log_end_offset:
            # An epoch may have been assigned without a batch being written.
            try:
                self._tail.truncate_epochs(state.log_end_offset)
            except OSError as error:
                raise state.storage_error(error, "writing the leader epochs of") from error
            return False
        if offset <= state.segments.first.base_offset:
            self.start_anew(offset, offset)
            return True
        wall_ms = state.context.clock.wall_ms()
        self._prepare(offset)
        state.cleaner_checkpoint = min(state.cleaner_checkpoint, offset)
        try:
            self._cut_segments(offset, wall_ms)
            self._set_end(offset)
            state.log_start_offset = min(state.log_start_offset, offset)
            try:
                self._tail.truncate_epochs(offset)
            finally:
                rebuild_producer_state(
                    state.producers, state.segments, state.log_start_offset, offset, wall_ms
                )
        except OSError as error:
            raise state.storage_error(error, f"truncating to {offset}:") from error
        finally:
            # Also if it stays: the transactions that were replayed may be complete below it.
            state.update_high_watermark(state.high_watermark)
        return True

    def start_anew(self, offset: int, log_start_offset: int) -> None:
        """See ``PartitionLog.truncate_fully_and_start_at``."""
        state = self._state
        self._prepare(offset)
        state.cleaner_checkpoint = -1
        try:
            self._replace_segments(offset)
            self._set_end(offset)
            state.log_start_offset = log_start_offset
            state.update_high_watermark(offset)
            try:
                state.producers.truncate_fully_and_start_at(offset)
            finally:
                self._tail.clear_epochs()
        except OSError as error:
            raise state.storage_error(error, f"restarting at {offset}:") from error

    def start_within(self, records: memoryview | bytes) -> bool:
        """See ``PartitionLog.start_within``."""
        state = self._state
        start_offset = state.log_start_offset
        if state.log_end_offset != start_offset or len(records) < BATCH_HEADER_SIZE:
            return False
        header = read_header(records, 0)
        is_within = 0 <= header.base_offset < start_offset <= header.last_offset
        if not is_within or not crc_is_valid(records, 0, header):
            return False
        self.start_anew(header.base_offset, start_offset)
        return True

    def give_up_within(self, start_offset: int) -> None:
        """See ``PartitionLog.give_up_within``."""
        # In memory alone, for the disk may be full: its next start would do the same.
        if self._state.log_end_offset < start_offset:
            self._set_end(start_offset)
            self._state.producers.map_end_offset = start_offset

    def _cut_segments(self, offset: int, wall_ms: int) -> None:
        """Remove what reaches ``offset``; raises OSError, and then all segments stay."""
        state = self._state
        removed = state.segments.remove_after(offset - 1)
        self._deleted.put_away(removed)
        try:
            state.segments.active.truncate_to(offset, wall_ms)
        except OSError:
            # The log still ends where it did, and must have what is before.
            self._deleted.put_back(removed)
            for segment in removed:
                state.segments.append(segment)
            raise

    def _replace_segments(self, offset: int) -> None:
        """Put an empty segment in the place of all; raises OSError, and then they stay."""
        state = self._state
        segments = list(state.segments)
        self._deleted.put_away(segments)
        try:
            new = state.new_segment(offset)
        except OSError:
            # What is appended to files that are about to be deleted would be lost.
            self._deleted.put_back(segments)
            raise
        state.segments.replace_all(new)

    def _prepare(self, offset: int) -> None:
        self._state.stop_cleaning()
        self._flusher.on_cut(offset)

    def _set_end(self, offset: int) -> None:
        self._state.log_end_offset = offset
        self._reader.forget_places()
