"""Transactions of three brokers: markers go to other leaders, a coordinator is replaced."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from moldau.errors import ErrorCode
from moldau.ids import TRANSACTIONS_TOPIC
from moldau.protocol.messages.add_partitions_to_txn import AddPartitionsToTxnRequest
from moldau.protocol.messages.create_topics import (
    CreatableReplicaAssignment,
    CreatableTopic,
    CreateTopicsRequest,
)
from moldau.protocol.messages.describe_transactions import DescribeTransactionsRequest
from moldau.protocol.messages.end_txn import EndTxnRequest
from moldau.protocol.messages.find_coordinator import FindCoordinatorRequest
from moldau.protocol.messages.init_producer_id import InitProducerIdRequest
from moldau.protocol.messages.list_transactions import ListTransactionsRequest
from moldau.record.records import decode_all
from tests.broker.producing import FETCH_VERSION, fetch_request
from tests.broker.test_any_broker import Clients
from tests.broker.test_quorum import COMBINED, TIMEOUT_S, Cluster
from tests.broker.transacting import CLIENT_ADD, TRANSACTION, TV1_END, TV2_END, topics_of

RETRIED = (
    ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
    ErrorCode.NOT_COORDINATOR,
    ErrorCode.CONCURRENT_TRANSACTIONS,
)
ALL = (("t", 0), ("t", 1), ("t", 2))


class Transacting(Clients):
    """The partitions 0, 1 and 2 of topic ``t`` are led by the brokers 1, 2 and 3."""

    def __init__(self, tmp_path: Path) -> None:
        Cluster.__init__(
            self,
            tmp_path,
            COMBINED,
            transaction_state_log_num_partitions="3",
            default_replication_factor="3",
        )
        self._clients = {}
        self.producer = (-1, -1)

    def run(self, scenario: Callable[[], Awaitable[None]]) -> None:
        async def within() -> None:
            await self.start()
            try:
                await self._create()
                await asyncio.wait_for(scenario(), TIMEOUT_S)
            finally:
                await self.hang_up()
                for node_id in list(self.nodes):
                    await self.kill(node_id)

        asyncio.run(within())

    async def _create(self) -> None:
        assignments = [CreatableReplicaAssignment(index, [index + 1]) for index in range(3)]
        topic = CreatableTopic("t", -1, -1, assignments)
        response = await self.ask(1, CreateTopicsRequest(topics=[topic]), 7)
        assert response.topics[0].error_code == 0

    async def coordinator(self, name: str, through: int | None = None) -> int:
        """The id of the coordinator, as any broker knows it."""
        request = FindCoordinatorRequest(key_type=TRANSACTION, coordinator_keys=[name])
        while True:
            asked = through if through is not None else min(self.nodes)
            (found,) = (await self.ask(asked, request, 6)).coordinators
            if found.error_code == 0 and found.node_id in self.nodes:
                return int(found.node_id)
            await asyncio.sleep(0.01)

    async def coordinated(
        self, name: str, request: Any, version: int, code_of: Callable[[Any], int]
    ) -> Any:
        """The answer of the coordinator, asked again as clients do."""
        while True:
            node_id = await self.coordinator(name)
            response = await self.ask(node_id, request, version)
            if ErrorCode(code_of(response)) not in RETRIED:
                return response
            await asyncio.sleep(0.01)

    async def init(self, name: str = "tx") -> None:
        request = InitProducerIdRequest(name, 60_000)
        response = await self.coordinated(name, request, 5, lambda it: it.error_code)
        assert response.error_code == 0
        self.producer = response.producer_id, response.producer_epoch

    async def add(self, *partitions: tuple[str, int], name: str = "tx") -> None:
        request = AddPartitionsToTxnRequest(
            v3_and_below_transactional_id=name,
            v3_and_below_producer_id=self.producer[0],
            v3_and_below_producer_epoch=self.producer[1],
            v3_and_below_topics=topics_of(*partitions),
        )

        def code_of(response: Any) -> int:
            (topic,) = response.results_by_topic_v3_and_below
            (code,) = {each.partition_error_code for each in topic.results_by_partition}
            return int(code)

        response = await self.coordinated(name, request, CLIENT_ADD, code_of)
        assert code_of(response) == 0

    async def end(self, *, commit: bool = True, name: str = "tx", version: int = TV1_END) -> None:
        request = EndTxnRequest(name, *self.producer, commit)
        response = await self.coordinated(name, request, version, lambda it: it.error_code)
        assert response.error_code == 0
        if version >= TV2_END:
            self.producer = response.producer_id, response.producer_epoch

    async def state(self, name: str = "tx") -> str:
        request = DescribeTransactionsRequest(transactional_ids=[name])
        response = await self.ask(await self.coordinator(name), request, 0)
        return str(response.transaction_states[0].transaction_state)

    async def becomes(self, state: str, name: str = "tx") -> None:
        while await self.state(name) != state:  # noqa: ASYNC110  # nothing tells
            await asyncio.sleep(0.01)

    async def marker_epochs(self, index: int) -> list[tuple[int, int]]:
        """Producer id and epoch of the markers of a partition of ``t``."""
        data = await self.ask(index + 1, fetch_request("t", 0, index), FETCH_VERSION)
        (found,) = data.responses[0].partitions
        return [
            (header.producer_id, header.producer_epoch)
            for header, _ in decode_all(bytes(found.records or b""))
            if header.is_control
        ]


def test_the_leaders_of_all_partitions_write_their_markers(tmp_path: Path) -> None:
    cluster = Transacting(tmp_path)

    async def scenario() -> None:
        await cluster.init()
        await cluster.add(*ALL)
        await cluster.end()
        await cluster.becomes("CompleteCommit")
        for index in range(3):
            assert await cluster.marker_epochs(index) == [cluster.producer]

    cluster.run(scenario)


def test_every_broker_names_the_same_coordinator_and_the_others_refuse(tmp_path: Path) -> None:
    cluster = Transacting(tmp_path)

    async def scenario() -> None:
        coordinator = await cluster.coordinator("tx")
        for node_id in cluster.nodes:
            assert await cluster.coordinator("tx", through=node_id) == coordinator
            if node_id != coordinator:
                request = InitProducerIdRequest("tx", 60_000)
                refused = await cluster.ask(node_id, request, 5)
                assert refused.error_code == ErrorCode.NOT_COORDINATOR
        await cluster.init()
        listed = {}
        for node_id in cluster.nodes:
            response = await cluster.ask(node_id, ListTransactionsRequest(), 2)
            listed[node_id] = [each.transactional_id for each in response.transaction_states]
        assert listed == {node_id: [] for node_id in cluster.nodes} | {coordinator: ["tx"]}

    cluster.run(scenario)


def test_another_coordinator_takes_over_an_open_transaction(tmp_path: Path) -> None:
    cluster = Transacting(tmp_path)

    async def scenario() -> None:
        await cluster.init()
        first = await cluster.coordinator("tx")
        led = [each for each in ALL if each[1] + 1 != first]
        await cluster.add(*led)
        await cluster.kill(first)
        await cluster.end(commit=False)
        await cluster.becomes("CompleteAbort")
        assert await cluster.coordinator("tx") != first
        for _, index in led:
            assert await cluster.marker_epochs(index) == [cluster.producer]

    cluster.run(scenario)


def test_a_marker_waits_for_a_leader_that_is_away(tmp_path: Path) -> None:
    cluster = Transacting(tmp_path)

    async def scenario() -> None:
        await cluster.init()
        coordinator = await cluster.coordinator("tx")
        away = next(each for each in cluster.nodes if each != coordinator)
        await cluster.add(*ALL)
        await cluster.stop(away)
        await cluster.end()
        assert await cluster.state() == "PrepareCommit"
        await cluster.start(away)
        cluster._clients.clear()
        await cluster.becomes("CompleteCommit")
        assert await cluster.marker_epochs(away - 1) == [cluster.producer]

    cluster.run(scenario)


def test_with_version_2_transactions_follow_each_other_with_new_epochs(tmp_path: Path) -> None:
    cluster = Transacting(tmp_path)

    async def scenario() -> None:
        await cluster.init()
        producer_id, first = cluster.producer
        for _ in range(3):
            await cluster.add(*ALL)
            await cluster.end(version=TV2_END)
        await cluster.becomes("CompleteCommit")
        assert cluster.producer == (producer_id, first + 3)
        topic = cluster.image(1).topics_by_name[TRANSACTIONS_TOPIC]
        assert {len(each.replicas) for each in topic.partitions.values()} == {3}
        expected = [(producer_id, first + number) for number in (1, 2, 3)]
        for index in range(3):
            assert await cluster.marker_epochs(index) == expected

    cluster.run(scenario)
