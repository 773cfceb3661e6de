"""Thousands of logs: the cost of each at the start, at the stop, and while idle.

Seconds depend on the machine, so these tests count disk operations, bytes read, descriptors, and
log lines.
"""

import contextlib
import logging
import random
import threading
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from moldau.clock import Clock, ManualClock
from moldau.config.topic import LogConfig
from moldau.errors import ApiError, ErrorCode
from moldau.ids import TopicPartition
from moldau.simulator.disk import SimulatedDisk, keep_everything
from moldau.storage.disk.disk import Disk, RealDisk
from moldau.storage.log.partition_log import PartitionLog
from moldau.storage.log_manager import LogManager
from moldau.storage.log_placement import DirectoryLoad
from tests.storage.descriptors import open_descriptors
from tests.storage.log_making import START_MS, append, new_log, read_all, reopened

TOPIC_ID = b"0123456789abcdef"
CONFIG = LogConfig(index_interval_bytes=1000)
LOGS = 20


class CountingDisk(SimulatedDisk):
    """A simulated disk that counts what is asked of it, by kind."""

    def __init__(self) -> None:
        super().__init__()
        self.counts: Counter[str] = Counter()

    def begin(self, operation: str, path: str, changes: bool = True) -> None:
        self.counts[operation] += 1
        super().begin(operation, path, changes)

    def exists(self, path: str) -> bool:
        self.counts["exists"] += 1
        return super().exists(path)

    def is_dir(self, path: str) -> bool:
        self.counts["is_dir"] += 1
        return super().is_dir(path)


class TickingClock:
    """Every look at it takes a second, as if each log were large."""

    def __init__(self) -> None:
        self._clock = ManualClock()

    def wall_ms(self) -> int:
        return self._clock.wall_ms()

    def monotonic_ms(self) -> int:
        self._clock.advance(1000)
        return self._clock.monotonic_ms()


def started(
    disk: Disk,
    log_dir: str = "/d",
    clock: Clock | None = None,
    executor: ThreadPoolExecutor | None = None,
) -> LogManager:
    manager = LogManager(
        [log_dir],
        disk=disk,
        clock=clock or ManualClock(START_MS),
        rng=random.Random(3),
        executor=executor,
    )
    manager.open_directories()
    manager.load(lambda topic: CONFIG)
    return manager


def with_logs(disk: Disk, count: int, log_dir: str = "/d", records: int = 0) -> LogManager:
    manager = started(disk, log_dir)
    for partition in range(count):
        log = manager.get_or_create(TopicPartition("t", partition), CONFIG, TOPIC_ID)
        for _ in range(records):
            append(log, b"x" * 200)
    return manager


# -- start and stop


@pytest.mark.parametrize(("records", "allowed"), [(0, 7), (3, 17)])
def test_after_a_clean_stop_a_log_costs_a_handful_of_looks(records: int, allowed: int) -> None:
    disk = CountingDisk()

    def operations(count: int) -> int:
        disk.counts.clear()
        assert len(started(disk).logs) == count
        return disk.counts.total()

    with_logs(disk, LOGS, records=records).shutdown()
    few = operations(LOGS)
    disk = CountingDisk()
    with_logs(disk, 2 * LOGS, records=records).shutdown()
    assert operations(2 * LOGS) - few <= allowed * LOGS
    assert disk.counts["list_dir"] == 2 * LOGS + 1, "one listing tells what is in a directory"


def test_a_start_after_a_clean_stop_writes_nothing_to_a_log() -> None:
    disk = CountingDisk()
    with_logs(disk, LOGS, records=3).shutdown()
    disk.counts.clear()
    started(disk)
    changes = {"append", "pwrite", "truncate", "fsync", "rename", "write_atomically"}
    assert not changes & disk.counts.keys()


def test_logs_that_nobody_touched_cost_nothing_at_the_stop() -> None:
    disk = CountingDisk()
    with_logs(disk, LOGS, records=3).shutdown()
    manager = started(disk)
    manager.checkpoint_recovery_points()
    disk.counts.clear()
    manager.shutdown()
    assert disk.counts["fsync"] <= 5, "the checkpoints and the marker"


def test_new_logs_without_records_are_not_flushed_at_the_stop() -> None:
    disk = CountingDisk()
    manager = with_logs(disk, LOGS)
    disk.counts.clear()
    manager.shutdown()
    assert disk.counts["fsync"] <= 5, "the checkpoints and the marker"


def test_a_new_log_rewrites_the_checkpoints_only_for_its_namesake() -> None:
    """Ten thousand lines in each file: too much for every topic that comes after another goes."""
    disk = CountingDisk()
    with_logs(disk, LOGS, records=1).shutdown()
    manager = started(disk)
    manager.delete(TopicPartition("t", 7))
    disk.counts.clear()
    manager.get_or_create(TopicPartition("other", 0), CONFIG)
    assert disk.counts["sync_dir"] == 0
    manager.get_or_create(TopicPartition("t", 7), CONFIG)
    assert disk.counts["sync_dir"] > 0


def test_new_logs_do_not_each_count_all_others() -> None:
    load = DirectoryLoad()
    counted = 0

    def logs() -> list[PartitionLog]:
        nonlocal counted
        counted += 1
        return []

    dirs = ["/a", "/b", "/c"]
    taken = Counter[str]()
    for _ in range(30):
        path = load.least_first(dirs, logs, START_MS)[0]
        load.added(path)
        taken[path] += 1
    assert (counted, set(taken.values())) == (1, {10})
    load.least_first(dirs, logs, START_MS + 1000)
    assert counted == 2, "sizes change"
    load.forget()
    load.least_first(dirs, logs, START_MS + 1000)
    assert counted == 3


# -- after kill -9


def damaged_in_its_third_batch() -> SimulatedDisk:
    """A log of ten batches in one segment after kill -9, with a bad byte in the third."""
    disk = SimulatedDisk()
    log = new_log(disk, CONFIG)
    for number in range(10):
        append(log, b"%d" % number * 500)
    place = disk.read_bytes(log.segments.active.log.path).index(b"2222")
    disk.damage(log.segments.active.log.path, place, b"!")
    disk.crash(keep_everything)
    return disk


def test_what_was_flushed_is_passed_over_by_its_headers() -> None:
    log = reopened(damaged_in_its_third_batch(), CONFIG, recovery_point=6)
    assert (log.log_end_offset, log.recovery_point) == (10, 6)
    assert [offset for offset, _ in read_all(log, 3)] == list(range(3, 10))
    with pytest.raises(ApiError) as refused:
        log.read(2, 1 << 20, max_offset=10)
    assert refused.value.code == ErrorCode.CORRUPT_MESSAGE, "checked before it is first served"


def test_what_was_not_flushed_is_read_and_cut_where_it_is_bad() -> None:
    log = reopened(damaged_in_its_third_batch(), CONFIG, recovery_point=1)
    assert log.log_end_offset == 2


def test_indexes_are_rebuilt_below_the_recovery_point_too() -> None:
    disk = SimulatedDisk()
    log = new_log(disk, CONFIG)
    for number in range(10):
        append(log, b"%d" % number * 500)
    index = log.segments.active.offset_index.path
    disk.crash(keep_everything)
    reopened(disk, CONFIG, recovery_point=0)
    expected = disk.read_bytes(index)
    assert len(expected) > 16
    disk.damage(index, 0, b"\xff" * 8)
    disk.crash(keep_everything)
    reopened(disk, CONFIG, recovery_point=10)
    assert disk.read_bytes(index) == expected


def test_a_long_start_says_how_far_it_is(caplog: pytest.LogCaptureFixture) -> None:
    disk = SimulatedDisk()
    manager = with_logs(disk, LOGS)
    for partition in range(5):
        append(manager.logs[TopicPartition("t", partition)], b"x")
    disk.crash(keep_everything)
    with caplog.at_level(logging.INFO):
        started(disk, clock=TickingClock())
    assert "/d was not closed cleanly: looking at its 20 logs" in caplog.text
    said = [record.message for record in caplog.records if "loaded" in record.message]
    assert len(said) >= 5
    assert said[-1] == "20 of 20 logs loaded, 5 recovered in /d"


def test_a_quick_start_says_nothing(caplog: pytest.LogCaptureFixture) -> None:
    disk = SimulatedDisk()
    with_logs(disk, LOGS, records=1).shutdown()
    with caplog.at_level(logging.INFO):
        started(disk)
    assert "loaded" not in caplog.text


def test_logs_are_recovered_by_several_threads(tmp_path: Path) -> None:
    with_logs(RealDisk(), LOGS, str(tmp_path), records=3).dirs.release()
    names: set[str] = set()

    class Watching(RealDisk):
        def list_dir(self, path: str) -> list[str]:
            names.add(threading.current_thread().name)
            # Nobody goes on until both are here, so that one cannot do all the work.
            if path != str(tmp_path) and not together.broken:
                with contextlib.suppress(threading.BrokenBarrierError):
                    together.wait(5)
                    together.abort()
            return super().list_dir(path)

    together = threading.Barrier(2)
    with ThreadPoolExecutor(2, thread_name_prefix="disk") as executor:
        manager = started(Watching(), str(tmp_path), executor=executor)
    assert {"disk_0", "disk_1"} <= names
    assert {log.log_end_offset for log in manager.logs.values()} == {3}


# -- descriptors


def test_descriptors_stay_bounded_while_all_logs_are_in_use(tmp_path: Path) -> None:
    limit = 10
    manager = with_logs(RealDisk(max_open_files=limit), 5 * limit, str(tmp_path), records=1)
    most = 0
    for _ in range(2):
        for log in manager.logs.values():
            append(log, b"y" * 2000)
            assert read_all(log)
            most = max(most, open_descriptors(tmp_path))
    # One for the lock of the directory, one that is opened before another is closed.
    assert limit <= most <= limit + 2
    assert all(log.log_end_offset == 3 for log in manager.logs.values())
    manager.shutdown()
    assert open_descriptors(tmp_path) == 0


@pytest.mark.parametrize("is_clean", [True, False])
def test_logs_hold_no_descriptor_until_they_are_used(tmp_path: Path, is_clean: bool) -> None:
    manager = with_logs(RealDisk(), LOGS, str(tmp_path), records=5)
    if is_clean:
        manager.shutdown()
    else:
        manager.dirs.release()
    disk = RealDisk()
    logs = started(disk, str(tmp_path)).logs
    assert disk.open_files == 0
    append(logs[TopicPartition("t", 3)], b"x")
    assert 1 <= disk.open_files <= 3, "one log, and its indexes if they are needed"
