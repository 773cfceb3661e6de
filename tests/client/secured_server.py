"""A minimal server with TLS, SASL and Metadata.

It records the requests of each connection, so that a test can distinguish a renewed login from a
second connection.
"""

import socket
import ssl
import struct
from collections.abc import Callable, Generator
from contextlib import suppress
from pathlib import Path

from moldau.errors import ErrorCode
from moldau.protocol.header import RequestHeader, decode_request_header
from moldau.protocol.message import Message
from moldau.protocol.messages.api_versions import ApiVersion, ApiVersionsResponse
from moldau.protocol.messages.metadata import MetadataResponse, MetadataResponseBroker
from moldau.protocol.messages.sasl_authenticate import (
    SaslAuthenticateRequest,
    SaslAuthenticateResponse,
)
from moldau.protocol.messages.sasl_handshake import SaslHandshakeRequest, SaslHandshakeResponse
from tests.client.scram_server import ScramServer
from tests.client.threaded_server import ThreadedServer

METADATA, HANDSHAKE, API_VERSIONS, AUTHENTICATE = 3, 17, 18, 36
# Versions whose answers have no tags.
APIS = [ApiVersion(METADATA, 0, 5), ApiVersion(HANDSHAKE, 0, 1), ApiVersion(AUTHENTICATE, 0, 1)]
USER, PASSWORD = "alice", "alice-secret"

# The broker's side of a mechanism: from a message of the client to the answer, or None.
Exchange = Generator[bytes | None, bytes, None]


def plain() -> Exchange:
    said = yield b""
    yield b"" if said == f"\0{USER}\0{PASSWORD}".encode() else None


def scram_sha_256(password: str = PASSWORD) -> Exchange:
    server = ScramServer("sha256", password)
    first = yield b""
    final = yield server.first(first)
    yield server.final(final)


def server_context(store: Path, *, client_authority: Path | None = None) -> ssl.SSLContext:
    """TLS with the key and certificate in ``store``."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(store)
    if client_authority is not None:
        context.verify_mode = ssl.CERT_REQUIRED
        context.load_verify_locations(client_authority)
    return context


class SecuredServer(ThreadedServer):
    """Use as a context manager; ``port`` is where it listens."""

    def __init__(
        self,
        *,
        context: ssl.SSLContext | None = None,
        mechanisms: dict[str, Callable[[], Exchange]] | None = None,
        lifetime_ms: int = 0,
    ) -> None:
        self._context = context
        self._mechanisms = mechanisms
        self._lifetime_ms = lifetime_ms
        super().__init__()
        # The API keys of each connection, in order.
        self.asked: list[list[int]] = []

    @property
    def port(self) -> int:
        return self.ports[0]

    def serve(self, number: int, connection: socket.socket) -> None:
        keys: list[int] = []
        self.asked.append(keys)
        # The client closed the connection or the handshake failed: the test checks the client.
        with suppress(OSError), connection:
            if self._context is not None:
                connection = self._context.wrap_socket(connection, server_side=True)
                self._open.append(connection)
            with connection, connection.makefile("rb") as reader:
                self._answer_all(connection, reader.read, keys)

    def _answer_all(
        self, connection: socket.socket, read: Callable[[int], bytes], keys: list[int]
    ) -> None:
        exchange: Exchange | None = None
        is_in = self._mechanisms is None
        while len(prefix := read(4)) == 4:
            frame = read(struct.unpack(">i", prefix)[0])
            header, position = decode_request_header(frame)
            version = header.api_version
            keys.append(header.api_key)
            answer: Message
            if header.api_key == API_VERSIONS:
                answer = ApiVersionsResponse(api_keys=[ApiVersion(API_VERSIONS, 0, 4), *APIS])
            elif header.api_key == HANDSHAKE:
                wanted, _ = SaslHandshakeRequest.decode(frame, position, version)
                answer, exchange = self._shake(wanted.mechanism)
            elif header.api_key == AUTHENTICATE and exchange is not None:
                said, _ = SaslAuthenticateRequest.decode(frame, position, version)
                answer = self._authenticate(exchange, bytes(said.auth_bytes))
                is_in = is_in or answer.error_code == ErrorCode.NONE
            elif header.api_key == METADATA and is_in:
                broker = MetadataResponseBroker(1, "127.0.0.1", self.port)
                answer = MetadataResponse(brokers=[broker], controller_id=1)
            else:
                return
            connection.sendall(_framed(header, answer))

    def _shake(self, mechanism: str) -> tuple[SaslHandshakeResponse, Exchange | None]:
        offered = self._mechanisms or {}
        if mechanism not in offered:
            code = ErrorCode.UNSUPPORTED_SASL_MECHANISM if offered else ErrorCode.ILLEGAL_SASL_STATE
            return SaslHandshakeResponse(code, list(offered)), None
        exchange = offered[mechanism]()
        next(exchange)
        return SaslHandshakeResponse(0, list(offered)), exchange

    def _authenticate(self, exchange: Exchange, said: bytes) -> SaslAuthenticateResponse:
        answer = exchange.send(said)
        if answer is None:
            failed = ErrorCode.SASL_AUTHENTICATION_FAILED
            return SaslAuthenticateResponse(failed, "Invalid username or password")
        return SaslAuthenticateResponse(auth_bytes=answer, session_lifetime_ms=self._lifetime_ms)


def _framed(header: RequestHeader, answer: Message) -> bytes:
    body = struct.pack(">i", header.correlation_id) + answer.encode(header.api_version)
    return struct.pack(">i", len(body)) + body
