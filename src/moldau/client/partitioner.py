"""Which partition a record goes to, as the Java client decides it.

Records with a key go by its hash, so that equal keys share a partition whatever client
wrote them. Records without one stick to a partition until a batch is full, and then to
another: full batches, evenly spread (KIP-480).
"""

import random
from collections.abc import Sequence

from moldau.record.key_hash import murmur2


def partition_of_key(key: bytes, partition_count: int) -> int:
    """The partition that every client of the default partitioner puts ``key`` in.

    The sign bit is masked off rather than the number negated; all partitions are in reach.
    """
    return (murmur2(key) & 0x7FFFFFFF) % partition_count


class StickyPartitioner:
    """A partition for records without a key, until ``switch`` is called for its topic."""

    def __init__(self, rng: random.Random) -> None:
        self._rng = rng
        self._current: dict[str, int] = {}

    def partition(self, topic: str, partitions: Sequence[int]) -> int:
        current = self._current.get(topic)
        if current is None or current not in partitions:
            current = self._current[topic] = self._rng.choice(partitions)
        return current

    def switch(self, topic: str, full: int, partitions: Sequence[int]) -> None:
        """The batch of partition ``full`` is; go on with another one."""
        if self._current.get(topic) == full:
            others = [partition for partition in partitions if partition != full]
            self._current[topic] = self._rng.choice(others) if others else full
