"""HTTPS with real clients: trust in both directions, bad files, renewal, and forwarding."""

import http.client
import json
import shutil
import socket
import ssl
import subprocess
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from moldau.connect.config.errors import ConfigError
from moldau.connect.listeners import LISTENERS, RestListener, parse_listeners, parse_tls_of
from moldau.connect.rest.forwarding import Forwarding
from moldau.connect.rest.server import RestServer
from tests.certificates import KEY_PASSWORD, Authority, chain_of, encrypted, key_of, pkcs12
from tests.connect.config.connectors import plugins
from tests.connect.rest.conftest import LOOPBACK, SOURCE, Client
from tests.connect.rest.memory_herder import MemoryHerder

PREFIX = "listeners.https.ssl."


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("certificates"))


@pytest.fixture(scope="module")
def store(authority: Authority) -> Path:
    return authority.sign("worker")


@pytest.fixture(scope="module")
def client_store(authority: Authority) -> Path:
    return authority.sign("client")


def prefixed(settings: dict[str, Any]) -> dict[str, str]:
    return {PREFIX + name: str(value) for name, value in settings.items()}


def https(settings: dict[str, Any]) -> list[RestListener]:
    return parse_listeners(LISTENERS, ["https://127.0.0.1:0"], prefixed(settings))


Serve = Callable[..., RestServer]


@pytest.fixture
def serve(herder: MemoryHerder) -> Iterator[Serve]:
    """Starts a REST server with HTTPS and these settings."""
    with ExitStack() as running:

        def start(
            settings: dict[str, Any], herder: MemoryHerder = herder, **more: Any
        ) -> RestServer:
            server = RestServer(herder, herder.plugins, https(settings), {}, **more)
            return running.enter_context(server)

        yield start


def trusting(authority: Authority, own: Path | None = None) -> ssl.SSLContext:
    context = ssl.create_default_context(cafile=str(authority.certificate))
    if own is not None:
        context.load_cert_chain(own)
    return context


def ask(port: int, context: ssl.SSLContext, path: str = "/connectors") -> Any:
    url = f"https://localhost:{port}{path}"
    with urllib.request.urlopen(url, context=context, timeout=60) as answer:
        return json.load(answer)


def test_a_client_that_trusts_the_authority_is_answered(
    serve: Serve, authority: Authority, store: Path
) -> None:
    server = serve({"keystore.location": store, "keystore.type": "PEM"})
    assert ask(server.port, trusting(authority)) == []
    with pytest.raises(urllib.error.URLError, match="CERTIFICATE_VERIFY_FAILED"):
        ask(server.port, ssl.create_default_context())


@pytest.mark.skipif(shutil.which("curl") is None, reason="curl is not on the PATH")
def test_curl_is_answered(serve: Serve, authority: Authority, store: Path) -> None:
    server = serve({"keystore.location": store})
    url = f"https://localhost:{server.port}/connectors"
    command = ["curl", "-sS", "--cacert", str(authority.certificate), url, url]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert (done.stdout, done.stderr) == ("[][]", "")


def test_a_connection_is_kept_and_ends_with_a_goodbye(
    serve: Serve, authority: Authority, store: Path
) -> None:
    server = serve({"keystore.location": store})
    raw = socket.create_connection(("localhost", server.port), 60)
    # Without a goodbye, what is read last would be an error.
    context = trusting(authority)
    with context.wrap_socket(raw, server_hostname="localhost", suppress_ragged_eofs=False) as kept:
        kept.sendall(b"GET /connectors HTTP/1.1\r\nHost: x\r\n\r\n" * 2)
        kept.sendall(b"GET /connectors HTTP/1.1\r\nConnection: close\r\n\r\n")
        answers = b"".join(iter(lambda: kept.recv(65536), b""))
    assert answers.count(b"HTTP/1.1 200 OK") == 3


def test_http_and_https_side_by_side(
    herder: MemoryHerder, authority: Authority, store: Path
) -> None:
    listeners = [*LOOPBACK, *https({"keystore.location": store})]
    with RestServer(herder, herder.plugins, listeners, {}) as server:
        plain, secured = server.ports
        rest = Client(plain)
        assert rest("GET", "/connectors").json == ask(secured, trusting(authority))
        rest.close()


def test_a_client_without_tls_is_turned_away(
    serve: Serve, authority: Authority, store: Path
) -> None:
    server = serve({"keystore.location": store})
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)
    connection.request("GET", "/connectors")
    with pytest.raises((http.client.HTTPException, ConnectionError)):
        connection.getresponse()
    connection.close()
    with socket.create_connection(("127.0.0.1", server.port)):
        # One that says nothing delays no other.
        assert ask(server.port, trusting(authority)) == []


def test_close_ends_connections_also_before_the_handshake(
    herder: MemoryHerder, authority: Authority, store: Path
) -> None:
    server = RestServer(herder, herder.plugins, https({"keystore.location": store}), {}).start()
    silent = socket.create_connection(("127.0.0.1", server.port), 60)
    open_ = http.client.HTTPSConnection(
        "localhost", server.port, timeout=60, context=trusting(authority)
    )
    open_.request("GET", "/connectors")
    assert open_.getresponse().read() == b"[]"
    server.close()
    assert silent.recv(1) == b""
    assert open_.sock.recv(1) == b""
    silent.close()
    open_.close()


def test_a_required_certificate_must_be_there_and_be_trusted(
    serve: Serve, authority: Authority, store: Path, client_store: Path, tmp_path: Path
) -> None:
    settings = {"keystore.location": store, "truststore.location": authority.certificate}
    server = serve({**settings, "client.auth": "required"})
    assert ask(server.port, trusting(authority, client_store)) == []
    stranger = Authority(tmp_path).sign("stranger")
    for own in (None, stranger):
        with pytest.raises(OSError, match=r"(?i)certificate|unknown ca|reset|eof"):
            ask(server.port, trusting(authority, own))


def test_a_requested_certificate_may_be_absent_but_not_wrong(
    serve: Serve, authority: Authority, store: Path, client_store: Path, tmp_path: Path
) -> None:
    settings = {"keystore.location": store, "truststore.location": authority.certificate}
    server = serve({**settings, "client.auth": "requested"})
    assert ask(server.port, trusting(authority)) == []
    assert ask(server.port, trusting(authority, client_store)) == []
    stranger = Authority(tmp_path).sign("stranger")
    with pytest.raises(OSError, match=r"(?i)certificate|unknown ca|reset|eof"):
        ask(server.port, trusting(authority, stranger))


def test_without_a_truststore_only_the_workers_own_certificate_is_trusted(
    serve: Serve, authority: Authority, store: Path, client_store: Path
) -> None:
    server = serve({"keystore.location": store, "client.auth": "required"})
    assert ask(server.port, trusting(authority, store)) == []
    with pytest.raises(OSError, match=r"(?i)certificate|unknown ca|reset|eof"):
        ask(server.port, trusting(authority, client_store))


@pytest.mark.parametrize("is_encrypted", [False, True])
def test_keys_in_settings_and_encrypted_keys(
    serve: Serve, authority: Authority, store: Path, is_encrypted: bool
) -> None:
    used = encrypted(store) if is_encrypted else store
    password = {"key.password": KEY_PASSWORD} if is_encrypted else {}
    in_a_file = serve({"keystore.location": used, **password})
    assert ask(in_a_file.port, trusting(authority)) == []
    text = {"keystore.key": key_of(used), "keystore.certificate.chain": chain_of(used)}
    in_settings = serve({**text, **password})
    assert ask(in_settings.port, trusting(authority)) == []


def test_versions_and_suites_are_limited(serve: Serve, authority: Authority, store: Path) -> None:
    suite = "TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384"
    older = {"enabled.protocols": "TLSv1.2", "cipher.suites": suite}
    server = serve({"keystore.location": store, **older})
    with socket.create_connection(("localhost", server.port), 60) as raw:
        secured = trusting(authority).wrap_socket(raw, server_hostname="localhost")
        assert (secured.version(), (secured.cipher() or "")[0]) == (
            "TLSv1.2",
            "ECDHE-ECDSA-AES256-GCM-SHA384",
        )
        secured.close()
    newest = trusting(authority)
    newest.minimum_version = ssl.TLSVersion.TLSv1_3
    with pytest.raises(urllib.error.URLError, match=r"(?i)protocol.version"):
        ask(server.port, newest)


def test_a_replaced_certificate_is_used_from_the_next_connection_on(
    serve: Serve, authority: Authority, store: Path, tmp_path: Path, caplog: Any
) -> None:
    used = tmp_path / "used.pem"
    used.write_text(store.read_text())
    server = serve({"keystore.location": used})
    before = _certificate(server.port)
    used.write_text("half of it")
    assert _certificate(server.port) == before
    assert _certificate(server.port) == before
    assert caplog.text.count("goes on with its former certificate") == 1
    used.write_text(authority.sign("renewed").read_text())
    assert _certificate(server.port) != before
    assert ask(server.port, trusting(authority)) == []


def _certificate(port: int) -> str:
    return ssl.get_server_certificate(("localhost", port), timeout=60)


def test_a_file_that_cannot_be_used_is_named_at_the_start(
    herder: MemoryHerder, authority: Authority, store: Path, client_store: Path, tmp_path: Path
) -> None:
    mixed = tmp_path / "mixed.pem"
    mixed.write_text(key_of(client_store) + chain_of(store))
    absent = tmp_path / "absent.pem"
    location = f"{PREFIX}keystore.location"
    cases: list[tuple[dict[str, Any], str]] = [
        ({"keystore.location": absent}, f"{location}={absent} cannot be read: No such file"),
        ({"keystore.location": mixed}, f"{location}={mixed}: the key is not that of the"),
        (
            {"keystore.location": encrypted(store), "key.password": "wrong"},
            f"{PREFIX}key.password must be that of the key",
        ),
        ({"keystore.location": encrypted(store)}, f"{PREFIX}key.password must be that of the key"),
        ({"keystore.location": pkcs12(store)}, "is not PEM: make PEM of it ('keytool"),
        ({"keystore.location": authority.certificate}, "a key in PEM and its certificate are"),
        (
            {"keystore.location": store, "truststore.location": absent, "client.auth": "required"},
            f"{PREFIX}truststore.location={absent} cannot be read",
        ),
        (
            {"keystore.location": store, "cipher.suites": "TLS_RSA_WITH_NOTHING_SHA"},
            f"{PREFIX}cipher.suites=TLS_RSA_WITH_NOTHING_SHA: OpenSSL supports none of them",
        ),
    ]
    for settings, message in cases:
        with pytest.raises(ConfigError) as caught:
            RestServer(herder, herder.plugins, https(settings), {})
        assert message in str(caught.value)
        assert "wrong" not in str(caught.value)


def forwarding(settings: dict[str, Any]) -> Forwarding:
    return Forwarding(lambda: parse_tls_of(LISTENERS, prefixed(settings)))


@pytest.fixture
def leader() -> MemoryHerder:
    return MemoryHerder(plugins())


def create(port: int, context: ssl.SSLContext) -> tuple[int, Any]:
    body = json.dumps({"name": "a", "config": SOURCE}).encode()
    connection = http.client.HTTPSConnection("localhost", port, timeout=60, context=context)
    connection.request("POST", "/connectors", body, {"Content-Type": "application/json"})
    answer = connection.getresponse()
    content = json.load(answer)
    connection.close()
    return answer.status, content


def test_requests_are_forwarded_over_https_with_the_workers_certificate(
    serve: Serve, authority: Authority, store: Path, herder: MemoryHerder, leader: MemoryHerder
) -> None:
    settings = {
        "keystore.location": store,
        "truststore.location": authority.certificate,
        "client.auth": "required",
    }
    active = serve(settings, leader)
    standby = serve(settings, herder, send_on=forwarding(settings))
    herder.active_url = f"https://localhost:{active.port}/"
    status, _ = create(standby.port, trusting(authority, store))
    assert (status, leader.connectors()) == (201, ["a"])


def test_workers_with_one_certificate_need_no_truststore(
    serve: Serve, authority: Authority, store: Path, herder: MemoryHerder, leader: MemoryHerder
) -> None:
    settings = {"keystore.location": store}
    active = serve(settings, leader)
    standby = serve(settings, herder, send_on=forwarding(settings))
    herder.active_url = f"https://localhost:{active.port}/"
    assert create(standby.port, trusting(authority))[0] == 201


def test_a_worker_that_is_not_trusted_gets_no_request(
    serve: Serve,
    authority: Authority,
    store: Path,
    client_store: Path,
    herder: MemoryHerder,
    leader: MemoryHerder,
) -> None:
    elsewhere = authority.sign("elsewhere", host="DNS:elsewhere.example")
    active = serve({"keystore.location": elsewhere}, leader)
    herder.active_url = f"https://localhost:{active.port}/"

    # Without a truststore, nobody but the owner of the same certificate is trusted.
    own = {"keystore.location": store}
    status, answer = create(serve(own, herder, send_on=forwarding(own)).port, trusting(authority))
    assert status == 500
    assert "is not trusted" in answer["message"]
    assert f"set {PREFIX}truststore.location" in answer["message"]

    both = {**own, "truststore.location": authority.certificate}
    status, answer = create(serve(both, herder, send_on=forwarding(both)).port, trusting(authority))
    assert status == 500
    assert "is for another name" in answer["message"]
    assert leader.connectors() == []

    unchecked = {**both, "endpoint.identification.algorithm": ""}
    standby = serve(both, herder, send_on=forwarding(unchecked))
    assert create(standby.port, trusting(authority))[0] == 201
    assert leader.connectors() == ["a"]


def test_a_worker_without_https_reports_what_it_lacks_to_forward(
    serve: Serve, authority: Authority, store: Path, herder: MemoryHerder, leader: MemoryHerder
) -> None:
    active = serve({"keystore.location": store}, leader)
    herder.active_url = f"https://localhost:{active.port}/"
    broken = {"truststore.type": "JKS"}
    with RestServer(herder, herder.plugins, LOOPBACK, {}, send_on=forwarding(broken)) as standby:
        rest = Client(standby.port)
        answer = rest("DELETE", "/connectors/a")
        rest.close()
    assert answer.status == 500
    assert f"{PREFIX}truststore.type=JKS cannot be read here" in answer.message
