"""The share coordinator records. Generated from schema/share_coordinator_records.txt: do not edit."""

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
    write_i8,
    write_string,
    write_uuid,
    write_uvarint,
)


class StateBatch(Struct):
    __slots__ = ("first_offset", "last_offset", "delivery_state", "delivery_count")
    FIELDS: ClassVar[tuple[str, ...]] = ("first_offset", "last_offset", "delivery_state", "delivery_count")

    def __init__(self, first_offset: int = 0, last_offset: int = 0, delivery_state: int = 0, delivery_count: int = 0) -> None:
        self.first_offset = first_offset
        self.last_offset = last_offset
        self.delivery_state = delivery_state
        self.delivery_count = delivery_count


def _read_state_batch(data: bytes, position: i64, version: i64) -> tuple[StateBatch, i64]:
    first_offset = read_i64_be(data, position)
    last_offset = read_i64_be(data, position + 8)
    delivery_state = read_i8(data, position + 16)
    delivery_count = read_i16_be(data, position + 17)
    position += 19
    position = skip_tags(data, position) if data[position] else position + 1
    return StateBatch(first_offset, last_offset, delivery_state, delivery_count), position


def _write_state_batch(writer: BytesWriter, message: StateBatch, version: i64) -> None:
    write_i64_be(writer, message.first_offset)
    write_i64_be(writer, message.last_offset)
    write_i8(writer, message.delivery_state)
    write_i16_be(writer, message.delivery_count)
    writer.append(0)


class ShareSnapshotKey(Message):
    """Key of record type 0, version 0."""

    __slots__ = ("group_id", "topic_id", "partition")
    FIELDS: ClassVar[tuple[str, ...]] = ("group_id", "topic_id", "partition")
    RECORD_KEY: ClassVar[int] = 0
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FIRST_FLEXIBLE: ClassVar[int] = -1

    def __init__(self, group_id: str = "", topic_id: bytes = NO_UUID, partition: int = 0) -> None:
        self.group_id = group_id
        self.topic_id = topic_id
        self.partition = partition

    @classmethod
    def decode(cls, data: bytes, position: int, version: int) -> tuple[ShareSnapshotKey, int]:
        if version < 0 or version > 0:
            raise unknown_version("ShareSnapshotKey", version, 0, 0)
        try:
            message, end = _read_share_snapshot_key(data, position, version)
        except (IndexError, ValueError) as error:
            raise malformed("ShareSnapshotKey", version, error) from None
        return message, end

    def encode(self, version: int) -> bytes:
        if version < 0 or version > 0:
            raise unsupported_version("ShareSnapshotKey", version, 0, 0)
        writer = BytesWriter()
        _write_share_snapshot_key(writer, self, version)
        return writer.getvalue()

    def encode_parts(self, writer_prefix: bytes, version: int) -> list[Part]:
        if version < 0 or version > 0:
            raise unsupported_version("ShareSnapshotKey", version, 0, 0)
        writer = BytesWriter()
        writer.write(writer_prefix)
        _write_share_snapshot_key(writer, self, version)
        return [writer.getvalue()]


def _read_share_snapshot_key(data: bytes, position: i64, version: i64) -> tuple[ShareSnapshotKey, i64]:
    group_id, position = read_string(data, position)
    topic_id = read_uuid(data, position)
    partition = read_i32_be(data, position + 16)
    position += 20
    return ShareSnapshotKey(group_id, topic_id, partition), position


def _write_share_snapshot_key(writer: BytesWriter, message: ShareSnapshotKey, version: i64) -> None:
    write_string(writer, message.group_id)
    write_uuid(writer, message.topic_id)
    write_i32_be(writer, message.partition)


class ShareSnapshotValue(Message):
    """Value of record type 0, version 0."""

    __slots__ = ("snapshot_epoch", "state_epoch", "leader_epoch", "start_offset", "delivery_complete_count", "create_timestamp", "write_timestamp", "state_batches")
    FIELDS: ClassVar[tuple[str, ...]] = ("snapshot_epoch", "state_epoch", "leader_epoch", "start_offset", "delivery_complete_count", "create_timestamp", "write_timestamp", "state_batches")
    RECORD_KEY: ClassVar[int] = 0
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FIRST_FLEXIBLE: ClassVar[int] = 0

    def __init__(self, snapshot_epoch: int = 0, state_epoch: int = 0, leader_epoch: int = 0, start_offset: int = 0, delivery_complete_count: int = -1, create_timestamp: int = 0, write_timestamp: int = 0, state_batches: list[StateBatch] = NO_ITEMS) -> None:
        self.snapshot_epoch = snapshot_epoch
        self.state_epoch = state_epoch
        self.leader_epoch = leader_epoch
        self.start_offset = start_offset
        self.delivery_complete_count = delivery_complete_count
        self.create_timestamp = create_timestamp
        self.write_timestamp = write_timestamp
        self.state_batches = [] if state_batches is NO_ITEMS else state_batches

    @classmethod
    def decode(cls, data: bytes, position: int, version: int) -> tuple[ShareSnapshotValue, int]:
        if version < 0 or version > 0:
            raise unknown_version("ShareSnapshotValue", version, 0, 0)
        try:
            message, end = _read_share_snapshot_value(data, position, version)
        except (IndexError, ValueError) as error:
            raise malformed("ShareSnapshotValue", version, error) from None
        return message, end

    def encode(self, version: int) -> bytes:
        if version < 0 or version > 0:
            raise unsupported_version("ShareSnapshotValue", version, 0, 0)
        writer = BytesWriter()
        _write_share_snapshot_value(writer, self, version)
        return writer.getvalue()

    def encode_parts(self, writer_prefix: bytes, version: int) -> list[Part]:
        if version < 0 or version > 0:
            raise unsupported_version("ShareSnapshotValue", version, 0, 0)
        writer = BytesWriter()
        writer.write(writer_prefix)
        _write_share_snapshot_value(writer, self, version)
        return [writer.getvalue()]


def _read_share_snapshot_value(data: bytes, position: i64, version: i64) -> tuple[ShareSnapshotValue, i64]:
    delivery_complete_count: int = -1
    state_batches: list[StateBatch]
    snapshot_epoch = read_i32_be(data, position)
    state_epoch = read_i32_be(data, position + 4)
    leader_epoch = read_i32_be(data, position + 8)
    start_offset = read_i64_be(data, position + 12)
    create_timestamp = read_i64_be(data, position + 20)
    write_timestamp = read_i64_be(data, position + 28)
    position += 36
    count, position = read_compact_count(data, position, 20)
    state_batches = []
    for nth in range(count):
        state_batches_item, position = _read_state_batch(data, position, version)
        state_batches.append(state_batches_item)
        if nth & LONG_RUN == LONG_RUN:
            give_way()
    if data[position]:
        tags, position = read_uvarint(data, position)
        for _ in range(tags):
            tag, position, end = read_tag(data, position)
            if tag == 0:
                delivery_complete_count = read_i32_be(data, position)
                position += 4
            else:
                position = end
            if position != end:
                raise wrong_tag_size(tag)
    else:
        position += 1
    return ShareSnapshotValue(snapshot_epoch, state_epoch, leader_epoch, start_offset, delivery_complete_count, create_timestamp, write_timestamp, state_batches), position


def _write_share_snapshot_value(writer: BytesWriter, message: ShareSnapshotValue, version: i64) -> None:
    write_i32_be(writer, message.snapshot_epoch)
    write_i32_be(writer, message.state_epoch)
    write_i32_be(writer, message.leader_epoch)
    write_i64_be(writer, message.start_offset)
    write_i64_be(writer, message.create_timestamp)
    write_i64_be(writer, message.write_timestamp)
    state_batches = message.state_batches
    write_uvarint(writer, len(state_batches) + 1)
    for nth, state_batches_item in enumerate(state_batches):
        _write_state_batch(writer, state_batches_item, version)
        if nth & LONG_RUN == LONG_RUN:
            give_way()
    if message.delivery_complete_count != -1:
        writer.append(1)
        writer.append(0)
        writer.append(4)
        write_i32_be(writer, message.delivery_complete_count)
    else:
        writer.append(0)


class ShareUpdateKey(Message):
    """Key of record type 1, version 0."""

    __slots__ = ("group_id", "topic_id", "partition")
    FIELDS: ClassVar[tuple[str, ...]] = ("group_id", "topic_id", "partition")
    RECORD_KEY: ClassVar[int] = 1
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FIRST_FLEXIBLE: ClassVar[int] = -1

    def __init__(self, group_id: str = "", topic_id: bytes = NO_UUID, partition: int = 0) -> None:
        self.group_id = group_id
        self.topic_id = topic_id
        self.partition = partition

    @classmethod
    def decode(cls, data: bytes, position: int, version: int) -> tuple[ShareUpdateKey, int]:
        if version < 0 or version > 0:
            raise unknown_version("ShareUpdateKey", version, 0, 0)
        try:
            message, end = _read_share_update_key(data, position, version)
        except (IndexError, ValueError) as error:
            raise malformed("ShareUpdateKey", version, error) from None
        return message, end

    def encode(self, version: int) -> bytes:
        if version < 0 or version > 0:
            raise unsupported_version("ShareUpdateKey", version, 0, 0)
        writer = BytesWriter()
        _write_share_update_key(writer, self, version)
        return writer.getvalue()

    def encode_parts(self, writer_prefix: bytes, version: int) -> list[Part]:
        if version < 0 or version > 0:
            raise unsupported_version("ShareUpdateKey", version, 0, 0)
        writer = BytesWriter()
        writer.write(writer_prefix)
        _write_share_update_key(writer, self, version)
        return [writer.getvalue()]


def _read_share_update_key(data: bytes, position: i64, version: i64) -> tuple[ShareUpdateKey, i64]:
    group_id, position = read_string(data, position)
    topic_id = read_uuid(data, position)
    partition = read_i32_be(data, position + 16)
    position += 20
    return ShareUpdateKey(group_id, topic_id, partition), position


def _write_share_update_key(writer: BytesWriter, message: ShareUpdateKey, version: i64) -> None:
    write_string(writer, message.group_id)
    write_uuid(writer, message.topic_id)
    write_i32_be(writer, message.partition)


class ShareUpdateValue(Message):
    """Value of record type 1, version 0."""

    __slots__ = ("snapshot_epoch", "leader_epoch", "start_offset", "delivery_complete_count", "state_batches")
    FIELDS: ClassVar[tuple[str, ...]] = ("snapshot_epoch", "leader_epoch", "start_offset", "delivery_complete_count", "state_batches")
    RECORD_KEY: ClassVar[int] = 1
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FIRST_FLEXIBLE: ClassVar[int] = 0

    def __init__(self, snapshot_epoch: int = 0, leader_epoch: int = 0, start_offset: int = 0, delivery_complete_count: int = -1, state_batches: list[StateBatch] = NO_ITEMS) -> None:
        self.snapshot_epoch = snapshot_epoch
        self.leader_epoch = leader_epoch
        self.start_offset = start_offset
        self.delivery_complete_count = delivery_complete_count
        self.state_batches = [] if state_batches is NO_ITEMS else state_batches

    @classmethod
    def decode(cls, data: bytes, position: int, version: int) -> tuple[ShareUpdateValue, int]:
        if version < 0 or version > 0:
            raise unknown_version("ShareUpdateValue", version, 0, 0)
        try:
            message, end = _read_share_update_value(data, position, version)
        except (IndexError, ValueError) as error:
            raise malformed("ShareUpdateValue", version, error) from None
        return message, end

    def encode(self, version: int) -> bytes:
        if version < 0 or version > 0:
            raise unsupported_version("ShareUpdateValue", version, 0, 0)
        writer = BytesWriter()
        _write_share_update_value(writer, self, version)
        return writer.getvalue()

    def encode_parts(self, writer_prefix: bytes, version: int) -> list[Part]:
        if version < 0 or version > 0:
            raise unsupported_version("ShareUpdateValue", version, 0, 0)
        writer = BytesWriter()
        writer.write(writer_prefix)
        _write_share_update_value(writer, self, version)
        return [writer.getvalue()]


def _read_share_update_value(data: bytes, position: i64, version: i64) -> tuple[ShareUpdateValue, i64]:
    delivery_complete_count: int = -1
    state_batches: list[StateBatch]
    snapshot_epoch = read_i32_be(data, position)
    leader_epoch = read_i32_be(data, position + 4)
    start_offset = read_i64_be(data, position + 8)
    position += 16
    count, position = read_compact_count(data, position, 20)
    state_batches = []
    for nth in range(count):
        state_batches_item, position = _read_state_batch(data, position, version)
        state_batches.append(state_batches_item)
        if nth & LONG_RUN == LONG_RUN:
            give_way()
    if data[position]:
        tags, position = read_uvarint(data, position)
        for _ in range(tags):
            tag, position, end = read_tag(data, position)
            if tag == 0:
                delivery_complete_count = read_i32_be(data, position)
                position += 4
            else:
                position = end
            if position != end:
                raise wrong_tag_size(tag)
    else:
        position += 1
    return ShareUpdateValue(snapshot_epoch, leader_epoch, start_offset, delivery_complete_count, state_batches), position


def _write_share_update_value(writer: BytesWriter, message: ShareUpdateValue, version: i64) -> None:
    write_i32_be(writer, message.snapshot_epoch)
    write_i32_be(writer, message.leader_epoch)
    write_i64_be(writer, message.start_offset)
    state_batches = message.state_batches
    write_uvarint(writer, len(state_batches) + 1)
    for nth, state_batches_item in enumerate(state_batches):
        _write_state_batch(writer, state_batches_item, version)
        if nth & LONG_RUN == LONG_RUN:
            give_way()
    if message.delivery_complete_count != -1:
        writer.append(1)
        writer.append(0)
        writer.append(4)
        write_i32_be(writer, message.delivery_complete_count)
    else:
        writer.append(0)
