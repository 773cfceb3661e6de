"""How the requests of a transactional producer travel: to its coordinator, and sometimes late.

The network may deliver a request long after its sender has given it up. Now and then that happens
here on purpose: the sender gets no answer, and the same bytes are sent some time later, when the
transaction may be over.
"""

from typing import Final, TypeVar

from moldau.errors import ErrorCode
from moldau.network.outbound import Disconnected
from moldau.protocol.message import Message
from moldau.protocol.messages.find_coordinator import (
    FindCoordinatorRequest,
    FindCoordinatorResponse,
)
from moldau.simulator.clients.cluster import Address, ClusterClient
from moldau.simulator.world import US_PER_MS

_TRANSACTION: Final = 1
_LATE: Final = 0.04
_LATE_MS: Final = (20, 8_000)

M = TypeVar("M", bound=Message)


class TransactionalRequests:
    """The requests of one transactional id."""

    def __init__(self, client: ClusterClient, transactional_id: str) -> None:
        self._client = client
        self._rng = client.rng
        self._transactional_id = transactional_id
        self._coordinator: Address | None = None
        # Something that was sent has no answer, and may still be under way.
        self.is_doubtful = False

    async def find(self) -> Address:
        """The coordinator of the transactional id, asked for until there is one."""
        if self._coordinator is None:
            client = self._client
            asked = FindCoordinatorRequest(
                key_type=_TRANSACTION, coordinator_keys=[self._transactional_id]
            )

            async def ask() -> FindCoordinatorResponse | None:
                answer = await client.send(client.any_node(), asked, FindCoordinatorResponse)
                return answer if answer.coordinators[0].error_code == ErrorCode.NONE else None

            found = (await client.until_answered(ask)).coordinators[0]
            self._coordinator = Address(found.host, found.port)
        return self._coordinator

    def forget(self) -> None:
        """Look for the coordinator again."""
        self._coordinator = None

    async def ask(
        self, request: Message, answer: type[M], version: int | None, *, may_be_late: bool = True
    ) -> M | None:
        """Ask the coordinator; None if there is no answer."""
        coordinator = await self.find()
        return await self.ask_at(coordinator, request, answer, version, may_be_late=may_be_late)

    async def ask_at(
        self,
        address: Address,
        request: Message,
        answer: type[M],
        version: int | None,
        *,
        may_be_late: bool = True,
    ) -> M | None:
        if may_be_late and self.is_late(address, request, answer, version):
            return None
        try:
            return await self._client.send(address, request, answer, version)
        except Disconnected:
            self.is_doubtful = True
            self.forget()
            return None

    def is_late(
        self, address: Address, request: Message, answer: type[M], version: int | None
    ) -> bool:
        """Whether this request is one of those that nobody waits for."""
        if self._rng.random() >= _LATE:
            return False
        self.is_doubtful = True
        delay_us = self._rng.randint(*_LATE_MS) * US_PER_MS
        self.send_only(address, request, answer, version, delay_us)
        return True

    def send_only(
        self,
        address: Address,
        request: Message,
        answer: type[M],
        version: int | None,
        delay_us: int = 0,
    ) -> None:
        """Send something whose answer nobody waits for."""
        client = self._client
        client.world.after(
            delay_us, lambda: client.begin(self._deliver(address, request, answer, version))
        )

    async def _deliver(
        self, address: Address, request: Message, answer: type[M], version: int | None
    ) -> None:
        try:
            await self._client.send(address, request, answer, version)
        except Disconnected:
            return
