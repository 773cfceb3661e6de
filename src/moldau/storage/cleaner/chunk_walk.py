"""Scanning a segment between two batch boundaries in chunks of many batches.

The record kernel takes runs of plain batches from a chunk (``batch_run``); the batch at which a run
ended is taken individually, and the kernel continues after it. Both check every byte, so damaged
batches are never part of a run, and are reported here.
"""

from moldau.record.batch_run import BatchRun, find_run
from moldau.record.header import BatchHeader
from moldau.storage.disk.disk import DiskFile
from moldau.storage.log.batch_scan import read_chunk, valid_batch


class ChunkWalk:
    """The position of a scan: ``chunk[at]`` is the first byte of the next batch."""

    __slots__ = ("_chunk_bytes", "_end", "_file", "_next_offset", "_position", "at", "chunk")

    def __init__(
        self, file: DiskFile, start: int, end: int, next_offset: int, chunk_bytes: int
    ) -> None:
        """``next_offset`` is the smallest valid base offset of the first batch."""
        self._file = file
        self._position = start
        self._end = end
        self._next_offset = next_offset
        self._chunk_bytes = chunk_bytes
        self.chunk = b""
        self.at = 0

    def read(self) -> bool:
        """Read the next chunk when this one is used up; False at the end.

        Raises:
            CorruptSegment, OSError.
        """
        self._position += self.at
        self.at = 0
        if self._position >= self._end:
            self.chunk = b""
            return False
        self.chunk = read_chunk(self._file, self._position, self._end, self._chunk_bytes)
        return True

    def take_run(self) -> BatchRun | None:
        """The run of plain batches at the current position, if there is one."""
        run = find_run(self.chunk, self.at, self._next_offset)
        if run is not None:
            self.at = run.end
            self._next_offset = run.next_offset
        return run

    def take_batch(self) -> tuple[int, BatchHeader] | None:
        """Position and header of the next batch, of any kind; None if the chunk is used up.

        Raises:
            CorruptSegment, OSError.
        """
        at = self.at
        header = valid_batch(
            self._file, self.chunk, at, self._position, self._end, self._next_offset
        )
        if header is None:
            return None
        self.at = at + header.size_bytes
        self._next_offset = header.next_offset
        return at, header
