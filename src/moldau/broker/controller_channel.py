"""The way of this node's own requests to the active controller.

Whoever wants something from the controller sends it a request, wherever it is: in this process,
or on another node.
"""

from typing import Any, Final, Protocol

from moldau.errors import ErrorCode
from moldau.protocol.message import Message

# Another request, later, may succeed: the controller changes, or an old session expires.
PASSING: Final = frozenset(
    (
        ErrorCode.NOT_CONTROLLER,
        ErrorCode.DUPLICATE_BROKER_REGISTRATION,
        ErrorCode.BROKER_NOT_AVAILABLE,
        ErrorCode.NETWORK_EXCEPTION,
        ErrorCode.REQUEST_TIMED_OUT,
        ErrorCode.STALE_BROKER_EPOCH,
        ErrorCode.BROKER_ID_NOT_REGISTERED,
    )
)


class ControllerChannel(Protocol):
    """Sends requests to the active controller."""

    async def send(self, request: Message, version: int | None = None) -> Any:
        """The response, when what it says is committed. By default the latest version is sent.

        Raises:
            ApiError: with the error code of the response as a whole, if it has one;
                REQUEST_TIMED_OUT if no active controller answered in time.
        """
        ...
