"""An observer of replicated partitions, who sees all replicas at once and compares them.

Rules that it watches, from beginning to end:

* A leader epoch of a partition has one leader.
* The high watermark of a leader does not fall within its epoch.
* A new leader has everything that was below the high watermark of any replica.
* Logs of all replicas have the same batches below their high watermarks, also after a restart.
"""

from collections.abc import Sequence
from typing import Final, NamedTuple

from moldau.broker.node import Node
from moldau.broker.partition import Partition
from moldau.ids import TopicPartition
from moldau.record.header import iter_headers
from moldau.simulator.cluster import Cluster
from moldau.simulator.machine import Machine
from moldau.simulator.world import US_PER_MS, World
from moldau.storage.log.partition_log import PartitionLog

_INTERVAL_US: Final = 100 * US_PER_MS
_MAX_BYTES: Final = 1 << 20


class Batch(NamedTuple):
    """What identifies a batch: its checksum covers the records, but not the epoch."""

    leader_epoch: int
    last_offset: int
    crc: int


class ReplicaWatch:
    """Looks at the replicas of some partitions at short intervals."""

    def __init__(
        self, world: World, cluster: Cluster, partitions: Sequence[TopicPartition]
    ) -> None:
        self._world = world
        self._cluster = cluster
        self._partitions = partitions
        # Who led each epoch, and with which high watermark last.
        self._leaders: dict[tuple[TopicPartition, int], str] = {}
        self._high_watermarks: dict[tuple[TopicPartition, int, str], int] = {}
        # What is committed, as far as any replica has known.
        self._committed: dict[TopicPartition, int] = {}
        self._batches: dict[tuple[TopicPartition, int], Batch] = {}
        # How far each process has been compared.
        self._compared: dict[tuple[TopicPartition, str, int], int] = {}
        world.after(_INTERVAL_US, self._look)

    def _look(self) -> None:
        for machine in self._cluster.machines:
            node = machine.node
            if node is None or machine.is_paused:
                continue
            for topic_partition in self._partitions:
                partition = node.broker.replicas.find(topic_partition)
                if partition is not None and not partition.log.is_closed:
                    self._see(machine, partition)
        self._world.after(_INTERVAL_US, self._look)

    def _see(self, machine: Machine, partition: Partition) -> None:
        if partition.is_leader:
            self._see_leader(machine, partition)
        self._see_batches(machine, partition)

    def _see_leader(self, machine: Machine, partition: Partition) -> None:
        name, epoch, log = partition.topic_partition, partition.leader_epoch, partition.log
        if (name, epoch) not in self._leaders:
            self._leaders[name, epoch] = machine.name
            committed = self._committed.get(name, 0)
            # Who was cut off may hear of its epoch when the next ones have passed already.
            newest = max(each for known, each in self._leaders if known == name)
            if log.log_end_offset < committed and epoch == newest:
                self._violated(
                    machine,
                    f"leads {name} in epoch {epoch} with {log.log_end_offset} records, but "
                    f"{committed} were committed",
                )
        known = self._leaders[name, epoch]
        if known != machine.name:
            self._violated(machine, f"leads {name} in epoch {epoch}, and so does {known}")
        key = (name, epoch, machine.name)
        before = self._high_watermarks.get(key, 0)
        if log.high_watermark < before:
            self._violated(
                machine,
                f"has a high watermark of {log.high_watermark} for {name} in epoch {epoch}, and "
                f"had {before}",
            )
        self._high_watermarks[key] = log.high_watermark

    def _see_batches(self, machine: Machine, partition: Partition) -> None:
        name, log = partition.topic_partition, partition.log
        end_offset = log.high_watermark
        self._committed[name] = max(end_offset, self._committed.get(name, 0))
        key = (name, machine.name, machine.runs)
        offset = max(self._compared.get(key, 0), log.log_start_offset)
        while offset < end_offset:
            data = _read(log, offset, end_offset)
            if not data:
                break
            for _, header in iter_headers(data):
                batch = Batch(header.partition_leader_epoch, header.last_offset, header.crc)
                known = self._batches.setdefault((name, header.base_offset), batch)
                if known != batch:
                    self._violated(
                        machine,
                        f"has {batch} at offset {header.base_offset} of {name}, where {known} is "
                        "committed",
                    )
                offset = header.last_offset + 1
        self._compared[key] = offset

    def _violated(self, machine: Machine, what: str) -> None:
        self._world.surprise(machine.name, what)


def _read(log: PartitionLog, offset: int, end_offset: int) -> bytes:
    """Whole batches from ``offset`` on."""
    fetched = log.read(offset, _MAX_BYTES, max_offset=end_offset, min_one_message=True)
    return fetched.records if isinstance(fetched.records, bytes) else fetched.records.read()


def are_replicas_in_sync(
    cluster: Cluster, partitions: Sequence[TopicPartition], replicas: int
) -> bool:
    """Whether every node knows a leader and a full ISR of each partition."""
    nodes = [machine.node for machine in cluster.machines]
    return all(
        node is not None and _in_sync(node, each, replicas) for node in nodes for each in partitions
    )


def _in_sync(node: Node, topic_partition: TopicPartition, replicas: int) -> bool:
    topic = node.metadata.image.topics_by_name.get(topic_partition.topic)
    if topic is None:
        return False
    registration = topic.partitions[topic_partition.partition]
    return registration.leader >= 0 and len(registration.isr) == replicas
