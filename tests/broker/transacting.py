"""Helpers for tests of transactions: a producer with an id of its own, and what is in the logs."""

from typing import Any

from moldau.errors import ErrorCode
from moldau.ids import TopicPartition
from moldau.protocol.messages.add_offsets_to_txn import AddOffsetsToTxnRequest
from moldau.protocol.messages.add_partitions_to_txn import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnTopic,
)
from moldau.protocol.messages.describe_transactions import DescribeTransactionsRequest
from moldau.protocol.messages.end_txn import EndTxnRequest
from moldau.protocol.messages.find_coordinator import FindCoordinatorRequest
from moldau.protocol.messages.init_producer_id import InitProducerIdRequest
from moldau.record.control import decode_control_key, decode_end_txn_marker
from moldau.record.records import decode_all
from tests.broker.producing import FETCH_VERSION, fetch_request
from tests.running import WireClient

TRANSACTION = 1
# The last versions of clients that know transaction version 1, and of those that know 2.
TV1_END = 4
TV2_END = 5
CLIENT_ADD = 3
QUICK = {
    "transaction.state.log.num.partitions": "4",
    "transaction.state.log.replication.factor": "1",
    "transaction.state.log.min.isr": "1",
    "offsets.topic.num.partitions": "4",
}


def find_coordinator(client: WireClient, *ids: str) -> Any:
    """Find the coordinators of transactional ids, creating their topic if necessary."""
    request = FindCoordinatorRequest(key_type=TRANSACTION, coordinator_keys=list(ids))
    response = client.send(request, 6)
    assert all(each.error_code == 0 for each in response.coordinators), response
    return response.coordinators


def topics_of(*partitions: tuple[str, int]) -> list[AddPartitionsToTxnTopic]:
    named: dict[str, list[int]] = {}
    for topic, index in partitions:
        named.setdefault(topic, []).append(index)
    return [AddPartitionsToTxnTopic(name, named[name]) for name in named]


class Producer:
    """A client with a transactional id and one request at a time."""

    def __init__(self, client: WireClient, transactional_id: str = "tx") -> None:
        self.client = client
        self.id = transactional_id
        self.producer_id = -1
        self.epoch = -1

    def init(self, *, timeout_ms: int = 60_000, continues: bool = False, version: int = 5) -> Any:
        """Take over the id; keeps what the response has."""
        request = InitProducerIdRequest(self.id, timeout_ms)
        if continues:
            request.producer_id, request.producer_epoch = self.producer_id, self.epoch
        response = self.client.send(request, version)
        if response.error_code == 0:
            self.producer_id, self.epoch = response.producer_id, response.producer_epoch
        return response

    def add(
        self, *partitions: tuple[str, int], version: int = CLIENT_ADD
    ) -> dict[TopicPartition, ErrorCode]:
        """Add partitions as a client; returns their errors."""
        request = AddPartitionsToTxnRequest(
            v3_and_below_transactional_id=self.id,
            v3_and_below_producer_id=self.producer_id,
            v3_and_below_producer_epoch=self.epoch,
            v3_and_below_topics=topics_of(*partitions),
        )
        response = self.client.send(request, version)
        return errors_in(response.results_by_topic_v3_and_below)

    def add_offsets(self, group: str = "g", version: int = 4) -> ErrorCode:
        request = AddOffsetsToTxnRequest(self.id, self.producer_id, self.epoch, group)
        return ErrorCode(self.client.send(request, version).error_code)

    def end_request(self, *, commit: bool = True) -> EndTxnRequest:
        return EndTxnRequest(self.id, self.producer_id, self.epoch, commit)

    def end(self, *, commit: bool = True, version: int = TV1_END) -> ErrorCode:
        response = self.client.send(self.end_request(commit=commit), version)
        if version >= TV2_END and response.error_code == 0:
            self.producer_id, self.epoch = response.producer_id, response.producer_epoch
        return ErrorCode(response.error_code)

    @property
    def state(self) -> str:
        """The state of the id, or the name of the error."""
        return describe(self.client, self.id)


def describe(client: WireClient, transactional_id: str) -> str:
    request = DescribeTransactionsRequest(transactional_ids=[transactional_id])
    (found,) = client.send(request, 0).transaction_states
    return found.transaction_state or ErrorCode(found.error_code).name


def errors_in(topic_results: Any) -> dict[TopicPartition, ErrorCode]:
    return {
        TopicPartition(topic.name, each.partition_index): ErrorCode(each.partition_error_code)
        for topic in topic_results
        for each in topic.results_by_partition
    }


def markers(client: WireClient, topic: str, partition: int = 0) -> list[tuple[int, int, int, int]]:
    """Type, producer id, producer epoch and coordinator epoch of the markers of a partition."""
    response = client.send(fetch_request(topic, 0, partition), FETCH_VERSION)
    data = response.responses[0].partitions[0]
    assert data.error_code == 0, ErrorCode(data.error_code).name
    return [
        (
            decode_control_key(record.key),
            header.producer_id,
            header.producer_epoch,
            decode_end_txn_marker(record.value),
        )
        for header, records in decode_all(bytes(data.records or b""))
        if header.is_control
        for record in records
    ]
