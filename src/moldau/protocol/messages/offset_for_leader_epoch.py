"""OffsetForLeaderEpoch (API key 23). Generated from schema/offset_for_leader_epoch.txt: do not edit."""

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


class OffsetForLeaderPartition(Struct):
    __slots__ = ("partition", "current_leader_epoch", "leader_epoch")
    FIELDS: ClassVar[tuple[str, ...]] = ("partition", "current_leader_epoch", "leader_epoch")

    def __init__(self, partition: int = 0, current_leader_epoch: int = -1, leader_epoch: int = 0) -> None:
        self.partition = partition
        self.current_leader_epoch = current_leader_epoch
        self.leader_epoch = leader_epoch


def _read_offset_for_leader_partition(data: bytes, position: i64, version: i64) -> tuple[OffsetForLeaderPartition, i64]:
    partition = read_i32_be(data, position)
    current_leader_epoch = read_i32_be(data, position + 4)
    leader_epoch = read_i32_be(data, position + 8)
    position += 12
    if version >= 4:
        position = skip_tags(data, position) if data[position] else position + 1
    return OffsetForLeaderPartition(partition, current_leader_epoch, leader_epoch), position


def _write_offset_for_leader_partition(writer: BytesWriter, message: OffsetForLeaderPartition, version: i64) -> None:
    write_i32_be(writer, message.partition)
    write_i32_be(writer, message.current_leader_epoch)
    write_i32_be(writer, message.leader_epoch)
    if version >= 4:
        writer.append(0)


class OffsetForLeaderTopic(Struct):
    __slots__ = ("topic", "partitions")
    FIELDS: ClassVar[tuple[str, ...]] = ("topic", "partitions")

    def __init__(self, topic: str = "", partitions: list[OffsetForLeaderPartition] = NO_ITEMS) -> None:
        self.topic = topic
        self.partitions = [] if partitions is NO_ITEMS else partitions


def _read_offset_for_leader_topic(data: bytes, position: i64, version: i64) -> tuple[OffsetForLeaderTopic, i64]:
    topic: str
    partitions: list[OffsetForLeaderPartition]
    if version >= 4:
        topic, position = read_compact_string(data, position)
        count, position = read_compact_count(data, position, 13)
        partitions = []
        for nth in range(count):
            partitions_item, position = _read_offset_for_leader_partition(data, position, version)
            partitions.append(partitions_item)
            if nth & LONG_RUN == LONG_RUN:
                give_way()
    else:
        topic, position = read_string(data, position)
        count, position = read_count(data, position, 12)
        partitions = []
        for nth in range(count):
            partitions_item, position = _read_offset_for_leader_partition(data, position, version)
            partitions.append(partitions_item)
            if nth & LONG_RUN == LONG_RUN:
                give_way()
    if version >= 4:
        position = skip_tags(data, position) if data[position] else position + 1
    return OffsetForLeaderTopic(topic, partitions), position


def _write_offset_for_leader_topic(writer: BytesWriter, message: OffsetForLeaderTopic, version: i64) -> None:
    if version >= 4:
        write_compact_string(writer, message.topic)
        partitions = message.partitions
        write_uvarint(writer, len(partitions) + 1)
        for nth, partitions_item in enumerate(partitions):
            _write_offset_for_leader_partition(writer, partitions_item, version)
            if nth & LONG_RUN == LONG_RUN:
                give_way()
    else:
        write_string(writer, message.topic)
        partitions = message.partitions
        write_i32_be(writer, len(partitions))
        for nth, partitions_item in enumerate(partitions):
            _write_offset_for_leader_partition(writer, partitions_item, version)
            if nth & LONG_RUN == LONG_RUN:
                give_way()
    if version >= 4:
        writer.append(0)


class EpochEndOffset(Struct):
    __slots__ = ("error_code", "partition", "leader_epoch", "end_offset")
    FIELDS: ClassVar[tuple[str, ...]] = ("error_code", "partition", "leader_epoch", "end_offset")

    def __init__(self, error_code: int = 0, partition: int = 0, leader_epoch: int = -1, end_offset: int = -1) -> None:
        self.error_code = error_code
        self.partition = partition
        self.leader_epoch = leader_epoch
        self.end_offset = end_offset


def _read_epoch_end_offset(data: bytes, position: i64, version: i64) -> tuple[EpochEndOffset, i64]:
    error_code = read_i16_be(data, position)
    partition = read_i32_be(data, position + 2)
    leader_epoch = read_i32_be(data, position + 6)
    end_offset = read_i64_be(data, position + 10)
    position += 18
    if version >= 4:
        position = skip_tags(data, position) if data[position] else position + 1
    return EpochEndOffset(error_code, partition, leader_epoch, end_offset), position


def _write_epoch_end_offset(writer: BytesWriter, message: EpochEndOffset, version: i64) -> None:
    write_i16_be(writer, message.error_code)
    write_i32_be(writer, message.partition)
    write_i32_be(writer, message.leader_epoch)
    write_i64_be(writer, message.end_offset)
    if version >= 4:
        writer.append(0)


class OffsetForLeaderTopicResult(Struct):
    __slots__ = ("topic", "partitions")
    FIELDS: ClassVar[tuple[str, ...]] = ("topic", "partitions")

    def __init__(self, topic: str = "", partitions: list[EpochEndOffset] = NO_ITEMS) -> None:
        self.topic = topic
        self.partitions = [] if partitions is NO_ITEMS else partitions


def _read_offset_for_leader_topic_result(data: bytes, position: i64, version: i64) -> tuple[OffsetForLeaderTopicResult, i64]:
    topic: str
    partitions: list[EpochEndOffset]
    if version >= 4:
        topic, position = read_compact_string(data, position)
        count, position = read_compact_count(data, position, 19)
        partitions = []
        for nth in range(count):
            partitions_item, position = _read_epoch_end_offset(data, position, version)
            partitions.append(partitions_item)
            if nth & LONG_RUN == LONG_RUN:
                give_way()
    else:
        topic, position = read_string(data, position)
        count, position = read_count(data, position, 18)
        partitions = []
        for nth in range(count):
            partitions_item, position = _read_epoch_end_offset(data, position, version)
            partitions.append(partitions_item)
            if nth & LONG_RUN == LONG_RUN:
                give_way()
    if version >= 4:
        position = skip_tags(data, position) if data[position] else position + 1
    return OffsetForLeaderTopicResult(topic, partitions), position


def _write_offset_for_leader_topic_result(writer: BytesWriter, message: OffsetForLeaderTopicResult, version: i64) -> None:
    if version >= 4:
        write_compact_string(writer, message.topic)
        partitions = message.partitions
        write_uvarint(writer, len(partitions) + 1)
        for nth, partitions_item in enumerate(partitions):
            _write_epoch_end_offset(writer, partitions_item, version)
            if nth & LONG_RUN == LONG_RUN:
                give_way()
    else:
        write_string(writer, message.topic)
        partitions = message.partitions
        write_i32_be(writer, len(partitions))
        for nth, partitions_item in enumerate(partitions):
            _write_epoch_end_offset(writer, partitions_item, version)
            if nth & LONG_RUN == LONG_RUN:
                give_way()
    if version >= 4:
        writer.append(0)


class OffsetForLeaderEpochRequest(Message):
    """API key 23, versions 2 to 4."""

    __slots__ = ("replica_id", "topics")
    FIELDS: ClassVar[tuple[str, ...]] = ("replica_id", "topics")
    API_KEY: ClassVar[int] = 23
    MIN_VERSION: ClassVar[int] = 2
    MAX_VERSION: ClassVar[int] = 4
    FIRST_FLEXIBLE: ClassVar[int] = 4

    def __init__(self, replica_id: int = -2, topics: list[OffsetForLeaderTopic] = NO_ITEMS) -> None:
        self.replica_id = replica_id
        self.topics = [] if topics is NO_ITEMS else topics

    @classmethod
    def decode(cls, data: bytes, position: int, version: int) -> tuple[OffsetForLeaderEpochRequest, int]:
        if version < 2 or version > 4:
            raise unknown_version("OffsetForLeaderEpochRequest", version, 2, 4)
        try:
            message, end = _read_offset_for_leader_epoch_request(data, position, version)
        except (IndexError, ValueError) as error:
            raise malformed("OffsetForLeaderEpochRequest", version, error) from None
        return message, end

    def encode(self, version: int) -> bytes:
        if version < 2 or version > 4:
            raise unsupported_version("OffsetForLeaderEpochRequest", version, 2, 4)
        writer = BytesWriter()
        _write_offset_for_leader_epoch_request(writer, self, version)
        return writer.getvalue()

    def encode_parts(self, writer_prefix: bytes, version: int) -> list[Part]:
        if version < 2 or version > 4:
            raise unsupported_version("OffsetForLeaderEpochRequest", version, 2, 4)
        writer = BytesWriter()
        writer.write(writer_prefix)
        _write_offset_for_leader_epoch_request(writer, self, version)
        return [writer.getvalue()]


def _read_offset_for_leader_epoch_request(data: bytes, position: i64, version: i64) -> tuple[OffsetForLeaderEpochRequest, i64]:
    replica_id: int
    topics: list[OffsetForLeaderTopic]
    if version >= 3:
        replica_id = read_i32_be(data, position)
        position += 4
    else:
        replica_id = -2
    if version >= 4:
        count, position = read_compact_count(data, position, 3)
        topics = []
        for nth in range(count):
            topics_item, position = _read_offset_for_leader_topic(data, position, version)
            topics.append(topics_item)
            if nth & LONG_RUN == LONG_RUN:
                give_way()
    else:
        count, position = read_count(data, position, 6)
        topics = []
        for nth in range(count):
            topics_item, position = _read_offset_for_leader_topic(data, position, version)
            topics.append(topics_item)
            if nth & LONG_RUN == LONG_RUN:
                give_way()
    if version >= 4:
        position = skip_tags(data, position) if data[position] else position + 1
    return OffsetForLeaderEpochRequest(replica_id, topics), position


def _write_offset_for_leader_epoch_request(writer: BytesWriter, message: OffsetForLeaderEpochRequest, version: i64) -> None:
    if version >= 3:
        write_i32_be(writer, message.replica_id)
    if version >= 4:
        topics = message.topics
        write_uvarint(writer, len(topics) + 1)
        for nth, topics_item in enumerate(topics):
            _write_offset_for_leader_topic(writer, topics_item, version)
            if nth & LONG_RUN == LONG_RUN:
                give_way()
    else:
        topics = message.topics
        write_i32_be(writer, len(topics))
        for nth, topics_item in enumerate(topics):
            _write_offset_for_leader_topic(writer, topics_item, version)
            if nth & LONG_RUN == LONG_RUN:
                give_way()
    if version >= 4:
        writer.append(0)


class OffsetForLeaderEpochResponse(Message):
    """API key 23, versions 2 to 4."""

    __slots__ = ("throttle_time_ms", "topics")
    FIELDS: ClassVar[tuple[str, ...]] = ("throttle_time_ms", "topics")
    API_KEY: ClassVar[int] = 23
    MIN_VERSION: ClassVar[int] = 2
    MAX_VERSION: ClassVar[int] = 4
    FIRST_FLEXIBLE: ClassVar[int] = 4

    def __init__(self, throttle_time_ms: int = 0, topics: list[OffsetForLeaderTopicResult] = NO_ITEMS) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.topics = [] if topics is NO_ITEMS else topics

    @classmethod
    def decode(cls, data: bytes, position: int, version: int) -> tuple[OffsetForLeaderEpochResponse, int]:
        if version < 2 or version > 4:
            raise unknown_version("OffsetForLeaderEpochResponse", version, 2, 4)
        try:
            message, end = _read_offset_for_leader_epoch_response(data, position, version)
        except (IndexError, ValueError) as error:
            raise malformed("OffsetForLeaderEpochResponse", version, error) from None
        return message, end

    def encode(self, version: int) -> bytes:
        if version < 2 or version > 4:
            raise unsupported_version("OffsetForLeaderEpochResponse", version, 2, 4)
        writer = BytesWriter()
        _write_offset_for_leader_epoch_response(writer, self, version)
        return writer.getvalue()

    def encode_parts(self, writer_prefix: bytes, version: int) -> list[Part]:
        if version < 2 or version > 4:
            raise unsupported_version("OffsetForLeaderEpochResponse", version, 2, 4)
        writer = BytesWriter()
        writer.write(writer_prefix)
        _write_offset_for_leader_epoch_response(writer, self, version)
        return [writer.getvalue()]


def _read_offset_for_leader_epoch_response(data: bytes, position: i64, version: i64) -> tuple[OffsetForLeaderEpochResponse, i64]:
    topics: list[OffsetForLeaderTopicResult]
    throttle_time_ms = read_i32_be(data, position)
    position += 4
    if version >= 4:
        count, position = read_compact_count(data, position, 3)
        topics = []
        for nth in range(count):
            topics_item, position = _read_offset_for_leader_topic_result(data, position, version)
            topics.append(topics_item)
            if nth & LONG_RUN == LONG_RUN:
                give_way()
    else:
        count, position = read_count(data, position, 6)
        topics = []
        for nth in range(count):
            topics_item, position = _read_offset_for_leader_topic_result(data, position, version)
            topics.append(topics_item)
            if nth & LONG_RUN == LONG_RUN:
                give_way()
    if version >= 4:
        position = skip_tags(data, position) if data[position] else position + 1
    return OffsetForLeaderEpochResponse(throttle_time_ms, topics), position


def _write_offset_for_leader_epoch_response(writer: BytesWriter, message: OffsetForLeaderEpochResponse, version: i64) -> None:
    write_i32_be(writer, message.throttle_time_ms)
    if version >= 4:
        topics = message.topics
        write_uvarint(writer, len(topics) + 1)
        for nth, topics_item in enumerate(topics):
            _write_offset_for_leader_topic_result(writer, topics_item, version)
            if nth & LONG_RUN == LONG_RUN:
                give_way()
    else:
        topics = message.topics
        write_i32_be(writer, len(topics))
        for nth, topics_item in enumerate(topics):
            _write_offset_for_leader_topic_result(writer, topics_item, version)
            if nth & LONG_RUN == LONG_RUN:
                give_way()
    if version >= 4:
        writer.append(0)
