"""CreateAcls (API key 30). Generated from schema/create_acls.txt: do not edit."""

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


class AclCreation(Struct):
    __slots__ = ("resource_type", "resource_name", "resource_pattern_type", "principal", "host", "operation", "permission_type")
    FIELDS: ClassVar[tuple[str, ...]] = ("resource_type", "resource_name", "resource_pattern_type", "principal", "host", "operation", "permission_type")

    def __init__(self, resource_type: int = 0, resource_name: str = "", resource_pattern_type: int = 3, principal: str = "", host: str = "", operation: int = 0, permission_type: int = 0) -> None:
        self.resource_type = resource_type
        self.resource_name = resource_name
        self.resource_pattern_type = resource_pattern_type
        self.principal = principal
        self.host = host
        self.operation = operation
        self.permission_type = permission_type


def _read_acl_creation(data: bytes, position: i64, version: i64) -> tuple[AclCreation, i64]:
    resource_name: str
    principal: str
    host: str
    resource_type = read_i8(data, position)
    position += 1
    if version >= 2:
        resource_name, position = read_compact_string(data, position)
    else:
        resource_name, position = read_string(data, position)
    resource_pattern_type = read_i8(data, position)
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
    return AclCreation(resource_type, resource_name, resource_pattern_type, principal, host, operation, permission_type), position


def _write_acl_creation(writer: BytesWriter, message: AclCreation, version: i64) -> None:
    write_i8(writer, message.resource_type)
    if version >= 2:
        write_compact_string(writer, message.resource_name)
    else:
        write_string(writer, message.resource_name)
    write_i8(writer, message.resource_pattern_type)
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


class AclCreationResult(Struct):
    __slots__ = ("error_code", "error_message")
    FIELDS: ClassVar[tuple[str, ...]] = ("error_code", "error_message")

    def __init__(self, error_code: int = 0, error_message: str | None = "") -> None:
        self.error_code = error_code
        self.error_message = error_message


def _read_acl_creation_result(data: bytes, position: i64, version: i64) -> tuple[AclCreationResult, i64]:
    error_message: str | None
    error_code = read_i16_be(data, position)
    position += 2
    if version >= 2:
        error_message, position = read_compact_nullable_string(data, position)
    else:
        error_message, position = read_nullable_string(data, position)
    if version >= 2:
        position = skip_tags(data, position) if data[position] else position + 1
    return AclCreationResult(error_code, error_message), position


def _write_acl_creation_result(writer: BytesWriter, message: AclCreationResult, version: i64) -> None:
    write_i16_be(writer, message.error_code)
    if version >= 2:
        write_compact_nullable_string(writer, message.error_message)
    else:
        write_nullable_string(writer, message.error_message)
    if version >= 2:
        writer.append(0)


class CreateAclsRequest(Message):
    """API key 30, versions 1 to 3."""

    __slots__ = ("creations",)
    FIELDS: ClassVar[tuple[str, ...]] = ("creations",)
    API_KEY: ClassVar[int] = 30
    MIN_VERSION: ClassVar[int] = 1
    MAX_VERSION: ClassVar[int] = 3
    FIRST_FLEXIBLE: ClassVar[int] = 2

    def __init__(self, creations: list[AclCreation] = NO_ITEMS) -> None:
        self.creations = [] if creations is NO_ITEMS else creations

    @classmethod
    def decode(cls, data: bytes, position: int, version: int) -> tuple[CreateAclsRequest, int]:
        if version < 1 or version > 3:
            raise unknown_version("CreateAclsRequest", version, 1, 3)
        try:
            message, end = _read_create_acls_request(data, position, version)
        except (IndexError, ValueError) as error:
            raise malformed("CreateAclsRequest", version, error) from None
        return message, end

    def encode(self, version: int) -> bytes:
        if version < 1 or version > 3:
            raise unsupported_version("CreateAclsRequest", version, 1, 3)
        writer = BytesWriter()
        _write_create_acls_request(writer, self, version)
        return writer.getvalue()

    def encode_parts(self, writer_prefix: bytes, version: int) -> list[Part]:
        if version < 1 or version > 3:
            raise unsupported_version("CreateAclsRequest", version, 1, 3)
        writer = BytesWriter()
        writer.write(writer_prefix)
        _write_create_acls_request(writer, self, version)
        return [writer.getvalue()]


def _read_create_acls_request(data: bytes, position: i64, version: i64) -> tuple[CreateAclsRequest, i64]:
    creations: list[AclCreation]
    if version >= 2:
        count, position = read_compact_count(data, position, 8)
        creations = []
        for nth in range(count):
            creations_item, position = _read_acl_creation(data, position, version)
            creations.append(creations_item)
            if nth & LONG_RUN == LONG_RUN:
                give_way()
    else:
        count, position = read_count(data, position, 10)
        creations = []
        for nth in range(count):
            creations_item, position = _read_acl_creation(data, position, version)
            creations.append(creations_item)
            if nth & LONG_RUN == LONG_RUN:
                give_way()
    if version >= 2:
        position = skip_tags(data, position) if data[position] else position + 1
    return CreateAclsRequest(creations), position


def _write_create_acls_request(writer: BytesWriter, message: CreateAclsRequest, version: i64) -> None:
    if version >= 2:
        creations = message.creations
        write_uvarint(writer, len(creations) + 1)
        for nth, creations_item in enumerate(creations):
            _write_acl_creation(writer, creations_item, version)
            if nth & LONG_RUN == LONG_RUN:
                give_way()
    else:
        creations = message.creations
        write_i32_be(writer, len(creations))
        for nth, creations_item in enumerate(creations):
            _write_acl_creation(writer, creations_item, version)
            if nth & LONG_RUN == LONG_RUN:
                give_way()
    if version >= 2:
        writer.append(0)


class CreateAclsResponse(Message):
    """API key 30, versions 1 to 3."""

    __slots__ = ("throttle_time_ms", "results")
    FIELDS: ClassVar[tuple[str, ...]] = ("throttle_time_ms", "results")
    API_KEY: ClassVar[int] = 30
    MIN_VERSION: ClassVar[int] = 1
    MAX_VERSION: ClassVar[int] = 3
    FIRST_FLEXIBLE: ClassVar[int] = 2

    def __init__(self, throttle_time_ms: int = 0, results: list[AclCreationResult] = NO_ITEMS) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.results = [] if results is NO_ITEMS else results

    @classmethod
    def decode(cls, data: bytes, position: int, version: int) -> tuple[CreateAclsResponse, int]:
        if version < 1 or version > 3:
            raise unknown_version("CreateAclsResponse", version, 1, 3)
        try:
            message, end = _read_create_acls_response(data, position, version)
        except (IndexError, ValueError) as error:
            raise malformed("CreateAclsResponse", version, error) from None
        return message, end

    def encode(self, version: int) -> bytes:
        if version < 1 or version > 3:
            raise unsupported_version("CreateAclsResponse", version, 1, 3)
        writer = BytesWriter()
        _write_create_acls_response(writer, self, version)
        return writer.getvalue()

    def encode_parts(self, writer_prefix: bytes, version: int) -> list[Part]:
        if version < 1 or version > 3:
            raise unsupported_version("CreateAclsResponse", version, 1, 3)
        writer = BytesWriter()
        writer.write(writer_prefix)
        _write_create_acls_response(writer, self, version)
        return [writer.getvalue()]


def _read_create_acls_response(data: bytes, position: i64, version: i64) -> tuple[CreateAclsResponse, i64]:
    results: list[AclCreationResult]
    throttle_time_ms = read_i32_be(data, position)
    position += 4
    if version >= 2:
        count, position = read_compact_count(data, position, 4)
        results = []
        for nth in range(count):
            results_item, position = _read_acl_creation_result(data, position, version)
            results.append(results_item)
            if nth & LONG_RUN == LONG_RUN:
                give_way()
    else:
        count, position = read_count(data, position, 4)
        results = []
        for nth in range(count):
            results_item, position = _read_acl_creation_result(data, position, version)
            results.append(results_item)
            if nth & LONG_RUN == LONG_RUN:
                give_way()
    if version >= 2:
        position = skip_tags(data, position) if data[position] else position + 1
    return CreateAclsResponse(throttle_time_ms, results), position


def _write_create_acls_response(writer: BytesWriter, message: CreateAclsResponse, version: i64) -> None:
    write_i32_be(writer, message.throttle_time_ms)
    if version >= 2:
        results = message.results
        write_uvarint(writer, len(results) + 1)
        for nth, results_item in enumerate(results):
            _write_acl_creation_result(writer, results_item, version)
            if nth & LONG_RUN == LONG_RUN:
                give_way()
    else:
        results = message.results
        write_i32_be(writer, len(results))
        for nth, results_item in enumerate(results):
            _write_acl_creation_result(writer, results_item, version)
            if nth & LONG_RUN == LONG_RUN:
                give_way()
    if version >= 2:
        writer.append(0)
