"""A transactional producer whose every request a test sends by itself, one attempt at a time."""

from collections.abc import Callable
from typing import NamedTuple, TypeVar

from moldau.errors import ErrorCode
from moldau.ids import TopicPartition
from moldau.network.outbound import Disconnected
from moldau.protocol.message import Message
from moldau.protocol.messages.add_partitions_to_txn import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnResponse,
    AddPartitionsToTxnTopic,
)
from moldau.protocol.messages.describe_transactions import (
    DescribeTransactionsRequest,
    DescribeTransactionsResponse,
    TransactionState,
)
from moldau.protocol.messages.end_txn import EndTxnRequest, EndTxnResponse
from moldau.protocol.messages.init_producer_id import InitProducerIdRequest, InitProducerIdResponse
from moldau.protocol.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
    OffsetCommitResponse,
)
from moldau.protocol.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopics,
    OffsetFetchResponse,
)
from moldau.protocol.messages.produce import (
    PartitionProduceData,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
)
from moldau.protocol.messages.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
    TxnOffsetCommitResponse,
)
from moldau.record.records import BatchBuilder
from moldau.simulator.clients.cluster import Address, ClusterClient
from moldau.simulator.clients.transactional_reader import TransactionalReader
from moldau.simulator.clients.transactional_requests import TransactionalRequests
from moldau.simulator.machine import Machine
from moldau.simulator.transaction_history import TransactionHistory
from moldau.simulator.transaction_invariants import compare, has_no_open_transaction, logs_of
from tests.simulator.scenes import Scene

M = TypeVar("M", bound=Message)

TIMEOUT_MS = 3_000
TRANSACTION_TIMEOUT_MS = 20_000
# Of transactions: a small state topic, and transactions that time out soon.
SETTINGS = {
    "transaction.state.log.num.partitions": "1",
    "transaction.abort.timed.out.transaction.cleanup.interval.ms": "1000",
    "transaction.state.log.replication.factor": "1",
    "transaction.state.log.min.isr": "1",
}
REPLICATED = {
    **SETTINGS,
    # A coordinator that is cut off from one follower decides without it soon.
    "replica.lag.time.max.ms": "2000",
    "transaction.state.log.replication.factor": "3",
    "transaction.state.log.min.isr": "2",
}
NONE = ErrorCode.NONE
# The versions of requests in the two protocols: Produce, EndTxn.
V1, V2 = (11, 4), (12, 5)


class Identity(NamedTuple):
    """Of a producer."""

    producer_id: int
    epoch: int


NOBODY = Identity(-1, -1)


class Producer:
    """Requests with one transactional id."""

    def __init__(self, scene: Scene, transactional_id: str = "t", versions: tuple[int, int] = V2):
        self._scene = scene
        self.client: ClusterClient = scene.client("producer")
        self.transactional_id = transactional_id
        self.versions = versions
        self._produce_version, self._end_version = versions
        self._requests = TransactionalRequests(self.client, transactional_id)
        self.identity = NOBODY

    # --- one attempt ---

    def init(
        self, identity: Identity = NOBODY, timeout_ms: int = TRANSACTION_TIMEOUT_MS
    ) -> ErrorCode:
        request = InitProducerIdRequest(self.transactional_id, timeout_ms, *identity)
        answer = self._ask(request, InitProducerIdResponse, 5)
        if answer.error_code == NONE:
            self.identity = Identity(answer.producer_id, answer.producer_epoch)
        return ErrorCode(answer.error_code)

    def add(self, topic_partition: TopicPartition) -> ErrorCode:
        topic = AddPartitionsToTxnTopic(topic_partition.topic, [topic_partition.partition])
        request = AddPartitionsToTxnRequest([], self.transactional_id, *self.identity, [topic])
        answer = self._ask(request, AddPartitionsToTxnResponse, 3)
        (result,) = answer.results_by_topic_v3_and_below[0].results_by_partition
        return ErrorCode(result.partition_error_code)

    def produce(
        self,
        topic_partition: TopicPartition,
        value: bytes,
        sequence: int = 0,
        identity: Identity | None = None,
        key: bytes | None = None,
    ) -> ErrorCode:
        return self._scene.ask(
            self.producing(topic_partition, value, sequence, identity, key), self.client
        )

    async def producing(
        self,
        topic_partition: TopicPartition,
        value: bytes,
        sequence: int = 0,
        identity: Identity | None = None,
        key: bytes | None = None,
    ) -> ErrorCode:
        """For a test that does other things meanwhile."""
        client = self.client
        producer_id, epoch = identity or self.identity
        builder = BatchBuilder(
            producer_id=producer_id,
            producer_epoch=epoch,
            base_sequence=sequence,
            is_transactional=True,
        )
        builder.append(client.loop.clock.wall_ms(), key, value, ())
        partition = PartitionProduceData(topic_partition.partition, builder.build())
        data = TopicProduceData(topic_partition.topic, partition_data=[partition])
        request = ProduceRequest(self.transactional_id, -1, TIMEOUT_MS, [data])
        client.forget_leader(topic_partition)
        leader = await client.leader(topic_partition)
        answer = await client.send(leader, request, ProduceResponse, self._produce_version)
        return ErrorCode(answer.responses[0].partition_responses[0].error_code)

    def end(self, *, is_commit: bool, identity: Identity | None = None) -> ErrorCode:
        """With an identity, the answer to it does not become ours."""
        return self._scene.ask(self.ending(is_commit=is_commit, identity=identity), self.client)

    async def ending(self, *, is_commit: bool, identity: Identity | None = None) -> ErrorCode:
        """For a test that does other things meanwhile."""
        used = identity or self.identity
        request = EndTxnRequest(self.transactional_id, *used, is_commit)
        answer = await self._sending(request, EndTxnResponse, self._end_version)
        if identity is None and answer.error_code == NONE and answer.producer_id >= 0:
            self.identity = Identity(answer.producer_id, answer.producer_epoch)
        return ErrorCode(answer.error_code)

    def send_offset(self, group_id: str, topic_partition: TopicPartition, offset: int) -> ErrorCode:
        """Of a group without members, with the transaction."""
        topic, partition = topic_partition
        topics = [
            TxnOffsetCommitRequestTopic(topic, [TxnOffsetCommitRequestPartition(partition, offset)])
        ]
        request = TxnOffsetCommitRequest(
            self.transactional_id, group_id, *self.identity, topics=topics
        )
        answer = self._ask_group(group_id, request, TxnOffsetCommitResponse, 5)
        return ErrorCode(answer.topics[0].partitions[0].error_code)

    def commit_offset(
        self, group_id: str, topic_partition: TopicPartition, offset: int
    ) -> ErrorCode:
        """Of a group without members, without a transaction."""
        topic, partition = topic_partition
        topics = [
            OffsetCommitRequestTopic(
                topic, partitions=[OffsetCommitRequestPartition(partition, offset)]
            )
        ]
        request = OffsetCommitRequest(group_id, topics=topics)
        answer = self._ask_group(group_id, request, OffsetCommitResponse, 9)
        return ErrorCode(answer.topics[0].partitions[0].error_code)

    def fetch_offset(
        self, group_id: str, topic_partition: TopicPartition, *, is_stable: bool = True
    ) -> tuple[ErrorCode, int]:
        topic, partition = topic_partition
        topics = [OffsetFetchRequestTopics(topic, partition_indexes=[partition])]
        group = OffsetFetchRequestGroup(group_id, topics=topics)
        request = OffsetFetchRequest(groups=[group], require_stable=is_stable)
        answer = self._ask_group(group_id, request, OffsetFetchResponse, 9).groups[0]
        if answer.error_code:
            return ErrorCode(answer.error_code), -1
        found = answer.topics[0].partitions[0]
        return ErrorCode(found.error_code), found.committed_offset

    def describe(self) -> TransactionState:
        request = DescribeTransactionsRequest([self.transactional_id])
        return self._ask(request, DescribeTransactionsResponse, 0).transaction_states[0]

    def coordinator(self) -> Machine:
        self._requests.forget()
        address: Address = self._scene.ask(self._requests.find(), self.client)
        return self._scene.cluster.machine(address.host)

    # --- until it is done ---

    def begin_anew(self, timeout_ms: int = TRANSACTION_TIMEOUT_MS) -> None:
        self.until_done(lambda: self.init(timeout_ms=timeout_ms))

    def until_done(self, attempt: Callable[[], ErrorCode], most: int = 100) -> None:
        """Repeat what is refused for now, or has no answer."""
        code = NONE
        for _ in range(most):
            try:
                code = attempt()
            except Disconnected:
                code = ErrorCode.NETWORK_EXCEPTION
            if code == NONE:
                return
            assert code.retriable, code
            self._requests.forget()
            self._scene.run_for(0.2)
        raise AssertionError(f"still {code.name} after {most} attempts")

    def _ask(self, request: Message, answer: type[M], version: int) -> M:
        return self._scene.ask(self._sending(request, answer, version), self.client)

    def _ask_group(self, group_id: str, request: Message, answer: type[M], version: int) -> M:
        async def send() -> M:
            self.client.forget_coordinator(group_id)
            coordinator = await self.client.coordinator(group_id)
            return await self.client.send(coordinator, request, answer, version)

        return self._scene.ask(send(), self.client)

    async def _sending(self, request: Message, answer: type[M], version: int) -> M:
        coordinator = await self._requests.find()
        return await self.client.send(coordinator, request, answer, version)


def committed(scene: Scene, topic_partition: TopicPartition) -> list[bytes]:
    """What a reader of committed records finds, when everything is stable."""
    scene.wait_until(lambda: has_no_open_transaction(scene.cluster, [topic_partition]), 60)
    client = scene.client("reader")
    found: dict[TopicPartition, list[tuple[int, bytes]]] = {}
    reader = TransactionalReader(client, TransactionHistory())
    scene.ask(reader.read_all(topic_partition, found), client)
    return [value for _, value in found[topic_partition]]


def differences(scene: Scene, topic_partition: TopicPartition) -> list[str]:
    """How what the replicas know differs from what their batches say."""
    return [
        f"{name} {each}"
        for name, _, log in logs_of(scene.cluster, [topic_partition])
        for each in compare(log)
    ]
