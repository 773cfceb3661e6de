"""DeleteRecords (API key 21). Generated from schema/delete_records.txt: do not edit."""

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
    read_string,
    skip_tags,
    unknown_version,
)
from moldau.protocol.writing import (
    unsupported_version,
    write_compact_string,
    write_string,
    write_uvarint,
)


class DeleteRecordsPartition(Struct):
    __slots__ = ("partition_index", "offset")
    FIELDS: ClassVar[tuple[str, ...]] = ("partition_index", "offset")

    def __init__(self, partition_index: int = 0, offset: int = 0) -> None:
        self.partition_index = partition_index
        self.offset = offset


def _read_delete_records_partition(data: bytes, position: i64, version: i64) -> tuple[DeleteRecordsPartition, i64]:
    partition_index = read_i32_be(data, position)
    offset = read_i64_be(data, position + 4)
    position += 12
    if version >= 2:
        position = skip_tags(data, position) if data[position] else position + 1
    return DeleteRecordsPartition(partition_index, offset), position


def _write_delete_records_partition(writer: BytesWriter, message: DeleteRecordsPartition, version: i64) -> None:
    write_i32_be(writer, message.partition_index)
    write_i64_be(writer, message.offset)
    if version >= 2:
        writer.append(0)


class DeleteRecordsTopic(Struct):
    __slots__ = ("name", "partitions")
    FIELDS: ClassVar[tuple[str, ...]] = ("name", "partitions")

    def __init__(self, name: str = "", partitions: list[DeleteRecordsPartition] = NO_ITEMS) -> None:
        self.name = name
        self.partitions = [] if partitions is NO_ITEMS else partitions


def _read_delete_records_topic(data: bytes, position: i64, version: i64) -> tuple[DeleteRecordsTopic, i64]:
    name: str
    partitions: list[DeleteRecordsPartition]
    if version >= 2:
        name, position = read_compact_string(data, position)
        count, position = read_compact_count(data, position, 13)
        partitions = []
        for nth in range(count):
            partitions_item, position = _read_delete_records_partition(data, position, version)
            partitions.append(partitions_item)
            if nth & LONG_RUN == LONG_RUN:
                give_way()
    else:
        name, position = read_string(data, position)
        count, position = read_count(data, position, 12)
        partitions = []
        for nth in range(count):
            partitions_item, position = _read_delete_records_partition(data, position, version)
            partitions.append(partitions_item)
            if nth & LONG_RUN == LONG_RUN:
                give_way()
    if version >= 2:
        position = skip_tags(data, position) if data[position] else position + 1
    return DeleteRecordsTopic(name, partitions), position


def _write_delete_records_topic(writer: BytesWriter, message: DeleteRecordsTopic, version: i64) -> None:
    if version >= 2:
        write_compact_string(writer, message.name)
        partitions = message.partitions
        write_uvarint(writer, len(partitions) + 1)
        for nth, partitions_item in enumerate(partitions):
            _write_delete_records_partition(writer, partitions_item, version)
            if nth & LONG_RUN == LONG_RUN:
                give_way()
    else:
        write_string(writer, message.name)
        partitions = message.partitions
        write_i32_be(writer, len(partitions))
        for nth, partitions_item in enumerate(partitions):
            _write_delete_records_partition(writer, partitions_item, version)
            if nth & LONG_RUN == LONG_RUN:
                give_way()
    if version >= 2:
        writer.append(0)


class DeleteRecordsPartitionResult(Struct):
    __slots__ = ("partition_index", "low_watermark", "error_code")
    FIELDS: ClassVar[tuple[str, ...]] = ("partition_index", "low_watermark", "error_code")

    def __init__(self, partition_index: int = 0, low_watermark: int = 0, error_code: int = 0) -> None:
        self.partition_index = partition_index
        self.low_watermark = low_watermark
        self.error_code = error_code


def _read_delete_records_partition_result(data: bytes, position: i64, version: i64) -> tuple[DeleteRecordsPartitionResult, i64]:
    partition_index = read_i32_be(data, position)
    low_watermark = read_i64_be(data, position + 4)
    error_code = read_i16_be(data, position + 12)
    position += 14
    if version >= 2:
        position = skip_tags(data, position) if data[position] else position + 1
    return DeleteRecordsPartitionResult(partition_index, low_watermark, error_code), position


def _write_delete_records_partition_result(writer: BytesWriter, message: DeleteRecordsPartitionResult, version: i64) -> None:
    write_i32_be(writer, message.partition_index)
    write_i64_be(writer, message.low_watermark)
    write_i16_be(writer, message.error_code)
    if version >= 2:
        writer.append(0)


class DeleteRecordsTopicResult(Struct):
    __slots__ = ("name", "partitions")
    FIELDS: ClassVar[tuple[str, ...]] = ("name", "partitions")

    def __init__(self, name: str = "", partitions: list[DeleteRecordsPartitionResult] = NO_ITEMS) -> None:
        self.name = name
        self.partitions = [] if partitions is NO_ITEMS else partitions


def _read_delete_records_topic_result(data: bytes, position: i64, version: i64) -> tuple[DeleteRecordsTopicResult, i64]:
    name: str
    partitions: list[DeleteRecordsPartitionResult]
    if version >= 2:
        name, position = read_compact_string(data, position)
        count, position = read_compact_count(data, position, 15)
        partitions = []
        for nth in range(count):
            partitions_item, position = _read_delete_records_partition_result(data, position, version)
            partitions.append(partitions_item)
            if nth & LONG_RUN == LONG_RUN:
                give_way()
    else:
        name, position = read_string(data, position)
        count, position = read_count(data, position, 14)
        partitions = []
        for nth in range(count):
            partitions_item, position = _read_delete_records_partition_result(data, position, version)
            partitions.append(partitions_item)
            if nth & LONG_RUN == LONG_RUN:
                give_way()
    if version >= 2:
        position = skip_tags(data, position) if data[position] else position + 1
    return DeleteRecordsTopicResult(name, partitions), position


def _write_delete_records_topic_result(writer: BytesWriter, message: DeleteRecordsTopicResult, version: i64) -> None:
    if version >= 2:
        write_compact_string(writer, message.name)
        partitions = message.partitions
        write_uvarint(writer, len(partitions) + 1)
        for nth, partitions_item in enumerate(partitions):
            _write_delete_records_partition_result(writer, partitions_item, version)
            if nth & LONG_RUN == LONG_RUN:
                give_way()
    else:
        write_string(writer, message.name)
        partitions = message.partitions
        write_i32_be(writer, len(partitions))
        for nth, partitions_item in enumerate(partitions):
            _write_delete_records_partition_result(writer, partitions_item, version)
            if nth & LONG_RUN == LONG_RUN:
                give_way()
    if version >= 2:
        writer.append(0)


class DeleteRecordsRequest(Message):
    """API key 21, versions 0 to 2."""

    __slots__ = ("topics", "timeout_ms")
    FIELDS: ClassVar[tuple[str, ...]] = ("topics", "timeout_ms")
    API_KEY: ClassVar[int] = 21
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 2
    FIRST_FLEXIBLE: ClassVar[int] = 2

    def __init__(self, topics: list[DeleteRecordsTopic] = NO_ITEMS, timeout_ms: int = 0) -> None:
        self.topics = [] if topics is NO_ITEMS else topics
        self.timeout_ms = timeout_ms

    @classmethod
    def decode(cls, data: bytes, position: int, version: int) -> tuple[DeleteRecordsRequest, int]:
        if version < 0 or version > 2:
            raise unknown_version("DeleteRecordsRequest", version, 0, 2)
        try:
            message, end = _read_delete_records_request(data, position, version)
        except (IndexError, ValueError) as error:
            raise malformed("DeleteRecordsRequest", version, error) from None
        return message, end

    def encode(self, version: int) -> bytes:
        if version < 0 or version > 2:
            raise unsupported_version("DeleteRecordsRequest", version, 0, 2)
        writer = BytesWriter()
        _write_delete_records_request(writer, self, version)
        return writer.getvalue()

    def encode_parts(self, writer_prefix: bytes, version: int) -> list[Part]:
        if version < 0 or version > 2:
            raise unsupported_version("DeleteRecordsRequest", version, 0, 2)
        writer = BytesWriter()
        writer.write(writer_prefix)
        _write_delete_records_request(writer, self, version)
        return [writer.getvalue()]


def _read_delete_records_request(data: bytes, position: i64, version: i64) -> tuple[DeleteRecordsRequest, i64]:
    topics: list[DeleteRecordsTopic]
    if version >= 2:
        count, position = read_compact_count(data, position, 3)
        topics = []
        for nth in range(count):
            topics_item, position = _read_delete_records_topic(data, position, version)
            topics.append(topics_item)
            if nth & LONG_RUN == LONG_RUN:
                give_way()
    else:
        count, position = read_count(data, position, 6)
        topics = []
        for nth in range(count):
            topics_item, position = _read_delete_records_topic(data, position, version)
            topics.append(topics_item)
            if nth & LONG_RUN == LONG_RUN:
                give_way()
    timeout_ms = read_i32_be(data, position)
    position += 4
    if version >= 2:
        position = skip_tags(data, position) if data[position] else position + 1
    return DeleteRecordsRequest(topics, timeout_ms), position


def _write_delete_records_request(writer: BytesWriter, message: DeleteRecordsRequest, version: i64) -> None:
    if version >= 2:
        topics = message.topics
        write_uvarint(writer, len(topics) + 1)
        for nth, topics_item in enumerate(topics):
            _write_delete_records_topic(writer, topics_item, version)
            if nth & LONG_RUN == LONG_RUN:
                give_way()
    else:
        topics = message.topics
        write_i32_be(writer, len(topics))
        for nth, topics_item in enumerate(topics):
            _write_delete_records_topic(writer, topics_item, version)
            if nth & LONG_RUN == LONG_RUN:
                give_way()
    write_i32_be(writer, message.timeout_ms)
    if version >= 2:
        writer.append(0)


class DeleteRecordsResponse(Message):
    """API key 21, versions 0 to 2."""

    __slots__ = ("throttle_time_ms", "topics")
    FIELDS: ClassVar[tuple[str, ...]] = ("throttle_time_ms", "topics")
    API_KEY: ClassVar[int] = 21
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 2
    FIRST_FLEXIBLE: ClassVar[int] = 2

    def __init__(self, throttle_time_ms: int = 0, topics: list[DeleteRecordsTopicResult] = NO_ITEMS) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.topics = [] if topics is NO_ITEMS else topics

    @classmethod
    def decode(cls, data: bytes, position: int, version: int) -> tuple[DeleteRecordsResponse, int]:
        if version < 0 or version > 2:
            raise unknown_version("DeleteRecordsResponse", version, 0, 2)
        try:
            message, end = _read_delete_records_response(data, position, version)
        except (IndexError, ValueError) as error:
            raise malformed("DeleteRecordsResponse", version, error) from None
        return message, end

    def encode(self, version: int) -> bytes:
        if version < 0 or version > 2:
            raise unsupported_version("DeleteRecordsResponse", version, 0, 2)
        writer = BytesWriter()
        _write_delete_records_response(writer, self, version)
        return writer.getvalue()

    def encode_parts(self, writer_prefix: bytes, version: int) -> list[Part]:
        if version < 0 or version > 2:
            raise unsupported_version("DeleteRecordsResponse", version, 0, 2)
        writer = BytesWriter()
        writer.write(writer_prefix)
        _write_delete_records_response(writer, self, version)
        return [writer.getvalue()]


def _read_delete_records_response(data: bytes, position: i64, version: i64) -> tuple[DeleteRecordsResponse, i64]:
    topics: list[DeleteRecordsTopicResult]
    throttle_time_ms = read_i32_be(data, position)
    position += 4
    if version >= 2:
        count, position = read_compact_count(data, position, 3)
        topics = []
        for nth in range(count):
            topics_item, position = _read_delete_records_topic_result(data, position, version)
            topics.append(topics_item)
            if nth & LONG_RUN == LONG_RUN:
                give_way()
    else:
        count, position = read_count(data, position, 6)
        topics = []
        for nth in range(count):
            topics_item, position = _read_delete_records_topic_result(data, position, version)
            topics.append(topics_item)
            if nth & LONG_RUN == LONG_RUN:
                give_way()
    if version >= 2:
        position = skip_tags(data, position) if data[position] else position + 1
    return DeleteRecordsResponse(throttle_time_ms, topics), position


def _write_delete_records_response(writer: BytesWriter, message: DeleteRecordsResponse, version: i64) -> None:
    write_i32_be(writer, message.throttle_time_ms)
    if version >= 2:
        topics = message.topics
        write_uvarint(writer, len(topics) + 1)
        for nth, topics_item in enumerate(topics):
            _write_delete_records_topic_result(writer, topics_item, version)
            if nth & LONG_RUN == LONG_RUN:
                give_way()
    else:
        topics = message.topics
        write_i32_be(writer, len(topics))
        for nth, topics_item in enumerate(topics):
            _write_delete_records_topic_result(writer, topics_item, version)
            if nth & LONG_RUN == LONG_RUN:
                give_way()
    if version >= 2:
        writer.append(0)
