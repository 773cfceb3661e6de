"""The broker and the Spark session of tests/spark, and flows that need no broker."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from moldau.streams.testing import quick
from tests.spark.conftest import bootstrap, new_topic, pipeline_broker, spark
from tests.streams.flows import Flow

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["bootstrap", "flow", "new_topic", "pipeline_broker", "spark"]


@pytest.fixture
def flow(spark: "SparkSession", tmp_path: Path) -> "Iterator[Flow]":
    # Apps on a broker run with the settings of users.
    with quick(spark):
        yield Flow(spark, tmp_path)
