"""Avro's schemas as Connect's: logical types, unions, enums, and the properties of Confluent's."""

import re
from collections.abc import Mapping
from typing import Any

from moldau.connect.converters import avro_names as names
from moldau.connect.data.errors import DataError
from moldau.connect.data.logical import (
    DATE,
    DATE_NAME,
    DECIMAL_NAME,
    TIME,
    TIME_NAME,
    TIMESTAMP,
    TIMESTAMP_NAME,
    bytes_to_decimal,
    days_to_date,
    decimal_schema,
    millis_to_time,
    millis_to_timestamp,
)
from moldau.connect.data.schema import STRING, Schema, Type, array, map_of, struct
from moldau.connect.data.struct import Struct, with_default
from moldau.connect.data.values import to_float32

_PRIMITIVES = {
    "boolean": Type.BOOLEAN,
    "int": Type.INT32,
    "long": Type.INT64,
    "float": Type.FLOAT32,
    "double": Type.FLOAT64,
    "string": Type.STRING,
    "bytes": Type.BYTES,
    "fixed": Type.BYTES,
}
_CONNECT_TYPES = {"int8": Type.INT8, "int16": Type.INT16}
# The name of a struct without a name; those after the first have a number.
_DEFAULT_FULL_NAME = re.compile(rf"{re.escape(names.NAMESPACE)}\.{names.DEFAULT_NAME}\d*")


class ConnectSchemas:
    """Translates schemas; the two options are those of the converter."""

    def __init__(self, has_metadata: bool = True, is_enhanced: bool = False) -> None:
        self._has_metadata = has_metadata
        self._is_enhanced = is_enhanced

    def schema(self, avro: Any, version: int | None = None) -> Schema | None:
        """The schema of an Avro schema in JSON; None of the one for values without a schema.

        ``version`` is that in the registry: it counts where the schema itself names none.

        Raises:
            DataError: if the schema refers to itself, or has a type that Connect has not.
        """
        if isinstance(avro, dict) and _full_name(avro, None) == names.ANYTHING:
            return None
        translation = _Translation(self._has_metadata, self._is_enhanced)
        return translation.of(avro, None, version=version)


def _full_name(avro: Mapping[str, Any], space: str | None) -> str:
    name = str(avro.get("name", ""))
    if "." in name:
        return name
    namespace = avro.get("namespace", space)
    return f"{namespace}.{name}" if namespace else name


class _Translation:
    def __init__(self, has_metadata: bool, is_enhanced: bool) -> None:
        self._has_metadata = has_metadata
        self._is_enhanced = is_enhanced
        self._named: dict[str, tuple[Any, str | None]] = {}
        self._open: list[str] = []

    def of(
        self,
        avro: Any,
        space: str | None,
        *,
        is_optional: bool = False,
        field: Mapping[str, Any] | None = None,
        version: int | None = None,
    ) -> Schema:
        """``field`` is that of the record around, which may have a default."""
        if isinstance(avro, str) and avro not in _PRIMITIVES and avro != "null":
            avro, space = self._find(avro, space)
        if isinstance(avro, list):
            others = [branch for branch in avro if not _is_null(branch)]
            if len(avro) == 2 and len(others) == 1:
                return self.of(others[0], space, is_optional=True)
            schema = self._union(others, space)
            schema = schema.replace(is_optional=is_optional or len(others) < len(avro))
            return self._with_field_default(schema, avro, space, field, None)
        node: dict[str, Any] = avro if isinstance(avro, dict) else {"type": avro}
        if isinstance(node["type"], dict | list):
            return self.of(node["type"], space, is_optional=is_optional, field=field)
        schema = self._plain(node, space).replace(is_optional=is_optional)
        schema = self._with_metadata(schema, node, space, version)
        return self._with_field_default(schema, node, space, field, node)

    def _find(self, name: str, space: str | None) -> tuple[Any, str | None]:
        full_name = name if "." in name or not space else f"{space}.{name}"
        found = self._named.get(full_name) or self._named.get(name)
        if found is None:
            raise DataError(f"the Avro schema refers to the type {name}, which it does not define")
        if full_name in self._open:
            message = f"the Avro schema of {full_name} contains itself"
            raise DataError(f"{message}: a schema of Connect cannot; use ByteArrayConverter")
        return found

    def _plain(self, node: dict[str, Any], space: str | None) -> Schema:
        kind, logical_type = node["type"], str(node.get("logicalType", "")).lower()
        match kind:
            case "record" | "error":
                return self._record(node, space)
            case "enum":
                return self._enum(node, space)
            case "array":
                return self._array(node["items"], space)
            case "map":
                return map_of(STRING, self.of(node["values"], space))
            case "fixed":
                self._named[_full_name(node, space)] = node, space
        if kind in ("bytes", "fixed") and logical_type == "decimal":
            return _decimal(node)
        if kind == "int" and logical_type in ("date", "time-millis"):
            return DATE if logical_type == "date" else TIME
        if kind == "long" and logical_type == "timestamp-millis":
            return TIMESTAMP
        if kind == "int" and not logical_type and names.CONNECT_TYPE in node:
            connect_type = node[names.CONNECT_TYPE]
            if connect_type not in _CONNECT_TYPES:
                raise DataError(f"{names.CONNECT_TYPE} is int8 or int16, not {connect_type}")
            return Schema(_CONNECT_TYPES[connect_type])
        if kind == "null":
            raise DataError("null alone is no schema in Connect: put it into a union")
        if kind not in _PRIMITIVES:
            raise DataError(f"{kind} is not a type of Avro")
        return Schema(_PRIMITIVES[kind])

    def _record(self, node: dict[str, Any], space: str | None) -> Schema:
        full_name = _full_name(node, space)
        self._named[full_name] = node, space
        self._open.append(full_name)
        inner = names.split_name(full_name)[0]
        parameters = {}
        if self._has_metadata and node.get("doc") is not None:
            parameters[names.RECORD_DOC] = str(node["doc"])
        fields = []
        for field in node["fields"]:
            if self._has_metadata and field.get("doc") is not None:
                parameters[names.FIELD_DOC + field["name"]] = str(field["doc"])
            fields.append((field["name"], self.of(field["type"], inner, field=field)))
        self._open.pop()
        return struct(None, fields, parameters=parameters or None)

    def _enum(self, node: dict[str, Any], space: str | None) -> Schema:
        full_name = _full_name(node, space)
        self._named[full_name] = node, space
        name = names.split_name(full_name)[1]
        parameters = {}
        if self._has_metadata and node.get("doc") is not None:
            parameters[names.ENUM_DOC + name] = str(node["doc"])
        if self._has_metadata and node.get("default") is not None:
            parameters[names.ENUM_DEFAULT + name] = str(node["default"])
        parameters[names.ENUM] = full_name
        parameters |= {f"{names.ENUM}.{symbol}": symbol for symbol in node["symbols"]}
        return Schema(Type.STRING, parameters=parameters)

    def _array(self, items: Any, space: str | None) -> Schema:
        node = self._find(items, space)[0] if _is_reference(items) else items
        is_entry = isinstance(node, dict) and (
            _full_name(node, space) == f"{names.NAMESPACE}.{names.MAP_ENTRY}"
            or node.get(names.INTERNAL_TYPE) == names.MAP_ENTRY
        )
        if not is_entry:
            return array(self.of(items, space))
        entry = self.of(items, space)
        if set(entry.fields_by_name) != {"key", "value"}:
            found = ", ".join(entry.fields_by_name)
            raise DataError(f"The entries of a map have the fields key and value, not {found}")
        by_name = entry.fields_by_name
        return map_of(by_name["key"].schema, by_name["value"].schema)

    def _union(self, branches: list[Any], space: str | None) -> Schema:
        fields = []
        for branch in branches:
            schema = self.of(branch, space, is_optional=True)
            fields.append((self._branch_name(branch, space), schema))
        if len({name for name, _ in fields}) < len(fields):
            raise DataError("Two types of a union have one name in Connect: rename one")
        return struct(names.UNION, fields)

    def _branch_name(self, branch: Any, space: str | None) -> str:
        node = self._find(branch, space)[0] if _is_reference(branch) else branch
        if isinstance(node, dict) and node["type"] in ("record", "enum"):
            full_name = _full_name(node, space)
            return full_name if self._is_enhanced else names.split_name(full_name)[1]
        return str(node["type"] if isinstance(node, dict) else node)

    def _with_metadata(
        self, schema: Schema, node: dict[str, Any], space: str | None, version: int | None
    ) -> Schema:
        parameters = dict(schema.parameters or {})
        doc = None
        if self._has_metadata:
            doc = node.get(names.CONNECT_DOC)
            parameters |= _string_parameters(node.get(names.CONNECT_PARAMETERS))
        parameters |= {k: str(v) for k, v in node.items() if k.startswith("avro")}
        declared = node.get(names.CONNECT_VERSION, version)
        if schema.version is None and isinstance(declared, int) and declared >= 0:
            schema = schema.replace(version=declared)
        name = node.get(names.CONNECT_NAME)
        if name is None and node["type"] in ("record", "enum"):
            name = _full_name(node, space)
        if name is not None and _DEFAULT_FULL_NAME.fullmatch(name):
            name = None
        if name is not None and schema.name is not None and name != schema.name:
            raise DataError(f"A schema has two names, {schema.name} and {name}: remove one")
        return schema.replace(name=name or schema.name, doc=doc, parameters=parameters or None)

    def _with_field_default(
        self,
        schema: Schema,
        avro: Any,
        space: str | None,
        field: Mapping[str, Any] | None,
        node: dict[str, Any] | None,
    ) -> Schema:
        """The default of the field, or the one that Connect left in a property."""
        connect_default = None if node is None else node.get(names.CONNECT_DEFAULT)
        default = connect_default
        if field is not None and "default" in field:
            default = field["default"]
            if connect_default is None:
                parameters = dict(schema.parameters or {}) | {names.FIELD_DEFAULT: "true"}
                schema = schema.replace(parameters=parameters)
        if default is None:
            return schema
        return with_default(schema, default_value(schema, default))


def _is_null(branch: Any) -> bool:
    return branch == "null" or (isinstance(branch, dict) and branch.get("type") == "null")


def _is_reference(node: Any) -> bool:
    return isinstance(node, str) and node not in _PRIMITIVES and node != "null"


def _decimal(node: dict[str, Any]) -> Schema:
    # Avro says that a missing scale is 0; Confluent's converter refuses such schemas.
    scale, precision = node.get("scale", 0), node.get("precision", names.DEFAULT_PRECISION)
    if type(scale) is not int or type(precision) is not int:
        raise DataError("scale and precision of an Avro decimal must be numbers")
    schema = decimal_schema(scale)
    if precision == names.DEFAULT_PRECISION:
        return schema
    parameters = dict(schema.parameters or {}) | {names.PRECISION: str(precision)}
    return schema.replace(parameters=parameters)


def _string_parameters(node: Any) -> dict[str, str]:
    if node is None:
        return {}
    if not isinstance(node, dict):
        raise DataError(f"{names.CONNECT_PARAMETERS} must be an object of texts, not {node}")
    for value in node.values():
        if not isinstance(value, str):
            raise DataError(f"{names.CONNECT_PARAMETERS} must have texts, not {value}")
    return node


def default_value(schema: Schema, node: Any) -> Any:
    """The value of a default in JSON of Avro."""
    if node is None:
        return None
    match schema.name:
        case n if n == DECIMAL_NAME:
            return bytes_to_decimal(schema, str(node).encode("latin-1"))
        case n if n == DATE_NAME:
            return days_to_date(node)
        case n if n == TIME_NAME:
            return millis_to_time(node)
        case n if n == TIMESTAMP_NAME:
            return millis_to_timestamp(node)
    match schema.type:
        case Type.BYTES:
            return str(node).encode("latin-1")
        case Type.FLOAT32:
            return to_float32(float(node))
        case Type.FLOAT64:
            return float(node)
        case Type.ARRAY:
            assert schema.value_schema is not None
            return [default_value(schema.value_schema, each) for each in node]
        case Type.MAP:
            assert schema.key_schema is not None
            assert schema.value_schema is not None
            pairs = node.items() if isinstance(node, dict) else node
            key, inner = schema.key_schema, schema.value_schema
            return {default_value(key, k): default_value(inner, v) for k, v in pairs}
        case Type.STRUCT if schema.name == names.UNION:
            first = schema.struct_fields[0]
            return Struct(schema, {first.name: default_value(first.schema, node)})
        case Type.STRUCT:
            fields = schema.struct_fields
            values = [default_value(field.schema, node.get(field.name)) for field in fields]
            return Struct.of(schema, values)
    return node
