"""OAUTHBEARER (RFC 7628): a token instead of a password.

The token is the current content of a file, or an unsecured token (RFC 7515, ``alg`` none) built
from the options of the login module, as Kafka's client does by default.
"""

import json
import re
from base64 import urlsafe_b64encode
from pathlib import Path
from typing import Any, Final

from moldau.client.login import Login
from moldau.client.security_error import SecurityError
from moldau.errors import ErrorCode

_LIFETIME_S: Final = 3600
_CLAIMS: Final = ("unsecuredLoginStringClaim_", "unsecuredLoginNumberClaim_")
_LIST_CLAIM: Final = "unsecuredLoginListClaim_"
# The characters of an unsecured token, and of one from a file.
_EXTENSIONS: Final = ("unsecuredLoginExtension_", "extension_")
_TOKEN: Final = re.compile(r"[-_~+/.a-zA-Z0-9]+=*")
_SEPARATOR: Final = "\1"


def bearer_message(login: Login, now_s: float) -> bytes:
    """The first message of the client, with the token. Raises SecurityError."""
    token = unsecured_token(login, now_s) if login.token_path is None else _read(login.token_path)
    pairs = [f"auth=Bearer {token}"]
    for name, value in login.options:
        prefix = next((each for each in _EXTENSIONS if name.startswith(each)), None)
        if prefix is not None:
            pairs.append(f"{name.removeprefix(prefix)}={value}")
    return ("n,," + "".join(_SEPARATOR + each for each in pairs) + 2 * _SEPARATOR).encode()


def unsecured_token(login: Login, now_s: float) -> str:
    """An unsigned token; brokers accept it only if they are configured to."""
    lifetime = login.option("unsecuredLoginLifetimeSeconds") or str(_LIFETIME_S)
    claims: dict[str, Any] = {}
    try:
        for name, value in login.options:
            if name.startswith(_CLAIMS[0]):
                claims[name.removeprefix(_CLAIMS[0])] = value
            elif name.startswith(_CLAIMS[1]):
                claims[name.removeprefix(_CLAIMS[1])] = float(value)
            elif name.startswith(_LIST_CLAIM):
                # The first character is the separator.
                items = value[1:].split(value[:1]) if len(value) > 1 else []
                claims[name.removeprefix(_LIST_CLAIM)] = items
        claims |= {"exp": now_s + int(lifetime), "iat": now_s}
    except ValueError:
        text = "sasl.jaas.config: unsecuredLoginLifetimeSeconds and number claims must be numbers"
        raise SecurityError(ErrorCode.INVALID_CONFIG, text) from None
    return f"{_encoded({'alg': 'none'})}.{_encoded(claims)}."


def _encoded(value: dict[str, Any]) -> str:
    text = json.dumps(value, separators=(",", ":"))
    return urlsafe_b64encode(text.encode()).decode().rstrip("=")


def _read(path: str) -> str:
    try:
        token = Path(path).read_text().strip()
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "it is not text"
        text = f"the token in {path} cannot be read: {reason}"
        raise SecurityError(ErrorCode.INVALID_CONFIG, text) from None
    if not _TOKEN.fullmatch(token):
        text = f"{path} does not hold a token: it may contain only letters, digits and -_~+/."
        raise SecurityError(ErrorCode.INVALID_CONFIG, text)
    return token
