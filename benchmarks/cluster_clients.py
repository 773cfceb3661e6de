"""Clients that measure how long a replicated topic is not writable, and its state."""

# confluent-kafka marks itself as typed, but not all of what it exports is.
# mypy: disable-error-code="attr-defined, no-untyped-call"

import json
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient
from tools.brokers import kafka_dir
from tools.clusters import Cluster, eventually

RATE = 200.0
PATIENCE_S = 120.0
# How long a client writes undisturbed before and after a fault.
QUIET_S = 2.0


class TopicView:
    """What the brokers of a cluster say about a topic."""

    def __init__(self, cluster: Cluster, topic: str) -> None:
        self._admin = AdminClient({"bootstrap.servers": cluster.bootstrap, "log_level": 0})
        self._brokers = sorted(node.node_id for node in cluster.brokers)
        self._topic = topic

    def partitions(self) -> dict[int, Any]:
        return dict(self._admin.list_topics(self._topic, timeout=10).topics[self._topic].partitions)

    def leader(self) -> int:
        return int(self.partitions()[0].leader)

    def is_whole(self) -> bool:
        return all(sorted(each.isrs) == self._brokers for each in self.partitions().values())

    def wait_until_whole(self) -> None:
        eventually(f"all replicas of {self._topic} in sync", self.is_whole, PATIENCE_S)


class AckClock:
    """Remembers the longest time between two acknowledgements."""

    def __init__(self) -> None:
        self.longest_s = 0.0
        self.count = 0
        self.failures: list[str] = []
        self._last: float | None = None

    def acknowledged(self, now_s: float) -> None:
        if self._last is not None:
            self.longest_s = max(self.longest_s, now_s - self._last)
        self._last = now_s
        self.count += 1

    def forget(self) -> None:
        """Begin again, once the client is connected."""
        self.longest_s = 0.0


@contextmanager
def librdkafka_acks(bootstrap: str, topic: str) -> Iterator[AckClock]:
    """An idempotent producer of librdkafka that writes to partition 0 at a steady rate."""
    clock = AckClock()
    settings = {"bootstrap.servers": bootstrap, "log_level": 0, "enable.idempotence": True}
    producer = Producer({**settings, "linger.ms": 0})
    stopping = threading.Event()

    def delivered(error: Any, _: Any) -> None:
        if error is None:
            clock.acknowledged(time.monotonic())
        else:
            clock.failures.append(str(error))

    def write() -> None:
        while not stopping.wait(1 / RATE):
            producer.produce(topic, b"x" * 100, partition=0, on_delivery=delivered)
            producer.poll(0)
        producer.flush(PATIENCE_S)

    thread = threading.Thread(target=write, daemon=True)
    thread.start()
    try:
        yield clock
    finally:
        stopping.set()
        thread.join()


@contextmanager
def java_acks(bootstrap: str, topic: str) -> Iterator[AckClock]:
    """kafka-verifiable-producer, which prints the time of each acknowledgement."""
    clock = AckClock()
    tool = str(kafka_dir() / "bin" / "kafka-verifiable-producer")
    process = subprocess.Popen(
        [
            tool,
            *("--bootstrap-server", bootstrap, "--topic", topic, "--acks", "-1"),
            *("--throughput", str(int(RATE)), "--command-config", "/dev/stdin"),
        ],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    assert process.stdin is not None
    process.stdin.write(b"retries=2147483647\nenable.idempotence=true\n")
    process.stdin.close()

    def listen() -> None:
        assert process.stdout is not None
        for line in process.stdout:
            event = json.loads(line) if line.startswith(b"{") else {}
            if event.get("name") == "producer_send_success":
                clock.acknowledged(event["timestamp"] / 1000)
            elif event.get("name") == "producer_send_error":
                clock.failures.append(event["message"])

    thread = threading.Thread(target=listen, daemon=True)
    thread.start()
    try:
        yield clock
    finally:
        process.terminate()
        try:
            process.wait(PATIENCE_S)
        finally:
            process.kill()
            process.wait()
            thread.join()


def gap_s(clock: AckClock, disturb: Callable[[], None]) -> float:
    """The longest time without an acknowledgement around a fault."""
    eventually("the producer writes", lambda: clock.count > RATE, PATIENCE_S)
    time.sleep(QUIET_S)
    clock.forget()
    disturb()
    time.sleep(QUIET_S)
    before = clock.count
    eventually("the producer writes again", lambda: clock.count > before + RATE, PATIENCE_S)
    if clock.failures:
        raise RuntimeError(f"{len(clock.failures)} records failed: {clock.failures[0]}")
    return clock.longest_s
