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

from moldau.storage.checkpoint import PARTITION_METADATA
from moldau.storage.leader_epochs import LeaderEpochCache
from moldau.storage.log_context import LogContext
from moldau.storage.producer_snapshot import UnwrittenSnapshot
from moldau.storage.segment import Segment
from moldau.storage.segment_list import SegmentList

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
        "_context",
        "_cuts",
        "_is_name_durable",
        "_is_renamed",
        "_leader_epochs",
        "_moves",
        "_segments",
        "directory",
        "last_flush_ms",
        "recovery_point",
    )

    def __init__(
        self,
        context: LogContext,
        directory: str,
        segments: SegmentList,
        leader_epochs: LeaderEpochCache,
        recovery_point: int,
    ) -> None:
        self._context = context
        self._segments = segments
        self._leader_epochs = leader_epochs
        self._cuts = 0
        self._is_name_durable = False
        self._is_renamed = False
        self._moves = 0
        self.directory = directory
        self.recovery_point = recovery_point
        self.last_flush_ms = context.clock.now_ms()

    def job(self, end_offset: int, snapshot: str | None, *, with_last: bool) -> FlushJob:
        """A flush of everything below ``end_offset``, and of the producer snapshot if given.

        ``with_last`` includes an empty segment that begins at ``end_offset``. Raises OSError if the
        epochs cannot be written.
        """
        self._leader_epochs.flush()
        bound = end_offset + 1 if with_last else end_offset
        segments = self._segments.overlapping(self.recovery_point, bound)
        name = None if snapshot is None else snapshot.rpartition("/")[2]
        return FlushJob(segments, end_offset, name, self._cuts)

    def is_outdated(self, job: FlushJob) -> bool:
        """Whether the log was truncated since, so that files of the job may be missing."""
        return job.cuts != self._cuts

    def run(self, job: FlushJob) -> None:
        """Run the job; in any thread. Raises OSError."""
        while True:
            moves = self._settled_moves()
            try:
                self._run(job)
                return
            except FileNotFoundError:
                if self._settled_moves() == moves:
                    raise

    def _settled_moves(self) -> int:
        """How often the directory was renamed; waits for a rename in progress."""
        with RENAMING:
            return self._moves

    def _run(self, job: FlushJob) -> None:
        disk = self._context.disk
        if job.unwritten is not None:
            job.unwritten.write(disk, self.directory)
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
            disk.sync_dir(self.directory)
        if self._is_renamed or (has_new_files and not self._is_name_durable):
            self._is_renamed = False
            disk.sync_dir(self.directory.rpartition("/")[0])
            self._is_name_durable = True
        now_ms = self._context.clock.now_ms()
        with _lock:
            if job.cuts == self._cuts:
                self.recovery_point = max(self.recovery_point, job.end_offset)
                self.last_flush_ms = now_ms

    def flush_topic_id(self) -> None:
        """Make ``partition.metadata`` durable, with its directory entry. Raises OSError."""
        while True:
            moves = self._settled_moves()
            try:
                self._flush_file(PARTITION_METADATA)
                self._context.disk.sync_dir(self.directory)
                return
            except FileNotFoundError:
                if self._settled_moves() == moves:
                    raise

    def _flush_file(self, name: str) -> None:
        moves = self._settled_moves()
        try:
            file = self._context.disk.open(f"{self.directory}/{name}")
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

    def moved(self, directory: str) -> None:
        """Set the directory after the rename, which the next flush makes durable."""
        self.directory = directory
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
