"""ListTransactions (API key 66). Generated from schema/list_transactions.txt: do not edit."""

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
from moldau.protocol.giving_way import give_way
from moldau.protocol.message import NO_ITEMS, Message, Struct
from moldau.protocol.reading import (
    LONG_RUN,
    malformed,
    read_compact_count,
    read_compact_nullable_string,
    read_compact_string,
    read_compact_string_list,
    read_i64_list,
    skip_tags,
    unknown_version,
)
from moldau.protocol.writing import (
    unsupported_field,
    unsupported_version,
    write_compact_nullable_string,
    write_compact_string,
    write_compact_string_list,
    write_i64_list,
    write_uvarint,
)


class TransactionState(Struct):
    __slots__ = ("transactional_id", "producer_id", "transaction_state")
    FIELDS: ClassVar[tuple[str, ...]] = ("transactional_id", "producer_id", "transaction_state")

    def __init__(self, transactional_id: str = "", producer_id: int = 0, transaction_state: str = "") -> None:
        self.transactional_id = transactional_id
        self.producer_id = producer_id
        self.transaction_state = transaction_state


def _read_transaction_state(data: bytes, position: i64, version: i64) -> tuple[TransactionState, i64]:
    transactional_id, position = read_compact_string(data, position)
    producer_id = read_i64_be(data, position)
    position += 8
    transaction_state, position = read_compact_string(data, position)
    position = skip_tags(data, position) if data[position] else position + 1
    return TransactionState(transactional_id, producer_id, transaction_state), position


def _write_transaction_state(writer: BytesWriter, message: TransactionState, version: i64) -> None:
    write_compact_string(writer, message.transactional_id)
    write_i64_be(writer, message.producer_id)
    write_compact_string(writer, message.transaction_state)
    writer.append(0)


class ListTransactionsRequest(Message):
    """API key 66, versions 0 to 2."""

    __slots__ = ("state_filters", "producer_id_filters", "duration_filter", "transactional_id_pattern")
    FIELDS: ClassVar[tuple[str, ...]] = ("state_filters", "producer_id_filters", "duration_filter", "transactional_id_pattern")
    API_KEY: ClassVar[int] = 66
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 2
    FIRST_FLEXIBLE: ClassVar[int] = 0

    def __init__(self, state_filters: list[str] = NO_ITEMS, producer_id_filters: list[int] = NO_ITEMS, duration_filter: int = -1, transactional_id_pattern: str | None = None) -> None:
        self.state_filters = [] if state_filters is NO_ITEMS else state_filters
        self.producer_id_filters = [] if producer_id_filters is NO_ITEMS else producer_id_filters
        self.duration_filter = duration_filter
        self.transactional_id_pattern = transactional_id_pattern

    @classmethod
    def decode(cls, data: bytes, position: int, version: int) -> tuple[ListTransactionsRequest, int]:
        if version < 0 or version > 2:
            raise unknown_version("ListTransactionsRequest", version, 0, 2)
        try:
            message, end = _read_list_transactions_request(data, position, version)
        except (IndexError, ValueError) as error:
            raise malformed("ListTransactionsRequest", version, error) from None
        return message, end

    def encode(self, version: int) -> bytes:
        if version < 0 or version > 2:
            raise unsupported_version("ListTransactionsRequest", version, 0, 2)
        writer = BytesWriter()
        _write_list_transactions_request(writer, self, version)
        return writer.getvalue()

    def encode_parts(self, writer_prefix: bytes, version: int) -> list[Part]:
        if version < 0 or version > 2:
            raise unsupported_version("ListTransactionsRequest", version, 0, 2)
        writer = BytesWriter()
        writer.write(writer_prefix)
        _write_list_transactions_request(writer, self, version)
        return [writer.getvalue()]


def _read_list_transactions_request(data: bytes, position: i64, version: i64) -> tuple[ListTransactionsRequest, i64]:
    state_filters: list[str]
    producer_id_filters: list[int]
    duration_filter: int
    transactional_id_pattern: str | None
    count, position = read_compact_count(data, position, 1)
    state_filters, position = read_compact_string_list(data, position, count)
    count, position = read_compact_count(data, position, 8)
    producer_id_filters = read_i64_list(data, position, count)
    position += 8 * count
    if version >= 1:
        duration_filter = read_i64_be(data, position)
        position += 8
    else:
        duration_filter = -1
    if version >= 2:
        transactional_id_pattern, position = read_compact_nullable_string(data, position)
    else:
        transactional_id_pattern = None
    position = skip_tags(data, position) if data[position] else position + 1
    return ListTransactionsRequest(state_filters, producer_id_filters, duration_filter, transactional_id_pattern), position


def _write_list_transactions_request(writer: BytesWriter, message: ListTransactionsRequest, version: i64) -> None:
    state_filters = message.state_filters
    write_uvarint(writer, len(state_filters) + 1)
    write_compact_string_list(writer, state_filters)
    producer_id_filters = message.producer_id_filters
    write_uvarint(writer, len(producer_id_filters) + 1)
    write_i64_list(writer, producer_id_filters)
    if version >= 1:
        write_i64_be(writer, message.duration_filter)
    else:
        if message.duration_filter != -1:
            raise unsupported_field("ListTransactionsRequest", "duration_filter", version)
    if version >= 2:
        write_compact_nullable_string(writer, message.transactional_id_pattern)
    else:
        if message.transactional_id_pattern is not None:
            raise unsupported_field("ListTransactionsRequest", "transactional_id_pattern", version)
    writer.append(0)


class ListTransactionsResponse(Message):
    """API key 66, versions 0 to 2."""

    __slots__ = ("throttle_time_ms", "error_code", "unknown_state_filters", "transaction_states")
    FIELDS: ClassVar[tuple[str, ...]] = ("throttle_time_ms", "error_code", "unknown_state_filters", "transaction_states")
    API_KEY: ClassVar[int] = 66
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 2
    FIRST_FLEXIBLE: ClassVar[int] = 0

    def __init__(self, throttle_time_ms: int = 0, error_code: int = 0, unknown_state_filters: list[str] = NO_ITEMS, transaction_states: list[TransactionState] = NO_ITEMS) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.unknown_state_filters = [] if unknown_state_filters is NO_ITEMS else unknown_state_filters
        self.transaction_states = [] if transaction_states is NO_ITEMS else transaction_states

    @classmethod
    def decode(cls, data: bytes, position: int, version: int) -> tuple[ListTransactionsResponse, int]:
        if version < 0 or version > 2:
            raise unknown_version("ListTransactionsResponse", version, 0, 2)
        try:
            message, end = _read_list_transactions_response(data, position, version)
        except (IndexError, ValueError) as error:
            raise malformed("ListTransactionsResponse", version, error) from None
        return message, end

    def encode(self, version: int) -> bytes:
        if version < 0 or version > 2:
            raise unsupported_version("ListTransactionsResponse", version, 0, 2)
        writer = BytesWriter()
        _write_list_transactions_response(writer, self, version)
        return writer.getvalue()

    def encode_parts(self, writer_prefix: bytes, version: int) -> list[Part]:
        if version < 0 or version > 2:
            raise unsupported_version("ListTransactionsResponse", version, 0, 2)
        writer = BytesWriter()
        writer.write(writer_prefix)
        _write_list_transactions_response(writer, self, version)
        return [writer.getvalue()]


def _read_list_transactions_response(data: bytes, position: i64, version: i64) -> tuple[ListTransactionsResponse, i64]:
    unknown_state_filters: list[str]
    transaction_states: list[TransactionState]
    throttle_time_ms = read_i32_be(data, position)
    error_code = read_i16_be(data, position + 4)
    position += 6
    count, position = read_compact_count(data, position, 1)
    unknown_state_filters, position = read_compact_string_list(data, position, count)
    count, position = read_compact_count(data, position, 11)
    transaction_states = []
    for nth in range(count):
        transaction_states_item, position = _read_transaction_state(data, position, version)
        transaction_states.append(transaction_states_item)
        if nth & LONG_RUN == LONG_RUN:
            give_way()
    position = skip_tags(data, position) if data[position] else position + 1
    return ListTransactionsResponse(throttle_time_ms, error_code, unknown_state_filters, transaction_states), position


def _write_list_transactions_response(writer: BytesWriter, message: ListTransactionsResponse, version: i64) -> None:
    write_i32_be(writer, message.throttle_time_ms)
    write_i16_be(writer, message.error_code)
    unknown_state_filters = message.unknown_state_filters
    write_uvarint(writer, len(unknown_state_filters) + 1)
    write_compact_string_list(writer, unknown_state_filters)
    transaction_states = message.transaction_states
    write_uvarint(writer, len(transaction_states) + 1)
    for nth, transaction_states_item in enumerate(transaction_states):
        _write_transaction_state(writer, transaction_states_item, version)
        if nth & LONG_RUN == LONG_RUN:
            give_way()
    writer.append(0)
