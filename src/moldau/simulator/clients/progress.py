"""How far the members of a group have come: what they commit, and what they find committed.

The progress of a partition is a number that only grows: what its owner committed last, or what it
found committed when it got the partition. So a commit that is lost, or taken back by somebody who
no longer owns the partition, is seen.
"""

import asyncio
from typing import Final

from moldau.errors import ErrorCode
from moldau.ids import TopicPartition
from moldau.network.outbound import Disconnected
from moldau.protocol.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
    OffsetCommitResponse,
)
from moldau.protocol.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopics,
    OffsetFetchResponse,
)
from moldau.simulator.clients.cluster import ClusterClient
from moldau.simulator.history import GroupPartition

# The last versions in which topics are named by name.
_COMMIT_VERSION: Final = 9
_FETCH_VERSION: Final = 9
WRONG_COORDINATOR: Final = (ErrorCode.NOT_COORDINATOR, ErrorCode.COORDINATOR_NOT_AVAILABLE)
# Somebody else may own the partition by now: find out by the next heartbeat.
_STALE: Final = (
    ErrorCode.UNKNOWN_MEMBER_ID,
    ErrorCode.FENCED_MEMBER_EPOCH,
    ErrorCode.GROUP_ID_NOT_FOUND,
    ErrorCode.STALE_MEMBER_EPOCH,
    ErrorCode.ILLEGAL_GENERATION,
)


class GroupProgress:
    """The part of a member that commits; ``_epoch`` is its epoch, or the generation."""

    # A coordinator that is cut off from its successor, but not from its members, answers heartbeats
    # that the successor waits for in vain: then a member may be expelled that sent all of them.
    may_be_misled = False

    def __init__(self, client: ClusterClient, group_id: str, topic: str, pause_ms: int) -> None:
        self._client = client
        self._rng = client.rng
        self._history = client.history
        self._group_id = group_id
        self._topic = topic
        self._pause_ms = pause_ms
        self._member_id = ""
        self._epoch = 0
        # By partition; None while it is not known what was committed.
        self._positions: dict[int, int | None] = {}
        # When the last heartbeat was sent that was answered, if all since then were.
        self._alive_us: int | None = None

    def start(self) -> None:
        self._client.begin(self._work())

    async def _work(self) -> None:
        raise NotImplementedError

    @property
    def owned(self) -> list[int]:
        """The partitions of which this member is certain."""
        return list(self._positions) if self._alive_us is not None else []

    async def _commit_on(self) -> None:
        client = self._client
        while not client.is_stopping:
            for partition in list(self._positions):
                await self._advance(partition)
            await asyncio.sleep(self._rng.randint(1, 2 * self._pause_ms) / 1000)

    async def _advance(self, partition: int) -> None:
        """Find the committed offset, or commit the next one."""
        if partition not in self._positions:
            return
        position = self._positions[partition]
        epoch = self._epoch
        try:
            if position is None:
                await self._find(partition, epoch)
            else:
                await self._commit(partition, position + self._rng.randint(1, 10), epoch)
        except Disconnected:
            self._client.forget_coordinator(self._group_id)
            await self._client.back_off()

    async def _find(self, partition: int, epoch: int) -> None:
        client = self._client
        key = self._key(partition)
        at_least = self._history.least_commit(key)
        topics = [OffsetFetchRequestTopics(self._topic, partition_indexes=[partition])]
        asked = OffsetFetchRequestGroup(self._group_id, *self._reader(epoch), topics)
        coordinator = await client.coordinator(self._group_id)
        response = await client.send(
            coordinator, OffsetFetchRequest(groups=[asked]), OffsetFetchResponse, _FETCH_VERSION
        )
        group = response.groups[0]
        found = group.topics[0].partitions[0] if group.topics else None
        code = ErrorCode(group.error_code or (found.error_code if found is not None else 0))
        if code == ErrorCode.NONE and found is not None:
            self._history.found_commit(key, found.committed_offset, at_least)
            if partition in self._positions and self._epoch == epoch:
                self._positions[partition] = max(found.committed_offset, 0)
        else:
            await self._refused(code)

    async def _commit(self, partition: int, offset: int, epoch: int) -> None:
        client = self._client
        key = self._key(partition)
        topic = OffsetCommitRequestTopic(
            self._topic, partitions=[OffsetCommitRequestPartition(partition, offset)]
        )
        asked = OffsetCommitRequest(self._group_id, epoch, self._member_id, topics=[topic])
        coordinator = await client.coordinator(self._group_id)
        self._history.will_commit(key, offset)
        try:
            response = await client.send(coordinator, asked, OffsetCommitResponse, _COMMIT_VERSION)
        except Disconnected:
            self._history.may_have_committed(key, offset)
            raise
        code = ErrorCode(response.topics[0].partitions[0].error_code)
        if code == ErrorCode.NONE:
            self._history.has_committed(key, offset)
            client.world.trace(f"committed {self._group_id} {partition} {offset}".encode())
            if partition in self._positions:
                self._positions[partition] = offset
        else:
            await self._refused(code)

    async def _refused(self, code: ErrorCode) -> None:
        client = self._client
        if code in WRONG_COORDINATOR:
            client.forget_coordinator(self._group_id)
        elif code not in _STALE and not code.retriable:
            client.world.surprise(client.name, f"{code.name} for an offset of {self._group_id}")
        await client.back_off()

    def _reader(self, epoch: int) -> tuple[str | None, int]:
        """Who asks for committed offsets: a member, or anybody."""
        return self._member_id, epoch

    def _key(self, partition: int) -> GroupPartition:
        return GroupPartition(self._group_id, TopicPartition(self._topic, partition))
