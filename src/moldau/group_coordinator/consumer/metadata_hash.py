"""A hash of the topics that a group's assignment depends on (KIP-1101).

It covers id, name, partition count and racks of every existing topic that the group is
subscribed to, and is stored with the group epoch. If it changes, the group needs a new
assignment, even if the change happened while another broker was the coordinator.
"""

import struct
from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from moldau.group_coordinator.consumer.xxh3 import xxh3_64
from moldau.metadata.image import MetadataImage, TopicImage

# The version of the hash.
_MAGIC: Final = b"\x00"


class MetadataHashes:
    """Hashes of topics, cached as long as the image of the topic is the same."""

    def __init__(self) -> None:
        self._known: dict[str, tuple[TopicImage, int]] = {}

    def group_hash(self, topics: Iterable[str], image: MetadataImage) -> int:
        """The hash of ``topics``, which are sorted. 0 if none of them exists."""
        parts: list[bytes] = []
        for name in topics:
            topic = image.topics_by_name.get(name)
            if topic is not None:
                parts.append(struct.pack("<Q", self._topic_hash(topic, image)))
        if not parts:
            return 0
        return _signed(xxh3_64(b"".join(parts)))

    def computing(self, topics: Iterable[str], image: MetadataImage) -> Iterator[None]:
        """Compute the hashes of topics in steps, so that ``group_hash`` need not."""
        for name in topics:
            topic = image.topics_by_name.get(name)
            if topic is not None:
                self._topic_hash(topic, image)
            yield

    def forget(self, names: Mapping[str, None]) -> None:
        """Forget topics that changed or are gone."""
        known = self._known
        if len(known) < len(names):
            names = dict.fromkeys([name for name in known if name in names])
        for name in names:
            known.pop(name, None)

    def clear(self) -> None:
        self._known.clear()

    def _topic_hash(self, topic: TopicImage, image: MetadataImage) -> int:
        known = self._known.get(topic.name)
        if known is not None and known[0] is topic:
            return known[1]
        value = topic_hash(topic, image)
        self._known[topic.name] = (topic, value)
        return value


def topic_hash(topic: TopicImage, image: MetadataImage) -> int:
    """Unsigned. Numbers are written as hash4j does: little-endian, strings as UTF-16."""
    most, least = struct.unpack(">QQ", topic.id)
    parts = [
        _MAGIC,
        struct.pack("<QQ", most, least),
        _text(topic.name),
        struct.pack("<i", len(topic.partitions)),
    ]
    for partition in range(len(topic.partitions)):
        parts.append(struct.pack("<i", partition))
        for rack in sorted(partition_racks(topic, partition, image)):
            parts.append(struct.pack("<i", len(rack.encode("utf-16-le")) // 2))
            parts.append(_text(rack))
    return xxh3_64(b"".join(parts))


def partition_racks(topic: TopicImage, partition: int, image: MetadataImage) -> list[str]:
    """The racks of a partition's replicas, one per replica that has one."""
    registration = topic.partitions.get(partition)
    if registration is None:
        return []
    racks = []
    for broker_id in registration.replicas:
        broker = image.brokers.get(broker_id)
        if broker is not None and broker.rack is not None:
            racks.append(broker.rack)
    return racks


def _text(value: str) -> bytes:
    encoded = value.encode("utf-16-le")
    return encoded + struct.pack("<i", len(encoded) // 2)


def _signed(value: int) -> int:
    return value - (1 << 64) if value >> 63 else value
