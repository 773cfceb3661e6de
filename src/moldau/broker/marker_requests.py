"""WriteTxnMarkers as a coordinator sends it, and what its errors mean for a transaction (pure).

The classes of errors are those of Kafka's TransactionMarkerRequestCompletionHandler. Kafka stops
its sender at an error that it does not expect; here such a marker is sent again, and logged.
"""

import enum
from collections.abc import Iterable, Mapping
from typing import Final

from moldau.broker.marker_writing import Marker
from moldau.errors import ErrorCode
from moldau.ids import TopicPartition
from moldau.metadata.features import METADATA_4_3_IV0
from moldau.protocol.messages.write_txn_markers import (
    WritableTxnMarker,
    WritableTxnMarkerTopic,
    WriteTxnMarkersRequest,
    WriteTxnMarkersResponse,
)

# Version 2 has the transaction version, on which the check of the producer epoch depends.
NEWEST_VERSION: Final = 2
OLDEST_VERSION: Final = 1


class Verdict(enum.Enum):
    """What becomes of a marker."""

    WRITTEN = "written"
    # Leaders change, replicas come back: the marker is sent again.
    RETRY = "it is sent again"
    # Nothing of the transaction can be in the partition.
    DROP_PARTITION = "the partition needs none"
    # Another coordinator, or a later transaction of the producer, is in charge.
    DROP_TRANSACTION = "the transaction is left to another coordinator"
    # Sent again, but somebody should know.
    UNEXPECTED = "it is sent again, although this should not happen"


_VERDICTS: Final = {
    ErrorCode.NONE: Verdict.WRITTEN,
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION: Verdict.RETRY,
    ErrorCode.NOT_LEADER_OR_FOLLOWER: Verdict.RETRY,
    ErrorCode.NOT_ENOUGH_REPLICAS: Verdict.RETRY,
    ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND: Verdict.RETRY,
    ErrorCode.REQUEST_TIMED_OUT: Verdict.RETRY,
    ErrorCode.KAFKA_STORAGE_ERROR: Verdict.RETRY,
    # The group coordinator of the partition is not ready. Over the network these three are
    # NOT_LEADER_OR_FOLLOWER.
    ErrorCode.COORDINATOR_NOT_AVAILABLE: Verdict.RETRY,
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS: Verdict.RETRY,
    ErrorCode.NOT_COORDINATOR: Verdict.RETRY,
    ErrorCode.INVALID_PRODUCER_EPOCH: Verdict.DROP_TRANSACTION,
    ErrorCode.TRANSACTION_COORDINATOR_FENCED: Verdict.DROP_TRANSACTION,
    ErrorCode.UNSUPPORTED_FOR_MESSAGE_FORMAT: Verdict.DROP_PARTITION,
    ErrorCode.UNSUPPORTED_VERSION: Verdict.DROP_PARTITION,
}


def verdict_of(code: ErrorCode) -> Verdict:
    return _VERDICTS.get(code, Verdict.UNEXPECTED)


def request_version(metadata_version: int) -> int:
    """The newest version that every broker of the cluster has."""
    return NEWEST_VERSION if metadata_version >= METADATA_4_3_IV0 else OLDEST_VERSION


def markers_request(
    markers: Iterable[tuple[Marker, Iterable[TopicPartition]]],
) -> WriteTxnMarkersRequest:
    request = WriteTxnMarkersRequest()
    for marker, partitions in markers:
        topics: dict[str, list[int]] = {}
        for topic, index in partitions:
            topics.setdefault(topic, []).append(index)
        request.markers.append(
            WritableTxnMarker(
                producer_id=marker.producer_id,
                producer_epoch=marker.producer_epoch,
                transaction_result=marker.is_commit,
                topics=[WritableTxnMarkerTopic(name, topics[name]) for name in topics],
                coordinator_epoch=marker.coordinator_epoch,
                transaction_version=marker.transaction_version,
            )
        )
    return request


Errors = Mapping[TopicPartition, ErrorCode]


def errors_by_producer(response: WriteTxnMarkersResponse) -> dict[int, Errors]:
    """The error of each partition, by producer id. Unknown codes are UNKNOWN_SERVER_ERROR."""
    found: dict[int, Errors] = {}
    for marker in response.markers:
        found[marker.producer_id] = {
            TopicPartition(topic.name, each.partition_index): _known(each.error_code)
            for topic in marker.topics
            for each in topic.partitions
        }
    return found


def _known(code: int) -> ErrorCode:
    try:
        return ErrorCode(code)
    except ValueError:
        return ErrorCode.UNKNOWN_SERVER_ERROR
