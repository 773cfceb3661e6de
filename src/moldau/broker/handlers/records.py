"""DeleteRecords of the partitions led by this broker, DescribeProducers of all that it hosts."""

from collections.abc import Awaitable
from typing import TYPE_CHECKING, Final, NamedTuple

from moldau.broker.commit_queue import Commitment
from moldau.broker.dispatch import MAX_ANSWER_BYTES, answer_too_large
from moldau.broker.partition import Partition
from moldau.broker.replica_manager import ReplicaManager
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
from moldau.storage.log.producer_entry import ProducerEntry

if TYPE_CHECKING:
    from moldau.broker.dispatch import RequestContext

NO_LOW_WATERMARK: Final = -1
# The size of a producer on the wire.
PRODUCER_BYTES: Final = 35


class Records:
    """Serves what concerns the records of single partitions, apart from produce and fetch."""

    def __init__(self, replicas: ReplicaManager) -> None:
        self._replicas = replicas

    def delete_records(
        self, request: DeleteRecordsRequest, context: "RequestContext"
    ) -> DeleteRecordsResponse | Awaitable[DeleteRecordsResponse]:
        waiting: list[_Waiting] = []
        response = context.in_turns(self._deleting(request, waiting))
        if isinstance(response, DeleteRecordsResponse) and not waiting:
            return response
        return _when_deleted(response, waiting)

    def _deleting(
        self, request: DeleteRecordsRequest, waiting: "list[_Waiting]"
    ) -> Steps[DeleteRecordsResponse]:
        """One partition per step: segments may have to be deleted.

        Those whose followers have not deleted the records yet are added to ``waiting``.
        """
        # If a partition occurs twice, only the last offset counts: deletion cannot be undone.
        offsets: dict[str, dict[int, int]] = {}
        for topic in request.topics:
            of_topic = offsets.setdefault(topic.name, {})
            yield
            for wanted in topic.partitions:
                of_topic[wanted.partition_index] = wanted.offset
                yield
        response = DeleteRecordsResponse()
        for name, of_topic in offsets.items():
            answer = DeleteRecordsTopicResult(name=name)
            response.topics.append(answer)
            yield
            for index, offset in of_topic.items():
                result = DeleteRecordsPartitionResult(partition_index=index)
                answer.partitions.append(result)
                try:
                    partition = self._replicas.partition(name, index)
                    _delete_before(partition, offset, request.timeout_ms, result, waiting)
                except ApiError as error:
                    result.low_watermark = NO_LOW_WATERMARK
                    result.error_code = error.code
                yield
        return response

    def describe_producers(
        self, request: DescribeProducersRequest, context: "RequestContext"
    ) -> DescribeProducersResponse | Awaitable[DescribeProducersResponse]:
        return context.in_turns(self._described(request, context))

    def _described(
        self, request: DescribeProducersRequest, context: "RequestContext"
    ) -> Steps[DescribeProducersResponse]:
        """One partition per step; a duplicate partition is described once."""
        known: dict[tuple[str, int], PartitionResponse] = {}
        response = DescribeProducersResponse()
        answer_bytes = 0
        for topic in request.topics:
            answer = TopicResponse(name=topic.name)
            response.topics.append(answer)
            yield
            for index in topic.partition_indexes:
                described = known.get((topic.name, index))
                if described is None:
                    described = yield from self._producers_of(topic.name, index)
                    known[topic.name, index] = described
                answer_bytes += PRODUCER_BYTES * len(described.active_producers)
                if answer_bytes > MAX_ANSWER_BYTES:
                    described = _refused(index, answer_too_large())
                answer.partitions.append(described)
                yield
        context.expect(answer_bytes)
        yield from dropping(known)
        return response

    def _producers_of(self, topic: str, index: int) -> Steps[PartitionResponse]:
        try:
            problem = topic_name_problem(topic)
            if problem is not None:
                raise ApiError(ErrorCode.INVALID_TOPIC_EXCEPTION, problem)
            # Any replica answers: followers have the state of producers as well (KIP-664).
            partition = self._replicas.partition(topic, index)
        except ApiError as error:
            return _refused(index, error)
        response = PartitionResponse(partition_index=index)
        for producers in partition.log.producers.active_producers_in_steps():
            response.active_producers += [_described_producer(each) for each in producers]
            yield
        return response


def _described_producer(entry: ProducerEntry) -> ProducerState:
    return ProducerState(
        producer_id=entry.producer_id,
        producer_epoch=entry.epoch,
        last_sequence=entry.last_sequence,
        last_timestamp=entry.last_timestamp,
        coordinator_epoch=entry.coordinator_epoch,
        current_txn_start_offset=entry.txn_first_offset,
    )


class _Waiting(NamedTuple):
    """A partition whose followers have not deleted the records yet."""

    partition: Partition
    result: DeleteRecordsPartitionResult
    deleted: Commitment


def _delete_before(
    partition: Partition,
    offset: int,
    timeout_ms: int,
    result: DeleteRecordsPartitionResult,
    waiting: list[_Waiting],
) -> None:
    """Move the log start offset to ``offset`` (-1: the high watermark)."""
    partition.check_leader(-1)
    log = partition.log
    if "delete" not in log.config.cleanup_policy:
        message = f"{partition.topic_partition} is compacted only: its records cannot be deleted"
        raise ApiError(ErrorCode.POLICY_VIOLATION, message)
    reached = log.high_watermark if offset == -1 else offset
    log.delete_records_before(offset)
    result.low_watermark = partition.low_watermark
    deleted = partition.deleted(reached, timeout_ms)
    if deleted is not None:
        waiting.append(_Waiting(partition, result, deleted))


async def _when_deleted(
    response: DeleteRecordsResponse | Awaitable[DeleteRecordsResponse], waiting: list[_Waiting]
) -> DeleteRecordsResponse:
    """The response when all live replicas have deleted the records, or the time is up."""
    answer = response if isinstance(response, DeleteRecordsResponse) else await response
    for partition, result, deleted in waiting:
        error = await deleted
        if error is None:
            result.low_watermark = partition.low_watermark
        else:
            result.error_code = error.code
            if error.code != ErrorCode.REQUEST_TIMED_OUT:
                result.low_watermark = NO_LOW_WATERMARK
    return answer


def _refused(index: int, error: ApiError) -> PartitionResponse:
    return PartitionResponse(
        partition_index=index, error_code=error.code, error_message=error.message
    )
