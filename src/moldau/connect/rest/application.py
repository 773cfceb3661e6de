"""The REST API as a function: a request in, a response out, whatever happens."""

import logging
from collections.abc import Callable, Iterable

from moldau.connect.config.errors import ConfigError
from moldau.connect.data.errors import ConnectError
from moldau.connect.rest.forwarding import Forwarding
from moldau.connect.rest.messages import Request, Response, error
from moldau.connect.rest.routing import Route, Router
from moldau.connect.rest_errors import Forward, RestError

log = logging.getLogger(__name__)


class Application:
    """The routes of a listener, with the answer to everything that they raise."""

    def __init__(
        self,
        routes: Iterable[Route],
        send_on: Callable[[Request, str], Response] | None = None,
    ) -> None:
        """``send_on`` forwards a request to the worker at a URL."""
        self._router = Router(routes)
        self._send_on = send_on or Forwarding()

    def handle(self, request: Request) -> Response:
        """The response to ``request``. Never raises."""
        try:
            return self._answer(request)
        except RestError as problem:
            return error(problem.status, problem.message)
        except ConfigError as problem:
            return error(400, str(problem))
        except ConnectError as problem:
            log.warning("%s %s failed: %s", request.method, request.target, problem)
            return error(500, str(problem))
        except Exception as problem:
            # Its text may hold anything, even a password: it goes to the log only.
            log.exception("%s %s failed", request.method, request.target)
            name = type(problem).__name__
            return error(500, f"Unexpected {name}: the log of this worker says more")

    def _answer(self, request: Request) -> Response:
        found = self._router.find(request)
        if isinstance(found, Response):
            return found
        handler, request = found
        try:
            return handler(request)
        except Forward as elsewhere:
            return self._send_on(request, elsewhere.url)
