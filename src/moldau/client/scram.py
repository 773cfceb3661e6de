"""SCRAM (RFC 5802, RFC 7677): both sides prove that they know the password without sending it.

First the computations, as functions of bytes; then the client's side of the exchange, which
is pure as well: strings in, strings out, and the nonce is an argument.

    client-first   n,,n=user,r=nonce
    server-first   r=nonce+theirs,s=salt,i=iterations
    client-final   c=biws,r=nonce+theirs,p=proof
    server-final   v=signature

As in Kafka, names and passwords are UTF-8 without SASLprep, and a server that asks for fewer than
4096 iterations is not trusted. Too many iterations are refused as well, because they would keep
this process busy for as long as the server likes.
"""

import hashlib
import hmac
from base64 import b64decode, b64encode
from binascii import Error as Base64Error
from typing import Final

# By mechanism, the name in hashlib.
HASHES: Final = {"SCRAM-SHA-256": "sha256", "SCRAM-SHA-512": "sha512"}
MIN_ITERATIONS: Final = 4096
MAX_ITERATIONS: Final = 1 << 20

# No channel binding; client-final repeats it in base64.
_GS2_HEADER: Final = "n,,"
_CHANNEL: Final = "c=" + b64encode(_GS2_HEADER.encode()).decode()


class ScramError(Exception):
    """The server's message is invalid, or it does not know the password."""


def salted_password(hash_name: str, password: str, salt: bytes, iterations: int) -> bytes:
    """``Hi`` of the RFC, which is PBKDF2."""
    return hashlib.pbkdf2_hmac(hash_name, password.encode(), salt, iterations)


def client_proof(hash_name: str, salted: bytes, auth_message: bytes) -> bytes:
    """Proves to the server that the client knows the password; useless to an eavesdropper."""
    client_key = hmac.digest(salted, b"Client Key", hash_name)
    stored_key = hashlib.new(hash_name, client_key).digest()
    signature = hmac.digest(stored_key, auth_message, hash_name)
    return bytes(one ^ other for one, other in zip(client_key, signature, strict=True))


def server_signature(hash_name: str, salted: bytes, auth_message: bytes) -> bytes:
    """Proves to the client that the server knows the password."""
    server_key = hmac.digest(salted, b"Server Key", hash_name)
    return hmac.digest(server_key, auth_message, hash_name)


class ScramClient:
    """One exchange; ``nonce`` is random, printable, and without a comma."""

    def __init__(
        self, mechanism: str, user: str, password: str, nonce: str, extensions: str = ""
    ) -> None:
        """``extensions`` are appended to client-first, as in ``tokenauth=true``."""
        self._hash_name = HASHES[mechanism]
        self._password = password
        self._nonce = nonce
        name = user.replace("=", "=3D").replace(",", "=2C")
        self._first_bare = f"n={name},r={nonce}" + (f",{extensions}" if extensions else "")
        self._signature = b""

    def client_first(self) -> bytes:
        return (_GS2_HEADER + self._first_bare).encode()

    def client_final(self, server_first: bytes) -> bytes:
        """The answer to server-first. Raises ScramError."""
        attributes = _attributes(server_first)
        nonce = attributes.get("r", "")
        # A replayed answer would have another nonce.
        if not nonce.startswith(self._nonce) or nonce == self._nonce:
            raise ScramError("its nonce does not begin with ours")
        iterations = int(attributes["i"]) if attributes.get("i", "").isdecimal() else 0
        if not MIN_ITERATIONS <= iterations <= MAX_ITERATIONS:
            raise ScramError(
                f"it asks for {attributes.get('i')} iterations; "
                f"{MIN_ITERATIONS} to {MAX_ITERATIONS} are allowed"
            )
        salted = salted_password(
            self._hash_name, self._password, _base64(attributes, "s"), iterations
        )
        without_proof = f"{_CHANNEL},r={nonce}"
        signed = b",".join((self._first_bare.encode(), server_first, without_proof.encode()))
        proof = client_proof(self._hash_name, salted, signed)
        self._signature = server_signature(self._hash_name, salted, signed)
        return f"{without_proof},p={b64encode(proof).decode()}".encode()

    def verify(self, server_final: bytes) -> None:
        """Check that the server knows the password too. Raises ScramError."""
        attributes = _attributes(server_final)
        if "e" in attributes:
            raise ScramError(f"it reports {attributes['e']}")
        if not self._signature or not hmac.compare_digest(
            _base64(attributes, "v"), self._signature
        ):
            raise ScramError("its signature is wrong: it does not know the password")


def _attributes(message: bytes) -> dict[str, str]:
    """``a=value,b=value``; the first of each letter counts."""
    found: dict[str, str] = {}
    for part in message.decode("utf-8", "replace").split(","):
        name, _, value = part.partition("=")
        found.setdefault(name, value)
    return found


def _base64(attributes: dict[str, str], name: str) -> bytes:
    try:
        return b64decode(attributes.get(name, ""), validate=True)
    except Base64Error:
        raise ScramError(f"its attribute {name} is not base64") from None
