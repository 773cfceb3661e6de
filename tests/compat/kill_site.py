"""A standalone worker that captures from PostgreSQL and writes to every kind of sink, and what
arrives there: each with a reader that is not ours, where there is one.
"""

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Self

import psycopg
from tools.brokers import HOST, free_port

from moldau.client.consumer import Consumer
from moldau.client.offsets import LATEST
from moldau.config.properties import format_properties
from tests.compat.postgres_server import PostgresServer
from tests.compat.processes import command_of, descendants

TOPIC = "numbers"
CAPTURED = "captured.public.changes"
JSON = "org.apache.kafka.connect.json.JsonConverter"
PATIENT = {
    # A database that is down for a while is no reason to fail.
    "moldau.sink.retry.timeout.ms": "-1",
    "retry.backoff.ms": "200",
}


class HttpTarget:
    """Takes what is posted, but says now and then that it is busy. Use as a context manager."""

    def __init__(self) -> None:
        self.ids: list[int] = []
        self._requests = 0
        target = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                target._requests += 1
                is_busy = target._requests % 20 == 0
                if not is_busy:
                    target.ids += [each["id"] for each in body]
                self.send_response(503 if is_busy else 200)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, format: str, *args: Any) -> None:
                pass

        self._server = ThreadingHTTPServer((HOST, 0), Handler)
        self.url = f"http://{HOST}:{self._server.server_port}/"

    def __enter__(self) -> Self:
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()


class KillSite:
    """The worker and its targets."""

    def __init__(
        self, folder: Path, bootstrap: str, postgres: PostgresServer, http: HttpTarget
    ) -> None:
        self._folder = folder
        self._bootstrap = bootstrap
        self._postgres = postgres
        self._http = http
        self._process: subprocess.Popen[bytes] | None = None
        self._command = [sys.executable, "-m", "moldau", "connect", "standalone"]
        for name, settings in {"worker": self._worker(), **self._connectors()}.items():
            path = folder / f"{name}.properties"
            path.write_text(format_properties(settings))
            self._command.append(str(path))

    def _worker(self) -> dict[str, str]:
        return {
            "bootstrap.servers": self._bootstrap,
            "key.converter": "org.apache.kafka.connect.storage.StringConverter",
            "value.converter": JSON,
            "offset.storage.file.filename": f"{self._folder}/offsets",
            "listeners": f"http://{HOST}:{free_port()}",
            "moldau.trigger.ms": "100",
        }

    def _connectors(self) -> dict[str, dict[str, str]]:
        database = f"{HOST}:{self._postgres.port}/postgres?user=postgres"
        catalog = {f"iceberg.catalog.{name}": value for name, value in self._catalog().items()}
        sinks = {
            "parquet": {"class": "ParquetSink", "path": f"{self._folder}/parquet"},
            "delta": {"class": "DeltaSink", "path": f"{self._folder}/delta"},
            "iceberg": {
                "class": "IcebergSink",
                "iceberg.tables": f"lake.{TOPIC}",
                "iceberg.tables.auto-create-enabled": "true",
                **catalog,
            },
            "postgresql": {
                "class": "JdbcSink",
                "connection.url": f"jdbc:postgresql://{database}",
                "auto.create": "true",
                **PATIENT,
            },
            "http": {"class": "HttpSink", "url": self._http.url, "batch.size": "100", **PATIENT},
        }
        made = {}
        for name, options in sinks.items():
            kind = f"io.moldau.connect.{options.pop('class')}"
            common = {"name": name, "connector.class": kind, "topics": TOPIC}
            made[name] = {**common, "moldau.batch.max.records": "500", **options}
        made["capture"] = {
            "name": "capture",
            "connector.class": "io.moldau.connect.PostgresSource",
            "database.hostname": HOST,
            "database.port": str(self._postgres.port),
            "database.user": "postgres",
            "database.dbname": "postgres",
            "topic.prefix": "captured",
            "table.include.list": "public.changes",
            "poll.interval.ms": "50",
            "retriable.restart.connector.wait.ms": "100",
            "errors.max.retries": "-1",
        }
        return made

    def _catalog(self) -> dict[str, str]:
        where = f"file://{self._folder}/warehouse"
        return {"type": "sql", "uri": f"sqlite:///{self._folder}/catalog.db", "warehouse": where}

    # -- processes ----------------------------------------------------------------------------

    def start(self) -> None:
        with (self._folder / "worker.log").open("ab") as log:
            self._process = subprocess.Popen(
                self._command, stdout=log, stderr=log, cwd=self._folder, start_new_session=True
            )

    def log(self) -> str:
        return (self._folder / "worker.log").read_text(errors="replace")[-3000:]

    def kill_worker(self) -> None:
        """The worker, its JVM and the Python processes of Spark, all at once."""
        self.stop()
        self.start()

    def kill_jvm(self) -> None:
        for pid in self._children():
            if "org.apache.spark.deploy.SparkSubmit" in command_of(pid):
                _kill(pid)

    def kill_python_workers(self) -> None:
        for pid in self._children():
            if "pyspark" in command_of(pid) and "SparkSubmit" not in command_of(pid):
                _kill(pid)

    def kill_database(self) -> None:
        self._postgres.kill()
        self._postgres.start()

    def stop(self) -> None:
        if self._process is None:
            return
        children = self._children()
        os.killpg(self._process.pid, signal.SIGKILL)
        for pid in children:
            _kill(pid)
        self._process.wait()
        self._process = None

    def _children(self) -> list[int]:
        return [] if self._process is None else descendants(self._process.pid)

    # -- what arrived -------------------------------------------------------------------------

    def readers(self) -> dict[str, Callable[[], list[int]]]:
        """The ids that are in each target."""
        return {
            "parquet": self._parquet,
            "delta": self._delta,
            "iceberg": self._iceberg,
            "postgresql": self._table,
            "http": lambda: list(self._http.ids),
            "capture": self._captured,
        }

    def _parquet(self) -> list[int]:
        import duckdb

        path = self._folder / "parquet" / TOPIC
        if not list(path.glob("*.parquet")):
            return []
        with duckdb.connect() as connection:
            rows = connection.execute("SELECT id FROM read_parquet(?)", [f"{path}/*.parquet"])
            return [number for (number,) in rows.fetchall()]

    def _delta(self) -> list[int]:
        from deltalake import DeltaTable

        path = str(self._folder / "delta")
        return _ids(DeltaTable(path).to_pyarrow_table()) if DeltaTable.is_deltatable(path) else []

    def _iceberg(self) -> list[int]:
        from pyiceberg.catalog import load_catalog

        catalog = load_catalog("iceberg", **self._catalog())
        if not catalog.table_exists(f"lake.{TOPIC}"):
            return []
        return _ids(catalog.load_table(f"lake.{TOPIC}").scan().to_arrow())

    def _table(self) -> list[int]:
        with self._postgres.connect("postgres") as connection:
            try:
                return [number for (number,) in connection.execute(f"SELECT id FROM {TOPIC}")]
            except psycopg.errors.UndefinedTable:
                return []

    def _captured(self) -> list[int]:
        with Consumer(self._bootstrap) as consumer:
            partitions = consumer.partitions_of(CAPTURED)
            ends = consumer.offsets_at(dict.fromkeys(partitions, LATEST))
            consumer.assign(dict.fromkeys(partitions, 0))
            found: list[bytes] = []
            while any(consumer.positions[each] < end for each, end in ends.items()):
                found += [record.value or b"" for record in consumer.poll(1.0)]
        return [json.loads(value)["payload"]["after"]["id"] for value in found]


def _ids(table: Any) -> list[int]:
    found: list[int] = table["id"].to_pylist() if "id" in table.column_names else []
    return found


def _kill(pid: int) -> None:
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        # It ended with another one.
        return
