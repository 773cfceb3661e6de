"""Hints for users of ksqlDB: their words, and what to write here instead.

Statements here are Spark's SQL. Those that only ksqlDB has are recognized before Spark's parser
would refuse them at a word that explains nothing.
"""

from typing import Final, NamedTuple

from moldau.sql.errors import Span, SqlError
from moldau.sql.statements import Kind, Token, tokens, words


class Hint(NamedTuple):
    """A statement of ksqlDB that starts with ``words``; ``*`` is any one word."""

    words: tuple[str, ...]
    remedy: str
    message: str = "{0} is ksqlDB's"


_STREAM: Final = "SELECT ... FROM STREAM t prints records as they arrive"
_KEEPS: Final = "CREATE STREAMING TABLE t AS SELECT ... FROM STREAM s keeps writing to the topic t"
_HINTS: Final = (
    Hint(("CREATE", "STREAM"), f"a topic is a table already; {_KEEPS}"),
    Hint(("CREATE", "OR", "REPLACE", "STREAM"), f"a topic is a table already; {_KEEPS}"),
    Hint(("CREATE", "SOURCE", "STREAM"), f"a topic is a table already; {_KEEPS}"),
    Hint(("CREATE", "SOURCE", "CONNECTOR"), "moldau connect create makes a connector"),
    Hint(("CREATE", "SINK", "CONNECTOR"), "moldau connect create makes a connector"),
    Hint(("CREATE", "CONNECTOR"), "moldau connect create makes a connector"),
    Hint(("DROP", "STREAM"), "moldau topics delete removes a topic, DROP VIEW a view"),
    Hint(("DROP", "CONNECTOR"), "moldau connect delete removes a connector"),
    Hint(("SHOW", "STREAMS"), "SHOW TOPICS lists what can be read"),
    Hint(("SHOW", "QUERIES"), "moldau connect list shows what runs"),
    Hint(("SHOW", "CONNECTORS"), "moldau connect list shows what runs"),
    Hint(("LIST", "*"), "SHOW TOPICS, SHOW TABLES and SHOW FUNCTIONS list things"),
    Hint(("PRINT", "*"), "SELECT * FROM STREAM t prints records as they arrive"),
    Hint(("TERMINATE", "*"), "moldau connect delete ends a query that runs in the worker"),
    Hint(("RUN", "SCRIPT"), "moldau sql -f FILE runs a file"),
    Hint(("PAUSE", "*"), "moldau connect pause holds a query that runs in the worker"),
    Hint(("RESUME", "*"), "moldau connect resume continues a query that runs in the worker"),
    Hint(("DEFINE", "*"), "DECLARE name = value makes a variable of Spark"),
)
_NOT_UNDERSTOOD: Final = "{0} is not understood"
_TOPICS: Final = (
    Hint(("CREATE", "TOPIC"), "moldau topics create does", "SQL makes no topics"),
    Hint(("DROP", "TOPIC"), "moldau topics delete does", "SQL deletes no topics"),
    Hint(("ALTER", "TOPIC"), "moldau topics and moldau configs do", "SQL changes no topics"),
    Hint(("SHOW", "TOPIC"), "SHOW TOPICS lists topics, DESCRIBE t shows one", _NOT_UNDERSTOOD),
    Hint(("DESCRIBE", "TOPIC", "*"), "write DESCRIBE t", _NOT_UNDERSTOOD),
)
# Words that Spark takes for another name of what is in front, if nothing follows them.
_NEED_MORE: Final = ("FROM", "WHERE", "HAVING", "GROUP", "ORDER", "LIMIT", "UNION", "JOIN")
_QUERIES: Final = ("SELECT", "WITH", "INSERT", "CREATE", "EXPLAIN")
_TOPIC_SETTINGS: Final = ("KAFKA_TOPIC", "VALUE_FORMAT", "KEY_FORMAT")
_WINDOWS: Final = ("TUMBLING", "HOPPING", "SESSION")

# Functions and columns of ksqlDB that Spark has by another name.
FUNCTIONS: Final = {
    "LATEST_BY_OFFSET": "max_by(x, _offset)",
    "EARLIEST_BY_OFFSET": "min_by(x, _offset)",
    "EXTRACTJSONFIELD": "value:field::string",
    "STRINGTOTIMESTAMP": "to_timestamp(text, format)",
    "TIMESTAMPTOSTRING": "date_format(time, format)",
    "STRINGTODATE": "to_date(text, format)",
    "DATETOSTRING": "date_format(date, format)",
    "PARSE_TIMESTAMP": "to_timestamp(text, format)",
    "FORMAT_TIMESTAMP": "date_format(time, format)",
    "TOPK": "array_agg(x) with slice(), or ORDER BY and LIMIT",
    "COUNT_DISTINCT": "count(DISTINCT x)",
    "UNIX_TIMESTAMP_MILLIS": "unix_millis(current_timestamp())",
    "AS_VALUE": "the column itself",
}
COLUMNS: Final = {
    "ROWTIME": "_timestamp",
    "ROWKEY": "_key",
    "ROWPARTITION": "_partition",
    "ROWOFFSET": "_offset",
    "HEADERS": "_headers",
    "WINDOWSTART": "window.start",
    "WINDOWEND": "window.end",
}


def check_ksqldb(statement: str) -> None:
    """Refuse what only ksqlDB understands.

    Raises:
        SqlError: with what to write instead.
    """
    found = words(statement)
    names = [each.upper for each in found]
    for hint in (*_HINTS, *_TOPICS):
        if _begins_with(found, hint.words):
            said = " ".join(each.text for each in found[: len(hint.words) - ("*" in hint.words)])
            last = found[len(hint.words) - 1 - ("*" in hint.words)]
            span = Span(found[0].start, last.span.end)
            raise SqlError(hint.message.format(said.upper()), hint.remedy, span)
    for position, name in enumerate(names):
        following = names[position + 1 : position + 2]
        span = Span(found[position].start, found[min(position + 1, len(found) - 1)].span.end)
        if name == "EMIT" and following in (["CHANGES"], ["FINAL"]):
            raise SqlError(f"EMIT {following[0]} is ksqlDB's", _STREAM, span)
        if name == "WINDOW" and following and following[0] in _WINDOWS:
            raise SqlError(
                f"WINDOW {following[0]} is ksqlDB's",
                "GROUP BY window(_timestamp, '5 minutes') makes windows, session_window() too",
                span,
            )
    if names[:1] == ["CREATE"] and "TABLE" in names:
        for each in found:
            if each.upper in _TOPIC_SETTINGS:
                raise SqlError(
                    f"{each.upper} is ksqlDB's",
                    f"a topic is a table already, and its format is detected; {_KEEPS}",
                    each.span,
                )
    if names[:1] == ["SET"] and "auto.offset.reset" in statement:
        raise SqlError(
            "auto.offset.reset is ksqlDB's",
            "FROM STREAM t WITH (startingOffsets='earliest') reads from the beginning",
            Span(found[1].start, found[1].span.end),
        )


def check_whole(statement: str) -> None:
    """Refuse a statement whose end or whose columns were forgotten.

    Spark has few reserved words: it takes the ``WHERE`` of ``SELECT * FROM t WHERE`` for an alias.

    Raises:
        SqlError: with what is missing.
    """
    unclosed = next((each for each in tokens(statement) if each.is_open), None)
    if unclosed is not None and unclosed.kind is Kind.COMMENT:
        span = Span(unclosed.start, unclosed.start + 2)
        raise SqlError("the /* is not closed", "close the comment with */", span)
    found = words(statement)
    names = [each.upper for each in found]
    if not names or names[0] not in _QUERIES:
        return
    if names[:2] == ["SELECT", "FROM"] and "FROM" not in names[2:]:
        raise SqlError("nothing is selected", "write SELECT * FROM ...", found[1].span)
    if len(found) > 1 and names[-1] in _NEED_MORE and names[-2] != "AS" and found[-2].text != ".":
        raise SqlError(
            "the statement ends too early",
            f"something is missing after {names[-1]}",
            Span(len(statement), len(statement) + 1),
        )


def _begins_with(found: list[Token], wanted: tuple[str, ...]) -> bool:
    if len(found) < len(wanted):
        return False
    return all(
        each == "*" or token.upper == each for token, each in zip(found, wanted, strict=False)
    )
