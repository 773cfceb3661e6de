"""SQLite as the target of the sink, and as a polled source.

One writer at a time: the others wait up to ``_BUSY_S`` for the file. The write-ahead log lets
readers go on meanwhile.
"""

import sqlite3
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final

from moldau.connect.connectors.jdbc.database import BadRowError, TargetColumn
from moldau.connect.connectors.jdbc.dialect import IS_DELETE, ORDER, Dialect, SqliteDialect
from moldau.connect.connectors.jdbc.encode import sqlite_encoder
from moldau.connect.connectors.jdbc.polled_table import SourceColumn
from moldau.connect.connectors.jdbc.shape import Column
from moldau.connect.connectors.jdbc.url import Target
from moldau.connect.data.errors import ConnectError, RetriableError

_BUSY_S: Final = 60
_PASSING: Final = ("locked", "busy", "disk is full", "disk I/O")


@contextmanager
def _translated(path: str) -> Iterator[None]:
    try:
        yield
    except sqlite3.Error as error:
        message = f"{path}: {error}"
        if isinstance(error, sqlite3.OperationalError) and any(w in str(error) for w in _PASSING):
            raise RetriableError(message) from error
        raise ConnectError(message) from error


class SqliteDatabase:
    """A connection to SQLite."""

    def __init__(self, target: Target) -> None:
        self.dialect: Dialect = SqliteDialect()
        self._path = target.path
        with _translated(self._path):
            # The engine may commit from another thread than it started with, one at a time.
            self._connection = sqlite3.connect(
                target.path, timeout=_BUSY_S, isolation_level=None, check_same_thread=False
            )
            self._connection.execute("PRAGMA journal_mode = WAL")
            # With WAL, anything less may lose the last transactions when power fails.
            self._connection.execute("PRAGMA synchronous = FULL")

    @property
    def connection(self) -> sqlite3.Connection:
        return self._connection

    def columns(self, table: str) -> dict[str, TargetColumn] | None:
        rows = self.execute(f"PRAGMA table_info({self.dialect.table(table)})")
        return {
            name: TargetColumn(name, kind, bool(is_not_null) and default is None)
            for _, name, kind, is_not_null, default, _ in rows
        } or None

    def execute(self, statement: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        with _translated(self._path):
            return self._connection.execute(statement, values).fetchall()

    def stream(self, statement: str) -> Iterator[tuple[Any, ...]]:
        with _translated(self._path):
            yield from self._connection.execute(statement)

    def query_columns(self, statement: str) -> list[SourceColumn]:
        """SQLite does not say of which type the columns of a query are: they are read as texts."""
        with _translated(self._path):
            cursor = self._connection.execute(f"{statement} LIMIT 0")
            return [SourceColumn(entry[0], "text", False) for entry in cursor.description]

    def create_stage(self, name: str, columns: Iterable[TargetColumn]) -> None:
        quote = self.dialect.quote
        lines = [f"{quote(ORDER)} INTEGER", f"{quote(IS_DELETE)} INTEGER"]
        lines += [f"{quote(column.name)} {column.type_name}" for column in columns]
        self.execute(f"CREATE TABLE {self.dialect.table(name)} ({', '.join(lines)})")

    def encoders(self, columns: Iterable[Column]) -> list[Callable[[Any], Any]]:
        return [sqlite_encoder(column) for column in columns]

    def copy(
        self,
        stage: str,
        names: Sequence[str],
        encoders: Sequence[Callable[[Any], Any]],
        rows: Sequence[tuple[int, bool, list[Any]]],
    ) -> None:
        columns = ", ".join(self.dialect.quote(name) for name in (ORDER, IS_DELETE, *names))
        marks = ", ".join("?" * (len(names) + 2))
        statement = f"INSERT INTO {self.dialect.table(stage)} ({columns}) VALUES ({marks})"
        bound = []
        for order, is_delete, row in rows:
            encoded = [encode(value) for encode, value in zip(encoders, row, strict=True)]
            bound.append((order, int(is_delete), *encoded))
        with _translated(self._path):
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                for place, values in enumerate(bound):
                    try:
                        self._connection.execute(statement, values)
                    except (sqlite3.IntegrityError, sqlite3.DataError, OverflowError) as error:
                        raise BadRowError(place, str(error)) from error
                self._connection.execute("COMMIT")
            except BaseException:
                self.rollback()
                raise

    def stages(self, prefix: str) -> list[str]:
        rows = self.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
        return [name for (name,) in rows if name.startswith(prefix)]

    def begin(self) -> None:
        self.execute("BEGIN IMMEDIATE")

    def lock(self, name: str) -> None:
        """A transaction that writes excludes all others."""

    def commit(self) -> None:
        self.execute("COMMIT")

    def rollback(self) -> None:
        if self._connection.in_transaction:
            self._connection.execute("ROLLBACK")

    def cancel(self) -> None:
        self._connection.interrupt()

    def close(self) -> None:
        self._connection.close()
