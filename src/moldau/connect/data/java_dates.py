"""Dates and times in Java's default calendar, as ISO 8601 text.

Java reads the text leniently: the 45th of a month is a day of the next one, and what follows the
last field is ignored. Days before 15 October 1582 are those of the Julian calendar, while Python's
dates go back in the Gregorian one; both are converted to days since 1970, which mean the same.
"""

import datetime
import re

from moldau.connect.data.errors import DataError
from moldau.connect.data.logical import (
    MILLIS_PER_DAY,
    date_to_days,
    days_to_date,
    millis_to_time,
    millis_to_timestamp,
    time_to_millis,
    timestamp_to_millis,
)

_NUMBER = r"[ \t]*(-?\d+)"
_DATE = re.compile(f"{_NUMBER}-{_NUMBER}-{_NUMBER}")
_TIME = re.compile(rf"{_NUMBER}:{_NUMBER}:{_NUMBER}\.{_NUMBER}Z")
_TIMESTAMP = re.compile(f"{_DATE.pattern}T{_TIME.pattern}")
_GREGORIAN_FROM = (1582, 10, 15)
_EPOCH_ORDINAL = datetime.date(1970, 1, 1).toordinal()
_LAST_ORDINAL = datetime.date.max.toordinal()
# The first day of year 1 is two days later in the Gregorian calendar than in the Julian one.
_JULIAN_SHIFT = 2


def parse_date(text: str) -> datetime.date | None:
    """The date that ``text`` begins with; None without one, or outside the years 1 to 9999."""
    match = _DATE.match(text)
    days = None if match is None else _days(match)
    return None if days is None else days_to_date(days)


def parse_time(text: str) -> datetime.time | None:
    """The time of a day that ``text`` begins with; None without one, or beyond 24 hours."""
    match = _TIME.match(text)
    if match is None:
        return None
    millis = _millis(match.groups())
    return millis_to_time(millis) if 0 <= millis < MILLIS_PER_DAY else None


def parse_timestamp(text: str) -> datetime.datetime | None:
    """The moment in UTC that ``text`` begins with; None without one, or outside the years."""
    match = _TIMESTAMP.match(text)
    days = None if match is None else _days(match)
    if match is None or days is None:
        return None
    try:
        return millis_to_timestamp(days * MILLIS_PER_DAY + _millis(match.groups()[3:]))
    except DataError:
        return None


def _days(match: re.Match[str]) -> int | None:
    """Days since 1970 of a year, month and day, of which the last two may be out of range."""
    year, month, day = (int(match[index]) for index in (1, 2, 3))
    year, month = year + (month - 1) // 12, (month - 1) % 12 + 1
    if not 1 <= year <= 9999:
        return None
    if (year, month, day) >= _GREGORIAN_FROM:
        ordinal = datetime.date(year, month, 1).toordinal() + day - 1
    else:
        ordinal = _julian_ordinal(year, month) + day - 1
    return ordinal - _EPOCH_ORDINAL if 1 <= ordinal <= _LAST_ORDINAL else None


def _julian_ordinal(year: int, month: int) -> int:
    """Python's ordinal of the first day of a month in the Julian calendar."""
    before = year - 1
    days = before * 365 + before // 4 + sum(_MONTH_DAYS[: month - 1])
    if month > 2 and year % 4 == 0:
        days += 1
    return days + 1 - _JULIAN_SHIFT


def calendar_day(value: datetime.date) -> tuple[int, int, int]:
    """The year, month and day that Java prints for a date of ours."""
    ordinal = value.toordinal()
    if ordinal >= datetime.date(*_GREGORIAN_FROM).toordinal():
        return value.year, value.month, value.day
    cycles, rest = divmod(ordinal + _JULIAN_SHIFT - 1, 1461)
    year_of_cycle = min(rest // 365, 3)
    year, day = cycles * 4 + year_of_cycle + 1, rest - year_of_cycle * 365
    for month, length in enumerate(_MONTH_DAYS, start=1):
        days = length + (month == 2 and year % 4 == 0)
        if day < days:
            return year, month, day + 1
        day -= days
    raise AssertionError("a day of a year is in one of its months")


_MONTH_DAYS = (31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)


def _millis(fields: tuple[str, ...]) -> int:
    hour, minute, second, millis = map(int, fields)
    return ((hour * 60 + minute) * 60 + second) * 1000 + millis


def millis_of(value: datetime.date | datetime.time) -> int:
    """What ``Date.getTime`` gives for a date, a time or a timestamp."""
    if isinstance(value, datetime.datetime):
        return timestamp_to_millis(value)
    if isinstance(value, datetime.time):
        return time_to_millis(value)
    return date_to_days(value) * MILLIS_PER_DAY


def iso_text(value: datetime.date | datetime.time) -> str:
    """A date, a time or a timestamp, whichever is the shortest that tells the moment.

    Kafka knows only milliseconds: what lies before 2 January 1970 is a time of the day, and a
    multiple of a day is a date.
    """
    millis = millis_of(value)
    time = millis_to_time(millis % MILLIS_PER_DAY)
    clock = f"{time.hour:02d}:{time.minute:02d}:{time.second:02d}.{time.microsecond // 1000:03d}Z"
    if millis < MILLIS_PER_DAY:
        return clock
    day = days_to_date(millis // MILLIS_PER_DAY).isoformat()
    return day if millis % MILLIS_PER_DAY == 0 else f"{day}T{clock}"
