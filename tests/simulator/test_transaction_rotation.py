"""The last epoch of a producer id, while requests get lost and coordinators are replaced.

Whoever ends a transaction with the last epoch gets a new producer id. Numbers are those of Apache
Kafka's issues.
"""

import pytest

from moldau.coordinator.outcome import CoordinatorRecord, Outcome
from moldau.errors import ErrorCode
from moldau.network.outbound import Disconnected
from moldau.protocol.records.transaction_coordinator import TransactionLogKey, TransactionLogValue
from moldau.simulator.machine import Machine
from moldau.transaction_coordinator.status import TransactionStatus
from moldau.transaction_coordinator.transaction import MAX_PRODUCER_EPOCH
from tests.simulator.scenes import Scene, node_of, scene
from tests.simulator.test_transaction_failover import (
    DATA,
    OTHER,
    STATE,
    begin,
    create,
    log_of,
)
from tests.simulator.test_transaction_terms import BROKERS, brokers
from tests.simulator.transacting import (
    NONE,
    REPLICATED,
    Identity,
    Producer,
    committed,
    differences,
)

LAST_EPOCH = MAX_PRODUCER_EPOCH - 1


def begin_with_the_last_epoch(made: Scene, timeout_ms: int = 60_000) -> tuple[Producer, Machine]:
    """A producer that has had all other epochs of its id, and its coordinator."""
    producer = begin(made)
    coordinator = producer.coordinator()
    value = TransactionLogValue(
        producer_id=producer.identity.producer_id,
        previous_producer_id=producer.identity.producer_id,
        producer_epoch=LAST_EPOCH,
        transaction_timeout_ms=timeout_ms,
        transaction_status=int(TransactionStatus.EMPTY),
        transaction_partitions=None,
        transaction_last_update_timestamp_ms=coordinator.clock.wall_ms(),
        transaction_start_timestamp_ms=-1,
    )
    record = CoordinatorRecord(TransactionLogKey(producer.transactional_id), value)
    hosted = node_of(coordinator).broker.transactions.shard_of(producer.transactional_id)
    assert coordinator.process is not None
    coordinator.process.loop.run_turn(
        lambda: hosted.act("a test", lambda: Outcome([record]), coordinator.clock.wall_ms())
    )
    log = log_of(coordinator, STATE)
    made.wait_until(lambda: log.high_watermark == log.log_end_offset)
    producer.identity = Identity(producer.identity.producer_id, LAST_EPOCH)
    return producer, coordinator


def other_broker(made: Scene, coordinator: Machine) -> Machine:
    return next(each for each in brokers(made) if each is not coordinator)


def expect_another_transaction(
    made: Scene, producer: Producer, last: Identity, before: list[bytes]
) -> None:
    """The producer has a new id, with which it can go on, and the last one is of no use."""
    assert producer.identity.producer_id != last.producer_id
    assert producer.identity.epoch == 0
    producer.until_done(lambda: producer.produce(DATA, b"next"))
    assert producer.produce(DATA, b"late", 1, last) == ErrorCode.INVALID_PRODUCER_EPOCH
    producer.until_done(lambda: producer.end(is_commit=True))
    assert producer.identity.epoch == 1
    assert committed(made, DATA) == [*before, b"next"]
    assert differences(made, DATA) == []


@pytest.mark.parametrize("is_commit", [True, False])
def test_18660_the_end_with_the_last_epoch_is_answered_with_the_new_id_also_again(
    is_commit: bool,
) -> None:
    """Answers are lost before and after the markers are written."""
    with scene(BROKERS, settings=REPLICATED) as made:
        producer, coordinator = begin_with_the_last_epoch(made)
        leader = other_broker(made, coordinator)
        create(made, DATA, leader)
        last = producer.identity
        producer.until_done(lambda: producer.produce(DATA, b"1"))
        made.cut(coordinator, [leader])
        lose_the_answer(made, producer, coordinator, is_commit=is_commit)
        again = producer.end(is_commit=is_commit)
        assert again == ErrorCode.CONCURRENT_TRANSACTIONS, "its markers wait for their leader"
        made.mend(coordinator, [leader])
        made.wait_until(lambda: log_of(leader, DATA).last_stable_offset == 2)
        lose_the_answer(made, producer, coordinator, is_commit=is_commit)
        producer.until_done(lambda: producer.end(is_commit=is_commit))
        expect_another_transaction(made, producer, last, [b"1"] if is_commit else [])


def lose_the_answer(
    made: Scene, producer: Producer, coordinator: Machine, *, is_commit: bool
) -> None:
    """Send the end of the transaction, to which nothing comes back."""
    made.network.cut(coordinator.name, producer.client.name)
    with pytest.raises(Disconnected):
        producer.end(is_commit=is_commit)
    made.network.mend(coordinator.name, producer.client.name)
    made.run_for(2)


def test_18660_a_new_id_waits_until_the_last_transaction_of_the_old_one_is_complete() -> None:
    """The coordinator takes it over with completion; until then it is no stranger's."""
    with scene(BROKERS, settings=REPLICATED) as made:
        producer, coordinator = begin_with_the_last_epoch(made)
        leader = other_broker(made, coordinator)
        create(made, DATA, leader)
        create(made, OTHER, coordinator)
        last = producer.identity
        producer.until_done(lambda: producer.produce(DATA, b"1"))
        made.cut(coordinator, [leader])
        assert producer.end(is_commit=True) == NONE
        assert producer.produce(OTHER, b"1") == ErrorCode.CONCURRENT_TRANSACTIONS
        assert producer.init(producer.identity) == ErrorCode.CONCURRENT_TRANSACTIONS
        made.mend(coordinator, [leader])
        expect_another_transaction(made, producer, last, [b"1"])


def test_20090_a_late_abort_of_what_timed_out_with_the_last_epoch_gets_the_new_id() -> None:
    """The coordinator has fenced the producer, for whom there is no epoch left."""
    with scene(BROKERS, settings=REPLICATED) as made:
        producer, coordinator = begin_with_the_last_epoch(made, timeout_ms=3_000)
        leader = other_broker(made, coordinator)
        create(made, DATA, leader)
        last = producer.identity
        producer.until_done(lambda: producer.produce(DATA, b"1"))
        made.cut(coordinator, [leader])
        made.wait_until(lambda: producer.describe().transaction_state == "PrepareAbort")
        assert producer.end(is_commit=False) == ErrorCode.CONCURRENT_TRANSACTIONS
        made.mend(coordinator, [leader])
        producer.until_done(lambda: producer.end(is_commit=False))
        expect_another_transaction(made, producer, last, [])


@pytest.mark.parametrize("timeout_ms", [3_000, 60_000])
def test_20090_who_takes_over_what_timed_out_with_the_last_epoch_gets_a_new_id(
    timeout_ms: int,
) -> None:
    """If it has not timed out, it is aborted by the one who takes over."""
    with scene(BROKERS, settings=REPLICATED) as made:
        producer, coordinator = begin_with_the_last_epoch(made, timeout_ms)
        create(made, DATA, other_broker(made, coordinator))
        last = producer.identity
        producer.until_done(lambda: producer.produce(DATA, b"1"))
        made.run_for(8)
        is_aborted = producer.describe().transaction_state == "CompleteAbort"
        assert is_aborted == (timeout_ms == 3_000)
        second = Producer(made)
        second.begin_anew()
        assert second.identity.producer_id != last.producer_id
        assert producer.produce(DATA, b"2", 1) == ErrorCode.INVALID_PRODUCER_EPOCH
        second.until_done(lambda: second.produce(DATA, b"3"))
        second.until_done(lambda: second.end(is_commit=True))
        assert committed(made, DATA) == [b"3"]
        assert differences(made, DATA) == []


@pytest.mark.parametrize("is_answered", [True, False])
def test_20310_another_coordinator_knows_the_next_id_and_the_previous_one(
    is_answered: bool,
) -> None:
    """The first one dies before the markers are written: the next id is in its record only."""
    with scene(BROKERS, settings=REPLICATED) as made:
        producer, coordinator = begin_with_the_last_epoch(made)
        leader = other_broker(made, coordinator)
        create(made, DATA, leader)
        last = producer.identity
        producer.until_done(lambda: producer.produce(DATA, b"1"))
        made.cut(coordinator, [leader])
        if is_answered:
            assert producer.end(is_commit=True) == NONE
        else:
            lose_the_answer(made, producer, coordinator, is_commit=True)
        coordinator.kill()
        made.mend(coordinator, [leader])
        made.wait_until(lambda: log_of(leader, DATA).last_stable_offset == 2, seconds=60)
        if not is_answered:
            producer.until_done(lambda: producer.end(is_commit=True))
        expect_another_transaction(made, producer, last, [b"1"])
        coordinator.start()
        made.wait_until(made.are_ready, seconds=60)
