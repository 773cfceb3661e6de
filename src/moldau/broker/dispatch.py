"""Decodes a frame, calls the handler of its API, and encodes the response.

A handler is a plain function ``handle(broker, request, context)``. It returns the response,
``None`` if the protocol has none (Produce with acks=0), or an awaitable of either if it has to
wait; only then is a coroutine created. A waiting request mutes its connection, unless it is
``Overlapping``.

The cost of a request grows with its size, and all other requests wait for the event loop. So a
large request is decoded, and its response encoded, by a thread (``sys.setswitchinterval`` limits
how long it may hold the GIL at a time), and its handler works in turns
(``RequestContext.in_turns``). Produce is the exception: its records are not decoded at all.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeVar

from moldau.errors import ApiError, ErrorCode
from moldau.metadata.features import KRAFT_VERSION, SUPPORTED_FEATURES
from moldau.metadata.image import MetadataImage
from moldau.network.session import CloseConnection, Handled, Overlapping, Reply, Session
from moldau.network.turns import Steps, Turns, dropping
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
FETCH_KEY: Final = 1
# A request above this size is decoded by a thread: it may take milliseconds.
LARGE_REQUEST_BYTES: Final = 16 * 1024
# Fetches are frequent, and decoded faster: clients without fetch sessions send every partition
# with each of them.
LARGE_FETCH_BYTES: Final = 64 * 1024
# A response above this size is encoded by a thread.
LARGE_ANSWER_BYTES: Final = 64 * 1024
# One more than is needed to keep a core busy.
LARGE_REQUEST_THREADS: Final = 2
# The limit for requests that contain only names and settings: ten thousand topics with several
# settings each take half of it. Decoded, they take many times as much memory as on the wire.
NAMES_MAX_BYTES: Final = 4 * 1024 * 1024
# The limit for responses to short requests that ask for much (such as one large group many times).
# librdkafka accepts no larger responses (receive.message.max.bytes).
MAX_ANSWER_BYTES: Final = 100_000_000
# APIs with a payload: records, metadata of members and offsets, assignments.
CARRYING_KEYS: Final = frozenset((PRODUCE_KEY, 8, 11, 14, 68, 72))
FIRST_VERSION_WITH_ZERO_LEVELS: Final = 4

logger = logging.getLogger(__name__)

R = TypeVar("R")


class Response(Protocol):
    """The interface of every generated response class."""

    def encode_parts(self, writer_prefix: bytes, version: int) -> list[Part]: ...


def answer_too_large() -> ApiError:
    """The error that replaces the part of a response beyond ``MAX_ANSWER_BYTES``."""
    message = f"the answer would exceed {MAX_ANSWER_BYTES} bytes: ask for fewer at a time"
    return ApiError(ErrorCode.INVALID_REQUEST, message)


class RequestContext:
    """The session, client and version of a request."""

    __slots__ = ("api_version", "client_id", "dispatcher", "is_large", "session")

    def __init__(self, dispatcher: "Dispatcher", session: Session, header: RequestHeader) -> None:
        self.dispatcher = dispatcher
        self.session = session
        self.api_version = header.api_version
        self.client_id = header.client_id
        # Whether the response is encoded by a thread.
        self.is_large = False

    def in_turns(self, steps: Steps[R]) -> R | Awaitable[R]:
        """The result of the steps, or an awaitable if they need several shares or it is large."""
        result = self.dispatcher.turns.run(steps)
        if not hasattr(result, "encode_parts"):
            self.is_large = True
        elif self.is_large:
            return _later(result)
        return result

    def expect(self, answer_bytes: int) -> None:
        """Called by steps with the approximate size of the response."""
        if answer_bytes > LARGE_ANSWER_BYTES:
            self.is_large = True


async def _later(result: Any) -> Any:
    return result


Handle = Callable[
    ["Broker", Any, RequestContext], "Response | Awaitable[Response | None] | Overlapping | None"
]


class Handler:
    """One row of the table in ``apis``: an API, its supported versions, and its handler."""

    __slots__ = ("_decode", "handle", "is_advertised", "key", "max_version", "min_version", "name")

    def __init__(self, name: str, key: int, handle: Handle, is_advertised: bool = True) -> None:
        api = APIS[key]
        assert api.name == name, f"API {key} is {api.name}, not {name}"
        self.name = name
        self.key = key
        self.handle = handle
        self.min_version = api.min_version
        # As in Kafka, an unstable version is not offered.
        self.max_version = api.max_version - 1 if api.latest_unstable else api.max_version
        self.is_advertised = is_advertised
        self._decode: Any = None

    def decode(self, frame: bytes, position: int, version: int) -> Any:
        """The request in ``frame``. Its class is imported on first use.

        As in Kafka, bytes after the request are ignored: librdkafka 2.16 appends three stray bytes
        to its Metadata request for all topics.

        Raises:
            MalformedMessage: the request cannot be decoded.
        """
        decode = self._decode
        if decode is None:
            decode = self._decode = APIS[self.key].request_class().decode
        found: tuple[Any, int] = decode(frame, position, version)
        return found[0]

    def error_response(self, error: ApiError) -> Response:
        """A response with ``error`` at its top level.

        Raises:
            CloseConnection: the response of this API has no top-level error.
        """
        response = APIS[self.key].response_class()()
        if not hasattr(response, "error_code"):
            raise CloseConnection(f"{self.name}: {error} ({error.code.name})")
        response.error_code = error.code
        if hasattr(response, "error_message"):
            response.error_message = error.message
        return response


class Dispatcher:
    """Handles every frame of every connection of one broker."""

    def __init__(
        self, broker: "Broker", handlers: Mapping[int, Handler], *, is_controller: bool = False
    ) -> None:
        self.handlers = dict(handlers)
        self.is_controller = is_controller
        self.turns: Turns = broker.turns
        self._broker = broker
        self._threads: ThreadPoolExecutor | None = None

    def handle(self, session: Session, frame: bytes) -> Handled:
        header, position = decode_request_header(frame)
        version = header.api_version
        handler = self.handlers.get(header.api_key)
        if handler is None or not handler.min_version <= version <= handler.max_version:
            return self._unsupported(header)

        context = RequestContext(self, session, header)
        prefix = response_header(header.correlation_id, header.api_key, version)
        if len(frame) > LARGE_REQUEST_BYTES and _is_large(header.api_key, len(frame)):
            return self._handle_large(handler, frame, position, prefix, context)
        request = handler.decode(frame, position, version)
        try:
            result = handler.handle(self._broker, request, context)
        except ApiError as error:
            result = handler.error_response(error)
        if result is None:
            return None
        # The most common case first: compiled code calls this method without a look-up.
        if isinstance(result, Message):
            return result.encode_parts(prefix, version)
        # isinstance(result, Awaitable) would cost more than the rest of this function.
        if hasattr(result, "encode_parts"):
            return result.encode_parts(prefix, version)
        if isinstance(result, Overlapping):
            return Overlapping(self._reply_later(handler, result.awaitable, prefix, context))
        return self._reply_later(handler, result, prefix, context)

    async def _reply_later(
        self, handler: Handler, result: Awaitable[Any], prefix: bytes, context: RequestContext
    ) -> Reply:
        response: Response | None
        try:
            response = await result
        except ApiError as error:
            response = handler.error_response(error)
        if response is None:
            return None
        if context.is_large:
            return await self._encode_large(handler, response, prefix, context.api_version)
        return response.encode_parts(prefix, context.api_version)

    async def _handle_large(
        self,
        handler: Handler,
        frame: bytes,
        position: int,
        prefix: bytes,
        context: RequestContext,
    ) -> Reply:
        if len(frame) > NAMES_MAX_BYTES and handler.key not in CARRYING_KEYS:
            raise CloseConnection(
                f"{handler.name} of {len(frame)} bytes: at most {NAMES_MAX_BYTES} are read of a "
                "request that only names things; ask for fewer at a time"
            )
        version = context.api_version
        context.is_large = True
        request = await self.in_thread(handler.decode, frame, position, version)
        result: Any
        try:
            result = handler.handle(self._broker, request, context)
        except ApiError as error:
            result = handler.error_response(error)
        if result is None:
            return None
        reply: Reply
        if hasattr(result, "encode_parts"):
            reply = await self._encode_large(handler, result, prefix, version)
        else:
            reply = await self._reply_later(handler, result, prefix, context)
        if handler.key not in CARRYING_KEYS:
            await self.turns.complete(_dropping(request))
        return reply

    async def _encode_large(
        self, handler: Handler, response: Response, prefix: bytes, version: int
    ) -> Reply:
        parts = await self.in_thread(response.encode_parts, prefix, version)
        # The coordinator may keep the metadata and assignments of group members.
        if handler.key not in CARRYING_KEYS:
            await self.turns.complete(_dropping(response))
        return parts

    async def in_thread(self, work: Callable[..., R], *arguments: object) -> R:
        """The result of ``work``, which must not use shared state."""
        if self._threads is None:
            self._threads = ThreadPoolExecutor(LARGE_REQUEST_THREADS, "moldau-large-requests")
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._threads, work, *arguments)

    def _unsupported(self, header: RequestHeader) -> Reply:
        """An unsupported ApiVersions gets a version 0 response with its own versions (KIP-511)."""
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


def _dropping(message: object) -> Steps[None]:
    """Free the contents of a large message that is no longer needed."""
    for name in message.FIELDS if isinstance(message, Message) else ():
        items = getattr(message, name)
        if isinstance(items, list):
            yield from dropping(items)


def _is_large(api_key: int, size_bytes: int) -> bool:
    """Whether a request above ``LARGE_REQUEST_BYTES`` is decoded by a thread."""
    return api_key != PRODUCE_KEY and (api_key != FETCH_KEY or size_bytes > LARGE_FETCH_BYTES)


class ListenerRouter:
    """Routes requests by listener: clients get the APIs of the broker, controllers their own."""

    def __init__(self, dispatchers: Mapping[str, Dispatcher]) -> None:
        self._dispatchers = dict(dispatchers)

    def handle(self, session: Session, frame: bytes) -> Handled:
        return self._dispatchers[session.listener].handle(session, frame)


def describe_versions(
    handlers: Mapping[int, Handler], image: MetadataImage, kraft_version: int, version: int
) -> ApiVersionsResponse:
    """The ApiVersions response: the table of handlers, and the features of the cluster."""
    response = ApiVersionsResponse(finalized_features_epoch=image.offset)
    for handler in handlers.values():
        if handler.is_advertised:
            # librdkafka before 2.0 gives up on a broker that does not list Produce 0.
            oldest = 0 if handler.key == PRODUCE_KEY else handler.min_version
            response.api_keys.append(
                ApiVersion(api_key=handler.key, min_version=oldest, max_version=handler.max_version)
            )
    for name, levels in SUPPORTED_FEATURES.items():
        # Clients before version 4 treat a lower bound of 0 as an error (KAFKA-17011).
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
