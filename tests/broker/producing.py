"""Helpers for most broker tests: create a topic, produce a batch, fetch records."""

from collections.abc import Sequence
from typing import Any

from moldau.protocol.messages.create_topics import (
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
)
from moldau.protocol.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from moldau.protocol.messages.produce import (
    PartitionProduceData,
    ProduceRequest,
    TopicProduceData,
)
from moldau.record.records import Record, decode_records
from tests.running import WireClient

PRODUCE_VERSION = 12
FETCH_VERSION = 12


def create_topic(client: WireClient, name: str, partitions: int = 1, **configs: str) -> None:
    """Create a topic; ``configs`` are topic settings with underscores for dots."""
    topic = CreatableTopic(
        name=name,
        num_partitions=partitions,
        replication_factor=1,
        configs=[
            CreatableTopicConfig(name=key.replace("_", "."), value=value)
            for key, value in configs.items()
        ],
    )
    response = client.send(CreateTopicsRequest(topics=[topic]), 7)
    assert response.topics[0].error_code == 0, response


def produce_request(
    topic: str, batch: bytes | None, partition: int = 0, acks: int = -1
) -> ProduceRequest:
    data = PartitionProduceData(index=partition, records=batch)
    return ProduceRequest(
        acks=acks,
        timeout_ms=1000,
        topic_data=[TopicProduceData(name=topic, partition_data=[data])],
    )


def produce(
    client: WireClient,
    topic: str,
    batch: bytes | None,
    partition: int = 0,
    acks: int = -1,
    version: int = PRODUCE_VERSION,
) -> Any:
    """The partition's part of the response."""
    response = client.send(produce_request(topic, batch, partition, acks), version)
    return response.responses[0].partition_responses[0]


def fetch_request(
    topic: str,
    offset: int,
    partition: int = 0,
    *,
    max_bytes: int = 1 << 20,
    partition_max_bytes: int = 1 << 20,
    min_bytes: int = 0,
    max_wait_ms: int = 0,
    **fields: Any,
) -> FetchRequest:
    wanted = FetchPartition(
        partition=partition, fetch_offset=offset, partition_max_bytes=partition_max_bytes
    )
    return FetchRequest(
        max_wait_ms=max_wait_ms,
        min_bytes=min_bytes,
        max_bytes=max_bytes,
        topics=[FetchTopic(topic=topic, partitions=[wanted])],
        **fields,
    )


def fetch(client: WireClient, topic: str, offset: int, partition: int = 0, **fields: Any) -> Any:
    """The partition's part of the response."""
    response = client.send(fetch_request(topic, offset, partition, **fields), FETCH_VERSION)
    assert response.error_code == 0
    return response.responses[0].partitions[0]


def read_all(client: WireClient, topic: str, partition: int = 0) -> list[Record]:
    """Every record of the partition, fetched from the beginning."""
    records: list[Record] = []
    offset = 0
    while True:
        data = fetch(client, topic, offset, partition)
        assert data.error_code == 0, data.error_code
        if not data.records:
            return records
        found = [each for each in decode_records(bytes(data.records)) if each.offset >= offset]
        records += found
        offset = found[-1].offset + 1


def values(records: Sequence[Record]) -> list[bytes | None]:
    return [each.value for each in records]
