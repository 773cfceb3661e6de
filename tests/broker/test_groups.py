"""Classic groups over the wire: joining, rebalancing, leaving, and errors."""

import asyncio
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from moldau.broker.group_runtime import group_hash
from moldau.broker.handlers.groups import client_host
from moldau.clock import ManualClock
from moldau.errors import ErrorCode
from moldau.ids import OFFSETS_TOPIC
from moldau.protocol.messages.describe_configs import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
)
from moldau.protocol.messages.find_coordinator import FindCoordinatorRequest
from moldau.protocol.messages.heartbeat import HeartbeatRequest
from moldau.protocol.messages.join_group import JoinGroupRequest
from moldau.protocol.messages.leave_group import LeaveGroupRequest, MemberIdentity
from moldau.protocol.messages.metadata import MetadataRequest, MetadataRequestTopic
from moldau.protocol.messages.sync_group import SyncGroupRequest
from moldau.simulator.disk import SimulatedDisk
from tests.broker.grouping import QUICK, Member, commit_request, fetch_request, find_coordinator
from tests.broker.producing import create_topic
from tests.broker.simulated import SimulatedBroker
from tests.running import RunningBroker, WireClient


@pytest.fixture
def quick(tmp_path: Path) -> Iterator[RunningBroker]:
    with RunningBroker(tmp_path / "data", QUICK) as broker, broker.connect() as client:
        find_coordinator(client)
        yield broker


@pytest.mark.parametrize(
    ("group_id", "expected"),
    # From java.lang.String.hashCode, with Kafka's Utils.abs.
    [("", 0), ("g", 103), ("group", 98629247), ("polygenelubricants", 0), ("Ä😀", 1961255)],
)
def test_a_group_hashes_as_in_java(group_id: str, expected: int) -> None:
    assert group_hash(group_id) == expected


@pytest.mark.parametrize(
    ("peer", "expected"),
    # From java.net.InetAddress.toString.
    [
        ("127.0.0.1", "/127.0.0.1"),
        ("::1", "/0:0:0:0:0:0:0:1"),
        ("2001:db8::ff00:42:8329", "/2001:db8:0:0:0:ff00:42:8329"),
        ("fe80::1%lo", "/fe80:0:0:0:0:0:0:1%lo"),
    ],
)
def test_a_member_host_is_printed_as_in_java(peer: str, expected: str) -> None:
    assert client_host(peer) == expected


def test_the_first_question_for_a_coordinator_creates_the_topic(
    broker: RunningBroker, client: WireClient
) -> None:
    (found,) = find_coordinator(client, "some group")
    assert (found.key, found.node_id, found.port) == ("some group", 1, broker.port)
    request = MetadataRequest(topics=[MetadataRequestTopic(name=OFFSETS_TOPIC)])
    (topic,) = client.send(request, 12).topics
    assert (len(topic.partitions), topic.is_internal) == (50, True)
    resource = DescribeConfigsResource(resource_type=2, resource_name=OFFSETS_TOPIC)
    (result,) = client.send(DescribeConfigsRequest(resources=[resource]), 4).results
    settings = {each.name: each.value for each in result.configs}
    assert settings["cleanup.policy"] == "compact"
    assert settings["compression.type"] == "producer"
    assert settings["segment.bytes"] == "104857600"


def test_many_who_ask_at_once_get_one_topic(broker: RunningBroker) -> None:
    clients = [broker.connect() for _ in range(5)]
    for client in clients:
        client.post(FindCoordinatorRequest(coordinator_keys=["a", "b"]), 6)
    for client in clients:
        response = client.receive(FindCoordinatorRequest.API_KEY, 6)
        assert [each.error_code for each in response.coordinators] == [0, 0]
        client.close()


def test_without_the_topic_nobody_is_the_coordinator(client: WireClient) -> None:
    request = HeartbeatRequest(group_id="g", member_id="m")
    assert client.send(request, 4).error_code == ErrorCode.NOT_COORDINATOR
    member = Member(client)
    member.post_join()
    assert member.joined().error_code == ErrorCode.NOT_COORDINATOR


@pytest.mark.parametrize("version", range(10))
def test_a_member_joins_stays_and_leaves_in_every_version(
    quick: RunningBroker, version: int
) -> None:
    with quick.connect() as client:
        member = Member(client, version=version)
        joined = member.join()
        assert (joined.error_code, joined.protocol_name) == (0, "range")
        assert joined.leader == member.member_id
        assert [(each.member_id, each.metadata) for each in joined.members] == [
            (member.member_id, b"subscription")
        ]
        synced = member.sync({member.member_id: b"all of it"})
        assert (synced.error_code, synced.assignment) == (0, b"all of it")
        assert member.heartbeat() is ErrorCode.NONE
        assert member.leave().error_code == 0
        assert member.heartbeat() is ErrorCode.UNKNOWN_MEMBER_ID


def test_two_members_share_and_the_leader_says_how(quick: RunningBroker) -> None:
    with quick.connect() as one, quick.connect() as two:
        first, second = Member(one), Member(two)
        assert first.join().error_code == 0
        first.sync({first.member_id: b"everything"})
        # The second must join with its member id, and then waits for the first.
        second.post_join()
        assert second.joined().error_code == ErrorCode.MEMBER_ID_REQUIRED
        second.post_join()
        while first.heartbeat() is ErrorCode.NONE:
            pass
        assert first.heartbeat() is ErrorCode.REBALANCE_IN_PROGRESS
        leader = first.join()
        follower = second.joined()
        assert leader.generation_id == follower.generation_id == 2
        assert leader.leader == follower.leader == first.member_id
        assert {each.member_id for each in leader.members} == {first.member_id, second.member_id}
        assert follower.members == []
        # The follower sends its request first, and gets the response after that of the leader.
        second.post_sync()
        assert first.sync({first.member_id: b"a", second.member_id: b"b"}).assignment == b"a"
        assert second.synced().assignment == b"b"
        assert first.leave().members[0].error_code == 0
        while second.heartbeat() is ErrorCode.NONE:
            pass
        assert second.join().leader == second.member_id


def test_a_member_that_falls_silent_makes_room(quick: RunningBroker) -> None:
    with quick.connect() as one, quick.connect() as two:
        silent = Member(one, session_timeout_ms=200)
        silent.join()
        silent.sync({silent.member_id: b"everything"})
        heir = Member(two)
        joined = heir.join()
        assert (joined.error_code, joined.leader) == (0, heir.member_id)
        assert [each.member_id for each in joined.members] == [heir.member_id]


def test_a_client_that_hangs_up_while_it_waits_disturbs_nobody(quick: RunningBroker) -> None:
    with quick.connect() as one, quick.connect() as two:
        first = Member(one)
        first.join()
        first.sync({first.member_id: b"everything"})
        gone = Member(two, session_timeout_ms=100)
        gone.post_join()
        gone.joined()
        gone.post_join()
        while first.heartbeat() is ErrorCode.NONE:
            pass
        two.close()
        joined = first.join()
        assert (joined.error_code, joined.leader) == (0, first.member_id)


def test_an_assignment_that_is_too_large_for_a_record_concerns_its_group_only(
    quick: RunningBroker,
) -> None:
    """Kafka Streams and custom assignors put data of their own into assignments."""
    with quick.connect() as one, quick.connect() as two, quick.connect() as three:
        # The hash of the other group is that of the same partition.
        first, other, waiting = Member(one), Member(two, "k"), Member(three, "k")
        assert group_hash("g") % 4 == group_hash("k") % 4
        other.join()
        other.sync({other.member_id: b"everything"})
        waiting.post_join()
        waiting.joined()
        waiting.post_join()
        while other.heartbeat() is ErrorCode.NONE:
            pass
        first.join()
        synced = first.sync({first.member_id: bytes(2_000_000)})
        assert synced.error_code == ErrorCode.UNKNOWN_SERVER_ERROR
        # It is asked to join again, and may bring a smaller one.
        assert first.heartbeat() is ErrorCode.REBALANCE_IN_PROGRESS
        assert first.join().generation_id == 2
        assert first.sync({first.member_id: b"everything"}).assignment == b"everything"
        assert other.join().error_code == 0
        assert waiting.joined().error_code == 0


def test_a_stopping_broker_does_not_wait_for_a_rebalance(tmp_path: Path) -> None:
    with RunningBroker(tmp_path / "data", QUICK) as broker:
        one, two = broker.connect(), broker.connect()
        find_coordinator(one)
        first, second = Member(one), Member(two)
        first.join()
        first.sync({first.member_id: b"everything"})
        second.post_join()
        second.joined()
        second.post_join()
        while first.heartbeat() is ErrorCode.NONE:
            pass
        begin = time.monotonic()
        broker.stop()
        # The rebalance may take thirty.
        assert time.monotonic() - begin < 25
        assert second.joined().error_code == ErrorCode.NOT_COORDINATOR
        one.close()
        two.close()


def test_a_group_outlives_the_broker(tmp_path: Path) -> None:
    with RunningBroker(tmp_path / "data", QUICK) as broker, broker.connect() as client:
        find_coordinator(client)
        create_topic(client, "t")
        member = Member(client)
        member.join()
        member.sync({member.member_id: b"everything"})
        assert member.commit("t", 0, 7) is ErrorCode.NONE
    with RunningBroker(tmp_path / "data", QUICK) as broker, broker.connect() as client:
        member.client = client
        while (code := member.commit("t", 0, 8)) is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS:
            pass
        assert code is ErrorCode.NONE
        assert member.heartbeat() is ErrorCode.NONE, "it need not even join again"
        synced = member.sync()
        assert (synced.error_code, synced.assignment) == (0, b"everything")


REQUESTS_WITHOUT_A_GROUP: list[tuple[Any, int]] = [
    (JoinGroupRequest(session_timeout_ms=30_000, protocol_type="consumer"), 9),
    (SyncGroupRequest(protocol_type="consumer", protocol_name="range"), 5),
    (HeartbeatRequest(member_id="m"), 4),
    (LeaveGroupRequest(members=[MemberIdentity(member_id="m")]), 5),
]


@pytest.mark.parametrize(("request_", "version"), REQUESTS_WITHOUT_A_GROUP)
def test_a_group_must_have_a_name(client: WireClient, request_: Any, version: int) -> None:
    assert client.send(request_, version).error_code == ErrorCode.INVALID_GROUP_ID


@pytest.mark.parametrize("timeout_ms", [5_999, 1_800_001])
def test_a_session_has_bounds(client: WireClient, timeout_ms: int) -> None:
    find_coordinator(client)
    member = Member(client, session_timeout_ms=timeout_ms)
    member.post_join()
    response = member.joined()
    assert response.error_code == ErrorCode.INVALID_SESSION_TIMEOUT
    assert response.protocol_name is None


def test_a_sync_names_its_protocol(client: WireClient) -> None:
    response = client.send(SyncGroupRequest(group_id="g", member_id="m"), 5)
    assert response.error_code == ErrorCode.INCONSISTENT_GROUP_PROTOCOL


def test_strangers_are_told_so(quick: RunningBroker) -> None:
    with quick.connect() as client:
        stranger = Member(client)
        stranger.member_id = "nobody"
        assert stranger.heartbeat() is ErrorCode.UNKNOWN_MEMBER_ID
        stranger.post_join()
        assert stranger.joined().error_code == ErrorCode.UNKNOWN_MEMBER_ID
        assert stranger.sync().error_code == ErrorCode.UNKNOWN_MEMBER_ID
        answer = stranger.leave()
        assert answer.error_code == 0
        assert answer.members[0].error_code == ErrorCode.UNKNOWN_MEMBER_ID


def test_until_the_log_is_read_clients_wait_and_members_may_stay() -> None:
    async def scenario() -> None:
        disk, clock = SimulatedDisk(seed=1), ManualClock()
        first = SimulatedBroker(disk, clock)
        await first.node.start()
        await first.send(FindCoordinatorRequest(coordinator_keys=["g"]), 6)
        await first.create("t")
        response = await first.send(commit_request("g", "t", {0: 5}), 9)
        assert response.topics[0].partitions[0].error_code == 0
        await first.node.stop()

        second = SimulatedBroker(disk, clock)
        await second.node.start()
        loading = ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
        (group,) = (await second.send(fetch_request("g", None, []), 9)).groups
        assert group.error_code == loading
        response = await second.send(commit_request("g", "t", {0: 6}), 9)
        assert response.topics[0].partitions[0].error_code == loading
        heartbeat = await second.send(HeartbeatRequest(group_id="g", member_id="m"), 4)
        assert heartbeat.error_code == 0
        while group.error_code == loading:
            await asyncio.sleep(0)
            (group,) = (await second.send(fetch_request("g", None, []), 9)).groups
        assert group.topics[0].partitions[0].committed_offset == 5
        await second.node.stop()

    asyncio.run(scenario())
