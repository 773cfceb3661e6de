"""DescribeCluster (API key 60). Generated from schema/describe_cluster.txt: do not edit."""

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
    read_i8,
    skip_tags,
    unknown_version,
)
from moldau.protocol.writing import (
    unsupported_field,
    unsupported_version,
    write_bool,
    write_compact_nullable_string,
    write_compact_string,
    write_i8,
    write_uvarint,
)


class DescribeClusterBroker(Struct):
    __slots__ = ("broker_id", "host", "port", "rack", "is_fenced")
    FIELDS: ClassVar[tuple[str, ...]] = ("broker_id", "host", "port", "rack", "is_fenced")

    def __init__(self, broker_id: int = 0, host: str = "", port: int = 0, rack: str | None = None, is_fenced: bool = False) -> None:
        self.broker_id = broker_id
        self.host = host
        self.port = port
        self.rack = rack
        self.is_fenced = is_fenced


def _read_describe_cluster_broker(data: bytes, position: i64, version: i64) -> tuple[DescribeClusterBroker, i64]:
    rack: str | None
    is_fenced: bool
    broker_id = read_i32_be(data, position)
    position += 4
    host, position = read_compact_string(data, position)
    port = read_i32_be(data, position)
    position += 4
    rack, position = read_compact_nullable_string(data, position)
    if version >= 2:
        is_fenced = data[position] != 0
        position += 1
    else:
        is_fenced = False
    position = skip_tags(data, position) if data[position] else position + 1
    return DescribeClusterBroker(broker_id, host, port, rack, is_fenced), position


def _write_describe_cluster_broker(writer: BytesWriter, message: DescribeClusterBroker, version: i64) -> None:
    write_i32_be(writer, message.broker_id)
    write_compact_string(writer, message.host)
    write_i32_be(writer, message.port)
    write_compact_nullable_string(writer, message.rack)
    if version >= 2:
        write_bool(writer, message.is_fenced)
    else:
        if message.is_fenced:
            raise unsupported_field("DescribeClusterBroker", "is_fenced", version)
    writer.append(0)


class DescribeClusterRequest(Message):
    """API key 60, versions 0 to 2."""

    __slots__ = ("include_cluster_authorized_operations", "endpoint_type", "include_fenced_brokers")
    FIELDS: ClassVar[tuple[str, ...]] = ("include_cluster_authorized_operations", "endpoint_type", "include_fenced_brokers")
    API_KEY: ClassVar[int] = 60
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 2
    FIRST_FLEXIBLE: ClassVar[int] = 0

    def __init__(self, include_cluster_authorized_operations: bool = False, endpoint_type: int = 1, include_fenced_brokers: bool = False) -> None:
        self.include_cluster_authorized_operations = include_cluster_authorized_operations
        self.endpoint_type = endpoint_type
        self.include_fenced_brokers = include_fenced_brokers

    @classmethod
    def decode(cls, data: bytes, position: int, version: int) -> tuple[DescribeClusterRequest, int]:
        if version < 0 or version > 2:
            raise unknown_version("DescribeClusterRequest", version, 0, 2)
        try:
            message, end = _read_describe_cluster_request(data, position, version)
        except (IndexError, ValueError) as error:
            raise malformed("DescribeClusterRequest", version, error) from None
        return message, end

    def encode(self, version: int) -> bytes:
        if version < 0 or version > 2:
            raise unsupported_version("DescribeClusterRequest", version, 0, 2)
        writer = BytesWriter()
        _write_describe_cluster_request(writer, self, version)
        return writer.getvalue()

    def encode_parts(self, writer_prefix: bytes, version: int) -> list[Part]:
        if version < 0 or version > 2:
            raise unsupported_version("DescribeClusterRequest", version, 0, 2)
        writer = BytesWriter()
        writer.write(writer_prefix)
        _write_describe_cluster_request(writer, self, version)
        return [writer.getvalue()]


def _read_describe_cluster_request(data: bytes, position: i64, version: i64) -> tuple[DescribeClusterRequest, i64]:
    endpoint_type: int
    include_fenced_brokers: bool
    include_cluster_authorized_operations = data[position] != 0
    position += 1
    if version >= 1:
        endpoint_type = read_i8(data, position)
        position += 1
    else:
        endpoint_type = 1
    if version >= 2:
        include_fenced_brokers = data[position] != 0
        position += 1
    else:
        include_fenced_brokers = False
    position = skip_tags(data, position) if data[position] else position + 1
    return DescribeClusterRequest(include_cluster_authorized_operations, endpoint_type, include_fenced_brokers), position


def _write_describe_cluster_request(writer: BytesWriter, message: DescribeClusterRequest, version: i64) -> None:
    write_bool(writer, message.include_cluster_authorized_operations)
    if version >= 1:
        write_i8(writer, message.endpoint_type)
    else:
        if message.endpoint_type != 1:
            raise unsupported_field("DescribeClusterRequest", "endpoint_type", version)
    if version >= 2:
        write_bool(writer, message.include_fenced_brokers)
    else:
        if message.include_fenced_brokers:
            raise unsupported_field("DescribeClusterRequest", "include_fenced_brokers", version)
    writer.append(0)


class DescribeClusterResponse(Message):
    """API key 60, versions 0 to 2."""

    __slots__ = ("throttle_time_ms", "error_code", "error_message", "endpoint_type", "cluster_id", "controller_id", "brokers", "cluster_authorized_operations")
    FIELDS: ClassVar[tuple[str, ...]] = ("throttle_time_ms", "error_code", "error_message", "endpoint_type", "cluster_id", "controller_id", "brokers", "cluster_authorized_operations")
    API_KEY: ClassVar[int] = 60
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 2
    FIRST_FLEXIBLE: ClassVar[int] = 0

    def __init__(self, throttle_time_ms: int = 0, error_code: int = 0, error_message: str | None = None, endpoint_type: int = 1, cluster_id: str = "", controller_id: int = -1, brokers: list[DescribeClusterBroker] = NO_ITEMS, cluster_authorized_operations: int = -2147483648) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.error_message = error_message
        self.endpoint_type = endpoint_type
        self.cluster_id = cluster_id
        self.controller_id = controller_id
        self.brokers = [] if brokers is NO_ITEMS else brokers
        self.cluster_authorized_operations = cluster_authorized_operations

    @classmethod
    def decode(cls, data: bytes, position: int, version: int) -> tuple[DescribeClusterResponse, int]:
        if version < 0 or version > 2:
            raise unknown_version("DescribeClusterResponse", version, 0, 2)
        try:
            message, end = _read_describe_cluster_response(data, position, version)
        except (IndexError, ValueError) as error:
            raise malformed("DescribeClusterResponse", version, error) from None
        return message, end

    def encode(self, version: int) -> bytes:
        if version < 0 or version > 2:
            raise unsupported_version("DescribeClusterResponse", version, 0, 2)
        writer = BytesWriter()
        _write_describe_cluster_response(writer, self, version)
        return writer.getvalue()

    def encode_parts(self, writer_prefix: bytes, version: int) -> list[Part]:
        if version < 0 or version > 2:
            raise unsupported_version("DescribeClusterResponse", version, 0, 2)
        writer = BytesWriter()
        writer.write(writer_prefix)
        _write_describe_cluster_response(writer, self, version)
        return [writer.getvalue()]


def _read_describe_cluster_response(data: bytes, position: i64, version: i64) -> tuple[DescribeClusterResponse, i64]:
    error_message: str | None
    endpoint_type: int
    brokers: list[DescribeClusterBroker]
    throttle_time_ms = read_i32_be(data, position)
    error_code = read_i16_be(data, position + 4)
    position += 6
    error_message, position = read_compact_nullable_string(data, position)
    if version >= 1:
        endpoint_type = read_i8(data, position)
        position += 1
    else:
        endpoint_type = 1
    cluster_id, position = read_compact_string(data, position)
    controller_id = read_i32_be(data, position)
    position += 4
    count, position = read_compact_count(data, position, 11)
    brokers = []
    for nth in range(count):
        brokers_item, position = _read_describe_cluster_broker(data, position, version)
        brokers.append(brokers_item)
        if nth & LONG_RUN == LONG_RUN:
            give_way()
    cluster_authorized_operations = read_i32_be(data, position)
    position += 4
    position = skip_tags(data, position) if data[position] else position + 1
    return DescribeClusterResponse(throttle_time_ms, error_code, error_message, endpoint_type, cluster_id, controller_id, brokers, cluster_authorized_operations), position


def _write_describe_cluster_response(writer: BytesWriter, message: DescribeClusterResponse, version: i64) -> None:
    write_i32_be(writer, message.throttle_time_ms)
    write_i16_be(writer, message.error_code)
    write_compact_nullable_string(writer, message.error_message)
    if version >= 1:
        write_i8(writer, message.endpoint_type)
    else:
        if message.endpoint_type != 1:
            raise unsupported_field("DescribeClusterResponse", "endpoint_type", version)
    write_compact_string(writer, message.cluster_id)
    write_i32_be(writer, message.controller_id)
    brokers = message.brokers
    write_uvarint(writer, len(brokers) + 1)
    for nth, brokers_item in enumerate(brokers):
        _write_describe_cluster_broker(writer, brokers_item, version)
        if nth & LONG_RUN == LONG_RUN:
            give_way()
    write_i32_be(writer, message.cluster_authorized_operations)
    writer.append(0)
