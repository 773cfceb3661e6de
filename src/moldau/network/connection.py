"""One client connection: frames in, replies out, in the order of the requests.

Most requests need no task and no future: bytes arrive, the handler replies immediately, and the
replies to all requests that arrived together are sent in one ``send``.

A request that has to wait (such as a fetch waiting for data) mutes its connection, as in Kafka:
later frames are not processed until it is answered. A request whose reply is ``Overlapping`` does
not mute; its reply keeps its place in the queue, and later replies wait behind it.

Rules this module keeps:

* Replies are sent in the order of the requests.
* A burst of requests is processed in time slices (``turns``); other connections are served in
  between.
* Memory is bounded whatever the peer does. Frames are not processed while too many bytes are
  unsent, and not read while too many wait to be processed.
* The socket is read even while a request waits, so that a lost connection is noticed and the
  request is cancelled.
* A peer that closes only its sending side gets its replies before the connection is closed, as in
  Kafka. TCP does not reveal whether the peer still reads, so its requests may wait as long as they
  asked for, but not longer than ``connections.max.idle.ms``.
* A connection is closed for one reason, logged in one line.
"""

import asyncio
import errno
import logging
import socket
from collections import deque
from collections.abc import Callable
from typing import cast

from moldau.network.frames import WINDOW_BYTES, FrameReader, SharedBuffer
from moldau.network.limits import ServerLimits
from moldau.network.session import CloseConnection, Handled, Handler, Overlapping, Reply, Session
from moldau.network.turns import Turns
from moldau.network.writer import SocketWriter, TransportWriter, Writer
from moldau.protocol.primitives import FileRegion, MalformedMessage

_PEER_CLOSED = "the peer closed the connection"
_UNREACHABLE = (errno.ETIMEDOUT, errno.EHOSTUNREACH, errno.ENETUNREACH)


class ConnectionContext:
    """The objects that all connections of one server share."""

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        handler: Handler,
        limits: ServerLimits,
        logger: logging.Logger,
        on_closed: Callable[["Connection"], None],
        turns: Turns | None = None,
    ) -> None:
        self.loop = loop
        self.handler = handler
        self.limits = limits
        self.logger = logger
        self.on_closed = on_closed
        self.shared_buffer = SharedBuffer()
        self.turns = turns or Turns()


class _Pending:
    """The place of a reply that cannot be sent yet."""

    __slots__ = ("future", "parked_bytes", "reply")

    def __init__(self, future: "asyncio.Future[Reply] | None", reply: Reply) -> None:
        self.future = future
        self.reply = reply
        self.parked_bytes = 0


class Connection(asyncio.BufferedProtocol):
    """The protocol object of one connection.

    With ``sock`` (plaintext) the connection writes to that socket directly, otherwise through its
    transport.
    """

    def __init__(
        self, context: ConnectionContext, session: Session, sock: socket.socket | None
    ) -> None:
        self.session = session
        self.last_active = context.loop.time()
        self._context = context
        self._handle = context.handler.handle
        self._loop = context.loop
        self._now = context.turns.now
        self._unsent_max_bytes = context.limits.unsent_max_bytes
        self._overlapping_max = context.limits.overlapping_max
        self._reader = FrameReader(context.shared_buffer, context.limits.request_max_bytes)
        self.socket = sock
        self._transport: asyncio.Transport | None = None
        self._writer: Writer = Writer()
        # Replies in request order, all waiting for the first of them.
        self._in_flight: deque[_Pending] = deque()
        self._parked_bytes = 0
        self._muted_by: asyncio.Future[Reply] | None = None
        self._is_paused = False
        self._is_scheduled = False
        # Its time slice is used up; the remaining frames wait for the next one.
        self._awaits_turn = False
        # The end of the time slice of a burst of large frames; -1 if there is none.
        self._burst_end = -1.0
        # Such a burst has used up its slice: reading waits for the next one as well.
        self._is_burst_over = False
        self._is_draining = False
        # The peer has closed its sending side.
        self._is_half_closed = False
        # Draining or half closed: the connection is closed when all replies have been sent.
        self._is_ending = False
        self._is_closed = False

    # --- called by the event loop ---

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        stream = cast(asyncio.Transport, transport)
        self._transport = stream
        if self._is_closed:
            stream.abort()
            return
        if self.socket is not None:
            self._writer = SocketWriter(self._loop, self.socket, self._on_writable)
        else:
            self._writer = TransportWriter(stream)
        self.session.connected(self.close)
        if self._is_draining:
            self.drain()

    def get_buffer(self, sizehint: int) -> memoryview:
        return self._reader.get_buffer()

    def buffer_updated(self, nbytes: int) -> None:
        if self._is_closed:
            return
        self._reader.received(nbytes)
        # After a read that fills its buffer, uvloop reads again in the same iteration of the loop,
        # up to 32 times. Large frames arrive in this way, and must share one time slice.
        if nbytes >= WINDOW_BYTES:
            if self._burst_end < 0.0:
                self._burst_end = self._now() + self._context.turns.share_s
        elif self._burst_end > 0.0 and not self._reader.is_large_complete:
            self._burst_end = -1.0
        self._process()
        # After the reply has been sent, which is more urgent.
        self.last_active = self._loop.time()

    def eof_received(self) -> bool:
        """Return whether the transport stays open, because replies are still to be sent."""
        self._is_half_closed = self._is_ending = True
        self._call(self.session.peer_closed())
        if self._transport is not None and self._transport.can_write_eof():
            self._process_waiting()
        else:
            # TLS: the loop's transports do not support half-closed connections.
            self._close(_PEER_CLOSED, logging.DEBUG)
        return not self._is_closed

    def connection_lost(self, exc: Exception | None) -> None:
        why = f": {exc}" if exc is not None else ""
        self._close(f"the connection was lost{why}", logging.DEBUG)
        self._transport = None

    def pause_writing(self) -> None:
        if isinstance(self._writer, TransportWriter):
            self._writer.set_paused(True)

    def resume_writing(self) -> None:
        if isinstance(self._writer, TransportWriter):
            self._writer.set_paused(False)
            self._on_writable()

    # --- called by the server and by the session ---

    @property
    def is_busy(self) -> bool:
        """Whether a request is waiting or in progress, or a reply is not completely sent."""
        return bool(self._in_flight) or self._awaits_turn or self._writer.unsent_bytes > 0

    @property
    def is_waiting_for_broker(self) -> bool:
        """Whether the peer is waiting for a reply, so that its connection is not idle.

        A peer that has closed its sending side does not count: it may be gone.
        """
        if self._is_half_closed:
            return False
        is_ours = bool(self._in_flight) or self._awaits_turn
        return is_ours and self._writer.unsent_bytes == 0

    @property
    def has_unsent(self) -> bool:
        """Whether a reply is waiting for the peer to read."""
        return self._writer.unsent_bytes > 0

    @property
    def held_bytes(self) -> int:
        """Memory this connection holds: frames not processed and replies not sent."""
        return self._reader.held_bytes + self._writer.unsent_bytes + self._parked_bytes

    def close(self, reason: str, level: int = logging.INFO) -> None:
        """Close the connection now, after sending as many queued bytes as the peer accepts."""
        self._close(reason, level)

    def drain(self) -> None:
        """Accept no further requests; close when all pending replies have been sent."""
        self._is_draining = self._is_ending = True
        if self._transport is not None:
            if not self._is_half_closed:
                self._pause(True)
            self._close_if_answered()

    # --- requests ---

    def _process(self) -> None:
        """Handle the received frames as far as possible now, then send the replies."""
        reader = self._reader
        share_end = -1.0
        try:
            while not self._must_wait():
                frame = reader.next_frame()
                if frame is None:
                    break
                self._accept(self._handle(self.session, frame))
                # Most clients send single requests, for which the clock is not read.
                if share_end > 0.0:
                    if self._now() >= share_end:
                        self._await_turn()
                elif share_end < 0.0:
                    share_end = 0.0
                else:
                    share_end = self._now() + self._context.turns.share_s
            if self._burst_end > 0.0 and self._now() >= self._burst_end:
                self._burst_end = -1.0
                self._is_burst_over = True
                self._await_turn()
        except (Exception, asyncio.CancelledError) as error:
            self._fail(error)
        if self._is_closed:
            return
        reader.end_burst()
        self._flush()
        if self._is_ending:
            self._close_if_answered()
        elif self._is_paused is not (reader.must_pause or self._is_burst_over):
            self._pause(not self._is_paused)

    def _process_waiting(self) -> None:
        """Continue with frames that were set aside."""
        self._is_scheduled = False
        if not self._is_closed:
            self._reader.begin_waiting()
            self._process()

    def _await_turn(self) -> None:
        """Leave the remaining frames to a later iteration of the loop."""
        if not self._awaits_turn:
            self._awaits_turn = True
            self._context.turns.later(self._on_turn)

    def _on_turn(self) -> None:
        self._awaits_turn = self._is_burst_over = False
        self._process_waiting()

    def _must_wait(self) -> bool:
        """Whether the next frame has to wait: for a time slice, or for earlier replies."""
        if self._muted_by is not None or self._awaits_turn:
            return True
        if self._is_closed or self._is_draining:
            return True
        if self._writer.unsent_bytes + self._parked_bytes > self._unsent_max_bytes:
            self._flush()
            if self._is_closed:
                return True
            unsent_bytes = self._writer.unsent_bytes + self._parked_bytes
            return unsent_bytes > self._unsent_max_bytes
        return len(self._in_flight) >= self._overlapping_max

    def _accept(self, handled: Handled) -> None:
        """Process the result of the handler for one frame."""
        if isinstance(handled, list):
            if not self._in_flight:
                self._writer.write(handled)
            else:
                self._park(handled)
        elif handled is not None:
            self._wait_for(handled)

    def _park(self, reply: Reply) -> None:
        pending = _Pending(None, reply)
        for part in reply or ():
            if not isinstance(part, FileRegion):
                pending.parked_bytes += len(part)
        self._parked_bytes += pending.parked_bytes
        self._in_flight.append(pending)

    def _wait_for(self, handled: Handled) -> None:
        is_overlapping = isinstance(handled, Overlapping)
        awaitable = handled.awaitable if isinstance(handled, Overlapping) else handled
        future: asyncio.Future[Reply]
        if isinstance(awaitable, asyncio.Future):
            future = awaitable
        else:
            future = asyncio.ensure_future(awaitable, loop=self._loop)  # type: ignore[arg-type]
        if future.done() and not self._in_flight:
            self._accept(future.result())
            return
        self._in_flight.append(_Pending(future, None))
        if not future.done():
            future.add_done_callback(self._on_done)
            if not is_overlapping:
                self._muted_by = future

    def _on_done(self, future: "asyncio.Future[Reply]") -> None:
        if self._is_closed:
            if not future.cancelled():
                future.exception()  # so that asyncio does not report it as never retrieved
            return
        is_muting = future is self._muted_by
        if is_muting:
            self._muted_by = None
        try:
            self._release_replies()
        except (Exception, asyncio.CancelledError) as error:
            self._fail(error)
            return
        if is_muting:
            self._process_waiting()
        elif not self._is_scheduled:
            # Acknowledgements of one append complete together: send them together.
            self._is_scheduled = True
            self._loop.call_soon(self._process_waiting)

    def _release_replies(self) -> None:
        """Move replies to the writer, up to the first that is not ready."""
        in_flight = self._in_flight
        while in_flight:
            pending = in_flight[0]
            reply = pending.reply
            if pending.future is not None:
                if not pending.future.done():
                    return
                reply = pending.future.result()
            in_flight.popleft()
            self._parked_bytes -= pending.parked_bytes
            if reply is not None:
                self._writer.write(reply)

    # --- replies ---

    def _flush(self) -> None:
        try:
            self._writer.flush()
        except OSError as error:
            self._fail_to_write(error)

    def _on_writable(self) -> None:
        if self._is_closed:
            return
        try:
            self._writer.flush(is_writable=True)
        except OSError as error:
            self._fail_to_write(error)
            return
        self.last_active = self._loop.time()
        if self._writer.unsent_bytes <= self._unsent_max_bytes // 2:
            self._process_waiting()

    def _pause(self, is_paused: bool) -> None:
        assert self._transport is not None, "a connection that reads has a transport"
        self._is_paused = is_paused
        if is_paused:
            self._transport.pause_reading()
        else:
            self._transport.resume_reading()

    # --- closing ---

    def _fail(self, error: BaseException) -> None:
        """Close because a handler (or its awaitable) raised ``error``."""
        if isinstance(error, CloseConnection):
            self._close(error.reason, logging.WARNING)
        elif isinstance(error, MalformedMessage):
            self._close(f"malformed request: {error}", logging.WARNING)
        elif isinstance(error, asyncio.CancelledError):
            self._close("the request under way was cancelled", logging.INFO)
        else:
            self._close("the broker failed to handle a request", logging.ERROR, error)

    def _fail_to_write(self, error: OSError) -> None:
        """Close because queued bytes cannot be sent; they are lost."""
        self._writer.close()
        if isinstance(error, ConnectionError) or error.errno in _UNREACHABLE:
            self._close(f"the peer is gone: {error.strerror}", logging.DEBUG)
        else:
            self._close(f"a reply could not be sent: {error}", logging.ERROR)

    def _close_if_answered(self) -> None:
        """Close the connection unless it is busy.

        If it is not, no complete frame is waiting either: frames wait only for a time slice or for
        replies.
        """
        if not self._is_closed and not self.is_busy:
            reason = "the server is stopping" if self._is_draining else _PEER_CLOSED
            self._close(reason, logging.DEBUG)

    def _close(self, reason: str, level: int, error: BaseException | None = None) -> None:
        if self._is_closed:
            return
        self._is_closed = True
        session = self.session
        self._context.logger.log(
            level,
            "Connection from %s on listener %s closed: %s",
            session.peer,
            session.listener,
            reason,
            exc_info=error,
        )
        self._let_go()
        self._call(session.disconnected())
        self._context.on_closed(self)

    def _call(self, callbacks: list[Callable[[], None]]) -> None:
        for callback in callbacks:
            try:
                callback()
            except Exception:
                peer = self.session.peer
                self._context.logger.exception("A close callback of %s failed", peer)

    def _let_go(self) -> None:
        """Send without waiting, cancel pending requests, and close the transport."""
        try:
            if self._transport is not None:
                self._writer.flush()
        except OSError as error:
            self._context.logger.debug("Last bytes to %s lost: %s", self.session.peer, error)
        self._writer.close()
        for pending in self._in_flight:
            if pending.future is not None and not pending.future.done():
                # Later: a task cancelled before its first step never awaits what it was made from.
                self._loop.call_soon(pending.future.cancel)
        self._in_flight.clear()
        self._parked_bytes = 0
        self._muted_by = None
        if self._transport is not None:
            if self._transport.get_write_buffer_size():
                # A graceful close could wait forever for a peer that does not read.
                self._transport.abort()
            else:
                self._transport.close()
