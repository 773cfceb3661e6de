"""Markers of decided transactions, with partitions and brokers that answer as the test says."""

import asyncio
import random
from collections.abc import Callable, Coroutine
from itertools import count
from typing import Any

import pytest

from moldau.broker.broker_channels import BrokerChannels
from moldau.broker.commit_queue import Commitment
from moldau.broker.hosted_shard import HostedShard
from moldau.broker.marker_requests import request_version
from moldau.broker.marker_sending import MARKERS_PER_REQUEST, MARKERS_PER_TURN, MarkerSender
from moldau.broker.marker_writing import Marker
from moldau.broker.unfinished_transaction import COLLECTED_PER_STEP
from moldau.errors import ApiError, ErrorCode
from moldau.ids import NO_UUID, TRANSACTIONS_TOPIC, TopicPartition
from moldau.metadata.features import METADATA_VERSION
from moldau.metadata.image import MetadataImage, TopicImage
from moldau.metadata.registrations import NO_LEADER, PartitionRegistration
from moldau.network.socket_network import SocketNetwork
from moldau.protocol.messages.add_partitions_to_txn import AddPartitionsToTxnTransaction
from moldau.protocol.messages.end_txn import EndTxnRequest
from moldau.protocol.messages.find_coordinator import FindCoordinatorRequest
from moldau.protocol.messages.init_producer_id import InitProducerIdRequest
from moldau.protocol.messages.write_txn_markers import (
    WritableTxnMarkerPartitionResult,
    WritableTxnMarkerResult,
    WritableTxnMarkerTopicResult,
    WriteTxnMarkersRequest,
    WriteTxnMarkersResponse,
)
from moldau.protocol.records.transaction_coordinator import (
    PartitionsSchema,
    TransactionLogKey,
    TransactionLogValue,
)
from moldau.transaction_coordinator.context import TransactionContext
from moldau.transaction_coordinator.shard import TransactionShard
from moldau.transaction_coordinator.status import TransactionStatus
from tests.broker.replicated import LOCAL_ID, TIMEOUT_S, Replicated, lead, turns
from tests.broker.scripted_leader import Asked, ScriptedLeader
from tests.broker.test_broker_channels import OTHER, Metadata
from tests.broker.transacting import QUICK, TRANSACTION, TV1_END, topics_of

HERE = TopicPartition("here", 0)
FAR = TopicPartition("far", 0)
FAR_TOO = TopicPartition("far", 1)
NEWEST = 30

RETRIED = (
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    ErrorCode.NOT_LEADER_OR_FOLLOWER,
    ErrorCode.NOT_ENOUGH_REPLICAS,
    ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND,
    ErrorCode.REQUEST_TIMED_OUT,
    ErrorCode.KAFKA_STORAGE_ERROR,
    # Kafka stops sending at these.
    ErrorCode.CORRUPT_MESSAGE,
    ErrorCode.MESSAGE_TOO_LARGE,
    ErrorCode.UNKNOWN_SERVER_ERROR,
)
ENDING = (ErrorCode.INVALID_PRODUCER_EPOCH, ErrorCode.TRANSACTION_COORDINATOR_FENCED)
NEEDLESS = (ErrorCode.UNSUPPORTED_FOR_MESSAGE_FORMAT, ErrorCode.UNSUPPORTED_VERSION)


class Partitions:
    """Local partitions: a marker is committed unless the test says otherwise."""

    def __init__(self) -> None:
        self.written: list[tuple[TopicPartition, Marker]] = []
        self.outcomes: dict[TopicPartition, ErrorCode | Commitment] = {}

    def write(
        self, marker: Marker, topic_partition: TopicPartition, timeout_ms: int
    ) -> Commitment | None:
        self.written.append((topic_partition, marker))
        outcome = self.outcomes.pop(topic_partition, None)
        if isinstance(outcome, ErrorCode):
            raise ApiError(outcome)
        return outcome


class Sending(Replicated):
    """A coordinator with the partition of its transactions; broker 2 is scripted."""

    def __init__(self) -> None:
        super().__init__(
            {
                **QUICK,
                "transaction.state.log.num.partitions": "1",
                "transaction.state.log.min.isr": "2",
            }
        )
        self.metadata = Metadata()
        self.local = Partitions()
        self.other = ScriptedLeader(NO_UUID)
        self.given_up: list[object] = []
        self._ids = count(1000)

    def run_sending(self, scenario: Callable[[], Coroutine[Any, Any, None]]) -> None:
        async def within() -> None:
            await self.broker.node.start()
            request = FindCoordinatorRequest(key_type=TRANSACTION, coordinator_keys=["tx"])
            await self.broker.send(request, 6)
            await self.other.start()
            self.place({HERE: LOCAL_ID, FAR: OTHER, FAR_TOO: OTHER})
            self._open()
            await scenario()
            self.hosted.close()
            self.sender.stop()
            self.channels.close()
            await self.channels.closed()
            await self.other.stop()
            await self.broker.node.stop()

        asyncio.run(asyncio.wait_for(within(), TIMEOUT_S))

    def _open(self) -> None:
        parts = self.broker.node.broker
        rng = random.Random(1)
        self.channels = BrokerChannels(SocketNetwork(), self.metadata, parts.configs, rng)
        self.sender = MarkerSender(
            parts.configs, self.metadata, self.local, self.channels, self.clock, rng, parts.turns
        )
        self.log = self.partition(TRANSACTIONS_TOPIC)
        shard = TransactionShard(parts.config, lambda: 2, lambda: next(self._ids))

        async def load() -> int:
            return 0

        self.hosted = HostedShard(
            self.log,
            shard,
            load,
            shard.encode_record,
            self.clock,
            0,
            5000,
            self.given_up.append,
            self.sender.finish,
        )
        self.hosted.activate(self.metadata.image)

    def place(self, leaders: dict[TopicPartition, int]) -> None:
        """Let the metadata name the leaders of all partitions that exist."""
        self.metadata.register(self.other.address[1])
        topics: dict[str, TopicImage] = {}
        for (name, index), leader in leaders.items():
            registration = PartitionRegistration((LOCAL_ID, OTHER), (NO_UUID,) * 2, (), leader)
            topic = topics.setdefault(name, TopicImage(name, NO_UUID, {}))
            topic.partitions[index] = registration  # type: ignore[index]
        self.metadata.image = MetadataImage(
            features={METADATA_VERSION: NEWEST},
            brokers=self.metadata.image.brokers,
            topics_by_name=topics,
        )

    def end(self, *partitions: TopicPartition, name: str = "tx", commit: bool = True) -> int:
        """Begin and end a transaction; returns its producer id."""
        shard = self.hosted.shard
        version = TransactionContext(TV1_END)
        init = InitProducerIdRequest(name, 1000)
        begun = self.hosted.decide(shard.handle_init_producer_id, init, version)
        assert begun.error_code == 0
        producer = begun.producer_id, begun.producer_epoch
        add = AddPartitionsToTxnTransaction(name, *producer, topics=topics_of(*partitions))
        self.hosted.decide(shard.handle_add_partitions, add, TransactionContext(3))
        end = EndTxnRequest(name, *producer, commit)
        assert self.hosted.decide(shard.handle_end_txn, end, version).error_code == 0
        return int(begun.producer_id)

    def state(self, name: str = "tx") -> str:
        return self.hosted.shard.describe(name).transaction_state


def answer(asked: Asked, code: ErrorCode = ErrorCode.NONE) -> None:
    """Give every marker of a request the same answer."""
    asked.send(
        WriteTxnMarkersResponse(
            [
                WritableTxnMarkerResult(
                    marker.producer_id,
                    [
                        WritableTxnMarkerTopicResult(
                            topic.name,
                            [
                                WritableTxnMarkerPartitionResult(index, code)
                                for index in topic.partition_indexes
                            ],
                        )
                        for topic in marker.topics
                    ],
                )
                for marker in asked.request.markers
            ]
        )
    )


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(120):
        while not condition():  # noqa: ASYNC110  # the conditions are facts of the code under test
            await asyncio.sleep(0)


# --- here


def test_where_all_is_local_a_transaction_is_complete_in_the_same_turn() -> None:
    it = Sending()

    async def scenario() -> None:
        producer_id = it.end(HERE)
        assert it.state() == "CompleteCommit"
        ((where, marker),) = it.local.written
        assert where == HERE
        assert marker == Marker(producer_id, 0, True, it.log.leader_epoch, 0)

    it.run_sending(scenario)


def test_nothing_is_complete_before_the_markers_are_committed() -> None:
    it = Sending()

    async def scenario() -> None:
        waiting: Commitment = asyncio.get_running_loop().create_future()
        it.local.outcomes[HERE] = waiting
        it.end(HERE, commit=False)
        await turns()
        assert it.state() == "PrepareAbort"
        waiting.set_result(None)
        await turns()
        assert it.state() == "CompleteAbort"

    it.run_sending(scenario)


def test_no_marker_is_written_before_the_decision_is_committed() -> None:
    it = Sending()

    async def scenario() -> None:
        lead(it.log)
        it.end(HERE)
        await turns()
        assert (it.state(), it.local.written) == ("PrepareCommit", [])
        it.log.advance(it.log.log.log_end_offset)
        await turns()
        assert len(it.local.written) == 1
        assert it.state() == "CompleteCommit"

    it.run_sending(scenario)


def test_a_decision_that_is_lost_with_the_shard_gets_no_markers() -> None:
    it = Sending()

    async def scenario() -> None:
        lead(it.log)
        it.end(HERE)
        it.hosted.close()
        it.log.advance(it.log.log.log_end_offset)
        await turns()
        assert it.local.written == []

    it.run_sending(scenario)


def test_a_transaction_is_completed_when_enough_replicas_are_back() -> None:
    it = Sending()

    async def scenario() -> None:
        waiting: Commitment = asyncio.get_running_loop().create_future()
        it.local.outcomes[HERE] = waiting
        it.end(HERE)
        lead(it.log, isr=(LOCAL_ID,))
        waiting.set_result(None)
        await turns()
        assert (it.state(), it.given_up) == ("PrepareCommit", [])
        lead(it.log)
        it.sender.retry()
        assert it.state() == "CompleteCommit"
        assert len(it.local.written) == 1

    it.run_sending(scenario)


def test_many_transactions_are_finished_in_several_turns() -> None:
    it = Sending()

    async def scenario() -> None:
        for number in range(3 * MARKERS_PER_TURN):
            value = TransactionLogValue(
                producer_id=number,
                transaction_status=TransactionStatus.PREPARE_COMMIT,
                transaction_partitions=[PartitionsSchema(HERE.topic, [HERE.partition])],
            )
            it.hosted.shard.replay(TransactionLogKey(f"tx-{number}"), value)
        it.sender.finish(it.hosted)
        assert len(it.local.written) == MARKERS_PER_TURN
        most = 0
        while len(it.local.written) < 3 * MARKERS_PER_TURN:
            before = len(it.local.written)
            await asyncio.sleep(0)
            most = max(most, len(it.local.written) - before)
        assert 0 < most <= MARKERS_PER_TURN

    it.run_sending(scenario)


@pytest.mark.parametrize("many", [3 * MARKERS_PER_TURN, 3 * MARKERS_PER_TURN * COLLECTED_PER_STEP])
def test_a_transaction_of_many_partitions_is_finished_in_several_turns(many: int) -> None:
    """Also if it takes several turns to list them."""
    it = Sending()

    async def scenario() -> None:
        it.place({TopicPartition("wide", index): LOCAL_ID for index in range(many)})
        value = TransactionLogValue(
            producer_id=1,
            transaction_status=TransactionStatus.PREPARE_COMMIT,
            transaction_partitions=[PartitionsSchema("wide", list(range(many)))],
        )
        it.hosted.shard.replay(TransactionLogKey("tx"), value)
        it.sender.finish(it.hosted)
        most = len(it.local.written)
        while it.state() != "CompleteCommit":
            before = len(it.local.written)
            await asyncio.sleep(0)
            most = max(most, len(it.local.written) - before)
        assert len(it.local.written) == many
        assert 0 < most <= MARKERS_PER_TURN

    it.run_sending(scenario)


# --- classes of errors


@pytest.mark.parametrize("code", RETRIED, ids=lambda code: code.name)
def test_a_marker_is_written_again_after_an_error_that_may_pass(code: ErrorCode) -> None:
    it = Sending()

    async def scenario() -> None:
        it.local.outcomes[HERE] = code
        it.end(HERE)
        assert it.state() == "PrepareCommit"
        await until(lambda: it.state() == "CompleteCommit")
        assert [where for where, _ in it.local.written] == [HERE, HERE]

    it.run_sending(scenario)


@pytest.mark.parametrize("code", ENDING, ids=lambda code: code.name)
def test_a_coordinator_that_is_fenced_stops_writing_markers(code: ErrorCode) -> None:
    it = Sending()

    async def scenario() -> None:
        it.local.outcomes[HERE] = code
        it.end(HERE)
        it.sender.retry()
        assert it.state() == "PrepareCommit"
        assert len(it.local.written) == 1

    it.run_sending(scenario)


@pytest.mark.parametrize("code", NEEDLESS, ids=lambda code: code.name)
def test_a_partition_that_cannot_have_transactions_drops_out(code: ErrorCode) -> None:
    it = Sending()

    async def scenario() -> None:
        it.local.outcomes[HERE] = code
        it.end(HERE)
        assert it.state() == "CompleteCommit"

    it.run_sending(scenario)


# --- other brokers


def test_another_broker_gets_the_markers_of_all_transactions_in_one_request() -> None:
    it = Sending()

    async def scenario() -> None:
        first = it.end(FAR, FAR_TOO, HERE, name="a")
        second = it.end(FAR, name="b", commit=False)
        asked = await it.other.next()
        assert asked.version == 2
        found = {
            each.producer_id: (
                each.transaction_result,
                each.coordinator_epoch,
                [(topic.name, topic.partition_indexes) for topic in each.topics],
            )
            for each in asked.request.markers
        }
        epoch = it.log.leader_epoch
        assert found == {
            first: (True, epoch, [("far", [0, 1])]),
            second: (False, epoch, [("far", [0])]),
        }
        assert (it.state("a"), it.state("b")) == ("PrepareCommit", "PrepareAbort")
        answer(asked)
        await until(lambda: it.state("b") == "CompleteAbort")
        assert it.state("a") == "CompleteCommit"

    it.run_sending(scenario)


def test_the_markers_of_a_wide_transaction_are_sent_in_several_requests() -> None:
    it = Sending()
    many = 2 * MARKERS_PER_REQUEST + 500

    async def scenario() -> None:
        it.place({TopicPartition("wide", index): OTHER for index in range(many)})
        value = TransactionLogValue(
            producer_id=1,
            transaction_status=TransactionStatus.PREPARE_COMMIT,
            transaction_partitions=[PartitionsSchema("wide", list(range(many)))],
        )
        it.hosted.shard.replay(TransactionLogKey("tx"), value)
        it.sender.finish(it.hosted)
        written: list[int] = []
        while len(written) < many:
            assert it.state() == "PrepareCommit"
            asked = await it.other.next()
            (marker,) = asked.request.markers
            assert len(marker.topics[0].partition_indexes) <= MARKERS_PER_REQUEST
            written += marker.topics[0].partition_indexes
            answer(asked)
        assert sorted(written) == list(range(many))
        await until(lambda: it.state() == "CompleteCommit")

    it.run_sending(scenario)


def test_many_transactions_that_one_answer_completes_are_completed_in_several_turns() -> None:
    it = Sending()
    many = MARKERS_PER_REQUEST

    async def scenario() -> None:
        for number in range(many):
            value = TransactionLogValue(
                producer_id=number,
                transaction_status=TransactionStatus.PREPARE_COMMIT,
                transaction_partitions=[PartitionsSchema(FAR.topic, [FAR.partition])],
            )
            it.hosted.shard.replay(TransactionLogKey(f"tx-{number}"), value)
        it.sender.finish(it.hosted)
        first = await it.other.next()
        for _ in range(many):
            # Meanwhile all others wait for the next request.
            await asyncio.sleep(0)
        answer(first)
        second = await it.other.next()
        rest = len(second.request.markers)
        assert rest == many - len(first.request.markers) > many // 2
        answer(second)
        end_offset = it.log.log.log_end_offset
        most, last_offset = 0, end_offset + rest
        while end_offset < last_offset:
            await asyncio.sleep(0)
            before, end_offset = end_offset, it.log.log.log_end_offset
            most = max(most, end_offset - before)
        assert 0 < most < many // 2

    it.run_sending(scenario)


def test_what_is_decided_while_a_request_is_unanswered_is_sent_together_after_it() -> None:
    it = Sending()

    async def scenario() -> None:
        it.end(FAR, name="a")
        asked = await it.other.next()
        later = {it.end(FAR, name="b"), it.end(FAR, name="c")}
        answer(asked)
        asked = await it.other.next()
        assert {each.producer_id for each in asked.request.markers} == later
        answer(asked)
        await until(lambda: it.state("c") == "CompleteCommit")

    it.run_sending(scenario)


def test_only_the_partitions_that_failed_are_sent_again() -> None:
    it = Sending()

    async def scenario() -> None:
        producer_id = it.end(FAR, FAR_TOO)
        asked = await it.other.next()
        results = [
            WritableTxnMarkerPartitionResult(0, ErrorCode.NONE),
            WritableTxnMarkerPartitionResult(1, ErrorCode.NOT_ENOUGH_REPLICAS),
        ]
        topic = WritableTxnMarkerTopicResult("far", results)
        asked.send(WriteTxnMarkersResponse([WritableTxnMarkerResult(producer_id, [topic])]))
        asked = await it.other.next()
        (marker,) = asked.request.markers
        assert [each.partition_indexes for each in marker.topics] == [[1]]
        answer(asked)
        await until(lambda: it.state() == "CompleteCommit")

    it.run_sending(scenario)


def test_a_request_without_an_answer_is_sent_again() -> None:
    it = Sending()

    async def scenario() -> None:
        it.end(FAR)
        (await it.other.next()).hang_up()
        answer(await it.other.next())
        await until(lambda: it.state() == "CompleteCommit")

    it.run_sending(scenario)


def test_an_answer_that_lacks_a_partition_says_nothing_about_it() -> None:
    it = Sending()

    async def scenario() -> None:
        it.end(FAR)
        (await it.other.next()).send(WriteTxnMarkersResponse())
        answer(await it.other.next())
        await until(lambda: it.state() == "CompleteCommit")

    it.run_sending(scenario)


def test_a_marker_follows_its_partition_to_another_leader() -> None:
    it = Sending()

    async def scenario() -> None:
        it.end(FAR)
        answer(await it.other.next(), ErrorCode.NOT_LEADER_OR_FOLLOWER)
        it.place({FAR: LOCAL_ID})
        await until(lambda: it.state() == "CompleteCommit")
        assert [where for where, _ in it.local.written] == [FAR]

    it.run_sending(scenario)


def test_a_partition_without_a_leader_waits_for_one() -> None:
    it = Sending()

    async def scenario() -> None:
        it.place({HERE: NO_LEADER})
        it.end(HERE)
        assert (it.state(), it.local.written) == ("PrepareCommit", [])
        it.place({HERE: LOCAL_ID})
        it.sender.retry()
        assert it.state() == "CompleteCommit"

    it.run_sending(scenario)


def test_a_partition_that_is_deleted_while_its_marker_waits_drops_out() -> None:
    it = Sending()

    async def scenario() -> None:
        it.end(FAR, HERE)
        answer(await it.other.next(), ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
        it.place({HERE: LOCAL_ID})
        await until(lambda: it.state() == "CompleteCommit")

    it.run_sending(scenario)


def test_an_answer_after_the_shard_was_closed_completes_nothing() -> None:
    it = Sending()

    async def scenario() -> None:
        it.end(FAR)
        asked = await it.other.next()
        it.hosted.close()
        before = it.log.log.log_end_offset
        answer(asked)
        # Answers come in order: with that of a later request, the first has been taken.
        later = asyncio.ensure_future(it.channels.send(OTHER, WriteTxnMarkersRequest(), 2))
        answer(await it.other.next())
        await later
        await turns()
        assert it.log.log.log_end_offset == before

    it.run_sending(scenario)


def test_markers_are_retried_in_the_current_epoch_of_the_coordinator() -> None:
    """The shard goes on if its broker is elected again; what it decided has not changed."""
    it = Sending()

    async def scenario() -> None:
        it.local.outcomes[HERE] = ErrorCode.NOT_LEADER_OR_FOLLOWER
        it.end(HERE)
        it.hosted.leader_epoch += 1
        it.sender.retry()
        (_, before), (_, after) = it.local.written
        assert after.coordinator_epoch == before.coordinator_epoch + 1
        assert after.producer_epoch == before.producer_epoch

    it.run_sending(scenario)


def test_brokers_of_an_older_release_are_asked_in_a_version_they_know() -> None:
    assert [request_version(level) for level in (29, 30, 31)] == [1, 2, 2]
