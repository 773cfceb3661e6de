"""RenewDelegationToken (API key 39). Generated from schema/renew_delegation_token.txt: do not edit."""

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


class RenewDelegationTokenRequest(Message):
    """API key 39, versions 1 to 2."""

    __slots__ = ("hmac", "renew_period_ms")
    FIELDS: ClassVar[tuple[str, ...]] = ("hmac", "renew_period_ms")
    API_KEY: ClassVar[int] = 39
    MIN_VERSION: ClassVar[int] = 1
    MAX_VERSION: ClassVar[int] = 2
    FIRST_FLEXIBLE: ClassVar[int] = 2

    def __init__(self, hmac: bytes = b"", renew_period_ms: int = 0) -> None:
        self.hmac = hmac
        self.renew_period_ms = renew_period_ms

    @classmethod
    def decode(cls, data: bytes, position: int, version: int) -> tuple[RenewDelegationTokenRequest, int]:
        if version < 1 or version > 2:
            raise unknown_version("RenewDelegationTokenRequest", version, 1, 2)
        try:
            message, end = _read_renew_delegation_token_request(data, position, version)
        except (IndexError, ValueError) as error:
            raise malformed("RenewDelegationTokenRequest", version, error) from None
        return message, end

    def encode(self, version: int) -> bytes:
        if version < 1 or version > 2:
            raise unsupported_version("RenewDelegationTokenRequest", version, 1, 2)
        writer = BytesWriter()
        _write_renew_delegation_token_request(writer, self, version)
        return writer.getvalue()

    def encode_parts(self, writer_prefix: bytes, version: int) -> list[Part]:
        if version < 1 or version > 2:
            raise unsupported_version("RenewDelegationTokenRequest", version, 1, 2)
        writer = BytesWriter()
        writer.write(writer_prefix)
        _write_renew_delegation_token_request(writer, self, version)
        return [writer.getvalue()]


def _read_renew_delegation_token_request(data: bytes, position: i64, version: i64) -> tuple[RenewDelegationTokenRequest, i64]:
    hmac: bytes
    if version >= 2:
        hmac, position = read_compact_bytes(data, position)
    else:
        hmac, position = read_bytes(data, position)
    renew_period_ms = read_i64_be(data, position)
    position += 8
    if version >= 2:
        position = skip_tags(data, position) if data[position] else position + 1
    return RenewDelegationTokenRequest(hmac, renew_period_ms), position


def _write_renew_delegation_token_request(writer: BytesWriter, message: RenewDelegationTokenRequest, version: i64) -> None:
    if version >= 2:
        write_compact_bytes(writer, message.hmac)
    else:
        write_bytes(writer, message.hmac)
    write_i64_be(writer, message.renew_period_ms)
    if version >= 2:
        writer.append(0)


class RenewDelegationTokenResponse(Message):
    """API key 39, versions 1 to 2."""

    __slots__ = ("error_code", "expiry_timestamp_ms", "throttle_time_ms")
    FIELDS: ClassVar[tuple[str, ...]] = ("error_code", "expiry_timestamp_ms", "throttle_time_ms")
    API_KEY: ClassVar[int] = 39
    MIN_VERSION: ClassVar[int] = 1
    MAX_VERSION: ClassVar[int] = 2
    FIRST_FLEXIBLE: ClassVar[int] = 2

    def __init__(self, error_code: int = 0, expiry_timestamp_ms: int = 0, throttle_time_ms: int = 0) -> None:
        self.error_code = error_code
        self.expiry_timestamp_ms = expiry_timestamp_ms
        self.throttle_time_ms = throttle_time_ms

    @classmethod
    def decode(cls, data: bytes, position: int, version: int) -> tuple[RenewDelegationTokenResponse, int]:
        if version < 1 or version > 2:
            raise unknown_version("RenewDelegationTokenResponse", version, 1, 2)
        try:
            message, end = _read_renew_delegation_token_response(data, position, version)
        except (IndexError, ValueError) as error:
            raise malformed("RenewDelegationTokenResponse", version, error) from None
        return message, end

    def encode(self, version: int) -> bytes:
        if version < 1 or version > 2:
            raise unsupported_version("RenewDelegationTokenResponse", version, 1, 2)
        writer = BytesWriter()
        _write_renew_delegation_token_response(writer, self, version)
        return writer.getvalue()

    def encode_parts(self, writer_prefix: bytes, version: int) -> list[Part]:
        if version < 1 or version > 2:
            raise unsupported_version("RenewDelegationTokenResponse", version, 1, 2)
        writer = BytesWriter()
        writer.write(writer_prefix)
        _write_renew_delegation_token_response(writer, self, version)
        return [writer.getvalue()]


def _read_renew_delegation_token_response(data: bytes, position: i64, version: i64) -> tuple[RenewDelegationTokenResponse, i64]:
    error_code = read_i16_be(data, position)
    expiry_timestamp_ms = read_i64_be(data, position + 2)
    throttle_time_ms = read_i32_be(data, position + 10)
    position += 14
    if version >= 2:
        position = skip_tags(data, position) if data[position] else position + 1
    return RenewDelegationTokenResponse(error_code, expiry_timestamp_ms, throttle_time_ms), position


def _write_renew_delegation_token_response(writer: BytesWriter, message: RenewDelegationTokenResponse, version: i64) -> None:
    write_i16_be(writer, message.error_code)
    write_i64_be(writer, message.expiry_timestamp_ms)
    write_i32_be(writer, message.throttle_time_ms)
    if version >= 2:
        writer.append(0)
