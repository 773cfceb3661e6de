"""What clients have asked DeleteRecords for, and what was deleted everywhere.

Rules that it checks:

* No log starts after the largest offset that was asked for: nothing at or above it is deleted.
* What every replica has deleted is not served again. A restart ends this promise, as in Apache
  Kafka: log start offsets are written to the disk from time to time only.

A request without an answer may be carried out later, so what it asked for counts at once.
"""

from collections.abc import Iterator
from typing import Final, NamedTuple

from moldau.ids import TopicPartition
from moldau.simulator.cluster import Cluster
from moldau.simulator.world import World
from moldau.storage.log.partition_log import PartitionLog

# DeleteRecords up to the high watermark, wherever that is.
EVERYTHING: Final = -1
_UNKNOWN: Final = 1 << 62


class Deleted(NamedTuple):
    """What no replica has any more."""

    before: int
    # How many processes had been started by then.
    runs: int


class Deletions:
    """The facts about the partitions of one topic."""

    def __init__(self, world: World, cluster: Cluster) -> None:
        self._world = world
        self._cluster = cluster
        self._asked: dict[TopicPartition, int] = {}
        self._deleted: dict[TopicPartition, Deleted] = {}

    # --- what the operator does ---

    def will_delete(self, topic_partition: TopicPartition, offset: int) -> int:
        """A request is about to be sent; returns what was asked for before."""
        before = self._asked.get(topic_partition, 0)
        self._asked[topic_partition] = max(before, _UNKNOWN if offset == EVERYTHING else offset)
        return before

    def has_deleted(self, topic_partition: TopicPartition, low_watermark: int, before: int) -> None:
        """A request was answered without an error; ``before`` is from ``will_delete``.

        Live replicas have deleted the records then. If all have, nobody can serve them any more.
        """
        if self._asked[topic_partition] == _UNKNOWN and before != _UNKNOWN:
            self._asked[topic_partition] = max(before, low_watermark)
        machines = self._cluster.machines
        is_everywhere = all(each.node is not None for each in machines) and all(
            log.log_start_offset >= low_watermark for log in self.logs(topic_partition)
        )
        if is_everywhere:
            self._deleted[topic_partition] = Deleted(low_watermark, self._runs())

    # --- what readers see ---

    def deleted(self, topic_partition: TopicPartition) -> Deleted:
        return self._deleted.get(topic_partition, Deleted(0, -1))

    def log_starts_at(self, topic_partition: TopicPartition, offset: int) -> None:
        """A client was told where a log starts."""
        asked = self._asked.get(topic_partition, 0)
        if offset > asked:
            self._world.surprise(
                "deletions", f"{topic_partition} starts at {offset}, but {asked} was asked for"
            )

    def was_served(self, topic_partition: TopicPartition, offset: int, deleted: Deleted) -> None:
        """Records from ``offset`` on; ``deleted`` is what was known before they were asked for."""
        if offset < deleted.before and deleted.runs == self._runs():
            self._world.surprise(
                "deletions",
                f"{topic_partition} is served from {offset} on, but was deleted before "
                f"{deleted.before}",
            )

    # --- what an observer sees ---

    def check(self, topic_partition: TopicPartition) -> None:
        """No replica starts after what was asked for."""
        for log in self.logs(topic_partition):
            self.log_starts_at(topic_partition, log.log_start_offset)

    def logs(self, topic_partition: TopicPartition) -> Iterator[PartitionLog]:
        """The logs of all replicas that are there."""
        for machine in self._cluster.machines:
            node = machine.node
            partition = None if node is None else node.broker.replicas.find(topic_partition)
            if partition is not None:
                yield partition.log

    def _runs(self) -> int:
        return sum(each.runs for each in self._cluster.machines)
