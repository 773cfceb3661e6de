"""One broker, one schema registry and one warm process for all tests of SQL that need Spark.

The topics are the same for all of them, with fixed timestamps, so that outputs can be compared as
text. Tests that write use topics of their own.
"""

import io
import json
import os
import shutil
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, NamedTuple

import fastavro
import pytest

from moldau.client.admin import Admin
from moldau.client.producer import Producer
from moldau.spark.errors import PipelineError
from moldau.sql import client
from moldau.sql.client import RemoteSession
from moldau.sql.errors import SqlError, show_error
from moldau.sql.output import Printer
from moldau.sql.results import Form
from moldau.sql.settings import SqlSettings
from tests.running import RunningBroker

START_MS = 1_700_000_000_000
CUSTOMERS = ("ann", "bob", "eve")


class Registry(NamedTuple):
    """A schema registry as far as reading needs one."""

    url: str
    schemas: dict[int, Any]
    subjects: dict[str, int]


@pytest.fixture(scope="session")
def registry() -> Iterator[Registry]:
    schemas: dict[int, Any] = {}
    subjects: dict[str, int] = {}

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            parts = self.path.strip("/").split("/")
            found: dict[str, Any] | None = None
            if parts[:2] == ["schemas", "ids"] and int(parts[2]) in schemas:
                found = {"schema": json.dumps(schemas[int(parts[2])])}
            elif parts[0] == "subjects" and parts[1] in subjects:
                number = subjects[parts[1]]
                found = {"id": number, "schema": json.dumps(schemas[number])}
            body = json.dumps(found or {"error_code": 40403, "message": "not found"}).encode()
            self.send_response(200 if found else 404)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield Registry(f"http://127.0.0.1:{server.server_port}", schemas, subjects)
    server.shutdown()
    server.server_close()


def avro(number: int, schema: Any, value: Any) -> bytes:
    """A value as Confluent's serializers write it."""
    encoded = io.BytesIO()
    fastavro.schemaless_writer(encoded, fastavro.parse_schema(schema), value)
    return b"\0" + number.to_bytes(4, "big") + encoded.getvalue()


def record(name: str, **fields: Any) -> dict[str, Any]:
    """The schema of a record."""
    return {
        "type": "record",
        "name": name,
        "fields": [{"name": each, "type": kind} for each, kind in fields.items()],
    }


@pytest.fixture(scope="session")
def bootstrap(tmp_path_factory: pytest.TempPathFactory, registry: Registry) -> Iterator[str]:
    # Records that are dated back are not to go in the middle of a test.
    settings = {"log.retention.ms": "-1", "group.initial.rebalance.delay.ms": "0"}
    with RunningBroker(tmp_path_factory.mktemp("sql") / "data", settings) as running:
        _fill(running.bootstrap, registry)
        yield running.bootstrap


def _fill(bootstrap: str, registry: Registry) -> None:
    topics = {"orders": 2, "logs.app-1": 1, "payments": 1, "mixed": 1, "empty": 1, "raw": 1}
    with Admin(bootstrap) as admin:
        for name, partitions in {**topics, "two-kinds": 1, "written": 1, "live": 1}.items():
            admin.create_topic(name, partitions)
    first = record("Payment", id="long", amount="double")
    second = record("Payment", id="long", amount="double", currency=["null", "string"])
    second["fields"][2]["default"] = None
    registry.schemas.update({1: first, 2: second, 3: record("Other", text="string")})
    registry.subjects["payments-value"] = 2
    with Producer(bootstrap) as producer:

        def send(topic: str, value: bytes | None, number: int, **more: Any) -> None:
            producer.send(topic, value, timestamp=START_MS + 1000 * number, **more)

        for i in range(10):
            order = {"customer": CUSTOMERS[i % 3], "amount": 1.5 * i, "items": [{"sku": f"s{i}"}]}
            value = json.dumps(order).encode()
            send("orders", value, i, key=b"k%d" % i, partition=i % 2)
            send("logs.app-1", b"line %d" % i, i, headers=[("level", b"info")])
        send("payments", avro(1, first, {"id": 1, "amount": 2.5}), 0, key=b"a")
        send("payments", avro(2, second, {"id": 2, "amount": 3.5, "currency": "EUR"}), 1)
        send("payments", None, 2, key=b"a")
        for i, value in enumerate((b'{"a": 1}', b"oops", b'{"a": "x"}')):
            send("mixed", value, i)
        send("raw", b"\xff\xfe", 0)
        send("two-kinds", avro(1, first, {"id": 1, "amount": 2.5}), 0)
        send("two-kinds", avro(3, registry.schemas[3], {"text": "hello"}), 1)


@pytest.fixture(scope="session")
def environment() -> Iterator[Mapping[str, str]]:
    """The environment of clients; the process that they start ends with the tests."""
    from moldau.spark.session import require_spark

    try:
        require_spark()
    except PipelineError as reason:
        pytest.skip(str(reason))
    # Paths of Unix sockets are short, those of pytest's directories are not.
    directory = tempfile.mkdtemp(prefix="msql")
    variables = {**os.environ, "XDG_RUNTIME_DIR": directory, "TZ": "UTC"}
    variables |= {"XDG_STATE_HOME": directory, "MOLDAU_SQL_IDLE_S": "300"}
    yield variables
    client.stop(variables)
    shutil.rmtree(directory)


Sql = Callable[..., str]


@pytest.fixture(scope="session")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with a Parquet file, in which the user is."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    directory = tmp_path_factory.mktemp("files")
    table = pa.table({"name": list(CUSTOMERS), "city": ["Prague", "Brno", "Plzen"]})
    pq.write_table(table, directory / "customers.parquet")
    return directory


@pytest.fixture
def sql(
    bootstrap: str, registry: Registry, environment: Mapping[str, str], files: Path
) -> Iterator[Sql]:
    """Runs a statement in one session and returns what the user sees."""
    settings = SqlSettings(
        bootstrap, registry=registry.url, directory=str(files), worker="http://127.0.0.1:1"
    )
    session = RemoteSession(settings, environment)

    def run(statement: str, form: Form = Form.TABLE) -> str:
        shown = io.StringIO()
        printer = Printer(form, shown, shown)
        printer.begin()
        try:
            session.run(statement, form, printer)
        except SqlError as error:
            printer.end()
            return shown.getvalue() + show_error(error, statement) + "\n"
        printer.end()
        return shown.getvalue()

    yield run
    session.close()
