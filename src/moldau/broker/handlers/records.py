"""DeleteRecords and DescribeProducers, for the partitions led by this broker."""

from collections.abc import Awaitable
from typing import TYPE_CHECKING, Final

from moldau.broker.dispatch import MAX_ANSWER_BYTES, answer_too_large
from moldau.broker.partition import Partition
from moldau.controller.topic_names import topic_name_problem
from moldau.errors import ApiError, ErrorCode
from moldau.network.turns import Steps, dropping
from moldau.protocol.messages.delete_records import (
    DeleteRecordsPartitionResult,
    DeleteRecordsRequest,
    DeleteRecordsResponse,
    DeleteRecordsTopicResult,
)
from moldau.protocol.messages.describe_producers import (
    DescribeProducersRequest,
    DescribeProducersResponse,
    PartitionResponse,
    ProducerState,
    TopicResponse,
)

if TYPE_CHECKING:
    from moldau.broker.broker import Broker
    from moldau.broker.dispatch import RequestContext

NO_LOW_WATERMARK: Final = -1
# The size of a producer on the wire.
PRODUCER_BYTES: Final = 35


def delete_records(
    broker: "Broker", request: DeleteRecordsRequest, context: "RequestContext"
) -> DeleteRecordsResponse | Awaitable[DeleteRecordsResponse]:
    return context.in_turns(_deleting(broker, request))


def _deleting(broker: "Broker", request: DeleteRecordsRequest) -> Steps[DeleteRecordsResponse]:
    """One partition per step: segments may have to be deleted."""
    # If a partition occurs twice, only the last offset counts: deletion cannot be undone.
    offsets: dict[str, dict[int, int]] = {}
    for topic in request.topics:
        of_topic = offsets.setdefault(topic.name, {})
        for wanted in topic.partitions:
            of_topic[wanted.partition_index] = wanted.offset
        yield
    response = DeleteRecordsResponse()
    for name, of_topic in offsets.items():
        answer = DeleteRecordsTopicResult(name=name)
        response.topics.append(answer)
        for index, offset in of_topic.items():
            answer.partitions.append(_deleted(broker, name, index, offset))
            yield
    return response


def _deleted(broker: "Broker", topic: str, index: int, offset: int) -> DeleteRecordsPartitionResult:
    try:
        partition = broker.replicas.partition(topic, index)
        low_watermark = _delete_before(partition, offset)
    except ApiError as error:
        return DeleteRecordsPartitionResult(
            partition_index=index, low_watermark=NO_LOW_WATERMARK, error_code=error.code
        )
    return DeleteRecordsPartitionResult(partition_index=index, low_watermark=low_watermark)


def _delete_before(partition: Partition, offset: int) -> int:
    """Move the log start offset to ``offset`` (-1: the high watermark); returns the new one."""
    partition.check_leader(-1)
    log = partition.log
    if "delete" not in log.config.cleanup_policy:
        message = f"{partition.topic_partition} is compacted only: its records cannot be deleted"
        raise ApiError(ErrorCode.POLICY_VIOLATION, message)
    return log.delete_records_before(offset)


def describe_producers(
    broker: "Broker", request: DescribeProducersRequest, context: "RequestContext"
) -> DescribeProducersResponse | Awaitable[DescribeProducersResponse]:
    return context.in_turns(_described(broker, request, context))


def _described(
    broker: "Broker", request: DescribeProducersRequest, context: "RequestContext"
) -> Steps[DescribeProducersResponse]:
    """One partition per step; a duplicate partition is described once."""
    known: dict[tuple[str, int], PartitionResponse] = {}
    response = DescribeProducersResponse()
    answer_bytes = 0
    for topic in request.topics:
        answer = TopicResponse(name=topic.name)
        response.topics.append(answer)
        for index in topic.partition_indexes:
            described = known.get((topic.name, index))
            if described is None:
                described = known[topic.name, index] = _producers_of(broker, topic.name, index)
            answer_bytes += PRODUCER_BYTES * len(described.active_producers)
            if answer_bytes > MAX_ANSWER_BYTES:
                described = _refused(index, answer_too_large())
            answer.partitions.append(described)
            yield
    context.expect(answer_bytes)
    yield from dropping(known)
    return response


def _producers_of(broker: "Broker", topic: str, index: int) -> PartitionResponse:
    try:
        problem = topic_name_problem(topic)
        if problem is not None:
            raise ApiError(ErrorCode.INVALID_TOPIC_EXCEPTION, problem)
        partition = broker.replicas.partition(topic, index)
        partition.check_leader(-1)
    except ApiError as error:
        return _refused(index, error)
    return PartitionResponse(
        partition_index=index,
        active_producers=[
            ProducerState(
                producer_id=each.producer_id,
                producer_epoch=each.epoch,
                last_sequence=each.last_sequence,
                last_timestamp=each.last_timestamp,
                coordinator_epoch=each.coordinator_epoch,
                current_txn_start_offset=each.txn_first_offset,
            )
            for each in partition.log.producers.active_producers()
        ],
    )


def _refused(index: int, error: ApiError) -> PartitionResponse:
    return PartitionResponse(
        partition_index=index, error_code=error.code, error_message=error.message
    )
