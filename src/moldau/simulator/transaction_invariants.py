"""What must be true of logs with transactions, when everything has come to rest.

What a log derives from its batches (producers, open and aborted transactions, the last stable
offset) must be what a reader of all its batches finds, who knows nothing but the format.
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from moldau.ids import TopicPartition
from moldau.record.control import ControlType, decode_control_key
from moldau.record.records import decode_all
from moldau.simulator.cluster import Cluster
from moldau.simulator.world import World
from moldau.storage.log.partition_log import PartitionLog

_MAX_BYTES = 1 << 20


class ReplayedProducer(NamedTuple):
    """What the batches of one producer say in the end."""

    epoch: int
    last_sequence: int
    last_offset: int
    open_since: int


class ReplayedAbort(NamedTuple):
    producer_id: int
    first_offset: int
    last_offset: int


class Replayed(NamedTuple):
    """What the batches of a log say."""

    producers: dict[int, ReplayedProducer]
    aborted: list[ReplayedAbort]
    # The first offset of each transaction that has ended, and that of its marker.
    ended: list[tuple[int, int]]

    def last_stable_offset(self, high_watermark: int) -> int:
        """Where the first transaction begins that is open, or whose marker may still be lost."""
        unstable = [each.open_since for each in self.producers.values() if each.open_since >= 0]
        unstable += [first for first, last in self.ended if last >= high_watermark]
        return min([*unstable, high_watermark])


_NOBODY = ReplayedProducer(-1, -1, -1, -1)


def replay(data: bytes) -> Replayed:
    """Read the batches of a log from its start."""
    producers: dict[int, ReplayedProducer] = {}
    aborted: list[ReplayedAbort] = []
    ended: list[tuple[int, int]] = []
    for header, records in decode_all(data):
        producer_id = header.producer_id
        if producer_id < 0:
            continue
        known = producers.get(producer_id, _NOBODY)
        if header.producer_epoch != known.epoch:
            known = ReplayedProducer(header.producer_epoch, -1, -1, known.open_since)
        if not header.is_control:
            since = known.open_since
            if header.is_transactional and since < 0:
                since = header.base_offset
            known = known._replace(
                last_sequence=header.last_sequence, last_offset=header.last_offset, open_since=since
            )
        else:
            is_abort = decode_control_key(records[0].key) == ControlType.ABORT
            if known.open_since >= 0:
                ended.append((known.open_since, header.base_offset))
                if is_abort:
                    aborted.append(ReplayedAbort(producer_id, *ended[-1]))
            known = known._replace(open_since=-1)
        producers[producer_id] = known
    return Replayed(producers, aborted, ended)


def read_log(log: PartitionLog) -> bytes:
    """All batches of a log."""
    parts: list[bytes] = []
    offset = log.log_start_offset
    while offset < log.log_end_offset:
        fetched = log.read(offset, _MAX_BYTES, max_offset=log.log_end_offset, min_one_message=True)
        data = fetched.records if isinstance(fetched.records, bytes) else fetched.records.read()
        if not data:
            break
        parts.append(data)
        offset = max(header.last_offset for header, _ in decode_all(data)) + 1
    return b"".join(parts)


def compare(log: PartitionLog) -> list[str]:
    """How what a log knows differs from what its batches say."""
    found = replay(read_log(log))
    differences: list[str] = []
    for producer_id, said in found.producers.items():
        entry = log.producers.entry(producer_id)
        known = _NOBODY
        if entry is not None:
            known = ReplayedProducer(
                entry.epoch, entry.last_sequence, entry.last_offset, entry.txn_first_offset
            )
        if known != said:
            differences.append(f"knows of producer {producer_id} {known}, its batches say {said}")
    aborted = [
        ReplayedAbort(each.producer_id, each.first_offset, each.last_offset)
        for each in log.aborted_transactions(log.log_start_offset, log.log_end_offset)
    ]
    if sorted(aborted) != sorted(found.aborted):
        differences.append(f"has aborted {aborted}, its batches say {found.aborted}")
    stable = found.last_stable_offset(log.high_watermark)
    if log.last_stable_offset != stable:
        differences.append(
            f"has a last stable offset of {log.last_stable_offset}, its batches say {stable}"
        )
    return differences


def logs_of(
    cluster: Cluster, partitions: Iterable[TopicPartition]
) -> list[tuple[str, TopicPartition, PartitionLog]]:
    """The logs of all replicas, with the names of their machines."""
    return [
        (machine.name, topic_partition, partition.log)
        for machine in cluster.machines
        if machine.node is not None
        for topic_partition in partitions
        if (partition := machine.node.broker.replicas.find(topic_partition)) is not None
    ]


def check_replayed(world: World, cluster: Cluster, partitions: Sequence[TopicPartition]) -> None:
    """What every replica knows of producers and transactions is what its batches say."""
    for name, topic_partition, log in logs_of(cluster, partitions):
        for difference in compare(log):
            world.surprise(name, f"{topic_partition} {difference}")


def has_no_open_transaction(cluster: Cluster, partitions: Sequence[TopicPartition]) -> bool:
    """Whether everything that was written is stable, on every replica."""
    return all(
        log.last_stable_offset == log.high_watermark == log.log_end_offset
        for _, _, log in logs_of(cluster, partitions)
    )
