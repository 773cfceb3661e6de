"""The calendar of Java's ``SimpleDateFormat``, in UTC: Gregorian from 15 October 1582, Julian
before it.

Python's ``datetime`` knows neither the Julian calendar nor years above 9999, and Connect's
timestamps may have both; so dates are computed here from milliseconds, as integers, without bounds.
Weeks are those of Java's default locale en_US: they start on Sunday, and the first one holds the
first of January.
"""

from typing import NamedTuple

__all__ = ["DAY_MS", "Moment", "days_of", "days_of_year", "moment"]

DAY_MS = 86_400_000
# Days since 1970 of 1582-10-15, the first day of the Gregorian calendar.
_CUTOVER_DAYS = -141_427
_CUTOVER_YEAR = 1582
_UNIX_EPOCH_FROM_MARCH_YEAR_0 = 719_468
_JULIAN_LEAD = 2


class Moment(NamedTuple):
    """The fields of an instant. ``year`` is astronomical: 0 is the year 1 BC."""

    year: int
    month: int
    day: int
    day_of_year: int
    day_of_week: int  # Java's: 1 is Sunday
    hour: int
    minute: int
    second: int
    millisecond: int

    @property
    def week_of_month(self) -> int:
        before = self._days_before_in_month
        first_weekday = (self.day_of_week - 1 - before) % 7
        return (before + first_weekday) // 7 + 1

    @property
    def day_of_week_in_month(self) -> int:
        return self._days_before_in_month // 7 + 1

    @property
    def _days_before_in_month(self) -> int:
        # Not the day less one in October 1582, which has no 5th to 14th.
        return days_of(self.year, self.month, self.day) - days_of(self.year, self.month, 1)

    def week_date(self) -> tuple[int, int]:
        """The week year and the week in it. The last days of December may belong to the next year's
        first.
        """
        first_weekday = (self.day_of_week - 1 - (self.day_of_year - 1)) % 7
        week = (self.day_of_year - 1 + first_weekday) // 7 + 1
        next_january = days_of(self.year + 1, 1, 1)
        today = days_of(self.year, self.month, self.day)
        if today + (7 - self.day_of_week) >= next_january:
            return self.year + 1, 1
        return self.year, week


def moment(timestamp_ms: int) -> Moment:
    days, rest = divmod(timestamp_ms, DAY_MS)
    seconds, millisecond = divmod(rest, 1000)
    minutes, second = divmod(seconds, 60)
    hour, minute = divmod(minutes, 60)
    year, month, day = _date(days)
    day_of_year = days - days_of(year, 1, 1) + 1
    day_of_week = (days + 4) % 7 + 1
    return Moment(year, month, day, day_of_year, day_of_week, hour, minute, second, millisecond)


def days_of(year: int, month: int, day: int) -> int:
    """Days since 1970 of a date, whose month and day may overflow (13, 0, -5), as Java's lenient
    calendar.
    """
    if year < _CUTOVER_YEAR:
        return _days_julian(year, month, day)
    gregorian = _days_gregorian(year, month, day)
    return gregorian if gregorian >= _CUTOVER_DAYS else _days_julian(year, month, day)


def days_of_year(year: int, day_of_year: int) -> int:
    """Days since 1970 of a day counted from the first of January, which may overflow the year."""
    return days_of(year, 1, 1) + day_of_year - 1


def _date(days: int) -> tuple[int, int, int]:
    # Years are counted from March, so that the leap day is the last of its year.
    if days >= _CUTOVER_DAYS:
        era, day_of_era = divmod(days + _UNIX_EPOCH_FROM_MARCH_YEAR_0, 146_097)
        year_of_era = (
            day_of_era - day_of_era // 1460 + day_of_era // 36_524 - day_of_era // 146_096
        ) // 365
        leap_days = year_of_era // 4 - year_of_era // 100
        year = year_of_era + era * 400
        day_of_year = day_of_era - (365 * year_of_era + leap_days)
    else:
        cycle, day_of_cycle = divmod(days + _UNIX_EPOCH_FROM_MARCH_YEAR_0 + _JULIAN_LEAD, 1461)
        year_of_cycle = (day_of_cycle - day_of_cycle // 1460) // 365
        year = year_of_cycle + cycle * 4
        day_of_year = day_of_cycle - 365 * year_of_cycle
    month_from_march = (5 * day_of_year + 2) // 153
    day = day_of_year - (153 * month_from_march + 2) // 5 + 1
    month = month_from_march + 3 if month_from_march < 10 else month_from_march - 9
    return year + (month <= 2), month, day


def _days_from_march(year: int, month: int) -> tuple[int, int]:
    """The year that begins in March and the days in it before ``month``, which may overflow."""
    years, month_index = divmod(month - 1, 12)
    year += years - (month_index < 2)
    return year, (153 * ((month_index + 10) % 12) + 2) // 5


def _days_gregorian(year: int, month: int, day: int) -> int:
    year, before = _days_from_march(year, month)
    leap_days = year // 4 - year // 100 + year // 400
    return 365 * year + leap_days + before + day - 1 - _UNIX_EPOCH_FROM_MARCH_YEAR_0


def _days_julian(year: int, month: int, day: int) -> int:
    year, before = _days_from_march(year, month)
    epoch = _UNIX_EPOCH_FROM_MARCH_YEAR_0 + _JULIAN_LEAD
    return 365 * year + year // 4 + before + day - 1 - epoch
