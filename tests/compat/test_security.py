"""The wire client on a secured Apache Kafka: each protocol and mechanism, and each way to fail."""

import subprocess
import sys
import time
from pathlib import Path

import pytest

from moldau.client.admin import Admin
from moldau.client.connection import ConnectionFailed
from moldau.client.consumer import Consumer
from moldau.client.offsets import EARLIEST
from moldau.client.producer import Producer
from moldau.client.security import PLAINTEXT, Security
from moldau.client.security_error import SecurityError
from moldau.config.properties import format_properties
from tests.certificates import Authority
from tests.compat.secured_kafka import PASSWORD, USER, SecuredKafka, jaas

WAYS = [
    ("SSL", None),
    ("MUTUAL", None),
    ("SASL_SSL", "PLAIN"),
    ("SASL_SSL", "SCRAM-SHA-256"),
    ("SASL_SSL", "SCRAM-SHA-512"),
    ("SASL_SSL", "OAUTHBEARER"),
    ("SASL_PLAINTEXT", "PLAIN"),
    ("SASL_PLAINTEXT", "SCRAM-SHA-256"),
    ("SASL_PLAINTEXT", "OAUTHBEARER"),
]


def visit(address: str, security: Security) -> None:
    with Admin(address, security=security) as admin:
        admin.cluster.refresh(())


@pytest.mark.parametrize(("listener", "mechanism"), WAYS)
def test_records_go_through_every_listener(
    secured_kafka: SecuredKafka, topic: str, listener: str, mechanism: str | None
) -> None:
    address = secured_kafka.bootstrap(listener)
    security = secured_kafka.security(listener, mechanism)
    with Admin(address, security=security) as admin:
        admin.create_topic(topic, 1)
    # More than fits into one record of TLS, and into one read.
    values = [bytes([number]) * 300_000 for number in range(5)]
    with Producer(address, security=security) as producer:
        for value in values:
            producer.send(topic, value)
    with Consumer(address, security=security) as consumer:
        consumer.assign(consumer.offsets_at(dict.fromkeys(consumer.partitions_of(topic), EARLIEST)))
        found: list[bytes | None] = []
        while len(found) < len(values):
            found += [record.value for record in consumer.poll(10)]
    assert found == values


def test_a_login_is_renewed_before_it_ends(secured_kafka: SecuredKafka) -> None:
    """Logins on this listener last eight seconds; a broker hangs up on who uses an older one."""
    security = secured_kafka.security("SASL_PLAINTEXT", "SCRAM-SHA-512")
    with Admin(secured_kafka.bootstrap("SASL_PLAINTEXT"), security=security) as admin:
        connection = admin.cluster.connection()
        end_s = time.monotonic() + 10
        while time.monotonic() < end_s:
            admin.cluster.refresh(())
            time.sleep(0.05)
        assert admin.cluster.connection() is connection


@pytest.mark.parametrize("mechanism", ["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"])
def test_a_wrong_password_is_refused_once_and_not_shown(
    secured_kafka: SecuredKafka, mechanism: str
) -> None:
    wrong = jaas(mechanism, USER, "wrong-secret")
    security = secured_kafka.security("SASL_SSL", mechanism, sasl__jaas__config=wrong)
    with pytest.raises(SecurityError) as raised:
        visit(secured_kafka.bootstrap("SASL_SSL"), security)
    assert f"refused the login of {USER} with {mechanism}" in str(raised.value)
    assert "wrong-secret" not in str(raised.value)


def test_a_mechanism_that_is_not_enabled_is_answered_with_the_list(
    secured_kafka: SecuredKafka,
) -> None:
    security = secured_kafka.security("SASL_PLAINTEXT", "SCRAM-SHA-512")
    with pytest.raises(SecurityError, match="it offers SCRAM-SHA-256"):
        visit(secured_kafka.bootstrap("ONE_MECHANISM"), security)


def test_protocols_that_do_not_match_are_told_with_the_remedy(
    secured_kafka: SecuredKafka,
) -> None:
    tls = secured_kafka.security("SSL")
    login = secured_kafka.security("SASL_PLAINTEXT", "PLAIN")
    cases = [
        ("SSL", PLAINTEXT, "uses TLS: set security.protocol=SSL"),
        ("SASL_SSL", login, "uses TLS: set security.protocol=SASL_SSL"),
        ("SASL_PLAINTEXT", PLAINTEXT, "requires a login, set security.protocol=SASL_PLAINTEXT"),
        ("SASL_SSL", tls, "requires a login, set security.protocol=SASL_SSL"),
        ("SASL_PLAINTEXT", tls, "set security.protocol to PLAINTEXT or SASL_PLAINTEXT"),
        ("MUTUAL", tls, "requires a client certificate"),
    ]
    for listener, security, said in cases:
        with pytest.raises((SecurityError, ConnectionFailed)) as raised:
            visit(secured_kafka.bootstrap(listener), security)
        assert said in str(raised.value), listener
    with pytest.raises(SecurityError, match="does not accept logins"):
        visit(secured_kafka.broker.bootstrap, login)


def test_an_authority_that_is_not_trusted_is_told(
    secured_kafka: SecuredKafka, tmp_path: Path
) -> None:
    other = str(Authority(tmp_path).certificate)
    security = secured_kafka.security("SSL", ssl__truststore__location=other)
    with pytest.raises(SecurityError, match=r"is not trusted .* set ssl.truststore.location"):
        visit(secured_kafka.bootstrap("SSL"), security)


def test_the_command_line_takes_the_file_of_kafkas_tools(
    secured_kafka: SecuredKafka, topic: str, tmp_path: Path
) -> None:
    config = tmp_path / "client.properties"
    config.write_text(format_properties(secured_kafka.settings("SASL_SSL", "SCRAM-SHA-512")))

    def moldau(*arguments: str) -> str:
        address = secured_kafka.bootstrap("SASL_SSL")
        done = subprocess.run(
            [
                *(sys.executable, "-m", "moldau", *arguments),
                *("--bootstrap-server", address, "--command-config", str(config)),
            ],
            capture_output=True,
            text=True,
            input="one\ntwo\n",
        )
        assert PASSWORD not in done.stdout + done.stderr
        assert done.returncode == 0, done.stderr
        return done.stdout

    moldau("topics", "create", topic)
    moldau("produce", topic)
    read = moldau("consume", topic, "--from-beginning", "--max-messages", "2", "--group", topic)
    assert read.splitlines() == ["one", "two"]
    assert topic in moldau("groups", "list")
