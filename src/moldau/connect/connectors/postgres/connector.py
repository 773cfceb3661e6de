"""The source connector of changes in PostgreSQL.

It reads existing rows first, then the log from the very point of that snapshot on; rows and changes
come in Debezium's envelopes, progress is stored as Debezium stores it. Delivery is at least once,
and exactly once if records and offsets are written in one transaction
(``exactly.once.support=required``): a change is never skipped, and one that was written is
recognised by its position.
"""

import uuid
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import ClassVar, Final

from moldau.clock import Clock, SystemClock
from moldau.connect.config.definition import ConfigDef
from moldau.connect.connector import (
    AT_LEAST_ONCE,
    ConfigProblem,
    OffsetReader,
    SourceConnector,
    SourceOffset,
    SourcePartition,
)
from moldau.connect.connectors.postgres import catalog, envelope, settings, slot, snapshot
from moldau.connect.connectors.postgres.changes import ChangeReader
from moldau.connect.connectors.postgres.pgoutput import format_lsn
from moldau.connect.connectors.postgres.plan import Confirmations, Plan, plan
from moldau.connect.connectors.postgres.position import Position, from_offset
from moldau.connect.connectors.postgres.problems import problems
from moldau.connect.connectors.postgres.session import Connection, connect, translated
from moldau.connect.connectors.postgres.settings import Settings
from moldau.connect.connectors.postgres.stream import ChangeStream, Describer
from moldau.connect.converters.json_converter import JsonConverter
from moldau.connect.data.errors import ConnectError, RetriableError
from moldau.connect.data.headers import Header
from moldau.connect.data.record import ConvertedRecord, SourceRecord
from moldau.connect.data.struct import Struct

# While others write to the log, the slot is moved along so often, or when so much is behind it.
_CONFIRM_MS: Final = 10_000
_CONFIRM_BYTES: Final = 16 * 1024 * 1024


class PostgresSource(SourceConnector):
    """Captures rows and their changes; ``io.debezium.connector.postgresql.PostgresConnector``."""

    config: ClassVar[ConfigDef] = settings.DEFINITION
    delivery = AT_LEAST_ONCE

    def __init__(self, clock: Clock | None = None) -> None:
        self._clock = clock or SystemClock()
        self._connections: list[Connection] = []
        self._rows: Iterator[SourceRecord] | None = None
        self._stream: ChangeStream | None = None
        self._is_open = False
        self._failures = 0
        self._next_try_ms = 0
        self._confirmed_lsn = 0
        self._confirmed_ms = 0
        self._heartbeat_ms = 0
        self._json: tuple[JsonConverter, JsonConverter] | None = None

    @classmethod
    def validate(cls, config: Mapping[str, str]) -> list[ConfigProblem]:
        """What is wrong with the server, the role, the publication, the tables or the slot."""
        return problems(config)

    def write_json(self, keys: JsonConverter, values: JsonConverter) -> None:
        self._json = keys, values

    def start(self, config: Mapping[str, str], offsets: OffsetReader) -> None:
        self._settings: Settings = settings.parse(config)
        stored = offsets.get(self._settings.partition)
        self._position: Position | None = None if stored is None else from_offset(stored)
        self._confirmations = Confirmations()
        self._headers: list[Header] = []
        if self._settings.has_context_headers:
            self._headers = envelope.context_headers(self._settings.server, str(uuid.uuid4()))
        try:
            self._open()
        except RetriableError:
            # The server may be back soon; poll tries again.
            self._disconnect()
            self._failures = 1

    def poll(self) -> Sequence[SourceRecord | ConvertedRecord] | None:
        now = self._clock.monotonic_ms()
        if now < self._next_try_ms:
            return None
        try:
            if not self._is_open:
                self._open()
            records = self._read()
            self._failures = 0
        except RetriableError:
            # Position and unconfirmed records stay: reading goes on from them.
            self._disconnect()
            self._failures += 1
            if 0 <= self._settings.max_retries < self._failures:
                raise
            self._next_try_ms = now + self._settings.retry_wait_ms
            return None
        if records:
            self._confirmations.sent(records[-1].source_offset)
        elif self._stream is not None:
            self._next_try_ms = now + self._settings.poll_ms
        try:
            self._note_progress()
        except RetriableError:
            # The records are read and must go out: the slot is confirmed some other time.
            self._disconnect()
        return records

    def commit(self, offsets: Sequence[tuple[SourcePartition, SourceOffset]]) -> None:
        for _, offset in offsets:
            self._confirmations.durable(offset)
        if self._is_open:
            try:
                self._confirm()
            except RetriableError:
                self._disconnect()

    def stop(self) -> None:
        try:
            if self._is_open and self._settings.drops_slot:
                self._close_readers()
                slot.drop(self._connections[0], self._settings.slot)
        finally:
            self._disconnect()

    # -- opening ------------------------------------------------------------------------------

    def _open(self) -> None:
        control = self._connect()
        slot.ensure_publication(control, self._settings)
        found = catalog.slot(control, self._settings.slot)
        todo = plan(self._settings, self._position, found)
        is_usable = found is not None and found.wal_status != "lost"
        if found is not None and not is_usable and todo is not Plan.REST:
            slot.drop(control, self._settings.slot)
            found = None
        exported: str | None = None
        if found is not None:
            lsn = found.confirmed_lsn
            # A slot cannot be moved back: it may be ahead of the offsets if only others wrote.
            self._confirmed_lsn = max(self._confirmed_lsn, lsn)
        elif todo is not Plan.REST:
            created = slot.create(self._settings)
            self._connections.append(created.connection)
            lsn, exported = created.lsn, created.snapshot
        if todo is Plan.SNAPSHOT:
            self._open_snapshot(lsn, exported)
        elif todo is Plan.STREAM:
            if self._position is None or not self._position.is_complete:
                self._position = Position(lsn, is_snapshot=True)
            self._open_stream()
        self._is_open = True

    def _connect(self) -> Connection:
        connection = connect(self._settings)
        self._connections.append(connection)
        return connection

    def _open_snapshot(self, lsn: int, exported: str | None) -> None:
        reading = self._connect()
        moment = snapshot.begin(reading, lsn, exported)
        self._after_snapshot = Position(
            lsn, moment.tx_id, time_us=moment.time_us, is_snapshot=True, is_complete=True
        )
        self._rows = snapshot.records(reading, self._settings, moment, self._headers, self._clock)

    def _open_stream(self) -> None:
        control = self._connections[0]
        describe = Describer(control)
        reader = ChangeReader(self._settings, describe, self._position, self._headers, self._json)
        self._reader = reader
        self._stream = ChangeStream(self._connect(), control, self._settings, reader, self._clock)

    # -- reading ------------------------------------------------------------------------------

    def _read(self) -> Sequence[SourceRecord | ConvertedRecord]:
        if self._rows is not None:
            return self._read_rows(self._rows)
        if self._settings.snapshot == "initial_only":
            return []
        if self._stream is None:
            self._open_stream()
        assert self._stream is not None
        records = self._stream.poll()
        position = self._reader.position
        records += self._heartbeat(position)
        # Last: if anything fails before, the records are dropped, and have to be read again.
        self._position = position
        return records

    def _read_rows(self, rows: Iterator[SourceRecord]) -> list[SourceRecord]:
        records = list(islice(rows, self._settings.batch_size))
        if len(records) < self._settings.batch_size:
            self._rows = None
            self._position = self._after_snapshot
            # The reading transaction and the exported snapshot end here.
            for connection in self._connections[1:]:
                connection.close()
            del self._connections[1:]
        return records

    def _heartbeat(self, position: Position | None) -> list[SourceRecord]:
        every_ms = self._settings.heartbeat_ms
        now = self._clock.wall_ms()
        if not every_ms or now - self._heartbeat_ms < every_ms:
            return []
        self._heartbeat_ms = now
        if query := self._settings.heartbeat_query:
            with translated("cannot run heartbeat.action.query"):
                self._connections[0].execute(query.encode())
        if position is None:
            return []
        return [
            SourceRecord(
                self._settings.topics.heartbeat,
                key_schema=envelope.HEARTBEAT_KEY,
                key=Struct.of(envelope.HEARTBEAT_KEY, [self._settings.server]),
                value_schema=envelope.HEARTBEAT,
                value=Struct.of(envelope.HEARTBEAT, [now]),
                headers=self._headers,
                source_partition=self._settings.partition,
                source_offset=position.to_offset(),
            )
        ]

    # -- progress -----------------------------------------------------------------------------

    def _note_progress(self) -> None:
        """After the records of a poll: what is free once they are durable."""
        if self._stream is None:
            return
        reached = max(self._reader.commit_lsn or 0, self._stream.read_lsn)
        if self._reader.is_in_transaction:
            reached = self._reader.commit_lsn or 0
        self._confirmations.reached(reached)
        # Without records there is no commit: the log of others would pile up behind the slot.
        behind = self._confirmations.lsn - self._confirmed_lsn
        since = self._clock.monotonic_ms() - self._confirmed_ms
        if behind >= _CONFIRM_BYTES or (behind > 0 and since >= _CONFIRM_MS):
            self._confirm()

    def _confirm(self) -> None:
        lsn = self._confirmations.lsn
        if self._stream is None or lsn <= self._confirmed_lsn:
            return
        slot.confirm(self._connections[0], self._settings.slot, lsn)
        self._confirmed_lsn = lsn
        self._confirmed_ms = self._clock.monotonic_ms()

    # -- closing ------------------------------------------------------------------------------

    def _close_readers(self) -> None:
        for connection in self._connections[1:]:
            connection.close()

    def _disconnect(self) -> None:
        """Drop connections; what was read stays known."""
        self._is_open = False
        self._rows = self._stream = None
        for connection in self._connections:
            connection.close()
        self._connections.clear()

    @classmethod
    def alter_offsets(
        cls,
        config: Mapping[str, str],
        offsets: Sequence[tuple[SourcePartition, SourceOffset | None]],
    ) -> bool:
        """Offsets must be of this server, and not before what the slot still has."""
        parsed = settings.parse(config)
        for partition, offset in offsets:
            if dict(partition) != parsed.partition:
                message = f"partition {dict(partition)} is not {parsed.partition}, the only one"
                raise ConnectError(message)
            if offset is not None:
                position = from_offset(offset)
                with connect(parsed) as connection:
                    found = catalog.slot(connection, parsed.slot)
                if found is not None and position.lsn < found.restart_lsn:
                    where = f"{position.lsn} ({format_lsn(position.lsn)})"
                    begin = f"{found.restart_lsn} ({format_lsn(found.restart_lsn)})"
                    message = f"lsn {where} is before {begin}, where the log of slot {parsed.slot}"
                    raise ConnectError(f"{message} begins; reset the offsets for a new snapshot")
        return True
