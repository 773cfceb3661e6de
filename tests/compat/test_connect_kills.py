"""A worker with every kind of sink and a capture: the worker, its JVM, the Python processes of
Spark and PostgreSQL are killed, one at a time and at random moments.

Parquet, Delta, Iceberg and PostgreSQL have each record once. The HTTP target and the topic of the
capture have each at least once. ``KILLS=30`` kills more often than three times.
"""

import json
import os
import random
import time
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

import pytest

from moldau.client.admin import Admin
from moldau.client.producer import Producer
from moldau.spark.errors import PipelineError
from moldau.spark.java import find_java, wheel_home
from tests.compat.kill_site import CAPTURED, TOPIC, HttpTarget, KillSite
from tests.compat.kills import KILLS, REPEAT, SEED
from tests.compat.postgres_server import PostgresServer
from tests.running import RunningBroker

LIMIT_S = 400.0
ROWS = 2000
EXACTLY_ONCE = ("parquet", "delta", "iceberg", "postgresql")
SCHEMA = {"type": "struct", "fields": [{"field": "id", "type": "int64"}]}


@pytest.fixture(autouse=True)
def _needed() -> None:
    for module in ("pyspark", "deltalake", "pyiceberg", "psycopg"):
        if find_spec(module) is None:
            pytest.skip(f"{module} is not installed (pip install 'moldau[spark,connect]')")
    try:
        find_java(os.environ, wheel_home())
    except PipelineError as reason:
        pytest.skip(str(reason))


def produce(bootstrap: str, postgres: PostgresServer, numbers: range) -> None:
    """Records for the sinks, and rows for the capture."""
    with Producer(bootstrap) as producer:
        for number in numbers:
            value = {"schema": SCHEMA, "payload": {"id": number}}
            producer.send(TOPIC, json.dumps(value).encode(), b"%d" % number)
    first, last = numbers[0], numbers[-1]
    postgres.run("postgres", f"INSERT INTO changes SELECT generate_series({first}, {last})")


def wait_for(what: str, site: KillSite, is_so: Callable[[], bool]) -> None:
    deadline_s = time.monotonic() + LIMIT_S
    while not is_so():
        assert time.monotonic() < deadline_s, f"{REPEAT}: {what}\n{site.log()}"
        time.sleep(0.5)


def check_doubles(read: dict[str, Callable[[], list[int]]]) -> None:
    for target in EXACTLY_ONCE:
        found = read[target]()
        assert len(found) == len(set(found)), f"{REPEAT}: {target} has doubles"


@pytest.mark.timeout(int(2 * LIMIT_S) * (KILLS + 1))
def test_every_target_is_complete_after_kills(tmp_path: Path) -> None:
    rng = random.Random(SEED)
    with (
        RunningBroker(tmp_path / "data", {"group.initial.rebalance.delay.ms": "0"}) as broker,
        PostgresServer(fsync="on") as postgres,
        HttpTarget() as http,
    ):
        with Admin(broker.bootstrap) as admin:
            admin.create_topic(TOPIC, 3)
            admin.create_topic(CAPTURED, 1)
        postgres.run("postgres", "CREATE TABLE changes (id int PRIMARY KEY)")
        site = KillSite(tmp_path, broker.bootstrap, postgres, http)
        weapons = [site.kill_worker, site.kill_jvm, site.kill_python_workers, site.kill_database]
        read = site.readers()
        site.start()
        try:
            written = 0
            for number in range(KILLS):
                produce(broker.bootstrap, postgres, range(written, written + ROWS))
                before, written = written, written + ROWS
                # What matters comes after the start: every connector must be at work again.
                for target, ids in read.items():
                    what = f"{target} goes on after {number} kills"
                    wait_for(what, site, lambda ids=ids, n=before: len(set(ids())) > n)  # type: ignore[misc]
                check_doubles(read)
                produce(broker.bootstrap, postgres, range(written, written + ROWS))
                written += ROWS
                time.sleep(rng.uniform(0, 2))
                if number % len(weapons) == 0:
                    rng.shuffle(weapons)
                weapon = weapons[number % len(weapons)]
                print(f"{REPEAT}: {number + 1}. {weapon.__name__}", flush=True)
                weapon()
            for target, ids in read.items():
                wait_for(target, site, lambda ids=ids: len(set(ids())) >= written)  # type: ignore[misc]
        finally:
            site.stop()
        check_doubles(read)
        for target, ids in read.items():
            assert set(ids()) == set(range(written)), f"{REPEAT}: {target} misses some"
