"""What could make exactly once untrue without anybody dying at random: each hazard by itself.

Tasks and stages that Spark runs twice, speculation, and marks that the coordinator forgets.
"""

import contextlib
import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tools.brokers import Broker

from moldau.client.admin import Admin
from moldau.client.cluster import Cluster
from moldau.client.group_admin import GroupAdmin
from moldau.ids import TopicPartition
from moldau.protocol.messages.alter_client_quotas import (
    AlterClientQuotasRequest,
    AlterClientQuotasResponse,
    EntityData,
    EntryData,
    OpData,
)
from moldau.spark import PipelineError, exactly_once, readable_errors
from moldau.spark.batch_marker import name_of
from tests.compat.exactly_once import (
    PATIENCE_S,
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
from tests.compat.sample import wait_until
from tests.compat.spark_session import own_session

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

# A task that fails is tried up to four times, one task at a time.
MASTER = "local[1,4]"
MANY = 10_000
SLOW_BYTES_PER_S = 500.0
RUN_AGAIN = "a task was run again while it wrote a transaction"
SHORT_RETENTION = {
    "offsets.retention.minutes": "1",
    "offsets.retention.check.interval.ms": "1000",
}


@pytest.fixture(scope="module")
def local_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where Spark keeps what tasks hand to each other."""
    return tmp_path_factory.mktemp("spark")


@pytest.fixture(scope="module")
def spark(local_dir: Path) -> "Iterator[SparkSession]":
    settings = {"spark.local.dir": str(local_dir)}
    with own_session("hazards", master=MASTER, config=settings) as running:
        yield running


@pytest.fixture
def topics(transaction_broker: Broker, topic: str) -> tuple[str, str]:
    return make_topics(transaction_broker.bootstrap, topic, 1)


def run(
    spark: "SparkSession",
    bootstrap: str,
    topics: tuple[str, str],
    checkpoint: Path,
    between: "Callable[[DataFrame], DataFrame]" = lambda rows: rows,
    before_end: Callable[[], object] = lambda: None,
    client_id: str = "hazards",
) -> None:
    """Copy what is there, in small pieces, by a task for each partition of the source."""
    rows = (
        spark.readStream.format("moldau")
        .option("kafka.bootstrap.servers", bootstrap)
        .options(subscribe=topics[0], startingOffsets="earliest", minPartitions=2)
        .load()
        .selectExpr("value as key", "value")
    )
    query = exactly_once(
        between(rows),
        checkpoint=str(checkpoint),
        bootstrap=bootstrap,
        topic=topics[1],
        options={"kafka.batch.size": "300", "kafka.client.id": client_id},
        trigger={"availableNow": True},
    )
    before_end()
    with readable_errors():
        query.awaitTermination()


def end_of(bootstrap: str, topic: str) -> int:
    """How far a topic of one partition is written, committed or not."""
    with Admin(bootstrap) as admin:
        return sum(
            found.offset for found in admin.list_offsets({TopicPartition(topic, 0): -1}).values()
        )


def slow_down(bootstrap: str, client_id: str) -> None:
    """Let the broker take a few hundred bytes a second from a client, no more."""
    quota = OpData("producer_byte_rate", SLOW_BYTES_PER_S)
    request = AlterClientQuotasRequest([EntryData([EntityData("client-id", client_id)], [quota])])
    with Cluster(bootstrap) as cluster:
        answer = cluster.request(request, AlterClientQuotasResponse)
    assert [each.error_code for each in answer.entries] == [0]


def test_a_task_that_fails_after_it_has_written_fails_the_batch(
    spark: "SparkSession", apache_kafka: Broker, topic: str, tmp_path: Path
) -> None:
    """On Apache Kafka, whose quotas can make the writer slow enough to be met half-way."""
    bootstrap = apache_kafka.bootstrap
    topics = make_topics(bootstrap, topic, 1)
    feed = Feed(bootstrap, topics[0])
    feed.add(MANY)
    slow_down(bootstrap, "slow")

    def kill_the_writer() -> None:
        # Something is there, so the second stage is at it, slowly, and nothing else runs.
        wait_until(lambda: end_of(bootstrap, topics[1]) > 0, limit_s=PATIENCE_S)
        writers = workers_of(os.getpid())
        assert writers, "Spark writes in processes of Python"
        for worker in writers:
            with contextlib.suppress(ProcessLookupError):
                os.kill(worker, signal.SIGKILL)

    with pytest.raises(PipelineError, match=RUN_AGAIN):
        run(spark, bootstrap, topics, tmp_path, before_end=kill_the_writer, client_id="slow")
    left = end_of(bootstrap, topics[1])
    assert 1 < left < MANY, "the task was to die half-way"
    run(spark, bootstrap, topics, tmp_path)
    found = committed(bootstrap, topics[1], lambda count: count >= feed.count)
    assert sorted(found) == list(range(feed.count))


def test_a_stage_that_is_tried_again_fails_the_batch(
    spark: "SparkSession",
    transaction_broker: Broker,
    topics: tuple[str, str],
    local_dir: Path,
    tmp_path: Path,
) -> None:
    bootstrap = transaction_broker.bootstrap
    feed = Feed(bootstrap, topics[0])
    feed.add(100)
    has_lost = tmp_path / "lost"

    def lose_what_the_first_task_left(batches: Iterator[Any]) -> Iterator[Any]:
        from pyspark import TaskContext

        yield from batches
        context = TaskContext.get()
        assert context is not None
        if context.partitionId() == 1 and not has_lost.exists():
            # As if the machine of the first task were gone: the second stage cannot fetch.
            for path in local_dir.rglob("shuffle_*"):
                path.unlink(missing_ok=True)
                has_lost.touch()

    def losing(rows: "DataFrame") -> "DataFrame":
        return rows.mapInArrow(lose_what_the_first_task_left, rows.schema)

    checkpoint = tmp_path / "checkpoint"
    with pytest.raises(PipelineError, match=RUN_AGAIN):
        run(spark, bootstrap, topics, checkpoint, losing)
    assert has_lost.exists(), "there was something to lose"
    run(spark, bootstrap, topics, checkpoint, losing)
    found = committed(bootstrap, topics[1], lambda count: count >= feed.count)
    assert sorted(found) == list(range(feed.count))


def test_a_session_that_speculates_is_refused(
    transaction_broker: Broker, topics: tuple[str, str], tmp_path: Path
) -> None:
    pytest.importorskip("pyspark", reason="PySpark is not installed (pip install 'moldau[spark]')")
    arguments = (transaction_broker.bootstrap, *topics, str(tmp_path / "checkpoint"), "local[1]")
    driver = Driver(tmp_path / "driver.log", *arguments, "spark.speculation=True")
    try:
        said = driver.await_failure()
    finally:
        driver.kill()
    assert "spark.speculation=True runs tasks twice, which a transaction cannot have" in said


@pytest.fixture
def forgetful_broker(
    transaction_broker: Broker, broker_kind: type[Broker], tmp_path: Path
) -> Iterator[Broker]:
    """A broker that forgets offsets as soon as it can be told to, after a minute."""
    with broker_kind(tmp_path / "data", SHORT_RETENTION) as broker:
        yield broker


def test_a_mark_outlives_the_retention_while_its_query_runs_and_is_not_guessed_afterwards(
    spark: "SparkSession", forgetful_broker: Broker, tmp_path: Path
) -> None:
    bootstrap = forgetful_broker.bootstrap
    idle, stopped, killed = (tmp_path / name for name in ("idle", "stopped", "killed"))
    with Admin(bootstrap) as admin:
        admin.create_topic("numbers", 2)
        for checkpoint in (idle, stopped, killed):
            admin.create_topic(checkpoint.name, 1)

        def has_mark(checkpoint: Path) -> bool:
            return bool(GroupAdmin(admin.cluster).offsets(name_of(query_id(checkpoint))))

        feed = Feed(bootstrap, "numbers")
        feed.add(10)
        rows = (
            spark.readStream.format("moldau")
            .option("kafka.bootstrap.servers", bootstrap)
            .options(subscribe="numbers", startingOffsets="earliest")
            .load()
            .select("value")
        )
        # It reads what is there and then has nothing to do. Its mark is the oldest of all.
        query = exactly_once(rows, checkpoint=str(idle), bootstrap=bootstrap, topic=idle.name)
        try:
            query.processAllAvailable()
            assert has_mark(idle)
            for checkpoint in (stopped, killed):
                copy(spark, bootstrap, ("numbers", checkpoint.name), checkpoint)
                assert has_mark(checkpoint)
            forget(killed, "commits", last_batch(killed))
            wait_until(lambda: not has_mark(stopped) and not has_mark(killed), limit_s=180)
            assert has_mark(idle)
        finally:
            query.stop()

        feed.add(10)
        # The batch of the one that was stopped is new: it goes on, and is marked again.
        copy(spark, bootstrap, ("numbers", stopped.name), stopped)
        assert has_mark(stopped)
        assert sorted(committed(bootstrap, stopped.name, lambda count: count >= 20)) == list(
            range(20)
        )
        # That of the other may have been written before.
        with pytest.raises(PipelineError, match=r"the mark of batch \d+ is gone"):
            copy(spark, bootstrap, ("numbers", killed.name), killed)
        assert sorted(committed(bootstrap, killed.name, lambda count: count >= 10)) == list(
            range(10)
        )
