"""WriteTxnMarkers (API key 27). Generated from schema/write_txn_markers.txt: do not edit."""

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
    read_compact_string,
    read_i8,
    read_i32_list,
    skip_tags,
    unknown_version,
)
from moldau.protocol.writing import (
    unsupported_version,
    write_bool,
    write_compact_string,
    write_i8,
    write_i32_list,
    write_uvarint,
)


class WritableTxnMarkerTopic(Struct):
    __slots__ = ("name", "partition_indexes")
    FIELDS: ClassVar[tuple[str, ...]] = ("name", "partition_indexes")

    def __init__(self, name: str = "", partition_indexes: list[int] = NO_ITEMS) -> None:
        self.name = name
        self.partition_indexes = [] if partition_indexes is NO_ITEMS else partition_indexes


def _read_writable_txn_marker_topic(data: bytes, position: i64, version: i64) -> tuple[WritableTxnMarkerTopic, i64]:
    partition_indexes: list[int]
    name, position = read_compact_string(data, position)
    count, position = read_compact_count(data, position, 4)
    partition_indexes = read_i32_list(data, position, count)
    position += 4 * count
    position = skip_tags(data, position) if data[position] else position + 1
    return WritableTxnMarkerTopic(name, partition_indexes), position


def _write_writable_txn_marker_topic(writer: BytesWriter, message: WritableTxnMarkerTopic, version: i64) -> None:
    write_compact_string(writer, message.name)
    partition_indexes = message.partition_indexes
    write_uvarint(writer, len(partition_indexes) + 1)
    write_i32_list(writer, partition_indexes)
    writer.append(0)


class WritableTxnMarker(Struct):
    __slots__ = ("producer_id", "producer_epoch", "transaction_result", "topics", "coordinator_epoch", "transaction_version")
    FIELDS: ClassVar[tuple[str, ...]] = ("producer_id", "producer_epoch", "transaction_result", "topics", "coordinator_epoch", "transaction_version")

    def __init__(self, producer_id: int = 0, producer_epoch: int = 0, transaction_result: bool = False, topics: list[WritableTxnMarkerTopic] = NO_ITEMS, coordinator_epoch: int = 0, transaction_version: int = 0) -> None:
        self.producer_id = producer_id
        self.producer_epoch = producer_epoch
        self.transaction_result = transaction_result
        self.topics = [] if topics is NO_ITEMS else topics
        self.coordinator_epoch = coordinator_epoch
        self.transaction_version = transaction_version


def _read_writable_txn_marker(data: bytes, position: i64, version: i64) -> tuple[WritableTxnMarker, i64]:
    topics: list[WritableTxnMarkerTopic]
    transaction_version: int
    producer_id = read_i64_be(data, position)
    producer_epoch = read_i16_be(data, position + 8)
    transaction_result = data[position + 10] != 0
    position += 11
    count, position = read_compact_count(data, position, 3)
    topics = []
    for nth in range(count):
        topics_item, position = _read_writable_txn_marker_topic(data, position, version)
        topics.append(topics_item)
        if nth & LONG_RUN == LONG_RUN:
            give_way()
    coordinator_epoch = read_i32_be(data, position)
    position += 4
    if version >= 2:
        transaction_version = read_i8(data, position)
        position += 1
    else:
        transaction_version = 0
    position = skip_tags(data, position) if data[position] else position + 1
    return WritableTxnMarker(producer_id, producer_epoch, transaction_result, topics, coordinator_epoch, transaction_version), position


def _write_writable_txn_marker(writer: BytesWriter, message: WritableTxnMarker, version: i64) -> None:
    write_i64_be(writer, message.producer_id)
    write_i16_be(writer, message.producer_epoch)
    write_bool(writer, message.transaction_result)
    topics = message.topics
    write_uvarint(writer, len(topics) + 1)
    for nth, topics_item in enumerate(topics):
        _write_writable_txn_marker_topic(writer, topics_item, version)
        if nth & LONG_RUN == LONG_RUN:
            give_way()
    write_i32_be(writer, message.coordinator_epoch)
    if version >= 2:
        write_i8(writer, message.transaction_version)
    writer.append(0)


class WritableTxnMarkerPartitionResult(Struct):
    __slots__ = ("partition_index", "error_code")
    FIELDS: ClassVar[tuple[str, ...]] = ("partition_index", "error_code")

    def __init__(self, partition_index: int = 0, error_code: int = 0) -> None:
        self.partition_index = partition_index
        self.error_code = error_code


def _read_writable_txn_marker_partition_result(data: bytes, position: i64, version: i64) -> tuple[WritableTxnMarkerPartitionResult, i64]:
    partition_index = read_i32_be(data, position)
    error_code = read_i16_be(data, position + 4)
    position += 6
    position = skip_tags(data, position) if data[position] else position + 1
    return WritableTxnMarkerPartitionResult(partition_index, error_code), position


def _write_writable_txn_marker_partition_result(writer: BytesWriter, message: WritableTxnMarkerPartitionResult, version: i64) -> None:
    write_i32_be(writer, message.partition_index)
    write_i16_be(writer, message.error_code)
    writer.append(0)


class WritableTxnMarkerTopicResult(Struct):
    __slots__ = ("name", "partitions")
    FIELDS: ClassVar[tuple[str, ...]] = ("name", "partitions")

    def __init__(self, name: str = "", partitions: list[WritableTxnMarkerPartitionResult] = NO_ITEMS) -> None:
        self.name = name
        self.partitions = [] if partitions is NO_ITEMS else partitions


def _read_writable_txn_marker_topic_result(data: bytes, position: i64, version: i64) -> tuple[WritableTxnMarkerTopicResult, i64]:
    partitions: list[WritableTxnMarkerPartitionResult]
    name, position = read_compact_string(data, position)
    count, position = read_compact_count(data, position, 7)
    partitions = []
    for nth in range(count):
        partitions_item, position = _read_writable_txn_marker_partition_result(data, position, version)
        partitions.append(partitions_item)
        if nth & LONG_RUN == LONG_RUN:
            give_way()
    position = skip_tags(data, position) if data[position] else position + 1
    return WritableTxnMarkerTopicResult(name, partitions), position


def _write_writable_txn_marker_topic_result(writer: BytesWriter, message: WritableTxnMarkerTopicResult, version: i64) -> None:
    write_compact_string(writer, message.name)
    partitions = message.partitions
    write_uvarint(writer, len(partitions) + 1)
    for nth, partitions_item in enumerate(partitions):
        _write_writable_txn_marker_partition_result(writer, partitions_item, version)
        if nth & LONG_RUN == LONG_RUN:
            give_way()
    writer.append(0)


class WritableTxnMarkerResult(Struct):
    __slots__ = ("producer_id", "topics")
    FIELDS: ClassVar[tuple[str, ...]] = ("producer_id", "topics")

    def __init__(self, producer_id: int = 0, topics: list[WritableTxnMarkerTopicResult] = NO_ITEMS) -> None:
        self.producer_id = producer_id
        self.topics = [] if topics is NO_ITEMS else topics


def _read_writable_txn_marker_result(data: bytes, position: i64, version: i64) -> tuple[WritableTxnMarkerResult, i64]:
    topics: list[WritableTxnMarkerTopicResult]
    producer_id = read_i64_be(data, position)
    position += 8
    count, position = read_compact_count(data, position, 3)
    topics = []
    for nth in range(count):
        topics_item, position = _read_writable_txn_marker_topic_result(data, position, version)
        topics.append(topics_item)
        if nth & LONG_RUN == LONG_RUN:
            give_way()
    position = skip_tags(data, position) if data[position] else position + 1
    return WritableTxnMarkerResult(producer_id, topics), position


def _write_writable_txn_marker_result(writer: BytesWriter, message: WritableTxnMarkerResult, version: i64) -> None:
    write_i64_be(writer, message.producer_id)
    topics = message.topics
    write_uvarint(writer, len(topics) + 1)
    for nth, topics_item in enumerate(topics):
        _write_writable_txn_marker_topic_result(writer, topics_item, version)
        if nth & LONG_RUN == LONG_RUN:
            give_way()
    writer.append(0)


class WriteTxnMarkersRequest(Message):
    """API key 27, versions 1 to 2."""

    __slots__ = ("markers",)
    FIELDS: ClassVar[tuple[str, ...]] = ("markers",)
    API_KEY: ClassVar[int] = 27
    MIN_VERSION: ClassVar[int] = 1
    MAX_VERSION: ClassVar[int] = 2
    FIRST_FLEXIBLE: ClassVar[int] = 1

    def __init__(self, markers: list[WritableTxnMarker] = NO_ITEMS) -> None:
        self.markers = [] if markers is NO_ITEMS else markers

    @classmethod
    def decode(cls, data: bytes, position: int, version: int) -> tuple[WriteTxnMarkersRequest, int]:
        if version < 1 or version > 2:
            raise unknown_version("WriteTxnMarkersRequest", version, 1, 2)
        try:
            message, end = _read_write_txn_markers_request(data, position, version)
        except (IndexError, ValueError) as error:
            raise malformed("WriteTxnMarkersRequest", version, error) from None
        return message, end

    def encode(self, version: int) -> bytes:
        if version < 1 or version > 2:
            raise unsupported_version("WriteTxnMarkersRequest", version, 1, 2)
        writer = BytesWriter()
        _write_write_txn_markers_request(writer, self, version)
        return writer.getvalue()

    def encode_parts(self, writer_prefix: bytes, version: int) -> list[Part]:
        if version < 1 or version > 2:
            raise unsupported_version("WriteTxnMarkersRequest", version, 1, 2)
        writer = BytesWriter()
        writer.write(writer_prefix)
        _write_write_txn_markers_request(writer, self, version)
        return [writer.getvalue()]


def _read_write_txn_markers_request(data: bytes, position: i64, version: i64) -> tuple[WriteTxnMarkersRequest, i64]:
    markers: list[WritableTxnMarker]
    count, position = read_compact_count(data, position, 17)
    markers = []
    for nth in range(count):
        markers_item, position = _read_writable_txn_marker(data, position, version)
        markers.append(markers_item)
        if nth & LONG_RUN == LONG_RUN:
            give_way()
    position = skip_tags(data, position) if data[position] else position + 1
    return WriteTxnMarkersRequest(markers), position


def _write_write_txn_markers_request(writer: BytesWriter, message: WriteTxnMarkersRequest, version: i64) -> None:
    markers = message.markers
    write_uvarint(writer, len(markers) + 1)
    for nth, markers_item in enumerate(markers):
        _write_writable_txn_marker(writer, markers_item, version)
        if nth & LONG_RUN == LONG_RUN:
            give_way()
    writer.append(0)


class WriteTxnMarkersResponse(Message):
    """API key 27, versions 1 to 2."""

    __slots__ = ("markers",)
    FIELDS: ClassVar[tuple[str, ...]] = ("markers",)
    API_KEY: ClassVar[int] = 27
    MIN_VERSION: ClassVar[int] = 1
    MAX_VERSION: ClassVar[int] = 2
    FIRST_FLEXIBLE: ClassVar[int] = 1

    def __init__(self, markers: list[WritableTxnMarkerResult] = NO_ITEMS) -> None:
        self.markers = [] if markers is NO_ITEMS else markers

    @classmethod
    def decode(cls, data: bytes, position: int, version: int) -> tuple[WriteTxnMarkersResponse, int]:
        if version < 1 or version > 2:
            raise unknown_version("WriteTxnMarkersResponse", version, 1, 2)
        try:
            message, end = _read_write_txn_markers_response(data, position, version)
        except (IndexError, ValueError) as error:
            raise malformed("WriteTxnMarkersResponse", version, error) from None
        return message, end

    def encode(self, version: int) -> bytes:
        if version < 1 or version > 2:
            raise unsupported_version("WriteTxnMarkersResponse", version, 1, 2)
        writer = BytesWriter()
        _write_write_txn_markers_response(writer, self, version)
        return writer.getvalue()

    def encode_parts(self, writer_prefix: bytes, version: int) -> list[Part]:
        if version < 1 or version > 2:
            raise unsupported_version("WriteTxnMarkersResponse", version, 1, 2)
        writer = BytesWriter()
        writer.write(writer_prefix)
        _write_write_txn_markers_response(writer, self, version)
        return [writer.getvalue()]


def _read_write_txn_markers_response(data: bytes, position: i64, version: i64) -> tuple[WriteTxnMarkersResponse, i64]:
    markers: list[WritableTxnMarkerResult]
    count, position = read_compact_count(data, position, 10)
    markers = []
    for nth in range(count):
        markers_item, position = _read_writable_txn_marker_result(data, position, version)
        markers.append(markers_item)
        if nth & LONG_RUN == LONG_RUN:
            give_way()
    position = skip_tags(data, position) if data[position] else position + 1
    return WriteTxnMarkersResponse(markers), position


def _write_write_txn_markers_response(writer: BytesWriter, message: WriteTxnMarkersResponse, version: i64) -> None:
    markers = message.markers
    write_uvarint(writer, len(markers) + 1)
    for nth, markers_item in enumerate(markers):
        _write_writable_txn_marker_result(writer, markers_item, version)
        if nth & LONG_RUN == LONG_RUN:
            give_way()
    writer.append(0)
