"""DescribeGroups (API key 15). Generated from schema/describe_groups.txt: do not edit."""

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
    read_compact_string_list,
    read_count,
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
    write_bytes,
    write_compact_bytes,
    write_compact_nullable_string,
    write_compact_string,
    write_compact_string_list,
    write_nullable_string,
    write_string,
    write_string_list,
    write_uvarint,
)


class DescribedGroupMember(Struct):
    __slots__ = ("member_id", "group_instance_id", "client_id", "client_host", "member_metadata", "member_assignment")
    FIELDS: ClassVar[tuple[str, ...]] = ("member_id", "group_instance_id", "client_id", "client_host", "member_metadata", "member_assignment")

    def __init__(self, member_id: str = "", group_instance_id: str | None = None, client_id: str = "", client_host: str = "", member_metadata: bytes = b"", member_assignment: bytes = b"") -> None:
        self.member_id = member_id
        self.group_instance_id = group_instance_id
        self.client_id = client_id
        self.client_host = client_host
        self.member_metadata = member_metadata
        self.member_assignment = member_assignment


def _read_described_group_member(data: bytes, position: i64, version: i64) -> tuple[DescribedGroupMember, i64]:
    member_id: str
    group_instance_id: str | None
    client_id: str
    client_host: str
    member_metadata: bytes
    member_assignment: bytes
    if version >= 5:
        member_id, position = read_compact_string(data, position)
    else:
        member_id, position = read_string(data, position)
    if version >= 5:
        group_instance_id, position = read_compact_nullable_string(data, position)
    elif version >= 4:
        group_instance_id, position = read_nullable_string(data, position)
    else:
        group_instance_id = None
    if version >= 5:
        client_id, position = read_compact_string(data, position)
        client_host, position = read_compact_string(data, position)
        member_metadata, position = read_compact_bytes(data, position)
        member_assignment, position = read_compact_bytes(data, position)
    else:
        client_id, position = read_string(data, position)
        client_host, position = read_string(data, position)
        member_metadata, position = read_bytes(data, position)
        member_assignment, position = read_bytes(data, position)
    if version >= 5:
        position = skip_tags(data, position) if data[position] else position + 1
    return DescribedGroupMember(member_id, group_instance_id, client_id, client_host, member_metadata, member_assignment), position


def _write_described_group_member(writer: BytesWriter, message: DescribedGroupMember, version: i64) -> None:
    if version >= 5:
        write_compact_string(writer, message.member_id)
    else:
        write_string(writer, message.member_id)
    if version >= 5:
        write_compact_nullable_string(writer, message.group_instance_id)
    elif version >= 4:
        write_nullable_string(writer, message.group_instance_id)
    if version >= 5:
        write_compact_string(writer, message.client_id)
        write_compact_string(writer, message.client_host)
        write_compact_bytes(writer, message.member_metadata)
        write_compact_bytes(writer, message.member_assignment)
    else:
        write_string(writer, message.client_id)
        write_string(writer, message.client_host)
        write_bytes(writer, message.member_metadata)
        write_bytes(writer, message.member_assignment)
    if version >= 5:
        writer.append(0)


class DescribedGroup(Struct):
    __slots__ = ("error_code", "error_message", "group_id", "group_state", "protocol_type", "protocol_data", "members", "authorized_operations")
    FIELDS: ClassVar[tuple[str, ...]] = ("error_code", "error_message", "group_id", "group_state", "protocol_type", "protocol_data", "members", "authorized_operations")

    def __init__(self, error_code: int = 0, error_message: str | None = None, group_id: str = "", group_state: str = "", protocol_type: str = "", protocol_data: str = "", members: list[DescribedGroupMember] = NO_ITEMS, authorized_operations: int = -2147483648) -> None:
        self.error_code = error_code
        self.error_message = error_message
        self.group_id = group_id
        self.group_state = group_state
        self.protocol_type = protocol_type
        self.protocol_data = protocol_data
        self.members = [] if members is NO_ITEMS else members
        self.authorized_operations = authorized_operations


def _read_described_group(data: bytes, position: i64, version: i64) -> tuple[DescribedGroup, i64]:
    error_message: str | None
    group_id: str
    group_state: str
    protocol_type: str
    protocol_data: str
    members: list[DescribedGroupMember]
    authorized_operations: int
    error_code = read_i16_be(data, position)
    position += 2
    if version >= 6:
        error_message, position = read_compact_nullable_string(data, position)
    else:
        error_message = None
    if version >= 5:
        group_id, position = read_compact_string(data, position)
        group_state, position = read_compact_string(data, position)
        protocol_type, position = read_compact_string(data, position)
        protocol_data, position = read_compact_string(data, position)
        count, position = read_compact_count(data, position, 7)
        members = []
        for nth in range(count):
            members_item, position = _read_described_group_member(data, position, version)
            members.append(members_item)
            if nth & LONG_RUN == LONG_RUN:
                give_way()
    else:
        group_id, position = read_string(data, position)
        group_state, position = read_string(data, position)
        protocol_type, position = read_string(data, position)
        protocol_data, position = read_string(data, position)
        count, position = read_count(data, position, 14)
        members = []
        for nth in range(count):
            members_item, position = _read_described_group_member(data, position, version)
            members.append(members_item)
            if nth & LONG_RUN == LONG_RUN:
                give_way()
    if version >= 3:
        authorized_operations = read_i32_be(data, position)
        position += 4
    else:
        authorized_operations = -2147483648
    if version >= 5:
        position = skip_tags(data, position) if data[position] else position + 1
    return DescribedGroup(error_code, error_message, group_id, group_state, protocol_type, protocol_data, members, authorized_operations), position


def _write_described_group(writer: BytesWriter, message: DescribedGroup, version: i64) -> None:
    write_i16_be(writer, message.error_code)
    if version >= 6:
        write_compact_nullable_string(writer, message.error_message)
    else:
        if message.error_message is not None:
            raise unsupported_field("DescribedGroup", "error_message", version)
    if version >= 5:
        write_compact_string(writer, message.group_id)
        write_compact_string(writer, message.group_state)
        write_compact_string(writer, message.protocol_type)
        write_compact_string(writer, message.protocol_data)
        members = message.members
        write_uvarint(writer, len(members) + 1)
        for nth, members_item in enumerate(members):
            _write_described_group_member(writer, members_item, version)
            if nth & LONG_RUN == LONG_RUN:
                give_way()
    else:
        write_string(writer, message.group_id)
        write_string(writer, message.group_state)
        write_string(writer, message.protocol_type)
        write_string(writer, message.protocol_data)
        members = message.members
        write_i32_be(writer, len(members))
        for nth, members_item in enumerate(members):
            _write_described_group_member(writer, members_item, version)
            if nth & LONG_RUN == LONG_RUN:
                give_way()
    if version >= 3:
        write_i32_be(writer, message.authorized_operations)
    else:
        if message.authorized_operations != -2147483648:
            raise unsupported_field("DescribedGroup", "authorized_operations", version)
    if version >= 5:
        writer.append(0)


class DescribeGroupsRequest(Message):
    """API key 15, versions 0 to 6."""

    __slots__ = ("groups", "include_authorized_operations")
    FIELDS: ClassVar[tuple[str, ...]] = ("groups", "include_authorized_operations")
    API_KEY: ClassVar[int] = 15
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 6
    FIRST_FLEXIBLE: ClassVar[int] = 5

    def __init__(self, groups: list[str] = NO_ITEMS, include_authorized_operations: bool = False) -> None:
        self.groups = [] if groups is NO_ITEMS else groups
        self.include_authorized_operations = include_authorized_operations

    @classmethod
    def decode(cls, data: bytes, position: int, version: int) -> tuple[DescribeGroupsRequest, int]:
        if version < 0 or version > 6:
            raise unknown_version("DescribeGroupsRequest", version, 0, 6)
        try:
            message, end = _read_describe_groups_request(data, position, version)
        except (IndexError, ValueError) as error:
            raise malformed("DescribeGroupsRequest", version, error) from None
        return message, end

    def encode(self, version: int) -> bytes:
        if version < 0 or version > 6:
            raise unsupported_version("DescribeGroupsRequest", version, 0, 6)
        writer = BytesWriter()
        _write_describe_groups_request(writer, self, version)
        return writer.getvalue()

    def encode_parts(self, writer_prefix: bytes, version: int) -> list[Part]:
        if version < 0 or version > 6:
            raise unsupported_version("DescribeGroupsRequest", version, 0, 6)
        writer = BytesWriter()
        writer.write(writer_prefix)
        _write_describe_groups_request(writer, self, version)
        return [writer.getvalue()]


def _read_describe_groups_request(data: bytes, position: i64, version: i64) -> tuple[DescribeGroupsRequest, i64]:
    groups: list[str]
    include_authorized_operations: bool
    if version >= 5:
        count, position = read_compact_count(data, position, 1)
        groups, position = read_compact_string_list(data, position, count)
    else:
        count, position = read_count(data, position, 2)
        groups, position = read_string_list(data, position, count)
    if version >= 3:
        include_authorized_operations = data[position] != 0
        position += 1
    else:
        include_authorized_operations = False
    if version >= 5:
        position = skip_tags(data, position) if data[position] else position + 1
    return DescribeGroupsRequest(groups, include_authorized_operations), position


def _write_describe_groups_request(writer: BytesWriter, message: DescribeGroupsRequest, version: i64) -> None:
    if version >= 5:
        groups = message.groups
        write_uvarint(writer, len(groups) + 1)
        write_compact_string_list(writer, groups)
    else:
        groups = message.groups
        write_i32_be(writer, len(groups))
        write_string_list(writer, groups)
    if version >= 3:
        write_bool(writer, message.include_authorized_operations)
    else:
        if message.include_authorized_operations:
            raise unsupported_field("DescribeGroupsRequest", "include_authorized_operations", version)
    if version >= 5:
        writer.append(0)


class DescribeGroupsResponse(Message):
    """API key 15, versions 0 to 6."""

    __slots__ = ("throttle_time_ms", "groups")
    FIELDS: ClassVar[tuple[str, ...]] = ("throttle_time_ms", "groups")
    API_KEY: ClassVar[int] = 15
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 6
    FIRST_FLEXIBLE: ClassVar[int] = 5

    def __init__(self, throttle_time_ms: int = 0, groups: list[DescribedGroup] = NO_ITEMS) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.groups = [] if groups is NO_ITEMS else groups

    @classmethod
    def decode(cls, data: bytes, position: int, version: int) -> tuple[DescribeGroupsResponse, int]:
        if version < 0 or version > 6:
            raise unknown_version("DescribeGroupsResponse", version, 0, 6)
        try:
            message, end = _read_describe_groups_response(data, position, version)
        except (IndexError, ValueError) as error:
            raise malformed("DescribeGroupsResponse", version, error) from None
        return message, end

    def encode(self, version: int) -> bytes:
        if version < 0 or version > 6:
            raise unsupported_version("DescribeGroupsResponse", version, 0, 6)
        writer = BytesWriter()
        _write_describe_groups_response(writer, self, version)
        return writer.getvalue()

    def encode_parts(self, writer_prefix: bytes, version: int) -> list[Part]:
        if version < 0 or version > 6:
            raise unsupported_version("DescribeGroupsResponse", version, 0, 6)
        writer = BytesWriter()
        writer.write(writer_prefix)
        _write_describe_groups_response(writer, self, version)
        return [writer.getvalue()]


def _read_describe_groups_response(data: bytes, position: i64, version: i64) -> tuple[DescribeGroupsResponse, i64]:
    throttle_time_ms: int
    groups: list[DescribedGroup]
    if version >= 1:
        throttle_time_ms = read_i32_be(data, position)
        position += 4
    else:
        throttle_time_ms = 0
    if version >= 5:
        count, position = read_compact_count(data, position, 12)
        groups = []
        for nth in range(count):
            groups_item, position = _read_described_group(data, position, version)
            groups.append(groups_item)
            if nth & LONG_RUN == LONG_RUN:
                give_way()
    else:
        count, position = read_count(data, position, 14)
        groups = []
        for nth in range(count):
            groups_item, position = _read_described_group(data, position, version)
            groups.append(groups_item)
            if nth & LONG_RUN == LONG_RUN:
                give_way()
    if version >= 5:
        position = skip_tags(data, position) if data[position] else position + 1
    return DescribeGroupsResponse(throttle_time_ms, groups), position


def _write_describe_groups_response(writer: BytesWriter, message: DescribeGroupsResponse, version: i64) -> None:
    if version >= 1:
        write_i32_be(writer, message.throttle_time_ms)
    if version >= 5:
        groups = message.groups
        write_uvarint(writer, len(groups) + 1)
        for nth, groups_item in enumerate(groups):
            _write_described_group(writer, groups_item, version)
            if nth & LONG_RUN == LONG_RUN:
                give_way()
    else:
        groups = message.groups
        write_i32_be(writer, len(groups))
        for nth, groups_item in enumerate(groups):
            _write_described_group(writer, groups_item, version)
            if nth & LONG_RUN == LONG_RUN:
                give_way()
    if version >= 5:
        writer.append(0)
