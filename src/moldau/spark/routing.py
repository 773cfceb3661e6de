"""Assigns the rows of an Arrow batch to partitions, all at once.

As in Kafka's producer: the partition is the one in the row, or else is chosen by the hash of the
key; rows with neither stick to one partition until it has received ``batch.size`` bytes, and then
switch to another.

The result is sorted by target; rows of the same target keep their order.
"""

import random
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from moldau.ids import TopicPartition
from moldau.record.key_hash import hash_keys
from moldau.record.scatter import Field
from moldau.spark.errors import PipelineError
from moldau.spark.outgoing import OutgoingRows


class Layout(NamedTuple):
    """The partitions of a topic: how many, and which of them have a leader."""

    partition_count: int
    available: Sequence[int]


class Share(NamedTuple):
    """The rows of one target: ``order[first:last]`` of their routing."""

    target: TopicPartition
    first: int
    last: int


class Routed(NamedTuple):
    """The indices of all rows, sorted by target."""

    order: memoryview
    shares: list[Share]


class Router:
    """Routes rows; the sticky partition of rows without a key is kept across Arrow batches."""

    def __init__(
        self,
        topic: str | None,
        layout_of: Callable[[str], Layout],
        *,
        sticky_bytes: int,
        rng: random.Random,
    ) -> None:
        """``topic`` is that of all rows; None if they have a column for it."""
        self._topic = topic
        self._layout_of = layout_of
        self._sticky_bytes = sticky_bytes
        self._rng = rng
        self._sticky: dict[str, _Sticky] = {}
        self._layouts: dict[str, Layout] = {}

    def route(self, outgoing: OutgoingRows) -> Routed:
        """Return the target of each row.

        Raises:
            PipelineError: a row has no topic, or names a partition that its topic does not have.
        """
        names, topic_of = self._topics(outgoing)
        layouts = [self._layout(name) for name in names]
        partitions = self._by_key(outgoing.rows.key, layouts, topic_of)
        if outgoing.partition is not None:
            _as_said(outgoing.partition, names, layouts, topic_of, partitions)
        for number, name in enumerate(names):
            free = np.flatnonzero((partitions < 0) & (topic_of == number))
            if len(free):
                sticky = self._sticky.setdefault(name, _Sticky(self._sticky_bytes, self._rng))
                available = layouts[number].available
                partitions[free] = sticky.assign(outgoing.sizes[free], available)
        return _in_order(names, layouts, topic_of, partitions)

    def _layout(self, topic: str) -> Layout:
        if topic not in self._layouts:
            self._layouts[topic] = self._layout_of(topic)
        return self._layouts[topic]

    def _topics(
        self, outgoing: OutgoingRows
    ) -> "tuple[list[str], np.ndarray[Any, np.dtype[np.int64]]]":
        if self._topic is not None:
            return [self._topic], np.zeros(outgoing.row_count, np.int64)
        column = outgoing.topic
        assert column is not None, "the schema was checked"
        if column.null_count:
            raise PipelineError(
                "a row has no topic (null): set option topic, or give every row one"
            )
        encoded = column.dictionary_encode()
        return encoded.dictionary.to_pylist(), encoded.indices.to_numpy().astype(np.int64)

    def _by_key(
        self,
        key: Field,
        layouts: Sequence[Layout],
        topic_of: "np.ndarray[Any, np.dtype[np.int64]]",
    ) -> "np.ndarray[Any, np.dtype[np.int64]]":
        """The partitions chosen by key; -1 for rows without one."""
        hashes = np.empty(len(topic_of), np.int64)
        hash_keys(key.data, key.position, key.size, hashes.data)
        counts = np.array([layout.partition_count for layout in layouts], np.int64)
        # The sign bit is masked off, as in the Java client.
        chosen: np.ndarray[Any, np.dtype[np.int64]] = (hashes & 0x7FFFFFFF) % counts[topic_of]
        chosen[hashes < 0] = -1
        return chosen


def _as_said(
    column: pa.Array,
    names: Sequence[str],
    layouts: Sequence[Layout],
    topic_of: "np.ndarray[Any, np.dtype[np.int64]]",
    partitions: "np.ndarray[Any, np.dtype[np.int64]]",
) -> None:
    """Set the partitions of rows that name one; a null leaves the choice to the key."""
    is_said = pc.is_valid(column).to_numpy(zero_copy_only=False)
    said = column.fill_null(0).to_numpy().astype(np.int64)
    counts = np.array([layout.partition_count for layout in layouts], np.int64)
    wrong = np.flatnonzero(is_said & ((said < 0) | (said >= counts[topic_of])))
    if len(wrong):
        name, count = names[topic_of[wrong[0]]], counts[topic_of[wrong[0]]]
        raise PipelineError(
            f"a row is for partition {said[wrong[0]]} of {name}, which has 0 to {count - 1}"
        )
    partitions[is_said] = said[is_said]


def _in_order(
    names: Sequence[str],
    layouts: Sequence[Layout],
    topic_of: "np.ndarray[Any, np.dtype[np.int64]]",
    partitions: "np.ndarray[Any, np.dtype[np.int64]]",
) -> Routed:
    """Number the targets across all topics, and sort the rows by that number."""
    bases = np.concatenate(([0], np.cumsum([layout.partition_count for layout in layouts])))
    targets = bases[topic_of] + partitions
    # NumPy sorts 16-bit numbers in a fraction of the time.
    narrow = targets.astype(np.uint16) if bases[-1] <= 0xFFFF else targets
    order = np.argsort(narrow, kind="stable")
    counts = np.bincount(targets)
    shares = []
    first = 0
    for target in np.flatnonzero(counts).tolist():
        topic = int(np.searchsorted(bases, target, side="right")) - 1
        partition = TopicPartition(names[topic], target - int(bases[topic]))
        last = first + int(counts[target])
        shares.append(Share(partition, first, last))
        first = last
    return Routed(order.data, shares)


class _Sticky:
    """The sticky partition for rows of one topic without a key (KIP-480, KIP-794)."""

    def __init__(self, limit_bytes: int, rng: random.Random) -> None:
        self._limit_bytes = limit_bytes
        self._rng = rng
        self._current = -1
        self._filled = 0

    def assign(
        self, sizes: "np.ndarray[Any, np.dtype[np.int64]]", available: Sequence[int]
    ) -> "np.ndarray[Any, np.dtype[np.int64]]":
        """The partition of each row; it changes after every ``limit_bytes``."""
        before = self._filled + np.cumsum(sizes) - sizes
        turns = before // self._limit_bytes
        last = int(turns[-1])
        chosen = [self._current if self._current in available else self._other(available)]
        for _ in range(last):
            self._current = chosen[-1]
            chosen.append(self._other(available))
        self._current = chosen[-1]
        self._filled = int(before[-1] + sizes[-1]) - last * self._limit_bytes
        assigned: np.ndarray[Any, np.dtype[np.int64]] = np.array(chosen, np.int64)[turns]
        return assigned

    def _other(self, available: Sequence[int]) -> int:
        others = [each for each in available if each != self._current]
        return self._rng.choice(others or available)
