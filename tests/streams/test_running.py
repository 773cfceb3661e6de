"""How a run is told to Spark, and how it is told to stop."""

import os
import signal
import threading

import pytest

from moldau.streams.progress_view import Report
from moldau.streams.running import RunOptions
from moldau.streams.watching import stopped_by_signals


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
        assert stopping.wait(5)
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
