"""What sink and source do to a database; PostgreSQL and SQLite do it in their ways.

A database is opened in the driver and in each task. Statements are in autocommit mode, except
between ``begin`` and ``commit``.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple, Protocol

from moldau.connect.connectors.jdbc.dialect import Dialect
from moldau.connect.connectors.jdbc.polled_table import SourceColumn
from moldau.connect.connectors.jdbc.shape import Column
from moldau.connect.connectors.jdbc.url import SQLITE, Target


class TargetColumn(NamedTuple):
    """A column that a table has. ``needs_value``: NOT NULL without a default."""

    name: str
    type_name: str
    needs_value: bool


class BadRowError(Exception):
    """The row with this place in the portion does not fit the table."""

    def __init__(self, place: int, message: str) -> None:
        super().__init__(message)
        self.place = place


class Database(Protocol):
    """A connection to a database."""

    @property
    def dialect(self) -> Dialect:
        """Its SQL."""

    def columns(self, table: str) -> dict[str, TargetColumn] | None:
        """The columns of a table by name, or None if it does not exist."""

    def execute(self, statement: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """Run a statement with ``?`` for values; the rows of a query."""

    def stream(self, statement: str) -> Iterator[tuple[Any, ...]]:
        """The rows of a query, a portion at a time."""

    def query_columns(self, statement: str) -> list[SourceColumn]:
        """The columns of a query's rows."""

    def create_stage(self, name: str, columns: Iterable[TargetColumn]) -> None:
        """Make a table for staged rows: the columns, their number and the mark of tombstones."""

    def encoders(self, columns: Iterable[Column]) -> list[Callable[[Any], Any]]:
        """How to write the values of columns."""

    def copy(
        self,
        stage: str,
        names: Sequence[str],
        encoders: Sequence[Callable[[Any], Any]],
        rows: Sequence[tuple[int, bool, list[Any]]],
    ) -> None:
        """Append rows to a stage, all or none; BadRowError names one that does not fit."""

    def stages(self, prefix: str) -> list[str]:
        """The staging tables whose names begin so."""

    def begin(self) -> None:
        """Begin a transaction that excludes other writers of the same rows."""

    def lock(self, name: str) -> None:
        """In a transaction: wait until no other one holds the lock ``name``."""

    def commit(self) -> None:
        """Make the transaction durable."""

    def rollback(self) -> None:
        """Undo the transaction, if there is one."""

    def cancel(self) -> None:
        """End the statement that another thread runs, which fails."""

    def close(self) -> None:
        """Close the connection."""


def connect(target: Target, application: str) -> Database:
    """Open a database.

    Raises:
        RetriableError: if it cannot be reached now.
        ConnectError: if it refuses.
    """
    if target.kind == SQLITE:
        from moldau.connect.connectors.jdbc.sqlite import SqliteDatabase

        return SqliteDatabase(target)
    from moldau.connect.connectors.jdbc.postgresql import PostgresDatabase

    return PostgresDatabase(target, application)
