"""Nodes and their names."""

import pytest

from moldau.spark.errors import PipelineError
from moldau.streams.topology import NodeKind, Topology, with_ancestors


def test_made_up_names_count_per_operator() -> None:
    topology = Topology()
    names = [
        topology.add(NodeKind.STATELESS, operator).name for operator in ("filter", "map", "filter")
    ]
    assert names == ["filter-1", "map-1", "filter-2"]


def test_a_node_with_a_topic_is_named_by_it() -> None:
    topology = Topology()
    names = [topology.add(NodeKind.SINK, "to", topic="orders").name for _ in range(3)]
    assert names == ["to-orders", "to-orders-2", "to-orders-3"]


def test_a_made_up_name_avoids_one_that_was_given() -> None:
    topology = Topology()
    topology.add(NodeKind.STATELESS, "map", name="filter-1")
    assert topology.add(NodeKind.STATELESS, "filter").name == "filter-2"


def test_a_name_that_is_taken_is_refused() -> None:
    topology = Topology()
    topology.add(NodeKind.STATELESS, "filter", name="large")
    with pytest.raises(PipelineError, match="two operators are named large"):
        topology.add(NodeKind.STATELESS, "filter", name="large")


def test_a_name_that_cannot_be_part_of_a_topic_is_refused() -> None:
    with pytest.raises(PipelineError, match="large orders"):
        Topology().add(NodeKind.STATELESS, "filter", name="large orders")


def test_ancestors_come_once_and_before_their_children() -> None:
    topology = Topology()
    source = topology.add(NodeKind.SOURCE, "source")
    left = topology.add(NodeKind.STATELESS, "filter", source)
    right = topology.add(NodeKind.STATELESS, "filter", source)
    merged = topology.add(NodeKind.STATELESS, "merge", left, right)
    assert with_ancestors([merged]) == [source, left, right, merged]
