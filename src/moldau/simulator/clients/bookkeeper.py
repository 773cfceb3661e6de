"""Commits offsets of a group without members, in transactions and without, by turns.

The later record counts, whether it was written in a transaction or not, and whenever the
transaction ends. Every offset is greater than the one before, so a group that is found at a smaller
one has lost something.

A plain commit without an answer may arrive at any time, also after later ones. From then on another
group is kept.
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
from moldau.simulator.clients.transactional import (
    Fenced,
    Membership,
    MustAbort,
    TransactionalSession,
)
from moldau.simulator.history import GroupPartition
from moldau.simulator.transaction_history import TransactionHistory

TIMEOUT_MS: Final = 5_000
_COMMIT_VERSION: Final = 9
_FETCH_VERSION: Final = 9
_ABORTS: Final = 0.2
_PLAIN: Final = 0.7
_PAUSE_MS: Final = (100, 3_000)
_AWAY_MS: Final = (100, 3_000)


class Bookkeeper:
    """Keeps the offset of one partition for one group at a time."""

    def __init__(
        self,
        client: ClusterClient,
        transactions: TransactionHistory,
        session: TransactionalSession,
        topic_partition: TopicPartition,
    ) -> None:
        self._client = client
        self._rng = client.rng
        self._facts = client.history
        self._transactions = transactions
        self._session = session
        self._topic_partition = topic_partition
        self._groups = 0
        self._offset = 0

    def start(self) -> None:
        self._client.begin(self._work())

    async def _work(self) -> None:
        while not self._client.is_stopping:
            try:
                await self._live()
            except Fenced as error:
                self._client.world.trace(f"{self._client.name} is fenced: {error}".encode())
            await asyncio.sleep(self._rng.randint(*_AWAY_MS) / 1000)

    async def _live(self) -> None:
        """Raises Fenced."""
        await self._session.begin_anew()
        while not self._client.is_stopping:
            try:
                if await self._find():
                    await self._keep()
            except Disconnected:
                self._client.forget_coordinator(self._group_id)
                await self._client.back_off()
            await asyncio.sleep(self._rng.randint(*_PAUSE_MS) / 1000)

    @property
    def _group_id(self) -> str:
        return f"books-{self._groups}"

    @property
    def _key(self) -> GroupPartition:
        return GroupPartition(self._group_id, self._topic_partition)

    # --- reading ---

    async def _find(self) -> bool:
        """Whether the offset of the group was found, which is checked. Raises Disconnected."""
        topic, partition = self._topic_partition
        at_least = self._facts.least_commit(self._key)
        topics = [OffsetFetchRequestTopics(topic, partition_indexes=[partition])]
        group = OffsetFetchRequestGroup(self._group_id, topics=topics)
        asked = OffsetFetchRequest(groups=[group], require_stable=True)
        coordinator = await self._client.coordinator(self._group_id)
        response = await self._client.send(coordinator, asked, OffsetFetchResponse, _FETCH_VERSION)
        answer = response.groups[0]
        found = answer.topics[0].partitions[0] if answer.topics else None
        code = ErrorCode(answer.error_code or (found.error_code if found is not None else 0))
        if code != ErrorCode.NONE or found is None:
            await self._refused(code)
            return False
        self._facts.found_commit(self._key, found.committed_offset, at_least)
        return True

    # --- writing ---

    async def _keep(self) -> None:
        """One transaction with an offset, and perhaps a plain commit before it ends."""
        session = self._session
        session.begin()
        transaction = self._transactions.begin(self._client.name)
        key, first = self._key, self._next_offset()
        try:
            coordinator = await self._client.coordinator(self._group_id)
            member = Membership(self._group_id, "", -1)
            topic, partition = self._topic_partition
            await session.send_offsets(member, topic, {partition: first}, coordinator)
            if session.is_doubtful:
                # The same offset may be written once more, after a plain one.
                await session.abort(transaction)
                return
            second = await self._commit_plainly() if self._rng.random() < _PLAIN else -1
            await asyncio.sleep(self._rng.randint(0, 300) / 1000)
            if self._rng.random() < _ABORTS:
                await session.abort(transaction)
            else:
                await session.commit(transaction)
                self._facts.has_committed(key, max(first, second))
        except MustAbort:
            await session.abort(transaction)
        finally:
            transaction.has_ended()

    async def _commit_plainly(self) -> int:
        """The offset that is committed; -1 if it is not."""
        topic, partition = self._topic_partition
        offset = self._next_offset()
        topics = [
            OffsetCommitRequestTopic(
                topic, partitions=[OffsetCommitRequestPartition(partition, offset)]
            )
        ]
        asked = OffsetCommitRequest(self._group_id, topics=topics)
        coordinator = await self._client.coordinator(self._group_id)
        try:
            answer = await self._client.send(
                coordinator, asked, OffsetCommitResponse, _COMMIT_VERSION
            )
        except Disconnected:
            self._client.forget_coordinator(self._group_id)
            self._groups += 1
            return -1
        code = ErrorCode(answer.topics[0].partitions[0].error_code)
        if code != ErrorCode.NONE:
            # Who stops leading refuses what it may have written.
            await self._refused(code)
            self._groups += 1
            return -1
        self._facts.has_committed(self._key, offset)
        return offset

    def _next_offset(self) -> int:
        self._offset += 1
        self._facts.will_commit(self._key, self._offset)
        return self._offset

    async def _refused(self, code: ErrorCode) -> None:
        self._client.forget_coordinator(self._group_id)
        if not code.retriable:
            self._client.world.surprise(
                self._client.name, f"{code.name} for an offset of {self._group_id}"
            )
        await self._client.back_off()
