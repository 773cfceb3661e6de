"""GetTelemetrySubscriptions (API key 71). Generated from schema/get_telemetry_subscriptions.txt: do not edit."""

# fmt: off
from __future__ import annotations

from typing import ClassVar

from librt.strings import BytesWriter, read_i16_be, read_i32_be, write_i16_be, write_i32_be
from mypy_extensions import i64

from moldau.ids import NO_UUID
from moldau.protocol.file_region import Part
from moldau.protocol.message import NO_ITEMS, Message
from moldau.protocol.reading import (
    malformed,
    read_compact_count,
    read_compact_string_list,
    read_i8_list,
    read_uuid,
    skip_tags,
    unknown_version,
)
from moldau.protocol.writing import (
    unsupported_version,
    write_bool,
    write_compact_string_list,
    write_i8_list,
    write_uuid,
    write_uvarint,
)


class GetTelemetrySubscriptionsRequest(Message):
    """API key 71, version 0."""

    __slots__ = ("client_instance_id",)
    FIELDS: ClassVar[tuple[str, ...]] = ("client_instance_id",)
    API_KEY: ClassVar[int] = 71
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FIRST_FLEXIBLE: ClassVar[int] = 0

    def __init__(self, client_instance_id: bytes = NO_UUID) -> None:
        self.client_instance_id = client_instance_id

    @classmethod
    def decode(cls, data: bytes, position: int, version: int) -> tuple[GetTelemetrySubscriptionsRequest, int]:
        if version < 0 or version > 0:
            raise unknown_version("GetTelemetrySubscriptionsRequest", version, 0, 0)
        try:
            message, end = _read_get_telemetry_subscriptions_request(data, position, version)
        except (IndexError, ValueError) as error:
            raise malformed("GetTelemetrySubscriptionsRequest", version, error) from None
        return message, end

    def encode(self, version: int) -> bytes:
        if version < 0 or version > 0:
            raise unsupported_version("GetTelemetrySubscriptionsRequest", version, 0, 0)
        writer = BytesWriter()
        _write_get_telemetry_subscriptions_request(writer, self, version)
        return writer.getvalue()

    def encode_parts(self, writer_prefix: bytes, version: int) -> list[Part]:
        if version < 0 or version > 0:
            raise unsupported_version("GetTelemetrySubscriptionsRequest", version, 0, 0)
        writer = BytesWriter()
        writer.write(writer_prefix)
        _write_get_telemetry_subscriptions_request(writer, self, version)
        return [writer.getvalue()]


def _read_get_telemetry_subscriptions_request(data: bytes, position: i64, version: i64) -> tuple[GetTelemetrySubscriptionsRequest, i64]:
    client_instance_id = read_uuid(data, position)
    position += 16
    position = skip_tags(data, position) if data[position] else position + 1
    return GetTelemetrySubscriptionsRequest(client_instance_id), position


def _write_get_telemetry_subscriptions_request(writer: BytesWriter, message: GetTelemetrySubscriptionsRequest, version: i64) -> None:
    write_uuid(writer, message.client_instance_id)
    writer.append(0)


class GetTelemetrySubscriptionsResponse(Message):
    """API key 71, version 0."""

    __slots__ = ("throttle_time_ms", "error_code", "client_instance_id", "subscription_id", "accepted_compression_types", "push_interval_ms", "telemetry_max_bytes", "delta_temporality", "requested_metrics")
    FIELDS: ClassVar[tuple[str, ...]] = ("throttle_time_ms", "error_code", "client_instance_id", "subscription_id", "accepted_compression_types", "push_interval_ms", "telemetry_max_bytes", "delta_temporality", "requested_metrics")
    API_KEY: ClassVar[int] = 71
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FIRST_FLEXIBLE: ClassVar[int] = 0

    def __init__(self, throttle_time_ms: int = 0, error_code: int = 0, client_instance_id: bytes = NO_UUID, subscription_id: int = 0, accepted_compression_types: list[int] = NO_ITEMS, push_interval_ms: int = 0, telemetry_max_bytes: int = 0, delta_temporality: bool = False, requested_metrics: list[str] = NO_ITEMS) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.client_instance_id = client_instance_id
        self.subscription_id = subscription_id
        self.accepted_compression_types = [] if accepted_compression_types is NO_ITEMS else accepted_compression_types
        self.push_interval_ms = push_interval_ms
        self.telemetry_max_bytes = telemetry_max_bytes
        self.delta_temporality = delta_temporality
        self.requested_metrics = [] if requested_metrics is NO_ITEMS else requested_metrics

    @classmethod
    def decode(cls, data: bytes, position: int, version: int) -> tuple[GetTelemetrySubscriptionsResponse, int]:
        if version < 0 or version > 0:
            raise unknown_version("GetTelemetrySubscriptionsResponse", version, 0, 0)
        try:
            message, end = _read_get_telemetry_subscriptions_response(data, position, version)
        except (IndexError, ValueError) as error:
            raise malformed("GetTelemetrySubscriptionsResponse", version, error) from None
        return message, end

    def encode(self, version: int) -> bytes:
        if version < 0 or version > 0:
            raise unsupported_version("GetTelemetrySubscriptionsResponse", version, 0, 0)
        writer = BytesWriter()
        _write_get_telemetry_subscriptions_response(writer, self, version)
        return writer.getvalue()

    def encode_parts(self, writer_prefix: bytes, version: int) -> list[Part]:
        if version < 0 or version > 0:
            raise unsupported_version("GetTelemetrySubscriptionsResponse", version, 0, 0)
        writer = BytesWriter()
        writer.write(writer_prefix)
        _write_get_telemetry_subscriptions_response(writer, self, version)
        return [writer.getvalue()]


def _read_get_telemetry_subscriptions_response(data: bytes, position: i64, version: i64) -> tuple[GetTelemetrySubscriptionsResponse, i64]:
    accepted_compression_types: list[int]
    requested_metrics: list[str]
    throttle_time_ms = read_i32_be(data, position)
    error_code = read_i16_be(data, position + 4)
    client_instance_id = read_uuid(data, position + 6)
    subscription_id = read_i32_be(data, position + 22)
    position += 26
    count, position = read_compact_count(data, position, 1)
    accepted_compression_types = read_i8_list(data, position, count)
    position += count
    push_interval_ms = read_i32_be(data, position)
    telemetry_max_bytes = read_i32_be(data, position + 4)
    delta_temporality = data[position + 8] != 0
    position += 9
    count, position = read_compact_count(data, position, 1)
    requested_metrics, position = read_compact_string_list(data, position, count)
    position = skip_tags(data, position) if data[position] else position + 1
    return GetTelemetrySubscriptionsResponse(throttle_time_ms, error_code, client_instance_id, subscription_id, accepted_compression_types, push_interval_ms, telemetry_max_bytes, delta_temporality, requested_metrics), position


def _write_get_telemetry_subscriptions_response(writer: BytesWriter, message: GetTelemetrySubscriptionsResponse, version: i64) -> None:
    write_i32_be(writer, message.throttle_time_ms)
    write_i16_be(writer, message.error_code)
    write_uuid(writer, message.client_instance_id)
    write_i32_be(writer, message.subscription_id)
    accepted_compression_types = message.accepted_compression_types
    write_uvarint(writer, len(accepted_compression_types) + 1)
    write_i8_list(writer, accepted_compression_types)
    write_i32_be(writer, message.push_interval_ms)
    write_i32_be(writer, message.telemetry_max_bytes)
    write_bool(writer, message.delta_temporality)
    requested_metrics = message.requested_metrics
    write_uvarint(writer, len(requested_metrics) + 1)
    write_compact_string_list(writer, requested_metrics)
    writer.append(0)
