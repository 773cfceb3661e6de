"""AddOffsetsToTxn (API key 25). Generated from schema/add_offsets_to_txn.txt: do not edit."""

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
    read_compact_string,
    read_string,
    skip_tags,
    unknown_version,
)
from moldau.protocol.writing import unsupported_version, write_compact_string, write_string


class AddOffsetsToTxnRequest(Message):
    """API key 25, versions 0 to 4."""

    __slots__ = ("transactional_id", "producer_id", "producer_epoch", "group_id")
    FIELDS: ClassVar[tuple[str, ...]] = ("transactional_id", "producer_id", "producer_epoch", "group_id")
    API_KEY: ClassVar[int] = 25
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 4
    FIRST_FLEXIBLE: ClassVar[int] = 3

    def __init__(self, transactional_id: str = "", producer_id: int = 0, producer_epoch: int = 0, group_id: str = "") -> None:
        self.transactional_id = transactional_id
        self.producer_id = producer_id
        self.producer_epoch = producer_epoch
        self.group_id = group_id

    @classmethod
    def decode(cls, data: bytes, position: int, version: int) -> tuple[AddOffsetsToTxnRequest, int]:
        if version < 0 or version > 4:
            raise unknown_version("AddOffsetsToTxnRequest", version, 0, 4)
        try:
            message, end = _read_add_offsets_to_txn_request(data, position, version)
        except (IndexError, ValueError) as error:
            raise malformed("AddOffsetsToTxnRequest", version, error) from None
        return message, end

    def encode(self, version: int) -> bytes:
        if version < 0 or version > 4:
            raise unsupported_version("AddOffsetsToTxnRequest", version, 0, 4)
        writer = BytesWriter()
        _write_add_offsets_to_txn_request(writer, self, version)
        return writer.getvalue()

    def encode_parts(self, writer_prefix: bytes, version: int) -> list[Part]:
        if version < 0 or version > 4:
            raise unsupported_version("AddOffsetsToTxnRequest", version, 0, 4)
        writer = BytesWriter()
        writer.write(writer_prefix)
        _write_add_offsets_to_txn_request(writer, self, version)
        return [writer.getvalue()]


def _read_add_offsets_to_txn_request(data: bytes, position: i64, version: i64) -> tuple[AddOffsetsToTxnRequest, i64]:
    transactional_id: str
    group_id: str
    if version >= 3:
        transactional_id, position = read_compact_string(data, position)
    else:
        transactional_id, position = read_string(data, position)
    producer_id = read_i64_be(data, position)
    producer_epoch = read_i16_be(data, position + 8)
    position += 10
    if version >= 3:
        group_id, position = read_compact_string(data, position)
    else:
        group_id, position = read_string(data, position)
    if version >= 3:
        position = skip_tags(data, position) if data[position] else position + 1
    return AddOffsetsToTxnRequest(transactional_id, producer_id, producer_epoch, group_id), position


def _write_add_offsets_to_txn_request(writer: BytesWriter, message: AddOffsetsToTxnRequest, version: i64) -> None:
    if version >= 3:
        write_compact_string(writer, message.transactional_id)
    else:
        write_string(writer, message.transactional_id)
    write_i64_be(writer, message.producer_id)
    write_i16_be(writer, message.producer_epoch)
    if version >= 3:
        write_compact_string(writer, message.group_id)
    else:
        write_string(writer, message.group_id)
    if version >= 3:
        writer.append(0)


class AddOffsetsToTxnResponse(Message):
    """API key 25, versions 0 to 4."""

    __slots__ = ("throttle_time_ms", "error_code")
    FIELDS: ClassVar[tuple[str, ...]] = ("throttle_time_ms", "error_code")
    API_KEY: ClassVar[int] = 25
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 4
    FIRST_FLEXIBLE: ClassVar[int] = 3

    def __init__(self, throttle_time_ms: int = 0, error_code: int = 0) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code

    @classmethod
    def decode(cls, data: bytes, position: int, version: int) -> tuple[AddOffsetsToTxnResponse, int]:
        if version < 0 or version > 4:
            raise unknown_version("AddOffsetsToTxnResponse", version, 0, 4)
        try:
            message, end = _read_add_offsets_to_txn_response(data, position, version)
        except (IndexError, ValueError) as error:
            raise malformed("AddOffsetsToTxnResponse", version, error) from None
        return message, end

    def encode(self, version: int) -> bytes:
        if version < 0 or version > 4:
            raise unsupported_version("AddOffsetsToTxnResponse", version, 0, 4)
        writer = BytesWriter()
        _write_add_offsets_to_txn_response(writer, self, version)
        return writer.getvalue()

    def encode_parts(self, writer_prefix: bytes, version: int) -> list[Part]:
        if version < 0 or version > 4:
            raise unsupported_version("AddOffsetsToTxnResponse", version, 0, 4)
        writer = BytesWriter()
        writer.write(writer_prefix)
        _write_add_offsets_to_txn_response(writer, self, version)
        return [writer.getvalue()]


def _read_add_offsets_to_txn_response(data: bytes, position: i64, version: i64) -> tuple[AddOffsetsToTxnResponse, i64]:
    throttle_time_ms = read_i32_be(data, position)
    error_code = read_i16_be(data, position + 4)
    position += 6
    if version >= 3:
        position = skip_tags(data, position) if data[position] else position + 1
    return AddOffsetsToTxnResponse(throttle_time_ms, error_code), position


def _write_add_offsets_to_txn_response(writer: BytesWriter, message: AddOffsetsToTxnResponse, version: i64) -> None:
    write_i32_be(writer, message.throttle_time_ms)
    write_i16_be(writer, message.error_code)
    if version >= 3:
        writer.append(0)
