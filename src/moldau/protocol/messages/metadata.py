"""Metadata (API key 3). Generated from schema/metadata.txt: do not edit."""

# fmt: off
from __future__ import annotations

from typing import ClassVar

from librt.strings import BytesWriter, read_i16_be, read_i32_be, write_i16_be, write_i32_be
from mypy_extensions import i64

from moldau.ids import NO_UUID
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
    read_uuid,
    skip_tags,
    unknown_version,
)
from moldau.protocol.writing import (
    null_field,
    unsupported_field,
    unsupported_version,
    write_bool,
    write_compact_nullable_string,
    write_compact_string,
    write_i32_list,
    write_nullable_string,
    write_string,
    write_uuid,
    write_uvarint,
)


class MetadataRequestTopic(Struct):
    __slots__ = ("topic_id", "name")
    FIELDS: ClassVar[tuple[str, ...]] = ("topic_id", "name")

    def __init__(self, topic_id: bytes = NO_UUID, name: str | None = "") -> None:
        self.topic_id = topic_id
        self.name = name


def _read_metadata_request_topic(data: bytes, position: i64, version: i64) -> tuple[MetadataRequestTopic, i64]:
    topic_id: bytes
    name: str | None
    if version >= 10:
        topic_id = read_uuid(data, position)
        position += 16
    else:
        topic_id = NO_UUID
    if version >= 10:
        name, position = read_compact_nullable_string(data, position)
    elif version >= 9:
        name, position = read_compact_string(data, position)
    else:
        name, position = read_string(data, position)
    if version >= 9:
        position = skip_tags(data, position) if data[position] else position + 1
    return MetadataRequestTopic(topic_id, name), position


def _write_metadata_request_topic(writer: BytesWriter, message: MetadataRequestTopic, version: i64) -> None:
    if version >= 10:
        write_uuid(writer, message.topic_id)
    if version >= 10:
        write_compact_nullable_string(writer, message.name)
    elif version >= 9:
        name = message.name
        if name is None:
            raise null_field("MetadataRequestTopic", "name", version)
        write_compact_string(writer, name)
    else:
        name = message.name
        if name is None:
            raise null_field("MetadataRequestTopic", "name", version)
        write_string(writer, name)
    if version >= 9:
        writer.append(0)


class MetadataResponseBroker(Struct):
    __slots__ = ("node_id", "host", "port", "rack")
    FIELDS: ClassVar[tuple[str, ...]] = ("node_id", "host", "port", "rack")

    def __init__(self, node_id: int = 0, host: str = "", port: int = 0, rack: str | None = None) -> None:
        self.node_id = node_id
        self.host = host
        self.port = port
        self.rack = rack


def _read_metadata_response_broker(data: bytes, position: i64, version: i64) -> tuple[MetadataResponseBroker, i64]:
    host: str
    rack: str | None
    node_id = read_i32_be(data, position)
    position += 4
    if version >= 9:
        host, position = read_compact_string(data, position)
    else:
        host, position = read_string(data, position)
    port = read_i32_be(data, position)
    position += 4
    if version >= 9:
        rack, position = read_compact_nullable_string(data, position)
    elif version >= 1:
        rack, position = read_nullable_string(data, position)
    else:
        rack = None
    if version >= 9:
        position = skip_tags(data, position) if data[position] else position + 1
    return MetadataResponseBroker(node_id, host, port, rack), position


def _write_metadata_response_broker(writer: BytesWriter, message: MetadataResponseBroker, version: i64) -> None:
    write_i32_be(writer, message.node_id)
    if version >= 9:
        write_compact_string(writer, message.host)
    else:
        write_string(writer, message.host)
    write_i32_be(writer, message.port)
    if version >= 9:
        write_compact_nullable_string(writer, message.rack)
    elif version >= 1:
        write_nullable_string(writer, message.rack)
    if version >= 9:
        writer.append(0)


class MetadataResponsePartition(Struct):
    __slots__ = ("error_code", "partition_index", "leader_id", "leader_epoch", "replica_nodes", "isr_nodes", "offline_replicas")
    FIELDS: ClassVar[tuple[str, ...]] = ("error_code", "partition_index", "leader_id", "leader_epoch", "replica_nodes", "isr_nodes", "offline_replicas")

    def __init__(self, error_code: int = 0, partition_index: int = 0, leader_id: int = 0, leader_epoch: int = -1, replica_nodes: list[int] = NO_ITEMS, isr_nodes: list[int] = NO_ITEMS, offline_replicas: list[int] = NO_ITEMS) -> None:
        self.error_code = error_code
        self.partition_index = partition_index
        self.leader_id = leader_id
        self.leader_epoch = leader_epoch
        self.replica_nodes = [] if replica_nodes is NO_ITEMS else replica_nodes
        self.isr_nodes = [] if isr_nodes is NO_ITEMS else isr_nodes
        self.offline_replicas = [] if offline_replicas is NO_ITEMS else offline_replicas


def _read_metadata_response_partition(data: bytes, position: i64, version: i64) -> tuple[MetadataResponsePartition, i64]:
    leader_epoch: int
    replica_nodes: list[int]
    isr_nodes: list[int]
    offline_replicas: list[int]
    error_code = read_i16_be(data, position)
    partition_index = read_i32_be(data, position + 2)
    leader_id = read_i32_be(data, position + 6)
    position += 10
    if version >= 7:
        leader_epoch = read_i32_be(data, position)
        position += 4
    else:
        leader_epoch = -1
    if version >= 9:
        count, position = read_compact_count(data, position, 4)
        replica_nodes = read_i32_list(data, position, count)
        position += 4 * count
        count, position = read_compact_count(data, position, 4)
        isr_nodes = read_i32_list(data, position, count)
        position += 4 * count
    else:
        count, position = read_count(data, position, 4)
        replica_nodes = read_i32_list(data, position, count)
        position += 4 * count
        count, position = read_count(data, position, 4)
        isr_nodes = read_i32_list(data, position, count)
        position += 4 * count
    if version >= 9:
        count, position = read_compact_count(data, position, 4)
        offline_replicas = read_i32_list(data, position, count)
        position += 4 * count
    elif version >= 5:
        count, position = read_count(data, position, 4)
        offline_replicas = read_i32_list(data, position, count)
        position += 4 * count
    else:
        offline_replicas = []
    if version >= 9:
        position = skip_tags(data, position) if data[position] else position + 1
    return MetadataResponsePartition(error_code, partition_index, leader_id, leader_epoch, replica_nodes, isr_nodes, offline_replicas), position


def _write_metadata_response_partition(writer: BytesWriter, message: MetadataResponsePartition, version: i64) -> None:
    write_i16_be(writer, message.error_code)
    write_i32_be(writer, message.partition_index)
    write_i32_be(writer, message.leader_id)
    if version >= 7:
        write_i32_be(writer, message.leader_epoch)
    if version >= 9:
        replica_nodes = message.replica_nodes
        write_uvarint(writer, len(replica_nodes) + 1)
        write_i32_list(writer, replica_nodes)
        isr_nodes = message.isr_nodes
        write_uvarint(writer, len(isr_nodes) + 1)
        write_i32_list(writer, isr_nodes)
    else:
        replica_nodes = message.replica_nodes
        write_i32_be(writer, len(replica_nodes))
        write_i32_list(writer, replica_nodes)
        isr_nodes = message.isr_nodes
        write_i32_be(writer, len(isr_nodes))
        write_i32_list(writer, isr_nodes)
    if version >= 9:
        offline_replicas = message.offline_replicas
        write_uvarint(writer, len(offline_replicas) + 1)
        write_i32_list(writer, offline_replicas)
    elif version >= 5:
        offline_replicas = message.offline_replicas
        write_i32_be(writer, len(offline_replicas))
        write_i32_list(writer, offline_replicas)
    if version >= 9:
        writer.append(0)


class MetadataResponseTopic(Struct):
    __slots__ = ("error_code", "name", "topic_id", "is_internal", "partitions", "topic_authorized_operations")
    FIELDS: ClassVar[tuple[str, ...]] = ("error_code", "name", "topic_id", "is_internal", "partitions", "topic_authorized_operations")

    def __init__(self, error_code: int = 0, name: str | None = "", topic_id: bytes = NO_UUID, is_internal: bool = False, partitions: list[MetadataResponsePartition] = NO_ITEMS, topic_authorized_operations: int = -2147483648) -> None:
        self.error_code = error_code
        self.name = name
        self.topic_id = topic_id
        self.is_internal = is_internal
        self.partitions = [] if partitions is NO_ITEMS else partitions
        self.topic_authorized_operations = topic_authorized_operations


def _read_metadata_response_topic(data: bytes, position: i64, version: i64) -> tuple[MetadataResponseTopic, i64]:
    name: str | None
    topic_id: bytes
    is_internal: bool
    partitions: list[MetadataResponsePartition]
    topic_authorized_operations: int
    error_code = read_i16_be(data, position)
    position += 2
    if version >= 12:
        name, position = read_compact_nullable_string(data, position)
    elif version >= 9:
        name, position = read_compact_string(data, position)
    else:
        name, position = read_string(data, position)
    if version >= 10:
        topic_id = read_uuid(data, position)
        position += 16
    else:
        topic_id = NO_UUID
    if version >= 1:
        is_internal = data[position] != 0
        position += 1
    else:
        is_internal = False
    if version >= 9:
        count, position = read_compact_count(data, position, 18)
        partitions = []
        for nth in range(count):
            partitions_item, position = _read_metadata_response_partition(data, position, version)
            partitions.append(partitions_item)
            if nth & LONG_RUN == LONG_RUN:
                give_way()
    else:
        count, position = read_count(data, position, 18)
        partitions = []
        for nth in range(count):
            partitions_item, position = _read_metadata_response_partition(data, position, version)
            partitions.append(partitions_item)
            if nth & LONG_RUN == LONG_RUN:
                give_way()
    if version >= 8:
        topic_authorized_operations = read_i32_be(data, position)
        position += 4
    else:
        topic_authorized_operations = -2147483648
    if version >= 9:
        position = skip_tags(data, position) if data[position] else position + 1
    return MetadataResponseTopic(error_code, name, topic_id, is_internal, partitions, topic_authorized_operations), position


def _write_metadata_response_topic(writer: BytesWriter, message: MetadataResponseTopic, version: i64) -> None:
    write_i16_be(writer, message.error_code)
    if version >= 12:
        write_compact_nullable_string(writer, message.name)
    elif version >= 9:
        name = message.name
        if name is None:
            raise null_field("MetadataResponseTopic", "name", version)
        write_compact_string(writer, name)
    else:
        name = message.name
        if name is None:
            raise null_field("MetadataResponseTopic", "name", version)
        write_string(writer, name)
    if version >= 10:
        write_uuid(writer, message.topic_id)
    if version >= 1:
        write_bool(writer, message.is_internal)
    if version >= 9:
        partitions = message.partitions
        write_uvarint(writer, len(partitions) + 1)
        for nth, partitions_item in enumerate(partitions):
            _write_metadata_response_partition(writer, partitions_item, version)
            if nth & LONG_RUN == LONG_RUN:
                give_way()
    else:
        partitions = message.partitions
        write_i32_be(writer, len(partitions))
        for nth, partitions_item in enumerate(partitions):
            _write_metadata_response_partition(writer, partitions_item, version)
            if nth & LONG_RUN == LONG_RUN:
                give_way()
    if version >= 8:
        write_i32_be(writer, message.topic_authorized_operations)
    else:
        if message.topic_authorized_operations != -2147483648:
            raise unsupported_field("MetadataResponseTopic", "topic_authorized_operations", version)
    if version >= 9:
        writer.append(0)


class MetadataRequest(Message):
    """API key 3, versions 0 to 13."""

    __slots__ = ("topics", "allow_auto_topic_creation", "include_cluster_authorized_operations", "include_topic_authorized_operations")
    FIELDS: ClassVar[tuple[str, ...]] = ("topics", "allow_auto_topic_creation", "include_cluster_authorized_operations", "include_topic_authorized_operations")
    API_KEY: ClassVar[int] = 3
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 13
    FIRST_FLEXIBLE: ClassVar[int] = 9

    def __init__(self, topics: list[MetadataRequestTopic] | None = NO_ITEMS, allow_auto_topic_creation: bool = True, include_cluster_authorized_operations: bool = False, include_topic_authorized_operations: bool = False) -> None:
        self.topics = [] if topics is NO_ITEMS else topics
        self.allow_auto_topic_creation = allow_auto_topic_creation
        self.include_cluster_authorized_operations = include_cluster_authorized_operations
        self.include_topic_authorized_operations = include_topic_authorized_operations

    @classmethod
    def decode(cls, data: bytes, position: int, version: int) -> tuple[MetadataRequest, int]:
        if version < 0 or version > 13:
            raise unknown_version("MetadataRequest", version, 0, 13)
        try:
            message, end = _read_metadata_request(data, position, version)
        except (IndexError, ValueError) as error:
            raise malformed("MetadataRequest", version, error) from None
        return message, end

    def encode(self, version: int) -> bytes:
        if version < 0 or version > 13:
            raise unsupported_version("MetadataRequest", version, 0, 13)
        writer = BytesWriter()
        _write_metadata_request(writer, self, version)
        return writer.getvalue()

    def encode_parts(self, writer_prefix: bytes, version: int) -> list[Part]:
        if version < 0 or version > 13:
            raise unsupported_version("MetadataRequest", version, 0, 13)
        writer = BytesWriter()
        writer.write(writer_prefix)
        _write_metadata_request(writer, self, version)
        return [writer.getvalue()]


def _read_metadata_request(data: bytes, position: i64, version: i64) -> tuple[MetadataRequest, i64]:
    topics: list[MetadataRequestTopic] | None
    allow_auto_topic_creation: bool
    include_cluster_authorized_operations: bool
    include_topic_authorized_operations: bool
    if version >= 9:
        count, position = read_compact_nullable_count(data, position, 2)
        if count < 0:
            topics = None
        else:
            topics = []
            for nth in range(count):
                topics_item, position = _read_metadata_request_topic(data, position, version)
                topics.append(topics_item)
                if nth & LONG_RUN == LONG_RUN:
                    give_way()
    elif version >= 1:
        count, position = read_nullable_count(data, position, 2)
        if count < 0:
            topics = None
        else:
            topics = []
            for nth in range(count):
                topics_item, position = _read_metadata_request_topic(data, position, version)
                topics.append(topics_item)
                if nth & LONG_RUN == LONG_RUN:
                    give_way()
    else:
        count, position = read_count(data, position, 2)
        topics = []
        for nth in range(count):
            topics_item, position = _read_metadata_request_topic(data, position, version)
            topics.append(topics_item)
            if nth & LONG_RUN == LONG_RUN:
                give_way()
    if version >= 4:
        allow_auto_topic_creation = data[position] != 0
        position += 1
    else:
        allow_auto_topic_creation = True
    if version >= 11:
        include_cluster_authorized_operations = False
    elif version >= 8:
        include_cluster_authorized_operations = data[position] != 0
        position += 1
    else:
        include_cluster_authorized_operations = False
    if version >= 8:
        include_topic_authorized_operations = data[position] != 0
        position += 1
    else:
        include_topic_authorized_operations = False
    if version >= 9:
        position = skip_tags(data, position) if data[position] else position + 1
    return MetadataRequest(topics, allow_auto_topic_creation, include_cluster_authorized_operations, include_topic_authorized_operations), position


def _write_metadata_request(writer: BytesWriter, message: MetadataRequest, version: i64) -> None:
    if version >= 9:
        topics = message.topics
        if topics is None:
            writer.append(0)
        else:
            write_uvarint(writer, len(topics) + 1)
            for nth, topics_item in enumerate(topics):
                _write_metadata_request_topic(writer, topics_item, version)
                if nth & LONG_RUN == LONG_RUN:
                    give_way()
    elif version >= 1:
        topics = message.topics
        if topics is None:
            write_i32_be(writer, -1)
        else:
            write_i32_be(writer, len(topics))
            for nth, topics_item in enumerate(topics):
                _write_metadata_request_topic(writer, topics_item, version)
                if nth & LONG_RUN == LONG_RUN:
                    give_way()
    else:
        topics = message.topics
        if topics is None:
            raise null_field("MetadataRequest", "topics", version)
        write_i32_be(writer, len(topics))
        for nth, topics_item in enumerate(topics):
            _write_metadata_request_topic(writer, topics_item, version)
            if nth & LONG_RUN == LONG_RUN:
                give_way()
    if version >= 4:
        write_bool(writer, message.allow_auto_topic_creation)
    else:
        if not message.allow_auto_topic_creation:
            raise unsupported_field("MetadataRequest", "allow_auto_topic_creation", version)
    if version >= 11:
        if message.include_cluster_authorized_operations:
            raise unsupported_field("MetadataRequest", "include_cluster_authorized_operations", version)
    elif version >= 8:
        write_bool(writer, message.include_cluster_authorized_operations)
    else:
        if message.include_cluster_authorized_operations:
            raise unsupported_field("MetadataRequest", "include_cluster_authorized_operations", version)
    if version >= 8:
        write_bool(writer, message.include_topic_authorized_operations)
    else:
        if message.include_topic_authorized_operations:
            raise unsupported_field("MetadataRequest", "include_topic_authorized_operations", version)
    if version >= 9:
        writer.append(0)


class MetadataResponse(Message):
    """API key 3, versions 0 to 13."""

    __slots__ = ("throttle_time_ms", "brokers", "cluster_id", "controller_id", "topics", "cluster_authorized_operations", "error_code")
    FIELDS: ClassVar[tuple[str, ...]] = ("throttle_time_ms", "brokers", "cluster_id", "controller_id", "topics", "cluster_authorized_operations", "error_code")
    API_KEY: ClassVar[int] = 3
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 13
    FIRST_FLEXIBLE: ClassVar[int] = 9

    def __init__(self, throttle_time_ms: int = 0, brokers: list[MetadataResponseBroker] = NO_ITEMS, cluster_id: str | None = None, controller_id: int = -1, topics: list[MetadataResponseTopic] = NO_ITEMS, cluster_authorized_operations: int = -2147483648, error_code: int = 0) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.brokers = [] if brokers is NO_ITEMS else brokers
        self.cluster_id = cluster_id
        self.controller_id = controller_id
        self.topics = [] if topics is NO_ITEMS else topics
        self.cluster_authorized_operations = cluster_authorized_operations
        self.error_code = error_code

    @classmethod
    def decode(cls, data: bytes, position: int, version: int) -> tuple[MetadataResponse, int]:
        if version < 0 or version > 13:
            raise unknown_version("MetadataResponse", version, 0, 13)
        try:
            message, end = _read_metadata_response(data, position, version)
        except (IndexError, ValueError) as error:
            raise malformed("MetadataResponse", version, error) from None
        return message, end

    def encode(self, version: int) -> bytes:
        if version < 0 or version > 13:
            raise unsupported_version("MetadataResponse", version, 0, 13)
        writer = BytesWriter()
        _write_metadata_response(writer, self, version)
        return writer.getvalue()

    def encode_parts(self, writer_prefix: bytes, version: int) -> list[Part]:
        if version < 0 or version > 13:
            raise unsupported_version("MetadataResponse", version, 0, 13)
        writer = BytesWriter()
        writer.write(writer_prefix)
        _write_metadata_response(writer, self, version)
        return [writer.getvalue()]


def _read_metadata_response(data: bytes, position: i64, version: i64) -> tuple[MetadataResponse, i64]:
    throttle_time_ms: int
    brokers: list[MetadataResponseBroker]
    cluster_id: str | None
    controller_id: int
    topics: list[MetadataResponseTopic]
    cluster_authorized_operations: int
    error_code: int
    if version >= 3:
        throttle_time_ms = read_i32_be(data, position)
        position += 4
    else:
        throttle_time_ms = 0
    if version >= 9:
        count, position = read_compact_count(data, position, 11)
        brokers = []
        for nth in range(count):
            brokers_item, position = _read_metadata_response_broker(data, position, version)
            brokers.append(brokers_item)
            if nth & LONG_RUN == LONG_RUN:
                give_way()
    else:
        count, position = read_count(data, position, 10)
        brokers = []
        for nth in range(count):
            brokers_item, position = _read_metadata_response_broker(data, position, version)
            brokers.append(brokers_item)
            if nth & LONG_RUN == LONG_RUN:
                give_way()
    if version >= 9:
        cluster_id, position = read_compact_nullable_string(data, position)
    elif version >= 2:
        cluster_id, position = read_nullable_string(data, position)
    else:
        cluster_id = None
    if version >= 1:
        controller_id = read_i32_be(data, position)
        position += 4
    else:
        controller_id = -1
    if version >= 9:
        count, position = read_compact_count(data, position, 10)
        topics = []
        for nth in range(count):
            topics_item, position = _read_metadata_response_topic(data, position, version)
            topics.append(topics_item)
            if nth & LONG_RUN == LONG_RUN:
                give_way()
    else:
        count, position = read_count(data, position, 8)
        topics = []
        for nth in range(count):
            topics_item, position = _read_metadata_response_topic(data, position, version)
            topics.append(topics_item)
            if nth & LONG_RUN == LONG_RUN:
                give_way()
    if version >= 11:
        cluster_authorized_operations = -2147483648
    elif version >= 8:
        cluster_authorized_operations = read_i32_be(data, position)
        position += 4
    else:
        cluster_authorized_operations = -2147483648
    if version >= 13:
        error_code = read_i16_be(data, position)
        position += 2
    else:
        error_code = 0
    if version >= 9:
        position = skip_tags(data, position) if data[position] else position + 1
    return MetadataResponse(throttle_time_ms, brokers, cluster_id, controller_id, topics, cluster_authorized_operations, error_code), position


def _write_metadata_response(writer: BytesWriter, message: MetadataResponse, version: i64) -> None:
    if version >= 3:
        write_i32_be(writer, message.throttle_time_ms)
    if version >= 9:
        brokers = message.brokers
        write_uvarint(writer, len(brokers) + 1)
        for nth, brokers_item in enumerate(brokers):
            _write_metadata_response_broker(writer, brokers_item, version)
            if nth & LONG_RUN == LONG_RUN:
                give_way()
    else:
        brokers = message.brokers
        write_i32_be(writer, len(brokers))
        for nth, brokers_item in enumerate(brokers):
            _write_metadata_response_broker(writer, brokers_item, version)
            if nth & LONG_RUN == LONG_RUN:
                give_way()
    if version >= 9:
        write_compact_nullable_string(writer, message.cluster_id)
    elif version >= 2:
        write_nullable_string(writer, message.cluster_id)
    if version >= 1:
        write_i32_be(writer, message.controller_id)
    if version >= 9:
        topics = message.topics
        write_uvarint(writer, len(topics) + 1)
        for nth, topics_item in enumerate(topics):
            _write_metadata_response_topic(writer, topics_item, version)
            if nth & LONG_RUN == LONG_RUN:
                give_way()
    else:
        topics = message.topics
        write_i32_be(writer, len(topics))
        for nth, topics_item in enumerate(topics):
            _write_metadata_response_topic(writer, topics_item, version)
            if nth & LONG_RUN == LONG_RUN:
                give_way()
    if version >= 11:
        if message.cluster_authorized_operations != -2147483648:
            raise unsupported_field("MetadataResponse", "cluster_authorized_operations", version)
    elif version >= 8:
        write_i32_be(writer, message.cluster_authorized_operations)
    else:
        if message.cluster_authorized_operations != -2147483648:
            raise unsupported_field("MetadataResponse", "cluster_authorized_operations", version)
    if version >= 13:
        write_i16_be(writer, message.error_code)
    if version >= 9:
        writer.append(0)
