"""Logs in to a broker: SaslHandshake names the mechanism, SaslAuthenticate carries its messages.

Each mechanism is a generator that yields the messages to send and receives the broker's answers.
So the mechanisms need no sockets, and this module needs no passwords.

A broker may limit the lifetime of a login (``connections.max.reauth.ms``, or the expiry of a
token). Its last response says so, and the client logs in again in time on the same connection
(KIP-368).
"""

import secrets
from collections.abc import Callable, Generator
from typing import Final, Protocol, TypeVar

from moldau.client.login import Login
from moldau.client.oauth_token import bearer_message
from moldau.client.scram import ScramClient, ScramError
from moldau.client.security_error import SecurityError
from moldau.clock import SystemClock
from moldau.errors import ErrorCode
from moldau.protocol.message import Message
from moldau.protocol.messages.sasl_authenticate import (
    SaslAuthenticateRequest,
    SaslAuthenticateResponse,
)
from moldau.protocol.messages.sasl_handshake import SaslHandshakeRequest, SaslHandshakeResponse

R = TypeVar("R", bound=Message)
# Yields messages to send, receives the answers.
Conversation = Generator[bytes, bytes, None]

# Kafka waits for 85 to 95 per cent of the lifetime of a login.
_RENEWED_AFTER: Final = 0.85
_NONCE_BYTES: Final = 24


class Asking(Protocol):
    """Sends a request and returns the response."""

    def __call__(self, request: Message, response_class: type[R], /) -> R: ...


def log_in(ask: Asking, login: Login, where: str) -> float | None:
    """Log in; returns the seconds after which to log in again, or None for never.

    Raises:
        SecurityError: the broker refuses the login, or cannot prove that it knows the password.
    """
    shaken = ask(SaslHandshakeRequest(login.mechanism), SaslHandshakeResponse)
    if shaken.error_code != ErrorCode.NONE:
        raise _handshake_error(shaken, login, where)
    conversation = _conversations[login.mechanism](login)
    lifetime_ms = 0
    try:
        message = next(conversation)
        while True:
            answer = ask(SaslAuthenticateRequest(message), SaslAuthenticateResponse)
            if answer.error_code != ErrorCode.NONE:
                raise _refused(login, where, answer.error_message)
            lifetime_ms = answer.session_lifetime_ms
            message = conversation.send(bytes(answer.auth_bytes))
    except StopIteration:
        pass
    except ScramError as error:
        text = f"{where} is not trusted ({login.mechanism} as {login.user}): {error}"
        raise SecurityError(ErrorCode.SASL_AUTHENTICATION_FAILED, text) from None
    return lifetime_ms / 1000 * _RENEWED_AFTER if lifetime_ms > 0 else None


def _plain(login: Login) -> Conversation:
    """RFC 4616: the identity to act as (empty), the user and the password."""
    yield "\0".join(("", login.option("username"), login.option("password"))).encode()


def _scram(login: Login) -> Conversation:
    client = ScramClient(
        login.mechanism,
        login.option("username"),
        login.option("password"),
        secrets.token_urlsafe(_NONCE_BYTES),
        # The user is the id of a delegation token, and the password its HMAC (KIP-48).
        "tokenauth=true" if login.option("tokenauth").lower() == "true" else "",
    )
    server_first = yield client.client_first()
    server_final = yield client.client_final(server_first)
    client.verify(server_final)


def _bearer(login: Login) -> Conversation:
    refused = yield bearer_message(login, SystemClock().wall_ms() / 1000)
    if refused:
        # RFC 7628: the broker has sent the reason, and fails the login after this message.
        yield b"\1"


_conversations: Final[dict[str, Callable[[Login], Conversation]]] = {
    "PLAIN": _plain,
    "SCRAM-SHA-256": _scram,
    "SCRAM-SHA-512": _scram,
    "OAUTHBEARER": _bearer,
}


def _refused(login: Login, where: str, said: str | None) -> SecurityError:
    remedy = (
        "check the token"
        if login.mechanism == "OAUTHBEARER"
        else "check username and password in sasl.jaas.config"
    )
    why = said or "no reason is given"
    text = f"{where} refused the login of {login.user} with {login.mechanism} ({why}): {remedy}"
    return SecurityError(ErrorCode.SASL_AUTHENTICATION_FAILED, text)


def _handshake_error(shaken: SaslHandshakeResponse, login: Login, where: str) -> SecurityError:
    if shaken.error_code == ErrorCode.UNSUPPORTED_SASL_MECHANISM:
        offered = ", ".join(each or "" for each in shaken.mechanisms) or "none"
        text = f"{where} does not support sasl.mechanism={login.mechanism}: it offers {offered}"
        return SecurityError(ErrorCode.UNSUPPORTED_SASL_MECHANISM, text)
    return takes_no_logins(where)


def takes_no_logins(where: str) -> SecurityError:
    text = (
        f"{where} does not accept logins: its listener does not use SASL; set security.protocol "
        "to PLAINTEXT or SSL"
    )
    return SecurityError(ErrorCode.ILLEGAL_SASL_STATE, text)
