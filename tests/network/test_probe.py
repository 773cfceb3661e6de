"""Connects that only find out whether somebody listens."""

import asyncio
import socket

import pytest

from moldau.network.probe import ProbeResult, probe
from moldau.network.socket_network import SocketNetwork

TIMEOUT_MS = 5_000


def bound() -> socket.socket:
    """A socket with a port of its own, at which nobody listens yet."""
    sock = socket.socket()
    sock.bind(("127.0.0.1", 0))
    return sock


def probed(host: str, port: int, timeout_ms: int = TIMEOUT_MS) -> ProbeResult:
    return asyncio.run(probe(SocketNetwork(), host, port, timeout_ms))


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
def test_a_port_at_which_nobody_listens_refuses(host: str) -> None:
    # "localhost" may have two addresses: each of them must refuse.
    with bound() as sock:
        assert probed(host, sock.getsockname()[1]) is ProbeResult.REFUSED


def test_a_listener_accepts_even_if_its_process_does_nothing() -> None:
    with bound() as sock:
        sock.listen()
        assert probed("127.0.0.1", sock.getsockname()[1]) is ProbeResult.ACCEPTED


def test_a_listener_whose_backlog_is_full_tells_nothing() -> None:
    with bound() as sock, socket.socket() as first, socket.socket() as second:
        sock.listen(0)
        for waiting in (first, second):
            waiting.setblocking(False)
            waiting.connect_ex(sock.getsockname())
        assert probed("127.0.0.1", sock.getsockname()[1], timeout_ms=50) is ProbeResult.UNKNOWN


@pytest.mark.parametrize("host", ["no-such-host.invalid", "a" * 64 + ".invalid"])
def test_a_name_that_nobody_knows_tells_nothing(host: str) -> None:
    assert probed(host, 9092) is ProbeResult.UNKNOWN
