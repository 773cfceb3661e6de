"""An index from brokers to partitions, so that losing a broker costs its partitions, not all.

It is derived from the image and kept only by a controller, which updates it from the delta of
every change. A large delta is not indexed at once, which would delay other requests: it is queued,
and the next decision indexes it in its first steps. So every decision that reads the index takes
the steps of ``catch_up`` before.
"""

from collections import deque
from collections.abc import Generator, Iterator, Mapping
from typing import Final

from moldau.metadata.delta import MetadataDelta
from moldau.metadata.image import MetadataImage
from moldau.metadata.registrations import NO_LEADER, PartitionRegistration

# A topic id and a partition.
PartitionKey = tuple[bytes, int]
# Ordered, unlike a set, so that the same log leads to the same decisions.
Partitions = dict[PartitionKey, None]

_NO_PARTITIONS: Final[Partitions] = {}
# So many partitions are indexed immediately; it takes about a millisecond.
_SMALL: Final = 200


class PartitionIndex:
    """The partitions by in-sync broker, by eligible broker, and those that need an election."""

    def __init__(self, image: MetadataImage) -> None:
        self._in_isr: dict[int, Partitions] = {}
        self._in_elr: dict[int, Partitions] = {}
        self._led: dict[int, int] = {}
        self.leaderless: Partitions = {}
        self.not_led_by_preferred: Partitions = {}
        self._queue: deque[Iterator[None]] = deque()
        if image.topics_by_id:
            self._queue.append(self._add_all(image))

    def in_isr(self, broker_id: int) -> Mapping[PartitionKey, None]:
        """The partitions that have the broker in their ISR."""
        return self._in_isr.get(broker_id, _NO_PARTITIONS)

    def in_elr(self, broker_id: int) -> Mapping[PartitionKey, None]:
        """The partitions that have the broker among their eligible leader replicas."""
        return self._in_elr.get(broker_id, _NO_PARTITIONS)

    def leads_any(self, broker_id: int) -> bool:
        return broker_id in self._led

    def changed(self, delta: MetadataDelta) -> None:
        """Index the changes: now if they are few, and with the next decision if they are many."""
        count = sum(len(changed) for changed in delta.changed_partitions.values())
        count += sum(len(topic.partitions) for topic in delta.deleted_topics.values())
        if count == 0:
            return
        self._queue.append(self._apply(delta))
        if count <= _SMALL and len(self._queue) == 1:
            for _ in self.catch_up():
                pass

    def catch_up(self) -> Generator[None, None, None]:
        """Index what is queued. May be abandoned after any step, and taken up again."""
        while self._queue:
            for _ in self._queue[0]:
                yield
            self._queue.popleft()

    def _add_all(self, image: MetadataImage) -> Iterator[None]:
        for topic_id, topic in image.topics_by_id.items():
            for partition, registration in topic.partitions.items():
                self._add((topic_id, partition), registration)
                yield

    def _apply(self, delta: MetadataDelta) -> Iterator[None]:
        for topic_id, topic in delta.deleted_topics.items():
            for partition, registration in topic.partitions.items():
                self._remove((topic_id, partition), registration)
                yield
        for topic_id, changed in delta.changed_partitions.items():
            base = delta.base.topics_by_id.get(topic_id)
            before = {} if base is None else base.partitions
            for partition, registration in changed.items():
                self._change((topic_id, partition), before.get(partition), registration)
                yield

    def _change(
        self,
        key: PartitionKey,
        before: PartitionRegistration | None,
        after: PartitionRegistration,
    ) -> None:
        """Index one partition; what did not change keeps its place."""
        if before is None:
            self._add(key, after)
            return
        _replace(self._in_isr, key, before.isr, after.isr)
        _replace(self._in_elr, key, before.elr, after.elr)
        if before.leader != after.leader or before.preferred_leader != after.preferred_leader:
            self._remove_leader(key, before)
            self._add_leader(key, after)

    def _add(self, key: PartitionKey, registration: PartitionRegistration) -> None:
        _replace(self._in_isr, key, (), registration.isr)
        _replace(self._in_elr, key, (), registration.elr)
        self._add_leader(key, registration)

    def _remove(self, key: PartitionKey, registration: PartitionRegistration) -> None:
        _replace(self._in_isr, key, registration.isr, ())
        _replace(self._in_elr, key, registration.elr, ())
        self._remove_leader(key, registration)

    def _add_leader(self, key: PartitionKey, registration: PartitionRegistration) -> None:
        leader = registration.leader
        if leader == NO_LEADER:
            self.leaderless[key] = None
        else:
            self._led[leader] = self._led.get(leader, 0) + 1
        if leader != registration.preferred_leader:
            self.not_led_by_preferred[key] = None

    def _remove_leader(self, key: PartitionKey, registration: PartitionRegistration) -> None:
        leader = registration.leader
        if leader == NO_LEADER:
            del self.leaderless[key]
        elif self._led[leader] == 1:
            del self._led[leader]
        else:
            self._led[leader] -= 1
        if leader != registration.preferred_leader:
            del self.not_led_by_preferred[key]


def _replace(
    table: dict[int, Partitions],
    key: PartitionKey,
    before: tuple[int, ...],
    after: tuple[int, ...],
) -> None:
    """Move a partition from the brokers ``before`` to the brokers ``after``."""
    if before == after:
        return
    for broker_id in before:
        if broker_id not in after:
            partitions = table[broker_id]
            del partitions[key]
            if not partitions:
                del table[broker_id]
    for broker_id in after:
        if broker_id not in before:
            known = table.get(broker_id)
            if known is None:
                table[broker_id] = {key: None}
            else:
                known[key] = None
