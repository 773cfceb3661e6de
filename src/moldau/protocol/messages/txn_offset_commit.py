"""TxnOffsetCommit (API key 28). Generated from schema/txn_offset_commit.txt: do not edit."""

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
    read_count,
    read_nullable_string,
    read_string,
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
    write_uvarint,
)


class TxnOffsetCommitRequestPartition(Struct):
    __slots__ = ("partition_index", "committed_offset", "committed_leader_epoch", "committed_metadata")
    FIELDS: ClassVar[tuple[str, ...]] = ("partition_index", "committed_offset", "committed_leader_epoch", "committed_metadata")

    def __init__(self, partition_index: int = 0, committed_offset: int = 0, committed_leader_epoch: int = -1, committed_metadata: str | None = "") -> None:
        self.partition_index = partition_index
        self.committed_offset = committed_offset
        self.committed_leader_epoch = committed_leader_epoch
        self.committed_metadata = committed_metadata


def _read_txn_offset_commit_request_partition(data: bytes, position: i64, version: i64) -> tuple[TxnOffsetCommitRequestPartition, i64]:
    committed_leader_epoch: int
    committed_metadata: str | None
    partition_index = read_i32_be(data, position)
    committed_offset = read_i64_be(data, position + 4)
    position += 12
    if version >= 2:
        committed_leader_epoch = read_i32_be(data, position)
        position += 4
    else:
        committed_leader_epoch = -1
    if version >= 3:
        committed_metadata, position = read_compact_nullable_string(data, position)
    else:
        committed_metadata, position = read_nullable_string(data, position)
    if version >= 3:
        position = skip_tags(data, position) if data[position] else position + 1
    return TxnOffsetCommitRequestPartition(partition_index, committed_offset, committed_leader_epoch, committed_metadata), position


def _write_txn_offset_commit_request_partition(writer: BytesWriter, message: TxnOffsetCommitRequestPartition, version: i64) -> None:
    write_i32_be(writer, message.partition_index)
    write_i64_be(writer, message.committed_offset)
    if version >= 2:
        write_i32_be(writer, message.committed_leader_epoch)
    if version >= 3:
        write_compact_nullable_string(writer, message.committed_metadata)
    else:
        write_nullable_string(writer, message.committed_metadata)
    if version >= 3:
        writer.append(0)


class TxnOffsetCommitRequestTopic(Struct):
    __slots__ = ("name", "partitions")
    FIELDS: ClassVar[tuple[str, ...]] = ("name", "partitions")

    def __init__(self, name: str = "", partitions: list[TxnOffsetCommitRequestPartition] = NO_ITEMS) -> None:
        self.name = name
        self.partitions = [] if partitions is NO_ITEMS else partitions


def _read_txn_offset_commit_request_topic(data: bytes, position: i64, version: i64) -> tuple[TxnOffsetCommitRequestTopic, i64]:
    name: str
    partitions: list[TxnOffsetCommitRequestPartition]
    if version >= 3:
        name, position = read_compact_string(data, position)
        count, position = read_compact_count(data, position, 18)
        partitions = []
        for nth in range(count):
            partitions_item, position = _read_txn_offset_commit_request_partition(data, position, version)
            partitions.append(partitions_item)
            if nth & LONG_RUN == LONG_RUN:
                give_way()
    else:
        name, position = read_string(data, position)
        count, position = read_count(data, position, 14)
        partitions = []
        for nth in range(count):
            partitions_item, position = _read_txn_offset_commit_request_partition(data, position, version)
            partitions.append(partitions_item)
            if nth & LONG_RUN == LONG_RUN:
                give_way()
    if version >= 3:
        position = skip_tags(data, position) if data[position] else position + 1
    return TxnOffsetCommitRequestTopic(name, partitions), position


def _write_txn_offset_commit_request_topic(writer: BytesWriter, message: TxnOffsetCommitRequestTopic, version: i64) -> None:
    if version >= 3:
        write_compact_string(writer, message.name)
        partitions = message.partitions
        write_uvarint(writer, len(partitions) + 1)
        for nth, partitions_item in enumerate(partitions):
            _write_txn_offset_commit_request_partition(writer, partitions_item, version)
            if nth & LONG_RUN == LONG_RUN:
                give_way()
    else:
        write_string(writer, message.name)
        partitions = message.partitions
        write_i32_be(writer, len(partitions))
        for nth, partitions_item in enumerate(partitions):
            _write_txn_offset_commit_request_partition(writer, partitions_item, version)
            if nth & LONG_RUN == LONG_RUN:
                give_way()
    if version >= 3:
        writer.append(0)


class TxnOffsetCommitResponsePartition(Struct):
    __slots__ = ("partition_index", "error_code")
    FIELDS: ClassVar[tuple[str, ...]] = ("partition_index", "error_code")

    def __init__(self, partition_index: int = 0, error_code: int = 0) -> None:
        self.partition_index = partition_index
        self.error_code = error_code


def _read_txn_offset_commit_response_partition(data: bytes, position: i64, version: i64) -> tuple[TxnOffsetCommitResponsePartition, i64]:
    partition_index = read_i32_be(data, position)
    error_code = read_i16_be(data, position + 4)
    position += 6
    if version >= 3:
        position = skip_tags(data, position) if data[position] else position + 1
    return TxnOffsetCommitResponsePartition(partition_index, error_code), position


def _write_txn_offset_commit_response_partition(writer: BytesWriter, message: TxnOffsetCommitResponsePartition, version: i64) -> None:
    write_i32_be(writer, message.partition_index)
    write_i16_be(writer, message.error_code)
    if version >= 3:
        writer.append(0)


class TxnOffsetCommitResponseTopic(Struct):
    __slots__ = ("name", "partitions")
    FIELDS: ClassVar[tuple[str, ...]] = ("name", "partitions")

    def __init__(self, name: str = "", partitions: list[TxnOffsetCommitResponsePartition] = NO_ITEMS) -> None:
        self.name = name
        self.partitions = [] if partitions is NO_ITEMS else partitions


def _read_txn_offset_commit_response_topic(data: bytes, position: i64, version: i64) -> tuple[TxnOffsetCommitResponseTopic, i64]:
    name: str
    partitions: list[TxnOffsetCommitResponsePartition]
    if version >= 3:
        name, position = read_compact_string(data, position)
        count, position = read_compact_count(data, position, 7)
        partitions = []
        for nth in range(count):
            partitions_item, position = _read_txn_offset_commit_response_partition(data, position, version)
            partitions.append(partitions_item)
            if nth & LONG_RUN == LONG_RUN:
                give_way()
    else:
        name, position = read_string(data, position)
        count, position = read_count(data, position, 6)
        partitions = []
        for nth in range(count):
            partitions_item, position = _read_txn_offset_commit_response_partition(data, position, version)
            partitions.append(partitions_item)
            if nth & LONG_RUN == LONG_RUN:
                give_way()
    if version >= 3:
        position = skip_tags(data, position) if data[position] else position + 1
    return TxnOffsetCommitResponseTopic(name, partitions), position


def _write_txn_offset_commit_response_topic(writer: BytesWriter, message: TxnOffsetCommitResponseTopic, version: i64) -> None:
    if version >= 3:
        write_compact_string(writer, message.name)
        partitions = message.partitions
        write_uvarint(writer, len(partitions) + 1)
        for nth, partitions_item in enumerate(partitions):
            _write_txn_offset_commit_response_partition(writer, partitions_item, version)
            if nth & LONG_RUN == LONG_RUN:
                give_way()
    else:
        write_string(writer, message.name)
        partitions = message.partitions
        write_i32_be(writer, len(partitions))
        for nth, partitions_item in enumerate(partitions):
            _write_txn_offset_commit_response_partition(writer, partitions_item, version)
            if nth & LONG_RUN == LONG_RUN:
                give_way()
    if version >= 3:
        writer.append(0)


class TxnOffsetCommitRequest(Message):
    """API key 28, versions 0 to 5."""

    __slots__ = ("transactional_id", "group_id", "producer_id", "producer_epoch", "generation_id", "member_id", "group_instance_id", "topics")
    FIELDS: ClassVar[tuple[str, ...]] = ("transactional_id", "group_id", "producer_id", "producer_epoch", "generation_id", "member_id", "group_instance_id", "topics")
    API_KEY: ClassVar[int] = 28
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 5
    FIRST_FLEXIBLE: ClassVar[int] = 3

    def __init__(self, transactional_id: str = "", group_id: str = "", producer_id: int = 0, producer_epoch: int = 0, generation_id: int = -1, member_id: str = "", group_instance_id: str | None = None, topics: list[TxnOffsetCommitRequestTopic] = NO_ITEMS) -> None:
        self.transactional_id = transactional_id
        self.group_id = group_id
        self.producer_id = producer_id
        self.producer_epoch = producer_epoch
        self.generation_id = generation_id
        self.member_id = member_id
        self.group_instance_id = group_instance_id
        self.topics = [] if topics is NO_ITEMS else topics

    @classmethod
    def decode(cls, data: bytes, position: int, version: int) -> tuple[TxnOffsetCommitRequest, int]:
        if version < 0 or version > 5:
            raise unknown_version("TxnOffsetCommitRequest", version, 0, 5)
        try:
            message, end = _read_txn_offset_commit_request(data, position, version)
        except (IndexError, ValueError) as error:
            raise malformed("TxnOffsetCommitRequest", version, error) from None
        return message, end

    def encode(self, version: int) -> bytes:
        if version < 0 or version > 5:
            raise unsupported_version("TxnOffsetCommitRequest", version, 0, 5)
        writer = BytesWriter()
        _write_txn_offset_commit_request(writer, self, version)
        return writer.getvalue()

    def encode_parts(self, writer_prefix: bytes, version: int) -> list[Part]:
        if version < 0 or version > 5:
            raise unsupported_version("TxnOffsetCommitRequest", version, 0, 5)
        writer = BytesWriter()
        writer.write(writer_prefix)
        _write_txn_offset_commit_request(writer, self, version)
        return [writer.getvalue()]


def _read_txn_offset_commit_request(data: bytes, position: i64, version: i64) -> tuple[TxnOffsetCommitRequest, i64]:
    transactional_id: str
    group_id: str
    generation_id: int
    member_id: str
    group_instance_id: str | None
    topics: list[TxnOffsetCommitRequestTopic]
    if version >= 3:
        transactional_id, position = read_compact_string(data, position)
        group_id, position = read_compact_string(data, position)
    else:
        transactional_id, position = read_string(data, position)
        group_id, position = read_string(data, position)
    producer_id = read_i64_be(data, position)
    producer_epoch = read_i16_be(data, position + 8)
    position += 10
    if version >= 3:
        generation_id = read_i32_be(data, position)
        position += 4
        member_id, position = read_compact_string(data, position)
        group_instance_id, position = read_compact_nullable_string(data, position)
        count, position = read_compact_count(data, position, 3)
        topics = []
        for nth in range(count):
            topics_item, position = _read_txn_offset_commit_request_topic(data, position, version)
            topics.append(topics_item)
            if nth & LONG_RUN == LONG_RUN:
                give_way()
    else:
        generation_id = -1
        member_id = ""
        group_instance_id = None
        count, position = read_count(data, position, 6)
        topics = []
        for nth in range(count):
            topics_item, position = _read_txn_offset_commit_request_topic(data, position, version)
            topics.append(topics_item)
            if nth & LONG_RUN == LONG_RUN:
                give_way()
    if version >= 3:
        position = skip_tags(data, position) if data[position] else position + 1
    return TxnOffsetCommitRequest(transactional_id, group_id, producer_id, producer_epoch, generation_id, member_id, group_instance_id, topics), position


def _write_txn_offset_commit_request(writer: BytesWriter, message: TxnOffsetCommitRequest, version: i64) -> None:
    if version >= 3:
        write_compact_string(writer, message.transactional_id)
        write_compact_string(writer, message.group_id)
    else:
        write_string(writer, message.transactional_id)
        write_string(writer, message.group_id)
    write_i64_be(writer, message.producer_id)
    write_i16_be(writer, message.producer_epoch)
    if version >= 3:
        write_i32_be(writer, message.generation_id)
        write_compact_string(writer, message.member_id)
        write_compact_nullable_string(writer, message.group_instance_id)
        topics = message.topics
        write_uvarint(writer, len(topics) + 1)
        for nth, topics_item in enumerate(topics):
            _write_txn_offset_commit_request_topic(writer, topics_item, version)
            if nth & LONG_RUN == LONG_RUN:
                give_way()
    else:
        if message.generation_id != -1:
            raise unsupported_field("TxnOffsetCommitRequest", "generation_id", version)
        if message.member_id != "":
            raise unsupported_field("TxnOffsetCommitRequest", "member_id", version)
        if message.group_instance_id is not None:
            raise unsupported_field("TxnOffsetCommitRequest", "group_instance_id", version)
        topics = message.topics
        write_i32_be(writer, len(topics))
        for nth, topics_item in enumerate(topics):
            _write_txn_offset_commit_request_topic(writer, topics_item, version)
            if nth & LONG_RUN == LONG_RUN:
                give_way()
    if version >= 3:
        writer.append(0)


class TxnOffsetCommitResponse(Message):
    """API key 28, versions 0 to 5."""

    __slots__ = ("throttle_time_ms", "topics")
    FIELDS: ClassVar[tuple[str, ...]] = ("throttle_time_ms", "topics")
    API_KEY: ClassVar[int] = 28
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 5
    FIRST_FLEXIBLE: ClassVar[int] = 3

    def __init__(self, throttle_time_ms: int = 0, topics: list[TxnOffsetCommitResponseTopic] = NO_ITEMS) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.topics = [] if topics is NO_ITEMS else topics

    @classmethod
    def decode(cls, data: bytes, position: int, version: int) -> tuple[TxnOffsetCommitResponse, int]:
        if version < 0 or version > 5:
            raise unknown_version("TxnOffsetCommitResponse", version, 0, 5)
        try:
            message, end = _read_txn_offset_commit_response(data, position, version)
        except (IndexError, ValueError) as error:
            raise malformed("TxnOffsetCommitResponse", version, error) from None
        return message, end

    def encode(self, version: int) -> bytes:
        if version < 0 or version > 5:
            raise unsupported_version("TxnOffsetCommitResponse", version, 0, 5)
        writer = BytesWriter()
        _write_txn_offset_commit_response(writer, self, version)
        return writer.getvalue()

    def encode_parts(self, writer_prefix: bytes, version: int) -> list[Part]:
        if version < 0 or version > 5:
            raise unsupported_version("TxnOffsetCommitResponse", version, 0, 5)
        writer = BytesWriter()
        writer.write(writer_prefix)
        _write_txn_offset_commit_response(writer, self, version)
        return [writer.getvalue()]


def _read_txn_offset_commit_response(data: bytes, position: i64, version: i64) -> tuple[TxnOffsetCommitResponse, i64]:
    topics: list[TxnOffsetCommitResponseTopic]
    throttle_time_ms = read_i32_be(data, position)
    position += 4
    if version >= 3:
        count, position = read_compact_count(data, position, 3)
        topics = []
        for nth in range(count):
            topics_item, position = _read_txn_offset_commit_response_topic(data, position, version)
            topics.append(topics_item)
            if nth & LONG_RUN == LONG_RUN:
                give_way()
    else:
        count, position = read_count(data, position, 6)
        topics = []
        for nth in range(count):
            topics_item, position = _read_txn_offset_commit_response_topic(data, position, version)
            topics.append(topics_item)
            if nth & LONG_RUN == LONG_RUN:
                give_way()
    if version >= 3:
        position = skip_tags(data, position) if data[position] else position + 1
    return TxnOffsetCommitResponse(throttle_time_ms, topics), position


def _write_txn_offset_commit_response(writer: BytesWriter, message: TxnOffsetCommitResponse, version: i64) -> None:
    write_i32_be(writer, message.throttle_time_ms)
    if version >= 3:
        topics = message.topics
        write_uvarint(writer, len(topics) + 1)
        for nth, topics_item in enumerate(topics):
            _write_txn_offset_commit_response_topic(writer, topics_item, version)
            if nth & LONG_RUN == LONG_RUN:
                give_way()
    else:
        topics = message.topics
        write_i32_be(writer, len(topics))
        for nth, topics_item in enumerate(topics):
            _write_txn_offset_commit_response_topic(writer, topics_item, version)
            if nth & LONG_RUN == LONG_RUN:
                give_way()
    if version >= 3:
        writer.append(0)
