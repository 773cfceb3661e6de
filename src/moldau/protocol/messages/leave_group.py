"""LeaveGroup (API key 13). Generated from schema/leave_group.txt: do not edit."""

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
    read_nullable_string,
    read_string,
    skip_tags,
    unknown_version,
)
from moldau.protocol.writing import (
    unsupported_field,
    unsupported_version,
    write_compact_nullable_string,
    write_compact_string,
    write_nullable_string,
    write_string,
    write_uvarint,
)


class MemberIdentity(Struct):
    __slots__ = ("member_id", "group_instance_id", "reason")
    FIELDS: ClassVar[tuple[str, ...]] = ("member_id", "group_instance_id", "reason")

    def __init__(self, member_id: str = "", group_instance_id: str | None = None, reason: str | None = None) -> None:
        self.member_id = member_id
        self.group_instance_id = group_instance_id
        self.reason = reason


def _read_member_identity(data: bytes, position: i64, version: i64) -> tuple[MemberIdentity, i64]:
    member_id: str
    group_instance_id: str | None
    reason: str | None
    if version >= 4:
        member_id, position = read_compact_string(data, position)
        group_instance_id, position = read_compact_nullable_string(data, position)
    else:
        member_id, position = read_string(data, position)
        group_instance_id, position = read_nullable_string(data, position)
    if version >= 5:
        reason, position = read_compact_nullable_string(data, position)
    else:
        reason = None
    if version >= 4:
        position = skip_tags(data, position) if data[position] else position + 1
    return MemberIdentity(member_id, group_instance_id, reason), position


def _write_member_identity(writer: BytesWriter, message: MemberIdentity, version: i64) -> None:
    if version >= 4:
        write_compact_string(writer, message.member_id)
        write_compact_nullable_string(writer, message.group_instance_id)
    else:
        write_string(writer, message.member_id)
        write_nullable_string(writer, message.group_instance_id)
    if version >= 5:
        write_compact_nullable_string(writer, message.reason)
    if version >= 4:
        writer.append(0)


class MemberResponse(Struct):
    __slots__ = ("member_id", "group_instance_id", "error_code")
    FIELDS: ClassVar[tuple[str, ...]] = ("member_id", "group_instance_id", "error_code")

    def __init__(self, member_id: str = "", group_instance_id: str | None = "", error_code: int = 0) -> None:
        self.member_id = member_id
        self.group_instance_id = group_instance_id
        self.error_code = error_code


def _read_member_response(data: bytes, position: i64, version: i64) -> tuple[MemberResponse, i64]:
    member_id: str
    group_instance_id: str | None
    if version >= 4:
        member_id, position = read_compact_string(data, position)
        group_instance_id, position = read_compact_nullable_string(data, position)
    else:
        member_id, position = read_string(data, position)
        group_instance_id, position = read_nullable_string(data, position)
    error_code = read_i16_be(data, position)
    position += 2
    if version >= 4:
        position = skip_tags(data, position) if data[position] else position + 1
    return MemberResponse(member_id, group_instance_id, error_code), position


def _write_member_response(writer: BytesWriter, message: MemberResponse, version: i64) -> None:
    if version >= 4:
        write_compact_string(writer, message.member_id)
        write_compact_nullable_string(writer, message.group_instance_id)
    else:
        write_string(writer, message.member_id)
        write_nullable_string(writer, message.group_instance_id)
    write_i16_be(writer, message.error_code)
    if version >= 4:
        writer.append(0)


class LeaveGroupRequest(Message):
    """API key 13, versions 0 to 5."""

    __slots__ = ("group_id", "member_id", "members")
    FIELDS: ClassVar[tuple[str, ...]] = ("group_id", "member_id", "members")
    API_KEY: ClassVar[int] = 13
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 5
    FIRST_FLEXIBLE: ClassVar[int] = 4

    def __init__(self, group_id: str = "", member_id: str = "", members: list[MemberIdentity] = NO_ITEMS) -> None:
        self.group_id = group_id
        self.member_id = member_id
        self.members = [] if members is NO_ITEMS else members

    @classmethod
    def decode(cls, data: bytes, position: int, version: int) -> tuple[LeaveGroupRequest, int]:
        if version < 0 or version > 5:
            raise unknown_version("LeaveGroupRequest", version, 0, 5)
        try:
            message, end = _read_leave_group_request(data, position, version)
        except (IndexError, ValueError) as error:
            raise malformed("LeaveGroupRequest", version, error) from None
        return message, end

    def encode(self, version: int) -> bytes:
        if version < 0 or version > 5:
            raise unsupported_version("LeaveGroupRequest", version, 0, 5)
        writer = BytesWriter()
        _write_leave_group_request(writer, self, version)
        return writer.getvalue()

    def encode_parts(self, writer_prefix: bytes, version: int) -> list[Part]:
        if version < 0 or version > 5:
            raise unsupported_version("LeaveGroupRequest", version, 0, 5)
        writer = BytesWriter()
        writer.write(writer_prefix)
        _write_leave_group_request(writer, self, version)
        return [writer.getvalue()]


def _read_leave_group_request(data: bytes, position: i64, version: i64) -> tuple[LeaveGroupRequest, i64]:
    group_id: str
    member_id: str
    members: list[MemberIdentity]
    if version >= 4:
        group_id, position = read_compact_string(data, position)
    else:
        group_id, position = read_string(data, position)
    if version >= 3:
        member_id = ""
    else:
        member_id, position = read_string(data, position)
    if version >= 4:
        count, position = read_compact_count(data, position, 3)
        members = []
        for nth in range(count):
            members_item, position = _read_member_identity(data, position, version)
            members.append(members_item)
            if nth & LONG_RUN == LONG_RUN:
                give_way()
    elif version >= 3:
        count, position = read_count(data, position, 4)
        members = []
        for nth in range(count):
            members_item, position = _read_member_identity(data, position, version)
            members.append(members_item)
            if nth & LONG_RUN == LONG_RUN:
                give_way()
    else:
        members = []
    if version >= 4:
        position = skip_tags(data, position) if data[position] else position + 1
    return LeaveGroupRequest(group_id, member_id, members), position


def _write_leave_group_request(writer: BytesWriter, message: LeaveGroupRequest, version: i64) -> None:
    if version >= 4:
        write_compact_string(writer, message.group_id)
    else:
        write_string(writer, message.group_id)
    if version >= 3:
        if message.member_id != "":
            raise unsupported_field("LeaveGroupRequest", "member_id", version)
    else:
        write_string(writer, message.member_id)
    if version >= 4:
        members = message.members
        write_uvarint(writer, len(members) + 1)
        for nth, members_item in enumerate(members):
            _write_member_identity(writer, members_item, version)
            if nth & LONG_RUN == LONG_RUN:
                give_way()
    elif version >= 3:
        members = message.members
        write_i32_be(writer, len(members))
        for nth, members_item in enumerate(members):
            _write_member_identity(writer, members_item, version)
            if nth & LONG_RUN == LONG_RUN:
                give_way()
    else:
        if message.members:
            raise unsupported_field("LeaveGroupRequest", "members", version)
    if version >= 4:
        writer.append(0)


class LeaveGroupResponse(Message):
    """API key 13, versions 0 to 5."""

    __slots__ = ("throttle_time_ms", "error_code", "members")
    FIELDS: ClassVar[tuple[str, ...]] = ("throttle_time_ms", "error_code", "members")
    API_KEY: ClassVar[int] = 13
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 5
    FIRST_FLEXIBLE: ClassVar[int] = 4

    def __init__(self, throttle_time_ms: int = 0, error_code: int = 0, members: list[MemberResponse] = NO_ITEMS) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.members = [] if members is NO_ITEMS else members

    @classmethod
    def decode(cls, data: bytes, position: int, version: int) -> tuple[LeaveGroupResponse, int]:
        if version < 0 or version > 5:
            raise unknown_version("LeaveGroupResponse", version, 0, 5)
        try:
            message, end = _read_leave_group_response(data, position, version)
        except (IndexError, ValueError) as error:
            raise malformed("LeaveGroupResponse", version, error) from None
        return message, end

    def encode(self, version: int) -> bytes:
        if version < 0 or version > 5:
            raise unsupported_version("LeaveGroupResponse", version, 0, 5)
        writer = BytesWriter()
        _write_leave_group_response(writer, self, version)
        return writer.getvalue()

    def encode_parts(self, writer_prefix: bytes, version: int) -> list[Part]:
        if version < 0 or version > 5:
            raise unsupported_version("LeaveGroupResponse", version, 0, 5)
        writer = BytesWriter()
        writer.write(writer_prefix)
        _write_leave_group_response(writer, self, version)
        return [writer.getvalue()]


def _read_leave_group_response(data: bytes, position: i64, version: i64) -> tuple[LeaveGroupResponse, i64]:
    throttle_time_ms: int
    members: list[MemberResponse]
    if version >= 1:
        throttle_time_ms = read_i32_be(data, position)
        position += 4
    else:
        throttle_time_ms = 0
    error_code = read_i16_be(data, position)
    position += 2
    if version >= 4:
        count, position = read_compact_count(data, position, 5)
        members = []
        for nth in range(count):
            members_item, position = _read_member_response(data, position, version)
            members.append(members_item)
            if nth & LONG_RUN == LONG_RUN:
                give_way()
    elif version >= 3:
        count, position = read_count(data, position, 6)
        members = []
        for nth in range(count):
            members_item, position = _read_member_response(data, position, version)
            members.append(members_item)
            if nth & LONG_RUN == LONG_RUN:
                give_way()
    else:
        members = []
    if version >= 4:
        position = skip_tags(data, position) if data[position] else position + 1
    return LeaveGroupResponse(throttle_time_ms, error_code, members), position


def _write_leave_group_response(writer: BytesWriter, message: LeaveGroupResponse, version: i64) -> None:
    if version >= 1:
        write_i32_be(writer, message.throttle_time_ms)
    write_i16_be(writer, message.error_code)
    if version >= 4:
        members = message.members
        write_uvarint(writer, len(members) + 1)
        for nth, members_item in enumerate(members):
            _write_member_response(writer, members_item, version)
            if nth & LONG_RUN == LONG_RUN:
                give_way()
    elif version >= 3:
        members = message.members
        write_i32_be(writer, len(members))
        for nth, members_item in enumerate(members):
            _write_member_response(writer, members_item, version)
            if nth & LONG_RUN == LONG_RUN:
                give_way()
    else:
        if message.members:
            raise unsupported_field("LeaveGroupResponse", "members", version)
    if version >= 4:
        writer.append(0)
