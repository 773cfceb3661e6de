"""Before the first write of a transaction to a partition, its coordinator is asked."""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any

import pytest

from moldau.broker.partition import Partition
from moldau.broker.transaction_verification import (
    Admission,
    Support,
    TransactionVerification,
    Writes,
)
from moldau.clock import ManualClock
from moldau.errors import ApiError, ErrorCode
from moldau.ids import TRANSACTIONS_TOPIC, TopicPartition
from moldau.network.outgoing import Disconnected
from moldau.protocol.message import Message
from moldau.protocol.messages.add_partitions_to_txn import (
    AddPartitionsToTxnPartitionResult,
    AddPartitionsToTxnResult,
    AddPartitionsToTxnTopicResult,
    AddPartitionsToTxnTransaction,
)
from moldau.simulator.disk import SimulatedDisk
from tests.broker.simulated import SimulatedBroker
from tests.broker.transactional import transactional

NOW_MS = 1_700_000_000_000
LOCAL_ID = 1
PRODUCER = 7
FIRST, SECOND = TopicPartition("t", 0), TopicPartition("t", 1)
OLD = Support(knows_abortable=False, adds_partitions=False)
VERIFYING = Support(knows_abortable=True, adds_partitions=False)
ADDING = Support(knows_abortable=True, adds_partitions=True)


class ScriptedCoordinator:
    """A coordinator whose answers the test gives."""

    def __init__(self) -> None:
        self.asked: list[AddPartitionsToTxnTransaction] = []
        self.codes: list[int] = []
        self.index = 0
        self.on_ask: Callable[[], None] = lambda: None
        self.later: asyncio.Future[AddPartitionsToTxnResult] | None = None

    def partition_for(self, transactional_id: str) -> int:
        return self.index

    def add_partitions(
        self, transaction: AddPartitionsToTxnTransaction
    ) -> AddPartitionsToTxnResult | Awaitable[AddPartitionsToTxnResult]:
        self.asked.append(transaction)
        self.on_ask()
        if self.later is not None:
            return self.later
        return self.result(self.codes.pop(0) if self.codes else 0)

    def result(self, code: int) -> AddPartitionsToTxnResult:
        transaction = self.asked[-1]
        topics = [
            AddPartitionsToTxnTopicResult(
                topic.name,
                [AddPartitionsToTxnPartitionResult(index, code) for index in topic.partitions],
            )
            for topic in transaction.topics
        ]
        return AddPartitionsToTxnResult(transaction.transactional_id, topics)


class NobodyElse:
    """A cluster of one: no other broker answers."""

    async def send(self, node_id: int, request: Message, version: int) -> Message:
        raise Disconnected(f"broker {node_id} is not there")


class Verifying:
    """A broker that leads two partitions of ``t``, and its coordinator."""

    def __init__(self, broker: SimulatedBroker) -> None:
        self.coordinator = ScriptedCoordinator()
        self.broker = broker.node.broker
        self.verification = TransactionVerification(
            LOCAL_ID,
            self.broker.configs,
            self.broker.metadata.publisher,
            self.broker.replicas,
            self.coordinator,
            NobodyElse(),
            self.broker.clock,
        )

    def partition(self, index: int = 0) -> Partition:
        return self.broker.replicas.partition("t", index)

    def admit(self, *sequences: int, support: Support = VERIFYING, epoch: int = 0) -> Any:
        places = {TopicPartition("t", i): sequence for i, sequence in enumerate(sequences)}
        return self.verification.admit(Writes("id", PRODUCER, epoch, places, support))

    def append(self, admission: Admission, sequence: int = 0) -> None:
        data = transactional(PRODUCER, sequence, b"x")
        self.partition().append(data, 1, NOW_MS, guard=admission.guard(FIRST))


def within(scenario: Callable[[Verifying], Coroutine[Any, Any, None]], **settings: str) -> None:
    async def run() -> None:
        changed = {key.replace("_", "."): value for key, value in settings.items()}
        broker = SimulatedBroker(
            SimulatedDisk(seed=1), ManualClock(NOW_MS), {"node.id": str(LOCAL_ID), **changed}
        )
        await broker.node.start()
        await broker.create("t", partitions=2)
        await broker.node.broker.topic_creation.create([TRANSACTIONS_TOPIC])
        await scenario(Verifying(broker))
        await broker.node.stop()

    asyncio.run(run())


def refusal(admission: Admission, place: TopicPartition = FIRST) -> ErrorCode:
    with pytest.raises(ApiError) as error:
        admission.guard(place)
    return error.value.code


def test_the_answer_of_a_local_coordinator_is_there_at_once() -> None:
    async def scenario(it: Verifying) -> None:
        admission = it.admit(0, 0)
        assert isinstance(admission, Admission)
        (asked,) = it.coordinator.asked
        assert (asked.transactional_id, asked.producer_id, asked.verify_only) == (
            "id",
            PRODUCER,
            True,
        )
        assert [(topic.name, topic.partitions) for topic in asked.topics] == [("t", [0, 1])]
        it.append(admission)

    within(scenario)


def test_a_transaction_that_is_open_in_the_partition_is_not_asked_about() -> None:
    async def scenario(it: Verifying) -> None:
        it.append(it.admit(0))
        it.append(it.admit(1), sequence=1)
        assert len(it.coordinator.asked) == 1

    within(scenario)


def test_a_client_of_version_two_adds_the_partition_by_writing() -> None:
    async def scenario(it: Verifying) -> None:
        it.append(it.admit(0, support=ADDING))
        assert not it.coordinator.asked[0].verify_only

    within(scenario)


def test_what_the_coordinator_does_not_know_is_refused() -> None:
    async def scenario(it: Verifying) -> None:
        it.coordinator.codes = [ErrorCode.INVALID_TXN_STATE]
        assert refusal(it.admit(0)) == ErrorCode.INVALID_TXN_STATE

    within(scenario)


@pytest.mark.parametrize(
    ("code", "support", "shown"),
    [
        (ErrorCode.PRODUCER_FENCED, VERIFYING, ErrorCode.INVALID_PRODUCER_EPOCH),
        (ErrorCode.TRANSACTION_ABORTABLE, VERIFYING, ErrorCode.TRANSACTION_ABORTABLE),
        (ErrorCode.TRANSACTION_ABORTABLE, OLD, ErrorCode.INVALID_TXN_STATE),
        (ErrorCode.CONCURRENT_TRANSACTIONS, VERIFYING, ErrorCode.CONCURRENT_TRANSACTIONS),
    ],
)
def test_errors_are_those_that_the_client_knows(
    code: ErrorCode, support: Support, shown: ErrorCode
) -> None:
    async def scenario(it: Verifying) -> None:
        it.coordinator.codes = [code]
        assert refusal(it.admit(0, support=support)) == shown

    within(scenario)


def test_a_fenced_producer_is_refused_without_a_question() -> None:
    async def scenario(it: Verifying) -> None:
        it.append(it.admit(0))
        assert refusal(it.admit(0, epoch=-1)) == ErrorCode.INVALID_PRODUCER_EPOCH
        assert len(it.coordinator.asked) == 1

    within(scenario)


def test_a_partition_that_is_not_here_does_not_keep_the_others_from_being_asked_about() -> None:
    async def scenario(it: Verifying) -> None:
        admission = it.admit(0, 0, 0)
        missing = TopicPartition("t", 2)
        assert refusal(admission, missing) == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        assert it.coordinator.asked[0].topics[0].partitions == [0, 1]

    within(scenario)


def test_the_answer_that_comes_after_the_abort_admits_nothing() -> None:
    async def scenario(it: Verifying) -> None:
        it.coordinator.later = asyncio.get_running_loop().create_future()
        admitting = asyncio.ensure_future(it.admit(0))
        await asyncio.sleep(0)
        it.partition().log.producers.verifications.on_marker(PRODUCER, 0)
        it.coordinator.later.set_result(it.coordinator.result(0))
        admission = await admitting
        with pytest.raises(ApiError) as error:
            it.append(admission)
        assert error.value.code == ErrorCode.INVALID_TXN_STATE

    within(scenario)


def test_while_the_last_transaction_ends_the_question_is_repeated() -> None:
    async def scenario(it: Verifying) -> None:
        concurrent = ErrorCode.CONCURRENT_TRANSACTIONS
        it.coordinator.codes = [concurrent, concurrent]
        it.append(await it.admit(0, support=ADDING))
        assert len(it.coordinator.asked) == 3

    within(scenario, add_partitions_to_txn_retry_backoff_ms="1")


def test_the_question_is_not_repeated_for_ever() -> None:
    async def scenario(it: Verifying) -> None:
        concurrent = ErrorCode.CONCURRENT_TRANSACTIONS
        it.coordinator.codes = [concurrent] * 10
        clock = it.broker.clock
        assert isinstance(clock, ManualClock)
        it.coordinator.on_ask = lambda: clock.advance(50)
        assert refusal(await it.admit(0, support=ADDING)) == concurrent
        assert len(it.coordinator.asked) == 3

    within(
        scenario,
        add_partitions_to_txn_retry_backoff_ms="1",
        add_partitions_to_txn_retry_backoff_max_ms="100",
    )


def test_without_verification_old_clients_are_not_asked_about() -> None:
    async def scenario(it: Verifying) -> None:
        it.append(it.admit(0))
        assert not it.coordinator.asked
        it.admit(0, 0, support=ADDING)
        assert len(it.coordinator.asked) == 1, "otherwise nobody would add the partition"

    within(scenario, transaction_partition_verification_enable="false")


def test_a_coordinator_that_nobody_knows_is_not_available() -> None:
    async def scenario(it: Verifying) -> None:
        it.coordinator.index = 1000
        assert refusal(it.admit(0)) == ErrorCode.COORDINATOR_NOT_AVAILABLE

    within(scenario)
