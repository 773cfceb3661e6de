"""StreamsGroupDescribe (API key 89). Generated from schema/streams_group_describe.txt: do not edit."""

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


class Subtopology(Struct):
    __slots__ = ("subtopology_id", "source_topics", "repartition_sink_topics", "state_changelog_topics", "repartition_source_topics")
    FIELDS: ClassVar[tuple[str, ...]] = ("subtopology_id", "source_topics", "repartition_sink_topics", "state_changelog_topics", "repartition_source_topics")

    def __init__(self, subtopology_id: str = "", source_topics: list[str] = NO_ITEMS, repartition_sink_topics: list[str] = NO_ITEMS, state_changelog_topics: list[TopicInfo] = NO_ITEMS, repartition_source_topics: list[TopicInfo] = NO_ITEMS) -> None:
        self.subtopology_id = subtopology_id
        self.source_topics = [] if source_topics is NO_ITEMS else source_topics
        self.repartition_sink_topics = [] if repartition_sink_topics is NO_ITEMS else repartition_sink_topics
        self.state_changelog_topics = [] if state_changelog_topics is NO_ITEMS else state_changelog_topics
        self.repartition_source_topics = [] if repartition_source_topics is NO_ITEMS else repartition_source_topics


def _read_subtopology(data: bytes, position: i64, version: i64) -> tuple[Subtopology, i64]:
    source_topics: list[str]
    repartition_sink_topics: list[str]
    state_changelog_topics: list[TopicInfo]
    repartition_source_topics: list[TopicInfo]
    subtopology_id, position = read_compact_string(data, position)
    count, position = read_compact_count(data, position, 1)
    source_topics, position = read_compact_string_list(data, position, count)
    count, position = read_compact_count(data, position, 1)
    repartition_sink_topics, position = read_compact_string_list(data, position, count)
    count, position = read_compact_count(data, position, 9)
    state_changelog_topics = []
    for nth in range(count):
        state_changelog_topics_item, position = _read_topic_info(data, position, version)
        state_changelog_topics.append(state_changelog_topics_item)
        if nth & LONG_RUN == LONG_RUN:
            give_way()
    count, position = read_compact_count(data, position, 9)
    repartition_source_topics = []
    for nth in range(count):
        repartition_source_topics_item, position = _read_topic_info(data, position, version)
        repartition_source_topics.append(repartition_source_topics_item)
        if nth & LONG_RUN == LONG_RUN:
            give_way()
    position = skip_tags(data, position) if data[position] else position + 1
    return Subtopology(subtopology_id, source_topics, repartition_sink_topics, state_changelog_topics, repartition_source_topics), position


def _write_subtopology(writer: BytesWriter, message: Subtopology, version: i64) -> None:
    write_compact_string(writer, message.subtopology_id)
    source_topics = message.source_topics
    write_uvarint(writer, len(source_topics) + 1)
    write_compact_string_list(writer, source_topics)
    repartition_sink_topics = message.repartition_sink_topics
    write_uvarint(writer, len(repartition_sink_topics) + 1)
    write_compact_string_list(writer, repartition_sink_topics)
    state_changelog_topics = message.state_changelog_topics
    write_uvarint(writer, len(state_changelog_topics) + 1)
    for nth, state_changelog_topics_item in enumerate(state_changelog_topics):
        _write_topic_info(writer, state_changelog_topics_item, version)
        if nth & LONG_RUN == LONG_RUN:
            give_way()
    repartition_source_topics = message.repartition_source_topics
    write_uvarint(writer, len(repartition_source_topics) + 1)
    for nth, repartition_source_topics_item in enumerate(repartition_source_topics):
        _write_topic_info(writer, repartition_source_topics_item, version)
        if nth & LONG_RUN == LONG_RUN:
            give_way()
    writer.append(0)


class Topology(Struct):
    __slots__ = ("epoch", "subtopologies")
    FIELDS: ClassVar[tuple[str, ...]] = ("epoch", "subtopologies")

    def __init__(self, epoch: int = 0, subtopologies: list[Subtopology] | None = None) -> None:
        self.epoch = epoch
        self.subtopologies = subtopologies


def _read_topology(data: bytes, position: i64, version: i64) -> tuple[Topology, i64]:
    subtopologies: list[Subtopology] | None
    epoch = read_i32_be(data, position)
    position += 4
    count, position = read_compact_nullable_count(data, position, 6)
    if count < 0:
        subtopologies = None
    else:
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
    if subtopologies is None:
        writer.append(0)
    else:
        write_uvarint(writer, len(subtopologies) + 1)
        for nth, subtopologies_item in enumerate(subtopologies):
            _write_subtopology(writer, subtopologies_item, version)
            if nth & LONG_RUN == LONG_RUN:
                give_way()
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


class Assignment(Struct):
    __slots__ = ("active_tasks", "standby_tasks", "warmup_tasks")
    FIELDS: ClassVar[tuple[str, ...]] = ("active_tasks", "standby_tasks", "warmup_tasks")

    def __init__(self, active_tasks: list[TaskIds] = NO_ITEMS, standby_tasks: list[TaskIds] = NO_ITEMS, warmup_tasks: list[TaskIds] = NO_ITEMS) -> None:
        self.active_tasks = [] if active_tasks is NO_ITEMS else active_tasks
        self.standby_tasks = [] if standby_tasks is NO_ITEMS else standby_tasks
        self.warmup_tasks = [] if warmup_tasks is NO_ITEMS else warmup_tasks


def _read_assignment(data: bytes, position: i64, version: i64) -> tuple[Assignment, i64]:
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
    return Assignment(active_tasks, standby_tasks, warmup_tasks), position


def _write_assignment(writer: BytesWriter, message: Assignment, version: i64) -> None:
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


class Member(Struct):
    __slots__ = ("member_id", "member_epoch", "instance_id", "rack_id", "client_id", "client_host", "topology_epoch", "process_id", "user_endpoint", "client_tags", "task_offsets", "task_end_offsets", "assignment", "target_assignment", "is_classic")
    FIELDS: ClassVar[tuple[str, ...]] = ("member_id", "member_epoch", "instance_id", "rack_id", "client_id", "client_host", "topology_epoch", "process_id", "user_endpoint", "client_tags", "task_offsets", "task_end_offsets", "assignment", "target_assignment", "is_classic")

    def __init__(self, member_id: str = "", member_epoch: int = 0, instance_id: str | None = None, rack_id: str | None = None, client_id: str = "", client_host: str = "", topology_epoch: int = 0, process_id: str = "", user_endpoint: Endpoint | None = None, client_tags: list[KeyValue] = NO_ITEMS, task_offsets: list[TaskOffset] = NO_ITEMS, task_end_offsets: list[TaskOffset] = NO_ITEMS, assignment: Assignment | None = None, target_assignment: Assignment | None = None, is_classic: bool = False) -> None:
        self.member_id = member_id
        self.member_epoch = member_epoch
        self.instance_id = instance_id
        self.rack_id = rack_id
        self.client_id = client_id
        self.client_host = client_host
        self.topology_epoch = topology_epoch
        self.process_id = process_id
        self.user_endpoint = user_endpoint
        self.client_tags = [] if client_tags is NO_ITEMS else client_tags
        self.task_offsets = [] if task_offsets is NO_ITEMS else task_offsets
        self.task_end_offsets = [] if task_end_offsets is NO_ITEMS else task_end_offsets
        self.assignment = Assignment() if assignment is None else assignment
        self.target_assignment = Assignment() if target_assignment is None else target_assignment
        self.is_classic = is_classic


def _read_member(data: bytes, position: i64, version: i64) -> tuple[Member, i64]:
    instance_id: str | None
    rack_id: str | None
    user_endpoint: Endpoint | None
    client_tags: list[KeyValue]
    task_offsets: list[TaskOffset]
    task_end_offsets: list[TaskOffset]
    member_id, position = read_compact_string(data, position)
    member_epoch = read_i32_be(data, position)
    position += 4
    instance_id, position = read_compact_nullable_string(data, position)
    rack_id, position = read_compact_nullable_string(data, position)
    client_id, position = read_compact_string(data, position)
    client_host, position = read_compact_string(data, position)
    topology_epoch = read_i32_be(data, position)
    position += 4
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
    count, position = read_compact_count(data, position, 14)
    task_offsets = []
    for nth in range(count):
        task_offsets_item, position = _read_task_offset(data, position, version)
        task_offsets.append(task_offsets_item)
        if nth & LONG_RUN == LONG_RUN:
            give_way()
    count, position = read_compact_count(data, position, 14)
    task_end_offsets = []
    for nth in range(count):
        task_end_offsets_item, position = _read_task_offset(data, position, version)
        task_end_offsets.append(task_end_offsets_item)
        if nth & LONG_RUN == LONG_RUN:
            give_way()
    assignment, position = _read_assignment(data, position, version)
    target_assignment, position = _read_assignment(data, position, version)
    is_classic = data[position] != 0
    position += 1
    position = skip_tags(data, position) if data[position] else position + 1
    return Member(member_id, member_epoch, instance_id, rack_id, client_id, client_host, topology_epoch, process_id, user_endpoint, client_tags, task_offsets, task_end_offsets, assignment, target_assignment, is_classic), position


def _write_member(writer: BytesWriter, message: Member, version: i64) -> None:
    write_compact_string(writer, message.member_id)
    write_i32_be(writer, message.member_epoch)
    write_compact_nullable_string(writer, message.instance_id)
    write_compact_nullable_string(writer, message.rack_id)
    write_compact_string(writer, message.client_id)
    write_compact_string(writer, message.client_host)
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
    task_offsets = message.task_offsets
    write_uvarint(writer, len(task_offsets) + 1)
    for nth, task_offsets_item in enumerate(task_offsets):
        _write_task_offset(writer, task_offsets_item, version)
        if nth & LONG_RUN == LONG_RUN:
            give_way()
    task_end_offsets = message.task_end_offsets
    write_uvarint(writer, len(task_end_offsets) + 1)
    for nth, task_end_offsets_item in enumerate(task_end_offsets):
        _write_task_offset(writer, task_end_offsets_item, version)
        if nth & LONG_RUN == LONG_RUN:
            give_way()
    _write_assignment(writer, message.assignment, version)
    _write_assignment(writer, message.target_assignment, version)
    write_bool(writer, message.is_classic)
    writer.append(0)


class DescribedGroup(Struct):
    __slots__ = ("error_code", "error_message", "group_id", "group_state", "group_epoch", "assignment_epoch", "topology", "members", "authorized_operations")
    FIELDS: ClassVar[tuple[str, ...]] = ("error_code", "error_message", "group_id", "group_state", "group_epoch", "assignment_epoch", "topology", "members", "authorized_operations")

    def __init__(self, error_code: int = 0, error_message: str | None = None, group_id: str = "", group_state: str = "", group_epoch: int = 0, assignment_epoch: int = 0, topology: Topology | None = None, members: list[Member] = NO_ITEMS, authorized_operations: int = -2147483648) -> None:
        self.error_code = error_code
        self.error_message = error_message
        self.group_id = group_id
        self.group_state = group_state
        self.group_epoch = group_epoch
        self.assignment_epoch = assignment_epoch
        self.topology = topology
        self.members = [] if members is NO_ITEMS else members
        self.authorized_operations = authorized_operations


def _read_described_group(data: bytes, position: i64, version: i64) -> tuple[DescribedGroup, i64]:
    error_message: str | None
    topology: Topology | None
    members: list[Member]
    error_code = read_i16_be(data, position)
    position += 2
    error_message, position = read_compact_nullable_string(data, position)
    group_id, position = read_compact_string(data, position)
    group_state, position = read_compact_string(data, position)
    group_epoch = read_i32_be(data, position)
    assignment_epoch = read_i32_be(data, position + 4)
    position += 8
    if read_i8(data, position) < 0:
        topology = None
        position += 1
    else:
        position += 1
        topology, position = _read_topology(data, position, version)
    count, position = read_compact_count(data, position, 28)
    members = []
    for nth in range(count):
        members_item, position = _read_member(data, position, version)
        members.append(members_item)
        if nth & LONG_RUN == LONG_RUN:
            give_way()
    authorized_operations = read_i32_be(data, position)
    position += 4
    position = skip_tags(data, position) if data[position] else position + 1
    return DescribedGroup(error_code, error_message, group_id, group_state, group_epoch, assignment_epoch, topology, members, authorized_operations), position


def _write_described_group(writer: BytesWriter, message: DescribedGroup, version: i64) -> None:
    write_i16_be(writer, message.error_code)
    write_compact_nullable_string(writer, message.error_message)
    write_compact_string(writer, message.group_id)
    write_compact_string(writer, message.group_state)
    write_i32_be(writer, message.group_epoch)
    write_i32_be(writer, message.assignment_epoch)
    topology = message.topology
    if topology is None:
        write_i8(writer, -1)
    else:
        writer.append(1)
        _write_topology(writer, topology, version)
    members = message.members
    write_uvarint(writer, len(members) + 1)
    for nth, members_item in enumerate(members):
        _write_member(writer, members_item, version)
        if nth & LONG_RUN == LONG_RUN:
            give_way()
    write_i32_be(writer, message.authorized_operations)
    writer.append(0)


class StreamsGroupDescribeRequest(Message):
    """API key 89, version 0."""

    __slots__ = ("group_ids", "include_authorized_operations")
    FIELDS: ClassVar[tuple[str, ...]] = ("group_ids", "include_authorized_operations")
    API_KEY: ClassVar[int] = 89
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FIRST_FLEXIBLE: ClassVar[int] = 0

    def __init__(self, group_ids: list[str] = NO_ITEMS, include_authorized_operations: bool = False) -> None:
        self.group_ids = [] if group_ids is NO_ITEMS else group_ids
        self.include_authorized_operations = include_authorized_operations

    @classmethod
    def decode(cls, data: bytes, position: int, version: int) -> tuple[StreamsGroupDescribeRequest, int]:
        if version < 0 or version > 0:
            raise unknown_version("StreamsGroupDescribeRequest", version, 0, 0)
        try:
            message, end = _read_streams_group_describe_request(data, position, version)
        except (IndexError, ValueError) as error:
            raise malformed("StreamsGroupDescribeRequest", version, error) from None
        return message, end

    def encode(self, version: int) -> bytes:
        if version < 0 or version > 0:
            raise unsupported_version("StreamsGroupDescribeRequest", version, 0, 0)
        writer = BytesWriter()
        _write_streams_group_describe_request(writer, self, version)
        return writer.getvalue()

    def encode_parts(self, writer_prefix: bytes, version: int) -> list[Part]:
        if version < 0 or version > 0:
            raise unsupported_version("StreamsGroupDescribeRequest", version, 0, 0)
        writer = BytesWriter()
        writer.write(writer_prefix)
        _write_streams_group_describe_request(writer, self, version)
        return [writer.getvalue()]


def _read_streams_group_describe_request(data: bytes, position: i64, version: i64) -> tuple[StreamsGroupDescribeRequest, i64]:
    group_ids: list[str]
    count, position = read_compact_count(data, position, 1)
    group_ids, position = read_compact_string_list(data, position, count)
    include_authorized_operations = data[position] != 0
    position += 1
    position = skip_tags(data, position) if data[position] else position + 1
    return StreamsGroupDescribeRequest(group_ids, include_authorized_operations), position


def _write_streams_group_describe_request(writer: BytesWriter, message: StreamsGroupDescribeRequest, version: i64) -> None:
    group_ids = message.group_ids
    write_uvarint(writer, len(group_ids) + 1)
    write_compact_string_list(writer, group_ids)
    write_bool(writer, message.include_authorized_operations)
    writer.append(0)


class StreamsGroupDescribeResponse(Message):
    """API key 89, version 0."""

    __slots__ = ("throttle_time_ms", "groups")
    FIELDS: ClassVar[tuple[str, ...]] = ("throttle_time_ms", "groups")
    API_KEY: ClassVar[int] = 89
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FIRST_FLEXIBLE: ClassVar[int] = 0

    def __init__(self, throttle_time_ms: int = 0, groups: list[DescribedGroup] = NO_ITEMS) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.groups = [] if groups is NO_ITEMS else groups

    @classmethod
    def decode(cls, data: bytes, position: int, version: int) -> tuple[StreamsGroupDescribeResponse, int]:
        if version < 0 or version > 0:
            raise unknown_version("StreamsGroupDescribeResponse", version, 0, 0)
        try:
            message, end = _read_streams_group_describe_response(data, position, version)
        except (IndexError, ValueError) as error:
            raise malformed("StreamsGroupDescribeResponse", version, error) from None
        return message, end

    def encode(self, version: int) -> bytes:
        if version < 0 or version > 0:
            raise unsupported_version("StreamsGroupDescribeResponse", version, 0, 0)
        writer = BytesWriter()
        _write_streams_group_describe_response(writer, self, version)
        return writer.getvalue()

    def encode_parts(self, writer_prefix: bytes, version: int) -> list[Part]:
        if version < 0 or version > 0:
            raise unsupported_version("StreamsGroupDescribeResponse", version, 0, 0)
        writer = BytesWriter()
        writer.write(writer_prefix)
        _write_streams_group_describe_response(writer, self, version)
        return [writer.getvalue()]


def _read_streams_group_describe_response(data: bytes, position: i64, version: i64) -> tuple[StreamsGroupDescribeResponse, i64]:
    groups: list[DescribedGroup]
    throttle_time_ms = read_i32_be(data, position)
    position += 4
    count, position = read_compact_count(data, position, 20)
    groups = []
    for nth in range(count):
        groups_item, position = _read_described_group(data, position, version)
        groups.append(groups_item)
        if nth & LONG_RUN == LONG_RUN:
            give_way()
    position = skip_tags(data, position) if data[position] else position + 1
    return StreamsGroupDescribeResponse(throttle_time_ms, groups), position


def _write_streams_group_describe_response(writer: BytesWriter, message: StreamsGroupDescribeResponse, version: i64) -> None:
    write_i32_be(writer, message.throttle_time_ms)
    groups = message.groups
    write_uvarint(writer, len(groups) + 1)
    for nth, groups_item in enumerate(groups):
        _write_described_group(writer, groups_item, version)
        if nth & LONG_RUN == LONG_RUN:
            give_way()
    writer.append(0)
