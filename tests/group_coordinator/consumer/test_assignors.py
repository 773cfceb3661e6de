"""Who should have what: balanced, sticky, near, and whole."""

import sys
from collections.abc import Callable, Mapping, Sequence
from types import FrameType
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from moldau.group_coordinator.consumer.assignors import ASSIGNORS
from moldau.group_coordinator.consumer.assignors.spec import (
    GroupAssignment,
    GroupSpec,
    MemberSpec,
)
from tests.group_coordinator.consumer.cluster import topic_id, topic_name

TraceFunction = Callable[[FrameType, str, Any], Any]

FOO, BAR, BAZ = (topic_id(name) for name in ("foo", "bar", "baz"))


def group(
    subscriptions: Mapping[str, Sequence[bytes]],
    counts: Mapping[bytes, int],
    previous: GroupAssignment | None = None,
    instances: Mapping[str, str] | None = None,
    racks: Mapping[str, str] | None = None,
    partition_racks: Mapping[tuple[bytes, int], Sequence[str]] | None = None,
) -> GroupSpec:
    members = [
        MemberSpec(
            member_id,
            (instances or {}).get(member_id),
            (racks or {}).get(member_id),
            tuple(sorted(topics)),
            (previous or {}).get(member_id, {}),
        )
        for member_id, topics in subscriptions.items()
    ]
    is_homogeneous = len({member.topic_ids for member in members}) <= 1
    found = partition_racks
    lookup = None if found is None else lambda topic, number: found.get((topic, number), ())
    return GroupSpec(members, counts, is_homogeneous, lookup)


def shown(assignment: GroupAssignment) -> dict[str, str]:
    return {
        member_id: " ".join(
            f"{topic_name(topic)}:{','.join(map(str, numbers))}"
            for topic, numbers in sorted(topics.items())
        )
        for member_id, topics in sorted(assignment.items())
    }


def sizes(assignment: GroupAssignment) -> dict[str, int]:
    return {name: sum(map(len, topics.values())) for name, topics in assignment.items()}


def owners(assignment: GroupAssignment) -> dict[tuple[bytes, int], str]:
    found: dict[tuple[bytes, int], str] = {}
    for member_id, topics in assignment.items():
        for topic, numbers in topics.items():
            for number in numbers:
                assert (topic, number) not in found, "two owners"
                found[topic, number] = member_id
    return found


def test_range_gives_runs_and_the_first_members_the_extra_ones() -> None:
    spec = group({"b": [FOO, BAR], "a": [FOO, BAR], "c": [FOO, BAR]}, {FOO: 4, BAR: 2})
    assert shown(ASSIGNORS["range"](spec)) == {
        "a": "bar:0 foo:0,1",
        "b": "bar:1 foo:2",
        "c": "foo:3",
    }


def test_range_divides_each_topic_among_its_own_subscribers() -> None:
    spec = group({"a": [FOO], "b": [FOO, BAR], "c": [BAR]}, {FOO: 3, BAR: 3})
    assert shown(ASSIGNORS["range"](spec)) == {
        "a": "foo:0,1",
        "b": "bar:0,1 foo:2",
        "c": "bar:2",
    }


def test_range_puts_static_members_first_by_instance_so_that_restarts_move_nothing() -> None:
    counts = {FOO: 4}
    before = ASSIGNORS["range"](
        group({"x1": [FOO], "y1": [FOO]}, counts, instances={"x1": "two", "y1": "one"})
    )
    after = ASSIGNORS["range"](
        group({"y1": [FOO], "a9": [FOO]}, counts, instances={"a9": "two", "y1": "one"})
    )
    assert shown(before) == {"x1": "foo:2,3", "y1": "foo:0,1"}
    assert shown(after) == {"a9": "foo:2,3", "y1": "foo:0,1"}
    # Before those that are not, whatever these are called.
    mixed = group({"a": [FOO], "y1": [FOO]}, counts, instances={"y1": "one"})
    assert shown(ASSIGNORS["range"](mixed)) == {"a": "foo:2,3", "y1": "foo:0,1"}


def test_uniform_balances_over_all_topics_together() -> None:
    spec = group({"a": [FOO, BAR], "b": [FOO, BAR], "c": [FOO, BAR]}, {FOO: 2, BAR: 2})
    assert sorted(sizes(ASSIGNORS["uniform"](spec)).values()) == [1, 1, 2]


def test_uniform_moves_only_what_a_newcomer_needs() -> None:
    counts = {FOO: 7}
    first = ASSIGNORS["uniform"](group({"a": [FOO], "b": [FOO]}, counts))
    second = ASSIGNORS["uniform"](group({"a": [FOO], "b": [FOO], "c": [FOO]}, counts, first))
    kept = owners(first).items() & owners(second).items()
    assert sorted(sizes(second).values()) == [2, 2, 3]
    assert len(kept) == 7 - sizes(second)["c"]


def test_uniform_leaves_the_extra_partition_with_whoever_has_it() -> None:
    previous: GroupAssignment = {"a": {FOO: (0,)}, "b": {FOO: (1, 2)}, "c": {FOO: (3,)}}
    spec = group({"a": [FOO], "b": [FOO], "c": [FOO]}, {FOO: 4}, previous)
    assert ASSIGNORS["uniform"](spec) == previous


def test_uniform_heals_an_assignment_in_which_two_members_have_the_same_partition() -> None:
    previous: GroupAssignment = {"a": {FOO: (0, 1)}, "b": {FOO: (1, 2)}}
    after = ASSIGNORS["uniform"](group({"a": [FOO], "b": [FOO]}, {FOO: 4}, previous))
    assert len(owners(after)) == 4
    assert sizes(after) == {"a": 2, "b": 2}


def test_uniform_evens_out_members_with_different_subscriptions() -> None:
    spec = group({"a": [FOO], "b": [FOO, BAR]}, {FOO: 3, BAR: 3})
    assert shown(ASSIGNORS["uniform"](spec)) == {"a": "foo:0,1,2", "b": "bar:0,1,2"}


def test_uniform_takes_from_whoever_has_most_when_subscriptions_differ() -> None:
    previous: GroupAssignment = {"a": {FOO: (0, 1, 2, 3, 4, 5)}, "b": {BAR: (0,)}}
    spec = group({"a": [FOO, BAR], "b": [FOO, BAR], "c": [FOO]}, {FOO: 6, BAR: 1}, previous)
    after = ASSIGNORS["uniform"](spec)
    assert sorted(sizes(after).values()) == [2, 2, 3]
    assert after["b"][BAR] == (0,)


def test_members_get_partitions_with_a_replica_in_their_rack() -> None:
    near = {(FOO, number): ["east" if number % 2 else "west"] for number in range(6)}
    racks = {"a": "east", "b": "west"}
    spec = group({"a": [FOO], "b": [FOO]}, {FOO: 6}, racks=racks, partition_racks=near)
    assert shown(ASSIGNORS["uniform"](spec)) == {"a": "foo:1,3,5", "b": "foo:0,2,4"}


def test_who_gives_partitions_up_keeps_those_in_its_rack() -> None:
    near = {(FOO, number): ["east" if number < 3 else "west"] for number in range(6)}
    racks = {"a": "west", "b": "east"}
    alone: GroupAssignment = {"a": {FOO: (0, 1, 2, 3, 4, 5)}}
    spec = group({"a": [FOO], "b": [FOO]}, {FOO: 6}, alone, racks=racks, partition_racks=near)
    assert shown(ASSIGNORS["uniform"](spec)) == {"a": "foo:3,4,5", "b": "foo:0,1,2"}


def test_racks_never_cost_balance() -> None:
    near = {(FOO, number): ["east"] for number in range(6)}
    racks = {"a": "east", "b": "west", "c": "west"}
    spec = group({m: [FOO] for m in racks}, {FOO: 6}, racks=racks, partition_racks=near)
    assert sizes(ASSIGNORS["uniform"](spec)) == {"a": 2, "b": 2, "c": 2}


@pytest.mark.parametrize("name", sorted(ASSIGNORS))
def test_a_member_that_wants_nothing_gets_nothing(name: str) -> None:
    assert shown(ASSIGNORS[name](group({"a": [], "b": [FOO]}, {FOO: 2}))) == {
        "a": "",
        "b": "foo:0,1",
    }
    assert shown(ASSIGNORS[name](group({"a": []}, {}))) == {"a": ""}


@pytest.mark.parametrize("is_mixed", [False, True])
def test_twice_the_partitions_take_no_more_than_about_twice_the_steps(is_mixed: bool) -> None:
    names = [f"m{number}" for number in range(10)]
    wants = {name: [FOO] if is_mixed and name == "m0" else [FOO, BAR] for name in names}
    nine = {name: topics for name, topics in wants.items() if name != "m9"}

    def steps(scale: int) -> int:
        counts = {FOO: 450 * scale, BAR: 50 * scale}
        return _steps(group(wants, counts, ASSIGNORS["uniform"](group(nine, counts))))

    assert steps(2) < 2.5 * steps(1)


def _steps(spec: GroupSpec) -> int:
    """How many lines of Python the assignor runs: seconds depend on the machine."""
    lines = 0

    def count(frame: FrameType, event: str, argument: object) -> TraceFunction:
        nonlocal lines
        lines += event == "line"
        return count

    before = sys.gettrace()
    sys.settrace(count)
    try:
        ASSIGNORS["uniform"](spec)
    finally:
        sys.settrace(before)
    return lines


MEMBERS = ["a", "b", "c", "d", "e", "f"]
topics = st.lists(st.sampled_from([FOO, BAR, BAZ]), max_size=3, unique=True)
partition_counts = st.fixed_dictionaries({topic: st.integers(1, 12) for topic in (FOO, BAR, BAZ)})
subscriptions = st.dictionaries(st.sampled_from(MEMBERS), topics, min_size=1)


@given(
    name=st.sampled_from(sorted(ASSIGNORS)),
    steps=st.lists(st.tuples(subscriptions, partition_counts), min_size=1, max_size=4),
)
@settings(max_examples=200)
def test_every_wanted_partition_has_one_owner_who_wants_it(
    name: str, steps: list[tuple[dict[str, list[bytes]], dict[bytes, int]]]
) -> None:
    previous: GroupAssignment = {}
    for wants, counts in steps:
        spec = group(wants, counts, previous)
        assignment = ASSIGNORS[name](spec)
        wanted = {topic for wish in wants.values() for topic in wish}
        assert assignment.keys() == wants.keys()
        found = owners(assignment)
        assert set(found) == {(topic, n) for topic in wanted for n in range(counts[topic])}
        assert all(topic in wants[owner] for (topic, _), owner in found.items())
        previous = assignment


@given(
    members=st.lists(st.sampled_from(MEMBERS), min_size=1, unique=True),
    later=st.lists(st.sampled_from(MEMBERS), min_size=1, unique=True),
    counts=partition_counts,
)
@settings(max_examples=200)
def test_members_that_want_the_same_differ_by_one_and_nothing_moves_without_need(
    members: list[str], later: list[str], counts: dict[bytes, int]
) -> None:
    everything = [FOO, BAR, BAZ]
    before = ASSIGNORS["uniform"](group(dict.fromkeys(members, everything), counts))
    after = ASSIGNORS["uniform"](group(dict.fromkeys(later, everything), counts, before))
    after_sizes = sizes(after)
    assert max(after_sizes.values()) - min(after_sizes.values()) <= 1
    # Who stays keeps as much as its new share allows, and loses nothing below it.
    low = sum(counts.values()) // len(later)
    kept = owners(before).items() & owners(after).items()
    for name in set(members) & set(later):
        has_kept = sum(1 for _, owner in kept if owner == name)
        assert has_kept >= min(sizes(before)[name], low)
    again = ASSIGNORS["uniform"](group(dict.fromkeys(later, everything), counts, after))
    assert again == after


@given(wants=subscriptions, counts=partition_counts)
@settings(max_examples=200)
def test_no_single_move_would_improve_a_mixed_assignment(
    wants: dict[str, list[bytes]], counts: dict[bytes, int]
) -> None:
    assignment = ASSIGNORS["uniform"](group(wants, counts))
    load = sizes(assignment)
    for (topic, _), owner in owners(assignment).items():
        others = [load[name] for name, wish in wants.items() if topic in wish]
        assert load[owner] - min(others) <= 1
