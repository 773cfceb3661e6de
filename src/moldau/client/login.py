"""The settings that begin with ``sasl.``: the mechanism and the credentials.

The mechanism is ``sasl.mechanism``, the rest is in ``sasl.jaas.config``. OAUTHBEARER uses a token
instead of a password. There are two ways to get one without Java: an unsecured token, built from
the options of the login module (Kafka's default, meant for tests), or the content of a file, with
Kafka's own settings for that::

    sasl.login.callback.handler.class=
        org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginCallbackHandler
    sasl.oauthbearer.token.endpoint.url=file:///run/secrets/token.jwt

Tokens fetched from an identity provider over HTTP, and Kerberos (GSSAPI), are not supported.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import unquote, urlsplit

from moldau.client.jaas import LoginModule, parse_jaas

# Each with its login module.
MECHANISMS: Final = {
    "PLAIN": "PlainLoginModule",
    "SCRAM-SHA-256": "ScramLoginModule",
    "SCRAM-SHA-512": "ScramLoginModule",
    "OAUTHBEARER": "OAuthBearerLoginModule",
}
NAMES: Final = (
    "sasl.jaas.config",
    "sasl.login.callback.handler.class",
    "sasl.mechanism",
    "sasl.oauthbearer.token.endpoint.url",
)
_HANDLER: Final = "sasl.login.callback.handler.class"
_TOKEN_URL: Final = "sasl.oauthbearer.token.endpoint.url"
_OPTIONS_OF_PASSWORDS: Final = ("username", "password")
# Kafka's classes for the two supported kinds of token.
_UNSECURED_HANDLER: Final = "OAuthBearerUnsecuredLoginCallbackHandler"
_TOKEN_HANDLER: Final = "OAuthBearerLoginCallbackHandler"

# Settings that only have an effect in Java, or at the broker.
WITHOUT_EFFECT: Final = (
    "sasl.kerberos.",
    "sasl.login.connect.timeout.ms",
    "sasl.login.read.timeout.ms",
    "sasl.login.refresh.",
    "sasl.login.retry.",
    "sasl.oauthbearer.",
)
REFUSED: Final = ("sasl.client.callback.handler.class", "sasl.login.class")


@dataclass(frozen=True)
class Login:
    """The mechanism and the credentials. The options hold secrets: ``repr`` omits them."""

    mechanism: str
    # The options of the login module, in order.
    options: tuple[tuple[str, str], ...] = field(repr=False)
    # The file with the OAUTHBEARER token; None for an unsecured token.
    token_path: str | None = None

    @property
    def user(self) -> str:
        """The user name; not a secret."""
        if self.mechanism != "OAUTHBEARER":
            return self.option("username")
        if self.token_path is not None:
            return f"the token in {self.token_path}"
        name = self.option("unsecuredLoginPrincipalClaimName") or "sub"
        return self.option(f"unsecuredLoginStringClaim_{name}")

    def option(self, name: str) -> str:
        """An option of the login module; empty if it is not set."""
        return dict(self.options).get(name, "")


def parse_login(settings: Mapping[str, str]) -> Login:
    """Parse and check the settings. Raises ValueError; messages hold no secret."""
    mechanism = settings.get("sasl.mechanism", "GSSAPI").strip().upper()
    if mechanism not in MECHANISMS:
        given = settings.get("sasl.mechanism")
        what = f"sasl.mechanism={given}" if given else "sasl.mechanism is missing (GSSAPI in Kafka)"
        raise ValueError(f"{what}: must be one of {', '.join(MECHANISMS)}")
    text = settings.get("sasl.jaas.config")
    expected = MECHANISMS[mechanism]
    example = _example(mechanism)
    if text is None:
        raise ValueError(f"sasl.jaas.config is missing: write '{example}'")
    try:
        module = parse_jaas(text)
    except ValueError as error:
        raise ValueError(f"sasl.jaas.config: {error}; as in '{example}'") from None
    if module.name != expected:
        known = module.name if module.name in MECHANISMS.values() else "another login module"
        raise ValueError(f"sasl.jaas.config names {known}, but {mechanism} is used with {expected}")
    if mechanism == "OAUTHBEARER":
        return _token_login(module, settings)
    for name in _OPTIONS_OF_PASSWORDS:
        if not module.options.get(name):
            raise ValueError(f"sasl.jaas.config has no {name}: write '{example}'")
    return Login(mechanism, tuple(module.options.items()))


def _token_login(module: LoginModule, settings: Mapping[str, str]) -> Login:
    options = tuple(module.options.items())
    url = settings.get(_TOKEN_URL)
    default = _UNSECURED_HANDLER if url is None else _TOKEN_HANDLER
    handler = settings.get(_HANDLER, default).strip().rpartition(".")[2]
    if handler == _TOKEN_HANDLER:
        parts = urlsplit((url or "").strip())
        if parts.scheme != "file":
            raise ValueError(
                f"{_TOKEN_URL}={url or ''}: tokens can only be read from files, as in "
                "file:///run/secrets/token.jwt, and not fetched from an identity provider"
            )
        return Login("OAUTHBEARER", options, unquote(parts.path))
    if handler != _UNSECURED_HANDLER:
        raise ValueError(f"{_HANDLER}={handler}: Java classes cannot be run here")
    login = Login("OAUTHBEARER", options)
    if not login.user:
        raise ValueError(
            'sasl.jaas.config names no user: write unsecuredLoginStringClaim_sub="...", or '
            f"name a file with a token in {_TOKEN_URL}"
        )
    return login


def _example(mechanism: str) -> str:
    package = {"PLAIN": "plain", "OAUTHBEARER": "oauthbearer"}.get(mechanism, "scram")
    options = (
        'unsecuredLoginStringClaim_sub="..."'
        if mechanism == "OAUTHBEARER"
        else 'username="..." password="..."'
    )
    module = f"org.apache.kafka.common.security.{package}.{MECHANISMS[mechanism]}"
    return f"{module} required {options};"
