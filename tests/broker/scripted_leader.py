"""A leader whose answers the test gives one by one."""

import asyncio
import struct
from typing import Any

from moldau.protocol.api import APIS
from moldau.protocol.header import decode_request_header, response_header
from moldau.protocol.messages.fetch import (
    EpochEndOffset,
    FetchableTopicResponse,
    FetchPartition,
    FetchRequest,
    FetchResponse,
    PartitionData,
)
from moldau.protocol.messages.list_offsets import (
    ListOffsetsPartitionResponse,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopicResponse,
)

SESSION = 7


class Asked:
    """A request that waits for its answer."""

    def __init__(self, leader: "ScriptedLeader", request: Any, header: Any, writer: Any) -> None:
        self._leader = leader
        self._header = header
        self._writer: asyncio.StreamWriter = writer
        self.request = request
        self.version: int = header.api_version

    @property
    def partitions(self) -> list[FetchPartition]:
        """What a Fetch names."""
        assert isinstance(self.request, FetchRequest)
        return [each for topic in self.request.topics for each in topic.partitions]

    @property
    def partition(self) -> FetchPartition:
        (only,) = self.partitions
        return only

    def answer(
        self,
        records: bytes = b"",
        *,
        index: int = 0,
        code: int = 0,
        high_watermark: int = 0,
        log_start_offset: int = 0,
        diverging: tuple[int, int] | None = None,
    ) -> None:
        """Answer a Fetch, for one partition."""
        data = PartitionData(
            partition_index=index,
            error_code=code,
            high_watermark=high_watermark,
            log_start_offset=log_start_offset,
            records=records,
        )
        if diverging is not None:
            data.diverging_epoch = EpochEndOffset(*diverging)
        topic = FetchableTopicResponse(topic_id=self._leader.topic_id, partitions=[data])
        self.send(FetchResponse(session_id=self._session_id(), responses=[topic]))

    def answer_nothing(self, code: int = 0) -> None:
        """Answer a Fetch that has waited in vain, or failed as a whole."""
        self.send(FetchResponse(session_id=self._session_id(), error_code=code))

    def answer_offset(self, offset: int) -> None:
        """Answer a ListOffsets."""
        assert isinstance(self.request, ListOffsetsRequest)
        (topic,) = self.request.topics
        found = ListOffsetsPartitionResponse(topic.partitions[0].partition_index, offset=offset)
        self.send(ListOffsetsResponse(topics=[ListOffsetsTopicResponse(topic.name, [found])]))

    def hang_up(self) -> None:
        self._writer.close()

    def send(self, response: Any) -> None:
        header = response_header(
            self._header.correlation_id, self._header.api_key, self._header.api_version
        )
        frame = header + response.encode(self._header.api_version)
        self._writer.write(struct.pack(">i", len(frame)) + frame)

    def _session_id(self) -> int:
        return SESSION if self.request.session_epoch >= 0 else 0


class ScriptedLeader:
    """Listens on a port of this machine."""

    def __init__(self, topic_id: bytes) -> None:
        self.topic_id = topic_id
        self.connections = 0
        self._asked: asyncio.Queue[Asked] = asyncio.Queue()
        self._writers: list[asyncio.StreamWriter] = []
        self._server: asyncio.Server | None = None
        self.address = ("", 0)

    async def start(self) -> None:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.address = self._server.sockets[0].getsockname()[:2]

    async def next(self) -> Asked:
        """The next request, of whatever connection."""
        async with asyncio.timeout(120):
            return await self._asked.get()

    async def stop(self) -> None:
        assert self._server is not None
        self._server.close()
        for writer in self._writers:
            writer.close()
        await self._server.wait_closed()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        self._writers.append(writer)
        try:
            while True:
                (size,) = struct.unpack(">i", await reader.readexactly(4))
                frame = await reader.readexactly(size)
                header, position = decode_request_header(frame)
                request_class = APIS[header.api_key].request_class()
                request, _ = request_class.decode(frame, position, header.api_version)
                self._asked.put_nowait(Asked(self, request, header, writer))
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()
