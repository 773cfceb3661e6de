"""What clients of a cluster were told, and whether its logs agree with it.

Producers number their records: value ``"2.17"`` is record 17 of producer 2. A record that was
acknowledged must be in the log once, where the acknowledgement says, and in the order of its
producer. Members of a group read a partition without a gap while it is assigned to them, and begin
no earlier than what was committed before the assignment.
"""

import threading
from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

# What is said of one kind of violation; a broken cluster would fill the screen otherwise.
SHOWN = 10
UNKNOWN_OFFSET = -1

# The records of each partition, in the order of the log, as (offset, value).
Logs = Mapping[int, Sequence[tuple[int, str]]]


class Ack(NamedTuple):
    """A record that a producer was told is stored; some clients do not learn every offset."""

    value: str
    partition: int
    offset: int


class Assigned(NamedTuple):
    member: str
    partition: int


class Read(NamedTuple):
    member: str
    partition: int
    offset: int
    value: str


class Committed(NamedTuple):
    """A commit that was acknowledged: the member goes on at ``offset``."""

    partition: int
    offset: int


GroupEvent = Assigned | Read | Committed


class History:
    """Collects events of several threads."""

    def __init__(self) -> None:
        self.acks: list[Ack] = []
        self.failures: list[str] = []
        self.groups: dict[str, list[GroupEvent]] = {}
        self._lock = threading.Lock()

    def acknowledged(self, value: str, partition: int, offset: int) -> None:
        with self._lock:
            self.acks.append(Ack(value, partition, offset))

    def failed(self, what: str) -> None:
        with self._lock:
            self.failures.append(what)

    def of_group(self, group: str, event: GroupEvent) -> None:
        with self._lock:
            self.groups.setdefault(group, []).append(event)

    def written(self) -> set[tuple[str, int]]:
        """The producers, by number, and the partitions in which records of theirs are stored."""
        with self._lock:
            return {(ack.value.split(".")[0], ack.partition) for ack in self.acks}

    def read_offsets(self, group: str) -> dict[int, int]:
        """The offset after the last record that any member of a group has read, by partition."""
        found: dict[int, int] = {}
        with self._lock:
            for event in self.groups.get(group, []):
                if isinstance(event, Read):
                    found[event.partition] = max(found.get(event.partition, 0), event.offset + 1)
        return found


def violations(history: History, logs: Logs, resent: Collection[tuple[int, int]] = ()) -> list[str]:
    """Everything in which the logs contradict what clients were told.

    ``resent`` are the partitions and offsets of records that their producer wrote again on purpose.
    """
    found = [f"failed: {what}" for what in history.failures[:SHOWN]]
    once = {
        partition: [each for each in log if (partition, each[0]) not in resent]
        for partition, log in logs.items()
    }
    found += log_violations(history.acks, once)
    for group, events in history.groups.items():
        found += [f"group {group}: {each}" for each in group_violations(events, logs)]
    return found


def log_violations(acks: Sequence[Ack], logs: Logs) -> list[str]:
    """Records that are lost, moved, stored twice or out of order."""
    places: dict[str, tuple[int, int]] = {}
    doubled, reordered = [], []
    for partition, records in logs.items():
        last: dict[str, int] = {}
        for offset, value in records:
            here = (partition, offset)
            there = places.setdefault(value, here)
            if there != here:
                doubled.append(f"doubled: {value} at {_place(there)} and {_place(here)}")
                continue
            producer, _, number = value.partition(".")
            if int(number) < last.get(producer, -1):
                reordered.append(f"reordered: {value} at {_place(here)} after {last[producer]}")
            last[producer] = int(number)
    lost, moved = [], []
    for ack in acks:
        place = places.get(ack.value)
        if place is None:
            lost.append(f"lost: {ack.value}, acknowledged at {_place(ack[1:])}")
        elif place[0] != ack.partition or ack.offset not in (place[1], UNKNOWN_OFFSET):
            moved.append(f"moved: {ack.value} is at {_place(place)}, not {_place(ack[1:])}")
    return [text for kind in (lost, moved, doubled, reordered) for text in _some(kind)]


def group_violations(events: Sequence[GroupEvent], logs: Logs) -> list[str]:
    """Records that a group skipped, read twice without need, or read otherwise than stored."""
    values = {
        (partition, offset): value for partition, log in logs.items() for offset, value in log
    }
    committed: dict[int, int] = {}
    # Where a member goes on; with the commits before an assignment, where it may begin.
    next_offset: dict[tuple[str, int], int] = {}
    floor: dict[tuple[str, int], int] = {}
    seen: set[tuple[int, int]] = set()
    wrong, fallen, gaps = [], [], []
    for event in events:
        if isinstance(event, Committed):
            committed[event.partition] = max(committed.get(event.partition, 0), event.offset)
            continue
        owner = (event.member, event.partition)
        if isinstance(event, Assigned):
            floor[owner] = committed.get(event.partition, 0)
            next_offset.pop(owner, None)
            continue
        place = (event.partition, event.offset)
        seen.add(place)
        if values.get(place) != event.value:
            wrong.append(f"read {event.value} at {_place(place)}, stored is {values.get(place)}")
        expected = next_offset.get(owner)
        if expected is None and event.offset < floor.get(owner, 0):
            fallen.append(f"{event.member} began at {_place(place)}, committed was {floor[owner]}")
        elif expected is not None and event.offset != expected:
            gaps.append(f"{event.member} read {_place(place)}, expected offset {expected}")
        next_offset[owner] = event.offset + 1
    skipped = [f"never read: {values[place]} at {_place(place)}" for place in values.keys() - seen]
    return [text for kind in (wrong, fallen, gaps, sorted(skipped)) for text in _some(kind)]


def _some(texts: list[str]) -> list[str]:
    rest = len(texts) - SHOWN
    return texts[:SHOWN] + ([f"... and {rest} more like it"] if rest > 0 else [])


def _place(place: Sequence[object]) -> str:
    return "{}@{}".format(*place)
