"""The sink connector of tables: exactly once.

Tasks stage rows in tables of their own. When all have, the driver moves them into the targets and
stores the next offsets, in one transaction: a crash at any moment leaves either all of a batch or
nothing, and the stored offsets say which. Staging tables that a crash leaves behind are dropped at
the next start.
"""

import threading
from collections.abc import Callable, Iterator, Mapping
from typing import Any, ClassVar, TypeVar

from moldau.connect.config.definition import ConfigDef, ConfigError
from moldau.connect.connector import EXACTLY_ONCE, ConfigProblem, SinkConnector, SinkTask
from moldau.connect.connectors.jdbc import database, sink_settings
from moldau.connect.connectors.jdbc.database import Database
from moldau.connect.connectors.jdbc.sink_settings import SinkSettings
from moldau.connect.connectors.jdbc.staging import Shapes, Staged, Staging, stage_prefix
from moldau.connect.connectors.jdbc.unsupported import SINK, unsupported
from moldau.connect.data.errors import ConnectError, RetriableError
from moldau.connect.data.record import SinkRecord
from moldau.ids import TopicPartition

Result = TypeVar("Result")


class StageLostError(RetriableError):
    """Staged rows are gone: the server crashed, and staging tables have no log. Only staging the
    batch again helps.
    """


class JdbcSink(SinkConnector):
    """Writes records to tables; ``io.confluent.connect.jdbc.JdbcSinkConnector``."""

    config: ClassVar[ConfigDef] = sink_settings.DEFINITION
    delivery = EXACTLY_ONCE
    _is_busy = False

    @classmethod
    def validate(cls, config: Mapping[str, str]) -> list[ConfigProblem]:
        """Whether the options go together and the database can be reached."""
        problems = list(unsupported(SINK, config))
        try:
            settings = sink_settings.parse(config)
        except ConfigError as error:
            return [*problems, ConfigProblem(sink_settings.option_of(error), str(error))]
        try:
            database.connect(settings.target, "moldau connect validation").close()
        except ConnectError as error:
            is_password = "password" in str(error)
            name = "connection.password" if is_password else "connection.url"
            return [*problems, ConfigProblem(name, str(error))]
        return problems

    @classmethod
    def alter_offsets(
        cls, config: Mapping[str, str], offsets: Mapping[TopicPartition, int | None]
    ) -> bool:
        """Store other offsets with the data, of a connector that is stopped; None forgets one.

        Those of the group alone would have no effect: the ones here take precedence.
        """
        sink = cls()
        sink.start(config)
        try:
            sink._retried(lambda db: sink._alter(db, offsets))
        finally:
            sink.stop()
        return True

    def _alter(self, db: Database, offsets: Mapping[TopicPartition, int | None]) -> None:
        table = db.dialect.table(self._settings.offsets_table)
        forget = f"DELETE FROM {table} WHERE connector = ? AND topic = ? AND partition = ?"
        db.begin()
        try:
            db.lock(f"moldau connect {self._name}")
            for at, offset in offsets.items():
                if offset is None:
                    db.execute(forget, (self._name, at.topic, at.partition))
            self._write_offsets(db, {at: n for at, n in offsets.items() if n is not None})
            db.commit()
        except BaseException:
            db.rollback()
            raise

    # -- driver -------------------------------------------------------------------------------

    def start(self, config: Mapping[str, str]) -> None:
        self._name = config.get("name", "")
        self._settings: SinkSettings = sink_settings.parse(config)
        self._database: Database | None = None
        self._stopping = threading.Event()
        self._offsets: dict[TopicPartition, int] = {}
        self._retried(self._prepare)

    def stored_offsets(self) -> dict[TopicPartition, int]:
        self._offsets = self._retried(self._read_offsets)
        return dict(self._offsets)

    def commit(
        self, messages: list[Any], offsets: Mapping[TopicPartition, int], batch_id: int
    ) -> None:
        staged = [stage for message in messages for stage in message or ()]
        self._retried(lambda db: self._merge(db, staged, offsets))
        self._offsets.update(offsets)
        self._retried(lambda db: self._drop(db, [entry.stage for entry in staged]))

    def stop(self) -> None:
        """May be called while another thread writes: its statement is cancelled, or its retries
        end.
        """
        if not hasattr(self, "_stopping"):
            return
        self._stopping.set()
        if self._is_busy and self._database is not None:
            self._database.cancel()
        else:
            self._close()

    def _prepare(self, db: Database) -> None:
        db.execute(db.dialect.offsets_table(self._settings.offsets_table))
        self._drop(db, db.stages(stage_prefix(self._name)))
        self._offsets = self._read_offsets(db)

    def _read_offsets(self, db: Database) -> dict[TopicPartition, int]:
        table = db.dialect.table(self._settings.offsets_table)
        query = f"SELECT topic, partition, next_offset FROM {table} WHERE connector = ?"
        rows = db.execute(query, (self._name,))
        return {TopicPartition(topic, partition): offset for topic, partition, offset in rows}

    def _drop(self, db: Database, stages: list[str]) -> None:
        for stage in stages:
            db.execute(f"DROP TABLE IF EXISTS {db.dialect.table(stage)}")

    def _merge(
        self, db: Database, staged: list[Staged], offsets: Mapping[TopicPartition, int]
    ) -> None:
        """Move staged rows and offsets into the targets, all or nothing."""
        dialect = db.dialect
        db.begin()
        try:
            # A worker that was replaced while it was away must not write any more.
            db.lock(f"moldau connect {self._name}")
            stored = self._read_offsets(db)
            if all(stored.get(partition) == offset for partition, offset in offsets.items()):
                # Our commit came through although its answer did not.
                db.rollback()
                return
            if any(stored.get(partition) != self._offsets.get(partition) for partition in offsets):
                raise ConnectError(
                    f"another worker has written for connector {self._name}: its offsets are "
                    f"{_shown(stored)}, not {_shown(self._offsets)}. Restart the connector"
                )
            for entry in staged:
                self._check_stage(db, entry)
                statements = dialect.merge(
                    entry.stage,
                    entry.table,
                    entry.names,
                    entry.key,
                    self._settings.insert_mode,
                    entry.has_deletes,
                )
                for statement in statements:
                    db.execute(statement)
            self._write_offsets(db, offsets)
            db.commit()
        except BaseException:
            db.rollback()
            raise

    def _check_stage(self, db: Database, entry: Staged) -> None:
        (row,) = db.execute(f"SELECT count(*) FROM {db.dialect.table(entry.stage)}")
        if row[0] != entry.row_count:
            message = f"staging table {entry.stage} has {row[0]} of {entry.row_count} rows"
            raise StageLostError(f"{message}: the database crashed since they were written")

    def _write_offsets(self, db: Database, offsets: Mapping[TopicPartition, int]) -> None:
        table = db.dialect.table(self._settings.offsets_table)
        insert = f"INSERT INTO {table} (connector, topic, partition, next_offset)"
        conflict = "ON CONFLICT (connector, topic, partition) DO UPDATE"
        statement = (
            f"{insert} VALUES (?, ?, ?, ?) {conflict} SET next_offset = excluded.next_offset"
        )
        for partition, offset in sorted(offsets.items()):
            db.execute(statement, (self._name, partition.topic, partition.partition, offset))

    def _retried(self, action: Callable[[Database], Result]) -> Result:
        """Do ``action``; again on a new connection while its error may pass."""
        self._is_busy = True
        try:
            return self._tried(action)
        finally:
            self._is_busy = False
            if self._stopping.is_set():
                self._close()

    def _tried(self, action: Callable[[Database], Result]) -> Result:
        tries = 0
        while True:
            try:
                if self._database is None:
                    self._database = database.connect(
                        self._settings.target, f"moldau connect {self._name}"
                    )
                return action(self._database)
            except RetriableError as error:
                self._close()
                tries += 1
                if tries > self._settings.max_retries or isinstance(error, StageLostError):
                    raise
                if self._stopping.wait(self._settings.backoff_ms / 1000):
                    raise

    def _close(self) -> None:
        if self._database is not None:
            self._database.close()
            self._database = None

    # -- tasks --------------------------------------------------------------------------------

    def open(self, config: Mapping[str, str], task: SinkTask) -> None:
        self._name = task.connector
        self._settings = sink_settings.parse(config)
        self._database = None
        self._stopping = threading.Event()
        self._shapes = Shapes(self._settings)

    def write(self, records: Iterator[SinkRecord], task: SinkTask) -> list[Staged]:
        """Stage the records of a task. What was staged by an attempt that failed is dropped at
        the next start: no message names it.
        """
        # Records cannot be read twice, so only connecting is tried again here.
        db = self._retried(lambda db: db)
        try:
            return Staging(db, self._settings, self._shapes, task).write(records)
        except BaseException:
            self._close()
            raise


def _shown(offsets: Mapping[TopicPartition, int]) -> str:
    parts = [f"{at.topic}-{at.partition}@{offset}" for at, offset in sorted(offsets.items())]
    return ", ".join(parts) or "none"
