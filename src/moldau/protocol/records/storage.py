"""The storage records. Generated from schema/storage_records.txt: do not edit."""

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
    read_compact_nullable_bytes,
    read_compact_string,
    read_count,
    read_i8,
    read_tag,
    read_u32,
    read_uuid,
    read_uvarint,
    skip_tags,
    unknown_version,
    wrong_tag_size,
)
from moldau.protocol.writing import (
    unsupported_version,
    write_bool,
    write_compact_nullable_bytes,
    write_compact_string,
    write_i8,
    write_u32,
    write_uuid,
    write_uvarint,
)


class ProducerEntry(Struct):
    __slots__ = ("producer_id", "epoch", "last_sequence", "last_offset", "offset_delta", "timestamp", "coordinator_epoch", "current_txn_first_offset")
    FIELDS: ClassVar[tuple[str, ...]] = ("producer_id", "epoch", "last_sequence", "last_offset", "offset_delta", "timestamp", "coordinator_epoch", "current_txn_first_offset")

    def __init__(self, producer_id: int = 0, epoch: int = 0, last_sequence: int = 0, last_offset: int = 0, offset_delta: int = 0, timestamp: int = 0, coordinator_epoch: int = 0, current_txn_first_offset: int = 0) -> None:
        self.producer_id = producer_id
        self.epoch = epoch
        self.last_sequence = last_sequence
        self.last_offset = last_offset
        self.offset_delta = offset_delta
        self.timestamp = timestamp
        self.coordinator_epoch = coordinator_epoch
        self.current_txn_first_offset = current_txn_first_offset


def _read_producer_entry(data: bytes, position: i64, version: i64) -> tuple[ProducerEntry, i64]:
    producer_id = read_i64_be(data, position)
    epoch = read_i16_be(data, position + 8)
    last_sequence = read_i32_be(data, position + 10)
    last_offset = read_i64_be(data, position + 14)
    offset_delta = read_i32_be(data, position + 22)
    timestamp = read_i64_be(data, position + 26)
    coordinator_epoch = read_i32_be(data, position + 34)
    current_txn_first_offset = read_i64_be(data, position + 38)
    position += 46
    return ProducerEntry(producer_id, epoch, last_sequence, last_offset, offset_delta, timestamp, coordinator_epoch, current_txn_first_offset), position


def _write_producer_entry(writer: BytesWriter, message: ProducerEntry, version: i64) -> None:
    write_i64_be(writer, message.producer_id)
    write_i16_be(writer, message.epoch)
    write_i32_be(writer, message.last_sequence)
    write_i64_be(writer, message.last_offset)
    write_i32_be(writer, message.offset_delta)
    write_i64_be(writer, message.timestamp)
    write_i32_be(writer, message.coordinator_epoch)
    write_i64_be(writer, message.current_txn_first_offset)


class TopicIdPartitionEntry(Struct):
    __slots__ = ("name", "id", "partition")
    FIELDS: ClassVar[tuple[str, ...]] = ("name", "id", "partition")

    def __init__(self, name: str = "", id: bytes = NO_UUID, partition: int = 0) -> None:
        self.name = name
        self.id = id
        self.partition = partition


def _read_topic_id_partition_entry(data: bytes, position: i64, version: i64) -> tuple[TopicIdPartitionEntry, i64]:
    name, position = read_compact_string(data, position)
    id = read_uuid(data, position)
    partition = read_i32_be(data, position + 16)
    position += 20
    position = skip_tags(data, position) if data[position] else position + 1
    return TopicIdPartitionEntry(name, id, partition), position


def _write_topic_id_partition_entry(writer: BytesWriter, message: TopicIdPartitionEntry, version: i64) -> None:
    write_compact_string(writer, message.name)
    write_uuid(writer, message.id)
    write_i32_be(writer, message.partition)
    writer.append(0)


class RemoteLogSegmentIdEntry(Struct):
    __slots__ = ("topic_id_partition", "id")
    FIELDS: ClassVar[tuple[str, ...]] = ("topic_id_partition", "id")

    def __init__(self, topic_id_partition: TopicIdPartitionEntry | None = None, id: bytes = NO_UUID) -> None:
        self.topic_id_partition = TopicIdPartitionEntry() if topic_id_partition is None else topic_id_partition
        self.id = id


def _read_remote_log_segment_id_entry(data: bytes, position: i64, version: i64) -> tuple[RemoteLogSegmentIdEntry, i64]:
    topic_id_partition, position = _read_topic_id_partition_entry(data, position, version)
    id = read_uuid(data, position)
    position += 16
    position = skip_tags(data, position) if data[position] else position + 1
    return RemoteLogSegmentIdEntry(topic_id_partition, id), position


def _write_remote_log_segment_id_entry(writer: BytesWriter, message: RemoteLogSegmentIdEntry, version: i64) -> None:
    _write_topic_id_partition_entry(writer, message.topic_id_partition, version)
    write_uuid(writer, message.id)
    writer.append(0)


class SegmentLeaderEpochEntry(Struct):
    __slots__ = ("leader_epoch", "offset")
    FIELDS: ClassVar[tuple[str, ...]] = ("leader_epoch", "offset")

    def __init__(self, leader_epoch: int = 0, offset: int = 0) -> None:
        self.leader_epoch = leader_epoch
        self.offset = offset


def _read_segment_leader_epoch_entry(data: bytes, position: i64, version: i64) -> tuple[SegmentLeaderEpochEntry, i64]:
    leader_epoch = read_i32_be(data, position)
    offset = read_i64_be(data, position + 4)
    position += 12
    position = skip_tags(data, position) if data[position] else position + 1
    return SegmentLeaderEpochEntry(leader_epoch, offset), position


def _write_segment_leader_epoch_entry(writer: BytesWriter, message: SegmentLeaderEpochEntry, version: i64) -> None:
    write_i32_be(writer, message.leader_epoch)
    write_i64_be(writer, message.offset)
    writer.append(0)


class ProducerSnapshot(Message):
    """Version 1."""

    __slots__ = ("crc", "producer_entries")
    FIELDS: ClassVar[tuple[str, ...]] = ("crc", "producer_entries")
    MIN_VERSION: ClassVar[int] = 1
    MAX_VERSION: ClassVar[int] = 1
    FIRST_FLEXIBLE: ClassVar[int] = -1

    def __init__(self, crc: int = 0, producer_entries: list[ProducerEntry] = NO_ITEMS) -> None:
        self.crc = crc
        self.producer_entries = [] if producer_entries is NO_ITEMS else producer_entries

    @classmethod
    def decode(cls, data: bytes, position: int, version: int) -> tuple[ProducerSnapshot, int]:
        if version < 1 or version > 1:
            raise unknown_version("ProducerSnapshot", version, 1, 1)
        try:
            message, end = _read_producer_snapshot(data, position, version)
        except (IndexError, ValueError) as error:
            raise malformed("ProducerSnapshot", version, error) from None
        return message, end

    def encode(self, version: int) -> bytes:
        if version < 1 or version > 1:
            raise unsupported_version("ProducerSnapshot", version, 1, 1)
        writer = BytesWriter()
        _write_producer_snapshot(writer, self, version)
        return writer.getvalue()

    def encode_parts(self, writer_prefix: bytes, version: int) -> list[Part]:
        if version < 1 or version > 1:
            raise unsupported_version("ProducerSnapshot", version, 1, 1)
        writer = BytesWriter()
        writer.write(writer_prefix)
        _write_producer_snapshot(writer, self, version)
        return [writer.getvalue()]


def _read_producer_snapshot(data: bytes, position: i64, version: i64) -> tuple[ProducerSnapshot, i64]:
    producer_entries: list[ProducerEntry]
    crc = read_u32(data, position)
    position += 4
    count, position = read_count(data, position, 46)
    producer_entries = []
    for nth in range(count):
        producer_entries_item, position = _read_producer_entry(data, position, version)
        producer_entries.append(producer_entries_item)
        if nth & LONG_RUN == LONG_RUN:
            give_way()
    return ProducerSnapshot(crc, producer_entries), position


def _write_producer_snapshot(writer: BytesWriter, message: ProducerSnapshot, version: i64) -> None:
    write_u32(writer, message.crc)
    producer_entries = message.producer_entries
    write_i32_be(writer, len(producer_entries))
    for nth, producer_entries_item in enumerate(producer_entries):
        _write_producer_entry(writer, producer_entries_item, version)
        if nth & LONG_RUN == LONG_RUN:
            give_way()


class RemoteLogSegmentMetadataRecord(Message):
    """Record type 0, version 0."""

    __slots__ = ("remote_log_segment_id", "start_offset", "end_offset", "broker_id", "max_timestamp_ms", "event_timestamp_ms", "segment_leader_epochs", "segment_size_in_bytes", "custom_metadata", "remote_log_segment_state", "txn_index_empty")
    FIELDS: ClassVar[tuple[str, ...]] = ("remote_log_segment_id", "start_offset", "end_offset", "broker_id", "max_timestamp_ms", "event_timestamp_ms", "segment_leader_epochs", "segment_size_in_bytes", "custom_metadata", "remote_log_segment_state", "txn_index_empty")
    RECORD_KEY: ClassVar[int] = 0
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FIRST_FLEXIBLE: ClassVar[int] = 0

    def __init__(self, remote_log_segment_id: RemoteLogSegmentIdEntry | None = None, start_offset: int = 0, end_offset: int = 0, broker_id: int = 0, max_timestamp_ms: int = 0, event_timestamp_ms: int = 0, segment_leader_epochs: list[SegmentLeaderEpochEntry] = NO_ITEMS, segment_size_in_bytes: int = 0, custom_metadata: bytes | None = None, remote_log_segment_state: int = 0, txn_index_empty: bool = False) -> None:
        self.remote_log_segment_id = RemoteLogSegmentIdEntry() if remote_log_segment_id is None else remote_log_segment_id
        self.start_offset = start_offset
        self.end_offset = end_offset
        self.broker_id = broker_id
        self.max_timestamp_ms = max_timestamp_ms
        self.event_timestamp_ms = event_timestamp_ms
        self.segment_leader_epochs = [] if segment_leader_epochs is NO_ITEMS else segment_leader_epochs
        self.segment_size_in_bytes = segment_size_in_bytes
        self.custom_metadata = custom_metadata
        self.remote_log_segment_state = remote_log_segment_state
        self.txn_index_empty = txn_index_empty

    @classmethod
    def decode(cls, data: bytes, position: int, version: int) -> tuple[RemoteLogSegmentMetadataRecord, int]:
        if version < 0 or version > 0:
            raise unknown_version("RemoteLogSegmentMetadataRecord", version, 0, 0)
        try:
            message, end = _read_remote_log_segment_metadata_record(data, position, version)
        except (IndexError, ValueError) as error:
            raise malformed("RemoteLogSegmentMetadataRecord", version, error) from None
        return message, end

    def encode(self, version: int) -> bytes:
        if version < 0 or version > 0:
            raise unsupported_version("RemoteLogSegmentMetadataRecord", version, 0, 0)
        writer = BytesWriter()
        _write_remote_log_segment_metadata_record(writer, self, version)
        return writer.getvalue()

    def encode_parts(self, writer_prefix: bytes, version: int) -> list[Part]:
        if version < 0 or version > 0:
            raise unsupported_version("RemoteLogSegmentMetadataRecord", version, 0, 0)
        writer = BytesWriter()
        writer.write(writer_prefix)
        _write_remote_log_segment_metadata_record(writer, self, version)
        return [writer.getvalue()]


def _read_remote_log_segment_metadata_record(data: bytes, position: i64, version: i64) -> tuple[RemoteLogSegmentMetadataRecord, i64]:
    segment_leader_epochs: list[SegmentLeaderEpochEntry]
    custom_metadata: bytes | None
    txn_index_empty: bool = False
    remote_log_segment_id, position = _read_remote_log_segment_id_entry(data, position, version)
    start_offset = read_i64_be(data, position)
    end_offset = read_i64_be(data, position + 8)
    broker_id = read_i32_be(data, position + 16)
    max_timestamp_ms = read_i64_be(data, position + 20)
    event_timestamp_ms = read_i64_be(data, position + 28)
    position += 36
    count, position = read_compact_count(data, position, 13)
    segment_leader_epochs = []
    for nth in range(count):
        segment_leader_epochs_item, position = _read_segment_leader_epoch_entry(data, position, version)
        segment_leader_epochs.append(segment_leader_epochs_item)
        if nth & LONG_RUN == LONG_RUN:
            give_way()
    segment_size_in_bytes = read_i32_be(data, position)
    position += 4
    custom_metadata, position = read_compact_nullable_bytes(data, position)
    remote_log_segment_state = read_i8(data, position)
    position += 1
    if data[position]:
        tags, position = read_uvarint(data, position)
        for _ in range(tags):
            tag, position, end = read_tag(data, position)
            if tag == 0:
                txn_index_empty = data[position] != 0
                position += 1
            else:
                position = end
            if position != end:
                raise wrong_tag_size(tag)
    else:
        position += 1
    return RemoteLogSegmentMetadataRecord(remote_log_segment_id, start_offset, end_offset, broker_id, max_timestamp_ms, event_timestamp_ms, segment_leader_epochs, segment_size_in_bytes, custom_metadata, remote_log_segment_state, txn_index_empty), position


def _write_remote_log_segment_metadata_record(writer: BytesWriter, message: RemoteLogSegmentMetadataRecord, version: i64) -> None:
    _write_remote_log_segment_id_entry(writer, message.remote_log_segment_id, version)
    write_i64_be(writer, message.start_offset)
    write_i64_be(writer, message.end_offset)
    write_i32_be(writer, message.broker_id)
    write_i64_be(writer, message.max_timestamp_ms)
    write_i64_be(writer, message.event_timestamp_ms)
    segment_leader_epochs = message.segment_leader_epochs
    write_uvarint(writer, len(segment_leader_epochs) + 1)
    for nth, segment_leader_epochs_item in enumerate(segment_leader_epochs):
        _write_segment_leader_epoch_entry(writer, segment_leader_epochs_item, version)
        if nth & LONG_RUN == LONG_RUN:
            give_way()
    write_i32_be(writer, message.segment_size_in_bytes)
    write_compact_nullable_bytes(writer, message.custom_metadata)
    write_i8(writer, message.remote_log_segment_state)
    if message.txn_index_empty:
        writer.append(1)
        writer.append(0)
        writer.append(1)
        write_bool(writer, message.txn_index_empty)
    else:
        writer.append(0)


class RemoteLogSegmentMetadataUpdateRecord(Message):
    """Record type 1, version 0."""

    __slots__ = ("remote_log_segment_id", "broker_id", "event_timestamp_ms", "custom_metadata", "remote_log_segment_state")
    FIELDS: ClassVar[tuple[str, ...]] = ("remote_log_segment_id", "broker_id", "event_timestamp_ms", "custom_metadata", "remote_log_segment_state")
    RECORD_KEY: ClassVar[int] = 1
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FIRST_FLEXIBLE: ClassVar[int] = 0

    def __init__(self, remote_log_segment_id: RemoteLogSegmentIdEntry | None = None, broker_id: int = 0, event_timestamp_ms: int = 0, custom_metadata: bytes | None = None, remote_log_segment_state: int = 0) -> None:
        self.remote_log_segment_id = RemoteLogSegmentIdEntry() if remote_log_segment_id is None else remote_log_segment_id
        self.broker_id = broker_id
        self.event_timestamp_ms = event_timestamp_ms
        self.custom_metadata = custom_metadata
        self.remote_log_segment_state = remote_log_segment_state

    @classmethod
    def decode(cls, data: bytes, position: int, version: int) -> tuple[RemoteLogSegmentMetadataUpdateRecord, int]:
        if version < 0 or version > 0:
            raise unknown_version("RemoteLogSegmentMetadataUpdateRecord", version, 0, 0)
        try:
            message, end = _read_remote_log_segment_metadata_update_record(data, position, version)
        except (IndexError, ValueError) as error:
            raise malformed("RemoteLogSegmentMetadataUpdateRecord", version, error) from None
        return message, end

    def encode(self, version: int) -> bytes:
        if version < 0 or version > 0:
            raise unsupported_version("RemoteLogSegmentMetadataUpdateRecord", version, 0, 0)
        writer = BytesWriter()
        _write_remote_log_segment_metadata_update_record(writer, self, version)
        return writer.getvalue()

    def encode_parts(self, writer_prefix: bytes, version: int) -> list[Part]:
        if version < 0 or version > 0:
            raise unsupported_version("RemoteLogSegmentMetadataUpdateRecord", version, 0, 0)
        writer = BytesWriter()
        writer.write(writer_prefix)
        _write_remote_log_segment_metadata_update_record(writer, self, version)
        return [writer.getvalue()]


def _read_remote_log_segment_metadata_update_record(data: bytes, position: i64, version: i64) -> tuple[RemoteLogSegmentMetadataUpdateRecord, i64]:
    custom_metadata: bytes | None
    remote_log_segment_id, position = _read_remote_log_segment_id_entry(data, position, version)
    broker_id = read_i32_be(data, position)
    event_timestamp_ms = read_i64_be(data, position + 4)
    position += 12
    custom_metadata, position = read_compact_nullable_bytes(data, position)
    remote_log_segment_state = read_i8(data, position)
    position += 1
    position = skip_tags(data, position) if data[position] else position + 1
    return RemoteLogSegmentMetadataUpdateRecord(remote_log_segment_id, broker_id, event_timestamp_ms, custom_metadata, remote_log_segment_state), position


def _write_remote_log_segment_metadata_update_record(writer: BytesWriter, message: RemoteLogSegmentMetadataUpdateRecord, version: i64) -> None:
    _write_remote_log_segment_id_entry(writer, message.remote_log_segment_id, version)
    write_i32_be(writer, message.broker_id)
    write_i64_be(writer, message.event_timestamp_ms)
    write_compact_nullable_bytes(writer, message.custom_metadata)
    write_i8(writer, message.remote_log_segment_state)
    writer.append(0)


class RemotePartitionDeleteMetadataRecord(Message):
    """Record type 2, version 0."""

    __slots__ = ("topic_id_partition", "broker_id", "event_timestamp_ms", "remote_partition_delete_state")
    FIELDS: ClassVar[tuple[str, ...]] = ("topic_id_partition", "broker_id", "event_timestamp_ms", "remote_partition_delete_state")
    RECORD_KEY: ClassVar[int] = 2
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FIRST_FLEXIBLE: ClassVar[int] = 0

    def __init__(self, topic_id_partition: TopicIdPartitionEntry | None = None, broker_id: int = 0, event_timestamp_ms: int = 0, remote_partition_delete_state: int = 0) -> None:
        self.topic_id_partition = TopicIdPartitionEntry() if topic_id_partition is None else topic_id_partition
        self.broker_id = broker_id
        self.event_timestamp_ms = event_timestamp_ms
        self.remote_partition_delete_state = remote_partition_delete_state

    @classmethod
    def decode(cls, data: bytes, position: int, version: int) -> tuple[RemotePartitionDeleteMetadataRecord, int]:
        if version < 0 or version > 0:
            raise unknown_version("RemotePartitionDeleteMetadataRecord", version, 0, 0)
        try:
            message, end = _read_remote_partition_delete_metadata_record(data, position, version)
        except (IndexError, ValueError) as error:
            raise malformed("RemotePartitionDeleteMetadataRecord", version, error) from None
        return message, end

    def encode(self, version: int) -> bytes:
        if version < 0 or version > 0:
            raise unsupported_version("RemotePartitionDeleteMetadataRecord", version, 0, 0)
        writer = BytesWriter()
        _write_remote_partition_delete_metadata_record(writer, self, version)
        return writer.getvalue()

    def encode_parts(self, writer_prefix: bytes, version: int) -> list[Part]:
        if version < 0 or version > 0:
            raise unsupported_version("RemotePartitionDeleteMetadataRecord", version, 0, 0)
        writer = BytesWriter()
        writer.write(writer_prefix)
        _write_remote_partition_delete_metadata_record(writer, self, version)
        return [writer.getvalue()]


def _read_remote_partition_delete_metadata_record(data: bytes, position: i64, version: i64) -> tuple[RemotePartitionDeleteMetadataRecord, i64]:
    topic_id_partition, position = _read_topic_id_partition_entry(data, position, version)
    broker_id = read_i32_be(data, position)
    event_timestamp_ms = read_i64_be(data, position + 4)
    remote_partition_delete_state = read_i8(data, position + 12)
    position += 13
    position = skip_tags(data, position) if data[position] else position + 1
    return RemotePartitionDeleteMetadataRecord(topic_id_partition, broker_id, event_timestamp_ms, remote_partition_delete_state), position


def _write_remote_partition_delete_metadata_record(writer: BytesWriter, message: RemotePartitionDeleteMetadataRecord, version: i64) -> None:
    _write_topic_id_partition_entry(writer, message.topic_id_partition, version)
    write_i32_be(writer, message.broker_id)
    write_i64_be(writer, message.event_timestamp_ms)
    write_i8(writer, message.remote_partition_delete_state)
    writer.append(0)


class RemoteLogSegmentMetadataSnapshotRecord(Message):
    """Record type 3, version 0."""

    __slots__ = ("segment_id", "start_offset", "end_offset", "broker_id", "max_timestamp_ms", "event_timestamp_ms", "segment_leader_epochs", "segment_size_in_bytes", "custom_metadata", "remote_log_segment_state", "txn_index_empty")
    FIELDS: ClassVar[tuple[str, ...]] = ("segment_id", "start_offset", "end_offset", "broker_id", "max_timestamp_ms", "event_timestamp_ms", "segment_leader_epochs", "segment_size_in_bytes", "custom_metadata", "remote_log_segment_state", "txn_index_empty")
    RECORD_KEY: ClassVar[int] = 3
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FIRST_FLEXIBLE: ClassVar[int] = 0

    def __init__(self, segment_id: bytes = NO_UUID, start_offset: int = 0, end_offset: int = 0, broker_id: int = 0, max_timestamp_ms: int = 0, event_timestamp_ms: int = 0, segment_leader_epochs: list[SegmentLeaderEpochEntry] = NO_ITEMS, segment_size_in_bytes: int = 0, custom_metadata: bytes | None = None, remote_log_segment_state: int = 0, txn_index_empty: bool = False) -> None:
        self.segment_id = segment_id
        self.start_offset = start_offset
        self.end_offset = end_offset
        self.broker_id = broker_id
        self.max_timestamp_ms = max_timestamp_ms
        self.event_timestamp_ms = event_timestamp_ms
        self.segment_leader_epochs = [] if segment_leader_epochs is NO_ITEMS else segment_leader_epochs
        self.segment_size_in_bytes = segment_size_in_bytes
        self.custom_metadata = custom_metadata
        self.remote_log_segment_state = remote_log_segment_state
        self.txn_index_empty = txn_index_empty

    @classmethod
    def decode(cls, data: bytes, position: int, version: int) -> tuple[RemoteLogSegmentMetadataSnapshotRecord, int]:
        if version < 0 or version > 0:
            raise unknown_version("RemoteLogSegmentMetadataSnapshotRecord", version, 0, 0)
        try:
            message, end = _read_remote_log_segment_metadata_snapshot_record(data, position, version)
        except (IndexError, ValueError) as error:
            raise malformed("RemoteLogSegmentMetadataSnapshotRecord", version, error) from None
        return message, end

    def encode(self, version: int) -> bytes:
        if version < 0 or version > 0:
            raise unsupported_version("RemoteLogSegmentMetadataSnapshotRecord", version, 0, 0)
        writer = BytesWriter()
        _write_remote_log_segment_metadata_snapshot_record(writer, self, version)
        return writer.getvalue()

    def encode_parts(self, writer_prefix: bytes, version: int) -> list[Part]:
        if version < 0 or version > 0:
            raise unsupported_version("RemoteLogSegmentMetadataSnapshotRecord", version, 0, 0)
        writer = BytesWriter()
        writer.write(writer_prefix)
        _write_remote_log_segment_metadata_snapshot_record(writer, self, version)
        return [writer.getvalue()]


def _read_remote_log_segment_metadata_snapshot_record(data: bytes, position: i64, version: i64) -> tuple[RemoteLogSegmentMetadataSnapshotRecord, i64]:
    segment_leader_epochs: list[SegmentLeaderEpochEntry]
    custom_metadata: bytes | None
    txn_index_empty: bool = False
    segment_id = read_uuid(data, position)
    start_offset = read_i64_be(data, position + 16)
    end_offset = read_i64_be(data, position + 24)
    broker_id = read_i32_be(data, position + 32)
    max_timestamp_ms = read_i64_be(data, position + 36)
    event_timestamp_ms = read_i64_be(data, position + 44)
    position += 52
    count, position = read_compact_count(data, position, 13)
    segment_leader_epochs = []
    for nth in range(count):
        segment_leader_epochs_item, position = _read_segment_leader_epoch_entry(data, position, version)
        segment_leader_epochs.append(segment_leader_epochs_item)
        if nth & LONG_RUN == LONG_RUN:
            give_way()
    segment_size_in_bytes = read_i32_be(data, position)
    position += 4
    custom_metadata, position = read_compact_nullable_bytes(data, position)
    remote_log_segment_state = read_i8(data, position)
    position += 1
    if data[position]:
        tags, position = read_uvarint(data, position)
        for _ in range(tags):
            tag, position, end = read_tag(data, position)
            if tag == 0:
                txn_index_empty = data[position] != 0
                position += 1
            else:
                position = end
            if position != end:
                raise wrong_tag_size(tag)
    else:
        position += 1
    return RemoteLogSegmentMetadataSnapshotRecord(segment_id, start_offset, end_offset, broker_id, max_timestamp_ms, event_timestamp_ms, segment_leader_epochs, segment_size_in_bytes, custom_metadata, remote_log_segment_state, txn_index_empty), position


def _write_remote_log_segment_metadata_snapshot_record(writer: BytesWriter, message: RemoteLogSegmentMetadataSnapshotRecord, version: i64) -> None:
    write_uuid(writer, message.segment_id)
    write_i64_be(writer, message.start_offset)
    write_i64_be(writer, message.end_offset)
    write_i32_be(writer, message.broker_id)
    write_i64_be(writer, message.max_timestamp_ms)
    write_i64_be(writer, message.event_timestamp_ms)
    segment_leader_epochs = message.segment_leader_epochs
    write_uvarint(writer, len(segment_leader_epochs) + 1)
    for nth, segment_leader_epochs_item in enumerate(segment_leader_epochs):
        _write_segment_leader_epoch_entry(writer, segment_leader_epochs_item, version)
        if nth & LONG_RUN == LONG_RUN:
            give_way()
    write_i32_be(writer, message.segment_size_in_bytes)
    write_compact_nullable_bytes(writer, message.custom_metadata)
    write_i8(writer, message.remote_log_segment_state)
    if message.txn_index_empty:
        writer.append(1)
        writer.append(0)
        writer.append(1)
        write_bool(writer, message.txn_index_empty)
    else:
        writer.append(0)
