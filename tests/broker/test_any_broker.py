"""Any broker of a cluster takes requests that only the controller can decide."""

import asyncio
import logging
import random
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from moldau.broker.envelopes import ANONYMOUS, envelope
from moldau.broker.handlers.find_coordinator import FIRST_BATCHED_VERSION, NO_NODE
from moldau.errors import ErrorCode
from moldau.network.outbound import Outbound, OutboundSettings
from moldau.network.socket_network import SocketNetwork
from moldau.protocol.header import encode_request_header
from moldau.protocol.messages import alter_configs as legacy
from moldau.protocol.messages.broker_heartbeat import BrokerHeartbeatRequest
from moldau.protocol.messages.create_topics import CreatableTopic, CreateTopicsRequest
from moldau.protocol.messages.delete_topics import DeleteTopicsRequest, DeleteTopicState
from moldau.protocol.messages.describe_cluster import DescribeClusterRequest
from moldau.protocol.messages.describe_quorum import (
    DescribeQuorumRequest,
    PartitionData,
    TopicData,
)
from moldau.protocol.messages.find_coordinator import FindCoordinatorRequest
from moldau.protocol.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from moldau.protocol.messages.init_producer_id import InitProducerIdRequest
from moldau.protocol.messages.list_partition_reassignments import (
    ListPartitionReassignmentsRequest,
)
from moldau.protocol.messages.metadata import MetadataRequest, MetadataRequestTopic
from moldau.protocol.messages.unregister_broker import UnregisterBrokerRequest
from tests.broker.test_quorum import COMBINED, SEPARATE, Cluster

TOPIC_RESOURCE = 2
BROKER_RESOURCE = 4


class Clients(Cluster):
    """A cluster with one client for each broker."""

    def __init__(
        self, tmp_path: Path, roles: Mapping[int, str] = COMBINED, **settings: str
    ) -> None:
        super().__init__(tmp_path, roles, **settings)
        self._clients: dict[tuple[int, str], Outbound] = {}

    @property
    def brokers(self) -> list[int]:
        return [node_id for node_id in self.nodes if "broker" in self.roles[node_id]]

    async def ask(
        self, node_id: int, request: Any, version: int, listener: str = "PLAINTEXT"
    ) -> Any:
        where = (node_id, listener)
        if where not in self._clients:
            self._clients[where] = Outbound(
                SocketNetwork(),
                "127.0.0.1",
                self.nodes[node_id].ports[listener],
                OutboundSettings("client", request_timeout_ms=60_000),
                random.Random(node_id),
                logging.getLogger("tests.clients"),
            )
        return await self._clients[where].send(request, version)

    async def make(self, node_id: int, name: str) -> int:
        topic = CreatableTopic(name=name, num_partitions=1, replication_factor=1)
        response = await self.ask(node_id, CreateTopicsRequest(topics=[topic]), 7)
        return int(response.topics[0].error_code)

    async def knows(self, node_id: int, name: str) -> bool:
        topics = [MetadataRequestTopic(name=name)]
        request = MetadataRequest(topics=topics, allow_auto_topic_creation=False)
        response = await self.ask(node_id, request, 12)
        return bool(response.topics[0].error_code == 0)

    async def hang_up(self) -> None:
        for client in self._clients.values():
            await client.close()


@asynccontextmanager
async def clients_of(
    tmp_path: Path, roles: Mapping[int, str], **settings: str
) -> AsyncIterator[Clients]:
    cluster = Clients(tmp_path, roles, **settings)
    await cluster.start()
    try:
        yield cluster
    finally:
        await cluster.hang_up()
        await cluster.stop()


@pytest.mark.parametrize("roles", [COMBINED, SEPARATE], ids=["combined", "separate"])
def test_a_change_is_there_when_its_answer_comes(tmp_path: Path, roles: Mapping[int, str]) -> None:
    async def scenario() -> None:
        async with clients_of(tmp_path, roles) as cluster:
            names = []
            for number in range(4):
                for node_id in cluster.brokers:
                    name = f"{node_id}-{number}"
                    assert await cluster.make(node_id, name) == 0
                    # The same broker knows it at once, although another one has decided.
                    assert await cluster.knows(node_id, name)
                    names.append(name)
            again = await cluster.make(cluster.brokers[-1], names[0])
            assert again == ErrorCode.TOPIC_ALREADY_EXISTS
            await cluster.agree(*names)

    asyncio.run(scenario())


def test_every_kind_of_request_reaches_the_controller(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with clients_of(tmp_path, COMBINED) as cluster:
            leader = await cluster.elected()
            (other, _) = [each for each in cluster.brokers if each != leader]
            assert await cluster.make(other, "t") == 0
            config = AlterableConfig(name="retention.ms", config_operation=0, value="5000")
            resource = AlterConfigsResource(TOPIC_RESOURCE, "t", [config])
            altering = IncrementalAlterConfigsRequest(resources=[resource])
            altered = await cluster.ask(other, altering, 1)
            assert altered.responses[0].error_code == 0
            assert cluster.image(other).config(TOPIC_RESOURCE, "t") == {"retention.ms": "5000"}
            wanted = TopicData(topic_name="__cluster_metadata", partitions=[PartitionData()])
            quorum = await cluster.ask(other, DescribeQuorumRequest(topics=[wanted]), 2)
            assert quorum.topics[0].partitions[0].leader_id == leader
            assert len(quorum.topics[0].partitions[0].current_voters) == 3
            listing = ListPartitionReassignmentsRequest()
            assert (await cluster.ask(other, listing, 0)).error_code == 0
            unknown = UnregisterBrokerRequest(broker_id=77)
            refused = await cluster.ask(other, unknown, 0)
            assert refused.error_code == ErrorCode.BROKER_ID_NOT_REGISTERED
            deleting = DeleteTopicsRequest([DeleteTopicState(name="t")], timeout_ms=60_000)
            deleted = await cluster.ask(other, deleting, 6)
            assert deleted.responses[0].error_code == 0
            assert not await cluster.knows(other, "t")

    asyncio.run(scenario())


def test_a_broker_refuses_to_cordon_a_directory_that_it_does_not_have(tmp_path: Path) -> None:
    """The controller, on another node, does not know its directories."""

    async def scenario() -> None:
        async with clients_of(tmp_path, COMBINED) as cluster:
            leader = await cluster.elected()
            (other, _) = [each for each in cluster.brokers if each != leader]
            assert await cluster.make(other, "t") == 0

            async def cordon(paths: str, operation: int) -> int:
                config = AlterableConfig("cordoned.log.dirs", operation, paths)
                kept = AlterableConfig("retention.ms", 0, "5000")
                request = IncrementalAlterConfigsRequest(
                    resources=[
                        AlterConfigsResource(TOPIC_RESOURCE, "t", [kept]),
                        AlterConfigsResource(BROKER_RESOURCE, str(other), [config]),
                    ]
                )
                topic, broker = (await cluster.ask(other, request, 1)).responses
                assert (topic.resource_type, topic.error_code) == (TOPIC_RESOURCE, 0)
                assert broker.resource_name == str(other)
                return int(broker.error_code)

            (directory,) = cluster.nodes[other].config.log_dirs
            unknown = f"{directory}-typo"
            assert await cordon(unknown, 0) == ErrorCode.INVALID_REQUEST
            assert await cordon(directory, 0) == 0
            assert await cordon(unknown, 2) == ErrorCode.INVALID_REQUEST
            settings = cluster.image(other).config(BROKER_RESOURCE, str(other))
            assert settings == {"cordoned.log.dirs": directory}
            assert cluster.image(other).config(TOPIC_RESOURCE, "t") == {"retention.ms": "5000"}

    asyncio.run(scenario())


def test_a_broker_refuses_it_also_in_the_request_that_replaces_all_settings(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with clients_of(tmp_path, COMBINED) as cluster:
            leader = await cluster.elected()
            (other, _) = [each for each in cluster.brokers if each != leader]
            assert await cluster.make(other, "t") == 0

            async def cordon(paths: str, times: int = 1) -> list[tuple[str, int]]:
                own = [legacy.AlterableConfig("cordoned.log.dirs", paths)]
                resources = [
                    legacy.AlterConfigsResource(TOPIC_RESOURCE, "t", []),
                    *[legacy.AlterConfigsResource(BROKER_RESOURCE, str(other), own)] * times,
                    legacy.AlterConfigsResource(TOPIC_RESOURCE, "nowhere", []),
                ]
                request = legacy.AlterConfigsRequest(resources=resources)
                answers = (await cluster.ask(other, request, 2)).responses
                return [(each.resource_name, int(each.error_code)) for each in answers]

            (directory,) = cluster.nodes[other].config.log_dirs
            refused = (str(other), int(ErrorCode.INVALID_REQUEST))
            unknown = ("nowhere", int(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION))
            assert await cordon(f"{directory}-typo") == [("t", 0), refused, unknown]
            assert await cordon(f"{directory}-typo", 2) == [("t", 0), refused, refused, unknown]
            assert cluster.image(other).config(BROKER_RESOURCE, str(other)) == {}
            assert await cordon(directory) == [("t", 0), (str(other), 0), unknown]
            settings = cluster.image(other).config(BROKER_RESOURCE, str(other))
            assert settings == {"cordoned.log.dirs": directory}

    asyncio.run(scenario())


def test_a_controller_that_is_not_active_refers_to_another(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with clients_of(tmp_path, COMBINED) as cluster:
            leader = await cluster.elected()
            (other, _) = [each for each in cluster.brokers if each != leader]

            async def ask(request: Any, version: int) -> Any:
                return await cluster.ask(other, request, version, "CONTROLLER")

            creating = CreateTopicsRequest(topics=[CreatableTopic(name="t")])
            wanted = TopicData(topic_name="__cluster_metadata", partitions=[PartitionData()])
            describing = DescribeQuorumRequest(topics=[wanted])
            heartbeat = await ask(BrokerHeartbeatRequest(broker_id=other), 1)
            assert heartbeat.error_code == ErrorCode.NOT_CONTROLLER
            refused = await ask(creating, 7)
            assert refused.topics[0].error_code == ErrorCode.NOT_CONTROLLER
            unknown = await ask(describing, 2)
            assert unknown.error_code == ErrorCode.NONE
            (partition,) = unknown.topics[0].partitions
            assert partition.error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER
            # In an envelope, it is for the broker to ask another controller.
            for request, version in ((creating, 7), (describing, 2)):
                header = encode_request_header(request.API_KEY, version, 1, "client")
                frame = header + request.encode(version)
                response = await ask(envelope(frame, ANONYMOUS, "10.1.2.3"), 0)
                assert response.error_code == ErrorCode.NOT_CONTROLLER
            described = await ask(DescribeClusterRequest(endpoint_type=2), 2)
            assert described.controller_id == leader
            assert sorted(each.broker_id for each in described.brokers) == [1, 2, 3]

    asyncio.run(scenario())


@pytest.mark.parametrize("version", [3, 6])
@pytest.mark.parametrize("key_type", [0, 1], ids=["group", "transaction"])
def test_a_broker_that_has_just_created_the_topic_names_no_coordinator_yet(
    tmp_path: Path, key_type: int, version: int
) -> None:
    """As in Kafka: the coordinator may not know it yet, and sarama gives up after a few answers of
    NOT_COORDINATOR without a pause.
    """

    async def scenario() -> None:
        async with clients_of(tmp_path, COMBINED) as cluster:
            await cluster.until(lambda: len(cluster.image(2).brokers) == len(COMBINED))
            request = FindCoordinatorRequest(key="name", key_type=key_type)
            if version >= FIRST_BATCHED_VERSION:
                request = FindCoordinatorRequest(key_type=key_type, coordinator_keys=["a", "b"])
            for expected in (ErrorCode.COORDINATOR_NOT_AVAILABLE, ErrorCode.NONE):
                response = await cluster.ask(2, request, version)
                found = response.coordinators or [response]
                assert {each.error_code for each in found} == {expected}
                assert {each.node_id == NO_NODE for each in found} == {expected != 0}

    asyncio.run(scenario())


@pytest.mark.parametrize("count", [1, 1_000], ids=["one topic", "many"])
def test_a_broker_that_has_just_created_a_topic_names_no_leader_yet(
    tmp_path: Path, count: int
) -> None:
    """As in Kafka: the leader may not know it yet, and refuse only the first of several batches."""

    async def scenario() -> None:
        async with clients_of(tmp_path, COMBINED) as cluster:
            await cluster.until(lambda: len(cluster.image(2).brokers) == len(COMBINED))
            # Wrong names are not created, whichever answer is given first.
            wanted = ["new", *("?" * number for number in range(2, count + 1))]
            request = MetadataRequest(topics=[MetadataRequestTopic(name=name) for name in wanted])
            for expected in (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.NONE):
                response = await cluster.ask(2, request, 12)
                topics = {topic.name: topic for topic in response.topics}
                assert len(topics) == count
                assert topics["new"].error_code == expected
                assert bool(topics["new"].partitions) == (expected == 0)

    asyncio.run(scenario())


def test_producer_ids_of_different_brokers_differ(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with clients_of(tmp_path, COMBINED) as cluster:
            found = []
            for _ in range(3):
                for node_id in cluster.brokers:
                    request = InitProducerIdRequest(producer_id=-1, producer_epoch=-1)
                    request.transactional_id = None
                    response = await cluster.ask(node_id, request, 4)
                    assert response.error_code == 0
                    found.append(response.producer_id)
            assert len(set(found)) == len(found)

    asyncio.run(scenario())


def test_requests_go_on_while_controllers_die(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with clients_of(tmp_path, SEPARATE) as cluster:
            names = []

            async def make_some(node_id: int) -> None:
                for number in range(20):
                    name = f"{node_id}-{number}"
                    code = await cluster.make(node_id, name)
                    # The first controller may have died between its commit and its answer.
                    assert code in (0, ErrorCode.TOPIC_ALREADY_EXISTS)
                    assert await cluster.knows(node_id, name)
                    names.append(name)

            making = [asyncio.ensure_future(make_some(node_id)) for node_id in cluster.brokers]
            await cluster.until(lambda: len(names) > 5)
            await cluster.kill(await cluster.elected())
            await asyncio.gather(*making)
            assert len(names) == 40
            await cluster.agree(*names)

    asyncio.run(scenario())
