"""UnregisterBroker (API key 64). Generated from schema/unregister_broker.txt: do not edit."""

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
    skip_tags,
    unknown_version,
)
from moldau.protocol.writing import unsupported_version, write_compact_nullable_string


class UnregisterBrokerRequest(Message):
    """API key 64, version 0."""

    __slots__ = ("broker_id",)
    FIELDS: ClassVar[tuple[str, ...]] = ("broker_id",)
    API_KEY: ClassVar[int] = 64
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FIRST_FLEXIBLE: ClassVar[int] = 0

    def __init__(self, broker_id: int = 0) -> None:
        self.broker_id = broker_id

    @classmethod
    def decode(cls, data: bytes, position: int, version: int) -> tuple[UnregisterBrokerRequest, int]:
        if version < 0 or version > 0:
            raise unknown_version("UnregisterBrokerRequest", version, 0, 0)
        try:
            message, end = _read_unregister_broker_request(data, position, version)
        except (IndexError, ValueError) as error:
            raise malformed("UnregisterBrokerRequest", version, error) from None
        return message, end

    def encode(self, version: int) -> bytes:
        if version < 0 or version > 0:
            raise unsupported_version("UnregisterBrokerRequest", version, 0, 0)
        writer = BytesWriter()
        _write_unregister_broker_request(writer, self, version)
        return writer.getvalue()

    def encode_parts(self, writer_prefix: bytes, version: int) -> list[Part]:
        if version < 0 or version > 0:
            raise unsupported_version("UnregisterBrokerRequest", version, 0, 0)
        writer = BytesWriter()
        writer.write(writer_prefix)
        _write_unregister_broker_request(writer, self, version)
        return [writer.getvalue()]


def _read_unregister_broker_request(data: bytes, position: i64, version: i64) -> tuple[UnregisterBrokerRequest, i64]:
    broker_id = read_i32_be(data, position)
    position += 4
    position = skip_tags(data, position) if data[position] else position + 1
    return UnregisterBrokerRequest(broker_id), position


def _write_unregister_broker_request(writer: BytesWriter, message: UnregisterBrokerRequest, version: i64) -> None:
    write_i32_be(writer, message.broker_id)
    writer.append(0)


class UnregisterBrokerResponse(Message):
    """API key 64, version 0."""

    __slots__ = ("throttle_time_ms", "error_code", "error_message")
    FIELDS: ClassVar[tuple[str, ...]] = ("throttle_time_ms", "error_code", "error_message")
    API_KEY: ClassVar[int] = 64
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FIRST_FLEXIBLE: ClassVar[int] = 0

    def __init__(self, throttle_time_ms: int = 0, error_code: int = 0, error_message: str | None = "") -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.error_message = error_message

    @classmethod
    def decode(cls, data: bytes, position: int, version: int) -> tuple[UnregisterBrokerResponse, int]:
        if version < 0 or version > 0:
            raise unknown_version("UnregisterBrokerResponse", version, 0, 0)
        try:
            message, end = _read_unregister_broker_response(data, position, version)
        except (IndexError, ValueError) as error:
            raise malformed("UnregisterBrokerResponse", version, error) from None
        return message, end

    def encode(self, version: int) -> bytes:
        if version < 0 or version > 0:
            raise unsupported_version("UnregisterBrokerResponse", version, 0, 0)
        writer = BytesWriter()
        _write_unregister_broker_response(writer, self, version)
        return writer.getvalue()

    def encode_parts(self, writer_prefix: bytes, version: int) -> list[Part]:
        if version < 0 or version > 0:
            raise unsupported_version("UnregisterBrokerResponse", version, 0, 0)
        writer = BytesWriter()
        writer.write(writer_prefix)
        _write_unregister_broker_response(writer, self, version)
        return [writer.getvalue()]


def _read_unregister_broker_response(data: bytes, position: i64, version: i64) -> tuple[UnregisterBrokerResponse, i64]:
    error_message: str | None
    throttle_time_ms = read_i32_be(data, position)
    error_code = read_i16_be(data, position + 4)
    position += 6
    error_message, position = read_compact_nullable_string(data, position)
    position = skip_tags(data, position) if data[position] else position + 1
    return UnregisterBrokerResponse(throttle_time_ms, error_code, error_message), position


def _write_unregister_broker_response(writer: BytesWriter, message: UnregisterBrokerResponse, version: i64) -> None:
    write_i32_be(writer, message.throttle_time_ms)
    write_i16_be(writer, message.error_code)
    write_compact_nullable_string(writer, message.error_message)
    writer.append(0)
