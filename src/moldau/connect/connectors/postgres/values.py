"""Reads the texts in which PostgreSQL prints its values (pure).

The session that prints them has ``datestyle`` ISO, ``intervalstyle`` postgres, ``timezone`` UTC,
``bytea_output`` hex and ``lc_monetary`` C (see ``session``), so each type has one form.
"""

import re
from datetime import date, datetime
from decimal import Decimal
from typing import Any, Final, NamedTuple

from moldau.connect.data.errors import DataError

DAY_US: Final = 86_400_000_000
_EPOCH_ORDINAL: Final = date(1970, 1, 1).toordinal()

# Debezium's values for dates without end, which come from pgjdbc's.
INFINITE_DATES: Final = {"infinity": -2_147_472_692, "-infinity": -2_147_472_691}
INFINITE_TIMESTAMPS: Final = {
    "infinity": 9_223_372_036_825_200_000,
    "-infinity": -9_223_372_036_832_400_000,
}

_TIMESTAMP: Final = re.compile(
    r"(\d{4,})-(\d\d)-(\d\d)(?: (\d\d):(\d\d):(\d\d)(?:\.(\d{1,6}))?)?(?:\+00)?( BC)?"
)
_TIME: Final = re.compile(
    r"(\d\d):(\d\d):(\d\d)(?:\.(\d{1,6}))?(?:([+-])(\d\d)(?::(\d\d))?(?::(\d\d))?)?"
)
_INTERVAL: Final = re.compile(
    r"(?:([+-]?\d+) years? ?)?(?:([+-]?\d+) mons? ?)?(?:([+-]?\d+) days? ?)?"
    r"(?:([+-])?(\d+):(\d\d):(\d\d)(?:\.(\d{1,6}))?)?"
)
_HSTORE: Final = re.compile(r'"((?:[^"\\]|\\.)*)"=>(?:"((?:[^"\\]|\\.)*)"|(NULL))', re.DOTALL)
_ESCAPED: Final = re.compile(r"\\(.)", re.DOTALL)
_POINT: Final = re.compile(r"\(([^,]+),([^)]+)\)")


def _unreadable(kind: str, text: str) -> DataError:
    return DataError(f"{text!r} is not a {kind} as PostgreSQL prints it")


def date_days(text: str) -> int:
    """Days since 1970-01-01."""
    try:
        return date.fromisoformat(text).toordinal() - _EPOCH_ORDINAL
    except ValueError:
        if text in INFINITE_DATES:
            return INFINITE_DATES[text]
        return _rare_timestamp("date", text)[0]


def timestamp_us(text: str) -> int:
    """Microseconds since 1970-01-01 in the zone of the text (which is UTC or none)."""
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        if text in INFINITE_TIMESTAMPS:
            return INFINITE_TIMESTAMPS[text]
        days, micros = _rare_timestamp("timestamp", text)
        return days * DAY_US + micros
    seconds = (moment.toordinal() - _EPOCH_ORDINAL) * 86400
    seconds += moment.hour * 3600 + moment.minute * 60 + moment.second
    return seconds * 1_000_000 + moment.microsecond


def _rare_timestamp(kind: str, text: str) -> tuple[int, int]:
    """Days and microseconds of what Python's calendar lacks: years before 1 and after 9999."""
    found = _TIMESTAMP.fullmatch(text)
    if found is None:
        raise _unreadable(kind, text)
    year, month, day = (int(part) for part in found.group(1, 2, 3))
    hour, minute, second = (int(part or 0) for part in found.group(4, 5, 6))
    if found[8]:
        year = 1 - year
    micros = int((found[7] or "").ljust(6, "0"))
    days = _days_from_civil(year, month, day)
    return days, ((hour * 60 + minute) * 60 + second) * 1_000_000 + micros


def _days_from_civil(year: int, month: int, day: int) -> int:
    """Days since 1970-01-01 in the Gregorian calendar, continued in both directions.

    Python's calendar repeats every 400 years of 146,097 days.
    """
    cycles = (year - 1) // 400
    ordinal = date(year - cycles * 400, month, day).toordinal()
    return ordinal + cycles * 146_097 - _EPOCH_ORDINAL


def zoned_timestamp(text: str, digits: int) -> str:
    """``2021-02-03T03:05:06.789012Z`` with as many digits of a second as the column has."""
    if len(text) < 19 or text[10] != " " or text[4] != "-" or text.endswith("BC"):
        return _rare_zoned_timestamp(text, digits)
    body = text[:10] + "T" + text[11:19]
    if not digits:
        return body + "Z"
    fraction = text[20 : text.rindex("+")] if text[19] == "." else ""
    return f"{body}.{fraction[:digits].ljust(digits, '0')}Z"


def _rare_zoned_timestamp(text: str, digits: int) -> str:
    if text in INFINITE_TIMESTAMPS:
        return text
    found = _TIMESTAMP.fullmatch(text)
    if found is None:
        raise _unreadable("timestamp with time zone", text)
    year = 1 - int(found[1]) if found[8] else int(found[1])
    sign = "-" if year < 0 else "+" if year > 9999 else ""
    fraction = f".{(found[7] or '')[:digits].ljust(digits, '0')}" if digits else ""
    clock = f"{found[4]}:{found[5]}:{found[6]}{fraction}"
    return f"{sign}{abs(year):04}-{found[2]}-{found[3]}T{clock}Z"


def time_us(text: str) -> int:
    """Microseconds since midnight; ``24:00:00`` is a whole day."""
    found = _TIME.fullmatch(text)
    if found is None:
        raise _unreadable("time", text)
    return _clock_us(*found.group(1, 2, 3, 4))


def _clock_us(hour: str, minute: str, second: str, fraction: str | None) -> int:
    seconds = (int(hour) * 60 + int(minute)) * 60 + int(second)
    return seconds * 1_000_000 + int((fraction or "").ljust(6, "0"))


def zoned_time(text: str) -> str:
    """``23:02:03.5Z``: moved to UTC, with as many digits of a second as needed."""
    found = _TIME.fullmatch(text)
    if found is None or not found[5]:
        raise _unreadable("time with time zone", text)
    hours, minutes, seconds = (int(part or 0) for part in found.group(6, 7, 8))
    offset_s = (hours * 60 + minutes) * 60 + seconds
    micros = _clock_us(*found.group(1, 2, 3, 4))
    micros -= (offset_s if found[5] == "+" else -offset_s) * 1_000_000
    seconds, micros = divmod(micros % DAY_US, 1_000_000)
    fraction = f".{micros:06}".rstrip("0") if micros else ""
    clock = f"{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}"
    return f"{clock}{fraction}Z"


class Interval(NamedTuple):
    """An interval: its parts have signs of their own, and a month has no fixed number of days."""

    years: int
    months: int
    days: int
    clock_us: int

    @property
    def micros(self) -> int:
        """Microseconds, with months of 30.4375 days (365.25 / 12), as Debezium counts them."""
        month_us = DAY_US * 487 // 16
        return (self.years * 12 + self.months) * month_us + self.days * DAY_US + self.clock_us

    @property
    def iso(self) -> str:
        """``P1Y2M3DT4H5M6.789S``: all parts, as Debezium writes them."""
        sign = -1 if self.clock_us < 0 else 1
        seconds, micros = divmod(abs(self.clock_us), 1_000_000)
        minutes, seconds = divmod(seconds, 60)
        hours, minutes = divmod(minutes, 60)
        exact = Decimal(sign * (seconds * 1_000_000 + micros)).scaleb(-6).normalize()
        date_part = f"P{self.years}Y{self.months}M{self.days}D"
        return f"{date_part}T{sign * hours}H{sign * minutes}M{exact:f}S"


def interval(text: str) -> Interval:
    """The interval in ``1 year 2 mons 3 days 04:05:06.789``."""
    found = _INTERVAL.fullmatch(text)
    if found is None or not text:
        raise _unreadable("interval", text)
    years, months, days = (int(part or 0) for part in found.group(1, 2, 3))
    clock = 0
    if found[5]:
        clock = _clock_us(*found.group(5, 6, 7, 8))
    return Interval(years, months, days, -clock if found[4] == "-" else clock)


def bytea(text: str) -> bytes:
    """The bytes of ``\\x00ff``."""
    if not text.startswith("\\x"):
        raise _unreadable("bytea in hex", text)
    return bytes.fromhex(text[2:])


def bits(text: str) -> bytes:
    """The bits of ``10110`` with the last one first, without zeros at the end (Java's BitSet)."""
    number = int(text, 2) if text else 0
    return number.to_bytes((number.bit_length() + 7) // 8, "little")


def money(text: str, digits: int) -> Decimal:
    """The amount in ``-$1,234.56``, with ``digits`` after the point."""
    plain = re.sub(r"[^0-9.]", "", text)
    if not plain:
        raise _unreadable("money", text)
    amount = Decimal(plain)
    is_negative = "-" in text or text.startswith("(")
    return (-amount if is_negative else amount).quantize(Decimal(1).scaleb(-digits))


def point(text: str) -> tuple[float, float]:
    """The coordinates in ``(1.5,-2)``."""
    found = _POINT.fullmatch(text)
    if found is None:
        raise _unreadable("point", text)
    return float(found[1]), float(found[2])


def hstore(text: str) -> dict[str, str | None]:
    """The pairs in ``"a"=>"1", "b"=>NULL``."""
    pairs = {}
    at = 0
    while at < len(text):
        found = _HSTORE.match(text, at)
        if found is None:
            raise _unreadable("hstore", text)
        value = None if found[3] else _ESCAPED.sub(r"\1", found[2])
        pairs[_ESCAPED.sub(r"\1", found[1])] = value
        at = found.end()
        if text.startswith(", ", at):
            at += 2
    return pairs


# One element of an array, or a brace or comma between them.
_ARRAY_TOKEN: Final = re.compile(r'"((?:[^"\\]|\\.)*)"|([{},])|([^{},"]+)', re.DOTALL)


def array(text: str) -> list[Any]:
    """The elements of ``{a,"b c",NULL}`` as texts, None or, in more dimensions, lists of them."""
    if text.startswith("["):
        # Bounds other than 1: [0:2]={...}
        text = text[text.index("=") + 1 :]
    stack: list[list[Any]] = [[]]
    at = 0
    while at < len(text):
        found = _ARRAY_TOKEN.match(text, at)
        if found is None:
            raise _unreadable("array", text)
        at = found.end()
        quoted, mark, plain = found.groups()
        if mark == "{":
            stack.append([])
        elif mark == "}":
            if len(stack) < 2:
                raise _unreadable("array", text)
            done = stack.pop()
            stack[-1].append(done)
        elif quoted is not None:
            stack[-1].append(_ESCAPED.sub(r"\1", quoted))
        elif plain is not None:
            stack[-1].append(None if plain == "NULL" else _ESCAPED.sub(r"\1", plain))
    if len(stack) != 1 or len(stack[0]) != 1:
        raise _unreadable("array", text)
    elements = stack[0][0]
    assert isinstance(elements, list)
    return elements
