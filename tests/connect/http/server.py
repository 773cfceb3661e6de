"""A real HTTP server on loopback that answers as a test tells it to."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


@dataclass
class Request:
    method: str
    path: str
    headers: dict[str, str]
    body: bytes


@dataclass
class Answer:
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    body: bytes = b""
    # The connection is closed afterwards, without a word.
    is_last: bool = False


class Server(ThreadingHTTPServer):
    """Gives the planned answers in order, then 200; refuses bodies that have ``poison``."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.requests: list[Request] = []
        self.plan: list[Answer] = []
        self.poison = b"poison"
        self.connections = 0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/records"

    @property
    def bodies(self) -> list[bytes]:
        return [request.body for request in self.requests]


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Server

    def setup(self) -> None:
        super().setup()
        self.server.connections += 1

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        server = self.server
        server.requests.append(Request(self.command, self.path, dict(self.headers), body))
        answer = Answer()
        if server.plan:
            answer = server.plan.pop(0)
        elif server.poison in body:
            answer = Answer(422, body=b"no poison, please")
        self.send_response(answer.status)
        for name, value in answer.headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(answer.body)))
        self.end_headers()
        self.wfile.write(answer.body)
        if answer.is_last:
            self.close_connection = True

    do_PUT = do_POST  # noqa: N815

    def log_message(self, *_: object) -> None:
        """Quiet."""


@contextmanager
def running() -> Iterator[Server]:
    with Server() as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.02,))
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()
