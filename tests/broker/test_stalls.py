"""However large a request is, other requests are served while it is being handled.

The short form of ``make stalls``: instead of the delay of other requests, it counts the turns of
the loop that they get. The broker's clock for shares advances with every reading, so a share is a
fixed number of steps on every machine.
"""

import asyncio
from collections.abc import Awaitable, Callable
from itertools import count
from typing import Any, NamedTuple

import pytest

from moldau.broker.dispatch import LARGE_REQUEST_BYTES, NAMES_MAX_BYTES
from moldau.clock import ManualClock
from moldau.errors import ErrorCode
from moldau.network.session import CloseConnection
from moldau.protocol.header import encode_request_header
from moldau.protocol.messages import alter_configs as legacy
from moldau.protocol.messages import incremental_alter_configs as incremental
from moldau.protocol.messages.alter_client_quotas import (
    AlterClientQuotasRequest,
    EntityData,
    EntryData,
    OpData,
)
from moldau.protocol.messages.alter_user_scram_credentials import (
    AlterUserScramCredentialsRequest,
    ScramCredentialDeletion,
)
from moldau.protocol.messages.consumer_group_describe import ConsumerGroupDescribeRequest
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
from moldau.protocol.messages.describe_topic_partitions import DescribeTopicPartitionsRequest
from moldau.protocol.messages.describe_topic_partitions import TopicRequest as TopicOfPages
from moldau.protocol.messages.describe_transactions import DescribeTransactionsRequest
from moldau.protocol.messages.describe_user_scram_credentials import (
    DescribeUserScramCredentialsRequest,
    UserName,
)
from moldau.protocol.messages.elect_leaders import ElectLeadersRequest, TopicPartitions
from moldau.protocol.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from moldau.protocol.messages.find_coordinator import FindCoordinatorRequest
from moldau.protocol.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsTopic,
)
from moldau.protocol.messages.metadata import MetadataRequest, MetadataRequestTopic
from moldau.protocol.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from moldau.protocol.messages.offset_fetch import OffsetFetchRequest, OffsetFetchRequestGroup
from moldau.protocol.messages.offset_for_leader_epoch import (
    OffsetForLeaderEpochRequest,
    OffsetForLeaderPartition,
    OffsetForLeaderTopic,
)
from moldau.protocol.primitives import MalformedMessage
from moldau.storage.simulated_disk import SimulatedDisk
from tests.broker.simulated import SimulatedBroker

MANY = 3_000
STEPS_PER_SHARE = 20
PARTITIONS = 1_000
TOPIC, BROKER = 2, 4
TIMEOUT_S = 30


async def started() -> SimulatedBroker:
    """A broker with a topic of many partitions, and a group that has committed all of them."""
    broker = SimulatedBroker(
        SimulatedDisk(seed=1), ManualClock(), {"offsets.topic.num.partitions": "2"}
    )
    await broker.node.start()
    wide = CreatableTopic(name="wide", num_partitions=PARTITIONS, replication_factor=1)
    await broker.send(CreateTopicsRequest(topics=[wide]), 7)
    await broker.send(FindCoordinatorRequest(key_type=0, coordinator_keys=["g"]), 6)
    await commit(broker, "wide-group", PARTITIONS)
    clock = count()
    turns = broker.node.broker.turns
    turns.now = lambda: next(clock)
    turns.share_s = STEPS_PER_SHARE
    return broker


async def commit(broker: SimulatedBroker, group: str, partitions: int) -> None:
    offsets = [OffsetCommitRequestPartition(index, 1) for index in range(partitions)]
    topics = [OffsetCommitRequestTopic(name="wide", partitions=offsets)]
    await broker.send(OffsetCommitRequest(group_id=group, topics=topics), 9)


class Attack(NamedTuple):
    request: Any
    version: int
    steps: int = MANY


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
        DeleteTopicsRequest(topics=[DeleteTopicState(name=name) for name in names()]), 6
    ),
    "ElectLeaders": lambda: Attack(
        ElectLeadersRequest(
            topic_partitions=[TopicPartitions(name, [0, 1]) for name in names()], timeout_ms=1000
        ),
        2,
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
    "OffsetFetch": fetch_offsets,
    "OffsetFetch with a large answer": fetch_few_large_groups,
}


@pytest.mark.parametrize("name", ATTACKS)
def test_others_get_their_turns_while_a_large_request_is_worked_on(name: str) -> None:
    async def scenario() -> None:
        broker = await started()
        attack = ATTACKS[name]()
        handled = broker.handle(attack.request, attack.version)
        assert isinstance(handled, Awaitable), "it is not answered in one go"
        working = asyncio.ensure_future(handled)
        answered = 0
        while not working.done():
            probe = await broker.send(MetadataRequest(topics=[]), 12)
            assert len(probe.brokers) == 1
            answered += 1
            await asyncio.sleep(0)
        assert answered >= attack.steps / STEPS_PER_SHARE - 2
        assert working.result()

    asyncio.run(scenario())


def test_a_small_request_is_answered_at_once() -> None:
    async def scenario() -> None:
        broker = await started()
        resource = DescribeConfigsResource(TOPIC, "wide", ["retention.ms"])
        for request, version in (
            (DescribeConfigsRequest(resources=[resource]), 4),
            (DescribeGroupsRequest(groups=["wide-group"]), 5),
            (FindCoordinatorRequest(key_type=0, coordinator_keys=["a", "b"]), 6),
            (OffsetFetchRequest(groups=[OffsetFetchRequestGroup("wide-group")]), 8),
        ):
            assert isinstance(broker.handle(request, version), list), type(request).__name__

    asyncio.run(scenario())


def test_all_offsets_of_a_group_are_the_same_however_many_steps_it_takes() -> None:
    async def scenario() -> None:
        broker = await started()
        for number in (1, 3):
            groups = [OffsetFetchRequestGroup("wide-group", topics=None) for _ in range(number)]
            response = await broker.send(OffsetFetchRequest(groups=groups), 8)
            for group in response.groups:
                (topic,) = group.topics
                assert [each.partition_index for each in topic.partitions] == list(
                    range(PARTITIONS)
                )
                assert {each.committed_offset for each in topic.partitions} == {1}

    asyncio.run(scenario())


def test_a_fetch_sees_what_comes_to_partitions_that_it_has_read_already() -> None:
    async def scenario() -> None:
        broker = await started()
        request = fetch().request
        request.min_bytes, request.max_wait_ms = 1, 600_000
        working = asyncio.ensure_future(broker.send(request, 12))
        for _ in range(2):
            await asyncio.sleep(0)
        assert not working.done()
        assert await broker.produce("wide", b"x") == 0
        async with asyncio.timeout(TIMEOUT_S):
            response = await working
        found = [data for data in response.responses[0].partitions if data.records]
        assert [data.partition_index for data in found] == [0]

    asyncio.run(scenario())


def test_a_session_of_many_partitions_gets_the_news_alone() -> None:
    async def scenario() -> None:
        broker = await started()
        request = fetch().request
        request.session_epoch = 0
        first = await broker.send(request, 12)
        assert len(first.responses[0].partitions) == PARTITIONS
        assert await broker.produce("wide", b"x", partition=700) == 0
        again = FetchRequest(session_id=first.session_id, session_epoch=1)
        (topic,) = (await broker.send(again, 12)).responses
        assert [data.partition_index for data in topic.partitions] == [700]

    asyncio.run(scenario())


def test_groups_are_deleted_each_with_its_own_answer() -> None:
    async def scenario() -> None:
        broker = await started()
        kept = names(300)
        for group in kept:
            await commit(broker, group, 1)
        asked = [name for group in kept for name in (group, f"no-{group}", group)]
        response = await broker.send(DeleteGroupsRequest(groups_names=asked), 2)
        codes = {result.group_id: result.error_code for result in response.results}
        assert len(response.results) == len(codes) == 600
        assert {codes[group] for group in kept} == {0}
        assert {codes[f"no-{group}"] for group in kept} == {ErrorCode.GROUP_ID_NOT_FOUND}
        again = await broker.send(DeleteGroupsRequest(groups_names=kept), 2)
        assert {each.error_code for each in again.results} == {ErrorCode.GROUP_ID_NOT_FOUND}

    asyncio.run(scenario())


def test_a_large_request_that_is_no_request_ends_its_connection() -> None:
    async def scenario() -> None:
        broker = await started()
        request = DescribeGroupsRequest(groups=names())
        header_and_body = broker_frame(request, 5)
        assert len(header_and_body) > LARGE_REQUEST_BYTES
        with pytest.raises(MalformedMessage):
            await broker.dispatcher.handle(broker.session, header_and_body[:-100])  # type: ignore[misc]

    asyncio.run(scenario())


def test_a_request_that_names_more_than_anybody_needs_is_refused_unread() -> None:
    async def scenario() -> None:
        broker = await started()
        groups = ["x" * 30_000] * (NAMES_MAX_BYTES // 30_000 + 1)
        with pytest.raises(CloseConnection, match="ask for fewer at a time"):
            await broker.send(DescribeGroupsRequest(groups=groups), 5)

    asyncio.run(scenario())


def broker_frame(request: Any, version: int) -> bytes:
    header: bytes = encode_request_header(request.API_KEY, version, 1, "test")
    return header + bytes(request.encode(version))
