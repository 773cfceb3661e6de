"""InitProducerId and FindCoordinator: what a producer or a group asks for before it begins."""

from collections.abc import Awaitable
from typing import TYPE_CHECKING, Final

from moldau.errors import ApiError, ErrorCode
from moldau.protocol.messages.find_coordinator import (
    Coordinator,
    FindCoordinatorRequest,
    FindCoordinatorResponse,
)
from moldau.protocol.messages.init_producer_id import InitProducerIdRequest, InitProducerIdResponse

if TYPE_CHECKING:
    from moldau.broker.broker import Broker
    from moldau.broker.dispatch import RequestContext

GROUP: Final = 0
TRANSACTION: Final = 1
SHARE: Final = 2
FIRST_BATCHED_VERSION: Final = 4
FIRST_SHARE_VERSION: Final = 6
NO_NODE: Final = -1


def init_producer_id(
    broker: "Broker", request: InitProducerIdRequest, context: "RequestContext"
) -> Awaitable[InitProducerIdResponse]:
    if (request.producer_id == -1) != (request.producer_epoch == -1):
        message = (
            f"producer id {request.producer_id} with epoch {request.producer_epoch}: "
            "give both, or -1 for both"
        )
        raise ApiError(ErrorCode.INVALID_REQUEST, message)
    if request.transactional_id is not None:
        if not request.transactional_id:
            raise ApiError(ErrorCode.INVALID_REQUEST, "transactional.id must not be empty")
        raise ApiError(ErrorCode.UNSUPPORTED_VERSION, "this broker has no transactions yet")
    return _next_producer_id(broker)


async def _next_producer_id(broker: "Broker") -> InitProducerIdResponse:
    return InitProducerIdResponse(producer_id=await broker.producer_ids.next(), producer_epoch=0)


def find_coordinator(
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
    if key_type == TRANSACTION:
        message = "this broker has no transactions yet: produce without a transactional.id"
        return _refused(key, ErrorCode.UNSUPPORTED_VERSION, message)
    if key_type == SHARE and context.api_version >= FIRST_SHARE_VERSION:
        message = "this broker has no share groups yet"
        return _refused(key, ErrorCode.COORDINATOR_NOT_AVAILABLE, message)
    if key_type != GROUP:
        message = f"key type {key_type} is none of 0 (group), 1 (transaction), 2 (share)"
        return _refused(key, ErrorCode.INVALID_REQUEST, message)
    # One broker: it coordinates every group.
    endpoint = broker.image.brokers[broker.node_id].endpoint(context.session.listener)
    if endpoint is None:
        return _refused(key, ErrorCode.COORDINATOR_NOT_AVAILABLE, None)
    return Coordinator(key=key, node_id=broker.node_id, host=endpoint.host, port=endpoint.port)


def _refused(key: str, code: ErrorCode, message: str | None) -> Coordinator:
    return Coordinator(
        key=key, node_id=NO_NODE, host="", port=-1, error_code=code, error_message=message
    )
