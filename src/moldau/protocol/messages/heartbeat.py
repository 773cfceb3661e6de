"""Heartbeat (API key 12). Generated from schema/heartbeat.txt: do not edit."""

# fmt: off
from __future__ import annotations

from typing import ClassVar

from librt.strings import BytesWriter, read_i16_be, read_i32_be, write_i16_be, write_i32_be
from mypy_extensions import i64

from moldau.protocol.file_region import Part
from moldau.protocol.message import Message
from moldau.protocol.reading import (
    malformed,
    read_compact_nullable_string,
    read_compact_string,
    read_nullable_string,
    read_string,
    skip_tags,
    unknown_version,
)
from moldau.protocol.writing import (
    unsupported_field,
    unsupported_version,
    write_compact_nullable_string,
    write_compact_string,
    write_nullable_string,
    write_string,
)


class HeartbeatRequest(Message):
    """API key 12, versions 0 to 4."""

    __slots__ = ("group_id", "generation_id", "member_id", "group_instance_id")
    FIELDS: ClassVar[tuple[str, ...]] = ("group_id", "generation_id", "member_id", "group_instance_id")
    API_KEY: ClassVar[int] = 12
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 4
    FIRST_FLEXIBLE: ClassVar[int] = 4

    def __init__(self, group_id: str = "", generation_id: int = 0, member_id: str = "", group_instance_id: str | None = None) -> None:
        self.group_id = group_id
        self.generation_id = generation_id
        self.member_id = member_id
        self.group_instance_id = group_instance_id

    @classmethod
    def decode(cls, data: bytes, position: int, version: int) -> tuple[HeartbeatRequest, int]:
        if version < 0 or version > 4:
            raise unknown_version("HeartbeatRequest", version, 0, 4)
        try:
            message, end = _read_heartbeat_request(data, position, version)
        except (IndexError, ValueError) as error:
            raise malformed("HeartbeatRequest", version, error) from None
        return message, end

    def encode(self, version: int) -> bytes:
        if version < 0 or version > 4:
            raise unsupported_version("HeartbeatRequest", version, 0, 4)
        writer = BytesWriter()
        _write_heartbeat_request(writer, self, version)
        return writer.getvalue()

    def encode_parts(self, writer_prefix: bytes, version: int) -> list[Part]:
        if version < 0 or version > 4:
            raise unsupported_version("HeartbeatRequest", version, 0, 4)
        writer = BytesWriter()
        writer.write(writer_prefix)
        _write_heartbeat_request(writer, self, version)
        return [writer.getvalue()]


def _read_heartbeat_request(data: bytes, position: i64, version: i64) -> tuple[HeartbeatRequest, i64]:
    group_id: str
    member_id: str
    group_instance_id: str | None
    if version >= 4:
        group_id, position = read_compact_string(data, position)
    else:
        group_id, position = read_string(data, position)
    generation_id = read_i32_be(data, position)
    position += 4
    if version >= 4:
        member_id, position = read_compact_string(data, position)
    else:
        member_id, position = read_string(data, position)
    if version >= 4:
        group_instance_id, position = read_compact_nullable_string(data, position)
    elif version >= 3:
        group_instance_id, position = read_nullable_string(data, position)
    else:
        group_instance_id = None
    if version >= 4:
        position = skip_tags(data, position) if data[position] else position + 1
    return HeartbeatRequest(group_id, generation_id, member_id, group_instance_id), position


def _write_heartbeat_request(writer: BytesWriter, message: HeartbeatRequest, version: i64) -> None:
    if version >= 4:
        write_compact_string(writer, message.group_id)
    else:
        write_string(writer, message.group_id)
    write_i32_be(writer, message.generation_id)
    if version >= 4:
        write_compact_string(writer, message.member_id)
    else:
        write_string(writer, message.member_id)
    if version >= 4:
        write_compact_nullable_string(writer, message.group_instance_id)
    elif version >= 3:
        write_nullable_string(writer, message.group_instance_id)
    else:
        if message.group_instance_id is not None:
            raise unsupported_field("HeartbeatRequest", "group_instance_id", version)
    if version >= 4:
        writer.append(0)


class HeartbeatResponse(Message):
    """API key 12, versions 0 to 4."""

    __slots__ = ("throttle_time_ms", "error_code")
    FIELDS: ClassVar[tuple[str, ...]] = ("throttle_time_ms", "error_code")
    API_KEY: ClassVar[int] = 12
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 4
    FIRST_FLEXIBLE: ClassVar[int] = 4

    def __init__(self, throttle_time_ms: int = 0, error_code: int = 0) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code

    @classmethod
    def decode(cls, data: bytes, position: int, version: int) -> tuple[HeartbeatResponse, int]:
        if version < 0 or version > 4:
            raise unknown_version("HeartbeatResponse", version, 0, 4)
        try:
            message, end = _read_heartbeat_response(data, position, version)
        except (IndexError, ValueError) as error:
            raise malformed("HeartbeatResponse", version, error) from None
        return message, end

    def encode(self, version: int) -> bytes:
        if version < 0 or version > 4:
            raise unsupported_version("HeartbeatResponse", version, 0, 4)
        writer = BytesWriter()
        _write_heartbeat_response(writer, self, version)
        return writer.getvalue()

    def encode_parts(self, writer_prefix: bytes, version: int) -> list[Part]:
        if version < 0 or version > 4:
            raise unsupported_version("HeartbeatResponse", version, 0, 4)
        writer = BytesWriter()
        writer.write(writer_prefix)
        _write_heartbeat_response(writer, self, version)
        return [writer.getvalue()]


def _read_heartbeat_response(data: bytes, position: i64, version: i64) -> tuple[HeartbeatResponse, i64]:
    throttle_time_ms: int
    if version >= 1:
        throttle_time_ms = read_i32_be(data, position)
        position += 4
    else:
        throttle_time_ms = 0
    error_code = read_i16_be(data, position)
    position += 2
    if version >= 4:
        position = skip_tags(data, position) if data[position] else position + 1
    return HeartbeatResponse(throttle_time_ms, error_code), position


def _write_heartbeat_response(writer: BytesWriter, message: HeartbeatResponse, version: i64) -> None:
    if version >= 1:
        write_i32_be(writer, message.throttle_time_ms)
    write_i16_be(writer, message.error_code)
    if version >= 4:
        writer.append(0)
