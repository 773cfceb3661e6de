"""The log of one partition, which assigns offsets to batches.

Below it are segments, which store bytes; above it is the replica manager, which deals with other
brokers. A log is defined by four offsets and their order:

    log_start_offset <= last_stable_offset <= high_watermark <= log_end_offset

The log end offset advances with every append, the high watermark when batches become visible to
consumers (with one replica: immediately), the log start offset when old records are deleted.

Rules this module keeps:

* An append is all or nothing. Validation comes before the write, and the log end offset advances
  last, so that all offsets below it can be read.
* A log is used by one thread. Only fsyncs run in others (``log_flusher``).
* A disk failure takes the log directory offline; a full disk fails the request and leaves the log
  unchanged.
"""

from collections.abc import Callable, Sequence
from typing import Protocol

from moldau.config.topic import LogConfig
from moldau.errors import ApiError, ErrorCode
from moldau.ids import NO_UUID, TopicPartition
from moldau.record.produced import ProducedBatch
from moldau.storage.aborted_lookup import aborted_between, aborted_in
from moldau.storage.batch_scan import CorruptSegment
from moldau.storage.checkpoint import LEADER_EPOCH_CHECKPOINT
from moldau.storage.deleted_files import DeletedFiles, DeletedItem
from moldau.storage.follower_append import append_replicated
from moldau.storage.leader_append import append_produced
from moldau.storage.leader_epochs import LeaderEpochCache
from moldau.storage.log_context import LogContext
from moldau.storage.log_failure import is_passing, storage_error
from moldau.storage.log_flusher import RENAMING, FlushJob, LogFlusher
from moldau.storage.log_reader import LogReader
from moldau.storage.log_results import FetchData, LogAppendInfo, TimestampOffset
from moldau.storage.log_retention import delete_old_segments, roll_if_overdue
from moldau.storage.log_truncation import start_anew, truncate
from moldau.storage.producer_snapshot import UnwrittenSnapshot, snapshot_path
from moldau.storage.producer_state import AppendOrigin, ProducerStateManager
from moldau.storage.segment import Segment
from moldau.storage.segment_list import SegmentList
from moldau.storage.time_search import (
    earliest_offset,
    latest_offset,
    offset_for_timestamp,
    offset_of_max_timestamp,
)
from moldau.storage.txn_index import AbortedTxn


class Abortable(Protocol):
    """Work in another thread that can be aborted."""

    def abort(self) -> None: ...


class PartitionLog:
    """An open partition, created by ``recovery.open_log``."""

    __slots__ = (
        "_context",
        "_deleted",
        "_flusher",
        "_reader",
        "cleaner_checkpoint",
        "cleaning",
        "config",
        "directory",
        "high_watermark",
        "is_closed",
        "latest_epoch",
        "leader_epochs",
        "log_end_offset",
        "log_start_offset",
        "producers",
        "segments",
        "topic_id",
        "topic_partition",
    )

    def __init__(
        self,
        context: LogContext,
        topic_partition: TopicPartition,
        directory: str,
        config: LogConfig,
        segments: SegmentList,
        leader_epochs: LeaderEpochCache,
        producers: ProducerStateManager,
        *,
        log_start_offset: int,
        log_end_offset: int,
        recovery_point: int,
        topic_id: bytes = NO_UUID,
    ) -> None:
        self._context = context
        self.topic_partition = topic_partition
        self.topic_id = topic_id
        self.directory = directory
        self.config = config
        self.segments = segments
        self.leader_epochs = leader_epochs
        self.producers = producers
        self.log_start_offset = log_start_offset
        self.log_end_offset = log_end_offset
        # As in Kafka: the high watermark is restored from the checkpoint or learnt from the leader.
        self.high_watermark = log_start_offset
        self.is_closed = False
        # The end of the clean part of a compacted log; -1 if it was never cleaned.
        self.cleaner_checkpoint = -1
        # Set while the log is being cleaned, to abort the cleaning.
        self.cleaning: Abortable | None = None
        self.latest_epoch = leader_epochs.latest_epoch
        self._reader = LogReader(segments)
        self._flusher = LogFlusher(context, directory, segments, leader_epochs, recovery_point)
        self._deleted = DeletedFiles(context.disk)

    def __repr__(self) -> str:
        return (
            f"PartitionLog({self.directory}, {self.log_start_offset}..{self.log_end_offset}, "
            f"{len(self.segments)} segments)"
        )

    # -- appending --

    def append_as_leader(
        self,
        records: memoryview | bytes | ProducedBatch,
        leader_epoch: int,
        now_ms: int,
        *,
        origin: AppendOrigin = AppendOrigin.CLIENT,
    ) -> LogAppendInfo:
        """Assign the next offsets to the batch in ``records`` and append it.

        A ``ProducedBatch`` was built or validated by this process and is not validated again. The
        caller advances the high watermark, and flushes the log if the result says ``must_flush``.

        Raises:
            ApiError: the batch is invalid; KAFKA_STORAGE_ERROR if the disk fails.
        """
        if self.is_closed:
            raise self._closed_error()
        return append_produced(self, records, leader_epoch, now_ms, origin)

    def append_as_follower(
        self, records: memoryview | bytes, leader_epoch: int | None = None
    ) -> LogAppendInfo | None:
        """Append batches fetched from the leader, with the leader's offsets.

        An incomplete batch at the end is ignored, and so are batches from the first one with an
        epoch greater than ``leader_epoch`` on. Returns None if no batch is left.

        Raises:
            ApiError: CORRUPT_MESSAGE for a bad batch, INVALID_RECORD for offsets that go backwards;
                then nothing is written. KAFKA_STORAGE_ERROR if the disk fails.
        """
        if self.is_closed:
            raise self._closed_error()
        return append_replicated(self, records, leader_epoch)

    def assign_epoch(self, leader_epoch: int, start_offset: int) -> None:
        """Record that ``leader_epoch`` starts at ``start_offset``."""
        if not self.leader_epochs.assign(leader_epoch, start_offset):
            return
        self.latest_epoch = self.leader_epochs.latest_epoch
        write = self.leader_epochs.write_late()
        self._context.late_writes.add(lambda: self._write_epochs(write))

    def _write_epochs(self, write: Callable[[], None]) -> None:
        """Runs in any thread. If the disk is full, the next flush of the log writes them again."""
        try:
            write()
        except OSError as error:
            if not self.is_closed and not is_passing(error):
                self.storage_error(error, "writing the leader epochs of")

    # -- reading --

    def read(
        self,
        start_offset: int,
        max_bytes: int,
        *,
        max_offset: int,
        min_one_message: bool = False,
        include_aborted: bool = False,
    ) -> FetchData:
        """Read batches from ``start_offset`` on, up to ``max_offset`` (exclusive).

        Small results are bytes, large ones a region of the file (``log_reader``).

        Raises:
            ApiError: OFFSET_OUT_OF_RANGE; CORRUPT_MESSAGE where the file is damaged;
                KAFKA_STORAGE_ERROR if the disk fails.
        """
        end_offset = self.log_end_offset
        if start_offset < self.log_start_offset or start_offset > end_offset:
            raise ApiError(
                ErrorCode.OFFSET_OUT_OF_RANGE,
                f"offset {start_offset} of {self.topic_partition} is out of range: the log holds "
                f"{self.log_start_offset} to {end_offset}",
            )
        if self.is_closed:
            raise self._closed_error()
        try:
            fetched = self._reader.read(
                start_offset, max_bytes, max_offset, end_offset, min_one_message
            )
            if include_aborted:
                fetched.aborted_transactions = (
                    aborted_in(self.segments, start_offset, fetched, end_offset)
                    if fetched.size_bytes
                    else []
                )
            return fetched
        except OSError as error:
            raise self.storage_error(error, f"reading offset {start_offset} of") from error

    def offset_after_damage(self, error: CorruptSegment, offset: int) -> int:
        """The offset at which a read that hit ``error`` at ``offset`` can resume.

        The log end offset if there is no valid batch after the damage.

        Raises:
            ApiError: KAFKA_STORAGE_ERROR if the disk fails.
        """
        try:
            found = self._reader.offset_after_damage(error, offset)
        except OSError as failure:
            raise self.storage_error(failure, f"reading after {offset} of") from failure
        return self.log_end_offset if found is None else max(found, offset)

    def readable_bytes(self, start_offset: int, max_offset: int) -> int:
        """The size of the batches between two offsets, for fetches that wait for ``min.bytes``."""
        if not self.log_start_offset <= start_offset <= self.log_end_offset:
            return 0
        try:
            return self._reader.readable_bytes(start_offset, max_offset, self.log_end_offset)
        except OSError as error:
            raise self.storage_error(error, f"looking up {start_offset} in") from error

    def aborted_transactions(self, start_offset: int, end_offset: int) -> list[AbortedTxn]:
        """Aborted transactions that overlap the offsets from start to end."""
        return aborted_between(self.segments, start_offset, end_offset)

    def earliest(self) -> TimestampOffset:
        return earliest_offset(self)

    def latest(self) -> TimestampOffset:
        return latest_offset(self)

    def max_timestamp(self) -> TimestampOffset | None:
        """The first record with the largest timestamp; None if there is none."""
        try:
            return offset_of_max_timestamp(self)
        except OSError as error:
            raise self.storage_error(error, "searching the largest timestamp in") from error

    def offset_for_timestamp(self, timestamp: int) -> TimestampOffset | None:
        """The first record at or after ``timestamp``; None if all are earlier."""
        try:
            return offset_for_timestamp(self, timestamp)
        except OSError as error:
            raise self.storage_error(error, f"searching timestamp {timestamp} in") from error

    @property
    def last_stable_offset(self) -> int:
        """The limit for ``read_committed`` consumers: the start of the first open transaction."""
        first = self.producers.first_unstable_offset
        if 0 <= first < self.high_watermark:
            return max(first, self.log_start_offset)
        return self.high_watermark

    def update_high_watermark(self, offset: int) -> int:
        """Set the high watermark, clamped to the log; returns the new value."""
        offset = max(min(offset, self.log_end_offset), self.log_start_offset)
        self.high_watermark = offset
        self.producers.on_high_watermark(offset)
        return offset

    def end_offset_for_epoch(self, leader_epoch: int) -> tuple[int, int]:
        """Epoch and end offset for OffsetForLeaderEpoch; (-1, -1) if unknown."""
        return self.leader_epochs.end_offset_for(leader_epoch, self.log_end_offset)

    @property
    def size_bytes(self) -> int:
        return self.segments.size_bytes

    # -- rolling and flushing --

    def roll_for(self, size_bytes: int, first_offset: int) -> Segment:
        """Roll a new segment for a batch; raises OSError."""
        if size_bytes > self.config.segment_bytes:
            raise ApiError(
                ErrorCode.RECORD_LIST_TOO_LARGE,
                f"batch of {size_bytes} bytes does not fit segment.bytes="
                f"{self.config.segment_bytes} of {self.topic_partition}",
            )
        return self._roll(first_offset)

    def roll(self) -> Segment:
        """Roll a new segment at the log end offset, unless the active one is empty."""
        try:
            return self._roll(self.log_end_offset)
        except OSError as error:
            raise self.storage_error(error, "rolling") from error

    def _roll(self, first_offset: int) -> Segment:
        old = self.segments.active
        base_offset = max(first_offset, self.log_end_offset)
        if old.base_offset == base_offset:
            assert old.size == 0, f"{old} cannot be rolled at its own base offset"
            return old
        self.leader_epochs.flush()
        old.become_inactive()
        if self._flusher.recovery_point >= base_offset:
            # Recovery will skip the old segment, so its indexes must be durable.
            self._sync_before_roll(old)
        new = self.new_segment(base_offset)
        snapshot: str | None = None
        unwritten: UnwrittenSnapshot | None = None
        try:
            self.producers.map_end_offset = base_offset
            if self._context.executor is not None:
                unwritten = self.producers.plan_snapshot()
            if unwritten is None:
                snapshot = self.producers.take_snapshot()
            else:
                snapshot = snapshot_path(self.directory, unwritten.offset)
        except OSError:
            new.remove_files()
            raise
        self.segments.append(new)
        job = self._flusher.job(base_offset, snapshot, with_last=False)
        job.unwritten = unwritten
        self._submit_flush(job)
        return new

    def _sync_before_roll(self, segment: Segment) -> None:
        try:
            segment.flush()
        except OSError as error:
            raise self.storage_error(error, "flushing", in_fsync=True) from error

    def flush_if_due(self, *, can_wait: bool = False) -> bool:
        """Flush if ``flush.messages`` have been appended since the last flush.

        With ``can_wait`` and an executor it returns True instead, and the caller must flush: an
        fsync can take a second while other writes keep the disk busy.
        """
        if self.log_end_offset - self._flusher.recovery_point < self.config.flush_messages:
            return False
        if can_wait and self._context.executor is not None:
            return True
        self.flush()
        return False

    def flush(self, up_to: int | None = None) -> None:
        """Make everything below ``up_to`` (by default the whole log) durable.

        Raises:
            ApiError: KAFKA_STORAGE_ERROR.
        """
        end_offset = self.log_end_offset if up_to is None else up_to
        self._run_flush(self._flush_job(end_offset, with_last=up_to is None))

    def flush_in_background(self) -> object:
        """Flush the whole log in the executor; returns the executor's future."""
        return self._submit_flush(self._flush_job(self.log_end_offset, with_last=True))

    def flush_elsewhere(self, up_to: int) -> Callable[[], None]:
        """A ``flush`` for any thread; it guarantees nothing if the log is truncated first."""
        job = self._flush_job(up_to, with_last=False)
        return lambda: self._run_flush(job)

    def _flush_job(self, end_offset: int, *, with_last: bool) -> FlushJob:
        try:
            return self._flusher.job(end_offset, None, with_last=with_last)
        except OSError as error:
            raise self.storage_error(error, "writing the leader epochs of") from error

    def _submit_flush(self, job: FlushJob) -> object:
        executor = self._context.executor
        if executor is None:
            self._run_flush(job)
            return None
        return executor.submit(self._run_flush, job)

    def _run_flush(self, job: FlushJob) -> None:
        try:
            self._flusher.run(job)
        except OSError as error:
            # The log may have been deleted or truncated while the flush was queued.
            if not self.is_closed and not self._flusher.is_outdated(job):
                raise self.storage_error(error, "flushing", in_fsync=True) from error

    def flush_topic_id(self) -> None:
        """Make the topic id of a new partition durable; in any thread."""
        try:
            self._flusher.flush_topic_id()
        except OSError as error:
            if not self.is_closed:
                self.storage_error(error, "flushing the topic id of", in_fsync=True)

    @property
    def recovery_point(self) -> int:
        """Everything below is durable."""
        return self._flusher.recovery_point

    @property
    def last_flush_ms(self) -> int:
        return self._flusher.last_flush_ms

    # -- making the log shorter --

    def delete_records_before(self, offset: int) -> int:
        """Move the log start offset up to ``offset`` (-1: the high watermark).

        Segments entirely below it are deleted by the next ``delete_old_segments``. Returns the new
        log start offset.

        Raises:
            ApiError: OFFSET_OUT_OF_RANGE above the high watermark.
        """
        if offset == -1:
            offset = self.high_watermark
        if not 0 <= offset <= self.high_watermark:
            raise ApiError(
                ErrorCode.OFFSET_OUT_OF_RANGE,
                f"cannot delete records of {self.topic_partition} before {offset}: the high "
                f"watermark is {self.high_watermark}",
            )
        self.move_log_start_offset(offset)
        return self.log_start_offset

    def move_log_start_offset(self, offset: int) -> bool:
        """Increase the log start offset; False if it is already there."""
        if offset <= self.log_start_offset:
            return False
        self.log_start_offset = offset
        self.high_watermark = max(self.high_watermark, offset)
        self._flusher.on_start_moved(offset)
        self.leader_epochs.truncate_from_start(offset)
        self.producers.on_log_start_offset(offset)
        return True

    def delete_old_segments(self, now_ms: int) -> int:
        """Apply retention; returns the number of deleted segments.

        Nothing is deleted while the log is being cleaned.
        """
        roll_if_overdue(self, now_ms)
        return delete_old_segments(self, now_ms) if self.cleaning is None else 0

    def remove_segments(self, count: int) -> None:
        """Delete the oldest ``count`` segments; the log then starts at the first remaining one."""
        if count == len(self.segments):
            self.roll()
        if count == 0 or count >= len(self.segments):
            return
        try:
            removed = self.segments.remove_first(count)
            self.move_log_start_offset(self.segments.first.base_offset)
            self.discard(removed)
        except OSError as error:
            raise self.storage_error(error, "deleting old segments of") from error

    def replace_segments(self, sources: Sequence[Segment], segment: Segment) -> None:
        """Replace ``sources`` with ``segment`` in the list; the files of ``sources`` stay."""
        self.segments.replace(sources, segment)
        self._reader.forget_places()

    def discard(
        self, segments: list[Segment], keep_snapshot: int = -1, *, are_renamed: bool = False
    ) -> None:
        """Mark the files of segments removed from the list as deleted (``deleted_files``)."""
        self._reader.forget_places()
        due_ms = self.now_ms() + self.config.file_delete_delay_ms
        self._deleted.put_away(
            segments, self.producers, due_ms, keep_snapshot=keep_snapshot, are_renamed=are_renamed
        )

    def remove_deleted_files(self, now_ms: int) -> None:
        """Delete the files of discarded segments that are due; in the executor, if any.

        Unlinking a gigabyte takes longer than clients should wait.
        """
        due = self._deleted.take_due(now_ms)
        if due and self._context.executor is not None:
            self._context.executor.submit(self._remove_files, due)
        elif due:
            self._remove_files(due)

    def _remove_files(self, due: list[DeletedItem]) -> None:
        try:
            self._deleted.remove(due)
        except OSError as error:
            raise self.storage_error(error, "deleting files of") from error

    def truncate_to(self, offset: int) -> bool:
        """Truncate the log to ``offset``; False if it already ends there.

        For a follower whose log diverged from the leader's.
        """
        return truncate(self, offset)

    def truncate_fully_and_start_at(self, offset: int, log_start_offset: int | None = None) -> None:
        """Delete all records; the next one gets ``offset``."""
        start_anew(self, offset, offset if log_start_offset is None else log_start_offset)

    def prepare_cut(self, offset: int) -> None:
        """Abort cleaning, and flushes of records from ``offset`` on, before they are truncated."""
        self._stop_cleaning()
        self._flusher.on_cut(offset)

    def truncate_epochs(self, offset: int) -> None:
        """Remove the epochs that start at or after ``offset``, the new end of the log."""
        self.leader_epochs.truncate_from_end(offset)
        self.latest_epoch = self.leader_epochs.latest_epoch

    def set_end(self, offset: int) -> None:
        """Move the log end offset back; the reader's cached positions are discarded."""
        self.log_end_offset = offset
        self._reader.forget_places()

    def new_segment(self, base_offset: int) -> Segment:
        """An empty segment in the directory, not yet in the list; raises OSError."""
        return self._context.new_segment(self.directory, base_offset, self.config)

    def _stop_cleaning(self) -> None:
        """Abort cleaning: the records read by the cleaner are about to change."""
        if self.cleaning is not None:
            self.cleaning.abort()

    # -- closing --

    def close(self) -> None:
        """Write all state that is only in memory; the log cannot be used afterwards.

        Does not flush: a clean shutdown calls ``flush`` first.
        """
        if self.is_closed:
            return
        self._stop_cleaning()
        try:
            # With a snapshot at the end, the next start has nothing to replay.
            self.producers.take_snapshot(sync=True)
            self.leader_epochs.flush()
            for segment in self.segments:
                segment.close()
        except OSError as error:
            raise self.storage_error(error, "closing") from error
        finally:
            self.is_closed = True

    def close_files(self) -> None:
        """Close the files without writing: the disk failed, or the log is deleted."""
        self.is_closed = True
        self._stop_cleaning()
        for segment in self.segments:
            segment.log.close()

    def rename_directory(self, directory: str) -> None:
        """Rename the log's directory on the same disk; files may be open."""
        self._stop_cleaning()
        with RENAMING, self.leader_epochs.writing:
            self._flusher.begin_move()
            try:
                self._context.disk.rename(self.directory, directory)
            except OSError as error:
                raise self.storage_error(error, f"renaming to {directory}:") from error
            self.directory = directory
            for segment in self.segments:
                segment.moved(directory)
            self.producers.moved(directory)
            self.leader_epochs.moved(f"{directory}/{LEADER_EPOCH_CHECKPOINT}")
            self._flusher.moved(directory)
            self._deleted.moved()

    @property
    def log_dir(self) -> str:
        """The log directory (one of ``log.dirs``) of this partition."""
        return self.directory.rpartition("/")[0]

    def now_ms(self) -> int:
        return self._context.clock.now_ms()

    def storage_error(self, error: OSError, doing: str, *, in_fsync: bool = False) -> ApiError:
        """Return the error for the client; takes the log directory offline if the disk failed."""
        return storage_error(
            error,
            f"{doing} {self.topic_partition}",
            self.log_dir,
            self._context.on_failure,
            self._context.no_room,
            in_fsync=in_fsync,
        )

    def _closed_error(self) -> ApiError:
        return ApiError(
            ErrorCode.KAFKA_STORAGE_ERROR,
            f"{self.topic_partition} is not online: its log directory failed or it was closed",
        )
