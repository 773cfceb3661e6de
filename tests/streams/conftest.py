"""The broker and the Spark session of tests/spark; flows that need no broker."""

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.spark.conftest import bootstrap, new_topic, pipeline_broker, spark
from tests.streams.flows import Flow

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["bootstrap", "flow", "new_topic", "pipeline_broker", "spark"]


@pytest.fixture
def flow(spark: "SparkSession", tmp_path: Path) -> Flow:
    return Flow(spark, tmp_path)
