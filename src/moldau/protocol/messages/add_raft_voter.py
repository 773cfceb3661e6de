"""AddRaftVoter (API key 80). Generated from schema/add_raft_voter.txt: do not edit."""

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
    read_u16,
    read_uuid,
    skip_tags,
    unknown_version,
)
from moldau.protocol.writing import (
    unsupported_field,
    unsupported_version,
    write_bool,
    write_compact_nullable_string,
    write_compact_string,
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


class AddRaftVoterRequest(Message):
    """API key 80, versions 0 to 1."""

    __slots__ = ("cluster_id", "timeout_ms", "voter_id", "voter_directory_id", "listeners", "ack_when_committed")
    FIELDS: ClassVar[tuple[str, ...]] = ("cluster_id", "timeout_ms", "voter_id", "voter_directory_id", "listeners", "ack_when_committed")
    API_KEY: ClassVar[int] = 80
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 1
    FIRST_FLEXIBLE: ClassVar[int] = 0

    def __init__(self, cluster_id: str | None = "", timeout_ms: int = 0, voter_id: int = 0, voter_directory_id: bytes = NO_UUID, listeners: list[Listener] = NO_ITEMS, ack_when_committed: bool = True) -> None:
        self.cluster_id = cluster_id
        self.timeout_ms = timeout_ms
        self.voter_id = voter_id
        self.voter_directory_id = voter_directory_id
        self.listeners = [] if listeners is NO_ITEMS else listeners
        self.ack_when_committed = ack_when_committed

    @classmethod
    def decode(cls, data: bytes, position: int, version: int) -> tuple[AddRaftVoterRequest, int]:
        if version < 0 or version > 1:
            raise unknown_version("AddRaftVoterRequest", version, 0, 1)
        try:
            message, end = _read_add_raft_voter_request(data, position, version)
        except (IndexError, ValueError) as error:
            raise malformed("AddRaftVoterRequest", version, error) from None
        return message, end

    def encode(self, version: int) -> bytes:
        if version < 0 or version > 1:
            raise unsupported_version("AddRaftVoterRequest", version, 0, 1)
        writer = BytesWriter()
        _write_add_raft_voter_request(writer, self, version)
        return writer.getvalue()

    def encode_parts(self, writer_prefix: bytes, version: int) -> list[Part]:
        if version < 0 or version > 1:
            raise unsupported_version("AddRaftVoterRequest", version, 0, 1)
        writer = BytesWriter()
        writer.write(writer_prefix)
        _write_add_raft_voter_request(writer, self, version)
        return [writer.getvalue()]


def _read_add_raft_voter_request(data: bytes, position: i64, version: i64) -> tuple[AddRaftVoterRequest, i64]:
    cluster_id: str | None
    listeners: list[Listener]
    ack_when_committed: bool
    cluster_id, position = read_compact_nullable_string(data, position)
    timeout_ms = read_i32_be(data, position)
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
    if version >= 1:
        ack_when_committed = data[position] != 0
        position += 1
    else:
        ack_when_committed = True
    position = skip_tags(data, position) if data[position] else position + 1
    return AddRaftVoterRequest(cluster_id, timeout_ms, voter_id, voter_directory_id, listeners, ack_when_committed), position


def _write_add_raft_voter_request(writer: BytesWriter, message: AddRaftVoterRequest, version: i64) -> None:
    write_compact_nullable_string(writer, message.cluster_id)
    write_i32_be(writer, message.timeout_ms)
    write_i32_be(writer, message.voter_id)
    write_uuid(writer, message.voter_directory_id)
    listeners = message.listeners
    write_uvarint(writer, len(listeners) + 1)
    for nth, listeners_item in enumerate(listeners):
        _write_listener(writer, listeners_item, version)
        if nth & LONG_RUN == LONG_RUN:
            give_way()
    if version >= 1:
        write_bool(writer, message.ack_when_committed)
    else:
        if not message.ack_when_committed:
            raise unsupported_field("AddRaftVoterRequest", "ack_when_committed", version)
    writer.append(0)


class AddRaftVoterResponse(Message):
    """API key 80, versions 0 to 1."""

    __slots__ = ("throttle_time_ms", "error_code", "error_message")
    FIELDS: ClassVar[tuple[str, ...]] = ("throttle_time_ms", "error_code", "error_message")
    API_KEY: ClassVar[int] = 80
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 1
    FIRST_FLEXIBLE: ClassVar[int] = 0

    def __init__(self, throttle_time_ms: int = 0, error_code: int = 0, error_message: str | None = "") -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.error_message = error_message

    @classmethod
    def decode(cls, data: bytes, position: int, version: int) -> tuple[AddRaftVoterResponse, int]:
        if version < 0 or version > 1:
            raise unknown_version("AddRaftVoterResponse", version, 0, 1)
        try:
            message, end = _read_add_raft_voter_response(data, position, version)
        except (IndexError, ValueError) as error:
            raise malformed("AddRaftVoterResponse", version, error) from None
        return message, end

    def encode(self, version: int) -> bytes:
        if version < 0 or version > 1:
            raise unsupported_version("AddRaftVoterResponse", version, 0, 1)
        writer = BytesWriter()
        _write_add_raft_voter_response(writer, self, version)
        return writer.getvalue()

    def encode_parts(self, writer_prefix: bytes, version: int) -> list[Part]:
        if version < 0 or version > 1:
            raise unsupported_version("AddRaftVoterResponse", version, 0, 1)
        writer = BytesWriter()
        writer.write(writer_prefix)
        _write_add_raft_voter_response(writer, self, version)
        return [writer.getvalue()]


def _read_add_raft_voter_response(data: bytes, position: i64, version: i64) -> tuple[AddRaftVoterResponse, i64]:
    error_message: str | None
    throttle_time_ms = read_i32_be(data, position)
    error_code = read_i16_be(data, position + 4)
    position += 6
    error_message, position = read_compact_nullable_string(data, position)
    position = skip_tags(data, position) if data[position] else position + 1
    return AddRaftVoterResponse(throttle_time_ms, error_code, error_message), position


def _write_add_raft_voter_response(writer: BytesWriter, message: AddRaftVoterResponse, version: i64) -> None:
    write_i32_be(writer, message.throttle_time_ms)
    write_i16_be(writer, message.error_code)
    write_compact_nullable_string(writer, message.error_message)
    writer.append(0)
