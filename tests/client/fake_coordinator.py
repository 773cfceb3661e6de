"""A fake broker with one topic ``t`` that takes part in transactions as it is told to.

It remembers the requests of transactions, and answers each with what is next in ``errors`` for its
API, or else with success. It has no state of its own: what a transaction may do is decided by the
client under test.
"""

import socket
import struct
from collections.abc import Callable
from contextlib import suppress
from typing import NamedTuple

from moldau.protocol.header import decode_request_header, response_header
from moldau.protocol.message import Message
from moldau.protocol.messages.add_offsets_to_txn import (
    AddOffsetsToTxnRequest,
    AddOffsetsToTxnResponse,
)
from moldau.protocol.messages.add_partitions_to_txn import (
    AddPartitionsToTxnPartitionResult,
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnResponse,
    AddPartitionsToTxnTopicResult,
)
from moldau.protocol.messages.api_versions import (
    ApiVersion,
    ApiVersionsResponse,
    FinalizedFeatureKey,
)
from moldau.protocol.messages.end_txn import EndTxnRequest, EndTxnResponse
from moldau.protocol.messages.find_coordinator import Coordinator, FindCoordinatorResponse
from moldau.protocol.messages.init_producer_id import InitProducerIdRequest, InitProducerIdResponse
from moldau.protocol.messages.metadata import (
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)
from moldau.protocol.messages.produce import (
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceResponse,
)
from moldau.protocol.messages.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitResponse,
    TxnOffsetCommitResponsePartition,
    TxnOffsetCommitResponseTopic,
)
from moldau.record.header import BatchHeader, iter_headers
from tests.client.threaded_server import ThreadedServer

PRODUCE, METADATA, FIND_COORDINATOR, API_VERSIONS = 0, 3, 10, 18
INIT_PRODUCER_ID, ADD_PARTITIONS, ADD_OFFSETS, END_TXN, TXN_OFFSET_COMMIT = 22, 24, 25, 26, 28
_NEWEST = {
    PRODUCE: 12,
    METADATA: 12,
    FIND_COORDINATOR: 6,
    API_VERSIONS: 4,
    INIT_PRODUCER_ID: 5,
    ADD_PARTITIONS: 5,
    ADD_OFFSETS: 4,
    END_TXN: 5,
    TXN_OFFSET_COMMIT: 5,
}
PRODUCER_ID = 7000
# In ``errors``: the request is carried out, and the connection breaks instead of an answer.
LOST = -2


class Asked(NamedTuple):
    """A request of a transaction."""

    name: str
    version: int
    epoch: int
    request: Message


class FakeCoordinator(ThreadedServer):
    """Use as a context manager."""

    def __init__(self, transaction_version: int) -> None:
        super().__init__()
        self.errors: dict[int, list[int]] = {}
        self.asked: list[Asked] = []
        self.epoch = -1
        # The only broker of its cluster. With another number it has taken over from the one before.
        self.node_id = 0
        self._transaction_version = transaction_version
        self._answers: dict[int, Callable[[bytes, int, int, int], Message]] = {
            INIT_PRODUCER_ID: self._init_producer_id,
            ADD_PARTITIONS: self._add_partitions,
            ADD_OFFSETS: self._add_offsets,
            TXN_OFFSET_COMMIT: self._txn_offset_commit,
            PRODUCE: self._produce,
            END_TXN: self._end_txn,
        }

    @property
    def bootstrap(self) -> str:
        return f"127.0.0.1:{self.ports[0]}"

    @property
    def names(self) -> list[str]:
        """What was asked, with the epoch of the producer."""
        return [f"{each.name} v{each.version} epoch {each.epoch}" for each in self.asked]

    def serve(self, number: int, connection: socket.socket) -> None:
        with suppress(OSError), connection, connection.makefile("rb") as reader:
            while len(prefix := reader.read(4)) == 4:
                frame = reader.read(struct.unpack(">i", prefix)[0])
                header, position = decode_request_header(frame)
                key, version = header.api_key, header.api_version
                planned = self.errors.get(key)
                error = planned.pop(0) if planned else 0
                answer = self._answer(frame, position, key, version, error)
                if error == LOST:
                    return
                body = response_header(header.correlation_id, key, version)
                body += answer.encode(version)
                connection.sendall(struct.pack(">i", len(body)) + body)

    def _answer(self, frame: bytes, position: int, key: int, version: int, error: int) -> Message:
        if key == API_VERSIONS:
            level = self._transaction_version
            return ApiVersionsResponse(
                api_keys=[ApiVersion(api, 0, newest) for api, newest in _NEWEST.items()],
                finalized_features_epoch=1,
                finalized_features=[FinalizedFeatureKey("transaction.version", level, level)],
            )
        if key == METADATA:
            partitions = [
                MetadataResponsePartition(
                    partition_index=index,
                    leader_id=self.node_id,
                    replica_nodes=[self.node_id],
                    isr_nodes=[self.node_id],
                )
                for index in range(2)
            ]
            return MetadataResponse(
                brokers=[MetadataResponseBroker(self.node_id, "127.0.0.1", self.ports[0])],
                topics=[MetadataResponseTopic(name="t", partitions=partitions)],
            )
        if key == FIND_COORDINATOR:
            return FindCoordinatorResponse(
                coordinators=[Coordinator("", self.node_id, "127.0.0.1", self.ports[0])]
            )
        return self._answers[key](frame, position, version, error)

    def _note(self, version: int, epoch: int, request: Message) -> None:
        name = type(request).__name__.removesuffix("Request")
        self.asked.append(Asked(name, version, epoch, request))

    def _init_producer_id(self, frame: bytes, position: int, version: int, error: int) -> Message:
        request, _ = InitProducerIdRequest.decode(frame, position, version)
        self._note(version, request.producer_epoch, request)
        if error > 0:
            return InitProducerIdResponse(error_code=error)
        self.epoch += 1
        return InitProducerIdResponse(producer_id=PRODUCER_ID, producer_epoch=self.epoch)

    def _add_partitions(self, frame: bytes, position: int, version: int, error: int) -> Message:
        request, _ = AddPartitionsToTxnRequest.decode(frame, position, version)
        self._note(version, request.v3_and_below_producer_epoch, request)
        return AddPartitionsToTxnResponse(
            results_by_topic_v3_and_below=[
                AddPartitionsToTxnTopicResult(
                    topic.name,
                    [
                        AddPartitionsToTxnPartitionResult(index, max(error, 0))
                        for index in topic.partitions
                    ],
                )
                for topic in request.v3_and_below_topics
            ]
        )

    def _add_offsets(self, frame: bytes, position: int, version: int, error: int) -> Message:
        request, _ = AddOffsetsToTxnRequest.decode(frame, position, version)
        self._note(version, request.producer_epoch, request)
        return AddOffsetsToTxnResponse(error_code=max(error, 0))

    def _txn_offset_commit(self, frame: bytes, position: int, version: int, error: int) -> Message:
        request, _ = TxnOffsetCommitRequest.decode(frame, position, version)
        self._note(version, request.producer_epoch, request)
        return TxnOffsetCommitResponse(
            topics=[
                TxnOffsetCommitResponseTopic(
                    topic.name,
                    [
                        TxnOffsetCommitResponsePartition(each.partition_index, max(error, 0))
                        for each in topic.partitions
                    ],
                )
                for topic in request.topics
            ]
        )

    def _produce(self, frame: bytes, position: int, version: int, error: int) -> Message:
        request, _ = ProduceRequest.decode(frame, position, version)
        self._note(version, _epoch_of(request), request)
        return ProduceResponse(
            responses=[
                TopicProduceResponse(
                    name=topic.name,
                    partition_responses=[
                        PartitionProduceResponse(each.index, max(error, 0))
                        for each in topic.partition_data
                    ],
                )
                for topic in request.topic_data
            ]
        )

    def _end_txn(self, frame: bytes, position: int, version: int, error: int) -> Message:
        request, _ = EndTxnRequest.decode(frame, position, version)
        self._note(version, request.producer_epoch, request)
        if error > 0:
            return EndTxnResponse(error_code=error)
        if version < 5:
            return EndTxnResponse()
        # A request that is repeated does not bump it once more.
        self.epoch = request.producer_epoch + 1
        return EndTxnResponse(producer_id=PRODUCER_ID, producer_epoch=self.epoch)


def _epoch_of(request: ProduceRequest) -> int:
    return header_of(request).producer_epoch


def header_of(request: ProduceRequest) -> BatchHeader:
    """The header of the first batch."""
    records = request.topic_data[0].partition_data[0].records
    assert isinstance(records, bytes | memoryview)
    _, header = next(iter_headers(memoryview(records)))
    return header
