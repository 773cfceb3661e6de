"""Who a producer is to the brokers: an id, an epoch, and a sequence for each partition.

A broker takes the batches of one producer in the order of their sequences, each once. When
a sequence can no longer be continued, because a batch was given up, the producer takes a
new id and begins again at 0.
"""

from typing import Final

from moldau.client.batches import PendingBatch
from moldau.client.cluster import Cluster, raise_for
from moldau.ids import TopicPartition
from moldau.protocol.messages.init_producer_id import InitProducerIdRequest, InitProducerIdResponse

NO_PRODUCER_ID: Final = -1
_MAX_SEQUENCE: Final = 0x7FFFFFFF


class ProducerIdentity:
    """Without an id until ``obtain``, and again after ``forget``."""

    def __init__(self) -> None:
        self.producer_id = NO_PRODUCER_ID
        self.producer_epoch = -1
        self.sequences: dict[TopicPartition, int] = {}

    @property
    def is_known(self) -> bool:
        return self.producer_id != NO_PRODUCER_ID

    def obtain(self, cluster: Cluster) -> None:
        """Ask the cluster for an id."""

        def ask() -> InitProducerIdResponse:
            request = InitProducerIdRequest(transactional_id=None, transaction_timeout_ms=0)
            response = cluster.request(request, InitProducerIdResponse)
            raise_for(response.error_code, None, "producer id")
            return response

        answer = cluster.retrying(ask)
        self.producer_id = answer.producer_id
        self.producer_epoch = answer.producer_epoch

    def number(self, batch: PendingBatch) -> None:
        """Give a batch its place in the sequence, if it has none yet."""
        if not self.is_known or batch.base_sequence >= 0:
            return
        batch.base_sequence = self.sequences.get(batch.partition, 0)
        # Sequences wrap around to 0 after the largest int32.
        following = (batch.base_sequence + len(batch.records)) & _MAX_SEQUENCE
        self.sequences[batch.partition] = following

    def forget(self) -> None:
        self.producer_id = NO_PRODUCER_ID
        self.sequences.clear()
