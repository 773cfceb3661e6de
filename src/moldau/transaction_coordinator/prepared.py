"""A transaction whose outcome is decided, and whose markers are to be written."""

from collections.abc import Iterator

from moldau.ids import TopicPartition

# The indexes of partitions by topic, both in the order in which they were added: sets are not
# iterated in the same order everywhere.
Partitions = dict[str, dict[int, None]]


class PreparedTransaction:
    """The markers to write: one for each partition, with this producer id and epoch."""

    __slots__ = (
        "is_commit",
        "partitions",
        "producer_epoch",
        "producer_id",
        "transaction_version",
        "transactional_id",
    )

    def __init__(
        self,
        transactional_id: str,
        producer_id: int,
        producer_epoch: int,
        is_commit: bool,
        partitions: Partitions,
        transaction_version: int,
    ) -> None:
        self.transactional_id = transactional_id
        self.producer_id = producer_id
        self.producer_epoch = producer_epoch
        self.is_commit = is_commit
        self.partitions = partitions
        # Of the client that ended it, or of the cluster if the coordinator did.
        self.transaction_version = transaction_version

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, PreparedTransaction):
            return NotImplemented
        return (
            self.transactional_id == other.transactional_id
            and self.producer_id == other.producer_id
            and self.producer_epoch == other.producer_epoch
            and self.is_commit == other.is_commit
            and self.partitions == other.partitions
            and self.transaction_version == other.transaction_version
        )


def each_partition(partitions: Partitions) -> Iterator[TopicPartition]:
    """One after the other: there may be very many."""
    for topic, indexes in partitions.items():
        for index in indexes:
            yield TopicPartition(topic, index)
