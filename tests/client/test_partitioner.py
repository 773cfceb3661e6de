"""Where records go."""

import random

from moldau.client.partitioner import StickyPartitioner, partition_of_key


def test_every_partition_is_in_reach_of_a_key() -> None:
    found = {partition_of_key(b"key-%d" % number, 5) for number in range(200)}
    assert found == {0, 1, 2, 3, 4}


def test_a_partition_sticks_until_its_batch_is_full() -> None:
    sticky = StickyPartitioner(random.Random(1))
    first = sticky.partition("t", [0, 1, 2])
    assert [sticky.partition("t", [0, 1, 2]) for _ in range(5)] == [first] * 5
    sticky.switch("t", first, [0, 1, 2])
    assert sticky.partition("t", [0, 1, 2]) != first


def test_a_batch_that_was_already_left_does_not_move_it_again() -> None:
    sticky = StickyPartitioner(random.Random(1))
    current = sticky.partition("t", [0, 1])
    sticky.switch("t", 1 - current, [0, 1])
    assert sticky.partition("t", [0, 1]) == current


def test_the_only_partition_stays() -> None:
    sticky = StickyPartitioner(random.Random(1))
    sticky.switch("t", sticky.partition("t", [0]), [0])
    assert sticky.partition("t", [0]) == 0
