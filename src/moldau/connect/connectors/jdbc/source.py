"""The source connector that polls tables.

Rows are found by a column that grows, by a timestamp of their last change, or by both; in bulk mode
all rows come every time. Deleted rows are not seen, and neither is a row whose transaction commits
after one with a larger value was read: use the capture where that matters, or a delay.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, ClassVar

from moldau.clock import Clock, SystemClock
from moldau.connect.config.definition import ConfigDef, ConfigError
from moldau.connect.connector import (
    ConfigProblem,
    OffsetReader,
    SourceConnector,
    SourceOffset,
    SourcePartition,
)
from moldau.connect.connectors.jdbc import database, source_settings
from moldau.connect.connectors.jdbc.database import Database
from moldau.connect.connectors.jdbc.polled_table import PolledTable, Progress
from moldau.connect.connectors.jdbc.sink_settings import option_of
from moldau.connect.connectors.jdbc.source_catalog import polled_tables
from moldau.connect.connectors.jdbc.source_settings import SourceSettings
from moldau.connect.connectors.jdbc.unsupported import SOURCE, unsupported
from moldau.connect.data.errors import ConnectError, RetriableError
from moldau.connect.data.record import SourceRecord

_FAR_FUTURE_US = 253_402_300_799_000_000


class JdbcSource(SourceConnector):
    """Polls tables; ``io.confluent.connect.jdbc.JdbcSourceConnector``."""

    config: ClassVar[ConfigDef] = source_settings.DEFINITION

    def __init__(self, clock: Clock | None = None) -> None:
        self._clock = clock or SystemClock()
        self._database: Database | None = None
        self._tables: list[PolledTable] = []
        self._progress: dict[str, Progress] = {}
        self._next_poll_ms: dict[str, int] = {}
        self._next_listing_ms = 0
        # What is left of a bulk query.
        self._bulk: tuple[PolledTable, Iterator[Any]] | None = None

    @classmethod
    def validate(cls, config: Mapping[str, str]) -> list[ConfigProblem]:
        """Whether the options go together, and the tables have the columns they name."""
        problems = list(unsupported(SOURCE, config))
        try:
            settings = source_settings.parse(config)
        except ConfigError as error:
            return [*problems, ConfigProblem(option_of(error), str(error))]
        if settings.mode == "bulk" and config.get("exactly.once.support") == "required":
            message = "mode=bulk has no offsets, so it cannot be exactly once"
            problems.append(ConfigProblem("exactly.once.support", message))
        try:
            db = database.connect(settings.target, "moldau connect validation")
        except ConnectError as error:
            name = "connection.password" if "password" in str(error) else "connection.url"
            return [*problems, ConfigProblem(name, str(error))]
        try:
            if not polled_tables(db, settings):
                message = "no table is polled: check table.whitelist and schema.pattern"
                problems.append(ConfigProblem("table.whitelist", message))
        except ConnectError as error:
            problems.append(ConfigProblem("mode", str(error)))
        finally:
            db.close()
        return problems

    def start(self, config: Mapping[str, str], offsets: OffsetReader) -> None:
        self._settings: SourceSettings = source_settings.parse(config)
        self._offsets = offsets
        try:
            self._open()
        except RetriableError:
            # The database may be back soon; poll tries again.
            self.stop()

    def poll(self) -> list[SourceRecord] | None:
        try:
            if self._database is None:
                self._open()
            return self._poll()
        except RetriableError:
            # A connection that broke is opened again by the next poll.
            self.stop()
            raise

    def stop(self) -> None:
        if self._database is not None:
            self._database.close()
            self._database = None
        self._bulk = None

    def _open(self) -> None:
        self._database = database.connect(self._settings.target, "moldau connect source")
        self._list_tables()

    def _list_tables(self) -> None:
        assert self._database is not None
        now = self._clock.monotonic_ms()
        self._next_listing_ms = now + self._settings.table_poll_ms
        self._tables = polled_tables(self._database, self._settings)
        for table in self._tables:
            if table.name not in self._progress:
                stored = self._offsets.get(self._partition(table))
                self._progress[table.name] = self._begin(stored)

    def _begin(self, stored: Mapping[str, Any] | None) -> Progress:
        initial_ms = self._settings.initial_ms
        if stored is None and initial_ms is not None and self._settings.has_timestamp:
            if initial_ms < 0:
                initial_ms = self._clock.wall_ms()
            return Progress(initial_ms * 1000)
        return Progress.from_offset(stored)

    def _partition(self, table: PolledTable) -> dict[str, Any]:
        if self._settings.query:
            return {"query": "query"}
        return {"protocol": "1", "table": table.name}

    def _poll(self) -> list[SourceRecord] | None:
        now = self._clock.monotonic_ms()
        if self._bulk is not None:
            return self._more_bulk(*self._bulk)
        if now >= self._next_listing_ms and not self._settings.query:
            self._list_tables()
        for table in self._tables:
            if now >= self._next_poll_ms.get(table.name, 0):
                records = self._poll_table(table)
                # A full batch is likely not the last one.
                if len(records) < self._settings.batch_rows and self._bulk is None:
                    self._next_poll_ms[table.name] = now + self._settings.poll_ms
                if records:
                    return records
        return None

    def _poll_table(self, table: PolledTable) -> list[SourceRecord]:
        assert self._database is not None
        if self._settings.mode == "bulk":
            statement, _ = table.select(Progress(), 0, None)
            return self._more_bulk(table, self._database.stream(statement))
        progress = self._progress[table.name]
        end_us = _FAR_FUTURE_US
        if self._settings.has_timestamp:
            end_us = (self._clock.wall_ms() - self._settings.delay_ms) * 1000
        limit = self._settings.batch_rows
        rows = self._database.execute(*table.select(progress, end_us, limit))
        rows, last = table.whole_timestamps(rows, limit)
        if last is not None:
            assert last.timestamp_us is not None
            upto_us = min(end_us, last.timestamp_us + self._database.dialect.tick_us)
            rows = self._database.execute(*table.select(progress, upto_us, None))
        if not rows:
            return []
        self._progress[table.name] = table.progress(rows[-1])
        return [self._record(table, row) for row in rows]

    def _more_bulk(self, table: PolledTable, rows: Iterator[Any]) -> list[SourceRecord]:
        batch = list(islice(rows, self._settings.batch_rows))
        is_over = len(batch) < self._settings.batch_rows
        self._bulk = None if is_over else (table, rows)
        if is_over:
            self._next_poll_ms[table.name] = self._clock.monotonic_ms() + self._settings.poll_ms
        return [self._record(table, row) for row in batch]

    def _record(self, table: PolledTable, row: Sequence[Any]) -> SourceRecord:
        name = "" if self._settings.query else table.name.rpartition(".")[2]
        return SourceRecord(
            f"{self._settings.prefix}{name}",
            value_schema=table.schema,
            value=table.struct(row),
            source_partition=self._partition(table),
            source_offset=table.progress(row).to_offset(),
        )

    @classmethod
    def alter_offsets(
        cls,
        config: Mapping[str, str],
        offsets: Sequence[tuple[SourcePartition, SourceOffset | None]],
    ) -> bool:
        """Offsets have numbers: incrementing, timestamp, timestamp_nanos."""
        for _, offset in offsets:
            if offset is not None:
                Progress.from_offset(offset)
        return True
