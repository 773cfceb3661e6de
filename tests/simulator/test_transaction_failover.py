"""Transactions in a cluster: coordinators and leaders that are cut off, killed and replaced.

Numbers are those of Apache Kafka's issues.
"""

import pytest

from moldau.errors import ErrorCode
from moldau.ids import TopicPartition
from moldau.network.outbound import Disconnected
from moldau.simulator.machine import Machine
from moldau.storage.log.partition_log import PartitionLog
from tests.simulator.scenes import Scene, node_of, scene
from tests.simulator.transacting import (
    NONE,
    REPLICATED,
    V1,
    V2,
    Producer,
    committed,
    differences,
)

DATA = TopicPartition("data", 0)
OTHER = TopicPartition("other", 0)
STATE = TopicPartition("__transaction_state", 0)


def id_of(machine: Machine) -> int:
    return machine.config.node_id


def log_of(machine: Machine, topic_partition: TopicPartition) -> PartitionLog:
    partition = node_of(machine).broker.replicas.find(topic_partition)
    assert partition is not None
    return partition.log


def begin(made: Scene, versions: tuple[int, int] = V2) -> Producer:
    producer = Producer(made, versions=versions)
    producer.begin_anew(timeout_ms=60_000)
    made.wait_until(lambda: is_in_sync(made, STATE))
    return producer


def is_in_sync(made: Scene, topic_partition: TopicPartition) -> bool:
    topic = made.image().topics_by_name.get(topic_partition.topic)
    return topic is not None and len(topic.partitions[0].isr) == len(topic.partitions[0].replicas)


def create(made: Scene, topic_partition: TopicPartition, *machines: Machine) -> None:
    """A topic with its replicas on these machines, of which the first leads."""
    assert made.create_topic(topic_partition.topic, replicas=[id_of(m) for m in machines]) == NONE


def another(made: Scene, *machines: Machine) -> Machine:
    """A machine that is none of these, and not the active controller if that is possible."""
    others = made.others(*machines)
    return next((each for each in others if each is not made.active()), others[0])


@pytest.mark.parametrize("versions", [V1, V2])
def test_a_transaction_spans_leaders_on_other_brokers(versions: tuple[int, int]) -> None:
    with scene("replicated", settings=REPLICATED) as made:
        producer = begin(made, versions)
        coordinator = producer.coordinator()
        create(made, DATA, another(made, coordinator))
        create(made, OTHER, coordinator)
        for is_commit in (True, False):
            sequence = 0 if is_commit or versions == V2 else 1
            for each in (DATA, OTHER):
                if versions == V1:
                    producer.until_done(lambda at=each: producer.add(at))
                producer.until_done(
                    lambda at=each, of=sequence: producer.produce(at, b"%d" % of, of)
                )
            producer.until_done(lambda end=is_commit: producer.end(is_commit=end))
        assert committed(made, DATA) == committed(made, OTHER) == [b"0"]


def test_a_new_coordinator_writes_the_markers_that_the_old_one_has_not_written() -> None:
    with scene("replicated", settings=REPLICATED) as made:
        producer = begin(made)
        coordinator = producer.coordinator()
        leader = another(made, coordinator)
        create(made, DATA, leader)
        producer.until_done(lambda: producer.produce(DATA, b"1"))
        made.cut(coordinator, [leader])
        assert producer.end(is_commit=True) == NONE
        made.run_for(1)
        assert log_of(leader, DATA).last_stable_offset == 0
        coordinator.kill()
        made.wait_until(lambda: log_of(leader, DATA).last_stable_offset == 2)
        made.mend(coordinator, [leader])
        coordinator.start()
        made.wait_until(made.are_ready)
        producer.until_done(lambda: producer.produce(DATA, b"2"))
        producer.until_done(lambda: producer.end(is_commit=True))
        assert committed(made, DATA) == [b"1", b"2"]
        assert differences(made, DATA) == []


def test_18575_a_new_transaction_waits_until_the_old_one_is_complete() -> None:
    with scene("replicated", settings=REPLICATED) as made:
        producer = begin(made)
        coordinator = producer.coordinator()
        leader = another(made, coordinator)
        create(made, DATA, leader)
        create(made, OTHER, coordinator)
        producer.until_done(lambda: producer.produce(DATA, b"1"))
        made.cut(coordinator, [leader])
        assert producer.end(is_commit=True) == NONE
        code = producer.produce(OTHER, b"2")
        assert code == ErrorCode.CONCURRENT_TRANSACTIONS
        made.mend(coordinator, [leader])
        for each in (OTHER, DATA):
            producer.until_done(lambda at=each: producer.produce(at, b"2"))
        producer.until_done(lambda: producer.end(is_commit=True))
        assert committed(made, DATA) == [b"1", b"2"]
        assert committed(made, OTHER) == [b"2"]


def test_a_marker_waits_for_a_leader_and_is_the_same_when_there_is_one() -> None:
    with scene("replicated", settings=REPLICATED) as made:
        producer = begin(made)
        coordinator = producer.coordinator()
        leader = another(made, coordinator)
        create(made, DATA, leader)
        producer.until_done(lambda: producer.produce(DATA, b"1"))
        leader.kill()
        made.wait_until(lambda: not is_led(made, DATA))
        assert producer.end(is_commit=True) == NONE
        made.run_for(5)
        leader.start()
        made.wait_until(made.are_ready)
        producer.until_done(lambda: producer.produce(DATA, b"2"))
        producer.until_done(lambda: producer.end(is_commit=True))
        assert committed(made, DATA) == [b"1", b"2"]
        assert differences(made, DATA) == []


def is_led(made: Scene, topic_partition: TopicPartition) -> bool:
    return made.image().topics_by_name[topic_partition.topic].partitions[0].leader >= 0


def test_nothing_is_decided_before_its_decision_is_committed() -> None:
    """The coordinator leads a partition itself, and could write its marker at once."""
    with scene("replicated", settings=REPLICATED) as made:
        producer = begin(made)
        coordinator = producer.coordinator()
        create(made, DATA, coordinator)
        producer.until_done(lambda: producer.produce(DATA, b"1"))
        others = made.others(coordinator)
        made.cut(coordinator, others)
        with pytest.raises(Disconnected):
            producer.end(is_commit=True)
        assert log_of(coordinator, DATA).last_stable_offset == 0
        # Meanwhile there is another coordinator, who knows nothing of a decision.
        second = Producer(made)
        with_others = [each for each in made.cluster.addresses if each.host != coordinator.name]
        second.client._bootstrap[:] = with_others
        made.wait_until(lambda: any(is_leader(each, STATE) for each in others), seconds=60)
        second.until_done(lambda: prepare_abort(second))
        made.mend(coordinator, others)
        assert committed(made, DATA) == []
        assert differences(made, DATA) == []


def prepare_abort(producer: Producer) -> ErrorCode:
    """Fence the first instance; that its markers are not written yet is fine."""
    code = producer.init()
    return NONE if code == ErrorCode.CONCURRENT_TRANSACTIONS else code


def is_leader(machine: Machine, topic_partition: TopicPartition) -> bool:
    partition = node_of(machine).broker.replicas.find(topic_partition)
    return partition is not None and partition.is_leader


def test_a_marker_that_is_truncated_leaves_no_trace() -> None:
    """State, index and last stable offset of the former leader equal a fresh replay."""
    with scene("replicated", settings=REPLICATED) as made:
        producer = begin(made)
        coordinator = producer.coordinator()
        others = made.others(coordinator)
        create(made, DATA, coordinator, *others)
        made.wait_until(lambda: is_in_sync(made, DATA))
        producer.until_done(lambda: producer.produce(DATA, b"1"))
        ending = producer.client.loop.run_turn(
            lambda: producer.client.loop.create_task(producer.ending(is_commit=False))
        )
        log = log_of(coordinator, DATA)
        made.wait_until(lambda: log.log_end_offset == 2)
        made.cut(coordinator, others)
        made.wait_until(lambda: any(is_leader(each, DATA) for each in others), seconds=60)
        (leader,) = [each for each in others if is_leader(each, DATA)]
        made.wait_until(lambda: log_of(leader, DATA).last_stable_offset == 2, seconds=60)
        made.mend(coordinator, others)
        made.wait_until(lambda: is_in_sync(made, DATA), seconds=60)
        made.wait_until(ending.done)
        ending.exception()
        assert committed(made, DATA) == []
        assert differences(made, DATA) == []


def test_a_topic_that_is_deleted_before_its_marker_does_not_hold_up_its_transaction() -> None:
    with scene("replicated", settings=REPLICATED) as made:
        producer = begin(made)
        coordinator = producer.coordinator()
        leader = another(made, coordinator)
        create(made, DATA, leader)
        create(made, OTHER, coordinator)
        for each in (DATA, OTHER):
            producer.until_done(lambda at=each: producer.produce(at, b"1"))
        made.cut(coordinator, [leader])
        assert producer.end(is_commit=True) == NONE
        through = next(each for each in made.cluster.addresses if each.host != leader.name)
        assert made.delete_topic(DATA.topic, through) == NONE
        made.wait_until(lambda: log_of(coordinator, OTHER).last_stable_offset == 2)
        producer.until_done(lambda: producer.produce(OTHER, b"2"))
        producer.until_done(lambda: producer.end(is_commit=True))
        made.mend(coordinator, [leader])
        assert committed(made, OTHER) == [b"1", b"2"]


def test_9666_a_fence_that_cannot_be_written_is_written_by_the_next_attempt() -> None:
    with scene("replicated", settings=REPLICATED) as made:
        first = begin(made)
        coordinator = first.coordinator()
        create(made, DATA, coordinator)
        first.until_done(lambda: first.produce(DATA, b"1"))
        others = made.others(coordinator)
        second = Producer(made)
        second.coordinator()
        made.cut(coordinator, others)
        with pytest.raises(Disconnected):
            second.init()
        made.mend(coordinator, others)
        second.begin_anew()
        second.until_done(lambda: second.produce(DATA, b"2"))
        second.until_done(lambda: second.end(is_commit=True))
        assert first.produce(DATA, b"3", 1) == ErrorCode.INVALID_PRODUCER_EPOCH
        assert committed(made, DATA) == [b"2"]


def test_15468_a_follower_that_leaves_the_isr_does_not_interrupt_the_coordinator() -> None:
    with scene("replicated", settings=REPLICATED) as made:
        producer = begin(made)
        coordinator = producer.coordinator()
        create(made, DATA, coordinator)
        producer.until_done(lambda: producer.produce(DATA, b"1"))
        epoch = node_of(coordinator).broker.replicas.find(STATE)
        assert epoch is not None
        before = epoch.leader_epoch
        transactions = node_of(coordinator).broker.transactions
        hosted = transactions.shard_of(producer.transactional_id)
        follower = another(made, coordinator)
        follower.kill()
        made.wait_until(lambda: not is_in_sync(made, STATE))
        # The coordinator knows it as well.
        made.run_for(1)
        assert epoch.leader_epoch == before
        # At once: nothing is loaded again.
        assert transactions.shard_of(producer.transactional_id) is hosted
        assert producer.produce(DATA, b"2", 1) == NONE
        assert producer.end(is_commit=True) == NONE
        follower.start()
        made.wait_until(made.are_ready)
        assert committed(made, DATA) == [b"1", b"2"]


@pytest.mark.parametrize("seed", range(3, 9))
def test_a_batch_whose_verification_is_overtaken_by_the_end_is_not_written(seed: int) -> None:
    """The answer of the coordinator, and its marker, travel on two connections."""
    with scene("replicated", seed=seed, settings=REPLICATED) as made:
        producer = begin(made, V1)
        coordinator = producer.coordinator()
        leader = another(made, coordinator)
        create(made, DATA, leader)
        client = producer.client
        # One transaction opens the connections, so that only the delays decide what comes first.
        producer.until_done(lambda: producer.add(DATA))
        producer.until_done(lambda: producer.produce(DATA, b"1"))
        producer.until_done(lambda: producer.end(is_commit=True))
        producer.until_done(lambda: producer.add(DATA))
        made.network.cut(coordinator.name, leader.name)
        late = client.loop.run_turn(
            lambda: client.loop.create_task(producer.producing(DATA, b"late", 1))
        )
        made.run_for(0.1)
        assert not late.done()
        assert producer.end(is_commit=False) == NONE
        made.run_for(0.1)
        made.network.mend(coordinator.name, leader.name)
        made.wait_until(late.done)
        # Either it was written before the marker, which then aborts it, or it is refused.
        assert committed(made, DATA) == [b"1"]
        assert differences(made, DATA) == []
