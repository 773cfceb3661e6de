"""Looks up offsets by timestamp or position (ListOffsets)."""

from collections.abc import Mapping
from typing import Final, NamedTuple

from moldau.client.cluster import Cluster, raise_for
from moldau.ids import TopicPartition
from moldau.protocol.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopic,
)

# Timestamps with a special meaning.
LATEST: Final = -1
EARLIEST: Final = -2
MAX_TIMESTAMP: Final = -3


class FoundOffset(NamedTuple):
    """An offset, and the timestamp of the record there; both -1 if there is no such record."""

    offset: int
    timestamp: int
    leader_epoch: int


def list_offsets(
    cluster: Cluster,
    timestamps: Mapping[TopicPartition, int],
    *,
    read_committed: bool = False,
) -> dict[TopicPartition, FoundOffset]:
    """The first offset at or after a timestamp, for each partition.

    ``EARLIEST`` and ``LATEST`` mean the start and the end of the log, ``MAX_TIMESTAMP`` the
    record with the highest timestamp.

    Raises:
        ApiError: a broker reports an error for one of the partitions.
    """

    def ask() -> dict[TopicPartition, FoundOffset]:
        found: dict[TopicPartition, FoundOffset] = {}
        for leader, partitions in cluster.by_leader(timestamps).items():
            topics: dict[str, ListOffsetsTopic] = {}
            for partition in partitions:
                topic = topics.setdefault(partition.topic, ListOffsetsTopic(partition.topic))
                topic.partitions.append(
                    ListOffsetsPartition(
                        partition_index=partition.partition, timestamp=timestamps[partition]
                    )
                )
            request = ListOffsetsRequest(
                replica_id=-1,
                isolation_level=int(read_committed),
                topics=list(topics.values()),
                timeout_ms=int(cluster.timeout_s * 1000),
            )
            response = cluster.request(request, ListOffsetsResponse, leader)
            for answered in response.topics:
                for each in answered.partitions:
                    partition = TopicPartition(answered.name, each.partition_index)
                    raise_for(each.error_code, None, str(partition))
                    found[partition] = FoundOffset(each.offset, each.timestamp, each.leader_epoch)
        return found

    return cluster.retrying(ask, {partition.topic for partition in timestamps})
