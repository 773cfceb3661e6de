"""A note in a query's checkpoint, wherever that is: a file that is there or is not."""

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

    def _open(self) -> tuple[Any, Any]:
        jvm: Any = self._spark.sparkContext._jvm
        path = jvm.org.apache.hadoop.fs.Path(self._checkpoint, _FILE)
        configuration = self._spark._jsparkSession.sessionState().newHadoopConf()
        return path.getFileSystem(configuration), path
