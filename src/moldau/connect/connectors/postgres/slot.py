"""The replication slot and the publication: made, read, confirmed.

The slot is read by SQL. ``pg_logical_slot_peek_binary_changes`` decodes the log from what was
confirmed last, up to a bound, and keeps the result on the server (in memory up to ``work_mem``,
then in a file); COPY hands it out row by row. Peeking changes nothing: what was read comes again
until it is confirmed. The bounds are whole transactions, so a huge one costs disk on the server,
but no memory here.
"""

import contextlib
import select
import struct
from collections.abc import Iterator
from types import TracebackType
from typing import TYPE_CHECKING, Final, NamedTuple

import psycopg
from psycopg import sql
from psycopg.pq import ConnStatus, ExecStatus

from moldau.connect.connectors.postgres import catalog
from moldau.connect.connectors.postgres.pgoutput import format_lsn, parse_lsn
from moldau.connect.connectors.postgres.session import (
    Connection,
    connect,
    quoted,
    translated,
)
from moldau.connect.connectors.postgres.settings import Settings
from moldau.connect.data.errors import ConnectError

if TYPE_CHECKING:
    from psycopg.pq.abc import PGconn, PGresult

# So many changes at least are decoded at a time: starting a decoder costs milliseconds.
PEEK_CHANGES: Final = 100_000
# COPY's binary format: a signature, flags and the length of an extension come before the first row.
_COPY_HEADER_BYTES: Final = 19
_COPY_TRAILER: Final = b"\xff\xff"
_LSN: Final = struct.Struct(">Q").unpack_from
_PEEK: Final = """
COPY (SELECT lsn, data FROM pg_logical_slot_peek_binary_changes(
        {slot}, {upto}, {count}, 'proto_version', '1', 'publication_names', {publication}{more}))
TO STDOUT (FORMAT binary)
"""


class Created(NamedTuple):
    """A new slot. The snapshot can be used while ``connection`` is open and idle."""

    connection: Connection
    lsn: int
    snapshot: str


def create(settings: Settings) -> Created:
    """Make the slot, together with a snapshot of the database at the point where it begins."""
    connection = connect(settings, for_replication=True)
    try:
        version = connection.info.server_version
        export = "(SNAPSHOT 'export')" if version >= 150000 else "EXPORT_SNAPSHOT"
        command = f"CREATE_REPLICATION_SLOT {quoted(settings.slot)} LOGICAL pgoutput {export}"
        with translated(f"cannot create replication slot {settings.slot}"):
            row = connection.execute(sql.SQL(command)).fetchone()
        assert row is not None
        return Created(connection, parse_lsn(row[1]), row[2])
    except BaseException:
        connection.close()
        raise


def drop(connection: Connection, name: str) -> None:
    """Drop the slot, if it is there."""
    with translated(f"cannot drop replication slot {name}"):
        query = "SELECT pg_drop_replication_slot(slot_name) FROM pg_replication_slots"
        connection.execute(f"{query} WHERE slot_name = %s", (name,))


def confirm(connection: Connection, name: str, lsn: int) -> None:
    """The log before ``lsn`` is needed no more."""
    with translated(f"cannot advance replication slot {name} to {format_lsn(lsn)}"):
        connection.execute("SELECT pg_replication_slot_advance(%s, %s)", (name, format_lsn(lsn)))


def log_end(connection: Connection) -> int:
    """Where the log ends that is on disk (on a standby: that was replayed)."""
    query = """SELECT CASE WHEN pg_is_in_recovery() THEN pg_last_wal_replay_lsn()
               ELSE pg_current_wal_flush_lsn() END - '0/0'"""
    with translated("cannot read the end of the log"):
        row = connection.execute(query).fetchone()
    assert row is not None
    return int(row[0])


def ensure_publication(connection: Connection, settings: Settings) -> None:
    """Make the publication if there is none and ``publication.autocreate.mode`` allows it."""
    name, mode = settings.publication, settings.autocreate
    if catalog.has_publication(connection, name):
        if mode == "filtered":
            _set_tables(connection, settings, "ALTER PUBLICATION {name} SET TABLE {tables}")
        return
    if mode == "disabled":
        remedy = f"CREATE PUBLICATION {quoted(name)} FOR ALL TABLES"
        raise ConnectError(f"publication {name!r} does not exist; make it: {remedy};")
    if mode == "filtered":
        _set_tables(connection, settings, "CREATE PUBLICATION {name} FOR TABLE {tables}")
        return
    tables = " FOR ALL TABLES" if mode == "all_tables" else ""
    with translated(f"cannot create publication {name}"):
        connection.execute(f"CREATE PUBLICATION {quoted(name)}{tables}".encode())


def _set_tables(connection: Connection, settings: Settings, command: str) -> None:
    wanted = [
        (table.schema, table.name)
        for table in catalog.tables(connection, settings.publication)
        if settings.tables.includes_table(table.schema, table.name)
    ]
    if not wanted:
        raise ConnectError(
            "publication.autocreate.mode=filtered finds no table: see table.include.list and "
            "schema.include.list"
        )
    if set(wanted) == catalog.published(connection, settings.publication):
        return
    tables = ", ".join(quoted(*table) for table in wanted)
    text = command.format(name=quoted(settings.publication), tables=tables)
    with translated(f"cannot set the tables of publication {settings.publication}"):
        connection.execute(text.encode())


def _wait(server: "PGconn") -> None:
    """Until the server has sent something, or is gone: then libpq says so."""
    select.select([server.socket], [], [])
    server.consume_input()


def _next_result(server: "PGconn") -> "PGresult | None":
    # Not libpq's own waiting, which would hold up the other threads of this process.
    while server.is_busy():
        _wait(server)
    return server.get_result()


def _check(result: "PGresult | None", expected: ExecStatus) -> None:
    if result is None:
        raise psycopg.OperationalError("the server has sent no result")
    if result.status != expected:
        raise psycopg.errors.error_from_result(result)


class Peek:
    """Reads the slot once, up to a bound: yields (lsn, message).

    The connection can do nothing else meanwhile; ``close`` ends the reading early.
    """

    def __init__(
        self, connection: Connection, settings: Settings, upto_lsn: int, limit: int
    ) -> None:
        """Read transactions that end before ``upto_lsn``, until there are ``limit`` messages."""
        self._connection = connection
        self._limit = limit
        self._slot = settings.slot
        more = ", 'messages', 'true'" if connection.info.server_version >= 140000 else ""
        self._query = sql.SQL(_PEEK).format(
            slot=sql.Literal(settings.slot),
            upto=sql.Literal(format_lsn(upto_lsn)),
            count=sql.Literal(limit),
            publication=sql.Literal(quoted(settings.publication)),
            more=sql.SQL(more),
        )
        self.count = 0
        self._rows = self._read()
        self._is_reading = False

    def __iter__(self) -> Iterator[tuple[int, bytes]]:
        return self._rows

    @property
    def is_partial(self) -> bool:
        """Whether there may be more before the bound."""
        return self.count >= self._limit

    def _read(self) -> Iterator[tuple[int, bytes]]:
        with translated(f"cannot read replication slot {self._slot}"):
            skip = _COPY_HEADER_BYTES
            for data in self._copied():
                row = bytes(data[skip:])
                skip = 0
                if row == _COPY_TRAILER:
                    continue
                # Two fields, each after its length: eight bytes of the LSN, then the message.
                self.count += 1
                yield _LSN(row, 6)[0], row[18:]

    def _copied(self) -> Iterator[memoryview]:
        """The rows as they come. Asks libpq for each, which is several times as fast as to let
        psycopg wait for each.
        """
        server = self._connection.pgconn
        server.send_query(self._query.as_bytes(self._connection))
        self._is_reading = True
        _check(_next_result(server), ExecStatus.COPY_OUT)
        while True:
            size, data = server.get_copy_data(1)
            if size > 0:
                yield data
            elif size == 0:
                _wait(server)
            else:
                break
        self._is_reading = False
        result = _next_result(server)
        while _next_result(server) is not None:
            pass
        _check(result, ExecStatus.COMMAND_OK)

    def close(self) -> None:
        """End the reading. What the server has not sent yet, it does not send any more."""
        self._rows.close()  # type: ignore[attr-defined]
        if not self._is_reading:
            return
        self._is_reading = False
        server = self._connection.pgconn
        if server.status != ConnStatus.OK:
            return
        with contextlib.suppress(psycopg.Error):
            self._connection.cancel_safe()
            while _next_result(server) is not None:
                size = 0
                while size >= 0:
                    size, _ = server.get_copy_data(1)
                    if size == 0:
                        _wait(server)

    def __enter__(self) -> "Peek":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()
