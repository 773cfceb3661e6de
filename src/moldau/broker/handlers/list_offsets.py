"""ListOffsets and OffsetForLeaderEpoch: the offset for a timestamp, or for an epoch.

Leaders answer. Consumers get offsets that they can read, followers those of the whole log. With the
replica id of debugging tools (kafka-replica-verification) every replica answers for its own log.
"""

from collections.abc import Awaitable
from typing import TYPE_CHECKING, Final

from moldau.broker.partition import HIGH_WATERMARK, LAST_STABLE_OFFSET, LOG_END, Partition
from moldau.broker.replica_manager import ReplicaManager
from moldau.errors import ApiError, ErrorCode
from moldau.network.turns import Steps
from moldau.protocol.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsPartitionResponse,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopicResponse,
)
from moldau.protocol.messages.offset_for_leader_epoch import (
    EpochEndOffset,
    OffsetForLeaderEpochRequest,
    OffsetForLeaderEpochResponse,
    OffsetForLeaderPartition,
    OffsetForLeaderTopicResult,
)

if TYPE_CHECKING:
    from moldau.broker.dispatch import RequestContext

# Special timestamps (KIP-79, 734, 405, 1005, 1023), and the first version that supports each.
LATEST: Final = -1
EARLIEST: Final = -2
MAX_TIMESTAMP: Final = -3
EARLIEST_LOCAL: Final = -4
LATEST_TIERED: Final = -5
EARLIEST_PENDING_UPLOAD: Final = -6
FIRST_VERSION: Final = {
    MAX_TIMESTAMP: 7,
    EARLIEST_LOCAL: 8,
    LATEST_TIERED: 9,
    EARLIEST_PENDING_UPLOAD: 11,
}
FIRST_VERSION_WITH_EPOCHS: Final = 4
FIRST_VERSION_WITH_NOT_AVAILABLE: Final = 5
CONSUMER: Final = -1
DEBUGGING: Final = -2
READ_COMMITTED: Final = 1
UNKNOWN: Final = -1


class ListOffsets:
    """Looks up offsets in the partitions hosted by this broker."""

    def __init__(self, replicas: ReplicaManager) -> None:
        self._replicas = replicas

    def handle(
        self, request: ListOffsetsRequest, context: "RequestContext"
    ) -> ListOffsetsResponse | Awaitable[ListOffsetsResponse]:
        return context.in_turns(self._listed(request, context.api_version))

    def _listed(self, request: ListOffsetsRequest, version: int) -> Steps[ListOffsetsResponse]:
        """One partition per step: the lookup of a timestamp may have to read files."""
        # None if a partition occurs twice, which is an error.
        asked: dict[str, dict[int, ListOffsetsPartition | None]] = {}
        for topic in request.topics:
            of_topic = asked.setdefault(topic.name, {})
            yield
            for wanted in topic.partitions:
                index = wanted.partition_index
                of_topic[index] = None if index in of_topic else wanted
                yield
        response = ListOffsetsResponse()
        for name, of_topic in asked.items():
            answer = ListOffsetsTopicResponse(name=name)
            response.topics.append(answer)
            yield
            for index, each in of_topic.items():
                answer.partitions.append(self._list_one(name, index, each, request, version))
                yield
        return response

    def _list_one(
        self,
        topic: str,
        index: int,
        wanted: ListOffsetsPartition | None,
        request: ListOffsetsRequest,
        version: int,
    ) -> ListOffsetsPartitionResponse:
        try:
            if wanted is None:
                message = f"partition {index} of {topic} is asked for twice in one request"
                raise ApiError(ErrorCode.INVALID_REQUEST, message)
            return self._found(topic, wanted, request, version)
        except ApiError as error:
            code = error.code
            if (
                code is ErrorCode.OFFSET_NOT_AVAILABLE
                and version < FIRST_VERSION_WITH_NOT_AVAILABLE
            ):
                # Older clients do not know the code; on this one they retry.
                code = ErrorCode.LEADER_NOT_AVAILABLE
            return ListOffsetsPartitionResponse(partition_index=index, error_code=code)

    def _found(
        self,
        topic: str,
        wanted: ListOffsetsPartition,
        request: ListOffsetsRequest,
        version: int,
    ) -> ListOffsetsPartitionResponse:
        if wanted.timestamp < EARLIEST_PENDING_UPLOAD or version < FIRST_VERSION.get(
            wanted.timestamp, 0
        ):
            message = f"timestamp {wanted.timestamp} means nothing in ListOffsets version {version}"
            raise ApiError(ErrorCode.UNSUPPORTED_VERSION, message)
        partition = self._replicas.partition(topic, wanted.partition_index)
        if request.replica_id == DEBUGGING:
            partition.check_epoch(wanted.current_leader_epoch)
        else:
            partition.check_leader(wanted.current_leader_epoch)
        timestamp, offset, epoch = _find(
            partition, wanted.timestamp, _limit(request), request.replica_id == CONSUMER
        )
        return ListOffsetsPartitionResponse(
            partition_index=wanted.partition_index,
            timestamp=timestamp,
            offset=offset,
            leader_epoch=epoch if version >= FIRST_VERSION_WITH_EPOCHS else UNKNOWN,
        )

    def handle_leader_epoch(
        self, request: OffsetForLeaderEpochRequest, context: "RequestContext"
    ) -> OffsetForLeaderEpochResponse | Awaitable[OffsetForLeaderEpochResponse]:
        return context.in_turns(self._ends_of_epochs(request))

    def _ends_of_epochs(
        self, request: OffsetForLeaderEpochRequest
    ) -> Steps[OffsetForLeaderEpochResponse]:
        response = OffsetForLeaderEpochResponse()
        for topic in request.topics:
            answer = OffsetForLeaderTopicResult(topic=topic.topic)
            response.topics.append(answer)
            yield
            for each in topic.partitions:
                answer.partitions.append(self._end_of_epoch(topic.topic, each))
                yield
        return response

    def _end_of_epoch(self, topic: str, wanted: OffsetForLeaderPartition) -> EpochEndOffset:
        try:
            partition = self._replicas.partition(topic, wanted.partition)
            partition.check_leader(wanted.current_leader_epoch)
        except ApiError as error:
            return EpochEndOffset(partition=wanted.partition, error_code=error.code)
        epoch, end_offset = partition.end_offset_for_epoch(wanted.leader_epoch)
        return EpochEndOffset(partition=wanted.partition, leader_epoch=epoch, end_offset=end_offset)


def _limit(request: ListOffsetsRequest) -> int:
    """Up to where the reader may read."""
    if request.replica_id != CONSUMER:
        return LOG_END
    if request.isolation_level == READ_COMMITTED:
        return LAST_STABLE_OFFSET
    return HIGH_WATERMARK


def _find(
    partition: Partition, timestamp: int, limit: int, is_consumer: bool
) -> tuple[int, int, int]:
    """The timestamp, offset and leader epoch of the response; -1 for none.

    Raises:
        ApiError: OFFSET_NOT_AVAILABLE if a new leader cannot tell a consumer yet.
    """
    log = partition.log
    readable = partition.readable_offset(limit)
    if timestamp == LATEST:
        if is_consumer and partition.is_catching_up:
            raise _not_available(partition)
        return UNKNOWN, readable, partition.leader_epoch
    if timestamp in (EARLIEST, EARLIEST_LOCAL):
        start = log.log_start_offset
        if start == log.log_end_offset and partition.is_leader:
            # The next record will be the first one, in this epoch.
            return UNKNOWN, start, partition.leader_epoch
        epoch = log.leader_epochs.epoch_for_offset(start)
        return UNKNOWN, start, UNKNOWN if epoch is None else epoch
    if timestamp in (LATEST_TIERED, EARLIEST_PENDING_UPLOAD):
        return UNKNOWN, UNKNOWN, UNKNOWN
    found = (
        log.max_timestamp() if timestamp == MAX_TIMESTAMP else log.offset_for_timestamp(timestamp)
    )
    if found is not None and found.offset < readable:
        return found.timestamp, found.offset, found.leader_epoch
    if is_consumer and partition.is_catching_up:
        raise _not_available(partition)
    return UNKNOWN, UNKNOWN, UNKNOWN


def _not_available(partition: Partition) -> ApiError:
    return ApiError(
        ErrorCode.OFFSET_NOT_AVAILABLE,
        f"the high watermark of {partition.topic_partition}, {partition.log.high_watermark}, has "
        f"not reached {partition.epoch_start_offset}, where leader epoch {partition.leader_epoch} "
        "started",
    )
