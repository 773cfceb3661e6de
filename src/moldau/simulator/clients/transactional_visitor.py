"""A producer that comes with a new transactional id each time, and never with an old one.

So its ids are forgotten when they have not been used for ``transactional.id.expiration.ms``, and
stay forgotten: nobody asks for a producer id under them again.
"""

import asyncio
from collections.abc import Sequence
from typing import Final

from moldau.errors import ErrorCode
from moldau.ids import TopicPartition
from moldau.network.outbound import Disconnected
from moldau.protocol.messages.describe_transactions import (
    DescribeTransactionsRequest,
    DescribeTransactionsResponse,
)
from moldau.simulator.clients.cluster import ClusterClient
from moldau.simulator.clients.transactional import Fenced, MustAbort, TransactionalSession
from moldau.simulator.clients.transactional_requests import TransactionalRequests
from moldau.simulator.transaction_history import Transaction, TransactionHistory

_TIMEOUT_MS: Final = 4_000
_AWAY_MS: Final = (500, 4_000)
_ABORTS: Final = 0.3


class TransactionalVisitor:
    """Writes one transaction under each of its ids."""

    def __init__(
        self,
        client: ClusterClient,
        history: TransactionHistory,
        partitions: Sequence[TopicPartition],
        *,
        is_v2: bool,
    ) -> None:
        self._client = client
        self._rng = client.rng
        self._history = history
        self._partitions = partitions
        self._is_v2 = is_v2
        self.ids: list[str] = []

    def start(self) -> None:
        self._client.begin(self._work())

    async def _work(self) -> None:
        while not self._client.is_stopping:
            name = f"{self._client.name}/{len(self.ids)}"
            self.ids.append(name)
            session = TransactionalSession(self._client, name, _TIMEOUT_MS, is_v2=self._is_v2)
            await self._begin(session)
            try:
                await self._write(session, name.encode())
            except Fenced as error:
                self._client.world.trace(f"{name} is fenced: {error}".encode())
                # Nobody else would end its transaction, before that times out.
                await self._begin(session)
            await asyncio.sleep(self._rng.randint(*_AWAY_MS) / 1000)

    async def _begin(self, session: TransactionalSession) -> None:
        """Get a producer id, which ends what was begun under the transactional id."""
        while True:
            try:
                await session.begin_anew()
            except Fenced:
                await self._client.back_off()
            else:
                return

    async def _write(self, session: TransactionalSession, value: bytes) -> None:
        """Write a transaction of one record. Raises Fenced."""
        session.begin()
        transaction = self._history.begin(self._client.name)
        try:
            await self._fill(session, transaction, value)
            if self._rng.random() < _ABORTS:
                await session.abort(transaction)
            else:
                await session.commit(transaction)
        except MustAbort:
            await session.abort(transaction)
        finally:
            transaction.has_ended()

    async def _fill(
        self, session: TransactionalSession, transaction: Transaction, value: bytes
    ) -> None:
        topic_partition = self._rng.choice(self._partitions)
        transaction.will_send(topic_partition, value)
        offset = await session.send(topic_partition, [value])
        transaction.was_sent(topic_partition, value, offset)


class IdInquiry:
    """Asks coordinators which of some transactional ids they know."""

    def __init__(self, client: ClusterClient, ids: Sequence[str]) -> None:
        self._client = client
        self._ids = ids
        # In the order of the ids; complete when the client is done.
        self.known: list[str] = []

    def start(self) -> None:
        self._client.begin(self._ask_all())

    async def _ask_all(self) -> None:
        for transactional_id in self._ids:
            if await self._is_known(transactional_id):
                self.known.append(transactional_id)

    async def _is_known(self, transactional_id: str) -> bool:
        client = self._client
        requests = TransactionalRequests(client, transactional_id)
        asked = DescribeTransactionsRequest([transactional_id])
        while True:
            coordinator = await requests.find()
            try:
                answer = await client.send(coordinator, asked, DescribeTransactionsResponse, 0)
            except Disconnected:
                code = ErrorCode.NETWORK_EXCEPTION
            else:
                code = ErrorCode(answer.transaction_states[0].error_code)
            if not code.retriable:
                return code == ErrorCode.NONE
            requests.forget()
            await client.back_off()
