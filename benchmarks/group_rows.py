"""The rows about consumer groups."""

# confluent-kafka marks itself as typed, but not all of what it exports is.
# mypy: disable-error-code="attr-defined, no-untyped-call"

import threading
import time
import uuid

from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewPartitions
from tools import wire
from tools.brokers import HOST, Broker

from benchmarks.clients import UnavailableError
from benchmarks.group_clients import (
    Members,
    commit_errors,
    commit_request,
    fetch_errors,
    fetch_request,
    member_settings,
    raw_rate,
    start_victim,
    wait_for_coordinator,
)
from benchmarks.rows import Figures, Row, Workbench

JOIN_GROUP = 11
CONNECTIONS = 32
PARTITIONS = 10
SETTLING_S = 2.0
ADDED_FROM, ADDED_TO = 100, 1000

# For both brokers: no initial delay for further members.
BROKER_SETTINGS = {"group.initial.rebalance.delay.ms": "0"}


def needs_groups(broker: Broker) -> None:
    if JOIN_GROUP not in wire.api_versions(HOST, broker.port):
        raise UnavailableError(f"{broker.kind} does not advertise JoinGroup")


def new_group() -> str:
    return f"bench-{uuid.uuid4().hex[:10]}"


def offsets_row(bench: Workbench, what: str) -> Row:
    """Commits or fetches of the offsets of ten partitions, by 32 groups concurrently."""

    def measure(broker: Broker) -> Figures:
        needs_groups(broker)
        requests = bench.amounts.raw_requests // 4
        groups = [new_group() for _ in range(CONNECTIONS)]
        with bench.topic(broker, PARTITIONS) as topic:
            for group in groups:
                wait_for_coordinator(broker.port, group)
            commits = [commit_request(group, topic, range(PARTITIONS), 7) for group in groups]
            if what == "commits":
                raw_rate(broker.port, commits, requests // 4, commit_errors)
                return {"requests_s": raw_rate(broker.port, commits, requests, commit_errors)}
            raw_rate(broker.port, commits, len(commits), commit_errors)
            fetches = [fetch_request(group, topic, range(PARTITIONS)) for group in groups]
            raw_rate(broker.port, fetches, requests // 4, fetch_errors)
            return {"requests_s": raw_rate(broker.port, fetches, requests, fetch_errors)}

    name = f"raw socket, offset {what} of {PARTITIONS} partitions, {CONNECTIONS} connections"
    return Row(name, measure, [("requests_s", "at least", 1.0)])


def stable_row(bench: Workbench, protocol: str, count: int) -> Row:
    """From the start of the first member until the last one has its partitions."""

    def measure(broker: Broker) -> Figures:
        needs_groups(broker)
        group = new_group()
        wait_for_coordinator(broker.port, group)
        with bench.topic(broker, 2 * count) as topic:
            members = Members(member_settings(broker.bootstrap, group, protocol), topic, count)
            try:
                return {"stable_s": members.wait_until_shared(2 * count) - members.began_s}
            finally:
                members.close()

    name = f"librdkafka, a stable group of {count} members, {protocol} protocol"
    return Row(name, measure, [("stable_s", "at most", 1.0)])


def killed_row(bench: Workbench) -> Row:
    """From kill -9 of a member until another one reads a record of each of its partitions."""

    def measure(broker: Broker) -> Figures:
        needs_groups(broker)
        group = new_group()
        wait_for_coordinator(broker.port, group)
        settings = member_settings(broker.bootstrap, group, "classic")
        with bench.topic(broker, PARTITIONS) as topic, writing(broker, topic):
            victim = start_victim(settings, topic)
            assert victim.stdout is not None
            victim.stdout.readline()
            members = Members(settings, topic, 2)
            try:
                # Three members: the victim owns what the two in this process do not.
                members.wait_for(
                    lambda: members.is_everybody_busy and len(members.owned) < PARTITIONS
                )
                time.sleep(SETTLING_S)
                theirs = set(range(PARTITIONS)) - members.owned
                if not 0 < len(theirs) < PARTITIONS:
                    raise RuntimeError(f"the victim owns {sorted(theirs)} when it is killed")
                victim.kill()
                killed_s = time.monotonic()
                read_again_s = members.wait_for(
                    lambda: all(members.last_read_s.get(p, 0.0) > killed_s for p in theirs)
                )
                return {"read_again_s": read_again_s - killed_s}
            finally:
                victim.kill()
                victim.wait()
                members.close()

    name = "librdkafka, a killed member's partitions are read again, session of 6 s"
    return Row(name, measure, [("read_again_s", "at most", 1.05)])


class writing:  # noqa: N801  # used like a function
    """Writes records to every partition continuously while the block runs."""

    def __init__(self, broker: Broker, topic: str) -> None:
        self._topic = topic
        self._producer = Producer({"bootstrap.servers": broker.bootstrap, "log_level": 2})
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> None:
        self._thread.start()

    def __exit__(self, *_: object) -> None:
        self._is_over.set()
        self._thread.join()
        self._producer.flush(10)

    def _run(self) -> None:
        while not self._is_over.wait(0.02):
            for partition in range(PARTITIONS):
                self._producer.produce(self._topic, b"x" * 100, partition=partition)
            self._producer.poll(0)


def added_row(bench: Workbench) -> Row:
    """KIP-848: from the request for 900 more partitions until ten members have them all."""

    def measure(broker: Broker) -> Figures:
        needs_groups(broker)
        group = new_group()
        wait_for_coordinator(broker.port, group)
        with bench.topic(broker, ADDED_FROM) as topic:
            members = Members(member_settings(broker.bootstrap, group, "consumer"), topic, 10)
            try:
                members.wait_until_shared(ADDED_FROM)
                admin = AdminClient({"bootstrap.servers": broker.bootstrap, "log_level": 2})
                began_s = time.monotonic()
                admin.create_partitions([NewPartitions(topic, ADDED_TO)])[topic].result(60)
                return {"shared_s": members.wait_until_shared(ADDED_TO) - began_s}
            finally:
                members.close()

    name = "librdkafka, 10 members of KIP-848 take 900 partitions that are added"
    return Row(name, measure, [("shared_s", "at most", 1.0)])


def group_rows(bench: Workbench) -> list[Row]:
    return [
        offsets_row(bench, "commits"),
        offsets_row(bench, "fetches"),
        stable_row(bench, "classic", 10),
        stable_row(bench, "consumer", 10),
        stable_row(bench, "classic", 100),
        stable_row(bench, "consumer", 100),
        killed_row(bench),
        added_row(bench),
    ]
