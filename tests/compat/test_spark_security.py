"""Spark and streams on a secured Apache Kafka: the options of Spark's own connector are enough."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from moldau.client.admin import Admin
from moldau.client.group_admin import GroupAdmin
from moldau.client.producer import Producer
from moldau.spark.errors import one_line
from moldau.streams import LONG, STRING, App
from tests.compat.secured_kafka import PASSWORD, USER, SecuredKafka, jaas
from tests.compat.spark_session import own_session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

LISTENER, MECHANISM = "SASL_SSL", "SCRAM-SHA-512"
RECORDS = 200


@pytest.fixture(scope="module")
def spark() -> "Iterator[SparkSession]":
    with own_session("compat") as running:
        yield running


@pytest.fixture
def options(secured_kafka: SecuredKafka) -> dict[str, str]:
    """What Spark's own connector would be told."""
    settings = secured_kafka.settings(LISTENER, MECHANISM)
    settings["bootstrap.servers"] = secured_kafka.bootstrap(LISTENER)
    return {f"kafka.{name}": value for name, value in settings.items()}


@pytest.fixture
def orders(secured_kafka: SecuredKafka, topic: str) -> str:
    """A topic with some records."""
    security = secured_kafka.security(LISTENER, MECHANISM)
    address = secured_kafka.bootstrap(LISTENER)
    with Admin(address, security=security) as admin:
        admin.create_topic(topic, 3)
    with Producer(address, security=security) as producer:
        for number in range(RECORDS):
            producer.send(topic, b"%d" % number, key=b"%d" % (number % 7))
    return topic


def test_a_topic_is_read_streamed_and_written(
    spark: "SparkSession",
    secured_kafka: SecuredKafka,
    options: dict[str, str],
    orders: str,
    tmp_path: Path,
) -> None:
    copy, group = f"{orders}-copy", f"{orders}-group"
    security = secured_kafka.security(LISTENER, MECHANISM)
    with Admin(secured_kafka.bootstrap(LISTENER), security=security) as admin:
        admin.create_topic(copy, 2)
        rows = (
            spark.readStream.format("moldau")
            .options(**options, subscribe=orders, startingOffsets="earliest", groupId=group)
            .load()
        )
        query = (
            rows.select("key", "value")
            .writeStream.format("moldau")
            .options(**options, topic=copy, checkpointLocation=str(tmp_path / "checkpoint"))
            .trigger(availableNow=True)
            .start()
        )
        assert query.awaitTermination(300)
        progress = GroupAdmin(admin.cluster).offsets(group)
    assert sum(each.offset for each in progress.values()) == RECORDS
    read = spark.read.format("moldau").options(**options, subscribe=copy).load()
    values = sorted(int(row.value) for row in read.select("value").collect())
    assert values == list(range(RECORDS))


def test_an_app_counts_exactly_once(
    spark: "SparkSession", secured_kafka: SecuredKafka, orders: str, tmp_path: Path
) -> None:
    app = App(
        f"app-{orders}",
        bootstrap=secured_kafka.bootstrap(LISTENER),
        security=secured_kafka.settings(LISTENER, MECHANISM),
        checkpoint_dir=tmp_path,
        delivery="exactly_once",
    )
    counts = app.stream(orders, key=STRING, value=STRING).group_by_key().count()
    counts.to(f"{orders}-counts", key=STRING, value=LONG)
    app.run(once=True, report="none")
    table = app.table(f"{orders}-counts")
    assert sum(table.get(str(key)) for key in range(7)) == RECORDS
    (query,) = app.status().queries
    assert query.lag == 0
    app.reset()


def test_a_wrong_password_is_one_line_without_the_password(
    spark: "SparkSession", options: dict[str, str], orders: str
) -> None:
    wrong = {**options, "kafka.sasl.jaas.config": jaas(MECHANISM, USER, "wrong-secret")}
    with pytest.raises(Exception, match="refused the login") as raised:
        spark.read.format("moldau").options(**wrong, subscribe=orders).load().count()
    assert f"refused the login of {USER} with {MECHANISM}" in one_line(raised.value)
    assert "wrong-secret" not in str(raised.value)


def test_a_plan_shows_no_password(
    spark: "SparkSession", options: dict[str, str], orders: str, capfd: pytest.CaptureFixture[str]
) -> None:
    spark.read.format("moldau").options(**options, subscribe=orders).load().explain(True)
    shown = capfd.readouterr().out
    assert "moldau" in shown.lower()
    assert PASSWORD not in shown
