"""The bytes of pieces in files, where those who make them and those who send them share a disk.

What goes from one of Spark's stages to the next goes through the JVM as rows, and is converted
and copied several times on the way. On a single machine a task puts the bytes into a file of its
own instead, and its rows say only where they are.

Rules this module keeps:

* A file belongs to one try of one task. One that is tried again writes another, and nobody is
  told of the first.
* The folder goes with the batch for which it was made. It lies where Spark keeps its own temporary
  files, and what a driver that was killed leaves behind is found there with those.
"""

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, NamedTuple, Self

from moldau.spark.errors import PipelineError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


class Place(NamedTuple):
    """Where the bytes of a piece are."""

    file: str
    position: int
    size: int


@contextmanager
def piece_folder(spark: "SparkSession") -> Iterator[str | None]:
    """A folder for the files of one batch; None where tasks run on other machines."""
    from pyspark import SparkFiles

    if not (spark.sparkContext.master or "").startswith("local"):
        yield None
        return
    folder = tempfile.mkdtemp(prefix="moldau-pieces-", dir=SparkFiles.getRootDirectory())
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


class PieceFile:
    """What one task writes."""

    def __init__(self, folder: str) -> None:
        self._descriptor, self._path = tempfile.mkstemp(dir=folder)
        self._end = 0

    def put(self, data: bytes) -> Place:
        """Append ``data``; whoever is told the place can read it at once.

        Raises:
            PipelineError: the disk does not take it.
        """
        place = Place(self._path, self._end, len(data))
        rest = memoryview(data)
        try:
            while rest:
                rest = rest[os.write(self._descriptor, rest) :]
        except OSError as error:
            reason = error.strerror
            raise PipelineError(
                f"what a batch holds cannot be kept in {self._path}: {reason}; there must be room "
                "for a batch in spark.local.dir"
            ) from error
        self._end += len(data)
        return place

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self._descriptor)


class PieceReader:
    """What one task reads, from the files of all others."""

    def __init__(self) -> None:
        self._descriptors: dict[str, int] = {}

    def read(self, place: Place) -> bytes:
        """The bytes at ``place``.

        Raises:
            PipelineError: they are not there.
        """
        try:
            descriptor = self._descriptors.get(place.file)
            if descriptor is None:
                descriptor = self._descriptors[place.file] = os.open(place.file, os.O_RDONLY)
            data = os.pread(descriptor, place.size, place.position)
        except OSError as error:
            raise PipelineError(f"what a task has made ready cannot be read: {error}") from error
        if len(data) < place.size:
            raise PipelineError(
                f"{place.file} has {len(data)} of {place.size} bytes at {place.position}: "
                "somebody cut it off; start the query again"
            )
        return data

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for descriptor in self._descriptors.values():
            os.close(descriptor)
