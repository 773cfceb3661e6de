"""Connect's schemas as JSON, the ``schema`` of Kafka's envelope, and back."""

from typing import Any

from moldau.connect.converters.json_parsing import wrap
from moldau.connect.converters.json_reading import reader
from moldau.connect.converters.json_writing import JsonWriters, string_text
from moldau.connect.data.errors import DataError, SchemaBuilderError
from moldau.connect.data.schema import Schema, Type, struct
from moldau.connect.data.struct import with_default

_NAMES = {kind: kind.value for kind in Type} | {Type.FLOAT32: "float", Type.FLOAT64: "double"}
_TYPES = {name: kind for kind, name in _NAMES.items()}


def schema_text(schema: Schema | None, writers: JsonWriters, field: str | None = None) -> str:
    """The JSON of a schema, and as a field of a struct with its name."""
    if schema is None:
        return "null"
    parts = [f'"type":"{_NAMES[schema.type]}"']
    match schema.type:
        case Type.ARRAY:
            parts.append(f'"items":{schema_text(schema.value_schema, writers)}')
        case Type.MAP:
            parts.append(f'"keys":{schema_text(schema.key_schema, writers)}')
            parts.append(f'"values":{schema_text(schema.value_schema, writers)}')
        case Type.STRUCT:
            fields = (schema_text(f.schema, writers, f.name) for f in schema.struct_fields)
            parts.append(f'"fields":[{",".join(fields)}]')
    parts.append(f'"optional":{"true" if schema.is_optional else "false"}')
    if schema.name is not None:
        parts.append(f'"name":{string_text(schema.name)}')
    if schema.version is not None:
        parts.append(f'"version":{schema.version}')
    if schema.doc is not None:
        parts.append(f'"doc":{string_text(schema.doc)}')
    if schema.parameters is not None:
        pairs = (f"{string_text(k)}:{string_text(v)}" for k, v in schema.parameters.items())
        parts.append(f'"parameters":{{{",".join(pairs)}}}')
    if schema.default is not None:
        parts.append(f'"default":{writers.writer(schema)(schema.default)}')
    if field is not None:
        parts.append(f'"field":{string_text(field)}')
    return "{" + ",".join(parts) + "}"


def read_schema(node: Any, replaces_nulls: bool) -> Schema | None:
    """The schema that parsed JSON describes; None of null.

    Attributes of an unexpected type are ignored, as Kafka ignores them, except for those without
    which there is no schema.

    Raises:
        DataError: if the type is missing or unknown, or what belongs to it is.
        ExactNumberError: if the JSON must be parsed again, for the digits of a default.
    """
    if node is None:
        return None
    kind = _type(node)
    is_optional = node.get("optional") is True
    name, version, doc = node.get("name"), node.get("version"), node.get("doc")
    schema = _plain(kind, node, replaces_nulls).replace(
        is_optional=is_optional,
        name=name if isinstance(name, str) else None,
        version=wrap(version, 32) if type(version) is int else None,
        doc=doc if isinstance(doc, str) else None,
        parameters=_parameters(node.get("parameters")),
    )
    if "default" not in node:
        return schema
    default = reader(schema, replaces_nulls)(node["default"])
    return with_default(schema, default)


def _type(node: Any) -> Type:
    name = node.get("type") if isinstance(node, dict) else None
    if not isinstance(name, str):
        raise DataError('A schema needs a "type"')
    if name not in _TYPES:
        raise DataError(f"There is no type {name}: choose from {', '.join(_TYPES)}")
    return _TYPES[name]


def _plain(kind: Type, node: dict[str, Any], replaces_nulls: bool) -> Schema:
    """The schema without what all types share."""
    match kind:
        case Type.ARRAY:
            element = read_schema(node.get("items"), replaces_nulls)
            if element is None:
                raise DataError('The schema of an array needs "items"')
            return Schema(kind, value_schema=element)
        case Type.MAP:
            for inner in ("keys", "values"):
                if inner not in node:
                    raise DataError(f'The schema of a map needs "{inner}"')
            key = read_schema(node["keys"], replaces_nulls)
            value = read_schema(node["values"], replaces_nulls)
            if key is None or value is None:
                missing = "keys" if key is None else "values"
                raise SchemaBuilderError(f'The schema of a map cannot have null as "{missing}"')
            return Schema(kind, key_schema=key, value_schema=value)
        case Type.STRUCT:
            return _struct(node.get("fields"), replaces_nulls)
        case _:
            return Schema(kind)


def _struct(fields: Any, replaces_nulls: bool) -> Schema:
    if not isinstance(fields, list):
        raise DataError('The schema of a struct needs "fields", an array')
    named = []
    for field in fields:
        name = field.get("field") if isinstance(field, dict) else None
        if not isinstance(name, str):
            raise DataError('Each of "fields" needs its name as "field"')
        schema = read_schema(field, replaces_nulls)
        assert schema is not None, "a field is an object, and only null has no schema"
        named.append((name, schema))
    return struct(None, named)


def _parameters(node: Any) -> dict[str, str] | None:
    if not isinstance(node, dict) or not node:
        return None
    if not all(isinstance(value, str) for value in node.values()):
        raise DataError('The "parameters" of a schema must be texts')
    return node
