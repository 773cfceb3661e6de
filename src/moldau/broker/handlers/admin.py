"""Requests that change the cluster: the active controller decides, this broker forwards.

Somebody should know that a quota will not be enforced.
"""

import logging
from collections.abc import Awaitable
from typing import TYPE_CHECKING, Any, Final

from moldau.broker.forwarding import Forwarding
from moldau.network.turns import Steps, Turns
from moldau.protocol.message import Message
from moldau.protocol.messages.alter_client_quotas import (
    AlterClientQuotasRequest,
    AlterClientQuotasResponse,
)

if TYPE_CHECKING:
    from moldau.broker.dispatch import RequestContext

ENFORCED_QUOTAS: Final = frozenset(("connection_creation_rate",))
# The number of quotas in a warning, at most; only four are known but not enforced.
REPORTED_QUOTAS: Final = 10

logger = logging.getLogger(__name__)


class Admin:
    """Requests for the controller that reach a broker."""

    def __init__(self, forwarding: Forwarding, turns: Turns) -> None:
        self._forwarding = forwarding
        self._turns = turns

    def change(self, request: Message, context: "RequestContext") -> Awaitable[Any]:
        """Any request that the controller alone decides."""
        return self._forwarding.change(request, context)

    def read(self, request: Message, context: "RequestContext") -> Awaitable[Any]:
        """Any request that only the controller can answer, and that changes nothing."""
        return self._forwarding.read(request, context)

    async def alter_client_quotas(
        self, request: AlterClientQuotasRequest, context: "RequestContext"
    ) -> AlterClientQuotasResponse:
        kept = await self._turns.complete(_not_enforced(request))
        if kept and not request.validate_only:
            logger.warning("quotas are stored but not enforced by this broker: %s", ", ".join(kept))
        response = await self._forwarding.change(request, context)
        assert isinstance(response, AlterClientQuotasResponse)
        return response


def _not_enforced(request: AlterClientQuotasRequest) -> Steps[list[str]]:
    """The quotas in the request that are stored but not enforced, including unknown ones."""
    kept: set[str] = set()
    for entry in request.entries:
        kept.update(op.key for op in entry.ops if not op.remove)
        yield
    return sorted(kept - ENFORCED_QUOTAS)[:REPORTED_QUOTAS]
