"""Logical types: Decimal, Date, Time and Timestamp, which give a name to a number or bytes.

A value is a ``Decimal``, ``date``, ``time`` or aware ``datetime``; the functions convert it to and
from what is stored, which is unscaled bytes, days, milliseconds of a day, and milliseconds since
1970 in UTC.
"""

import datetime
import decimal
from decimal import Decimal

from moldau.connect.data.errors import DataError
from moldau.connect.data.schema import Schema, Type

DECIMAL_NAME = "org.apache.kafka.connect.data.Decimal"
DATE_NAME = "org.apache.kafka.connect.data.Date"
TIME_NAME = "org.apache.kafka.connect.data.Time"
TIMESTAMP_NAME = "org.apache.kafka.connect.data.Timestamp"
LOGICAL_NAMES = frozenset((DECIMAL_NAME, DATE_NAME, TIME_NAME, TIMESTAMP_NAME))
SCALE = "scale"

DATE = Schema(Type.INT32, name=DATE_NAME, version=1)
TIME = Schema(Type.INT32, name=TIME_NAME, version=1)
TIMESTAMP = Schema(Type.INT64, name=TIMESTAMP_NAME, version=1)
OPTIONAL_DATE = DATE.optional()
OPTIONAL_TIME = TIME.optional()
OPTIONAL_TIMESTAMP = TIMESTAMP.optional()

MILLIS_PER_DAY = 86_400_000
EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)
_EPOCH_DAY = datetime.date(1970, 1, 1)
_EPOCH_ORDINAL = _EPOCH_DAY.toordinal()
_MILLISECOND = datetime.timedelta(milliseconds=1)
# Numbers are only moved by powers of ten here; with the widest context no digit is ever rounded
# away.
_EXACT = decimal.Context(prec=decimal.MAX_PREC, Emax=decimal.MAX_EMAX, Emin=decimal.MIN_EMIN)


def decimal_schema(scale: int, *, is_optional: bool = False) -> Schema:
    """The schema of decimals with ``scale`` digits after the point."""
    return Schema(
        Type.BYTES, is_optional, name=DECIMAL_NAME, version=1, parameters={SCALE: str(scale)}
    )


def scale_of(schema: Schema) -> int:
    """The scale of a decimal's schema, which a DataError says is missing or not a number."""
    text = (schema.parameters or {}).get(SCALE)
    if text is None:
        raise DataError("The schema of a Decimal needs the parameter scale")
    try:
        return int(text)
    except ValueError:
        raise DataError(f"scale of a Decimal must be a number, not {text!r}") from None


def unscaled(value: Decimal) -> int:
    """The digits of a decimal as one integer: 1250 of 12.50."""
    return int(value.scaleb(java_scale(value), _EXACT))


def java_scale(value: Decimal) -> int:
    """The number of digits after the point as Java counts it; negative for 1E+3."""
    exponent = value.as_tuple().exponent
    if not isinstance(exponent, int):
        raise DataError(
            f"{value} is not a decimal number: Java's BigDecimal has no NaN and no infinity"
        )
    return -exponent


def from_unscaled(digits: int, scale: int) -> Decimal:
    """The decimal of these digits: 12.50 of 1250 with a scale of 2."""
    return Decimal(digits).scaleb(-scale, _EXACT)


def int_to_bytes(value: int) -> bytes:
    """Two's complement in as few bytes as possible, as Java's ``BigInteger.toByteArray``."""
    length = (value if value >= 0 else ~value).bit_length() // 8 + 1
    return value.to_bytes(length, "big", signed=True)


def decimal_to_bytes(schema: Schema, value: Decimal) -> bytes:
    scale, found = scale_of(schema), java_scale(value)
    if scale != found:
        raise DataError(f"{value} has the scale {found}, but its schema has {scale}: round it")
    return int_to_bytes(unscaled(value))


def bytes_to_decimal(schema: Schema, data: bytes) -> Decimal:
    if not data:
        raise DataError("A Decimal has at least one byte")
    return from_unscaled(int.from_bytes(data, "big", signed=True), scale_of(schema))


def date_to_days(value: datetime.date) -> int:
    return value.toordinal() - _EPOCH_ORDINAL


def days_to_date(days: int) -> datetime.date:
    try:
        return datetime.date.fromordinal(days + _EPOCH_ORDINAL)
    except (ValueError, OverflowError):
        raise DataError(f"{days} days since 1970 is outside the years 1 to 9999") from None


def time_to_millis(value: datetime.time) -> int:
    seconds = (value.hour * 60 + value.minute) * 60 + value.second
    return seconds * 1000 + value.microsecond // 1000


def millis_to_time(millis: int) -> datetime.time:
    if not 0 <= millis < MILLIS_PER_DAY:
        raise DataError(f"A Time is 0 to {MILLIS_PER_DAY - 1} milliseconds of a day, not {millis}")
    seconds, millis = divmod(millis, 1000)
    minutes, seconds = divmod(seconds, 60)
    return datetime.time(minutes // 60, minutes % 60, seconds, millis * 1000)


def timestamp_to_millis(value: datetime.datetime) -> int:
    if value.tzinfo is None:
        raise DataError(
            f"timestamp {value} has no time zone: use an aware datetime, such as in datetime.UTC"
        )
    return (value - EPOCH) // _MILLISECOND


def millis_to_timestamp(millis: int) -> datetime.datetime:
    try:
        return EPOCH + datetime.timedelta(milliseconds=millis)
    except OverflowError:
        raise DataError(
            f"{millis} milliseconds since 1970 is outside the years 1 to 9999"
        ) from None
