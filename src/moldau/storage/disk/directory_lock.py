"""The ``.lock`` file that keeps two brokers out of one log directory.

Java's file locks are POSIX record locks, so ours must be too, or Apache Kafka and
Moldau would not see each other. A plain POSIX lock has two traps: it does not exclude
a second broker in the same process (a test with two brokers), and it is dropped when
*any* descriptor of the file is closed. Linux's open file description locks have
neither and still conflict with Java's, so they are used where they exist.
"""

import fcntl
import os
import sys
from struct import Struct
from typing import Final

LOCK_FILE: Final = ".lock"

# struct flock on 64-bit Linux: type, whence, start, length, pid (zero for this kind).
_FLOCK: Final = Struct("hhqqi4x")


class DirectoryInUse(Exception):  # noqa: N818
    """The lock is held by another process, or by another broker in this one."""


class DirectoryLock:
    """Held from construction until ``release``."""

    def __init__(self, directory: str) -> None:
        """Raises DirectoryInUse, or OSError if the disk fails."""
        path = os.path.join(directory, LOCK_FILE)
        self._fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        try:
            _lock(self._fd)
        except (BlockingIOError, PermissionError):
            self.release()
            raise DirectoryInUse(
                f"{directory} is in use: another broker holds its {LOCK_FILE} file. Stop that "
                "broker, or give this one a log.dirs of its own"
            ) from None
        except OSError:
            self.release()
            raise

    def release(self) -> None:
        """Release the lock; a second call does nothing."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1


def _lock(fd: int) -> None:
    if sys.platform == "linux":
        whole_file = _FLOCK.pack(fcntl.F_WRLCK, os.SEEK_SET, 0, 0, 0)
        fcntl.fcntl(fd, fcntl.F_OFD_SETLK, whole_file)
    else:
        fcntl.lockf(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
