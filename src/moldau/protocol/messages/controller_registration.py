"""ControllerRegistration (API key 70). Generated from schema/controller_registration.txt: do not edit."""

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
    unsupported_version,
    write_bool,
    write_compact_nullable_string,
    write_compact_string,
    write_u16,
    write_uuid,
    write_uvarint,
)


class Listener(Struct):
    __slots__ = ("name", "host", "port", "security_protocol")
    FIELDS: ClassVar[tuple[str, ...]] = ("name", "host", "port", "security_protocol")

    def __init__(self, name: str = "", host: str = "", port: int = 0, security_protocol: int = 0) -> None:
        self.name = name
        self.host = host
        self.port = port
        self.security_protocol = security_protocol


def _read_listener(data: bytes, position: i64, version: i64) -> tuple[Listener, i64]:
    name, position = read_compact_string(data, position)
    host, position = read_compact_string(data, position)
    port = read_u16(data, position)
    security_protocol = read_i16_be(data, position + 2)
    position += 4
    position = skip_tags(data, position) if data[position] else position + 1
    return Listener(name, host, port, security_protocol), position


def _write_listener(writer: BytesWriter, message: Listener, version: i64) -> None:
    write_compact_string(writer, message.name)
    write_compact_string(writer, message.host)
    write_u16(writer, message.port)
    write_i16_be(writer, message.security_protocol)
    writer.append(0)


class Feature(Struct):
    __slots__ = ("name", "min_supported_version", "max_supported_version")
    FIELDS: ClassVar[tuple[str, ...]] = ("name", "min_supported_version", "max_supported_version")

    def __init__(self, name: str = "", min_supported_version: int = 0, max_supported_version: int = 0) -> None:
        self.name = name
        self.min_supported_version = min_supported_version
        self.max_supported_version = max_supported_version


def _read_feature(data: bytes, position: i64, version: i64) -> tuple[Feature, i64]:
    name, position = read_compact_string(data, position)
    min_supported_version = read_i16_be(data, position)
    max_supported_version = read_i16_be(data, position + 2)
    position += 4
    position = skip_tags(data, position) if data[position] else position + 1
    return Feature(name, min_supported_version, max_supported_version), position


def _write_feature(writer: BytesWriter, message: Feature, version: i64) -> None:
    write_compact_string(writer, message.name)
    write_i16_be(writer, message.min_supported_version)
    write_i16_be(writer, message.max_supported_version)
    writer.append(0)


class ControllerRegistrationRequest(Message):
    """API key 70, version 0."""

    __slots__ = ("controller_id", "incarnation_id", "zk_migration_ready", "listeners", "features")
    FIELDS: ClassVar[tuple[str, ...]] = ("controller_id", "incarnation_id", "zk_migration_ready", "listeners", "features")
    API_KEY: ClassVar[int] = 70
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FIRST_FLEXIBLE: ClassVar[int] = 0

    def __init__(self, controller_id: int = 0, incarnation_id: bytes = NO_UUID, zk_migration_ready: bool = False, listeners: list[Listener] = NO_ITEMS, features: list[Feature] = NO_ITEMS) -> None:
        self.controller_id = controller_id
        self.incarnation_id = incarnation_id
        self.zk_migration_ready = zk_migration_ready
        self.listeners = [] if listeners is NO_ITEMS else listeners
        self.features = [] if features is NO_ITEMS else features

    @classmethod
    def decode(cls, data: bytes, position: int, version: int) -> tuple[ControllerRegistrationRequest, int]:
        if version < 0 or version > 0:
            raise unknown_version("ControllerRegistrationRequest", version, 0, 0)
        try:
            message, end = _read_controller_registration_request(data, position, version)
        except (IndexError, ValueError) as error:
            raise malformed("ControllerRegistrationRequest", version, error) from None
        return message, end

    def encode(self, version: int) -> bytes:
        if version < 0 or version > 0:
            raise unsupported_version("ControllerRegistrationRequest", version, 0, 0)
        writer = BytesWriter()
        _write_controller_registration_request(writer, self, version)
        return writer.getvalue()

    def encode_parts(self, writer_prefix: bytes, version: int) -> list[Part]:
        if version < 0 or version > 0:
            raise unsupported_version("ControllerRegistrationRequest", version, 0, 0)
        writer = BytesWriter()
        writer.write(writer_prefix)
        _write_controller_registration_request(writer, self, version)
        return [writer.getvalue()]


def _read_controller_registration_request(data: bytes, position: i64, version: i64) -> tuple[ControllerRegistrationRequest, i64]:
    listeners: list[Listener]
    features: list[Feature]
    controller_id = read_i32_be(data, position)
    incarnation_id = read_uuid(data, position + 4)
    zk_migration_ready = data[position + 20] != 0
    position += 21
    count, position = read_compact_count(data, position, 7)
    listeners = []
    for nth in range(count):
        listeners_item, position = _read_listener(data, position, version)
        listeners.append(listeners_item)
        if nth & LONG_RUN == LONG_RUN:
            give_way()
    count, position = read_compact_count(data, position, 6)
    features = []
    for nth in range(count):
        features_item, position = _read_feature(data, position, version)
        features.append(features_item)
        if nth & LONG_RUN == LONG_RUN:
            give_way()
    position = skip_tags(data, position) if data[position] else position + 1
    return ControllerRegistrationRequest(controller_id, incarnation_id, zk_migration_ready, listeners, features), position


def _write_controller_registration_request(writer: BytesWriter, message: ControllerRegistrationRequest, version: i64) -> None:
    write_i32_be(writer, message.controller_id)
    write_uuid(writer, message.incarnation_id)
    write_bool(writer, message.zk_migration_ready)
    listeners = message.listeners
    write_uvarint(writer, len(listeners) + 1)
    for nth, listeners_item in enumerate(listeners):
        _write_listener(writer, listeners_item, version)
        if nth & LONG_RUN == LONG_RUN:
            give_way()
    features = message.features
    write_uvarint(writer, len(features) + 1)
    for nth, features_item in enumerate(features):
        _write_feature(writer, features_item, version)
        if nth & LONG_RUN == LONG_RUN:
            give_way()
    writer.append(0)


class ControllerRegistrationResponse(Message):
    """API key 70, version 0."""

    __slots__ = ("throttle_time_ms", "error_code", "error_message")
    FIELDS: ClassVar[tuple[str, ...]] = ("throttle_time_ms", "error_code", "error_message")
    API_KEY: ClassVar[int] = 70
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FIRST_FLEXIBLE: ClassVar[int] = 0

    def __init__(self, throttle_time_ms: int = 0, error_code: int = 0, error_message: str | None = "") -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.error_message = error_message

    @classmethod
    def decode(cls, data: bytes, position: int, version: int) -> tuple[ControllerRegistrationResponse, int]:
        if version < 0 or version > 0:
            raise unknown_version("ControllerRegistrationResponse", version, 0, 0)
        try:
            message, end = _read_controller_registration_response(data, position, version)
        except (IndexError, ValueError) as error:
            raise malformed("ControllerRegistrationResponse", version, error) from None
        return message, end

    def encode(self, version: int) -> bytes:
        if version < 0 or version > 0:
            raise unsupported_version("ControllerRegistrationResponse", version, 0, 0)
        writer = BytesWriter()
        _write_controller_registration_response(writer, self, version)
        return writer.getvalue()

    def encode_parts(self, writer_prefix: bytes, version: int) -> list[Part]:
        if version < 0 or version > 0:
            raise unsupported_version("ControllerRegistrationResponse", version, 0, 0)
        writer = BytesWriter()
        writer.write(writer_prefix)
        _write_controller_registration_response(writer, self, version)
        return [writer.getvalue()]


def _read_controller_registration_response(data: bytes, position: i64, version: i64) -> tuple[ControllerRegistrationResponse, i64]:
    error_message: str | None
    throttle_time_ms = read_i32_be(data, position)
    error_code = read_i16_be(data, position + 4)
    position += 6
    error_message, position = read_compact_nullable_string(data, position)
    position = skip_tags(data, position) if data[position] else position + 1
    return ControllerRegistrationResponse(throttle_time_ms, error_code, error_message), position


def _write_controller_registration_response(writer: BytesWriter, message: ControllerRegistrationResponse, version: i64) -> None:
    write_i32_be(writer, message.throttle_time_ms)
    write_i16_be(writer, message.error_code)
    write_compact_nullable_string(writer, message.error_message)
    writer.append(0)
