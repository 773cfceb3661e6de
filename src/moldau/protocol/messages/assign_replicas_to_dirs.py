"""AssignReplicasToDirs (API key 73). Generated from schema/assign_replicas_to_dirs.txt: do not edit."""

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
    read_uuid,
    skip_tags,
    unknown_version,
)
from moldau.protocol.writing import unsupported_version, write_uuid, write_uvarint


class PartitionData(Struct):
    __slots__ = ("partition_index",)
    FIELDS: ClassVar[tuple[str, ...]] = ("partition_index",)

    def __init__(self, partition_index: int = 0) -> None:
        self.partition_index = partition_index


def _read_partition_data(data: bytes, position: i64, version: i64) -> tuple[PartitionData, i64]:
    partition_index = read_i32_be(data, position)
    position += 4
    position = skip_tags(data, position) if data[position] else position + 1
    return PartitionData(partition_index), position


def _write_partition_data(writer: BytesWriter, message: PartitionData, version: i64) -> None:
    write_i32_be(writer, message.partition_index)
    writer.append(0)


class TopicData(Struct):
    __slots__ = ("topic_id", "partitions")
    FIELDS: ClassVar[tuple[str, ...]] = ("topic_id", "partitions")

    def __init__(self, topic_id: bytes = NO_UUID, partitions: list[PartitionData] = NO_ITEMS) -> None:
        self.topic_id = topic_id
        self.partitions = [] if partitions is NO_ITEMS else partitions


def _read_topic_data(data: bytes, position: i64, version: i64) -> tuple[TopicData, i64]:
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
    return TopicData(topic_id, partitions), position


def _write_topic_data(writer: BytesWriter, message: TopicData, version: i64) -> None:
    write_uuid(writer, message.topic_id)
    partitions = message.partitions
    write_uvarint(writer, len(partitions) + 1)
    for nth, partitions_item in enumerate(partitions):
        _write_partition_data(writer, partitions_item, version)
        if nth & LONG_RUN == LONG_RUN:
            give_way()
    writer.append(0)


class DirectoryData(Struct):
    __slots__ = ("id", "topics")
    FIELDS: ClassVar[tuple[str, ...]] = ("id", "topics")

    def __init__(self, id: bytes = NO_UUID, topics: list[TopicData] = NO_ITEMS) -> None:
        self.id = id
        self.topics = [] if topics is NO_ITEMS else topics


def _read_directory_data(data: bytes, position: i64, version: i64) -> tuple[DirectoryData, i64]:
    topics: list[TopicData]
    id = read_uuid(data, position)
    position += 16
    count, position = read_compact_count(data, position, 18)
    topics = []
    for nth in range(count):
        topics_item, position = _read_topic_data(data, position, version)
        topics.append(topics_item)
        if nth & LONG_RUN == LONG_RUN:
            give_way()
    position = skip_tags(data, position) if data[position] else position + 1
    return DirectoryData(id, topics), position


def _write_directory_data(writer: BytesWriter, message: DirectoryData, version: i64) -> None:
    write_uuid(writer, message.id)
    topics = message.topics
    write_uvarint(writer, len(topics) + 1)
    for nth, topics_item in enumerate(topics):
        _write_topic_data(writer, topics_item, version)
        if nth & LONG_RUN == LONG_RUN:
            give_way()
    writer.append(0)


class PartitionDataResponse(Struct):
    __slots__ = ("partition_index", "error_code")
    FIELDS: ClassVar[tuple[str, ...]] = ("partition_index", "error_code")

    def __init__(self, partition_index: int = 0, error_code: int = 0) -> None:
        self.partition_index = partition_index
        self.error_code = error_code


def _read_partition_data_response(data: bytes, position: i64, version: i64) -> tuple[PartitionDataResponse, i64]:
    partition_index = read_i32_be(data, position)
    error_code = read_i16_be(data, position + 4)
    position += 6
    position = skip_tags(data, position) if data[position] else position + 1
    return PartitionDataResponse(partition_index, error_code), position


def _write_partition_data_response(writer: BytesWriter, message: PartitionDataResponse, version: i64) -> None:
    write_i32_be(writer, message.partition_index)
    write_i16_be(writer, message.error_code)
    writer.append(0)


class TopicDataResponse(Struct):
    __slots__ = ("topic_id", "partitions")
    FIELDS: ClassVar[tuple[str, ...]] = ("topic_id", "partitions")

    def __init__(self, topic_id: bytes = NO_UUID, partitions: list[PartitionDataResponse] = NO_ITEMS) -> None:
        self.topic_id = topic_id
        self.partitions = [] if partitions is NO_ITEMS else partitions


def _read_topic_data_response(data: bytes, position: i64, version: i64) -> tuple[TopicDataResponse, i64]:
    partitions: list[PartitionDataResponse]
    topic_id = read_uuid(data, position)
    position += 16
    count, position = read_compact_count(data, position, 7)
    partitions = []
    for nth in range(count):
        partitions_item, position = _read_partition_data_response(data, position, version)
        partitions.append(partitions_item)
        if nth & LONG_RUN == LONG_RUN:
            give_way()
    position = skip_tags(data, position) if data[position] else position + 1
    return TopicDataResponse(topic_id, partitions), position


def _write_topic_data_response(writer: BytesWriter, message: TopicDataResponse, version: i64) -> None:
    write_uuid(writer, message.topic_id)
    partitions = message.partitions
    write_uvarint(writer, len(partitions) + 1)
    for nth, partitions_item in enumerate(partitions):
        _write_partition_data_response(writer, partitions_item, version)
        if nth & LONG_RUN == LONG_RUN:
            give_way()
    writer.append(0)


class DirectoryDataResponse(Struct):
    __slots__ = ("id", "topics")
    FIELDS: ClassVar[tuple[str, ...]] = ("id", "topics")

    def __init__(self, id: bytes = NO_UUID, topics: list[TopicDataResponse] = NO_ITEMS) -> None:
        self.id = id
        self.topics = [] if topics is NO_ITEMS else topics


def _read_directory_data_response(data: bytes, position: i64, version: i64) -> tuple[DirectoryDataResponse, i64]:
    topics: list[TopicDataResponse]
    id = read_uuid(data, position)
    position += 16
    count, position = read_compact_count(data, position, 18)
    topics = []
    for nth in range(count):
        topics_item, position = _read_topic_data_response(data, position, version)
        topics.append(topics_item)
        if nth & LONG_RUN == LONG_RUN:
            give_way()
    position = skip_tags(data, position) if data[position] else position + 1
    return DirectoryDataResponse(id, topics), position


def _write_directory_data_response(writer: BytesWriter, message: DirectoryDataResponse, version: i64) -> None:
    write_uuid(writer, message.id)
    topics = message.topics
    write_uvarint(writer, len(topics) + 1)
    for nth, topics_item in enumerate(topics):
        _write_topic_data_response(writer, topics_item, version)
        if nth & LONG_RUN == LONG_RUN:
            give_way()
    writer.append(0)


class AssignReplicasToDirsRequest(Message):
    """API key 73, version 0."""

    __slots__ = ("broker_id", "broker_epoch", "directories")
    FIELDS: ClassVar[tuple[str, ...]] = ("broker_id", "broker_epoch", "directories")
    API_KEY: ClassVar[int] = 73
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FIRST_FLEXIBLE: ClassVar[int] = 0

    def __init__(self, broker_id: int = 0, broker_epoch: int = -1, directories: list[DirectoryData] = NO_ITEMS) -> None:
        self.broker_id = broker_id
        self.broker_epoch = broker_epoch
        self.directories = [] if directories is NO_ITEMS else directories

    @classmethod
    def decode(cls, data: bytes, position: int, version: int) -> tuple[AssignReplicasToDirsRequest, int]:
        if version < 0 or version > 0:
            raise unknown_version("AssignReplicasToDirsRequest", version, 0, 0)
        try:
            message, end = _read_assign_replicas_to_dirs_request(data, position, version)
        except (IndexError, ValueError) as error:
            raise malformed("AssignReplicasToDirsRequest", version, error) from None
        return message, end

    def encode(self, version: int) -> bytes:
        if version < 0 or version > 0:
            raise unsupported_version("AssignReplicasToDirsRequest", version, 0, 0)
        writer = BytesWriter()
        _write_assign_replicas_to_dirs_request(writer, self, version)
        return writer.getvalue()

    def encode_parts(self, writer_prefix: bytes, version: int) -> list[Part]:
        if version < 0 or version > 0:
            raise unsupported_version("AssignReplicasToDirsRequest", version, 0, 0)
        writer = BytesWriter()
        writer.write(writer_prefix)
        _write_assign_replicas_to_dirs_request(writer, self, version)
        return [writer.getvalue()]


def _read_assign_replicas_to_dirs_request(data: bytes, position: i64, version: i64) -> tuple[AssignReplicasToDirsRequest, i64]:
    directories: list[DirectoryData]
    broker_id = read_i32_be(data, position)
    broker_epoch = read_i64_be(data, position + 4)
    position += 12
    count, position = read_compact_count(data, position, 18)
    directories = []
    for nth in range(count):
        directories_item, position = _read_directory_data(data, position, version)
        directories.append(directories_item)
        if nth & LONG_RUN == LONG_RUN:
            give_way()
    position = skip_tags(data, position) if data[position] else position + 1
    return AssignReplicasToDirsRequest(broker_id, broker_epoch, directories), position


def _write_assign_replicas_to_dirs_request(writer: BytesWriter, message: AssignReplicasToDirsRequest, version: i64) -> None:
    write_i32_be(writer, message.broker_id)
    write_i64_be(writer, message.broker_epoch)
    directories = message.directories
    write_uvarint(writer, len(directories) + 1)
    for nth, directories_item in enumerate(directories):
        _write_directory_data(writer, directories_item, version)
        if nth & LONG_RUN == LONG_RUN:
            give_way()
    writer.append(0)


class AssignReplicasToDirsResponse(Message):
    """API key 73, version 0."""

    __slots__ = ("throttle_time_ms", "error_code", "directories")
    FIELDS: ClassVar[tuple[str, ...]] = ("throttle_time_ms", "error_code", "directories")
    API_KEY: ClassVar[int] = 73
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FIRST_FLEXIBLE: ClassVar[int] = 0

    def __init__(self, throttle_time_ms: int = 0, error_code: int = 0, directories: list[DirectoryDataResponse] = NO_ITEMS) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.directories = [] if directories is NO_ITEMS else directories

    @classmethod
    def decode(cls, data: bytes, position: int, version: int) -> tuple[AssignReplicasToDirsResponse, int]:
        if version < 0 or version > 0:
            raise unknown_version("AssignReplicasToDirsResponse", version, 0, 0)
        try:
            message, end = _read_assign_replicas_to_dirs_response(data, position, version)
        except (IndexError, ValueError) as error:
            raise malformed("AssignReplicasToDirsResponse", version, error) from None
        return message, end

    def encode(self, version: int) -> bytes:
        if version < 0 or version > 0:
            raise unsupported_version("AssignReplicasToDirsResponse", version, 0, 0)
        writer = BytesWriter()
        _write_assign_replicas_to_dirs_response(writer, self, version)
        return writer.getvalue()

    def encode_parts(self, writer_prefix: bytes, version: int) -> list[Part]:
        if version < 0 or version > 0:
            raise unsupported_version("AssignReplicasToDirsResponse", version, 0, 0)
        writer = BytesWriter()
        writer.write(writer_prefix)
        _write_assign_replicas_to_dirs_response(writer, self, version)
        return [writer.getvalue()]


def _read_assign_replicas_to_dirs_response(data: bytes, position: i64, version: i64) -> tuple[AssignReplicasToDirsResponse, i64]:
    directories: list[DirectoryDataResponse]
    throttle_time_ms = read_i32_be(data, position)
    error_code = read_i16_be(data, position + 4)
    position += 6
    count, position = read_compact_count(data, position, 18)
    directories = []
    for nth in range(count):
        directories_item, position = _read_directory_data_response(data, position, version)
        directories.append(directories_item)
        if nth & LONG_RUN == LONG_RUN:
            give_way()
    position = skip_tags(data, position) if data[position] else position + 1
    return AssignReplicasToDirsResponse(throttle_time_ms, error_code, directories), position


def _write_assign_replicas_to_dirs_response(writer: BytesWriter, message: AssignReplicasToDirsResponse, version: i64) -> None:
    write_i32_be(writer, message.throttle_time_ms)
    write_i16_be(writer, message.error_code)
    directories = message.directories
    write_uvarint(writer, len(directories) + 1)
    for nth, directories_item in enumerate(directories):
        _write_directory_data_response(writer, directories_item, version)
        if nth & LONG_RUN == LONG_RUN:
            give_way()
    writer.append(0)
