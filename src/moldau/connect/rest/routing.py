"""Which function answers a request, by its path, method and media types.

The answers to what does not match are those of Kafka's server: 404 for a path that does not exist,
405 for a method that it does not have, 415 and 406 for anything but JSON. Every GET has a HEAD, and
every path has OPTIONS.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import NamedTuple

from moldau.connect.rest.messages import JSON, Request, Response, http_error

Handler = Callable[[Request], Response]


class Route(NamedTuple):
    """A method and a path with names in braces: ``GET /connectors/{name}``."""

    method: str
    path: str
    handler: Handler
    # Whether a body must be JSON. Requests between Apache's workers are signed bytes.
    is_json: bool = True


@dataclass
class _Path:
    segments: tuple[str, ...]
    routes: dict[str, Route]

    def match(self, path: tuple[str, ...]) -> dict[str, str] | None:
        if len(path) != len(self.segments):
            return None
        parameters = {}
        for pattern, segment in zip(self.segments, path, strict=True):
            if pattern.startswith("{"):
                parameters[pattern[1:-1]] = segment
            elif pattern != segment:
                return None
        return parameters


class Router:
    """All routes of a listener."""

    def __init__(self, routes: Iterable[Route]) -> None:
        self._paths: dict[str, _Path] = {}
        for route in routes:
            segments = tuple(part for part in route.path.split("/") if part)
            path = self._paths.setdefault(route.path, _Path(segments, {}))
            path.routes[route.method] = route

    def find(self, request: Request) -> tuple[Handler, Request] | Response:
        """The function to call and the request with its parameters, or the answer itself."""
        for path in self._paths.values():
            parameters = path.match(request.path)
            if parameters is not None:
                return self._choose(path, request.with_parameters(parameters))
        return http_error(404)

    def _choose(self, path: _Path, request: Request) -> tuple[Handler, Request] | Response:
        allowed = _allowed(path)
        if request.method == "OPTIONS":
            headers = {"Allow": ",".join(allowed)}
            return Response(200, text=", ".join(allowed), headers=headers)
        method = "GET" if request.method == "HEAD" else request.method
        route = path.routes.get(method)
        if route is None:
            return http_error(405, {"Allow": ",".join(allowed)})
        media_type = request.headers.get("content-type", "")
        if route.is_json and media_type and _media_type(media_type) != JSON:
            return http_error(415)
        if not accepts_json(request.headers.get("accept", "")):
            return http_error(406)
        return route.handler, request


def accepts_json(accept: str) -> bool:
    """Whether a client with this ``Accept`` header takes JSON."""
    if not accept.strip():
        return True
    for entry in accept.split(","):
        media_type, *options = (part.strip().lower() for part in entry.split(";"))
        is_refused = any(option.replace(" ", "") in ("q=0", "q=0.0") for option in options)
        if media_type in (JSON, "application/*", "*/*", "*") and not is_refused:
            return True
    return False


def _allowed(path: _Path) -> list[str]:
    head = ["HEAD"] if "GET" in path.routes else []
    return [*head, *path.routes, "OPTIONS"]


def _media_type(text: str) -> str:
    return text.partition(";")[0].strip().lower()
