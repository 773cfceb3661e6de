"""Transactions of a producer: which requests it sends, and what it makes of the answers."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from moldau.client.group_offsets import Membership
from moldau.client.producer import Producer
from moldau.errors import ApiError, ErrorCode
from moldau.ids import TopicPartition
from moldau.protocol.messages.end_txn import EndTxnRequest
from moldau.protocol.messages.produce import ProduceRequest
from moldau.protocol.messages.txn_offset_commit import TxnOffsetCommitRequest
from tests.client.fake_coordinator import (
    ADD_PARTITIONS,
    END_TXN,
    INIT_PRODUCER_ID,
    LOST,
    PRODUCE,
    TXN_OFFSET_COMMIT,
    FakeCoordinator,
    header_of,
)

ID = "orders-1"
FIRST, SECOND = TopicPartition("t", 0), TopicPartition("t", 1)


@contextmanager
def talking(
    level: int, timeout_ms: int = 60_000, max_level: int = 2
) -> Iterator[tuple[FakeCoordinator, Producer]]:
    with (
        FakeCoordinator(level) as fake,
        Producer(
            fake.bootstrap,
            transactional_id=ID,
            transaction_timeout_ms=timeout_ms,
            max_transaction_version=max_level,
            timeout_s=5,
        ) as producer,
    ):
        yield fake, producer


def ends(fake: FakeCoordinator) -> list[bool]:
    """Whether each transaction was committed, as asked."""
    asked = [each.request for each in fake.asked if isinstance(each.request, EndTxnRequest)]
    return [request.committed for request in asked]


def test_with_the_second_protocol_a_transaction_is_its_records_and_its_end() -> None:
    with talking(2) as (fake, producer):
        for value in (b"a", b"b"):
            with producer.transaction():
                producer.send("t", value, partition=0)
                producer.send("t", value, partition=1)
                producer.send_offsets_to_transaction({FIRST: 3}, "accounting")
        assert fake.names == [
            "InitProducerId v5 epoch -1",
            "TxnOffsetCommit v5 epoch 0",
            "Produce v12 epoch 0",
            "EndTxn v5 epoch 0",
            "TxnOffsetCommit v5 epoch 1",
            "Produce v12 epoch 1",
            "EndTxn v5 epoch 1",
        ]
        assert ends(fake) == [True, True]


@pytest.mark.parametrize(("level", "max_level"), [(1, 2), (0, 2), (2, 1)])
def test_with_the_first_protocol_partitions_and_groups_are_added_and_each_begin_bumps_the_epoch(
    level: int, max_level: int
) -> None:
    with talking(level, max_level=max_level) as (fake, producer):
        for value in (b"a", b"b"):
            with producer.transaction():
                producer.send("t", value, partition=0)
                producer.send("t", value, partition=1)
                producer.send_offsets_to_transaction({FIRST: 3}, "accounting")
        assert fake.names == [
            "InitProducerId v5 epoch -1",
            "AddOffsetsToTxn v4 epoch 0",
            "TxnOffsetCommit v4 epoch 0",
            "AddPartitionsToTxn v3 epoch 0",
            "Produce v11 epoch 0",
            "EndTxn v4 epoch 0",
            "InitProducerId v5 epoch 0",
            "AddOffsetsToTxn v4 epoch 1",
            "TxnOffsetCommit v4 epoch 1",
            "AddPartitionsToTxn v3 epoch 1",
            "Produce v11 epoch 1",
            "EndTxn v4 epoch 1",
        ]


@pytest.mark.parametrize("level", [1, 2])
def test_the_sequence_of_a_partition_begins_again_with_every_transaction(level: int) -> None:
    with talking(level) as (fake, producer):
        for _ in range(2):
            with producer.transaction():
                producer.send("t", b"a", partition=0)
                producer.flush()
                producer.send("t", b"b", partition=0)
        requests = [each.request for each in fake.asked if isinstance(each.request, ProduceRequest)]
        headers = [header_of(request) for request in requests]
        assert [header.base_sequence for header in headers] == [0, 1, 0, 1]
        assert all(header.is_transactional for header in headers)


@pytest.mark.parametrize("level", [1, 2])
def test_an_exception_aborts_and_records_that_were_not_sent_fail(level: int) -> None:
    with talking(level) as (fake, producer):
        with pytest.raises(ZeroDivisionError), producer.transaction():
            sent = producer.send("t", b"sent", partition=0)
            producer.flush()
            kept = producer.send("t", b"kept", partition=0)
            raise ZeroDivisionError
        assert sent.error is None
        assert kept.error is not None
        assert kept.error.code is ErrorCode.TRANSACTION_ABORTABLE
        assert ends(fake) == [False]
        with producer.transaction():
            producer.send("t", b"next", partition=0)
        assert ends(fake) == [False, True]


@pytest.mark.parametrize("level", [1, 2])
def test_nothing_is_asked_for_a_transaction_that_wrote_nothing(level: int) -> None:
    with talking(level) as (fake, producer):
        with producer.transaction():
            pass
        producer.begin_transaction()
        producer.abort_transaction()
        assert ends(fake) == []


def test_a_record_that_cannot_be_written_forbids_the_commit() -> None:
    with talking(2) as (fake, producer):
        fake.errors[PRODUCE] = [ErrorCode.TOPIC_AUTHORIZATION_FAILED]
        producer.begin_transaction()
        producer.send("t", b"refused", partition=0)
        with pytest.raises(ApiError) as refused:
            producer.commit_transaction()
        assert refused.value.code is ErrorCode.TOPIC_AUTHORIZATION_FAILED
        for attempt in (producer.commit_transaction, lambda: producer.send("t", b"more")):
            with pytest.raises(ApiError, match=r"has failed: call abort_transaction\(\)"):
                attempt()
        producer.abort_transaction()
        assert ends(fake) == [False]
        # The next one has an epoch of its own.
        with producer.transaction():
            producer.send("t", b"written", partition=0)
        assert fake.names[-1] == "EndTxn v5 epoch 1"


def test_the_next_transaction_waits_until_the_last_one_is_complete() -> None:
    with talking(2) as (fake, producer):
        fake.errors[PRODUCE] = [ErrorCode.CONCURRENT_TRANSACTIONS] * 3
        with producer.transaction():
            sent = producer.send("t", b"patient", partition=0)
        assert sent.error is None
        assert [each.name for each in fake.asked].count("Produce") == 4


@pytest.mark.parametrize("level", [1, 2])
@pytest.mark.parametrize("key", [INIT_PRODUCER_ID, PRODUCE, TXN_OFFSET_COMMIT, END_TXN])
def test_whatever_answer_is_lost_is_asked_for_again(level: int, key: int) -> None:
    with talking(level) as (fake, producer):
        fake.errors[key] = [LOST]
        with producer.transaction():
            sent = producer.send("t", b"x", partition=0)
            producer.send_offsets_to_transaction({FIRST: 3}, "accounting")
        assert sent.error is None
        assert set(ends(fake)) == {True}
        with producer.transaction():
            producer.send("t", b"x", partition=0)


def test_after_a_commit_without_an_answer_only_the_commit_can_be_repeated() -> None:
    with talking(2) as (fake, producer):
        producer.begin_transaction()
        producer.send("t", b"x", partition=0)
        producer.flush()
        # Over the open connection: nothing is tried again.
        producer.cluster.timeout_s = 0
        fake.errors[END_TXN] = [ErrorCode.COORDINATOR_NOT_AVAILABLE]
        with pytest.raises(ApiError, match=r"call commit_transaction\(\) again"):
            producer.commit_transaction()
        for attempt in (producer.abort_transaction, producer.begin_transaction):
            with pytest.raises(ApiError, match="not known whether the transaction is committed"):
                attempt()
        producer.commit_transaction()
        producer.begin_transaction()
        assert ends(fake) == [True, True]


@pytest.mark.parametrize("code", [ErrorCode.PRODUCER_FENCED, ErrorCode.INVALID_PRODUCER_EPOCH])
@pytest.mark.parametrize(
    ("level", "key"),
    [
        (1, ADD_PARTITIONS),
        (1, TXN_OFFSET_COMMIT),
        (2, PRODUCE),
        (2, TXN_OFFSET_COMMIT),
        (2, END_TXN),
    ],
)
def test_a_producer_that_is_fenced_stays_fenced_and_says_what_to_do(
    level: int, key: int, code: ErrorCode
) -> None:
    with talking(level) as (fake, producer):
        fake.errors[key] = [code]
        remedy = f"{ID}: fenced, because another producer uses the same transactional_id"
        with pytest.raises(ApiError, match=remedy) as fenced, producer.transaction():
            producer.send("t", b"x", partition=0)
            producer.flush()
            producer.send_offsets_to_transaction({FIRST: 1}, "accounting")
        assert fenced.value.code is ErrorCode.PRODUCER_FENCED
        asked = len(fake.asked)
        with pytest.raises(ApiError, match=remedy):
            producer.begin_transaction()
        assert len(fake.asked) == asked


@pytest.mark.parametrize(
    ("level", "key", "code"),
    [
        (1, ADD_PARTITIONS, ErrorCode.PRODUCER_FENCED),
        (1, PRODUCE, ErrorCode.INVALID_PRODUCER_EPOCH),
        (2, PRODUCE, ErrorCode.INVALID_PRODUCER_EPOCH),
        (2, TXN_OFFSET_COMMIT, ErrorCode.INVALID_PRODUCER_EPOCH),
        (2, END_TXN, ErrorCode.INVALID_TXN_STATE),
    ],
)
def test_a_transaction_that_took_too_long_is_told_from_one_that_was_taken_over(
    level: int, key: int, code: ErrorCode
) -> None:
    """With the second protocol its producer can continue after an abort."""
    with talking(level, timeout_ms=0) as (fake, producer):
        fake.errors[key] = [code]
        with (
            pytest.raises(ApiError, match="longer than transaction_timeout_ms=0: make it") as late,
            producer.transaction(),
        ):
            producer.send("t", b"x", partition=0)
            producer.flush()
            producer.send_offsets_to_transaction({FIRST: 1}, "accounting")
        is_fenced = level == 1
        assert (late.value.code is ErrorCode.PRODUCER_FENCED) is is_fenced
        if is_fenced:
            with pytest.raises(ApiError, match="continue with a new Producer"):
                producer.begin_transaction()
        else:
            assert ends(fake)[-1] is False
            producer.begin_transaction()


def test_a_late_transaction_that_was_taken_over_is_fenced_by_its_abort() -> None:
    with talking(2, timeout_ms=0) as (fake, producer):
        fake.errors[PRODUCE] = [ErrorCode.INVALID_PRODUCER_EPOCH]
        fake.errors[END_TXN] = [ErrorCode.PRODUCER_FENCED]
        with pytest.raises(ApiError, match="longer than"), producer.transaction():
            producer.send("t", b"x", partition=0)
        with pytest.raises(ApiError) as fenced:
            producer.begin_transaction()
        assert fenced.value.code is ErrorCode.PRODUCER_FENCED


def test_a_time_out_that_brokers_do_not_allow_is_named() -> None:
    with talking(2, timeout_ms=10_000_000) as (fake, producer):
        fake.errors[INIT_PRODUCER_ID] = [ErrorCode.INVALID_TRANSACTION_TIMEOUT]
        remedy = r"transaction_timeout_ms=10000000 is above .* \(transaction\.max\.timeout\.ms\)"
        with pytest.raises(ApiError, match=remedy):
            producer.begin_transaction()


class Member:
    """What a producer wants to know of a member of a group."""

    group_id = "accounting"
    membership = Membership("member-1", 4, "instance-1")


def test_offsets_of_a_member_carry_its_generation_and_a_former_member_is_refused() -> None:
    with talking(2) as (fake, producer):
        with producer.transaction():
            producer.send_offsets_to_transaction({SECOND: 9}, Member())  # type: ignore[arg-type]
        request = fake.asked[1].request
        assert isinstance(request, TxnOffsetCommitRequest)
        assert (request.group_id, request.member_id) == ("accounting", "member-1")
        assert (request.generation_id, request.group_instance_id) == (4, "instance-1")
        fake.errors[TXN_OFFSET_COMMIT] = [ErrorCode.ILLEGAL_GENERATION]
        with (
            pytest.raises(ApiError, match="may belong to another member: abort, and poll again"),
            producer.transaction(),
        ):
            producer.send_offsets_to_transaction({SECOND: 9}, Member())  # type: ignore[arg-type]
        assert ends(fake) == [True, False]


CALLS: list[Callable[[Producer], None]] = [
    lambda producer: producer.commit_transaction(),
    lambda producer: producer.abort_transaction(),
    lambda producer: producer.send_offsets_to_transaction({FIRST: 1}, "accounting"),
    lambda producer: producer.send("t", b"x") and None,
]


@pytest.mark.parametrize("number", range(len(CALLS)))
def test_without_a_transaction_there_is_nothing_to_add_to_or_to_end(number: int) -> None:
    with talking(2) as (fake, producer):
        with pytest.raises(ApiError, match=r"call begin_transaction\(\) first") as refused:
            CALLS[number](producer)
        assert refused.value.code is ErrorCode.INVALID_TXN_STATE
        assert fake.asked == []


def test_a_producer_without_an_id_has_no_transactions() -> None:
    with (
        FakeCoordinator(2) as fake,
        Producer(fake.bootstrap) as producer,
        pytest.raises(ApiError, match="has no transactional_id: give it one"),
    ):
        producer.begin_transaction()


def test_a_transaction_needs_all_acknowledgements() -> None:
    with pytest.raises(ValueError, match="acks=1: a producer with transactional_id needs acks=-1"):
        Producer("localhost:9092", transactional_id=ID, acks=1)
    with pytest.raises(ValueError, match="idempotent=False: a producer with transactional_id"):
        Producer("localhost:9092", transactional_id=ID, idempotent=False)


def test_leaving_the_producer_aborts_what_is_open() -> None:
    with FakeCoordinator(2) as fake:
        with Producer(fake.bootstrap, transactional_id=ID) as producer:
            producer.begin_transaction()
            producer.send("t", b"x", partition=0)
            producer.flush()
        assert ends(fake) == [False]


def test_a_coordinator_that_has_left_the_cluster_is_looked_up_again() -> None:
    with talking(2) as (fake, producer):
        producer.begin_transaction()
        fake.errors[PRODUCE] = [ErrorCode.NOT_LEADER_OR_FOLLOWER]
        fake.node_id = 1
        # The new leader is found in new metadata, which the old coordinator is not part of.
        producer.send("t", b"a", partition=0)
        producer.flush()
        producer.commit_transaction()
        assert ends(fake) == [True]
