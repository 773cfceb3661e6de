"""The log of one partition, which assigns offsets to batches.

Below it are segments, which store bytes; above it is the replica manager, which deals with other
brokers. The log end offset advances with every append, the high watermark when batches become
visible to consumers (with one replica: immediately), the log start offset when old records are
deleted (``log_state``).

The work is done by its parts: ``LogAppender``, ``LogReader``, ``TimeSearch``, ``LogTail``,
``LogFlusher``, ``LogRetention``, ``LogTruncation`` and ``DeletedFiles``. This class assembles them,
and opens, moves and closes the whole.

Rules that they keep together:

* An append is all or nothing. Validation comes before the write, and the log end offset advances
  last, so that all offsets below it can be read.
* A log is used by one thread. Only fsyncs run in others (``log_flusher``).
* A disk failure takes the log directory offline; a full disk fails the request and leaves the log
  unchanged.
"""

from collections.abc import Callable, Sequence

from moldau.config.topic import LogConfig
from moldau.errors import ApiError
from moldau.ids import NO_UUID
from moldau.record.produced import ProducedBatch
from moldau.storage.disk.checkpoint import LEADER_EPOCH_CHECKPOINT
from moldau.storage.index.txn_index import AbortedTxn, decode_entries
from moldau.storage.log.batch_scan import CorruptSegment
from moldau.storage.log.deleted_files import DeletedFiles
from moldau.storage.log.log_appender import LogAppender
from moldau.storage.log.log_flusher import RENAMING, LogFlusher
from moldau.storage.log.log_reader import LogReader
from moldau.storage.log.log_results import FetchData, LogAppendInfo, TimestampOffset
from moldau.storage.log.log_retention import LogRetention
from moldau.storage.log.log_state import Abortable, LogStartListener, LogState
from moldau.storage.log.log_tail import LogTail
from moldau.storage.log.log_truncation import LogTruncation
from moldau.storage.log.producer_state import AppendOrigin
from moldau.storage.log.segment import Segment
from moldau.storage.log.time_search import TimeSearch
from moldau.storage.log.verification import NOT_REQUIRED, VerificationGuard


class PartitionLog:
    """An open partition, created by ``recovery.open_log``."""

    __slots__ = (
        "_appender",
        "_deleted",
        "_flusher",
        "_reader",
        "_retention",
        "_state",
        "_tail",
        "_times",
        "_truncation",
        "leader_epochs",
        "producers",
        "segments",
        "topic_id",
        "topic_partition",
    )

    def __init__(self, state: LogState, recovery_point: int, topic_id: bytes = NO_UUID) -> None:
        self._state = state
        self.topic_partition = state.topic_partition
        self.topic_id = topic_id
        self.segments = state.segments
        self.leader_epochs = state.leader_epochs
        self.producers = state.producers
        self._reader = reader = LogReader(state)
        self._times = TimeSearch(state)
        self._flusher = flusher = LogFlusher(state, recovery_point)
        self._tail = tail = LogTail(state, flusher)
        self._appender = LogAppender(state, tail, flusher)
        self._deleted = deleted = DeletedFiles(state, reader)
        self._retention = LogRetention(state, tail, flusher, deleted)
        self._truncation = LogTruncation(state, tail, flusher, reader, deleted)

    def __repr__(self) -> str:
        return (
            f"PartitionLog({self.directory}, {self.log_start_offset}..{self.log_end_offset}, "
            f"{len(self.segments)} segments)"
        )

    # -- the shared state --

    @property
    def log_end_offset(self) -> int:
        """The offset of the next record."""
        return self._state.log_end_offset

    @property
    def log_start_offset(self) -> int:
        return self._state.log_start_offset

    @property
    def high_watermark(self) -> int:
        """Everything below is committed."""
        return self._state.high_watermark

    @property
    def last_stable_offset(self) -> int:
        """The limit for ``read_committed`` consumers: the start of the first open transaction."""
        return self._state.last_stable_offset

    @property
    def config(self) -> LogConfig:
        return self._state.config

    @config.setter
    def config(self, config: LogConfig) -> None:
        self._state.config = config

    @property
    def directory(self) -> str:
        return self._state.directory

    @property
    def log_dir(self) -> str:
        """The log directory (one of ``log.dirs``) of this partition."""
        return self._state.directory.rpartition("/")[0]

    @property
    def is_closed(self) -> bool:
        """Whether nothing may be read or written any more, and errors are ignored."""
        return self._state.is_closed

    @is_closed.setter
    def is_closed(self, is_closed: bool) -> None:
        self._state.is_closed = is_closed

    @property
    def cleaner_checkpoint(self) -> int:
        """The end of the clean part of a compacted log; -1 if it was never cleaned."""
        return self._state.cleaner_checkpoint

    @cleaner_checkpoint.setter
    def cleaner_checkpoint(self, offset: int) -> None:
        self._state.cleaner_checkpoint = offset

    @property
    def cleaning(self) -> Abortable | None:
        """Set while the log is being cleaned, to abort the cleaning."""
        return self._state.cleaning

    @cleaning.setter
    def cleaning(self, cleaning: Abortable | None) -> None:
        self._state.cleaning = cleaning

    def listen(self, listener: LogStartListener) -> None:
        """Call ``listener`` from now on when the log start offset moves."""
        self._state.start_listener = listener

    @property
    def recovery_point(self) -> int:
        """Everything below is durable."""
        return self._flusher.recovery_point

    @property
    def last_flush_ms(self) -> int:
        return self._flusher.last_flush_ms

    @property
    def size_bytes(self) -> int:
        return self.segments.size_bytes

    # -- appending --

    def append_as_leader(
        self,
        records: memoryview | bytes | ProducedBatch,
        leader_epoch: int,
        wall_ms: int,
        *,
        origin: AppendOrigin = AppendOrigin.CLIENT,
        guard: VerificationGuard | None = NOT_REQUIRED,
        transaction_version: int = 0,
    ) -> LogAppendInfo:
        """Assign the next offsets to the batch in ``records`` and append it.

        A ``ProducedBatch`` was built or validated by this process and is not validated again. The
        caller advances the high watermark, and flushes the log if the result says ``must_flush``.
        ``guard`` is needed for the first batch of a transaction, ``transaction_version`` for its
        marker (KIP-890).

        Raises:
            ApiError: the batch is invalid; KAFKA_STORAGE_ERROR if the disk fails.
        """
        return self._appender.append_as_leader(
            records, leader_epoch, wall_ms, origin, guard, transaction_version
        )

    def append_as_follower(
        self,
        records: memoryview | bytes,
        leader_epoch: int | None = None,
        *,
        can_wait: bool = False,
    ) -> LogAppendInfo | None:
        """Append batches fetched from the leader, with the leader's offsets.

        An incomplete batch at the end is ignored, and so are batches from the first one with an
        epoch greater than ``leader_epoch`` on. Returns None if no batch is left. With ``can_wait``
        the caller flushes the log if the result says ``must_flush``; otherwise that is done here.

        Raises:
            ApiError: CORRUPT_MESSAGE for a bad batch, INVALID_RECORD for offsets that go backwards;
                what is before may have been written. KAFKA_STORAGE_ERROR if the disk fails.
        """
        return self._appender.append_as_follower(records, leader_epoch, can_wait)

    def assign_epoch(self, leader_epoch: int, start_offset: int) -> None:
        """Record that ``leader_epoch`` starts at ``start_offset``."""
        self._tail.assign_epoch(leader_epoch, start_offset)

    def update_high_watermark(self, offset: int) -> int:
        """Set the high watermark, clamped to the log; returns the new value."""
        return self._state.update_high_watermark(offset)

    def roll(self) -> Segment:
        """Roll a new segment at the log end offset, unless the active one is empty."""
        return self._tail.roll()

    def skip_to(self, offset: int) -> None:
        """Continue at ``offset`` in a new segment; the offsets before it stay unused."""
        self._appender.skip_to(offset)

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
        return self._reader.read(
            start_offset, max_bytes, max_offset, min_one_message, include_aborted
        )

    def offset_after_damage(self, error: CorruptSegment, offset: int) -> int:
        """The offset at which a read that hit ``error`` at ``offset`` can resume.

        The log end offset if there is no valid batch after the damage.

        Raises:
            ApiError: KAFKA_STORAGE_ERROR if the disk fails.
        """
        return self._reader.offset_after_damage(error, offset)

    def readable_bytes(self, start_offset: int, max_offset: int) -> int:
        """The size of the batches between two offsets, for fetches that wait for ``min.bytes``."""
        return self._reader.readable_bytes(start_offset, max_offset)

    def aborted_transactions(self, start_offset: int, end_offset: int) -> list[AbortedTxn]:
        """Aborted transactions that overlap the offsets from start to end."""
        return decode_entries(self._reader.aborted_between(start_offset, end_offset))

    def earliest(self) -> TimestampOffset:
        return self._times.earliest()

    def latest(self) -> TimestampOffset:
        return self._times.latest()

    def max_timestamp(self) -> TimestampOffset | None:
        """The first record with the largest timestamp; None if there is none."""
        return self._times.first_of_max_timestamp()

    def offset_for_timestamp(self, timestamp: int) -> TimestampOffset | None:
        """The first record at or after ``timestamp``; None if all are earlier."""
        return self._times.first_at_or_after(timestamp)

    def end_offset_for_epoch(self, leader_epoch: int) -> tuple[int, int]:
        """Epoch and end offset for OffsetForLeaderEpoch; (-1, -1) if unknown."""
        return self.leader_epochs.end_offset_for(leader_epoch, self.log_end_offset)

    # -- flushing --

    def flush(self, up_to: int | None = None) -> None:
        """Make everything below ``up_to`` (by default the whole log) durable.

        Raises:
            ApiError: KAFKA_STORAGE_ERROR.
        """
        self._flusher.flush(up_to)

    def flush_in_background(self) -> object:
        """Flush the whole log in the executor; returns the executor's future."""
        return self._flusher.flush_in_background()

    def flush_elsewhere(self, up_to: int) -> Callable[[], None]:
        """A ``flush`` for any thread; it guarantees nothing if the log is truncated first."""
        return self._flusher.flush_elsewhere(up_to)

    def flush_topic_id(self) -> None:
        """Make the topic id of a new partition durable; in any thread."""
        self._flusher.flush_topic_id()

    # -- making the log shorter --

    def delete_records_before(self, offset: int) -> int:
        """Move the log start offset up to ``offset`` (-1: the high watermark).

        Segments entirely below it are deleted by the next ``delete_old_segments``. Returns the new
        log start offset.

        Raises:
            ApiError: OFFSET_OUT_OF_RANGE above the high watermark.
        """
        return self._retention.delete_records_before(offset)

    def move_log_start_offset(self, offset: int) -> bool:
        """Increase the log start offset; False if it is already there."""
        return self._retention.move_log_start_offset(offset)

    def delete_old_segments(self, wall_ms: int) -> int:
        """Apply retention; returns the number of deleted segments.

        Nothing is deleted while the log is being cleaned.
        """
        return self._retention.delete_old_segments(wall_ms)

    def remove_deleted_files(self, now_ms: int) -> None:
        """Delete the files of discarded segments that are due."""
        self._deleted.remove_due(now_ms)

    def replace_segments(self, sources: Sequence[Segment], segment: Segment) -> None:
        """Replace ``sources`` with ``segment`` in the list; the files of ``sources`` stay."""
        self.segments.replace(sources, segment)
        self._reader.forget_places()

    def discard_cleaned(self, sources: Sequence[Segment], keep_snapshot: int) -> None:
        """Mark segments that were replaced, and whose files are renamed, as deleted."""
        self._deleted.put_away(sources, keep_snapshot, are_renamed=True)

    def truncate_to(self, offset: int) -> bool:
        """Truncate the log to ``offset``; False if it already ends there.

        For a follower whose log diverged from the leader's.
        """
        return self._truncation.truncate_to(offset)

    def truncate_fully_and_start_at(self, offset: int, log_start_offset: int | None = None) -> None:
        """Delete all records; the next one gets ``offset``."""
        start_offset = offset if log_start_offset is None else log_start_offset
        self._truncation.start_anew(offset, start_offset)

    def start_within(self, records: memoryview | bytes) -> bool:
        """Let an empty log continue where the first batch begins; False if it need not.

        For a follower: DeleteRecords may move the log start offset of its leader into a batch, and
        batches are replicated as a whole. The log start offset stays, and the log end offset is
        below it until the batch is appended.
        """
        return self._truncation.start_within(records)

    def give_up_within(self, start_offset: int) -> None:
        """After ``start_within``: the batch could not be appended, and the log is empty again.

        It ends at its start. Otherwise it would begin above its end, should it be elected now.
        """
        self._truncation.give_up_within(start_offset)

    # -- the whole log --

    def close(self) -> None:
        """Write all state that is only in memory; the log cannot be used afterwards.

        Does not flush: a clean shutdown calls ``flush`` first.
        """
        state = self._state
        if state.is_closed:
            return
        state.stop_cleaning()
        try:
            # With a snapshot at the end, the next start has nothing to replay.
            self.producers.take_snapshot(sync=True)
            self.leader_epochs.flush()
            for segment in self.segments:
                segment.close()
        except OSError as error:
            raise state.storage_error(error, "closing") from error
        finally:
            state.is_closed = True

    def close_files(self) -> None:
        """Close the files without writing: the disk failed, or the log is deleted."""
        self._state.is_closed = True
        self._state.stop_cleaning()
        for segment in self.segments:
            segment.log.close()

    def rename_directory(self, directory: str) -> None:
        """Rename the log's directory on the same disk; files may be open."""
        state = self._state
        state.stop_cleaning()
        with RENAMING, self.leader_epochs.writing:
            self._flusher.begin_move()
            try:
                state.context.disk.rename(state.directory, directory)
            except OSError as error:
                raise state.storage_error(error, f"renaming to {directory}:") from error
            state.directory = directory
            for segment in self.segments:
                segment.moved(directory)
            self.producers.moved(directory)
            self.leader_epochs.moved(f"{directory}/{LEADER_EPOCH_CHECKPOINT}")
            self._flusher.moved()
            self._deleted.moved()

    def wall_ms(self) -> int:
        return self._state.context.clock.wall_ms()

    def storage_error(self, error: OSError, doing: str, *, in_fsync: bool = False) -> ApiError:
        """Return the error for the client; takes the log directory offline if the disk failed."""
        return self._state.storage_error(error, doing, in_fsync=in_fsync)
