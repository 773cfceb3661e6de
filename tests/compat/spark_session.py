"""A Spark session in the process of a test, with a JVM of its own.

A process has one JVM, which takes its jars and its environment when it starts and outlives its
sessions. Modules of tests share processes, in an order that nobody chooses. So each module starts a
JVM and ends it, and leaves the environment as it found it: other modules start Spark as well, in
processes that inherit the environment.
"""

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tools.brokers import PROJECT

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_END_LIMIT_S = 20


def connector_jars() -> list[Path]:
    """The jars of Spark's own Kafka connector (tools/install-spark-connector), if any."""
    folder = os.environ.get("SPARK_CONNECTOR_DIR") or PROJECT / ".cache" / "spark-connector"
    return sorted(Path(folder, "jars").glob("*.jar"))


@contextmanager
def own_jvm() -> Iterator[None]:
    """A Spark that the block starts in this process has a new JVM, which ends with the block."""
    before = dict(os.environ)
    _end_jvm()
    try:
        yield
    finally:
        _end_jvm()
        os.environ.clear()
        os.environ.update(before)


@contextmanager
def own_session(
    name: str, *, master: str = "local[2]", config: dict[str, str] | None = None
) -> "Iterator[SparkSession]":
    """A session that also has Spark's own Kafka connector, where that is installed."""
    pytest.importorskip("pyspark", reason="PySpark is not installed (pip install 'moldau[spark]')")
    from moldau.spark import PipelineError, session

    jars = ",".join(map(str, connector_jars()))
    chosen = {**({"spark.jars": jars} if jars else {}), **(config or {})}
    with own_jvm():
        try:
            running = session(name, master=master, config=chosen)
        except PipelineError as reason:
            pytest.skip(str(reason))
        yield running
        running.stop()


def environment_without_spark() -> dict[str, str]:
    """The environment for a program that starts a Spark of its own."""
    return {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("SPARK_", "PYSPARK_")) or name == "SPARK_CONNECTOR_DIR"
    }


def _end_jvm() -> None:
    from pyspark import SparkContext

    from moldau.connect.engine.session import forget_session

    gateway: Any = SparkContext._gateway
    if gateway is None:
        return
    forget_session()
    # The JVM ends when its standard input does.
    gateway.proc.stdin.close()
    try:
        gateway.proc.wait(_END_LIMIT_S)
    except subprocess.TimeoutExpired:
        gateway.proc.kill()
        gateway.proc.wait()
