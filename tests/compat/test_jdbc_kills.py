"""The sink of tables is exactly once: it and PostgreSQL are killed at random moments.

``KILLS=30`` kills more often than three times each; ``KILL_SEED`` repeats a run.
"""

import random
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.compat.kills import KILLS, REPEAT, SEED
from tests.compat.postgres_server import HOST, PostgresServer

PROJECT = Path(__file__).resolve().parents[2]
COUNT = 20_000
LIMIT_S = 240
QUERY = "SELECT count(*), count(DISTINCT n), min(n), max(n) FROM numbers"
STAGES = "SELECT count(*) FROM pg_class WHERE starts_with(relname, '_moldau')"

pytestmark = pytest.mark.timeout(900 + 30 * KILLS)


def start(url: str, rng: random.Random) -> subprocess.Popen[bytes]:
    arguments = [url, str(COUNT), str(rng.randrange(10**6))]
    command = [sys.executable, "-m", "tests.compat.sink_driver", *arguments]
    return subprocess.Popen(command, cwd=PROJECT)


def torment(url: str, rng: random.Random, crash: Callable[[], None]) -> None:
    """Kill the sink, or what it writes to, again and again; then let it finish."""
    process = start(url, rng)
    killed = 0
    try:
        for number in range(2 * KILLS):
            # A start takes a second or so; what matters comes after it.
            time.sleep(rng.uniform(0.5, 2.5))
            if number % 2:
                crash()
            if process.poll() is None:
                process.kill()
                killed += 1
            process.wait()
            process = start(url, rng)
        assert process.wait(timeout=LIMIT_S) == 0
        assert killed > KILLS // 2
    finally:
        process.kill()
        process.wait()


def test_postgresql_has_every_record_once() -> None:
    rng = random.Random(SEED)
    with PostgresServer(fsync="on") as server:

        def crash() -> None:
            server.kill()
            # The sink keeps trying meanwhile.
            time.sleep(rng.uniform(0, 0.5))
            server.start()

        url = f"jdbc:postgresql://{HOST}:{server.port}/postgres?user=postgres"
        torment(url, rng, crash)
        with server.connect("postgres") as connection:
            row = connection.execute(QUERY).fetchone()
            assert row == (2 * COUNT, 2 * COUNT, 0, 2 * COUNT - 1), REPEAT
            assert connection.execute(STAGES).fetchone() == (0,)


def test_sqlite_has_every_record_once(tmp_path: Path) -> None:
    path = tmp_path / "numbers.db"
    torment(f"jdbc:sqlite:{path}", random.Random(SEED), lambda: None)
    with sqlite3.connect(path) as connection:
        row = connection.execute(QUERY).fetchone()
    assert row == (2 * COUNT, 2 * COUNT, 0, 2 * COUNT - 1), REPEAT
