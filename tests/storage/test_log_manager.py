"""All logs of a broker: found, created, deleted, checkpointed, and lost with their disk."""

import errno
import logging
import random
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from moldau.clock import ManualClock
from moldau.config.topic import LogConfig
from moldau.errors import ApiError, ErrorCode
from moldau.ids import TopicPartition
from moldau.simulator.disk import SimulatedDisk, keep_everything, keep_nothing
from moldau.storage.disk.checkpoint import (
    CLEANER_OFFSET_CHECKPOINT,
    LOG_START_OFFSET_CHECKPOINT,
    RECOVERY_POINT_CHECKPOINT,
    has_clean_shutdown,
    read_clean_shutdown,
    read_offsets,
    read_partition_metadata,
)
from moldau.storage.disk.directory_lock import DirectoryInUse
from moldau.storage.disk.disk import Disk, RealDisk
from moldau.storage.disk.late_writes import Executor
from moldau.storage.log_dirs import DELETE, FUTURE, STRAY, parse_directory, suffixed_name
from moldau.storage.log_manager import LogManager
from moldau.storage.running_marks import killed_broker_epoch
from tests.storage.log_making import START_MS, Later, append, read_all

CONFIG = LogConfig(segment_bytes=500)
TOPIC_ID = b"0123456789abcdef"
ORDERS = TopicPartition("orders", 0)


def started(
    disk: Disk,
    *log_dirs: str,
    clock: ManualClock | None = None,
    is_stray: Callable[[TopicPartition, bytes], bool] | None = None,
    executor: Executor | None = None,
    offline: list[str] | None = None,
) -> LogManager:
    manager = LogManager(
        log_dirs or ("/d1",),
        disk=disk,
        clock=clock or ManualClock(START_MS),
        rng=random.Random(3),
        executor=executor,
        on_offline=None if offline is None else offline.append,
    )
    manager.open_directories()
    manager.load(lambda topic: CONFIG, is_stray)
    return manager


def test_a_log_is_created_with_the_id_of_its_topic_and_found_again() -> None:
    disk = SimulatedDisk()
    manager = started(disk)
    log = manager.get_or_create(ORDERS, CONFIG, TOPIC_ID)
    assert log.directory == "/d1/orders-0"
    assert read_partition_metadata(disk, log.directory) == TOPIC_ID
    assert manager.get(ORDERS) is log
    assert manager.get_or_create(ORDERS, CONFIG, TOPIC_ID) is log
    for _ in range(5):
        append(log, b"x" * 100)
    manager.shutdown(broker_epoch=77)

    again = started(disk)
    assert again.was_clean_shutdown
    found = again.get(ORDERS)
    assert found is not None
    assert (found.log_end_offset, found.high_watermark, found.topic_id) == (5, 5, TOPIC_ID)
    assert found.recovery_point == 5


def test_another_topic_of_the_same_name_is_refused() -> None:
    manager = started(SimulatedDisk())
    manager.get_or_create(ORDERS, CONFIG, TOPIC_ID)
    with pytest.raises(ApiError) as refused:
        manager.get_or_create(ORDERS, CONFIG, bytes(reversed(TOPIC_ID)))
    assert refused.value.code == ErrorCode.INCONSISTENT_TOPIC_ID


def test_the_marker_of_a_clean_stop_is_gone_while_the_broker_runs() -> None:
    disk = SimulatedDisk()
    manager = started(disk)
    assert not manager.was_clean_shutdown
    manager.shutdown(broker_epoch=77)
    assert has_clean_shutdown(disk, "/d1")
    again = LogManager(["/d1"], disk=disk, clock=ManualClock(), rng=random.Random(1))
    again.open_directories()
    assert read_clean_shutdown(disk, "/d1") == 77
    again.load(lambda topic: CONFIG)
    assert again.was_clean_shutdown
    assert not has_clean_shutdown(disk, "/d1")


def test_after_kill_9_everything_acknowledged_is_there() -> None:
    disk = SimulatedDisk()
    manager = started(disk)
    log = manager.get_or_create(ORDERS, CONFIG, TOPIC_ID)
    for number in range(9):
        append(log, b"%d" % number * 100)
    manager.checkpoint_recovery_points()
    expected = read_all(log)
    disk.crash(keep_everything)
    found = started(disk).get(ORDERS)
    assert found is not None
    assert read_all(found) == expected


def test_a_broker_that_was_killed_knows_that_it_has_lost_nothing_until_its_logs_are_opened() -> (
    None
):
    disk = SimulatedDisk()
    manager = started(disk)
    append(manager.get_or_create(ORDERS, CONFIG, TOPIC_ID), b"a")
    manager.mark_running(77)
    disk.kill()
    assert killed_broker_epoch(disk, ["/d1"]) == 77
    again = started(disk)
    assert again.is_complete
    # Another attempt would not know what this one may have removed.
    assert killed_broker_epoch(disk, ["/d1"]) == -1


def test_a_log_that_was_cut_is_not_complete() -> None:
    disk = SimulatedDisk()
    manager = started(disk)
    log = manager.get_or_create(ORDERS, CONFIG, TOPIC_ID)
    append(log, b"a" * 100)
    append(log, b"b" * 100)
    segment = log.segments.active
    disk.damage(segment.log.path, segment.size - 5, b"?")
    disk.kill()
    again = started(disk)
    assert not again.is_complete


def test_a_directory_that_fails_takes_every_mark_with_it() -> None:
    disk = SimulatedDisk()
    manager = started(disk, "/d1", "/d2")
    log = manager.get_or_create(ORDERS, CONFIG, TOPIC_ID, log_dir="/d1")
    manager.mark_running(77)
    disk.fail_next("append", "/d1/*.log", errno.EIO)
    # The device does not take this either.
    disk.fail_next("remove", "/d1/*", errno.EIO, count=9)
    with pytest.raises(ApiError):
        append(log, b"a")
    manager.mark_running(78)
    disk.kill()
    assert killed_broker_epoch(disk, ["/d1"]) == -1
    assert killed_broker_epoch(disk, ["/d2"]) == -1
    assert not started(disk, "/d1", "/d2").dirs.offline


def test_a_directory_that_is_offline_at_the_start_may_lack_records() -> None:
    disk = SimulatedDisk()
    manager = started(disk, "/d1", "/d2")
    manager.mark_running(77)
    disk.kill()
    disk.fail_next("list_dir", "/d1", errno.EIO)
    again = started(disk, "/d1", "/d2")
    assert not again.is_complete
    again.mark_running(78)
    assert killed_broker_epoch(disk, ["/d2"]) == -1


def test_a_recovery_point_is_never_ahead_of_the_device() -> None:
    disk = SimulatedDisk()
    manager = started(disk)
    log = manager.get_or_create(ORDERS, CONFIG, TOPIC_ID)
    for number in range(9):
        append(log, b"%d" % number * 100)
    manager.checkpoint_recovery_points()
    point = read_offsets(disk, f"/d1/{RECOVERY_POINT_CHECKPOINT}")[ORDERS]
    assert 0 < point == log.recovery_point < 9
    disk.crash(keep_nothing, lose_names=True)
    found = started(disk).get(ORDERS)
    assert found is not None
    assert found.log_end_offset >= point


def test_new_logs_go_where_the_fewest_are() -> None:
    manager = started(SimulatedDisk(), "/d1", "/d2", "/d3")
    for partition in range(7):
        manager.get_or_create(TopicPartition("t", partition), CONFIG)
    counts = [
        sum(log.log_dir == path for log in manager.logs.values()) for path in manager.dirs.live
    ]
    assert sorted(counts) == [2, 2, 3]


def test_logs_are_opened_by_several_threads(tmp_path: Path) -> None:
    dirs = [str(tmp_path / "a"), str(tmp_path / "b")]
    with ThreadPoolExecutor(3) as executor:
        manager = started(RealDisk(), *dirs, executor=executor)
        for partition in range(20):
            log = manager.get_or_create(TopicPartition("t", partition), CONFIG, TOPIC_ID)
            for _ in range(partition):
                append(log, b"x" * 50)
        manager.shutdown()
        for clean in (True, False):
            manager = started(RealDisk(), *dirs, executor=executor)
            assert manager.was_clean_shutdown is clean
            ends = {tp.partition: log.log_end_offset for tp, log in manager.logs.items()}
            assert ends == {partition: partition for partition in range(20)}
            manager.dirs.release()


def test_a_directory_belongs_to_one_broker(tmp_path: Path) -> None:
    for disk, path in ((RealDisk(), str(tmp_path / "d")), (SimulatedDisk(), "/d")):
        manager = started(disk, path)
        with pytest.raises(DirectoryInUse):
            started(disk, path)
        manager.shutdown()
        started(disk, path).shutdown()


# -- deletion --


def test_a_deleted_log_gives_its_name_free_and_its_bytes_later() -> None:
    clock = ManualClock(START_MS)
    disk = SimulatedDisk()
    manager = started(disk, clock=clock)
    log = manager.get_or_create(ORDERS, CONFIG, TOPIC_ID)
    append(log, b"old")
    assert manager.delete(ORDERS)
    assert manager.get(ORDERS) is None
    assert not manager.delete(ORDERS)
    assert log.directory.startswith("/d1/orders-0.")
    assert log.directory.endswith("-delete")
    with pytest.raises(ApiError):
        append(log, b"too late")
    new = manager.get_or_create(ORDERS, CONFIG, bytes(reversed(TOPIC_ID)))
    assert new.log_end_offset == 0

    clock.advance(59_999)
    manager.delete_expired_directories()
    assert disk.exists(log.directory)
    clock.advance(1)
    manager.delete_expired_directories()
    assert not disk.exists(log.directory)
    assert disk.exists(new.directory)


def test_a_deleted_log_does_not_vouch_for_its_namesake() -> None:
    disk = SimulatedDisk()
    manager = started(disk)
    log = manager.get_or_create(ORDERS, CONFIG, TOPIC_ID)
    for _ in range(20):
        append(log, b"x" * 100)
    log.flush()
    manager.checkpoint_recovery_points()
    manager.delete(ORDERS)
    new = manager.get_or_create(ORDERS, CONFIG, bytes(reversed(TOPIC_ID)))
    assert read_offsets(disk, f"/d1/{RECOVERY_POINT_CHECKPOINT}") == {}
    append(new, b"y")
    disk.crash(keep_everything)
    found = started(disk).get(ORDERS)
    assert found is not None
    assert (found.log_end_offset, found.recovery_point) == (1, 0)


def test_a_deletion_that_was_interrupted_is_finished_by_the_next_start() -> None:
    disk = SimulatedDisk()
    manager = started(disk)
    log = manager.get_or_create(ORDERS, CONFIG, TOPIC_ID)
    manager.delete(ORDERS)
    manager.shutdown()
    again = started(disk)
    assert again.get(ORDERS) is None
    again.delete_expired_directories()
    assert not disk.exists(log.directory)


def test_stray_partitions_are_put_aside() -> None:
    disk = SimulatedDisk()
    manager = started(disk)
    manager.get_or_create(ORDERS, CONFIG, TOPIC_ID)
    manager.get_or_create(TopicPartition("kept", 1), CONFIG, TOPIC_ID)
    manager.shutdown()
    clock = ManualClock(START_MS)
    again = started(disk, clock=clock, is_stray=lambda tp, topic_id: tp.topic == "orders")
    assert list(again.logs) == [TopicPartition("kept", 1)]
    names = [parse_directory(name) for name in disk.list_dir("/d1")]
    assert (ORDERS, STRAY) in names
    # Nobody finds it at the next start either, and nothing removes it.
    clock.advance(10**9)
    again.delete_expired_directories()
    again.shutdown()
    assert list(started(disk).logs) == [TopicPartition("kept", 1)]
    assert (ORDERS, STRAY) in [parse_directory(name) for name in disk.list_dir("/d1")]


def test_what_is_not_a_partition_is_left_alone() -> None:
    disk = SimulatedDisk()
    for name in ("lost+found", "__cluster_metadata-0", "no_number-x", "-1"):
        disk.make_dirs(f"/d1/{name}")
        disk.open(f"/d1/{name}/file", create=True)
    manager = started(disk)
    assert manager.logs == {}
    manager.shutdown()
    assert disk.exists("/d1/__cluster_metadata-0/file")


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("orders-0", (ORDERS, "")),
        ("a.b-c-12", (TopicPartition("a.b-c", 12), "")),
        ("a.b-3.0123456789abcdef-delete", (TopicPartition("a.b", 3), DELETE)),
        ("t-1.00ff-future", (TopicPartition("t", 1), FUTURE)),
        ("t-1.00ff-stray", (TopicPartition("t", 1), STRAY)),
        ("t-1-delete", None),
        ("orders", None),
        ("orders-", None),
        ("-0", None),
    ],
)
def test_directory_names_say_which_partition_it_is(name: str, expected: object) -> None:
    assert parse_directory(name) == expected


def test_long_names_are_cut_to_what_a_disk_takes() -> None:
    name = suffixed_name(TopicPartition("x" * 249, 7), TOPIC_ID, DELETE)
    assert len(name) == 255
    assert name.endswith(f"-7.{TOPIC_ID.hex()}-delete")


# -- checkpoints and upkeep --


def test_start_offsets_are_written_where_the_segments_do_not_say_them() -> None:
    disk = SimulatedDisk()
    manager = started(disk)
    log = manager.get_or_create(ORDERS, CONFIG, TOPIC_ID)
    other = manager.get_or_create(TopicPartition("other", 0), CONFIG, TOPIC_ID)
    append(log, b"a", b"b", b"c")
    append(other, b"a")
    log.delete_records_before(2)
    manager.checkpoint_log_start_offsets()
    assert read_offsets(disk, f"/d1/{LOG_START_OFFSET_CHECKPOINT}") == {ORDERS: 2}
    disk.crash(keep_everything)
    found = started(disk).get(ORDERS)
    assert found is not None
    assert (found.log_start_offset, found.log_end_offset) == (2, 3)


def test_only_logs_that_were_cleaned_have_a_place_for_the_cleaner() -> None:
    disk = SimulatedDisk()
    path = f"/d1/{CLEANER_OFFSET_CHECKPOINT}"
    manager = started(disk)
    for topic_partition in (ORDERS, TopicPartition("other", 0)):
        append(manager.get_or_create(topic_partition, CONFIG, TOPIC_ID), b"a")
    manager.shutdown()
    assert not disk.exists(path)
    again = started(disk)
    again.logs[ORDERS].cleaner_checkpoint = 1
    again.shutdown()
    assert read_offsets(disk, path) == {ORDERS: 1}


def test_checkpoints_that_did_not_change_are_not_written_again() -> None:
    disk = SimulatedDisk()
    manager = started(disk)
    append(manager.get_or_create(ORDERS, CONFIG, TOPIC_ID), b"a")
    manager.checkpoint_recovery_points()
    operations = disk.operations
    manager.checkpoint_recovery_points()
    assert disk.operations == operations


def test_damaged_checkpoints_cost_time_and_nothing_else() -> None:
    disk = SimulatedDisk()
    manager = started(disk)
    append(manager.get_or_create(ORDERS, CONFIG, TOPIC_ID), b"a")
    manager.shutdown()
    for name in (RECOVERY_POINT_CHECKPOINT, LOG_START_OFFSET_CHECKPOINT):
        disk.write_atomically(f"/d1/{name}", b"0\nnonsense\n")
    found = started(disk).get(ORDERS)
    assert found is not None
    assert found.log_end_offset == 1


# -- disks that fail --


def test_a_failing_disk_takes_only_its_own_partitions_offline(
    caplog: pytest.LogCaptureFixture,
) -> None:
    disk = SimulatedDisk()
    offline: list[str] = []
    manager = started(disk, "/d1", "/d2", offline=offline)
    bad = manager.get_or_create(ORDERS, CONFIG, TOPIC_ID, log_dir="/d1")
    good = manager.get_or_create(TopicPartition("good", 0), CONFIG, TOPIC_ID, log_dir="/d2")
    append(bad, b"a")
    disk.fail_next("append", "/d1/*.log", errno.EIO)
    with caplog.at_level(logging.ERROR), pytest.raises(ApiError) as refused:
        append(bad, b"b")
    assert refused.value.code == ErrorCode.KAFKA_STORAGE_ERROR
    assert (offline, manager.dirs.live, list(manager.dirs.offline)) == (["/d1"], ["/d2"], ["/d1"])
    assert "/d1 is offline" in caplog.text
    assert manager.get(ORDERS) is None
    for attempt in (
        lambda: append(bad, b"c"),
        lambda: bad.read(0, 10, max_offset=1),
        lambda: manager.get_or_create(ORDERS, CONFIG, TOPIC_ID, is_new=False),
        lambda: manager.delete(ORDERS),
    ):
        with pytest.raises(ApiError) as refused:
            attempt()
        assert refused.value.code == ErrorCode.KAFKA_STORAGE_ERROR
    assert append(good, b"a") == 0
    new = manager.get_or_create(TopicPartition("new", 0), CONFIG, TOPIC_ID)
    assert new.log_dir == "/d2"
    manager.shutdown()
    assert (has_clean_shutdown(disk, "/d1"), has_clean_shutdown(disk, "/d2")) == (False, True)


def test_a_disk_that_fails_in_a_flushing_thread_goes_offline_on_the_owners(
    tmp_path: Path,
) -> None:
    disk = SimulatedDisk()
    offline: list[str] = []
    woken: list[bool] = []
    with ThreadPoolExecutor(1) as executor:
        manager = started(disk, "/d1", executor=executor, offline=offline)
        manager._wake = lambda: woken.append(True)
        log = manager.get_or_create(ORDERS, CONFIG, TOPIC_ID)
        append(log, b"a")
        disk.fail_next("fsync", "*.log", errno.EIO)
        log.flush_in_background()
    assert (woken, offline) == ([True], [])
    with pytest.raises(ApiError):
        append(log, b"b")
    manager.handle_failures()
    assert offline == ["/d1"]
    assert manager.logs == {}


def test_a_directory_that_cannot_be_read_is_offline_from_the_start() -> None:
    disk = SimulatedDisk()
    manager = started(disk, "/d1", "/d2")
    manager.get_or_create(ORDERS, CONFIG, TOPIC_ID, log_dir="/d1")
    manager.shutdown()
    disk.fail_next("list_dir", "/d1/orders-0", errno.EIO)
    again = started(disk, "/d1", "/d2")
    assert again.dirs.live == ["/d2"]
    assert "loading failed" in again.dirs.offline["/d1"]


def test_without_any_directory_there_is_no_start() -> None:
    disk = SimulatedDisk()
    disk.fail_next("make_dirs", "*", errno.EROFS, count=2)
    with pytest.raises(ApiError, match="none of the log directories"):
        started(disk, "/d1", "/d2")


def test_a_full_disk_fails_requests_and_recovers() -> None:
    disk = SimulatedDisk()
    offline: list[str] = []
    manager = started(disk, offline=offline)
    log = manager.get_or_create(ORDERS, CONFIG, TOPIC_ID)
    append(log, b"a")
    disk.capacity = 0
    with pytest.raises(ApiError):
        append(log, b"b" * 100)
    with pytest.raises(ApiError):
        manager.get_or_create(TopicPartition("new", 0), CONFIG, TOPIC_ID)
    with pytest.raises(ApiError):
        log.flush()
    manager.checkpoint_recovery_points()
    disk.capacity = None
    assert append(log, b"c") == 1
    log.flush()
    assert append(manager.get_or_create(TopicPartition("new", 0), CONFIG, TOPIC_ID), b"a") == 0
    manager.checkpoint_recovery_points()
    assert read_offsets(disk, f"/d1/{RECOVERY_POINT_CHECKPOINT}")[ORDERS] == 2
    assert offline == []


def test_records_that_survive_a_power_cut_know_whose_they_are() -> None:
    disk = SimulatedDisk()
    manager = started(disk)
    log = manager.get_or_create(ORDERS, CONFIG, TOPIC_ID)
    append(log, b"x")
    log.flush()
    disk.crash(keep_nothing)
    found = started(disk, is_stray=lambda _, topic_id: topic_id != TOPIC_ID).get(ORDERS)
    assert found is not None
    assert (found.topic_id, read_all(found)) == (TOPIC_ID, [(0, b"x")])


def test_a_flush_does_not_wait_for_the_id_that_a_thread_has_yet_to_flush() -> None:
    disk, later = SimulatedDisk(), Later()
    manager = started(disk, executor=later)
    log = manager.get_or_create(ORDERS, CONFIG, TOPIC_ID)
    append(log, b"x")
    log.flush()
    disk.crash(keep_nothing)
    found = started(disk).get(ORDERS)
    assert found is not None
    assert (found.topic_id, read_all(found)) == (TOPIC_ID, [(0, b"x")])


def test_the_id_of_a_new_partition_is_soon_on_the_device() -> None:
    disk, later = SimulatedDisk(), Later()
    manager = started(disk, executor=later)
    manager.get_or_create(ORDERS, CONFIG, TOPIC_ID)
    later.run()
    disk.crash(keep_nothing)
    assert read_partition_metadata(disk, "/d1/orders-0") == TOPIC_ID


def test_records_without_a_topic_id_are_stray_and_an_empty_log_is_as_good_as_new() -> None:
    disk = SimulatedDisk()
    manager = started(disk)
    append(manager.get_or_create(ORDERS, CONFIG, TOPIC_ID), b"whose?")
    empty = TopicPartition("empty", 0)
    manager.get_or_create(empty, CONFIG, TOPIC_ID)
    manager.shutdown()
    for name in ("orders-0", "empty-0"):
        disk.write_atomically(f"/d1/{name}/partition.metadata", b"")
    again = started(disk, is_stray=lambda *_: False)
    assert again.get(ORDERS) is None
    assert [name for name in disk.list_dir("/d1") if name.endswith(STRAY)] != []
    assert again.get_or_create(empty, CONFIG, TOPIC_ID).topic_id == TOPIC_ID
    assert again.get_or_create(ORDERS, CONFIG, TOPIC_ID).log_end_offset == 0
