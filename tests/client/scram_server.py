"""The broker's side of SCRAM, written from RFC 5802 independently of the client."""

import hashlib
import hmac
from base64 import b64decode, b64encode


class ScramServer:
    """Has what a broker stores: two keys, the salt and the iterations."""

    def __init__(
        self, hash_name: str, password: str, *, salt: bytes = b"salt", iterations: int = 4096
    ) -> None:
        self._hash_name = hash_name
        self._salt = salt
        self._iterations = iterations
        salted = hashlib.pbkdf2_hmac(hash_name, password.encode(), salt, iterations)
        self._stored_key = hashlib.new(hash_name, self._sign(salted, b"Client Key")).digest()
        self._server_key = self._sign(salted, b"Server Key")
        self.user = ""

    def first(self, client_first: bytes, nonce: str = "theirs") -> bytes:
        """The answer to client-first."""
        assert client_first.startswith(b"n,,")
        self._client_bare = client_first[3:]
        attributes = dict(part.split("=", 1) for part in self._client_bare.decode().split(","))
        self.user = attributes["n"].replace("=2C", ",").replace("=3D", "=")
        salt = b64encode(self._salt).decode()
        self._first = f"r={attributes['r']}{nonce},s={salt},i={self._iterations}".encode()
        return self._first

    def final(self, client_final: bytes) -> bytes | None:
        """The answer to client-final; None if the client does not know the password."""
        without_proof, _, proof = client_final.rpartition(b",p=")
        message = b",".join((self._client_bare, self._first, without_proof))
        signature = self._sign(self._stored_key, message)
        key = bytes(one ^ other for one, other in zip(b64decode(proof), signature, strict=True))
        if hashlib.new(self._hash_name, key).digest() != self._stored_key:
            return None
        return b"v=" + b64encode(self._sign(self._server_key, message))

    def _sign(self, key: bytes, text: bytes) -> bytes:
        return hmac.new(key, text, self._hash_name).digest()
