"""Numbers, booleans and texts turned into one another as Java's casts and parsers do it.

Integers that do not fit lose their high bits, floats stop at the bounds of int or long first, and
text must be exactly what ``Integer.parseInt`` or ``Double.parseDouble`` reads.
"""

import base64
import datetime
import math
import re
from collections.abc import Callable
from decimal import Decimal
from typing import Any, Final

from moldau.connect.data.errors import DataError
from moldau.connect.data.java_text import to_text
from moldau.connect.data.logical import (
    DATE_NAME,
    MILLIS_PER_DAY,
    TIME_NAME,
    TIMESTAMP_NAME,
    date_to_days,
    time_to_millis,
    timestamp_to_millis,
)
from moldau.connect.data.schema import Schema, Type
from moldau.connect.data.struct import Struct
from moldau.connect.data.values import (
    Float32,
    Int8,
    Int16,
    Int32,
    decimal_to_float32,
    to_float32,
)
from moldau.connect.transforms.date_format import DateFormat
from moldau.connect.transforms.structs import kind_name

__all__ = [
    "OUTPUT_TYPES",
    "cast_value",
    "caster",
    "decimal_of",
    "java_date_ms",
    "low_bits",
    "type_of",
]

OUTPUT_TYPES: Final = (
    Type.INT8,
    Type.INT16,
    Type.INT32,
    Type.INT64,
    Type.FLOAT32,
    Type.FLOAT64,
    Type.BOOLEAN,
    Type.STRING,
)
INPUT_TYPES: Final = (*OUTPUT_TYPES, Type.BYTES)
_BITS: Final = {Type.INT8: 8, Type.INT16: 16, Type.INT32: 32, Type.INT64: 64}
_BOXES: Final[dict[Type, Callable[[Any], Any]]] = {
    Type.INT8: Int8,
    Type.INT16: Int16,
    Type.INT32: Int32,
    Type.FLOAT32: Float32,
}
_INTEGER: Final = re.compile(r"[+-]?\d+")
_FLOAT: Final = re.compile(
    r"[+-]?(?:NaN|Infinity|((?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)[fFdD]?"
    r"|(0[xX](?:[0-9a-fA-F]+\.?[0-9a-fA-F]*|\.[0-9a-fA-F]+)[pP][+-]?[0-9]+)[fFdD]?)"
)
_DECIMAL: Final = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?")
_SPACES: Final = "".join(map(chr, range(33)))  # what String.trim removes
# Kafka picks the pattern by the value, so that a Timestamp at midnight prints as a date.
_TIME_FORMAT: Final = DateFormat("HH:mm:ss.SSS'Z'", 0)
_DATE_FORMAT: Final = DateFormat("yyyy-MM-dd", 0)
_TIMESTAMP_FORMAT: Final = DateFormat("yyyy-MM-dd'T'HH:mm:ss.SSS'Z'", 0)

_CLASSES: Final[dict[type, Type]] = {
    Int8: Type.INT8,
    Int16: Type.INT16,
    Int32: Type.INT32,
    int: Type.INT64,
    Float32: Type.FLOAT32,
    float: Type.FLOAT64,
    bool: Type.BOOLEAN,
    str: Type.STRING,
    bytes: Type.BYTES,
    bytearray: Type.BYTES,
    memoryview: Type.BYTES,
    list: Type.ARRAY,
    dict: Type.MAP,
    Struct: Type.STRUCT,
}


def type_of(value: Any) -> Type | None:
    """The type that the class of a value without schema stands for; None for dates and decimals."""
    found = _CLASSES.get(type(value))
    if found is Type.INT64 and not -(1 << 63) <= value < 1 << 63:
        return None
    if found is None:
        return next((kind for base, kind in _CLASSES.items() if _is_subclass(value, base)), None)
    return found


def _is_subclass(value: Any, base: type) -> bool:
    return base in (str, bytes, list, dict, Struct) and isinstance(value, base)


def cast_value(schema: Schema | None, value: Any, target: Type) -> Any:
    """``value`` as ``target``. Without a schema the result has the class that names its type.

    Raises:
        DataError: the value has a type that cannot be cast, or does not fit.
    """
    if value is None:
        return None
    source = schema.type if schema is not None else type_of(value)
    if source is None:
        kind = kind_name(value)
        raise DataError(f"Cast cannot change a value of {kind}: it is not of Connect's types")
    if source not in INPUT_TYPES:
        raise DataError(
            f"Cast cannot change a value of the type {source}, only of "
            f"{', '.join(map(str, INPUT_TYPES))}"
        )
    if target is Type.STRING:
        return _to_string(value, schema)
    if target not in OUTPUT_TYPES:
        raise DataError(f"Cast cannot make a value of the type {target}")
    if schema is not None and schema.name is not None:
        value = _stored(schema.name, value)
    try:
        result = _cast(value, target, schema)
    except ValueError:
        text = to_text(value, schema)
        message = f"{text!r} cannot be cast to {target}: it does not fit"
        raise DataError(message) from None
    if schema is None and target in _BOXES:
        return _BOXES[target](result)
    return result


def caster(schema: Schema | None, target: Type) -> Callable[[Any], Any]:
    """``cast_value`` for one schema and target, quicker for the classes that are most frequent."""
    if schema is not None and schema.name is not None:
        return lambda value: cast_value(schema, value, target)
    quick = _quick(target)
    box = _BOXES.get(target) if schema is None else None

    def cast(value: Any) -> Any:
        found = quick.get(type(value))
        if found is None:
            return cast_value(schema, value, target)
        try:
            result = found(value)
        except ValueError:
            return cast_value(schema, value, target)
        return result if box is None else box(result)

    return cast


def _quick(target: Type) -> dict[type, Callable[[Any], Any]]:
    """Casts by the class of a value. They raise ValueError for what needs a closer look."""
    if target is Type.STRING:
        return {str: str, int: int.__repr__}
    quick: dict[type, Callable[[Any], Any]] = {str: lambda text: _parse(text, target)}
    if target is Type.FLOAT64:
        quick[str] = _parse_plain_double
    half = 1 << (_BITS.get(target, 64) - 1)

    def fitting(value: int) -> int:
        if -half <= value < half:
            return value
        raise ValueError(value)

    if target in _BITS:
        quick[int] = fitting
    elif target is Type.FLOAT64:
        quick |= {float: float, int: lambda value: float(fitting(value))}
    return quick


def _stored(name: str, value: Any) -> Any:
    """The number that a date, time or timestamp is stored as; other values as they are."""
    if name == DATE_NAME and isinstance(value, datetime.date):
        return date_to_days(value)
    if name == TIME_NAME and isinstance(value, datetime.time):
        return time_to_millis(value)
    if name == TIMESTAMP_NAME and isinstance(value, datetime.datetime):
        return timestamp_to_millis(value)
    return value


def _cast(value: Any, target: Type, schema: Schema | None) -> Any:
    if isinstance(value, bool):
        return value if target is Type.BOOLEAN else int(value) if target in _BITS else float(value)
    if isinstance(value, int | float | Decimal):
        if target in _BITS:
            return _to_integer(value, _BITS[target])
        if target is Type.BOOLEAN:
            return _to_integer(value, 64) != 0
        if target is Type.FLOAT64:
            return _to_double(value)
        return _to_float32(value)
    if isinstance(value, str):
        return _parse(value, target)
    kind = kind_name(value, schema)
    raise DataError(f"Cast cannot make {target} of a value of {kind}")


def low_bits(value: int, bits: int) -> int:
    """What is left of an integer in two's complement of this width."""
    half = 1 << (bits - 1)
    return ((value + half) & ((1 << bits) - 1)) - half


def _to_integer(value: float | Decimal, bits: int) -> int:
    if isinstance(value, float):
        if math.isnan(value):
            return 0
        # Java casts a float to int, or to long for a long, and stops at their bounds.
        half = 1 << (63 if bits == 64 else 31)
        if value >= half:
            return low_bits(half - 1, bits)
        if value < -half:
            return low_bits(-half, bits)
        return low_bits(int(value), bits)
    if isinstance(value, Decimal):
        # A multiple of 10 to the 64th has 64 zero bits at its end.
        exponent = value.as_tuple().exponent
        return 0 if isinstance(exponent, int) and exponent >= 64 else low_bits(int(value), bits)
    return low_bits(value, bits)


def _to_double(value: float | Decimal) -> float:
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def _to_float32(value: float | Decimal) -> float:
    if isinstance(value, Decimal):
        return decimal_to_float32(value)
    if not isinstance(value, int):
        return to_float32(value)
    # A long that a double cannot hold would be rounded twice. Keeping a trace of the bits that are
    # cut off in the last one of the 53 makes the second rounding the right one.
    size = abs(value)
    cut = size.bit_length() - 53
    if cut > 0:
        has_rest = size & ((1 << cut) - 1) != 0
        size = ((size >> cut) | has_rest) << cut
    result = to_float32(float(size))
    return -result if value < 0 else result


def _parse_plain_double(text: str) -> float:
    """``float`` reads a number that ends with a digit as Java does, if nothing in it is special."""
    if text[-1:].isdigit() and text.isascii() and "_" not in text:
        return float(text)
    raise ValueError(text)


def _parse(text: str, target: Type) -> Any:
    """Raises ValueError for a text that is not a number in range."""
    if target is Type.BOOLEAN:
        return text.lower() == "true"
    if target in _BITS:
        half = 1 << (_BITS[target] - 1)
        if not _INTEGER.fullmatch(text) or not -half <= int(text) < half:
            raise ValueError(text)
        return int(text)
    trimmed = text.strip(_SPACES)
    found = _FLOAT.fullmatch(trimmed)
    if found is None:
        raise ValueError(text)
    sign = -1.0 if trimmed.startswith("-") else 1.0
    if found[1]:
        size = float(found[1])
        return sign * (decimal_to_float32(Decimal(found[1])) if target is Type.FLOAT32 else size)
    if found[2]:
        try:
            size = float.fromhex(found[2])
        except OverflowError:
            size = math.inf
    else:
        size = math.nan if trimmed.endswith("NaN") else math.inf
    return sign * (to_float32(size) if target is Type.FLOAT32 else size)


def _to_string(value: Any, schema: Schema | None) -> str:
    if isinstance(value, datetime.date | datetime.time):
        milliseconds = java_date_ms(value)
        if milliseconds < MILLIS_PER_DAY:
            return _TIME_FORMAT.format(milliseconds)
        is_date = milliseconds % MILLIS_PER_DAY == 0
        return (_DATE_FORMAT if is_date else _TIMESTAMP_FORMAT).format(milliseconds)
    if isinstance(value, bytes | bytearray | memoryview):
        return base64.b64encode(value).decode()
    return to_text(value, schema)


def java_date_ms(value: datetime.date | datetime.time) -> int:
    """The milliseconds of the java.util.Date that a date, time or timestamp stands for."""
    if isinstance(value, datetime.datetime):
        return timestamp_to_millis(value)
    if isinstance(value, datetime.time):
        return time_to_millis(value)
    return date_to_days(value) * MILLIS_PER_DAY


def decimal_of(text: str) -> Decimal:
    """The number that ``new BigDecimal(text)`` reads. Raises ValueError for other texts."""
    if not _DECIMAL.fullmatch(text):
        raise ValueError(text)
    return Decimal(text)
