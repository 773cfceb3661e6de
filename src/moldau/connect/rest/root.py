"""``/`` and ``/health`` (KIP-1017)."""

import logging
from typing import Final

from moldau.connect.herder_api import Herder
from moldau.connect.rest.messages import Request, Response
from moldau.connect.rest.routing import Route
from moldau.connect.rest_errors import RestError

log = logging.getLogger(__name__)

_READY: Final = "This worker has started, and serves requests"
_STARTING: Final = "This worker is starting: wait until it is healthy"


class Root:
    """The resource."""

    def __init__(self, herder: Herder) -> None:
        self._herder = herder

    def routes(self) -> list[Route]:
        return [
            Route("GET", "/", self.info, is_json=False),
            Route("GET", "/health", self.health, is_json=False),
        ]

    def info(self, request: Request) -> Response:
        return Response(200, self._herder.worker_info())

    def health(self, request: Request) -> Response:
        """200 when the worker is ready, 503 while it starts, 500 when it has got into trouble."""
        try:
            is_ready, message = self._herder.health()
        except RestError as problem:
            return Response(500, {"status": "unhealthy", "message": problem.message})
        except Exception as error:
            log.exception("The health of the worker could not be determined")
            return Response(500, {"status": "unhealthy", "message": str(error)})
        if is_ready:
            return Response(200, {"status": "healthy", "message": message or _READY})
        return Response(503, {"status": "starting", "message": message or _STARTING})
