"""The base of the fake servers: sockets, threads, and clean-up."""

import socket
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Self


class ThreadedServer:
    """A context manager that listens on several ports, with a thread for each connection."""

    def __init__(self, port_count: int = 1) -> None:
        self._listening = [socket.create_server(("127.0.0.1", 0)) for _ in range(port_count)]
        self._open: list[socket.socket] = []
        self._threads: list[threading.Thread] = []
        self.ports: list[int] = [each.getsockname()[1] for each in self._listening]

    def serve(self, number: int, connection: socket.socket) -> None:
        """Serve a connection to port ``number`` until it ends."""
        raise NotImplementedError

    def __enter__(self) -> Self:
        for number in range(len(self._listening)):
            self._start(self._accept, number)
        return self

    def __exit__(self, *_: object) -> None:
        # Closing alone does not wake threads blocked in accept or read.
        for each in [*self._listening, *self._open]:
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
            each.close()
        for thread in self._threads:
            thread.join(10)

    def _start(self, target: Callable[..., None], *arguments: object) -> None:
        thread = threading.Thread(target=target, args=arguments, daemon=True)
        self._threads.append(thread)
        thread.start()

    def _accept(self, number: int) -> None:
        with suppress(OSError):
            while True:
                connection, _ = self._listening[number].accept()
                self._open.append(connection)
                self._start(self.serve, number, connection)
