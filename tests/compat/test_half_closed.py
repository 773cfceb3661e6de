"""Who asks and then ends its side of the connection is answered by both brokers alike."""

import socket
import uuid
from typing import Any

from tests.broker.batches import batch
from tests.broker.producing import fetch_request, produce_request
from tests.compat.broker_talk import CLOSED, Both
from tests.running import WireClient

VERSION = 12


def answers_after_the_end(port: int, requests: list[Any], tail: bytes = b"") -> list[str]:
    """The kinds of answers that come after ``requests``, ``tail`` and the end of our side."""
    with WireClient(port) as client:
        for request in requests:
            client.post(request, VERSION)
        client.socket.sendall(tail)
        client.socket.shutdown(socket.SHUT_WR)
        kinds = [type(client.receive(each.API_KEY, VERSION)).__name__ for each in requests]
        assert client.is_closed_by_peer()
        return [*kinds, CLOSED]


def test_requests_before_the_end_are_answered_alike(both: Both, group_brokers: list[int]) -> None:
    topic = f"half-closed-{uuid.uuid4().hex[:8]}"
    both.create(topic)
    waiting = fetch_request(topic, 0, min_bytes=1, max_wait_ms=300)
    written = produce_request(topic, batch(b"a"))
    for requests in ([waiting], [waiting, waiting], [waiting, written], [written, written]):
        for tail in (b"", b"\0\0\0\5ab"):
            theirs, ours = (answers_after_the_end(port, requests, tail) for port in group_brokers)
            assert ours == theirs
            assert len(ours) == len(requests) + 1
