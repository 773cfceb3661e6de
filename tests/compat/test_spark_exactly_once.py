"""Exactly once on Apache Kafka: whatever dies, nothing is lost and nothing is there twice."""

import contextlib
import itertools
import os
import random
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tools.brokers import Broker

from moldau.client.admin import Admin
from moldau.client.group_admin import GroupAdmin
from moldau.spark import PipelineError, exactly_once, readable_errors
from moldau.spark.batch_marker import name_of
from tests.compat.exactly_once import (
    Driver,
    Feed,
    committed,
    copy,
    forget,
    last_batch,
    make_topics,
    query_id,
    workers_of,
)
from tests.compat.spark_connector import with_connector

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

KILLS = int(os.environ.get("EXACTLY_ONCE_KILLS", "50"))
# One in so many takes the driver and its JVM, which are slow to start again.
DRIVER_KILLS = 7


@pytest.fixture(scope="module")
def spark() -> "Iterator[SparkSession]":
    pytest.importorskip("pyspark", reason="PySpark is not installed (pip install 'moldau[spark]')")
    from moldau.spark import session

    try:
        running = session("compat", master="local[2]", config=with_connector())
    except PipelineError as reason:
        pytest.skip(str(reason))
    yield running
    running.stop()


@pytest.fixture
def topics(apache_kafka: Broker, topic: str) -> tuple[str, str]:
    return make_topics(apache_kafka.bootstrap, topic, 3)


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
                workers = workers_of(driver.process.pid)
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


def test_without_its_mark_an_unfinished_batch_is_an_error_and_not_a_guess(
    spark: "SparkSession", apache_kafka: Broker, topics: tuple[str, str], tmp_path: Path
) -> None:
    bootstrap = apache_kafka.bootstrap
    feed = Feed(bootstrap, topics[0])
    feed.add(10)
    copy(spark, bootstrap, topics, tmp_path)
    with Admin(bootstrap) as admin:
        GroupAdmin(admin.cluster).delete(name_of(query_id(tmp_path)))
    forget(tmp_path, "commits", last_batch(tmp_path))
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
