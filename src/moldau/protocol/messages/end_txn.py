"""EndTxn (API key 26). Generated from schema/end_txn.txt: do not edit."""

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
from moldau.protocol.writing import (
    unsupported_version,
    write_bool,
    write_compact_string,
    write_string,
)


class EndTxnRequest(Message):
    """API key 26, versions 0 to 5."""

    __slots__ = ("transactional_id", "producer_id", "producer_epoch", "committed")
    FIELDS: ClassVar[tuple[str, ...]] = ("transactional_id", "producer_id", "producer_epoch", "committed")
    API_KEY: ClassVar[int] = 26
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 5
    FIRST_FLEXIBLE: ClassVar[int] = 3

    def __init__(self, transactional_id: str = "", producer_id: int = 0, producer_epoch: int = 0, committed: bool = False) -> None:
        self.transactional_id = transactional_id
        self.producer_id = producer_id
        self.producer_epoch = producer_epoch
        self.committed = committed

    @classmethod
    def decode(cls, data: bytes, position: int, version: int) -> tuple[EndTxnRequest, int]:
        if version < 0 or version > 5:
            raise unknown_version("EndTxnRequest", version, 0, 5)
        try:
            message, end = _read_end_txn_request(data, position, version)
        except (IndexError, ValueError) as error:
            raise malformed("EndTxnRequest", version, error) from None
        return message, end

    def encode(self, version: int) -> bytes:
        if version < 0 or version > 5:
            raise unsupported_version("EndTxnRequest", version, 0, 5)
        writer = BytesWriter()
        _write_end_txn_request(writer, self, version)
        return writer.getvalue()

    def encode_parts(self, writer_prefix: bytes, version: int) -> list[Part]:
        if version < 0 or version > 5:
            raise unsupported_version("EndTxnRequest", version, 0, 5)
        writer = BytesWriter()
        writer.write(writer_prefix)
        _write_end_txn_request(writer, self, version)
        return [writer.getvalue()]


def _read_end_txn_request(data: bytes, position: i64, version: i64) -> tuple[EndTxnRequest, i64]:
    transactional_id: str
    if version >= 3:
        transactional_id, position = read_compact_string(data, position)
    else:
        transactional_id, position = read_string(data, position)
    producer_id = read_i64_be(data, position)
    producer_epoch = read_i16_be(data, position + 8)
    committed = data[position + 10] != 0
    position += 11
    if version >= 3:
        position = skip_tags(data, position) if data[position] else position + 1
    return EndTxnRequest(transactional_id, producer_id, producer_epoch, committed), position


def _write_end_txn_request(writer: BytesWriter, message: EndTxnRequest, version: i64) -> None:
    if version >= 3:
        write_compact_string(writer, message.transactional_id)
    else:
        write_string(writer, message.transactional_id)
    write_i64_be(writer, message.producer_id)
    write_i16_be(writer, message.producer_epoch)
    write_bool(writer, message.committed)
    if version >= 3:
        writer.append(0)


class EndTxnResponse(Message):
    """API key 26, versions 0 to 5."""

    __slots__ = ("throttle_time_ms", "error_code", "producer_id", "producer_epoch")
    FIELDS: ClassVar[tuple[str, ...]] = ("throttle_time_ms", "error_code", "producer_id", "producer_epoch")
    API_KEY: ClassVar[int] = 26
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 5
    FIRST_FLEXIBLE: ClassVar[int] = 3

    def __init__(self, throttle_time_ms: int = 0, error_code: int = 0, producer_id: int = -1, producer_epoch: int = -1) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.producer_id = producer_id
        self.producer_epoch = producer_epoch

    @classmethod
    def decode(cls, data: bytes, position: int, version: int) -> tuple[EndTxnResponse, int]:
        if version < 0 or version > 5:
            raise unknown_version("EndTxnResponse", version, 0, 5)
        try:
            message, end = _read_end_txn_response(data, position, version)
        except (IndexError, ValueError) as error:
            raise malformed("EndTxnResponse", version, error) from None
        return message, end

    def encode(self, version: int) -> bytes:
        if version < 0 or version > 5:
            raise unsupported_version("EndTxnResponse", version, 0, 5)
        writer = BytesWriter()
        _write_end_txn_response(writer, self, version)
        return writer.getvalue()

    def encode_parts(self, writer_prefix: bytes, version: int) -> list[Part]:
        if version < 0 or version > 5:
            raise unsupported_version("EndTxnResponse", version, 0, 5)
        writer = BytesWriter()
        writer.write(writer_prefix)
        _write_end_txn_response(writer, self, version)
        return [writer.getvalue()]


def _read_end_txn_response(data: bytes, position: i64, version: i64) -> tuple[EndTxnResponse, i64]:
    producer_id: int
    producer_epoch: int
    throttle_time_ms = read_i32_be(data, position)
    error_code = read_i16_be(data, position + 4)
    position += 6
    if version >= 5:
        producer_id = read_i64_be(data, position)
        producer_epoch = read_i16_be(data, position + 8)
        position += 10
    else:
        producer_id = -1
        producer_epoch = -1
    if version >= 3:
        position = skip_tags(data, position) if data[position] else position + 1
    return EndTxnResponse(throttle_time_ms, error_code, producer_id, producer_epoch), position


def _write_end_txn_response(writer: BytesWriter, message: EndTxnResponse, version: i64) -> None:
    write_i32_be(writer, message.throttle_time_ms)
    write_i16_be(writer, message.error_code)
    if version >= 5:
        write_i64_be(writer, message.producer_id)
        write_i16_be(writer, message.producer_epoch)
    if version >= 3:
        writer.append(0)
