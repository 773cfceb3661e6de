"""One broker, one Spark session and one engine for all tests here; names are unique."""

import os
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from moldau.spark.errors import PipelineError
from moldau.spark.java import find_java, wheel_home

if TYPE_CHECKING:
    from tests.connect_spark.world import World

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="session")
def world(tmp_path_factory: pytest.TempPathFactory) -> "Iterator[World]":
    """Skips where PySpark or Java are not there."""
    if find_spec("pyspark") is None or find_spec("pyarrow") is None:
        pytest.skip("PySpark is not installed (pip install 'moldau[spark]')")
    try:
        find_java(os.environ, wheel_home())
    except PipelineError as reason:
        pytest.skip(str(reason))
    from tests.connect_spark.world import World
    from tests.running import RunningBroker

    # Connectors of tests are imported in the processes of Spark.
    before = os.environ.get("PYTHONPATH")
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [str(ROOT), before]))
    folder = tmp_path_factory.mktemp("connect")
    settings = {"group.initial.rebalance.delay.ms": "0", "log.retention.ms": "-1"}
    try:
        with RunningBroker(folder / "data", settings) as broker, World(broker, folder) as made:
            yield made
    finally:
        if before is None:
            del os.environ["PYTHONPATH"]
        else:
            os.environ["PYTHONPATH"] = before
