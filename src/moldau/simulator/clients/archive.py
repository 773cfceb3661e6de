"""A topic that is written once and read again and again, while bits of it are flipped.

What is damaged is not served: a read has the records that were written, or an error.
"""

import asyncio
from typing import Final

from moldau.errors import ErrorCode
from moldau.ids import TopicPartition
from moldau.network.outbound import Disconnected
from moldau.simulator.clients.cluster import ClusterClient
from moldau.simulator.clients.consumer import Consumer
from moldau.simulator.clients.producer import Producer

_BATCHES: Final = 15
_PAUSE_S: Final = 0.5
# A damaged tail looks like one that was never written, and is cut off.
_GONE: Final = (ErrorCode.OFFSET_OUT_OF_RANGE,)


class Archive(Consumer):
    """Writes and reads the partitions of one topic."""

    def __init__(self, client: ClusterClient, topic: str, partitions: int) -> None:
        super().__init__(client, [TopicPartition(topic, each) for each in range(partitions)])
        self.client = client

    async def fill(self) -> None:
        """Write all records."""
        producer = Producer(self.client, self._partitions, 0)
        for topic_partition in self._partitions:
            await producer.produce(topic_partition, _BATCHES)

    async def read_on(self) -> None:  # type: ignore[override]
        """Read everything from the beginning, as often as there is time."""
        while not self.client.is_stopping:
            for topic_partition in self._partitions:
                await self._read(topic_partition)
            await asyncio.sleep(_PAUSE_S)

    async def _read(self, topic_partition: TopicPartition) -> None:
        client = self.client
        self.positions[topic_partition] = 0
        while not client.is_stopping:
            try:
                data = await self._fetch(topic_partition)
            except Disconnected:
                client.forget_leader(topic_partition)
                return
            code = ErrorCode(data.error_code)
            if code != ErrorCode.NONE:
                if not code.retriable and code not in _GONE:
                    client.world.surprise(client.name, f"{code.name} of {topic_partition}")
                client.forget_leader(topic_partition)
                return
            self._note(topic_partition, data)
            if not data.records:
                return
