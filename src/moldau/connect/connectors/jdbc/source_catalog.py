"""Finds the tables to poll, and their columns."""

from collections.abc import Iterator
from typing import Any, Final

from moldau.connect.connectors.jdbc.database import Database
from moldau.connect.connectors.jdbc.polled_table import PolledTable, SourceColumn
from moldau.connect.connectors.jdbc.source_settings import SourceSettings
from moldau.connect.connectors.jdbc.url import SQLITE

_POSTGRES_TABLES: Final = """
SELECT n.nspname || '.' || c.relname, c.relname
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE c.relkind IN ('r', 'p') AND NOT c.relispartition AND n.nspname LIKE ?
  AND n.nspname NOT IN ('pg_catalog', 'information_schema') AND n.nspname NOT LIKE 'pg_toast%'
ORDER BY 1
"""
# Domains are read as the types under them.
_POSTGRES_COLUMNS: Final = """
SELECT a.attname, CASE WHEN t.typtype = 'd' THEN b.typname ELSE t.typname END,
       a.attnotnull OR t.typnotnull,
       CASE WHEN t.typtype = 'd' THEN t.typtypmod ELSE a.atttypmod END,
       a.attidentity <> '' OR COALESCE(pg_get_expr(d.adbin, d.adrelid) LIKE 'nextval(%', false)
FROM pg_attribute a JOIN pg_type t ON t.oid = a.atttypid
LEFT JOIN pg_type b ON b.oid = t.typbasetype
LEFT JOIN pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
WHERE a.attrelid = CAST(CAST(? AS text) AS regclass) AND a.attnum > 0 AND NOT a.attisdropped
ORDER BY a.attnum
"""


def polled_tables(db: Database, settings: SourceSettings) -> list[PolledTable]:
    """The tables that the options choose, or the one query.

    Raises:
        ConnectError: if one lacks a column that the options name.
    """
    is_sqlite = settings.target.kind == SQLITE
    if settings.query:
        # The query may end with a comment of one line.
        source = f"({settings.query}\n) AS polled"
        columns = db.query_columns(f"SELECT * FROM {source}")
        return [PolledTable(settings, db.dialect, "", source, columns)]
    tables = []
    for full, name in _names(db, settings, is_sqlite):
        if settings.included and not {full, name} & set(settings.included):
            continue
        if {full, name} & set(settings.excluded):
            continue
        source = db.dialect.table(full)
        columns = list(_sqlite_columns(db, full) if is_sqlite else _columns(db, source))
        tables.append(PolledTable(settings, db.dialect, full, source, columns))
    return tables


def _names(db: Database, settings: SourceSettings, is_sqlite: bool) -> list[tuple[str, str]]:
    """The full and the short names of all tables."""
    if is_sqlite:
        query = "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'"
        return [(name, name) for (name,) in db.execute(f"{query} ORDER BY name")]
    rows = db.execute(_POSTGRES_TABLES, (settings.schema or "%",))
    return [(full, name) for full, name in rows]


def _columns(db: Database, table: str) -> Iterator[SourceColumn]:
    for name, kind, is_not_null, modifier, is_identity in db.execute(_POSTGRES_COLUMNS, (table,)):
        yield SourceColumn(name, kind, is_not_null, *numeric_scale(kind, modifier), is_identity)


def numeric_scale(kind: str, modifier: int) -> tuple[int, int]:
    """Precision and scale of a numeric, -1 if it has none."""
    if kind != "numeric" or modifier < 4:
        return -1, -1
    return (modifier - 4) >> 16 & 0xFFFF, (modifier - 4) & 0x7FF


def _sqlite_columns(db: Database, table: str) -> Iterator[SourceColumn]:
    rows: list[tuple[Any, ...]] = db.execute(f"PRAGMA table_info({db.dialect.table(table)})")
    keys = sum(1 for row in rows if row[5])
    for _, name, declared, is_not_null, _, key in rows:
        # The only column of an integer key is the row's id, which is never null and grows.
        is_row_id = bool(key) and keys == 1 and declared.upper() == "INTEGER"
        kind = sqlite_kind(declared)
        yield SourceColumn(name, kind, bool(is_not_null) or is_row_id, is_identity=is_row_id)


def sqlite_kind(declared: str) -> str:
    """The type of a column by SQLite's rules of affinity, as PostgreSQL calls it."""
    upper = declared.upper()
    if "INT" in upper:
        return "int8"
    if any(word in upper for word in ("CHAR", "CLOB", "TEXT")):
        return "text"
    if "BLOB" in upper or not upper:
        return "bytea"
    if any(word in upper for word in ("TIMESTAMP", "DATETIME")):
        return "timestamp"
    if any(word in upper for word in ("REAL", "FLOA", "DOUB", "NUMERIC", "DECIMAL")):
        return "float8"
    return "bool" if "BOOL" in upper else "text"
