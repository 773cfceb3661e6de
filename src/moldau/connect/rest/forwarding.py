"""Sends a request on to the worker that can carry it out.

Kafka's rule: the worker that a user talks to forwards with ``forward=true``, the next one, if the
active worker has changed in between, with ``forward=false``, and that is the end.
"""

import http.client
import logging
from typing import Final
from urllib.parse import urlencode, urlsplit

from moldau.connect.rest.messages import JSON, Request, Response
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


def forward(request: Request, url: str, timeout_s: float = TIMEOUT_S) -> Response:
    """The answer of the worker at ``url``.

    Raises:
        ConflictError: the request was forwarded too often, or there is no active worker now.
        InternalError: the other worker cannot be reached.
    """
    if not url:
        raise ConflictError(_NO_LEADER)
    hop = next_hop(request)
    target = urlsplit(url)
    headers = {"Accept": JSON, "User-Agent": "moldau-connect", "Content-Type": JSON}
    if "authorization" in request.headers:
        headers["Authorization"] = request.headers["authorization"]
    if not request.body:
        del headers["Content-Type"]
    connection = http.client.HTTPConnection(
        target.hostname or "", target.port or 80, timeout=timeout_s
    )
    try:
        path = _path(request, target.path, hop)
        connection.request(request.method, path, request.body or None, headers)
        answer = connection.getresponse()
        body = answer.read()
    except (OSError, http.client.HTTPException) as error:
        log.warning("Forwarding %s %s to %s failed: %s", request.method, request.target, url, error)
        message = f"The active worker at {url} did not answer: {error or type(error).__name__}"
        raise InternalError(message) from error
    finally:
        connection.close()
    location = answer.headers.get("Location")
    kept = {"Location": location} if location else {}
    return Response(answer.status, raw=(answer.headers.get("Content-Type"), body), headers=kept)


def _path(request: Request, base: str, hop: str) -> str:
    query = {name: values for name, values in request.query.items() if name != "forward"}
    text = urlencode({**query, "forward": [hop]}, doseq=True)
    return f"{base.rstrip('/')}{request.target.partition('?')[0]}?{text}"
