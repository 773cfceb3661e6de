"""Connectors move from Apache's worker to ours and back, with their progress.

Both workers have the same properties file, but for the port. What was read is not read again, what
was written is not written again, and nothing is left out.
"""

import random
import time
from functools import partial
from pathlib import Path

import pytest

from moldau.client.consumer import Consumer
from moldau.client.offsets import LATEST
from tests.compat.apache_connect import (
    ApacheWorker,
    CompatWorker,
    MoldauWorker,
    distributed_settings,
    file_connectors,
)
from tests.compat.clients.programs import UnavailableError

KILLS = 3
LINES = 20_000
SOURCE = "org.apache.kafka.connect.file.FileStreamSourceConnector"
SINK = "org.apache.kafka.connect.file.FileStreamSinkConnector"


@pytest.fixture(autouse=True)
def _needs_the_file_connectors() -> None:
    pytest.importorskip("pyspark", reason="PySpark is not installed")
    try:
        file_connectors()
    except UnavailableError as reason:
        pytest.skip(str(reason))


def add_lines(path: Path, first: int, last: int) -> None:
    with path.open("a") as file:
        file.writelines(f"line {number}\n" for number in range(first, last))


def lines(first: int, last: int) -> list[str]:
    return [f"line {number}" for number in range(first, last)]


def wait_for_lines(worker: CompatWorker, path: Path, count: int) -> list[str]:
    """The lines of the sink's file, once there are that many and they are committed."""
    worker.wait(lambda: path.exists() and len(path.read_text().splitlines()) >= count)

    def is_committed() -> bool:
        _, found = worker.ask("GET", "/connectors/swap-sink/offsets")
        return bool(found["offsets"]) and found["offsets"][0]["offset"]["kafka_offset"] >= count

    worker.wait(is_committed)
    return path.read_text().splitlines()


def source_position(worker: CompatWorker) -> int:
    _, found = worker.ask("GET", "/connectors/swap-source/offsets")
    return int(found["offsets"][0]["offset"]["position"]) if found["offsets"] else 0


def has_moved(worker: CompatWorker, position: int) -> bool:
    return source_position(worker) > position


def test_a_connector_goes_on_with_ours_and_then_with_apaches_again(
    bootstrap: str, tmp_path: Path
) -> None:
    settings = distributed_settings(bootstrap, f"swap-{tmp_path.name}")
    source, sink = tmp_path / "in.txt", tmp_path / "out.txt"
    add_lines(source, 0, 100)
    configs = {
        "swap-source": {"connector.class": SOURCE, "file": str(source), "topic": "swapped"},
        "swap-sink": {"connector.class": SINK, "file": str(sink), "topics": "swapped"},
    }
    with ApacheWorker(tmp_path, settings) as apache:
        for name, config in configs.items():
            assert apache.status_of("PUT", f"/connectors/{name}/config", config) == 201
        assert wait_for_lines(apache, sink, 100) == lines(0, 100)
        apache.wait(lambda: source_position(apache) == source.stat().st_size)

    add_lines(source, 100, 200)
    with MoldauWorker(tmp_path, settings) as ours:
        assert ours.ask("GET", "/connectors")[1] == sorted(configs)
        assert wait_for_lines(ours, sink, 200) == lines(0, 200)
        ours.wait(lambda: source_position(ours) == source.stat().st_size)
        status = ours.ask("GET", "/connectors/swap-source/status")[1]
        assert status["connector"]["worker_id"] == f"127.0.0.1:{ours.port}"

    add_lines(source, 200, 300)
    with ApacheWorker(tmp_path, settings) as apache:
        assert wait_for_lines(apache, sink, 300) == lines(0, 300)


def committed_values(bootstrap: str, topic: str) -> list[str]:
    with Consumer(bootstrap, read_committed=True) as consumer:
        partitions = consumer.partitions_of(topic)
        consumer.assign(dict.fromkeys(partitions, 0))
        ends = consumer.offsets_at(dict.fromkeys(partitions, LATEST))
        found: list[str] = []
        while any(consumer.positions[each] < end for each, end in ends.items()):
            found += [(each.value or b"").decode() for each in consumer.poll(1.0)]
        return found


def test_a_source_writes_every_line_once_although_its_worker_is_killed(
    bootstrap: str, tmp_path: Path
) -> None:
    settings = {
        **distributed_settings(bootstrap, f"killed-{tmp_path.name}"),
        "value.converter": "org.apache.kafka.connect.storage.StringConverter",
        "exactly.once.source.support": "enabled",
        "session.timeout.ms": "6000",
        "moldau.trigger.ms": "200",
    }
    rng = random.Random(16)
    source, topic = tmp_path / "in.txt", f"killed-{tmp_path.name}"
    config = {
        "connector.class": SOURCE,
        "file": str(source),
        "topic": topic,
        "batch.size": "100",
        "exactly.once.support": "required",
    }
    written = 0
    worker = MoldauWorker(tmp_path, settings)
    try:
        for kill in range(KILLS + 1):
            worker.start()
            if kill == 0:
                assert worker.status_of("PUT", "/connectors/swap-source/config", config) == 201
            add_lines(source, written, written + LINES)
            written += LINES
            if kill < KILLS:
                # In the middle of its work: when some of the new lines are there, or a bit later.
                seen = source_position(worker)
                worker.wait(partial(has_moved, worker, seen))
                time.sleep(rng.random() / 4)
                worker.kill()
        worker.wait(lambda: source_position(worker) == source.stat().st_size)
        assert committed_values(bootstrap, topic) == lines(0, written)
    finally:
        worker.stop()
