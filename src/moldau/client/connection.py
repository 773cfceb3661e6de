"""One connection to one broker: typed requests out, typed responses back.

The first request is ApiVersions; every later request uses the newest version that both sides
support. Requests can be pipelined: ``post`` several, then ``receive`` the responses in the same
order. ``request`` can be used in between.

If the security settings require it, the TLS handshake comes first, and a login directly after
ApiVersions; a login with a limited lifetime is renewed between two requests.
"""

import math
import select
import socket
import struct
import time
from collections import deque
from typing import Final, Self, TypeVar, cast

from moldau.client.security import PLAINTEXT, Security
from moldau.client.security_error import SecurityError
from moldau.errors import ApiError, ErrorCode
from moldau.protocol.api import APIS
from moldau.protocol.header import decode_response_header, encode_request_header
from moldau.protocol.message import Message
from moldau.protocol.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from moldau.version import VERSION

R = TypeVar("R", bound=Message)

SOFTWARE_NAME: Final = "moldau"
# No broker sends more; a larger size is garbage, or the peer is not a Kafka broker.
MAX_RESPONSE_BYTES: Final = 1 << 30
# No upper limit on the version of a request.
NEWEST: Final = 0x7FFF

_SIZE: Final = struct.Struct(">i")
_API_VERSIONS_KEY: Final = 18
_SASL_HANDSHAKE_KEY: Final = 17
# The first bytes of a TLS alert.
_TLS_ALERT: Final = b"\x15\x03"


class ConnectionFailed(Exception):  # noqa: N818  # not an error of the caller
    """The connection was refused, lost or timed out, or the peer is not a Kafka broker."""


class Connection:
    """Connects when created. Not thread-safe."""

    def __init__(
        self,
        host: str,
        port: int,
        *,
        client_id: str = "moldau",
        timeout_s: float = 30.0,
        security: Security = PLAINTEXT,
    ) -> None:
        self.host = host
        self.port = port
        self.client_id = client_id
        self._security = security
        self._correlation_id = 0
        self._awaited: deque[tuple[int, int, int]] = deque()
        # Responses that ``request`` had to read before its own, kept for ``receive``.
        self._early: deque[bytes] = deque()
        self._renewal_s = math.inf
        self._first_id = 0
        self._versions: dict[int, tuple[int, int]] = {}
        self._features: dict[str, int] = {}
        self._socket = self._open(timeout_s)
        self._reader = self._socket.makefile("rb", 1 << 16)
        try:
            self._negotiate()
            self._log_in()
            self._first_id = self._correlation_id + 1
        except BaseException:
            self.close()
            raise

    def request(self, request: Message, response_class: type[R], *, max_version: int = NEWEST) -> R:
        """Send ``request`` and wait for its response.

        Responses to requests in flight arrive first and are kept for ``receive``.
        """
        self._read_ahead()
        self.post(request, max_version=max_version)
        return self._receive_last(response_class)

    def post(
        self, request: Message, *, is_answered: bool = True, max_version: int = NEWEST
    ) -> None:
        """Send ``request`` without waiting; ``receive`` returns its response."""
        version = self.version_of(request.API_KEY, max_version)
        if time.monotonic() >= self._renewal_s:
            self._renew_login()
        self._post(request, version, is_answered=is_answered)

    def receive(self, response_class: type[R]) -> R:
        """The response to the oldest request in flight."""
        frame = self._early.popleft() if self._early else self._receive_frame()
        return self._decode(frame, self._awaited.popleft(), response_class)

    def _decode(self, frame: bytes, asked: tuple[int, int, int], response_class: type[R]) -> R:
        correlation_id, key, version = asked
        answered, position = decode_response_header(frame, key, version)
        if answered != correlation_id:
            self.close()
            message = f"{self} answered request {answered} when {correlation_id} was due"
            raise ConnectionFailed(message)
        response, _ = response_class.decode(frame, position, version)
        return cast(R, response)

    def version_of(self, api_key: int, max_version: int = NEWEST) -> int:
        """The newest version of an API that both sides support, up to ``max_version``.

        Raises:
            ApiError: UNSUPPORTED_VERSION, naming the API, if there is none.
        """
        api = APIS[api_key]
        ours = min(api.newest_stable_version, max_version)
        lowest, highest = self._versions.get(api_key, (0, -1))
        version = min(ours, highest)
        if version < max(lowest, api.min_version):
            theirs = f"versions {lowest} to {highest}" if highest >= 0 else "no version"
            message = (
                f"{api.name}: {self} supports {theirs}, "
                f"this client versions {api.min_version} to {ours}"
            )
            raise ApiError(ErrorCode.UNSUPPORTED_VERSION, message)
        return version

    def supports(self, api_key: int) -> bool:
        return api_key in self._versions

    def feature(self, name: str) -> int:
        """The finalized level of a feature of the cluster; 0 if it has none."""
        return self._features.get(name, 0)

    @property
    def is_stale(self) -> bool:
        """Whether the broker has closed an idle connection."""
        if self._socket.fileno() < 0:
            return True
        if self._awaited:
            return False
        poll = select.poll()
        poll.register(self._socket, select.POLLIN)
        if not poll.poll(0):
            return False
        if self._security.tls is None:
            return True
        # TLS has messages of its own, such as new keys, which do not mean the end.
        from moldau.client.tls import is_silent

        return not is_silent(self._socket)

    def set_timeout(self, timeout_s: float) -> None:
        self._socket.settimeout(timeout_s)

    def close(self) -> None:
        self._reader.close()
        self._socket.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __str__(self) -> str:
        return f"{self.host}:{self.port}"

    def _open(self, timeout_s: float) -> socket.socket:
        try:
            plain = socket.create_connection((self.host, self.port), timeout_s)
        except OSError as error:
            reason = error.strerror or str(error) or type(error).__name__
            if isinstance(error, socket.gaierror):
                reason = f"the host name cannot be resolved ({reason})"
            raise ConnectionFailed(f"cannot connect to {self}: {reason}") from None
        plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if self._security.tls is None:
            return plain
        # Imported only if TLS is used.
        from moldau.client.tls import secured

        try:
            return secured(plain, self.host, str(self), self._security.tls)
        except OSError as error:
            raise self._explained(error) from None
        finally:
            # The encrypted connection has its own socket object; this one is detached.
            plain.close()

    def _log_in(self) -> None:
        login = self._security.login
        if login is None:
            return
        from moldau.client.sasl import log_in, takes_no_logins

        if not self.supports(_SASL_HANDSHAKE_KEY):
            raise takes_no_logins(str(self))
        lasts_s = log_in(self._ask, login, str(self))
        self._renewal_s = math.inf if lasts_s is None else time.monotonic() + lasts_s

    def _renew_login(self) -> None:
        self._read_ahead()
        try:
            self._log_in()
        except BaseException:
            self.close()
            raise

    def _read_ahead(self) -> None:
        """Read all outstanding responses, so that the next one belongs to the next request."""
        while len(self._early) < len(self._awaited):
            self._early.append(self._receive_frame())

    def _receive_last(self, response_class: type[R]) -> R:
        """The response to the last request; all others have been read."""
        return self._decode(self._receive_frame(), self._awaited.pop(), response_class)

    def _ask(self, request: Message, response_class: type[R], /) -> R:
        """Send a request and read its response; no other request is in flight."""
        self._post(request, self.version_of(request.API_KEY))
        return self._receive_last(response_class)

    def _negotiate(self) -> None:
        """Fetch the broker's API versions; one too old for our ApiVersions answers in version 0."""
        version = APIS[_API_VERSIONS_KEY].max_version
        while True:
            self._post(ApiVersionsRequest(SOFTWARE_NAME, VERSION), version)
            self._awaited.popleft()
            frame = self._receive_frame()
            error = int.from_bytes(frame[4:6], "big", signed=True)
            answered_in = 0 if error == ErrorCode.UNSUPPORTED_VERSION else version
            response, _ = ApiVersionsResponse.decode(frame, 4, answered_in)
            self._versions = {
                api.api_key: (api.min_version, api.max_version) for api in response.api_keys
            }
            if error == ErrorCode.NONE:
                self._features = {
                    feature.name: feature.max_version_level
                    for feature in response.finalized_features
                }
                return
            offered = self._versions.get(_API_VERSIONS_KEY, (0, 0))[1]
            if error != ErrorCode.UNSUPPORTED_VERSION or offered >= version:
                raise ApiError(ErrorCode(error), f"{self} refused ApiVersions")
            version = offered

    def _post(self, request: Message, version: int, *, is_answered: bool = True) -> None:
        self._correlation_id = (self._correlation_id + 1) & 0x7FFFFFFF
        key = request.API_KEY
        header = encode_request_header(key, version, self._correlation_id, self.client_id)
        # Large records are copied once, into the frame; a client has no file regions.
        parts = cast(list[bytes], request.encode_parts(header, version))
        size = sum(map(len, parts))
        try:
            self._socket.sendall(b"".join((_SIZE.pack(size), *parts)))
        except OSError as error:
            raise self._lost(error) from None
        if is_answered:
            self._awaited.append((self._correlation_id, key, version))

    def _receive_frame(self) -> bytes:
        try:
            prefix = self._reader.read(4)
            if not self._versions and prefix[:2] == _TLS_ALERT:
                raise self._speaks_tls()
            size = _SIZE.unpack(prefix)[0] if len(prefix) == 4 else -1
            if 4 <= size <= MAX_RESPONSE_BYTES:
                frame: bytes = self._reader.read(size)
                if len(frame) == size:
                    return frame
        except (OSError, ValueError) as error:
            raise self._lost(error) from None
        self.close()
        if len(prefix) == 4 and not 4 <= size <= MAX_RESPONSE_BYTES:
            seen = f"its answer begins with {prefix!r}"
            remedy = "" if self._versions else "; is this the port of a Kafka listener?"
            raise ConnectionFailed(f"{self} does not answer like a Kafka broker: {seen}{remedy}")
        raise ConnectionFailed(f"{self} closed the connection{self._hint()}")

    def _lost(self, error: Exception) -> ConnectionFailed | SecurityError:
        self.close()
        return self._explained(error)

    def _explained(self, error: Exception) -> ConnectionFailed | SecurityError:
        reason = getattr(error, "strerror", None) or str(error)
        if self._security.tls is not None:
            from moldau.client.tls import reason_of, refusal

            refused = refusal(error, str(self), self._security.tls)
            if refused is not None:
                return refused
            reason = reason_of(error)
        if isinstance(error, TimeoutError):
            # A peer that expects another protocol may be waiting for more bytes.
            hint = "" if self._versions else self._hint()
            return ConnectionFailed(f"{self} did not answer in time{hint}")
        return ConnectionFailed(f"the connection to {self} is lost: {reason}{self._hint()}")

    def _speaks_tls(self) -> SecurityError:
        self.close()
        protocol = "SSL" if self._security.login is None else "SASL_SSL"
        message = f"{self} uses TLS: set security.protocol={protocol}"
        return SecurityError(ErrorCode.UNKNOWN_SERVER_ERROR, message)

    def _hint(self) -> str:
        """A likely reason why the broker closed the connection before it answered anything."""
        if not self._versions:
            if self._security.tls is None:
                return "; if its listener uses TLS, set security.protocol to SSL or SASL_SSL"
            return (
                "; if its listener does not use TLS, set security.protocol to PLAINTEXT or "
                "SASL_PLAINTEXT; if it requires a client certificate, set ssl.keystore.location"
            )
        # A request that could not be sent has no response to wait for.
        failed_id = self._awaited[0][0] if self._awaited else self._correlation_id
        if failed_id == self._first_id and self._security.login is None:
            wanted = "SASL_PLAINTEXT" if self._security.tls is None else "SASL_SSL"
            return f"; if its listener requires a login, set security.protocol={wanted}"
        return ""
