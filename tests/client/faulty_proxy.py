"""A proxy in front of a broker that drops responses on request."""

import socket
import struct
import threading
from typing import Self

_PRODUCE = 0


class FaultyProxy:
    """Listens on its own port; set ``target_port`` before clients connect."""

    def __init__(self) -> None:
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listening.getsockname()[1]
        self.target_port = 0
        # Produce requests, counted from now, whose response is dropped with the connection.
        self.lost_answers: set[int] = set()
        # Produce requests that are dropped before the broker gets them.
        self.lost_requests: set[int] = set()
        self.produce_count = 0
        self._threads: list[threading.Thread] = []
        self._spawn(self._accept)

    def close(self) -> None:
        self._listening.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _spawn(self, target: object, *args: object) -> None:
        thread = threading.Thread(target=target, args=args, daemon=True)  # type: ignore[arg-type]
        thread.start()
        self._threads.append(thread)

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listening.accept()
            except OSError:
                return
            self._spawn(self._serve, client)

    def _serve(self, client: socket.socket) -> None:
        """One request at a time, which is correct because responses are in order."""
        broker = socket.create_connection(("127.0.0.1", self.target_port))
        with client, broker:
            while (request := _read(client)) is not None:
                is_lost_answer = False
                if struct.unpack(">h", request[4:6])[0] == _PRODUCE:
                    self.produce_count += 1
                    if self.produce_count in self.lost_requests:
                        return
                    is_lost_answer = self.produce_count in self.lost_answers
                broker.sendall(request)
                answer = _read(broker)
                if answer is None or is_lost_answer:
                    return
                client.sendall(answer)


def _read(source: socket.socket) -> bytes | None:
    """One frame with its size in front."""
    prefix = _exactly(source, 4)
    if prefix is None:
        return None
    body = _exactly(source, struct.unpack(">i", prefix)[0])
    return None if body is None else prefix + body


def _exactly(source: socket.socket, size: int) -> bytes | None:
    data = bytearray()
    while len(data) < size:
        try:
            chunk = source.recv(size - len(data))
        except OSError:
            return None
        if not chunk:
            return None
        data += chunk
    return bytes(data)
