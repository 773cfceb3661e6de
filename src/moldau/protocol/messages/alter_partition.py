"""AlterPartition (API key 56). Generated from schema/alter_partition.txt: do not edit."""

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
    read_i8,
    read_i32_list,
    read_uuid,
    skip_tags,
    unknown_version,
)
from moldau.protocol.writing import (
    unsupported_field,
    unsupported_version,
    write_i8,
    write_i32_list,
    write_uuid,
    write_uvarint,
)


class BrokerState(Struct):
    __slots__ = ("broker_id", "broker_epoch")
    FIELDS: ClassVar[tuple[str, ...]] = ("broker_id", "broker_epoch")

    def __init__(self, broker_id: int = 0, broker_epoch: int = -1) -> None:
        self.broker_id = broker_id
        self.broker_epoch = broker_epoch


def _read_broker_state(data: bytes, position: i64, version: i64) -> tuple[BrokerState, i64]:
    broker_id = read_i32_be(data, position)
    broker_epoch = read_i64_be(data, position + 4)
    position += 12
    position = skip_tags(data, position) if data[position] else position + 1
    return BrokerState(broker_id, broker_epoch), position


def _write_broker_state(writer: BytesWriter, message: BrokerState, version: i64) -> None:
    write_i32_be(writer, message.broker_id)
    write_i64_be(writer, message.broker_epoch)
    writer.append(0)


class PartitionData(Struct):
    __slots__ = ("partition_index", "leader_epoch", "new_isr", "new_isr_with_epochs", "leader_recovery_state", "partition_epoch")
    FIELDS: ClassVar[tuple[str, ...]] = ("partition_index", "leader_epoch", "new_isr", "new_isr_with_epochs", "leader_recovery_state", "partition_epoch")

    def __init__(self, partition_index: int = 0, leader_epoch: int = 0, new_isr: list[int] = NO_ITEMS, new_isr_with_epochs: list[BrokerState] = NO_ITEMS, leader_recovery_state: int = 0, partition_epoch: int = 0) -> None:
        self.partition_index = partition_index
        self.leader_epoch = leader_epoch
        self.new_isr = [] if new_isr is NO_ITEMS else new_isr
        self.new_isr_with_epochs = [] if new_isr_with_epochs is NO_ITEMS else new_isr_with_epochs
        self.leader_recovery_state = leader_recovery_state
        self.partition_epoch = partition_epoch


def _read_partition_data(data: bytes, position: i64, version: i64) -> tuple[PartitionData, i64]:
    new_isr: list[int]
    new_isr_with_epochs: list[BrokerState]
    partition_index = read_i32_be(data, position)
    leader_epoch = read_i32_be(data, position + 4)
    position += 8
    if version >= 3:
        new_isr = []
        count, position = read_compact_count(data, position, 13)
        new_isr_with_epochs = []
        for nth in range(count):
            new_isr_with_epochs_item, position = _read_broker_state(data, position, version)
            new_isr_with_epochs.append(new_isr_with_epochs_item)
            if nth & LONG_RUN == LONG_RUN:
                give_way()
    else:
        count, position = read_compact_count(data, position, 4)
        new_isr = read_i32_list(data, position, count)
        position += 4 * count
        new_isr_with_epochs = []
    leader_recovery_state = read_i8(data, position)
    partition_epoch = read_i32_be(data, position + 1)
    position += 5
    position = skip_tags(data, position) if data[position] else position + 1
    return PartitionData(partition_index, leader_epoch, new_isr, new_isr_with_epochs, leader_recovery_state, partition_epoch), position


def _write_partition_data(writer: BytesWriter, message: PartitionData, version: i64) -> None:
    write_i32_be(writer, message.partition_index)
    write_i32_be(writer, message.leader_epoch)
    if version >= 3:
        if message.new_isr:
            raise unsupported_field("PartitionData", "new_isr", version)
        new_isr_with_epochs = message.new_isr_with_epochs
        write_uvarint(writer, len(new_isr_with_epochs) + 1)
        for nth, new_isr_with_epochs_item in enumerate(new_isr_with_epochs):
            _write_broker_state(writer, new_isr_with_epochs_item, version)
            if nth & LONG_RUN == LONG_RUN:
                give_way()
    else:
        new_isr = message.new_isr
        write_uvarint(writer, len(new_isr) + 1)
        write_i32_list(writer, new_isr)
        if message.new_isr_with_epochs:
            raise unsupported_field("PartitionData", "new_isr_with_epochs", version)
    write_i8(writer, message.leader_recovery_state)
    write_i32_be(writer, message.partition_epoch)
    writer.append(0)


class TopicData(Struct):
    __slots__ = ("topic_id", "partitions")
    FIELDS: ClassVar[tuple[str, ...]] = ("topic_id", "partitions")

    def __init__(self, topic_id: bytes = NO_UUID, partitions: list[PartitionData] = NO_ITEMS) -> None:
        self.topic_id = topic_id
        self.partitions = [] if partitions is NO_ITEMS else partitions


def _read_topic_data(data: bytes, position: i64, version: i64) -> tuple[TopicData, i64]:
    partitions: list[PartitionData]
    topic_id = read_uuid(data, position)
    position += 16
    count, position = read_compact_count(data, position, 15)
    partitions = []
    for nth in range(count):
        partitions_item, position = _read_partition_data(data, position, version)
        partitions.append(partitions_item)
        if nth & LONG_RUN == LONG_RUN:
            give_way()
    position = skip_tags(data, position) if data[position] else position + 1
    return TopicData(topic_id, partitions), position


def _write_topic_data(writer: BytesWriter, message: TopicData, version: i64) -> None:
    write_uuid(writer, message.topic_id)
    partitions = message.partitions
    write_uvarint(writer, len(partitions) + 1)
    for nth, partitions_item in enumerate(partitions):
        _write_partition_data(writer, partitions_item, version)
        if nth & LONG_RUN == LONG_RUN:
            give_way()
    writer.append(0)


class PartitionDataResponse(Struct):
    __slots__ = ("partition_index", "error_code", "leader_id", "leader_epoch", "isr", "leader_recovery_state", "partition_epoch")
    FIELDS: ClassVar[tuple[str, ...]] = ("partition_index", "error_code", "leader_id", "leader_epoch", "isr", "leader_recovery_state", "partition_epoch")

    def __init__(self, partition_index: int = 0, error_code: int = 0, leader_id: int = 0, leader_epoch: int = 0, isr: list[int] = NO_ITEMS, leader_recovery_state: int = 0, partition_epoch: int = 0) -> None:
        self.partition_index = partition_index
        self.error_code = error_code
        self.leader_id = leader_id
        self.leader_epoch = leader_epoch
        self.isr = [] if isr is NO_ITEMS else isr
        self.leader_recovery_state = leader_recovery_state
        self.partition_epoch = partition_epoch


def _read_partition_data_response(data: bytes, position: i64, version: i64) -> tuple[PartitionDataResponse, i64]:
    isr: list[int]
    partition_index = read_i32_be(data, position)
    error_code = read_i16_be(data, position + 4)
    leader_id = read_i32_be(data, position + 6)
    leader_epoch = read_i32_be(data, position + 10)
    position += 14
    count, position = read_compact_count(data, position, 4)
    isr = read_i32_list(data, position, count)
    position += 4 * count
    leader_recovery_state = read_i8(data, position)
    partition_epoch = read_i32_be(data, position + 1)
    position += 5
    position = skip_tags(data, position) if data[position] else position + 1
    return PartitionDataResponse(partition_index, error_code, leader_id, leader_epoch, isr, leader_recovery_state, partition_epoch), position


def _write_partition_data_response(writer: BytesWriter, message: PartitionDataResponse, version: i64) -> None:
    write_i32_be(writer, message.partition_index)
    write_i16_be(writer, message.error_code)
    write_i32_be(writer, message.leader_id)
    write_i32_be(writer, message.leader_epoch)
    isr = message.isr
    write_uvarint(writer, len(isr) + 1)
    write_i32_list(writer, isr)
    write_i8(writer, message.leader_recovery_state)
    write_i32_be(writer, message.partition_epoch)
    writer.append(0)


class TopicDataResponse(Struct):
    __slots__ = ("topic_id", "partitions")
    FIELDS: ClassVar[tuple[str, ...]] = ("topic_id", "partitions")

    def __init__(self, topic_id: bytes = NO_UUID, partitions: list[PartitionDataResponse] = NO_ITEMS) -> None:
        self.topic_id = topic_id
        self.partitions = [] if partitions is NO_ITEMS else partitions


def _read_topic_data_response(data: bytes, position: i64, version: i64) -> tuple[TopicDataResponse, i64]:
    partitions: list[PartitionDataResponse]
    topic_id = read_uuid(data, position)
    position += 16
    count, position = read_compact_count(data, position, 21)
    partitions = []
    for nth in range(count):
        partitions_item, position = _read_partition_data_response(data, position, version)
        partitions.append(partitions_item)
        if nth & LONG_RUN == LONG_RUN:
            give_way()
    position = skip_tags(data, position) if data[position] else position + 1
    return TopicDataResponse(topic_id, partitions), position


def _write_topic_data_response(writer: BytesWriter, message: TopicDataResponse, version: i64) -> None:
    write_uuid(writer, message.topic_id)
    partitions = message.partitions
    write_uvarint(writer, len(partitions) + 1)
    for nth, partitions_item in enumerate(partitions):
        _write_partition_data_response(writer, partitions_item, version)
        if nth & LONG_RUN == LONG_RUN:
            give_way()
    writer.append(0)


class AlterPartitionRequest(Message):
    """API key 56, versions 2 to 3."""

    __slots__ = ("broker_id", "broker_epoch", "topics")
    FIELDS: ClassVar[tuple[str, ...]] = ("broker_id", "broker_epoch", "topics")
    API_KEY: ClassVar[int] = 56
    MIN_VERSION: ClassVar[int] = 2
    MAX_VERSION: ClassVar[int] = 3
    FIRST_FLEXIBLE: ClassVar[int] = 0

    def __init__(self, broker_id: int = 0, broker_epoch: int = -1, topics: list[TopicData] = NO_ITEMS) -> None:
        self.broker_id = broker_id
        self.broker_epoch = broker_epoch
        self.topics = [] if topics is NO_ITEMS else topics

    @classmethod
    def decode(cls, data: bytes, position: int, version: int) -> tuple[AlterPartitionRequest, int]:
        if version < 2 or version > 3:
            raise unknown_version("AlterPartitionRequest", version, 2, 3)
        try:
            message, end = _read_alter_partition_request(data, position, version)
        except (IndexError, ValueError) as error:
            raise malformed("AlterPartitionRequest", version, error) from None
        return message, end

    def encode(self, version: int) -> bytes:
        if version < 2 or version > 3:
            raise unsupported_version("AlterPartitionRequest", version, 2, 3)
        writer = BytesWriter()
        _write_alter_partition_request(writer, self, version)
        return writer.getvalue()

    def encode_parts(self, writer_prefix: bytes, version: int) -> list[Part]:
        if version < 2 or version > 3:
            raise unsupported_version("AlterPartitionRequest", version, 2, 3)
        writer = BytesWriter()
        writer.write(writer_prefix)
        _write_alter_partition_request(writer, self, version)
        return [writer.getvalue()]


def _read_alter_partition_request(data: bytes, position: i64, version: i64) -> tuple[AlterPartitionRequest, i64]:
    topics: list[TopicData]
    broker_id = read_i32_be(data, position)
    broker_epoch = read_i64_be(data, position + 4)
    position += 12
    count, position = read_compact_count(data, position, 18)
    topics = []
    for nth in range(count):
        topics_item, position = _read_topic_data(data, position, version)
        topics.append(topics_item)
        if nth & LONG_RUN == LONG_RUN:
            give_way()
    position = skip_tags(data, position) if data[position] else position + 1
    return AlterPartitionRequest(broker_id, broker_epoch, topics), position


def _write_alter_partition_request(writer: BytesWriter, message: AlterPartitionRequest, version: i64) -> None:
    write_i32_be(writer, message.broker_id)
    write_i64_be(writer, message.broker_epoch)
    topics = message.topics
    write_uvarint(writer, len(topics) + 1)
    for nth, topics_item in enumerate(topics):
        _write_topic_data(writer, topics_item, version)
        if nth & LONG_RUN == LONG_RUN:
            give_way()
    writer.append(0)


class AlterPartitionResponse(Message):
    """API key 56, versions 2 to 3."""

    __slots__ = ("throttle_time_ms", "error_code", "topics")
    FIELDS: ClassVar[tuple[str, ...]] = ("throttle_time_ms", "error_code", "topics")
    API_KEY: ClassVar[int] = 56
    MIN_VERSION: ClassVar[int] = 2
    MAX_VERSION: ClassVar[int] = 3
    FIRST_FLEXIBLE: ClassVar[int] = 0

    def __init__(self, throttle_time_ms: int = 0, error_code: int = 0, topics: list[TopicDataResponse] = NO_ITEMS) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.topics = [] if topics is NO_ITEMS else topics

    @classmethod
    def decode(cls, data: bytes, position: int, version: int) -> tuple[AlterPartitionResponse, int]:
        if version < 2 or version > 3:
            raise unknown_version("AlterPartitionResponse", version, 2, 3)
        try:
            message, end = _read_alter_partition_response(data, position, version)
        except (IndexError, ValueError) as error:
            raise malformed("AlterPartitionResponse", version, error) from None
        return message, end

    def encode(self, version: int) -> bytes:
        if version < 2 or version > 3:
            raise unsupported_version("AlterPartitionResponse", version, 2, 3)
        writer = BytesWriter()
        _write_alter_partition_response(writer, self, version)
        return writer.getvalue()

    def encode_parts(self, writer_prefix: bytes, version: int) -> list[Part]:
        if version < 2 or version > 3:
            raise unsupported_version("AlterPartitionResponse", version, 2, 3)
        writer = BytesWriter()
        writer.write(writer_prefix)
        _write_alter_partition_response(writer, self, version)
        return [writer.getvalue()]


def _read_alter_partition_response(data: bytes, position: i64, version: i64) -> tuple[AlterPartitionResponse, i64]:
    topics: list[TopicDataResponse]
    throttle_time_ms = read_i32_be(data, position)
    error_code = read_i16_be(data, position + 4)
    position += 6
    count, position = read_compact_count(data, position, 18)
    topics = []
    for nth in range(count):
        topics_item, position = _read_topic_data_response(data, position, version)
        topics.append(topics_item)
        if nth & LONG_RUN == LONG_RUN:
            give_way()
    position = skip_tags(data, position) if data[position] else position + 1
    return AlterPartitionResponse(throttle_time_ms, error_code, topics), position


def _write_alter_partition_response(writer: BytesWriter, message: AlterPartitionResponse, version: i64) -> None:
    write_i32_be(writer, message.throttle_time_ms)
    write_i16_be(writer, message.error_code)
    topics = message.topics
    write_uvarint(writer, len(topics) + 1)
    for nth, topics_item in enumerate(topics):
        _write_topic_data_response(writer, topics_item, version)
        if nth & LONG_RUN == LONG_RUN:
            give_way()
    writer.append(0)
