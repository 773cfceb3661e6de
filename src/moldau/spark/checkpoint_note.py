"""The started and completed batches of a query, according to its checkpoint.

Spark keeps a file in ``offsets/`` for each batch that it started, and one in ``commits/`` for each
that it completed. We add a note: an empty file whose existence is the information.
"""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_FILE: Final = "moldau-exactly-once"


class CheckpointNote:
    """A file that exists if this query may have written rows exactly once.

    Spark reads and writes checkpoints with Hadoop's file system API, so a checkpoint, and with it
    the note, may be in HDFS or an object store.
    """

    def __init__(self, spark: "SparkSession", checkpoint: str) -> None:
        self._spark = spark
        self._checkpoint = checkpoint
        self._is_there = False

    def exists(self) -> bool:
        if not self._is_there:
            system, path = self._open()
            self._is_there = bool(system.exists(path))
        return self._is_there

    def make(self) -> None:
        system, path = self._open()
        system.create(path, True).close()
        self._is_there = True

    def unfinished_batch(self) -> int | None:
        """The batch that the query repeats at its next start; None if it starts a new one."""
        return unfinished(self._names("offsets"), self._names("commits"))

    def _names(self, folder: str) -> list[str]:
        system, path = self._open(folder)
        if not system.exists(path):
            return []
        return [status.getPath().getName() for status in system.listStatus(path)]

    def _open(self, name: str = _FILE) -> tuple[Any, Any]:
        jvm: Any = self._spark.sparkContext._jvm
        path = jvm.org.apache.hadoop.fs.Path(self._checkpoint, name)
        configuration = self._spark._jsparkSession.sessionState().newHadoopConf()
        return path.getFileSystem(configuration), path


def unfinished(begun: Iterable[str], ended: Iterable[str]) -> int | None:
    """The last batch that was started, unless it was completed; other file names are ignored."""
    last_begun = max((int(name) for name in begun if name.isdigit()), default=None)
    last_ended = max((int(name) for name in ended if name.isdigit()), default=-1)
    return last_begun if last_begun is not None and last_begun > last_ended else None
