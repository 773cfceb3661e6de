"""Random contents for every message and version, generated from the schema.

The schema defines the fields of a version; other fields keep their defaults, so that a round
trip returns an equal message.
"""

import importlib
import random
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

import moldau.protocol
from moldau.ids import NO_UUID
from moldau.protocol.generator.names import is_optional
from moldau.protocol.generator.schema import Field, Message, SchemaFile, Struct, load
from moldau.protocol.message import Message as GeneratedMessage

_TEXTS = ("", "a", "topic-1", "größe", "日本語", "🙂 x", "n" * 130)
_BITS = {"int8": 8, "int16": 16, "int32": 32, "int64": 64}


@cache
def schema_files() -> list[SchemaFile]:
    return load(Path(moldau.protocol.__path__[0]) / "schema")


def _module_name(file: SchemaFile) -> str:
    if file.api is not None:
        return f"moldau.protocol.messages.{file.name}"
    return f"moldau.protocol.records.{file.name.removesuffix('_records')}"


@cache
def all_messages() -> dict[str, tuple[str, Message]]:
    """Every message's schema and the module it is in, by name."""
    return {
        message.name: (_module_name(file), message)
        for file in schema_files()
        for message in file.messages
    }


def message_class(name: str) -> type[GeneratedMessage]:
    module, _ = all_messages()[name]
    found: type[GeneratedMessage] = getattr(importlib.import_module(module), name)
    return found


def versions_of(name: str) -> range:
    _, message = all_messages()[name]
    return range(message.versions.lowest, message.versions.highest + 1)


def every_version() -> Iterator[tuple[str, int]]:
    for name in all_messages():
        for version in versions_of(name):
            yield name, version


def random_message(name: str, version: int, rng: random.Random) -> GeneratedMessage:
    """A message with random values in every field that ``version`` has."""
    module, message = all_messages()[name]
    builder = _Builder(importlib.import_module(module), version, rng)
    built: GeneratedMessage = builder.struct(message.fields)
    return built


class _Builder:
    def __init__(self, module: ModuleType, version: int, rng: random.Random) -> None:
        self.module = module
        self.version = version
        self.rng = rng

    def struct(self, struct: Struct) -> Any:
        values = {}
        for field in struct.fields:
            if self.version not in field.versions:
                continue
            # Test tags that are sent and tags that are not.
            if field.tag is not None and self.rng.random() < 0.3:
                continue
            values[field.name] = self.value(field)
        return getattr(self.module, struct.name)(**values)

    def value(self, field: Field) -> Any:
        nullable = field.nullable is not None and self.version in field.nullable
        if nullable and self.rng.random() < 0.2:
            return None
        if field.is_array:
            count = self.rng.randrange(130, 140) if self.rng.random() < 0.01 else None
            if count is None or field.struct is not None:
                count = self.rng.randrange(4)
            return [self.single(field) for _ in range(count)]
        value = self.single(field)
        if is_optional(field) and value == type(value)():
            # A struct of defaults is not sent, and is decoded as None.
            return None
        return value

    def single(self, field: Field) -> Any:
        rng = self.rng
        if field.struct is not None:
            return self.struct(field.struct)
        match field.type:
            case "bool":
                return rng.random() < 0.5
            case "string":
                return rng.choice(_TEXTS)
            case "bytes":
                return self.blob(rng.choice((0, 1, 5, 200)))
            case "records":
                return self.blob(rng.choice((0, 61, 500, 1024, 1025, 3000)))
            case "uuid":
                return NO_UUID if rng.random() < 0.2 else self.blob(16)
            case "float64":
                return rng.choice((0.0, -1.5, 1e300, float("inf")))
            case "uint16":
                return rng.choice((0, 1, 9092, 0x7FFF, 0x8000, 0xFFFF))
            case "uint32":
                return rng.choice((0, 1, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF))
        bits = _BITS[field.type]
        top = 1 << (bits - 1)
        kind = rng.randrange(5)
        if kind == 0:
            return rng.choice((-top, top - 1, -1, 0))
        return rng.randrange(-top, top) if kind == 1 else rng.randrange(-2, 100)

    def blob(self, size: int) -> bytes:
        return self.rng.getrandbits(8 * size).to_bytes(size, "big") if size else b""
