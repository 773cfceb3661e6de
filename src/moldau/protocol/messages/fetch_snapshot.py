"""FetchSnapshot (API key 59). Generated from schema/fetch_snapshot.txt: do not edit."""

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
    write_compact_nullable_string,
    write_compact_records,
    write_compact_string,
    write_tag,
    write_u16,
    write_uuid,
    write_uvarint,
)


class SnapshotId(Struct):
    __slots__ = ("end_offset", "epoch")
    FIELDS: ClassVar[tuple[str, ...]] = ("end_offset", "epoch")

    def __init__(self, end_offset: int = 0, epoch: int = 0) -> None:
        self.end_offset = end_offset
        self.epoch = epoch


def _read_snapshot_id(data: bytes, position: i64, version: i64) -> tuple[SnapshotId, i64]:
    end_offset = read_i64_be(data, position)
    epoch = read_i32_be(data, position + 8)
    position += 12
    position = skip_tags(data, position) if data[position] else position + 1
    return SnapshotId(end_offset, epoch), position


def _write_snapshot_id(writer: BytesWriter, message: SnapshotId, version: i64) -> None:
    write_i64_be(writer, message.end_offset)
    write_i32_be(writer, message.epoch)
    writer.append(0)


class PartitionSnapshot(Struct):
    __slots__ = ("partition", "current_leader_epoch", "snapshot_id", "position", "replica_directory_id")
    FIELDS: ClassVar[tuple[str, ...]] = ("partition", "current_leader_epoch", "snapshot_id", "position", "replica_directory_id")

    def __init__(self, partition: int = 0, current_leader_epoch: int = 0, snapshot_id: SnapshotId | None = None, position: int = 0, replica_directory_id: bytes = NO_UUID) -> None:
        self.partition = partition
        self.current_leader_epoch = current_leader_epoch
        self.snapshot_id = SnapshotId() if snapshot_id is None else snapshot_id
        self.position = position
        self.replica_directory_id = replica_directory_id


def _read_partition_snapshot(data: bytes, position: i64, version: i64) -> tuple[PartitionSnapshot, i64]:
    replica_directory_id: bytes = NO_UUID
    partition = read_i32_be(data, position)
    current_leader_epoch = read_i32_be(data, position + 4)
    position += 8
    snapshot_id, position = _read_snapshot_id(data, position, version)
    position_ = read_i64_be(data, position)
    position += 8
    if data[position]:
        tags, position = read_uvarint(data, position)
        for _ in range(tags):
            tag, position, end = read_tag(data, position)
            if tag == 0 and version >= 1:
                replica_directory_id = read_uuid(data, position)
                position += 16
            else:
                position = end
            if position != end:
                raise wrong_tag_size(tag)
    else:
        position += 1
    return PartitionSnapshot(partition, current_leader_epoch, snapshot_id, position_, replica_directory_id), position


def _write_partition_snapshot(writer: BytesWriter, message: PartitionSnapshot, version: i64) -> None:
    write_i32_be(writer, message.partition)
    write_i32_be(writer, message.current_leader_epoch)
    _write_snapshot_id(writer, message.snapshot_id, version)
    write_i64_be(writer, message.position)
    if version >= 1 and message.replica_directory_id != NO_UUID:
        writer.append(1)
        writer.append(0)
        writer.append(16)
        write_uuid(writer, message.replica_directory_id)
    else:
        writer.append(0)


class TopicSnapshot(Struct):
    __slots__ = ("name", "partitions")
    FIELDS: ClassVar[tuple[str, ...]] = ("name", "partitions")

    def __init__(self, name: str = "", partitions: list[PartitionSnapshot] = NO_ITEMS) -> None:
        self.name = name
        self.partitions = [] if partitions is NO_ITEMS else partitions


def _read_topic_snapshot(data: bytes, position: i64, version: i64) -> tuple[TopicSnapshot, i64]:
    partitions: list[PartitionSnapshot]
    name, position = read_compact_string(data, position)
    count, position = read_compact_count(data, position, 30)
    partitions = []
    for nth in range(count):
        partitions_item, position = _read_partition_snapshot(data, position, version)
        partitions.append(partitions_item)
        if nth & LONG_RUN == LONG_RUN:
            give_way()
    position = skip_tags(data, position) if data[position] else position + 1
    return TopicSnapshot(name, partitions), position


def _write_topic_snapshot(writer: BytesWriter, message: TopicSnapshot, version: i64) -> None:
    write_compact_string(writer, message.name)
    partitions = message.partitions
    write_uvarint(writer, len(partitions) + 1)
    for nth, partitions_item in enumerate(partitions):
        _write_partition_snapshot(writer, partitions_item, version)
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


class PartitionSnapshotResponse(Struct):
    __slots__ = ("index", "error_code", "snapshot_id", "current_leader", "size", "position", "unaligned_records")
    FIELDS: ClassVar[tuple[str, ...]] = ("index", "error_code", "snapshot_id", "current_leader", "size", "position", "unaligned_records")

    def __init__(self, index: int = 0, error_code: int = 0, snapshot_id: SnapshotId | None = None, current_leader: LeaderIdAndEpoch | None = None, size: int = 0, position: int = 0, unaligned_records: Part = b"") -> None:
        self.index = index
        self.error_code = error_code
        self.snapshot_id = SnapshotId() if snapshot_id is None else snapshot_id
        self.current_leader = current_leader
        self.size = size
        self.position = position
        self.unaligned_records = unaligned_records


def _read_partition_snapshot_response(data: bytes, position: i64, version: i64) -> tuple[PartitionSnapshotResponse, i64]:
    current_leader: LeaderIdAndEpoch | None = None
    index = read_i32_be(data, position)
    error_code = read_i16_be(data, position + 4)
    position += 6
    snapshot_id, position = _read_snapshot_id(data, position, version)
    size = read_i64_be(data, position)
    position_ = read_i64_be(data, position + 8)
    position += 16
    unaligned_records, position = read_compact_records(data, position)
    if data[position]:
        tags, position = read_uvarint(data, position)
        for _ in range(tags):
            tag, position, end = read_tag(data, position)
            if tag == 0:
                current_leader, position = _read_leader_id_and_epoch(data, position, version)
            else:
                position = end
            if position != end:
                raise wrong_tag_size(tag)
    else:
        position += 1
    return PartitionSnapshotResponse(index, error_code, snapshot_id, current_leader, size, position_, unaligned_records), position


def _write_partition_snapshot_response(writer: BytesWriter, parts: list[Part] | None, message: PartitionSnapshotResponse, version: i64) -> None:
    write_i32_be(writer, message.index)
    write_i16_be(writer, message.error_code)
    _write_snapshot_id(writer, message.snapshot_id, version)
    write_i64_be(writer, message.size)
    write_i64_be(writer, message.position)
    write_compact_records(writer, parts, message.unaligned_records)
    if message.current_leader is not None and (message.current_leader.leader_id != 0 or message.current_leader.leader_epoch != 0):
        writer.append(1)
        body = BytesWriter()
        _write_leader_id_and_epoch(body, message.current_leader, version)
        write_tag(writer, 0, body)
    else:
        writer.append(0)


class TopicSnapshotResponse(Struct):
    __slots__ = ("name", "partitions")
    FIELDS: ClassVar[tuple[str, ...]] = ("name", "partitions")

    def __init__(self, name: str = "", partitions: list[PartitionSnapshotResponse] = NO_ITEMS) -> None:
        self.name = name
        self.partitions = [] if partitions is NO_ITEMS else partitions


def _read_topic_snapshot_response(data: bytes, position: i64, version: i64) -> tuple[TopicSnapshotResponse, i64]:
    partitions: list[PartitionSnapshotResponse]
    name, position = read_compact_string(data, position)
    count, position = read_compact_count(data, position, 37)
    partitions = []
    for nth in range(count):
        partitions_item, position = _read_partition_snapshot_response(data, position, version)
        partitions.append(partitions_item)
        if nth & LONG_RUN == LONG_RUN:
            give_way()
    position = skip_tags(data, position) if data[position] else position + 1
    return TopicSnapshotResponse(name, partitions), position


def _write_topic_snapshot_response(writer: BytesWriter, parts: list[Part] | None, message: TopicSnapshotResponse, version: i64) -> None:
    write_compact_string(writer, message.name)
    partitions = message.partitions
    write_uvarint(writer, len(partitions) + 1)
    for nth, partitions_item in enumerate(partitions):
        _write_partition_snapshot_response(writer, parts, partitions_item, version)
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


class FetchSnapshotRequest(Message):
    """API key 59, versions 0 to 1."""

    __slots__ = ("cluster_id", "replica_id", "max_bytes", "topics")
    FIELDS: ClassVar[tuple[str, ...]] = ("cluster_id", "replica_id", "max_bytes", "topics")
    API_KEY: ClassVar[int] = 59
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 1
    FIRST_FLEXIBLE: ClassVar[int] = 0

    def __init__(self, cluster_id: str | None = None, replica_id: int = -1, max_bytes: int = 2147483647, topics: list[TopicSnapshot] = NO_ITEMS) -> None:
        self.cluster_id = cluster_id
        self.replica_id = replica_id
        self.max_bytes = max_bytes
        self.topics = [] if topics is NO_ITEMS else topics

    @classmethod
    def decode(cls, data: bytes, position: int, version: int) -> tuple[FetchSnapshotRequest, int]:
        if version < 0 or version > 1:
            raise unknown_version("FetchSnapshotRequest", version, 0, 1)
        try:
            message, end = _read_fetch_snapshot_request(data, position, version)
        except (IndexError, ValueError) as error:
            raise malformed("FetchSnapshotRequest", version, error) from None
        return message, end

    def encode(self, version: int) -> bytes:
        if version < 0 or version > 1:
            raise unsupported_version("FetchSnapshotRequest", version, 0, 1)
        writer = BytesWriter()
        _write_fetch_snapshot_request(writer, self, version)
        return writer.getvalue()

    def encode_parts(self, writer_prefix: bytes, version: int) -> list[Part]:
        if version < 0 or version > 1:
            raise unsupported_version("FetchSnapshotRequest", version, 0, 1)
        writer = BytesWriter()
        writer.write(writer_prefix)
        _write_fetch_snapshot_request(writer, self, version)
        return [writer.getvalue()]


def _read_fetch_snapshot_request(data: bytes, position: i64, version: i64) -> tuple[FetchSnapshotRequest, i64]:
    cluster_id: str | None = None
    topics: list[TopicSnapshot]
    replica_id = read_i32_be(data, position)
    max_bytes = read_i32_be(data, position + 4)
    position += 8
    count, position = read_compact_count(data, position, 3)
    topics = []
    for nth in range(count):
        topics_item, position = _read_topic_snapshot(data, position, version)
        topics.append(topics_item)
        if nth & LONG_RUN == LONG_RUN:
            give_way()
    if data[position]:
        tags, position = read_uvarint(data, position)
        for _ in range(tags):
            tag, position, end = read_tag(data, position)
            if tag == 0:
                cluster_id, position = read_compact_nullable_string(data, position)
            else:
                position = end
            if position != end:
                raise wrong_tag_size(tag)
    else:
        position += 1
    return FetchSnapshotRequest(cluster_id, replica_id, max_bytes, topics), position


def _write_fetch_snapshot_request(writer: BytesWriter, message: FetchSnapshotRequest, version: i64) -> None:
    write_i32_be(writer, message.replica_id)
    write_i32_be(writer, message.max_bytes)
    topics = message.topics
    write_uvarint(writer, len(topics) + 1)
    for nth, topics_item in enumerate(topics):
        _write_topic_snapshot(writer, topics_item, version)
        if nth & LONG_RUN == LONG_RUN:
            give_way()
    if message.cluster_id is not None:
        writer.append(1)
        body = BytesWriter()
        write_compact_nullable_string(body, message.cluster_id)
        write_tag(writer, 0, body)
    else:
        writer.append(0)


class FetchSnapshotResponse(Message):
    """API key 59, versions 0 to 1."""

    __slots__ = ("throttle_time_ms", "error_code", "topics", "node_endpoints")
    FIELDS: ClassVar[tuple[str, ...]] = ("throttle_time_ms", "error_code", "topics", "node_endpoints")
    API_KEY: ClassVar[int] = 59
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 1
    FIRST_FLEXIBLE: ClassVar[int] = 0

    def __init__(self, throttle_time_ms: int = 0, error_code: int = 0, topics: list[TopicSnapshotResponse] = NO_ITEMS, node_endpoints: list[NodeEndpoint] = NO_ITEMS) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.topics = [] if topics is NO_ITEMS else topics
        self.node_endpoints = [] if node_endpoints is NO_ITEMS else node_endpoints

    @classmethod
    def decode(cls, data: bytes, position: int, version: int) -> tuple[FetchSnapshotResponse, int]:
        if version < 0 or version > 1:
            raise unknown_version("FetchSnapshotResponse", version, 0, 1)
        try:
            message, end = _read_fetch_snapshot_response(data, position, version)
        except (IndexError, ValueError) as error:
            raise malformed("FetchSnapshotResponse", version, error) from None
        return message, end

    def encode(self, version: int) -> bytes:
        if version < 0 or version > 1:
            raise unsupported_version("FetchSnapshotResponse", version, 0, 1)
        writer = BytesWriter()
        _write_fetch_snapshot_response(writer, None, self, version)
        return writer.getvalue()

    def encode_parts(self, writer_prefix: bytes, version: int) -> list[Part]:
        if version < 0 or version > 1:
            raise unsupported_version("FetchSnapshotResponse", version, 0, 1)
        writer = BytesWriter()
        writer.write(writer_prefix)
        parts: list[Part] = []
        _write_fetch_snapshot_response(writer, parts, self, version)
        parts.append(writer.getvalue())
        return parts


def _read_fetch_snapshot_response(data: bytes, position: i64, version: i64) -> tuple[FetchSnapshotResponse, i64]:
    topics: list[TopicSnapshotResponse]
    node_endpoints: list[NodeEndpoint] = []
    throttle_time_ms = read_i32_be(data, position)
    error_code = read_i16_be(data, position + 4)
    position += 6
    count, position = read_compact_count(data, position, 3)
    topics = []
    for nth in range(count):
        topics_item, position = _read_topic_snapshot_response(data, position, version)
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
    return FetchSnapshotResponse(throttle_time_ms, error_code, topics, node_endpoints), position


def _write_fetch_snapshot_response(writer: BytesWriter, parts: list[Part] | None, message: FetchSnapshotResponse, version: i64) -> None:
    write_i32_be(writer, message.throttle_time_ms)
    write_i16_be(writer, message.error_code)
    topics = message.topics
    write_uvarint(writer, len(topics) + 1)
    for nth, topics_item in enumerate(topics):
        _write_topic_snapshot_response(writer, parts, topics_item, version)
        if nth & LONG_RUN == LONG_RUN:
            give_way()
    if version < 1:
        if message.node_endpoints:
            raise unsupported_field("FetchSnapshotResponse", "node_endpoints", version)
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
