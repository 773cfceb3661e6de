"""A REST server on a free port of the loopback address, and a client that keeps its connection."""

import http.client
import json
from collections.abc import Iterator
from typing import Any, NamedTuple

import pytest

from moldau.connect.listeners import RestListener
from moldau.connect.rest.server import RestServer
from tests.connect.config.connectors import plugins
from tests.connect.rest.memory_herder import MemoryHerder

LOOPBACK = [RestListener("127.0.0.1", 0)]
SOURCE = {"connector.class": "Lines", "topic": "t"}


class Answer(NamedTuple):
    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def message(self) -> str:
        return str(self.json["message"])


class Client:
    def __init__(self, port: int) -> None:
        self.connection = http.client.HTTPConnection("127.0.0.1", port, timeout=120)

    def __call__(
        self, method: str, path: str, body: Any = None, headers: dict[str, str] | None = None
    ) -> Answer:
        """Send ``body`` as JSON; bytes as they are."""
        sent = dict(headers or {})
        if body is not None and not isinstance(body, bytes):
            body = json.dumps(body).encode()
        if body is not None:
            sent.setdefault("Content-Type", "application/json")
        self.connection.request(method, path, body, sent)
        answer = self.connection.getresponse()
        return Answer(answer.status, dict(answer.getheaders()), answer.read())

    def close(self) -> None:
        self.connection.close()


@pytest.fixture
def herder() -> MemoryHerder:
    return MemoryHerder(plugins())


@pytest.fixture
def server(herder: MemoryHerder) -> Iterator[RestServer]:
    with RestServer(herder, herder.plugins, LOOPBACK, {}) as running:
        yield running


@pytest.fixture
def rest(server: RestServer) -> Iterator[Client]:
    client = Client(server.port)
    yield client
    client.close()


@pytest.fixture
def created(rest: Client) -> Client:
    """A client of a worker with the connector "a"."""
    assert rest("POST", "/connectors", {"name": "a", "config": SOURCE}).status == 201
    return rest
