"""Stores the bytes of pieces in files if the tasks of both stages share a disk.

Data between Spark's stages goes through the JVM as rows, and is converted and copied several times
on the way. On a single machine each task writes the bytes to a file instead, and its rows have
only their location.

Rules this module keeps:

* A file belongs to one attempt of one task. A retry writes another file, and the first is not
  used.
* The folder is deleted at the end of its batch. It is among Spark's own temporary files, where the
  leftovers of a killed driver are expected.
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
    """The location of a piece's bytes."""

    file: str
    position: int
    size: int


@contextmanager
def piece_folder(spark: "SparkSession") -> Iterator[str | None]:
    """A folder for the files of one batch; None if tasks may run on other machines."""
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
    """The file that one task writes."""

    def __init__(self, folder: str) -> None:
        self._descriptor, self._path = tempfile.mkstemp(dir=folder)
        self._end = 0

    def put(self, data: bytes) -> Place:
        """Append ``data`` and return its location; it can be read at once.

        Raises:
            PipelineError: it cannot be written.
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
    """Reads pieces from the files of other tasks."""

    def __init__(self) -> None:
        self._descriptors: dict[str, int] = {}

    def read(self, place: Place) -> bytes:
        """The bytes at ``place``.

        Raises:
            PipelineError: they cannot be read.
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
