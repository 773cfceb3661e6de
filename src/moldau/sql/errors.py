"""An error in a statement: what is wrong, where, and what to do about it.

It is shown as one line, followed by the line of the statement with carets under the words at
fault::

    there is no topic ordesr: did you mean orders?
      SELECT * FROM ordesr
                    ^^^^^^
"""

import unicodedata
from typing import Final, NamedTuple

# The message if a statement has changed nothing and is not to.
CANCELLED: Final = "cancelled"


class Span(NamedTuple):
    """A part of a statement: from ``start`` up to, not including, ``end``."""

    start: int
    end: int


class SqlError(Exception):
    """An error that the user can fix.

    ``message`` says what is wrong, ``remedy`` what to do, ``span`` where it is in the statement.
    """

    def __init__(self, message: str, remedy: str = "", span: Span | None = None) -> None:
        self.message = message
        self.remedy = remedy
        self.span = span
        super().__init__(f"{message}: {remedy}" if remedy else message)


class Cancelled(SqlError):  # noqa: N818  # what happened
    """The user ended the statement with Ctrl-C."""


def show_error(error: SqlError, statement: str) -> str:
    """The text to print for an error in ``statement``; its last line has no newline."""
    if error.span is None:
        return str(error)
    start = min(error.span.start, len(statement))
    first = statement.rfind("\n", 0, start) + 1
    last = statement.find("\n", start)
    line = statement[first : len(statement) if last < 0 else last]
    before = line[: start - first]
    marked = line[start - first : max(start + 1, error.span.end) - first]
    # A tab before the word is as wide in the line below.
    indent = "".join("\t" if each == "\t" else " " * _width(each) for each in before)
    carets = "^" * max(1, sum(map(_width, marked.rstrip())))
    return f"{error}\n  {line.rstrip()}\n  {indent}{carets}"


def _width(character: str) -> int:
    """The number of columns that a terminal uses for a character."""
    if unicodedata.combining(character):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def nearest(name: str, known: "list[str]") -> str | None:
    """The known name that ``name`` is most likely a misspelling of; None if there is none."""
    import difflib

    by_lower = {each.lower(): each for each in known}
    found = difflib.get_close_matches(name.lower(), by_lower, n=1, cutoff=0.6)
    return by_lower[found[0]] if found else None
