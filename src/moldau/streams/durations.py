"""Durations as users write them: ``"5 minutes"`` or a ``timedelta``."""

import re
from datetime import timedelta
from typing import Final

from moldau.spark.errors import PipelineError

Duration = str | timedelta

_UNITS: Final = {
    "millisecond": timedelta(milliseconds=1),
    "ms": timedelta(milliseconds=1),
    "second": timedelta(seconds=1),
    "s": timedelta(seconds=1),
    "minute": timedelta(minutes=1),
    "min": timedelta(minutes=1),
    "hour": timedelta(hours=1),
    "h": timedelta(hours=1),
    "day": timedelta(days=1),
    "d": timedelta(days=1),
    "week": timedelta(weeks=1),
}
_TERM: Final = re.compile(r"\s*(\d+(?:\.\d+)?)\s*([a-z]+)\s*")


def duration(given: Duration) -> timedelta:
    """Parse a duration.

    Raises:
        PipelineError: it is invalid or negative.
    """
    if isinstance(given, timedelta):
        if given < timedelta():
            raise PipelineError(f"the duration {given} is negative")
        return given
    text, total, at = given.lower(), timedelta(), 0
    while at < len(text):
        term = _TERM.match(text, at)
        unit = term and (_UNITS.get(term[2]) or _UNITS.get(term[2].removesuffix("s")))
        if not term or not unit:
            break
        total += float(term[1]) * unit
        at = term.end()
    if at == 0 or at < len(text):
        raise PipelineError(
            f"{given!r} is not a duration: write '5 minutes', '1 hour 30 minutes' or a timedelta"
        )
    return total


def milliseconds(length: timedelta) -> int:
    return length // timedelta(milliseconds=1)


def spark_interval(length: timedelta) -> str:
    """As an interval for Spark's functions."""
    return f"{milliseconds(length)} milliseconds"


def readable(length: timedelta) -> str:
    """As a whole number of the largest possible unit: ``90 seconds``, ``2 hours``."""
    for name in ("day", "hour", "minute", "second", "millisecond"):
        count, rest = divmod(length, _UNITS[name])
        if count and not rest:
            return f"{count} {name}" + ("s" if count > 1 else "")
    return "0 seconds" if not length else str(length)
