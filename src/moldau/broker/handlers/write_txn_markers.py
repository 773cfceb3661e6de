"""WriteTxnMarkers: coordinators of transactions end them in the partitions led here (KIP-98)."""

from collections.abc import Awaitable
from typing import TYPE_CHECKING, NamedTuple

from moldau.broker.commit_queue import Commitment
from moldau.broker.dynamic_config import DynamicConfig
from moldau.broker.marker_writing import Marker, MarkerWriter
from moldau.errors import ApiError
from moldau.ids import TopicPartition
from moldau.network.turns import Steps
from moldau.protocol.messages.write_txn_markers import (
    WritableTxnMarkerPartitionResult,
    WritableTxnMarkerResult,
    WritableTxnMarkerTopicResult,
    WriteTxnMarkersRequest,
    WriteTxnMarkersResponse,
)

if TYPE_CHECKING:
    from moldau.broker.dispatch import RequestContext


class WriteTxnMarkers:
    """Appends the markers of a request, and answers when they are committed."""

    def __init__(self, writer: MarkerWriter, configs: DynamicConfig) -> None:
        self._writer = writer
        self._configs = configs

    def handle(
        self, request: WriteTxnMarkersRequest, context: "RequestContext"
    ) -> WriteTxnMarkersResponse | Awaitable[WriteTxnMarkersResponse]:
        waiting: list[_Waiting] = []
        response = context.in_turns(self._writing(request, waiting))
        if isinstance(response, WriteTxnMarkersResponse) and not waiting:
            return response
        return _when_committed(response, waiting)

    def _writing(
        self, request: WriteTxnMarkersRequest, waiting: "list[_Waiting]"
    ) -> Steps[WriteTxnMarkersResponse]:
        """One marker in one partition per step; those not committed are added to ``waiting``."""
        timeout_ms = self._configs.broker.request_timeout_ms
        response = WriteTxnMarkersResponse()
        # As in Kafka, the answers are by producer, also if it is named twice.
        answers: dict[int, WritableTxnMarkerResult] = {}
        for wanted in request.markers:
            marker = Marker(
                wanted.producer_id,
                wanted.producer_epoch,
                wanted.transaction_result,
                wanted.coordinator_epoch,
                wanted.transaction_version,
            )
            answer = answers.get(wanted.producer_id)
            if answer is None:
                answer = answers[wanted.producer_id] = WritableTxnMarkerResult(wanted.producer_id)
                response.markers.append(answer)
            for topic in wanted.topics:
                results = WritableTxnMarkerTopicResult(topic.name)
                answer.topics.append(results)
                yield
                for index in topic.partition_indexes:
                    result = WritableTxnMarkerPartitionResult(index)
                    results.partitions.append(result)
                    try:
                        place = TopicPartition(topic.name, index)
                        commitment = self._writer.write(marker, place, timeout_ms)
                    except ApiError as error:
                        result.error_code = error.code
                    else:
                        if commitment is not None:
                            waiting.append(_Waiting(result, commitment))
                    yield
        return response


class _Waiting(NamedTuple):
    """A marker that is not committed yet."""

    result: WritableTxnMarkerPartitionResult
    commitment: Commitment


async def _when_committed(
    response: WriteTxnMarkersResponse | Awaitable[WriteTxnMarkersResponse],
    waiting: list[_Waiting],
) -> WriteTxnMarkersResponse:
    answer = response if isinstance(response, WriteTxnMarkersResponse) else await response
    for result, commitment in waiting:
        error = await commitment
        if error is not None:
            result.error_code = error.code
    return answer
