"""Joins of streams and tables, as streams."""

from typing import Any

from moldau.streams.serdes import STRING, Json
from moldau.streams.testing import Record
from tests.streams.flows import Flow


def test_two_streams_join_within_a_time(flow: Flow) -> None:
    orders = flow.stream("orders", [("a", 1, 10), ("b", 2, 10)], [("a", 3, 100)], [("c", 0, 101)])
    payments = flow.stream("payments", [("a", 7, 14), ("b", 8, 16)], [], [("c", 0, 300)])
    paid = orders.join(payments, lambda order, payment: order + payment, within="5 seconds")
    # Six seconds are too long for b, and the timestamp is the later of the two.
    assert flow.run(paid) == [("a", 8, 14.0)]


def test_what_has_no_partner_comes_when_none_can_come_any_more(flow: Flow) -> None:
    orders = flow.stream("orders", [("a", 1, 10), ("b", 2, 12)], [("z", 0, 100)], [("z", 0, 101)])
    payments = flow.stream(
        "payments", [("a", 7, 14), ("d", 9, 13)], [("y", 0, 100)], [("y", 0, 101)]
    )
    paid = orders.join(payments, within="5 seconds", how="outer")
    out = sorted(flow.run(paid), key=lambda each: str(each.key))
    assert [(each.key, each.value, each.second) for each in out] == [
        ("a", {"left": 1, "right": 7}, 14.0),
        ("b", {"left": 2}, 12.0),
        ("d", {"right": 9}, 13.0),
    ]


def test_a_stream_looks_up_the_latest_value_of_a_table(flow: Flow) -> None:
    orders = flow.stream("orders", [("a", 1, 1), ("b", 2, 2), ("c", 3, 3)])
    names = flow.table(
        "names", [("a", "old", 0), ("a", "Ann", 0), ("b", "Bob", 0), ("b", None, 0)], value=STRING
    )
    named = orders.join(names, lambda order, name: {"order": order, "name": name}, how="left")
    out = sorted(flow.run(named), key=lambda each: str(each.key))
    assert [(each.key, each.value) for each in out] == [
        ("a", {"order": 1, "name": "Ann"}),
        # Deleted, and never there.
        ("b", {"order": 2}),
        ("c", {"order": 3}),
    ]


def test_a_stream_looks_up_another_key_in_a_table_that_was_changed(flow: Flow) -> None:
    from pyspark.sql import functions as F

    orders = flow.stream(
        "orders", [("1", {"who": "a"}, 1), ("2", {"who": "b"}, 2)], value=Json("who string")
    )
    names = flow.table("names", [("a", "Ann", 0), ("b", "Bob", 0)], value=STRING)
    some = names.filter(lambda value: value != "Bob").map_values(lambda value: F.upper(value))
    named = orders.join(some, lambda order, name: name, on=lambda value: value.who)
    assert flow.run(named) == [("1", "ANN", 1.0)]


def test_a_stream_looks_up_a_count_through_an_internal_topic(flow: Flow) -> None:
    orders = flow.stream("orders", [("a", 1, 1), ("a", 2, 2), ("b", 3, 3)])
    counts = orders.group_by_key().count()
    out = flow.run(orders.join(counts, lambda order, count: order * 10 + count))
    assert len(flow.queries()) == 2
    assert sorted(each.value for each in out) == [12, 22, 31]


def test_two_tables_join_and_follow_both(flow: Flow) -> None:
    prices = flow.table("prices", [("a", 1, 1), ("b", 2, 2)], [("a", 5, 5)], [])
    names = flow.table(
        "names",
        [("a", "x", 0), ("a", "apple", 1)],
        [("b", "pear", 6)],
        [("a", None, 7)],
        value=STRING,
    )
    out = flow.run(prices.join(names, lambda price, name: {"price": price, "name": name}))
    assert out[0] == ("a", {"price": 1, "name": "apple"}, 1.0)
    assert sorted(out[1:3], key=lambda each: str(each.key)) == [
        ("a", {"price": 5, "name": "apple"}, 5.0),
        ("b", {"price": 2, "name": "pear"}, 6.0),
    ]
    # What no longer holds is deleted.
    assert out[3:] == [("a", None, 7.0)]


def test_an_outer_join_of_tables_has_what_is_in_one_of_them(flow: Flow) -> None:
    one = flow.table("one", [("a", 1, 1)], [("a", None, 2)])
    two = flow.table("two", [("b", 2, 1)])
    out = sorted(flow.run(one.join(two, how="outer")), key=lambda each: (each.second, each.key))
    assert out == [("a", {"left": 1}, 1.0), ("b", {"right": 2}, 1.0), ("a", None, 2.0)]


def test_an_inner_join_by_a_foreign_key_has_what_both_have(flow: Flow) -> None:
    orders = flow.table(
        "orders",
        [("o1", "ann", 1), ("o2", "ann", 1), ("o3", "bob", 1), ("o4", None, 1)],
        [("o2", "bob", 2)],
        [("o1", None, 3)],
        value=STRING,
    )
    customers = flow.table("customers", [("ann", 1, 1)], [("bob", 2, 2)], [])
    out = flow.run(orders.join(customers, lambda order, name: name, on=lambda value: value))
    # The latest of each: o1 is gone, o2 and o3 have bob.
    assert {each.key: each.value for each in out} == {"o1": None, "o2": 2, "o3": 2}


def test_a_left_join_by_a_foreign_key_keeps_what_points_nowhere_and_follows_both(
    flow: Flow,
) -> None:
    def order(key: str, who: str | None, second: int) -> tuple[str, dict[str, str | None], int]:
        return (key, {"who": who}, second)

    orders = flow.table(
        "orders",
        [order("o1", "ann", 1), order("o2", "ann", 1), order("o3", "bob", 1), ("o4", None, 1)],
        # Nowhere, and nobody there.
        [order("o2", "bob", 2), order("o5", None, 2), order("o6", "eve", 2)],
        [("o1", None, 3)],
        value=Json("who string"),
    )
    customers = flow.table("customers", [("ann", 1, 1)], [("bob", 2, 2)], [])
    joined = orders.join(
        customers, lambda order, number: {"n": number}, on=lambda value: value.who, how="left"
    )
    out = flow.run(joined)
    assert [query.is_cut for query in flow.queries()] == [True, False]
    # The latest of each: o1 is gone, o2 and o3 have bob.
    assert {each.key: each.value for each in out} == {
        "o1": None,
        "o2": {"n": 2},
        "o3": {"n": 2},
        "o5": {},
        "o6": {},
    }


def one_partition_after_the_other(records: list[Record]) -> list[list[Record]]:
    """As if each key had a partition of its own, and the ones that began last were read first."""
    partitions: dict[bytes | None, list[Record]] = {}
    for record in records:
        partitions.setdefault(record.key, []).append(record)
    return [[record] for each in reversed(partitions.values()) for record in each]


def test_a_row_that_moved_ends_where_it_moved_to_however_slowly_partitions_are_read(
    flow: Flow,
) -> None:
    orders = flow.table("orders", [("x", "c1", 1)], [("x", "c7", 2)], value=STRING)
    customers = flow.table("customers", [("c1", 1, 1), ("c7", 7, 1)], [], [])
    joined = orders.join(customers, lambda order, number: number, on=lambda value: value)
    out = flow.run(joined, one_partition_after_the_other)
    assert out[-1] == ("x", 7, 2.0)


def test_a_row_that_pointed_nowhere_in_the_same_micro_batch_ends_where_it_points(
    flow: Flow,
) -> None:
    orders = flow.table(
        "orders", [("x", {"who": None}, 1)], [("x", {"who": "c7"}, 2)], value=Json("who string")
    )
    customers = flow.table("customers", [("c7", 7, 1)])
    joined = orders.join(
        customers, lambda order, number: {"n": number}, on=lambda value: value.who, how="left"
    )
    assert [each.value for each in flow.run(joined)] == [{"n": 7}]


def test_every_type_crosses_a_cut_as_it_is(flow: Flow) -> None:
    from pyspark.sql import functions as F

    at, day = "timestamp_ntz'2026-03-29 02:30:00.123456'", "date'2026-01-02'"
    more = {
        "at": F.expr(at),
        "by_number": F.expr("map(1, 'one', 2, null)"),
        "nested": F.expr(f"array(named_struct('m', map({day}, map('x', 7))), null)"),
        "by_struct": F.expr("map(named_struct('a', 1), 2.5D)"),
        "nothing": F.expr("cast(null as map<int, int>)"),
    }
    numbers = flow.stream("numbers", [("a", 1, 0)]).map_values(lambda value: more).to_table()
    others = flow.table("others", [("a", 1, 0)])

    def shown(left: Any, right: Any) -> dict[str, Any]:
        return {name: left[name].cast("string") for name in more}

    [out] = flow.run(numbers.join(others, shown))
    assert len(flow.queries()) == 2
    assert out.value == {
        "at": "2026-03-29 02:30:00.123456",
        "by_number": "{1 -> one, 2 -> null}",
        "nested": "[{{2026-01-02 -> {x -> 7}}}, null]",
        "by_struct": "{{1} -> 2.5}",
    }
