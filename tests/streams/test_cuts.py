"""Cuts of a topology, on real topics: records that cross them count once, whatever fails."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from moldau.client.admin import Admin
from moldau.client.consumer import Consumer
from moldau.client.offsets import LATEST
from moldau.client.producer import Producer
from moldau.ids import TopicPartition
from moldau.spark.errors import PipelineError
from moldau.streams import LONG, STRING, App, Context, Processor

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

KEYS = [f"k{number}" for number in range(20)]


class FailsLate(Processor):
    """Passes records on. While a file is there, one key fails as soon as others are written."""

    def __init__(self, flag: Path, bootstrap: str, topic: str) -> None:
        self._flag = str(flag)
        self._bootstrap = bootstrap
        self._topic = topic

    def process(self, context: Context, key: str, value: str) -> Iterator[str]:
        if key == KEYS[0] and os.path.exists(self._flag):
            with Consumer(self._bootstrap) as consumer:
                consumer.assign({TopicPartition(self._topic, 0): 0})
                while not consumer.poll(1.0):
                    pass
            raise RuntimeError("too late")
        yield value


def end_of(bootstrap: str, topic: str) -> int:
    partition = TopicPartition(topic, 0)
    with Admin(bootstrap) as admin:
        return admin.list_offsets({partition: LATEST})[partition].offset


def test_a_batch_that_failed_half_way_counts_once_behind_a_cut(
    bootstrap: str, spark: "SparkSession", tmp_path: Path
) -> None:
    with Admin(bootstrap) as admin:
        admin.create_topic("half-way", 1)
    flag = tmp_path / "fails"
    app = App("halved", bootstrap=bootstrap, checkpoint_dir=tmp_path / "checkpoints")
    processor = FailsLate(flag, bootstrap, "halved-passed")
    passed = app.stream("half-way").process(processor, "string", name="passed")
    passed.group_by_key().count(name="counts").to("half-way-counts", key=STRING, value=LONG)
    with Producer(bootstrap) as producer:
        for key in KEYS:
            producer.send("half-way", b"x", key.encode())
    flag.touch()
    with pytest.raises(PipelineError, match="too late"):
        app.run(once=True, report="none")
    # Some of the batch is there, and will be there twice.
    half = end_of(bootstrap, "halved-passed")
    assert 0 < half < len(KEYS)
    flag.unlink()
    app.run(once=True, report="none")
    assert end_of(bootstrap, "halved-passed") == half + len(KEYS)
    assert dict(app.table("half-way-counts").items()) == dict.fromkeys(KEYS, 1)


def test_where_to_start_is_about_topics_of_the_user_alone(
    bootstrap: str, spark: "SparkSession", tmp_path: Path
) -> None:
    with Admin(bootstrap) as admin:
        admin.create_topic("dated", 1)
    with Producer(bootstrap) as producer:
        producer.send("dated", b"x", b"old", timestamp=0)
        producer.send("dated", b"x", b"new", timestamp=1000)
    app = App(
        "starting",
        bootstrap=bootstrap,
        checkpoint_dir=tmp_path,
        source_options={"startingTimestamp": "1000"},
    )
    dated = app.stream("dated")
    dated.to("dated-copied", key=STRING, value=STRING)
    # Nothing gets through to the internal topic: no record there is as late.
    counts = dated.filter(lambda value: value != "x").group_by_key().count(name="counts")
    again = counts.to_stream().group_by(lambda value: value).count(name="again")
    again.to("counts-of-dated", key=LONG, value=LONG)
    app.run(once=True, report="none")
    assert dict(app.table("dated-copied").items()) == {"new": "x"}
    assert dict(app.table("counts-of-dated").items()) == {}
