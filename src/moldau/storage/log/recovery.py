"""Opening a partition's directory in whatever state the last shutdown left it.

After a clean shutdown there is nothing to recover: the segments are as they were closed, and only
the headers after the last index entry are read to find the log end offset.

After a crash the directory may contain a torn last write, indexes that lag behind the log or are
ahead of it, and files of unfinished deletions and cleanings. Everything from the recovery point on
is then read and checked, the log is truncated at the first invalid batch, and everything that is
derived from batches (indexes, leader epochs, producer state) is rebuilt. Below the recovery point,
in the segment that contains it, only headers are read.

Rules this module keeps:

* Flushed records are kept. The result is a prefix of what was written: everything after the first
  gap or invalid batch is removed, including later segments.
* Recovery can be interrupted at any point and started again.
"""

import logging
from typing import Final

from moldau.config.topic import LogConfig
from moldau.ids import METADATA_TOPIC, NO_UUID, TopicPartition
from moldau.record.header import BatchHeader
from moldau.storage.disk.checkpoint import (
    LEADER_EPOCH_CHECKPOINT,
    PARTITION_METADATA,
    CorruptCheckpoint,
    read_partition_metadata,
)
from moldau.storage.disk.disk import Disk
from moldau.storage.index.offset_index import CorruptIndex
from moldau.storage.log.batch_scan import CorruptSegment, iter_batches
from moldau.storage.log.leader_epochs import LeaderEpochCache
from moldau.storage.log.leftovers import clear_leftovers
from moldau.storage.log.log_context import LogContext
from moldau.storage.log.log_state import LogState
from moldau.storage.log.partition_log import PartitionLog
from moldau.storage.log.producer_replay import rebuild_producer_state, replay_batch
from moldau.storage.log.producer_state import ProducerStateManager
from moldau.storage.log.segment import (
    INDEX_SUFFIX,
    LOG_SUFFIX,
    TIME_INDEX_SUFFIX,
    TXN_INDEX_SUFFIX,
    Segment,
)
from moldau.storage.log.segment_list import SegmentList
from moldau.storage.log.segment_recovery import recover_segment

_INDEX_SUFFIXES: Final = (INDEX_SUFFIX, TIME_INDEX_SUFFIX, TXN_INDEX_SUFFIX)

_log = logging.getLogger(__name__)


def open_log(
    context: LogContext,
    directory: str,
    topic_partition: TopicPartition,
    config: LogConfig,
    *,
    clean_shutdown: bool,
    recovery_point: int = 0,
    log_start_offset: int = 0,
    was_cleaned: bool = False,
) -> PartitionLog:
    """Open the log in ``directory``, which is created if it is missing.

    ``recovery_point`` and ``log_start_offset`` come from the checkpoints; zero is always correct,
    but slow. ``was_cleaned`` means that the log has been compacted at some time, whatever its
    current policy.

    Raises:
        OSError: the disk fails.
    """
    loader = _Loader(
        context,
        directory,
        topic_partition,
        config,
        recovery_point,
        log_start_offset,
        may_have_gaps=was_cleaned or config.is_compacted,
    )
    return loader.load(clean_shutdown)


class _Loader:
    """The steps of opening one log, in order."""

    def __init__(
        self,
        context: LogContext,
        directory: str,
        topic_partition: TopicPartition,
        config: LogConfig,
        recovery_point: int,
        log_start_offset: int,
        *,
        may_have_gaps: bool,
    ) -> None:
        self.context = context
        self.disk: Disk = context.disk
        self.directory = directory
        self.topic_partition = topic_partition
        self.config = config
        self.recovery_point = recovery_point
        self.log_start_offset = log_start_offset
        self.may_have_gaps = may_have_gaps
        self.wall_ms = context.clock.wall_ms()
        self.segments: list[Segment] = []
        self.has_epochs = True
        self.names = dict.fromkeys(
            clear_leftovers(self.disk, directory, self._list_directory(), config, self.wall_ms)
        )
        self.leader_epochs = self._read_leader_epochs()
        self.producers = ProducerStateManager(
            self.disk, directory, topic_partition, context.producer_expiration_ms
        )

    def load(self, clean_shutdown: bool) -> PartitionLog:
        self.producers.use_listing(self.names)
        self._open_segments(is_trusted=clean_shutdown)
        if not clean_shutdown:
            self._recover_unflushed()
            self._flush_recovered()
        log_end_offset = self._find_end()
        if clean_shutdown:
            self.recovery_point = log_end_offset

        log_start_offset = max(self.log_start_offset, self.segments[0].base_offset)
        self.leader_epochs.truncate_from_end(log_end_offset)
        self.leader_epochs.truncate_from_start(log_start_offset)
        self.producers.remove_stray_snapshots(segment.base_offset for segment in self.segments)
        segments = SegmentList(self.segments)
        rebuild_producer_state(
            self.producers, segments, log_start_offset, log_end_offset, self.wall_ms
        )
        # With thousands of partitions most are not used soon: they need no descriptor until then.
        for segment in self.segments:
            segment.log.close()
            segment.release_memory()
        state = LogState(
            self.context,
            self.topic_partition,
            self.directory,
            self.config,
            segments,
            self.leader_epochs,
            self.producers,
            log_start_offset,
            log_end_offset,
        )
        return PartitionLog(state, min(self.recovery_point, log_end_offset), self._read_topic_id())

    def _list_directory(self) -> list[str]:
        """The file names, listed only once: startup with thousands of logs must be fast."""
        try:
            return self.disk.list_dir(self.directory)
        except FileNotFoundError:
            self.disk.make_dirs(self.directory)
            return []

    def _read_leader_epochs(self) -> LeaderEpochCache:
        path = f"{self.directory}/{LEADER_EPOCH_CHECKPOINT}"
        if LEADER_EPOCH_CHECKPOINT in self.names:
            try:
                return LeaderEpochCache(self.disk, path)
            except CorruptCheckpoint as error:
                _log.warning("%s. Removing it: the epochs are read again from every batch", error)
                self.disk.remove(path)
        self.has_epochs = False
        return LeaderEpochCache(self.disk, path, is_new=True)

    def _read_epochs(self, segments: list[Segment]) -> None:
        """Rebuild the epochs from batch headers; a corrupt segment is not truncated for that."""
        for segment in segments:
            try:
                for _, header in iter_batches(segment.log, 0, segment.size):
                    self._note_epoch(header)
            except CorruptSegment as error:
                _log.error("The leader epochs after it are not known: %s", error)

    def _note_epoch(self, header: BatchHeader) -> None:
        if header.partition_leader_epoch > self.leader_epochs.latest_epoch:
            self.leader_epochs.assign(header.partition_leader_epoch, header.base_offset)

    def _read_topic_id(self) -> bytes:
        """The topic id; NO_UUID if it is missing or damaged."""
        if PARTITION_METADATA not in self.names:
            return NO_UUID
        try:
            return read_partition_metadata(self.disk, self.directory) or NO_UUID
        except CorruptCheckpoint as error:
            # A power failure soon after the partition was created may have torn it.
            _log.warning("%s. Removing it: the topic of this partition is not known", error)
            self.disk.remove(f"{self.directory}/{PARTITION_METADATA}")
            return NO_UUID

    def _open_segments(self, *, is_trusted: bool) -> None:
        """Open the existing segments; rebuild indexes that are missing or obviously damaged."""
        names = self.names
        logs = {name.removesuffix(LOG_SUFFIX) for name in names if name.endswith(LOG_SUFFIX)}
        for name in names:
            stem, _, suffix = name.partition(".")
            if f".{suffix}" in _INDEX_SUFFIXES and stem not in logs:
                _log.warning("Removing %s/%s: it has no .log file", self.directory, name)
                self.disk.remove(f"{self.directory}/{name}")
        for stem in sorted(logs):
            if not stem.isdigit():
                continue
            segment = Segment(self.disk, self.directory, int(stem), self.config, self.wall_ms)
            self.segments.append(segment)
        # The others are recovered anyway.
        flushed = self.segments if is_trusted else self.segments[: self._first_unflushed()]
        if not self.has_epochs:
            self._read_epochs(flushed)
        for number, segment in enumerate(flushed):
            self._check_indexes(segment, number)

    def _check_indexes(self, segment: Segment, number: int) -> None:
        has_txn_index = f"{segment.base_offset:020d}{TXN_INDEX_SUFFIX}" in self.names
        try:
            segment.check_indexes(has_txn_index=has_txn_index)
        except (CorruptIndex, FileNotFoundError) as error:
            _log.warning("Rebuilding the indexes of %s: %s", segment.log.path, error)
            self._recover(segment, number)

    def _first_unflushed(self) -> int:
        """The index of the first segment that may have records above the recovery point."""
        first = 0
        for number, segment in enumerate(self.segments):
            if segment.base_offset <= self.recovery_point:
                first = number
        return first

    def _recover_unflushed(self) -> None:
        """Check every batch from the recovery point on; remove everything after an invalid one."""
        expected: int | None = None
        for number in range(self._first_unflushed(), len(self.segments)):
            segment = self.segments[number]
            if expected is not None and self._is_gap(expected, segment.base_offset):
                self._drop_segments(number, f"offset {expected} is missing before it")
                return
            cut = self._recover(segment, number, flushed_to=self.recovery_point)
            if cut > 0:
                self._drop_segments(number + 1, f"{segment.log.path} was cut")
                return
            expected = segment.next_offset()

    def _flush_recovered(self) -> None:
        """Flush what was recovered, if it may be acknowledged or voted on only when it is durable.

        It was in the page cache when the process died, and a power failure could still take it:
        a producer that repeats a batch is told that it is here, and the quorum counts it.
        """
        is_metadata = self.topic_partition.topic == METADATA_TOPIC
        if is_metadata or self.config.flush_messages != LogConfig().flush_messages:
            for segment in self.segments[self._first_unflushed() :]:
                segment.flush_log()

    def _is_gap(self, expected: int, base_offset: int) -> bool:
        # Compaction leaves gaps. Without it a segment starts where the last one ended, unless the
        # end of that one was never written to the device.
        return base_offset > expected and not self.may_have_gaps

    def _recover(self, segment: Segment, number: int, flushed_to: int = 0) -> int:
        """Recover a segment, below ``flushed_to`` from headers; returns the bytes removed."""
        # The transaction index depends on the transactions that were open before.
        if number > 0:
            rebuild_producer_state(
                self.producers,
                SegmentList(self.segments[:number]),
                self.log_start_offset,
                segment.base_offset,
                self.wall_ms,
            )
        else:
            self.producers.truncate_and_reload(
                self.log_start_offset, segment.base_offset, self.wall_ms
            )

        def on_batch(header: BatchHeader, data: bytes, position: int) -> None:
            self._note_epoch(header)
            replay_batch(self.producers, header, data, position, segment.txn_index)

        cut = recover_segment(segment, on_batch, flushed_to)
        self.context.has_cut_logs |= cut > 0
        return cut

    def _drop_segments(self, first: int, reason: str) -> None:
        for segment in self.segments[first:]:
            _log.warning("Removing %s: %s", segment.log.path, reason)
            segment.remove_files()
            self.context.has_cut_logs = True
        del self.segments[first:]

    def _find_end(self) -> int:
        """The log end offset; afterwards there is at least one segment."""
        if self.segments:
            log_end_offset = self._next_offset_of_last()
            if log_end_offset >= self.log_start_offset:
                return log_end_offset
            self._drop_segments(
                0, f"the log ends at {log_end_offset}, before its start {self.log_start_offset}"
            )
            self.leader_epochs.clear()
            self.producers.truncate_fully_and_start_at(self.log_start_offset)
        segment = self.context.new_segment(self.directory, self.log_start_offset, self.config)
        self.segments.append(segment)
        return segment.base_offset

    def _next_offset_of_last(self) -> int:
        segment = self.segments[-1]
        try:
            return segment.next_offset()
        except CorruptSegment as error:
            _log.error("The log was closed cleanly, but it is damaged: %s", error)
            self._recover(segment, len(self.segments) - 1)
            return segment.next_offset()
