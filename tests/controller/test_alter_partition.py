"""AlterPartition: what a leader may change, and each way to be refused, as in Apache Kafka."""

from collections.abc import Callable
from typing import Any

import pytest

from moldau.controller.context import DecisionContext
from moldau.errors import ApiError, ErrorCode
from moldau.metadata.registrations import PartitionRegistration
from moldau.protocol.messages.alter_partition import (
    AlterPartitionRequest,
    BrokerState,
    PartitionData,
    PartitionDataResponse,
    TopicData,
)
from moldau.protocol.messages.create_topics import CreatableReplicaAssignment, CreatableTopic
from moldau.protocol.records.metadata import BrokerRegistrationChangeRecord, PartitionChangeRecord
from tests.controller.cluster import Cluster

LEADER = 1


def placed(
    replicas: list[int], *, brokers: int = 4, level: int = 30, min_isr: str = "1"
) -> Cluster:
    """A cluster with the topic "river" of one partition on these replicas, led by the first."""
    cluster = Cluster(brokers, level=level, settings={"min.insync.replicas": min_isr})
    assignment = CreatableReplicaAssignment(partition_index=0, broker_ids=replicas)
    wanted = CreatableTopic(
        name="river", num_partitions=-1, replication_factor=-1, assignments=[assignment]
    )
    assert cluster.create(wanted) == [(0, "")]
    return cluster


def partition(cluster: Cluster) -> PartitionRegistration:
    return cluster.image.topics_by_name["river"].partitions[0]


def wanted_isr(cluster: Cluster, isr: list[int], **fields: Any) -> PartitionData:
    """A request for this ISR, with the epochs of the moment unless ``fields`` say otherwise."""
    current = partition(cluster)
    brokers = cluster.image.brokers
    given = {
        "leader_epoch": current.leader_epoch,
        "partition_epoch": current.partition_epoch,
        "leader_recovery_state": current.leader_recovery_state,
        "new_isr_with_epochs": [
            BrokerState(broker_id=each, broker_epoch=brokers[each].epoch if each in brokers else -1)
            for each in isr
        ],
        **fields,
    }
    return PartitionData(partition_index=0, **given)


def alter(
    cluster: Cluster,
    *wanted: PartitionData,
    sender: int = LEADER,
    version: int = 3,
    topic_id: bytes | None = None,
) -> list[PartitionDataResponse]:
    request = AlterPartitionRequest(
        broker_id=sender,
        broker_epoch=cluster.image.brokers[sender].epoch,
        topics=[
            TopicData(
                topic_id=topic_id or cluster.image.topics_by_name["river"].id,
                partitions=list(wanted),
            )
        ],
    )
    [answered] = cluster.decide(request, version).topics
    assert answered.topic_id == request.topics[0].topic_id
    return list(answered.partitions)


def code(cluster: Cluster, wanted: PartitionData, **arguments: Any) -> int:
    [answer] = alter(cluster, wanted, **arguments)
    return answer.error_code


def test_the_isr_shrinks_and_grows_without_a_new_leader_epoch() -> None:
    cluster = placed([1, 2, 3])
    [shrunk] = alter(cluster, wanted_isr(cluster, [1, 2]))
    expected = PartitionDataResponse(
        partition_index=0, leader_id=1, leader_epoch=0, isr=[1, 2], partition_epoch=1
    )
    assert shrunk == expected
    [grown] = alter(cluster, wanted_isr(cluster, [1, 2, 3]))
    assert (grown.isr, grown.leader_epoch, grown.partition_epoch) == ([1, 2, 3], 0, 2)
    assert partition(cluster).isr == (1, 2, 3)


def test_the_same_isr_is_answered_without_a_record() -> None:
    cluster = placed([1, 2, 3])
    end = cluster.offset
    [answer] = alter(cluster, wanted_isr(cluster, [1, 2, 3]))
    assert (answer.error_code, answer.partition_epoch) == (0, 0)
    assert cluster.offset == end


def test_before_3_6_a_smaller_isr_starts_a_leader_epoch() -> None:
    """KAFKA-15021: brokers of that time needed it."""
    for level, epoch in ((11, 1), (12, 0)):
        cluster = placed([1, 2, 3], level=level)
        [answer] = alter(cluster, wanted_isr(cluster, [1, 2]), version=3)
        assert answer.leader_epoch == epoch
        [answer] = alter(cluster, wanted_isr(cluster, [1, 2, 3]), version=3)
        assert answer.leader_epoch == epoch


def test_version_2_has_no_broker_epochs() -> None:
    cluster = placed([1, 2, 3])
    wanted = wanted_isr(cluster, [], new_isr=[1, 3], new_isr_with_epochs=[])
    [answer] = alter(cluster, wanted, version=2)
    assert answer.isr == [1, 3]


REFUSALS: list[tuple[str, dict[str, Any], ErrorCode]] = [
    ("a newer leader epoch", {"leader_epoch": 9}, ErrorCode.NOT_CONTROLLER),
    ("a newer partition epoch", {"partition_epoch": 9}, ErrorCode.NOT_CONTROLLER),
    ("an older leader epoch", {"leader_epoch": -1}, ErrorCode.FENCED_LEADER_EPOCH),
    ("an older partition epoch", {"partition_epoch": -1}, ErrorCode.INVALID_UPDATE_VERSION),
    ("a recovery that was done", {"leader_recovery_state": 1}, ErrorCode.INVALID_REQUEST),
    ("no such recovery state", {"leader_recovery_state": 7}, ErrorCode.INVALID_REQUEST),
]


@pytest.mark.parametrize(("fields", "expected"), [each[1:] for each in REFUSALS])
def test_stale_and_wrong_epochs_have_their_own_codes(
    fields: dict[str, Any], expected: ErrorCode
) -> None:
    cluster = placed([1, 2, 3])
    end = cluster.offset
    assert code(cluster, wanted_isr(cluster, [1], **fields)) == expected
    assert cluster.offset == end


@pytest.mark.parametrize("isr", [[], [2, 3], [1, 2, 2], [1, 4], [1, -1]], ids=lambda isr: str(isr))
def test_an_isr_has_the_leader_and_only_replicas_and_each_once(isr: list[int]) -> None:
    cluster = placed([1, 2, 3])
    assert code(cluster, wanted_isr(cluster, isr)) == ErrorCode.INVALID_REQUEST


def test_only_the_leader_is_asked() -> None:
    cluster = placed([1, 2, 3])
    refused = code(cluster, wanted_isr(cluster, [1, 2]), sender=2)
    assert refused == ErrorCode.INVALID_REQUEST


def test_topics_and_partitions_that_are_not_there() -> None:
    cluster = placed([1, 2, 3])
    other = wanted_isr(cluster, [1])
    assert code(cluster, other, topic_id=b"x" * 16) == ErrorCode.UNKNOWN_TOPIC_ID
    other.partition_index = 5
    assert code(cluster, other) == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def test_an_earlier_incarnation_of_a_leader_is_refused() -> None:
    cluster = placed([1, 2, 3])
    request = AlterPartitionRequest(broker_id=1, broker_epoch=0)
    with pytest.raises(ApiError) as caught:
        cluster.decide(request)
    assert caught.value.code == ErrorCode.STALE_BROKER_EPOCH


def fence(cluster: Cluster) -> None:
    cluster.heartbeat(3, fence=True)


def stop(cluster: Cluster) -> None:
    epoch = cluster.image.brokers[3].epoch
    change = BrokerRegistrationChangeRecord(
        broker_id=3, broker_epoch=epoch, in_controlled_shutdown=1
    )
    cluster.commit([change])


def restart(cluster: Cluster) -> None:
    cluster.now_ms += 10_000
    cluster.register(3, incarnation=9)
    cluster.heartbeat(3)


@pytest.mark.parametrize("happens", [fence, stop, restart])
def test_a_replica_that_is_not_what_the_leader_thinks_stays_out(
    happens: Callable[[Cluster], None],
) -> None:
    """KIP-841 and KIP-903: fenced, stopping, or another incarnation by now."""
    cluster = placed([1, 2, 3])
    alter(cluster, wanted_isr(cluster, [1, 2]))
    known = cluster.image.brokers[3].epoch
    happens(cluster)
    epochs = [
        BrokerState(broker_id=each, broker_epoch=cluster.image.brokers[each].epoch)
        for each in (1, 2)
    ]
    wanted = wanted_isr(
        cluster, [], new_isr_with_epochs=[*epochs, BrokerState(broker_id=3, broker_epoch=known)]
    )
    assert code(cluster, wanted) == ErrorCode.INELIGIBLE_REPLICA
    assert partition(cluster).isr == (1, 2)


def test_a_replica_that_left_below_the_minimum_stays_eligible() -> None:
    """KIP-966: nothing is acknowledged without it any more."""
    cluster = placed([1, 2, 3], min_isr="2")
    alter(cluster, wanted_isr(cluster, [1, 2]))
    assert partition(cluster).elr == ()
    alter(cluster, wanted_isr(cluster, [1]))
    assert partition(cluster).elr == (2,)
    alter(cluster, wanted_isr(cluster, [1, 3]))
    assert (partition(cluster).isr, partition(cluster).elr) == ((1, 3), ())


def test_a_leader_reports_that_it_has_recovered() -> None:
    cluster = placed([1, 2, 3])
    topic_id = cluster.image.topics_by_name["river"].id
    cluster.commit(
        [
            PartitionChangeRecord(
                topic_id=topic_id, partition_id=0, isr=[1], leader=1, leader_recovery_state=1
            )
        ]
    )
    assert code(cluster, wanted_isr(cluster, [1, 2])) == ErrorCode.INVALID_REQUEST
    [recovered] = alter(cluster, wanted_isr(cluster, [1], leader_recovery_state=0))
    assert (recovered.error_code, recovered.leader_recovery_state) == (0, 0)
    assert partition(cluster).leader_recovery_state == 0


def test_a_partition_named_twice_is_altered_once() -> None:
    cluster = placed([1, 2, 3])
    wanted = wanted_isr(cluster, [1, 2])
    first, second = alter(cluster, wanted, wanted)
    assert (first.error_code, first.partition_epoch) == (0, 1)
    assert second.error_code == ErrorCode.INVALID_UPDATE_VERSION
    assert partition(cluster).partition_epoch == 1


def test_a_topic_created_again_is_not_changed_by_requests_for_the_old_one() -> None:
    """KAFKA-14616: the broker was down meanwhile, and its log is that of another topic."""
    cluster = placed([1, 2, 3])
    old = cluster.image.topics_by_name["river"].id
    cluster.delete("river")
    cluster.must_create("river", 1, 3)
    sender = partition(cluster).leader
    wanted = wanted_isr(cluster, [sender])
    refused = code(cluster, wanted, sender=sender, topic_id=old)
    assert refused == ErrorCode.UNKNOWN_TOPIC_ID
    assert code(cluster, wanted, sender=sender) == ErrorCode.NONE


def test_topics_without_partitions_are_steps_too() -> None:
    cluster = placed([1])
    epoch = cluster.image.brokers[LEADER].epoch
    request = AlterPartitionRequest(LEADER, epoch, [TopicData() for _ in range(100)])
    steps = cluster.controller.decide(request, 3, DecisionContext(), cluster.now_ms)
    assert len(list(steps)) >= 100
