"""Outages of brokers while an app runs: it waits, reports it, and continues without loss."""

import io
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tools.brokers import free_port

from moldau.client.admin import Admin
from moldau.client.cluster import Cluster
from moldau.client.consumer import Consumer
from moldau.client.offsets import EARLIEST
from moldau.client.producer import Producer
from moldau.ids import TopicPartition
from moldau.spark.errors import PipelineError
from moldau.streams import LONG, App
from moldau.streams.outages import BrokerWatch, Patience
from moldau.streams.progress import QueryProgress
from moldau.streams.progress_view import ProgressView, Report
from tests.running import RunningBroker

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

WAIT_S = 240


class Comings:
    """A broker that goes away and comes back to the same address."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        # Not one of those that outgoing connections get: one of them could have it meanwhile.
        self.bootstrap = f"127.0.0.1:{free_port()}"
        self.return_()

    def leave(self) -> None:
        self._broker.stop()

    def return_(self) -> None:
        listeners = f"PLAINTEXT://{self.bootstrap},CONTROLLER://127.0.0.1:0"
        settings = {"listeners": listeners, "advertised.listeners": f"PLAINTEXT://{self.bootstrap}"}
        self._broker = RunningBroker(self._folder, settings).start()

    def send(self, *values: int) -> None:
        with Producer(self.bootstrap) as producer:
            for value in values:
                producer.send("numbers", LONG.dumps(value))


@pytest.fixture
def comings(tmp_path: Path) -> Iterator[Comings]:
    broker = Comings(tmp_path / "data")
    with Admin(broker.bootstrap) as admin:
        admin.create_topic("numbers", 1)
    yield broker
    broker.leave()


class Seen:
    """The progress of an app, to wait for."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._last: QueryProgress | None = None

    def __call__(self, progress: Sequence[QueryProgress], elapsed_s: float) -> None:
        with self._changed:
            self._last = progress[0]
            self._changed.notify_all()

    def until(self, holds: Callable[[QueryProgress], bool]) -> QueryProgress:
        with self._changed:
            assert self._changed.wait_for(
                lambda: self._last is not None and holds(self._last), WAIT_S
            ), self._last
            assert self._last is not None
            return self._last


@contextmanager
def running(app: App, seen: Seen, patience_s: float | None = None) -> Iterator[None]:
    with ThreadPoolExecutor(1) as pool:
        result = pool.submit(
            app.run, report="none", interval_s=0.1, on_progress=seen, patience_s=patience_s
        )
        try:
            yield
        finally:
            app.stop()
            result.result(WAIT_S)


def copying(comings: Comings, folder: Path) -> App:
    # A query gives up after a second, which takes half a minute for users.
    hasty = {"kafka.request.timeout.ms": "1000"}
    app = App(
        "copying",
        bootstrap=comings.bootstrap,
        checkpoint_dir=folder / "checkpoints",
        source_options=hasty,
        sink_options=hasty,
    )
    app.stream("numbers", value=LONG).to("copied", value=LONG)
    return app


def copied(comings: Comings, count: int) -> list[int]:
    partition = TopicPartition("copied", 0)
    found: list[int] = []
    with Consumer(comings.bootstrap) as consumer:
        consumer.assign(consumer.offsets_at({partition: EARLIEST}))
        while len(found) < count:
            found.extend(LONG.loads(record.value or b"") for record in consumer.poll(1.0))
    return found


def test_an_app_outlives_an_outage_that_its_queries_do_not(
    spark: "SparkSession", comings: Comings, tmp_path: Path
) -> None:
    app, seen = copying(comings, tmp_path), Seen()
    comings.send(1, 2)
    with running(app, seen):
        seen.until(lambda progress: progress.records == 2)
        comings.leave()
        # The query ends, and is started again when the broker is back.
        away = seen.until(lambda each: each.away_s is not None and not spark.streams.active)
        assert away.lag is None
        assert f"{comings.bootstrap}: " in (away.away_reason or "")
        comings.return_()
        comings.send(3)
        back = seen.until(lambda progress: progress.records == 3)
        assert back.away_s is None
    assert copied(comings, 3) == [1, 2, 3]


def test_patience_comes_to_its_end(comings: Comings) -> None:
    with closing(Cluster(comings.bootstrap, timeout_s=5)) as cluster:
        brokers = BrokerWatch(cluster)
        brokers.ask()
        assert brokers.outage is None
        comings.leave()
        brokers.ask()
        assert brokers.outage is not None
        comings.return_()
    patience = Patience(brokers, threading.Event(), patience_s=0.2)
    with pytest.raises(PipelineError, match=r"(?s)gone; after .* the patience of 0.2 s is over"):
        for _ in patience.wait("gone"):
            pass


def test_a_stop_ends_all_patience() -> None:
    stopping = threading.Event()
    brokers = BrokerWatch(Cluster("127.0.0.1:1"))
    brokers.answers.clear()
    for _ in Patience(brokers, stopping, patience_s=None).wait("gone"):
        stopping.set()


def test_an_outage_is_shown_instead_of_a_lag() -> None:
    progress = QueryProgress("copy", batch_id=3, lag=0).without_brokers(12.3, "refused")
    lines, table = io.StringIO(), io.StringIO()
    ProgressView("shop", Report.LINES, lines).show([progress], 60.0, 0)
    ProgressView("shop", Report.TABLE, table).show([progress, progress], 60.0, 0)
    assert lines.getvalue() == "00:00:00 copy: waiting for brokers for 12 s: refused\n"
    assert table.getvalue().splitlines()[:2] == [
        "shop: running for 60 s (Ctrl-C stops it)",
        "waiting for brokers for 12 s: refused",
    ]
