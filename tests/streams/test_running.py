"""The options of a run as Spark's settings, and how a run is stopped."""

import os
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from moldau.streams.progress_view import Report
from moldau.streams.running import RunOptions, shuffle_partitions
from moldau.streams.watching import stopped_by_signals
from tests.spark.conftest import NewTopic

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

APP = """
from moldau.streams import App

app = App("copying", bootstrap={bootstrap!r}, checkpoint_dir={folder!r})
app.stream({topic!r}).to("{topic}-copied")
"""


def test_a_trigger_is_what_spark_calls_it() -> None:
    assert RunOptions().spark_trigger == {}
    assert RunOptions(trigger="5 seconds").spark_trigger == {"processingTime": "5 seconds"}
    assert RunOptions(trigger="5 seconds", once=True).spark_trigger == {"availableNow": True}


def test_a_table_is_drawn_more_often_than_lines_are_added() -> None:
    assert RunOptions().interval(Report.TABLE) < RunOptions().interval(Report.LINES)
    assert RunOptions(interval_s=3.0).interval(Report.TABLE) == 3.0


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_the_first_signal_asks_for_a_stop_and_the_second_ends_it(number: signal.Signals) -> None:
    before = signal.getsignal(number)
    stopping = threading.Event()
    with stopped_by_signals(stopping):
        os.kill(os.getpid(), number)
        assert stopping.wait(60)
        with pytest.raises(KeyboardInterrupt):
            os.kill(os.getpid(), number)
            stopping.clear()
    assert signal.getsignal(number) is before


def test_another_thread_leaves_the_signals_alone() -> None:
    before = signal.getsignal(signal.SIGTERM)
    seen = []

    def run() -> None:
        with stopped_by_signals(threading.Event()):
            seen.append(signal.getsignal(signal.SIGTERM))

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    assert seen == [before]


def test_a_query_divides_its_keys_as_its_largest_topic_does() -> None:
    sizes = {"clicks": 6, "users": 2, "other": 50}
    assert shuffle_partitions(["clicks", "users"], sizes) == 6
    assert shuffle_partitions(["not there yet"], sizes) == 1


def test_what_java_refuses_is_told_with_the_file_that_says_more(
    spark: "SparkSession", bootstrap: str, new_topic: NewTopic, tmp_path: Path
) -> None:
    topic = new_topic(1)
    program = tmp_path / "copying.py"
    program.write_text(APP.format(bootstrap=bootstrap, folder=str(tmp_path), topic=topic))
    # Where the checkpoint of the query is to be there is a file.
    checkpoint = tmp_path / "copying" / f"to-{topic}-copied"
    checkpoint.parent.mkdir()
    checkpoint.touch()
    run = [sys.executable, "-m", "moldau", "stream", "run", str(program), "--master", "local[2]"]
    failed = subprocess.run(run, capture_output=True, text=True, timeout=600)
    log = tmp_path / "copying" / "spark.log"
    assert failed.returncode == 1
    assert failed.stderr == (
        f"moldau: Destination exists and is not a directory: {checkpoint} (more in {log})\n"
    )
    assert log.is_file()
