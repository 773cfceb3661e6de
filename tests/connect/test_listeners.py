"""The settings of listeners: addresses, which one is advertised, and which TLS settings count."""

import pytest

from moldau.connect.config.errors import ConfigError
from moldau.connect.listeners import LISTENERS, ListenerTls, parse_listeners, parse_tls_of
from moldau.connect.worker_config import WorkerConfig
from tests.connect.test_worker_config import distributed

KEY = "listeners.https.ssl.keystore.location=/etc/own.pem\n"
BOTH = f"listeners=http://127.0.0.1:8083,https://connect.example:8443\n{KEY}"


def test_http_and_https_listen_side_by_side() -> None:
    config = distributed(BOTH)
    plain, secured = config.listeners
    assert (plain.host, plain.port, plain.scheme) == ("127.0.0.1", 8083, "http")
    assert (secured.host, secured.port, secured.scheme) == ("connect.example", 8443, "https")
    assert secured.tls is not None
    assert secured.tls.settings.keystore_location == "/etc/own.pem"
    assert secured.tls.client_auth == "none"
    assert config.warnings == ()


def test_http_is_advertised_unless_https_is_the_only_listener_or_asked_for() -> None:
    assert distributed(BOTH).advertised_url([1, 2]) == "http://127.0.0.1:1/"
    asked = distributed(f"{BOTH}rest.advertised.listener=HTTPS\n")
    assert asked.advertised_url([1, 2]) == "https://connect.example:2/"
    only = distributed(f"listeners=HTTPS://[::1]:8443\n{KEY}")
    assert only.advertised_url([2]) == "https://[::1]:2/"
    named = "rest.advertised.host.name=proxy.example\nrest.advertised.port=443\n"
    behind_a_proxy = distributed(f"{named}rest.advertised.listener=https\n")
    assert behind_a_proxy.advertised_url([8083]) == "https://proxy.example:443/"


def tls_of(text: str) -> ListenerTls:
    return distributed(f"listeners=http://:1\n{text}").forwarding_tls()


def test_settings_with_the_prefix_replace_the_others_all_together() -> None:
    shared = "ssl.keystore.location=/shared.pem\nssl.client.auth=required\n"
    assert tls_of(shared).settings.keystore_location == "/shared.pem"
    assert tls_of(shared).client_auth == "required"
    own = tls_of(shared + "listeners.https.ssl.enabled.protocols=TLSv1.3\n")
    assert own.settings.keystore_location is None
    assert own.settings.min_version == "TLSv1.3"
    assert own.client_auth == "none"


def test_the_admin_listener_has_settings_of_its_own() -> None:
    config = distributed(
        f"{BOTH}admin.listeners=https://:9443\nadmin.listeners.https.ssl.keystore.location=/a.pem\n"
    )
    (admin,) = config.admin_listeners or ()
    assert admin.tls is not None
    assert admin.tls.settings.keystore_location == "/a.pem"
    assert config.warnings == ()


def test_the_workers_clients_know_nothing_of_ssl_client_auth() -> None:
    more = "security.protocol=SSL\nssl.truststore.location=/a.pem\nssl.client.auth=required\n"
    config = distributed(more)
    assert config.security.protocol == "SSL"
    assert "ssl.client.auth" not in config.client_overrides("producer")


def test_a_password_is_not_shown() -> None:
    config = distributed(f"{BOTH}listeners.https.ssl.key.password=s3cret\n")
    assert "s3cret" not in repr(config.listeners)


@pytest.mark.parametrize(
    ("more", "problem"),
    [
        ("listeners=https://:8443\n", r"^listeners\.https\.ssl\.keystore\.location is required"),
        ("listeners=ftp://:8443\n", "http://host:port or https://host:port"),
        ("listeners=https://host\n", "listeners cannot be https://host: write"),
        ("listeners=https://host:port\n", "listeners cannot be https://host:port: write"),
        ("rest.advertised.listener=https\n", "https: there is none in listeners"),
        ("rest.advertised.listener=ftp\n", "it must be http or https"),
        (
            f"{BOTH}listeners.https.ssl.client.auth=maybe\n",
            r"listeners\.https\.ssl\.client\.auth cannot be maybe: .* none, requested, required",
        ),
        (
            f"{BOTH}listeners.https.ssl.enabled.protocols=TLSv1.4\n",
            r"^listeners\.https\.ssl\.enabled\.protocols=TLSv1\.4: must be from TLSv1",
        ),
        (
            f"{BOTH}listeners.https.ssl.keystore.type=JKS\n",
            r"^listeners\.https\.ssl\.keystore\.type=JKS cannot be read here: .*keytool .*"
            r"set listeners\.https\.ssl\.keystore\.type=PEM",
        ),
        (
            f"{BOTH}listeners.https.ssl.truststore.type=PKCS12\n",
            r"^listeners\.https\.ssl\.truststore\.type=PKCS12 cannot be read here: .*keytool ",
        ),
        (
            f"{BOTH}listeners.https.ssl.keystore.locaton=/x\n",
            r"listeners\.https\.ssl\.keystore\.locaton: listeners have no such setting",
        ),
        (
            f"{BOTH}listeners.https.ssl.keystore.key=x\n",
            r"^listeners\.https\.ssl\.keystore\.certificate\.chain is missing",
        ),
        (
            "admin.listeners=https://:9443\n",
            r"^admin\.listeners\.https\.ssl\.keystore\.location is required",
        ),
    ],
)
def test_a_mistake_is_named_as_it_is_in_the_file(more: str, problem: str) -> None:
    with pytest.raises(ConfigError, match=problem):
        distributed(more)


def test_a_path_is_not_taken_for_a_name() -> None:
    tls = ListenerTls(parse_tls_of(LISTENERS, {}).settings, prefix="listeners.https.")
    said = "ssl.keystore.location=/etc/ssl.protocol/ssl.key.password/own.pem cannot be read"
    assert tls.named(said) == f"listeners.https.{said}"


def test_a_listener_without_a_host_is_on_every_interface() -> None:
    (listener,) = parse_listeners(LISTENERS, ["http://:0"], {})
    assert listener == ("", 0, None)


def test_a_standalone_worker_has_the_same_listeners() -> None:
    given = {
        "bootstrap.servers": "localhost:9092",
        "key.converter": "x",
        "value.converter": "x",
        "offset.storage.file.filename": "/tmp/x",
        "listeners": "https://127.0.0.1:0",
        "ssl.keystore.location": "/etc/own.pem",
    }
    config = WorkerConfig.from_properties(given, distributed=False)
    assert config.advertised_url([8]) == "https://127.0.0.1:8/"
