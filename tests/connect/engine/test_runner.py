"""The life of a connector up to the start of its query, with a real broker and without Spark."""

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import pytest

from moldau.client.admin import Admin
from moldau.client.producer import Producer
from moldau.connect.engine.runner import Runner
from moldau.connect.engine.session import SessionHolder
from moldau.connect.engine.start_turns import StartTurns
from moldau.connect.engine_api import ConnectorSpec, State
from moldau.connect.plugins import Plugins
from moldau.connect.stores.offset_store import OffsetStore
from moldau.connect.stores.topic_log import ClientSettings, TopicLog, TopicSettings
from moldau.errors import ApiError
from tests.running import RunningBroker

OFFSETS = TopicSettings("offsets", "offset.storage.topic", "source connector offsets", 1, 1)


class ReadySession:
    """A session that is there, and is never used."""

    def wait(self, stopping: threading.Event) -> object:
        return object()

    def is_dead_after(self, error: BaseException) -> bool:
        return False


class Seen:
    """What was reported of task 0 (a listener)."""

    def __init__(self) -> None:
        self.states: list[tuple[State, str | None]] = []
        self.has_failed = threading.Event()
        self.has_restarted = threading.Event()

    def on_status(self, name: str, task_id: int | None, state: State, trace: str | None) -> None:
        if task_id == 0:
            self.states.append((state, trace))
        if state is State.FAILED:
            self.has_failed.set()
        if state is State.RESTARTING:
            self.has_restarted.set()

    def on_topic(self, name: str, topic: str) -> None:
        pass


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningBroker]:
    with RunningBroker(Path(tmp_path_factory.mktemp("broker"))) as running:
        yield running


def new_runner(spec: ConnectorSpec, offsets: Any, turns: StartTurns, seen: Seen) -> Runner:
    session = cast("SessionHolder", ReadySession())
    return Runner(spec, session, offsets, seen, Plugins(), turns)


def test_open_transactions_of_a_source_are_aborted_before_it_has_a_turn(
    broker: RunningBroker, tmp_path: Path
) -> None:
    """A source whose turn it is waits for them: it reads the offsets behind them."""
    clients = ClientSettings(broker.bootstrap, "test")
    store = OffsetStore(TopicLog(clients, OFFSETS, awaits_transactions=True), "offsets")
    store.start()
    with Admin(broker.bootstrap) as admin:
        admin.create_topic("lines", 1, 1)
    worker = {
        "bootstrap.servers": broker.bootstrap,
        "group.id": "workers",
        "exactly.once.source.support": "enabled",
    }
    config = {
        "name": "lines",
        "connector.class": "FileStreamSource",
        "file": str(tmp_path / "lines.txt"),
        "topic": "lines",
    }
    turns = StartTurns(1)
    runner = new_runner(ConnectorSpec("lines", config, worker), store, turns, Seen())
    with Producer(broker.bootstrap, transactional_id="workers-lines-0") as left_open:
        left_open.begin_transaction()
        key, value = store.encode("lines", {"filename": "x"}, {"position": 1})
        left_open.send("offsets", value, key=key)
        left_open.flush()
        with turns.turn(threading.Event()):
            runner.start()
            try:
                assert store.read("another") == []
            finally:
                runner.stop(5.0)
        with pytest.raises(ApiError):
            left_open.commit_transaction()
    store.close()


def test_a_connector_whose_run_gets_no_directory_is_started_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "full"
    monkeypatch.setattr("tempfile.tempdir", str(folder))
    config = {"name": "lines", "connector.class": "NoSuchConnector"}
    seen = Seen()
    runner = new_runner(ConnectorSpec("lines", config, {}), None, StartTurns(1), seen)
    runner.start()
    assert seen.has_restarted.wait(60)
    folder.mkdir()
    assert seen.has_failed.wait(60)
    runner.stop(5.0)
    assert "No such file or directory" in (seen.states[0][1] or "")
    assert "NoSuchConnector" in (seen.states[-1][1] or "")
