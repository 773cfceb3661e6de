"""DescribeLogDirs: what lies in which directory, and how much room is left."""

from typing import TYPE_CHECKING

from moldau.errors import ErrorCode
from moldau.ids import TopicPartition
from moldau.protocol.messages.describe_log_dirs import (
    DescribeLogDirsPartition,
    DescribeLogDirsRequest,
    DescribeLogDirsResponse,
    DescribeLogDirsResult,
    DescribeLogDirsTopic,
)

if TYPE_CHECKING:
    from moldau.broker.broker import Broker
    from moldau.broker.dispatch import RequestContext


def handle(
    broker: "Broker", request: DescribeLogDirsRequest, context: "RequestContext"
) -> DescribeLogDirsResponse:
    wanted: set[TopicPartition] | None = None
    if request.topics is not None:
        wanted = {
            TopicPartition(topic.topic, index)
            for topic in request.topics
            for index in topic.partitions
        }
    dirs = broker.logs.dirs
    failed = [
        DescribeLogDirsResult(error_code=ErrorCode.KAFKA_STORAGE_ERROR, log_dir=path)
        for path in dirs.offline
    ]
    return DescribeLogDirsResponse(
        results=[_describe(broker, path, wanted) for path in dirs.live] + failed
    )


def _describe(
    broker: "Broker", directory: str, wanted: set[TopicPartition] | None
) -> DescribeLogDirsResult:
    topics: dict[str, DescribeLogDirsTopic] = {}
    for partition in broker.replicas.hosted():
        key = partition.topic_partition
        if partition.log.log_dir != directory or (wanted is not None and key not in wanted):
            continue
        topic = topics.setdefault(key.topic, DescribeLogDirsTopic(name=key.topic))
        topic.partitions.append(
            DescribeLogDirsPartition(
                partition_index=key.partition, partition_size=partition.log.size_bytes
            )
        )
    try:
        total_bytes = broker.disk.total_bytes(directory)
        usable_bytes = broker.disk.free_bytes(directory)
    except OSError:
        return DescribeLogDirsResult(error_code=ErrorCode.KAFKA_STORAGE_ERROR, log_dir=directory)
    return DescribeLogDirsResult(
        log_dir=directory,
        topics=list(topics.values()),
        total_bytes=total_bytes,
        usable_bytes=usable_bytes,
    )
