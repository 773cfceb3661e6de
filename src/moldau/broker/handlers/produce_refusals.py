"""Errors in the responses to Produce, which are rare and not on the hot path."""

from typing import Final

from moldau.errors import ApiError, ErrorCode
from moldau.protocol.messages.produce import (
    BatchIndexAndErrorMessage,
    PartitionProduceResponse,
    TopicProduceResponse,
)
from moldau.record.validator import RecordErrors

MAX_NAMED_FAILURES: Final = 10
# Errors of the log. From the log start offset, a refused producer can tell that its state on the
# broker was deleted with its records (KIP-360).
ERRORS_WITH_LOG_START: Final = frozenset(
    (
        ErrorCode.INVALID_TIMESTAMP,
        ErrorCode.INVALID_PRODUCER_EPOCH,
        ErrorCode.NOT_ENOUGH_REPLICAS,
        ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER,
        ErrorCode.UNKNOWN_PRODUCER_ID,
    )
)


def refused(index: int, error: ApiError, nameable: int) -> PartitionProduceResponse:
    """The response with ``error``, and at most ``nameable`` record errors."""
    record_errors = []
    if isinstance(error, RecordErrors):
        record_errors = [
            BatchIndexAndErrorMessage(batch_index=batch_index, batch_index_error_message=message)
            for batch_index, message in error.record_errors[:nameable]
        ]
    return PartitionProduceResponse(
        index=index,
        error_code=error.code,
        base_offset=-1,
        record_errors=record_errors,
        error_message=error.message,
    )


def summary(responses: list[TopicProduceResponse]) -> str:
    """The errors of the first refused batches; there may be many thousands."""
    failed: list[str] = []
    for topic in responses:
        for result in topic.partition_responses:
            if result.error_code:
                code = ErrorCode(result.error_code).name
                failed.append(f"{topic.name}-{result.index}: {code}")
                if len(failed) == MAX_NAMED_FAILURES:
                    return ", ".join(failed) + ", ..."
    return ", ".join(failed)
