"""Connect's schemas as Avro's, with the properties that lead back to them.

The result is JSON as Apache Avro prints it, in the same order, so that a registry recognises a
schema that Confluent's converter registered before.
"""

import datetime
import math
from decimal import Decimal
from typing import Any

from moldau.connect.converters import avro_names as names
from moldau.connect.data.errors import DataError
from moldau.connect.data.logical import (
    DATE_NAME,
    DECIMAL_NAME,
    TIME_NAME,
    TIMESTAMP_NAME,
    date_to_days,
    decimal_to_bytes,
    scale_of,
    time_to_millis,
    timestamp_to_millis,
)
from moldau.connect.data.schema import Field, Schema, Type
from moldau.connect.data.values import Float32

_PRIMITIVES = {
    Type.INT8: "int",
    Type.INT16: "int",
    Type.INT32: "int",
    Type.INT64: "long",
    Type.FLOAT32: "float",
    Type.FLOAT64: "double",
    Type.BOOLEAN: "boolean",
    Type.STRING: "string",
    Type.BYTES: "bytes",
}
_LOGICAL_TYPES = {
    DECIMAL_NAME: "decimal",
    DATE_NAME: "date",
    TIME_NAME: "time-millis",
    TIMESTAMP_NAME: "timestamp-millis",
}
_CONNECT_TYPES = {Type.INT8: "int8", Type.INT16: "int16"}


def is_string_map(schema: Schema) -> bool:
    """Whether a map is one of Avro; others are lists of records with a key and a value."""
    key = schema.key_schema
    return key is not None and key.type is Type.STRING and not key.is_optional


class AvroSchemas:
    """Translates schemas; ``has_metadata`` and ``is_enhanced`` are options of the converter."""

    def __init__(self, has_metadata: bool = True, is_enhanced: bool = False) -> None:
        self._has_metadata = has_metadata
        self._is_enhanced = is_enhanced

    def schema(self, schema: Schema | None) -> Any:
        """The JSON of the Avro schema.

        Raises:
            DataError: if two different schemas inside have the same name.
        """
        if schema is None:
            return names.ANYTHING_SCHEMA
        return _Translation(self._has_metadata, self._is_enhanced).of(schema, None)


class _Translation:
    """One translation, which knows the names that are defined already."""

    def __init__(self, has_metadata: bool, is_enhanced: bool) -> None:
        self._has_metadata = has_metadata
        self._is_enhanced = is_enhanced
        self._defined: dict[str, Schema] = {}
        self._unnamed: dict[Schema, str] = {}

    def of(self, schema: Schema, space: str | None, is_branch: bool = False) -> Any:
        """``space`` is the namespace around; a branch of a union is never a union itself."""
        if schema.type is Type.STRUCT and schema.name == names.UNION:
            branches = [
                self.of(field.schema.replace(is_optional=False), space, True)
                for field in schema.struct_fields
            ]
            return ["null", *branches] if schema.is_optional else branches
        base = self._base(schema, space)
        if is_branch or not schema.is_optional:
            return base
        # A default must be of the first branch. A struct's is left to its fields.
        has_default = schema.default is not None and schema.type is not Type.STRUCT
        return [base, "null"] if has_default else ["null", base]

    def _base(self, schema: Schema, space: str | None) -> Any:
        match schema.type:
            case Type.STRUCT:
                return self._record(schema.replace(is_optional=False), space)
            case Type.ARRAY:
                assert schema.value_schema is not None
                base = {"type": "array", "items": self.of(schema.value_schema, space)}
            case Type.MAP:
                base = self._map(schema, space)
            case Type.STRING if self._is_enhanced and names.ENUM in (schema.parameters or {}):
                return self._enum(schema, space)
            case _:
                base = {"type": _PRIMITIVES[schema.type]}
        if schema.name == DECIMAL_NAME:
            base["scale"] = scale_of(schema)
            base["precision"] = _precision(schema)
        base |= self._properties(schema)
        return base["type"] if len(base) == 1 else base

    def _properties(self, schema: Schema) -> dict[str, Any]:
        """What Avro keeps without understanding it, and the logical type."""
        found: dict[str, Any] = {}
        parameters = dict(schema.parameters or {})
        if self._has_metadata:
            if schema.doc is not None:
                found[names.CONNECT_DOC] = schema.doc
            if schema.version is not None:
                found[names.CONNECT_VERSION] = schema.version
            kept = {k: v for k, v in parameters.items() if k != names.FIELD_DEFAULT}
            if kept:
                found[names.CONNECT_PARAMETERS] = kept
            if schema.default is not None and names.FIELD_DEFAULT not in parameters:
                found[names.CONNECT_DEFAULT] = default_json(schema, schema.default)
            if schema.name is not None:
                found[names.CONNECT_NAME] = schema.name
            if schema.type in _CONNECT_TYPES:
                found[names.CONNECT_TYPE] = _CONNECT_TYPES[schema.type]
        logical_type = _LOGICAL_TYPES.get(schema.name or "")
        if logical_type is not None:
            found["logicalType"] = logical_type
        return found | {k: v for k, v in parameters.items() if k.startswith("avro")}

    def _record(self, schema: Schema, space: str | None) -> Any:
        full_name = schema.name or self._default_name(schema)
        known = self._defined.get(full_name)
        if known is not None:
            if known != schema:
                message = f"two different schemas have the name {full_name}"
                raise DataError(f"{message}: Avro allows one; rename one with SetSchemaMetadata")
            return full_name
        self._defined[full_name] = schema
        namespace, name = names.split_name(full_name)
        record: dict[str, Any] = {"type": "record", "name": _valid(name)}
        if namespace != space:
            record["namespace"] = namespace or ""
        parameters = schema.parameters or {}
        if names.RECORD_DOC in parameters:
            record["doc"] = parameters[names.RECORD_DOC]
        fields = schema.struct_fields
        docs = (parameters.get(names.FIELD_DOC + field.name) for field in fields)
        pairs = zip(fields, docs, strict=True)
        record["fields"] = [self._field(field, doc, namespace) for field, doc in pairs]
        return record | self._properties(schema)

    def _default_name(self, schema: Schema) -> str:
        """ConnectDefault for a struct without a name, and with a number for the next ones."""
        found = self._unnamed.get(schema)
        if found is None:
            count = len(self._unnamed) + 1
            found = f"{names.NAMESPACE}.{names.DEFAULT_NAME}{count if count > 1 else ''}"
            self._unnamed[schema] = found
        return found

    def _field(self, field: Field, doc: str | None, space: str | None) -> dict[str, Any]:
        schema = field.schema
        made = {"name": _valid(field.name), "type": self.of(schema, space)}
        if doc is not None:
            made["doc"] = doc
        if schema.default is not None and not _is_null_first(made["type"]):
            made["default"] = default_json(schema, schema.default)
        elif schema.is_optional:
            made["default"] = None
        return made

    def _map(self, schema: Schema, space: str | None) -> dict[str, Any]:
        assert schema.key_schema is not None
        assert schema.value_schema is not None
        if is_string_map(schema):
            return {"type": "map", "values": self.of(schema.value_schema, space)}
        full_name = schema.name or f"{names.NAMESPACE}.{names.MAP_ENTRY}"
        inner = schema.replace(is_optional=False, default=None)
        known = self._defined.get(full_name)
        if known == inner:
            return {"type": "array", "items": full_name}
        if known is not None:
            message = f"two different schemas have the name {full_name}"
            raise DataError(f"{message}: give the maps names of their own")
        self._defined[full_name] = inner
        namespace, name = names.split_name(full_name)
        record: dict[str, Any] = {"type": "record", "name": _valid(name)}
        if namespace != space:
            record["namespace"] = namespace or ""
        pairs = (("key", schema.key_schema), ("value", schema.value_schema))
        fields = [Field(each, index, inner) for index, (each, inner) in enumerate(pairs)]
        record["fields"] = [self._field(field, None, namespace) for field in fields]
        if schema.name is not None:
            record[names.INTERNAL_TYPE] = names.MAP_ENTRY
        return {"type": "array", "items": record}

    def _enum(self, schema: Schema, space: str | None) -> Any:
        parameters = dict(schema.parameters or {})
        full_name = parameters[names.ENUM]
        if full_name in self._defined:
            return full_name
        self._defined[full_name] = schema
        namespace, name = names.split_name(full_name)
        prefix = names.ENUM + "."
        made: dict[str, Any] = {"type": "enum", "name": name}
        if namespace != space:
            made["namespace"] = namespace or ""
        if names.ENUM_DOC + name in parameters:
            made["doc"] = parameters[names.ENUM_DOC + name]
        made["symbols"] = [k.removeprefix(prefix) for k in parameters if k.startswith(prefix)]
        if names.ENUM_DEFAULT + name in parameters:
            made["default"] = parameters[names.ENUM_DEFAULT + name]
        return made | self._properties(schema)


def _is_null_first(avro: Any) -> bool:
    return isinstance(avro, list) and avro[0] == "null"


def _precision(schema: Schema) -> int:
    return int((schema.parameters or {}).get(names.PRECISION, names.DEFAULT_PRECISION))


def _valid(name: str) -> str:
    if not name.isidentifier() or not name.isascii():
        message = f"{name!r} is no name in Avro: letters, digits and _ only, not first a digit"
        raise DataError(f"{message}; rename the field with ReplaceField or Flatten")
    return name


def default_json(schema: Schema, value: Any) -> Any:
    """A default value as JSON of Avro: bytes are the characters U+0000 to U+00FF."""
    if value is None:
        return None
    if isinstance(value, Decimal):
        return decimal_to_bytes(schema, value).decode("latin-1")
    if isinstance(value, datetime.datetime):
        return timestamp_to_millis(value)
    if isinstance(value, datetime.date):
        return date_to_days(value)
    if isinstance(value, datetime.time):
        return time_to_millis(value)
    match schema.type:
        case Type.FLOAT32 | Type.FLOAT64:
            if not math.isfinite(value):
                raise DataError(f"a default value of {value} cannot be written in an Avro schema")
            return Float32(value) if schema.type is Type.FLOAT32 else value
        case Type.BYTES:
            return bytes(value).decode("latin-1")
        case Type.ARRAY:
            assert schema.value_schema is not None
            return [default_json(schema.value_schema, each) for each in value]
        case Type.MAP:
            assert schema.key_schema is not None
            assert schema.value_schema is not None
            if is_string_map(schema):
                return {k: default_json(schema.value_schema, v) for k, v in value.items()}
            pairs = value.items()
            key, inner = schema.key_schema, schema.value_schema
            return [[default_json(key, k), default_json(inner, v)] for k, v in pairs]
        case Type.STRUCT:
            fields = schema.struct_fields
            return {field.name: default_json(field.schema, value.get(field)) for field in fields}
    return value
