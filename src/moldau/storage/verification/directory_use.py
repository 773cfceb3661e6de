"""Keeping brokers out of a directory while it is being read.

A broker holds a write lock on the ``.lock`` file of each log directory. A shared lock on the same
file conflicts with it but not with other readers, needs no write permission, and makes a broker
that starts meanwhile refuse the directory instead of changing files during the read.
"""

import fcntl
import os
import sys
from struct import Struct
from typing import Final

from moldau.storage.disk.directory_lock import LOCK_FILE, DirectoryInUse

# struct flock on 64-bit Linux: type, whence, start, length, pid (zero for this kind).
_FLOCK: Final = Struct("hhqqi4x")


class SharedDirectoryLock:
    """Held from construction until ``release``.

    Without a ``.lock`` file nothing is held: no broker is running there, and creating the file
    would be a change.
    """

    def __init__(self, directory: str) -> None:
        """Raises DirectoryInUse if a broker holds the directory."""
        self._fd = -1
        try:
            fd = os.open(os.path.join(directory, LOCK_FILE), os.O_RDONLY | os.O_CLOEXEC)
        except FileNotFoundError:
            return
        try:
            _lock_shared(fd)
        except (BlockingIOError, PermissionError):
            os.close(fd)
            raise DirectoryInUse(
                f"{directory} is in use: a broker holds its {LOCK_FILE} file, and what it is "
                "writing cannot be distinguished from damage. Stop the broker first"
            ) from None
        except OSError:
            os.close(fd)
            raise
        self._fd = fd

    def release(self) -> None:
        """Release the lock; a second call does nothing."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1


def _lock_shared(fd: int) -> None:
    if sys.platform == "linux":
        whole_file = _FLOCK.pack(fcntl.F_RDLCK, os.SEEK_SET, 0, 0, 0)
        fcntl.fcntl(fd, fcntl.F_OFD_SETLK, whole_file)
    else:
        fcntl.lockf(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
