"""Filter pushdown: filters on topic, partition, offset and timestamp that reduce what is read.

Spark passes all conditions that a row must meet. Those on topic, partition and offset become
bounds on the ranges to read, and need not be evaluated again. A lower bound on the timestamp
determines the first offset to read and the batches to skip; timestamps need not ascend in a log,
so Spark still evaluates the condition for each row. All other filters are left to Spark.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any, Final

from pyspark.sql.datasource import (
    EqualNullSafe,
    EqualTo,
    Filter,
    GreaterThan,
    GreaterThanOrEqual,
    In,
    IsNotNull,
    LessThan,
    LessThanOrEqual,
)

from moldau.ids import TopicPartition
from moldau.spark.offsets import OffsetRange

# Never null in a record.
_ALWAYS_THERE: Final = ("topic", "partition", "offset", "timestamp", "timestampType")
_MAX: Final = (1 << 63) - 1


@dataclass(frozen=True)
class Bounds:
    """The bounds of what is read; both ends are inclusive, and None is no bound."""

    topics: frozenset[str] | None = None
    partitions: frozenset[int] | None = None
    min_partition: int = 0
    max_partition: int = _MAX
    min_offset: int = 0
    max_offset: int = _MAX
    min_timestamp_ms: int | None = None

    def includes(self, partition: TopicPartition) -> bool:
        return (
            (self.topics is None or partition.topic in self.topics)
            and (self.partitions is None or partition.partition in self.partitions)
            and self.min_partition <= partition.partition <= self.max_partition
        )

    def cut(self, whole: OffsetRange) -> OffsetRange:
        """The part of a range within the bounds; its size may be 0."""
        start = max(whole.start, self.min_offset)
        end = min(whole.end, self.max_offset + 1)
        return OffsetRange(whole.partition, start, max(start, end))


def push_filters(filters: Iterable[Filter]) -> tuple[Bounds, list[Filter]]:
    """The bounds from ``filters``, and the filters that Spark still has to evaluate."""
    bounds = Bounds()
    left = []
    for each in filters:
        narrowed, is_done = _push(bounds, each)
        bounds = narrowed
        if not is_done:
            left.append(each)
    return bounds, left


def _push(bounds: Bounds, condition: Filter) -> tuple[Bounds, bool]:
    """Narrower bounds, and whether they fully cover the condition."""
    attribute: tuple[str, ...] = getattr(condition, "attribute", ())
    if len(attribute) != 1:
        return bounds, False
    column = attribute[0].lower()
    if isinstance(condition, IsNotNull):
        return bounds, column in {name.lower() for name in _ALWAYS_THERE}
    value = getattr(condition, "value", None)
    if column == "timestamp":
        return _push_timestamp(bounds, condition, value), False
    if column == "topic":
        return _push_topic(bounds, condition, value)
    if column in ("partition", "offset"):
        return _push_number(bounds, column, condition, value)
    return bounds, False


def _push_topic(bounds: Bounds, condition: Filter, value: Any) -> tuple[Bounds, bool]:
    names = _listed(condition, value, str)
    if names is None:
        return bounds, False
    known = names if bounds.topics is None else bounds.topics & names
    return replace(bounds, topics=frozenset(known)), True


def _push_number(bounds: Bounds, column: str, condition: Filter, value: Any) -> tuple[Bounds, bool]:
    numbers = _listed(condition, value, int)
    if numbers is not None and column == "partition":
        known = numbers if bounds.partitions is None else bounds.partitions & numbers
        return replace(bounds, partitions=frozenset(known)), True
    if numbers is not None:
        # Of several offsets only the lowest and the highest are bounds.
        lowest, highest = (min(numbers), max(numbers)) if numbers else (1, 0)
        is_done = len(numbers) <= 1
    elif isinstance(value, bool) or not isinstance(value, int):
        return bounds, False
    elif isinstance(condition, GreaterThan):
        lowest, highest, is_done = value + 1, _MAX, True
    elif isinstance(condition, GreaterThanOrEqual):
        lowest, highest, is_done = value, _MAX, True
    elif isinstance(condition, LessThan):
        lowest, highest, is_done = 0, value - 1, True
    elif isinstance(condition, LessThanOrEqual):
        lowest, highest, is_done = 0, value, True
    else:
        return bounds, False
    if column == "partition":
        return replace(
            bounds,
            min_partition=max(bounds.min_partition, lowest),
            max_partition=min(bounds.max_partition, highest),
        ), is_done
    return replace(
        bounds,
        min_offset=max(bounds.min_offset, lowest),
        max_offset=min(bounds.max_offset, highest),
    ), is_done


def _push_timestamp(bounds: Bounds, condition: Filter, value: Any) -> Bounds:
    if isinstance(condition, In):
        moments = [each for each in value if isinstance(each, datetime)]
        value = min(moments) if len(moments) == len(value) and moments else None
    elif not isinstance(condition, EqualTo | EqualNullSafe | GreaterThan | GreaterThanOrEqual):
        return bounds
    if not isinstance(value, datetime):
        return bounds
    aware = value if value.tzinfo is not None else value.replace(tzinfo=UTC)
    since = aware - datetime(1970, 1, 1, tzinfo=UTC)
    # Records have milliseconds, filters microseconds; rounding down never loses a row.
    moment_ms = (since.days * 86_400 + since.seconds) * 1000 + since.microseconds // 1000
    return replace(bounds, min_timestamp_ms=max(bounds.min_timestamp_ms or 0, moment_ms))


def _listed(condition: Filter, value: Any, kind: type) -> frozenset[Any] | None:
    """The values of an equality or IN; None for other conditions and other types than ``kind``."""
    if isinstance(condition, In):
        # A null in the list is never equal to anything.
        values = [each for each in value if each is not None]
    elif isinstance(condition, EqualTo | EqualNullSafe):
        values = [value]
    else:
        return None
    if all(type(each) is kind for each in values):
        return frozenset(values)
    return None
