"""ListOffsets and OffsetForLeaderEpoch: the offset for a timestamp, or for an epoch."""

from collections.abc import Awaitable
from typing import TYPE_CHECKING, Final

from moldau.broker.partition import Partition
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
    from moldau.broker.broker import Broker
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
READ_COMMITTED: Final = 1
UNKNOWN: Final = -1


def handle(
    broker: "Broker", request: ListOffsetsRequest, context: "RequestContext"
) -> ListOffsetsResponse | Awaitable[ListOffsetsResponse]:
    return context.in_turns(_listed(broker, request, context.api_version))


def _listed(
    broker: "Broker", request: ListOffsetsRequest, version: int
) -> Steps[ListOffsetsResponse]:
    """One partition per step: the lookup of a timestamp may have to read files."""
    # None if a partition occurs twice, which is an error.
    asked: dict[str, dict[int, ListOffsetsPartition | None]] = {}
    for topic in request.topics:
        of_topic = asked.setdefault(topic.name, {})
        for wanted in topic.partitions:
            index = wanted.partition_index
            of_topic[index] = None if index in of_topic else wanted
        yield
    response = ListOffsetsResponse()
    for name, of_topic in asked.items():
        answer = ListOffsetsTopicResponse(name=name)
        response.topics.append(answer)
        for index, each in of_topic.items():
            answer.partitions.append(_list_one(broker, name, index, each, request, version))
            yield
    return response


def _list_one(
    broker: "Broker",
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
        return _found(broker, topic, wanted, request, version)
    except ApiError as error:
        return ListOffsetsPartitionResponse(partition_index=index, error_code=error.code)


def _found(
    broker: "Broker",
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
    partition = broker.replicas.partition(topic, wanted.partition_index)
    partition.check_leader(wanted.current_leader_epoch)
    timestamp, offset, epoch = _find(partition, wanted.timestamp, request.isolation_level)
    return ListOffsetsPartitionResponse(
        partition_index=wanted.partition_index,
        timestamp=timestamp,
        offset=offset,
        leader_epoch=epoch if version >= FIRST_VERSION_WITH_EPOCHS else UNKNOWN,
    )


def _find(partition: Partition, timestamp: int, isolation_level: int) -> tuple[int, int, int]:
    """The timestamp, offset and leader epoch of the response; -1 for none."""
    log = partition.log
    readable = log.last_stable_offset if isolation_level == READ_COMMITTED else log.high_watermark
    if timestamp == LATEST:
        return UNKNOWN, readable, partition.leader_epoch
    if timestamp in (EARLIEST, EARLIEST_LOCAL):
        start = log.log_start_offset
        if start == log.log_end_offset:
            # The next record will be the first one, in this epoch.
            return UNKNOWN, start, partition.leader_epoch
        epoch = log.leader_epochs.epoch_for_offset(start)
        return UNKNOWN, start, UNKNOWN if epoch is None else epoch
    if timestamp in (LATEST_TIERED, EARLIEST_PENDING_UPLOAD):
        return UNKNOWN, UNKNOWN, UNKNOWN
    found = (
        log.max_timestamp() if timestamp == MAX_TIMESTAMP else log.offset_for_timestamp(timestamp)
    )
    if found is None or found.offset >= readable:
        return UNKNOWN, UNKNOWN, UNKNOWN
    return found.timestamp, found.offset, found.leader_epoch


def handle_leader_epoch(
    broker: "Broker", request: OffsetForLeaderEpochRequest, context: "RequestContext"
) -> OffsetForLeaderEpochResponse | Awaitable[OffsetForLeaderEpochResponse]:
    return context.in_turns(_ends_of_epochs(broker, request))


def _ends_of_epochs(
    broker: "Broker", request: OffsetForLeaderEpochRequest
) -> Steps[OffsetForLeaderEpochResponse]:
    response = OffsetForLeaderEpochResponse()
    for topic in request.topics:
        answer = OffsetForLeaderTopicResult(topic=topic.topic)
        response.topics.append(answer)
        for each in topic.partitions:
            answer.partitions.append(_end_of_epoch(broker, topic.topic, each))
            yield
    return response


def _end_of_epoch(broker: "Broker", topic: str, wanted: OffsetForLeaderPartition) -> EpochEndOffset:
    try:
        partition = broker.replicas.partition(topic, wanted.partition)
        partition.check_leader(wanted.current_leader_epoch)
    except ApiError as error:
        return EpochEndOffset(partition=wanted.partition, error_code=error.code)
    epoch, end_offset = partition.end_offset_for_epoch(wanted.leader_epoch)
    return EpochEndOffset(partition=wanted.partition, leader_epoch=epoch, end_offset=end_offset)
