"""The rows about transactions."""

import time
from collections.abc import Callable

from tools import wire
from tools.brokers import HOST, Broker

from benchmarks.clients import UnavailableError
from benchmarks.meter import MB
from benchmarks.rows import Figures, Row, Workbench
from benchmarks.transaction_clients import (
    READ_COMMITTED,
    concurrent_rate,
    fetch_seconds,
    fill_with_aborted,
    librdkafka_latencies,
    loop_rate,
    our_latencies,
    produce_rate,
    transactional,
)
from moldau.client.admin import Admin, ConfigChange, ResourceType
from moldau.client.producer import Producer

TXN_OFFSET_COMMIT = 28
WARM_UP = 20
PER_LOOP = 10
EVERY_S = 0.1
SETTLING_S = 10.0
VERIFICATION = "transaction.partition.verification.enable"
LATENCY_TARGETS = [("p50_ms", "at most", 0.25), ("transactions_s", "at least", 4.0)]


def needs_transactions(broker: Broker) -> None:
    if TXN_OFFSET_COMMIT not in wire.api_versions(HOST, broker.port):
        raise UnavailableError(f"{broker.kind} does not advertise TxnOffsetCommit")


def figures_of(latencies: list[float]) -> Figures:
    ordered = sorted(latencies)
    return {
        "p50_ms": ordered[len(ordered) // 2],
        "p99_ms": ordered[len(ordered) * 99 // 100],
        "transactions_s": 1000 * len(ordered) / sum(ordered),
    }


def small_row(bench: Workbench, client: str, partitions: int) -> Row:
    """One producer, one record to each partition of a transaction."""

    def librdkafka(broker: Broker, topic: str, count: int) -> list[float]:
        producer = transactional(broker.bootstrap)
        librdkafka_latencies(producer, topic, range(partitions), WARM_UP)
        return librdkafka_latencies(producer, topic, range(partitions), count)

    def ours(broker: Broker, topic: str, count: int) -> list[float]:
        with Producer(broker.bootstrap, transactional_id=topic) as producer:
            our_latencies(producer, topic, range(partitions), WARM_UP)
            return our_latencies(producer, topic, range(partitions), count)

    run: Callable[[Broker, str, int], list[float]] = librdkafka if client == "librdkafka" else ours

    def measure(broker: Broker) -> Figures:
        needs_transactions(broker)
        with bench.topic(broker, partitions) as topic:
            return figures_of(run(broker, topic, bench.amounts.latency_records // 10))

    what = "one record" if partitions == 1 else f"a record to each of {partitions} partitions"
    return Row(f"{client}, transactions of {what}", measure, LATENCY_TARGETS)


def concurrent_row(bench: Workbench, producers: int) -> Row:
    def measure(broker: Broker) -> Figures:
        needs_transactions(broker)
        with bench.topic(broker) as topic:
            count = bench.amounts.latency_records // 50
            rate = concurrent_rate(broker.bootstrap, topic, producers, count)
        return {"transactions_s": rate}

    name = f"librdkafka, transactions of one record, {producers} producers"
    return Row(name, measure, [("transactions_s", "at least", 4.0)])


def java_row(bench: Workbench, partitions: int = 1, producers: int = 1) -> Row:
    """The Java producer, which speaks the protocol of KIP-890 with both brokers."""

    def measure(broker: Broker) -> Figures:
        needs_transactions(broker)
        count = bench.amounts.latency_records // (10 if producers == 1 else 50)
        with bench.topic(broker, partitions) as topic:
            figures = bench.clients.java_transactions(
                broker.bootstrap, topic, partitions, producers, count
            )
        return {name: figures[name] for name in ("p50_ms", "p99_ms", "transactions_s")}

    what = "one record" if partitions == 1 else f"a record to each of {partitions} partitions"
    others = f", {producers} producers" if producers > 1 else ""
    return Row(f"Java, transactions of {what}{others}", measure, LATENCY_TARGETS)


def throughput_row(bench: Workbench) -> Row:
    """Records of 1 KB in transactions of 100 ms, against the same records without."""

    def measure(broker: Broker) -> Figures:
        needs_transactions(broker)
        size = bench.amounts.throughput_bytes
        with bench.topic(broker) as topic:
            produce_rate(broker.bootstrap, topic, size // 10, EVERY_S)
            plain = produce_rate(broker.bootstrap, topic, size, None)
            rate = produce_rate(broker.bootstrap, topic, size, EVERY_S)
        return {"mb_s": rate / MB, "slowdown": plain / rate}

    name = "librdkafka, 1 KB records in transactions of 100 ms, against none"
    return Row(name, measure, [("mb_s", "at least", 1.0)], {"slowdown": 1 / 0.95})


def loop_row(bench: Workbench) -> Row:
    def measure(broker: Broker) -> Figures:
        needs_transactions(broker)
        loops = bench.amounts.latency_records // 20
        with bench.topic(broker) as source, bench.topic(broker) as target:
            return {"loops_s": loop_rate(broker.bootstrap, source, target, loops, PER_LOOP)}

    name = f"librdkafka, read-process-write of {PER_LOOP} records per transaction"
    return Row(name, measure, [("loops_s", "at least", 4.0)])


def aborted_row(bench: Workbench) -> Row:
    """Fetching a log full of aborted transactions, with the list of them and without."""
    count = bench.amounts.raw_requests
    # Filled once for each broker; it takes longer than measuring.
    filled: dict[str, str] = {}

    def measure(broker: Broker) -> Figures:
        needs_transactions(broker)
        if broker.kind not in filled:
            filled[broker.kind] = full_of_aborted(broker, count)
        topic = filled[broker.kind]
        fetch_seconds(broker.bootstrap, topic, 0)
        plain_s = fetch_seconds(broker.bootstrap, topic, 0)
        committed_s = fetch_seconds(broker.bootstrap, topic, READ_COMMITTED)
        return {"fetch_s": committed_s, "slowdown": committed_s / plain_s}

    name = f"raw fetch, read_committed over {count:,} aborted transactions, against uncommitted"
    return Row(name, measure, [("fetch_s", "at most", 1.0)], {"slowdown": 1.2})


def full_of_aborted(broker: Broker, count: int) -> str:
    """A topic with so many aborted transactions."""
    topic = "bench-aborted"
    with Admin(broker.bootstrap) as admin:
        admin.create_topic(topic, 1)
        unverified = [(VERIFICATION, ConfigChange.SET, "false")]
        admin.alter_configs(ResourceType.BROKER, "", unverified)
        deadline_s = time.monotonic() + SETTLING_S
        while True:
            # The setting counts a moment after the answer.
            try:
                fill_with_aborted(broker.bootstrap, topic, 1)
                break
            except RuntimeError:
                if time.monotonic() > deadline_s:
                    raise
        fill_with_aborted(broker.bootstrap, topic, count)
        verified = [(VERIFICATION, ConfigChange.DELETE, "")]
        admin.alter_configs(ResourceType.BROKER, "", verified)
    return topic


def transaction_rows(bench: Workbench) -> list[Row]:
    return [
        java_row(bench),
        java_row(bench, partitions=4),
        java_row(bench, producers=20),
        small_row(bench, "librdkafka", 1),
        small_row(bench, "moldau.client (KIP-890)", 1),
        small_row(bench, "librdkafka", 4),
        concurrent_row(bench, 20),
        throughput_row(bench),
        loop_row(bench),
        aborted_row(bench),
    ]
