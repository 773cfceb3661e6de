"""A real broker inside the test process, and a plain client to talk to it.

The broker runs on its own loop and thread, on real sockets and files, so that blocking clients
can be used normally.
"""

import asyncio
import socket
import struct
import threading
from collections.abc import Mapping
from concurrent.futures import Future
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from moldau.broker.node import Node
from moldau.config.broker import BrokerConfig
from moldau.protocol.api import APIS
from moldau.protocol.header import decode_response_header, encode_request_header

START_TIMEOUT_S = 120


class RunningBroker:
    """Use as a context manager; ``bootstrap`` is where clients connect."""

    def __init__(self, data_dir: Path, settings: Mapping[str, str] | None = None) -> None:
        properties = {
            "log.dirs": str(data_dir),
            "listeners": "PLAINTEXT://127.0.0.1:0,CONTROLLER://127.0.0.1:0",
            "advertised.listeners": "PLAINTEXT://127.0.0.1:0",
        }
        properties.update(settings or {})
        self.data_dir = data_dir
        self.config = BrokerConfig.from_properties(properties)
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._run, name="broker", daemon=True)
        self.node: Node

    def start(self) -> Self:
        self._thread.start()
        self.call(self._start())
        return self

    def stop(self) -> None:
        self.call(self.node.stop())
        self._end()

    def call(self, coroutine: Any) -> Any:
        """Run ``coroutine`` on the broker's loop."""
        future: Future[Any] = asyncio.run_coroutine_threadsafe(coroutine, self._loop)
        return future.result(START_TIMEOUT_S)

    @property
    def port(self) -> int:
        return self.node.ports["PLAINTEXT"]

    @property
    def bootstrap(self) -> str:
        return f"127.0.0.1:{self.port}"

    def connect(self, listener: str = "PLAINTEXT") -> "WireClient":
        return WireClient(self.node.ports[listener])

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._thread.is_alive():
            self.stop()

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        self._loop.run_forever()
        self._loop.close()

    def _end(self) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(START_TIMEOUT_S)

    async def _start(self) -> None:
        self.node = Node(self.config)
        await self.node.start()


class WireClient:
    """Sends typed requests one at a time and returns typed responses."""

    def __init__(self, port: int, host: str = "127.0.0.1") -> None:
        self.socket = socket.create_connection((host, port), START_TIMEOUT_S)
        self._correlation_id = 0

    def send(self, request: Any, version: int, client_id: str = "test") -> Any:
        self.post(request, version, client_id)
        return self.receive(request.API_KEY, version)

    def post(self, request: Any, version: int, client_id: str = "test") -> None:
        """Send without waiting for the answer."""
        self._correlation_id += 1
        key = request.API_KEY
        header = encode_request_header(key, version, self._correlation_id, client_id)
        self.send_frame(header + request.encode(version))

    def receive(self, api_key: int, version: int) -> Any:
        frame = self.receive_frame()
        _, position = decode_response_header(frame, api_key, version)
        response, end = APIS[api_key].response_class().decode(frame, position, version)
        assert end == len(frame), "the response has a tail"
        return response

    def send_frame(self, frame: bytes) -> None:
        self.socket.sendall(struct.pack(">i", len(frame)) + frame)

    def receive_frame(self) -> bytes:
        (size,) = struct.unpack(">i", self._exactly(4))
        return self._exactly(size)

    def is_closed_by_peer(self) -> bool:
        try:
            return self.socket.recv(1) == b""
        except ConnectionResetError:
            return True

    def close(self) -> None:
        self.socket.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _exactly(self, size: int) -> bytes:
        chunks = bytearray()
        while len(chunks) < size:
            chunk = self.socket.recv(size - len(chunks))
            if not chunk:
                raise ConnectionError("closed by the broker")
            chunks += chunk
        return bytes(chunks)
