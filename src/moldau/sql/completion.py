"""What can be typed next: topics after FROM, fields after ``value:``, columns and words elsewhere.

Only the text is looked at, as it is when half a statement has been typed; no parser would take it.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from moldau.sql.keywords import KEYWORDS, TYPES
from moldau.sql.statements import Kind, Token, quoted, shown, tokens

# Words that a table follows.
_BEFORE_TABLE: Final = ("FROM", "JOIN", "INTO", "STREAM", "DESCRIBE", "DESC", "FOR", "TABLE")
_FIELD: Final = re.compile(r"(\w+):([\w.]*)$")
_NAME: Final = re.compile(r"`[^`]*$|\w*$")


@dataclass(frozen=True)
class Names:
    """Where names come from; each is asked only if it is needed."""

    topics: Callable[[], Sequence[str]]
    columns: Callable[[str], Sequence[str]]
    fields: Callable[[str], Sequence[str]]
    functions: Callable[[], Sequence[str]]


@dataclass(frozen=True)
class Candidate:
    """A completion: ``text`` replaces the last ``length`` characters before the cursor."""

    text: str
    length: int
    meaning: str


def complete(before: str, after: str, names: Names) -> list[Candidate]:
    """The completions at the cursor, between the text ``before`` and ``after`` it."""
    found = list(tokens(before))
    if found and found[-1].is_open and found[-1].kind in (Kind.STRING, Kind.COMMENT):
        return []
    named = named_topics(before + " " + after)
    field = _FIELD.search(before)
    # Not a cast, as in value::string
    if field is not None and not before[: field.start() + 1].endswith(":"):
        fields = [each for topic in named for each in names.fields(topic)]
        return _matching(fields, field[2], "field")
    if before.endswith(":"):
        return (
            _matching([each.lower() for each in TYPES], "", "type") if before[-2:] == "::" else []
        )
    typed = _NAME.search(before)
    assert typed is not None, "the pattern matches nothing, too"
    prefix = typed[0]
    if _is_table_next(found, prefix):
        return _topics(names.topics(), prefix)
    if not prefix or prefix.startswith("`"):
        return []
    columns = [each for topic in named for each in names.columns(topic)]
    return [
        *_matching(list(dict.fromkeys(columns)), prefix, "column"),
        *_matching(_cased(KEYWORDS, prefix), prefix, "word"),
        *_matching(list(names.functions()), prefix, "function"),
    ]


def named_topics(text: str) -> list[str]:
    """The names that follow FROM and the like, in the order of the text."""
    meaning = [each for each in tokens(text) if each.kind not in (Kind.SPACE, Kind.COMMENT)]
    found: dict[str, None] = {}
    for before, name in pairwise(meaning):
        is_name = name.kind in (Kind.WORD, Kind.QUOTED) and name.upper not in _BEFORE_TABLE
        if before.upper in _BEFORE_TABLE and is_name:
            found[name.name] = None
    return list(found)


def _is_table_next(found: list[Token], prefix: str) -> bool:
    meaning = [each for each in found if each.kind not in (Kind.SPACE, Kind.COMMENT)]
    if prefix:
        meaning = meaning[:-1]
    return bool(meaning) and meaning[-1].upper in _BEFORE_TABLE


def _topics(topics: Sequence[str], prefix: str) -> list[Candidate]:
    is_quoted = prefix.startswith("`")
    start = prefix.lstrip("`").lower()
    return [
        Candidate(quoted(each) if is_quoted else shown(each), len(prefix), "topic")
        for each in topics
        if each.lower().startswith(start)
    ]


def _cased(keywords: Sequence[str], prefix: str) -> list[str]:
    """Words in the case in which the user types."""
    return [each.lower() for each in keywords] if prefix.islower() else list(keywords)


def _matching(names: Sequence[str], prefix: str, meaning: str) -> list[Candidate]:
    return [
        Candidate(each, len(prefix), meaning)
        for each in names
        if each.lower().startswith(prefix.lower())
    ]
