"""The embedded protocol of classic consumer groups, and the range assignor.

The coordinator does not read these bytes: a member sends its subscription in JoinGroup, and the
group leader sends the assignments of all members in SyncGroup. Both begin with a version, and
later versions only add fields at the end.
"""

import struct
from collections.abc import Iterable, Mapping
from typing import Final, NamedTuple

from moldau.ids import TopicPartition
from moldau.protocol.reading import MalformedMessage
from moldau.protocol.records import client_data

PROTOCOL_TYPE: Final = "consumer"
RANGE: Final = "range"

_VERSION: Final = struct.Struct(">h")
_SENT_VERSION: Final = 1


class Member(NamedTuple):
    """A member with the topics it subscribed to."""

    member_id: str
    instance_id: str | None
    topics: list[str]


def encode_subscription(topics: Iterable[str]) -> bytes:
    message = client_data.ConsumerProtocolSubscription(topics=sorted(topics))
    return _VERSION.pack(_SENT_VERSION) + message.encode(_SENT_VERSION)


def decode_subscription(data: bytes) -> list[str]:
    """The topics that a member subscribed to.

    Raises:
        MalformedMessage: the bytes are not a subscription.
    """
    known = client_data.ConsumerProtocolSubscription.MAX_VERSION
    message, _ = client_data.ConsumerProtocolSubscription.decode(data, 2, _version(data, known))
    return list(message.topics)


def encode_assignment(partitions: Iterable[TopicPartition]) -> bytes:
    topics: dict[str, client_data.TopicPartition] = {}
    for topic, partition in sorted(partitions):
        topics.setdefault(topic, client_data.TopicPartition(topic)).partitions.append(partition)
    message = client_data.ConsumerProtocolAssignment(list(topics.values()))
    return _VERSION.pack(_SENT_VERSION) + message.encode(_SENT_VERSION)


def decode_assignment(data: bytes) -> list[TopicPartition]:
    """The partitions of an assignment, sorted; none if ``data`` is empty.

    Raises:
        MalformedMessage: the bytes are not an assignment.
    """
    if len(data) < 2:
        return []
    known = client_data.ConsumerProtocolAssignment.MAX_VERSION
    message, _ = client_data.ConsumerProtocolAssignment.decode(data, 2, _version(data, known))
    return sorted(
        TopicPartition(each.topic, partition)
        for each in message.assigned_partitions
        for partition in each.partitions
    )


def assign_range(
    members: Iterable[Member], partition_counts: Mapping[str, int]
) -> dict[str, list[TopicPartition]]:
    """Give each member a contiguous, equal range of each topic; the first members get one more.

    Members are sorted by instance id and then by member id, as in Kafka's range assignor: a
    static member keeps its position when it returns.
    """
    ordered = sorted(
        members, key=lambda each: (each.instance_id is None, each.instance_id or "", each.member_id)
    )
    assignment: dict[str, list[TopicPartition]] = {each.member_id: [] for each in ordered}
    for topic in sorted({topic for each in ordered for topic in each.topics}):
        takers = [each.member_id for each in ordered if topic in each.topics]
        share, rest = divmod(partition_counts.get(topic, 0), len(takers))
        start = 0
        for index, member_id in enumerate(takers):
            end = start + share + (index < rest)
            assignment[member_id] += [TopicPartition(topic, each) for each in range(start, end)]
            start = end
    return assignment


def _version(data: bytes, known: int) -> int:
    if len(data) < _VERSION.size:
        # Of a member that is about to join nothing is known yet.
        raise MalformedMessage(f"{len(data)} bytes do not say their version")
    return min(max(int(_VERSION.unpack_from(data)[0]), 0), known)
