"""The real disk: atomic appends, few descriptors, regions that stay readable."""

import errno
import gc
import os
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from moldau.storage.disk.directory_lock import DirectoryInUse
from moldau.storage.disk.disk import Buffer, RealDisk, RealFile
from tests.storage.descriptors import open_descriptors

needs_proc = pytest.mark.skipif(not os.path.isdir("/proc/self/fd"), reason="no /proc here")


def new_file(tmp_path: Path, name: str = "a.log", max_open_files: int | None = None) -> RealFile:
    return RealDisk(max_open_files).open(str(tmp_path / name), create=True)


def test_parts_are_appended_one_after_the_other(tmp_path: Path) -> None:
    file = new_file(tmp_path)
    assert file.append([b"header", memoryview(b"-body"), bytearray(b"-tail")]) == 0
    assert file.append([b"!"]) == 16
    assert file.size == 17
    assert (tmp_path / "a.log").read_bytes() == b"header-body-tail!"


def test_more_parts_than_one_system_call_takes_are_appended(tmp_path: Path) -> None:
    file = new_file(tmp_path)
    file.append([b"%05d" % i for i in range(3000)])
    assert (tmp_path / "a.log").read_bytes() == b"".join(b"%05d" % i for i in range(3000))


def test_an_existing_file_is_continued_at_its_end(tmp_path: Path) -> None:
    (tmp_path / "a.log").write_bytes(b"old")
    file = RealDisk().open(str(tmp_path / "a.log"))
    assert file.size == 3
    assert file.append([b"new"]) == 3
    assert file.pread(100, 1) == b"ldnew"


def test_overwriting_in_the_middle_does_not_move_the_end(tmp_path: Path) -> None:
    file = new_file(tmp_path)
    file.append([b"0123456789"])
    file.pwrite(b"XX", 2)
    assert file.append([b"tail"]) == 10
    assert (tmp_path / "a.log").read_bytes() == b"01XX456789tail"


def test_a_missing_file_is_not_found_unless_it_may_be_created(tmp_path: Path) -> None:
    disk = RealDisk()
    with pytest.raises(FileNotFoundError):
        disk.open(str(tmp_path / "a"))
    disk.open(str(tmp_path / "a"), create=True)
    assert disk.exists(str(tmp_path / "a"))


def test_a_short_write_is_finished(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def short_pwritev(fd: int, parts: Sequence[Buffer], position: int) -> int:
        return os.pwrite(fd, b"".join(parts)[:4], position)

    monkeypatch.setattr(os, "pwritev", short_pwritev)
    file = new_file(tmp_path)
    file.append([b"before"])
    file.append([b"one", b"two", b"three"])
    assert (tmp_path / "a.log").read_bytes() == b"beforeonetwothree"


def test_a_failed_append_leaves_the_file_as_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def short_pwritev(fd: int, parts: Sequence[Buffer], position: int) -> int:
        return real_pwrite(fd, b"".join(parts)[:4], position)

    def full(fd: int, data: Buffer, position: int) -> int:
        raise OSError(errno.ENOSPC, "full")

    file = new_file(tmp_path)
    file.append([b"before"])
    real_pwrite = os.pwrite
    monkeypatch.setattr(os, "pwritev", short_pwritev)
    monkeypatch.setattr(os, "pwrite", full)
    with pytest.raises(OSError, match="full"):
        file.append([b"one", b"two"])
    assert (tmp_path / "a.log").read_bytes() == b"before"
    assert file.size == 6

    monkeypatch.undo()
    assert file.append([b"again"]) == 6


@needs_proc
def test_descriptors_stay_below_the_limit_and_files_open_again_when_used(tmp_path: Path) -> None:
    disk = RealDisk(max_open_files=3)
    files = [disk.open(str(tmp_path / f"{i}"), create=True) for i in range(20)]
    for turn in range(3):
        for i, file in enumerate(files):
            file.append([b"%d:%d;" % (i, turn)])
        assert disk.open_files <= 3
        assert open_descriptors(tmp_path) <= 3
    for i in range(20):
        assert (tmp_path / f"{i}").read_bytes() == b"%d:0;%d:1;%d:2;" % (i, i, i)


def test_a_file_in_constant_use_keeps_its_descriptor(tmp_path: Path) -> None:
    disk = RealDisk(max_open_files=4)
    busy = disk.open(str(tmp_path / "busy"), create=True)
    descriptor = busy._descriptor
    assert descriptor is not None
    for i in range(50):
        disk.open(str(tmp_path / f"{i}"), create=True)
        busy.append([b"x"])
        assert busy._descriptor is descriptor


@needs_proc
def test_opening_a_file_for_its_size_takes_no_descriptor(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"12345")
    file = RealDisk().open(str(tmp_path / "a"))
    assert file.size == 5
    assert open_descriptors(tmp_path) == 0


@needs_proc
def test_a_region_outlives_closing_and_removal(tmp_path: Path) -> None:
    disk = RealDisk()
    path = str(tmp_path / "a")
    file = disk.open(path, create=True)
    file.append([b"0123456789"])
    region = file.region(2, 5)
    file.close()
    disk.remove(path)
    assert len(region) == 5
    assert region.file.pread(region.size, region.position) == b"23456"
    assert os.pread(region.file.fileno(), 2, 2) == b"23"

    assert open_descriptors(tmp_path) == 1
    del region
    gc.collect()
    assert open_descriptors(tmp_path) == 0


def test_a_region_outlives_the_loss_of_the_files_descriptor(tmp_path: Path) -> None:
    disk = RealDisk(max_open_files=1)
    file = disk.open(str(tmp_path / "a"), create=True)
    file.append([b"0123456789"])
    region = file.region(0, 10)
    other = disk.open(str(tmp_path / "b"), create=True)
    other.append([b"other"])
    disk.open(str(tmp_path / "c"), create=True).append([b"other"])
    assert file._descriptor is None
    assert region.file.pread(10, 0) == b"0123456789"


def test_closing_twice_is_fine_and_a_closed_file_opens_again(tmp_path: Path) -> None:
    file = new_file(tmp_path)
    file.append([b"a"])
    file.close()
    file.close()
    assert file.append([b"b"]) == 1
    assert file.pread(2, 0) == b"ab"


def test_a_renamed_file_is_followed(tmp_path: Path) -> None:
    file = new_file(tmp_path)
    file.append([b"a"])
    file.rename(str(tmp_path / "b.log"))
    file.close()
    file.append([b"b"])
    assert (tmp_path / "b.log").read_bytes() == b"ab"
    assert not (tmp_path / "a.log").exists()


def test_a_file_in_a_renamed_directory_is_followed(tmp_path: Path) -> None:
    disk = RealDisk()
    disk.make_dirs(str(tmp_path / "t-0"))
    file = disk.open(str(tmp_path / "t-0" / "x"), create=True)
    file.append([b"a"])
    disk.rename(str(tmp_path / "t-0"), str(tmp_path / "t-0.deleted"))
    file.moved(str(tmp_path / "t-0.deleted" / "x"))
    file.close()
    assert file.pread(1, 0) == b"a"


def test_preallocated_room_is_given_back_when_the_file_is_closed(tmp_path: Path) -> None:
    file = new_file(tmp_path)
    file.preallocate(8192)
    assert file.append([b"abc"]) == 0
    assert os.path.getsize(tmp_path / "a.log") == 8192
    file.close()
    assert (tmp_path / "a.log").read_bytes() == b"abc"


def test_an_atomic_write_replaces_the_whole_file_and_leaves_nothing_behind(tmp_path: Path) -> None:
    disk = RealDisk()
    path = str(tmp_path / "checkpoint")
    disk.write_atomically(path, b"a longer first version")
    disk.write_atomically(path, b"second", sync=False)
    assert disk.read_bytes(path) == b"second"
    assert disk.list_dir(str(tmp_path)) == ["checkpoint"]


def test_a_failed_atomic_write_keeps_the_old_contents(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(fd: int) -> None:
        raise OSError(errno.EIO, "broken")

    disk = RealDisk()
    path = str(tmp_path / "checkpoint")
    disk.write_atomically(path, b"first")
    monkeypatch.setattr(os, "fsync", broken)
    with pytest.raises(OSError, match="broken"):
        disk.write_atomically(path, b"second")
    assert disk.read_bytes(path) == b"first"
    assert disk.list_dir(str(tmp_path)) == ["checkpoint"]


def test_directories_are_made_listed_and_removed(tmp_path: Path) -> None:
    disk = RealDisk()
    top = str(tmp_path / "logs")
    disk.make_dirs(f"{top}/b-1")
    disk.make_dirs(f"{top}/a-0")
    disk.make_dirs(f"{top}/a-0")
    disk.open(f"{top}/a-0/x", create=True).append([b"xyz"])
    disk.sync_dir(top)
    assert disk.list_dir(top) == ["a-0", "b-1"]
    assert disk.is_dir(f"{top}/a-0")
    assert not disk.is_dir(f"{top}/a-0/x")
    assert disk.size(f"{top}/a-0/x") == 3
    assert disk.free_bytes(top) > 0
    disk.remove_tree(top)
    disk.remove_tree(top)
    assert not disk.exists(top)


def test_removing_what_is_not_there_is_an_error_unless_that_is_fine(tmp_path: Path) -> None:
    disk = RealDisk()
    with pytest.raises(FileNotFoundError):
        disk.remove(str(tmp_path / "a"))
    disk.remove(str(tmp_path / "a"), missing_ok=True)


def test_a_directory_is_locked_by_one_broker_at_a_time(tmp_path: Path) -> None:
    disk = RealDisk()
    lock = disk.lock(str(tmp_path))
    with pytest.raises(DirectoryInUse):
        disk.lock(str(tmp_path))
    lock.release()
    disk.lock(str(tmp_path)).release()


def test_when_descriptors_run_out_files_give_up_theirs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    disk = RealDisk(max_open_files=100)
    files = [disk.open(str(tmp_path / f"{i}"), create=True) for i in range(10)]
    real_open = os.open
    refused: list[str] = []

    def open_once_refused(path: str, flags: int, mode: int = 0o777) -> int:
        if not refused:
            refused.append(path)
            raise OSError(errno.EMFILE, "too many open files")
        return real_open(path, flags, mode)

    monkeypatch.setattr(os, "open", open_once_refused)
    disk.open(str(tmp_path / "one more"), create=True)
    assert len(refused) == 1
    assert sum(file._descriptor is not None for file in files) == 5


@pytest.mark.parametrize("operation", ["write_atomically", "sync_dir", "read_bytes"])
def test_whoever_needs_a_descriptor_for_a_moment_gets_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, operation: str
) -> None:
    disk = RealDisk(max_open_files=100)
    files = [disk.open(str(tmp_path / f"{i}"), create=True) for i in range(10)]
    real_open = os.open

    def open_if_few_are_open(path: str, flags: int, mode: int = 0o777) -> int:
        if sum(file._descriptor is not None for file in files) > 5:
            raise OSError(errno.EMFILE, "too many open files")
        return real_open(path, flags, mode)

    monkeypatch.setattr(os, "open", open_if_few_are_open)
    if operation == "write_atomically":
        disk.write_atomically(str(tmp_path / "new"), b"data")
    elif operation == "sync_dir":
        disk.sync_dir(str(tmp_path))
    else:
        assert disk.read_bytes(str(tmp_path / "0")) == b""


@pytest.mark.parametrize(
    "operation", ["write_atomically", "append", "pwrite", "fsync", "preallocate"]
)
def test_errors_name_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, operation: str
) -> None:
    def refuse(*_: object) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    path = str(tmp_path / "a")
    disk = RealDisk()
    file = disk.open(path, create=True)
    for name in ("pwrite", "pwritev", "posix_fallocate", "fsync"):
        monkeypatch.setattr(os, name, refuse)
    monkeypatch.setattr("moldau.storage.disk.disk._sync_data", refuse)
    calls: dict[str, Callable[[], object]] = {
        "write_atomically": lambda: disk.write_atomically(path, b"data"),
        "append": lambda: file.append([b"data"]),
        "pwrite": lambda: file.pwrite(b"data", 0),
        "fsync": file.fsync,
        "preallocate": lambda: file.preallocate(4096),
    }
    with pytest.raises(OSError, match="No space left on device") as refused:
        calls[operation]()
    assert refused.value.filename == path
