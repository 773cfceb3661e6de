"""Creates the archive of Spark's classes, with a session that does a bit of everything.

A process that had a session without an archive starts this when it exits. To create it in advance,
for instance in a container image, run ``python -m moldau.spark.archive_making``. It takes half a
minute of one core, at the lowest priority.
"""

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyspark import SparkContext
from pyspark.sql.datasource import (
    DataSource,
    DataSourceArrowWriter,
    DataSourceReader,
    DataSourceStreamReader,
    InputPartition,
    WriterCommitMessage,
)

from moldau.clock import SystemClock
from moldau.spark.class_archive import SWITCH, ClassArchive, quoted, remove_unused
from moldau.spark.java import Java
from moldau.spark.session import JAVA_OPTIONS, find_archive, prepare_environment, session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_MASTER = "local[2]"


def main() -> int:
    """Create the archive unless it exists or another process is creating it."""
    os.nice(19)
    prepare_environment(_MASTER)
    archive = find_archive(_MASTER, {})
    if archive is None:
        print(
            f"no archive can be made: {SWITCH} is off, or the class path of Spark is not the "
            "usual one",
            file=sys.stderr,
        )
        return 1
    if archive.is_whole():
        return 0
    if not _claim(archive):
        print(
            f"{archive.claim}: another process makes the archive, or has failed to less than a day "
            "ago; to try again now, remove that file",
            file=sys.stderr,
        )
        return 1
    make(archive)
    remove_unused(archive.path.parent, SystemClock().wall_ms() / 1000)
    return 0 if archive.is_whole() else 1


def _claim(archive: ClassArchive) -> bool:
    """Claim the creation of the archive for this process; returns whether it succeeded."""
    archive.claim.parent.mkdir(parents=True, exist_ok=True)
    if archive.is_due(SystemClock().wall_ms() / 1000):
        archive.claim.unlink(missing_ok=True)
    try:
        archive.claim.open("x").close()
    except FileExistsError:
        return False
    return True


def make(archive: ClassArchive) -> None:
    """Run a session whose JVM dumps its classes at exit, and rename the file if it succeeded."""
    archive.path.parent.mkdir(parents=True, exist_ok=True)
    draft = archive.path.with_suffix(f".{os.getpid()}.draft")
    try:
        if archive.base is not None:
            _make_base(archive.java, draft)
            draft.replace(archive.base)
        options = quoted(archive.make_options(draft))
        spark = session("classes", master=_MASTER, config={JAVA_OPTIONS: options})
        _exercise(spark)
        if _end(spark) == 0 and draft.exists():
            archive.claim.write_text(str(draft.stat().st_size))
            draft.replace(archive.path)
    finally:
        draft.unlink(missing_ok=True)


def _make_base(java: Java, draft: Path) -> None:
    """Create the base archive of the JDK's own classes, which the archive builds on."""
    java_command = str(java.home / "bin" / "java")
    subprocess.run(
        [java_command, "-Xshare:dump", f"-XX:SharedArchiveFile={draft}"],
        check=True,
        capture_output=True,
    )


def _end(spark: "SparkSession") -> int:
    """Stop Spark and wait for its JVM; returns its exit code."""
    gateway: Any = SparkContext._gateway
    spark.stop()
    gateway.shutdown()
    gateway.proc.stdin.close()
    code: int = gateway.proc.wait()
    return code


def _exercise(spark: "SparkSession") -> None:
    """Load the classes that typical pipelines use; needs no broker."""
    spark.dataSource.register(_Numbers)
    rows = spark.read.format("numbers").load()
    texts = rows.selectExpr("cast(value as string) as text", "value % 3 as third")
    texts.groupBy("third").count().collect()
    thirds = texts.select("third").distinct()
    texts.join(thirds, "third").filter("text > '1'").orderBy("text").limit(2).collect()
    texts.selectExpr("from_json(text, 'a int') as parsed", "to_json(struct(third))").collect()
    rows.write.format("numbers").mode("append").save()
    stream = spark.readStream.format("numbers").load()
    with tempfile.TemporaryDirectory() as checkpoint:
        query = (
            stream.groupBy("value")
            .count()
            .writeStream.format("noop")
            .outputMode("update")
            .option("checkpointLocation", checkpoint)
            .trigger(availableNow=True)
            .start()
        )
        query.awaitTermination()


class _Numbers(DataSource):
    """A Python data source, like ``format("moldau")``."""

    @classmethod
    def name(cls) -> str:
        return "numbers"

    def schema(self) -> str:
        return "value long"

    def reader(self, schema: Any) -> DataSourceReader:
        return _NumbersReader()

    def streamReader(self, schema: Any) -> DataSourceStreamReader:  # noqa: N802
        return _NumbersStreamReader()

    def writer(self, schema: Any, overwrite: bool) -> DataSourceArrowWriter:
        return _NumbersWriter()


def _numbers() -> Iterator[pa.RecordBatch]:
    yield pa.RecordBatch.from_pydict({"value": pa.array(range(10), pa.int64())})


class _NumbersReader(DataSourceReader):
    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        return _numbers()


class _NumbersStreamReader(DataSourceStreamReader):
    def initialOffset(self) -> dict[str, Any]:  # noqa: N802
        return {"offset": 0}

    def latestOffset(self, start: dict[str, Any], limit: Any) -> dict[str, Any]:  # noqa: N802
        return {"offset": 1}

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> list[InputPartition]:
        return [InputPartition(0)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        return _numbers()


class _NumbersWriter(DataSourceArrowWriter):
    def write(self, iterator: Iterator[pa.RecordBatch]) -> WriterCommitMessage:
        for _ in iterator:
            pass
        return WriterCommitMessage()


if __name__ == "__main__":
    sys.exit(main())
