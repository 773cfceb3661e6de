"""The segment that a pass of the cleaner writes, from its first byte to its swap.

It lies beside the segments it is made from, under the suffix ``.cleaned``, until it is whole
and on the device; a crash before that costs the work and nothing else. Then its files are
renamed to ``.swap``: from that moment on it is worth more than its sources, and a start
that finds it so finishes what follows (``leftovers``). The sources are put away as deleted
segments are, and the suffix goes.

Name changes in one directory reach the device in the order in which they were made, on the
simulated disk and on the file systems that keep a journal. So no sync is needed between
them, and only the last step must be durable before the checkpoint tells of it.
"""

from dataclasses import replace
from typing import Final

from moldau.config.topic import LogConfig
from moldau.record.header import Buffer
from moldau.record.run_filter import WrittenBatches
from moldau.storage.batch_cleaner import CleanedBatch
from moldau.storage.disk import Disk
from moldau.storage.leftovers import CLEANED_SUFFIX
from moldau.storage.segment import (
    INDEX_SUFFIX,
    LOG_SUFFIX,
    TIME_INDEX_SUFFIX,
    TXN_INDEX_SUFFIX,
    Segment,
    segment_path,
)

# Batches are gathered up to this size and written at once.
_WRITE_BYTES: Final = 512 * 1024
# As many as one call to the operating system takes.
_MOST_PARTS: Final = 1024


class CleanedSegment:
    """Takes cleaned batches and becomes a segment. Used by the cleaner's thread only."""

    def __init__(
        self, disk: Disk, directory: str, base_offset: int, config: LogConfig, now_ms: int
    ) -> None:
        """Raises OSError."""
        self._disk = disk
        self._directory = directory
        self._parts: list[Buffer] = []
        self._parts_bytes = 0
        self._end = 0
        # What an earlier pass, which was aborted, may have failed to remove.
        remove_cleaned(disk, directory, base_offset)
        self.segment = Segment(
            disk,
            directory,
            base_offset,
            replace(config, preallocate=False),
            now_ms,
            create=True,
            file_suffix=CLEANED_SUFFIX,
        )

    @property
    def size_bytes(self) -> int:
        return self._end

    def append(self, batch: CleanedBatch | WrittenBatches) -> None:
        """Add a batch, or many; they may stay in memory for a while. Raises OSError."""
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
        """Everything on the device; the segment is as old as what it was made from.

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
        """Give the descriptors back; whoever uses the segment opens it for himself."""
        self.segment.log.close()
        self.segment.txn_index.close()


def open_cleaned(
    disk: Disk, directory: str, base_offset: int, config: LogConfig, now_ms: int
) -> Segment:
    """The segment that ``CleanedSegment.finish`` left, for whoever did not make it himself.

    Raises OSError.
    """
    segment = Segment(disk, directory, base_offset, config, now_ms, file_suffix=CLEANED_SUFFIX)
    # Its bytes are as good as those this process has written: nobody need check them again.
    segment.end_rebuild(segment.size)
    return segment


def remove_cleaned(disk: Disk, directory: str, base_offset: int) -> None:
    """Remove the files of a cleaned segment that nobody wants. Raises OSError."""
    for suffix in (LOG_SUFFIX, INDEX_SUFFIX, TIME_INDEX_SUFFIX, TXN_INDEX_SUFFIX):
        path = segment_path(directory, base_offset, suffix + CLEANED_SUFFIX)
        disk.remove(path, missing_ok=True)
