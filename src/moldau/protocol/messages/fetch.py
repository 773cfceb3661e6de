"""Fetch (API key 1). Generated from schema/fetch.txt: do not edit."""

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
from moldau.protocol.message import NO_ITEMS, Message, PackedRows, Struct
from moldau.protocol.reading import (
    LONG_RUN,
    malformed,
    read_compact_count,
    read_compact_nullable_count,
    read_compact_nullable_records,
    read_compact_nullable_string,
    read_compact_string,
    read_count,
    read_i8,
    read_i32_list,
    read_nullable_count,
    read_nullable_records,
    read_rows,
    read_string,
    read_tag,
    read_uuid,
    read_uvarint,
    skip_tags,
    unknown_version,
    wrong_tag_size,
)
from moldau.protocol.writing import (
    unsupported_field,
    unsupported_version,
    write_compact_nullable_records,
    write_compact_nullable_string,
    write_compact_rows,
    write_compact_string,
    write_i8,
    write_i32_list,
    write_nullable_records,
    write_rows,
    write_string,
    write_tag,
    write_uuid,
    write_uvarint,
)


class ReplicaState(Struct):
    __slots__ = ("replica_id", "replica_epoch")
    FIELDS: ClassVar[tuple[str, ...]] = ("replica_id", "replica_epoch")

    def __init__(self, replica_id: int = -1, replica_epoch: int = -1) -> None:
        self.replica_id = replica_id
        self.replica_epoch = replica_epoch


def _read_replica_state(data: bytes, position: i64, version: i64) -> tuple[ReplicaState, i64]:
    replica_id = read_i32_be(data, position)
    replica_epoch = read_i64_be(data, position + 4)
    position += 12
    position = skip_tags(data, position) if data[position] else position + 1
    return ReplicaState(replica_id, replica_epoch), position


def _write_replica_state(writer: BytesWriter, message: ReplicaState, version: i64) -> None:
    write_i32_be(writer, message.replica_id)
    write_i64_be(writer, message.replica_epoch)
    writer.append(0)


class FetchPartition(Struct):
    __slots__ = ("partition", "current_leader_epoch", "fetch_offset", "last_fetched_epoch", "log_start_offset", "partition_max_bytes", "replica_directory_id", "high_watermark")
    FIELDS: ClassVar[tuple[str, ...]] = ("partition", "current_leader_epoch", "fetch_offset", "last_fetched_epoch", "log_start_offset", "partition_max_bytes", "replica_directory_id", "high_watermark")

    def __init__(self, partition: int = 0, current_leader_epoch: int = -1, fetch_offset: int = 0, last_fetched_epoch: int = -1, log_start_offset: int = -1, partition_max_bytes: int = 0, replica_directory_id: bytes = NO_UUID, high_watermark: int = 9223372036854775807) -> None:
        self.partition = partition
        self.current_leader_epoch = current_leader_epoch
        self.fetch_offset = fetch_offset
        self.last_fetched_epoch = last_fetched_epoch
        self.log_start_offset = log_start_offset
        self.partition_max_bytes = partition_max_bytes
        self.replica_directory_id = replica_directory_id
        self.high_watermark = high_watermark


def _read_fetch_partition(data: bytes, position: i64, version: i64) -> tuple[FetchPartition, i64]:
    current_leader_epoch: int
    last_fetched_epoch: int
    log_start_offset: int
    replica_directory_id: bytes = NO_UUID
    high_watermark: int = 9223372036854775807
    partition = read_i32_be(data, position)
    position += 4
    if version >= 9:
        current_leader_epoch = read_i32_be(data, position)
        position += 4
    else:
        current_leader_epoch = -1
    fetch_offset = read_i64_be(data, position)
    position += 8
    if version >= 12:
        last_fetched_epoch = read_i32_be(data, position)
        position += 4
    else:
        last_fetched_epoch = -1
    if version >= 5:
        log_start_offset = read_i64_be(data, position)
        position += 8
    else:
        log_start_offset = -1
    partition_max_bytes = read_i32_be(data, position)
    position += 4
    if version >= 12:
        if data[position]:
            tags, position = read_uvarint(data, position)
            for _ in range(tags):
                tag, position, end = read_tag(data, position)
                if tag == 0 and version >= 17:
                    replica_directory_id = read_uuid(data, position)
                    position += 16
                elif tag == 1 and version >= 18:
                    high_watermark = read_i64_be(data, position)
                    position += 8
                else:
                    position = end
                if position != end:
                    raise wrong_tag_size(tag)
        else:
            position += 1
    return FetchPartition(partition, current_leader_epoch, fetch_offset, last_fetched_epoch, log_start_offset, partition_max_bytes, replica_directory_id, high_watermark), position


def _write_fetch_partition(writer: BytesWriter, message: FetchPartition, version: i64) -> None:
    write_i32_be(writer, message.partition)
    if version >= 9:
        write_i32_be(writer, message.current_leader_epoch)
    write_i64_be(writer, message.fetch_offset)
    if version >= 12:
        write_i32_be(writer, message.last_fetched_epoch)
    else:
        if message.last_fetched_epoch != -1:
            raise unsupported_field("FetchPartition", "last_fetched_epoch", version)
    if version >= 5:
        write_i64_be(writer, message.log_start_offset)
    write_i32_be(writer, message.partition_max_bytes)
    if version >= 12:
        count = 0
        if version >= 17 and message.replica_directory_id != NO_UUID:
            count += 1
        if version >= 18 and message.high_watermark != 9223372036854775807:
            count += 1
        writer.append(count)
        if count:
            if version >= 17 and message.replica_directory_id != NO_UUID:
                writer.append(0)
                writer.append(16)
                write_uuid(writer, message.replica_directory_id)
            if version >= 18 and message.high_watermark != 9223372036854775807:
                writer.append(1)
                writer.append(8)
                write_i64_be(writer, message.high_watermark)


class FetchTopic(Struct):
    __slots__ = ("topic", "topic_id", "partitions")
    FIELDS: ClassVar[tuple[str, ...]] = ("topic", "topic_id", "partitions")

    def __init__(self, topic: str = "", topic_id: bytes = NO_UUID, partitions: list[FetchPartition] = NO_ITEMS) -> None:
        self.topic = topic
        self.topic_id = topic_id
        self.partitions = [] if partitions is NO_ITEMS else partitions


def _read_fetch_topic(data: bytes, position: i64, version: i64) -> tuple[FetchTopic, i64]:
    topic: str
    topic_id: bytes
    partitions: list[FetchPartition]
    if version >= 13:
        topic = ""
    elif version >= 12:
        topic, position = read_compact_string(data, position)
    else:
        topic, position = read_string(data, position)
    if version >= 13:
        topic_id = read_uuid(data, position)
        position += 16
    else:
        topic_id = NO_UUID
    if version >= 12:
        count, position = read_compact_count(data, position, 33)
        partitions = []
        for nth in range(count):
            partitions_item, position = _read_fetch_partition(data, position, version)
            partitions.append(partitions_item)
            if nth & LONG_RUN == LONG_RUN:
                give_way()
    else:
        count, position = read_count(data, position, 16)
        partitions = []
        for nth in range(count):
            partitions_item, position = _read_fetch_partition(data, position, version)
            partitions.append(partitions_item)
            if nth & LONG_RUN == LONG_RUN:
                give_way()
    if version >= 12:
        position = skip_tags(data, position) if data[position] else position + 1
    return FetchTopic(topic, topic_id, partitions), position


def _write_fetch_topic(writer: BytesWriter, message: FetchTopic, version: i64) -> None:
    if version >= 13:
        pass
    elif version >= 12:
        write_compact_string(writer, message.topic)
    else:
        write_string(writer, message.topic)
    if version >= 13:
        write_uuid(writer, message.topic_id)
    if version >= 12:
        partitions = message.partitions
        write_uvarint(writer, len(partitions) + 1)
        for nth, partitions_item in enumerate(partitions):
            _write_fetch_partition(writer, partitions_item, version)
            if nth & LONG_RUN == LONG_RUN:
                give_way()
    else:
        partitions = message.partitions
        write_i32_be(writer, len(partitions))
        for nth, partitions_item in enumerate(partitions):
            _write_fetch_partition(writer, partitions_item, version)
            if nth & LONG_RUN == LONG_RUN:
                give_way()
    if version >= 12:
        writer.append(0)


class ForgottenTopic(Struct):
    __slots__ = ("topic", "topic_id", "partitions")
    FIELDS: ClassVar[tuple[str, ...]] = ("topic", "topic_id", "partitions")

    def __init__(self, topic: str = "", topic_id: bytes = NO_UUID, partitions: list[int] = NO_ITEMS) -> None:
        self.topic = topic
        self.topic_id = topic_id
        self.partitions = [] if partitions is NO_ITEMS else partitions


def _read_forgotten_topic(data: bytes, position: i64, version: i64) -> tuple[ForgottenTopic, i64]:
    topic: str
    topic_id: bytes
    partitions: list[int]
    if version >= 13:
        topic = ""
    elif version >= 12:
        topic, position = read_compact_string(data, position)
    else:
        topic, position = read_string(data, position)
    if version >= 13:
        topic_id = read_uuid(data, position)
        position += 16
    else:
        topic_id = NO_UUID
    if version >= 12:
        count, position = read_compact_count(data, position, 4)
        partitions = read_i32_list(data, position, count)
        position += 4 * count
    else:
        count, position = read_count(data, position, 4)
        partitions = read_i32_list(data, position, count)
        position += 4 * count
    if version >= 12:
        position = skip_tags(data, position) if data[position] else position + 1
    return ForgottenTopic(topic, topic_id, partitions), position


def _write_forgotten_topic(writer: BytesWriter, message: ForgottenTopic, version: i64) -> None:
    if version >= 13:
        pass
    elif version >= 12:
        write_compact_string(writer, message.topic)
    else:
        write_string(writer, message.topic)
    if version >= 13:
        write_uuid(writer, message.topic_id)
    if version >= 12:
        partitions = message.partitions
        write_uvarint(writer, len(partitions) + 1)
        write_i32_list(writer, partitions)
    else:
        partitions = message.partitions
        write_i32_be(writer, len(partitions))
        write_i32_list(writer, partitions)
    if version >= 12:
        writer.append(0)


class EpochEndOffset(Struct):
    __slots__ = ("epoch", "end_offset")
    FIELDS: ClassVar[tuple[str, ...]] = ("epoch", "end_offset")

    def __init__(self, epoch: int = -1, end_offset: int = -1) -> None:
        self.epoch = epoch
        self.end_offset = end_offset


def _read_epoch_end_offset(data: bytes, position: i64, version: i64) -> tuple[EpochEndOffset, i64]:
    epoch = read_i32_be(data, position)
    end_offset = read_i64_be(data, position + 4)
    position += 12
    position = skip_tags(data, position) if data[position] else position + 1
    return EpochEndOffset(epoch, end_offset), position


def _write_epoch_end_offset(writer: BytesWriter, message: EpochEndOffset, version: i64) -> None:
    write_i32_be(writer, message.epoch)
    write_i64_be(writer, message.end_offset)
    writer.append(0)


class LeaderIdAndEpoch(Struct):
    __slots__ = ("leader_id", "leader_epoch")
    FIELDS: ClassVar[tuple[str, ...]] = ("leader_id", "leader_epoch")

    def __init__(self, leader_id: int = -1, leader_epoch: int = -1) -> None:
        self.leader_id = leader_id
        self.leader_epoch = leader_epoch


def _read_leader_id_and_epoch(data: bytes, position: i64, version: i64) -> tuple[LeaderIdAndEpoch, i64]:
    leader_id = read_i32_be(data, position)
    leader_epoch = read_i32_be(data, position + 4)
    position += 8
    position = skip_tags(data, position) if data[position] else position + 1
    return LeaderIdAndEpoch(leader_id, leader_epoch), position


def _write_leader_id_and_epoch(writer: BytesWriter, message: LeaderIdAndEpoch, version: i64) -> None:
    write_i32_be(writer, message.leader_id)
    write_i32_be(writer, message.leader_epoch)
    writer.append(0)


class SnapshotId(Struct):
    __slots__ = ("end_offset", "epoch")
    FIELDS: ClassVar[tuple[str, ...]] = ("end_offset", "epoch")

    def __init__(self, end_offset: int = -1, epoch: int = -1) -> None:
        self.end_offset = end_offset
        self.epoch = epoch


def _read_snapshot_id(data: bytes, position: i64, version: i64) -> tuple[SnapshotId, i64]:
    end_offset = read_i64_be(data, position)
    epoch = read_i32_be(data, position + 8)
    position += 12
    position = skip_tags(data, position) if data[position] else position + 1
    return SnapshotId(end_offset, epoch), position


def _write_snapshot_id(writer: BytesWriter, message: SnapshotId, version: i64) -> None:
    write_i64_be(writer, message.end_offset)
    write_i32_be(writer, message.epoch)
    writer.append(0)


class AbortedTransaction(Struct):
    __slots__ = ("producer_id", "first_offset")
    FIELDS: ClassVar[tuple[str, ...]] = ("producer_id", "first_offset")

    def __init__(self, producer_id: int = 0, first_offset: int = 0) -> None:
        self.producer_id = producer_id
        self.first_offset = first_offset


def _read_aborted_transaction(data: bytes, position: i64, version: i64) -> tuple[AbortedTransaction, i64]:
    producer_id = read_i64_be(data, position)
    first_offset = read_i64_be(data, position + 8)
    position += 16
    if version >= 12:
        position = skip_tags(data, position) if data[position] else position + 1
    return AbortedTransaction(producer_id, first_offset), position


def _write_aborted_transaction(writer: BytesWriter, message: AbortedTransaction, version: i64) -> None:
    write_i64_be(writer, message.producer_id)
    write_i64_be(writer, message.first_offset)
    if version >= 12:
        writer.append(0)


class PartitionData(Struct):
    __slots__ = ("partition_index", "error_code", "high_watermark", "last_stable_offset", "log_start_offset", "diverging_epoch", "current_leader", "snapshot_id", "_aborted_transactions", "preferred_read_replica", "records", "packed_aborted_transactions")
    FIELDS: ClassVar[tuple[str, ...]] = ("partition_index", "error_code", "high_watermark", "last_stable_offset", "log_start_offset", "diverging_epoch", "current_leader", "snapshot_id", "aborted_transactions", "preferred_read_replica", "records")

    def __init__(self, partition_index: int = 0, error_code: int = 0, high_watermark: int = 0, last_stable_offset: int = -1, log_start_offset: int = -1, diverging_epoch: EpochEndOffset | None = None, current_leader: LeaderIdAndEpoch | None = None, snapshot_id: SnapshotId | None = None, aborted_transactions: list[AbortedTransaction] | None = NO_ITEMS, preferred_read_replica: int = -1, records: Part | None = None) -> None:
        self.packed_aborted_transactions: PackedRows | None = None
        self.partition_index = partition_index
        self.error_code = error_code
        self.high_watermark = high_watermark
        self.last_stable_offset = last_stable_offset
        self.log_start_offset = log_start_offset
        self.diverging_epoch = diverging_epoch
        self.current_leader = current_leader
        self.snapshot_id = snapshot_id
        self._aborted_transactions: list[AbortedTransaction] | None = [] if aborted_transactions is NO_ITEMS else aborted_transactions
        self.preferred_read_replica = preferred_read_replica
        self.records = records

    @property
    def aborted_transactions(self) -> list[AbortedTransaction] | None:
        packed = self.packed_aborted_transactions
        if packed is not None:
            data = packed.data
            self._aborted_transactions = [
                AbortedTransaction(read_i64_be(data, at), read_i64_be(data, at + 8))
                for at in range(packed.at, len(data), packed.row_bytes)
            ]
            self.packed_aborted_transactions = None
        return self._aborted_transactions

    @aborted_transactions.setter
    def aborted_transactions(self, items: list[AbortedTransaction] | None) -> None:
        self._aborted_transactions = items
        self.packed_aborted_transactions = None


def _read_partition_data(data: bytes, position: i64, version: i64) -> tuple[PartitionData, i64]:
    packed_aborted_transactions: PackedRows | None = None
    log_start_offset: int
    diverging_epoch: EpochEndOffset | None = None
    current_leader: LeaderIdAndEpoch | None = None
    snapshot_id: SnapshotId | None = None
    aborted_transactions: list[AbortedTransaction] | None
    preferred_read_replica: int
    partition_index = read_i32_be(data, position)
    error_code = read_i16_be(data, position + 4)
    high_watermark = read_i64_be(data, position + 6)
    last_stable_offset = read_i64_be(data, position + 14)
    position += 22
    if version >= 5:
        log_start_offset = read_i64_be(data, position)
        position += 8
    else:
        log_start_offset = -1
    if version >= 12:
        count, position = read_compact_nullable_count(data, position, 17)
        if count < 0:
            aborted_transactions = None
        else:
            packed_aborted_transactions = read_rows(data, position, count, 16, True)
            if packed_aborted_transactions is not None:
                aborted_transactions = []
                position += 17 * count
            else:
                aborted_transactions = []
                for nth in range(count):
                    aborted_transactions_item, position = _read_aborted_transaction(data, position, version)
                    aborted_transactions.append(aborted_transactions_item)
                    if nth & LONG_RUN == LONG_RUN:
                        give_way()
    else:
        count, position = read_nullable_count(data, position, 16)
        if count < 0:
            aborted_transactions = None
        else:
            packed_aborted_transactions = read_rows(data, position, count, 16, False)
            if packed_aborted_transactions is not None:
                aborted_transactions = []
                position += 16 * count
            else:
                aborted_transactions = []
                for nth in range(count):
                    aborted_transactions_item, position = _read_aborted_transaction(data, position, version)
                    aborted_transactions.append(aborted_transactions_item)
                    if nth & LONG_RUN == LONG_RUN:
                        give_way()
    if version >= 11:
        preferred_read_replica = read_i32_be(data, position)
        position += 4
    else:
        preferred_read_replica = -1
    if version >= 12:
        records, position = read_compact_nullable_records(data, position)
    else:
        records, position = read_nullable_records(data, position)
    if version >= 12:
        if data[position]:
            tags, position = read_uvarint(data, position)
            for _ in range(tags):
                tag, position, end = read_tag(data, position)
                if tag == 0:
                    diverging_epoch, position = _read_epoch_end_offset(data, position, version)
                elif tag == 1:
                    current_leader, position = _read_leader_id_and_epoch(data, position, version)
                elif tag == 2:
                    snapshot_id, position = _read_snapshot_id(data, position, version)
                else:
                    position = end
                if position != end:
                    raise wrong_tag_size(tag)
        else:
            position += 1
    message = PartitionData(partition_index, error_code, high_watermark, last_stable_offset, log_start_offset, diverging_epoch, current_leader, snapshot_id, aborted_transactions, preferred_read_replica, records)
    message.packed_aborted_transactions = packed_aborted_transactions
    return message, position


def _write_partition_data(writer: BytesWriter, parts: list[Part] | None, message: PartitionData, version: i64) -> None:
    write_i32_be(writer, message.partition_index)
    write_i16_be(writer, message.error_code)
    write_i64_be(writer, message.high_watermark)
    write_i64_be(writer, message.last_stable_offset)
    if version >= 5:
        write_i64_be(writer, message.log_start_offset)
    if version >= 12:
        packed = message.packed_aborted_transactions
        if packed is not None:
            write_compact_rows(writer, packed, 16)
        elif (aborted_transactions := message.aborted_transactions) is None:
            writer.append(0)
        else:
            write_uvarint(writer, len(aborted_transactions) + 1)
            for nth, aborted_transactions_item in enumerate(aborted_transactions):
                _write_aborted_transaction(writer, aborted_transactions_item, version)
                if nth & LONG_RUN == LONG_RUN:
                    give_way()
    else:
        if message.diverging_epoch is not None and (message.diverging_epoch.epoch != -1 or message.diverging_epoch.end_offset != -1):
            raise unsupported_field("PartitionData", "diverging_epoch", version)
        if message.current_leader is not None and (message.current_leader.leader_id != -1 or message.current_leader.leader_epoch != -1):
            raise unsupported_field("PartitionData", "current_leader", version)
        if message.snapshot_id is not None and (message.snapshot_id.end_offset != -1 or message.snapshot_id.epoch != -1):
            raise unsupported_field("PartitionData", "snapshot_id", version)
        packed = message.packed_aborted_transactions
        if packed is not None:
            write_rows(writer, packed, 16)
        elif (aborted_transactions := message.aborted_transactions) is None:
            write_i32_be(writer, -1)
        else:
            write_i32_be(writer, len(aborted_transactions))
            for nth, aborted_transactions_item in enumerate(aborted_transactions):
                _write_aborted_transaction(writer, aborted_transactions_item, version)
                if nth & LONG_RUN == LONG_RUN:
                    give_way()
    if version >= 11:
        write_i32_be(writer, message.preferred_read_replica)
    else:
        if message.preferred_read_replica != -1:
            raise unsupported_field("PartitionData", "preferred_read_replica", version)
    if version >= 12:
        write_compact_nullable_records(writer, parts, message.records)
    else:
        write_nullable_records(writer, parts, message.records)
    if version >= 12:
        count = 0
        if message.diverging_epoch is not None and (message.diverging_epoch.epoch != -1 or message.diverging_epoch.end_offset != -1):
            count += 1
        if message.current_leader is not None and (message.current_leader.leader_id != -1 or message.current_leader.leader_epoch != -1):
            count += 1
        if message.snapshot_id is not None and (message.snapshot_id.end_offset != -1 or message.snapshot_id.epoch != -1):
            count += 1
        writer.append(count)
        if count:
            if message.diverging_epoch is not None and (message.diverging_epoch.epoch != -1 or message.diverging_epoch.end_offset != -1):
                body = BytesWriter()
                _write_epoch_end_offset(body, message.diverging_epoch, version)
                write_tag(writer, 0, body)
            if message.current_leader is not None and (message.current_leader.leader_id != -1 or message.current_leader.leader_epoch != -1):
                body = BytesWriter()
                _write_leader_id_and_epoch(body, message.current_leader, version)
                write_tag(writer, 1, body)
            if message.snapshot_id is not None and (message.snapshot_id.end_offset != -1 or message.snapshot_id.epoch != -1):
                body = BytesWriter()
                _write_snapshot_id(body, message.snapshot_id, version)
                write_tag(writer, 2, body)


class FetchableTopicResponse(Struct):
    __slots__ = ("topic", "topic_id", "partitions")
    FIELDS: ClassVar[tuple[str, ...]] = ("topic", "topic_id", "partitions")

    def __init__(self, topic: str = "", topic_id: bytes = NO_UUID, partitions: list[PartitionData] = NO_ITEMS) -> None:
        self.topic = topic
        self.topic_id = topic_id
        self.partitions = [] if partitions is NO_ITEMS else partitions


def _read_fetchable_topic_response(data: bytes, position: i64, version: i64) -> tuple[FetchableTopicResponse, i64]:
    topic: str
    topic_id: bytes
    partitions: list[PartitionData]
    if version >= 13:
        topic = ""
    elif version >= 12:
        topic, position = read_compact_string(data, position)
    else:
        topic, position = read_string(data, position)
    if version >= 13:
        topic_id = read_uuid(data, position)
        position += 16
    else:
        topic_id = NO_UUID
    if version >= 12:
        count, position = read_compact_count(data, position, 37)
        partitions = []
        for nth in range(count):
            partitions_item, position = _read_partition_data(data, position, version)
            partitions.append(partitions_item)
            if nth & LONG_RUN == LONG_RUN:
                give_way()
    else:
        count, position = read_count(data, position, 30)
        partitions = []
        for nth in range(count):
            partitions_item, position = _read_partition_data(data, position, version)
            partitions.append(partitions_item)
            if nth & LONG_RUN == LONG_RUN:
                give_way()
    if version >= 12:
        position = skip_tags(data, position) if data[position] else position + 1
    return FetchableTopicResponse(topic, topic_id, partitions), position


def _write_fetchable_topic_response(writer: BytesWriter, parts: list[Part] | None, message: FetchableTopicResponse, version: i64) -> None:
    if version >= 13:
        pass
    elif version >= 12:
        write_compact_string(writer, message.topic)
    else:
        write_string(writer, message.topic)
    if version >= 13:
        write_uuid(writer, message.topic_id)
    if version >= 12:
        partitions = message.partitions
        write_uvarint(writer, len(partitions) + 1)
        for nth, partitions_item in enumerate(partitions):
            _write_partition_data(writer, parts, partitions_item, version)
            if nth & LONG_RUN == LONG_RUN:
                give_way()
    else:
        partitions = message.partitions
        write_i32_be(writer, len(partitions))
        for nth, partitions_item in enumerate(partitions):
            _write_partition_data(writer, parts, partitions_item, version)
            if nth & LONG_RUN == LONG_RUN:
                give_way()
    if version >= 12:
        writer.append(0)


class NodeEndpoint(Struct):
    __slots__ = ("node_id", "host", "port", "rack")
    FIELDS: ClassVar[tuple[str, ...]] = ("node_id", "host", "port", "rack")

    def __init__(self, node_id: int = 0, host: str = "", port: int = 0, rack: str | None = None) -> None:
        self.node_id = node_id
        self.host = host
        self.port = port
        self.rack = rack


def _read_node_endpoint(data: bytes, position: i64, version: i64) -> tuple[NodeEndpoint, i64]:
    rack: str | None
    node_id = read_i32_be(data, position)
    position += 4
    host, position = read_compact_string(data, position)
    port = read_i32_be(data, position)
    position += 4
    rack, position = read_compact_nullable_string(data, position)
    position = skip_tags(data, position) if data[position] else position + 1
    return NodeEndpoint(node_id, host, port, rack), position


def _write_node_endpoint(writer: BytesWriter, message: NodeEndpoint, version: i64) -> None:
    write_i32_be(writer, message.node_id)
    write_compact_string(writer, message.host)
    write_i32_be(writer, message.port)
    write_compact_nullable_string(writer, message.rack)
    writer.append(0)


class FetchRequest(Message):
    """API key 1, versions 4 to 18."""

    __slots__ = ("cluster_id", "replica_id", "replica_state", "max_wait_ms", "min_bytes", "max_bytes", "isolation_level", "session_id", "session_epoch", "topics", "forgotten_topics_data", "rack_id")
    FIELDS: ClassVar[tuple[str, ...]] = ("cluster_id", "replica_id", "replica_state", "max_wait_ms", "min_bytes", "max_bytes", "isolation_level", "session_id", "session_epoch", "topics", "forgotten_topics_data", "rack_id")
    API_KEY: ClassVar[int] = 1
    MIN_VERSION: ClassVar[int] = 4
    MAX_VERSION: ClassVar[int] = 18
    FIRST_FLEXIBLE: ClassVar[int] = 12

    def __init__(self, cluster_id: str | None = None, replica_id: int = -1, replica_state: ReplicaState | None = None, max_wait_ms: int = 0, min_bytes: int = 0, max_bytes: int = 2147483647, isolation_level: int = 0, session_id: int = 0, session_epoch: int = -1, topics: list[FetchTopic] = NO_ITEMS, forgotten_topics_data: list[ForgottenTopic] = NO_ITEMS, rack_id: str = "") -> None:
        self.cluster_id = cluster_id
        self.replica_id = replica_id
        self.replica_state = replica_state
        self.max_wait_ms = max_wait_ms
        self.min_bytes = min_bytes
        self.max_bytes = max_bytes
        self.isolation_level = isolation_level
        self.session_id = session_id
        self.session_epoch = session_epoch
        self.topics = [] if topics is NO_ITEMS else topics
        self.forgotten_topics_data = [] if forgotten_topics_data is NO_ITEMS else forgotten_topics_data
        self.rack_id = rack_id

    @classmethod
    def decode(cls, data: bytes, position: int, version: int) -> tuple[FetchRequest, int]:
        if version < 4 or version > 18:
            raise unknown_version("FetchRequest", version, 4, 18)
        try:
            message, end = _read_fetch_request(data, position, version)
        except (IndexError, ValueError) as error:
            raise malformed("FetchRequest", version, error) from None
        return message, end

    def encode(self, version: int) -> bytes:
        if version < 4 or version > 18:
            raise unsupported_version("FetchRequest", version, 4, 18)
        writer = BytesWriter()
        _write_fetch_request(writer, self, version)
        return writer.getvalue()

    def encode_parts(self, writer_prefix: bytes, version: int) -> list[Part]:
        if version < 4 or version > 18:
            raise unsupported_version("FetchRequest", version, 4, 18)
        writer = BytesWriter()
        writer.write(writer_prefix)
        _write_fetch_request(writer, self, version)
        return [writer.getvalue()]


def _read_fetch_request(data: bytes, position: i64, version: i64) -> tuple[FetchRequest, i64]:
    cluster_id: str | None = None
    replica_id: int
    replica_state: ReplicaState | None = None
    session_id: int
    session_epoch: int
    topics: list[FetchTopic]
    forgotten_topics_data: list[ForgottenTopic]
    rack_id: str
    if version >= 15:
        replica_id = -1
    else:
        replica_id = read_i32_be(data, position)
        position += 4
    max_wait_ms = read_i32_be(data, position)
    min_bytes = read_i32_be(data, position + 4)
    max_bytes = read_i32_be(data, position + 8)
    isolation_level = read_i8(data, position + 12)
    position += 13
    if version >= 7:
        session_id = read_i32_be(data, position)
        session_epoch = read_i32_be(data, position + 4)
        position += 8
    else:
        session_id = 0
        session_epoch = -1
    if version >= 12:
        count, position = read_compact_count(data, position, 3)
        topics = []
        for nth in range(count):
            topics_item, position = _read_fetch_topic(data, position, version)
            topics.append(topics_item)
            if nth & LONG_RUN == LONG_RUN:
                give_way()
    else:
        count, position = read_count(data, position, 6)
        topics = []
        for nth in range(count):
            topics_item, position = _read_fetch_topic(data, position, version)
            topics.append(topics_item)
            if nth & LONG_RUN == LONG_RUN:
                give_way()
    if version >= 12:
        count, position = read_compact_count(data, position, 3)
        forgotten_topics_data = []
        for nth in range(count):
            forgotten_topics_data_item, position = _read_forgotten_topic(data, position, version)
            forgotten_topics_data.append(forgotten_topics_data_item)
            if nth & LONG_RUN == LONG_RUN:
                give_way()
    elif version >= 7:
        count, position = read_count(data, position, 6)
        forgotten_topics_data = []
        for nth in range(count):
            forgotten_topics_data_item, position = _read_forgotten_topic(data, position, version)
            forgotten_topics_data.append(forgotten_topics_data_item)
            if nth & LONG_RUN == LONG_RUN:
                give_way()
    else:
        forgotten_topics_data = []
    if version >= 12:
        rack_id, position = read_compact_string(data, position)
    elif version >= 11:
        rack_id, position = read_string(data, position)
    else:
        rack_id = ""
    if version >= 12:
        if data[position]:
            tags, position = read_uvarint(data, position)
            for _ in range(tags):
                tag, position, end = read_tag(data, position)
                if tag == 0:
                    cluster_id, position = read_compact_nullable_string(data, position)
                elif tag == 1 and version >= 15:
                    replica_state, position = _read_replica_state(data, position, version)
                else:
                    position = end
                if position != end:
                    raise wrong_tag_size(tag)
        else:
            position += 1
    return FetchRequest(cluster_id, replica_id, replica_state, max_wait_ms, min_bytes, max_bytes, isolation_level, session_id, session_epoch, topics, forgotten_topics_data, rack_id), position


def _write_fetch_request(writer: BytesWriter, message: FetchRequest, version: i64) -> None:
    if version >= 15:
        if message.replica_id != -1:
            raise unsupported_field("FetchRequest", "replica_id", version)
    else:
        write_i32_be(writer, message.replica_id)
        if message.replica_state is not None and (message.replica_state.replica_id != -1 or message.replica_state.replica_epoch != -1):
            raise unsupported_field("FetchRequest", "replica_state", version)
    write_i32_be(writer, message.max_wait_ms)
    write_i32_be(writer, message.min_bytes)
    write_i32_be(writer, message.max_bytes)
    write_i8(writer, message.isolation_level)
    if version >= 7:
        write_i32_be(writer, message.session_id)
        write_i32_be(writer, message.session_epoch)
    if version >= 12:
        topics = message.topics
        write_uvarint(writer, len(topics) + 1)
        for nth, topics_item in enumerate(topics):
            _write_fetch_topic(writer, topics_item, version)
            if nth & LONG_RUN == LONG_RUN:
                give_way()
    else:
        topics = message.topics
        write_i32_be(writer, len(topics))
        for nth, topics_item in enumerate(topics):
            _write_fetch_topic(writer, topics_item, version)
            if nth & LONG_RUN == LONG_RUN:
                give_way()
    if version >= 12:
        forgotten_topics_data = message.forgotten_topics_data
        write_uvarint(writer, len(forgotten_topics_data) + 1)
        for nth, forgotten_topics_data_item in enumerate(forgotten_topics_data):
            _write_forgotten_topic(writer, forgotten_topics_data_item, version)
            if nth & LONG_RUN == LONG_RUN:
                give_way()
    elif version >= 7:
        forgotten_topics_data = message.forgotten_topics_data
        write_i32_be(writer, len(forgotten_topics_data))
        for nth, forgotten_topics_data_item in enumerate(forgotten_topics_data):
            _write_forgotten_topic(writer, forgotten_topics_data_item, version)
            if nth & LONG_RUN == LONG_RUN:
                give_way()
    else:
        if message.forgotten_topics_data:
            raise unsupported_field("FetchRequest", "forgotten_topics_data", version)
    if version >= 12:
        write_compact_string(writer, message.rack_id)
    elif version >= 11:
        write_string(writer, message.rack_id)
    if version >= 12:
        count = 0
        if message.cluster_id is not None:
            count += 1
        if version >= 15 and (message.replica_state is not None and (message.replica_state.replica_id != -1 or message.replica_state.replica_epoch != -1)):
            count += 1
        writer.append(count)
        if count:
            if message.cluster_id is not None:
                body = BytesWriter()
                write_compact_nullable_string(body, message.cluster_id)
                write_tag(writer, 0, body)
            if version >= 15 and (message.replica_state is not None and (message.replica_state.replica_id != -1 or message.replica_state.replica_epoch != -1)):
                body = BytesWriter()
                _write_replica_state(body, message.replica_state, version)
                write_tag(writer, 1, body)


class FetchResponse(Message):
    """API key 1, versions 4 to 18."""

    __slots__ = ("throttle_time_ms", "error_code", "session_id", "responses", "node_endpoints")
    FIELDS: ClassVar[tuple[str, ...]] = ("throttle_time_ms", "error_code", "session_id", "responses", "node_endpoints")
    API_KEY: ClassVar[int] = 1
    MIN_VERSION: ClassVar[int] = 4
    MAX_VERSION: ClassVar[int] = 18
    FIRST_FLEXIBLE: ClassVar[int] = 12

    def __init__(self, throttle_time_ms: int = 0, error_code: int = 0, session_id: int = 0, responses: list[FetchableTopicResponse] = NO_ITEMS, node_endpoints: list[NodeEndpoint] = NO_ITEMS) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.session_id = session_id
        self.responses = [] if responses is NO_ITEMS else responses
        self.node_endpoints = [] if node_endpoints is NO_ITEMS else node_endpoints

    @classmethod
    def decode(cls, data: bytes, position: int, version: int) -> tuple[FetchResponse, int]:
        if version < 4 or version > 18:
            raise unknown_version("FetchResponse", version, 4, 18)
        try:
            message, end = _read_fetch_response(data, position, version)
        except (IndexError, ValueError) as error:
            raise malformed("FetchResponse", version, error) from None
        return message, end

    def encode(self, version: int) -> bytes:
        if version < 4 or version > 18:
            raise unsupported_version("FetchResponse", version, 4, 18)
        writer = BytesWriter()
        _write_fetch_response(writer, None, self, version)
        return writer.getvalue()

    def encode_parts(self, writer_prefix: bytes, version: int) -> list[Part]:
        if version < 4 or version > 18:
            raise unsupported_version("FetchResponse", version, 4, 18)
        writer = BytesWriter()
        writer.write(writer_prefix)
        parts: list[Part] = []
        _write_fetch_response(writer, parts, self, version)
        parts.append(writer.getvalue())
        return parts


def _read_fetch_response(data: bytes, position: i64, version: i64) -> tuple[FetchResponse, i64]:
    error_code: int
    session_id: int
    responses: list[FetchableTopicResponse]
    node_endpoints: list[NodeEndpoint] = []
    throttle_time_ms = read_i32_be(data, position)
    position += 4
    if version >= 7:
        error_code = read_i16_be(data, position)
        session_id = read_i32_be(data, position + 2)
        position += 6
    else:
        error_code = 0
        session_id = 0
    if version >= 12:
        count, position = read_compact_count(data, position, 3)
        responses = []
        for nth in range(count):
            responses_item, position = _read_fetchable_topic_response(data, position, version)
            responses.append(responses_item)
            if nth & LONG_RUN == LONG_RUN:
                give_way()
    else:
        count, position = read_count(data, position, 6)
        responses = []
        for nth in range(count):
            responses_item, position = _read_fetchable_topic_response(data, position, version)
            responses.append(responses_item)
            if nth & LONG_RUN == LONG_RUN:
                give_way()
    if version >= 12:
        if data[position]:
            tags, position = read_uvarint(data, position)
            for _ in range(tags):
                tag, position, end = read_tag(data, position)
                if tag == 0 and version >= 16:
                    count, position = read_compact_count(data, position, 11)
                    node_endpoints = []
                    for nth in range(count):
                        node_endpoints_item, position = _read_node_endpoint(data, position, version)
                        node_endpoints.append(node_endpoints_item)
                        if nth & LONG_RUN == LONG_RUN:
                            give_way()
                else:
                    position = end
                if position != end:
                    raise wrong_tag_size(tag)
        else:
            position += 1
    return FetchResponse(throttle_time_ms, error_code, session_id, responses, node_endpoints), position


def _write_fetch_response(writer: BytesWriter, parts: list[Part] | None, message: FetchResponse, version: i64) -> None:
    write_i32_be(writer, message.throttle_time_ms)
    if version >= 7:
        write_i16_be(writer, message.error_code)
        write_i32_be(writer, message.session_id)
    else:
        if message.session_id != 0:
            raise unsupported_field("FetchResponse", "session_id", version)
    if version >= 12:
        responses = message.responses
        write_uvarint(writer, len(responses) + 1)
        for nth, responses_item in enumerate(responses):
            _write_fetchable_topic_response(writer, parts, responses_item, version)
            if nth & LONG_RUN == LONG_RUN:
                give_way()
    else:
        responses = message.responses
        write_i32_be(writer, len(responses))
        for nth, responses_item in enumerate(responses):
            _write_fetchable_topic_response(writer, parts, responses_item, version)
            if nth & LONG_RUN == LONG_RUN:
                give_way()
    if version < 16:
        if message.node_endpoints:
            raise unsupported_field("FetchResponse", "node_endpoints", version)
    if version >= 12:
        if version >= 16 and message.node_endpoints:
            writer.append(1)
            body = BytesWriter()
            node_endpoints = message.node_endpoints
            write_uvarint(body, len(node_endpoints) + 1)
            for nth, node_endpoints_item in enumerate(node_endpoints):
                _write_node_endpoint(body, node_endpoints_item, version)
                if nth & LONG_RUN == LONG_RUN:
                    give_way()
            write_tag(writer, 0, body)
        else:
            writer.append(0)
