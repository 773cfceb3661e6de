"""From one batch boundary of a segment to another, a chunk of many batches at a time.

The record kernel takes what it can of a chunk, a run of plain batches (``batch_run``); the walk
then looks at the one batch where the run ended, and the kernel goes on behind it. Both check
every byte, so what is damaged is not taken by the kernel, and reported here.
"""

from moldau.record.batch_run import BatchRun, find_run
from moldau.record.header import BatchHeader
from moldau.storage.batch_scan import read_chunk, valid_batch
from moldau.storage.disk import DiskFile


class ChunkWalk:
    """Where a walk has come to: ``chunk[at]`` is the first byte of the next batch."""

    __slots__ = ("_chunk_bytes", "_end", "_file", "_next_offset", "_position", "at", "chunk")

    def __init__(
        self, file: DiskFile, start: int, end: int, next_offset: int, chunk_bytes: int
    ) -> None:
        """``next_offset`` is the smallest that the first batch may begin with."""
        self._file = file
        self._position = start
        self._end = end
        self._next_offset = next_offset
        self._chunk_bytes = chunk_bytes
        self.chunk = b""
        self.at = 0

    def read(self) -> bool:
        """Read the next chunk, when nothing more is to be taken of this; False at the end.

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
        """The plain batches that are next, if there are any."""
        run = find_run(self.chunk, self.at, self._next_offset)
        if run is not None:
            self.at = run.end
            self._next_offset = run.next_offset
        return run

    def take_batch(self) -> tuple[int, BatchHeader] | None:
        """The batch that is next, whatever it is, with its place; None if the chunk is used up.

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
