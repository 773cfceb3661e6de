"""A transaction whose outcome is decided, and whose markers are to be written."""

from typing import NamedTuple

from moldau.ids import TopicPartition


class PreparedTransaction(NamedTuple):
    """The markers to write: one for each partition, with this producer id and epoch."""

    transactional_id: str
    producer_id: int
    producer_epoch: int
    is_commit: bool
    partitions: tuple[TopicPartition, ...]
    # Of the client that ended it, or of the cluster if the coordinator did.
    transaction_version: int
