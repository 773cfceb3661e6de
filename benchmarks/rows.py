"""The rows of the table: what is measured, with which client, and the targets."""

# confluent-kafka marks itself as typed, but not all of what it exports is.
# mypy: disable-error-code="attr-defined"

import contextlib
import time
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import product
from typing import NamedTuple

from confluent_kafka.admin import AdminClient, NewTopic
from tools import wire
from tools.brokers import HOST, Broker

from benchmarks.clients import (
    Clients,
    latency_figures,
    raw_consume,
    raw_latency,
    raw_produce,
    record_batch,
)
from benchmarks.meter import GB, MB, usage

Figures = dict[str, float]


class Amounts(NamedTuple):
    """How much work a run does; ``quick`` trades precision for time."""

    throughput_bytes: int
    java_bytes: int
    raw_requests: int
    latency_records: int
    warmup_bytes: int
    compacted_bytes: int
    idle_partitions: Sequence[int]
    kills: int


FULL = Amounts(
    throughput_bytes=600_000_000,
    java_bytes=400_000_000,
    raw_requests=100_000,
    latency_records=10_000,
    warmup_bytes=600_000_000,
    compacted_bytes=512_000_000,
    idle_partitions=(1_000, 10_000),
    kills=7,
)
QUICK = Amounts(
    throughput_bytes=40_000_000,
    java_bytes=30_000_000,
    raw_requests=10_000,
    latency_records=2_000,
    warmup_bytes=60_000_000,
    compacted_bytes=64_000_000,
    idle_partitions=(1_000,),
    kills=2,
)


class Row(NamedTuple):
    """One measurement on a running broker; returns figures by name."""

    name: str
    measure: Callable[[Broker], Figures]
    # Targets for the ratio Moldau/Kafka: (figure, "at least" or "at most", ratio).
    targets: Sequence[tuple[str, str, float]]
    # Upper bounds for Moldau's figure, whatever Kafka's is.
    limits: Mapping[str, float] = {}


class Workbench:
    """Topics and clients for the rows."""

    def __init__(self, clients: Clients, amounts: Amounts) -> None:
        self.clients = clients
        self.amounts = amounts

    @contextlib.contextmanager
    def topic(
        self, broker: Broker, partitions: int = 1, config: Mapping[str, str] | None = None
    ) -> Iterator[str]:
        """A new topic, whose files are deleted soon after it."""
        admin = AdminClient({"bootstrap.servers": broker.bootstrap, "log_level": 2})
        name = f"bench-{uuid.uuid4().hex[:10]}"
        settings = {"file.delete.delay.ms": "500", **(config or {})}
        wanted = NewTopic(name, partitions, config=settings)
        admin.create_topics([wanted])[name].result(30)
        # The controller answers; the broker becomes leader a moment later.
        self._wait_for_leader(broker, name, partitions)
        try:
            yield name
        finally:
            admin.delete_topics([name])[name].result(30)

    def _wait_for_leader(self, broker: Broker, topic: str, partitions: int) -> None:
        with wire.RawConnection(HOST, broker.port) as connection:
            for partition in range(partitions):
                frame = wire.fetch_request(topic, partition, 0, 1024, max_wait_ms=0)
                while wire.fetched(connection.call(frame), 0).error != 0:
                    time.sleep(0.01)

    def warm_up(self, broker: Broker) -> None:
        """Warm up a JIT compiler before measuring."""
        with self.topic(broker) as topic:
            for batch in (record_batch(14, 1024), record_batch(240, 1024)):
                requests = self.amounts.warmup_bytes // 2 // len(batch)
                raw_produce(broker.port, topic, batch, requests)
            raw_consume(broker.port, topic, self.amounts.warmup_bytes // 2)
            raw_latency(broker.port, topic, 1000, 2000.0, acks=-1)

    def measured(self, broker: Broker, size_bytes: float, work: Callable[[], float]) -> Figures:
        """Run ``work``, which returns its seconds; returns the rate and the broker's CPU usage.

        A broker that used only part of one core (100 %) did not limit the rate.
        """
        before = usage(broker.pid)
        seconds = work()
        after = usage(broker.pid)
        cpu_s = after.cpu_s - before.cpu_s
        return {
            "mb_s": size_bytes / MB / seconds,
            "cpu_s_per_gb": cpu_s / (size_bytes / GB),
            "broker_cpu": 100 * cpu_s / seconds,
            "rss_mb": after.rss_mb,
        }


def prefixed(prefix: str, figures: Figures) -> Figures:
    return {f"{prefix} {name}": value for name, value in figures.items()}


def throughput_targets(batch: int) -> list[tuple[str, str, float]]:
    """At least Kafka's rate, with 16 KB batches twice; the inverse for the CPU."""
    rate, cpu = (2.0, 0.5) if batch == 16_384 else (1.0, 1.0)
    return [
        (f"{way} {figure}", bound, value)
        for way in ("produce", "consume")
        for figure, bound, value in (("mb_s", "at least", rate), ("cpu_s_per_gb", "at most", cpu))
    ]


def librdkafka_row(bench: Workbench, size: int, batch: int, partitions: int) -> Row:
    def measure(broker: Broker) -> Figures:
        count = bench.amounts.throughput_bytes // size
        with bench.topic(broker, partitions) as topic:
            where = (broker.bootstrap, topic, partitions, count)
            run = bench.clients.librdkafka
            produced = bench.measured(
                broker, count * size, lambda: run("produce", *where, size, batch)["seconds"]
            )
            consumed = bench.measured(
                broker, count * size, lambda: run("consume", *where)["seconds"]
            )
        return throughput(produced, consumed, size)

    return Row(row_name("librdkafka", size, batch, partitions), measure, throughput_targets(batch))


def java_row(bench: Workbench, size: int, batch: int, partitions: int) -> Row:
    def measure(broker: Broker) -> Figures:
        count = bench.amounts.java_bytes // size
        with bench.topic(broker, partitions) as topic:
            clients, bootstrap = bench.clients, broker.bootstrap
            produced = bench.measured(
                broker,
                count * size,
                lambda: clients.java_produce(bootstrap, topic, count, size, batch)["seconds"],
            )
            consumed = bench.measured(
                broker,
                count * size,
                lambda: clients.java_consume(bootstrap, topic, partitions, count)["seconds"],
            )
        return throughput(produced, consumed, size)

    return Row(row_name("Java", size, batch, partitions), measure, throughput_targets(batch))


def raw_row(bench: Workbench, batch_bytes: int) -> Row:
    def measure(broker: Broker) -> Figures:
        batch = record_batch((batch_bytes - 61) // 1036, 1024)
        requests = max(bench.amounts.throughput_bytes // len(batch), 1)
        total = requests * len(batch)
        with bench.topic(broker) as topic:
            produced = bench.measured(
                broker, total, lambda: raw_produce(broker.port, topic, batch, requests)
            )
            consumed = bench.measured(broker, total, lambda: raw_consume(broker.port, topic, total))
        return throughput(produced, consumed, 1024)

    name = row_name("raw socket", 1024, batch_bytes, 1)
    return Row(name, measure, throughput_targets(batch_bytes))


def throughput(produced: Figures, consumed: Figures, size: int) -> Figures:
    for figures in (produced, consumed):
        figures["krec_s"] = figures["mb_s"] * MB / size / 1000
    return prefixed("produce", produced) | prefixed("consume", consumed)


def row_name(client: str, size: int, batch: int, partitions: int) -> str:
    record = "100 B" if size == 100 else "1 KiB"
    many = "1 partition" if partitions == 1 else f"{partitions} partitions"
    return f"{client}, {record} records, {batch // 1024} KB batches, {many}"


def request_rate_row(bench: Workbench) -> Row:
    def measure(broker: Broker) -> Figures:
        requests = bench.amounts.raw_requests
        batch = record_batch(1, 100)
        with bench.topic(broker) as topic:
            seconds = raw_produce(broker.port, topic, batch, requests, acks=1, in_flight=64)
        return {"requests_s": requests / seconds}

    targets = [("requests_s", "at least", 1.0)]
    return Row("raw socket, Produce of one 100 B record, pipelined", measure, targets)


LATENCY_TARGETS = [("p50_ms", "at most", 0.5), ("p99_ms", "at most", 0.5)]


def latency_rows(bench: Workbench) -> list[Row]:
    count = bench.amounts.latency_records

    def librdkafka(mode: str) -> Callable[[Broker], Figures]:
        def measure(broker: Broker) -> Figures:
            with bench.topic(broker) as topic:
                run = bench.clients.librdkafka
                return latency_figures(run(mode, broker.bootstrap, topic, count, 100, 1000))

        return measure

    def raw(acks: int) -> Callable[[Broker], Figures]:
        def measure(broker: Broker) -> Figures:
            with bench.topic(broker) as topic:
                return raw_latency(broker.port, topic, count, 1000.0, acks)

        return measure

    return [
        Row("librdkafka, produce at 1,000/s, acks=all", librdkafka("latency"), LATENCY_TARGETS),
        Row("librdkafka, end to end at 1,000/s", librdkafka("end-to-end"), LATENCY_TARGETS),
        Row("raw socket, produce at 1,000/s, acks=1", raw(1), LATENCY_TARGETS),
        Row("raw socket, produce at 1,000/s, acks=all", raw(-1), LATENCY_TARGETS),
    ]


def all_rows(bench: Workbench) -> list[Row]:
    """Every row; a quick run skips the Java ones with small records, which take long."""
    shapes = list(product((100, 1024), (16_384, 262_144), (1, 6)))
    java_shapes = shapes if bench.amounts is FULL else [s for s in shapes if s[0] == 1024]
    return [
        *(librdkafka_row(bench, *shape) for shape in shapes),
        *(java_row(bench, *shape) for shape in java_shapes),
        raw_row(bench, 16_384),
        raw_row(bench, 262_144),
        request_rate_row(bench),
        *latency_rows(bench),
    ]
