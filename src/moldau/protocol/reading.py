"""Decoding primitives: from bytes at a position to a value and the position after it.

The generated decoders are straight-line calls into this module. Fixed-size numbers come
from ``librt.strings`` directly; this module reads values with a length. The rules:

* A read past the end is an ``IndexError``, bad UTF-8 a ``UnicodeDecodeError``; both become
  ``MalformedMessage`` once, in the outermost ``decode``, not field by field.
* A length is checked against the remaining bytes before anything is allocated, so that
  decoding never takes more memory than a small multiple of the message's size.
* Kafka's limits apply: strings up to 32,767 bytes, varints up to 5 or 10 bytes.
"""

from collections.abc import Callable
from typing import Final

from librt.strings import read_i16_be, read_i32_be, read_i64_be
from mypy_extensions import i64

from moldau.protocol.giving_way import give_way, give_way_among_numbers
from moldau.protocol.message import PackedRows

MAX_STRING_BYTES: Final = 32767
# Loops over arrays let other threads run after so many elements, less one: a power of two.
LONG_RUN: Final = 1023
# Records up to this size are copied out of their frame: a view costs more than the copy, and
# everything done with a view is slower.
COPIED_RECORDS_BYTES: Final = 4096


class MalformedMessage(ValueError):  # noqa: N818 - the name describes the message
    """The bytes are not a valid message of the given version."""


def malformed(name: str, version: int, error: Exception) -> MalformedMessage:
    """The error that ``decode`` raises, with message name, version and reason."""
    return MalformedMessage(f"{name} version {version}: {error}")


def unknown_version(name: str, version: int, lowest: int, highest: int) -> MalformedMessage:
    """The message has no such version."""
    return MalformedMessage(f"{name} has no version {version}: versions are {lowest} to {highest}")


def _bad_length(what: str, length: i64, left: i64) -> MalformedMessage:
    return MalformedMessage(f"{what} of length {length} with {left} bytes left")


def read_uvarint(data: bytes, position: i64) -> tuple[i64, i64]:
    """An unsigned varint of at most 32 bits."""
    byte: i64 = data[position]
    position += 1
    if byte < 128:
        return byte, position
    value: i64 = byte & 0x7F
    shift: i64 = 7
    while True:
        byte = data[position]
        position += 1
        value |= (byte & 0x7F) << shift
        if byte < 128:
            break
        shift += 7
        if shift > 28:
            raise MalformedMessage("varint of more than 5 bytes")
    if value > 0xFFFFFFFF:
        raise MalformedMessage("varint of more than 32 bits")
    return value, position


def read_varint(data: bytes, position: i64) -> tuple[i64, i64]:
    """A zigzag varint of at most 32 bits, as records use them."""
    value, position = read_uvarint(data, position)
    return (value >> 1) ^ -(value & 1), position


def read_varlong(data: bytes, position: i64) -> tuple[int, i64]:
    """A zigzag varint of at most 64 bits, as record timestamps use them."""
    value: int = 0
    shift: int = 0
    while True:
        byte: int = data[position]
        position += 1
        value |= (byte & 0x7F) << shift
        if byte < 128:
            break
        shift += 7
        if shift > 63:
            raise MalformedMessage("varint of more than 10 bytes")
    if value > 0xFFFFFFFFFFFFFFFF:
        raise MalformedMessage("varint of more than 64 bits")
    return (value >> 1) ^ -(value & 1), position


def read_i8(data: bytes, position: i64) -> i64:
    byte: i64 = data[position]
    return byte - 256 if byte > 127 else byte


def read_u16(data: bytes, position: i64) -> i64:
    value: int = read_i16_be(data, position)
    return value & 0xFFFF


def read_u32(data: bytes, position: i64) -> i64:
    value: int = read_i32_be(data, position)
    return value & 0xFFFFFFFF


def read_uuid(data: bytes, position: i64) -> bytes:
    end = position + 16
    if end > len(data):
        raise IndexError(f"uuid with {len(data) - position} bytes left")
    return data[position:end]


def _bad_string(data: bytes, position: i64, length: i64) -> MalformedMessage:
    return _bad_length("string", length, len(data) - position)


def read_string(data: bytes, position: i64) -> tuple[str, i64]:
    length: int = read_i16_be(data, position)
    position += 2
    end = position + length
    if length < 0 or end > len(data):
        raise _bad_string(data, position, length)
    return data[position:end].decode(), end


def read_nullable_string(data: bytes, position: i64) -> tuple[str | None, i64]:
    length: int = read_i16_be(data, position)
    position += 2
    if length == -1:
        return None, position
    end = position + length
    if length < 0 or end > len(data):
        raise _bad_string(data, position, length)
    return data[position:end].decode(), end


def read_compact_string(data: bytes, position: i64) -> tuple[str, i64]:
    # Lengths of one byte are read inline: calls are expensive in plain Python.
    length: i64 = data[position]
    if length < 128:
        position += 1
    else:
        length, position = read_uvarint(data, position)
    end = position + length - 1
    if length == 0 or length > MAX_STRING_BYTES + 1 or end > len(data):
        raise _bad_string(data, position, length - 1)
    return data[position:end].decode(), end


def read_compact_nullable_string(data: bytes, position: i64) -> tuple[str | None, i64]:
    if data[position] == 0:
        return None, position + 1
    return read_compact_string(data, position)


def _bytes_end(data: bytes, position: i64, length: i64) -> i64:
    end = position + length
    if length < 0 or end > len(data):
        raise _bad_length("bytes", length, len(data) - position)
    return end


def read_bytes(data: bytes, position: i64) -> tuple[bytes, i64]:
    length: int = read_i32_be(data, position)
    position += 4
    end = _bytes_end(data, position, length)
    return data[position:end], end


def read_nullable_bytes(data: bytes, position: i64) -> tuple[bytes | None, i64]:
    if read_i32_be(data, position) == -1:
        return None, position + 4
    return read_bytes(data, position)


def read_compact_bytes(data: bytes, position: i64) -> tuple[bytes, i64]:
    length, position = read_uvarint(data, position)
    end = _bytes_end(data, position, length - 1)
    return data[position:end], end


def read_compact_nullable_bytes(data: bytes, position: i64) -> tuple[bytes | None, i64]:
    if data[position] == 0:
        return None, position + 1
    return read_compact_bytes(data, position)


def _cut_records(data: bytes, position: i64, end: i64) -> bytes | memoryview:
    if end - position <= COPIED_RECORDS_BYTES:
        return data[position:end]
    return memoryview(data)[position:end]


def read_records(data: bytes, position: i64) -> tuple[bytes | memoryview, i64]:
    """Record batches: a view of the frame, or a copy if they are small."""
    length: int = read_i32_be(data, position)
    position += 4
    end = _bytes_end(data, position, length)
    return _cut_records(data, position, end), end


def read_nullable_records(data: bytes, position: i64) -> tuple[bytes | memoryview | None, i64]:
    if read_i32_be(data, position) == -1:
        return None, position + 4
    return read_records(data, position)


def read_compact_records(data: bytes, position: i64) -> tuple[bytes | memoryview, i64]:
    length, position = read_uvarint(data, position)
    end = _bytes_end(data, position, length - 1)
    return _cut_records(data, position, end), end


def read_compact_nullable_records(
    data: bytes, position: i64
) -> tuple[bytes | memoryview | None, i64]:
    if data[position] == 0:
        return None, position + 1
    return read_compact_records(data, position)


def _bad_count(data: bytes, position: i64, count: i64) -> MalformedMessage:
    return _bad_length("array", count, len(data) - position)


def read_count(data: bytes, position: i64, element_bytes: i64) -> tuple[i64, i64]:
    """The length of an array, checked against elements of at least ``element_bytes``."""
    count: int = read_i32_be(data, position)
    position += 4
    if count < 0 or count * element_bytes > len(data) - position:
        raise _bad_count(data, position, count)
    return count, position


def read_nullable_count(data: bytes, position: i64, element_bytes: i64) -> tuple[i64, i64]:
    """Like ``read_count``; -1 means a null array."""
    if read_i32_be(data, position) == -1:
        return -1, position + 4
    return read_count(data, position, element_bytes)


def read_compact_count(data: bytes, position: i64, element_bytes: i64) -> tuple[i64, i64]:
    count: i64 = data[position]
    if count < 128:
        position += 1
    else:
        count, position = read_uvarint(data, position)
    count -= 1
    if count < 0 or count * element_bytes > len(data) - position:
        raise _bad_count(data, position, count)
    return count, position


def read_compact_nullable_count(data: bytes, position: i64, element_bytes: i64) -> tuple[i64, i64]:
    if data[position] == 0:
        return -1, position + 1
    return read_compact_count(data, position, element_bytes)


def read_rows(
    data: bytes, position: i64, count: i64, size: i64, has_tags: bool
) -> PackedRows | None:
    """``count`` items of ``size`` bytes as they are; None if one has tags, or if there is none.

    With ``has_tags`` each item ends with a section of tags, which is empty in all known versions.
    The caller has checked that there are so many bytes.
    """
    if count <= 0:
        return None
    row_bytes: i64 = size + 1 if has_tags else size
    end: i64 = position + count * row_bytes
    rows = data[position:end]
    if has_tags and rows[size::row_bytes].count(0) < count:
        return None
    return PackedRows(rows, row_bytes, 0)


def _in_runs(
    read: Callable[[bytes, i64, i64], list[int]],
    data: bytes,
    position: i64,
    count: i64,
    size: i64,
) -> list[int]:
    """A long array of numbers of ``size`` bytes, with other threads running in between."""
    values: list[int] = []
    while count > 0:
        run: i64 = min(count, LONG_RUN)
        values.extend(read(data, position, run))
        position += run * size
        count -= run
        give_way_among_numbers()
    return values


def read_i8_list(data: bytes, position: i64, count: i64) -> list[int]:
    if count > LONG_RUN:
        return _in_runs(read_i8_list, data, position, count, 1)
    return [read_i8(data, index) for index in range(position, position + count)]


def read_i16_list(data: bytes, position: i64, count: i64) -> list[int]:
    if count > LONG_RUN:
        return _in_runs(read_i16_list, data, position, count, 2)
    return [read_i16_be(data, position + 2 * index) for index in range(count)]


def read_i32_list(data: bytes, position: i64, count: i64) -> list[int]:
    if count > LONG_RUN:
        return _in_runs(read_i32_list, data, position, count, 4)
    return [read_i32_be(data, position + 4 * index) for index in range(count)]


def read_i64_list(data: bytes, position: i64, count: i64) -> list[int]:
    if count > LONG_RUN:
        return _in_runs(read_i64_list, data, position, count, 8)
    return [read_i64_be(data, position + 8 * index) for index in range(count)]


def read_uuid_list(data: bytes, position: i64, count: i64) -> list[bytes]:
    values: list[bytes] = []
    for nth in range(count):
        values.append(read_uuid(data, position + 16 * nth))
        if nth & LONG_RUN == LONG_RUN:
            give_way()
    return values


def read_string_list(data: bytes, position: i64, count: i64) -> tuple[list[str], i64]:
    values: list[str] = []
    for nth in range(count):
        value, position = read_string(data, position)
        values.append(value)
        if nth & LONG_RUN == LONG_RUN:
            give_way()
    return values, position


def read_compact_string_list(data: bytes, position: i64, count: i64) -> tuple[list[str], i64]:
    values: list[str] = []
    for nth in range(count):
        value, position = read_compact_string(data, position)
        values.append(value)
        if nth & LONG_RUN == LONG_RUN:
            give_way()
    return values, position


def read_tag(data: bytes, position: i64) -> tuple[i64, i64, i64]:
    """The number of a tagged field, and the start and end of its value."""
    tag, position = read_uvarint(data, position)
    size, position = read_uvarint(data, position)
    end = position + size
    if end > len(data):
        raise _bad_length(f"tag {tag}", size, len(data) - position)
    return tag, position, end


def wrong_tag_size(tag: i64) -> MalformedMessage:
    return MalformedMessage(f"tag {tag} does not have the size it declares")


def skip_tags(data: bytes, position: i64) -> i64:
    """Skip a section of unknown tagged fields."""
    count, position = read_uvarint(data, position)
    for _ in range(count):
        position = read_tag(data, position)[2]
    return position
