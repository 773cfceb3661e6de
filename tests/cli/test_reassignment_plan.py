"""Where replicas go when partitions are spread over brokers."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moldau.cli.reassignment_plan import NotEnoughBrokers, spread
from moldau.ids import TopicPartition

ASSIGNMENTS = st.lists(
    st.lists(st.integers(1, 6), min_size=1, max_size=3, unique=True), min_size=1, max_size=40
)


def partitions(replicas: list[list[int]]) -> dict[TopicPartition, list[int]]:
    return {TopicPartition("t", index): each for index, each in enumerate(replicas)}


def loads(assignment: dict[TopicPartition, list[int]], brokers: range) -> list[int]:
    return [sum(broker in each for each in assignment.values()) for broker in brokers]


@given(ASSIGNMENTS, st.integers(3, 6))
def test_replicas_are_on_the_wanted_brokers_and_spread_evenly(
    replicas: list[list[int]], last: int
) -> None:
    current = partitions(replicas)
    brokers = range(1, last + 1)
    planned = spread(current, brokers, {})
    for partition, chosen in planned.items():
        assert len(chosen) == len(set(chosen)) == len(current[partition])
        assert set(chosen) <= set(brokers)
    counts = loads(planned, brokers)
    assert max(counts) - min(counts) <= 1
    assert spread(planned, brokers, {}) == planned, "what is spread already stays"


@given(ASSIGNMENTS)
def test_preferred_leaders_are_spread_where_all_brokers_have_all_partitions(
    replicas: list[list[int]],
) -> None:
    planned = spread(partitions(replicas), [1, 2, 3], {}, replication_factor=3)
    firsts = [each[0] for each in planned.values()]
    counts = [firsts.count(broker) for broker in (1, 2, 3)]
    assert max(counts) - min(counts) <= 1


def test_as_few_replicas_move_as_possible() -> None:
    current = partitions([[1], [2], [3], [1], [2], [3]])
    planned = spread(current, [1, 2, 3, 4], {})
    moved = [each for each in current if planned[each] != current[each]]
    assert len(moved) == 1
    assert planned[moved[0]] == [4]


def test_the_partitions_of_a_broker_that_goes_are_taken_over_by_the_others() -> None:
    current = partitions([[1, 2], [2, 3], [3, 1]])
    planned = spread(current, [1, 2], {})
    assert [sorted(each) for each in planned.values()] == [[1, 2], [1, 2], [1, 2]]


def test_replicas_are_in_different_racks() -> None:
    racks = {1: "a", 2: "a", 3: "b", 4: "b"}
    planned = spread(partitions([[1, 2], [1, 2]]), [1, 2, 3, 4], racks, replication_factor=2)
    # What is there stays, even in one rack; what is added is in another.
    grown = spread(partitions([[1], [2], [3], [4]]), [1, 2, 3, 4], racks, replication_factor=2)
    assert all(len({racks[each] for each in replicas}) == 2 for replicas in grown.values())
    assert all(len({racks[each] for each in replicas}) == 2 for replicas in planned.values())


def test_more_replicas_than_brokers_are_refused() -> None:
    with pytest.raises(
        NotEnoughBrokers, match="t-0 needs 3 brokers for its replicas, but only 2 are given"
    ):
        spread(partitions([[1]]), [1, 2], {}, replication_factor=3)
