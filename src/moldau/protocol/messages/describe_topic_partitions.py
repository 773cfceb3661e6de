"""DescribeTopicPartitions (API key 75). Generated from schema/describe_topic_partitions.txt: do not edit."""

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
    read_i8,
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
    write_i8,
    write_i32_list,
    write_uuid,
    write_uvarint,
)


class TopicRequest(Struct):
    __slots__ = ("name",)
    FIELDS: ClassVar[tuple[str, ...]] = ("name",)

    def __init__(self, name: str = "") -> None:
        self.name = name


def _read_topic_request(data: bytes, position: i64, version: i64) -> tuple[TopicRequest, i64]:
    name, position = read_compact_string(data, position)
    position = skip_tags(data, position) if data[position] else position + 1
    return TopicRequest(name), position


def _write_topic_request(writer: BytesWriter, message: TopicRequest, version: i64) -> None:
    write_compact_string(writer, message.name)
    writer.append(0)


class Cursor(Struct):
    __slots__ = ("topic_name", "partition_index")
    FIELDS: ClassVar[tuple[str, ...]] = ("topic_name", "partition_index")

    def __init__(self, topic_name: str = "", partition_index: int = 0) -> None:
        self.topic_name = topic_name
        self.partition_index = partition_index


def _read_cursor(data: bytes, position: i64, version: i64) -> tuple[Cursor, i64]:
    topic_name, position = read_compact_string(data, position)
    partition_index = read_i32_be(data, position)
    position += 4
    position = skip_tags(data, position) if data[position] else position + 1
    return Cursor(topic_name, partition_index), position


def _write_cursor(writer: BytesWriter, message: Cursor, version: i64) -> None:
    write_compact_string(writer, message.topic_name)
    write_i32_be(writer, message.partition_index)
    writer.append(0)


class DescribeTopicPartitionsResponsePartition(Struct):
    __slots__ = ("error_code", "partition_index", "leader_id", "leader_epoch", "replica_nodes", "isr_nodes", "eligible_leader_replicas", "last_known_elr", "offline_replicas")
    FIELDS: ClassVar[tuple[str, ...]] = ("error_code", "partition_index", "leader_id", "leader_epoch", "replica_nodes", "isr_nodes", "eligible_leader_replicas", "last_known_elr", "offline_replicas")

    def __init__(self, error_code: int = 0, partition_index: int = 0, leader_id: int = 0, leader_epoch: int = -1, replica_nodes: list[int] = NO_ITEMS, isr_nodes: list[int] = NO_ITEMS, eligible_leader_replicas: list[int] | None = None, last_known_elr: list[int] | None = None, offline_replicas: list[int] = NO_ITEMS) -> None:
        self.error_code = error_code
        self.partition_index = partition_index
        self.leader_id = leader_id
        self.leader_epoch = leader_epoch
        self.replica_nodes = [] if replica_nodes is NO_ITEMS else replica_nodes
        self.isr_nodes = [] if isr_nodes is NO_ITEMS else isr_nodes
        self.eligible_leader_replicas = eligible_leader_replicas
        self.last_known_elr = last_known_elr
        self.offline_replicas = [] if offline_replicas is NO_ITEMS else offline_replicas


def _read_describe_topic_partitions_response_partition(data: bytes, position: i64, version: i64) -> tuple[DescribeTopicPartitionsResponsePartition, i64]:
    replica_nodes: list[int]
    isr_nodes: list[int]
    eligible_leader_replicas: list[int] | None
    last_known_elr: list[int] | None
    offline_replicas: list[int]
    error_code = read_i16_be(data, position)
    partition_index = read_i32_be(data, position + 2)
    leader_id = read_i32_be(data, position + 6)
    leader_epoch = read_i32_be(data, position + 10)
    position += 14
    count, position = read_compact_count(data, position, 4)
    replica_nodes = read_i32_list(data, position, count)
    position += 4 * count
    count, position = read_compact_count(data, position, 4)
    isr_nodes = read_i32_list(data, position, count)
    position += 4 * count
    count, position = read_compact_nullable_count(data, position, 4)
    if count < 0:
        eligible_leader_replicas = None
    else:
        eligible_leader_replicas = read_i32_list(data, position, count)
        position += 4 * count
    count, position = read_compact_nullable_count(data, position, 4)
    if count < 0:
        last_known_elr = None
    else:
        last_known_elr = read_i32_list(data, position, count)
        position += 4 * count
    count, position = read_compact_count(data, position, 4)
    offline_replicas = read_i32_list(data, position, count)
    position += 4 * count
    position = skip_tags(data, position) if data[position] else position + 1
    return DescribeTopicPartitionsResponsePartition(error_code, partition_index, leader_id, leader_epoch, replica_nodes, isr_nodes, eligible_leader_replicas, last_known_elr, offline_replicas), position


def _write_describe_topic_partitions_response_partition(writer: BytesWriter, message: DescribeTopicPartitionsResponsePartition, version: i64) -> None:
    write_i16_be(writer, message.error_code)
    write_i32_be(writer, message.partition_index)
    write_i32_be(writer, message.leader_id)
    write_i32_be(writer, message.leader_epoch)
    replica_nodes = message.replica_nodes
    write_uvarint(writer, len(replica_nodes) + 1)
    write_i32_list(writer, replica_nodes)
    isr_nodes = message.isr_nodes
    write_uvarint(writer, len(isr_nodes) + 1)
    write_i32_list(writer, isr_nodes)
    eligible_leader_replicas = message.eligible_leader_replicas
    if eligible_leader_replicas is None:
        writer.append(0)
    else:
        write_uvarint(writer, len(eligible_leader_replicas) + 1)
        write_i32_list(writer, eligible_leader_replicas)
    last_known_elr = message.last_known_elr
    if last_known_elr is None:
        writer.append(0)
    else:
        write_uvarint(writer, len(last_known_elr) + 1)
        write_i32_list(writer, last_known_elr)
    offline_replicas = message.offline_replicas
    write_uvarint(writer, len(offline_replicas) + 1)
    write_i32_list(writer, offline_replicas)
    writer.append(0)


class DescribeTopicPartitionsResponseTopic(Struct):
    __slots__ = ("error_code", "name", "topic_id", "is_internal", "partitions", "topic_authorized_operations")
    FIELDS: ClassVar[tuple[str, ...]] = ("error_code", "name", "topic_id", "is_internal", "partitions", "topic_authorized_operations")

    def __init__(self, error_code: int = 0, name: str | None = "", topic_id: bytes = NO_UUID, is_internal: bool = False, partitions: list[DescribeTopicPartitionsResponsePartition] = NO_ITEMS, topic_authorized_operations: int = -2147483648) -> None:
        self.error_code = error_code
        self.name = name
        self.topic_id = topic_id
        self.is_internal = is_internal
        self.partitions = [] if partitions is NO_ITEMS else partitions
        self.topic_authorized_operations = topic_authorized_operations


def _read_describe_topic_partitions_response_topic(data: bytes, position: i64, version: i64) -> tuple[DescribeTopicPartitionsResponseTopic, i64]:
    name: str | None
    partitions: list[DescribeTopicPartitionsResponsePartition]
    error_code = read_i16_be(data, position)
    position += 2
    name, position = read_compact_nullable_string(data, position)
    topic_id = read_uuid(data, position)
    is_internal = data[position + 16] != 0
    position += 17
    count, position = read_compact_count(data, position, 20)
    partitions = []
    for nth in range(count):
        partitions_item, position = _read_describe_topic_partitions_response_partition(data, position, version)
        partitions.append(partitions_item)
        if nth & LONG_RUN == LONG_RUN:
            give_way()
    topic_authorized_operations = read_i32_be(data, position)
    position += 4
    position = skip_tags(data, position) if data[position] else position + 1
    return DescribeTopicPartitionsResponseTopic(error_code, name, topic_id, is_internal, partitions, topic_authorized_operations), position


def _write_describe_topic_partitions_response_topic(writer: BytesWriter, message: DescribeTopicPartitionsResponseTopic, version: i64) -> None:
    write_i16_be(writer, message.error_code)
    write_compact_nullable_string(writer, message.name)
    write_uuid(writer, message.topic_id)
    write_bool(writer, message.is_internal)
    partitions = message.partitions
    write_uvarint(writer, len(partitions) + 1)
    for nth, partitions_item in enumerate(partitions):
        _write_describe_topic_partitions_response_partition(writer, partitions_item, version)
        if nth & LONG_RUN == LONG_RUN:
            give_way()
    write_i32_be(writer, message.topic_authorized_operations)
    writer.append(0)


class DescribeTopicPartitionsRequest(Message):
    """API key 75, version 0."""

    __slots__ = ("topics", "response_partition_limit", "cursor")
    FIELDS: ClassVar[tuple[str, ...]] = ("topics", "response_partition_limit", "cursor")
    API_KEY: ClassVar[int] = 75
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FIRST_FLEXIBLE: ClassVar[int] = 0

    def __init__(self, topics: list[TopicRequest] = NO_ITEMS, response_partition_limit: int = 2000, cursor: Cursor | None = None) -> None:
        self.topics = [] if topics is NO_ITEMS else topics
        self.response_partition_limit = response_partition_limit
        self.cursor = cursor

    @classmethod
    def decode(cls, data: bytes, position: int, version: int) -> tuple[DescribeTopicPartitionsRequest, int]:
        if version < 0 or version > 0:
            raise unknown_version("DescribeTopicPartitionsRequest", version, 0, 0)
        try:
            message, end = _read_describe_topic_partitions_request(data, position, version)
        except (IndexError, ValueError) as error:
            raise malformed("DescribeTopicPartitionsRequest", version, error) from None
        return message, end

    def encode(self, version: int) -> bytes:
        if version < 0 or version > 0:
            raise unsupported_version("DescribeTopicPartitionsRequest", version, 0, 0)
        writer = BytesWriter()
        _write_describe_topic_partitions_request(writer, self, version)
        return writer.getvalue()

    def encode_parts(self, writer_prefix: bytes, version: int) -> list[Part]:
        if version < 0 or version > 0:
            raise unsupported_version("DescribeTopicPartitionsRequest", version, 0, 0)
        writer = BytesWriter()
        writer.write(writer_prefix)
        _write_describe_topic_partitions_request(writer, self, version)
        return [writer.getvalue()]


def _read_describe_topic_partitions_request(data: bytes, position: i64, version: i64) -> tuple[DescribeTopicPartitionsRequest, i64]:
    topics: list[TopicRequest]
    cursor: Cursor | None
    count, position = read_compact_count(data, position, 2)
    topics = []
    for nth in range(count):
        topics_item, position = _read_topic_request(data, position, version)
        topics.append(topics_item)
        if nth & LONG_RUN == LONG_RUN:
            give_way()
    response_partition_limit = read_i32_be(data, position)
    position += 4
    if read_i8(data, position) < 0:
        cursor = None
        position += 1
    else:
        position += 1
        cursor, position = _read_cursor(data, position, version)
    position = skip_tags(data, position) if data[position] else position + 1
    return DescribeTopicPartitionsRequest(topics, response_partition_limit, cursor), position


def _write_describe_topic_partitions_request(writer: BytesWriter, message: DescribeTopicPartitionsRequest, version: i64) -> None:
    topics = message.topics
    write_uvarint(writer, len(topics) + 1)
    for nth, topics_item in enumerate(topics):
        _write_topic_request(writer, topics_item, version)
        if nth & LONG_RUN == LONG_RUN:
            give_way()
    write_i32_be(writer, message.response_partition_limit)
    cursor = message.cursor
    if cursor is None:
        write_i8(writer, -1)
    else:
        writer.append(1)
        _write_cursor(writer, cursor, version)
    writer.append(0)


class DescribeTopicPartitionsResponse(Message):
    """API key 75, version 0."""

    __slots__ = ("throttle_time_ms", "topics", "next_cursor")
    FIELDS: ClassVar[tuple[str, ...]] = ("throttle_time_ms", "topics", "next_cursor")
    API_KEY: ClassVar[int] = 75
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FIRST_FLEXIBLE: ClassVar[int] = 0

    def __init__(self, throttle_time_ms: int = 0, topics: list[DescribeTopicPartitionsResponseTopic] = NO_ITEMS, next_cursor: Cursor | None = None) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.topics = [] if topics is NO_ITEMS else topics
        self.next_cursor = next_cursor

    @classmethod
    def decode(cls, data: bytes, position: int, version: int) -> tuple[DescribeTopicPartitionsResponse, int]:
        if version < 0 or version > 0:
            raise unknown_version("DescribeTopicPartitionsResponse", version, 0, 0)
        try:
            message, end = _read_describe_topic_partitions_response(data, position, version)
        except (IndexError, ValueError) as error:
            raise malformed("DescribeTopicPartitionsResponse", version, error) from None
        return message, end

    def encode(self, version: int) -> bytes:
        if version < 0 or version > 0:
            raise unsupported_version("DescribeTopicPartitionsResponse", version, 0, 0)
        writer = BytesWriter()
        _write_describe_topic_partitions_response(writer, self, version)
        return writer.getvalue()

    def encode_parts(self, writer_prefix: bytes, version: int) -> list[Part]:
        if version < 0 or version > 0:
            raise unsupported_version("DescribeTopicPartitionsResponse", version, 0, 0)
        writer = BytesWriter()
        writer.write(writer_prefix)
        _write_describe_topic_partitions_response(writer, self, version)
        return [writer.getvalue()]


def _read_describe_topic_partitions_response(data: bytes, position: i64, version: i64) -> tuple[DescribeTopicPartitionsResponse, i64]:
    topics: list[DescribeTopicPartitionsResponseTopic]
    next_cursor: Cursor | None
    throttle_time_ms = read_i32_be(data, position)
    position += 4
    count, position = read_compact_count(data, position, 26)
    topics = []
    for nth in range(count):
        topics_item, position = _read_describe_topic_partitions_response_topic(data, position, version)
        topics.append(topics_item)
        if nth & LONG_RUN == LONG_RUN:
            give_way()
    if read_i8(data, position) < 0:
        next_cursor = None
        position += 1
    else:
        position += 1
        next_cursor, position = _read_cursor(data, position, version)
    position = skip_tags(data, position) if data[position] else position + 1
    return DescribeTopicPartitionsResponse(throttle_time_ms, topics, next_cursor), position


def _write_describe_topic_partitions_response(writer: BytesWriter, message: DescribeTopicPartitionsResponse, version: i64) -> None:
    write_i32_be(writer, message.throttle_time_ms)
    topics = message.topics
    write_uvarint(writer, len(topics) + 1)
    for nth, topics_item in enumerate(topics):
        _write_describe_topic_partitions_response_topic(writer, topics_item, version)
        if nth & LONG_RUN == LONG_RUN:
            give_way()
    next_cursor = message.next_cursor
    if next_cursor is None:
        write_i8(writer, -1)
    else:
        writer.append(1)
        _write_cursor(writer, next_cursor, version)
    writer.append(0)
