"""What a coordinator of transactions answers is committed: replies and reads wait for replicas."""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any

from moldau.broker.partition import Partition
from moldau.errors import ErrorCode
from moldau.ids import TRANSACTIONS_TOPIC
from moldau.network.session import Overlapping
from moldau.protocol.message import Message
from moldau.protocol.messages.add_partitions_to_txn import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnTransaction,
)
from moldau.protocol.messages.describe_transactions import DescribeTransactionsRequest
from moldau.protocol.messages.end_txn import EndTxnRequest
from moldau.protocol.messages.find_coordinator import FindCoordinatorRequest
from moldau.protocol.messages.init_producer_id import InitProducerIdRequest
from moldau.protocol.messages.list_transactions import ListTransactionsRequest
from tests.broker.replicated import LOCAL_ID, TIMEOUT_S, Replicated, lead, turns
from tests.broker.transacting import QUICK, TRANSACTION, TV1_END, errors_in, topics_of


class Coordinated(Replicated):
    """A broker that coordinates the id ``tx``; the partition of its state has two followers."""

    def __init__(self) -> None:
        super().__init__(
            {
                **QUICK,
                "transaction.state.log.num.partitions": "1",
                "transaction.state.log.min.isr": "2",
            }
        )
        self.producer = (-1, -1)

    @property
    def state(self) -> Partition:
        return self.partition(TRANSACTIONS_TOPIC)

    def run_coordinated(self, scenario: Callable[[], Coroutine[Any, Any, None]]) -> None:
        async def within() -> None:
            await self.broker.node.start()
            await self.broker.create("t")
            request = FindCoordinatorRequest(key_type=TRANSACTION, coordinator_keys=["tx"])
            await self.broker.send(request, 6)
            begun = await self.broker.send(InitProducerIdRequest("tx", 60_000), 5)
            assert begun.error_code == 0
            self.producer = (begun.producer_id, begun.producer_epoch)
            await self.broker.node.broker.assignments.settled()
            lead(self.state)
            await scenario()
            await self.broker.node.stop()

        asyncio.run(asyncio.wait_for(within(), TIMEOUT_S))

    async def post(self, request: Message, version: int) -> "asyncio.Future[Any]":
        """Send a request that must wait."""
        handled = self.broker.handle(request, version)
        if isinstance(handled, Overlapping):
            handled = handled.awaitable
        assert isinstance(handled, Awaitable), "nothing is committed yet"
        pending = asyncio.ensure_future(handled)
        await turns()
        return pending

    def commit(self) -> None:
        """Let the followers have everything."""
        self.state.advance(self.state.log.log_end_offset)

    async def answer(self, pending: "asyncio.Future[Any]", request: Message, version: int) -> Any:
        return self.broker.read_reply(await pending, request.API_KEY, version)

    def adding(self, *, verify_only: bool = False) -> AddPartitionsToTxnRequest:
        transaction = AddPartitionsToTxnTransaction(
            "tx", *self.producer, verify_only, topics_of(("t", 0))
        )
        return AddPartitionsToTxnRequest(transactions=[transaction])


def code_of(response: Any) -> ErrorCode:
    (result,) = response.results_by_transaction
    (code,) = errors_in(result.topic_results).values()
    return code


def test_a_partition_is_added_when_that_is_committed() -> None:
    it = Coordinated()

    async def scenario() -> None:
        pending = await it.post(it.adding(), 5)
        # What others could see of it waits, too.
        verified = await it.post(it.adding(verify_only=True), 5)
        described = await it.post(DescribeTransactionsRequest(transactional_ids=["tx"]), 0)
        listed = await it.post(ListTransactionsRequest(), 2)
        every = [pending, verified, described, listed]
        assert not any(each.done() for each in every)
        it.commit()
        await turns()
        assert all(each.done() for each in every)
        assert code_of(await it.answer(pending, it.adding(), 5)) is ErrorCode.NONE
        assert code_of(await it.answer(verified, it.adding(), 5)) is ErrorCode.NONE

    it.run_coordinated(scenario)


def test_the_end_of_a_transaction_is_answered_when_it_is_decided_for_good() -> None:
    it = Coordinated()

    async def scenario() -> None:
        added = await it.post(it.adding(), 5)
        it.commit()
        await added
        request = EndTxnRequest("tx", *it.producer, True)
        pending = await it.post(request, TV1_END)
        assert not pending.done()
        assert it.partition("t").log.log_end_offset == 0, "there is no marker yet"
        it.commit()
        await turns()
        assert (await it.answer(pending, request, TV1_END)).error_code == 0
        assert it.partition("t").log.log_end_offset == 1

    it.run_coordinated(scenario)


def test_a_decision_that_is_lost_with_the_leader_is_answered_with_not_coordinator() -> None:
    it = Coordinated()

    async def scenario() -> None:
        added = await it.post(it.adding(), 5)
        it.commit()
        await added
        request = EndTxnRequest("tx", *it.producer, True)
        pending = await it.post(request, TV1_END)
        lead(it.state, leader=2, epochs=1)
        await turns()
        code = (await it.answer(pending, request, TV1_END)).error_code
        assert code == ErrorCode.NOT_COORDINATOR
        assert it.partition("t").log.log_end_offset == 0

    it.run_coordinated(scenario)


def test_while_replicas_are_missing_partitions_are_verified_but_not_added() -> None:
    it = Coordinated()

    async def scenario() -> None:
        added = await it.post(it.adding(), 5)
        it.commit()
        await added
        lead(it.state, isr=(LOCAL_ID,))
        it.commit()
        refused = await it.broker.send(it.adding(), 5)
        assert code_of(refused) is ErrorCode.COORDINATOR_NOT_AVAILABLE
        verified = await it.broker.send(it.adding(verify_only=True), 5)
        assert code_of(verified) is ErrorCode.NONE

    it.run_coordinated(scenario)


def test_a_time_out_waits_for_replicas_without_loading_everything_again() -> None:
    """Whatever is decided would be markers a second time, and answers lost."""
    it = Coordinated()

    async def scenario() -> None:
        added = await it.post(it.adding(), 5)
        it.commit()
        await added
        hosted = it.broker.node.broker.transactions.shard_of("tx")
        lead(it.state, isr=(LOCAL_ID,))
        it.clock.advance(100_000)
        hosted._on_timer()
        assert it.broker.node.broker.transactions.shard_of("tx") is hosted
        assert hosted.shard.describe("tx").transaction_state == "Ongoing"
        lead(it.state)
        hosted._on_timer()
        assert hosted.shard.describe("tx").transaction_state == "PrepareAbort"

    it.run_coordinated(scenario)


def test_what_is_below_the_high_watermark_is_committed_also_if_replicas_have_left() -> None:
    """Clients of a coordinator do not know NOT_ENOUGH_REPLICAS_AFTER_APPEND."""
    it = Coordinated()

    async def scenario() -> None:
        pending = await it.post(it.adding(), 5)
        verify = it.adding(verify_only=True)
        verified = await it.post(verify, 5)
        describe = DescribeTransactionsRequest(transactional_ids=["tx"])
        described = await it.post(describe, 0)
        lead(it.state, isr=(LOCAL_ID,))
        it.commit()
        await turns()
        assert code_of(await it.answer(pending, it.adding(), 5)) is ErrorCode.NONE
        assert code_of(await it.answer(verified, verify, 5)) is ErrorCode.NONE
        (state,) = (await it.answer(described, describe, 0)).transaction_states
        assert (state.error_code, state.transaction_state) == (0, "Ongoing")

    it.run_coordinated(scenario)
