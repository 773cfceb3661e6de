"""SaslHandshake (API key 17). Generated from schema/sasl_handshake.txt: do not edit."""

# fmt: off
from __future__ import annotations

from typing import ClassVar

from librt.strings import BytesWriter, read_i16_be, write_i16_be, write_i32_be
from mypy_extensions import i64

from moldau.protocol.file_region import Part
from moldau.protocol.message import NO_ITEMS, Message
from moldau.protocol.reading import (
    malformed,
    read_count,
    read_string,
    read_string_list,
    unknown_version,
)
from moldau.protocol.writing import unsupported_version, write_string, write_string_list


class SaslHandshakeRequest(Message):
    """API key 17, versions 0 to 1."""

    __slots__ = ("mechanism",)
    FIELDS: ClassVar[tuple[str, ...]] = ("mechanism",)
    API_KEY: ClassVar[int] = 17
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 1
    FIRST_FLEXIBLE: ClassVar[int] = -1

    def __init__(self, mechanism: str = "") -> None:
        self.mechanism = mechanism

    @classmethod
    def decode(cls, data: bytes, position: int, version: int) -> tuple[SaslHandshakeRequest, int]:
        if version < 0 or version > 1:
            raise unknown_version("SaslHandshakeRequest", version, 0, 1)
        try:
            message, end = _read_sasl_handshake_request(data, position, version)
        except (IndexError, ValueError) as error:
            raise malformed("SaslHandshakeRequest", version, error) from None
        return message, end

    def encode(self, version: int) -> bytes:
        if version < 0 or version > 1:
            raise unsupported_version("SaslHandshakeRequest", version, 0, 1)
        writer = BytesWriter()
        _write_sasl_handshake_request(writer, self, version)
        return writer.getvalue()

    def encode_parts(self, writer_prefix: bytes, version: int) -> list[Part]:
        if version < 0 or version > 1:
            raise unsupported_version("SaslHandshakeRequest", version, 0, 1)
        writer = BytesWriter()
        writer.write(writer_prefix)
        _write_sasl_handshake_request(writer, self, version)
        return [writer.getvalue()]


def _read_sasl_handshake_request(data: bytes, position: i64, version: i64) -> tuple[SaslHandshakeRequest, i64]:
    mechanism, position = read_string(data, position)
    return SaslHandshakeRequest(mechanism), position


def _write_sasl_handshake_request(writer: BytesWriter, message: SaslHandshakeRequest, version: i64) -> None:
    write_string(writer, message.mechanism)


class SaslHandshakeResponse(Message):
    """API key 17, versions 0 to 1."""

    __slots__ = ("error_code", "mechanisms")
    FIELDS: ClassVar[tuple[str, ...]] = ("error_code", "mechanisms")
    API_KEY: ClassVar[int] = 17
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 1
    FIRST_FLEXIBLE: ClassVar[int] = -1

    def __init__(self, error_code: int = 0, mechanisms: list[str] = NO_ITEMS) -> None:
        self.error_code = error_code
        self.mechanisms = [] if mechanisms is NO_ITEMS else mechanisms

    @classmethod
    def decode(cls, data: bytes, position: int, version: int) -> tuple[SaslHandshakeResponse, int]:
        if version < 0 or version > 1:
            raise unknown_version("SaslHandshakeResponse", version, 0, 1)
        try:
            message, end = _read_sasl_handshake_response(data, position, version)
        except (IndexError, ValueError) as error:
            raise malformed("SaslHandshakeResponse", version, error) from None
        return message, end

    def encode(self, version: int) -> bytes:
        if version < 0 or version > 1:
            raise unsupported_version("SaslHandshakeResponse", version, 0, 1)
        writer = BytesWriter()
        _write_sasl_handshake_response(writer, self, version)
        return writer.getvalue()

    def encode_parts(self, writer_prefix: bytes, version: int) -> list[Part]:
        if version < 0 or version > 1:
            raise unsupported_version("SaslHandshakeResponse", version, 0, 1)
        writer = BytesWriter()
        writer.write(writer_prefix)
        _write_sasl_handshake_response(writer, self, version)
        return [writer.getvalue()]


def _read_sasl_handshake_response(data: bytes, position: i64, version: i64) -> tuple[SaslHandshakeResponse, i64]:
    mechanisms: list[str]
    error_code = read_i16_be(data, position)
    position += 2
    count, position = read_count(data, position, 2)
    mechanisms, position = read_string_list(data, position, count)
    return SaslHandshakeResponse(error_code, mechanisms), position


def _write_sasl_handshake_response(writer: BytesWriter, message: SaslHandshakeResponse, version: i64) -> None:
    write_i16_be(writer, message.error_code)
    mechanisms = message.mechanisms
    write_i32_be(writer, len(mechanisms))
    write_string_list(writer, mechanisms)
