"""Errors that the REST API answers with, as ``{"error_code": status, "message": message}``.

The herder raises them, so that the status is chosen where the fact is known. A herder that is not
the active one raises ``Forward``; the REST server then sends the request there.
"""

from moldau.connect.data.errors import ConnectError


class RestError(ConnectError):
    """A request that is refused with an HTTP status."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.message = message


class BadRequestError(RestError):
    """The request, or the config in it, is wrong."""

    def __init__(self, message: str) -> None:
        super().__init__(400, message)


class ForbiddenError(RestError):
    """A setting of the worker forbids this."""

    def __init__(self, message: str) -> None:
        super().__init__(403, message)


class NotFoundError(RestError):
    """The connector, task or plugin does not exist."""

    def __init__(self, message: str) -> None:
        super().__init__(404, message)


class ConflictError(RestError):
    """It exists already, or the group of workers is changing: try again later."""

    def __init__(self, message: str) -> None:
        super().__init__(409, message)


class InternalError(RestError):
    """The worker could not do it, and the request is not to blame."""

    def __init__(self, message: str) -> None:
        super().__init__(500, message)


class UnavailableError(RestError):
    """The worker cannot do this yet."""

    def __init__(self, message: str) -> None:
        super().__init__(503, message)


class Forward(Exception):  # noqa: N818 - not an error: the request belongs elsewhere.
    """Another worker is the active one: ``url`` is the base of its REST API."""

    def __init__(self, url: str) -> None:
        super().__init__(f"the active worker is {url}")
        self.url = url
