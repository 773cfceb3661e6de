"""``/connectors``, over a real socket."""

import threading
from typing import Any

import pytest

from moldau.connect.rest.server import RestServer
from tests.connect.rest.conftest import LOOPBACK, SOURCE, Client
from tests.connect.rest.memory_herder import MemoryHerder


def test_a_connector_is_created_listed_and_deleted(rest: Client, server: RestServer) -> None:
    answer = rest("POST", "/connectors", {"name": " a ", "config": SOURCE})
    assert answer.status == 201
    assert answer.headers["Location"] == f"http://127.0.0.1:{server.port}/connectors/a"
    assert answer.json == {
        "name": "a",
        "config": {**SOURCE, "name": "a"},
        "tasks": [{"connector": "a", "task": 0}],
        "type": "source",
    }
    assert rest("GET", "/connectors").json == ["a"]
    assert rest("GET", "/connectors/a").json == answer.json
    assert rest("GET", "/connectors/a/config").json == {**SOURCE, "name": "a"}
    gone = rest("DELETE", "/connectors/a")
    assert (gone.status, gone.body) == (204, b"")
    assert rest("GET", "/connectors/a").json == {
        "error_code": 404,
        "message": "There is no connector a",
    }


def test_numbers_and_booleans_in_a_config_become_texts(rest: Client) -> None:
    body = b'{"name":"a","config":{"connector.class":"Lines","topic":1.50,"batch.size":7,"n":true}}'
    config = rest("POST", "/connectors", body).json["config"]
    assert (config["topic"], config["batch.size"], config["n"]) == ("1.50", "7", "true")


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b"{", "not JSON"),
        (b"", "empty"),
        (b"\xff\xfe{}", "not"),
        (b"[]", "must be a JSON object with name, config, initial_state"),
        (b'{"name":"a"}', "has no config"),
        (b'{"name":"a","config":{},"zz":1}', "unknown field 'zz'"),
        (b'{"name":"a","config":[]}', "config must be a JSON object of texts, not a list"),
        (b'{"name":"a","config":{"x":{}}}', "the value of 'x' must be a string, not an object"),
        (b'{"name":"a","config":{"x":NaN}}', "not JSON"),
        (b'{"name":7,"config":{}}', "name of a connector must be a string"),
        (
            b'{"name":"a","config":{"connector.class":null}}',
            "null is not a value of connector.class",
        ),
        (b'{"name":"a","config":{"name":"b"}}', "The config is for b, the URL for a"),
        (b'{"name":"a","config":{}}', "connector.class is missing"),
        (b'{"name":"a","config":{"connector.class":"Linse"}}', "Did you mean Lines"),
        (
            b'{"name":"a","config":{"connector.class":"Lines","topic":"t"},"initial_state":"up"}',
            "it must be one of RUNNING, PAUSED, STOPPED",
        ),
        (
            b'{"name":"","config":{"connector.class":"Lines","topic":"t"}}',
            "name cannot be empty",
        ),
        (
            b'{"name":"a\\u0007b","config":{"connector.class":"Lines","topic":"t"}}',
            "control characters (of the codes 7)",
        ),
        (b"[" * 100_000, "nested too deeply"),
        (
            b'{"name":"a\\ud800","config":{"connector.class":"Lines","topic":"t"}}',
            "has \\ud800, which is half a character",
        ),
    ],
)
def test_a_wrong_body_is_answered_with_400_and_what_is_wrong(
    rest: Client, body: bytes, message: str
) -> None:
    answer = rest("POST", "/connectors", body)
    assert answer.status == 400
    assert answer.json["error_code"] == 400
    assert message in answer.message


@pytest.mark.parametrize("name", ["a/b", "with blanks", "Größe 🙂", "100%", "a?b#c", "..", "a%2Fb"])
def test_a_name_may_have_any_printable_characters(rest: Client, name: str) -> None:
    answer = rest("POST", "/connectors", {"name": name, "config": SOURCE})
    path = answer.headers["Location"].partition("/connectors/")[2]
    assert rest("GET", f"/connectors/{path}").json["name"] == name
    assert rest("GET", f"/connectors/{path}/status").json["name"] == name
    assert rest("DELETE", f"/connectors/{path}").status == 204


def test_the_same_name_twice_at_once_is_created_once(server: RestServer) -> None:
    statuses = []
    barrier = threading.Barrier(8)

    def create() -> None:
        client = Client(server.port)
        barrier.wait()
        statuses.append(client("POST", "/connectors", {"name": "a", "config": SOURCE}).status)
        client.close()

    threads = [threading.Thread(target=create) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(statuses) == [201] + [409] * 7


def test_lists_are_expanded(created: Client) -> None:
    expanded = created("GET", "/connectors?expand=status&expand=info&expand=other").json
    assert set(expanded["a"]) == {"status", "info"}
    assert created("GET", "/connectors?expand=x").json == {"a": {}}


def test_a_connector_begins_in_the_state_that_was_asked_for(rest: Client) -> None:
    body = {"name": "a", "config": SOURCE, "initial_state": "stopped"}
    assert rest("POST", "/connectors", body).json["tasks"] == []
    assert rest("GET", "/connectors/a/status").json["connector"]["state"] == "STOPPED"


def test_a_config_is_put_and_patched(rest: Client) -> None:
    new = rest("PUT", "/connectors/a/config", SOURCE)
    assert new.status == 201
    assert new.headers["Location"].endswith("/connectors/a")
    again = rest("PUT", "/connectors/a/config", {**SOURCE, "file": "f"})
    assert again.status == 200
    assert "Location" not in again.headers
    patched = rest("PATCH", "/connectors/a/config", {"file": None, "batch.size": 5})
    assert patched.json["config"] == {**SOURCE, "batch.size": "5", "name": "a"}
    assert rest("PATCH", "/connectors/a/config", {"topic": None}).status == 400
    assert rest("PATCH", "/connectors/b/config", {}).status == 404
    assert rest("PUT", "/connectors/a/config", {**SOURCE, "name": "b"}).status == 400


def test_states_change_with_kafkas_statuses(created: Client) -> None:
    for action, status, state in (
        *(("pause", 202, "PAUSED"), ("resume", 202, "RUNNING"), ("stop", 204, "STOPPED")),
    ):
        answer = created("PUT", f"/connectors/a/{action}")
        assert (answer.status, answer.body) == (status, b"")
        assert created("GET", "/connectors/a/status").json["connector"]["state"] == state
        assert created("PUT", f"/connectors/b/{action}").status == 404


def test_restarts(created: Client, herder: MemoryHerder) -> None:
    assert created("POST", "/connectors/a/restart").status == 204
    answer = created("POST", "/connectors/a/restart?includeTasks=true&onlyFailed=nonsense")
    assert (answer.status, answer.json["name"]) == (202, "a")
    assert created("POST", "/connectors/a/tasks/0/restart").status == 204
    assert herder.calls == [
        ("restart", "a", False, False),
        ("restart", "a", True, False),
        ("restart_task", "a", 0),
    ]
    assert created("POST", "/connectors/a/tasks/5/restart").status == 404


def test_tasks(created: Client) -> None:
    (task,) = created("GET", "/connectors/a/tasks").json
    assert task["id"] == {"connector": "a", "task": 0}
    assert created("GET", "/connectors/a/tasks/0/status").json["state"] == "RUNNING"
    for wrong in ("9", "x", "-1", "%D9%A3", "99999999999"):
        assert created("GET", f"/connectors/a/tasks/{wrong}/status").status == 404


def test_offsets_change_only_while_stopped(created: Client) -> None:
    offsets = [{"partition": {"filename": "f"}, "offset": {"position": 12345678901234}}]
    body = {"offsets": offsets}
    assert created("PATCH", "/connectors/a/offsets", body).status == 400
    assert created("DELETE", "/connectors/a/offsets").status == 400
    created("PUT", "/connectors/a/stop")
    assert "are altered" in created("PATCH", "/connectors/a/offsets", body).message
    assert created("GET", "/connectors/a/offsets").json == body
    assert "are reset" in created("DELETE", "/connectors/a/offsets").message
    assert created("GET", "/connectors/b/offsets").status == 404


@pytest.mark.parametrize(
    "body",
    [
        *({}, {"offsets": []}, {"offsets": None}, [], {"offsets": [7]}, {"offsets": {"a": 1}}),
        *({"offsets": [{"partition": 1}]}, {"offsets": [{"x": {}}]}, {"offset": []}),
    ],
)
def test_offsets_of_a_wrong_shape_are_refused(created: Client, body: Any) -> None:
    created("PUT", "/connectors/a/stop")
    assert created("PATCH", "/connectors/a/offsets", body).status == 400


def test_topics_are_tracked_unless_the_worker_forbids_it(
    created: Client, herder: MemoryHerder
) -> None:
    herder.used_topics["a"] = ["t"]
    assert created("GET", "/connectors/a/topics").json == {"a": {"topics": ["t"]}}
    assert created("PUT", "/connectors/a/topics/reset").status == 202
    assert created("GET", "/connectors/a/topics").json == {"a": {"topics": []}}


@pytest.mark.parametrize(
    ("setting", "get", "reset"),
    [("topic.tracking.enable", 403, 403), ("topic.tracking.allow.reset", 200, 403)],
)
def test_tracking_of_topics_can_be_disabled(
    herder: MemoryHerder, setting: str, get: int, reset: int
) -> None:
    with RestServer(herder, herder.plugins, LOOPBACK, {setting: "false"}) as server:
        rest = Client(server.port)
        assert rest("GET", "/connectors/a/topics").status == get
        assert rest("PUT", "/connectors/a/topics/reset").status == reset
        rest.close()


def test_requests_between_apaches_workers_are_refused(created: Client) -> None:
    for method, path in (("POST", "/connectors/a/tasks"), ("PUT", "/connectors/a/fence")):
        answer = created(method, path, b"[]")
        assert (answer.status, answer.message) == (
            400,
            "Only workers may ask this: the signature is missing",
        )
        signed = {"X-Connect-Authorization": "c2lnbmF0dXJl"}
        assert created(method, path, b"[]", signed).status == 403
