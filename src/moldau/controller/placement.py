"""Chooses brokers for the replicas of new partitions.

Partitions are striped over the racks, and over the brokers within a rack, from a random start:
every broker leads an equal share, the replicas of a partition are in different racks if there
are enough, and topics do not all start at the same broker. When every broker has led once, all
lists are shuffled, so that a leader does not always have the same followers. Fenced brokers get
follower replicas, at the end of the list, but never leaders. Brokers that are about to stop get
none.
"""

import random
from collections.abc import Iterable

from moldau.errors import ApiError, ErrorCode
from moldau.metadata.registrations import BrokerRegistration


def place_replicas(
    brokers: Iterable[BrokerRegistration],
    partitions: int,
    replication_factor: int,
    rng: random.Random,
) -> list[list[int]]:
    """Broker ids for each new partition, leader first.

    Raises:
        ApiError: INVALID_REPLICATION_FACTOR, with the reason alone as its message.
    """
    racks = _Racks(brokers, rng)
    if replication_factor <= 0:
        raise _invalid(
            f"Invalid replication factor {replication_factor}: "
            "the replication factor must be positive."
        )
    if racks.unfenced_count == 0:
        raise _invalid(
            "All brokers are currently fenced, or have all their log directories cordoned."
        )
    if replication_factor > racks.total_count:
        raise _invalid(
            f"The target replication factor of {replication_factor} cannot be reached because "
            f"only {racks.total_count} broker(s) are registered or some brokers have all their "
            "log directories cordoned."
        )
    return [racks.place(replication_factor) for _ in range(partitions)]


def _invalid(reason: str) -> ApiError:
    return ApiError(ErrorCode.INVALID_REPLICATION_FACTOR, reason)


class _Ring:
    """The brokers of a rack as a ring; each epoch starts one position later."""

    def __init__(self) -> None:
        self.brokers: list[int] = []
        self._epoch = 0
        self._index = 0
        self._offset = 0

    def start(self, rng: random.Random) -> None:
        self.brokers.sort()
        if self.brokers:
            self._offset = rng.randrange(len(self.brokers))

    def next(self, epoch: int) -> int:
        """The next broker of this epoch, or -1 if all have been used."""
        if not self.brokers:
            return -1
        if self._epoch != epoch:
            self._epoch = epoch
            self._index = 0
            self._offset = (self._offset + 1) % len(self.brokers)
        if self._index >= len(self.brokers):
            return -1
        broker = self.brokers[(self._index + self._offset) % len(self.brokers)]
        self._index += 1
        return broker

    def shuffle(self, rng: random.Random) -> None:
        rng.shuffle(self.brokers)


class _Racks:
    """The racks in round-robin order; see the module's docstring."""

    def __init__(self, brokers: Iterable[BrokerRegistration], rng: random.Random) -> None:
        self._rng = rng
        self._unfenced: dict[str, _Ring] = {}
        self._fenced: dict[str, _Ring] = {}
        self.unfenced_count = 0
        self.total_count = 0
        for broker in brokers:
            # One that has stopped is fenced, and will return.
            is_stopping = broker.in_controlled_shutdown and not broker.fenced
            if not broker.has_uncordoned_dirs or is_stopping:
                continue
            rack = broker.rack or ""
            self._unfenced.setdefault(rack, _Ring())
            self._fenced.setdefault(rack, _Ring())
            if broker.fenced:
                self._fenced[rack].brokers.append(broker.id)
            else:
                self._unfenced[rack].brokers.append(broker.id)
                self.unfenced_count += 1
            self.total_count += 1
        for rings in (self._unfenced, self._fenced):
            for ring in rings.values():
                ring.start(rng)
        self._names = sorted(self._unfenced)
        self._offset = rng.randrange(len(self._names)) if self._names else 0
        self._epoch = 0

    def place(self, replication_factor: int) -> list[int]:
        # With a single broker, the shuffle would be repeated for ever.
        if self._epoch == self.unfenced_count and self.unfenced_count > 1:
            self._shuffle()
        self._offset %= len(self._names)
        first_rack = self._offset
        brokers: list[int] = []
        while not brokers:
            leader = self._unfenced[self._names[first_rack]].next(self._epoch)
            if leader >= 0:
                brokers.append(leader)
            else:
                first_rack = (first_rack + 1) % len(self._names)
        rack = self._offset
        while len(brokers) < replication_factor:
            if rack == first_rack:
                # The rack of the leader has already been used, but only this once.
                first_rack = -1
            else:
                name = self._names[rack]
                replica = self._unfenced[name].next(self._epoch)
                if replica < 0:
                    replica = self._fenced[name].next(self._epoch)
                if replica >= 0:
                    brokers.append(replica)
            rack = (rack + 1) % len(self._names)
        self._epoch += 1
        self._offset += 1
        return brokers

    def _shuffle(self) -> None:
        self._rng.shuffle(self._names)
        for rings in (self._unfenced, self._fenced):
            for ring in rings.values():
                ring.shuffle(self._rng)
        self._epoch = 0
