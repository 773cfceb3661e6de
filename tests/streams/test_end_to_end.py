"""An app on real topics: killed, restarted from its checkpoints, reset, and failing."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from moldau.cli.main import main
from moldau.cli.stream_app import load_app
from moldau.client.admin import Admin, ResourceType
from moldau.client.consumer import Consumer
from moldau.client.producer import Producer
from moldau.spark.errors import PipelineError
from moldau.streams import LONG, STRING, App, Context, Processor
from moldau.streams.delivery import Delivery
from tests.client.fake_leaders import FakeLeaders, record_at

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PATIENCE_S = 240

COUNTING = """
from moldau.streams import LONG, STRING, App

app = App("counting", bootstrap={bootstrap!r}, checkpoint_dir={checkpoint_dir!r})
words = app.stream("words")
counts = words.group_by_key().count(name="counts")
counts.to("word-counts", key=STRING, value=LONG)
"""


@contextmanager
def running(app_file: Path) -> "Iterator[subprocess.Popen[str]]":
    """The app as a user runs it; killed at the end, with everything that Spark started."""
    command = [sys.executable, "-m", "moldau.cli", "stream", "run", str(app_file)]
    # A test ends before a good compiler pays.
    quick = "spark.driver.extraJavaOptions=-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
    process = subprocess.Popen(
        [
            *command,
            "--master",
            "local[2]",
            "--conf",
            quick,
            "--report",
            "json",
            "--interval",
            "0.2",
        ],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        # A JVM that is killed leaves its temporary files behind.
        env={**os.environ, "TMPDIR": str(app_file.parent)},
    )
    try:
        yield process
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate()


def produce(bootstrap: str, *keys: str) -> None:
    with Producer(bootstrap) as producer:
        for key in keys:
            producer.send("words", b"x", key.encode())


def test_an_app_that_was_killed_goes_on_where_it_was(
    bootstrap: str, spark: "SparkSession", tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    app_file = tmp_path / "counting.py"
    checkpoint_dir = str(tmp_path / "checkpoints")
    app_file.write_text(COUNTING.format(bootstrap=bootstrap, checkpoint_dir=checkpoint_dir))
    with Admin(bootstrap) as admin:
        admin.create_topic("words", 2)
    produce(bootstrap, "a", "b", "a")
    with running(app_file) as process:
        assert process.stdout is not None
        for line in process.stdout:
            last = json.loads(line)
            if last["records"] == 3:
                break
        assert (last["app"], last["query"]) == ("counting", "to-word-counts")
        assert (last["state_rows"], last["lag"]) == (2, 0)
        assert main(["stream", "status", str(app_file)]) == 0
        assert f"counting: running, process {process.pid}" in capsys.readouterr().out
        assert main(["stream", "reset", str(app_file), "--execute"]) == 1
        assert f"counting is running (process {process.pid})" in capsys.readouterr().err
        produce(bootstrap, "a", "c")
        os.killpg(process.pid, signal.SIGKILL)
        process.wait(PATIENCE_S)

    produce(bootstrap, "a", "c")
    assert main(["stream", "run", str(app_file), "--once", "--report", "none"]) == 0
    # From the state in the checkpoint: nothing was forgotten, nothing counted twice.
    table = App("asking", bootstrap=bootstrap).table("word-counts", key=STRING, value=LONG)
    assert dict(table.items()) == {"a": 4, "b": 1, "c": 2}

    assert main(["stream", "status", str(app_file), "--format", "json"]) == 0
    status = json.loads(capsys.readouterr().out)
    assert status["process"] is None
    (query,) = status["queries"]
    assert (query["lag"], query["reads"], query["writes"]) == (0, ["words"], "word-counts")
    assert sum(each["offset"] for each in query["offsets"]) == 7
    with Admin(bootstrap) as admin:
        (policy,) = admin.describe_configs(ResourceType.TOPIC, "word-counts", ["cleanup.policy"])
        (topic,) = admin.describe_topics(["word-counts"])
    assert (policy.value, len(topic.partitions)) == ("compact", 2)


def topics(bootstrap: str) -> set[str]:
    with Admin(bootstrap) as admin:
        return {each.name for each in admin.list_topics()}


def test_an_app_that_was_reset_begins_anew(
    bootstrap: str, spark: "SparkSession", tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    app_file = tmp_path / "resetting.py"
    app_file.write_text(
        f"""
from moldau.streams import LONG, STRING, App

app = App("resetting", bootstrap={bootstrap!r}, checkpoint_dir={str(tmp_path / "c")!r})
counts = app.stream("reset-words").group_by_key().count(name="words")
again = counts.to_stream().group_by(lambda value: value).count(name="counts")
again.to("counts-of-counts", key=LONG, value=LONG)
"""
    )
    with Admin(bootstrap) as admin:
        admin.create_topic("reset-words", 1)
    with Producer(bootstrap) as producer:
        for key in (b"a", b"b", b"a"):
            producer.send("reset-words", b"x", key)
    run = ["stream", "run", str(app_file), "--once", "--report", "none"]
    assert main(run) == 0
    assert "resetting-words" in topics(bootstrap)
    counts = App("asking", bootstrap=bootstrap).table("counts-of-counts", key=LONG, value=LONG)
    assert dict(counts.items()) == {1: 1, 2: 1}
    assert [each.lag for each in load_app(str(app_file)).status().queries] == [0, 0]

    capsys.readouterr()
    assert main(["stream", "reset", str(app_file)]) == 0
    shown = capsys.readouterr()
    assert "internal topic  resetting-words" in shown.out
    assert f"checkpoints     {tmp_path}/c/resetting" in shown.out
    assert "group           resetting-" in shown.out
    assert "Nothing was changed; add --execute to apply." in shown.err
    assert "resetting-words" in topics(bootstrap)

    assert main(["stream", "reset", str(app_file), "--execute"]) == 0
    assert "resetting-words" not in topics(bootstrap)
    assert "counts-of-counts" in topics(bootstrap)
    assert not (tmp_path / "c" / "resetting").exists()
    assert main(["stream", "reset", str(app_file)]) == 0
    assert "has no checkpoints and no internal topics" in capsys.readouterr().out

    first, _ = load_app(str(app_file)).status().queries
    assert (first.checkpoint.committed_batch, first.lag) == (None, 3)


def make_topic(bootstrap: str, topic: str, **values: bytes) -> None:
    """A topic of one partition with these records, by key."""
    with Admin(bootstrap) as admin:
        admin.create_topic(topic, 1)
    with Producer(bootstrap) as producer:
        for key, value in values.items():
            producer.send(topic, value, key.encode())


class Alarm(Processor):
    """Rings at once, by the clock."""

    def process(self, context: Context, key: str, value: str) -> None:
        context.set_timer(context.now_ms)

    def on_timer(self, context: Context, key: str) -> list[str]:
        return [f"{key} rang"]


def test_a_run_once_ends_though_timers_go_by_the_clock(
    bootstrap: str, spark: "SparkSession", tmp_path: Path
) -> None:
    make_topic(bootstrap, "alarms", a=b"", b=b"")
    app = App("ringing", bootstrap=bootstrap, checkpoint_dir=tmp_path)
    app.stream("alarms").process(Alarm(), "string", time="processing").to(
        "rang", key=STRING, value=STRING
    )
    app.run(once=True, report="none")
    assert dict(app.table("rang").items()) == {"a": "a rang", "b": "b rang"}
    # The next run goes on from there, and ends as well.
    with Producer(bootstrap) as producer:
        producer.send("alarms", b"", b"c")
    app.run(once=True, report="none")
    assert app.table("rang").get("c") == "c rang"


def test_an_app_writes_exactly_once_in_transactions(
    bootstrap: str, spark: "SparkSession", tmp_path: Path
) -> None:
    with Admin(bootstrap) as admin:
        admin.create_topic("payments-in", 1)
    app = App("paying", bootstrap=bootstrap, checkpoint_dir=tmp_path, delivery="exactly_once")
    app.stream("payments-in").to("payments-out")
    for key in (b"a", b"b"):
        with Producer(bootstrap) as producer:
            producer.send("payments-in", b"paid", key)
        app.run(once=True, report="none")
    with Consumer(bootstrap, read_committed=True) as consumer:
        consumer.assign(dict.fromkeys(consumer.partitions_of("payments-out"), 0))
        found: list[bytes | None] = []
        while len(found) < 2:
            found += [record.key for record in consumer.poll(PATIENCE_S)]
    assert sorted(key or b"" for key in found) == [b"a", b"b"]


def test_exactly_once_needs_a_broker_that_has_transactions() -> None:
    with (
        FakeLeaders(record_at) as without,
        Admin(without.bootstrap) as admin,
        pytest.raises(PipelineError, match="'exactly_once' needs transactions"),
    ):
        Delivery.EXACTLY_ONCE.require_support(admin)
