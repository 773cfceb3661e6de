"""DeleteAcls (API key 31). Generated from schema/delete_acls.txt: do not edit."""

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


class DeleteAclsFilter(Struct):
    __slots__ = ("resource_type_filter", "resource_name_filter", "pattern_type_filter", "principal_filter", "host_filter", "operation", "permission_type")
    FIELDS: ClassVar[tuple[str, ...]] = ("resource_type_filter", "resource_name_filter", "pattern_type_filter", "principal_filter", "host_filter", "operation", "permission_type")

    def __init__(self, resource_type_filter: int = 0, resource_name_filter: str | None = "", pattern_type_filter: int = 3, principal_filter: str | None = "", host_filter: str | None = "", operation: int = 0, permission_type: int = 0) -> None:
        self.resource_type_filter = resource_type_filter
        self.resource_name_filter = resource_name_filter
        self.pattern_type_filter = pattern_type_filter
        self.principal_filter = principal_filter
        self.host_filter = host_filter
        self.operation = operation
        self.permission_type = permission_type


def _read_delete_acls_filter(data: bytes, position: i64, version: i64) -> tuple[DeleteAclsFilter, i64]:
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
    return DeleteAclsFilter(resource_type_filter, resource_name_filter, pattern_type_filter, principal_filter, host_filter, operation, permission_type), position


def _write_delete_acls_filter(writer: BytesWriter, message: DeleteAclsFilter, version: i64) -> None:
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


class DeleteAclsMatchingAcl(Struct):
    __slots__ = ("error_code", "error_message", "resource_type", "resource_name", "pattern_type", "principal", "host", "operation", "permission_type")
    FIELDS: ClassVar[tuple[str, ...]] = ("error_code", "error_message", "resource_type", "resource_name", "pattern_type", "principal", "host", "operation", "permission_type")

    def __init__(self, error_code: int = 0, error_message: str | None = "", resource_type: int = 0, resource_name: str = "", pattern_type: int = 3, principal: str = "", host: str = "", operation: int = 0, permission_type: int = 0) -> None:
        self.error_code = error_code
        self.error_message = error_message
        self.resource_type = resource_type
        self.resource_name = resource_name
        self.pattern_type = pattern_type
        self.principal = principal
        self.host = host
        self.operation = operation
        self.permission_type = permission_type


def _read_delete_acls_matching_acl(data: bytes, position: i64, version: i64) -> tuple[DeleteAclsMatchingAcl, i64]:
    error_message: str | None
    resource_name: str
    principal: str
    host: str
    error_code = read_i16_be(data, position)
    position += 2
    if version >= 2:
        error_message, position = read_compact_nullable_string(data, position)
    else:
        error_message, position = read_nullable_string(data, position)
    resource_type = read_i8(data, position)
    position += 1
    if version >= 2:
        resource_name, position = read_compact_string(data, position)
    else:
        resource_name, position = read_string(data, position)
    pattern_type = read_i8(data, position)
    position += 1
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
    return DeleteAclsMatchingAcl(error_code, error_message, resource_type, resource_name, pattern_type, principal, host, operation, permission_type), position


def _write_delete_acls_matching_acl(writer: BytesWriter, message: DeleteAclsMatchingAcl, version: i64) -> None:
    write_i16_be(writer, message.error_code)
    if version >= 2:
        write_compact_nullable_string(writer, message.error_message)
    else:
        write_nullable_string(writer, message.error_message)
    write_i8(writer, message.resource_type)
    if version >= 2:
        write_compact_string(writer, message.resource_name)
    else:
        write_string(writer, message.resource_name)
    write_i8(writer, message.pattern_type)
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


class DeleteAclsFilterResult(Struct):
    __slots__ = ("error_code", "error_message", "matching_acls")
    FIELDS: ClassVar[tuple[str, ...]] = ("error_code", "error_message", "matching_acls")

    def __init__(self, error_code: int = 0, error_message: str | None = "", matching_acls: list[DeleteAclsMatchingAcl] = NO_ITEMS) -> None:
        self.error_code = error_code
        self.error_message = error_message
        self.matching_acls = [] if matching_acls is NO_ITEMS else matching_acls


def _read_delete_acls_filter_result(data: bytes, position: i64, version: i64) -> tuple[DeleteAclsFilterResult, i64]:
    error_message: str | None
    matching_acls: list[DeleteAclsMatchingAcl]
    error_code = read_i16_be(data, position)
    position += 2
    if version >= 2:
        error_message, position = read_compact_nullable_string(data, position)
        count, position = read_compact_count(data, position, 11)
        matching_acls = []
        for nth in range(count):
            matching_acls_item, position = _read_delete_acls_matching_acl(data, position, version)
            matching_acls.append(matching_acls_item)
            if nth & LONG_RUN == LONG_RUN:
                give_way()
    else:
        error_message, position = read_nullable_string(data, position)
        count, position = read_count(data, position, 14)
        matching_acls = []
        for nth in range(count):
            matching_acls_item, position = _read_delete_acls_matching_acl(data, position, version)
            matching_acls.append(matching_acls_item)
            if nth & LONG_RUN == LONG_RUN:
                give_way()
    if version >= 2:
        position = skip_tags(data, position) if data[position] else position + 1
    return DeleteAclsFilterResult(error_code, error_message, matching_acls), position


def _write_delete_acls_filter_result(writer: BytesWriter, message: DeleteAclsFilterResult, version: i64) -> None:
    write_i16_be(writer, message.error_code)
    if version >= 2:
        write_compact_nullable_string(writer, message.error_message)
        matching_acls = message.matching_acls
        write_uvarint(writer, len(matching_acls) + 1)
        for nth, matching_acls_item in enumerate(matching_acls):
            _write_delete_acls_matching_acl(writer, matching_acls_item, version)
            if nth & LONG_RUN == LONG_RUN:
                give_way()
    else:
        write_nullable_string(writer, message.error_message)
        matching_acls = message.matching_acls
        write_i32_be(writer, len(matching_acls))
        for nth, matching_acls_item in enumerate(matching_acls):
            _write_delete_acls_matching_acl(writer, matching_acls_item, version)
            if nth & LONG_RUN == LONG_RUN:
                give_way()
    if version >= 2:
        writer.append(0)


class DeleteAclsRequest(Message):
    """API key 31, versions 1 to 3."""

    __slots__ = ("filters",)
    FIELDS: ClassVar[tuple[str, ...]] = ("filters",)
    API_KEY: ClassVar[int] = 31
    MIN_VERSION: ClassVar[int] = 1
    MAX_VERSION: ClassVar[int] = 3
    FIRST_FLEXIBLE: ClassVar[int] = 2

    def __init__(self, filters: list[DeleteAclsFilter] = NO_ITEMS) -> None:
        self.filters = [] if filters is NO_ITEMS else filters

    @classmethod
    def decode(cls, data: bytes, position: int, version: int) -> tuple[DeleteAclsRequest, int]:
        if version < 1 or version > 3:
            raise unknown_version("DeleteAclsRequest", version, 1, 3)
        try:
            message, end = _read_delete_acls_request(data, position, version)
        except (IndexError, ValueError) as error:
            raise malformed("DeleteAclsRequest", version, error) from None
        return message, end

    def encode(self, version: int) -> bytes:
        if version < 1 or version > 3:
            raise unsupported_version("DeleteAclsRequest", version, 1, 3)
        writer = BytesWriter()
        _write_delete_acls_request(writer, self, version)
        return writer.getvalue()

    def encode_parts(self, writer_prefix: bytes, version: int) -> list[Part]:
        if version < 1 or version > 3:
            raise unsupported_version("DeleteAclsRequest", version, 1, 3)
        writer = BytesWriter()
        writer.write(writer_prefix)
        _write_delete_acls_request(writer, self, version)
        return [writer.getvalue()]


def _read_delete_acls_request(data: bytes, position: i64, version: i64) -> tuple[DeleteAclsRequest, i64]:
    filters: list[DeleteAclsFilter]
    if version >= 2:
        count, position = read_compact_count(data, position, 8)
        filters = []
        for nth in range(count):
            filters_item, position = _read_delete_acls_filter(data, position, version)
            filters.append(filters_item)
            if nth & LONG_RUN == LONG_RUN:
                give_way()
    else:
        count, position = read_count(data, position, 10)
        filters = []
        for nth in range(count):
            filters_item, position = _read_delete_acls_filter(data, position, version)
            filters.append(filters_item)
            if nth & LONG_RUN == LONG_RUN:
                give_way()
    if version >= 2:
        position = skip_tags(data, position) if data[position] else position + 1
    return DeleteAclsRequest(filters), position


def _write_delete_acls_request(writer: BytesWriter, message: DeleteAclsRequest, version: i64) -> None:
    if version >= 2:
        filters = message.filters
        write_uvarint(writer, len(filters) + 1)
        for nth, filters_item in enumerate(filters):
            _write_delete_acls_filter(writer, filters_item, version)
            if nth & LONG_RUN == LONG_RUN:
                give_way()
    else:
        filters = message.filters
        write_i32_be(writer, len(filters))
        for nth, filters_item in enumerate(filters):
            _write_delete_acls_filter(writer, filters_item, version)
            if nth & LONG_RUN == LONG_RUN:
                give_way()
    if version >= 2:
        writer.append(0)


class DeleteAclsResponse(Message):
    """API key 31, versions 1 to 3."""

    __slots__ = ("throttle_time_ms", "filter_results")
    FIELDS: ClassVar[tuple[str, ...]] = ("throttle_time_ms", "filter_results")
    API_KEY: ClassVar[int] = 31
    MIN_VERSION: ClassVar[int] = 1
    MAX_VERSION: ClassVar[int] = 3
    FIRST_FLEXIBLE: ClassVar[int] = 2

    def __init__(self, throttle_time_ms: int = 0, filter_results: list[DeleteAclsFilterResult] = NO_ITEMS) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.filter_results = [] if filter_results is NO_ITEMS else filter_results

    @classmethod
    def decode(cls, data: bytes, position: int, version: int) -> tuple[DeleteAclsResponse, int]:
        if version < 1 or version > 3:
            raise unknown_version("DeleteAclsResponse", version, 1, 3)
        try:
            message, end = _read_delete_acls_response(data, position, version)
        except (IndexError, ValueError) as error:
            raise malformed("DeleteAclsResponse", version, error) from None
        return message, end

    def encode(self, version: int) -> bytes:
        if version < 1 or version > 3:
            raise unsupported_version("DeleteAclsResponse", version, 1, 3)
        writer = BytesWriter()
        _write_delete_acls_response(writer, self, version)
        return writer.getvalue()

    def encode_parts(self, writer_prefix: bytes, version: int) -> list[Part]:
        if version < 1 or version > 3:
            raise unsupported_version("DeleteAclsResponse", version, 1, 3)
        writer = BytesWriter()
        writer.write(writer_prefix)
        _write_delete_acls_response(writer, self, version)
        return [writer.getvalue()]


def _read_delete_acls_response(data: bytes, position: i64, version: i64) -> tuple[DeleteAclsResponse, i64]:
    filter_results: list[DeleteAclsFilterResult]
    throttle_time_ms = read_i32_be(data, position)
    position += 4
    if version >= 2:
        count, position = read_compact_count(data, position, 5)
        filter_results = []
        for nth in range(count):
            filter_results_item, position = _read_delete_acls_filter_result(data, position, version)
            filter_results.append(filter_results_item)
            if nth & LONG_RUN == LONG_RUN:
                give_way()
    else:
        count, position = read_count(data, position, 8)
        filter_results = []
        for nth in range(count):
            filter_results_item, position = _read_delete_acls_filter_result(data, position, version)
            filter_results.append(filter_results_item)
            if nth & LONG_RUN == LONG_RUN:
                give_way()
    if version >= 2:
        position = skip_tags(data, position) if data[position] else position + 1
    return DeleteAclsResponse(throttle_time_ms, filter_results), position


def _write_delete_acls_response(writer: BytesWriter, message: DeleteAclsResponse, version: i64) -> None:
    write_i32_be(writer, message.throttle_time_ms)
    if version >= 2:
        filter_results = message.filter_results
        write_uvarint(writer, len(filter_results) + 1)
        for nth, filter_results_item in enumerate(filter_results):
            _write_delete_acls_filter_result(writer, filter_results_item, version)
            if nth & LONG_RUN == LONG_RUN:
                give_way()
    else:
        filter_results = message.filter_results
        write_i32_be(writer, len(filter_results))
        for nth, filter_results_item in enumerate(filter_results):
            _write_delete_acls_filter_result(writer, filter_results_item, version)
            if nth & LONG_RUN == LONG_RUN:
                give_way()
    if version >= 2:
        writer.append(0)
