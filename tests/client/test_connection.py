"""Connections to a broker, and to servers that are not brokers."""

import socket
import struct
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from moldau.client.cluster import parse_bootstrap
from moldau.client.connection import Connection, ConnectionFailed
from moldau.client.security_error import SecurityError
from moldau.errors import ApiError, ErrorCode
from moldau.protocol.messages.api_versions import ApiVersion, ApiVersionsResponse
from moldau.protocol.messages.describe_cluster import (
    DescribeClusterRequest,
    DescribeClusterResponse,
)
from moldau.protocol.messages.metadata import MetadataRequest, MetadataResponse

UNSUPPORTED = int(ErrorCode.UNSUPPORTED_VERSION)


@contextmanager
def server(answer: Callable[[bytes], bytes | None]) -> Iterator[int]:
    """A server that answers every frame with ``answer``; None closes the connection."""
    listening = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        try:
            connection, _ = listening.accept()
        except OSError:
            return
        with connection, connection.makefile("rb") as reader:
            while len(prefix := reader.read(4)) == 4:
                (size,) = struct.unpack(">i", prefix)
                reply = answer(reader.read(size))
                if reply is None:
                    return
                connection.sendall(reply)

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    try:
        yield listening.getsockname()[1]
    finally:
        listening.close()
        thread.join(10)


def frame(body: bytes) -> bytes:
    return struct.pack(">i", len(body)) + body


def api_versions(request: bytes, error: int, apis: list[ApiVersion], version: int) -> bytes:
    body = ApiVersionsResponse(error_code=error, api_keys=apis).encode(version)
    return frame(request[4:8] + body)


def test_versions_are_agreed_on_and_requests_answered(bootstrap: str) -> None:
    host, port = parse_bootstrap(bootstrap)[0]
    with Connection(host, port) as connection:
        assert connection.version_of(3) == 13
        response = connection.request(MetadataRequest(topics=[]), MetadataResponse)
        assert [broker.port for broker in response.brokers] == [port]
        assert not connection.is_stale


def test_requests_can_be_pipelined(bootstrap: str) -> None:
    host, port = parse_bootstrap(bootstrap)[0]
    with Connection(host, port) as connection:
        for _ in range(3):
            connection.post(MetadataRequest(topics=[]))
        for _ in range(3):
            assert connection.receive(MetadataResponse).brokers


def test_a_question_between_pipelined_requests_gets_its_own_answer(bootstrap: str) -> None:
    host, port = parse_bootstrap(bootstrap)[0]
    with Connection(host, port) as connection:
        for _ in range(2):
            connection.post(MetadataRequest(topics=[]))
        described = connection.request(DescribeClusterRequest(), DescribeClusterResponse)
        assert [broker.port for broker in described.brokers] == [port]
        connection.post(MetadataRequest(topics=[]))
        for _ in range(3):
            assert connection.receive(MetadataResponse).brokers
        assert not connection.is_stale


def test_nobody_there_is_said_with_the_address() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    with pytest.raises(ConnectionFailed, match=f"127.0.0.1:{port}: Connection refused"):
        Connection("127.0.0.1", port)


def test_an_older_broker_is_asked_again_in_its_own_version() -> None:
    asked = []

    def answer(request: bytes) -> bytes:
        (version,) = struct.unpack(">h", request[2:4])
        asked.append(version)
        if version > 2:
            return api_versions(request, UNSUPPORTED, [ApiVersion(18, 0, 2)], 0)
        return api_versions(request, 0, [ApiVersion(18, 0, 2), ApiVersion(3, 0, 5)], version)

    with server(answer) as port, Connection("127.0.0.1", port) as connection:
        assert asked == [4, 2]
        assert connection.version_of(3) == 5


def test_an_api_that_the_broker_lacks_is_named() -> None:
    def answer(request: bytes) -> bytes:
        return api_versions(request, 0, [ApiVersion(18, 0, 4), ApiVersion(0, 0, 2)], 4)

    with server(answer) as port, Connection("127.0.0.1", port) as connection:
        assert connection.supports(0)
        with pytest.raises(ApiError, match=r"Metadata: .* supports no version"):
            connection.version_of(3)
        with pytest.raises(ApiError, match=r"Produce: .* supports versions 0 to 2"):
            connection.version_of(0)


def test_a_server_that_is_no_kafka_is_found_out() -> None:
    with (
        server(lambda request: b"HTTP/1.1 400 Bad Request\r\n\r\n") as port,
        pytest.raises(ConnectionFailed, match=r"like a Kafka broker: .* b'HTTP'") as raised,
    ):
        Connection("127.0.0.1", port)
    assert f"127.0.0.1:{port}" in str(raised.value)


def test_a_broker_that_speaks_tls_is_found_out() -> None:
    with (
        server(lambda request: b"\x15\x03\x03\x00\x02\x02\x46") as port,
        pytest.raises(SecurityError, match=rf"127.0.0.1:{port} uses TLS: set security.protocol"),
    ):
        Connection("127.0.0.1", port)


def test_a_broker_that_hangs_up_is_named() -> None:
    with (
        server(lambda request: None) as port,
        pytest.raises(ConnectionFailed, match=f"127.0.0.1:{port} closed the connection"),
    ):
        Connection("127.0.0.1", port)


def test_a_broker_that_says_nothing_times_out() -> None:
    with (
        server(lambda request: b"") as port,
        pytest.raises(ConnectionFailed, match=r"in time; .* TLS, set security.protocol"),
    ):
        Connection("127.0.0.1", port, timeout_s=0.05)


def test_time_that_runs_out_later_says_nothing_of_security() -> None:
    def answer(request: bytes) -> bytes:
        if request[:2] == b"\x00\x12":
            return api_versions(request, 0, [ApiVersion(18, 0, 4), ApiVersion(3, 0, 0)], 4)
        return b""

    with server(answer) as port, Connection("127.0.0.1", port) as connection:
        connection.set_timeout(0.05)
        with pytest.raises(ConnectionFailed, match=r"did not answer in time$"):
            connection.request(MetadataRequest(topics=[]), MetadataResponse)


def test_a_first_request_that_cannot_be_sent_is_a_hint_too() -> None:
    """A listener that requires a login and closes the connection before any request."""
    has_connected = threading.Event()
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def serve() -> None:
            accepted, _ = listening.accept()
            with accepted, accepted.makefile("rb") as reader:
                request = reader.read(struct.unpack(">i", reader.read(4))[0])
                apis = [ApiVersion(18, 0, 4), ApiVersion(3, 0, 0)]
                accepted.sendall(api_versions(request, 0, apis, 4))
                has_connected.wait(10)
                reset = struct.pack("ii", 1, 0)
                accepted.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, reset)

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        with Connection("127.0.0.1", listening.getsockname()[1]) as connection:
            has_connected.set()
            thread.join(10)
            assert connection.is_stale
            with pytest.raises(ConnectionFailed, match=r"requires a login, set security.protocol"):
                connection.request(MetadataRequest(topics=[]), MetadataResponse)


def test_an_answer_to_another_request_ends_the_connection() -> None:
    def answer(request: bytes) -> bytes:
        if request[:2] == b"\x00\x12":
            return api_versions(request, 0, [ApiVersion(18, 0, 4), ApiVersion(3, 0, 0)], 4)
        return frame(b"\x7f\x00\x00\x00" + MetadataResponse().encode(0))

    with server(answer) as port, Connection("127.0.0.1", port) as connection:
        with pytest.raises(ConnectionFailed, match="when 2 was due"):
            connection.request(MetadataRequest(topics=[]), MetadataResponse)
        assert connection.is_stale


@pytest.mark.parametrize(
    ("text", "servers"),
    [
        ("localhost", [("localhost", 9092)]),
        ("a:1, b:2", [("a", 1), ("b", 2)]),
        ("[::1]:5", [("::1", 5)]),
        ("[::1]", [("::1", 9092)]),
    ],
)
def test_bootstrap_servers_are_read(text: str, servers: list[tuple[str, int]]) -> None:
    assert parse_bootstrap(text) == servers


@pytest.mark.parametrize("text", ["", "host:port", "host:99999", ":9092", ","])
def test_wrong_bootstrap_servers_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match="localhost:9092"):
        parse_bootstrap(text)
