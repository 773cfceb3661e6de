"""UpdateRaftVoter (API key 82). Generated from schema/update_raft_voter.txt: do not edit."""

# fmt: off
from __future__ import annotations

from typing import ClassVar

from librt.strings import BytesWriter, read_i16_be, read_i32_be, write_i16_be, write_i32_be
from mypy_extensions import i64

from moldau.ids import NO_UUID
from moldau.protocol.file_region import Part
from moldau.protocol.giving_way import give_way
from moldau.protocol.message import NO_ITEMS, Message, Struct
from moldau.protocol.reading import (
    LONG_RUN,
    malformed,
    read_compact_count,
    read_compact_nullable_string,
    read_compact_string,
    read_tag,
    read_u16,
    read_uuid,
    read_uvarint,
    skip_tags,
    unknown_version,
    wrong_tag_size,
)
from moldau.protocol.writing import (
    unsupported_version,
    write_compact_nullable_string,
    write_compact_string,
    write_tag,
    write_u16,
    write_uuid,
    write_uvarint,
)


class Listener(Struct):
    __slots__ = ("name", "host", "port")
    FIELDS: ClassVar[tuple[str, ...]] = ("name", "host", "port")

    def __init__(self, name: str = "", host: str = "", port: int = 0) -> None:
        self.name = name
        self.host = host
        self.port = port


def _read_listener(data: bytes, position: i64, version: i64) -> tuple[Listener, i64]:
    name, position = read_compact_string(data, position)
    host, position = read_compact_string(data, position)
    port = read_u16(data, position)
    position += 2
    position = skip_tags(data, position) if data[position] else position + 1
    return Listener(name, host, port), position


def _write_listener(writer: BytesWriter, message: Listener, version: i64) -> None:
    write_compact_string(writer, message.name)
    write_compact_string(writer, message.host)
    write_u16(writer, message.port)
    writer.append(0)


class KRaftVersionFeature(Struct):
    __slots__ = ("min_supported_version", "max_supported_version")
    FIELDS: ClassVar[tuple[str, ...]] = ("min_supported_version", "max_supported_version")

    def __init__(self, min_supported_version: int = 0, max_supported_version: int = 0) -> None:
        self.min_supported_version = min_supported_version
        self.max_supported_version = max_supported_version


def _read_kraft_version_feature(data: bytes, position: i64, version: i64) -> tuple[KRaftVersionFeature, i64]:
    min_supported_version = read_i16_be(data, position)
    max_supported_version = read_i16_be(data, position + 2)
    position += 4
    position = skip_tags(data, position) if data[position] else position + 1
    return KRaftVersionFeature(min_supported_version, max_supported_version), position


def _write_kraft_version_feature(writer: BytesWriter, message: KRaftVersionFeature, version: i64) -> None:
    write_i16_be(writer, message.min_supported_version)
    write_i16_be(writer, message.max_supported_version)
    writer.append(0)


class CurrentLeader(Struct):
    __slots__ = ("leader_id", "leader_epoch", "host", "port")
    FIELDS: ClassVar[tuple[str, ...]] = ("leader_id", "leader_epoch", "host", "port")

    def __init__(self, leader_id: int = -1, leader_epoch: int = -1, host: str = "", port: int = 0) -> None:
        self.leader_id = leader_id
        self.leader_epoch = leader_epoch
        self.host = host
        self.port = port


def _read_current_leader(data: bytes, position: i64, version: i64) -> tuple[CurrentLeader, i64]:
    leader_id = read_i32_be(data, position)
    leader_epoch = read_i32_be(data, position + 4)
    position += 8
    host, position = read_compact_string(data, position)
    port = read_i32_be(data, position)
    position += 4
    position = skip_tags(data, position) if data[position] else position + 1
    return CurrentLeader(leader_id, leader_epoch, host, port), position


def _write_current_leader(writer: BytesWriter, message: CurrentLeader, version: i64) -> None:
    write_i32_be(writer, message.leader_id)
    write_i32_be(writer, message.leader_epoch)
    write_compact_string(writer, message.host)
    write_i32_be(writer, message.port)
    writer.append(0)


class UpdateRaftVoterRequest(Message):
    """API key 82, version 0."""

    __slots__ = ("cluster_id", "current_leader_epoch", "voter_id", "voter_directory_id", "listeners", "kraft_version_feature")
    FIELDS: ClassVar[tuple[str, ...]] = ("cluster_id", "current_leader_epoch", "voter_id", "voter_directory_id", "listeners", "kraft_version_feature")
    API_KEY: ClassVar[int] = 82
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FIRST_FLEXIBLE: ClassVar[int] = 0

    def __init__(self, cluster_id: str | None = "", current_leader_epoch: int = 0, voter_id: int = 0, voter_directory_id: bytes = NO_UUID, listeners: list[Listener] = NO_ITEMS, kraft_version_feature: KRaftVersionFeature | None = None) -> None:
        self.cluster_id = cluster_id
        self.current_leader_epoch = current_leader_epoch
        self.voter_id = voter_id
        self.voter_directory_id = voter_directory_id
        self.listeners = [] if listeners is NO_ITEMS else listeners
        self.kraft_version_feature = KRaftVersionFeature() if kraft_version_feature is None else kraft_version_feature

    @classmethod
    def decode(cls, data: bytes, position: int, version: int) -> tuple[UpdateRaftVoterRequest, int]:
        if version < 0 or version > 0:
            raise unknown_version("UpdateRaftVoterRequest", version, 0, 0)
        try:
            message, end = _read_update_raft_voter_request(data, position, version)
        except (IndexError, ValueError) as error:
            raise malformed("UpdateRaftVoterRequest", version, error) from None
        return message, end

    def encode(self, version: int) -> bytes:
        if version < 0 or version > 0:
            raise unsupported_version("UpdateRaftVoterRequest", version, 0, 0)
        writer = BytesWriter()
        _write_update_raft_voter_request(writer, self, version)
        return writer.getvalue()

    def encode_parts(self, writer_prefix: bytes, version: int) -> list[Part]:
        if version < 0 or version > 0:
            raise unsupported_version("UpdateRaftVoterRequest", version, 0, 0)
        writer = BytesWriter()
        writer.write(writer_prefix)
        _write_update_raft_voter_request(writer, self, version)
        return [writer.getvalue()]


def _read_update_raft_voter_request(data: bytes, position: i64, version: i64) -> tuple[UpdateRaftVoterRequest, i64]:
    cluster_id: str | None
    listeners: list[Listener]
    cluster_id, position = read_compact_nullable_string(data, position)
    current_leader_epoch = read_i32_be(data, position)
    voter_id = read_i32_be(data, position + 4)
    voter_directory_id = read_uuid(data, position + 8)
    position += 24
    count, position = read_compact_count(data, position, 5)
    listeners = []
    for nth in range(count):
        listeners_item, position = _read_listener(data, position, version)
        listeners.append(listeners_item)
        if nth & LONG_RUN == LONG_RUN:
            give_way()
    kraft_version_feature, position = _read_kraft_version_feature(data, position, version)
    position = skip_tags(data, position) if data[position] else position + 1
    return UpdateRaftVoterRequest(cluster_id, current_leader_epoch, voter_id, voter_directory_id, listeners, kraft_version_feature), position


def _write_update_raft_voter_request(writer: BytesWriter, message: UpdateRaftVoterRequest, version: i64) -> None:
    write_compact_nullable_string(writer, message.cluster_id)
    write_i32_be(writer, message.current_leader_epoch)
    write_i32_be(writer, message.voter_id)
    write_uuid(writer, message.voter_directory_id)
    listeners = message.listeners
    write_uvarint(writer, len(listeners) + 1)
    for nth, listeners_item in enumerate(listeners):
        _write_listener(writer, listeners_item, version)
        if nth & LONG_RUN == LONG_RUN:
            give_way()
    _write_kraft_version_feature(writer, message.kraft_version_feature, version)
    writer.append(0)


class UpdateRaftVoterResponse(Message):
    """API key 82, version 0."""

    __slots__ = ("throttle_time_ms", "error_code", "current_leader")
    FIELDS: ClassVar[tuple[str, ...]] = ("throttle_time_ms", "error_code", "current_leader")
    API_KEY: ClassVar[int] = 82
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FIRST_FLEXIBLE: ClassVar[int] = 0

    def __init__(self, throttle_time_ms: int = 0, error_code: int = 0, current_leader: CurrentLeader | None = None) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.current_leader = current_leader

    @classmethod
    def decode(cls, data: bytes, position: int, version: int) -> tuple[UpdateRaftVoterResponse, int]:
        if version < 0 or version > 0:
            raise unknown_version("UpdateRaftVoterResponse", version, 0, 0)
        try:
            message, end = _read_update_raft_voter_response(data, position, version)
        except (IndexError, ValueError) as error:
            raise malformed("UpdateRaftVoterResponse", version, error) from None
        return message, end

    def encode(self, version: int) -> bytes:
        if version < 0 or version > 0:
            raise unsupported_version("UpdateRaftVoterResponse", version, 0, 0)
        writer = BytesWriter()
        _write_update_raft_voter_response(writer, self, version)
        return writer.getvalue()

    def encode_parts(self, writer_prefix: bytes, version: int) -> list[Part]:
        if version < 0 or version > 0:
            raise unsupported_version("UpdateRaftVoterResponse", version, 0, 0)
        writer = BytesWriter()
        writer.write(writer_prefix)
        _write_update_raft_voter_response(writer, self, version)
        return [writer.getvalue()]


def _read_update_raft_voter_response(data: bytes, position: i64, version: i64) -> tuple[UpdateRaftVoterResponse, i64]:
    current_leader: CurrentLeader | None = None
    throttle_time_ms = read_i32_be(data, position)
    error_code = read_i16_be(data, position + 4)
    position += 6
    if data[position]:
        tags, position = read_uvarint(data, position)
        for _ in range(tags):
            tag, position, end = read_tag(data, position)
            if tag == 0:
                current_leader, position = _read_current_leader(data, position, version)
            else:
                position = end
            if position != end:
                raise wrong_tag_size(tag)
    else:
        position += 1
    return UpdateRaftVoterResponse(throttle_time_ms, error_code, current_leader), position


def _write_update_raft_voter_response(writer: BytesWriter, message: UpdateRaftVoterResponse, version: i64) -> None:
    write_i32_be(writer, message.throttle_time_ms)
    write_i16_be(writer, message.error_code)
    if message.current_leader is not None and (message.current_leader.leader_id != -1 or message.current_leader.leader_epoch != -1 or message.current_leader.host != "" or message.current_leader.port != 0):
        writer.append(1)
        body = BytesWriter()
        _write_current_leader(body, message.current_leader, version)
        write_tag(writer, 0, body)
    else:
        writer.append(0)
