"""Placement of replicas."""

import random
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moldau.controller.placement import place_replicas
from moldau.errors import ApiError
from moldau.metadata.registrations import BrokerRegistration


def broker(
    broker_id: int, rack: str | None = None, *, fenced: bool = False, cordoned: bool = False
) -> BrokerRegistration:
    directory = bytes([broker_id]) * 16
    return BrokerRegistration(
        id=broker_id,
        epoch=0,
        incarnation_id=directory,
        endpoints=(),
        features={},
        rack=rack,
        fenced=fenced,
        in_controlled_shutdown=False,
        log_dirs=(directory,),
        cordoned_log_dirs=(directory,) if cordoned else None,
    )


def test_leaderships_are_spread_evenly() -> None:
    placed = place_replicas([broker(number) for number in range(4)], 40, 2, random.Random(1))
    assert Counter(replicas[0] for replicas in placed) == {0: 10, 1: 10, 2: 10, 3: 10}


def test_replicas_lie_in_different_racks() -> None:
    racks = {number: "abc"[number % 3] for number in range(6)}
    brokers = [broker(number, rack) for number, rack in racks.items()]
    for replicas in place_replicas(brokers, 50, 3, random.Random(1)):
        assert {racks[replica] for replica in replicas} == {"a", "b", "c"}


def test_a_fenced_broker_follows_but_never_leads() -> None:
    brokers = [broker(1), broker(2, fenced=True)]
    assert place_replicas(brokers, 3, 2, random.Random(1)) == [[1, 2]] * 3


def test_a_broker_that_is_about_to_stop_gets_nothing_and_a_stopped_one_follows() -> None:
    stopping = broker(2)._replace(in_controlled_shutdown=True)
    assert place_replicas([broker(1), stopping], 3, 1, random.Random(1)) == [[1]] * 3
    with pytest.raises(ApiError, match="only 1 broker"):
        place_replicas([broker(1), stopping], 1, 2, random.Random(1))
    stopped = stopping._replace(fenced=True)
    assert place_replicas([broker(1), stopped], 3, 2, random.Random(1)) == [[1, 2]] * 3


def test_a_cordoned_broker_gets_nothing() -> None:
    brokers = [broker(1), broker(2, cordoned=True)]
    assert place_replicas(brokers, 3, 1, random.Random(1)) == [[1]] * 3


@pytest.mark.parametrize(
    ("brokers", "factor", "message"),
    [
        ([broker(1)], 2, "cannot be reached because only 1 broker"),
        ([broker(1)], 0, "must be positive"),
        ([broker(1, fenced=True)], 1, "All brokers are currently fenced"),
        ([], 1, "All brokers are currently fenced"),
    ],
)
def test_what_cannot_be_placed_says_why(
    brokers: list[BrokerRegistration], factor: int, message: str
) -> None:
    with pytest.raises(ApiError, match=message):
        place_replicas(brokers, 1, factor, random.Random(1))


@given(
    st.lists(st.tuples(st.sampled_from("abc"), st.booleans()), min_size=1, max_size=8),
    st.integers(1, 8),
    st.integers(1, 30),
    st.integers(),
)
def test_every_partition_gets_distinct_brokers_and_a_leader_in_service(
    nodes: list[tuple[str, bool]], factor: int, partitions: int, seed: int
) -> None:
    brokers = [broker(index, rack, fenced=f) for index, (rack, f) in enumerate(nodes)]
    in_service = {each.id for each in brokers if not each.fenced}
    if not in_service or factor > len(brokers):
        with pytest.raises(ApiError):
            place_replicas(brokers, partitions, factor, random.Random(seed))
        return
    for replicas in place_replicas(brokers, partitions, factor, random.Random(seed)):
        assert len(set(replicas)) == len(replicas) == factor
        assert replicas[0] in in_service
