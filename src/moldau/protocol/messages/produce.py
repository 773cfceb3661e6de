"""Produce (API key 0). Generated from schema/produce.txt: do not edit."""

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
    read_compact_nullable_records,
    read_compact_nullable_string,
    read_compact_string,
    read_count,
    read_nullable_records,
    read_nullable_string,
    read_string,
    read_tag,
    read_uuid,
    read_uvarint,
    skip_tags,
    unknown_version,
    wrong_tag_size,
)
from moldau.protocol.writing import (
    unsupported_field,
    unsupported_version,
    write_compact_nullable_records,
    write_compact_nullable_string,
    write_compact_string,
    write_nullable_records,
    write_nullable_string,
    write_string,
    write_tag,
    write_uuid,
    write_uvarint,
)


class PartitionProduceData(Struct):
    __slots__ = ("index", "records")
    FIELDS: ClassVar[tuple[str, ...]] = ("index", "records")

    def __init__(self, index: int = 0, records: bytes | memoryview | None = None) -> None:
        self.index = index
        self.records = records


def _read_partition_produce_data(data: bytes, position: i64, version: i64) -> tuple[PartitionProduceData, i64]:
    index = read_i32_be(data, position)
    position += 4
    if version >= 9:
        records, position = read_compact_nullable_records(data, position)
    else:
        records, position = read_nullable_records(data, position)
    if version >= 9:
        position = skip_tags(data, position) if data[position] else position + 1
    return PartitionProduceData(index, records), position


def _write_partition_produce_data(writer: BytesWriter, parts: list[Part] | None, message: PartitionProduceData, version: i64) -> None:
    write_i32_be(writer, message.index)
    if version >= 9:
        write_compact_nullable_records(writer, parts, message.records)
    else:
        write_nullable_records(writer, parts, message.records)
    if version >= 9:
        writer.append(0)


class TopicProduceData(Struct):
    __slots__ = ("name", "topic_id", "partition_data")
    FIELDS: ClassVar[tuple[str, ...]] = ("name", "topic_id", "partition_data")

    def __init__(self, name: str = "", topic_id: bytes = NO_UUID, partition_data: list[PartitionProduceData] = NO_ITEMS) -> None:
        self.name = name
        self.topic_id = topic_id
        self.partition_data = [] if partition_data is NO_ITEMS else partition_data


def _read_topic_produce_data(data: bytes, position: i64, version: i64) -> tuple[TopicProduceData, i64]:
    name: str
    topic_id: bytes
    partition_data: list[PartitionProduceData]
    if version >= 13:
        name = ""
    elif version >= 9:
        name, position = read_compact_string(data, position)
    else:
        name, position = read_string(data, position)
    if version >= 13:
        topic_id = read_uuid(data, position)
        position += 16
    else:
        topic_id = NO_UUID
    if version >= 9:
        count, position = read_compact_count(data, position, 6)
        partition_data = []
        for nth in range(count):
            partition_data_item, position = _read_partition_produce_data(data, position, version)
            partition_data.append(partition_data_item)
            if nth & LONG_RUN == LONG_RUN:
                give_way()
    else:
        count, position = read_count(data, position, 8)
        partition_data = []
        for nth in range(count):
            partition_data_item, position = _read_partition_produce_data(data, position, version)
            partition_data.append(partition_data_item)
            if nth & LONG_RUN == LONG_RUN:
                give_way()
    if version >= 9:
        position = skip_tags(data, position) if data[position] else position + 1
    return TopicProduceData(name, topic_id, partition_data), position


def _write_topic_produce_data(writer: BytesWriter, parts: list[Part] | None, message: TopicProduceData, version: i64) -> None:
    if version >= 13:
        pass
    elif version >= 9:
        write_compact_string(writer, message.name)
    else:
        write_string(writer, message.name)
    if version >= 13:
        write_uuid(writer, message.topic_id)
    if version >= 9:
        partition_data = message.partition_data
        write_uvarint(writer, len(partition_data) + 1)
        for nth, partition_data_item in enumerate(partition_data):
            _write_partition_produce_data(writer, parts, partition_data_item, version)
            if nth & LONG_RUN == LONG_RUN:
                give_way()
    else:
        partition_data = message.partition_data
        write_i32_be(writer, len(partition_data))
        for nth, partition_data_item in enumerate(partition_data):
            _write_partition_produce_data(writer, parts, partition_data_item, version)
            if nth & LONG_RUN == LONG_RUN:
                give_way()
    if version >= 9:
        writer.append(0)


class BatchIndexAndErrorMessage(Struct):
    __slots__ = ("batch_index", "batch_index_error_message")
    FIELDS: ClassVar[tuple[str, ...]] = ("batch_index", "batch_index_error_message")

    def __init__(self, batch_index: int = 0, batch_index_error_message: str | None = None) -> None:
        self.batch_index = batch_index
        self.batch_index_error_message = batch_index_error_message


def _read_batch_index_and_error_message(data: bytes, position: i64, version: i64) -> tuple[BatchIndexAndErrorMessage, i64]:
    batch_index_error_message: str | None
    batch_index = read_i32_be(data, position)
    position += 4
    if version >= 9:
        batch_index_error_message, position = read_compact_nullable_string(data, position)
    else:
        batch_index_error_message, position = read_nullable_string(data, position)
    if version >= 9:
        position = skip_tags(data, position) if data[position] else position + 1
    return BatchIndexAndErrorMessage(batch_index, batch_index_error_message), position


def _write_batch_index_and_error_message(writer: BytesWriter, message: BatchIndexAndErrorMessage, version: i64) -> None:
    write_i32_be(writer, message.batch_index)
    if version >= 9:
        write_compact_nullable_string(writer, message.batch_index_error_message)
    else:
        write_nullable_string(writer, message.batch_index_error_message)
    if version >= 9:
        writer.append(0)


class LeaderIdAndEpoch(Struct):
    __slots__ = ("leader_id", "leader_epoch")
    FIELDS: ClassVar[tuple[str, ...]] = ("leader_id", "leader_epoch")

    def __init__(self, leader_id: int = -1, leader_epoch: int = -1) -> None:
        self.leader_id = leader_id
        self.leader_epoch = leader_epoch


def _read_leader_id_and_epoch(data: bytes, position: i64, version: i64) -> tuple[LeaderIdAndEpoch, i64]:
    leader_id = read_i32_be(data, position)
    leader_epoch = read_i32_be(data, position + 4)
    position += 8
    position = skip_tags(data, position) if data[position] else position + 1
    return LeaderIdAndEpoch(leader_id, leader_epoch), position


def _write_leader_id_and_epoch(writer: BytesWriter, message: LeaderIdAndEpoch, version: i64) -> None:
    write_i32_be(writer, message.leader_id)
    write_i32_be(writer, message.leader_epoch)
    writer.append(0)


class PartitionProduceResponse(Struct):
    __slots__ = ("index", "error_code", "base_offset", "log_append_time_ms", "log_start_offset", "record_errors", "error_message", "current_leader")
    FIELDS: ClassVar[tuple[str, ...]] = ("index", "error_code", "base_offset", "log_append_time_ms", "log_start_offset", "record_errors", "error_message", "current_leader")

    def __init__(self, index: int = 0, error_code: int = 0, base_offset: int = 0, log_append_time_ms: int = -1, log_start_offset: int = -1, record_errors: list[BatchIndexAndErrorMessage] = NO_ITEMS, error_message: str | None = None, current_leader: LeaderIdAndEpoch | None = None) -> None:
        self.index = index
        self.error_code = error_code
        self.base_offset = base_offset
        self.log_append_time_ms = log_append_time_ms
        self.log_start_offset = log_start_offset
        self.record_errors = [] if record_errors is NO_ITEMS else record_errors
        self.error_message = error_message
        self.current_leader = current_leader


def _read_partition_produce_response(data: bytes, position: i64, version: i64) -> tuple[PartitionProduceResponse, i64]:
    log_start_offset: int
    record_errors: list[BatchIndexAndErrorMessage]
    error_message: str | None
    current_leader: LeaderIdAndEpoch | None = None
    index = read_i32_be(data, position)
    error_code = read_i16_be(data, position + 4)
    base_offset = read_i64_be(data, position + 6)
    log_append_time_ms = read_i64_be(data, position + 14)
    position += 22
    if version >= 5:
        log_start_offset = read_i64_be(data, position)
        position += 8
    else:
        log_start_offset = -1
    if version >= 9:
        count, position = read_compact_count(data, position, 6)
        record_errors = []
        for nth in range(count):
            record_errors_item, position = _read_batch_index_and_error_message(data, position, version)
            record_errors.append(record_errors_item)
            if nth & LONG_RUN == LONG_RUN:
                give_way()
        error_message, position = read_compact_nullable_string(data, position)
    elif version >= 8:
        count, position = read_count(data, position, 6)
        record_errors = []
        for nth in range(count):
            record_errors_item, position = _read_batch_index_and_error_message(data, position, version)
            record_errors.append(record_errors_item)
            if nth & LONG_RUN == LONG_RUN:
                give_way()
        error_message, position = read_nullable_string(data, position)
    else:
        record_errors = []
        error_message = None
    if version >= 9:
        if data[position]:
            tags, position = read_uvarint(data, position)
            for _ in range(tags):
                tag, position, end = read_tag(data, position)
                if tag == 0 and version >= 10:
                    current_leader, position = _read_leader_id_and_epoch(data, position, version)
                else:
                    position = end
                if position != end:
                    raise wrong_tag_size(tag)
        else:
            position += 1
    return PartitionProduceResponse(index, error_code, base_offset, log_append_time_ms, log_start_offset, record_errors, error_message, current_leader), position


def _write_partition_produce_response(writer: BytesWriter, message: PartitionProduceResponse, version: i64) -> None:
    write_i32_be(writer, message.index)
    write_i16_be(writer, message.error_code)
    write_i64_be(writer, message.base_offset)
    write_i64_be(writer, message.log_append_time_ms)
    if version >= 5:
        write_i64_be(writer, message.log_start_offset)
    if version >= 9:
        record_errors = message.record_errors
        write_uvarint(writer, len(record_errors) + 1)
        for nth, record_errors_item in enumerate(record_errors):
            _write_batch_index_and_error_message(writer, record_errors_item, version)
            if nth & LONG_RUN == LONG_RUN:
                give_way()
        write_compact_nullable_string(writer, message.error_message)
    elif version >= 8:
        record_errors = message.record_errors
        write_i32_be(writer, len(record_errors))
        for nth, record_errors_item in enumerate(record_errors):
            _write_batch_index_and_error_message(writer, record_errors_item, version)
            if nth & LONG_RUN == LONG_RUN:
                give_way()
        write_nullable_string(writer, message.error_message)
    if version < 10:
        if message.current_leader is not None and (message.current_leader.leader_id != -1 or message.current_leader.leader_epoch != -1):
            raise unsupported_field("PartitionProduceResponse", "current_leader", version)
    if version >= 9:
        if version >= 10 and (message.current_leader is not None and (message.current_leader.leader_id != -1 or message.current_leader.leader_epoch != -1)):
            writer.append(1)
            body = BytesWriter()
            _write_leader_id_and_epoch(body, message.current_leader, version)
            write_tag(writer, 0, body)
        else:
            writer.append(0)


class TopicProduceResponse(Struct):
    __slots__ = ("name", "topic_id", "partition_responses")
    FIELDS: ClassVar[tuple[str, ...]] = ("name", "topic_id", "partition_responses")

    def __init__(self, name: str = "", topic_id: bytes = NO_UUID, partition_responses: list[PartitionProduceResponse] = NO_ITEMS) -> None:
        self.name = name
        self.topic_id = topic_id
        self.partition_responses = [] if partition_responses is NO_ITEMS else partition_responses


def _read_topic_produce_response(data: bytes, position: i64, version: i64) -> tuple[TopicProduceResponse, i64]:
    name: str
    topic_id: bytes
    partition_responses: list[PartitionProduceResponse]
    if version >= 13:
        name = ""
    elif version >= 9:
        name, position = read_compact_string(data, position)
    else:
        name, position = read_string(data, position)
    if version >= 13:
        topic_id = read_uuid(data, position)
        position += 16
    else:
        topic_id = NO_UUID
    if version >= 9:
        count, position = read_compact_count(data, position, 33)
        partition_responses = []
        for nth in range(count):
            partition_responses_item, position = _read_partition_produce_response(data, position, version)
            partition_responses.append(partition_responses_item)
            if nth & LONG_RUN == LONG_RUN:
                give_way()
    else:
        count, position = read_count(data, position, 22)
        partition_responses = []
        for nth in range(count):
            partition_responses_item, position = _read_partition_produce_response(data, position, version)
            partition_responses.append(partition_responses_item)
            if nth & LONG_RUN == LONG_RUN:
                give_way()
    if version >= 9:
        position = skip_tags(data, position) if data[position] else position + 1
    return TopicProduceResponse(name, topic_id, partition_responses), position


def _write_topic_produce_response(writer: BytesWriter, message: TopicProduceResponse, version: i64) -> None:
    if version >= 13:
        pass
    elif version >= 9:
        write_compact_string(writer, message.name)
    else:
        write_string(writer, message.name)
    if version >= 13:
        write_uuid(writer, message.topic_id)
    if version >= 9:
        partition_responses = message.partition_responses
        write_uvarint(writer, len(partition_responses) + 1)
        for nth, partition_responses_item in enumerate(partition_responses):
            _write_partition_produce_response(writer, partition_responses_item, version)
            if nth & LONG_RUN == LONG_RUN:
                give_way()
    else:
        partition_responses = message.partition_responses
        write_i32_be(writer, len(partition_responses))
        for nth, partition_responses_item in enumerate(partition_responses):
            _write_partition_produce_response(writer, partition_responses_item, version)
            if nth & LONG_RUN == LONG_RUN:
                give_way()
    if version >= 9:
        writer.append(0)


class NodeEndpoint(Struct):
    __slots__ = ("node_id", "host", "port", "rack")
    FIELDS: ClassVar[tuple[str, ...]] = ("node_id", "host", "port", "rack")

    def __init__(self, node_id: int = 0, host: str = "", port: int = 0, rack: str | None = None) -> None:
        self.node_id = node_id
        self.host = host
        self.port = port
        self.rack = rack


def _read_node_endpoint(data: bytes, position: i64, version: i64) -> tuple[NodeEndpoint, i64]:
    rack: str | None
    node_id = read_i32_be(data, position)
    position += 4
    host, position = read_compact_string(data, position)
    port = read_i32_be(data, position)
    position += 4
    rack, position = read_compact_nullable_string(data, position)
    position = skip_tags(data, position) if data[position] else position + 1
    return NodeEndpoint(node_id, host, port, rack), position


def _write_node_endpoint(writer: BytesWriter, message: NodeEndpoint, version: i64) -> None:
    write_i32_be(writer, message.node_id)
    write_compact_string(writer, message.host)
    write_i32_be(writer, message.port)
    write_compact_nullable_string(writer, message.rack)
    writer.append(0)


class ProduceRequest(Message):
    """API key 0, versions 3 to 13."""

    __slots__ = ("transactional_id", "acks", "timeout_ms", "topic_data")
    FIELDS: ClassVar[tuple[str, ...]] = ("transactional_id", "acks", "timeout_ms", "topic_data")
    API_KEY: ClassVar[int] = 0
    MIN_VERSION: ClassVar[int] = 3
    MAX_VERSION: ClassVar[int] = 13
    FIRST_FLEXIBLE: ClassVar[int] = 9

    def __init__(self, transactional_id: str | None = None, acks: int = 0, timeout_ms: int = 0, topic_data: list[TopicProduceData] = NO_ITEMS) -> None:
        self.transactional_id = transactional_id
        self.acks = acks
        self.timeout_ms = timeout_ms
        self.topic_data = [] if topic_data is NO_ITEMS else topic_data

    @classmethod
    def decode(cls, data: bytes, position: int, version: int) -> tuple[ProduceRequest, int]:
        if version < 3 or version > 13:
            raise unknown_version("ProduceRequest", version, 3, 13)
        try:
            message, end = _read_produce_request(data, position, version)
        except (IndexError, ValueError) as error:
            raise malformed("ProduceRequest", version, error) from None
        return message, end

    def encode(self, version: int) -> bytes:
        if version < 3 or version > 13:
            raise unsupported_version("ProduceRequest", version, 3, 13)
        writer = BytesWriter()
        _write_produce_request(writer, None, self, version)
        return writer.getvalue()

    def encode_parts(self, writer_prefix: bytes, version: int) -> list[Part]:
        if version < 3 or version > 13:
            raise unsupported_version("ProduceRequest", version, 3, 13)
        writer = BytesWriter()
        writer.write(writer_prefix)
        parts: list[Part] = []
        _write_produce_request(writer, parts, self, version)
        parts.append(writer.getvalue())
        return parts


def _read_produce_request(data: bytes, position: i64, version: i64) -> tuple[ProduceRequest, i64]:
    transactional_id: str | None
    topic_data: list[TopicProduceData]
    if version >= 9:
        transactional_id, position = read_compact_nullable_string(data, position)
    else:
        transactional_id, position = read_nullable_string(data, position)
    acks = read_i16_be(data, position)
    timeout_ms = read_i32_be(data, position + 2)
    position += 6
    if version >= 9:
        count, position = read_compact_count(data, position, 3)
        topic_data = []
        for nth in range(count):
            topic_data_item, position = _read_topic_produce_data(data, position, version)
            topic_data.append(topic_data_item)
            if nth & LONG_RUN == LONG_RUN:
                give_way()
    else:
        count, position = read_count(data, position, 6)
        topic_data = []
        for nth in range(count):
            topic_data_item, position = _read_topic_produce_data(data, position, version)
            topic_data.append(topic_data_item)
            if nth & LONG_RUN == LONG_RUN:
                give_way()
    if version >= 9:
        position = skip_tags(data, position) if data[position] else position + 1
    return ProduceRequest(transactional_id, acks, timeout_ms, topic_data), position


def _write_produce_request(writer: BytesWriter, parts: list[Part] | None, message: ProduceRequest, version: i64) -> None:
    if version >= 9:
        write_compact_nullable_string(writer, message.transactional_id)
    else:
        write_nullable_string(writer, message.transactional_id)
    write_i16_be(writer, message.acks)
    write_i32_be(writer, message.timeout_ms)
    if version >= 9:
        topic_data = message.topic_data
        write_uvarint(writer, len(topic_data) + 1)
        for nth, topic_data_item in enumerate(topic_data):
            _write_topic_produce_data(writer, parts, topic_data_item, version)
            if nth & LONG_RUN == LONG_RUN:
                give_way()
    else:
        topic_data = message.topic_data
        write_i32_be(writer, len(topic_data))
        for nth, topic_data_item in enumerate(topic_data):
            _write_topic_produce_data(writer, parts, topic_data_item, version)
            if nth & LONG_RUN == LONG_RUN:
                give_way()
    if version >= 9:
        writer.append(0)


class ProduceResponse(Message):
    """API key 0, versions 3 to 13."""

    __slots__ = ("responses", "throttle_time_ms", "node_endpoints")
    FIELDS: ClassVar[tuple[str, ...]] = ("responses", "throttle_time_ms", "node_endpoints")
    API_KEY: ClassVar[int] = 0
    MIN_VERSION: ClassVar[int] = 3
    MAX_VERSION: ClassVar[int] = 13
    FIRST_FLEXIBLE: ClassVar[int] = 9

    def __init__(self, responses: list[TopicProduceResponse] = NO_ITEMS, throttle_time_ms: int = 0, node_endpoints: list[NodeEndpoint] = NO_ITEMS) -> None:
        self.responses = [] if responses is NO_ITEMS else responses
        self.throttle_time_ms = throttle_time_ms
        self.node_endpoints = [] if node_endpoints is NO_ITEMS else node_endpoints

    @classmethod
    def decode(cls, data: bytes, position: int, version: int) -> tuple[ProduceResponse, int]:
        if version < 3 or version > 13:
            raise unknown_version("ProduceResponse", version, 3, 13)
        try:
            message, end = _read_produce_response(data, position, version)
        except (IndexError, ValueError) as error:
            raise malformed("ProduceResponse", version, error) from None
        return message, end

    def encode(self, version: int) -> bytes:
        if version < 3 or version > 13:
            raise unsupported_version("ProduceResponse", version, 3, 13)
        writer = BytesWriter()
        _write_produce_response(writer, self, version)
        return writer.getvalue()

    def encode_parts(self, writer_prefix: bytes, version: int) -> list[Part]:
        if version < 3 or version > 13:
            raise unsupported_version("ProduceResponse", version, 3, 13)
        writer = BytesWriter()
        writer.write(writer_prefix)
        _write_produce_response(writer, self, version)
        return [writer.getvalue()]


def _read_produce_response(data: bytes, position: i64, version: i64) -> tuple[ProduceResponse, i64]:
    responses: list[TopicProduceResponse]
    node_endpoints: list[NodeEndpoint] = []
    if version >= 9:
        count, position = read_compact_count(data, position, 3)
        responses = []
        for nth in range(count):
            responses_item, position = _read_topic_produce_response(data, position, version)
            responses.append(responses_item)
            if nth & LONG_RUN == LONG_RUN:
                give_way()
    else:
        count, position = read_count(data, position, 6)
        responses = []
        for nth in range(count):
            responses_item, position = _read_topic_produce_response(data, position, version)
            responses.append(responses_item)
            if nth & LONG_RUN == LONG_RUN:
                give_way()
    throttle_time_ms = read_i32_be(data, position)
    position += 4
    if version >= 9:
        if data[position]:
            tags, position = read_uvarint(data, position)
            for _ in range(tags):
                tag, position, end = read_tag(data, position)
                if tag == 0 and version >= 10:
                    count, position = read_compact_count(data, position, 11)
                    node_endpoints = []
                    for nth in range(count):
                        node_endpoints_item, position = _read_node_endpoint(data, position, version)
                        node_endpoints.append(node_endpoints_item)
                        if nth & LONG_RUN == LONG_RUN:
                            give_way()
                else:
                    position = end
                if position != end:
                    raise wrong_tag_size(tag)
        else:
            position += 1
    return ProduceResponse(responses, throttle_time_ms, node_endpoints), position


def _write_produce_response(writer: BytesWriter, message: ProduceResponse, version: i64) -> None:
    if version >= 9:
        responses = message.responses
        write_uvarint(writer, len(responses) + 1)
        for nth, responses_item in enumerate(responses):
            _write_topic_produce_response(writer, responses_item, version)
            if nth & LONG_RUN == LONG_RUN:
                give_way()
    else:
        responses = message.responses
        write_i32_be(writer, len(responses))
        for nth, responses_item in enumerate(responses):
            _write_topic_produce_response(writer, responses_item, version)
            if nth & LONG_RUN == LONG_RUN:
                give_way()
    write_i32_be(writer, message.throttle_time_ms)
    if version < 10:
        if message.node_endpoints:
            raise unsupported_field("ProduceResponse", "node_endpoints", version)
    if version >= 9:
        if version >= 10 and message.node_endpoints:
            writer.append(1)
            body = BytesWriter()
            node_endpoints = message.node_endpoints
            write_uvarint(body, len(node_endpoints) + 1)
            for nth, node_endpoints_item in enumerate(node_endpoints):
                _write_node_endpoint(body, node_endpoints_item, version)
                if nth & LONG_RUN == LONG_RUN:
                    give_way()
            write_tag(writer, 0, body)
        else:
            writer.append(0)
