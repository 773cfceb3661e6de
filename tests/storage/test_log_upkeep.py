"""The periodic maintenance of logs, one log per step."""

import errno
import logging
import random
from collections.abc import Iterator

import pytest

from moldau.clock import ManualClock
from moldau.config.topic import LogConfig
from moldau.ids import TopicPartition
from moldau.simulator.disk import SimulatedDisk
from moldau.storage.log.partition_log import PartitionLog
from moldau.storage.log_manager import LogManager
from moldau.storage.log_upkeep import LogUpkeep
from tests.storage.log_making import EPOCH, START_MS, append, batch

ORDERS = TopicPartition("orders", 0)
SMALL = LogConfig(segment_bytes=500, retention_ms=10)


def started(disk: SimulatedDisk, clock: ManualClock | None = None) -> LogManager:
    manager = LogManager(
        ["/d1"], disk=disk, clock=clock or ManualClock(START_MS), rng=random.Random(3)
    )
    manager.open_directories()
    manager.load(lambda topic: SMALL)
    return manager


def log_of_segments(manager: LogManager, partition: int = 0) -> PartitionLog:
    """A log of five segments, of which retention will leave an empty one."""
    log = manager.get_or_create(TopicPartition("orders", partition), SMALL)
    for _ in range(10):
        append(log, b"x" * 150)
    return log


def finish(steps: Iterator[int]) -> int:
    return sum(steps)


def test_logs_are_flushed_when_flush_ms_have_passed() -> None:
    clock = ManualClock(START_MS)
    manager = started(SimulatedDisk(), clock)
    upkeep = LogUpkeep(manager, clock)
    log = manager.get_or_create(ORDERS, LogConfig(flush_ms=1000))
    never = manager.get_or_create(TopicPartition("never", 0), LogConfig())
    append(log, b"a")
    append(never, b"a")
    clock.advance(999)
    finish(upkeep.flush_dirty_logs())
    assert log.recovery_point == 0
    clock.advance(1)
    finish(upkeep.flush_dirty_logs())
    assert (log.recovery_point, never.recovery_point) == (1, 0)


def test_producers_expire() -> None:
    clock = ManualClock(START_MS)
    manager = started(SimulatedDisk(), clock)
    log = manager.get_or_create(ORDERS, LogConfig())
    log.append_as_leader(batch(b"a", producer_id=4, sequence=0), EPOCH, START_MS)
    upkeep = LogUpkeep(manager, clock)
    clock.advance(86_399_999)
    assert finish(upkeep.remove_expired_producers()) == 0
    clock.advance(1)
    assert finish(upkeep.remove_expired_producers()) == 1


def test_retention_reaches_every_log() -> None:
    clock = ManualClock(START_MS)
    disk = SimulatedDisk(clock=clock)
    manager = started(disk, clock)
    upkeep = LogUpkeep(manager, clock)
    logs = [log_of_segments(manager, partition) for partition in range(3)]
    clock.advance(11)
    assert list(upkeep.delete_old_segments()) == [5, 5, 5]
    assert [log.log_start_offset for log in logs] == [10, 10, 10]
    clock.advance(60_000)
    finish(upkeep.remove_deleted_files())
    for log in logs:
        assert not any(name.endswith(".deleted") for name in disk.list_dir(log.directory))


def test_each_step_is_one_log() -> None:
    manager = started(SimulatedDisk(clock=ManualClock(START_MS)))
    logs = [log_of_segments(manager, partition) for partition in range(3)]
    steps = LogUpkeep(manager, ManualClock(START_MS + 11)).delete_old_segments()
    next(steps)
    assert [log.log_start_offset for log in logs] == [10, 0, 0]


def test_a_log_that_is_deleted_in_the_middle_of_a_round_is_passed_over() -> None:
    manager = started(SimulatedDisk(clock=ManualClock(START_MS)))
    logs = [log_of_segments(manager, partition) for partition in range(3)]
    steps = LogUpkeep(manager, ManualClock(START_MS + 11)).delete_old_segments()
    next(steps)
    manager.delete(TopicPartition("orders", 1))
    assert finish(steps) == 5
    assert [log.log_start_offset for log in logs] == [10, 0, 10]


def test_a_log_that_fails_does_not_end_the_round(caplog: pytest.LogCaptureFixture) -> None:
    disk = SimulatedDisk(clock=ManualClock(START_MS))
    manager = started(disk)
    logs = [log_of_segments(manager, partition) for partition in range(2)]
    disk.fail_next("rename", "*/orders-0/*", errno.ENOSPC)
    with caplog.at_level(logging.ERROR):
        assert list(LogUpkeep(manager, ManualClock(START_MS + 11)).delete_old_segments()) == [0, 5]
    assert "Retention of orders-0 failed" in caplog.text
    assert logs[1].log_start_offset == 10
