"""DescribeConfigs (API key 32). Generated from schema/describe_configs.txt: do not edit."""

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
    read_compact_nullable_count,
    read_compact_nullable_string,
    read_compact_string,
    read_compact_string_list,
    read_count,
    read_i8,
    read_nullable_count,
    read_nullable_string,
    read_string,
    read_string_list,
    skip_tags,
    unknown_version,
)
from moldau.protocol.writing import (
    unsupported_field,
    unsupported_version,
    write_bool,
    write_compact_nullable_string,
    write_compact_string,
    write_compact_string_list,
    write_i8,
    write_nullable_string,
    write_string,
    write_string_list,
    write_uvarint,
)


class DescribeConfigsResource(Struct):
    __slots__ = ("resource_type", "resource_name", "configuration_keys")
    FIELDS: ClassVar[tuple[str, ...]] = ("resource_type", "resource_name", "configuration_keys")

    def __init__(self, resource_type: int = 0, resource_name: str = "", configuration_keys: list[str] | None = NO_ITEMS) -> None:
        self.resource_type = resource_type
        self.resource_name = resource_name
        self.configuration_keys = [] if configuration_keys is NO_ITEMS else configuration_keys


def _read_describe_configs_resource(data: bytes, position: i64, version: i64) -> tuple[DescribeConfigsResource, i64]:
    resource_name: str
    configuration_keys: list[str] | None
    resource_type = read_i8(data, position)
    position += 1
    if version >= 4:
        resource_name, position = read_compact_string(data, position)
        count, position = read_compact_nullable_count(data, position, 1)
        if count < 0:
            configuration_keys = None
        else:
            configuration_keys, position = read_compact_string_list(data, position, count)
    else:
        resource_name, position = read_string(data, position)
        count, position = read_nullable_count(data, position, 2)
        if count < 0:
            configuration_keys = None
        else:
            configuration_keys, position = read_string_list(data, position, count)
    if version >= 4:
        position = skip_tags(data, position) if data[position] else position + 1
    return DescribeConfigsResource(resource_type, resource_name, configuration_keys), position


def _write_describe_configs_resource(writer: BytesWriter, message: DescribeConfigsResource, version: i64) -> None:
    write_i8(writer, message.resource_type)
    if version >= 4:
        write_compact_string(writer, message.resource_name)
        configuration_keys = message.configuration_keys
        if configuration_keys is None:
            writer.append(0)
        else:
            write_uvarint(writer, len(configuration_keys) + 1)
            write_compact_string_list(writer, configuration_keys)
    else:
        write_string(writer, message.resource_name)
        configuration_keys = message.configuration_keys
        if configuration_keys is None:
            write_i32_be(writer, -1)
        else:
            write_i32_be(writer, len(configuration_keys))
            write_string_list(writer, configuration_keys)
    if version >= 4:
        writer.append(0)


class DescribeConfigsSynonym(Struct):
    __slots__ = ("name", "value", "source")
    FIELDS: ClassVar[tuple[str, ...]] = ("name", "value", "source")

    def __init__(self, name: str = "", value: str | None = "", source: int = 0) -> None:
        self.name = name
        self.value = value
        self.source = source


def _read_describe_configs_synonym(data: bytes, position: i64, version: i64) -> tuple[DescribeConfigsSynonym, i64]:
    name: str
    value: str | None
    if version >= 4:
        name, position = read_compact_string(data, position)
        value, position = read_compact_nullable_string(data, position)
    else:
        name, position = read_string(data, position)
        value, position = read_nullable_string(data, position)
    source = read_i8(data, position)
    position += 1
    if version >= 4:
        position = skip_tags(data, position) if data[position] else position + 1
    return DescribeConfigsSynonym(name, value, source), position


def _write_describe_configs_synonym(writer: BytesWriter, message: DescribeConfigsSynonym, version: i64) -> None:
    if version >= 4:
        write_compact_string(writer, message.name)
        write_compact_nullable_string(writer, message.value)
    else:
        write_string(writer, message.name)
        write_nullable_string(writer, message.value)
    write_i8(writer, message.source)
    if version >= 4:
        writer.append(0)


class DescribeConfigsResourceResult(Struct):
    __slots__ = ("name", "value", "read_only", "config_source", "is_sensitive", "synonyms", "config_type", "documentation")
    FIELDS: ClassVar[tuple[str, ...]] = ("name", "value", "read_only", "config_source", "is_sensitive", "synonyms", "config_type", "documentation")

    def __init__(self, name: str = "", value: str | None = "", read_only: bool = False, config_source: int = -1, is_sensitive: bool = False, synonyms: list[DescribeConfigsSynonym] = NO_ITEMS, config_type: int = 0, documentation: str | None = "") -> None:
        self.name = name
        self.value = value
        self.read_only = read_only
        self.config_source = config_source
        self.is_sensitive = is_sensitive
        self.synonyms = [] if synonyms is NO_ITEMS else synonyms
        self.config_type = config_type
        self.documentation = documentation


def _read_describe_configs_resource_result(data: bytes, position: i64, version: i64) -> tuple[DescribeConfigsResourceResult, i64]:
    name: str
    value: str | None
    synonyms: list[DescribeConfigsSynonym]
    config_type: int
    documentation: str | None
    if version >= 4:
        name, position = read_compact_string(data, position)
        value, position = read_compact_nullable_string(data, position)
    else:
        name, position = read_string(data, position)
        value, position = read_nullable_string(data, position)
    read_only = data[position] != 0
    config_source = read_i8(data, position + 1)
    is_sensitive = data[position + 2] != 0
    position += 3
    if version >= 4:
        count, position = read_compact_count(data, position, 4)
        synonyms = []
        for nth in range(count):
            synonyms_item, position = _read_describe_configs_synonym(data, position, version)
            synonyms.append(synonyms_item)
            if nth & LONG_RUN == LONG_RUN:
                give_way()
    else:
        count, position = read_count(data, position, 5)
        synonyms = []
        for nth in range(count):
            synonyms_item, position = _read_describe_configs_synonym(data, position, version)
            synonyms.append(synonyms_item)
            if nth & LONG_RUN == LONG_RUN:
                give_way()
    if version >= 3:
        config_type = read_i8(data, position)
        position += 1
    else:
        config_type = 0
    if version >= 4:
        documentation, position = read_compact_nullable_string(data, position)
    elif version >= 3:
        documentation, position = read_nullable_string(data, position)
    else:
        documentation = ""
    if version >= 4:
        position = skip_tags(data, position) if data[position] else position + 1
    return DescribeConfigsResourceResult(name, value, read_only, config_source, is_sensitive, synonyms, config_type, documentation), position


def _write_describe_configs_resource_result(writer: BytesWriter, message: DescribeConfigsResourceResult, version: i64) -> None:
    if version >= 4:
        write_compact_string(writer, message.name)
        write_compact_nullable_string(writer, message.value)
    else:
        write_string(writer, message.name)
        write_nullable_string(writer, message.value)
    write_bool(writer, message.read_only)
    write_i8(writer, message.config_source)
    write_bool(writer, message.is_sensitive)
    if version >= 4:
        synonyms = message.synonyms
        write_uvarint(writer, len(synonyms) + 1)
        for nth, synonyms_item in enumerate(synonyms):
            _write_describe_configs_synonym(writer, synonyms_item, version)
            if nth & LONG_RUN == LONG_RUN:
                give_way()
    else:
        synonyms = message.synonyms
        write_i32_be(writer, len(synonyms))
        for nth, synonyms_item in enumerate(synonyms):
            _write_describe_configs_synonym(writer, synonyms_item, version)
            if nth & LONG_RUN == LONG_RUN:
                give_way()
    if version >= 3:
        write_i8(writer, message.config_type)
    if version >= 4:
        write_compact_nullable_string(writer, message.documentation)
    elif version >= 3:
        write_nullable_string(writer, message.documentation)
    if version >= 4:
        writer.append(0)


class DescribeConfigsResult(Struct):
    __slots__ = ("error_code", "error_message", "resource_type", "resource_name", "configs")
    FIELDS: ClassVar[tuple[str, ...]] = ("error_code", "error_message", "resource_type", "resource_name", "configs")

    def __init__(self, error_code: int = 0, error_message: str | None = "", resource_type: int = 0, resource_name: str = "", configs: list[DescribeConfigsResourceResult] = NO_ITEMS) -> None:
        self.error_code = error_code
        self.error_message = error_message
        self.resource_type = resource_type
        self.resource_name = resource_name
        self.configs = [] if configs is NO_ITEMS else configs


def _read_describe_configs_result(data: bytes, position: i64, version: i64) -> tuple[DescribeConfigsResult, i64]:
    error_message: str | None
    resource_name: str
    configs: list[DescribeConfigsResourceResult]
    error_code = read_i16_be(data, position)
    position += 2
    if version >= 4:
        error_message, position = read_compact_nullable_string(data, position)
    else:
        error_message, position = read_nullable_string(data, position)
    resource_type = read_i8(data, position)
    position += 1
    if version >= 4:
        resource_name, position = read_compact_string(data, position)
        count, position = read_compact_count(data, position, 9)
        configs = []
        for nth in range(count):
            configs_item, position = _read_describe_configs_resource_result(data, position, version)
            configs.append(configs_item)
            if nth & LONG_RUN == LONG_RUN:
                give_way()
    else:
        resource_name, position = read_string(data, position)
        count, position = read_count(data, position, 11)
        configs = []
        for nth in range(count):
            configs_item, position = _read_describe_configs_resource_result(data, position, version)
            configs.append(configs_item)
            if nth & LONG_RUN == LONG_RUN:
                give_way()
    if version >= 4:
        position = skip_tags(data, position) if data[position] else position + 1
    return DescribeConfigsResult(error_code, error_message, resource_type, resource_name, configs), position


def _write_describe_configs_result(writer: BytesWriter, message: DescribeConfigsResult, version: i64) -> None:
    write_i16_be(writer, message.error_code)
    if version >= 4:
        write_compact_nullable_string(writer, message.error_message)
    else:
        write_nullable_string(writer, message.error_message)
    write_i8(writer, message.resource_type)
    if version >= 4:
        write_compact_string(writer, message.resource_name)
        configs = message.configs
        write_uvarint(writer, len(configs) + 1)
        for nth, configs_item in enumerate(configs):
            _write_describe_configs_resource_result(writer, configs_item, version)
            if nth & LONG_RUN == LONG_RUN:
                give_way()
    else:
        write_string(writer, message.resource_name)
        configs = message.configs
        write_i32_be(writer, len(configs))
        for nth, configs_item in enumerate(configs):
            _write_describe_configs_resource_result(writer, configs_item, version)
            if nth & LONG_RUN == LONG_RUN:
                give_way()
    if version >= 4:
        writer.append(0)


class DescribeConfigsRequest(Message):
    """API key 32, versions 1 to 4."""

    __slots__ = ("resources", "include_synonyms", "include_documentation")
    FIELDS: ClassVar[tuple[str, ...]] = ("resources", "include_synonyms", "include_documentation")
    API_KEY: ClassVar[int] = 32
    MIN_VERSION: ClassVar[int] = 1
    MAX_VERSION: ClassVar[int] = 4
    FIRST_FLEXIBLE: ClassVar[int] = 4

    def __init__(self, resources: list[DescribeConfigsResource] = NO_ITEMS, include_synonyms: bool = False, include_documentation: bool = False) -> None:
        self.resources = [] if resources is NO_ITEMS else resources
        self.include_synonyms = include_synonyms
        self.include_documentation = include_documentation

    @classmethod
    def decode(cls, data: bytes, position: int, version: int) -> tuple[DescribeConfigsRequest, int]:
        if version < 1 or version > 4:
            raise unknown_version("DescribeConfigsRequest", version, 1, 4)
        try:
            message, end = _read_describe_configs_request(data, position, version)
        except (IndexError, ValueError) as error:
            raise malformed("DescribeConfigsRequest", version, error) from None
        return message, end

    def encode(self, version: int) -> bytes:
        if version < 1 or version > 4:
            raise unsupported_version("DescribeConfigsRequest", version, 1, 4)
        writer = BytesWriter()
        _write_describe_configs_request(writer, self, version)
        return writer.getvalue()

    def encode_parts(self, writer_prefix: bytes, version: int) -> list[Part]:
        if version < 1 or version > 4:
            raise unsupported_version("DescribeConfigsRequest", version, 1, 4)
        writer = BytesWriter()
        writer.write(writer_prefix)
        _write_describe_configs_request(writer, self, version)
        return [writer.getvalue()]


def _read_describe_configs_request(data: bytes, position: i64, version: i64) -> tuple[DescribeConfigsRequest, i64]:
    resources: list[DescribeConfigsResource]
    include_documentation: bool
    if version >= 4:
        count, position = read_compact_count(data, position, 4)
        resources = []
        for nth in range(count):
            resources_item, position = _read_describe_configs_resource(data, position, version)
            resources.append(resources_item)
            if nth & LONG_RUN == LONG_RUN:
                give_way()
    else:
        count, position = read_count(data, position, 7)
        resources = []
        for nth in range(count):
            resources_item, position = _read_describe_configs_resource(data, position, version)
            resources.append(resources_item)
            if nth & LONG_RUN == LONG_RUN:
                give_way()
    include_synonyms = data[position] != 0
    position += 1
    if version >= 3:
        include_documentation = data[position] != 0
        position += 1
    else:
        include_documentation = False
    if version >= 4:
        position = skip_tags(data, position) if data[position] else position + 1
    return DescribeConfigsRequest(resources, include_synonyms, include_documentation), position


def _write_describe_configs_request(writer: BytesWriter, message: DescribeConfigsRequest, version: i64) -> None:
    if version >= 4:
        resources = message.resources
        write_uvarint(writer, len(resources) + 1)
        for nth, resources_item in enumerate(resources):
            _write_describe_configs_resource(writer, resources_item, version)
            if nth & LONG_RUN == LONG_RUN:
                give_way()
    else:
        resources = message.resources
        write_i32_be(writer, len(resources))
        for nth, resources_item in enumerate(resources):
            _write_describe_configs_resource(writer, resources_item, version)
            if nth & LONG_RUN == LONG_RUN:
                give_way()
    write_bool(writer, message.include_synonyms)
    if version >= 3:
        write_bool(writer, message.include_documentation)
    else:
        if message.include_documentation:
            raise unsupported_field("DescribeConfigsRequest", "include_documentation", version)
    if version >= 4:
        writer.append(0)


class DescribeConfigsResponse(Message):
    """API key 32, versions 1 to 4."""

    __slots__ = ("throttle_time_ms", "results")
    FIELDS: ClassVar[tuple[str, ...]] = ("throttle_time_ms", "results")
    API_KEY: ClassVar[int] = 32
    MIN_VERSION: ClassVar[int] = 1
    MAX_VERSION: ClassVar[int] = 4
    FIRST_FLEXIBLE: ClassVar[int] = 4

    def __init__(self, throttle_time_ms: int = 0, results: list[DescribeConfigsResult] = NO_ITEMS) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.results = [] if results is NO_ITEMS else results

    @classmethod
    def decode(cls, data: bytes, position: int, version: int) -> tuple[DescribeConfigsResponse, int]:
        if version < 1 or version > 4:
            raise unknown_version("DescribeConfigsResponse", version, 1, 4)
        try:
            message, end = _read_describe_configs_response(data, position, version)
        except (IndexError, ValueError) as error:
            raise malformed("DescribeConfigsResponse", version, error) from None
        return message, end

    def encode(self, version: int) -> bytes:
        if version < 1 or version > 4:
            raise unsupported_version("DescribeConfigsResponse", version, 1, 4)
        writer = BytesWriter()
        _write_describe_configs_response(writer, self, version)
        return writer.getvalue()

    def encode_parts(self, writer_prefix: bytes, version: int) -> list[Part]:
        if version < 1 or version > 4:
            raise unsupported_version("DescribeConfigsResponse", version, 1, 4)
        writer = BytesWriter()
        writer.write(writer_prefix)
        _write_describe_configs_response(writer, self, version)
        return [writer.getvalue()]


def _read_describe_configs_response(data: bytes, position: i64, version: i64) -> tuple[DescribeConfigsResponse, i64]:
    results: list[DescribeConfigsResult]
    throttle_time_ms = read_i32_be(data, position)
    position += 4
    if version >= 4:
        count, position = read_compact_count(data, position, 7)
        results = []
        for nth in range(count):
            results_item, position = _read_describe_configs_result(data, position, version)
            results.append(results_item)
            if nth & LONG_RUN == LONG_RUN:
                give_way()
    else:
        count, position = read_count(data, position, 11)
        results = []
        for nth in range(count):
            results_item, position = _read_describe_configs_result(data, position, version)
            results.append(results_item)
            if nth & LONG_RUN == LONG_RUN:
                give_way()
    if version >= 4:
        position = skip_tags(data, position) if data[position] else position + 1
    return DescribeConfigsResponse(throttle_time_ms, results), position


def _write_describe_configs_response(writer: BytesWriter, message: DescribeConfigsResponse, version: i64) -> None:
    write_i32_be(writer, message.throttle_time_ms)
    if version >= 4:
        results = message.results
        write_uvarint(writer, len(results) + 1)
        for nth, results_item in enumerate(results):
            _write_describe_configs_result(writer, results_item, version)
            if nth & LONG_RUN == LONG_RUN:
                give_way()
    else:
        results = message.results
        write_i32_be(writer, len(results))
        for nth, results_item in enumerate(results):
            _write_describe_configs_result(writer, results_item, version)
            if nth & LONG_RUN == LONG_RUN:
                give_way()
    if version >= 4:
        writer.append(0)
