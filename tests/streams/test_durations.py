"""Durations as users write them."""

from datetime import timedelta

import pytest

from moldau.spark.errors import PipelineError
from moldau.streams.durations import duration, readable
from moldau.streams.windows import hopping, session, tumbling


@pytest.mark.parametrize(
    "given, meant",
    [
        ("5 minutes", timedelta(minutes=5)),
        ("1 hour 30 minutes", timedelta(minutes=90)),
        ("500ms", timedelta(milliseconds=500)),
        ("0 seconds", timedelta()),
        ("2 Weeks", timedelta(weeks=2)),
        (timedelta(seconds=7), timedelta(seconds=7)),
    ],
)
def test_a_duration_is_understood(given: str | timedelta, meant: timedelta) -> None:
    assert duration(given) == meant


@pytest.mark.parametrize(
    "given", ["", "5", "minutes", "5 fortnights", "5 minutes and", "-1 second"]
)
def test_what_is_no_duration_is_refused_with_an_example(given: str) -> None:
    with pytest.raises(PipelineError, match="5 minutes"):
        duration(given)


def test_a_negative_duration_is_refused() -> None:
    with pytest.raises(PipelineError, match="negative"):
        duration(timedelta(seconds=-1))


def test_the_largest_whole_unit_is_shown() -> None:
    lengths = [timedelta(seconds=90), timedelta(hours=2), timedelta(), timedelta(days=1)]
    assert [readable(each) for each in lengths] == ["90 seconds", "2 hours", "0 seconds", "1 day"]


def test_windows_say_what_they_are() -> None:
    assert str(tumbling("1 minute", grace="5 s")) == "tumbling 1 minute, grace 5 seconds"
    hops = hopping("1 hour", every="5 minutes", grace="0 s")
    assert str(hops) == "hopping 1 hour every 5 minutes, grace 0 seconds"


def test_windows_that_leave_gaps_are_refused() -> None:
    with pytest.raises(PipelineError, match="leave gaps"):
        hopping("1 minute", every="2 minutes", grace="0 s")


def test_a_window_without_length_is_refused() -> None:
    with pytest.raises(PipelineError, match="gap"):
        session("0 seconds", grace="0 s")
