"""The rows about compaction, and its effect on producers.

A compacted topic is filled while its dirty ratio prevents cleaning. Then the ratio is lowered, and
the time is measured until ``cleaner-offset-checkpoint`` has the first offset of the active segment.
Both brokers write that file, so both are measured in the same way.
"""

# confluent-kafka marks itself as typed, but not all of what it exports is.
# mypy: disable-error-code="attr-defined, no-untyped-call"

import os
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from statistics import median
from typing import NamedTuple

from confluent_kafka.admin import (
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    ResourceType,
)
from tools import wire
from tools.brokers import HOST, Broker

from benchmarks.clients import encode_records, quantiles
from benchmarks.rows import Figures, Row, Workbench

UPDATES_PER_KEY = 4
VALUE_BYTES = 200
RECORDS_PER_BATCH = 70
SEGMENTS = 32
SMALLEST_SEGMENT_BYTES = 1 << 20
NEVER_DIRTY_ENOUGH, ALWAYS_DIRTY_ENOUGH = "1.0", "0.01"
CHECKPOINT = "cleaner-offset-checkpoint"
RATE = 1000.0
# The number of cleanings during which latency is measured.
WINDOWS = 5
POLL_S = 0.005
# While round trips are timed in the same process: each check costs them 0.1 ms.
RARE_POLL_S = 0.05
LIMIT_S = 600.0

# For both brokers: otherwise the default back-off of 15 seconds would be measured.
BROKER_SETTINGS = {"log.cleaner.backoff.ms": "100"}


def keyed_batches(size_bytes: int) -> list[bytes]:
    """Batches of about ``size_bytes`` in total, with unique keys."""
    noise = os.urandom(1 << 16)
    batches: list[bytes] = []
    total = first = 0
    while total < size_bytes:
        keys = range(first, first + RECORDS_PER_BATCH)
        starts = [key * 61 % (len(noise) - VALUE_BYTES) for key in keys]
        pairs = [
            (b"key-%012d" % key, noise[start : start + VALUE_BYTES])
            for key, start in zip(keys, starts, strict=True)
        ]
        batches.append(encode_records(pairs))
        total += len(batches[-1])
        first += RECORDS_PER_BATCH
    return batches


def send_all(port: int, frames: Sequence[bytes], in_flight: int = 5) -> None:
    """Send prepared Produce requests, a few at a time."""
    with wire.RawConnection(HOST, port) as connection:
        for number, frame in enumerate(frames):
            connection.send(frame)
            if number >= in_flight:
                _expect_success(connection)
        for _ in range(min(len(frames), in_flight)):
            _expect_success(connection)


def _expect_success(connection: wire.RawConnection) -> None:
    if (error := wire.produce_error(connection.receive())) != 0:
        raise RuntimeError(f"Produce was answered with error code {error}")


class DirtyTopic:
    """A compacted topic with several records of each key, not cleaned yet."""

    def __init__(self, bench: Workbench, broker: Broker) -> None:
        self._broker = broker
        self._size_bytes = bench.amounts.compacted_bytes
        segment_bytes = max(self._size_bytes // SEGMENTS, SMALLEST_SEGMENT_BYTES)
        config = {
            "cleanup.policy": "compact",
            "segment.bytes": str(segment_bytes),
            "min.cleanable.dirty.ratio": NEVER_DIRTY_ENOUGH,
        }
        self._making = bench.topic(broker, config=config)
        self.name = ""

    def __enter__(self) -> "DirtyTopic":
        self.name = self._making.__enter__()
        batches = keyed_batches(self._size_bytes // UPDATES_PER_KEY)
        frames = [wire.produce_request(self.name, 0, batch, 1) for batch in batches]
        for _ in range(UPDATES_PER_KEY):
            send_all(self._broker.port, frames)
        self._goal, self.dirty_bytes = self._rolled()
        return self

    def __exit__(self, *_: object) -> None:
        self._making.__exit__(None, None, None)

    def _segments(self) -> list[Path]:
        return sorted((self._broker.directory / f"{self.name}-0").glob("*.log"))

    def _rolled(self) -> tuple[int, int]:
        """The first offset of the active segment, and the number of bytes before it."""
        *rolled, active = self._segments()
        return int(active.stem), sum(path.stat().st_size for path in rolled)

    def let_clean(self) -> None:
        admin = AdminClient({"bootstrap.servers": self._broker.bootstrap, "log_level": 2})
        entry = ConfigEntry(
            "min.cleanable.dirty.ratio",
            ALWAYS_DIRTY_ENOUGH,
            incremental_operation=AlterConfigOpType.SET,
        )
        resource = ConfigResource(ResourceType.TOPIC, self.name, incremental_configs=[entry])
        for answer in admin.incremental_alter_configs([resource]).values():
            answer.result(30)

    def wait_until_clean(self, poll_s: float = POLL_S) -> None:
        """Raises RuntimeError if the topic is not cleaned, or not completely."""
        deadline = time.monotonic() + LIMIT_S
        while self._cleaned_to() < self._goal:
            if time.monotonic() > deadline:
                raise RuntimeError(
                    f"{self._broker.kind} cleaned {self.name} up to {self._cleaned_to()} of "
                    f"{self._goal} in {LIMIT_S:g} s:\n{self._broker.log_tail()}"
                )
            time.sleep(poll_s)
        left = sum(path.stat().st_size for path in self._segments() if int(path.stem) < self._goal)
        if left > self.dirty_bytes // 2:
            raise RuntimeError(f"{left} of {self.dirty_bytes} bytes are left of {self.name}")

    def _cleaned_to(self) -> int:
        for topic, partition, offset in _checkpointed(self._broker.directory / CHECKPOINT):
            if (topic, partition) == (self.name, "0"):
                return int(offset)
        return -1


def _checkpointed(path: Path) -> Iterator[tuple[str, str, str]]:
    try:
        lines = path.read_text().splitlines()[2:]
    except FileNotFoundError:
        return
    for line in lines:
        topic, partition, offset = line.split()
        yield topic, partition, offset


def compaction_row(bench: Workbench) -> Row:
    """From when the topic may be cleaned until all but its active segment are clean."""

    def measure(broker: Broker) -> Figures:
        with DirtyTopic(bench, broker) as topic:

            def clean() -> float:
                began = time.monotonic()
                topic.let_clean()
                topic.wait_until_clean()
                return time.monotonic() - began

            figures = bench.measured(broker, topic.dirty_bytes, clean)
        return {name: figures[name] for name in ("mb_s", "cpu_s_per_gb", "rss_mb")}

    name = f"compaction, {VALUE_BYTES} B records, {UPDATES_PER_KEY} of each key"
    return Row(name, measure, [("mb_s", "at least", 1.0), ("cpu_s_per_gb", "at most", 1.0)])


class Window(NamedTuple):
    """A producer's round trips in seconds, before and during the cleaning of another topic."""

    before: list[float]
    during: list[float]

    @property
    def p99_growth(self) -> float:
        return quantiles(self.during)["p99_ms"] / quantiles(self.before)["p99_ms"]


def latency_row(bench: Workbench) -> Row:
    """The effect of cleaning on the latency of a producer to another topic.

    A cleaning takes seconds, and a single stall of the machine can determine its p99. So there are
    several, each compared with the seconds before it, and the growth is their median.
    """

    def measure(broker: Broker) -> Figures:
        windows = [cleaning_window(bench, broker) for _ in range(WINDOWS)]
        during = quantiles([seconds for window in windows for seconds in window.during])
        return {
            "p50_ms": during["p50_ms"],
            "p99_ms": during["p99_ms"],
            "p99_growth": median(window.p99_growth for window in windows),
        }

    name = "raw socket, produce at 1,000/s, acks=all, while another topic is cleaned"
    targets = [("p50_ms", "at most", 1.0), ("p99_ms", "at most", 1.0)]
    return Row(name, measure, targets, limits={"p99_growth": 1.5})


def cleaning_window(bench: Workbench, broker: Broker) -> Window:
    with bench.topic(broker) as quiet, DirtyTopic(bench, broker) as topic:
        # Otherwise writing back the new data would slow down the seconds before the cleaning.
        os.sync()
        count = bench.amounts.latency_records // WINDOWS
        before = round_trips(broker.port, quiet, lambda done: done < count)
        is_clean = threading.Event()

        def clean() -> None:
            try:
                topic.let_clean()
                topic.wait_until_clean(RARE_POLL_S)
            finally:
                is_clean.set()

        cleaning = threading.Thread(target=clean, daemon=True)
        cleaning.start()
        during = round_trips(broker.port, quiet, lambda done: not (is_clean.is_set() and done))
        cleaning.join()
    return Window(before, during)


def round_trips(port: int, topic: str, goes_on: Callable[[int], bool]) -> list[float]:
    """The seconds of Produce requests with one small record, while ``goes_on(count)``.

    The first hundred, on a new connection, are not included.
    """
    frame = wire.produce_request(topic, 0, encode_records([(None, os.urandom(100))]), -1)
    found: list[float] = []
    with wire.RawConnection(HOST, port) as connection:
        for _ in range(100):
            connection.call(frame)
        began = time.perf_counter()
        while goes_on(len(found)):
            wait = began + len(found) / RATE - time.perf_counter()
            if wait > 0:
                time.sleep(wait)
            sent = time.perf_counter()
            connection.call(frame)
            found.append(time.perf_counter() - sent)
    return found


def log_rows(bench: Workbench) -> list[Row]:
    return [compaction_row(bench), latency_row(bench)]
