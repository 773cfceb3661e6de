"""Connections with TLS and SASL: successful logins, and the errors of failed ones."""

from base64 import b64encode

import pytest

from moldau.client.cluster import BrokerAddress, Cluster
from moldau.client.connection import Connection, ConnectionFailed
from moldau.client.login import Login
from moldau.client.security import PLAINTEXT, Security
from moldau.client.security_error import SecurityError
from moldau.errors import ErrorCode
from moldau.protocol.messages.metadata import MetadataRequest, MetadataResponse
from tests.client.scram_server import ScramServer
from tests.client.secured_server import (
    API_VERSIONS,
    AUTHENTICATE,
    HANDSHAKE,
    METADATA,
    PASSWORD,
    USER,
    Exchange,
    SecuredServer,
    plain,
    scram_sha_256,
)

MECHANISMS = {"PLAIN": plain, "SCRAM-SHA-256": scram_sha_256}


def impostor() -> Exchange:
    """Accepts every login, but cannot prove that it knows the password."""
    first = yield b""
    yield ScramServer("sha256", "not the password").first(first)
    yield b"v=" + b64encode(bytes(32))


def refusing() -> Exchange:
    yield b""
    yield None


def login(mechanism: str = "PLAIN", password: str = PASSWORD) -> Security:
    options = (("username", USER), ("password", password))
    return Security(login=Login(mechanism, options))


def open_connection(server: SecuredServer, security: Security) -> Connection:
    return Connection("127.0.0.1", server.port, security=security)


def ports(connection: Connection) -> list[int]:
    response = connection.request(MetadataRequest(topics=[]), MetadataResponse)
    return [broker.port for broker in response.brokers]


@pytest.mark.parametrize(("mechanism", "messages"), [("PLAIN", 1), ("SCRAM-SHA-256", 2)])
def test_a_login_comes_before_the_first_request(mechanism: str, messages: int) -> None:
    with (
        SecuredServer(mechanisms=MECHANISMS) as server,
        open_connection(server, login(mechanism)) as connection,
    ):
        assert ports(connection) == [server.port]
        spoken = [API_VERSIONS, HANDSHAKE, *[AUTHENTICATE] * messages, METADATA]
        assert server.asked == [spoken]


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_a_wrong_password_is_told_with_everything_but_the_password(mechanism: str) -> None:
    with (
        SecuredServer(mechanisms=MECHANISMS) as server,
        pytest.raises(SecurityError) as raised,
    ):
        open_connection(server, login(mechanism, "wrong-secret"))
    message = str(raised.value)
    assert f"127.0.0.1:{server.port} refused the login of {USER} with {mechanism}" in message
    assert "(Invalid username or password): check username and password" in message
    assert "wrong-secret" not in message
    assert raised.value.code is ErrorCode.SASL_AUTHENTICATION_FAILED


def test_a_broker_that_does_not_know_the_password_is_not_believed() -> None:
    with (
        SecuredServer(mechanisms={"SCRAM-SHA-256": impostor}) as server,
        pytest.raises(SecurityError, match=r"is not trusted \(SCRAM-SHA-256 as alice\): its sig"),
    ):
        open_connection(server, login("SCRAM-SHA-256"))


def test_a_mechanism_that_is_not_offered_is_answered_with_those_that_are() -> None:
    with (
        SecuredServer(mechanisms=MECHANISMS) as server,
        pytest.raises(SecurityError, match="SCRAM-SHA-512: it offers PLAIN, SCRAM-SHA-256"),
    ):
        open_connection(server, login("SCRAM-SHA-512"))


def test_a_listener_without_logins_says_so() -> None:
    with (
        SecuredServer() as server,
        pytest.raises(
            SecurityError, match="does not accept logins: its listener does not use SASL"
        ),
    ):
        open_connection(server, login())


def test_who_does_not_log_in_is_told_that_one_may_have_to() -> None:
    with (
        SecuredServer(mechanisms=MECHANISMS) as server,
        open_connection(server, PLAINTEXT) as connection,
        pytest.raises(
            ConnectionFailed, match=r"requires a login, set security.protocol=SASL_PLAIN"
        ),
    ):
        ports(connection)


def test_a_failed_login_is_not_tried_again() -> None:
    with SecuredServer(mechanisms=MECHANISMS) as server:
        address = f"127.0.0.1:{server.port}"
        with Cluster(address, security=login(password="wrong")) as cluster:
            # As if it had been reached before: only then are lost connections opened again.
            cluster.brokers = {1: BrokerAddress(1, "127.0.0.1", server.port)}
            with pytest.raises(SecurityError):
                cluster.retrying(lambda: cluster.refresh(()))
        assert len(server.asked) == 1


def test_a_login_that_does_not_last_is_renewed_on_the_same_connection() -> None:
    with (
        SecuredServer(mechanisms=MECHANISMS, lifetime_ms=1) as server,
        open_connection(server, login("SCRAM-SHA-256")) as connection,
    ):
        while server.asked[0].count(HANDSHAKE) < 3:
            assert ports(connection) == [server.port]
        assert len(server.asked) == 1
        assert server.asked[0].count(AUTHENTICATE) == 2 * 3


def test_a_login_that_lasts_is_not_renewed() -> None:
    with (
        SecuredServer(mechanisms=MECHANISMS, lifetime_ms=3_600_000) as server,
        open_connection(server, login()) as connection,
    ):
        for _ in range(3):
            ports(connection)
        assert server.asked[0].count(HANDSHAKE) == 1


def test_answers_that_are_due_survive_a_renewal() -> None:
    with (
        SecuredServer(mechanisms=MECHANISMS, lifetime_ms=1) as server,
        open_connection(server, login()) as connection,
    ):
        posted = 0
        while server.asked[0].count(HANDSHAKE) < 3:
            connection.post(MetadataRequest(topics=[]))
            posted += 1
        for _ in range(posted):
            assert connection.receive(MetadataResponse).brokers[0].port == server.port
        assert not connection.is_stale


def test_a_renewal_that_fails_ends_the_connection() -> None:
    logins = iter([plain, refusing])
    with SecuredServer(mechanisms={"PLAIN": lambda: next(logins)()}, lifetime_ms=1) as server:
        connection = open_connection(server, login())
        with pytest.raises(SecurityError, match="refused the login of alice"):
            while True:
                ports(connection)
        assert connection.is_stale
