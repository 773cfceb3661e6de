"""Schemas and values of dates and times by ``time.precision.mode`` (pure).

* ``adaptive``: milliseconds where the column has at most three digits of a second, else
  microseconds; ``adaptive_time_microseconds`` the same, but for times always microseconds;
* ``microseconds``, ``nanoseconds``: always those;
* ``connect``: the logical types of Kafka, which have milliseconds;
* ``isostring``: texts.
"""

from datetime import UTC, date, datetime, time, timedelta
from functools import partial
from typing import Final

from moldau.connect.connectors.postgres import values
from moldau.connect.connectors.postgres.column_type import ColumnType, TypeModes
from moldau.connect.data import logical
from moldau.connect.data.errors import DataError
from moldau.connect.data.schema import Schema, Type

MODES: Final = (
    "adaptive",
    "adaptive_time_microseconds",
    "connect",
    "isostring",
    "microseconds",
    "nanoseconds",
)
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


def _schema(kind: Type, name: str) -> Schema:
    return Schema(kind, name=f"io.debezium.time.{name}", version=1)


def _digits(modifier: int) -> int:
    """Digits of a second; a column without a number has six."""
    return modifier if 0 <= modifier <= 6 else 6


def date_type(modes: TypeModes, modifier: int) -> ColumnType:
    if modes.time == "connect":
        return ColumnType(logical.DATE, _connect_date, date(1970, 1, 1))
    if modes.time == "isostring":
        return ColumnType(_schema(Type.STRING, "IsoDate"), _iso_date, "1970-01-01Z")
    return ColumnType(_schema(Type.INT32, "Date"), values.date_days, 0)


def time_type(modes: TypeModes, modifier: int) -> ColumnType:
    match modes.time:
        case "connect":
            return ColumnType(logical.TIME, _connect_time, time())
        case "isostring":
            return ColumnType(_schema(Type.STRING, "IsoTime"), _iso_time, "00:00:00Z")
        case "nanoseconds":
            return ColumnType(
                _schema(Type.INT64, "NanoTime"), lambda text: values.time_us(text) * 1000, 0
            )
        case "adaptive" if _digits(modifier) <= 3:
            return ColumnType(
                _schema(Type.INT32, "Time"), lambda text: values.time_us(text) // 1000, 0
            )
    return ColumnType(_schema(Type.INT64, "MicroTime"), values.time_us, 0)


def timestamp_type(modes: TypeModes, modifier: int) -> ColumnType:
    match modes.time:
        case "connect":
            return ColumnType(logical.TIMESTAMP, _connect_timestamp, _EPOCH)
        case "isostring":
            schema = _schema(Type.STRING, "IsoTimestamp")
            return ColumnType(schema, _iso_timestamp, "1970-01-01T00:00:00Z")
        case "nanoseconds":
            schema = _schema(Type.INT64, "NanoTimestamp")
            return ColumnType(schema, lambda text: values.timestamp_us(text) * 1000, 0)
        case "adaptive" | "adaptive_time_microseconds" if _digits(modifier) <= 3:
            schema = _schema(Type.INT64, "Timestamp")
            return ColumnType(schema, lambda text: _millis(values.timestamp_us(text)), 0)
    return ColumnType(_schema(Type.INT64, "MicroTimestamp"), values.timestamp_us, 0)


def zoned_timestamp_type(modes: TypeModes, modifier: int) -> ColumnType:
    digits = _digits(modifier)
    schema = _schema(Type.STRING, "ZonedTimestamp")
    convert = partial(values.zoned_timestamp, digits=digits)
    return ColumnType(schema, convert, "1970-01-01T00:00:00Z")


def zoned_time_type(modes: TypeModes, modifier: int) -> ColumnType:
    return ColumnType(_schema(Type.STRING, "ZonedTime"), values.zoned_time, "00:00:00Z")


def _millis(micros: int) -> int:
    return micros // 1000


def _beyond(text: str) -> DataError:
    message = f"{text!r} is beyond the years 1 to 9999, which time.precision.mode=connect can hold"
    return DataError(f"{message}; set time.precision.mode=adaptive")


def _connect_date(text: str) -> date:
    try:
        return date.fromisoformat(text)
    except ValueError:
        raise _beyond(text) from None


def _connect_time(text: str) -> time:
    micros = values.time_us(text) % values.DAY_US
    return (_EPOCH + timedelta(milliseconds=micros // 1000)).time()


def _connect_timestamp(text: str) -> datetime:
    try:
        return _EPOCH + timedelta(milliseconds=_millis(values.timestamp_us(text)))
    except OverflowError:
        raise _beyond(text) from None


def _iso_date(text: str) -> str:
    return text if text in values.INFINITE_DATES else f"{text}Z"


def _iso_time(text: str) -> str:
    return f"{text}Z"


def _iso_timestamp(text: str) -> str:
    return text if text in values.INFINITE_TIMESTAMPS else f"{text.replace(' ', 'T')}Z"
