"""Facts that contradict each other are noticed."""

import pytest

from moldau.ids import TopicPartition
from moldau.simulator.history import GroupPartition, History
from moldau.simulator.invariants import check_records
from moldau.simulator.world import World

PARTITION = TopicPartition("records", 0)
GROUP_PARTITION = GroupPartition("readers", PARTITION)


@pytest.fixture
def world() -> World:
    return World(1)


@pytest.fixture
def history(world: World) -> History:
    return History(world)


def produce(history: History, *values: bytes) -> None:
    for value in values:
        history.will_send(PARTITION, value)
        history.was_acknowledged(PARTITION, value, len(history.acknowledged.get(PARTITION, {})))


def test_what_is_read_as_it_was_acknowledged_is_fine(world: World, history: History) -> None:
    produce(history, b"a/0/0", b"a/0/1")
    history.was_read(PARTITION, 0, b"a/0/0")
    history.was_read(PARTITION, 1, b"a/0/1")
    check_records(world, history, [PARTITION])
    assert world.surprises == []


def test_another_record_at_the_offset_is_noticed(world: World, history: History) -> None:
    produce(history, b"a/0/0", b"a/0/1")
    history.was_read(PARTITION, 0, b"a/0/1")
    assert "offset 0 had b'a/0/0', and now b'a/0/1' is read there" in world.surprises[0]


def test_a_record_that_nobody_sent_is_noticed(world: World, history: History) -> None:
    history.was_read(PARTITION, 0, b"a/0/7")
    assert "which nobody sent" in world.surprises[0]


def test_a_lost_record_is_noticed(world: World, history: History) -> None:
    history.will_send(PARTITION, b"a/0/0")
    history.was_acknowledged(PARTITION, b"a/0/0", -1)
    check_records(world, history, [PARTITION])
    assert world.surprises == ["records: b'a/0/0' was acknowledged in records-0 and is lost"]


def test_a_record_that_is_there_twice_is_noticed(world: World, history: History) -> None:
    produce(history, b"a/0/0")
    history.was_read(PARTITION, 1, b"a/0/0")
    check_records(world, history, [PARTITION])
    assert world.surprises == ["records: b'a/0/0' is in records-0 at 0 and 1"]


def test_records_of_one_producer_in_another_order_are_noticed(
    world: World, history: History
) -> None:
    for value, offset in ((b"a/0/0", 1), (b"b/0/0", 2), (b"a/0/1", 0)):
        history.will_send(PARTITION, value)
        history.was_acknowledged(PARTITION, value, offset)
    check_records(world, history, [PARTITION])
    assert len(world.surprises) == 1
    assert "b'a/0/1' is in records-0 before what was sent before it" in world.surprises[0]


def test_two_owners_in_one_epoch_are_noticed(world: World, history: History) -> None:
    history.owns(GROUP_PARTITION, 1, "one")
    history.owns(GROUP_PARTITION, 2, "two")
    assert world.surprises == []
    history.owns(GROUP_PARTITION, 2, "one")
    assert "one and two both own records-0" in world.surprises[0]


def test_a_commit_that_falls_back_is_noticed(world: World, history: History) -> None:
    history.owns(GROUP_PARTITION, 1, "one")
    for offset in (5, 9):
        history.will_commit(GROUP_PARTITION, offset)
        history.has_committed(GROUP_PARTITION, offset)
    history.found_commit(GROUP_PARTITION, 9, history.least_commit(GROUP_PARTITION))
    assert world.surprises == []
    history.found_commit(GROUP_PARTITION, 5, history.least_commit(GROUP_PARTITION))
    assert "is at 5, but 9 was committed" in world.surprises[0]


def test_a_commit_without_an_answer_may_come_late_but_not_after_the_next_owner(
    world: World, history: History
) -> None:
    history.owns(GROUP_PARTITION, 1, "one")
    history.will_commit(GROUP_PARTITION, 5)
    history.may_have_committed(GROUP_PARTITION, 5)
    history.will_commit(GROUP_PARTITION, 9)
    history.has_committed(GROUP_PARTITION, 9)
    assert history.least_commit(GROUP_PARTITION) == 5
    history.owns(GROUP_PARTITION, 2, "two")
    assert history.least_commit(GROUP_PARTITION) == 9


def test_a_commit_of_nobody_is_noticed(world: World, history: History) -> None:
    history.found_commit(GROUP_PARTITION, 3, -1)
    assert "which nobody has committed" in world.surprises[0]


def test_a_producer_id_given_twice_is_noticed(world: World, history: History) -> None:
    history.has_producer_id(7)
    history.has_producer_id(8)
    assert world.surprises == []
    history.has_producer_id(7)
    assert "7 was given to two producers" in world.surprises[0]
