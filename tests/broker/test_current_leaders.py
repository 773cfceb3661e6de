"""Clients that ask the wrong broker are told who leads (KIP-951)."""

from typing import Any

import pytest

from moldau.broker.partition import Partition
from moldau.errors import ErrorCode
from moldau.protocol.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from tests.broker.batches import batch
from tests.broker.followed import Followed
from tests.broker.producing import produce_request


def fetch_request(partition: Partition, epoch: int = -1, **fields: Any) -> FetchRequest:
    wanted = FetchPartition(current_leader_epoch=epoch, partition_max_bytes=1000)
    topic = FetchTopic(topic_id=partition.topic_id, partitions=[wanted])
    return FetchRequest(max_wait_ms=0, topics=[topic], **fields)


def nodes(response: Any) -> list[tuple[int, str, int]]:
    return [(each.node_id, each.host, each.port) for each in response.node_endpoints]


@pytest.mark.parametrize("version", [15, 16, 18])
def test_a_fetch_with_an_old_leader_epoch_is_told_the_new_leader(version: int) -> None:
    followed = Followed()

    async def scenario(partition: Partition) -> None:
        followed.elect_again(partition, leader=3)
        epoch = partition.leader_epoch
        response = await followed.broker.send(fetch_request(partition, epoch - 1), version)
        data = response.responses[0].partitions[0]
        assert data.error_code == ErrorCode.FENCED_LEADER_EPOCH
        if version < 16:
            assert data.current_leader is None
            return
        leader = data.current_leader
        assert (leader.leader_id, leader.leader_epoch) == (3, epoch)
        assert nodes(response) == [(3, "host-3", 9092)]

    followed.run(scenario)


def test_a_fetch_from_a_broker_without_the_partition_is_told_the_leader() -> None:
    followed = Followed()

    async def scenario(partition: Partition) -> None:
        await followed.create_elsewhere("u")
        topic_id = followed.broker.node.metadata.image.topics_by_name["u"].id
        topic = FetchTopic(topic_id=topic_id, partitions=[FetchPartition()])
        response = await followed.broker.send(FetchRequest(max_wait_ms=0, topics=[topic]), 17)
        data = response.responses[0].partitions[0]
        assert data.error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER
        assert (data.current_leader.leader_id, data.current_leader.leader_epoch) == (2, 0)
        assert nodes(response) == [(2, "host-2", 9092)]

    followed.run(scenario)


def test_other_errors_name_nobody() -> None:
    followed = Followed()

    async def scenario(partition: Partition) -> None:
        response = await followed.broker.send(fetch_request(partition, 99), 17)
        data = response.responses[0].partitions[0]
        assert data.error_code == ErrorCode.UNKNOWN_LEADER_EPOCH
        assert data.current_leader is None
        assert nodes(response) == []

    followed.run(scenario)


def test_a_follower_is_told_the_leader_but_not_where_it_is() -> None:
    """As in Kafka: followers know it from the metadata."""
    followed = Followed()

    async def scenario(partition: Partition) -> None:
        followed.elect_again(partition, leader=3)
        request = fetch_request(partition, partition.leader_epoch)
        request.replica_state = followed.replica_state(2)
        response = await followed.broker.send(request, 17)
        data = response.responses[0].partitions[0]
        assert data.error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER
        assert data.current_leader.leader_id == 3
        assert nodes(response) == []

    followed.run(scenario)


def test_a_fenced_leader_is_named_without_an_endpoint() -> None:
    followed = Followed()

    async def scenario(partition: Partition) -> None:
        await followed.fence(3)
        followed.elect_again(partition, leader=3)
        request = fetch_request(partition, partition.leader_epoch - 1)
        response = await followed.broker.send(request, 17)
        assert response.responses[0].partitions[0].current_leader.leader_id == 3
        assert nodes(response) == []

    followed.run(scenario)


@pytest.mark.parametrize("version", [9, 10, 12, 13])
def test_a_produce_to_a_broker_that_does_not_lead_is_told_the_leader(version: int) -> None:
    followed = Followed()

    async def scenario(partition: Partition) -> None:
        followed.elect_again(partition, leader=2)
        request = produce_request("t", batch(b"a", timestamp=1000))
        if version >= 13:
            request.topic_data[0].name = ""
            request.topic_data[0].topic_id = partition.topic_id
        response = await followed.broker.send(request, version)
        result = response.responses[0].partition_responses[0]
        assert result.error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER
        if version < 10:
            assert result.current_leader is None
            return
        leader = result.current_leader
        assert (leader.leader_id, leader.leader_epoch) == (2, partition.leader_epoch)
        assert nodes(response) == [(2, "host-2", 9092)]

    followed.run(scenario)


def test_a_produce_that_waits_while_the_leader_changes_is_told_the_new_one() -> None:
    followed = Followed()

    async def scenario(partition: Partition) -> None:
        pending = await followed.produce(b"a")
        followed.elect_again(partition, leader=3)
        response = followed.broker.read_reply(await pending, 0, 12)
        result = response.responses[0].partition_responses[0]
        assert result.error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER
        assert result.current_leader.leader_id == 3
        assert nodes(response) == [(3, "host-3", 9092)]

    followed.run(scenario)
