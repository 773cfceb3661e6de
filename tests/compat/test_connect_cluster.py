"""A worker with ``moldau.master=spark://...`` is the driver; its tasks run in Spark's executors.

Executors and a worker of Spark are killed with -9: connectors start again, and nothing is lost.
"""

import sqlite3
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

import pytest
from tools.brokers import HOST, MoldauBroker

from moldau.client.admin import Admin
from tests.compat.apache_connect import MoldauWorker, distributed_settings
from tests.compat.connect_talk import missing
from tests.compat.spark_cluster import SparkCluster

STRING: Final = "org.apache.kafka.connect.storage.StringConverter"
TRANSFORMS: Final = "org.apache.kafka.connect.transforms"
TOPIC: Final = "lines"
LINES: Final = 1000
LIMIT_S: Final = 300.0


class Place:
    """A cluster of Spark, a worker, and the files of its connectors."""

    def __init__(self, folder: Path, cluster: SparkCluster, worker: MoldauWorker) -> None:
        self.folder = folder
        self.cluster = cluster
        self.worker = worker
        self.written = 0

    def add_lines(self) -> None:
        with (self.folder / "in.txt").open("a") as file:
            file.writelines(f"{self.written + each}\n" for each in range(LINES))
        self.written += LINES

    def create(self, name: str, kind: str, **config: Any) -> None:
        options = {name.replace("_", "."): value for name, value in config.items()}
        body = {"connector.class": kind, **options}
        assert self.worker.status_of("PUT", f"/connectors/{name}/config", body) == 201

    def rows(self) -> list[int]:
        """What the sink that is exactly once has written."""
        with sqlite3.connect(self.folder / "numbers.db", timeout=120) as connection:
            try:
                return [int(text) for (text,) in connection.execute("SELECT value FROM lines")]
            except sqlite3.OperationalError:
                # Not created yet.
                return []

    def copied(self) -> list[int]:
        path = self.folder / "out.txt"
        return [int(text) for text in path.read_text().split()] if path.exists() else []

    def wait_for_all(self) -> None:
        self._until("the table", lambda: len(self.rows()) >= self.written)
        self._until("the file", lambda: len(set(self.copied())) >= self.written)

    def states(self) -> dict[str, list[str]]:
        """The states of the tasks of each connector."""
        found = self.worker.ask("GET", "/connectors?expand=status")[1]
        return {
            name: [task["state"] for task in each["status"]["tasks"]]
            for name, each in found.items()
        }

    def _until(self, what: str, is_so: Callable[[], bool]) -> None:
        deadline_s = time.monotonic() + LIMIT_S
        while not is_so():
            states = self.states()
            is_late = time.monotonic() > deadline_s or ["FAILED"] in states.values()
            log = self.worker.log_path.read_text()[-3000:]
            assert not is_late, f"{what} lacks some of {self.written} lines: {states}\n{log}"
            time.sleep(0.5)


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    reason = missing(apache=False, ours=True)
    if reason is not None:
        pytest.skip(reason)
    with (
        MoldauBroker(tmp_path / "data", {"group.initial.rebalance.delay.ms": "0"}) as broker,
        SparkCluster(tmp_path / "spark") as cluster,
    ):
        with Admin(broker.bootstrap) as admin:
            admin.create_topic(TOPIC, 3)
        settings = {
            **distributed_settings(broker.bootstrap, "cluster"),
            "key.converter": STRING,
            "value.converter": STRING,
            "exactly.once.source.support": "enabled",
            "moldau.master": cluster.master_url,
            # Where executors find the driver.
            "moldau.spark.driver.host": HOST,
            "moldau.trigger.ms": "200",
        }
        with MoldauWorker(tmp_path, settings) as worker:
            yield Place(tmp_path, cluster, worker)


@pytest.mark.timeout(1800)
def test_connectors_run_on_a_cluster_and_survive_its_losses(place: Place) -> None:
    folder = place.folder
    place.add_lines()
    place.create("source", "FileStreamSource", file=f"{folder}/in.txt", topic=TOPIC)
    place.create("copy", "FileStreamSink", file=f"{folder}/out.txt", topics=TOPIC)
    url = f"jdbc:sqlite:{folder}/numbers.db"
    columns = {
        "transforms": "columns",
        "transforms_columns_type": f"{TRANSFORMS}.HoistField$Value",
        "transforms_columns_field": "value",
        "auto_create": "true",
    }
    place.create("table", "io.moldau.connect.JdbcSink", connection_url=url, topics=TOPIC, **columns)
    place.wait_for_all()
    assert sorted(place.rows()) == sorted(place.copied()) == list(range(LINES))

    # Spark's worker starts another executor.
    for _ in range(2):
        place.add_lines()
        place.cluster.kill_executor()
        place.add_lines()
        place.wait_for_all()

    # Its executors end with it, and the other worker has room for one.
    place.cluster.start_worker()
    place.add_lines()
    place.cluster.kill_worker()
    place.add_lines()
    place.wait_for_all()
    assert sorted(place.rows()) == list(range(place.written))
    assert set(place.copied()) == set(range(place.written))
