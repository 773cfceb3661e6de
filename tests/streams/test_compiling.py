"""The limits of a topology that is not cut, and the settings of the state store."""

from typing import TYPE_CHECKING

import pytest

from moldau.spark.errors import PipelineError
from moldau.streams.compiling import use_rocksdb
from tests.streams.flows import Flow

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

CHANGELOG = "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled"


def test_what_is_looked_up_needs_its_topic(flow: Flow) -> None:
    orders = flow.stream("orders", [("a", 1, 1)])
    for table in (orders.to_table(), orders.group_by_key().count()):
        with pytest.raises(PipelineError, match="is looked up, which needs its internal topic"):
            flow.rows(orders.join(table))


def test_state_is_committed_as_changes_unless_the_user_says_otherwise(
    spark: "SparkSession",
) -> None:
    ours, theirs = spark.newSession(), spark.newSession()
    theirs.conf.set(CHANGELOG, "false")
    for session in (ours, theirs):
        use_rocksdb(session)
    assert (ours.conf.get(CHANGELOG), theirs.conf.get(CHANGELOG)) == ("true", "false")
