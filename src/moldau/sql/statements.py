"""Cuts SQL into tokens, and input into statements that end with a semicolon.

Only as much of Spark's lexical rules as is needed to know what is inside a string, a quoted name
or a comment: semicolons and words there mean nothing. Everything else is left to Spark's parser.
"""

import re
from collections.abc import Iterator
from enum import Enum
from typing import Final, NamedTuple

from moldau.sql.errors import Span


class Kind(Enum):
    """What a token is."""

    SPACE = "space"
    COMMENT = "comment"
    STRING = "string"
    QUOTED = "quoted"
    WORD = "word"
    SYMBOL = "symbol"


class Token(NamedTuple):
    """A token and where it begins; ``is_open`` if its end is missing."""

    kind: Kind
    text: str
    start: int
    is_open: bool = False

    @property
    def span(self) -> Span:
        return Span(self.start, self.start + len(self.text))

    @property
    def upper(self) -> str:
        """A word in capitals; empty for anything else, also for a quoted name."""
        return self.text.upper() if self.kind is Kind.WORD else ""

    @property
    def name(self) -> str:
        """The name that a word or a quoted name stands for."""
        return unquoted(self.text) if self.kind is Kind.QUOTED else self.text


# Comments in brackets may be nested, so they are matched by hand.
_TOKENS: Final = re.compile(
    r"""
    (?P<space>\s+)
  | (?P<comment>--[^\n]*|(?P<bracketed>/\*))
  | (?P<string>[rR]'[^']*(?P<raw1>'?) | [rR]"[^"]*(?P<raw2>"?)
      | '(?:[^'\\]|\\.)*(?P<single>'?) | "(?:[^"\\]|\\.)*(?P<double>"?))
  | (?P<quoted>`(?:[^`]|``)*(?P<back>`?))
  | (?P<word>\w+)
  | (?P<symbol>.)
    """,
    re.VERBOSE | re.DOTALL,
)
_CLOSING: Final = ("raw1", "raw2", "single", "double", "back")


def tokens(text: str) -> Iterator[Token]:
    """All tokens; their texts together are ``text``."""
    position = 0
    while position < len(text):
        match = _TOKENS.match(text, position)
        assert match is not None, "every character is a token"
        if match["bracketed"]:
            end = _comment_end(text, position)
            is_open = end is None
            stop = len(text) if end is None else end
            yield Token(Kind.COMMENT, text[position:stop], position, is_open)
            position = stop
            continue
        kind = next(each for each in Kind if match[each.value] is not None)
        # The closing quote has a group of its own, which is empty if it is missing.
        is_open = any(match[each] == "" for each in _CLOSING)
        yield Token(kind, match[0], position, is_open)
        position = match.end()


def _comment_end(text: str, start: int) -> int | None:
    depth = 0
    for each in re.finditer(r"/\*|\*/", text[start:]):
        depth += 1 if each[0] == "/*" else -1
        if depth == 0:
            return start + each.end()
    return None


def words(text: str) -> list[Token]:
    """The tokens that mean something: neither space nor comment."""
    return [each for each in tokens(text) if each.kind not in (Kind.SPACE, Kind.COMMENT)]


def split(text: str) -> tuple[list[str], str]:
    """The statements that end with a semicolon, without it, and the rest of the input.

    Statements without any word are left out. Those that are returned begin with their first word,
    so that positions in an error do not count what was in front.
    """
    found: list[str] = []
    start = 0
    for token in tokens(text):
        if token.kind is Kind.SYMBOL and token.text == ";":
            statement = trimmed(text[start : token.start])
            if statement:
                found.append(statement)
            start = token.start + 1
    return found, text[start:]


def statements(text: str) -> list[str]:
    """All statements of a text; the last one needs no semicolon."""
    complete, rest = split(text)
    last = trimmed(rest)
    return [*complete, last] if last else complete


def is_complete(text: str) -> bool:
    """Whether Enter ends the input: there is no word after the last semicolon, and one before."""
    complete, rest = split(text)
    return bool(complete) and not words(rest)


def trimmed(text: str) -> str:
    """A statement without the space and the comments around it; empty if there is no word.

    A comment without an end stays: what it hides may have been meant.
    """
    meaning = [
        each for each in tokens(text) if each.is_open or each.kind not in (Kind.SPACE, Kind.COMMENT)
    ]
    if not meaning:
        return ""
    return text[meaning[0].start : meaning[-1].span.end]


def quoted(name: str) -> str:
    """A name in backticks."""
    return "`" + name.replace("`", "``") + "`"


def shown(name: str) -> str:
    """A name as the user has to write it: in backticks only if it needs them."""
    return name if re.fullmatch(r"[A-Za-z_]\w*", name, re.ASCII) else quoted(name)


def unquoted(text: str) -> str:
    """The name in backticks."""
    return text[1:-1].replace("``", "`")


def literal(text: str) -> str:
    """A string as SQL."""
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


def parts_of(text: str) -> list[str]:
    """The parts of a name such as ``a.b`` or ```a.b`.c``."""
    return [each.name for each in words(text) if each.kind in (Kind.WORD, Kind.QUOTED)]
