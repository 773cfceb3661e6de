"""FindCoordinator: the broker that coordinates a group.

The first request creates ``__consumer_offsets``.
"""

from collections.abc import Awaitable
from typing import TYPE_CHECKING, Final

from moldau.errors import ApiError, ErrorCode
from moldau.ids import OFFSETS_TOPIC
from moldau.network.turns import Steps
from moldau.protocol.messages.find_coordinator import (
    Coordinator,
    FindCoordinatorRequest,
    FindCoordinatorResponse,
)

if TYPE_CHECKING:
    from moldau.broker.broker import Broker
    from moldau.broker.dispatch import RequestContext

GROUP: Final = 0
TRANSACTION: Final = 1
SHARE: Final = 2
FIRST_BATCHED_VERSION: Final = 4
FIRST_SHARE_VERSION: Final = 6
NO_NODE: Final = -1


def handle(
    broker: "Broker", request: FindCoordinatorRequest, context: "RequestContext"
) -> FindCoordinatorResponse | Awaitable[FindCoordinatorResponse]:
    if request.key_type == GROUP and OFFSETS_TOPIC not in broker.image.topics_by_name:
        return _create_and_find(broker, request, context)
    if len(request.coordinator_keys) > 1:
        return context.in_turns(_find_many(broker, request, context))
    return _find(broker, request, context)


async def _create_and_find(
    broker: "Broker", request: FindCoordinatorRequest, context: "RequestContext"
) -> FindCoordinatorResponse:
    """Create the topic first: unlike in Kafka, the client need not retry."""
    await broker.groups.create_topic()
    if len(request.coordinator_keys) > 1:
        return await broker.turns.complete(_find_many(broker, request, context))
    return _find(broker, request, context)


def _find_many(
    broker: "Broker", request: FindCoordinatorRequest, context: "RequestContext"
) -> Steps[FindCoordinatorResponse]:
    """One key per step. As in Kafka, a duplicate key is answered twice."""
    response = FindCoordinatorResponse()
    for key in request.coordinator_keys:
        response.coordinators.append(_coordinator(broker, request.key_type, key, context))
        yield
    return response


def _find(
    broker: "Broker", request: FindCoordinatorRequest, context: "RequestContext"
) -> FindCoordinatorResponse:
    if context.api_version >= FIRST_BATCHED_VERSION:
        return FindCoordinatorResponse(
            coordinators=[
                _coordinator(broker, request.key_type, key, context)
                for key in request.coordinator_keys
            ]
        )
    found = _coordinator(broker, request.key_type, request.key, context)
    return FindCoordinatorResponse(
        error_code=found.error_code,
        error_message=found.error_message if found.error_code else "NONE",
        node_id=found.node_id,
        host=found.host,
        port=found.port,
    )


def _coordinator(
    broker: "Broker", key_type: int, key: str, context: "RequestContext"
) -> Coordinator:
    try:
        if key_type == TRANSACTION:
            message = "this broker has no transactions yet: produce without a transactional.id"
            raise ApiError(ErrorCode.UNSUPPORTED_VERSION, message)
        if key_type == SHARE and context.api_version >= FIRST_SHARE_VERSION:
            message = "this broker has no share groups yet"
            raise ApiError(ErrorCode.COORDINATOR_NOT_AVAILABLE, message)
        if key_type != GROUP:
            message = f"key type {key_type} is none of 0 (group), 1 (transaction), 2 (share)"
            raise ApiError(ErrorCode.INVALID_REQUEST, message)
        return _leader(broker, key, context.session.listener)
    except ApiError as error:
        return Coordinator(
            key=key,
            node_id=NO_NODE,
            host="",
            port=-1,
            error_code=error.code,
            error_message=error.message,
        )


def _leader(broker: "Broker", group_id: str, listener: str) -> Coordinator:
    """The leader of the partition of the group, with its endpoint for ``listener``.

    Raises:
        ApiError: COORDINATOR_NOT_AVAILABLE.
    """
    image = broker.image
    registration = image.partition(OFFSETS_TOPIC, broker.groups.partition_for(group_id))
    leader = None if registration is None else image.brokers.get(registration.leader)
    endpoint = None if leader is None or leader.fenced else leader.endpoint(listener)
    if leader is None or endpoint is None:
        raise ApiError(ErrorCode.COORDINATOR_NOT_AVAILABLE)
    return Coordinator(key=group_id, node_id=leader.id, host=endpoint.host, port=endpoint.port)
