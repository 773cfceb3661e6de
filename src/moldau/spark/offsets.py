"""The positions of a query: pure arithmetic on offsets by partition.

A stream's position is written to its checkpoint as ``{"topic": {"0": 23}}``, the format of
Spark's own Kafka source. Additional keys start with ``#``, which no topic name does:

* ``#initial`` and ``#start``: Spark asks for the initial offsets again until the first batch of a
  query is done, and "latest" may have moved by then. So the initial offsets are marked, and the
  end of the first batch includes them: a repeated first batch has the same start.
* ``#ids``: the topic ids. A topic that was deleted and created again has the same name and another
  id, and the offsets do not apply to it. Checkpoints of older versions have none.
* ``#gone``: the offsets of partitions that the query currently does not read. If one comes back,
  the query continues at that offset.
"""

from collections.abc import Callable, Collection, Mapping
from typing import Any, Final, NamedTuple, TypeAlias

from moldau.ids import TopicPartition

Offsets: TypeAlias = dict[TopicPartition, int]
# Topic ids as text, by topic; empty if the broker does not support them.
TopicIds: TypeAlias = dict[str, str]

_INITIAL: Final = "#initial"
_START: Final = "#start"
_IDS: Final = "#ids"
_GONE: Final = "#gone"


class StreamOffset(NamedTuple):
    """A position of a stream, as stored in its checkpoint."""

    offsets: Offsets
    is_initial: bool = False
    # The start of the batch that ends here; only for the first batch.
    start: Offsets | None = None
    # For the topics of ``offsets`` and ``gone``.
    topic_ids: TopicIds = {}  # noqa: RUF012  # never changed
    gone: Offsets = {}  # noqa: RUF012


MADE_ANEW: Final = "the topic was deleted and created again since"


class Gap(NamedTuple):
    """Records that a query should have read and cannot: it fails or skips them."""

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
    """To JSON; equal positions give equal text, by which Spark detects that nothing is new."""
    encoded: dict[str, Any] = _nested(position.offsets)
    if position.is_initial:
        encoded[_INITIAL] = True
    if position.start is not None:
        encoded[_START] = _nested(position.start)
    if position.topic_ids:
        encoded[_IDS] = dict(sorted(position.topic_ids.items()))
    if position.gone:
        encoded[_GONE] = _nested(position.gone)
    return encoded


def decode_offset(encoded: Mapping[str, Any]) -> StreamOffset:
    """From a checkpoint."""
    # Keys that a newer version has added are ignored.
    topics = {name: each for name, each in encoded.items() if not name.startswith("#")}
    start = encoded.get(_START)
    return StreamOffset(
        _flat(topics),
        bool(encoded.get(_INITIAL)),
        None if start is None else _flat(start),
        dict(encoded.get(_IDS, {})),
        _flat(encoded.get(_GONE, {})),
    )


def advance(position: StreamOffset, begin: Offsets, reached: StreamOffset) -> StreamOffset:
    """The position after a batch from ``begin`` to ``reached``; the same if nothing is new."""
    if reached == position._replace(is_initial=False, start=None):
        return position
    return reached._replace(start=begin if position.is_initial else None)


class Continued(NamedTuple):
    """Where a query continues in the partitions that exist now."""

    # Without the partitions that have to be read from their first offset.
    begin: Offsets
    gone: Offsets
    # The current ones, and those of ``gone``.
    topic_ids: TopicIds
    gaps: list[Gap]


def go_on(
    position: StreamOffset,
    there: Collection[TopicPartition],
    topic_ids: TopicIds,
    why_gone: Callable[[TopicPartition, int], str],
) -> Continued:
    """Where a query at ``position`` continues if it reads the partitions ``there``.

    ``topic_ids`` are the current ones. A partition that is already gone in ``position`` is not
    reported as a gap again.
    """
    begin: Offsets = {}
    gone: Offsets = {}
    gaps = []
    for partition, offset in sorted({**position.gone, **position.offsets}.items()):
        is_missed = partition in position.offsets
        if partition not in there:
            gone[partition] = offset
            if is_missed:
                gaps.append(Gap(partition, why_gone(partition, offset)))
        elif is_another(position.topic_ids, topic_ids, partition.topic):
            if is_missed:
                gaps.append(Gap(partition, MADE_ANEW))
        else:
            begin[partition] = offset
    kept = {each.topic for each in gone} & position.topic_ids.keys()
    ids = {topic: position.topic_ids[topic] for topic in sorted(kept)}
    return Continued(begin, gone, {**ids, **topic_ids}, gaps)


def is_another(before: TopicIds, now: TopicIds, topic: str) -> bool:
    """Whether a topic was deleted and another one created with its name."""
    return topic in before and topic in now and before[topic] != now[topic]


def limit_offsets(start: Offsets, latest: Offsets, max_records: int) -> Offsets:
    """End offsets for a batch of about ``max_records``, in proportion to the partitions' backlogs.

    Every partition with new records advances by at least one, so none is starved.
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
    """The number of records between ``start`` and ``latest``."""
    return sum(max(0, end - start.get(partition, 0)) for partition, end in latest.items())


def clamp(latest: Offsets, target: Offsets) -> Offsets:
    """``latest``, limited to ``target`` and to its partitions."""
    return {
        partition: min(latest[partition], end)
        for partition, end in target.items()
        if partition in latest
    }


def ranges_between(start: Offsets, end: Offsets) -> tuple[list[OffsetRange], list[Gap]]:
    """The ranges between two positions, and a gap for each partition whose end moved back.

    Both positions have the same partitions; the start of a new one is its first offset.
    """
    ranges = []
    gaps = []
    for partition in sorted(end):
        first, last = start[partition], end[partition]
        if last < first:
            reason = f"its end went back from {first} to {last}, as if it had been created again"
            gaps.append(Gap(partition, reason))
        elif last > first:
            ranges.append(OffsetRange(partition, first, last))
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
