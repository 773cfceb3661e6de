"""DescribeProducers (API key 61). Generated from schema/describe_producers.txt: do not edit."""

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


class TopicRequest(Struct):
    __slots__ = ("name", "partition_indexes")
    FIELDS: ClassVar[tuple[str, ...]] = ("name", "partition_indexes")

    def __init__(self, name: str = "", partition_indexes: list[int] = NO_ITEMS) -> None:
        self.name = name
        self.partition_indexes = [] if partition_indexes is NO_ITEMS else partition_indexes


def _read_topic_request(data: bytes, position: i64, version: i64) -> tuple[TopicRequest, i64]:
    partition_indexes: list[int]
    name, position = read_compact_string(data, position)
    count, position = read_compact_count(data, position, 4)
    partition_indexes = read_i32_list(data, position, count)
    position += 4 * count
    position = skip_tags(data, position) if data[position] else position + 1
    return TopicRequest(name, partition_indexes), position


def _write_topic_request(writer: BytesWriter, message: TopicRequest, version: i64) -> None:
    write_compact_string(writer, message.name)
    partition_indexes = message.partition_indexes
    write_uvarint(writer, len(partition_indexes) + 1)
    write_i32_list(writer, partition_indexes)
    writer.append(0)


class ProducerState(Struct):
    __slots__ = ("producer_id", "producer_epoch", "last_sequence", "last_timestamp", "coordinator_epoch", "current_txn_start_offset")
    FIELDS: ClassVar[tuple[str, ...]] = ("producer_id", "producer_epoch", "last_sequence", "last_timestamp", "coordinator_epoch", "current_txn_start_offset")

    def __init__(self, producer_id: int = 0, producer_epoch: int = 0, last_sequence: int = -1, last_timestamp: int = -1, coordinator_epoch: int = 0, current_txn_start_offset: int = -1) -> None:
        self.producer_id = producer_id
        self.producer_epoch = producer_epoch
        self.last_sequence = last_sequence
        self.last_timestamp = last_timestamp
        self.coordinator_epoch = coordinator_epoch
        self.current_txn_start_offset = current_txn_start_offset


def _read_producer_state(data: bytes, position: i64, version: i64) -> tuple[ProducerState, i64]:
    producer_id = read_i64_be(data, position)
    producer_epoch = read_i32_be(data, position + 8)
    last_sequence = read_i32_be(data, position + 12)
    last_timestamp = read_i64_be(data, position + 16)
    coordinator_epoch = read_i32_be(data, position + 24)
    current_txn_start_offset = read_i64_be(data, position + 28)
    position += 36
    position = skip_tags(data, position) if data[position] else position + 1
    return ProducerState(producer_id, producer_epoch, last_sequence, last_timestamp, coordinator_epoch, current_txn_start_offset), position


def _write_producer_state(writer: BytesWriter, message: ProducerState, version: i64) -> None:
    write_i64_be(writer, message.producer_id)
    write_i32_be(writer, message.producer_epoch)
    write_i32_be(writer, message.last_sequence)
    write_i64_be(writer, message.last_timestamp)
    write_i32_be(writer, message.coordinator_epoch)
    write_i64_be(writer, message.current_txn_start_offset)
    writer.append(0)


class PartitionResponse(Struct):
    __slots__ = ("partition_index", "error_code", "error_message", "active_producers")
    FIELDS: ClassVar[tuple[str, ...]] = ("partition_index", "error_code", "error_message", "active_producers")

    def __init__(self, partition_index: int = 0, error_code: int = 0, error_message: str | None = None, active_producers: list[ProducerState] = NO_ITEMS) -> None:
        self.partition_index = partition_index
        self.error_code = error_code
        self.error_message = error_message
        self.active_producers = [] if active_producers is NO_ITEMS else active_producers


def _read_partition_response(data: bytes, position: i64, version: i64) -> tuple[PartitionResponse, i64]:
    error_message: str | None
    active_producers: list[ProducerState]
    partition_index = read_i32_be(data, position)
    error_code = read_i16_be(data, position + 4)
    position += 6
    error_message, position = read_compact_nullable_string(data, position)
    count, position = read_compact_count(data, position, 37)
    active_producers = []
    for nth in range(count):
        active_producers_item, position = _read_producer_state(data, position, version)
        active_producers.append(active_producers_item)
        if nth & LONG_RUN == LONG_RUN:
            give_way()
    position = skip_tags(data, position) if data[position] else position + 1
    return PartitionResponse(partition_index, error_code, error_message, active_producers), position


def _write_partition_response(writer: BytesWriter, message: PartitionResponse, version: i64) -> None:
    write_i32_be(writer, message.partition_index)
    write_i16_be(writer, message.error_code)
    write_compact_nullable_string(writer, message.error_message)
    active_producers = message.active_producers
    write_uvarint(writer, len(active_producers) + 1)
    for nth, active_producers_item in enumerate(active_producers):
        _write_producer_state(writer, active_producers_item, version)
        if nth & LONG_RUN == LONG_RUN:
            give_way()
    writer.append(0)


class TopicResponse(Struct):
    __slots__ = ("name", "partitions")
    FIELDS: ClassVar[tuple[str, ...]] = ("name", "partitions")

    def __init__(self, name: str = "", partitions: list[PartitionResponse] = NO_ITEMS) -> None:
        self.name = name
        self.partitions = [] if partitions is NO_ITEMS else partitions


def _read_topic_response(data: bytes, position: i64, version: i64) -> tuple[TopicResponse, i64]:
    partitions: list[PartitionResponse]
    name, position = read_compact_string(data, position)
    count, position = read_compact_count(data, position, 9)
    partitions = []
    for nth in range(count):
        partitions_item, position = _read_partition_response(data, position, version)
        partitions.append(partitions_item)
        if nth & LONG_RUN == LONG_RUN:
            give_way()
    position = skip_tags(data, position) if data[position] else position + 1
    return TopicResponse(name, partitions), position


def _write_topic_response(writer: BytesWriter, message: TopicResponse, version: i64) -> None:
    write_compact_string(writer, message.name)
    partitions = message.partitions
    write_uvarint(writer, len(partitions) + 1)
    for nth, partitions_item in enumerate(partitions):
        _write_partition_response(writer, partitions_item, version)
        if nth & LONG_RUN == LONG_RUN:
            give_way()
    writer.append(0)


class DescribeProducersRequest(Message):
    """API key 61, version 0."""

    __slots__ = ("topics",)
    FIELDS: ClassVar[tuple[str, ...]] = ("topics",)
    API_KEY: ClassVar[int] = 61
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FIRST_FLEXIBLE: ClassVar[int] = 0

    def __init__(self, topics: list[TopicRequest] = NO_ITEMS) -> None:
        self.topics = [] if topics is NO_ITEMS else topics

    @classmethod
    def decode(cls, data: bytes, position: int, version: int) -> tuple[DescribeProducersRequest, int]:
        if version < 0 or version > 0:
            raise unknown_version("DescribeProducersRequest", version, 0, 0)
        try:
            message, end = _read_describe_producers_request(data, position, version)
        except (IndexError, ValueError) as error:
            raise malformed("DescribeProducersRequest", version, error) from None
        return message, end

    def encode(self, version: int) -> bytes:
        if version < 0 or version > 0:
            raise unsupported_version("DescribeProducersRequest", version, 0, 0)
        writer = BytesWriter()
        _write_describe_producers_request(writer, self, version)
        return writer.getvalue()

    def encode_parts(self, writer_prefix: bytes, version: int) -> list[Part]:
        if version < 0 or version > 0:
            raise unsupported_version("DescribeProducersRequest", version, 0, 0)
        writer = BytesWriter()
        writer.write(writer_prefix)
        _write_describe_producers_request(writer, self, version)
        return [writer.getvalue()]


def _read_describe_producers_request(data: bytes, position: i64, version: i64) -> tuple[DescribeProducersRequest, i64]:
    topics: list[TopicRequest]
    count, position = read_compact_count(data, position, 3)
    topics = []
    for nth in range(count):
        topics_item, position = _read_topic_request(data, position, version)
        topics.append(topics_item)
        if nth & LONG_RUN == LONG_RUN:
            give_way()
    position = skip_tags(data, position) if data[position] else position + 1
    return DescribeProducersRequest(topics), position


def _write_describe_producers_request(writer: BytesWriter, message: DescribeProducersRequest, version: i64) -> None:
    topics = message.topics
    write_uvarint(writer, len(topics) + 1)
    for nth, topics_item in enumerate(topics):
        _write_topic_request(writer, topics_item, version)
        if nth & LONG_RUN == LONG_RUN:
            give_way()
    writer.append(0)


class DescribeProducersResponse(Message):
    """API key 61, version 0."""

    __slots__ = ("throttle_time_ms", "topics")
    FIELDS: ClassVar[tuple[str, ...]] = ("throttle_time_ms", "topics")
    API_KEY: ClassVar[int] = 61
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FIRST_FLEXIBLE: ClassVar[int] = 0

    def __init__(self, throttle_time_ms: int = 0, topics: list[TopicResponse] = NO_ITEMS) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.topics = [] if topics is NO_ITEMS else topics

    @classmethod
    def decode(cls, data: bytes, position: int, version: int) -> tuple[DescribeProducersResponse, int]:
        if version < 0 or version > 0:
            raise unknown_version("DescribeProducersResponse", version, 0, 0)
        try:
            message, end = _read_describe_producers_response(data, position, version)
        except (IndexError, ValueError) as error:
            raise malformed("DescribeProducersResponse", version, error) from None
        return message, end

    def encode(self, version: int) -> bytes:
        if version < 0 or version > 0:
            raise unsupported_version("DescribeProducersResponse", version, 0, 0)
        writer = BytesWriter()
        _write_describe_producers_response(writer, self, version)
        return writer.getvalue()

    def encode_parts(self, writer_prefix: bytes, version: int) -> list[Part]:
        if version < 0 or version > 0:
            raise unsupported_version("DescribeProducersResponse", version, 0, 0)
        writer = BytesWriter()
        writer.write(writer_prefix)
        _write_describe_producers_response(writer, self, version)
        return [writer.getvalue()]


def _read_describe_producers_response(data: bytes, position: i64, version: i64) -> tuple[DescribeProducersResponse, i64]:
    topics: list[TopicResponse]
    throttle_time_ms = read_i32_be(data, position)
    position += 4
    count, position = read_compact_count(data, position, 3)
    topics = []
    for nth in range(count):
        topics_item, position = _read_topic_response(data, position, version)
        topics.append(topics_item)
        if nth & LONG_RUN == LONG_RUN:
            give_way()
    position = skip_tags(data, position) if data[position] else position + 1
    return DescribeProducersResponse(throttle_time_ms, topics), position


def _write_describe_producers_response(writer: BytesWriter, message: DescribeProducersResponse, version: i64) -> None:
    write_i32_be(writer, message.throttle_time_ms)
    topics = message.topics
    write_uvarint(writer, len(topics) + 1)
    for nth, topics_item in enumerate(topics):
        _write_topic_response(writer, topics_item, version)
        if nth & LONG_RUN == LONG_RUN:
            give_way()
    writer.append(0)
