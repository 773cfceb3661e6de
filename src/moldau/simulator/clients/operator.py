"""Somebody who operates a cluster while others use it.

Reassigns partitions (and replaces or cancels what is under way), elects preferred leaders, moves
replicas between log directories, deletes records. In the end every partition is given its last
replicas, and that must succeed.
"""

import asyncio
from collections.abc import Sequence
from typing import Final, NamedTuple

from moldau.errors import ErrorCode
from moldau.ids import TopicPartition
from moldau.network.outbound import Disconnected
from moldau.protocol.messages.alter_partition_reassignments import (
    AlterPartitionReassignmentsRequest,
    AlterPartitionReassignmentsResponse,
    ReassignablePartition,
    ReassignableTopic,
)
from moldau.protocol.messages.alter_replica_log_dirs import (
    AlterReplicaLogDir,
    AlterReplicaLogDirsRequest,
    AlterReplicaLogDirsResponse,
    AlterReplicaLogDirTopic,
)
from moldau.protocol.messages.delete_records import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsResponse,
    DeleteRecordsTopic,
)
from moldau.protocol.messages.elect_leaders import (
    ElectLeadersRequest,
    ElectLeadersResponse,
    TopicPartitions,
)
from moldau.protocol.messages.list_partition_reassignments import (
    ListPartitionReassignmentsRequest,
    ListPartitionReassignmentsResponse,
    ListPartitionReassignmentsTopics,
)
from moldau.simulator.clients.cluster import ClusterClient
from moldau.simulator.deletions import EVERYTHING, Deletions

_PAUSE_MS: Final = (50, 2_000)
_TIMEOUT_MS: Final = 3_000
_DELETE_TIMEOUTS_MS: Final = (0, 1_000, 4_000)
_MOST_DELETED: Final = 60
_PREFERRED: Final = 0
_REPLICAS: Final = 3
_POSSIBLE_REPLICAS: Final = (3, 3, 3, 2, 4)
# How often a reassignment is replaced or cancelled while it is under way, and how soon.
_CHANGES_ITS_MIND: Final = 0.5
_AT_ONCE_MS: Final = 50
_ACTIONS: Final = (
    *("reassign", "reassign", "reassign"),
    "elect",
    *("move", "move", "move"),
    *("delete", "delete", "delete"),
)
# What the state of a partition, or of a broker, does not allow now.
_NOT_NOW: Final = (
    ErrorCode.NO_REASSIGNMENT_IN_PROGRESS,
    ErrorCode.ELECTION_NOT_NEEDED,
    ErrorCode.PREFERRED_LEADER_NOT_AVAILABLE,
    ErrorCode.OFFSET_OUT_OF_RANGE,
)


class Operated(NamedTuple):
    """What an operator works on; ``trimmed`` are the partitions whose records are deleted."""

    partitions: Sequence[TopicPartition]
    trimmed: Sequence[TopicPartition]
    brokers: Sequence[int]
    log_dirs: Sequence[str]


class Operator:
    """Does one thing at a time."""

    def __init__(self, client: ClusterClient, operated: Operated, deletions: Deletions) -> None:
        self._client = client
        self._rng = client.rng
        self._operated = operated
        self._deletions = deletions

    def start(self) -> None:
        self._client.begin(self._work())

    async def _work(self) -> None:
        while not self._client.is_stopping:
            await asyncio.sleep(self._rng.randint(*_PAUSE_MS) / 1000)
            try:
                await self._act(self._rng.choice(_ACTIONS))
            except Disconnected:
                await self._client.back_off()
        finals = [
            self._finish(each, self._rng.sample(self._operated.brokers, _REPLICAS))
            for each in self._operated.partitions
        ]
        await asyncio.gather(*finals)

    async def _act(self, action: str) -> None:
        topic_partition = self._rng.choice(self._operated.partitions)
        match action:
            case "reassign":
                await self._reassign(topic_partition, self._draw_replicas())
                while self._rng.random() < _CHANGES_ITS_MIND:
                    await asyncio.sleep(self._rng.randint(0, _AT_ONCE_MS) / 1000)
                    other = self._rng.choice((None, self._draw_replicas()))
                    await self._reassign(topic_partition, other)
            case "elect":
                await self._elect(topic_partition)
            case "move":
                await self._move(topic_partition, self._rng.choice(self._operated.log_dirs))
            case _:
                await self._delete(self._rng.choice(self._operated.trimmed))

    def _draw_replicas(self) -> list[int]:
        count = self._rng.choice(_POSSIBLE_REPLICAS)
        return self._rng.sample(self._operated.brokers, count)

    # --- reassignments ---

    async def _reassign(
        self, topic_partition: TopicPartition, replicas: list[int] | None
    ) -> ErrorCode:
        """Give a partition other replicas; None cancels what is under way."""
        client = self._client
        wanted = ReassignablePartition(topic_partition.partition, replicas)
        asked = AlterPartitionReassignmentsRequest(
            timeout_ms=_TIMEOUT_MS,
            topics=[ReassignableTopic(topic_partition.topic, [wanted])],
        )
        answer = await client.send(client.any_node(), asked, AlterPartitionReassignmentsResponse)
        code = answer.error_code or answer.responses[0].partitions[0].error_code
        if replicas is None:
            return self._note(f"cancels the reassignment of {topic_partition}", code)
        return self._note(f"reassigns {topic_partition} to {replicas}", code)

    async def _finish(self, topic_partition: TopicPartition, replicas: list[int]) -> None:
        """Wait until a partition is at rest, give it its last replicas, and wait again."""
        # What is under way must end by itself: another reassignment could help it out.
        await self._until_reassigned(topic_partition)
        is_accepted = False
        while not is_accepted:
            try:
                code = await self._reassign(topic_partition, replicas)
                is_accepted = code == ErrorCode.NONE
            except Disconnected:
                pass
            if not is_accepted:
                await self._client.back_off()
        await self._until_reassigned(topic_partition)

    async def _until_reassigned(self, topic_partition: TopicPartition) -> None:
        """Wait until no reassignment of a partition is under way."""
        client = self._client
        topic = ListPartitionReassignmentsTopics(topic_partition.topic, [topic_partition.partition])
        asked = ListPartitionReassignmentsRequest(timeout_ms=_TIMEOUT_MS, topics=[topic])

        async def ask() -> ListPartitionReassignmentsResponse | None:
            answer = await client.send(client.any_node(), asked, ListPartitionReassignmentsResponse)
            return None if answer.error_code or answer.topics else answer

        await client.until_answered(ask)

    async def _elect(self, topic_partition: TopicPartition) -> None:
        client = self._client
        chosen = TopicPartitions(topic_partition.topic, [topic_partition.partition])
        asked = ElectLeadersRequest(_PREFERRED, [chosen], _TIMEOUT_MS)
        answer = await client.send(client.any_node(), asked, ElectLeadersResponse)
        results = [
            each.error_code
            for topic in answer.replica_election_results
            for each in topic.partition_result
        ]
        what = f"elects the preferred leader of {topic_partition}"
        self._note(what, answer.error_code or max(results, default=0))

    # --- log directories ---

    async def _move(self, topic_partition: TopicPartition, log_dir: str) -> None:
        client = self._client
        topic = AlterReplicaLogDirTopic(topic_partition.topic, [topic_partition.partition])
        asked = AlterReplicaLogDirsRequest([AlterReplicaLogDir(log_dir, [topic])])
        address = client.any_node()
        answer = await client.send(address, asked, AlterReplicaLogDirsResponse)
        code = answer.results[0].partitions[0].error_code
        self._note(f"moves {topic_partition} at {address.host} to {log_dir}", code)

    # --- records ---

    async def _delete(self, topic_partition: TopicPartition) -> None:
        client = self._client
        end_offset = client.history.known_end(topic_partition)
        offset = self._rng.randint(max(end_offset - _MOST_DELETED, 0), end_offset)
        if self._rng.random() < 0.2:
            offset = EVERYTHING
        topic = DeleteRecordsTopic(
            topic_partition.topic, [DeleteRecordsPartition(topic_partition.partition, offset)]
        )
        asked = DeleteRecordsRequest([topic], self._rng.choice(_DELETE_TIMEOUTS_MS))
        leader = await client.leader(topic_partition)
        before = self._deletions.will_delete(topic_partition, offset)
        try:
            answer = await client.send(leader, asked, DeleteRecordsResponse)
        except Disconnected:
            client.forget_leader(topic_partition)
            raise
        result = answer.topics[0].partitions[0]
        code = self._note(f"deletes {topic_partition} before {offset}", result.error_code)
        if code == ErrorCode.NONE:
            self._deletions.has_deleted(topic_partition, result.low_watermark, before)
        else:
            client.forget_leader(topic_partition)

    def _note(self, what: str, error_code: int) -> ErrorCode:
        client = self._client
        code = ErrorCode(error_code)
        if code == ErrorCode.NONE:
            client.world.tell(client.name, what)
        elif not code.retriable and code not in _NOT_NOW:
            client.world.surprise(client.name, f"{what}: {code.name}")
        return code
