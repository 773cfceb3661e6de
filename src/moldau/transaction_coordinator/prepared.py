"""A transaction whose outcome is decided, and whose markers are to be written."""

from collections.abc import Iterator
from typing import NamedTuple

from moldau.ids import TopicPartition

# The indexes of partitions by topic, both in the order in which they were added: sets are not
# iterated in the same order everywhere.
Partitions = dict[str, dict[int, None]]


class PreparedTransaction(NamedTuple):
    """The markers to write: one for each partition, with this producer id and epoch."""

    transactional_id: str
    producer_id: int
    producer_epoch: int
    is_commit: bool
    partitions: Partitions
    # Of the client that ended it, or of the cluster if the coordinator did.
    transaction_version: int


def each_partition(partitions: Partitions) -> Iterator[TopicPartition]:
    """One after the other: there may be very many."""
    for topic, indexes in partitions.items():
        for index in indexes:
            yield TopicPartition(topic, index)
