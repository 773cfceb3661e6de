"""Sends a request on to the worker that can carry it out.

Kafka's rule: the worker that a user talks to forwards with ``forward=true``, the next one, if the
active worker has changed in between, with ``forward=false``, and that is the end.
"""

import http.client
import logging
import ssl
from collections.abc import Callable
from typing import Final
from urllib.parse import SplitResult, urlencode, urlsplit

from moldau.client.security_error import SecurityError
from moldau.client.tls import check_suite
from moldau.client.tls_settings import TlsSettings
from moldau.connect.config.errors import ConfigError
from moldau.connect.listeners import ListenerTls
from moldau.connect.rest.messages import JSON, Request, Response
from moldau.connect.rest.tls import refusal, worker_context
from moldau.connect.rest_errors import ConflictError, InternalError

log = logging.getLogger(__name__)

TIMEOUT_S: Final = 90.0
_NO_LEADER: Final = "No worker of the group is active now, they are choosing one: try again soon"
_TOO_FAR: Final = "Another worker has become the active one meanwhile: try again soon"


def next_hop(request: Request) -> str:
    """The value of ``forward`` for the next worker. Raises ConflictError if there is none."""
    forward = request.first("forward")
    if forward is None:
        return "true"
    if forward.lower() == "true":
        return "false"
    raise ConflictError(_TOO_FAR)


class Forwarding:
    """Sends requests to other workers, over HTTPS to those that advertise it.

    Args:
        tls: which certificates are trusted, and the worker's own; asked for when it is needed.
    """

    def __init__(
        self,
        tls: Callable[[], ListenerTls] = lambda: ListenerTls(TlsSettings()),
        timeout_s: float = TIMEOUT_S,
    ) -> None:
        self._tls = tls
        self._timeout_s = timeout_s

    def __call__(self, request: Request, url: str) -> Response:
        """The answer of the worker at ``url``.

        Raises:
            ConflictError: the request was forwarded too often, or there is no active worker now.
            InternalError: the other worker cannot be reached, or is not trusted.
        """
        if not url:
            raise ConflictError(_NO_LEADER)
        hop = next_hop(request)
        try:
            return self._exchange(request, urlsplit(url), hop)
        except (ConfigError, SecurityError, OSError, http.client.HTTPException) as error:
            is_of_tls = isinstance(error, ssl.SSLError)
            problem = refusal(error, url, self._tls()) if is_of_tls else str(error)
            problem = problem or type(error).__name__
            log.warning(
                "Forwarding %s %s to %s failed: %s", request.method, request.target, url, problem
            )
            message = f"The active worker at {url} did not answer: {problem}"
            raise InternalError(message) from error

    def _exchange(self, request: Request, target: SplitResult, hop: str) -> Response:
        headers = {"Accept": JSON, "User-Agent": "moldau-connect", "Content-Type": JSON}
        if "authorization" in request.headers:
            headers["Authorization"] = request.headers["authorization"]
        if not request.body:
            del headers["Content-Type"]
        connection = self._connect(target)
        try:
            path = _path(request, target.path, hop)
            connection.request(request.method, path, request.body or None, headers)
            answer = connection.getresponse()
            body = answer.read()
        finally:
            connection.close()
        location = answer.headers.get("Location")
        kept = {"Location": location} if location else {}
        return Response(answer.status, raw=(answer.headers.get("Content-Type"), body), headers=kept)

    def _connect(self, target: SplitResult) -> http.client.HTTPConnection:
        host, timeout_s = target.hostname or "", self._timeout_s
        if target.scheme != "https":
            return http.client.HTTPConnection(host, target.port or 80, timeout=timeout_s)
        tls = self._tls()
        connection = http.client.HTTPSConnection(
            host, target.port or 443, timeout=timeout_s, context=worker_context(tls)
        )
        connection.connect()
        check_suite(connection.sock, target.netloc, tls.settings)
        return connection


def _path(request: Request, base: str, hop: str) -> str:
    query = {name: values for name, values in request.query.items() if name != "forward"}
    text = urlencode({**query, "forward": [hop]}, doseq=True)
    return f"{base.rstrip('/')}{request.target.partition('?')[0]}?{text}"
