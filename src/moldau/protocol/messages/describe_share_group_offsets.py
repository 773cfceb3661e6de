"""DescribeShareGroupOffsets (API key 90). Generated from schema/describe_share_group_offsets.txt: do not edit."""

# fmt: off
from __future__ import annotations

from typing import ClassVar

from librt.strings import (
    BytesWriter,
    read_i16_be,
    read_i32_be,
    read_i64_be,
    write_i16_be,
    write_i32_be,
    write_i64_be,
)
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
    read_i32_list,
    read_uuid,
    skip_tags,
    unknown_version,
)
from moldau.protocol.writing import (
    unsupported_version,
    write_compact_nullable_string,
    write_compact_string,
    write_i32_list,
    write_uuid,
    write_uvarint,
)


class DescribeShareGroupOffsetsRequestTopic(Struct):
    __slots__ = ("topic_name", "partitions")
    FIELDS: ClassVar[tuple[str, ...]] = ("topic_name", "partitions")

    def __init__(self, topic_name: str = "", partitions: list[int] = NO_ITEMS) -> None:
        self.topic_name = topic_name
        self.partitions = [] if partitions is NO_ITEMS else partitions


def _read_describe_share_group_offsets_request_topic(data: bytes, position: i64, version: i64) -> tuple[DescribeShareGroupOffsetsRequestTopic, i64]:
    partitions: list[int]
    topic_name, position = read_compact_string(data, position)
    count, position = read_compact_count(data, position, 4)
    partitions = read_i32_list(data, position, count)
    position += 4 * count
    position = skip_tags(data, position) if data[position] else position + 1
    return DescribeShareGroupOffsetsRequestTopic(topic_name, partitions), position


def _write_describe_share_group_offsets_request_topic(writer: BytesWriter, message: DescribeShareGroupOffsetsRequestTopic, version: i64) -> None:
    write_compact_string(writer, message.topic_name)
    partitions = message.partitions
    write_uvarint(writer, len(partitions) + 1)
    write_i32_list(writer, partitions)
    writer.append(0)


class DescribeShareGroupOffsetsRequestGroup(Struct):
    __slots__ = ("group_id", "topics")
    FIELDS: ClassVar[tuple[str, ...]] = ("group_id", "topics")

    def __init__(self, group_id: str = "", topics: list[DescribeShareGroupOffsetsRequestTopic] | None = NO_ITEMS) -> None:
        self.group_id = group_id
        self.topics = [] if topics is NO_ITEMS else topics


def _read_describe_share_group_offsets_request_group(data: bytes, position: i64, version: i64) -> tuple[DescribeShareGroupOffsetsRequestGroup, i64]:
    topics: list[DescribeShareGroupOffsetsRequestTopic] | None
    group_id, position = read_compact_string(data, position)
    count, position = read_compact_nullable_count(data, position, 3)
    if count < 0:
        topics = None
    else:
        topics = []
        for nth in range(count):
            topics_item, position = _read_describe_share_group_offsets_request_topic(data, position, version)
            topics.append(topics_item)
            if nth & LONG_RUN == LONG_RUN:
                give_way()
    position = skip_tags(data, position) if data[position] else position + 1
    return DescribeShareGroupOffsetsRequestGroup(group_id, topics), position


def _write_describe_share_group_offsets_request_group(writer: BytesWriter, message: DescribeShareGroupOffsetsRequestGroup, version: i64) -> None:
    write_compact_string(writer, message.group_id)
    topics = message.topics
    if topics is None:
        writer.append(0)
    else:
        write_uvarint(writer, len(topics) + 1)
        for nth, topics_item in enumerate(topics):
            _write_describe_share_group_offsets_request_topic(writer, topics_item, version)
            if nth & LONG_RUN == LONG_RUN:
                give_way()
    writer.append(0)


class DescribeShareGroupOffsetsResponsePartition(Struct):
    __slots__ = ("partition_index", "start_offset", "leader_epoch", "lag", "error_code", "error_message")
    FIELDS: ClassVar[tuple[str, ...]] = ("partition_index", "start_offset", "leader_epoch", "lag", "error_code", "error_message")

    def __init__(self, partition_index: int = 0, start_offset: int = 0, leader_epoch: int = 0, lag: int = -1, error_code: int = 0, error_message: str | None = None) -> None:
        self.partition_index = partition_index
        self.start_offset = start_offset
        self.leader_epoch = leader_epoch
        self.lag = lag
        self.error_code = error_code
        self.error_message = error_message


def _read_describe_share_group_offsets_response_partition(data: bytes, position: i64, version: i64) -> tuple[DescribeShareGroupOffsetsResponsePartition, i64]:
    lag: int
    error_message: str | None
    partition_index = read_i32_be(data, position)
    start_offset = read_i64_be(data, position + 4)
    leader_epoch = read_i32_be(data, position + 12)
    position += 16
    if version >= 1:
        lag = read_i64_be(data, position)
        position += 8
    else:
        lag = -1
    error_code = read_i16_be(data, position)
    position += 2
    error_message, position = read_compact_nullable_string(data, position)
    position = skip_tags(data, position) if data[position] else position + 1
    return DescribeShareGroupOffsetsResponsePartition(partition_index, start_offset, leader_epoch, lag, error_code, error_message), position


def _write_describe_share_group_offsets_response_partition(writer: BytesWriter, message: DescribeShareGroupOffsetsResponsePartition, version: i64) -> None:
    write_i32_be(writer, message.partition_index)
    write_i64_be(writer, message.start_offset)
    write_i32_be(writer, message.leader_epoch)
    if version >= 1:
        write_i64_be(writer, message.lag)
    write_i16_be(writer, message.error_code)
    write_compact_nullable_string(writer, message.error_message)
    writer.append(0)


class DescribeShareGroupOffsetsResponseTopic(Struct):
    __slots__ = ("topic_name", "topic_id", "partitions")
    FIELDS: ClassVar[tuple[str, ...]] = ("topic_name", "topic_id", "partitions")

    def __init__(self, topic_name: str = "", topic_id: bytes = NO_UUID, partitions: list[DescribeShareGroupOffsetsResponsePartition] = NO_ITEMS) -> None:
        self.topic_name = topic_name
        self.topic_id = topic_id
        self.partitions = [] if partitions is NO_ITEMS else partitions


def _read_describe_share_group_offsets_response_topic(data: bytes, position: i64, version: i64) -> tuple[DescribeShareGroupOffsetsResponseTopic, i64]:
    partitions: list[DescribeShareGroupOffsetsResponsePartition]
    topic_name, position = read_compact_string(data, position)
    topic_id = read_uuid(data, position)
    position += 16
    count, position = read_compact_count(data, position, 20)
    partitions = []
    for nth in range(count):
        partitions_item, position = _read_describe_share_group_offsets_response_partition(data, position, version)
        partitions.append(partitions_item)
        if nth & LONG_RUN == LONG_RUN:
            give_way()
    position = skip_tags(data, position) if data[position] else position + 1
    return DescribeShareGroupOffsetsResponseTopic(topic_name, topic_id, partitions), position


def _write_describe_share_group_offsets_response_topic(writer: BytesWriter, message: DescribeShareGroupOffsetsResponseTopic, version: i64) -> None:
    write_compact_string(writer, message.topic_name)
    write_uuid(writer, message.topic_id)
    partitions = message.partitions
    write_uvarint(writer, len(partitions) + 1)
    for nth, partitions_item in enumerate(partitions):
        _write_describe_share_group_offsets_response_partition(writer, partitions_item, version)
        if nth & LONG_RUN == LONG_RUN:
            give_way()
    writer.append(0)


class DescribeShareGroupOffsetsResponseGroup(Struct):
    __slots__ = ("group_id", "topics", "error_code", "error_message")
    FIELDS: ClassVar[tuple[str, ...]] = ("group_id", "topics", "error_code", "error_message")

    def __init__(self, group_id: str = "", topics: list[DescribeShareGroupOffsetsResponseTopic] = NO_ITEMS, error_code: int = 0, error_message: str | None = None) -> None:
        self.group_id = group_id
        self.topics = [] if topics is NO_ITEMS else topics
        self.error_code = error_code
        self.error_message = error_message


def _read_describe_share_group_offsets_response_group(data: bytes, position: i64, version: i64) -> tuple[DescribeShareGroupOffsetsResponseGroup, i64]:
    topics: list[DescribeShareGroupOffsetsResponseTopic]
    error_message: str | None
    group_id, position = read_compact_string(data, position)
    count, position = read_compact_count(data, position, 19)
    topics = []
    for nth in range(count):
        topics_item, position = _read_describe_share_group_offsets_response_topic(data, position, version)
        topics.append(topics_item)
        if nth & LONG_RUN == LONG_RUN:
            give_way()
    error_code = read_i16_be(data, position)
    position += 2
    error_message, position = read_compact_nullable_string(data, position)
    position = skip_tags(data, position) if data[position] else position + 1
    return DescribeShareGroupOffsetsResponseGroup(group_id, topics, error_code, error_message), position


def _write_describe_share_group_offsets_response_group(writer: BytesWriter, message: DescribeShareGroupOffsetsResponseGroup, version: i64) -> None:
    write_compact_string(writer, message.group_id)
    topics = message.topics
    write_uvarint(writer, len(topics) + 1)
    for nth, topics_item in enumerate(topics):
        _write_describe_share_group_offsets_response_topic(writer, topics_item, version)
        if nth & LONG_RUN == LONG_RUN:
            give_way()
    write_i16_be(writer, message.error_code)
    write_compact_nullable_string(writer, message.error_message)
    writer.append(0)


class DescribeShareGroupOffsetsRequest(Message):
    """API key 90, versions 0 to 1."""

    __slots__ = ("groups",)
    FIELDS: ClassVar[tuple[str, ...]] = ("groups",)
    API_KEY: ClassVar[int] = 90
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 1
    FIRST_FLEXIBLE: ClassVar[int] = 0

    def __init__(self, groups: list[DescribeShareGroupOffsetsRequestGroup] = NO_ITEMS) -> None:
        self.groups = [] if groups is NO_ITEMS else groups

    @classmethod
    def decode(cls, data: bytes, position: int, version: int) -> tuple[DescribeShareGroupOffsetsRequest, int]:
        if version < 0 or version > 1:
            raise unknown_version("DescribeShareGroupOffsetsRequest", version, 0, 1)
        try:
            message, end = _read_describe_share_group_offsets_request(data, position, version)
        except (IndexError, ValueError) as error:
            raise malformed("DescribeShareGroupOffsetsRequest", version, error) from None
        return message, end

    def encode(self, version: int) -> bytes:
        if version < 0 or version > 1:
            raise unsupported_version("DescribeShareGroupOffsetsRequest", version, 0, 1)
        writer = BytesWriter()
        _write_describe_share_group_offsets_request(writer, self, version)
        return writer.getvalue()

    def encode_parts(self, writer_prefix: bytes, version: int) -> list[Part]:
        if version < 0 or version > 1:
            raise unsupported_version("DescribeShareGroupOffsetsRequest", version, 0, 1)
        writer = BytesWriter()
        writer.write(writer_prefix)
        _write_describe_share_group_offsets_request(writer, self, version)
        return [writer.getvalue()]


def _read_describe_share_group_offsets_request(data: bytes, position: i64, version: i64) -> tuple[DescribeShareGroupOffsetsRequest, i64]:
    groups: list[DescribeShareGroupOffsetsRequestGroup]
    count, position = read_compact_count(data, position, 3)
    groups = []
    for nth in range(count):
        groups_item, position = _read_describe_share_group_offsets_request_group(data, position, version)
        groups.append(groups_item)
        if nth & LONG_RUN == LONG_RUN:
            give_way()
    position = skip_tags(data, position) if data[position] else position + 1
    return DescribeShareGroupOffsetsRequest(groups), position


def _write_describe_share_group_offsets_request(writer: BytesWriter, message: DescribeShareGroupOffsetsRequest, version: i64) -> None:
    groups = message.groups
    write_uvarint(writer, len(groups) + 1)
    for nth, groups_item in enumerate(groups):
        _write_describe_share_group_offsets_request_group(writer, groups_item, version)
        if nth & LONG_RUN == LONG_RUN:
            give_way()
    writer.append(0)


class DescribeShareGroupOffsetsResponse(Message):
    """API key 90, versions 0 to 1."""

    __slots__ = ("throttle_time_ms", "groups")
    FIELDS: ClassVar[tuple[str, ...]] = ("throttle_time_ms", "groups")
    API_KEY: ClassVar[int] = 90
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 1
    FIRST_FLEXIBLE: ClassVar[int] = 0

    def __init__(self, throttle_time_ms: int = 0, groups: list[DescribeShareGroupOffsetsResponseGroup] = NO_ITEMS) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.groups = [] if groups is NO_ITEMS else groups

    @classmethod
    def decode(cls, data: bytes, position: int, version: int) -> tuple[DescribeShareGroupOffsetsResponse, int]:
        if version < 0 or version > 1:
            raise unknown_version("DescribeShareGroupOffsetsResponse", version, 0, 1)
        try:
            message, end = _read_describe_share_group_offsets_response(data, position, version)
        except (IndexError, ValueError) as error:
            raise malformed("DescribeShareGroupOffsetsResponse", version, error) from None
        return message, end

    def encode(self, version: int) -> bytes:
        if version < 0 or version > 1:
            raise unsupported_version("DescribeShareGroupOffsetsResponse", version, 0, 1)
        writer = BytesWriter()
        _write_describe_share_group_offsets_response(writer, self, version)
        return writer.getvalue()

    def encode_parts(self, writer_prefix: bytes, version: int) -> list[Part]:
        if version < 0 or version > 1:
            raise unsupported_version("DescribeShareGroupOffsetsResponse", version, 0, 1)
        writer = BytesWriter()
        writer.write(writer_prefix)
        _write_describe_share_group_offsets_response(writer, self, version)
        return [writer.getvalue()]


def _read_describe_share_group_offsets_response(data: bytes, position: i64, version: i64) -> tuple[DescribeShareGroupOffsetsResponse, i64]:
    groups: list[DescribeShareGroupOffsetsResponseGroup]
    throttle_time_ms = read_i32_be(data, position)
    position += 4
    count, position = read_compact_count(data, position, 6)
    groups = []
    for nth in range(count):
        groups_item, position = _read_describe_share_group_offsets_response_group(data, position, version)
        groups.append(groups_item)
        if nth & LONG_RUN == LONG_RUN:
            give_way()
    position = skip_tags(data, position) if data[position] else position + 1
    return DescribeShareGroupOffsetsResponse(throttle_time_ms, groups), position


def _write_describe_share_group_offsets_response(writer: BytesWriter, message: DescribeShareGroupOffsetsResponse, version: i64) -> None:
    write_i32_be(writer, message.throttle_time_ms)
    groups = message.groups
    write_uvarint(writer, len(groups) + 1)
    for nth, groups_item in enumerate(groups):
        _write_describe_share_group_offsets_response_group(writer, groups_item, version)
        if nth & LONG_RUN == LONG_RUN:
            give_way()
    writer.append(0)
