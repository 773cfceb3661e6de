"""AllocateProducerIds (API key 67). Generated from schema/allocate_producer_ids.txt: do not edit."""

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
from moldau.protocol.reading import malformed, skip_tags, unknown_version
from moldau.protocol.writing import unsupported_version


class AllocateProducerIdsRequest(Message):
    """API key 67, version 0."""

    __slots__ = ("broker_id", "broker_epoch")
    FIELDS: ClassVar[tuple[str, ...]] = ("broker_id", "broker_epoch")
    API_KEY: ClassVar[int] = 67
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FIRST_FLEXIBLE: ClassVar[int] = 0

    def __init__(self, broker_id: int = 0, broker_epoch: int = -1) -> None:
        self.broker_id = broker_id
        self.broker_epoch = broker_epoch

    @classmethod
    def decode(cls, data: bytes, position: int, version: int) -> tuple[AllocateProducerIdsRequest, int]:
        if version < 0 or version > 0:
            raise unknown_version("AllocateProducerIdsRequest", version, 0, 0)
        try:
            message, end = _read_allocate_producer_ids_request(data, position, version)
        except (IndexError, ValueError) as error:
            raise malformed("AllocateProducerIdsRequest", version, error) from None
        return message, end

    def encode(self, version: int) -> bytes:
        if version < 0 or version > 0:
            raise unsupported_version("AllocateProducerIdsRequest", version, 0, 0)
        writer = BytesWriter()
        _write_allocate_producer_ids_request(writer, self, version)
        return writer.getvalue()

    def encode_parts(self, writer_prefix: bytes, version: int) -> list[Part]:
        if version < 0 or version > 0:
            raise unsupported_version("AllocateProducerIdsRequest", version, 0, 0)
        writer = BytesWriter()
        writer.write(writer_prefix)
        _write_allocate_producer_ids_request(writer, self, version)
        return [writer.getvalue()]


def _read_allocate_producer_ids_request(data: bytes, position: i64, version: i64) -> tuple[AllocateProducerIdsRequest, i64]:
    broker_id = read_i32_be(data, position)
    broker_epoch = read_i64_be(data, position + 4)
    position += 12
    position = skip_tags(data, position) if data[position] else position + 1
    return AllocateProducerIdsRequest(broker_id, broker_epoch), position


def _write_allocate_producer_ids_request(writer: BytesWriter, message: AllocateProducerIdsRequest, version: i64) -> None:
    write_i32_be(writer, message.broker_id)
    write_i64_be(writer, message.broker_epoch)
    writer.append(0)


class AllocateProducerIdsResponse(Message):
    """API key 67, version 0."""

    __slots__ = ("throttle_time_ms", "error_code", "producer_id_start", "producer_id_len")
    FIELDS: ClassVar[tuple[str, ...]] = ("throttle_time_ms", "error_code", "producer_id_start", "producer_id_len")
    API_KEY: ClassVar[int] = 67
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FIRST_FLEXIBLE: ClassVar[int] = 0

    def __init__(self, throttle_time_ms: int = 0, error_code: int = 0, producer_id_start: int = 0, producer_id_len: int = 0) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.producer_id_start = producer_id_start
        self.producer_id_len = producer_id_len

    @classmethod
    def decode(cls, data: bytes, position: int, version: int) -> tuple[AllocateProducerIdsResponse, int]:
        if version < 0 or version > 0:
            raise unknown_version("AllocateProducerIdsResponse", version, 0, 0)
        try:
            message, end = _read_allocate_producer_ids_response(data, position, version)
        except (IndexError, ValueError) as error:
            raise malformed("AllocateProducerIdsResponse", version, error) from None
        return message, end

    def encode(self, version: int) -> bytes:
        if version < 0 or version > 0:
            raise unsupported_version("AllocateProducerIdsResponse", version, 0, 0)
        writer = BytesWriter()
        _write_allocate_producer_ids_response(writer, self, version)
        return writer.getvalue()

    def encode_parts(self, writer_prefix: bytes, version: int) -> list[Part]:
        if version < 0 or version > 0:
            raise unsupported_version("AllocateProducerIdsResponse", version, 0, 0)
        writer = BytesWriter()
        writer.write(writer_prefix)
        _write_allocate_producer_ids_response(writer, self, version)
        return [writer.getvalue()]


def _read_allocate_producer_ids_response(data: bytes, position: i64, version: i64) -> tuple[AllocateProducerIdsResponse, i64]:
    throttle_time_ms = read_i32_be(data, position)
    error_code = read_i16_be(data, position + 4)
    producer_id_start = read_i64_be(data, position + 6)
    producer_id_len = read_i32_be(data, position + 14)
    position += 18
    position = skip_tags(data, position) if data[position] else position + 1
    return AllocateProducerIdsResponse(throttle_time_ms, error_code, producer_id_start, producer_id_len), position


def _write_allocate_producer_ids_response(writer: BytesWriter, message: AllocateProducerIdsResponse, version: i64) -> None:
    write_i32_be(writer, message.throttle_time_ms)
    write_i16_be(writer, message.error_code)
    write_i64_be(writer, message.producer_id_start)
    write_i32_be(writer, message.producer_id_len)
    writer.append(0)
