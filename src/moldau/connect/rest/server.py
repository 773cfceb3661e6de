"""Listens for HTTP/1.1, with TLS or without, and hands requests to an ``Application``.

One thread per connection, connections stay open between requests. A request may have a body of
1 MiB at most: configs are small, and whoever sends more has made a mistake that is better named
than read.
"""

import contextlib
import logging
import socket
import ssl
import threading
from collections.abc import Callable, Mapping, Sequence
from http.server import BaseHTTPRequestHandler
from socketserver import TCPServer, ThreadingMixIn
from typing import Any, Final, Self
from urllib.parse import parse_qs, unquote

from moldau.clock import SystemClock
from moldau.connect.config.errors import ConfigError
from moldau.connect.herder_api import Herder
from moldau.connect.listeners import RestListener
from moldau.connect.log_levels import LogLevels
from moldau.connect.plugins import Plugins
from moldau.connect.rest.admin import Loggers
from moldau.connect.rest.application import Application
from moldau.connect.rest.connectors import Connectors
from moldau.connect.rest.messages import REASONS, Request, Response, error
from moldau.connect.rest.plugins import ConnectorPlugins
from moldau.connect.rest.response_headers import ResponseHeaders
from moldau.connect.rest.root import Root
from moldau.connect.rest.tls import ListenerContext, say_goodbye
from moldau.connect.rest_errors import RestError
from moldau.version import VERSION

log = logging.getLogger(__name__)

MAX_BODY_BYTES: Final = 1 << 20
# A connection without a request for so long is closed, as by Kafka's server.
IDLE_TIMEOUT_S: Final = 90.0
# How much of a body that is too large is read, so that the client sees the answer.
_DRAIN_BYTES: Final = 16 << 20
# The first line of a request: method and URL.
_MAX_LINE: Final = 65_536
_RETRY_S: Final = 0.5


class RestServer:
    """The REST API of a worker, from ``start`` to ``close``.

    Args:
        settings: of the worker; those of ``topic.tracking`` and response headers matter here.
        admin_listeners: where ``/admin`` is served: None with the rest, none at all if empty.
        send_on: forwards a request to the worker at a URL.

    Raises:
        OSError: if an address cannot be used.
        ConfigError: if ``response.http.headers.config`` is invalid, or the key of a listener.
    """

    def __init__(
        self,
        herder: Herder,
        plugins: Plugins,
        listeners: Sequence[RestListener],
        settings: Mapping[str, str],
        *,
        levels: LogLevels | None = None,
        admin_listeners: Sequence[RestListener] | None = None,
        send_on: Callable[[Request, str], Response] | None = None,
    ) -> None:
        headers = ResponseHeaders(settings, SystemClock())
        admin = Loggers(herder, levels or LogLevels()).routes()
        routes = [
            *Root(herder).routes(),
            *Connectors(herder, settings).routes(),
            *ConnectorPlugins(herder, plugins).routes(),
        ]
        if admin_listeners is None:
            routes += admin
        public = Application(routes, send_on)
        wanted = [(each, public) for each in listeners]
        wanted += [(each, Application(admin, send_on)) for each in admin_listeners or ()]
        self._listeners: list[_Listener] = []
        try:
            for address, application in wanted:
                self._listeners.append(_Listener(address, application, headers))
        except OSError as problem:
            self.close()
            host, port = address.host or "*", address.port
            message = f"the REST API cannot listen on {host}:{port}: {problem.strerror}"
            raise OSError(problem.errno, f"{message}; see listeners in the properties") from None
        except ConfigError:
            self.close()
            raise

    @property
    def port(self) -> int:
        """The port of the first listener."""
        return self.ports[0]

    @property
    def ports(self) -> list[int]:
        return [listener.server_address[1] for listener in self._listeners]

    def start(self) -> Self:
        for listener in self._listeners:
            listener.start()
        return self

    def close(self) -> None:
        """Answer no more requests; connections are closed."""
        for listener in self._listeners:
            listener.close()

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.close()


class _Listener(ThreadingMixIn, TCPServer):
    daemon_threads = True
    block_on_close = False
    allow_reuse_address = True
    request_queue_size = 128
    server_address: Any

    def __init__(
        self, address: RestListener, application: Application, headers: ResponseHeaders
    ) -> None:
        if ":" in address.host:
            self.address_family = socket.AF_INET6
        self._tls = None if address.tls is None else ListenerContext(address.tls)
        self.application = application
        self.headers = headers
        self._connections: set[socket.socket] = set()
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._closing = threading.Event()
        super().__init__((address.host, address.port), _Connection)

    def start(self) -> None:
        self._thread = threading.Thread(target=self._accept, name="connect-rest", daemon=True)
        self._thread.start()

    def _accept(self) -> None:
        while not self._closing.is_set():
            try:
                connection, address = self.get_request()
            except OSError as problem:
                if not self._closing.is_set():
                    # Out of descriptors, most likely: those in use come back.
                    log.warning("The REST API cannot accept a connection: %s", problem)
                    self._closing.wait(_RETRY_S)
                continue
            self.process_request(connection, address)

    def close(self) -> None:
        self._closing.set()
        if self._thread is not None:
            # Wakes the thread that waits for a connection.
            with contextlib.suppress(OSError):
                self.socket.shutdown(socket.SHUT_RDWR)
            self._thread.join(1)
        self.server_close()
        with self._lock:
            connections = list(self._connections)
        for connection in connections:
            # Not that of TLS, after which a thread that still answers would send plain text.
            with contextlib.suppress(OSError):
                socket.socket.shutdown(connection, socket.SHUT_RDWR)

    def process_request(self, request: Any, client_address: Any) -> None:
        if self._tls is not None:
            try:
                request = self._tls.wrap(request)
            except OSError:
                # The client is gone already.
                self.handle_error(request, client_address)
                self.shutdown_request(request)
                return
        with self._lock:
            self._connections.add(request)
        super().process_request(request, client_address)

    def finish_request(self, request: Any, client_address: Any) -> None:
        # In the thread of the connection: a client that is slow to shake hands delays no other.
        if self._tls is not None:
            self._tls.shake_hands(request)
        super().finish_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        with self._lock:
            self._connections.discard(request)
        if isinstance(request, ssl.SSLSocket):
            say_goodbye(request)
        super().shutdown_request(request)

    def handle_error(self, request: Any, client_address: Any) -> None:
        log.debug("The connection of %s ended", client_address, exc_info=True)


class _Connection(BaseHTTPRequestHandler):
    """Reads requests of one client, one after the other."""

    protocol_version = "HTTP/1.1"
    timeout = IDLE_TIMEOUT_S
    disable_nagle_algorithm = True
    server: _Listener

    def handle_one_request(self) -> None:
        try:
            self.raw_requestline = self.rfile.readline(_MAX_LINE + 1)
            if not self.raw_requestline:
                self.close_connection = True
                return
            if len(self.raw_requestline) > _MAX_LINE:
                self.requestline, self.request_version, self.command = "", "", ""
                self.send_error(414, f"The URL is longer than {_MAX_LINE} characters")
                return
            # It answers what is no HTTP request itself, through ``send_error``.
            if not self.parse_request():
                self.close_connection = True
                return
            self._serve()
        except (TimeoutError, ConnectionError, BrokenPipeError):
            self.close_connection = True

    def _serve(self) -> None:
        try:
            request = self._read_request()
        except RestError as problem:
            self.close_connection = True
            empty = Request(self.command, self.path, ())
            self._send(empty, error(problem.status, problem.message))
            return
        response = self.server.application.handle(request)
        self._send(request, response)

    def _read_request(self) -> Request:
        target, _, query = self.path.partition("?")
        headers = {name.lower(): value for name, value in self.headers.items()}
        return Request(
            self.command,
            self.path,
            _path(target),
            parse_qs(query, keep_blank_values=True),
            headers,
            self._read_body(headers),
        )

    def _read_body(self, headers: Mapping[str, str]) -> bytes:
        if "chunked" in headers.get("transfer-encoding", "").lower():
            return self._read_chunks()
        length = headers.get("content-length", "0").strip()
        if not length.isascii() or not length.isdigit():
            raise RestError(400, f"Invalid Content-Length {length!r}")
        if int(length) > MAX_BODY_BYTES:
            self._drain(int(length))
            raise _too_large(f"{length} bytes")
        return self.rfile.read(int(length))

    def _read_chunks(self) -> bytes:
        body = bytearray()
        while True:
            line = self.rfile.readline(1024).partition(b";")[0].strip()
            try:
                size = int(line, 16)
            except ValueError:
                raise RestError(400, f"Invalid length of a chunk: {line!r}") from None
            if size < 0 or len(body) + size > MAX_BODY_BYTES:
                self._drain(max(size, 0))
                raise _too_large(f"more than {len(body) + size} bytes")
            if size == 0:
                break
            body += self.rfile.read(size)
            self.rfile.readline(1024)
        while self.rfile.readline(65537).strip():
            pass  # Headers after the last chunk.
        return bytes(body)

    def _drain(self, size: int) -> None:
        left = min(size, _DRAIN_BYTES)
        while left > 0:
            read = self.rfile.read(min(left, 1 << 16))
            if not read:
                return
            left -= len(read)

    def _send(self, request: Request, response: Response) -> None:
        media_type, body = response.body()
        reason = REASONS.get(response.status, "")
        lines = [f"HTTP/1.1 {response.status} {reason}", f"Date: {self.date_time_string()}"]
        lines += [f"{name}: {value}" for name, value in response.headers.items()]
        lines += [f"{name}: {value}" for name, value in self.server.headers.for_response(request)]
        if media_type:
            lines.append(f"Content-Type: {media_type}")
        if response.status != 204:
            lines.append(f"Content-Length: {len(body)}")
        if self.close_connection:
            lines.append("Connection: close")
        head = "\r\n".join([*lines, f"Server: moldau/{VERSION}", "", ""]).encode(
            "latin-1", "replace"
        )
        is_empty = request.method == "HEAD" or response.status == 204
        # One write: head and body in one packet.
        self.wfile.write(head if is_empty else head + body)
        log.debug("%s %s %s", request.method, request.target, response.status)

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        """What the base class answers to a request that it cannot parse."""
        self.close_connection = True
        status = code if code in REASONS else 400
        method = getattr(self, "command", None) or "GET"
        self._send(Request(method, "", ()), error(status, message or f"HTTP {status}"))

    def log_message(self, format: str, *args: Any) -> None:
        log.debug(format, *args)


def _too_large(size: str) -> RestError:
    limit = MAX_BODY_BYTES
    return RestError(413, f"The body has {size}: a request may have {limit} bytes at most")


def _path(target: str) -> tuple[str, ...]:
    """The decoded parts of a path; ``%2F`` is a slash within a part."""
    if target.startswith(("http://", "https://")):
        target = "/" + target.split("/", 3)[3] if target.count("/") > 2 else "/"
    parts = target.split("/")[1:]
    if parts and parts[-1] == "":
        parts.pop()
    if "" in parts:
        raise RestError(400, "The path has an empty part: write // as /")
    return tuple(unquote(part) for part in parts)
