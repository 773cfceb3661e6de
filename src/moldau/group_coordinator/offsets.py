"""Committed offsets, by group, topic and partition.

The store changes in ``replay`` only. An offset that was committed within a transaction is
pending until the transaction ends: then it is stored, unless a later commit is in the log
(which is what compaction will keep), or it is discarded.

One marker may end a transaction with a hundred thousand offsets of as many groups and topics. Its
replay only notes that the transaction has ended; ``settle`` then moves the offsets to where they
are stored, a few at a time. Whatever reads or changes the offsets of a group and a topic settles
these first. So nobody sees a transaction that has ended in part, and nobody has to wait for it.

Pending offsets are kept by group and topic: where no other transaction is open, and none were
committed before, nothing is done for each of them, and otherwise little.
"""

from collections.abc import Iterable, Iterator
from typing import Final

from moldau.coordinator.outcome import CoordinatorRecord
from moldau.group_coordinator.records import offset_tombstone
from moldau.ids import NO_UUID
from moldau.protocol.records.offset_commit import OffsetCommitKey, OffsetCommitValue

NO_PRODUCER_ID = -1
# Settling a target takes as long as looking at so many offsets of one that has others.
OFFSETS_PER_TARGET: Final = 8
TARGETS_PER_STEP: Final = 500


class CommittedOffset:
    """A committed offset, and where its record is in the order of the log."""

    __slots__ = ("order", "value")

    def __init__(self, value: OffsetCommitValue, order: int) -> None:
        self.value = value
        self.order = order


_ByPartition = dict[int, CommittedOffset]
_ByTopic = dict[str, _ByPartition]
_Place = tuple[str, str, int]
# A group and a topic.
_Target = tuple[str, str]
# The ids of producers: one of them, or several.
_Producers = int | dict[int, None]

_NOBODY: Final[dict[int, _Producers]] = {}


class _OpenTarget:
    """The pending offsets of a group and a topic."""

    __slots__ = ("by_partition", "producer_count")

    def __init__(self) -> None:
        # Partition -> the producers with a pending offset there.
        self.by_partition: dict[int, _Producers] = {}
        self.producer_count = 0


class _Ended:
    """A transaction that has ended, with the offsets that are not settled yet."""

    __slots__ = ("groups", "is_commit", "producer_id")

    def __init__(self, producer_id: int, groups: dict[str, _ByTopic], is_commit: bool) -> None:
        self.producer_id = producer_id
        self.groups = groups
        self.is_commit = is_commit


class OffsetStore:
    """The committed offsets of every group of a shard."""

    def __init__(self) -> None:
        self._groups: dict[str, _ByTopic] = {}
        self._next_order = 0
        # Producer id -> group -> topic -> partition -> offset, of transactions that are still open.
        self._pending: dict[int, dict[str, _ByTopic]] = {}
        # Transactions that are not settled. The order of their records decides, not theirs.
        self._ended: list[_Ended] = []
        # What is pending, or not settled.
        self._open: dict[_Target, _OpenTarget] = {}
        # Group -> the number of its topics in ``_open``.
        self._open_counts: dict[str, int] = {}

    # -- reading ---------------------------------------------------------------------------

    def get(self, group_id: str, topic: str, partition: int) -> OffsetCommitValue | None:
        if self._ended:
            self._settle_target(group_id, topic)
        committed = self._groups.get(group_id, {}).get(topic, {}).get(partition)
        return None if committed is None else committed.value

    def of_group(self, group_id: str) -> Iterator[tuple[str, int, OffsetCommitValue]]:
        self._settle_group(group_id)
        for topic, partitions in self._groups.get(group_id, {}).items():
            for partition, committed in partitions.items():
                yield topic, partition, committed.value

    def topics_of(self, group_id: str) -> list[str]:
        """Every topic of which the group may have offsets, or has had some."""
        topics = dict.fromkeys(self._groups.get(group_id, ()))
        for ended in self._ended:
            if ended.is_commit:
                topics.update(dict.fromkeys(ended.groups.get(group_id, ())))
        return list(topics)

    def partitions_of(self, group_id: str, topic: str) -> list[int]:
        """The partitions of the topic that the group has offsets of."""
        if self._ended:
            self._settle_target(group_id, topic)
        return list(self._groups.get(group_id, {}).get(topic, ()))

    def has_offsets(self, group_id: str) -> bool:
        self._settle_group(group_id)
        return group_id in self._groups

    def is_unstable(self, group_id: str, topic: str, partition: int) -> bool:
        """Whether an open transaction may change this offset."""
        if self._ended:
            self._settle_target(group_id, topic)
        return bool(self._open) and partition in self._producers_of((group_id, topic))

    def has_open_transactions(self, group_id: str) -> bool:
        self._settle_group(group_id)
        return group_id in self._open_counts

    def __len__(self) -> int:
        self._settle_all()
        return sum(len(parts) for topics in self._groups.values() for parts in topics.values())

    # -- records that remove ---------------------------------------------------------------

    def tombstones(self, group_id: str) -> list[CoordinatorRecord]:
        """Tombstones for all offsets of the group, including those of open transactions."""
        places = {(topic, partition): None for topic, partition, _ in self.of_group(group_id)}
        for (group, topic), opened in self._open.items():
            if group == group_id:
                for partition in opened.by_partition:
                    places[topic, partition] = None
        return [offset_tombstone(group_id, topic, partition) for topic, partition in places]

    def tombstones_of_topics(self, deleted: Iterable[tuple[bytes, str]]) -> list[CoordinatorRecord]:
        """Tombstones for the offsets of deleted topics, given by id and name.

        Offsets of a topic that was recreated with the same name are kept; offsets that were
        written without a topic id are deleted.
        """
        self._settle_all()
        places: dict[_Place, None] = {}
        topics = list(deleted)
        for group_id, by_topic in self._groups.items():
            for topic_id, name in topics:
                for partition, committed in by_topic.get(name, {}).items():
                    if committed.value.topic_id in (NO_UUID, topic_id):
                        places[group_id, name, partition] = None
        for pending in self._pending.values():
            for group_id, by_topic in pending.items():
                for topic_id, name in topics:
                    for partition, committed in by_topic.get(name, {}).items():
                        if committed.value.topic_id in (NO_UUID, topic_id):
                            places[group_id, name, partition] = None
        return [offset_tombstone(*place) for place in places]

    # -- replay ----------------------------------------------------------------------------

    def replay(
        self, key: OffsetCommitKey, value: OffsetCommitValue | None, producer_id: int
    ) -> None:
        target = (key.group, key.topic)
        partition = key.partition
        if self._ended:
            self._settle_target(key.group, key.topic)
        if value is None:
            self._remove(target, partition)
            producers = self._producers_of(target).get(partition)
            if producers is not None:
                self._drop_pending(target, partition, producers)
            return
        committed = CommittedOffset(value, self._next_order)
        self._next_order += 1
        if producer_id == NO_PRODUCER_ID:
            self._offsets_of(target)[partition] = committed
        else:
            by_topic = self._pending.setdefault(producer_id, {}).setdefault(key.group, {})
            by_partition = by_topic.get(key.topic)
            if by_partition is None:
                by_partition = by_topic[key.topic] = {}
                self._opened(target).producer_count += 1
            by_partition[partition] = committed
            self._note_open(target, partition, producer_id)

    def replay_end_transaction(self, producer_id: int, *, is_commit: bool) -> None:
        """End the transaction for all who read the offsets; ``settle`` does the rest."""
        pending = self._pending.pop(producer_id, None)
        if pending is not None:
            self._ended.append(_Ended(producer_id, pending, is_commit))

    # -- what has ended --------------------------------------------------------------------

    def settle(self, limit: int = TARGETS_PER_STEP) -> bool:
        """Take a step to settle what has ended; returns whether something is left.

        It makes no difference to anybody who reads the offsets.
        """
        count = 0
        while self._ended:
            ended = self._ended[-1]
            while ended.groups:
                group_id, by_topic = ended.groups.popitem()
                while by_topic:
                    topic, by_partition = by_topic.popitem()
                    # Looking at an offset is cheap, and often not even necessary.
                    count += 1 + len(by_partition) // OFFSETS_PER_TARGET
                    self._end(ended, (group_id, topic), by_partition)
                    if count >= limit:
                        if by_topic:
                            ended.groups[group_id] = by_topic
                        return True
            self._ended.pop()
        return False

    def _settle_target(self, group_id: str, topic: str) -> None:
        for ended in self._ended:
            by_topic = ended.groups.get(group_id)
            by_partition = None if by_topic is None else by_topic.pop(topic, None)
            if by_partition is not None:
                self._end(ended, (group_id, topic), by_partition)

    def _settle_group(self, group_id: str) -> None:
        for ended in self._ended:
            for topic, by_partition in ended.groups.pop(group_id, {}).items():
                self._end(ended, (group_id, topic), by_partition)

    def _settle_all(self) -> None:
        while self.settle():
            pass

    def _end(self, ended: _Ended, target: _Target, by_partition: _ByPartition) -> None:
        self._note_ended(target, by_partition, ended.producer_id)
        if ended.is_commit:
            self._store(target, by_partition)

    # -- what is pending -------------------------------------------------------------------

    def _producers_of(self, target: _Target) -> dict[int, _Producers]:
        opened = self._open.get(target)
        return _NOBODY if opened is None else opened.by_partition

    def _opened(self, target: _Target) -> _OpenTarget:
        opened = self._open.get(target)
        if opened is None:
            opened = self._open[target] = _OpenTarget()
            self._open_counts[target[0]] = self._open_counts.get(target[0], 0) + 1
        return opened

    def _note_open(self, target: _Target, partition: int, producer_id: int) -> None:
        opened = self._open[target].by_partition
        producers = opened.get(partition)
        if producers is None or producers == producer_id:
            opened[partition] = producer_id
        elif isinstance(producers, dict):
            producers[producer_id] = None
        else:
            opened[partition] = {producers: None, producer_id: None}

    def _note_ended(self, target: _Target, ended: Iterable[int], producer_id: int) -> None:
        opened = self._open[target]
        opened.producer_count -= 1
        if opened.producer_count:
            by_partition = opened.by_partition
            for partition in ended:
                producers = by_partition[partition]
                if isinstance(producers, dict) and len(producers) > 1:
                    del producers[producer_id]
                else:
                    del by_partition[partition]
        self._forget_closed(target, opened)

    def _drop_pending(self, target: _Target, partition: int, producers: _Producers) -> None:
        for producer_id in producers if isinstance(producers, dict) else (producers,):
            by_topic = self._pending[producer_id][target[0]]
            by_partition = by_topic[target[1]]
            del by_partition[partition]
            if not by_partition:
                del by_topic[target[1]]
                if not by_topic:
                    del self._pending[producer_id][target[0]]
                self._open[target].producer_count -= 1
        opened = self._open[target]
        del opened.by_partition[partition]
        self._forget_closed(target, opened)

    def _forget_closed(self, target: _Target, opened: _OpenTarget) -> None:
        if opened.producer_count:
            return
        del self._open[target]
        group_id = target[0]
        self._open_counts[group_id] -= 1
        if not self._open_counts[group_id]:
            del self._open_counts[group_id]

    # -- what is stored --------------------------------------------------------------------

    def _store(self, target: _Target, ended: _ByPartition) -> None:
        """Store the offsets of a committed transaction, which nobody else has."""
        group_id, topic = target
        stored = self._offsets_of(target)
        if not stored:
            self._groups[group_id][topic] = ended
            return
        for partition, committed in ended.items():
            current = stored.get(partition)
            if current is None or committed.order > current.order:
                stored[partition] = committed

    def _offsets_of(self, target: _Target) -> _ByPartition:
        """Where an offset is stored."""
        group_id, topic = target
        by_topic = self._groups.get(group_id)
        if by_topic is None:
            by_topic = self._groups[group_id] = {}
        by_partition = by_topic.get(topic)
        if by_partition is None:
            by_partition = by_topic[topic] = {}
        return by_partition

    def _remove(self, target: _Target, partition: int) -> None:
        group_id, topic = target
        by_topic = self._groups.get(group_id)
        by_partition = None if by_topic is None else by_topic.get(topic)
        if by_topic is None or by_partition is None:
            return
        by_partition.pop(partition, None)
        if not by_partition:
            del by_topic[topic]
        if not by_topic:
            del self._groups[group_id]
