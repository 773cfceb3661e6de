"""BrokerRegistration (API key 62). Generated from schema/broker_registration.txt: do not edit."""

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
    read_compact_nullable_string,
    read_compact_string,
    read_u16,
    read_uuid,
    read_uuid_list,
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
    write_uuid_list,
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


class BrokerRegistrationRequest(Message):
    """API key 62, versions 0 to 4."""

    __slots__ = ("broker_id", "cluster_id", "incarnation_id", "listeners", "features", "rack", "is_migrating_zk_broker", "log_dirs", "previous_broker_epoch")
    FIELDS: ClassVar[tuple[str, ...]] = ("broker_id", "cluster_id", "incarnation_id", "listeners", "features", "rack", "is_migrating_zk_broker", "log_dirs", "previous_broker_epoch")
    API_KEY: ClassVar[int] = 62
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 4
    FIRST_FLEXIBLE: ClassVar[int] = 0

    def __init__(self, broker_id: int = 0, cluster_id: str = "", incarnation_id: bytes = NO_UUID, listeners: list[Listener] = NO_ITEMS, features: list[Feature] = NO_ITEMS, rack: str | None = "", is_migrating_zk_broker: bool = False, log_dirs: list[bytes] = NO_ITEMS, previous_broker_epoch: int = -1) -> None:
        self.broker_id = broker_id
        self.cluster_id = cluster_id
        self.incarnation_id = incarnation_id
        self.listeners = [] if listeners is NO_ITEMS else listeners
        self.features = [] if features is NO_ITEMS else features
        self.rack = rack
        self.is_migrating_zk_broker = is_migrating_zk_broker
        self.log_dirs = [] if log_dirs is NO_ITEMS else log_dirs
        self.previous_broker_epoch = previous_broker_epoch

    @classmethod
    def decode(cls, data: bytes, position: int, version: int) -> tuple[BrokerRegistrationRequest, int]:
        if version < 0 or version > 4:
            raise unknown_version("BrokerRegistrationRequest", version, 0, 4)
        try:
            message, end = _read_broker_registration_request(data, position, version)
        except (IndexError, ValueError) as error:
            raise malformed("BrokerRegistrationRequest", version, error) from None
        return message, end

    def encode(self, version: int) -> bytes:
        if version < 0 or version > 4:
            raise unsupported_version("BrokerRegistrationRequest", version, 0, 4)
        writer = BytesWriter()
        _write_broker_registration_request(writer, self, version)
        return writer.getvalue()

    def encode_parts(self, writer_prefix: bytes, version: int) -> list[Part]:
        if version < 0 or version > 4:
            raise unsupported_version("BrokerRegistrationRequest", version, 0, 4)
        writer = BytesWriter()
        writer.write(writer_prefix)
        _write_broker_registration_request(writer, self, version)
        return [writer.getvalue()]


def _read_broker_registration_request(data: bytes, position: i64, version: i64) -> tuple[BrokerRegistrationRequest, i64]:
    listeners: list[Listener]
    features: list[Feature]
    rack: str | None
    is_migrating_zk_broker: bool
    log_dirs: list[bytes]
    previous_broker_epoch: int
    broker_id = read_i32_be(data, position)
    position += 4
    cluster_id, position = read_compact_string(data, position)
    incarnation_id = read_uuid(data, position)
    position += 16
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
    rack, position = read_compact_nullable_string(data, position)
    if version >= 1:
        is_migrating_zk_broker = data[position] != 0
        position += 1
    else:
        is_migrating_zk_broker = False
    if version >= 2:
        count, position = read_compact_count(data, position, 16)
        log_dirs = read_uuid_list(data, position, count)
        position += 16 * count
    else:
        log_dirs = []
    if version >= 3:
        previous_broker_epoch = read_i64_be(data, position)
        position += 8
    else:
        previous_broker_epoch = -1
    position = skip_tags(data, position) if data[position] else position + 1
    return BrokerRegistrationRequest(broker_id, cluster_id, incarnation_id, listeners, features, rack, is_migrating_zk_broker, log_dirs, previous_broker_epoch), position


def _write_broker_registration_request(writer: BytesWriter, message: BrokerRegistrationRequest, version: i64) -> None:
    write_i32_be(writer, message.broker_id)
    write_compact_string(writer, message.cluster_id)
    write_uuid(writer, message.incarnation_id)
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
    write_compact_nullable_string(writer, message.rack)
    if version >= 1:
        write_bool(writer, message.is_migrating_zk_broker)
    else:
        if message.is_migrating_zk_broker:
            raise unsupported_field("BrokerRegistrationRequest", "is_migrating_zk_broker", version)
    if version >= 2:
        log_dirs = message.log_dirs
        write_uvarint(writer, len(log_dirs) + 1)
        write_uuid_list(writer, log_dirs)
    if version >= 3:
        write_i64_be(writer, message.previous_broker_epoch)
    writer.append(0)


class BrokerRegistrationResponse(Message):
    """API key 62, versions 0 to 4."""

    __slots__ = ("throttle_time_ms", "error_code", "broker_epoch")
    FIELDS: ClassVar[tuple[str, ...]] = ("throttle_time_ms", "error_code", "broker_epoch")
    API_KEY: ClassVar[int] = 62
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 4
    FIRST_FLEXIBLE: ClassVar[int] = 0

    def __init__(self, throttle_time_ms: int = 0, error_code: int = 0, broker_epoch: int = -1) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.broker_epoch = broker_epoch

    @classmethod
    def decode(cls, data: bytes, position: int, version: int) -> tuple[BrokerRegistrationResponse, int]:
        if version < 0 or version > 4:
            raise unknown_version("BrokerRegistrationResponse", version, 0, 4)
        try:
            message, end = _read_broker_registration_response(data, position, version)
        except (IndexError, ValueError) as error:
            raise malformed("BrokerRegistrationResponse", version, error) from None
        return message, end

    def encode(self, version: int) -> bytes:
        if version < 0 or version > 4:
            raise unsupported_version("BrokerRegistrationResponse", version, 0, 4)
        writer = BytesWriter()
        _write_broker_registration_response(writer, self, version)
        return writer.getvalue()

    def encode_parts(self, writer_prefix: bytes, version: int) -> list[Part]:
        if version < 0 or version > 4:
            raise unsupported_version("BrokerRegistrationResponse", version, 0, 4)
        writer = BytesWriter()
        writer.write(writer_prefix)
        _write_broker_registration_response(writer, self, version)
        return [writer.getvalue()]


def _read_broker_registration_response(data: bytes, position: i64, version: i64) -> tuple[BrokerRegistrationResponse, i64]:
    throttle_time_ms = read_i32_be(data, position)
    error_code = read_i16_be(data, position + 4)
    broker_epoch = read_i64_be(data, position + 6)
    position += 14
    position = skip_tags(data, position) if data[position] else position + 1
    return BrokerRegistrationResponse(throttle_time_ms, error_code, broker_epoch), position


def _write_broker_registration_response(writer: BytesWriter, message: BrokerRegistrationResponse, version: i64) -> None:
    write_i32_be(writer, message.throttle_time_ms)
    write_i16_be(writer, message.error_code)
    write_i64_be(writer, message.broker_epoch)
    writer.append(0)
