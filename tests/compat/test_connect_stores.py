"""Connect's internal topics, written by Apache's worker and by ours, and read by both.

Every record that Apache's worker writes is decoded and encoded again here, byte for byte. Then ours
takes over the topics, changes something, and Apache's goes on with that.
"""

import json
from pathlib import Path
from typing import Any

import pytest

from moldau.client.consumer import Consumer, ConsumerRecord
from moldau.client.offsets import LATEST
from moldau.connect.data.errors import ConnectError
from moldau.connect.engine_api import Listener
from moldau.connect.plugins import Plugins
from moldau.connect.stores import config_records, offset_records, status_records
from moldau.connect.stores.config_records import RestartRequest, TargetState
from moldau.connect.stores.offset_file import OffsetFile
from moldau.connect.stores.offset_store import OffsetStore
from moldau.connect.stores.status_records import Status, TopicStatus
from moldau.connect.worker import Worker
from moldau.connect.worker_config import WorkerConfig
from tests.compat.apache_connect import ApacheWorker, distributed_settings, file_connectors
from tests.compat.clients.programs import UnavailableError
from tests.connect.herding import Herding, NoRest, NotingEngine, valid

FILE_SOURCE = "org.apache.kafka.connect.file.FileStreamSourceConnector"
FILE_SINK = "org.apache.kafka.connect.file.FileStreamSinkConnector"


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    try:
        file_connectors()
    except UnavailableError as reason:
        pytest.skip(str(reason))
    return tmp_path_factory.mktemp("connect")


@pytest.fixture(scope="module")
def settings(bootstrap: str, directory: Path) -> dict[str, str]:
    """With transactions, so that every kind of record is written."""
    common = distributed_settings(bootstrap, f"stores-{directory.name}".lower())
    return {**common, "exactly.once.source.support": "enabled"}


@pytest.fixture(scope="module")
def written(settings: dict[str, str], directory: Path) -> dict[str, list[ConsumerRecord]]:
    """The records of the internal topics after Apache's worker has had some work."""
    (directory / "in.txt").write_text("one\ntwo\n")
    with ApacheWorker(directory, settings) as worker:
        _work(worker, directory)
    return {
        each: _records(settings["bootstrap.servers"], settings[f"{each}.storage.topic"])
        for each in ("config", "offset", "status")
    }


def _work(worker: ApacheWorker, directory: Path) -> None:
    source = {
        "connector.class": FILE_SOURCE,
        "file": str(directory / "in.txt"),
        "topic": "stores-lines",
        "tasks.max": "1",
        "odd": 'žluť \t"quoted" \\ / \u0001',
    }
    sink = {
        "connector.class": "FileStreamSink",
        "file": str(directory / "out.txt"),
        "topics": "stores-lines",
        "tasks.max": "2",
    }
    broken = {"connector.class": FILE_SOURCE, "file": str(directory / "x"), "topic": "a b"}
    assert worker.status_of("POST", "/connectors", {"name": "a-source", "config": source}) == 201
    body = {"name": "a-sink", "config": sink, "initial_state": "STOPPED"}
    assert worker.status_of("POST", "/connectors", body) == 201
    assert worker.status_of("PUT", "/connectors/broken/config", broken) == 201
    worker.wait_for_state("a-source", "RUNNING", ["RUNNING"])
    worker.wait_for_state("a-sink", "STOPPED", [])
    (directory / "x").write_text("goes nowhere\n")
    worker.wait_for_state("broken", "RUNNING", ["FAILED"])
    assert worker.status_of("PUT", "/connectors/a-sink/resume") == 202
    worker.wait_for_state("a-sink", "RUNNING", ["RUNNING", "RUNNING"])
    worker.wait(lambda: bool(worker.ask("GET", "/connectors/a-source/offsets")[1]["offsets"]))
    worker.wait(lambda: "kafka_offset" in str(worker.ask("GET", "/connectors/a-sink/offsets")))
    assert worker.status_of("POST", "/connectors/a-sink/restart?includeTasks=true") == 202
    assert worker.status_of("PUT", "/connectors/a-sink/pause") == 202
    worker.wait_for_state("a-sink", "PAUSED", ["PAUSED", "PAUSED"])
    level = {"level": "WARN"}
    assert worker.status_of("PUT", "/admin/loggers/org.eclipse?scope=cluster", level) == 204
    assert worker.status_of("DELETE", "/connectors/broken") == 204
    worker.wait(lambda: worker.status_of("GET", "/connectors/broken/status") == 404)


def _records(bootstrap: str, topic: str) -> list[ConsumerRecord]:
    with Consumer(bootstrap) as consumer:
        partitions = consumer.partitions_of(topic)
        ends = consumer.offsets_at(dict.fromkeys(partitions, LATEST))
        consumer.assign(dict.fromkeys(partitions, 0))
        found: list[ConsumerRecord] = []
        while any(consumer.positions[each] < end for each, end in ends.items()):
            found += consumer.poll(1.0)
        return found


def _encode_config(key: str, value: Any) -> list[config_records.Record]:
    """The record again, from its content."""
    for prefix in (config_records.TARGET_STATE, config_records.CONNECTOR):
        if key.startswith(prefix) and value is None:
            return config_records.removal(key.removeprefix(prefix))
    if key.startswith(config_records.TARGET_STATE):
        name = key.removeprefix(config_records.TARGET_STATE)
        return [config_records.target_state(name, TargetState(value["state.v2"]))]
    if key.startswith(config_records.CONNECTOR):
        name = key.removeprefix(config_records.CONNECTOR)
        return [config_records.connector_config(name, value["properties"])]
    if key.startswith(config_records.TASK):
        name, _, number = key.removeprefix(config_records.TASK).rpartition("-")
        configs = [{}] * int(number) + [value["properties"]]
        return config_records.task_configs(name, configs)
    if key.startswith(config_records.COMMIT):
        name = key.removeprefix(config_records.COMMIT)
        return config_records.task_configs(name, [{}] * value["tasks"])
    if key.startswith(config_records.RESTART):
        name = key.removeprefix(config_records.RESTART)
        request = RestartRequest(name, value["include-tasks"], value["only-failed"])
        return [config_records.restart_request(request)]
    if key.startswith(config_records.FENCING):
        name = key.removeprefix(config_records.FENCING)
        return [config_records.task_count(name, value["task-count"])]
    assert key.startswith(config_records.LOGGER), key
    name = key.removeprefix(config_records.LOGGER)
    return [config_records.logger_level(name, value["level"])]


def test_every_kind_of_config_record_is_encoded_as_apaches_worker_does(
    written: dict[str, list[ConsumerRecord]],
) -> None:
    kinds = set()
    for record in written["config"]:
        key = (record.key or b"").decode()
        if key == config_records.SESSION_KEY:
            continue
        value = None if record.value is None else json.loads(record.value)
        assert (record.key, record.value) in _encode_config(key, value), key
        kinds.add((key.split("-")[0], value is None))
    assert kinds == {
        ("connector", False),
        ("connector", True),
        ("target", False),
        ("target", True),
        ("task", False),
        ("commit", False),
        ("restart", False),
        ("logger", False),
        ("tasks", False),
    }


def test_every_kind_of_status_record_is_encoded_as_apaches_worker_does(
    written: dict[str, list[ConsumerRecord]],
) -> None:
    states, topics = set(), 0
    for record in written["status"]:
        key = (record.key or b"").decode()
        if record.value is None:
            continue
        value = json.loads(record.value)
        if key.startswith(status_records.TOPIC):
            content = value["topic"]
            status = TopicStatus(
                content["name"], content["connector"], content["task"], content["discoverTimestamp"]
            )
            assert status_records.topic_status(status) == (record.key, record.value)
            topics += 1
            continue
        state = Status(
            value["state"],
            value["worker_id"],
            value["generation"],
            value["trace"],
            value["version"],
        )
        states.add(state.state)
        if key.startswith(status_records.CONNECTOR):
            name = key.removeprefix(status_records.CONNECTOR)
            encoded = status_records.connector_status(name, state)
        else:
            name, _, number = key.removeprefix(status_records.TASK).rpartition("-")
            encoded = status_records.task_status(name, int(number), state)
        assert encoded == (record.key, record.value)
    assert topics >= 1
    assert {"RUNNING", "PAUSED", "STOPPED", "FAILED", "UNASSIGNED"} <= states


def test_offsets_are_encoded_as_apaches_worker_does(
    written: dict[str, list[ConsumerRecord]], directory: Path
) -> None:
    found = []
    for record in written["offset"]:
        decoded = offset_records.decode(record.key, record.value)
        assert decoded is not None
        assert offset_records.encode(*decoded) == (record.key, record.value)
        found.append(decoded)
    last = found[-1]
    assert last.connector == "a-source"
    assert last.partition == {"filename": str(directory / "in.txt")}
    assert last.offset == {"position": 8}


class _Ours(Herding):
    """Our worker on Apache's properties, with an engine that only notes what it is asked."""

    def __init__(self, settings: dict[str, str]) -> None:
        self.levels = []
        self.worker = Worker(
            WorkerConfig.from_properties(settings, distributed=True),
            plugins=Plugins(),
            make_engine=self._make_engine,
            make_rest=lambda herder, config: NoRest(8083),
            validate=valid,
            on_logger_level=lambda name, level: None,
        )

    def _make_engine(
        self, config: WorkerConfig, listener: Listener, offsets: OffsetStore
    ) -> NotingEngine:
        self.engine = NotingEngine(listener)
        return self.engine


@pytest.mark.usefixtures("written")
def test_ours_takes_over_and_apaches_goes_on_with_what_ours_changed(
    settings: dict[str, str], directory: Path
) -> None:
    ours = _Ours(settings).start()
    herder = ours.herder
    assert herder.connectors() == ["a-sink", "a-source"]
    ours.wait_for_state("a-source", "RUNNING")
    ours.wait_for_state("a-sink", "PAUSED")
    assert ours.engine.running() == ["a-source"]
    assert herder.offsets("a-source") == {
        "offsets": [
            {"partition": {"filename": str(directory / "in.txt")}, "offset": {"position": 8}}
        ]
    }
    partition = {"kafka_topic": "stores-lines", "kafka_partition": 0}
    assert herder.offsets("a-sink") == {
        "offsets": [{"partition": partition, "offset": {"kafka_offset": 2}}]
    }
    # Back to the first line for the source; the sink goes on with another file.
    herder.stop("a-source")
    ours.wait_for_state("a-source", "STOPPED", [])
    source_partition = {"filename": str(directory / "in.txt")}
    herder.alter_offsets("a-source", [{"partition": source_partition, "offset": {"position": 4}}])
    herder.patch_config("a-sink", {"file": str(directory / "second.txt")})
    herder.resume("a-sink")
    ours.wait_for_state("a-sink", "RUNNING")
    ours.stop()

    with ApacheWorker(directory, settings) as apache:
        apache.wait_for_state("a-sink", "RUNNING", ["RUNNING", "RUNNING"])
        apache.wait_for_state("a-source", "STOPPED", [])
        assert apache.status_of("PUT", "/connectors/a-source/resume") == 202
        apache.wait_for_state("a-source", "RUNNING", ["RUNNING"])
        second = directory / "second.txt"
        # The second line once more, and none before it.
        apache.wait(lambda: second.exists() and second.read_text() == "two\n")


@pytest.mark.usefixtures("written")
def test_a_group_is_not_shared_with_apaches_workers(
    settings: dict[str, str], directory: Path
) -> None:
    impatient = {**settings, "rebalance.timeout.ms": "2000"}
    with ApacheWorker(directory, settings) as apache:
        ours = _Ours(impatient)
        ours.worker.start()
        with pytest.raises(ConnectError, match="in use by members that are not Moldau's workers"):
            ours.worker.wait()
        assert ours.engine.running() == []
        ours.stop()
        # Nothing happened to the other.
        apache.wait_for_state("a-sink", "RUNNING", ["RUNNING", "RUNNING"])


def test_standalone_workers_go_on_with_each_others_offsets(
    bootstrap: str, directory: Path, tmp_path: Path
) -> None:
    lines, offsets = tmp_path / "in.txt", tmp_path / "connect.offsets"
    lines.write_text("one\ntwo\n")
    worker_settings = {
        "bootstrap.servers": bootstrap,
        "key.converter": "org.apache.kafka.connect.storage.StringConverter",
        "value.converter": "org.apache.kafka.connect.storage.StringConverter",
        "offset.storage.file.filename": str(offsets),
        "offset.flush.interval.ms": "200",
    }
    topic = f"standalone-{tmp_path.name}"
    source = {
        "name": "lines",
        "connector.class": FILE_SOURCE,
        "file": str(lines),
        "topic": topic,
    }
    with ApacheWorker(tmp_path, worker_settings, [source], distributed=False) as apache:
        apache.wait_for_state("lines", "RUNNING", ["RUNNING"])
        apache.wait(offsets.exists)
    store = OffsetStore(OffsetFile(str(offsets)))
    store.start()
    partition = {"filename": str(lines)}
    assert store.read("lines") == [(partition, {"position": 8})]
    # The second line once more.
    store.write("lines", [(partition, {"position": 4})])
    with ApacheWorker(tmp_path, worker_settings, [source], distributed=False) as apache:
        apache.wait(lambda: len(_records(bootstrap, topic)) == 3)
    values = [each.value for each in _records(bootstrap, topic)]
    assert values == [b"one", b"two", b"two"]
