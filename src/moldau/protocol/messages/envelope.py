"""Envelope (API key 58). Generated from schema/envelope.txt: do not edit."""

# fmt: off
from __future__ import annotations

from typing import ClassVar

from librt.strings import BytesWriter, read_i16_be, write_i16_be
from mypy_extensions import i64

from moldau.protocol.file_region import Part
from moldau.protocol.message import Message
from moldau.protocol.reading import (
    malformed,
    read_compact_bytes,
    read_compact_nullable_bytes,
    skip_tags,
    unknown_version,
)
from moldau.protocol.writing import (
    unsupported_version,
    write_compact_bytes,
    write_compact_nullable_bytes,
)


class EnvelopeRequest(Message):
    """API key 58, version 0."""

    __slots__ = ("request_data", "request_principal", "client_host_address")
    FIELDS: ClassVar[tuple[str, ...]] = ("request_data", "request_principal", "client_host_address")
    API_KEY: ClassVar[int] = 58
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FIRST_FLEXIBLE: ClassVar[int] = 0

    def __init__(self, request_data: bytes = b"", request_principal: bytes | None = b"", client_host_address: bytes = b"") -> None:
        self.request_data = request_data
        self.request_principal = request_principal
        self.client_host_address = client_host_address

    @classmethod
    def decode(cls, data: bytes, position: int, version: int) -> tuple[EnvelopeRequest, int]:
        if version < 0 or version > 0:
            raise unknown_version("EnvelopeRequest", version, 0, 0)
        try:
            message, end = _read_envelope_request(data, position, version)
        except (IndexError, ValueError) as error:
            raise malformed("EnvelopeRequest", version, error) from None
        return message, end

    def encode(self, version: int) -> bytes:
        if version < 0 or version > 0:
            raise unsupported_version("EnvelopeRequest", version, 0, 0)
        writer = BytesWriter()
        _write_envelope_request(writer, self, version)
        return writer.getvalue()

    def encode_parts(self, writer_prefix: bytes, version: int) -> list[Part]:
        if version < 0 or version > 0:
            raise unsupported_version("EnvelopeRequest", version, 0, 0)
        writer = BytesWriter()
        writer.write(writer_prefix)
        _write_envelope_request(writer, self, version)
        return [writer.getvalue()]


def _read_envelope_request(data: bytes, position: i64, version: i64) -> tuple[EnvelopeRequest, i64]:
    request_principal: bytes | None
    request_data, position = read_compact_bytes(data, position)
    request_principal, position = read_compact_nullable_bytes(data, position)
    client_host_address, position = read_compact_bytes(data, position)
    position = skip_tags(data, position) if data[position] else position + 1
    return EnvelopeRequest(request_data, request_principal, client_host_address), position


def _write_envelope_request(writer: BytesWriter, message: EnvelopeRequest, version: i64) -> None:
    write_compact_bytes(writer, message.request_data)
    write_compact_nullable_bytes(writer, message.request_principal)
    write_compact_bytes(writer, message.client_host_address)
    writer.append(0)


class EnvelopeResponse(Message):
    """API key 58, version 0."""

    __slots__ = ("response_data", "error_code")
    FIELDS: ClassVar[tuple[str, ...]] = ("response_data", "error_code")
    API_KEY: ClassVar[int] = 58
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FIRST_FLEXIBLE: ClassVar[int] = 0

    def __init__(self, response_data: bytes | None = None, error_code: int = 0) -> None:
        self.response_data = response_data
        self.error_code = error_code

    @classmethod
    def decode(cls, data: bytes, position: int, version: int) -> tuple[EnvelopeResponse, int]:
        if version < 0 or version > 0:
            raise unknown_version("EnvelopeResponse", version, 0, 0)
        try:
            message, end = _read_envelope_response(data, position, version)
        except (IndexError, ValueError) as error:
            raise malformed("EnvelopeResponse", version, error) from None
        return message, end

    def encode(self, version: int) -> bytes:
        if version < 0 or version > 0:
            raise unsupported_version("EnvelopeResponse", version, 0, 0)
        writer = BytesWriter()
        _write_envelope_response(writer, self, version)
        return writer.getvalue()

    def encode_parts(self, writer_prefix: bytes, version: int) -> list[Part]:
        if version < 0 or version > 0:
            raise unsupported_version("EnvelopeResponse", version, 0, 0)
        writer = BytesWriter()
        writer.write(writer_prefix)
        _write_envelope_response(writer, self, version)
        return [writer.getvalue()]


def _read_envelope_response(data: bytes, position: i64, version: i64) -> tuple[EnvelopeResponse, i64]:
    response_data: bytes | None
    response_data, position = read_compact_nullable_bytes(data, position)
    error_code = read_i16_be(data, position)
    position += 2
    position = skip_tags(data, position) if data[position] else position + 1
    return EnvelopeResponse(response_data, error_code), position


def _write_envelope_response(writer: BytesWriter, message: EnvelopeResponse, version: i64) -> None:
    write_compact_nullable_bytes(writer, message.response_data)
    write_i16_be(writer, message.error_code)
    writer.append(0)
