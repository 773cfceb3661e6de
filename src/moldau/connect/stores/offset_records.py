"""Source offsets as records of the offsets topic: ``["connector",{partition}]`` and ``{offset}``.

A partition names a part of the source (a file, a table), an offset how far it was read. Both are
maps of text to primitive values, and mean something only to the connector that wrote them. The last
record of a key counts; a tombstone says that nothing was read.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

from moldau.connect.stores import json_text

# A source partition or a source offset.
Position = Mapping[str, Any]


class OffsetRecord(NamedTuple):
    """One record of the offsets topic; without an offset it is a tombstone."""

    connector: str
    partition: dict[str, Any] | None
    offset: dict[str, Any] | None


def encode(
    connector: str, partition: Position | None, offset: Position | None
) -> tuple[bytes, bytes | None]:
    """Key and value of the record that says how far ``connector`` has read ``partition``.

    Kafka finds offsets by the bytes of the key. The order of the partition's fields is therefore
    part of it: give them in the order in which the connector has them in Kafka.

    Raises:
        ValueError: a value is not text, a number, a boolean or None.
    """
    _check(connector, "partition", partition)
    _check(connector, "offset", offset)
    key = json_text.encode([connector, partition])
    return key, None if offset is None else json_text.encode(offset)


def decode(key: bytes | None, value: bytes | None) -> OffsetRecord | None:
    """The record, or None if it is not one of Connect's: Kafka ignores those too."""
    if key is None:
        return None
    try:
        name = json_text.decode(key)
        offset = None if value is None else json_text.decode(value)
    except json_text.InvalidJson:
        return None
    match name:
        case [str() as connector, dict() | None as partition]:
            if offset is None or isinstance(offset, dict):
                return OffsetRecord(connector, partition, offset)
    return None


def identity(partition: Position | None) -> bytes:
    """Equal for partitions that are equal as maps, whatever the order of their fields."""
    if partition is None:
        return b"null"
    return json_text.encode({name: partition[name] for name in sorted(partition)})


def _check(connector: str, what: str, position: Position | None) -> None:
    for name, value in (position or {}).items():
        if not (value is None or isinstance(value, str | int | float)):
            kind = type(value).__name__
            raise ValueError(
                f"connector {connector}: field {name} of its source {what} is a {kind}: "
                "only text, numbers, booleans and None can be stored"
            )
