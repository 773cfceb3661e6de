"""The listeners of a worker's REST API: where they are, and the TLS of those with ``https``.

The settings of TLS are Kafka's. Those with the prefix (``listeners.https.ssl.keystore.location``)
replace those without it (``ssl.keystore.location``, which the clients of the worker use as well)
all together: if there is one with the prefix, none without it counts.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple
from urllib.parse import urlsplit

from moldau.client import tls_settings
from moldau.client.tls import CLIENT_AUTH as CLIENT_AUTH_VALUES
from moldau.client.tls_settings import TlsSettings, parse_tls
from moldau.connect.config.errors import ConfigError, invalid, missing

LISTENERS: Final = "listeners"
ADMIN_LISTENERS: Final = "admin.listeners"
CLIENT_AUTH: Final = "ssl.client.auth"
DEFAULT_PORT: Final = 8083
_ADVERTISED: Final = "rest.advertised.listener"
_PREFIXES: Final = (f"{LISTENERS}.https.", f"{ADMIN_LISTENERS}.https.")
_KNOWN: Final = (*tls_settings.NAMES, *tls_settings.WITHOUT_EFFECT, CLIENT_AUTH)
# The name of a setting in a message, but not as part of a path.
_NAME: Final = re.compile(rf"(?<![\w./-])(?:{'|'.join(map(re.escape, _KNOWN))})(?![\w.-]*/)")


@dataclass(frozen=True)
class ListenerTls:
    """The key of a listener, and which clients it trusts; also used to forward requests."""

    settings: TlsSettings
    # none, requested or required.
    client_auth: str = "none"
    # Of the settings in the worker's file: empty if they are shared with its clients.
    prefix: str = ""

    def named(self, message: str) -> str:
        """``message`` with the settings named as in the worker's file."""
        return _NAME.sub(lambda found: self.prefix + found[0], message)


class RestListener(NamedTuple):
    """An empty host is every interface, port 0 a free one; without TLS it speaks HTTP."""

    host: str
    port: int
    tls: ListenerTls | None = None

    @property
    def scheme(self) -> str:
        return "http" if self.tls is None else "https"


def is_listener_setting(name: str) -> bool:
    """Whether it is a setting of TLS with the prefix of listeners."""
    return any(name.removeprefix(prefix) in _KNOWN for prefix in _PREFIXES)


def parse_listeners(
    name: str, texts: Sequence[str], properties: Mapping[str, str]
) -> list[RestListener]:
    """The listeners that the setting ``name`` lists. Raises ConfigError."""
    return [_parse_listener(name, text, properties) for text in texts]


def advertised(listeners: Sequence[RestListener], values: Mapping[str, Any]) -> RestListener:
    """The listener that other workers are told: one with HTTP, if it is not said otherwise.

    Raises:
        ConfigError: there is no listener of the protocol that is to be advertised.
    """
    wanted: str | None = values[_ADVERTISED]
    if wanted is not None and wanted.lower() not in ("http", "https"):
        raise invalid(_ADVERTISED, wanted, "it must be http or https")
    for scheme in ("http", "https") if wanted is None else (wanted.lower(),):
        for listener in listeners:
            if listener.scheme == scheme:
                return listener
    if values["rest.advertised.port"] is None:
        reason = f"there is none in {LISTENERS}. For a proxy, set rest.advertised.port"
        raise invalid(_ADVERTISED, wanted, reason)
    return listeners[0]


def parse_tls_of(name: str, properties: Mapping[str, str]) -> ListenerTls:
    """The TLS settings of the listeners in ``name``. Raises ConfigError."""
    prefix = f"{name}.https."
    given = {
        key.removeprefix(prefix): properties[key] for key in properties if key.startswith(prefix)
    }
    if not given:
        prefix = ""
        given = {key: value for key, value in properties.items() if key.startswith("ssl.")}
    for key in sorted(given):
        if key not in _KNOWN:
            raise ConfigError(f"{prefix}{key}: listeners have no such setting")
    client_auth = given.get(CLIENT_AUTH, "none").strip()
    if client_auth not in CLIENT_AUTH_VALUES:
        reason = f"it must be one of {', '.join(CLIENT_AUTH_VALUES)}"
        raise invalid(f"{prefix}{CLIENT_AUTH}", client_auth, reason)
    unparsed = ListenerTls(TlsSettings(), client_auth, prefix)
    try:
        return ListenerTls(parse_tls(given), client_auth, prefix)
    except ValueError as error:
        raise ConfigError(unparsed.named(str(error))) from None


def _parse_listener(name: str, text: str, properties: Mapping[str, str]) -> RestListener:
    parts = urlsplit(text.strip())
    try:
        port = parts.port
    except ValueError:
        port = None
    scheme = parts.scheme.lower()
    if scheme not in ("http", "https") or port is None:
        reason = "write http://host:port or https://host:port, such as http://127.0.0.1"
        raise invalid(name, text, f"{reason}:{DEFAULT_PORT}")
    if scheme == "http":
        return RestListener(parts.hostname or "", port)
    tls = parse_tls_of(name, properties)
    if tls.settings.keystore_location is None and tls.settings.keystore_key is None:
        reason = "a listener with https needs a key and its certificate, in a PEM file"
        raise ConfigError(f"{missing(f'{name}.https.ssl.keystore.location')}: {reason}")
    return RestListener(parts.hostname or "", port, tls)
