"""A mark on a file that outlives the process, but no copy, no new file and no loss of power."""

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from moldau.simulator.disk import SimulatedDisk, keep_everything
from moldau.storage.disk.disk import RealDisk

MARK_AND_DIE = """
import os, signal, sys
from moldau.storage.disk.disk import RealDisk
mark = RealDisk().mark_in_memory(sys.argv[1])
os.kill(os.getpid(), signal.SIGTERM if mark is None else signal.SIGKILL)
"""


@pytest.fixture
def marked(tmp_path: Path) -> Path:
    """A file that was marked by a process which was killed."""
    path = tmp_path / "file"
    path.write_bytes(b"contents")
    ended = subprocess.run([sys.executable, "-c", MARK_AND_DIE, str(path)])
    if ended.returncode == -signal.SIGTERM:
        pytest.skip("this system cannot mark files in memory")
    assert ended.returncode == -signal.SIGKILL
    return path


def test_a_mark_outlives_the_process_that_set_it(marked: Path) -> None:
    assert RealDisk().is_marked_in_memory(str(marked))


def test_neither_a_copy_nor_a_new_file_of_the_same_name_is_marked(marked: Path) -> None:
    disk = RealDisk()
    copy = marked.with_name("copy")
    shutil.copy2(marked, copy)
    assert not disk.is_marked_in_memory(str(copy))
    disk.write_atomically(str(marked), b"contents")
    assert not disk.is_marked_in_memory(str(marked))


def test_a_mark_that_is_cleared_is_gone_and_its_descriptor_is_closed(marked: Path) -> None:
    disk = RealDisk()
    before = len(os.listdir("/proc/self/fd"))
    mark = disk.mark_in_memory(str(marked))
    assert mark is not None
    # The name is not needed any more, as if the directory could not be read.
    marked.rename(marked.with_name("moved"))
    mark.clear()
    mark.clear()
    assert not disk.is_marked_in_memory(str(marked.with_name("moved")))
    assert len(os.listdir("/proc/self/fd")) == before


def test_a_simulated_mark_is_lost_with_the_power_whatever_else_is_kept() -> None:
    disk = SimulatedDisk()
    disk.write_atomically("/file", b"contents")
    assert disk.mark_in_memory("/file") is not None
    disk.kill()
    assert disk.is_marked_in_memory("/file")
    assert disk.fork().is_marked_in_memory("/file")
    disk.crash(keep_everything)
    assert disk.read_bytes("/file") == b"contents"
    assert not disk.is_marked_in_memory("/file")
