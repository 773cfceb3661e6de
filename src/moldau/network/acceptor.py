"""Accepting connections on one listening socket.

The server accepts by itself, rather than leave it to the loop, for two reasons: a
listener that is full, or whose clients come too fast, must stop accepting, so that
newcomers wait in the backlog as they do with Kafka; and a connection writes to its socket
directly, for which it needs it.

Connections must not take the last descriptors: a broker that cannot open its files cannot
serve those it has. One too many is closed at once, as it would be if the limit were reached.
"""

import asyncio
import errno
import logging
import resource
import socket
import sys
from collections.abc import Callable
from typing import Any

# Others want their turn when thousands of clients come back at once.
ACCEPTS_PER_TURN = 32
RETRY_S = 1.0

# Descriptors that connections leave to files, and to whatever else has to be opened: an eighth
# of the limit, within these bounds.
MOST_RESERVED = 256
LEAST_RESERVED = 16
_OUT_OF_RESOURCES = (errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM)


class Acceptor:
    """Watches one listening socket and hands accepted ones to ``on_accept``.

    ``wait_ms`` is asked once for each connection how long it has to wait.
    """

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        listener: str,
        sock: socket.socket,
        has_room: Callable[[str], bool],
        wait_ms: Callable[[str], int],
        on_accept: Callable[[str, socket.socket, Any], None],
        logger: logging.Logger,
    ) -> None:
        self.listener = listener
        self.port: int = sock.getsockname()[1]
        self._loop = loop
        self._socket = sock
        self._has_room = has_room
        self._wait_ms = wait_ms
        self._on_accept = on_accept
        self._logger = logger
        self._is_watching = False
        self._is_closed = False
        self._highest_fd = _highest_fd()
        self._was_refusing = False
        self._retry: asyncio.TimerHandle | None = None
        # Accepted, but one too many of late: it waits, and all that come after it.
        self._held: tuple[socket.socket, Any] | None = None

    def resume(self) -> None:
        """Accept if there is room; nothing changes if the socket is watched already."""
        if self._is_closed or self._is_watching or self._retry is not None:
            return
        if self._held is not None and self._has_room(self.listener):
            (sock, address), self._held = self._held, None
            self._on_accept(self.listener, sock, address)
        # It may have pushed out another connection, and that have called this method.
        if not self._is_watching and self._has_room(self.listener):
            self._loop.add_reader(self._socket.fileno(), self._on_readable)
            self._is_watching = True

    def close(self) -> None:
        self._pause()
        self._is_closed = True
        if self._retry is not None:
            self._retry.cancel()
            self._retry = None
        if self._held is not None:
            self._held[0].close()
            self._held = None
        self._socket.close()

    def _pause(self) -> None:
        if self._is_watching:
            self._loop.remove_reader(self._socket.fileno())
            self._is_watching = False

    def _on_readable(self) -> None:
        for _ in range(ACCEPTS_PER_TURN):
            if self._is_closed:
                return
            if not self._has_room(self.listener):
                self._logger.warning(
                    "Listener %s has as many connections as max.connections allows; "
                    "new ones wait until others close",
                    self.listener,
                )
                self._pause()
                return
            try:
                sock, address = self._socket.accept()
            except (BlockingIOError, InterruptedError, ConnectionAbortedError):
                return
            except OSError as error:
                self._on_error(error)
                return
            if sock.fileno() > self._highest_fd:
                self._refuse(sock)
                continue
            self._was_refusing = False
            wait_ms = self._wait_ms(self.listener)
            if wait_ms:
                self._held = (sock, address)
                self._pause_for(wait_ms / 1000)
                return
            self._on_accept(self.listener, sock, address)

    def _refuse(self, sock: socket.socket) -> None:
        sock.close()
        if not self._was_refusing:
            self._was_refusing = True
            self._logger.error(
                "Listener %s refuses connections: what is left of the open files that this process "
                "may have is for its data (raise ulimit -n, or lower max.connections)",
                self.listener,
            )

    def _on_error(self, error: OSError) -> None:
        hint = ""
        if error.errno in _OUT_OF_RESOURCES:
            hint = " (raise the limit of open files, or lower max.connections)"
        self._logger.error(
            "Listener %s cannot accept: %s%s; trying again in %g s",
            self.listener,
            error.strerror,
            hint,
            RETRY_S,
        )
        # The connection stays in the backlog and the socket readable: watching on would spin.
        self._pause_for(RETRY_S)

    def _pause_for(self, delay_s: float) -> None:
        self._pause()
        self._retry = self._loop.call_later(delay_s, self._try_again)

    def _try_again(self) -> None:
        self._retry = None
        self.resume()


def _highest_fd() -> int:
    """The highest number that a connection's descriptor may have: the lowest free one is taken."""
    limit, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if limit == resource.RLIM_INFINITY:
        return sys.maxsize
    return limit - max(LEAST_RESERVED, min(MOST_RESERVED, limit // 8))
