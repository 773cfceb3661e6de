"""A read-only disk.

Code that verifies or prints a data directory must not change it, whatever bugs it has, and must
work on a read-only mount or another user's files. Files are opened for reading, so that the
operating system refuses writes, and everything that changes names or contents is refused here.
"""

import io
import os
from typing import Final, NoReturn

from moldau.storage.disk.disk import RealDisk, RealFile
from moldau.storage.disk.open_files import Descriptor

_READ_FLAGS: Final = os.O_RDONLY | os.O_CLOEXEC


class _ReadOnlyFile(RealFile):
    """A file with a read-only descriptor."""

    __slots__ = ()

    def _open(self) -> Descriptor:
        return self._open_files.open_for(self, self.path, _READ_FLAGS)


class ReadOnlyDisk(RealDisk):
    """Read-only access to the operating system's files; see ``Disk``."""

    def open(self, path: str, create: bool = False) -> RealFile:
        if create:
            _refuse(f"create {path}")
        return _ReadOnlyFile(self._open_files, path, os.stat(path).st_size)

    def make_dirs(self, path: str) -> None:
        _refuse(f"create {path}")

    def remove(self, path: str, missing_ok: bool = False) -> None:
        _refuse(f"remove {path}")

    def rename(self, source: str, target: str) -> None:
        _refuse(f"rename {source} to {target}")

    def remove_tree(self, path: str) -> None:
        _refuse(f"remove {path}")

    def write_atomically(self, path: str, data: bytes, sync: bool = True) -> None:
        _refuse(f"write {path}")


def _refuse(action: str) -> NoReturn:
    raise io.UnsupportedOperation(f"cannot {action}: the disk was opened for reading")
