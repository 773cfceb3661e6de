"""ShareAcknowledge (API key 79). Generated from schema/share_acknowledge.txt: do not edit."""

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
    read_i8_list,
    read_uuid,
    skip_tags,
    unknown_version,
)
from moldau.protocol.writing import (
    unsupported_field,
    unsupported_version,
    write_bool,
    write_compact_nullable_string,
    write_compact_string,
    write_i8_list,
    write_uuid,
    write_uvarint,
)


class AcknowledgementBatch(Struct):
    __slots__ = ("first_offset", "last_offset", "acknowledge_types")
    FIELDS: ClassVar[tuple[str, ...]] = ("first_offset", "last_offset", "acknowledge_types")

    def __init__(self, first_offset: int = 0, last_offset: int = 0, acknowledge_types: list[int] = NO_ITEMS) -> None:
        self.first_offset = first_offset
        self.last_offset = last_offset
        self.acknowledge_types = [] if acknowledge_types is NO_ITEMS else acknowledge_types


def _read_acknowledgement_batch(data: bytes, position: i64, version: i64) -> tuple[AcknowledgementBatch, i64]:
    acknowledge_types: list[int]
    first_offset = read_i64_be(data, position)
    last_offset = read_i64_be(data, position + 8)
    position += 16
    count, position = read_compact_count(data, position, 1)
    acknowledge_types = read_i8_list(data, position, count)
    position += count
    position = skip_tags(data, position) if data[position] else position + 1
    return AcknowledgementBatch(first_offset, last_offset, acknowledge_types), position


def _write_acknowledgement_batch(writer: BytesWriter, message: AcknowledgementBatch, version: i64) -> None:
    write_i64_be(writer, message.first_offset)
    write_i64_be(writer, message.last_offset)
    acknowledge_types = message.acknowledge_types
    write_uvarint(writer, len(acknowledge_types) + 1)
    write_i8_list(writer, acknowledge_types)
    writer.append(0)


class AcknowledgePartition(Struct):
    __slots__ = ("partition_index", "acknowledgement_batches")
    FIELDS: ClassVar[tuple[str, ...]] = ("partition_index", "acknowledgement_batches")

    def __init__(self, partition_index: int = 0, acknowledgement_batches: list[AcknowledgementBatch] = NO_ITEMS) -> None:
        self.partition_index = partition_index
        self.acknowledgement_batches = [] if acknowledgement_batches is NO_ITEMS else acknowledgement_batches


def _read_acknowledge_partition(data: bytes, position: i64, version: i64) -> tuple[AcknowledgePartition, i64]:
    acknowledgement_batches: list[AcknowledgementBatch]
    partition_index = read_i32_be(data, position)
    position += 4
    count, position = read_compact_count(data, position, 18)
    acknowledgement_batches = []
    for nth in range(count):
        acknowledgement_batches_item, position = _read_acknowledgement_batch(data, position, version)
        acknowledgement_batches.append(acknowledgement_batches_item)
        if nth & LONG_RUN == LONG_RUN:
            give_way()
    position = skip_tags(data, position) if data[position] else position + 1
    return AcknowledgePartition(partition_index, acknowledgement_batches), position


def _write_acknowledge_partition(writer: BytesWriter, message: AcknowledgePartition, version: i64) -> None:
    write_i32_be(writer, message.partition_index)
    acknowledgement_batches = message.acknowledgement_batches
    write_uvarint(writer, len(acknowledgement_batches) + 1)
    for nth, acknowledgement_batches_item in enumerate(acknowledgement_batches):
        _write_acknowledgement_batch(writer, acknowledgement_batches_item, version)
        if nth & LONG_RUN == LONG_RUN:
            give_way()
    writer.append(0)


class AcknowledgeTopic(Struct):
    __slots__ = ("topic_id", "partitions")
    FIELDS: ClassVar[tuple[str, ...]] = ("topic_id", "partitions")

    def __init__(self, topic_id: bytes = NO_UUID, partitions: list[AcknowledgePartition] = NO_ITEMS) -> None:
        self.topic_id = topic_id
        self.partitions = [] if partitions is NO_ITEMS else partitions


def _read_acknowledge_topic(data: bytes, position: i64, version: i64) -> tuple[AcknowledgeTopic, i64]:
    partitions: list[AcknowledgePartition]
    topic_id = read_uuid(data, position)
    position += 16
    count, position = read_compact_count(data, position, 6)
    partitions = []
    for nth in range(count):
        partitions_item, position = _read_acknowledge_partition(data, position, version)
        partitions.append(partitions_item)
        if nth & LONG_RUN == LONG_RUN:
            give_way()
    position = skip_tags(data, position) if data[position] else position + 1
    return AcknowledgeTopic(topic_id, partitions), position


def _write_acknowledge_topic(writer: BytesWriter, message: AcknowledgeTopic, version: i64) -> None:
    write_uuid(writer, message.topic_id)
    partitions = message.partitions
    write_uvarint(writer, len(partitions) + 1)
    for nth, partitions_item in enumerate(partitions):
        _write_acknowledge_partition(writer, partitions_item, version)
        if nth & LONG_RUN == LONG_RUN:
            give_way()
    writer.append(0)


class LeaderIdAndEpoch(Struct):
    __slots__ = ("leader_id", "leader_epoch")
    FIELDS: ClassVar[tuple[str, ...]] = ("leader_id", "leader_epoch")

    def __init__(self, leader_id: int = 0, leader_epoch: int = 0) -> None:
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


class PartitionData(Struct):
    __slots__ = ("partition_index", "error_code", "error_message", "current_leader")
    FIELDS: ClassVar[tuple[str, ...]] = ("partition_index", "error_code", "error_message", "current_leader")

    def __init__(self, partition_index: int = 0, error_code: int = 0, error_message: str | None = None, current_leader: LeaderIdAndEpoch | None = None) -> None:
        self.partition_index = partition_index
        self.error_code = error_code
        self.error_message = error_message
        self.current_leader = LeaderIdAndEpoch() if current_leader is None else current_leader


def _read_partition_data(data: bytes, position: i64, version: i64) -> tuple[PartitionData, i64]:
    error_message: str | None
    partition_index = read_i32_be(data, position)
    error_code = read_i16_be(data, position + 4)
    position += 6
    error_message, position = read_compact_nullable_string(data, position)
    current_leader, position = _read_leader_id_and_epoch(data, position, version)
    position = skip_tags(data, position) if data[position] else position + 1
    return PartitionData(partition_index, error_code, error_message, current_leader), position


def _write_partition_data(writer: BytesWriter, message: PartitionData, version: i64) -> None:
    write_i32_be(writer, message.partition_index)
    write_i16_be(writer, message.error_code)
    write_compact_nullable_string(writer, message.error_message)
    _write_leader_id_and_epoch(writer, message.current_leader, version)
    writer.append(0)


class ShareAcknowledgeTopicResponse(Struct):
    __slots__ = ("topic_id", "partitions")
    FIELDS: ClassVar[tuple[str, ...]] = ("topic_id", "partitions")

    def __init__(self, topic_id: bytes = NO_UUID, partitions: list[PartitionData] = NO_ITEMS) -> None:
        self.topic_id = topic_id
        self.partitions = [] if partitions is NO_ITEMS else partitions


def _read_share_acknowledge_topic_response(data: bytes, position: i64, version: i64) -> tuple[ShareAcknowledgeTopicResponse, i64]:
    partitions: list[PartitionData]
    topic_id = read_uuid(data, position)
    position += 16
    count, position = read_compact_count(data, position, 17)
    partitions = []
    for nth in range(count):
        partitions_item, position = _read_partition_data(data, position, version)
        partitions.append(partitions_item)
        if nth & LONG_RUN == LONG_RUN:
            give_way()
    position = skip_tags(data, position) if data[position] else position + 1
    return ShareAcknowledgeTopicResponse(topic_id, partitions), position


def _write_share_acknowledge_topic_response(writer: BytesWriter, message: ShareAcknowledgeTopicResponse, version: i64) -> None:
    write_uuid(writer, message.topic_id)
    partitions = message.partitions
    write_uvarint(writer, len(partitions) + 1)
    for nth, partitions_item in enumerate(partitions):
        _write_partition_data(writer, partitions_item, version)
        if nth & LONG_RUN == LONG_RUN:
            give_way()
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


class ShareAcknowledgeRequest(Message):
    """API key 79, versions 1 to 2."""

    __slots__ = ("group_id", "member_id", "share_session_epoch", "is_renew_ack", "topics")
    FIELDS: ClassVar[tuple[str, ...]] = ("group_id", "member_id", "share_session_epoch", "is_renew_ack", "topics")
    API_KEY: ClassVar[int] = 79
    MIN_VERSION: ClassVar[int] = 1
    MAX_VERSION: ClassVar[int] = 2
    FIRST_FLEXIBLE: ClassVar[int] = 0

    def __init__(self, group_id: str | None = None, member_id: str | None = "", share_session_epoch: int = 0, is_renew_ack: bool = False, topics: list[AcknowledgeTopic] = NO_ITEMS) -> None:
        self.group_id = group_id
        self.member_id = member_id
        self.share_session_epoch = share_session_epoch
        self.is_renew_ack = is_renew_ack
        self.topics = [] if topics is NO_ITEMS else topics

    @classmethod
    def decode(cls, data: bytes, position: int, version: int) -> tuple[ShareAcknowledgeRequest, int]:
        if version < 1 or version > 2:
            raise unknown_version("ShareAcknowledgeRequest", version, 1, 2)
        try:
            message, end = _read_share_acknowledge_request(data, position, version)
        except (IndexError, ValueError) as error:
            raise malformed("ShareAcknowledgeRequest", version, error) from None
        return message, end

    def encode(self, version: int) -> bytes:
        if version < 1 or version > 2:
            raise unsupported_version("ShareAcknowledgeRequest", version, 1, 2)
        writer = BytesWriter()
        _write_share_acknowledge_request(writer, self, version)
        return writer.getvalue()

    def encode_parts(self, writer_prefix: bytes, version: int) -> list[Part]:
        if version < 1 or version > 2:
            raise unsupported_version("ShareAcknowledgeRequest", version, 1, 2)
        writer = BytesWriter()
        writer.write(writer_prefix)
        _write_share_acknowledge_request(writer, self, version)
        return [writer.getvalue()]


def _read_share_acknowledge_request(data: bytes, position: i64, version: i64) -> tuple[ShareAcknowledgeRequest, i64]:
    group_id: str | None
    member_id: str | None
    is_renew_ack: bool
    topics: list[AcknowledgeTopic]
    group_id, position = read_compact_nullable_string(data, position)
    member_id, position = read_compact_nullable_string(data, position)
    share_session_epoch = read_i32_be(data, position)
    position += 4
    if version >= 2:
        is_renew_ack = data[position] != 0
        position += 1
    else:
        is_renew_ack = False
    count, position = read_compact_count(data, position, 18)
    topics = []
    for nth in range(count):
        topics_item, position = _read_acknowledge_topic(data, position, version)
        topics.append(topics_item)
        if nth & LONG_RUN == LONG_RUN:
            give_way()
    position = skip_tags(data, position) if data[position] else position + 1
    return ShareAcknowledgeRequest(group_id, member_id, share_session_epoch, is_renew_ack, topics), position


def _write_share_acknowledge_request(writer: BytesWriter, message: ShareAcknowledgeRequest, version: i64) -> None:
    write_compact_nullable_string(writer, message.group_id)
    write_compact_nullable_string(writer, message.member_id)
    write_i32_be(writer, message.share_session_epoch)
    if version >= 2:
        write_bool(writer, message.is_renew_ack)
    else:
        if message.is_renew_ack:
            raise unsupported_field("ShareAcknowledgeRequest", "is_renew_ack", version)
    topics = message.topics
    write_uvarint(writer, len(topics) + 1)
    for nth, topics_item in enumerate(topics):
        _write_acknowledge_topic(writer, topics_item, version)
        if nth & LONG_RUN == LONG_RUN:
            give_way()
    writer.append(0)


class ShareAcknowledgeResponse(Message):
    """API key 79, versions 1 to 2."""

    __slots__ = ("throttle_time_ms", "error_code", "error_message", "acquisition_lock_timeout_ms", "responses", "node_endpoints")
    FIELDS: ClassVar[tuple[str, ...]] = ("throttle_time_ms", "error_code", "error_message", "acquisition_lock_timeout_ms", "responses", "node_endpoints")
    API_KEY: ClassVar[int] = 79
    MIN_VERSION: ClassVar[int] = 1
    MAX_VERSION: ClassVar[int] = 2
    FIRST_FLEXIBLE: ClassVar[int] = 0

    def __init__(self, throttle_time_ms: int = 0, error_code: int = 0, error_message: str | None = None, acquisition_lock_timeout_ms: int = 0, responses: list[ShareAcknowledgeTopicResponse] = NO_ITEMS, node_endpoints: list[NodeEndpoint] = NO_ITEMS) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.error_message = error_message
        self.acquisition_lock_timeout_ms = acquisition_lock_timeout_ms
        self.responses = [] if responses is NO_ITEMS else responses
        self.node_endpoints = [] if node_endpoints is NO_ITEMS else node_endpoints

    @classmethod
    def decode(cls, data: bytes, position: int, version: int) -> tuple[ShareAcknowledgeResponse, int]:
        if version < 1 or version > 2:
            raise unknown_version("ShareAcknowledgeResponse", version, 1, 2)
        try:
            message, end = _read_share_acknowledge_response(data, position, version)
        except (IndexError, ValueError) as error:
            raise malformed("ShareAcknowledgeResponse", version, error) from None
        return message, end

    def encode(self, version: int) -> bytes:
        if version < 1 or version > 2:
            raise unsupported_version("ShareAcknowledgeResponse", version, 1, 2)
        writer = BytesWriter()
        _write_share_acknowledge_response(writer, self, version)
        return writer.getvalue()

    def encode_parts(self, writer_prefix: bytes, version: int) -> list[Part]:
        if version < 1 or version > 2:
            raise unsupported_version("ShareAcknowledgeResponse", version, 1, 2)
        writer = BytesWriter()
        writer.write(writer_prefix)
        _write_share_acknowledge_response(writer, self, version)
        return [writer.getvalue()]


def _read_share_acknowledge_response(data: bytes, position: i64, version: i64) -> tuple[ShareAcknowledgeResponse, i64]:
    error_message: str | None
    acquisition_lock_timeout_ms: int
    responses: list[ShareAcknowledgeTopicResponse]
    node_endpoints: list[NodeEndpoint]
    throttle_time_ms = read_i32_be(data, position)
    error_code = read_i16_be(data, position + 4)
    position += 6
    error_message, position = read_compact_nullable_string(data, position)
    if version >= 2:
        acquisition_lock_timeout_ms = read_i32_be(data, position)
        position += 4
    else:
        acquisition_lock_timeout_ms = 0
    count, position = read_compact_count(data, position, 18)
    responses = []
    for nth in range(count):
        responses_item, position = _read_share_acknowledge_topic_response(data, position, version)
        responses.append(responses_item)
        if nth & LONG_RUN == LONG_RUN:
            give_way()
    count, position = read_compact_count(data, position, 11)
    node_endpoints = []
    for nth in range(count):
        node_endpoints_item, position = _read_node_endpoint(data, position, version)
        node_endpoints.append(node_endpoints_item)
        if nth & LONG_RUN == LONG_RUN:
            give_way()
    position = skip_tags(data, position) if data[position] else position + 1
    return ShareAcknowledgeResponse(throttle_time_ms, error_code, error_message, acquisition_lock_timeout_ms, responses, node_endpoints), position


def _write_share_acknowledge_response(writer: BytesWriter, message: ShareAcknowledgeResponse, version: i64) -> None:
    write_i32_be(writer, message.throttle_time_ms)
    write_i16_be(writer, message.error_code)
    write_compact_nullable_string(writer, message.error_message)
    if version >= 2:
        write_i32_be(writer, message.acquisition_lock_timeout_ms)
    responses = message.responses
    write_uvarint(writer, len(responses) + 1)
    for nth, responses_item in enumerate(responses):
        _write_share_acknowledge_topic_response(writer, responses_item, version)
        if nth & LONG_RUN == LONG_RUN:
            give_way()
    node_endpoints = message.node_endpoints
    write_uvarint(writer, len(node_endpoints) + 1)
    for nth, node_endpoints_item in enumerate(node_endpoints):
        _write_node_endpoint(writer, node_endpoints_item, version)
        if nth & LONG_RUN == LONG_RUN:
            give_way()
    writer.append(0)
