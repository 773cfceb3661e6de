"""``/admin/loggers``: levels of loggers, of this worker or of all (``?scope=cluster``)."""

import logging

from moldau.connect.herder_api import Herder
from moldau.connect.log_levels import LogLevels
from moldau.connect.rest.messages import Request, Response
from moldau.connect.rest.routing import Route
from moldau.connect.rest_errors import BadRequestError, NotFoundError

log = logging.getLogger(__name__)


class Loggers:
    """The resource."""

    def __init__(self, herder: Herder, levels: LogLevels) -> None:
        self._herder = herder
        self._levels = levels

    def routes(self) -> list[Route]:
        return [
            Route("GET", "/admin/loggers", self.list_loggers),
            Route("GET", "/admin/loggers/{logger}", self.level),
            Route("PUT", "/admin/loggers/{logger}", self.set_level),
        ]

    def list_loggers(self, request: Request) -> Response:
        return Response(200, self._levels.all())

    def level(self, request: Request) -> Response:
        level = self._levels.get(request["logger"])
        if level is None:
            raise NotFoundError(f"There is no logger {request['logger']}")
        return Response(200, level)

    def set_level(self, request: Request) -> Response:
        level = request.texts().get("level")
        if level is None:
            raise BadRequestError("The body has no level, such as INFO")
        if not self._levels.is_level(level):
            raise NotFoundError(f"There is no log level {level}: use one such as DEBUG or INFO")
        scope = (request.first("scope") or "worker").lower()
        if scope == "cluster":
            self._herder.set_cluster_log_level(request["logger"], level.upper())
            return Response(204)
        if scope != "worker":
            log.warning("Unknown scope %r of a log level: it is set on this worker only", scope)
        return Response(200, self._levels.set(request["logger"], level))
