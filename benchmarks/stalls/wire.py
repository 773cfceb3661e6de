"""A plaintext connection to a broker, with typed requests and responses."""

import socket
import struct
from typing import Any, Self

from moldau.protocol.api import APIS
from moldau.protocol.header import decode_response_header, encode_request_header

TIMEOUT_S = 600.0


def framed(request: Any, version: int, correlation_id: int = 0) -> bytes:
    """An encoded request, with its size."""
    header = encode_request_header(request.API_KEY, version, correlation_id, "stalls")
    body = header + request.encode(version)
    return struct.pack(">i", len(body)) + body


class Wire:
    """One connection; usable as a context manager."""

    def __init__(self, port: int, controller_port: int = 0) -> None:
        self._controller_port = controller_port
        self.socket = socket.create_connection(("127.0.0.1", port), TIMEOUT_S)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def controller(self) -> "Wire":
        """A connection to the listener for other nodes."""
        return Wire(self._controller_port)

    def send(self, request: Any, version: int) -> Any:
        """Send a request and return its response."""
        self.socket.sendall(framed(request, version))
        frame = self.receive_frame()
        _, position = decode_response_header(frame, request.API_KEY, version)
        return APIS[request.API_KEY].response_class().decode(frame, position, version)[0]

    def receive_frame(self) -> bytes:
        return self._exactly(self._size())

    def skip_frame(self) -> int:
        """Read and discard a response; returns its size."""
        left = size = self._size()
        while left:
            left -= len(self._some(min(left, 1 << 20)))
        return size

    def _size(self) -> int:
        size: int = struct.unpack(">i", self._exactly(4))[0]
        return size

    def _exactly(self, size: int) -> bytes:
        chunks = bytearray()
        while len(chunks) < size:
            chunks += self._some(size - len(chunks))
        return bytes(chunks)

    def _some(self, most: int) -> bytes:
        chunk = self.socket.recv(most)
        if not chunk:
            raise ConnectionError("the broker closed the connection")
        return chunk

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.socket.close()
