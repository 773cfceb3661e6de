"""Filters become bounds on what is read, without losing rows."""

from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest

pytest.importorskip("pyspark", reason="PySpark is not installed (pip install 'moldau[spark]')")

from pyspark.sql.datasource import (
    EqualTo,
    Filter,
    GreaterThan,
    GreaterThanOrEqual,
    In,
    IsNotNull,
    LessThan,
    LessThanOrEqual,
    Not,
    StringStartsWith,
)

from moldau.ids import TopicPartition
from moldau.spark.offsets import OffsetRange
from moldau.spark.pushdown import Bounds, push_filters

A0 = TopicPartition("a", 0)
WHOLE = OffsetRange(A0, 10, 90)


def on(kind: Any, column: str, *value: Any) -> Filter:
    made: Filter = kind((column,), *value)
    return made


def bounds(*filters: Filter) -> Bounds:
    found, left = push_filters(filters)
    assert left == []
    return found


def test_offsets_are_bounds_that_spark_need_not_look_at_again() -> None:
    found = bounds(on(GreaterThan, "offset", 20), on(LessThanOrEqual, "offset", 30))
    assert found.cut(WHOLE) == OffsetRange(A0, 21, 31)
    found = bounds(on(GreaterThanOrEqual, "offset", 20), on(LessThan, "offset", 30))
    assert found.cut(WHOLE) == OffsetRange(A0, 20, 30)
    assert bounds(on(EqualTo, "offset", 15)).cut(WHOLE) == OffsetRange(A0, 15, 16)


def test_offsets_that_contradict_each_other_leave_nothing() -> None:
    found = bounds(on(EqualTo, "offset", 15), on(EqualTo, "offset", 16))
    assert found.cut(WHOLE).size == 0
    assert bounds(on(LessThan, "offset", 0)).cut(WHOLE).size == 0


def test_of_several_offsets_the_outer_two_are_bounds_and_spark_looks_at_the_rest() -> None:
    several = on(In, "offset", (40, 20, 30))
    found, left = push_filters([several])
    assert found.cut(WHOLE) == OffsetRange(A0, 20, 41)
    assert left == [several]


def test_topics_and_partitions_are_chosen() -> None:
    found = bounds(on(In, "topic", ("a", "b", None)), on(EqualTo, "partition", 3))
    assert found.includes(TopicPartition("a", 3))
    assert not found.includes(TopicPartition("a", 2))
    assert not found.includes(TopicPartition("c", 3))
    ranged = bounds(on(GreaterThan, "partition", 1), on(LessThan, "partition", 4))
    assert [each for each in range(6) if ranged.includes(TopicPartition("a", each))] == [2, 3]


def test_what_is_always_there_is_not_asked_for() -> None:
    assert bounds(on(IsNotNull, "offset"), on(IsNotNull, "timestamp")) == Bounds()
    maybe_null = on(IsNotNull, "key")
    assert push_filters([maybe_null]) == (Bounds(), [maybe_null])


@pytest.mark.parametrize(
    "moment",
    [
        datetime(2026, 1, 2, 3, 4, 5, 678_999, tzinfo=UTC),
        datetime(2026, 1, 2, 4, 4, 5, 678_001, tzinfo=timezone(timedelta(hours=1))),
    ],
)
def test_a_time_is_a_lower_bound_and_spark_looks_at_each_row(moment: datetime) -> None:
    since = on(GreaterThan, "timestamp", moment)
    before = on(LessThan, "timestamp", moment)
    found, left = push_filters([since, before])
    assert found.min_timestamp_ms == 1_767_323_045_678
    assert left == [since, before]


@pytest.mark.parametrize(
    "condition",
    [
        on(EqualTo, "value", b"x"),
        Not(on(EqualTo, "partition", 1)),
        on(EqualTo, "partition", None),
        on(GreaterThan, "offset", 1.5),
        on(StringStartsWith, "topic", "a"),
        EqualTo(("headers", "key"), "x"),
    ],
    ids=str,
)
def test_every_other_filter_stays_with_spark(condition: Filter) -> None:
    assert push_filters([condition]) == (Bounds(), [condition])
