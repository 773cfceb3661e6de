"""TLS on real sockets: trust, client certificates, and error messages."""

import select
import shutil
import socket
import ssl
from collections.abc import Callable
from pathlib import Path

import pytest

from moldau.client.connection import Connection, ConnectionFailed
from moldau.client.security import PLAINTEXT, Security, parse_security
from moldau.client.security_error import SecurityError
from moldau.client.tls import context_for, is_silent, secured
from moldau.protocol.messages.metadata import MetadataRequest, MetadataResponse
from tests.certificates import KEY_PASSWORD, Authority, chain_of, encrypted, key_of, pkcs12
from tests.client.secured_server import SecuredServer, server_context
from tests.running import RunningBroker


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("certificates"))


@pytest.fixture(scope="module")
def broker_store(authority: Authority) -> Path:
    return authority.sign("broker")


@pytest.fixture(scope="module")
def client_store(authority: Authority) -> Path:
    return authority.sign("client")


@pytest.fixture
def server(broker_store: Path) -> SecuredServer:
    return SecuredServer(context=server_context(broker_store))


@pytest.fixture
def strict_server(broker_store: Path, authority: Authority) -> SecuredServer:
    """A server that requires a client certificate."""
    context = server_context(broker_store, client_authority=authority.certificate)
    return SecuredServer(context=context)


@pytest.fixture
def trusting(authority: Authority) -> Callable[..., Security]:
    """Settings that trust the authority, and others with ``__`` for a point."""

    def make(**other: str) -> Security:
        given = {name.replace("__", "."): value for name, value in other.items()}
        location = {"ssl.truststore.location": str(authority.certificate)}
        return parse_security({"security.protocol": "SSL", **location, **given})

    return make


def connect(server: SecuredServer, security: Security, host: str = "127.0.0.1") -> Connection:
    return Connection(host, server.port, security=security, timeout_s=10)


def ask(server: SecuredServer, security: Security, host: str = "127.0.0.1") -> int:
    """The port in an encrypted response."""
    with connect(server, security, host) as connection:
        response = connection.request(MetadataRequest(topics=[]), MetadataResponse)
        assert not connection.is_stale
        return response.brokers[0].port


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
def test_a_broker_of_a_trusted_authority_is_talked_to(
    server: SecuredServer, trusting: Callable[..., Security], host: str
) -> None:
    with server:
        assert ask(server, trusting(), host) == server.port


@pytest.mark.parametrize("version", ["TLSv1.2", "TLSv1.3"])
def test_versions_can_be_chosen(
    server: SecuredServer, trusting: Callable[..., Security], version: str
) -> None:
    with server:
        assert ask(server, trusting(ssl__enabled__protocols=version)) == server.port


def test_certificates_can_be_in_the_settings_even_in_one_line(
    authority: Authority, strict_server: SecuredServer, client_store: Path
) -> None:
    def in_line(text: str) -> str:
        return " ".join(text.split("\n"))

    security = parse_security(
        {
            "security.protocol": "SSL",
            "ssl.truststore.type": "PEM",
            "ssl.truststore.certificates": in_line(authority.certificate.read_text()),
            "ssl.keystore.type": "PEM",
            "ssl.keystore.certificate.chain": in_line(chain_of(client_store)),
            "ssl.keystore.key": in_line(key_of(client_store)),
        }
    )
    with strict_server:
        assert ask(strict_server, security) == strict_server.port


def test_a_certificate_of_ours_is_shown(
    strict_server: SecuredServer, client_store: Path, trusting: Callable[..., Security]
) -> None:
    with strict_server:
        security = trusting(ssl__keystore__location=str(client_store))
        assert ask(strict_server, security) == strict_server.port


def test_an_encrypted_key_is_opened_by_its_password(
    strict_server: SecuredServer, client_store: Path, trusting: Callable[..., Security]
) -> None:
    store = str(encrypted(client_store))
    with strict_server:
        right = trusting(ssl__keystore__location=store, ssl__key__password=KEY_PASSWORD)
        assert ask(strict_server, right) == strict_server.port
    for password in ({"ssl__key__password": "wrong"}, {}):
        with pytest.raises(SecurityError, match=r"ssl.key.password must be that of the key"):
            security = trusting(ssl__keystore__location=store, **password)
            assert security.tls is not None
            context_for(security.tls)


@pytest.mark.parametrize("version", ["TLSv1.2", "TLSv1.3"])
def test_the_error_says_that_a_broker_requires_a_client_certificate(
    strict_server: SecuredServer, trusting: Callable[..., Security], version: str
) -> None:
    # With TLS 1.3 the broker may have closed the connection before its alert is read.
    with (
        strict_server,
        pytest.raises((SecurityError, ConnectionFailed), match=r"requires a client certificate"),
    ):
        connect(strict_server, trusting(ssl__enabled__protocols=version))


def test_an_unknown_authority_is_not_trusted(server: SecuredServer, tmp_path: Path) -> None:
    other = Authority(tmp_path).certificate
    settings = {"security.protocol": "SSL", "ssl.truststore.location": str(other)}
    with (
        server,
        pytest.raises(SecurityError, match=r"is not trusted .*: set ssl.truststore.location"),
    ):
        connect(server, parse_security(settings))


def test_a_certificate_for_another_name_is_refused_unless_names_are_not_checked(
    authority: Authority, trusting: Callable[..., Security]
) -> None:
    context = server_context(authority.sign("elsewhere", host="DNS:elsewhere.example"))
    with SecuredServer(context=context) as server:
        with pytest.raises(SecurityError, match=r"is for another name .* to skip the check"):
            connect(server, trusting())
        security = trusting(ssl__endpoint__identification__algorithm="")
        assert ask(server, security) == server.port


def test_the_certificate_of_the_broker_itself_can_be_trusted(
    server: SecuredServer, broker_store: Path
) -> None:
    settings = {"security.protocol": "SSL", "ssl.truststore.certificates": chain_of(broker_store)}
    with server:
        assert ask(server, parse_security(settings)) == server.port


def test_a_suite_that_was_not_wanted_is_not_used(
    server: SecuredServer, trusting: Callable[..., Security]
) -> None:
    with server:
        suite = "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256"
        assert ask(server, trusting(ssl__cipher__suites=suite)) == server.port
        with pytest.raises(SecurityError, match=r"not among ssl.cipher.suites"):
            connect(server, trusting(ssl__cipher__suites="TLS_AES_128_CCM_8_SHA256"))
        with pytest.raises(SecurityError, match="OpenSSL supports none of them"):
            connect(server, trusting(ssl__cipher__suites="TLS_RSA_WITH_ROT13_SHA"))


@pytest.mark.parametrize(
    ("theirs", "ours"),
    [(ssl.TLSVersion.TLSv1_3, "TLSv1.2"), (ssl.TLSVersion.TLSv1_2, "TLSv1.3")],
)
def test_nothing_in_common_is_said_with_what_could_be_changed(
    broker_store: Path, trusting: Callable[..., Security], theirs: ssl.TLSVersion, ours: str
) -> None:
    context = server_context(broker_store)
    context.minimum_version = context.maximum_version = theirs
    with (
        SecuredServer(context=context) as server,
        pytest.raises(SecurityError, match=r"cipher suite in common .*ssl.enabled.protocols"),
    ):
        connect(server, trusting(ssl__enabled__protocols=ours))


def test_who_speaks_plainly_to_tls_is_told_so(server: SecuredServer) -> None:
    # Most servers send an alert; some only close the connection.
    with (
        server,
        pytest.raises((SecurityError, ConnectionFailed), match=r"set security.protocol"),
    ):
        connect(server, PLAINTEXT)


def test_who_speaks_tls_to_a_plain_broker_is_told_so(
    tmp_path: Path, trusting: Callable[..., Security]
) -> None:
    with (
        RunningBroker(tmp_path / "data") as broker,
        pytest.raises(ConnectionFailed, match=r"set security.protocol to PLAINTEXT"),
    ):
        Connection("127.0.0.1", broker.port, security=trusting())


def test_who_speaks_tls_to_one_that_waits_for_more_is_told_so(
    trusting: Callable[..., Security],
) -> None:
    # The first bytes of TLS are the size of a request that a broker may be set to accept.
    with (
        socket.create_server(("127.0.0.1", 0)) as silent,
        pytest.raises(ConnectionFailed, match=r"in time; .* set security.protocol to PLAINTEXT"),
    ):
        Connection("127.0.0.1", silent.getsockname()[1], security=trusting(), timeout_s=0.05)


@pytest.mark.parametrize("store", ["truststore", "keystore"])
def test_stores_of_java_are_known_by_their_content(
    client_store: Path, trusting: Callable[..., Security], store: str
) -> None:
    path = pkcs12(client_store)
    security = trusting(**{f"ssl__{store}__location": str(path)})
    assert security.tls is not None
    with pytest.raises(SecurityError, match=rf"{path} is not PEM: make PEM of it \('keytool"):
        context_for(security.tls)


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("missing.pem", r"missing.pem cannot be read: No such file"),
        ("empty.pem", r"ssl.truststore.location=.*empty.pem: there is no certificate"),
    ],
)
def test_a_file_that_is_no_use_is_named(
    tmp_path: Path, trusting: Callable[..., Security], name: str, problem: str
) -> None:
    (tmp_path / "empty.pem").write_text("-----BEGIN NOTHING-----\n-----END NOTHING-----\n")
    security = trusting(ssl__truststore__location=str(tmp_path / name))
    assert security.tls is not None
    with pytest.raises(SecurityError, match=problem):
        context_for(security.tls)


def test_a_key_and_a_certificate_that_do_not_belong_together_are_told(
    client_store: Path, broker_store: Path, trusting: Callable[..., Security]
) -> None:
    security = trusting(
        ssl__keystore__key=key_of(client_store),
        ssl__keystore__certificate__chain=chain_of(broker_store),
    )
    assert security.tls is not None
    with pytest.raises(SecurityError, match="the key is not that of the certificate"):
        context_for(security.tls)


def test_a_renewed_file_is_read_again(
    authority: Authority, tmp_path: Path, trusting: Callable[..., Security]
) -> None:
    path = tmp_path / "trusted.pem"
    shutil.copy(authority.certificate, path)
    tls = trusting(ssl__truststore__location=str(path)).tls
    assert tls is not None
    first = context_for(tls)
    assert context_for(tls) is first
    path.write_text(path.read_text() * 2)
    assert context_for(tls) is not first


def test_words_of_tls_to_itself_are_not_taken_for_an_end(
    server: SecuredServer, trusting: Callable[..., Security]
) -> None:
    tls = trusting(ssl__enabled__protocols="TLSv1.3").tls
    assert tls is not None
    with server:
        plain = socket.create_connection(("127.0.0.1", server.port), 10)
        with secured(plain, "127.0.0.1", "the server", tls) as connection:
            # Session tickets follow the handshake.
            assert select.select([connection], [], [], 10)[0]
            assert is_silent(connection)


def test_an_idle_connection_that_was_closed_is_found_out(
    server: SecuredServer, trusting: Callable[..., Security]
) -> None:
    with server:
        connection = connect(server, trusting())
        assert not connection.is_stale
    assert connection.is_stale
    connection.close()
