"""The identity of a producer: an id, an epoch, and a sequence for each partition.

A broker accepts the batches of one producer in the order of their sequence numbers, each once. If
a sequence cannot be continued, because a batch failed for good, the producer gets a new id and
starts again at 0. Within a transaction it cannot: the id belongs to the transaction.
"""

from typing import Final

from moldau.client.batches import OutgoingBatch
from moldau.client.cluster import Cluster, raise_for
from moldau.ids import TopicPartition
from moldau.protocol.messages.init_producer_id import InitProducerIdRequest, InitProducerIdResponse

NO_PRODUCER_ID: Final = -1
# The first level of the feature transaction.version with which brokers add partitions by
# themselves and the end of a transaction bumps the epoch (KIP-890, part 2).
FIRST_IMPLICIT: Final = 2
_MAX_SEQUENCE: Final = 0x7FFFFFFF


class ProducerIdentity:
    """Has no id before ``obtain`` and after ``forget``, unless it belongs to a transaction."""

    def __init__(
        self,
        producer_id: int = NO_PRODUCER_ID,
        producer_epoch: int = -1,
        transactional_id: str | None = None,
        transaction_version: int = 0,
    ) -> None:
        self.producer_id = producer_id
        self.producer_epoch = producer_epoch
        self.transactional_id = transactional_id
        self.transaction_version = transaction_version
        self.sequences: dict[TopicPartition, int] = {}

    @property
    def is_transactional(self) -> bool:
        return self.transactional_id is not None

    @property
    def adds_partitions(self) -> bool:
        """Whether a produce request adds its partitions to the transaction (KIP-890, part 2)."""
        return self.transaction_version >= FIRST_IMPLICIT

    @property
    def is_known(self) -> bool:
        return self.producer_id != NO_PRODUCER_ID

    def obtain(self, cluster: Cluster) -> None:
        """Request a producer id from the cluster."""

        def ask() -> InitProducerIdResponse:
            request = InitProducerIdRequest(transactional_id=None, transaction_timeout_ms=0)
            response = cluster.request(request, InitProducerIdResponse)
            raise_for(response.error_code, None, "producer id")
            return response

        answer = cluster.retrying(ask)
        self.producer_id = answer.producer_id
        self.producer_epoch = answer.producer_epoch

    def number(self, batch: OutgoingBatch) -> None:
        """Assign sequence numbers to a batch, if it has none yet."""
        if not self.is_known or batch.base_sequence >= 0:
            return
        batch.base_sequence = self.sequences.get(batch.partition, 0)
        # Sequences wrap around to 0 after the largest int32.
        following = (batch.base_sequence + batch.count) & _MAX_SEQUENCE
        self.sequences[batch.partition] = following

    def take(self, producer_id: int, producer_epoch: int, transaction_version: int) -> None:
        """Continue with the identity of the next transaction; its sequences start at 0."""
        self.producer_id = producer_id
        self.producer_epoch = producer_epoch
        self.transaction_version = transaction_version
        self.sequences.clear()

    def forget(self) -> None:
        assert not self.is_transactional, "a transaction has one producer id"
        self.producer_id = NO_PRODUCER_ID
        self.sequences.clear()
