"""Transactions of a cluster: partitions, groups and coordinator are on different brokers."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from moldau.errors import ErrorCode
from moldau.ids import OFFSETS_TOPIC, TRANSACTIONS_TOPIC
from moldau.protocol.messages.create_topics import CreatableTopic, CreateTopicsRequest
from moldau.protocol.messages.end_txn import EndTxnRequest
from moldau.protocol.messages.find_coordinator import FindCoordinatorRequest
from moldau.protocol.messages.init_producer_id import InitProducerIdRequest
from moldau.protocol.messages.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
)
from moldau.record.records import decode_all
from tests.broker.grouping import fetch_request as offsets_request
from tests.broker.producing import fetch_request, produce_request
from tests.broker.test_any_broker import Clients, clients_of
from tests.broker.test_quorum import COMBINED
from tests.broker.transactional import transactional

SETTINGS = {
    "transaction_state_log_num_partitions": "1",
    "transaction_state_log_replication_factor": "3",
    "transaction_state_log_min_isr": "2",
    "offsets_topic_num_partitions": "1",
    "offsets_topic_replication_factor": "3",
    "group_initial_rebalance_delay_ms": "0",
}
ADDS = 12
KEYS = {0: "g", 1: "tx"}


class Transactions:
    """One producer, whose requests go to the brokers that lead."""

    def __init__(self, cluster: Clients) -> None:
        self.cluster = cluster
        self.producer_id = self.epoch = -1

    async def begin(self) -> None:
        topic = CreatableTopic(name="t", num_partitions=3, replication_factor=3)
        created = await self.cluster.ask(1, CreateTopicsRequest(topics=[topic]), 7)
        assert created.topics[0].error_code == 0
        for kind, key in KEYS.items():
            found = None
            while found is None or found.error_code:
                request = FindCoordinatorRequest(key_type=kind, coordinator_keys=[key])
                (found,) = (await self.cluster.ask(1, request, 6)).coordinators
        await self.cluster.agree("t", OFFSETS_TOPIC, TRANSACTIONS_TOPIC)

    def leader(self, topic: str, index: int = 0) -> int:
        found = self.cluster.image(1).topics_by_name[topic].partitions[index].leader
        assert found >= 0, f"{topic}-{index} has no leader"
        return found

    async def until_taken(self, topic: str, request: Any, version: int) -> Any:
        """The answer of a coordinator that has just been elected, or has another to wait for."""
        while True:
            response = await self.cluster.ask(self.leader(topic), request, version)
            if response.error_code == 0:
                return response

    async def init(self) -> None:
        request = InitProducerIdRequest("tx", 60_000)
        response = await self.until_taken(TRANSACTIONS_TOPIC, request, 5)
        self.producer_id, self.epoch = response.producer_id, response.producer_epoch

    async def write(self, index: int, value: bytes) -> int:
        data = transactional(self.producer_id, 0, value, epoch=self.epoch, timestamp=None)
        request = produce_request("t", data, index)
        request.transactional_id = "tx"
        request.timeout_ms = 30_000
        response = await self.cluster.ask(self.leader("t", index), request, ADDS)
        return int(response.responses[0].partition_responses[0].error_code)

    async def commit_offset(self, offset: int) -> int:
        partition = TxnOffsetCommitRequestPartition(0, offset)
        request = TxnOffsetCommitRequest(
            "tx",
            "g",
            self.producer_id,
            self.epoch,
            topics=[TxnOffsetCommitRequestTopic("t", [partition])],
        )
        response = await self.cluster.ask(self.leader(OFFSETS_TOPIC), request, 5)
        return int(response.topics[0].partitions[0].error_code)

    async def end(self, *, is_commit: bool) -> None:
        request = EndTxnRequest("tx", self.producer_id, self.epoch, is_commit)
        response = await self.until_taken(TRANSACTIONS_TOPIC, request, 5)
        self.producer_id, self.epoch = response.producer_id, response.producer_epoch

    async def committed(self, index: int) -> tuple[list[bytes | None], int]:
        """What is committed, and the number of aborted transactions."""
        request = fetch_request("t", 0, index, isolation_level=1)
        response = await self.cluster.ask(self.leader("t", index), request, 12)
        data = response.responses[0].partitions[0]
        found = [
            record.value
            for header, records in decode_all(bytes(data.records))
            if not header.is_control
            for record in records
        ]
        return found, len(data.aborted_transactions)

    async def offset(self) -> int:
        """The stable offset of the group."""
        request = offsets_request("g", "t", [0])
        request.require_stable = True
        (group,) = (await self.cluster.ask(self.leader(OFFSETS_TOPIC), request, 9)).groups
        each = group.topics[0].partitions[0]
        assert each.error_code == 0, each.error_code
        return int(each.committed_offset)


@pytest.mark.parametrize("is_commit", [True, False])
def test_what_is_written_to_three_brokers_is_committed_or_aborted_as_one(
    tmp_path: Path, is_commit: bool
) -> None:
    async def scenario() -> None:
        async with clients_of(tmp_path, COMBINED, **SETTINGS) as cluster:
            it = Transactions(cluster)
            await it.begin()
            await it.init()
            assert {it.leader("t", index) for index in range(3)} == {1, 2, 3}
            for index in range(3):
                assert await it.write(index, b"%d" % index) == 0
            assert await it.commit_offset(5) == 0
            for index in range(3):
                assert await it.committed(index) == ([], 0)
            await it.end(is_commit=is_commit)
            # The next one begins at once, while markers of the last may be on their way. On a busy
            # machine these may take longer than a broker waits for them: then clients retry.
            code = int(ErrorCode.CONCURRENT_TRANSACTIONS)
            while code == ErrorCode.CONCURRENT_TRANSACTIONS:
                code = await it.write(0, b"next")
            assert code == 0
            await it.end(is_commit=True)
            assert await it.offset() == (5 if is_commit else -1)
            for index in range(1, 3):
                assert await it.committed(index) == ([b"%d" % index], 0 if is_commit else 1)
            values, _ = await it.committed(0)
            assert values == [b"0", b"next"]

    asyncio.run(asyncio.wait_for(scenario(), 120))
