"""``/connectors``: create, configure, watch, stop and remove connectors."""

from collections.abc import Mapping, Sequence
from typing import Any, Final
from urllib.parse import quote

from moldau.connect.herder_api import Herder
from moldau.connect.rest.messages import Request, Response
from moldau.connect.rest.routing import Route
from moldau.connect.rest_errors import BadRequestError, ForbiddenError, NotFoundError

_INITIAL_STATES: Final = ("RUNNING", "PAUSED", "STOPPED")
_CREATE_FIELDS: Final = ("name", "config", "initial_state")
_OFFSET_FIELDS: Final = ("partition", "offset")
_SIGNATURE: Final = "x-connect-authorization"
# As Java's String.trim: blanks and control characters.
_TRIMMED: Final = "".join(map(chr, range(33)))


class Connectors:
    """The resource; ``settings`` are those of the worker."""

    def __init__(self, herder: Herder, settings: Mapping[str, str]) -> None:
        self._herder = herder
        self._tracks_topics = _is_on(settings, "topic.tracking.enable")
        self._may_reset_topics = _is_on(settings, "topic.tracking.allow.reset")

    def routes(self) -> list[Route]:
        one = "/connectors/{name}"
        return [
            Route("GET", "/connectors", self.list),
            Route("POST", "/connectors", self.create),
            Route("GET", one, self.info),
            Route("DELETE", one, self.delete),
            Route("GET", f"{one}/config", self.config),
            Route("PUT", f"{one}/config", self.put_config),
            Route("PATCH", f"{one}/config", self.patch_config),
            Route("GET", f"{one}/status", self.status),
            Route("POST", f"{one}/restart", self.restart),
            Route("PUT", f"{one}/pause", self.pause),
            Route("PUT", f"{one}/resume", self.resume),
            Route("PUT", f"{one}/stop", self.stop),
            Route("GET", f"{one}/tasks", self.tasks),
            Route("POST", f"{one}/tasks", self.between_workers, is_json=False),
            Route("PUT", f"{one}/fence", self.between_workers, is_json=False),
            Route("GET", f"{one}/tasks/{{task}}/status", self.task_status),
            Route("POST", f"{one}/tasks/{{task}}/restart", self.restart_task),
            Route("GET", f"{one}/topics", self.topics),
            Route("PUT", f"{one}/topics/reset", self.reset_topics),
            Route("GET", f"{one}/offsets", self.offsets),
            Route("PATCH", f"{one}/offsets", self.alter_offsets),
            Route("DELETE", f"{one}/offsets", self.reset_offsets),
        ]

    def list(self, request: Request) -> Response:
        """The names; with ``?expand=status&expand=info`` an object with these of each."""
        if "expand" not in request.query:
            return Response(200, self._herder.connectors())
        expanded = {}
        for name in self._herder.connectors():
            try:
                expanded[name] = self._expand(name, request.query["expand"])
            except NotFoundError:
                continue  # Deleted since it was listed.
        return Response(200, expanded)

    def _expand(self, name: str, expansions: Sequence[str]) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for expansion in expansions:
            if expansion == "status":
                found["status"] = self._herder.status(name)
            elif expansion == "info":
                found["info"] = self._herder.connector_info(name)
        return found

    def create(self, request: Request) -> Response:
        body = request.json()
        _check_fields(body, _CREATE_FIELDS, "The body")
        name = body.get("name") or ""
        if not isinstance(name, str):
            raise BadRequestError("The name of a connector must be a string")
        name = name.strip(_TRIMMED)
        if body.get("config") is None:
            raise BadRequestError("The body has no config: an object with connector.class")
        config = _with_name(name, request.texts_of("config"))
        info = self._herder.create(name, config, _initial_state(body))
        return Response(201, info, headers={"Location": _location(request, name)})

    def info(self, request: Request) -> Response:
        return Response(200, self._herder.connector_info(request["name"]))

    def delete(self, request: Request) -> Response:
        self._herder.delete(request["name"])
        return Response(204)

    def config(self, request: Request) -> Response:
        return Response(200, self._herder.config(request["name"]))

    def put_config(self, request: Request) -> Response:
        name = request["name"]
        config = _with_name(name, request.texts())
        is_new, info = self._herder.put_config(name, config)
        if is_new:
            return Response(201, info, headers={"Location": _location(request, name)})
        return Response(200, info)

    def patch_config(self, request: Request) -> Response:
        return Response(200, self._herder.patch_config(request["name"], request.texts()))

    def status(self, request: Request) -> Response:
        return Response(200, self._herder.status(request["name"]))

    def restart(self, request: Request) -> Response:
        state = self._herder.restart(
            request["name"],
            include_tasks=request.flag("includeTasks"),
            only_failed=request.flag("onlyFailed"),
        )
        return Response(204) if state is None else Response(202, state)

    def pause(self, request: Request) -> Response:
        self._herder.pause(request["name"])
        return Response(202)

    def resume(self, request: Request) -> Response:
        self._herder.resume(request["name"])
        return Response(202)

    def stop(self, request: Request) -> Response:
        self._herder.stop(request["name"])
        return Response(204)

    def tasks(self, request: Request) -> Response:
        return Response(200, self._herder.tasks(request["name"]))

    def task_status(self, request: Request) -> Response:
        return Response(200, self._herder.task_status(request["name"], _task(request)))

    def restart_task(self, request: Request) -> Response:
        self._herder.restart_task(request["name"], _task(request))
        return Response(204)

    def topics(self, request: Request) -> Response:
        self._check_tracking()
        return Response(200, self._herder.topics(request["name"]))

    def reset_topics(self, request: Request) -> Response:
        self._check_tracking()
        if not self._may_reset_topics:
            raise ForbiddenError("topic.tracking.allow.reset of this worker is false")
        self._herder.reset_topics(request["name"])
        return Response(202)

    def _check_tracking(self) -> None:
        if not self._tracks_topics:
            raise ForbiddenError("topic.tracking.enable of this worker is false")

    def offsets(self, request: Request) -> Response:
        return Response(200, self._herder.offsets(request["name"]))

    def alter_offsets(self, request: Request) -> Response:
        body = request.json()
        _check_fields(body, ("offsets",), "The body")
        offsets = body.get("offsets")
        if not offsets:
            message = "The body has no offsets: list each partition with its new offset"
            raise BadRequestError(message)
        if not isinstance(offsets, list):
            raise BadRequestError("offsets must be a list of objects with partition and offset")
        for each in offsets:
            _check_fields(each, _OFFSET_FIELDS, "An entry of offsets")
            for name in _OFFSET_FIELDS:
                if not isinstance(each.get(name), dict | None):
                    raise BadRequestError(f"An entry of offsets: {name} must be an object")
        return Response(200, {"message": self._herder.alter_offsets(request["name"], offsets)})

    def reset_offsets(self, request: Request) -> Response:
        return Response(200, {"message": self._herder.reset_offsets(request["name"])})

    def between_workers(self, request: Request) -> Response:
        """What Apache's workers send each other: ours have no use for it."""
        if _SIGNATURE not in request.headers:
            raise BadRequestError("Only workers may ask this: the signature is missing")
        raise ForbiddenError("Only workers may ask this: the signature is not one of theirs")


def _with_name(name: str, config: Mapping[str, str | None]) -> dict[str, str]:
    """The config with the connector's name in it; what is null is refused by validation."""
    included = config.get("name")
    if included is not None and included != name:
        raise BadRequestError(
            f"The config is for {included}, the URL for {name}: leave name out of the config"
        )
    nulls = [key for key, value in config.items() if value is None and key != "name"]
    if nulls:
        raise BadRequestError(
            f"null is not a value of {', '.join(nulls)}: leave the option out, or PATCH the "
            "config to remove one that is set"
        )
    texts = {key: value for key, value in config.items() if value is not None}
    return {**texts, "name": name}


def _initial_state(body: Mapping[str, Any]) -> str | None:
    state = body.get("initial_state")
    if state is None:
        return None
    if not isinstance(state, str) or state.upper() not in _INITIAL_STATES:
        raise BadRequestError(
            f"Invalid initial_state {state!r}: it must be one of {', '.join(_INITIAL_STATES)}"
        )
    return state.upper()


def _check_fields(body: Any, known: tuple[str, ...], what: str) -> None:
    if not isinstance(body, dict):
        raise BadRequestError(f"{what} must be a JSON object with {', '.join(known)}")
    for name in body:
        if name not in known:
            raise BadRequestError(
                f"{what} has an unknown field {name!r}; known: {', '.join(known)}"
            )


def _task(request: Request) -> int:
    text = request["task"]
    if not text.isascii() or not text.isdigit() or len(text) > 9:
        # To Kafka a path without a number does not exist.
        raise NotFoundError("HTTP 404 Not Found")
    return int(text)


def _location(request: Request, name: str) -> str:
    host = request.headers.get("host")
    path = f"/connectors/{quote(name, safe='')}"
    return f"http://{host}{path}" if host else path


def _is_on(settings: Mapping[str, str], name: str) -> bool:
    return str(settings.get(name, "true")).strip().lower() == "true"
