"""Offsets that are pending in several transactions at once, compared with a simple model.

The model looks at the whole log for every question: an offset counts from its own record, or from
the marker of its transaction, and the one that is later in the log replaces the other.
"""

from typing import NamedTuple

from hypothesis import given
from hypothesis import strategies as st

from moldau.group_coordinator.offsets import NO_PRODUCER_ID, OffsetStore
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
records = st.lists(
    st.one_of(
        st.builds(Commit, places, st.sampled_from((NO_PRODUCER_ID, *PRODUCERS))),
        st.builds(Tombstone, places),
        st.builds(Marker, st.sampled_from(PRODUCERS), st.booleans()),
    ),
    max_size=40,
)


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


@given(records)
def test_whatever_is_pending_the_later_offset_counts(log: list[Record]) -> None:
    store = OffsetStore()
    model = Model()
    for order, record in enumerate(log):
        if isinstance(record, Marker):
            store.replay_end_transaction(record.producer_id, is_commit=record.is_commit)
        else:
            is_commit = isinstance(record, Commit)
            value = OffsetCommitValue(offset=order) if is_commit else None
            producer_id = record.producer_id if isinstance(record, Commit) else NO_PRODUCER_ID
            store.replay(OffsetCommitKey(*record.place), value, producer_id)
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
