"""DuckDB reads the files of the Parquet sink while they are written, and after kills."""

import random
import subprocess
import sys
import time
from pathlib import Path

import duckdb

from tests.connect.lake.endless_writer import PARTITIONS, ROWS

PROJECT = Path(__file__).resolve().parents[3]
KILLS = 4
SEED = 16
LIMIT_S = 120


def start(path: Path) -> "subprocess.Popen[bytes]":
    command = [sys.executable, "-m", "tests.connect.lake.endless_writer", str(path)]
    return subprocess.Popen(command, cwd=PROJECT)


def rows(path: Path) -> list[int]:
    """The ids that a query sees: no file is half, and no row is there twice."""
    if not any(path.glob("orders/*.parquet")):
        return []
    query = "SELECT id, item FROM read_parquet(?)"
    with duckdb.connect() as connection:
        found = connection.execute(query, [f"{path}/orders/*.parquet"]).fetchall()
    ids = [each for each, _ in found]
    assert len(set(ids)) == len(ids)
    assert all(item == f"item {each // PARTITIONS}" for each, item in found)
    return ids


def test_rows_appear_once_while_the_sink_writes_and_is_killed(tmp_path: Path) -> None:
    chance = random.Random(SEED)
    for kill in range(KILLS):
        wanted = len(rows(tmp_path)) + chance.randint(1, 5) * PARTITIONS * ROWS
        writer = start(tmp_path)
        try:
            deadline_s = time.monotonic() + LIMIT_S
            while len(rows(tmp_path)) < wanted:
                assert writer.poll() is None, f"the sink failed after {kill} kills"
                assert time.monotonic() < deadline_s, "the sink does not write"
        finally:
            writer.kill()
            writer.wait()
    # Files are moved in the order of their offsets: the last kill left a gap in no partition.
    ids = rows(tmp_path)
    for each in range(PARTITIONS):
        numbers = sorted(found // PARTITIONS for found in ids if found % PARTITIONS == each)
        assert numbers == list(range(len(numbers)))
