"""DeleteShareGroupState (API key 86). Generated from schema/delete_share_group_state.txt: do not edit."""

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
    __slots__ = ("partition",)
    FIELDS: ClassVar[tuple[str, ...]] = ("partition",)

    def __init__(self, partition: int = 0) -> None:
        self.partition = partition


def _read_partition_data(data: bytes, position: i64, version: i64) -> tuple[PartitionData, i64]:
    partition = read_i32_be(data, position)
    position += 4
    position = skip_tags(data, position) if data[position] else position + 1
    return PartitionData(partition), position


def _write_partition_data(writer: BytesWriter, message: PartitionData, version: i64) -> None:
    write_i32_be(writer, message.partition)
    writer.append(0)


class DeleteStateData(Struct):
    __slots__ = ("topic_id", "partitions")
    FIELDS: ClassVar[tuple[str, ...]] = ("topic_id", "partitions")

    def __init__(self, topic_id: bytes = NO_UUID, partitions: list[PartitionData] = NO_ITEMS) -> None:
        self.topic_id = topic_id
        self.partitions = [] if partitions is NO_ITEMS else partitions


def _read_delete_state_data(data: bytes, position: i64, version: i64) -> tuple[DeleteStateData, i64]:
    partitions: list[PartitionData]
    topic_id = read_uuid(data, position)
    position += 16
    count, position = read_compact_count(data, position, 5)
    partitions = []
    for nth in range(count):
        partitions_item, position = _read_partition_data(data, position, version)
        partitions.append(partitions_item)
        if nth & LONG_RUN == LONG_RUN:
            give_way()
    position = skip_tags(data, position) if data[position] else position + 1
    return DeleteStateData(topic_id, partitions), position


def _write_delete_state_data(writer: BytesWriter, message: DeleteStateData, version: i64) -> None:
    write_uuid(writer, message.topic_id)
    partitions = message.partitions
    write_uvarint(writer, len(partitions) + 1)
    for nth, partitions_item in enumerate(partitions):
        _write_partition_data(writer, partitions_item, version)
        if nth & LONG_RUN == LONG_RUN:
            give_way()
    writer.append(0)


class PartitionResult(Struct):
    __slots__ = ("partition", "error_code", "error_message")
    FIELDS: ClassVar[tuple[str, ...]] = ("partition", "error_code", "error_message")

    def __init__(self, partition: int = 0, error_code: int = 0, error_message: str | None = None) -> None:
        self.partition = partition
        self.error_code = error_code
        self.error_message = error_message


def _read_partition_result(data: bytes, position: i64, version: i64) -> tuple[PartitionResult, i64]:
    error_message: str | None
    partition = read_i32_be(data, position)
    error_code = read_i16_be(data, position + 4)
    position += 6
    error_message, position = read_compact_nullable_string(data, position)
    position = skip_tags(data, position) if data[position] else position + 1
    return PartitionResult(partition, error_code, error_message), position


def _write_partition_result(writer: BytesWriter, message: PartitionResult, version: i64) -> None:
    write_i32_be(writer, message.partition)
    write_i16_be(writer, message.error_code)
    write_compact_nullable_string(writer, message.error_message)
    writer.append(0)


class DeleteStateResult(Struct):
    __slots__ = ("topic_id", "partitions")
    FIELDS: ClassVar[tuple[str, ...]] = ("topic_id", "partitions")

    def __init__(self, topic_id: bytes = NO_UUID, partitions: list[PartitionResult] = NO_ITEMS) -> None:
        self.topic_id = topic_id
        self.partitions = [] if partitions is NO_ITEMS else partitions


def _read_delete_state_result(data: bytes, position: i64, version: i64) -> tuple[DeleteStateResult, i64]:
    partitions: list[PartitionResult]
    topic_id = read_uuid(data, position)
    position += 16
    count, position = read_compact_count(data, position, 8)
    partitions = []
    for nth in range(count):
        partitions_item, position = _read_partition_result(data, position, version)
        partitions.append(partitions_item)
        if nth & LONG_RUN == LONG_RUN:
            give_way()
    position = skip_tags(data, position) if data[position] else position + 1
    return DeleteStateResult(topic_id, partitions), position


def _write_delete_state_result(writer: BytesWriter, message: DeleteStateResult, version: i64) -> None:
    write_uuid(writer, message.topic_id)
    partitions = message.partitions
    write_uvarint(writer, len(partitions) + 1)
    for nth, partitions_item in enumerate(partitions):
        _write_partition_result(writer, partitions_item, version)
        if nth & LONG_RUN == LONG_RUN:
            give_way()
    writer.append(0)


class DeleteShareGroupStateRequest(Message):
    """API key 86, version 0."""

    __slots__ = ("group_id", "topics")
    FIELDS: ClassVar[tuple[str, ...]] = ("group_id", "topics")
    API_KEY: ClassVar[int] = 86
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FIRST_FLEXIBLE: ClassVar[int] = 0

    def __init__(self, group_id: str = "", topics: list[DeleteStateData] = NO_ITEMS) -> None:
        self.group_id = group_id
        self.topics = [] if topics is NO_ITEMS else topics

    @classmethod
    def decode(cls, data: bytes, position: int, version: int) -> tuple[DeleteShareGroupStateRequest, int]:
        if version < 0 or version > 0:
            raise unknown_version("DeleteShareGroupStateRequest", version, 0, 0)
        try:
            message, end = _read_delete_share_group_state_request(data, position, version)
        except (IndexError, ValueError) as error:
            raise malformed("DeleteShareGroupStateRequest", version, error) from None
        return message, end

    def encode(self, version: int) -> bytes:
        if version < 0 or version > 0:
            raise unsupported_version("DeleteShareGroupStateRequest", version, 0, 0)
        writer = BytesWriter()
        _write_delete_share_group_state_request(writer, self, version)
        return writer.getvalue()

    def encode_parts(self, writer_prefix: bytes, version: int) -> list[Part]:
        if version < 0 or version > 0:
            raise unsupported_version("DeleteShareGroupStateRequest", version, 0, 0)
        writer = BytesWriter()
        writer.write(writer_prefix)
        _write_delete_share_group_state_request(writer, self, version)
        return [writer.getvalue()]


def _read_delete_share_group_state_request(data: bytes, position: i64, version: i64) -> tuple[DeleteShareGroupStateRequest, i64]:
    topics: list[DeleteStateData]
    group_id, position = read_compact_string(data, position)
    count, position = read_compact_count(data, position, 18)
    topics = []
    for nth in range(count):
        topics_item, position = _read_delete_state_data(data, position, version)
        topics.append(topics_item)
        if nth & LONG_RUN == LONG_RUN:
            give_way()
    position = skip_tags(data, position) if data[position] else position + 1
    return DeleteShareGroupStateRequest(group_id, topics), position


def _write_delete_share_group_state_request(writer: BytesWriter, message: DeleteShareGroupStateRequest, version: i64) -> None:
    write_compact_string(writer, message.group_id)
    topics = message.topics
    write_uvarint(writer, len(topics) + 1)
    for nth, topics_item in enumerate(topics):
        _write_delete_state_data(writer, topics_item, version)
        if nth & LONG_RUN == LONG_RUN:
            give_way()
    writer.append(0)


class DeleteShareGroupStateResponse(Message):
    """API key 86, version 0."""

    __slots__ = ("results",)
    FIELDS: ClassVar[tuple[str, ...]] = ("results",)
    API_KEY: ClassVar[int] = 86
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FIRST_FLEXIBLE: ClassVar[int] = 0

    def __init__(self, results: list[DeleteStateResult] = NO_ITEMS) -> None:
        self.results = [] if results is NO_ITEMS else results

    @classmethod
    def decode(cls, data: bytes, position: int, version: int) -> tuple[DeleteShareGroupStateResponse, int]:
        if version < 0 or version > 0:
            raise unknown_version("DeleteShareGroupStateResponse", version, 0, 0)
        try:
            message, end = _read_delete_share_group_state_response(data, position, version)
        except (IndexError, ValueError) as error:
            raise malformed("DeleteShareGroupStateResponse", version, error) from None
        return message, end

    def encode(self, version: int) -> bytes:
        if version < 0 or version > 0:
            raise unsupported_version("DeleteShareGroupStateResponse", version, 0, 0)
        writer = BytesWriter()
        _write_delete_share_group_state_response(writer, self, version)
        return writer.getvalue()

    def encode_parts(self, writer_prefix: bytes, version: int) -> list[Part]:
        if version < 0 or version > 0:
            raise unsupported_version("DeleteShareGroupStateResponse", version, 0, 0)
        writer = BytesWriter()
        writer.write(writer_prefix)
        _write_delete_share_group_state_response(writer, self, version)
        return [writer.getvalue()]


def _read_delete_share_group_state_response(data: bytes, position: i64, version: i64) -> tuple[DeleteShareGroupStateResponse, i64]:
    results: list[DeleteStateResult]
    count, position = read_compact_count(data, position, 18)
    results = []
    for nth in range(count):
        results_item, position = _read_delete_state_result(data, position, version)
        results.append(results_item)
        if nth & LONG_RUN == LONG_RUN:
            give_way()
    position = skip_tags(data, position) if data[position] else position + 1
    return DeleteShareGroupStateResponse(results), position


def _write_delete_share_group_state_response(writer: BytesWriter, message: DeleteShareGroupStateResponse, version: i64) -> None:
    results = message.results
    write_uvarint(writer, len(results) + 1)
    for nth, results_item in enumerate(results):
        _write_delete_state_result(writer, results_item, version)
        if nth & LONG_RUN == LONG_RUN:
            give_way()
    writer.append(0)
