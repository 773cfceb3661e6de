"""The listener of a controller: envelopes are answered byte for byte as by Apache Kafka."""

import socket
import struct
from collections.abc import Iterator
from pathlib import Path

import pytest
from tools.brokers import HOST, ApacheKafkaBroker

from moldau.broker.envelopes import ANONYMOUS, Principal, envelope
from moldau.protocol.api import APIS
from moldau.protocol.header import decode_response_header, encode_request_header
from moldau.protocol.message import Message
from moldau.protocol.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from moldau.protocol.messages.create_topics import CreatableTopic, CreateTopicsRequest
from moldau.protocol.messages.delete_topics import DeleteTopicsRequest, DeleteTopicState
from moldau.protocol.messages.describe_cluster import DescribeClusterRequest
from moldau.protocol.messages.envelope import EnvelopeRequest
from moldau.protocol.messages.list_partition_reassignments import (
    ListPartitionReassignmentsRequest,
)
from moldau.protocol.messages.metadata import MetadataRequest
from moldau.protocol.messages.unregister_broker import UnregisterBrokerRequest
from tests.compat.clients.programs import UnavailableError, require_apache_kafka
from tests.running import RunningBroker


class Listener:
    """A connection to the listener of a controller."""

    def __init__(self, port: int) -> None:
        self._socket = socket.create_connection((HOST, port), timeout=120)

    def ask(self, request: Message, version: int) -> bytes:
        header = encode_request_header(request.API_KEY, version, 7, "3")
        frame = header + request.encode(version)
        self._socket.sendall(struct.pack(">i", len(frame)) + frame)
        return self._read(struct.unpack(">i", self._read(4))[0])

    def _read(self, size: int) -> bytes:
        data = b""
        while len(data) < size:
            chunk = self._socket.recv(size - len(data))
            assert chunk, "the connection was closed"
            data += chunk
        return data

    def close(self) -> None:
        self._socket.close()


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Listener, Listener]]:
    try:
        require_apache_kafka()
    except UnavailableError as reason:
        pytest.skip(str(reason))
    path: Path = tmp_path_factory.mktemp("envelopes")
    with ApacheKafkaBroker(path / "kafka", {}) as kafka, RunningBroker(path / "moldau") as moldau:
        listeners = Listener(kafka.controller_port), Listener(moldau.node.ports["CONTROLLER"])
        yield listeners
        for listener in listeners:
            listener.close()


def frame_of(request: Message, version: int) -> bytes:
    header = encode_request_header(request.API_KEY, version, 77, "client")
    return header + request.encode(version)


def same(both: tuple[Listener, Listener], request: Message, version: int) -> bytes:
    expected, found = (listener.ask(request, version) for listener in both)
    assert found == expected
    return expected


def enclosed(request: Message, version: int) -> EnvelopeRequest:
    return envelope(frame_of(request, version), ANONYMOUS, "10.1.2.3")


@pytest.mark.parametrize("version", range(2, 8))
def test_a_request_inside(both: tuple[Listener, Listener], version: int) -> None:
    topics = [CreatableTopic(name="not a name"), CreatableTopic(name="..")]
    same(both, enclosed(CreateTopicsRequest(topics=topics), version), 0)


@pytest.mark.parametrize("version", range(1, 7))
def test_another_request_inside(both: tuple[Listener, Listener], version: int) -> None:
    request = DeleteTopicsRequest(timeout_ms=30_000)
    if version >= 6:
        request.topics = [DeleteTopicState(name="missing")]
    else:
        request.topic_names = ["missing"]
    same(both, enclosed(request, version), 0)


def test_requests_of_other_apis_inside(both: tuple[Listener, Listener]) -> None:
    same(both, enclosed(ListPartitionReassignmentsRequest(), 0), 0)
    same(both, enclosed(UnregisterBrokerRequest(broker_id=77), 0), 0)


def test_clients_are_named(both: tuple[Listener, Listener]) -> None:
    frame = frame_of(ListPartitionReassignmentsRequest(), 0)
    for principal in (Principal("User", "alice", True), Principal("Group", "")):
        for address in ("fe80::1", "127.0.0.1"):
            same(both, envelope(frame, principal, address), 0)


@pytest.mark.parametrize(
    "change",
    [
        {"client_host_address": b""},
        {"client_host_address": b"\x01\x02\x03"},
        {"client_host_address": bytes(17)},
        {"request_principal": None},
        {"request_principal": b""},
        {"request_principal": b"\x00"},
        {"request_principal": b"\x00\x01\x05User\x02a\x00\x00"},
        {"request_principal": b"\xff\xff\x05User\x02a\x00\x00"},
        {"request_principal": b"\x00\x00\x05Us"},
        {"request_principal": b"\x00\x00\x05User\x02a\x00\x00rest"},
        {"request_data": b""},
        {"request_data": b"\x00\x13"},
        {"request_data": encode_request_header(19, 7, 1, "c")},
        {"request_data": encode_request_header(19, 7, 1, "c") + b"\x7f"},
        {"request_data": struct.pack(">hhih", 19, 99, 1, -1) + b"\x00\x01"},
        {"request_data": struct.pack(">hhih", 19, 1, 1, -1) + b"\x00\x01"},
        {"request_data": struct.pack(">hhih", 999, 0, 1, -1) + b"\x00\x01"},
        {"request_data": struct.pack(">hhih", -1, 0, 1, -1) + b"\x00\x01"},
    ],
    ids=str,
)
def test_envelopes_that_are_wrong(
    both: tuple[Listener, Listener], change: dict[str, bytes]
) -> None:
    request = enclosed(ListPartitionReassignmentsRequest(), 0)
    for name, value in change.items():
        setattr(request, name, value)
    same(both, request, 0)


def test_what_must_not_be_forwarded(both: tuple[Listener, Listener]) -> None:
    for request, version in (
        (MetadataRequest(topics=[]), 12),
        (ApiVersionsRequest("a", "1"), 3),
        (enclosed(ListPartitionReassignmentsRequest(), 0), 0),
        (DescribeClusterRequest(), 0),
    ):
        same(both, enclosed(request, version), 0)


@pytest.mark.parametrize("version", range(3))
def test_the_cluster_as_controllers_describe_it(
    both: tuple[Listener, Listener], version: int
) -> None:
    """Brokers and controllers are separate lists: a listener has one of them."""
    if version >= 1:
        same(both, DescribeClusterRequest(endpoint_type=1), version)
        same(both, DescribeClusterRequest(endpoint_type=9), version)


def test_the_same_apis_are_listed(both: tuple[Listener, Listener]) -> None:
    listed = []
    for listener in both:
        answer = listener.ask(ApiVersionsRequest("test", "1"), 4)
        _, position = decode_response_header(answer, 18, 4)
        response = ApiVersionsResponse.decode(answer, position, 4)[0]
        listed.append(
            {(api.api_key, api.min_version, api.max_version) for api in response.api_keys}
        )
    kafka, moldau = listed
    names = {key: APIS[key].name for key, *_ in kafka ^ moldau}
    assert kafka == moldau, names
