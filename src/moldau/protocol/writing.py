"""Encoding primitives: one value appended to a ``BytesWriter``.

The counterpart of ``reading``. Out-of-range numbers and over-long strings are a
``ValueError``, as is a null that the version does not allow: the message was built incorrectly.
"""

from typing import Final

from librt.strings import BytesWriter, read_i64_be, write_i16_be, write_i32_be, write_i64_be
from mypy_extensions import i64

from moldau.protocol.file_region import FileRegion, Part
from moldau.protocol.giving_way import give_way, give_way_among_numbers
from moldau.protocol.message import PackedRows
from moldau.protocol.reading import LONG_RUN, MAX_STRING_BYTES

# Records up to this size are copied into the message: another buffer in the response costs
# more than the copy.
COPIED_RECORDS_BYTES: Final = 1024


def unsupported_version(name: str, version: int, lowest: int, highest: int) -> ValueError:
    return ValueError(f"{name} has no version {version}: versions are {lowest} to {highest}")


def unsupported_field(name: str, field: str, version: int) -> ValueError:
    """The version has no such field, and the value must not be dropped silently."""
    return ValueError(f"{name}.{field} is set, but version {version} has no such field")


def null_field(name: str, field: str, version: int) -> ValueError:
    return ValueError(f"{name}.{field} is None, which version {version} does not allow")


def write_uvarint(writer: BytesWriter, value: i64) -> None:
    """An unsigned varint; also of negative 32-bit numbers, as their bits."""
    # Compiled code appends an ``int`` directly, but would call the method for an ``i64``.
    byte: int
    if value < 0:
        value &= 0xFFFFFFFF
    while value >= 128:
        byte = (value & 0x7F) | 0x80
        writer.append(byte)
        value >>= 7
    byte = value
    writer.append(byte)


def write_varint(writer: BytesWriter, value: i64) -> None:
    """A zigzag varint of 32 bits, as records use them."""
    write_uvarint(writer, ((value << 1) ^ (value >> 31)) & 0xFFFFFFFF)


def write_varlong(writer: BytesWriter, value: int) -> None:
    """A zigzag varint of 64 bits, as record timestamps use them."""
    rest: int = ((value << 1) ^ (value >> 63)) & 0xFFFFFFFFFFFFFFFF
    while rest >= 128:
        writer.append((rest & 0x7F) | 0x80)
        rest >>= 7
    writer.append(rest)


def write_bool(writer: BytesWriter, value: bool) -> None:
    writer.append(1 if value else 0)


def write_i8(writer: BytesWriter, value: int) -> None:
    if value < -128 or value > 127:
        raise ValueError(f"{value} is not an int8")
    writer.append(value & 0xFF)


def write_u16(writer: BytesWriter, value: int) -> None:
    if value < 0 or value > 0xFFFF:
        raise ValueError(f"{value} is not a uint16")
    write_i16_be(writer, value - 0x10000 if value > 0x7FFF else value)


def write_u32(writer: BytesWriter, value: int) -> None:
    if value < 0 or value > 0xFFFFFFFF:
        raise ValueError(f"{value} is not a uint32")
    write_i32_be(writer, value - 0x100000000 if value > 0x7FFFFFFF else value)


def write_uuid(writer: BytesWriter, value: bytes) -> None:
    if len(value) != 16:
        raise ValueError(f"{value!r} is not a uuid: expected 16 bytes")
    writer.write(value)


def _encode_string(value: str) -> bytes:
    raw = value.encode()
    if len(raw) > MAX_STRING_BYTES:
        raise ValueError(f"string of {len(raw)} bytes: at most {MAX_STRING_BYTES} fit")
    return raw


def write_string(writer: BytesWriter, value: str) -> None:
    raw = _encode_string(value)
    write_i16_be(writer, len(raw))
    writer.write(raw)


def write_nullable_string(writer: BytesWriter, value: str | None) -> None:
    if value is None:
        write_i16_be(writer, -1)
    else:
        write_string(writer, value)


def write_compact_string(writer: BytesWriter, value: str) -> None:
    raw = _encode_string(value)
    write_uvarint(writer, len(raw) + 1)
    writer.write(raw)


def write_compact_nullable_string(writer: BytesWriter, value: str | None) -> None:
    if value is None:
        writer.append(0)
    else:
        write_compact_string(writer, value)


def write_bytes(writer: BytesWriter, value: bytes) -> None:
    write_i32_be(writer, len(value))
    writer.write(value)


def write_nullable_bytes(writer: BytesWriter, value: bytes | None) -> None:
    if value is None:
        write_i32_be(writer, -1)
    else:
        write_bytes(writer, value)


def write_compact_bytes(writer: BytesWriter, value: bytes) -> None:
    write_uvarint(writer, len(value) + 1)
    writer.write(value)


def write_compact_nullable_bytes(writer: BytesWriter, value: bytes | None) -> None:
    if value is None:
        writer.append(0)
    else:
        write_compact_bytes(writer, value)


def _write_record_bytes(writer: BytesWriter, parts: list[Part] | None, records: Part) -> None:
    """Append small records to ``writer``; large ones become a separate part."""
    if parts is not None and len(records) > COPIED_RECORDS_BYTES:
        parts.append(writer.getvalue())
        parts.append(records)
        writer.truncate(0)
    elif isinstance(records, bytes):
        writer.write(records)
    elif isinstance(records, FileRegion):
        writer.write(records.read())
    else:
        writer.write(bytes(records))


def write_records(writer: BytesWriter, parts: list[Part] | None, records: Part) -> None:
    """Record batches; ``parts`` collects the buffers (None: copy everything)."""
    write_i32_be(writer, len(records))
    _write_record_bytes(writer, parts, records)


def write_nullable_records(
    writer: BytesWriter, parts: list[Part] | None, records: Part | None
) -> None:
    if records is None:
        write_i32_be(writer, -1)
    else:
        write_records(writer, parts, records)


def write_compact_records(writer: BytesWriter, parts: list[Part] | None, records: Part) -> None:
    write_uvarint(writer, len(records) + 1)
    _write_record_bytes(writer, parts, records)


def write_compact_nullable_records(
    writer: BytesWriter, parts: list[Part] | None, records: Part | None
) -> None:
    if records is None:
        writer.append(0)
    else:
        write_compact_records(writer, parts, records)


def write_i8_list(writer: BytesWriter, values: list[int]) -> None:
    for nth, value in enumerate(values):
        write_i8(writer, value)
        if nth & LONG_RUN == LONG_RUN:
            give_way_among_numbers()


def write_i16_list(writer: BytesWriter, values: list[int]) -> None:
    for nth, value in enumerate(values):
        write_i16_be(writer, value)
        if nth & LONG_RUN == LONG_RUN:
            give_way_among_numbers()


def write_i32_list(writer: BytesWriter, values: list[int]) -> None:
    for nth, value in enumerate(values):
        write_i32_be(writer, value)
        if nth & LONG_RUN == LONG_RUN:
            give_way_among_numbers()


def write_i64_list(writer: BytesWriter, values: list[int]) -> None:
    for nth, value in enumerate(values):
        write_i64_be(writer, value)
        if nth & LONG_RUN == LONG_RUN:
            give_way_among_numbers()


def write_uuid_list(writer: BytesWriter, values: list[bytes]) -> None:
    for nth, value in enumerate(values):
        write_uuid(writer, value)
        if nth & LONG_RUN == LONG_RUN:
            give_way()


def write_string_list(writer: BytesWriter, values: list[str]) -> None:
    for nth, value in enumerate(values):
        write_string(writer, value)
        if nth & LONG_RUN == LONG_RUN:
            give_way()


def write_compact_string_list(writer: BytesWriter, values: list[str]) -> None:
    for nth, value in enumerate(values):
        write_compact_string(writer, value)
        if nth & LONG_RUN == LONG_RUN:
            give_way()


def write_tag(writer: BytesWriter, tag: i64, body: BytesWriter) -> None:
    """A tagged field whose value has been written to ``body``."""
    raw = body.getvalue()
    write_uvarint(writer, tag)
    write_uvarint(writer, len(raw))
    writer.write(raw)


def write_compact_rows(writer: BytesWriter, rows: PackedRows, size: i64) -> None:
    """Items of ``size`` bytes, which are 64-bit numbers, with an empty section of tags each."""
    write_uvarint(writer, len(rows) + 1)
    _write_rows(writer, rows, size, True)


def write_rows(writer: BytesWriter, rows: PackedRows, size: i64) -> None:
    """The same in a version without tags."""
    write_i32_be(writer, len(rows))
    _write_rows(writer, rows, size, False)


def _write_rows(writer: BytesWriter, rows: PackedRows, size: i64, has_tags: bool) -> None:
    data = rows.data
    row_bytes: i64 = rows.row_bytes
    at: i64 = rows.at
    end: i64 = len(data)
    number: i64 = 0
    while at < end:
        position: i64 = at
        while position < at + size:
            write_i64_be(writer, read_i64_be(data, position))
            position += 8
        if has_tags:
            writer.append(0)
        at += row_bytes
        number += 1
        if number & LONG_RUN == LONG_RUN:
            give_way()
