"""How far a query reads, as pure arithmetic on offsets by partition.

A stream's position is written to its checkpoint as ``{"topic": {"0": 23}}``, the format of
Spark's own Kafka source. Two keys beside the topics (no topic can be called so) close a gap that
a Python source would have: Spark asks for the initial offsets anew when a query failed in its
very first batch, and "latest" is another place by then. So the initial offsets are marked
(``#initial``), and the end of the first batch carries them along (``#start``): a first batch
that is repeated begins where it began.
"""

from collections.abc import Mapping
from typing import Any, Final, NamedTuple, TypeAlias

from moldau.ids import TopicPartition

Offsets: TypeAlias = dict[TopicPartition, int]

_INITIAL: Final = "#initial"
_START: Final = "#start"


class StreamOffset(NamedTuple):
    """A position of a stream, as its checkpoint has it."""

    offsets: Offsets
    is_initial: bool = False
    # Where the batch that ends here began; only of the first batch.
    start: Offsets | None = None


class Gap(NamedTuple):
    """Records that a query should have read and cannot: it says so, or goes on without."""

    partition: TopicPartition
    reason: str


class OffsetRange(NamedTuple):
    """The records of a partition from ``start`` up to, not including, ``end``."""

    partition: TopicPartition
    start: int
    end: int

    @property
    def size(self) -> int:
        return self.end - self.start

    def __str__(self) -> str:
        return f"{self.partition} from {self.start} to {self.end}"


def encode_offset(position: StreamOffset) -> dict[str, Any]:
    """As JSON; equal positions are equal texts, which is how Spark sees that nothing is new."""
    encoded: dict[str, Any] = _nested(position.offsets)
    if position.is_initial:
        encoded[_INITIAL] = True
    if position.start is not None:
        encoded[_START] = _nested(position.start)
    return encoded


def decode_offset(encoded: Mapping[str, Any]) -> StreamOffset:
    """Out of a checkpoint."""
    topics = {name: each for name, each in encoded.items() if name not in (_INITIAL, _START)}
    start = encoded.get(_START)
    return StreamOffset(
        _flat(topics), bool(encoded.get(_INITIAL)), None if start is None else _flat(start)
    )


def advance(position: StreamOffset, end: Offsets) -> StreamOffset:
    """The position after a batch from ``position`` to ``end``; the same if nothing is new."""
    if end == position.offsets:
        return position
    return StreamOffset(end, start=position.offsets if position.is_initial else None)


def limit_offsets(start: Offsets, latest: Offsets, max_records: int) -> Offsets:
    """Ends for a batch of about ``max_records``, shared out by how much each partition has.

    Every partition with something to read moves by one record at least, so none is starved.
    """
    sizes = {partition: max(0, end - start.get(partition, 0)) for partition, end in latest.items()}
    total = sum(sizes.values())
    if total <= max_records:
        return dict(latest)
    ends: Offsets = {}
    for partition, end in latest.items():
        size = sizes[partition]
        share = max(1, max_records * size // total)
        ends[partition] = start.get(partition, 0) + min(share, size) if size else end
    return ends


def count_new(start: Offsets, latest: Offsets) -> int:
    """How many records there are to read."""
    return sum(max(0, end - start.get(partition, 0)) for partition, end in latest.items())


def clamp(latest: Offsets, target: Offsets) -> Offsets:
    """``latest``, but nothing that was added after ``target`` was taken."""
    return {
        partition: min(latest[partition], end)
        for partition, end in target.items()
        if partition in latest
    }


def ranges_between(start: Offsets, end: Offsets) -> tuple[list[OffsetRange], list[Gap]]:
    """What lies between two positions, and what should lie there and does not.

    ``start`` has every partition of ``end``; for a new one that is its first offset.
    """
    ranges = []
    gaps = []
    for partition in sorted(end):
        first, last = start[partition], end[partition]
        if last < first:
            reason = f"its end went back from {first} to {last}, as if it had been made anew"
            gaps.append(Gap(partition, reason))
        elif last > first:
            ranges.append(OffsetRange(partition, first, last))
    gaps += [Gap(each, "it is not there any more") for each in sorted(start.keys() - end.keys())]
    return ranges, gaps


def _nested(offsets: Mapping[TopicPartition, int]) -> dict[str, Any]:
    topics: dict[str, Any] = {}
    for partition, offset in sorted(offsets.items()):
        topics.setdefault(partition.topic, {})[str(partition.partition)] = offset
    return topics


def _flat(topics: Mapping[str, Mapping[str, int]]) -> Offsets:
    return {
        TopicPartition(topic, int(partition)): offset
        for topic, partitions in topics.items()
        for partition, offset in partitions.items()
    }
