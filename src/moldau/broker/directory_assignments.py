"""Reports the log directory of each replica to the controller (KIP-858).

A broker with several directories chooses one when it creates a log, and another when a replica
moves. The metadata must have it, or the controller would not know which partitions a failed disk
affects. Assignments are collected and sent as AssignReplicasToDirs, one request at a time, until
the controller has them: it may be absent for long, or this broker may have to register again.
"""

import asyncio
import logging
from typing import Final

from moldau.broker.broker_lifecycle import BrokerLifecycle
from moldau.broker.controller_channel import PASSING, ControllerChannel
from moldau.broker.metadata_cache import MetadataCache
from moldau.errors import ApiError
from moldau.metadata.features import METADATA_3_7_IV2
from moldau.protocol.messages.assign_replicas_to_dirs import (
    AssignReplicasToDirsRequest,
    DirectoryData,
    PartitionData,
    TopicData,
)
from moldau.storage.log_manager import LogManager

# Kafka's limit for one request.
_MAX_PER_REQUEST: Final = 2250
RETRY_PAUSE_S: Final = 0.5

logger = logging.getLogger(__name__)

Replica = tuple[bytes, int]


class DirectoryAssignments:
    """The directory assignments that this broker has to report."""

    def __init__(
        self,
        node_id: int,
        logs: LogManager,
        metadata: MetadataCache,
        lifecycle: BrokerLifecycle,
        channel: ControllerChannel,
    ) -> None:
        self._node_id = node_id
        self._logs = logs
        self._metadata = metadata
        self._lifecycle = lifecycle
        self._channel = channel
        self._waiting: dict[Replica, bytes] = {}
        # Those of the request under way that wait again if it fails.
        self._trying: dict[Replica, bytes] = {}
        # Sent, but the metadata does not have it yet.
        self._in_flight: dict[Replica, bytes] = {}
        self._sending: asyncio.Task[None] | None = None
        self._is_stopped = False

    def note(self, topic_id: bytes, index: int, log_dir: str) -> None:
        """The log of a partition is in ``log_dir``: report it unless the metadata has it."""
        directory_id = self._logs.dirs.directory_ids.get(log_dir)
        if directory_id is not None and self._trying.get((topic_id, index)) == directory_id:
            # It is under way, and repeated if it fails.
            return
        self._withdraw(topic_id, index)
        if directory_id is None or not self._is_news(topic_id, index, directory_id):
            return
        self._waiting[topic_id, index] = directory_id
        if self._sending is None:
            self._sending = asyncio.get_running_loop().create_task(self._send_all())

    async def assign(self, topic_id: bytes, index: int, directory_id: bytes) -> None:
        """Return when the metadata names this directory. Raises ApiError if it cannot."""
        self._withdraw(topic_id, index)
        if self._is_news(topic_id, index, directory_id):
            await self._send({(topic_id, index): directory_id})

    def _withdraw(self, topic_id: bytes, index: int) -> None:
        """Something newer is to be reported, or nothing."""
        self._waiting.pop((topic_id, index), None)
        self._trying.pop((topic_id, index), None)

    async def settled(self) -> None:
        """Return when everything has been reported."""
        if self._sending is not None:
            await self._sending

    def stop(self) -> None:
        """Do not try again what fails from now on: the next start reports it."""
        self._is_stopped = True

    def _is_news(self, topic_id: bytes, index: int, directory_id: bytes) -> bool:
        if (topic_id, index) in self._in_flight:
            return self._in_flight[topic_id, index] != directory_id
        image = self._metadata.image
        topic = image.topics_by_id.get(topic_id)
        registration = topic.partitions.get(index) if topic is not None else None
        if registration is None or image.metadata_version < METADATA_3_7_IV2:
            return False
        return registration.directory_of(self._node_id) != directory_id

    async def _send_all(self) -> None:
        # Not now: the other partitions of a topic may follow in this turn.
        await asyncio.sleep(0)
        try:
            while self._waiting:
                self._trying = dict(list(self._waiting.items())[:_MAX_PER_REQUEST])
                for replica in self._trying:
                    del self._waiting[replica]
                if not await self._try(dict(self._trying)):
                    self._waiting = {**self._trying, **self._waiting}
                    await asyncio.sleep(RETRY_PAUSE_S)
        finally:
            self._trying = {}
            self._sending = None

    async def _try(self, some: dict[Replica, bytes]) -> bool:
        """Report some replicas; False if that must be tried again."""
        try:
            await self._send(some)
        except ApiError as error:
            logger.error("directories of %d replicas not reported: %s", len(some), error)
            # Otherwise a restart reports them; until then the failure of a disk goes unnoticed.
            return error.code not in PASSING or self._is_stopped
        return True

    async def _send(self, assignments: dict[Replica, bytes]) -> None:
        directories: dict[bytes, dict[bytes, TopicData]] = {}
        for (topic_id, index), directory_id in assignments.items():
            topics = directories.setdefault(directory_id, {})
            topic = topics.setdefault(topic_id, TopicData(topic_id=topic_id))
            topic.partitions.append(PartitionData(partition_index=index))
        request = AssignReplicasToDirsRequest(
            broker_id=self._node_id,
            broker_epoch=self._lifecycle.broker_epoch,
            directories=[
                DirectoryData(id=directory_id, topics=list(topics.values()))
                for directory_id, topics in directories.items()
            ],
        )
        self._in_flight.update(assignments)
        try:
            await self._channel.send(request)
        finally:
            for replica, directory_id in assignments.items():
                if self._in_flight.get(replica) == directory_id:
                    del self._in_flight[replica]
