"""One broker and one Spark session for all tests here; topics have unique names.

A session takes seconds to start and a query at least one, so only tests of Spark itself use it.
The parts of the source are tested with the broker alone.
"""

import itertools
import os
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from typing import TYPE_CHECKING

import pytest

from moldau.client.admin import Admin
from moldau.client.producer import Producer
from moldau.spark.errors import PipelineError
from moldau.spark.java import find_java, wheel_home

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from tests.running import RunningBroker

NewTopic = Callable[..., str]


@pytest.fixture(scope="session")
def pipeline_broker(tmp_path_factory: pytest.TempPathFactory) -> "Iterator[RunningBroker]":
    from tests.running import RunningBroker

    settings = {
        # Nobody else will join a group: no need to wait for them.
        "group.initial.rebalance.delay.ms": "0",
        # Records that tests date back are not to go in the middle of one.
        "log.retention.ms": "-1",
    }
    with RunningBroker(tmp_path_factory.mktemp("pipeline") / "data", settings) as running:
        yield running


@pytest.fixture(scope="session")
def bootstrap(pipeline_broker: "RunningBroker") -> str:
    return pipeline_broker.bootstrap


@pytest.fixture(scope="session")
def new_topic(bootstrap: str) -> NewTopic:
    """Makes a topic; given numbers, each partition gets so many records a second apart.

    The values say where they are: ``0:17`` is at offset 17 of partition 0.
    """
    numbers = itertools.count()

    def make(*records: int, configs: dict[str, str] | None = None) -> str:
        name = f"topic-{next(numbers)}"
        with Admin(bootstrap) as admin:
            admin.create_topic(name, max(1, len(records)), configs=configs)
        with Producer(bootstrap, batch_size=200) as producer:
            for partition, count in enumerate(records):
                for offset in range(count):
                    value = b"%d:%d" % (partition, offset)
                    moment = 1_700_000_000_000 + 1000 * offset
                    producer.send(name, value, partition=partition, timestamp=moment)
        return name

    return make


@pytest.fixture(scope="session")
def spark() -> "Iterator[SparkSession]":
    """A session as users get it; skips where PySpark or Java are not there."""
    if find_spec("pyspark") is None or find_spec("pyarrow") is None:
        pytest.skip("PySpark is not installed (pip install 'moldau[spark]')")
    try:
        find_java(os.environ, wheel_home())
    except PipelineError as reason:
        pytest.skip(str(reason))
    from moldau.spark import session

    running = session("tests", master="local[2]")
    yield running
    running.stop()
