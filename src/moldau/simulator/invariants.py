"""What must be true of a cluster, whatever went wrong.

Some of it can be seen at any moment (``watch``), the rest when everything is quiet again: then what
every node knows must agree with what the clients were told.
"""

from collections.abc import Sequence
from typing import Final

from moldau.ids import TopicPartition
from moldau.metadata.image import MetadataImage
from moldau.simulator.cluster import Cluster
from moldau.simulator.history import History, TopicFacts
from moldau.simulator.world import World

TOPIC: Final = 2


def check_records(world: World, history: History, partitions: Sequence[TopicPartition]) -> None:
    """Every acknowledged record is there once, in the order in which it was sent."""
    for topic_partition in partitions:
        offsets = check_order(world, history, topic_partition)
        for value in history.acknowledged.get(topic_partition, {}):
            if value not in offsets:
                world.surprise(
                    "records", f"{value!r} was acknowledged in {topic_partition} and is lost"
                )


def check_order(
    world: World, history: History, topic_partition: TopicPartition
) -> dict[bytes, int]:
    """No record is there twice, or before one that was sent before it; returns their offsets."""
    found = history.read.get(topic_partition, {})
    offsets: dict[bytes, int] = {}
    for offset in sorted(found):
        value = found[offset]
        if value in offsets:
            world.surprise(
                "records", f"{value!r} is in {topic_partition} at {offsets[value]} and {offset}"
            )
        offsets.setdefault(value, offset)
    latest: dict[bytes, int] = {}
    for value in history.sent.get(topic_partition, {}):
        at = offsets.get(value)
        if at is None:
            continue
        producer = value.split(b"/")[0]
        if at < latest.get(producer, -1):
            world.surprise(
                "records", f"{value!r} is in {topic_partition} before what was sent before it"
            )
        latest[producer] = at
    return offsets


def check_metadata(world: World, cluster: Cluster, history: History) -> None:
    """Every node has every acknowledged change, and all nodes have the same image."""
    images = [
        (machine.name, machine.node.metadata.image)
        for machine in cluster.machines
        if machine.node is not None
    ]
    for name, image in images:
        for topic in image.topics_by_name:
            if topic.startswith("admin-") and topic not in history.topics:
                world.surprise(name, f"has a topic {topic} that nobody has created")
        for facts in history.topics.values():
            _check_topic(world, name, image, facts)
    for name, image in images[1:]:
        if image.offset == images[0][1].offset and not image.has_same_content(images[0][1]):
            world.surprise(name, f"has another image than {images[0][0]} at {image.offset}")


def are_images_equally_new(cluster: Cluster) -> bool:
    """Whether every node has published all that any of them knows to be committed."""
    nodes = [machine.node for machine in cluster.machines]
    ready = [node for node in nodes if node is not None]
    committed = max((node.metadata.raft.high_watermark for node in ready), default=0)
    return len(ready) == len(nodes) and all(
        node.metadata.publisher.next_offset >= committed for node in ready
    )


def _check_topic(world: World, name: str, image: MetadataImage, facts: TopicFacts) -> None:
    topic = image.topics_by_name.get(facts.name)
    if topic is None:
        if facts.exists and not facts.may_be_deleted:
            world.surprise(name, f"has no topic {facts.name}, which was created")
        return
    if not facts.exists:
        if not facts.may_be_created:
            world.surprise(name, f"has the topic {facts.name}, which was deleted")
        return
    if len(topic.partitions) < facts.partitions:
        world.surprise(
            name, f"{facts.name} has {len(topic.partitions)} partitions, not {facts.partitions}"
        )
    configs = image.config(TOPIC, facts.name)
    for key, value in facts.configs.items():
        shown = configs.get(key)
        if shown != value and shown not in facts.possible_configs.get(key, ()):
            world.surprise(name, f"{facts.name} has {key}={shown}, not {value}")
