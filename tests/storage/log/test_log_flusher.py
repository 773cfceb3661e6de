"""Flushes: when they are due, and in another thread, while the log changes or is renamed."""

from collections.abc import Callable
from pathlib import Path

import pytest

from moldau.config.topic import LogConfig
from moldau.simulator.disk import SimulatedDisk, SimulatedFile
from moldau.storage.disk.disk import RealDisk
from tests.storage.descriptors import open_paths
from tests.storage.log_making import (
    DIRECTORY,
    SMALL_SEGMENTS,
    Later,
    append,
    batch,
    new_log,
    read_all,
)

RENAMED = "/data/orders-0.00ff-future"


class RestlessDisk(SimulatedDisk):
    """Something happens just before the n-th time that a file or directory is asked for."""

    def __init__(self) -> None:
        super().__init__()
        self.countdown = -1
        self.happens: Callable[[], object] = lambda: None

    def _tick(self) -> None:
        self.countdown -= 1
        if self.countdown == 0:
            self.happens()

    def open(self, path: str, create: bool = False) -> SimulatedFile:
        self._tick()
        return super().open(path, create)

    def sync_dir(self, path: str) -> None:
        self._tick()
        super().sync_dir(path)


@pytest.mark.parametrize("moment", range(1, 8))
def test_a_log_that_is_renamed_amid_its_flush_is_flushed_under_its_new_name(moment: int) -> None:
    disk = RestlessDisk()
    executor = Later()
    log = new_log(disk, LogConfig(segment_bytes=300), executor=executor)
    for number in range(4):
        log.append_as_leader(batch(b"x" * 100, producer_id=1, sequence=number), 3, log.wall_ms())
    assert len(executor.waiting) >= 1
    disk.happens = lambda: log.rename_directory(RENAMED)
    disk.countdown = moment
    executor.run()
    if disk.countdown > 0:
        log.rename_directory(RENAMED)
    assert log.recovery_point == log.segments.active.base_offset > 0
    assert disk.exists(f"{RENAMED}/{log.recovery_point:020d}.snapshot")
    assert not disk.exists(DIRECTORY)
    assert append(log, b"next") == 4
    assert len(read_all(log)) == 5


def test_a_snapshot_that_retention_took_holds_up_no_flush() -> None:
    disk = SimulatedDisk()
    executor = Later()
    log = new_log(disk, LogConfig(segment_bytes=300), executor=executor)
    for number in range(4):
        log.append_as_leader(batch(b"x" * 100, producer_id=1, sequence=number), 3, log.wall_ms())
    for name in disk.list_dir(DIRECTORY):
        if name.endswith(".snapshot"):
            disk.remove(f"{DIRECTORY}/{name}")
    executor.run()
    assert log.recovery_point == log.segments.active.base_offset > 0


def test_flushes_wait_for_the_executor_they_are_given() -> None:
    executor = Later()
    log = new_log(config=SMALL_SEGMENTS, executor=executor)
    append(log, b"x" * 150)
    executor.run()
    for _ in range(3):
        append(log, b"x" * 150)
    assert (log.recovery_point, len(executor.waiting)) == (0, 1)
    executor.run()
    assert log.recovery_point == 2


def test_a_roll_leaves_no_descriptor_behind(tmp_path: Path) -> None:
    disk = RealDisk()
    log = new_log(disk, LogConfig(segment_bytes=300), directory=str(tmp_path / "orders-0"))
    for number in range(20):
        log.append_as_leader(batch(b"x" * 100, producer_id=1, sequence=number), 3, log.wall_ms())
    assert len(log.segments) == 20
    assert [path for path in open_paths(tmp_path) if path.endswith(".snapshot")] == []


def test_flush_messages_flushes_inline() -> None:
    log = new_log(config=LogConfig(flush_messages=3))
    append(log, b"a", b"b")
    assert log.recovery_point == 0
    append(log, b"c")
    assert log.recovery_point == 3
