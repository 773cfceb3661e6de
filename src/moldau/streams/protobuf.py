"""Protobuf: messages of a generated class.

Spark reads Protobuf only with a jar that is not part of PySpark, so the bytes go through Google's
``protobuf`` package in Python, a column at a time. Spark's workers get the descriptor of the
message, so they need not have the generated module.

A field with presence (``optional``, messages) is null if it is not set; others have their default.
Enums are decoded to their names, ``google.protobuf.Timestamp`` to a timestamp.
"""

from datetime import UTC, datetime
from functools import lru_cache
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Final

from moldau.spark.errors import PipelineError
from moldau.streams.serdes import Serde

if TYPE_CHECKING:
    from pyspark.sql import Column
    from pyspark.sql.types import DataType

_TIMESTAMP: Final = "google.protobuf.Timestamp"
# By the names of FieldDescriptor.cpp_type.
_SCALARS: Final = {
    "INT32": "int",
    "INT64": "long",
    "UINT32": "long",
    "UINT64": "decimal(20,0)",
    "DOUBLE": "double",
    "FLOAT": "float",
    "BOOL": "boolean",
    "ENUM": "string",
}


class Protobuf(Serde):
    """Messages of ``message_class``, a class that protoc generated.

    Raises:
        PipelineError: protobuf is not installed, or the message has no type in Spark.
    """

    def __init__(self, message_class: Any) -> None:
        if not _has_protobuf():
            raise PipelineError("Protobuf needs protobuf: pip install 'moldau[spark]'")
        descriptor = getattr(message_class, "DESCRIPTOR", None)
        if descriptor is None:
            raise PipelineError(f"{message_class!r} is not a class that protoc generated")
        self._full_name: str = descriptor.full_name
        self._files = _files_of(descriptor.file)
        self._type = _struct(descriptor, ())
        self.name = f"protobuf {self._full_name}"

    def decode(self, raw: "Column") -> "Column":
        from moldau.streams.arrow_columns import decoding_column

        return decoding_column(self.loads, self._type)(raw)

    def encode(self, value: "Column", value_type: "DataType") -> "Column":
        from moldau.streams.arrow_columns import encoding_column

        return encoding_column(self.dumps)(value)

    def loads(self, data: bytes) -> dict[str, Any]:
        from google.protobuf.message import DecodeError

        message = _message_class(self._files, self._full_name)()
        try:
            message.ParseFromString(data)
        except DecodeError as error:
            raise ValueError(f"not a message {self._full_name}: {error}") from error
        return _to_dict(message)

    def dumps(self, value: Any) -> bytes:
        message = _message_class(self._files, self._full_name)()
        try:
            _fill(message, value)
        except (TypeError, ValueError, AttributeError) as error:
            raise PipelineError(f"{value!r} is not a {self._full_name}: {error}") from error
        data: bytes = message.SerializeToString(deterministic=True)
        return data


def _has_protobuf() -> bool:
    try:
        return find_spec("google.protobuf") is not None
    except ModuleNotFoundError:
        return False


def _files_of(file: Any) -> tuple[bytes, ...]:
    """The descriptors of a .proto file and of those it imports, imported ones first."""
    found: dict[str, bytes] = {}

    def visit(each: Any) -> None:
        if each.name not in found:
            for imported in each.dependencies:
                visit(imported)
            found[each.name] = each.serialized_pb

    visit(file)
    return tuple(found.values())


@lru_cache(maxsize=64)
def _message_class(files: tuple[bytes, ...], full_name: str) -> Any:
    from google.protobuf import descriptor_pool, message_factory

    # A separate pool: the generated module may be imported here as well.
    pool = descriptor_pool.DescriptorPool()
    for file in files:
        pool.AddSerializedFile(file)
    return message_factory.GetMessageClass(pool.FindMessageTypeByName(full_name))


def _is_map(field: Any) -> bool:
    return field.message_type is not None and field.message_type.GetOptions().map_entry


def _struct(descriptor: Any, above: tuple[str, ...]) -> str:
    if descriptor.full_name in above:
        raise PipelineError(
            f"the message {descriptor.full_name} contains itself: Spark has no type for it"
        )
    inside = (*above, descriptor.full_name)
    fields = [f"`{field.name}`:{_type_of(field, inside)}" for field in descriptor.fields]
    return f"struct<{','.join(fields)}>"


def _type_of(field: Any, above: tuple[str, ...]) -> str:
    if _is_map(field):
        entry = field.message_type.fields_by_name
        return f"map<{_single(entry['key'], above)},{_single(entry['value'], above)}>"
    single = _single(field, above)
    return f"array<{single}>" if field.is_repeated else single


def _single(field: Any, above: tuple[str, ...]) -> str:
    if field.message_type is not None:
        is_moment = field.message_type.full_name == _TIMESTAMP
        return "timestamp" if is_moment else _struct(field.message_type, above)
    if field.cpp_type == field.CPPTYPE_STRING:
        return "binary" if field.type == field.TYPE_BYTES else "string"
    return _SCALARS[
        next(name for name in _SCALARS if getattr(field, f"CPPTYPE_{name}") == field.cpp_type)
    ]


def _to_dict(message: Any) -> dict[str, Any]:
    values: dict[str, Any] = {}
    for field in message.DESCRIPTOR.fields:
        value = getattr(message, field.name)
        if _is_map(field):
            of_value = field.message_type.fields_by_name["value"]
            values[field.name] = {key: _plain(of_value, value[key]) for key in value}
        elif field.is_repeated:
            values[field.name] = [_plain(field, each) for each in value]
        elif field.has_presence and not message.HasField(field.name):
            values[field.name] = None
        else:
            values[field.name] = _plain(field, value)
    return values


def _plain(field: Any, value: Any) -> Any:
    if field.message_type is not None:
        if field.message_type.full_name == _TIMESTAMP:
            return value.ToDatetime(tzinfo=UTC)
        return _to_dict(value)
    if field.enum_type is not None:
        known = field.enum_type.values_by_number.get(value)
        return known.name if known is not None else str(value)
    return value


def _fill(message: Any, values: Any) -> None:
    for name, value in dict(values).items():
        if value is None:
            continue
        field = message.DESCRIPTOR.fields_by_name.get(name)
        if field is None:
            raise ValueError(f"it has no field {name}")
        if _is_map(field):
            _fill_map(getattr(message, name), field.message_type.fields_by_name["value"], value)
        elif field.is_repeated:
            for each in value:
                _append(getattr(message, name), field, each)
        elif field.message_type is not None:
            _fill_message(getattr(message, name), value)
        else:
            setattr(message, name, _number(field, value))


def _fill_map(target: Any, field: Any, pairs: dict[Any, Any]) -> None:
    for key, value in pairs.items():
        if field.message_type is not None:
            _fill_message(target[key], value)
        else:
            target[key] = _number(field, value)


def _append(target: Any, field: Any, value: Any) -> None:
    if field.message_type is not None:
        _fill_message(target.add(), value)
    else:
        target.append(_number(field, value))


def _fill_message(target: Any, value: Any) -> None:
    # Present even if all its fields have their defaults.
    target.SetInParent()
    if isinstance(value, datetime):
        target.FromDatetime(value)
    else:
        _fill(target, value)


def _number(field: Any, value: Any) -> Any:
    if field.enum_type is not None and isinstance(value, str):
        known = field.enum_type.values_by_name.get(value)
        return known.number if known is not None else int(value)
    # Spark passes an unsigned 64-bit integer as a Decimal.
    return int(value) if field.cpp_type == field.CPPTYPE_UINT64 else value
