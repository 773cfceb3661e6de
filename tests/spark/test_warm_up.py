"""Work done in parallel with Spark's start, which does not affect a start that fails."""

import os
import subprocess
import sys
import threading
from typing import TYPE_CHECKING, Any

import pytest

pytest.importorskip("pyspark")

from py4j.java_gateway import JavaGateway
from pyspark import SparkContext

from moldau.spark import warm_up
from moldau.spark.errors import PipelineError
from moldau.spark.java import find_java, wheel_home
from moldau.spark.worker_python import spark_home

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

WAIT_S = 120


def warming() -> list[threading.Thread]:
    return [each for each in threading.enumerate() if each.name == "moldau-warm-up"]


def test_modules_are_imported_while_the_block_waits_for_a_jvm() -> None:
    # In a process of its own: here they are imported, and there may be a JVM.
    script = f"""
import sys, time
from moldau.spark import warm_up
with warm_up.beside_start():
    end = time.monotonic() + {WAIT_S}
    while not set(warm_up.MODULES) <= set(sys.modules) and time.monotonic() < end:
        time.sleep(0.01)
    assert set(warm_up.MODULES) <= set(sys.modules)
"""
    subprocess.run([sys.executable, "-c", script], check=True, timeout=2 * WAIT_S)


def test_a_start_that_fails_says_so_and_leaves_no_thread_behind(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(SparkContext, "_gateway", None)
    with pytest.raises(OSError, match="no memory"), warm_up.beside_start():
        (thread,) = warming()
        raise OSError("no memory")
    thread.join(WAIT_S)
    assert not thread.is_alive()


def test_a_module_that_is_not_there_is_no_reason_to_fail(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(SparkContext, "_gateway", None)
    monkeypatch.setattr(warm_up, "MODULES", ("moldau.spark.not_there",))
    faults: list[Any] = []
    monkeypatch.setattr(threading, "excepthook", faults.append)
    with warm_up.beside_start():
        (thread,) = warming()
    thread.join(WAIT_S)
    assert not faults


def test_where_there_is_a_jvm_already_nothing_is_done(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(SparkContext, "_gateway", object())
    # A thread cannot be made now.
    monkeypatch.setattr(warm_up, "Thread", None)
    with warm_up.beside_start():
        pass


def test_a_jvm_without_scala_or_one_that_has_died_is_no_reason_to_fail() -> None:
    home = spark_home({})
    if home is None:
        pytest.skip("PySpark has no jars")
    try:
        java = find_java(os.environ, wheel_home())
    except PipelineError as reason:
        pytest.skip(str(reason))
    (jar,) = (home / "jars").glob("py4j-*.jar")
    gateway = JavaGateway.launch_gateway(
        jarpath=str(jar), java_path=str(java.home / "bin" / "java"), die_on_exit=True
    )
    try:
        assert not warm_up.build_reflection(gateway)
    finally:
        gateway.shutdown()
        gateway.java_process.stdin.close()
        gateway.java_process.wait(WAIT_S)
    assert not warm_up.build_reflection(gateway)


def test_a_session_finds_reflection_where_it_is_looked_for(spark: "SparkSession") -> None:
    assert warm_up.build_reflection(SparkContext._gateway)
    assert spark.range(3).count() == 3
    assert not warming()
