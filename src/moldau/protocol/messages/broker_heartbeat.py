"""BrokerHeartbeat (API key 63). Generated from schema/broker_heartbeat.txt: do not edit."""

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
from moldau.protocol.message import NO_ITEMS, Message
from moldau.protocol.reading import (
    malformed,
    read_compact_count,
    read_compact_nullable_count,
    read_tag,
    read_uuid_list,
    read_uvarint,
    skip_tags,
    unknown_version,
    wrong_tag_size,
)
from moldau.protocol.writing import (
    unsupported_field,
    unsupported_version,
    write_bool,
    write_tag,
    write_uuid_list,
    write_uvarint,
)


class BrokerHeartbeatRequest(Message):
    """API key 63, versions 0 to 2."""

    __slots__ = ("broker_id", "broker_epoch", "current_metadata_offset", "want_fence", "want_shut_down", "offline_log_dirs", "cordoned_log_dirs")
    FIELDS: ClassVar[tuple[str, ...]] = ("broker_id", "broker_epoch", "current_metadata_offset", "want_fence", "want_shut_down", "offline_log_dirs", "cordoned_log_dirs")
    API_KEY: ClassVar[int] = 63
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 2
    FIRST_FLEXIBLE: ClassVar[int] = 0

    def __init__(self, broker_id: int = 0, broker_epoch: int = -1, current_metadata_offset: int = 0, want_fence: bool = False, want_shut_down: bool = False, offline_log_dirs: list[bytes] = NO_ITEMS, cordoned_log_dirs: list[bytes] | None = None) -> None:
        self.broker_id = broker_id
        self.broker_epoch = broker_epoch
        self.current_metadata_offset = current_metadata_offset
        self.want_fence = want_fence
        self.want_shut_down = want_shut_down
        self.offline_log_dirs = [] if offline_log_dirs is NO_ITEMS else offline_log_dirs
        self.cordoned_log_dirs = cordoned_log_dirs

    @classmethod
    def decode(cls, data: bytes, position: int, version: int) -> tuple[BrokerHeartbeatRequest, int]:
        if version < 0 or version > 2:
            raise unknown_version("BrokerHeartbeatRequest", version, 0, 2)
        try:
            message, end = _read_broker_heartbeat_request(data, position, version)
        except (IndexError, ValueError) as error:
            raise malformed("BrokerHeartbeatRequest", version, error) from None
        return message, end

    def encode(self, version: int) -> bytes:
        if version < 0 or version > 2:
            raise unsupported_version("BrokerHeartbeatRequest", version, 0, 2)
        writer = BytesWriter()
        _write_broker_heartbeat_request(writer, self, version)
        return writer.getvalue()

    def encode_parts(self, writer_prefix: bytes, version: int) -> list[Part]:
        if version < 0 or version > 2:
            raise unsupported_version("BrokerHeartbeatRequest", version, 0, 2)
        writer = BytesWriter()
        writer.write(writer_prefix)
        _write_broker_heartbeat_request(writer, self, version)
        return [writer.getvalue()]


def _read_broker_heartbeat_request(data: bytes, position: i64, version: i64) -> tuple[BrokerHeartbeatRequest, i64]:
    offline_log_dirs: list[bytes] = []
    cordoned_log_dirs: list[bytes] | None = None
    broker_id = read_i32_be(data, position)
    broker_epoch = read_i64_be(data, position + 4)
    current_metadata_offset = read_i64_be(data, position + 12)
    want_fence = data[position + 20] != 0
    want_shut_down = data[position + 21] != 0
    position += 22
    if data[position]:
        tags, position = read_uvarint(data, position)
        for _ in range(tags):
            tag, position, end = read_tag(data, position)
            if tag == 0 and version >= 1:
                count, position = read_compact_count(data, position, 16)
                offline_log_dirs = read_uuid_list(data, position, count)
                position += 16 * count
            elif tag == 1 and version >= 2:
                count, position = read_compact_nullable_count(data, position, 16)
                if count < 0:
                    cordoned_log_dirs = None
                else:
                    cordoned_log_dirs = read_uuid_list(data, position, count)
                    position += 16 * count
            else:
                position = end
            if position != end:
                raise wrong_tag_size(tag)
    else:
        position += 1
    return BrokerHeartbeatRequest(broker_id, broker_epoch, current_metadata_offset, want_fence, want_shut_down, offline_log_dirs, cordoned_log_dirs), position


def _write_broker_heartbeat_request(writer: BytesWriter, message: BrokerHeartbeatRequest, version: i64) -> None:
    write_i32_be(writer, message.broker_id)
    write_i64_be(writer, message.broker_epoch)
    write_i64_be(writer, message.current_metadata_offset)
    write_bool(writer, message.want_fence)
    write_bool(writer, message.want_shut_down)
    if version < 1:
        if message.offline_log_dirs:
            raise unsupported_field("BrokerHeartbeatRequest", "offline_log_dirs", version)
    if version < 2:
        if message.cordoned_log_dirs is not None:
            raise unsupported_field("BrokerHeartbeatRequest", "cordoned_log_dirs", version)
    count = 0
    if version >= 1 and message.offline_log_dirs:
        count += 1
    if version >= 2 and message.cordoned_log_dirs is not None:
        count += 1
    writer.append(count)
    if count:
        if version >= 1 and message.offline_log_dirs:
            body = BytesWriter()
            offline_log_dirs = message.offline_log_dirs
            write_uvarint(body, len(offline_log_dirs) + 1)
            write_uuid_list(body, offline_log_dirs)
            write_tag(writer, 0, body)
        if version >= 2 and message.cordoned_log_dirs is not None:
            body = BytesWriter()
            cordoned_log_dirs = message.cordoned_log_dirs
            if cordoned_log_dirs is None:
                body.append(0)
            else:
                write_uvarint(body, len(cordoned_log_dirs) + 1)
                write_uuid_list(body, cordoned_log_dirs)
            write_tag(writer, 1, body)


class BrokerHeartbeatResponse(Message):
    """API key 63, versions 0 to 2."""

    __slots__ = ("throttle_time_ms", "error_code", "is_caught_up", "is_fenced", "should_shut_down")
    FIELDS: ClassVar[tuple[str, ...]] = ("throttle_time_ms", "error_code", "is_caught_up", "is_fenced", "should_shut_down")
    API_KEY: ClassVar[int] = 63
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 2
    FIRST_FLEXIBLE: ClassVar[int] = 0

    def __init__(self, throttle_time_ms: int = 0, error_code: int = 0, is_caught_up: bool = False, is_fenced: bool = True, should_shut_down: bool = False) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.is_caught_up = is_caught_up
        self.is_fenced = is_fenced
        self.should_shut_down = should_shut_down

    @classmethod
    def decode(cls, data: bytes, position: int, version: int) -> tuple[BrokerHeartbeatResponse, int]:
        if version < 0 or version > 2:
            raise unknown_version("BrokerHeartbeatResponse", version, 0, 2)
        try:
            message, end = _read_broker_heartbeat_response(data, position, version)
        except (IndexError, ValueError) as error:
            raise malformed("BrokerHeartbeatResponse", version, error) from None
        return message, end

    def encode(self, version: int) -> bytes:
        if version < 0 or version > 2:
            raise unsupported_version("BrokerHeartbeatResponse", version, 0, 2)
        writer = BytesWriter()
        _write_broker_heartbeat_response(writer, self, version)
        return writer.getvalue()

    def encode_parts(self, writer_prefix: bytes, version: int) -> list[Part]:
        if version < 0 or version > 2:
            raise unsupported_version("BrokerHeartbeatResponse", version, 0, 2)
        writer = BytesWriter()
        writer.write(writer_prefix)
        _write_broker_heartbeat_response(writer, self, version)
        return [writer.getvalue()]


def _read_broker_heartbeat_response(data: bytes, position: i64, version: i64) -> tuple[BrokerHeartbeatResponse, i64]:
    throttle_time_ms = read_i32_be(data, position)
    error_code = read_i16_be(data, position + 4)
    is_caught_up = data[position + 6] != 0
    is_fenced = data[position + 7] != 0
    should_shut_down = data[position + 8] != 0
    position += 9
    position = skip_tags(data, position) if data[position] else position + 1
    return BrokerHeartbeatResponse(throttle_time_ms, error_code, is_caught_up, is_fenced, should_shut_down), position


def _write_broker_heartbeat_response(writer: BytesWriter, message: BrokerHeartbeatResponse, version: i64) -> None:
    write_i32_be(writer, message.throttle_time_ms)
    write_i16_be(writer, message.error_code)
    write_bool(writer, message.is_caught_up)
    write_bool(writer, message.is_fenced)
    write_bool(writer, message.should_shut_down)
    writer.append(0)
