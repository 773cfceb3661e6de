"""However large a request is, other requests are served while it is being handled.

The short form of ``make stalls``: instead of the delay of other requests, it counts the turns of
the loop that they get. The broker's clock for shares advances with every reading, so a share is a
fixed number of steps on every machine.
"""

import asyncio
from collections.abc import Awaitable
from itertools import count
from typing import Any

import pytest

from moldau.broker.dispatch import (
    COMMIT_MAX_BYTES,
    ELEMENTS_MAX,
    LARGE_REQUEST_BYTES,
    NAMES_MAX_BYTES,
    Dispatcher,
    RequestContext,
)
from moldau.broker.handlers.groups import MAX_PROTOCOLS
from moldau.broker.handlers.offset_delete import OffsetDelete
from moldau.clock import ManualClock
from moldau.errors import ErrorCode
from moldau.network.session import CloseConnection
from moldau.protocol.header import decode_request_header, encode_request_header
from moldau.protocol.messages.alter_client_quotas import (
    AlterClientQuotasRequest,
    EntityData,
    EntryData,
    OpData,
)
from moldau.protocol.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest
from moldau.protocol.messages.create_topics import CreatableTopic, CreateTopicsRequest
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
from moldau.protocol.messages.fetch import FetchRequest
from moldau.protocol.messages.find_coordinator import FindCoordinatorRequest
from moldau.protocol.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol
from moldau.protocol.messages.list_config_resources import ListConfigResourcesRequest
from moldau.protocol.messages.metadata import MetadataRequest
from moldau.protocol.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from moldau.protocol.messages.offset_delete import (
    OffsetDeleteRequest,
    OffsetDeleteRequestPartition,
    OffsetDeleteRequestTopic,
    OffsetDeleteResponse,
)
from moldau.protocol.messages.offset_fetch import OffsetFetchRequest, OffsetFetchRequestGroup
from moldau.protocol.messages.sync_group import SyncGroupRequest, SyncGroupRequestAssignment
from moldau.protocol.primitives import MalformedMessage
from moldau.simulator.disk import SimulatedDisk
from tests.broker.simulated import SimulatedBroker
from tests.broker.stall_attacks import ATTACKS, PARTITIONS, TOPIC, fetch, names

STEPS_PER_SHARE = 20
SPECIFIED = 2
TIMEOUT_S = 120


async def started() -> SimulatedBroker:
    """A broker with a topic of many partitions, and a group that has committed all of them."""
    broker = SimulatedBroker(
        SimulatedDisk(seed=1),
        ManualClock(),
        {"offsets.topic.num.partitions": "2", "transaction.state.log.num.partitions": "2"},
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


@pytest.mark.parametrize("name", ATTACKS)
def test_others_get_their_turns_while_a_large_request_is_worked_on(name: str) -> None:
    async def scenario() -> None:
        broker = await started()
        attack = ATTACKS[name]()
        await attack.prepare(broker, attack.request)
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


def test_others_get_their_turns_while_many_quotas_are_described() -> None:
    async def scenario() -> None:
        broker = await started()
        ops = [OpData("producer_byte_rate", 1000.0)]
        entries = [EntryData([EntityData("user", name)], ops) for name in names()]
        await broker.send(AlterClientQuotasRequest(entries=entries), 1)
        everything = DescribeClientQuotasRequest([ComponentData("user", SPECIFIED, None)])
        working = asyncio.ensure_future(broker.send(everything, 1))
        turns = 0
        while not working.done():
            await asyncio.sleep(0)
            turns += 1
        assert turns >= len(entries) / STEPS_PER_SHARE - 2
        assert len(working.result().entries) == len(entries)

    asyncio.run(scenario())


def test_offsets_are_deleted_in_steps_each_with_its_own_answer() -> None:
    async def scenario() -> None:
        broker = await started()
        indexes = range(PARTITIONS - 300, PARTITIONS + 300)
        partitions = [OffsetDeleteRequestPartition(index) for index in indexes]
        topics = [
            OffsetDeleteRequestTopic("wide", partitions),
            OffsetDeleteRequestTopic("none", partitions[:1]),
        ]
        response = await broker.send(OffsetDeleteRequest("wide-group", topics), 0)
        wide, none = response.topics
        codes = {each.partition_index: each.error_code for each in wide.partitions}
        assert len(wide.partitions) == len(codes) == 600
        unknown = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        assert [codes[index] for index in indexes] == [0] * 300 + [unknown] * 300
        assert [each.error_code for each in none.partitions] == [unknown]
        groups = [OffsetFetchRequestGroup("wide-group", topics=None)]
        (left,) = (await broker.send(OffsetFetchRequest(groups=groups), 8)).groups
        assert len(left.topics[0].partitions) == PARTITIONS - 300

    asyncio.run(scenario())


def test_the_offsets_of_a_group_that_does_not_exist_are_not_looked_at() -> None:
    async def scenario() -> None:
        broker = await started()
        parts = broker.node.broker
        handler = OffsetDelete(parts.groups, parts.metadata.publisher)
        partitions = [OffsetDeleteRequestPartition(index) for index in range(40_000)]
        topics = [OffsetDeleteRequestTopic("wide", partitions)]
        header, _ = decode_request_header(encode_request_header(47, 0, 1, "test"))
        context = RequestContext(Dispatcher([], parts.turns), broker.session, header)
        response = handler.handle(OffsetDeleteRequest("none", topics), context)
        assert isinstance(response, OffsetDeleteResponse), "it takes no further turns"
        assert response.error_code == ErrorCode.GROUP_ID_NOT_FOUND
        later = handler.handle(OffsetDeleteRequest("wide-group", topics), context)
        assert isinstance(later, Awaitable)
        assert (await later).error_code == 0

    asyncio.run(scenario())


def test_a_large_commit_has_an_answer_for_each_partition() -> None:
    async def scenario() -> None:
        broker = await started()
        offsets = [OffsetCommitRequestPartition(index, 7) for index in range(2 * PARTITIONS)]
        topics = [
            OffsetCommitRequestTopic(name="none", partitions=offsets[:1]),
            OffsetCommitRequestTopic(name="wide", partitions=offsets),
        ]
        request = OffsetCommitRequest(group_id="wide-group", topics=topics)
        none, wide = (await broker.send(request, 9)).topics
        unknown = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        assert [each.error_code for each in none.partitions] == [unknown]
        codes = {each.partition_index: each.error_code for each in wide.partitions}
        assert len(wide.partitions) == len(codes) == 2 * PARTITIONS
        assert [codes[each.partition_index] for each in offsets] == (
            [0] * PARTITIONS + [unknown] * PARTITIONS
        )

    asyncio.run(scenario())


def test_a_member_with_more_protocols_than_any_client_has_is_refused() -> None:
    async def scenario() -> None:
        broker = await started()
        request = ATTACKS["JoinGroup"]().request
        response = await broker.send(request, 9)
        assert response.error_code == ErrorCode.INCONSISTENT_GROUP_PROTOCOL
        request.protocols = request.protocols[:MAX_PROTOCOLS]
        response = await broker.send(request, 9)
        assert response.error_code == ErrorCode.MEMBER_ID_REQUIRED

    asyncio.run(scenario())


def test_a_subscription_that_cannot_be_stored_does_not_reload_the_groups_beside_it() -> None:
    async def scenario() -> None:
        broker = await started()
        groups = broker.node.broker.groups
        hosted = groups.shard_of("g")
        request = ConsumerGroupHeartbeatRequest(
            group_id="g",
            member_id="greedy",
            rebalance_timeout_ms=60_000,
            subscribed_topic_names=[f"{number:030000}" for number in range(50)],
            topic_partitions=[],
        )
        response = await broker.send(request, 1)
        assert response.error_code == ErrorCode.UNKNOWN_SERVER_ERROR
        assert groups.shard_of("g") is hosted

    asyncio.run(scenario())


def test_a_heartbeat_with_many_topics_is_decided_and_encoded_in_steps() -> None:
    async def scenario() -> None:
        broker = await started()
        topics = names(300)
        for name in topics:
            await broker.create(name)
        request = ConsumerGroupHeartbeatRequest(
            group_id="g",
            member_id="greedy",
            rebalance_timeout_ms=60_000,
            subscribed_topic_names=topics,
            topic_partitions=[],
        )
        readings = count()
        turns = broker.node.broker.turns
        turns.now = lambda: next(readings)
        turns.share_s = 10_000
        response = await broker.send(request, 1)
        assert len(response.assignment.topic_partitions) == len(topics)
        # The clock is read once for the share, and after each step, where a turn may end: the hash
        # of each topic, the parts of the decision, and the encoding of each record.
        parts, records = 8, 5
        assert next(readings) >= 1 + len(topics) + parts + records

    asyncio.run(scenario())


@pytest.mark.parametrize(
    ("metadata", "assignment"), [(1_500_000, 10), (10, 1_500_000), (600_000, 600_000)]
)
def test_an_assignment_that_cannot_be_stored_does_not_reload_the_groups_beside_it(
    metadata: int, assignment: int
) -> None:
    async def scenario() -> None:
        settings = {"offsets.topic.num.partitions": "1", "group.initial.rebalance.delay.ms": "0"}
        broker = SimulatedBroker(SimulatedDisk(seed=1), ManualClock(), settings)
        await broker.node.start()
        await broker.send(FindCoordinatorRequest(key_type=0, coordinator_keys=["g"]), 6)
        groups = broker.node.broker.groups
        hosted = groups.shard_of("g")
        join = JoinGroupRequest(
            group_id="g",
            session_timeout_ms=10_000,
            rebalance_timeout_ms=10_000,
            protocol_type="consumer",
            protocols=[JoinGroupRequestProtocol("range", bytes(metadata))],
        )
        join.member_id = (await broker.send(join, 9)).member_id
        joined = await broker.send(join, 9)
        sync = SyncGroupRequest(
            group_id="g",
            generation_id=joined.generation_id,
            member_id=joined.member_id,
            protocol_type="consumer",
            protocol_name="range",
            assignments=[SyncGroupRequestAssignment(joined.member_id, bytes(assignment))],
        )
        response = await broker.send(sync, 5)
        assert response.error_code == ErrorCode.UNKNOWN_SERVER_ERROR
        assert groups.shard_of("g") is hosted

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


def test_a_request_with_more_elements_than_anybody_needs_is_refused() -> None:
    async def scenario() -> None:
        broker = await started()
        request = DescribeGroupsRequest(groups=["ab"] * (ELEMENTS_MAX + 2_000))
        frame = broker_frame(request, 5)
        assert len(frame) < NAMES_MAX_BYTES
        with pytest.raises(MalformedMessage, match="too many elements"):
            await broker.dispatcher.handle(broker.session, frame)  # type: ignore[misc]

    asyncio.run(scenario())


def test_a_long_list_of_numbers_is_not_refused() -> None:
    async def scenario() -> None:
        broker = await started()
        types = [TOPIC] * (ELEMENTS_MAX + 2_000)
        response = await broker.send(ListConfigResourcesRequest(resource_types=types), 1)
        found = [each.resource_name for each in response.config_resources]
        assert found == ["wide", "__consumer_offsets"]

    asyncio.run(scenario())


def test_a_commit_larger_than_any_batch_of_the_offsets_topic_is_refused_unread() -> None:
    async def scenario() -> None:
        broker = await started()
        offsets = [OffsetCommitRequestPartition(0, 1, committed_metadata="x" * 30_000)]
        topics = [OffsetCommitRequestTopic("wide", partitions=offsets)]
        request = OffsetCommitRequest("g", topics=topics * (COMMIT_MAX_BYTES // 30_000 + 1))
        with pytest.raises(CloseConnection, match="ask for fewer at a time"):
            await broker.send(request, 9)
        request.topics = topics * (NAMES_MAX_BYTES // 30_000 + 1)
        response = await broker.send(request, 9)
        (code,) = {each.error_code for topic in response.topics for each in topic.partitions}
        assert code == ErrorCode.OFFSET_METADATA_TOO_LARGE

    asyncio.run(scenario())


def broker_frame(request: Any, version: int) -> bytes:
    header: bytes = encode_request_header(request.API_KEY, version, 1, "test")
    return header + bytes(request.encode(version))
