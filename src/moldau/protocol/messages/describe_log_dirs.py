"""DescribeLogDirs (API key 35). Generated from schema/describe_log_dirs.txt: do not edit."""

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
    read_compact_string,
    read_count,
    read_i32_list,
    read_nullable_count,
    read_string,
    skip_tags,
    unknown_version,
)
from moldau.protocol.writing import (
    unsupported_version,
    write_bool,
    write_compact_string,
    write_i32_list,
    write_string,
    write_uvarint,
)


class DescribableLogDirTopic(Struct):
    __slots__ = ("topic", "partitions")
    FIELDS: ClassVar[tuple[str, ...]] = ("topic", "partitions")

    def __init__(self, topic: str = "", partitions: list[int] = NO_ITEMS) -> None:
        self.topic = topic
        self.partitions = [] if partitions is NO_ITEMS else partitions


def _read_describable_log_dir_topic(data: bytes, position: i64, version: i64) -> tuple[DescribableLogDirTopic, i64]:
    topic: str
    partitions: list[int]
    if version >= 2:
        topic, position = read_compact_string(data, position)
        count, position = read_compact_count(data, position, 4)
        partitions = read_i32_list(data, position, count)
        position += 4 * count
    else:
        topic, position = read_string(data, position)
        count, position = read_count(data, position, 4)
        partitions = read_i32_list(data, position, count)
        position += 4 * count
    if version >= 2:
        position = skip_tags(data, position) if data[position] else position + 1
    return DescribableLogDirTopic(topic, partitions), position


def _write_describable_log_dir_topic(writer: BytesWriter, message: DescribableLogDirTopic, version: i64) -> None:
    if version >= 2:
        write_compact_string(writer, message.topic)
        partitions = message.partitions
        write_uvarint(writer, len(partitions) + 1)
        write_i32_list(writer, partitions)
    else:
        write_string(writer, message.topic)
        partitions = message.partitions
        write_i32_be(writer, len(partitions))
        write_i32_list(writer, partitions)
    if version >= 2:
        writer.append(0)


class DescribeLogDirsPartition(Struct):
    __slots__ = ("partition_index", "partition_size", "offset_lag", "is_future_key")
    FIELDS: ClassVar[tuple[str, ...]] = ("partition_index", "partition_size", "offset_lag", "is_future_key")

    def __init__(self, partition_index: int = 0, partition_size: int = 0, offset_lag: int = 0, is_future_key: bool = False) -> None:
        self.partition_index = partition_index
        self.partition_size = partition_size
        self.offset_lag = offset_lag
        self.is_future_key = is_future_key


def _read_describe_log_dirs_partition(data: bytes, position: i64, version: i64) -> tuple[DescribeLogDirsPartition, i64]:
    partition_index = read_i32_be(data, position)
    partition_size = read_i64_be(data, position + 4)
    offset_lag = read_i64_be(data, position + 12)
    is_future_key = data[position + 20] != 0
    position += 21
    if version >= 2:
        position = skip_tags(data, position) if data[position] else position + 1
    return DescribeLogDirsPartition(partition_index, partition_size, offset_lag, is_future_key), position


def _write_describe_log_dirs_partition(writer: BytesWriter, message: DescribeLogDirsPartition, version: i64) -> None:
    write_i32_be(writer, message.partition_index)
    write_i64_be(writer, message.partition_size)
    write_i64_be(writer, message.offset_lag)
    write_bool(writer, message.is_future_key)
    if version >= 2:
        writer.append(0)


class DescribeLogDirsTopic(Struct):
    __slots__ = ("name", "partitions")
    FIELDS: ClassVar[tuple[str, ...]] = ("name", "partitions")

    def __init__(self, name: str = "", partitions: list[DescribeLogDirsPartition] = NO_ITEMS) -> None:
        self.name = name
        self.partitions = [] if partitions is NO_ITEMS else partitions


def _read_describe_log_dirs_topic(data: bytes, position: i64, version: i64) -> tuple[DescribeLogDirsTopic, i64]:
    name: str
    partitions: list[DescribeLogDirsPartition]
    if version >= 2:
        name, position = read_compact_string(data, position)
        count, position = read_compact_count(data, position, 22)
        partitions = []
        for nth in range(count):
            partitions_item, position = _read_describe_log_dirs_partition(data, position, version)
            partitions.append(partitions_item)
            if nth & LONG_RUN == LONG_RUN:
                give_way()
    else:
        name, position = read_string(data, position)
        count, position = read_count(data, position, 21)
        partitions = []
        for nth in range(count):
            partitions_item, position = _read_describe_log_dirs_partition(data, position, version)
            partitions.append(partitions_item)
            if nth & LONG_RUN == LONG_RUN:
                give_way()
    if version >= 2:
        position = skip_tags(data, position) if data[position] else position + 1
    return DescribeLogDirsTopic(name, partitions), position


def _write_describe_log_dirs_topic(writer: BytesWriter, message: DescribeLogDirsTopic, version: i64) -> None:
    if version >= 2:
        write_compact_string(writer, message.name)
        partitions = message.partitions
        write_uvarint(writer, len(partitions) + 1)
        for nth, partitions_item in enumerate(partitions):
            _write_describe_log_dirs_partition(writer, partitions_item, version)
            if nth & LONG_RUN == LONG_RUN:
                give_way()
    else:
        write_string(writer, message.name)
        partitions = message.partitions
        write_i32_be(writer, len(partitions))
        for nth, partitions_item in enumerate(partitions):
            _write_describe_log_dirs_partition(writer, partitions_item, version)
            if nth & LONG_RUN == LONG_RUN:
                give_way()
    if version >= 2:
        writer.append(0)


class DescribeLogDirsResult(Struct):
    __slots__ = ("error_code", "log_dir", "topics", "total_bytes", "usable_bytes", "is_cordoned")
    FIELDS: ClassVar[tuple[str, ...]] = ("error_code", "log_dir", "topics", "total_bytes", "usable_bytes", "is_cordoned")

    def __init__(self, error_code: int = 0, log_dir: str = "", topics: list[DescribeLogDirsTopic] = NO_ITEMS, total_bytes: int = -1, usable_bytes: int = -1, is_cordoned: bool = False) -> None:
        self.error_code = error_code
        self.log_dir = log_dir
        self.topics = [] if topics is NO_ITEMS else topics
        self.total_bytes = total_bytes
        self.usable_bytes = usable_bytes
        self.is_cordoned = is_cordoned


def _read_describe_log_dirs_result(data: bytes, position: i64, version: i64) -> tuple[DescribeLogDirsResult, i64]:
    log_dir: str
    topics: list[DescribeLogDirsTopic]
    total_bytes: int
    usable_bytes: int
    is_cordoned: bool
    error_code = read_i16_be(data, position)
    position += 2
    if version >= 2:
        log_dir, position = read_compact_string(data, position)
        count, position = read_compact_count(data, position, 3)
        topics = []
        for nth in range(count):
            topics_item, position = _read_describe_log_dirs_topic(data, position, version)
            topics.append(topics_item)
            if nth & LONG_RUN == LONG_RUN:
                give_way()
    else:
        log_dir, position = read_string(data, position)
        count, position = read_count(data, position, 6)
        topics = []
        for nth in range(count):
            topics_item, position = _read_describe_log_dirs_topic(data, position, version)
            topics.append(topics_item)
            if nth & LONG_RUN == LONG_RUN:
                give_way()
    if version >= 4:
        total_bytes = read_i64_be(data, position)
        usable_bytes = read_i64_be(data, position + 8)
        position += 16
    else:
        total_bytes = -1
        usable_bytes = -1
    if version >= 5:
        is_cordoned = data[position] != 0
        position += 1
    else:
        is_cordoned = False
    if version >= 2:
        position = skip_tags(data, position) if data[position] else position + 1
    return DescribeLogDirsResult(error_code, log_dir, topics, total_bytes, usable_bytes, is_cordoned), position


def _write_describe_log_dirs_result(writer: BytesWriter, message: DescribeLogDirsResult, version: i64) -> None:
    write_i16_be(writer, message.error_code)
    if version >= 2:
        write_compact_string(writer, message.log_dir)
        topics = message.topics
        write_uvarint(writer, len(topics) + 1)
        for nth, topics_item in enumerate(topics):
            _write_describe_log_dirs_topic(writer, topics_item, version)
            if nth & LONG_RUN == LONG_RUN:
                give_way()
    else:
        write_string(writer, message.log_dir)
        topics = message.topics
        write_i32_be(writer, len(topics))
        for nth, topics_item in enumerate(topics):
            _write_describe_log_dirs_topic(writer, topics_item, version)
            if nth & LONG_RUN == LONG_RUN:
                give_way()
    if version >= 4:
        write_i64_be(writer, message.total_bytes)
        write_i64_be(writer, message.usable_bytes)
    if version >= 5:
        write_bool(writer, message.is_cordoned)
    if version >= 2:
        writer.append(0)


class DescribeLogDirsRequest(Message):
    """API key 35, versions 1 to 5."""

    __slots__ = ("topics",)
    FIELDS: ClassVar[tuple[str, ...]] = ("topics",)
    API_KEY: ClassVar[int] = 35
    MIN_VERSION: ClassVar[int] = 1
    MAX_VERSION: ClassVar[int] = 5
    FIRST_FLEXIBLE: ClassVar[int] = 2

    def __init__(self, topics: list[DescribableLogDirTopic] | None = NO_ITEMS) -> None:
        self.topics = [] if topics is NO_ITEMS else topics

    @classmethod
    def decode(cls, data: bytes, position: int, version: int) -> tuple[DescribeLogDirsRequest, int]:
        if version < 1 or version > 5:
            raise unknown_version("DescribeLogDirsRequest", version, 1, 5)
        try:
            message, end = _read_describe_log_dirs_request(data, position, version)
        except (IndexError, ValueError) as error:
            raise malformed("DescribeLogDirsRequest", version, error) from None
        return message, end

    def encode(self, version: int) -> bytes:
        if version < 1 or version > 5:
            raise unsupported_version("DescribeLogDirsRequest", version, 1, 5)
        writer = BytesWriter()
        _write_describe_log_dirs_request(writer, self, version)
        return writer.getvalue()

    def encode_parts(self, writer_prefix: bytes, version: int) -> list[Part]:
        if version < 1 or version > 5:
            raise unsupported_version("DescribeLogDirsRequest", version, 1, 5)
        writer = BytesWriter()
        writer.write(writer_prefix)
        _write_describe_log_dirs_request(writer, self, version)
        return [writer.getvalue()]


def _read_describe_log_dirs_request(data: bytes, position: i64, version: i64) -> tuple[DescribeLogDirsRequest, i64]:
    topics: list[DescribableLogDirTopic] | None
    if version >= 2:
        count, position = read_compact_nullable_count(data, position, 3)
        if count < 0:
            topics = None
        else:
            topics = []
            for nth in range(count):
                topics_item, position = _read_describable_log_dir_topic(data, position, version)
                topics.append(topics_item)
                if nth & LONG_RUN == LONG_RUN:
                    give_way()
    else:
        count, position = read_nullable_count(data, position, 6)
        if count < 0:
            topics = None
        else:
            topics = []
            for nth in range(count):
                topics_item, position = _read_describable_log_dir_topic(data, position, version)
                topics.append(topics_item)
                if nth & LONG_RUN == LONG_RUN:
                    give_way()
    if version >= 2:
        position = skip_tags(data, position) if data[position] else position + 1
    return DescribeLogDirsRequest(topics), position


def _write_describe_log_dirs_request(writer: BytesWriter, message: DescribeLogDirsRequest, version: i64) -> None:
    if version >= 2:
        topics = message.topics
        if topics is None:
            writer.append(0)
        else:
            write_uvarint(writer, len(topics) + 1)
            for nth, topics_item in enumerate(topics):
                _write_describable_log_dir_topic(writer, topics_item, version)
                if nth & LONG_RUN == LONG_RUN:
                    give_way()
    else:
        topics = message.topics
        if topics is None:
            write_i32_be(writer, -1)
        else:
            write_i32_be(writer, len(topics))
            for nth, topics_item in enumerate(topics):
                _write_describable_log_dir_topic(writer, topics_item, version)
                if nth & LONG_RUN == LONG_RUN:
                    give_way()
    if version >= 2:
        writer.append(0)


class DescribeLogDirsResponse(Message):
    """API key 35, versions 1 to 5."""

    __slots__ = ("throttle_time_ms", "error_code", "results")
    FIELDS: ClassVar[tuple[str, ...]] = ("throttle_time_ms", "error_code", "results")
    API_KEY: ClassVar[int] = 35
    MIN_VERSION: ClassVar[int] = 1
    MAX_VERSION: ClassVar[int] = 5
    FIRST_FLEXIBLE: ClassVar[int] = 2

    def __init__(self, throttle_time_ms: int = 0, error_code: int = 0, results: list[DescribeLogDirsResult] = NO_ITEMS) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.results = [] if results is NO_ITEMS else results

    @classmethod
    def decode(cls, data: bytes, position: int, version: int) -> tuple[DescribeLogDirsResponse, int]:
        if version < 1 or version > 5:
            raise unknown_version("DescribeLogDirsResponse", version, 1, 5)
        try:
            message, end = _read_describe_log_dirs_response(data, position, version)
        except (IndexError, ValueError) as error:
            raise malformed("DescribeLogDirsResponse", version, error) from None
        return message, end

    def encode(self, version: int) -> bytes:
        if version < 1 or version > 5:
            raise unsupported_version("DescribeLogDirsResponse", version, 1, 5)
        writer = BytesWriter()
        _write_describe_log_dirs_response(writer, self, version)
        return writer.getvalue()

    def encode_parts(self, writer_prefix: bytes, version: int) -> list[Part]:
        if version < 1 or version > 5:
            raise unsupported_version("DescribeLogDirsResponse", version, 1, 5)
        writer = BytesWriter()
        writer.write(writer_prefix)
        _write_describe_log_dirs_response(writer, self, version)
        return [writer.getvalue()]


def _read_describe_log_dirs_response(data: bytes, position: i64, version: i64) -> tuple[DescribeLogDirsResponse, i64]:
    error_code: int
    results: list[DescribeLogDirsResult]
    throttle_time_ms = read_i32_be(data, position)
    position += 4
    if version >= 3:
        error_code = read_i16_be(data, position)
        position += 2
    else:
        error_code = 0
    if version >= 2:
        count, position = read_compact_count(data, position, 5)
        results = []
        for nth in range(count):
            results_item, position = _read_describe_log_dirs_result(data, position, version)
            results.append(results_item)
            if nth & LONG_RUN == LONG_RUN:
                give_way()
    else:
        count, position = read_count(data, position, 8)
        results = []
        for nth in range(count):
            results_item, position = _read_describe_log_dirs_result(data, position, version)
            results.append(results_item)
            if nth & LONG_RUN == LONG_RUN:
                give_way()
    if version >= 2:
        position = skip_tags(data, position) if data[position] else position + 1
    return DescribeLogDirsResponse(throttle_time_ms, error_code, results), position


def _write_describe_log_dirs_response(writer: BytesWriter, message: DescribeLogDirsResponse, version: i64) -> None:
    write_i32_be(writer, message.throttle_time_ms)
    if version >= 3:
        write_i16_be(writer, message.error_code)
    if version >= 2:
        results = message.results
        write_uvarint(writer, len(results) + 1)
        for nth, results_item in enumerate(results):
            _write_describe_log_dirs_result(writer, results_item, version)
            if nth & LONG_RUN == LONG_RUN:
                give_way()
    else:
        results = message.results
        write_i32_be(writer, len(results))
        for nth, results_item in enumerate(results):
            _write_describe_log_dirs_result(writer, results_item, version)
            if nth & LONG_RUN == LONG_RUN:
                give_way()
    if version >= 2:
        writer.append(0)
