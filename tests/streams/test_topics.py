"""The topics that an app needs, and the order of its queries."""

from dataclasses import replace

import pytest

from moldau.spark.errors import PipelineError
from moldau.streams.queries import Query
from moldau.streams.topics import (
    NewTopic,
    group_of,
    plan_topics,
    source_topics,
    streamed_topics,
    upstream_first,
)
from moldau.streams.topology import Node, NodeKind, Topology


def query(reads: str, writes: str, *, looks_up: str | None = None, is_table: bool = False) -> Query:
    """A query that copies, perhaps with a look at a table."""
    topology = Topology()
    sources = [topology.add(NodeKind.SOURCE, "source", topic=name) for name in reads.split("+")]
    parents: list[Node] = list(sources)
    if looks_up is not None:
        table = topology.add(NodeKind.TABLE, "table", topic=looks_up)
        joined = topology.add(NodeKind.STATELESS, "join", *parents, table, lookup=table)
        sources.append(table)
        parents = [joined]
    sink = topology.add(NodeKind.SINK, "to", *parents, topic=writes, is_table=is_table)
    return Query(writes, sink, tuple(topology.nodes), tuple(sources), "append", is_cut=False)


def test_what_is_there_is_left_as_it_is() -> None:
    assert plan_topics([query("a", "b")], {"a": 3, "b": 1}) == []


def test_a_new_topic_is_as_wide_as_the_widest_it_is_made_from() -> None:
    assert plan_topics([query("a+c", "b")], {"a": 3, "c": 5}) == [NewTopic("b", 5, False)]


def test_a_table_goes_to_a_compacted_topic() -> None:
    (topic,) = plan_topics([query("a", "b", is_table=True)], {"a": 3})
    assert topic.configs == {"cleanup.policy": "compact"}
    assert NewTopic("b", 3, False).configs == {}


def test_widths_follow_the_data_through_topics_in_between() -> None:
    queries = [query("b", "c"), query("a", "b")]
    assert plan_topics(queries, {"a": 4}) == [NewTopic("b", 4, False), NewTopic("c", 4, False)]


def test_a_circle_of_topics_can_be_made() -> None:
    queries = [query("a+c", "b"), query("b", "c")]
    assert plan_topics(queries, {"a": 2}) == [NewTopic("b", 2, False), NewTopic("c", 2, False)]


def test_a_topic_that_nobody_writes_must_be_there() -> None:
    with pytest.raises(PipelineError, match=r"topic a does not exist, which b reads: moldau topi"):
        plan_topics([query("a", "b")], {})


def test_an_internal_topic_has_a_ledger_of_one_partition() -> None:
    queries = [replace(query("a", "b"), is_cut=True), query("b", "c")]
    *_, ledger = plan_topics(queries, {"a": 4}, with_ledgers=True)
    assert ledger == NewTopic("b-batches", 1, True, is_ledger=True)
    assert ledger.configs["cleanup.policy"] == "compact"
    there = {"a": 4, "b": 4, "b-batches": 1, "c": 1}
    assert plan_topics(queries, there, with_ledgers=True) == []
    with pytest.raises(PipelineError, match="topic b-batches is the ledger of an internal topic"):
        plan_topics([*queries, query("a", "b-batches")], there, with_ledgers=True)


def test_two_queries_may_write_one_topic() -> None:
    queries = [query("a", "b"), query("a", "b")]
    assert plan_topics(queries, {"a": 1}) == [NewTopic("b", 1, False)]


def test_what_is_only_looked_up_has_no_position() -> None:
    enrich = query("orders", "out", looks_up="customers")
    assert source_topics(enrich) == {"orders", "customers"}
    assert streamed_topics(enrich) == {"orders"}


def test_whoever_writes_comes_before_whoever_reads() -> None:
    last, middle, first = query("c", "d"), query("b", "c", looks_up="x"), query("a", "b")
    assert upstream_first([last, middle, first]) == [first, middle, last]
    one, other = query("a+c", "b"), query("b", "c")
    assert upstream_first([one, other]) == [one, other]


def test_the_progress_of_a_query_shows_under_the_name_of_its_app() -> None:
    assert group_of("shop", query("a", "totals")) == "shop-totals"
