"""The settings of a session."""

import os
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from moldau.spark.errors import PipelineError
from moldau.spark.java import Java, java_home
from moldau.spark.session import (
    FILTER_PUSHDOWN,
    prepare_environment,
    register,
    session,
    settings,
    temporary_files,
)

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from tests.spark.conftest import NewTopic

JAVA_OPTIONS = "spark.driver.extraJavaOptions"


def test_the_users_settings_go_before_ours() -> None:
    ours = settings("local[2]", {})
    assert ours[FILTER_PUSHDOWN] == "true"
    assert ours["spark.sql.shuffle.partitions"] == "2"
    given = {"spark.sql.shuffle.partitions": "7", "spark.some.other": "x"}
    chosen = settings("local[2]", given)
    assert given.items() <= chosen.items()


@pytest.mark.parametrize("master, cores", [("local", "1"), ("local[3]", "3"), ("local[4,2]", "4")])
def test_a_shuffle_has_as_many_parts_as_tasks_run_at_once(master: str, cores: str) -> None:
    assert settings(master, {})["spark.sql.shuffle.partitions"] == cores


def test_a_cluster_keeps_its_own_network_and_shuffles() -> None:
    chosen = settings("spark://somewhere:7077", {})
    assert "spark.driver.host" not in chosen
    assert "spark.sql.shuffle.partitions" not in chosen


def test_a_short_job_starts_quickly_and_a_long_one_runs_at_full_speed() -> None:
    given = {JAVA_OPTIONS: "-Xmx1g"}
    assert "-XX:+UseSerialGC -Xmx1g" in settings("local", given)[JAVA_OPTIONS]
    assert settings("local", given, is_short=False)[JAVA_OPTIONS] == "-Xmx1g"
    assert JAVA_OPTIONS not in settings("local", {}, is_short=False)


def test_the_users_java_options_come_last_so_that_java_takes_them() -> None:
    given = {JAVA_OPTIONS: "-Xlog:cds=info"}
    ours = ["-Xlog:cds*=off", "-XX:SharedArchiveFile=/a b/c.jsa"]
    options = settings("local", given, is_short=False, java_options=ours)[JAVA_OPTIONS]
    assert options == '-Xlog:cds*=off "-XX:SharedArchiveFile=/a b/c.jsa" -Xlog:cds=info'


def test_traces_are_shown_only_to_who_wants_them() -> None:
    hidden = "spark.sql.execution.pyspark.udf.hideTraceback.enabled"
    assert settings("local", {})[hidden] == "true"
    assert settings("local", {}, debug=True)[hidden] == "false"


def test_the_jvm_keeps_its_temporary_files_where_the_user_wants_them() -> None:
    assert temporary_files({"TMPDIR": "/big disk"}) == ["-Djava.io.tmpdir=/big disk"]
    assert temporary_files({}) == []


@pytest.mark.parametrize("given", [None, "/usr/bin/python4"])
def test_a_cluster_runs_this_python_unless_another_is_named(
    given: str | None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    # What is set here and there is taken back.
    monkeypatch.setenv("JAVA_HOME", str(java_home(Java(Path("/opt/java"), 17), tmp_path)))
    for name in ("SPARK_LAUNCHER_OPTS", "SPARK_CONF_DIR", "PYSPARK_DRIVER_PYTHON"):
        monkeypatch.setenv(name, "")
    monkeypatch.setenv("PYSPARK_PYTHON", given or "")
    monkeypatch.delenv("SPARK_LOCAL_IP", raising=False)
    if given is None:
        monkeypatch.delenv("PYSPARK_PYTHON")
    prepare_environment("spark://head:7077")
    assert os.environ["PYSPARK_PYTHON"] == (given or sys.executable)
    assert "SPARK_LOCAL_IP" not in os.environ


def test_a_session_that_runs_takes_the_settings_that_it_can(spark: "SparkSession") -> None:
    zone = "spark.sql.session.timeZone"
    before = spark.conf.get(zone)
    try:
        again = session("again", master="local[2]", config={zone: "Asia/Tokyo"})
        assert again is spark
        assert spark.conf.get(zone) == "Asia/Tokyo"
    finally:
        spark.conf.set(zone, before or "UTC")


@pytest.mark.parametrize(
    "master, config, said",
    [
        (None, {"spark.executor.memory": "3g"}, "spark.executor.memory not set: spark.executor.m"),
        ("local[7]", {}, r"spark.master local\[2\]: spark.master=local\[7\] can only be given to"),
    ],
)
def test_what_a_session_that_runs_cannot_take_is_refused(
    spark: "SparkSession", master: str | None, config: dict[str, str], said: str
) -> None:
    with pytest.raises(PipelineError, match=said):
        session("again", master=master, config=config)


def test_a_session_is_found_from_every_thread(spark: "SparkSession") -> None:
    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(session).result() is spark


def environment_of(spark: "SparkSession", source: str) -> dict[str, str]:
    """The environment that Spark keeps for a source that is registered."""
    jvm_session: Any = spark._jsparkSession
    registered = jvm_session.sessionState().dataSourceManager().lookupDataSource(source)
    return dict(registered.dataSourceCls().envVars())


def test_a_streaming_query_adds_nothing_to_the_environment_of_its_source(
    spark: "SparkSession", new_topic: "NewTopic", bootstrap: str, tmp_path: Path
) -> None:
    # Two that add the same variable at once would break the map for good.
    register(spark)
    before = environment_of(spark, "moldau")
    stream = spark.readStream.format("moldau").option("subscribe", new_topic(3))
    query = (
        stream.option("kafka.bootstrap.servers", bootstrap)
        .option("startingOffsets", "earliest")
        .load()
        .writeStream.format("noop")
        .option("checkpointLocation", str(tmp_path))
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()
    after = environment_of(spark, "moldau")
    assert after != before
    assert after.keys() == before.keys()
