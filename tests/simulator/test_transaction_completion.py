"""The ends of transactions while coordinators and leaders come and go.

Numbers are those of Apache Kafka's issues.
"""

import pytest

from moldau.protocol.records.transaction_coordinator import TransactionLogValue
from moldau.record.records import decode_all
from moldau.simulator.machine import Machine
from moldau.simulator.transaction_invariants import read_log
from moldau.transaction_coordinator.records import decode_record
from moldau.transaction_coordinator.status import TransactionStatus
from tests.simulator.scenes import scene
from tests.simulator.test_transaction_failover import (
    DATA,
    OTHER,
    STATE,
    another,
    begin,
    create,
    log_of,
)
from tests.simulator.transacting import NONE, REPLICATED, committed, differences


def statuses(machine: Machine) -> list[TransactionStatus]:
    """What the log of the coordinator says about its transactions, in order."""
    found = []
    for _, records in decode_all(read_log(log_of(machine, STATE))):
        for record in records:
            assert record.key is not None
            assert record.value is not None
            decoded = decode_record(record.key, record.value)
            assert decoded is not None
            assert isinstance(decoded.value, TransactionLogValue)
            found.append(TransactionStatus(decoded.value.transaction_status))
    return found


@pytest.mark.parametrize("seed", range(1, 7))
def test_10080_a_transaction_is_completed_once_however_often_its_markers_are_sent(
    seed: int,
) -> None:
    """Connections are lost while markers are on their way, and their answers with them."""
    with scene("replicated", seed=seed, settings=REPLICATED) as made:
        producer = begin(made)
        coordinator = producer.coordinator()
        leader = another(made, coordinator)
        create(made, DATA, leader)
        create(made, OTHER, coordinator)
        count = 5
        for number in range(count):
            for each in (DATA, OTHER):
                value = b"%d" % number
                producer.until_done(lambda at=each, of=value: producer.produce(at, of))
            for after_us in range(0, 30_000, 2_000):
                made.world.after(after_us, made.network.reset_all, coordinator.name, leader.name)
            producer.until_done(lambda: producer.end(is_commit=True))
        expected = [b"%d" % number for number in range(count)]
        assert committed(made, DATA) == committed(made, OTHER) == expected
        made.wait_until(lambda: statuses(coordinator)[-1] == TransactionStatus.COMPLETE_COMMIT)
        found = statuses(coordinator)
        assert found.count(TransactionStatus.PREPARE_COMMIT) == count
        assert found.count(TransactionStatus.COMPLETE_COMMIT) == count


def test_19999_a_coordinator_that_is_loaded_again_writes_the_markers_that_waited() -> None:
    """They waited for a leader; those of the earlier term must not be tried for ever."""
    with scene("replicated", settings=REPLICATED) as made:
        producer = begin(made)
        coordinator = producer.coordinator()
        leader = another(made, coordinator)
        create(made, DATA, leader)
        producer.until_done(lambda: producer.produce(DATA, b"1"))
        leader.kill()
        assert producer.end(is_commit=True) == NONE
        made.run_for(2)
        coordinator.kill()
        made.run_for(1)
        leader.start()
        coordinator.start()
        made.wait_until(made.are_ready, seconds=60)
        made.wait_until(lambda: log_of(leader, DATA).last_stable_offset == 2, seconds=60)
        producer.until_done(lambda: producer.produce(DATA, b"2"))
        producer.until_done(lambda: producer.end(is_commit=True))
        assert committed(made, DATA) == [b"1", b"2"]
        assert differences(made, DATA) == []


def test_18654_a_batch_that_comes_while_the_last_transaction_completes_waits_for_that() -> None:
    """The client of the second protocol does not hear of it, if it does not take long."""
    patient = {**REPLICATED, "add.partitions.to.txn.retry.backoff.max.ms": "4000"}
    with scene("replicated", settings=patient) as made:
        producer = begin(made)
        coordinator = producer.coordinator()
        leader = another(made, coordinator)
        create(made, DATA, leader)
        create(made, OTHER, coordinator)
        producer.until_done(lambda: producer.produce(DATA, b"1"))
        made.network.cut(leader.name, coordinator.name)
        made.network.cut(coordinator.name, leader.name)
        assert producer.end(is_commit=True) == NONE
        client = producer.client
        writing = client.loop.run_turn(
            lambda: client.loop.create_task(producer.producing(OTHER, b"2"))
        )
        made.run_for(0.03)
        assert not writing.done()
        made.network.mend(leader.name, coordinator.name)
        made.network.mend(coordinator.name, leader.name)
        made.wait_until(writing.done)
        assert writing.result() == NONE
        assert log_of(leader, DATA).last_stable_offset == 2
        producer.until_done(lambda: producer.end(is_commit=True))
        assert committed(made, DATA) == [b"1"]
        assert committed(made, OTHER) == [b"2"]
