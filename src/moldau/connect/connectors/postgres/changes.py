"""From messages of the log to records, one message at a time (pure).

The state is the transaction that is being read, the tables as of its changes, and how far we are.
Changes that were read before are recognised by ``Position`` and give no records, so a slot may be
read again from any point that was confirmed.
"""

from collections.abc import Callable, Sequence
from typing import Any, Final

from moldau.connect.connectors.postgres import envelope
from moldau.connect.connectors.postgres.json_rows import JsonTable
from moldau.connect.connectors.postgres.pgoutput import (
    NEW_ROW_AT,
    Begin,
    Commit,
    Delete,
    Insert,
    LogicalMessage,
    Message,
    Relation,
    Row,
    Truncate,
    Update,
    decode,
    starts_of_new_rows,
)
from moldau.connect.connectors.postgres.position import Position
from moldau.connect.connectors.postgres.settings import Settings
from moldau.connect.connectors.postgres.tables import Table, TableFacts
from moldau.connect.connectors.postgres.types import binary
from moldau.connect.converters.json_converter import JsonConverter
from moldau.connect.data.errors import ConnectError, DataError
from moldau.connect.data.headers import Header
from moldau.connect.data.record import ConvertedRecord, SourceRecord
from moldau.connect.data.struct import Struct

# Looks a table up in the catalog, by its oid.
Describe = Callable[[Relation], TableFacts]
# Insert, update, delete, truncate.
_ROW_CHANGES: Final = b"IUDT"
_NO_TRANSACTION: Final = Begin(0, 0, 0)
# What can be wrong with a value: the usual way says which column it is in.
_UNWRITABLE: Final = (TypeError, ValueError, ArithmeticError, AttributeError, DataError)

Record = SourceRecord | ConvertedRecord


class CapturedChange(ConvertedRecord):
    """A change as JSON. It is known by its place in the log: few are asked for their position."""

    __slots__ = ("_begin", "_commit_lsn", "_kind", "_lsn")

    def __init__(
        self,
        topic: str,
        key: bytes | None,
        value: bytes,
        partition: dict[str, Any],
        lsn: int,
        begin: Begin,
        commit_lsn: int | None,
        kind: str,
    ) -> None:
        self.topic = topic
        self.key = key
        self.value = value
        self.source_partition = partition
        self._lsn = lsn
        self._begin = begin
        self._commit_lsn = commit_lsn
        self._kind = kind

    @property
    def position(self) -> Position:
        """How far the log is read with this change."""
        begin = self._begin
        return Position(self._lsn, begin.xid, self._commit_lsn, begin.commit_us, self._kind)

    @property
    def source_offset(self) -> dict[str, Any]:
        return self.position.to_offset()


def _key_of(relation: Relation, facts: TableFacts) -> tuple[str, ...]:
    """The key of a table as of its changes.

    The catalog may be ahead of them: if the table is gone, or its key has a column by another name,
    the log says by which columns a row is known.
    """
    columns = {column.name for column in relation.columns}
    is_known = facts.columns and columns.issuperset(facts.key)
    if is_known or relation.identity not in ("d", "i"):
        return facts.key
    return tuple(column.name for column in relation.columns if column.is_key)


class ChangeReader:
    """Turns the log of one database into records."""

    def __init__(
        self,
        settings: Settings,
        describe: Describe,
        position: Position | None,
        headers: list[Header] | None = None,
        json: tuple[JsonConverter, JsonConverter] | None = None,
    ) -> None:
        """``json`` has the converters of keys and values, if records may be written by them."""
        self._settings = settings
        self._describe = describe
        self._stored = position
        self._headers = headers or []
        self._relations: dict[int, tuple[Relation, TableFacts]] = {}
        self._tables: dict[int, Table | None] = {}
        # Headers would have to be converted too.
        self._json = None if self._headers else json
        # By how a message begins: the table, and the kind of its changes.
        self._json_tables: dict[bytes, tuple[JsonTable, str, str]] = {}
        self._begin = _NO_TRANSACTION
        self._is_done = False
        self._partition = settings.partition
        self._content = binary(settings.modes, bytes)
        self._message_schema = envelope.message_schema(self._content.schema)
        # The end of the last transaction that was read completely; None before the first.
        self.commit_lsn = position.commit_lsn if position is not None else None
        self.is_in_transaction = False
        self._position = position
        # The change that has moved us further, if its position was not asked for yet.
        self._last: CapturedChange | None = None

    @property
    def position(self) -> Position | None:
        """How far we are; None before the first message."""
        if self._last is not None:
            self._position = self._last.position
            self._last = None
        return self._position

    def read(self, lsn: int, data: bytes, now_ns: int) -> Sequence[Record]:
        """The records of the message ``data``, which the log has at ``lsn``."""
        if self._is_done and data[0] in _ROW_CHANGES:
            return []
        if self._json_tables and not (self._stored is not None and self._was_read(lsn)):
            written = self._write_json(lsn, data, now_ns)
            if written is not None:
                self._last = written
                return (written,)
        self._position = self.position
        message = decode(data)
        if isinstance(message, Insert | Update | Delete):
            if self._is_done or self._was_read(lsn):
                return []
            return self._change(message, lsn, now_ns)
        if isinstance(message, Begin):
            self._begin = message
            self.is_in_transaction = True
            self._is_done = self._stored is not None and self._stored.has_transaction(
                message.final_lsn
            )
            return []
        if isinstance(message, Commit):
            return self._commit(message)
        return self._rare(message, lsn, now_ns)

    def _write_json(self, lsn: int, data: bytes, now_ns: int) -> CapturedChange | None:
        """The record of a change of which the log has just a new row; None for any other message,
        and for what cannot be written.
        """
        found = self._json_tables.get(data[:NEW_ROW_AT])
        if found is None:
            return None
        table, op, kind = found
        begin, commit_lsn = self._begin, self.commit_lsn
        try:
            written = table.written(op, data, begin, commit_lsn, lsn, now_ns)
        except _UNWRITABLE:
            return None
        if written is None:
            return None
        key, value = written
        topic, partition = table.topic, self._partition
        return CapturedChange(topic, key, value, partition, lsn, begin, commit_lsn, kind)

    def restart(self) -> None:
        """The log will be read again from an earlier point: what is known to be read is skipped."""
        self._stored = self.position
        self._begin = _NO_TRANSACTION
        self.is_in_transaction = False
        self._is_done = False

    def _was_read(self, lsn: int) -> bool:
        return self._stored is not None and self._stored.has_change(self._begin.xid, lsn)

    def _commit(self, message: Commit) -> list[SourceRecord]:
        self.is_in_transaction = False
        if not self._is_done:
            self.commit_lsn = message.end_lsn
            self._position = Position(
                message.end_lsn,
                self._begin.xid,
                message.end_lsn,
                message.commit_us,
                "COMMIT",
            )
            # Everything stored before is behind us.
            self._stored = None
        return []

    def _rare(self, message: Message, lsn: int, now_ns: int) -> list[SourceRecord]:
        if isinstance(message, Relation):
            facts = self._describe(message)
            # Each reading of the slot begins with all relations again.
            if self._relations.get(message.oid) != (message, facts):
                self._relations[message.oid] = message, facts
                table = self._make_table(message, facts)
                self._tables[message.oid] = table
                insert, update = starts_of_new_rows(message.oid)
                self._json_tables.pop(insert, None)
                self._json_tables.pop(update, None)
                # What is left out is cheap to leave out.
                if self._json and table and not self._settings.skipped & {"c", "u"}:
                    server, database = self._settings.server, self._settings.database
                    made = JsonTable(table, *self._json, server, database)
                    self._json_tables[insert] = made, "c", "INSERT"
                    self._json_tables[update] = made, "u", "UPDATE"
        elif isinstance(message, Truncate):
            if not (self._is_done or self._was_read(lsn)):
                return self._truncate(message, lsn, now_ns)
        elif isinstance(message, LogicalMessage):
            return self._logical_message(message, lsn, now_ns)
        return []

    def _make_table(self, relation: Relation, facts: TableFacts) -> Table | None:
        if not self._settings.tables.includes_table(relation.schema, relation.table):
            return None
        columns = [
            (column.name, column.type_oid, column.type_modifier) for column in relation.columns
        ]
        key = _key_of(relation, facts)
        named = TableFacts(relation.schema, relation.table, facts.columns, key, facts.types)
        return Table(named, columns, self._settings)

    def _table(self, oid: int) -> Table | None:
        try:
            return self._tables[oid]
        except KeyError:
            raise ConnectError(
                f"change of relation {oid}, which the log did not describe"
            ) from None

    def _move(self, lsn: int, message_type: str) -> None:
        begin = self._begin
        self._position = Position(lsn, begin.xid, self.commit_lsn, begin.commit_us, message_type)

    def _change(self, message: Insert | Update | Delete, lsn: int, ns: int) -> list[SourceRecord]:
        table = self._table(message.relation)
        skipped = self._settings.skipped
        if isinstance(message, Insert):
            self._move(lsn, "INSERT")
            if table is None or "c" in skipped:
                return []
            row = table.row(message.new)
            return [self._record(table, lsn, ns, "c", None, row, table.key(row))]
        if isinstance(message, Delete):
            self._move(lsn, "DELETE")
            if table is None or "d" in skipped:
                return []
            before = table.row(message.old)
            return self._deleted(table, lsn, ns, before, table.key(before), self._headers)
        self._move(lsn, "UPDATE")
        if table is None or "u" in skipped:
            return []
        return self._update(table, message, lsn, ns)

    def _update(self, table: Table, message: Update, lsn: int, ns: int) -> list[SourceRecord]:
        old: Row | None = message.old
        after = table.row(message.new, old if message.old_kind == "O" else None)
        key = table.key(after)
        before = None if old is None else table.row(old)
        old_key = key if before is None else table.key(before)
        if key is None or old_key is None or key.values == old_key.values:
            return [self._record(table, lsn, ns, "u", before, after, key)]
        # Consumers of a compacted topic must forget the old key, so the row is deleted and created.
        moved = [*self._headers, Header(envelope.NEW_KEY, table.key_schema, key)]
        records = self._deleted(table, lsn, ns, before, old_key, moved)
        came = [*self._headers, Header(envelope.OLD_KEY, table.key_schema, old_key)]
        records.append(self._record(table, lsn, ns, "c", None, after, key, came))
        return records

    def _deleted(
        self,
        table: Table,
        lsn: int,
        ns: int,
        before: Struct | None,
        key: Struct | None,
        headers: list[Header],
    ) -> list[SourceRecord]:
        record = self._record(table, lsn, ns, "d", before, None, key, headers)
        if not self._settings.has_tombstones:
            return [record]
        return [record, record.replace(value_schema=None, value=None)]

    def _truncate(self, message: Truncate, lsn: int, ns: int) -> list[SourceRecord]:
        self._move(lsn, "TRUNCATE")
        tables = [self._table(oid) for oid in message.relations]
        if "t" in self._settings.skipped:
            return []
        return [
            self._record(table, lsn, ns, "t", None, None, None)
            for table in tables
            if table is not None
        ]

    def _logical_message(self, message: LogicalMessage, lsn: int, ns: int) -> list[SourceRecord]:
        """A transactional message is a change of its transaction; another one stands by itself."""
        if message.is_transactional:
            if self._is_done or self._was_read(lsn):
                return []
            self._move(lsn, "MESSAGE")
        else:
            # It comes as soon as it is written, among whole transactions, as if it were one.
            if self._stored is not None and self._stored.has_transaction(lsn):
                return []
            last = self._position
            time_us = last.time_us if last is not None else ns // 1000
            self.commit_lsn = lsn + 1
            self._position = Position(lsn, None, self.commit_lsn, time_us, "MESSAGE")
            self._stored = None
        if not self._settings.prefixes.includes(message.prefix):
            return []
        position = self._position
        assert position is not None
        schema, content = self._message_schema, self._content.convert(message.content)
        source = self._source("", "", lsn, message.is_transactional, position.time_us or 0)
        return [
            SourceRecord(
                self._settings.topics.messages,
                key_schema=envelope.MESSAGE_KEY,
                key=Struct.of(envelope.MESSAGE_KEY, [message.prefix]),
                value_schema=schema,
                value=envelope.message(schema, message.prefix, content, source, ns),
                headers=self._headers,
                source_partition=self._partition,
                source_offset=position.to_offset(),
            )
        ]

    def _source(
        self, schema: str, table: str, lsn: int, has_transaction: bool, time_us: int
    ) -> Struct:
        return envelope.source(
            server=self._settings.server,
            database=self._settings.database,
            schema=schema,
            table=table,
            snapshot="false",
            time_us=time_us,
            lsn=lsn,
            last_commit_lsn=self.commit_lsn if has_transaction else lsn,
            tx_id=self._begin.xid if has_transaction else None,
        )

    def _record(
        self,
        table: Table,
        lsn: int,
        ns: int,
        op: str,
        before: Struct | None,
        after: Struct | None,
        key: Struct | None,
        headers: list[Header] | None = None,
    ) -> SourceRecord:
        assert self._position is not None
        source = self._source(table.schema_name, table.name, lsn, True, self._begin.commit_us)
        return SourceRecord(
            table.topic,
            key_schema=table.key_schema if key is not None else None,
            key=key,
            value_schema=table.envelope_schema,
            value=envelope.change(table.envelope_schema, before, after, source, op, ns),
            headers=self._headers if headers is None else headers,
            source_partition=self._partition,
            source_offset=self._position.to_offset(),
        )
