"""The load on a group coordinator: raw commits and fetches, and groups of librdkafka members.

The raw client keeps one request in flight on each of many connections, like many consumers. So a
broker that collects writes for a moment can do so.
"""

# confluent-kafka marks itself as typed, but not all of what it exports is.
# mypy: disable-error-code="attr-defined, no-untyped-call, union-attr, index"

import json
import selectors
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any

from confluent_kafka import Consumer
from tools import wire
from tools.brokers import HOST

OFFSET_COMMIT = 8
OFFSET_FETCH = 9
FIND_COORDINATOR = 10
# Loading, not available, not (yet) the coordinator.
NOT_YET = (14, 15, 16)
LIMIT_S = 120.0


def commit_request(group: str, topic: str, partitions: Sequence[int], offset: int) -> bytes:
    """OffsetCommit v2 of a client that is not a member."""
    body = wire.string(group) + struct.pack(">i", -1) + wire.string("")
    body += struct.pack(">qi", -1, 1) + wire.string(topic) + struct.pack(">i", len(partitions))
    for partition in partitions:
        body += struct.pack(">iq", partition, offset) + wire.string("")
    return wire.request(OFFSET_COMMIT, 2, 1, body)


def commit_errors(response: memoryview) -> list[int]:
    """The error codes of an OffsetCommit v2 response for one topic."""
    cursor = wire.Cursor(response, 4)
    cursor.int("i")
    cursor.string()
    return [(cursor.int("i"), cursor.int("h"))[1] for _ in range(cursor.int("i"))]


def fetch_request(group: str, topic: str, partitions: Sequence[int]) -> bytes:
    """OffsetFetch v1 of one topic."""
    body = wire.string(group) + struct.pack(">i", 1) + wire.string(topic)
    body += struct.pack(f">i{len(partitions)}i", len(partitions), *partitions)
    return wire.request(OFFSET_FETCH, 1, 1, body)


def fetch_errors(response: memoryview) -> list[int]:
    """The error codes of an OffsetFetch v1 response for one topic; -1 if nothing is committed."""
    cursor = wire.Cursor(response, 4)
    cursor.int("i")
    cursor.string()
    errors = []
    for _ in range(cursor.int("i")):
        cursor.int("i")
        offset = cursor.int("q")
        cursor.string()
        error = cursor.int("h")
        errors.append(error or (-1 if offset < 0 else 0))
    return errors


def wait_for_coordinator(port: int, group: str) -> None:
    """Trigger the creation of the offsets topic and wait for the coordinator of a group."""
    find = wire.request(FIND_COORDINATOR, 0, 1, wire.string(group))
    ask = fetch_request(group, "nothing", [0])
    deadline = time.monotonic() + LIMIT_S
    with wire.RawConnection(HOST, port) as connection:
        while (
            wire.Cursor(connection.call(find), 4).int("h") != 0
            or fetch_errors(connection.call(ask))[0] in NOT_YET
        ):
            if time.monotonic() > deadline:
                raise RuntimeError(f"there is no coordinator for group {group}")
            time.sleep(0.05)


def raw_rate(
    port: int, frames: Sequence[bytes], requests: int, errors: Callable[[memoryview], list[int]]
) -> float:
    """One connection per frame, each with one request in flight; returns requests per second."""
    selector = selectors.DefaultSelector()
    connections = [wire.RawConnection(HOST, port) for _ in frames]
    try:
        for connection, frame in zip(connections, frames, strict=True):
            selector.register(connection.socket, selectors.EVENT_READ, (connection, frame))
        began = time.monotonic()
        sent = answered = 0
        for connection, frame in zip(connections, frames, strict=True):
            connection.send(frame)
            sent += 1
        while answered < requests:
            for key, _ in selector.select():
                connection, frame = key.data
                response = connection.receive()
                if any(failed := errors(response)):
                    raise RuntimeError(f"a group request was answered with {failed}")
                answered += 1
                if sent < requests:
                    connection.send(frame)
                    sent += 1
        return answered / (time.monotonic() - began)
    finally:
        selector.close()
        for connection in connections:
            connection.close()


class Members:
    """librdkafka members of one group, each polled by its own thread in this process."""

    def __init__(self, settings: dict[str, Any], topic: str, count: int) -> None:
        self._is_over = False
        self._changed = threading.Condition()
        self._owned: list[set[int]] = [set() for _ in range(count)]
        self.last_read_s: dict[int, float] = {}
        self._threads = [
            threading.Thread(target=self._run, args=(number, settings, topic), daemon=True)
            for number in range(count)
        ]
        self.began_s = time.monotonic()
        for thread in self._threads:
            thread.start()

    @property
    def owned(self) -> set[int]:
        """The partitions of all members."""
        return {partition for each in self._owned for partition in each}

    @property
    def is_everybody_busy(self) -> bool:
        return all(self._owned)

    def wait_until_shared(self, partitions: int) -> float:
        """Wait until every member owns a partition and every partition one owner; returns when."""

        def is_shared() -> bool:
            owned = [partition for each in self._owned for partition in each]
            return all(self._owned) and sorted(owned) == list(range(partitions))

        return self.wait_for(is_shared)

    def wait_for(self, holds: Callable[[], bool]) -> float:
        with self._changed:
            if not self._changed.wait_for(holds, LIMIT_S):
                raise RuntimeError(f"not in {LIMIT_S} s; owned: {[len(o) for o in self._owned]}")
            return time.monotonic()

    def close(self) -> None:
        self._is_over = True
        for thread in self._threads:
            thread.join(LIMIT_S)

    def _run(self, number: int, settings: dict[str, Any], topic: str) -> None:
        owned = self._owned[number]

        def assigned(_: Any, partitions: Any) -> None:
            with self._changed:
                owned.update(each.partition for each in partitions)
                self._changed.notify_all()

        def revoked(_: Any, partitions: Any) -> None:
            with self._changed:
                owned.difference_update(each.partition for each in partitions)

        consumer = Consumer(settings)
        consumer.subscribe([topic], on_assign=assigned, on_revoke=revoked, on_lost=revoked)
        while not self._is_over:
            message = consumer.poll(0.1)
            if message is not None and message.error() is None:
                with self._changed:
                    self.last_read_s[message.partition()] = time.monotonic()
                    self._changed.notify_all()
        consumer.close()


def member_settings(bootstrap: str, group: str, protocol: str) -> dict[str, Any]:
    settings: dict[str, Any] = {
        "bootstrap.servers": bootstrap,
        "group.id": group,
        "group.protocol": protocol,
        "auto.offset.reset": "earliest",
        "log_level": 2,
    }
    if protocol == "classic":
        # The shortest session that brokers allow by default, and a short heartbeat.
        settings |= {"session.timeout.ms": 6000, "heartbeat.interval.ms": 500}
    return settings


VICTIM = """
import json, sys
from confluent_kafka import Consumer
settings, topic = json.loads(sys.argv[1]), sys.argv[2]
consumer = Consumer(settings)
def assigned(_, partitions):
    print(json.dumps([each.partition for each in partitions]), flush=True)
consumer.subscribe([topic], on_assign=assigned)
while True:
    consumer.poll(0.1)
"""


def start_victim(settings: dict[str, Any], topic: str) -> "subprocess.Popen[bytes]":
    """A member in a separate process, to be killed."""
    command = [sys.executable, "-c", VICTIM, json.dumps(settings), topic]
    return subprocess.Popen(command, stdout=subprocess.PIPE)
