"""A disk that was opened for reading refuses all changes."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from moldau.storage.disk.read_only_disk import ReadOnlyDisk


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "file"
    path.write_bytes(b"contents")
    return path


def test_what_is_there_can_be_read(file: Path) -> None:
    disk = ReadOnlyDisk()
    opened = disk.open(str(file))
    assert (opened.size, opened.pread(4, 3)) == (8, b"tent")
    assert disk.read_bytes(str(file)) == b"contents"
    opened.close()


@pytest.mark.parametrize(
    "change",
    [
        lambda disk, path: disk.open(path).append([b"more"]),
        lambda disk, path: disk.open(path).pwrite(b"x", 0),
        lambda disk, path: disk.open(path).truncate(0),
        lambda disk, path: disk.open(path + "2", create=True),
        lambda disk, path: disk.remove(path),
        lambda disk, path: disk.rename(path, path + "2"),
        lambda disk, path: disk.remove_tree(os.path.dirname(path)),
        lambda disk, path: disk.make_dirs(path + "2"),
        lambda disk, path: disk.write_atomically(path, b"other"),
    ],
)
def test_every_change_is_refused(file: Path, change: Callable[[ReadOnlyDisk, str], None]) -> None:
    with pytest.raises(OSError):
        change(ReadOnlyDisk(), str(file))
    assert file.read_bytes() == b"contents"
    assert [path.name for path in file.parent.iterdir()] == ["file"]
