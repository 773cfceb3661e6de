"""OffsetFetch (API key 9). Generated from schema/offset_fetch.txt: do not edit."""

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


class OffsetFetchRequestTopic(Struct):
    __slots__ = ("name", "partition_indexes")
    FIELDS: ClassVar[tuple[str, ...]] = ("name", "partition_indexes")

    def __init__(self, name: str = "", partition_indexes: list[int] = NO_ITEMS) -> None:
        self.name = name
        self.partition_indexes = [] if partition_indexes is NO_ITEMS else partition_indexes


def _read_offset_fetch_request_topic(data: bytes, position: i64, version: i64) -> tuple[OffsetFetchRequestTopic, i64]:
    name: str
    partition_indexes: list[int]
    if version >= 6:
        name, position = read_compact_string(data, position)
        count, position = read_compact_count(data, position, 4)
        partition_indexes = read_i32_list(data, position, count)
        position += 4 * count
    else:
        name, position = read_string(data, position)
        count, position = read_count(data, position, 4)
        partition_indexes = read_i32_list(data, position, count)
        position += 4 * count
    if version >= 6:
        position = skip_tags(data, position) if data[position] else position + 1
    return OffsetFetchRequestTopic(name, partition_indexes), position


def _write_offset_fetch_request_topic(writer: BytesWriter, message: OffsetFetchRequestTopic, version: i64) -> None:
    if version >= 6:
        write_compact_string(writer, message.name)
        partition_indexes = message.partition_indexes
        write_uvarint(writer, len(partition_indexes) + 1)
        write_i32_list(writer, partition_indexes)
    else:
        write_string(writer, message.name)
        partition_indexes = message.partition_indexes
        write_i32_be(writer, len(partition_indexes))
        write_i32_list(writer, partition_indexes)
    if version >= 6:
        writer.append(0)


class OffsetFetchRequestTopics(Struct):
    __slots__ = ("name", "topic_id", "partition_indexes")
    FIELDS: ClassVar[tuple[str, ...]] = ("name", "topic_id", "partition_indexes")

    def __init__(self, name: str = "", topic_id: bytes = NO_UUID, partition_indexes: list[int] = NO_ITEMS) -> None:
        self.name = name
        self.topic_id = topic_id
        self.partition_indexes = [] if partition_indexes is NO_ITEMS else partition_indexes


def _read_offset_fetch_request_topics(data: bytes, position: i64, version: i64) -> tuple[OffsetFetchRequestTopics, i64]:
    name: str
    topic_id: bytes
    partition_indexes: list[int]
    if version >= 10:
        name = ""
        topic_id = read_uuid(data, position)
        position += 16
    else:
        name, position = read_compact_string(data, position)
        topic_id = NO_UUID
    count, position = read_compact_count(data, position, 4)
    partition_indexes = read_i32_list(data, position, count)
    position += 4 * count
    position = skip_tags(data, position) if data[position] else position + 1
    return OffsetFetchRequestTopics(name, topic_id, partition_indexes), position


def _write_offset_fetch_request_topics(writer: BytesWriter, message: OffsetFetchRequestTopics, version: i64) -> None:
    if version >= 10:
        write_uuid(writer, message.topic_id)
    else:
        write_compact_string(writer, message.name)
    partition_indexes = message.partition_indexes
    write_uvarint(writer, len(partition_indexes) + 1)
    write_i32_list(writer, partition_indexes)
    writer.append(0)


class OffsetFetchRequestGroup(Struct):
    __slots__ = ("group_id", "member_id", "member_epoch", "topics")
    FIELDS: ClassVar[tuple[str, ...]] = ("group_id", "member_id", "member_epoch", "topics")

    def __init__(self, group_id: str = "", member_id: str | None = None, member_epoch: int = -1, topics: list[OffsetFetchRequestTopics] | None = NO_ITEMS) -> None:
        self.group_id = group_id
        self.member_id = member_id
        self.member_epoch = member_epoch
        self.topics = [] if topics is NO_ITEMS else topics


def _read_offset_fetch_request_group(data: bytes, position: i64, version: i64) -> tuple[OffsetFetchRequestGroup, i64]:
    member_id: str | None
    member_epoch: int
    topics: list[OffsetFetchRequestTopics] | None
    group_id, position = read_compact_string(data, position)
    if version >= 9:
        member_id, position = read_compact_nullable_string(data, position)
        member_epoch = read_i32_be(data, position)
        position += 4
    else:
        member_id = None
        member_epoch = -1
    count, position = read_compact_nullable_count(data, position, 3)
    if count < 0:
        topics = None
    else:
        topics = []
        for nth in range(count):
            topics_item, position = _read_offset_fetch_request_topics(data, position, version)
            topics.append(topics_item)
            if nth & LONG_RUN == LONG_RUN:
                give_way()
    position = skip_tags(data, position) if data[position] else position + 1
    return OffsetFetchRequestGroup(group_id, member_id, member_epoch, topics), position


def _write_offset_fetch_request_group(writer: BytesWriter, message: OffsetFetchRequestGroup, version: i64) -> None:
    write_compact_string(writer, message.group_id)
    if version >= 9:
        write_compact_nullable_string(writer, message.member_id)
        write_i32_be(writer, message.member_epoch)
    topics = message.topics
    if topics is None:
        writer.append(0)
    else:
        write_uvarint(writer, len(topics) + 1)
        for nth, topics_item in enumerate(topics):
            _write_offset_fetch_request_topics(writer, topics_item, version)
            if nth & LONG_RUN == LONG_RUN:
                give_way()
    writer.append(0)


class OffsetFetchResponsePartition(Struct):
    __slots__ = ("partition_index", "committed_offset", "committed_leader_epoch", "metadata", "error_code")
    FIELDS: ClassVar[tuple[str, ...]] = ("partition_index", "committed_offset", "committed_leader_epoch", "metadata", "error_code")

    def __init__(self, partition_index: int = 0, committed_offset: int = 0, committed_leader_epoch: int = -1, metadata: str | None = "", error_code: int = 0) -> None:
        self.partition_index = partition_index
        self.committed_offset = committed_offset
        self.committed_leader_epoch = committed_leader_epoch
        self.metadata = metadata
        self.error_code = error_code


def _read_offset_fetch_response_partition(data: bytes, position: i64, version: i64) -> tuple[OffsetFetchResponsePartition, i64]:
    committed_leader_epoch: int
    metadata: str | None
    partition_index = read_i32_be(data, position)
    committed_offset = read_i64_be(data, position + 4)
    position += 12
    if version >= 5:
        committed_leader_epoch = read_i32_be(data, position)
        position += 4
    else:
        committed_leader_epoch = -1
    if version >= 6:
        metadata, position = read_compact_nullable_string(data, position)
    else:
        metadata, position = read_nullable_string(data, position)
    error_code = read_i16_be(data, position)
    position += 2
    if version >= 6:
        position = skip_tags(data, position) if data[position] else position + 1
    return OffsetFetchResponsePartition(partition_index, committed_offset, committed_leader_epoch, metadata, error_code), position


def _write_offset_fetch_response_partition(writer: BytesWriter, message: OffsetFetchResponsePartition, version: i64) -> None:
    write_i32_be(writer, message.partition_index)
    write_i64_be(writer, message.committed_offset)
    if version >= 5:
        write_i32_be(writer, message.committed_leader_epoch)
    if version >= 6:
        write_compact_nullable_string(writer, message.metadata)
    else:
        write_nullable_string(writer, message.metadata)
    write_i16_be(writer, message.error_code)
    if version >= 6:
        writer.append(0)


class OffsetFetchResponseTopic(Struct):
    __slots__ = ("name", "partitions")
    FIELDS: ClassVar[tuple[str, ...]] = ("name", "partitions")

    def __init__(self, name: str = "", partitions: list[OffsetFetchResponsePartition] = NO_ITEMS) -> None:
        self.name = name
        self.partitions = [] if partitions is NO_ITEMS else partitions


def _read_offset_fetch_response_topic(data: bytes, position: i64, version: i64) -> tuple[OffsetFetchResponseTopic, i64]:
    name: str
    partitions: list[OffsetFetchResponsePartition]
    if version >= 6:
        name, position = read_compact_string(data, position)
        count, position = read_compact_count(data, position, 20)
        partitions = []
        for nth in range(count):
            partitions_item, position = _read_offset_fetch_response_partition(data, position, version)
            partitions.append(partitions_item)
            if nth & LONG_RUN == LONG_RUN:
                give_way()
    else:
        name, position = read_string(data, position)
        count, position = read_count(data, position, 16)
        partitions = []
        for nth in range(count):
            partitions_item, position = _read_offset_fetch_response_partition(data, position, version)
            partitions.append(partitions_item)
            if nth & LONG_RUN == LONG_RUN:
                give_way()
    if version >= 6:
        position = skip_tags(data, position) if data[position] else position + 1
    return OffsetFetchResponseTopic(name, partitions), position


def _write_offset_fetch_response_topic(writer: BytesWriter, message: OffsetFetchResponseTopic, version: i64) -> None:
    if version >= 6:
        write_compact_string(writer, message.name)
        partitions = message.partitions
        write_uvarint(writer, len(partitions) + 1)
        for nth, partitions_item in enumerate(partitions):
            _write_offset_fetch_response_partition(writer, partitions_item, version)
            if nth & LONG_RUN == LONG_RUN:
                give_way()
    else:
        write_string(writer, message.name)
        partitions = message.partitions
        write_i32_be(writer, len(partitions))
        for nth, partitions_item in enumerate(partitions):
            _write_offset_fetch_response_partition(writer, partitions_item, version)
            if nth & LONG_RUN == LONG_RUN:
                give_way()
    if version >= 6:
        writer.append(0)


class OffsetFetchResponsePartitions(Struct):
    __slots__ = ("partition_index", "committed_offset", "committed_leader_epoch", "metadata", "error_code")
    FIELDS: ClassVar[tuple[str, ...]] = ("partition_index", "committed_offset", "committed_leader_epoch", "metadata", "error_code")

    def __init__(self, partition_index: int = 0, committed_offset: int = 0, committed_leader_epoch: int = -1, metadata: str | None = "", error_code: int = 0) -> None:
        self.partition_index = partition_index
        self.committed_offset = committed_offset
        self.committed_leader_epoch = committed_leader_epoch
        self.metadata = metadata
        self.error_code = error_code


def _read_offset_fetch_response_partitions(data: bytes, position: i64, version: i64) -> tuple[OffsetFetchResponsePartitions, i64]:
    metadata: str | None
    partition_index = read_i32_be(data, position)
    committed_offset = read_i64_be(data, position + 4)
    committed_leader_epoch = read_i32_be(data, position + 12)
    position += 16
    metadata, position = read_compact_nullable_string(data, position)
    error_code = read_i16_be(data, position)
    position += 2
    position = skip_tags(data, position) if data[position] else position + 1
    return OffsetFetchResponsePartitions(partition_index, committed_offset, committed_leader_epoch, metadata, error_code), position


def _write_offset_fetch_response_partitions(writer: BytesWriter, message: OffsetFetchResponsePartitions, version: i64) -> None:
    write_i32_be(writer, message.partition_index)
    write_i64_be(writer, message.committed_offset)
    write_i32_be(writer, message.committed_leader_epoch)
    write_compact_nullable_string(writer, message.metadata)
    write_i16_be(writer, message.error_code)
    writer.append(0)


class OffsetFetchResponseTopics(Struct):
    __slots__ = ("name", "topic_id", "partitions")
    FIELDS: ClassVar[tuple[str, ...]] = ("name", "topic_id", "partitions")

    def __init__(self, name: str = "", topic_id: bytes = NO_UUID, partitions: list[OffsetFetchResponsePartitions] = NO_ITEMS) -> None:
        self.name = name
        self.topic_id = topic_id
        self.partitions = [] if partitions is NO_ITEMS else partitions


def _read_offset_fetch_response_topics(data: bytes, position: i64, version: i64) -> tuple[OffsetFetchResponseTopics, i64]:
    name: str
    topic_id: bytes
    partitions: list[OffsetFetchResponsePartitions]
    if version >= 10:
        name = ""
        topic_id = read_uuid(data, position)
        position += 16
    else:
        name, position = read_compact_string(data, position)
        topic_id = NO_UUID
    count, position = read_compact_count(data, position, 20)
    partitions = []
    for nth in range(count):
        partitions_item, position = _read_offset_fetch_response_partitions(data, position, version)
        partitions.append(partitions_item)
        if nth & LONG_RUN == LONG_RUN:
            give_way()
    position = skip_tags(data, position) if data[position] else position + 1
    return OffsetFetchResponseTopics(name, topic_id, partitions), position


def _write_offset_fetch_response_topics(writer: BytesWriter, message: OffsetFetchResponseTopics, version: i64) -> None:
    if version >= 10:
        write_uuid(writer, message.topic_id)
    else:
        write_compact_string(writer, message.name)
    partitions = message.partitions
    write_uvarint(writer, len(partitions) + 1)
    for nth, partitions_item in enumerate(partitions):
        _write_offset_fetch_response_partitions(writer, partitions_item, version)
        if nth & LONG_RUN == LONG_RUN:
            give_way()
    writer.append(0)


class OffsetFetchResponseGroup(Struct):
    __slots__ = ("group_id", "topics", "error_code")
    FIELDS: ClassVar[tuple[str, ...]] = ("group_id", "topics", "error_code")

    def __init__(self, group_id: str = "", topics: list[OffsetFetchResponseTopics] = NO_ITEMS, error_code: int = 0) -> None:
        self.group_id = group_id
        self.topics = [] if topics is NO_ITEMS else topics
        self.error_code = error_code


def _read_offset_fetch_response_group(data: bytes, position: i64, version: i64) -> tuple[OffsetFetchResponseGroup, i64]:
    topics: list[OffsetFetchResponseTopics]
    group_id, position = read_compact_string(data, position)
    count, position = read_compact_count(data, position, 3)
    topics = []
    for nth in range(count):
        topics_item, position = _read_offset_fetch_response_topics(data, position, version)
        topics.append(topics_item)
        if nth & LONG_RUN == LONG_RUN:
            give_way()
    error_code = read_i16_be(data, position)
    position += 2
    position = skip_tags(data, position) if data[position] else position + 1
    return OffsetFetchResponseGroup(group_id, topics, error_code), position


def _write_offset_fetch_response_group(writer: BytesWriter, message: OffsetFetchResponseGroup, version: i64) -> None:
    write_compact_string(writer, message.group_id)
    topics = message.topics
    write_uvarint(writer, len(topics) + 1)
    for nth, topics_item in enumerate(topics):
        _write_offset_fetch_response_topics(writer, topics_item, version)
        if nth & LONG_RUN == LONG_RUN:
            give_way()
    write_i16_be(writer, message.error_code)
    writer.append(0)


class OffsetFetchRequest(Message):
    """API key 9, versions 1 to 10."""

    __slots__ = ("group_id", "topics", "groups", "require_stable")
    FIELDS: ClassVar[tuple[str, ...]] = ("group_id", "topics", "groups", "require_stable")
    API_KEY: ClassVar[int] = 9
    MIN_VERSION: ClassVar[int] = 1
    MAX_VERSION: ClassVar[int] = 10
    FIRST_FLEXIBLE: ClassVar[int] = 6

    def __init__(self, group_id: str = "", topics: list[OffsetFetchRequestTopic] | None = NO_ITEMS, groups: list[OffsetFetchRequestGroup] = NO_ITEMS, require_stable: bool = False) -> None:
        self.group_id = group_id
        self.topics = [] if topics is NO_ITEMS else topics
        self.groups = [] if groups is NO_ITEMS else groups
        self.require_stable = require_stable

    @classmethod
    def decode(cls, data: bytes, position: int, version: int) -> tuple[OffsetFetchRequest, int]:
        if version < 1 or version > 10:
            raise unknown_version("OffsetFetchRequest", version, 1, 10)
        try:
            message, end = _read_offset_fetch_request(data, position, version)
        except (IndexError, ValueError) as error:
            raise malformed("OffsetFetchRequest", version, error) from None
        return message, end

    def encode(self, version: int) -> bytes:
        if version < 1 or version > 10:
            raise unsupported_version("OffsetFetchRequest", version, 1, 10)
        writer = BytesWriter()
        _write_offset_fetch_request(writer, self, version)
        return writer.getvalue()

    def encode_parts(self, writer_prefix: bytes, version: int) -> list[Part]:
        if version < 1 or version > 10:
            raise unsupported_version("OffsetFetchRequest", version, 1, 10)
        writer = BytesWriter()
        writer.write(writer_prefix)
        _write_offset_fetch_request(writer, self, version)
        return [writer.getvalue()]


def _read_offset_fetch_request(data: bytes, position: i64, version: i64) -> tuple[OffsetFetchRequest, i64]:
    group_id: str
    topics: list[OffsetFetchRequestTopic] | None
    groups: list[OffsetFetchRequestGroup]
    require_stable: bool
    if version >= 8:
        group_id = ""
    elif version >= 6:
        group_id, position = read_compact_string(data, position)
    else:
        group_id, position = read_string(data, position)
    if version >= 8:
        topics = []
    elif version >= 6:
        count, position = read_compact_nullable_count(data, position, 3)
        if count < 0:
            topics = None
        else:
            topics = []
            for nth in range(count):
                topics_item, position = _read_offset_fetch_request_topic(data, position, version)
                topics.append(topics_item)
                if nth & LONG_RUN == LONG_RUN:
                    give_way()
    elif version >= 2:
        count, position = read_nullable_count(data, position, 6)
        if count < 0:
            topics = None
        else:
            topics = []
            for nth in range(count):
                topics_item, position = _read_offset_fetch_request_topic(data, position, version)
                topics.append(topics_item)
                if nth & LONG_RUN == LONG_RUN:
                    give_way()
    else:
        count, position = read_count(data, position, 6)
        topics = []
        for nth in range(count):
            topics_item, position = _read_offset_fetch_request_topic(data, position, version)
            topics.append(topics_item)
            if nth & LONG_RUN == LONG_RUN:
                give_way()
    if version >= 8:
        count, position = read_compact_count(data, position, 3)
        groups = []
        for nth in range(count):
            groups_item, position = _read_offset_fetch_request_group(data, position, version)
            groups.append(groups_item)
            if nth & LONG_RUN == LONG_RUN:
                give_way()
    else:
        groups = []
    if version >= 7:
        require_stable = data[position] != 0
        position += 1
    else:
        require_stable = False
    if version >= 6:
        position = skip_tags(data, position) if data[position] else position + 1
    return OffsetFetchRequest(group_id, topics, groups, require_stable), position


def _write_offset_fetch_request(writer: BytesWriter, message: OffsetFetchRequest, version: i64) -> None:
    if version >= 8:
        if message.group_id != "":
            raise unsupported_field("OffsetFetchRequest", "group_id", version)
    elif version >= 6:
        write_compact_string(writer, message.group_id)
    else:
        write_string(writer, message.group_id)
    if version >= 8:
        if message.topics is None or message.topics:
            raise unsupported_field("OffsetFetchRequest", "topics", version)
    elif version >= 6:
        topics = message.topics
        if topics is None:
            writer.append(0)
        else:
            write_uvarint(writer, len(topics) + 1)
            for nth, topics_item in enumerate(topics):
                _write_offset_fetch_request_topic(writer, topics_item, version)
                if nth & LONG_RUN == LONG_RUN:
                    give_way()
    elif version >= 2:
        topics = message.topics
        if topics is None:
            write_i32_be(writer, -1)
        else:
            write_i32_be(writer, len(topics))
            for nth, topics_item in enumerate(topics):
                _write_offset_fetch_request_topic(writer, topics_item, version)
                if nth & LONG_RUN == LONG_RUN:
                    give_way()
    else:
        topics = message.topics
        if topics is None:
            raise null_field("OffsetFetchRequest", "topics", version)
        write_i32_be(writer, len(topics))
        for nth, topics_item in enumerate(topics):
            _write_offset_fetch_request_topic(writer, topics_item, version)
            if nth & LONG_RUN == LONG_RUN:
                give_way()
    if version >= 8:
        groups = message.groups
        write_uvarint(writer, len(groups) + 1)
        for nth, groups_item in enumerate(groups):
            _write_offset_fetch_request_group(writer, groups_item, version)
            if nth & LONG_RUN == LONG_RUN:
                give_way()
    else:
        if message.groups:
            raise unsupported_field("OffsetFetchRequest", "groups", version)
    if version >= 7:
        write_bool(writer, message.require_stable)
    else:
        if message.require_stable:
            raise unsupported_field("OffsetFetchRequest", "require_stable", version)
    if version >= 6:
        writer.append(0)


class OffsetFetchResponse(Message):
    """API key 9, versions 1 to 10."""

    __slots__ = ("throttle_time_ms", "topics", "error_code", "groups")
    FIELDS: ClassVar[tuple[str, ...]] = ("throttle_time_ms", "topics", "error_code", "groups")
    API_KEY: ClassVar[int] = 9
    MIN_VERSION: ClassVar[int] = 1
    MAX_VERSION: ClassVar[int] = 10
    FIRST_FLEXIBLE: ClassVar[int] = 6

    def __init__(self, throttle_time_ms: int = 0, topics: list[OffsetFetchResponseTopic] = NO_ITEMS, error_code: int = 0, groups: list[OffsetFetchResponseGroup] = NO_ITEMS) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.topics = [] if topics is NO_ITEMS else topics
        self.error_code = error_code
        self.groups = [] if groups is NO_ITEMS else groups

    @classmethod
    def decode(cls, data: bytes, position: int, version: int) -> tuple[OffsetFetchResponse, int]:
        if version < 1 or version > 10:
            raise unknown_version("OffsetFetchResponse", version, 1, 10)
        try:
            message, end = _read_offset_fetch_response(data, position, version)
        except (IndexError, ValueError) as error:
            raise malformed("OffsetFetchResponse", version, error) from None
        return message, end

    def encode(self, version: int) -> bytes:
        if version < 1 or version > 10:
            raise unsupported_version("OffsetFetchResponse", version, 1, 10)
        writer = BytesWriter()
        _write_offset_fetch_response(writer, self, version)
        return writer.getvalue()

    def encode_parts(self, writer_prefix: bytes, version: int) -> list[Part]:
        if version < 1 or version > 10:
            raise unsupported_version("OffsetFetchResponse", version, 1, 10)
        writer = BytesWriter()
        writer.write(writer_prefix)
        _write_offset_fetch_response(writer, self, version)
        return [writer.getvalue()]


def _read_offset_fetch_response(data: bytes, position: i64, version: i64) -> tuple[OffsetFetchResponse, i64]:
    throttle_time_ms: int
    topics: list[OffsetFetchResponseTopic]
    error_code: int
    groups: list[OffsetFetchResponseGroup]
    if version >= 3:
        throttle_time_ms = read_i32_be(data, position)
        position += 4
    else:
        throttle_time_ms = 0
    if version >= 8:
        topics = []
    elif version >= 6:
        count, position = read_compact_count(data, position, 3)
        topics = []
        for nth in range(count):
            topics_item, position = _read_offset_fetch_response_topic(data, position, version)
            topics.append(topics_item)
            if nth & LONG_RUN == LONG_RUN:
                give_way()
    else:
        count, position = read_count(data, position, 6)
        topics = []
        for nth in range(count):
            topics_item, position = _read_offset_fetch_response_topic(data, position, version)
            topics.append(topics_item)
            if nth & LONG_RUN == LONG_RUN:
                give_way()
    if version >= 8:
        error_code = 0
    elif version >= 2:
        error_code = read_i16_be(data, position)
        position += 2
    else:
        error_code = 0
    if version >= 8:
        count, position = read_compact_count(data, position, 5)
        groups = []
        for nth in range(count):
            groups_item, position = _read_offset_fetch_response_group(data, position, version)
            groups.append(groups_item)
            if nth & LONG_RUN == LONG_RUN:
                give_way()
    else:
        groups = []
    if version >= 6:
        position = skip_tags(data, position) if data[position] else position + 1
    return OffsetFetchResponse(throttle_time_ms, topics, error_code, groups), position


def _write_offset_fetch_response(writer: BytesWriter, message: OffsetFetchResponse, version: i64) -> None:
    if version >= 3:
        write_i32_be(writer, message.throttle_time_ms)
    if version >= 8:
        if message.topics:
            raise unsupported_field("OffsetFetchResponse", "topics", version)
    elif version >= 6:
        topics = message.topics
        write_uvarint(writer, len(topics) + 1)
        for nth, topics_item in enumerate(topics):
            _write_offset_fetch_response_topic(writer, topics_item, version)
            if nth & LONG_RUN == LONG_RUN:
                give_way()
    else:
        topics = message.topics
        write_i32_be(writer, len(topics))
        for nth, topics_item in enumerate(topics):
            _write_offset_fetch_response_topic(writer, topics_item, version)
            if nth & LONG_RUN == LONG_RUN:
                give_way()
    if version >= 8:
        pass
    elif version >= 2:
        write_i16_be(writer, message.error_code)
    if version >= 8:
        groups = message.groups
        write_uvarint(writer, len(groups) + 1)
        for nth, groups_item in enumerate(groups):
            _write_offset_fetch_response_group(writer, groups_item, version)
            if nth & LONG_RUN == LONG_RUN:
                give_way()
    else:
        if message.groups:
            raise unsupported_field("OffsetFetchResponse", "groups", version)
    if version >= 6:
        writer.append(0)
