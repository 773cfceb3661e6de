"""The default of a schema from the default expression of a column (pure).

Only constants are known: PostgreSQL prints them as ``5``, ``'hi'::text``, ``B'101'::"bit"``. What a
function gives is not known before the row is there, so, as in Debezium, such a column has a zero of
its type.
"""

import re
from collections.abc import Mapping
from decimal import Decimal
from typing import Any, Final

from moldau.connect.connectors.postgres.column_type import ColumnType
from moldau.connect.data.errors import DataError
from moldau.connect.data.schema import Type

# What stands for the result of a function, in the form in which PostgreSQL prints values.
_GENERATED: Final[Mapping[str, str]] = {
    "bit": "00",
    "varbit": "0",
    "bool": "f",
    "numeric": "0.0",
    "uuid": "00000000-0000-0000-0000-000000000000",
    "json": "{}",
    "jsonb": "{}",
    "date": "1970-01-01",
    "time": "00:00:00",
    "timestamp": "1970-01-01 00:00:00",
    "timestamptz": "1970-01-01 00:00:00+00",
    "interval": "00:00:00",
    **dict.fromkeys(("int2", "int4", "int8", "float4", "float8"), "0"),
    **dict.fromkeys(("bpchar", "varchar", "text", "xml"), ""),
}
_FUNCTION: Final = re.compile(r"\(?[A-Za-z0-9_.\"]+\(.*\)")
_CLOCK: Final = re.compile(
    r"(current_timestamp|current_time|current_date|localtime|localtimestamp)(\(\d\))?",
    re.IGNORECASE,
)
_LITERAL: Final = re.compile(r"(?:B|E)?'((?:[^']|'')*)'(?:::.+)?", re.DOTALL)
_NUMBER: Final = re.compile(r"-?[0-9.]+(?:e[+-]?[0-9]+)?", re.IGNORECASE)


def default_value(type_name: str, is_enum: bool, kind: ColumnType, expression: str | None) -> Any:
    """The default of a column of a type with this name; None if it has none or none is known."""
    if expression is None or not (is_enum or type_name in _GENERATED):
        return None
    text = _text(type_name, expression)
    if text is None or kind.schema.type is Type.STRUCT:
        return None
    try:
        value = kind.convert(text)
    except (DataError, ValueError, ArithmeticError):
        return None
    if isinstance(value, Decimal):
        scale = int((kind.schema.parameters or {}).get("scale", "0"))
        if -int(value.as_tuple().exponent) < scale:
            value = value.quantize(Decimal(1).scaleb(-scale))
    return value


def _text(type_name: str, expression: str) -> str | None:
    expression = expression.strip()
    if found := _LITERAL.fullmatch(expression):
        return found[1].replace("''", "'")
    if _FUNCTION.match(expression) or _CLOCK.fullmatch(expression):
        return _GENERATED.get(type_name)
    if expression in ("true", "false"):
        return expression[0]
    return expression if _NUMBER.fullmatch(expression) else None
