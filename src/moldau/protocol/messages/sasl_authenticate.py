"""SaslAuthenticate (API key 36). Generated from schema/sasl_authenticate.txt: do not edit."""

# fmt: off
from __future__ import annotations

from typing import ClassVar

from librt.strings import BytesWriter, read_i16_be, read_i64_be, write_i16_be, write_i64_be
from mypy_extensions import i64

from moldau.protocol.file_region import Part
from moldau.protocol.message import Message
from moldau.protocol.reading import (
    malformed,
    read_bytes,
    read_compact_bytes,
    read_compact_nullable_string,
    read_nullable_string,
    skip_tags,
    unknown_version,
)
from moldau.protocol.writing import (
    unsupported_version,
    write_bytes,
    write_compact_bytes,
    write_compact_nullable_string,
    write_nullable_string,
)


class SaslAuthenticateRequest(Message):
    """API key 36, versions 0 to 2."""

    __slots__ = ("auth_bytes",)
    FIELDS: ClassVar[tuple[str, ...]] = ("auth_bytes",)
    API_KEY: ClassVar[int] = 36
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 2
    FIRST_FLEXIBLE: ClassVar[int] = 2

    def __init__(self, auth_bytes: bytes = b"") -> None:
        self.auth_bytes = auth_bytes

    @classmethod
    def decode(cls, data: bytes, position: int, version: int) -> tuple[SaslAuthenticateRequest, int]:
        if version < 0 or version > 2:
            raise unknown_version("SaslAuthenticateRequest", version, 0, 2)
        try:
            message, end = _read_sasl_authenticate_request(data, position, version)
        except (IndexError, ValueError) as error:
            raise malformed("SaslAuthenticateRequest", version, error) from None
        return message, end

    def encode(self, version: int) -> bytes:
        if version < 0 or version > 2:
            raise unsupported_version("SaslAuthenticateRequest", version, 0, 2)
        writer = BytesWriter()
        _write_sasl_authenticate_request(writer, self, version)
        return writer.getvalue()

    def encode_parts(self, writer_prefix: bytes, version: int) -> list[Part]:
        if version < 0 or version > 2:
            raise unsupported_version("SaslAuthenticateRequest", version, 0, 2)
        writer = BytesWriter()
        writer.write(writer_prefix)
        _write_sasl_authenticate_request(writer, self, version)
        return [writer.getvalue()]


def _read_sasl_authenticate_request(data: bytes, position: i64, version: i64) -> tuple[SaslAuthenticateRequest, i64]:
    auth_bytes: bytes
    if version >= 2:
        auth_bytes, position = read_compact_bytes(data, position)
    else:
        auth_bytes, position = read_bytes(data, position)
    if version >= 2:
        position = skip_tags(data, position) if data[position] else position + 1
    return SaslAuthenticateRequest(auth_bytes), position


def _write_sasl_authenticate_request(writer: BytesWriter, message: SaslAuthenticateRequest, version: i64) -> None:
    if version >= 2:
        write_compact_bytes(writer, message.auth_bytes)
    else:
        write_bytes(writer, message.auth_bytes)
    if version >= 2:
        writer.append(0)


class SaslAuthenticateResponse(Message):
    """API key 36, versions 0 to 2."""

    __slots__ = ("error_code", "error_message", "auth_bytes", "session_lifetime_ms")
    FIELDS: ClassVar[tuple[str, ...]] = ("error_code", "error_message", "auth_bytes", "session_lifetime_ms")
    API_KEY: ClassVar[int] = 36
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 2
    FIRST_FLEXIBLE: ClassVar[int] = 2

    def __init__(self, error_code: int = 0, error_message: str | None = "", auth_bytes: bytes = b"", session_lifetime_ms: int = 0) -> None:
        self.error_code = error_code
        self.error_message = error_message
        self.auth_bytes = auth_bytes
        self.session_lifetime_ms = session_lifetime_ms

    @classmethod
    def decode(cls, data: bytes, position: int, version: int) -> tuple[SaslAuthenticateResponse, int]:
        if version < 0 or version > 2:
            raise unknown_version("SaslAuthenticateResponse", version, 0, 2)
        try:
            message, end = _read_sasl_authenticate_response(data, position, version)
        except (IndexError, ValueError) as error:
            raise malformed("SaslAuthenticateResponse", version, error) from None
        return message, end

    def encode(self, version: int) -> bytes:
        if version < 0 or version > 2:
            raise unsupported_version("SaslAuthenticateResponse", version, 0, 2)
        writer = BytesWriter()
        _write_sasl_authenticate_response(writer, self, version)
        return writer.getvalue()

    def encode_parts(self, writer_prefix: bytes, version: int) -> list[Part]:
        if version < 0 or version > 2:
            raise unsupported_version("SaslAuthenticateResponse", version, 0, 2)
        writer = BytesWriter()
        writer.write(writer_prefix)
        _write_sasl_authenticate_response(writer, self, version)
        return [writer.getvalue()]


def _read_sasl_authenticate_response(data: bytes, position: i64, version: i64) -> tuple[SaslAuthenticateResponse, i64]:
    error_message: str | None
    auth_bytes: bytes
    session_lifetime_ms: int
    error_code = read_i16_be(data, position)
    position += 2
    if version >= 2:
        error_message, position = read_compact_nullable_string(data, position)
        auth_bytes, position = read_compact_bytes(data, position)
    else:
        error_message, position = read_nullable_string(data, position)
        auth_bytes, position = read_bytes(data, position)
    if version >= 1:
        session_lifetime_ms = read_i64_be(data, position)
        position += 8
    else:
        session_lifetime_ms = 0
    if version >= 2:
        position = skip_tags(data, position) if data[position] else position + 1
    return SaslAuthenticateResponse(error_code, error_message, auth_bytes, session_lifetime_ms), position


def _write_sasl_authenticate_response(writer: BytesWriter, message: SaslAuthenticateResponse, version: i64) -> None:
    write_i16_be(writer, message.error_code)
    if version >= 2:
        write_compact_nullable_string(writer, message.error_message)
        write_compact_bytes(writer, message.auth_bytes)
    else:
        write_nullable_string(writer, message.error_message)
        write_bytes(writer, message.auth_bytes)
    if version >= 1:
        write_i64_be(writer, message.session_lifetime_ms)
    if version >= 2:
        writer.append(0)
