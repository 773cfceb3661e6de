"""ApiVersions, Metadata and related APIs, which a client uses first."""

import struct

import pytest

from moldau.broker.apis import BROKER_APIS
from moldau.errors import ErrorCode
from moldau.ids import NO_UUID
from moldau.metadata.image import TOPIC_RESOURCE
from moldau.protocol.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from moldau.protocol.messages.describe_cluster import DescribeClusterRequest
from moldau.protocol.messages.describe_topic_partitions import (
    Cursor,
    DescribeTopicPartitionsRequest,
    TopicRequest,
)
from moldau.protocol.messages.find_coordinator import FindCoordinatorRequest
from moldau.protocol.messages.get_telemetry_subscriptions import GetTelemetrySubscriptionsRequest
from moldau.protocol.messages.metadata import MetadataRequest, MetadataRequestTopic
from tests.broker.producing import create_topic
from tests.running import RunningBroker, WireClient


@pytest.mark.parametrize("version", range(5))
def test_api_versions_lists_exactly_what_is_handled(client: WireClient, version: int) -> None:
    request = ApiVersionsRequest(client_software_name="test", client_software_version="1.0")
    response = client.send(request, version)
    assert response.error_code == 0
    listed = {each.api_key: (each.min_version, each.max_version) for each in response.api_keys}
    expected = {
        each.key: (0 if each.key == 0 else each.min_version, each.max_version)
        for each in BROKER_APIS
        if each.is_advertised
    }
    assert listed == expected
    features = {each.name: each.min_version for each in response.supported_features}
    assert ("metadata.version" in features) == (version >= 3)
    assert (0 in features.values()) == (version >= 4)


def test_a_version_from_the_future_learns_the_versions_there_are(client: WireClient) -> None:
    header = struct.pack(">hhi", 18, 99, 7) + struct.pack(">h", 4) + b"test" + b"\0"
    client.send_frame(header + b"\x05abcd\x02x\0")
    frame = client.receive_frame()
    assert struct.unpack_from(">i", frame) == (7,)
    response, end = ApiVersionsResponse.decode(frame, 4, 0)
    assert end == len(frame)
    assert response.error_code == ErrorCode.UNSUPPORTED_VERSION
    (known,) = response.api_keys
    assert (known.api_key, known.min_version, known.max_version) == (18, 0, 4)


def test_an_odd_software_name_is_refused(client: WireClient) -> None:
    request = ApiVersionsRequest(client_software_name="-x-", client_software_version="1")
    assert client.send(request, 3).error_code == ErrorCode.INVALID_REQUEST


@pytest.mark.parametrize("version", range(14))
def test_metadata_in_every_version(broker: RunningBroker, client: WireClient, version: int) -> None:
    create_topic(client, "t", partitions=3)
    request = MetadataRequest(topics=[MetadataRequestTopic(name="t")])
    response = client.send(request, version)
    (node,) = response.brokers
    assert (node.node_id, node.host, node.port) == (1, "127.0.0.1", broker.port)
    (topic,) = response.topics
    assert (topic.error_code, topic.name, len(topic.partitions)) == (0, "t", 3)
    assert [each.partition_index for each in topic.partitions] == [0, 1, 2]
    assert all(each.leader_id == 1 and each.isr_nodes == [1] for each in topic.partitions)
    if version >= 2:
        assert response.cluster_id == broker.node.metadata.cluster_id


def test_all_topics_or_none(client: WireClient) -> None:
    create_topic(client, "a")
    create_topic(client, "b")
    assert [t.name for t in client.send(MetadataRequest(topics=None), 12).topics] == ["a", "b"]
    assert [t.name for t in client.send(MetadataRequest(topics=[]), 0).topics] == ["a", "b"]
    assert client.send(MetadataRequest(topics=[]), 1).topics == []


def test_metadata_by_id(client: WireClient) -> None:
    create_topic(client, "t")
    by_name = client.send(MetadataRequest(topics=[MetadataRequestTopic(name="t")]), 12)
    topic_id = by_name.topics[0].topic_id
    wanted = [
        MetadataRequestTopic(topic_id=topic_id, name=None),
        MetadataRequestTopic(topic_id=b"\1" * 16, name=None),
    ]
    found, unknown = client.send(MetadataRequest(topics=wanted), 12).topics
    assert (found.name, found.topic_id) == ("t", topic_id)
    assert (unknown.error_code, unknown.name) == (ErrorCode.UNKNOWN_TOPIC_ID, None)


def test_asking_creates_a_topic_if_it_may(client: WireClient) -> None:
    wanted = [MetadataRequestTopic(name="new")]
    asked = MetadataRequest(topics=wanted, allow_auto_topic_creation=False)
    unknown = client.send(asked, 12).topics[0]
    assert unknown.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    created = client.send(MetadataRequest(topics=wanted), 12).topics[0]
    assert (created.error_code, len(created.partitions)) == (0, 1)
    assert created.topic_id != NO_UUID
    bad = client.send(MetadataRequest(topics=[MetadataRequestTopic(name="a b")]), 12).topics[0]
    assert bad.error_code == ErrorCode.INVALID_TOPIC_EXCEPTION


def test_a_topic_without_name_and_id_is_refused(client: WireClient) -> None:
    for version in (10, 11, 12, 13):
        nameless = MetadataRequest(topics=[MetadataRequestTopic(name=None)])
        assert client.send(nameless, version).topics[0].error_code == ErrorCode.INVALID_REQUEST


def test_ids_go_before_names_in_one_request(client: WireClient) -> None:
    create_topic(client, "t")
    wanted = [
        MetadataRequestTopic(name="t"),
        MetadataRequestTopic(topic_id=b"\1" * 16, name=None),
    ]
    (answer,) = client.send(MetadataRequest(topics=wanted), 12).topics
    assert (answer.topic_id, answer.error_code) == (b"\1" * 16, ErrorCode.UNKNOWN_TOPIC_ID)


@pytest.mark.parametrize(
    ("name", "policy"),
    [
        ("__consumer_offsets", "compact"),
        ("__transaction_state", "compact"),
        ("__share_group_state", "delete"),
    ],
)
def test_asking_about_an_internal_topic_creates_it_for_its_purpose(
    broker: RunningBroker, client: WireClient, name: str, policy: str
) -> None:
    wanted = MetadataRequest(topics=[MetadataRequestTopic(name=name)])
    (topic,) = client.send(wanted, 12).topics
    assert (topic.error_code, topic.is_internal, len(topic.partitions)) == (0, True, 50)
    settings = broker.node.broker.configs.of(TOPIC_RESOURCE, name)
    assert settings["cleanup.policy"] == policy
    assert settings["segment.bytes"] == "104857600"


def test_the_cluster_is_described(broker: RunningBroker, client: WireClient) -> None:
    response = client.send(DescribeClusterRequest(), 2)
    assert [(each.broker_id, each.port) for each in response.brokers] == [(1, broker.port)]
    assert response.cluster_id == broker.node.metadata.cluster_id
    wrong = client.send(DescribeClusterRequest(endpoint_type=2), 2)
    assert wrong.error_code == ErrorCode.MISMATCHED_ENDPOINT_TYPE
    assert "endpoint of type BROKER" in wrong.error_message
    unknown = client.send(DescribeClusterRequest(endpoint_type=3), 2)
    assert unknown.error_code == ErrorCode.UNSUPPORTED_ENDPOINT_TYPE


def test_the_controller_listener_describes_controllers(broker: RunningBroker) -> None:
    with broker.connect("CONTROLLER") as client:
        response = client.send(DescribeClusterRequest(endpoint_type=2), 2)
        (controller,) = response.brokers
        assert controller.port == broker.node.ports["CONTROLLER"]
        assert response.controller_id == controller.broker_id
        old = client.send(DescribeClusterRequest(), 0)
        assert old.error_code == ErrorCode.INVALID_REQUEST


def test_topics_are_described_in_pages(client: WireClient) -> None:
    create_topic(client, "a", partitions=3)
    create_topic(client, "b", partitions=2)
    request = DescribeTopicPartitionsRequest(response_partition_limit=2)
    first = client.send(request, 0)
    assert [len(topic.partitions) for topic in first.topics] == [2]
    cursor = first.next_cursor
    assert (cursor.topic_name, cursor.partition_index) == ("a", 2)
    second = client.send(
        DescribeTopicPartitionsRequest(
            response_partition_limit=100,
            cursor=Cursor(topic_name=cursor.topic_name, partition_index=cursor.partition_index),
        ),
        0,
    )
    found = [(t.name, [p.partition_index for p in t.partitions]) for t in second.topics]
    assert found == [("a", [2]), ("b", [0, 1])]
    assert second.next_cursor is None
    named = DescribeTopicPartitionsRequest(topics=[TopicRequest(name="nowhere")])
    unknown = client.send(named, 0).topics[0]
    assert unknown.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


@pytest.mark.parametrize("version", range(7))
def test_this_broker_coordinates_every_group(
    broker: RunningBroker, client: WireClient, version: int
) -> None:
    request = FindCoordinatorRequest(key="g") if version < 4 else None
    request = request or FindCoordinatorRequest(coordinator_keys=["g"])
    response = client.send(request, version)
    found = response.coordinators[0] if version >= 4 else response
    assert (found.error_code, found.node_id, found.port) == (0, 1, broker.port)


def test_nothing_is_wanted_of_a_clients_metrics(client: WireClient) -> None:
    response = client.send(GetTelemetrySubscriptionsRequest(client_instance_id=NO_UUID), 0)
    assert (response.error_code, response.requested_metrics) == (0, [])
    assert response.client_instance_id != NO_UUID
