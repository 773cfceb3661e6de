"""ListPartitionReassignments (API key 46). Generated from schema/list_partition_reassignments.txt: do not edit."""

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
    read_compact_nullable_count,
    read_compact_nullable_string,
    read_compact_string,
    read_i32_list,
    skip_tags,
    unknown_version,
)
from moldau.protocol.writing import (
    unsupported_version,
    write_compact_nullable_string,
    write_compact_string,
    write_i32_list,
    write_uvarint,
)


class ListPartitionReassignmentsTopics(Struct):
    __slots__ = ("name", "partition_indexes")
    FIELDS: ClassVar[tuple[str, ...]] = ("name", "partition_indexes")

    def __init__(self, name: str = "", partition_indexes: list[int] = NO_ITEMS) -> None:
        self.name = name
        self.partition_indexes = [] if partition_indexes is NO_ITEMS else partition_indexes


def _read_list_partition_reassignments_topics(data: bytes, position: i64, version: i64) -> tuple[ListPartitionReassignmentsTopics, i64]:
    partition_indexes: list[int]
    name, position = read_compact_string(data, position)
    count, position = read_compact_count(data, position, 4)
    partition_indexes = read_i32_list(data, position, count)
    position += 4 * count
    position = skip_tags(data, position) if data[position] else position + 1
    return ListPartitionReassignmentsTopics(name, partition_indexes), position


def _write_list_partition_reassignments_topics(writer: BytesWriter, message: ListPartitionReassignmentsTopics, version: i64) -> None:
    write_compact_string(writer, message.name)
    partition_indexes = message.partition_indexes
    write_uvarint(writer, len(partition_indexes) + 1)
    write_i32_list(writer, partition_indexes)
    writer.append(0)


class OngoingPartitionReassignment(Struct):
    __slots__ = ("partition_index", "replicas", "adding_replicas", "removing_replicas")
    FIELDS: ClassVar[tuple[str, ...]] = ("partition_index", "replicas", "adding_replicas", "removing_replicas")

    def __init__(self, partition_index: int = 0, replicas: list[int] = NO_ITEMS, adding_replicas: list[int] = NO_ITEMS, removing_replicas: list[int] = NO_ITEMS) -> None:
        self.partition_index = partition_index
        self.replicas = [] if replicas is NO_ITEMS else replicas
        self.adding_replicas = [] if adding_replicas is NO_ITEMS else adding_replicas
        self.removing_replicas = [] if removing_replicas is NO_ITEMS else removing_replicas


def _read_ongoing_partition_reassignment(data: bytes, position: i64, version: i64) -> tuple[OngoingPartitionReassignment, i64]:
    replicas: list[int]
    adding_replicas: list[int]
    removing_replicas: list[int]
    partition_index = read_i32_be(data, position)
    position += 4
    count, position = read_compact_count(data, position, 4)
    replicas = read_i32_list(data, position, count)
    position += 4 * count
    count, position = read_compact_count(data, position, 4)
    adding_replicas = read_i32_list(data, position, count)
    position += 4 * count
    count, position = read_compact_count(data, position, 4)
    removing_replicas = read_i32_list(data, position, count)
    position += 4 * count
    position = skip_tags(data, position) if data[position] else position + 1
    return OngoingPartitionReassignment(partition_index, replicas, adding_replicas, removing_replicas), position


def _write_ongoing_partition_reassignment(writer: BytesWriter, message: OngoingPartitionReassignment, version: i64) -> None:
    write_i32_be(writer, message.partition_index)
    replicas = message.replicas
    write_uvarint(writer, len(replicas) + 1)
    write_i32_list(writer, replicas)
    adding_replicas = message.adding_replicas
    write_uvarint(writer, len(adding_replicas) + 1)
    write_i32_list(writer, adding_replicas)
    removing_replicas = message.removing_replicas
    write_uvarint(writer, len(removing_replicas) + 1)
    write_i32_list(writer, removing_replicas)
    writer.append(0)


class OngoingTopicReassignment(Struct):
    __slots__ = ("name", "partitions")
    FIELDS: ClassVar[tuple[str, ...]] = ("name", "partitions")

    def __init__(self, name: str = "", partitions: list[OngoingPartitionReassignment] = NO_ITEMS) -> None:
        self.name = name
        self.partitions = [] if partitions is NO_ITEMS else partitions


def _read_ongoing_topic_reassignment(data: bytes, position: i64, version: i64) -> tuple[OngoingTopicReassignment, i64]:
    partitions: list[OngoingPartitionReassignment]
    name, position = read_compact_string(data, position)
    count, position = read_compact_count(data, position, 8)
    partitions = []
    for nth in range(count):
        partitions_item, position = _read_ongoing_partition_reassignment(data, position, version)
        partitions.append(partitions_item)
        if nth & LONG_RUN == LONG_RUN:
            give_way()
    position = skip_tags(data, position) if data[position] else position + 1
    return OngoingTopicReassignment(name, partitions), position


def _write_ongoing_topic_reassignment(writer: BytesWriter, message: OngoingTopicReassignment, version: i64) -> None:
    write_compact_string(writer, message.name)
    partitions = message.partitions
    write_uvarint(writer, len(partitions) + 1)
    for nth, partitions_item in enumerate(partitions):
        _write_ongoing_partition_reassignment(writer, partitions_item, version)
        if nth & LONG_RUN == LONG_RUN:
            give_way()
    writer.append(0)


class ListPartitionReassignmentsRequest(Message):
    """API key 46, version 0."""

    __slots__ = ("timeout_ms", "topics")
    FIELDS: ClassVar[tuple[str, ...]] = ("timeout_ms", "topics")
    API_KEY: ClassVar[int] = 46
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FIRST_FLEXIBLE: ClassVar[int] = 0

    def __init__(self, timeout_ms: int = 60000, topics: list[ListPartitionReassignmentsTopics] | None = None) -> None:
        self.timeout_ms = timeout_ms
        self.topics = topics

    @classmethod
    def decode(cls, data: bytes, position: int, version: int) -> tuple[ListPartitionReassignmentsRequest, int]:
        if version < 0 or version > 0:
            raise unknown_version("ListPartitionReassignmentsRequest", version, 0, 0)
        try:
            message, end = _read_list_partition_reassignments_request(data, position, version)
        except (IndexError, ValueError) as error:
            raise malformed("ListPartitionReassignmentsRequest", version, error) from None
        return message, end

    def encode(self, version: int) -> bytes:
        if version < 0 or version > 0:
            raise unsupported_version("ListPartitionReassignmentsRequest", version, 0, 0)
        writer = BytesWriter()
        _write_list_partition_reassignments_request(writer, self, version)
        return writer.getvalue()

    def encode_parts(self, writer_prefix: bytes, version: int) -> list[Part]:
        if version < 0 or version > 0:
            raise unsupported_version("ListPartitionReassignmentsRequest", version, 0, 0)
        writer = BytesWriter()
        writer.write(writer_prefix)
        _write_list_partition_reassignments_request(writer, self, version)
        return [writer.getvalue()]


def _read_list_partition_reassignments_request(data: bytes, position: i64, version: i64) -> tuple[ListPartitionReassignmentsRequest, i64]:
    topics: list[ListPartitionReassignmentsTopics] | None
    timeout_ms = read_i32_be(data, position)
    position += 4
    count, position = read_compact_nullable_count(data, position, 3)
    if count < 0:
        topics = None
    else:
        topics = []
        for nth in range(count):
            topics_item, position = _read_list_partition_reassignments_topics(data, position, version)
            topics.append(topics_item)
            if nth & LONG_RUN == LONG_RUN:
                give_way()
    position = skip_tags(data, position) if data[position] else position + 1
    return ListPartitionReassignmentsRequest(timeout_ms, topics), position


def _write_list_partition_reassignments_request(writer: BytesWriter, message: ListPartitionReassignmentsRequest, version: i64) -> None:
    write_i32_be(writer, message.timeout_ms)
    topics = message.topics
    if topics is None:
        writer.append(0)
    else:
        write_uvarint(writer, len(topics) + 1)
        for nth, topics_item in enumerate(topics):
            _write_list_partition_reassignments_topics(writer, topics_item, version)
            if nth & LONG_RUN == LONG_RUN:
                give_way()
    writer.append(0)


class ListPartitionReassignmentsResponse(Message):
    """API key 46, version 0."""

    __slots__ = ("throttle_time_ms", "error_code", "error_message", "topics")
    FIELDS: ClassVar[tuple[str, ...]] = ("throttle_time_ms", "error_code", "error_message", "topics")
    API_KEY: ClassVar[int] = 46
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FIRST_FLEXIBLE: ClassVar[int] = 0

    def __init__(self, throttle_time_ms: int = 0, error_code: int = 0, error_message: str | None = "", topics: list[OngoingTopicReassignment] = NO_ITEMS) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.error_message = error_message
        self.topics = [] if topics is NO_ITEMS else topics

    @classmethod
    def decode(cls, data: bytes, position: int, version: int) -> tuple[ListPartitionReassignmentsResponse, int]:
        if version < 0 or version > 0:
            raise unknown_version("ListPartitionReassignmentsResponse", version, 0, 0)
        try:
            message, end = _read_list_partition_reassignments_response(data, position, version)
        except (IndexError, ValueError) as error:
            raise malformed("ListPartitionReassignmentsResponse", version, error) from None
        return message, end

    def encode(self, version: int) -> bytes:
        if version < 0 or version > 0:
            raise unsupported_version("ListPartitionReassignmentsResponse", version, 0, 0)
        writer = BytesWriter()
        _write_list_partition_reassignments_response(writer, self, version)
        return writer.getvalue()

    def encode_parts(self, writer_prefix: bytes, version: int) -> list[Part]:
        if version < 0 or version > 0:
            raise unsupported_version("ListPartitionReassignmentsResponse", version, 0, 0)
        writer = BytesWriter()
        writer.write(writer_prefix)
        _write_list_partition_reassignments_response(writer, self, version)
        return [writer.getvalue()]


def _read_list_partition_reassignments_response(data: bytes, position: i64, version: i64) -> tuple[ListPartitionReassignmentsResponse, i64]:
    error_message: str | None
    topics: list[OngoingTopicReassignment]
    throttle_time_ms = read_i32_be(data, position)
    error_code = read_i16_be(data, position + 4)
    position += 6
    error_message, position = read_compact_nullable_string(data, position)
    count, position = read_compact_count(data, position, 3)
    topics = []
    for nth in range(count):
        topics_item, position = _read_ongoing_topic_reassignment(data, position, version)
        topics.append(topics_item)
        if nth & LONG_RUN == LONG_RUN:
            give_way()
    position = skip_tags(data, position) if data[position] else position + 1
    return ListPartitionReassignmentsResponse(throttle_time_ms, error_code, error_message, topics), position


def _write_list_partition_reassignments_response(writer: BytesWriter, message: ListPartitionReassignmentsResponse, version: i64) -> None:
    write_i32_be(writer, message.throttle_time_ms)
    write_i16_be(writer, message.error_code)
    write_compact_nullable_string(writer, message.error_message)
    topics = message.topics
    write_uvarint(writer, len(topics) + 1)
    for nth, topics_item in enumerate(topics):
        _write_ongoing_topic_reassignment(writer, topics_item, version)
        if nth & LONG_RUN == LONG_RUN:
            give_way()
    writer.append(0)
