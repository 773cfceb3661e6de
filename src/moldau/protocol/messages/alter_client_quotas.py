"""AlterClientQuotas (API key 49). Generated from schema/alter_client_quotas.txt: do not edit."""

# fmt: off
from __future__ import annotations

from typing import ClassVar

from librt.strings import (
    BytesWriter,
    read_f64_be,
    read_i16_be,
    read_i32_be,
    write_f64_be,
    write_i16_be,
    write_i32_be,
)
from mypy_extensions import i64

from moldau.protocol.file_region import Part
from moldau.protocol.giving_way import give_way
from moldau.protocol.message import NO_ITEMS, Message, Struct
from moldau.protocol.reading import (
    LONG_RUN,
    malformed,
    read_compact_count,
    read_compact_nullable_string,
    read_compact_string,
    read_count,
    read_nullable_string,
    read_string,
    skip_tags,
    unknown_version,
)
from moldau.protocol.writing import (
    unsupported_version,
    write_bool,
    write_compact_nullable_string,
    write_compact_string,
    write_nullable_string,
    write_string,
    write_uvarint,
)


class EntityData(Struct):
    __slots__ = ("entity_type", "entity_name")
    FIELDS: ClassVar[tuple[str, ...]] = ("entity_type", "entity_name")

    def __init__(self, entity_type: str = "", entity_name: str | None = "") -> None:
        self.entity_type = entity_type
        self.entity_name = entity_name


def _read_entity_data(data: bytes, position: i64, version: i64) -> tuple[EntityData, i64]:
    entity_type: str
    entity_name: str | None
    if version >= 1:
        entity_type, position = read_compact_string(data, position)
        entity_name, position = read_compact_nullable_string(data, position)
    else:
        entity_type, position = read_string(data, position)
        entity_name, position = read_nullable_string(data, position)
    if version >= 1:
        position = skip_tags(data, position) if data[position] else position + 1
    return EntityData(entity_type, entity_name), position


def _write_entity_data(writer: BytesWriter, message: EntityData, version: i64) -> None:
    if version >= 1:
        write_compact_string(writer, message.entity_type)
        write_compact_nullable_string(writer, message.entity_name)
    else:
        write_string(writer, message.entity_type)
        write_nullable_string(writer, message.entity_name)
    if version >= 1:
        writer.append(0)


class OpData(Struct):
    __slots__ = ("key", "value", "remove")
    FIELDS: ClassVar[tuple[str, ...]] = ("key", "value", "remove")

    def __init__(self, key: str = "", value: float = 0.0, remove: bool = False) -> None:
        self.key = key
        self.value = value
        self.remove = remove


def _read_op_data(data: bytes, position: i64, version: i64) -> tuple[OpData, i64]:
    key: str
    if version >= 1:
        key, position = read_compact_string(data, position)
    else:
        key, position = read_string(data, position)
    value = read_f64_be(data, position)
    remove = data[position + 8] != 0
    position += 9
    if version >= 1:
        position = skip_tags(data, position) if data[position] else position + 1
    return OpData(key, value, remove), position


def _write_op_data(writer: BytesWriter, message: OpData, version: i64) -> None:
    if version >= 1:
        write_compact_string(writer, message.key)
    else:
        write_string(writer, message.key)
    write_f64_be(writer, message.value)
    write_bool(writer, message.remove)
    if version >= 1:
        writer.append(0)


class EntryData(Struct):
    __slots__ = ("entity", "ops")
    FIELDS: ClassVar[tuple[str, ...]] = ("entity", "ops")

    def __init__(self, entity: list[EntityData] = NO_ITEMS, ops: list[OpData] = NO_ITEMS) -> None:
        self.entity = [] if entity is NO_ITEMS else entity
        self.ops = [] if ops is NO_ITEMS else ops


def _read_entry_data(data: bytes, position: i64, version: i64) -> tuple[EntryData, i64]:
    entity: list[EntityData]
    ops: list[OpData]
    if version >= 1:
        count, position = read_compact_count(data, position, 3)
        entity = []
        for nth in range(count):
            entity_item, position = _read_entity_data(data, position, version)
            entity.append(entity_item)
            if nth & LONG_RUN == LONG_RUN:
                give_way()
        count, position = read_compact_count(data, position, 11)
        ops = []
        for nth in range(count):
            ops_item, position = _read_op_data(data, position, version)
            ops.append(ops_item)
            if nth & LONG_RUN == LONG_RUN:
                give_way()
    else:
        count, position = read_count(data, position, 4)
        entity = []
        for nth in range(count):
            entity_item, position = _read_entity_data(data, position, version)
            entity.append(entity_item)
            if nth & LONG_RUN == LONG_RUN:
                give_way()
        count, position = read_count(data, position, 11)
        ops = []
        for nth in range(count):
            ops_item, position = _read_op_data(data, position, version)
            ops.append(ops_item)
            if nth & LONG_RUN == LONG_RUN:
                give_way()
    if version >= 1:
        position = skip_tags(data, position) if data[position] else position + 1
    return EntryData(entity, ops), position


def _write_entry_data(writer: BytesWriter, message: EntryData, version: i64) -> None:
    if version >= 1:
        entity = message.entity
        write_uvarint(writer, len(entity) + 1)
        for nth, entity_item in enumerate(entity):
            _write_entity_data(writer, entity_item, version)
            if nth & LONG_RUN == LONG_RUN:
                give_way()
        ops = message.ops
        write_uvarint(writer, len(ops) + 1)
        for nth, ops_item in enumerate(ops):
            _write_op_data(writer, ops_item, version)
            if nth & LONG_RUN == LONG_RUN:
                give_way()
    else:
        entity = message.entity
        write_i32_be(writer, len(entity))
        for nth, entity_item in enumerate(entity):
            _write_entity_data(writer, entity_item, version)
            if nth & LONG_RUN == LONG_RUN:
                give_way()
        ops = message.ops
        write_i32_be(writer, len(ops))
        for nth, ops_item in enumerate(ops):
            _write_op_data(writer, ops_item, version)
            if nth & LONG_RUN == LONG_RUN:
                give_way()
    if version >= 1:
        writer.append(0)


class EntryDataResponse(Struct):
    __slots__ = ("error_code", "error_message", "entity")
    FIELDS: ClassVar[tuple[str, ...]] = ("error_code", "error_message", "entity")

    def __init__(self, error_code: int = 0, error_message: str | None = "", entity: list[EntityData] = NO_ITEMS) -> None:
        self.error_code = error_code
        self.error_message = error_message
        self.entity = [] if entity is NO_ITEMS else entity


def _read_entry_data_response(data: bytes, position: i64, version: i64) -> tuple[EntryDataResponse, i64]:
    error_message: str | None
    entity: list[EntityData]
    error_code = read_i16_be(data, position)
    position += 2
    if version >= 1:
        error_message, position = read_compact_nullable_string(data, position)
        count, position = read_compact_count(data, position, 3)
        entity = []
        for nth in range(count):
            entity_item, position = _read_entity_data(data, position, version)
            entity.append(entity_item)
            if nth & LONG_RUN == LONG_RUN:
                give_way()
    else:
        error_message, position = read_nullable_string(data, position)
        count, position = read_count(data, position, 4)
        entity = []
        for nth in range(count):
            entity_item, position = _read_entity_data(data, position, version)
            entity.append(entity_item)
            if nth & LONG_RUN == LONG_RUN:
                give_way()
    if version >= 1:
        position = skip_tags(data, position) if data[position] else position + 1
    return EntryDataResponse(error_code, error_message, entity), position


def _write_entry_data_response(writer: BytesWriter, message: EntryDataResponse, version: i64) -> None:
    write_i16_be(writer, message.error_code)
    if version >= 1:
        write_compact_nullable_string(writer, message.error_message)
        entity = message.entity
        write_uvarint(writer, len(entity) + 1)
        for nth, entity_item in enumerate(entity):
            _write_entity_data(writer, entity_item, version)
            if nth & LONG_RUN == LONG_RUN:
                give_way()
    else:
        write_nullable_string(writer, message.error_message)
        entity = message.entity
        write_i32_be(writer, len(entity))
        for nth, entity_item in enumerate(entity):
            _write_entity_data(writer, entity_item, version)
            if nth & LONG_RUN == LONG_RUN:
                give_way()
    if version >= 1:
        writer.append(0)


class AlterClientQuotasRequest(Message):
    """API key 49, versions 0 to 1."""

    __slots__ = ("entries", "validate_only")
    FIELDS: ClassVar[tuple[str, ...]] = ("entries", "validate_only")
    API_KEY: ClassVar[int] = 49
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 1
    FIRST_FLEXIBLE: ClassVar[int] = 1

    def __init__(self, entries: list[EntryData] = NO_ITEMS, validate_only: bool = False) -> None:
        self.entries = [] if entries is NO_ITEMS else entries
        self.validate_only = validate_only

    @classmethod
    def decode(cls, data: bytes, position: int, version: int) -> tuple[AlterClientQuotasRequest, int]:
        if version < 0 or version > 1:
            raise unknown_version("AlterClientQuotasRequest", version, 0, 1)
        try:
            message, end = _read_alter_client_quotas_request(data, position, version)
        except (IndexError, ValueError) as error:
            raise malformed("AlterClientQuotasRequest", version, error) from None
        return message, end

    def encode(self, version: int) -> bytes:
        if version < 0 or version > 1:
            raise unsupported_version("AlterClientQuotasRequest", version, 0, 1)
        writer = BytesWriter()
        _write_alter_client_quotas_request(writer, self, version)
        return writer.getvalue()

    def encode_parts(self, writer_prefix: bytes, version: int) -> list[Part]:
        if version < 0 or version > 1:
            raise unsupported_version("AlterClientQuotasRequest", version, 0, 1)
        writer = BytesWriter()
        writer.write(writer_prefix)
        _write_alter_client_quotas_request(writer, self, version)
        return [writer.getvalue()]


def _read_alter_client_quotas_request(data: bytes, position: i64, version: i64) -> tuple[AlterClientQuotasRequest, i64]:
    entries: list[EntryData]
    if version >= 1:
        count, position = read_compact_count(data, position, 3)
        entries = []
        for nth in range(count):
            entries_item, position = _read_entry_data(data, position, version)
            entries.append(entries_item)
            if nth & LONG_RUN == LONG_RUN:
                give_way()
    else:
        count, position = read_count(data, position, 8)
        entries = []
        for nth in range(count):
            entries_item, position = _read_entry_data(data, position, version)
            entries.append(entries_item)
            if nth & LONG_RUN == LONG_RUN:
                give_way()
    validate_only = data[position] != 0
    position += 1
    if version >= 1:
        position = skip_tags(data, position) if data[position] else position + 1
    return AlterClientQuotasRequest(entries, validate_only), position


def _write_alter_client_quotas_request(writer: BytesWriter, message: AlterClientQuotasRequest, version: i64) -> None:
    if version >= 1:
        entries = message.entries
        write_uvarint(writer, len(entries) + 1)
        for nth, entries_item in enumerate(entries):
            _write_entry_data(writer, entries_item, version)
            if nth & LONG_RUN == LONG_RUN:
                give_way()
    else:
        entries = message.entries
        write_i32_be(writer, len(entries))
        for nth, entries_item in enumerate(entries):
            _write_entry_data(writer, entries_item, version)
            if nth & LONG_RUN == LONG_RUN:
                give_way()
    write_bool(writer, message.validate_only)
    if version >= 1:
        writer.append(0)


class AlterClientQuotasResponse(Message):
    """API key 49, versions 0 to 1."""

    __slots__ = ("throttle_time_ms", "entries")
    FIELDS: ClassVar[tuple[str, ...]] = ("throttle_time_ms", "entries")
    API_KEY: ClassVar[int] = 49
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 1
    FIRST_FLEXIBLE: ClassVar[int] = 1

    def __init__(self, throttle_time_ms: int = 0, entries: list[EntryDataResponse] = NO_ITEMS) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.entries = [] if entries is NO_ITEMS else entries

    @classmethod
    def decode(cls, data: bytes, position: int, version: int) -> tuple[AlterClientQuotasResponse, int]:
        if version < 0 or version > 1:
            raise unknown_version("AlterClientQuotasResponse", version, 0, 1)
        try:
            message, end = _read_alter_client_quotas_response(data, position, version)
        except (IndexError, ValueError) as error:
            raise malformed("AlterClientQuotasResponse", version, error) from None
        return message, end

    def encode(self, version: int) -> bytes:
        if version < 0 or version > 1:
            raise unsupported_version("AlterClientQuotasResponse", version, 0, 1)
        writer = BytesWriter()
        _write_alter_client_quotas_response(writer, self, version)
        return writer.getvalue()

    def encode_parts(self, writer_prefix: bytes, version: int) -> list[Part]:
        if version < 0 or version > 1:
            raise unsupported_version("AlterClientQuotasResponse", version, 0, 1)
        writer = BytesWriter()
        writer.write(writer_prefix)
        _write_alter_client_quotas_response(writer, self, version)
        return [writer.getvalue()]


def _read_alter_client_quotas_response(data: bytes, position: i64, version: i64) -> tuple[AlterClientQuotasResponse, i64]:
    entries: list[EntryDataResponse]
    throttle_time_ms = read_i32_be(data, position)
    position += 4
    if version >= 1:
        count, position = read_compact_count(data, position, 5)
        entries = []
        for nth in range(count):
            entries_item, position = _read_entry_data_response(data, position, version)
            entries.append(entries_item)
            if nth & LONG_RUN == LONG_RUN:
                give_way()
    else:
        count, position = read_count(data, position, 8)
        entries = []
        for nth in range(count):
            entries_item, position = _read_entry_data_response(data, position, version)
            entries.append(entries_item)
            if nth & LONG_RUN == LONG_RUN:
                give_way()
    if version >= 1:
        position = skip_tags(data, position) if data[position] else position + 1
    return AlterClientQuotasResponse(throttle_time_ms, entries), position


def _write_alter_client_quotas_response(writer: BytesWriter, message: AlterClientQuotasResponse, version: i64) -> None:
    write_i32_be(writer, message.throttle_time_ms)
    if version >= 1:
        entries = message.entries
        write_uvarint(writer, len(entries) + 1)
        for nth, entries_item in enumerate(entries):
            _write_entry_data_response(writer, entries_item, version)
            if nth & LONG_RUN == LONG_RUN:
                give_way()
    else:
        entries = message.entries
        write_i32_be(writer, len(entries))
        for nth, entries_item in enumerate(entries):
            _write_entry_data_response(writer, entries_item, version)
            if nth & LONG_RUN == LONG_RUN:
                give_way()
    if version >= 1:
        writer.append(0)
