"""The settings that begin with ``sasl.``: by which mechanism to log in, and as whom.

The mechanism is ``sasl.mechanism``, the rest is in ``sasl.jaas.config``. For OAUTHBEARER there is
no password but a token, and two ways to come by it without any Java: an unsecured one, made here of
what the login module's options say (Kafka's default, meant for trying things out), or the content
of a file, with Kafka's own names for it::

    sasl.login.callback.handler.class=
        org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginCallbackHandler
    sasl.oauthbearer.token.endpoint.url=file:///run/secrets/token.jwt

Tokens fetched from an identity provider over HTTP and Kerberos (GSSAPI) are refused, by name.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import unquote, urlsplit

from moldau.client.jaas import LoginModule, parse_jaas

# Each with the login module that its options belong to.
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
# Kafka's classes for the two ways that are known here.
_UNSECURED_HANDLER: Final = "OAuthBearerUnsecuredLoginCallbackHandler"
_TOKEN_HANDLER: Final = "OAuthBearerLoginCallbackHandler"

# Settings of Kafka that have their say in Java only, or at the broker.
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
    """By what, and as whom. The options hold secrets: they are not shown."""

    mechanism: str
    # The options of the login module, in their order.
    options: tuple[tuple[str, str], ...] = field(repr=False)
    # Where the token of OAUTHBEARER is, if it is not made here.
    token_path: str | None = None

    @property
    def user(self) -> str:
        """Whom the broker is told; may be shown."""
        if self.mechanism != "OAUTHBEARER":
            return self.option("username")
        if self.token_path is not None:
            return f"the token in {self.token_path}"
        name = self.option("unsecuredLoginPrincipalClaimName") or "sub"
        return self.option(f"unsecuredLoginStringClaim_{name}")

    def option(self, name: str) -> str:
        """What the login module is told; nothing if it is not."""
        return dict(self.options).get(name, "")


def parse_login(settings: Mapping[str, str]) -> Login:
    """Read and check the settings. Raises ValueError, without any secret."""
    mechanism = settings.get("sasl.mechanism", "GSSAPI").strip().upper()
    if mechanism not in MECHANISMS:
        given = settings.get("sasl.mechanism")
        what = f"sasl.mechanism={given}" if given else "sasl.mechanism is missing (GSSAPI in Kafka)"
        raise ValueError(f"{what}: of {', '.join(MECHANISMS)} one is expected here")
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
                f"{_TOKEN_URL}={url or ''}: tokens are read from files here, as in "
                "file:///run/secrets/token.jwt; none are fetched from an identity provider"
            )
        return Login("OAUTHBEARER", options, unquote(parts.path))
    if handler != _UNSECURED_HANDLER:
        raise ValueError(f"{_HANDLER}={handler}: there is no Java here to run it")
    login = Login("OAUTHBEARER", options)
    if not login.user:
        raise ValueError(
            'sasl.jaas.config says nobody\'s name: write unsecuredLoginStringClaim_sub="...", or '
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
