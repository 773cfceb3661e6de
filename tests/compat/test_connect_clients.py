"""Clients of Connect's REST API that nobody here wrote, against our worker.

With ``COMPAT_CONNECT=apache`` they talk to Apache's worker, which shows that the tests are right.
"""

import json
import os
import subprocess
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from tools.brokers import HOST, PROJECT, MoldauBroker

from tests.compat.apache_connect import (
    ApacheWorker,
    CompatWorker,
    MoldauWorker,
    distributed_settings,
)
from tests.compat.clients.programs import UnavailableError, compile_java, require
from tests.compat.connect_requests import JSON
from tests.compat.connect_talk import ask, eventually, missing, wait_for_state, wait_for_topics

IS_APACHE = os.environ.get("COMPAT_CONNECT") == "apache"


@pytest.fixture(scope="module")
def worker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[CompatWorker]:
    if lacking := missing(apache=IS_APACHE, ours=not IS_APACHE):
        pytest.skip(lacking)
    folder = tmp_path_factory.mktemp("connect")
    kind = ApacheWorker if IS_APACHE else MoldauWorker
    with (
        MoldauBroker(folder / "data") as broker,
        kind(folder, distributed_settings(broker.bootstrap, "clients")) as running,
    ):
        yield running


@pytest.fixture
def config(tmp_path: Path) -> dict[str, Any]:
    lines = tmp_path / "lines.txt"
    lines.write_text("one\ntwo\n")
    return {
        "connector.class": "FileStreamSource",
        "file": str(lines),
        "topic": "lines",
        "tasks.max": 1,
    }


def test_kafka_connect_py(worker: CompatWorker, config: dict[str, Any]) -> None:
    library = pytest.importorskip("kafka_connect", reason="kafka-connect-py is not installed")
    requests = pytest.importorskip("requests")
    client = library.KafkaConnect(url=f"http://{HOST}:{worker.port}")
    assert set(client.get_cluster_info()) == {"version", "commit", "kafka_cluster_id"}
    assert client.list_connectors() == []

    created = client.create_connector({"name": "one", "config": config})
    assert (created["name"], created["type"]) == ("one", "source")
    with pytest.raises(requests.HTTPError, match="409"):
        client.create_connector({"name": "one", "config": config})
    wait_for_state(worker.port, "one", "RUNNING", 1)
    assert client.get_connector_status("one")["tasks"][0]["state"] == "RUNNING"
    assert list(client.list_connectors(expand="info", pattern="o.e", state="RUNNING")) == ["one"]
    assert client.get_connector("one")["config"] == client.get_connector_config("one")

    updated = client.update_connector("one", {**config, "batch.size": 10})
    assert updated["config"]["batch.size"] == "10"
    wait_for_state(worker.port, "one", "RUNNING", 1)
    assert client.list_connector_tasks("one")[0]["id"] == {"connector": "one", "task": 0}
    assert client.get_connector_task_status("one", 0)["id"] == 0
    wait_for_topics(worker.port, "one")
    assert client.list_connector_topics("one") == {"one": {"topics": ["lines"]}}
    client.reset_connector_topics("one")

    client.pause_connector("one")
    wait_for_state(worker.port, "one", "PAUSED", 1)
    client.resume_connector("one")
    wait_for_state(worker.port, "one", "RUNNING", 1)
    assert client.restart_connector("one") is None
    assert client.restart_connector("one", include_tasks=True)["name"] == "one"
    client.restart_connector_task("one", 0)
    wait_for_state(worker.port, "one", "RUNNING", 1)
    client.stop_connector("one")
    wait_for_state(worker.port, "one", "STOPPED", 0)

    classes = [each["class"] for each in client.list_connector_plugins()]
    assert "org.apache.kafka.connect.file.FileStreamSourceConnector" in classes
    result = client.validate_connector_config("FileStreamSource", config)
    assert result["error_count"] == 1  # The name is missing.
    client.delete_connector("one")
    eventually(lambda: client.list_connectors() == [], "the connector is gone")
    with pytest.raises(requests.HTTPError, match="404"):
        client.get_connector("one")


def test_kafka_connect_api(worker: CompatWorker, config: dict[str, Any]) -> None:
    library = pytest.importorskip(
        "kafka_connect_api.kafka_connect_api", reason="kafka-connect-api is not installed"
    )
    cluster = library.Cluster(library.Api(HOST, port=worker.port))
    assert cluster.version
    assert len(cluster.kafka_cluster) == 22
    assert cluster.connectors == {}

    connector = library.Connector(cluster, "two")
    connector.config = config
    assert connector.exists()
    wait_for_state(worker.port, "two", "RUNNING", 1)
    assert list(cluster.connectors) == ["two"]
    assert connector.connector_class == "FileStreamSource"
    (task,) = connector.tasks
    assert task.is_running()
    assert task.config["topic"] == "lines"
    connector.cycle_connector()
    wait_for_state(worker.port, "two", "RUNNING", 1)
    connector.restart()
    connector.pause()
    wait_for_state(worker.port, "two", "PAUSED", 1)
    connector.resume()
    wait_for_state(worker.port, "two", "RUNNING", 1)

    before = cluster.root_logger["level"]
    cluster.root_logger = "ERROR"
    assert cluster.root_logger["level"] == "ERROR"
    cluster.root_logger = before
    connector.delete()
    eventually(lambda: cluster.connectors == {}, "the connector is gone")


def test_the_same_name_twice_at_once_is_created_once(
    worker: CompatWorker, config: dict[str, Any]
) -> None:
    if IS_APACHE:
        pytest.skip("Apache's worker may answer 201 to several of them")
    body = json.dumps({"name": "same", "config": config, "initial_state": "STOPPED"}).encode()
    barrier = threading.Barrier(4)

    def create(_: int) -> int:
        barrier.wait()
        return ask(worker.port, "POST", "/connectors", body, JSON).status

    with ThreadPoolExecutor(4) as threads:
        assert sorted(threads.map(create, range(4))) == [201, 409, 409, 409]
    assert ask(worker.port, "DELETE", "/connectors/same").status == 204


@pytest.fixture(scope="module")
def java_client(program_dir: Path) -> list[str]:
    """The command of the program with org.sourcelab's client, without its arguments."""
    default = PROJECT / ".cache" / "kafka-connect-client"
    folder = Path(os.environ.get("CONNECT_CLIENT_DIR") or default)
    if not (folder / "READY").exists():
        pytest.skip("kafka-connect-client is not installed: run tools/install-connect-client")
    libraries = str(folder / "jars" / "*")
    try:
        require("java")
        classes = compile_java(program_dir, "ConnectClient", libraries)
    except UnavailableError as reason:
        pytest.skip(str(reason))
    return ["java", "-Xmx200M", "-cp", f"{classes}{os.pathsep}{libraries}", "ConnectClient"]


def test_sourcelabs_java_client(
    worker: CompatWorker, config: dict[str, Any], java_client: list[str]
) -> None:
    url = f"http://{HOST}:{worker.port}"
    done = subprocess.run(
        [*java_client, url, config["file"]], capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == [
        "cluster id has: 22",
        "connectors: []",
        "type: source",
        "twice: 409",
        "tasks: 1",
        "task: RUNNING",
        "expanded: [three]",
        "expanded type: source",
        "updated: 10",
        "topics: [lines]",
        "reset: true",
        "pause: true",
        "resume: true",
        "restart: true",
        "restart tasks: true",
        "restart a task: true",
        "has file source: true",
        "errors: 1",
        "deleted: true",
        "gone: 404",
    ]
