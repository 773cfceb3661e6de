"""Vote (API key 52). Generated from schema/vote.txt: do not edit."""

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
    read_tag,
    read_u16,
    read_uuid,
    read_uvarint,
    skip_tags,
    unknown_version,
    wrong_tag_size,
)
from moldau.protocol.writing import (
    unsupported_field,
    unsupported_version,
    write_bool,
    write_compact_nullable_string,
    write_compact_string,
    write_tag,
    write_u16,
    write_uuid,
    write_uvarint,
)


class PartitionData(Struct):
    __slots__ = ("partition_index", "replica_epoch", "replica_id", "replica_directory_id", "voter_directory_id", "last_offset_epoch", "last_offset", "pre_vote")
    FIELDS: ClassVar[tuple[str, ...]] = ("partition_index", "replica_epoch", "replica_id", "replica_directory_id", "voter_directory_id", "last_offset_epoch", "last_offset", "pre_vote")

    def __init__(self, partition_index: int = 0, replica_epoch: int = 0, replica_id: int = 0, replica_directory_id: bytes = NO_UUID, voter_directory_id: bytes = NO_UUID, last_offset_epoch: int = 0, last_offset: int = 0, pre_vote: bool = False) -> None:
        self.partition_index = partition_index
        self.replica_epoch = replica_epoch
        self.replica_id = replica_id
        self.replica_directory_id = replica_directory_id
        self.voter_directory_id = voter_directory_id
        self.last_offset_epoch = last_offset_epoch
        self.last_offset = last_offset
        self.pre_vote = pre_vote


def _read_partition_data(data: bytes, position: i64, version: i64) -> tuple[PartitionData, i64]:
    replica_directory_id: bytes
    voter_directory_id: bytes
    pre_vote: bool
    partition_index = read_i32_be(data, position)
    replica_epoch = read_i32_be(data, position + 4)
    replica_id = read_i32_be(data, position + 8)
    position += 12
    if version >= 1:
        replica_directory_id = read_uuid(data, position)
        voter_directory_id = read_uuid(data, position + 16)
        position += 32
    else:
        replica_directory_id = NO_UUID
        voter_directory_id = NO_UUID
    last_offset_epoch = read_i32_be(data, position)
    last_offset = read_i64_be(data, position + 4)
    position += 12
    if version >= 2:
        pre_vote = data[position] != 0
        position += 1
    else:
        pre_vote = False
    position = skip_tags(data, position) if data[position] else position + 1
    return PartitionData(partition_index, replica_epoch, replica_id, replica_directory_id, voter_directory_id, last_offset_epoch, last_offset, pre_vote), position


def _write_partition_data(writer: BytesWriter, message: PartitionData, version: i64) -> None:
    write_i32_be(writer, message.partition_index)
    write_i32_be(writer, message.replica_epoch)
    write_i32_be(writer, message.replica_id)
    if version >= 1:
        write_uuid(writer, message.replica_directory_id)
        write_uuid(writer, message.voter_directory_id)
    write_i32_be(writer, message.last_offset_epoch)
    write_i64_be(writer, message.last_offset)
    if version >= 2:
        write_bool(writer, message.pre_vote)
    else:
        if message.pre_vote:
            raise unsupported_field("PartitionData", "pre_vote", version)
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
    count, position = read_compact_count(data, position, 25)
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


class PartitionDataResponse(Struct):
    __slots__ = ("partition_index", "error_code", "leader_id", "leader_epoch", "vote_granted")
    FIELDS: ClassVar[tuple[str, ...]] = ("partition_index", "error_code", "leader_id", "leader_epoch", "vote_granted")

    def __init__(self, partition_index: int = 0, error_code: int = 0, leader_id: int = 0, leader_epoch: int = 0, vote_granted: bool = False) -> None:
        self.partition_index = partition_index
        self.error_code = error_code
        self.leader_id = leader_id
        self.leader_epoch = leader_epoch
        self.vote_granted = vote_granted


def _read_partition_data_response(data: bytes, position: i64, version: i64) -> tuple[PartitionDataResponse, i64]:
    partition_index = read_i32_be(data, position)
    error_code = read_i16_be(data, position + 4)
    leader_id = read_i32_be(data, position + 6)
    leader_epoch = read_i32_be(data, position + 10)
    vote_granted = data[position + 14] != 0
    position += 15
    position = skip_tags(data, position) if data[position] else position + 1
    return PartitionDataResponse(partition_index, error_code, leader_id, leader_epoch, vote_granted), position


def _write_partition_data_response(writer: BytesWriter, message: PartitionDataResponse, version: i64) -> None:
    write_i32_be(writer, message.partition_index)
    write_i16_be(writer, message.error_code)
    write_i32_be(writer, message.leader_id)
    write_i32_be(writer, message.leader_epoch)
    write_bool(writer, message.vote_granted)
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
    count, position = read_compact_count(data, position, 16)
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


class NodeEndpoint(Struct):
    __slots__ = ("node_id", "host", "port")
    FIELDS: ClassVar[tuple[str, ...]] = ("node_id", "host", "port")

    def __init__(self, node_id: int = 0, host: str = "", port: int = 0) -> None:
        self.node_id = node_id
        self.host = host
        self.port = port


def _read_node_endpoint(data: bytes, position: i64, version: i64) -> tuple[NodeEndpoint, i64]:
    node_id = read_i32_be(data, position)
    position += 4
    host, position = read_compact_string(data, position)
    port = read_u16(data, position)
    position += 2
    position = skip_tags(data, position) if data[position] else position + 1
    return NodeEndpoint(node_id, host, port), position


def _write_node_endpoint(writer: BytesWriter, message: NodeEndpoint, version: i64) -> None:
    write_i32_be(writer, message.node_id)
    write_compact_string(writer, message.host)
    write_u16(writer, message.port)
    writer.append(0)


class VoteRequest(Message):
    """API key 52, versions 0 to 2."""

    __slots__ = ("cluster_id", "voter_id", "topics")
    FIELDS: ClassVar[tuple[str, ...]] = ("cluster_id", "voter_id", "topics")
    API_KEY: ClassVar[int] = 52
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 2
    FIRST_FLEXIBLE: ClassVar[int] = 0

    def __init__(self, cluster_id: str | None = None, voter_id: int = -1, topics: list[TopicData] = NO_ITEMS) -> None:
        self.cluster_id = cluster_id
        self.voter_id = voter_id
        self.topics = [] if topics is NO_ITEMS else topics

    @classmethod
    def decode(cls, data: bytes, position: int, version: int) -> tuple[VoteRequest, int]:
        if version < 0 or version > 2:
            raise unknown_version("VoteRequest", version, 0, 2)
        try:
            message, end = _read_vote_request(data, position, version)
        except (IndexError, ValueError) as error:
            raise malformed("VoteRequest", version, error) from None
        return message, end

    def encode(self, version: int) -> bytes:
        if version < 0 or version > 2:
            raise unsupported_version("VoteRequest", version, 0, 2)
        writer = BytesWriter()
        _write_vote_request(writer, self, version)
        return writer.getvalue()

    def encode_parts(self, writer_prefix: bytes, version: int) -> list[Part]:
        if version < 0 or version > 2:
            raise unsupported_version("VoteRequest", version, 0, 2)
        writer = BytesWriter()
        writer.write(writer_prefix)
        _write_vote_request(writer, self, version)
        return [writer.getvalue()]


def _read_vote_request(data: bytes, position: i64, version: i64) -> tuple[VoteRequest, i64]:
    cluster_id: str | None
    voter_id: int
    topics: list[TopicData]
    cluster_id, position = read_compact_nullable_string(data, position)
    if version >= 1:
        voter_id = read_i32_be(data, position)
        position += 4
    else:
        voter_id = -1
    count, position = read_compact_count(data, position, 3)
    topics = []
    for nth in range(count):
        topics_item, position = _read_topic_data(data, position, version)
        topics.append(topics_item)
        if nth & LONG_RUN == LONG_RUN:
            give_way()
    position = skip_tags(data, position) if data[position] else position + 1
    return VoteRequest(cluster_id, voter_id, topics), position


def _write_vote_request(writer: BytesWriter, message: VoteRequest, version: i64) -> None:
    write_compact_nullable_string(writer, message.cluster_id)
    if version >= 1:
        write_i32_be(writer, message.voter_id)
    topics = message.topics
    write_uvarint(writer, len(topics) + 1)
    for nth, topics_item in enumerate(topics):
        _write_topic_data(writer, topics_item, version)
        if nth & LONG_RUN == LONG_RUN:
            give_way()
    writer.append(0)


class VoteResponse(Message):
    """API key 52, versions 0 to 2."""

    __slots__ = ("error_code", "topics", "node_endpoints")
    FIELDS: ClassVar[tuple[str, ...]] = ("error_code", "topics", "node_endpoints")
    API_KEY: ClassVar[int] = 52
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 2
    FIRST_FLEXIBLE: ClassVar[int] = 0

    def __init__(self, error_code: int = 0, topics: list[TopicDataResponse] = NO_ITEMS, node_endpoints: list[NodeEndpoint] = NO_ITEMS) -> None:
        self.error_code = error_code
        self.topics = [] if topics is NO_ITEMS else topics
        self.node_endpoints = [] if node_endpoints is NO_ITEMS else node_endpoints

    @classmethod
    def decode(cls, data: bytes, position: int, version: int) -> tuple[VoteResponse, int]:
        if version < 0 or version > 2:
            raise unknown_version("VoteResponse", version, 0, 2)
        try:
            message, end = _read_vote_response(data, position, version)
        except (IndexError, ValueError) as error:
            raise malformed("VoteResponse", version, error) from None
        return message, end

    def encode(self, version: int) -> bytes:
        if version < 0 or version > 2:
            raise unsupported_version("VoteResponse", version, 0, 2)
        writer = BytesWriter()
        _write_vote_response(writer, self, version)
        return writer.getvalue()

    def encode_parts(self, writer_prefix: bytes, version: int) -> list[Part]:
        if version < 0 or version > 2:
            raise unsupported_version("VoteResponse", version, 0, 2)
        writer = BytesWriter()
        writer.write(writer_prefix)
        _write_vote_response(writer, self, version)
        return [writer.getvalue()]


def _read_vote_response(data: bytes, position: i64, version: i64) -> tuple[VoteResponse, i64]:
    topics: list[TopicDataResponse]
    node_endpoints: list[NodeEndpoint] = []
    error_code = read_i16_be(data, position)
    position += 2
    count, position = read_compact_count(data, position, 3)
    topics = []
    for nth in range(count):
        topics_item, position = _read_topic_data_response(data, position, version)
        topics.append(topics_item)
        if nth & LONG_RUN == LONG_RUN:
            give_way()
    if data[position]:
        tags, position = read_uvarint(data, position)
        for _ in range(tags):
            tag, position, end = read_tag(data, position)
            if tag == 0 and version >= 1:
                count, position = read_compact_count(data, position, 8)
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
    return VoteResponse(error_code, topics, node_endpoints), position


def _write_vote_response(writer: BytesWriter, message: VoteResponse, version: i64) -> None:
    write_i16_be(writer, message.error_code)
    topics = message.topics
    write_uvarint(writer, len(topics) + 1)
    for nth, topics_item in enumerate(topics):
        _write_topic_data_response(writer, topics_item, version)
        if nth & LONG_RUN == LONG_RUN:
            give_way()
    if version < 1:
        if message.node_endpoints:
            raise unsupported_field("VoteResponse", "node_endpoints", version)
    if version >= 1 and message.node_endpoints:
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
