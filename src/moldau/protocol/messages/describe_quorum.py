"""DescribeQuorum (API key 55). Generated from schema/describe_quorum.txt: do not edit."""

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
    read_u16,
    read_uuid,
    skip_tags,
    unknown_version,
)
from moldau.protocol.writing import (
    unsupported_field,
    unsupported_version,
    write_compact_nullable_string,
    write_compact_string,
    write_u16,
    write_uuid,
    write_uvarint,
)


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
    __slots__ = ("topic_name", "partitions")
    FIELDS: ClassVar[tuple[str, ...]] = ("topic_name", "partitions")

    def __init__(self, topic_name: str = "", partitions: list[PartitionData] = NO_ITEMS) -> None:
        self.topic_name = topic_name
        self.partitions = [] if partitions is NO_ITEMS else partitions


def _read_topic_data(data: bytes, position: i64, version: i64) -> tuple[TopicData, i64]:
    partitions: list[PartitionData]
    topic_name, position = read_compact_string(data, position)
    count, position = read_compact_count(data, position, 5)
    partitions = []
    for nth in range(count):
        partitions_item, position = _read_partition_data(data, position, version)
        partitions.append(partitions_item)
        if nth & LONG_RUN == LONG_RUN:
            give_way()
    position = skip_tags(data, position) if data[position] else position + 1
    return TopicData(topic_name, partitions), position


def _write_topic_data(writer: BytesWriter, message: TopicData, version: i64) -> None:
    write_compact_string(writer, message.topic_name)
    partitions = message.partitions
    write_uvarint(writer, len(partitions) + 1)
    for nth, partitions_item in enumerate(partitions):
        _write_partition_data(writer, partitions_item, version)
        if nth & LONG_RUN == LONG_RUN:
            give_way()
    writer.append(0)


class ReplicaState(Struct):
    __slots__ = ("replica_id", "replica_directory_id", "log_end_offset", "last_fetch_timestamp", "last_caught_up_timestamp")
    FIELDS: ClassVar[tuple[str, ...]] = ("replica_id", "replica_directory_id", "log_end_offset", "last_fetch_timestamp", "last_caught_up_timestamp")

    def __init__(self, replica_id: int = 0, replica_directory_id: bytes = NO_UUID, log_end_offset: int = 0, last_fetch_timestamp: int = -1, last_caught_up_timestamp: int = -1) -> None:
        self.replica_id = replica_id
        self.replica_directory_id = replica_directory_id
        self.log_end_offset = log_end_offset
        self.last_fetch_timestamp = last_fetch_timestamp
        self.last_caught_up_timestamp = last_caught_up_timestamp


def _read_replica_state(data: bytes, position: i64, version: i64) -> tuple[ReplicaState, i64]:
    replica_directory_id: bytes
    last_fetch_timestamp: int
    last_caught_up_timestamp: int
    replica_id = read_i32_be(data, position)
    position += 4
    if version >= 2:
        replica_directory_id = read_uuid(data, position)
        position += 16
    else:
        replica_directory_id = NO_UUID
    log_end_offset = read_i64_be(data, position)
    position += 8
    if version >= 1:
        last_fetch_timestamp = read_i64_be(data, position)
        last_caught_up_timestamp = read_i64_be(data, position + 8)
        position += 16
    else:
        last_fetch_timestamp = -1
        last_caught_up_timestamp = -1
    position = skip_tags(data, position) if data[position] else position + 1
    return ReplicaState(replica_id, replica_directory_id, log_end_offset, last_fetch_timestamp, last_caught_up_timestamp), position


def _write_replica_state(writer: BytesWriter, message: ReplicaState, version: i64) -> None:
    write_i32_be(writer, message.replica_id)
    if version >= 2:
        write_uuid(writer, message.replica_directory_id)
    else:
        if message.replica_directory_id != NO_UUID:
            raise unsupported_field("ReplicaState", "replica_directory_id", version)
    write_i64_be(writer, message.log_end_offset)
    if version >= 1:
        write_i64_be(writer, message.last_fetch_timestamp)
        write_i64_be(writer, message.last_caught_up_timestamp)
    writer.append(0)


class PartitionDataResponse(Struct):
    __slots__ = ("partition_index", "error_code", "error_message", "leader_id", "leader_epoch", "high_watermark", "current_voters", "observers")
    FIELDS: ClassVar[tuple[str, ...]] = ("partition_index", "error_code", "error_message", "leader_id", "leader_epoch", "high_watermark", "current_voters", "observers")

    def __init__(self, partition_index: int = 0, error_code: int = 0, error_message: str | None = "", leader_id: int = 0, leader_epoch: int = 0, high_watermark: int = 0, current_voters: list[ReplicaState] = NO_ITEMS, observers: list[ReplicaState] = NO_ITEMS) -> None:
        self.partition_index = partition_index
        self.error_code = error_code
        self.error_message = error_message
        self.leader_id = leader_id
        self.leader_epoch = leader_epoch
        self.high_watermark = high_watermark
        self.current_voters = [] if current_voters is NO_ITEMS else current_voters
        self.observers = [] if observers is NO_ITEMS else observers


def _read_partition_data_response(data: bytes, position: i64, version: i64) -> tuple[PartitionDataResponse, i64]:
    error_message: str | None
    current_voters: list[ReplicaState]
    observers: list[ReplicaState]
    partition_index = read_i32_be(data, position)
    error_code = read_i16_be(data, position + 4)
    position += 6
    if version >= 2:
        error_message, position = read_compact_nullable_string(data, position)
    else:
        error_message = ""
    leader_id = read_i32_be(data, position)
    leader_epoch = read_i32_be(data, position + 4)
    high_watermark = read_i64_be(data, position + 8)
    position += 16
    count, position = read_compact_count(data, position, 13)
    current_voters = []
    for nth in range(count):
        current_voters_item, position = _read_replica_state(data, position, version)
        current_voters.append(current_voters_item)
        if nth & LONG_RUN == LONG_RUN:
            give_way()
    count, position = read_compact_count(data, position, 13)
    observers = []
    for nth in range(count):
        observers_item, position = _read_replica_state(data, position, version)
        observers.append(observers_item)
        if nth & LONG_RUN == LONG_RUN:
            give_way()
    position = skip_tags(data, position) if data[position] else position + 1
    return PartitionDataResponse(partition_index, error_code, error_message, leader_id, leader_epoch, high_watermark, current_voters, observers), position


def _write_partition_data_response(writer: BytesWriter, message: PartitionDataResponse, version: i64) -> None:
    write_i32_be(writer, message.partition_index)
    write_i16_be(writer, message.error_code)
    if version >= 2:
        write_compact_nullable_string(writer, message.error_message)
    write_i32_be(writer, message.leader_id)
    write_i32_be(writer, message.leader_epoch)
    write_i64_be(writer, message.high_watermark)
    current_voters = message.current_voters
    write_uvarint(writer, len(current_voters) + 1)
    for nth, current_voters_item in enumerate(current_voters):
        _write_replica_state(writer, current_voters_item, version)
        if nth & LONG_RUN == LONG_RUN:
            give_way()
    observers = message.observers
    write_uvarint(writer, len(observers) + 1)
    for nth, observers_item in enumerate(observers):
        _write_replica_state(writer, observers_item, version)
        if nth & LONG_RUN == LONG_RUN:
            give_way()
    writer.append(0)


class TopicDataResponse(Struct):
    __slots__ = ("topic_name", "partitions")
    FIELDS: ClassVar[tuple[str, ...]] = ("topic_name", "partitions")

    def __init__(self, topic_name: str = "", partitions: list[PartitionDataResponse] = NO_ITEMS) -> None:
        self.topic_name = topic_name
        self.partitions = [] if partitions is NO_ITEMS else partitions


def _read_topic_data_response(data: bytes, position: i64, version: i64) -> tuple[TopicDataResponse, i64]:
    partitions: list[PartitionDataResponse]
    topic_name, position = read_compact_string(data, position)
    count, position = read_compact_count(data, position, 25)
    partitions = []
    for nth in range(count):
        partitions_item, position = _read_partition_data_response(data, position, version)
        partitions.append(partitions_item)
        if nth & LONG_RUN == LONG_RUN:
            give_way()
    position = skip_tags(data, position) if data[position] else position + 1
    return TopicDataResponse(topic_name, partitions), position


def _write_topic_data_response(writer: BytesWriter, message: TopicDataResponse, version: i64) -> None:
    write_compact_string(writer, message.topic_name)
    partitions = message.partitions
    write_uvarint(writer, len(partitions) + 1)
    for nth, partitions_item in enumerate(partitions):
        _write_partition_data_response(writer, partitions_item, version)
        if nth & LONG_RUN == LONG_RUN:
            give_way()
    writer.append(0)


class Listener(Struct):
    __slots__ = ("name", "host", "port")
    FIELDS: ClassVar[tuple[str, ...]] = ("name", "host", "port")

    def __init__(self, name: str = "", host: str = "", port: int = 0) -> None:
        self.name = name
        self.host = host
        self.port = port


def _read_listener(data: bytes, position: i64, version: i64) -> tuple[Listener, i64]:
    name, position = read_compact_string(data, position)
    host, position = read_compact_string(data, position)
    port = read_u16(data, position)
    position += 2
    position = skip_tags(data, position) if data[position] else position + 1
    return Listener(name, host, port), position


def _write_listener(writer: BytesWriter, message: Listener, version: i64) -> None:
    write_compact_string(writer, message.name)
    write_compact_string(writer, message.host)
    write_u16(writer, message.port)
    writer.append(0)


class Node(Struct):
    __slots__ = ("node_id", "listeners")
    FIELDS: ClassVar[tuple[str, ...]] = ("node_id", "listeners")

    def __init__(self, node_id: int = 0, listeners: list[Listener] = NO_ITEMS) -> None:
        self.node_id = node_id
        self.listeners = [] if listeners is NO_ITEMS else listeners


def _read_node(data: bytes, position: i64, version: i64) -> tuple[Node, i64]:
    listeners: list[Listener]
    node_id = read_i32_be(data, position)
    position += 4
    count, position = read_compact_count(data, position, 5)
    listeners = []
    for nth in range(count):
        listeners_item, position = _read_listener(data, position, version)
        listeners.append(listeners_item)
        if nth & LONG_RUN == LONG_RUN:
            give_way()
    position = skip_tags(data, position) if data[position] else position + 1
    return Node(node_id, listeners), position


def _write_node(writer: BytesWriter, message: Node, version: i64) -> None:
    write_i32_be(writer, message.node_id)
    listeners = message.listeners
    write_uvarint(writer, len(listeners) + 1)
    for nth, listeners_item in enumerate(listeners):
        _write_listener(writer, listeners_item, version)
        if nth & LONG_RUN == LONG_RUN:
            give_way()
    writer.append(0)


class DescribeQuorumRequest(Message):
    """API key 55, versions 0 to 2."""

    __slots__ = ("topics",)
    FIELDS: ClassVar[tuple[str, ...]] = ("topics",)
    API_KEY: ClassVar[int] = 55
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 2
    FIRST_FLEXIBLE: ClassVar[int] = 0

    def __init__(self, topics: list[TopicData] = NO_ITEMS) -> None:
        self.topics = [] if topics is NO_ITEMS else topics

    @classmethod
    def decode(cls, data: bytes, position: int, version: int) -> tuple[DescribeQuorumRequest, int]:
        if version < 0 or version > 2:
            raise unknown_version("DescribeQuorumRequest", version, 0, 2)
        try:
            message, end = _read_describe_quorum_request(data, position, version)
        except (IndexError, ValueError) as error:
            raise malformed("DescribeQuorumRequest", version, error) from None
        return message, end

    def encode(self, version: int) -> bytes:
        if version < 0 or version > 2:
            raise unsupported_version("DescribeQuorumRequest", version, 0, 2)
        writer = BytesWriter()
        _write_describe_quorum_request(writer, self, version)
        return writer.getvalue()

    def encode_parts(self, writer_prefix: bytes, version: int) -> list[Part]:
        if version < 0 or version > 2:
            raise unsupported_version("DescribeQuorumRequest", version, 0, 2)
        writer = BytesWriter()
        writer.write(writer_prefix)
        _write_describe_quorum_request(writer, self, version)
        return [writer.getvalue()]


def _read_describe_quorum_request(data: bytes, position: i64, version: i64) -> tuple[DescribeQuorumRequest, i64]:
    topics: list[TopicData]
    count, position = read_compact_count(data, position, 3)
    topics = []
    for nth in range(count):
        topics_item, position = _read_topic_data(data, position, version)
        topics.append(topics_item)
        if nth & LONG_RUN == LONG_RUN:
            give_way()
    position = skip_tags(data, position) if data[position] else position + 1
    return DescribeQuorumRequest(topics), position


def _write_describe_quorum_request(writer: BytesWriter, message: DescribeQuorumRequest, version: i64) -> None:
    topics = message.topics
    write_uvarint(writer, len(topics) + 1)
    for nth, topics_item in enumerate(topics):
        _write_topic_data(writer, topics_item, version)
        if nth & LONG_RUN == LONG_RUN:
            give_way()
    writer.append(0)


class DescribeQuorumResponse(Message):
    """API key 55, versions 0 to 2."""

    __slots__ = ("error_code", "error_message", "topics", "nodes")
    FIELDS: ClassVar[tuple[str, ...]] = ("error_code", "error_message", "topics", "nodes")
    API_KEY: ClassVar[int] = 55
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 2
    FIRST_FLEXIBLE: ClassVar[int] = 0

    def __init__(self, error_code: int = 0, error_message: str | None = "", topics: list[TopicDataResponse] = NO_ITEMS, nodes: list[Node] = NO_ITEMS) -> None:
        self.error_code = error_code
        self.error_message = error_message
        self.topics = [] if topics is NO_ITEMS else topics
        self.nodes = [] if nodes is NO_ITEMS else nodes

    @classmethod
    def decode(cls, data: bytes, position: int, version: int) -> tuple[DescribeQuorumResponse, int]:
        if version < 0 or version > 2:
            raise unknown_version("DescribeQuorumResponse", version, 0, 2)
        try:
            message, end = _read_describe_quorum_response(data, position, version)
        except (IndexError, ValueError) as error:
            raise malformed("DescribeQuorumResponse", version, error) from None
        return message, end

    def encode(self, version: int) -> bytes:
        if version < 0 or version > 2:
            raise unsupported_version("DescribeQuorumResponse", version, 0, 2)
        writer = BytesWriter()
        _write_describe_quorum_response(writer, self, version)
        return writer.getvalue()

    def encode_parts(self, writer_prefix: bytes, version: int) -> list[Part]:
        if version < 0 or version > 2:
            raise unsupported_version("DescribeQuorumResponse", version, 0, 2)
        writer = BytesWriter()
        writer.write(writer_prefix)
        _write_describe_quorum_response(writer, self, version)
        return [writer.getvalue()]


def _read_describe_quorum_response(data: bytes, position: i64, version: i64) -> tuple[DescribeQuorumResponse, i64]:
    error_message: str | None
    topics: list[TopicDataResponse]
    nodes: list[Node]
    error_code = read_i16_be(data, position)
    position += 2
    if version >= 2:
        error_message, position = read_compact_nullable_string(data, position)
    else:
        error_message = ""
    count, position = read_compact_count(data, position, 3)
    topics = []
    for nth in range(count):
        topics_item, position = _read_topic_data_response(data, position, version)
        topics.append(topics_item)
        if nth & LONG_RUN == LONG_RUN:
            give_way()
    if version >= 2:
        count, position = read_compact_count(data, position, 6)
        nodes = []
        for nth in range(count):
            nodes_item, position = _read_node(data, position, version)
            nodes.append(nodes_item)
            if nth & LONG_RUN == LONG_RUN:
                give_way()
    else:
        nodes = []
    position = skip_tags(data, position) if data[position] else position + 1
    return DescribeQuorumResponse(error_code, error_message, topics, nodes), position


def _write_describe_quorum_response(writer: BytesWriter, message: DescribeQuorumResponse, version: i64) -> None:
    write_i16_be(writer, message.error_code)
    if version >= 2:
        write_compact_nullable_string(writer, message.error_message)
    topics = message.topics
    write_uvarint(writer, len(topics) + 1)
    for nth, topics_item in enumerate(topics):
        _write_topic_data_response(writer, topics_item, version)
        if nth & LONG_RUN == LONG_RUN:
            give_way()
    if version >= 2:
        nodes = message.nodes
        write_uvarint(writer, len(nodes) + 1)
        for nth, nodes_item in enumerate(nodes):
            _write_node(writer, nodes_item, version)
            if nth & LONG_RUN == LONG_RUN:
                give_way()
    else:
        if message.nodes:
            raise unsupported_field("DescribeQuorumResponse", "nodes", version)
    writer.append(0)
