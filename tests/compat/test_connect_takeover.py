"""Two workers with Spark: one is killed with -9, one is paused; the other goes on for it.

Nothing is shared between them but the topics and what the sinks write to. Each line of the source
must be in the table and in the Parquet files once, whatever a worker does that wakes up too late.
"""

import os
import signal
import sqlite3
import time
from collections.abc import Callable, Iterable
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Final

import pytest
from tools.brokers import MoldauBroker

from moldau.client.admin import Admin
from tests.compat.apache_connect import MoldauWorker, distributed_settings
from tests.compat.connect_talk import missing
from tests.compat.processes import descendants

STRING: Final = "org.apache.kafka.connect.storage.StringConverter"
HOIST: Final = "org.apache.kafka.connect.transforms.HoistField$Value"
TOPIC: Final = "lines"
LINES: Final = 20_000
LIMIT_S: Final = 300.0


class Site:
    """What the workers read and write."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.written = 0

    def configs(self) -> dict[str, dict[str, str]]:
        sink = {
            "topics": TOPIC,
            "transforms": "columns",
            "transforms.columns.type": HOIST,
            "transforms.columns.field": "line",
            # Many batches, so that there is always one that is being written.
            "moldau.batch.max.records": "500",
            # A worker that is paused may hold a lock of the database.
            "moldau.sink.retry.timeout.ms": "-1",
        }
        return {
            "source": {
                "connector.class": "FileStreamSource",
                "file": f"{self.folder}/in.txt",
                "topic": TOPIC,
            },
            "table": {
                **sink,
                "connector.class": "io.moldau.connect.JdbcSink",
                "connection.url": f"jdbc:sqlite:{self.folder}/lines.db",
                "auto.create": "true",
            },
            "files": {
                **sink,
                "connector.class": "io.moldau.connect.ParquetSink",
                "path": f"{self.folder}/lake",
            },
        }

    def add_lines(self) -> None:
        with (self.folder / "in.txt").open("a") as file:
            file.writelines(f"{self.written + each}\n" for each in range(LINES))
        self.written += LINES

    def table(self) -> list[int]:
        with sqlite3.connect(self.folder / "lines.db", timeout=60) as connection:
            try:
                return [int(text) for (text,) in connection.execute("SELECT line FROM lines")]
            except sqlite3.OperationalError:
                # Not created yet.
                return []

    def files(self) -> list[int]:
        import pyarrow.dataset as ds

        path = self.folder / "lake" / TOPIC
        if not path.exists():
            return []
        return [int(text) for text in ds.dataset(path).to_table(["line"])["line"].to_pylist()]

    def check(self) -> None:
        """Each line is there once."""
        for what, found in (("table", self.table()), ("files", self.files())):
            assert sorted(found) == list(range(self.written)), f"{what}: {len(found)} lines"


def until(what: str, worker: MoldauWorker, is_so: Callable[[], bool]) -> None:
    deadline_s = time.monotonic() + LIMIT_S
    while not is_so():
        log = worker.log_path.read_text()[-3000:]
        assert time.monotonic() < deadline_s, f"not within {LIMIT_S:g} s: {what}\n{log}"
        time.sleep(0.3)


def make_worker(folder: Path, name: str, settings: dict[str, str]) -> MoldauWorker:
    own = folder / name
    own.mkdir()
    return MoldauWorker(own, settings)


def runs_on(worker: MoldauWorker, names: Iterable[str]) -> bool:
    """Whether ``worker`` says that it runs these connectors."""
    here = f"127.0.0.1:{worker.port}"
    for name in names:
        status, found = worker.ask("GET", f"/connectors/{name}/status")
        if status != 200 or [each["state"] for each in found["tasks"]] != ["RUNNING"]:
            return False
        if {found["connector"]["worker_id"], found["tasks"][0]["worker_id"]} != {here}:
            return False
    return True


def signal_all(worker: MoldauWorker, number: int) -> None:
    for pid in (worker.pid, *descendants(worker.pid)):
        # Processes of Spark come and go.
        with suppress(ProcessLookupError):
            os.kill(pid, number)


@pytest.mark.timeout(2400)
def test_a_standby_takes_over_and_nothing_is_lost_or_doubled(tmp_path: Path) -> None:
    reason = missing(apache=False, ours=True)
    if reason is not None:
        pytest.skip(reason)
    site = Site(tmp_path)
    names = sorted(site.configs())
    broker_settings = {"group.initial.rebalance.delay.ms": "0"}
    with MoldauBroker(tmp_path / "data", broker_settings) as broker:
        with Admin(broker.bootstrap) as admin:
            admin.create_topic(TOPIC, 3)
        settings = {
            **distributed_settings(broker.bootstrap, "takeover"),
            "key.converter": STRING,
            "value.converter": STRING,
            "exactly.once.source.support": "enabled",
            "moldau.trigger.ms": "200",
        }
        first, second, third = (
            make_worker(tmp_path, name, settings) for name in ("first", "second", "third")
        )
        with first, second, ExitStack() as later:
            site.add_lines()
            for name, config in site.configs().items():
                # Through the standby.
                assert second.status_of("PUT", f"/connectors/{name}/config", config) == 201
            until("some are written", first, lambda: bool(site.table() and site.files()))
            first.kill()
            until("the second has taken over", second, lambda: runs_on(second, names))
            site.add_lines()
            until("all are in the table", second, lambda: len(site.table()) >= site.written)
            until("all are in files", second, lambda: len(site.files()) >= site.written)
            site.check()

            later.callback(third.stop)
            third.start()
            site.add_lines()
            before = len(site.files())
            until("more is written", second, lambda: len(site.files()) > before)
            signal_all(second, signal.SIGSTOP)
            try:
                until("the third has taken over", third, lambda: runs_on(third, names))
                site.add_lines()
                until("it writes", third, lambda: len(site.files()) >= site.written)
            finally:
                signal_all(second, signal.SIGCONT)
            until("all are in the table", third, lambda: len(site.table()) >= site.written)
            lost = f"Group {settings['group.id']} of workers is lost"
            until("the second knows", second, lambda: lost in second.log_path.read_text())
            # It is a standby again, which forwards.
            until("it stands by", second, lambda: second.status_of("GET", "/health") == 200)
            assert second.status_of("POST", "/connectors/files/restart?includeTasks=true") == 202
            site.add_lines()
            until("all are in the table", third, lambda: len(site.table()) >= site.written)
            until("all are in files", third, lambda: len(site.files()) >= site.written)
            until("the third still runs them", third, lambda: runs_on(third, names))
            site.check()
