"""A worker outlives its broker."""

from pathlib import Path

import pytest
from tools.brokers import free_port

from moldau.connect.engine_api import State
from moldau.connect.rest_errors import InternalError
from tests.connect.herding import SHORT_SESSION, SINK, Herding
from tests.running import RunningBroker

# How long a worker asks before it says that nobody answers.
SETTINGS = {**SHORT_SESSION, "default.api.timeout.ms": "3000"}


def broker(directory: Path, port: int) -> RunningBroker:
    return RunningBroker(
        directory,
        {
            "listeners": f"PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:0",
            "advertised.listeners": f"PLAINTEXT://127.0.0.1:{port}",
            "group.min.session.timeout.ms": "100",
            "group.initial.rebalance.delay.ms": "0",
        },
    )


def test_connectors_are_stopped_while_the_group_is_out_of_reach_and_then_run_again(
    tmp_path: Path,
) -> None:
    port = free_port()
    with broker(tmp_path, port):
        worker = Herding(f"127.0.0.1:{port}", "restart", settings=SETTINGS).start()
        worker.herder.create("a", {"connector.class": SINK})
        worker.wait_for_state("a", "RUNNING")
    # Another worker might reach the coordinator and run it: this one must not.
    worker.wait(lambda: worker.engine.running() == [])
    with pytest.raises(InternalError, match="has lost its group"):
        worker.herder.health()
    # As with Apache's worker: nobody could write another status.
    assert worker.herder.status("a")["connector"]["state"] == State.RUNNING
    with broker(tmp_path, port):
        worker.wait(lambda: worker.engine.running() == ["a"])
        worker.wait_for_state("a", "RUNNING")
        worker.herder.create("b", {"connector.class": SINK})
        worker.wait_for_state("b", "RUNNING")
        assert worker.herder.status("a")["connector"]["state"] == State.RUNNING
        worker.stop()


def test_a_worker_waits_for_its_broker_and_says_so(tmp_path: Path) -> None:
    port = free_port()
    worker = Herding(f"127.0.0.1:{port}", "early", settings=SETTINGS)
    worker.worker.start()
    address = f"cannot connect to 127.0.0.1:{port}"
    worker.wait(lambda: address in worker.herder.health()[1])
    assert "moldau start" in worker.herder.health()[1]
    with broker(tmp_path, port):
        worker.wait(lambda: worker.herder.health()[0])
        worker.herder.create("a", {"connector.class": SINK})
        worker.wait_for_state("a", "RUNNING")
        worker.stop()
