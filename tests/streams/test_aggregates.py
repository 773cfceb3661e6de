"""Groupings, with and without windows, as streams: state, late records, final results."""

import pytest

from moldau.spark.errors import PipelineError
from moldau.streams.rows import Rows
from moldau.streams.serdes import STRING, Json
from moldau.streams.stream import Stream
from moldau.streams.topology import Topology
from moldau.streams.windows import hopping, session, sliding, tumbling
from tests.streams.flows import Flow

TEN = tumbling("10 seconds", grace="5 seconds")


def test_a_count_is_given_out_whenever_it_changes(flow: Flow) -> None:
    clicks = flow.stream(
        "clicks",
        [("a", 1, 0), ("a", 1, 3), ("b", 1, 1), (None, 1, 0), ("b", None, 0)],
        [("a", 1, 2)],
    )
    out = flow.run(clicks.group_by_key().count())
    assert sorted(out[:2]) == [("a", 2, 3.0), ("b", 1, 1.0)]
    # The timestamp is that of the latest record, not of the last to come.
    assert out[2:] == [("a", 3, 3.0)]


def test_aggregates_are_sparks_own(flow: Flow) -> None:
    from pyspark.sql import functions as F

    orders = flow.stream(
        "orders",
        [("1", {"who": "a", "amount": 5}, 0), ("2", {"who": "a", "amount": 7}, 0)],
        [("3", {"who": "a", "amount": 1}, 0)],
        value=Json("who string, amount int"),
    )
    totals = orders.group_by(lambda value: value.who).aggregate(
        total=lambda value: F.sum(value.amount), largest=lambda value: F.max(value.amount)
    )
    values = [(out.key, out.value) for out in flow.run(totals)]
    assert values == [("a", {"total": 12, "largest": 7}), ("a", {"total": 13, "largest": 7})]


def test_reduce_takes_any_python_function_in_the_order_of_time(flow: Flow) -> None:
    words = flow.stream(
        "words", [("a", "x", 2), ("a", "y", 1), ("b", "q", 0)], [("a", "z", 3)], value=STRING
    )
    out = flow.run(words.group_by_key().reduce(lambda before, new: f"{before}{new}"))
    assert sorted(out[:2]) == [("a", "yx", 2.0), ("b", "q", 0.0)]
    assert out[2:] == [("a", "yxz", 3.0)]


def test_fold_keeps_any_python_value_and_begins_anew_for_each_key(flow: Flow) -> None:
    def note(seen: dict[str, list[int]], value: int) -> dict[str, list[int]]:
        seen["numbers"].append(value)
        return seen

    numbers = flow.stream("numbers", [("a", 1, 0), ("b", 2, 0)], [("a", 3, 1)])
    folded = numbers.group_by_key().fold({"numbers": []}, note, "numbers array<long>")
    out = flow.run(folded)
    assert sorted((each.key, each.value["numbers"]) for each in out) == [
        ("a", [1]),
        ("a", [1, 3]),
        ("b", [2]),
    ]


def finals(flow: Flow, rows: Rows) -> list[tuple[tuple[object, ...], object]]:
    return sorted((tuple(out.key), out.value) for out in flow.run(rows))


def windowed(flow: Flow, *batches: list[tuple[str, int, float]]) -> Stream:
    return flow.stream("clicks", *batches)


def test_a_tumbling_window_changes_until_its_grace_is_over(flow: Flow) -> None:
    clicks = windowed(
        flow,
        [("a", 1, 1), ("a", 1, 12)],
        # 14 s have been seen: the window to 10 s waits until 15.
        [("a", 1, 14), ("a", 1, 2)],
        [("a", 1, 30)],
        [("a", 1, 31)],
        # Now it is over.
        [("a", 1, 3), ("a", 1, 32)],
    )
    assert finals(flow, clicks.group_by_key().windowed_by(TEN).count()) == [
        (("a", 0), 1),
        (("a", 0), 2),
        (("a", 10_000), 1),
        (("a", 10_000), 2),
        (("a", 30_000), 1),
        (("a", 30_000), 2),
        (("a", 30_000), 3),
    ]


def test_suppress_gives_out_each_window_once_when_it_is_over(flow: Flow) -> None:
    clicks = windowed(flow, [("a", 1, 1), ("b", 1, 4)], [("a", 1, 2), ("a", 1, 16)], [("a", 1, 17)])
    counts = clicks.group_by_key().windowed_by(TEN).count().suppress()
    # The window from 10 s is not over, so it is not given out.
    assert finals(flow, counts) == [(("a", 0), 2), (("b", 0), 1)]


def test_hopping_windows_overlap(flow: Flow) -> None:
    hops = hopping("10 seconds", every="5 seconds", grace="0 seconds")
    clicks = windowed(flow, [("a", 1, 6), ("a", 1, 11)], [("a", 1, 60)], [("a", 1, 61)])
    counts = clicks.group_by_key().windowed_by(hops).count().suppress()
    assert finals(flow, counts) == [(("a", 0), 1), (("a", 5_000), 2), (("a", 10_000), 1)]


def test_a_session_ends_after_a_gap(flow: Flow) -> None:
    from pyspark.sql import functions as F

    clicks = windowed(
        flow,
        [("a", 1, 0), ("a", 2, 4), ("a", 4, 20)],
        [("a", 8, 8)],
        [("a", 0, 90)],
        [("b", 0, 91)],
    )
    gaps = session("5 seconds", grace="30 seconds")
    sums = clicks.group_by_key().windowed_by(gaps).aggregate(lambda value: F.sum(value))
    # From the first record to the last, as in Kafka Streams.
    assert finals(flow, sums) == [(("a", 0, 8_000), 11), (("a", 20_000, 20_000), 4)]


def test_a_session_reduced_in_python_is_what_grew_together_in_the_order_of_time(
    flow: Flow,
) -> None:
    clicks = flow.stream(
        "clicks",
        [("a", "y", 4), ("a", "x", 0), ("a", "q", 20)],
        # The bridge between the two that were there.
        [("a", "v", 12), ("a", "z", 8)],
        [("a", "", 90)],
        [("b", "", 91)],
        value=STRING,
    )
    gaps = session("5 seconds", grace="30 seconds")
    joined = clicks.group_by_key().windowed_by(gaps).reduce(lambda before, new: before + new)
    assert finals(flow, joined) == [(("a", 0, 12_000), "xyzv"), (("a", 20_000, 20_000), "q")]


def test_a_sliding_window_holds_the_records_before_each(flow: Flow) -> None:
    from pyspark.sql import functions as F

    clicks = windowed(
        flow,
        [("a", 1, 10), ("a", 2, 15), ("b", 9, 15)],
        [("a", 4, 21), ("a", 8, 21)],
        [("a", 0, 90)],
    )
    grouped = clicks.group_by_key().windowed_by(sliding("10 seconds", grace="0 seconds"))
    lists = grouped.fold([], lambda before, new: [*before, new], "array<long>")
    assert finals(flow, lists) == [
        (("a", 0), [1]),
        (("a", 5_000), [1, 2]),
        (("a", 11_000), [2, 4, 8]),
        (("b", 5_000), [9]),
    ]
    # All at once, where nothing must wait for the watermark.
    sums = grouped.aggregate(lambda value: F.sum(value))
    assert sorted((row["key"], row["value"]) for row in flow.rows(sums)) == [
        ("a", 0),
        ("a", 1),
        ("a", 3),
        ("a", 14),
        ("b", 9),
    ]


def test_a_window_can_be_reduced_in_python(flow: Flow) -> None:
    clicks = windowed(
        flow,
        [("a", 1, 1)],
        [("a", 5, 12), ("a", 3, 2)],
        [("a", 2, 30)],
        [("a", 0, 31)],
        # Its window is over.
        [("a", 7, 3)],
    )
    largest = clicks.group_by_key().windowed_by(TEN).reduce(max)
    assert finals(flow, largest) == [
        (("a", 0), 1),
        (("a", 0), 3),
        (("a", 10_000), 5),
        (("a", 30_000), 2),
        (("a", 30_000), 2),
    ]


def test_a_window_reduced_in_python_can_be_suppressed(flow: Flow) -> None:
    clicks = windowed(flow, [("a", 1, 1), ("a", 5, 2)], [("a", 3, 4)], [("a", 0, 30)])
    largest = clicks.group_by_key().windowed_by(TEN).reduce(max).suppress()
    assert finals(flow, largest) == [(("a", 0), 5)]


def test_final_windows_are_counted_by_larger_windows_in_one_query(flow: Flow) -> None:
    clicks = windowed(
        flow,
        [("a", 1, 1), ("a", 1, 11), ("b", 1, 25)],
        [("a", 1, 70)],
        [("a", 1, 200)],
        [("a", 1, 400)],
    )
    none = "0 seconds"
    small = clicks.group_by_key().windowed_by(tumbling("10 seconds", grace=none)).count().suppress()
    large = small.to_stream().group_by_key().windowed_by(tumbling("1 minute", grace=none)).count()
    counts = finals(flow, large.suppress())
    assert len(flow.queries()) == 1
    assert counts == [(("a", 0), 2), (("a", 60_000), 1), (("a", 180_000), 1), (("b", 0), 1)]


def test_a_count_of_counts_goes_through_an_internal_topic(flow: Flow) -> None:
    clicks = flow.stream("clicks", [("a", 1, 1), ("a", 1, 2), ("b", 1, 3)])
    counts = clicks.group_by_key().count().to_stream()
    out = flow.run(counts.group_by(lambda value: value).count())
    assert sorted((each.key, each.value) for each in out) == [(1, 1), (2, 1)]


def test_a_window_goes_through_an_internal_topic(flow: Flow) -> None:
    from pyspark.sql import functions as F

    clicks = flow.stream("clicks", [("a", 1, 1), ("a", 1, 12)])
    counts = clicks.group_by_key().windowed_by(TEN).count().to_stream()
    starts = counts.map(lambda key, window: (F.unix_timestamp(window.start), key))
    assert sorted((each.key, each.value) for each in flow.run(starts.group_by_key().count())) == [
        (0, 1),
        (10, 1),
    ]


def test_what_groupings_cannot_do_is_said_when_they_are_written() -> None:
    orders = Stream.source(Topology(), "orders").group_by_key()
    with pytest.raises(PipelineError, match="count-1 cannot be suppressed: without windows"):
        orders.count().suppress()
    with pytest.raises(PipelineError, match="either one function or named ones"):
        orders.aggregate()
    with pytest.raises(PipelineError, match="give the field another name"):
        orders.aggregate(name=lambda value: value)  # type: ignore[arg-type]
