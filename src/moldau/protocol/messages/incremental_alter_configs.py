"""IncrementalAlterConfigs (API key 44). Generated from schema/incremental_alter_configs.txt: do not edit."""

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
    read_compact_nullable_string,
    read_compact_string,
    read_count,
    read_i8,
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


class AlterableConfig(Struct):
    __slots__ = ("name", "config_operation", "value")
    FIELDS: ClassVar[tuple[str, ...]] = ("name", "config_operation", "value")

    def __init__(self, name: str = "", config_operation: int = 0, value: str | None = "") -> None:
        self.name = name
        self.config_operation = config_operation
        self.value = value


def _read_alterable_config(data: bytes, position: i64, version: i64) -> tuple[AlterableConfig, i64]:
    name: str
    value: str | None
    if version >= 1:
        name, position = read_compact_string(data, position)
    else:
        name, position = read_string(data, position)
    config_operation = read_i8(data, position)
    position += 1
    if version >= 1:
        value, position = read_compact_nullable_string(data, position)
    else:
        value, position = read_nullable_string(data, position)
    if version >= 1:
        position = skip_tags(data, position) if data[position] else position + 1
    return AlterableConfig(name, config_operation, value), position


def _write_alterable_config(writer: BytesWriter, message: AlterableConfig, version: i64) -> None:
    if version >= 1:
        write_compact_string(writer, message.name)
    else:
        write_string(writer, message.name)
    write_i8(writer, message.config_operation)
    if version >= 1:
        write_compact_nullable_string(writer, message.value)
    else:
        write_nullable_string(writer, message.value)
    if version >= 1:
        writer.append(0)


class AlterConfigsResource(Struct):
    __slots__ = ("resource_type", "resource_name", "configs")
    FIELDS: ClassVar[tuple[str, ...]] = ("resource_type", "resource_name", "configs")

    def __init__(self, resource_type: int = 0, resource_name: str = "", configs: list[AlterableConfig] = NO_ITEMS) -> None:
        self.resource_type = resource_type
        self.resource_name = resource_name
        self.configs = [] if configs is NO_ITEMS else configs


def _read_alter_configs_resource(data: bytes, position: i64, version: i64) -> tuple[AlterConfigsResource, i64]:
    resource_name: str
    configs: list[AlterableConfig]
    resource_type = read_i8(data, position)
    position += 1
    if version >= 1:
        resource_name, position = read_compact_string(data, position)
        count, position = read_compact_count(data, position, 4)
        configs = []
        for nth in range(count):
            configs_item, position = _read_alterable_config(data, position, version)
            configs.append(configs_item)
            if nth & LONG_RUN == LONG_RUN:
                give_way()
    else:
        resource_name, position = read_string(data, position)
        count, position = read_count(data, position, 5)
        configs = []
        for nth in range(count):
            configs_item, position = _read_alterable_config(data, position, version)
            configs.append(configs_item)
            if nth & LONG_RUN == LONG_RUN:
                give_way()
    if version >= 1:
        position = skip_tags(data, position) if data[position] else position + 1
    return AlterConfigsResource(resource_type, resource_name, configs), position


def _write_alter_configs_resource(writer: BytesWriter, message: AlterConfigsResource, version: i64) -> None:
    write_i8(writer, message.resource_type)
    if version >= 1:
        write_compact_string(writer, message.resource_name)
        configs = message.configs
        write_uvarint(writer, len(configs) + 1)
        for nth, configs_item in enumerate(configs):
            _write_alterable_config(writer, configs_item, version)
            if nth & LONG_RUN == LONG_RUN:
                give_way()
    else:
        write_string(writer, message.resource_name)
        configs = message.configs
        write_i32_be(writer, len(configs))
        for nth, configs_item in enumerate(configs):
            _write_alterable_config(writer, configs_item, version)
            if nth & LONG_RUN == LONG_RUN:
                give_way()
    if version >= 1:
        writer.append(0)


class AlterConfigsResourceResponse(Struct):
    __slots__ = ("error_code", "error_message", "resource_type", "resource_name")
    FIELDS: ClassVar[tuple[str, ...]] = ("error_code", "error_message", "resource_type", "resource_name")

    def __init__(self, error_code: int = 0, error_message: str | None = "", resource_type: int = 0, resource_name: str = "") -> None:
        self.error_code = error_code
        self.error_message = error_message
        self.resource_type = resource_type
        self.resource_name = resource_name


def _read_alter_configs_resource_response(data: bytes, position: i64, version: i64) -> tuple[AlterConfigsResourceResponse, i64]:
    error_message: str | None
    resource_name: str
    error_code = read_i16_be(data, position)
    position += 2
    if version >= 1:
        error_message, position = read_compact_nullable_string(data, position)
    else:
        error_message, position = read_nullable_string(data, position)
    resource_type = read_i8(data, position)
    position += 1
    if version >= 1:
        resource_name, position = read_compact_string(data, position)
    else:
        resource_name, position = read_string(data, position)
    if version >= 1:
        position = skip_tags(data, position) if data[position] else position + 1
    return AlterConfigsResourceResponse(error_code, error_message, resource_type, resource_name), position


def _write_alter_configs_resource_response(writer: BytesWriter, message: AlterConfigsResourceResponse, version: i64) -> None:
    write_i16_be(writer, message.error_code)
    if version >= 1:
        write_compact_nullable_string(writer, message.error_message)
    else:
        write_nullable_string(writer, message.error_message)
    write_i8(writer, message.resource_type)
    if version >= 1:
        write_compact_string(writer, message.resource_name)
    else:
        write_string(writer, message.resource_name)
    if version >= 1:
        writer.append(0)


class IncrementalAlterConfigsRequest(Message):
    """API key 44, versions 0 to 1."""

    __slots__ = ("resources", "validate_only")
    FIELDS: ClassVar[tuple[str, ...]] = ("resources", "validate_only")
    API_KEY: ClassVar[int] = 44
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 1
    FIRST_FLEXIBLE: ClassVar[int] = 1

    def __init__(self, resources: list[AlterConfigsResource] = NO_ITEMS, validate_only: bool = False) -> None:
        self.resources = [] if resources is NO_ITEMS else resources
        self.validate_only = validate_only

    @classmethod
    def decode(cls, data: bytes, position: int, version: int) -> tuple[IncrementalAlterConfigsRequest, int]:
        if version < 0 or version > 1:
            raise unknown_version("IncrementalAlterConfigsRequest", version, 0, 1)
        try:
            message, end = _read_incremental_alter_configs_request(data, position, version)
        except (IndexError, ValueError) as error:
            raise malformed("IncrementalAlterConfigsRequest", version, error) from None
        return message, end

    def encode(self, version: int) -> bytes:
        if version < 0 or version > 1:
            raise unsupported_version("IncrementalAlterConfigsRequest", version, 0, 1)
        writer = BytesWriter()
        _write_incremental_alter_configs_request(writer, self, version)
        return writer.getvalue()

    def encode_parts(self, writer_prefix: bytes, version: int) -> list[Part]:
        if version < 0 or version > 1:
            raise unsupported_version("IncrementalAlterConfigsRequest", version, 0, 1)
        writer = BytesWriter()
        writer.write(writer_prefix)
        _write_incremental_alter_configs_request(writer, self, version)
        return [writer.getvalue()]


def _read_incremental_alter_configs_request(data: bytes, position: i64, version: i64) -> tuple[IncrementalAlterConfigsRequest, i64]:
    resources: list[AlterConfigsResource]
    if version >= 1:
        count, position = read_compact_count(data, position, 4)
        resources = []
        for nth in range(count):
            resources_item, position = _read_alter_configs_resource(data, position, version)
            resources.append(resources_item)
            if nth & LONG_RUN == LONG_RUN:
                give_way()
    else:
        count, position = read_count(data, position, 7)
        resources = []
        for nth in range(count):
            resources_item, position = _read_alter_configs_resource(data, position, version)
            resources.append(resources_item)
            if nth & LONG_RUN == LONG_RUN:
                give_way()
    validate_only = data[position] != 0
    position += 1
    if version >= 1:
        position = skip_tags(data, position) if data[position] else position + 1
    return IncrementalAlterConfigsRequest(resources, validate_only), position


def _write_incremental_alter_configs_request(writer: BytesWriter, message: IncrementalAlterConfigsRequest, version: i64) -> None:
    if version >= 1:
        resources = message.resources
        write_uvarint(writer, len(resources) + 1)
        for nth, resources_item in enumerate(resources):
            _write_alter_configs_resource(writer, resources_item, version)
            if nth & LONG_RUN == LONG_RUN:
                give_way()
    else:
        resources = message.resources
        write_i32_be(writer, len(resources))
        for nth, resources_item in enumerate(resources):
            _write_alter_configs_resource(writer, resources_item, version)
            if nth & LONG_RUN == LONG_RUN:
                give_way()
    write_bool(writer, message.validate_only)
    if version >= 1:
        writer.append(0)


class IncrementalAlterConfigsResponse(Message):
    """API key 44, versions 0 to 1."""

    __slots__ = ("throttle_time_ms", "responses")
    FIELDS: ClassVar[tuple[str, ...]] = ("throttle_time_ms", "responses")
    API_KEY: ClassVar[int] = 44
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 1
    FIRST_FLEXIBLE: ClassVar[int] = 1

    def __init__(self, throttle_time_ms: int = 0, responses: list[AlterConfigsResourceResponse] = NO_ITEMS) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.responses = [] if responses is NO_ITEMS else responses

    @classmethod
    def decode(cls, data: bytes, position: int, version: int) -> tuple[IncrementalAlterConfigsResponse, int]:
        if version < 0 or version > 1:
            raise unknown_version("IncrementalAlterConfigsResponse", version, 0, 1)
        try:
            message, end = _read_incremental_alter_configs_response(data, position, version)
        except (IndexError, ValueError) as error:
            raise malformed("IncrementalAlterConfigsResponse", version, error) from None
        return message, end

    def encode(self, version: int) -> bytes:
        if version < 0 or version > 1:
            raise unsupported_version("IncrementalAlterConfigsResponse", version, 0, 1)
        writer = BytesWriter()
        _write_incremental_alter_configs_response(writer, self, version)
        return writer.getvalue()

    def encode_parts(self, writer_prefix: bytes, version: int) -> list[Part]:
        if version < 0 or version > 1:
            raise unsupported_version("IncrementalAlterConfigsResponse", version, 0, 1)
        writer = BytesWriter()
        writer.write(writer_prefix)
        _write_incremental_alter_configs_response(writer, self, version)
        return [writer.getvalue()]


def _read_incremental_alter_configs_response(data: bytes, position: i64, version: i64) -> tuple[IncrementalAlterConfigsResponse, i64]:
    responses: list[AlterConfigsResourceResponse]
    throttle_time_ms = read_i32_be(data, position)
    position += 4
    if version >= 1:
        count, position = read_compact_count(data, position, 6)
        responses = []
        for nth in range(count):
            responses_item, position = _read_alter_configs_resource_response(data, position, version)
            responses.append(responses_item)
            if nth & LONG_RUN == LONG_RUN:
                give_way()
    else:
        count, position = read_count(data, position, 7)
        responses = []
        for nth in range(count):
            responses_item, position = _read_alter_configs_resource_response(data, position, version)
            responses.append(responses_item)
            if nth & LONG_RUN == LONG_RUN:
                give_way()
    if version >= 1:
        position = skip_tags(data, position) if data[position] else position + 1
    return IncrementalAlterConfigsResponse(throttle_time_ms, responses), position


def _write_incremental_alter_configs_response(writer: BytesWriter, message: IncrementalAlterConfigsResponse, version: i64) -> None:
    write_i32_be(writer, message.throttle_time_ms)
    if version >= 1:
        responses = message.responses
        write_uvarint(writer, len(responses) + 1)
        for nth, responses_item in enumerate(responses):
            _write_alter_configs_resource_response(writer, responses_item, version)
            if nth & LONG_RUN == LONG_RUN:
                give_way()
    else:
        responses = message.responses
        write_i32_be(writer, len(responses))
        for nth, responses_item in enumerate(responses):
            _write_alter_configs_resource_response(writer, responses_item, version)
            if nth & LONG_RUN == LONG_RUN:
                give_way()
    if version >= 1:
        writer.append(0)
