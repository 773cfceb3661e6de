"""One schema for the elements of a list or a map whose own schemas differ, and values made to suit
it.
"""

import datetime
from decimal import Decimal
from typing import Any

from moldau.connect.data.errors import DataError
from moldau.connect.data.logical import (
    DATE_NAME,
    TIME_NAME,
    TIMESTAMP_NAME,
    days_to_date,
    millis_to_time,
    millis_to_timestamp,
)
from moldau.connect.data.schema import Schema, Type
from moldau.connect.data.values import Float32, Int8, Int16, Int32, to_float32, type_name

_WIDTHS = (Type.INT8, Type.INT16, Type.INT32, Type.INT64, Type.FLOAT32, Type.FLOAT64)


class SchemaMerger:
    """The schema that all merged ones can be widened to; ``common`` is None without one."""

    def __init__(self) -> None:
        self.common: Schema | None = None
        self._is_compatible = True

    def merge(self, schema: Schema | None) -> None:
        if schema is None or not self._is_compatible:
            return
        self.common = schema if self.common is None else _merged(self.common, schema)
        self._is_compatible = self.common is not None


def _merged(previous: Schema, latest: Schema) -> Schema | None:
    """The wider of two numbers; of two schemas of one type the latest, as in Kafka."""
    if previous.type is latest.type:
        return latest
    if previous.type not in _WIDTHS or latest.type not in _WIDTHS:
        return None
    is_wider = _WIDTHS.index(latest.type) > _WIDTHS.index(previous.type)
    return latest if is_wider else previous


def align(schema: Schema, value: Any) -> Any:
    """``value`` as one of ``schema``, to which its own schema was merged.

    Raises:
        DataError: if it is null, or a date where a number is wanted.
    """
    if value is None:
        raise DataError(f"null is not a value of {schema}")
    kind = schema.type
    if kind not in _WIDTHS:
        return value
    is_temporal = isinstance(value, datetime.date | datetime.time)
    if schema.name in _TEMPORAL:
        return value if is_temporal else _TEMPORAL[schema.name](int(value))
    if is_temporal or isinstance(value, Decimal):
        raise DataError(f"{value} is a {type_name(value)}, not a number")
    match kind:
        case Type.INT8:
            return Int8(value)
        case Type.INT16:
            return Int16(value)
        case Type.INT32:
            return Int32(value)
        case Type.INT64:
            return int(value)
        case Type.FLOAT32:
            return Float32(to_float32(value))
        case _:
            return float(value)


_TEMPORAL: dict[str | None, Any] = {
    DATE_NAME: days_to_date,
    TIME_NAME: millis_to_time,
    TIMESTAMP_NAME: millis_to_timestamp,
}
