"""Whatever happens to many producers, a snapshot has exactly those of its offset."""

import random

import pytest

from moldau.simulator.disk import SimulatedDisk, keep_nothing
from moldau.storage.log.partition_log import PartitionLog
from moldau.storage.log.producer_chunks import CHUNK_SIZE, ProducerChunks
from moldau.storage.log.producer_entry import ProducerEntry
from moldau.storage.log.producer_snapshot import read_snapshot, snapshot_path
from moldau.storage.log.producer_state import MANY_PRODUCERS
from tests.storage.log_making import DIRECTORY, EPOCH, START_MS, Later, batch, new_log, reopened

DAY_MS = 86_400_000
ANCIENT_MS = START_MS - DAY_MS + 1


class Partition:
    """A log of many producers, and what its state must be at the end and at each roll."""

    def __init__(self) -> None:
        self.disk = SimulatedDisk(seed=5)
        self.executor = Later()
        self.log: PartitionLog = new_log(self.disk, executor=self.executor)
        self.sequences: dict[int, int] = {}
        self.last_offsets: dict[int, int] = {}
        self.ancient: set[int] = set()
        self.rolled: dict[int, dict[int, int]] = {}

    def write(self, producer_id: int, timestamp: int = START_MS) -> None:
        sequence = self.sequences.get(producer_id, 0)
        data = batch(b"x", producer_id=producer_id, sequence=sequence, timestamp=timestamp)
        info = self.log.append_as_leader(data, EPOCH, START_MS)
        self.log.update_high_watermark(self.log.log_end_offset)
        self.sequences[producer_id] = sequence + 1
        self.last_offsets[producer_id] = info.last_offset
        (self.ancient.add if timestamp == ANCIENT_MS else self.ancient.discard)(producer_id)

    def roll(self) -> None:
        self.log.roll()
        # If nothing was written since the last roll, there is no other one.
        self.rolled.setdefault(self.log.log_end_offset, dict(self.last_offsets))

    def expire(self) -> None:
        assert self.log.producers.expire(START_MS + 1) == len(self.ancient)
        for producer_id in self.ancient:
            del self.last_offsets[producer_id], self.sequences[producer_id]
        self.ancient.clear()

    def write_some_snapshots(self, rng: random.Random) -> None:
        for _ in range(rng.randrange(len(self.executor.waiting) + 1)):
            self.executor.waiting.pop(0)()

    def check(self) -> None:
        assert state_of(self.log) == self.last_offsets
        in_steps = [
            each.producer_id
            for some in self.log.producers.active_producers_in_steps()
            for each in some
        ]
        assert sorted(in_steps) == sorted(self.last_offsets)
        self.executor.run()
        for offset, expected in self.rolled.items():
            entries = read_snapshot(self.disk, snapshot_path(DIRECTORY, offset))
            assert {each.producer_id: each.last_offset for each in entries} == expected
            assert len(entries) == len(expected)


def state_of(log: PartitionLog) -> dict[int, int]:
    return {each.producer_id: each.last_offset for each in log.producers.active_producers()}


@pytest.mark.parametrize("seed", range(5))
def test_snapshots_have_the_producers_of_their_offset(seed: int) -> None:
    rng = random.Random(seed)
    partition = Partition()
    for producer_id in range(MANY_PRODUCERS + 200):
        partition.write(producer_id)
    next_id = MANY_PRODUCERS + 200
    for _ in range(400):
        match rng.randrange(8):
            case 0:
                partition.roll()
            case 1:
                partition.write_some_snapshots(rng)
            case 2:
                partition.write(next_id, ANCIENT_MS)
                next_id += 1
            case 3 if rng.random() < 0.2:
                partition.expire()
            case _:
                partition.write(rng.choice(list(partition.last_offsets)))
    partition.roll()
    partition.check()


@pytest.mark.parametrize("written", range(4))
def test_after_a_crash_the_producers_are_those_of_the_log(written: int) -> None:
    """However many of the three snapshots were written before it."""
    partition = Partition()
    for producer_id in range(MANY_PRODUCERS + 1):
        partition.write(producer_id)
    for producer_id in (3, 4, 5):
        partition.roll()
        partition.write(producer_id)
        partition.write(MANY_PRODUCERS + producer_id)
        partition.log.flush()
    for work in partition.executor.waiting[:written]:
        work()
    partition.disk.crash(keep_nothing)
    executor = Later()
    log = reopened(partition.disk, executor=executor)
    assert state_of(log) == partition.last_offsets
    # The producers that were loaded are many as well, and change without changing a snapshot.
    partition.log, partition.executor = log, executor
    partition.rolled.clear()
    partition.roll()
    partition.write(7)
    partition.check()


def test_few_producers_remain_of_many() -> None:
    partition = Partition()
    for producer_id in range(MANY_PRODUCERS + 1):
        partition.write(producer_id, ANCIENT_MS if producer_id % 2 else START_MS)
    partition.roll()
    partition.expire()
    partition.write(0)
    partition.roll()
    at_once = snapshot_path(DIRECTORY, partition.log.log_end_offset)
    assert partition.disk.exists(at_once)
    for producer_id in range(2 * MANY_PRODUCERS, 3 * MANY_PRODUCERS):
        partition.write(producer_id)
    partition.roll()
    partition.check()


def test_a_producer_leaves_its_place_to_another() -> None:
    chunks = ProducerChunks([ProducerEntry(number) for number in range(2 * CHUNK_SIZE)])
    snapshot = chunks.shared()
    (gone,) = (each for each in chunks.entries(0) if each.producer_id == 5)
    chunks.remove(gone, snapshots=1)
    new = ProducerEntry(1000)
    new.snapshots = 1
    chunks.add(new)
    assert len(chunks) == len(snapshot) == 2
    assert [each.producer_id for each in chunks.entries(0)][5] == 1000
    assert [each.producer_id for each in snapshot[0].entries if each][5] == 5
    assert chunks.shared()[1] is snapshot[1]


def test_the_next_snapshot_shares_the_encoded_form_of_what_has_not_changed() -> None:
    partition = Partition()
    for producer_id in range(MANY_PRODUCERS + 1):
        partition.write(producer_id)
    partition.roll()
    partition.executor.run()
    partition.write(CHUNK_SIZE)
    snapshot = partition.log.producers.plan_snapshot()
    assert snapshot is not None
    chunks = snapshot._chunks
    assert chunks is not None
    assert [chunk.encoded is None for chunk in chunks[:4]] == [False, True, False, False]
