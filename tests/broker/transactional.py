"""Transactional batches, markers and offsets, as producers and coordinators send them."""

from typing import Any

from moldau.protocol.messages.write_txn_markers import (
    WritableTxnMarker,
    WritableTxnMarkerTopic,
    WriteTxnMarkersRequest,
)
from tests.broker.batches import batch

MARKERS_VERSION = 2
# Older than any clock of a test.
TIMESTAMP_MS = 1000


def transactional(
    producer_id: int, sequence: int, *values: bytes, epoch: int = 0, **fields: Any
) -> bytes:
    """``timestamp=None`` is the current time."""
    fields.setdefault("timestamp", TIMESTAMP_MS)
    return batch(
        *values,
        producer_id=producer_id,
        producer_epoch=epoch,
        base_sequence=sequence,
        is_transactional=True,
        **fields,
    )


def markers(
    producer_id: int,
    topics: dict[str, list[int]],
    *,
    epoch: int = 0,
    is_commit: bool = True,
    coordinator_epoch: int = 0,
    transaction_version: int = 1,
) -> WriteTxnMarkersRequest:
    marker = WritableTxnMarker(
        producer_id,
        epoch,
        is_commit,
        [WritableTxnMarkerTopic(name, indexes) for name, indexes in topics.items()],
        coordinator_epoch,
        transaction_version,
    )
    return WriteTxnMarkersRequest([marker])


def errors_of(response: Any) -> dict[tuple[str, int], int]:
    """The error codes of a WriteTxnMarkersResponse, by topic and partition."""
    return {
        (topic.name, each.partition_index): each.error_code
        for answer in response.markers
        for topic in answer.topics
        for each in topic.partitions
    }
