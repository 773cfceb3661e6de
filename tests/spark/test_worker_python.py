"""The Python that Spark's workers are started with."""

import os
import subprocess
import sys
from pathlib import Path

from moldau.spark.worker_python import spark_home, worker_python

SAY_PATH = "import os; print(os.environ.get('PYTHONPATH'))"


def path_seen_by(command: Path, path: str) -> str:
    called = subprocess.run(
        [command, "-c", SAY_PATH],
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=True,
    )
    return called.stdout.strip()


def test_what_lies_in_sparks_directory_is_taken_off_the_path(tmp_path: Path) -> None:
    home = tmp_path / "the spark"
    command = worker_python(sys.executable, home, tmp_path)
    zips = f"{home}/python/lib/pyspark.zip:{home}/python/lib/py4j.zip:{home}/jars/core.jar"
    assert path_seen_by(command, zips) == ""
    assert path_seen_by(command, f"{zips}:/a b/c:/*:{home}er/x") == f"/a b/c:/*:{home}er/x"


def test_it_is_made_once_for_each_python_and_spark(tmp_path: Path) -> None:
    command = worker_python(sys.executable, tmp_path / "spark", tmp_path)
    made = command.stat().st_mtime_ns
    assert worker_python(sys.executable, tmp_path / "spark", tmp_path) == command
    assert command.stat().st_mtime_ns == made
    assert worker_python(sys.executable, tmp_path / "other", tmp_path) != command
    assert worker_python("/other/python", tmp_path / "spark", tmp_path) != command


def test_the_arguments_pass_through(tmp_path: Path) -> None:
    command = worker_python(sys.executable, tmp_path, tmp_path)
    called = subprocess.run(
        [command, "-c", "import sys; print(sys.argv[1:])", "a b", "", "*"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert called.stdout.strip() == "['a b', '', '*']"


def test_a_spark_from_elsewhere_keeps_its_own_pyspark() -> None:
    assert spark_home({"SPARK_HOME": "/opt/spark"}) is None
