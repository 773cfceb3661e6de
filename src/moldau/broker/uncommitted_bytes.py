"""How many bytes of a log are above its high watermark.

A waiting fetch of a consumer counts what becomes readable. When the high watermark moves, that is
the size of the batches that it has passed, so they are remembered until then.
"""

from collections import deque
from typing import Final

# How many batches are counted one by one, per partition.
MAX_COUNTED_BATCHES: Final = 1000


class UncommittedBytes:
    """The batches above the high watermark of one partition, with their total size."""

    __slots__ = ("_batches", "total")

    def __init__(self) -> None:
        # Each with the offset after it, and its size.
        self._batches: deque[tuple[int, int]] = deque()
        self.total = 0

    @property
    def is_empty(self) -> bool:
        return not self._batches

    def add(self, end_offset: int, size_bytes: int) -> None:
        """Count a batch that was appended and ends before ``end_offset``."""
        batches = self._batches
        self.total += size_bytes
        if len(batches) >= MAX_COUNTED_BATCHES:
            # The bytes of the batch before count only with this one.
            size_bytes += batches.pop()[1]
        batches.append((end_offset, size_bytes))

    def committed(self, high_watermark: int) -> None:
        """Count the batches below ``high_watermark`` no more."""
        batches = self._batches
        while batches and batches[0][0] <= high_watermark:
            self.total -= batches.popleft()[1]

    def clear(self) -> None:
        self._batches.clear()
        self.total = 0
