"""Connectors of PostgreSQL: changes captured by ours and by Debezium, and rows written by our sink.

Each side captures a database of its own, of one server, to a broker that both share, which is
Moldau: so "Moldau" in the table means our connector in ``moldau connect worker`` here, and "Apache
Kafka" means Debezium's in Apache's worker. CPU seconds are those of the worker with all its
processes, without those of PostgreSQL and of the broker.
"""

import contextlib
import json
import os
import shutil
import tempfile
import time
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from tools.brokers import HOST, PROJECT, Broker
from tools.postgres_server import NotInstalledError, PostgresServer

from benchmarks.clients import UnavailableError, encode_records, raw_produce
from benchmarks.connect_workers import ApacheWorker, MoldauWorker, Worker, worker_settings
from benchmarks.meter import usage
from benchmarks.rows import Figures, Workbench
from moldau.client.admin import Admin
from moldau.client.offsets import LATEST
from moldau.errors import ApiError
from moldau.ids import TopicPartition

CAPTURE = "io.debezium.connector.postgresql.PostgresConnector"
SINK = "io.confluent.connect.jdbc.JdbcSinkConnector"
JSON = "org.apache.kafka.connect.json.JsonConverter"
LIMIT_S = 600.0
STEP_S = 0.02
# Of the bytes of other rows.
CHANGE_BYTES = 2_000
INSERT_BYTES = 600
# A share of the changes comes first and is not measured: what a worker loads and compiles.
WARM_UP_SHARE = 0.25
ROWS_PER_TRANSACTION = 100
BATCH_RECORDS = 100
PARTITIONS = 4
TABLE = "CREATE TABLE t (id bigint PRIMARY KEY, name text, price numeric(12, 2), at timestamptz)"
# Half of the changes each.
CHANGES = """
DO $$ BEGIN FOR i IN {first}..{last} LOOP
  INSERT INTO t SELECT n, 'the name of number ' || n, n / 100.0, now()
    FROM generate_series(i * {rows}, i * {rows} + {rows} - 1) n;
  COMMIT;
  UPDATE t SET price = price + 1 WHERE id BETWEEN i * {rows} AND i * {rows} + {rows} - 1;
  COMMIT;
END LOOP; END $$
"""


class DatabaseRow(NamedTuple):
    """One measurement, for each side."""

    name: str
    sides: Sequence[str]
    measure: Callable[["DatabaseBench", str], Figures]
    targets: Sequence[tuple[str, str, float]] = ()
    floors: Mapping[str, float] = {}


def database_rows() -> list[DatabaseRow]:
    at_least = [("changes_cpu_s", "at least", 3.0)]
    both = ("moldau", "kafka")
    return [
        DatabaseRow(
            "PostgreSQL capture, JSON with schemas, by ours and by Debezium",
            both,
            lambda bench, side: bench.capture(side, has_schemas=True),
            at_least,
        ),
        DatabaseRow(
            "PostgreSQL capture, JSON without schemas, by ours and by Debezium",
            both,
            lambda bench, side: bench.capture(side, has_schemas=False),
            at_least,
        ),
        DatabaseRow(
            "JDBC sink to PostgreSQL, insert",
            ("moldau",),
            lambda bench, _: bench.sink({}),
            floors={"inserts_s": 50_000},
        ),
        DatabaseRow(
            "JDBC sink to PostgreSQL, upsert by topic, partition and offset",
            ("moldau",),
            lambda bench, _: bench.sink({"insert.mode": "upsert", "pk.mode": "kafka"}),
        ),
    ]


def debezium_jars() -> list[Path]:
    """The jars of Debezium's connector; logging is that of the worker."""
    folder = Path(os.environ.get("DEBEZIUM_DIR") or PROJECT / ".cache" / "debezium")
    return [jar for jar in sorted(folder.glob("jars/*.jar")) if not jar.name.startswith("slf4j")]


class DatabaseBench:
    """A server, a broker, and a worker of each kind, started when it is needed."""

    def __init__(self, bench: Workbench, broker: Broker, folder: Path) -> None:
        self._bench = bench
        self._broker = broker
        self._folder = folder
        self._running = contextlib.ExitStack()
        self._workers: dict[str, Worker] = {}
        self._admin = self._running.enter_context(Admin(broker.bootstrap))
        try:
            self._server = self._running.enter_context(PostgresServer(shared_buffers="256MB"))
        except NotInstalledError as error:
            raise UnavailableError(str(error)) from None

    def close(self) -> None:
        self._running.close()

    def _worker(self, side: str) -> Worker:
        if side not in self._workers:
            settings = worker_settings(self._broker.bootstrap, f"bench-{side}")
            worker: Worker
            if side == "moldau":
                worker = MoldauWorker(self._folder / side, settings)
            else:
                jars = debezium_jars()
                if not jars:
                    raise UnavailableError("Debezium is not installed (tools/install-debezium)")
                worker = ApacheWorker(self._folder / side, settings)
                place = worker.directory / "plugins" / "debezium"
                place.mkdir(parents=True)
                for jar in jars:
                    shutil.copy(jar, place)
            self._workers[side] = self._running.enter_context(worker)
        return self._workers[side]

    def capture(self, side: str, *, has_schemas: bool) -> Figures:
        """Inserts and updates of a table, while they happen, as fast as they can be written."""
        worker = self._worker(side)
        name = f"bench_{uuid.uuid4().hex[:8]}"
        self._server.create_database(name)
        self._server.run(name, TABLE)
        flag = str(has_schemas).lower()
        config = {
            "connector.class": CAPTURE,
            "database.hostname": HOST,
            "database.port": str(self._server.port),
            "database.user": "postgres",
            "database.password": "unused",
            "database.dbname": name,
            "topic.prefix": name,
            "plugin.name": "pgoutput",
            "slot.name": name,
            "slot.drop.on.stop": "true",
            "key.converter": JSON,
            "value.converter": JSON,
            "key.converter.schemas.enable": flag,
            "value.converter.schemas.enable": flag,
        }
        worker.create(name, config)
        try:
            worker.wait_until_running([name])
            return self._captured(worker, name)
        finally:
            worker.delete(name)
            self._admin.delete_topics([f"{name}.public.t"])

    def _captured(self, worker: Worker, name: str) -> Figures:
        self._wait(worker, lambda: self._has_slot(name), 1)
        transactions = self._bench.amounts.throughput_bytes // CHANGE_BYTES // ROWS_PER_TRANSACTION
        rounds = max(transactions // 2, 2)
        warm_up = int(rounds * WARM_UP_SHARE)
        partition = TopicPartition(f"{name}.public.t", 0)

        def written() -> int:
            try:
                return self._admin.list_offsets({partition: LATEST})[partition].offset
            except ApiError:
                return 0

        self._change(name, 1, warm_up)
        first = 2 * ROWS_PER_TRANSACTION * warm_up
        self._wait(worker, written, first)
        before, server_before = usage(worker.pid), usage(self._server.pid)
        began = time.monotonic()
        self._change(name, warm_up + 1, rounds)
        last = 2 * ROWS_PER_TRANSACTION * rounds
        self._wait(worker, written, last)
        seconds = time.monotonic() - began
        changes = last - first
        cpu_s = usage(worker.pid).cpu_s - before.cpu_s
        server_s = usage(self._server.pid).cpu_s - server_before.cpu_s
        return {
            "changes_cpu_s": changes / cpu_s,
            "changes_s": changes / seconds,
            "server_cpu_s": server_s / changes * 1e6,
        }

    def _change(self, name: str, first: int, last: int) -> None:
        block = CHANGES.format(first=first, last=last, rows=ROWS_PER_TRANSACTION)
        with self._server.connect(name) as connection:
            connection.execute(block.encode())

    def _has_slot(self, name: str) -> int:
        query = "SELECT count(*) FROM pg_replication_slots WHERE slot_name = %s"
        with self._server.connect("postgres") as connection:
            row = connection.execute(query, (name,)).fetchone()
        return 0 if row is None else int(row[0])

    def sink(self, options: Mapping[str, str]) -> Figures:
        """Records of a topic to a table, in the order of their arrival."""
        worker = self._worker("moldau")
        count = self._bench.amounts.throughput_bytes // INSERT_BYTES // PARTITIONS
        batches = max(count // BATCH_RECORDS, 1)
        name = f"bench_{uuid.uuid4().hex[:8]}"
        with (
            self._bench.topic(self._broker, PARTITIONS) as topic,
            self._server.connect("postgres") as connection,
        ):

            def written() -> int:
                row = connection.execute("SELECT to_regclass(%s) IS NULL", (name,)).fetchone()
                if row is None or row[0]:
                    return 0
                row = connection.execute(f"SELECT count(*) FROM {name}".encode()).fetchone()
                return 0 if row is None else int(row[0])

            config = {
                "connector.class": SINK,
                "topics": topic,
                "connection.url": f"jdbc:postgresql://{HOST}:{self._server.port}/postgres"
                "?user=postgres",
                "table.name.format": name,
                "auto.create": "true",
                "value.converter": JSON,
                **options,
            }
            worker.create(name, config)
            try:
                worker.wait_until_running([name])
                first = self._fill(topic, max(int(batches * WARM_UP_SHARE), 1))
                self._wait(worker, written, first)
                before, began = usage(worker.pid), time.monotonic()
                more = self._fill(topic, batches)
                self._wait(worker, written, first + more)
                seconds = time.monotonic() - began
                cpu_s = usage(worker.pid).cpu_s - before.cpu_s
            finally:
                worker.delete(name)
        return {"inserts_s": more / seconds, "inserts_cpu_s": more / cpu_s}

    def _fill(self, topic: str, batches: int) -> int:
        batch = encode_records([(None, _value(number)) for number in range(BATCH_RECORDS)])
        for partition in range(PARTITIONS):
            raw_produce(self._broker.port, topic, batch, batches, partition=partition)
        return batches * BATCH_RECORDS * PARTITIONS

    def _wait(self, worker: Worker, reached: Callable[[], int], count: int) -> None:
        deadline_s = time.monotonic() + LIMIT_S
        while (now := reached()) < count:
            if time.monotonic() > deadline_s:
                raise RuntimeError(
                    f"{now:,} of {count:,} after {LIMIT_S:g} s:\n{worker.log_tail()}"
                )
            time.sleep(STEP_S)
        if now > count:
            raise RuntimeError(f"{now:,} instead of {count:,}")


def _value(number: int) -> bytes:
    """A row as JSON with its schema."""
    fields = [
        {"type": "int64", "optional": False, "field": "id"},
        {"type": "string", "optional": True, "field": "name"},
        {"type": "double", "optional": True, "field": "price"},
    ]
    row = {"id": number, "name": f"the name of number {number}", "price": number / 100}
    schema = {"type": "struct", "fields": fields, "optional": False, "name": "row"}
    return json.dumps({"schema": schema, "payload": row}).encode()


@contextlib.contextmanager
def database_bench(bench: Workbench, broker: Broker) -> Iterator[DatabaseBench]:
    folder = Path(tempfile.mkdtemp(prefix="moldau-database-bench-"))
    try:
        with contextlib.closing(DatabaseBench(bench, broker, folder)) as running:
            yield running
    finally:
        shutil.rmtree(folder, ignore_errors=True)
