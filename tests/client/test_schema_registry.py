"""The client of a schema registry, against one over HTTP."""

import socket
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

from moldau.client.schema_registry import SchemaRegistry, SchemaRegistryError
from tests.schema_registry import FakeRegistry


@pytest.fixture
def fake() -> Iterator[FakeRegistry]:
    with FakeRegistry() as running:
        yield running


def refusing_url() -> str:
    """A URL at which nobody listens."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return f"http://127.0.0.1:{listener.getsockname()[1]}"


def test_a_schema_has_one_id_in_all_subjects(fake: FakeRegistry) -> None:
    client = SchemaRegistry([fake.url])
    assert client.register("a-value", '"string"') == 1
    assert client.register("b-value", '"string"') == 1
    assert client.register("b-value", '"int"') == 2
    assert client.subjects() == ["a-value", "b-value"]


def test_a_registered_schema_is_found_by_id_and_by_subject(fake: FakeRegistry) -> None:
    client = SchemaRegistry([fake.url])
    schema_id = client.register("a", '"int"')
    assert client.schema(schema_id).text == '"int"'
    assert (client.latest("a").id, client.latest("a").version) == (schema_id, 1)
    assert client.version("a", 1).text == '"int"'
    assert client.id_of("a", '"int"') == schema_id
    assert client.version_of("a", '"int"') == 1
    assert client.version_of("a", '"string"') is None


def test_answers_that_cannot_change_are_asked_for_once(fake: FakeRegistry) -> None:
    client = SchemaRegistry([fake.url])
    for _ in range(3):
        client.schema(client.register("a", '"int"'))
        client.version_of("a", '"int"')
    assert len(fake.requests) == 3


def test_other_types_than_avro_are_named(fake: FakeRegistry) -> None:
    client = SchemaRegistry([fake.url])
    schema_id = client.register("a", "{}", "JSON")
    assert SchemaRegistry([fake.url]).schema(schema_id).type == "JSON"


def test_subjects_are_quoted(fake: FakeRegistry) -> None:
    SchemaRegistry([fake.url]).register("a/b ü?", '"int"')
    assert list(fake.subjects) == ["a/b ü?"]


def test_the_next_registry_answers_when_one_is_down(fake: FakeRegistry) -> None:
    client = SchemaRegistry.from_config({"schema.registry.url": f"{refusing_url()}, {fake.url}/"})
    assert client.register("a", '"int"') == 1


def test_registries_that_are_all_down_are_named() -> None:
    url = refusing_url()
    with pytest.raises(SchemaRegistryError, match="cannot be reached") as error:
        SchemaRegistry([url]).schema(1)
    assert url in str(error.value)
    assert error.value.is_retriable


def test_an_unknown_id_is_an_error_that_retrying_cannot_fix(fake: FakeRegistry) -> None:
    with pytest.raises(SchemaRegistryError, match="Schema 9 not found; error code: 40403") as error:
        SchemaRegistry([fake.url]).schema(9)
    assert (error.value.status, error.value.error_code) == (404, 40403)
    assert not error.value.is_retriable


@pytest.mark.parametrize("status", [429, 500, 503])
def test_a_registry_in_trouble_can_be_asked_again(fake: FakeRegistry, status: int) -> None:
    client = SchemaRegistry([fake.url])
    fake.failures = [status]
    with pytest.raises(SchemaRegistryError, match="as the test wants") as error:
        client.register("a", '"int"')
    assert error.value.is_retriable
    assert client.register("a", '"int"') == 1


@pytest.mark.parametrize("prefix", ["", "schema.registry."])
def test_a_user_and_a_password_are_sent(prefix: str) -> None:
    with FakeRegistry(user="me:p:w") as fake:
        config = {
            "schema.registry.url": fake.url,
            f"{prefix}basic.auth.credentials.source": "USER_INFO",
            f"{prefix}basic.auth.user.info": "me:p:w",
        }
        assert SchemaRegistry.from_config(config).register("a", '"int"') == 1


def test_credentials_of_the_url_are_sent_and_never_shown() -> None:
    with FakeRegistry(user="me:s%cret") as fake:
        url = fake.url.replace("http://", "http://me:s%25cret@")
        client = SchemaRegistry.from_config({"schema.registry.url": url})
        assert client.register("a", '"int"') == 1
        fake.user = "other:one"
        with pytest.raises(SchemaRegistryError, match=r"basic\.auth") as error:
            client.register("b", '"int"')
        assert "cret" not in str(error.value)


@pytest.mark.parametrize("url", ["", "localhost:8081", "ftp://h", "http://", "file:///etc/passwd"])
def test_a_url_must_be_one_of_http(url: str) -> None:
    with pytest.raises(SchemaRegistryError, match=r"schema\.registry\.url"):
        SchemaRegistry.from_config({"schema.registry.url": url})


def test_an_answer_that_is_no_json_is_shown() -> None:
    with (
        answering(200, b"<html>hello", {}) as url,
        pytest.raises(SchemaRegistryError, match=r"what is not JSON.*<html>hello"),
    ):
        SchemaRegistry([url]).schema(1)


def test_credentials_are_not_sent_where_a_registry_points_to(fake: FakeRegistry) -> None:
    with answering(302, b"", {"Location": f"{fake.url}/schemas/ids/1"}) as url:
        client = SchemaRegistry([url], authorization="Bearer secret")
        with pytest.raises(SchemaRegistryError, match="refused GET /schemas/ids/1"):
            client.schema(1)
    assert fake.requests == []


class answering:  # noqa: N801 - used as a function
    """A server that gives one answer to all requests."""

    def __init__(self, status: int, body: bytes, headers: dict[str, str]) -> None:
        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                self.send_response(status)
                for name, value in headers.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *arguments: object) -> None:
                """Standard error stays empty."""

        self._server = HTTPServer(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,))

    def __enter__(self) -> str:
        self._thread.start()
        return f"http://127.0.0.1:{self._server.server_port}"

    def __exit__(self, *error: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()
