"""Committed offsets, by group, topic and partition.

The store changes in ``replay`` only. An offset that was committed within a transaction is
pending until the transaction ends: then it is stored, unless a later commit is in the log
(which is what compaction will keep), or it is discarded.
"""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from moldau.coordinator.outcome import CoordinatorRecord
from moldau.group_coordinator.records import offset_tombstone
from moldau.ids import NO_UUID
from moldau.protocol.records.offset_commit import OffsetCommitKey, OffsetCommitValue

NO_PRODUCER_ID = -1


class CommittedOffset(NamedTuple):
    """A committed offset, with the offset of its record in the log."""

    value: OffsetCommitValue
    order: int


_ByPartition = dict[int, CommittedOffset]
_ByTopic = dict[str, _ByPartition]
_Place = tuple[str, str, int]


class OffsetStore:
    """The committed offsets of every group of a shard."""

    def __init__(self) -> None:
        self._groups: dict[str, _ByTopic] = {}
        self._next_order = 0
        # Producer id -> place -> offset, of transactions that are still open.
        self._pending: dict[int, dict[_Place, CommittedOffset]] = {}
        # Place -> ids of the producers with a pending offset there.
        self._open: dict[_Place, dict[int, None]] = {}
        # Group -> the number of its places in ``_open``.
        self._open_counts: dict[str, int] = {}

    # -- reading ---------------------------------------------------------------------------

    def get(self, group_id: str, topic: str, partition: int) -> OffsetCommitValue | None:
        committed = self._groups.get(group_id, {}).get(topic, {}).get(partition)
        return None if committed is None else committed.value

    def of_group(self, group_id: str) -> Iterator[tuple[str, int, OffsetCommitValue]]:
        for topic, partitions in self._groups.get(group_id, {}).items():
            for partition, committed in partitions.items():
                yield topic, partition, committed.value

    def has_offsets(self, group_id: str) -> bool:
        return group_id in self._groups

    def is_unstable(self, group_id: str, topic: str, partition: int) -> bool:
        """Whether an open transaction may change this offset."""
        return bool(self._open) and (group_id, topic, partition) in self._open

    def has_open_transactions(self, group_id: str) -> bool:
        return group_id in self._open_counts

    def __len__(self) -> int:
        return sum(len(parts) for topics in self._groups.values() for parts in topics.values())

    # -- records that remove ---------------------------------------------------------------

    def tombstones(self, group_id: str) -> list[CoordinatorRecord]:
        """Tombstones for all offsets of the group, including those of open transactions."""
        places = {(topic, partition): None for topic, partition, _ in self.of_group(group_id)}
        for group, topic, partition in self._open:
            if group == group_id:
                places[topic, partition] = None
        return [offset_tombstone(group_id, topic, partition) for topic, partition in places]

    def tombstones_of_topics(self, deleted: Iterable[tuple[bytes, str]]) -> list[CoordinatorRecord]:
        """Tombstones for the offsets of deleted topics, given by id and name.

        Offsets of a topic that was recreated with the same name are kept; offsets that were
        written without a topic id are deleted.
        """
        places: dict[_Place, None] = {}
        topics = list(deleted)
        for group_id, by_topic in self._groups.items():
            for topic_id, name in topics:
                for partition, committed in by_topic.get(name, {}).items():
                    if committed.value.topic_id in (NO_UUID, topic_id):
                        places[group_id, name, partition] = None
        for pending in self._pending.values():
            for place, committed in pending.items():
                for topic_id, name in topics:
                    is_of_topic = committed.value.topic_id in (NO_UUID, topic_id)
                    if place[1] == name and is_of_topic:
                        places[place] = None
        return [offset_tombstone(*place) for place in places]

    # -- replay ----------------------------------------------------------------------------

    def replay(
        self, key: OffsetCommitKey, value: OffsetCommitValue | None, producer_id: int
    ) -> None:
        place = (key.group, key.topic, key.partition)
        if value is None:
            self._remove(place)
            producers = self._open.get(place)
            if producers is not None:
                for open_producer_id in producers:
                    self._pending[open_producer_id].pop(place, None)
                self._close(place)
            return
        committed = CommittedOffset(value, self._next_order)
        self._next_order += 1
        if producer_id == NO_PRODUCER_ID:
            self._put(place, committed)
        else:
            self._pending.setdefault(producer_id, {})[place] = committed
            if place not in self._open:
                self._open[place] = {}
                self._open_counts[key.group] = self._open_counts.get(key.group, 0) + 1
            self._open[place][producer_id] = None

    def replay_end_transaction(self, producer_id: int, *, is_commit: bool) -> None:
        for place, committed in self._pending.pop(producer_id, {}).items():
            producers = self._open[place]
            del producers[producer_id]
            if not producers:
                self._close(place)
            if is_commit:
                group_id, topic, partition = place
                current = self._groups.get(group_id, {}).get(topic, {}).get(partition)
                if current is None or committed.order > current.order:
                    self._put(place, committed)

    def _close(self, place: _Place) -> None:
        """No open transaction has an offset there any more."""
        del self._open[place]
        group_id = place[0]
        self._open_counts[group_id] -= 1
        if not self._open_counts[group_id]:
            del self._open_counts[group_id]

    def _put(self, place: _Place, committed: CommittedOffset) -> None:
        group_id, topic, partition = place
        by_topic = self._groups.get(group_id)
        if by_topic is None:
            by_topic = self._groups[group_id] = {}
        by_partition = by_topic.get(topic)
        if by_partition is None:
            by_partition = by_topic[topic] = {}
        by_partition[partition] = committed

    def _remove(self, place: _Place) -> None:
        group_id, topic, partition = place
        by_topic = self._groups.get(group_id)
        by_partition = None if by_topic is None else by_topic.get(topic)
        if by_topic is None or by_partition is None:
            return
        by_partition.pop(partition, None)
        if not by_partition:
            del by_topic[topic]
        if not by_topic:
            del self._groups[group_id]
