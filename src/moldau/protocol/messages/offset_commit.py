"""OffsetCommit (API key 8). Generated from schema/offset_commit.txt: do not edit."""

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
    read_count,
    read_nullable_string,
    read_string,
    read_uuid,
    skip_tags,
    unknown_version,
)
from moldau.protocol.writing import (
    unsupported_field,
    unsupported_version,
    write_compact_nullable_string,
    write_compact_string,
    write_nullable_string,
    write_string,
    write_uuid,
    write_uvarint,
)


class OffsetCommitRequestPartition(Struct):
    __slots__ = ("partition_index", "committed_offset", "committed_leader_epoch", "committed_metadata")
    FIELDS: ClassVar[tuple[str, ...]] = ("partition_index", "committed_offset", "committed_leader_epoch", "committed_metadata")

    def __init__(self, partition_index: int = 0, committed_offset: int = 0, committed_leader_epoch: int = -1, committed_metadata: str | None = "") -> None:
        self.partition_index = partition_index
        self.committed_offset = committed_offset
        self.committed_leader_epoch = committed_leader_epoch
        self.committed_metadata = committed_metadata


def _read_offset_commit_request_partition(data: bytes, position: i64, version: i64) -> tuple[OffsetCommitRequestPartition, i64]:
    committed_leader_epoch: int
    committed_metadata: str | None
    partition_index = read_i32_be(data, position)
    committed_offset = read_i64_be(data, position + 4)
    position += 12
    if version >= 6:
        committed_leader_epoch = read_i32_be(data, position)
        position += 4
    else:
        committed_leader_epoch = -1
    if version >= 8:
        committed_metadata, position = read_compact_nullable_string(data, position)
    else:
        committed_metadata, position = read_nullable_string(data, position)
    if version >= 8:
        position = skip_tags(data, position) if data[position] else position + 1
    return OffsetCommitRequestPartition(partition_index, committed_offset, committed_leader_epoch, committed_metadata), position


def _write_offset_commit_request_partition(writer: BytesWriter, message: OffsetCommitRequestPartition, version: i64) -> None:
    write_i32_be(writer, message.partition_index)
    write_i64_be(writer, message.committed_offset)
    if version >= 6:
        write_i32_be(writer, message.committed_leader_epoch)
    if version >= 8:
        write_compact_nullable_string(writer, message.committed_metadata)
    else:
        write_nullable_string(writer, message.committed_metadata)
    if version >= 8:
        writer.append(0)


class OffsetCommitRequestTopic(Struct):
    __slots__ = ("name", "topic_id", "partitions")
    FIELDS: ClassVar[tuple[str, ...]] = ("name", "topic_id", "partitions")

    def __init__(self, name: str = "", topic_id: bytes = NO_UUID, partitions: list[OffsetCommitRequestPartition] = NO_ITEMS) -> None:
        self.name = name
        self.topic_id = topic_id
        self.partitions = [] if partitions is NO_ITEMS else partitions


def _read_offset_commit_request_topic(data: bytes, position: i64, version: i64) -> tuple[OffsetCommitRequestTopic, i64]:
    name: str
    topic_id: bytes
    partitions: list[OffsetCommitRequestPartition]
    if version >= 10:
        name = ""
    elif version >= 8:
        name, position = read_compact_string(data, position)
    else:
        name, position = read_string(data, position)
    if version >= 10:
        topic_id = read_uuid(data, position)
        position += 16
    else:
        topic_id = NO_UUID
    if version >= 8:
        count, position = read_compact_count(data, position, 18)
        partitions = []
        for nth in range(count):
            partitions_item, position = _read_offset_commit_request_partition(data, position, version)
            partitions.append(partitions_item)
            if nth & LONG_RUN == LONG_RUN:
                give_way()
    else:
        count, position = read_count(data, position, 14)
        partitions = []
        for nth in range(count):
            partitions_item, position = _read_offset_commit_request_partition(data, position, version)
            partitions.append(partitions_item)
            if nth & LONG_RUN == LONG_RUN:
                give_way()
    if version >= 8:
        position = skip_tags(data, position) if data[position] else position + 1
    return OffsetCommitRequestTopic(name, topic_id, partitions), position


def _write_offset_commit_request_topic(writer: BytesWriter, message: OffsetCommitRequestTopic, version: i64) -> None:
    if version >= 10:
        pass
    elif version >= 8:
        write_compact_string(writer, message.name)
    else:
        write_string(writer, message.name)
    if version >= 10:
        write_uuid(writer, message.topic_id)
    if version >= 8:
        partitions = message.partitions
        write_uvarint(writer, len(partitions) + 1)
        for nth, partitions_item in enumerate(partitions):
            _write_offset_commit_request_partition(writer, partitions_item, version)
            if nth & LONG_RUN == LONG_RUN:
                give_way()
    else:
        partitions = message.partitions
        write_i32_be(writer, len(partitions))
        for nth, partitions_item in enumerate(partitions):
            _write_offset_commit_request_partition(writer, partitions_item, version)
            if nth & LONG_RUN == LONG_RUN:
                give_way()
    if version >= 8:
        writer.append(0)


class OffsetCommitResponsePartition(Struct):
    __slots__ = ("partition_index", "error_code")
    FIELDS: ClassVar[tuple[str, ...]] = ("partition_index", "error_code")

    def __init__(self, partition_index: int = 0, error_code: int = 0) -> None:
        self.partition_index = partition_index
        self.error_code = error_code


def _read_offset_commit_response_partition(data: bytes, position: i64, version: i64) -> tuple[OffsetCommitResponsePartition, i64]:
    partition_index = read_i32_be(data, position)
    error_code = read_i16_be(data, position + 4)
    position += 6
    if version >= 8:
        position = skip_tags(data, position) if data[position] else position + 1
    return OffsetCommitResponsePartition(partition_index, error_code), position


def _write_offset_commit_response_partition(writer: BytesWriter, message: OffsetCommitResponsePartition, version: i64) -> None:
    write_i32_be(writer, message.partition_index)
    write_i16_be(writer, message.error_code)
    if version >= 8:
        writer.append(0)


class OffsetCommitResponseTopic(Struct):
    __slots__ = ("name", "topic_id", "partitions")
    FIELDS: ClassVar[tuple[str, ...]] = ("name", "topic_id", "partitions")

    def __init__(self, name: str = "", topic_id: bytes = NO_UUID, partitions: list[OffsetCommitResponsePartition] = NO_ITEMS) -> None:
        self.name = name
        self.topic_id = topic_id
        self.partitions = [] if partitions is NO_ITEMS else partitions


def _read_offset_commit_response_topic(data: bytes, position: i64, version: i64) -> tuple[OffsetCommitResponseTopic, i64]:
    name: str
    topic_id: bytes
    partitions: list[OffsetCommitResponsePartition]
    if version >= 10:
        name = ""
    elif version >= 8:
        name, position = read_compact_string(data, position)
    else:
        name, position = read_string(data, position)
    if version >= 10:
        topic_id = read_uuid(data, position)
        position += 16
    else:
        topic_id = NO_UUID
    if version >= 8:
        count, position = read_compact_count(data, position, 7)
        partitions = []
        for nth in range(count):
            partitions_item, position = _read_offset_commit_response_partition(data, position, version)
            partitions.append(partitions_item)
            if nth & LONG_RUN == LONG_RUN:
                give_way()
    else:
        count, position = read_count(data, position, 6)
        partitions = []
        for nth in range(count):
            partitions_item, position = _read_offset_commit_response_partition(data, position, version)
            partitions.append(partitions_item)
            if nth & LONG_RUN == LONG_RUN:
                give_way()
    if version >= 8:
        position = skip_tags(data, position) if data[position] else position + 1
    return OffsetCommitResponseTopic(name, topic_id, partitions), position


def _write_offset_commit_response_topic(writer: BytesWriter, message: OffsetCommitResponseTopic, version: i64) -> None:
    if version >= 10:
        pass
    elif version >= 8:
        write_compact_string(writer, message.name)
    else:
        write_string(writer, message.name)
    if version >= 10:
        write_uuid(writer, message.topic_id)
    if version >= 8:
        partitions = message.partitions
        write_uvarint(writer, len(partitions) + 1)
        for nth, partitions_item in enumerate(partitions):
            _write_offset_commit_response_partition(writer, partitions_item, version)
            if nth & LONG_RUN == LONG_RUN:
                give_way()
    else:
        partitions = message.partitions
        write_i32_be(writer, len(partitions))
        for nth, partitions_item in enumerate(partitions):
            _write_offset_commit_response_partition(writer, partitions_item, version)
            if nth & LONG_RUN == LONG_RUN:
                give_way()
    if version >= 8:
        writer.append(0)


class OffsetCommitRequest(Message):
    """API key 8, versions 2 to 10."""

    __slots__ = ("group_id", "generation_id_or_member_epoch", "member_id", "group_instance_id", "retention_time_ms", "topics")
    FIELDS: ClassVar[tuple[str, ...]] = ("group_id", "generation_id_or_member_epoch", "member_id", "group_instance_id", "retention_time_ms", "topics")
    API_KEY: ClassVar[int] = 8
    MIN_VERSION: ClassVar[int] = 2
    MAX_VERSION: ClassVar[int] = 10
    FIRST_FLEXIBLE: ClassVar[int] = 8

    def __init__(self, group_id: str = "", generation_id_or_member_epoch: int = -1, member_id: str = "", group_instance_id: str | None = None, retention_time_ms: int = -1, topics: list[OffsetCommitRequestTopic] = NO_ITEMS) -> None:
        self.group_id = group_id
        self.generation_id_or_member_epoch = generation_id_or_member_epoch
        self.member_id = member_id
        self.group_instance_id = group_instance_id
        self.retention_time_ms = retention_time_ms
        self.topics = [] if topics is NO_ITEMS else topics

    @classmethod
    def decode(cls, data: bytes, position: int, version: int) -> tuple[OffsetCommitRequest, int]:
        if version < 2 or version > 10:
            raise unknown_version("OffsetCommitRequest", version, 2, 10)
        try:
            message, end = _read_offset_commit_request(data, position, version)
        except (IndexError, ValueError) as error:
            raise malformed("OffsetCommitRequest", version, error) from None
        return message, end

    def encode(self, version: int) -> bytes:
        if version < 2 or version > 10:
            raise unsupported_version("OffsetCommitRequest", version, 2, 10)
        writer = BytesWriter()
        _write_offset_commit_request(writer, self, version)
        return writer.getvalue()

    def encode_parts(self, writer_prefix: bytes, version: int) -> list[Part]:
        if version < 2 or version > 10:
            raise unsupported_version("OffsetCommitRequest", version, 2, 10)
        writer = BytesWriter()
        writer.write(writer_prefix)
        _write_offset_commit_request(writer, self, version)
        return [writer.getvalue()]


def _read_offset_commit_request(data: bytes, position: i64, version: i64) -> tuple[OffsetCommitRequest, i64]:
    group_id: str
    member_id: str
    group_instance_id: str | None
    retention_time_ms: int
    topics: list[OffsetCommitRequestTopic]
    if version >= 8:
        group_id, position = read_compact_string(data, position)
    else:
        group_id, position = read_string(data, position)
    generation_id_or_member_epoch = read_i32_be(data, position)
    position += 4
    if version >= 8:
        member_id, position = read_compact_string(data, position)
    else:
        member_id, position = read_string(data, position)
    if version >= 8:
        group_instance_id, position = read_compact_nullable_string(data, position)
    elif version >= 7:
        group_instance_id, position = read_nullable_string(data, position)
    else:
        group_instance_id = None
    if version >= 5:
        retention_time_ms = -1
    else:
        retention_time_ms = read_i64_be(data, position)
        position += 8
    if version >= 8:
        count, position = read_compact_count(data, position, 3)
        topics = []
        for nth in range(count):
            topics_item, position = _read_offset_commit_request_topic(data, position, version)
            topics.append(topics_item)
            if nth & LONG_RUN == LONG_RUN:
                give_way()
    else:
        count, position = read_count(data, position, 6)
        topics = []
        for nth in range(count):
            topics_item, position = _read_offset_commit_request_topic(data, position, version)
            topics.append(topics_item)
            if nth & LONG_RUN == LONG_RUN:
                give_way()
    if version >= 8:
        position = skip_tags(data, position) if data[position] else position + 1
    return OffsetCommitRequest(group_id, generation_id_or_member_epoch, member_id, group_instance_id, retention_time_ms, topics), position


def _write_offset_commit_request(writer: BytesWriter, message: OffsetCommitRequest, version: i64) -> None:
    if version >= 8:
        write_compact_string(writer, message.group_id)
    else:
        write_string(writer, message.group_id)
    write_i32_be(writer, message.generation_id_or_member_epoch)
    if version >= 8:
        write_compact_string(writer, message.member_id)
    else:
        write_string(writer, message.member_id)
    if version >= 8:
        write_compact_nullable_string(writer, message.group_instance_id)
    elif version >= 7:
        write_nullable_string(writer, message.group_instance_id)
    else:
        if message.group_instance_id is not None:
            raise unsupported_field("OffsetCommitRequest", "group_instance_id", version)
    if version < 5:
        write_i64_be(writer, message.retention_time_ms)
    if version >= 8:
        topics = message.topics
        write_uvarint(writer, len(topics) + 1)
        for nth, topics_item in enumerate(topics):
            _write_offset_commit_request_topic(writer, topics_item, version)
            if nth & LONG_RUN == LONG_RUN:
                give_way()
    else:
        topics = message.topics
        write_i32_be(writer, len(topics))
        for nth, topics_item in enumerate(topics):
            _write_offset_commit_request_topic(writer, topics_item, version)
            if nth & LONG_RUN == LONG_RUN:
                give_way()
    if version >= 8:
        writer.append(0)


class OffsetCommitResponse(Message):
    """API key 8, versions 2 to 10."""

    __slots__ = ("throttle_time_ms", "topics")
    FIELDS: ClassVar[tuple[str, ...]] = ("throttle_time_ms", "topics")
    API_KEY: ClassVar[int] = 8
    MIN_VERSION: ClassVar[int] = 2
    MAX_VERSION: ClassVar[int] = 10
    FIRST_FLEXIBLE: ClassVar[int] = 8

    def __init__(self, throttle_time_ms: int = 0, topics: list[OffsetCommitResponseTopic] = NO_ITEMS) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.topics = [] if topics is NO_ITEMS else topics

    @classmethod
    def decode(cls, data: bytes, position: int, version: int) -> tuple[OffsetCommitResponse, int]:
        if version < 2 or version > 10:
            raise unknown_version("OffsetCommitResponse", version, 2, 10)
        try:
            message, end = _read_offset_commit_response(data, position, version)
        except (IndexError, ValueError) as error:
            raise malformed("OffsetCommitResponse", version, error) from None
        return message, end

    def encode(self, version: int) -> bytes:
        if version < 2 or version > 10:
            raise unsupported_version("OffsetCommitResponse", version, 2, 10)
        writer = BytesWriter()
        _write_offset_commit_response(writer, self, version)
        return writer.getvalue()

    def encode_parts(self, writer_prefix: bytes, version: int) -> list[Part]:
        if version < 2 or version > 10:
            raise unsupported_version("OffsetCommitResponse", version, 2, 10)
        writer = BytesWriter()
        writer.write(writer_prefix)
        _write_offset_commit_response(writer, self, version)
        return [writer.getvalue()]


def _read_offset_commit_response(data: bytes, position: i64, version: i64) -> tuple[OffsetCommitResponse, i64]:
    throttle_time_ms: int
    topics: list[OffsetCommitResponseTopic]
    if version >= 3:
        throttle_time_ms = read_i32_be(data, position)
        position += 4
    else:
        throttle_time_ms = 0
    if version >= 8:
        count, position = read_compact_count(data, position, 3)
        topics = []
        for nth in range(count):
            topics_item, position = _read_offset_commit_response_topic(data, position, version)
            topics.append(topics_item)
            if nth & LONG_RUN == LONG_RUN:
                give_way()
    else:
        count, position = read_count(data, position, 6)
        topics = []
        for nth in range(count):
            topics_item, position = _read_offset_commit_response_topic(data, position, version)
            topics.append(topics_item)
            if nth & LONG_RUN == LONG_RUN:
                give_way()
    if version >= 8:
        position = skip_tags(data, position) if data[position] else position + 1
    return OffsetCommitResponse(throttle_time_ms, topics), position


def _write_offset_commit_response(writer: BytesWriter, message: OffsetCommitResponse, version: i64) -> None:
    if version >= 3:
        write_i32_be(writer, message.throttle_time_ms)
    if version >= 8:
        topics = message.topics
        write_uvarint(writer, len(topics) + 1)
        for nth, topics_item in enumerate(topics):
            _write_offset_commit_response_topic(writer, topics_item, version)
            if nth & LONG_RUN == LONG_RUN:
                give_way()
    else:
        topics = message.topics
        write_i32_be(writer, len(topics))
        for nth, topics_item in enumerate(topics):
            _write_offset_commit_response_topic(writer, topics_item, version)
            if nth & LONG_RUN == LONG_RUN:
                give_way()
    if version >= 8:
        writer.append(0)
