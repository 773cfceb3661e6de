"""ShareFetch (API key 78). Generated from schema/share_fetch.txt: do not edit."""

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
    read_compact_records,
    read_compact_string,
    read_i8,
    read_i8_list,
    read_i32_list,
    read_uuid,
    skip_tags,
    unknown_version,
)
from moldau.protocol.writing import (
    unsupported_field,
    unsupported_version,
    write_bool,
    write_compact_nullable_string,
    write_compact_records,
    write_compact_string,
    write_i8,
    write_i8_list,
    write_i32_list,
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


class FetchPartition(Struct):
    __slots__ = ("partition_index", "acknowledgement_batches")
    FIELDS: ClassVar[tuple[str, ...]] = ("partition_index", "acknowledgement_batches")

    def __init__(self, partition_index: int = 0, acknowledgement_batches: list[AcknowledgementBatch] = NO_ITEMS) -> None:
        self.partition_index = partition_index
        self.acknowledgement_batches = [] if acknowledgement_batches is NO_ITEMS else acknowledgement_batches


def _read_fetch_partition(data: bytes, position: i64, version: i64) -> tuple[FetchPartition, i64]:
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
    return FetchPartition(partition_index, acknowledgement_batches), position


def _write_fetch_partition(writer: BytesWriter, message: FetchPartition, version: i64) -> None:
    write_i32_be(writer, message.partition_index)
    acknowledgement_batches = message.acknowledgement_batches
    write_uvarint(writer, len(acknowledgement_batches) + 1)
    for nth, acknowledgement_batches_item in enumerate(acknowledgement_batches):
        _write_acknowledgement_batch(writer, acknowledgement_batches_item, version)
        if nth & LONG_RUN == LONG_RUN:
            give_way()
    writer.append(0)


class FetchTopic(Struct):
    __slots__ = ("topic_id", "partitions")
    FIELDS: ClassVar[tuple[str, ...]] = ("topic_id", "partitions")

    def __init__(self, topic_id: bytes = NO_UUID, partitions: list[FetchPartition] = NO_ITEMS) -> None:
        self.topic_id = topic_id
        self.partitions = [] if partitions is NO_ITEMS else partitions


def _read_fetch_topic(data: bytes, position: i64, version: i64) -> tuple[FetchTopic, i64]:
    partitions: list[FetchPartition]
    topic_id = read_uuid(data, position)
    position += 16
    count, position = read_compact_count(data, position, 6)
    partitions = []
    for nth in range(count):
        partitions_item, position = _read_fetch_partition(data, position, version)
        partitions.append(partitions_item)
        if nth & LONG_RUN == LONG_RUN:
            give_way()
    position = skip_tags(data, position) if data[position] else position + 1
    return FetchTopic(topic_id, partitions), position


def _write_fetch_topic(writer: BytesWriter, message: FetchTopic, version: i64) -> None:
    write_uuid(writer, message.topic_id)
    partitions = message.partitions
    write_uvarint(writer, len(partitions) + 1)
    for nth, partitions_item in enumerate(partitions):
        _write_fetch_partition(writer, partitions_item, version)
        if nth & LONG_RUN == LONG_RUN:
            give_way()
    writer.append(0)


class ForgottenTopic(Struct):
    __slots__ = ("topic_id", "partitions")
    FIELDS: ClassVar[tuple[str, ...]] = ("topic_id", "partitions")

    def __init__(self, topic_id: bytes = NO_UUID, partitions: list[int] = NO_ITEMS) -> None:
        self.topic_id = topic_id
        self.partitions = [] if partitions is NO_ITEMS else partitions


def _read_forgotten_topic(data: bytes, position: i64, version: i64) -> tuple[ForgottenTopic, i64]:
    partitions: list[int]
    topic_id = read_uuid(data, position)
    position += 16
    count, position = read_compact_count(data, position, 4)
    partitions = read_i32_list(data, position, count)
    position += 4 * count
    position = skip_tags(data, position) if data[position] else position + 1
    return ForgottenTopic(topic_id, partitions), position


def _write_forgotten_topic(writer: BytesWriter, message: ForgottenTopic, version: i64) -> None:
    write_uuid(writer, message.topic_id)
    partitions = message.partitions
    write_uvarint(writer, len(partitions) + 1)
    write_i32_list(writer, partitions)
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


class AcquiredRecords(Struct):
    __slots__ = ("first_offset", "last_offset", "delivery_count")
    FIELDS: ClassVar[tuple[str, ...]] = ("first_offset", "last_offset", "delivery_count")

    def __init__(self, first_offset: int = 0, last_offset: int = 0, delivery_count: int = 0) -> None:
        self.first_offset = first_offset
        self.last_offset = last_offset
        self.delivery_count = delivery_count


def _read_acquired_records(data: bytes, position: i64, version: i64) -> tuple[AcquiredRecords, i64]:
    first_offset = read_i64_be(data, position)
    last_offset = read_i64_be(data, position + 8)
    delivery_count = read_i16_be(data, position + 16)
    position += 18
    position = skip_tags(data, position) if data[position] else position + 1
    return AcquiredRecords(first_offset, last_offset, delivery_count), position


def _write_acquired_records(writer: BytesWriter, message: AcquiredRecords, version: i64) -> None:
    write_i64_be(writer, message.first_offset)
    write_i64_be(writer, message.last_offset)
    write_i16_be(writer, message.delivery_count)
    writer.append(0)


class PartitionData(Struct):
    __slots__ = ("partition_index", "error_code", "error_message", "acknowledge_error_code", "acknowledge_error_message", "current_leader", "records", "acquired_records")
    FIELDS: ClassVar[tuple[str, ...]] = ("partition_index", "error_code", "error_message", "acknowledge_error_code", "acknowledge_error_message", "current_leader", "records", "acquired_records")

    def __init__(self, partition_index: int = 0, error_code: int = 0, error_message: str | None = None, acknowledge_error_code: int = 0, acknowledge_error_message: str | None = None, current_leader: LeaderIdAndEpoch | None = None, records: Part = b"", acquired_records: list[AcquiredRecords] = NO_ITEMS) -> None:
        self.partition_index = partition_index
        self.error_code = error_code
        self.error_message = error_message
        self.acknowledge_error_code = acknowledge_error_code
        self.acknowledge_error_message = acknowledge_error_message
        self.current_leader = LeaderIdAndEpoch() if current_leader is None else current_leader
        self.records = records
        self.acquired_records = [] if acquired_records is NO_ITEMS else acquired_records


def _read_partition_data(data: bytes, position: i64, version: i64) -> tuple[PartitionData, i64]:
    error_message: str | None
    acknowledge_error_message: str | None
    acquired_records: list[AcquiredRecords]
    partition_index = read_i32_be(data, position)
    error_code = read_i16_be(data, position + 4)
    position += 6
    error_message, position = read_compact_nullable_string(data, position)
    acknowledge_error_code = read_i16_be(data, position)
    position += 2
    acknowledge_error_message, position = read_compact_nullable_string(data, position)
    current_leader, position = _read_leader_id_and_epoch(data, position, version)
    records, position = read_compact_records(data, position)
    count, position = read_compact_count(data, position, 19)
    acquired_records = []
    for nth in range(count):
        acquired_records_item, position = _read_acquired_records(data, position, version)
        acquired_records.append(acquired_records_item)
        if nth & LONG_RUN == LONG_RUN:
            give_way()
    position = skip_tags(data, position) if data[position] else position + 1
    return PartitionData(partition_index, error_code, error_message, acknowledge_error_code, acknowledge_error_message, current_leader, records, acquired_records), position


def _write_partition_data(writer: BytesWriter, parts: list[Part] | None, message: PartitionData, version: i64) -> None:
    write_i32_be(writer, message.partition_index)
    write_i16_be(writer, message.error_code)
    write_compact_nullable_string(writer, message.error_message)
    write_i16_be(writer, message.acknowledge_error_code)
    write_compact_nullable_string(writer, message.acknowledge_error_message)
    _write_leader_id_and_epoch(writer, message.current_leader, version)
    write_compact_records(writer, parts, message.records)
    acquired_records = message.acquired_records
    write_uvarint(writer, len(acquired_records) + 1)
    for nth, acquired_records_item in enumerate(acquired_records):
        _write_acquired_records(writer, acquired_records_item, version)
        if nth & LONG_RUN == LONG_RUN:
            give_way()
    writer.append(0)


class ShareFetchableTopicResponse(Struct):
    __slots__ = ("topic_id", "partitions")
    FIELDS: ClassVar[tuple[str, ...]] = ("topic_id", "partitions")

    def __init__(self, topic_id: bytes = NO_UUID, partitions: list[PartitionData] = NO_ITEMS) -> None:
        self.topic_id = topic_id
        self.partitions = [] if partitions is NO_ITEMS else partitions


def _read_share_fetchable_topic_response(data: bytes, position: i64, version: i64) -> tuple[ShareFetchableTopicResponse, i64]:
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
    return ShareFetchableTopicResponse(topic_id, partitions), position


def _write_share_fetchable_topic_response(writer: BytesWriter, parts: list[Part] | None, message: ShareFetchableTopicResponse, version: i64) -> None:
    write_uuid(writer, message.topic_id)
    partitions = message.partitions
    write_uvarint(writer, len(partitions) + 1)
    for nth, partitions_item in enumerate(partitions):
        _write_partition_data(writer, parts, partitions_item, version)
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


class ShareFetchRequest(Message):
    """API key 78, versions 1 to 2."""

    __slots__ = ("group_id", "member_id", "share_session_epoch", "max_wait_ms", "min_bytes", "max_bytes", "max_records", "batch_size", "share_acquire_mode", "is_renew_ack", "topics", "forgotten_topics_data")
    FIELDS: ClassVar[tuple[str, ...]] = ("group_id", "member_id", "share_session_epoch", "max_wait_ms", "min_bytes", "max_bytes", "max_records", "batch_size", "share_acquire_mode", "is_renew_ack", "topics", "forgotten_topics_data")
    API_KEY: ClassVar[int] = 78
    MIN_VERSION: ClassVar[int] = 1
    MAX_VERSION: ClassVar[int] = 2
    FIRST_FLEXIBLE: ClassVar[int] = 0

    def __init__(self, group_id: str | None = None, member_id: str | None = "", share_session_epoch: int = 0, max_wait_ms: int = 0, min_bytes: int = 0, max_bytes: int = 2147483647, max_records: int = 0, batch_size: int = 0, share_acquire_mode: int = 0, is_renew_ack: bool = False, topics: list[FetchTopic] = NO_ITEMS, forgotten_topics_data: list[ForgottenTopic] = NO_ITEMS) -> None:
        self.group_id = group_id
        self.member_id = member_id
        self.share_session_epoch = share_session_epoch
        self.max_wait_ms = max_wait_ms
        self.min_bytes = min_bytes
        self.max_bytes = max_bytes
        self.max_records = max_records
        self.batch_size = batch_size
        self.share_acquire_mode = share_acquire_mode
        self.is_renew_ack = is_renew_ack
        self.topics = [] if topics is NO_ITEMS else topics
        self.forgotten_topics_data = [] if forgotten_topics_data is NO_ITEMS else forgotten_topics_data

    @classmethod
    def decode(cls, data: bytes, position: int, version: int) -> tuple[ShareFetchRequest, int]:
        if version < 1 or version > 2:
            raise unknown_version("ShareFetchRequest", version, 1, 2)
        try:
            message, end = _read_share_fetch_request(data, position, version)
        except (IndexError, ValueError) as error:
            raise malformed("ShareFetchRequest", version, error) from None
        return message, end

    def encode(self, version: int) -> bytes:
        if version < 1 or version > 2:
            raise unsupported_version("ShareFetchRequest", version, 1, 2)
        writer = BytesWriter()
        _write_share_fetch_request(writer, self, version)
        return writer.getvalue()

    def encode_parts(self, writer_prefix: bytes, version: int) -> list[Part]:
        if version < 1 or version > 2:
            raise unsupported_version("ShareFetchRequest", version, 1, 2)
        writer = BytesWriter()
        writer.write(writer_prefix)
        _write_share_fetch_request(writer, self, version)
        return [writer.getvalue()]


def _read_share_fetch_request(data: bytes, position: i64, version: i64) -> tuple[ShareFetchRequest, i64]:
    group_id: str | None
    member_id: str | None
    share_acquire_mode: int
    is_renew_ack: bool
    topics: list[FetchTopic]
    forgotten_topics_data: list[ForgottenTopic]
    group_id, position = read_compact_nullable_string(data, position)
    member_id, position = read_compact_nullable_string(data, position)
    share_session_epoch = read_i32_be(data, position)
    max_wait_ms = read_i32_be(data, position + 4)
    min_bytes = read_i32_be(data, position + 8)
    max_bytes = read_i32_be(data, position + 12)
    max_records = read_i32_be(data, position + 16)
    batch_size = read_i32_be(data, position + 20)
    position += 24
    if version >= 2:
        share_acquire_mode = read_i8(data, position)
        is_renew_ack = data[position + 1] != 0
        position += 2
    else:
        share_acquire_mode = 0
        is_renew_ack = False
    count, position = read_compact_count(data, position, 18)
    topics = []
    for nth in range(count):
        topics_item, position = _read_fetch_topic(data, position, version)
        topics.append(topics_item)
        if nth & LONG_RUN == LONG_RUN:
            give_way()
    count, position = read_compact_count(data, position, 18)
    forgotten_topics_data = []
    for nth in range(count):
        forgotten_topics_data_item, position = _read_forgotten_topic(data, position, version)
        forgotten_topics_data.append(forgotten_topics_data_item)
        if nth & LONG_RUN == LONG_RUN:
            give_way()
    position = skip_tags(data, position) if data[position] else position + 1
    return ShareFetchRequest(group_id, member_id, share_session_epoch, max_wait_ms, min_bytes, max_bytes, max_records, batch_size, share_acquire_mode, is_renew_ack, topics, forgotten_topics_data), position


def _write_share_fetch_request(writer: BytesWriter, message: ShareFetchRequest, version: i64) -> None:
    write_compact_nullable_string(writer, message.group_id)
    write_compact_nullable_string(writer, message.member_id)
    write_i32_be(writer, message.share_session_epoch)
    write_i32_be(writer, message.max_wait_ms)
    write_i32_be(writer, message.min_bytes)
    write_i32_be(writer, message.max_bytes)
    write_i32_be(writer, message.max_records)
    write_i32_be(writer, message.batch_size)
    if version >= 2:
        write_i8(writer, message.share_acquire_mode)
        write_bool(writer, message.is_renew_ack)
    else:
        if message.is_renew_ack:
            raise unsupported_field("ShareFetchRequest", "is_renew_ack", version)
    topics = message.topics
    write_uvarint(writer, len(topics) + 1)
    for nth, topics_item in enumerate(topics):
        _write_fetch_topic(writer, topics_item, version)
        if nth & LONG_RUN == LONG_RUN:
            give_way()
    forgotten_topics_data = message.forgotten_topics_data
    write_uvarint(writer, len(forgotten_topics_data) + 1)
    for nth, forgotten_topics_data_item in enumerate(forgotten_topics_data):
        _write_forgotten_topic(writer, forgotten_topics_data_item, version)
        if nth & LONG_RUN == LONG_RUN:
            give_way()
    writer.append(0)


class ShareFetchResponse(Message):
    """API key 78, versions 1 to 2."""

    __slots__ = ("throttle_time_ms", "error_code", "error_message", "acquisition_lock_timeout_ms", "responses", "node_endpoints")
    FIELDS: ClassVar[tuple[str, ...]] = ("throttle_time_ms", "error_code", "error_message", "acquisition_lock_timeout_ms", "responses", "node_endpoints")
    API_KEY: ClassVar[int] = 78
    MIN_VERSION: ClassVar[int] = 1
    MAX_VERSION: ClassVar[int] = 2
    FIRST_FLEXIBLE: ClassVar[int] = 0

    def __init__(self, throttle_time_ms: int = 0, error_code: int = 0, error_message: str | None = None, acquisition_lock_timeout_ms: int = 0, responses: list[ShareFetchableTopicResponse] = NO_ITEMS, node_endpoints: list[NodeEndpoint] = NO_ITEMS) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.error_message = error_message
        self.acquisition_lock_timeout_ms = acquisition_lock_timeout_ms
        self.responses = [] if responses is NO_ITEMS else responses
        self.node_endpoints = [] if node_endpoints is NO_ITEMS else node_endpoints

    @classmethod
    def decode(cls, data: bytes, position: int, version: int) -> tuple[ShareFetchResponse, int]:
        if version < 1 or version > 2:
            raise unknown_version("ShareFetchResponse", version, 1, 2)
        try:
            message, end = _read_share_fetch_response(data, position, version)
        except (IndexError, ValueError) as error:
            raise malformed("ShareFetchResponse", version, error) from None
        return message, end

    def encode(self, version: int) -> bytes:
        if version < 1 or version > 2:
            raise unsupported_version("ShareFetchResponse", version, 1, 2)
        writer = BytesWriter()
        _write_share_fetch_response(writer, None, self, version)
        return writer.getvalue()

    def encode_parts(self, writer_prefix: bytes, version: int) -> list[Part]:
        if version < 1 or version > 2:
            raise unsupported_version("ShareFetchResponse", version, 1, 2)
        writer = BytesWriter()
        writer.write(writer_prefix)
        parts: list[Part] = []
        _write_share_fetch_response(writer, parts, self, version)
        parts.append(writer.getvalue())
        return parts


def _read_share_fetch_response(data: bytes, position: i64, version: i64) -> tuple[ShareFetchResponse, i64]:
    error_message: str | None
    responses: list[ShareFetchableTopicResponse]
    node_endpoints: list[NodeEndpoint]
    throttle_time_ms = read_i32_be(data, position)
    error_code = read_i16_be(data, position + 4)
    position += 6
    error_message, position = read_compact_nullable_string(data, position)
    acquisition_lock_timeout_ms = read_i32_be(data, position)
    position += 4
    count, position = read_compact_count(data, position, 18)
    responses = []
    for nth in range(count):
        responses_item, position = _read_share_fetchable_topic_response(data, position, version)
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
    return ShareFetchResponse(throttle_time_ms, error_code, error_message, acquisition_lock_timeout_ms, responses, node_endpoints), position


def _write_share_fetch_response(writer: BytesWriter, parts: list[Part] | None, message: ShareFetchResponse, version: i64) -> None:
    write_i32_be(writer, message.throttle_time_ms)
    write_i16_be(writer, message.error_code)
    write_compact_nullable_string(writer, message.error_message)
    write_i32_be(writer, message.acquisition_lock_timeout_ms)
    responses = message.responses
    write_uvarint(writer, len(responses) + 1)
    for nth, responses_item in enumerate(responses):
        _write_share_fetchable_topic_response(writer, parts, responses_item, version)
        if nth & LONG_RUN == LONG_RUN:
            give_way()
    node_endpoints = message.node_endpoints
    write_uvarint(writer, len(node_endpoints) + 1)
    for nth, node_endpoints_item in enumerate(node_endpoints):
        _write_node_endpoint(writer, node_endpoints_item, version)
        if nth & LONG_RUN == LONG_RUN:
            give_way()
    writer.append(0)
