"""Directories of replicas, and failures of disks (KIP-858)."""

import pytest

from moldau.controller.context import DecisionContext
from moldau.errors import ApiError, ErrorCode
from moldau.metadata.registrations import (
    LOST_DIRECTORY,
    MIGRATING_DIRECTORY,
    UNASSIGNED_DIRECTORY,
    PartitionRegistration,
)
from moldau.protocol.messages.assign_replicas_to_dirs import (
    AssignReplicasToDirsRequest,
    DirectoryData,
    PartitionData,
    TopicData,
)
from moldau.protocol.messages.broker_heartbeat import BrokerHeartbeatRequest
from moldau.protocol.records.metadata import (
    BrokerRegistrationChangeRecord,
    PartitionChangeRecord,
)
from tests.controller.cluster import Cluster, registration, topic

FIRST, SECOND = b"1" * 16, b"2" * 16


class JbodCluster(Cluster):
    """Broker 1 has two disks."""

    def __init__(self, brokers: int = 1, level: int = 30) -> None:
        super().__init__(brokers, level)
        self.restart()

    def restart(self, *log_dirs: bytes) -> None:
        epoch = self.image.brokers[1].epoch
        for _ in range(2):
            self.heartbeat(shut_down=True)
        request = registration(1, incarnation=self.offset % 250, previous_epoch=epoch)
        request.log_dirs = list(log_dirs or (FIRST, SECOND))
        self.commit(self.controller.register_broker(request, self.offset).records)
        self.heartbeat()

    def assign(self, topic_id: bytes, directory: bytes, index: int = 0) -> int:
        topic = TopicData(topic_id=topic_id, partitions=[PartitionData(partition_index=index)])
        request = AssignReplicasToDirsRequest(
            broker_id=1,
            broker_epoch=self.image.brokers[1].epoch,
            directories=[DirectoryData(id=directory, topics=[topic])],
        )
        outcome = self.controller.assign_replicas_to_dirs(request)
        self.records = self.commit(outcome.records)
        [answered] = outcome.response.directories
        assert (answered.id, answered.topics[0].topic_id) == (directory, topic_id)
        return int(answered.topics[0].partitions[0].error_code)

    def lose(self, *directories: bytes) -> list[object]:
        request = BrokerHeartbeatRequest(
            broker_id=1,
            broker_epoch=self.image.brokers[1].epoch,
            current_metadata_offset=self.offset,
            offline_log_dirs=list(directories),
        )
        return list(self.commit(self.controller.broker_heartbeat(request).records))

    def partition(self, name: str = "river", index: int = 0) -> PartitionRegistration:
        return self.image.topics_by_name[name].partitions[index]


def test_a_new_replica_is_unassigned_until_its_broker_says_where_it_is() -> None:
    cluster = JbodCluster()
    topic_id = cluster.must_create("river")
    assert cluster.partition().directories == (UNASSIGNED_DIRECTORY,)
    assert cluster.assign(topic_id, SECOND) == ErrorCode.NONE
    assert cluster.records == [
        PartitionChangeRecord(topic_id=topic_id, partition_id=0, directories=[SECOND])
    ]
    assert cluster.partition().leader_epoch == 0, "nobody else needs to hear of it"
    assert cluster.assign(topic_id, SECOND) == ErrorCode.NONE
    assert cluster.records == []


def test_a_lost_directory_takes_the_leaders_in_it_and_no_others() -> None:
    cluster = JbodCluster()
    river, lake = cluster.must_create("river"), cluster.must_create("lake")
    cluster.assign(river, FIRST)
    cluster.assign(lake, SECOND)
    epoch = cluster.image.brokers[1].epoch
    assert cluster.lose(FIRST) == [
        PartitionChangeRecord(
            topic_id=river,
            partition_id=0,
            isr=[],
            leader=-1,
            eligible_leader_replicas=[1],
            last_known_elr=[1],
        ),
        BrokerRegistrationChangeRecord(broker_id=1, broker_epoch=epoch, log_dirs=[SECOND]),
    ]
    assert cluster.partition("lake").leader == 1
    assert cluster.lose(FIRST) == [], "a broker repeats itself until it is heard"
    assert cluster.lose(b"unknown directory") == []


def test_a_restart_with_the_disk_repaired_brings_its_leaders_back() -> None:
    cluster = JbodCluster()
    cluster.assign(cluster.must_create("river"), FIRST)
    cluster.lose(FIRST)
    cluster.restart(SECOND)
    assert cluster.partition().leader == -1, "it is still broken"
    cluster.restart(FIRST, SECOND)
    assert (cluster.partition().leader, cluster.partition().isr) == (1, (1,))


def test_another_replica_leads_where_there_is_one() -> None:
    cluster = JbodCluster(brokers=2)
    topic_id = cluster.must_create("river", factor=2)
    cluster.assign(topic_id, FIRST)
    cluster.lose(FIRST)
    assert (cluster.partition().leader, cluster.partition().isr) == (2, (2,))


def test_a_replica_found_in_a_lost_directory_does_not_lead() -> None:
    cluster = JbodCluster()
    topic_id = cluster.must_create("river")
    cluster.lose(FIRST)
    assert cluster.partition().leader == 1, "it might have been in the other one"
    assert cluster.assign(topic_id, FIRST) == ErrorCode.NONE
    assert (cluster.partition().leader, cluster.partition().directories) == (-1, (FIRST,))
    assert cluster.assign(topic_id, SECOND) == ErrorCode.NONE
    assert cluster.partition().leader == 1


@pytest.mark.parametrize(
    ("directory", "is_online"),
    [
        (FIRST, True),
        (b"3" * 16, False),
        (LOST_DIRECTORY, False),
        (UNASSIGNED_DIRECTORY, True),
        (MIGRATING_DIRECTORY, True),
    ],
)
def test_directories_with_a_meaning_of_their_own(directory: bytes, is_online: bool) -> None:
    assert JbodCluster().image.brokers[1].has_online_dir(directory) is is_online


def test_an_assignment_of_what_is_not_there_is_refused() -> None:
    cluster = JbodCluster(brokers=2)
    topic_id = cluster.must_create("river", partitions=2)
    elsewhere = next(index for index in range(2) if cluster.partition(index=index).replicas == (2,))
    assert cluster.assign(b"?" * 16, FIRST) == ErrorCode.UNKNOWN_TOPIC_ID
    assert cluster.assign(topic_id, FIRST, 7) == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert cluster.assign(topic_id, FIRST, elsewhere) == ErrorCode.NOT_LEADER_OR_FOLLOWER
    stale = AssignReplicasToDirsRequest(broker_id=1, broker_epoch=0)
    with pytest.raises(ApiError) as refused:
        cluster.controller.assign_replicas_to_dirs(stale)
    assert refused.value.code == ErrorCode.STALE_BROKER_EPOCH


def test_before_directories_had_ids_nothing_is_assigned() -> None:
    cluster = Cluster(level=14)
    with pytest.raises(ApiError) as refused:
        cluster.controller.assign_replicas_to_dirs(AssignReplicasToDirsRequest(broker_id=1))
    assert refused.value.code == ErrorCode.UNSUPPORTED_VERSION


def test_a_replica_that_is_named_twice_is_assigned_once() -> None:
    cluster = JbodCluster()
    cluster.create(topic("t"))
    topic_id = cluster.image.topics_by_name["t"].id
    partitions = [PartitionData(partition_index=0), PartitionData(partition_index=0)]
    directory = DirectoryData(id=SECOND, topics=[TopicData(topic_id, partitions)])
    epoch = cluster.image.brokers[1].epoch
    request = AssignReplicasToDirsRequest(1, epoch, [directory, directory])
    outcome = cluster.controller.assign_replicas_to_dirs(request)
    assert len(outcome.records) == 1
    codes = [
        each.error_code
        for answer in outcome.response.directories
        for each in answer.topics[0].partitions
    ]
    assert codes == [0] * 4


def test_directories_and_topics_without_partitions_are_steps_too() -> None:
    cluster = JbodCluster()
    epoch = cluster.image.brokers[1].epoch
    directories = [DirectoryData(id=SECOND, topics=[TopicData(), TopicData()]) for _ in range(100)]
    request = AssignReplicasToDirsRequest(1, epoch, directories)
    steps = cluster.controller.decide(request, 0, DecisionContext(), cluster.now_ms)
    assert len(list(steps)) >= 300
