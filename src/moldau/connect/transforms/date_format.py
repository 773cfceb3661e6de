"""Java's ``SimpleDateFormat``, in UTC and English: the patterns that TimestampConverter and
TimestampRouter take.

Both directions work on milliseconds since 1970. As in Java, parsing is lenient: ``13`` is a month
of the next year, text after the last field is ignored, spaces before a field are skipped, ``yy`` of
two digits lies within 80 years before and 20 years after today.

All of Java's letters format. Those that count weeks (``Y w W F``) do not parse here: Java resolves
them by rules that no one relies on, and a guess would be a wrong timestamp. A letter unknown to
Java is refused at once.
"""

import re
from collections.abc import Callable
from typing import NamedTuple

from moldau.connect.transforms.java_calendar import DAY_MS, Moment, days_of, days_of_year, moment

__all__ = ["DateFormat", "DateFormatError"]

_LETTERS = "GyMdkHmsSEDFwWahKzZYuXL"
_WEEK_LETTERS = "YwWF"
_MONTHS = (
    "January", "February", "March", "April", "May", "June",
    "July", "August", "September", "October", "November", "December",
)  # fmt: skip
_WEEKDAYS = ("Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday")
_ERAS = ("BC", "AD")
_HALVES = ("AM", "PM")
_UTC_NAMES = ("Coordinated Universal Time", "UTC")
# What DecimalFormat reads as an integer: it also takes an exponent.
_NUMBER = re.compile(r"(-?)(\d+)(?:E(-?\d+))?")


class DateFormatError(ValueError):
    """A pattern that is not Java's, or a text that does not match it."""


class _Field(NamedTuple):
    letter: str
    length: int

    @property
    def is_number(self) -> bool:
        return self.length <= 2 if self.letter in "ML" else self.letter not in "GEazZX"


class DateFormat:
    """One pattern, compiled. ``today_ms`` is where the window of two-digit years is fixed.

    Raises:
        DateFormatError: the pattern has a letter that Java does not know, or an open quotation.
    """

    def __init__(self, pattern: str, today_ms: int) -> None:
        self.pattern = pattern
        self._parts = _compile(pattern)
        self._writers = [
            part if isinstance(part, str) else _writer(part.letter, part.length)
            for part in self._parts
        ]
        now = moment(today_ms)
        # Java goes back 80 years from now; a 29 February becomes the 28th where there is none.
        day = (
            now.day
            if moment(days_of(now.year - 80, now.month, now.day) * DAY_MS).day == now.day
            else 28
        )
        self._century_start_ms = days_of(now.year - 80, now.month, day) * DAY_MS + today_ms % DAY_MS
        self._century_start_year = now.year - 80

    def format(self, timestamp_ms: int) -> str:
        at = moment(timestamp_ms)
        return "".join(part if isinstance(part, str) else part(at) for part in self._writers)

    def parse(self, text: str) -> int:
        """The milliseconds that ``text`` stands for.

        Raises:
            DateFormatError: it does not match the pattern, or the pattern counts weeks.
        """
        reading = _Reading(text, self._century_start_year)
        for index, part in enumerate(self._parts):
            if isinstance(part, str):
                reading.literal(part)
            else:
                # A number right before another one takes as many characters as it has letters.
                following = self._parts[index + 1] if index + 1 < len(self._parts) else ""
                is_abutting = isinstance(following, _Field) and following.is_number
                reading.field(part, is_abutting)
        if reading.position == 0:
            raise DateFormatError(f"{text!r} does not match the pattern")
        timestamp_ms = reading.timestamp_ms()
        if reading.is_ambiguous and timestamp_ms < self._century_start_ms:
            reading.values["y"] += 100
            timestamp_ms = reading.timestamp_ms()
        return timestamp_ms


def _compile(pattern: str) -> list[str | _Field]:
    parts: list[str | _Field] = []
    literal = ""
    position = 0
    in_quotes = False
    while position < len(pattern):
        char = pattern[position]
        if char == "'":
            if pattern.startswith("''", position):
                literal += "'"
                position += 2
                continue
            in_quotes = not in_quotes
            position += 1
        elif not in_quotes and char.isascii() and char.isalpha():
            if char not in _LETTERS:
                raise DateFormatError(
                    f"the letter {char} means nothing in a pattern: put text in quotes"
                )
            count = len(pattern[position:]) - len(pattern[position:].lstrip(char))
            if char == "X" and count > 3:
                raise DateFormatError(
                    f"{char * count} means nothing in a pattern: write X, XX or XXX"
                )
            if literal:
                parts.append(literal)
                literal = ""
            parts.append(_Field(char, count))
            position += count
        else:
            literal += char
            position += 1
    if in_quotes:
        raise DateFormatError("Unterminated quote")
    if literal:
        parts.append(literal)
    return parts


def _padded(value: int, width: int) -> str:
    return f"-{-value:0{width}d}" if value < 0 else f"{value:0{width}d}"


def _clipped_year(year: int, count: int) -> str:
    return f"{year % 100:02d}" if count == 2 else _padded(year, count)


def _year_of_era(year: int) -> int:
    return year if year > 0 else 1 - year


def _writer(letter: str, count: int) -> Callable[[Moment], str]:
    """A function that writes one field."""
    numbers: dict[str, Callable[[Moment], int]] = {
        "d": lambda at: at.day,
        "H": lambda at: at.hour,
        "k": lambda at: at.hour or 24,
        "K": lambda at: at.hour % 12,
        "h": lambda at: at.hour % 12 or 12,
        "m": lambda at: at.minute,
        "s": lambda at: at.second,
        "S": lambda at: at.millisecond,
        "D": lambda at: at.day_of_year,
        "u": lambda at: (at.day_of_week - 2) % 7 + 1,
        "w": lambda at: at.week_date()[1],
        "W": lambda at: at.week_of_month,
        "F": lambda at: at.day_of_week_in_month,
    }
    if letter in numbers:
        number = numbers[letter]
        return lambda at: _padded(number(at), count)
    if letter == "y":
        return lambda at: _clipped_year(_year_of_era(at.year), count)
    if letter == "Y":
        return lambda at: _clipped_year(at.week_date()[0], count)
    if letter in "ML":
        if count <= 2:
            return lambda at: _padded(at.month, count)
        length = 3 if count == 3 else None
        return lambda at: _MONTHS[at.month - 1][:length]
    if letter == "E":
        length = None if count >= 4 else 3
        return lambda at: _WEEKDAYS[at.day_of_week - 1][:length]
    if letter == "G":
        return lambda at: _ERAS[at.year > 0]
    if letter == "a":
        return lambda at: _HALVES[at.hour >= 12]
    zone = {"z": "UTC" if count < 4 else _UTC_NAMES[0], "Z": "+0000", "X": "Z"}[letter]
    return lambda at: zone


class _Reading:
    """A text on its way through a pattern: the position, and the fields read so far."""

    def __init__(self, text: str, century_start_year: int) -> None:
        self.text = text
        self.position = 0
        self.values: dict[str, int] = {}
        self.is_ambiguous = False
        self._century_start_year = century_start_year

    def fail(self) -> DateFormatError:
        return DateFormatError(f"{self.text!r} does not match the pattern")

    def literal(self, expected: str) -> None:
        if not self.text.startswith(expected, self.position):
            raise self.fail()
        self.position += len(expected)

    def field(self, field: _Field, is_abutting: bool) -> None:
        letter, count = field
        if letter in _WEEK_LETTERS:
            raise DateFormatError(
                f"'{letter}' counts weeks, and cannot be used to parse timestamps"
            )
        start = self.position
        while self.position < len(self.text) and self.text[self.position] in " \t":
            self.position += 1
        if self.position == len(self.text):
            raise self.fail()
        if letter in "zZX":
            self._zone(letter, count)
        elif letter == "G":
            self._set("G", self._name(start, (_ERAS,)))
        elif letter == "a":
            self._set("a", self._name(start, (_HALVES,)))
        elif letter == "E":
            self._set("E", self._name(start, (_WEEKDAYS, tuple(day[:3] for day in _WEEKDAYS))))
        elif letter in "ML" and count > 2:
            names = (_MONTHS, tuple(month[:3] for month in _MONTHS))
            self._set("M", self._name(start, names) + 1)
        else:
            self._numeric(letter, count, start, is_abutting)

    def _numeric(self, letter: str, count: int, start: int, is_abutting: bool) -> None:
        end = len(self.text)
        if is_abutting:
            end = start + count
            if end > len(self.text):
                raise self.fail()
        found = _NUMBER.match(self.text, self.position, end)
        if found is None:
            raise self.fail()
        value = _int32(found)
        if letter == "y":
            is_short = count <= 2 and found.end() - self.position == 2
            if is_short and found[0].isdigit():
                # A year of two digits lies in the window that starts 80 years ago.
                turn = self._century_start_year % 100
                self.is_ambiguous = value == turn
                value += self._century_start_year // 100 * 100 + (100 if value < turn else 0)
        elif (letter, value) in (("k", 24), ("h", 12)):
            value = 0
        self.position = found.end()
        self._set({"k": "H", "h": "K", "L": "M", "u": "E"}.get(letter, letter), value)

    def _name(self, start: int, tables: tuple[tuple[str, ...], ...]) -> int:
        """The index of the longest name at ``start``, ignoring case (long names are tried before
        short ones).
        """
        for names in tables:
            best = -1
            for index, name in enumerate(names):
                found = self.text[start : start + len(name)]
                if found.lower() == name.lower() and (best < 0 or len(name) > len(names[best])):
                    best = index
            if best >= 0:
                self.position = start + len(names[best])
                return best
        raise self.fail()

    def _zone(self, letter: str, count: int) -> None:
        if letter == "X":
            if self.text.startswith("Z", self.position):
                self._set("Z", 0)
                self.position += 1
                return
            minutes = {1: "", 2: "([0-5][0-9])", 3: ":([0-5][0-9])"}[count]
            self._offset(f"([+-])([01][0-9]|2[0-3]){minutes}")
            return
        rest = self.text[self.position :]
        if rest[:1] in "+-":
            self._offset("([+-])([01][0-9]|2[0-3])([0-5][0-9])")
        elif rest[:3].upper() == "GMT":
            self.position += 3
            self._set("Z", 0)
            if rest[3:4] in ("+", "-"):
                self._offset("([+-])([01]?[0-9]|2[0-3]):([0-5][0-9])")
        else:
            for name in _UTC_NAMES:
                if rest[: len(name)].upper() == name.upper():
                    # The name of the zone that is used anyway changes nothing.
                    self.position += len(name)
                    return
            raise self.fail()

    def _offset(self, pattern: str) -> None:
        found = re.compile(pattern, re.ASCII).match(self.text, self.position)
        if found is None:
            raise self.fail()
        minutes = int(found[2]) * 60 + (int(found[3]) if len(found.groups()) > 2 else 0)
        self._set("Z", minutes * 60_000 * (-1 if found[1] == "-" else 1))
        self.position = found.end()

    def _set(self, name: str, value: int) -> None:
        # The order matters: of two ways to name a day, the one read last counts.
        self.values.pop(name, None)
        self.values[name] = value

    def timestamp_ms(self) -> int:
        values = self.values
        year = values.get("y", 1970)
        if values.get("G", 1) == 0:
            year = 1 - year
        order = list(values)
        by_day_of_year = "D" in values and (
            "d" not in values or order.index("D") > order.index("d")
        )
        if "E" in values and "d" not in values and "D" not in values:
            raise DateFormatError("a weekday ('E', 'u') without a day of the month names no date")
        # Hours beyond a day move the date before it is known by which calendar it counts.
        more_days, time_ms = divmod(self._time_of_day_ms(order), DAY_MS)
        if by_day_of_year:
            days = days_of_year(year, values["D"] + more_days)
        else:
            days = days_of(year, values.get("M", 1), values.get("d", 1) + more_days)
        return days * DAY_MS + time_ms - values.get("Z", 0)

    def _time_of_day_ms(self, order: list[str]) -> int:
        values = self.values
        hour = values.get("H", 0)
        if "K" in values or "a" in values:
            half = max(order.index(name) for name in ("K", "a") if name in values)
            is_complete = "K" in values and "a" in values
            if "H" not in values or (is_complete and half > order.index("H")):
                hour = values.get("K", 0) + 12 * values.get("a", 0)
        minutes = hour * 60 + values.get("m", 0)
        return (minutes * 60 + values.get("s", 0)) * 1000 + values.get("S", 0)


def _int32(found: re.Match[str]) -> int:
    """The number as Java's ``Number.intValue()``: a long keeps its low 32 bits, a double stops at
    the bounds.
    """
    exponent = int(found[3] or 0)
    digits = int(found[2])
    if abs(exponent) > 400:
        value: int = 0 if exponent < 0 or digits == 0 else 1 << 70
    else:
        value = digits * 10**exponent if exponent >= 0 else digits // 10**-exponent
    if found[1]:
        value = -value
    if -(1 << 63) <= value < 1 << 63:
        return (value + (1 << 31)) % (1 << 32) - (1 << 31)
    return (1 << 31) - 1 if value > 0 else -(1 << 31)
