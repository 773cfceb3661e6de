"""Existing rows: all captured tables as of one moment, as records.

The moment is where a new slot begins: ``CREATE_REPLICATION_SLOT`` exports a snapshot, so that every
transaction is either in the rows or in the stream. If the slot was there before, the moment is now,
and the stream repeats what was committed since the slot's position: the last record of each key is
right, and none is missing.

Rows come through COPY, a table at a time, as texts in the same form as in the log.
"""

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

from psycopg import sql

from moldau.clock import Clock
from moldau.connect.connectors.postgres import catalog, envelope
from moldau.connect.connectors.postgres.pgoutput import Row
from moldau.connect.connectors.postgres.position import Position
from moldau.connect.connectors.postgres.session import Connection, quoted, translated
from moldau.connect.connectors.postgres.settings import Settings
from moldau.connect.connectors.postgres.tables import Table, TableFacts
from moldau.connect.data.headers import Header
from moldau.connect.data.record import SourceRecord

_ESCAPE: Final = re.compile(rb"\\([bfnrtv\\]|[0-7]{1,3}|x[0-9a-fA-F]{1,2})")
_ESCAPES: Final = {
    b"b": b"\b",
    b"f": b"\f",
    b"n": b"\n",
    b"r": b"\r",
    b"t": b"\t",
    b"v": b"\v",
    b"\\": b"\\",
}


class Moment(NamedTuple):
    """When the snapshot is taken."""

    lsn: int
    tx_id: int
    time_us: int


def begin(connection: Connection, lsn: int, exported: str | None) -> Moment:
    """Begin the transaction that reads: as of the exported snapshot, or of now."""
    with translated("cannot begin the snapshot"):
        connection.execute("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
        if exported is not None:
            connection.execute(sql.SQL("SET TRANSACTION SNAPSHOT {}").format(sql.Literal(exported)))
        query = "SELECT txid_current_snapshot(), (extract(epoch FROM now()) * 1000000)::bigint"
        row = connection.execute(query.replace("txid_current_snapshot()", _XMAX)).fetchone()
    assert row is not None
    return Moment(lsn, row[0], row[1])


# The next transaction id as of the snapshot. (A reading transaction has no id of its own.)
_XMAX: Final = "(pg_snapshot_xmax(pg_current_snapshot())::text::bigint & 4294967295)"


def captured_tables(connection: Connection, settings: Settings) -> list[tuple[Table, str]]:
    """The tables of the snapshot in the order of their names, each with the query of its rows."""
    found = []
    for table in catalog.tables(connection, settings.publication):
        if not (
            settings.tables.includes_table(table.schema, table.name)
            and settings.tables.in_snapshot(table.schema, table.name)
        ):
            continue
        facts = catalog.table_facts(connection, table.oid)
        oids = [column.type_oid for column in facts.columns]
        types = catalog.type_facts(connection, oids)
        facts = TableFacts(facts.schema, facts.name, facts.columns, facts.key, types)
        columns = [(column.name, column.type_oid, column.type_modifier) for column in facts.columns]
        names = ", ".join(quoted(column.name) for column in facts.columns)
        query = f"COPY (SELECT {names} FROM {quoted(facts.schema, facts.name)}) TO STDOUT"
        found.append((Table(facts, columns, settings), query))
    return found


def rows(connection: Connection, query: str) -> Iterator[Row]:
    """The rows of a COPY in text format."""
    with translated(f"cannot read rows: {query}"), connection.cursor().copy(query.encode()) as copy:
        for data in copy:
            yield parse_row(bytes(data))


def parse_row(line: bytes) -> Row:
    """The values of a line of COPY; None for null."""
    parts = line[:-1].split(b"\t") if line != b"\n" else [b""]
    if b"\\" not in line:
        return [part.decode() for part in parts]
    return [
        None
        if part == b"\\N"
        else (_ESCAPE.sub(_unescaped, part) if b"\\" in part else part).decode()
        for part in parts
    ]


def _unescaped(found: re.Match[bytes]) -> bytes:
    code = found[1]
    if code in _ESCAPES:
        return _ESCAPES[code]
    return bytes([int(code[1:], 16) if code.startswith(b"x") else int(code, 8) & 255])


def records(
    connection: Connection,
    settings: Settings,
    moment: Moment,
    headers: list[Header],
    clock: Clock,
) -> Iterator[SourceRecord]:
    """All rows of all tables. Each record but the last carries the offset of an unfinished
    snapshot: from it, a restart begins again.
    """
    position = Position(
        moment.lsn, moment.tx_id, time_us=moment.time_us, is_snapshot=True, is_complete=False
    )
    unfinished, finished = position.to_offset(), position._replace(is_complete=True).to_offset()
    waiting: tuple[Table, Row] | None = None
    is_first, is_first_of_table = True, True

    def record(table: Table, row: Row, mark: str) -> SourceRecord:
        source = envelope.source(
            server=settings.server,
            database=settings.database,
            schema=table.schema_name,
            table=table.name,
            snapshot=mark,
            time_us=moment.time_us,
            lsn=moment.lsn,
            last_commit_lsn=None,
            tx_id=moment.tx_id,
        )
        after = table.row(row)
        return SourceRecord(
            table.topic,
            key_schema=table.key_schema,
            key=table.key(after),
            value_schema=table.envelope_schema,
            value=envelope.change(
                table.envelope_schema, None, after, source, "r", clock.wall_ms() * 1_000_000
            ),
            headers=headers,
            source_partition=settings.partition,
            source_offset=finished if mark == "last" else unfinished,
        )

    # A row is handed out when the next one is there: only then is it known not to be the last.
    for table, query in captured_tables(connection, settings):
        for row in rows(connection, query):
            if waiting is not None:
                is_last_of_table = waiting[0] is not table
                mark = _mark(is_first, is_first_of_table, is_last_of_table)
                yield record(*waiting, mark)
                is_first, is_first_of_table = False, is_last_of_table
            waiting = table, row
    if waiting is not None:
        yield record(*waiting, "last")


def _mark(is_first: bool, is_first_of_table: bool, is_last_of_table: bool) -> str:
    if is_first:
        return "first"
    if is_last_of_table:
        return "last_in_data_collection"
    return "first_in_data_collection" if is_first_of_table else "true"
