"""Test mode: rows in, rows out, without a broker."""

from datetime import UTC, datetime
from typing import TYPE_CHECKING

import pytest

from moldau.spark.errors import PipelineError
from moldau.streams import LONG, STRING, App, Json, tumbling
from moldau.streams.testing import quick

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

MIDNIGHT_MS = 1_767_225_600_000


def test_what_is_written_comes_back_by_topic(spark: "SparkSession") -> None:
    app = App("test")
    small, large = app.stream("numbers", value=LONG).branch(
        lambda value: value < 10, lambda value: value >= 10
    )
    small.to("small", key=STRING, value=LONG)
    large.map_values(lambda value: {"n": value}).to("large", value=Json())
    written = app.test({"numbers": [("a", 1), ("b", 20), (None, 3)]})
    assert written == {"small": [("a", 1), (None, 3)], "large": [("b", {"n": 20})]}


def test_serdes_that_nobody_named_are_found_by_type(spark: "SparkSession") -> None:
    app = App("test")
    clicks = app.stream("clicks").group_by_key()
    clicks.windowed_by(tumbling("10 seconds", grace="0 seconds")).count().to("counts")
    rows = [
        ("a", "x", MIDNIGHT_MS + 11_000),
        ("a", "y", datetime(2026, 1, 1, 0, 0, 12, tzinfo=UTC)),
    ]
    assert app.test({"clicks": rows}) == {"counts": [(("a", MIDNIGHT_MS + 10_000), 2)]}


def test_a_topology_that_is_cut_is_run_as_it_will_be(spark: "SparkSession") -> None:
    app = App("test")
    counts = app.stream("words").group_by_key().count()
    counts.to_stream().group_by(lambda value: value).count().to("counts-of-counts")
    assert len(app.queries()) == 2
    written = app.test({"words": [("a", "1"), ("b", "2"), ("a", "3"), ("c", "4")]})
    assert {topic: dict(rows) for topic, rows in written.items()} == {
        "counts-of-counts": {1: 2, 2: 1}
    }


def test_a_query_reads_what_another_wrote(spark: "SparkSession") -> None:
    app = App("test")
    app.stream("b").map_values(lambda value: value + 1 if False else value).to("c")
    app.stream("a").to("b")
    assert app.test({"a": [("k", "v")]}) == {"b": [("k", "v")], "c": [("k", "v")]}


def test_broken_records_can_be_tried(spark: "SparkSession") -> None:
    app = App("test")
    app.stream("numbers", value=LONG, dead_letter="poison").to("copies", value=LONG)
    written = app.test({"numbers": [("a", 1), ("b", b"xx")]})
    assert written["copies"] == [("a", 1)]
    assert written["poison"] == [(b"b", b"xx")]


def test_rows_that_cannot_be_are_named(spark: "SparkSession") -> None:
    app = App("test")
    app.stream("numbers", value=LONG).to("copies")
    with pytest.raises(PipelineError, match="the app does not read topic other: it reads numbers"):
        app.test({"other": []})
    with pytest.raises(PipelineError, match=r"row 1 of numbers is \('a',\): write \(key, value\)"):
        app.test({"numbers": [("a", 1), ("a",)]})
    with pytest.raises(PipelineError, match=r"row 0 of numbers, .* does not fit key string and"):
        app.test({"numbers": [("a", "many")]})
    with pytest.raises(PipelineError, match="timestamp 'noon': a datetime or milliseconds"):
        app.test({"numbers": [("a", 1, "noon")]})


def test_what_is_set_for_a_test_is_as_before_after_it(spark: "SparkSession") -> None:
    partitions, codegen = "spark.sql.shuffle.partitions", "spark.sql.codegen.wholeStage"
    session = spark.newSession()
    session.conf.set(partitions, "7")
    with pytest.raises(ZeroDivisionError), quick(session):
        assert (session.conf.get(partitions), session.conf.get(codegen)) == ("1", "false")
        raise ZeroDivisionError
    assert (session.conf.get(partitions), session.conf.get(codegen, None)) == ("7", None)
