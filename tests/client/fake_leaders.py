"""Fake brokers that lead one partition each of topic ``t``, with scripted fetch responses.

Their logs have a record at every offset, whose value is the offset.
"""

import socket
import struct
from collections.abc import Callable
from contextlib import suppress

from moldau.protocol.header import decode_request_header
from moldau.protocol.message import Message
from moldau.protocol.messages.api_versions import ApiVersion, ApiVersionsResponse
from moldau.protocol.messages.fetch import (
    FetchableTopicResponse,
    FetchRequest,
    FetchResponse,
    PartitionData,
)
from moldau.protocol.messages.metadata import (
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)
from moldau.record.records import BatchBuilder
from tests.client.threaded_server import ThreadedServer

FETCH, METADATA, API_VERSIONS = 1, 3, 18
# Versions whose answers have no tags.
APIS = [ApiVersion(API_VERSIONS, 0, 4), ApiVersion(METADATA, 0, 5), ApiVersion(FETCH, 4, 11)]

Answer = Callable[[int, int], FetchResponse | None]


def record_at(partition: int, offset: int) -> FetchResponse:
    builder = BatchBuilder(base_offset=offset)
    builder.append(timestamp=1000, key=None, value=b"%d" % offset)
    return answered(
        PartitionData(
            partition_index=partition,
            high_watermark=offset + 1,
            last_stable_offset=offset + 1,
            records=builder.build(),
        )
    )


def answered(data: PartitionData) -> FetchResponse:
    return FetchResponse(responses=[FetchableTopicResponse(topic="t", partitions=[data])])


class FakeLeaders(ThreadedServer):
    """Use as a context manager. ``answers[i]`` answers fetches of partition ``i`` from an
    offset; None closes the connection."""

    def __init__(self, *answers: Answer) -> None:
        self.answers = list(answers)
        super().__init__(len(answers))

    @property
    def bootstrap(self) -> str:
        return f"127.0.0.1:{self.ports[0]}"

    def serve(self, number: int, connection: socket.socket) -> None:
        with suppress(OSError), connection, connection.makefile("rb") as reader:
            while len(prefix := reader.read(4)) == 4:
                frame = reader.read(struct.unpack(">i", prefix)[0])
                header, position = decode_request_header(frame)
                answer: Message | None
                if header.api_key == API_VERSIONS:
                    answer = ApiVersionsResponse(api_keys=APIS)
                elif header.api_key == METADATA:
                    answer = self._metadata()
                else:
                    request, _ = FetchRequest.decode(frame, position, header.api_version)
                    (wanted,) = request.topics[0].partitions
                    answer = self.answers[number](wanted.partition, wanted.fetch_offset)
                if answer is None:
                    return
                body = struct.pack(">i", header.correlation_id) + answer.encode(header.api_version)
                connection.sendall(struct.pack(">i", len(body)) + body)

    def _metadata(self) -> MetadataResponse:
        nodes = range(len(self.ports))
        partitions = [
            MetadataResponsePartition(
                partition_index=node, leader_id=node, replica_nodes=[node], isr_nodes=[node]
            )
            for node in nodes
        ]
        return MetadataResponse(
            brokers=[MetadataResponseBroker(node, "127.0.0.1", self.ports[node]) for node in nodes],
            controller_id=0,
            topics=[MetadataResponseTopic(name="t", partitions=partitions)],
        )
