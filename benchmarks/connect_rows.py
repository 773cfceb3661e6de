"""The file connectors on Moldau's Connect worker and on Apache Kafka's, alternately.

Both workers run at the same time on one broker, which is Moldau, with the same settings: so
"Moldau" in the table means ``moldau connect worker`` here, and "Apache Kafka" means its
ConnectDistributed. A connector has all its lines or records before it starts. The rate is that
from a tenth of them to the last, so it is without the start of the connector; the seconds from the
request to the last record are with it.
"""

import contextlib
import shutil
import tempfile
import time
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from tools.brokers import Broker

from benchmarks.clients import encode_records, raw_produce
from benchmarks.connect_workers import (
    ApacheWorker,
    MoldauWorker,
    Worker,
    kafka_plugin,
    worker_settings,
)
from benchmarks.meter import usage
from benchmarks.rows import Figures, Workbench
from moldau.client.admin import Admin
from moldau.client.offsets import LATEST
from moldau.ids import TopicPartition

SIDES = {"moldau": "moldau", "kafka": "kafka"}
LINE_BYTES = 100
BATCH_LINES = 150
# Of the bytes of other rows: a worker takes several times as long as a broker.
SHARE = 3
# Even in a quick run there must be more than one batch.
LEAST_BYTES = 60_000_000
# A tenth of the records: what comes before is the start.
WARM_SHARE = 0.1
STEP_S = 0.01
LIMIT_S = 300.0
SOURCE = "org.apache.kafka.connect.file.FileStreamSourceConnector"
SINK = "org.apache.kafka.connect.file.FileStreamSinkConnector"
TRANSFORM = "org.apache.kafka.connect.transforms."
TRANSFORMS = {
    "transforms": "hoist,insert,rename",
    "transforms.hoist.type": f"{TRANSFORM}HoistField$Value",
    "transforms.hoist.field": "line",
    "transforms.insert.type": f"{TRANSFORM}InsertField$Value",
    "transforms.insert.static.field": "source",
    "transforms.insert.static.value": "benchmark",
    "transforms.rename.type": f"{TRANSFORM}ReplaceField$Value",
    "transforms.rename.renames": "line:text",
}


class ConnectRow(NamedTuple):
    """One measurement on each worker."""

    name: str
    measure: Callable[["ConnectBench", str], Figures]
    targets: Sequence[tuple[str, str, float]]


def connect_rows() -> list[ConnectRow]:
    def source(bench: "ConnectBench", side: str) -> Figures:
        return bench.source(side, {})

    def sink(bench: "ConnectBench", side: str) -> Figures:
        return bench.sink(side, {})

    def transformed_source(bench: "ConnectBench", side: str) -> Figures:
        return bench.source(side, TRANSFORMS)

    def transformed_sink(bench: "ConnectBench", side: str) -> Figures:
        return bench.sink(side, TRANSFORMS)

    return [
        ConnectRow("Connect, file source", source, _at_least(1.5)),
        ConnectRow("Connect, file sink", sink, _at_least(1.0)),
        ConnectRow("Connect, file source with three transforms", transformed_source, _at_least(1)),
        ConnectRow("Connect, file sink with three transforms", transformed_sink, _at_least(1)),
    ]


def _at_least(ratio: float) -> list[tuple[str, str, float]]:
    return [("krec_s", "at least", ratio)]


class ConnectBench:
    """Both workers, and a broker that they share."""

    def __init__(self, bench: Workbench, broker: Broker, folder: Path) -> None:
        self._bench = bench
        self._broker = broker
        self._folder = folder
        size_bytes = max(bench.amounts.throughput_bytes // SHARE, LEAST_BYTES)
        batches = size_bytes // (LINE_BYTES * BATCH_LINES)
        self._count = batches * BATCH_LINES
        self._input: Path | None = None
        self._filled: str | None = None
        self._running = contextlib.ExitStack()
        self._admin = self._running.enter_context(Admin(broker.bootstrap))
        settings = {side: worker_settings(broker.bootstrap, f"bench-{side}") for side in SIDES}
        plugins = [kafka_plugin("connect-file")]
        self._workers: dict[str, Worker] = {
            "moldau": MoldauWorker(folder / "moldau", settings["moldau"]),
            "kafka": ApacheWorker(folder / "kafka", settings["kafka"], plugins),
        }

    def start(self) -> None:
        for worker in self._workers.values():
            self._running.enter_context(worker)

    def close(self) -> None:
        self._running.close()

    def source(self, side: str, settings: Mapping[str, str]) -> Figures:
        """Lines of a file to a topic."""
        path = self._lines()
        with self._bench.topic(self._broker) as topic:
            config = {"connector.class": SOURCE, "file": str(path), "topic": topic, **settings}
            partition = TopicPartition(topic, 0)

            def written() -> int:
                return self._admin.list_offsets({partition: LATEST})[partition].offset

            return self._measured(side, config, written, self._count)

    def sink(self, side: str, settings: Mapping[str, str]) -> Figures:
        """Records of a topic to a file."""
        topic = self._topic()
        path = self._folder / f"{side}-{uuid.uuid4().hex[:8]}.txt"
        path.touch()
        config = {"connector.class": SINK, "file": str(path), "topics": topic, **settings}
        size = len(_transformed(_line(0)) if settings else _line(0)) + 1
        try:
            return self._measured(side, config, lambda: path.stat().st_size // size, self._count)
        finally:
            path.unlink()

    def _measured(
        self, side: str, config: Mapping[str, str], written: Callable[[], int], count: int
    ) -> Figures:
        """Run a connector to its last record. ``written`` tells how many there are."""
        worker = self._workers[side]
        name = f"bench-{uuid.uuid4().hex[:8]}"
        began = time.monotonic()
        worker.create(name, {"tasks.max": "1", **config})
        try:
            at_first = _wait(written, int(count * WARM_SHARE), worker)
            at_last = _wait(written, count, worker)
        finally:
            worker.delete(name)
        if at_last.records != count:
            raise RuntimeError(f"{at_last.records:,} records instead of {count:,}")
        records = at_last.records - at_first.records
        return {
            "krec_s": records / (at_last.time_s - at_first.time_s) / 1000,
            "cpu_s_per_mrec": (at_last.cpu_s - at_first.cpu_s) / (records / 1e6),
            "run_s": at_last.time_s - began,
        }

    def _lines(self) -> Path:
        """The file that sources read."""
        if self._input is None:
            path = self._folder / "lines.txt"
            with path.open("wb") as file:
                for first in range(0, self._count, BATCH_LINES):
                    file.write(b"".join(_line(number) + b"\n" for number in _batch(first)))
            self._input = path
        return self._input

    def _topic(self) -> str:
        """The topic that sinks read, in batches of 16 KB."""
        if self._filled is None:
            topic = self._running.enter_context(self._bench.topic(self._broker))
            batch = encode_records([(None, _line(number)) for number in _batch(0)])
            raw_produce(self._broker.port, topic, batch, self._count // BATCH_LINES)
            self._filled = topic
        return self._filled


class _Moment(NamedTuple):
    records: int
    time_s: float
    cpu_s: float


def _wait(written: Callable[[], int], count: int, worker: Worker) -> _Moment:
    deadline_s = time.monotonic() + LIMIT_S
    while True:
        records, now_s = written(), time.monotonic()
        if records >= count:
            return _Moment(records, now_s, usage(worker.pid).cpu_s)
        if now_s > deadline_s:
            raise RuntimeError(f"{records:,} of {count:,} records after {LIMIT_S:g} s")
        time.sleep(STEP_S)


def _batch(first: int) -> range:
    return range(first, first + BATCH_LINES)


def _line(number: int) -> bytes:
    return b"%012d the quick brown fox jumps over the lazy dog, as often as it takes; %019d." % (
        number,
        number,
    )


def _transformed(line: bytes) -> bytes:
    """A line after the three transforms, as Java prints a struct."""
    return b"Struct{text=%s,source=benchmark}" % line


@contextlib.contextmanager
def connect_bench(bench: Workbench, broker: Broker) -> Iterator[ConnectBench]:
    folder = Path(tempfile.mkdtemp(prefix="moldau-bench-connect-"))
    running = ConnectBench(bench, broker, folder)
    try:
        running.start()
        yield running
    finally:
        running.close()
        shutil.rmtree(folder, ignore_errors=True)
