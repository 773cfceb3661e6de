"""ShareGroupDescribe (API key 77). Generated from schema/share_group_describe.txt: do not edit."""

# fmt: off
from __future__ import annotations

from typing import ClassVar

from librt.strings import BytesWriter, read_i16_be, read_i32_be, write_i16_be, write_i32_be
from mypy_extensions import i64

from moldau.ids import NO_UUID
from moldau.protocol.file_region import Part
from moldau.protocol.giving_way import give_way
from moldau.protocol.message import NO_ITEMS, Message, Struct
from moldau.protocol.reading import (
    LONG_RUN,
    malformed,
    read_compact_count,
    read_compact_nullable_string,
    read_compact_string,
    read_compact_string_list,
    read_i32_list,
    read_uuid,
    skip_tags,
    unknown_version,
)
from moldau.protocol.writing import (
    unsupported_version,
    write_bool,
    write_compact_nullable_string,
    write_compact_string,
    write_compact_string_list,
    write_i32_list,
    write_uuid,
    write_uvarint,
)


class TopicPartitions(Struct):
    __slots__ = ("topic_id", "topic_name", "partitions")
    FIELDS: ClassVar[tuple[str, ...]] = ("topic_id", "topic_name", "partitions")

    def __init__(self, topic_id: bytes = NO_UUID, topic_name: str = "", partitions: list[int] = NO_ITEMS) -> None:
        self.topic_id = topic_id
        self.topic_name = topic_name
        self.partitions = [] if partitions is NO_ITEMS else partitions


def _read_topic_partitions(data: bytes, position: i64, version: i64) -> tuple[TopicPartitions, i64]:
    partitions: list[int]
    topic_id = read_uuid(data, position)
    position += 16
    topic_name, position = read_compact_string(data, position)
    count, position = read_compact_count(data, position, 4)
    partitions = read_i32_list(data, position, count)
    position += 4 * count
    position = skip_tags(data, position) if data[position] else position + 1
    return TopicPartitions(topic_id, topic_name, partitions), position


def _write_topic_partitions(writer: BytesWriter, message: TopicPartitions, version: i64) -> None:
    write_uuid(writer, message.topic_id)
    write_compact_string(writer, message.topic_name)
    partitions = message.partitions
    write_uvarint(writer, len(partitions) + 1)
    write_i32_list(writer, partitions)
    writer.append(0)


class Assignment(Struct):
    __slots__ = ("topic_partitions",)
    FIELDS: ClassVar[tuple[str, ...]] = ("topic_partitions",)

    def __init__(self, topic_partitions: list[TopicPartitions] = NO_ITEMS) -> None:
        self.topic_partitions = [] if topic_partitions is NO_ITEMS else topic_partitions


def _read_assignment(data: bytes, position: i64, version: i64) -> tuple[Assignment, i64]:
    topic_partitions: list[TopicPartitions]
    count, position = read_compact_count(data, position, 19)
    topic_partitions = []
    for nth in range(count):
        topic_partitions_item, position = _read_topic_partitions(data, position, version)
        topic_partitions.append(topic_partitions_item)
        if nth & LONG_RUN == LONG_RUN:
            give_way()
    position = skip_tags(data, position) if data[position] else position + 1
    return Assignment(topic_partitions), position


def _write_assignment(writer: BytesWriter, message: Assignment, version: i64) -> None:
    topic_partitions = message.topic_partitions
    write_uvarint(writer, len(topic_partitions) + 1)
    for nth, topic_partitions_item in enumerate(topic_partitions):
        _write_topic_partitions(writer, topic_partitions_item, version)
        if nth & LONG_RUN == LONG_RUN:
            give_way()
    writer.append(0)


class Member(Struct):
    __slots__ = ("member_id", "rack_id", "member_epoch", "client_id", "client_host", "subscribed_topic_names", "assignment")
    FIELDS: ClassVar[tuple[str, ...]] = ("member_id", "rack_id", "member_epoch", "client_id", "client_host", "subscribed_topic_names", "assignment")

    def __init__(self, member_id: str = "", rack_id: str | None = None, member_epoch: int = 0, client_id: str = "", client_host: str = "", subscribed_topic_names: list[str] = NO_ITEMS, assignment: Assignment | None = None) -> None:
        self.member_id = member_id
        self.rack_id = rack_id
        self.member_epoch = member_epoch
        self.client_id = client_id
        self.client_host = client_host
        self.subscribed_topic_names = [] if subscribed_topic_names is NO_ITEMS else subscribed_topic_names
        self.assignment = Assignment() if assignment is None else assignment


def _read_member(data: bytes, position: i64, version: i64) -> tuple[Member, i64]:
    rack_id: str | None
    subscribed_topic_names: list[str]
    member_id, position = read_compact_string(data, position)
    rack_id, position = read_compact_nullable_string(data, position)
    member_epoch = read_i32_be(data, position)
    position += 4
    client_id, position = read_compact_string(data, position)
    client_host, position = read_compact_string(data, position)
    count, position = read_compact_count(data, position, 1)
    subscribed_topic_names, position = read_compact_string_list(data, position, count)
    assignment, position = _read_assignment(data, position, version)
    position = skip_tags(data, position) if data[position] else position + 1
    return Member(member_id, rack_id, member_epoch, client_id, client_host, subscribed_topic_names, assignment), position


def _write_member(writer: BytesWriter, message: Member, version: i64) -> None:
    write_compact_string(writer, message.member_id)
    write_compact_nullable_string(writer, message.rack_id)
    write_i32_be(writer, message.member_epoch)
    write_compact_string(writer, message.client_id)
    write_compact_string(writer, message.client_host)
    subscribed_topic_names = message.subscribed_topic_names
    write_uvarint(writer, len(subscribed_topic_names) + 1)
    write_compact_string_list(writer, subscribed_topic_names)
    _write_assignment(writer, message.assignment, version)
    writer.append(0)


class DescribedGroup(Struct):
    __slots__ = ("error_code", "error_message", "group_id", "group_state", "group_epoch", "assignment_epoch", "assignor_name", "members", "authorized_operations")
    FIELDS: ClassVar[tuple[str, ...]] = ("error_code", "error_message", "group_id", "group_state", "group_epoch", "assignment_epoch", "assignor_name", "members", "authorized_operations")

    def __init__(self, error_code: int = 0, error_message: str | None = None, group_id: str = "", group_state: str = "", group_epoch: int = 0, assignment_epoch: int = 0, assignor_name: str = "", members: list[Member] = NO_ITEMS, authorized_operations: int = -2147483648) -> None:
        self.error_code = error_code
        self.error_message = error_message
        self.group_id = group_id
        self.group_state = group_state
        self.group_epoch = group_epoch
        self.assignment_epoch = assignment_epoch
        self.assignor_name = assignor_name
        self.members = [] if members is NO_ITEMS else members
        self.authorized_operations = authorized_operations


def _read_described_group(data: bytes, position: i64, version: i64) -> tuple[DescribedGroup, i64]:
    error_message: str | None
    members: list[Member]
    error_code = read_i16_be(data, position)
    position += 2
    error_message, position = read_compact_nullable_string(data, position)
    group_id, position = read_compact_string(data, position)
    group_state, position = read_compact_string(data, position)
    group_epoch = read_i32_be(data, position)
    assignment_epoch = read_i32_be(data, position + 4)
    position += 8
    assignor_name, position = read_compact_string(data, position)
    count, position = read_compact_count(data, position, 12)
    members = []
    for nth in range(count):
        members_item, position = _read_member(data, position, version)
        members.append(members_item)
        if nth & LONG_RUN == LONG_RUN:
            give_way()
    authorized_operations = read_i32_be(data, position)
    position += 4
    position = skip_tags(data, position) if data[position] else position + 1
    return DescribedGroup(error_code, error_message, group_id, group_state, group_epoch, assignment_epoch, assignor_name, members, authorized_operations), position


def _write_described_group(writer: BytesWriter, message: DescribedGroup, version: i64) -> None:
    write_i16_be(writer, message.error_code)
    write_compact_nullable_string(writer, message.error_message)
    write_compact_string(writer, message.group_id)
    write_compact_string(writer, message.group_state)
    write_i32_be(writer, message.group_epoch)
    write_i32_be(writer, message.assignment_epoch)
    write_compact_string(writer, message.assignor_name)
    members = message.members
    write_uvarint(writer, len(members) + 1)
    for nth, members_item in enumerate(members):
        _write_member(writer, members_item, version)
        if nth & LONG_RUN == LONG_RUN:
            give_way()
    write_i32_be(writer, message.authorized_operations)
    writer.append(0)


class ShareGroupDescribeRequest(Message):
    """API key 77, version 1."""

    __slots__ = ("group_ids", "include_authorized_operations")
    FIELDS: ClassVar[tuple[str, ...]] = ("group_ids", "include_authorized_operations")
    API_KEY: ClassVar[int] = 77
    MIN_VERSION: ClassVar[int] = 1
    MAX_VERSION: ClassVar[int] = 1
    FIRST_FLEXIBLE: ClassVar[int] = 0

    def __init__(self, group_ids: list[str] = NO_ITEMS, include_authorized_operations: bool = False) -> None:
        self.group_ids = [] if group_ids is NO_ITEMS else group_ids
        self.include_authorized_operations = include_authorized_operations

    @classmethod
    def decode(cls, data: bytes, position: int, version: int) -> tuple[ShareGroupDescribeRequest, int]:
        if version < 1 or version > 1:
            raise unknown_version("ShareGroupDescribeRequest", version, 1, 1)
        try:
            message, end = _read_share_group_describe_request(data, position, version)
        except (IndexError, ValueError) as error:
            raise malformed("ShareGroupDescribeRequest", version, error) from None
        return message, end

    def encode(self, version: int) -> bytes:
        if version < 1 or version > 1:
            raise unsupported_version("ShareGroupDescribeRequest", version, 1, 1)
        writer = BytesWriter()
        _write_share_group_describe_request(writer, self, version)
        return writer.getvalue()

    def encode_parts(self, writer_prefix: bytes, version: int) -> list[Part]:
        if version < 1 or version > 1:
            raise unsupported_version("ShareGroupDescribeRequest", version, 1, 1)
        writer = BytesWriter()
        writer.write(writer_prefix)
        _write_share_group_describe_request(writer, self, version)
        return [writer.getvalue()]


def _read_share_group_describe_request(data: bytes, position: i64, version: i64) -> tuple[ShareGroupDescribeRequest, i64]:
    group_ids: list[str]
    count, position = read_compact_count(data, position, 1)
    group_ids, position = read_compact_string_list(data, position, count)
    include_authorized_operations = data[position] != 0
    position += 1
    position = skip_tags(data, position) if data[position] else position + 1
    return ShareGroupDescribeRequest(group_ids, include_authorized_operations), position


def _write_share_group_describe_request(writer: BytesWriter, message: ShareGroupDescribeRequest, version: i64) -> None:
    group_ids = message.group_ids
    write_uvarint(writer, len(group_ids) + 1)
    write_compact_string_list(writer, group_ids)
    write_bool(writer, message.include_authorized_operations)
    writer.append(0)


class ShareGroupDescribeResponse(Message):
    """API key 77, version 1."""

    __slots__ = ("throttle_time_ms", "groups")
    FIELDS: ClassVar[tuple[str, ...]] = ("throttle_time_ms", "groups")
    API_KEY: ClassVar[int] = 77
    MIN_VERSION: ClassVar[int] = 1
    MAX_VERSION: ClassVar[int] = 1
    FIRST_FLEXIBLE: ClassVar[int] = 0

    def __init__(self, throttle_time_ms: int = 0, groups: list[DescribedGroup] = NO_ITEMS) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.groups = [] if groups is NO_ITEMS else groups

    @classmethod
    def decode(cls, data: bytes, position: int, version: int) -> tuple[ShareGroupDescribeResponse, int]:
        if version < 1 or version > 1:
            raise unknown_version("ShareGroupDescribeResponse", version, 1, 1)
        try:
            message, end = _read_share_group_describe_response(data, position, version)
        except (IndexError, ValueError) as error:
            raise malformed("ShareGroupDescribeResponse", version, error) from None
        return message, end

    def encode(self, version: int) -> bytes:
        if version < 1 or version > 1:
            raise unsupported_version("ShareGroupDescribeResponse", version, 1, 1)
        writer = BytesWriter()
        _write_share_group_describe_response(writer, self, version)
        return writer.getvalue()

    def encode_parts(self, writer_prefix: bytes, version: int) -> list[Part]:
        if version < 1 or version > 1:
            raise unsupported_version("ShareGroupDescribeResponse", version, 1, 1)
        writer = BytesWriter()
        writer.write(writer_prefix)
        _write_share_group_describe_response(writer, self, version)
        return [writer.getvalue()]


def _read_share_group_describe_response(data: bytes, position: i64, version: i64) -> tuple[ShareGroupDescribeResponse, i64]:
    groups: list[DescribedGroup]
    throttle_time_ms = read_i32_be(data, position)
    position += 4
    count, position = read_compact_count(data, position, 20)
    groups = []
    for nth in range(count):
        groups_item, position = _read_described_group(data, position, version)
        groups.append(groups_item)
        if nth & LONG_RUN == LONG_RUN:
            give_way()
    position = skip_tags(data, position) if data[position] else position + 1
    return ShareGroupDescribeResponse(throttle_time_ms, groups), position


def _write_share_group_describe_response(writer: BytesWriter, message: ShareGroupDescribeResponse, version: i64) -> None:
    write_i32_be(writer, message.throttle_time_ms)
    groups = message.groups
    write_uvarint(writer, len(groups) + 1)
    for nth, groups_item in enumerate(groups):
        _write_described_group(writer, groups_item, version)
        if nth & LONG_RUN == LONG_RUN:
            give_way()
    writer.append(0)
