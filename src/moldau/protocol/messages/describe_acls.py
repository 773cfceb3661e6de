"""DescribeAcls (API key 29). Generated from schema/describe_acls.txt: do not edit."""

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
    write_compact_nullable_string,
    write_compact_string,
    write_i8,
    write_nullable_string,
    write_string,
    write_uvarint,
)


class AclDescription(Struct):
    __slots__ = ("principal", "host", "operation", "permission_type")
    FIELDS: ClassVar[tuple[str, ...]] = ("principal", "host", "operation", "permission_type")

    def __init__(self, principal: str = "", host: str = "", operation: int = 0, permission_type: int = 0) -> None:
        self.principal = principal
        self.host = host
        self.operation = operation
        self.permission_type = permission_type


def _read_acl_description(data: bytes, position: i64, version: i64) -> tuple[AclDescription, i64]:
    principal: str
    host: str
    if version >= 2:
        principal, position = read_compact_string(data, position)
        host, position = read_compact_string(data, position)
    else:
        principal, position = read_string(data, position)
        host, position = read_string(data, position)
    operation = read_i8(data, position)
    permission_type = read_i8(data, position + 1)
    position += 2
    if version >= 2:
        position = skip_tags(data, position) if data[position] else position + 1
    return AclDescription(principal, host, operation, permission_type), position


def _write_acl_description(writer: BytesWriter, message: AclDescription, version: i64) -> None:
    if version >= 2:
        write_compact_string(writer, message.principal)
        write_compact_string(writer, message.host)
    else:
        write_string(writer, message.principal)
        write_string(writer, message.host)
    write_i8(writer, message.operation)
    write_i8(writer, message.permission_type)
    if version >= 2:
        writer.append(0)


class DescribeAclsResource(Struct):
    __slots__ = ("resource_type", "resource_name", "pattern_type", "acls")
    FIELDS: ClassVar[tuple[str, ...]] = ("resource_type", "resource_name", "pattern_type", "acls")

    def __init__(self, resource_type: int = 0, resource_name: str = "", pattern_type: int = 3, acls: list[AclDescription] = NO_ITEMS) -> None:
        self.resource_type = resource_type
        self.resource_name = resource_name
        self.pattern_type = pattern_type
        self.acls = [] if acls is NO_ITEMS else acls


def _read_describe_acls_resource(data: bytes, position: i64, version: i64) -> tuple[DescribeAclsResource, i64]:
    resource_name: str
    acls: list[AclDescription]
    resource_type = read_i8(data, position)
    position += 1
    if version >= 2:
        resource_name, position = read_compact_string(data, position)
    else:
        resource_name, position = read_string(data, position)
    pattern_type = read_i8(data, position)
    position += 1
    if version >= 2:
        count, position = read_compact_count(data, position, 5)
        acls = []
        for nth in range(count):
            acls_item, position = _read_acl_description(data, position, version)
            acls.append(acls_item)
            if nth & LONG_RUN == LONG_RUN:
                give_way()
    else:
        count, position = read_count(data, position, 6)
        acls = []
        for nth in range(count):
            acls_item, position = _read_acl_description(data, position, version)
            acls.append(acls_item)
            if nth & LONG_RUN == LONG_RUN:
                give_way()
    if version >= 2:
        position = skip_tags(data, position) if data[position] else position + 1
    return DescribeAclsResource(resource_type, resource_name, pattern_type, acls), position


def _write_describe_acls_resource(writer: BytesWriter, message: DescribeAclsResource, version: i64) -> None:
    write_i8(writer, message.resource_type)
    if version >= 2:
        write_compact_string(writer, message.resource_name)
    else:
        write_string(writer, message.resource_name)
    write_i8(writer, message.pattern_type)
    if version >= 2:
        acls = message.acls
        write_uvarint(writer, len(acls) + 1)
        for nth, acls_item in enumerate(acls):
            _write_acl_description(writer, acls_item, version)
            if nth & LONG_RUN == LONG_RUN:
                give_way()
    else:
        acls = message.acls
        write_i32_be(writer, len(acls))
        for nth, acls_item in enumerate(acls):
            _write_acl_description(writer, acls_item, version)
            if nth & LONG_RUN == LONG_RUN:
                give_way()
    if version >= 2:
        writer.append(0)


class DescribeAclsRequest(Message):
    """API key 29, versions 1 to 3."""

    __slots__ = ("resource_type_filter", "resource_name_filter", "pattern_type_filter", "principal_filter", "host_filter", "operation", "permission_type")
    FIELDS: ClassVar[tuple[str, ...]] = ("resource_type_filter", "resource_name_filter", "pattern_type_filter", "principal_filter", "host_filter", "operation", "permission_type")
    API_KEY: ClassVar[int] = 29
    MIN_VERSION: ClassVar[int] = 1
    MAX_VERSION: ClassVar[int] = 3
    FIRST_FLEXIBLE: ClassVar[int] = 2

    def __init__(self, resource_type_filter: int = 0, resource_name_filter: str | None = "", pattern_type_filter: int = 3, principal_filter: str | None = "", host_filter: str | None = "", operation: int = 0, permission_type: int = 0) -> None:
        self.resource_type_filter = resource_type_filter
        self.resource_name_filter = resource_name_filter
        self.pattern_type_filter = pattern_type_filter
        self.principal_filter = principal_filter
        self.host_filter = host_filter
        self.operation = operation
        self.permission_type = permission_type

    @classmethod
    def decode(cls, data: bytes, position: int, version: int) -> tuple[DescribeAclsRequest, int]:
        if version < 1 or version > 3:
            raise unknown_version("DescribeAclsRequest", version, 1, 3)
        try:
            message, end = _read_describe_acls_request(data, position, version)
        except (IndexError, ValueError) as error:
            raise malformed("DescribeAclsRequest", version, error) from None
        return message, end

    def encode(self, version: int) -> bytes:
        if version < 1 or version > 3:
            raise unsupported_version("DescribeAclsRequest", version, 1, 3)
        writer = BytesWriter()
        _write_describe_acls_request(writer, self, version)
        return writer.getvalue()

    def encode_parts(self, writer_prefix: bytes, version: int) -> list[Part]:
        if version < 1 or version > 3:
            raise unsupported_version("DescribeAclsRequest", version, 1, 3)
        writer = BytesWriter()
        writer.write(writer_prefix)
        _write_describe_acls_request(writer, self, version)
        return [writer.getvalue()]


def _read_describe_acls_request(data: bytes, position: i64, version: i64) -> tuple[DescribeAclsRequest, i64]:
    resource_name_filter: str | None
    principal_filter: str | None
    host_filter: str | None
    resource_type_filter = read_i8(data, position)
    position += 1
    if version >= 2:
        resource_name_filter, position = read_compact_nullable_string(data, position)
    else:
        resource_name_filter, position = read_nullable_string(data, position)
    pattern_type_filter = read_i8(data, position)
    position += 1
    if version >= 2:
        principal_filter, position = read_compact_nullable_string(data, position)
        host_filter, position = read_compact_nullable_string(data, position)
    else:
        principal_filter, position = read_nullable_string(data, position)
        host_filter, position = read_nullable_string(data, position)
    operation = read_i8(data, position)
    permission_type = read_i8(data, position + 1)
    position += 2
    if version >= 2:
        position = skip_tags(data, position) if data[position] else position + 1
    return DescribeAclsRequest(resource_type_filter, resource_name_filter, pattern_type_filter, principal_filter, host_filter, operation, permission_type), position


def _write_describe_acls_request(writer: BytesWriter, message: DescribeAclsRequest, version: i64) -> None:
    write_i8(writer, message.resource_type_filter)
    if version >= 2:
        write_compact_nullable_string(writer, message.resource_name_filter)
    else:
        write_nullable_string(writer, message.resource_name_filter)
    write_i8(writer, message.pattern_type_filter)
    if version >= 2:
        write_compact_nullable_string(writer, message.principal_filter)
        write_compact_nullable_string(writer, message.host_filter)
    else:
        write_nullable_string(writer, message.principal_filter)
        write_nullable_string(writer, message.host_filter)
    write_i8(writer, message.operation)
    write_i8(writer, message.permission_type)
    if version >= 2:
        writer.append(0)


class DescribeAclsResponse(Message):
    """API key 29, versions 1 to 3."""

    __slots__ = ("throttle_time_ms", "error_code", "error_message", "resources")
    FIELDS: ClassVar[tuple[str, ...]] = ("throttle_time_ms", "error_code", "error_message", "resources")
    API_KEY: ClassVar[int] = 29
    MIN_VERSION: ClassVar[int] = 1
    MAX_VERSION: ClassVar[int] = 3
    FIRST_FLEXIBLE: ClassVar[int] = 2

    def __init__(self, throttle_time_ms: int = 0, error_code: int = 0, error_message: str | None = "", resources: list[DescribeAclsResource] = NO_ITEMS) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.error_message = error_message
        self.resources = [] if resources is NO_ITEMS else resources

    @classmethod
    def decode(cls, data: bytes, position: int, version: int) -> tuple[DescribeAclsResponse, int]:
        if version < 1 or version > 3:
            raise unknown_version("DescribeAclsResponse", version, 1, 3)
        try:
            message, end = _read_describe_acls_response(data, position, version)
        except (IndexError, ValueError) as error:
            raise malformed("DescribeAclsResponse", version, error) from None
        return message, end

    def encode(self, version: int) -> bytes:
        if version < 1 or version > 3:
            raise unsupported_version("DescribeAclsResponse", version, 1, 3)
        writer = BytesWriter()
        _write_describe_acls_response(writer, self, version)
        return writer.getvalue()

    def encode_parts(self, writer_prefix: bytes, version: int) -> list[Part]:
        if version < 1 or version > 3:
            raise unsupported_version("DescribeAclsResponse", version, 1, 3)
        writer = BytesWriter()
        writer.write(writer_prefix)
        _write_describe_acls_response(writer, self, version)
        return [writer.getvalue()]


def _read_describe_acls_response(data: bytes, position: i64, version: i64) -> tuple[DescribeAclsResponse, i64]:
    error_message: str | None
    resources: list[DescribeAclsResource]
    throttle_time_ms = read_i32_be(data, position)
    error_code = read_i16_be(data, position + 4)
    position += 6
    if version >= 2:
        error_message, position = read_compact_nullable_string(data, position)
        count, position = read_compact_count(data, position, 5)
        resources = []
        for nth in range(count):
            resources_item, position = _read_describe_acls_resource(data, position, version)
            resources.append(resources_item)
            if nth & LONG_RUN == LONG_RUN:
                give_way()
    else:
        error_message, position = read_nullable_string(data, position)
        count, position = read_count(data, position, 8)
        resources = []
        for nth in range(count):
            resources_item, position = _read_describe_acls_resource(data, position, version)
            resources.append(resources_item)
            if nth & LONG_RUN == LONG_RUN:
                give_way()
    if version >= 2:
        position = skip_tags(data, position) if data[position] else position + 1
    return DescribeAclsResponse(throttle_time_ms, error_code, error_message, resources), position


def _write_describe_acls_response(writer: BytesWriter, message: DescribeAclsResponse, version: i64) -> None:
    write_i32_be(writer, message.throttle_time_ms)
    write_i16_be(writer, message.error_code)
    if version >= 2:
        write_compact_nullable_string(writer, message.error_message)
        resources = message.resources
        write_uvarint(writer, len(resources) + 1)
        for nth, resources_item in enumerate(resources):
            _write_describe_acls_resource(writer, resources_item, version)
            if nth & LONG_RUN == LONG_RUN:
                give_way()
    else:
        write_nullable_string(writer, message.error_message)
        resources = message.resources
        write_i32_be(writer, len(resources))
        for nth, resources_item in enumerate(resources):
            _write_describe_acls_resource(writer, resources_item, version)
            if nth & LONG_RUN == LONG_RUN:
                give_way()
    if version >= 2:
        writer.append(0)
