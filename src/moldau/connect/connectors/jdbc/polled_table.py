"""A table or query that is polled: its columns as a schema, its statements, its progress (pure).

With a timestamp alone, all rows of one timestamp must go out together: the offset cannot say how
many of them were read. With a growing column as well, each row has a position of its own.
"""

import datetime
from collections.abc import Callable, Mapping, Sequence
from decimal import ROUND_HALF_UP, Decimal, InvalidOperation
from typing import Any, Final, NamedTuple

from moldau.connect.connectors.jdbc.dialect import Dialect
from moldau.connect.connectors.jdbc.source_settings import SourceSettings
from moldau.connect.data import logical
from moldau.connect.data import schema as schemas
from moldau.connect.data.errors import ConnectError, DataError
from moldau.connect.data.schema import Schema, struct
from moldau.connect.data.struct import Struct

_EPOCH: Final = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)
_MICROSECOND: Final = datetime.timedelta(microseconds=1)
# A numeric without a scale of its own.
_FREE_SCALE: Final = 18


class SourceColumn(NamedTuple):
    """A column of a table or query. ``precision`` and ``scale`` are those of a numeric, or -1."""

    name: str
    kind: str
    is_not_null: bool
    precision: int = -1
    scale: int = -1
    is_identity: bool = False


class Reading(NamedTuple):
    """The schema of a column, and how its values become those of Connect. ``is_text``: the
    database casts it to a text.
    """

    schema: Schema
    convert: Callable[[Any], Any]
    is_text: bool = False


def timestamp_us(value: Any) -> int:
    """Microseconds since 1970 of a timestamp as the databases return it.

    SQLite has no timestamps: they are texts, or milliseconds.
    """
    if isinstance(value, int):
        return value * 1000
    if isinstance(value, str):
        value = datetime.datetime.fromisoformat(value)
    if isinstance(value, datetime.datetime):
        aware = value if value.tzinfo else value.replace(tzinfo=datetime.UTC)
        return (aware - _EPOCH) // _MICROSECOND
    if isinstance(value, datetime.date):
        return logical.date_to_days(value) * 86_400_000_000
    raise DataError(f"{value!r} is no timestamp")


def _timestamp(value: Any) -> datetime.datetime:
    return logical.millis_to_timestamp(timestamp_us(value) // 1000)


def _decimal(name: str, scale: int) -> Callable[[Any], Decimal]:
    exponent = Decimal(1).scaleb(-scale)

    def convert(value: Any) -> Decimal:
        number = Decimal(value)
        try:
            fixed = number.quantize(exponent, ROUND_HALF_UP)
        except InvalidOperation:
            fixed = None
        if fixed is None or fixed != number:
            message = f"column {name} has {value}, which has no {scale} digits after the point"
            raise DataError(f"{message}: give the column a scale, or cast it in a query")
        return fixed

    return convert


def _numeric(column: SourceColumn, mapping: str) -> Reading:
    scale = column.scale if column.scale >= 0 else _FREE_SCALE
    if mapping != "none" and column.scale == 0 and 0 < column.precision < 19:
        schema = schemas.INT64 if column.precision > 9 else schemas.INT32
        return Reading(schema, int)
    if mapping.startswith("best_fit") and column.scale != 0:
        return Reading(schemas.FLOAT64, float)
    return Reading(logical.decimal_schema(scale), _decimal(column.name, scale))


_READINGS: Final[Mapping[str, Reading]] = {
    "int2": Reading(schemas.INT16, int),
    "int4": Reading(schemas.INT32, int),
    "int8": Reading(schemas.INT64, int),
    "oid": Reading(schemas.INT64, int),
    "float4": Reading(schemas.FLOAT32, float),
    "float8": Reading(schemas.FLOAT64, float),
    "bool": Reading(schemas.BOOLEAN, bool),
    "bytea": Reading(schemas.BYTES, bytes),
    "date": Reading(logical.DATE, lambda value: value),
    "time": Reading(
        logical.TIME, lambda value: value.replace(microsecond=value.microsecond // 1000 * 1000)
    ),
    "timestamp": Reading(logical.TIMESTAMP, _timestamp),
    "timestamptz": Reading(logical.TIMESTAMP, _timestamp),
    "text": Reading(schemas.STRING, str, is_text=True),
}


def reading(column: SourceColumn, mapping: str) -> Reading:
    """How a column is read; types without one of their own are read as texts."""
    if column.kind == "numeric":
        return _numeric(column, mapping)
    return _READINGS.get(column.kind, _READINGS["text"])


class Progress(NamedTuple):
    """How far a table was read: microseconds of the timestamp, value of the growing column."""

    timestamp_us: int | None = None
    incrementing: int | None = None

    def to_offset(self) -> dict[str, Any]:
        """As Confluent stores it."""
        offset: dict[str, Any] = {}
        if self.incrementing is not None:
            offset["incrementing"] = self.incrementing
        if self.timestamp_us is not None:
            offset["timestamp"] = self.timestamp_us // 1000
            offset["timestamp_nanos"] = self.timestamp_us % 1_000_000 * 1000
        return offset

    @classmethod
    def from_offset(cls, offset: Mapping[str, Any] | None) -> "Progress":
        """
        Raises:
            ConnectError: if a field is not a number.
        """
        given = offset or {}
        for name in ("incrementing", "timestamp", "timestamp_nanos"):
            value = given.get(name)
            if value is not None and (isinstance(value, bool) or not isinstance(value, int)):
                raise ConnectError(f"offset has {name}={value!r}, which must be a number")
        millis, nanos = given.get("timestamp"), given.get("timestamp_nanos")
        micros = None
        if millis is not None:
            micros = millis * 1000
            if nanos is not None:
                micros = millis // 1000 * 1_000_000 + nanos // 1000
        return cls(micros, given.get("incrementing"))


class PolledTable:
    """One table or query."""

    def __init__(
        self,
        settings: SourceSettings,
        dialect: Dialect,
        name: str,
        source: str,
        columns: Sequence[SourceColumn],
    ) -> None:
        """``source`` is what comes after FROM."""
        self._settings = settings
        self._dialect = dialect
        self.name = name
        self._source = source
        self._incrementing = self._growing_column(columns) if settings.has_incrementing else ""
        known = {column.name: column for column in columns}
        wanted = (*settings.timestamps, *([self._incrementing] if self._incrementing else []))
        for column in wanted if settings.mode != "bulk" else ():
            self._check(known, column)
        self._readings = [(column, reading(column, settings.numeric)) for column in columns]
        fields = {
            column.name: read.schema if column.is_not_null else read.schema.optional()
            for column, read in self._readings
        }
        self.schema = struct(name.rpartition(".")[2] or None, fields)
        self._places = {column.name: place for place, column in enumerate(columns)}

    def _growing_column(self, columns: Sequence[SourceColumn]) -> str:
        if self._settings.incrementing:
            return self._settings.incrementing
        found = [column.name for column in columns if column.is_identity]
        if len(found) != 1:
            message = f"{self.name} has {len(found)} columns that grow by themselves"
            raise ConnectError(f"{message}: set incrementing.column.name")
        return found[0]

    def _check(self, known: Mapping[str, SourceColumn], name: str) -> None:
        if name not in known:
            raise ConnectError(f"{self.name} has no column {name}: it has {', '.join(known)}")
        is_alone = name == self._incrementing or len(self._settings.timestamps) == 1
        # As in Confluent's connector, not for a query: no database says it of its columns.
        is_checked = self._settings.requires_not_null and not self._settings.query
        if is_checked and is_alone and not known[name].is_not_null:
            message = f"column {name} of {self.name} may be null, and such rows would be missed"
            raise ConnectError(f"{message}: make it NOT NULL, or set validate.non.null=false")

    def select(self, progress: Progress, end_us: int, limit: int | None) -> tuple[str, list[Any]]:
        """The next rows, and values for the question marks."""
        quote = self._dialect.quote
        picked = [
            f"CAST({quote(column.name)} AS TEXT)" if read.is_text else quote(column.name)
            for column, read in self._readings
        ]
        text = f"SELECT {', '.join(picked)} FROM {self._source}"
        if self._settings.mode == "bulk":
            return f"{text} {self._settings.suffix}".rstrip(), []
        where, order, values = self._bounds(progress, end_us)
        if where:
            text += f" WHERE {where}"
        text += f" ORDER BY {order}"
        if limit is not None:
            text += f" LIMIT {limit}"
        return f"{text} {self._settings.suffix}".rstrip(), values

    def _bounds(self, progress: Progress, end_us: int) -> tuple[str, str, list[Any]]:
        growing = self._dialect.quote(self._incrementing) if self._incrementing else ""
        after = -(2**63) if progress.incrementing is None else progress.incrementing
        if not self._settings.has_timestamp:
            return f"{growing} > ?", growing, [after]
        columns = [
            self._dialect.timestamp(self._dialect.quote(name)) for name in self._settings.timestamps
        ]
        stamp = columns[0] if len(columns) == 1 else f"COALESCE({', '.join(columns)})"
        moment, mark = self._dialect.moment, self._dialect.mark
        begin_us = progress.timestamp_us
        values: list[Any] = [moment(end_us)]
        where = f"{stamp} < {mark}"
        if begin_us is None:
            return where, f"{stamp}, {growing}" if growing else stamp, values
        if not growing:
            return f"{where} AND {stamp} > {mark}", stamp, [*values, moment(begin_us)]
        where += f" AND (({stamp} = {mark} AND {growing} > ?) OR {stamp} > {mark})"
        values += [moment(begin_us), after, moment(begin_us)]
        return where, f"{stamp}, {growing}", values

    def progress(self, row: Sequence[Any]) -> Progress:
        """How far the table is read with this row."""
        if self._settings.mode == "bulk":
            return Progress()
        stamp = next(
            (
                row[self._places[name]]
                for name in self._settings.timestamps
                if row[self._places[name]] is not None
            ),
            None,
        )
        growing = int(row[self._places[self._incrementing]]) if self._incrementing else None
        return Progress(None if stamp is None else timestamp_us(stamp), growing)

    def struct(self, row: Sequence[Any]) -> Struct:
        """A row as a value.

        Raises:
            DataError: naming the column that cannot be read.
        """
        values = []
        for (column, read), value in zip(self._readings, row, strict=True):
            try:
                values.append(None if value is None else read.convert(value))
            except (TypeError, ValueError, AttributeError) as error:
                message = f"column {column.name} of {self.name} has {value!r}: {error}"
                raise DataError(message) from error
        return Struct.of(self.schema, values)

    def whole_timestamps(self, rows: list[Any], limit: int) -> tuple[list[Any], Progress | None]:
        """The rows that can go out when a query was cut at ``limit``.

        Rows of the last timestamp wait, since others may have the same. If there is no earlier
        one, its progress is returned instead: all rows up to it must be read without a limit.
        """
        is_exact = self._incrementing or not self._settings.has_timestamp
        if is_exact or len(rows) < limit:
            return rows, None
        last = self.progress(rows[-1])
        kept = [row for row in rows if self.progress(row) != last]
        return (kept, None) if kept else ([], last)
