"""The rows about a broker with thousands of idle partitions.

They use separate directories, and only one broker runs at a time: they measure what the partitions
add to the memory of an empty broker, and how long a start with them takes.
"""

# confluent-kafka marks itself as typed, but not all of what it exports is.
# mypy: disable-error-code="attr-defined"

import time
from collections.abc import Mapping
from pathlib import Path

from confluent_kafka.admin import AdminClient, NewTopic
from tools import wire
from tools.brokers import HOST, ApacheKafkaBroker, Broker, MoldauBroker

from benchmarks.meter import usage
from benchmarks.rows import Figures

PER_TOPIC = 1000
SETTLING_S = 5.0
# Ten thousand partitions need more than a gigabyte of Java heap, and many fsyncs at a stop.
PATIENCE_S = 600.0

TARGETS = [
    ("start_s", "at most", 1.0),
    ("create_s", "at most", 1.0),
    ("stop_s", "at most", 1.0),
    ("kb_each", "at most", 1.0),
]
# The targets: 20 KB for an idle partition, five seconds for a start with ten thousand.
LIMITS = {"kb_each": 20.0, "start_s": 5.0}


def row_name(count: int) -> str:
    return f"{count:,} idle partitions"


def sides(folder: Path, count: int, settings: Mapping[str, str]) -> dict[str, Broker]:
    """Brokers with empty directories; their first start formats them."""
    kinds: dict[str, type[Broker]] = {"moldau": MoldauBroker, "kafka": ApacheKafkaBroker}
    found = {}
    for name, kind in kinds.items():
        broker = kind(folder / f"{name}-{count}" / "data", settings)
        broker.directory.parent.mkdir(parents=True, exist_ok=True)
        broker.start_limit_s = broker.stop_limit_s = PATIENCE_S
        found[name] = broker
    return found


def fill(broker: Broker, count: int) -> Figures:
    """Start an empty broker, create ``count`` partitions, stop it."""
    broker.start()
    try:
        time.sleep(SETTLING_S)
        empty_mb = usage(broker.pid).rss_mb
        began = time.monotonic()
        _create(broker, count)
        create_s = time.monotonic() - began
        time.sleep(SETTLING_S)
        full_mb = usage(broker.pid).rss_mb
    except BaseException:
        broker.kill()
        raise
    began = time.monotonic()
    broker.stop()
    return {
        "create_s": create_s,
        "stop_s": time.monotonic() - began,
        "kb_each": (full_mb - empty_mb) * 1000 / count,
    }


def _create(broker: Broker, count: int) -> None:
    admin = AdminClient({"bootstrap.servers": broker.bootstrap, "log_level": 2})
    for first in range(0, count, PER_TOPIC):
        name = f"idle-{first // PER_TOPIC}"
        partitions = min(PER_TOPIC, count - first)
        options = {"operation_timeout": PATIENCE_S / 2, "request_timeout": PATIENCE_S / 2}
        created = admin.create_topics([NewTopic(name, partitions, 1)], **options)
        created[name].result(PATIENCE_S)
        wait_for_leader(broker, name, partitions - 1)


def wait_for_leader(broker: Broker, topic: str, partition: int) -> None:
    frame = wire.fetch_request(topic, partition, 0, 1024, max_wait_ms=0)
    with wire.RawConnection(HOST, broker.port) as connection:
        while wire.fetched(connection.call(frame), 0).error != 0:
            time.sleep(0.01)
