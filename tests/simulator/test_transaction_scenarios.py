"""Transactions on one node: requests that come late, twice or for nothing, and losses of power.

Numbers are those of Apache Kafka's issues.
"""

import errno

import pytest

from moldau.errors import ErrorCode
from moldau.ids import TopicPartition
from moldau.simulator.clients.transactional_reader import TransactionalReader
from moldau.simulator.transaction_history import TransactionHistory
from moldau.simulator.world import US_PER_S
from tests.simulator.scenes import Scene, scene
from tests.simulator.transacting import (
    NONE,
    SETTINGS,
    V1,
    V2,
    Producer,
    committed,
    differences,
)

DATA = TopicPartition("data", 0)
OTHER = TopicPartition("other", 0)
STATE_LOG = "*/__transaction_state-0/*.log"
DURABLE = {**SETTINGS, "log.flush.interval.messages": "1"}
# More than the writes of one transaction.
MOST_WRITES = 80


def begin(made: Scene, versions: tuple[int, int] = V2, transactional_id: str = "t") -> Producer:
    assert made.create_topic(DATA.topic) in (NONE, ErrorCode.TOPIC_ALREADY_EXISTS)
    producer = Producer(made, transactional_id, versions)
    producer.begin_anew()
    return producer


def test_what_is_committed_is_read_and_what_is_aborted_is_not() -> None:
    with scene("single", settings=SETTINGS) as made:
        producer = begin(made)
        assert producer.produce(DATA, b"1") == NONE
        assert producer.end(is_commit=True) == NONE
        assert producer.produce(DATA, b"2") == NONE
        assert producer.end(is_commit=False) == NONE
        assert producer.produce(DATA, b"3") == NONE
        assert producer.end(is_commit=True) == NONE
        assert committed(made, DATA) == [b"1", b"3"]
        assert differences(made, DATA) == []


def test_nothing_of_an_open_transaction_is_read() -> None:
    with scene("single", settings=SETTINGS) as made:
        producer = begin(made)
        second = Producer(made, "other")
        second.begin_anew()
        assert second.produce(DATA, b"1") == NONE
        assert second.end(is_commit=True) == NONE
        assert producer.produce(DATA, b"2") == NONE
        assert poll(made) == (((0, b"1"),), 2)
        assert producer.end(is_commit=True) == NONE
        assert poll(made) == (((0, b"1"), (2, b"2")), 4)


def poll(made: Scene) -> tuple[tuple[tuple[int, bytes], ...], int]:
    """What a reader of committed records gets from the beginning, and how far."""
    client = made.client("reader")
    reader = TransactionalReader(client, TransactionHistory())
    polled = made.ask(reader.poll(DATA, 0), client)
    assert polled is not None
    return polled.records, polled.next_position


def test_890_a_late_batch_after_an_abort_is_not_written() -> None:
    with scene("single", settings=SETTINGS) as made:
        producer = begin(made)
        late = producer.identity
        assert producer.produce(DATA, b"1") == NONE
        assert producer.end(is_commit=False) == NONE
        assert producer.produce(DATA, b"late", 1, late) == ErrorCode.INVALID_PRODUCER_EPOCH
        assert committed(made, DATA) == []


def test_890_a_late_batch_is_not_written_into_the_next_transaction() -> None:
    with scene("single", settings=SETTINGS) as made:
        producer = begin(made)
        late = producer.identity
        assert producer.produce(DATA, b"1") == NONE
        assert producer.end(is_commit=False) == NONE
        assert producer.produce(DATA, b"2") == NONE
        assert producer.produce(DATA, b"late", 1, late) == ErrorCode.INVALID_PRODUCER_EPOCH
        assert producer.end(is_commit=True) == NONE
        assert committed(made, DATA) == [b"2"]


def test_890_a_late_batch_that_would_have_been_the_first_is_not_written() -> None:
    """The partition does not know the producer, and the coordinator knows a later epoch."""
    with scene("single", settings=SETTINGS) as made:
        producer = begin(made)
        late = producer.identity
        assert producer.end(is_commit=False) == NONE
        assert producer.produce(DATA, b"late", 0, late) != NONE
        assert producer.produce(DATA, b"1") == NONE
        assert producer.end(is_commit=True) == NONE
        assert committed(made, DATA) == [b"1"]


def test_890_a_late_batch_of_the_first_protocol_leaves_nothing_open() -> None:
    with scene("single", settings=SETTINGS) as made:
        producer = begin(made, V1)
        assert producer.add(DATA) == NONE
        assert producer.produce(DATA, b"1") == NONE
        assert producer.end(is_commit=False) == NONE
        assert producer.produce(DATA, b"late", 1) == ErrorCode.TRANSACTION_ABORTABLE
        assert committed(made, DATA) == []


def test_890_a_batch_for_a_partition_that_was_never_added_leaves_nothing_open() -> None:
    with scene("single", settings=SETTINGS) as made:
        producer = begin(made, V1)
        assert producer.produce(DATA, b"1") == ErrorCode.TRANSACTION_ABORTABLE
        assert committed(made, DATA) == []


def test_17754_a_delayed_end_does_not_decide_the_next_transaction() -> None:
    with scene("single", settings=SETTINGS) as made:
        producer = begin(made)
        late = producer.identity
        assert producer.produce(DATA, b"1") == NONE
        assert producer.end(is_commit=True) == NONE
        assert producer.produce(DATA, b"2") == NONE
        assert producer.end(is_commit=True, identity=late) == ErrorCode.PRODUCER_FENCED
        assert producer.end(is_commit=False) == NONE
        assert committed(made, DATA) == [b"1"]


@pytest.mark.parametrize("is_commit", [True, False])
def test_an_end_that_is_repeated_is_answered_again(is_commit: bool) -> None:
    with scene("single", settings=SETTINGS) as made:
        producer = begin(made)
        repeated = producer.identity
        assert producer.produce(DATA, b"1") == NONE
        assert producer.end(is_commit=is_commit) == NONE
        after = producer.identity
        assert producer.end(is_commit=is_commit, identity=repeated) == NONE
        assert producer.identity == after
        assert committed(made, DATA) == ([b"1"] if is_commit else [])


def test_18464_the_abort_of_nothing_does_not_fence_its_producer() -> None:
    with scene("single", settings=SETTINGS) as made:
        producer = begin(made)
        for _ in range(3):
            assert producer.end(is_commit=False) == NONE
        assert producer.produce(DATA, b"1") == NONE
        assert producer.end(is_commit=True) == NONE
        assert committed(made, DATA) == [b"1"]


def test_19367_a_second_instance_aborts_what_the_first_has_begun_and_goes_on() -> None:
    with scene("single", settings=SETTINGS) as made:
        first = begin(made)
        assert first.produce(DATA, b"1") == NONE
        second = Producer(made)
        second.begin_anew()
        assert second.identity.producer_id == first.identity.producer_id
        assert second.identity.epoch == first.identity.epoch + 2
        assert second.produce(DATA, b"2") == NONE
        assert second.end(is_commit=True) == NONE
        assert first.produce(DATA, b"3", 1) == ErrorCode.INVALID_PRODUCER_EPOCH
        assert first.end(is_commit=True) == ErrorCode.PRODUCER_FENCED
        assert committed(made, DATA) == [b"2"]


@pytest.mark.parametrize("versions", [V1, V2])
def test_9666_a_fence_for_which_there_is_no_room_is_tried_again_without_another_bump(
    versions: tuple[int, int],
) -> None:
    with scene("single", settings=SETTINGS) as made:
        first = begin(made, versions)
        if versions == V1:
            assert first.add(DATA) == NONE
        assert first.produce(DATA, b"1") == NONE
        second = Producer(made, versions=versions)
        assert second.describe().transaction_state == "Ongoing"
        (machine,) = made.machines
        machine.disk.fail_next("append", STATE_LOG, errno.ENOSPC, count=3)
        assert second.init() not in (NONE, ErrorCode.CONCURRENT_TRANSACTIONS)
        second.begin_anew()
        assert second.identity.producer_id == first.identity.producer_id
        assert second.identity.epoch == first.identity.epoch + 2
        if versions == V1:
            assert second.add(DATA) == NONE
        assert second.produce(DATA, b"2") == NONE
        assert second.end(is_commit=True) == NONE
        assert first.produce(DATA, b"3", 1) == ErrorCode.INVALID_PRODUCER_EPOCH
        assert committed(made, DATA) == [b"2"]
        assert differences(made, DATA) == []


@pytest.mark.parametrize("versions", [V1, V2])
def test_19690_a_producer_whose_transaction_timed_out_gets_invalid_producer_epoch(
    versions: tuple[int, int],
) -> None:
    with scene("single", settings=SETTINGS) as made:
        producer = begin(made, versions)
        producer.begin_anew(timeout_ms=2_000)
        if versions == V1:
            assert producer.add(DATA) == NONE
        assert producer.produce(DATA, b"1") == NONE
        made.run_for(6)
        assert producer.describe().transaction_state == "CompleteAbort"
        assert producer.produce(DATA, b"2", 1) == ErrorCode.INVALID_PRODUCER_EPOCH
        # Also from a partition that does not know the producer, but asks the coordinator.
        assert made.create_topic(OTHER.topic) == NONE
        assert producer.produce(OTHER, b"2") == ErrorCode.INVALID_PRODUCER_EPOCH
        assert producer.end(is_commit=True) != NONE
        assert committed(made, DATA) == []


def test_a_transaction_that_is_worked_on_is_not_aborted_before_its_time() -> None:
    with scene("single", settings=SETTINGS) as made:
        producer = begin(made)
        producer.begin_anew(timeout_ms=10_000)
        assert producer.produce(DATA, b"1") == NONE
        made.run_for(8)
        assert producer.produce(DATA, b"2", 1) == NONE
        assert producer.end(is_commit=True) == NONE
        assert committed(made, DATA) == [b"1", b"2"]


def test_an_id_that_has_expired_stays_forgotten_after_a_restart() -> None:
    settings = {
        **SETTINGS,
        "transactional.id.expiration.ms": "3000",
        "transaction.remove.expired.transaction.cleanup.interval.ms": "1000",
    }
    with scene("single", settings=settings) as made:
        producer = begin(made)
        assert producer.produce(DATA, b"1") == NONE
        assert producer.end(is_commit=True) == NONE
        made.run_for(10)
        forgotten = ErrorCode.TRANSACTIONAL_ID_NOT_FOUND
        assert producer.describe().error_code == forgotten
        restart(made)
        producer.until_done(lambda: retriable_only(producer))
        assert producer.describe().error_code == forgotten


def retriable_only(producer: Producer) -> ErrorCode:
    """NONE as soon as the coordinator says anything final about the id."""
    code = ErrorCode(producer.describe().error_code)
    return code if code.retriable else NONE


def restart(made: Scene) -> None:
    (machine,) = made.machines
    machine.kill()
    machine.start()
    made.wait_until(made.are_ready)


def test_an_open_transaction_survives_a_restart() -> None:
    with scene("single", settings=SETTINGS) as made:
        producer = begin(made)
        assert producer.produce(DATA, b"1") == NONE
        restart(made)
        producer.until_done(lambda: producer.produce(DATA, b"2", 1))
        producer.until_done(lambda: producer.end(is_commit=True))
        assert committed(made, DATA) == [b"1", b"2"]
        assert differences(made, DATA) == []


@pytest.mark.parametrize("versions", [V1, V2])
def test_a_loss_of_power_at_any_write_of_a_transaction_loses_nothing(
    versions: tuple[int, int],
) -> None:
    """From the first partition that is added to the record that says that all is complete."""
    with scene("single", settings=DURABLE) as made:
        (machine,) = made.machines
        producer = begin(made, versions)
        keep_alive(made)
        expected: list[bytes] = []
        for writes in range(MOST_WRITES):
            runs = machine.runs
            machine.cut_power_after(writes)
            value = str(writes).encode()
            carry_out(made, producer, value, versions)
            expected.append(value)
            if machine.runs == runs and machine.process is not None:
                machine.cut_power()
                if writes > MOST_WRITES // 2:
                    break
            made.wait_until(made.are_ready)
        assert committed(made, DATA) == expected
        assert differences(made, DATA) == []


def keep_alive(made: Scene) -> None:
    """From now on the power returns a while after it has gone."""
    (machine,) = made.machines
    if machine.process is None:
        machine.return_power()
        machine.start()
    made.world.after(US_PER_S // 2, keep_alive, made)


def carry_out(made: Scene, producer: Producer, value: bytes, versions: tuple[int, int]) -> None:
    """A transaction with one record, repeated as often as the power goes."""
    steps = [lambda: producer.produce(DATA, value), lambda: producer.end(is_commit=True)]
    if versions == V1:
        # The first protocol goes on in its epoch, and its sequences go on with it.
        steps = [producer.init, lambda: producer.add(DATA), *steps]
    for step in steps:
        producer.until_done(step)


# --- offsets ---


def test_the_offset_of_a_later_plain_commit_stays_when_the_transaction_commits() -> None:
    """The order of the records decides, not that of the marker; also when they are loaded."""
    with scene("single", settings=SETTINGS) as made:
        producer = begin(made)
        assert producer.commit_offset("g", DATA, 1) == NONE
        assert producer.send_offset("g", DATA, 5) == NONE
        assert producer.commit_offset("g", DATA, 9) == NONE
        assert producer.end(is_commit=True) == NONE
        assert producer.fetch_offset("g", DATA) == (NONE, 9)
        restart(made)
        producer.until_done(lambda: producer.fetch_offset("g", DATA)[0])
        assert producer.fetch_offset("g", DATA) == (NONE, 9)


def test_the_offset_of_a_transaction_counts_when_it_commits_and_not_before() -> None:
    with scene("single", settings=SETTINGS) as made:
        producer = begin(made)
        assert producer.commit_offset("g", DATA, 1) == NONE
        assert producer.send_offset("g", DATA, 5) == NONE
        assert producer.fetch_offset("g", DATA) == (ErrorCode.UNSTABLE_OFFSET_COMMIT, -1)
        assert producer.fetch_offset("g", DATA, is_stable=False) == (NONE, 1)
        restart(made)
        producer.until_done(lambda: producer.fetch_offset("g", DATA, is_stable=False)[0])
        assert producer.fetch_offset("g", DATA) == (ErrorCode.UNSTABLE_OFFSET_COMMIT, -1)
        producer.until_done(lambda: producer.end(is_commit=True))
        assert producer.fetch_offset("g", DATA) == (NONE, 5)


def test_the_offset_of_an_aborted_transaction_does_not_count() -> None:
    with scene("single", settings=SETTINGS) as made:
        producer = begin(made)
        assert producer.commit_offset("g", DATA, 1) == NONE
        assert producer.send_offset("g", DATA, 5) == NONE
        assert producer.end(is_commit=False) == NONE
        assert producer.fetch_offset("g", DATA) == (NONE, 1)
        restart(made)
        producer.until_done(lambda: producer.fetch_offset("g", DATA)[0])
        assert producer.fetch_offset("g", DATA) == (NONE, 1)
