"""Text to a value and its schema, as Kafka's ``Values.parseString`` finds them for headers.

The text is cut into tokens at ``: , { } [ ] "``; a backslash takes that meaning from the next
character. What looks like a number, a boolean, null, a date, a list or a map becomes one, with the
smallest type that holds it, and everything else stays a string. Where Kafka is odd (what follows a
number is dropped, ``[1,null]`` is a string), so is this.
"""

import re
from decimal import Decimal
from typing import Any, NamedTuple

from moldau.connect.data.errors import DataError
from moldau.connect.data.java_dates import parse_date, parse_time, parse_timestamp
from moldau.connect.data.logical import DATE, TIME, TIMESTAMP, decimal_schema, java_scale
from moldau.connect.data.merging import SchemaMerger, align
from moldau.connect.data.schema import (
    BOOLEAN,
    FLOAT32,
    FLOAT64,
    INT8,
    INT16,
    INT32,
    INT64,
    STRING,
    Schema,
    Type,
)
from moldau.connect.data.values import Float32, Int8, Int16, Int32, decimal_to_float32


class Parsed(NamedTuple):
    schema: Schema | None
    value: Any


_NULL = Parsed(None, None)
_LITERALS = {"null": _NULL, "true": Parsed(BOOLEAN, True), "false": Parsed(BOOLEAN, False)}
_DELIMITERS = frozenset(':,{}[]"')
_HAS_DELIMITER = re.compile(r'[:,{}\[\]"\\]')
_NUMBER = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d{1,10})?", re.ASCII)
# What ``String.trim`` takes away.
_TRIMMED = "".join(map(chr, range(33)))


def parse_string(text: str) -> Parsed:
    """The value that ``text`` stands for and its schema; both are None for ``null``."""
    if not text:
        return Parsed(STRING, text)
    if _HAS_DELIMITER.search(text) is None:
        return _parse_single(text)
    return _parse(_Tokens(text), is_embedded=False)


def _parse_single(text: str) -> Parsed:
    """A text of one token, as most are: what ``_parse`` gives, sooner."""
    token = text.strip(_TRIMMED)
    literal = _LITERALS.get(token)
    if literal is not None:
        return literal
    parsed = None
    if token[:1].isdecimal():
        parsed = _temporal(token) or _number(token)
    elif token[:1] in ("+", "-"):
        parsed = _number(token)
    return parsed or Parsed(STRING, text)


class _Tokens:
    """The tokens of a text, read one after the other, with a way back."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._index = 0
        self._peeked: str | None = None

    @property
    def has_next(self) -> bool:
        return self._peeked is not None or self._index < len(self.text)

    def mark(self) -> int:
        return self._index - len(self._peeked or "")

    def rewind(self, mark: int) -> None:
        self._index = mark
        self._peeked = None

    def next(self) -> str:
        token, self._peeked = self._peeked, None
        return self._cut() if token is None else token

    def next_texts(self, count: int) -> str | None:
        """The text of the next ``count`` tokens; None if there are fewer, and nothing is read."""
        start = self.mark()
        for _ in range(count):
            if not self.has_next:
                self.rewind(start)
                return None
            self.next()
        return self.text[start : self._index]

    def consume(self, expected: str) -> bool:
        """Whether the next token is ``expected``, which is then read; blank tokens are skipped."""
        if self._peeked is None:
            if not self.has_next:
                return False
            self._peeked = self._cut()
        while _is_blank(self._peeked) and self._index < len(self.text):
            self._peeked = self._cut()
        if self._peeked.strip(_TRIMMED) != expected:
            return False
        self._peeked = None
        return True

    def _cut(self) -> str:
        start, is_escaped = self._index, False
        for index in range(start, len(self.text)):
            character = self.text[index]
            if character == "\\":
                is_escaped = not is_escaped
                continue
            if character in _DELIMITERS and not is_escaped:
                self._index = index if index > start else index + 1
                return self.text[start : self._index]
            is_escaped = False
        self._index = len(self.text)
        return self.text[start:]


def _is_blank(text: str) -> bool:
    return not text.strip(_TRIMMED)


def _parse(tokens: _Tokens, is_embedded: bool) -> Parsed:
    if not tokens.has_next:
        return _NULL
    if is_embedded and tokens.consume('"'):
        return _quoted(tokens)
    for literal, parsed in _LITERALS.items():
        mark = tokens.mark()
        if tokens.consume(literal) and (is_embedded or not tokens.has_next):
            return parsed
        tokens.rewind(mark)
    mark = tokens.mark()
    try:
        if tokens.consume("["):
            return _array(tokens)
        if tokens.consume("{"):
            return _map(tokens)
    except (DataError, RecursionError):
        tokens.rewind(mark)
    token = tokens.next()
    if _is_blank(token):
        return Parsed(STRING, token)
    return _single(tokens, token.strip(_TRIMMED), is_embedded)


def _single(tokens: _Tokens, token: str, is_embedded: bool) -> Parsed:
    """A number, a date or a time that begins with ``token``; else the whole text is a string."""
    parsed = None
    first = token[:1]
    if first.isdecimal():
        mark = tokens.mark()
        # The colons of a time are delimiters: a time is five tokens.
        rest = tokens.next_texts(4)
        parsed = _temporal(token + rest) if rest is not None else None
        if parsed is None:
            tokens.rewind(mark)
            parsed = _temporal(token)
    if parsed is None and (first.isdecimal() or first in "+-"):
        parsed = _number(token)
    if parsed is not None:
        return parsed
    if is_embedded:
        raise DataError("a text within a list or a map must be in quotes")
    return Parsed(STRING, tokens.text)


def _temporal(text: str) -> Parsed | None:
    text = text.replace("\\:", ":")
    match len(text):
        case 13:
            time = parse_time(text)
            return None if time is None else Parsed(TIME, time)
        case 24:
            timestamp = parse_timestamp(text)
            return None if timestamp is None else Parsed(TIMESTAMP, timestamp)
        case 10:
            date = parse_date(text)
            return None if date is None else Parsed(DATE, date)
    return None


def _number(text: str) -> Parsed | None:
    if _NUMBER.fullmatch(text) is None:
        return None
    number = Decimal(text)
    if -(10**19) <= number <= 10**19 and number == number.to_integral_value():
        integer = int(number)
        for schema, kind, bound in _INTEGERS:
            if -bound <= integer < bound:
                return Parsed(schema, kind(integer))
    scale = java_scale(number)
    if scale != 0:
        single = decimal_to_float32(number)
        if abs(single) != float("inf"):
            return Parsed(FLOAT32, Float32(single))
        try:
            double = float(number)
        except OverflowError:
            double = float("inf")
        if abs(double) != float("inf"):
            return Parsed(FLOAT64, double)
    return Parsed(decimal_schema(scale), number)


_INTEGERS: tuple[tuple[Schema, type[int], int], ...] = (
    (INT8, Int8, 2**7),
    (INT16, Int16, 2**15),
    (INT32, Int32, 2**31),
    (INT64, int, 2**63),
)


def _quoted(tokens: _Tokens) -> Parsed:
    parts = []
    while tokens.has_next and not tokens.consume('"'):
        parts.append(tokens.next())
    text = "".join(parts)
    return _temporal(text) or Parsed(STRING, text)


def _array(tokens: _Tokens) -> Parsed:
    values: list[Any] = []
    elements = SchemaMerger()
    while tokens.has_next:
        if tokens.consume("]"):
            schema = Schema(Type.ARRAY, value_schema=elements.common)
            if elements.common is not None:
                values = [align(elements.common, value) for value in values]
            return Parsed(schema, values)
        if tokens.consume(","):
            raise DataError(f"an element is missing in {tokens.text}")
        element = _parse(tokens, is_embedded=True)
        elements.merge(element.schema)
        values.append(element.value)
        mark = tokens.mark()
        if tokens.consume("]"):
            tokens.rewind(mark)
        elif not tokens.consume(","):
            raise DataError(f"a comma is missing in {tokens.text}")
    raise DataError(f"a ] is missing in {tokens.text}")


def _map(tokens: _Tokens) -> Parsed:
    entries: dict[Any, Any] = {}
    keys, elements = SchemaMerger(), SchemaMerger()
    while tokens.has_next:
        if tokens.consume("}"):
            return _map_of(entries, keys.common, elements.common)
        if tokens.consume(","):
            raise DataError(f"an entry is missing in {tokens.text}")
        key = _parse(tokens, is_embedded=True)
        if key.value is None:
            raise DataError(f"a key is null in {tokens.text}")
        if not tokens.consume(":"):
            raise DataError(f"a : is missing at {tokens.mark()} in {tokens.text}")
        element = _parse(tokens, is_embedded=True)
        try:
            entries[key.value] = element.value
        except TypeError:
            raise DataError(f"a list or a map cannot be the key of a map: {tokens.text}") from None
        tokens.consume(",")
        keys.merge(key.schema)
        elements.merge(element.schema)
    raise DataError(f"a }} is missing in {tokens.text}")


def _map_of(entries: dict[Any, Any], key: Schema | None, element: Schema | None) -> Parsed:
    if key is None:
        return Parsed(Schema(Type.MAP), entries)
    schema = Schema(Type.MAP, key_schema=key, value_schema=element)
    aligned = {}
    for name, value in entries.items():
        aligned[align(key, name)] = value if element is None else align(element, value)
    return Parsed(schema, aligned)
