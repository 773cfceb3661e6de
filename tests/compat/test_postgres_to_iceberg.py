"""The example from PostgreSQL to Iceberg: its file and its page, with servers of their own."""

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from tools.brokers import free_port

from tests.compat.postgres_server import HOST, PostgresServer
from tests.running import RunningBroker

catalogs = pytest.importorskip("pyiceberg.catalog", reason="pyiceberg is not installed")
pytest.importorskip("pyspark", reason="pyspark is not installed")

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
LIMIT_S = 240


def blocks(language: str) -> list[str]:
    page = (EXAMPLES / "README.md").read_text()
    return re.findall(rf"```{language}\n(.*?)```", page, re.DOTALL)


def configure(folder: Path, bootstrap: str, postgres_port: int) -> list[str]:
    """The example with other addresses; the command of the page with these files."""
    port = free_port()
    example = (EXAMPLES / "postgres-to-iceberg.json").read_text()
    for place, ours in (("localhost", HOST), ("5432", str(postgres_port)), ("/tmp/lake", "LAKE")):
        assert place in example
        example = example.replace(place, ours)
    (folder / "pipeline.json").write_text(example.replace("LAKE", str(folder)))
    (folder / "worker.properties").write_text(
        f"bootstrap.servers={bootstrap}\n"
        "key.converter=org.apache.kafka.connect.json.JsonConverter\n"
        "value.converter=org.apache.kafka.connect.json.JsonConverter\n"
        f"offset.storage.file.filename={folder}/offsets\n"
        f"listeners=http://{HOST}:{port}\n"
    )
    command = [sys.executable, "-m", "moldau", "connect", "standalone"]
    return [*command, str(folder / "worker.properties"), str(folder / "pipeline.json")]


@contextmanager
def running(command: list[str], log: Path) -> Iterator[None]:
    """The worker; its JVM and Python processes end with it."""
    with log.open("a") as file:
        worker = subprocess.Popen(command, stdout=file, stderr=file, start_new_session=True)
    try:
        yield
    finally:
        os.killpg(worker.pid, signal.SIGKILL)
        worker.wait()


def rows(folder: Path) -> list[dict[str, Any]]:
    """The rows in the order of the changes; a change that the source repeats counts once."""
    options = {"uri": f"sqlite:///{folder}/catalog.db", "warehouse": f"file://{folder}"}
    catalog = catalogs.load_catalog("lake", type="sql", **options)
    if not catalog.table_exists("shop.orders"):
        return []
    found = catalog.load_table("shop.orders").scan().to_arrow().to_pylist()
    # The log may not have moved between the snapshot and the first change.
    changes = {(row["__lsn"], row["__op"] != "r", row["id"]): row for row in found}
    return [changes[place] for place in sorted(changes)]


def wait_for_rows(folder: Path, count: int) -> list[dict[str, Any]]:
    deadline_s = time.monotonic() + LIMIT_S
    while len(found := rows(folder)) < count:
        log = (folder / "worker.log").read_text()
        assert time.monotonic() < deadline_s, f"{found}\n{log[-3000:]}"
        time.sleep(0.5)
    return found


@pytest.mark.timeout(4 * LIMIT_S)
def test_every_insert_update_and_delete_is_a_row(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before, after = blocks("sql")
    with PostgresServer() as server, RunningBroker(tmp_path / "data") as broker:
        server.create_database("shop")
        server.run("shop", before)
        command = configure(tmp_path, broker.bootstrap, server.port)
        with running(command, tmp_path / "worker.log"):
            wait_for_rows(tmp_path, 2)
            server.run("shop", after)
            wait_for_rows(tmp_path, 4)
        # The worker was killed with -9. It goes on, with a column that is new.
        server.run("shop", "ALTER TABLE orders ADD COLUMN note text")
        server.run("shop", "INSERT INTO orders VALUES (3, 'ink', NULL, NULL, 'blue')")
        with running(command, tmp_path / "worker.log"):
            found = wait_for_rows(tmp_path, 5)
    seen = [(row["__op"], row["id"], row["item"], row["amount"], row["__deleted"]) for row in found]
    assert [(op, key, item, str(amount), deleted) for op, key, item, amount, deleted in seen] == [
        ("r", 1, "pen", "1.50", "false"),
        ("r", 2, "book", "20.00", "false"),
        ("u", 2, "book", "25.00", "false"),
        ("d", 1, "pen", "1.50", "true"),
        ("c", 3, "ink", "None", "false"),
    ]
    assert [row["note"] for row in found] == [None, None, None, None, "blue"]
    assert found[0]["placed"].isoformat() == "2026-01-02T10:00:00+00:00"
    [program] = blocks("python")
    exec(program.replace("/tmp/lake", str(tmp_path)), {})
    assert "book" in capsys.readouterr().out
