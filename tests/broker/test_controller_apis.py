"""The listener of a controller: its own APIs, envelopes, and NOT_CONTROLLER if it is not active."""

from collections.abc import Iterator
from typing import Any

import pytest

from moldau.broker.controller_apis import CONTROLLER_APIS
from moldau.broker.envelopes import ANONYMOUS, envelope, response_in
from moldau.controller.decisions import DECISIONS
from moldau.errors import ErrorCode
from moldau.protocol.api import APIS
from moldau.protocol.header import RequestHeader, encode_request_header
from moldau.protocol.message import Message
from moldau.protocol.messages.allocate_producer_ids import AllocateProducerIdsRequest
from moldau.protocol.messages.alter_partition import AlterPartitionRequest
from moldau.protocol.messages.api_versions import ApiVersionsRequest
from moldau.protocol.messages.broker_heartbeat import BrokerHeartbeatRequest
from moldau.protocol.messages.broker_registration import (
    BrokerRegistrationRequest,
    Feature,
    Listener,
)
from moldau.protocol.messages.controller_registration import ControllerRegistrationRequest
from moldau.protocol.messages.create_topics import CreatableTopic, CreateTopicsRequest
from moldau.protocol.messages.envelope import EnvelopeResponse
from moldau.protocol.messages.list_partition_reassignments import (
    ListPartitionReassignmentsRequest,
)
from moldau.protocol.messages.metadata import MetadataRequest
from tests.running import RunningBroker, WireClient


@pytest.fixture
def controller(broker: RunningBroker) -> Iterator[WireClient]:
    with broker.connect("CONTROLLER") as client:
        yield client


def creation(name: str = "t") -> CreateTopicsRequest:
    topic = CreatableTopic(name=name, num_partitions=1, replication_factor=1)
    return CreateTopicsRequest(topics=[topic])


def enclosed(request: Message, version: int, **change: Any) -> Any:
    frame = encode_request_header(request.API_KEY, version, 77, "client") + request.encode(version)
    made = envelope(frame, ANONYMOUS, "10.1.2.3")
    for name, value in change.items():
        setattr(made, name, value)
    return made


def opened(response: EnvelopeResponse, request: Message, version: int) -> Any:
    return response_in(response, RequestHeader(request.API_KEY, version, 77, "client"))


def resign(broker: RunningBroker) -> None:
    async def stop() -> None:
        broker.node.metadata.runtime.stop()

    broker.call(stop())


# --- the table ---


def test_api_versions_lists_exactly_the_apis_of_the_listener(controller: WireClient) -> None:
    request = ApiVersionsRequest(client_software_name="test", client_software_version="1.0")
    listed = {each.api_key for each in controller.send(request, 4).api_keys}
    assert listed == {api.key for api in CONTROLLER_APIS}


def test_every_api_of_controllers_is_served() -> None:
    served = {api.key for api in CONTROLLER_APIS}
    expected = {key for key, api in APIS.items() if "controller" in api.listeners}
    assert served == expected
    assert set(DECISIONS) <= served


# --- envelopes ---


@pytest.mark.parametrize("version", range(2, 8))
def test_an_enclosed_request_is_handled_like_one_that_came_directly(
    broker: RunningBroker, controller: WireClient, version: int
) -> None:
    request = creation()
    response = opened(controller.send(enclosed(request, version), 0), request, version)
    assert [(each.name, each.error_code) for each in response.topics] == [("t", 0)]
    assert "t" in broker.node.metadata.image.topics_by_name
    again = opened(controller.send(enclosed(request, version), 0), request, version)
    assert again.topics[0].error_code == ErrorCode.TOPIC_ALREADY_EXISTS


def test_a_large_enclosed_request_is_handled(controller: WireClient) -> None:
    topics = [CreatableTopic(name=f"topic {n}") for n in range(3_000)]
    request = CreateTopicsRequest(topics=topics, validate_only=True)
    response = opened(controller.send(enclosed(request, 7), 0), request, 7)
    codes = {each.error_code for each in response.topics}
    assert codes == {ErrorCode.INVALID_TOPIC_EXCEPTION}
    assert len(response.topics) == 3_000


@pytest.mark.parametrize(
    ("request_", "version", "change", "code"),
    [
        (creation(), 7, {"client_host_address": b"12345"}, ErrorCode.INVALID_REQUEST),
        (creation(), 7, {"request_principal": b"?"}, ErrorCode.PRINCIPAL_DESERIALIZATION_FAILURE),
        (creation(), 7, {"request_data": b"?"}, ErrorCode.UNSUPPORTED_VERSION),
        (
            creation(),
            7,
            {"request_data": encode_request_header(19, 7, 1, "c") + b"\x7f"},
            ErrorCode.UNSUPPORTED_VERSION,
        ),
        (
            creation(),
            7,
            {"request_data": encode_request_header(19, 99, 1, "c") + b"\x01"},
            ErrorCode.UNSUPPORTED_VERSION,
        ),
        (MetadataRequest(topics=[]), 12, {}, ErrorCode.INVALID_REQUEST),
        (BrokerHeartbeatRequest(), 1, {}, ErrorCode.INVALID_REQUEST),
    ],
)
def test_an_envelope_that_is_wrong_gets_its_own_error(
    controller: WireClient, request_: Message, version: int, change: Any, code: ErrorCode
) -> None:
    response = controller.send(enclosed(request_, version, **change), 0)
    assert response.error_code == code
    assert not response.response_data


# --- not active ---


def test_who_is_not_active_says_so(broker: RunningBroker, controller: WireClient) -> None:
    resign(broker)
    heartbeat = BrokerHeartbeatRequest(broker_id=1)
    assert controller.send(heartbeat, 1).error_code == ErrorCode.NOT_CONTROLLER
    allocation = AllocateProducerIdsRequest(broker_id=1)
    assert controller.send(allocation, 0).error_code == ErrorCode.NOT_CONTROLLER
    (topic,) = controller.send(creation(), 7).topics
    assert (topic.name, topic.error_code) == ("t", ErrorCode.NOT_CONTROLLER)
    # The broker that forwarded it should ask somebody else, so it is the envelope's error.
    response = controller.send(enclosed(creation(), 7), 0)
    assert response.error_code == ErrorCode.NOT_CONTROLLER
    assert not response.response_data


# --- brokers ---


@pytest.mark.parametrize("version", range(5))
def test_another_broker_registers_over_the_wire(
    broker: RunningBroker, controller: WireClient, version: int
) -> None:
    image = broker.node.metadata.image
    levels = {**image.features, "kraft.version": 1}
    features = [Feature(name, 0, level) for name, level in levels.items()]
    registration = BrokerRegistrationRequest(
        broker_id=7,
        cluster_id=broker.node.metadata.cluster_id,
        incarnation_id=b"\x07" * 16,
        listeners=[Listener("PLAINTEXT", "127.0.0.1", 9999, 0)],
        features=features,
        log_dirs=[b"\x01" * 15 + b"\x77"] if version >= 2 else [],
    )
    response = controller.send(registration, version)
    if version < 2:
        # At this metadata.version a broker must name its directories.
        assert response.error_code != ErrorCode.NOT_CONTROLLER
        return
    assert response.error_code == 0
    known = broker.node.metadata.image.brokers[7]
    assert (known.epoch, known.fenced) == (response.broker_epoch, True)
    heartbeat = BrokerHeartbeatRequest(
        broker_id=7,
        broker_epoch=response.broker_epoch,
        current_metadata_offset=response.broker_epoch,
        want_fence=False,
    )
    beat = controller.send(heartbeat, 1)
    assert (beat.error_code, beat.is_fenced) == (0, False)
    assert not broker.node.metadata.image.brokers[7].fenced
    stale = BrokerHeartbeatRequest(broker_id=7, broker_epoch=response.broker_epoch - 1)
    assert controller.send(stale, 1).error_code == ErrorCode.STALE_BROKER_EPOCH


def test_any_controller_does_nothing_if_that_is_asked(
    broker: RunningBroker, controller: WireClient
) -> None:
    unknown = AlterPartitionRequest(broker_id=7, broker_epoch=1)
    for _ in range(2):
        assert controller.send(unknown, 3).error_code == ErrorCode.NONE
        assert controller.send(CreateTopicsRequest(), 7).topics == []
        listed = controller.send(ListPartitionReassignmentsRequest(topics=[]), 0)
        assert (listed.error_code, listed.error_message) == (ErrorCode.NONE, None)
        resign(broker)
    everything = controller.send(ListPartitionReassignmentsRequest(topics=None), 0)
    assert everything.error_code == ErrorCode.NOT_CONTROLLER
    assert everything.error_message == "The active controller appears to be node 1."
    refused = controller.send(ControllerRegistrationRequest(controller_id=1), 0)
    assert refused.error_code == ErrorCode.NOT_CONTROLLER
    assert refused.error_message == "This is not the correct controller for this cluster."
