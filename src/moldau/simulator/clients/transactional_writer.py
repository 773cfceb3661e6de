"""A producer of transactions: commits, aborts, hangs, vanishes and returns, as processes do.

Two writers may share a transactional id. Each of them fences the other when it begins.
"""

import asyncio
from collections.abc import Sequence
from typing import Final

from moldau.ids import TopicPartition
from moldau.simulator.clients.cluster import ClusterClient
from moldau.simulator.clients.transactional import NEVER_MS, Fenced, MustAbort, TransactionalSession
from moldau.simulator.transaction_history import UNKNOWN_OFFSET, Transaction, TransactionHistory

TRANSACTION_TIMEOUT_MS: Final = (3_000, 10_000)
_MOST_BATCHES: Final = 5
_MOST_RECORDS: Final = 3
_ABORTS: Final = 0.25
# Longer than its transaction may take.
_HANGS: Final = 0.03
# Before it ends its transaction: much may happen meanwhile.
_LINGERS: Final = 0.15
_VANISHES: Final = 0.04
# When it has sent its commit.
_DIES: Final = 0.03
# How long somebody who was fenced or has vanished stays away.
_AWAY_MS: Final = (100, 6_000)


class TransactionalWriter:
    """Writes numbered records to some partitions, in transactions."""

    def __init__(
        self,
        client: ClusterClient,
        history: TransactionHistory,
        transactional_id: str,
        partitions: Sequence[TopicPartition],
        *,
        pause_ms: int,
        is_v2: bool,
        is_alone: bool = False,
        expires_ms: int = NEVER_MS,
    ) -> None:
        self._client = client
        self._rng = client.rng
        self._history = history
        self._partitions = partitions
        self._pause_ms = pause_ms
        self._timeout_ms = self._rng.randint(*TRANSACTION_TIMEOUT_MS)
        self._session = TransactionalSession(
            client,
            transactional_id,
            self._timeout_ms,
            is_v2=is_v2,
            is_alone=is_alone,
            expires_ms=expires_ms,
        )
        self._sent = 0

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
        """From the start of a process to its end. Raises Fenced."""
        await self._session.begin_anew()
        while not self._client.is_stopping:
            transaction = self._history.begin(self._client.name)
            try:
                self._session.begin()
                await self._fill(transaction)
                if self._rng.random() < _LINGERS:
                    await asyncio.sleep(self._rng.randint(0, self._timeout_ms * 2 // 3) / 1000)
                if self._rng.random() < _VANISHES:
                    # Like a process that is killed.
                    return
                if self._rng.random() < _DIES and not transaction.is_over:
                    await self._session.die_committing(transaction)
                    return
                if self._rng.random() < _ABORTS:
                    await self._session.abort(transaction)
                else:
                    await self._commit(transaction)
            finally:
                transaction.has_ended()
            await asyncio.sleep(self._rng.randint(0, 2 * self._pause_ms) / 1000)

    async def _fill(self, transaction: Transaction) -> None:
        """Send the records, as far as that is possible; what is missing aborts."""
        for _ in range(self._rng.randint(1, _MOST_BATCHES)):
            topic_partition = self._rng.choice(self._partitions)
            values = self._values()
            for value in values:
                transaction.will_send(topic_partition, value)
            try:
                offset = await self._session.send(topic_partition, values)
            except MustAbort:
                await self._session.abort(transaction)
                return
            for number, value in enumerate(values):
                known = UNKNOWN_OFFSET if offset == UNKNOWN_OFFSET else offset + number
                transaction.was_sent(topic_partition, value, known)
            if self._rng.random() < _HANGS:
                await asyncio.sleep(2 * self._timeout_ms / 1000)

    async def _commit(self, transaction: Transaction) -> None:
        if transaction.is_over:
            return
        try:
            await self._session.commit(transaction)
        except MustAbort:
            await self._session.abort(transaction)
            return
        for sent in transaction.sent:
            self._client.world.trace(b"committed %d %s" % (sent.offset, sent.value))

    def _values(self) -> list[bytes]:
        count = self._rng.randint(1, _MOST_RECORDS)
        first, self._sent = self._sent, self._sent + count
        return [f"{self._client.name}/{first + each}".encode() for each in range(count)]
