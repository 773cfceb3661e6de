"""JoinGroup (API key 11). Generated from schema/join_group.txt: do not edit."""

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
    null_field,
    unsupported_field,
    unsupported_version,
    write_bool,
    write_bytes,
    write_compact_bytes,
    write_compact_nullable_string,
    write_compact_string,
    write_nullable_string,
    write_string,
    write_uvarint,
)


class JoinGroupRequestProtocol(Struct):
    __slots__ = ("name", "metadata")
    FIELDS: ClassVar[tuple[str, ...]] = ("name", "metadata")

    def __init__(self, name: str = "", metadata: bytes = b"") -> None:
        self.name = name
        self.metadata = metadata


def _read_join_group_request_protocol(data: bytes, position: i64, version: i64) -> tuple[JoinGroupRequestProtocol, i64]:
    name: str
    metadata: bytes
    if version >= 6:
        name, position = read_compact_string(data, position)
        metadata, position = read_compact_bytes(data, position)
    else:
        name, position = read_string(data, position)
        metadata, position = read_bytes(data, position)
    if version >= 6:
        position = skip_tags(data, position) if data[position] else position + 1
    return JoinGroupRequestProtocol(name, metadata), position


def _write_join_group_request_protocol(writer: BytesWriter, message: JoinGroupRequestProtocol, version: i64) -> None:
    if version >= 6:
        write_compact_string(writer, message.name)
        write_compact_bytes(writer, message.metadata)
    else:
        write_string(writer, message.name)
        write_bytes(writer, message.metadata)
    if version >= 6:
        writer.append(0)


class JoinGroupResponseMember(Struct):
    __slots__ = ("member_id", "group_instance_id", "metadata")
    FIELDS: ClassVar[tuple[str, ...]] = ("member_id", "group_instance_id", "metadata")

    def __init__(self, member_id: str = "", group_instance_id: str | None = None, metadata: bytes = b"") -> None:
        self.member_id = member_id
        self.group_instance_id = group_instance_id
        self.metadata = metadata


def _read_join_group_response_member(data: bytes, position: i64, version: i64) -> tuple[JoinGroupResponseMember, i64]:
    member_id: str
    group_instance_id: str | None
    metadata: bytes
    if version >= 6:
        member_id, position = read_compact_string(data, position)
    else:
        member_id, position = read_string(data, position)
    if version >= 6:
        group_instance_id, position = read_compact_nullable_string(data, position)
    elif version >= 5:
        group_instance_id, position = read_nullable_string(data, position)
    else:
        group_instance_id = None
    if version >= 6:
        metadata, position = read_compact_bytes(data, position)
    else:
        metadata, position = read_bytes(data, position)
    if version >= 6:
        position = skip_tags(data, position) if data[position] else position + 1
    return JoinGroupResponseMember(member_id, group_instance_id, metadata), position


def _write_join_group_response_member(writer: BytesWriter, message: JoinGroupResponseMember, version: i64) -> None:
    if version >= 6:
        write_compact_string(writer, message.member_id)
    else:
        write_string(writer, message.member_id)
    if version >= 6:
        write_compact_nullable_string(writer, message.group_instance_id)
    elif version >= 5:
        write_nullable_string(writer, message.group_instance_id)
    if version >= 6:
        write_compact_bytes(writer, message.metadata)
    else:
        write_bytes(writer, message.metadata)
    if version >= 6:
        writer.append(0)


class JoinGroupRequest(Message):
    """API key 11, versions 0 to 9."""

    __slots__ = ("group_id", "session_timeout_ms", "rebalance_timeout_ms", "member_id", "group_instance_id", "protocol_type", "protocols", "reason")
    FIELDS: ClassVar[tuple[str, ...]] = ("group_id", "session_timeout_ms", "rebalance_timeout_ms", "member_id", "group_instance_id", "protocol_type", "protocols", "reason")
    API_KEY: ClassVar[int] = 11
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 9
    FIRST_FLEXIBLE: ClassVar[int] = 6

    def __init__(self, group_id: str = "", session_timeout_ms: int = 0, rebalance_timeout_ms: int = -1, member_id: str = "", group_instance_id: str | None = None, protocol_type: str = "", protocols: list[JoinGroupRequestProtocol] = NO_ITEMS, reason: str | None = None) -> None:
        self.group_id = group_id
        self.session_timeout_ms = session_timeout_ms
        self.rebalance_timeout_ms = rebalance_timeout_ms
        self.member_id = member_id
        self.group_instance_id = group_instance_id
        self.protocol_type = protocol_type
        self.protocols = [] if protocols is NO_ITEMS else protocols
        self.reason = reason

    @classmethod
    def decode(cls, data: bytes, position: int, version: int) -> tuple[JoinGroupRequest, int]:
        if version < 0 or version > 9:
            raise unknown_version("JoinGroupRequest", version, 0, 9)
        try:
            message, end = _read_join_group_request(data, position, version)
        except (IndexError, ValueError) as error:
            raise malformed("JoinGroupRequest", version, error) from None
        return message, end

    def encode(self, version: int) -> bytes:
        if version < 0 or version > 9:
            raise unsupported_version("JoinGroupRequest", version, 0, 9)
        writer = BytesWriter()
        _write_join_group_request(writer, self, version)
        return writer.getvalue()

    def encode_parts(self, writer_prefix: bytes, version: int) -> list[Part]:
        if version < 0 or version > 9:
            raise unsupported_version("JoinGroupRequest", version, 0, 9)
        writer = BytesWriter()
        writer.write(writer_prefix)
        _write_join_group_request(writer, self, version)
        return [writer.getvalue()]


def _read_join_group_request(data: bytes, position: i64, version: i64) -> tuple[JoinGroupRequest, i64]:
    group_id: str
    rebalance_timeout_ms: int
    member_id: str
    group_instance_id: str | None
    protocol_type: str
    protocols: list[JoinGroupRequestProtocol]
    reason: str | None
    if version >= 6:
        group_id, position = read_compact_string(data, position)
    else:
        group_id, position = read_string(data, position)
    session_timeout_ms = read_i32_be(data, position)
    position += 4
    if version >= 1:
        rebalance_timeout_ms = read_i32_be(data, position)
        position += 4
    else:
        rebalance_timeout_ms = -1
    if version >= 6:
        member_id, position = read_compact_string(data, position)
    else:
        member_id, position = read_string(data, position)
    if version >= 6:
        group_instance_id, position = read_compact_nullable_string(data, position)
    elif version >= 5:
        group_instance_id, position = read_nullable_string(data, position)
    else:
        group_instance_id = None
    if version >= 6:
        protocol_type, position = read_compact_string(data, position)
        count, position = read_compact_count(data, position, 3)
        protocols = []
        for nth in range(count):
            protocols_item, position = _read_join_group_request_protocol(data, position, version)
            protocols.append(protocols_item)
            if nth & LONG_RUN == LONG_RUN:
                give_way()
    else:
        protocol_type, position = read_string(data, position)
        count, position = read_count(data, position, 6)
        protocols = []
        for nth in range(count):
            protocols_item, position = _read_join_group_request_protocol(data, position, version)
            protocols.append(protocols_item)
            if nth & LONG_RUN == LONG_RUN:
                give_way()
    if version >= 8:
        reason, position = read_compact_nullable_string(data, position)
    else:
        reason = None
    if version >= 6:
        position = skip_tags(data, position) if data[position] else position + 1
    return JoinGroupRequest(group_id, session_timeout_ms, rebalance_timeout_ms, member_id, group_instance_id, protocol_type, protocols, reason), position


def _write_join_group_request(writer: BytesWriter, message: JoinGroupRequest, version: i64) -> None:
    if version >= 6:
        write_compact_string(writer, message.group_id)
    else:
        write_string(writer, message.group_id)
    write_i32_be(writer, message.session_timeout_ms)
    if version >= 1:
        write_i32_be(writer, message.rebalance_timeout_ms)
    if version >= 6:
        write_compact_string(writer, message.member_id)
    else:
        write_string(writer, message.member_id)
    if version >= 6:
        write_compact_nullable_string(writer, message.group_instance_id)
    elif version >= 5:
        write_nullable_string(writer, message.group_instance_id)
    else:
        if message.group_instance_id is not None:
            raise unsupported_field("JoinGroupRequest", "group_instance_id", version)
    if version >= 6:
        write_compact_string(writer, message.protocol_type)
        protocols = message.protocols
        write_uvarint(writer, len(protocols) + 1)
        for nth, protocols_item in enumerate(protocols):
            _write_join_group_request_protocol(writer, protocols_item, version)
            if nth & LONG_RUN == LONG_RUN:
                give_way()
    else:
        write_string(writer, message.protocol_type)
        protocols = message.protocols
        write_i32_be(writer, len(protocols))
        for nth, protocols_item in enumerate(protocols):
            _write_join_group_request_protocol(writer, protocols_item, version)
            if nth & LONG_RUN == LONG_RUN:
                give_way()
    if version >= 8:
        write_compact_nullable_string(writer, message.reason)
    if version >= 6:
        writer.append(0)


class JoinGroupResponse(Message):
    """API key 11, versions 0 to 9."""

    __slots__ = ("throttle_time_ms", "error_code", "generation_id", "protocol_type", "protocol_name", "leader", "skip_assignment", "member_id", "members")
    FIELDS: ClassVar[tuple[str, ...]] = ("throttle_time_ms", "error_code", "generation_id", "protocol_type", "protocol_name", "leader", "skip_assignment", "member_id", "members")
    API_KEY: ClassVar[int] = 11
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 9
    FIRST_FLEXIBLE: ClassVar[int] = 6

    def __init__(self, throttle_time_ms: int = 0, error_code: int = 0, generation_id: int = -1, protocol_type: str | None = None, protocol_name: str | None = "", leader: str = "", skip_assignment: bool = False, member_id: str = "", members: list[JoinGroupResponseMember] = NO_ITEMS) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.generation_id = generation_id
        self.protocol_type = protocol_type
        self.protocol_name = protocol_name
        self.leader = leader
        self.skip_assignment = skip_assignment
        self.member_id = member_id
        self.members = [] if members is NO_ITEMS else members

    @classmethod
    def decode(cls, data: bytes, position: int, version: int) -> tuple[JoinGroupResponse, int]:
        if version < 0 or version > 9:
            raise unknown_version("JoinGroupResponse", version, 0, 9)
        try:
            message, end = _read_join_group_response(data, position, version)
        except (IndexError, ValueError) as error:
            raise malformed("JoinGroupResponse", version, error) from None
        return message, end

    def encode(self, version: int) -> bytes:
        if version < 0 or version > 9:
            raise unsupported_version("JoinGroupResponse", version, 0, 9)
        writer = BytesWriter()
        _write_join_group_response(writer, self, version)
        return writer.getvalue()

    def encode_parts(self, writer_prefix: bytes, version: int) -> list[Part]:
        if version < 0 or version > 9:
            raise unsupported_version("JoinGroupResponse", version, 0, 9)
        writer = BytesWriter()
        writer.write(writer_prefix)
        _write_join_group_response(writer, self, version)
        return [writer.getvalue()]


def _read_join_group_response(data: bytes, position: i64, version: i64) -> tuple[JoinGroupResponse, i64]:
    throttle_time_ms: int
    protocol_type: str | None
    protocol_name: str | None
    leader: str
    skip_assignment: bool
    member_id: str
    members: list[JoinGroupResponseMember]
    if version >= 2:
        throttle_time_ms = read_i32_be(data, position)
        position += 4
    else:
        throttle_time_ms = 0
    error_code = read_i16_be(data, position)
    generation_id = read_i32_be(data, position + 2)
    position += 6
    if version >= 7:
        protocol_type, position = read_compact_nullable_string(data, position)
    else:
        protocol_type = None
    if version >= 7:
        protocol_name, position = read_compact_nullable_string(data, position)
    elif version >= 6:
        protocol_name, position = read_compact_string(data, position)
    else:
        protocol_name, position = read_string(data, position)
    if version >= 6:
        leader, position = read_compact_string(data, position)
    else:
        leader, position = read_string(data, position)
    if version >= 9:
        skip_assignment = data[position] != 0
        position += 1
    else:
        skip_assignment = False
    if version >= 6:
        member_id, position = read_compact_string(data, position)
        count, position = read_compact_count(data, position, 4)
        members = []
        for nth in range(count):
            members_item, position = _read_join_group_response_member(data, position, version)
            members.append(members_item)
            if nth & LONG_RUN == LONG_RUN:
                give_way()
    else:
        member_id, position = read_string(data, position)
        count, position = read_count(data, position, 6)
        members = []
        for nth in range(count):
            members_item, position = _read_join_group_response_member(data, position, version)
            members.append(members_item)
            if nth & LONG_RUN == LONG_RUN:
                give_way()
    if version >= 6:
        position = skip_tags(data, position) if data[position] else position + 1
    return JoinGroupResponse(throttle_time_ms, error_code, generation_id, protocol_type, protocol_name, leader, skip_assignment, member_id, members), position


def _write_join_group_response(writer: BytesWriter, message: JoinGroupResponse, version: i64) -> None:
    if version >= 2:
        write_i32_be(writer, message.throttle_time_ms)
    write_i16_be(writer, message.error_code)
    write_i32_be(writer, message.generation_id)
    if version >= 7:
        write_compact_nullable_string(writer, message.protocol_type)
    if version >= 7:
        write_compact_nullable_string(writer, message.protocol_name)
    elif version >= 6:
        protocol_name = message.protocol_name
        if protocol_name is None:
            raise null_field("JoinGroupResponse", "protocol_name", version)
        write_compact_string(writer, protocol_name)
    else:
        protocol_name = message.protocol_name
        if protocol_name is None:
            raise null_field("JoinGroupResponse", "protocol_name", version)
        write_string(writer, protocol_name)
    if version >= 6:
        write_compact_string(writer, message.leader)
    else:
        write_string(writer, message.leader)
    if version >= 9:
        write_bool(writer, message.skip_assignment)
    else:
        if message.skip_assignment:
            raise unsupported_field("JoinGroupResponse", "skip_assignment", version)
    if version >= 6:
        write_compact_string(writer, message.member_id)
        members = message.members
        write_uvarint(writer, len(members) + 1)
        for nth, members_item in enumerate(members):
            _write_join_group_response_member(writer, members_item, version)
            if nth & LONG_RUN == LONG_RUN:
                give_way()
    else:
        write_string(writer, message.member_id)
        members = message.members
        write_i32_be(writer, len(members))
        for nth, members_item in enumerate(members):
            _write_join_group_response_member(writer, members_item, version)
            if nth & LONG_RUN == LONG_RUN:
                give_way()
    if version >= 6:
        writer.append(0)
