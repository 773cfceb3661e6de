"""The offset commit records. Generated from schema/offset_commit_records.txt: do not edit."""

# fmt: off
from __future__ import annotations

from typing import ClassVar

from librt.strings import BytesWriter, read_i32_be, read_i64_be, write_i32_be, write_i64_be
from mypy_extensions import i64

from moldau.ids import NO_UUID
from moldau.protocol.file_region import Part
from moldau.protocol.message import Message
from moldau.protocol.reading import (
    malformed,
    read_compact_string,
    read_string,
    read_tag,
    read_uuid,
    read_uvarint,
    unknown_version,
    wrong_tag_size,
)
from moldau.protocol.writing import (
    unsupported_version,
    write_compact_string,
    write_string,
    write_uuid,
)


class LegacyOffsetCommitKey(Message):
    """Key of record type 0, version 0."""

    __slots__ = ("group", "topic", "partition")
    FIELDS: ClassVar[tuple[str, ...]] = ("group", "topic", "partition")
    RECORD_KEY: ClassVar[int] = 0
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FIRST_FLEXIBLE: ClassVar[int] = -1

    def __init__(self, group: str = "", topic: str = "", partition: int = 0) -> None:
        self.group = group
        self.topic = topic
        self.partition = partition

    @classmethod
    def decode(cls, data: bytes, position: int, version: int) -> tuple[LegacyOffsetCommitKey, int]:
        if version < 0 or version > 0:
            raise unknown_version("LegacyOffsetCommitKey", version, 0, 0)
        try:
            message, end = _read_legacy_offset_commit_key(data, position, version)
        except (IndexError, ValueError) as error:
            raise malformed("LegacyOffsetCommitKey", version, error) from None
        return message, end

    def encode(self, version: int) -> bytes:
        if version < 0 or version > 0:
            raise unsupported_version("LegacyOffsetCommitKey", version, 0, 0)
        writer = BytesWriter()
        _write_legacy_offset_commit_key(writer, self, version)
        return writer.getvalue()

    def encode_parts(self, writer_prefix: bytes, version: int) -> list[Part]:
        if version < 0 or version > 0:
            raise unsupported_version("LegacyOffsetCommitKey", version, 0, 0)
        writer = BytesWriter()
        writer.write(writer_prefix)
        _write_legacy_offset_commit_key(writer, self, version)
        return [writer.getvalue()]


def _read_legacy_offset_commit_key(data: bytes, position: i64, version: i64) -> tuple[LegacyOffsetCommitKey, i64]:
    group, position = read_string(data, position)
    topic, position = read_string(data, position)
    partition = read_i32_be(data, position)
    position += 4
    return LegacyOffsetCommitKey(group, topic, partition), position


def _write_legacy_offset_commit_key(writer: BytesWriter, message: LegacyOffsetCommitKey, version: i64) -> None:
    write_string(writer, message.group)
    write_string(writer, message.topic)
    write_i32_be(writer, message.partition)


class LegacyOffsetCommitValue(Message):
    """Value of record type 0, version 0."""

    __slots__ = ("offset", "metadata", "commit_timestamp")
    FIELDS: ClassVar[tuple[str, ...]] = ("offset", "metadata", "commit_timestamp")
    RECORD_KEY: ClassVar[int] = 0
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FIRST_FLEXIBLE: ClassVar[int] = -1

    def __init__(self, offset: int = 0, metadata: str = "", commit_timestamp: int = 0) -> None:
        self.offset = offset
        self.metadata = metadata
        self.commit_timestamp = commit_timestamp

    @classmethod
    def decode(cls, data: bytes, position: int, version: int) -> tuple[LegacyOffsetCommitValue, int]:
        if version < 0 or version > 0:
            raise unknown_version("LegacyOffsetCommitValue", version, 0, 0)
        try:
            message, end = _read_legacy_offset_commit_value(data, position, version)
        except (IndexError, ValueError) as error:
            raise malformed("LegacyOffsetCommitValue", version, error) from None
        return message, end

    def encode(self, version: int) -> bytes:
        if version < 0 or version > 0:
            raise unsupported_version("LegacyOffsetCommitValue", version, 0, 0)
        writer = BytesWriter()
        _write_legacy_offset_commit_value(writer, self, version)
        return writer.getvalue()

    def encode_parts(self, writer_prefix: bytes, version: int) -> list[Part]:
        if version < 0 or version > 0:
            raise unsupported_version("LegacyOffsetCommitValue", version, 0, 0)
        writer = BytesWriter()
        writer.write(writer_prefix)
        _write_legacy_offset_commit_value(writer, self, version)
        return [writer.getvalue()]


def _read_legacy_offset_commit_value(data: bytes, position: i64, version: i64) -> tuple[LegacyOffsetCommitValue, i64]:
    offset = read_i64_be(data, position)
    position += 8
    metadata, position = read_string(data, position)
    commit_timestamp = read_i64_be(data, position)
    position += 8
    return LegacyOffsetCommitValue(offset, metadata, commit_timestamp), position


def _write_legacy_offset_commit_value(writer: BytesWriter, message: LegacyOffsetCommitValue, version: i64) -> None:
    write_i64_be(writer, message.offset)
    write_string(writer, message.metadata)
    write_i64_be(writer, message.commit_timestamp)


class OffsetCommitKey(Message):
    """Key of record type 1, version 0."""

    __slots__ = ("group", "topic", "partition")
    FIELDS: ClassVar[tuple[str, ...]] = ("group", "topic", "partition")
    RECORD_KEY: ClassVar[int] = 1
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FIRST_FLEXIBLE: ClassVar[int] = -1

    def __init__(self, group: str = "", topic: str = "", partition: int = 0) -> None:
        self.group = group
        self.topic = topic
        self.partition = partition

    @classmethod
    def decode(cls, data: bytes, position: int, version: int) -> tuple[OffsetCommitKey, int]:
        if version < 0 or version > 0:
            raise unknown_version("OffsetCommitKey", version, 0, 0)
        try:
            message, end = _read_offset_commit_key(data, position, version)
        except (IndexError, ValueError) as error:
            raise malformed("OffsetCommitKey", version, error) from None
        return message, end

    def encode(self, version: int) -> bytes:
        if version < 0 or version > 0:
            raise unsupported_version("OffsetCommitKey", version, 0, 0)
        writer = BytesWriter()
        _write_offset_commit_key(writer, self, version)
        return writer.getvalue()

    def encode_parts(self, writer_prefix: bytes, version: int) -> list[Part]:
        if version < 0 or version > 0:
            raise unsupported_version("OffsetCommitKey", version, 0, 0)
        writer = BytesWriter()
        writer.write(writer_prefix)
        _write_offset_commit_key(writer, self, version)
        return [writer.getvalue()]


def _read_offset_commit_key(data: bytes, position: i64, version: i64) -> tuple[OffsetCommitKey, i64]:
    group, position = read_string(data, position)
    topic, position = read_string(data, position)
    partition = read_i32_be(data, position)
    position += 4
    return OffsetCommitKey(group, topic, partition), position


def _write_offset_commit_key(writer: BytesWriter, message: OffsetCommitKey, version: i64) -> None:
    write_string(writer, message.group)
    write_string(writer, message.topic)
    write_i32_be(writer, message.partition)


class OffsetCommitValue(Message):
    """Value of record type 1, versions 0 to 4."""

    __slots__ = ("offset", "leader_epoch", "metadata", "commit_timestamp", "expire_timestamp", "topic_id")
    FIELDS: ClassVar[tuple[str, ...]] = ("offset", "leader_epoch", "metadata", "commit_timestamp", "expire_timestamp", "topic_id")
    RECORD_KEY: ClassVar[int] = 1
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 4
    FIRST_FLEXIBLE: ClassVar[int] = 4

    def __init__(self, offset: int = 0, leader_epoch: int = -1, metadata: str = "", commit_timestamp: int = 0, expire_timestamp: int = -1, topic_id: bytes = NO_UUID) -> None:
        self.offset = offset
        self.leader_epoch = leader_epoch
        self.metadata = metadata
        self.commit_timestamp = commit_timestamp
        self.expire_timestamp = expire_timestamp
        self.topic_id = topic_id

    @classmethod
    def decode(cls, data: bytes, position: int, version: int) -> tuple[OffsetCommitValue, int]:
        if version < 0 or version > 4:
            raise unknown_version("OffsetCommitValue", version, 0, 4)
        try:
            message, end = _read_offset_commit_value(data, position, version)
        except (IndexError, ValueError) as error:
            raise malformed("OffsetCommitValue", version, error) from None
        return message, end

    def encode(self, version: int) -> bytes:
        if version < 0 or version > 4:
            raise unsupported_version("OffsetCommitValue", version, 0, 4)
        writer = BytesWriter()
        _write_offset_commit_value(writer, self, version)
        return writer.getvalue()

    def encode_parts(self, writer_prefix: bytes, version: int) -> list[Part]:
        if version < 0 or version > 4:
            raise unsupported_version("OffsetCommitValue", version, 0, 4)
        writer = BytesWriter()
        writer.write(writer_prefix)
        _write_offset_commit_value(writer, self, version)
        return [writer.getvalue()]


def _read_offset_commit_value(data: bytes, position: i64, version: i64) -> tuple[OffsetCommitValue, i64]:
    leader_epoch: int
    metadata: str
    expire_timestamp: int
    topic_id: bytes = NO_UUID
    offset = read_i64_be(data, position)
    position += 8
    if version >= 3:
        leader_epoch = read_i32_be(data, position)
        position += 4
    else:
        leader_epoch = -1
    if version >= 4:
        metadata, position = read_compact_string(data, position)
    else:
        metadata, position = read_string(data, position)
    commit_timestamp = read_i64_be(data, position)
    position += 8
    if version >= 2:
        expire_timestamp = -1
    elif version >= 1:
        expire_timestamp = read_i64_be(data, position)
        position += 8
    else:
        expire_timestamp = -1
    if version >= 4:
        if data[position]:
            tags, position = read_uvarint(data, position)
            for _ in range(tags):
                tag, position, end = read_tag(data, position)
                if tag == 0:
                    topic_id = read_uuid(data, position)
                    position += 16
                else:
                    position = end
                if position != end:
                    raise wrong_tag_size(tag)
        else:
            position += 1
    return OffsetCommitValue(offset, leader_epoch, metadata, commit_timestamp, expire_timestamp, topic_id), position


def _write_offset_commit_value(writer: BytesWriter, message: OffsetCommitValue, version: i64) -> None:
    write_i64_be(writer, message.offset)
    if version >= 3:
        write_i32_be(writer, message.leader_epoch)
    if version >= 4:
        write_compact_string(writer, message.metadata)
    else:
        write_string(writer, message.metadata)
    write_i64_be(writer, message.commit_timestamp)
    if version >= 2:
        pass
    elif version >= 1:
        write_i64_be(writer, message.expire_timestamp)
    if version >= 4:
        if message.topic_id != NO_UUID:
            writer.append(1)
            writer.append(0)
            writer.append(16)
            write_uuid(writer, message.topic_id)
        else:
            writer.append(0)
