"""The long steps of a pass, as self-contained orders.

Reading the dirty part of a log and writing the remainder of a group of segments are nearly all of
the work. Both need files, numbers and settings, but not the log that is open in the broker. So an
order contains them, and the thread or process (``cleaning_process``) that executes it opens the
files itself.

Rules this module keeps:

* A source is read by its path, and only while its log is being cleaned: it is never renamed without
  aborting the cleaning first.
* A cleaned segment is complete and durable before its size is returned.
"""

from collections.abc import Iterator, Sequence
from dataclasses import fields
from typing import Any, NamedTuple, Protocol

from moldau.config.topic import LogConfig
from moldau.record.offset_map import OffsetMap
from moldau.storage.cleaner.batch_cleaner import BatchCleaner, LastRecord
from moldau.storage.cleaner.chunk_walk import ChunkWalk
from moldau.storage.cleaner.cleaned_segment import CleanedSegment
from moldau.storage.cleaner.cleaned_transactions import CleanedTransactions
from moldau.storage.cleaner.cleaning import Transfers
from moldau.storage.cleaner.offset_map_builder import DirtySegment, fill_offset_map
from moldau.storage.disk.disk import Disk
from moldau.storage.index.txn_index import AbortedTxn


class CleanerMemory(NamedTuple):
    """The memory limits of one cleaner."""

    offset_map_bytes: int
    load_factor: float
    read_bytes: int


class DirtyPart(NamedTuple):
    """Like ``DirtySegment``, but with a path instead of an open file."""

    path: str
    start: int
    size: int
    first_offset: int
    end_offset: int


class FillOrder(NamedTuple):
    """Collect the last offset of every key, from ``from_offset`` on."""

    memory: CleanerMemory
    parts: Sequence[DirtyPart]
    # The transactions that overlap these parts.
    aborted: Sequence[AbortedTxn]
    from_offset: int
    # Random bytes for the hash of the keys.
    seed: bytes


class RulesOrder(NamedTuple):
    """The rules for keeping records, apart from the offset map; see ``BatchCleaner``."""

    aborted: Sequence[AbortedTxn]
    last_records: dict[int, LastRecord]
    # The fields of a ``LogConfig``.
    config: dict[str, Any]
    upper_bound_offset: int
    wall_ms: int


class Source(NamedTuple):
    """A segment to be cleaned."""

    path: str
    size: int
    base_offset: int


class CleanOrder(NamedTuple):
    """Write the remainder of ``sources`` into one segment with the suffix ``.cleaned``."""

    directory: str
    sources: Sequence[Source]


class Cleaned(NamedTuple):
    """The result of a ``CleanOrder``; record counts are totals since the first group."""

    size_bytes: int
    records_read: int
    records_kept: int


class PassWork(Protocol):
    """Executes the orders of one pass: a fill, the rules, then the groups one by one.

    ``fill`` and ``clean`` may take long, and raise CleaningAborted, CorruptSegment, CorruptBatch,
    ValueError and OSError.
    """

    def fill(self, order: FillOrder, cleaning: Transfers) -> int:
        """Returns the offset up to which the offset map is filled."""
        ...

    def take_rules(self, order: RulesOrder) -> None: ...

    def clean(self, order: CleanOrder, cleaning: Transfers) -> Cleaned: ...

    def close(self) -> None:
        """Release the memory. Idempotent."""
        ...


class LocalWork:
    """Does the work in the calling thread."""

    def __init__(self, disk: Disk) -> None:
        self._disk = disk
        self._offset_map: OffsetMap | None = None
        self._read_bytes = 0

    def fill(self, order: FillOrder, cleaning: Transfers) -> int:
        memory = order.memory
        self._read_bytes = memory.read_bytes
        self._offset_map = OffsetMap(memory.offset_map_bytes, memory.load_factor, seed=order.seed)
        return fill_offset_map(
            self._offset_map,
            self._opened(order.parts),
            CleanedTransactions(list(order.aborted)),
            order.from_offset,
            cleaning,
            memory.read_bytes,
        )

    def take_rules(self, order: RulesOrder) -> None:
        assert self._offset_map is not None, "the offset map is filled first"
        self._config = LogConfig(**order.config)
        self._wall_ms = order.wall_ms
        self._cleaner = BatchCleaner(
            self._offset_map,
            CleanedTransactions(list(order.aborted)),
            order.last_records,
            self._config,
            upper_bound_offset=order.upper_bound_offset,
            wall_ms=order.wall_ms,
        )

    def clean(self, order: CleanOrder, cleaning: Transfers) -> Cleaned:
        cleaner = self._cleaner
        sources = order.sources
        target = CleanedSegment(
            self._disk, order.directory, sources[0].base_offset, self._config, self._wall_ms
        )
        try:
            for source in sources:
                self._clean_source(source, target, cleaning)
            size_bytes = target.finish(self._disk.modified_ms(sources[-1].path)).size
        finally:
            target.close()
        return Cleaned(size_bytes, cleaner.records_read, cleaner.records_kept)

    def _clean_source(self, source: Source, target: CleanedSegment, cleaning: Transfers) -> None:
        file = self._disk.open(source.path)
        try:
            walk = ChunkWalk(file, 0, source.size, source.base_offset, self._read_bytes)
            while walk.read():
                size_before = target.size_bytes
                clean_chunk(walk, self._cleaner, target)
                cleaning.transferred(walk.at + target.size_bytes - size_before)
        finally:
            file.close()

    def close(self) -> None:
        if self._offset_map is not None:
            self._offset_map.clear()

    def _opened(self, parts: Sequence[DirtyPart]) -> Iterator[DirtySegment]:
        for part in parts:
            file = self._disk.open(part.path)
            try:
                yield DirtySegment(file, part.start, part.size, part.first_offset, part.end_offset)
            finally:
                file.close()


def config_fields(config: LogConfig) -> dict[str, Any]:
    """The settings of a log in a form that can be pickled."""
    return {field.name: getattr(config, field.name) for field in fields(config)}


def clean_chunk(walk: ChunkWalk, cleaner: BatchCleaner, target: CleanedSegment) -> None:
    """Write the remainder of a chunk."""
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
