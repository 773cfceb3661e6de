"""OAUTHBEARER tokens: built as Kafka's client does, or read from a file."""

import json
from base64 import urlsafe_b64decode
from pathlib import Path
from typing import Any

import pytest

from moldau.client.login import Login
from moldau.client.oauth_token import bearer_message, unsecured_token
from moldau.client.security_error import SecurityError

NOW_S = 1_000.5


def login(**options: str) -> Login:
    return Login("OAUTHBEARER", tuple(options.items()))


def decoded(part: str) -> dict[str, Any]:
    claims: dict[str, Any] = json.loads(urlsafe_b64decode(part + "=" * (-len(part) % 4)))
    return claims


def test_an_unsecured_token_has_the_claims_of_the_login_module() -> None:
    token = unsecured_token(
        login(
            unsecuredLoginStringClaim_sub="alice",
            unsecuredLoginNumberClaim_level="3",
            unsecuredLoginListClaim_scope="|read|write",
            unsecuredLoginLifetimeSeconds="60",
            unsecuredLoginExtension_traceId="7",
        ),
        NOW_S,
    )
    header, claims, signature = token.split(".")
    assert decoded(header) == {"alg": "none"}
    assert decoded(claims) == {
        "sub": "alice",
        "level": 3,
        "scope": ["read", "write"],
        "iat": NOW_S,
        "exp": NOW_S + 60,
    }
    assert signature == ""


def test_times_cannot_be_claimed() -> None:
    token = unsecured_token(login(unsecuredLoginNumberClaim_exp="99999999"), NOW_S)
    assert decoded(token.split(".")[1])["exp"] == NOW_S + 3600


def test_a_number_that_is_none_is_told() -> None:
    with pytest.raises(SecurityError, match="number claims must be numbers"):
        unsecured_token(login(unsecuredLoginNumberClaim_level="three"), NOW_S)


def test_a_message_holds_the_token_and_the_extensions(tmp_path: Path) -> None:
    path = tmp_path / "token.jwt"
    path.write_text("abc.def.ghi\n")
    made = Login("OAUTHBEARER", (("extension_logicalCluster", "lkc-1"),), str(path))
    assert bearer_message(made, NOW_S) == (
        b"n,,\1auth=Bearer abc.def.ghi\1logicalCluster=lkc-1\1\1"
    )
    path.write_text("renewed")
    assert b"Bearer renewed\1" in bearer_message(made, NOW_S)


def test_a_file_that_holds_no_token_is_named_and_not_shown(tmp_path: Path) -> None:
    path = tmp_path / "token.jwt"
    made = Login("OAUTHBEARER", (), str(path))
    with pytest.raises(SecurityError, match=r"token.jwt cannot be read: No such file"):
        bearer_message(made, NOW_S)
    path.write_text("a secret\1auth=Bearer other")
    with pytest.raises(SecurityError, match="does not hold a token") as raised:
        bearer_message(made, NOW_S)
    assert "secret" not in str(raised.value)
