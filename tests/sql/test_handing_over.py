"""Queries that live on in a worker: what the connector's config has, and what is refused."""

import json
import threading
from collections.abc import Iterator, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from moldau.client.admin import Admin
from moldau.connect.connectors.sql_query import SqlQuery
from moldau.sql.client import RemoteSession
from moldau.sql.errors import SqlError
from moldau.sql.handing_over import query_text
from moldau.sql.living import LivingQuery
from moldau.sql.output import Printer
from moldau.sql.results import Form
from moldau.sql.settings import SqlSettings


@pytest.mark.parametrize(
    ("statement", "query"),
    [
        ("CREATE STREAMING TABLE t AS SELECT a AS b FROM STREAM s", "SELECT a AS b FROM STREAM s"),
        (
            "CREATE MATERIALIZED VIEW t COMMENT 'AS SELECT' AS WITH c AS (SELECT 1) SELECT 2",
            "WITH c AS (SELECT 1) SELECT 2",
        ),
        ("CREATE MATERIALIZED VIEW t AS\n(SELECT 1)", "(SELECT 1)"),
    ],
)
def test_the_query_is_what_follows_as(statement: str, query: str) -> None:
    assert query_text(statement) == query


def test_a_table_cannot_be_its_own_source() -> None:
    config = {"topics": "a, b", "sql.topic": "b"}
    (problem,) = SqlQuery.validate(config)
    assert problem.name == "sql.topic"
    assert "name another" in problem.message
    assert SqlQuery.validate({"topics": "a", "sql.topic": "b"}) == []


def test_a_query_runs_with_the_settings_of_the_worker(monkeypatch: pytest.MonkeyPatch) -> None:
    found: list[SqlSettings] = []
    monkeypatch.setattr(LivingQuery, "make_topic", lambda query: found.append(query._settings))
    sink = SqlQuery()
    sink.clients = {"bootstrap.servers": "b:1", "security.protocol": "SSL"}
    sink.start({"sql.kind": "streaming-table", "sql.query": "SELECT 1", "sql.topic": "t"})
    sink.stop()
    assert found == [SqlSettings("b:1", {"security.protocol": "SSL"})]


@pytest.fixture
def worker(bootstrap: str) -> Iterator[tuple[str, list[Any]]]:
    """Answers as Kafka's worker does, and keeps what it was asked."""
    asked: list[Any] = []
    with Admin(bootstrap) as admin:
        cluster_id = admin.describe_cluster().cluster_id

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            is_known = any(self.path == f"/connectors/{each['name']}" for each in asked)
            # Another worker, of another cluster, is below /other.
            shown = {"/": cluster_id, "/other/": "another"}.get(self.path)
            body = json.dumps({"kafka_cluster_id": shown}).encode()
            self.send_response(200 if is_known or shown else 404)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def do_POST(self) -> None:
            asked.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            name = asked[-1]["name"]
            is_new = [each["name"] for each in asked].count(name) == 1
            answer: Any = {"error_code": 409, "message": "conflict"}
            body = json.dumps({} if is_new else answer).encode()
            self.send_response(201 if is_new else 409)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}", asked
    server.shutdown()
    server.server_close()


def test_a_statement_becomes_a_connector(
    bootstrap: str,
    environment: Mapping[str, str],
    worker: tuple[str, list[Any]],
    capsys: pytest.CaptureFixture[str],
) -> None:
    import sys

    url, asked = worker
    session = RemoteSession(SqlSettings(bootstrap, worker=url), environment)
    printer = Printer(Form.TABLE, sys.stdout, sys.stderr)
    query = "SELECT _key, value FROM STREAM orders WHERE _offset > 3"
    session.run(f"CREATE STREAMING TABLE late AS {query}", Form.TABLE, printer)
    assert "late runs in the worker" in capsys.readouterr().err
    config = asked[0]["config"]
    assert config["connector.class"] == "io.moldau.connect.SqlQuery"
    assert (config["topics"], config["sql.topic"]) == ("orders", "late")
    assert (config["sql.query"], config["sql.kind"]) == (query, "streaming-table")
    with pytest.raises(SqlError, match="late is there already"):
        session.run(f"CREATE STREAMING TABLE late AS {query}", Form.TABLE, printer)
    for wrong in ("count(*) FROM STREAM orders", "* FROM STREAM orders ORDER BY 1"):
        with pytest.raises(SqlError, match="each record by itself"):
            session.run(f"CREATE STREAMING TABLE u AS SELECT {wrong}", Form.TABLE, printer)
    view = "CREATE MATERIALIZED VIEW totals AS SELECT count(*) AS n FROM orders GROUP BY _key"
    session.run(view, Form.TABLE, printer)
    assert asked[-1]["config"]["sql.query"].endswith("GROUP BY _key")
    session.close()
    elsewhere = RemoteSession(SqlSettings(bootstrap, worker=f"{url}/other"), environment)
    with pytest.raises(SqlError, match=r"one of another cluster \(another, this one is "):
        elsewhere.run(f"CREATE STREAMING TABLE far AS {query}", Form.TABLE, printer)
    elsewhere.close()
    assert len(asked) == 3
