"""An app on brokers with transactions: topics made, tables asked, each batch a transaction."""

import itertools
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from confluent_kafka import Producer
from tools.brokers import Broker

from moldau.client.admin import Admin, ResourceType
from moldau.client.consumer import Consumer
from moldau.client.offsets import EARLIEST, LATEST
from moldau.streams import LONG, STRING, App
from tests.compat.spark_session import own_session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_numbers = itertools.count()


@pytest.fixture(scope="module")
def spark() -> "Iterator[SparkSession]":
    with own_session("compat-streams") as running:
        yield running


def produce(bootstrap: str, topic: str, *keys: str) -> None:
    producer = Producer({"bootstrap.servers": bootstrap})
    for key in keys:
        producer.produce(topic, key=key, value="x")
    assert producer.flush(120) == 0


@pytest.fixture(params=["apache_kafka", "transaction_broker"])
def broker(request: pytest.FixtureRequest) -> Broker:
    running: Broker = request.getfixturevalue(request.param)
    return running


@pytest.mark.parametrize("delivery", ["at_least_once", "exactly_once"])
def test_an_app_counts(
    broker: Broker, spark: "SparkSession", tmp_path: Path, delivery: str
) -> None:
    bootstrap = broker.bootstrap
    words = f"words-{next(_numbers)}"
    with Admin(bootstrap) as admin:
        admin.create_topic(words, 2)
    app = App("counting", bootstrap=bootstrap, checkpoint_dir=tmp_path, delivery=delivery)
    counts = app.stream(words).group_by_key().count(name=f"{words}-counts")
    counts.to(f"{words}-counted", key=STRING, value=LONG)

    produce(bootstrap, words, "a", "b", "a")
    app.run(once=True, report="none")
    produce(bootstrap, words, "a")
    app.run(once=True, report="none")

    assert dict(app.table(f"{words}-counted").items()) == {"a": 3, "b": 1}
    assert [each.lag for each in app.status().queries] == [0]
    with Admin(bootstrap) as admin:
        (policy,) = admin.describe_configs(
            ResourceType.TOPIC, f"{words}-counted", ["cleanup.policy"]
        )
    assert policy.value == "compact"
    assert committed(bootstrap, f"{words}-counted") == 3
    app.reset()
    assert app.plan_reset().is_empty


def committed(bootstrap: str, topic: str) -> int:
    """How many records a consumer sees that reads only what is committed."""
    with Consumer(bootstrap, read_committed=True) as consumer:
        partitions = consumer.partitions_of(topic)
        consumer.assign(consumer.offsets_at(dict.fromkeys(partitions, EARLIEST)))
        ends = consumer.offsets_at(dict.fromkeys(partitions, LATEST))
        records = 0
        while any(consumer.positions[each] < end for each, end in ends.items()):
            records += len(consumer.poll(2.0))
        return records
