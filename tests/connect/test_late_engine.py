"""An engine that is loaded in the background."""

import threading

import pytest

from moldau.connect.data.errors import ConnectError
from moldau.connect.engine_api import ConnectorSpec, Engine, State
from moldau.connect.late_engine import LateEngine
from tests.connect.herding import PATIENCE_S, NotingEngine


class Nobody:
    def on_status(
        self, name: str, task_id: int | None, state: State, trace: str | None = None
    ) -> None: ...

    def on_topic(self, name: str, topic: str) -> None: ...


def test_start_does_not_wait_and_run_does() -> None:
    loading = threading.Event()
    real = NotingEngine(Nobody())

    def load() -> Engine:
        assert loading.wait(PATIENCE_S)
        return real

    engine = LateEngine(load)
    engine.start()
    assert not engine.is_ready
    engine.stop("a")
    threading.Timer(0.05, loading.set).start()
    engine.run(ConnectorSpec("a", {}, {}))
    assert engine.is_ready
    engine.pause("a")
    engine.stop("a")
    engine.close()
    assert real.calls == ["start", "run a", "pause a", "stop a", "close"]


def test_an_engine_that_cannot_be_loaded_says_why() -> None:
    def load() -> Engine:
        raise ImportError("no module named spark")

    engine = LateEngine(load)
    engine.start()
    with pytest.raises(ConnectError, match="could not start: no module named spark"):
        engine.run(ConnectorSpec("a", {}, {}))
    assert not engine.is_ready
    engine.close()
