"""Which brokers should have the replicas of partitions. Pure, and the same for the same input.

As few replicas move as possible: those on the wanted brokers stay, unless a broker has more than
its share. Replicas of a partition are in different racks as far as there are racks. The first
replica is the preferred leader; the brokers get equally many of them.
"""

from collections.abc import Mapping, Sequence

from moldau.ids import TopicPartition

Assignment = dict[TopicPartition, list[int]]


class NotEnoughBrokers(Exception):  # noqa: N818
    """A partition cannot have more replicas than there are brokers."""


def spread(
    current: Mapping[TopicPartition, Sequence[int]],
    brokers: Sequence[int],
    racks: Mapping[int, str | None],
    replication_factor: int | None = None,
) -> Assignment:
    """New replicas of every partition in ``current``, on ``brokers`` only.

    Without ``replication_factor`` every partition keeps the number of its replicas.

    Raises:
        NotEnoughBrokers: there are fewer brokers than replicas.
    """
    planner = _Planner(brokers, racks)
    for partition, replicas in current.items():
        planner.take(partition, replicas, replication_factor or len(replicas))
    planner.level()
    planner.choose_leaders()
    return planner.assignment


class _Planner:
    def __init__(self, brokers: Sequence[int], racks: Mapping[int, str | None]) -> None:
        self._brokers = sorted(dict.fromkeys(brokers))
        self._racks = racks
        self._load = dict.fromkeys(self._brokers, 0)
        self.assignment: Assignment = {}

    def take(self, partition: TopicPartition, replicas: Sequence[int], count: int) -> None:
        """Keep the replicas that may stay, and complete them."""
        if count > len(self._brokers):
            raise NotEnoughBrokers(
                f"{partition} needs {count} brokers for its replicas, but only "
                f"{len(self._brokers)} {'is' if len(self._brokers) == 1 else 'are'} given"
            )
        kept = [each for each in replicas if each in self._load][:count]
        for each in kept:
            self._load[each] += 1
        while len(kept) < count:
            added = min(
                (each for each in self._brokers if each not in kept),
                key=lambda each: (self._shares_rack(each, kept), self._load[each], each),
            )
            kept.append(added)
            self._load[added] += 1
        self.assignment[partition] = kept

    def level(self) -> None:
        """Move replicas from the brokers with most to those with fewest, while that helps."""
        is_moving = True
        while is_moving:
            is_moving = False
            for partition, replicas in self.assignment.items():
                move = self._best_move(replicas)
                if move is not None:
                    source, target = move
                    self.assignment[partition] = [
                        target if each == source else each for each in replicas
                    ]
                    self._load[source] -= 1
                    self._load[target] += 1
                    is_moving = True

    def _best_move(self, replicas: Sequence[int]) -> tuple[int, int] | None:
        """From the fullest broker that gains by it to the emptiest; None if none gains."""
        for source in sorted(replicas, key=lambda each: (-self._load[each], each)):
            others = [each for each in replicas if each != source]
            shared = self._shares_rack(source, others)
            targets = [
                each
                for each in self._brokers
                if each not in replicas
                and self._load[each] + 1 < self._load[source]
                and self._shares_rack(each, others) <= shared
            ]
            if targets:
                return source, min(targets, key=lambda each: (self._load[each], each))
        return None

    def choose_leaders(self) -> None:
        """Order the replicas so that every broker is first equally often, as far as possible."""
        leads = dict.fromkeys(self._brokers, 0)
        for replicas in self.assignment.values():
            leads[replicas[0]] += 1
        is_moving = True
        while is_moving:
            is_moving = False
            for replicas in self.assignment.values():
                fewest = min(replicas, key=lambda each: (leads[each], each))
                if leads[fewest] + 1 < leads[replicas[0]]:
                    leads[replicas[0]] -= 1
                    leads[fewest] += 1
                    replicas.remove(fewest)
                    replicas.insert(0, fewest)
                    is_moving = True

    def _shares_rack(self, broker: int, others: Sequence[int]) -> int:
        rack = self._racks.get(broker)
        return sum(rack is not None and self._racks.get(each) == rack for each in others)
