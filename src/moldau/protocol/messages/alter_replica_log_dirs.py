"""AlterReplicaLogDirs (API key 34). Generated from schema/alter_replica_log_dirs.txt: do not edit."""

# fmt: off
from __future__ import annotations

from typing import ClassVar

from librt.strings import BytesWriter, read_i16_be, read_i32_be, write_i16_be, write_i32_be
from mypy_extensions import i64

from moldau.protocol.file_region import Part
from moldau.protocol.giving_way import give_way
from moldau.protocol.message import NO_ITEMS, Message, Struct
from moldau.protocol.reading import (
    LONG_RUN,
    malformed,
    read_compact_count,
    read_compact_string,
    read_count,
    read_i32_list,
    read_string,
    skip_tags,
    unknown_version,
)
from moldau.protocol.writing import (
    unsupported_version,
    write_compact_string,
    write_i32_list,
    write_string,
    write_uvarint,
)


class AlterReplicaLogDirTopic(Struct):
    __slots__ = ("name", "partitions")
    FIELDS: ClassVar[tuple[str, ...]] = ("name", "partitions")

    def __init__(self, name: str = "", partitions: list[int] = NO_ITEMS) -> None:
        self.name = name
        self.partitions = [] if partitions is NO_ITEMS else partitions


def _read_alter_replica_log_dir_topic(data: bytes, position: i64, version: i64) -> tuple[AlterReplicaLogDirTopic, i64]:
    name: str
    partitions: list[int]
    if version >= 2:
        name, position = read_compact_string(data, position)
        count, position = read_compact_count(data, position, 4)
        partitions = read_i32_list(data, position, count)
        position += 4 * count
    else:
        name, position = read_string(data, position)
        count, position = read_count(data, position, 4)
        partitions = read_i32_list(data, position, count)
        position += 4 * count
    if version >= 2:
        position = skip_tags(data, position) if data[position] else position + 1
    return AlterReplicaLogDirTopic(name, partitions), position


def _write_alter_replica_log_dir_topic(writer: BytesWriter, message: AlterReplicaLogDirTopic, version: i64) -> None:
    if version >= 2:
        write_compact_string(writer, message.name)
        partitions = message.partitions
        write_uvarint(writer, len(partitions) + 1)
        write_i32_list(writer, partitions)
    else:
        write_string(writer, message.name)
        partitions = message.partitions
        write_i32_be(writer, len(partitions))
        write_i32_list(writer, partitions)
    if version >= 2:
        writer.append(0)


class AlterReplicaLogDir(Struct):
    __slots__ = ("path", "topics")
    FIELDS: ClassVar[tuple[str, ...]] = ("path", "topics")

    def __init__(self, path: str = "", topics: list[AlterReplicaLogDirTopic] = NO_ITEMS) -> None:
        self.path = path
        self.topics = [] if topics is NO_ITEMS else topics


def _read_alter_replica_log_dir(data: bytes, position: i64, version: i64) -> tuple[AlterReplicaLogDir, i64]:
    path: str
    topics: list[AlterReplicaLogDirTopic]
    if version >= 2:
        path, position = read_compact_string(data, position)
        count, position = read_compact_count(data, position, 3)
        topics = []
        for nth in range(count):
            topics_item, position = _read_alter_replica_log_dir_topic(data, position, version)
            topics.append(topics_item)
            if nth & LONG_RUN == LONG_RUN:
                give_way()
    else:
        path, position = read_string(data, position)
        count, position = read_count(data, position, 6)
        topics = []
        for nth in range(count):
            topics_item, position = _read_alter_replica_log_dir_topic(data, position, version)
            topics.append(topics_item)
            if nth & LONG_RUN == LONG_RUN:
                give_way()
    if version >= 2:
        position = skip_tags(data, position) if data[position] else position + 1
    return AlterReplicaLogDir(path, topics), position


def _write_alter_replica_log_dir(writer: BytesWriter, message: AlterReplicaLogDir, version: i64) -> None:
    if version >= 2:
        write_compact_string(writer, message.path)
        topics = message.topics
        write_uvarint(writer, len(topics) + 1)
        for nth, topics_item in enumerate(topics):
            _write_alter_replica_log_dir_topic(writer, topics_item, version)
            if nth & LONG_RUN == LONG_RUN:
                give_way()
    else:
        write_string(writer, message.path)
        topics = message.topics
        write_i32_be(writer, len(topics))
        for nth, topics_item in enumerate(topics):
            _write_alter_replica_log_dir_topic(writer, topics_item, version)
            if nth & LONG_RUN == LONG_RUN:
                give_way()
    if version >= 2:
        writer.append(0)


class AlterReplicaLogDirPartitionResult(Struct):
    __slots__ = ("partition_index", "error_code")
    FIELDS: ClassVar[tuple[str, ...]] = ("partition_index", "error_code")

    def __init__(self, partition_index: int = 0, error_code: int = 0) -> None:
        self.partition_index = partition_index
        self.error_code = error_code


def _read_alter_replica_log_dir_partition_result(data: bytes, position: i64, version: i64) -> tuple[AlterReplicaLogDirPartitionResult, i64]:
    partition_index = read_i32_be(data, position)
    error_code = read_i16_be(data, position + 4)
    position += 6
    if version >= 2:
        position = skip_tags(data, position) if data[position] else position + 1
    return AlterReplicaLogDirPartitionResult(partition_index, error_code), position


def _write_alter_replica_log_dir_partition_result(writer: BytesWriter, message: AlterReplicaLogDirPartitionResult, version: i64) -> None:
    write_i32_be(writer, message.partition_index)
    write_i16_be(writer, message.error_code)
    if version >= 2:
        writer.append(0)


class AlterReplicaLogDirTopicResult(Struct):
    __slots__ = ("topic_name", "partitions")
    FIELDS: ClassVar[tuple[str, ...]] = ("topic_name", "partitions")

    def __init__(self, topic_name: str = "", partitions: list[AlterReplicaLogDirPartitionResult] = NO_ITEMS) -> None:
        self.topic_name = topic_name
        self.partitions = [] if partitions is NO_ITEMS else partitions


def _read_alter_replica_log_dir_topic_result(data: bytes, position: i64, version: i64) -> tuple[AlterReplicaLogDirTopicResult, i64]:
    topic_name: str
    partitions: list[AlterReplicaLogDirPartitionResult]
    if version >= 2:
        topic_name, position = read_compact_string(data, position)
        count, position = read_compact_count(data, position, 7)
        partitions = []
        for nth in range(count):
            partitions_item, position = _read_alter_replica_log_dir_partition_result(data, position, version)
            partitions.append(partitions_item)
            if nth & LONG_RUN == LONG_RUN:
                give_way()
    else:
        topic_name, position = read_string(data, position)
        count, position = read_count(data, position, 6)
        partitions = []
        for nth in range(count):
            partitions_item, position = _read_alter_replica_log_dir_partition_result(data, position, version)
            partitions.append(partitions_item)
            if nth & LONG_RUN == LONG_RUN:
                give_way()
    if version >= 2:
        position = skip_tags(data, position) if data[position] else position + 1
    return AlterReplicaLogDirTopicResult(topic_name, partitions), position


def _write_alter_replica_log_dir_topic_result(writer: BytesWriter, message: AlterReplicaLogDirTopicResult, version: i64) -> None:
    if version >= 2:
        write_compact_string(writer, message.topic_name)
        partitions = message.partitions
        write_uvarint(writer, len(partitions) + 1)
        for nth, partitions_item in enumerate(partitions):
            _write_alter_replica_log_dir_partition_result(writer, partitions_item, version)
            if nth & LONG_RUN == LONG_RUN:
                give_way()
    else:
        write_string(writer, message.topic_name)
        partitions = message.partitions
        write_i32_be(writer, len(partitions))
        for nth, partitions_item in enumerate(partitions):
            _write_alter_replica_log_dir_partition_result(writer, partitions_item, version)
            if nth & LONG_RUN == LONG_RUN:
                give_way()
    if version >= 2:
        writer.append(0)


class AlterReplicaLogDirsRequest(Message):
    """API key 34, versions 1 to 2."""

    __slots__ = ("dirs",)
    FIELDS: ClassVar[tuple[str, ...]] = ("dirs",)
    API_KEY: ClassVar[int] = 34
    MIN_VERSION: ClassVar[int] = 1
    MAX_VERSION: ClassVar[int] = 2
    FIRST_FLEXIBLE: ClassVar[int] = 2

    def __init__(self, dirs: list[AlterReplicaLogDir] = NO_ITEMS) -> None:
        self.dirs = [] if dirs is NO_ITEMS else dirs

    @classmethod
    def decode(cls, data: bytes, position: int, version: int) -> tuple[AlterReplicaLogDirsRequest, int]:
        if version < 1 or version > 2:
            raise unknown_version("AlterReplicaLogDirsRequest", version, 1, 2)
        try:
            message, end = _read_alter_replica_log_dirs_request(data, position, version)
        except (IndexError, ValueError) as error:
            raise malformed("AlterReplicaLogDirsRequest", version, error) from None
        return message, end

    def encode(self, version: int) -> bytes:
        if version < 1 or version > 2:
            raise unsupported_version("AlterReplicaLogDirsRequest", version, 1, 2)
        writer = BytesWriter()
        _write_alter_replica_log_dirs_request(writer, self, version)
        return writer.getvalue()

    def encode_parts(self, writer_prefix: bytes, version: int) -> list[Part]:
        if version < 1 or version > 2:
            raise unsupported_version("AlterReplicaLogDirsRequest", version, 1, 2)
        writer = BytesWriter()
        writer.write(writer_prefix)
        _write_alter_replica_log_dirs_request(writer, self, version)
        return [writer.getvalue()]


def _read_alter_replica_log_dirs_request(data: bytes, position: i64, version: i64) -> tuple[AlterReplicaLogDirsRequest, i64]:
    dirs: list[AlterReplicaLogDir]
    if version >= 2:
        count, position = read_compact_count(data, position, 3)
        dirs = []
        for nth in range(count):
            dirs_item, position = _read_alter_replica_log_dir(data, position, version)
            dirs.append(dirs_item)
            if nth & LONG_RUN == LONG_RUN:
                give_way()
    else:
        count, position = read_count(data, position, 6)
        dirs = []
        for nth in range(count):
            dirs_item, position = _read_alter_replica_log_dir(data, position, version)
            dirs.append(dirs_item)
            if nth & LONG_RUN == LONG_RUN:
                give_way()
    if version >= 2:
        position = skip_tags(data, position) if data[position] else position + 1
    return AlterReplicaLogDirsRequest(dirs), position


def _write_alter_replica_log_dirs_request(writer: BytesWriter, message: AlterReplicaLogDirsRequest, version: i64) -> None:
    if version >= 2:
        dirs = message.dirs
        write_uvarint(writer, len(dirs) + 1)
        for nth, dirs_item in enumerate(dirs):
            _write_alter_replica_log_dir(writer, dirs_item, version)
            if nth & LONG_RUN == LONG_RUN:
                give_way()
    else:
        dirs = message.dirs
        write_i32_be(writer, len(dirs))
        for nth, dirs_item in enumerate(dirs):
            _write_alter_replica_log_dir(writer, dirs_item, version)
            if nth & LONG_RUN == LONG_RUN:
                give_way()
    if version >= 2:
        writer.append(0)


class AlterReplicaLogDirsResponse(Message):
    """API key 34, versions 1 to 2."""

    __slots__ = ("throttle_time_ms", "results")
    FIELDS: ClassVar[tuple[str, ...]] = ("throttle_time_ms", "results")
    API_KEY: ClassVar[int] = 34
    MIN_VERSION: ClassVar[int] = 1
    MAX_VERSION: ClassVar[int] = 2
    FIRST_FLEXIBLE: ClassVar[int] = 2

    def __init__(self, throttle_time_ms: int = 0, results: list[AlterReplicaLogDirTopicResult] = NO_ITEMS) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.results = [] if results is NO_ITEMS else results

    @classmethod
    def decode(cls, data: bytes, position: int, version: int) -> tuple[AlterReplicaLogDirsResponse, int]:
        if version < 1 or version > 2:
            raise unknown_version("AlterReplicaLogDirsResponse", version, 1, 2)
        try:
            message, end = _read_alter_replica_log_dirs_response(data, position, version)
        except (IndexError, ValueError) as error:
            raise malformed("AlterReplicaLogDirsResponse", version, error) from None
        return message, end

    def encode(self, version: int) -> bytes:
        if version < 1 or version > 2:
            raise unsupported_version("AlterReplicaLogDirsResponse", version, 1, 2)
        writer = BytesWriter()
        _write_alter_replica_log_dirs_response(writer, self, version)
        return writer.getvalue()

    def encode_parts(self, writer_prefix: bytes, version: int) -> list[Part]:
        if version < 1 or version > 2:
            raise unsupported_version("AlterReplicaLogDirsResponse", version, 1, 2)
        writer = BytesWriter()
        writer.write(writer_prefix)
        _write_alter_replica_log_dirs_response(writer, self, version)
        return [writer.getvalue()]


def _read_alter_replica_log_dirs_response(data: bytes, position: i64, version: i64) -> tuple[AlterReplicaLogDirsResponse, i64]:
    results: list[AlterReplicaLogDirTopicResult]
    throttle_time_ms = read_i32_be(data, position)
    position += 4
    if version >= 2:
        count, position = read_compact_count(data, position, 3)
        results = []
        for nth in range(count):
            results_item, position = _read_alter_replica_log_dir_topic_result(data, position, version)
            results.append(results_item)
            if nth & LONG_RUN == LONG_RUN:
                give_way()
    else:
        count, position = read_count(data, position, 6)
        results = []
        for nth in range(count):
            results_item, position = _read_alter_replica_log_dir_topic_result(data, position, version)
            results.append(results_item)
            if nth & LONG_RUN == LONG_RUN:
                give_way()
    if version >= 2:
        position = skip_tags(data, position) if data[position] else position + 1
    return AlterReplicaLogDirsResponse(throttle_time_ms, results), position


def _write_alter_replica_log_dirs_response(writer: BytesWriter, message: AlterReplicaLogDirsResponse, version: i64) -> None:
    write_i32_be(writer, message.throttle_time_ms)
    if version >= 2:
        results = message.results
        write_uvarint(writer, len(results) + 1)
        for nth, results_item in enumerate(results):
            _write_alter_replica_log_dir_topic_result(writer, results_item, version)
            if nth & LONG_RUN == LONG_RUN:
                give_way()
    else:
        results = message.results
        write_i32_be(writer, len(results))
        for nth, results_item in enumerate(results):
            _write_alter_replica_log_dir_topic_result(writer, results_item, version)
            if nth & LONG_RUN == LONG_RUN:
                give_way()
    if version >= 2:
        writer.append(0)
