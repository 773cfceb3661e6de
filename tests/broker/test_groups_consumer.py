"""KIP-848 over the wire: heartbeats that join, reconcile and leave, and invalid ones."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from moldau.errors import ErrorCode
from moldau.protocol.messages.consumer_group_describe import ConsumerGroupDescribeRequest
from moldau.protocol.messages.consumer_group_heartbeat import (
    ConsumerGroupHeartbeatRequest,
    TopicPartitions,
)
from moldau.protocol.messages.list_groups import ListGroupsRequest
from moldau.protocol.messages.offset_commit import OffsetCommitRequest
from moldau.protocol.messages.update_features import FeatureUpdateKey, UpdateFeaturesRequest
from tests.broker.grouping import QUICK, commit_request, committed, find_coordinator
from tests.broker.producing import create_topic
from tests.running import RunningBroker, WireClient

SETTINGS = {**QUICK, "group.consumer.assignment.interval.ms": "0"}


@pytest.fixture
def quick(tmp_path: Path) -> Iterator[RunningBroker]:
    with RunningBroker(tmp_path / "data", SETTINGS) as broker:
        yield broker


@pytest.fixture
def ready(quick: RunningBroker) -> Iterator[WireClient]:
    with quick.connect() as client:
        find_coordinator(client)
        create_topic(client, "t", 4)
        yield client


class ConsumerMember:
    """A member that applies its assignment and reports it with its next heartbeat."""

    def __init__(self, client: WireClient, name: str, group: str = "g") -> None:
        self.client = client
        self.group = group
        self.name = name
        self.epoch = 0
        self.owned: dict[bytes, list[int]] = {}

    def heartbeat(self, **fields: Any) -> Any:
        if self.epoch == 0:
            fields.setdefault("rebalance_timeout_ms", 5000)
            fields.setdefault("subscribed_topic_names", ["t"])
        owned = [
            TopicPartitions(topic_id=topic_id, partitions=indexes)
            for topic_id, indexes in self.owned.items()
        ]
        request = ConsumerGroupHeartbeatRequest(
            group_id=self.group,
            member_id=self.name,
            member_epoch=self.epoch,
            topic_partitions=[] if self.epoch == 0 else owned,
            **fields,
        )
        response = self.client.send(request, 1)
        if response.error_code == 0:
            self.epoch = response.member_epoch
            if response.assignment is not None:
                self.owned = {
                    each.topic_id: sorted(each.partitions)
                    for each in response.assignment.topic_partitions
                }
        return response

    @property
    def partitions(self) -> list[int]:
        return [index for indexes in self.owned.values() for index in indexes]


def test_one_member_gets_everything(quick: RunningBroker, ready: WireClient) -> None:
    member = ConsumerMember(ready, "one")
    response = member.heartbeat()
    assert (response.error_code, response.member_id) == (0, "one")
    assert response.heartbeat_interval_ms == 5000
    topic_id = quick.node.broker.image.topics_by_name["t"].id
    assert member.owned == {topic_id: [0, 1, 2, 3]}
    assert ready.send(ListGroupsRequest(), 5).groups[0].group_type == "consumer"


def test_two_members_come_to_share(ready: WireClient) -> None:
    one, two = ConsumerMember(ready, "one"), ConsumerMember(ready, "two")
    one.heartbeat()
    two.heartbeat()
    for _ in range(10):
        one.heartbeat()
        two.heartbeat()
        if len(one.partitions) == len(two.partitions) == 2:
            break
    assert sorted(one.partitions + two.partitions) == [0, 1, 2, 3]
    (group,) = ready.send(ConsumerGroupDescribeRequest(group_ids=["g"]), 1).groups
    assert (group.error_code, group.group_state, group.assignor_name) == (0, "Stable", "uniform")
    assert {each.member_id for each in group.members} == {"one", "two"}
    one.epoch = -1
    assert one.heartbeat().error_code == 0
    while len(two.partitions) < 4:
        assert two.heartbeat().error_code == 0


def test_a_member_commits_with_its_epoch(ready: WireClient) -> None:
    member = ConsumerMember(ready, "one")
    member.heartbeat()

    def commit_as(name: str, epoch: int) -> ErrorCode:
        request: OffsetCommitRequest = commit_request("g", "t", {0: 9})
        request.member_id = name
        request.generation_id_or_member_epoch = epoch
        (topic,) = ready.send(request, 9).topics
        return ErrorCode(topic.partitions[0].error_code)

    assert commit_as("one", member.epoch) is ErrorCode.NONE
    assert commit_as("one", member.epoch + 1) is ErrorCode.STALE_MEMBER_EPOCH
    assert commit_as("two", member.epoch) is ErrorCode.UNKNOWN_MEMBER_ID
    assert committed(ready, "g") == {("t", 0): 9}


def test_a_consumer_group_outlives_the_broker(tmp_path: Path) -> None:
    with RunningBroker(tmp_path / "data", SETTINGS) as broker, broker.connect() as client:
        find_coordinator(client)
        create_topic(client, "t", 4)
        member = ConsumerMember(client, "one")
        member.heartbeat()
    with RunningBroker(tmp_path / "data", SETTINGS) as broker, broker.connect() as client:
        member.client = client
        while (code := member.heartbeat().error_code) == ErrorCode.COORDINATOR_LOAD_IN_PROGRESS:
            pass
        assert code == 0
        assert member.partitions == [0, 1, 2, 3]


JOINING: dict[str, Any] = {
    "rebalance_timeout_ms": 5000,
    "subscribed_topic_names": ["t"],
    "topic_partitions": [],
}
SENSELESS: list[dict[str, Any]] = [
    {**JOINING, "group_id": " "},
    {**JOINING, "member_id": ""},
    {**JOINING, "instance_id": ""},
    {**JOINING, "rack_id": ""},
    {**JOINING, "rebalance_timeout_ms": -1},
    {**JOINING, "topic_partitions": None},
    {**JOINING, "topic_partitions": [TopicPartitions(partitions=[1])]},
    {**JOINING, "subscribed_topic_names": None},
    {**JOINING, "member_epoch": -2},
    {**JOINING, "member_epoch": -3},
]


@pytest.mark.parametrize("fields", SENSELESS)
def test_a_heartbeat_that_makes_no_sense_is_refused(
    ready: WireClient, fields: dict[str, Any]
) -> None:
    request = ConsumerGroupHeartbeatRequest(**{"group_id": "g", "member_id": "m", **fields})
    response = ready.send(request, 1)
    assert response.error_code == ErrorCode.INVALID_REQUEST
    assert response.error_message


def test_a_subscription_that_is_too_large_for_a_record_concerns_its_member_only(
    quick: RunningBroker, ready: WireClient
) -> None:
    """If the log refused it, all groups of the partition would be loaded again each time."""
    name = "n" * 249
    shard = quick.node.broker.groups.shard_of("g")
    member = ConsumerMember(ready, "one")
    response = member.heartbeat(subscribed_topic_names=[f"{name}{n}" for n in range(5000)])
    assert response.error_code == ErrorCode.UNKNOWN_SERVER_ERROR
    assert quick.node.broker.groups.shard_of("g") is shard
    assert member.heartbeat().error_code == 0


def test_a_subscription_with_more_names_than_any_client_has_is_refused(ready: WireClient) -> None:
    member = ConsumerMember(ready, "one")
    member.heartbeat()
    names = [f"t{number}" for number in range(20_001)]
    greedy = ConsumerMember(ready, "two").heartbeat(subscribed_topic_names=names)
    assert greedy.error_code == ErrorCode.INVALID_REQUEST
    assert greedy.error_message
    assert member.heartbeat().error_code == 0


def test_a_large_subscription_is_assigned_like_a_small_one(ready: WireClient) -> None:
    names = [f"none-{number}" for number in range(3_000)]
    by_name = ConsumerMember(ready, "one", "by-name")
    assert by_name.heartbeat(subscribed_topic_names=[*names, "t"]).error_code == 0
    assert by_name.partitions == [0, 1, 2, 3]
    by_pattern = ConsumerMember(ready, "two", "by-pattern")
    joined = by_pattern.heartbeat(subscribed_topic_names=None, subscribed_topic_regex="[s-u]")
    assert joined.error_code == 0
    assert by_pattern.partitions == [0, 1, 2, 3]
    invalid = ConsumerMember(ready, "three", "by-pattern")
    refused = invalid.heartbeat(subscribed_topic_names=None, subscribed_topic_regex="(")
    assert refused.error_code == ErrorCode.INVALID_REGULAR_EXPRESSION


def test_an_assignor_must_be_one_of_the_brokers(ready: WireClient) -> None:
    response = ConsumerMember(ready, "one").heartbeat(server_assignor="lottery")
    assert response.error_code == ErrorCode.UNSUPPORTED_ASSIGNOR
    assert "uniform" in response.error_message


def test_the_oldest_version_gives_out_member_ids(ready: WireClient) -> None:
    request = ConsumerGroupHeartbeatRequest(group_id="g", **JOINING)
    response = ready.send(request, 0)
    assert response.error_code == 0
    assert response.member_id


def test_the_protocol_can_be_switched_off(tmp_path: Path) -> None:
    settings = {"group.coordinator.rebalance.protocols": "classic"}
    with RunningBroker(tmp_path / "data", settings) as broker, broker.connect() as client:
        find_coordinator(client)
        response = ConsumerMember(client, "one").heartbeat()
        assert response.error_code == ErrorCode.UNSUPPORTED_VERSION
        (group,) = client.send(ConsumerGroupDescribeRequest(group_ids=["g"]), 1).groups
        assert group.error_code == ErrorCode.UNSUPPORTED_VERSION


def test_the_cluster_must_have_agreed_on_the_protocol(ready: WireClient) -> None:
    update = FeatureUpdateKey(feature="group.version", max_version_level=0, upgrade_type=2)
    response = ready.send(UpdateFeaturesRequest(feature_updates=[update]), 1)
    assert response.error_code == 0, response
    assert ConsumerMember(ready, "one").heartbeat().error_code == ErrorCode.UNSUPPORTED_VERSION
