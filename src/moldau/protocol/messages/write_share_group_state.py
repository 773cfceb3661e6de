"""WriteShareGroupState (API key 85). Generated from schema/write_share_group_state.txt: do not edit."""

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
    read_i8,
    read_uuid,
    skip_tags,
    unknown_version,
)
from moldau.protocol.writing import (
    unsupported_version,
    write_compact_nullable_string,
    write_compact_string,
    write_i8,
    write_uuid,
    write_uvarint,
)


class StateBatch(Struct):
    __slots__ = ("first_offset", "last_offset", "delivery_state", "delivery_count")
    FIELDS: ClassVar[tuple[str, ...]] = ("first_offset", "last_offset", "delivery_state", "delivery_count")

    def __init__(self, first_offset: int = 0, last_offset: int = 0, delivery_state: int = 0, delivery_count: int = 0) -> None:
        self.first_offset = first_offset
        self.last_offset = last_offset
        self.delivery_state = delivery_state
        self.delivery_count = delivery_count


def _read_state_batch(data: bytes, position: i64, version: i64) -> tuple[StateBatch, i64]:
    first_offset = read_i64_be(data, position)
    last_offset = read_i64_be(data, position + 8)
    delivery_state = read_i8(data, position + 16)
    delivery_count = read_i16_be(data, position + 17)
    position += 19
    position = skip_tags(data, position) if data[position] else position + 1
    return StateBatch(first_offset, last_offset, delivery_state, delivery_count), position


def _write_state_batch(writer: BytesWriter, message: StateBatch, version: i64) -> None:
    write_i64_be(writer, message.first_offset)
    write_i64_be(writer, message.last_offset)
    write_i8(writer, message.delivery_state)
    write_i16_be(writer, message.delivery_count)
    writer.append(0)


class PartitionData(Struct):
    __slots__ = ("partition", "state_epoch", "leader_epoch", "start_offset", "delivery_complete_count", "state_batches")
    FIELDS: ClassVar[tuple[str, ...]] = ("partition", "state_epoch", "leader_epoch", "start_offset", "delivery_complete_count", "state_batches")

    def __init__(self, partition: int = 0, state_epoch: int = 0, leader_epoch: int = 0, start_offset: int = 0, delivery_complete_count: int = -1, state_batches: list[StateBatch] = NO_ITEMS) -> None:
        self.partition = partition
        self.state_epoch = state_epoch
        self.leader_epoch = leader_epoch
        self.start_offset = start_offset
        self.delivery_complete_count = delivery_complete_count
        self.state_batches = [] if state_batches is NO_ITEMS else state_batches


def _read_partition_data(data: bytes, position: i64, version: i64) -> tuple[PartitionData, i64]:
    delivery_complete_count: int
    state_batches: list[StateBatch]
    partition = read_i32_be(data, position)
    state_epoch = read_i32_be(data, position + 4)
    leader_epoch = read_i32_be(data, position + 8)
    start_offset = read_i64_be(data, position + 12)
    position += 20
    if version >= 1:
        delivery_complete_count = read_i32_be(data, position)
        position += 4
    else:
        delivery_complete_count = -1
    count, position = read_compact_count(data, position, 20)
    state_batches = []
    for nth in range(count):
        state_batches_item, position = _read_state_batch(data, position, version)
        state_batches.append(state_batches_item)
        if nth & LONG_RUN == LONG_RUN:
            give_way()
    position = skip_tags(data, position) if data[position] else position + 1
    return PartitionData(partition, state_epoch, leader_epoch, start_offset, delivery_complete_count, state_batches), position


def _write_partition_data(writer: BytesWriter, message: PartitionData, version: i64) -> None:
    write_i32_be(writer, message.partition)
    write_i32_be(writer, message.state_epoch)
    write_i32_be(writer, message.leader_epoch)
    write_i64_be(writer, message.start_offset)
    if version >= 1:
        write_i32_be(writer, message.delivery_complete_count)
    state_batches = message.state_batches
    write_uvarint(writer, len(state_batches) + 1)
    for nth, state_batches_item in enumerate(state_batches):
        _write_state_batch(writer, state_batches_item, version)
        if nth & LONG_RUN == LONG_RUN:
            give_way()
    writer.append(0)


class WriteStateData(Struct):
    __slots__ = ("topic_id", "partitions")
    FIELDS: ClassVar[tuple[str, ...]] = ("topic_id", "partitions")

    def __init__(self, topic_id: bytes = NO_UUID, partitions: list[PartitionData] = NO_ITEMS) -> None:
        self.topic_id = topic_id
        self.partitions = [] if partitions is NO_ITEMS else partitions


def _read_write_state_data(data: bytes, position: i64, version: i64) -> tuple[WriteStateData, i64]:
    partitions: list[PartitionData]
    topic_id = read_uuid(data, position)
    position += 16
    count, position = read_compact_count(data, position, 22)
    partitions = []
    for nth in range(count):
        partitions_item, position = _read_partition_data(data, position, version)
        partitions.append(partitions_item)
        if nth & LONG_RUN == LONG_RUN:
            give_way()
    position = skip_tags(data, position) if data[position] else position + 1
    return WriteStateData(topic_id, partitions), position


def _write_write_state_data(writer: BytesWriter, message: WriteStateData, version: i64) -> None:
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


class WriteStateResult(Struct):
    __slots__ = ("topic_id", "partitions")
    FIELDS: ClassVar[tuple[str, ...]] = ("topic_id", "partitions")

    def __init__(self, topic_id: bytes = NO_UUID, partitions: list[PartitionResult] = NO_ITEMS) -> None:
        self.topic_id = topic_id
        self.partitions = [] if partitions is NO_ITEMS else partitions


def _read_write_state_result(data: bytes, position: i64, version: i64) -> tuple[WriteStateResult, i64]:
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
    return WriteStateResult(topic_id, partitions), position


def _write_write_state_result(writer: BytesWriter, message: WriteStateResult, version: i64) -> None:
    write_uuid(writer, message.topic_id)
    partitions = message.partitions
    write_uvarint(writer, len(partitions) + 1)
    for nth, partitions_item in enumerate(partitions):
        _write_partition_result(writer, partitions_item, version)
        if nth & LONG_RUN == LONG_RUN:
            give_way()
    writer.append(0)


class WriteShareGroupStateRequest(Message):
    """API key 85, versions 0 to 1."""

    __slots__ = ("group_id", "topics")
    FIELDS: ClassVar[tuple[str, ...]] = ("group_id", "topics")
    API_KEY: ClassVar[int] = 85
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 1
    FIRST_FLEXIBLE: ClassVar[int] = 0

    def __init__(self, group_id: str = "", topics: list[WriteStateData] = NO_ITEMS) -> None:
        self.group_id = group_id
        self.topics = [] if topics is NO_ITEMS else topics

    @classmethod
    def decode(cls, data: bytes, position: int, version: int) -> tuple[WriteShareGroupStateRequest, int]:
        if version < 0 or version > 1:
            raise unknown_version("WriteShareGroupStateRequest", version, 0, 1)
        try:
            message, end = _read_write_share_group_state_request(data, position, version)
        except (IndexError, ValueError) as error:
            raise malformed("WriteShareGroupStateRequest", version, error) from None
        return message, end

    def encode(self, version: int) -> bytes:
        if version < 0 or version > 1:
            raise unsupported_version("WriteShareGroupStateRequest", version, 0, 1)
        writer = BytesWriter()
        _write_write_share_group_state_request(writer, self, version)
        return writer.getvalue()

    def encode_parts(self, writer_prefix: bytes, version: int) -> list[Part]:
        if version < 0 or version > 1:
            raise unsupported_version("WriteShareGroupStateRequest", version, 0, 1)
        writer = BytesWriter()
        writer.write(writer_prefix)
        _write_write_share_group_state_request(writer, self, version)
        return [writer.getvalue()]


def _read_write_share_group_state_request(data: bytes, position: i64, version: i64) -> tuple[WriteShareGroupStateRequest, i64]:
    topics: list[WriteStateData]
    group_id, position = read_compact_string(data, position)
    count, position = read_compact_count(data, position, 18)
    topics = []
    for nth in range(count):
        topics_item, position = _read_write_state_data(data, position, version)
        topics.append(topics_item)
        if nth & LONG_RUN == LONG_RUN:
            give_way()
    position = skip_tags(data, position) if data[position] else position + 1
    return WriteShareGroupStateRequest(group_id, topics), position


def _write_write_share_group_state_request(writer: BytesWriter, message: WriteShareGroupStateRequest, version: i64) -> None:
    write_compact_string(writer, message.group_id)
    topics = message.topics
    write_uvarint(writer, len(topics) + 1)
    for nth, topics_item in enumerate(topics):
        _write_write_state_data(writer, topics_item, version)
        if nth & LONG_RUN == LONG_RUN:
            give_way()
    writer.append(0)


class WriteShareGroupStateResponse(Message):
    """API key 85, versions 0 to 1."""

    __slots__ = ("results",)
    FIELDS: ClassVar[tuple[str, ...]] = ("results",)
    API_KEY: ClassVar[int] = 85
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 1
    FIRST_FLEXIBLE: ClassVar[int] = 0

    def __init__(self, results: list[WriteStateResult] = NO_ITEMS) -> None:
        self.results = [] if results is NO_ITEMS else results

    @classmethod
    def decode(cls, data: bytes, position: int, version: int) -> tuple[WriteShareGroupStateResponse, int]:
        if version < 0 or version > 1:
            raise unknown_version("WriteShareGroupStateResponse", version, 0, 1)
        try:
            message, end = _read_write_share_group_state_response(data, position, version)
        except (IndexError, ValueError) as error:
            raise malformed("WriteShareGroupStateResponse", version, error) from None
        return message, end

    def encode(self, version: int) -> bytes:
        if version < 0 or version > 1:
            raise unsupported_version("WriteShareGroupStateResponse", version, 0, 1)
        writer = BytesWriter()
        _write_write_share_group_state_response(writer, self, version)
        return writer.getvalue()

    def encode_parts(self, writer_prefix: bytes, version: int) -> list[Part]:
        if version < 0 or version > 1:
            raise unsupported_version("WriteShareGroupStateResponse", version, 0, 1)
        writer = BytesWriter()
        writer.write(writer_prefix)
        _write_write_share_group_state_response(writer, self, version)
        return [writer.getvalue()]


def _read_write_share_group_state_response(data: bytes, position: i64, version: i64) -> tuple[WriteShareGroupStateResponse, i64]:
    results: list[WriteStateResult]
    count, position = read_compact_count(data, position, 18)
    results = []
    for nth in range(count):
        results_item, position = _read_write_state_result(data, position, version)
        results.append(results_item)
        if nth & LONG_RUN == LONG_RUN:
            give_way()
    position = skip_tags(data, position) if data[position] else position + 1
    return WriteShareGroupStateResponse(results), position


def _write_write_share_group_state_response(writer: BytesWriter, message: WriteShareGroupStateResponse, version: i64) -> None:
    results = message.results
    write_uvarint(writer, len(results) + 1)
    for nth, results_item in enumerate(results):
        _write_write_state_result(writer, results_item, version)
        if nth & LONG_RUN == LONG_RUN:
            give_way()
    writer.append(0)
