"""A consumer without a group: reads whole partitions, and writes down what it finds."""

import asyncio
from collections.abc import Sequence
from typing import Final

from moldau.errors import ErrorCode
from moldau.ids import TopicPartition
from moldau.network.outbound import Disconnected
from moldau.protocol.messages.fetch import (
    FetchPartition,
    FetchRequest,
    FetchResponse,
    FetchTopic,
    PartitionData,
)
from moldau.record.header import crc_is_valid, iter_headers
from moldau.record.records import decode_all
from moldau.simulator.clients.cluster import ClusterClient
from moldau.simulator.world import US_PER_S

_MAX_WAIT_MS: Final = 500
_MAX_BYTES: Final = 2_000
_LAST_VERSION_WITH_NAMES: Final = 12
# A new leader needs less to learn from its followers what is committed.
_LOST_AFTER_US: Final = 20 * US_PER_S


class Consumer:
    """Reads each partition on its own."""

    def __init__(self, client: ClusterClient, partitions: Sequence[TopicPartition]) -> None:
        self._client = client
        self._partitions = partitions
        self._version = client.rng.choice((_LAST_VERSION_WITH_NAMES, None))
        self.positions = dict.fromkeys(partitions, 0)

    def start(self) -> None:
        for topic_partition in self._partitions:
            self._client.begin(self._read_while_working(topic_partition))

    async def _read_while_working(self, topic_partition: TopicPartition) -> None:
        while not self._client.is_stopping:
            await self.read_on(topic_partition)

    async def read_all(self, topic_partition: TopicPartition) -> None:
        """Read on to the current end of the partition, which has all that anybody knows of."""
        client = self._client
        known_end = client.history.known_end(topic_partition)
        end_offset = None
        while end_offset is None or self.positions[topic_partition] < end_offset:
            data = await self.read_on(topic_partition)
            if data is not None and end_offset is None:
                end_offset = data.high_watermark
        begin_us = client.world.now_us
        while self.positions[topic_partition] < known_end:
            await self.read_on(topic_partition)
            if client.world.now_us - begin_us > _LOST_AFTER_US:
                client.world.surprise(
                    client.name,
                    f"{topic_partition} ends at {self.positions[topic_partition]}, and what was "
                    f"before {known_end} is lost",
                )
                return

    async def read_on(self, topic_partition: TopicPartition) -> PartitionData | None:
        """Read once; None if that failed."""
        client = self._client
        try:
            data = await self._fetch(topic_partition)
        except Disconnected:
            client.forget_leader(topic_partition)
            await client.back_off()
            return None
        code = ErrorCode(data.error_code)
        if code != ErrorCode.NONE:
            if not code.retriable:
                client.world.surprise(
                    client.name,
                    f"{code.name} at {self.positions[topic_partition]} of {topic_partition}",
                )
            client.forget_leader(topic_partition)
            await client.back_off()
            return None
        self._note(topic_partition, data)
        if not data.records:
            await asyncio.sleep(0.01)
        return data

    def _note(self, topic_partition: TopicPartition, answer: PartitionData) -> None:
        records = answer.records if isinstance(answer.records, bytes | memoryview) else b""
        data = bytes(records)
        if not all(crc_is_valid(data, at, header) for at, header in iter_headers(data)):
            self._client.world.surprise(
                self._client.name, f"gets damaged records of {topic_partition}"
            )
            return
        for _, found in decode_all(data):
            for record in found:
                position = self.positions[topic_partition]
                if record.offset < position:
                    continue
                if record.offset > position:
                    self._client.world.surprise(
                        self._client.name,
                        f"{topic_partition} jumps from {position} to {record.offset}",
                    )
                assert record.value is not None
                self._client.history.was_read(topic_partition, record.offset, record.value)
                self.positions[topic_partition] = record.offset + 1

    async def _fetch(self, topic_partition: TopicPartition) -> PartitionData:
        client = self._client
        leader = await client.leader(topic_partition)
        wanted = FetchPartition(
            topic_partition.partition,
            # Otherwise a broker that does not lead any more would answer as a follower.
            current_leader_epoch=client.leader_epoch(topic_partition),
            fetch_offset=self.positions[topic_partition],
            partition_max_bytes=_MAX_BYTES,
        )
        topic = FetchTopic(topic_partition.topic, client.topic_ids[topic_partition.topic], [wanted])
        asked = FetchRequest(
            max_wait_ms=_MAX_WAIT_MS, min_bytes=1, max_bytes=_MAX_BYTES, topics=[topic]
        )
        response = await client.send(leader, asked, FetchResponse, self._version)
        if response.error_code or not response.responses:
            return PartitionData(error_code=response.error_code or ErrorCode.UNKNOWN_TOPIC_ID)
        return response.responses[0].partitions[0]
