"""ReadShareGroupStateSummary (API key 87). Generated from schema/read_share_group_state_summary.txt: do not edit."""

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
    read_compact_nullable_string,
    read_compact_string,
    read_uuid,
    skip_tags,
    unknown_version,
)
from moldau.protocol.writing import (
    unsupported_version,
    write_compact_nullable_string,
    write_compact_string,
    write_uuid,
    write_uvarint,
)


class PartitionData(Struct):
    __slots__ = ("partition", "leader_epoch")
    FIELDS: ClassVar[tuple[str, ...]] = ("partition", "leader_epoch")

    def __init__(self, partition: int = 0, leader_epoch: int = 0) -> None:
        self.partition = partition
        self.leader_epoch = leader_epoch


def _read_partition_data(data: bytes, position: i64, version: i64) -> tuple[PartitionData, i64]:
    partition = read_i32_be(data, position)
    leader_epoch = read_i32_be(data, position + 4)
    position += 8
    position = skip_tags(data, position) if data[position] else position + 1
    return PartitionData(partition, leader_epoch), position


def _write_partition_data(writer: BytesWriter, message: PartitionData, version: i64) -> None:
    write_i32_be(writer, message.partition)
    write_i32_be(writer, message.leader_epoch)
    writer.append(0)


class ReadStateSummaryData(Struct):
    __slots__ = ("topic_id", "partitions")
    FIELDS: ClassVar[tuple[str, ...]] = ("topic_id", "partitions")

    def __init__(self, topic_id: bytes = NO_UUID, partitions: list[PartitionData] = NO_ITEMS) -> None:
        self.topic_id = topic_id
        self.partitions = [] if partitions is NO_ITEMS else partitions


def _read_read_state_summary_data(data: bytes, position: i64, version: i64) -> tuple[ReadStateSummaryData, i64]:
    partitions: list[PartitionData]
    topic_id = read_uuid(data, position)
    position += 16
    count, position = read_compact_count(data, position, 9)
    partitions = []
    for nth in range(count):
        partitions_item, position = _read_partition_data(data, position, version)
        partitions.append(partitions_item)
        if nth & LONG_RUN == LONG_RUN:
            give_way()
    position = skip_tags(data, position) if data[position] else position + 1
    return ReadStateSummaryData(topic_id, partitions), position


def _write_read_state_summary_data(writer: BytesWriter, message: ReadStateSummaryData, version: i64) -> None:
    write_uuid(writer, message.topic_id)
    partitions = message.partitions
    write_uvarint(writer, len(partitions) + 1)
    for nth, partitions_item in enumerate(partitions):
        _write_partition_data(writer, partitions_item, version)
        if nth & LONG_RUN == LONG_RUN:
            give_way()
    writer.append(0)


class PartitionResult(Struct):
    __slots__ = ("partition", "error_code", "error_message", "state_epoch", "leader_epoch", "start_offset", "delivery_complete_count")
    FIELDS: ClassVar[tuple[str, ...]] = ("partition", "error_code", "error_message", "state_epoch", "leader_epoch", "start_offset", "delivery_complete_count")

    def __init__(self, partition: int = 0, error_code: int = 0, error_message: str | None = None, state_epoch: int = 0, leader_epoch: int = 0, start_offset: int = 0, delivery_complete_count: int = -1) -> None:
        self.partition = partition
        self.error_code = error_code
        self.error_message = error_message
        self.state_epoch = state_epoch
        self.leader_epoch = leader_epoch
        self.start_offset = start_offset
        self.delivery_complete_count = delivery_complete_count


def _read_partition_result(data: bytes, position: i64, version: i64) -> tuple[PartitionResult, i64]:
    error_message: str | None
    delivery_complete_count: int
    partition = read_i32_be(data, position)
    error_code = read_i16_be(data, position + 4)
    position += 6
    error_message, position = read_compact_nullable_string(data, position)
    state_epoch = read_i32_be(data, position)
    leader_epoch = read_i32_be(data, position + 4)
    start_offset = read_i64_be(data, position + 8)
    position += 16
    if version >= 1:
        delivery_complete_count = read_i32_be(data, position)
        position += 4
    else:
        delivery_complete_count = -1
    position = skip_tags(data, position) if data[position] else position + 1
    return PartitionResult(partition, error_code, error_message, state_epoch, leader_epoch, start_offset, delivery_complete_count), position


def _write_partition_result(writer: BytesWriter, message: PartitionResult, version: i64) -> None:
    write_i32_be(writer, message.partition)
    write_i16_be(writer, message.error_code)
    write_compact_nullable_string(writer, message.error_message)
    write_i32_be(writer, message.state_epoch)
    write_i32_be(writer, message.leader_epoch)
    write_i64_be(writer, message.start_offset)
    if version >= 1:
        write_i32_be(writer, message.delivery_complete_count)
    writer.append(0)


class ReadStateSummaryResult(Struct):
    __slots__ = ("topic_id", "partitions")
    FIELDS: ClassVar[tuple[str, ...]] = ("topic_id", "partitions")

    def __init__(self, topic_id: bytes = NO_UUID, partitions: list[PartitionResult] = NO_ITEMS) -> None:
        self.topic_id = topic_id
        self.partitions = [] if partitions is NO_ITEMS else partitions


def _read_read_state_summary_result(data: bytes, position: i64, version: i64) -> tuple[ReadStateSummaryResult, i64]:
    partitions: list[PartitionResult]
    topic_id = read_uuid(data, position)
    position += 16
    count, position = read_compact_count(data, position, 24)
    partitions = []
    for nth in range(count):
        partitions_item, position = _read_partition_result(data, position, version)
        partitions.append(partitions_item)
        if nth & LONG_RUN == LONG_RUN:
            give_way()
    position = skip_tags(data, position) if data[position] else position + 1
    return ReadStateSummaryResult(topic_id, partitions), position


def _write_read_state_summary_result(writer: BytesWriter, message: ReadStateSummaryResult, version: i64) -> None:
    write_uuid(writer, message.topic_id)
    partitions = message.partitions
    write_uvarint(writer, len(partitions) + 1)
    for nth, partitions_item in enumerate(partitions):
        _write_partition_result(writer, partitions_item, version)
        if nth & LONG_RUN == LONG_RUN:
            give_way()
    writer.append(0)


class ReadShareGroupStateSummaryRequest(Message):
    """API key 87, versions 0 to 1."""

    __slots__ = ("group_id", "topics")
    FIELDS: ClassVar[tuple[str, ...]] = ("group_id", "topics")
    API_KEY: ClassVar[int] = 87
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 1
    FIRST_FLEXIBLE: ClassVar[int] = 0

    def __init__(self, group_id: str = "", topics: list[ReadStateSummaryData] = NO_ITEMS) -> None:
        self.group_id = group_id
        self.topics = [] if topics is NO_ITEMS else topics

    @classmethod
    def decode(cls, data: bytes, position: int, version: int) -> tuple[ReadShareGroupStateSummaryRequest, int]:
        if version < 0 or version > 1:
            raise unknown_version("ReadShareGroupStateSummaryRequest", version, 0, 1)
        try:
            message, end = _read_read_share_group_state_summary_request(data, position, version)
        except (IndexError, ValueError) as error:
            raise malformed("ReadShareGroupStateSummaryRequest", version, error) from None
        return message, end

    def encode(self, version: int) -> bytes:
        if version < 0 or version > 1:
            raise unsupported_version("ReadShareGroupStateSummaryRequest", version, 0, 1)
        writer = BytesWriter()
        _write_read_share_group_state_summary_request(writer, self, version)
        return writer.getvalue()

    def encode_parts(self, writer_prefix: bytes, version: int) -> list[Part]:
        if version < 0 or version > 1:
            raise unsupported_version("ReadShareGroupStateSummaryRequest", version, 0, 1)
        writer = BytesWriter()
        writer.write(writer_prefix)
        _write_read_share_group_state_summary_request(writer, self, version)
        return [writer.getvalue()]


def _read_read_share_group_state_summary_request(data: bytes, position: i64, version: i64) -> tuple[ReadShareGroupStateSummaryRequest, i64]:
    topics: list[ReadStateSummaryData]
    group_id, position = read_compact_string(data, position)
    count, position = read_compact_count(data, position, 18)
    topics = []
    for nth in range(count):
        topics_item, position = _read_read_state_summary_data(data, position, version)
        topics.append(topics_item)
        if nth & LONG_RUN == LONG_RUN:
            give_way()
    position = skip_tags(data, position) if data[position] else position + 1
    return ReadShareGroupStateSummaryRequest(group_id, topics), position


def _write_read_share_group_state_summary_request(writer: BytesWriter, message: ReadShareGroupStateSummaryRequest, version: i64) -> None:
    write_compact_string(writer, message.group_id)
    topics = message.topics
    write_uvarint(writer, len(topics) + 1)
    for nth, topics_item in enumerate(topics):
        _write_read_state_summary_data(writer, topics_item, version)
        if nth & LONG_RUN == LONG_RUN:
            give_way()
    writer.append(0)


class ReadShareGroupStateSummaryResponse(Message):
    """API key 87, versions 0 to 1."""

    __slots__ = ("results",)
    FIELDS: ClassVar[tuple[str, ...]] = ("results",)
    API_KEY: ClassVar[int] = 87
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 1
    FIRST_FLEXIBLE: ClassVar[int] = 0

    def __init__(self, results: list[ReadStateSummaryResult] = NO_ITEMS) -> None:
        self.results = [] if results is NO_ITEMS else results

    @classmethod
    def decode(cls, data: bytes, position: int, version: int) -> tuple[ReadShareGroupStateSummaryResponse, int]:
        if version < 0 or version > 1:
            raise unknown_version("ReadShareGroupStateSummaryResponse", version, 0, 1)
        try:
            message, end = _read_read_share_group_state_summary_response(data, position, version)
        except (IndexError, ValueError) as error:
            raise malformed("ReadShareGroupStateSummaryResponse", version, error) from None
        return message, end

    def encode(self, version: int) -> bytes:
        if version < 0 or version > 1:
            raise unsupported_version("ReadShareGroupStateSummaryResponse", version, 0, 1)
        writer = BytesWriter()
        _write_read_share_group_state_summary_response(writer, self, version)
        return writer.getvalue()

    def encode_parts(self, writer_prefix: bytes, version: int) -> list[Part]:
        if version < 0 or version > 1:
            raise unsupported_version("ReadShareGroupStateSummaryResponse", version, 0, 1)
        writer = BytesWriter()
        writer.write(writer_prefix)
        _write_read_share_group_state_summary_response(writer, self, version)
        return [writer.getvalue()]


def _read_read_share_group_state_summary_response(data: bytes, position: i64, version: i64) -> tuple[ReadShareGroupStateSummaryResponse, i64]:
    results: list[ReadStateSummaryResult]
    count, position = read_compact_count(data, position, 18)
    results = []
    for nth in range(count):
        results_item, position = _read_read_state_summary_result(data, position, version)
        results.append(results_item)
        if nth & LONG_RUN == LONG_RUN:
            give_way()
    position = skip_tags(data, position) if data[position] else position + 1
    return ReadShareGroupStateSummaryResponse(results), position


def _write_read_share_group_state_summary_response(writer: BytesWriter, message: ReadShareGroupStateSummaryResponse, version: i64) -> None:
    results = message.results
    write_uvarint(writer, len(results) + 1)
    for nth, results_item in enumerate(results):
        _write_read_state_summary_result(writer, results_item, version)
        if nth & LONG_RUN == LONG_RUN:
            give_way()
    writer.append(0)
