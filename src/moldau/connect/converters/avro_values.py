"""Values of Connect as those that fastavro writes, and the reverse.

For each pair of schemas a function is put together once. Where nothing has to be converted there is
none (None): most fields of most records pass as they are.
"""

from collections.abc import Callable, Mapping
from operator import itemgetter
from typing import Any

from moldau.connect.converters.avro_wire import BRANCH_FIELD, branch_index, is_branch
from moldau.connect.data.errors import DataError
from moldau.connect.data.inference import type_of
from moldau.connect.data.logical import (
    DATE_NAME,
    DECIMAL_NAME,
    TIME_NAME,
    TIMESTAMP_NAME,
    bytes_to_decimal,
    date_to_days,
    days_to_date,
    decimal_to_bytes,
    millis_to_time,
    millis_to_timestamp,
    time_to_millis,
    timestamp_to_millis,
)
from moldau.connect.data.schema import Field, Schema, Type
from moldau.connect.data.struct import Struct
from moldau.connect.data.values import Float32, Int32, type_name

Conversion = Callable[[Any], Any]
# The schemas that fastavro knows by name, after parsing.
Named = Mapping[str, Any]

_TO_NUMBER: dict[str | None, Conversion] = {
    DATE_NAME: date_to_days,
    TIME_NAME: time_to_millis,
    TIMESTAMP_NAME: timestamp_to_millis,
}
_FROM_NUMBER: dict[str | None, Conversion] = {
    DATE_NAME: days_to_date,
    TIME_NAME: millis_to_time,
    TIMESTAMP_NAME: millis_to_timestamp,
}


def _resolved(avro: Any, named: Named) -> Any:
    return named.get(avro, avro) if isinstance(avro, str) else avro


def _without_null(avro: Any, named: Named) -> Any:
    """The other branch of a union with null."""
    avro = _resolved(avro, named)
    if isinstance(avro, list) and len(avro) == 2 and "null" in avro:
        avro = _resolved(avro[1 if avro[0] == "null" else 0], named)
    return avro


def writer(schema: Schema | None, avro: Any, named: Named) -> Conversion | None:
    """The conversion to what fastavro writes with ``avro``; None if there is nothing to do."""
    if schema is None:
        return _to_anything
    convert = _writer(schema, _without_null(avro, named), named)
    if not schema.is_optional:
        return _required(convert)
    if convert is None:
        return None
    return lambda value: None if value is None else convert(value)


def _required(convert: Conversion | None) -> Conversion:
    def write(value: Any) -> Any:
        if value is None:
            raise DataError("null cannot be written: its schema is required")
        return value if convert is None else convert(value)

    return write


def _writer(schema: Schema, avro: Any, named: Named) -> Conversion | None:
    if schema.name == DECIMAL_NAME:
        return lambda value: decimal_to_bytes(schema, value)
    if schema.name in _TO_NUMBER:
        return _TO_NUMBER[schema.name]
    match schema.type:
        case Type.STRUCT if isinstance(avro, list):
            return _union_writer(schema, avro, named)
        case Type.STRUCT:
            return _struct_writer(schema, avro, named)
        case Type.ARRAY:
            element = writer(schema.value_schema, avro["items"], named)
            return None if element is None else lambda value: [element(each) for each in value]
        case Type.MAP if avro["type"] == "map":
            inner = writer(schema.value_schema, avro["values"], named)
            if inner is None:
                return None
            return lambda value: {key: inner(each) for key, each in value.items()}
        case Type.MAP:
            return _entries_writer(schema, avro, named)
    return None


def _struct_writer(schema: Schema, avro: Any, named: Named) -> Conversion:
    types = {field["name"]: field["type"] for field in avro["fields"]}
    parts: list[tuple[str, int, Conversion | None]] = []
    for field in schema.struct_fields:
        # A field that the registered schema does not have is left out.
        if field.name in types:
            convert = writer(field.schema, types[field.name], named)
            if field.schema.default is not None:
                convert = _with_default(convert, field.schema.default)
            parts.append((field.name, field.index, convert))

    def write(value: Any) -> dict[str, Any]:
        if not isinstance(value, Struct):
            raise DataError(f"STRUCT cannot be written from a value of {type_name(value)}")
        if value.schema is not schema and value.schema != schema:
            raise DataError(f"The struct has another schema: {value.schema}, not {schema}")
        values = value.values
        return {
            name: values[index] if convert is None else convert(values[index])
            for name, index, convert in parts
        }

    return write


def _with_default(convert: Conversion | None, default: Any) -> Conversion:
    """Only a field of a struct is left to its default; a null in a list or a map stays one."""
    convert = convert or _same
    return lambda value: convert(default if value is None else value)


def _union_writer(schema: Schema, avro: list[Any], named: Named) -> Conversion:
    branches = [each for each in (_resolved(branch, named) for branch in avro) if is_branch(each)]
    parts = []
    for field, branch in zip(schema.struct_fields, branches, strict=True):
        inner = field.schema.replace(is_optional=False)
        convert = writer(inner, branch["fields"][0]["type"], named)
        parts.append((field, branch["name"], convert))

    def write(value: Struct) -> Any:
        for field, name, convert in parts:
            inner = value.values[field.index]
            if inner is not None:
                return name, {BRANCH_FIELD: inner if convert is None else convert(inner)}
        raise DataError("no field of a union is set: one of them must have a value")

    return write


def _entries_writer(schema: Schema, avro: Any, named: Named) -> Conversion:
    entry = _resolved(avro["items"], named)
    types = {field["name"]: field["type"] for field in entry["fields"]}
    key = writer(schema.key_schema, types["key"], named) or _same
    inner = writer(schema.value_schema, types["value"], named) or _same
    return lambda value: [{"key": key(k), "value": inner(v)} for k, v in value.items()]


def _same(value: Any) -> Any:
    return value


def reader(schema: Schema | None, avro: Any, named: Named) -> Conversion | None:
    """The conversion of what fastavro reads with ``avro``; None if there is nothing to do."""
    if schema is None:
        return _from_anything
    convert = _reader(schema, _without_null(avro, named), named)
    if convert is None or not schema.is_optional:
        return convert
    return lambda value: None if value is None else convert(value)


def _reader(schema: Schema, avro: Any, named: Named) -> Conversion | None:
    if schema.name == DECIMAL_NAME:
        return lambda value: bytes_to_decimal(schema, value)
    if schema.name in _FROM_NUMBER:
        return _FROM_NUMBER[schema.name]
    match schema.type:
        case Type.STRUCT if isinstance(avro, list):
            return _union_reader(schema, avro, named)
        case Type.STRUCT:
            return _struct_reader(schema, avro, named)
        case Type.ARRAY:
            element = reader(schema.value_schema, avro["items"], named)
            return None if element is None else lambda value: [element(each) for each in value]
        case Type.MAP if avro["type"] == "map":
            inner = reader(schema.value_schema, avro["values"], named)
            if inner is None:
                return None
            return lambda value: {key: inner(each) for key, each in value.items()}
        case Type.MAP:
            return _entries_reader(schema, avro, named)
    return None


def _struct_reader(schema: Schema, avro: Any, named: Named) -> Conversion:
    types = {field["name"]: field["type"] for field in avro["fields"]}
    fields = schema.struct_fields
    conversions = [(f.index, reader(f.schema, types[f.name], named)) for f in fields]
    changed = [(index, convert) for index, convert in conversions if convert is not None]
    if len(fields) > 1:
        pick: Conversion = itemgetter(*(field.name for field in fields))
    else:
        pick = _picker(fields)

    def read(value: Any) -> Struct:
        made = Struct.of(schema, pick(value))
        values = made.values
        for index, convert in changed:
            values[index] = convert(values[index])
        return made

    return read


def _picker(fields: tuple[Field, ...]) -> Conversion:
    """``itemgetter`` of one name gives no tuple, and of none there is no such function."""
    name = fields[0].name if fields else None
    return (lambda value: ()) if name is None else (lambda value: (value[name],))


def _union_reader(schema: Schema, avro: list[Any], named: Named) -> Conversion:
    fields = iter(schema.struct_fields)
    parts: dict[int, tuple[Field, Conversion | None]] = {}
    for branch in (_resolved(branch, named) for branch in avro):
        if is_branch(branch):
            field = next(fields)
            convert = reader(field.schema, branch["fields"][0]["type"], named)
            parts[branch_index(branch["name"])] = field, convert

    def read(value: Any) -> Struct:
        # A union with one branch has one record, whose name fastavro does not give.
        name, inner = value if isinstance(value, tuple) else (None, value)
        at = next(iter(parts)) if name is None else branch_index(name)
        field, convert = parts[at]
        made = Struct(schema)
        value = inner[BRANCH_FIELD]
        made.values[field.index] = value if convert is None else convert(value)
        return made

    return read


def _entries_reader(schema: Schema, avro: Any, named: Named) -> Conversion:
    entry = _resolved(avro["items"], named)
    types = {field["name"]: field["type"] for field in entry["fields"]}
    key = reader(schema.key_schema, types["key"], named) or _same
    inner = reader(schema.value_schema, types["value"], named) or _same
    return lambda value: {key(each["key"]): inner(each["value"]) for each in value}


_ANYTHING_FIELDS = {
    Type.BOOLEAN: "boolean",
    Type.BYTES: "bytes",
    Type.FLOAT64: "double",
    Type.FLOAT32: "float",
    Type.INT8: "int",
    Type.INT16: "int",
    Type.INT32: "int",
    Type.INT64: "long",
    Type.STRING: "string",
    Type.ARRAY: "array",
    Type.MAP: "map",
}


def _to_anything(value: Any) -> dict[str, Any]:
    """A value without a schema as a record of which one field is set, or none for null."""
    if value is None:
        return {}
    kind = type_of(value)
    name = _ANYTHING_FIELDS.get(kind) if kind is not None else None
    if name is None:
        raise DataError(f"A value of {type_name(value)} cannot be written without a schema")
    if name == "array":
        return {name: [_to_anything(each) for each in value]}
    if name == "map":
        pairs = value.items()
        return {name: [{"key": _to_anything(k), "value": _to_anything(v)} for k, v in pairs]}
    return {name: value}


def _from_anything(value: Any) -> Any:
    for name, inner in value.items():
        if inner is None:
            continue
        match name:
            case "int":
                return Int32(inner)
            case "float":
                return Float32(inner)
            case "array":
                return [_from_anything(each) for each in inner]
            case "map":
                return {_from_anything(e["key"]): _from_anything(e["value"]) for e in inner}
        return inner
    return None
