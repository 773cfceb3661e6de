"""Statements of Spark that make no sense on topics, and what to do instead."""

from typing import Any, Final, NamedTuple

from moldau.sql.errors import SqlError
from moldau.sql.plan import Parsed, named_relation
from moldau.sql.statements import shown, words


class Refusal(NamedTuple):
    """Why a statement is refused; ``{0}`` is the name of the topic."""

    message: str
    remedy: str


_APPEND_ONLY: Final = Refusal(
    "records of a topic cannot be changed",
    "INSERT INTO {0} adds some; moldau topics delete-records {0} deletes the oldest",
)
_NO_TABLES: Final = Refusal(
    "there are no tables besides topics",
    "moldau topics create makes a topic, CREATE TEMPORARY VIEW a view until you leave",
)
REFUSALS: Final = {
    "DeleteFromTable": _APPEND_ONLY,
    "UpdateTable": _APPEND_ONLY,
    "MergeIntoTable": _APPEND_ONLY,
    "TruncateTable": _APPEND_ONLY,
    "DropTable": Refusal("SQL deletes no topics", "moldau topics delete {0} does"),
    "CreateTable": _NO_TABLES,
    "ReplaceTable": _NO_TABLES,
    "ReplaceTableAsSelect": _NO_TABLES,
    "CreateView": Refusal("a view would be gone when you leave", "write CREATE TEMPORARY VIEW"),
    "CreateNamespace": _NO_TABLES,
    "CompoundBody": Refusal("scripts are not supported", "write one statement after the other"),
    "CreateFlowCommand": Refusal(
        "CREATE FLOW is not supported", "write CREATE STREAMING TABLE t AS SELECT ..."
    ),
}
# Their plans have the name as the first child.
_NAMED: Final = ("DropTable", "TruncateTable")


def check_allowed(parsed: Parsed) -> None:
    """Refuse what cannot be done to topics.

    Raises:
        SqlError: with what to do instead.
    """
    refusal = REFUSALS.get(parsed.kind)
    if parsed.kind == "CreateTableAsSelect" and not _has_location(parsed.root):
        refusal = Refusal(
            "there are no tables besides topics",
            "moldau topics create makes a topic and INSERT INTO fills it; with USING parquet "
            "LOCATION '...' files are written",
        )
    if refusal is None:
        return
    first = words(parsed.text)[0]
    name = shown(parsed.relations[0].name) if parsed.relations else "t"
    if parsed.kind in _NAMED:
        name = shown(named_relation(parsed.root.children().apply(0), parsed.text).name)
    raise SqlError(refusal.message, refusal.remedy.format(name), first.span)


def _has_location(root: Any) -> bool:
    return bool(root.tableSpec().location().isDefined())
