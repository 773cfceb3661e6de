"""Values of records in Python, and the Java classes that they stand for.

With a schema, the schema says what a number is, and any ``int`` or ``float`` of the right range
serves. Without a schema only Java's class tells a Byte from a Long or a Float from a Double, and
Kafka's output depends on it. These thin subclasses keep the distinction: a plain ``int`` is Java's
Long and a plain ``float`` its Double.

=====================  ==================================
Python                 Java
=====================  ==================================
``Int8 Int16 Int32``   Byte, Short, Integer
``int``                Long (BigInteger beyond 64 bits)
``Float32``            Float
``float``              Double
``bool str bytes``     Boolean, String, byte[]
``list dict``          List, Map
``Struct``             Struct
``decimal.Decimal``    BigDecimal
``date``               Date, used with the Date schema
``time``               Date, used with the Time schema
``datetime``           Date, used with the Timestamp schema; aware and in milliseconds
=====================  ==================================
"""

import datetime
import math
import struct
from decimal import Decimal
from typing import Any

INT64_MIN = -(2**63)
INT64_MAX = 2**63 - 1


class Int8(int):
    """A Byte of Java."""

    __slots__ = ()


class Int16(int):
    """A Short of Java."""

    __slots__ = ()


class Int32(int):
    """An Integer of Java."""

    __slots__ = ()


class Float32(float):
    """A Float of Java. The value must already be one that 32 bits can hold: see ``to_float32``."""

    __slots__ = ()


_FLOAT32 = struct.Struct(">f")


def to_float32(value: float) -> float:
    """The nearest number that a Float of Java can hold, as Java's ``(float)`` cast gives it."""
    try:
        result: float = _FLOAT32.unpack(_FLOAT32.pack(value))[0]
    except OverflowError:
        return float("inf") if value > 0 else float("-inf")
    return result


def decimal_to_float32(value: Decimal) -> float:
    """The number that a Float of Java can hold nearest to a decimal, rounded once."""
    try:
        double = float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf
    rounded = to_float32(double)
    # Where the double lies just between two floats, the digits behind it decide.
    is_tie = struct.unpack(">Q", struct.pack(">d", double))[0] & 0x1FFFFFFF == 0x10000000
    if not is_tie or not math.isfinite(rounded) or Decimal(double) == value:
        return rounded
    side = math.inf if value > Decimal(double) else -math.inf
    return to_float32(math.nextafter(double, side))


_TYPE_NAMES: dict[type, str] = {
    Int8: "INT8",
    Int16: "INT16",
    Int32: "INT32",
    Float32: "FLOAT32",
    float: "FLOAT64",
    bool: "BOOLEAN",
    str: "STRING",
    bytes: "BYTES",
    bytearray: "BYTES",
    memoryview: "BYTES",
    list: "ARRAY",
    dict: "MAP",
    Decimal: "Decimal",
    datetime.date: "Date",
    datetime.time: "Time",
    datetime.datetime: "Timestamp",
}


def type_name(value: Any) -> str:
    """The type of ``value`` for messages: Connect's, or the Python class of what is none of it."""
    kind = type(value)
    if value is None:
        return "null"
    if kind is int:
        return "INT64" if INT64_MIN <= value <= INT64_MAX else "an integer of over 64 bits"
    if kind.__name__ == "Struct":
        return "STRUCT"
    return _TYPE_NAMES.get(kind) or f"{kind.__module__}.{kind.__qualname__}"
