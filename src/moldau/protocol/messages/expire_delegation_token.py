"""ExpireDelegationToken (API key 40). Generated from schema/expire_delegation_token.txt: do not edit."""

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
from moldau.protocol.message import Message
from moldau.protocol.reading import (
    malformed,
    read_bytes,
    read_compact_bytes,
    skip_tags,
    unknown_version,
)
from moldau.protocol.writing import unsupported_version, write_bytes, write_compact_bytes


class ExpireDelegationTokenRequest(Message):
    """API key 40, versions 1 to 2."""

    __slots__ = ("hmac", "expiry_time_period_ms")
    FIELDS: ClassVar[tuple[str, ...]] = ("hmac", "expiry_time_period_ms")
    API_KEY: ClassVar[int] = 40
    MIN_VERSION: ClassVar[int] = 1
    MAX_VERSION: ClassVar[int] = 2
    FIRST_FLEXIBLE: ClassVar[int] = 2

    def __init__(self, hmac: bytes = b"", expiry_time_period_ms: int = 0) -> None:
        self.hmac = hmac
        self.expiry_time_period_ms = expiry_time_period_ms

    @classmethod
    def decode(cls, data: bytes, position: int, version: int) -> tuple[ExpireDelegationTokenRequest, int]:
        if version < 1 or version > 2:
            raise unknown_version("ExpireDelegationTokenRequest", version, 1, 2)
        try:
            message, end = _read_expire_delegation_token_request(data, position, version)
        except (IndexError, ValueError) as error:
            raise malformed("ExpireDelegationTokenRequest", version, error) from None
        return message, end

    def encode(self, version: int) -> bytes:
        if version < 1 or version > 2:
            raise unsupported_version("ExpireDelegationTokenRequest", version, 1, 2)
        writer = BytesWriter()
        _write_expire_delegation_token_request(writer, self, version)
        return writer.getvalue()

    def encode_parts(self, writer_prefix: bytes, version: int) -> list[Part]:
        if version < 1 or version > 2:
            raise unsupported_version("ExpireDelegationTokenRequest", version, 1, 2)
        writer = BytesWriter()
        writer.write(writer_prefix)
        _write_expire_delegation_token_request(writer, self, version)
        return [writer.getvalue()]


def _read_expire_delegation_token_request(data: bytes, position: i64, version: i64) -> tuple[ExpireDelegationTokenRequest, i64]:
    hmac: bytes
    if version >= 2:
        hmac, position = read_compact_bytes(data, position)
    else:
        hmac, position = read_bytes(data, position)
    expiry_time_period_ms = read_i64_be(data, position)
    position += 8
    if version >= 2:
        position = skip_tags(data, position) if data[position] else position + 1
    return ExpireDelegationTokenRequest(hmac, expiry_time_period_ms), position


def _write_expire_delegation_token_request(writer: BytesWriter, message: ExpireDelegationTokenRequest, version: i64) -> None:
    if version >= 2:
        write_compact_bytes(writer, message.hmac)
    else:
        write_bytes(writer, message.hmac)
    write_i64_be(writer, message.expiry_time_period_ms)
    if version >= 2:
        writer.append(0)


class ExpireDelegationTokenResponse(Message):
    """API key 40, versions 1 to 2."""

    __slots__ = ("error_code", "expiry_timestamp_ms", "throttle_time_ms")
    FIELDS: ClassVar[tuple[str, ...]] = ("error_code", "expiry_timestamp_ms", "throttle_time_ms")
    API_KEY: ClassVar[int] = 40
    MIN_VERSION: ClassVar[int] = 1
    MAX_VERSION: ClassVar[int] = 2
    FIRST_FLEXIBLE: ClassVar[int] = 2

    def __init__(self, error_code: int = 0, expiry_timestamp_ms: int = 0, throttle_time_ms: int = 0) -> None:
        self.error_code = error_code
        self.expiry_timestamp_ms = expiry_timestamp_ms
        self.throttle_time_ms = throttle_time_ms

    @classmethod
    def decode(cls, data: bytes, position: int, version: int) -> tuple[ExpireDelegationTokenResponse, int]:
        if version < 1 or version > 2:
            raise unknown_version("ExpireDelegationTokenResponse", version, 1, 2)
        try:
            message, end = _read_expire_delegation_token_response(data, position, version)
        except (IndexError, ValueError) as error:
            raise malformed("ExpireDelegationTokenResponse", version, error) from None
        return message, end

    def encode(self, version: int) -> bytes:
        if version < 1 or version > 2:
            raise unsupported_version("ExpireDelegationTokenResponse", version, 1, 2)
        writer = BytesWriter()
        _write_expire_delegation_token_response(writer, self, version)
        return writer.getvalue()

    def encode_parts(self, writer_prefix: bytes, version: int) -> list[Part]:
        if version < 1 or version > 2:
            raise unsupported_version("ExpireDelegationTokenResponse", version, 1, 2)
        writer = BytesWriter()
        writer.write(writer_prefix)
        _write_expire_delegation_token_response(writer, self, version)
        return [writer.getvalue()]


def _read_expire_delegation_token_response(data: bytes, position: i64, version: i64) -> tuple[ExpireDelegationTokenResponse, i64]:
    error_code = read_i16_be(data, position)
    expiry_timestamp_ms = read_i64_be(data, position + 2)
    throttle_time_ms = read_i32_be(data, position + 10)
    position += 14
    if version >= 2:
        position = skip_tags(data, position) if data[position] else position + 1
    return ExpireDelegationTokenResponse(error_code, expiry_timestamp_ms, throttle_time_ms), position


def _write_expire_delegation_token_response(writer: BytesWriter, message: ExpireDelegationTokenResponse, version: i64) -> None:
    write_i16_be(writer, message.error_code)
    write_i64_be(writer, message.expiry_timestamp_ms)
    write_i32_be(writer, message.throttle_time_ms)
    if version >= 2:
        writer.append(0)
