"""What the tests of exactly once share: numbers in, a driver to be killed, readers."""

import contextlib
import json
import os
import queue
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from confluent_kafka import Consumer, Producer

from moldau.client.admin import Admin
from moldau.spark import exactly_once, readable_errors
from tests.compat.spark_session import environment_without_spark

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

DRIVER = Path(__file__).with_name("exactly_once_driver.py")
# A busy machine takes a minute for a session of Spark alone.
PATIENCE_S = 300


class Feed:
    """Puts numbers into a topic, in steps or until it is told to stop."""

    def __init__(self, bootstrap: str, topic: str) -> None:
        self._producer = Producer({"bootstrap.servers": bootstrap, "enable.idempotence": True})
        self._topic = topic
        self._stop = threading.Event()
        self.count = 0

    def add(self, count: int) -> None:
        for number in range(self.count, self.count + count):
            self._producer.produce(self._topic, b"%d" % number, partition=number % 2)
        assert self._producer.flush(120) == 0
        self.count += count

    def run(self) -> None:
        # More than a kill may catch half-way, and less than the query can keep up with.
        while not self._stop.wait(0.1):
            self.add(50)

    def __enter__(self) -> "Feed":
        self._thread = threading.Thread(target=self.run)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()


def committed(bootstrap: str, topic: str, enough: Callable[[int], bool]) -> list[int]:
    """The numbers in a topic, once there are enough; with everything that is there by then."""
    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": f"reader-of-{topic}",
            "auto.offset.reset": "earliest",
            "isolation.level": "read_committed",
            "enable.auto.commit": False,
            "enable.partition.eof": False,
        }
    )
    consumer.subscribe([topic])
    found: list[int] = []
    deadline = time.monotonic() + PATIENCE_S
    try:
        while time.monotonic() < deadline:
            messages = consumer.consume(1000, 1.0)
            found += [int(message.value() or b"") for message in messages]
            if enough(len(found)) and not messages:
                break
    finally:
        consumer.close()
    return found


class Driver:
    """The program that is killed, with what it says."""

    def __init__(self, log: Path, *arguments: str) -> None:
        self._log = log
        with log.open("a") as errors:
            self.process = subprocess.Popen(
                [sys.executable, str(DRIVER), *arguments],
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
                start_new_session=True,
                # A JVM that is killed leaves its temporary files behind.
                env={**environment_without_spark(), "TMPDIR": str(log.parent)},
            )
        self.lines: queue.Queue[str] = queue.Queue()
        threading.Thread(target=self._listen, daemon=True).start()

    def await_batches(self, count: int) -> list[str]:
        """Wait until so many batches are done; what failed until then."""
        failures = []
        while count:
            try:
                line = self.lines.get(timeout=PATIENCE_S)
            except queue.Empty:
                said = "\n".join(self._log.read_text().splitlines()[-40:])
                pytest.fail(f"no batch in {PATIENCE_S} s; {failures}; the driver said:\n{said}")
            if line.startswith("failed"):
                failures.append(line)
            else:
                count -= 1
        return failures

    def kill(self) -> None:
        """Python and its JVM at once; Spark's workers find out and end by themselves."""
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()

    def await_failure(self) -> str:
        """Wait until the query has failed; why it did."""
        while not (line := self.lines.get(timeout=PATIENCE_S)).startswith("failed"):
            pass
        return line

    def _listen(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.lines.put(line.strip())


def workers_of(pid: int) -> list[int]:
    """The Python processes in which a driver's Spark runs tasks, and the one of the source."""
    ours = (b"pyspark.worker", b"python_streaming_source_runner")
    return [each for each in _descendants(pid) if any(name in _command(each) for name in ours)]


def _command(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""


def _descendants(pid: int) -> list[int]:
    children: set[int] = set()
    # The JVM starts processes from whichever of its threads is at it.
    for thread in Path("/proc").glob(f"{pid}/task/*"):
        # Threads end meanwhile.
        with contextlib.suppress(OSError):
            children.update(map(int, (thread / "children").read_text().split()))
    found = sorted(children)
    return found + [each for child in found for each in _descendants(child)]


def make_topics(bootstrap: str, topic: str, partitions: int) -> tuple[str, str]:
    """A topic of two partitions to read, and one to write."""
    names = (f"{topic}-in", f"{topic}-out")
    with Admin(bootstrap) as admin:
        admin.create_topic(names[0], 2)
        admin.create_topic(names[1], partitions)
    return names


def copy(spark: "SparkSession", bootstrap: str, topics: tuple[str, str], checkpoint: Path) -> None:
    """Copy what is there, each number once: which ones have come is the query's state."""
    rows = (
        spark.readStream.format("moldau")
        .option("kafka.bootstrap.servers", bootstrap)
        .options(subscribe=topics[0], startingOffsets="earliest", maxOffsetsPerTrigger=10)
        .load()
        .dropDuplicates(["value"])
        .selectExpr("value as key", "value")
    )
    query = exactly_once(
        rows,
        checkpoint=str(checkpoint),
        bootstrap=bootstrap,
        topic=topics[1],
        trigger={"availableNow": True},
    )
    with readable_errors():
        query.awaitTermination()


def query_id(checkpoint: Path) -> str:
    return str(json.loads((checkpoint / "metadata").read_text())["id"])


def last_batch(checkpoint: Path) -> int:
    return max(int(path.name) for path in (checkpoint / "commits").iterdir() if path.name.isdigit())


def forget(checkpoint: Path, folder: str, batch: int) -> None:
    """As if Spark had died before it wrote this."""
    (checkpoint / folder / str(batch)).unlink()
    (checkpoint / folder / f".{batch}.crc").unlink(missing_ok=True)
