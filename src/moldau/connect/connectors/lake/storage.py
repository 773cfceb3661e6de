"""Where a sink of files keeps them: what disks and object stores have in common.

Paths are relative to the root that the user named, with slashes. Files are complete when they
appear, on both; the one thing that has to be atomic besides is the change of the journal, which is
replaced only if it is still what was read (``replace``).
"""

from abc import ABC, abstractmethod
from contextlib import AbstractContextManager
from typing import IO, NamedTuple

import pyarrow.parquet as pq


class Move(NamedTuple):
    """A temporary file and its final place."""

    source: str
    target: str


class Stored(NamedTuple):
    """A small file as it was read, and what tells it from later ones at the same path."""

    text: str
    version: str


class NewFile(ABC):
    """A temporary file that is being written: ``stream`` takes the bytes."""

    stream: IO[bytes]

    @abstractmethod
    def finish(self) -> None:
        """Make it durable. Nothing is there, or all of it."""

    @abstractmethod
    def abort(self) -> None:
        """Remove what is there of it."""


class Storage(ABC):
    """The files below one root. All methods may raise what ``errors`` turns into ConnectErrors."""

    # The root, as the user named it.
    root: str

    @abstractmethod
    def check(self) -> None:
        """Whether files can be written, as far as one can see without writing.

        Raises:
            ConnectError: they cannot; it says why, with a remedy.
        """

    @abstractmethod
    def check_conditions(self, path: str) -> None:
        """Whether ``replace`` can be relied on. There is a file at ``path``.

        Raises:
            ConnectError: it cannot.
        """

    @abstractmethod
    def read(self, path: str) -> Stored | None:
        """A small file; None if there is none."""

    @abstractmethod
    def replace(self, path: str, text: str, expected: Stored | None) -> bool:
        """Store a small file if ``expected`` is still what is there.

        False: something else is there. That may also be the same text, if the answer to an
        earlier request was lost.
        """

    @abstractmethod
    def create(self, path: str) -> NewFile:
        """Begin a temporary file."""

    @abstractmethod
    def exists(self, path: str) -> bool:
        """Whether there is a file."""

    @abstractmethod
    def move(self, moves: list[Move]) -> None:
        """Move files. Those whose source is gone were moved before, perhaps by another worker."""

    @abstractmethod
    def remove(self, path: str) -> None:
        """Remove a file, if it is there."""

    @abstractmethod
    def files(self, folder: str) -> list[str]:
        """The paths of the files below ``folder`` ("" for the root), in order."""

    @abstractmethod
    def footer(self, path: str) -> pq.FileMetaData:
        """The metadata of a Parquet file."""

    @abstractmethod
    def errors(self) -> AbstractContextManager[None]:
        """Turns errors of the storage into those of connectors, which say what to do."""
