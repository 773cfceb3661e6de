"""Transactions of librdkafka and of moldau.client, and a log with many aborted ones."""

# confluent-kafka marks itself as typed, but not all of what it exports is.
# mypy: disable-error-code="attr-defined, no-untyped-call"

import threading
import time
import uuid
from collections.abc import Sequence
from contextlib import ExitStack

from confluent_kafka import Consumer, Producer
from confluent_kafka import TopicPartition as Place

from moldau.client.cluster import Cluster
from moldau.client.connection import Connection
from moldau.client.producer import Producer as OurProducer
from moldau.client.transactions import TransactionIdentity, Transactions
from moldau.protocol.messages.fetch import (
    FetchPartition,
    FetchRequest,
    FetchResponse,
    FetchTopic,
)
from moldau.protocol.messages.produce import (
    PartitionProduceData,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
)
from moldau.protocol.messages.write_txn_markers import (
    WritableTxnMarker,
    WritableTxnMarkerTopic,
    WriteTxnMarkersRequest,
    WriteTxnMarkersResponse,
)
from moldau.record.header import iter_headers
from moldau.record.records import BatchBuilder

LIMIT_S = 60.0
TIMEOUT_MS = 60_000
# Requests that are sent before their responses are read.
PIPELINED = 200
READ_COMMITTED = 1
# The last version with topic names, and one of Produce that adds no partitions.
FETCH_VERSION = 12
PRODUCE_VERSION = 11


def transactional(bootstrap: str) -> Producer:
    """A producer of librdkafka that owns a new transactional id."""
    producer = Producer(
        {
            "bootstrap.servers": bootstrap,
            "transactional.id": f"bench-{uuid.uuid4().hex[:10]}",
            "transaction.timeout.ms": TIMEOUT_MS,
            "linger.ms": 0,
            "log_level": 2,
        }
    )
    producer.init_transactions(LIMIT_S)
    return producer


def librdkafka_latencies(
    producer: Producer, topic: str, partitions: Sequence[int], count: int
) -> list[float]:
    """Milliseconds of transactions of one record to each partition."""
    latencies = []
    for _ in range(count):
        began_s = time.perf_counter()
        producer.begin_transaction()
        for partition in partitions:
            producer.produce(topic, b"x" * 100, partition=partition)
        producer.commit_transaction(LIMIT_S)
        latencies.append((time.perf_counter() - began_s) * 1000)
    return latencies


def our_latencies(
    producer: OurProducer, topic: str, partitions: Sequence[int], count: int
) -> list[float]:
    """The same by moldau.client, with the protocol of KIP-890."""
    latencies = []
    for _ in range(count):
        began_s = time.perf_counter()
        with producer.transaction():
            for partition in partitions:
                producer.send(topic, b"x" * 100, partition=partition)
        latencies.append((time.perf_counter() - began_s) * 1000)
    return latencies


def concurrent_rate(bootstrap: str, topic: str, producers: int, count: int) -> float:
    """Transactions per second of several producers of librdkafka."""
    running = [transactional(bootstrap) for _ in range(producers)]
    for producer in running:
        librdkafka_latencies(producer, topic, [0], 1)
    threads = [
        threading.Thread(target=librdkafka_latencies, args=(producer, topic, [0], count))
        for producer in running
    ]
    began_s = time.perf_counter()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return producers * count / (time.perf_counter() - began_s)


def produce_rate(bootstrap: str, topic: str, size_bytes: int, every_s: float | None) -> float:
    """Bytes per second, plain or with a transaction that ends every so often."""
    settings = {
        "bootstrap.servers": bootstrap,
        "enable.idempotence": True,
        "queue.buffering.max.kbytes": 32_768,
        "log_level": 2,
    }
    if every_s is not None:
        settings["transactional.id"] = f"bench-{uuid.uuid4().hex[:10]}"
    producer = Producer(settings)
    value = b"x" * 1024
    if every_s is not None:
        producer.init_transactions(LIMIT_S)
        producer.begin_transaction()
    began_s = ended_s = time.perf_counter()
    for number in range(size_bytes // len(value)):
        while True:
            try:
                producer.produce(topic, value, partition=0)
                break
            except BufferError:
                producer.poll(0.01)
        if number % 64 == 0:
            producer.poll(0)
            if every_s is not None and time.perf_counter() - ended_s >= every_s:
                producer.commit_transaction(LIMIT_S)
                producer.begin_transaction()
                ended_s = time.perf_counter()
    if every_s is not None:
        producer.commit_transaction(LIMIT_S)
    assert producer.flush(LIMIT_S) == 0
    return size_bytes / (time.perf_counter() - began_s)


def loop_rate(bootstrap: str, source: str, target: str, loops: int, per_loop: int) -> float:
    """Loops per second that read, write, and commit records and offsets in a transaction."""
    feed = Producer({"bootstrap.servers": bootstrap, "log_level": 2})
    for _ in range(loops * per_loop):
        feed.produce(source, b"x" * 100, partition=0)
        feed.poll(0)
    assert feed.flush(LIMIT_S) == 0
    producer = transactional(bootstrap)
    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": f"bench-{uuid.uuid4().hex[:10]}",
            "enable.auto.commit": False,
            "isolation.level": "read_committed",
            "log_level": 2,
        }
    )
    try:
        consumer.assign([Place(source, 0, 0)])
        began_s, done = 0.0, 0
        while done < loops:
            messages = consumer.consume(per_loop, LIMIT_S)
            # The first loop, which finds coordinators, is not measured.
            began_s = began_s if done else time.perf_counter()
            producer.begin_transaction()
            for message in messages:
                producer.produce(target, message.value(), partition=0)
            following = consumer.position([Place(source, 0)])
            producer.send_offsets_to_transaction(following, consumer.consumer_group_metadata())
            producer.commit_transaction(LIMIT_S)
            done += 1
        return loops / (time.perf_counter() - began_s)
    finally:
        consumer.close()


def fill_with_aborted(bootstrap: str, topic: str, count: int) -> None:
    """Write so many transactions of one record, each followed by its abort marker.

    Markers are written as a coordinator would, which saves two requests per transaction. The
    broker must not verify that the partition was added.
    """
    with ExitStack() as stack:
        cluster = stack.enter_context(Cluster(bootstrap))
        identity = TransactionIdentity(f"bench-{uuid.uuid4().hex[:10]}")
        identity = Transactions(cluster, 1).begin(identity, TIMEOUT_MS)
        cluster.refresh([topic])
        connection = cluster.connection(cluster.topics[topic].partitions[0].leader)
        marker = WritableTxnMarker(
            identity.producer_id,
            identity.producer_epoch,
            False,
            [WritableTxnMarkerTopic(topic, [0])],
        )
        for first in range(0, count, PIPELINED):
            numbers = range(first, min(first + PIPELINED, count))
            for number in numbers:
                connection.post(_produce(topic, identity, number), max_version=PRODUCE_VERSION)
                connection.post(WriteTxnMarkersRequest([marker]))
            for _ in numbers:
                _check(connection)


def _produce(topic: str, identity: TransactionIdentity, sequence: int) -> ProduceRequest:
    builder = BatchBuilder(
        producer_id=identity.producer_id,
        producer_epoch=identity.producer_epoch,
        base_sequence=sequence,
        is_transactional=True,
    )
    builder.append(int(time.time() * 1000), None, b"x" * 100)
    data = TopicProduceData(name=topic, partition_data=[PartitionProduceData(0, builder.build())])
    return ProduceRequest(identity.transactional_id, -1, TIMEOUT_MS, [data])


def _check(connection: Connection) -> None:
    produced = connection.receive(ProduceResponse)
    marked = connection.receive(WriteTxnMarkersResponse)
    errors = [
        produced.responses[0].partition_responses[0].error_code,
        marked.markers[0].topics[0].partitions[0].error_code,
    ]
    if any(errors):
        raise RuntimeError(f"a transaction was not written: {errors}")


def fetch_seconds(bootstrap: str, topic: str, isolation_level: int) -> float:
    """Seconds to fetch a partition from its beginning to its end, 1 MiB at a time."""
    with Cluster(bootstrap) as cluster:
        cluster.refresh([topic])
        connection = cluster.connection(cluster.topics[topic].partitions[0].leader)
        offset = 0
        began_s = time.perf_counter()
        while True:
            wanted = FetchPartition(0, -1, offset, partition_max_bytes=1 << 20)
            request = FetchRequest(
                isolation_level=isolation_level,
                max_bytes=1 << 20,
                topics=[FetchTopic(topic, partitions=[wanted])],
            )
            response = connection.request(request, FetchResponse, max_version=FETCH_VERSION)
            data = response.responses[0].partitions[0]
            if data.error_code:
                raise RuntimeError(f"fetch at {offset}: error {data.error_code}")
            records = data.records
            if not isinstance(records, bytes | memoryview) or not len(records):
                return time.perf_counter() - began_s
            for _, header in iter_headers(memoryview(records)):
                offset = header.last_offset + 1
