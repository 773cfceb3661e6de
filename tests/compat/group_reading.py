"""A topic that a group reads: what was written, what was read, what was committed."""

# confluent-kafka marks itself as typed, but not all of what it exports is.
# mypy: disable-error-code="attr-defined, no-untyped-call"

import functools
import time
from collections.abc import Iterable, Sequence
from typing import Any

from confluent_kafka import Consumer, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import (
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    NewTopic,
    ResourceType,
)

from tests.compat.clients.members import Member, wait_for

PATIENCE_S = 120.0


@functools.cache
def offset_keeper(bootstrap: str, group: str) -> Consumer:
    """Reads and writes the offsets of a group without being a member.

    A consumer, not an admin client: librdkafka 2.16 crashes when an admin client's OffsetFetch is
    answered with COORDINATOR_LOAD_IN_PROGRESS, as it is by a broker that has just started.
    """
    return Consumer({"bootstrap.servers": bootstrap, "group.id": group, "log_level": 2})


def committed(
    bootstrap: str, group: str, places: Iterable[tuple[str, int]]
) -> dict[tuple[str, int], int]:
    """The offset, for those of ``places`` that have been committed."""
    wanted = [TopicPartition(*place) for place in places]
    deadline = time.monotonic() + PATIENCE_S
    while True:
        try:
            found = offset_keeper(bootstrap, group).committed(wanted, timeout=30.0)
            break
        except KafkaException:
            # A broker that has just started may still be loading the group.
            if time.monotonic() > deadline:
                raise
    return {(each.topic, each.partition): each.offset for each in found if each.offset >= 0}


class GroupTopic:
    """Written to in bursts while a group reads it."""

    def __init__(self, bootstrap: str, topic: str, partitions: int) -> None:
        self.name = topic
        self.partitions = partitions
        self.written: set[tuple[int, int]] = set()
        self._bootstrap = bootstrap
        settings: dict[str, Any] = {"bootstrap.servers": bootstrap, "log_level": 2}
        self.admin = AdminClient(settings)
        self._producer = Producer({**settings, "enable.idempotence": True})
        self.admin.create_topics([NewTopic(topic, partitions)])[topic].result(PATIENCE_S)

    def write(self, count: int) -> None:
        """As many records into each partition."""

        def delivered(error: Any, message: Any) -> None:
            assert error is None, error
            self.written.add((message.partition(), message.offset()))

        for number in range(count):
            for partition in range(self.partitions):
                value = f"record {number}"
                self._producer.produce(self.name, value, partition=partition, on_delivery=delivered)
        assert self._producer.flush(PATIENCE_S) == 0

    def configure_group(self, group: str, settings: dict[str, str]) -> None:
        entries = [
            ConfigEntry(name, value, incremental_operation=AlterConfigOpType.SET)
            for name, value in settings.items()
        ]
        resource = ConfigResource(ResourceType.GROUP, group, incremental_configs=entries)
        self.admin.incremental_alter_configs([resource])[resource].result(PATIENCE_S)

    def committed(self, group: str) -> dict[int, int]:
        places = [(self.name, partition) for partition in range(self.partitions)]
        found = committed(self._bootstrap, group, places)
        return {partition: offset for (_, partition), offset in found.items()}

    @property
    def ends(self) -> dict[int, int]:
        return {
            partition: max((o + 1 for p, o in self.written if p == partition), default=0)
            for partition in range(self.partitions)
        }

    def wait_until_read(self, members: Iterable[Member]) -> None:
        """Until every record was read by somebody."""
        everybody = list(members)
        wait_for(lambda: not self.unread(everybody), lambda: (self.unread(everybody), *everybody))

    def unread(self, members: Sequence[Member]) -> set[tuple[int, int]]:
        return self.written - {record for member in members for record in list(member.records)}


def assert_read_once(members: Iterable[Member]) -> None:
    """Nobody was given a record twice while a partition was its own."""
    assert {str(member): member.repeated for member in members if member.repeated} == {}
