"""The uniform assignor for members with different subscriptions.

Members first keep the partitions they own and still subscribe to; unassigned partitions go to
the subscriber with the fewest, hardest topics (most partitions per subscriber) first. Then
partitions move, topic by topic, from the subscriber with the most to the one with the fewest,
until they differ by at most one or sixteen rounds have passed: if subscriptions only overlap, a
perfect balance can take very long, and each round about halves the imbalance.

The order of members with equal load is Kafka's (``levels``); only the initial order of members
differs: it is by id, and that of a hash table in Kafka.
"""

from typing import Final

from moldau.group_coordinator.consumer.assignors.levels import Givers, Takers
from moldau.group_coordinator.consumer.assignors.spec import GroupAssignment, GroupSpec

_ROUNDS: Final = 16
_NOBODY: Final = -1


def assign_mixed(spec: GroupSpec) -> GroupAssignment:
    return _Mixed(spec).assign()


class _Mixed:
    """Balances a group. Members are numbered in the order of their ids."""

    def __init__(self, spec: GroupSpec) -> None:
        self._members = sorted(spec.members, key=lambda member: member.member_id)
        self._sizes = [0] * len(self._members)
        self._subscribers: dict[bytes, list[int]] = {}
        for number, member in enumerate(self._members):
            for topic_id in member.topic_ids:
                self._subscribers.setdefault(topic_id, []).append(number)
        counts = spec.partition_counts
        self._owners = {topic_id: [_NOBODY] * counts[topic_id] for topic_id in self._subscribers}
        self._topics = sorted(
            self._subscribers,
            key=lambda topic_id: (
                -counts[topic_id] / len(self._subscribers[topic_id]),
                len(self._subscribers[topic_id]),
                _java_order(topic_id),
            ),
        )

    def assign(self) -> GroupAssignment:
        self._keep()
        for topic_id in self._topics:
            self._give_free(topic_id)
        self._balance()
        found: list[dict[bytes, list[int]]] = [{} for _ in self._members]
        for topic_id, owners in sorted(self._owners.items()):
            for partition, owner in enumerate(owners):
                found[owner].setdefault(topic_id, []).append(partition)
        return {
            member.member_id: {topic_id: tuple(mine) for topic_id, mine in topics.items()}
            for member, topics in zip(self._members, found, strict=True)
        }

    def _keep(self) -> None:
        for number, member in enumerate(self._members):
            wanted = dict.fromkeys(member.topic_ids)
            for topic_id, partitions in member.previous.items():
                if topic_id not in wanted:
                    continue
                owners = self._owners[topic_id]
                for partition in partitions:
                    if partition < len(owners) and owners[partition] == _NOBODY:
                        owners[partition] = number
                        self._sizes[number] += 1

    def _give_free(self, topic_id: bytes) -> None:
        owners = self._owners[topic_id]
        free = [partition for partition, owner in enumerate(owners) if owner == _NOBODY]
        if not free:
            return
        takers = Takers(self._by_load(topic_id), self._sizes)
        for partition in free:
            taker = takers.next()
            owners[partition] = taker
            self._sizes[taker] += 1

    def _balance(self) -> None:
        movable = [topic_id for topic_id in self._topics if len(self._subscribers[topic_id]) > 1]
        for _ in range(_ROUNDS):
            moved = [self._balance_topic(topic_id) for topic_id in movable]
            if not any(moved):
                return

    def _balance_topic(self, topic_id: bytes) -> bool:
        """Balance one topic; returns whether a partition moved."""
        sizes = self._sizes
        order = self._by_load(topic_id)
        if sizes[order[-1]] - sizes[order[0]] <= 1:
            return False
        owners = self._owners[topic_id]
        held: dict[int, list[int]] = {}
        for partition, owner in enumerate(owners):
            held.setdefault(owner, []).append(partition)
        takers = Takers(order, sizes)
        givers = Givers(order, sizes)
        has_moved = False
        while True:
            giver = givers.next()
            while giver is not None and not held.get(giver):
                givers.exclude_last()
                giver = givers.next()
            taker = takers.next()
            if giver is None or givers.level - takers.level <= 1:
                return has_moved
            owners[held[giver].pop()] = taker
            sizes[giver] -= 1
            sizes[taker] += 1
            has_moved = True

    def _by_load(self, topic_id: bytes) -> list[int]:
        """The subscribers of a topic, the one with the fewest partitions first."""
        return sorted(self._subscribers[topic_id], key=lambda number: (self._sizes[number], number))


def _java_order(topic_id: bytes) -> tuple[int, int]:
    """Kafka's order of topic ids, which compares two signed numbers."""
    first, second = topic_id[:8], topic_id[8:]
    return int.from_bytes(first, signed=True), int.from_bytes(second, signed=True)
