"""Limits how fast reassignments copy, with the settings that Apache Kafka's tool uses.

The rate is a dynamic setting of every broker. What it applies to are settings of topics: the
replicas that are copied from, and those that are copied to. Replication of other partitions is not
slowed down.
"""

import sys
from collections.abc import Collection, Iterable, Mapping
from typing import Final

from moldau.client.admin import Admin, ConfigChange, ResourceType
from moldau.client.connection import ConnectionFailed
from moldau.ids import TopicPartition

_RATES: Final = ("leader.replication.throttled.rate", "follower.replication.throttled.rate")
_SOURCES: Final = "leader.replication.throttled.replicas"
_TARGETS: Final = "follower.replication.throttled.replicas"


def throttled_replicas(
    current: Mapping[TopicPartition, Collection[int]], targets: Mapping[TopicPartition, list[int]]
) -> dict[str, dict[str, str]]:
    """For each topic the two settings that name the replicas to be throttled."""
    sources: dict[str, list[str]] = {}
    copies: dict[str, list[str]] = {}
    for partition, replicas in targets.items():
        added = [each for each in replicas if each not in current[partition]]
        if not added:
            continue
        # Any replica may become the leader meanwhile.
        topic, number = partition
        sources.setdefault(topic, []).extend(f"{number}:{each}" for each in current[partition])
        copies.setdefault(topic, []).extend(f"{number}:{each}" for each in added)
    return {
        topic: {_SOURCES: ",".join(sources[topic]), _TARGETS: ",".join(copies[topic])}
        for topic in sources
    }


def throttle(
    admin: Admin,
    brokers: Iterable[int],
    replicas: Mapping[str, Mapping[str, str]],
    bytes_per_s: int,
) -> None:
    """Set the rate on ``brokers``, and the throttled ``replicas`` of topics."""
    for topic, settings in replicas.items():
        changes = [(key, ConfigChange.SET, value) for key, value in settings.items()]
        admin.alter_configs(ResourceType.TOPIC, topic, changes)
    for broker in brokers:
        rates = [(key, ConfigChange.SET, str(bytes_per_s)) for key in _RATES]
        admin.alter_configs(ResourceType.BROKER, str(broker), rates)


def remove_throttle(admin: Admin, brokers: Iterable[int], topics: Collection[str]) -> bool:
    """End the limits of ``topics``; returns whether there were any.

    A broker that does not answer keeps its rate, which then applies to nothing.
    """
    found = admin.partitions.topic_settings(topics, (_SOURCES, _TARGETS))
    throttled = [topic for topic, settings in found.items() if any(settings.values())]
    for topic in throttled:
        changes = [(key, ConfigChange.DELETE, None) for key in (_SOURCES, _TARGETS)]
        admin.alter_configs(ResourceType.TOPIC, topic, changes)
    for broker in brokers if throttled else ():
        rates = [(key, ConfigChange.DELETE, None) for key in _RATES]
        try:
            admin.alter_configs(ResourceType.BROKER, str(broker), rates)
        except ConnectionFailed as failure:
            print(f"moldau: broker {broker} keeps its limit: {failure}", file=sys.stderr)
    return bool(throttled)
