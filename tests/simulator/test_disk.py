"""The simulated disk loses exactly what the test specifies."""

import errno
import io

import pytest

from moldau.clock import ManualClock
from moldau.simulator.disk import (
    PowerCut,
    SimulatedDisk,
    SimulatedFile,
    keep_everything,
    keep_nothing,
)
from moldau.storage.disk.directory_lock import DirectoryInUse


def disk_with_file(
    seed: int = 0, synced: bytes = b"durable"
) -> tuple[SimulatedDisk, SimulatedFile]:
    disk = SimulatedDisk(seed)
    disk.make_dirs("/data")
    file = disk.open("/data/a", create=True)
    file.append([synced])
    file.fsync()
    disk.sync_dir("/data")
    disk.sync_dir("/")
    return disk, file


def test_a_crash_loses_what_was_not_synced() -> None:
    disk, file = disk_with_file()
    file.append([b"-lost"])
    assert disk.read_bytes("/data/a") == b"durable-lost"
    assert disk.unsynced() == {"/data/a": 5}
    disk.crash(keep_nothing)
    assert disk.read_bytes("/data/a") == b"durable"
    assert disk.unsynced() == {}


def test_a_killed_process_leaves_the_page_cache() -> None:
    disk, file = disk_with_file()
    file.append([b"-kept"])
    disk.kill()
    assert disk.read_bytes("/data/a") == b"durable-kept"
    with pytest.raises(OSError, match="opened before the crash"):
        file.append([b"-too late"])


def test_what_a_killed_process_left_is_still_not_on_the_device() -> None:
    disk, file = disk_with_file()
    file.append([b"-kept"])
    disk.open("/data/b", create=True)
    disk.kill()
    assert disk.unsynced() == {"/data/a": 5}
    disk.crash(keep_nothing)
    assert disk.read_bytes("/data/a") == b"durable"


def test_a_write_can_be_torn_at_every_byte() -> None:
    disk, file = disk_with_file()
    file.append([b"one"])
    file.append([b"two"])
    for kept in range(7):
        twin = disk.fork()
        twin.crash(lambda path, unsynced, kept=kept: kept)  # type: ignore[misc]
        assert twin.read_bytes("/data/a") == b"durable" + b"onetwo"[:kept]


def test_what_survives_by_default_depends_on_the_seed_alone() -> None:
    def survivors(seed: int) -> bytes:
        disk, file = disk_with_file(seed)
        for _ in range(10):
            file.append([b"0123456789"])
        disk.crash()
        return disk.read_bytes("/data/a")

    outcomes = [survivors(seed) for seed in range(20)]
    assert outcomes == [survivors(seed) for seed in range(20)]
    assert len({len(outcome) for outcome in outcomes}) > 5
    assert all((b"durable" + b"0123456789" * 10).startswith(outcome) for outcome in outcomes)


def test_an_overwrite_and_a_truncation_are_undone_too() -> None:
    disk, file = disk_with_file(synced=b"0123456789")
    file.pwrite(b"XX", 2)
    file.truncate(5)
    file.append([b"tail"])
    states = []
    for kept in range(disk.unsynced()["/data/a"] + 1):
        twin = disk.fork()
        twin.crash(lambda path, unsynced, kept=kept: kept)  # type: ignore[misc]
        states.append(twin.read_bytes("/data/a"))
    assert states == [
        b"0123456789",
        b"01X3456789",
        b"01XX456789",
        b"01XX4",
        b"01XX4t",
        b"01XX4ta",
        b"01XX4tai",
        b"01XX4tail",
    ]


def test_overwriting_in_the_middle_does_not_move_the_end() -> None:
    _, file = disk_with_file(synced=b"0123456789")
    file.pwrite(b"XX", 2)
    assert file.append([b"tail"]) == 10
    assert file.pread(100, 0) == b"01XX456789tail"


def test_pages_may_be_missing_in_the_middle() -> None:
    page = 4096
    found_hole = False
    for seed in range(20):
        disk, file = disk_with_file(seed, synced=b"")
        file.append([b"x" * (6 * page)])
        disk.crash(keep_everything, lose_pages=True)
        data = disk.read_bytes("/data/a")
        assert len(data) == 6 * page
        pages = [data[start : start + page] for start in range(0, len(data), page)]
        assert all(content in (b"x" * page, bytes(page)) for content in pages)
        found_hole = found_hole or b"\0" in data.rstrip(b"\0")
    assert found_hole


def test_names_that_were_not_synced_may_be_lost() -> None:
    outcomes = set()
    for seed in range(40):
        disk, _ = disk_with_file(seed)
        disk.open("/data/b", create=True).fsync()
        disk.rename("/data/a", "/data/c")
        disk.crash(keep_everything, lose_names=True)
        outcomes.add(tuple(disk.list_dir("/data")))
    # In the order in which they happened, and a rename never by halves.
    assert outcomes == {("a",), ("a", "b"), ("b", "c")}


def test_names_that_were_synced_are_kept() -> None:
    for seed in range(20):
        disk, _ = disk_with_file(seed)
        disk.open("/data/b", create=True)
        disk.rename("/data/a", "/data/c")
        disk.sync_dir("/data")
        disk.crash(keep_nothing, lose_names=True)
        assert disk.list_dir("/data") == ["b", "c"]


def test_a_file_in_a_directory_whose_name_is_lost_is_lost() -> None:
    outcomes = set()
    for seed in range(40):
        disk = SimulatedDisk(seed)
        disk.make_dirs("/data")
        disk.open("/data/x", create=True).fsync()
        disk.sync_dir("/data")
        disk.crash(lose_names=True)
        outcomes.add((disk.exists("/data"), disk.exists("/data/x")))
    assert outcomes == {(True, True), (False, False)}


def test_an_atomic_write_survives_as_old_or_new_and_nothing_else() -> None:
    for seed in range(30):
        for operations in range(8):
            disk = SimulatedDisk(seed)
            disk.write_atomically("/checkpoint", b"old")
            disk.cut_power_after(operations)
            try:
                disk.write_atomically("/checkpoint", b"new")
                done = True
            except PowerCut:
                done = False
            disk.crash(lose_pages=True, lose_names=True)
            assert disk.read_bytes("/checkpoint") in ((b"new",) if done else (b"old", b"new"))


def test_files_opened_before_a_crash_are_dead() -> None:
    disk, file = disk_with_file()
    disk.crash()
    with pytest.raises(OSError, match="before the crash"):
        file.append([b"x"])
    disk.open("/data/a").append([b"x"])


def test_an_operation_fails_on_demand_and_changes_nothing() -> None:
    disk, file = disk_with_file()
    disk.fail_next("append", "/data/*", errno.EIO)
    with pytest.raises(OSError) as failure:
        file.append([b"x"])
    assert failure.value.errno == errno.EIO
    assert file.size == 7
    assert file.append([b"x"]) == 7


def test_failures_hit_only_what_they_name_and_as_often_as_asked() -> None:
    disk, file = disk_with_file()
    disk.fail_next("fsync", "/data/b", errno.EIO)
    file.fsync()
    error = OSError(errno.EROFS, "read-only")
    disk.fail_next("*", "/data/a", error, count=2)
    with pytest.raises(OSError, match="read-only"):
        file.fsync()
    with pytest.raises(OSError, match="read-only"):
        file.pread(1, 0)
    file.fsync()
    with pytest.raises(OSError, match="Input/output"):
        disk.open("/data/b", create=True).fsync()
    disk.fail_next("rename", "*", errno.EIO, count=1000)
    disk.heal()
    disk.rename("/data/b", "/data/c")


def test_a_full_disk_refuses_growth_until_there_is_room() -> None:
    disk, file = disk_with_file()
    disk.capacity = 10
    assert disk.free_bytes("/") == 3
    with pytest.raises(OSError) as failure:
        file.append([b"1234"])
    assert failure.value.errno == errno.ENOSPC
    assert disk.read_bytes("/data/a") == b"durable"
    file.append([b"123"])
    with pytest.raises(OSError, match="No space"):
        disk.write_atomically("/data/b", b"x")
    assert disk.list_dir("/data") == ["a"]
    file.pwrite(b"D", 0)
    disk.capacity = None
    file.append([b"4"])


def test_the_power_goes_between_two_operations() -> None:
    disk, file = disk_with_file()
    disk.cut_power_after(1)
    file.append([b"1"])
    with pytest.raises(PowerCut):
        file.append([b"2"])
    with pytest.raises(PowerCut):
        disk.remove("/data/a")
    assert file.pread(10, 0) == b"durable1"
    disk.crash(keep_everything)
    disk.remove("/data/a")


def test_damage_is_on_the_device() -> None:
    disk, _ = disk_with_file()
    disk.damage("/data/a", 1, b"??")
    disk.crash(keep_nothing)
    assert disk.read_bytes("/data/a") == b"d??able"


def test_a_fork_goes_its_own_way() -> None:
    disk, file = disk_with_file()
    file.append([b"-more"])
    twin = disk.fork()
    twin.open("/data/a").append([b"!"])
    twin.open("/data/b", create=True)
    file.truncate(0)
    assert twin.read_bytes("/data/a") == b"durable-more!"
    assert not disk.exists("/data/b")
    twin.crash(keep_nothing)
    assert twin.read_bytes("/data/a") == b"durable"


def test_a_region_reads_what_was_removed_and_has_no_descriptor() -> None:
    disk, file = disk_with_file()
    region = file.region(1, 3)
    file.close()
    disk.remove("/data/a")
    assert region.file.pread(region.size, region.position) == b"ura"
    with pytest.raises(io.UnsupportedOperation):
        region.file.fileno()


def test_files_are_as_old_as_the_clock_says() -> None:
    clock = ManualClock(5_000)
    disk = SimulatedDisk(clock=clock)
    file = disk.open("/a", create=True)
    assert disk.modified_ms("/a") == 5_000
    clock.advance(250)
    file.append([b"x"])
    assert disk.modified_ms("/a") == 5_250


def test_a_lock_is_held_until_it_is_released_or_the_machine_crashes() -> None:
    disk, _ = disk_with_file()
    lock = disk.lock("/data")
    with pytest.raises(DirectoryInUse):
        disk.lock("/data")
    lock.release()
    disk.lock("/data")
    disk.crash()
    disk.lock("/data")
