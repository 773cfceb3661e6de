"""Reads what the catalog says of tables, types, the slot and the publication."""

from collections.abc import Iterable
from typing import Any, Final, NamedTuple

from moldau.connect.connectors.postgres.session import Connection, translated
from moldau.connect.connectors.postgres.tables import ColumnFacts, TableFacts
from moldau.connect.connectors.postgres.types import TypeFacts

_COLUMNS: Final = """
SELECT n.nspname, c.relname, a.attname, a.atttypid, a.atttypmod,
       a.attnotnull OR (t.typtype = 'd' AND t.typnotnull), pg_get_expr(d.adbin, d.adrelid)
FROM pg_class c
JOIN pg_namespace n ON n.oid = c.relnamespace
JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
                   AND a.attgenerated = ''
JOIN pg_type t ON t.oid = a.atttypid
LEFT JOIN pg_attrdef d ON d.adrelid = c.oid AND d.adnum = a.attnum
WHERE c.oid = %s
ORDER BY a.attnum
"""
# The primary key comes first, then unique indexes by name; partial ones and expressions identify
# no row.
_KEY: Final = """
SELECT ARRAY(SELECT a.attname::text
             FROM unnest(i.indkey::int2[]) WITH ORDINALITY AS k(attnum, place)
             JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = k.attnum
             WHERE k.place <= i.indnkeyatts ORDER BY k.place)
FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid
WHERE i.indrelid = %s AND i.indisunique AND i.indisvalid
  AND i.indpred IS NULL AND i.indexprs IS NULL
ORDER BY i.indisprimary DESC, c.relname
LIMIT 1
"""
_TYPES: Final = """
WITH RECURSIVE wanted(oid) AS (
    SELECT unnest(%s::oid[])
    UNION
    SELECT more.oid FROM wanted w JOIN pg_type t ON t.oid = w.oid
    CROSS JOIN LATERAL (VALUES (t.typelem), (t.typbasetype)) AS more(oid) WHERE more.oid <> 0
)
SELECT t.oid, t.typname, t.typtype,
       CASE WHEN t.typcategory = 'A' THEN t.typelem ELSE 0 END, t.typbasetype, t.typtypmod,
       ARRAY(SELECT e.enumlabel::text FROM pg_enum e WHERE e.enumtypid = t.oid
             ORDER BY e.enumsortorder)
FROM pg_type t JOIN wanted USING (oid)
"""
_TABLES: Final = """
SELECT c.oid, n.nspname, c.relname, c.relreplident,
       EXISTS (SELECT 1 FROM pg_index i WHERE i.indrelid = c.oid AND
               (i.indisprimary OR i.indisreplident)),
       pg_catalog.has_table_privilege(c.oid, 'SELECT')
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE c.relpersistence = 'p'
  AND CASE WHEN %s THEN c.relkind IN ('r', 'p') AND NOT c.relispartition ELSE c.relkind = 'r' END
  AND n.nspname NOT IN ('pg_catalog', 'information_schema') AND n.nspname NOT LIKE 'pg_toast%%'
ORDER BY n.nspname, c.relname
"""
_SLOT: Final = """
SELECT plugin, database, active, active_pid, confirmed_flush_lsn - '0/0', restart_lsn - '0/0',
       wal_status
FROM pg_replication_slots WHERE slot_name = %s
"""


class FoundTable(NamedTuple):
    """A table of the database. ``has_identity``: a primary key or a replica identity index."""

    oid: int
    schema: str
    name: str
    identity: str
    has_identity: bool
    is_readable: bool


class Slot(NamedTuple):
    """A replication slot. ``wal_status`` is ``lost`` if the server has thrown away its log."""

    plugin: str
    database: str
    is_active: bool
    active_pid: int | None
    confirmed_lsn: int
    restart_lsn: int
    wal_status: str | None


def table_facts(connection: Connection, oid: int) -> TableFacts:
    """What is known of a table; without columns if it was dropped since."""
    with translated(f"cannot read the catalog of table {oid}"):
        rows = connection.execute(_COLUMNS, (oid,)).fetchall()
        key = connection.execute(_KEY, (oid,)).fetchone()
    if not rows:
        return TableFacts("", "")
    columns = tuple(ColumnFacts(*row[2:]) for row in rows)
    return TableFacts(rows[0][0], rows[0][1], columns, tuple(key[0]) if key else ())


def type_facts(connection: Connection, oids: Iterable[int]) -> dict[int, TypeFacts]:
    """The types ``oids``, with the elements of arrays and the types under domains."""
    with translated("cannot read the catalog of types"):
        rows = connection.execute(_TYPES, (sorted(set(oids)),)).fetchall()
    return {
        oid: TypeFacts(oid, name, kind, element, base, modifier, tuple(labels))
        for oid, name, kind, element, base, modifier, labels in rows
    }


def tables(connection: Connection, publication: str) -> list[FoundTable]:
    """All tables of users whose changes a publication may have.

    It names the partitions of a partitioned table, or their root if it is ``via_partition_root``.
    """
    with translated("cannot list the tables"):
        query = "SELECT pubviaroot FROM pg_publication WHERE pubname = %s"
        found = connection.execute(query, (publication,)).fetchone()
        is_root = found is not None and found[0]
        return [FoundTable(*row) for row in connection.execute(_TABLES, (is_root,)).fetchall()]


def slot(connection: Connection, name: str) -> Slot | None:
    """The slot ``name``, or None."""
    with translated(f"cannot look up replication slot {name}"):
        row: tuple[Any, ...] | None = connection.execute(_SLOT, (name,)).fetchone()
    if row is None:
        return None
    plugin, database, is_active, pid, confirmed, restart, status = row
    # A slot that is lost has no position any more.
    return Slot(plugin, database, is_active, pid, int(confirmed or 0), int(restart or 0), status)


def has_publication(connection: Connection, name: str) -> bool:
    with translated(f"cannot look up publication {name}"):
        query = "SELECT 1 FROM pg_publication WHERE pubname = %s"
        return connection.execute(query, (name,)).fetchone() is not None


def published(connection: Connection, name: str) -> set[tuple[str, str]]:
    """The tables in the publication, as (schema, table)."""
    with translated(f"cannot list the tables of publication {name}"):
        query = "SELECT schemaname, tablename FROM pg_publication_tables WHERE pubname = %s"
        return {(schema, table) for schema, table in connection.execute(query, (name,)).fetchall()}


def setting(connection: Connection, name: str) -> str:
    """A setting of the server, such as ``wal_level``."""
    with translated(f"cannot read the setting {name}"):
        row = connection.execute("SELECT current_setting(%s)", (name,)).fetchone()
    assert row is not None
    return str(row[0])
