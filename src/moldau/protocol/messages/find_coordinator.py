"""FindCoordinator (API key 10). Generated from schema/find_coordinator.txt: do not edit."""

# fmt: off
from __future__ import annotations

from typing import ClassVar

from librt.strings import BytesWriter, read_i16_be, read_i32_be, write_i16_be, write_i32_be
from mypy_extensions import i64

from moldau.protocol.file_region import Part
from moldau.protocol.giving_way import give_way
from moldau.protocol.message import NO_ITEMS, Message, Struct
from moldau.protocol.reading import (
    LONG_RUN,
    malformed,
    read_compact_count,
    read_compact_nullable_string,
    read_compact_string,
    read_compact_string_list,
    read_i8,
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
    write_compact_string_list,
    write_i8,
    write_nullable_string,
    write_string,
    write_uvarint,
)


class Coordinator(Struct):
    __slots__ = ("key", "node_id", "host", "port", "error_code", "error_message")
    FIELDS: ClassVar[tuple[str, ...]] = ("key", "node_id", "host", "port", "error_code", "error_message")

    def __init__(self, key: str = "", node_id: int = 0, host: str = "", port: int = 0, error_code: int = 0, error_message: str | None = "") -> None:
        self.key = key
        self.node_id = node_id
        self.host = host
        self.port = port
        self.error_code = error_code
        self.error_message = error_message


def _read_coordinator(data: bytes, position: i64, version: i64) -> tuple[Coordinator, i64]:
    error_message: str | None
    key, position = read_compact_string(data, position)
    node_id = read_i32_be(data, position)
    position += 4
    host, position = read_compact_string(data, position)
    port = read_i32_be(data, position)
    error_code = read_i16_be(data, position + 4)
    position += 6
    error_message, position = read_compact_nullable_string(data, position)
    position = skip_tags(data, position) if data[position] else position + 1
    return Coordinator(key, node_id, host, port, error_code, error_message), position


def _write_coordinator(writer: BytesWriter, message: Coordinator, version: i64) -> None:
    write_compact_string(writer, message.key)
    write_i32_be(writer, message.node_id)
    write_compact_string(writer, message.host)
    write_i32_be(writer, message.port)
    write_i16_be(writer, message.error_code)
    write_compact_nullable_string(writer, message.error_message)
    writer.append(0)


class FindCoordinatorRequest(Message):
    """API key 10, versions 0 to 6."""

    __slots__ = ("key", "key_type", "coordinator_keys")
    FIELDS: ClassVar[tuple[str, ...]] = ("key", "key_type", "coordinator_keys")
    API_KEY: ClassVar[int] = 10
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 6
    FIRST_FLEXIBLE: ClassVar[int] = 3

    def __init__(self, key: str = "", key_type: int = 0, coordinator_keys: list[str] = NO_ITEMS) -> None:
        self.key = key
        self.key_type = key_type
        self.coordinator_keys = [] if coordinator_keys is NO_ITEMS else coordinator_keys

    @classmethod
    def decode(cls, data: bytes, position: int, version: int) -> tuple[FindCoordinatorRequest, int]:
        if version < 0 or version > 6:
            raise unknown_version("FindCoordinatorRequest", version, 0, 6)
        try:
            message, end = _read_find_coordinator_request(data, position, version)
        except (IndexError, ValueError) as error:
            raise malformed("FindCoordinatorRequest", version, error) from None
        return message, end

    def encode(self, version: int) -> bytes:
        if version < 0 or version > 6:
            raise unsupported_version("FindCoordinatorRequest", version, 0, 6)
        writer = BytesWriter()
        _write_find_coordinator_request(writer, self, version)
        return writer.getvalue()

    def encode_parts(self, writer_prefix: bytes, version: int) -> list[Part]:
        if version < 0 or version > 6:
            raise unsupported_version("FindCoordinatorRequest", version, 0, 6)
        writer = BytesWriter()
        writer.write(writer_prefix)
        _write_find_coordinator_request(writer, self, version)
        return [writer.getvalue()]


def _read_find_coordinator_request(data: bytes, position: i64, version: i64) -> tuple[FindCoordinatorRequest, i64]:
    key: str
    key_type: int
    coordinator_keys: list[str]
    if version >= 4:
        key = ""
    elif version >= 3:
        key, position = read_compact_string(data, position)
    else:
        key, position = read_string(data, position)
    if version >= 1:
        key_type = read_i8(data, position)
        position += 1
    else:
        key_type = 0
    if version >= 4:
        count, position = read_compact_count(data, position, 1)
        coordinator_keys, position = read_compact_string_list(data, position, count)
    else:
        coordinator_keys = []
    if version >= 3:
        position = skip_tags(data, position) if data[position] else position + 1
    return FindCoordinatorRequest(key, key_type, coordinator_keys), position


def _write_find_coordinator_request(writer: BytesWriter, message: FindCoordinatorRequest, version: i64) -> None:
    if version >= 4:
        if message.key != "":
            raise unsupported_field("FindCoordinatorRequest", "key", version)
    elif version >= 3:
        write_compact_string(writer, message.key)
    else:
        write_string(writer, message.key)
    if version >= 1:
        write_i8(writer, message.key_type)
    else:
        if message.key_type != 0:
            raise unsupported_field("FindCoordinatorRequest", "key_type", version)
    if version >= 4:
        coordinator_keys = message.coordinator_keys
        write_uvarint(writer, len(coordinator_keys) + 1)
        write_compact_string_list(writer, coordinator_keys)
    else:
        if message.coordinator_keys:
            raise unsupported_field("FindCoordinatorRequest", "coordinator_keys", version)
    if version >= 3:
        writer.append(0)


class FindCoordinatorResponse(Message):
    """API key 10, versions 0 to 6."""

    __slots__ = ("throttle_time_ms", "error_code", "error_message", "node_id", "host", "port", "coordinators")
    FIELDS: ClassVar[tuple[str, ...]] = ("throttle_time_ms", "error_code", "error_message", "node_id", "host", "port", "coordinators")
    API_KEY: ClassVar[int] = 10
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 6
    FIRST_FLEXIBLE: ClassVar[int] = 3

    def __init__(self, throttle_time_ms: int = 0, error_code: int = 0, error_message: str | None = "", node_id: int = 0, host: str = "", port: int = 0, coordinators: list[Coordinator] = NO_ITEMS) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.error_message = error_message
        self.node_id = node_id
        self.host = host
        self.port = port
        self.coordinators = [] if coordinators is NO_ITEMS else coordinators

    @classmethod
    def decode(cls, data: bytes, position: int, version: int) -> tuple[FindCoordinatorResponse, int]:
        if version < 0 or version > 6:
            raise unknown_version("FindCoordinatorResponse", version, 0, 6)
        try:
            message, end = _read_find_coordinator_response(data, position, version)
        except (IndexError, ValueError) as error:
            raise malformed("FindCoordinatorResponse", version, error) from None
        return message, end

    def encode(self, version: int) -> bytes:
        if version < 0 or version > 6:
            raise unsupported_version("FindCoordinatorResponse", version, 0, 6)
        writer = BytesWriter()
        _write_find_coordinator_response(writer, self, version)
        return writer.getvalue()

    def encode_parts(self, writer_prefix: bytes, version: int) -> list[Part]:
        if version < 0 or version > 6:
            raise unsupported_version("FindCoordinatorResponse", version, 0, 6)
        writer = BytesWriter()
        writer.write(writer_prefix)
        _write_find_coordinator_response(writer, self, version)
        return [writer.getvalue()]


def _read_find_coordinator_response(data: bytes, position: i64, version: i64) -> tuple[FindCoordinatorResponse, i64]:
    throttle_time_ms: int
    error_code: int
    error_message: str | None
    node_id: int
    host: str
    port: int
    coordinators: list[Coordinator]
    if version >= 1:
        throttle_time_ms = read_i32_be(data, position)
        position += 4
    else:
        throttle_time_ms = 0
    if version >= 4:
        error_code = 0
    else:
        error_code = read_i16_be(data, position)
        position += 2
    if version >= 4:
        error_message = ""
    elif version >= 3:
        error_message, position = read_compact_nullable_string(data, position)
    elif version >= 1:
        error_message, position = read_nullable_string(data, position)
    else:
        error_message = ""
    if version >= 4:
        node_id = 0
    else:
        node_id = read_i32_be(data, position)
        position += 4
    if version >= 4:
        host = ""
    elif version >= 3:
        host, position = read_compact_string(data, position)
    else:
        host, position = read_string(data, position)
    if version >= 4:
        port = 0
        count, position = read_compact_count(data, position, 14)
        coordinators = []
        for nth in range(count):
            coordinators_item, position = _read_coordinator(data, position, version)
            coordinators.append(coordinators_item)
            if nth & LONG_RUN == LONG_RUN:
                give_way()
    else:
        port = read_i32_be(data, position)
        coordinators = []
        position += 4
    if version >= 3:
        position = skip_tags(data, position) if data[position] else position + 1
    return FindCoordinatorResponse(throttle_time_ms, error_code, error_message, node_id, host, port, coordinators), position


def _write_find_coordinator_response(writer: BytesWriter, message: FindCoordinatorResponse, version: i64) -> None:
    if version >= 1:
        write_i32_be(writer, message.throttle_time_ms)
    if version >= 4:
        if message.error_code != 0:
            raise unsupported_field("FindCoordinatorResponse", "error_code", version)
    else:
        write_i16_be(writer, message.error_code)
    if version >= 4:
        pass
    elif version >= 3:
        write_compact_nullable_string(writer, message.error_message)
    elif version >= 1:
        write_nullable_string(writer, message.error_message)
    if version >= 4:
        if message.node_id != 0:
            raise unsupported_field("FindCoordinatorResponse", "node_id", version)
    else:
        write_i32_be(writer, message.node_id)
    if version >= 4:
        if message.host != "":
            raise unsupported_field("FindCoordinatorResponse", "host", version)
    elif version >= 3:
        write_compact_string(writer, message.host)
    else:
        write_string(writer, message.host)
    if version >= 4:
        if message.port != 0:
            raise unsupported_field("FindCoordinatorResponse", "port", version)
        coordinators = message.coordinators
        write_uvarint(writer, len(coordinators) + 1)
        for nth, coordinators_item in enumerate(coordinators):
            _write_coordinator(writer, coordinators_item, version)
            if nth & LONG_RUN == LONG_RUN:
                give_way()
    else:
        write_i32_be(writer, message.port)
        if message.coordinators:
            raise unsupported_field("FindCoordinatorResponse", "coordinators", version)
    if version >= 3:
        writer.append(0)
