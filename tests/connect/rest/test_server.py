"""HTTP itself: methods, media types, bodies, connections; plugins, loggers, health; forwarding."""

import json
import logging
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator

import pytest

from moldau.clock import ManualClock
from moldau.connect.config.errors import ConfigError
from moldau.connect.listeners import RestListener
from moldau.connect.log_levels import LogLevels
from moldau.connect.rest.response_headers import parse_rules
from moldau.connect.rest.server import MAX_BODY_BYTES, RestServer
from tests.connect.config.connectors import plugins
from tests.connect.rest.conftest import LOOPBACK, SOURCE, Client
from tests.connect.rest.memory_herder import MemoryHerder

FORM = {"Content-Type": "application/x-www-form-urlencoded"}


def test_paths_and_methods_that_do_not_exist(rest: Client) -> None:
    assert rest("GET", "/nope").json == {"error_code": 404, "message": "HTTP 404 Not Found"}
    wrong = rest("PATCH", "/connectors")
    assert wrong.json == {"error_code": 405, "message": "HTTP 405 Method Not Allowed"}
    assert set(wrong.headers["Allow"].split(",")) == {"HEAD", "GET", "POST", "OPTIONS"}
    assert rest("GET", "/connectors/").json == []
    assert rest("GET", "/connectors//status").status == 400


def test_only_json_is_taken_and_given(rest: Client) -> None:
    assert rest("POST", "/connectors", b"x", FORM).json == {
        "error_code": 415,
        "message": "HTTP 415 Unsupported Media Type",
    }
    charset = {"Content-Type": "Application/JSON; charset=utf-8"}
    assert rest("PUT", "/connectors/a/config", SOURCE, charset).status == 201
    refused = rest("GET", "/connectors", headers={"Accept": "text/html"})
    assert refused.json == {"error_code": 406, "message": "HTTP 406 Not Acceptable"}
    for accept in ("*/*", "application/*;q=0.5", "text/html, application/json", ""):
        assert rest("GET", "/connectors", headers={"Accept": accept}).status == 200
    never = {"Accept": "application/json;q=0"}
    assert rest("GET", "/connectors", headers=never).status == 406


def test_head_and_options(rest: Client) -> None:
    head = rest("HEAD", "/connectors")
    assert (head.status, head.headers["Content-Length"], head.body) == (200, "2", b"")
    options = rest("OPTIONS", "/connectors")
    assert options.status == 200
    assert set(options.body.decode().split(", ")) == {"HEAD", "GET", "POST", "OPTIONS"}


def test_a_body_of_more_than_a_mebibyte_is_refused_with_its_size(rest: Client) -> None:
    body = b'{"x":"' + b"a" * MAX_BODY_BYTES + b'"}'
    answer = rest("PUT", "/connectors/a/config", body)
    assert answer.status == 413
    assert f"{len(body)} bytes" in answer.message
    assert str(MAX_BODY_BYTES) in answer.message
    # The next request finds a working server.
    assert rest("GET", "/connectors").status == 200


def exchange(port: int, sent: bytes) -> bytes:
    with socket.create_connection(("127.0.0.1", port), 10) as connection:
        connection.sendall(sent)
        connection.shutdown(socket.SHUT_WR)
        return b"".join(iter(lambda: connection.recv(65536), b""))


def test_chunked_bodies_are_read(server: RestServer) -> None:
    body = json.dumps(SOURCE).encode()
    head = (
        b"PUT /connectors/a/config HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
        b"Transfer-Encoding: chunked\r\n\r\n"
    )
    chunks = b"%x;note\r\n%s\r\n%x\r\n%s\r\n0\r\n\r\n" % (5, body[:5], len(body) - 5, body[5:])
    answer = exchange(server.port, head + chunks + b"GET /connectors HTTP/1.1\r\nHost: x\r\n\r\n")
    assert answer.startswith(b"HTTP/1.1 201 Created")
    assert answer.endswith(b'["a"]')
    assert b"400" in exchange(server.port, head + b"zz\r\n")[:20]
    assert b"413" in exchange(server.port, head + b"7fffffff\r\n")[:20]


@pytest.mark.parametrize(
    "sent",
    [
        *(b"nonsense\r\n\r\n", b"GET / HTTP/9.9\r\n\r\n", b"\x16\x03\x01\x02\x00\r\n\r\n"),
        b"POST /connectors HTTP/1.1\r\nContent-Length: many\r\n\r\n",
        b"GET / HTTP/1.1\r\n" + b"x: y\r\n" * 300 + b"\r\n",
    ],
)
def test_what_is_no_request_is_answered_and_closed(server: RestServer, sent: bytes) -> None:
    status = exchange(server.port, sent).split(b" ", 2)[1]
    assert status.startswith((b"4", b"5"))


def test_a_url_that_is_too_long_is_refused_with_the_limit(server: RestServer) -> None:
    answer = exchange(server.port, b"GET /" + b"x" * 70_000 + b" HTTP/1.1\r\nHost: x\r\n\r\n")
    assert answer.startswith(b"HTTP/1.1 414 URI Too Long")
    assert b"longer than 65536 characters" in answer


def test_a_connection_serves_many_requests(rest: Client) -> None:
    rest("GET", "/")
    first = rest.connection.sock
    for _ in range(20):
        assert rest("GET", "/connectors").status == 200
    assert rest.connection.sock is first


def test_health_is_503_until_the_worker_is_ready(rest: Client, herder: MemoryHerder) -> None:
    herder.is_ready = False
    answer = rest("GET", "/health")
    assert (answer.status, answer.json) == (
        503,
        {"status": "starting", "message": "Spark is starting"},
    )
    herder.is_ready = True
    assert rest("GET", "/health").json == {
        "status": "healthy",
        "message": "This worker has started, and serves requests",
    }
    assert set(rest("GET", "/").json) == {"version", "commit", "kafka_cluster_id"}


def test_an_error_that_nobody_expected_is_a_500_without_its_text(
    rest: Client, herder: MemoryHerder, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail() -> list[str]:
        raise KeyError("password=sesame")

    monkeypatch.setattr(herder, "connectors", fail)
    answer = rest("GET", "/connectors")
    assert answer.status == 500
    assert "KeyError" in answer.message
    assert "sesame" not in answer.message
    monkeypatch.setattr(herder, "health", fail)
    assert rest("GET", "/health").json["status"] == "unhealthy"


def test_plugins_and_their_options(rest: Client) -> None:
    listed = rest("GET", "/connector-plugins").json
    assert {"class": "test.LinesConnector", "type": "source", "version": "1.0"} in listed
    everything = rest("GET", "/connector-plugins?connectorsOnly=false").json
    assert {each["type"] for each in everything} > {"transformation", "converter"}
    options = rest("GET", "/connector-plugins/Lines/config").json
    assert options[0]["name"] == "file"
    assert rest("GET", "/connector-plugins/Lines/config?version=1.0").status == 200
    other = rest("GET", "/connector-plugins/Lines/config?version=3").message
    assert "has version 1.0, which is not in [3,3]" in other
    wrong = rest("GET", "/connector-plugins/Lines/config?version=%5B1")
    assert wrong.status == 400
    assert wrong.message.startswith("[1 is not a range of versions")
    unknown = rest("GET", "/connector-plugins/Linse/config")
    assert unknown.status == 404
    assert unknown.message == "Unknown plugin Linse. Did you mean Lines?"


def test_validation(rest: Client) -> None:
    path = "/connector-plugins/Lines/config/validate"
    answer = rest("PUT", path, {"connector.class": "test.LinesConnector", "tasks.max": "x"})
    assert answer.status == 200
    # The name, the topic, and the number, which is neither one nor at least 1.
    assert answer.json["error_count"] == 4
    other = rest("PUT", path, {"connector.class": "Print"}).message
    assert "The URL names Lines, but connector.class is Print" in other
    assert rest("PUT", path, {}).status == 400
    assert rest("PUT", path, b"").status == 400


def test_headers_of_the_workers_settings_are_added(herder: MemoryHerder) -> None:
    settings = {
        "response.http.headers.config": 'add X-A:b, "set Cache-Control:no-cache, private", '
        "setDate Expires: 0",
        "access.control.allow.origin": "http://good.example",
        "access.control.allow.methods": "GET,PUT",
    }
    with RestServer(herder, herder.plugins, LOOPBACK, settings) as server:
        rest = Client(server.port)
        headers = rest("GET", "/").headers
        assert (headers["X-A"], headers["Cache-Control"]) == ("b", "no-cache, private")
        assert headers["Expires"].endswith("GMT")
        assert "Access-Control-Allow-Origin" not in headers
        origin = {"Origin": "http://good.example", "Access-Control-Request-Method": "PUT"}
        preflight = rest("OPTIONS", "/connectors", headers=origin).headers
        assert preflight["Access-Control-Allow-Origin"] == "http://good.example"
        assert preflight["Access-Control-Allow-Methods"] == "GET,PUT"
        other = rest("GET", "/", headers={"Origin": "http://bad.example"}).headers
        assert "Access-Control-Allow-Origin" not in other
        rest.close()


@pytest.mark.parametrize(
    ("rule", "part"),
    [
        ("add", "'add'"),
        ("push X:y", "the action push"),
        ("add X", "the header 'X'"),
        ("add X y:z", "the header name 'X y'"),
        ("setDate X:soon", "'setDate X:soon'"),
        ("add X:y:z", "the header 'X:y:z'"),
    ],
)
def test_a_rule_for_headers_that_is_none_is_refused(rule: str, part: str) -> None:
    with pytest.raises(ConfigError, match=rf"response\.http\.headers\.config has {part}: "):
        parse_rules(rule)


@pytest.fixture
def loggers() -> Iterator[None]:
    names = ["moldau.connect.tested", "moldau.connect.tested.part", "tested.other"]
    for name in names:
        logging.getLogger(name).setLevel(logging.WARNING)
    yield
    for name in names:
        logging.getLogger(name).setLevel(logging.NOTSET)


@pytest.mark.usefixtures("loggers")
def test_levels_of_loggers_by_pythons_and_by_kafkas_names(
    rest: Client, herder: MemoryHerder
) -> None:
    listed = rest("GET", "/admin/loggers").json
    assert listed["moldau.connect.tested"] == {"level": "WARN", "last_modified": None}
    assert "root" in listed
    kafka = "org.apache.kafka.connect.tested"
    changed = rest("PUT", f"/admin/loggers/{kafka}", {"level": "debug"})
    assert changed.json == [kafka, f"{kafka}.part"]
    assert logging.getLogger("moldau.connect.tested.part").level == logging.DEBUG
    level = rest("GET", f"/admin/loggers/{kafka}").json
    assert level["level"] == "DEBUG"
    assert isinstance(level["last_modified"], int)
    assert rest("PUT", f"/admin/loggers/{kafka}", {"level": "DEBUG"}).json == []
    assert rest("GET", "/admin/loggers/no.such").message == "There is no logger no.such"
    assert rest("PUT", f"/admin/loggers/{kafka}", {"level": "loud"}).status == 404
    assert rest("PUT", f"/admin/loggers/{kafka}", {}).status == 400
    assert rest("PUT", f"/admin/loggers/{kafka}?scope=cluster", {"level": "off"}).status == 204
    assert herder.cluster_levels == [(kafka, "OFF")]
    other = rest("PUT", "/admin/loggers/tested.other?scope=what", {"level": "ERROR"})
    assert other.json == ["tested.other"]


@pytest.mark.usefixtures("loggers")
def test_all_levels_of_kafka_exist() -> None:
    levels = LogLevels(ManualClock())
    for level in ("OFF", "FATAL", "ERROR", "WARN", "INFO", "DEBUG", "TRACE", "ALL"):
        levels.set("tested.other", level)
        assert (levels.get("tested.other") or {})["level"] == level
    levels.apply("tested.other", "error")
    levels.apply("tested.other", "out of this world")
    assert (levels.get("tested.other") or {})["level"] == "ERROR"


def test_admin_has_its_own_listener_or_none(herder: MemoryHerder) -> None:
    with RestServer(herder, herder.plugins, LOOPBACK, {}, admin_listeners=LOOPBACK) as server:
        public, admin = map(Client, server.ports)
        assert public("GET", "/admin/loggers").status == 404
        assert public("GET", "/connectors").status == 200
        assert admin("GET", "/admin/loggers").status == 200
        assert admin("GET", "/connectors").status == 404
        public.close()
        admin.close()
    with RestServer(herder, herder.plugins, LOOPBACK, {}, admin_listeners=[]) as server:
        rest = Client(server.port)
        assert rest("GET", "/admin/loggers").status == 404
        rest.close()


@pytest.fixture
def active() -> Iterator[tuple[RestServer, MemoryHerder]]:
    herder = MemoryHerder(plugins())
    with RestServer(herder, herder.plugins, LOOPBACK, {}) as running:
        yield running, herder


def test_a_standby_forwards_to_the_active_worker(
    rest: Client, herder: MemoryHerder, active: tuple[RestServer, MemoryHerder]
) -> None:
    server, leader = active
    herder.active_url = f"http://127.0.0.1:{server.port}/"
    answer = rest("POST", "/connectors", {"name": "a/b", "config": SOURCE})
    assert answer.status == 201
    assert answer.headers["Location"].endswith("/connectors/a%2Fb")
    assert leader.connectors() == ["a/b"]
    assert rest("POST", "/connectors", {"name": "a/b", "config": SOURCE}).status == 409
    assert rest("PUT", "/connectors/a%2Fb/pause").status == 202
    assert leader.states == {"a/b": "PAUSED"}
    restarted = rest("POST", "/connectors/a%2Fb/restart?includeTasks=true")
    assert restarted.status == 202
    assert leader.calls[-1] == ("restart", "a/b", True, False)
    assert rest("DELETE", "/connectors/a%2Fb").status == 204
    assert leader.connectors() == []


def test_forwarding_ends_after_two_hops(rest: Client, herder: MemoryHerder) -> None:
    herder.active_url = f"http://127.0.0.1:{rest.connection.port}/"
    answer = rest("POST", "/connectors", {"name": "a", "config": SOURCE})
    assert answer.status == 409
    assert "try again soon" in answer.message
    herder.active_url = ""
    assert "No worker of the group is active" in rest("DELETE", "/connectors/a").message


def test_an_active_worker_out_of_reach_is_an_error_that_says_so(
    rest: Client, herder: MemoryHerder
) -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        herder.active_url = f"http://127.0.0.1:{unused.getsockname()[1]}/"
        answer = rest("DELETE", "/connectors/a")
    assert answer.status == 500
    assert " did not answer: " in answer.message


def test_an_address_in_use_is_named(server: RestServer, herder: MemoryHerder) -> None:
    with pytest.raises(OSError, match=f"127.0.0.1:{server.port}.*listeners"):
        RestServer(herder, herder.plugins, [RestListener("127.0.0.1", server.port)], {})


def test_close_ends_open_connections(herder: MemoryHerder) -> None:
    before = set(threading.enumerate())
    server = RestServer(herder, herder.plugins, LOOPBACK, {}).start()
    clients = [Client(server.port) for _ in range(3)]
    for client in clients:
        client("GET", "/")
    server.close()
    for client in clients:
        assert client.connection.sock.recv(1) == b""
        client.close()
    for thread in set(threading.enumerate()) - before:
        thread.join(5)
        assert not thread.is_alive(), thread


def test_the_api_is_there_without_spark() -> None:
    code = (
        "import sys, moldau.connect.rest.server\n"
        "print([m for m in ('pyspark', 'pyarrow', 'numpy', 'psycopg') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
