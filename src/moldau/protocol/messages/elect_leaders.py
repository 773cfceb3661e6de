"""ElectLeaders (API key 43). Generated from schema/elect_leaders.txt: do not edit."""

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
    read_i8,
    read_i32_list,
    read_nullable_count,
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
    write_i8,
    write_i32_list,
    write_nullable_string,
    write_string,
    write_uvarint,
)


class TopicPartitions(Struct):
    __slots__ = ("topic", "partitions")
    FIELDS: ClassVar[tuple[str, ...]] = ("topic", "partitions")

    def __init__(self, topic: str = "", partitions: list[int] = NO_ITEMS) -> None:
        self.topic = topic
        self.partitions = [] if partitions is NO_ITEMS else partitions


def _read_topic_partitions(data: bytes, position: i64, version: i64) -> tuple[TopicPartitions, i64]:
    topic: str
    partitions: list[int]
    if version >= 2:
        topic, position = read_compact_string(data, position)
        count, position = read_compact_count(data, position, 4)
        partitions = read_i32_list(data, position, count)
        position += 4 * count
    else:
        topic, position = read_string(data, position)
        count, position = read_count(data, position, 4)
        partitions = read_i32_list(data, position, count)
        position += 4 * count
    if version >= 2:
        position = skip_tags(data, position) if data[position] else position + 1
    return TopicPartitions(topic, partitions), position


def _write_topic_partitions(writer: BytesWriter, message: TopicPartitions, version: i64) -> None:
    if version >= 2:
        write_compact_string(writer, message.topic)
        partitions = message.partitions
        write_uvarint(writer, len(partitions) + 1)
        write_i32_list(writer, partitions)
    else:
        write_string(writer, message.topic)
        partitions = message.partitions
        write_i32_be(writer, len(partitions))
        write_i32_list(writer, partitions)
    if version >= 2:
        writer.append(0)


class PartitionResult(Struct):
    __slots__ = ("partition_id", "error_code", "error_message")
    FIELDS: ClassVar[tuple[str, ...]] = ("partition_id", "error_code", "error_message")

    def __init__(self, partition_id: int = 0, error_code: int = 0, error_message: str | None = "") -> None:
        self.partition_id = partition_id
        self.error_code = error_code
        self.error_message = error_message


def _read_partition_result(data: bytes, position: i64, version: i64) -> tuple[PartitionResult, i64]:
    error_message: str | None
    partition_id = read_i32_be(data, position)
    error_code = read_i16_be(data, position + 4)
    position += 6
    if version >= 2:
        error_message, position = read_compact_nullable_string(data, position)
    else:
        error_message, position = read_nullable_string(data, position)
    if version >= 2:
        position = skip_tags(data, position) if data[position] else position + 1
    return PartitionResult(partition_id, error_code, error_message), position


def _write_partition_result(writer: BytesWriter, message: PartitionResult, version: i64) -> None:
    write_i32_be(writer, message.partition_id)
    write_i16_be(writer, message.error_code)
    if version >= 2:
        write_compact_nullable_string(writer, message.error_message)
    else:
        write_nullable_string(writer, message.error_message)
    if version >= 2:
        writer.append(0)


class ReplicaElectionResult(Struct):
    __slots__ = ("topic", "partition_result")
    FIELDS: ClassVar[tuple[str, ...]] = ("topic", "partition_result")

    def __init__(self, topic: str = "", partition_result: list[PartitionResult] = NO_ITEMS) -> None:
        self.topic = topic
        self.partition_result = [] if partition_result is NO_ITEMS else partition_result


def _read_replica_election_result(data: bytes, position: i64, version: i64) -> tuple[ReplicaElectionResult, i64]:
    topic: str
    partition_result: list[PartitionResult]
    if version >= 2:
        topic, position = read_compact_string(data, position)
        count, position = read_compact_count(data, position, 8)
        partition_result = []
        for nth in range(count):
            partition_result_item, position = _read_partition_result(data, position, version)
            partition_result.append(partition_result_item)
            if nth & LONG_RUN == LONG_RUN:
                give_way()
    else:
        topic, position = read_string(data, position)
        count, position = read_count(data, position, 8)
        partition_result = []
        for nth in range(count):
            partition_result_item, position = _read_partition_result(data, position, version)
            partition_result.append(partition_result_item)
            if nth & LONG_RUN == LONG_RUN:
                give_way()
    if version >= 2:
        position = skip_tags(data, position) if data[position] else position + 1
    return ReplicaElectionResult(topic, partition_result), position


def _write_replica_election_result(writer: BytesWriter, message: ReplicaElectionResult, version: i64) -> None:
    if version >= 2:
        write_compact_string(writer, message.topic)
        partition_result = message.partition_result
        write_uvarint(writer, len(partition_result) + 1)
        for nth, partition_result_item in enumerate(partition_result):
            _write_partition_result(writer, partition_result_item, version)
            if nth & LONG_RUN == LONG_RUN:
                give_way()
    else:
        write_string(writer, message.topic)
        partition_result = message.partition_result
        write_i32_be(writer, len(partition_result))
        for nth, partition_result_item in enumerate(partition_result):
            _write_partition_result(writer, partition_result_item, version)
            if nth & LONG_RUN == LONG_RUN:
                give_way()
    if version >= 2:
        writer.append(0)


class ElectLeadersRequest(Message):
    """API key 43, versions 0 to 2."""

    __slots__ = ("election_type", "topic_partitions", "timeout_ms")
    FIELDS: ClassVar[tuple[str, ...]] = ("election_type", "topic_partitions", "timeout_ms")
    API_KEY: ClassVar[int] = 43
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 2
    FIRST_FLEXIBLE: ClassVar[int] = 2

    def __init__(self, election_type: int = 0, topic_partitions: list[TopicPartitions] | None = NO_ITEMS, timeout_ms: int = 60000) -> None:
        self.election_type = election_type
        self.topic_partitions = [] if topic_partitions is NO_ITEMS else topic_partitions
        self.timeout_ms = timeout_ms

    @classmethod
    def decode(cls, data: bytes, position: int, version: int) -> tuple[ElectLeadersRequest, int]:
        if version < 0 or version > 2:
            raise unknown_version("ElectLeadersRequest", version, 0, 2)
        try:
            message, end = _read_elect_leaders_request(data, position, version)
        except (IndexError, ValueError) as error:
            raise malformed("ElectLeadersRequest", version, error) from None
        return message, end

    def encode(self, version: int) -> bytes:
        if version < 0 or version > 2:
            raise unsupported_version("ElectLeadersRequest", version, 0, 2)
        writer = BytesWriter()
        _write_elect_leaders_request(writer, self, version)
        return writer.getvalue()

    def encode_parts(self, writer_prefix: bytes, version: int) -> list[Part]:
        if version < 0 or version > 2:
            raise unsupported_version("ElectLeadersRequest", version, 0, 2)
        writer = BytesWriter()
        writer.write(writer_prefix)
        _write_elect_leaders_request(writer, self, version)
        return [writer.getvalue()]


def _read_elect_leaders_request(data: bytes, position: i64, version: i64) -> tuple[ElectLeadersRequest, i64]:
    election_type: int
    topic_partitions: list[TopicPartitions] | None
    if version >= 1:
        election_type = read_i8(data, position)
        position += 1
    else:
        election_type = 0
    if version >= 2:
        count, position = read_compact_nullable_count(data, position, 3)
        if count < 0:
            topic_partitions = None
        else:
            topic_partitions = []
            for nth in range(count):
                topic_partitions_item, position = _read_topic_partitions(data, position, version)
                topic_partitions.append(topic_partitions_item)
                if nth & LONG_RUN == LONG_RUN:
                    give_way()
    else:
        count, position = read_nullable_count(data, position, 6)
        if count < 0:
            topic_partitions = None
        else:
            topic_partitions = []
            for nth in range(count):
                topic_partitions_item, position = _read_topic_partitions(data, position, version)
                topic_partitions.append(topic_partitions_item)
                if nth & LONG_RUN == LONG_RUN:
                    give_way()
    timeout_ms = read_i32_be(data, position)
    position += 4
    if version >= 2:
        position = skip_tags(data, position) if data[position] else position + 1
    return ElectLeadersRequest(election_type, topic_partitions, timeout_ms), position


def _write_elect_leaders_request(writer: BytesWriter, message: ElectLeadersRequest, version: i64) -> None:
    if version >= 1:
        write_i8(writer, message.election_type)
    else:
        if message.election_type != 0:
            raise unsupported_field("ElectLeadersRequest", "election_type", version)
    if version >= 2:
        topic_partitions = message.topic_partitions
        if topic_partitions is None:
            writer.append(0)
        else:
            write_uvarint(writer, len(topic_partitions) + 1)
            for nth, topic_partitions_item in enumerate(topic_partitions):
                _write_topic_partitions(writer, topic_partitions_item, version)
                if nth & LONG_RUN == LONG_RUN:
                    give_way()
    else:
        topic_partitions = message.topic_partitions
        if topic_partitions is None:
            write_i32_be(writer, -1)
        else:
            write_i32_be(writer, len(topic_partitions))
            for nth, topic_partitions_item in enumerate(topic_partitions):
                _write_topic_partitions(writer, topic_partitions_item, version)
                if nth & LONG_RUN == LONG_RUN:
                    give_way()
    write_i32_be(writer, message.timeout_ms)
    if version >= 2:
        writer.append(0)


class ElectLeadersResponse(Message):
    """API key 43, versions 0 to 2."""

    __slots__ = ("throttle_time_ms", "error_code", "replica_election_results")
    FIELDS: ClassVar[tuple[str, ...]] = ("throttle_time_ms", "error_code", "replica_election_results")
    API_KEY: ClassVar[int] = 43
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 2
    FIRST_FLEXIBLE: ClassVar[int] = 2

    def __init__(self, throttle_time_ms: int = 0, error_code: int = 0, replica_election_results: list[ReplicaElectionResult] = NO_ITEMS) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.replica_election_results = [] if replica_election_results is NO_ITEMS else replica_election_results

    @classmethod
    def decode(cls, data: bytes, position: int, version: int) -> tuple[ElectLeadersResponse, int]:
        if version < 0 or version > 2:
            raise unknown_version("ElectLeadersResponse", version, 0, 2)
        try:
            message, end = _read_elect_leaders_response(data, position, version)
        except (IndexError, ValueError) as error:
            raise malformed("ElectLeadersResponse", version, error) from None
        return message, end

    def encode(self, version: int) -> bytes:
        if version < 0 or version > 2:
            raise unsupported_version("ElectLeadersResponse", version, 0, 2)
        writer = BytesWriter()
        _write_elect_leaders_response(writer, self, version)
        return writer.getvalue()

    def encode_parts(self, writer_prefix: bytes, version: int) -> list[Part]:
        if version < 0 or version > 2:
            raise unsupported_version("ElectLeadersResponse", version, 0, 2)
        writer = BytesWriter()
        writer.write(writer_prefix)
        _write_elect_leaders_response(writer, self, version)
        return [writer.getvalue()]


def _read_elect_leaders_response(data: bytes, position: i64, version: i64) -> tuple[ElectLeadersResponse, i64]:
    error_code: int
    replica_election_results: list[ReplicaElectionResult]
    throttle_time_ms = read_i32_be(data, position)
    position += 4
    if version >= 1:
        error_code = read_i16_be(data, position)
        position += 2
    else:
        error_code = 0
    if version >= 2:
        count, position = read_compact_count(data, position, 3)
        replica_election_results = []
        for nth in range(count):
            replica_election_results_item, position = _read_replica_election_result(data, position, version)
            replica_election_results.append(replica_election_results_item)
            if nth & LONG_RUN == LONG_RUN:
                give_way()
    else:
        count, position = read_count(data, position, 6)
        replica_election_results = []
        for nth in range(count):
            replica_election_results_item, position = _read_replica_election_result(data, position, version)
            replica_election_results.append(replica_election_results_item)
            if nth & LONG_RUN == LONG_RUN:
                give_way()
    if version >= 2:
        position = skip_tags(data, position) if data[position] else position + 1
    return ElectLeadersResponse(throttle_time_ms, error_code, replica_election_results), position


def _write_elect_leaders_response(writer: BytesWriter, message: ElectLeadersResponse, version: i64) -> None:
    write_i32_be(writer, message.throttle_time_ms)
    if version >= 1:
        write_i16_be(writer, message.error_code)
    else:
        if message.error_code != 0:
            raise unsupported_field("ElectLeadersResponse", "error_code", version)
    if version >= 2:
        replica_election_results = message.replica_election_results
        write_uvarint(writer, len(replica_election_results) + 1)
        for nth, replica_election_results_item in enumerate(replica_election_results):
            _write_replica_election_result(writer, replica_election_results_item, version)
            if nth & LONG_RUN == LONG_RUN:
                give_way()
    else:
        replica_election_results = message.replica_election_results
        write_i32_be(writer, len(replica_election_results))
        for nth, replica_election_results_item in enumerate(replica_election_results):
            _write_replica_election_result(writer, replica_election_results_item, version)
            if nth & LONG_RUN == LONG_RUN:
                give_way()
    if version >= 2:
        writer.append(0)
