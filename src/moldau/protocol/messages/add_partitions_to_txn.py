"""AddPartitionsToTxn (API key 24). Generated from schema/add_partitions_to_txn.txt: do not edit."""

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
    read_count,
    read_i32_list,
    read_string,
    skip_tags,
    unknown_version,
)
from moldau.protocol.writing import (
    unsupported_field,
    unsupported_version,
    write_bool,
    write_compact_string,
    write_i32_list,
    write_string,
    write_uvarint,
)


class AddPartitionsToTxnTopic(Struct):
    __slots__ = ("name", "partitions")
    FIELDS: ClassVar[tuple[str, ...]] = ("name", "partitions")

    def __init__(self, name: str = "", partitions: list[int] = NO_ITEMS) -> None:
        self.name = name
        self.partitions = [] if partitions is NO_ITEMS else partitions


def _read_add_partitions_to_txn_topic(data: bytes, position: i64, version: i64) -> tuple[AddPartitionsToTxnTopic, i64]:
    name: str
    partitions: list[int]
    if version >= 3:
        name, position = read_compact_string(data, position)
        count, position = read_compact_count(data, position, 4)
        partitions = read_i32_list(data, position, count)
        position += 4 * count
    else:
        name, position = read_string(data, position)
        count, position = read_count(data, position, 4)
        partitions = read_i32_list(data, position, count)
        position += 4 * count
    if version >= 3:
        position = skip_tags(data, position) if data[position] else position + 1
    return AddPartitionsToTxnTopic(name, partitions), position


def _write_add_partitions_to_txn_topic(writer: BytesWriter, message: AddPartitionsToTxnTopic, version: i64) -> None:
    if version >= 3:
        write_compact_string(writer, message.name)
        partitions = message.partitions
        write_uvarint(writer, len(partitions) + 1)
        write_i32_list(writer, partitions)
    else:
        write_string(writer, message.name)
        partitions = message.partitions
        write_i32_be(writer, len(partitions))
        write_i32_list(writer, partitions)
    if version >= 3:
        writer.append(0)


class AddPartitionsToTxnTransaction(Struct):
    __slots__ = ("transactional_id", "producer_id", "producer_epoch", "verify_only", "topics")
    FIELDS: ClassVar[tuple[str, ...]] = ("transactional_id", "producer_id", "producer_epoch", "verify_only", "topics")

    def __init__(self, transactional_id: str = "", producer_id: int = 0, producer_epoch: int = 0, verify_only: bool = False, topics: list[AddPartitionsToTxnTopic] = NO_ITEMS) -> None:
        self.transactional_id = transactional_id
        self.producer_id = producer_id
        self.producer_epoch = producer_epoch
        self.verify_only = verify_only
        self.topics = [] if topics is NO_ITEMS else topics


def _read_add_partitions_to_txn_transaction(data: bytes, position: i64, version: i64) -> tuple[AddPartitionsToTxnTransaction, i64]:
    topics: list[AddPartitionsToTxnTopic]
    transactional_id, position = read_compact_string(data, position)
    producer_id = read_i64_be(data, position)
    producer_epoch = read_i16_be(data, position + 8)
    verify_only = data[position + 10] != 0
    position += 11
    count, position = read_compact_count(data, position, 3)
    topics = []
    for nth in range(count):
        topics_item, position = _read_add_partitions_to_txn_topic(data, position, version)
        topics.append(topics_item)
        if nth & LONG_RUN == LONG_RUN:
            give_way()
    position = skip_tags(data, position) if data[position] else position + 1
    return AddPartitionsToTxnTransaction(transactional_id, producer_id, producer_epoch, verify_only, topics), position


def _write_add_partitions_to_txn_transaction(writer: BytesWriter, message: AddPartitionsToTxnTransaction, version: i64) -> None:
    write_compact_string(writer, message.transactional_id)
    write_i64_be(writer, message.producer_id)
    write_i16_be(writer, message.producer_epoch)
    write_bool(writer, message.verify_only)
    topics = message.topics
    write_uvarint(writer, len(topics) + 1)
    for nth, topics_item in enumerate(topics):
        _write_add_partitions_to_txn_topic(writer, topics_item, version)
        if nth & LONG_RUN == LONG_RUN:
            give_way()
    writer.append(0)


class AddPartitionsToTxnPartitionResult(Struct):
    __slots__ = ("partition_index", "partition_error_code")
    FIELDS: ClassVar[tuple[str, ...]] = ("partition_index", "partition_error_code")

    def __init__(self, partition_index: int = 0, partition_error_code: int = 0) -> None:
        self.partition_index = partition_index
        self.partition_error_code = partition_error_code


def _read_add_partitions_to_txn_partition_result(data: bytes, position: i64, version: i64) -> tuple[AddPartitionsToTxnPartitionResult, i64]:
    partition_index = read_i32_be(data, position)
    partition_error_code = read_i16_be(data, position + 4)
    position += 6
    if version >= 3:
        position = skip_tags(data, position) if data[position] else position + 1
    return AddPartitionsToTxnPartitionResult(partition_index, partition_error_code), position


def _write_add_partitions_to_txn_partition_result(writer: BytesWriter, message: AddPartitionsToTxnPartitionResult, version: i64) -> None:
    write_i32_be(writer, message.partition_index)
    write_i16_be(writer, message.partition_error_code)
    if version >= 3:
        writer.append(0)


class AddPartitionsToTxnTopicResult(Struct):
    __slots__ = ("name", "results_by_partition")
    FIELDS: ClassVar[tuple[str, ...]] = ("name", "results_by_partition")

    def __init__(self, name: str = "", results_by_partition: list[AddPartitionsToTxnPartitionResult] = NO_ITEMS) -> None:
        self.name = name
        self.results_by_partition = [] if results_by_partition is NO_ITEMS else results_by_partition


def _read_add_partitions_to_txn_topic_result(data: bytes, position: i64, version: i64) -> tuple[AddPartitionsToTxnTopicResult, i64]:
    name: str
    results_by_partition: list[AddPartitionsToTxnPartitionResult]
    if version >= 3:
        name, position = read_compact_string(data, position)
        count, position = read_compact_count(data, position, 7)
        results_by_partition = []
        for nth in range(count):
            results_by_partition_item, position = _read_add_partitions_to_txn_partition_result(data, position, version)
            results_by_partition.append(results_by_partition_item)
            if nth & LONG_RUN == LONG_RUN:
                give_way()
    else:
        name, position = read_string(data, position)
        count, position = read_count(data, position, 6)
        results_by_partition = []
        for nth in range(count):
            results_by_partition_item, position = _read_add_partitions_to_txn_partition_result(data, position, version)
            results_by_partition.append(results_by_partition_item)
            if nth & LONG_RUN == LONG_RUN:
                give_way()
    if version >= 3:
        position = skip_tags(data, position) if data[position] else position + 1
    return AddPartitionsToTxnTopicResult(name, results_by_partition), position


def _write_add_partitions_to_txn_topic_result(writer: BytesWriter, message: AddPartitionsToTxnTopicResult, version: i64) -> None:
    if version >= 3:
        write_compact_string(writer, message.name)
        results_by_partition = message.results_by_partition
        write_uvarint(writer, len(results_by_partition) + 1)
        for nth, results_by_partition_item in enumerate(results_by_partition):
            _write_add_partitions_to_txn_partition_result(writer, results_by_partition_item, version)
            if nth & LONG_RUN == LONG_RUN:
                give_way()
    else:
        write_string(writer, message.name)
        results_by_partition = message.results_by_partition
        write_i32_be(writer, len(results_by_partition))
        for nth, results_by_partition_item in enumerate(results_by_partition):
            _write_add_partitions_to_txn_partition_result(writer, results_by_partition_item, version)
            if nth & LONG_RUN == LONG_RUN:
                give_way()
    if version >= 3:
        writer.append(0)


class AddPartitionsToTxnResult(Struct):
    __slots__ = ("transactional_id", "topic_results")
    FIELDS: ClassVar[tuple[str, ...]] = ("transactional_id", "topic_results")

    def __init__(self, transactional_id: str = "", topic_results: list[AddPartitionsToTxnTopicResult] = NO_ITEMS) -> None:
        self.transactional_id = transactional_id
        self.topic_results = [] if topic_results is NO_ITEMS else topic_results


def _read_add_partitions_to_txn_result(data: bytes, position: i64, version: i64) -> tuple[AddPartitionsToTxnResult, i64]:
    topic_results: list[AddPartitionsToTxnTopicResult]
    transactional_id, position = read_compact_string(data, position)
    count, position = read_compact_count(data, position, 3)
    topic_results = []
    for nth in range(count):
        topic_results_item, position = _read_add_partitions_to_txn_topic_result(data, position, version)
        topic_results.append(topic_results_item)
        if nth & LONG_RUN == LONG_RUN:
            give_way()
    position = skip_tags(data, position) if data[position] else position + 1
    return AddPartitionsToTxnResult(transactional_id, topic_results), position


def _write_add_partitions_to_txn_result(writer: BytesWriter, message: AddPartitionsToTxnResult, version: i64) -> None:
    write_compact_string(writer, message.transactional_id)
    topic_results = message.topic_results
    write_uvarint(writer, len(topic_results) + 1)
    for nth, topic_results_item in enumerate(topic_results):
        _write_add_partitions_to_txn_topic_result(writer, topic_results_item, version)
        if nth & LONG_RUN == LONG_RUN:
            give_way()
    writer.append(0)


class AddPartitionsToTxnRequest(Message):
    """API key 24, versions 0 to 5."""

    __slots__ = ("transactions", "v3_and_below_transactional_id", "v3_and_below_producer_id", "v3_and_below_producer_epoch", "v3_and_below_topics")
    FIELDS: ClassVar[tuple[str, ...]] = ("transactions", "v3_and_below_transactional_id", "v3_and_below_producer_id", "v3_and_below_producer_epoch", "v3_and_below_topics")
    API_KEY: ClassVar[int] = 24
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 5
    FIRST_FLEXIBLE: ClassVar[int] = 3

    def __init__(self, transactions: list[AddPartitionsToTxnTransaction] = NO_ITEMS, v3_and_below_transactional_id: str = "", v3_and_below_producer_id: int = 0, v3_and_below_producer_epoch: int = 0, v3_and_below_topics: list[AddPartitionsToTxnTopic] = NO_ITEMS) -> None:
        self.transactions = [] if transactions is NO_ITEMS else transactions
        self.v3_and_below_transactional_id = v3_and_below_transactional_id
        self.v3_and_below_producer_id = v3_and_below_producer_id
        self.v3_and_below_producer_epoch = v3_and_below_producer_epoch
        self.v3_and_below_topics = [] if v3_and_below_topics is NO_ITEMS else v3_and_below_topics

    @classmethod
    def decode(cls, data: bytes, position: int, version: int) -> tuple[AddPartitionsToTxnRequest, int]:
        if version < 0 or version > 5:
            raise unknown_version("AddPartitionsToTxnRequest", version, 0, 5)
        try:
            message, end = _read_add_partitions_to_txn_request(data, position, version)
        except (IndexError, ValueError) as error:
            raise malformed("AddPartitionsToTxnRequest", version, error) from None
        return message, end

    def encode(self, version: int) -> bytes:
        if version < 0 or version > 5:
            raise unsupported_version("AddPartitionsToTxnRequest", version, 0, 5)
        writer = BytesWriter()
        _write_add_partitions_to_txn_request(writer, self, version)
        return writer.getvalue()

    def encode_parts(self, writer_prefix: bytes, version: int) -> list[Part]:
        if version < 0 or version > 5:
            raise unsupported_version("AddPartitionsToTxnRequest", version, 0, 5)
        writer = BytesWriter()
        writer.write(writer_prefix)
        _write_add_partitions_to_txn_request(writer, self, version)
        return [writer.getvalue()]


def _read_add_partitions_to_txn_request(data: bytes, position: i64, version: i64) -> tuple[AddPartitionsToTxnRequest, i64]:
    transactions: list[AddPartitionsToTxnTransaction]
    v3_and_below_transactional_id: str
    v3_and_below_producer_id: int
    v3_and_below_producer_epoch: int
    v3_and_below_topics: list[AddPartitionsToTxnTopic]
    if version >= 4:
        count, position = read_compact_count(data, position, 14)
        transactions = []
        for nth in range(count):
            transactions_item, position = _read_add_partitions_to_txn_transaction(data, position, version)
            transactions.append(transactions_item)
            if nth & LONG_RUN == LONG_RUN:
                give_way()
    else:
        transactions = []
    if version >= 4:
        v3_and_below_transactional_id = ""
    elif version >= 3:
        v3_and_below_transactional_id, position = read_compact_string(data, position)
    else:
        v3_and_below_transactional_id, position = read_string(data, position)
    if version >= 4:
        v3_and_below_producer_id = 0
        v3_and_below_producer_epoch = 0
    else:
        v3_and_below_producer_id = read_i64_be(data, position)
        v3_and_below_producer_epoch = read_i16_be(data, position + 8)
        position += 10
    if version >= 4:
        v3_and_below_topics = []
    elif version >= 3:
        count, position = read_compact_count(data, position, 3)
        v3_and_below_topics = []
        for nth in range(count):
            v3_and_below_topics_item, position = _read_add_partitions_to_txn_topic(data, position, version)
            v3_and_below_topics.append(v3_and_below_topics_item)
            if nth & LONG_RUN == LONG_RUN:
                give_way()
    else:
        count, position = read_count(data, position, 6)
        v3_and_below_topics = []
        for nth in range(count):
            v3_and_below_topics_item, position = _read_add_partitions_to_txn_topic(data, position, version)
            v3_and_below_topics.append(v3_and_below_topics_item)
            if nth & LONG_RUN == LONG_RUN:
                give_way()
    if version >= 3:
        position = skip_tags(data, position) if data[position] else position + 1
    return AddPartitionsToTxnRequest(transactions, v3_and_below_transactional_id, v3_and_below_producer_id, v3_and_below_producer_epoch, v3_and_below_topics), position


def _write_add_partitions_to_txn_request(writer: BytesWriter, message: AddPartitionsToTxnRequest, version: i64) -> None:
    if version >= 4:
        transactions = message.transactions
        write_uvarint(writer, len(transactions) + 1)
        for nth, transactions_item in enumerate(transactions):
            _write_add_partitions_to_txn_transaction(writer, transactions_item, version)
            if nth & LONG_RUN == LONG_RUN:
                give_way()
    else:
        if message.transactions:
            raise unsupported_field("AddPartitionsToTxnRequest", "transactions", version)
    if version >= 4:
        if message.v3_and_below_transactional_id != "":
            raise unsupported_field("AddPartitionsToTxnRequest", "v3_and_below_transactional_id", version)
    elif version >= 3:
        write_compact_string(writer, message.v3_and_below_transactional_id)
    else:
        write_string(writer, message.v3_and_below_transactional_id)
    if version >= 4:
        if message.v3_and_below_producer_id != 0:
            raise unsupported_field("AddPartitionsToTxnRequest", "v3_and_below_producer_id", version)
        if message.v3_and_below_producer_epoch != 0:
            raise unsupported_field("AddPartitionsToTxnRequest", "v3_and_below_producer_epoch", version)
    else:
        write_i64_be(writer, message.v3_and_below_producer_id)
        write_i16_be(writer, message.v3_and_below_producer_epoch)
    if version >= 4:
        if message.v3_and_below_topics:
            raise unsupported_field("AddPartitionsToTxnRequest", "v3_and_below_topics", version)
    elif version >= 3:
        v3_and_below_topics = message.v3_and_below_topics
        write_uvarint(writer, len(v3_and_below_topics) + 1)
        for nth, v3_and_below_topics_item in enumerate(v3_and_below_topics):
            _write_add_partitions_to_txn_topic(writer, v3_and_below_topics_item, version)
            if nth & LONG_RUN == LONG_RUN:
                give_way()
    else:
        v3_and_below_topics = message.v3_and_below_topics
        write_i32_be(writer, len(v3_and_below_topics))
        for nth, v3_and_below_topics_item in enumerate(v3_and_below_topics):
            _write_add_partitions_to_txn_topic(writer, v3_and_below_topics_item, version)
            if nth & LONG_RUN == LONG_RUN:
                give_way()
    if version >= 3:
        writer.append(0)


class AddPartitionsToTxnResponse(Message):
    """API key 24, versions 0 to 5."""

    __slots__ = ("throttle_time_ms", "error_code", "results_by_transaction", "results_by_topic_v3_and_below")
    FIELDS: ClassVar[tuple[str, ...]] = ("throttle_time_ms", "error_code", "results_by_transaction", "results_by_topic_v3_and_below")
    API_KEY: ClassVar[int] = 24
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 5
    FIRST_FLEXIBLE: ClassVar[int] = 3

    def __init__(self, throttle_time_ms: int = 0, error_code: int = 0, results_by_transaction: list[AddPartitionsToTxnResult] = NO_ITEMS, results_by_topic_v3_and_below: list[AddPartitionsToTxnTopicResult] = NO_ITEMS) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.results_by_transaction = [] if results_by_transaction is NO_ITEMS else results_by_transaction
        self.results_by_topic_v3_and_below = [] if results_by_topic_v3_and_below is NO_ITEMS else results_by_topic_v3_and_below

    @classmethod
    def decode(cls, data: bytes, position: int, version: int) -> tuple[AddPartitionsToTxnResponse, int]:
        if version < 0 or version > 5:
            raise unknown_version("AddPartitionsToTxnResponse", version, 0, 5)
        try:
            message, end = _read_add_partitions_to_txn_response(data, position, version)
        except (IndexError, ValueError) as error:
            raise malformed("AddPartitionsToTxnResponse", version, error) from None
        return message, end

    def encode(self, version: int) -> bytes:
        if version < 0 or version > 5:
            raise unsupported_version("AddPartitionsToTxnResponse", version, 0, 5)
        writer = BytesWriter()
        _write_add_partitions_to_txn_response(writer, self, version)
        return writer.getvalue()

    def encode_parts(self, writer_prefix: bytes, version: int) -> list[Part]:
        if version < 0 or version > 5:
            raise unsupported_version("AddPartitionsToTxnResponse", version, 0, 5)
        writer = BytesWriter()
        writer.write(writer_prefix)
        _write_add_partitions_to_txn_response(writer, self, version)
        return [writer.getvalue()]


def _read_add_partitions_to_txn_response(data: bytes, position: i64, version: i64) -> tuple[AddPartitionsToTxnResponse, i64]:
    error_code: int
    results_by_transaction: list[AddPartitionsToTxnResult]
    results_by_topic_v3_and_below: list[AddPartitionsToTxnTopicResult]
    throttle_time_ms = read_i32_be(data, position)
    position += 4
    if version >= 4:
        error_code = read_i16_be(data, position)
        position += 2
        count, position = read_compact_count(data, position, 3)
        results_by_transaction = []
        for nth in range(count):
            results_by_transaction_item, position = _read_add_partitions_to_txn_result(data, position, version)
            results_by_transaction.append(results_by_transaction_item)
            if nth & LONG_RUN == LONG_RUN:
                give_way()
    else:
        error_code = 0
        results_by_transaction = []
    if version >= 4:
        results_by_topic_v3_and_below = []
    elif version >= 3:
        count, position = read_compact_count(data, position, 3)
        results_by_topic_v3_and_below = []
        for nth in range(count):
            results_by_topic_v3_and_below_item, position = _read_add_partitions_to_txn_topic_result(data, position, version)
            results_by_topic_v3_and_below.append(results_by_topic_v3_and_below_item)
            if nth & LONG_RUN == LONG_RUN:
                give_way()
    else:
        count, position = read_count(data, position, 6)
        results_by_topic_v3_and_below = []
        for nth in range(count):
            results_by_topic_v3_and_below_item, position = _read_add_partitions_to_txn_topic_result(data, position, version)
            results_by_topic_v3_and_below.append(results_by_topic_v3_and_below_item)
            if nth & LONG_RUN == LONG_RUN:
                give_way()
    if version >= 3:
        position = skip_tags(data, position) if data[position] else position + 1
    return AddPartitionsToTxnResponse(throttle_time_ms, error_code, results_by_transaction, results_by_topic_v3_and_below), position


def _write_add_partitions_to_txn_response(writer: BytesWriter, message: AddPartitionsToTxnResponse, version: i64) -> None:
    write_i32_be(writer, message.throttle_time_ms)
    if version >= 4:
        write_i16_be(writer, message.error_code)
        results_by_transaction = message.results_by_transaction
        write_uvarint(writer, len(results_by_transaction) + 1)
        for nth, results_by_transaction_item in enumerate(results_by_transaction):
            _write_add_partitions_to_txn_result(writer, results_by_transaction_item, version)
            if nth & LONG_RUN == LONG_RUN:
                give_way()
    else:
        if message.results_by_transaction:
            raise unsupported_field("AddPartitionsToTxnResponse", "results_by_transaction", version)
    if version >= 4:
        if message.results_by_topic_v3_and_below:
            raise unsupported_field("AddPartitionsToTxnResponse", "results_by_topic_v3_and_below", version)
    elif version >= 3:
        results_by_topic_v3_and_below = message.results_by_topic_v3_and_below
        write_uvarint(writer, len(results_by_topic_v3_and_below) + 1)
        for nth, results_by_topic_v3_and_below_item in enumerate(results_by_topic_v3_and_below):
            _write_add_partitions_to_txn_topic_result(writer, results_by_topic_v3_and_below_item, version)
            if nth & LONG_RUN == LONG_RUN:
                give_way()
    else:
        results_by_topic_v3_and_below = message.results_by_topic_v3_and_below
        write_i32_be(writer, len(results_by_topic_v3_and_below))
        for nth, results_by_topic_v3_and_below_item in enumerate(results_by_topic_v3_and_below):
            _write_add_partitions_to_txn_topic_result(writer, results_by_topic_v3_and_below_item, version)
            if nth & LONG_RUN == LONG_RUN:
                give_way()
    if version >= 3:
        writer.append(0)
