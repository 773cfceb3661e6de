"""A standalone worker: connectors from files, offsets in a file, nothing in internal topics."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from moldau.client.admin import Admin
from moldau.connect.data.errors import ConnectError
from moldau.connect.engine_api import Listener
from moldau.connect.standalone import GivenConnector, create_all
from moldau.connect.stores.offset_store import OffsetStore
from moldau.connect.worker import Worker
from moldau.connect.worker_config import WorkerConfig
from tests.connect.herding import SINK, SOURCE, Herding, NoRest, NotingEngine, plugins, valid
from tests.running import RunningBroker


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningBroker]:
    with RunningBroker(Path(tmp_path_factory.mktemp("broker"))) as running:
        yield running


class Standalone(Herding):
    def __init__(
        self, bootstrap: str, offsets: Path, connectors: Sequence[GivenConnector] = ()
    ) -> None:
        properties = {
            "bootstrap.servers": bootstrap,
            "key.converter": "org.apache.kafka.connect.json.JsonConverter",
            "value.converter": "org.apache.kafka.connect.json.JsonConverter",
            "offset.storage.file.filename": str(offsets),
        }
        self.levels = []
        self.worker = Worker(
            WorkerConfig.from_properties(properties, distributed=False),
            plugins=plugins(),
            make_engine=self._make_engine,
            make_rest=lambda herder, config: NoRest(8083),
            validate=valid,
            on_logger_level=lambda name, level: None,
            on_started=lambda herder: create_all(herder, connectors),
        )

    def _make_engine(
        self, config: WorkerConfig, listener: Listener, offsets: OffsetStore
    ) -> NotingEngine:
        self.engine = NotingEngine(listener)
        self.offsets = offsets
        return self.engine


def test_connectors_of_files_run_and_offsets_stay_in_the_file(
    broker: RunningBroker, tmp_path: Path
) -> None:
    file = tmp_path / "connect.offsets"
    given = [
        GivenConnector("a.properties", "a", {"connector.class": SINK}),
        GivenConnector("b.json", "b", {"connector.class": SOURCE}, "STOPPED"),
    ]
    worker = Standalone(broker.bootstrap, file, given).start()
    worker.wait_for_state("a", "RUNNING")
    worker.wait_for_state("b", "STOPPED", [])
    assert worker.engine.running() == ["a"]
    assert worker.herder.status("a")["connector"]["worker_id"] == "127.0.0.1:8083"
    changes = [{"partition": {"file": "x"}, "offset": {"position": 5}}]
    worker.herder.alter_offsets("b", changes)
    assert worker.offsets.topic is None
    worker.stop()

    again = Standalone(broker.bootstrap, file, given).start()
    again.wait_for_state("b", "STOPPED", [])
    assert again.herder.offsets("b") == {"offsets": changes}
    again.stop()
    with Admin(broker.bootstrap) as admin:
        assert [each.name for each in admin.list_topics()] == []


def test_a_wrong_connector_ends_the_worker_and_names_its_file(
    broker: RunningBroker, tmp_path: Path
) -> None:
    given = [GivenConnector("bad.properties", "bad", {"connector.class": SINK, "wrong": "1"})]
    worker = Standalone(broker.bootstrap, tmp_path / "offsets", given)
    worker.worker.start()
    with pytest.raises(ConnectError, match=r"(?s)bad.properties: .*wrong is wrong: 1"):
        worker.worker.wait()
    worker.stop()


def test_a_file_that_holds_no_offsets_ends_the_worker(
    broker: RunningBroker, tmp_path: Path
) -> None:
    file = tmp_path / "notes.txt"
    file.write_text("milk")
    worker = Standalone(broker.bootstrap, file)
    worker.worker.start()
    with pytest.raises(ConnectError, match=r"notes.txt: is not a file of source offsets"):
        worker.worker.wait()
    worker.stop()
