"""Envelopes carry requests and responses unchanged, and their errors are Kafka's."""

import pytest

from moldau.broker.envelopes import (
    FORWARDABLE_KEYS,
    NO_ADDRESS,
    Principal,
    envelope,
    opened,
    response_in,
)
from moldau.errors import ApiError, ErrorCode
from moldau.protocol.api import APIS
from moldau.protocol.header import encode_request_header, response_header
from moldau.protocol.messages.create_topics import (
    CreatableTopic,
    CreatableTopicResult,
    CreateTopicsRequest,
    CreateTopicsResponse,
)
from moldau.protocol.messages.envelope import EnvelopeRequest, EnvelopeResponse
from moldau.protocol.primitives import MalformedMessage

ALICE = Principal("User", "alice", True)
CREATE = CreateTopicsRequest(topics=[CreatableTopic(name="t", num_partitions=3)])


def frame_of(api_key: int, version: int, body: bytes) -> bytes:
    return encode_request_header(api_key, version, 77, "client") + body


FRAME = frame_of(19, 7, CREATE.encode(7))


def sent(request: EnvelopeRequest) -> EnvelopeRequest:
    """The request as it arrives."""
    return EnvelopeRequest.decode(request.encode(0), 0, 0)[0]


@pytest.mark.parametrize("host", ["10.1.2.3", "fe80::1"])
def test_a_request_arrives_as_it_was_sent(host: str) -> None:
    found = opened(sent(envelope(FRAME, ALICE, host)))
    assert found.frame == FRAME
    assert (found.header.api_key, found.header.api_version) == (19, 7)
    assert (found.header.correlation_id, found.header.client_id) == (77, "client")
    assert CreateTopicsRequest.decode(found.frame, found.position, 7)[0] == CREATE
    assert found.principal == ALICE
    assert found.client_address == host


def test_the_principal_is_encoded_as_kafka_does() -> None:
    request = envelope(FRAME, ALICE, "10.1.2.3")
    # Version 0, then compact strings, a boolean, no tagged fields.
    assert request.request_principal == b"\x00\x00\x05User\x06alice\x01\x00"
    assert request.client_host_address == bytes((10, 1, 2, 3))


def test_a_host_that_is_no_address_has_none() -> None:
    assert envelope(FRAME, ALICE, "simulated").client_host_address == NO_ADDRESS


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"client_host_address": b"\x01\x02\x03"}, ErrorCode.INVALID_REQUEST),
        ({"request_principal": b""}, ErrorCode.PRINCIPAL_DESERIALIZATION_FAILURE),
        ({"request_principal": None}, ErrorCode.PRINCIPAL_DESERIALIZATION_FAILURE),
        ({"request_principal": b"\x00\x01\x05User"}, ErrorCode.PRINCIPAL_DESERIALIZATION_FAILURE),
        ({"request_principal": b"\x00\x00\x05Us"}, ErrorCode.PRINCIPAL_DESERIALIZATION_FAILURE),
        ({"request_data": b"\x00"}, ErrorCode.UNSUPPORTED_VERSION),
        ({"request_data": frame_of(18, 0, b"")}, ErrorCode.INVALID_REQUEST),
        ({"request_data": b"\x7f\xff" + FRAME[2:]}, ErrorCode.UNSUPPORTED_VERSION),
    ],
)
def test_an_envelope_that_is_wrong_is_refused(change: dict[str, bytes], code: ErrorCode) -> None:
    request = envelope(FRAME, ALICE, "10.1.2.3")
    for name, value in change.items():
        setattr(request, name, value)
    with pytest.raises(ApiError) as caught:
        opened(sent(request))
    assert caught.value.code == code


def test_a_response_comes_back_with_its_header() -> None:
    header = opened(envelope(FRAME, ALICE, "10.1.2.3")).header
    response = CreateTopicsResponse(topics=[CreatableTopicResult(name="t", num_partitions=3)])
    data = response_header(77, 19, 7) + response.encode(7)
    assert response_in(EnvelopeResponse(response_data=data), header) == response


def test_the_error_of_an_envelope_is_raised() -> None:
    header = opened(envelope(FRAME, ALICE, "10.1.2.3")).header
    with pytest.raises(ApiError) as caught:
        response_in(EnvelopeResponse(error_code=ErrorCode.NOT_CONTROLLER), header)
    assert caught.value.code == ErrorCode.NOT_CONTROLLER


def test_a_response_to_another_request_is_malformed() -> None:
    header = opened(envelope(FRAME, ALICE, "10.1.2.3")).header
    data = response_header(78, 19, 7) + CreateTopicsResponse().encode(7)
    with pytest.raises(MalformedMessage, match="to request 78, not 77"):
        response_in(EnvelopeResponse(response_data=data), header)


def test_what_can_be_forwarded_is_an_api_of_controllers() -> None:
    for key in sorted(FORWARDABLE_KEYS):
        assert "controller" in APIS[key].listeners, APIS[key].name
