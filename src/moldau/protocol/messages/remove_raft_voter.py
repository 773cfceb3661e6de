"""RemoveRaftVoter (API key 81). Generated from schema/remove_raft_voter.txt: do not edit."""

# fmt: off
from __future__ import annotations

from typing import ClassVar

from librt.strings import BytesWriter, read_i16_be, read_i32_be, write_i16_be, write_i32_be
from mypy_extensions import i64

from moldau.ids import NO_UUID
from moldau.protocol.file_region import Part
from moldau.protocol.message import Message
from moldau.protocol.reading import (
    malformed,
    read_compact_nullable_string,
    read_uuid,
    skip_tags,
    unknown_version,
)
from moldau.protocol.writing import unsupported_version, write_compact_nullable_string, write_uuid


class RemoveRaftVoterRequest(Message):
    """API key 81, version 0."""

    __slots__ = ("cluster_id", "voter_id", "voter_directory_id")
    FIELDS: ClassVar[tuple[str, ...]] = ("cluster_id", "voter_id", "voter_directory_id")
    API_KEY: ClassVar[int] = 81
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FIRST_FLEXIBLE: ClassVar[int] = 0

    def __init__(self, cluster_id: str | None = "", voter_id: int = 0, voter_directory_id: bytes = NO_UUID) -> None:
        self.cluster_id = cluster_id
        self.voter_id = voter_id
        self.voter_directory_id = voter_directory_id

    @classmethod
    def decode(cls, data: bytes, position: int, version: int) -> tuple[RemoveRaftVoterRequest, int]:
        if version < 0 or version > 0:
            raise unknown_version("RemoveRaftVoterRequest", version, 0, 0)
        try:
            message, end = _read_remove_raft_voter_request(data, position, version)
        except (IndexError, ValueError) as error:
            raise malformed("RemoveRaftVoterRequest", version, error) from None
        return message, end

    def encode(self, version: int) -> bytes:
        if version < 0 or version > 0:
            raise unsupported_version("RemoveRaftVoterRequest", version, 0, 0)
        writer = BytesWriter()
        _write_remove_raft_voter_request(writer, self, version)
        return writer.getvalue()

    def encode_parts(self, writer_prefix: bytes, version: int) -> list[Part]:
        if version < 0 or version > 0:
            raise unsupported_version("RemoveRaftVoterRequest", version, 0, 0)
        writer = BytesWriter()
        writer.write(writer_prefix)
        _write_remove_raft_voter_request(writer, self, version)
        return [writer.getvalue()]


def _read_remove_raft_voter_request(data: bytes, position: i64, version: i64) -> tuple[RemoveRaftVoterRequest, i64]:
    cluster_id: str | None
    cluster_id, position = read_compact_nullable_string(data, position)
    voter_id = read_i32_be(data, position)
    voter_directory_id = read_uuid(data, position + 4)
    position += 20
    position = skip_tags(data, position) if data[position] else position + 1
    return RemoveRaftVoterRequest(cluster_id, voter_id, voter_directory_id), position


def _write_remove_raft_voter_request(writer: BytesWriter, message: RemoveRaftVoterRequest, version: i64) -> None:
    write_compact_nullable_string(writer, message.cluster_id)
    write_i32_be(writer, message.voter_id)
    write_uuid(writer, message.voter_directory_id)
    writer.append(0)


class RemoveRaftVoterResponse(Message):
    """API key 81, version 0."""

    __slots__ = ("throttle_time_ms", "error_code", "error_message")
    FIELDS: ClassVar[tuple[str, ...]] = ("throttle_time_ms", "error_code", "error_message")
    API_KEY: ClassVar[int] = 81
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FIRST_FLEXIBLE: ClassVar[int] = 0

    def __init__(self, throttle_time_ms: int = 0, error_code: int = 0, error_message: str | None = "") -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.error_message = error_message

    @classmethod
    def decode(cls, data: bytes, position: int, version: int) -> tuple[RemoveRaftVoterResponse, int]:
        if version < 0 or version > 0:
            raise unknown_version("RemoveRaftVoterResponse", version, 0, 0)
        try:
            message, end = _read_remove_raft_voter_response(data, position, version)
        except (IndexError, ValueError) as error:
            raise malformed("RemoveRaftVoterResponse", version, error) from None
        return message, end

    def encode(self, version: int) -> bytes:
        if version < 0 or version > 0:
            raise unsupported_version("RemoveRaftVoterResponse", version, 0, 0)
        writer = BytesWriter()
        _write_remove_raft_voter_response(writer, self, version)
        return writer.getvalue()

    def encode_parts(self, writer_prefix: bytes, version: int) -> list[Part]:
        if version < 0 or version > 0:
            raise unsupported_version("RemoveRaftVoterResponse", version, 0, 0)
        writer = BytesWriter()
        writer.write(writer_prefix)
        _write_remove_raft_voter_response(writer, self, version)
        return [writer.getvalue()]


def _read_remove_raft_voter_response(data: bytes, position: i64, version: i64) -> tuple[RemoveRaftVoterResponse, i64]:
    error_message: str | None
    throttle_time_ms = read_i32_be(data, position)
    error_code = read_i16_be(data, position + 4)
    position += 6
    error_message, position = read_compact_nullable_string(data, position)
    position = skip_tags(data, position) if data[position] else position + 1
    return RemoveRaftVoterResponse(throttle_time_ms, error_code, error_message), position


def _write_remove_raft_voter_response(writer: BytesWriter, message: RemoveRaftVoterResponse, version: i64) -> None:
    write_i32_be(writer, message.throttle_time_ms)
    write_i16_be(writer, message.error_code)
    write_compact_nullable_string(writer, message.error_message)
    writer.append(0)
