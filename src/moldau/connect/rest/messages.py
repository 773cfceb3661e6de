"""A request as a resource sees it, and its response. Nothing here knows about sockets."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

from moldau.connect.rest_errors import BadRequestError

JSON: Final = "application/json"
REASONS: Final = {
    200: "OK",
    201: "Created",
    202: "Accepted",
    204: "No Content",
    400: "Bad Request",
    403: "Forbidden",
    404: "Not Found",
    405: "Method Not Allowed",
    406: "Not Acceptable",
    409: "Conflict",
    411: "Length Required",
    413: "Content Too Large",
    414: "URI Too Long",
    415: "Unsupported Media Type",
    500: "Server Error",
    501: "Not Implemented",
    503: "Service Unavailable",
}


@dataclass(frozen=True)
class Request:
    """One request. ``path`` and ``query`` are decoded, ``target`` is what the client wrote."""

    method: str
    target: str
    path: tuple[str, ...]
    query: Mapping[str, list[str]] = field(default_factory=dict)
    # Names are lower case.
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""
    parameters: Mapping[str, str] = field(default_factory=dict)

    def __getitem__(self, name: str) -> str:
        """A part of the path: ``request["name"]`` of ``/connectors/{name}``."""
        return self.parameters[name]

    def with_parameters(self, parameters: Mapping[str, str]) -> "Request":
        return replace(self, parameters=parameters)

    def first(self, name: str) -> str | None:
        """The first value of a query parameter."""
        values = self.query.get(name)
        return values[0] if values else None

    def flag(self, name: str, default: bool = False) -> bool:
        """A query parameter as Java reads a Boolean: anything but "true" is false."""
        value = self.first(name)
        return default if value is None else value.lower() == "true"

    def json(self) -> Any:
        """The body as JSON. Raises BadRequestError."""
        return _parse(self.body)

    def texts(self) -> dict[str, str | None]:
        """The body as an object of texts, as configs are; numbers and booleans become texts.

        Raises:
            BadRequestError: if it is something else; the message names the key.
        """
        return as_texts(_parse(self.body, numbers_as_text=True), "The body")

    def texts_of(self, name: str) -> dict[str, str | None]:
        """As ``texts``, of the object ``name`` in the body."""
        return as_texts(_parse(self.body, numbers_as_text=True)[name], name)


@dataclass(frozen=True)
class Response:
    """A response: ``content`` is what becomes JSON, ``text`` and ``raw`` anything else."""

    status: int = 200
    content: Any = None
    text: str | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    # The media type and the bytes of an answer that was made elsewhere.
    raw: tuple[str | None, bytes] | None = None

    def body(self) -> tuple[str | None, bytes]:
        """The media type and the bytes; None for a response without a body."""
        if self.raw is not None:
            return self.raw
        if self.text is not None:
            return "text/plain", self.text.encode()
        if self.content is None:
            return None, b""
        text = json.dumps(self.content, ensure_ascii=False, separators=(",", ":"))
        # A lone surrogate is valid in JSON but not in UTF-8.
        return JSON, text.encode(errors="backslashreplace")


def error(status: int, message: str, headers: Mapping[str, str] | None = None) -> Response:
    """The JSON of an error, as Kafka's REST API answers."""
    content = {"error_code": status, "message": message}
    return Response(status, content, headers=headers or {})


def http_error(status: int, headers: Mapping[str, str] | None = None) -> Response:
    """An error that needs no more words than its status."""
    return error(status, f"HTTP {status} {REASONS[status]}", headers)


def as_texts(value: Any, what: str) -> dict[str, str | None]:
    """``value`` as an object of texts. Raises BadRequestError."""
    if not isinstance(value, dict):
        raise BadRequestError(f"{what} must be a JSON object of texts, not {_kind(value)}")
    texts: dict[str, str | None] = {}
    for name, each in value.items():
        if isinstance(each, bool):
            texts[name] = "true" if each else "false"
        elif each is None or isinstance(each, str):
            texts[name] = each
        else:
            raise BadRequestError(
                f"{what}: the value of {name!r} must be a string, not {_kind(each)}. Write lists "
                "with commas, and nested options with dots in their names"
            )
    return texts


def _parse(body: bytes, numbers_as_text: bool = False) -> Any:
    if not body.strip():
        raise BadRequestError("The body is empty: JSON is needed")
    integer, number = (str, str) if numbers_as_text else (int, float)
    try:
        parsed = json.loads(
            body, parse_constant=_no_constant, parse_int=integer, parse_float=number
        )
    except UnicodeDecodeError as problem:
        raise BadRequestError(f"The body is not UTF-8: {problem.reason}") from None
    except RecursionError:
        raise BadRequestError("The body cannot be read: it is nested too deeply") from None
    except ValueError as problem:
        raise BadRequestError(f"The body is not JSON: {problem}") from None
    if b"\\u" in body:
        _check_unicode(parsed)
    return parsed


def _check_unicode(parsed: Any) -> None:
    """Half of a surrogate pair is valid in JSON, but no text that could be stored anywhere."""
    try:
        json.dumps(parsed, ensure_ascii=False).encode()
    except UnicodeEncodeError as problem:
        code = ord(problem.object[problem.start])
        raise BadRequestError(
            f"The body has \\u{code:04x}, which is half a character: write both halves of the pair"
        ) from None


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is not a JSON number")


def _kind(value: Any) -> str:
    kinds = {dict: "an object", list: "a list", str: "a text", bool: "a boolean"}
    return "null" if value is None else kinds.get(type(value), "a number")
