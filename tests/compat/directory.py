"""A data directory as its clients see it: what a broker that opens it must serve."""

# confluent-kafka marks itself as typed, but not all of what it exports is.
# mypy: disable-error-code="attr-defined"

from collections.abc import Mapping
from typing import NamedTuple

from confluent_kafka import TopicCollection
from confluent_kafka.admin import AdminClient, ConfigResource, ConfigSource, ResourceType
from tools.brokers import Broker

from tests.compat.clients.base import CODECS, Record
from tests.compat.clients.confluent import ConfluentClient
from tests.compat.sample import PARTITIONS, sample_records, text_records, wait_until, with_offsets

PATIENCE_S = 120.0


class TopicShape(NamedTuple):
    """A topic without its records."""

    topic_id: str
    partitions: int
    configs: Mapping[str, str]


class Contents:
    """What was written into a data directory, topic by topic."""

    def __init__(self) -> None:
        self.records: dict[str, list[Record]] = {}
        self.shapes: dict[str, TopicShape] = {}


def open_client(broker: Broker) -> ConfluentClient:
    return ConfluentClient(broker.bootstrap)


def write(client: ConfluentClient, contents: Contents, topic: str, codec: str) -> None:
    """Add the sample records to a topic and remember them with their offsets."""
    # Another seed for each call, so that no two writes look the same.
    records = sample_records(client, seed=len(contents.records.get(topic, [])))
    written = with_offsets(records, client.produce(topic, records, codec))
    contents.records.setdefault(topic, []).extend(written)


def fill(broker: Broker, contents: Contents) -> None:
    """A topic for each codec, one in many segments, one with records deleted, one with settings."""
    client = open_client(broker)
    for codec in CODECS:
        client.create_topic(f"codec-{codec}", PARTITIONS)
        wait_until(lambda topic=f"codec-{codec}": topic in client.list_topics())  # type: ignore[misc]
        write(client, contents, f"codec-{codec}", codec)
    client.create_topic("rolled", 1, {"segment.bytes": "1048576", "index.interval.bytes": "512"})
    client.create_topic("settings", 3, {"retention.ms": "90000000", "cleanup.policy": "compact"})
    client.create_topic("deleted", 2)
    wait_until(lambda: "deleted" in client.list_topics())
    contents.records["rolled"] = []
    # A call makes a batch or two: many calls, so that the sparse indexes get their entries.
    for _ in range(60):
        records = [r._replace(value=b"x" * 2000) for r in text_records(20)]
        offsets = client.produce("rolled", records, "none")
        contents.records["rolled"] += with_offsets(records, offsets)
    client.set_topic_config("settings", {"min.compaction.lag.ms": "60000"})
    client.delete_topic("deleted")
    wait_until(lambda: "deleted" not in client.list_topics())
    contents.shapes = shapes(broker)
    client.close()


def shapes(broker: Broker) -> dict[str, TopicShape]:
    """Every topic with its id, partition count and the settings it was given."""
    admin = AdminClient({"bootstrap.servers": broker.bootstrap})
    names = sorted(admin.list_topics(timeout=PATIENCE_S).topics)
    described = admin.describe_topics(TopicCollection(names))
    resources = [ConfigResource(ResourceType.TOPIC, name) for name in names]
    configs = {
        resource.name: future.result(PATIENCE_S)
        for resource, future in admin.describe_configs(resources).items()
    }
    found = {}
    for name in names:
        topic = described[name].result(PATIENCE_S)
        own = {
            entry.name: entry.value
            for entry in configs[name].values()
            if entry.source == ConfigSource.DYNAMIC_TOPIC_CONFIG.value
        }
        # librdkafka prints the id in the other base64 alphabet.
        topic_id = str(topic.topic_id).replace("+", "-").replace("/", "_")
        found[name] = TopicShape(topic_id, len(topic.partitions), own)
    return found


def read_everything(broker: Broker) -> dict[str, list[Record]]:
    """Every record of every topic, partition by partition up to its end offset."""
    client = open_client(broker)
    places = [
        (name, partition)
        for name, shape in shapes(broker).items()
        for partition in range(shape.partitions)
    ]
    ends: dict[tuple[str, int], int] = {}

    def answered() -> bool:
        # A broker that has just started may not lead every partition yet.
        ends.update(client.end_offsets(places))
        return True

    wait_until(answered)
    filled = {place: 0 for place, end in ends.items() if end > 0}
    found = client.consume_topics(filled, sum(ends.values()))
    client.close()
    return found
