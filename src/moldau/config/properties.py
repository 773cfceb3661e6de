"""Java properties files, the format of Kafka's settings.

``key=value``, ``key: value`` or ``key value``; ``#`` and ``!`` begin a comment line; a
backslash at the end of a line joins it with the next one, without its indentation; ``\\t``,
``\\n``, ``\\uXXXX`` and escaped separators work as in ``java.util.Properties``.
"""

import string
from collections.abc import Iterator, Mapping
from typing import Final

_ESCAPES: Final = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}
_SPACES: Final = " \t\f"


def parse_properties(text: str) -> dict[str, str]:
    """The settings in ``text``; if a key is set twice, the last value."""
    settings: dict[str, str] = {}
    for line in _logical_lines(text):
        key_end, value_start = _split(line)
        settings[_unescape(line[:key_end])] = _unescape(line[value_start:])
    return settings


def decode_properties(data: bytes) -> str:
    """The text of a properties file: UTF-8, or else ISO-8859-1, which is how Java reads it."""
    try:
        return data.decode()
    except UnicodeDecodeError:
        return data.decode("iso-8859-1")


def format_properties(settings: Mapping[str, str]) -> str:
    """``settings`` as text that ``parse_properties`` reads back."""
    lines = []
    for key, value in settings.items():
        lines.append(f"{_escape(key, is_key=True)}={_escape(value, is_key=False)}\n")
    return "".join(lines)


def _logical_lines(text: str) -> Iterator[str]:
    """Lines with their continuations joined, without blanks and comments."""
    pending = ""
    continued = False
    for raw in text.replace("\r\n", "\n").replace("\r", "\n").split("\n"):
        line = raw.lstrip(_SPACES)
        if not continued and (not line or line[0] in "#!"):
            continue
        pending += line
        backslashes = len(pending) - len(pending.rstrip("\\"))
        continued = backslashes % 2 == 1
        if continued:
            pending = pending[:-1]
            continue
        yield pending
        pending = ""
    if pending:
        yield pending


def _split(line: str) -> tuple[int, int]:
    """Where the key ends and where the value begins."""
    position = 0
    while position < len(line) and line[position] not in "=: \t\f":
        position += 2 if line[position] == "\\" else 1
    key_end = min(position, len(line))
    value_start = key_end
    while value_start < len(line) and line[value_start] in _SPACES:
        value_start += 1
    if value_start < len(line) and line[value_start] in "=:":
        value_start += 1
        while value_start < len(line) and line[value_start] in _SPACES:
            value_start += 1
    return key_end, value_start


def _unescape(text: str) -> str:
    if "\\" not in text:
        return text
    parts: list[str] = []
    position = 0
    while position < len(text):
        char = text[position]
        position += 1
        if char != "\\" or position == len(text):
            parts.append(char)
            continue
        escape = text[position]
        position += 1
        if escape == "u":
            digits = text[position : position + 4]
            if len(digits) < 4 or not all(digit in string.hexdigits for digit in digits):
                raise ValueError(f"\\u{digits} is not four hexadecimal digits: {text!r}")
            parts.append(chr(int(digits, 16)))
            position += 4
        else:
            parts.append(_ESCAPES.get(escape, escape))
    return "".join(parts)


def _escape(text: str, *, is_key: bool) -> str:
    parts: list[str] = []
    for index, char in enumerate(text):
        name = {"\t": "t", "\n": "n", "\r": "r", "\f": "f"}.get(char)
        if name is not None:
            parts.append("\\" + name)
        elif char == "\\" or (is_key and char in "#!=: ") or (char == " " and index == 0):
            parts.append("\\" + char)
        else:
            parts.append(char)
    return "".join(parts)
