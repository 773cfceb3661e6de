"""CreateTopics (API key 19). Generated from schema/create_topics.txt: do not edit."""

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
    read_i8,
    read_i32_list,
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
    unsupported_version,
    write_bool,
    write_compact_nullable_string,
    write_compact_string,
    write_i8,
    write_i32_list,
    write_nullable_string,
    write_string,
    write_uuid,
    write_uvarint,
)


class CreatableReplicaAssignment(Struct):
    __slots__ = ("partition_index", "broker_ids")
    FIELDS: ClassVar[tuple[str, ...]] = ("partition_index", "broker_ids")

    def __init__(self, partition_index: int = 0, broker_ids: list[int] = NO_ITEMS) -> None:
        self.partition_index = partition_index
        self.broker_ids = [] if broker_ids is NO_ITEMS else broker_ids


def _read_creatable_replica_assignment(data: bytes, position: i64, version: i64) -> tuple[CreatableReplicaAssignment, i64]:
    broker_ids: list[int]
    partition_index = read_i32_be(data, position)
    position += 4
    if version >= 5:
        count, position = read_compact_count(data, position, 4)
        broker_ids = read_i32_list(data, position, count)
        position += 4 * count
    else:
        count, position = read_count(data, position, 4)
        broker_ids = read_i32_list(data, position, count)
        position += 4 * count
    if version >= 5:
        position = skip_tags(data, position) if data[position] else position + 1
    return CreatableReplicaAssignment(partition_index, broker_ids), position


def _write_creatable_replica_assignment(writer: BytesWriter, message: CreatableReplicaAssignment, version: i64) -> None:
    write_i32_be(writer, message.partition_index)
    if version >= 5:
        broker_ids = message.broker_ids
        write_uvarint(writer, len(broker_ids) + 1)
        write_i32_list(writer, broker_ids)
    else:
        broker_ids = message.broker_ids
        write_i32_be(writer, len(broker_ids))
        write_i32_list(writer, broker_ids)
    if version >= 5:
        writer.append(0)


class CreatableTopicConfig(Struct):
    __slots__ = ("name", "value")
    FIELDS: ClassVar[tuple[str, ...]] = ("name", "value")

    def __init__(self, name: str = "", value: str | None = "") -> None:
        self.name = name
        self.value = value


def _read_creatable_topic_config(data: bytes, position: i64, version: i64) -> tuple[CreatableTopicConfig, i64]:
    name: str
    value: str | None
    if version >= 5:
        name, position = read_compact_string(data, position)
        value, position = read_compact_nullable_string(data, position)
    else:
        name, position = read_string(data, position)
        value, position = read_nullable_string(data, position)
    if version >= 5:
        position = skip_tags(data, position) if data[position] else position + 1
    return CreatableTopicConfig(name, value), position


def _write_creatable_topic_config(writer: BytesWriter, message: CreatableTopicConfig, version: i64) -> None:
    if version >= 5:
        write_compact_string(writer, message.name)
        write_compact_nullable_string(writer, message.value)
    else:
        write_string(writer, message.name)
        write_nullable_string(writer, message.value)
    if version >= 5:
        writer.append(0)


class CreatableTopic(Struct):
    __slots__ = ("name", "num_partitions", "replication_factor", "assignments", "configs")
    FIELDS: ClassVar[tuple[str, ...]] = ("name", "num_partitions", "replication_factor", "assignments", "configs")

    def __init__(self, name: str = "", num_partitions: int = 0, replication_factor: int = 0, assignments: list[CreatableReplicaAssignment] = NO_ITEMS, configs: list[CreatableTopicConfig] = NO_ITEMS) -> None:
        self.name = name
        self.num_partitions = num_partitions
        self.replication_factor = replication_factor
        self.assignments = [] if assignments is NO_ITEMS else assignments
        self.configs = [] if configs is NO_ITEMS else configs


def _read_creatable_topic(data: bytes, position: i64, version: i64) -> tuple[CreatableTopic, i64]:
    name: str
    assignments: list[CreatableReplicaAssignment]
    configs: list[CreatableTopicConfig]
    if version >= 5:
        name, position = read_compact_string(data, position)
    else:
        name, position = read_string(data, position)
    num_partitions = read_i32_be(data, position)
    replication_factor = read_i16_be(data, position + 4)
    position += 6
    if version >= 5:
        count, position = read_compact_count(data, position, 6)
        assignments = []
        for nth in range(count):
            assignments_item, position = _read_creatable_replica_assignment(data, position, version)
            assignments.append(assignments_item)
            if nth & LONG_RUN == LONG_RUN:
                give_way()
        count, position = read_compact_count(data, position, 3)
        configs = []
        for nth in range(count):
            configs_item, position = _read_creatable_topic_config(data, position, version)
            configs.append(configs_item)
            if nth & LONG_RUN == LONG_RUN:
                give_way()
    else:
        count, position = read_count(data, position, 8)
        assignments = []
        for nth in range(count):
            assignments_item, position = _read_creatable_replica_assignment(data, position, version)
            assignments.append(assignments_item)
            if nth & LONG_RUN == LONG_RUN:
                give_way()
        count, position = read_count(data, position, 4)
        configs = []
        for nth in range(count):
            configs_item, position = _read_creatable_topic_config(data, position, version)
            configs.append(configs_item)
            if nth & LONG_RUN == LONG_RUN:
                give_way()
    if version >= 5:
        position = skip_tags(data, position) if data[position] else position + 1
    return CreatableTopic(name, num_partitions, replication_factor, assignments, configs), position


def _write_creatable_topic(writer: BytesWriter, message: CreatableTopic, version: i64) -> None:
    if version >= 5:
        write_compact_string(writer, message.name)
    else:
        write_string(writer, message.name)
    write_i32_be(writer, message.num_partitions)
    write_i16_be(writer, message.replication_factor)
    if version >= 5:
        assignments = message.assignments
        write_uvarint(writer, len(assignments) + 1)
        for nth, assignments_item in enumerate(assignments):
            _write_creatable_replica_assignment(writer, assignments_item, version)
            if nth & LONG_RUN == LONG_RUN:
                give_way()
        configs = message.configs
        write_uvarint(writer, len(configs) + 1)
        for nth, configs_item in enumerate(configs):
            _write_creatable_topic_config(writer, configs_item, version)
            if nth & LONG_RUN == LONG_RUN:
                give_way()
    else:
        assignments = message.assignments
        write_i32_be(writer, len(assignments))
        for nth, assignments_item in enumerate(assignments):
            _write_creatable_replica_assignment(writer, assignments_item, version)
            if nth & LONG_RUN == LONG_RUN:
                give_way()
        configs = message.configs
        write_i32_be(writer, len(configs))
        for nth, configs_item in enumerate(configs):
            _write_creatable_topic_config(writer, configs_item, version)
            if nth & LONG_RUN == LONG_RUN:
                give_way()
    if version >= 5:
        writer.append(0)


class CreatableTopicConfigs(Struct):
    __slots__ = ("name", "value", "read_only", "config_source", "is_sensitive")
    FIELDS: ClassVar[tuple[str, ...]] = ("name", "value", "read_only", "config_source", "is_sensitive")

    def __init__(self, name: str = "", value: str | None = "", read_only: bool = False, config_source: int = -1, is_sensitive: bool = False) -> None:
        self.name = name
        self.value = value
        self.read_only = read_only
        self.config_source = config_source
        self.is_sensitive = is_sensitive


def _read_creatable_topic_configs(data: bytes, position: i64, version: i64) -> tuple[CreatableTopicConfigs, i64]:
    value: str | None
    name, position = read_compact_string(data, position)
    value, position = read_compact_nullable_string(data, position)
    read_only = data[position] != 0
    config_source = read_i8(data, position + 1)
    is_sensitive = data[position + 2] != 0
    position += 3
    position = skip_tags(data, position) if data[position] else position + 1
    return CreatableTopicConfigs(name, value, read_only, config_source, is_sensitive), position


def _write_creatable_topic_configs(writer: BytesWriter, message: CreatableTopicConfigs, version: i64) -> None:
    write_compact_string(writer, message.name)
    write_compact_nullable_string(writer, message.value)
    write_bool(writer, message.read_only)
    write_i8(writer, message.config_source)
    write_bool(writer, message.is_sensitive)
    writer.append(0)


class CreatableTopicResult(Struct):
    __slots__ = ("name", "topic_id", "error_code", "error_message", "topic_config_error_code", "num_partitions", "replication_factor", "configs")
    FIELDS: ClassVar[tuple[str, ...]] = ("name", "topic_id", "error_code", "error_message", "topic_config_error_code", "num_partitions", "replication_factor", "configs")

    def __init__(self, name: str = "", topic_id: bytes = NO_UUID, error_code: int = 0, error_message: str | None = "", topic_config_error_code: int = 0, num_partitions: int = -1, replication_factor: int = -1, configs: list[CreatableTopicConfigs] | None = NO_ITEMS) -> None:
        self.name = name
        self.topic_id = topic_id
        self.error_code = error_code
        self.error_message = error_message
        self.topic_config_error_code = topic_config_error_code
        self.num_partitions = num_partitions
        self.replication_factor = replication_factor
        self.configs = [] if configs is NO_ITEMS else configs


def _read_creatable_topic_result(data: bytes, position: i64, version: i64) -> tuple[CreatableTopicResult, i64]:
    name: str
    topic_id: bytes
    error_message: str | None
    topic_config_error_code: int = 0
    num_partitions: int
    replication_factor: int
    configs: list[CreatableTopicConfigs] | None
    if version >= 5:
        name, position = read_compact_string(data, position)
    else:
        name, position = read_string(data, position)
    if version >= 7:
        topic_id = read_uuid(data, position)
        position += 16
    else:
        topic_id = NO_UUID
    error_code = read_i16_be(data, position)
    position += 2
    if version >= 5:
        error_message, position = read_compact_nullable_string(data, position)
        num_partitions = read_i32_be(data, position)
        replication_factor = read_i16_be(data, position + 4)
        position += 6
        count, position = read_compact_nullable_count(data, position, 6)
        if count < 0:
            configs = None
        else:
            configs = []
            for nth in range(count):
                configs_item, position = _read_creatable_topic_configs(data, position, version)
                configs.append(configs_item)
                if nth & LONG_RUN == LONG_RUN:
                    give_way()
    else:
        error_message, position = read_nullable_string(data, position)
        num_partitions = -1
        replication_factor = -1
        configs = []
    if version >= 5:
        if data[position]:
            tags, position = read_uvarint(data, position)
            for _ in range(tags):
                tag, position, end = read_tag(data, position)
                if tag == 0:
                    topic_config_error_code = read_i16_be(data, position)
                    position += 2
                else:
                    position = end
                if position != end:
                    raise wrong_tag_size(tag)
        else:
            position += 1
    return CreatableTopicResult(name, topic_id, error_code, error_message, topic_config_error_code, num_partitions, replication_factor, configs), position


def _write_creatable_topic_result(writer: BytesWriter, message: CreatableTopicResult, version: i64) -> None:
    if version >= 5:
        write_compact_string(writer, message.name)
    else:
        write_string(writer, message.name)
    if version >= 7:
        write_uuid(writer, message.topic_id)
    write_i16_be(writer, message.error_code)
    if version >= 5:
        write_compact_nullable_string(writer, message.error_message)
        write_i32_be(writer, message.num_partitions)
        write_i16_be(writer, message.replication_factor)
        configs = message.configs
        if configs is None:
            writer.append(0)
        else:
            write_uvarint(writer, len(configs) + 1)
            for nth, configs_item in enumerate(configs):
                _write_creatable_topic_configs(writer, configs_item, version)
                if nth & LONG_RUN == LONG_RUN:
                    give_way()
    else:
        write_nullable_string(writer, message.error_message)
    if version >= 5:
        if message.topic_config_error_code != 0:
            writer.append(1)
            writer.append(0)
            writer.append(2)
            write_i16_be(writer, message.topic_config_error_code)
        else:
            writer.append(0)


class CreateTopicsRequest(Message):
    """API key 19, versions 2 to 7."""

    __slots__ = ("topics", "timeout_ms", "validate_only")
    FIELDS: ClassVar[tuple[str, ...]] = ("topics", "timeout_ms", "validate_only")
    API_KEY: ClassVar[int] = 19
    MIN_VERSION: ClassVar[int] = 2
    MAX_VERSION: ClassVar[int] = 7
    FIRST_FLEXIBLE: ClassVar[int] = 5

    def __init__(self, topics: list[CreatableTopic] = NO_ITEMS, timeout_ms: int = 60000, validate_only: bool = False) -> None:
        self.topics = [] if topics is NO_ITEMS else topics
        self.timeout_ms = timeout_ms
        self.validate_only = validate_only

    @classmethod
    def decode(cls, data: bytes, position: int, version: int) -> tuple[CreateTopicsRequest, int]:
        if version < 2 or version > 7:
            raise unknown_version("CreateTopicsRequest", version, 2, 7)
        try:
            message, end = _read_create_topics_request(data, position, version)
        except (IndexError, ValueError) as error:
            raise malformed("CreateTopicsRequest", version, error) from None
        return message, end

    def encode(self, version: int) -> bytes:
        if version < 2 or version > 7:
            raise unsupported_version("CreateTopicsRequest", version, 2, 7)
        writer = BytesWriter()
        _write_create_topics_request(writer, self, version)
        return writer.getvalue()

    def encode_parts(self, writer_prefix: bytes, version: int) -> list[Part]:
        if version < 2 or version > 7:
            raise unsupported_version("CreateTopicsRequest", version, 2, 7)
        writer = BytesWriter()
        writer.write(writer_prefix)
        _write_create_topics_request(writer, self, version)
        return [writer.getvalue()]


def _read_create_topics_request(data: bytes, position: i64, version: i64) -> tuple[CreateTopicsRequest, i64]:
    topics: list[CreatableTopic]
    if version >= 5:
        count, position = read_compact_count(data, position, 10)
        topics = []
        for nth in range(count):
            topics_item, position = _read_creatable_topic(data, position, version)
            topics.append(topics_item)
            if nth & LONG_RUN == LONG_RUN:
                give_way()
    else:
        count, position = read_count(data, position, 16)
        topics = []
        for nth in range(count):
            topics_item, position = _read_creatable_topic(data, position, version)
            topics.append(topics_item)
            if nth & LONG_RUN == LONG_RUN:
                give_way()
    timeout_ms = read_i32_be(data, position)
    validate_only = data[position + 4] != 0
    position += 5
    if version >= 5:
        position = skip_tags(data, position) if data[position] else position + 1
    return CreateTopicsRequest(topics, timeout_ms, validate_only), position


def _write_create_topics_request(writer: BytesWriter, message: CreateTopicsRequest, version: i64) -> None:
    if version >= 5:
        topics = message.topics
        write_uvarint(writer, len(topics) + 1)
        for nth, topics_item in enumerate(topics):
            _write_creatable_topic(writer, topics_item, version)
            if nth & LONG_RUN == LONG_RUN:
                give_way()
    else:
        topics = message.topics
        write_i32_be(writer, len(topics))
        for nth, topics_item in enumerate(topics):
            _write_creatable_topic(writer, topics_item, version)
            if nth & LONG_RUN == LONG_RUN:
                give_way()
    write_i32_be(writer, message.timeout_ms)
    write_bool(writer, message.validate_only)
    if version >= 5:
        writer.append(0)


class CreateTopicsResponse(Message):
    """API key 19, versions 2 to 7."""

    __slots__ = ("throttle_time_ms", "topics")
    FIELDS: ClassVar[tuple[str, ...]] = ("throttle_time_ms", "topics")
    API_KEY: ClassVar[int] = 19
    MIN_VERSION: ClassVar[int] = 2
    MAX_VERSION: ClassVar[int] = 7
    FIRST_FLEXIBLE: ClassVar[int] = 5

    def __init__(self, throttle_time_ms: int = 0, topics: list[CreatableTopicResult] = NO_ITEMS) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.topics = [] if topics is NO_ITEMS else topics

    @classmethod
    def decode(cls, data: bytes, position: int, version: int) -> tuple[CreateTopicsResponse, int]:
        if version < 2 or version > 7:
            raise unknown_version("CreateTopicsResponse", version, 2, 7)
        try:
            message, end = _read_create_topics_response(data, position, version)
        except (IndexError, ValueError) as error:
            raise malformed("CreateTopicsResponse", version, error) from None
        return message, end

    def encode(self, version: int) -> bytes:
        if version < 2 or version > 7:
            raise unsupported_version("CreateTopicsResponse", version, 2, 7)
        writer = BytesWriter()
        _write_create_topics_response(writer, self, version)
        return writer.getvalue()

    def encode_parts(self, writer_prefix: bytes, version: int) -> list[Part]:
        if version < 2 or version > 7:
            raise unsupported_version("CreateTopicsResponse", version, 2, 7)
        writer = BytesWriter()
        writer.write(writer_prefix)
        _write_create_topics_response(writer, self, version)
        return [writer.getvalue()]


def _read_create_topics_response(data: bytes, position: i64, version: i64) -> tuple[CreateTopicsResponse, i64]:
    topics: list[CreatableTopicResult]
    throttle_time_ms = read_i32_be(data, position)
    position += 4
    if version >= 5:
        count, position = read_compact_count(data, position, 12)
        topics = []
        for nth in range(count):
            topics_item, position = _read_creatable_topic_result(data, position, version)
            topics.append(topics_item)
            if nth & LONG_RUN == LONG_RUN:
                give_way()
    else:
        count, position = read_count(data, position, 6)
        topics = []
        for nth in range(count):
            topics_item, position = _read_creatable_topic_result(data, position, version)
            topics.append(topics_item)
            if nth & LONG_RUN == LONG_RUN:
                give_way()
    if version >= 5:
        position = skip_tags(data, position) if data[position] else position + 1
    return CreateTopicsResponse(throttle_time_ms, topics), position


def _write_create_topics_response(writer: BytesWriter, message: CreateTopicsResponse, version: i64) -> None:
    write_i32_be(writer, message.throttle_time_ms)
    if version >= 5:
        topics = message.topics
        write_uvarint(writer, len(topics) + 1)
        for nth, topics_item in enumerate(topics):
            _write_creatable_topic_result(writer, topics_item, version)
            if nth & LONG_RUN == LONG_RUN:
                give_way()
    else:
        topics = message.topics
        write_i32_be(writer, len(topics))
        for nth, topics_item in enumerate(topics):
            _write_creatable_topic_result(writer, topics_item, version)
            if nth & LONG_RUN == LONG_RUN:
                give_way()
    if version >= 5:
        writer.append(0)
