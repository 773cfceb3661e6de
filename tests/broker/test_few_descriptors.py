"""A broker with a low ulimit -n: connections are refused, its disk keeps working."""

import re
import resource
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

from tests.broker.batches import batch
from tests.broker.producing import create_topic, produce
from tests.running import WireClient

LIMIT = 160


def is_served_again(port: int) -> bool:
    """Whether a new connection is served, once the broker has noticed that others are closed."""
    deadline_s = time.monotonic() + 120
    while time.monotonic() < deadline_s:
        try:
            with WireClient(port) as client:
                return bool(produce(client, "t", batch(b"x")).error_code == 0)
        except ConnectionError:
            continue
    return False


def test_connections_that_take_every_descriptor_are_refused_and_the_disk_is_kept(
    tmp_path: Path,
) -> None:
    broker = subprocess.Popen(
        [sys.executable, "-m", "moldau.cli", "start", "--log-level", "error"]
        + ["--data-dir", str(tmp_path / "data"), "--listen", "127.0.0.1:0"],
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (LIMIT, LIMIT)),
    )
    crowd: list[socket.socket] = []
    try:
        assert broker.stderr is not None
        ready = re.search(r"ready on 127\.0\.0\.1:(\d+)", broker.stderr.readline())
        assert ready is not None
        with WireClient(int(ready[1])) as client:
            create_topic(client, "t", partitions=60)
            crowd = [socket.create_connection(("127.0.0.1", int(ready[1]))) for _ in range(LIMIT)]
            crowd[-1].settimeout(120)
            assert crowd[-1].recv(1) == b"", "the last one is refused"
            for partition in range(60):
                assert produce(client, "t", batch(b"x"), partition).error_code == 0
            create_topic(client, "more", partitions=60)
            assert produce(client, "more", batch(b"x"), 59).error_code == 0
        for connection in crowd:
            connection.close()
        assert is_served_again(int(ready[1]))
        broker.send_signal(signal.SIGTERM)
        assert broker.wait(120) == 0
        assert "refuses connections" in broker.stderr.read()
    finally:
        broker.kill()
        broker.communicate()
        for connection in crowd:
            connection.close()
