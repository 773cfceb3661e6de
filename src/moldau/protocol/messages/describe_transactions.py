"""DescribeTransactions (API key 65). Generated from schema/describe_transactions.txt: do not edit."""

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
    read_compact_string,
    read_compact_string_list,
    read_i32_list,
    skip_tags,
    unknown_version,
)
from moldau.protocol.writing import (
    unsupported_version,
    write_compact_string,
    write_compact_string_list,
    write_i32_list,
    write_uvarint,
)


class TopicData(Struct):
    __slots__ = ("topic", "partitions")
    FIELDS: ClassVar[tuple[str, ...]] = ("topic", "partitions")

    def __init__(self, topic: str = "", partitions: list[int] = NO_ITEMS) -> None:
        self.topic = topic
        self.partitions = [] if partitions is NO_ITEMS else partitions


def _read_topic_data(data: bytes, position: i64, version: i64) -> tuple[TopicData, i64]:
    partitions: list[int]
    topic, position = read_compact_string(data, position)
    count, position = read_compact_count(data, position, 4)
    partitions = read_i32_list(data, position, count)
    position += 4 * count
    position = skip_tags(data, position) if data[position] else position + 1
    return TopicData(topic, partitions), position


def _write_topic_data(writer: BytesWriter, message: TopicData, version: i64) -> None:
    write_compact_string(writer, message.topic)
    partitions = message.partitions
    write_uvarint(writer, len(partitions) + 1)
    write_i32_list(writer, partitions)
    writer.append(0)


class TransactionState(Struct):
    __slots__ = ("error_code", "transactional_id", "transaction_state", "transaction_timeout_ms", "transaction_start_time_ms", "producer_id", "producer_epoch", "topics")
    FIELDS: ClassVar[tuple[str, ...]] = ("error_code", "transactional_id", "transaction_state", "transaction_timeout_ms", "transaction_start_time_ms", "producer_id", "producer_epoch", "topics")

    def __init__(self, error_code: int = 0, transactional_id: str = "", transaction_state: str = "", transaction_timeout_ms: int = 0, transaction_start_time_ms: int = 0, producer_id: int = 0, producer_epoch: int = 0, topics: list[TopicData] = NO_ITEMS) -> None:
        self.error_code = error_code
        self.transactional_id = transactional_id
        self.transaction_state = transaction_state
        self.transaction_timeout_ms = transaction_timeout_ms
        self.transaction_start_time_ms = transaction_start_time_ms
        self.producer_id = producer_id
        self.producer_epoch = producer_epoch
        self.topics = [] if topics is NO_ITEMS else topics


def _read_transaction_state(data: bytes, position: i64, version: i64) -> tuple[TransactionState, i64]:
    topics: list[TopicData]
    error_code = read_i16_be(data, position)
    position += 2
    transactional_id, position = read_compact_string(data, position)
    transaction_state, position = read_compact_string(data, position)
    transaction_timeout_ms = read_i32_be(data, position)
    transaction_start_time_ms = read_i64_be(data, position + 4)
    producer_id = read_i64_be(data, position + 12)
    producer_epoch = read_i16_be(data, position + 20)
    position += 22
    count, position = read_compact_count(data, position, 3)
    topics = []
    for nth in range(count):
        topics_item, position = _read_topic_data(data, position, version)
        topics.append(topics_item)
        if nth & LONG_RUN == LONG_RUN:
            give_way()
    position = skip_tags(data, position) if data[position] else position + 1
    return TransactionState(error_code, transactional_id, transaction_state, transaction_timeout_ms, transaction_start_time_ms, producer_id, producer_epoch, topics), position


def _write_transaction_state(writer: BytesWriter, message: TransactionState, version: i64) -> None:
    write_i16_be(writer, message.error_code)
    write_compact_string(writer, message.transactional_id)
    write_compact_string(writer, message.transaction_state)
    write_i32_be(writer, message.transaction_timeout_ms)
    write_i64_be(writer, message.transaction_start_time_ms)
    write_i64_be(writer, message.producer_id)
    write_i16_be(writer, message.producer_epoch)
    topics = message.topics
    write_uvarint(writer, len(topics) + 1)
    for nth, topics_item in enumerate(topics):
        _write_topic_data(writer, topics_item, version)
        if nth & LONG_RUN == LONG_RUN:
            give_way()
    writer.append(0)


class DescribeTransactionsRequest(Message):
    """API key 65, version 0."""

    __slots__ = ("transactional_ids",)
    FIELDS: ClassVar[tuple[str, ...]] = ("transactional_ids",)
    API_KEY: ClassVar[int] = 65
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FIRST_FLEXIBLE: ClassVar[int] = 0

    def __init__(self, transactional_ids: list[str] = NO_ITEMS) -> None:
        self.transactional_ids = [] if transactional_ids is NO_ITEMS else transactional_ids

    @classmethod
    def decode(cls, data: bytes, position: int, version: int) -> tuple[DescribeTransactionsRequest, int]:
        if version < 0 or version > 0:
            raise unknown_version("DescribeTransactionsRequest", version, 0, 0)
        try:
            message, end = _read_describe_transactions_request(data, position, version)
        except (IndexError, ValueError) as error:
            raise malformed("DescribeTransactionsRequest", version, error) from None
        return message, end

    def encode(self, version: int) -> bytes:
        if version < 0 or version > 0:
            raise unsupported_version("DescribeTransactionsRequest", version, 0, 0)
        writer = BytesWriter()
        _write_describe_transactions_request(writer, self, version)
        return writer.getvalue()

    def encode_parts(self, writer_prefix: bytes, version: int) -> list[Part]:
        if version < 0 or version > 0:
            raise unsupported_version("DescribeTransactionsRequest", version, 0, 0)
        writer = BytesWriter()
        writer.write(writer_prefix)
        _write_describe_transactions_request(writer, self, version)
        return [writer.getvalue()]


def _read_describe_transactions_request(data: bytes, position: i64, version: i64) -> tuple[DescribeTransactionsRequest, i64]:
    transactional_ids: list[str]
    count, position = read_compact_count(data, position, 1)
    transactional_ids, position = read_compact_string_list(data, position, count)
    position = skip_tags(data, position) if data[position] else position + 1
    return DescribeTransactionsRequest(transactional_ids), position


def _write_describe_transactions_request(writer: BytesWriter, message: DescribeTransactionsRequest, version: i64) -> None:
    transactional_ids = message.transactional_ids
    write_uvarint(writer, len(transactional_ids) + 1)
    write_compact_string_list(writer, transactional_ids)
    writer.append(0)


class DescribeTransactionsResponse(Message):
    """API key 65, version 0."""

    __slots__ = ("throttle_time_ms", "transaction_states")
    FIELDS: ClassVar[tuple[str, ...]] = ("throttle_time_ms", "transaction_states")
    API_KEY: ClassVar[int] = 65
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FIRST_FLEXIBLE: ClassVar[int] = 0

    def __init__(self, throttle_time_ms: int = 0, transaction_states: list[TransactionState] = NO_ITEMS) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.transaction_states = [] if transaction_states is NO_ITEMS else transaction_states

    @classmethod
    def decode(cls, data: bytes, position: int, version: int) -> tuple[DescribeTransactionsResponse, int]:
        if version < 0 or version > 0:
            raise unknown_version("DescribeTransactionsResponse", version, 0, 0)
        try:
            message, end = _read_describe_transactions_response(data, position, version)
        except (IndexError, ValueError) as error:
            raise malformed("DescribeTransactionsResponse", version, error) from None
        return message, end

    def encode(self, version: int) -> bytes:
        if version < 0 or version > 0:
            raise unsupported_version("DescribeTransactionsResponse", version, 0, 0)
        writer = BytesWriter()
        _write_describe_transactions_response(writer, self, version)
        return writer.getvalue()

    def encode_parts(self, writer_prefix: bytes, version: int) -> list[Part]:
        if version < 0 or version > 0:
            raise unsupported_version("DescribeTransactionsResponse", version, 0, 0)
        writer = BytesWriter()
        writer.write(writer_prefix)
        _write_describe_transactions_response(writer, self, version)
        return [writer.getvalue()]


def _read_describe_transactions_response(data: bytes, position: i64, version: i64) -> tuple[DescribeTransactionsResponse, i64]:
    transaction_states: list[TransactionState]
    throttle_time_ms = read_i32_be(data, position)
    position += 4
    count, position = read_compact_count(data, position, 28)
    transaction_states = []
    for nth in range(count):
        transaction_states_item, position = _read_transaction_state(data, position, version)
        transaction_states.append(transaction_states_item)
        if nth & LONG_RUN == LONG_RUN:
            give_way()
    position = skip_tags(data, position) if data[position] else position + 1
    return DescribeTransactionsResponse(throttle_time_ms, transaction_states), position


def _write_describe_transactions_response(writer: BytesWriter, message: DescribeTransactionsResponse, version: i64) -> None:
    write_i32_be(writer, message.throttle_time_ms)
    transaction_states = message.transaction_states
    write_uvarint(writer, len(transaction_states) + 1)
    for nth, transaction_states_item in enumerate(transaction_states):
        _write_transaction_state(writer, transaction_states_item, version)
        if nth & LONG_RUN == LONG_RUN:
            give_way()
    writer.append(0)
