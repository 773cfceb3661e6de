"""The recovery point of a log, and the fsyncs that advance it.

Everything below the recovery point is durable: batches, the indexes of inactive segments, leader
epochs, and the topic id. After a crash only the segments from there on are read.

The epochs are written when a job is created, on the thread that owns the log, since they change
only once per leader; everything else can then be fsynced by any thread.

Rules this module keeps:

* The recovery point advances after the fsync that it depends on, never before.
* A flush may run in another thread while the log is appended to, rolled or truncated. It works on
  the segments it was given and advances the recovery point, under a lock, only if nothing was
  truncated meanwhile.
* The log's directory may be renamed during a flush. Files that are not found are then looked up
  again under the new name, and only files missing there are an error.
"""

import threading
from collections.abc import Callable

from moldau.storage.disk.checkpoint import PARTITION_METADATA
from moldau.storage.log.log_state import LogState
from moldau.storage.log.producer_snapshot import UnwrittenSnapshot
from moldau.storage.log.segment import Segment

# Held for the few instructions that change a recovery point; shared, because a lock per partition
# would only cost memory.
_lock = threading.Lock()
# Held while a log's directory is renamed and its parts are updated: a few instructions.
RENAMING = threading.RLock()


class FlushJob:
    """The work of one flush, determined on the thread that owns the log."""

    __slots__ = ("cuts", "end_offset", "segments", "snapshot", "unwritten")

    def __init__(
        self, segments: list[Segment], end_offset: int, snapshot: str | None, cuts: int
    ) -> None:
        # The producer snapshot, if it is not written yet.
        self.unwritten: UnwrittenSnapshot | None = None
        self.segments = segments
        self.end_offset = end_offset
        self.snapshot = snapshot
        self.cuts = cuts


class LogFlusher:
    """Flushes one log."""

    __slots__ = (
        "_cuts",
        "_is_name_durable",
        "_is_renamed",
        "_moves",
        "_segments",
        "_state",
        "last_flush_ms",
        "recovery_point",
    )

    def __init__(self, state: LogState, recovery_point: int) -> None:
        self._state = state
        self._segments = state.segments
        self._cuts = 0
        self._is_name_durable = False
        self._is_renamed = False
        self._moves = 0
        self.recovery_point = recovery_point
        self.last_flush_ms = state.context.clock.monotonic_ms()

    def flush(self, up_to: int | None = None) -> None:
        """See ``PartitionLog.flush``."""
        end_offset = self._state.log_end_offset if up_to is None else up_to
        self._run(self._checked_job(end_offset, with_last=up_to is None))

    def flush_in_background(self) -> object:
        """Flush the whole log in the executor; returns the executor's future."""
        return self._submit(self._checked_job(self._state.log_end_offset, with_last=True))

    def flush_elsewhere(self, up_to: int) -> Callable[[], None]:
        """A ``flush`` for any thread; it guarantees nothing if the log is truncated first."""
        job = self._checked_job(up_to, with_last=False)
        return lambda: self._run(job)

    def flush_rolled(
        self, end_offset: int, snapshot: str | None, unwritten: UnwrittenSnapshot | None
    ) -> None:
        """Flush the segments below ``end_offset`` in the background, with a producer snapshot.

        Raises OSError if the epochs cannot be written.
        """
        job = self._job(end_offset, snapshot, with_last=False)
        job.unwritten = unwritten
        self._submit(job)

    def _checked_job(self, end_offset: int, *, with_last: bool) -> FlushJob:
        try:
            return self._job(end_offset, None, with_last=with_last)
        except OSError as error:
            raise self._state.storage_error(error, "writing the leader epochs of") from error

    def _job(self, end_offset: int, snapshot: str | None, *, with_last: bool) -> FlushJob:
        """A flush of everything below ``end_offset``, and of the producer snapshot if given.

        ``with_last`` includes an empty segment that begins at ``end_offset``. Raises OSError if the
        epochs cannot be written.
        """
        self._state.leader_epochs.flush()
        bound = end_offset + 1 if with_last else end_offset
        segments = self._segments.overlapping(self.recovery_point, bound)
        name = None if snapshot is None else snapshot.rpartition("/")[2]
        return FlushJob(segments, end_offset, name, self._cuts)

    def _submit(self, job: FlushJob) -> object:
        executor = self._state.context.executor
        if executor is None:
            self._run(job)
            return None
        return executor.submit(self._run, job)

    def _run(self, job: FlushJob) -> None:
        """Run the job; in any thread."""
        try:
            self._retry_moved(lambda: self._flush(job))
        except OSError as error:
            # The log may have been deleted or truncated while the flush was queued.
            if not self._state.is_closed and job.cuts == self._cuts:
                raise self._state.storage_error(error, "flushing", in_fsync=True) from error

    def _retry_moved(self, work: Callable[[], None]) -> None:
        """Do ``work``; again if a file was not found because the directory was renamed."""
        while True:
            moves = self._settled_moves()
            try:
                work()
                return
            except FileNotFoundError:
                if self._settled_moves() == moves:
                    raise

    def _settled_moves(self) -> int:
        """How often the directory was renamed; waits for a rename in progress."""
        with RENAMING:
            return self._moves

    def _flush(self, job: FlushJob) -> None:
        """Raises OSError."""
        disk = self._state.context.disk
        if job.unwritten is not None:
            job.unwritten.write(disk, self._state.directory)
        if job.snapshot is not None:
            self._flush_file(job.snapshot)
        for segment in job.segments:
            try:
                self._flush_segment(segment)
            except FileNotFoundError:
                # Retention may have deleted it meanwhile.
                if segment in self._segments:
                    raise
        has_new_files = any(segment.base_offset >= self.recovery_point for segment in job.segments)
        if has_new_files:
            if not self._is_name_durable:
                # Without the topic id these records could be mistaken for those of a later topic.
                self._flush_file(PARTITION_METADATA)
            # The file names must be durable too, and that of the directory.
            disk.sync_dir(self._state.directory)
        if self._is_renamed or (has_new_files and not self._is_name_durable):
            self._is_renamed = False
            disk.sync_dir(self._state.directory.rpartition("/")[0])
            self._is_name_durable = True
        now_ms = self._state.context.clock.monotonic_ms()
        with _lock:
            if job.cuts == self._cuts:
                self.recovery_point = max(self.recovery_point, job.end_offset)
                self.last_flush_ms = now_ms

    def flush_topic_id(self) -> None:
        """Make ``partition.metadata`` durable, with its directory entry; in any thread."""
        try:
            self._retry_moved(self._flush_topic_id)
        except OSError as error:
            if not self._state.is_closed:
                self._state.storage_error(error, "flushing the topic id of", in_fsync=True)

    def _flush_topic_id(self) -> None:
        self._flush_file(PARTITION_METADATA)
        self._state.context.disk.sync_dir(self._state.directory)

    def _flush_file(self, name: str) -> None:
        moves = self._settled_moves()
        try:
            file = self._state.context.disk.open(f"{self._state.directory}/{name}")
            try:
                file.fsync()
            finally:
                file.close()
        except FileNotFoundError:
            # Without a rename the file was deleted (a snapshot with its segment, by retention).
            if self._settled_moves() != moves:
                raise

    def _flush_segment(self, segment: Segment) -> None:
        if segment is self._segments.active:
            segment.flush_log()
        else:
            segment.flush()

    def begin_move(self) -> None:
        """Announce a rename. The caller holds ``RENAMING`` until all paths are updated."""
        self._moves += 1

    def moved(self) -> None:
        """The directory was renamed; the next flush makes that durable."""
        self._is_renamed = True

    def on_cut(self, end_offset: int) -> None:
        """Invalidate pending flushes before the log is truncated to ``end_offset``."""
        with _lock:
            self._cuts += 1
            self.recovery_point = min(self.recovery_point, end_offset)

    def on_start_moved(self, log_start_offset: int) -> None:
        """Records below the log start offset need no recovery."""
        with _lock:
            self.recovery_point = max(self.recovery_point, log_start_offset)
