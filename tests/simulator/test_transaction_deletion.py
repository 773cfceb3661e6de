"""Records of transactions that are deleted or compacted away, and replicas that know only the rest.

Numbers are those of Apache Kafka's issues.
"""

import pytest

from moldau.ids import TopicPartition
from moldau.protocol.messages.delete_records import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsResponse,
    DeleteRecordsTopic,
)
from moldau.record.control import ControlType, encode_control_key
from moldau.record.records import decode_all
from moldau.simulator.clients.transactional_reader import Polled, TransactionalReader
from moldau.simulator.machine import Machine
from moldau.simulator.transaction_history import TransactionHistory
from moldau.simulator.transaction_invariants import has_no_open_transaction, read_log
from moldau.storage.log.partition_log import PartitionLog
from tests.simulator.scenes import Scene, scene
from tests.simulator.test_transaction_failover import (
    DATA,
    STATE,
    another,
    begin,
    create,
    is_in_sync,
    is_leader,
    log_of,
)
from tests.simulator.test_transaction_terms import BROKERS, brokers, elect, reassign
from tests.simulator.transacting import (
    NONE,
    REPLICATED,
    SETTINGS,
    TIMEOUT_MS,
    Producer,
    committed,
    differences,
)

RETENTION = {**REPLICATED, "log.retention.ms": "15000", "log.retention.check.interval.ms": "500"}
# Logs are cleaned as soon as there is anything to clean.
COMPACTION = {
    **REPLICATED,
    "transaction.state.log.replication.factor": "2",
    "transaction.state.log.min.isr": "1",
    "log.retention.check.interval.ms": "500",
    "log.roll.ms": "1000",
    "log.cleaner.backoff.ms": "300",
    "log.cleaner.min.cleanable.ratio": "0.001",
    "log.cleaner.delete.retention.ms": "1000",
}


def begin_everywhere(made: Scene) -> tuple[Producer, Machine]:
    """A producer, and the leader of its partition, of which everybody has a replica."""
    producer = begin(made)
    leader = another(made, producer.coordinator())
    create(made, DATA, leader, *made.others(leader))
    made.wait_until(lambda: is_in_sync(made, DATA))
    return producer, leader


def delete_before(made: Scene, leader: Machine, offset: int) -> None:
    client = made.client("admin")
    address = next(each for each in made.cluster.addresses if each.host == leader.name)
    topic = DeleteRecordsTopic(DATA.topic, [DeleteRecordsPartition(DATA.partition, offset)])
    request = DeleteRecordsRequest([topic], TIMEOUT_MS)
    answer = made.ask(client.send(address, request, DeleteRecordsResponse), client)
    assert answer.topics[0].partitions[0].error_code == NONE


def poll(made: Scene, start: int) -> Polled:
    """What a reader of committed records gets from the start of the log."""
    client = made.client("reader")
    reader = TransactionalReader(client, TransactionHistory())
    polled = made.ask(reader.poll(DATA, start), client)
    assert polled is not None
    return polled


def replace_leader(made: Scene, leader: Machine) -> Machine:
    """End the leader, and start it again when there is another."""
    others = made.others(leader)
    leader.kill()
    made.wait_until(lambda: any(is_leader(each, DATA) for each in others), seconds=60)
    (successor,) = [each for each in others if is_leader(each, DATA)]
    leader.start()
    made.wait_until(made.are_ready, seconds=60)
    return successor


def expect_the_rest(
    made: Scene, producer: Producer, leader: Machine, start: int, *, is_commit: bool
) -> None:
    """What is left of an open transaction is undecided under each leader, and then all or none."""
    assert log_of(leader, DATA).log_start_offset == start
    assert log_of(leader, DATA).last_stable_offset == start
    assert poll(made, start).records == ()
    successor = replace_leader(made, leader)
    assert log_of(successor, DATA).log_start_offset == start
    assert log_of(successor, DATA).last_stable_offset == start
    assert poll(made, start).records == ()
    producer.until_done(lambda: producer.end(is_commit=is_commit))
    made.wait_until(lambda: has_no_open_transaction(made.cluster, [DATA]), seconds=60)
    expected = ((2, b"3"),) if is_commit else ()
    assert poll(made, start).records == expected
    replace_leader(made, successor)
    assert poll(made, start).records == expected


@pytest.mark.parametrize("is_commit", [True, False])
def test_records_are_deleted_out_of_an_open_transaction(is_commit: bool) -> None:
    with scene("replicated", settings=REPLICATED) as made:
        producer, leader = begin_everywhere(made)
        for sequence, value in enumerate((b"1", b"2", b"3")):
            producer.until_done(lambda at=sequence, of=value: producer.produce(DATA, of, at))
        delete_before(made, leader, 2)
        expect_the_rest(made, producer, leader, 2, is_commit=is_commit)


@pytest.mark.parametrize("is_commit", [True, False])
def test_retention_deletes_the_beginning_of_an_open_transaction(is_commit: bool) -> None:
    with scene("replicated", settings=RETENTION) as made:
        producer, leader = begin_everywhere(made)
        for sequence, value in enumerate((b"1", b"2")):
            producer.until_done(lambda at=sequence, of=value: producer.produce(DATA, of, at))
        made.wait_until(lambda: log_of(leader, DATA).log_start_offset == 2, seconds=60)
        producer.until_done(lambda: producer.produce(DATA, b"3", 2))
        expect_the_rest(made, producer, leader, 2, is_commit=is_commit)


# --- compaction


def move_to_a_new_replica(made: Scene, topic_partition: TopicPartition, leader: Machine) -> Machine:
    """Let a broker that has no copy get one, and lead; who that is."""
    target = next(each for each in brokers(made) if not has_log(each, topic_partition))
    others = [each for each in brokers(made) if has_log(each, topic_partition)]
    reassign(made, topic_partition, target, *others)
    made.wait_until(lambda: is_in_sync(made, topic_partition) and has_log(target, topic_partition))
    elect(made, topic_partition, leader, target)
    return target


def has_log(machine: Machine, topic_partition: TopicPartition) -> bool:
    assert machine.node is not None
    return machine.node.broker.replicas.find(topic_partition) is not None


def test_a_coordinator_whose_log_was_compacted_is_replaced_by_one_without_a_copy() -> None:
    settings = {
        **COMPACTION,
        "transactional.id.expiration.ms": "3000",
        "transaction.remove.expired.transaction.cleanup.interval.ms": "1000",
    }
    with scene(BROKERS, settings=settings) as made:
        producer = begin(made)
        first = producer.coordinator()
        create(made, DATA, next(each for each in brokers(made) if each is not first))
        visitor = Producer(made, "visitor")
        visitor.begin_anew()
        producer.until_done(lambda: producer.produce(DATA, b"1"))
        log = log_of(first, STATE)
        made.wait_until(lambda: log.cleaner_checkpoint == log.log_end_offset == 4, seconds=60)
        second = move_to_a_new_replica(made, STATE, first)
        assert offsets_of(log_of(second, STATE)) == [2, 3], "an open transaction and a tombstone"
        producer.until_done(lambda: producer.produce(DATA, b"2", 1))
        producer.until_done(lambda: producer.end(is_commit=True))
        assert producer.coordinator() is second
        assert committed(made, DATA) == [b"1", b"2"]


def offsets_of(log: PartitionLog) -> list[int]:
    return [each.offset for _, records in decode_all(read_log(log)) for each in records]


def test_9065_a_coordinator_whose_last_records_were_compacted_away_is_loaded() -> None:
    """A log that Apache Kafka has compacted may end before its end offset."""
    with scene("single", settings=SETTINGS) as made:
        producer = begin(made)
        (machine,) = made.machines
        create(made, DATA, machine)
        producer.until_done(lambda: producer.produce(DATA, b"1"))
        assert machine.process is not None
        machine.process.loop.run_turn(lambda: log_of(machine, STATE).skip_to(1000))
        machine.kill()
        machine.start()
        made.wait_until(made.are_ready)
        assert log_of(machine, STATE).log_end_offset == 1000
        producer.until_done(lambda: producer.produce(DATA, b"2", 1))
        producer.until_done(lambda: producer.end(is_commit=True))
        assert committed(made, DATA) == [b"1", b"2"]
        assert log_of(machine, STATE).log_end_offset > 1000


def test_14055_a_new_replica_of_a_compacted_log_has_every_marker() -> None:
    """Also those whose key a later record has."""
    with scene(BROKERS, settings={**COMPACTION, "log.cleanup.policy": "compact"}) as made:
        producer = begin(made)
        leader, follower = brokers(made)[:2]
        create(made, DATA, leader, follower)
        imitator = Producer(made, "imitator")
        imitator.begin_anew()
        key = encode_control_key(ControlType.COMMIT)
        producer.until_done(lambda: producer.produce(DATA, b"1", key=b"a"))
        producer.until_done(lambda: producer.end(is_commit=True))
        imitator.until_done(lambda: imitator.produce(DATA, b"2", key=key))
        imitator.until_done(lambda: imitator.end(is_commit=True))
        log = log_of(leader, DATA)
        made.wait_until(lambda: log.cleaner_checkpoint == log.log_end_offset == 4, seconds=60)
        move_to_a_new_replica(made, DATA, leader)
        assert committed(made, DATA) == [b"1", b"2"]
        assert differences(made, DATA) == []
