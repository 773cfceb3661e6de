"""Offsets that are pending in several transactions at once, compared with a simple model.

The model looks at the whole log for every question: an offset counts from its own record, or from
the marker of its transaction, and the one that is later in the log replaces the other. So it also
knows what must be answered while the end of a transaction is settled in steps.
"""

from collections.abc import Callable
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moldau.coordinator.outcome import CoordinatorRecord
from moldau.group_coordinator.offsets import NO_PRODUCER_ID, TARGETS_PER_STEP, OffsetStore
from moldau.protocol.records.offset_commit import OffsetCommitKey, OffsetCommitValue

GROUPS = ("a", "b")
TOPICS = ("s", "t")
PARTITIONS = range(3)
PRODUCERS = (7, 8, 9)
PLACES = [(group, topic, index) for group in GROUPS for topic in TOPICS for index in PARTITIONS]

Place = tuple[str, str, int]


class Commit(NamedTuple):
    place: Place
    producer_id: int


class Tombstone(NamedTuple):
    place: Place


class Marker(NamedTuple):
    producer_id: int
    is_commit: bool


Record = Commit | Tombstone | Marker

places = st.sampled_from(PLACES)
one_record = st.one_of(
    st.builds(Commit, places, st.sampled_from((NO_PRODUCER_ID, *PRODUCERS))),
    st.builds(Tombstone, places),
    st.builds(Marker, st.sampled_from(PRODUCERS), st.booleans()),
)
records = st.lists(one_record, max_size=40)


class Model:
    def __init__(self) -> None:
        self.committed: dict[Place, int] = {}
        # The offset of the last commit in each open transaction.
        self.pending: dict[tuple[int, Place], int] = {}

    def replay(self, record: Record, order: int) -> None:
        if isinstance(record, Commit) and record.producer_id == NO_PRODUCER_ID:
            self.committed[record.place] = order
        elif isinstance(record, Commit):
            self.pending[record.producer_id, record.place] = order
        elif isinstance(record, Tombstone):
            self.committed.pop(record.place, None)
            for producer_id in PRODUCERS:
                self.pending.pop((producer_id, record.place), None)
        else:
            for place in PLACES:
                ended = self.pending.pop((record.producer_id, place), None)
                if ended is not None and record.is_commit:
                    self.committed[place] = max(ended, self.committed.get(place, -1))


def replay(store: OffsetStore, record: Record, order: int) -> None:
    if isinstance(record, Marker):
        store.replay_end_transaction(record.producer_id, is_commit=record.is_commit)
        return
    is_commit = isinstance(record, Commit)
    value = OffsetCommitValue(offset=order) if is_commit else None
    producer_id = record.producer_id if isinstance(record, Commit) else NO_PRODUCER_ID
    store.replay(OffsetCommitKey(*record.place), value, producer_id)


@given(records)
def test_whatever_is_pending_the_later_offset_counts(log: list[Record]) -> None:
    store = OffsetStore()
    model = Model()
    for order, record in enumerate(log):
        replay(store, record, order)
        model.replay(record, order)
        open_places = {place for _, place in model.pending}
        for place in PLACES:
            found = store.get(*place)
            assert (None if found is None else found.offset) == model.committed.get(place)
            assert store.is_unstable(*place) is (place in open_places)
        assert len(store) == len(model.committed)
        for group in GROUPS:
            has_open = any(place[0] == group for place in open_places)
            assert store.has_open_transactions(group) is has_open
            assert store.has_offsets(group) is any(place[0] == group for place in model.committed)
            known = {place for place in {*open_places, *model.committed} if place[0] == group}
            tombstones = {
                (each.key.group, each.key.topic, each.key.partition)
                for each in store.tombstones(group)
                if isinstance(each.key, OffsetCommitKey)
            }
            assert tombstones == known
        found_places = {
            (each.key.group, each.key.topic, each.key.partition)
            for each in store.tombstones_of_topics([(bytes(16), "s")])
            if isinstance(each.key, OffsetCommitKey)
        }
        assert found_places == {each for each in {*open_places, *model.committed} if each[1] == "s"}


def found_offset(store: OffsetStore, place: Place) -> object:
    found = store.get(*place)
    return None if found is None else found.offset


def is_open(model: Model, place: Place) -> bool:
    return any(place == other for _, other in model.pending)


def known(model: Model) -> set[Place]:
    return {*model.committed, *(place for _, place in model.pending)}


def deleted(tombstones: list[CoordinatorRecord]) -> set[Place]:
    return {
        (each.key.group, each.key.topic, each.key.partition)
        for each in tombstones
        if isinstance(each.key, OffsetCommitKey)
    }


# What can be asked about a place, and the answer of the model.
QUESTIONS: dict[str, Callable[[OffsetStore, Model, Place], tuple[object, object]]] = {
    "the offset": lambda store, model, place: (
        found_offset(store, place),
        model.committed.get(place),
    ),
    "is it unstable": lambda store, model, place: (
        store.is_unstable(*place),
        is_open(model, place),
    ),
    "all offsets of the group": lambda store, model, place: (
        {
            (place[0], topic, index): value.offset
            for topic, index, value in store.of_group(place[0])
        },
        {key: offset for key, offset in model.committed.items() if key[0] == place[0]},
    ),
    "all topics of the group": lambda store, model, place: (
        {
            (place[0], topic, index)
            for topic in store.topics_of(place[0])
            for index in store.partitions_of(place[0], topic)
        },
        {key for key in model.committed if key[0] == place[0]},
    ),
    "has the group offsets": lambda store, model, place: (
        store.has_offsets(place[0]),
        any(key[0] == place[0] for key in model.committed),
    ),
    "has the group transactions": lambda store, model, place: (
        store.has_open_transactions(place[0]),
        any(key[0] == place[0] for _, key in model.pending),
    ),
    "what its deletion deletes": lambda store, model, place: (
        deleted(store.tombstones(place[0])),
        {key for key in known(model) if key[0] == place[0]},
    ),
    "what the deletion of the topic deletes": lambda store, model, place: (
        deleted(store.tombstones_of_topics([(bytes(16), place[1])])),
        {key for key in known(model) if key[1] == place[1]},
    ),
    "how many there are": lambda store, model, _: (len(store), len(model.committed)),
}
questions = st.tuples(st.sampled_from(sorted(QUESTIONS)), places)
# Records, each with the steps to settle that are taken after it, and perhaps a question.
conversations = st.lists(
    st.tuples(one_record, st.integers(0, 2), st.none() | questions), max_size=40
)


@given(conversations)
def test_between_the_steps_of_settling_a_transaction_has_ended_as_a_whole(
    conversation: list[tuple[Record, int, tuple[str, Place] | None]],
) -> None:
    store = OffsetStore()
    model = Model()
    for order, (record, steps, question) in enumerate(conversation):
        replay(store, record, order)
        model.replay(record, order)
        for _ in range(steps):
            store.settle(1)
        if question is not None:
            name, place = question
            answer, expected = QUESTIONS[name](store, model, place)
            assert answer == expected, name
    assert {place: found_offset(store, place) for place in model.committed} == model.committed


@pytest.mark.parametrize("question", QUESTIONS)
@pytest.mark.parametrize("is_commit", [True, False])
@pytest.mark.parametrize("steps", [0, 1])
def test_right_after_its_marker_a_transaction_has_ended_as_a_whole(
    steps: int, is_commit: bool, question: str
) -> None:
    log = [Commit(place, 7) for place in PLACES]
    for place in PLACES:
        store, model = OffsetStore(), Model()
        for order, record in enumerate([*log, Marker(7, is_commit)]):
            replay(store, record, order)
            model.replay(record, order)
        for _ in range(steps):
            store.settle(1)
        answer, expected = QUESTIONS[question](store, model, place)
        assert answer == expected


def test_an_offset_that_is_deleted_right_after_the_marker_does_not_come_back() -> None:
    store = OffsetStore()
    place = PLACES[0]
    for order, record in enumerate([Commit(place, 7), Marker(7, True), Tombstone(place)]):
        replay(store, record, order)
    while store.settle():
        pass
    assert found_offset(store, place) is None


def test_a_marker_that_ends_very_many_offsets_is_settled_in_steps() -> None:
    store = OffsetStore()
    count = 3 * TARGETS_PER_STEP
    for number in range(count):
        store.replay(OffsetCommitKey(f"g-{number}", "t", 0), OffsetCommitValue(offset=number), 7)
    store.replay_end_transaction(7, is_commit=True)
    steps = 1
    while store.settle():
        found = store.get(f"g-{steps}", "t", 0)
        assert found is not None
        assert found.offset == steps
        steps += 1
    assert steps >= 3
    assert len(store) == count
