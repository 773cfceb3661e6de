"""What the coordinator knows about one transactional id.

The fields are those of Apache Kafka's record, and one that it does not write:
``last_producer_epoch``, by which a producer may repeat InitProducerId if it did not get the answer
(KIP-360). After a fail-over it is unknown, and such a producer is fenced, as in Kafka.
"""

from collections.abc import Sequence
from typing import Final

from moldau.protocol.records.transaction_coordinator import TransactionLogValue
from moldau.transaction_coordinator.prepared import Partitions, PreparedTransaction
from moldau.transaction_coordinator.status import PREPARED, TransactionStatus, status_of

NO_PRODUCER_ID: Final = -1
NO_PRODUCER_EPOCH: Final = -1
NO_TIMESTAMP: Final = -1
MAX_PRODUCER_EPOCH: Final = 32767
# The timeout of a transaction that takes part in a two-phase commit: it never times out.
TWO_PHASE_COMMIT_TIMEOUT_MS: Final = 2**31 - 1


class Transaction:
    """The state of one transactional id. It is replaced, not changed."""

    __slots__ = (
        "client_transaction_version",
        "last_producer_epoch",
        "last_update_timestamp_ms",
        "next_producer_id",
        "partitions",
        "prepared",
        "previous_producer_id",
        "producer_epoch",
        "producer_id",
        "start_timestamp_ms",
        "status",
        "timeout_ms",
        "transactional_id",
    )

    def __init__(
        self, transactional_id: str, value: TransactionLogValue, last_producer_epoch: int
    ) -> None:
        """Raises ValueError if no state has the number in ``value``."""
        self.transactional_id = transactional_id
        self.producer_id = value.producer_id
        self.previous_producer_id = value.previous_producer_id
        self.next_producer_id = value.next_producer_id
        self.producer_epoch = value.producer_epoch
        self.last_producer_epoch = last_producer_epoch
        self.timeout_ms = value.transaction_timeout_ms
        self.status = status_of(value.transaction_status)
        self.start_timestamp_ms = value.transaction_start_timestamp_ms
        self.last_update_timestamp_ms = value.transaction_last_update_timestamp_ms
        self.client_transaction_version = value.client_transaction_version
        # By topic: of fifty thousand partitions, each would be an object to create and to free.
        self.partitions: Partitions = {}
        for topic in value.transaction_partitions or ():
            add_to(self.partitions, topic.topic, topic.partition_ids)
        self.prepared: PreparedTransaction | None = None
        if self.status in PREPARED:
            self.prepared = PreparedTransaction(
                transactional_id,
                self.producer_id,
                self.producer_epoch,
                self.status is TransactionStatus.PREPARE_COMMIT,
                self.partitions,
                self.client_transaction_version,
            )

    @property
    def is_epoch_exhausted(self) -> bool:
        """No client gets the last epoch: it is left for fencing the one before."""
        return is_epoch_exhausted(self.producer_epoch)

    @property
    def has_timeout(self) -> bool:
        return self.timeout_ms != TWO_PHASE_COMMIT_TIMEOUT_MS


def add_to(partitions: Partitions, topic: str, indexes: Sequence[int]) -> None:
    """Add partitions of one topic, if there are any; those that are there keep their place."""
    if not indexes:
        return
    added = dict.fromkeys(indexes)
    held = partitions.get(topic)
    if held is None:
        partitions[topic] = added
    else:
        held.update(added)


def is_epoch_exhausted(producer_epoch: int) -> bool:
    return producer_epoch >= MAX_PRODUCER_EPOCH - 1


def new_transaction(transactional_id: str, producer_id: int) -> Transaction:
    """An id that has not been initialized, which is never written."""
    value = TransactionLogValue(
        producer_id=producer_id,
        producer_epoch=NO_PRODUCER_EPOCH,
        transaction_status=TransactionStatus.EMPTY,
        transaction_partitions=None,
        transaction_start_timestamp_ms=NO_TIMESTAMP,
    )
    return Transaction(transactional_id, value, NO_PRODUCER_EPOCH)
