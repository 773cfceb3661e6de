"""InitProducerId (API key 22). Generated from schema/init_producer_id.txt: do not edit."""

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
    read_compact_nullable_string,
    read_nullable_string,
    skip_tags,
    unknown_version,
)
from moldau.protocol.writing import (
    unsupported_field,
    unsupported_version,
    write_bool,
    write_compact_nullable_string,
    write_nullable_string,
)


class InitProducerIdRequest(Message):
    """API key 22, versions 0 to 6."""

    __slots__ = ("transactional_id", "transaction_timeout_ms", "producer_id", "producer_epoch", "enable_2pc", "keep_prepared_txn")
    FIELDS: ClassVar[tuple[str, ...]] = ("transactional_id", "transaction_timeout_ms", "producer_id", "producer_epoch", "enable_2pc", "keep_prepared_txn")
    API_KEY: ClassVar[int] = 22
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 6
    FIRST_FLEXIBLE: ClassVar[int] = 2

    def __init__(self, transactional_id: str | None = "", transaction_timeout_ms: int = 0, producer_id: int = -1, producer_epoch: int = -1, enable_2pc: bool = False, keep_prepared_txn: bool = False) -> None:
        self.transactional_id = transactional_id
        self.transaction_timeout_ms = transaction_timeout_ms
        self.producer_id = producer_id
        self.producer_epoch = producer_epoch
        self.enable_2pc = enable_2pc
        self.keep_prepared_txn = keep_prepared_txn

    @classmethod
    def decode(cls, data: bytes, position: int, version: int) -> tuple[InitProducerIdRequest, int]:
        if version < 0 or version > 6:
            raise unknown_version("InitProducerIdRequest", version, 0, 6)
        try:
            message, end = _read_init_producer_id_request(data, position, version)
        except (IndexError, ValueError) as error:
            raise malformed("InitProducerIdRequest", version, error) from None
        return message, end

    def encode(self, version: int) -> bytes:
        if version < 0 or version > 6:
            raise unsupported_version("InitProducerIdRequest", version, 0, 6)
        writer = BytesWriter()
        _write_init_producer_id_request(writer, self, version)
        return writer.getvalue()

    def encode_parts(self, writer_prefix: bytes, version: int) -> list[Part]:
        if version < 0 or version > 6:
            raise unsupported_version("InitProducerIdRequest", version, 0, 6)
        writer = BytesWriter()
        writer.write(writer_prefix)
        _write_init_producer_id_request(writer, self, version)
        return [writer.getvalue()]


def _read_init_producer_id_request(data: bytes, position: i64, version: i64) -> tuple[InitProducerIdRequest, i64]:
    transactional_id: str | None
    producer_id: int
    producer_epoch: int
    enable_2pc: bool
    keep_prepared_txn: bool
    if version >= 2:
        transactional_id, position = read_compact_nullable_string(data, position)
    else:
        transactional_id, position = read_nullable_string(data, position)
    transaction_timeout_ms = read_i32_be(data, position)
    position += 4
    if version >= 3:
        producer_id = read_i64_be(data, position)
        producer_epoch = read_i16_be(data, position + 8)
        position += 10
    else:
        producer_id = -1
        producer_epoch = -1
    if version >= 6:
        enable_2pc = data[position] != 0
        keep_prepared_txn = data[position + 1] != 0
        position += 2
    else:
        enable_2pc = False
        keep_prepared_txn = False
    if version >= 2:
        position = skip_tags(data, position) if data[position] else position + 1
    return InitProducerIdRequest(transactional_id, transaction_timeout_ms, producer_id, producer_epoch, enable_2pc, keep_prepared_txn), position


def _write_init_producer_id_request(writer: BytesWriter, message: InitProducerIdRequest, version: i64) -> None:
    if version >= 2:
        write_compact_nullable_string(writer, message.transactional_id)
    else:
        write_nullable_string(writer, message.transactional_id)
    write_i32_be(writer, message.transaction_timeout_ms)
    if version >= 3:
        write_i64_be(writer, message.producer_id)
        write_i16_be(writer, message.producer_epoch)
    else:
        if message.producer_id != -1:
            raise unsupported_field("InitProducerIdRequest", "producer_id", version)
        if message.producer_epoch != -1:
            raise unsupported_field("InitProducerIdRequest", "producer_epoch", version)
    if version >= 6:
        write_bool(writer, message.enable_2pc)
        write_bool(writer, message.keep_prepared_txn)
    else:
        if message.enable_2pc:
            raise unsupported_field("InitProducerIdRequest", "enable_2pc", version)
        if message.keep_prepared_txn:
            raise unsupported_field("InitProducerIdRequest", "keep_prepared_txn", version)
    if version >= 2:
        writer.append(0)


class InitProducerIdResponse(Message):
    """API key 22, versions 0 to 6."""

    __slots__ = ("throttle_time_ms", "error_code", "producer_id", "producer_epoch", "ongoing_txn_producer_id", "ongoing_txn_producer_epoch")
    FIELDS: ClassVar[tuple[str, ...]] = ("throttle_time_ms", "error_code", "producer_id", "producer_epoch", "ongoing_txn_producer_id", "ongoing_txn_producer_epoch")
    API_KEY: ClassVar[int] = 22
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 6
    FIRST_FLEXIBLE: ClassVar[int] = 2

    def __init__(self, throttle_time_ms: int = 0, error_code: int = 0, producer_id: int = -1, producer_epoch: int = 0, ongoing_txn_producer_id: int = -1, ongoing_txn_producer_epoch: int = -1) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.producer_id = producer_id
        self.producer_epoch = producer_epoch
        self.ongoing_txn_producer_id = ongoing_txn_producer_id
        self.ongoing_txn_producer_epoch = ongoing_txn_producer_epoch

    @classmethod
    def decode(cls, data: bytes, position: int, version: int) -> tuple[InitProducerIdResponse, int]:
        if version < 0 or version > 6:
            raise unknown_version("InitProducerIdResponse", version, 0, 6)
        try:
            message, end = _read_init_producer_id_response(data, position, version)
        except (IndexError, ValueError) as error:
            raise malformed("InitProducerIdResponse", version, error) from None
        return message, end

    def encode(self, version: int) -> bytes:
        if version < 0 or version > 6:
            raise unsupported_version("InitProducerIdResponse", version, 0, 6)
        writer = BytesWriter()
        _write_init_producer_id_response(writer, self, version)
        return writer.getvalue()

    def encode_parts(self, writer_prefix: bytes, version: int) -> list[Part]:
        if version < 0 or version > 6:
            raise unsupported_version("InitProducerIdResponse", version, 0, 6)
        writer = BytesWriter()
        writer.write(writer_prefix)
        _write_init_producer_id_response(writer, self, version)
        return [writer.getvalue()]


def _read_init_producer_id_response(data: bytes, position: i64, version: i64) -> tuple[InitProducerIdResponse, i64]:
    ongoing_txn_producer_id: int
    ongoing_txn_producer_epoch: int
    throttle_time_ms = read_i32_be(data, position)
    error_code = read_i16_be(data, position + 4)
    producer_id = read_i64_be(data, position + 6)
    producer_epoch = read_i16_be(data, position + 14)
    position += 16
    if version >= 6:
        ongoing_txn_producer_id = read_i64_be(data, position)
        ongoing_txn_producer_epoch = read_i16_be(data, position + 8)
        position += 10
    else:
        ongoing_txn_producer_id = -1
        ongoing_txn_producer_epoch = -1
    if version >= 2:
        position = skip_tags(data, position) if data[position] else position + 1
    return InitProducerIdResponse(throttle_time_ms, error_code, producer_id, producer_epoch, ongoing_txn_producer_id, ongoing_txn_producer_epoch), position


def _write_init_producer_id_response(writer: BytesWriter, message: InitProducerIdResponse, version: i64) -> None:
    write_i32_be(writer, message.throttle_time_ms)
    write_i16_be(writer, message.error_code)
    write_i64_be(writer, message.producer_id)
    write_i16_be(writer, message.producer_epoch)
    if version >= 6:
        write_i64_be(writer, message.ongoing_txn_producer_id)
        write_i16_be(writer, message.ongoing_txn_producer_epoch)
    else:
        if message.ongoing_txn_producer_id != -1:
            raise unsupported_field("InitProducerIdResponse", "ongoing_txn_producer_id", version)
        if message.ongoing_txn_producer_epoch != -1:
            raise unsupported_field("InitProducerIdResponse", "ongoing_txn_producer_epoch", version)
    if version >= 2:
        writer.append(0)
