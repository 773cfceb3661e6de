"""OffsetDelete (API key 47). Generated from schema/offset_delete.txt: do not edit."""

# fmt: off
from __future__ import annotations

from typing import ClassVar

from librt.strings import BytesWriter, read_i16_be, read_i32_be, write_i16_be, write_i32_be
from mypy_extensions import i64

from moldau.protocol.file_region import Part
from moldau.protocol.giving_way import give_way
from moldau.protocol.message import NO_ITEMS, Message, Struct
from moldau.protocol.reading import LONG_RUN, malformed, read_count, read_string, unknown_version
from moldau.protocol.writing import unsupported_version, write_string


class OffsetDeleteRequestPartition(Struct):
    __slots__ = ("partition_index",)
    FIELDS: ClassVar[tuple[str, ...]] = ("partition_index",)

    def __init__(self, partition_index: int = 0) -> None:
        self.partition_index = partition_index


def _read_offset_delete_request_partition(data: bytes, position: i64, version: i64) -> tuple[OffsetDeleteRequestPartition, i64]:
    partition_index = read_i32_be(data, position)
    position += 4
    return OffsetDeleteRequestPartition(partition_index), position


def _write_offset_delete_request_partition(writer: BytesWriter, message: OffsetDeleteRequestPartition, version: i64) -> None:
    write_i32_be(writer, message.partition_index)


class OffsetDeleteRequestTopic(Struct):
    __slots__ = ("name", "partitions")
    FIELDS: ClassVar[tuple[str, ...]] = ("name", "partitions")

    def __init__(self, name: str = "", partitions: list[OffsetDeleteRequestPartition] = NO_ITEMS) -> None:
        self.name = name
        self.partitions = [] if partitions is NO_ITEMS else partitions


def _read_offset_delete_request_topic(data: bytes, position: i64, version: i64) -> tuple[OffsetDeleteRequestTopic, i64]:
    partitions: list[OffsetDeleteRequestPartition]
    name, position = read_string(data, position)
    count, position = read_count(data, position, 4)
    partitions = []
    for nth in range(count):
        partitions_item, position = _read_offset_delete_request_partition(data, position, version)
        partitions.append(partitions_item)
        if nth & LONG_RUN == LONG_RUN:
            give_way()
    return OffsetDeleteRequestTopic(name, partitions), position


def _write_offset_delete_request_topic(writer: BytesWriter, message: OffsetDeleteRequestTopic, version: i64) -> None:
    write_string(writer, message.name)
    partitions = message.partitions
    write_i32_be(writer, len(partitions))
    for nth, partitions_item in enumerate(partitions):
        _write_offset_delete_request_partition(writer, partitions_item, version)
        if nth & LONG_RUN == LONG_RUN:
            give_way()


class OffsetDeleteResponsePartition(Struct):
    __slots__ = ("partition_index", "error_code")
    FIELDS: ClassVar[tuple[str, ...]] = ("partition_index", "error_code")

    def __init__(self, partition_index: int = 0, error_code: int = 0) -> None:
        self.partition_index = partition_index
        self.error_code = error_code


def _read_offset_delete_response_partition(data: bytes, position: i64, version: i64) -> tuple[OffsetDeleteResponsePartition, i64]:
    partition_index = read_i32_be(data, position)
    error_code = read_i16_be(data, position + 4)
    position += 6
    return OffsetDeleteResponsePartition(partition_index, error_code), position


def _write_offset_delete_response_partition(writer: BytesWriter, message: OffsetDeleteResponsePartition, version: i64) -> None:
    write_i32_be(writer, message.partition_index)
    write_i16_be(writer, message.error_code)


class OffsetDeleteResponseTopic(Struct):
    __slots__ = ("name", "partitions")
    FIELDS: ClassVar[tuple[str, ...]] = ("name", "partitions")

    def __init__(self, name: str = "", partitions: list[OffsetDeleteResponsePartition] = NO_ITEMS) -> None:
        self.name = name
        self.partitions = [] if partitions is NO_ITEMS else partitions


def _read_offset_delete_response_topic(data: bytes, position: i64, version: i64) -> tuple[OffsetDeleteResponseTopic, i64]:
    partitions: list[OffsetDeleteResponsePartition]
    name, position = read_string(data, position)
    count, position = read_count(data, position, 6)
    partitions = []
    for nth in range(count):
        partitions_item, position = _read_offset_delete_response_partition(data, position, version)
        partitions.append(partitions_item)
        if nth & LONG_RUN == LONG_RUN:
            give_way()
    return OffsetDeleteResponseTopic(name, partitions), position


def _write_offset_delete_response_topic(writer: BytesWriter, message: OffsetDeleteResponseTopic, version: i64) -> None:
    write_string(writer, message.name)
    partitions = message.partitions
    write_i32_be(writer, len(partitions))
    for nth, partitions_item in enumerate(partitions):
        _write_offset_delete_response_partition(writer, partitions_item, version)
        if nth & LONG_RUN == LONG_RUN:
            give_way()


class OffsetDeleteRequest(Message):
    """API key 47, version 0."""

    __slots__ = ("group_id", "topics")
    FIELDS: ClassVar[tuple[str, ...]] = ("group_id", "topics")
    API_KEY: ClassVar[int] = 47
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FIRST_FLEXIBLE: ClassVar[int] = -1

    def __init__(self, group_id: str = "", topics: list[OffsetDeleteRequestTopic] = NO_ITEMS) -> None:
        self.group_id = group_id
        self.topics = [] if topics is NO_ITEMS else topics

    @classmethod
    def decode(cls, data: bytes, position: int, version: int) -> tuple[OffsetDeleteRequest, int]:
        if version < 0 or version > 0:
            raise unknown_version("OffsetDeleteRequest", version, 0, 0)
        try:
            message, end = _read_offset_delete_request(data, position, version)
        except (IndexError, ValueError) as error:
            raise malformed("OffsetDeleteRequest", version, error) from None
        return message, end

    def encode(self, version: int) -> bytes:
        if version < 0 or version > 0:
            raise unsupported_version("OffsetDeleteRequest", version, 0, 0)
        writer = BytesWriter()
        _write_offset_delete_request(writer, self, version)
        return writer.getvalue()

    def encode_parts(self, writer_prefix: bytes, version: int) -> list[Part]:
        if version < 0 or version > 0:
            raise unsupported_version("OffsetDeleteRequest", version, 0, 0)
        writer = BytesWriter()
        writer.write(writer_prefix)
        _write_offset_delete_request(writer, self, version)
        return [writer.getvalue()]


def _read_offset_delete_request(data: bytes, position: i64, version: i64) -> tuple[OffsetDeleteRequest, i64]:
    topics: list[OffsetDeleteRequestTopic]
    group_id, position = read_string(data, position)
    count, position = read_count(data, position, 6)
    topics = []
    for nth in range(count):
        topics_item, position = _read_offset_delete_request_topic(data, position, version)
        topics.append(topics_item)
        if nth & LONG_RUN == LONG_RUN:
            give_way()
    return OffsetDeleteRequest(group_id, topics), position


def _write_offset_delete_request(writer: BytesWriter, message: OffsetDeleteRequest, version: i64) -> None:
    write_string(writer, message.group_id)
    topics = message.topics
    write_i32_be(writer, len(topics))
    for nth, topics_item in enumerate(topics):
        _write_offset_delete_request_topic(writer, topics_item, version)
        if nth & LONG_RUN == LONG_RUN:
            give_way()


class OffsetDeleteResponse(Message):
    """API key 47, version 0."""

    __slots__ = ("error_code", "throttle_time_ms", "topics")
    FIELDS: ClassVar[tuple[str, ...]] = ("error_code", "throttle_time_ms", "topics")
    API_KEY: ClassVar[int] = 47
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FIRST_FLEXIBLE: ClassVar[int] = -1

    def __init__(self, error_code: int = 0, throttle_time_ms: int = 0, topics: list[OffsetDeleteResponseTopic] = NO_ITEMS) -> None:
        self.error_code = error_code
        self.throttle_time_ms = throttle_time_ms
        self.topics = [] if topics is NO_ITEMS else topics

    @classmethod
    def decode(cls, data: bytes, position: int, version: int) -> tuple[OffsetDeleteResponse, int]:
        if version < 0 or version > 0:
            raise unknown_version("OffsetDeleteResponse", version, 0, 0)
        try:
            message, end = _read_offset_delete_response(data, position, version)
        except (IndexError, ValueError) as error:
            raise malformed("OffsetDeleteResponse", version, error) from None
        return message, end

    def encode(self, version: int) -> bytes:
        if version < 0 or version > 0:
            raise unsupported_version("OffsetDeleteResponse", version, 0, 0)
        writer = BytesWriter()
        _write_offset_delete_response(writer, self, version)
        return writer.getvalue()

    def encode_parts(self, writer_prefix: bytes, version: int) -> list[Part]:
        if version < 0 or version > 0:
            raise unsupported_version("OffsetDeleteResponse", version, 0, 0)
        writer = BytesWriter()
        writer.write(writer_prefix)
        _write_offset_delete_response(writer, self, version)
        return [writer.getvalue()]


def _read_offset_delete_response(data: bytes, position: i64, version: i64) -> tuple[OffsetDeleteResponse, i64]:
    topics: list[OffsetDeleteResponseTopic]
    error_code = read_i16_be(data, position)
    throttle_time_ms = read_i32_be(data, position + 2)
    position += 6
    count, position = read_count(data, position, 6)
    topics = []
    for nth in range(count):
        topics_item, position = _read_offset_delete_response_topic(data, position, version)
        topics.append(topics_item)
        if nth & LONG_RUN == LONG_RUN:
            give_way()
    return OffsetDeleteResponse(error_code, throttle_time_ms, topics), position


def _write_offset_delete_response(writer: BytesWriter, message: OffsetDeleteResponse, version: i64) -> None:
    write_i16_be(writer, message.error_code)
    write_i32_be(writer, message.throttle_time_ms)
    topics = message.topics
    write_i32_be(writer, len(topics))
    for nth, topics_item in enumerate(topics):
        _write_offset_delete_response_topic(writer, topics_item, version)
        if nth & LONG_RUN == LONG_RUN:
            give_way()
