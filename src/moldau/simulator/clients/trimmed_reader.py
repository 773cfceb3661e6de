"""A consumer of a topic whose records are deleted while it reads.

From time to time it goes back, also to what is deleted: then it is told so, and goes on where the
log starts, as ``auto.offset.reset=earliest`` does.
"""

from collections.abc import Sequence
from typing import Final

from moldau.errors import ErrorCode
from moldau.ids import TopicPartition
from moldau.protocol.messages.fetch import PartitionData
from moldau.protocol.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopic,
)
from moldau.simulator.clients.cluster import ClusterClient
from moldau.simulator.clients.consumer import Consumer
from moldau.simulator.deletions import Deletions

_EARLIEST: Final = -2
_GOES_BACK: Final = 0.1


class TrimmedReader(Consumer):
    """Reads each partition on its own."""

    def __init__(
        self, client: ClusterClient, partitions: Sequence[TopicPartition], deletions: Deletions
    ) -> None:
        super().__init__(client, partitions)
        self._deletions = deletions

    async def _read_while_working(self, topic_partition: TopicPartition) -> None:
        client = self._client
        while not client.is_stopping:
            data = await self.read_on(topic_partition)
            if data is not None and client.rng.random() < _GOES_BACK:
                self.positions[topic_partition] = client.rng.randint(
                    0, self.positions[topic_partition]
                )

    async def _fetch(self, topic_partition: TopicPartition) -> PartitionData:
        """As every consumer does; what is deleted is left out."""
        position = self.positions[topic_partition]
        deleted = self._deletions.deleted(topic_partition)
        data = await super()._fetch(topic_partition)
        if data.error_code == ErrorCode.OFFSET_OUT_OF_RANGE:
            await self._reset(topic_partition)
            return PartitionData(error_code=ErrorCode.OFFSET_NOT_AVAILABLE)
        if data.error_code == ErrorCode.NONE:
            self._deletions.was_served(topic_partition, position, deleted)
            self._deletions.log_starts_at(topic_partition, data.log_start_offset)
        return data

    async def _reset(self, topic_partition: TopicPartition) -> None:
        """Go on where the log starts, if that is after the position."""
        client = self._client
        wanted = ListOffsetsPartition(
            topic_partition.partition, client.leader_epoch(topic_partition), _EARLIEST
        )
        asked = ListOffsetsRequest(topics=[ListOffsetsTopic(topic_partition.topic, [wanted])])
        leader = await client.leader(topic_partition)
        answer = await client.send(leader, asked, ListOffsetsResponse)
        found = answer.topics[0].partitions[0]
        if found.error_code == ErrorCode.NONE:
            self._deletions.log_starts_at(topic_partition, found.offset)
            position = self.positions[topic_partition]
            self.positions[topic_partition] = max(position, found.offset)
