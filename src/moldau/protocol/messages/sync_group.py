"""SyncGroup (API key 14). Generated from schema/sync_group.txt: do not edit."""

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
    read_bytes,
    read_compact_bytes,
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
    unsupported_field,
    unsupported_version,
    write_bytes,
    write_compact_bytes,
    write_compact_nullable_string,
    write_compact_string,
    write_nullable_string,
    write_string,
    write_uvarint,
)


class SyncGroupRequestAssignment(Struct):
    __slots__ = ("member_id", "assignment")
    FIELDS: ClassVar[tuple[str, ...]] = ("member_id", "assignment")

    def __init__(self, member_id: str = "", assignment: bytes = b"") -> None:
        self.member_id = member_id
        self.assignment = assignment


def _read_sync_group_request_assignment(data: bytes, position: i64, version: i64) -> tuple[SyncGroupRequestAssignment, i64]:
    member_id: str
    assignment: bytes
    if version >= 4:
        member_id, position = read_compact_string(data, position)
        assignment, position = read_compact_bytes(data, position)
    else:
        member_id, position = read_string(data, position)
        assignment, position = read_bytes(data, position)
    if version >= 4:
        position = skip_tags(data, position) if data[position] else position + 1
    return SyncGroupRequestAssignment(member_id, assignment), position


def _write_sync_group_request_assignment(writer: BytesWriter, message: SyncGroupRequestAssignment, version: i64) -> None:
    if version >= 4:
        write_compact_string(writer, message.member_id)
        write_compact_bytes(writer, message.assignment)
    else:
        write_string(writer, message.member_id)
        write_bytes(writer, message.assignment)
    if version >= 4:
        writer.append(0)


class SyncGroupRequest(Message):
    """API key 14, versions 0 to 5."""

    __slots__ = ("group_id", "generation_id", "member_id", "group_instance_id", "protocol_type", "protocol_name", "assignments")
    FIELDS: ClassVar[tuple[str, ...]] = ("group_id", "generation_id", "member_id", "group_instance_id", "protocol_type", "protocol_name", "assignments")
    API_KEY: ClassVar[int] = 14
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 5
    FIRST_FLEXIBLE: ClassVar[int] = 4

    def __init__(self, group_id: str = "", generation_id: int = 0, member_id: str = "", group_instance_id: str | None = None, protocol_type: str | None = None, protocol_name: str | None = None, assignments: list[SyncGroupRequestAssignment] = NO_ITEMS) -> None:
        self.group_id = group_id
        self.generation_id = generation_id
        self.member_id = member_id
        self.group_instance_id = group_instance_id
        self.protocol_type = protocol_type
        self.protocol_name = protocol_name
        self.assignments = [] if assignments is NO_ITEMS else assignments

    @classmethod
    def decode(cls, data: bytes, position: int, version: int) -> tuple[SyncGroupRequest, int]:
        if version < 0 or version > 5:
            raise unknown_version("SyncGroupRequest", version, 0, 5)
        try:
            message, end = _read_sync_group_request(data, position, version)
        except (IndexError, ValueError) as error:
            raise malformed("SyncGroupRequest", version, error) from None
        return message, end

    def encode(self, version: int) -> bytes:
        if version < 0 or version > 5:
            raise unsupported_version("SyncGroupRequest", version, 0, 5)
        writer = BytesWriter()
        _write_sync_group_request(writer, self, version)
        return writer.getvalue()

    def encode_parts(self, writer_prefix: bytes, version: int) -> list[Part]:
        if version < 0 or version > 5:
            raise unsupported_version("SyncGroupRequest", version, 0, 5)
        writer = BytesWriter()
        writer.write(writer_prefix)
        _write_sync_group_request(writer, self, version)
        return [writer.getvalue()]


def _read_sync_group_request(data: bytes, position: i64, version: i64) -> tuple[SyncGroupRequest, i64]:
    group_id: str
    member_id: str
    group_instance_id: str | None
    protocol_type: str | None
    protocol_name: str | None
    assignments: list[SyncGroupRequestAssignment]
    if version >= 4:
        group_id, position = read_compact_string(data, position)
    else:
        group_id, position = read_string(data, position)
    generation_id = read_i32_be(data, position)
    position += 4
    if version >= 4:
        member_id, position = read_compact_string(data, position)
    else:
        member_id, position = read_string(data, position)
    if version >= 4:
        group_instance_id, position = read_compact_nullable_string(data, position)
    elif version >= 3:
        group_instance_id, position = read_nullable_string(data, position)
    else:
        group_instance_id = None
    if version >= 5:
        protocol_type, position = read_compact_nullable_string(data, position)
        protocol_name, position = read_compact_nullable_string(data, position)
    else:
        protocol_type = None
        protocol_name = None
    if version >= 4:
        count, position = read_compact_count(data, position, 3)
        assignments = []
        for nth in range(count):
            assignments_item, position = _read_sync_group_request_assignment(data, position, version)
            assignments.append(assignments_item)
            if nth & LONG_RUN == LONG_RUN:
                give_way()
    else:
        count, position = read_count(data, position, 6)
        assignments = []
        for nth in range(count):
            assignments_item, position = _read_sync_group_request_assignment(data, position, version)
            assignments.append(assignments_item)
            if nth & LONG_RUN == LONG_RUN:
                give_way()
    if version >= 4:
        position = skip_tags(data, position) if data[position] else position + 1
    return SyncGroupRequest(group_id, generation_id, member_id, group_instance_id, protocol_type, protocol_name, assignments), position


def _write_sync_group_request(writer: BytesWriter, message: SyncGroupRequest, version: i64) -> None:
    if version >= 4:
        write_compact_string(writer, message.group_id)
    else:
        write_string(writer, message.group_id)
    write_i32_be(writer, message.generation_id)
    if version >= 4:
        write_compact_string(writer, message.member_id)
    else:
        write_string(writer, message.member_id)
    if version >= 4:
        write_compact_nullable_string(writer, message.group_instance_id)
    elif version >= 3:
        write_nullable_string(writer, message.group_instance_id)
    else:
        if message.group_instance_id is not None:
            raise unsupported_field("SyncGroupRequest", "group_instance_id", version)
    if version >= 5:
        write_compact_nullable_string(writer, message.protocol_type)
        write_compact_nullable_string(writer, message.protocol_name)
    if version >= 4:
        assignments = message.assignments
        write_uvarint(writer, len(assignments) + 1)
        for nth, assignments_item in enumerate(assignments):
            _write_sync_group_request_assignment(writer, assignments_item, version)
            if nth & LONG_RUN == LONG_RUN:
                give_way()
    else:
        assignments = message.assignments
        write_i32_be(writer, len(assignments))
        for nth, assignments_item in enumerate(assignments):
            _write_sync_group_request_assignment(writer, assignments_item, version)
            if nth & LONG_RUN == LONG_RUN:
                give_way()
    if version >= 4:
        writer.append(0)


class SyncGroupResponse(Message):
    """API key 14, versions 0 to 5."""

    __slots__ = ("throttle_time_ms", "error_code", "protocol_type", "protocol_name", "assignment")
    FIELDS: ClassVar[tuple[str, ...]] = ("throttle_time_ms", "error_code", "protocol_type", "protocol_name", "assignment")
    API_KEY: ClassVar[int] = 14
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 5
    FIRST_FLEXIBLE: ClassVar[int] = 4

    def __init__(self, throttle_time_ms: int = 0, error_code: int = 0, protocol_type: str | None = None, protocol_name: str | None = None, assignment: bytes = b"") -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.protocol_type = protocol_type
        self.protocol_name = protocol_name
        self.assignment = assignment

    @classmethod
    def decode(cls, data: bytes, position: int, version: int) -> tuple[SyncGroupResponse, int]:
        if version < 0 or version > 5:
            raise unknown_version("SyncGroupResponse", version, 0, 5)
        try:
            message, end = _read_sync_group_response(data, position, version)
        except (IndexError, ValueError) as error:
            raise malformed("SyncGroupResponse", version, error) from None
        return message, end

    def encode(self, version: int) -> bytes:
        if version < 0 or version > 5:
            raise unsupported_version("SyncGroupResponse", version, 0, 5)
        writer = BytesWriter()
        _write_sync_group_response(writer, self, version)
        return writer.getvalue()

    def encode_parts(self, writer_prefix: bytes, version: int) -> list[Part]:
        if version < 0 or version > 5:
            raise unsupported_version("SyncGroupResponse", version, 0, 5)
        writer = BytesWriter()
        writer.write(writer_prefix)
        _write_sync_group_response(writer, self, version)
        return [writer.getvalue()]


def _read_sync_group_response(data: bytes, position: i64, version: i64) -> tuple[SyncGroupResponse, i64]:
    throttle_time_ms: int
    protocol_type: str | None
    protocol_name: str | None
    assignment: bytes
    if version >= 1:
        throttle_time_ms = read_i32_be(data, position)
        position += 4
    else:
        throttle_time_ms = 0
    error_code = read_i16_be(data, position)
    position += 2
    if version >= 5:
        protocol_type, position = read_compact_nullable_string(data, position)
        protocol_name, position = read_compact_nullable_string(data, position)
    else:
        protocol_type = None
        protocol_name = None
    if version >= 4:
        assignment, position = read_compact_bytes(data, position)
    else:
        assignment, position = read_bytes(data, position)
    if version >= 4:
        position = skip_tags(data, position) if data[position] else position + 1
    return SyncGroupResponse(throttle_time_ms, error_code, protocol_type, protocol_name, assignment), position


def _write_sync_group_response(writer: BytesWriter, message: SyncGroupResponse, version: i64) -> None:
    if version >= 1:
        write_i32_be(writer, message.throttle_time_ms)
    write_i16_be(writer, message.error_code)
    if version >= 5:
        write_compact_nullable_string(writer, message.protocol_type)
        write_compact_nullable_string(writer, message.protocol_name)
    if version >= 4:
        write_compact_bytes(writer, message.assignment)
    else:
        write_bytes(writer, message.assignment)
    if version >= 4:
        writer.append(0)
