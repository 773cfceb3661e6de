"""Produce: one batch per partition, checked, appended, acknowledged (KIP-98, KIP-467, KIP-951).

A partition that is named twice gets both batches, and both are answered. Apache Kafka keeps the
last, though it acknowledges: no producer can rely on that, and none sends such requests.
"""

from typing import TYPE_CHECKING, Final

from moldau.errors import ApiError, ErrorCode
from moldau.ids import INTERNAL_TOPICS, NO_UUID
from moldau.network.session import CloseConnection
from moldau.protocol.messages.produce import (
    BatchIndexAndErrorMessage,
    PartitionProduceData,
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceResponse,
)
from moldau.record.header import TRANSACTIONAL_FLAG
from moldau.record.validator import RecordErrors, check_produce_version

if TYPE_CHECKING:
    from moldau.broker.broker import Broker
    from moldau.broker.dispatch import RequestContext

ADMIN_CLIENT_ID: Final = "__admin_client"
# Where a batch's flags lie (record.header has what they mean).
ATTRIBUTES_LOW_BYTE: Final = 22
FIRST_VERSION_WITH_TOPIC_IDS: Final = 13
# What a log says of a batch. A producer that was refused may learn from the log's start that
# what the broker knew of it was deleted with its records (KIP-360).
ERRORS_WITH_LOG_START: Final = frozenset(
    (
        ErrorCode.INVALID_TIMESTAMP,
        ErrorCode.INVALID_PRODUCER_EPOCH,
        ErrorCode.NOT_ENOUGH_REPLICAS,
        ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER,
        ErrorCode.UNKNOWN_PRODUCER_ID,
    )
)


def handle(
    broker: "Broker", request: ProduceRequest, context: "RequestContext"
) -> ProduceResponse | None:
    now_ms = broker.clock.now_ms()
    version = context.api_version
    has_errors = False
    responses = []
    for topic in request.topic_data:
        name: str | None = topic.name
        topic_id = NO_UUID
        if version >= FIRST_VERSION_WITH_TOPIC_IDS:
            topic_id = topic.topic_id
            name = broker.replicas.topic_name(topic_id)
        results = []
        for data in topic.partition_data:
            try:
                result = _append(broker, name, data, request.acks, context, now_ms)
            except ApiError as error:
                has_errors = True
                result = _refused(data.index, error)
                if error.code in ERRORS_WITH_LOG_START or result.record_errors:
                    assert name is not None, "only a partition's log refuses like this"
                    partition = broker.replicas.partition(name, data.index)
                    result.log_start_offset = partition.log.log_start_offset
            results.append(result)
        responses.append(
            TopicProduceResponse(name=topic.name, topic_id=topic_id, partition_responses=results)
        )
    if request.acks == 0:
        if has_errors:
            # No answer is expected: a closed connection is the only way to say so.
            raise CloseConnection(f"a produce with acks=0 failed: {_summary(responses)}")
        return None
    return ProduceResponse(responses=responses)


def _append(
    broker: "Broker",
    topic: str | None,
    data: PartitionProduceData,
    acks: int,
    context: "RequestContext",
    now_ms: int,
) -> PartitionProduceResponse:
    if topic is None:
        raise ApiError(ErrorCode.UNKNOWN_TOPIC_ID)
    partition = broker.replicas.partition(topic, data.index)
    if not -1 <= acks <= 1:
        message = f"acks={acks}: must be -1 (all), 0 or 1"
        raise ApiError(ErrorCode.INVALID_REQUIRED_ACKS, message)
    if topic in INTERNAL_TOPICS and context.client_id != ADMIN_CLIENT_ID:
        message = f"{topic} is written by the broker itself, not by producers"
        raise ApiError(ErrorCode.INVALID_TOPIC_EXCEPTION, message)
    records = data.records
    if records is None or len(records) <= ATTRIBUTES_LOW_BYTE:
        raise ApiError(ErrorCode.INVALID_RECORD, "a produce request must carry one record batch")
    check_produce_version(records, context.api_version)
    if records[ATTRIBUTES_LOW_BYTE] & TRANSACTIONAL_FLAG:
        message = "this broker has no transactions yet: produce without a transactional.id"
        raise ApiError(ErrorCode.INVALID_TXN_STATE, message)
    info = partition.append(records, acks, now_ms)
    return PartitionProduceResponse(
        index=data.index,
        error_code=0,
        base_offset=info.first_offset,
        log_append_time_ms=info.log_append_time,
        log_start_offset=info.log_start_offset,
    )


def _refused(index: int, error: ApiError) -> PartitionProduceResponse:
    record_errors = []
    if isinstance(error, RecordErrors):
        record_errors = [
            BatchIndexAndErrorMessage(batch_index=batch_index, batch_index_error_message=message)
            for batch_index, message in error.record_errors
        ]
    return PartitionProduceResponse(
        index=index,
        error_code=error.code,
        base_offset=-1,
        record_errors=record_errors,
        error_message=error.message,
    )


def _summary(responses: list[TopicProduceResponse]) -> str:
    return ", ".join(
        f"{topic.name}-{result.index}: {ErrorCode(result.error_code).name}"
        for topic in responses
        for result in topic.partition_responses
        if result.error_code
    )
