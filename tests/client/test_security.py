"""Kafka's security settings: what is understood, what is refused, and what is never shown."""

import pickle

import pytest

from moldau.client.cipher_suites import openssl_name
from moldau.client.security import PLAINTEXT, is_security_setting, parse_security

SECRET = "s3cr3t"
PLAIN = (
    "org.apache.kafka.common.security.plain.PlainLoginModule required "
    f'username="alice" password="{SECRET}";'
)
SCRAM = PLAIN.replace("plain.Plain", "scram.Scram")
OAUTH = "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule required"
TOKEN_HANDLER = "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginCallbackHandler"
TOKEN_URL = "sasl.oauthbearer.token.endpoint.url"


def sasl(mechanism: str = "PLAIN", jaas: str = PLAIN, **other: str) -> dict[str, str]:
    given = {
        "security.protocol": "SASL_SSL",
        "sasl.mechanism": mechanism,
        "sasl.jaas.config": jaas,
    }
    return given | {name.replace("__", "."): value for name, value in other.items()}


def ssl(**other: str) -> dict[str, str]:
    given = {name.replace("__", "."): value for name, value in other.items()}
    return {"security.protocol": "SSL", **given}


@pytest.mark.parametrize("protocol", ["PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"])
def test_a_protocol_is_tls_a_login_both_or_neither(protocol: str) -> None:
    security = parse_security(sasl() | {"security.protocol": protocol.lower()})
    assert security.protocol == protocol
    assert (security.tls is not None) == protocol.endswith("SSL")
    assert (security.login is not None) == protocol.startswith("SASL")


def test_without_settings_nothing_is_secured() -> None:
    assert parse_security({"client.id": "me"}) == PLAINTEXT


def test_only_security_settings_are_taken_for_such() -> None:
    assert is_security_setting("security.protocol")
    assert is_security_setting("sasl.mechanism")
    assert not is_security_setting("security.providers")
    assert not is_security_setting("client.id")


def test_settings_travel_to_other_processes_and_can_be_compared() -> None:
    security = parse_security(sasl("SCRAM-SHA-512", SCRAM, ssl__key__password=SECRET))
    copy = pickle.loads(pickle.dumps(security))
    assert copy == security
    assert hash(copy) == hash(security)


def test_no_secret_is_ever_shown() -> None:
    keys = {"ssl.keystore.key": SECRET, "ssl.keystore.certificate.chain": "chain"}
    security = parse_security(sasl(ssl__key__password=SECRET) | keys)
    assert SECRET not in repr(security) + str(security)
    assert security.login is not None
    assert security.login.user == "alice"


@pytest.mark.parametrize(
    ("settings", "problem"),
    [
        ({"security.protocol": "TLS"}, "security.protocol=TLS: must be one of PLAINTEXT, SSL"),
        ({"ssl.truststore.path": "x"}, "ssl.truststore.path: Kafka's clients have no such"),
        ({"sasl.user": "x"}, "sasl.user: Kafka's clients have no such"),
        ({"ssl.engine.factory.class": "x"}, "ssl.engine.factory.class cannot be set"),
        ({"sasl.login.class": "x"}, "sasl.login.class cannot be set: Java classes cannot be run"),
        (sasl("GSSAPI"), "sasl.mechanism=GSSAPI: must be one of PLAIN, SCRAM-SHA-256"),
        ({"security.protocol": "SASL_SSL"}, r"sasl.mechanism is missing \(GSSAPI in Kafka\)"),
        (
            {"security.protocol": "SASL_SSL", "sasl.mechanism": "SCRAM-SHA-256"},
            "sasl.jaas.config is missing: write 'org.apache.kafka.common.security.scram.Scram",
        ),
        (sasl("SCRAM-SHA-256", PLAIN), "names PlainLoginModule, but SCRAM-SHA-256 is used with"),
        (sasl(jaas=SECRET + " required;"), "names another login module, but PLAIN is used with"),
        (sasl(jaas="org.x.PlainLoginModule required;"), "has no username: write"),
        (sasl(jaas=PLAIN.rstrip(";")), "does not end with a semicolon; as in 'org.apache"),
        (sasl("OAUTHBEARER", f"{OAUTH};"), "names no user: write unsecuredLoginStringClaim"),
        (
            sasl("OAUTHBEARER", f"{OAUTH};") | {TOKEN_URL: "https://idp/token"},
            "tokens can only be read from files",
        ),
        (
            sasl("OAUTHBEARER", f"{OAUTH};", sasl__login__callback__handler__class="my.Own"),
            "Own: Java classes cannot be run here",
        ),
    ],
)
def test_what_cannot_be_is_refused_by_its_name(settings: dict[str, str], problem: str) -> None:
    with pytest.raises(ValueError, match=problem) as raised:
        parse_security(settings)
    assert SECRET not in str(raised.value)


def test_settings_of_java_only_have_no_effect() -> None:
    ignored = {"ssl.provider": "x", "sasl.kerberos.service.name": "kafka"}
    assert parse_security(ignored) == PLAINTEXT


def test_a_token_comes_from_a_file_or_from_claims() -> None:
    claims = f'{OAUTH} unsecuredLoginStringClaim_sub="alice";'
    login = parse_security(sasl("OAUTHBEARER", claims)).login
    assert login is not None
    assert (login.user, login.token_path) == ("alice", None)
    in_file = sasl("OAUTHBEARER", f"{OAUTH};", sasl__login__callback__handler__class=TOKEN_HANDLER)
    login = parse_security(in_file | {TOKEN_URL: "file:///run/a%20token"}).login
    assert login is not None
    assert login.token_path == "/run/a token"


@pytest.mark.parametrize(
    ("settings", "versions"),
    [
        (ssl(), ("TLSv1.2", "TLSv1.3")),
        (ssl(ssl__protocol="TLSv1.2"), ("TLSv1.2", "TLSv1.2")),
        (ssl(ssl__enabled__protocols="TLSv1.3"), ("TLSv1.3", "TLSv1.3")),
        (ssl(ssl__enabled__protocols="TLSv1.1, TLSv1.2"), ("TLSv1.1", "TLSv1.2")),
        (ssl(ssl__cipher__suites="TLS_AES_256_GCM_SHA384"), ("TLSv1.3", "TLSv1.3")),
        (ssl(ssl__cipher__suites="TLS_RSA_WITH_AES_256_CBC_SHA"), ("TLSv1.2", "TLSv1.2")),
    ],
)
def test_protocols_and_suites_leave_a_range_of_versions(
    settings: dict[str, str], versions: tuple[str, str]
) -> None:
    tls = parse_security(settings).tls
    assert tls is not None
    assert (tls.min_version, tls.max_version) == versions


def test_names_are_checked_unless_that_is_switched_off() -> None:
    name = "ssl__endpoint__identification__algorithm"
    for value, checks in (("https", True), ("HTTPS", True), ("", False)):
        tls = parse_security(ssl(**{name: value})).tls
        assert tls is not None
        assert tls.checks_host is checks


@pytest.mark.parametrize(
    ("settings", "problem"),
    [
        (ssl(ssl__endpoint__identification__algorithm="ldaps"), "=ldaps: must be https"),
        (ssl(ssl__protocol="SSLv3"), "ssl.protocol=SSLv3: must be one of TLSv1"),
        (ssl(ssl__enabled__protocols="SSLv3"), "ssl.enabled.protocols=SSLv3: must be from TLSv1"),
        (ssl(ssl__enabled__protocols=""), "ssl.enabled.protocols=: must be from TLSv1"),
        (ssl(ssl__enabled__protocols="TLSv1.3,TLSv1.1"), "the versions must be contiguous"),
        (
            ssl(ssl__enabled__protocols="TLSv1.3", ssl__protocol="TLSv1.2"),
            "leaves no version of TLS",
        ),
        (ssl(ssl__keystore__key="key"), "ssl.keystore.certificate.chain is missing"),
        (ssl(ssl__keystore__certificate__chain="chain"), "ssl.keystore.key is missing"),
        (
            ssl(
                ssl__keystore__key="k",
                ssl__keystore__certificate__chain="c",
                ssl__keystore__location="l",
            ),
            "both set: remove one",
        ),
        (
            ssl(ssl__truststore__certificates="c", ssl__truststore__location="l"),
            "both set: remove one",
        ),
        (ssl(ssl__truststore__type="BCFKS"), "ssl.truststore.type=BCFKS: must be PEM"),
        (
            ssl(ssl__truststore__type="JKS", ssl__truststore__location="/etc/trust.jks"),
            "'keytool -list -rfc -keystore /etc/trust.jks > /etc/trust.pem'",
        ),
        (
            ssl(ssl__keystore__type="PKCS12", ssl__keystore__location="/etc/me.p12"),
            "openssl pkcs12 -in /etc/me.pem.p12 -out /etc/me.pem",
        ),
    ],
)
def test_wrong_settings_of_tls_are_refused(settings: dict[str, str], problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        parse_security(settings)


@pytest.mark.parametrize(
    ("standard", "openssl"),
    [
        ("TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256", "ECDHE-RSA-AES128-GCM-SHA256"),
        ("TLS_ECDHE_ECDSA_WITH_AES_256_CBC_SHA384", "ECDHE-ECDSA-AES256-SHA384"),
        ("TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256", "ECDHE-ECDSA-CHACHA20-POLY1305"),
        ("TLS_RSA_WITH_AES_256_CBC_SHA", "AES256-SHA"),
        ("TLS_AES_128_GCM_SHA256", "TLS_AES_128_GCM_SHA256"),
        ("ECDHE-RSA-AES128-GCM-SHA256", "ECDHE-RSA-AES128-GCM-SHA256"),
    ],
)
def test_cipher_suites_are_found_by_their_standard_names(standard: str, openssl: str) -> None:
    assert openssl_name(standard) == openssl
