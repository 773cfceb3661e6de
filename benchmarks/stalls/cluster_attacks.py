"""Attacks with requests about topics, partitions and nodes, by clients and by other nodes.

Those of other nodes go to the controller listener. They claim to come from the broker under attack,
with its id, epoch and directories: so the controller does what they ask for.
"""

from typing import Any

from benchmarks.stalls.attacks import (
    MOST,
    MOST_NUMBERS,
    TOPIC,
    TWO_MB,
    Salvo,
    attack,
    create_topics,
    one,
)
from benchmarks.stalls.wire import Wire, framed
from moldau.broker.envelopes import ANONYMOUS, envelope
from moldau.protocol.messages import alter_partition as isr
from moldau.protocol.messages import assign_replicas_to_dirs as dirs
from moldau.protocol.messages import begin_quorum_epoch as epochs
from moldau.protocol.messages import broker_registration as registration
from moldau.protocol.messages import fetch_snapshot as snapshots
from moldau.protocol.messages import vote
from moldau.protocol.messages.alter_configs import AlterConfigsRequest, AlterConfigsResource
from moldau.protocol.messages.alter_partition_reassignments import (
    AlterPartitionReassignmentsRequest,
    ReassignablePartition,
    ReassignableTopic,
)
from moldau.protocol.messages.alter_replica_log_dirs import (
    AlterReplicaLogDir,
    AlterReplicaLogDirsRequest,
    AlterReplicaLogDirTopic,
)
from moldau.protocol.messages.alter_user_scram_credentials import (
    AlterUserScramCredentialsRequest,
    ScramCredentialDeletion,
)
from moldau.protocol.messages.broker_heartbeat import BrokerHeartbeatRequest
from moldau.protocol.messages.create_partitions import (
    CreatePartitionsAssignment,
    CreatePartitionsRequest,
    CreatePartitionsTopic,
)
from moldau.protocol.messages.create_topics import (
    CreatableReplicaAssignment,
    CreatableTopic,
    CreateTopicsRequest,
)
from moldau.protocol.messages.delete_records import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsTopic,
)
from moldau.protocol.messages.delete_topics import DeleteTopicsRequest, DeleteTopicState
from moldau.protocol.messages.describe_cluster import DescribeClusterRequest
from moldau.protocol.messages.describe_log_dirs import (
    DescribableLogDirTopic,
    DescribeLogDirsRequest,
)
from moldau.protocol.messages.describe_topic_partitions import (
    DescribeTopicPartitionsRequest,
    TopicRequest,
)
from moldau.protocol.messages.describe_user_scram_credentials import (
    DescribeUserScramCredentialsRequest,
    UserName,
)
from moldau.protocol.messages.elect_leaders import ElectLeadersRequest, TopicPartitions
from moldau.protocol.messages.metadata import MetadataRequest, MetadataRequestTopic
from moldau.protocol.messages.offset_for_leader_epoch import (
    OffsetForLeaderEpochRequest,
    OffsetForLeaderPartition,
    OffsetForLeaderTopic,
)
from moldau.protocol.messages.update_features import FeatureUpdateKey, UpdateFeaturesRequest

NODE_ID = 1
TIMEOUT_MS = 60_000
DEFAULT = -1
METADATA_TOPIC = "__cluster_metadata"


def to_controller(request: Any, version: int) -> list[Salvo]:
    return [Salvo(framed(request, version), is_for_controller=True)]


def names() -> list[str]:
    return [f"{number:x}" for number in range(MOST)]


def wide(wire: Wire) -> bytes:
    """Create a topic with many partitions; returns its id."""
    create_topics(wire, ["wide"], partitions=1_000)
    topics = [MetadataRequestTopic(name="wide")]
    found: bytes = wire.send(MetadataRequest(topics=topics), 12).topics[0].topic_id
    return found


def uuids(count: int) -> list[bytes]:
    return [number.to_bytes(16, "big") for number in range(1_000, 1_000 + count)]


# --- clients


@attack("OffsetForLeaderEpoch, 100,000 partitions")
def leader_epochs(wire: Wire) -> list[Salvo]:
    wide(wire)
    partitions = [OffsetForLeaderPartition(index % 2_000, -1, 0) for index in range(MOST)]
    topics = [OffsetForLeaderTopic("wide", partitions)]
    return one(OffsetForLeaderEpochRequest(topics=topics), 4)


@attack("DescribeTopicPartitions, 100,000 topics")
def describe_topic_partitions(wire: Wire) -> list[Salvo]:
    topics = [TopicRequest(name) for name in names()]
    return one(DescribeTopicPartitionsRequest(topics=topics), 0)


@attack("DescribeLogDirs, 400,000 partitions")
def describe_log_dirs(wire: Wire) -> list[Salvo]:
    wide(wire)
    topics = [DescribableLogDirTopic("wide", [i % 2_000 for i in range(MOST_NUMBERS)])]
    return one(DescribeLogDirsRequest(topics=topics), 4)


@attack("AlterReplicaLogDirs, 400,000 partitions")
def alter_log_dirs(wire: Wire) -> list[Salvo]:
    topics = [AlterReplicaLogDirTopic("none", list(range(MOST_NUMBERS)))]
    return one(AlterReplicaLogDirsRequest([AlterReplicaLogDir("/disk", topics)]), 2)


@attack("DeleteRecords, 100,000 partitions")
def delete_records(wire: Wire) -> list[Salvo]:
    wide(wire)
    partitions = [DeleteRecordsPartition(index % 2_000, 0) for index in range(MOST)]
    topics = [DeleteRecordsTopic("wide", partitions)]
    return one(DeleteRecordsRequest(topics=topics, timeout_ms=TIMEOUT_MS), 2)


@attack("DeleteTopics, 80,000 unknown topics")
def delete_topics(wire: Wire) -> list[Salvo]:
    topics = [DeleteTopicState(name) for name in names()[: TWO_MB // 24]]
    return one(DeleteTopicsRequest(topics=topics, timeout_ms=TIMEOUT_MS), 6)


@attack("CreateTopics, 10,000 partitions, validated only")
def validate_partitions(wire: Wire) -> list[Salvo]:
    topics = [CreatableTopic("new", num_partitions=10_000, replication_factor=1)]
    return one(CreateTopicsRequest(topics=topics, validate_only=True), 7)


@attack("CreateTopics, 400,000 replicas of a partition")
def create_with_many_replicas(wire: Wire) -> list[Salvo]:
    assignments = [CreatableReplicaAssignment(0, list(range(MOST_NUMBERS)))]
    topics = [CreatableTopic("new", DEFAULT, DEFAULT, assignments)]
    return one(CreateTopicsRequest(topics=topics), 7)


@attack("CreatePartitions, 9,000 partitions, validated only")
def create_partitions(wire: Wire) -> list[Salvo]:
    wide(wire)
    topics = [CreatePartitionsTopic("wide", 10_000, None)]
    request = CreatePartitionsRequest(topics, timeout_ms=TIMEOUT_MS, validate_only=True)
    return one(request, 3)


@attack("CreatePartitions, 100,000 assignments")
def create_assigned_partitions(wire: Wire) -> list[Salvo]:
    wide(wire)
    assignments = [CreatePartitionsAssignment([1]) for _ in range(MOST - 1_000)]
    topics = [CreatePartitionsTopic("wide", 1_000 + len(assignments), assignments)]
    request = CreatePartitionsRequest(topics, timeout_ms=TIMEOUT_MS, validate_only=True)
    return one(request, 3)


@attack("ElectLeaders, 400,000 partitions")
def elect_leaders(wire: Wire) -> list[Salvo]:
    wide(wire)
    wanted = [TopicPartitions("wide", [index % 2_000 for index in range(MOST_NUMBERS)])]
    return one(ElectLeadersRequest(topic_partitions=wanted, timeout_ms=TIMEOUT_MS), 2)


@attack("ElectLeaders, all of them")
def elect_all_leaders(wire: Wire) -> list[Salvo]:
    create_topics(wire, [f"topic-{number:05}" for number in range(10_000)])
    return one(ElectLeadersRequest(topic_partitions=None, timeout_ms=TIMEOUT_MS), 2)


@attack("AlterPartitionReassignments, 100,000 partitions")
def reassign(wire: Wire) -> list[Salvo]:
    wide(wire)
    partitions = [ReassignablePartition(index % 2_000, [1]) for index in range(MOST)]
    topics = [ReassignableTopic("wide", partitions)]
    return one(AlterPartitionReassignmentsRequest(TIMEOUT_MS, topics=topics), 0)


@attack("AlterPartitionReassignments, 400,000 replicas")
def reassign_to_many(wire: Wire) -> list[Salvo]:
    wide(wire)
    partitions = [ReassignablePartition(0, list(range(MOST_NUMBERS)))]
    topics = [ReassignableTopic("wide", partitions)]
    return one(AlterPartitionReassignmentsRequest(TIMEOUT_MS, topics=topics), 0)


@attack("UpdateFeatures, 100,000 unknown features")
def update_features(wire: Wire) -> list[Salvo]:
    updates = [FeatureUpdateKey(f"{number:x}", 0) for number in range(MOST)]
    return one(UpdateFeaturesRequest(feature_updates=updates), 1)


@attack("AlterUserScramCredentials, 100,000 deletions")
def delete_credentials(wire: Wire) -> list[Salvo]:
    deletions = [ScramCredentialDeletion(name, 1) for name in names()]
    return one(AlterUserScramCredentialsRequest(deletions=deletions), 0)


@attack("DescribeUserScramCredentials, 100,000 users")
def describe_credentials(wire: Wire) -> list[Salvo]:
    return one(DescribeUserScramCredentialsRequest([UserName(name) for name in names()]), 0)


# --- other nodes


def own_epoch(wire: Wire) -> int:
    """The epoch of the broker: the only one with which the controller accepts a heartbeat."""
    with wire.controller() as controller:
        for epoch in range(1_000):
            if controller.send(BrokerHeartbeatRequest(NODE_ID, epoch), 1).error_code == 0:
                return epoch
    raise AssertionError("the controller knows no epoch of this broker")


@attack("AlterPartition, 2 MB of partitions")
def alter_partitions(wire: Wire) -> list[Salvo]:
    topic_id = wide(wire)
    partitions = [
        isr.PartitionData(index % 2_000, new_isr_with_epochs=[isr.BrokerState(NODE_ID)])
        for index in range(TWO_MB // 30)
    ]
    topics = [isr.TopicData(topic_id, partitions)]
    return to_controller(isr.AlterPartitionRequest(NODE_ID, own_epoch(wire), topics), 3)


@attack("AlterPartition, 100,000 brokers in an ISR")
def alter_isr(wire: Wire) -> list[Salvo]:
    topic_id = wide(wire)
    brokers = [isr.BrokerState(number) for number in range(MOST)]
    topics = [isr.TopicData(topic_id, [isr.PartitionData(0, 0, [], brokers)])]
    return to_controller(isr.AlterPartitionRequest(NODE_ID, own_epoch(wire), topics), 3)


@attack("AlterPartition, 100,000 empty topics")
def alter_empty_topics(wire: Wire) -> list[Salvo]:
    topics = [isr.TopicData(each, []) for each in uuids(100_000)]
    return to_controller(isr.AlterPartitionRequest(NODE_ID, own_epoch(wire), topics), 3)


@attack("AssignReplicasToDirs, 100,000 partitions")
def assign_to_dirs(wire: Wire) -> list[Salvo]:
    topic_id = wide(wire)
    partitions = [dirs.PartitionData(index % 2_000) for index in range(MOST)]
    directories = [dirs.DirectoryData(uuids(1)[0], [dirs.TopicData(topic_id, partitions)])]
    request = dirs.AssignReplicasToDirsRequest(NODE_ID, own_epoch(wire), directories)
    return to_controller(request, 0)


@attack("AssignReplicasToDirs, 100,000 empty directories")
def assign_to_empty_dirs(wire: Wire) -> list[Salvo]:
    directories = [dirs.DirectoryData(each, []) for each in uuids(100_000)]
    request = dirs.AssignReplicasToDirsRequest(NODE_ID, own_epoch(wire), directories)
    return to_controller(request, 0)


def registering(wire: Wire, broker_id: int, **lists: Any) -> registration.BrokerRegistrationRequest:
    cluster_id = wire.send(DescribeClusterRequest(), 0).cluster_id
    features = [
        registration.Feature("metadata.version", 1, 30),
        registration.Feature("kraft.version", 0, 1),
        registration.Feature("group.version", 0, 1),
        registration.Feature("transaction.version", 0, 2),
        registration.Feature("eligible.leader.replicas.version", 0, 1),
        registration.Feature("share.version", 0, 1),
        registration.Feature("streams.version", 0, 1),
    ]
    request = registration.BrokerRegistrationRequest(
        broker_id,
        cluster_id,
        uuids(1)[0],
        [registration.Listener("PLAINTEXT", "none.invalid", 9092, 0)],
        features,
        log_dirs=uuids(1),
    )
    for name, more in lists.items():
        getattr(request, name).extend(more)
    return request


@attack("BrokerRegistration, 100,000 directories")
def register_with_directories(wire: Wire) -> list[Salvo]:
    more = uuids(100_001)[1:]
    return to_controller(registering(wire, 7, log_dirs=more), 4)


@attack("BrokerRegistration, 90,000 features")
def register_with_features(wire: Wire) -> list[Salvo]:
    more = [registration.Feature(f"{number:x}", 0, 1) for number in range(90_000)]
    return to_controller(registering(wire, 8, features=more), 4)


@attack("BrokerRegistration, 100,000 listeners")
def register_with_listeners(wire: Wire) -> list[Salvo]:
    more = [registration.Listener(f"{number:x}", "", 9092, 0) for number in range(100_000)]
    return to_controller(registering(wire, 9, listeners=more), 4)


@attack("BrokerHeartbeat, 100,000 offline directories")
def heartbeat_with_directories(wire: Wire) -> list[Salvo]:
    request = BrokerHeartbeatRequest(NODE_ID, own_epoch(wire), 0, offline_log_dirs=uuids(100_000))
    return to_controller(request, 1)


@attack("Vote, 30,000 partitions")
def request_votes(wire: Wire) -> list[Salvo]:
    partitions = [vote.PartitionData(0, 1, 2) for _ in range(TWO_MB // 62)]
    return to_controller(vote.VoteRequest(topics=[vote.TopicData(METADATA_TOPIC, partitions)]), 2)


@attack("BeginQuorumEpoch, 60,000 partitions")
def begin_epochs(wire: Wire) -> list[Salvo]:
    partitions = [epochs.PartitionData(0, leader_id=2) for _ in range(TWO_MB // 30)]
    topics = [epochs.TopicData(METADATA_TOPIC, partitions)]
    return to_controller(epochs.BeginQuorumEpochRequest(topics=topics), 1)


@attack("FetchSnapshot, 60,000 partitions")
def fetch_snapshots(wire: Wire) -> list[Salvo]:
    partitions = [
        snapshots.PartitionSnapshot(0, 1, snapshots.SnapshotId(1, 1)) for _ in range(TWO_MB // 32)
    ]
    topics = [snapshots.TopicSnapshot(METADATA_TOPIC, partitions)]
    return to_controller(snapshots.FetchSnapshotRequest(topics=topics), 1)


@attack("Envelope, 100,000 empty changes of configs")
def forwarded_changes(wire: Wire) -> list[Salvo]:
    resources = [AlterConfigsResource(TOPIC, "", []) for _ in range(MOST)]
    frame = framed(AlterConfigsRequest(resources=resources), 2)[4:]
    return to_controller(envelope(frame, ANONYMOUS, "127.0.0.1"), 0)
