"""AlterShareGroupOffsets (API key 91). Generated from schema/alter_share_group_offsets.txt: do not edit."""

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


class AlterShareGroupOffsetsRequestPartition(Struct):
    __slots__ = ("partition_index", "start_offset")
    FIELDS: ClassVar[tuple[str, ...]] = ("partition_index", "start_offset")

    def __init__(self, partition_index: int = 0, start_offset: int = 0) -> None:
        self.partition_index = partition_index
        self.start_offset = start_offset


def _read_alter_share_group_offsets_request_partition(data: bytes, position: i64, version: i64) -> tuple[AlterShareGroupOffsetsRequestPartition, i64]:
    partition_index = read_i32_be(data, position)
    start_offset = read_i64_be(data, position + 4)
    position += 12
    position = skip_tags(data, position) if data[position] else position + 1
    return AlterShareGroupOffsetsRequestPartition(partition_index, start_offset), position


def _write_alter_share_group_offsets_request_partition(writer: BytesWriter, message: AlterShareGroupOffsetsRequestPartition, version: i64) -> None:
    write_i32_be(writer, message.partition_index)
    write_i64_be(writer, message.start_offset)
    writer.append(0)


class AlterShareGroupOffsetsRequestTopic(Struct):
    __slots__ = ("topic_name", "partitions")
    FIELDS: ClassVar[tuple[str, ...]] = ("topic_name", "partitions")

    def __init__(self, topic_name: str = "", partitions: list[AlterShareGroupOffsetsRequestPartition] = NO_ITEMS) -> None:
        self.topic_name = topic_name
        self.partitions = [] if partitions is NO_ITEMS else partitions


def _read_alter_share_group_offsets_request_topic(data: bytes, position: i64, version: i64) -> tuple[AlterShareGroupOffsetsRequestTopic, i64]:
    partitions: list[AlterShareGroupOffsetsRequestPartition]
    topic_name, position = read_compact_string(data, position)
    count, position = read_compact_count(data, position, 13)
    partitions = []
    for nth in range(count):
        partitions_item, position = _read_alter_share_group_offsets_request_partition(data, position, version)
        partitions.append(partitions_item)
        if nth & LONG_RUN == LONG_RUN:
            give_way()
    position = skip_tags(data, position) if data[position] else position + 1
    return AlterShareGroupOffsetsRequestTopic(topic_name, partitions), position


def _write_alter_share_group_offsets_request_topic(writer: BytesWriter, message: AlterShareGroupOffsetsRequestTopic, version: i64) -> None:
    write_compact_string(writer, message.topic_name)
    partitions = message.partitions
    write_uvarint(writer, len(partitions) + 1)
    for nth, partitions_item in enumerate(partitions):
        _write_alter_share_group_offsets_request_partition(writer, partitions_item, version)
        if nth & LONG_RUN == LONG_RUN:
            give_way()
    writer.append(0)


class AlterShareGroupOffsetsResponsePartition(Struct):
    __slots__ = ("partition_index", "error_code", "error_message")
    FIELDS: ClassVar[tuple[str, ...]] = ("partition_index", "error_code", "error_message")

    def __init__(self, partition_index: int = 0, error_code: int = 0, error_message: str | None = None) -> None:
        self.partition_index = partition_index
        self.error_code = error_code
        self.error_message = error_message


def _read_alter_share_group_offsets_response_partition(data: bytes, position: i64, version: i64) -> tuple[AlterShareGroupOffsetsResponsePartition, i64]:
    error_message: str | None
    partition_index = read_i32_be(data, position)
    error_code = read_i16_be(data, position + 4)
    position += 6
    error_message, position = read_compact_nullable_string(data, position)
    position = skip_tags(data, position) if data[position] else position + 1
    return AlterShareGroupOffsetsResponsePartition(partition_index, error_code, error_message), position


def _write_alter_share_group_offsets_response_partition(writer: BytesWriter, message: AlterShareGroupOffsetsResponsePartition, version: i64) -> None:
    write_i32_be(writer, message.partition_index)
    write_i16_be(writer, message.error_code)
    write_compact_nullable_string(writer, message.error_message)
    writer.append(0)


class AlterShareGroupOffsetsResponseTopic(Struct):
    __slots__ = ("topic_name", "topic_id", "partitions")
    FIELDS: ClassVar[tuple[str, ...]] = ("topic_name", "topic_id", "partitions")

    def __init__(self, topic_name: str = "", topic_id: bytes = NO_UUID, partitions: list[AlterShareGroupOffsetsResponsePartition] = NO_ITEMS) -> None:
        self.topic_name = topic_name
        self.topic_id = topic_id
        self.partitions = [] if partitions is NO_ITEMS else partitions


def _read_alter_share_group_offsets_response_topic(data: bytes, position: i64, version: i64) -> tuple[AlterShareGroupOffsetsResponseTopic, i64]:
    partitions: list[AlterShareGroupOffsetsResponsePartition]
    topic_name, position = read_compact_string(data, position)
    topic_id = read_uuid(data, position)
    position += 16
    count, position = read_compact_count(data, position, 8)
    partitions = []
    for nth in range(count):
        partitions_item, position = _read_alter_share_group_offsets_response_partition(data, position, version)
        partitions.append(partitions_item)
        if nth & LONG_RUN == LONG_RUN:
            give_way()
    position = skip_tags(data, position) if data[position] else position + 1
    return AlterShareGroupOffsetsResponseTopic(topic_name, topic_id, partitions), position


def _write_alter_share_group_offsets_response_topic(writer: BytesWriter, message: AlterShareGroupOffsetsResponseTopic, version: i64) -> None:
    write_compact_string(writer, message.topic_name)
    write_uuid(writer, message.topic_id)
    partitions = message.partitions
    write_uvarint(writer, len(partitions) + 1)
    for nth, partitions_item in enumerate(partitions):
        _write_alter_share_group_offsets_response_partition(writer, partitions_item, version)
        if nth & LONG_RUN == LONG_RUN:
            give_way()
    writer.append(0)


class AlterShareGroupOffsetsRequest(Message):
    """API key 91, version 0."""

    __slots__ = ("group_id", "topics")
    FIELDS: ClassVar[tuple[str, ...]] = ("group_id", "topics")
    API_KEY: ClassVar[int] = 91
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FIRST_FLEXIBLE: ClassVar[int] = 0

    def __init__(self, group_id: str = "", topics: list[AlterShareGroupOffsetsRequestTopic] = NO_ITEMS) -> None:
        self.group_id = group_id
        self.topics = [] if topics is NO_ITEMS else topics

    @classmethod
    def decode(cls, data: bytes, position: int, version: int) -> tuple[AlterShareGroupOffsetsRequest, int]:
        if version < 0 or version > 0:
            raise unknown_version("AlterShareGroupOffsetsRequest", version, 0, 0)
        try:
            message, end = _read_alter_share_group_offsets_request(data, position, version)
        except (IndexError, ValueError) as error:
            raise malformed("AlterShareGroupOffsetsRequest", version, error) from None
        return message, end

    def encode(self, version: int) -> bytes:
        if version < 0 or version > 0:
            raise unsupported_version("AlterShareGroupOffsetsRequest", version, 0, 0)
        writer = BytesWriter()
        _write_alter_share_group_offsets_request(writer, self, version)
        return writer.getvalue()

    def encode_parts(self, writer_prefix: bytes, version: int) -> list[Part]:
        if version < 0 or version > 0:
            raise unsupported_version("AlterShareGroupOffsetsRequest", version, 0, 0)
        writer = BytesWriter()
        writer.write(writer_prefix)
        _write_alter_share_group_offsets_request(writer, self, version)
        return [writer.getvalue()]


def _read_alter_share_group_offsets_request(data: bytes, position: i64, version: i64) -> tuple[AlterShareGroupOffsetsRequest, i64]:
    topics: list[AlterShareGroupOffsetsRequestTopic]
    group_id, position = read_compact_string(data, position)
    count, position = read_compact_count(data, position, 3)
    topics = []
    for nth in range(count):
        topics_item, position = _read_alter_share_group_offsets_request_topic(data, position, version)
        topics.append(topics_item)
        if nth & LONG_RUN == LONG_RUN:
            give_way()
    position = skip_tags(data, position) if data[position] else position + 1
    return AlterShareGroupOffsetsRequest(group_id, topics), position


def _write_alter_share_group_offsets_request(writer: BytesWriter, message: AlterShareGroupOffsetsRequest, version: i64) -> None:
    write_compact_string(writer, message.group_id)
    topics = message.topics
    write_uvarint(writer, len(topics) + 1)
    for nth, topics_item in enumerate(topics):
        _write_alter_share_group_offsets_request_topic(writer, topics_item, version)
        if nth & LONG_RUN == LONG_RUN:
            give_way()
    writer.append(0)


class AlterShareGroupOffsetsResponse(Message):
    """API key 91, version 0."""

    __slots__ = ("throttle_time_ms", "error_code", "error_message", "responses")
    FIELDS: ClassVar[tuple[str, ...]] = ("throttle_time_ms", "error_code", "error_message", "responses")
    API_KEY: ClassVar[int] = 91
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FIRST_FLEXIBLE: ClassVar[int] = 0

    def __init__(self, throttle_time_ms: int = 0, error_code: int = 0, error_message: str | None = None, responses: list[AlterShareGroupOffsetsResponseTopic] = NO_ITEMS) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.error_message = error_message
        self.responses = [] if responses is NO_ITEMS else responses

    @classmethod
    def decode(cls, data: bytes, position: int, version: int) -> tuple[AlterShareGroupOffsetsResponse, int]:
        if version < 0 or version > 0:
            raise unknown_version("AlterShareGroupOffsetsResponse", version, 0, 0)
        try:
            message, end = _read_alter_share_group_offsets_response(data, position, version)
        except (IndexError, ValueError) as error:
            raise malformed("AlterShareGroupOffsetsResponse", version, error) from None
        return message, end

    def encode(self, version: int) -> bytes:
        if version < 0 or version > 0:
            raise unsupported_version("AlterShareGroupOffsetsResponse", version, 0, 0)
        writer = BytesWriter()
        _write_alter_share_group_offsets_response(writer, self, version)
        return writer.getvalue()

    def encode_parts(self, writer_prefix: bytes, version: int) -> list[Part]:
        if version < 0 or version > 0:
            raise unsupported_version("AlterShareGroupOffsetsResponse", version, 0, 0)
        writer = BytesWriter()
        writer.write(writer_prefix)
        _write_alter_share_group_offsets_response(writer, self, version)
        return [writer.getvalue()]


def _read_alter_share_group_offsets_response(data: bytes, position: i64, version: i64) -> tuple[AlterShareGroupOffsetsResponse, i64]:
    error_message: str | None
    responses: list[AlterShareGroupOffsetsResponseTopic]
    throttle_time_ms = read_i32_be(data, position)
    error_code = read_i16_be(data, position + 4)
    position += 6
    error_message, position = read_compact_nullable_string(data, position)
    count, position = read_compact_count(data, position, 19)
    responses = []
    for nth in range(count):
        responses_item, position = _read_alter_share_group_offsets_response_topic(data, position, version)
        responses.append(responses_item)
        if nth & LONG_RUN == LONG_RUN:
            give_way()
    position = skip_tags(data, position) if data[position] else position + 1
    return AlterShareGroupOffsetsResponse(throttle_time_ms, error_code, error_message, responses), position


def _write_alter_share_group_offsets_response(writer: BytesWriter, message: AlterShareGroupOffsetsResponse, version: i64) -> None:
    write_i32_be(writer, message.throttle_time_ms)
    write_i16_be(writer, message.error_code)
    write_compact_nullable_string(writer, message.error_message)
    responses = message.responses
    write_uvarint(writer, len(responses) + 1)
    for nth, responses_item in enumerate(responses):
        _write_alter_share_group_offsets_response_topic(writer, responses_item, version)
        if nth & LONG_RUN == LONG_RUN:
            give_way()
    writer.append(0)
