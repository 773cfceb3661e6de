"""Which Connect schema a column of PostgreSQL has, and how its texts become values (pure).

The choices are those of Debezium 3.4's PostgreSQL connector, by the same options. A type that
Debezium leaves out (composite types, lines, ...) is left out here: ``column_type`` gives None.
"""

import base64
import json
import struct
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from decimal import Decimal, localcontext
from typing import Any, Final

from moldau.connect.connectors.postgres import times, values
from moldau.connect.connectors.postgres.column_type import ColumnType, Convert, TypeModes
from moldau.connect.data import schema as schemas
from moldau.connect.data.errors import DataError
from moldau.connect.data.logical import decimal_schema, int_to_bytes, java_scale, unscaled
from moldau.connect.data.schema import Schema, Type, array, map_of
from moldau.connect.data.schema import struct as struct_schema
from moldau.connect.data.struct import Struct
from moldau.connect.data.values import to_float32


@dataclass(frozen=True)
class TypeFacts:
    """A type of the catalog. ``kind``: b(ase), c(omposite), d(omain), e(num), r(ange), ..."""

    oid: int
    name: str
    kind: str = "b"
    element_oid: int = 0
    base_oid: int = 0
    base_modifier: int = -1
    labels: tuple[str, ...] = ()


@dataclass(frozen=True)
class Types:
    """The types of a database by oid, and the modes of a connector."""

    facts: Mapping[int, TypeFacts]
    modes: TypeModes = field(default_factory=TypeModes)

    def column_type(self, oid: int, modifier: int) -> ColumnType | None:
        """How to read a column of the type ``oid``; None if it is not captured."""
        facts = self.facts.get(oid)
        if facts is None:
            return None
        seen = 0
        while facts.kind == "d" and seen < 32:
            modifier = facts.base_modifier if facts.base_modifier >= 0 else modifier
            base = self.facts.get(facts.base_oid)
            if base is None:
                return None
            facts, seen = base, seen + 1
        if facts.element_oid:
            return self._array(facts, modifier)
        if facts.kind == "e":
            return _text(debezium_enum(facts.labels), self.modes.placeholder)
        make = _BY_NAME.get(facts.name)
        if make is not None:
            return make(self.modes, modifier)
        if self.modes.includes_unknown:
            return binary(self.modes, str.encode)
        return None

    def _array(self, facts: TypeFacts, modifier: int) -> ColumnType | None:
        element_facts = self.facts.get(facts.element_oid)
        if element_facts is None or element_facts.name in _NOT_IN_ARRAYS:
            return None
        # An array of a domain is a type that Debezium does not resolve.
        is_unknown = element_facts.kind not in "be" or element_facts.name not in _IN_ARRAYS
        element = None
        if not is_unknown or element_facts.kind == "e":
            element = self.column_type(facts.element_oid, modifier)
        elif self.modes.includes_unknown:
            element = binary(self.modes, str.encode)
        if element is None:
            return None
        is_enum = element_facts.kind == "e"
        inner = element.schema if is_enum else element.schema.optional()
        convert = element.with_schema(inner).convert

        def convert_array(text: str) -> list[Any]:
            # Debezium has no inner arrays: their places are null.
            return [convert(part) if isinstance(part, str) else None for part in values.array(text)]

        placeholder = _array_placeholder(self.modes.placeholder, element)
        return ColumnType(array(inner), convert_array, [], placeholder)


def _array_placeholder(text: str, element: ColumnType) -> list[Any] | None:
    if element.schema.type in (Type.INT32, Type.INT64) and element.schema.name is None:
        return list(text.encode())
    return None if element.placeholder is None else [element.placeholder]


def debezium_enum(allowed: tuple[str, ...]) -> Schema:
    """The schema of one of some texts."""
    parameters = {"allowed": ",".join(allowed)}
    return Schema(Type.STRING, name="io.debezium.data.Enum", version=1, parameters=parameters)


def _named(kind: Type, name: str) -> Schema:
    return Schema(kind, name=f"io.debezium.{name}", version=1)


def _plain(schema: Schema, convert: Convert, fallback: Any) -> Callable[..., ColumnType]:
    made = ColumnType(schema, convert, fallback)
    return lambda modes, modifier: made


def _text(schema: Schema, placeholder: str | None, fallback: str = "") -> ColumnType:
    return ColumnType(schema, str, fallback, placeholder)


def _string(schema: Schema, fallback: str = "") -> Callable[..., ColumnType]:
    return lambda modes, modifier: _text(schema, modes.placeholder, fallback)


def _bytes(modes: TypeModes, modifier: int) -> ColumnType:
    return binary(modes, values.bytea)


_BINARY_TEXTS: Final[dict[str, Callable[[bytes], str]]] = {
    "base64": lambda data: base64.b64encode(data).decode(),
    "base64-url-safe": lambda data: base64.urlsafe_b64encode(data).decode(),
    "hex": lambda data: data.hex(),
}


def binary(modes: TypeModes, read: Callable[[Any], bytes]) -> ColumnType:
    """Bytes by ``binary.handling.mode``; ``read`` makes them of what a column has."""
    place = modes.placeholder
    if modes.binary == "bytes":
        return ColumnType(schemas.BYTES, read, b"", place.encode())
    encode = _BINARY_TEXTS[modes.binary]
    return ColumnType(schemas.STRING, lambda text: encode(read(text)), "", place)


def _numeric(modes: TypeModes, modifier: int) -> ColumnType:
    if modes.decimal == "double":
        return ColumnType(schemas.FLOAT64, float, 0.0)
    if modifier < 4:
        if modes.decimal == "string":
            return ColumnType(schemas.STRING, str, "0", modes.placeholder)
        return ColumnType(VARIABLE_SCALE, _variable_scale, _variable_scale("0"))
    precision, scale = (modifier - 4) >> 16 & 0xFFFF, (modifier - 4) & 0x7FF
    # A scale is 11 bits with a sign since PostgreSQL 15.
    scale = (scale ^ 1024) - 1024
    zero = Decimal(0).quantize(Decimal(1).scaleb(-scale))
    if modes.decimal == "string":
        return ColumnType(schemas.STRING, str, format(zero, "f"), modes.placeholder)
    parameters = {"scale": str(scale), "connect.decimal.precision": str(precision)}
    schema = decimal_schema(scale).replace(parameters=parameters)
    return ColumnType(schema, _finite, zero)


VARIABLE_SCALE: Final = struct_schema(
    "io.debezium.data.VariableScaleDecimal",
    {"scale": schemas.INT32, "value": schemas.BYTES},
    version=1,
    doc="Variable scaled decimal",
)


def _finite(text: str) -> Decimal | None:
    """The number; None for NaN and infinity, which Decimal's schema cannot say."""
    return Decimal(text) if text[-1].isdigit() else None


def _variable_scale(text: str) -> Struct | None:
    number = _finite(text)
    if number is None:
        return None
    if java_scale(number) > 0:
        with localcontext(prec=max(len(text), 1)):
            number = number.normalize()
        if java_scale(number) < 0:
            number = Decimal(int(number))
    return Struct.of(VARIABLE_SCALE, [java_scale(number), int_to_bytes(unscaled(number))])


def _money(modes: TypeModes, modifier: int) -> ColumnType:
    if modes.decimal == "double":
        return ColumnType(schemas.FLOAT64, lambda text: float(values.money(text, 2)), 0.0)
    digits = modes.money_digits
    if modes.decimal == "string":
        return ColumnType(schemas.STRING, lambda text: f"{values.money(text, digits):f}", "0")
    zero = Decimal(0).quantize(Decimal(1).scaleb(-digits))
    return ColumnType(decimal_schema(digits), lambda text: values.money(text, digits), zero)


def _interval(modes: TypeModes, modifier: int) -> ColumnType:
    if modes.interval == "string":
        schema = _named(Type.STRING, "time.Interval")
        return ColumnType(schema, lambda text: values.interval(text).iso, "P0Y0M0DT0H0M0S")
    schema = _named(Type.INT64, "time.MicroDuration")
    return ColumnType(schema, lambda text: values.interval(text).micros, 0)


def _bits(modes: TypeModes, modifier: int) -> ColumnType:
    # varbit without a length has the largest one.
    length = modifier if modifier >= 0 else 2**31 - 1
    if length == 1:
        return ColumnType(schemas.BOOLEAN, lambda text: text == "1", False)
    schema = Schema(
        Type.BYTES, name="io.debezium.data.Bits", version=1, parameters={"length": str(length)}
    )
    return ColumnType(schema, values.bits, b"")


def _hstore(modes: TypeModes, modifier: int) -> ColumnType:
    place = modes.placeholder
    if modes.hstore == "map":
        schema = map_of(schemas.STRING, schemas.OPTIONAL_STRING)
        return ColumnType(schema, values.hstore, {}, {place: place})
    schema = _named(Type.STRING, "data.Json")
    return ColumnType(schema, _hstore_json, "{}", place)


def _hstore_json(text: str) -> str:
    return json.dumps(values.hstore(text), separators=(",", ":"), ensure_ascii=False)


POINT: Final = struct_schema(
    "io.debezium.data.geometry.Point",
    {
        "x": schemas.FLOAT64,
        "y": schemas.FLOAT64,
        "wkb": schemas.OPTIONAL_BYTES,
        "srid": schemas.OPTIONAL_INT32,
    },
    version=1,
    doc="Geometry (POINT)",
)


def _point(text: str) -> Struct:
    x, y = values.point(text)
    # Well-known binary: little-endian, a point.
    return Struct.of(POINT, [x, y, struct.pack("<BIdd", 1, 1, x, y), None])


def _boolean(text: str) -> bool:
    if text not in ("t", "f"):
        raise DataError(f"{text!r} is not a boolean as PostgreSQL prints it: t or f")
    return text == "t"


_NOT_IN_ARRAYS: Final = frozenset(
    ("money", "name", "interval", "bit", "varbit", "xml", "point", "refcursor")
)
_JSON: Final = _named(Type.STRING, "data.Json")
_BY_NAME: Final[dict[str, Callable[[TypeModes, int], ColumnType]]] = {
    "int2": _plain(schemas.INT16, int, 0),
    "int4": _plain(schemas.INT32, int, 0),
    "int8": _plain(schemas.INT64, int, 0),
    "oid": _plain(schemas.INT64, int, 0),
    "float4": _plain(schemas.FLOAT32, lambda text: to_float32(float(text)), 0.0),
    "float8": _plain(schemas.FLOAT64, float, 0.0),
    "bool": _plain(schemas.BOOLEAN, _boolean, False),
    "numeric": _numeric,
    "money": _money,
    "bytea": _bytes,
    "bit": _bits,
    "varbit": _bits,
    "interval": _interval,
    "date": times.date_type,
    "time": times.time_type,
    "timestamp": times.timestamp_type,
    "timestamptz": times.zoned_timestamp_type,
    "timetz": times.zoned_time_type,
    "hstore": _hstore,
    "point": _plain(POINT, _point, _point("(0,0)")),
    "json": _string(_JSON, "{}"),
    "jsonb": _string(_JSON, "{}"),
    "xml": _string(_named(Type.STRING, "data.Xml")),
    "uuid": _string(_named(Type.STRING, "data.Uuid")),
    "ltree": _string(_named(Type.STRING, "data.Ltree")),
    "tsvector": _string(_named(Type.STRING, "data.Tsvector")),
    **dict.fromkeys(
        (
            *("text", "varchar", "bpchar", "char", "name", "citext", "isbn"),
            *("inet", "cidr", "macaddr", "macaddr8", "int4range", "int8range", "numrange"),
            *("tsrange", "tstzrange", "daterange"),
        ),
        _string(schemas.STRING),
    ),
}
_IN_ARRAYS: Final = frozenset(_BY_NAME) - _NOT_IN_ARRAYS
