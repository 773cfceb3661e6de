"""The lock that keeps other brokers out, including Apache Kafka."""

import subprocess
import sys
from pathlib import Path

import pytest

from moldau.storage.disk.directory_lock import LOCK_FILE, DirectoryInUse, DirectoryLock

# What Java's FileChannel.tryLock does.
LOCK_LIKE_JAVA = """
import fcntl, sys
with open(sys.argv[1], "r+") as file:
    try:
        fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        sys.exit(7)
"""


def lock_like_java(directory: Path) -> bool:
    command = [sys.executable, "-c", LOCK_LIKE_JAVA, str(directory / LOCK_FILE)]
    return subprocess.run(command, check=False).returncode == 0


def test_a_second_lock_in_the_same_process_is_refused(tmp_path: Path) -> None:
    held = DirectoryLock(str(tmp_path))
    with pytest.raises(DirectoryInUse, match="in use"):
        DirectoryLock(str(tmp_path))
    held.release()
    held.release()
    DirectoryLock(str(tmp_path)).release()


@pytest.mark.skipif(sys.platform != "linux", reason="POSIX locks lie elsewhere")
def test_a_java_process_sees_the_lock_even_after_a_refused_attempt(tmp_path: Path) -> None:
    held = DirectoryLock(str(tmp_path))
    # The refused attempt opens and closes the file, which would drop a plain POSIX lock.
    with pytest.raises(DirectoryInUse):
        DirectoryLock(str(tmp_path))
    assert not lock_like_java(tmp_path)
    held.release()
    assert lock_like_java(tmp_path)
