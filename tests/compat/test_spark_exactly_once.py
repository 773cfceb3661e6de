"""Exactly once on Apache Kafka: whatever dies, nothing is lost and nothing is there twice."""

import contextlib
import itertools
import json
import os
import queue
import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from confluent_kafka import Consumer, Producer
from tools.brokers import Broker

from moldau.client.admin import Admin
from moldau.client.group_admin import GroupAdmin
from moldau.spark import PipelineError, exactly_once, readable_errors
from moldau.spark.batch_marker import name_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

DRIVER = Path(__file__).with_name("exactly_once_driver.py")
KILLS = int(os.environ.get("EXACTLY_ONCE_KILLS", "50"))
# One in so many takes the driver and its JVM, which are slow to start again.
DRIVER_KILLS = 7
PATIENCE_S = 90


@pytest.fixture(scope="module")
def spark() -> "Iterator[SparkSession]":
    pytest.importorskip("pyspark", reason="PySpark is not installed (pip install 'moldau[spark]')")
    from moldau.spark import session

    try:
        running = session("compat", master="local[2]")
    except PipelineError as reason:
        pytest.skip(str(reason))
    yield running
    running.stop()


@pytest.fixture
def topics(apache_kafka: Broker, topic: str) -> tuple[str, str]:
    """A topic to read and one to write, of two and three partitions."""
    names = (f"{topic}-in", f"{topic}-out")
    with Admin(apache_kafka.bootstrap) as admin:
        admin.create_topic(names[0], 2)
        admin.create_topic(names[1], 3)
    return names


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
        assert self._producer.flush(30) == 0
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
                env={**os.environ, "TMPDIR": str(log.parent)},
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

    def workers(self) -> list[int]:
        """The Python processes in which Spark runs tasks, and the one of the source."""
        ours = (b"pyspark.worker", b"python_streaming_source_runner")
        return [
            pid
            for pid in _descendants(self.process.pid)
            if any(name in _command(pid) for name in ours)
        ]

    def _listen(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.lines.put(line.strip())


def _command(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""


def _descendants(pid: int) -> list[int]:
    try:
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
        # The JVM starts processes from whichever of its threads is at it.
        for task in Path(f"/proc/{pid}/task").iterdir():
            children += (task / "children").read_text().split()
    except OSError:
        return []
    found = sorted({int(child) for child in children})
    return found + [each for child in found for each in _descendants(child)]


@pytest.mark.timeout(1800)
def test_nothing_is_lost_or_doubled_whoever_is_killed(
    apache_kafka: Broker, topics: tuple[str, str], tmp_path: Path
) -> None:
    pytest.importorskip("pyspark", reason="PySpark is not installed (pip install 'moldau[spark]')")
    seed = int(os.environ.get("EXACTLY_ONCE_SEED", random.SystemRandom().randrange(1 << 32)))
    print(f"EXACTLY_ONCE_SEED={seed} EXACTLY_ONCE_KILLS={KILLS}")
    rng = random.Random(seed)
    bootstrap = apache_kafka.bootstrap

    def start() -> Driver:
        # With and without retries of tasks, which must not do any harm either.
        master = rng.choice(["local[2]", "local[2,3]"])
        checkpoint = str(tmp_path / "checkpoint")
        return Driver(tmp_path / "driver.log", bootstrap, *topics, checkpoint, master)

    failures: list[str] = []
    victims = {"driver": 0, "worker": 0}
    driver = start()
    try:
        with Feed(bootstrap, topics[0]) as feed:
            for number in range(KILLS):
                failures += driver.await_batches(rng.choice([1, 1, 2]))
                time.sleep(rng.uniform(0, 0.6))
                workers = driver.workers()
                if number % DRIVER_KILLS == DRIVER_KILLS - 1 or not workers:
                    driver.kill()
                    driver = start()
                    victims["driver"] += 1
                else:
                    # It may have ended by itself meanwhile.
                    with contextlib.suppress(ProcessLookupError):
                        os.kill(rng.choice(workers), signal.SIGKILL)
                    victims["worker"] += 1
            failures += driver.await_batches(1)
        found = committed(bootstrap, topics[1], lambda count: count >= feed.count)
    finally:
        driver.kill()
    print(victims, sorted(set(failures)))
    assert len(found) == len(set(found)), "duplicates"
    assert sorted(found) == list(range(feed.count)), "losses"
    assert victims["driver"] > 0 or KILLS < DRIVER_KILLS


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


def test_a_batch_that_is_marked_is_computed_again_but_not_written(
    spark: "SparkSession", apache_kafka: Broker, topics: tuple[str, str], tmp_path: Path
) -> None:
    bootstrap = apache_kafka.bootstrap
    feed = Feed(bootstrap, topics[0])
    feed.add(25)
    copy(spark, bootstrap, topics, tmp_path)
    forget(tmp_path, "commits", last_batch(tmp_path))
    feed.add(5)
    # The state of the batch that is done again is there for those that follow.
    feed.count = 20
    feed.add(12)
    copy(spark, bootstrap, topics, tmp_path)
    found = committed(bootstrap, topics[1], lambda count: count >= 32)
    assert sorted(found) == list(range(32))


def test_a_mark_that_is_gone_is_an_error_and_not_a_guess(
    spark: "SparkSession", apache_kafka: Broker, topics: tuple[str, str], tmp_path: Path
) -> None:
    bootstrap = apache_kafka.bootstrap
    feed = Feed(bootstrap, topics[0])
    feed.add(10)
    copy(spark, bootstrap, topics, tmp_path)
    with Admin(bootstrap) as admin:
        GroupAdmin(admin.cluster).delete(name_of(query_id(tmp_path)))
    feed.add(10)
    with pytest.raises(PipelineError, match=r"the mark of batch \d+ is gone: .* new checkpoint"):
        copy(spark, bootstrap, topics, tmp_path)
    found = committed(bootstrap, topics[1], lambda count: count >= 10)
    assert sorted(found) == list(range(10))


def test_an_older_checkpoint_is_an_error(
    spark: "SparkSession", apache_kafka: Broker, topics: tuple[str, str], tmp_path: Path
) -> None:
    bootstrap = apache_kafka.bootstrap
    Feed(bootstrap, topics[0]).add(40)
    copy(spark, bootstrap, topics, tmp_path)
    last = last_batch(tmp_path)
    for batch, folder in itertools.product((last, last - 1, last - 2), ("commits", "offsets")):
        forget(tmp_path, folder, batch)
    with pytest.raises(PipelineError, match="batches are written: it is an older state"):
        copy(spark, bootstrap, topics, tmp_path)


def test_a_row_that_cannot_be_written_leaves_nothing_of_its_batch(
    spark: "SparkSession", apache_kafka: Broker, topics: tuple[str, str], tmp_path: Path
) -> None:
    bootstrap = apache_kafka.bootstrap
    with Admin(bootstrap) as admin:
        admin.create_topic(f"{topics[1]}-small", 2, configs={"max.message.bytes": "1000"})
    Feed(bootstrap, topics[0]).add(100)

    def run(value: str) -> None:
        stream: DataFrame = (
            spark.readStream.format("moldau")
            .option("kafka.bootstrap.servers", bootstrap)
            .options(subscribe=topics[0], startingOffsets="earliest")
            .load()
            .selectExpr("cast(value as string) as key", f"{value} as value")
        )
        options: dict[str, Any] = {"kafka.batch.size": "400"}
        query = exactly_once(
            stream,
            checkpoint=str(tmp_path),
            bootstrap=bootstrap,
            topic=f"{topics[1]}-small",
            options=options,
            trigger={"availableNow": True},
        )
        with readable_errors():
            query.awaitTermination()

    with pytest.raises(PipelineError, match=r"max\.message\.bytes of the topic: raise that"):
        run("if(value = '77', repeat('x', 2000), cast(value as string))")
    run("cast(value as string)")
    found = committed(bootstrap, f"{topics[1]}-small", lambda count: count >= 100)
    assert sorted(found) == list(range(100))
