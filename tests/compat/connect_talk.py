"""Requests to Connect workers as they are, and waiting for what they lead to."""

import http.client
import json
import time
from collections.abc import Callable, Mapping
from importlib.util import find_spec
from typing import Any, NamedTuple

from tools.brokers import HOST

from tests.compat.apache_connect import file_connectors
from tests.compat.clients.programs import UnavailableError, require

STATE_LIMIT_S = 180.0


class Answer(NamedTuple):
    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body) if self.body else None


def missing(*, apache: bool, ours: bool) -> str | None:
    """What this machine lacks for these workers."""
    try:
        require("java")
        if apache:
            file_connectors()
    except UnavailableError as reason:
        return str(reason)
    if ours and find_spec("pyspark") is None:
        return "PySpark is not installed: pip install 'moldau[spark]'"
    return None


def ask(
    port: int,
    method: str,
    path: str,
    body: bytes | None = None,
    headers: Mapping[str, str] | None = None,
) -> Answer:
    """One request on a connection of its own: Jetty closes it after some errors."""
    connection = http.client.HTTPConnection(HOST, port, timeout=180)
    try:
        connection.request(method, path, body, dict(headers or {}))
        answer = connection.getresponse()
        return Answer(answer.status, dict(answer.getheaders()), answer.read())
    finally:
        connection.close()


def wait_for_state(port: int, name: str, state: str, tasks: int | None) -> None:
    """Until the connector and that many tasks (of None any number) are in a state."""

    def is_there() -> bool:
        answer = ask(port, "GET", f"/connectors/{name}/status")
        if answer.status != 200 or answer.json["connector"]["state"] != state:
            return False
        states = [task["state"] for task in answer.json["tasks"]]
        return tasks is None or states == [state] * tasks

    eventually(is_there, f"{name} is {state} with {tasks} tasks")


def wait_for_topics(port: int, name: str) -> None:
    """Until the connector has used a topic."""

    def is_there() -> bool:
        return bool(ask(port, "GET", f"/connectors/{name}/topics").json[name]["topics"])

    eventually(is_there, f"{name} has used a topic")


def eventually(is_true: Callable[[], bool], what: str) -> None:
    deadline = time.monotonic() + STATE_LIMIT_S
    while not is_true():
        assert time.monotonic() < deadline, f"not within {STATE_LIMIT_S:g} s: {what}"
        time.sleep(0.1)
