"""PushTelemetry (API key 72). Generated from schema/push_telemetry.txt: do not edit."""

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
    read_compact_bytes,
    read_i8,
    read_uuid,
    skip_tags,
    unknown_version,
)
from moldau.protocol.writing import (
    unsupported_version,
    write_bool,
    write_compact_bytes,
    write_i8,
    write_uuid,
)


class PushTelemetryRequest(Message):
    """API key 72, version 0."""

    __slots__ = ("client_instance_id", "subscription_id", "terminating", "compression_type", "metrics")
    FIELDS: ClassVar[tuple[str, ...]] = ("client_instance_id", "subscription_id", "terminating", "compression_type", "metrics")
    API_KEY: ClassVar[int] = 72
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FIRST_FLEXIBLE: ClassVar[int] = 0

    def __init__(self, client_instance_id: bytes = NO_UUID, subscription_id: int = 0, terminating: bool = False, compression_type: int = 0, metrics: bytes = b"") -> None:
        self.client_instance_id = client_instance_id
        self.subscription_id = subscription_id
        self.terminating = terminating
        self.compression_type = compression_type
        self.metrics = metrics

    @classmethod
    def decode(cls, data: bytes, position: int, version: int) -> tuple[PushTelemetryRequest, int]:
        if version < 0 or version > 0:
            raise unknown_version("PushTelemetryRequest", version, 0, 0)
        try:
            message, end = _read_push_telemetry_request(data, position, version)
        except (IndexError, ValueError) as error:
            raise malformed("PushTelemetryRequest", version, error) from None
        return message, end

    def encode(self, version: int) -> bytes:
        if version < 0 or version > 0:
            raise unsupported_version("PushTelemetryRequest", version, 0, 0)
        writer = BytesWriter()
        _write_push_telemetry_request(writer, self, version)
        return writer.getvalue()

    def encode_parts(self, writer_prefix: bytes, version: int) -> list[Part]:
        if version < 0 or version > 0:
            raise unsupported_version("PushTelemetryRequest", version, 0, 0)
        writer = BytesWriter()
        writer.write(writer_prefix)
        _write_push_telemetry_request(writer, self, version)
        return [writer.getvalue()]


def _read_push_telemetry_request(data: bytes, position: i64, version: i64) -> tuple[PushTelemetryRequest, i64]:
    client_instance_id = read_uuid(data, position)
    subscription_id = read_i32_be(data, position + 16)
    terminating = data[position + 20] != 0
    compression_type = read_i8(data, position + 21)
    position += 22
    metrics, position = read_compact_bytes(data, position)
    position = skip_tags(data, position) if data[position] else position + 1
    return PushTelemetryRequest(client_instance_id, subscription_id, terminating, compression_type, metrics), position


def _write_push_telemetry_request(writer: BytesWriter, message: PushTelemetryRequest, version: i64) -> None:
    write_uuid(writer, message.client_instance_id)
    write_i32_be(writer, message.subscription_id)
    write_bool(writer, message.terminating)
    write_i8(writer, message.compression_type)
    write_compact_bytes(writer, message.metrics)
    writer.append(0)


class PushTelemetryResponse(Message):
    """API key 72, version 0."""

    __slots__ = ("throttle_time_ms", "error_code")
    FIELDS: ClassVar[tuple[str, ...]] = ("throttle_time_ms", "error_code")
    API_KEY: ClassVar[int] = 72
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FIRST_FLEXIBLE: ClassVar[int] = 0

    def __init__(self, throttle_time_ms: int = 0, error_code: int = 0) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code

    @classmethod
    def decode(cls, data: bytes, position: int, version: int) -> tuple[PushTelemetryResponse, int]:
        if version < 0 or version > 0:
            raise unknown_version("PushTelemetryResponse", version, 0, 0)
        try:
            message, end = _read_push_telemetry_response(data, position, version)
        except (IndexError, ValueError) as error:
            raise malformed("PushTelemetryResponse", version, error) from None
        return message, end

    def encode(self, version: int) -> bytes:
        if version < 0 or version > 0:
            raise unsupported_version("PushTelemetryResponse", version, 0, 0)
        writer = BytesWriter()
        _write_push_telemetry_response(writer, self, version)
        return writer.getvalue()

    def encode_parts(self, writer_prefix: bytes, version: int) -> list[Part]:
        if version < 0 or version > 0:
            raise unsupported_version("PushTelemetryResponse", version, 0, 0)
        writer = BytesWriter()
        writer.write(writer_prefix)
        _write_push_telemetry_response(writer, self, version)
        return [writer.getvalue()]


def _read_push_telemetry_response(data: bytes, position: i64, version: i64) -> tuple[PushTelemetryResponse, i64]:
    throttle_time_ms = read_i32_be(data, position)
    error_code = read_i16_be(data, position + 4)
    position += 6
    position = skip_tags(data, position) if data[position] else position + 1
    return PushTelemetryResponse(throttle_time_ms, error_code), position


def _write_push_telemetry_response(writer: BytesWriter, message: PushTelemetryResponse, version: i64) -> None:
    write_i32_be(writer, message.throttle_time_ms)
    write_i16_be(writer, message.error_code)
    writer.append(0)
