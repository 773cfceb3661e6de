"""The transaction coordinator records. Generated from schema/transaction_coordinator_records.txt: do not edit."""

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
    read_i8,
    read_i32_list,
    read_nullable_count,
    read_string,
    read_tag,
    read_uvarint,
    skip_tags,
    unknown_version,
    wrong_tag_size,
)
from moldau.protocol.writing import (
    unsupported_field,
    unsupported_version,
    write_compact_string,
    write_i8,
    write_i32_list,
    write_string,
    write_uvarint,
)


class PartitionsSchema(Struct):
    __slots__ = ("topic", "partition_ids")
    FIELDS: ClassVar[tuple[str, ...]] = ("topic", "partition_ids")

    def __init__(self, topic: str = "", partition_ids: list[int] = NO_ITEMS) -> None:
        self.topic = topic
        self.partition_ids = [] if partition_ids is NO_ITEMS else partition_ids


def _read_partitions_schema(data: bytes, position: i64, version: i64) -> tuple[PartitionsSchema, i64]:
    topic: str
    partition_ids: list[int]
    if version >= 1:
        topic, position = read_compact_string(data, position)
        count, position = read_compact_count(data, position, 4)
        partition_ids = read_i32_list(data, position, count)
        position += 4 * count
    else:
        topic, position = read_string(data, position)
        count, position = read_count(data, position, 4)
        partition_ids = read_i32_list(data, position, count)
        position += 4 * count
    if version >= 1:
        position = skip_tags(data, position) if data[position] else position + 1
    return PartitionsSchema(topic, partition_ids), position


def _write_partitions_schema(writer: BytesWriter, message: PartitionsSchema, version: i64) -> None:
    if version >= 1:
        write_compact_string(writer, message.topic)
        partition_ids = message.partition_ids
        write_uvarint(writer, len(partition_ids) + 1)
        write_i32_list(writer, partition_ids)
    else:
        write_string(writer, message.topic)
        partition_ids = message.partition_ids
        write_i32_be(writer, len(partition_ids))
        write_i32_list(writer, partition_ids)
    if version >= 1:
        writer.append(0)


class TransactionLogKey(Message):
    """Key of record type 0, version 0."""

    __slots__ = ("transactional_id",)
    FIELDS: ClassVar[tuple[str, ...]] = ("transactional_id",)
    RECORD_KEY: ClassVar[int] = 0
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FIRST_FLEXIBLE: ClassVar[int] = -1

    def __init__(self, transactional_id: str = "") -> None:
        self.transactional_id = transactional_id

    @classmethod
    def decode(cls, data: bytes, position: int, version: int) -> tuple[TransactionLogKey, int]:
        if version < 0 or version > 0:
            raise unknown_version("TransactionLogKey", version, 0, 0)
        try:
            message, end = _read_transaction_log_key(data, position, version)
        except (IndexError, ValueError) as error:
            raise malformed("TransactionLogKey", version, error) from None
        return message, end

    def encode(self, version: int) -> bytes:
        if version < 0 or version > 0:
            raise unsupported_version("TransactionLogKey", version, 0, 0)
        writer = BytesWriter()
        _write_transaction_log_key(writer, self, version)
        return writer.getvalue()

    def encode_parts(self, writer_prefix: bytes, version: int) -> list[Part]:
        if version < 0 or version > 0:
            raise unsupported_version("TransactionLogKey", version, 0, 0)
        writer = BytesWriter()
        writer.write(writer_prefix)
        _write_transaction_log_key(writer, self, version)
        return [writer.getvalue()]


def _read_transaction_log_key(data: bytes, position: i64, version: i64) -> tuple[TransactionLogKey, i64]:
    transactional_id, position = read_string(data, position)
    return TransactionLogKey(transactional_id), position


def _write_transaction_log_key(writer: BytesWriter, message: TransactionLogKey, version: i64) -> None:
    write_string(writer, message.transactional_id)


class TransactionLogValue(Message):
    """Value of record type 0, versions 0 to 1."""

    __slots__ = ("producer_id", "previous_producer_id", "next_producer_id", "producer_epoch", "next_producer_epoch", "transaction_timeout_ms", "transaction_status", "transaction_partitions", "transaction_last_update_timestamp_ms", "transaction_start_timestamp_ms", "client_transaction_version")
    FIELDS: ClassVar[tuple[str, ...]] = ("producer_id", "previous_producer_id", "next_producer_id", "producer_epoch", "next_producer_epoch", "transaction_timeout_ms", "transaction_status", "transaction_partitions", "transaction_last_update_timestamp_ms", "transaction_start_timestamp_ms", "client_transaction_version")
    RECORD_KEY: ClassVar[int] = 0
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 1
    FIRST_FLEXIBLE: ClassVar[int] = 1

    def __init__(self, producer_id: int = 0, previous_producer_id: int = -1, next_producer_id: int = -1, producer_epoch: int = 0, next_producer_epoch: int = -1, transaction_timeout_ms: int = 0, transaction_status: int = 0, transaction_partitions: list[PartitionsSchema] | None = NO_ITEMS, transaction_last_update_timestamp_ms: int = 0, transaction_start_timestamp_ms: int = 0, client_transaction_version: int = 0) -> None:
        self.producer_id = producer_id
        self.previous_producer_id = previous_producer_id
        self.next_producer_id = next_producer_id
        self.producer_epoch = producer_epoch
        self.next_producer_epoch = next_producer_epoch
        self.transaction_timeout_ms = transaction_timeout_ms
        self.transaction_status = transaction_status
        self.transaction_partitions = [] if transaction_partitions is NO_ITEMS else transaction_partitions
        self.transaction_last_update_timestamp_ms = transaction_last_update_timestamp_ms
        self.transaction_start_timestamp_ms = transaction_start_timestamp_ms
        self.client_transaction_version = client_transaction_version

    @classmethod
    def decode(cls, data: bytes, position: int, version: int) -> tuple[TransactionLogValue, int]:
        if version < 0 or version > 1:
            raise unknown_version("TransactionLogValue", version, 0, 1)
        try:
            message, end = _read_transaction_log_value(data, position, version)
        except (IndexError, ValueError) as error:
            raise malformed("TransactionLogValue", version, error) from None
        return message, end

    def encode(self, version: int) -> bytes:
        if version < 0 or version > 1:
            raise unsupported_version("TransactionLogValue", version, 0, 1)
        writer = BytesWriter()
        _write_transaction_log_value(writer, self, version)
        return writer.getvalue()

    def encode_parts(self, writer_prefix: bytes, version: int) -> list[Part]:
        if version < 0 or version > 1:
            raise unsupported_version("TransactionLogValue", version, 0, 1)
        writer = BytesWriter()
        writer.write(writer_prefix)
        _write_transaction_log_value(writer, self, version)
        return [writer.getvalue()]


def _read_transaction_log_value(data: bytes, position: i64, version: i64) -> tuple[TransactionLogValue, i64]:
    previous_producer_id: int = -1
    next_producer_id: int = -1
    next_producer_epoch: int = -1
    transaction_partitions: list[PartitionsSchema] | None
    client_transaction_version: int = 0
    producer_id = read_i64_be(data, position)
    producer_epoch = read_i16_be(data, position + 8)
    transaction_timeout_ms = read_i32_be(data, position + 10)
    transaction_status = read_i8(data, position + 14)
    position += 15
    if version >= 1:
        count, position = read_compact_nullable_count(data, position, 3)
        if count < 0:
            transaction_partitions = None
        else:
            transaction_partitions = []
            for nth in range(count):
                transaction_partitions_item, position = _read_partitions_schema(data, position, version)
                transaction_partitions.append(transaction_partitions_item)
                if nth & LONG_RUN == LONG_RUN:
                    give_way()
    else:
        count, position = read_nullable_count(data, position, 6)
        if count < 0:
            transaction_partitions = None
        else:
            transaction_partitions = []
            for nth in range(count):
                transaction_partitions_item, position = _read_partitions_schema(data, position, version)
                transaction_partitions.append(transaction_partitions_item)
                if nth & LONG_RUN == LONG_RUN:
                    give_way()
    transaction_last_update_timestamp_ms = read_i64_be(data, position)
    transaction_start_timestamp_ms = read_i64_be(data, position + 8)
    position += 16
    if version >= 1:
        if data[position]:
            tags, position = read_uvarint(data, position)
            for _ in range(tags):
                tag, position, end = read_tag(data, position)
                if tag == 0:
                    previous_producer_id = read_i64_be(data, position)
                    position += 8
                elif tag == 1:
                    next_producer_id = read_i64_be(data, position)
                    position += 8
                elif tag == 2:
                    client_transaction_version = read_i16_be(data, position)
                    position += 2
                elif tag == 3:
                    next_producer_epoch = read_i16_be(data, position)
                    position += 2
                else:
                    position = end
                if position != end:
                    raise wrong_tag_size(tag)
        else:
            position += 1
    return TransactionLogValue(producer_id, previous_producer_id, next_producer_id, producer_epoch, next_producer_epoch, transaction_timeout_ms, transaction_status, transaction_partitions, transaction_last_update_timestamp_ms, transaction_start_timestamp_ms, client_transaction_version), position


def _write_transaction_log_value(writer: BytesWriter, message: TransactionLogValue, version: i64) -> None:
    write_i64_be(writer, message.producer_id)
    if version < 1:
        if message.previous_producer_id != -1:
            raise unsupported_field("TransactionLogValue", "previous_producer_id", version)
        if message.next_producer_id != -1:
            raise unsupported_field("TransactionLogValue", "next_producer_id", version)
    write_i16_be(writer, message.producer_epoch)
    if version < 1:
        if message.next_producer_epoch != -1:
            raise unsupported_field("TransactionLogValue", "next_producer_epoch", version)
    write_i32_be(writer, message.transaction_timeout_ms)
    write_i8(writer, message.transaction_status)
    if version >= 1:
        transaction_partitions = message.transaction_partitions
        if transaction_partitions is None:
            writer.append(0)
        else:
            write_uvarint(writer, len(transaction_partitions) + 1)
            for nth, transaction_partitions_item in enumerate(transaction_partitions):
                _write_partitions_schema(writer, transaction_partitions_item, version)
                if nth & LONG_RUN == LONG_RUN:
                    give_way()
    else:
        transaction_partitions = message.transaction_partitions
        if transaction_partitions is None:
            write_i32_be(writer, -1)
        else:
            write_i32_be(writer, len(transaction_partitions))
            for nth, transaction_partitions_item in enumerate(transaction_partitions):
                _write_partitions_schema(writer, transaction_partitions_item, version)
                if nth & LONG_RUN == LONG_RUN:
                    give_way()
    write_i64_be(writer, message.transaction_last_update_timestamp_ms)
    write_i64_be(writer, message.transaction_start_timestamp_ms)
    if version < 1:
        if message.client_transaction_version != 0:
            raise unsupported_field("TransactionLogValue", "client_transaction_version", version)
    if version >= 1:
        count = 0
        if message.previous_producer_id != -1:
            count += 1
        if message.next_producer_id != -1:
            count += 1
        if message.client_transaction_version != 0:
            count += 1
        if message.next_producer_epoch != -1:
            count += 1
        writer.append(count)
        if count:
            if message.previous_producer_id != -1:
                writer.append(0)
                writer.append(8)
                write_i64_be(writer, message.previous_producer_id)
            if message.next_producer_id != -1:
                writer.append(1)
                writer.append(8)
                write_i64_be(writer, message.next_producer_id)
            if message.client_transaction_version != 0:
                writer.append(2)
                writer.append(2)
                write_i16_be(writer, message.client_transaction_version)
            if message.next_producer_epoch != -1:
                writer.append(3)
                writer.append(2)
                write_i16_be(writer, message.next_producer_epoch)
