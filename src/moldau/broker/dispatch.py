"""From a frame to a handler, and from its answer back to bytes.

A handler is a plain function ``handle(broker, request, context)``. It returns the
response, ``None`` where the protocol knows no answer (a produce with acks=0), or an
awaitable of either when it has to wait: then, and only then, a coroutine is made.
"""

import logging
from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any, Final, Protocol

from moldau.errors import ApiError, ErrorCode
from moldau.metadata.features import KRAFT_VERSION, SUPPORTED_FEATURES
from moldau.metadata.image import MetadataImage
from moldau.network.session import CloseConnection, Handled, Overlapping, Reply, Session
from moldau.protocol.api import APIS
from moldau.protocol.header import RequestHeader, decode_request_header, response_header
from moldau.protocol.message import Message
from moldau.protocol.messages.api_versions import (
    ApiVersion,
    ApiVersionsResponse,
    FinalizedFeatureKey,
    SupportedFeatureKey,
)
from moldau.protocol.primitives import Part

if TYPE_CHECKING:
    from moldau.broker.broker import Broker

API_VERSIONS_KEY: Final = 18
PRODUCE_KEY: Final = 0
FIRST_VERSION_WITH_ZERO_LEVELS: Final = 4

logger = logging.getLogger(__name__)


class Response(Protocol):
    """What every generated response class can do."""

    def encode_parts(self, writer_prefix: bytes, version: int) -> list[Part]: ...


class RequestContext:
    """Who asks, and in which version."""

    __slots__ = ("api_version", "client_id", "dispatcher", "session")

    def __init__(self, dispatcher: "Dispatcher", session: Session, header: RequestHeader) -> None:
        self.dispatcher = dispatcher
        self.session = session
        self.api_version = header.api_version
        self.client_id = header.client_id


Handle = Callable[["Broker", Any, RequestContext], "Response | Awaitable[Response | None] | None"]


class Handler:
    """One row of the table in ``apis``: an API, the versions that work, and who answers."""

    __slots__ = ("_decode", "handle", "is_advertised", "key", "max_version", "min_version", "name")

    def __init__(self, name: str, key: int, handle: Handle, is_advertised: bool = True) -> None:
        api = APIS[key]
        assert api.name == name, f"API {key} is {api.name}, not {name}"
        self.name = name
        self.key = key
        self.handle = handle
        self.min_version = api.min_version
        # A version that Kafka has not settled yet is not offered, as Kafka does not.
        self.max_version = api.max_version - 1 if api.latest_unstable else api.max_version
        self.is_advertised = is_advertised
        self._decode: Any = None

    def decode(self, frame: bytes, position: int, version: int) -> Any:
        """The request in ``frame``. Its class is imported when it is first asked for.

        What follows the request is ignored, as Kafka does: librdkafka 2.16 puts three stray
        bytes behind its Metadata request for all topics.

        Raises:
            MalformedMessage: the bytes are not this request.
        """
        decode = self._decode
        if decode is None:
            decode = self._decode = APIS[self.key].request_class().decode
        found: tuple[Any, int] = decode(frame, position, version)
        return found[0]

    def error_response(self, error: ApiError) -> Response:
        """An answer that carries ``error`` at its top; the connection ends where there is none."""
        response = APIS[self.key].response_class()()
        if not hasattr(response, "error_code"):
            raise CloseConnection(f"{self.name}: {error} ({error.code.name})")
        response.error_code = error.code
        if hasattr(response, "error_message"):
            response.error_message = error.message
        return response


class Dispatcher:
    """Answers every frame of every connection of one broker."""

    def __init__(
        self, broker: "Broker", handlers: Mapping[int, Handler], *, is_controller: bool = False
    ) -> None:
        self.handlers = dict(handlers)
        self.is_controller = is_controller
        self._broker = broker

    def handle(self, session: Session, frame: bytes) -> Handled:
        header, position = decode_request_header(frame)
        version = header.api_version
        handler = self.handlers.get(header.api_key)
        if handler is None or not handler.min_version <= version <= handler.max_version:
            return self._unsupported(header)

        request = handler.decode(frame, position, version)
        context = RequestContext(self, session, header)
        prefix = response_header(header.correlation_id, header.api_key, version)
        try:
            result = handler.handle(self._broker, request, context)
        except ApiError as error:
            result = handler.error_response(error)
        if result is None:
            return None
        # The usual answer first: compiled code knows this method without a look-up.
        if isinstance(result, Message):
            return result.encode_parts(prefix, version)
        # An isinstance() of Awaitable would cost more than the rest of this function.
        if hasattr(result, "encode_parts"):
            return result.encode_parts(prefix, version)
        reply = self._reply_later(handler, result, prefix, version)
        # Produce is ordered by its synchronous part; only the waiting may overlap.
        return Overlapping(reply) if header.api_key == PRODUCE_KEY else reply

    async def _reply_later(
        self, handler: Handler, result: Awaitable[Response | None], prefix: bytes, version: int
    ) -> Reply:
        response: Response | None
        try:
            response = await result
        except ApiError as error:
            response = handler.error_response(error)
        return None if response is None else response.encode_parts(prefix, version)

    def _unsupported(self, header: RequestHeader) -> Reply:
        """Too new an ApiVersions is answered in version 0 with its own versions (KIP-511)."""
        if header.api_key == API_VERSIONS_KEY:
            known = self.handlers[API_VERSIONS_KEY]
            response = ApiVersionsResponse(
                error_code=ErrorCode.UNSUPPORTED_VERSION,
                api_keys=[
                    ApiVersion(
                        api_key=known.key,
                        min_version=known.min_version,
                        max_version=known.max_version,
                    )
                ],
            )
            return response.encode_parts(
                response_header(header.correlation_id, API_VERSIONS_KEY, 0), 0
            )
        api = APIS.get(header.api_key)
        name = api.name if api is not None else f"API key {header.api_key}"
        raise CloseConnection(f"{name} version {header.api_version} is not supported here")


class ListenerRouter:
    """One server, several listeners: clients get the broker's APIs, controllers theirs."""

    def __init__(self, dispatchers: Mapping[str, Dispatcher]) -> None:
        self._dispatchers = dict(dispatchers)

    def handle(self, session: Session, frame: bytes) -> Handled:
        return self._dispatchers[session.listener].handle(session, frame)


def describe_versions(
    handlers: Mapping[int, Handler], image: MetadataImage, kraft_version: int, version: int
) -> ApiVersionsResponse:
    """What ApiVersions says: the table of handlers, and the features of the cluster."""
    response = ApiVersionsResponse(finalized_features_epoch=image.offset)
    for handler in handlers.values():
        if handler.is_advertised:
            # librdkafka before 2.0 gives up on a broker that does not list Produce 0.
            oldest = 0 if handler.key == PRODUCE_KEY else handler.min_version
            response.api_keys.append(
                ApiVersion(api_key=handler.key, min_version=oldest, max_version=handler.max_version)
            )
    for name, levels in SUPPORTED_FEATURES.items():
        # Clients before version 4 take a lower bound of 0 for an error (KAFKA-17011).
        if levels.min_version > 0 or version >= FIRST_VERSION_WITH_ZERO_LEVELS:
            response.supported_features.append(
                SupportedFeatureKey(
                    name=name, min_version=levels.min_version, max_version=levels.max_version
                )
            )
    for name, level in {**image.features, KRAFT_VERSION: kraft_version}.items():
        if level > 0:
            response.finalized_features.append(
                FinalizedFeatureKey(name=name, min_version_level=level, max_version_level=level)
            )
    return response
