"""ShareGroupHeartbeat (API key 76). Generated from schema/share_group_heartbeat.txt: do not edit."""

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
    read_compact_nullable_count,
    read_compact_nullable_string,
    read_compact_string,
    read_compact_string_list,
    read_i8,
    read_i32_list,
    read_uuid,
    skip_tags,
    unknown_version,
)
from moldau.protocol.writing import (
    unsupported_version,
    write_compact_nullable_string,
    write_compact_string,
    write_compact_string_list,
    write_i8,
    write_i32_list,
    write_uuid,
    write_uvarint,
)


class TopicPartitions(Struct):
    __slots__ = ("topic_id", "partitions")
    FIELDS: ClassVar[tuple[str, ...]] = ("topic_id", "partitions")

    def __init__(self, topic_id: bytes = NO_UUID, partitions: list[int] = NO_ITEMS) -> None:
        self.topic_id = topic_id
        self.partitions = [] if partitions is NO_ITEMS else partitions


def _read_topic_partitions(data: bytes, position: i64, version: i64) -> tuple[TopicPartitions, i64]:
    partitions: list[int]
    topic_id = read_uuid(data, position)
    position += 16
    count, position = read_compact_count(data, position, 4)
    partitions = read_i32_list(data, position, count)
    position += 4 * count
    position = skip_tags(data, position) if data[position] else position + 1
    return TopicPartitions(topic_id, partitions), position


def _write_topic_partitions(writer: BytesWriter, message: TopicPartitions, version: i64) -> None:
    write_uuid(writer, message.topic_id)
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
    count, position = read_compact_count(data, position, 18)
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


class ShareGroupHeartbeatRequest(Message):
    """API key 76, version 1."""

    __slots__ = ("group_id", "member_id", "member_epoch", "rack_id", "subscribed_topic_names")
    FIELDS: ClassVar[tuple[str, ...]] = ("group_id", "member_id", "member_epoch", "rack_id", "subscribed_topic_names")
    API_KEY: ClassVar[int] = 76
    MIN_VERSION: ClassVar[int] = 1
    MAX_VERSION: ClassVar[int] = 1
    FIRST_FLEXIBLE: ClassVar[int] = 0

    def __init__(self, group_id: str = "", member_id: str = "", member_epoch: int = 0, rack_id: str | None = None, subscribed_topic_names: list[str] | None = None) -> None:
        self.group_id = group_id
        self.member_id = member_id
        self.member_epoch = member_epoch
        self.rack_id = rack_id
        self.subscribed_topic_names = subscribed_topic_names

    @classmethod
    def decode(cls, data: bytes, position: int, version: int) -> tuple[ShareGroupHeartbeatRequest, int]:
        if version < 1 or version > 1:
            raise unknown_version("ShareGroupHeartbeatRequest", version, 1, 1)
        try:
            message, end = _read_share_group_heartbeat_request(data, position, version)
        except (IndexError, ValueError) as error:
            raise malformed("ShareGroupHeartbeatRequest", version, error) from None
        return message, end

    def encode(self, version: int) -> bytes:
        if version < 1 or version > 1:
            raise unsupported_version("ShareGroupHeartbeatRequest", version, 1, 1)
        writer = BytesWriter()
        _write_share_group_heartbeat_request(writer, self, version)
        return writer.getvalue()

    def encode_parts(self, writer_prefix: bytes, version: int) -> list[Part]:
        if version < 1 or version > 1:
            raise unsupported_version("ShareGroupHeartbeatRequest", version, 1, 1)
        writer = BytesWriter()
        writer.write(writer_prefix)
        _write_share_group_heartbeat_request(writer, self, version)
        return [writer.getvalue()]


def _read_share_group_heartbeat_request(data: bytes, position: i64, version: i64) -> tuple[ShareGroupHeartbeatRequest, i64]:
    rack_id: str | None
    subscribed_topic_names: list[str] | None
    group_id, position = read_compact_string(data, position)
    member_id, position = read_compact_string(data, position)
    member_epoch = read_i32_be(data, position)
    position += 4
    rack_id, position = read_compact_nullable_string(data, position)
    count, position = read_compact_nullable_count(data, position, 1)
    if count < 0:
        subscribed_topic_names = None
    else:
        subscribed_topic_names, position = read_compact_string_list(data, position, count)
    position = skip_tags(data, position) if data[position] else position + 1
    return ShareGroupHeartbeatRequest(group_id, member_id, member_epoch, rack_id, subscribed_topic_names), position


def _write_share_group_heartbeat_request(writer: BytesWriter, message: ShareGroupHeartbeatRequest, version: i64) -> None:
    write_compact_string(writer, message.group_id)
    write_compact_string(writer, message.member_id)
    write_i32_be(writer, message.member_epoch)
    write_compact_nullable_string(writer, message.rack_id)
    subscribed_topic_names = message.subscribed_topic_names
    if subscribed_topic_names is None:
        writer.append(0)
    else:
        write_uvarint(writer, len(subscribed_topic_names) + 1)
        write_compact_string_list(writer, subscribed_topic_names)
    writer.append(0)


class ShareGroupHeartbeatResponse(Message):
    """API key 76, version 1."""

    __slots__ = ("throttle_time_ms", "error_code", "error_message", "member_id", "member_epoch", "heartbeat_interval_ms", "assignment")
    FIELDS: ClassVar[tuple[str, ...]] = ("throttle_time_ms", "error_code", "error_message", "member_id", "member_epoch", "heartbeat_interval_ms", "assignment")
    API_KEY: ClassVar[int] = 76
    MIN_VERSION: ClassVar[int] = 1
    MAX_VERSION: ClassVar[int] = 1
    FIRST_FLEXIBLE: ClassVar[int] = 0

    def __init__(self, throttle_time_ms: int = 0, error_code: int = 0, error_message: str | None = None, member_id: str | None = None, member_epoch: int = 0, heartbeat_interval_ms: int = 0, assignment: Assignment | None = None) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.error_message = error_message
        self.member_id = member_id
        self.member_epoch = member_epoch
        self.heartbeat_interval_ms = heartbeat_interval_ms
        self.assignment = assignment

    @classmethod
    def decode(cls, data: bytes, position: int, version: int) -> tuple[ShareGroupHeartbeatResponse, int]:
        if version < 1 or version > 1:
            raise unknown_version("ShareGroupHeartbeatResponse", version, 1, 1)
        try:
            message, end = _read_share_group_heartbeat_response(data, position, version)
        except (IndexError, ValueError) as error:
            raise malformed("ShareGroupHeartbeatResponse", version, error) from None
        return message, end

    def encode(self, version: int) -> bytes:
        if version < 1 or version > 1:
            raise unsupported_version("ShareGroupHeartbeatResponse", version, 1, 1)
        writer = BytesWriter()
        _write_share_group_heartbeat_response(writer, self, version)
        return writer.getvalue()

    def encode_parts(self, writer_prefix: bytes, version: int) -> list[Part]:
        if version < 1 or version > 1:
            raise unsupported_version("ShareGroupHeartbeatResponse", version, 1, 1)
        writer = BytesWriter()
        writer.write(writer_prefix)
        _write_share_group_heartbeat_response(writer, self, version)
        return [writer.getvalue()]


def _read_share_group_heartbeat_response(data: bytes, position: i64, version: i64) -> tuple[ShareGroupHeartbeatResponse, i64]:
    error_message: str | None
    member_id: str | None
    assignment: Assignment | None
    throttle_time_ms = read_i32_be(data, position)
    error_code = read_i16_be(data, position + 4)
    position += 6
    error_message, position = read_compact_nullable_string(data, position)
    member_id, position = read_compact_nullable_string(data, position)
    member_epoch = read_i32_be(data, position)
    heartbeat_interval_ms = read_i32_be(data, position + 4)
    position += 8
    if read_i8(data, position) < 0:
        assignment = None
        position += 1
    else:
        position += 1
        assignment, position = _read_assignment(data, position, version)
    position = skip_tags(data, position) if data[position] else position + 1
    return ShareGroupHeartbeatResponse(throttle_time_ms, error_code, error_message, member_id, member_epoch, heartbeat_interval_ms, assignment), position


def _write_share_group_heartbeat_response(writer: BytesWriter, message: ShareGroupHeartbeatResponse, version: i64) -> None:
    write_i32_be(writer, message.throttle_time_ms)
    write_i16_be(writer, message.error_code)
    write_compact_nullable_string(writer, message.error_message)
    write_compact_nullable_string(writer, message.member_id)
    write_i32_be(writer, message.member_epoch)
    write_i32_be(writer, message.heartbeat_interval_ms)
    assignment = message.assignment
    if assignment is None:
        write_i8(writer, -1)
    else:
        writer.append(1)
        _write_assignment(writer, assignment, version)
    writer.append(0)
