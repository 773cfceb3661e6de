"""Where a topology is cut, and in which mode each query runs. Without Spark."""

import subprocess
import sys

import pytest

from moldau.spark.errors import PipelineError
from moldau.streams.processing import Context, Processor
from moldau.streams.queries import Query, plan_queries
from moldau.streams.stream import Stream
from moldau.streams.table import Table
from moldau.streams.topology import NodeKind, Topology
from moldau.streams.windows import session, tumbling

MINUTE = tumbling("1 minute", grace="0 seconds")
HOUR = tumbling("1 hour", grace="0 seconds")


@pytest.fixture
def topology() -> Topology:
    return Topology()


@pytest.fixture
def orders(topology: Topology) -> Stream:
    return Stream.source(topology, "orders")


def planned(topology: Topology) -> list[tuple[str, list[str], str | None, str]]:
    """Name, topics read, topic written and mode of each query."""
    return [
        (
            query.name,
            [source.topic or "" for source in query.sources],
            query.sink.topic,
            query.output_mode,
        )
        for query in plan_queries(topology, "app")
    ]


def test_what_has_no_state_is_one_query_in_append_mode(topology: Topology, orders: Stream) -> None:
    orders.filter(lambda value: value).map_values(lambda value: value).to("out")
    assert planned(topology) == [("to-out", ["orders"], "out", "append")]


def test_one_stateful_operator_needs_no_cut(topology: Topology, orders: Stream) -> None:
    orders.group_by_key().count().to("out")
    assert planned(topology) == [("to-out", ["orders"], "out", "update")]


def test_each_sink_is_a_query_that_computes_all_it_stands_on(
    topology: Topology, orders: Stream
) -> None:
    orders.to("copy")
    orders.group_by_key().count().to("counts")
    assert [name for name, *_ in planned(topology)] == ["to-copy", "to-counts"]


def test_a_count_of_counts_is_cut_between_them(topology: Topology, orders: Stream) -> None:
    counts = orders.group_by_key().count()
    counts.to_stream().group_by(lambda value: value).count().to("out")
    assert planned(topology) == [
        ("cut-count-1", ["orders"], "app-count-1", "update"),
        ("to-out", ["app-count-1"], "out", "update"),
    ]
    cut, last = plan_queries(topology, "app")
    assert cut.is_cut
    assert not last.is_cut
    # A table stays one on the other side, so the topic between can be compacted.
    assert cut.sink.is_table
    assert last.sources[0].kind is NodeKind.TABLE


def test_a_stream_taken_as_a_table_gets_a_topic_where_it_needs_one(
    topology: Topology, orders: Stream
) -> None:
    latest = orders.key_by(lambda value: value).to_table(name="latest")
    latest.filter(lambda value: value).to("written")
    orders.join(latest).to("looked-up")
    latest.join(Table.source(topology, "prices")).to("joined")
    assert planned(topology) == [
        ("to-written", ["orders"], "written", "append"),
        ("cut-latest", ["orders"], "app-latest", "append"),
        ("to-looked-up", ["orders", "app-latest"], "looked-up", "append"),
        ("to-joined", ["app-latest", "prices"], "joined", "update"),
    ]
    written, cut, looked_up, _ = plan_queries(topology, "app")
    assert written.sink.is_table
    assert cut.sink.is_table
    assert looked_up.sources[1].kind is NodeKind.TABLE


def test_a_grouping_of_a_table_is_cut_once_for_all_that_is_made_of_it(topology: Topology) -> None:
    cities = Table.source(topology, "people").group_by(lambda value: value, name="cities")
    cities.count().to("counts")
    cities.reduce(max, min).to("names")
    assert planned(topology) == [
        ("cut-cities", ["people"], "app-cities", "update"),
        ("to-counts", ["app-cities"], "counts", "update"),
        ("to-names", ["app-cities"], "names", "update"),
    ]
    # Messages, of which every one counts: not to be compacted.
    assert not plan_queries(topology, "app")[0].sink.is_table


def test_only_timers_by_the_clock_keep_a_query_from_being_done(
    topology: Topology, orders: Stream
) -> None:
    class Nothing(Processor):
        def process(self, context: Context, key: str, value: str) -> None:
            pass

    orders.process(Nothing(), "string").to("by-event")
    orders.process(Nothing(), "string", time="processing").to("by-clock")
    assert [query.by_clock for query in plan_queries(topology, "app")] == [False, True]


def test_an_operator_is_cut_once_for_all_who_read_it(topology: Topology, orders: Stream) -> None:
    counts = orders.group_by_key().count(name="totals").to_stream()
    counts.group_by(lambda value: value).count().to("one")
    counts.group_by(lambda value: value).count().to("two")
    assert [name for name, *_ in planned(topology)] == ["cut-totals", "to-one", "to-two"]


def test_a_third_stateful_operator_makes_a_second_cut(topology: Topology, orders: Stream) -> None:
    first = orders.group_by_key().count().to_stream()
    second = first.group_by(lambda value: value).count().to_stream()
    second.group_by(lambda value: value).count().to("out")
    assert [(name, topics) for name, topics, *_ in planned(topology)] == [
        ("cut-count-1", ["orders"]),
        ("cut-count-2", ["app-count-1"]),
        ("to-out", ["app-count-2"]),
    ]


def test_final_windows_of_final_windows_stay_in_one_query(
    topology: Topology, orders: Stream
) -> None:
    minutes = orders.group_by_key().windowed_by(MINUTE).count().suppress().to_stream()
    minutes.group_by(lambda value: value).windowed_by(HOUR).count().suppress().to("out")
    assert planned(topology) == [("to-out", ["orders"], "out", "append")]


def test_final_windows_are_cut_before_what_spark_does_not_chain(
    topology: Topology, orders: Stream
) -> None:
    minutes = orders.group_by_key().windowed_by(MINUTE).count().suppress().to_stream()
    minutes.key_by(lambda value: value).join(orders, within="1 minute").to("joined")
    merged = minutes.key_by(lambda value: value).merge(orders)
    merged.group_by_key().windowed_by(HOUR).count().suppress().to("merged")
    assert [name for name, *_ in planned(topology)] == ["cut-suppress-1", "to-joined", "to-merged"]


def test_windows_of_what_was_joined_are_cut(topology: Topology, orders: Stream) -> None:
    paid = orders.join(Stream.source(topology, "payments"), within="1 minute")
    paid.group_by_key().windowed_by(HOUR).count().suppress().to("out")
    assert [name for name, *_ in planned(topology)] == ["cut-join-1", "to-out"]


def test_windows_that_change_are_cut_before_others(topology: Topology, orders: Stream) -> None:
    minutes = orders.group_by_key().windowed_by(MINUTE).count().to_stream()
    minutes.group_by(lambda value: value).windowed_by(HOUR).count().suppress().to("out")
    assert [name for name, *_ in planned(topology)] == ["cut-count-1", "to-out"]


def test_suppress_changes_the_mode_of_its_own_sink_only(topology: Topology, orders: Stream) -> None:
    counts = orders.group_by_key().windowed_by(MINUTE).count()
    counts.to("changes")
    counts.suppress().to("finals")
    assert [(topic, mode) for _, _, topic, mode in planned(topology)] == [
        ("changes", "update"),
        ("finals", "append"),
    ]


def test_changes_and_finals_in_one_stream_are_computed_apart(
    topology: Topology, orders: Stream
) -> None:
    counts = orders.group_by_key().windowed_by(MINUTE).count()
    counts.to_stream().merge(counts.suppress().to_stream()).to("out")
    assert planned(topology) == [
        ("cut-suppress-1", ["orders"], "app-suppress-1", "append"),
        ("to-out", ["orders", "app-suppress-1"], "out", "update"),
    ]


def test_sessions_are_given_out_when_they_are_final(topology: Topology, orders: Stream) -> None:
    gaps = session("5 minutes", grace="0 seconds")
    orders.group_by_key().windowed_by(gaps).count().to("out")
    assert planned(topology) == [("to-out", ["orders"], "out", "append")]


def test_a_table_that_is_looked_up_stays_in_its_topic(topology: Topology, orders: Stream) -> None:
    customers = Table.source(topology, "customers")
    orders.join(customers).to("out")
    [query] = plan_queries(topology, "app")
    assert [source.kind for source in query.sources] == [NodeKind.SOURCE, NodeKind.TABLE]
    assert query.output_mode == "append"


def test_a_computed_table_that_is_looked_up_is_cut(topology: Topology, orders: Stream) -> None:
    counts = orders.group_by_key().count().filter(lambda value: value > 1)
    orders.join(counts).to("out")
    assert planned(topology) == [
        ("cut-count-1", ["orders"], "app-count-1", "update"),
        ("to-out", ["orders", "app-count-1"], "out", "append"),
    ]
    last = plan_queries(topology, "app")[-1]
    assert lookup_names(last) == {"join-1": "filter-1"}


def test_counting_what_was_looked_up_needs_no_cut(topology: Topology, orders: Stream) -> None:
    customers = Table.source(topology, "customers")
    orders.join(customers).group_by_key().count().to("out")
    assert len(plan_queries(topology, "app")) == 1


def test_merged_changes_of_two_tables_are_cut(topology: Topology, orders: Stream) -> None:
    one = orders.group_by_key().count().to_stream()
    two = orders.group_by(lambda value: value).count().to_stream()
    one.merge(two).to("out")
    assert [name for name, *_ in planned(topology)] == ["cut-count-1", "cut-count-2", "to-out"]


def test_a_foreign_key_join_is_cut_between_its_two_steps(topology: Topology) -> None:
    orders = Table.source(topology, "orders")
    customers = Table.source(topology, "customers")
    orders.join(customers, on=lambda value: value).to("out")
    cut, last = plan_queries(topology, "app")
    # Several rows point to one key: compaction would keep only one of them.
    assert not cut.sink.is_table
    assert last.sink.is_table


def test_through_is_a_cut_at_a_topic_of_the_users(topology: Topology, orders: Stream) -> None:
    orders.group_by_key().count().to_stream().through("counts").group_by_key().count().to("out")
    assert planned(topology) == [
        ("to-counts", ["orders"], "counts", "update"),
        ("to-out", ["counts"], "out", "update"),
    ]


def test_the_same_program_has_the_same_plan() -> None:
    def plan() -> list[tuple[str, list[str], str | None, str]]:
        topology = Topology()
        orders = Stream.source(topology, "orders")
        counts = orders.group_by_key().count()
        orders.join(counts).to("out")
        return planned(topology)

    assert plan() == plan()


def test_an_app_that_writes_nothing_is_refused(topology: Topology, orders: Stream) -> None:
    orders.filter(lambda value: value)
    with pytest.raises(PipelineError, match="app writes nothing"):
        plan_queries(topology, "app")


def test_a_topology_is_built_and_planned_without_spark() -> None:
    program = """
import sys
from moldau.streams import App, Json, Processor, tumbling

class Nothing(Processor):
    def process(self, context, key, value):
        return []

app = App("shop")
orders = app.stream("orders", value=Json("amount double"))
windows = tumbling("1 minute", grace="0 seconds")
orders.join(app.table("customers")).process(Nothing(), "string").to("out")
orders.group_by_key().windowed_by(windows).reduce(max).suppress().to("windows")
app.table("a").join(app.table("b"), on=lambda value: value).to("tables")
assert "internal topic" in app.describe()
assert not any(name.partition(".")[0] in ("pyspark", "pandas") for name in sys.modules)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, check=False)
    assert done.returncode == 0, done.stderr.decode()


def lookup_names(query: Query) -> dict[str, str]:
    return {node.name: node.lookup.name for node in query.nodes if node.lookup is not None}
