"""Exactly once: whatever dies, nothing is lost and nothing is there twice."""

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
from tools import wire
from tools.brokers import HOST, Broker

from moldau.client.admin import Admin
from moldau.client.group_admin import GroupAdmin
from moldau.spark import PipelineError, exactly_once, readable_errors
from moldau.spark.batch_marker import name_of
from tests.compat.conftest import NO_TRANSACTIONS, TXN_OFFSET_COMMIT
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
from tests.compat.spark_session import own_session

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

KILLS = int(os.environ.get("EXACTLY_ONCE_KILLS", "8"))
# One in so many takes the driver and its JVM, which are slow to start again.
DRIVER_KILLS = 7
BROKER_KILLS = 5


@pytest.fixture(scope="module")
def spark() -> "Iterator[SparkSession]":
    with own_session("compat") as running:
        yield running


@pytest.fixture
def topics(transaction_broker: Broker, topic: str) -> tuple[str, str]:
    return make_topics(transaction_broker.bootstrap, topic, 3)


@pytest.mark.timeout(1800)
def test_nothing_is_lost_or_doubled_whoever_is_killed(
    broker_kind: type[Broker], topic: str, tmp_path: Path
) -> None:
    pytest.importorskip("pyspark", reason="PySpark is not installed (pip install 'moldau[spark]')")
    seed = int(os.environ.get("EXACTLY_ONCE_SEED", random.SystemRandom().randrange(1 << 32)))
    print(f"EXACTLY_ONCE_SEED={seed} EXACTLY_ONCE_KILLS={KILLS}")
    rng = random.Random(seed)
    with broker_kind(tmp_path / "data") as broker:
        if TXN_OFFSET_COMMIT not in wire.api_versions(HOST, broker.port):
            pytest.skip(NO_TRANSACTIONS)
        torment(broker, make_topics(broker.bootstrap, topic, 3), rng, tmp_path)


def torment(broker: Broker, topics: tuple[str, str], rng: random.Random, tmp_path: Path) -> None:
    bootstrap = broker.bootstrap

    def start() -> Driver:
        # With and without retries of tasks, which must not do any harm either.
        master = rng.choice(["local[2]", "local[2,3]"])
        checkpoint = str(tmp_path / "checkpoint")
        return Driver(tmp_path / "driver.log", bootstrap, *topics, checkpoint, master)

    failures: list[str] = []
    victims = {"driver": 0, "worker": 0, "broker": 0}
    driver = start()
    try:
        with Feed(bootstrap, topics[0]) as feed:
            for number in range(KILLS):
                failures += driver.await_batches(rng.choice([1, 1, 2]))
                time.sleep(rng.uniform(0, 0.6))
                workers = workers_of(driver.process.pid)
                if number % BROKER_KILLS == BROKER_KILLS - 1:
                    broker.kill()
                    broker.start()
                    victims["broker"] += 1
                elif number % DRIVER_KILLS == DRIVER_KILLS - 1 or not workers:
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
    assert victims["broker"] > 0 or KILLS < BROKER_KILLS


def test_a_batch_that_is_marked_is_computed_again_but_not_written(
    spark: "SparkSession", transaction_broker: Broker, topics: tuple[str, str], tmp_path: Path
) -> None:
    bootstrap = transaction_broker.bootstrap
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
    spark: "SparkSession", transaction_broker: Broker, topics: tuple[str, str], tmp_path: Path
) -> None:
    bootstrap = transaction_broker.bootstrap
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
    spark: "SparkSession", transaction_broker: Broker, topics: tuple[str, str], tmp_path: Path
) -> None:
    bootstrap = transaction_broker.bootstrap
    Feed(bootstrap, topics[0]).add(40)
    copy(spark, bootstrap, topics, tmp_path)
    last = last_batch(tmp_path)
    for batch, folder in itertools.product((last, last - 1, last - 2), ("commits", "offsets")):
        forget(tmp_path, folder, batch)
    with pytest.raises(PipelineError, match="batches are written: it is an older state"):
        copy(spark, bootstrap, topics, tmp_path)


def test_a_row_that_cannot_be_written_leaves_nothing_of_its_batch(
    spark: "SparkSession", transaction_broker: Broker, topics: tuple[str, str], tmp_path: Path
) -> None:
    bootstrap = transaction_broker.bootstrap
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
