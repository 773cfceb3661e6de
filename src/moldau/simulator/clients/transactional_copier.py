"""A read-process-write loop: copies what is committed in one topic to another, exactly once.

A member of a group copies the partitions that it owns. The offset up to which it has copied is
committed with the copies, in one transaction (KIP-447): member id and generation go with it, so
that who has lost a partition cannot say anything about it any more. Who gets a partition waits
until nothing about its offset is pending.
"""

import asyncio
from typing import Final

from moldau.errors import ErrorCode
from moldau.ids import TopicPartition
from moldau.network.outbound import Disconnected
from moldau.protocol.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopics,
    OffsetFetchResponse,
)
from moldau.simulator.clients.classic_member import ClassicMember
from moldau.simulator.clients.member import GroupMember
from moldau.simulator.clients.progress import GroupProgress
from moldau.simulator.clients.transactional import (
    NEVER_MS,
    Fenced,
    Membership,
    MustAbort,
    TransactionalSession,
)
from moldau.simulator.clients.transactional_reader import Polled, TransactionalReader
from moldau.simulator.transaction_history import UNKNOWN_OFFSET, Transaction, TransactionHistory

COPIES: Final = "copies"
_FETCH_VERSION: Final = 9
_ABORTS: Final = 0.1
_TIMEOUT_MS: Final = 5_000


class Copying(GroupProgress):
    """The part of a member that copies."""

    _transactions: TransactionHistory
    _session: TransactionalSession
    _reader_of_input: TransactionalReader

    def copy_with(
        self,
        transactions: TransactionHistory,
        transactional_id: str,
        *,
        is_v2: bool,
        is_alone: bool = False,
        expires_ms: int = NEVER_MS,
    ) -> None:
        """What it needs besides membership; called before it starts."""
        self._transactions = transactions
        self._session = TransactionalSession(
            self._client,
            transactional_id,
            _TIMEOUT_MS,
            is_v2=is_v2,
            is_alone=is_alone,
            expires_ms=expires_ms,
        )
        self._reader_of_input = TransactionalReader(self._client, transactions)
        self._has_identity = False
        self._attempts = 0
        # How often each position was found, which makes a new reader.
        self._found = 0
        self._readers: dict[int, str] = {}
        # What was still to be copied of each partition when some of it was copied last.
        self.remaining: dict[int, int] = {}

    async def _advance(self, partition: int) -> None:
        """Find the committed offset of a partition, or copy some of it."""
        if partition not in self._positions:
            self.remaining.pop(partition, None)
            return
        position = self._positions[partition]
        try:
            if not self._has_identity:
                await self._session.begin_anew()
                self._has_identity = True
            if position is None:
                await self._find(partition, self._epoch)
            else:
                await self._read_and_copy(partition, position)
        except Fenced:
            self._has_identity = False
            self._positions = dict.fromkeys(self._positions)
            await self._client.back_off()
        except Disconnected:
            self._client.forget_coordinator(self._group_id)
            await self._client.back_off()

    async def _find(self, partition: int, epoch: int) -> None:
        client = self._client
        topics = [OffsetFetchRequestTopics(self._topic, partition_indexes=[partition])]
        group = OffsetFetchRequestGroup(self._group_id, *self._reader(epoch), topics)
        asked = OffsetFetchRequest(groups=[group], require_stable=True)
        coordinator = await client.coordinator(self._group_id)
        response = await client.send(coordinator, asked, OffsetFetchResponse, _FETCH_VERSION)
        answer = response.groups[0]
        found = answer.topics[0].partitions[0] if answer.topics else None
        code = ErrorCode(answer.error_code or (found.error_code if found is not None else 0))
        if code != ErrorCode.NONE or found is None:
            await self._refused(code)
        elif partition in self._positions and self._epoch == epoch:
            self._positions[partition] = max(found.committed_offset, 0)
            self._found += 1
            self._readers[partition] = f"{client.name}/{self._found}"

    async def _read_and_copy(self, partition: int, position: int) -> None:
        # Another owner may come while we read: what it must not hear from us names the old epoch.
        member = Membership(self._group_id, self._member_id, self._epoch)
        source = TopicPartition(self._topic, partition)
        polled = await self._reader_of_input.poll(source, position, self._readers[partition])
        if polled is None:
            return
        is_copied = False
        if self._is_still(member, partition, position):
            is_copied = not polled.records or await self._copy(member, partition, polled)
        if is_copied and self._is_still(member, partition, position):
            self._positions[partition] = polled.next_position
            self.remaining[partition] = polled.high_watermark - polled.next_position
        elif partition in self._positions:
            # Whatever is committed by now, and by whom: ask.
            self._positions[partition] = None
            self.remaining.pop(partition, None)

    def _is_still(self, member: Membership, partition: int, position: int) -> bool:
        return (
            (self._member_id, self._epoch) == (member.member_id, member.epoch)
            and partition in self._positions
            and self._positions[partition] == position
        )

    async def _copy(self, member: Membership, partition: int, polled: Polled) -> bool:
        """Whether the copies are committed."""
        self._session.begin()
        transaction = self._transactions.begin(self._client.name)
        try:
            await self._fill(transaction, member, partition, polled)
            if self._rng.random() < _ABORTS:
                await self._session.abort(transaction)
                return False
            await self._session.commit(transaction)
        except MustAbort:
            await self._session.abort(transaction)
            return False
        finally:
            transaction.has_ended()
        self._client.world.trace(
            f"copied {partition} to {polled.next_position} in {member.epoch}".encode()
        )
        return True

    async def _fill(
        self, transaction: Transaction, member: Membership, partition: int, polled: Polled
    ) -> None:
        target = TopicPartition(COPIES, partition)
        self._attempts += 1
        mark = f"|{self._client.name}/{self._attempts}".encode()
        values = [value + mark for _, value in polled.records]
        for value in values:
            transaction.will_send(target, value)
        offset = await self._session.send(target, values)
        for number, value in enumerate(values):
            known = UNKNOWN_OFFSET if offset == UNKNOWN_OFFSET else offset + number
            transaction.was_sent(target, value, known)
        coordinator = await self._client.coordinator(self._group_id)
        offsets = {partition: polled.next_position}
        await self._session.send_offsets(member, self._topic, offsets, coordinator)
        await asyncio.sleep(self._rng.randint(0, 50) / 1000)


class ClassicCopier(Copying, ClassicMember):
    """Copies as a member of a classic group."""


class Copier(Copying, GroupMember):
    """Copies as a member of a group of KIP-848."""
