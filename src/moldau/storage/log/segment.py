"""One segment of a partition: a ``.log`` file of batches and its indexes.

Batches are only appended, so a segment is described by a few numbers: its base offset, which is
also its file name, its size, and its largest timestamp. The offset index has an entry about every
``index.interval.bytes``; batches between two entries are found by scanning headers.

Rules this module keeps:

* Bytes are written before anything that refers to them: a failed append leaves sizes, indexes and
  timestamps unchanged.
* Indexes are derived from the ``.log`` file. They may be missing or wrong after a crash and are
  then rebuilt (``segment_recovery``); nothing depends on their being flushed.
* Bytes that this process neither wrote nor recovered are checked (CRC) before they are first
  returned to a reader. Damage inside a file is thus an error that gives the position, and is never
  returned as data.
"""

from bisect import bisect_right
from collections.abc import Sequence
from typing import Final

from moldau.config.topic import LogConfig
from moldau.record.header import BatchHeader, Buffer
from moldau.record.replicated_run import ReplicatedRun
from moldau.storage.disk.disk import Disk
from moldau.storage.index.offset_index import CorruptIndex, OffsetIndex
from moldau.storage.index.time_index import TimeIndex
from moldau.storage.index.txn_index import TransactionIndex
from moldau.storage.log.batch_scan import (
    BatchPosition,
    CorruptSegment,
    find_batch,
    iter_batches,
)
from moldau.storage.log.checked_bytes import CheckedBytes

LOG_SUFFIX: Final = ".log"
INDEX_SUFFIX: Final = ".index"
TIME_INDEX_SUFFIX: Final = ".timeindex"
TXN_INDEX_SUFFIX: Final = ".txnindex"
DELETED_SUFFIX: Final = ".deleted"

# Entries of the time index have 12 bytes, those of the offset index 8.
LARGEST_ENTRY_BYTES: Final = 12
# Offsets in the indexes are relative to the base offset, in 31 bits.
MAX_RELATIVE_OFFSET: Final = 0x7FFFFFFF

_UNKNOWN: Final = -2


def segment_path(directory: str, base_offset: int, suffix: str) -> str:
    """The path of a file of the segment with the given base offset."""
    return f"{directory}/{base_offset:020d}{suffix}"


class Segment:
    """An open segment. Its files are opened by the disk when they are used."""

    __slots__ = (
        "_bytes_since_index_entry",
        "_checked",
        "_disk",
        "_first_timestamp",
        "_index_interval_bytes",
        "_is_new",
        "_max_index_bytes",
        "_max_timestamp",
        "_offset_of_max_timestamp",
        "_trusted_from",
        "base_offset",
        "created_ms",
        "is_cut",
        "is_full",
        "log",
        "offset_index",
        "roll_jitter_ms",
        "size",
        "time_index",
        "txn_index",
    )

    def __init__(
        self,
        disk: Disk,
        directory: str,
        base_offset: int,
        config: LogConfig,
        wall_ms: int,
        *,
        create: bool = False,
        roll_jitter_ms: int = 0,
        file_suffix: str = "",
    ) -> None:
        """Open the files of the segment; with ``create``, create new ones."""
        prefix = f"{directory}/{base_offset:020d}"
        self._disk = disk
        self.base_offset = base_offset
        self.created_ms = wall_ms
        self.roll_jitter_ms = roll_jitter_ms
        self._index_interval_bytes = config.index_interval_bytes
        self._max_index_bytes = config.segment_index_bytes
        self.log = disk.open(prefix + LOG_SUFFIX + file_suffix, create=create)
        self.offset_index = OffsetIndex(disk, prefix + INDEX_SUFFIX + file_suffix, base_offset)
        self.time_index = TimeIndex(disk, prefix + TIME_INDEX_SUFFIX + file_suffix, base_offset)
        self.txn_index = TransactionIndex(
            disk, prefix + TXN_INDEX_SUFFIX + file_suffix, base_offset
        )
        self.size = self.log.size
        # Nothing more may be appended: an index is full, or the segment was cut.
        self.is_full = False
        self.is_cut = False
        self._bytes_since_index_entry = 0
        self._first_timestamp = _UNKNOWN
        self._max_timestamp = _UNKNOWN
        self._offset_of_max_timestamp = base_offset
        # Bytes from here on were written or recovered by this process.
        self._trusted_from = self.size
        # Which bytes before that were checked; created on demand, since most segments never need
        # it.
        self._checked: CheckedBytes | None = None
        self._is_new = create
        if create:
            self._max_timestamp = -1
            try:
                self._create_files(config)
            except OSError:
                # An empty log left behind would be found as the end of the partition.
                if self.size == 0:
                    self.remove_files()
                raise

    def _create_files(self, config: LogConfig) -> None:
        self.offset_index.create()
        self.time_index.create()
        if config.preallocate:
            self.log.preallocate(config.segment_bytes)
        else:
            # Most new partitions get their first record later, or never.
            self.log.close()

    def __repr__(self) -> str:
        return f"Segment({self.log.path}, {self.size} bytes)"

    # -- appending --

    def append(
        self, parts: Sequence[Buffer], last_offset: int, max_timestamp: int, size_bytes: int
    ) -> None:
        """Append one batch, given in parts.

        Raises OSError, and leaves the segment unchanged, if the write fails.
        """
        position = self.log.append(parts)
        try:
            self._note_batch(position, last_offset, max_timestamp)
        except OSError:
            self._take_back(position, last_offset)
            raise
        if position == 0:
            self._first_timestamp = max_timestamp
        self._bytes_since_index_entry += size_bytes
        self.size = position + size_bytes

    def append_batches(self, data: Buffer, headers: Sequence[BatchHeader]) -> None:
        """Append consecutive batches with the given headers in a single write."""
        start = position = self.log.append((data,))
        try:
            for header in headers:
                self._note_batch(position, header.last_offset, header.max_timestamp)
                self._bytes_since_index_entry += header.size_bytes
                position += header.size_bytes
        except OSError:
            self._take_back(start, headers[0].last_offset)
            raise
        if start == 0:
            self._first_timestamp = headers[0].max_timestamp
        self.size = position

    def takes_run(self, run: ReplicatedRun, wall_ms: int, config: LogConfig) -> bool:
        """Whether no batch of ``run`` needs another segment; if in doubt, False."""
        last_offset, max_timestamp = run.last_offset, run.max_timestamp
        if self.should_roll(run.end, max_timestamp, last_offset, wall_ms, config):
            return False
        if self.size == 0:
            limit_ms = min(config.segment_ms, config.max_compaction_lag_ms) - self.roll_jitter_ms
            if max_timestamp - run.first_timestamp > limit_ms:
                return False
        # An entry of either index for each interval, and one more.
        room = (run.end // max(self._index_interval_bytes, 1) + 1) * LARGEST_ENTRY_BYTES
        limit = self._max_index_bytes - room
        return not (self.offset_index.is_full(limit) or self.time_index.is_full(limit))

    def append_run(self, data: bytes, run: ReplicatedRun) -> None:
        """Append the batches of ``run``, which are all of ``data``, in a single write."""
        if self._max_timestamp == _UNKNOWN:
            self._load_max_timestamp()
        start = self.log.append((data,))
        try:
            self.rebuild_with_batches(
                start,
                run.end,
                run.positions,
                run.last_offsets,
                run.max_timestamps,
                run.offsets_of_max,
            )
        except OSError:
            self._take_back(start, run.base_offset)
            raise
        if start == 0:
            self._first_timestamp = run.first_timestamp
        self.size = start + run.end

    def _take_back(self, position: int, last_offset: int) -> None:
        """Undo the append of a batch whose index entries could not be written (disk full)."""
        self.log.truncate(position)
        self.offset_index.truncate_to(last_offset)
        self.time_index.truncate_to(last_offset)
        self._find_largest_timestamp()

    def _note_batch(self, position: int, last_offset: int, max_timestamp: int) -> None:
        """Update the largest timestamp; add index entries every ``index.interval.bytes``."""
        if self._max_timestamp == _UNKNOWN:
            self._load_max_timestamp()
        self._keep_largest(max_timestamp, last_offset)
        if self._bytes_since_index_entry > self._index_interval_bytes:
            self._add_index_entries(last_offset, position)
            self._bytes_since_index_entry = 0

    def _keep_largest(self, max_timestamp: int, last_offset: int) -> None:
        if max_timestamp > self._max_timestamp:
            self._max_timestamp = max_timestamp
            self._offset_of_max_timestamp = last_offset

    def _add_index_entries(self, last_offset: int, position: int) -> None:
        self.offset_index.append(last_offset, position)
        self.time_index.maybe_append(self._max_timestamp, self._offset_of_max_timestamp)
        self.is_full = self._indexes_are_full()

    def _indexes_are_full(self) -> bool:
        return self.offset_index.is_full(self._max_index_bytes) or self.time_index.is_full(
            self._max_index_bytes
        )

    def should_roll(
        self, size_bytes: int, max_timestamp: int, last_offset: int, wall_ms: int, config: LogConfig
    ) -> bool:
        """Whether the segment must be rolled before a batch is appended.

        ``segment.ms`` is measured from the first batch to the new one by the timestamps in the
        batches, so that all replicas roll at the same offsets; the wall clock is used only if the
        first batch has no timestamp.
        """
        size = self.size
        if size + size_bytes > config.segment_bytes or self.is_full:
            return True
        if last_offset - self.base_offset > MAX_RELATIVE_OFFSET:
            return True
        if size == 0:
            return False
        first = self._first_timestamp
        if first == _UNKNOWN:
            first = self._load_first_timestamp()
        waited_ms = max_timestamp - first if first >= 0 else wall_ms - self.created_ms
        return waited_ms > config.segment_ms - self.roll_jitter_ms or (
            waited_ms > config.max_compaction_lag_ms - self.roll_jitter_ms and config.is_compacted
        )

    def is_overdue(self, wall_ms: int, config: LogConfig) -> bool:
        """Whether the segment should be rolled even if nothing is appended to it.

        Its age is measured from the timestamp of its first batch, but not from before this process
        created the file: otherwise copying old records into a topic would roll it at every check.
        """
        if self.size == 0:
            return False
        began_ms = self.first_timestamp
        if began_ms < 0 or self._is_new:
            began_ms = max(began_ms, self.created_ms)
        return wall_ms - began_ms > config.max_segment_ms - self.roll_jitter_ms

    def become_inactive(self) -> None:
        """Write the indexes of a segment that gets no more appends.

        The largest timestamp is added to the time index, because retention depends on it.
        """
        self._write_largest_timestamp()
        self.offset_index.write()
        self.time_index.write()

    def _write_largest_timestamp(self) -> None:
        if self._max_timestamp >= 0:
            self.time_index.maybe_append(self._max_timestamp, self._offset_of_max_timestamp)

    # -- lookups --

    def find(self, offset: int, from_position: int = 0) -> BatchPosition | None:
        """The first batch that ends at or after ``offset``; None if there is none in this segment.

        ``from_position`` is a batch boundary at or before it.
        """
        if offset > self.base_offset:
            from_position = max(from_position, self.offset_index.lookup(offset)[1])
        try:
            return find_batch(self.log, offset, from_position, self.size)
        except CorruptSegment as error:
            self._checked_bytes().report(error, self.size)
            raise

    def verify(self, start: int, end: int) -> int:
        """How far readers may read from the batch boundary ``start`` towards ``end``.

        Bytes written by this process, or checked before (``checked_bytes``), cost nothing. The
        result is less than ``end`` only if there is a corrupt batch in between.

        Raises:
            CorruptSegment: the batch at ``start`` is corrupt.
        """
        if start >= self._trusted_from:
            return end
        checked = self._checked_bytes()
        try:
            return checked.check(start, end, self._trusted_from)
        except CorruptSegment as error:
            checked.report(error, self.size)
            raise

    def _checked_bytes(self) -> CheckedBytes:
        if self._checked is None:
            self._checked = CheckedBytes(self.log, self.base_offset)
        return self._checked

    def check_indexes(self, *, has_txn_index: bool = True) -> None:
        """Check the indexes for obvious damage with a few small reads.

        ``has_txn_index=False`` means that there is no transaction index, as in most logs, and saves
        its check.

        Raises:
            CorruptIndex: they must be rebuilt.
            FileNotFoundError: one of them is missing.
        """
        if self._disk.size(self.time_index.path):
            self.time_index.sanity_check()
        if has_txn_index:
            self.txn_index.sanity_check()
        else:
            self.txn_index.note_absent()
        if self._disk.size(self.offset_index.path):
            self.offset_index.sanity_check()
            self._check_last_position()
        self.release_memory()

    def _check_last_position(self) -> None:
        if self.offset_index.entries:
            _, position = self.offset_index.lookup(self.base_offset + MAX_RELATIVE_OFFSET)
            if position >= self.size:
                raise CorruptIndex(
                    f"{self.offset_index.path} points to {position}, beyond the {self.size} bytes "
                    "of its segment"
                )

    def next_offset(self) -> int:
        """The offset after the last one in the segment; its base offset if it is empty."""
        next_offset = self.base_offset
        if self.size == 0:
            return next_offset
        _, position = self.offset_index.lookup(next_offset + MAX_RELATIVE_OFFSET)
        for _, header in iter_batches(self.log, position, self.size):
            next_offset = header.next_offset
        return next_offset

    @property
    def max_timestamp(self) -> int:
        """The largest timestamp of a batch; -1 if there is none."""
        if self._max_timestamp == _UNKNOWN:
            self._load_max_timestamp()
        return self._max_timestamp

    @property
    def offset_of_max_timestamp(self) -> int:
        """The last offset of the first batch with the largest timestamp."""
        if self._max_timestamp == _UNKNOWN:
            self._load_max_timestamp()
        return self._offset_of_max_timestamp

    @property
    def largest_timestamp(self) -> int:
        """The timestamp for retention: the largest one, or the file's modification time."""
        largest = self.max_timestamp
        return largest if largest >= 0 else self._disk.modified_ms(self.log.path)

    def _load_max_timestamp(self) -> None:
        self._max_timestamp, self._offset_of_max_timestamp = self.time_index.last_entry

    @property
    def first_timestamp(self) -> int:
        """The timestamp of the first batch; -1 if it has none or the segment is empty."""
        if self._first_timestamp == _UNKNOWN:
            return self._load_first_timestamp()
        return self._first_timestamp

    def _load_first_timestamp(self) -> int:
        for _, header in iter_batches(self.log, 0, self.size):
            self._first_timestamp = header.max_timestamp
            return self._first_timestamp
        return -1

    # -- rebuilding and truncating --

    def begin_rebuild(self) -> None:
        """Reset the indexes; every valid batch must then be passed to ``rebuild_with``."""
        self.offset_index.reset()
        self.time_index.reset()
        self.txn_index.reset()
        self._bytes_since_index_entry = 0
        self._max_timestamp = -1
        self._offset_of_max_timestamp = self.base_offset
        self._first_timestamp = _UNKNOWN
        self.is_full = False

    def rebuild_with(self, position: int, header: BatchHeader) -> None:
        """Add the next batch, which is at ``position``."""
        self._note_batch(position, header.last_offset, header.max_timestamp)
        self._bytes_since_index_entry += header.size_bytes

    def rebuild_with_batches(
        self,
        start: int,
        size_bytes: int,
        positions: Sequence[int],
        last_offsets: Sequence[int],
        max_timestamps: Sequence[int],
        offsets_of_max: Sequence[int],
    ) -> None:
        """Add the next batches, ``size_bytes`` in total; the first is at ``start``.

        For each batch: its position relative to ``start``; its last offset; the largest timestamp
        of the batches up to it; and the last offset of the batch with that timestamp. The cost is
        per index entry, of which there may be far fewer than batches.
        """
        interval = self._index_interval_bytes
        entry = bisect_right(positions, interval - self._bytes_since_index_entry)
        while entry < len(positions):
            position = positions[entry]
            self._keep_largest(max_timestamps[entry], offsets_of_max[entry])
            self._add_index_entries(last_offsets[entry], start + position)
            # The bytes after an entry are counted from its batch.
            self._bytes_since_index_entry = -position
            entry = bisect_right(positions, position + interval, entry + 1)
        if positions:
            self._keep_largest(max_timestamps[-1], offsets_of_max[-1])
        self._bytes_since_index_entry += size_bytes

    def end_rebuild(self, valid_bytes: int, checked_from: int = 0) -> int:
        """Truncate the log after the last valid batch; returns the number of bytes removed.

        Batches from ``checked_from`` on had their CRCs checked.
        """
        cut = self.size - valid_bytes
        if cut > 0:
            self.log.truncate(valid_bytes)
            self.size = valid_bytes
        self._trusted_from = checked_from
        self.become_inactive()
        return cut

    def truncate_to(self, offset: int, wall_ms: int) -> int:
        """Remove all batches that reach ``offset``; returns the number of bytes removed.

        Nothing is appended to the file afterwards. A region of it that is being sent then ends
        early, which its reader notices, and never shows other batches than those it was made of
        (KAFKA-18723).
        """
        found = self.find(offset)
        self.offset_index.truncate_to(offset)
        self.time_index.truncate_to(offset)
        self.txn_index.truncate_to(offset)
        cut = 0
        if found is not None:
            cut = self.size - found.position
            self.log.truncate(found.position)
            self.size = found.position
            self._trusted_from = min(self._trusted_from, self.size)
            self.is_cut = self.is_full = True
            if self._checked is not None:
                self._checked.forget()
        if self.size == 0:
            self.created_ms = wall_ms
            self._first_timestamp = _UNKNOWN
        self._bytes_since_index_entry = 0
        self._find_largest_timestamp()
        return cut

    def _find_largest_timestamp(self) -> None:
        """Scan all batches after the last time index entry."""
        self._load_max_timestamp()
        _, position = self.offset_index.lookup(self._offset_of_max_timestamp)
        for _, header in iter_batches(self.log, position, self.size):
            if header.max_timestamp > self._max_timestamp:
                self._max_timestamp = header.max_timestamp
                self._offset_of_max_timestamp = header.last_offset

    # -- files --

    def flush_log(self) -> None:
        """Make the batches durable. Safe in another thread during appends.

        After a crash the indexes of the segment with the recovery point are always rebuilt, so only
        ``flush`` of an inactive segment makes them durable.
        """
        self.log.fsync()

    def flush(self) -> None:
        """Make an inactive segment durable, including its indexes."""
        self.log.fsync()
        self.offset_index.flush()
        self.time_index.flush()
        self.txn_index.flush()

    def close(self) -> None:
        """Write what is only in memory and close the files.

        Indexes that were in use become durable: after a clean shutdown they are trusted.
        """
        self._write_largest_timestamp()
        self.offset_index.flush()
        self.time_index.flush()
        self.txn_index.flush_changes()
        self.offset_index.close()
        self.time_index.close()
        self.txn_index.close()
        self.log.close()

    def release_memory(self) -> None:
        """Release memory that can be read again from the index files."""
        self.offset_index.release()
        self.time_index.release()

    def moved(self, directory: str) -> None:
        """Update paths after the directory was renamed to ``directory``."""
        prefix = f"{directory}/{self.base_offset:020d}"
        self.log.moved(prefix + LOG_SUFFIX)
        self.offset_index.moved(prefix + INDEX_SUFFIX)
        self.time_index.moved(prefix + TIME_INDEX_SUFFIX)
        self.txn_index.moved(prefix + TXN_INDEX_SUFFIX)

    def mark_deleted(self) -> None:
        """Rename the files to ``.deleted``; readers that hold a region can still read it."""
        self.log.rename(self.log.path + DELETED_SUFFIX)
        self.offset_index.rename(self.offset_index.path + DELETED_SUFFIX)
        self.time_index.rename(self.time_index.path + DELETED_SUFFIX)
        self.txn_index.rename(self.txn_index.path + DELETED_SUFFIX)

    def change_suffix(self, old: str, new: str) -> None:
        """Replace a suffix of all file names with another, the log first."""
        self.log.rename(self.log.path.removesuffix(old) + new)
        for index in (self.offset_index, self.time_index, self.txn_index):
            index.rename(index.path.removesuffix(old) + new)

    def remove_files(self) -> None:
        """Delete the files; missing ones are not an error."""
        self.log.close()
        self._disk.remove(self.log.path, missing_ok=True)
        self.offset_index.remove()
        self.time_index.remove()
        self.txn_index.remove()
