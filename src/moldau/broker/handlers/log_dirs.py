"""DescribeLogDirs and AlterReplicaLogDirs: the contents of log directories, and replica moves."""

import asyncio
import os
from collections.abc import Awaitable
from typing import TYPE_CHECKING, Final

from moldau.broker.metadata_cache import MetadataCache
from moldau.broker.replica_manager import ReplicaManager
from moldau.broker.replica_mover import ReplicaMover
from moldau.errors import ApiError, ErrorCode
from moldau.ids import TopicPartition
from moldau.metadata.features import METADATA_4_3_IV0
from moldau.network.turns import Steps, Turns
from moldau.protocol.messages.alter_replica_log_dirs import (
    AlterReplicaLogDirPartitionResult,
    AlterReplicaLogDirsRequest,
    AlterReplicaLogDirsResponse,
    AlterReplicaLogDirTopicResult,
)
from moldau.protocol.messages.describe_log_dirs import (
    DescribeLogDirsPartition,
    DescribeLogDirsRequest,
    DescribeLogDirsResponse,
    DescribeLogDirsResult,
    DescribeLogDirsTopic,
)
from moldau.storage.disk.disk import Disk
from moldau.storage.log.partition_log import PartitionLog
from moldau.storage.log_dirs import has_room_for_suffix
from moldau.storage.log_manager import LogManager

if TYPE_CHECKING:
    from moldau.broker.dispatch import RequestContext

_NO_LAG: Final = -1
# The approximate size of a partition on the wire.
_PARTITION_BYTES: Final = 30
MOVED_PER_TURN: Final = 20


class LogDirs:
    """Describes the log directories of this broker, and moves replicas between them."""

    def __init__(
        self,
        metadata: MetadataCache,
        logs: LogManager,
        disk: Disk,
        replicas: ReplicaManager,
        mover: ReplicaMover,
        turns: Turns,
    ) -> None:
        self._metadata = metadata
        self._logs = logs
        self._disk = disk
        self._replicas = replicas
        self._mover = mover
        self._turns = turns

    def describe(
        self, request: DescribeLogDirsRequest, context: "RequestContext"
    ) -> DescribeLogDirsResponse | Awaitable[DescribeLogDirsResponse]:
        return context.in_turns(self._describing(request, context))

    def _describing(
        self, request: DescribeLogDirsRequest, context: "RequestContext"
    ) -> Steps[DescribeLogDirsResponse]:
        wanted: set[TopicPartition] | None = None
        if request.topics is not None:
            wanted = set()
            for topic in request.topics:
                yield
                for index in topic.partitions:
                    wanted.add(TopicPartition(topic.topic, index))
                    yield
        logs = self._logs
        found: dict[str, list[tuple[PartitionLog, bool]]] = {path: [] for path in logs.dirs.paths}
        for known, is_future in ((logs.logs, False), (logs.future_logs, True)):
            for topic_partition, log in list(known.items()):
                if wanted is None or topic_partition in wanted:
                    found[log.log_dir].append((log, is_future))
                yield
        response = DescribeLogDirsResponse()
        for path in logs.dirs.paths:
            result = yield from self._describe(path, found[path])
            response.results.append(result)
        context.expect(_PARTITION_BYTES * sum(map(len, found.values())))
        return response

    def _describe(
        self, path: str, found: list[tuple[PartitionLog, bool]]
    ) -> Steps[DescribeLogDirsResult]:
        absolute = os.path.abspath(path)
        try:
            if path in self._logs.dirs.offline:
                raise OSError(f"{path} is offline")
            total_bytes = self._disk.total_bytes(path)
            usable_bytes = self._disk.free_bytes(path)
        except OSError:
            return DescribeLogDirsResult(error_code=ErrorCode.KAFKA_STORAGE_ERROR, log_dir=absolute)
        topics: dict[str, DescribeLogDirsTopic] = {}
        for log, is_future in sorted(found, key=lambda item: item[0].topic_partition):
            name, index = log.topic_partition
            topic = topics.setdefault(name, DescribeLogDirsTopic(name=name))
            topic.partitions.append(
                DescribeLogDirsPartition(
                    partition_index=index,
                    partition_size=log.size_bytes,
                    offset_lag=self._offset_lag(log, is_future),
                    is_future_key=is_future,
                )
            )
            yield
        return DescribeLogDirsResult(
            log_dir=absolute,
            topics=list(topics.values()),
            total_bytes=total_bytes,
            usable_bytes=usable_bytes,
            is_cordoned=(
                path in self._logs.dirs.cordoned
                and self._metadata.image.metadata_version >= METADATA_4_3_IV0
            ),
        )

    def _offset_lag(self, log: PartitionLog, is_future: bool) -> int:
        """The lag of a copy behind its source, or of a replica behind the high watermark."""
        if not is_future:
            return max(log.high_watermark - log.log_end_offset, 0)
        source = self._logs.get(log.topic_partition)
        return _NO_LAG if source is None else source.log_end_offset - log.log_end_offset

    async def alter(
        self, request: AlterReplicaLogDirsRequest, context: "RequestContext"
    ) -> AlterReplicaLogDirsResponse:
        wanted = await self._turns.complete(_wanted(request))
        topics: dict[str, AlterReplicaLogDirTopicResult] = {}
        for number, (topic_partition, path) in enumerate(wanted.items()):
            if number % MOVED_PER_TURN == MOVED_PER_TURN - 1:
                await asyncio.sleep(0)
            result = AlterReplicaLogDirPartitionResult(partition_index=topic_partition.partition)
            try:
                await self._move(topic_partition, path)
            except ApiError as error:
                result.error_code = error.code
            name = topic_partition.topic
            topic = topics.setdefault(name, AlterReplicaLogDirTopicResult(topic_name=name))
            topic.partitions.append(result)
        return AlterReplicaLogDirsResponse(results=list(topics.values()))

    async def _move(self, topic_partition: TopicPartition, wanted: str) -> None:
        """Start the move of a replica, or store the directory for one that is not here yet.

        Raises:
            ApiError: INVALID_TOPIC_EXCEPTION, LOG_DIR_NOT_FOUND, KAFKA_STORAGE_ERROR,
                INVALID_REPLICA_ASSIGNMENT (cordoned), REPLICA_NOT_AVAILABLE (the directory is
                stored).
        """
        logs = self._logs
        if not has_room_for_suffix(topic_partition):
            message = f"the name of {topic_partition.topic} leaves no room for the suffix of a copy"
            raise ApiError(ErrorCode.INVALID_TOPIC_EXCEPTION, message)
        path = logs.dirs.configured(wanted)
        if path is None:
            message = f"{wanted} is none of the log.dirs {', '.join(logs.dirs.paths)}"
            raise ApiError(ErrorCode.LOG_DIR_NOT_FOUND, message)
        if path not in logs.dirs.live:
            raise ApiError(ErrorCode.KAFKA_STORAGE_ERROR, f"log directory {path} is offline")
        if path in logs.dirs.cordoned:
            message = f"log directory {path} is cordoned: take it out of cordoned.log.dirs first"
            raise ApiError(ErrorCode.INVALID_REPLICA_ASSIGNMENT, message)
        partition = self._replicas.find(topic_partition)
        if partition is None and not self._replicas.is_offline(topic_partition):
            logs.wishes.add(topic_partition, path)
            message = f"{topic_partition} is not here; if it comes, it goes to {path}"
            raise ApiError(ErrorCode.REPLICA_NOT_AVAILABLE, message)
        if partition is None or partition.log.is_closed:
            raise ApiError(ErrorCode.KAFKA_STORAGE_ERROR, f"{topic_partition} is offline")
        while (future := logs.future_logs.get(topic_partition)) and future.log_dir != path:
            await self._mover.cancel(topic_partition)
        if self._replicas.find(topic_partition) is not partition or partition.log.log_dir == path:
            return
        logs.get_or_create(
            topic_partition,
            partition.log.config,
            partition.topic_id,
            is_new=False,
            log_dir=path,
            is_future=True,
        )
        self._mover.add(partition)


def _wanted(request: AlterReplicaLogDirsRequest) -> Steps[dict[TopicPartition, str]]:
    """The directory of each partition; if one occurs twice, the last one counts."""
    wanted = {}
    for directory in request.dirs:
        yield
        for topic in directory.topics:
            yield
            for index in topic.partitions:
                wanted[TopicPartition(topic.name, index)] = directory.path
                yield
    return wanted
