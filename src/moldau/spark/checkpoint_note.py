"""What a query's checkpoint says of the batches that were begun, wherever it lies.

Spark keeps a file in ``offsets/`` for each batch that it began, and one in ``commits/`` for each
that it ended. Beside them lies a note of ours: a file that is there or is not.
"""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_FILE: Final = "moldau-exactly-once"


class CheckpointNote:
    """Says that rows of this query may have been written exactly once.

    Spark reads and writes checkpoints through Hadoop's file systems, so a checkpoint may lie in
    HDFS or an object store; so does the note.
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
        """The batch that the next start of the query repeats; None if it goes on with a new one."""
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
    """The last batch that was begun, unless it was ended; files of other names do not count."""
    last_begun = max((int(name) for name in begun if name.isdigit()), default=None)
    last_ended = max((int(name) for name in ended if name.isdigit()), default=-1)
    return last_begun if last_begun is not None and last_begun > last_ended else None
