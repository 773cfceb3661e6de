"""One cleaning pass over one log.

The pass is written as one generator that runs in two places: the work that ``run`` yields is done
by a thread, and everything between two yields by the thread that owns the log. So reading and
writing gigabytes does not block the owner, while the list of segments is read and changed only on
the owner's thread, without races.

    owner     collect segments, transactions and producers
    thread    read the dirty part, collect the last offset of every key   (the offset map)
    thread    flush everything that was read, if needed
    owner     group the segments
    thread    write the remainder of a group into one ``.cleaned`` segment ─┐ for
    owner     swap it in                                                    │ every
    thread    make the renames durable                                     ─┘ group

Rules this module keeps:

* If the map cannot hold all keys of a log, the log is cleaned as far as the map reaches: the rest
  stays dirty, and the next pass begins there.
* A record is removed only after the record that supersedes it is durable: segments may be rolled,
  or found after a crash, long before they are flushed, and a power failure that lost the later
  record would leave neither.
* Batches are checked (CRC) before they are used; damage ends the pass and is reported, and is never
  copied.
* If the pass ends early, for whatever reason, it leaves no files behind.
"""

import contextlib
from collections.abc import Callable, Generator, Sequence
from typing import Any, NamedTuple, TypeAlias

from moldau.storage.cleaner.batch_cleaner import LastRecord
from moldau.storage.cleaner.cleaned_segment import open_cleaned, remove_cleaned
from moldau.storage.cleaner.cleaner_offsets import DirtyLog
from moldau.storage.cleaner.cleaning import Cleaning
from moldau.storage.cleaner.cleaning_work import (
    Cleaned,
    CleanerMemory,
    CleanOrder,
    DirtyPart,
    FillOrder,
    PassWork,
    RulesOrder,
    Source,
    config_fields,
)
from moldau.storage.cleaner.segment_groups import SegmentSizes, group_segments
from moldau.storage.cleaner.segment_swap import SegmentSwap
from moldau.storage.disk.disk import Disk
from moldau.storage.index.txn_index import AbortedTxn
from moldau.storage.log.partition_log import PartitionLog
from moldau.storage.log.segment import Segment


class CleanerStats(NamedTuple):
    """The result of a pass. The clean part of the log now ends at ``end_offset``."""

    end_offset: int
    bytes_read: int
    bytes_written: int
    records_read: int
    records_kept: int
    segments_before: int
    segments_after: int


Work: TypeAlias = Callable[[], Any]
Steps: TypeAlias = Generator[Work, Any, CleanerStats]


class CleaningPass:
    """Cleans one log up to ``dirty.first_uncleanable_offset``, or as far as the map reaches."""

    def __init__(
        self,
        log: PartitionLog,
        dirty: DirtyLog,
        disk: Disk,
        cleaning: Cleaning,
        memory: CleanerMemory,
        work: PassWork,
        wall_ms: int,
        seed: bytes,
    ) -> None:
        """On the owner's thread, like everything except the work that ``run`` yields."""
        self._log = log
        self._dirty = dirty
        self._disk = disk
        self._cleaning = cleaning
        self._memory = memory
        self._work = work
        self._wall_ms = wall_ms
        self._seed = seed
        # The settings of the log when the pass began; changes take effect in the next pass.
        self._config = log.config
        self._directory = log.directory
        self._segments = [
            segment
            for segment in log.segments
            if segment.base_offset < dirty.first_uncleanable_offset
        ]

    def run(self) -> Steps:
        """The steps. Yielded work must be called in a thread and its result sent back.

        Raises:
            CleaningAborted, CorruptSegment, CorruptBatch, ValueError, ApiError, OSError.
        """
        first_dirty = self._dirty.first_dirty_offset
        filling = FillOrder(
            self._memory,
            self._dirty_parts(),
            self._aborted_from(first_dirty),
            first_dirty,
            self._seed,
        )
        work = self._work
        try:
            end_offset: int = yield lambda: work.fill(filling, self._cleaning)
            if self._log.recovery_point < end_offset:
                yield self._log.flush_elsewhere(end_offset)
                self._cleaning.check()
            segments = [segment for segment in self._segments if segment.base_offset < end_offset]
            groups = self._groups(segments)
            rules = self._rules(segments[0].base_offset)
            yield lambda: work.take_rules(rules)
            bytes_written = 0
            cleaned = Cleaned(0, 0, 0)
            for group in groups:
                cleaned = yield from self._replace(group)
                bytes_written += cleaned.size_bytes
        except BaseException:
            work.close()
            raise
        # In a thread, because releasing that many pages takes milliseconds.
        yield work.close
        return CleanerStats(
            end_offset=end_offset,
            bytes_read=sum(segment.size for segment in segments),
            bytes_written=bytes_written,
            records_read=cleaned.records_read,
            records_kept=cleaned.records_kept,
            segments_before=len(segments),
            segments_after=len(groups),
        )

    def _dirty_parts(self) -> list[DirtyPart]:
        first_dirty = self._dirty.first_dirty_offset
        ends = [segment.base_offset for segment in self._segments[1:]]
        ends.append(self._dirty.first_uncleanable_offset)
        found: list[DirtyPart] = []
        for segment, end_offset in zip(self._segments, ends, strict=True):
            if end_offset <= first_dirty:
                continue
            start, first_offset = 0, segment.base_offset
            if segment.base_offset < first_dirty:
                place = segment.find(first_dirty)
                start = place.position if place is not None else segment.size
                first_offset = place.base_offset if place is not None else end_offset
            path = segment.log.path
            found.append(DirtyPart(path, start, segment.size, first_offset, end_offset))
        return found

    def _aborted_from(self, start_offset: int) -> list[AbortedTxn]:
        end_offset = self._dirty.first_uncleanable_offset
        return self._log.aborted_transactions(start_offset, end_offset)

    def _rules(self, start_offset: int) -> RulesOrder:
        return RulesOrder(
            self._aborted_from(start_offset),
            self._last_records(),
            config_fields(self._config),
            self._dirty.first_uncleanable_offset,
            self._wall_ms,
        )

    def _last_records(self) -> dict[int, LastRecord]:
        return {
            entry.producer_id: LastRecord(entry.last_offset, entry.epoch)
            for entry in self._log.producers.active_producers()
        }

    def _groups(self, segments: Sequence[Segment]) -> list[Sequence[Segment]]:
        sizes = [
            SegmentSizes(
                segment.base_offset,
                segment.size,
                self._disk.size(segment.offset_index.path),
                self._disk.size(segment.time_index.path),
            )
            for segment in segments
        ]
        following = self._segments[len(segments) :]
        end_offset = following[0].base_offset if following else self._dirty.first_uncleanable_offset
        config = self._config
        groups = group_segments(sizes, end_offset, config.segment_bytes, config.segment_index_bytes)
        return [segments[group.start : group.stop] for group in groups]

    def _replace(self, group: Sequence[Segment]) -> Generator[Work, Any, Cleaned]:
        """Clean a group of segments into one, and replace them with it."""
        order = CleanOrder(
            self._directory,
            [Source(segment.log.path, segment.size, segment.base_offset) for segment in group],
        )
        is_swapped = False
        try:
            cleaned, segment = yield lambda: self._clean(order)
            self._cleaning.check()
            is_swapped = True
            swap = SegmentSwap(self._log, segment, group)
            while self._cleaning.go_on_with(swap):
                yield swap.work
        finally:
            if not is_swapped:
                with contextlib.suppress(OSError):
                    remove_cleaned(self._disk, self._directory, group[0].base_offset)
        yield lambda: self._disk.sync_dir(self._directory)
        assert isinstance(cleaned, Cleaned)
        return cleaned

    def _clean(self, order: CleanOrder) -> tuple[Cleaned, Segment]:
        """In the thread: the remainder of a group as a durable segment."""
        cleaned = self._work.clean(order, self._cleaning)
        base_offset = order.sources[0].base_offset
        segment = open_cleaned(
            self._disk, self._directory, base_offset, self._config, self._wall_ms
        )
        return cleaned, segment
