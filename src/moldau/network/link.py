"""One established connection to another node: requests out, responses in, matched by order.

A link lives from connect to close and is never reused; ``outbound`` opens another when it is lost.

Rules this module keeps:

* Responses come in the order of the requests, each with its correlation id. Anything else means
  that the two sides disagree about the stream, and the link is closed.
* When the link closes, every request in flight fails at once, with the reason.
* A request that is not answered in time closes the link, as in Kafka's client: the peer may be
  hanging, and the responses behind the late one would be late as well.
"""

import asyncio
from collections import deque
from collections.abc import Callable
from typing import Final, cast

from moldau.errors import ApiError, ErrorCode
from moldau.network.frames import FrameReader, SharedBuffer
from moldau.network.outgoing import SOFTWARE_NAME, Disconnected, OutboundSettings, Pending
from moldau.network.session import CloseConnection
from moldau.network.writer import TransportWriter, Writer
from moldau.protocol.api import APIS
from moldau.protocol.header import decode_response_header, encode_request_header
from moldau.protocol.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from moldau.protocol.primitives import MalformedMessage, Message
from moldau.version import VERSION

_API_VERSIONS_KEY: Final = 18
_UNSUPPORTED_VERSION: Final = int(ErrorCode.UNSUPPORTED_VERSION)
_MAX_CORRELATION_ID: Final = 0x7FFFFFFF


class Link(asyncio.BufferedProtocol):
    """The protocol object of one outgoing connection."""

    def __init__(
        self,
        peer: str,
        settings: OutboundSettings,
        buffer: SharedBuffer,
        on_room: Callable[[], None],
        on_closed: Callable[["Link", Disconnected], None],
    ) -> None:
        self.peer = peer
        self.is_closed = False
        self.versions: dict[int, tuple[int, int]] = {}
        """The versions that the peer supports, by API key, if they were negotiated."""
        self._settings = settings
        self._on_room = on_room
        self._on_closed = on_closed
        self._reader = FrameReader(buffer, settings.response_max_bytes, is_response=True)
        self._writer: Writer = Writer()
        self._transport: asyncio.Transport | None = None
        self._in_flight: deque[Pending] = deque()
        self._correlation_id = 0

    # --- called by the event loop ---

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        if self.is_closed:
            self._transport.abort()
            return
        self._writer = TransportWriter(self._transport)

    def get_buffer(self, sizehint: int) -> memoryview:
        return self._reader.get_buffer()

    def buffer_updated(self, nbytes: int) -> None:
        if self.is_closed:
            return
        reader = self._reader
        reader.received(nbytes)
        try:
            while not self.is_closed:
                frame = reader.next_frame()
                if frame is None:
                    break
                self._on_response(frame)
        except CloseConnection as error:
            self.close(f"{self.peer} does not answer like a Kafka node: {error.reason}")
        except MalformedMessage as error:
            self.close(f"{self.peer} sent a malformed response: {error}")
        if not self.is_closed:
            reader.end_burst()
            self._on_room()

    def eof_received(self) -> bool:
        # No response can come any more, so there is nothing to stay open for.
        self.close(f"{self.peer} closed the connection")
        return False

    def connection_lost(self, exc: Exception | None) -> None:
        why = f": {exc}" if exc is not None else ""
        self.close(f"the connection to {self.peer} was lost{why}", exc)
        self._transport = None

    def pause_writing(self) -> None:
        if isinstance(self._writer, TransportWriter):
            self._writer.set_paused(True)

    def resume_writing(self) -> None:
        if isinstance(self._writer, TransportWriter):
            self._writer.set_paused(False)
            self._writer.flush()
            self._on_room()

    # --- called by ``outbound`` ---

    @property
    def has_room(self) -> bool:
        """Whether another request may be sent now."""
        if self.is_closed or len(self._in_flight) >= self._settings.max_in_flight:
            return False
        return self._writer.unsent_bytes <= self._settings.unsent_max_bytes

    @property
    def in_flight(self) -> int:
        return len(self._in_flight)

    def transmit(self, pending: Pending) -> None:
        """Send a request; its future gets the response, or the reason why there is none."""
        assert pending.request is not None, "a request is sent once"
        try:
            version = pending.version
            if version is None:
                version = pending.version = self.version_of(pending.key)
            self._correlation_id = (self._correlation_id + 1) & _MAX_CORRELATION_ID
            correlation_id = pending.correlation_id = self._correlation_id
            client_id = self._settings.client_id
            header = encode_request_header(pending.key, version, correlation_id, client_id)
            parts = pending.request.encode_parts(header, version)
        except (ApiError, ValueError) as error:
            # The request cannot be expressed in that version: nothing was sent.
            pending.fail(error)
            return
        # It may be large, and only its response is of interest now.
        pending.request = None
        self._in_flight.append(pending)
        self._writer.write(parts)
        self._writer.flush()

    def version_of(self, api_key: int) -> int:
        """The newest version of an API that both sides support.

        Raises:
            ApiError: UNSUPPORTED_VERSION, naming the API, if there is none.
        """
        api = APIS[api_key]
        ours = api.newest_stable_version
        if not self.versions:
            return ours
        lowest, highest = self.versions.get(api_key, (0, -1))
        version = min(ours, highest)
        if version < max(lowest, api.min_version):
            theirs = f"versions {lowest} to {highest}" if highest >= 0 else "no version"
            raise ApiError(
                ErrorCode.UNSUPPORTED_VERSION,
                f"{api.name}: {self.peer} supports {theirs}, this node versions "
                f"{api.min_version} to {ours}",
            )
        return version

    async def request(self, request: Message, version: int) -> Message:
        """Send a request of the connection itself, before it is used, and await the response."""
        future: asyncio.Future[Message] = asyncio.get_running_loop().create_future()
        self.transmit(Pending(request, version, future))
        return await future

    async def negotiate(self) -> None:
        """Ask for the versions; a peer too old for our ApiVersions answers in version 0."""
        version = APIS[_API_VERSIONS_KEY].max_version
        while True:
            asked = ApiVersionsRequest(SOFTWARE_NAME, VERSION)
            response = await self.request(asked, version)
            assert isinstance(response, ApiVersionsResponse)
            found = {
                each.api_key: (each.min_version, each.max_version) for each in response.api_keys
            }
            if response.error_code == ErrorCode.NONE:
                self.versions = found
                return
            offered = found.get(_API_VERSIONS_KEY, (0, 0))[1]
            if response.error_code != ErrorCode.UNSUPPORTED_VERSION or offered >= version:
                raise ApiError(ErrorCode(response.error_code), f"{self.peer} refused ApiVersions")
            version = offered

    def close(self, reason: str, cause: BaseException | None = None) -> None:
        """Close the connection and fail every request in flight with ``reason``."""
        if self.is_closed:
            return
        self.is_closed = True
        self._writer.close()
        if self._transport is not None:
            if self._transport.get_write_buffer_size():
                # A graceful close could wait forever for a peer that does not read.
                self._transport.abort()
            else:
                self._transport.close()
        failed = list(self._in_flight)
        self._in_flight.clear()
        error = Disconnected(reason)
        error.__cause__ = cause
        for pending in failed:
            pending.fail(error)
        self._on_closed(self, error)

    def _on_response(self, frame: bytes) -> None:
        if not self._in_flight:
            self.close(f"{self.peer} sent a response that nobody asked for")
            return
        pending = self._in_flight[0]
        key, version = pending.key, pending.version
        assert version is not None, "a request in flight has a version"
        correlation_id, position = decode_response_header(frame, key, version)
        if correlation_id != pending.correlation_id:
            self.close(
                f"{self.peer} answered request {correlation_id} "
                f"when {pending.correlation_id} was due"
            )
            return
        if key == _API_VERSIONS_KEY and _error_code(frame, position) == _UNSUPPORTED_VERSION:
            version = 0
        response, _ = APIS[key].response_class().decode(frame, position, version)
        self._in_flight.popleft()
        pending.succeed(response)


def _error_code(frame: bytes, position: int) -> int:
    return int.from_bytes(frame[position : position + 2], "big", signed=True)
