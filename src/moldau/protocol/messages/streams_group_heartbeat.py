"""StreamsGroupHeartbeat (API key 88). Generated from schema/streams_group_heartbeat.txt: do not edit."""

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
    read_compact_string_list,
    read_i8,
    read_i16_list,
    read_i32_list,
    read_u16,
    skip_tags,
    unknown_version,
)
from moldau.protocol.writing import (
    unsupported_version,
    write_bool,
    write_compact_nullable_string,
    write_compact_string,
    write_compact_string_list,
    write_i8,
    write_i16_list,
    write_i32_list,
    write_u16,
    write_uvarint,
)


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


class TopicInfo(Struct):
    __slots__ = ("name", "partitions", "replication_factor", "topic_configs")
    FIELDS: ClassVar[tuple[str, ...]] = ("name", "partitions", "replication_factor", "topic_configs")

    def __init__(self, name: str = "", partitions: int = 0, replication_factor: int = 0, topic_configs: list[KeyValue] = NO_ITEMS) -> None:
        self.name = name
        self.partitions = partitions
        self.replication_factor = replication_factor
        self.topic_configs = [] if topic_configs is NO_ITEMS else topic_configs


def _read_topic_info(data: bytes, position: i64, version: i64) -> tuple[TopicInfo, i64]:
    topic_configs: list[KeyValue]
    name, position = read_compact_string(data, position)
    partitions = read_i32_be(data, position)
    replication_factor = read_i16_be(data, position + 4)
    position += 6
    count, position = read_compact_count(data, position, 3)
    topic_configs = []
    for nth in range(count):
        topic_configs_item, position = _read_key_value(data, position, version)
        topic_configs.append(topic_configs_item)
        if nth & LONG_RUN == LONG_RUN:
            give_way()
    position = skip_tags(data, position) if data[position] else position + 1
    return TopicInfo(name, partitions, replication_factor, topic_configs), position


def _write_topic_info(writer: BytesWriter, message: TopicInfo, version: i64) -> None:
    write_compact_string(writer, message.name)
    write_i32_be(writer, message.partitions)
    write_i16_be(writer, message.replication_factor)
    topic_configs = message.topic_configs
    write_uvarint(writer, len(topic_configs) + 1)
    for nth, topic_configs_item in enumerate(topic_configs):
        _write_key_value(writer, topic_configs_item, version)
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

    def __init__(self, subtopology_id: str = "", source_topics: list[str] = NO_ITEMS, source_topic_regex: list[str] = NO_ITEMS, state_changelog_topics: list[TopicInfo] = NO_ITEMS, repartition_sink_topics: list[str] = NO_ITEMS, repartition_source_topics: list[TopicInfo] = NO_ITEMS, copartition_groups: list[CopartitionGroup] = NO_ITEMS) -> None:
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
    state_changelog_topics: list[TopicInfo]
    repartition_sink_topics: list[str]
    repartition_source_topics: list[TopicInfo]
    copartition_groups: list[CopartitionGroup]
    subtopology_id, position = read_compact_string(data, position)
    count, position = read_compact_count(data, position, 1)
    source_topics, position = read_compact_string_list(data, position, count)
    count, position = read_compact_count(data, position, 1)
    source_topic_regex, position = read_compact_string_list(data, position, count)
    count, position = read_compact_count(data, position, 9)
    state_changelog_topics = []
    for nth in range(count):
        state_changelog_topics_item, position = _read_topic_info(data, position, version)
        state_changelog_topics.append(state_changelog_topics_item)
        if nth & LONG_RUN == LONG_RUN:
            give_way()
    count, position = read_compact_count(data, position, 1)
    repartition_sink_topics, position = read_compact_string_list(data, position, count)
    count, position = read_compact_count(data, position, 9)
    repartition_source_topics = []
    for nth in range(count):
        repartition_source_topics_item, position = _read_topic_info(data, position, version)
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
        _write_topic_info(writer, state_changelog_topics_item, version)
        if nth & LONG_RUN == LONG_RUN:
            give_way()
    repartition_sink_topics = message.repartition_sink_topics
    write_uvarint(writer, len(repartition_sink_topics) + 1)
    write_compact_string_list(writer, repartition_sink_topics)
    repartition_source_topics = message.repartition_source_topics
    write_uvarint(writer, len(repartition_source_topics) + 1)
    for nth, repartition_source_topics_item in enumerate(repartition_source_topics):
        _write_topic_info(writer, repartition_source_topics_item, version)
        if nth & LONG_RUN == LONG_RUN:
            give_way()
    copartition_groups = message.copartition_groups
    write_uvarint(writer, len(copartition_groups) + 1)
    for nth, copartition_groups_item in enumerate(copartition_groups):
        _write_copartition_group(writer, copartition_groups_item, version)
        if nth & LONG_RUN == LONG_RUN:
            give_way()
    writer.append(0)


class Topology(Struct):
    __slots__ = ("epoch", "subtopologies")
    FIELDS: ClassVar[tuple[str, ...]] = ("epoch", "subtopologies")

    def __init__(self, epoch: int = 0, subtopologies: list[Subtopology] = NO_ITEMS) -> None:
        self.epoch = epoch
        self.subtopologies = [] if subtopologies is NO_ITEMS else subtopologies


def _read_topology(data: bytes, position: i64, version: i64) -> tuple[Topology, i64]:
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
    return Topology(epoch, subtopologies), position


def _write_topology(writer: BytesWriter, message: Topology, version: i64) -> None:
    write_i32_be(writer, message.epoch)
    subtopologies = message.subtopologies
    write_uvarint(writer, len(subtopologies) + 1)
    for nth, subtopologies_item in enumerate(subtopologies):
        _write_subtopology(writer, subtopologies_item, version)
        if nth & LONG_RUN == LONG_RUN:
            give_way()
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


class TaskOffset(Struct):
    __slots__ = ("subtopology_id", "partition", "offset")
    FIELDS: ClassVar[tuple[str, ...]] = ("subtopology_id", "partition", "offset")

    def __init__(self, subtopology_id: str = "", partition: int = 0, offset: int = 0) -> None:
        self.subtopology_id = subtopology_id
        self.partition = partition
        self.offset = offset


def _read_task_offset(data: bytes, position: i64, version: i64) -> tuple[TaskOffset, i64]:
    subtopology_id, position = read_compact_string(data, position)
    partition = read_i32_be(data, position)
    offset = read_i64_be(data, position + 4)
    position += 12
    position = skip_tags(data, position) if data[position] else position + 1
    return TaskOffset(subtopology_id, partition, offset), position


def _write_task_offset(writer: BytesWriter, message: TaskOffset, version: i64) -> None:
    write_compact_string(writer, message.subtopology_id)
    write_i32_be(writer, message.partition)
    write_i64_be(writer, message.offset)
    writer.append(0)


class Status(Struct):
    __slots__ = ("status_code", "status_detail")
    FIELDS: ClassVar[tuple[str, ...]] = ("status_code", "status_detail")

    def __init__(self, status_code: int = 0, status_detail: str = "") -> None:
        self.status_code = status_code
        self.status_detail = status_detail


def _read_status(data: bytes, position: i64, version: i64) -> tuple[Status, i64]:
    status_code = read_i8(data, position)
    position += 1
    status_detail, position = read_compact_string(data, position)
    position = skip_tags(data, position) if data[position] else position + 1
    return Status(status_code, status_detail), position


def _write_status(writer: BytesWriter, message: Status, version: i64) -> None:
    write_i8(writer, message.status_code)
    write_compact_string(writer, message.status_detail)
    writer.append(0)


class TopicPartition(Struct):
    __slots__ = ("topic", "partitions")
    FIELDS: ClassVar[tuple[str, ...]] = ("topic", "partitions")

    def __init__(self, topic: str = "", partitions: list[int] = NO_ITEMS) -> None:
        self.topic = topic
        self.partitions = [] if partitions is NO_ITEMS else partitions


def _read_topic_partition(data: bytes, position: i64, version: i64) -> tuple[TopicPartition, i64]:
    partitions: list[int]
    topic, position = read_compact_string(data, position)
    count, position = read_compact_count(data, position, 4)
    partitions = read_i32_list(data, position, count)
    position += 4 * count
    position = skip_tags(data, position) if data[position] else position + 1
    return TopicPartition(topic, partitions), position


def _write_topic_partition(writer: BytesWriter, message: TopicPartition, version: i64) -> None:
    write_compact_string(writer, message.topic)
    partitions = message.partitions
    write_uvarint(writer, len(partitions) + 1)
    write_i32_list(writer, partitions)
    writer.append(0)


class EndpointToPartitions(Struct):
    __slots__ = ("user_endpoint", "active_partitions", "standby_partitions")
    FIELDS: ClassVar[tuple[str, ...]] = ("user_endpoint", "active_partitions", "standby_partitions")

    def __init__(self, user_endpoint: Endpoint | None = None, active_partitions: list[TopicPartition] = NO_ITEMS, standby_partitions: list[TopicPartition] = NO_ITEMS) -> None:
        self.user_endpoint = Endpoint() if user_endpoint is None else user_endpoint
        self.active_partitions = [] if active_partitions is NO_ITEMS else active_partitions
        self.standby_partitions = [] if standby_partitions is NO_ITEMS else standby_partitions


def _read_endpoint_to_partitions(data: bytes, position: i64, version: i64) -> tuple[EndpointToPartitions, i64]:
    active_partitions: list[TopicPartition]
    standby_partitions: list[TopicPartition]
    user_endpoint, position = _read_endpoint(data, position, version)
    count, position = read_compact_count(data, position, 3)
    active_partitions = []
    for nth in range(count):
        active_partitions_item, position = _read_topic_partition(data, position, version)
        active_partitions.append(active_partitions_item)
        if nth & LONG_RUN == LONG_RUN:
            give_way()
    count, position = read_compact_count(data, position, 3)
    standby_partitions = []
    for nth in range(count):
        standby_partitions_item, position = _read_topic_partition(data, position, version)
        standby_partitions.append(standby_partitions_item)
        if nth & LONG_RUN == LONG_RUN:
            give_way()
    position = skip_tags(data, position) if data[position] else position + 1
    return EndpointToPartitions(user_endpoint, active_partitions, standby_partitions), position


def _write_endpoint_to_partitions(writer: BytesWriter, message: EndpointToPartitions, version: i64) -> None:
    _write_endpoint(writer, message.user_endpoint, version)
    active_partitions = message.active_partitions
    write_uvarint(writer, len(active_partitions) + 1)
    for nth, active_partitions_item in enumerate(active_partitions):
        _write_topic_partition(writer, active_partitions_item, version)
        if nth & LONG_RUN == LONG_RUN:
            give_way()
    standby_partitions = message.standby_partitions
    write_uvarint(writer, len(standby_partitions) + 1)
    for nth, standby_partitions_item in enumerate(standby_partitions):
        _write_topic_partition(writer, standby_partitions_item, version)
        if nth & LONG_RUN == LONG_RUN:
            give_way()
    writer.append(0)


class StreamsGroupHeartbeatRequest(Message):
    """API key 88, version 0."""

    __slots__ = ("group_id", "member_id", "member_epoch", "endpoint_information_epoch", "instance_id", "rack_id", "rebalance_timeout_ms", "topology", "active_tasks", "standby_tasks", "warmup_tasks", "process_id", "user_endpoint", "client_tags", "task_offsets", "task_end_offsets", "shutdown_application")
    FIELDS: ClassVar[tuple[str, ...]] = ("group_id", "member_id", "member_epoch", "endpoint_information_epoch", "instance_id", "rack_id", "rebalance_timeout_ms", "topology", "active_tasks", "standby_tasks", "warmup_tasks", "process_id", "user_endpoint", "client_tags", "task_offsets", "task_end_offsets", "shutdown_application")
    API_KEY: ClassVar[int] = 88
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FIRST_FLEXIBLE: ClassVar[int] = 0

    def __init__(self, group_id: str = "", member_id: str = "", member_epoch: int = 0, endpoint_information_epoch: int = 0, instance_id: str | None = None, rack_id: str | None = None, rebalance_timeout_ms: int = -1, topology: Topology | None = None, active_tasks: list[TaskIds] | None = None, standby_tasks: list[TaskIds] | None = None, warmup_tasks: list[TaskIds] | None = None, process_id: str | None = None, user_endpoint: Endpoint | None = None, client_tags: list[KeyValue] | None = None, task_offsets: list[TaskOffset] | None = None, task_end_offsets: list[TaskOffset] | None = None, shutdown_application: bool = False) -> None:
        self.group_id = group_id
        self.member_id = member_id
        self.member_epoch = member_epoch
        self.endpoint_information_epoch = endpoint_information_epoch
        self.instance_id = instance_id
        self.rack_id = rack_id
        self.rebalance_timeout_ms = rebalance_timeout_ms
        self.topology = topology
        self.active_tasks = active_tasks
        self.standby_tasks = standby_tasks
        self.warmup_tasks = warmup_tasks
        self.process_id = process_id
        self.user_endpoint = user_endpoint
        self.client_tags = client_tags
        self.task_offsets = task_offsets
        self.task_end_offsets = task_end_offsets
        self.shutdown_application = shutdown_application

    @classmethod
    def decode(cls, data: bytes, position: int, version: int) -> tuple[StreamsGroupHeartbeatRequest, int]:
        if version < 0 or version > 0:
            raise unknown_version("StreamsGroupHeartbeatRequest", version, 0, 0)
        try:
            message, end = _read_streams_group_heartbeat_request(data, position, version)
        except (IndexError, ValueError) as error:
            raise malformed("StreamsGroupHeartbeatRequest", version, error) from None
        return message, end

    def encode(self, version: int) -> bytes:
        if version < 0 or version > 0:
            raise unsupported_version("StreamsGroupHeartbeatRequest", version, 0, 0)
        writer = BytesWriter()
        _write_streams_group_heartbeat_request(writer, self, version)
        return writer.getvalue()

    def encode_parts(self, writer_prefix: bytes, version: int) -> list[Part]:
        if version < 0 or version > 0:
            raise unsupported_version("StreamsGroupHeartbeatRequest", version, 0, 0)
        writer = BytesWriter()
        writer.write(writer_prefix)
        _write_streams_group_heartbeat_request(writer, self, version)
        return [writer.getvalue()]


def _read_streams_group_heartbeat_request(data: bytes, position: i64, version: i64) -> tuple[StreamsGroupHeartbeatRequest, i64]:
    instance_id: str | None
    rack_id: str | None
    topology: Topology | None
    active_tasks: list[TaskIds] | None
    standby_tasks: list[TaskIds] | None
    warmup_tasks: list[TaskIds] | None
    process_id: str | None
    user_endpoint: Endpoint | None
    client_tags: list[KeyValue] | None
    task_offsets: list[TaskOffset] | None
    task_end_offsets: list[TaskOffset] | None
    group_id, position = read_compact_string(data, position)
    member_id, position = read_compact_string(data, position)
    member_epoch = read_i32_be(data, position)
    endpoint_information_epoch = read_i32_be(data, position + 4)
    position += 8
    instance_id, position = read_compact_nullable_string(data, position)
    rack_id, position = read_compact_nullable_string(data, position)
    rebalance_timeout_ms = read_i32_be(data, position)
    position += 4
    if read_i8(data, position) < 0:
        topology = None
        position += 1
    else:
        position += 1
        topology, position = _read_topology(data, position, version)
    count, position = read_compact_nullable_count(data, position, 3)
    if count < 0:
        active_tasks = None
    else:
        active_tasks = []
        for nth in range(count):
            active_tasks_item, position = _read_task_ids(data, position, version)
            active_tasks.append(active_tasks_item)
            if nth & LONG_RUN == LONG_RUN:
                give_way()
    count, position = read_compact_nullable_count(data, position, 3)
    if count < 0:
        standby_tasks = None
    else:
        standby_tasks = []
        for nth in range(count):
            standby_tasks_item, position = _read_task_ids(data, position, version)
            standby_tasks.append(standby_tasks_item)
            if nth & LONG_RUN == LONG_RUN:
                give_way()
    count, position = read_compact_nullable_count(data, position, 3)
    if count < 0:
        warmup_tasks = None
    else:
        warmup_tasks = []
        for nth in range(count):
            warmup_tasks_item, position = _read_task_ids(data, position, version)
            warmup_tasks.append(warmup_tasks_item)
            if nth & LONG_RUN == LONG_RUN:
                give_way()
    process_id, position = read_compact_nullable_string(data, position)
    if read_i8(data, position) < 0:
        user_endpoint = None
        position += 1
    else:
        position += 1
        user_endpoint, position = _read_endpoint(data, position, version)
    count, position = read_compact_nullable_count(data, position, 3)
    if count < 0:
        client_tags = None
    else:
        client_tags = []
        for nth in range(count):
            client_tags_item, position = _read_key_value(data, position, version)
            client_tags.append(client_tags_item)
            if nth & LONG_RUN == LONG_RUN:
                give_way()
    count, position = read_compact_nullable_count(data, position, 14)
    if count < 0:
        task_offsets = None
    else:
        task_offsets = []
        for nth in range(count):
            task_offsets_item, position = _read_task_offset(data, position, version)
            task_offsets.append(task_offsets_item)
            if nth & LONG_RUN == LONG_RUN:
                give_way()
    count, position = read_compact_nullable_count(data, position, 14)
    if count < 0:
        task_end_offsets = None
    else:
        task_end_offsets = []
        for nth in range(count):
            task_end_offsets_item, position = _read_task_offset(data, position, version)
            task_end_offsets.append(task_end_offsets_item)
            if nth & LONG_RUN == LONG_RUN:
                give_way()
    shutdown_application = data[position] != 0
    position += 1
    position = skip_tags(data, position) if data[position] else position + 1
    return StreamsGroupHeartbeatRequest(group_id, member_id, member_epoch, endpoint_information_epoch, instance_id, rack_id, rebalance_timeout_ms, topology, active_tasks, standby_tasks, warmup_tasks, process_id, user_endpoint, client_tags, task_offsets, task_end_offsets, shutdown_application), position


def _write_streams_group_heartbeat_request(writer: BytesWriter, message: StreamsGroupHeartbeatRequest, version: i64) -> None:
    write_compact_string(writer, message.group_id)
    write_compact_string(writer, message.member_id)
    write_i32_be(writer, message.member_epoch)
    write_i32_be(writer, message.endpoint_information_epoch)
    write_compact_nullable_string(writer, message.instance_id)
    write_compact_nullable_string(writer, message.rack_id)
    write_i32_be(writer, message.rebalance_timeout_ms)
    topology = message.topology
    if topology is None:
        write_i8(writer, -1)
    else:
        writer.append(1)
        _write_topology(writer, topology, version)
    active_tasks = message.active_tasks
    if active_tasks is None:
        writer.append(0)
    else:
        write_uvarint(writer, len(active_tasks) + 1)
        for nth, active_tasks_item in enumerate(active_tasks):
            _write_task_ids(writer, active_tasks_item, version)
            if nth & LONG_RUN == LONG_RUN:
                give_way()
    standby_tasks = message.standby_tasks
    if standby_tasks is None:
        writer.append(0)
    else:
        write_uvarint(writer, len(standby_tasks) + 1)
        for nth, standby_tasks_item in enumerate(standby_tasks):
            _write_task_ids(writer, standby_tasks_item, version)
            if nth & LONG_RUN == LONG_RUN:
                give_way()
    warmup_tasks = message.warmup_tasks
    if warmup_tasks is None:
        writer.append(0)
    else:
        write_uvarint(writer, len(warmup_tasks) + 1)
        for nth, warmup_tasks_item in enumerate(warmup_tasks):
            _write_task_ids(writer, warmup_tasks_item, version)
            if nth & LONG_RUN == LONG_RUN:
                give_way()
    write_compact_nullable_string(writer, message.process_id)
    user_endpoint = message.user_endpoint
    if user_endpoint is None:
        write_i8(writer, -1)
    else:
        writer.append(1)
        _write_endpoint(writer, user_endpoint, version)
    client_tags = message.client_tags
    if client_tags is None:
        writer.append(0)
    else:
        write_uvarint(writer, len(client_tags) + 1)
        for nth, client_tags_item in enumerate(client_tags):
            _write_key_value(writer, client_tags_item, version)
            if nth & LONG_RUN == LONG_RUN:
                give_way()
    task_offsets = message.task_offsets
    if task_offsets is None:
        writer.append(0)
    else:
        write_uvarint(writer, len(task_offsets) + 1)
        for nth, task_offsets_item in enumerate(task_offsets):
            _write_task_offset(writer, task_offsets_item, version)
            if nth & LONG_RUN == LONG_RUN:
                give_way()
    task_end_offsets = message.task_end_offsets
    if task_end_offsets is None:
        writer.append(0)
    else:
        write_uvarint(writer, len(task_end_offsets) + 1)
        for nth, task_end_offsets_item in enumerate(task_end_offsets):
            _write_task_offset(writer, task_end_offsets_item, version)
            if nth & LONG_RUN == LONG_RUN:
                give_way()
    write_bool(writer, message.shutdown_application)
    writer.append(0)


class StreamsGroupHeartbeatResponse(Message):
    """API key 88, version 0."""

    __slots__ = ("throttle_time_ms", "error_code", "error_message", "member_id", "member_epoch", "heartbeat_interval_ms", "acceptable_recovery_lag", "task_offset_interval_ms", "status", "active_tasks", "standby_tasks", "warmup_tasks", "endpoint_information_epoch", "partitions_by_user_endpoint")
    FIELDS: ClassVar[tuple[str, ...]] = ("throttle_time_ms", "error_code", "error_message", "member_id", "member_epoch", "heartbeat_interval_ms", "acceptable_recovery_lag", "task_offset_interval_ms", "status", "active_tasks", "standby_tasks", "warmup_tasks", "endpoint_information_epoch", "partitions_by_user_endpoint")
    API_KEY: ClassVar[int] = 88
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FIRST_FLEXIBLE: ClassVar[int] = 0

    def __init__(self, throttle_time_ms: int = 0, error_code: int = 0, error_message: str | None = None, member_id: str = "", member_epoch: int = 0, heartbeat_interval_ms: int = 0, acceptable_recovery_lag: int = 0, task_offset_interval_ms: int = 0, status: list[Status] | None = NO_ITEMS, active_tasks: list[TaskIds] | None = None, standby_tasks: list[TaskIds] | None = None, warmup_tasks: list[TaskIds] | None = None, endpoint_information_epoch: int = 0, partitions_by_user_endpoint: list[EndpointToPartitions] | None = None) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.error_message = error_message
        self.member_id = member_id
        self.member_epoch = member_epoch
        self.heartbeat_interval_ms = heartbeat_interval_ms
        self.acceptable_recovery_lag = acceptable_recovery_lag
        self.task_offset_interval_ms = task_offset_interval_ms
        self.status = [] if status is NO_ITEMS else status
        self.active_tasks = active_tasks
        self.standby_tasks = standby_tasks
        self.warmup_tasks = warmup_tasks
        self.endpoint_information_epoch = endpoint_information_epoch
        self.partitions_by_user_endpoint = partitions_by_user_endpoint

    @classmethod
    def decode(cls, data: bytes, position: int, version: int) -> tuple[StreamsGroupHeartbeatResponse, int]:
        if version < 0 or version > 0:
            raise unknown_version("StreamsGroupHeartbeatResponse", version, 0, 0)
        try:
            message, end = _read_streams_group_heartbeat_response(data, position, version)
        except (IndexError, ValueError) as error:
            raise malformed("StreamsGroupHeartbeatResponse", version, error) from None
        return message, end

    def encode(self, version: int) -> bytes:
        if version < 0 or version > 0:
            raise unsupported_version("StreamsGroupHeartbeatResponse", version, 0, 0)
        writer = BytesWriter()
        _write_streams_group_heartbeat_response(writer, self, version)
        return writer.getvalue()

    def encode_parts(self, writer_prefix: bytes, version: int) -> list[Part]:
        if version < 0 or version > 0:
            raise unsupported_version("StreamsGroupHeartbeatResponse", version, 0, 0)
        writer = BytesWriter()
        writer.write(writer_prefix)
        _write_streams_group_heartbeat_response(writer, self, version)
        return [writer.getvalue()]


def _read_streams_group_heartbeat_response(data: bytes, position: i64, version: i64) -> tuple[StreamsGroupHeartbeatResponse, i64]:
    error_message: str | None
    status: list[Status] | None
    active_tasks: list[TaskIds] | None
    standby_tasks: list[TaskIds] | None
    warmup_tasks: list[TaskIds] | None
    partitions_by_user_endpoint: list[EndpointToPartitions] | None
    throttle_time_ms = read_i32_be(data, position)
    error_code = read_i16_be(data, position + 4)
    position += 6
    error_message, position = read_compact_nullable_string(data, position)
    member_id, position = read_compact_string(data, position)
    member_epoch = read_i32_be(data, position)
    heartbeat_interval_ms = read_i32_be(data, position + 4)
    acceptable_recovery_lag = read_i32_be(data, position + 8)
    task_offset_interval_ms = read_i32_be(data, position + 12)
    position += 16
    count, position = read_compact_nullable_count(data, position, 3)
    if count < 0:
        status = None
    else:
        status = []
        for nth in range(count):
            status_item, position = _read_status(data, position, version)
            status.append(status_item)
            if nth & LONG_RUN == LONG_RUN:
                give_way()
    count, position = read_compact_nullable_count(data, position, 3)
    if count < 0:
        active_tasks = None
    else:
        active_tasks = []
        for nth in range(count):
            active_tasks_item, position = _read_task_ids(data, position, version)
            active_tasks.append(active_tasks_item)
            if nth & LONG_RUN == LONG_RUN:
                give_way()
    count, position = read_compact_nullable_count(data, position, 3)
    if count < 0:
        standby_tasks = None
    else:
        standby_tasks = []
        for nth in range(count):
            standby_tasks_item, position = _read_task_ids(data, position, version)
            standby_tasks.append(standby_tasks_item)
            if nth & LONG_RUN == LONG_RUN:
                give_way()
    count, position = read_compact_nullable_count(data, position, 3)
    if count < 0:
        warmup_tasks = None
    else:
        warmup_tasks = []
        for nth in range(count):
            warmup_tasks_item, position = _read_task_ids(data, position, version)
            warmup_tasks.append(warmup_tasks_item)
            if nth & LONG_RUN == LONG_RUN:
                give_way()
    endpoint_information_epoch = read_i32_be(data, position)
    position += 4
    count, position = read_compact_nullable_count(data, position, 7)
    if count < 0:
        partitions_by_user_endpoint = None
    else:
        partitions_by_user_endpoint = []
        for nth in range(count):
            partitions_by_user_endpoint_item, position = _read_endpoint_to_partitions(data, position, version)
            partitions_by_user_endpoint.append(partitions_by_user_endpoint_item)
            if nth & LONG_RUN == LONG_RUN:
                give_way()
    position = skip_tags(data, position) if data[position] else position + 1
    return StreamsGroupHeartbeatResponse(throttle_time_ms, error_code, error_message, member_id, member_epoch, heartbeat_interval_ms, acceptable_recovery_lag, task_offset_interval_ms, status, active_tasks, standby_tasks, warmup_tasks, endpoint_information_epoch, partitions_by_user_endpoint), position


def _write_streams_group_heartbeat_response(writer: BytesWriter, message: StreamsGroupHeartbeatResponse, version: i64) -> None:
    write_i32_be(writer, message.throttle_time_ms)
    write_i16_be(writer, message.error_code)
    write_compact_nullable_string(writer, message.error_message)
    write_compact_string(writer, message.member_id)
    write_i32_be(writer, message.member_epoch)
    write_i32_be(writer, message.heartbeat_interval_ms)
    write_i32_be(writer, message.acceptable_recovery_lag)
    write_i32_be(writer, message.task_offset_interval_ms)
    status = message.status
    if status is None:
        writer.append(0)
    else:
        write_uvarint(writer, len(status) + 1)
        for nth, status_item in enumerate(status):
            _write_status(writer, status_item, version)
            if nth & LONG_RUN == LONG_RUN:
                give_way()
    active_tasks = message.active_tasks
    if active_tasks is None:
        writer.append(0)
    else:
        write_uvarint(writer, len(active_tasks) + 1)
        for nth, active_tasks_item in enumerate(active_tasks):
            _write_task_ids(writer, active_tasks_item, version)
            if nth & LONG_RUN == LONG_RUN:
                give_way()
    standby_tasks = message.standby_tasks
    if standby_tasks is None:
        writer.append(0)
    else:
        write_uvarint(writer, len(standby_tasks) + 1)
        for nth, standby_tasks_item in enumerate(standby_tasks):
            _write_task_ids(writer, standby_tasks_item, version)
            if nth & LONG_RUN == LONG_RUN:
                give_way()
    warmup_tasks = message.warmup_tasks
    if warmup_tasks is None:
        writer.append(0)
    else:
        write_uvarint(writer, len(warmup_tasks) + 1)
        for nth, warmup_tasks_item in enumerate(warmup_tasks):
            _write_task_ids(writer, warmup_tasks_item, version)
            if nth & LONG_RUN == LONG_RUN:
                give_way()
    write_i32_be(writer, message.endpoint_information_epoch)
    partitions_by_user_endpoint = message.partitions_by_user_endpoint
    if partitions_by_user_endpoint is None:
        writer.append(0)
    else:
        write_uvarint(writer, len(partitions_by_user_endpoint) + 1)
        for nth, partitions_by_user_endpoint_item in enumerate(partitions_by_user_endpoint):
            _write_endpoint_to_partitions(writer, partitions_by_user_endpoint_item, version)
            if nth & LONG_RUN == LONG_RUN:
                give_way()
    writer.append(0)
