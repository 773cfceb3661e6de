"""The segment that a cleaning pass writes, from its creation to its swap.

It has the suffix ``.cleaned`` until it is complete and durable; a crash before that costs only the
work. Then its files are renamed to ``.swap``: from then on it takes precedence over its source
segments, and a startup that finds it completes the swap (``leftovers``). The sources are then
treated like deleted segments, and the suffix is removed.

Renames in one directory reach the device in order, on the simulated disk and on journaling file
systems. So no sync is needed between them, and only the last step must be durable before the
checkpoint is written.
"""

from dataclasses import replace
from typing import Final

from moldau.config.topic import LogConfig
from moldau.record.header import Buffer
from moldau.record.run_filter import WrittenBatches
from moldau.storage.cleaner.batch_cleaner import CleanedBatch
from moldau.storage.disk.disk import Disk
from moldau.storage.log.leftovers import CLEANED_SUFFIX
from moldau.storage.log.segment import (
    INDEX_SUFFIX,
    LOG_SUFFIX,
    TIME_INDEX_SUFFIX,
    TXN_INDEX_SUFFIX,
    Segment,
    segment_path,
)

# Batches are collected up to this size and written at once.
_WRITE_BYTES: Final = 512 * 1024
# The maximum for one call to the operating system.
_MOST_PARTS: Final = 1024


class CleanedSegment:
    """Collects cleaned batches into a segment. Used only by the cleaner's thread."""

    def __init__(
        self, disk: Disk, directory: str, base_offset: int, config: LogConfig, wall_ms: int
    ) -> None:
        """Raises OSError."""
        self._disk = disk
        self._directory = directory
        self._parts: list[Buffer] = []
        self._parts_bytes = 0
        self._end = 0
        # Files of an aborted pass that may not have been removed.
        remove_cleaned(disk, directory, base_offset)
        self.segment = Segment(
            disk,
            directory,
            base_offset,
            replace(config, preallocate=False),
            wall_ms,
            create=True,
            file_suffix=CLEANED_SUFFIX,
        )

    @property
    def size_bytes(self) -> int:
        return self._end

    def append(self, batch: CleanedBatch | WrittenBatches) -> None:
        """Add one or more batches; they may be buffered in memory. Raises OSError."""
        if isinstance(batch, CleanedBatch):
            self.segment.rebuild_with(self._end, batch.header)
            if batch.aborted_txn is not None:
                self.segment.txn_index.append(batch.aborted_txn)
        else:
            self.segment.rebuild_with_batches(
                self._end,
                len(batch.data),
                batch.position,
                batch.last_offset,
                batch.largest_timestamp,
                batch.offset_of_largest,
            )
        self._parts.append(batch.data)
        self._parts_bytes += len(batch.data)
        self._end += len(batch.data)
        if self._parts_bytes >= _WRITE_BYTES or len(self._parts) == _MOST_PARTS:
            self._write()

    def _write(self) -> None:
        if self._parts:
            self.segment.log.append(self._parts)
            self._parts = []
            self._parts_bytes = 0

    def finish(self, modified_ms: int) -> Segment:
        """Make everything durable; the segment gets the modification time of its sources.

        Raises OSError.
        """
        self._write()
        segment = self.segment
        segment.size = self._end
        segment.end_rebuild(self._end)
        segment.flush()
        self._disk.set_modified_ms(segment.log.path, modified_ms)
        segment.release_memory()
        return segment

    def close(self) -> None:
        """Close the files; users of the segment open them again."""
        self.segment.log.close()
        self.segment.txn_index.close()


def open_cleaned(
    disk: Disk, directory: str, base_offset: int, config: LogConfig, wall_ms: int
) -> Segment:
    """Open the result of ``CleanedSegment.finish``, possibly of another process.

    Raises OSError.
    """
    segment = Segment(disk, directory, base_offset, config, wall_ms, file_suffix=CLEANED_SUFFIX)
    # Its bytes are trusted as if this process had written them.
    segment.end_rebuild(segment.size)
    return segment


def remove_cleaned(disk: Disk, directory: str, base_offset: int) -> None:
    """Remove the files of an unused cleaned segment. Raises OSError."""
    for suffix in (LOG_SUFFIX, INDEX_SUFFIX, TIME_INDEX_SUFFIX, TXN_INDEX_SUFFIX):
        path = segment_path(directory, base_offset, suffix + CLEANED_SUFFIX)
        disk.remove(path, missing_ok=True)
