"""DescribeClientQuotas (API key 48). Generated from schema/describe_client_quotas.txt: do not edit."""

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
    read_compact_nullable_count,
    read_compact_nullable_string,
    read_compact_string,
    read_count,
    read_i8,
    read_nullable_count,
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
    write_i8,
    write_nullable_string,
    write_string,
    write_uvarint,
)


class ComponentData(Struct):
    __slots__ = ("entity_type", "match_type", "match")
    FIELDS: ClassVar[tuple[str, ...]] = ("entity_type", "match_type", "match")

    def __init__(self, entity_type: str = "", match_type: int = 0, match: str | None = "") -> None:
        self.entity_type = entity_type
        self.match_type = match_type
        self.match = match


def _read_component_data(data: bytes, position: i64, version: i64) -> tuple[ComponentData, i64]:
    entity_type: str
    match: str | None
    if version >= 1:
        entity_type, position = read_compact_string(data, position)
    else:
        entity_type, position = read_string(data, position)
    match_type = read_i8(data, position)
    position += 1
    if version >= 1:
        match, position = read_compact_nullable_string(data, position)
    else:
        match, position = read_nullable_string(data, position)
    if version >= 1:
        position = skip_tags(data, position) if data[position] else position + 1
    return ComponentData(entity_type, match_type, match), position


def _write_component_data(writer: BytesWriter, message: ComponentData, version: i64) -> None:
    if version >= 1:
        write_compact_string(writer, message.entity_type)
    else:
        write_string(writer, message.entity_type)
    write_i8(writer, message.match_type)
    if version >= 1:
        write_compact_nullable_string(writer, message.match)
    else:
        write_nullable_string(writer, message.match)
    if version >= 1:
        writer.append(0)


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


class ValueData(Struct):
    __slots__ = ("key", "value")
    FIELDS: ClassVar[tuple[str, ...]] = ("key", "value")

    def __init__(self, key: str = "", value: float = 0.0) -> None:
        self.key = key
        self.value = value


def _read_value_data(data: bytes, position: i64, version: i64) -> tuple[ValueData, i64]:
    key: str
    if version >= 1:
        key, position = read_compact_string(data, position)
    else:
        key, position = read_string(data, position)
    value = read_f64_be(data, position)
    position += 8
    if version >= 1:
        position = skip_tags(data, position) if data[position] else position + 1
    return ValueData(key, value), position


def _write_value_data(writer: BytesWriter, message: ValueData, version: i64) -> None:
    if version >= 1:
        write_compact_string(writer, message.key)
    else:
        write_string(writer, message.key)
    write_f64_be(writer, message.value)
    if version >= 1:
        writer.append(0)


class EntryData(Struct):
    __slots__ = ("entity", "values")
    FIELDS: ClassVar[tuple[str, ...]] = ("entity", "values")

    def __init__(self, entity: list[EntityData] = NO_ITEMS, values: list[ValueData] = NO_ITEMS) -> None:
        self.entity = [] if entity is NO_ITEMS else entity
        self.values = [] if values is NO_ITEMS else values


def _read_entry_data(data: bytes, position: i64, version: i64) -> tuple[EntryData, i64]:
    entity: list[EntityData]
    values: list[ValueData]
    if version >= 1:
        count, position = read_compact_count(data, position, 3)
        entity = []
        for nth in range(count):
            entity_item, position = _read_entity_data(data, position, version)
            entity.append(entity_item)
            if nth & LONG_RUN == LONG_RUN:
                give_way()
        count, position = read_compact_count(data, position, 10)
        values = []
        for nth in range(count):
            values_item, position = _read_value_data(data, position, version)
            values.append(values_item)
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
        count, position = read_count(data, position, 10)
        values = []
        for nth in range(count):
            values_item, position = _read_value_data(data, position, version)
            values.append(values_item)
            if nth & LONG_RUN == LONG_RUN:
                give_way()
    if version >= 1:
        position = skip_tags(data, position) if data[position] else position + 1
    return EntryData(entity, values), position


def _write_entry_data(writer: BytesWriter, message: EntryData, version: i64) -> None:
    if version >= 1:
        entity = message.entity
        write_uvarint(writer, len(entity) + 1)
        for nth, entity_item in enumerate(entity):
            _write_entity_data(writer, entity_item, version)
            if nth & LONG_RUN == LONG_RUN:
                give_way()
        values = message.values
        write_uvarint(writer, len(values) + 1)
        for nth, values_item in enumerate(values):
            _write_value_data(writer, values_item, version)
            if nth & LONG_RUN == LONG_RUN:
                give_way()
    else:
        entity = message.entity
        write_i32_be(writer, len(entity))
        for nth, entity_item in enumerate(entity):
            _write_entity_data(writer, entity_item, version)
            if nth & LONG_RUN == LONG_RUN:
                give_way()
        values = message.values
        write_i32_be(writer, len(values))
        for nth, values_item in enumerate(values):
            _write_value_data(writer, values_item, version)
            if nth & LONG_RUN == LONG_RUN:
                give_way()
    if version >= 1:
        writer.append(0)


class DescribeClientQuotasRequest(Message):
    """API key 48, versions 0 to 1."""

    __slots__ = ("components", "strict")
    FIELDS: ClassVar[tuple[str, ...]] = ("components", "strict")
    API_KEY: ClassVar[int] = 48
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 1
    FIRST_FLEXIBLE: ClassVar[int] = 1

    def __init__(self, components: list[ComponentData] = NO_ITEMS, strict: bool = False) -> None:
        self.components = [] if components is NO_ITEMS else components
        self.strict = strict

    @classmethod
    def decode(cls, data: bytes, position: int, version: int) -> tuple[DescribeClientQuotasRequest, int]:
        if version < 0 or version > 1:
            raise unknown_version("DescribeClientQuotasRequest", version, 0, 1)
        try:
            message, end = _read_describe_client_quotas_request(data, position, version)
        except (IndexError, ValueError) as error:
            raise malformed("DescribeClientQuotasRequest", version, error) from None
        return message, end

    def encode(self, version: int) -> bytes:
        if version < 0 or version > 1:
            raise unsupported_version("DescribeClientQuotasRequest", version, 0, 1)
        writer = BytesWriter()
        _write_describe_client_quotas_request(writer, self, version)
        return writer.getvalue()

    def encode_parts(self, writer_prefix: bytes, version: int) -> list[Part]:
        if version < 0 or version > 1:
            raise unsupported_version("DescribeClientQuotasRequest", version, 0, 1)
        writer = BytesWriter()
        writer.write(writer_prefix)
        _write_describe_client_quotas_request(writer, self, version)
        return [writer.getvalue()]


def _read_describe_client_quotas_request(data: bytes, position: i64, version: i64) -> tuple[DescribeClientQuotasRequest, i64]:
    components: list[ComponentData]
    if version >= 1:
        count, position = read_compact_count(data, position, 4)
        components = []
        for nth in range(count):
            components_item, position = _read_component_data(data, position, version)
            components.append(components_item)
            if nth & LONG_RUN == LONG_RUN:
                give_way()
    else:
        count, position = read_count(data, position, 5)
        components = []
        for nth in range(count):
            components_item, position = _read_component_data(data, position, version)
            components.append(components_item)
            if nth & LONG_RUN == LONG_RUN:
                give_way()
    strict = data[position] != 0
    position += 1
    if version >= 1:
        position = skip_tags(data, position) if data[position] else position + 1
    return DescribeClientQuotasRequest(components, strict), position


def _write_describe_client_quotas_request(writer: BytesWriter, message: DescribeClientQuotasRequest, version: i64) -> None:
    if version >= 1:
        components = message.components
        write_uvarint(writer, len(components) + 1)
        for nth, components_item in enumerate(components):
            _write_component_data(writer, components_item, version)
            if nth & LONG_RUN == LONG_RUN:
                give_way()
    else:
        components = message.components
        write_i32_be(writer, len(components))
        for nth, components_item in enumerate(components):
            _write_component_data(writer, components_item, version)
            if nth & LONG_RUN == LONG_RUN:
                give_way()
    write_bool(writer, message.strict)
    if version >= 1:
        writer.append(0)


class DescribeClientQuotasResponse(Message):
    """API key 48, versions 0 to 1."""

    __slots__ = ("throttle_time_ms", "error_code", "error_message", "entries")
    FIELDS: ClassVar[tuple[str, ...]] = ("throttle_time_ms", "error_code", "error_message", "entries")
    API_KEY: ClassVar[int] = 48
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 1
    FIRST_FLEXIBLE: ClassVar[int] = 1

    def __init__(self, throttle_time_ms: int = 0, error_code: int = 0, error_message: str | None = "", entries: list[EntryData] | None = NO_ITEMS) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.error_message = error_message
        self.entries = [] if entries is NO_ITEMS else entries

    @classmethod
    def decode(cls, data: bytes, position: int, version: int) -> tuple[DescribeClientQuotasResponse, int]:
        if version < 0 or version > 1:
            raise unknown_version("DescribeClientQuotasResponse", version, 0, 1)
        try:
            message, end = _read_describe_client_quotas_response(data, position, version)
        except (IndexError, ValueError) as error:
            raise malformed("DescribeClientQuotasResponse", version, error) from None
        return message, end

    def encode(self, version: int) -> bytes:
        if version < 0 or version > 1:
            raise unsupported_version("DescribeClientQuotasResponse", version, 0, 1)
        writer = BytesWriter()
        _write_describe_client_quotas_response(writer, self, version)
        return writer.getvalue()

    def encode_parts(self, writer_prefix: bytes, version: int) -> list[Part]:
        if version < 0 or version > 1:
            raise unsupported_version("DescribeClientQuotasResponse", version, 0, 1)
        writer = BytesWriter()
        writer.write(writer_prefix)
        _write_describe_client_quotas_response(writer, self, version)
        return [writer.getvalue()]


def _read_describe_client_quotas_response(data: bytes, position: i64, version: i64) -> tuple[DescribeClientQuotasResponse, i64]:
    error_message: str | None
    entries: list[EntryData] | None
    throttle_time_ms = read_i32_be(data, position)
    error_code = read_i16_be(data, position + 4)
    position += 6
    if version >= 1:
        error_message, position = read_compact_nullable_string(data, position)
        count, position = read_compact_nullable_count(data, position, 3)
        if count < 0:
            entries = None
        else:
            entries = []
            for nth in range(count):
                entries_item, position = _read_entry_data(data, position, version)
                entries.append(entries_item)
                if nth & LONG_RUN == LONG_RUN:
                    give_way()
    else:
        error_message, position = read_nullable_string(data, position)
        count, position = read_nullable_count(data, position, 8)
        if count < 0:
            entries = None
        else:
            entries = []
            for nth in range(count):
                entries_item, position = _read_entry_data(data, position, version)
                entries.append(entries_item)
                if nth & LONG_RUN == LONG_RUN:
                    give_way()
    if version >= 1:
        position = skip_tags(data, position) if data[position] else position + 1
    return DescribeClientQuotasResponse(throttle_time_ms, error_code, error_message, entries), position


def _write_describe_client_quotas_response(writer: BytesWriter, message: DescribeClientQuotasResponse, version: i64) -> None:
    write_i32_be(writer, message.throttle_time_ms)
    write_i16_be(writer, message.error_code)
    if version >= 1:
        write_compact_nullable_string(writer, message.error_message)
        entries = message.entries
        if entries is None:
            writer.append(0)
        else:
            write_uvarint(writer, len(entries) + 1)
            for nth, entries_item in enumerate(entries):
                _write_entry_data(writer, entries_item, version)
                if nth & LONG_RUN == LONG_RUN:
                    give_way()
    else:
        write_nullable_string(writer, message.error_message)
        entries = message.entries
        if entries is None:
            write_i32_be(writer, -1)
        else:
            write_i32_be(writer, len(entries))
            for nth, entries_item in enumerate(entries):
                _write_entry_data(writer, entries_item, version)
                if nth & LONG_RUN == LONG_RUN:
                    give_way()
    if version >= 1:
        writer.append(0)
