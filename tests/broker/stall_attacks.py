"""The requests of ``test_stalls``: each is large in one way.

An attack is a function that returns a request, and the number of steps that it takes at least. Some
need something done before, which completes the request.
"""

from collections.abc import Awaitable, Callable
from typing import Any, NamedTuple

from moldau.clock import ManualClock
from moldau.group_coordinator.consumer.settings import REGEX_REFRESH_MIN_INTERVAL_MS
from moldau.protocol.messages import alter_configs as legacy
from moldau.protocol.messages import incremental_alter_configs as incremental
from moldau.protocol.messages.add_partitions_to_txn import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnTopic,
    AddPartitionsToTxnTransaction,
)
from moldau.protocol.messages.alter_client_quotas import (
    AlterClientQuotasRequest,
    EntityData,
    EntryData,
    OpData,
)
from moldau.protocol.messages.alter_partition_reassignments import (
    AlterPartitionReassignmentsRequest,
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
from moldau.protocol.messages.consumer_group_describe import ConsumerGroupDescribeRequest
from moldau.protocol.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest
from moldau.protocol.messages.create_topics import CreatableTopic, CreateTopicsRequest
from moldau.protocol.messages.delete_groups import DeleteGroupsRequest
from moldau.protocol.messages.delete_records import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsTopic,
)
from moldau.protocol.messages.delete_topics import DeleteTopicsRequest, DeleteTopicState
from moldau.protocol.messages.describe_configs import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
)
from moldau.protocol.messages.describe_groups import DescribeGroupsRequest
from moldau.protocol.messages.describe_log_dirs import (
    DescribableLogDirTopic,
    DescribeLogDirsRequest,
)
from moldau.protocol.messages.describe_producers import DescribeProducersRequest, TopicRequest
from moldau.protocol.messages.describe_quorum import (
    DescribeQuorumRequest,
    PartitionData,
    TopicData,
)
from moldau.protocol.messages.describe_topic_partitions import DescribeTopicPartitionsRequest
from moldau.protocol.messages.describe_topic_partitions import TopicRequest as TopicOfPages
from moldau.protocol.messages.describe_transactions import DescribeTransactionsRequest
from moldau.protocol.messages.describe_user_scram_credentials import (
    DescribeUserScramCredentialsRequest,
    UserName,
)
from moldau.protocol.messages.elect_leaders import ElectLeadersRequest, TopicPartitions
from moldau.protocol.messages.end_txn import EndTxnRequest
from moldau.protocol.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from moldau.protocol.messages.find_coordinator import FindCoordinatorRequest
from moldau.protocol.messages.init_producer_id import InitProducerIdRequest
from moldau.protocol.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol
from moldau.protocol.messages.leave_group import LeaveGroupRequest, MemberIdentity
from moldau.protocol.messages.list_config_resources import ListConfigResourcesRequest
from moldau.protocol.messages.list_groups import ListGroupsRequest
from moldau.protocol.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsTopic,
)
from moldau.protocol.messages.list_partition_reassignments import (
    ListPartitionReassignmentsRequest,
    ListPartitionReassignmentsTopics,
)
from moldau.protocol.messages.list_transactions import ListTransactionsRequest
from moldau.protocol.messages.metadata import MetadataRequest, MetadataRequestTopic
from moldau.protocol.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from moldau.protocol.messages.offset_delete import (
    OffsetDeleteRequest,
    OffsetDeleteRequestPartition,
    OffsetDeleteRequestTopic,
)
from moldau.protocol.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopic,
)
from moldau.protocol.messages.offset_for_leader_epoch import (
    OffsetForLeaderEpochRequest,
    OffsetForLeaderPartition,
    OffsetForLeaderTopic,
)
from moldau.protocol.messages.produce import (
    PartitionProduceData,
    ProduceRequest,
    TopicProduceData,
)
from moldau.protocol.messages.sync_group import SyncGroupRequest, SyncGroupRequestAssignment
from moldau.protocol.messages.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
)
from moldau.protocol.messages.update_features import FeatureUpdateKey, UpdateFeaturesRequest
from moldau.protocol.messages.write_txn_markers import (
    WritableTxnMarker,
    WritableTxnMarkerTopic,
    WriteTxnMarkersRequest,
)
from moldau.storage.log.producer_chunks import CHUNK_SIZE
from tests.broker.batches import batch
from tests.broker.producing import produce_request
from tests.broker.simulated import SimulatedBroker
from tests.broker.transactional import transactional

MANY = 3_000
PARTITIONS = 1_000
PATTERNS = 200
TOPIC, BROKER = 2, 4


async def nothing(broker: SimulatedBroker, request: Any) -> None:
    return


class Attack(NamedTuple):
    request: Any
    version: int
    steps: int = MANY
    prepare: Callable[[SimulatedBroker, Any], Awaitable[None]] = nothing


def names(number: int = MANY) -> list[str]:
    return [f"name-{each:05}" for each in range(number)]


def describe_configs(resources: list[DescribeConfigsResource]) -> Attack:
    return Attack(DescribeConfigsRequest(resources=resources), 4, len(resources))


def alter_configs() -> Attack:
    configs = [legacy.AlterableConfig("retention.ms", "1000")]
    resources = [legacy.AlterConfigsResource(TOPIC, name, configs) for name in names()]
    return Attack(legacy.AlterConfigsRequest(resources=resources), 2)


def incremental_alter_configs() -> Attack:
    configs = [incremental.AlterableConfig("retention.ms", 0, "1000")]
    resources = [incremental.AlterConfigsResource(TOPIC, name, configs) for name in names()]
    return Attack(incremental.IncrementalAlterConfigsRequest(resources=resources), 1)


def alter_quotas() -> Attack:
    ops = [OpData("producer_byte_rate", 1000.0)]
    entries = [EntryData([EntityData("user", name)], ops) for name in names()]
    return Attack(AlterClientQuotasRequest(entries=entries, validate_only=True), 1)


def fetch() -> Attack:
    """Ten partitions per step."""
    partitions = [FetchPartition(index, partition_max_bytes=1000) for index in range(PARTITIONS)]
    request = FetchRequest(topics=[FetchTopic(topic="wide", partitions=partitions)])
    return Attack(request, 12, PARTITIONS // 10)


def add_partitions() -> Attack:
    topics = [
        AddPartitionsToTxnTopic("wide", list(range(2 * MANY))),
        AddPartitionsToTxnTopic("none", list(range(2 * MANY))),
    ]
    request = AddPartitionsToTxnRequest(
        v3_and_below_transactional_id="tx", v3_and_below_topics=topics
    )
    return Attack(request, 3, 4 * MANY)


async def begin_transaction(broker: SimulatedBroker, add: AddPartitionsToTxnRequest) -> None:
    """Make the producer of a request a transactional one."""
    find = FindCoordinatorRequest(key_type=1, coordinator_keys=["tx"])
    assert (await broker.send(find, 6)).coordinators[0].error_code == 0
    begun = await broker.send(InitProducerIdRequest("tx", 60_000), 4)
    add.v3_and_below_producer_id = begun.producer_id
    add.v3_and_below_producer_epoch = begun.producer_epoch


def add_nothing() -> Attack:
    """Each topic takes a step to be read, to be looked up and to be answered."""
    topics = [AddPartitionsToTxnTopic(name, []) for name in names()]
    request = AddPartitionsToTxnRequest(
        v3_and_below_transactional_id="tx", v3_and_below_topics=topics
    )
    return Attack(request, 3, 4 * MANY, begin_transaction)


def update_features() -> Attack:
    updates = [FeatureUpdateKey(name) for name in names()]
    return Attack(UpdateFeaturesRequest(feature_updates=updates, validate_only=True), 1, 2 * MANY)


async def begin_wide_transaction(broker: SimulatedBroker, end: EndTxnRequest) -> None:
    """Begin the transaction that a request ends, with all partitions of a wide topic."""
    find = FindCoordinatorRequest(key_type=1, coordinator_keys=["tx"])
    assert (await broker.send(find, 6)).coordinators[0].error_code == 0
    begun = await broker.send(InitProducerIdRequest("tx", 60_000), 4)
    assert begun.error_code == 0
    end.producer_id, end.producer_epoch = begun.producer_id, begun.producer_epoch
    topics = [AddPartitionsToTxnTopic("wide", list(range(PARTITIONS)))]
    add = AddPartitionsToTxnRequest([], "tx", end.producer_id, end.producer_epoch, topics)
    (added,) = (await broker.send(add, 3)).results_by_topic_v3_and_below
    assert {each.partition_error_code for each in added.results_by_partition} == {0}


def end_wide_transaction() -> Attack:
    """The request is small; a marker per step is what it asks for."""
    return Attack(EndTxnRequest("tx", committed=True), 4, PARTITIONS, begin_wide_transaction)


def add_partitions_of_many_transactions() -> Attack:
    topics = [AddPartitionsToTxnTopic("wide", [0])]
    transactions = [AddPartitionsToTxnTransaction(name, topics=topics) for name in names()]
    return Attack(AddPartitionsToTxnRequest(transactions=transactions), 5)


def write_markers() -> Attack:
    topics = [WritableTxnMarkerTopic("wide", list(range(PARTITIONS)))]
    topics += [WritableTxnMarkerTopic(name, [0]) for name in names()]
    request = WriteTxnMarkersRequest([WritableTxnMarker(7, 0, True, topics)])
    return Attack(request, 2, PARTITIONS + 2 * MANY)


def commit_offsets_in_a_transaction() -> Attack:
    partitions = [TxnOffsetCommitRequestPartition(0, 1)]
    topics = [TxnOffsetCommitRequestTopic(name, partitions) for name in names()]
    return Attack(TxnOffsetCommitRequest("tx", "g", 7, 0, topics=topics), 5)


def produce_in_a_transaction() -> Attack:
    records = transactional(7, 0, b"x")
    data = [PartitionProduceData(index, records) for index in range(MANY)]
    topics = [TopicProduceData("none", partition_data=data)]
    return Attack(ProduceRequest("tx", -1, 1000, topics), 12)


def fetch_offsets() -> Attack:
    groups = [OffsetFetchRequestGroup(name, topics=None) for name in names()]
    return Attack(OffsetFetchRequest(groups=groups), 8)


def fetch_few_large_groups() -> Attack:
    """Only the response is large; a thread encodes it."""
    groups = [OffsetFetchRequestGroup("wide-group", topics=None) for _ in range(10)]
    return Attack(OffsetFetchRequest(groups=groups), 8, 0)


def list_offsets() -> Attack:
    """A duplicate partition is refused, but takes a step too."""
    partitions = [ListOffsetsPartition(index, timestamp=5) for index in range(MANY)]
    topics = [ListOffsetsTopic(name="wide", partitions=partitions)]
    return Attack(ListOffsetsRequest(replica_id=-1, topics=topics), 9)


def leader_epochs() -> Attack:
    partitions = [OffsetForLeaderPartition(index, leader_epoch=0) for index in range(MANY)]
    topics = [OffsetForLeaderTopic(topic="wide", partitions=partitions)]
    return Attack(OffsetForLeaderEpochRequest(replica_id=-1, topics=topics), 4)


def commit_offsets() -> Attack:
    """Five hundred offsets per step."""
    offsets = [OffsetCommitRequestPartition(index % PARTITIONS, 2) for index in range(40_000)]
    topics = [OffsetCommitRequestTopic(name="wide", partitions=offsets)]
    return Attack(OffsetCommitRequest(group_id="other", topics=topics), 9, 80)


def delete_records() -> Attack:
    partitions = [DeleteRecordsPartition(index, 0) for index in range(MANY)]
    topics = [DeleteRecordsTopic(name="wide", partitions=partitions)]
    return Attack(DeleteRecordsRequest(topics=topics, timeout_ms=1000), 2)


def delete_offsets() -> Attack:
    """Two hundred offsets per step, once to look them up and once to delete them."""
    partitions = [OffsetDeleteRequestPartition(index % PARTITIONS) for index in range(40_000)]
    topics = [OffsetDeleteRequestTopic("wide", partitions)]
    return Attack(OffsetDeleteRequest("wide-group", topics), 0, 400)


def join_with_many_protocols() -> Attack:
    """It is refused; freeing two hundred protocols is a step."""
    protocols = [JoinGroupRequestProtocol(name, b"") for name in names(20_000)]
    request = JoinGroupRequest(
        group_id="joined",
        session_timeout_ms=10_000,
        rebalance_timeout_ms=10_000,
        protocol_type="consumer",
        protocols=protocols,
    )
    return Attack(request, 9, 100)


def sync_with_many_assignments() -> Attack:
    assignments = [SyncGroupRequestAssignment(name, b"") for name in names()]
    request = SyncGroupRequest(
        group_id="joined",
        member_id="no",
        protocol_type="consumer",
        protocol_name="range",
        assignments=assignments,
    )
    return Attack(request, 5)


def leave_with_many_members() -> Attack:
    """A hundred members per step."""
    members = [MemberIdentity(name) for name in names(20_000)]
    return Attack(LeaveGroupRequest(group_id="joined", members=members), 5, 200)


def commit_offsets_of_many_topics() -> Attack:
    topics = [
        OffsetCommitRequestTopic(name, partitions=[OffsetCommitRequestPartition(0, 2)])
        for name in names()
    ]
    return Attack(OffsetCommitRequest(group_id="other", topics=topics), 9)


def fetch_offsets_of_many_topics() -> Attack:
    """Before version 8: each topic takes a step to ask for, to look up and to answer."""
    topics = [OffsetFetchRequestTopic(name, partition_indexes=[0, 1]) for name in names()]
    return Attack(OffsetFetchRequest(group_id="wide-group", topics=topics), 7, 3 * MANY)


def subscribe_to_many_topics() -> Attack:
    """What is known about each topic is computed in a step of its own."""
    request = ConsumerGroupHeartbeatRequest(
        group_id="crowd",
        member_id="member",
        rebalance_timeout_ms=60_000,
        subscribed_topic_names=names(),
        topic_partitions=[],
    )
    return Attack(request, 1)


def heartbeat_with_pattern(member_id: str, pattern: str) -> ConsumerGroupHeartbeatRequest:
    return ConsumerGroupHeartbeatRequest(
        group_id="crowd",
        member_id=member_id,
        rebalance_timeout_ms=60_000,
        subscribed_topic_regex=pattern,
        topic_partitions=[],
    )


async def subscribe_with_many_patterns(broker: SimulatedBroker, request: Any) -> None:
    for number in range(PATTERNS):
        pattern = f"none-{number}"
        response = await broker.send(heartbeat_with_pattern(pattern, pattern), 1)
        assert response.error_code == 0
    clock = broker.node.broker.clock
    assert isinstance(clock, ManualClock)
    clock.advance(REGEX_REFRESH_MIN_INTERVAL_MS + 1)
    await broker.create("none-new")


def heartbeat_after_a_topic_came() -> Attack:
    """It resolves the patterns of the whole group again, each in steps of its own."""
    request = heartbeat_with_pattern("late", "wide")
    return Attack(request, 1, 3 * PATTERNS, subscribe_with_many_patterns)


async def write_as_many_producers(broker: SimulatedBroker, request: Any) -> None:
    for producer_id in range(MANY):
        data = batch(
            b"x", timestamp=1000, producer_id=producer_id, producer_epoch=0, base_sequence=0
        )
        response = await broker.send(produce_request("wide", data, 0), 12)
        assert response.responses[0].partition_responses[0].error_code == 0


def describe_many_producers() -> Attack:
    """A chunk of producers per step."""
    request = DescribeProducersRequest(topics=[TopicRequest(name="wide", partition_indexes=[0])])
    return Attack(request, 0, MANY // CHUNK_SIZE, write_as_many_producers)


def alter_log_dirs() -> Attack:
    topic = AlterReplicaLogDirTopic("wide", [0] * (2 * MANY))
    request = AlterReplicaLogDirsRequest(dirs=[AlterReplicaLogDir("/disk", [topic])])
    return Attack(request, 2, 2 * MANY)


def describe_other_quorums() -> Attack:
    partitions = [PartitionData(0) for _ in range(2 * MANY)]
    return Attack(DescribeQuorumRequest(topics=[TopicData("wide", partitions)]), 2, 2 * MANY)


ATTACKS: dict[str, Callable[[], Attack]] = {
    "DescribeConfigs of the broker": lambda: describe_configs(
        [DescribeConfigsResource(BROKER, "1", ["log.dirs"])] * MANY
    ),
    "DescribeConfigs of a topic": lambda: describe_configs(
        [DescribeConfigsResource(TOPIC, "wide", None)] * MANY
    ),
    "DescribeConfigs of unknown topics": lambda: describe_configs(
        [DescribeConfigsResource(TOPIC, name, None) for name in names()]
    ),
    "AlterConfigs": alter_configs,
    "IncrementalAlterConfigs": incremental_alter_configs,
    "AlterClientQuotas": alter_quotas,
    "DescribeGroups": lambda: Attack(DescribeGroupsRequest(groups=names()), 5),
    "ConsumerGroupDescribe": lambda: Attack(ConsumerGroupDescribeRequest(group_ids=names()), 1),
    "DeleteGroups": lambda: Attack(DeleteGroupsRequest(groups_names=names()), 2),
    "FindCoordinator": lambda: Attack(
        FindCoordinatorRequest(key_type=0, coordinator_keys=names()), 6
    ),
    "Fetch": fetch,
    "ListOffsets": list_offsets,
    "OffsetForLeaderEpoch": leader_epochs,
    "OffsetCommit": commit_offsets,
    "DeleteRecords": delete_records,
    "DescribeProducers": lambda: Attack(
        DescribeProducersRequest(
            topics=[TopicRequest(name="wide", partition_indexes=[0] * (2 * MANY))]
        ),
        0,
    ),
    "DescribeProducers of a partition with many": describe_many_producers,
    "DescribeLogDirs": lambda: Attack(
        DescribeLogDirsRequest(
            topics=[
                DescribableLogDirTopic(topic=name, partitions=list(range(10))) for name in names()
            ]
        ),
        4,
        MANY + PARTITIONS,
    ),
    "Metadata": lambda: Attack(
        MetadataRequest(
            topics=[MetadataRequestTopic(name=name) for name in names()],
            allow_auto_topic_creation=False,
        ),
        12,
    ),
    "DescribeTopicPartitions": lambda: Attack(
        DescribeTopicPartitionsRequest(topics=[TopicOfPages(name=name) for name in names()]), 0
    ),
    "CreateTopics": lambda: Attack(
        CreateTopicsRequest(
            topics=[
                CreatableTopic(name=name, num_partitions=1, replication_factor=1)
                for name in names()
            ],
            validate_only=True,
        ),
        7,
    ),
    "DeleteTopics": lambda: Attack(
        DeleteTopicsRequest([DeleteTopicState(name=name) for name in names()], timeout_ms=60_000), 6
    ),
    "ElectLeaders": lambda: Attack(
        ElectLeadersRequest(
            topic_partitions=[TopicPartitions(name, [0, 1]) for name in names()], timeout_ms=1000
        ),
        2,
    ),
    "ElectLeaders of topics without partitions": lambda: Attack(
        ElectLeadersRequest(
            topic_partitions=[TopicPartitions(name, []) for name in names()], timeout_ms=1000
        ),
        2,
    ),
    "AlterPartitionReassignments of topics without partitions": lambda: Attack(
        AlterPartitionReassignmentsRequest(
            topics=[ReassignableTopic(name, []) for name in names()], timeout_ms=1000
        ),
        1,
    ),
    "AlterUserScramCredentials": lambda: Attack(
        AlterUserScramCredentialsRequest(
            deletions=[ScramCredentialDeletion(name, 1) for name in names()]
        ),
        0,
    ),
    "DescribeUserScramCredentials": lambda: Attack(
        DescribeUserScramCredentialsRequest(users=[UserName(name) for name in names()]), 0
    ),
    "DescribeTransactions": lambda: Attack(
        DescribeTransactionsRequest(transactional_ids=names()), 0
    ),
    "AddPartitionsToTxn": add_partitions,
    "AddPartitionsToTxn of topics without partitions": add_nothing,
    "UpdateFeatures": update_features,
    "EndTxn of a wide transaction": end_wide_transaction,
    "AddPartitionsToTxn of a broker": add_partitions_of_many_transactions,
    "WriteTxnMarkers": write_markers,
    "TxnOffsetCommit": commit_offsets_in_a_transaction,
    "Produce in a transaction": produce_in_a_transaction,
    "OffsetFetch": fetch_offsets,
    "OffsetFetch with a large answer": fetch_few_large_groups,
    "OffsetCommit of many topics": commit_offsets_of_many_topics,
    "OffsetFetch of many topics": fetch_offsets_of_many_topics,
    "OffsetDelete": delete_offsets,
    "JoinGroup": join_with_many_protocols,
    "SyncGroup": sync_with_many_assignments,
    "LeaveGroup": leave_with_many_members,
    "ConsumerGroupHeartbeat": subscribe_to_many_topics,
    "ConsumerGroupHeartbeat of a group with patterns": heartbeat_after_a_topic_came,
    "ListGroups": lambda: Attack(ListGroupsRequest(states_filter=names()), 5),
    "ListConfigResources": lambda: Attack(
        ListConfigResourcesRequest(resource_types=[TOPIC] * (20 * MANY)), 1, 20 * MANY
    ),
    "ListPartitionReassignments": lambda: Attack(
        ListPartitionReassignmentsRequest(
            topics=[ListPartitionReassignmentsTopics(name, [0]) for name in names()]
        ),
        0,
    ),
    "ListPartitionReassignments of a topic": lambda: Attack(
        ListPartitionReassignmentsRequest(
            topics=[ListPartitionReassignmentsTopics("wide", [0] * (2 * MANY))]
        ),
        0,
        2 * MANY,
    ),
    "ListTransactions": lambda: Attack(ListTransactionsRequest(state_filters=names()), 0),
    "DescribeQuorum": describe_other_quorums,
    "AlterReplicaLogDirs": alter_log_dirs,
    "DescribeLogDirs of a topic": lambda: Attack(
        DescribeLogDirsRequest(topics=[DescribableLogDirTopic("wide", [0] * (2 * MANY))]),
        4,
        2 * MANY,
    ),
}
