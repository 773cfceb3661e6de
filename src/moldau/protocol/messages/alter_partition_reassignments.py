"""AlterPartitionReassignments (API key 45). Generated from schema/alter_partition_reassignments.txt: do not edit."""

# fmt: off
from __future__ import annotations

from typing import ClassVar

from librt.strings import BytesWriter, read_i16_be, read_i32_be, write_i16_be, write_i32_be
from mypy_extensions import i64

from moldau.protocol.file_region import Part
from moldau.protocol.giving_way import give_way
from moldau.protocol.message import NO_ITEMS, Message, Struct
from moldau.protocol.reading import (
    LONG_RUN,
    malformed,
    read_compact_count,
    read_compact_nullable_count,
    read_compact_nullable_string,
    read_compact_string,
    read_i32_list,
    skip_tags,
    unknown_version,
)
from moldau.protocol.writing import (
    unsupported_field,
    unsupported_version,
    write_bool,
    write_compact_nullable_string,
    write_compact_string,
    write_i32_list,
    write_uvarint,
)


class ReassignablePartition(Struct):
    __slots__ = ("partition_index", "replicas")
    FIELDS: ClassVar[tuple[str, ...]] = ("partition_index", "replicas")

    def __init__(self, partition_index: int = 0, replicas: list[int] | None = None) -> None:
        self.partition_index = partition_index
        self.replicas = replicas


def _read_reassignable_partition(data: bytes, position: i64, version: i64) -> tuple[ReassignablePartition, i64]:
    replicas: list[int] | None
    partition_index = read_i32_be(data, position)
    position += 4
    count, position = read_compact_nullable_count(data, position, 4)
    if count < 0:
        replicas = None
    else:
        replicas = read_i32_list(data, position, count)
        position += 4 * count
    position = skip_tags(data, position) if data[position] else position + 1
    return ReassignablePartition(partition_index, replicas), position


def _write_reassignable_partition(writer: BytesWriter, message: ReassignablePartition, version: i64) -> None:
    write_i32_be(writer, message.partition_index)
    replicas = message.replicas
    if replicas is None:
        writer.append(0)
    else:
        write_uvarint(writer, len(replicas) + 1)
        write_i32_list(writer, replicas)
    writer.append(0)


class ReassignableTopic(Struct):
    __slots__ = ("name", "partitions")
    FIELDS: ClassVar[tuple[str, ...]] = ("name", "partitions")

    def __init__(self, name: str = "", partitions: list[ReassignablePartition] = NO_ITEMS) -> None:
        self.name = name
        self.partitions = [] if partitions is NO_ITEMS else partitions


def _read_reassignable_topic(data: bytes, position: i64, version: i64) -> tuple[ReassignableTopic, i64]:
    partitions: list[ReassignablePartition]
    name, position = read_compact_string(data, position)
    count, position = read_compact_count(data, position, 6)
    partitions = []
    for nth in range(count):
        partitions_item, position = _read_reassignable_partition(data, position, version)
        partitions.append(partitions_item)
        if nth & LONG_RUN == LONG_RUN:
            give_way()
    position = skip_tags(data, position) if data[position] else position + 1
    return ReassignableTopic(name, partitions), position


def _write_reassignable_topic(writer: BytesWriter, message: ReassignableTopic, version: i64) -> None:
    write_compact_string(writer, message.name)
    partitions = message.partitions
    write_uvarint(writer, len(partitions) + 1)
    for nth, partitions_item in enumerate(partitions):
        _write_reassignable_partition(writer, partitions_item, version)
        if nth & LONG_RUN == LONG_RUN:
            give_way()
    writer.append(0)


class ReassignablePartitionResponse(Struct):
    __slots__ = ("partition_index", "error_code", "error_message")
    FIELDS: ClassVar[tuple[str, ...]] = ("partition_index", "error_code", "error_message")

    def __init__(self, partition_index: int = 0, error_code: int = 0, error_message: str | None = "") -> None:
        self.partition_index = partition_index
        self.error_code = error_code
        self.error_message = error_message


def _read_reassignable_partition_response(data: bytes, position: i64, version: i64) -> tuple[ReassignablePartitionResponse, i64]:
    error_message: str | None
    partition_index = read_i32_be(data, position)
    error_code = read_i16_be(data, position + 4)
    position += 6
    error_message, position = read_compact_nullable_string(data, position)
    position = skip_tags(data, position) if data[position] else position + 1
    return ReassignablePartitionResponse(partition_index, error_code, error_message), position


def _write_reassignable_partition_response(writer: BytesWriter, message: ReassignablePartitionResponse, version: i64) -> None:
    write_i32_be(writer, message.partition_index)
    write_i16_be(writer, message.error_code)
    write_compact_nullable_string(writer, message.error_message)
    writer.append(0)


class ReassignableTopicResponse(Struct):
    __slots__ = ("name", "partitions")
    FIELDS: ClassVar[tuple[str, ...]] = ("name", "partitions")

    def __init__(self, name: str = "", partitions: list[ReassignablePartitionResponse] = NO_ITEMS) -> None:
        self.name = name
        self.partitions = [] if partitions is NO_ITEMS else partitions


def _read_reassignable_topic_response(data: bytes, position: i64, version: i64) -> tuple[ReassignableTopicResponse, i64]:
    partitions: list[ReassignablePartitionResponse]
    name, position = read_compact_string(data, position)
    count, position = read_compact_count(data, position, 8)
    partitions = []
    for nth in range(count):
        partitions_item, position = _read_reassignable_partition_response(data, position, version)
        partitions.append(partitions_item)
        if nth & LONG_RUN == LONG_RUN:
            give_way()
    position = skip_tags(data, position) if data[position] else position + 1
    return ReassignableTopicResponse(name, partitions), position


def _write_reassignable_topic_response(writer: BytesWriter, message: ReassignableTopicResponse, version: i64) -> None:
    write_compact_string(writer, message.name)
    partitions = message.partitions
    write_uvarint(writer, len(partitions) + 1)
    for nth, partitions_item in enumerate(partitions):
        _write_reassignable_partition_response(writer, partitions_item, version)
        if nth & LONG_RUN == LONG_RUN:
            give_way()
    writer.append(0)


class AlterPartitionReassignmentsRequest(Message):
    """API key 45, versions 0 to 1."""

    __slots__ = ("timeout_ms", "allow_replication_factor_change", "topics")
    FIELDS: ClassVar[tuple[str, ...]] = ("timeout_ms", "allow_replication_factor_change", "topics")
    API_KEY: ClassVar[int] = 45
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 1
    FIRST_FLEXIBLE: ClassVar[int] = 0

    def __init__(self, timeout_ms: int = 60000, allow_replication_factor_change: bool = True, topics: list[ReassignableTopic] = NO_ITEMS) -> None:
        self.timeout_ms = timeout_ms
        self.allow_replication_factor_change = allow_replication_factor_change
        self.topics = [] if topics is NO_ITEMS else topics

    @classmethod
    def decode(cls, data: bytes, position: int, version: int) -> tuple[AlterPartitionReassignmentsRequest, int]:
        if version < 0 or version > 1:
            raise unknown_version("AlterPartitionReassignmentsRequest", version, 0, 1)
        try:
            message, end = _read_alter_partition_reassignments_request(data, position, version)
        except (IndexError, ValueError) as error:
            raise malformed("AlterPartitionReassignmentsRequest", version, error) from None
        return message, end

    def encode(self, version: int) -> bytes:
        if version < 0 or version > 1:
            raise unsupported_version("AlterPartitionReassignmentsRequest", version, 0, 1)
        writer = BytesWriter()
        _write_alter_partition_reassignments_request(writer, self, version)
        return writer.getvalue()

    def encode_parts(self, writer_prefix: bytes, version: int) -> list[Part]:
        if version < 0 or version > 1:
            raise unsupported_version("AlterPartitionReassignmentsRequest", version, 0, 1)
        writer = BytesWriter()
        writer.write(writer_prefix)
        _write_alter_partition_reassignments_request(writer, self, version)
        return [writer.getvalue()]


def _read_alter_partition_reassignments_request(data: bytes, position: i64, version: i64) -> tuple[AlterPartitionReassignmentsRequest, i64]:
    allow_replication_factor_change: bool
    topics: list[ReassignableTopic]
    timeout_ms = read_i32_be(data, position)
    position += 4
    if version >= 1:
        allow_replication_factor_change = data[position] != 0
        position += 1
    else:
        allow_replication_factor_change = True
    count, position = read_compact_count(data, position, 3)
    topics = []
    for nth in range(count):
        topics_item, position = _read_reassignable_topic(data, position, version)
        topics.append(topics_item)
        if nth & LONG_RUN == LONG_RUN:
            give_way()
    position = skip_tags(data, position) if data[position] else position + 1
    return AlterPartitionReassignmentsRequest(timeout_ms, allow_replication_factor_change, topics), position


def _write_alter_partition_reassignments_request(writer: BytesWriter, message: AlterPartitionReassignmentsRequest, version: i64) -> None:
    write_i32_be(writer, message.timeout_ms)
    if version >= 1:
        write_bool(writer, message.allow_replication_factor_change)
    else:
        if not message.allow_replication_factor_change:
            raise unsupported_field("AlterPartitionReassignmentsRequest", "allow_replication_factor_change", version)
    topics = message.topics
    write_uvarint(writer, len(topics) + 1)
    for nth, topics_item in enumerate(topics):
        _write_reassignable_topic(writer, topics_item, version)
        if nth & LONG_RUN == LONG_RUN:
            give_way()
    writer.append(0)


class AlterPartitionReassignmentsResponse(Message):
    """API key 45, versions 0 to 1."""

    __slots__ = ("throttle_time_ms", "allow_replication_factor_change", "error_code", "error_message", "responses")
    FIELDS: ClassVar[tuple[str, ...]] = ("throttle_time_ms", "allow_replication_factor_change", "error_code", "error_message", "responses")
    API_KEY: ClassVar[int] = 45
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 1
    FIRST_FLEXIBLE: ClassVar[int] = 0

    def __init__(self, throttle_time_ms: int = 0, allow_replication_factor_change: bool = True, error_code: int = 0, error_message: str | None = "", responses: list[ReassignableTopicResponse] = NO_ITEMS) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.allow_replication_factor_change = allow_replication_factor_change
        self.error_code = error_code
        self.error_message = error_message
        self.responses = [] if responses is NO_ITEMS else responses

    @classmethod
    def decode(cls, data: bytes, position: int, version: int) -> tuple[AlterPartitionReassignmentsResponse, int]:
        if version < 0 or version > 1:
            raise unknown_version("AlterPartitionReassignmentsResponse", version, 0, 1)
        try:
            message, end = _read_alter_partition_reassignments_response(data, position, version)
        except (IndexError, ValueError) as error:
            raise malformed("AlterPartitionReassignmentsResponse", version, error) from None
        return message, end

    def encode(self, version: int) -> bytes:
        if version < 0 or version > 1:
            raise unsupported_version("AlterPartitionReassignmentsResponse", version, 0, 1)
        writer = BytesWriter()
        _write_alter_partition_reassignments_response(writer, self, version)
        return writer.getvalue()

    def encode_parts(self, writer_prefix: bytes, version: int) -> list[Part]:
        if version < 0 or version > 1:
            raise unsupported_version("AlterPartitionReassignmentsResponse", version, 0, 1)
        writer = BytesWriter()
        writer.write(writer_prefix)
        _write_alter_partition_reassignments_response(writer, self, version)
        return [writer.getvalue()]


def _read_alter_partition_reassignments_response(data: bytes, position: i64, version: i64) -> tuple[AlterPartitionReassignmentsResponse, i64]:
    allow_replication_factor_change: bool
    error_message: str | None
    responses: list[ReassignableTopicResponse]
    throttle_time_ms = read_i32_be(data, position)
    position += 4
    if version >= 1:
        allow_replication_factor_change = data[position] != 0
        position += 1
    else:
        allow_replication_factor_change = True
    error_code = read_i16_be(data, position)
    position += 2
    error_message, position = read_compact_nullable_string(data, position)
    count, position = read_compact_count(data, position, 3)
    responses = []
    for nth in range(count):
        responses_item, position = _read_reassignable_topic_response(data, position, version)
        responses.append(responses_item)
        if nth & LONG_RUN == LONG_RUN:
            give_way()
    position = skip_tags(data, position) if data[position] else position + 1
    return AlterPartitionReassignmentsResponse(throttle_time_ms, allow_replication_factor_change, error_code, error_message, responses), position


def _write_alter_partition_reassignments_response(writer: BytesWriter, message: AlterPartitionReassignmentsResponse, version: i64) -> None:
    write_i32_be(writer, message.throttle_time_ms)
    if version >= 1:
        write_bool(writer, message.allow_replication_factor_change)
    write_i16_be(writer, message.error_code)
    write_compact_nullable_string(writer, message.error_message)
    responses = message.responses
    write_uvarint(writer, len(responses) + 1)
    for nth, responses_item in enumerate(responses):
        _write_reassignable_topic_response(writer, responses_item, version)
        if nth & LONG_RUN == LONG_RUN:
            give_way()
    writer.append(0)
