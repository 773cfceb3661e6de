"""ListOffsets (API key 2). Generated from schema/list_offsets.txt: do not edit."""

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

from moldau.protocol.file_region import Part
from moldau.protocol.giving_way import give_way
from moldau.protocol.message import NO_ITEMS, Message, Struct
from moldau.protocol.reading import (
    LONG_RUN,
    malformed,
    read_compact_count,
    read_compact_string,
    read_count,
    read_i8,
    read_string,
    skip_tags,
    unknown_version,
)
from moldau.protocol.writing import (
    unsupported_field,
    unsupported_version,
    write_compact_string,
    write_i8,
    write_string,
    write_uvarint,
)


class ListOffsetsPartition(Struct):
    __slots__ = ("partition_index", "current_leader_epoch", "timestamp")
    FIELDS: ClassVar[tuple[str, ...]] = ("partition_index", "current_leader_epoch", "timestamp")

    def __init__(self, partition_index: int = 0, current_leader_epoch: int = -1, timestamp: int = 0) -> None:
        self.partition_index = partition_index
        self.current_leader_epoch = current_leader_epoch
        self.timestamp = timestamp


def _read_list_offsets_partition(data: bytes, position: i64, version: i64) -> tuple[ListOffsetsPartition, i64]:
    current_leader_epoch: int
    partition_index = read_i32_be(data, position)
    position += 4
    if version >= 4:
        current_leader_epoch = read_i32_be(data, position)
        position += 4
    else:
        current_leader_epoch = -1
    timestamp = read_i64_be(data, position)
    position += 8
    if version >= 6:
        position = skip_tags(data, position) if data[position] else position + 1
    return ListOffsetsPartition(partition_index, current_leader_epoch, timestamp), position


def _write_list_offsets_partition(writer: BytesWriter, message: ListOffsetsPartition, version: i64) -> None:
    write_i32_be(writer, message.partition_index)
    if version >= 4:
        write_i32_be(writer, message.current_leader_epoch)
    write_i64_be(writer, message.timestamp)
    if version >= 6:
        writer.append(0)


class ListOffsetsTopic(Struct):
    __slots__ = ("name", "partitions")
    FIELDS: ClassVar[tuple[str, ...]] = ("name", "partitions")

    def __init__(self, name: str = "", partitions: list[ListOffsetsPartition] = NO_ITEMS) -> None:
        self.name = name
        self.partitions = [] if partitions is NO_ITEMS else partitions


def _read_list_offsets_topic(data: bytes, position: i64, version: i64) -> tuple[ListOffsetsTopic, i64]:
    name: str
    partitions: list[ListOffsetsPartition]
    if version >= 6:
        name, position = read_compact_string(data, position)
        count, position = read_compact_count(data, position, 17)
        partitions = []
        for nth in range(count):
            partitions_item, position = _read_list_offsets_partition(data, position, version)
            partitions.append(partitions_item)
            if nth & LONG_RUN == LONG_RUN:
                give_way()
    else:
        name, position = read_string(data, position)
        count, position = read_count(data, position, 12)
        partitions = []
        for nth in range(count):
            partitions_item, position = _read_list_offsets_partition(data, position, version)
            partitions.append(partitions_item)
            if nth & LONG_RUN == LONG_RUN:
                give_way()
    if version >= 6:
        position = skip_tags(data, position) if data[position] else position + 1
    return ListOffsetsTopic(name, partitions), position


def _write_list_offsets_topic(writer: BytesWriter, message: ListOffsetsTopic, version: i64) -> None:
    if version >= 6:
        write_compact_string(writer, message.name)
        partitions = message.partitions
        write_uvarint(writer, len(partitions) + 1)
        for nth, partitions_item in enumerate(partitions):
            _write_list_offsets_partition(writer, partitions_item, version)
            if nth & LONG_RUN == LONG_RUN:
                give_way()
    else:
        write_string(writer, message.name)
        partitions = message.partitions
        write_i32_be(writer, len(partitions))
        for nth, partitions_item in enumerate(partitions):
            _write_list_offsets_partition(writer, partitions_item, version)
            if nth & LONG_RUN == LONG_RUN:
                give_way()
    if version >= 6:
        writer.append(0)


class ListOffsetsPartitionResponse(Struct):
    __slots__ = ("partition_index", "error_code", "timestamp", "offset", "leader_epoch")
    FIELDS: ClassVar[tuple[str, ...]] = ("partition_index", "error_code", "timestamp", "offset", "leader_epoch")

    def __init__(self, partition_index: int = 0, error_code: int = 0, timestamp: int = -1, offset: int = -1, leader_epoch: int = -1) -> None:
        self.partition_index = partition_index
        self.error_code = error_code
        self.timestamp = timestamp
        self.offset = offset
        self.leader_epoch = leader_epoch


def _read_list_offsets_partition_response(data: bytes, position: i64, version: i64) -> tuple[ListOffsetsPartitionResponse, i64]:
    leader_epoch: int
    partition_index = read_i32_be(data, position)
    error_code = read_i16_be(data, position + 4)
    timestamp = read_i64_be(data, position + 6)
    offset = read_i64_be(data, position + 14)
    position += 22
    if version >= 4:
        leader_epoch = read_i32_be(data, position)
        position += 4
    else:
        leader_epoch = -1
    if version >= 6:
        position = skip_tags(data, position) if data[position] else position + 1
    return ListOffsetsPartitionResponse(partition_index, error_code, timestamp, offset, leader_epoch), position


def _write_list_offsets_partition_response(writer: BytesWriter, message: ListOffsetsPartitionResponse, version: i64) -> None:
    write_i32_be(writer, message.partition_index)
    write_i16_be(writer, message.error_code)
    write_i64_be(writer, message.timestamp)
    write_i64_be(writer, message.offset)
    if version >= 4:
        write_i32_be(writer, message.leader_epoch)
    else:
        if message.leader_epoch != -1:
            raise unsupported_field("ListOffsetsPartitionResponse", "leader_epoch", version)
    if version >= 6:
        writer.append(0)


class ListOffsetsTopicResponse(Struct):
    __slots__ = ("name", "partitions")
    FIELDS: ClassVar[tuple[str, ...]] = ("name", "partitions")

    def __init__(self, name: str = "", partitions: list[ListOffsetsPartitionResponse] = NO_ITEMS) -> None:
        self.name = name
        self.partitions = [] if partitions is NO_ITEMS else partitions


def _read_list_offsets_topic_response(data: bytes, position: i64, version: i64) -> tuple[ListOffsetsTopicResponse, i64]:
    name: str
    partitions: list[ListOffsetsPartitionResponse]
    if version >= 6:
        name, position = read_compact_string(data, position)
        count, position = read_compact_count(data, position, 27)
        partitions = []
        for nth in range(count):
            partitions_item, position = _read_list_offsets_partition_response(data, position, version)
            partitions.append(partitions_item)
            if nth & LONG_RUN == LONG_RUN:
                give_way()
    else:
        name, position = read_string(data, position)
        count, position = read_count(data, position, 22)
        partitions = []
        for nth in range(count):
            partitions_item, position = _read_list_offsets_partition_response(data, position, version)
            partitions.append(partitions_item)
            if nth & LONG_RUN == LONG_RUN:
                give_way()
    if version >= 6:
        position = skip_tags(data, position) if data[position] else position + 1
    return ListOffsetsTopicResponse(name, partitions), position


def _write_list_offsets_topic_response(writer: BytesWriter, message: ListOffsetsTopicResponse, version: i64) -> None:
    if version >= 6:
        write_compact_string(writer, message.name)
        partitions = message.partitions
        write_uvarint(writer, len(partitions) + 1)
        for nth, partitions_item in enumerate(partitions):
            _write_list_offsets_partition_response(writer, partitions_item, version)
            if nth & LONG_RUN == LONG_RUN:
                give_way()
    else:
        write_string(writer, message.name)
        partitions = message.partitions
        write_i32_be(writer, len(partitions))
        for nth, partitions_item in enumerate(partitions):
            _write_list_offsets_partition_response(writer, partitions_item, version)
            if nth & LONG_RUN == LONG_RUN:
                give_way()
    if version >= 6:
        writer.append(0)


class ListOffsetsRequest(Message):
    """API key 2, versions 1 to 11."""

    __slots__ = ("replica_id", "isolation_level", "topics", "timeout_ms")
    FIELDS: ClassVar[tuple[str, ...]] = ("replica_id", "isolation_level", "topics", "timeout_ms")
    API_KEY: ClassVar[int] = 2
    MIN_VERSION: ClassVar[int] = 1
    MAX_VERSION: ClassVar[int] = 11
    FIRST_FLEXIBLE: ClassVar[int] = 6

    def __init__(self, replica_id: int = 0, isolation_level: int = 0, topics: list[ListOffsetsTopic] = NO_ITEMS, timeout_ms: int = 0) -> None:
        self.replica_id = replica_id
        self.isolation_level = isolation_level
        self.topics = [] if topics is NO_ITEMS else topics
        self.timeout_ms = timeout_ms

    @classmethod
    def decode(cls, data: bytes, position: int, version: int) -> tuple[ListOffsetsRequest, int]:
        if version < 1 or version > 11:
            raise unknown_version("ListOffsetsRequest", version, 1, 11)
        try:
            message, end = _read_list_offsets_request(data, position, version)
        except (IndexError, ValueError) as error:
            raise malformed("ListOffsetsRequest", version, error) from None
        return message, end

    def encode(self, version: int) -> bytes:
        if version < 1 or version > 11:
            raise unsupported_version("ListOffsetsRequest", version, 1, 11)
        writer = BytesWriter()
        _write_list_offsets_request(writer, self, version)
        return writer.getvalue()

    def encode_parts(self, writer_prefix: bytes, version: int) -> list[Part]:
        if version < 1 or version > 11:
            raise unsupported_version("ListOffsetsRequest", version, 1, 11)
        writer = BytesWriter()
        writer.write(writer_prefix)
        _write_list_offsets_request(writer, self, version)
        return [writer.getvalue()]


def _read_list_offsets_request(data: bytes, position: i64, version: i64) -> tuple[ListOffsetsRequest, i64]:
    isolation_level: int
    topics: list[ListOffsetsTopic]
    timeout_ms: int
    replica_id = read_i32_be(data, position)
    position += 4
    if version >= 2:
        isolation_level = read_i8(data, position)
        position += 1
    else:
        isolation_level = 0
    if version >= 6:
        count, position = read_compact_count(data, position, 3)
        topics = []
        for nth in range(count):
            topics_item, position = _read_list_offsets_topic(data, position, version)
            topics.append(topics_item)
            if nth & LONG_RUN == LONG_RUN:
                give_way()
    else:
        count, position = read_count(data, position, 6)
        topics = []
        for nth in range(count):
            topics_item, position = _read_list_offsets_topic(data, position, version)
            topics.append(topics_item)
            if nth & LONG_RUN == LONG_RUN:
                give_way()
    if version >= 10:
        timeout_ms = read_i32_be(data, position)
        position += 4
    else:
        timeout_ms = 0
    if version >= 6:
        position = skip_tags(data, position) if data[position] else position + 1
    return ListOffsetsRequest(replica_id, isolation_level, topics, timeout_ms), position


def _write_list_offsets_request(writer: BytesWriter, message: ListOffsetsRequest, version: i64) -> None:
    write_i32_be(writer, message.replica_id)
    if version >= 2:
        write_i8(writer, message.isolation_level)
    else:
        if message.isolation_level != 0:
            raise unsupported_field("ListOffsetsRequest", "isolation_level", version)
    if version >= 6:
        topics = message.topics
        write_uvarint(writer, len(topics) + 1)
        for nth, topics_item in enumerate(topics):
            _write_list_offsets_topic(writer, topics_item, version)
            if nth & LONG_RUN == LONG_RUN:
                give_way()
    else:
        topics = message.topics
        write_i32_be(writer, len(topics))
        for nth, topics_item in enumerate(topics):
            _write_list_offsets_topic(writer, topics_item, version)
            if nth & LONG_RUN == LONG_RUN:
                give_way()
    if version >= 10:
        write_i32_be(writer, message.timeout_ms)
    if version >= 6:
        writer.append(0)


class ListOffsetsResponse(Message):
    """API key 2, versions 1 to 11."""

    __slots__ = ("throttle_time_ms", "topics")
    FIELDS: ClassVar[tuple[str, ...]] = ("throttle_time_ms", "topics")
    API_KEY: ClassVar[int] = 2
    MIN_VERSION: ClassVar[int] = 1
    MAX_VERSION: ClassVar[int] = 11
    FIRST_FLEXIBLE: ClassVar[int] = 6

    def __init__(self, throttle_time_ms: int = 0, topics: list[ListOffsetsTopicResponse] = NO_ITEMS) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.topics = [] if topics is NO_ITEMS else topics

    @classmethod
    def decode(cls, data: bytes, position: int, version: int) -> tuple[ListOffsetsResponse, int]:
        if version < 1 or version > 11:
            raise unknown_version("ListOffsetsResponse", version, 1, 11)
        try:
            message, end = _read_list_offsets_response(data, position, version)
        except (IndexError, ValueError) as error:
            raise malformed("ListOffsetsResponse", version, error) from None
        return message, end

    def encode(self, version: int) -> bytes:
        if version < 1 or version > 11:
            raise unsupported_version("ListOffsetsResponse", version, 1, 11)
        writer = BytesWriter()
        _write_list_offsets_response(writer, self, version)
        return writer.getvalue()

    def encode_parts(self, writer_prefix: bytes, version: int) -> list[Part]:
        if version < 1 or version > 11:
            raise unsupported_version("ListOffsetsResponse", version, 1, 11)
        writer = BytesWriter()
        writer.write(writer_prefix)
        _write_list_offsets_response(writer, self, version)
        return [writer.getvalue()]


def _read_list_offsets_response(data: bytes, position: i64, version: i64) -> tuple[ListOffsetsResponse, i64]:
    throttle_time_ms: int
    topics: list[ListOffsetsTopicResponse]
    if version >= 2:
        throttle_time_ms = read_i32_be(data, position)
        position += 4
    else:
        throttle_time_ms = 0
    if version >= 6:
        count, position = read_compact_count(data, position, 3)
        topics = []
        for nth in range(count):
            topics_item, position = _read_list_offsets_topic_response(data, position, version)
            topics.append(topics_item)
            if nth & LONG_RUN == LONG_RUN:
                give_way()
    else:
        count, position = read_count(data, position, 6)
        topics = []
        for nth in range(count):
            topics_item, position = _read_list_offsets_topic_response(data, position, version)
            topics.append(topics_item)
            if nth & LONG_RUN == LONG_RUN:
                give_way()
    if version >= 6:
        position = skip_tags(data, position) if data[position] else position + 1
    return ListOffsetsResponse(throttle_time_ms, topics), position


def _write_list_offsets_response(writer: BytesWriter, message: ListOffsetsResponse, version: i64) -> None:
    if version >= 2:
        write_i32_be(writer, message.throttle_time_ms)
    if version >= 6:
        topics = message.topics
        write_uvarint(writer, len(topics) + 1)
        for nth, topics_item in enumerate(topics):
            _write_list_offsets_topic_response(writer, topics_item, version)
            if nth & LONG_RUN == LONG_RUN:
                give_way()
    else:
        topics = message.topics
        write_i32_be(writer, len(topics))
        for nth, topics_item in enumerate(topics):
            _write_list_offsets_topic_response(writer, topics_item, version)
            if nth & LONG_RUN == LONG_RUN:
                give_way()
    if version >= 6:
        writer.append(0)
