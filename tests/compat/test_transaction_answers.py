"""Apache Kafka and the broker coordinate the same transactions, and must answer the same.

What a producer sends on a good day and on a bad one, in every version: wrong ids and epochs,
partitions that do not exist, ends that come twice or in the wrong state. Answers of Apache Kafka
that say CONCURRENT_TRANSACTIONS, or that it is not ready yet, are asked for again, as clients do:
this broker has no need for them.
"""

import time
import uuid
from collections.abc import Callable

import pytest

from moldau.errors import ErrorCode
from moldau.protocol.message import Message
from moldau.protocol.messages.add_offsets_to_txn import AddOffsetsToTxnRequest
from moldau.protocol.messages.add_partitions_to_txn import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnTopic,
    AddPartitionsToTxnTransaction,
)
from moldau.protocol.messages.describe_transactions import DescribeTransactionsRequest
from moldau.protocol.messages.end_txn import EndTxnRequest
from moldau.protocol.messages.find_coordinator import FindCoordinatorRequest
from moldau.protocol.messages.init_producer_id import InitProducerIdRequest
from moldau.protocol.messages.list_transactions import ListTransactionsRequest
from tests.compat.broker_talk import MESSAGES, PATIENCE_S, Both, Side

TRANSACTION = 1
LATER = (
    ErrorCode.CONCURRENT_TRANSACTIONS,
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
    ErrorCode.NOT_COORDINATOR,
)
# What depends on the clock, or on how many ids a broker has assigned before.
OWN = MESSAGES | {"producer_id", "transaction_start_time_ms"}
OLD, NEW = 4, 5


class Life:
    """A transactional id and its producer, on both brokers."""

    def __init__(self, both: Both, partitions: int = 2) -> None:
        self.both = both
        self.name = f"life-{uuid.uuid4().hex[:8]}"
        both.create(self.name, partitions)
        self.producers: dict[Side, tuple[int, int]] = dict.fromkeys(both.sides, (-1, -1))
        for side in both.sides:
            request = FindCoordinatorRequest(key_type=TRANSACTION, coordinator_keys=[self.name])
            side.wait_for(request, 6, lambda answer: not answer.coordinators[0].error_code)

    def same(self, question: Callable[[Side], Message] | Message, version: int) -> str:
        """Ask both, again if a transaction is being completed; they must answer the same."""
        texts = []
        for side in self.both.sides:
            request = question if isinstance(question, Message) else question(side)
            texts.append(self._settled(side, request, version))
        theirs, ours = texts
        assert ours == theirs, f"version {version}\nApache Kafka {theirs}\nthis broker  {ours}"
        return ours

    def _settled(self, side: Side, request: Message, version: int) -> str:
        deadline = time.monotonic() + PATIENCE_S
        while True:
            answer = side.answer(request, version)
            text = side.text(answer, OWN)
            if not any(_says(text, code) for code in LATER):
                break
            assert time.monotonic() < deadline, text
            time.sleep(0.02)
        is_ending = isinstance(request, EndTxnRequest) and version == NEW
        is_told = isinstance(request, InitProducerIdRequest) or is_ending
        is_given = is_told and answer is not None and answer.error_code == 0
        if is_given and answer.producer_id >= 0:
            self.producers[side] = (answer.producer_id, answer.producer_epoch)
        return text

    def producer(self, side: Side, ahead: int = 0, other: int = 0) -> tuple[int, int]:
        """The producer id, or another one, and the epoch, or one further."""
        producer_id, epoch = self.producers[side]
        return producer_id + other, epoch + ahead

    def init(self, version: int = 5, *, continues: bool = False, **off: int) -> str:
        def question(side: Side) -> Message:
            request = InitProducerIdRequest(self.name, 60_000)
            if continues:
                request.producer_id, request.producer_epoch = self.producer(side, **off)
            return request

        return self.same(question, version)

    def add(self, *indexes: int, version: int = 3, topic: str = "", **off: int) -> str:
        topics = [AddPartitionsToTxnTopic(topic or self.name, list(indexes))]

        def question(side: Side) -> Message:
            producer_id, epoch = self.producer(side, **off)
            if version > 3:
                transaction = AddPartitionsToTxnTransaction(
                    self.name, producer_id, epoch, topics=topics
                )
                return AddPartitionsToTxnRequest(transactions=[transaction])
            return AddPartitionsToTxnRequest(
                v3_and_below_transactional_id=self.name,
                v3_and_below_producer_id=producer_id,
                v3_and_below_producer_epoch=epoch,
                v3_and_below_topics=topics,
            )

        return self.same(question, version)

    def verify(self, *indexes: int, version: int = 5, **off: int) -> str:
        topics = [AddPartitionsToTxnTopic(self.name, list(indexes))]

        def question(side: Side) -> Message:
            transaction = AddPartitionsToTxnTransaction(
                self.name, *self.producer(side, **off), verify_only=True, topics=topics
            )
            return AddPartitionsToTxnRequest(transactions=[transaction])

        return self.same(question, version)

    def add_offsets(self, version: int = 4, **off: int) -> str:
        return self.same(
            lambda side: AddOffsetsToTxnRequest(self.name, *self.producer(side, **off), "group"),
            version,
        )

    def end(self, version: int = OLD, *, commit: bool = True, **off: int) -> str:
        return self.same(
            lambda side: EndTxnRequest(self.name, *self.producer(side, **off), commit), version
        )

    def described(self) -> str:
        """The state, when it is one in which nothing happens by itself."""
        request = DescribeTransactionsRequest(transactional_ids=[self.name])
        for side in self.both.sides:
            side.wait_for(
                request,
                0,
                lambda answer: "Prepare" not in answer.transaction_states[0].transaction_state,
            )
        return self.same(request, 0)


def _says(text: str, code: ErrorCode) -> bool:
    return code.name in text or f"partition_error_code={code.value})" in text


def test_requests_for_ids_that_are_not_there_are_refused_alike(both: Both) -> None:
    life = Life(both)
    for version in range(4):
        assert "partition_error_code=49" in life.add(0, version=version)
    for version in (4, 5):
        assert "partition_error_code=49" in life.add(0, version=version)
        assert "partition_error_code=49" in life.verify(0, version=version)
    for version in range(5):
        assert "INVALID_PRODUCER_ID_MAPPING" in life.add_offsets(version)
    for version in range(6):
        assert "INVALID_PRODUCER_ID_MAPPING" in life.end(version)
    assert "TRANSACTIONAL_ID_NOT_FOUND" in life.described()


@pytest.mark.parametrize("version", range(6))
def test_bad_initializations_are_refused_alike(both: Both, version: int) -> None:
    life = Life(both)
    life.same(InitProducerIdRequest("", 1000), version)
    life.same(InitProducerIdRequest(life.name, 0), version)
    life.same(InitProducerIdRequest(life.name, -1), version)
    life.same(InitProducerIdRequest(life.name, 900_001), version)
    if version >= 3:
        life.same(InitProducerIdRequest(life.name, 1000, 5, -1), version)
        life.same(InitProducerIdRequest(life.name, 1000, -1, 5), version)
        # The coordinator may have forgotten this producer.
        life.same(InitProducerIdRequest(life.name, 1000, 777_777, 5), version)


def test_an_empty_id_is_refused_alike(both: Both) -> None:
    life = Life(both)
    life.name, topic = "", life.name
    for version in range(6):
        life.add(0, version=version, topic=topic)
        life.end(version)
    for version in range(5):
        life.add_offsets(version)
    life.same(DescribeTransactionsRequest(transactional_ids=[""]), 0)


@pytest.mark.parametrize("off", [{"ahead": -1}, {"ahead": 1}, {"other": 1}], ids=str)
def test_the_wrong_producer_is_refused_alike(both: Both, off: dict[str, int]) -> None:
    life = Life(both)
    life.init()
    life.init()
    for version in range(6):
        life.add(0, version=version, **off)
        life.end(version, **off)
    for version in (4, 5):
        life.verify(0, version=version, **off)
    for version in range(5):
        life.add_offsets(version, **off)
    life.add(0)
    for version in range(6):
        life.end(version, **off)
        life.end(version, commit=False, **off)
    assert "Ongoing" in life.described()


def test_partitions_that_cannot_be_added_are_refused_alike(both: Both) -> None:
    life = Life(both)
    life.init()
    for version in range(6):
        life.add(0, 7, version=version)
        life.add(0, version=version, topic="no-such-topic")
        life.add(0, version=version, topic="not valid!")
    for version in range(4):
        life.add(0, version=version, topic="__transaction_state")
    assert "Empty" in life.described()
    for version in range(4):
        life.add(0, 1, 0, version=version)
    assert "Ongoing" in life.described()
    life.verify(0, 1, 7)
    life.end(commit=False)


@pytest.mark.parametrize("is_commit", [True, False])
def test_old_clients_end_transactions_alike_in_every_state(both: Both, is_commit: bool) -> None:
    life = Life(both)
    life.init()
    for version in range(OLD + 1):
        for each in (True, False):
            life.end(version, commit=each)
    for version in range(OLD + 1):
        life.add(0, version=min(version, 3))
        life.add_offsets(min(version, 4))
        assert "NONE" in life.end(version, commit=is_commit)
        assert "Complete" in life.described()
        # Again, and the other way round.
        for each in (True, False):
            life.end(version, commit=each)


@pytest.mark.parametrize("is_commit", [True, False])
def test_new_clients_end_transactions_alike_in_every_state(both: Both, is_commit: bool) -> None:
    life = Life(both)
    life.init()
    # Nothing is open: an abort only takes the next epoch.
    life.end(NEW, commit=True)
    life.end(NEW, commit=False)
    life.described()
    for _ in range(3):
        life.add(0, version=5)
        assert "NONE" in life.end(NEW, commit=is_commit)
        assert "Complete" in life.described()
        # Repeated, by a client that has not got the answer, and the other way round.
        life.end(NEW, commit=is_commit, ahead=-1)
        life.end(NEW, commit=not is_commit, ahead=-1)
        life.end(NEW, commit=is_commit, ahead=-2)
        life.verify(0)
        life.end(NEW, commit=True)
        life.end(NEW, commit=False)
        life.described()


def test_old_and_new_clients_take_turns_alike(both: Both) -> None:
    life = Life(both)
    for _ in range(2):
        life.init()
        life.add(0)
        life.end(OLD)
        life.init(continues=True)
        life.add(1, version=5)
        life.end(NEW, commit=False)
        life.add(0)
        life.end(OLD, commit=False)
        assert "CompleteAbort" in life.described()


def test_producers_continue_after_errors_alike(both: Both) -> None:
    life = Life(both)
    life.init()
    for version in (3, 4, 5):
        life.init(version, continues=True)
        # Repeated, and of a producer that is older.
        life.init(version, continues=True, ahead=-1)
        life.init(version, continues=True, ahead=-2)
        life.init(version, continues=True, ahead=1)
        life.init(version, continues=True, other=1)


@pytest.mark.parametrize("version", range(6))
def test_an_open_transaction_is_aborted_alike_when_its_id_is_taken_over(
    both: Both, version: int
) -> None:
    life = Life(both)
    life.init()
    life.add(0, 1)
    life.init(version)
    assert "Empty" in life.described()
    life.add(0)
    if version >= 3:
        life.init(version, continues=True)
        life.described()


def test_transactions_are_listed_alike(both: Both) -> None:
    life = Life(both)
    life.init()
    life.add(0)
    pattern = f"{life.name}.*"
    life.same(ListTransactionsRequest(transactional_id_pattern=pattern), 2)
    for states in (["Ongoing"], ["Empty"], ["Odd"], ["Odd", "Ongoing"], ["Dead"]):
        request = ListTransactionsRequest(state_filters=states, transactional_id_pattern=pattern)
        life.same(request, 2)
    for duration_ms in (-1, 0, 3_600_000):
        request = ListTransactionsRequest(
            duration_filter=duration_ms, transactional_id_pattern=pattern
        )
        life.same(request, 2)
    for pattern in ("(", "[a", "no-such-id", life.name[:-1]):
        life.same(ListTransactionsRequest(transactional_id_pattern=pattern), 2)
    life.same(ListTransactionsRequest(producer_id_filters=[987_654_321]), 1)
    life.end(commit=False)
