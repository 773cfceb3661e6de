"""The capture misses nothing and repeats nothing: it and PostgreSQL are killed at random moments.

``KILLS=30`` kills more often than three times each; ``KILL_SEED`` repeats a run.
"""

import json
import random
import sqlite3
import subprocess
import sys
import threading
import time
from collections import Counter
from pathlib import Path
from typing import Any

import psycopg
import pytest

from tests.compat.kills import KILLS, REPEAT, SEED
from tests.compat.postgres_server import HOST, PostgresServer

PROJECT = Path(__file__).resolve().parents[2]
LIMIT_S = 120


class Writer(threading.Thread):
    """Changes rows, in transactions of some statements, until it is stopped."""

    def __init__(self, server: PostgresServer, seed: int) -> None:
        super().__init__(daemon=True)
        self._server = server
        self._rng = random.Random(seed)
        self.is_stopped = threading.Event()

    def run(self) -> None:
        while not self.is_stopped.is_set():
            try:
                with self._server.connect("postgres") as connection:
                    while not self.is_stopped.is_set():
                        with connection.transaction():
                            for _ in range(self._rng.randint(1, 8)):
                                self._change(connection)
                        time.sleep(0.002)
            except psycopg.Error:
                # The server is down.
                time.sleep(0.05)

    def _change(self, connection: psycopg.Connection[Any]) -> None:
        key, value = self._rng.randrange(50), self._rng.randrange(10**6)
        match self._rng.randrange(4):
            case 0:
                connection.execute("DELETE FROM t WHERE id = %s", (key,))
            case 1:
                connection.execute(
                    "UPDATE t SET id = %s WHERE id = %s AND NOT EXISTS "
                    "(SELECT 1 FROM t WHERE id = %s)",
                    (key + 1, key, key + 1),
                )
            case _:
                connection.execute(
                    "INSERT INTO t VALUES (%s, %s) ON CONFLICT (id) DO UPDATE SET v = excluded.v",
                    (key, value),
                )


def start(path: Path, config: dict[str, str]) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "tests.compat.capture_driver", str(path), json.dumps(config)]
    return subprocess.Popen(command, cwd=PROJECT)


def log_of(path: Path) -> list[dict[str, Any]]:
    with sqlite3.connect(path, timeout=120) as connection:
        return [json.loads(text) for (text,) in connection.execute("SELECT change FROM log")]


def state_of(log: list[dict[str, Any]]) -> dict[int, int]:
    """The rows that the changes add up to."""
    rows: dict[int, int] = {}
    for change in log:
        if change["after"] is None:
            rows.pop(change["key"]["id"], None)
        else:
            rows[change["key"]["id"]] = change["after"]["v"]
    return rows


@pytest.mark.timeout(900 + 30 * KILLS)
def test_every_change_is_captured_once(tmp_path: Path) -> None:
    rng = random.Random(SEED)
    path = tmp_path / "log.db"
    with PostgresServer(fsync="on") as server:
        server.run("postgres", "CREATE TABLE t (id int PRIMARY KEY, v int)")
        server.run("postgres", "INSERT INTO t SELECT n, n FROM generate_series(1, 30) n")
        config = {
            "database.hostname": HOST,
            "database.port": str(server.port),
            "database.dbname": "postgres",
            "topic.prefix": "srv",
            "max.batch.size": "20",
            "poll.interval.ms": "10",
            "retriable.restart.connector.wait.ms": "50",
            "errors.max.retries": "-1",
        }
        writer = Writer(server, SEED)
        writer.start()
        process = start(path, config)
        try:
            for number in range(2 * KILLS):
                time.sleep(rng.uniform(1.0, 3.0))
                if number % 2:
                    server.kill()
                    server.start()
                else:
                    process.kill()
                    process.wait()
                    process = start(path, config)
            writer.is_stopped.set()
            writer.join()
            with server.connect("postgres") as connection:
                wanted = dict(connection.execute("SELECT id, v FROM t").fetchall())
            # It may have much to catch up with, but must get on with it.
            length, deadline = 0, time.monotonic() + LIMIT_S
            while state_of(log := log_of(path)) != wanted:
                if len(log) > length:
                    length, deadline = len(log), time.monotonic() + LIMIT_S
                assert time.monotonic() < deadline, f"{REPEAT}: stuck after {length} changes"
                assert process.poll() is None, REPEAT
                time.sleep(0.5)
        finally:
            process.kill()
            process.wait()
    log = log_of(path)
    streamed = [json.dumps(change) for change in log if change["op"] != "r"]
    assert len(streamed) > 100
    repeated = [change for change, times in Counter(streamed).items() if times > 1]
    assert repeated == [], REPEAT
