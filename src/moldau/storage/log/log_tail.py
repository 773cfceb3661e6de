"""The end of a log, where batches are appended: its active segment and its latest leader epoch.

Rolling makes the active segment inactive and begins another one. The old one is flushed in the
background, and a snapshot of the producers is taken, so that recovery need not read it.
"""

from collections.abc import Callable

from moldau.errors import ApiError, ErrorCode
from moldau.storage.disk.log_failure import is_passing
from moldau.storage.log.log_flusher import LogFlusher
from moldau.storage.log.log_state import LogState
from moldau.storage.log.producer_snapshot import UnwrittenSnapshot, snapshot_path
from moldau.storage.log.segment import Segment


class LogTail:
    """Rolls segments, and records the leader epochs of appended batches."""

    __slots__ = ("_flusher", "_state", "latest_epoch")

    def __init__(self, state: LogState, flusher: LogFlusher) -> None:
        self._state = state
        self._flusher = flusher
        self.latest_epoch = state.leader_epochs.latest_epoch

    # -- leader epochs --

    def assign_epoch(self, leader_epoch: int, start_offset: int) -> None:
        """Record that ``leader_epoch`` starts at ``start_offset``."""
        epochs = self._state.leader_epochs
        if not epochs.assign(leader_epoch, start_offset):
            return
        self.latest_epoch = epochs.latest_epoch
        write = epochs.write_late()
        self._state.context.late_writes.add(lambda: self._write_epochs(write))

    def _write_epochs(self, write: Callable[[], None]) -> None:
        """Runs in any thread. If the disk is full, the next flush of the log writes them again."""
        try:
            write()
        except OSError as error:
            if not self._state.is_closed and not is_passing(error):
                self._state.storage_error(error, "writing the leader epochs of")

    def truncate_epochs(self, offset: int) -> None:
        """Remove the epochs that start at or after ``offset``, the new end of the log."""
        epochs = self._state.leader_epochs
        try:
            epochs.truncate_from_end(offset)
        finally:
            # They are gone from memory even if the file cannot be written.
            self.latest_epoch = epochs.latest_epoch

    def clear_epochs(self) -> None:
        epochs = self._state.leader_epochs
        try:
            epochs.clear()
        finally:
            self.latest_epoch = epochs.latest_epoch

    # -- rolling --

    def roll_for(self, size_bytes: int, first_offset: int) -> Segment:
        """Roll a new segment for a batch; raises OSError."""
        limit = self._state.config.segment_bytes
        if size_bytes > limit:
            raise ApiError(
                ErrorCode.RECORD_LIST_TOO_LARGE,
                f"batch of {size_bytes} bytes does not fit segment.bytes={limit} of "
                f"{self._state.topic_partition}",
            )
        return self._roll(first_offset)

    def roll(self) -> Segment:
        """Roll a new segment at the log end offset, unless the active one is empty."""
        try:
            return self._roll(self._state.log_end_offset)
        except OSError as error:
            raise self._state.storage_error(error, "rolling") from error

    def _roll(self, first_offset: int) -> Segment:
        state = self._state
        old = state.segments.active
        base_offset = max(first_offset, state.log_end_offset)
        if old.base_offset == base_offset:
            assert old.size == 0, f"{old} cannot be rolled at its own base offset"
            return old
        state.leader_epochs.flush()
        old.become_inactive()
        if old.is_cut or self._flusher.recovery_point >= base_offset:
            # Recovery will skip the old segment, so its indexes must be durable. What was cut off
            # must not come back beside the batches that replace it.
            self._sync_before_roll(old)
        new = state.new_segment(base_offset)
        snapshot: str | None = None
        unwritten: UnwrittenSnapshot | None = None
        try:
            state.producers.map_end_offset = base_offset
            if state.context.executor is not None:
                unwritten = state.producers.plan_snapshot()
            if unwritten is None:
                snapshot = state.producers.take_snapshot()
            else:
                snapshot = snapshot_path(state.directory, unwritten.offset)
        except OSError:
            new.remove_files()
            raise
        state.segments.append(new)
        self._flusher.flush_rolled(base_offset, snapshot, unwritten)
        return new

    def _sync_before_roll(self, segment: Segment) -> None:
        try:
            segment.flush()
        except OSError as error:
            raise self._state.storage_error(error, "flushing", in_fsync=True) from error
