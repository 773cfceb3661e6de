"""Decoding an array takes no more memory than a small multiple of its bytes.

The number of elements comes before the elements. The decoder accepts it only if the remaining
bytes could hold as many. That requires that every element takes at least one byte, in every
message and version.
"""

import importlib
import re
import tracemalloc
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import pytest

import moldau.protocol
from moldau.ids import NO_UUID
from moldau.protocol.generator.layout import Scope
from moldau.protocol.generator.schema import Field, Message, Struct, Versions
from moldau.protocol.reading import MalformedMessage
from tests.protocol.random_messages import all_messages, every_version, message_class, versions_of

ELEMENTS = 500
# The most expensive element is a struct of two bytes (an empty string, no tags): an object with a
# slot for every field of any version, and its place in the list.
MEMORY_PER_BYTE = 70
# The fixed cost of decoding: the objects around the array.
FIXED_BYTES = 10_000

_ZEROS: dict[str, Any] = {
    "bool": False, "string": "", "bytes": b"", "records": b"", "uuid": NO_UUID, "float64": 0.0,
}  # fmt: skip


class ArrayField(NamedTuple):
    """An array of a message, and the fields that lead to it."""

    path: tuple[Field, ...]
    struct: Struct

    @property
    def field(self) -> Field:
        return self.path[-1]

    def __str__(self) -> str:
        return ".".join(field.name for field in self.path)


def arrays_of(struct: Struct, version: int, path: tuple[Field, ...] = ()) -> Iterator[ArrayField]:
    for field in struct.fields:
        if version not in field.versions:
            continue
        here = (*path, field)
        if field.is_array:
            yield ArrayField(here, struct)
        # A struct may contain itself: one level is enough.
        if field.struct is not None and field not in path:
            yield from arrays_of(field.struct, version, here)


def every_array(message: Message, version: int) -> list[ArrayField]:
    return list(arrays_of(message.fields, version))


def test_there_is_no_element_without_bytes() -> None:
    looked_at = 0
    for name, version in every_version():
        _, message = all_messages()[name]
        one = Versions(version, version)
        for array in every_array(message, version):
            scope = Scope(array.struct, one, message.first_flexible, message)
            assert scope.smallest_element(array.field, one) > 0, f"{name} {version}: {array}"
            looked_at += 1
    assert looked_at > 1000


def test_generated_decoders_ask_for_a_byte_per_element_at_least() -> None:
    found = 0
    for path in Path(moldau.protocol.__path__[0]).glob("*s/*.py"):
        for smallest in re.findall(r"_count\(data, position, (\d+)\)", path.read_text()):
            assert int(smallest) > 0, path.name
            found += 1
    assert found > 500


class Smallest:
    """Messages of the fewest bytes."""

    def __init__(self, module: ModuleType, version: int) -> None:
        self._module = module
        self._version = version

    def struct(self, struct: Struct, path: tuple[Field, ...] = (), elements: int = 0) -> Any:
        """``struct`` with this many elements in the array at ``path``."""
        values = {
            field.name: self._value(field)
            for field in struct.fields
            if self._version in field.versions and field.tag is None
        }
        if path:
            inside = path[0]
            if len(path) == 1:
                values[inside.name] = [self._single(inside) for _ in range(elements)]
            else:
                assert inside.struct is not None
                inner = self.struct(inside.struct, path[1:], elements)
                values[inside.name] = [inner] if inside.is_array else inner
        return getattr(self._module, struct.name)(**values)

    def _value(self, field: Field) -> Any:
        if field.nullable is not None and self._version in field.nullable:
            return None
        return [] if field.is_array else self._single(field)

    def _single(self, field: Field) -> Any:
        if field.struct is not None:
            return self.struct(field.struct)
        return _ZEROS.get(field.type, 0)


@pytest.mark.parametrize("name", all_messages())
def test_memory_is_a_small_multiple_of_what_was_sent(name: str) -> None:
    module_name, message = all_messages()[name]
    module = importlib.import_module(module_name)
    decode = message_class(name).decode
    for version in {versions_of(name)[0], versions_of(name)[-1]}:
        for array in every_array(message, version):
            builder = Smallest(module, version)
            frame = builder.struct(message.fields, array.path, ELEMENTS).encode(version)
            assert len(frame) >= ELEMENTS
            tracemalloc.start()
            decoded, _ = decode(frame, 0, version)
            _, peak_bytes = tracemalloc.get_traced_memory()
            tracemalloc.stop()
            assert peak_bytes < MEMORY_PER_BYTE * len(frame) + FIXED_BYTES, f"{version}: {array}"
            del decoded


@pytest.mark.parametrize("name", all_messages())
def test_a_count_is_not_believed_if_the_bytes_could_not_hold_it(name: str) -> None:
    """Truncated after a tenth of its elements: too short for the count."""
    module_name, message = all_messages()[name]
    module = importlib.import_module(module_name)
    decode = message_class(name).decode
    for version in {versions_of(name)[0], versions_of(name)[-1]}:
        for array in every_array(message, version):
            frame = Smallest(module, version).struct(message.fields, array.path, ELEMENTS)
            encoded = frame.encode(version)
            tracemalloc.start()
            with pytest.raises(MalformedMessage):
                decode(encoded[: len(encoded) // 10], 0, version)
            _, peak_bytes = tracemalloc.get_traced_memory()
            tracemalloc.stop()
            assert peak_bytes < FIXED_BYTES, f"{version}: {array}"
