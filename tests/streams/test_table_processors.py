"""The processors of tables, called as by Spark but without a query."""

from datetime import UTC, datetime
from typing import Any

import pytest

pytest.importorskip("pyspark", reason="PySpark is not installed (pip install 'moldau[spark]')")

from pyspark.sql import Row
from pyspark.sql.streaming.tws_tester import TwsTester

from moldau.streams.folding import Step
from moldau.streams.table_processors import FoldPointed, JoinPointed, JoinSides, PointFromRow


def at(second: int) -> datetime:
    return datetime.fromtimestamp(second, UTC)


def message(row_key: str, row: Any, offset: int, *, moved: bool = False) -> Row:
    value = {"row_key": row_key, "row": row, "moved": moved}
    return Row(value=value, timestamp=at(offset), offset=offset)


def sums(tester: TwsTester, *messages: Row) -> list[Any]:
    return [row.value for row in tester.test("city", list(messages))]


@pytest.fixture
def summing() -> TwsTester:
    adder = Step(lambda total, new: total + new, None, None)
    # Nothing left is None: the group is gone.
    return TwsTester(FoldPointed(adder, lambda total, old: total - old or None))


def test_a_row_that_changes_is_subtracted_as_it_was_before(summing: TwsTester) -> None:
    assert sums(summing, message("ann", 1, 0), message("bob", 2, 1)) == [3]
    assert sums(summing, message("ann", 5, 2)) == [7]
    assert sums(summing, message("ann", None, 3, moved=True)) == [2]


def test_a_message_that_comes_twice_changes_nothing(summing: TwsTester) -> None:
    again = [message("ann", 1, 0), message("bob", 2, 1), message("bob", None, 2, moved=True)]
    assert sums(summing, *again) == [1]
    assert sums(summing, *again) == [1]


def test_a_group_without_a_value_is_deleted_and_can_come_back(summing: TwsTester) -> None:
    # One who goes without having been there is nothing to tell.
    assert sums(summing, message("eve", None, 0)) == []
    assert sums(summing, message("ann", 1, 1)) == [1]
    assert sums(summing, message("ann", None, 2)) == [None]
    assert summing.peekValueState("folded", "city") is None
    assert sums(summing, message("ann", 4, 3)) == [4]


def test_the_timestamp_of_a_group_is_its_latest(summing: TwsTester) -> None:
    summing.test("city", [message("ann", 1, 9)])
    [row] = summing.test("city", [message("bob", 1, 3)])
    assert row.timestamp == at(9)


def side(offset: int, *, left: Any = None, right: Any = None, is_left: bool = True) -> Row:
    return Row(is_left=is_left, left=left, right=right, timestamp=at(offset), offset=offset)


def joined(tester: TwsTester, *rows: Row) -> list[tuple[Any, Any, bool]]:
    return [(out.left, out.right, out.is_there) for out in tester.test("k", list(rows))]


def test_an_outer_join_of_tables_has_what_is_in_one_of_them() -> None:
    tester = TwsTester(JoinSides("outer"))
    assert joined(tester, side(0, left=1)) == [(1, None, True)]
    assert joined(tester, side(1, right=2, is_left=False)) == [(1, 2, True)]
    assert joined(tester, side(2, left=None)) == [(None, 2, True)]
    assert joined(tester, side(3, right=None, is_left=False)) == [(None, None, False)]
    # What was never there needs no deletion.
    assert joined(tester, side(4, left=None)) == []
    assert tester.peekValueState("sides", "k") is None


def test_a_left_join_of_tables_has_all_that_is_on_the_left() -> None:
    tester = TwsTester(JoinSides("left"))
    assert joined(tester, side(0, right=2, is_left=False)) == []
    assert joined(tester, side(1, left=1)) == [(1, 2, True)]
    assert joined(tester, side(2, right=None, is_left=False)) == [(1, None, True)]
    assert joined(tester, side(3, left=None)) == [(None, None, False)]


def test_an_inner_join_by_foreign_key_has_only_what_is_on_both_sides() -> None:
    tester = TwsTester(JoinPointed("inner"))

    def told(*rows: Row) -> list[tuple[Any, Any, Any, bool]]:
        results = tester.test("k", list(rows))
        return [(out.key, out.left, out.right, out.is_there) for out in results]

    def left(offset: int, key: str, row: Any, *, moved: bool = False) -> Row:
        return side(offset, left={"row_key": key, "row": row, "moved": moved})

    assert told(left(0, "o1", "x"), left(1, "o2", "y")) == [
        ("o1", "x", None, False),
        ("o2", "y", None, False),
    ]
    assert told(side(0, right=1, is_left=False)) == [("o1", "x", 1, True), ("o2", "y", 1, True)]
    # To where o2 goes its result is given out; here it must not be deleted.
    assert told(left(2, "o2", None, moved=True)) == []
    assert told(left(3, "o1", None)) == [("o1", None, 1, False)]
    assert told(side(1, right=2, is_left=False)) == []


def test_changes_of_a_table_count_by_offset_whatever_their_timestamps_say() -> None:
    tester = TwsTester(JoinSides("outer"))
    rows = [
        Row(is_left=True, left=left, right=None, timestamp=at(second), offset=offset)
        for left, second, offset in (("last", 1, 7), ("first", 9, 5), ("second", 5, 6))
    ]
    [out] = tester.test("k", rows)
    assert (out.left, out.timestamp) == ("last", at(9))


def test_a_row_tells_the_place_it_leaves_and_the_one_it_goes_to() -> None:
    tester = TwsTester(PointFromRow())

    def told(foreign: str | None, value: str | None, offset: int) -> list[tuple[Any, Any, bool]]:
        row = Row(foreign=foreign, value=value, timestamp=at(offset), offset=offset)
        results = tester.test("k", [row])
        assert {out.key for out in results} <= {"k"}
        return [(out.value["foreign"], out.value["row"], out.value["moved"]) for out in results]

    assert told("a", "1", 0) == [("a", "1", False)]
    assert told("a", "2", 1) == [("a", "2", False)]
    assert told("b", "3", 2) == [("a", None, True), ("b", "3", False)]
    # Nowhere is a place too.
    assert told(None, "4", 3) == [("b", None, True), (None, "4", False)]
    assert told("c", "5", 4) == [(None, None, True), ("c", "5", False)]
    assert told(None, None, 5) == [("c", None, False)]
    assert told(None, None, 6) == []
