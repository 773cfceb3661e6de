"""Random lives of a transactional id go the same way on the broker and on Apache Kafka.

Producers start, go on, add, verify and end, right and wrong: late, twice, with the epoch of another
one or an id that is not theirs. After each request the transaction is described when its markers
are written. Codes, epochs, states and partitions are compared; producer ids get names.

Each life has one protocol. Mixed on one id, a fenced producer of version 2 can come back on Apache
Kafka in the epoch of one of version 1, and is fenced here.
"""

import random
import time
import uuid
from typing import Any

import pytest
from tools.brokers import Broker

from moldau.errors import ErrorCode
from moldau.protocol.messages.add_partitions_to_txn import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnTopic,
    AddPartitionsToTxnTransaction,
)
from moldau.protocol.messages.describe_transactions import DescribeTransactionsRequest
from moldau.protocol.messages.end_txn import EndTxnRequest
from moldau.protocol.messages.find_coordinator import FindCoordinatorRequest
from moldau.protocol.messages.init_producer_id import InitProducerIdRequest
from tests.compat.broker_talk import PATIENCE_S, Side

STEPS = 60
ADD_VERSIONS = {1: (0, 1, 2, 3), 2: (4, 5)}
END_VERSIONS = {1: (0, 1, 2, 3, 4), 2: (5,)}
STRANGER = (10**12, 0)
TRANSIENT = (
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
    ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_COORDINATOR,
    # Here an open transaction is aborted and its id given away in one request.
    ErrorCode.CONCURRENT_TRANSACTIONS,
)


class Life:
    """One transactional id on one broker, and every id and epoch that it has given away."""

    def __init__(self, port: int, name: str, seed: int, protocol: int) -> None:
        self.side = Side(port)
        self.transactional_id = name
        self.topic = f"orders-{name}"
        self.rng = random.Random(seed)
        self.protocol = protocol
        self.given = [STRANGER]
        self.names: dict[int, str] = {-1: "none", STRANGER[0]: "stranger"}
        self.lines: list[str] = []

    def run(self) -> list[str]:
        try:
            self.side.create(self.topic, 3, {})
            find = FindCoordinatorRequest(self.transactional_id, 1)
            self.side.wait_for(find, 2, lambda answer: not answer.error_code)
            self.initialize((-1, -1))
            for _ in range(STEPS):
                self.step()
        finally:
            self.side.client.close()
        return self.lines

    def step(self) -> None:
        # The newest one most often.
        back = max(0, self.rng.randrange(5) - 1)
        producer_id, epoch = self.given[max(0, len(self.given) - 1 - back)]
        if self.rng.random() < 0.1:
            epoch = max(0, epoch + self.rng.choice([-2, -1, 1]))
        producer = producer_id, epoch
        happens = self.rng.random()
        if happens < 0.25:
            self.initialize(self.rng.choice([(-1, -1), producer, producer]))
        elif happens < 0.6:
            self.add(producer)
        else:
            self.end(producer)

    def ask(self, request: Any, version: int, *, is_patient: bool = False) -> Any:
        deadline = time.monotonic() + PATIENCE_S
        answer = self.side.client.send(request, version, "compat")
        while is_patient and ErrorCode(answer.error_code) in TRANSIENT:
            assert time.monotonic() < deadline, answer
            time.sleep(0.01)
            answer = self.side.client.send(request, version, "compat")
        return answer

    def initialize(self, producer: tuple[int, int]) -> None:
        version = self.rng.choice([3, 4, 5])
        timeout_ms = self.rng.choice([60_000, 60_000, 50_000, 0, 10**9])
        if len(self.given) == 1:
            timeout_ms = 60_000
        request = InitProducerIdRequest(self.transactional_id, timeout_ms, *producer)
        answer = self.ask(request, version, is_patient=True)
        self.heard(f"init {self.name(producer)} {version}", answer)

    def add(self, producer: tuple[int, int]) -> None:
        version = self.rng.choice(ADD_VERSIONS[self.protocol])
        verify_only = self.rng.random() < 0.3
        partitions = self.rng.sample(range(3), self.rng.randrange(1, 3))
        topics = [AddPartitionsToTxnTopic(self.topic, partitions)]
        if version < 4:
            request = AddPartitionsToTxnRequest([], self.transactional_id, *producer, topics)
            results = self.ask(request, version).results_by_topic_v3_and_below
        else:
            transaction = AddPartitionsToTxnTransaction(
                self.transactional_id, *producer, verify_only, topics
            )
            answer = self.ask(AddPartitionsToTxnRequest([transaction]), version)
            results = answer.results_by_transaction[0].topic_results
        codes = sorted(
            (each.partition_index, ErrorCode(each.partition_error_code).name)
            for each in results[0].results_by_partition
        )
        self.lines.append(f"add {self.name(producer)} {version} {verify_only}: {codes}")
        self.look()

    def end(self, producer: tuple[int, int]) -> None:
        version = self.rng.choice(END_VERSIONS[self.protocol])
        commit = self.rng.random() < 0.5
        answer = self.ask(EndTxnRequest(self.transactional_id, *producer, commit), version)
        self.heard(f"end {self.name(producer)} {version} {commit}", answer)

    def heard(self, asked: str, answer: Any) -> None:
        producer = answer.producer_id, answer.producer_epoch
        code = ErrorCode(answer.error_code).name
        self.lines.append(f"{asked}: {code} {self.name(producer)}")
        if not answer.error_code and producer[0] >= 0 and producer != self.given[-1]:
            self.given.append(producer)
        self.look()

    def look(self) -> None:
        """The state, once the markers are written."""
        answer = self.side.wait_for(
            DescribeTransactionsRequest([self.transactional_id]),
            0,
            lambda found: not found.transaction_states[0].transaction_state.startswith("Prepare"),
        )
        state = answer.transaction_states[0]
        producer = self.name((state.producer_id, state.producer_epoch))
        partitions = sorted(index for topic in state.topics for index in topic.partitions)
        begun = state.transaction_start_time_ms >= 0
        timeout_ms = state.transaction_timeout_ms
        said = (ErrorCode(state.error_code).name, state.transaction_state, producer, partitions)
        self.lines.append(f"  {said} {timeout_ms} {begun}")

    def name(self, producer: tuple[int, int]) -> str:
        """Producer ids in the order in which they appear."""
        return f"{self.names.setdefault(producer[0], f'id {len(self.names)}')}:{producer[1]}"


@pytest.mark.parametrize("protocol", [1, 2])
@pytest.mark.parametrize("seed", range(5))
def test_both_answer_the_same(
    seed: int, protocol: int, apache_kafka: Broker, bootstrap: str
) -> None:
    name = f"id-{uuid.uuid4().hex[:6]}"
    ports = [apache_kafka.port, int(bootstrap.rpartition(":")[2])]
    theirs, ours = (Life(port, name, seed, protocol).run() for port in ports)
    assert ours == theirs
