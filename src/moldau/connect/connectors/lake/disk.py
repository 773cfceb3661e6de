"""Files in a directory.

A file is replaced by a rename, and durable when its directory is flushed. What decides between two
workers is a lock that is held while the file that both want to replace is compared and renamed.
"""

import contextlib
import fcntl
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pyarrow.parquet as pq

from moldau.connect.connectors.lake.storage import Move, NewFile, Storage, Stored
from moldau.connect.data.errors import ConnectError, RetriableError

# Errors that a person must act on; all others may pass.
_PERMANENT: Final = (PermissionError, NotADirectoryError, IsADirectoryError, FileExistsError)


class Disk(Storage):
    """A directory, made when the first file is written."""

    def __init__(self, root: str) -> None:
        self.root = root
        self._path = Path(root)

    def check(self) -> None:
        existing = self._path.absolute()
        while not existing.exists() and existing != existing.parent:
            existing = existing.parent
        if not existing.is_dir():
            raise ConnectError(
                f"path={self.root} cannot be used: {existing} is not a directory. Name a directory"
            )
        if not os.access(existing, os.W_OK | os.X_OK):
            raise ConnectError(
                f"path={self.root} cannot be written to: the worker has no right to write to "
                f"{existing}. Grant it, or choose another directory"
            )

    def check_conditions(self, path: str) -> None:
        """A lock can be relied on."""

    def read(self, path: str) -> Stored | None:
        try:
            text = (self._path / path).read_text()
        except FileNotFoundError:
            return None
        return Stored(text, text)

    def replace(self, path: str, text: str, expected: Stored | None) -> bool:
        target = self._path / path
        target.parent.mkdir(parents=True, exist_ok=True)
        with (target.parent / "lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if self.read(path) != expected:
                return False
            temporary = target.with_suffix(".new")
            with temporary.open("w") as file:
                file.write(text)
                file.flush()
                os.fsync(file.fileno())
            temporary.replace(target)
            _flush_folder(target.parent)
        return True

    def create(self, path: str) -> NewFile:
        target = self._path / path
        target.parent.mkdir(parents=True, exist_ok=True)
        return _DiskFile(target)

    def exists(self, path: str) -> bool:
        return (self._path / path).exists()

    def move(self, moves: list[Move]) -> None:
        folders = set()
        for move in moves:
            source, target = self._path / move.source, self._path / move.target
            if not source.exists():
                continue
            target.parent.mkdir(parents=True, exist_ok=True)
            with contextlib.suppress(FileNotFoundError):
                source.replace(target)
            folders.add(target.parent)
        for folder in sorted(folders):
            _flush_folder(folder)

    def remove(self, path: str) -> None:
        (self._path / path).unlink(missing_ok=True)

    def files(self, folder: str) -> list[str]:
        found = (self._path / folder).rglob("*")
        return sorted(str(each.relative_to(self._path)) for each in found if each.is_file())

    def footer(self, path: str) -> pq.FileMetaData:
        return pq.read_metadata(self._path / path)

    @contextlib.contextmanager
    def errors(self) -> Iterator[None]:
        try:
            yield
        except _PERMANENT as error:
            raise ConnectError(
                f"cannot write to {error.filename or self.root}: {error.strerror}. "
                f"path={self.root} must be a directory that the worker and Spark's executors may "
                "write to"
            ) from error
        except OSError as error:
            raise RetriableError(
                f"cannot write to {error.filename or self.root}: {error.strerror or error}"
            ) from error


class _DiskFile(NewFile):
    def __init__(self, path: Path) -> None:
        self._path = path
        self.stream = path.open("xb")

    def finish(self) -> None:
        self.stream.flush()
        os.fsync(self.stream.fileno())
        self.stream.close()

    def abort(self) -> None:
        self.stream.close()
        self._path.unlink(missing_ok=True)


def _flush_folder(folder: Path) -> None:
    """A rename is durable when its directory is."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
