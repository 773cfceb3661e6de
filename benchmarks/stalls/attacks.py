"""The attacks: requests of one client that may delay the others.

An attack is one function. It may prepare the broker (create topics, commit offsets) over the
connection that it gets, and returns the salvos to send, one per connection, all at the same time.
``@attack`` registers it. Every API whose work grows with the request should have one.
"""

import threading
import time
from collections.abc import Callable
from typing import Any, NamedTuple

from benchmarks.stall_attacks_records import ATTACKS as RECORD_ATTACKS
from benchmarks.stall_attacks_records import small_batches
from benchmarks.stalls.wire import Wire, framed
from moldau.protocol.messages import alter_configs as legacy
from moldau.protocol.messages import incremental_alter_configs as incremental
from moldau.protocol.messages.alter_client_quotas import (
    AlterClientQuotasRequest,
    EntityData,
    EntryData,
    OpData,
)
from moldau.protocol.messages.api_versions import ApiVersionsRequest
from moldau.protocol.messages.consumer_group_describe import ConsumerGroupDescribeRequest
from moldau.protocol.messages.consumer_group_heartbeat import (
    ConsumerGroupHeartbeatRequest,
    TopicPartitions,
)
from moldau.protocol.messages.create_topics import (
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
)
from moldau.protocol.messages.delete_groups import DeleteGroupsRequest
from moldau.protocol.messages.describe_client_quotas import (
    ComponentData,
    DescribeClientQuotasRequest,
)
from moldau.protocol.messages.describe_configs import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
)
from moldau.protocol.messages.describe_groups import DescribeGroupsRequest
from moldau.protocol.messages.describe_producers import DescribeProducersRequest, TopicRequest
from moldau.protocol.messages.describe_quorum import (
    DescribeQuorumRequest,
    PartitionData,
    TopicData,
)
from moldau.protocol.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from moldau.protocol.messages.find_coordinator import FindCoordinatorRequest
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
    OffsetFetchRequestTopics,
)
from moldau.protocol.messages.produce import (
    PartitionProduceData,
    ProduceRequest,
    TopicProduceData,
)
from moldau.protocol.messages.sync_group import SyncGroupRequest, SyncGroupRequestAssignment

TWO_MB = 2_000_000
# As many as a large request may have (``dispatch.ELEMENTS_MAX``).
MOST = 100_000
# The same for numbers.
MOST_NUMBERS = 400_000
TOPIC, BROKER = 2, 4
TOPICS_PER_REQUEST = 2_000
QUOTAS_PER_REQUEST = 5_000


class Salvo(NamedTuple):
    """The bytes to send over one connection, and the number of responses."""

    data: bytes
    answers: int = 1
    is_for_controller: bool = False


Prepare = Callable[[Wire], list[Salvo]]
ATTACKS: dict[str, Prepare] = {}


def attack(name: str) -> Callable[[Prepare], Prepare]:
    """Register a function as an attack called ``name``."""

    def add(prepare: Prepare) -> Prepare:
        ATTACKS[name] = prepare
        return prepare

    return add


def one(request: Any, version: int) -> list[Salvo]:
    return [Salvo(framed(request, version))]


def create_topics(wire: Wire, names: list[str], partitions: int = 1, **configs: str) -> None:
    """Create the topics that do not exist yet."""
    for begin in range(0, len(names), TOPICS_PER_REQUEST):
        topics = [
            CreatableTopic(
                name=name,
                num_partitions=partitions,
                replication_factor=1,
                configs=[
                    CreatableTopicConfig(name=key, value=value) for key, value in configs.items()
                ],
            )
            for name in names[begin : begin + TOPICS_PER_REQUEST]
        ]
        wire.send(CreateTopicsRequest(topics=topics, timeout_ms=600_000), 7)


def many_topics(wire: Wire, count: int) -> list[str]:
    names = [f"topic-{number:05}" for number in range(count)]
    create_topics(wire, names)
    return names


def describe(resources: list[DescribeConfigsResource]) -> list[Salvo]:
    request = DescribeConfigsRequest(resources=resources, include_synonyms=True)
    return one(request, 4)


# --- settings


@attack("ApiVersions, 100,000 pipelined")
def pipelined_api_versions(wire: Wire) -> list[Salvo]:
    request = ApiVersionsRequest(client_software_name="stalls", client_software_version="1")
    return [Salvo(framed(request, 3) * 100_000, 100_000)]


@attack("DescribeConfigs, 333,000 resources in 2 MB")
def describe_the_broker_too_often(wire: Wire) -> list[Salvo]:
    return describe([DescribeConfigsResource(BROKER, "1", None) for _ in range(333_000)])


@attack("DescribeConfigs, 100,000 resources in 0.5 MB")
def describe_the_broker_often(wire: Wire) -> list[Salvo]:
    return describe([DescribeConfigsResource(BROKER, "1", None) for _ in range(MOST)])


@attack("DescribeConfigs, one topic 50,000 times")
def describe_a_topic_often(wire: Wire) -> list[Salvo]:
    (name,) = many_topics(wire, 1)
    return describe([DescribeConfigsResource(TOPIC, name, None) for _ in range(50_000)])


@attack("DescribeConfigs, 10,000 topics")
def describe_all_topics(wire: Wire) -> list[Salvo]:
    names = many_topics(wire, 10_000)
    return describe([DescribeConfigsResource(TOPIC, name, None) for name in names])


@attack("AlterConfigs, 2 MB of unknown topics")
def alter_unknown_topics(wire: Wire) -> list[Salvo]:
    configs = [legacy.AlterableConfig("retention.ms", "1000")]
    resources = [
        legacy.AlterConfigsResource(TOPIC, f"no-{number}", configs)
        for number in range(TWO_MB // 35)
    ]
    return one(legacy.AlterConfigsRequest(resources=resources), 2)


@attack("AlterConfigs, 100,000 empty changes")
def alter_nothing(wire: Wire) -> list[Salvo]:
    resources = [legacy.AlterConfigsResource(TOPIC, "", []) for _ in range(MOST)]
    return one(legacy.AlterConfigsRequest(resources=resources), 2)


@attack("IncrementalAlterConfigs, 5,000 topics")
def alter_many_topics(wire: Wire) -> list[Salvo]:
    names = many_topics(wire, 5_000)
    configs = [incremental.AlterableConfig("retention.ms", 0, "86400000")]
    resources = [incremental.AlterConfigsResource(TOPIC, name, configs) for name in names]
    return one(incremental.IncrementalAlterConfigsRequest(resources=resources), 1)


@attack("AlterClientQuotas, 2 MB")
def alter_quotas(wire: Wire) -> list[Salvo]:
    ops = [OpData("producer_byte_rate", 1000.0)]
    entries = [EntryData([EntityData("user", f"u{number}")], ops) for number in range(TWO_MB // 50)]
    return one(AlterClientQuotasRequest(entries=entries), 1)


@attack("DescribeClientQuotas, 40,000 quotas")
def describe_quotas(wire: Wire) -> list[Salvo]:
    ops = [OpData("producer_byte_rate", 1000.0)]
    for begin in range(0, 40_000, QUOTAS_PER_REQUEST):
        users = range(begin, begin + QUOTAS_PER_REQUEST)
        entries = [EntryData([EntityData("user", f"u{number}")], ops) for number in users]
        wire.send(AlterClientQuotasRequest(entries=entries), 1)
    return one(DescribeClientQuotasRequest(components=[ComponentData("user", 2, None)]), 1)


@attack("ListConfigResources, 10,000 topics, 400,000 types")
def list_config_resources(wire: Wire) -> list[Salvo]:
    many_topics(wire, 10_000)
    return one(ListConfigResourcesRequest(resource_types=[TOPIC] * MOST_NUMBERS), 1)


@attack("ListPartitionReassignments, 400,000 partitions")
def list_reassignments(wire: Wire) -> list[Salvo]:
    create_topics(wire, ["wide"], partitions=1_000)
    indexes = [index % 1_000 for index in range(MOST_NUMBERS)]
    topics = [ListPartitionReassignmentsTopics("wide", indexes)]
    return one(ListPartitionReassignmentsRequest(topics=topics), 0)


@attack("DescribeQuorum, 100,000 partitions")
def describe_quorum(wire: Wire) -> list[Salvo]:
    partitions = [PartitionData(0) for _ in range(MOST)]
    return one(DescribeQuorumRequest(topics=[TopicData("__cluster_metadata", partitions)]), 2)


# --- groups


@attack("DescribeGroups, 100,000 groups")
def describe_groups(wire: Wire) -> list[Salvo]:
    groups = [f"{number:x}" for number in range(MOST)]
    return one(DescribeGroupsRequest(groups=groups), 5)


@attack("ConsumerGroupDescribe, 100,000 groups")
def describe_consumer_groups(wire: Wire) -> list[Salvo]:
    groups = [f"{number:x}" for number in range(MOST)]
    return one(ConsumerGroupDescribeRequest(group_ids=groups), 1)


@attack("FindCoordinator, 100,000 groups")
def find_coordinators(wire: Wire) -> list[Salvo]:
    keys = [f"{number:x}" for number in range(MOST)]
    return one(FindCoordinatorRequest(key_type=0, coordinator_keys=keys), 6)


def commit(wire: Wire, group: str, topic: str, partitions: int = 1) -> None:
    offsets = [
        OffsetCommitRequestPartition(index, committed_offset=1, committed_metadata="")
        for index in range(partitions)
    ]
    topics = [OffsetCommitRequestTopic(name=topic, partitions=offsets)]
    wire.send(OffsetCommitRequest(group_id=group, topics=topics), 9)


@attack("OffsetCommit, 100,000 offsets")
def commit_often(wire: Wire) -> list[Salvo]:
    create_topics(wire, ["wide"], partitions=1_000)
    wire.send(FindCoordinatorRequest(key_type=0, coordinator_keys=["g"]), 6)
    offsets = [OffsetCommitRequestPartition(index % 1_000, 1) for index in range(100_000)]
    topics = [OffsetCommitRequestTopic(name="wide", partitions=offsets)]
    return one(OffsetCommitRequest(group_id="busy", topics=topics), 9)


@attack("DeleteGroups, 10,000 groups")
def delete_groups(wire: Wire) -> list[Salvo]:
    (topic,) = many_topics(wire, 1)
    wire.send(FindCoordinatorRequest(key_type=0, coordinator_keys=["g"]), 6)
    groups = [f"doomed-{number}" for number in range(10_000)]
    for group in groups:
        commit(wire, group, topic)
    return one(DeleteGroupsRequest(groups_names=groups), 2)


@attack("OffsetDelete, 100,000 offsets")
def delete_offsets(wire: Wire) -> list[Salvo]:
    create_topics(wire, ["wide"], partitions=1_000)
    wire.send(FindCoordinatorRequest(key_type=0, coordinator_keys=["g"]), 6)
    commit(wire, "wide-group", "wide", partitions=1_000)
    partitions = [OffsetDeleteRequestPartition(index % 1_000) for index in range(MOST)]
    return one(OffsetDeleteRequest("wide-group", [OffsetDeleteRequestTopic("wide", partitions)]), 0)


@attack("OffsetDelete, 1,000 topics of 900 partitions")
def delete_offsets_in_short_lists(wire: Wire) -> list[Salvo]:
    wire.send(FindCoordinatorRequest(key_type=0, coordinator_keys=["g"]), 6)
    partitions = [OffsetDeleteRequestPartition(index) for index in range(900)]
    topics = [OffsetDeleteRequestTopic(f"{number:x}", partitions) for number in range(1_000)]
    return one(OffsetDeleteRequest("wide-group", topics), 0)


@attack("OffsetCommit, 2 MB of unknown topics")
def commit_unknown(wire: Wire) -> list[Salvo]:
    wire.send(FindCoordinatorRequest(key_type=0, coordinator_keys=["g"]), 6)
    topics = [
        OffsetCommitRequestTopic(f"no-{number}", partitions=[OffsetCommitRequestPartition(0, 1)])
        for number in range(TWO_MB // 32)
    ]
    return one(OffsetCommitRequest(group_id="busy", topics=topics), 9)


@attack("JoinGroup, 100,000 protocols")
def join_with_many_protocols(wire: Wire) -> list[Salvo]:
    wire.send(FindCoordinatorRequest(key_type=0, coordinator_keys=["g"]), 6)
    protocols = [JoinGroupRequestProtocol(f"{number:x}", b"") for number in range(MOST)]
    request = JoinGroupRequest(
        group_id="joined",
        session_timeout_ms=10_000,
        rebalance_timeout_ms=10_000,
        protocol_type="consumer",
        protocols=protocols,
    )
    return one(request, 9)


@attack("JoinGroup, 4,000,000 protocols in 20 MB")
def join_with_most_protocols(wire: Wire) -> list[Salvo]:
    wire.send(FindCoordinatorRequest(key_type=0, coordinator_keys=["g"]), 6)
    protocols = [JoinGroupRequestProtocol("ab", b"")] * 4_000_000
    return one(JoinGroupRequest(group_id="joined", protocols=protocols), 9)


@attack("SyncGroup, 100,000 assignments")
def sync_with_many_assignments(wire: Wire) -> list[Salvo]:
    wire.send(FindCoordinatorRequest(key_type=0, coordinator_keys=["g"]), 6)
    request = SyncGroupRequest(
        group_id="joined",
        member_id="no",
        protocol_type="consumer",
        protocol_name="range",
        assignments=[SyncGroupRequestAssignment(f"{number:x}") for number in range(MOST)],
    )
    return one(request, 5)


@attack("LeaveGroup, 100,000 members")
def leave_with_many_members(wire: Wire) -> list[Salvo]:
    wire.send(FindCoordinatorRequest(key_type=0, coordinator_keys=["g"]), 6)
    members = [MemberIdentity(f"{number:x}") for number in range(MOST)]
    return one(LeaveGroupRequest(group_id="joined", members=members), 5)


@attack("ListGroups, 100,000 states")
def list_groups(wire: Wire) -> list[Salvo]:
    states = [f"{number:x}" for number in range(MOST)]
    return one(ListGroupsRequest(states_filter=states), 5)


@attack("ListTransactions, 100,000 states")
def list_transactions(wire: Wire) -> list[Salvo]:
    states = [f"{number:x}" for number in range(MOST)]
    return one(ListTransactionsRequest(state_filters=states), 1)


@attack("OffsetFetch, one group 100 times")
def fetch_offsets_often(wire: Wire) -> list[Salvo]:
    create_topics(wire, ["wide"], partitions=1_000)
    wire.send(FindCoordinatorRequest(key_type=0, coordinator_keys=["g"]), 6)
    commit(wire, "wide-group", "wide", partitions=1_000)
    groups = [OffsetFetchRequestGroup(group_id="wide-group", topics=None) for _ in range(100)]
    return one(OffsetFetchRequest(groups=groups), 8)


@attack("OffsetFetch, 400,000 partitions")
def fetch_offsets_of_partitions(wire: Wire) -> list[Salvo]:
    wire.send(FindCoordinatorRequest(key_type=0, coordinator_keys=["g"]), 6)
    topics = [OffsetFetchRequestTopics("wide", partition_indexes=list(range(MOST_NUMBERS)))]
    groups = [OffsetFetchRequestGroup(group_id="wide-group", topics=topics)]
    return one(OffsetFetchRequest(groups=groups), 8)


def heartbeat(names: list[str], owned: list[TopicPartitions]) -> list[Salvo]:
    request = ConsumerGroupHeartbeatRequest(
        group_id="greedy",
        member_id="greedy",
        rebalance_timeout_ms=60_000,
        subscribed_topic_names=names,
        topic_partitions=owned,
    )
    return one(request, 1)


@attack("ConsumerGroupHeartbeat, 20,000 topic names")
def subscribe_to_many(wire: Wire) -> list[Salvo]:
    wire.send(FindCoordinatorRequest(key_type=0, coordinator_keys=["g"]), 6)
    return heartbeat([f"no-{number:06}" for number in range(20_000)], [])


@attack("ConsumerGroupHeartbeat, 10,000 topics exist")
def subscribe_to_all(wire: Wire) -> list[Salvo]:
    wire.send(FindCoordinatorRequest(key_type=0, coordinator_keys=["g"]), 6)
    return heartbeat(many_topics(wire, 10_000), [])


@attack("ConsumerGroupHeartbeat, 10,000 topics by pattern")
def subscribe_by_pattern(wire: Wire) -> list[Salvo]:
    many_topics(wire, 10_000)
    wire.send(FindCoordinatorRequest(key_type=0, coordinator_keys=["g"]), 6)
    request = ConsumerGroupHeartbeatRequest(
        group_id="pattern",
        member_id="greedy",
        rebalance_timeout_ms=60_000,
        subscribed_topic_regex="(topic-)+[0-9]*",
        topic_partitions=[],
    )
    return one(request, 1)


@attack("ConsumerGroupHeartbeat, 50 members join, with patterns")
def join_with_patterns(wire: Wire) -> list[Salvo]:
    many_topics(wire, 10_000)
    wire.send(FindCoordinatorRequest(key_type=0, coordinator_keys=["g"]), 6)
    joins = [
        framed(
            ConsumerGroupHeartbeatRequest(
                group_id="patterns",
                member_id=f"member-{number}",
                rebalance_timeout_ms=60_000,
                subscribed_topic_regex=f"topic-{number:02}.*",
                topic_partitions=[],
            ),
            1,
        )
        for number in range(50)
    ]
    return [Salvo(b"".join(joins), len(joins))]


@attack("ConsumerGroupHeartbeat, 400,000 owned partitions")
def own_many(wire: Wire) -> list[Salvo]:
    wire.send(FindCoordinatorRequest(key_type=0, coordinator_keys=["g"]), 6)
    owned = [TopicPartitions(bytes(15) + b"x", list(range(MOST_NUMBERS)))]
    return heartbeat(["wide"], owned)


@attack("ConsumerGroupHeartbeat, 1,000 members join")
def join_many(wire: Wire) -> list[Salvo]:
    create_topics(wire, ["wide"], partitions=1_000)
    wire.send(FindCoordinatorRequest(key_type=0, coordinator_keys=["g"]), 6)
    joins = [
        framed(
            ConsumerGroupHeartbeatRequest(
                group_id="crowd",
                member_id=f"member-{number}",
                rebalance_timeout_ms=60_000,
                subscribed_topic_names=["wide"],
                topic_partitions=[],
            ),
            1,
        )
        for number in range(1_000)
    ]
    return [Salvo(b"".join(joins), len(joins))]


# --- data


@attack("Fetch, 20 times 10,000 partitions")
def fetch_many_partitions(wire: Wire) -> list[Salvo]:
    names = many_topics(wire, 10_000)
    topics = [
        FetchTopic(topic=name, partitions=[FetchPartition(0, partition_max_bytes=1000)])
        for name in names
    ]
    request = FetchRequest(max_wait_ms=0, min_bytes=0, topics=topics, session_epoch=0)
    return [Salvo(framed(request, 12)) for _ in range(20)]


@attack("ListOffsets, 10,000 partitions by time")
def list_offsets(wire: Wire) -> list[Salvo]:
    names = many_topics(wire, 10_000)
    topics = [ListOffsetsTopic(name, [ListOffsetsPartition(0, timestamp=5)]) for name in names]
    return one(ListOffsetsRequest(replica_id=-1, topics=topics), 9)


@attack("Metadata, all of 10,000 topics, 20 times")
def all_metadata(wire: Wire) -> list[Salvo]:
    many_topics(wire, 10_000)
    return [Salvo(framed(MetadataRequest(topics=None), 12)) for _ in range(20)]


@attack("Metadata, 2 MB of unknown names")
def unknown_metadata(wire: Wire) -> list[Salvo]:
    topics = [MetadataRequestTopic(name=f"no-{number}") for number in range(TWO_MB // 28)]
    return one(MetadataRequest(topics=topics, allow_auto_topic_creation=False), 12)


@attack("CreateTopics, 2,000 topics")
def create_many(wire: Wire) -> list[Salvo]:
    wire.send(FindCoordinatorRequest(key_type=0, coordinator_keys=["g"]), 6)
    topics = [
        CreatableTopic(name=f"new-{number:05}", num_partitions=1, replication_factor=1)
        for number in range(2_000)
    ]
    return one(CreateTopicsRequest(topics=topics, timeout_ms=600_000), 7)


@attack("CreateTopics, 2 MB, validated only")
def validate_topics(wire: Wire) -> list[Salvo]:
    topics = [
        CreatableTopic(name=f"new-{number}", num_partitions=1, replication_factor=1)
        for number in range(TWO_MB // 20)
    ]
    return one(CreateTopicsRequest(topics=topics, validate_only=True), 7)


def produce_batches(topic: str, batches: list[bytes]) -> list[Salvo]:
    """One request per batch, one after the other on one connection."""
    requests = [
        framed(
            ProduceRequest(
                acks=-1,
                timeout_ms=60_000,
                topic_data=[
                    TopicProduceData(topic, partition_data=[PartitionProduceData(0, batch)])
                ],
            ),
            9,
        )
        for batch in batches
    ]
    return [Salvo(b"".join(requests), len(requests))]


@attack("DescribeProducers, 100,000 producers")
def describe_producers(wire: Wire) -> list[Salvo]:
    create_topics(wire, ["producers"])
    batches = small_batches(time.time_ns() // 1_000_000, 100_000)
    for salvo in produce_batches("producers", batches):
        sending = threading.Thread(target=wire.socket.sendall, args=(salvo.data,))
        sending.start()
        for _ in range(salvo.answers):
            wire.skip_frame()
        sending.join()
    return one(DescribeProducersRequest(topics=[TopicRequest("producers", [0])]), 0)


def record_attack(
    number: int, make: Callable[[int], tuple[dict[str, str], list[bytes]]]
) -> Prepare:
    """An attack with records: ``make`` returns the settings of a topic, and batches for it."""

    def prepare(wire: Wire) -> list[Salvo]:
        settings, batches = make(time.time_ns() // 1_000_000)
        topic = f"records-{number}"
        create_topics(wire, [topic], **settings)
        return produce_batches(topic, batches)

    return prepare


def add_record_attacks() -> None:
    """Register those of ``benchmarks/stall_attacks_records.py``."""
    for number, (name, make) in enumerate(RECORD_ATTACKS.items()):
        ATTACKS[f"Produce, {name}"] = record_attack(number, make)
