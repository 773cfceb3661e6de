"""The embedded consumer protocol of classic members.

The first two bytes are the version. A newer version than the known ones is read as the newest
known: later versions only add fields at the end.
"""

from typing import Final

from moldau.group_coordinator.consumer.member import Target
from moldau.group_coordinator.consumer.reconciliation import Owned
from moldau.metadata.image import MetadataImage
from moldau.protocol.reading import MalformedMessage
from moldau.protocol.records.client_data import (
    ConsumerProtocolAssignment,
    ConsumerProtocolSubscription,
    TopicPartition,
)

PROTOCOL_TYPE: Final = "consumer"


def protocol_version(data: bytes) -> int:
    """The version. Raises MalformedMessage if there is none."""
    if len(data) < 2:
        raise MalformedMessage(f"{len(data)} bytes: the consumer protocol begins with two")
    version = int.from_bytes(data[:2], "big", signed=True)
    if version < 0:
        raise MalformedMessage(f"{version} is not a version of the consumer protocol")
    return version


def decode_subscription(data: bytes) -> ConsumerProtocolSubscription:
    """Raises MalformedMessage."""
    version = min(protocol_version(data), ConsumerProtocolSubscription.MAX_VERSION)
    return ConsumerProtocolSubscription.decode(bytes(data), 2, version)[0]


def decode_assignment(data: bytes) -> ConsumerProtocolAssignment:
    """Raises MalformedMessage."""
    version = min(protocol_version(data), ConsumerProtocolAssignment.MAX_VERSION)
    return ConsumerProtocolAssignment.decode(bytes(data), 2, version)[0]


def encode_assignment(target: Target, version: int, image: MetadataImage) -> bytes:
    """Encode an assignment, without deleted topics, whose names are unknown."""
    version = min(version, ConsumerProtocolAssignment.MAX_VERSION)
    topics = []
    for topic_id, partitions in sorted(target.items()):
        topic = image.topics_by_id.get(topic_id)
        if topic is not None:
            topics.append(TopicPartition(topic=topic.name, partitions=list(partitions)))
    assignment = ConsumerProtocolAssignment(assigned_partitions=topics)
    return version.to_bytes(2, "big") + assignment.encode(version)


def owned_partitions(subscription: ConsumerProtocolSubscription, image: MetadataImage) -> Owned:
    owned = []
    for item in subscription.owned_partitions:
        topic = image.topics_by_name.get(item.topic)
        if topic is not None:
            owned.append((topic.id, item.partitions))
    return owned


def assigned_target(assignment: ConsumerProtocolAssignment, image: MetadataImage) -> Target:
    found: dict[bytes, tuple[int, ...]] = {}
    for item in assignment.assigned_partitions:
        topic = image.topics_by_name.get(item.topic)
        if topic is not None:
            found[topic.id] = tuple(sorted(dict.fromkeys(item.partitions)))
    return found
