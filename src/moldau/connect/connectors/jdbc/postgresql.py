"""PostgreSQL as the target of the sink, and as a polled source."""

import contextlib
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Final

import psycopg

from moldau.connect.connectors.jdbc.database import BadRowError, TargetColumn
from moldau.connect.connectors.jdbc.dialect import IS_DELETE, ORDER, Dialect, PostgresDialect
from moldau.connect.connectors.jdbc.encode import copy_encoder, copy_line
from moldau.connect.connectors.jdbc.polled_table import SourceColumn
from moldau.connect.connectors.jdbc.shape import Column
from moldau.connect.connectors.jdbc.url import Target
from moldau.connect.connectors.postgres.session import first_line, may_pass
from moldau.connect.data.errors import ConnectError, RetriableError

_COLUMNS: Final = """
SELECT a.attname, format_type(a.atttypid, a.atttypmod),
       a.attnotnull AND NOT a.atthasdef AND a.attidentity = ''
FROM pg_attribute a
WHERE a.attrelid = to_regclass(%s) AND a.attnum > 0 AND NOT a.attisdropped AND a.attgenerated = ''
ORDER BY a.attnum
"""
_LINE: Final = re.compile(r"line (\d+)(?:, column ([^:]+))?")
# Errors of a value: data exceptions, and constraints.
_VALUE_ERRORS: Final = ("22", "23")


# What is not looked into: comments (which may contain one another, here up to once), names, and
# texts in quotes or between dollar signs. Then two question marks, which are one of an operator;
# and signs for values.
_MARKS: Final = re.compile(
    r"""(
          --[^\n]*
        | /\*(?:[^*/]|\*(?!/)|/(?!\*)|/\*(?:[^*]|\*(?!/))*\*/)*\*/
        | "[^"]*"
        | (?<!\w)[eE]'(?:[^'\\]|\\.)*'
        | '[^']*'
        | (?<![\w$])\$(?P<tag>(?:[^\W\d]\w*)?)\$.*?\$(?P=tag)\$
    )|(?P<operator>\?\?)|(?P<value>\?)|%""",
    re.VERBOSE | re.DOTALL,
)


def for_psycopg(statement: str, *, has_values: bool = False) -> bytes:
    """A statement as psycopg takes it: with values, the signs for them are ``%s`` there."""

    def written(found: re.Match[str]) -> str:
        if found["operator"]:
            return "?"
        if not has_values:
            return found[0]
        return "%s" if found["value"] else found[0].replace("%", "%%")

    return _MARKS.sub(written, statement).encode()


@contextlib.contextmanager
def _translated() -> Iterator[None]:
    try:
        yield
    except psycopg.Error as error:
        if may_pass(error):
            raise RetriableError(first_line(error)) from error
        raise ConnectError(first_line(error)) from error


class PostgresDatabase:
    """A connection to PostgreSQL."""

    def __init__(self, target: Target, application: str) -> None:
        self.dialect: Dialect = PostgresDialect()
        arguments = {"connect_timeout": 10, "application_name": application, **target.arguments}
        try:
            self._connection = psycopg.connect(autocommit=True, **arguments)
        except psycopg.Error as error:
            message = f"cannot connect to {target}: {first_line(error)}"
            if may_pass(error):
                raise RetriableError(message) from error
            raise ConnectError(message) from error
        self.execute("SET client_encoding = 'UTF8'")
        self.execute("SET datestyle = 'ISO'")
        self.execute("SET timezone = 'UTC'")

    @property
    def connection(self) -> psycopg.Connection[Any]:
        return self._connection

    def columns(self, table: str) -> dict[str, TargetColumn] | None:
        with _translated():
            name = self.dialect.table(table)
            rows = self._connection.execute(_COLUMNS, (name,)).fetchall()
        return {row[0]: TargetColumn(*row) for row in rows} or None

    def execute(self, statement: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        with _translated():
            cursor = self._connection.cursor()
            if values:
                cursor.execute(for_psycopg(statement, has_values=True), values)
            else:
                cursor.execute(for_psycopg(statement))
            return cursor.fetchall() if cursor.description else []

    def stream(self, statement: str) -> Iterator[tuple[Any, ...]]:
        with (
            _translated(),
            self._connection.transaction(),
            self._connection.cursor("moldau_polled") as cursor,
        ):
            cursor.execute(for_psycopg(statement))
            yield from cursor

    def query_columns(self, statement: str) -> list[SourceColumn]:
        with _translated():
            cursor = self._connection.execute(for_psycopg(f"{statement} LIMIT 0"))
            description = cursor.description or []
            query = "SELECT oid, typname FROM pg_type WHERE oid = ANY(%s)"
            codes = [column.type_code for column in description]
            names = dict(self._connection.execute(query, (codes,)).fetchall())
        return [
            SourceColumn(
                column.name,
                names.get(column.type_code, "text"),
                False,
                column.precision if column.precision is not None else -1,
                column.scale if column.scale is not None else -1,
            )
            for column in description
        ]

    def create_stage(self, name: str, columns: Iterable[TargetColumn]) -> None:
        quote = self.dialect.quote
        lines = [f"{quote(ORDER)} bigint", f"{quote(IS_DELETE)} boolean"]
        lines += [f"{quote(column.name)} {column.type_name}" for column in columns]
        # Without a log: what is staged and not merged is of no use after a crash.
        self.execute(f"CREATE UNLOGGED TABLE {self.dialect.table(name)} ({', '.join(lines)})")

    def encoders(self, columns: Iterable[Column]) -> list[Callable[[Any], Any]]:
        return [copy_encoder(column) for column in columns]

    def copy(
        self,
        stage: str,
        names: Sequence[str],
        encoders: Sequence[Callable[[Any], Any]],
        rows: Sequence[tuple[int, bool, list[Any]]],
    ) -> None:
        columns = ", ".join(self.dialect.quote(name) for name in (ORDER, IS_DELETE, *names))
        statement = f"COPY {self.dialect.table(stage)} ({columns}) FROM STDIN"
        data = "".join([copy_line(encoders, *row) for row in rows])
        try:
            with self._connection.cursor().copy(statement.encode()) as copy:
                copy.write(data)
        except psycopg.Error as error:
            found = _LINE.search(error.diag.context or "")
            if found and error.sqlstate and error.sqlstate[:2] in _VALUE_ERRORS:
                column = f"column {found[2]}: " if found[2] else ""
                raise BadRowError(int(found[1]) - 1, column + first_line(error)) from error
            if may_pass(error):
                raise RetriableError(first_line(error)) from error
            raise ConnectError(first_line(error)) from error

    def stages(self, prefix: str) -> list[str]:
        query = "SELECT relname FROM pg_class WHERE relkind = 'r' AND pg_table_is_visible(oid)"
        rows = self.execute(f"{query} AND starts_with(relname, ?)", (prefix,))
        return [row[0] for row in rows]

    def begin(self) -> None:
        self.execute("BEGIN")

    def lock(self, name: str) -> None:
        self.execute("SELECT pg_advisory_xact_lock(hashtextextended(?, 0))", (name,))

    def commit(self) -> None:
        self.execute("COMMIT")

    def rollback(self) -> None:
        if not self._connection.closed and not self._connection.broken:
            with _translated():
                self._connection.rollback()

    def cancel(self) -> None:
        # What cannot be reached runs no statement for us.
        with contextlib.suppress(psycopg.Error):
            self._connection.cancel_safe(timeout=2)

    def close(self) -> None:
        self._connection.close()
