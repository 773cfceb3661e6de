"""Short ways to make transforms and records in tests."""

from typing import Any

from moldau.connect.data.record import ConnectRecord, SinkRecord
from moldau.connect.data.schema import Schema
from moldau.connect.data.struct import Struct
from moldau.connect.plugins import Plugins
from moldau.connect.transforms.base import Predicate, Transform

PACKAGE = "org.apache.kafka.connect.transforms."
_PLUGINS = Plugins()


def transform(name: str, **options: str) -> Transform:
    """A configured transform; ``field_syntax`` stands for the option ``field.syntax``."""
    made: Transform = _PLUGINS.transform(f"{PACKAGE}{name}")()
    made.configure({option.replace("_", "."): text for option, text in options.items()})
    return made


def predicate(kind: str, **options: str) -> Predicate:
    made: Predicate = _PLUGINS.predicate(f"{PACKAGE}predicates.{kind}")()
    made.configure(options)
    return made


def record(value: Any = None, schema: Schema | None = None, **others: Any) -> ConnectRecord:
    """A record of a sink with this value; a struct brings its schema."""
    if isinstance(value, Struct):
        schema = value.schema
    made = SinkRecord("orders", 3, None, None, schema, value, 1_700_000_000_123, offset=42)
    return made.replace(**others)


def changed(made: Transform, value: Any, schema: Schema | None = None) -> Any:
    """The value that a transform gives; that of a struct as a dict, inner structs too."""
    result = made.apply(record(value, schema))
    assert result is not None
    if isinstance(result.value, Struct):
        assert result.value_schema == result.value.schema
    return plain(result.value)


def plain(value: Any) -> Any:
    if not isinstance(value, Struct):
        return value
    pairs = zip(value.schema.struct_fields, value.values, strict=True)
    return {field.name: plain(each) for field, each in pairs}
