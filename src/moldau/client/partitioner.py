"""Chooses the partition of a record, as the Java client does.

The partition of a record with a key is given by the hash of the key, so that equal keys share a
partition whichever client wrote them. Records without a key go to one partition until its batch is
full, and then to another: this gives full batches, evenly spread (KIP-480).
"""

import random
from collections.abc import Sequence

from moldau.record.key_hash import murmur2


def partition_of_key(key: bytes, partition_count: int) -> int:
    """The partition of ``key`` in every client with the default partitioner.

    The sign bit of the hash is masked off, as in Java; the number is not negated.
    """
    return (murmur2(key) & 0x7FFFFFFF) % partition_count


class StickyPartitioner:
    """Keeps one partition per topic for records without a key, until ``switch`` is called."""

    def __init__(self, rng: random.Random) -> None:
        self._rng = rng
        self._current: dict[str, int] = {}

    def partition(self, topic: str, partitions: Sequence[int]) -> int:
        current = self._current.get(topic)
        if current is None or current not in partitions:
            current = self._current[topic] = self._rng.choice(partitions)
        return current

    def switch(self, topic: str, full: int, partitions: Sequence[int]) -> None:
        """The batch of partition ``full`` is full: continue with another partition."""
        if self._current.get(topic) == full:
            others = [partition for partition in partitions if partition != full]
            self._current[topic] = self._rng.choice(others) if others else full
