"""The uniform assignor makes Kafka's choices: examples worked out by hand from its rules.

The rules are the order in which partitions are given out and in which members come to take
them or to give them up. Members are lettered here, and their order is that of the letters.
"""

import pytest

from moldau.group_coordinator.consumer.assignors import ASSIGNORS
from moldau.group_coordinator.consumer.assignors.levels import Givers, Takers
from moldau.group_coordinator.consumer.assignors.spec import GroupAssignment
from moldau.group_coordinator.consumer.assignors.uniform_mixed import _java_order
from tests.group_coordinator.consumer.test_assignors import BAR, FOO, group, shown

A_B_C = ("a", "b", "c")


def test_the_last_members_have_the_extra_partitions_if_nobody_had_them_before() -> None:
    """Everybody could have one more but has no use for it yet, and leaves it to the next."""
    spec = group({name: [FOO] for name in A_B_C}, {FOO: 5})
    assert shown(ASSIGNORS["uniform"](spec)) == {"a": "foo:0", "b": "foo:1,2", "c": "foo:3,4"}


def test_what_nobody_had_is_given_out_before_what_was_given_up() -> None:
    """Nine for three: a keeps 0 to 2 and gives up 3 to 5, while 6 to 8 are new."""
    previous: GroupAssignment = {"a": {FOO: (0, 1, 2, 3, 4, 5)}}
    spec = group({name: [FOO] for name in A_B_C}, {FOO: 9}, previous)
    assert shown(ASSIGNORS["uniform"](spec)) == {
        "a": "foo:0,1,2",
        "b": "foo:6,7,8",
        "c": "foo:3,4,5",
    }


def test_what_several_gave_up_is_given_out_in_their_order() -> None:
    """Eight for four: b gives up 2 and 3 after a gave up 6 and 7."""
    previous: GroupAssignment = {"a": {FOO: (4, 5, 6, 7)}, "b": {FOO: (0, 1, 2, 3)}}
    spec = group({name: [FOO] for name in (*A_B_C, "d")}, {FOO: 8}, previous)
    assert shown(ASSIGNORS["uniform"](spec)) == {
        "a": "foo:4,5",
        "b": "foo:0,1",
        "c": "foo:6,7",
        "d": "foo:2,3",
    }


def test_an_extra_partition_stays_with_the_first_that_has_one() -> None:
    """Seven for three: one may have three. a has, so b and c give up their third."""
    previous: GroupAssignment = {"a": {FOO: (0, 1, 2)}, "b": {FOO: (3, 4, 5)}, "c": {FOO: (6,)}}
    spec = group({name: [FOO] for name in A_B_C}, {FOO: 7}, previous)
    assert shown(ASSIGNORS["uniform"](spec)) == {"a": "foo:0,1,2", "b": "foo:3,4", "c": "foo:5,6"}


def test_topics_have_another_turn_when_a_later_one_has_made_room() -> None:
    """a and b differ by one, and bar stays. Then c relieves b of foo, and a has one too many."""
    previous: GroupAssignment = {"a": {BAR: (0, 1, 3)}, "b": {BAR: (2,), FOO: (0,)}}
    spec = group({"a": [BAR], "b": [FOO, BAR], "c": [FOO]}, {FOO: 1, BAR: 4}, previous)
    assert shown(ASSIGNORS["uniform"](spec)) == {"a": "bar:0,1", "b": "bar:2,3", "c": "foo:0"}


def test_among_equals_those_take_first_that_had_less_before() -> None:
    """b begins with nothing. When it is level with a and c it stands before them in the row."""
    previous: GroupAssignment = {"a": {BAR: (0,)}, "c": {BAR: (1,)}}
    wants = {"a": [FOO, BAR], "b": [FOO], "c": [FOO, BAR]}
    spec = group(wants, {FOO: 3, BAR: 2}, previous)
    assert shown(ASSIGNORS["uniform"](spec)) == {
        "a": "bar:0 foo:2",
        "b": "foo:0,1",
        "c": "bar:1",
    }


def test_the_last_partitions_of_the_most_loaded_go_to_the_least_loaded() -> None:
    """Loads are 6, 1, 0. c takes 5, then, level with b but first in the row, 4; b takes 3."""
    previous: GroupAssignment = {"a": {FOO: (0, 1, 2, 3, 4, 5)}, "b": {BAR: (0,)}}
    spec = group({"a": [FOO, BAR], "b": [FOO, BAR], "c": [FOO]}, {FOO: 6, BAR: 1}, previous)
    assert shown(ASSIGNORS["uniform"](spec)) == {
        "a": "foo:0,1,2",
        "b": "bar:0 foo:3",
        "c": "foo:4,5",
    }


def test_the_topic_with_most_partitions_per_subscriber_is_given_out_first() -> None:
    """Two per subscriber of foo, one of bar: when bar's turn comes, only a and c have room."""
    wants = {"a": [BAR], "b": [FOO, BAR], "c": [BAR]}
    spec = group(wants, {FOO: 2, BAR: 3}, {})
    assert shown(ASSIGNORS["uniform"](spec)) == {
        "a": "bar:0,2",
        "b": "foo:0,1",
        "c": "bar:1",
    }


def test_takers_join_when_the_others_have_reached_their_level() -> None:
    loads = [2, 0, 1]
    takers = Takers([1, 2, 0], loads)
    taken = []
    for _ in range(7):
        member = takers.next()
        taken.append((takers.level, member))
        loads[member] += 1
    assert taken == [(0, 1), (1, 1), (1, 2), (2, 1), (2, 2), (2, 0), (3, 1)]


def test_a_giver_without_anything_to_give_leaves_its_place_to_the_last_of_the_range() -> None:
    loads = [0, 5, 5, 5, 5]
    givers = Givers([0, 1, 2, 3, 4], loads)
    given: list[int | None] = []
    while len(given) < 7:
        member = givers.next()
        if member == 2:
            givers.exclude_last()
            continue
        given.append(member)
        assert member is not None
        loads[member] -= 1
    # First from the back, and 4 in the place of 2 from then on.
    assert given == [4, 3, 1, 3, 4, 1, 3]


def test_givers_go_on_below_a_range_of_which_nobody_is_left() -> None:
    givers = Givers([0, 1], [1, 4])
    assert givers.next() == 1
    givers.exclude_last()
    assert (givers.next(), givers.level) == (0, 1)
    givers.exclude_last()
    assert givers.next() is None


@pytest.mark.parametrize(
    "lower, higher",
    [
        (b"\x80" + bytes(15), bytes(16)),
        (bytes(16), b"\x7f" + bytes(15)),
        (bytes(8) + b"\xff" * 8, bytes(16)),
    ],
)
def test_topic_ids_are_ordered_as_pairs_of_signed_numbers(lower: bytes, higher: bytes) -> None:
    assert _java_order(lower) < _java_order(higher)
