"""What a broker that was killed can prove, and what it cannot."""

import errno

from moldau.simulator.disk import SimulatedDisk, keep_everything
from moldau.storage.running_marks import RUNNING, RunningMarks, killed_broker_epoch

DIRS = ("/d1", "/d2")


def directories(disk: SimulatedDisk) -> SimulatedDisk:
    for path in DIRS:
        disk.make_dirs(path)
        disk.sync_dir(path)
    disk.sync_dir("/")
    return disk


def running(epoch: int = 7) -> tuple[SimulatedDisk, RunningMarks]:
    disk = directories(SimulatedDisk())
    marks = RunningMarks(disk, DIRS)
    marks.set(epoch)
    return disk, marks


def test_a_killed_broker_is_known_by_its_epoch() -> None:
    disk, _ = running(epoch=7)
    disk.kill()
    assert killed_broker_epoch(disk, DIRS) == 7


def test_a_new_registration_replaces_the_epoch() -> None:
    disk, marks = running(epoch=7)
    marks.set(9)
    disk.kill()
    assert killed_broker_epoch(disk, DIRS) == 9


def test_nothing_is_known_after_a_power_cut_although_the_files_are_there() -> None:
    disk, _ = running()
    disk.crash(keep_everything)
    assert disk.exists(f"/d1/{RUNNING}")
    assert killed_broker_epoch(disk, DIRS) == -1


def test_all_directories_have_to_agree() -> None:
    disk, _ = running(epoch=7)
    disk.kill()
    assert killed_broker_epoch(disk, (*DIRS, "/d3")) == -1
    RunningMarks(disk, DIRS[:1]).set(8)
    assert killed_broker_epoch(disk, DIRS) == -1


def test_a_directory_that_cannot_be_read_proves_nothing() -> None:
    disk, _ = running()
    disk.kill()
    disk.fail_next("is_marked_in_memory", "/d2/*", errno.EIO)
    assert killed_broker_epoch(disk, DIRS) == -1


def test_a_file_without_an_epoch_proves_nothing() -> None:
    disk, _ = running()
    disk.open(f"/d1/{RUNNING}").truncate(3)
    assert killed_broker_epoch(disk, DIRS) == -1


def test_a_mark_goes_although_its_file_cannot_be_removed() -> None:
    disk, marks = running()
    disk.fail_next("remove", "*", errno.EROFS, count=2)
    marks.remove()
    disk.kill()
    assert disk.exists(f"/d1/{RUNNING}")
    assert killed_broker_epoch(disk, DIRS) == -1


def test_a_mark_in_one_directory_alone_is_not_left() -> None:
    disk = directories(SimulatedDisk())
    disk.fail_next("write_atomically", "/d2/*", errno.ENOSPC)
    RunningMarks(disk, DIRS).set(7)
    assert not disk.exists(f"/d1/{RUNNING}")


def test_where_nothing_can_be_marked_there_are_no_files() -> None:
    disk = directories(SimulatedDisk())
    disk.can_mark = False
    RunningMarks(disk, DIRS).set(7)
    assert [disk.list_dir(path) for path in DIRS] == [[], []]
    assert killed_broker_epoch(disk, DIRS) == -1
