"""Tells from a few records how the keys or the values of a topic are encoded.

Kafka does not know: a record is bytes. So the first and the last records of a topic are looked at.

* *JSON*: most samples are JSON objects or arrays. A single number or word is JSON too, but a topic
  of numbers is better read as text.
* *Avro*: all samples begin with a zero byte and a schema id, as Confluent's serializers write them.
* *text*: all samples are UTF-8; *binary* otherwise.

One sample that differs does not change what the others are: values that are not JSON stay in the
table as strings, so that nothing is lost without a trace.
"""

import json
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Final

_MAGIC: Final = 0
_HEADER_BYTES: Final = 5
# Schema ids are given out one after the other; larger ones are other data with a zero in front.
_MAX_SCHEMA_ID: Final = 100_000_000


class Encoding(Enum):
    """How bytes are encoded; the values are for the user."""

    JSON = "JSON"
    AVRO = "Avro"
    TEXT = "text"
    BINARY = "binary"
    EMPTY = "no records"


@dataclass(frozen=True)
class Format:
    """What the samples of a topic show."""

    encoding: Encoding
    # For Avro: the schemas of the samples, the most recent last.
    schema_ids: tuple[int, ...] = ()
    # How many samples there are, and how many of them are encoded otherwise.
    samples: int = 0
    others: int = 0


def detect(samples: Sequence[bytes | None]) -> Format:
    """The format of keys or values, from samples in the order of their age."""
    there = [each for each in samples if each is not None]
    if not there:
        return Format(Encoding.EMPTY)
    ids = [schema_id(each) for each in there]
    if all(each is not None for each in ids):
        return Format(Encoding.AVRO, _last_of_each(ids), len(there))
    objects = sum(map(_is_json, there))
    if objects and 2 * objects >= len(there):
        return Format(Encoding.JSON, (), len(there), len(there) - objects)
    if all(map(_is_text, there)):
        return Format(Encoding.TEXT, (), len(there))
    return Format(Encoding.BINARY, (), len(there))


def schema_id(raw: bytes) -> int | None:
    """The id of the schema in front of an Avro value; None if there is none."""
    if len(raw) < _HEADER_BYTES or raw[0] != _MAGIC:
        return None
    found = int.from_bytes(raw[1:_HEADER_BYTES], "big")
    return found if 0 < found <= _MAX_SCHEMA_ID else None


def _last_of_each(ids: Collection[int | None]) -> tuple[int, ...]:
    """Each id once, in the order in which they were last seen."""
    seen: dict[int, None] = {}
    for each in ids:
        assert each is not None
        seen.pop(each, None)
        seen[each] = None
    return tuple(seen)


def _is_json(raw: bytes) -> bool:
    if raw.lstrip()[:1] not in (b"{", b"["):
        return False
    try:
        json.loads(raw)
    except ValueError:
        return False
    return True


def _is_text(raw: bytes) -> bool:
    try:
        raw.decode()
    except UnicodeDecodeError:
        return False
    return True
