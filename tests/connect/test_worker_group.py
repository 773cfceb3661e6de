"""Workers as processes, which are asked over REST, killed, and replaced by each other."""

import json
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.connect.herding import PATIENCE_S, SINK
from tests.running import RunningBroker

ROOT = Path(__file__).parents[2]


class Process:
    """One worker process."""

    def __init__(self, bootstrap: str, session_ms: int) -> None:
        program = [sys.executable, "-m", "tests.connect.worker_process"]
        self._process = subprocess.Popen(
            [*program, bootstrap, "pair", str(session_ms)],
            stdout=subprocess.PIPE,
            text=True,
            cwd=ROOT,
        )
        assert self._process.stdout is not None
        self.url = self._process.stdout.readline().strip()
        assert self.url, "it has ended"

    @property
    def worker_id(self) -> str:
        return self.url.removeprefix("http://").rstrip("/")

    def ask(self, method: str, path: str, body: Any = None) -> tuple[int, Any]:
        request = urllib.request.Request(
            self.url.rstrip("/") + path,
            method=method,
            data=None if body is None else json.dumps(body).encode(),
            headers={"Content-Type": "application/json"},
        )
        try:
            with urllib.request.urlopen(request, timeout=PATIENCE_S) as answer:
                content = answer.read()
                return answer.status, json.loads(content) if content else None
        except urllib.error.HTTPError as error:
            return error.code, json.loads(error.read())

    def wait_until_ready(self) -> "Process":
        wait(lambda: self.ask("GET", "/health")[0] == 200)
        return self

    def kill(self) -> None:
        self._process.kill()
        self._process.wait()

    def terminate(self) -> None:
        self._process.terminate()
        assert self._process.wait(PATIENCE_S) == 0

    def close(self) -> None:
        if self._process.poll() is None:
            self.kill()
        assert self._process.stdout is not None
        self._process.stdout.close()


def wait(condition: Callable[[], bool]) -> None:
    deadline_s = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < deadline_s
        time.sleep(0.05)


@pytest.fixture
def pair(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[Process, Process]]:
    """Two workers; the parameter is their ``session.timeout.ms``."""
    settings = {
        "group.min.session.timeout.ms": "100",
        "group.initial.rebalance.delay.ms": "0",
    }
    with RunningBroker(tmp_path, settings) as broker:
        first = Process(broker.bootstrap, request.param)
        second: Process | None = None
        try:
            first.wait_until_ready()
            second = Process(broker.bootstrap, request.param)
            second.wait_until_ready()
            yield first, second
        finally:
            for each in (first, second):
                if each is not None:
                    each.close()


def runs_on(asked: Process, name: str, expected: Process) -> bool:
    status, found = asked.ask("GET", f"/connectors/{name}/status")
    return (
        status == 200
        and found["connector"]["worker_id"] == expected.worker_id
        and [each["state"] for each in found["tasks"]] == ["RUNNING"]
    )


@pytest.mark.parametrize("pair", [6000], indirect=True)
def test_a_standby_forwards_and_takes_over_from_one_that_was_killed(
    pair: tuple[Process, Process],
) -> None:
    first, second = pair
    body = {"name": "shared", "config": {"connector.class": SINK}}
    status, created = second.ask("POST", "/connectors", body)
    assert (status, created["name"]) == (201, "shared")
    assert second.ask("POST", "/connectors", body)[0] == 409
    wait(lambda: runs_on(second, "shared", first))
    first.kill()
    wait(lambda: runs_on(second, "shared", second))
    assert second.ask("PUT", "/connectors/shared/pause")[0] == 202


@pytest.mark.parametrize("pair", [60_000], indirect=True)
def test_a_worker_that_is_stopped_hands_over_at_once(pair: tuple[Process, Process]) -> None:
    first, second = pair
    assert first.ask("PUT", "/connectors/a/config", {"connector.class": SINK})[0] == 201
    wait(lambda: runs_on(first, "a", first))
    first.terminate()
    # Long before its session would end.
    wait(lambda: runs_on(second, "a", second))
