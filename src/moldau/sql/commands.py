"""The statements that only Moldau has, recognized by their words before Spark's parser sees them.

SHOW TOPICS [LIKE 'pattern']
SUGGEST SCHEMA FOR topic
HELP
"""

import fnmatch
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from moldau.sql.errors import Span, SqlError
from moldau.sql.statements import Kind, words

HELP: Final = """\
SHOW TOPICS [LIKE 'a*']                   the topics
DESCRIBE t                                the columns of a topic
SUGGEST SCHEMA FOR t                      a view with typed columns, from samples
SELECT value:customer::string FROM t      what is in a topic now
SELECT * FROM STREAM t                    records as they arrive, until Ctrl-C
... FROM t TIMESTAMP AS OF '2026-01-31'   a topic as it was
... FROM t VERSION AS OF '{"0": 17}'      up to an offset per partition
... FROM parquet.`orders.parquet`         a file
INSERT INTO t SELECT ...                  write records: _key, and value or other columns as JSON
Names with dots or dashes are written in backticks. Everything else is SQL of Apache Spark."""


@dataclass(frozen=True)
class ShowTopics:
    """SHOW TOPICS, with a pattern of names."""

    pattern: str = "*"

    def matching(self, names: Iterable[str]) -> list[str]:
        """``*`` is any text, as in SHOW TABLES, and ``|`` is or."""
        return [
            name
            for name in names
            if any(fnmatch.fnmatchcase(name, each) for each in self.pattern.split("|"))
        ]


@dataclass(frozen=True)
class SuggestSchema:
    """SUGGEST SCHEMA FOR topic."""

    topic: str
    span: Span


@dataclass(frozen=True)
class Help:
    """HELP."""


def command(statement: str) -> ShowTopics | SuggestSchema | Help | None:
    """The command that a statement is; None if it is not one of these.

    Raises:
        SqlError: it begins like one and does not go on like it.
    """
    found = words(statement)
    names = [each.upper for each in found]
    if names == ["HELP"]:
        return Help()
    if names[:2] == ["SHOW", "TOPICS"]:
        rest = found[2:]
        if rest and rest[0].upper == "LIKE":
            rest = rest[1:]
        if not rest:
            return ShowTopics()
        if len(rest) > 1 or rest[0].kind is not Kind.STRING:
            raise SqlError(
                f"{rest[0].text} is not understood after SHOW TOPICS",
                "write SHOW TOPICS LIKE 'orders*'",
                rest[0].span,
            )
        return ShowTopics(rest[0].text[1:-1])
    if names[:1] == ["SUGGEST"]:
        if names[1:3] != ["SCHEMA", "FOR"] or len(found) < 4:
            raise SqlError(
                "SUGGEST needs a topic", "write SUGGEST SCHEMA FOR orders", found[0].span
            )
        span = Span(found[3].start, found[-1].span.end)
        # Topics may have dots and dashes, and nothing can follow: no need for backticks.
        name = found[3].name if len(found) == 4 else statement[span.start : span.end]
        return SuggestSchema(name, span)
    return None
