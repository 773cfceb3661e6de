"""Decodes a frame, calls the handler of its API, and encodes the response.

A handler is a function ``handle(request, context)``: mostly a method of an object that was built
with the parts of the broker it uses. It returns the response, ``None`` if the protocol has none
(Produce with acks=0), or an awaitable of either if it has to wait; only then is a coroutine
created. A waiting request mutes its connection, unless it is ``Overlapping``.

The cost of a request grows with its size, and all other requests wait for the event loop. So a
large request is decoded, and its response encoded, by a thread (``sys.setswitchinterval`` limits
how long it may hold the GIL at a time), and its handler works in turns
(``RequestContext.in_turns``). Produce and Envelope are exceptions: their bytes are not decoded.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable, Mapping
from concurrent.futures import Executor, ThreadPoolExecutor
from typing import Any, Final, Protocol, TypeVar

from moldau.broker.version_answers import own_versions
from moldau.errors import ApiError, ErrorCode
from moldau.network.session import CloseConnection, Handled, Overlapping, Reply, Session
from moldau.network.turns import DROPPED_PER_STEP, Steps, Turns, dropping
from moldau.protocol.api import APIS
from moldau.protocol.giving_way import with_elements_max
from moldau.protocol.header import RequestHeader, decode_request_header, response_header
from moldau.protocol.message import Message, Struct
from moldau.protocol.primitives import Part

API_VERSIONS_KEY: Final = 18
PRODUCE_KEY: Final = 0
FETCH_KEY: Final = 1
OFFSET_COMMIT_KEY: Final = 8
ENVELOPE_KEY: Final = 58
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
# The same for OffsetCommit, with the metadata of the offsets: many times what fits a batch of the
# offsets topic.
COMMIT_MAX_BYTES: Final = 16 * 1024 * 1024
# The most elements of long arrays in a large request: each takes 100 to 400 bytes of memory, and
# several times the ten thousands that administrators and exporters ask for are enough.
ELEMENTS_MAX: Final = 100_000
# The limit for responses to short requests that ask for much (such as one large group many times).
# librdkafka accepts no larger responses (receive.message.max.bytes).
MAX_ANSWER_BYTES: Final = 100_000_000
# APIs with a payload: records, metadata of members, assignments, metrics.
CARRYING_KEYS: Final = frozenset((PRODUCE_KEY, 11, 14, 72))
# APIs whose handlers may keep parts of a request or response.
KEEPING_KEYS: Final = frozenset((PRODUCE_KEY, 11, 14, 68, 72))
# APIs whose response has an error for each item of the request (``refusals``).
ERROR_PER_ITEM_KEYS: Final = frozenset((19, 20, 30, 31, 33, 37, 43, 44, 45, 46, 49, 51))
# Lists of at most this length are freed with what they are in.
FEW_ITEMS: Final = 20

logger = logging.getLogger(__name__)

R = TypeVar("R")


class Response(Protocol):
    """The interface of every generated response class."""

    def encode_parts(self, writer_prefix: bytes, version: int) -> list[Part]: ...


def answer_too_large() -> ApiError:
    """The error that replaces the part of a response beyond ``MAX_ANSWER_BYTES``."""
    message = f"the answer would exceed {MAX_ANSWER_BYTES} bytes: ask for fewer at a time"
    return ApiError(ErrorCode.INVALID_REQUEST, message)


class Origin:
    """The client whose request a broker has forwarded, and that broker (-1 if unknown)."""

    __slots__ = ("broker_id", "client_host", "principal")

    def __init__(self, principal: str, client_host: str, broker_id: int) -> None:
        self.principal = principal
        self.client_host = client_host
        self.broker_id = broker_id


class RequestContext:
    """The session, client and version of a request."""

    __slots__ = (
        "api_version",
        "client_id",
        "dispatcher",
        "frame",
        "header",
        "is_large",
        "origin",
        "session",
    )

    def __init__(self, dispatcher: "Dispatcher", session: Session, header: RequestHeader) -> None:
        self.dispatcher = dispatcher
        self.session = session
        self.header = header
        self.api_version = header.api_version
        self.client_id = header.client_id
        # Whether the response is encoded by a thread.
        self.is_large = False
        # The request as it was sent, if its handler may have to forward it.
        self.frame = b""
        # Who sent the request, if a broker has forwarded it.
        self.origin: Origin | None = None

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
    [Any, RequestContext], "Response | Awaitable[Response | None] | Overlapping | None"
]


class Handler:
    """One API that a listener serves: its supported versions, and what handles it."""

    __slots__ = (
        "_decode",
        "handle",
        "is_advertised",
        "is_forwarded",
        "key",
        "max_version",
        "min_version",
        "name",
    )

    def __init__(
        self,
        name: str,
        key: int,
        handle: Handle,
        is_advertised: bool = True,
        is_forwarded: bool = False,
    ) -> None:
        """``is_forwarded`` means that the handler needs the request as it was sent."""
        api = APIS[key]
        assert api.name == name, f"API {key} is {api.name}, not {name}"
        self.name = name
        self.key = key
        self.handle = handle
        self.is_forwarded = is_forwarded
        self.min_version = api.min_version
        self.max_version = api.newest_stable_version
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

    def error_response(self, error: ApiError, request: Any, version: int) -> Response:
        """The response to a request that failed with ``error`` as a whole.

        Raises:
            CloseConnection: the response of this API has no place for it.
        """
        if self.key in ERROR_PER_ITEM_KEYS:
            # Imported when it is first needed: it imports the messages of all these APIs.
            from moldau.broker.refusals import refusal

            return refusal(self.key, request, version, error)
        response = APIS[self.key].response_class()()
        if not hasattr(response, "error_code"):
            raise CloseConnection(f"{self.name}: {error} ({error.code.name})")
        response.error_code = error.code
        if hasattr(response, "error_message"):
            response.error_message = error.message
        return response


class Dispatcher:
    """Handles every frame of every connection of the listeners that serve the same APIs."""

    def __init__(
        self,
        handlers: Iterable[Handler],
        turns: Turns,
        *,
        executor: Executor | None = None,
    ) -> None:
        """Without an executor it starts its own threads, when they are first needed."""
        self.handlers = {handler.key: handler for handler in handlers}
        self.turns = turns
        self._threads = executor

    def handle(self, session: Session, frame: bytes) -> Handled:
        header, position = decode_request_header(frame)
        version = header.api_version
        handler = self.handlers.get(header.api_key)
        if handler is None or not handler.min_version <= version <= handler.max_version:
            return self._unsupported(header)

        context = RequestContext(self, session, header)
        if handler.is_forwarded:
            context.frame = frame
        prefix = response_header(header.correlation_id, header.api_key, version)
        if len(frame) > LARGE_REQUEST_BYTES and _is_large(header.api_key, len(frame)):
            return self._handle_large(handler, frame, position, prefix, context)
        request = handler.decode(frame, position, version)
        try:
            result = handler.handle(request, context)
        except ApiError as error:
            result = handler.error_response(error, request, version)
        if result is None:
            return None
        # The most common case first: compiled code calls this method without a look-up.
        if isinstance(result, Message):
            return result.encode_parts(prefix, version)
        # isinstance(result, Awaitable) would cost more than the rest of this function.
        if hasattr(result, "encode_parts"):
            return result.encode_parts(prefix, version)
        # Most requests are not kept until the reply: they may be large.
        kept = request if handler.key in ERROR_PER_ITEM_KEYS else None
        if isinstance(result, Overlapping):
            return Overlapping(self._reply_later(handler, result.awaitable, prefix, context, kept))
        return self._reply_later(handler, result, prefix, context, kept)

    async def _reply_later(
        self,
        handler: Handler,
        result: Awaitable[Any],
        prefix: bytes,
        context: RequestContext,
        request: Any,
    ) -> Reply:
        response: Response | None
        try:
            response = await result
        except ApiError as error:
            response = handler.error_response(error, request, context.api_version)
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
            max_bytes = COMMIT_MAX_BYTES if handler.key == OFFSET_COMMIT_KEY else NAMES_MAX_BYTES
            if len(frame) > max_bytes:
                raise CloseConnection(
                    f"{handler.name} of {len(frame)} bytes: at most {max_bytes} are read of a "
                    "request that only names things; ask for fewer at a time"
                )
        version = context.api_version
        context.is_large = True
        request = await self.decode_large(handler, frame, position, version)
        result: Any
        try:
            result = handler.handle(request, context)
        except ApiError as error:
            result = handler.error_response(error, request, version)
        if result is None:
            return None
        reply: Reply
        if hasattr(result, "encode_parts"):
            reply = await self._encode_large(handler, result, prefix, version)
        else:
            reply = await self._reply_later(handler, result, prefix, context, request)
        if handler.key not in KEEPING_KEYS:
            await self.turns.complete(_dropping(request))
        return reply

    async def _encode_large(
        self, handler: Handler, response: Response, prefix: bytes, version: int
    ) -> Reply:
        parts = await self.in_thread(response.encode_parts, prefix, version)
        # The coordinator may keep the metadata and assignments of group members.
        if handler.key not in KEEPING_KEYS:
            await self.turns.complete(_dropping(response))
        return parts

    async def decode_large(
        self, handler: Handler, frame: bytes, position: int, version: int
    ) -> Any:
        """The request in ``frame``, decoded by a thread.

        Raises:
            MalformedMessage: it cannot be decoded, or has more than ``ELEMENTS_MAX`` elements.
        """
        decode = handler.decode
        return await self.in_thread(
            with_elements_max, ELEMENTS_MAX, decode, frame, position, version
        )

    async def in_thread(self, work: Callable[..., R], *arguments: object) -> R:
        """The result of ``work``, which must not use shared state."""
        if self._threads is None:
            self._threads = ThreadPoolExecutor(LARGE_REQUEST_THREADS, "moldau-large-requests")
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._threads, work, *arguments)

    def _unsupported(self, header: RequestHeader) -> Reply:
        """An unsupported ApiVersions gets a version 0 response with its own versions (KIP-511)."""
        if header.api_key == API_VERSIONS_KEY:
            response = own_versions(self.handlers[API_VERSIONS_KEY])
            return response.encode_parts(
                response_header(header.correlation_id, API_VERSIONS_KEY, 0), 0
            )
        api = APIS.get(header.api_key)
        name = api.name if api is not None else f"API key {header.api_key}"
        raise CloseConnection(f"{name} version {header.api_version} is not supported here")


def _dropping(struct: object) -> Steps[None]:
    """Free the contents of a large message that is no longer needed, the innermost lists first."""
    for name in _lists_in(struct):
        items = getattr(struct, name)
        # Items are alike: if the first one has no lists, none has.
        nested = _lists_in(items[0]) if items else []
        for begin in range(0, len(items) if nested else 0, DROPPED_PER_STEP):
            for item in items[begin : begin + DROPPED_PER_STEP]:
                if max([len(getattr(item, each) or ()) for each in nested]) > FEW_ITEMS:
                    yield from _dropping(item)
            yield
        yield from dropping(items)


def _lists_in(struct: object) -> list[str]:
    names = struct.FIELDS if isinstance(struct, Struct) else ()
    return [
        name
        for name in names
        # What is packed has no items to free, and reading the attribute would make them.
        if getattr(struct, f"packed_{name}", None) is None
        and isinstance(getattr(struct, name), list)
    ]


def _is_large(api_key: int, size_bytes: int) -> bool:
    """Whether a request above ``LARGE_REQUEST_BYTES`` is decoded by a thread."""
    if api_key in (PRODUCE_KEY, ENVELOPE_KEY):
        # Most of it is bytes that are not decoded.
        return False
    return api_key != FETCH_KEY or size_bytes > LARGE_FETCH_BYTES


class ListenerRouter:
    """Routes requests by listener: clients get the APIs of the broker, controllers their own."""

    def __init__(self, dispatchers: Mapping[str, Dispatcher]) -> None:
        self._dispatchers = dict(dispatchers)

    def handle(self, session: Session, frame: bytes) -> Handled:
        return self._dispatchers[session.listener].handle(session, frame)
