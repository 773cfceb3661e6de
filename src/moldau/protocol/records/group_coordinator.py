"""The group coordinator records. Generated from schema/group_coordinator_records.txt: do not edit."""

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
    read_bytes,
    read_compact_bytes,
    read_compact_count,
    read_compact_nullable_count,
    read_compact_nullable_string,
    read_compact_string,
    read_compact_string_list,
    read_count,
    read_i8,
    read_i16_list,
    read_i32_list,
    read_nullable_string,
    read_string,
    read_tag,
    read_u16,
    read_uuid,
    read_uvarint,
    skip_tags,
    unknown_version,
    wrong_tag_size,
)
from moldau.protocol.writing import (
    unsupported_version,
    write_bytes,
    write_compact_bytes,
    write_compact_nullable_string,
    write_compact_string,
    write_compact_string_list,
    write_i8,
    write_i16_list,
    write_i32_list,
    write_nullable_string,
    write_string,
    write_tag,
    write_u16,
    write_uuid,
    write_uvarint,
)


class MemberMetadata(Struct):
    __slots__ = ("member_id", "group_instance_id", "client_id", "client_host", "rebalance_timeout", "session_timeout", "subscription", "assignment")
    FIELDS: ClassVar[tuple[str, ...]] = ("member_id", "group_instance_id", "client_id", "client_host", "rebalance_timeout", "session_timeout", "subscription", "assignment")

    def __init__(self, member_id: str = "", group_instance_id: str | None = None, client_id: str = "", client_host: str = "", rebalance_timeout: int = -1, session_timeout: int = 0, subscription: bytes = b"", assignment: bytes = b"") -> None:
        self.member_id = member_id
        self.group_instance_id = group_instance_id
        self.client_id = client_id
        self.client_host = client_host
        self.rebalance_timeout = rebalance_timeout
        self.session_timeout = session_timeout
        self.subscription = subscription
        self.assignment = assignment


def _read_member_metadata(data: bytes, position: i64, version: i64) -> tuple[MemberMetadata, i64]:
    member_id: str
    group_instance_id: str | None
    client_id: str
    client_host: str
    rebalance_timeout: int
    subscription: bytes
    assignment: bytes
    if version >= 4:
        member_id, position = read_compact_string(data, position)
    else:
        member_id, position = read_string(data, position)
    if version >= 4:
        group_instance_id, position = read_compact_nullable_string(data, position)
    elif version >= 3:
        group_instance_id, position = read_nullable_string(data, position)
    else:
        group_instance_id = None
    if version >= 4:
        client_id, position = read_compact_string(data, position)
        client_host, position = read_compact_string(data, position)
    else:
        client_id, position = read_string(data, position)
        client_host, position = read_string(data, position)
    if version >= 1:
        rebalance_timeout = read_i32_be(data, position)
        position += 4
    else:
        rebalance_timeout = -1
    session_timeout = read_i32_be(data, position)
    position += 4
    if version >= 4:
        subscription, position = read_compact_bytes(data, position)
        assignment, position = read_compact_bytes(data, position)
    else:
        subscription, position = read_bytes(data, position)
        assignment, position = read_bytes(data, position)
    if version >= 4:
        position = skip_tags(data, position) if data[position] else position + 1
    return MemberMetadata(member_id, group_instance_id, client_id, client_host, rebalance_timeout, session_timeout, subscription, assignment), position


def _write_member_metadata(writer: BytesWriter, message: MemberMetadata, version: i64) -> None:
    if version >= 4:
        write_compact_string(writer, message.member_id)
    else:
        write_string(writer, message.member_id)
    if version >= 4:
        write_compact_nullable_string(writer, message.group_instance_id)
    elif version >= 3:
        write_nullable_string(writer, message.group_instance_id)
    if version >= 4:
        write_compact_string(writer, message.client_id)
        write_compact_string(writer, message.client_host)
    else:
        write_string(writer, message.client_id)
        write_string(writer, message.client_host)
    if version >= 1:
        write_i32_be(writer, message.rebalance_timeout)
    write_i32_be(writer, message.session_timeout)
    if version >= 4:
        write_compact_bytes(writer, message.subscription)
        write_compact_bytes(writer, message.assignment)
    else:
        write_bytes(writer, message.subscription)
        write_bytes(writer, message.assignment)
    if version >= 4:
        writer.append(0)


class PartitionMetadata(Struct):
    __slots__ = ("partition", "racks")
    FIELDS: ClassVar[tuple[str, ...]] = ("partition", "racks")

    def __init__(self, partition: int = 0, racks: list[str] = NO_ITEMS) -> None:
        self.partition = partition
        self.racks = [] if racks is NO_ITEMS else racks


def _read_partition_metadata(data: bytes, position: i64, version: i64) -> tuple[PartitionMetadata, i64]:
    racks: list[str]
    partition = read_i32_be(data, position)
    position += 4
    count, position = read_compact_count(data, position, 1)
    racks, position = read_compact_string_list(data, position, count)
    position = skip_tags(data, position) if data[position] else position + 1
    return PartitionMetadata(partition, racks), position


def _write_partition_metadata(writer: BytesWriter, message: PartitionMetadata, version: i64) -> None:
    write_i32_be(writer, message.partition)
    racks = message.racks
    write_uvarint(writer, len(racks) + 1)
    write_compact_string_list(writer, racks)
    writer.append(0)


class TopicMetadata(Struct):
    __slots__ = ("topic_id", "topic_name", "num_partitions", "partition_metadata")
    FIELDS: ClassVar[tuple[str, ...]] = ("topic_id", "topic_name", "num_partitions", "partition_metadata")

    def __init__(self, topic_id: bytes = NO_UUID, topic_name: str = "", num_partitions: int = 0, partition_metadata: list[PartitionMetadata] = NO_ITEMS) -> None:
        self.topic_id = topic_id
        self.topic_name = topic_name
        self.num_partitions = num_partitions
        self.partition_metadata = [] if partition_metadata is NO_ITEMS else partition_metadata


def _read_topic_metadata(data: bytes, position: i64, version: i64) -> tuple[TopicMetadata, i64]:
    partition_metadata: list[PartitionMetadata]
    topic_id = read_uuid(data, position)
    position += 16
    topic_name, position = read_compact_string(data, position)
    num_partitions = read_i32_be(data, position)
    position += 4
    count, position = read_compact_count(data, position, 6)
    partition_metadata = []
    for nth in range(count):
        partition_metadata_item, position = _read_partition_metadata(data, position, version)
        partition_metadata.append(partition_metadata_item)
        if nth & LONG_RUN == LONG_RUN:
            give_way()
    position = skip_tags(data, position) if data[position] else position + 1
    return TopicMetadata(topic_id, topic_name, num_partitions, partition_metadata), position


def _write_topic_metadata(writer: BytesWriter, message: TopicMetadata, version: i64) -> None:
    write_uuid(writer, message.topic_id)
    write_compact_string(writer, message.topic_name)
    write_i32_be(writer, message.num_partitions)
    partition_metadata = message.partition_metadata
    write_uvarint(writer, len(partition_metadata) + 1)
    for nth, partition_metadata_item in enumerate(partition_metadata):
        _write_partition_metadata(writer, partition_metadata_item, version)
        if nth & LONG_RUN == LONG_RUN:
            give_way()
    writer.append(0)


class ClassicProtocol(Struct):
    __slots__ = ("name", "metadata")
    FIELDS: ClassVar[tuple[str, ...]] = ("name", "metadata")

    def __init__(self, name: str = "", metadata: bytes = b"") -> None:
        self.name = name
        self.metadata = metadata


def _read_classic_protocol(data: bytes, position: i64, version: i64) -> tuple[ClassicProtocol, i64]:
    name, position = read_compact_string(data, position)
    metadata, position = read_compact_bytes(data, position)
    position = skip_tags(data, position) if data[position] else position + 1
    return ClassicProtocol(name, metadata), position


def _write_classic_protocol(writer: BytesWriter, message: ClassicProtocol, version: i64) -> None:
    write_compact_string(writer, message.name)
    write_compact_bytes(writer, message.metadata)
    writer.append(0)


class ClassicMemberMetadata(Struct):
    __slots__ = ("session_timeout_ms", "supported_protocols")
    FIELDS: ClassVar[tuple[str, ...]] = ("session_timeout_ms", "supported_protocols")

    def __init__(self, session_timeout_ms: int = 0, supported_protocols: list[ClassicProtocol] = NO_ITEMS) -> None:
        self.session_timeout_ms = session_timeout_ms
        self.supported_protocols = [] if supported_protocols is NO_ITEMS else supported_protocols


def _read_classic_member_metadata(data: bytes, position: i64, version: i64) -> tuple[ClassicMemberMetadata, i64]:
    supported_protocols: list[ClassicProtocol]
    session_timeout_ms = read_i32_be(data, position)
    position += 4
    count, position = read_compact_count(data, position, 3)
    supported_protocols = []
    for nth in range(count):
        supported_protocols_item, position = _read_classic_protocol(data, position, version)
        supported_protocols.append(supported_protocols_item)
        if nth & LONG_RUN == LONG_RUN:
            give_way()
    position = skip_tags(data, position) if data[position] else position + 1
    return ClassicMemberMetadata(session_timeout_ms, supported_protocols), position


def _write_classic_member_metadata(writer: BytesWriter, message: ClassicMemberMetadata, version: i64) -> None:
    write_i32_be(writer, message.session_timeout_ms)
    supported_protocols = message.supported_protocols
    write_uvarint(writer, len(supported_protocols) + 1)
    for nth, supported_protocols_item in enumerate(supported_protocols):
        _write_classic_protocol(writer, supported_protocols_item, version)
        if nth & LONG_RUN == LONG_RUN:
            give_way()
    writer.append(0)


class TopicPartition(Struct):
    __slots__ = ("topic_id", "partitions")
    FIELDS: ClassVar[tuple[str, ...]] = ("topic_id", "partitions")

    def __init__(self, topic_id: bytes = NO_UUID, partitions: list[int] = NO_ITEMS) -> None:
        self.topic_id = topic_id
        self.partitions = [] if partitions is NO_ITEMS else partitions


def _read_topic_partition(data: bytes, position: i64, version: i64) -> tuple[TopicPartition, i64]:
    partitions: list[int]
    topic_id = read_uuid(data, position)
    position += 16
    count, position = read_compact_count(data, position, 4)
    partitions = read_i32_list(data, position, count)
    position += 4 * count
    position = skip_tags(data, position) if data[position] else position + 1
    return TopicPartition(topic_id, partitions), position


def _write_topic_partition(writer: BytesWriter, message: TopicPartition, version: i64) -> None:
    write_uuid(writer, message.topic_id)
    partitions = message.partitions
    write_uvarint(writer, len(partitions) + 1)
    write_i32_list(writer, partitions)
    writer.append(0)


class TopicPartitions(Struct):
    __slots__ = ("topic_id", "partitions", "assignment_epochs")
    FIELDS: ClassVar[tuple[str, ...]] = ("topic_id", "partitions", "assignment_epochs")

    def __init__(self, topic_id: bytes = NO_UUID, partitions: list[int] = NO_ITEMS, assignment_epochs: list[int] | None = NO_ITEMS) -> None:
        self.topic_id = topic_id
        self.partitions = [] if partitions is NO_ITEMS else partitions
        self.assignment_epochs = [] if assignment_epochs is NO_ITEMS else assignment_epochs


def _read_topic_partitions(data: bytes, position: i64, version: i64) -> tuple[TopicPartitions, i64]:
    partitions: list[int]
    assignment_epochs: list[int] | None = []
    topic_id = read_uuid(data, position)
    position += 16
    count, position = read_compact_count(data, position, 4)
    partitions = read_i32_list(data, position, count)
    position += 4 * count
    if data[position]:
        tags, position = read_uvarint(data, position)
        for _ in range(tags):
            tag, position, end = read_tag(data, position)
            if tag == 0:
                count, position = read_compact_nullable_count(data, position, 4)
                if count < 0:
                    assignment_epochs = None
                else:
                    assignment_epochs = read_i32_list(data, position, count)
                    position += 4 * count
            else:
                position = end
            if position != end:
                raise wrong_tag_size(tag)
    else:
        position += 1
    return TopicPartitions(topic_id, partitions, assignment_epochs), position


def _write_topic_partitions(writer: BytesWriter, message: TopicPartitions, version: i64) -> None:
    write_uuid(writer, message.topic_id)
    partitions = message.partitions
    write_uvarint(writer, len(partitions) + 1)
    write_i32_list(writer, partitions)
    if message.assignment_epochs is None or message.assignment_epochs:
        writer.append(1)
        body = BytesWriter()
        assignment_epochs = message.assignment_epochs
        if assignment_epochs is None:
            body.append(0)
        else:
            write_uvarint(body, len(assignment_epochs) + 1)
            write_i32_list(body, assignment_epochs)
        write_tag(writer, 0, body)
    else:
        writer.append(0)


class ShareGroupCurrentMemberAssignmentTopicPartitions(Struct):
    __slots__ = ("topic_id", "partitions")
    FIELDS: ClassVar[tuple[str, ...]] = ("topic_id", "partitions")

    def __init__(self, topic_id: bytes = NO_UUID, partitions: list[int] = NO_ITEMS) -> None:
        self.topic_id = topic_id
        self.partitions = [] if partitions is NO_ITEMS else partitions


def _read_share_group_current_member_assignment_topic_partitions(data: bytes, position: i64, version: i64) -> tuple[ShareGroupCurrentMemberAssignmentTopicPartitions, i64]:
    partitions: list[int]
    topic_id = read_uuid(data, position)
    position += 16
    count, position = read_compact_count(data, position, 4)
    partitions = read_i32_list(data, position, count)
    position += 4 * count
    position = skip_tags(data, position) if data[position] else position + 1
    return ShareGroupCurrentMemberAssignmentTopicPartitions(topic_id, partitions), position


def _write_share_group_current_member_assignment_topic_partitions(writer: BytesWriter, message: ShareGroupCurrentMemberAssignmentTopicPartitions, version: i64) -> None:
    write_uuid(writer, message.topic_id)
    partitions = message.partitions
    write_uvarint(writer, len(partitions) + 1)
    write_i32_list(writer, partitions)
    writer.append(0)


class TopicPartitionsInfo(Struct):
    __slots__ = ("topic_id", "topic_name", "partitions")
    FIELDS: ClassVar[tuple[str, ...]] = ("topic_id", "topic_name", "partitions")

    def __init__(self, topic_id: bytes = NO_UUID, topic_name: str = "", partitions: list[int] = NO_ITEMS) -> None:
        self.topic_id = topic_id
        self.topic_name = topic_name
        self.partitions = [] if partitions is NO_ITEMS else partitions


def _read_topic_partitions_info(data: bytes, position: i64, version: i64) -> tuple[TopicPartitionsInfo, i64]:
    partitions: list[int]
    topic_id = read_uuid(data, position)
    position += 16
    topic_name, position = read_compact_string(data, position)
    count, position = read_compact_count(data, position, 4)
    partitions = read_i32_list(data, position, count)
    position += 4 * count
    position = skip_tags(data, position) if data[position] else position + 1
    return TopicPartitionsInfo(topic_id, topic_name, partitions), position


def _write_topic_partitions_info(writer: BytesWriter, message: TopicPartitionsInfo, version: i64) -> None:
    write_uuid(writer, message.topic_id)
    write_compact_string(writer, message.topic_name)
    partitions = message.partitions
    write_uvarint(writer, len(partitions) + 1)
    write_i32_list(writer, partitions)
    writer.append(0)


class TopicInfo(Struct):
    __slots__ = ("topic_id", "topic_name")
    FIELDS: ClassVar[tuple[str, ...]] = ("topic_id", "topic_name")

    def __init__(self, topic_id: bytes = NO_UUID, topic_name: str = "") -> None:
        self.topic_id = topic_id
        self.topic_name = topic_name


def _read_topic_info(data: bytes, position: i64, version: i64) -> tuple[TopicInfo, i64]:
    topic_id = read_uuid(data, position)
    position += 16
    topic_name, position = read_compact_string(data, position)
    position = skip_tags(data, position) if data[position] else position + 1
    return TopicInfo(topic_id, topic_name), position


def _write_topic_info(writer: BytesWriter, message: TopicInfo, version: i64) -> None:
    write_uuid(writer, message.topic_id)
    write_compact_string(writer, message.topic_name)
    writer.append(0)


class LastAssignmentConfig(Struct):
    __slots__ = ("key", "value")
    FIELDS: ClassVar[tuple[str, ...]] = ("key", "value")

    def __init__(self, key: str = "", value: str = "") -> None:
        self.key = key
        self.value = value


def _read_last_assignment_config(data: bytes, position: i64, version: i64) -> tuple[LastAssignmentConfig, i64]:
    key, position = read_compact_string(data, position)
    value, position = read_compact_string(data, position)
    position = skip_tags(data, position) if data[position] else position + 1
    return LastAssignmentConfig(key, value), position


def _write_last_assignment_config(writer: BytesWriter, message: LastAssignmentConfig, version: i64) -> None:
    write_compact_string(writer, message.key)
    write_compact_string(writer, message.value)
    writer.append(0)


class Endpoint(Struct):
    __slots__ = ("host", "port")
    FIELDS: ClassVar[tuple[str, ...]] = ("host", "port")

    def __init__(self, host: str = "", port: int = 0) -> None:
        self.host = host
        self.port = port


def _read_endpoint(data: bytes, position: i64, version: i64) -> tuple[Endpoint, i64]:
    host, position = read_compact_string(data, position)
    port = read_u16(data, position)
    position += 2
    position = skip_tags(data, position) if data[position] else position + 1
    return Endpoint(host, port), position


def _write_endpoint(writer: BytesWriter, message: Endpoint, version: i64) -> None:
    write_compact_string(writer, message.host)
    write_u16(writer, message.port)
    writer.append(0)


class KeyValue(Struct):
    __slots__ = ("key", "value")
    FIELDS: ClassVar[tuple[str, ...]] = ("key", "value")

    def __init__(self, key: str = "", value: str = "") -> None:
        self.key = key
        self.value = value


def _read_key_value(data: bytes, position: i64, version: i64) -> tuple[KeyValue, i64]:
    key, position = read_compact_string(data, position)
    value, position = read_compact_string(data, position)
    position = skip_tags(data, position) if data[position] else position + 1
    return KeyValue(key, value), position


def _write_key_value(writer: BytesWriter, message: KeyValue, version: i64) -> None:
    write_compact_string(writer, message.key)
    write_compact_string(writer, message.value)
    writer.append(0)


class TaskIds(Struct):
    __slots__ = ("subtopology_id", "partitions")
    FIELDS: ClassVar[tuple[str, ...]] = ("subtopology_id", "partitions")

    def __init__(self, subtopology_id: str = "", partitions: list[int] = NO_ITEMS) -> None:
        self.subtopology_id = subtopology_id
        self.partitions = [] if partitions is NO_ITEMS else partitions


def _read_task_ids(data: bytes, position: i64, version: i64) -> tuple[TaskIds, i64]:
    partitions: list[int]
    subtopology_id, position = read_compact_string(data, position)
    count, position = read_compact_count(data, position, 4)
    partitions = read_i32_list(data, position, count)
    position += 4 * count
    position = skip_tags(data, position) if data[position] else position + 1
    return TaskIds(subtopology_id, partitions), position


def _write_task_ids(writer: BytesWriter, message: TaskIds, version: i64) -> None:
    write_compact_string(writer, message.subtopology_id)
    partitions = message.partitions
    write_uvarint(writer, len(partitions) + 1)
    write_i32_list(writer, partitions)
    writer.append(0)


class StreamsGroupCurrentMemberAssignmentTaskIds(Struct):
    __slots__ = ("subtopology_id", "partitions", "assignment_epochs")
    FIELDS: ClassVar[tuple[str, ...]] = ("subtopology_id", "partitions", "assignment_epochs")

    def __init__(self, subtopology_id: str = "", partitions: list[int] = NO_ITEMS, assignment_epochs: list[int] | None = NO_ITEMS) -> None:
        self.subtopology_id = subtopology_id
        self.partitions = [] if partitions is NO_ITEMS else partitions
        self.assignment_epochs = [] if assignment_epochs is NO_ITEMS else assignment_epochs


def _read_streams_group_current_member_assignment_task_ids(data: bytes, position: i64, version: i64) -> tuple[StreamsGroupCurrentMemberAssignmentTaskIds, i64]:
    partitions: list[int]
    assignment_epochs: list[int] | None = []
    subtopology_id, position = read_compact_string(data, position)
    count, position = read_compact_count(data, position, 4)
    partitions = read_i32_list(data, position, count)
    position += 4 * count
    if data[position]:
        tags, position = read_uvarint(data, position)
        for _ in range(tags):
            tag, position, end = read_tag(data, position)
            if tag == 0:
                count, position = read_compact_nullable_count(data, position, 4)
                if count < 0:
                    assignment_epochs = None
                else:
                    assignment_epochs = read_i32_list(data, position, count)
                    position += 4 * count
            else:
                position = end
            if position != end:
                raise wrong_tag_size(tag)
    else:
        position += 1
    return StreamsGroupCurrentMemberAssignmentTaskIds(subtopology_id, partitions, assignment_epochs), position


def _write_streams_group_current_member_assignment_task_ids(writer: BytesWriter, message: StreamsGroupCurrentMemberAssignmentTaskIds, version: i64) -> None:
    write_compact_string(writer, message.subtopology_id)
    partitions = message.partitions
    write_uvarint(writer, len(partitions) + 1)
    write_i32_list(writer, partitions)
    if message.assignment_epochs is None or message.assignment_epochs:
        writer.append(1)
        body = BytesWriter()
        assignment_epochs = message.assignment_epochs
        if assignment_epochs is None:
            body.append(0)
        else:
            write_uvarint(body, len(assignment_epochs) + 1)
            write_i32_list(body, assignment_epochs)
        write_tag(writer, 0, body)
    else:
        writer.append(0)


class TopicConfig(Struct):
    __slots__ = ("key", "value")
    FIELDS: ClassVar[tuple[str, ...]] = ("key", "value")

    def __init__(self, key: str = "", value: str = "") -> None:
        self.key = key
        self.value = value


def _read_topic_config(data: bytes, position: i64, version: i64) -> tuple[TopicConfig, i64]:
    key, position = read_compact_string(data, position)
    value, position = read_compact_string(data, position)
    position = skip_tags(data, position) if data[position] else position + 1
    return TopicConfig(key, value), position


def _write_topic_config(writer: BytesWriter, message: TopicConfig, version: i64) -> None:
    write_compact_string(writer, message.key)
    write_compact_string(writer, message.value)
    writer.append(0)


class StreamsGroupTopologyTopicInfo(Struct):
    __slots__ = ("name", "partitions", "replication_factor", "topic_configs")
    FIELDS: ClassVar[tuple[str, ...]] = ("name", "partitions", "replication_factor", "topic_configs")

    def __init__(self, name: str = "", partitions: int = 0, replication_factor: int = 0, topic_configs: list[TopicConfig] = NO_ITEMS) -> None:
        self.name = name
        self.partitions = partitions
        self.replication_factor = replication_factor
        self.topic_configs = [] if topic_configs is NO_ITEMS else topic_configs


def _read_streams_group_topology_topic_info(data: bytes, position: i64, version: i64) -> tuple[StreamsGroupTopologyTopicInfo, i64]:
    topic_configs: list[TopicConfig]
    name, position = read_compact_string(data, position)
    partitions = read_i32_be(data, position)
    replication_factor = read_i16_be(data, position + 4)
    position += 6
    count, position = read_compact_count(data, position, 3)
    topic_configs = []
    for nth in range(count):
        topic_configs_item, position = _read_topic_config(data, position, version)
        topic_configs.append(topic_configs_item)
        if nth & LONG_RUN == LONG_RUN:
            give_way()
    position = skip_tags(data, position) if data[position] else position + 1
    return StreamsGroupTopologyTopicInfo(name, partitions, replication_factor, topic_configs), position


def _write_streams_group_topology_topic_info(writer: BytesWriter, message: StreamsGroupTopologyTopicInfo, version: i64) -> None:
    write_compact_string(writer, message.name)
    write_i32_be(writer, message.partitions)
    write_i16_be(writer, message.replication_factor)
    topic_configs = message.topic_configs
    write_uvarint(writer, len(topic_configs) + 1)
    for nth, topic_configs_item in enumerate(topic_configs):
        _write_topic_config(writer, topic_configs_item, version)
        if nth & LONG_RUN == LONG_RUN:
            give_way()
    writer.append(0)


class CopartitionGroup(Struct):
    __slots__ = ("source_topics", "source_topic_regex", "repartition_source_topics")
    FIELDS: ClassVar[tuple[str, ...]] = ("source_topics", "source_topic_regex", "repartition_source_topics")

    def __init__(self, source_topics: list[int] = NO_ITEMS, source_topic_regex: list[int] = NO_ITEMS, repartition_source_topics: list[int] = NO_ITEMS) -> None:
        self.source_topics = [] if source_topics is NO_ITEMS else source_topics
        self.source_topic_regex = [] if source_topic_regex is NO_ITEMS else source_topic_regex
        self.repartition_source_topics = [] if repartition_source_topics is NO_ITEMS else repartition_source_topics


def _read_copartition_group(data: bytes, position: i64, version: i64) -> tuple[CopartitionGroup, i64]:
    source_topics: list[int]
    source_topic_regex: list[int]
    repartition_source_topics: list[int]
    count, position = read_compact_count(data, position, 2)
    source_topics = read_i16_list(data, position, count)
    position += 2 * count
    count, position = read_compact_count(data, position, 2)
    source_topic_regex = read_i16_list(data, position, count)
    position += 2 * count
    count, position = read_compact_count(data, position, 2)
    repartition_source_topics = read_i16_list(data, position, count)
    position += 2 * count
    position = skip_tags(data, position) if data[position] else position + 1
    return CopartitionGroup(source_topics, source_topic_regex, repartition_source_topics), position


def _write_copartition_group(writer: BytesWriter, message: CopartitionGroup, version: i64) -> None:
    source_topics = message.source_topics
    write_uvarint(writer, len(source_topics) + 1)
    write_i16_list(writer, source_topics)
    source_topic_regex = message.source_topic_regex
    write_uvarint(writer, len(source_topic_regex) + 1)
    write_i16_list(writer, source_topic_regex)
    repartition_source_topics = message.repartition_source_topics
    write_uvarint(writer, len(repartition_source_topics) + 1)
    write_i16_list(writer, repartition_source_topics)
    writer.append(0)


class Subtopology(Struct):
    __slots__ = ("subtopology_id", "source_topics", "source_topic_regex", "state_changelog_topics", "repartition_sink_topics", "repartition_source_topics", "copartition_groups")
    FIELDS: ClassVar[tuple[str, ...]] = ("subtopology_id", "source_topics", "source_topic_regex", "state_changelog_topics", "repartition_sink_topics", "repartition_source_topics", "copartition_groups")

    def __init__(self, subtopology_id: str = "", source_topics: list[str] = NO_ITEMS, source_topic_regex: list[str] = NO_ITEMS, state_changelog_topics: list[StreamsGroupTopologyTopicInfo] = NO_ITEMS, repartition_sink_topics: list[str] = NO_ITEMS, repartition_source_topics: list[StreamsGroupTopologyTopicInfo] = NO_ITEMS, copartition_groups: list[CopartitionGroup] = NO_ITEMS) -> None:
        self.subtopology_id = subtopology_id
        self.source_topics = [] if source_topics is NO_ITEMS else source_topics
        self.source_topic_regex = [] if source_topic_regex is NO_ITEMS else source_topic_regex
        self.state_changelog_topics = [] if state_changelog_topics is NO_ITEMS else state_changelog_topics
        self.repartition_sink_topics = [] if repartition_sink_topics is NO_ITEMS else repartition_sink_topics
        self.repartition_source_topics = [] if repartition_source_topics is NO_ITEMS else repartition_source_topics
        self.copartition_groups = [] if copartition_groups is NO_ITEMS else copartition_groups


def _read_subtopology(data: bytes, position: i64, version: i64) -> tuple[Subtopology, i64]:
    source_topics: list[str]
    source_topic_regex: list[str]
    state_changelog_topics: list[StreamsGroupTopologyTopicInfo]
    repartition_sink_topics: list[str]
    repartition_source_topics: list[StreamsGroupTopologyTopicInfo]
    copartition_groups: list[CopartitionGroup]
    subtopology_id, position = read_compact_string(data, position)
    count, position = read_compact_count(data, position, 1)
    source_topics, position = read_compact_string_list(data, position, count)
    count, position = read_compact_count(data, position, 1)
    source_topic_regex, position = read_compact_string_list(data, position, count)
    count, position = read_compact_count(data, position, 9)
    state_changelog_topics = []
    for nth in range(count):
        state_changelog_topics_item, position = _read_streams_group_topology_topic_info(data, position, version)
        state_changelog_topics.append(state_changelog_topics_item)
        if nth & LONG_RUN == LONG_RUN:
            give_way()
    count, position = read_compact_count(data, position, 1)
    repartition_sink_topics, position = read_compact_string_list(data, position, count)
    count, position = read_compact_count(data, position, 9)
    repartition_source_topics = []
    for nth in range(count):
        repartition_source_topics_item, position = _read_streams_group_topology_topic_info(data, position, version)
        repartition_source_topics.append(repartition_source_topics_item)
        if nth & LONG_RUN == LONG_RUN:
            give_way()
    count, position = read_compact_count(data, position, 4)
    copartition_groups = []
    for nth in range(count):
        copartition_groups_item, position = _read_copartition_group(data, position, version)
        copartition_groups.append(copartition_groups_item)
        if nth & LONG_RUN == LONG_RUN:
            give_way()
    position = skip_tags(data, position) if data[position] else position + 1
    return Subtopology(subtopology_id, source_topics, source_topic_regex, state_changelog_topics, repartition_sink_topics, repartition_source_topics, copartition_groups), position


def _write_subtopology(writer: BytesWriter, message: Subtopology, version: i64) -> None:
    write_compact_string(writer, message.subtopology_id)
    source_topics = message.source_topics
    write_uvarint(writer, len(source_topics) + 1)
    write_compact_string_list(writer, source_topics)
    source_topic_regex = message.source_topic_regex
    write_uvarint(writer, len(source_topic_regex) + 1)
    write_compact_string_list(writer, source_topic_regex)
    state_changelog_topics = message.state_changelog_topics
    write_uvarint(writer, len(state_changelog_topics) + 1)
    for nth, state_changelog_topics_item in enumerate(state_changelog_topics):
        _write_streams_group_topology_topic_info(writer, state_changelog_topics_item, version)
        if nth & LONG_RUN == LONG_RUN:
            give_way()
    repartition_sink_topics = message.repartition_sink_topics
    write_uvarint(writer, len(repartition_sink_topics) + 1)
    write_compact_string_list(writer, repartition_sink_topics)
    repartition_source_topics = message.repartition_source_topics
    write_uvarint(writer, len(repartition_source_topics) + 1)
    for nth, repartition_source_topics_item in enumerate(repartition_source_topics):
        _write_streams_group_topology_topic_info(writer, repartition_source_topics_item, version)
        if nth & LONG_RUN == LONG_RUN:
            give_way()
    copartition_groups = message.copartition_groups
    write_uvarint(writer, len(copartition_groups) + 1)
    for nth, copartition_groups_item in enumerate(copartition_groups):
        _write_copartition_group(writer, copartition_groups_item, version)
        if nth & LONG_RUN == LONG_RUN:
            give_way()
    writer.append(0)


class GroupMetadataKey(Message):
    """Key of record type 2, version 0."""

    __slots__ = ("group",)
    FIELDS: ClassVar[tuple[str, ...]] = ("group",)
    RECORD_KEY: ClassVar[int] = 2
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FIRST_FLEXIBLE: ClassVar[int] = -1

    def __init__(self, group: str = "") -> None:
        self.group = group

    @classmethod
    def decode(cls, data: bytes, position: int, version: int) -> tuple[GroupMetadataKey, int]:
        if version < 0 or version > 0:
            raise unknown_version("GroupMetadataKey", version, 0, 0)
        try:
            message, end = _read_group_metadata_key(data, position, version)
        except (IndexError, ValueError) as error:
            raise malformed("GroupMetadataKey", version, error) from None
        return message, end

    def encode(self, version: int) -> bytes:
        if version < 0 or version > 0:
            raise unsupported_version("GroupMetadataKey", version, 0, 0)
        writer = BytesWriter()
        _write_group_metadata_key(writer, self, version)
        return writer.getvalue()

    def encode_parts(self, writer_prefix: bytes, version: int) -> list[Part]:
        if version < 0 or version > 0:
            raise unsupported_version("GroupMetadataKey", version, 0, 0)
        writer = BytesWriter()
        writer.write(writer_prefix)
        _write_group_metadata_key(writer, self, version)
        return [writer.getvalue()]


def _read_group_metadata_key(data: bytes, position: i64, version: i64) -> tuple[GroupMetadataKey, i64]:
    group, position = read_string(data, position)
    return GroupMetadataKey(group), position


def _write_group_metadata_key(writer: BytesWriter, message: GroupMetadataKey, version: i64) -> None:
    write_string(writer, message.group)


class GroupMetadataValue(Message):
    """Value of record type 2, versions 0 to 4."""

    __slots__ = ("protocol_type", "generation", "protocol", "leader", "current_state_timestamp", "members")
    FIELDS: ClassVar[tuple[str, ...]] = ("protocol_type", "generation", "protocol", "leader", "current_state_timestamp", "members")
    RECORD_KEY: ClassVar[int] = 2
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 4
    FIRST_FLEXIBLE: ClassVar[int] = 4

    def __init__(self, protocol_type: str = "", generation: int = 0, protocol: str | None = "", leader: str | None = "", current_state_timestamp: int = -1, members: list[MemberMetadata] = NO_ITEMS) -> None:
        self.protocol_type = protocol_type
        self.generation = generation
        self.protocol = protocol
        self.leader = leader
        self.current_state_timestamp = current_state_timestamp
        self.members = [] if members is NO_ITEMS else members

    @classmethod
    def decode(cls, data: bytes, position: int, version: int) -> tuple[GroupMetadataValue, int]:
        if version < 0 or version > 4:
            raise unknown_version("GroupMetadataValue", version, 0, 4)
        try:
            message, end = _read_group_metadata_value(data, position, version)
        except (IndexError, ValueError) as error:
            raise malformed("GroupMetadataValue", version, error) from None
        return message, end

    def encode(self, version: int) -> bytes:
        if version < 0 or version > 4:
            raise unsupported_version("GroupMetadataValue", version, 0, 4)
        writer = BytesWriter()
        _write_group_metadata_value(writer, self, version)
        return writer.getvalue()

    def encode_parts(self, writer_prefix: bytes, version: int) -> list[Part]:
        if version < 0 or version > 4:
            raise unsupported_version("GroupMetadataValue", version, 0, 4)
        writer = BytesWriter()
        writer.write(writer_prefix)
        _write_group_metadata_value(writer, self, version)
        return [writer.getvalue()]


def _read_group_metadata_value(data: bytes, position: i64, version: i64) -> tuple[GroupMetadataValue, i64]:
    protocol_type: str
    protocol: str | None
    leader: str | None
    current_state_timestamp: int
    members: list[MemberMetadata]
    if version >= 4:
        protocol_type, position = read_compact_string(data, position)
    else:
        protocol_type, position = read_string(data, position)
    generation = read_i32_be(data, position)
    position += 4
    if version >= 4:
        protocol, position = read_compact_nullable_string(data, position)
        leader, position = read_compact_nullable_string(data, position)
    else:
        protocol, position = read_nullable_string(data, position)
        leader, position = read_nullable_string(data, position)
    if version >= 2:
        current_state_timestamp = read_i64_be(data, position)
        position += 8
    else:
        current_state_timestamp = -1
    if version >= 4:
        count, position = read_compact_count(data, position, 15)
        members = []
        for nth in range(count):
            members_item, position = _read_member_metadata(data, position, version)
            members.append(members_item)
            if nth & LONG_RUN == LONG_RUN:
                give_way()
    else:
        count, position = read_count(data, position, 18)
        members = []
        for nth in range(count):
            members_item, position = _read_member_metadata(data, position, version)
            members.append(members_item)
            if nth & LONG_RUN == LONG_RUN:
                give_way()
    if version >= 4:
        position = skip_tags(data, position) if data[position] else position + 1
    return GroupMetadataValue(protocol_type, generation, protocol, leader, current_state_timestamp, members), position


def _write_group_metadata_value(writer: BytesWriter, message: GroupMetadataValue, version: i64) -> None:
    if version >= 4:
        write_compact_string(writer, message.protocol_type)
    else:
        write_string(writer, message.protocol_type)
    write_i32_be(writer, message.generation)
    if version >= 4:
        write_compact_nullable_string(writer, message.protocol)
        write_compact_nullable_string(writer, message.leader)
    else:
        write_nullable_string(writer, message.protocol)
        write_nullable_string(writer, message.leader)
    if version >= 2:
        write_i64_be(writer, message.current_state_timestamp)
    if version >= 4:
        members = message.members
        write_uvarint(writer, len(members) + 1)
        for nth, members_item in enumerate(members):
            _write_member_metadata(writer, members_item, version)
            if nth & LONG_RUN == LONG_RUN:
                give_way()
    else:
        members = message.members
        write_i32_be(writer, len(members))
        for nth, members_item in enumerate(members):
            _write_member_metadata(writer, members_item, version)
            if nth & LONG_RUN == LONG_RUN:
                give_way()
    if version >= 4:
        writer.append(0)


class ConsumerGroupMetadataKey(Message):
    """Key of record type 3, version 0."""

    __slots__ = ("group_id",)
    FIELDS: ClassVar[tuple[str, ...]] = ("group_id",)
    RECORD_KEY: ClassVar[int] = 3
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FIRST_FLEXIBLE: ClassVar[int] = -1

    def __init__(self, group_id: str = "") -> None:
        self.group_id = group_id

    @classmethod
    def decode(cls, data: bytes, position: int, version: int) -> tuple[ConsumerGroupMetadataKey, int]:
        if version < 0 or version > 0:
            raise unknown_version("ConsumerGroupMetadataKey", version, 0, 0)
        try:
            message, end = _read_consumer_group_metadata_key(data, position, version)
        except (IndexError, ValueError) as error:
            raise malformed("ConsumerGroupMetadataKey", version, error) from None
        return message, end

    def encode(self, version: int) -> bytes:
        if version < 0 or version > 0:
            raise unsupported_version("ConsumerGroupMetadataKey", version, 0, 0)
        writer = BytesWriter()
        _write_consumer_group_metadata_key(writer, self, version)
        return writer.getvalue()

    def encode_parts(self, writer_prefix: bytes, version: int) -> list[Part]:
        if version < 0 or version > 0:
            raise unsupported_version("ConsumerGroupMetadataKey", version, 0, 0)
        writer = BytesWriter()
        writer.write(writer_prefix)
        _write_consumer_group_metadata_key(writer, self, version)
        return [writer.getvalue()]


def _read_consumer_group_metadata_key(data: bytes, position: i64, version: i64) -> tuple[ConsumerGroupMetadataKey, i64]:
    group_id, position = read_string(data, position)
    return ConsumerGroupMetadataKey(group_id), position


def _write_consumer_group_metadata_key(writer: BytesWriter, message: ConsumerGroupMetadataKey, version: i64) -> None:
    write_string(writer, message.group_id)


class ConsumerGroupMetadataValue(Message):
    """Value of record type 3, version 0."""

    __slots__ = ("epoch", "metadata_hash")
    FIELDS: ClassVar[tuple[str, ...]] = ("epoch", "metadata_hash")
    RECORD_KEY: ClassVar[int] = 3
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FIRST_FLEXIBLE: ClassVar[int] = 0

    def __init__(self, epoch: int = 0, metadata_hash: int = 0) -> None:
        self.epoch = epoch
        self.metadata_hash = metadata_hash

    @classmethod
    def decode(cls, data: bytes, position: int, version: int) -> tuple[ConsumerGroupMetadataValue, int]:
        if version < 0 or version > 0:
            raise unknown_version("ConsumerGroupMetadataValue", version, 0, 0)
        try:
            message, end = _read_consumer_group_metadata_value(data, position, version)
        except (IndexError, ValueError) as error:
            raise malformed("ConsumerGroupMetadataValue", version, error) from None
        return message, end

    def encode(self, version: int) -> bytes:
        if version < 0 or version > 0:
            raise unsupported_version("ConsumerGroupMetadataValue", version, 0, 0)
        writer = BytesWriter()
        _write_consumer_group_metadata_value(writer, self, version)
        return writer.getvalue()

    def encode_parts(self, writer_prefix: bytes, version: int) -> list[Part]:
        if version < 0 or version > 0:
            raise unsupported_version("ConsumerGroupMetadataValue", version, 0, 0)
        writer = BytesWriter()
        writer.write(writer_prefix)
        _write_consumer_group_metadata_value(writer, self, version)
        return [writer.getvalue()]


def _read_consumer_group_metadata_value(data: bytes, position: i64, version: i64) -> tuple[ConsumerGroupMetadataValue, i64]:
    metadata_hash: int = 0
    epoch = read_i32_be(data, position)
    position += 4
    if data[position]:
        tags, position = read_uvarint(data, position)
        for _ in range(tags):
            tag, position, end = read_tag(data, position)
            if tag == 0:
                metadata_hash = read_i64_be(data, position)
                position += 8
            else:
                position = end
            if position != end:
                raise wrong_tag_size(tag)
    else:
        position += 1
    return ConsumerGroupMetadataValue(epoch, metadata_hash), position


def _write_consumer_group_metadata_value(writer: BytesWriter, message: ConsumerGroupMetadataValue, version: i64) -> None:
    write_i32_be(writer, message.epoch)
    if message.metadata_hash != 0:
        writer.append(1)
        writer.append(0)
        writer.append(8)
        write_i64_be(writer, message.metadata_hash)
    else:
        writer.append(0)


class ConsumerGroupPartitionMetadataKey(Message):
    """Key of record type 4, version 0."""

    __slots__ = ("group_id",)
    FIELDS: ClassVar[tuple[str, ...]] = ("group_id",)
    RECORD_KEY: ClassVar[int] = 4
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FIRST_FLEXIBLE: ClassVar[int] = -1

    def __init__(self, group_id: str = "") -> None:
        self.group_id = group_id

    @classmethod
    def decode(cls, data: bytes, position: int, version: int) -> tuple[ConsumerGroupPartitionMetadataKey, int]:
        if version < 0 or version > 0:
            raise unknown_version("ConsumerGroupPartitionMetadataKey", version, 0, 0)
        try:
            message, end = _read_consumer_group_partition_metadata_key(data, position, version)
        except (IndexError, ValueError) as error:
            raise malformed("ConsumerGroupPartitionMetadataKey", version, error) from None
        return message, end

    def encode(self, version: int) -> bytes:
        if version < 0 or version > 0:
            raise unsupported_version("ConsumerGroupPartitionMetadataKey", version, 0, 0)
        writer = BytesWriter()
        _write_consumer_group_partition_metadata_key(writer, self, version)
        return writer.getvalue()

    def encode_parts(self, writer_prefix: bytes, version: int) -> list[Part]:
        if version < 0 or version > 0:
            raise unsupported_version("ConsumerGroupPartitionMetadataKey", version, 0, 0)
        writer = BytesWriter()
        writer.write(writer_prefix)
        _write_consumer_group_partition_metadata_key(writer, self, version)
        return [writer.getvalue()]


def _read_consumer_group_partition_metadata_key(data: bytes, position: i64, version: i64) -> tuple[ConsumerGroupPartitionMetadataKey, i64]:
    group_id, position = read_string(data, position)
    return ConsumerGroupPartitionMetadataKey(group_id), position


def _write_consumer_group_partition_metadata_key(writer: BytesWriter, message: ConsumerGroupPartitionMetadataKey, version: i64) -> None:
    write_string(writer, message.group_id)


class ConsumerGroupPartitionMetadataValue(Message):
    """Value of record type 4, version 0."""

    __slots__ = ("topics",)
    FIELDS: ClassVar[tuple[str, ...]] = ("topics",)
    RECORD_KEY: ClassVar[int] = 4
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FIRST_FLEXIBLE: ClassVar[int] = 0

    def __init__(self, topics: list[TopicMetadata] = NO_ITEMS) -> None:
        self.topics = [] if topics is NO_ITEMS else topics

    @classmethod
    def decode(cls, data: bytes, position: int, version: int) -> tuple[ConsumerGroupPartitionMetadataValue, int]:
        if version < 0 or version > 0:
            raise unknown_version("ConsumerGroupPartitionMetadataValue", version, 0, 0)
        try:
            message, end = _read_consumer_group_partition_metadata_value(data, position, version)
        except (IndexError, ValueError) as error:
            raise malformed("ConsumerGroupPartitionMetadataValue", version, error) from None
        return message, end

    def encode(self, version: int) -> bytes:
        if version < 0 or version > 0:
            raise unsupported_version("ConsumerGroupPartitionMetadataValue", version, 0, 0)
        writer = BytesWriter()
        _write_consumer_group_partition_metadata_value(writer, self, version)
        return writer.getvalue()

    def encode_parts(self, writer_prefix: bytes, version: int) -> list[Part]:
        if version < 0 or version > 0:
            raise unsupported_version("ConsumerGroupPartitionMetadataValue", version, 0, 0)
        writer = BytesWriter()
        writer.write(writer_prefix)
        _write_consumer_group_partition_metadata_value(writer, self, version)
        return [writer.getvalue()]


def _read_consumer_group_partition_metadata_value(data: bytes, position: i64, version: i64) -> tuple[ConsumerGroupPartitionMetadataValue, i64]:
    topics: list[TopicMetadata]
    count, position = read_compact_count(data, position, 23)
    topics = []
    for nth in range(count):
        topics_item, position = _read_topic_metadata(data, position, version)
        topics.append(topics_item)
        if nth & LONG_RUN == LONG_RUN:
            give_way()
    position = skip_tags(data, position) if data[position] else position + 1
    return ConsumerGroupPartitionMetadataValue(topics), position


def _write_consumer_group_partition_metadata_value(writer: BytesWriter, message: ConsumerGroupPartitionMetadataValue, version: i64) -> None:
    topics = message.topics
    write_uvarint(writer, len(topics) + 1)
    for nth, topics_item in enumerate(topics):
        _write_topic_metadata(writer, topics_item, version)
        if nth & LONG_RUN == LONG_RUN:
            give_way()
    writer.append(0)


class ConsumerGroupMemberMetadataKey(Message):
    """Key of record type 5, version 0."""

    __slots__ = ("group_id", "member_id")
    FIELDS: ClassVar[tuple[str, ...]] = ("group_id", "member_id")
    RECORD_KEY: ClassVar[int] = 5
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FIRST_FLEXIBLE: ClassVar[int] = -1

    def __init__(self, group_id: str = "", member_id: str = "") -> None:
        self.group_id = group_id
        self.member_id = member_id

    @classmethod
    def decode(cls, data: bytes, position: int, version: int) -> tuple[ConsumerGroupMemberMetadataKey, int]:
        if version < 0 or version > 0:
            raise unknown_version("ConsumerGroupMemberMetadataKey", version, 0, 0)
        try:
            message, end = _read_consumer_group_member_metadata_key(data, position, version)
        except (IndexError, ValueError) as error:
            raise malformed("ConsumerGroupMemberMetadataKey", version, error) from None
        return message, end

    def encode(self, version: int) -> bytes:
        if version < 0 or version > 0:
            raise unsupported_version("ConsumerGroupMemberMetadataKey", version, 0, 0)
        writer = BytesWriter()
        _write_consumer_group_member_metadata_key(writer, self, version)
        return writer.getvalue()

    def encode_parts(self, writer_prefix: bytes, version: int) -> list[Part]:
        if version < 0 or version > 0:
            raise unsupported_version("ConsumerGroupMemberMetadataKey", version, 0, 0)
        writer = BytesWriter()
        writer.write(writer_prefix)
        _write_consumer_group_member_metadata_key(writer, self, version)
        return [writer.getvalue()]


def _read_consumer_group_member_metadata_key(data: bytes, position: i64, version: i64) -> tuple[ConsumerGroupMemberMetadataKey, i64]:
    group_id, position = read_string(data, position)
    member_id, position = read_string(data, position)
    return ConsumerGroupMemberMetadataKey(group_id, member_id), position


def _write_consumer_group_member_metadata_key(writer: BytesWriter, message: ConsumerGroupMemberMetadataKey, version: i64) -> None:
    write_string(writer, message.group_id)
    write_string(writer, message.member_id)


_NO_CLASSIC_MEMBER_METADATA = ClassicMemberMetadata()


class ConsumerGroupMemberMetadataValue(Message):
    """Value of record type 5, version 0."""

    __slots__ = ("instance_id", "rack_id", "client_id", "client_host", "subscribed_topic_names", "subscribed_topic_regex", "rebalance_timeout_ms", "server_assignor", "classic_member_metadata")
    FIELDS: ClassVar[tuple[str, ...]] = ("instance_id", "rack_id", "client_id", "client_host", "subscribed_topic_names", "subscribed_topic_regex", "rebalance_timeout_ms", "server_assignor", "classic_member_metadata")
    RECORD_KEY: ClassVar[int] = 5
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FIRST_FLEXIBLE: ClassVar[int] = 0

    def __init__(self, instance_id: str | None = "", rack_id: str | None = "", client_id: str = "", client_host: str = "", subscribed_topic_names: list[str] = NO_ITEMS, subscribed_topic_regex: str | None = "", rebalance_timeout_ms: int = -1, server_assignor: str | None = "", classic_member_metadata: ClassicMemberMetadata | None = _NO_CLASSIC_MEMBER_METADATA) -> None:
        self.instance_id = instance_id
        self.rack_id = rack_id
        self.client_id = client_id
        self.client_host = client_host
        self.subscribed_topic_names = [] if subscribed_topic_names is NO_ITEMS else subscribed_topic_names
        self.subscribed_topic_regex = subscribed_topic_regex
        self.rebalance_timeout_ms = rebalance_timeout_ms
        self.server_assignor = server_assignor
        self.classic_member_metadata: ClassicMemberMetadata | None = ClassicMemberMetadata() if classic_member_metadata is _NO_CLASSIC_MEMBER_METADATA else classic_member_metadata

    @classmethod
    def decode(cls, data: bytes, position: int, version: int) -> tuple[ConsumerGroupMemberMetadataValue, int]:
        if version < 0 or version > 0:
            raise unknown_version("ConsumerGroupMemberMetadataValue", version, 0, 0)
        try:
            message, end = _read_consumer_group_member_metadata_value(data, position, version)
        except (IndexError, ValueError) as error:
            raise malformed("ConsumerGroupMemberMetadataValue", version, error) from None
        return message, end

    def encode(self, version: int) -> bytes:
        if version < 0 or version > 0:
            raise unsupported_version("ConsumerGroupMemberMetadataValue", version, 0, 0)
        writer = BytesWriter()
        _write_consumer_group_member_metadata_value(writer, self, version)
        return writer.getvalue()

    def encode_parts(self, writer_prefix: bytes, version: int) -> list[Part]:
        if version < 0 or version > 0:
            raise unsupported_version("ConsumerGroupMemberMetadataValue", version, 0, 0)
        writer = BytesWriter()
        writer.write(writer_prefix)
        _write_consumer_group_member_metadata_value(writer, self, version)
        return [writer.getvalue()]


def _read_consumer_group_member_metadata_value(data: bytes, position: i64, version: i64) -> tuple[ConsumerGroupMemberMetadataValue, i64]:
    instance_id: str | None
    rack_id: str | None
    subscribed_topic_names: list[str]
    subscribed_topic_regex: str | None
    server_assignor: str | None
    classic_member_metadata: ClassicMemberMetadata | None = ClassicMemberMetadata()
    instance_id, position = read_compact_nullable_string(data, position)
    rack_id, position = read_compact_nullable_string(data, position)
    client_id, position = read_compact_string(data, position)
    client_host, position = read_compact_string(data, position)
    count, position = read_compact_count(data, position, 1)
    subscribed_topic_names, position = read_compact_string_list(data, position, count)
    subscribed_topic_regex, position = read_compact_nullable_string(data, position)
    rebalance_timeout_ms = read_i32_be(data, position)
    position += 4
    server_assignor, position = read_compact_nullable_string(data, position)
    if data[position]:
        tags, position = read_uvarint(data, position)
        for _ in range(tags):
            tag, position, end = read_tag(data, position)
            if tag == 0:
                if data[position] == 0:
                    classic_member_metadata = None
                    position += 1
                else:
                    classic_member_metadata, position = _read_classic_member_metadata(data, position + 1, version)
            else:
                position = end
            if position != end:
                raise wrong_tag_size(tag)
    else:
        position += 1
    return ConsumerGroupMemberMetadataValue(instance_id, rack_id, client_id, client_host, subscribed_topic_names, subscribed_topic_regex, rebalance_timeout_ms, server_assignor, classic_member_metadata), position


def _write_consumer_group_member_metadata_value(writer: BytesWriter, message: ConsumerGroupMemberMetadataValue, version: i64) -> None:
    write_compact_nullable_string(writer, message.instance_id)
    write_compact_nullable_string(writer, message.rack_id)
    write_compact_string(writer, message.client_id)
    write_compact_string(writer, message.client_host)
    subscribed_topic_names = message.subscribed_topic_names
    write_uvarint(writer, len(subscribed_topic_names) + 1)
    write_compact_string_list(writer, subscribed_topic_names)
    write_compact_nullable_string(writer, message.subscribed_topic_regex)
    write_i32_be(writer, message.rebalance_timeout_ms)
    write_compact_nullable_string(writer, message.server_assignor)
    if message.classic_member_metadata is None or message.classic_member_metadata.session_timeout_ms != 0 or message.classic_member_metadata.supported_protocols:
        writer.append(1)
        body = BytesWriter()
        classic_member_metadata = message.classic_member_metadata
        if classic_member_metadata is None:
            body.append(0)
        else:
            body.append(1)
            _write_classic_member_metadata(body, classic_member_metadata, version)
        write_tag(writer, 0, body)
    else:
        writer.append(0)


class ConsumerGroupTargetAssignmentMetadataKey(Message):
    """Key of record type 6, version 0."""

    __slots__ = ("group_id",)
    FIELDS: ClassVar[tuple[str, ...]] = ("group_id",)
    RECORD_KEY: ClassVar[int] = 6
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FIRST_FLEXIBLE: ClassVar[int] = -1

    def __init__(self, group_id: str = "") -> None:
        self.group_id = group_id

    @classmethod
    def decode(cls, data: bytes, position: int, version: int) -> tuple[ConsumerGroupTargetAssignmentMetadataKey, int]:
        if version < 0 or version > 0:
            raise unknown_version("ConsumerGroupTargetAssignmentMetadataKey", version, 0, 0)
        try:
            message, end = _read_consumer_group_target_assignment_metadata_key(data, position, version)
        except (IndexError, ValueError) as error:
            raise malformed("ConsumerGroupTargetAssignmentMetadataKey", version, error) from None
        return message, end

    def encode(self, version: int) -> bytes:
        if version < 0 or version > 0:
            raise unsupported_version("ConsumerGroupTargetAssignmentMetadataKey", version, 0, 0)
        writer = BytesWriter()
        _write_consumer_group_target_assignment_metadata_key(writer, self, version)
        return writer.getvalue()

    def encode_parts(self, writer_prefix: bytes, version: int) -> list[Part]:
        if version < 0 or version > 0:
            raise unsupported_version("ConsumerGroupTargetAssignmentMetadataKey", version, 0, 0)
        writer = BytesWriter()
        writer.write(writer_prefix)
        _write_consumer_group_target_assignment_metadata_key(writer, self, version)
        return [writer.getvalue()]


def _read_consumer_group_target_assignment_metadata_key(data: bytes, position: i64, version: i64) -> tuple[ConsumerGroupTargetAssignmentMetadataKey, i64]:
    group_id, position = read_string(data, position)
    return ConsumerGroupTargetAssignmentMetadataKey(group_id), position


def _write_consumer_group_target_assignment_metadata_key(writer: BytesWriter, message: ConsumerGroupTargetAssignmentMetadataKey, version: i64) -> None:
    write_string(writer, message.group_id)


class ConsumerGroupTargetAssignmentMetadataValue(Message):
    """Value of record type 6, version 0."""

    __slots__ = ("assignment_epoch", "assignment_timestamp")
    FIELDS: ClassVar[tuple[str, ...]] = ("assignment_epoch", "assignment_timestamp")
    RECORD_KEY: ClassVar[int] = 6
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FIRST_FLEXIBLE: ClassVar[int] = 0

    def __init__(self, assignment_epoch: int = 0, assignment_timestamp: int = 0) -> None:
        self.assignment_epoch = assignment_epoch
        self.assignment_timestamp = assignment_timestamp

    @classmethod
    def decode(cls, data: bytes, position: int, version: int) -> tuple[ConsumerGroupTargetAssignmentMetadataValue, int]:
        if version < 0 or version > 0:
            raise unknown_version("ConsumerGroupTargetAssignmentMetadataValue", version, 0, 0)
        try:
            message, end = _read_consumer_group_target_assignment_metadata_value(data, position, version)
        except (IndexError, ValueError) as error:
            raise malformed("ConsumerGroupTargetAssignmentMetadataValue", version, error) from None
        return message, end

    def encode(self, version: int) -> bytes:
        if version < 0 or version > 0:
            raise unsupported_version("ConsumerGroupTargetAssignmentMetadataValue", version, 0, 0)
        writer = BytesWriter()
        _write_consumer_group_target_assignment_metadata_value(writer, self, version)
        return writer.getvalue()

    def encode_parts(self, writer_prefix: bytes, version: int) -> list[Part]:
        if version < 0 or version > 0:
            raise unsupported_version("ConsumerGroupTargetAssignmentMetadataValue", version, 0, 0)
        writer = BytesWriter()
        writer.write(writer_prefix)
        _write_consumer_group_target_assignment_metadata_value(writer, self, version)
        return [writer.getvalue()]


def _read_consumer_group_target_assignment_metadata_value(data: bytes, position: i64, version: i64) -> tuple[ConsumerGroupTargetAssignmentMetadataValue, i64]:
    assignment_timestamp: int = 0
    assignment_epoch = read_i32_be(data, position)
    position += 4
    if data[position]:
        tags, position = read_uvarint(data, position)
        for _ in range(tags):
            tag, position, end = read_tag(data, position)
            if tag == 0:
                assignment_timestamp = read_i64_be(data, position)
                position += 8
            else:
                position = end
            if position != end:
                raise wrong_tag_size(tag)
    else:
        position += 1
    return ConsumerGroupTargetAssignmentMetadataValue(assignment_epoch, assignment_timestamp), position


def _write_consumer_group_target_assignment_metadata_value(writer: BytesWriter, message: ConsumerGroupTargetAssignmentMetadataValue, version: i64) -> None:
    write_i32_be(writer, message.assignment_epoch)
    if message.assignment_timestamp != 0:
        writer.append(1)
        writer.append(0)
        writer.append(8)
        write_i64_be(writer, message.assignment_timestamp)
    else:
        writer.append(0)


class ConsumerGroupTargetAssignmentMemberKey(Message):
    """Key of record type 7, version 0."""

    __slots__ = ("group_id", "member_id")
    FIELDS: ClassVar[tuple[str, ...]] = ("group_id", "member_id")
    RECORD_KEY: ClassVar[int] = 7
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FIRST_FLEXIBLE: ClassVar[int] = -1

    def __init__(self, group_id: str = "", member_id: str = "") -> None:
        self.group_id = group_id
        self.member_id = member_id

    @classmethod
    def decode(cls, data: bytes, position: int, version: int) -> tuple[ConsumerGroupTargetAssignmentMemberKey, int]:
        if version < 0 or version > 0:
            raise unknown_version("ConsumerGroupTargetAssignmentMemberKey", version, 0, 0)
        try:
            message, end = _read_consumer_group_target_assignment_member_key(data, position, version)
        except (IndexError, ValueError) as error:
            raise malformed("ConsumerGroupTargetAssignmentMemberKey", version, error) from None
        return message, end

    def encode(self, version: int) -> bytes:
        if version < 0 or version > 0:
            raise unsupported_version("ConsumerGroupTargetAssignmentMemberKey", version, 0, 0)
        writer = BytesWriter()
        _write_consumer_group_target_assignment_member_key(writer, self, version)
        return writer.getvalue()

    def encode_parts(self, writer_prefix: bytes, version: int) -> list[Part]:
        if version < 0 or version > 0:
            raise unsupported_version("ConsumerGroupTargetAssignmentMemberKey", version, 0, 0)
        writer = BytesWriter()
        writer.write(writer_prefix)
        _write_consumer_group_target_assignment_member_key(writer, self, version)
        return [writer.getvalue()]


def _read_consumer_group_target_assignment_member_key(data: bytes, position: i64, version: i64) -> tuple[ConsumerGroupTargetAssignmentMemberKey, i64]:
    group_id, position = read_string(data, position)
    member_id, position = read_string(data, position)
    return ConsumerGroupTargetAssignmentMemberKey(group_id, member_id), position


def _write_consumer_group_target_assignment_member_key(writer: BytesWriter, message: ConsumerGroupTargetAssignmentMemberKey, version: i64) -> None:
    write_string(writer, message.group_id)
    write_string(writer, message.member_id)


class ConsumerGroupTargetAssignmentMemberValue(Message):
    """Value of record type 7, version 0."""

    __slots__ = ("topic_partitions",)
    FIELDS: ClassVar[tuple[str, ...]] = ("topic_partitions",)
    RECORD_KEY: ClassVar[int] = 7
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FIRST_FLEXIBLE: ClassVar[int] = 0

    def __init__(self, topic_partitions: list[TopicPartition] = NO_ITEMS) -> None:
        self.topic_partitions = [] if topic_partitions is NO_ITEMS else topic_partitions

    @classmethod
    def decode(cls, data: bytes, position: int, version: int) -> tuple[ConsumerGroupTargetAssignmentMemberValue, int]:
        if version < 0 or version > 0:
            raise unknown_version("ConsumerGroupTargetAssignmentMemberValue", version, 0, 0)
        try:
            message, end = _read_consumer_group_target_assignment_member_value(data, position, version)
        except (IndexError, ValueError) as error:
            raise malformed("ConsumerGroupTargetAssignmentMemberValue", version, error) from None
        return message, end

    def encode(self, version: int) -> bytes:
        if version < 0 or version > 0:
            raise unsupported_version("ConsumerGroupTargetAssignmentMemberValue", version, 0, 0)
        writer = BytesWriter()
        _write_consumer_group_target_assignment_member_value(writer, self, version)
        return writer.getvalue()

    def encode_parts(self, writer_prefix: bytes, version: int) -> list[Part]:
        if version < 0 or version > 0:
            raise unsupported_version("ConsumerGroupTargetAssignmentMemberValue", version, 0, 0)
        writer = BytesWriter()
        writer.write(writer_prefix)
        _write_consumer_group_target_assignment_member_value(writer, self, version)
        return [writer.getvalue()]


def _read_consumer_group_target_assignment_member_value(data: bytes, position: i64, version: i64) -> tuple[ConsumerGroupTargetAssignmentMemberValue, i64]:
    topic_partitions: list[TopicPartition]
    count, position = read_compact_count(data, position, 18)
    topic_partitions = []
    for nth in range(count):
        topic_partitions_item, position = _read_topic_partition(data, position, version)
        topic_partitions.append(topic_partitions_item)
        if nth & LONG_RUN == LONG_RUN:
            give_way()
    position = skip_tags(data, position) if data[position] else position + 1
    return ConsumerGroupTargetAssignmentMemberValue(topic_partitions), position


def _write_consumer_group_target_assignment_member_value(writer: BytesWriter, message: ConsumerGroupTargetAssignmentMemberValue, version: i64) -> None:
    topic_partitions = message.topic_partitions
    write_uvarint(writer, len(topic_partitions) + 1)
    for nth, topic_partitions_item in enumerate(topic_partitions):
        _write_topic_partition(writer, topic_partitions_item, version)
        if nth & LONG_RUN == LONG_RUN:
            give_way()
    writer.append(0)


class ConsumerGroupCurrentMemberAssignmentKey(Message):
    """Key of record type 8, version 0."""

    __slots__ = ("group_id", "member_id")
    FIELDS: ClassVar[tuple[str, ...]] = ("group_id", "member_id")
    RECORD_KEY: ClassVar[int] = 8
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FIRST_FLEXIBLE: ClassVar[int] = -1

    def __init__(self, group_id: str = "", member_id: str = "") -> None:
        self.group_id = group_id
        self.member_id = member_id

    @classmethod
    def decode(cls, data: bytes, position: int, version: int) -> tuple[ConsumerGroupCurrentMemberAssignmentKey, int]:
        if version < 0 or version > 0:
            raise unknown_version("ConsumerGroupCurrentMemberAssignmentKey", version, 0, 0)
        try:
            message, end = _read_consumer_group_current_member_assignment_key(data, position, version)
        except (IndexError, ValueError) as error:
            raise malformed("ConsumerGroupCurrentMemberAssignmentKey", version, error) from None
        return message, end

    def encode(self, version: int) -> bytes:
        if version < 0 or version > 0:
            raise unsupported_version("ConsumerGroupCurrentMemberAssignmentKey", version, 0, 0)
        writer = BytesWriter()
        _write_consumer_group_current_member_assignment_key(writer, self, version)
        return writer.getvalue()

    def encode_parts(self, writer_prefix: bytes, version: int) -> list[Part]:
        if version < 0 or version > 0:
            raise unsupported_version("ConsumerGroupCurrentMemberAssignmentKey", version, 0, 0)
        writer = BytesWriter()
        writer.write(writer_prefix)
        _write_consumer_group_current_member_assignment_key(writer, self, version)
        return [writer.getvalue()]


def _read_consumer_group_current_member_assignment_key(data: bytes, position: i64, version: i64) -> tuple[ConsumerGroupCurrentMemberAssignmentKey, i64]:
    group_id, position = read_string(data, position)
    member_id, position = read_string(data, position)
    return ConsumerGroupCurrentMemberAssignmentKey(group_id, member_id), position


def _write_consumer_group_current_member_assignment_key(writer: BytesWriter, message: ConsumerGroupCurrentMemberAssignmentKey, version: i64) -> None:
    write_string(writer, message.group_id)
    write_string(writer, message.member_id)


class ConsumerGroupCurrentMemberAssignmentValue(Message):
    """Value of record type 8, version 0."""

    __slots__ = ("member_epoch", "previous_member_epoch", "state", "assigned_partitions", "partitions_pending_revocation")
    FIELDS: ClassVar[tuple[str, ...]] = ("member_epoch", "previous_member_epoch", "state", "assigned_partitions", "partitions_pending_revocation")
    RECORD_KEY: ClassVar[int] = 8
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FIRST_FLEXIBLE: ClassVar[int] = 0

    def __init__(self, member_epoch: int = 0, previous_member_epoch: int = 0, state: int = 0, assigned_partitions: list[TopicPartitions] = NO_ITEMS, partitions_pending_revocation: list[TopicPartitions] = NO_ITEMS) -> None:
        self.member_epoch = member_epoch
        self.previous_member_epoch = previous_member_epoch
        self.state = state
        self.assigned_partitions = [] if assigned_partitions is NO_ITEMS else assigned_partitions
        self.partitions_pending_revocation = [] if partitions_pending_revocation is NO_ITEMS else partitions_pending_revocation

    @classmethod
    def decode(cls, data: bytes, position: int, version: int) -> tuple[ConsumerGroupCurrentMemberAssignmentValue, int]:
        if version < 0 or version > 0:
            raise unknown_version("ConsumerGroupCurrentMemberAssignmentValue", version, 0, 0)
        try:
            message, end = _read_consumer_group_current_member_assignment_value(data, position, version)
        except (IndexError, ValueError) as error:
            raise malformed("ConsumerGroupCurrentMemberAssignmentValue", version, error) from None
        return message, end

    def encode(self, version: int) -> bytes:
        if version < 0 or version > 0:
            raise unsupported_version("ConsumerGroupCurrentMemberAssignmentValue", version, 0, 0)
        writer = BytesWriter()
        _write_consumer_group_current_member_assignment_value(writer, self, version)
        return writer.getvalue()

    def encode_parts(self, writer_prefix: bytes, version: int) -> list[Part]:
        if version < 0 or version > 0:
            raise unsupported_version("ConsumerGroupCurrentMemberAssignmentValue", version, 0, 0)
        writer = BytesWriter()
        writer.write(writer_prefix)
        _write_consumer_group_current_member_assignment_value(writer, self, version)
        return [writer.getvalue()]


def _read_consumer_group_current_member_assignment_value(data: bytes, position: i64, version: i64) -> tuple[ConsumerGroupCurrentMemberAssignmentValue, i64]:
    assigned_partitions: list[TopicPartitions]
    partitions_pending_revocation: list[TopicPartitions]
    member_epoch = read_i32_be(data, position)
    previous_member_epoch = read_i32_be(data, position + 4)
    state = read_i8(data, position + 8)
    position += 9
    count, position = read_compact_count(data, position, 18)
    assigned_partitions = []
    for nth in range(count):
        assigned_partitions_item, position = _read_topic_partitions(data, position, version)
        assigned_partitions.append(assigned_partitions_item)
        if nth & LONG_RUN == LONG_RUN:
            give_way()
    count, position = read_compact_count(data, position, 18)
    partitions_pending_revocation = []
    for nth in range(count):
        partitions_pending_revocation_item, position = _read_topic_partitions(data, position, version)
        partitions_pending_revocation.append(partitions_pending_revocation_item)
        if nth & LONG_RUN == LONG_RUN:
            give_way()
    position = skip_tags(data, position) if data[position] else position + 1
    return ConsumerGroupCurrentMemberAssignmentValue(member_epoch, previous_member_epoch, state, assigned_partitions, partitions_pending_revocation), position


def _write_consumer_group_current_member_assignment_value(writer: BytesWriter, message: ConsumerGroupCurrentMemberAssignmentValue, version: i64) -> None:
    write_i32_be(writer, message.member_epoch)
    write_i32_be(writer, message.previous_member_epoch)
    write_i8(writer, message.state)
    assigned_partitions = message.assigned_partitions
    write_uvarint(writer, len(assigned_partitions) + 1)
    for nth, assigned_partitions_item in enumerate(assigned_partitions):
        _write_topic_partitions(writer, assigned_partitions_item, version)
        if nth & LONG_RUN == LONG_RUN:
            give_way()
    partitions_pending_revocation = message.partitions_pending_revocation
    write_uvarint(writer, len(partitions_pending_revocation) + 1)
    for nth, partitions_pending_revocation_item in enumerate(partitions_pending_revocation):
        _write_topic_partitions(writer, partitions_pending_revocation_item, version)
        if nth & LONG_RUN == LONG_RUN:
            give_way()
    writer.append(0)


class ShareGroupMemberMetadataKey(Message):
    """Key of record type 10, version 0."""

    __slots__ = ("group_id", "member_id")
    FIELDS: ClassVar[tuple[str, ...]] = ("group_id", "member_id")
    RECORD_KEY: ClassVar[int] = 10
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FIRST_FLEXIBLE: ClassVar[int] = -1

    def __init__(self, group_id: str = "", member_id: str = "") -> None:
        self.group_id = group_id
        self.member_id = member_id

    @classmethod
    def decode(cls, data: bytes, position: int, version: int) -> tuple[ShareGroupMemberMetadataKey, int]:
        if version < 0 or version > 0:
            raise unknown_version("ShareGroupMemberMetadataKey", version, 0, 0)
        try:
            message, end = _read_share_group_member_metadata_key(data, position, version)
        except (IndexError, ValueError) as error:
            raise malformed("ShareGroupMemberMetadataKey", version, error) from None
        return message, end

    def encode(self, version: int) -> bytes:
        if version < 0 or version > 0:
            raise unsupported_version("ShareGroupMemberMetadataKey", version, 0, 0)
        writer = BytesWriter()
        _write_share_group_member_metadata_key(writer, self, version)
        return writer.getvalue()

    def encode_parts(self, writer_prefix: bytes, version: int) -> list[Part]:
        if version < 0 or version > 0:
            raise unsupported_version("ShareGroupMemberMetadataKey", version, 0, 0)
        writer = BytesWriter()
        writer.write(writer_prefix)
        _write_share_group_member_metadata_key(writer, self, version)
        return [writer.getvalue()]


def _read_share_group_member_metadata_key(data: bytes, position: i64, version: i64) -> tuple[ShareGroupMemberMetadataKey, i64]:
    group_id, position = read_string(data, position)
    member_id, position = read_string(data, position)
    return ShareGroupMemberMetadataKey(group_id, member_id), position


def _write_share_group_member_metadata_key(writer: BytesWriter, message: ShareGroupMemberMetadataKey, version: i64) -> None:
    write_string(writer, message.group_id)
    write_string(writer, message.member_id)


class ShareGroupMemberMetadataValue(Message):
    """Value of record type 10, version 0."""

    __slots__ = ("rack_id", "client_id", "client_host", "subscribed_topic_names")
    FIELDS: ClassVar[tuple[str, ...]] = ("rack_id", "client_id", "client_host", "subscribed_topic_names")
    RECORD_KEY: ClassVar[int] = 10
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FIRST_FLEXIBLE: ClassVar[int] = 0

    def __init__(self, rack_id: str | None = "", client_id: str = "", client_host: str = "", subscribed_topic_names: list[str] = NO_ITEMS) -> None:
        self.rack_id = rack_id
        self.client_id = client_id
        self.client_host = client_host
        self.subscribed_topic_names = [] if subscribed_topic_names is NO_ITEMS else subscribed_topic_names

    @classmethod
    def decode(cls, data: bytes, position: int, version: int) -> tuple[ShareGroupMemberMetadataValue, int]:
        if version < 0 or version > 0:
            raise unknown_version("ShareGroupMemberMetadataValue", version, 0, 0)
        try:
            message, end = _read_share_group_member_metadata_value(data, position, version)
        except (IndexError, ValueError) as error:
            raise malformed("ShareGroupMemberMetadataValue", version, error) from None
        return message, end

    def encode(self, version: int) -> bytes:
        if version < 0 or version > 0:
            raise unsupported_version("ShareGroupMemberMetadataValue", version, 0, 0)
        writer = BytesWriter()
        _write_share_group_member_metadata_value(writer, self, version)
        return writer.getvalue()

    def encode_parts(self, writer_prefix: bytes, version: int) -> list[Part]:
        if version < 0 or version > 0:
            raise unsupported_version("ShareGroupMemberMetadataValue", version, 0, 0)
        writer = BytesWriter()
        writer.write(writer_prefix)
        _write_share_group_member_metadata_value(writer, self, version)
        return [writer.getvalue()]


def _read_share_group_member_metadata_value(data: bytes, position: i64, version: i64) -> tuple[ShareGroupMemberMetadataValue, i64]:
    rack_id: str | None
    subscribed_topic_names: list[str]
    rack_id, position = read_compact_nullable_string(data, position)
    client_id, position = read_compact_string(data, position)
    client_host, position = read_compact_string(data, position)
    count, position = read_compact_count(data, position, 1)
    subscribed_topic_names, position = read_compact_string_list(data, position, count)
    position = skip_tags(data, position) if data[position] else position + 1
    return ShareGroupMemberMetadataValue(rack_id, client_id, client_host, subscribed_topic_names), position


def _write_share_group_member_metadata_value(writer: BytesWriter, message: ShareGroupMemberMetadataValue, version: i64) -> None:
    write_compact_nullable_string(writer, message.rack_id)
    write_compact_string(writer, message.client_id)
    write_compact_string(writer, message.client_host)
    subscribed_topic_names = message.subscribed_topic_names
    write_uvarint(writer, len(subscribed_topic_names) + 1)
    write_compact_string_list(writer, subscribed_topic_names)
    writer.append(0)


class ShareGroupMetadataKey(Message):
    """Key of record type 11, version 0."""

    __slots__ = ("group_id",)
    FIELDS: ClassVar[tuple[str, ...]] = ("group_id",)
    RECORD_KEY: ClassVar[int] = 11
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FIRST_FLEXIBLE: ClassVar[int] = -1

    def __init__(self, group_id: str = "") -> None:
        self.group_id = group_id

    @classmethod
    def decode(cls, data: bytes, position: int, version: int) -> tuple[ShareGroupMetadataKey, int]:
        if version < 0 or version > 0:
            raise unknown_version("ShareGroupMetadataKey", version, 0, 0)
        try:
            message, end = _read_share_group_metadata_key(data, position, version)
        except (IndexError, ValueError) as error:
            raise malformed("ShareGroupMetadataKey", version, error) from None
        return message, end

    def encode(self, version: int) -> bytes:
        if version < 0 or version > 0:
            raise unsupported_version("ShareGroupMetadataKey", version, 0, 0)
        writer = BytesWriter()
        _write_share_group_metadata_key(writer, self, version)
        return writer.getvalue()

    def encode_parts(self, writer_prefix: bytes, version: int) -> list[Part]:
        if version < 0 or version > 0:
            raise unsupported_version("ShareGroupMetadataKey", version, 0, 0)
        writer = BytesWriter()
        writer.write(writer_prefix)
        _write_share_group_metadata_key(writer, self, version)
        return [writer.getvalue()]


def _read_share_group_metadata_key(data: bytes, position: i64, version: i64) -> tuple[ShareGroupMetadataKey, i64]:
    group_id, position = read_string(data, position)
    return ShareGroupMetadataKey(group_id), position


def _write_share_group_metadata_key(writer: BytesWriter, message: ShareGroupMetadataKey, version: i64) -> None:
    write_string(writer, message.group_id)


class ShareGroupMetadataValue(Message):
    """Value of record type 11, version 0."""

    __slots__ = ("epoch", "metadata_hash")
    FIELDS: ClassVar[tuple[str, ...]] = ("epoch", "metadata_hash")
    RECORD_KEY: ClassVar[int] = 11
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FIRST_FLEXIBLE: ClassVar[int] = 0

    def __init__(self, epoch: int = 0, metadata_hash: int = 0) -> None:
        self.epoch = epoch
        self.metadata_hash = metadata_hash

    @classmethod
    def decode(cls, data: bytes, position: int, version: int) -> tuple[ShareGroupMetadataValue, int]:
        if version < 0 or version > 0:
            raise unknown_version("ShareGroupMetadataValue", version, 0, 0)
        try:
            message, end = _read_share_group_metadata_value(data, position, version)
        except (IndexError, ValueError) as error:
            raise malformed("ShareGroupMetadataValue", version, error) from None
        return message, end

    def encode(self, version: int) -> bytes:
        if version < 0 or version > 0:
            raise unsupported_version("ShareGroupMetadataValue", version, 0, 0)
        writer = BytesWriter()
        _write_share_group_metadata_value(writer, self, version)
        return writer.getvalue()

    def encode_parts(self, writer_prefix: bytes, version: int) -> list[Part]:
        if version < 0 or version > 0:
            raise unsupported_version("ShareGroupMetadataValue", version, 0, 0)
        writer = BytesWriter()
        writer.write(writer_prefix)
        _write_share_group_metadata_value(writer, self, version)
        return [writer.getvalue()]


def _read_share_group_metadata_value(data: bytes, position: i64, version: i64) -> tuple[ShareGroupMetadataValue, i64]:
    epoch = read_i32_be(data, position)
    metadata_hash = read_i64_be(data, position + 4)
    position += 12
    position = skip_tags(data, position) if data[position] else position + 1
    return ShareGroupMetadataValue(epoch, metadata_hash), position


def _write_share_group_metadata_value(writer: BytesWriter, message: ShareGroupMetadataValue, version: i64) -> None:
    write_i32_be(writer, message.epoch)
    write_i64_be(writer, message.metadata_hash)
    writer.append(0)


class ShareGroupTargetAssignmentMetadataKey(Message):
    """Key of record type 12, version 0."""

    __slots__ = ("group_id",)
    FIELDS: ClassVar[tuple[str, ...]] = ("group_id",)
    RECORD_KEY: ClassVar[int] = 12
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FIRST_FLEXIBLE: ClassVar[int] = -1

    def __init__(self, group_id: str = "") -> None:
        self.group_id = group_id

    @classmethod
    def decode(cls, data: bytes, position: int, version: int) -> tuple[ShareGroupTargetAssignmentMetadataKey, int]:
        if version < 0 or version > 0:
            raise unknown_version("ShareGroupTargetAssignmentMetadataKey", version, 0, 0)
        try:
            message, end = _read_share_group_target_assignment_metadata_key(data, position, version)
        except (IndexError, ValueError) as error:
            raise malformed("ShareGroupTargetAssignmentMetadataKey", version, error) from None
        return message, end

    def encode(self, version: int) -> bytes:
        if version < 0 or version > 0:
            raise unsupported_version("ShareGroupTargetAssignmentMetadataKey", version, 0, 0)
        writer = BytesWriter()
        _write_share_group_target_assignment_metadata_key(writer, self, version)
        return writer.getvalue()

    def encode_parts(self, writer_prefix: bytes, version: int) -> list[Part]:
        if version < 0 or version > 0:
            raise unsupported_version("ShareGroupTargetAssignmentMetadataKey", version, 0, 0)
        writer = BytesWriter()
        writer.write(writer_prefix)
        _write_share_group_target_assignment_metadata_key(writer, self, version)
        return [writer.getvalue()]


def _read_share_group_target_assignment_metadata_key(data: bytes, position: i64, version: i64) -> tuple[ShareGroupTargetAssignmentMetadataKey, i64]:
    group_id, position = read_string(data, position)
    return ShareGroupTargetAssignmentMetadataKey(group_id), position


def _write_share_group_target_assignment_metadata_key(writer: BytesWriter, message: ShareGroupTargetAssignmentMetadataKey, version: i64) -> None:
    write_string(writer, message.group_id)


class ShareGroupTargetAssignmentMetadataValue(Message):
    """Value of record type 12, version 0."""

    __slots__ = ("assignment_epoch", "assignment_timestamp")
    FIELDS: ClassVar[tuple[str, ...]] = ("assignment_epoch", "assignment_timestamp")
    RECORD_KEY: ClassVar[int] = 12
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FIRST_FLEXIBLE: ClassVar[int] = 0

    def __init__(self, assignment_epoch: int = 0, assignment_timestamp: int = 0) -> None:
        self.assignment_epoch = assignment_epoch
        self.assignment_timestamp = assignment_timestamp

    @classmethod
    def decode(cls, data: bytes, position: int, version: int) -> tuple[ShareGroupTargetAssignmentMetadataValue, int]:
        if version < 0 or version > 0:
            raise unknown_version("ShareGroupTargetAssignmentMetadataValue", version, 0, 0)
        try:
            message, end = _read_share_group_target_assignment_metadata_value(data, position, version)
        except (IndexError, ValueError) as error:
            raise malformed("ShareGroupTargetAssignmentMetadataValue", version, error) from None
        return message, end

    def encode(self, version: int) -> bytes:
        if version < 0 or version > 0:
            raise unsupported_version("ShareGroupTargetAssignmentMetadataValue", version, 0, 0)
        writer = BytesWriter()
        _write_share_group_target_assignment_metadata_value(writer, self, version)
        return writer.getvalue()

    def encode_parts(self, writer_prefix: bytes, version: int) -> list[Part]:
        if version < 0 or version > 0:
            raise unsupported_version("ShareGroupTargetAssignmentMetadataValue", version, 0, 0)
        writer = BytesWriter()
        writer.write(writer_prefix)
        _write_share_group_target_assignment_metadata_value(writer, self, version)
        return [writer.getvalue()]


def _read_share_group_target_assignment_metadata_value(data: bytes, position: i64, version: i64) -> tuple[ShareGroupTargetAssignmentMetadataValue, i64]:
    assignment_timestamp: int = 0
    assignment_epoch = read_i32_be(data, position)
    position += 4
    if data[position]:
        tags, position = read_uvarint(data, position)
        for _ in range(tags):
            tag, position, end = read_tag(data, position)
            if tag == 0:
                assignment_timestamp = read_i64_be(data, position)
                position += 8
            else:
                position = end
            if position != end:
                raise wrong_tag_size(tag)
    else:
        position += 1
    return ShareGroupTargetAssignmentMetadataValue(assignment_epoch, assignment_timestamp), position


def _write_share_group_target_assignment_metadata_value(writer: BytesWriter, message: ShareGroupTargetAssignmentMetadataValue, version: i64) -> None:
    write_i32_be(writer, message.assignment_epoch)
    if message.assignment_timestamp != 0:
        writer.append(1)
        writer.append(0)
        writer.append(8)
        write_i64_be(writer, message.assignment_timestamp)
    else:
        writer.append(0)


class ShareGroupTargetAssignmentMemberKey(Message):
    """Key of record type 13, version 0."""

    __slots__ = ("group_id", "member_id")
    FIELDS: ClassVar[tuple[str, ...]] = ("group_id", "member_id")
    RECORD_KEY: ClassVar[int] = 13
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FIRST_FLEXIBLE: ClassVar[int] = -1

    def __init__(self, group_id: str = "", member_id: str = "") -> None:
        self.group_id = group_id
        self.member_id = member_id

    @classmethod
    def decode(cls, data: bytes, position: int, version: int) -> tuple[ShareGroupTargetAssignmentMemberKey, int]:
        if version < 0 or version > 0:
            raise unknown_version("ShareGroupTargetAssignmentMemberKey", version, 0, 0)
        try:
            message, end = _read_share_group_target_assignment_member_key(data, position, version)
        except (IndexError, ValueError) as error:
            raise malformed("ShareGroupTargetAssignmentMemberKey", version, error) from None
        return message, end

    def encode(self, version: int) -> bytes:
        if version < 0 or version > 0:
            raise unsupported_version("ShareGroupTargetAssignmentMemberKey", version, 0, 0)
        writer = BytesWriter()
        _write_share_group_target_assignment_member_key(writer, self, version)
        return writer.getvalue()

    def encode_parts(self, writer_prefix: bytes, version: int) -> list[Part]:
        if version < 0 or version > 0:
            raise unsupported_version("ShareGroupTargetAssignmentMemberKey", version, 0, 0)
        writer = BytesWriter()
        writer.write(writer_prefix)
        _write_share_group_target_assignment_member_key(writer, self, version)
        return [writer.getvalue()]


def _read_share_group_target_assignment_member_key(data: bytes, position: i64, version: i64) -> tuple[ShareGroupTargetAssignmentMemberKey, i64]:
    group_id, position = read_string(data, position)
    member_id, position = read_string(data, position)
    return ShareGroupTargetAssignmentMemberKey(group_id, member_id), position


def _write_share_group_target_assignment_member_key(writer: BytesWriter, message: ShareGroupTargetAssignmentMemberKey, version: i64) -> None:
    write_string(writer, message.group_id)
    write_string(writer, message.member_id)


class ShareGroupTargetAssignmentMemberValue(Message):
    """Value of record type 13, version 0."""

    __slots__ = ("topic_partitions",)
    FIELDS: ClassVar[tuple[str, ...]] = ("topic_partitions",)
    RECORD_KEY: ClassVar[int] = 13
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FIRST_FLEXIBLE: ClassVar[int] = 0

    def __init__(self, topic_partitions: list[TopicPartition] = NO_ITEMS) -> None:
        self.topic_partitions = [] if topic_partitions is NO_ITEMS else topic_partitions

    @classmethod
    def decode(cls, data: bytes, position: int, version: int) -> tuple[ShareGroupTargetAssignmentMemberValue, int]:
        if version < 0 or version > 0:
            raise unknown_version("ShareGroupTargetAssignmentMemberValue", version, 0, 0)
        try:
            message, end = _read_share_group_target_assignment_member_value(data, position, version)
        except (IndexError, ValueError) as error:
            raise malformed("ShareGroupTargetAssignmentMemberValue", version, error) from None
        return message, end

    def encode(self, version: int) -> bytes:
        if version < 0 or version > 0:
            raise unsupported_version("ShareGroupTargetAssignmentMemberValue", version, 0, 0)
        writer = BytesWriter()
        _write_share_group_target_assignment_member_value(writer, self, version)
        return writer.getvalue()

    def encode_parts(self, writer_prefix: bytes, version: int) -> list[Part]:
        if version < 0 or version > 0:
            raise unsupported_version("ShareGroupTargetAssignmentMemberValue", version, 0, 0)
        writer = BytesWriter()
        writer.write(writer_prefix)
        _write_share_group_target_assignment_member_value(writer, self, version)
        return [writer.getvalue()]


def _read_share_group_target_assignment_member_value(data: bytes, position: i64, version: i64) -> tuple[ShareGroupTargetAssignmentMemberValue, i64]:
    topic_partitions: list[TopicPartition]
    count, position = read_compact_count(data, position, 18)
    topic_partitions = []
    for nth in range(count):
        topic_partitions_item, position = _read_topic_partition(data, position, version)
        topic_partitions.append(topic_partitions_item)
        if nth & LONG_RUN == LONG_RUN:
            give_way()
    position = skip_tags(data, position) if data[position] else position + 1
    return ShareGroupTargetAssignmentMemberValue(topic_partitions), position


def _write_share_group_target_assignment_member_value(writer: BytesWriter, message: ShareGroupTargetAssignmentMemberValue, version: i64) -> None:
    topic_partitions = message.topic_partitions
    write_uvarint(writer, len(topic_partitions) + 1)
    for nth, topic_partitions_item in enumerate(topic_partitions):
        _write_topic_partition(writer, topic_partitions_item, version)
        if nth & LONG_RUN == LONG_RUN:
            give_way()
    writer.append(0)


class ShareGroupCurrentMemberAssignmentKey(Message):
    """Key of record type 14, version 0."""

    __slots__ = ("group_id", "member_id")
    FIELDS: ClassVar[tuple[str, ...]] = ("group_id", "member_id")
    RECORD_KEY: ClassVar[int] = 14
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FIRST_FLEXIBLE: ClassVar[int] = -1

    def __init__(self, group_id: str = "", member_id: str = "") -> None:
        self.group_id = group_id
        self.member_id = member_id

    @classmethod
    def decode(cls, data: bytes, position: int, version: int) -> tuple[ShareGroupCurrentMemberAssignmentKey, int]:
        if version < 0 or version > 0:
            raise unknown_version("ShareGroupCurrentMemberAssignmentKey", version, 0, 0)
        try:
            message, end = _read_share_group_current_member_assignment_key(data, position, version)
        except (IndexError, ValueError) as error:
            raise malformed("ShareGroupCurrentMemberAssignmentKey", version, error) from None
        return message, end

    def encode(self, version: int) -> bytes:
        if version < 0 or version > 0:
            raise unsupported_version("ShareGroupCurrentMemberAssignmentKey", version, 0, 0)
        writer = BytesWriter()
        _write_share_group_current_member_assignment_key(writer, self, version)
        return writer.getvalue()

    def encode_parts(self, writer_prefix: bytes, version: int) -> list[Part]:
        if version < 0 or version > 0:
            raise unsupported_version("ShareGroupCurrentMemberAssignmentKey", version, 0, 0)
        writer = BytesWriter()
        writer.write(writer_prefix)
        _write_share_group_current_member_assignment_key(writer, self, version)
        return [writer.getvalue()]


def _read_share_group_current_member_assignment_key(data: bytes, position: i64, version: i64) -> tuple[ShareGroupCurrentMemberAssignmentKey, i64]:
    group_id, position = read_string(data, position)
    member_id, position = read_string(data, position)
    return ShareGroupCurrentMemberAssignmentKey(group_id, member_id), position


def _write_share_group_current_member_assignment_key(writer: BytesWriter, message: ShareGroupCurrentMemberAssignmentKey, version: i64) -> None:
    write_string(writer, message.group_id)
    write_string(writer, message.member_id)


class ShareGroupCurrentMemberAssignmentValue(Message):
    """Value of record type 14, version 0."""

    __slots__ = ("member_epoch", "previous_member_epoch", "state", "assigned_partitions")
    FIELDS: ClassVar[tuple[str, ...]] = ("member_epoch", "previous_member_epoch", "state", "assigned_partitions")
    RECORD_KEY: ClassVar[int] = 14
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FIRST_FLEXIBLE: ClassVar[int] = 0

    def __init__(self, member_epoch: int = 0, previous_member_epoch: int = 0, state: int = 0, assigned_partitions: list[ShareGroupCurrentMemberAssignmentTopicPartitions] = NO_ITEMS) -> None:
        self.member_epoch = member_epoch
        self.previous_member_epoch = previous_member_epoch
        self.state = state
        self.assigned_partitions = [] if assigned_partitions is NO_ITEMS else assigned_partitions

    @classmethod
    def decode(cls, data: bytes, position: int, version: int) -> tuple[ShareGroupCurrentMemberAssignmentValue, int]:
        if version < 0 or version > 0:
            raise unknown_version("ShareGroupCurrentMemberAssignmentValue", version, 0, 0)
        try:
            message, end = _read_share_group_current_member_assignment_value(data, position, version)
        except (IndexError, ValueError) as error:
            raise malformed("ShareGroupCurrentMemberAssignmentValue", version, error) from None
        return message, end

    def encode(self, version: int) -> bytes:
        if version < 0 or version > 0:
            raise unsupported_version("ShareGroupCurrentMemberAssignmentValue", version, 0, 0)
        writer = BytesWriter()
        _write_share_group_current_member_assignment_value(writer, self, version)
        return writer.getvalue()

    def encode_parts(self, writer_prefix: bytes, version: int) -> list[Part]:
        if version < 0 or version > 0:
            raise unsupported_version("ShareGroupCurrentMemberAssignmentValue", version, 0, 0)
        writer = BytesWriter()
        writer.write(writer_prefix)
        _write_share_group_current_member_assignment_value(writer, self, version)
        return [writer.getvalue()]


def _read_share_group_current_member_assignment_value(data: bytes, position: i64, version: i64) -> tuple[ShareGroupCurrentMemberAssignmentValue, i64]:
    assigned_partitions: list[ShareGroupCurrentMemberAssignmentTopicPartitions]
    member_epoch = read_i32_be(data, position)
    previous_member_epoch = read_i32_be(data, position + 4)
    state = read_i8(data, position + 8)
    position += 9
    count, position = read_compact_count(data, position, 18)
    assigned_partitions = []
    for nth in range(count):
        assigned_partitions_item, position = _read_share_group_current_member_assignment_topic_partitions(data, position, version)
        assigned_partitions.append(assigned_partitions_item)
        if nth & LONG_RUN == LONG_RUN:
            give_way()
    position = skip_tags(data, position) if data[position] else position + 1
    return ShareGroupCurrentMemberAssignmentValue(member_epoch, previous_member_epoch, state, assigned_partitions), position


def _write_share_group_current_member_assignment_value(writer: BytesWriter, message: ShareGroupCurrentMemberAssignmentValue, version: i64) -> None:
    write_i32_be(writer, message.member_epoch)
    write_i32_be(writer, message.previous_member_epoch)
    write_i8(writer, message.state)
    assigned_partitions = message.assigned_partitions
    write_uvarint(writer, len(assigned_partitions) + 1)
    for nth, assigned_partitions_item in enumerate(assigned_partitions):
        _write_share_group_current_member_assignment_topic_partitions(writer, assigned_partitions_item, version)
        if nth & LONG_RUN == LONG_RUN:
            give_way()
    writer.append(0)


class ShareGroupStatePartitionMetadataKey(Message):
    """Key of record type 15, version 0."""

    __slots__ = ("group_id",)
    FIELDS: ClassVar[tuple[str, ...]] = ("group_id",)
    RECORD_KEY: ClassVar[int] = 15
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FIRST_FLEXIBLE: ClassVar[int] = -1

    def __init__(self, group_id: str = "") -> None:
        self.group_id = group_id

    @classmethod
    def decode(cls, data: bytes, position: int, version: int) -> tuple[ShareGroupStatePartitionMetadataKey, int]:
        if version < 0 or version > 0:
            raise unknown_version("ShareGroupStatePartitionMetadataKey", version, 0, 0)
        try:
            message, end = _read_share_group_state_partition_metadata_key(data, position, version)
        except (IndexError, ValueError) as error:
            raise malformed("ShareGroupStatePartitionMetadataKey", version, error) from None
        return message, end

    def encode(self, version: int) -> bytes:
        if version < 0 or version > 0:
            raise unsupported_version("ShareGroupStatePartitionMetadataKey", version, 0, 0)
        writer = BytesWriter()
        _write_share_group_state_partition_metadata_key(writer, self, version)
        return writer.getvalue()

    def encode_parts(self, writer_prefix: bytes, version: int) -> list[Part]:
        if version < 0 or version > 0:
            raise unsupported_version("ShareGroupStatePartitionMetadataKey", version, 0, 0)
        writer = BytesWriter()
        writer.write(writer_prefix)
        _write_share_group_state_partition_metadata_key(writer, self, version)
        return [writer.getvalue()]


def _read_share_group_state_partition_metadata_key(data: bytes, position: i64, version: i64) -> tuple[ShareGroupStatePartitionMetadataKey, i64]:
    group_id, position = read_string(data, position)
    return ShareGroupStatePartitionMetadataKey(group_id), position


def _write_share_group_state_partition_metadata_key(writer: BytesWriter, message: ShareGroupStatePartitionMetadataKey, version: i64) -> None:
    write_string(writer, message.group_id)


class ShareGroupStatePartitionMetadataValue(Message):
    """Value of record type 15, version 0."""

    __slots__ = ("initializing_topics", "initialized_topics", "deleting_topics")
    FIELDS: ClassVar[tuple[str, ...]] = ("initializing_topics", "initialized_topics", "deleting_topics")
    RECORD_KEY: ClassVar[int] = 15
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FIRST_FLEXIBLE: ClassVar[int] = 0

    def __init__(self, initializing_topics: list[TopicPartitionsInfo] = NO_ITEMS, initialized_topics: list[TopicPartitionsInfo] = NO_ITEMS, deleting_topics: list[TopicInfo] = NO_ITEMS) -> None:
        self.initializing_topics = [] if initializing_topics is NO_ITEMS else initializing_topics
        self.initialized_topics = [] if initialized_topics is NO_ITEMS else initialized_topics
        self.deleting_topics = [] if deleting_topics is NO_ITEMS else deleting_topics

    @classmethod
    def decode(cls, data: bytes, position: int, version: int) -> tuple[ShareGroupStatePartitionMetadataValue, int]:
        if version < 0 or version > 0:
            raise unknown_version("ShareGroupStatePartitionMetadataValue", version, 0, 0)
        try:
            message, end = _read_share_group_state_partition_metadata_value(data, position, version)
        except (IndexError, ValueError) as error:
            raise malformed("ShareGroupStatePartitionMetadataValue", version, error) from None
        return message, end

    def encode(self, version: int) -> bytes:
        if version < 0 or version > 0:
            raise unsupported_version("ShareGroupStatePartitionMetadataValue", version, 0, 0)
        writer = BytesWriter()
        _write_share_group_state_partition_metadata_value(writer, self, version)
        return writer.getvalue()

    def encode_parts(self, writer_prefix: bytes, version: int) -> list[Part]:
        if version < 0 or version > 0:
            raise unsupported_version("ShareGroupStatePartitionMetadataValue", version, 0, 0)
        writer = BytesWriter()
        writer.write(writer_prefix)
        _write_share_group_state_partition_metadata_value(writer, self, version)
        return [writer.getvalue()]


def _read_share_group_state_partition_metadata_value(data: bytes, position: i64, version: i64) -> tuple[ShareGroupStatePartitionMetadataValue, i64]:
    initializing_topics: list[TopicPartitionsInfo]
    initialized_topics: list[TopicPartitionsInfo]
    deleting_topics: list[TopicInfo]
    count, position = read_compact_count(data, position, 19)
    initializing_topics = []
    for nth in range(count):
        initializing_topics_item, position = _read_topic_partitions_info(data, position, version)
        initializing_topics.append(initializing_topics_item)
        if nth & LONG_RUN == LONG_RUN:
            give_way()
    count, position = read_compact_count(data, position, 19)
    initialized_topics = []
    for nth in range(count):
        initialized_topics_item, position = _read_topic_partitions_info(data, position, version)
        initialized_topics.append(initialized_topics_item)
        if nth & LONG_RUN == LONG_RUN:
            give_way()
    count, position = read_compact_count(data, position, 18)
    deleting_topics = []
    for nth in range(count):
        deleting_topics_item, position = _read_topic_info(data, position, version)
        deleting_topics.append(deleting_topics_item)
        if nth & LONG_RUN == LONG_RUN:
            give_way()
    position = skip_tags(data, position) if data[position] else position + 1
    return ShareGroupStatePartitionMetadataValue(initializing_topics, initialized_topics, deleting_topics), position


def _write_share_group_state_partition_metadata_value(writer: BytesWriter, message: ShareGroupStatePartitionMetadataValue, version: i64) -> None:
    initializing_topics = message.initializing_topics
    write_uvarint(writer, len(initializing_topics) + 1)
    for nth, initializing_topics_item in enumerate(initializing_topics):
        _write_topic_partitions_info(writer, initializing_topics_item, version)
        if nth & LONG_RUN == LONG_RUN:
            give_way()
    initialized_topics = message.initialized_topics
    write_uvarint(writer, len(initialized_topics) + 1)
    for nth, initialized_topics_item in enumerate(initialized_topics):
        _write_topic_partitions_info(writer, initialized_topics_item, version)
        if nth & LONG_RUN == LONG_RUN:
            give_way()
    deleting_topics = message.deleting_topics
    write_uvarint(writer, len(deleting_topics) + 1)
    for nth, deleting_topics_item in enumerate(deleting_topics):
        _write_topic_info(writer, deleting_topics_item, version)
        if nth & LONG_RUN == LONG_RUN:
            give_way()
    writer.append(0)


class ConsumerGroupRegularExpressionKey(Message):
    """Key of record type 16, version 0."""

    __slots__ = ("group_id", "regular_expression")
    FIELDS: ClassVar[tuple[str, ...]] = ("group_id", "regular_expression")
    RECORD_KEY: ClassVar[int] = 16
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FIRST_FLEXIBLE: ClassVar[int] = -1

    def __init__(self, group_id: str = "", regular_expression: str = "") -> None:
        self.group_id = group_id
        self.regular_expression = regular_expression

    @classmethod
    def decode(cls, data: bytes, position: int, version: int) -> tuple[ConsumerGroupRegularExpressionKey, int]:
        if version < 0 or version > 0:
            raise unknown_version("ConsumerGroupRegularExpressionKey", version, 0, 0)
        try:
            message, end = _read_consumer_group_regular_expression_key(data, position, version)
        except (IndexError, ValueError) as error:
            raise malformed("ConsumerGroupRegularExpressionKey", version, error) from None
        return message, end

    def encode(self, version: int) -> bytes:
        if version < 0 or version > 0:
            raise unsupported_version("ConsumerGroupRegularExpressionKey", version, 0, 0)
        writer = BytesWriter()
        _write_consumer_group_regular_expression_key(writer, self, version)
        return writer.getvalue()

    def encode_parts(self, writer_prefix: bytes, version: int) -> list[Part]:
        if version < 0 or version > 0:
            raise unsupported_version("ConsumerGroupRegularExpressionKey", version, 0, 0)
        writer = BytesWriter()
        writer.write(writer_prefix)
        _write_consumer_group_regular_expression_key(writer, self, version)
        return [writer.getvalue()]


def _read_consumer_group_regular_expression_key(data: bytes, position: i64, version: i64) -> tuple[ConsumerGroupRegularExpressionKey, i64]:
    group_id, position = read_string(data, position)
    regular_expression, position = read_string(data, position)
    return ConsumerGroupRegularExpressionKey(group_id, regular_expression), position


def _write_consumer_group_regular_expression_key(writer: BytesWriter, message: ConsumerGroupRegularExpressionKey, version: i64) -> None:
    write_string(writer, message.group_id)
    write_string(writer, message.regular_expression)


class ConsumerGroupRegularExpressionValue(Message):
    """Value of record type 16, version 0."""

    __slots__ = ("topics", "version", "timestamp")
    FIELDS: ClassVar[tuple[str, ...]] = ("topics", "version", "timestamp")
    RECORD_KEY: ClassVar[int] = 16
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FIRST_FLEXIBLE: ClassVar[int] = 0

    def __init__(self, topics: list[str] = NO_ITEMS, version: int = 0, timestamp: int = 0) -> None:
        self.topics = [] if topics is NO_ITEMS else topics
        self.version = version
        self.timestamp = timestamp

    @classmethod
    def decode(cls, data: bytes, position: int, version: int) -> tuple[ConsumerGroupRegularExpressionValue, int]:
        if version < 0 or version > 0:
            raise unknown_version("ConsumerGroupRegularExpressionValue", version, 0, 0)
        try:
            message, end = _read_consumer_group_regular_expression_value(data, position, version)
        except (IndexError, ValueError) as error:
            raise malformed("ConsumerGroupRegularExpressionValue", version, error) from None
        return message, end

    def encode(self, version: int) -> bytes:
        if version < 0 or version > 0:
            raise unsupported_version("ConsumerGroupRegularExpressionValue", version, 0, 0)
        writer = BytesWriter()
        _write_consumer_group_regular_expression_value(writer, self, version)
        return writer.getvalue()

    def encode_parts(self, writer_prefix: bytes, version: int) -> list[Part]:
        if version < 0 or version > 0:
            raise unsupported_version("ConsumerGroupRegularExpressionValue", version, 0, 0)
        writer = BytesWriter()
        writer.write(writer_prefix)
        _write_consumer_group_regular_expression_value(writer, self, version)
        return [writer.getvalue()]


def _read_consumer_group_regular_expression_value(data: bytes, position: i64, version: i64) -> tuple[ConsumerGroupRegularExpressionValue, i64]:
    topics: list[str]
    count, position = read_compact_count(data, position, 1)
    topics, position = read_compact_string_list(data, position, count)
    version_ = read_i64_be(data, position)
    timestamp = read_i64_be(data, position + 8)
    position += 16
    position = skip_tags(data, position) if data[position] else position + 1
    return ConsumerGroupRegularExpressionValue(topics, version_, timestamp), position


def _write_consumer_group_regular_expression_value(writer: BytesWriter, message: ConsumerGroupRegularExpressionValue, version: i64) -> None:
    topics = message.topics
    write_uvarint(writer, len(topics) + 1)
    write_compact_string_list(writer, topics)
    write_i64_be(writer, message.version)
    write_i64_be(writer, message.timestamp)
    writer.append(0)


class StreamsGroupMetadataKey(Message):
    """Key of record type 17, version 0."""

    __slots__ = ("group_id",)
    FIELDS: ClassVar[tuple[str, ...]] = ("group_id",)
    RECORD_KEY: ClassVar[int] = 17
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FIRST_FLEXIBLE: ClassVar[int] = -1

    def __init__(self, group_id: str = "") -> None:
        self.group_id = group_id

    @classmethod
    def decode(cls, data: bytes, position: int, version: int) -> tuple[StreamsGroupMetadataKey, int]:
        if version < 0 or version > 0:
            raise unknown_version("StreamsGroupMetadataKey", version, 0, 0)
        try:
            message, end = _read_streams_group_metadata_key(data, position, version)
        except (IndexError, ValueError) as error:
            raise malformed("StreamsGroupMetadataKey", version, error) from None
        return message, end

    def encode(self, version: int) -> bytes:
        if version < 0 or version > 0:
            raise unsupported_version("StreamsGroupMetadataKey", version, 0, 0)
        writer = BytesWriter()
        _write_streams_group_metadata_key(writer, self, version)
        return writer.getvalue()

    def encode_parts(self, writer_prefix: bytes, version: int) -> list[Part]:
        if version < 0 or version > 0:
            raise unsupported_version("StreamsGroupMetadataKey", version, 0, 0)
        writer = BytesWriter()
        writer.write(writer_prefix)
        _write_streams_group_metadata_key(writer, self, version)
        return [writer.getvalue()]


def _read_streams_group_metadata_key(data: bytes, position: i64, version: i64) -> tuple[StreamsGroupMetadataKey, i64]:
    group_id, position = read_string(data, position)
    return StreamsGroupMetadataKey(group_id), position


def _write_streams_group_metadata_key(writer: BytesWriter, message: StreamsGroupMetadataKey, version: i64) -> None:
    write_string(writer, message.group_id)


class StreamsGroupMetadataValue(Message):
    """Value of record type 17, version 0."""

    __slots__ = ("epoch", "metadata_hash", "validated_topology_epoch", "last_assignment_configs")
    FIELDS: ClassVar[tuple[str, ...]] = ("epoch", "metadata_hash", "validated_topology_epoch", "last_assignment_configs")
    RECORD_KEY: ClassVar[int] = 17
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FIRST_FLEXIBLE: ClassVar[int] = 0

    def __init__(self, epoch: int = 0, metadata_hash: int = 0, validated_topology_epoch: int = -1, last_assignment_configs: list[LastAssignmentConfig] | None = NO_ITEMS) -> None:
        self.epoch = epoch
        self.metadata_hash = metadata_hash
        self.validated_topology_epoch = validated_topology_epoch
        self.last_assignment_configs = [] if last_assignment_configs is NO_ITEMS else last_assignment_configs

    @classmethod
    def decode(cls, data: bytes, position: int, version: int) -> tuple[StreamsGroupMetadataValue, int]:
        if version < 0 or version > 0:
            raise unknown_version("StreamsGroupMetadataValue", version, 0, 0)
        try:
            message, end = _read_streams_group_metadata_value(data, position, version)
        except (IndexError, ValueError) as error:
            raise malformed("StreamsGroupMetadataValue", version, error) from None
        return message, end

    def encode(self, version: int) -> bytes:
        if version < 0 or version > 0:
            raise unsupported_version("StreamsGroupMetadataValue", version, 0, 0)
        writer = BytesWriter()
        _write_streams_group_metadata_value(writer, self, version)
        return writer.getvalue()

    def encode_parts(self, writer_prefix: bytes, version: int) -> list[Part]:
        if version < 0 or version > 0:
            raise unsupported_version("StreamsGroupMetadataValue", version, 0, 0)
        writer = BytesWriter()
        writer.write(writer_prefix)
        _write_streams_group_metadata_value(writer, self, version)
        return [writer.getvalue()]


def _read_streams_group_metadata_value(data: bytes, position: i64, version: i64) -> tuple[StreamsGroupMetadataValue, i64]:
    validated_topology_epoch: int = -1
    last_assignment_configs: list[LastAssignmentConfig] | None = []
    epoch = read_i32_be(data, position)
    metadata_hash = read_i64_be(data, position + 4)
    position += 12
    if data[position]:
        tags, position = read_uvarint(data, position)
        for _ in range(tags):
            tag, position, end = read_tag(data, position)
            if tag == 0:
                validated_topology_epoch = read_i32_be(data, position)
                position += 4
            elif tag == 1:
                count, position = read_compact_nullable_count(data, position, 3)
                if count < 0:
                    last_assignment_configs = None
                else:
                    last_assignment_configs = []
                    for nth in range(count):
                        last_assignment_configs_item, position = _read_last_assignment_config(data, position, version)
                        last_assignment_configs.append(last_assignment_configs_item)
                        if nth & LONG_RUN == LONG_RUN:
                            give_way()
            else:
                position = end
            if position != end:
                raise wrong_tag_size(tag)
    else:
        position += 1
    return StreamsGroupMetadataValue(epoch, metadata_hash, validated_topology_epoch, last_assignment_configs), position


def _write_streams_group_metadata_value(writer: BytesWriter, message: StreamsGroupMetadataValue, version: i64) -> None:
    write_i32_be(writer, message.epoch)
    write_i64_be(writer, message.metadata_hash)
    count = 0
    if message.validated_topology_epoch != -1:
        count += 1
    if message.last_assignment_configs is None or message.last_assignment_configs:
        count += 1
    writer.append(count)
    if count:
        if message.validated_topology_epoch != -1:
            writer.append(0)
            writer.append(4)
            write_i32_be(writer, message.validated_topology_epoch)
        if message.last_assignment_configs is None or message.last_assignment_configs:
            body = BytesWriter()
            last_assignment_configs = message.last_assignment_configs
            if last_assignment_configs is None:
                body.append(0)
            else:
                write_uvarint(body, len(last_assignment_configs) + 1)
                for nth, last_assignment_configs_item in enumerate(last_assignment_configs):
                    _write_last_assignment_config(body, last_assignment_configs_item, version)
                    if nth & LONG_RUN == LONG_RUN:
                        give_way()
            write_tag(writer, 1, body)


class StreamsGroupMemberMetadataKey(Message):
    """Key of record type 19, version 0."""

    __slots__ = ("group_id", "member_id")
    FIELDS: ClassVar[tuple[str, ...]] = ("group_id", "member_id")
    RECORD_KEY: ClassVar[int] = 19
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FIRST_FLEXIBLE: ClassVar[int] = -1

    def __init__(self, group_id: str = "", member_id: str = "") -> None:
        self.group_id = group_id
        self.member_id = member_id

    @classmethod
    def decode(cls, data: bytes, position: int, version: int) -> tuple[StreamsGroupMemberMetadataKey, int]:
        if version < 0 or version > 0:
            raise unknown_version("StreamsGroupMemberMetadataKey", version, 0, 0)
        try:
            message, end = _read_streams_group_member_metadata_key(data, position, version)
        except (IndexError, ValueError) as error:
            raise malformed("StreamsGroupMemberMetadataKey", version, error) from None
        return message, end

    def encode(self, version: int) -> bytes:
        if version < 0 or version > 0:
            raise unsupported_version("StreamsGroupMemberMetadataKey", version, 0, 0)
        writer = BytesWriter()
        _write_streams_group_member_metadata_key(writer, self, version)
        return writer.getvalue()

    def encode_parts(self, writer_prefix: bytes, version: int) -> list[Part]:
        if version < 0 or version > 0:
            raise unsupported_version("StreamsGroupMemberMetadataKey", version, 0, 0)
        writer = BytesWriter()
        writer.write(writer_prefix)
        _write_streams_group_member_metadata_key(writer, self, version)
        return [writer.getvalue()]


def _read_streams_group_member_metadata_key(data: bytes, position: i64, version: i64) -> tuple[StreamsGroupMemberMetadataKey, i64]:
    group_id, position = read_string(data, position)
    member_id, position = read_string(data, position)
    return StreamsGroupMemberMetadataKey(group_id, member_id), position


def _write_streams_group_member_metadata_key(writer: BytesWriter, message: StreamsGroupMemberMetadataKey, version: i64) -> None:
    write_string(writer, message.group_id)
    write_string(writer, message.member_id)


class StreamsGroupMemberMetadataValue(Message):
    """Value of record type 19, version 0."""

    __slots__ = ("instance_id", "rack_id", "client_id", "client_host", "rebalance_timeout_ms", "topology_epoch", "process_id", "user_endpoint", "client_tags")
    FIELDS: ClassVar[tuple[str, ...]] = ("instance_id", "rack_id", "client_id", "client_host", "rebalance_timeout_ms", "topology_epoch", "process_id", "user_endpoint", "client_tags")
    RECORD_KEY: ClassVar[int] = 19
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FIRST_FLEXIBLE: ClassVar[int] = 0

    def __init__(self, instance_id: str | None = "", rack_id: str | None = "", client_id: str = "", client_host: str = "", rebalance_timeout_ms: int = -1, topology_epoch: int = 0, process_id: str = "", user_endpoint: Endpoint | None = None, client_tags: list[KeyValue] = NO_ITEMS) -> None:
        self.instance_id = instance_id
        self.rack_id = rack_id
        self.client_id = client_id
        self.client_host = client_host
        self.rebalance_timeout_ms = rebalance_timeout_ms
        self.topology_epoch = topology_epoch
        self.process_id = process_id
        self.user_endpoint = user_endpoint
        self.client_tags = [] if client_tags is NO_ITEMS else client_tags

    @classmethod
    def decode(cls, data: bytes, position: int, version: int) -> tuple[StreamsGroupMemberMetadataValue, int]:
        if version < 0 or version > 0:
            raise unknown_version("StreamsGroupMemberMetadataValue", version, 0, 0)
        try:
            message, end = _read_streams_group_member_metadata_value(data, position, version)
        except (IndexError, ValueError) as error:
            raise malformed("StreamsGroupMemberMetadataValue", version, error) from None
        return message, end

    def encode(self, version: int) -> bytes:
        if version < 0 or version > 0:
            raise unsupported_version("StreamsGroupMemberMetadataValue", version, 0, 0)
        writer = BytesWriter()
        _write_streams_group_member_metadata_value(writer, self, version)
        return writer.getvalue()

    def encode_parts(self, writer_prefix: bytes, version: int) -> list[Part]:
        if version < 0 or version > 0:
            raise unsupported_version("StreamsGroupMemberMetadataValue", version, 0, 0)
        writer = BytesWriter()
        writer.write(writer_prefix)
        _write_streams_group_member_metadata_value(writer, self, version)
        return [writer.getvalue()]


def _read_streams_group_member_metadata_value(data: bytes, position: i64, version: i64) -> tuple[StreamsGroupMemberMetadataValue, i64]:
    instance_id: str | None
    rack_id: str | None
    user_endpoint: Endpoint | None
    client_tags: list[KeyValue]
    instance_id, position = read_compact_nullable_string(data, position)
    rack_id, position = read_compact_nullable_string(data, position)
    client_id, position = read_compact_string(data, position)
    client_host, position = read_compact_string(data, position)
    rebalance_timeout_ms = read_i32_be(data, position)
    topology_epoch = read_i32_be(data, position + 4)
    position += 8
    process_id, position = read_compact_string(data, position)
    if read_i8(data, position) < 0:
        user_endpoint = None
        position += 1
    else:
        position += 1
        user_endpoint, position = _read_endpoint(data, position, version)
    count, position = read_compact_count(data, position, 3)
    client_tags = []
    for nth in range(count):
        client_tags_item, position = _read_key_value(data, position, version)
        client_tags.append(client_tags_item)
        if nth & LONG_RUN == LONG_RUN:
            give_way()
    position = skip_tags(data, position) if data[position] else position + 1
    return StreamsGroupMemberMetadataValue(instance_id, rack_id, client_id, client_host, rebalance_timeout_ms, topology_epoch, process_id, user_endpoint, client_tags), position


def _write_streams_group_member_metadata_value(writer: BytesWriter, message: StreamsGroupMemberMetadataValue, version: i64) -> None:
    write_compact_nullable_string(writer, message.instance_id)
    write_compact_nullable_string(writer, message.rack_id)
    write_compact_string(writer, message.client_id)
    write_compact_string(writer, message.client_host)
    write_i32_be(writer, message.rebalance_timeout_ms)
    write_i32_be(writer, message.topology_epoch)
    write_compact_string(writer, message.process_id)
    user_endpoint = message.user_endpoint
    if user_endpoint is None:
        write_i8(writer, -1)
    else:
        writer.append(1)
        _write_endpoint(writer, user_endpoint, version)
    client_tags = message.client_tags
    write_uvarint(writer, len(client_tags) + 1)
    for nth, client_tags_item in enumerate(client_tags):
        _write_key_value(writer, client_tags_item, version)
        if nth & LONG_RUN == LONG_RUN:
            give_way()
    writer.append(0)


class StreamsGroupTargetAssignmentMetadataKey(Message):
    """Key of record type 20, version 0."""

    __slots__ = ("group_id",)
    FIELDS: ClassVar[tuple[str, ...]] = ("group_id",)
    RECORD_KEY: ClassVar[int] = 20
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FIRST_FLEXIBLE: ClassVar[int] = -1

    def __init__(self, group_id: str = "") -> None:
        self.group_id = group_id

    @classmethod
    def decode(cls, data: bytes, position: int, version: int) -> tuple[StreamsGroupTargetAssignmentMetadataKey, int]:
        if version < 0 or version > 0:
            raise unknown_version("StreamsGroupTargetAssignmentMetadataKey", version, 0, 0)
        try:
            message, end = _read_streams_group_target_assignment_metadata_key(data, position, version)
        except (IndexError, ValueError) as error:
            raise malformed("StreamsGroupTargetAssignmentMetadataKey", version, error) from None
        return message, end

    def encode(self, version: int) -> bytes:
        if version < 0 or version > 0:
            raise unsupported_version("StreamsGroupTargetAssignmentMetadataKey", version, 0, 0)
        writer = BytesWriter()
        _write_streams_group_target_assignment_metadata_key(writer, self, version)
        return writer.getvalue()

    def encode_parts(self, writer_prefix: bytes, version: int) -> list[Part]:
        if version < 0 or version > 0:
            raise unsupported_version("StreamsGroupTargetAssignmentMetadataKey", version, 0, 0)
        writer = BytesWriter()
        writer.write(writer_prefix)
        _write_streams_group_target_assignment_metadata_key(writer, self, version)
        return [writer.getvalue()]


def _read_streams_group_target_assignment_metadata_key(data: bytes, position: i64, version: i64) -> tuple[StreamsGroupTargetAssignmentMetadataKey, i64]:
    group_id, position = read_string(data, position)
    return StreamsGroupTargetAssignmentMetadataKey(group_id), position


def _write_streams_group_target_assignment_metadata_key(writer: BytesWriter, message: StreamsGroupTargetAssignmentMetadataKey, version: i64) -> None:
    write_string(writer, message.group_id)


class StreamsGroupTargetAssignmentMetadataValue(Message):
    """Value of record type 20, version 0."""

    __slots__ = ("assignment_epoch", "assignment_timestamp")
    FIELDS: ClassVar[tuple[str, ...]] = ("assignment_epoch", "assignment_timestamp")
    RECORD_KEY: ClassVar[int] = 20
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FIRST_FLEXIBLE: ClassVar[int] = 0

    def __init__(self, assignment_epoch: int = 0, assignment_timestamp: int = 0) -> None:
        self.assignment_epoch = assignment_epoch
        self.assignment_timestamp = assignment_timestamp

    @classmethod
    def decode(cls, data: bytes, position: int, version: int) -> tuple[StreamsGroupTargetAssignmentMetadataValue, int]:
        if version < 0 or version > 0:
            raise unknown_version("StreamsGroupTargetAssignmentMetadataValue", version, 0, 0)
        try:
            message, end = _read_streams_group_target_assignment_metadata_value(data, position, version)
        except (IndexError, ValueError) as error:
            raise malformed("StreamsGroupTargetAssignmentMetadataValue", version, error) from None
        return message, end

    def encode(self, version: int) -> bytes:
        if version < 0 or version > 0:
            raise unsupported_version("StreamsGroupTargetAssignmentMetadataValue", version, 0, 0)
        writer = BytesWriter()
        _write_streams_group_target_assignment_metadata_value(writer, self, version)
        return writer.getvalue()

    def encode_parts(self, writer_prefix: bytes, version: int) -> list[Part]:
        if version < 0 or version > 0:
            raise unsupported_version("StreamsGroupTargetAssignmentMetadataValue", version, 0, 0)
        writer = BytesWriter()
        writer.write(writer_prefix)
        _write_streams_group_target_assignment_metadata_value(writer, self, version)
        return [writer.getvalue()]


def _read_streams_group_target_assignment_metadata_value(data: bytes, position: i64, version: i64) -> tuple[StreamsGroupTargetAssignmentMetadataValue, i64]:
    assignment_timestamp: int = 0
    assignment_epoch = read_i32_be(data, position)
    position += 4
    if data[position]:
        tags, position = read_uvarint(data, position)
        for _ in range(tags):
            tag, position, end = read_tag(data, position)
            if tag == 0:
                assignment_timestamp = read_i64_be(data, position)
                position += 8
            else:
                position = end
            if position != end:
                raise wrong_tag_size(tag)
    else:
        position += 1
    return StreamsGroupTargetAssignmentMetadataValue(assignment_epoch, assignment_timestamp), position


def _write_streams_group_target_assignment_metadata_value(writer: BytesWriter, message: StreamsGroupTargetAssignmentMetadataValue, version: i64) -> None:
    write_i32_be(writer, message.assignment_epoch)
    if message.assignment_timestamp != 0:
        writer.append(1)
        writer.append(0)
        writer.append(8)
        write_i64_be(writer, message.assignment_timestamp)
    else:
        writer.append(0)


class StreamsGroupTargetAssignmentMemberKey(Message):
    """Key of record type 21, version 0."""

    __slots__ = ("group_id", "member_id")
    FIELDS: ClassVar[tuple[str, ...]] = ("group_id", "member_id")
    RECORD_KEY: ClassVar[int] = 21
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FIRST_FLEXIBLE: ClassVar[int] = -1

    def __init__(self, group_id: str = "", member_id: str = "") -> None:
        self.group_id = group_id
        self.member_id = member_id

    @classmethod
    def decode(cls, data: bytes, position: int, version: int) -> tuple[StreamsGroupTargetAssignmentMemberKey, int]:
        if version < 0 or version > 0:
            raise unknown_version("StreamsGroupTargetAssignmentMemberKey", version, 0, 0)
        try:
            message, end = _read_streams_group_target_assignment_member_key(data, position, version)
        except (IndexError, ValueError) as error:
            raise malformed("StreamsGroupTargetAssignmentMemberKey", version, error) from None
        return message, end

    def encode(self, version: int) -> bytes:
        if version < 0 or version > 0:
            raise unsupported_version("StreamsGroupTargetAssignmentMemberKey", version, 0, 0)
        writer = BytesWriter()
        _write_streams_group_target_assignment_member_key(writer, self, version)
        return writer.getvalue()

    def encode_parts(self, writer_prefix: bytes, version: int) -> list[Part]:
        if version < 0 or version > 0:
            raise unsupported_version("StreamsGroupTargetAssignmentMemberKey", version, 0, 0)
        writer = BytesWriter()
        writer.write(writer_prefix)
        _write_streams_group_target_assignment_member_key(writer, self, version)
        return [writer.getvalue()]


def _read_streams_group_target_assignment_member_key(data: bytes, position: i64, version: i64) -> tuple[StreamsGroupTargetAssignmentMemberKey, i64]:
    group_id, position = read_string(data, position)
    member_id, position = read_string(data, position)
    return StreamsGroupTargetAssignmentMemberKey(group_id, member_id), position


def _write_streams_group_target_assignment_member_key(writer: BytesWriter, message: StreamsGroupTargetAssignmentMemberKey, version: i64) -> None:
    write_string(writer, message.group_id)
    write_string(writer, message.member_id)


class StreamsGroupTargetAssignmentMemberValue(Message):
    """Value of record type 21, version 0."""

    __slots__ = ("active_tasks", "standby_tasks", "warmup_tasks")
    FIELDS: ClassVar[tuple[str, ...]] = ("active_tasks", "standby_tasks", "warmup_tasks")
    RECORD_KEY: ClassVar[int] = 21
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FIRST_FLEXIBLE: ClassVar[int] = 0

    def __init__(self, active_tasks: list[TaskIds] = NO_ITEMS, standby_tasks: list[TaskIds] = NO_ITEMS, warmup_tasks: list[TaskIds] = NO_ITEMS) -> None:
        self.active_tasks = [] if active_tasks is NO_ITEMS else active_tasks
        self.standby_tasks = [] if standby_tasks is NO_ITEMS else standby_tasks
        self.warmup_tasks = [] if warmup_tasks is NO_ITEMS else warmup_tasks

    @classmethod
    def decode(cls, data: bytes, position: int, version: int) -> tuple[StreamsGroupTargetAssignmentMemberValue, int]:
        if version < 0 or version > 0:
            raise unknown_version("StreamsGroupTargetAssignmentMemberValue", version, 0, 0)
        try:
            message, end = _read_streams_group_target_assignment_member_value(data, position, version)
        except (IndexError, ValueError) as error:
            raise malformed("StreamsGroupTargetAssignmentMemberValue", version, error) from None
        return message, end

    def encode(self, version: int) -> bytes:
        if version < 0 or version > 0:
            raise unsupported_version("StreamsGroupTargetAssignmentMemberValue", version, 0, 0)
        writer = BytesWriter()
        _write_streams_group_target_assignment_member_value(writer, self, version)
        return writer.getvalue()

    def encode_parts(self, writer_prefix: bytes, version: int) -> list[Part]:
        if version < 0 or version > 0:
            raise unsupported_version("StreamsGroupTargetAssignmentMemberValue", version, 0, 0)
        writer = BytesWriter()
        writer.write(writer_prefix)
        _write_streams_group_target_assignment_member_value(writer, self, version)
        return [writer.getvalue()]


def _read_streams_group_target_assignment_member_value(data: bytes, position: i64, version: i64) -> tuple[StreamsGroupTargetAssignmentMemberValue, i64]:
    active_tasks: list[TaskIds]
    standby_tasks: list[TaskIds]
    warmup_tasks: list[TaskIds]
    count, position = read_compact_count(data, position, 3)
    active_tasks = []
    for nth in range(count):
        active_tasks_item, position = _read_task_ids(data, position, version)
        active_tasks.append(active_tasks_item)
        if nth & LONG_RUN == LONG_RUN:
            give_way()
    count, position = read_compact_count(data, position, 3)
    standby_tasks = []
    for nth in range(count):
        standby_tasks_item, position = _read_task_ids(data, position, version)
        standby_tasks.append(standby_tasks_item)
        if nth & LONG_RUN == LONG_RUN:
            give_way()
    count, position = read_compact_count(data, position, 3)
    warmup_tasks = []
    for nth in range(count):
        warmup_tasks_item, position = _read_task_ids(data, position, version)
        warmup_tasks.append(warmup_tasks_item)
        if nth & LONG_RUN == LONG_RUN:
            give_way()
    position = skip_tags(data, position) if data[position] else position + 1
    return StreamsGroupTargetAssignmentMemberValue(active_tasks, standby_tasks, warmup_tasks), position


def _write_streams_group_target_assignment_member_value(writer: BytesWriter, message: StreamsGroupTargetAssignmentMemberValue, version: i64) -> None:
    active_tasks = message.active_tasks
    write_uvarint(writer, len(active_tasks) + 1)
    for nth, active_tasks_item in enumerate(active_tasks):
        _write_task_ids(writer, active_tasks_item, version)
        if nth & LONG_RUN == LONG_RUN:
            give_way()
    standby_tasks = message.standby_tasks
    write_uvarint(writer, len(standby_tasks) + 1)
    for nth, standby_tasks_item in enumerate(standby_tasks):
        _write_task_ids(writer, standby_tasks_item, version)
        if nth & LONG_RUN == LONG_RUN:
            give_way()
    warmup_tasks = message.warmup_tasks
    write_uvarint(writer, len(warmup_tasks) + 1)
    for nth, warmup_tasks_item in enumerate(warmup_tasks):
        _write_task_ids(writer, warmup_tasks_item, version)
        if nth & LONG_RUN == LONG_RUN:
            give_way()
    writer.append(0)


class StreamsGroupCurrentMemberAssignmentKey(Message):
    """Key of record type 22, version 0."""

    __slots__ = ("group_id", "member_id")
    FIELDS: ClassVar[tuple[str, ...]] = ("group_id", "member_id")
    RECORD_KEY: ClassVar[int] = 22
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FIRST_FLEXIBLE: ClassVar[int] = -1

    def __init__(self, group_id: str = "", member_id: str = "") -> None:
        self.group_id = group_id
        self.member_id = member_id

    @classmethod
    def decode(cls, data: bytes, position: int, version: int) -> tuple[StreamsGroupCurrentMemberAssignmentKey, int]:
        if version < 0 or version > 0:
            raise unknown_version("StreamsGroupCurrentMemberAssignmentKey", version, 0, 0)
        try:
            message, end = _read_streams_group_current_member_assignment_key(data, position, version)
        except (IndexError, ValueError) as error:
            raise malformed("StreamsGroupCurrentMemberAssignmentKey", version, error) from None
        return message, end

    def encode(self, version: int) -> bytes:
        if version < 0 or version > 0:
            raise unsupported_version("StreamsGroupCurrentMemberAssignmentKey", version, 0, 0)
        writer = BytesWriter()
        _write_streams_group_current_member_assignment_key(writer, self, version)
        return writer.getvalue()

    def encode_parts(self, writer_prefix: bytes, version: int) -> list[Part]:
        if version < 0 or version > 0:
            raise unsupported_version("StreamsGroupCurrentMemberAssignmentKey", version, 0, 0)
        writer = BytesWriter()
        writer.write(writer_prefix)
        _write_streams_group_current_member_assignment_key(writer, self, version)
        return [writer.getvalue()]


def _read_streams_group_current_member_assignment_key(data: bytes, position: i64, version: i64) -> tuple[StreamsGroupCurrentMemberAssignmentKey, i64]:
    group_id, position = read_string(data, position)
    member_id, position = read_string(data, position)
    return StreamsGroupCurrentMemberAssignmentKey(group_id, member_id), position


def _write_streams_group_current_member_assignment_key(writer: BytesWriter, message: StreamsGroupCurrentMemberAssignmentKey, version: i64) -> None:
    write_string(writer, message.group_id)
    write_string(writer, message.member_id)


class StreamsGroupCurrentMemberAssignmentValue(Message):
    """Value of record type 22, version 0."""

    __slots__ = ("member_epoch", "previous_member_epoch", "state", "active_tasks", "standby_tasks", "warmup_tasks", "active_tasks_pending_revocation", "standby_tasks_pending_revocation", "warmup_tasks_pending_revocation")
    FIELDS: ClassVar[tuple[str, ...]] = ("member_epoch", "previous_member_epoch", "state", "active_tasks", "standby_tasks", "warmup_tasks", "active_tasks_pending_revocation", "standby_tasks_pending_revocation", "warmup_tasks_pending_revocation")
    RECORD_KEY: ClassVar[int] = 22
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FIRST_FLEXIBLE: ClassVar[int] = 0

    def __init__(self, member_epoch: int = 0, previous_member_epoch: int = 0, state: int = 0, active_tasks: list[StreamsGroupCurrentMemberAssignmentTaskIds] = NO_ITEMS, standby_tasks: list[StreamsGroupCurrentMemberAssignmentTaskIds] = NO_ITEMS, warmup_tasks: list[StreamsGroupCurrentMemberAssignmentTaskIds] = NO_ITEMS, active_tasks_pending_revocation: list[StreamsGroupCurrentMemberAssignmentTaskIds] = NO_ITEMS, standby_tasks_pending_revocation: list[StreamsGroupCurrentMemberAssignmentTaskIds] = NO_ITEMS, warmup_tasks_pending_revocation: list[StreamsGroupCurrentMemberAssignmentTaskIds] = NO_ITEMS) -> None:
        self.member_epoch = member_epoch
        self.previous_member_epoch = previous_member_epoch
        self.state = state
        self.active_tasks = [] if active_tasks is NO_ITEMS else active_tasks
        self.standby_tasks = [] if standby_tasks is NO_ITEMS else standby_tasks
        self.warmup_tasks = [] if warmup_tasks is NO_ITEMS else warmup_tasks
        self.active_tasks_pending_revocation = [] if active_tasks_pending_revocation is NO_ITEMS else active_tasks_pending_revocation
        self.standby_tasks_pending_revocation = [] if standby_tasks_pending_revocation is NO_ITEMS else standby_tasks_pending_revocation
        self.warmup_tasks_pending_revocation = [] if warmup_tasks_pending_revocation is NO_ITEMS else warmup_tasks_pending_revocation

    @classmethod
    def decode(cls, data: bytes, position: int, version: int) -> tuple[StreamsGroupCurrentMemberAssignmentValue, int]:
        if version < 0 or version > 0:
            raise unknown_version("StreamsGroupCurrentMemberAssignmentValue", version, 0, 0)
        try:
            message, end = _read_streams_group_current_member_assignment_value(data, position, version)
        except (IndexError, ValueError) as error:
            raise malformed("StreamsGroupCurrentMemberAssignmentValue", version, error) from None
        return message, end

    def encode(self, version: int) -> bytes:
        if version < 0 or version > 0:
            raise unsupported_version("StreamsGroupCurrentMemberAssignmentValue", version, 0, 0)
        writer = BytesWriter()
        _write_streams_group_current_member_assignment_value(writer, self, version)
        return writer.getvalue()

    def encode_parts(self, writer_prefix: bytes, version: int) -> list[Part]:
        if version < 0 or version > 0:
            raise unsupported_version("StreamsGroupCurrentMemberAssignmentValue", version, 0, 0)
        writer = BytesWriter()
        writer.write(writer_prefix)
        _write_streams_group_current_member_assignment_value(writer, self, version)
        return [writer.getvalue()]


def _read_streams_group_current_member_assignment_value(data: bytes, position: i64, version: i64) -> tuple[StreamsGroupCurrentMemberAssignmentValue, i64]:
    active_tasks: list[StreamsGroupCurrentMemberAssignmentTaskIds]
    standby_tasks: list[StreamsGroupCurrentMemberAssignmentTaskIds]
    warmup_tasks: list[StreamsGroupCurrentMemberAssignmentTaskIds]
    active_tasks_pending_revocation: list[StreamsGroupCurrentMemberAssignmentTaskIds]
    standby_tasks_pending_revocation: list[StreamsGroupCurrentMemberAssignmentTaskIds]
    warmup_tasks_pending_revocation: list[StreamsGroupCurrentMemberAssignmentTaskIds]
    member_epoch = read_i32_be(data, position)
    previous_member_epoch = read_i32_be(data, position + 4)
    state = read_i8(data, position + 8)
    position += 9
    count, position = read_compact_count(data, position, 3)
    active_tasks = []
    for nth in range(count):
        active_tasks_item, position = _read_streams_group_current_member_assignment_task_ids(data, position, version)
        active_tasks.append(active_tasks_item)
        if nth & LONG_RUN == LONG_RUN:
            give_way()
    count, position = read_compact_count(data, position, 3)
    standby_tasks = []
    for nth in range(count):
        standby_tasks_item, position = _read_streams_group_current_member_assignment_task_ids(data, position, version)
        standby_tasks.append(standby_tasks_item)
        if nth & LONG_RUN == LONG_RUN:
            give_way()
    count, position = read_compact_count(data, position, 3)
    warmup_tasks = []
    for nth in range(count):
        warmup_tasks_item, position = _read_streams_group_current_member_assignment_task_ids(data, position, version)
        warmup_tasks.append(warmup_tasks_item)
        if nth & LONG_RUN == LONG_RUN:
            give_way()
    count, position = read_compact_count(data, position, 3)
    active_tasks_pending_revocation = []
    for nth in range(count):
        active_tasks_pending_revocation_item, position = _read_streams_group_current_member_assignment_task_ids(data, position, version)
        active_tasks_pending_revocation.append(active_tasks_pending_revocation_item)
        if nth & LONG_RUN == LONG_RUN:
            give_way()
    count, position = read_compact_count(data, position, 3)
    standby_tasks_pending_revocation = []
    for nth in range(count):
        standby_tasks_pending_revocation_item, position = _read_streams_group_current_member_assignment_task_ids(data, position, version)
        standby_tasks_pending_revocation.append(standby_tasks_pending_revocation_item)
        if nth & LONG_RUN == LONG_RUN:
            give_way()
    count, position = read_compact_count(data, position, 3)
    warmup_tasks_pending_revocation = []
    for nth in range(count):
        warmup_tasks_pending_revocation_item, position = _read_streams_group_current_member_assignment_task_ids(data, position, version)
        warmup_tasks_pending_revocation.append(warmup_tasks_pending_revocation_item)
        if nth & LONG_RUN == LONG_RUN:
            give_way()
    position = skip_tags(data, position) if data[position] else position + 1
    return StreamsGroupCurrentMemberAssignmentValue(member_epoch, previous_member_epoch, state, active_tasks, standby_tasks, warmup_tasks, active_tasks_pending_revocation, standby_tasks_pending_revocation, warmup_tasks_pending_revocation), position


def _write_streams_group_current_member_assignment_value(writer: BytesWriter, message: StreamsGroupCurrentMemberAssignmentValue, version: i64) -> None:
    write_i32_be(writer, message.member_epoch)
    write_i32_be(writer, message.previous_member_epoch)
    write_i8(writer, message.state)
    active_tasks = message.active_tasks
    write_uvarint(writer, len(active_tasks) + 1)
    for nth, active_tasks_item in enumerate(active_tasks):
        _write_streams_group_current_member_assignment_task_ids(writer, active_tasks_item, version)
        if nth & LONG_RUN == LONG_RUN:
            give_way()
    standby_tasks = message.standby_tasks
    write_uvarint(writer, len(standby_tasks) + 1)
    for nth, standby_tasks_item in enumerate(standby_tasks):
        _write_streams_group_current_member_assignment_task_ids(writer, standby_tasks_item, version)
        if nth & LONG_RUN == LONG_RUN:
            give_way()
    warmup_tasks = message.warmup_tasks
    write_uvarint(writer, len(warmup_tasks) + 1)
    for nth, warmup_tasks_item in enumerate(warmup_tasks):
        _write_streams_group_current_member_assignment_task_ids(writer, warmup_tasks_item, version)
        if nth & LONG_RUN == LONG_RUN:
            give_way()
    active_tasks_pending_revocation = message.active_tasks_pending_revocation
    write_uvarint(writer, len(active_tasks_pending_revocation) + 1)
    for nth, active_tasks_pending_revocation_item in enumerate(active_tasks_pending_revocation):
        _write_streams_group_current_member_assignment_task_ids(writer, active_tasks_pending_revocation_item, version)
        if nth & LONG_RUN == LONG_RUN:
            give_way()
    standby_tasks_pending_revocation = message.standby_tasks_pending_revocation
    write_uvarint(writer, len(standby_tasks_pending_revocation) + 1)
    for nth, standby_tasks_pending_revocation_item in enumerate(standby_tasks_pending_revocation):
        _write_streams_group_current_member_assignment_task_ids(writer, standby_tasks_pending_revocation_item, version)
        if nth & LONG_RUN == LONG_RUN:
            give_way()
    warmup_tasks_pending_revocation = message.warmup_tasks_pending_revocation
    write_uvarint(writer, len(warmup_tasks_pending_revocation) + 1)
    for nth, warmup_tasks_pending_revocation_item in enumerate(warmup_tasks_pending_revocation):
        _write_streams_group_current_member_assignment_task_ids(writer, warmup_tasks_pending_revocation_item, version)
        if nth & LONG_RUN == LONG_RUN:
            give_way()
    writer.append(0)


class StreamsGroupTopologyKey(Message):
    """Key of record type 23, version 0."""

    __slots__ = ("group_id",)
    FIELDS: ClassVar[tuple[str, ...]] = ("group_id",)
    RECORD_KEY: ClassVar[int] = 23
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FIRST_FLEXIBLE: ClassVar[int] = -1

    def __init__(self, group_id: str = "") -> None:
        self.group_id = group_id

    @classmethod
    def decode(cls, data: bytes, position: int, version: int) -> tuple[StreamsGroupTopologyKey, int]:
        if version < 0 or version > 0:
            raise unknown_version("StreamsGroupTopologyKey", version, 0, 0)
        try:
            message, end = _read_streams_group_topology_key(data, position, version)
        except (IndexError, ValueError) as error:
            raise malformed("StreamsGroupTopologyKey", version, error) from None
        return message, end

    def encode(self, version: int) -> bytes:
        if version < 0 or version > 0:
            raise unsupported_version("StreamsGroupTopologyKey", version, 0, 0)
        writer = BytesWriter()
        _write_streams_group_topology_key(writer, self, version)
        return writer.getvalue()

    def encode_parts(self, writer_prefix: bytes, version: int) -> list[Part]:
        if version < 0 or version > 0:
            raise unsupported_version("StreamsGroupTopologyKey", version, 0, 0)
        writer = BytesWriter()
        writer.write(writer_prefix)
        _write_streams_group_topology_key(writer, self, version)
        return [writer.getvalue()]


def _read_streams_group_topology_key(data: bytes, position: i64, version: i64) -> tuple[StreamsGroupTopologyKey, i64]:
    group_id, position = read_string(data, position)
    return StreamsGroupTopologyKey(group_id), position


def _write_streams_group_topology_key(writer: BytesWriter, message: StreamsGroupTopologyKey, version: i64) -> None:
    write_string(writer, message.group_id)


class StreamsGroupTopologyValue(Message):
    """Value of record type 23, version 0."""

    __slots__ = ("epoch", "subtopologies")
    FIELDS: ClassVar[tuple[str, ...]] = ("epoch", "subtopologies")
    RECORD_KEY: ClassVar[int] = 23
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FIRST_FLEXIBLE: ClassVar[int] = 0

    def __init__(self, epoch: int = 0, subtopologies: list[Subtopology] = NO_ITEMS) -> None:
        self.epoch = epoch
        self.subtopologies = [] if subtopologies is NO_ITEMS else subtopologies

    @classmethod
    def decode(cls, data: bytes, position: int, version: int) -> tuple[StreamsGroupTopologyValue, int]:
        if version < 0 or version > 0:
            raise unknown_version("StreamsGroupTopologyValue", version, 0, 0)
        try:
            message, end = _read_streams_group_topology_value(data, position, version)
        except (IndexError, ValueError) as error:
            raise malformed("StreamsGroupTopologyValue", version, error) from None
        return message, end

    def encode(self, version: int) -> bytes:
        if version < 0 or version > 0:
            raise unsupported_version("StreamsGroupTopologyValue", version, 0, 0)
        writer = BytesWriter()
        _write_streams_group_topology_value(writer, self, version)
        return writer.getvalue()

    def encode_parts(self, writer_prefix: bytes, version: int) -> list[Part]:
        if version < 0 or version > 0:
            raise unsupported_version("StreamsGroupTopologyValue", version, 0, 0)
        writer = BytesWriter()
        writer.write(writer_prefix)
        _write_streams_group_topology_value(writer, self, version)
        return [writer.getvalue()]


def _read_streams_group_topology_value(data: bytes, position: i64, version: i64) -> tuple[StreamsGroupTopologyValue, i64]:
    subtopologies: list[Subtopology]
    epoch = read_i32_be(data, position)
    position += 4
    count, position = read_compact_count(data, position, 8)
    subtopologies = []
    for nth in range(count):
        subtopologies_item, position = _read_subtopology(data, position, version)
        subtopologies.append(subtopologies_item)
        if nth & LONG_RUN == LONG_RUN:
            give_way()
    position = skip_tags(data, position) if data[position] else position + 1
    return StreamsGroupTopologyValue(epoch, subtopologies), position


def _write_streams_group_topology_value(writer: BytesWriter, message: StreamsGroupTopologyValue, version: i64) -> None:
    write_i32_be(writer, message.epoch)
    subtopologies = message.subtopologies
    write_uvarint(writer, len(subtopologies) + 1)
    for nth, subtopologies_item in enumerate(subtopologies):
        _write_subtopology(writer, subtopologies_item, version)
        if nth & LONG_RUN == LONG_RUN:
            give_way()
    writer.append(0)
