"""A reader of committed records: filters as real consumers do, and writes down every poll.

A broker sends whole batches up to the last stable offset, those of aborted transactions too, with
a list of the aborted ones: producer id and first offset. A batch is left out from the moment on at
which its producer has an aborted transaction, until the marker of that.
"""

import asyncio
from collections.abc import Sequence
from typing import Final, NamedTuple

from moldau.errors import ErrorCode
from moldau.ids import TopicPartition
from moldau.network.outbound import Disconnected
from moldau.protocol.messages.fetch import (
    AbortedTransaction,
    FetchPartition,
    FetchRequest,
    FetchResponse,
    FetchTopic,
    PartitionData,
)
from moldau.record.control import ControlType, decode_control_key
from moldau.record.records import decode_all
from moldau.simulator.clients.cluster import ClusterClient
from moldau.simulator.transaction_history import Poll, TransactionHistory

_READ_COMMITTED: Final = 1
_MAX_WAIT_MS: Final = 500
_MAX_BYTES: Final = 2_000
_LAST_VERSION_WITH_NAMES: Final = 12


class Polled(NamedTuple):
    """What a fetch brought."""

    records: tuple[tuple[int, bytes], ...]
    next_position: int
    last_stable_offset: int
    high_watermark: int


def committed_records(
    data: bytes, aborted: Sequence[AbortedTransaction], position: int
) -> tuple[tuple[tuple[int, bytes], ...], int]:
    """The committed records from ``position`` on, and the position after all that was there."""
    waiting = sorted(aborted, key=lambda each: each.first_offset, reverse=True)
    leaving_out: set[int] = set()
    found: list[tuple[int, bytes]] = []
    for header, records in decode_all(data):
        while waiting and waiting[-1].first_offset <= header.last_offset:
            leaving_out.add(waiting.pop().producer_id)
        if header.is_control:
            if decode_control_key(records[0].key) == ControlType.ABORT:
                leaving_out.discard(header.producer_id)
        elif not (header.is_transactional and header.producer_id in leaving_out):
            found += [
                (each.offset, each.value or b"") for each in records if each.offset >= position
            ]
        position = max(position, header.last_offset + 1)
    return tuple(found), position


class TransactionalReader:
    """Reads partitions with ``isolation.level=read_committed``."""

    def __init__(self, client: ClusterClient, history: TransactionHistory) -> None:
        self._client = client
        self._history = history
        self._version = client.rng.choice((_LAST_VERSION_WITH_NAMES, None))

    def start(self, partitions: Sequence[TopicPartition]) -> None:
        for topic_partition in partitions:
            self._client.begin(self._read_while_working(topic_partition))

    async def _read_while_working(self, topic_partition: TopicPartition) -> None:
        position = 0
        while not self._client.is_stopping:
            polled = await self.poll(topic_partition, position)
            if polled is not None:
                position = polled.next_position

    async def read_all(
        self, topic_partition: TopicPartition, found: dict[TopicPartition, list[tuple[int, bytes]]]
    ) -> None:
        """Read everything up to the end that is there now, which must be stable."""
        position = 0
        records = found[topic_partition] = []
        while True:
            polled = await self.poll(topic_partition, position)
            if polled is None:
                continue
            records += polled.records
            position = polled.next_position
            if position >= polled.high_watermark:
                return

    async def poll(
        self, topic_partition: TopicPartition, position: int, reader: str = ""
    ) -> Polled | None:
        """Read once; None if that failed. ``reader`` is who reads on from one position."""
        client = self._client
        try:
            data = await self._fetch(topic_partition, position)
        except Disconnected:
            client.forget_leader(topic_partition)
            await client.back_off()
            return None
        code = ErrorCode(data.error_code)
        if code != ErrorCode.NONE:
            if not code.retriable:
                client.world.surprise(
                    client.name, f"{code.name} at {position} of {topic_partition}"
                )
            client.forget_leader(topic_partition)
            await client.back_off()
            return None
        if not data.records:
            await asyncio.sleep(0.01)
        return self._note(topic_partition, position, data, reader or client.name)

    def _note(
        self, topic_partition: TopicPartition, position: int, data: PartitionData, reader: str
    ) -> Polled:
        found = data.records if isinstance(data.records, bytes | memoryview) else b""
        records, next_position = committed_records(
            bytes(found), data.aborted_transactions or [], position
        )
        if next_position > max(data.last_stable_offset, position):
            self._client.world.surprise(
                self._client.name,
                f"gets {topic_partition} up to {next_position}, but only what is before "
                f"{data.last_stable_offset} is stable",
            )
        if next_position > position:
            at_us = self._client.world.now_us
            self._history.polled(
                Poll(reader, at_us, topic_partition, position, records, next_position)
            )
        return Polled(records, next_position, data.last_stable_offset, data.high_watermark)

    async def _fetch(self, topic_partition: TopicPartition, position: int) -> PartitionData:
        client = self._client
        leader = await client.leader(topic_partition)
        wanted = FetchPartition(
            topic_partition.partition,
            current_leader_epoch=client.leader_epoch(topic_partition),
            fetch_offset=position,
            partition_max_bytes=_MAX_BYTES,
        )
        topic = FetchTopic(topic_partition.topic, client.topic_ids[topic_partition.topic], [wanted])
        asked = FetchRequest(
            max_wait_ms=_MAX_WAIT_MS,
            min_bytes=1,
            max_bytes=_MAX_BYTES,
            isolation_level=_READ_COMMITTED,
            topics=[topic],
        )
        response = await client.send(leader, asked, FetchResponse, self._version)
        if response.error_code or not response.responses:
            return PartitionData(error_code=response.error_code or ErrorCode.UNKNOWN_TOPIC_ID)
        return response.responses[0].partitions[0]
