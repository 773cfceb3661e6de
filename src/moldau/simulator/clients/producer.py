"""An idempotent producer: every record once, in order, however often it has to ask."""

import asyncio
from collections.abc import Sequence
from typing import Final

from moldau.errors import ErrorCode
from moldau.ids import TopicPartition
from moldau.network.outbound import Disconnected
from moldau.protocol.messages.init_producer_id import InitProducerIdRequest, InitProducerIdResponse
from moldau.protocol.messages.produce import (
    PartitionProduceData,
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
)
from moldau.record.records import BatchBuilder
from moldau.simulator.clients.cluster import ClusterClient
from moldau.simulator.world import US_PER_S

_MOST_RECORDS: Final = 5
_TIMEOUT_MS: Final = 3_000
# How often a producer begins anew, as after a restart.
_NEW_IDENTITY: Final = 0.03
_LAST_VERSION_WITH_NAMES: Final = 12
# Longer than any fault.
_STALE_US: Final = 30 * US_PER_S


class Producer:
    """Sends numbered records to some partitions, one batch at a time to each."""

    def __init__(
        self, client: ClusterClient, partitions: Sequence[TopicPartition], pause_ms: int
    ) -> None:
        self._client = client
        self._rng = client.rng
        self._partitions = partitions
        self._pause_ms = pause_ms
        # Topics are named by name or by id.
        self._version = self._rng.choice((9, _LAST_VERSION_WITH_NAMES, None))

    def start(self) -> None:
        for topic_partition in self._partitions:
            self._client.begin(self.produce(topic_partition))

    async def _identify(self) -> tuple[int, int]:
        """A new producer id and its epoch."""
        client = self._client

        async def ask() -> InitProducerIdResponse | None:
            asked = InitProducerIdRequest(transactional_id=None, transaction_timeout_ms=60_000)
            answer = await client.send(client.any_node(), asked, InitProducerIdResponse)
            return answer if answer.error_code == ErrorCode.NONE else None

        found = await client.until_answered(ask)
        client.history.has_producer_id(found.producer_id)
        return found.producer_id, found.producer_epoch

    async def produce(self, topic_partition: TopicPartition, most_batches: int = 1 << 62) -> None:
        """Send batches until the client stops."""
        client = self._client
        identity = await self._identify()
        sent = sequence = batches = 0
        while not client.is_stopping and batches < most_batches:
            batches += 1
            if self._rng.random() < _NEW_IDENTITY:
                identity, sequence = await self._identify(), 0
            count = self._rng.randint(1, _MOST_RECORDS)
            values = [
                f"{client.name}/{topic_partition.partition}/{sent + each}".encode()
                for each in range(count)
            ]
            for value in values:
                client.history.will_send(topic_partition, value)
            batch = self._batch(values, identity, sequence)
            offset = await self._deliver(topic_partition, batch, sequence)
            for number, value in enumerate(values):
                known = offset + number if offset >= 0 else -1
                client.history.was_acknowledged(topic_partition, value, known)
            client.world.trace(b"acknowledged %d %s" % (offset, values[0]))
            sequence += count
            sent += count
            await asyncio.sleep(self._rng.randint(0, 2 * self._pause_ms) / 1000)

    async def _deliver(self, topic_partition: TopicPartition, batch: bytes, sequence: int) -> int:
        """Send a batch until it is acknowledged; its offset, or -1 if that is not known."""
        client = self._client
        begin_us = client.world.now_us
        while True:
            try:
                answer = await self._attempt(topic_partition, batch)
            except Disconnected:
                client.forget_leader(topic_partition)
                continue
            code = ErrorCode(answer.error_code)
            if code == ErrorCode.NONE:
                return answer.base_offset
            if code == ErrorCode.DUPLICATE_SEQUENCE_NUMBER:
                return -1
            # A leader that does not know yet that it was replaced lacks what others have.
            is_stale = (
                code == ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
                and client.world.now_us - begin_us < _STALE_US
            )
            if not code.retriable and not is_stale:
                client.world.surprise(
                    client.name,
                    f"{code.name} for sequence {sequence} of {topic_partition}: "
                    f"{answer.error_message}",
                )
            client.forget_leader(topic_partition)
            await client.back_off()

    async def _attempt(
        self, topic_partition: TopicPartition, batch: bytes
    ) -> PartitionProduceResponse:
        client = self._client
        leader = await client.leader(topic_partition)
        data = TopicProduceData(
            topic_partition.topic,
            client.topic_ids[topic_partition.topic],
            [PartitionProduceData(topic_partition.partition, batch)],
        )
        asked = ProduceRequest(acks=-1, timeout_ms=_TIMEOUT_MS, topic_data=[data])
        response = await client.send(leader, asked, ProduceResponse, self._version)
        return response.responses[0].partition_responses[0]

    def _batch(self, values: Sequence[bytes], identity: tuple[int, int], sequence: int) -> bytes:
        producer_id, epoch = identity
        builder = BatchBuilder(
            producer_id=producer_id, producer_epoch=epoch, base_sequence=sequence
        )
        for value in values:
            builder.append(self._client.loop.clock.wall_ms(), None, value, ())
        return builder.build()
