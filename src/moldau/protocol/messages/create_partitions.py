"""CreatePartitions (API key 37). Generated from schema/create_partitions.txt: do not edit."""

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
    read_count,
    read_i32_list,
    read_nullable_count,
    read_nullable_string,
    read_string,
    skip_tags,
    unknown_version,
)
from moldau.protocol.writing import (
    unsupported_version,
    write_bool,
    write_compact_nullable_string,
    write_compact_string,
    write_i32_list,
    write_nullable_string,
    write_string,
    write_uvarint,
)


class CreatePartitionsAssignment(Struct):
    __slots__ = ("broker_ids",)
    FIELDS: ClassVar[tuple[str, ...]] = ("broker_ids",)

    def __init__(self, broker_ids: list[int] = NO_ITEMS) -> None:
        self.broker_ids = [] if broker_ids is NO_ITEMS else broker_ids


def _read_create_partitions_assignment(data: bytes, position: i64, version: i64) -> tuple[CreatePartitionsAssignment, i64]:
    broker_ids: list[int]
    if version >= 2:
        count, position = read_compact_count(data, position, 4)
        broker_ids = read_i32_list(data, position, count)
        position += 4 * count
    else:
        count, position = read_count(data, position, 4)
        broker_ids = read_i32_list(data, position, count)
        position += 4 * count
    if version >= 2:
        position = skip_tags(data, position) if data[position] else position + 1
    return CreatePartitionsAssignment(broker_ids), position


def _write_create_partitions_assignment(writer: BytesWriter, message: CreatePartitionsAssignment, version: i64) -> None:
    if version >= 2:
        broker_ids = message.broker_ids
        write_uvarint(writer, len(broker_ids) + 1)
        write_i32_list(writer, broker_ids)
    else:
        broker_ids = message.broker_ids
        write_i32_be(writer, len(broker_ids))
        write_i32_list(writer, broker_ids)
    if version >= 2:
        writer.append(0)


class CreatePartitionsTopic(Struct):
    __slots__ = ("name", "count", "assignments")
    FIELDS: ClassVar[tuple[str, ...]] = ("name", "count", "assignments")

    def __init__(self, name: str = "", count: int = 0, assignments: list[CreatePartitionsAssignment] | None = NO_ITEMS) -> None:
        self.name = name
        self.count = count
        self.assignments = [] if assignments is NO_ITEMS else assignments


def _read_create_partitions_topic(data: bytes, position: i64, version: i64) -> tuple[CreatePartitionsTopic, i64]:
    name: str
    assignments: list[CreatePartitionsAssignment] | None
    if version >= 2:
        name, position = read_compact_string(data, position)
    else:
        name, position = read_string(data, position)
    count_ = read_i32_be(data, position)
    position += 4
    if version >= 2:
        count, position = read_compact_nullable_count(data, position, 2)
        if count < 0:
            assignments = None
        else:
            assignments = []
            for nth in range(count):
                assignments_item, position = _read_create_partitions_assignment(data, position, version)
                assignments.append(assignments_item)
                if nth & LONG_RUN == LONG_RUN:
                    give_way()
    else:
        count, position = read_nullable_count(data, position, 4)
        if count < 0:
            assignments = None
        else:
            assignments = []
            for nth in range(count):
                assignments_item, position = _read_create_partitions_assignment(data, position, version)
                assignments.append(assignments_item)
                if nth & LONG_RUN == LONG_RUN:
                    give_way()
    if version >= 2:
        position = skip_tags(data, position) if data[position] else position + 1
    return CreatePartitionsTopic(name, count_, assignments), position


def _write_create_partitions_topic(writer: BytesWriter, message: CreatePartitionsTopic, version: i64) -> None:
    if version >= 2:
        write_compact_string(writer, message.name)
    else:
        write_string(writer, message.name)
    write_i32_be(writer, message.count)
    if version >= 2:
        assignments = message.assignments
        if assignments is None:
            writer.append(0)
        else:
            write_uvarint(writer, len(assignments) + 1)
            for nth, assignments_item in enumerate(assignments):
                _write_create_partitions_assignment(writer, assignments_item, version)
                if nth & LONG_RUN == LONG_RUN:
                    give_way()
    else:
        assignments = message.assignments
        if assignments is None:
            write_i32_be(writer, -1)
        else:
            write_i32_be(writer, len(assignments))
            for nth, assignments_item in enumerate(assignments):
                _write_create_partitions_assignment(writer, assignments_item, version)
                if nth & LONG_RUN == LONG_RUN:
                    give_way()
    if version >= 2:
        writer.append(0)


class CreatePartitionsTopicResult(Struct):
    __slots__ = ("name", "error_code", "error_message")
    FIELDS: ClassVar[tuple[str, ...]] = ("name", "error_code", "error_message")

    def __init__(self, name: str = "", error_code: int = 0, error_message: str | None = None) -> None:
        self.name = name
        self.error_code = error_code
        self.error_message = error_message


def _read_create_partitions_topic_result(data: bytes, position: i64, version: i64) -> tuple[CreatePartitionsTopicResult, i64]:
    name: str
    error_message: str | None
    if version >= 2:
        name, position = read_compact_string(data, position)
    else:
        name, position = read_string(data, position)
    error_code = read_i16_be(data, position)
    position += 2
    if version >= 2:
        error_message, position = read_compact_nullable_string(data, position)
    else:
        error_message, position = read_nullable_string(data, position)
    if version >= 2:
        position = skip_tags(data, position) if data[position] else position + 1
    return CreatePartitionsTopicResult(name, error_code, error_message), position


def _write_create_partitions_topic_result(writer: BytesWriter, message: CreatePartitionsTopicResult, version: i64) -> None:
    if version >= 2:
        write_compact_string(writer, message.name)
    else:
        write_string(writer, message.name)
    write_i16_be(writer, message.error_code)
    if version >= 2:
        write_compact_nullable_string(writer, message.error_message)
    else:
        write_nullable_string(writer, message.error_message)
    if version >= 2:
        writer.append(0)


class CreatePartitionsRequest(Message):
    """API key 37, versions 0 to 3."""

    __slots__ = ("topics", "timeout_ms", "validate_only")
    FIELDS: ClassVar[tuple[str, ...]] = ("topics", "timeout_ms", "validate_only")
    API_KEY: ClassVar[int] = 37
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 3
    FIRST_FLEXIBLE: ClassVar[int] = 2

    def __init__(self, topics: list[CreatePartitionsTopic] = NO_ITEMS, timeout_ms: int = 0, validate_only: bool = False) -> None:
        self.topics = [] if topics is NO_ITEMS else topics
        self.timeout_ms = timeout_ms
        self.validate_only = validate_only

    @classmethod
    def decode(cls, data: bytes, position: int, version: int) -> tuple[CreatePartitionsRequest, int]:
        if version < 0 or version > 3:
            raise unknown_version("CreatePartitionsRequest", version, 0, 3)
        try:
            message, end = _read_create_partitions_request(data, position, version)
        except (IndexError, ValueError) as error:
            raise malformed("CreatePartitionsRequest", version, error) from None
        return message, end

    def encode(self, version: int) -> bytes:
        if version < 0 or version > 3:
            raise unsupported_version("CreatePartitionsRequest", version, 0, 3)
        writer = BytesWriter()
        _write_create_partitions_request(writer, self, version)
        return writer.getvalue()

    def encode_parts(self, writer_prefix: bytes, version: int) -> list[Part]:
        if version < 0 or version > 3:
            raise unsupported_version("CreatePartitionsRequest", version, 0, 3)
        writer = BytesWriter()
        writer.write(writer_prefix)
        _write_create_partitions_request(writer, self, version)
        return [writer.getvalue()]


def _read_create_partitions_request(data: bytes, position: i64, version: i64) -> tuple[CreatePartitionsRequest, i64]:
    topics: list[CreatePartitionsTopic]
    if version >= 2:
        count, position = read_compact_count(data, position, 7)
        topics = []
        for nth in range(count):
            topics_item, position = _read_create_partitions_topic(data, position, version)
            topics.append(topics_item)
            if nth & LONG_RUN == LONG_RUN:
                give_way()
    else:
        count, position = read_count(data, position, 10)
        topics = []
        for nth in range(count):
            topics_item, position = _read_create_partitions_topic(data, position, version)
            topics.append(topics_item)
            if nth & LONG_RUN == LONG_RUN:
                give_way()
    timeout_ms = read_i32_be(data, position)
    validate_only = data[position + 4] != 0
    position += 5
    if version >= 2:
        position = skip_tags(data, position) if data[position] else position + 1
    return CreatePartitionsRequest(topics, timeout_ms, validate_only), position


def _write_create_partitions_request(writer: BytesWriter, message: CreatePartitionsRequest, version: i64) -> None:
    if version >= 2:
        topics = message.topics
        write_uvarint(writer, len(topics) + 1)
        for nth, topics_item in enumerate(topics):
            _write_create_partitions_topic(writer, topics_item, version)
            if nth & LONG_RUN == LONG_RUN:
                give_way()
    else:
        topics = message.topics
        write_i32_be(writer, len(topics))
        for nth, topics_item in enumerate(topics):
            _write_create_partitions_topic(writer, topics_item, version)
            if nth & LONG_RUN == LONG_RUN:
                give_way()
    write_i32_be(writer, message.timeout_ms)
    write_bool(writer, message.validate_only)
    if version >= 2:
        writer.append(0)


class CreatePartitionsResponse(Message):
    """API key 37, versions 0 to 3."""

    __slots__ = ("throttle_time_ms", "results")
    FIELDS: ClassVar[tuple[str, ...]] = ("throttle_time_ms", "results")
    API_KEY: ClassVar[int] = 37
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 3
    FIRST_FLEXIBLE: ClassVar[int] = 2

    def __init__(self, throttle_time_ms: int = 0, results: list[CreatePartitionsTopicResult] = NO_ITEMS) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.results = [] if results is NO_ITEMS else results

    @classmethod
    def decode(cls, data: bytes, position: int, version: int) -> tuple[CreatePartitionsResponse, int]:
        if version < 0 or version > 3:
            raise unknown_version("CreatePartitionsResponse", version, 0, 3)
        try:
            message, end = _read_create_partitions_response(data, position, version)
        except (IndexError, ValueError) as error:
            raise malformed("CreatePartitionsResponse", version, error) from None
        return message, end

    def encode(self, version: int) -> bytes:
        if version < 0 or version > 3:
            raise unsupported_version("CreatePartitionsResponse", version, 0, 3)
        writer = BytesWriter()
        _write_create_partitions_response(writer, self, version)
        return writer.getvalue()

    def encode_parts(self, writer_prefix: bytes, version: int) -> list[Part]:
        if version < 0 or version > 3:
            raise unsupported_version("CreatePartitionsResponse", version, 0, 3)
        writer = BytesWriter()
        writer.write(writer_prefix)
        _write_create_partitions_response(writer, self, version)
        return [writer.getvalue()]


def _read_create_partitions_response(data: bytes, position: i64, version: i64) -> tuple[CreatePartitionsResponse, i64]:
    results: list[CreatePartitionsTopicResult]
    throttle_time_ms = read_i32_be(data, position)
    position += 4
    if version >= 2:
        count, position = read_compact_count(data, position, 5)
        results = []
        for nth in range(count):
            results_item, position = _read_create_partitions_topic_result(data, position, version)
            results.append(results_item)
            if nth & LONG_RUN == LONG_RUN:
                give_way()
    else:
        count, position = read_count(data, position, 6)
        results = []
        for nth in range(count):
            results_item, position = _read_create_partitions_topic_result(data, position, version)
            results.append(results_item)
            if nth & LONG_RUN == LONG_RUN:
                give_way()
    if version >= 2:
        position = skip_tags(data, position) if data[position] else position + 1
    return CreatePartitionsResponse(throttle_time_ms, results), position


def _write_create_partitions_response(writer: BytesWriter, message: CreatePartitionsResponse, version: i64) -> None:
    write_i32_be(writer, message.throttle_time_ms)
    if version >= 2:
        results = message.results
        write_uvarint(writer, len(results) + 1)
        for nth, results_item in enumerate(results):
            _write_create_partitions_topic_result(writer, results_item, version)
            if nth & LONG_RUN == LONG_RUN:
                give_way()
    else:
        results = message.results
        write_i32_be(writer, len(results))
        for nth, results_item in enumerate(results):
            _write_create_partitions_topic_result(writer, results_item, version)
            if nth & LONG_RUN == LONG_RUN:
                give_way()
    if version >= 2:
        writer.append(0)
