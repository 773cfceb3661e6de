"""FindCoordinator: the broker that coordinates a group, or the transactions of an id.

The first request creates ``__consumer_offsets`` or ``__transaction_state``.
"""

from collections.abc import Awaitable
from typing import TYPE_CHECKING, Final

from moldau.broker.group_runtime import GroupRuntime
from moldau.broker.metadata_cache import MetadataCache
from moldau.broker.transaction_runtime import TransactionRuntime
from moldau.errors import ApiError, ErrorCode
from moldau.ids import OFFSETS_TOPIC, TRANSACTIONS_TOPIC
from moldau.network.turns import Steps, Turns
from moldau.protocol.messages.find_coordinator import (
    Coordinator,
    FindCoordinatorRequest,
    FindCoordinatorResponse,
)

if TYPE_CHECKING:
    from moldau.broker.dispatch import RequestContext

GROUP: Final = 0
TRANSACTION: Final = 1
SHARE: Final = 2
TOPICS: Final = {GROUP: OFFSETS_TOPIC, TRANSACTION: TRANSACTIONS_TOPIC}
FIRST_BATCHED_VERSION: Final = 4
FIRST_SHARE_VERSION: Final = 6
NO_NODE: Final = -1


class FindCoordinator:
    """Names coordinators."""

    def __init__(
        self,
        metadata: MetadataCache,
        groups: GroupRuntime,
        transactions: TransactionRuntime,
        turns: Turns,
    ) -> None:
        self._metadata = metadata
        self._groups = groups
        self._transactions = transactions
        self._turns = turns

    def handle(
        self, request: FindCoordinatorRequest, context: "RequestContext"
    ) -> FindCoordinatorResponse | Awaitable[FindCoordinatorResponse]:
        topic = TOPICS.get(request.key_type)
        if topic is not None and topic not in self._metadata.image.topics_by_name:
            return self._create_and_find(request, context)
        if len(request.coordinator_keys) > 1:
            return context.in_turns(self._find_many(request, context))
        return self._find(request, context)

    async def _create_and_find(
        self, request: FindCoordinatorRequest, context: "RequestContext"
    ) -> FindCoordinatorResponse:
        """Create the topic first: unlike in Kafka, the client of a single broker need not retry.

        In a cluster it has to, because the coordinator may not know yet that it is one: it would
        refuse the client, and some clients give up after a few refusals without a pause.
        """
        coordinator = self._groups if request.key_type == GROUP else self._transactions
        refusal = None
        try:
            await coordinator.create_topic()
        except ApiError as error:
            # There is no controller at the moment. Clients do not expect its errors here.
            refusal = ApiError(ErrorCode.COORDINATOR_NOT_AVAILABLE, error.message)
        if refusal is None and len(self._metadata.image.brokers) > 1:
            refusal = ApiError(ErrorCode.COORDINATOR_NOT_AVAILABLE)
        if len(request.coordinator_keys) > 1:
            return await self._turns.complete(self._find_many(request, context, refusal))
        return self._find(request, context, refusal)

    def _find_many(
        self,
        request: FindCoordinatorRequest,
        context: "RequestContext",
        refusal: ApiError | None = None,
    ) -> Steps[FindCoordinatorResponse]:
        """One key per step. As in Kafka, a duplicate key is answered twice."""
        response = FindCoordinatorResponse()
        for key in request.coordinator_keys:
            found = self._coordinator(request.key_type, key, context, refusal)
            response.coordinators.append(found)
            yield
        return response

    def _find(
        self,
        request: FindCoordinatorRequest,
        context: "RequestContext",
        refusal: ApiError | None = None,
    ) -> FindCoordinatorResponse:
        if context.api_version >= FIRST_BATCHED_VERSION:
            return FindCoordinatorResponse(
                coordinators=[
                    self._coordinator(request.key_type, key, context, refusal)
                    for key in request.coordinator_keys
                ]
            )
        found = self._coordinator(request.key_type, request.key, context, refusal)
        return FindCoordinatorResponse(
            error_code=found.error_code,
            error_message=found.error_message if found.error_code else "NONE",
            node_id=found.node_id,
            host=found.host,
            port=found.port,
        )

    def _coordinator(
        self, key_type: int, key: str, context: "RequestContext", refusal: ApiError | None
    ) -> Coordinator:
        try:
            if key_type == SHARE and context.api_version >= FIRST_SHARE_VERSION:
                message = "this broker has no share groups yet"
                raise ApiError(ErrorCode.COORDINATOR_NOT_AVAILABLE, message)
            if key_type not in TOPICS:
                message = f"key type {key_type} is none of 0 (group), 1 (transaction), 2 (share)"
                raise ApiError(ErrorCode.INVALID_REQUEST, message)
            if refusal is not None:
                # A new one for each key: an error keeps a frame of every place that raised it.
                raise ApiError(refusal.code, refusal.message)
            return self._leader(key_type, key, context.session.listener)
        except ApiError as error:
            return Coordinator(
                key=key,
                node_id=NO_NODE,
                host="",
                port=-1,
                error_code=error.code,
                error_message=error.message,
            )

    def _leader(self, key_type: int, key: str, listener: str) -> Coordinator:
        """The leader of the partition of the key, with its endpoint for ``listener``.

        Raises:
            ApiError: COORDINATOR_NOT_AVAILABLE.
        """
        image = self._metadata.image
        coordinator = self._groups if key_type == GROUP else self._transactions
        registration = image.partition(TOPICS[key_type], coordinator.partition_for(key))
        leader = None if registration is None else image.brokers.get(registration.leader)
        endpoint = None if leader is None or leader.fenced else leader.endpoint(listener)
        if leader is None or endpoint is None:
            raise ApiError(ErrorCode.COORDINATOR_NOT_AVAILABLE)
        return Coordinator(key=key, node_id=leader.id, host=endpoint.host, port=endpoint.port)
