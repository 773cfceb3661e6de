"""Crashes between any two disk operations.

A fixed workload of appends, rolls, flushes and checkpoints runs on the simulated disk, and is
stopped between any two disk operations; background flushes are late in half of the cases. After
recovery the log must be a prefix of what was written, include everything that was flushed, and be
consistent; and if only the process died, include everything that was acknowledged.
"""

import random
from collections.abc import Callable, Iterator
from contextlib import suppress

import pytest

from moldau.clock import ManualClock
from moldau.config.topic import LogConfig
from moldau.record.header import iter_headers
from moldau.simulator.disk import (
    PowerCut,
    SimulatedDisk,
    keep_everything,
    keep_nothing,
)
from moldau.storage.disk.checkpoint import RECOVERY_POINT_CHECKPOINT, read_offsets, write_offsets
from moldau.storage.log.batch_scan import iter_valid_batches
from moldau.storage.log.partition_log import PartitionLog
from moldau.storage.log.producer_replay import replay_batch
from moldau.storage.log.producer_state import ProducerStateManager
from tests.storage.log_making import (
    DIRECTORY,
    START_MS,
    TOPIC_PARTITION,
    batch,
    new_log,
    read_all,
    reopened,
)

CONFIG = LogConfig(segment_bytes=900, index_interval_bytes=150)
CHECKPOINT = f"/data/{RECOVERY_POINT_CHECKPOINT}"
SEED = 20_240


class Late:
    """An executor that does its work when it is told to."""

    def __init__(self) -> None:
        self.jobs: list[Callable[[], object]] = []

    def submit(self, fn: Callable[..., object], /, *args: object) -> None:
        self.jobs.append(lambda: fn(*args))

    def work(self) -> None:
        jobs, self.jobs = self.jobs, []
        for job in jobs:
            job()


class Workload:
    """Appends with two producers and without; a record's value is its offset."""

    def __init__(self, disk: SimulatedDisk, *, is_late: bool = False) -> None:
        self.disk = disk
        self.late = Late() if is_late else None
        self.acknowledged: list[tuple[int, bytes]] = []
        self.flushed = 0
        self.checkpointed = 0
        self.batch_ends = {0}
        self._rng = random.Random(SEED)
        self._sequences = {-1: -1, 11: 0, 22: 0}

    def run(self, steps: int) -> None:
        self.disk.make_dirs("/data")
        self.disk.sync_dir("/")
        log = new_log(self.disk, CONFIG, executor=self.late)
        for step in range(steps):
            self._append(log, step)
            if step % 7 == 3:
                log.flush()
            if self.late is not None and step % 13 == 12:
                self.late.work()
            self.flushed = log.recovery_point
            if step % 11 == 5:
                write_offsets(self.disk, CHECKPOINT, {TOPIC_PARTITION: log.recovery_point})
                self.checkpointed = log.recovery_point
        if self.late is not None:
            self.late.work()
        log.flush()
        log.close()

    def _append(self, log: PartitionLog, step: int) -> None:
        rng = self._rng
        count = rng.randint(1, 3)
        producer_id = rng.choice((-1, 11, 22))
        offset = log.log_end_offset
        values = [b"%06d" % (offset + n) * rng.randint(1, 20) for n in range(count)]
        data = batch(
            *values,
            timestamp=START_MS + step,
            producer_id=producer_id,
            sequence=self._sequences[producer_id],
        )
        info = log.append_as_leader(data, step // 9, START_MS)
        assert info.first_offset == offset
        self.acknowledged.extend(zip(range(offset, offset + count), values, strict=True))
        self.batch_ends.add(offset + count)
        if producer_id >= 0:
            self._sequences[producer_id] += count


STEPS = 50


def operations_of_a_whole_run() -> int:
    disk = SimulatedDisk(SEED)
    Workload(disk).run(STEPS)
    return disk.operations


WHOLE_RUN = operations_of_a_whole_run()


def crashes(every: int) -> Iterator[tuple[int, SimulatedDisk, Workload]]:
    """The disk and the story so far, stopped after each number of operations."""
    for moment in range(1, WHOLE_RUN + 1, every):
        disk = SimulatedDisk(SEED + moment)
        workload = Workload(disk, is_late=moment // every % 2 == 0)
        disk.cut_power_after(moment)
        with suppress(PowerCut):
            workload.run(STEPS)
        yield moment, disk, workload


def recovered(disk: SimulatedDisk) -> PartitionLog:
    points = read_offsets(disk, CHECKPOINT)
    return reopened(disk, CONFIG, recovery_point=points.get(TOPIC_PARTITION, 0))


def check_log(log: PartitionLog, workload: Workload, moment: int) -> int:
    """What must hold whatever was lost; returns how many records are there."""
    records = read_all(log)
    acknowledged = workload.acknowledged
    # A prefix of what was written: the last append may be there though nobody was told.
    assert records[: len(acknowledged)] == acknowledged[: len(records)], f"moment {moment}"
    assert [offset for offset, _ in records] == list(range(log.log_end_offset))
    if len(records) <= len(acknowledged):
        assert log.log_end_offset in workload.batch_ends
    else:
        assert len(records) - len(acknowledged) <= 3
    assert log.recovery_point <= log.log_end_offset
    check_indexes(log)
    check_producers(log)
    return len(records)


def check_indexes(log: PartitionLog) -> None:
    """Every entry points to a batch, and the segments fit together."""
    expected = 0
    for segment in log.segments:
        assert segment.base_offset == expected
        assert segment.size == segment.log.size
        starts = {}
        largest = {}
        high = -1
        for position, header, _, _ in iter_valid_batches(
            segment.log, 0, segment.size, segment.base_offset
        ):
            starts[header.last_offset] = position
            high = max(high, header.max_timestamp)
            largest[header.last_offset] = high
            expected = header.next_offset
        for slot in range(segment.offset_index.entries):
            offset, position = segment.offset_index.entry(slot)
            assert starts[offset] == position
        for slot in range(segment.time_index.entries):
            timestamp, offset = segment.time_index.entry(slot)
            assert largest[offset] == timestamp
    assert log.log_end_offset == expected


def check_producers(log: PartitionLog) -> None:
    """Producer state is what a replay of all batches gives; so are the epochs."""
    replayed = ProducerStateManager(SimulatedDisk(), "/nowhere", TOPIC_PARTITION, 86_400_000)
    epochs: list[tuple[int, int]] = []
    for segment in log.segments:
        data = segment.log.pread(segment.size, 0)
        for position, header in iter_headers(data):
            replay_batch(replayed, header, data, position, None)
            if not epochs or header.partition_leader_epoch > epochs[-1][0]:
                epochs.append((header.partition_leader_epoch, header.base_offset))
    assert [tuple(entry) for entry in log.leader_epochs.entries()] == epochs
    assert log.producers.map_end_offset == log.log_end_offset
    for producer_id in (11, 22):
        want, found = replayed.entry(producer_id), log.producers.entry(producer_id)
        assert (want is None) == (found is None)
        if want is not None and found is not None:
            assert (want.epoch, want.next_sequence, want.last_offset) == (
                found.epoch,
                found.next_sequence,
                found.last_offset,
            )


def check_goes_on(log: PartitionLog, disk: SimulatedDisk) -> None:
    """The log can be written to, and stopped and started again."""
    end = log.log_end_offset
    log.append_as_leader(batch(b"after"), 99, START_MS)
    assert read_all(log)[-1] == (end, b"after")
    log.flush()
    log.close()
    again = reopened(disk, CONFIG, clean=True)
    assert read_all(again)[-1] == (end, b"after")


def test_the_workload_meets_every_kind_of_event() -> None:
    disk = SimulatedDisk(SEED)
    workload = Workload(disk)
    workload.run(STEPS)
    names = disk.list_dir(DIRECTORY)
    assert sum(name.endswith(".log") for name in names) >= 5
    assert sum(name.endswith(".snapshot") for name in names) >= 5
    assert workload.checkpointed > 0
    assert WHOLE_RUN > 300


def test_kill_9_at_any_moment_loses_nothing_that_was_acknowledged() -> None:
    for moment, disk, workload in crashes(every=1):
        disk.crash(keep_everything)
        log = recovered(disk)
        count = check_log(log, workload, moment)
        assert count >= len(workload.acknowledged), f"moment {moment}"
        if moment % 10 == 1:
            check_goes_on(log, disk)


def test_a_power_cut_at_any_moment_loses_nothing_that_was_flushed() -> None:
    for moment, disk, workload in crashes(every=2):
        for lose_names in (False, True):
            cut = disk.fork(seed=moment)
            cut.crash(keep_nothing, lose_names=lose_names)
            log = recovered(cut)
            count = check_log(log, workload, moment)
            assert count >= workload.flushed, f"moment {moment}"
            if moment % 10 == 1:
                check_goes_on(log, cut)


@pytest.mark.parametrize("lose_pages", [False, True])
def test_writes_torn_at_any_byte_are_cut_to_whole_batches(lose_pages: bool) -> None:
    for moment, disk, workload in crashes(every=3):
        for tear in range(3):
            torn = disk.fork(seed=1000 * moment + tear)
            torn.crash(lose_pages=lose_pages, lose_names=tear == 2)
            count = check_log(recovered(torn), workload, moment)
            assert count >= workload.flushed, f"moment {moment}, tear {tear}"


def test_every_byte_of_the_last_write_can_be_the_last() -> None:
    disk = SimulatedDisk(SEED)
    workload = Workload(disk)
    disk.cut_power_after(WHOLE_RUN // 2)
    with suppress(PowerCut):
        workload.run(STEPS)
    for surviving in range(max(disk.unsynced().values(), default=0) + 1):
        torn = disk.fork()
        torn.crash(lambda _, unsynced, kept=surviving: min(unsynced, kept))  # type: ignore[misc]
        assert check_log(recovered(torn), workload, surviving) >= workload.flushed


def test_recovery_itself_can_be_interrupted_at_any_moment() -> None:
    crashed = SimulatedDisk(SEED)
    workload = Workload(crashed)
    crashed.cut_power_after(WHOLE_RUN * 2 // 3)
    with suppress(PowerCut):
        workload.run(STEPS)
    crashed.crash()
    whole = crashed.fork()
    before = whole.operations
    count = check_log(recovered(whole), workload, -1)
    for moment in range(1, whole.operations - before + 1):
        disk = crashed.fork()
        disk.cut_power_after(moment)
        with suppress(PowerCut):
            recovered(disk)
        disk.crash(lose_names=True)
        assert check_log(recovered(disk), workload, moment) == count


def test_the_same_seed_gives_the_same_bytes() -> None:
    def end_state() -> list[tuple[str, bytes]]:
        disk = SimulatedDisk(5, ManualClock(START_MS))
        workload = Workload(disk)
        disk.cut_power_after(WHOLE_RUN // 2)
        with suppress(PowerCut):
            workload.run(STEPS)
        disk.crash(lose_names=True)
        recovered(disk)
        names = disk.list_dir(DIRECTORY)
        return [(name, disk.read_bytes(f"{DIRECTORY}/{name}")) for name in names]

    assert end_state() == end_state()
