"""Which schemas, tables and columns are captured (pure).

Lists are regular expressions separated by commas; each must match a whole name, whatever the case.
A comma inside an expression is written ``\\,``.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from moldau.connect.config.definition import ConfigError, invalid

# Captured only if they are named: what belongs to the server.
_SYSTEM: Final = frozenset(("pg_catalog", "information_schema", "pg_toast"))
_COMMA: Final = re.compile(r"(?<!\\),")


def patterns(name: str, value: str | None) -> tuple[re.Pattern[str], ...]:
    """The expressions of a list.

    Raises:
        ConfigError: naming the expression that is not one.
    """
    compiled = []
    for part in _COMMA.split(value or ""):
        if text := part.strip().replace("\\,", ","):
            try:
                compiled.append(re.compile(text, re.IGNORECASE))
            except re.error as error:
                raise invalid(name, value, f"{text!r} is no regular expression: {error}") from None
    return tuple(compiled)


@dataclass(frozen=True)
class Patterns:
    """An include list or an exclude list; without either, everything is included."""

    included: tuple[re.Pattern[str], ...] = ()
    excluded: tuple[re.Pattern[str], ...] = ()

    @classmethod
    def of(cls, values: Mapping[str, Any], include: str, exclude: str) -> "Patterns":
        if values[include] and values[exclude]:
            message = f"{include} is set as well; remove one of the two"
            raise invalid(exclude, values[exclude], message)
        return cls(patterns(include, values[include]), patterns(exclude, values[exclude]))

    def includes(self, name: str) -> bool:
        if self.included:
            return _matches(self.included, name)
        return not _matches(self.excluded, name)


def _matches(expressions: Iterable[re.Pattern[str]], name: str) -> bool:
    return any(expression.fullmatch(name) for expression in expressions)


@dataclass(frozen=True)
class TableFilter:
    """The schemas, tables and columns to capture, and the tables of the snapshot."""

    schemas: Patterns
    tables: Patterns
    columns: Patterns
    snapshot: tuple[re.Pattern[str], ...] = ()

    @classmethod
    def of(cls, values: Mapping[str, Any]) -> "TableFilter":
        return cls(
            Patterns.of(values, "schema.include.list", "schema.exclude.list"),
            Patterns.of(values, "table.include.list", "table.exclude.list"),
            Patterns.of(values, "column.include.list", "column.exclude.list"),
            patterns(
                "snapshot.include.collection.list", values["snapshot.include.collection.list"]
            ),
        )

    def includes_table(self, schema: str, table: str) -> bool:
        return (
            schema not in _SYSTEM
            and self.schemas.includes(schema)
            and self.tables.includes(f"{schema}.{table}")
        )

    def includes_column(self, schema: str, table: str, column: str) -> bool:
        return self.columns.includes(f"{schema}.{table}.{column}")

    def in_snapshot(self, schema: str, table: str) -> bool:
        return not self.snapshot or _matches(self.snapshot, f"{schema}.{table}")


def message_keys(value: str | None) -> tuple[tuple[re.Pattern[str], tuple[str, ...]], ...]:
    """The keys of ``message.key.columns``: ``schema.table:column,column;...``"""
    keys = []
    for entry in (value or "").split(";"):
        if not entry.strip():
            continue
        table, colon, columns = entry.partition(":")
        # A column that is named twice is in the key once.
        names = tuple(
            dict.fromkeys(column.strip() for column in columns.split(",") if column.strip())
        )
        if not colon or not names:
            message = "Entries are table:column,column and are separated by semicolons"
            raise invalid("message.key.columns", value, message)
        (pattern,) = patterns("message.key.columns", table.replace(",", "\\,"))
        keys.append((pattern, names))
    return tuple(keys)


__all__ = ["ConfigError", "Patterns", "TableFilter", "message_keys", "patterns"]
