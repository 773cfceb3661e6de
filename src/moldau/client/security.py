"""Parses and checks the security settings of Kafka's clients.

The result is one value that is passed along with the address of the cluster, also to Spark's
tasks: it can be pickled and compared, and printing or logging it shows no secret.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from moldau.client import login as sasl
from moldau.client import tls_settings as tls
from moldau.client.login import Login, parse_login
from moldau.client.tls_settings import TlsSettings, parse_tls

PROTOCOL: Final = "security.protocol"
PROTOCOLS: Final = ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")
_PREFIXES: Final = ("ssl.", "sasl.")
_ENGINE: Final = "ssl.engine.factory.class"


@dataclass(frozen=True)
class Security:
    """TLS and login settings; with neither, the connection is plaintext and anonymous."""

    tls: TlsSettings | None = None
    login: Login | None = None

    @property
    def protocol(self) -> str:
        """The value of ``security.protocol``."""
        encrypted = "PLAINTEXT" if self.tls is None else "SSL"
        if self.login is None:
            return encrypted
        return f"SASL_{encrypted}"


PLAINTEXT: Final = Security()


def is_security_setting(name: str) -> bool:
    """Whether ``parse_security`` reads this setting."""
    return name == PROTOCOL or name.startswith(_PREFIXES)


def parse_security(settings: Mapping[str, str]) -> Security:
    """Parse the security settings among ``settings``; other settings are ignored.

    Settings that the protocol does not use have no effect, as in Kafka, but must exist.

    Raises:
        ValueError: a setting is unknown, invalid, missing, or not supported. The message begins
            with its name, and holds no secret.
    """
    given = {name: value for name, value in settings.items() if is_security_setting(name)}
    for name in sorted(given):
        _check_name(name)
    protocol = given.get(PROTOCOL, "PLAINTEXT").strip().upper()
    if protocol not in PROTOCOLS:
        known = ", ".join(PROTOCOLS)
        raise ValueError(f"{PROTOCOL}={given[PROTOCOL]}: must be one of {known}")
    return Security(
        tls=parse_tls(given) if protocol.endswith("SSL") else None,
        login=parse_login(given) if protocol.startswith("SASL") else None,
    )


def _check_name(name: str) -> None:
    if name in sasl.REFUSED or name == _ENGINE:
        raise ValueError(f"{name} cannot be set: Java classes cannot be run here")
    known = (PROTOCOL, *tls.NAMES, *tls.WITHOUT_EFFECT, *sasl.NAMES)
    if name not in known and not name.startswith(sasl.WITHOUT_EFFECT):
        raise ValueError(f"{name}: Kafka's clients have no such setting")
