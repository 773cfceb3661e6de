"""SQL of the sink, in the dialects of PostgreSQL and SQLite (pure).

Rows of a batch are staged in a table of their own, with a number that keeps their order; then one
transaction moves them into the target. Of rows with the same key, the last one counts.
"""

import datetime
from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from typing import Any, ClassVar, Final

from moldau.connect.connectors.jdbc.shape import Column
from moldau.connect.data import logical
from moldau.connect.data.errors import ConnectError, DataError
from moldau.connect.data.schema import Schema, Type

_EPOCH: Final = datetime.datetime(1970, 1, 1)
ORDER: Final = "__moldau_order"
IS_DELETE: Final = "__moldau_delete"
# What staged rows are called in a statement. A target of that name would hide them, or they it: a
# table is often called as its topic, so these are names that nobody gives.
STAGED: Final = "__moldau_staged"
LATER: Final = "__moldau_later"
# Of a name in PostgreSQL.
_NAME_BYTES: Final = 63
# With milliseconds.
_SQLITE_FORM: Final = "'%Y-%m-%d %H:%M:%f'"


class Dialect:
    """What both have in common."""

    types: ClassVar[Mapping[Type, str]]
    logical: ClassVar[Mapping[str, str]]
    # The shortest time between two moments that can be told apart.
    tick_us: ClassVar[int] = 1
    # What stands for a ``moment`` in a statement.
    mark: ClassVar[str] = "?"

    def quote(self, name: str) -> str:
        return '"' + name.replace('"', '""') + '"'

    def table(self, name: str) -> str:
        """A table's name, quoted."""
        return self.quote(name)

    def check_names(self, topic: str, table: str, columns: Iterable[str]) -> None:
        """Refuse names of the table of a topic that the database would change.

        Raises:
            ConnectError: naming the option or transform that gives another name.
        """

    def column_type(self, column: Column) -> str:
        """The type of a new column.

        Raises:
            DataError: for maps and structs, which have none.
        """
        return self._type(column.name, column.schema)

    def _type(self, name: str, schema: Schema) -> str:
        found = self.logical.get(schema.name or "") or self.types.get(schema.type)
        if found is None:
            message = f"field {name} is a {schema.type}, for which there is no column type"
            raise DataError(f"{message}: flatten it with the transform Flatten, or leave it out")
        return found

    def literal(self, value: Any) -> str:
        """A default value in SQL."""
        if isinstance(value, bool):
            return self._boolean(value)
        if isinstance(value, int | float | Decimal):
            return format(value, "f") if isinstance(value, Decimal) else repr(value)
        if isinstance(value, bytes):
            return self._bytes(value)
        if isinstance(value, datetime.datetime):
            value = value.replace(tzinfo=None).isoformat(" ")
        elif isinstance(value, datetime.date | datetime.time):
            value = value.isoformat()
        if not isinstance(value, str):
            raise DataError(f"{value!r} cannot be the default of a column")
        return "'" + value.replace("'", "''") + "'"

    def _boolean(self, value: bool) -> str:
        raise NotImplementedError

    def _bytes(self, value: bytes) -> str:
        raise NotImplementedError

    def moment(self, micros: int) -> Any:
        """A timestamp, to compare a column with."""
        moment = _EPOCH + datetime.timedelta(microseconds=micros)
        return moment.isoformat(" ", "microseconds")

    def timestamp(self, column: str) -> str:
        """A quoted column as what ``moment`` is compared with."""
        return column

    def create_table(self, table: str, columns: Sequence[Column]) -> str:
        """Make a table for these columns, with the primary key that they name."""
        lines = [self._definition(column) for column in columns]
        if key := [self.quote(column.name) for column in columns if column.is_key]:
            lines.append(f"PRIMARY KEY ({', '.join(key)})")
        return f"CREATE TABLE IF NOT EXISTS {self.table(table)} ({', '.join(lines)})"

    def add_column(self, table: str, column: Column) -> str:
        return f"ALTER TABLE {self.table(table)} ADD COLUMN {self._definition(column)}"

    def _definition(self, column: Column) -> str:
        text = f"{self.quote(column.name)} {self.column_type(column)}"
        if column.schema.default is not None:
            text += f" DEFAULT {self.literal(column.schema.default)}"
        return text + (" NOT NULL" if column.is_key or not column.schema.is_optional else " NULL")

    def merge(
        self,
        stage: str,
        table: str,
        names: Sequence[str],
        key: Sequence[str],
        mode: str,
        has_deletes: bool,
    ) -> list[str]:
        """The statements that move staged rows into the target."""
        columns = ", ".join(self.quote(name) for name in names)
        if not key:
            order = self.quote(ORDER)
            select = f"SELECT {columns} FROM {self.table(stage)} ORDER BY {order}"
            return [f"INSERT INTO {self.table(table)} ({columns}) {select}"]
        last = self._last(stage, key)
        statements = []
        if has_deletes:
            statements.append(self._delete(stage, table, key))
        is_last = f"{STAGED}.{self.quote('__last')} = 1 AND NOT {STAGED}.{self.quote(IS_DELETE)}"
        kept = f"FROM ({last}) AS {STAGED} WHERE {is_last}"
        picked = ", ".join(f"{STAGED}.{self.quote(name)}" for name in names)
        if mode == "update":
            statements.append(self._update(table, names, key, kept))
        elif mode == "upsert":
            insert = f"INSERT INTO {self.table(table)} ({columns}) SELECT {picked} {kept}"
            statements.append(f"{insert} {self._on_conflict(names, key)}")
        else:
            statements.append(self._insert(stage, table, names, key, has_deletes))
        return statements

    def _last(self, stage: str, key: Sequence[str]) -> str:
        """Staged rows, the last of each key numbered 1."""
        keys = ", ".join(self.quote(name) for name in key)
        window = f"PARTITION BY {keys} ORDER BY {self.quote(ORDER)} DESC"
        number = f"row_number() OVER ({window}) AS {self.quote('__last')}"
        return f"SELECT *, {number} FROM {self.table(stage)}"

    def _on_conflict(self, names: Sequence[str], key: Sequence[str]) -> str:
        keys = ", ".join(self.quote(name) for name in key)
        others = [name for name in names if name not in key]
        if not others:
            return f"ON CONFLICT ({keys}) DO NOTHING"
        sets = ", ".join(f"{self.quote(name)} = excluded.{self.quote(name)}" for name in others)
        return f"ON CONFLICT ({keys}) DO UPDATE SET {sets}"

    def _matches(self, left: str, right: str, key: Iterable[str]) -> str:
        return " AND ".join(f"{left}.{self.quote(n)} = {right}.{self.quote(n)}" for n in key)

    def _delete(self, stage: str, table: str, key: Sequence[str]) -> str:
        """Delete the rows of all keys that have a tombstone in the batch."""
        target = self.table(table)
        same = self._matches(STAGED, target, key)
        is_delete = f"{STAGED}.{self.quote(IS_DELETE)}"
        exists = f"SELECT 1 FROM {self.table(stage)} AS {STAGED} WHERE {is_delete} AND {same}"
        return f"DELETE FROM {target} WHERE EXISTS ({exists})"

    def _insert(
        self, stage: str, table: str, names: Sequence[str], key: Sequence[str], has_deletes: bool
    ) -> str:
        """Insert every row: a key that exists is an error. What a later tombstone deletes is left
        out.
        """
        columns = ", ".join(self.quote(name) for name in names)
        picked = ", ".join(f"{STAGED}.{self.quote(name)}" for name in names)
        order, is_delete = self.quote(ORDER), self.quote(IS_DELETE)
        staged = f"FROM {self.table(stage)} AS"
        where = f"NOT {STAGED}.{is_delete}"
        if has_deletes:
            same = self._matches(LATER, STAGED, key)
            later = f"{LATER}.{is_delete} AND {LATER}.{order} > {STAGED}.{order} AND {same}"
            where += f" AND NOT EXISTS (SELECT 1 {staged} {LATER} WHERE {later})"
        select = f"SELECT {picked} {staged} {STAGED} WHERE {where} ORDER BY {STAGED}.{order}"
        return f"INSERT INTO {self.table(table)} ({columns}) {select}"

    def _update(self, table: str, names: Sequence[str], key: Sequence[str], kept: str) -> str:
        others = [name for name in names if name not in key]
        if not others:
            raise DataError("insert.mode=update, but the records have only columns of the key")
        sets = ", ".join(f"{self.quote(name)} = {STAGED}.{self.quote(name)}" for name in others)
        target = self.table(table)
        return f"UPDATE {target} SET {sets} {kept} AND {self._matches(target, STAGED, key)}"

    def offsets_table(self, name: str) -> str:
        return (
            f"CREATE TABLE IF NOT EXISTS {self.table(name)} (connector TEXT NOT NULL, "
            "topic TEXT NOT NULL, partition INTEGER NOT NULL, next_offset BIGINT NOT NULL, "
            "PRIMARY KEY (connector, topic, partition))"
        )


class PostgresDialect(Dialect):
    types: ClassVar[Mapping[Type, str]] = {
        Type.INT8: "SMALLINT",
        Type.INT16: "SMALLINT",
        Type.INT32: "INT",
        Type.INT64: "BIGINT",
        Type.FLOAT32: "REAL",
        Type.FLOAT64: "DOUBLE PRECISION",
        Type.BOOLEAN: "BOOLEAN",
        Type.STRING: "TEXT",
        Type.BYTES: "BYTEA",
    }
    logical: ClassVar[Mapping[str, str]] = {
        logical.DECIMAL_NAME: "DECIMAL",
        logical.DATE_NAME: "DATE",
        logical.TIME_NAME: "TIME",
        logical.TIMESTAMP_NAME: "TIMESTAMP",
    }

    def table(self, name: str) -> str:
        parts = name.split(".")
        if len(parts) > 2:
            message = f"table name {name} has more parts than schema.table"
            raise DataError(f"{message}: set table.name.format, or route with RegexRouter")
        return ".".join(self.quote(part) for part in parts)

    def check_names(self, topic: str, table: str, columns: Iterable[str]) -> None:
        """PostgreSQL cuts off long names without an error: two topics would share a table."""
        for part in table.split("."):
            if _is_too_long(part):
                raise ConnectError(
                    f"topic {topic} would be written to table {table}, of whose name PostgreSQL "
                    f"keeps only {_NAME_BYTES} bytes, as for any other topic that begins so: set "
                    "table.name.format, or route with RegexRouter, to a shorter name"
                )
        for name in columns:
            if _is_too_long(name):
                raise ConnectError(
                    f"topic {topic} has a field {name}, of whose name PostgreSQL keeps only "
                    f"{_NAME_BYTES} bytes as a column of table {table}: rename it with the "
                    "transform ReplaceField, or leave it out"
                )

    def _type(self, name: str, schema: Schema) -> str:
        if schema.type is Type.ARRAY and schema.value_schema is not None:
            return f"{self._type(name, schema.value_schema)}[]"
        return super()._type(name, schema)

    def _boolean(self, value: bool) -> str:
        return "TRUE" if value else "FALSE"

    def _bytes(self, value: bytes) -> str:
        return f"'\\x{value.hex()}'::bytea"


class SqliteDialect(Dialect):
    types: ClassVar[Mapping[Type, str]] = {
        **dict.fromkeys((Type.INT8, Type.INT16, Type.INT32, Type.INT64, Type.BOOLEAN), "INTEGER"),
        **dict.fromkeys((Type.FLOAT32, Type.FLOAT64), "REAL"),
        Type.STRING: "TEXT",
        Type.BYTES: "BLOB",
    }
    logical: ClassVar[Mapping[str, str]] = dict.fromkeys(logical.LOGICAL_NAMES, "NUMERIC")
    tick_us: ClassVar[int] = 1000
    # Rounded as columns are: a row could be younger than itself otherwise, and read at every poll.
    mark: ClassVar[str] = f"strftime({_SQLITE_FORM}, ?)"

    def timestamp(self, column: str) -> str:
        """Timestamps are texts in one of several forms, or milliseconds: all are made texts."""
        number = f"strftime({_SQLITE_FORM}, {column} / 1000.0, 'unixepoch')"
        is_number = f"typeof({column}) IN ('integer', 'real')"
        return f"CASE WHEN {is_number} THEN {number} ELSE strftime({_SQLITE_FORM}, {column}) END"

    def _boolean(self, value: bool) -> str:
        return "1" if value else "0"

    def _bytes(self, value: bytes) -> str:
        return f"X'{value.hex()}'"


def _is_too_long(name: str) -> bool:
    return len(name.encode()) > _NAME_BYTES
