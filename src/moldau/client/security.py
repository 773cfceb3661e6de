"""How a client and a broker come to trust each other: Kafka's security settings, read and checked.

One value that goes wherever the address of the cluster goes, also to Spark's tasks: it can be
pickled and compared, and it shows no secret, whoever prints or logs it.
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
    """With neither, bytes go out plain and nobody asks who we are."""

    tls: TlsSettings | None = None
    login: Login | None = None

    @property
    def protocol(self) -> str:
        """As Kafka names it."""
        encrypted = "PLAINTEXT" if self.tls is None else "SSL"
        if self.login is None:
            return encrypted
        return f"SASL_{encrypted}"


PLAINTEXT: Final = Security()


def is_security_setting(name: str) -> bool:
    """Whether a setting of Kafka's clients is one of those that are read here."""
    return name == PROTOCOL or name.startswith(_PREFIXES)


def parse_security(settings: Mapping[str, str]) -> Security:
    """Read the security settings among ``settings``; others are not looked at.

    What the protocol does not use has no effect, as in Kafka, but must be a setting.

    Raises:
        ValueError: a setting is unknown, wrong, missing, or not supported. The message begins
            with its name, and holds no secret.
    """
    given = {name: value for name, value in settings.items() if is_security_setting(name)}
    for name in sorted(given):
        _check_name(name)
    protocol = given.get(PROTOCOL, "PLAINTEXT").strip().upper()
    if protocol not in PROTOCOLS:
        known = ", ".join(PROTOCOLS)
        raise ValueError(f"{PROTOCOL}={given[PROTOCOL]}: one of {known} is expected")
    return Security(
        tls=parse_tls(given) if protocol.endswith("SSL") else None,
        login=parse_login(given) if protocol.startswith("SASL") else None,
    )


def _check_name(name: str) -> None:
    if name in sasl.REFUSED or name == _ENGINE:
        raise ValueError(f"{name} cannot be set: there is no Java here to run such a class")
    known = (PROTOCOL, *tls.NAMES, *tls.WITHOUT_EFFECT, *sasl.NAMES)
    if name not in known and not name.startswith(sasl.WITHOUT_EFFECT):
        raise ValueError(f"{name}: Kafka's clients have no such setting")
