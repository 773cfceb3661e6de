"""The rows about three nodes with replicated topics, each a broker and a controller.

The clusters of both sides run at the same time, with their default settings; one is idle while the
other is measured.
"""

# confluent-kafka marks itself as typed, but not all of what it exports is.
# mypy: disable-error-code="attr-defined, no-untyped-call"

import contextlib
import re
import statistics
import subprocess
import time
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import NamedTuple

from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic
from tools.brokers import kafka_dir
from tools.clusters import APACHE, MOLDAU, Cluster, Member

from benchmarks.clients import latency_figures
from benchmarks.cluster_clients import (
    PATIENCE_S,
    AckClock,
    TopicView,
    gap_s,
    java_acks,
    librdkafka_acks,
)
from benchmarks.meter import GB, MB, usage
from benchmarks.rows import LATENCY_TARGETS, Figures, Workbench

NODES = (1, 2, 3)
REPLICAS = 3
SETTINGS = {
    "default.replication.factor": "3",
    "min.insync.replicas": "2",
    "offsets.topic.replication.factor": "3",
    "group.initial.rebalance.delay.ms": "0",
}
MANY = 1_000
IDLE_S = 10.0


class ClusterRow(NamedTuple):
    """One measurement on a running cluster; returns figures by name."""

    name: str
    measure: Callable[[Workbench, Cluster], Figures]
    targets: Sequence[tuple[str, str, float]]
    limits: Mapping[str, float] = {}
    # Apache Kafka takes minutes to create very many partitions on three JVMs of one machine.
    is_compared: bool = True


def sides(folder: Path) -> dict[str, Cluster]:
    found = {}
    for name, kind in {"moldau": MOLDAU, "kafka": APACHE}.items():
        members = [Member(each, kind=kind) for each in NODES]
        found[name] = Cluster(folder / f"{name}-cluster", members, SETTINGS)
    return found


@contextlib.contextmanager
def replicated_topic(
    cluster: Cluster, partitions: int = 1, first: int | None = None
) -> Iterator[str]:
    """A topic with three replicas, all of which are in sync; ``first`` is to lead it."""
    admin = AdminClient({"bootstrap.servers": cluster.bootstrap, "log_level": 0})
    name = f"bench-{uuid.uuid4().hex[:10]}"
    settings = {"file.delete.delay.ms": "500"}
    topic = NewTopic(name, partitions, REPLICAS, config=settings)
    if first is not None:
        replicas = [first, *(each for each in NODES if each != first)]
        topic = NewTopic(name, 1, replica_assignment=[replicas], config=settings)
    admin.create_topics([topic])[name].result(PATIENCE_S)
    TopicView(cluster, name).wait_until_whole()
    try:
        yield name
    finally:
        admin.delete_topics([name])[name].result(PATIENCE_S)


def used(cluster: Cluster) -> tuple[float, float]:
    """CPU seconds and resident memory of all nodes together."""
    each = [usage(node.pid) for node in cluster.nodes.values()]
    return sum(one.cpu_s for one in each), sum(one.rss_mb for one in each)


def warm_up(bench: Workbench, cluster: Cluster) -> None:
    """Warm up JIT compilers before measuring."""
    write(bench, cluster, bench.amounts.warmup_bytes)
    end_to_end(bench, cluster)


def throughput(bench: Workbench, cluster: Cluster) -> Figures:
    return write(bench, cluster, bench.amounts.throughput_bytes)


def write(bench: Workbench, cluster: Cluster, size_bytes: int) -> Figures:
    size, batch, partitions = 1024, 262_144, 6
    count = size_bytes // size
    with replicated_topic(cluster, partitions) as topic:
        before, _ = used(cluster)
        where = (cluster.bootstrap, topic, partitions, count)
        seconds = bench.clients.librdkafka("produce", *where, size, batch)["seconds"]
        # What the followers still have to do belongs to it.
        TopicView(cluster, topic).wait_until_whole()
        after, rss_mb = used(cluster)
    written = count * size
    return {
        "mb_s": written / MB / seconds,
        "cpu_s_per_gb": (after - before) / (written / GB),
        "rss_mb": rss_mb,
    }


def end_to_end(bench: Workbench, cluster: Cluster) -> Figures:
    count = bench.amounts.latency_records
    with replicated_topic(cluster) as topic:
        run = bench.clients.librdkafka
        return latency_figures(run("end-to-end", cluster.bootstrap, topic, count, 100, 1000))


def failover(
    client: Callable[[str, str], AbstractContextManager[AckClock]], *, is_controller: bool = False
) -> Callable[[Workbench, Cluster], Figures]:
    """The time without acknowledgements when the leader is killed, and until it is in sync."""

    def kill(cluster: Cluster) -> tuple[float, float]:
        first = active_controller(cluster) if is_controller else None
        with replicated_topic(cluster, first=first) as topic:
            view = TopicView(cluster, topic)
            victim = cluster.nodes[view.leader()]
            with client(cluster.bootstrap, topic) as clock:
                gap = gap_s(clock, victim.kill)
                began = time.monotonic()
                victim.start()
                view.wait_until_whole()
                return gap, time.monotonic() - began

    def measure(bench: Workbench, cluster: Cluster) -> Figures:
        gaps, healings = zip(*(kill(cluster) for _ in range(bench.amounts.kills)), strict=True)
        return {
            "gap_s": statistics.median(gaps),
            "worst gap_s": max(gaps),
            "whole_s": statistics.median(healings),
        }

    return measure


def active_controller(cluster: Cluster) -> int:
    """The leader of the metadata quorum."""
    tool = str(kafka_dir() / "bin" / "kafka-metadata-quorum")
    command = [tool, "--bootstrap-server", cluster.bootstrap, "describe", "--status"]
    told = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    [leader] = re.findall(r"LeaderId:\s+(\d+)", told)
    return int(leader)


@contextlib.contextmanager
def partitions_of_one_record(cluster: Cluster, count: int, topics: int = 1) -> Iterator[float]:
    """Yields the seconds until each of ``count`` partitions per topic acknowledged a record."""
    admin = AdminClient({"bootstrap.servers": cluster.bootstrap, "log_level": 0})
    names = [f"bench-{uuid.uuid4().hex[:10]}" for _ in range(topics)]
    settings = {"bootstrap.servers": cluster.bootstrap, "log_level": 0, "linger.ms": 0}
    producer = Producer({**settings, "topic.metadata.refresh.fast.interval.ms": 50})
    failed: list[object] = []

    def delivered(error: object, _: object) -> None:
        if error is not None:
            failed.append(error)

    began = time.monotonic()
    for name in names:
        topic = NewTopic(name, count, REPLICAS, config={"file.delete.delay.ms": "500"})
        admin.create_topics([topic], operation_timeout=PATIENCE_S)[name].result(PATIENCE_S)
    for name in names:
        for partition in range(count):
            producer.produce(name, b"x", partition=partition, on_delivery=delivered)
    left = producer.flush(PATIENCE_S)
    writable = time.monotonic() - began
    try:
        if left or failed:
            raise RuntimeError(f"{left} records not sent, {len(failed)} failed: {failed[:1]}")
        for name in names:
            TopicView(cluster, name).wait_until_whole()
        yield writable
    finally:
        for deleted in admin.delete_topics(names).values():
            deleted.result(PATIENCE_S)


def many_partitions(count: int, topics: int = 1) -> Callable[[Workbench, Cluster], Figures]:
    """How soon so many partitions are writable, and what they cost a broker when they are idle."""

    def measure(_: Workbench, cluster: Cluster) -> Figures:
        with partitions_of_one_record(cluster, count, topics) as writable:
            time.sleep(IDLE_S)
            before, _rss = used(cluster)
            time.sleep(IDLE_S)
            after, rss_mb = used(cluster)
        idle = 100 * (after - before) / IDLE_S / len(NODES)
        return {"create_s": writable, "broker_cpu": idle, "rss_mb": rss_mb}

    return measure


def end_to_end_beside_many(bench: Workbench, cluster: Cluster) -> Figures:
    """End to end, beside many idle partitions, and how much longer that takes than without."""
    alone = end_to_end(bench, cluster)
    with partitions_of_one_record(cluster, MANY):
        beside = end_to_end(bench, cluster)
    return {**beside, "p99_growth": beside["p99_ms"] / alone["p99_ms"]}


def cluster_rows() -> list[ClusterRow]:
    gaps = {"gap_s": 1.0, "worst gap_s": 2.0}
    kill = "3 nodes, kill -9 of a leader"
    return [
        ClusterRow(
            "3 nodes, librdkafka, 1 KiB records, 256 KB batches, 6 partitions, RF 3, acks=all",
            throughput,
            [("mb_s", "at least", 2.0), ("cpu_s_per_gb", "at most", 0.5)],
            {"rss_mb": 250.0},
        ),
        ClusterRow("3 nodes, librdkafka, end to end at 1,000/s, RF 3", end_to_end, LATENCY_TARGETS),
        ClusterRow(f"{kill}, librdkafka", failover(librdkafka_acks), [], gaps),
        ClusterRow(f"{kill}, Java", failover(java_acks), [], gaps),
        ClusterRow(
            f"{kill} that is also controller, librdkafka",
            failover(librdkafka_acks, is_controller=True),
            [],
            gaps,
        ),
        ClusterRow(
            "3 nodes, a topic of 1,000 partitions, RF 3, then idle",
            many_partitions(MANY),
            [],
            {"create_s": 2.0, "broker_cpu": 1.0},
        ),
        ClusterRow(
            "3 nodes, librdkafka, end to end at 1,000/s, RF 3, beside 1,000 idle partitions",
            end_to_end_beside_many,
            LATENCY_TARGETS,
            {"p99_growth": 1.2},
        ),
        ClusterRow(
            "3 nodes, 10 topics of 1,000 partitions, RF 3, then idle",
            many_partitions(MANY, topics=10),
            [],
            {"broker_cpu": 3.0},
            is_compared=False,
        ),
    ]
