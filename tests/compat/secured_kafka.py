"""An Apache Kafka that lets nobody in without a reason: a listener for each security protocol.

Each listener has the settings that a client needs for it; who wants to be refused changes them.
The plain one stays, for the tests to set things up.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from confluent_kafka.admin import (
    AdminClient,
    ScramCredentialInfo,
    ScramMechanism,
    UserScramCredentialUpsertion,
)
from tools.brokers import HOST, ApacheKafkaBroker, free_port

from moldau.client.security import Security, parse_security
from tests.certificates import Authority

USER: Final = "alice"
PASSWORD: Final = 'alice\'s "secret"'
_MODULES: Final = "org.apache.kafka.common.security"
# Each with the security protocol behind it.
_LISTENERS: Final = {
    "SSL": "SSL",
    "MUTUAL": "SSL",
    "SASL_SSL": "SASL_SSL",
    "SASL_PLAINTEXT": "SASL_PLAINTEXT",
    "ONE_MECHANISM": "SASL_PLAINTEXT",
}
_MECHANISMS: Final = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", "OAUTHBEARER")


def quoted(text: str) -> str:
    """A value of ``sasl.jaas.config``."""
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def jaas(mechanism: str, user: str = USER, password: str = PASSWORD) -> str:
    if mechanism == "OAUTHBEARER":
        module = f"{_MODULES}.oauthbearer.OAuthBearerLoginModule"
        return f"{module} required unsecuredLoginStringClaim_sub={quoted(user)};"
    module = "plain.Plain" if mechanism == "PLAIN" else "scram.Scram"
    options = f"username={quoted(user)} password={quoted(password)}"
    return f"{_MODULES}.{module}LoginModule required {options};"


class SecuredKafka:
    """The broker, and how to reach it."""

    def __init__(self, folder: Path) -> None:
        self.authority = Authority(folder / "certificates")
        self._store = self.authority.sign("broker")
        self.client_store = self.authority.sign("client")
        self.ports = {name: free_port() for name in _LISTENERS}
        self.broker = ApacheKafkaBroker(folder / "data")
        self.broker.settings.update(self._broker_settings())

    def bootstrap(self, listener: str) -> str:
        return f"{HOST}:{self.ports[listener]}"

    def settings(self, listener: str, mechanism: str | None = None) -> dict[str, str]:
        """What a client must be told to be let in."""
        protocol = _LISTENERS[listener]
        given = {"security.protocol": protocol}
        if protocol.endswith("SSL"):
            given["ssl.truststore.type"] = "PEM"
            given["ssl.truststore.location"] = str(self.authority.certificate)
        if listener == "MUTUAL":
            given["ssl.keystore.type"] = "PEM"
            given["ssl.keystore.location"] = str(self.client_store)
        if mechanism is not None:
            given |= {"sasl.mechanism": mechanism, "sasl.jaas.config": jaas(mechanism)}
        return given

    def security(self, listener: str, mechanism: str | None = None, **changed: str) -> Security:
        """The same as the client has it; ``changed`` with ``__`` for a point."""
        other = {name.replace("__", "."): value for name, value in changed.items()}
        return parse_security({**self.settings(listener, mechanism), **other})

    def add_scram_users(self) -> None:
        admin = AdminClient({"bootstrap.servers": self.broker.bootstrap})
        for mechanism in (ScramMechanism.SCRAM_SHA_256, ScramMechanism.SCRAM_SHA_512):
            user = UserScramCredentialUpsertion(
                USER, ScramCredentialInfo(mechanism, 4096), PASSWORD.encode()
            )
            for done in admin.alter_user_scram_credentials([user]).values():
                done.result(120)

    def _broker_settings(self) -> Mapping[str, str]:
        controller = f"CONTROLLER://{HOST}:{self.broker.controller_port}"
        names = [f"PLAINTEXT://{self.broker.bootstrap}"]
        names += [f"{name}://{self.bootstrap(name)}" for name in _LISTENERS]
        protocols = {"CONTROLLER": "PLAINTEXT", "PLAINTEXT": "PLAINTEXT", **_LISTENERS}
        given = {
            "listeners": ",".join([*names, controller]),
            "advertised.listeners": ",".join([*names, controller]),
            "listener.security.protocol.map": ",".join(
                f"{name}:{protocol}" for name, protocol in protocols.items()
            ),
            "ssl.keystore.type": "PEM",
            "ssl.keystore.location": str(self._store),
            "ssl.truststore.type": "PEM",
            "ssl.truststore.location": str(self.authority.certificate),
            "listener.name.mutual.ssl.client.auth": "required",
            "sasl.enabled.mechanisms": ",".join(_MECHANISMS),
            # Logins on this listener last two seconds, and must be renewed.
            "listener.name.sasl_plaintext.connections.max.reauth.ms": "8000",
        }
        scram = "SCRAM-SHA-256"
        one_mechanism = "listener.name.one_mechanism"
        given[f"{one_mechanism}.sasl.enabled.mechanisms"] = scram
        given[f"{one_mechanism}.{scram.lower()}.sasl.jaas.config"] = _broker_jaas(scram)
        for listener in ("sasl_ssl", "sasl_plaintext"):
            for mechanism in _MECHANISMS:
                name = f"listener.name.{listener}.{mechanism.lower()}.sasl.jaas.config"
                given[name] = _escaped(_broker_jaas(mechanism))
        return given


def _broker_jaas(mechanism: str) -> str:
    if mechanism == "PLAIN":
        module = f"{_MODULES}.plain.PlainLoginModule"
        return f"{module} required user_{USER}={quoted(PASSWORD)};"
    if mechanism == "OAUTHBEARER":
        return jaas(mechanism, "broker")
    return f"{_MODULES}.scram.ScramLoginModule required;"


def _escaped(value: str) -> str:
    """In a properties file a backslash escapes as well."""
    return value.replace("\\", "\\\\")


@contextmanager
def running_kafka(folder: Path) -> Iterator[SecuredKafka]:
    secured = SecuredKafka(folder)
    with secured.broker:
        secured.add_scram_users()
        yield secured
