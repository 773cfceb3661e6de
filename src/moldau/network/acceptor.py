"""Accepts connections on one listening socket.

The server calls ``accept`` itself, instead of the event loop, for two reasons: a listener at its
limit of connections, or of their rate, must stop accepting, so that new connections wait in the
backlog as in Kafka; and a connection needs its socket to write to it directly.

Connections must not use up the file descriptors: a broker that cannot open its files cannot serve
the connections it has. One too many is closed immediately, as if ``ulimit -n`` were reached.
"""

import asyncio
import contextlib
import errno
import logging
import resource
import socket
import sys
from typing import Any

from moldau.network.listening import plain_ip
from moldau.network.network import Admission, Incoming
from moldau.timers import call_after

# Other work must not wait while thousands of clients reconnect at the same time.
ACCEPTS_PER_TURN = 32
RETRY_S = 1.0

# File descriptors reserved for files and everything else besides connections: an eighth of the
# limit, within these bounds.
MOST_RESERVED = 256
LEAST_RESERVED = 16
_OUT_OF_RESOURCES = (errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM)


class AcceptedSocket:
    """A connection as the kernel accepted it."""

    def __init__(self, loop: asyncio.AbstractEventLoop, sock: socket.socket, address: Any) -> None:
        self.peer_host = plain_ip(address[0])
        self.peer_port: int = address[1]
        self.socket: socket.socket | None = sock
        self._loop = loop
        self._accepted = sock

    async def attach(self, protocol: asyncio.BaseProtocol) -> None:
        sock = self._accepted
        sock.setblocking(False)
        with contextlib.suppress(OSError):  # the peer may be gone already
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        try:
            await self._loop.connect_accepted_socket(lambda: protocol, sock)
        except BaseException:
            sock.close()
            raise

    def close(self) -> None:
        self._accepted.close()


class Acceptor:
    """Watches one listening socket and passes accepted connections to ``admission``."""

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        listener: str,
        sock: socket.socket,
        admission: Admission,
        logger: logging.Logger,
    ) -> None:
        self.listener = listener
        self.port: int = sock.getsockname()[1]
        self._loop = loop
        self._socket = sock
        self._admission = admission
        self._logger = logger
        self._is_watching = False
        self._is_closed = False
        self._highest_fd = _highest_fd()
        self._was_refusing = False
        self._retry: asyncio.TimerHandle | None = None
        # Accepted, but above the connection rate: it waits, and so do all after it.
        self._held: Incoming | None = None

    def resume(self) -> None:
        """Start accepting, unless it is paused or at its limit; may be called repeatedly."""
        if self._is_closed or self._is_watching or self._retry is not None:
            return
        admission = self._admission
        if self._held is not None and admission.has_room(self.listener):
            incoming, self._held = self._held, None
            admission.admit(self.listener, incoming)
        # ``admit`` may have closed another connection, and so called this method.
        if not self._is_watching and admission.has_room(self.listener):
            self._loop.add_reader(self._socket.fileno(), self._on_readable)
            self._is_watching = True

    def close(self) -> None:
        self._pause()
        self._is_closed = True
        if self._retry is not None:
            self._retry.cancel()
            self._retry = None
        if self._held is not None:
            self._held.close()
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
            if not self._admission.has_room(self.listener):
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
            incoming = AcceptedSocket(self._loop, sock, address)
            wait_ms = self._admission.wait_ms(self.listener)
            if wait_ms:
                self._held = incoming
                self._pause_for(wait_ms / 1000)
                return
            self._admission.admit(self.listener, incoming)

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
        # The connection stays in the backlog and the socket readable: a watch would busy-loop.
        self._pause_for(RETRY_S)

    def _pause_for(self, delay_s: float) -> None:
        self._pause()
        self._retry = call_after(1000 * delay_s, self._try_again)

    def _try_again(self) -> None:
        self._retry = None
        self.resume()


def _highest_fd() -> int:
    """The highest descriptor for a connection: the kernel assigns the lowest free one."""
    limit, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if limit == resource.RLIM_INFINITY:
        return sys.maxsize
    return limit - max(LEAST_RESERVED, min(MOST_RESERVED, limit // 8))
