"""The few raw Kafka requests that tests and benchmarks send.

Nothing here uses Moldau's protocol package: code that measures or checks the broker must not share
its mistakes. Requests have old, fixed versions that every current broker supports.
"""

import socket
import struct
from typing import NamedTuple

PRODUCE = 0
FETCH = 1
METADATA = 3
API_VERSIONS = 18


def string(text: str) -> bytes:
    data = text.encode()
    return struct.pack(">h", len(data)) + data


def request(api_key: int, version: int, correlation_id: int, body: bytes) -> bytes:
    """A complete frame: size, request header version 1, body."""
    message = struct.pack(">hhi", api_key, version, correlation_id) + string("raw") + body
    return struct.pack(">i", len(message)) + message


class RawConnection:
    """A blocking connection that sends prepared frames and returns response frames."""

    def __init__(self, host: str, port: int, timeout_s: float = 30.0) -> None:
        self.socket = socket.create_connection((host, port), timeout_s)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._buffer = bytearray(1 << 20)
        self._size = bytearray(4)

    def __enter__(self) -> "RawConnection":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self.socket.close()

    def send(self, frame: bytes) -> None:
        self.socket.sendall(frame)

    def receive(self) -> memoryview:
        """The next response without its size, valid until the next call."""
        self._fill(memoryview(self._size))
        size: int = struct.unpack(">i", self._size)[0]
        if size > len(self._buffer):
            self._buffer = bytearray(size)
        view = memoryview(self._buffer)[:size]
        self._fill(view)
        return view

    def call(self, frame: bytes) -> memoryview:
        self.send(frame)
        return self.receive()

    def _fill(self, view: memoryview) -> None:
        while view:
            count = self.socket.recv_into(view)
            if count == 0:
                raise ConnectionError("the broker closed the connection")
            view = view[count:]


class Cursor:
    """Reads big-endian values from a response, one after the other."""

    def __init__(self, data: memoryview | bytes, position: int = 0) -> None:
        self.data = data
        self.position = position

    def int(self, code: str) -> int:
        value: int = struct.unpack_from(">" + code, self.data, self.position)[0]
        self.position += struct.calcsize(code)
        return value

    def string(self) -> str:
        size = self.int("h")
        if size < 0:
            return ""
        self.position += size
        return bytes(self.data[self.position - size : self.position]).decode()


def broker_ids(host: str, port: int, timeout_s: float = 2.0) -> list[int]:
    """The brokers in a Metadata v1 response; OSError if there is no response."""
    with RawConnection(host, port, timeout_s) as connection:
        cursor = Cursor(connection.call(request(METADATA, 1, 7, struct.pack(">i", 0))), 4)
    ids = []
    for _ in range(cursor.int("i")):
        ids.append(cursor.int("i"))
        cursor.string()
        cursor.int("i")
        cursor.string()
    return ids


def api_versions(host: str, port: int) -> dict[int, tuple[int, int]]:
    """The API versions a broker advertises, by API key (ApiVersions v0)."""
    with RawConnection(host, port) as connection:
        cursor = Cursor(connection.call(request(API_VERSIONS, 0, 1, b"")), 4)
    if (error := cursor.int("h")) != 0:
        raise ConnectionError(f"ApiVersions v0 was answered with error code {error}")
    return {cursor.int("h"): (cursor.int("h"), cursor.int("h")) for _ in range(cursor.int("i"))}


def produce_request(
    topic: str, partition: int, batch: bytes, acks: int, correlation_id: int = 1
) -> bytes:
    """Produce v7 with one batch for one partition."""
    body = struct.pack(">hhii", -1, acks, 30_000, 1) + string(topic)
    return request(
        PRODUCE, 7, correlation_id, body + struct.pack(">iii", 1, partition, len(batch)) + batch
    )


def produce_error(response: memoryview) -> int:
    """The error code of the only partition in a Produce v7 response."""
    cursor = Cursor(response, 8)
    cursor.string()
    cursor.int("i")
    cursor.int("i")
    return cursor.int("h")


def fetch_request(
    topic: str, partition: int, offset: int, max_bytes: int, max_wait_ms: int = 500
) -> bytes:
    """Fetch v11 of one partition, without a fetch session."""
    limits = struct.pack(">iiiibii", -1, max_wait_ms, 1, max_bytes, 0, 0, -1)
    wanted = struct.pack(">iiiqqi", 1, partition, -1, offset, -1, max_bytes)
    forgotten_and_rack = struct.pack(">i", 0) + string("")
    return request(
        FETCH, 11, 2, limits + struct.pack(">i", 1) + string(topic) + wanted + forgotten_and_rack
    )


class Fetched(NamedTuple):
    """The records of one partition in a Fetch response."""

    error: int
    size_bytes: int
    next_offset: int


def fetched_records(response: memoryview) -> memoryview:
    """The record bytes of a one-partition Fetch v11 response."""
    return _records_and_error(response)[0]


def fetched(response: memoryview, offset: int) -> Fetched:
    """Parse the batches of a one-partition Fetch v11 response from ``offset`` on."""
    records, error = _records_and_error(response)
    position, total = 0, 0
    while position + 61 <= len(records):
        base_offset, length = struct.unpack_from(">qi", records, position)
        if position + 12 + length > len(records):
            break
        offset = base_offset + struct.unpack_from(">i", records, position + 23)[0] + 1
        total += 12 + length
        position += 12 + length
    return Fetched(error, total, offset)


def _records_and_error(response: memoryview) -> tuple[memoryview, int]:
    cursor = Cursor(response, 4 + 4 + 2 + 4 + 4)
    cursor.string()
    cursor.int("i")
    cursor.int("i")
    error = cursor.int("h")
    cursor.position += 8 + 8 + 8  # high watermark, last stable offset, log start offset
    aborted_transactions = max(cursor.int("i"), 0)
    cursor.position += aborted_transactions * 16 + 4  # and the preferred read replica
    size = max(cursor.int("i"), 0)
    return response[cursor.position : cursor.position + size], error
