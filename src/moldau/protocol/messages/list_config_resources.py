"""ListConfigResources (API key 74). Generated from schema/list_config_resources.txt: do not edit."""

# fmt: off
from __future__ import annotations

from typing import ClassVar

from librt.strings import BytesWriter, read_i16_be, read_i32_be, write_i16_be, write_i32_be
from mypy_extensions import i64

from moldau.protocol.file_region import Part
from moldau.protocol.giving_way import give_way
from moldau.protocol.message import NO_ITEMS, Message, Struct
from moldau.protocol.reading import (
    LONG_RUN,
    malformed,
    read_compact_count,
    read_compact_string,
    read_i8,
    read_i8_list,
    skip_tags,
    unknown_version,
)
from moldau.protocol.writing import (
    unsupported_field,
    unsupported_version,
    write_compact_string,
    write_i8,
    write_i8_list,
    write_uvarint,
)


class ConfigResource(Struct):
    __slots__ = ("resource_name", "resource_type")
    FIELDS: ClassVar[tuple[str, ...]] = ("resource_name", "resource_type")

    def __init__(self, resource_name: str = "", resource_type: int = 16) -> None:
        self.resource_name = resource_name
        self.resource_type = resource_type


def _read_config_resource(data: bytes, position: i64, version: i64) -> tuple[ConfigResource, i64]:
    resource_type: int
    resource_name, position = read_compact_string(data, position)
    if version >= 1:
        resource_type = read_i8(data, position)
        position += 1
    else:
        resource_type = 16
    position = skip_tags(data, position) if data[position] else position + 1
    return ConfigResource(resource_name, resource_type), position


def _write_config_resource(writer: BytesWriter, message: ConfigResource, version: i64) -> None:
    write_compact_string(writer, message.resource_name)
    if version >= 1:
        write_i8(writer, message.resource_type)
    writer.append(0)


class ListConfigResourcesRequest(Message):
    """API key 74, versions 0 to 1."""

    __slots__ = ("resource_types",)
    FIELDS: ClassVar[tuple[str, ...]] = ("resource_types",)
    API_KEY: ClassVar[int] = 74
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 1
    FIRST_FLEXIBLE: ClassVar[int] = 0

    def __init__(self, resource_types: list[int] = NO_ITEMS) -> None:
        self.resource_types = [] if resource_types is NO_ITEMS else resource_types

    @classmethod
    def decode(cls, data: bytes, position: int, version: int) -> tuple[ListConfigResourcesRequest, int]:
        if version < 0 or version > 1:
            raise unknown_version("ListConfigResourcesRequest", version, 0, 1)
        try:
            message, end = _read_list_config_resources_request(data, position, version)
        except (IndexError, ValueError) as error:
            raise malformed("ListConfigResourcesRequest", version, error) from None
        return message, end

    def encode(self, version: int) -> bytes:
        if version < 0 or version > 1:
            raise unsupported_version("ListConfigResourcesRequest", version, 0, 1)
        writer = BytesWriter()
        _write_list_config_resources_request(writer, self, version)
        return writer.getvalue()

    def encode_parts(self, writer_prefix: bytes, version: int) -> list[Part]:
        if version < 0 or version > 1:
            raise unsupported_version("ListConfigResourcesRequest", version, 0, 1)
        writer = BytesWriter()
        writer.write(writer_prefix)
        _write_list_config_resources_request(writer, self, version)
        return [writer.getvalue()]


def _read_list_config_resources_request(data: bytes, position: i64, version: i64) -> tuple[ListConfigResourcesRequest, i64]:
    resource_types: list[int]
    if version >= 1:
        count, position = read_compact_count(data, position, 1)
        resource_types = read_i8_list(data, position, count)
        position += count
    else:
        resource_types = []
    position = skip_tags(data, position) if data[position] else position + 1
    return ListConfigResourcesRequest(resource_types), position


def _write_list_config_resources_request(writer: BytesWriter, message: ListConfigResourcesRequest, version: i64) -> None:
    if version >= 1:
        resource_types = message.resource_types
        write_uvarint(writer, len(resource_types) + 1)
        write_i8_list(writer, resource_types)
    else:
        if message.resource_types:
            raise unsupported_field("ListConfigResourcesRequest", "resource_types", version)
    writer.append(0)


class ListConfigResourcesResponse(Message):
    """API key 74, versions 0 to 1."""

    __slots__ = ("throttle_time_ms", "error_code", "config_resources")
    FIELDS: ClassVar[tuple[str, ...]] = ("throttle_time_ms", "error_code", "config_resources")
    API_KEY: ClassVar[int] = 74
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 1
    FIRST_FLEXIBLE: ClassVar[int] = 0

    def __init__(self, throttle_time_ms: int = 0, error_code: int = 0, config_resources: list[ConfigResource] = NO_ITEMS) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.config_resources = [] if config_resources is NO_ITEMS else config_resources

    @classmethod
    def decode(cls, data: bytes, position: int, version: int) -> tuple[ListConfigResourcesResponse, int]:
        if version < 0 or version > 1:
            raise unknown_version("ListConfigResourcesResponse", version, 0, 1)
        try:
            message, end = _read_list_config_resources_response(data, position, version)
        except (IndexError, ValueError) as error:
            raise malformed("ListConfigResourcesResponse", version, error) from None
        return message, end

    def encode(self, version: int) -> bytes:
        if version < 0 or version > 1:
            raise unsupported_version("ListConfigResourcesResponse", version, 0, 1)
        writer = BytesWriter()
        _write_list_config_resources_response(writer, self, version)
        return writer.getvalue()

    def encode_parts(self, writer_prefix: bytes, version: int) -> list[Part]:
        if version < 0 or version > 1:
            raise unsupported_version("ListConfigResourcesResponse", version, 0, 1)
        writer = BytesWriter()
        writer.write(writer_prefix)
        _write_list_config_resources_response(writer, self, version)
        return [writer.getvalue()]


def _read_list_config_resources_response(data: bytes, position: i64, version: i64) -> tuple[ListConfigResourcesResponse, i64]:
    config_resources: list[ConfigResource]
    throttle_time_ms = read_i32_be(data, position)
    error_code = read_i16_be(data, position + 4)
    position += 6
    count, position = read_compact_count(data, position, 2)
    config_resources = []
    for nth in range(count):
        config_resources_item, position = _read_config_resource(data, position, version)
        config_resources.append(config_resources_item)
        if nth & LONG_RUN == LONG_RUN:
            give_way()
    position = skip_tags(data, position) if data[position] else position + 1
    return ListConfigResourcesResponse(throttle_time_ms, error_code, config_resources), position


def _write_list_config_resources_response(writer: BytesWriter, message: ListConfigResourcesResponse, version: i64) -> None:
    write_i32_be(writer, message.throttle_time_ms)
    write_i16_be(writer, message.error_code)
    config_resources = message.config_resources
    write_uvarint(writer, len(config_resources) + 1)
    for nth, config_resources_item in enumerate(config_resources):
        _write_config_resource(writer, config_resources_item, version)
        if nth & LONG_RUN == LONG_RUN:
            give_way()
    writer.append(0)
