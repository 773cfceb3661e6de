"""Operators without state."""

import pytest
from pyspark.sql import functions as F

from moldau.spark.errors import PipelineError
from moldau.streams.rows import Rows
from moldau.streams.serdes import LONG, STRING, Json
from moldau.streams.stream import Stream
from moldau.streams.topology import Topology
from moldau.streams.windows import tumbling
from tests.streams.flows import Flow


def pairs(flow: Flow, rows: Rows) -> list[tuple[object, object]]:
    return [(row["key"], row["value"]) for row in flow.rows(rows)]


@pytest.fixture
def numbers(flow: Flow) -> Stream:
    return flow.stream("numbers", [("a", 1, 0), ("b", 2, 1), ("a", None, 2), ("a", 3, 3)])


def test_map_values_changes_values_and_leaves_null(flow: Flow, numbers: Stream) -> None:
    doubled = numbers.map_values(lambda value: value * 2)
    assert pairs(flow, doubled) == [("a", 2), ("b", 4), ("a", None), ("a", 6)]


def test_map_changes_keys_and_values_at_once(flow: Flow, numbers: Stream) -> None:
    swapped = numbers.map(lambda key, value: (value, key))
    assert pairs(flow, swapped) == [(1, "a"), (2, "b"), (None, "a"), (3, "a")]


def test_filter_keeps_what_is_true(flow: Flow, numbers: Stream) -> None:
    assert pairs(flow, numbers.filter(lambda value: value > 1)) == [("b", 2), ("a", 3)]
    by_key = numbers.filter(lambda key, value: (key == "a") & value.isNotNull())
    assert pairs(flow, by_key) == [("a", 1), ("a", 3)]


def test_key_by_changes_keys(flow: Flow, numbers: Stream) -> None:
    odd = numbers.filter(lambda value: value > 0).key_by(lambda value: value % 2)
    assert pairs(flow, odd) == [(1, 1), (0, 2), (1, 3)]


def test_a_function_gets_the_timestamp_by_its_name(flow: Flow, numbers: Stream) -> None:
    from pyspark.sql import functions as F

    seconds = numbers.map_values(lambda value, timestamp: F.unix_timestamp(timestamp))
    assert pairs(flow, seconds) == [("a", 0), ("b", 1), ("a", None), ("a", 3)]


def test_a_dict_becomes_a_struct(flow: Flow, numbers: Stream) -> None:
    both = numbers.filter(lambda key: key == "b").map_values(
        lambda key, value: {"who": key, "more": {"amount": value, "currency": "CZK"}}
    )
    [row] = flow.rows(both)
    assert row.asDict(True)["value"] == {"who": "b", "more": {"amount": 2, "currency": "CZK"}}


def test_rows_go_through_python_by_sparks_own_udf(flow: Flow, numbers: Stream) -> None:
    from pyspark.sql.functions import udf

    words = numbers.map_values(udf(lambda value: "x" * (value or 0), "string"))
    assert pairs(flow, words) == [("a", "x"), ("b", "xx"), ("a", None), ("a", "xxx")]


def test_flat_map_gives_any_number_of_records(flow: Flow, numbers: Stream) -> None:
    twice = numbers.filter(lambda value: value < 3).flat_map(
        lambda key, value: [(key, value), ("sum", value * 10)]
    )
    assert pairs(flow, twice) == [("a", 1), ("sum", 10), ("b", 2), ("sum", 20)]


def test_flat_map_values_takes_an_array(flow: Flow) -> None:
    from pyspark.sql import functions as F

    lines = flow.stream("lines", [("a", "to be", 0), ("b", "not", 1)], value=STRING)
    words = lines.flat_map_values(lambda value: F.split(value, " "))
    assert pairs(flow, words) == [("a", "to"), ("a", "be"), ("b", "not")]


METHODS = Json("name string, like string, over long, desc struct<contains: string>")
NAMED = [
    ("1", {"name": "ann", "like": "tea", "over": 1, "desc": {"contains": "x"}}, 0),
    ("2", {"name": "bob", "like": "rum", "over": 2, "desc": {"contains": "y"}}, 1),
]


def test_a_field_wins_over_a_method_of_column(flow: Flow) -> None:
    people = flow.stream("people", NAMED, value=METHODS)

    def keys(rows: Rows) -> list[object]:
        return [key for key, _ in pairs(flow, rows)]

    assert keys(people.filter(lambda value: value.name == "ann")) == ["1"]
    assert keys(people.filter(lambda value: value.name != "ann")) == ["2"]
    assert keys(people.filter(lambda value: value.desc.contains == "y")) == ["2"]
    assert keys(people.key_by(lambda value: value.like)) == ["tea", "rum"]
    first, rest = people.branch(lambda value: value.over > 1, lambda value: True)
    assert (keys(first), keys(rest)) == (["2"], ["1"])
    named = people.map_values(lambda value: {"name": value.name, "all": value})
    assert [value["name"] for _, value in pairs(flow, named)] == ["ann", "bob"]  # type: ignore[index]
    table = flow.table("table", NAMED, value=METHODS)
    assert pairs(flow, table.filter(lambda value: value.name == "bob"))[0] == ("1", None)
    looked_up = people.join(table, lambda left, right: F.concat(left.name, right.like))
    assert sorted(pairs(flow, looked_up)) == [("1", "anntea"), ("2", "bobrum")]


def test_a_bool_of_python_is_no_condition(flow: Flow, numbers: Stream) -> None:
    for wrong in (
        numbers.filter(lambda value: value.like == "ann"),
        numbers.filter(lambda value: True),
        numbers.branch(lambda value: value.like != "ann")[0],
        numbers.branch(lambda value: True, lambda value: value > 1)[1],
        flow.table("t", [("a", 1, 0)]).filter(lambda value: value.name != "ann"),
    ):
        with pytest.raises(PipelineError, match=r"gave (True|False), the same for every record"):
            flow.rows(wrong)


def test_a_record_goes_to_the_first_branch_that_is_true(flow: Flow, numbers: Stream) -> None:
    large, odd, others = numbers.branch(
        lambda value: value > 2, lambda value: value % 2 == 1, lambda value: True
    )
    assert pairs(flow, large) == [("a", 3)]
    assert pairs(flow, odd) == [("a", 1)]
    assert pairs(flow, others) == [("b", 2), ("a", None)]


def test_merge_has_the_records_of_all(flow: Flow, numbers: Stream) -> None:
    more = flow.stream("more", [("c", 9, 0)])
    merged = pairs(flow, numbers.merge(more, more))
    assert sorted(map(str, merged)) == sorted(
        map(str, [("a", 1), ("b", 2), ("a", None), ("a", 3), ("c", 9), ("c", 9)])
    )


def test_every_stream_has_its_dataframe(numbers: Stream) -> None:
    assert numbers.df.columns == ["key", "value", "timestamp", "offset", "headers"]
    assert numbers.df.schema["value"].dataType.simpleString() == "bigint"


def test_through_writes_to_a_topic_and_goes_on_from_it(flow: Flow, numbers: Stream) -> None:
    halfway = numbers.map_values(lambda value: value * 2).through("halfway", value=LONG)
    out = flow.run(halfway.filter(lambda value: value > 2))
    assert [(each.key, each.value, each.second) for each in out] == [("b", 4, 1.0), ("a", 6, 3.0)]


def test_a_table_keeps_its_deletions(flow: Flow) -> None:
    table = flow.table("prices", [("a", 1, 0), ("b", 5, 1), ("a", None, 2)])
    assert pairs(flow, table.map_values(lambda value: value + 1)) == [
        ("a", 2),
        ("b", 6),
        ("a", None),
    ]
    # What is filtered away is deleted: leaving the row out would leave the old value.
    assert pairs(flow, table.filter(lambda value: value > 4)) == [
        ("a", None),
        ("b", 5),
        ("a", None),
    ]


def test_a_field_that_does_not_exist_is_named_with_its_operator(flow: Flow) -> None:
    orders = flow.stream("orders", [("a", {"amount": 1}, 0)], value=Json("amount int"))
    with pytest.raises(PipelineError, match=r"^large: No such struct field `?amuont"):
        flow.rows(orders.filter(lambda value: value.amuont > 1, name="large"))


def test_a_function_with_too_many_arguments_is_named_with_its_line(
    flow: Flow, numbers: Stream
) -> None:
    with pytest.raises(PipelineError, match=r"the function in test_stream.py line \d+ has the arg"):
        flow.rows(numbers.map_values(lambda one, two, three: one))


def test_a_function_that_asks_for_what_is_not_there_is_refused(flow: Flow, numbers: Stream) -> None:
    with pytest.raises(PipelineError, match="asks for window, which these rows do not have"):
        flow.rows(numbers.map_values(lambda value, window: window))


def test_map_that_gives_no_pair_is_refused(flow: Flow, numbers: Stream) -> None:
    with pytest.raises(PipelineError, match="map_values"):
        flow.rows(numbers.map(lambda key, value: value))


def test_a_stream_of_no_app_has_no_dataframe() -> None:
    with pytest.raises(PipelineError, match="source-orders belongs to no app"):
        _ = Stream.source(Topology(), "orders").df


def test_rows_with_windows_merge_only_with_others() -> None:
    orders = Stream.source(Topology(), "orders")
    counts = orders.group_by_key().windowed_by(tumbling("1 minute", grace="0 s")).count()
    with pytest.raises(PipelineError, match="must have windows beside the keys, or not"):
        orders.merge(counts.to_stream())
    assert orders.merge(counts.to_stream().key_by(lambda value: value)).windows is None


def test_what_joins_cannot_do_is_said_when_they_are_written() -> None:
    topology = Topology()
    orders, payments = Stream.source(topology, "orders"), Stream.source(topology, "payments")
    with pytest.raises(PipelineError, match="within='5 minutes'"):
        orders.join(payments)
    with pytest.raises(PipelineError, match="how='right' is not possible here"):
        orders.join(payments, within="5 minutes", how="right")


def test_rows_with_windows_are_refused_where_only_keys_count() -> None:
    orders = Stream.source(Topology(), "orders")
    counts = orders.group_by_key().windowed_by(tumbling("1 minute", grace="0 s")).count()
    counted = counts.to_stream()
    refused = {
        "be looked up": lambda: orders.join(counts),
        "be joined": lambda: orders.join(counted, within="1 minute"),
        "go through halfway": lambda: counted.through("halfway"),
    }
    for what, attempt in refused.items():
        with pytest.raises(PipelineError, match=rf"has windows beside its keys and cannot {what}"):
            attempt()
    with pytest.raises(PipelineError, match="count-1 has windows beside its keys and cannot be jo"):
        counts.join(counts)
