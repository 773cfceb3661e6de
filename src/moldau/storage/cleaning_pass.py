"""One pass of the cleaner over one log.

The pass is written as one story, but told in two places: what ``run`` yields is done by a
thread, and everything between two yields on the thread that owns the log. So reading and
writing gigabytes holds nobody up, while every look at the list of segments and every
change of it is made where nothing else can happen at the same time.

    owner     which segments, which transactions, which producers
    thread    read the dirty part, gather the last offset of every key   (the offset map)
    owner     group the segments
    thread    write what is left of a group into one ``.cleaned`` segment ─┐ for
    owner     swap it in                                                   │ every
    thread    make the names durable                                      ─┘ group

Rules this module keeps:

* A log of which the map cannot hold all keys is cleaned as far as the map reaches: the
  rest stays dirty, and the next pass begins there.
* Batches are checked (CRC) before they are believed; damage ends the pass and is reported,
  it is never copied.
* If the pass ends early, for whatever reason, no file of its own is left behind.
"""

import contextlib
from collections.abc import Callable, Generator, Sequence
from typing import Any, NamedTuple, TypeAlias

from moldau.record.offset_map import OffsetMap
from moldau.storage.batch_cleaner import BatchCleaner, LastRecord
from moldau.storage.chunk_walk import ChunkWalk
from moldau.storage.cleaned_segment import CleanedSegment, remove_cleaned
from moldau.storage.cleaned_transactions import CleanedTransactions
from moldau.storage.cleaner_offsets import DirtyLog
from moldau.storage.cleaning import Cleaning, CleaningAborted
from moldau.storage.disk import Disk
from moldau.storage.offset_map_builder import DirtySegment, fill_offset_map
from moldau.storage.partition_log import PartitionLog
from moldau.storage.segment import Segment
from moldau.storage.segment_groups import SegmentSizes, group_segments
from moldau.storage.segment_swap import SegmentSwap


class CleanerMemory(NamedTuple):
    """What one cleaner may use."""

    offset_map_bytes: int
    load_factor: float
    read_bytes: int


class CleanerStats(NamedTuple):
    """What a pass did. The clean part of the log ends at ``end_offset`` now."""

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
        now_ms: int,
    ) -> None:
        """On the owner's thread, as all else but what ``run`` yields."""
        self._log = log
        self._dirty = dirty
        self._disk = disk
        self._cleaning = cleaning
        self._memory = memory
        self._now_ms = now_ms
        # The settings of the log when the pass began; a change of them waits for the next.
        self._config = log.config
        self._directory = log.directory
        self._segments = [
            segment
            for segment in log.segments
            if segment.base_offset < dirty.first_uncleanable_offset
        ]

    def run(self) -> Steps:
        """The steps. What is yielded must be called in a thread and its result sent back.

        Raises:
            CleaningAborted, CorruptSegment, CorruptBatch, ValueError, ApiError, OSError.
        """
        upper_bound = self._dirty.first_uncleanable_offset
        memory = self._memory
        offset_map = OffsetMap(memory.offset_map_bytes, memory.load_factor)
        dirty_segments = self._dirty_segments()
        transactions = self._transactions(self._dirty.first_dirty_offset)
        end_offset: int = yield lambda: fill_offset_map(
            offset_map,
            dirty_segments,
            transactions,
            self._dirty.first_dirty_offset,
            self._cleaning,
            memory.read_bytes,
        )

        segments = [segment for segment in self._segments if segment.base_offset < end_offset]
        groups = self._groups(segments)
        cleaner = BatchCleaner(
            offset_map,
            self._transactions(segments[0].base_offset),
            self._last_records(),
            self._config,
            upper_bound_offset=upper_bound,
            now_ms=self._now_ms,
        )
        bytes_written = 0
        for group in groups:
            cleaned = yield from self._replace(group, cleaner)
            bytes_written += cleaned.size
        # Where it is not waited for: giving so many pages back takes milliseconds.
        yield offset_map.clear
        return CleanerStats(
            end_offset=end_offset,
            bytes_read=sum(segment.size for segment in segments),
            bytes_written=bytes_written,
            records_read=cleaner.records_read,
            records_kept=cleaner.records_kept,
            segments_before=len(segments),
            segments_after=len(groups),
        )

    def _dirty_segments(self) -> list[DirtySegment]:
        first_dirty = self._dirty.first_dirty_offset
        ends = [segment.base_offset for segment in self._segments[1:]]
        ends.append(self._dirty.first_uncleanable_offset)
        found: list[DirtySegment] = []
        for segment, end_offset in zip(self._segments, ends, strict=True):
            if end_offset <= first_dirty:
                continue
            start, first_offset = 0, segment.base_offset
            if segment.base_offset < first_dirty:
                place = segment.find(first_dirty)
                start = place.position if place is not None else segment.size
                first_offset = place.base_offset if place is not None else end_offset
            found.append(DirtySegment(segment.log, start, segment.size, first_offset, end_offset))
        return found

    def _transactions(self, start_offset: int) -> CleanedTransactions:
        end_offset = self._dirty.first_uncleanable_offset
        return CleanedTransactions(self._log.aborted_transactions(start_offset, end_offset))

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

    def _replace(
        self, group: Sequence[Segment], cleaner: BatchCleaner
    ) -> Generator[Work, Any, Segment]:
        """Clean a group of segments into one, and put it in their place."""
        is_swapped = False
        try:
            cleaned: Segment = yield lambda: self._clean(group, cleaner)
            self._cleaning.check()
            if self._log.is_closed:
                raise CleaningAborted
            is_swapped = True
            swap = SegmentSwap(self._log, cleaned, group)
            while self._cleaning.go_on_with(swap):
                yield swap.work
        finally:
            if not is_swapped:
                with contextlib.suppress(OSError):
                    remove_cleaned(self._disk, self._directory, group[0].base_offset)
        yield lambda: self._disk.sync_dir(self._directory)
        return cleaned

    def _clean(self, group: Sequence[Segment], cleaner: BatchCleaner) -> Segment:
        """In the thread: what is left of ``group``, as a segment on the device."""
        target = CleanedSegment(
            self._disk, self._directory, group[0].base_offset, self._config, self._now_ms
        )
        for segment in group:
            walk = ChunkWalk(
                segment.log, 0, segment.size, segment.base_offset, self._memory.read_bytes
            )
            while walk.read():
                size_before = target.size_bytes
                clean_chunk(walk, cleaner, target)
                self._cleaning.transferred(walk.at + target.size_bytes - size_before)
        return target.finish(self._disk.modified_ms(group[-1].log.path))


def clean_chunk(walk: ChunkWalk, cleaner: BatchCleaner, target: CleanedSegment) -> None:
    """Write what is left of a chunk."""
    while True:
        run = walk.take_run()
        if run is not None:
            for part in cleaner.clean_run(run):
                target.append(part)
        found = walk.take_batch()
        if found is None:
            return
        at, header = found
        batch = cleaner.clean(header, walk.chunk, at)
        if batch is not None:
            target.append(batch)
