"""Crashes between any two disk operations while a replica moves to another disk.

Whatever was lost, the next start finds one log, at most one copy of it, and all records it should:
those acknowledged if only the process died, those flushed after a power failure. The metadata is
what a broker would have committed by then.
"""

import random
from contextlib import suppress

import pytest

from moldau.clock import ManualClock
from moldau.config.topic import LogConfig
from moldau.errors import ApiError, ErrorCode
from moldau.ids import TopicPartition
from moldau.simulator.disk import (
    PowerCut,
    SimulatedDisk,
    keep_everything,
    keep_nothing,
)
from moldau.storage.log.log_copy import LogCopy
from moldau.storage.log.partition_log import PartitionLog
from moldau.storage.log_dirs import DELETE, FUTURE, parse_directory
from moldau.storage.log_manager import LogManager
from tests.storage.log_making import EPOCH, START_MS, TOPIC_PARTITION, append, batch, read_all

CONFIG = LogConfig(segment_bytes=700, index_interval_bytes=100)
TOPIC_ID = b"0123456789abcdef"
OLD, NEW, OTHER = "/old", "/new", "/other"
DIRS = (OLD, NEW, OTHER)


def started(disk: SimulatedDisk, assigned: str | None = None) -> LogManager:
    manager = LogManager(DIRS, disk=disk, clock=ManualClock(START_MS), rng=random.Random(3))
    manager.open_directories()
    manager.load(lambda topic: CONFIG, None, lambda topic_partition, topic_id: assigned)
    return manager


def future_of(manager: LogManager, path: str) -> PartitionLog:
    return manager.get_or_create(
        TOPIC_PARTITION, CONFIG, TOPIC_ID, is_new=False, log_dir=path, is_future=True
    )


def copied(copy: LogCopy) -> None:
    while (piece := copy.plan()) is not None:
        copy.copy(piece)


class Mover:
    """One life of a broker that moves a replica while a producer writes to it."""

    def __init__(self, disk: SimulatedDisk) -> None:
        self.disk = disk
        # Where the metadata says the replica is.
        self.assigned = OLD
        self.acknowledged: list[tuple[int, bytes]] = []
        self.flushed = 0

    def run(self) -> None:
        manager = started(self.disk, self.assigned)
        log = manager.get(TOPIC_PARTITION)
        assert log is not None
        self.acknowledged = [(offset, value or b"") for offset, value in read_all(log)]
        self.flushed = log.recovery_point
        copy = LogCopy(log, future_of(manager, NEW))
        while (piece := copy.plan()) is not None:
            copy.copy(piece)
            if log.log_end_offset < 24:
                self.produce(log, is_flushed=False)
        manager.durable_future(TOPIC_PARTITION)()
        self.assigned = NEW
        self.produce(log, is_flushed=True)
        copied(copy)
        if copy.future.recovery_point < log.recovery_point:
            copy.future.flush()
        moved = manager.replace_current_with_future(TOPIC_PARTITION)
        self.produce(moved, is_flushed=True)
        manager.sync_names(OLD, NEW)
        self.produce(moved, is_flushed=True)
        manager.shutdown()

    def produce(self, log: PartitionLog, *, is_flushed: bool) -> None:
        value = b"%06d" % log.log_end_offset * 10
        info = log.append_as_leader(batch(value), EPOCH, START_MS)
        log.update_high_watermark(log.log_end_offset)
        self.acknowledged.append((info.first_offset, value))
        if is_flushed:
            log.flush()
            self.flushed = log.log_end_offset


def prepared() -> SimulatedDisk:
    """A log of several segments in the first directory, after a clean stop."""
    disk = SimulatedDisk(1)
    for path in DIRS:
        disk.make_dirs(path)
    disk.sync_dir("/")
    manager = started(disk)
    log = manager.get_or_create(TOPIC_PARTITION, CONFIG, TOPIC_ID, log_dir=OLD)
    for number in range(20):
        append(log, b"%06d" % number * 10)
    manager.shutdown()
    for path in DIRS:
        disk.sync_dir(path)
    return disk


PREPARED = prepared()


def operations_of_a_whole_move() -> int:
    disk = PREPARED.fork()
    before = disk.operations
    Mover(disk).run()
    return disk.operations - before


def names(disk: SimulatedDisk, suffix: str) -> list[str]:
    found = [(path, parse_directory(name)) for path in DIRS for name in disk.list_dir(path)]
    return [path for path, each in found if each == (TOPIC_PARTITION, suffix)]


@pytest.mark.parametrize("kind", ["process", "power", "power and names", "some of it"])
def test_a_crash_at_any_moment_of_a_move_leaves_one_log_with_everything(kind: str) -> None:
    whole = operations_of_a_whole_move()
    assert whole > 100
    promoted = 0
    for moment in range(1, whole + 1):
        disk = PREPARED.fork(seed=moment)
        mover = Mover(disk)
        disk.cut_power_after(moment)
        with suppress(PowerCut):
            mover.run()
        if kind == "process":
            disk.crash(keep_everything)
        elif kind == "power":
            disk.crash(keep_nothing)
        else:
            disk.crash(keep_nothing if kind == "power and names" else None, lose_names=True)
        manager = started(disk, mover.assigned)
        log = manager.get(TOPIC_PARTITION)
        assert log is not None, f"moment {moment}"
        assert len(names(disk, "")) == 1, f"moment {moment}"
        assert len(names(disk, FUTURE)) == len(manager.future_logs) <= 1, f"moment {moment}"
        promoted += log.log_dir == NEW
        found = read_all(log)
        kept = mover.acknowledged if kind == "process" else mover.acknowledged[: mover.flushed]
        assert found[: len(kept)] == kept, f"moment {moment}"
        resumed(manager, disk, found)
    assert 0 < promoted < whole


def resumed(
    manager: LogManager, disk: SimulatedDisk, expected: list[tuple[int, bytes | None]]
) -> None:
    """The move goes on, or has been finished: nothing is lost on the way."""
    future = manager.future_logs.get(TOPIC_PARTITION)
    if future is not None:
        source = manager.logs[TOPIC_PARTITION]
        copied(LogCopy(source, future))
        manager.replace_current_with_future(TOPIC_PARTITION)
    log = manager.logs[TOPIC_PARTITION]
    assert read_all(log) == expected
    assert append(log, b"next") == len(expected)
    manager.shutdown()
    again = started(disk, log.log_dir).get(TOPIC_PARTITION)
    assert again is not None
    assert again.log_end_offset == len(expected) + 1


# -- what a start finds --


def with_copy(disk: SimulatedDisk, path: str = NEW) -> LogManager:
    manager = started(disk)
    copied(LogCopy(manager.logs[TOPIC_PARTITION], future_of(manager, path)))
    return manager


def test_a_lone_copy_in_the_assigned_directory_becomes_the_log() -> None:
    disk = PREPARED.fork()
    manager = with_copy(disk)
    manager._retire(manager.logs[TOPIC_PARTITION], DELETE)
    disk.crash(keep_everything)
    again = started(disk, NEW)
    assert again.logs[TOPIC_PARTITION].directory == f"{NEW}/{TOPIC_PARTITION}"
    assert again.logs[TOPIC_PARTITION].log_end_offset == 20
    assert not again.future_logs


def test_a_lone_copy_waits_while_the_disk_of_its_log_is_offline() -> None:
    disk = PREPARED.fork()
    with_copy(disk).shutdown()
    disk.fail_next("list_dir", OLD, 5)
    again = started(disk, None)
    assert again.get(TOPIC_PARTITION) is None
    assert list(again.future_logs) == [TOPIC_PARTITION]
    with pytest.raises(ApiError) as refused:
        again.get_or_create(TOPIC_PARTITION, CONFIG, TOPIC_ID, is_new=False)
    assert refused.value.code == ErrorCode.KAFKA_STORAGE_ERROR


def test_of_two_logs_the_assigned_one_is_right() -> None:
    disk = PREPARED.fork()
    manager = with_copy(disk)
    future = manager.future_logs[TOPIC_PARTITION]
    future.rename_directory(f"{NEW}/{TOPIC_PARTITION}")
    append(future, b"after the exchange")
    disk.crash(keep_everything)
    with pytest.raises(RuntimeError, match="is in two log directories"):
        started(disk.fork(), OTHER)
    again = started(disk, NEW)
    assert again.logs[TOPIC_PARTITION].log_end_offset == 21
    assert names(disk, "") == [NEW]
    assert names(disk, DELETE) == [OLD]


def test_of_two_copies_one_is_left() -> None:
    disk = PREPARED.fork()
    manager = with_copy(disk)
    del manager.future_logs[TOPIC_PARTITION]
    copied(LogCopy(manager.logs[TOPIC_PARTITION], future_of(manager, OTHER)))
    disk.crash(keep_everything)
    again = started(disk, OLD)
    assert again.logs[TOPIC_PARTITION].log_dir == OLD
    assert len(names(disk, FUTURE)) == len(again.future_logs) == 1


def test_where_the_log_starts_is_known_in_the_new_directory_after_a_crash() -> None:
    disk = PREPARED.fork()
    manager = started(disk)
    log = manager.logs[TOPIC_PARTITION]
    log.delete_records_before(log.segments[1].base_offset + 1)
    copied(LogCopy(log, future_of(manager, NEW)))
    manager.durable_future(TOPIC_PARTITION)()
    moved = manager.replace_current_with_future(TOPIC_PARTITION)
    left = [name for name in disk.list_dir(moved.directory) if name.endswith(".deleted")]
    assert left == [], "what the copy discarded when it learnt where to begin"
    disk.crash(keep_everything)
    assert started(disk, NEW).logs[TOPIC_PARTITION].log_start_offset == log.log_start_offset


# -- disks that fail in the exchange --


def test_the_copy_takes_over_when_the_old_disk_dies_in_the_exchange() -> None:
    disk = PREPARED.fork()
    manager = with_copy(disk)
    disk.fail_next("rename", f"{OLD}/*", 5)
    log = manager.replace_current_with_future(TOPIC_PARTITION)
    assert (manager.logs[TOPIC_PARTITION], log.log_dir) == (log, NEW)
    assert list(manager.dirs.offline) == [OLD]
    assert append(log, b"goes on") == 20


def test_the_log_stays_when_the_new_disk_dies_in_the_exchange() -> None:
    disk = PREPARED.fork()
    manager = with_copy(disk)
    log = manager.logs[TOPIC_PARTITION]
    disk.fail_next("rename", f"{NEW}/*", 5)
    with pytest.raises(ApiError):
        manager.replace_current_with_future(TOPIC_PARTITION)
    assert list(manager.dirs.offline) == [NEW]
    assert (manager.logs[TOPIC_PARTITION], log.directory) == (log, f"{OLD}/{TOPIC_PARTITION}")
    assert append(log, b"goes on") == 20
    clock = manager.context.clock
    assert isinstance(clock, ManualClock)
    clock.advance(10**9)
    manager.delete_expired_directories()
    assert names(disk, "") == [OLD]


# -- placement --


def test_among_directories_with_as_many_logs_the_one_with_fewer_bytes_is_taken() -> None:
    manager = started(SimulatedDisk())
    for number, path in enumerate(DIRS):
        log = manager.get_or_create(TopicPartition("t", number), CONFIG, TOPIC_ID, log_dir=path)
        for _ in range((2, 1, 3)[number]):
            append(log, b"x" * 50)
    new = [TopicPartition("u", number) for number in range(3)]
    taken = [manager.get_or_create(each, CONFIG, TOPIC_ID).log_dir for each in new]
    assert taken == [NEW, OLD, OTHER]


def test_a_wish_is_stronger_than_the_assignment_and_is_granted_once() -> None:
    manager = started(SimulatedDisk())
    manager.wishes.add(TOPIC_PARTITION, OTHER)
    log = manager.get_or_create(TOPIC_PARTITION, CONFIG, TOPIC_ID, log_dir=NEW)
    assert log.log_dir == OTHER
    manager.delete(TOPIC_PARTITION)
    again = manager.get_or_create(TOPIC_PARTITION, CONFIG, TOPIC_ID, log_dir=NEW)
    assert again.log_dir == NEW
