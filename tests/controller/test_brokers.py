"""The life cycle of brokers, with the same records as Apache Kafka."""

import pytest

from moldau.errors import ApiError, ErrorCode
from moldau.protocol.messages.allocate_producer_ids import AllocateProducerIdsRequest
from moldau.protocol.messages.broker_heartbeat import BrokerHeartbeatRequest
from moldau.protocol.messages.unregister_broker import UnregisterBrokerRequest
from moldau.protocol.records.metadata import (
    BrokerRegistrationChangeRecord,
    PartitionChangeRecord,
    RegisterBrokerRecord,
    UnregisterBrokerRecord,
)
from tests.controller.cluster import CLUSTER, Cluster, registration


def with_topic(brokers: int = 1, factor: int = 1) -> tuple[Cluster, bytes, int]:
    """A cluster, a topic in it, and the epoch of broker 1."""
    cluster = Cluster(brokers)
    topic_id = cluster.must_create("river", 1, factor)
    return cluster, topic_id, cluster.image.brokers[1].epoch


def test_a_broker_begins_fenced_and_is_unfenced_by_its_heartbeat() -> None:
    cluster = Cluster(0)
    offset = cluster.offset
    [record] = cluster.register()
    assert isinstance(record, RegisterBrokerRecord)
    assert (record.broker_epoch, record.fenced) == (offset, True)
    assert cluster.heartbeat() == [
        BrokerRegistrationChangeRecord(broker_id=1, broker_epoch=offset, fenced=-1)
    ]
    assert cluster.heartbeat() == []
    assert cluster.image.brokers[1].is_active


def test_a_controlled_shutdown_gives_up_leadership_before_it_fences() -> None:
    cluster, topic_id, epoch = with_topic()
    assert cluster.heartbeat(shut_down=True) == [
        PartitionChangeRecord(
            topic_id=topic_id,
            partition_id=0,
            isr=[],
            leader=-1,
            eligible_leader_replicas=[1],
            last_known_elr=[1],
        ),
        BrokerRegistrationChangeRecord(broker_id=1, broker_epoch=epoch, in_controlled_shutdown=1),
    ]
    assert cluster.heartbeat(shut_down=True) == [
        BrokerRegistrationChangeRecord(broker_id=1, broker_epoch=epoch, fenced=1)
    ]


def test_after_a_clean_stop_the_eligible_leader_leads_again() -> None:
    cluster, topic_id, epoch = with_topic()
    cluster.heartbeat(shut_down=True)
    cluster.heartbeat(shut_down=True)
    [record] = cluster.register(incarnation=2, previous_epoch=epoch)
    assert isinstance(record, RegisterBrokerRecord)
    unfence, change = cluster.heartbeat()
    assert isinstance(unfence, BrokerRegistrationChangeRecord)
    assert change == PartitionChangeRecord(
        topic_id=topic_id,
        partition_id=0,
        isr=[1],
        leader=1,
        eligible_leader_replicas=[],
        last_known_elr=[],
    )
    partition = cluster.image.partition("river", 0)
    assert partition is not None
    assert (partition.leader_epoch, partition.partition_epoch) == (2, 2)
    assert partition.leader_recovery_state == 0


def test_after_an_unclean_stop_the_last_leader_is_elected_to_recover() -> None:
    cluster, topic_id, _ = with_topic()
    change, record = cluster.register(incarnation=2)
    assert isinstance(record, RegisterBrokerRecord)
    assert change == PartitionChangeRecord(
        topic_id=topic_id, partition_id=0, isr=[], leader=-1, last_known_elr=[1]
    )
    _, elected = cluster.heartbeat()
    assert elected == PartitionChangeRecord(
        topic_id=topic_id,
        partition_id=0,
        isr=[1],
        leader=1,
        leader_recovery_state=1,
        last_known_elr=[],
    )
    partition = cluster.image.partition("river", 0)
    assert partition is not None
    assert (partition.isr, partition.leader, partition.leader_recovery_state) == ((1,), 1, 1)


def test_without_eligible_leaders_the_last_replica_stays_in_the_isr() -> None:
    cluster = Cluster(level=22)
    topic_id = cluster.must_create("river")
    [change, _] = cluster.register(incarnation=2)
    assert change == PartitionChangeRecord(topic_id=topic_id, partition_id=0, leader=-1)
    [_, elected] = cluster.heartbeat()
    assert elected == PartitionChangeRecord(topic_id=topic_id, partition_id=0, leader=1)


def test_another_replica_leads_when_a_broker_is_fenced() -> None:
    cluster, _, _ = with_topic(3, 3)
    before = cluster.image.partition("river", 0)
    assert before is not None
    cluster.heartbeat(before.leader, fence=True)
    after = cluster.image.partition("river", 0)
    assert after is not None
    assert after.leader == before.replicas[1]
    assert after.isr == before.replicas[1:]
    assert after.leader_epoch == before.leader_epoch + 1


def test_the_same_incarnation_only_amends_its_registration() -> None:
    cluster, _, epoch = with_topic()
    [record] = cluster.register()
    assert isinstance(record, RegisterBrokerRecord)
    assert (record.broker_epoch, record.fenced) == (epoch, False)


def test_a_broker_of_another_cluster_is_refused() -> None:
    request = registration(2)
    request.cluster_id = "other"
    with pytest.raises(ApiError, match=f"Expected cluster ID {CLUSTER}") as caught:
        Cluster().controller.register_broker(request, 0)
    assert caught.value.code == ErrorCode.INCONSISTENT_CLUSTER_ID


@pytest.mark.parametrize(
    ("log_dirs", "message"),
    [
        ([], "No directories"),
        ([bytes(16)], "Reserved directory"),
        ([b"d" * 16] * 2, "Duplicate directory"),
        ([bytes([101]) * 16], "Broker 1 is already registered with directory"),
    ],
)
def test_log_directories_belong_to_one_broker(log_dirs: list[bytes], message: str) -> None:
    request = registration(2)
    request.log_dirs = log_dirs
    with pytest.raises(ApiError, match=message) as caught:
        Cluster().controller.register_broker(request, 0)
    assert caught.value.code == ErrorCode.INVALID_REGISTRATION


def test_a_broker_must_support_every_finalised_feature() -> None:
    request = registration(2)
    request.features = [each for each in request.features if each.name != "group.version"]
    with pytest.raises(ApiError, match=r"finalized version 1 of group\.version") as caught:
        Cluster().controller.register_broker(request, 0)
    assert caught.value.code == ErrorCode.UNSUPPORTED_VERSION


def test_a_heartbeat_of_an_earlier_incarnation_is_refused() -> None:
    cluster = Cluster()
    with pytest.raises(ApiError) as caught:
        cluster.controller.broker_heartbeat(BrokerHeartbeatRequest(broker_id=1, broker_epoch=0))
    assert caught.value.code == ErrorCode.STALE_BROKER_EPOCH


def test_an_unregistered_broker_is_gone() -> None:
    cluster = Cluster(2)
    epoch = cluster.image.brokers[2].epoch
    outcome = cluster.controller.unregister_broker(UnregisterBrokerRequest(broker_id=2))
    assert outcome.records == [UnregisterBrokerRecord(broker_id=2, broker_epoch=epoch)]
    cluster.commit(outcome.records)
    again = cluster.controller.unregister_broker(UnregisterBrokerRequest(broker_id=2))
    assert again.response.error_code == ErrorCode.BROKER_ID_NOT_REGISTERED
    assert not again.records


def test_producer_ids_come_in_blocks_that_never_overlap() -> None:
    cluster = Cluster()
    request = AllocateProducerIdsRequest(broker_id=1, broker_epoch=cluster.image.brokers[1].epoch)
    starts = []
    for _ in range(3):
        outcome = cluster.controller.allocate_producer_ids(request)
        assert outcome.response.producer_id_len == 1000
        starts.append(outcome.response.producer_id_start)
        cluster.commit(outcome.records)
    assert starts == [0, 1000, 2000]
    request.broker_epoch = 0
    with pytest.raises(ApiError):
        cluster.controller.allocate_producer_ids(request)
